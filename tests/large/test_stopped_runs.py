"""Runs over all rows that end early or go on from a checkpoint."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from gomea_bn import Checkpoint
from gomea_bn.errors import GomeaBnError
from gomea_bn.large import learning
from gomea_bn.large.climb import Climb
from gomea_bn.large.counters.local import LocalCounter
from gomea_bn.large.learning import learn_from_pieces, score_of_pieces
from gomea_bn.large.moves import Move
from gomea_bn.runtime import checkpoints


def test_ctrl_c_keeps_a_network_of_all_rows(frame, learner, monkeypatch) -> None:
    before = Climb.improve
    calls = []

    def interrupted(self, *, edges: bool) -> float:
        calls.append(edges)
        os.kill(os.getpid(), signal.SIGINT)
        return before(self, edges=edges)

    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr(learning.Climb, "improve", interrupted)
    stopped = learn_from_pieces(learner, [frame])
    assert calls == [False]
    assert stopped.record["stopped_by"] == "interrupt"
    assert stopped.record["moves"] == []
    assert stopped.network.metadata["n_rows"] == 6_000


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
    stopped = learn_from_pieces(learner, [frame])
    # the first moves of cuts are all made at once as a rule, and taken back by the next pass if they lose
    assert at_once_of_moves == [False]
    gains = [move["nats"] for move in stopped.record["moves"]]
    assert gains
    of_sample = score_of_pieces(learner, [frame], stopped.on_sample.network_)
    assert stopped.score == pytest.approx(of_sample + sum(gains), abs=1e-6)
    at_once_of_moves.clear()
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    stopped = learn_from_pieces(learner, [gaps])
    assert (at_once_of_moves, stopped.record["moves"]) == ([], [])


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
        learn_from_pieces(learner, pieces, checkpoint=Checkpoint(tmp_path, every=0))
    first = len(counted)
    n_counts, counted = -1, []
    resumed = learn_from_pieces(learner, pieces, checkpoint=Checkpoint(tmp_path, every=0, resume=True))
    assert resumed.network == fit.network
    assert resumed.score == fit.score
    assert resumed.record["moves"] == fit.record["moves"]
    assert resumed.record["passes"] == fit.record["passes"]
    # the rows of cells are counted before the first pass, and once more for every coding
    assert len(counted) + first <= fit.record["passes"] + fit.record["readings"]
    assert resumed.record["readings"] <= fit.record["readings"] + 2
    # what has ended gives its result again; its tables are counted
    n_counts, counted = -1, []
    again = learn_from_pieces(learner, pieces, checkpoint=Checkpoint(tmp_path, resume=True))
    assert again.network == fit.network
    assert len(counted) == 1


def test_a_checkpoint_of_other_rows_or_options_is_refused(frame, learner, tmp_path) -> None:
    short = replace(learner, max_evaluations=100, random_state=None)
    first = learn_from_pieces(short, [frame], checkpoint=tmp_path)
    again = Checkpoint(tmp_path, resume=True)
    assert learn_from_pieces(short, [frame], checkpoint=again).network == first.network
    with pytest.raises(GomeaBnError, match="option max_evaluations was 100, and is now 200"):
        learn_from_pieces(replace(short, max_evaluations=200), [frame], checkpoint=again)
    with pytest.raises(GomeaBnError, match="the table has other values"):
        learn_from_pieces(short, [frame.iloc[1:]], checkpoint=again)
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(GomeaBnError, match="names, sizes and times of the files was"):
        learn_from_pieces(short, tmp_path, checkpoint=again)


def test_a_second_ctrl_c_keeps_the_network_of_the_sample(frame, learner, monkeypatch) -> None:
    def interrupted(self, coding):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(LocalCounter, "code", interrupted)
    stopped = learn_from_pieces(learner, [frame])
    assert stopped.record["stopped_by"] == "interrupt"
    assert stopped.record["tables_of"] == "sample"
    assert stopped.network.edges == stopped.on_sample.network_.edges
    assert stopped.network.metadata["n_rows"] == stopped.record["sample_rows"]
    assert stopped.network.metadata["all_rows"] == stopped.record
