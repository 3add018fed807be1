"""Runs over all rows that end early or go on from a checkpoint."""

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from learning_inside import Climb, Move, of_fit, of_many_rows
from pieces_examples import network_of_sample, score_over_all_rows

from gomea_bn import Checkpoint, GomeaBnError
from gomea_bn.data.row_counters import LocalCounter
from gomea_bn.runtime import checkpoints


def test_ctrl_c_while_kernels_are_loaded_is_no_result(frame, learner, monkeypatch) -> None:
    before = Climb.improve

    def interrupted(self, *, edges: bool) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        return before(self, edges=edges)

    monkeypatch.setattr(of_fit, "_has_compiled", [])
    monkeypatch.setattr(of_many_rows.Climb, "improve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace(learner).fit([frame])


def test_ctrl_c_keeps_a_network_of_all_rows(frame, fit, learner, monkeypatch) -> None:
    before = Climb.improve
    calls = []

    def interrupted(self, *, edges: bool) -> float:
        calls.append(edges)
        os.kill(os.getpid(), signal.SIGINT)
        return before(self, edges=edges)

    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr(of_many_rows.Climb, "improve", interrupted)
    stopped = replace(learner).fit([frame])
    assert calls == [False]
    assert stopped.network_.metadata["all_rows"]["stopped_by"] == "interrupt"
    assert stopped.network_.metadata["all_rows"]["moves"] == []
    assert stopped.network_.metadata["n_rows"] == 6_000


@pytest.mark.long
def test_ctrl_c_during_a_pass_makes_only_moves_that_raise_the_score(frame, learner, monkeypatch) -> None:
    before, make = Climb._pass, Climb._make
    at_once_of_moves = []

    def interrupted(self, *, edges: bool, breadth: int) -> list[Move]:
        moves = before(self, edges=edges, breadth=breadth)
        os.kill(os.getpid(), signal.SIGINT)
        return moves

    def noted(self, moves, *, at_once: bool) -> int:
        at_once_of_moves.append(at_once)
        return make(self, moves, at_once=at_once)

    monkeypatch.setattr(Climb, "_pass", interrupted)
    monkeypatch.setattr(Climb, "_make", noted)
    stopped = replace(learner).fit([frame])
    # the first moves of cuts are all made at once as a rule, and taken back by the next pass if they lose
    assert at_once_of_moves == [False]
    gains = [move["nats"] for move in stopped.network_.metadata["all_rows"]["moves"]]
    assert gains
    of_sample = score_over_all_rows(learner, [frame], network_of_sample(learner, stopped))
    assert stopped.score_ == pytest.approx(of_sample + sum(gains), abs=1e-6)
    at_once_of_moves.clear()
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    stopped = replace(learner).fit([gaps])
    assert (at_once_of_moves, stopped.network_.metadata["all_rows"]["moves"]) == ([], [])


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_counts", [0, 1, 6, 9])
def test_a_killed_run_goes_on_without_counting_again(
    frame, fit, learner, tmp_path, monkeypatch, n_counts: int
) -> None:
    monkeypatch.setattr(checkpoints, "_MOST_SHARE", 1.0)
    pieces = [frame.iloc[:2_500], frame.iloc[2_500:2_501], frame.iloc[2_501:]]
    before, counted = LocalCounter.count, []

    def killed(self, plan):
        if len(counted) == n_counts:
            raise RuntimeError("killed")
        counted.append(plan)
        return before(self, plan)

    monkeypatch.setattr(LocalCounter, "count", killed)
    with pytest.raises(RuntimeError, match="killed"):
        replace(learner).fit(pieces, checkpoint=Checkpoint(tmp_path, every=0))
    first = len(counted)
    n_counts, counted = -1, []
    resumed = replace(learner).fit(pieces, checkpoint=Checkpoint(tmp_path, every=0, resume=True))
    assert resumed.network_ == fit.network_
    assert resumed.score_ == fit.score_
    record, expected = (each.network_.metadata["all_rows"] for each in (resumed, fit))
    assert (record["moves"], record["passes"]) == (expected["moves"], expected["passes"])
    # the rows of cells are counted before the first pass, and once more for every coding
    assert len(counted) + first <= expected["passes"] + expected["readings"]
    assert record["readings"] <= expected["readings"] + 2
    # what has ended gives its result again; its tables are counted, and the rows next to its answers
    n_counts, counted = -1, []
    again = replace(learner).fit(pieces, checkpoint=Checkpoint(tmp_path, resume=True))
    assert again.network_ == fit.network_
    assert len(counted) == 2


def test_a_checkpoint_of_other_rows_or_options_is_refused(frame, learner, tmp_path) -> None:
    short = replace(learner, max_evaluations=100, random_state=None)
    first = replace(short).fit([frame], checkpoint=tmp_path)
    again = Checkpoint(tmp_path, resume=True)
    assert replace(short).fit([frame], checkpoint=again).network_ == first.network_
    with pytest.raises(GomeaBnError, match="option max_evaluations was 100, and is now 200"):
        replace(short, max_evaluations=200).fit([frame], checkpoint=again)
    with pytest.raises(GomeaBnError, match="the table has other values"):
        replace(short).fit([frame.iloc[1:]], checkpoint=again)
    # rows that the sample need not have
    name = frame.columns[0]
    others = frame.copy()
    others.loc[[3, 4], name] = frame.loc[[4, 3], name].to_numpy()
    with pytest.raises(GomeaBnError, match=f"the table has other values in column '{name}'"):
        replace(short).fit([others], checkpoint=again)
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(GomeaBnError, match="belongs to another run"):
        replace(short).fit(tmp_path, checkpoint=again)


def test_a_second_ctrl_c_keeps_the_network_of_the_sample(frame, learner, monkeypatch) -> None:
    def interrupted(self, coding):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(LocalCounter, "code", interrupted)
    stopped = replace(learner).fit([frame])
    assert stopped.network_.metadata["all_rows"]["stopped_by"] == "interrupt"
    assert stopped.network_.metadata["all_rows"]["tables_of"] == "sample"
    assert stopped.network_.edges == network_of_sample(learner, stopped).edges
    assert stopped.network_.metadata["n_rows"] == stopped.network_.metadata["all_rows"]["sample_rows"]
