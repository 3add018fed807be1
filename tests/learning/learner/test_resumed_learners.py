"""A learner that is killed and resumed learns what it would have learned without that."""

import multiprocessing
import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from checkpoint_examples import killed_and_resumed, without_seconds

from gomea_bn import BayesNetEnsemble, BayesNetLearner, Checkpoint, GomeaBnError, ParetoBayesNetLearner
from gomea_bn.runtime import Progress, checkpoints
from gomea_bn.runtime.checkpoints import read_checkpoint


def rows(n: int = 150) -> pd.DataFrame:
    """Return three continuous columns and one discrete one that depend on each other, one of them on a curve."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=n)
    b = np.sin(2 * a) + rng.normal(scale=0.2, size=n)
    c = np.where(rng.random(n) < 0.5, a, -b) + rng.normal(scale=0.3, size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": np.where(b > 0, "high", "low")}).round(3)


def gappy_rows() -> pd.DataFrame:
    frame = rows()
    frame.loc[::7, "a"] = np.nan
    frame.loc[3::11, "c"] = np.nan
    return frame


OPTIONS: dict[str, Any] = {"max_seconds": None, "patience": None, "random_state": 1}
LEARNERS: dict[str, tuple[Callable[..., Any], Callable[[], pd.DataFrame], int]] = {
    "optimal": (lambda **more: BayesNetLearner(max_evaluations=16_000, **OPTIONS, **more), rows, 5),
    "missing values": (
        lambda **more: BayesNetLearner(max_evaluations=9_000, **OPTIONS, **more),
        gappy_rows,
        2,
    ),
    "equal frequency": (
        lambda **more: BayesNetLearner("equal-frequency", max_evaluations=1500, **OPTIONS, **more),
        rows,
        3,
    ),
    "proposed cuts": (
        lambda **more: BayesNetLearner("k-means", max_evaluations=1500, **OPTIONS, **more),
        rows,
        3,
    ),
    "front": (
        lambda **more: ParetoBayesNetLearner(max_evaluations=3000, pseudo_count=1, **OPTIONS, **more),
        rows,
        5,
    ),
}


def assert_same(first: Any, second: Any) -> None:
    for name in ("n_eval_", "n_eval_full_", "n_generations_", "stopped_by_", "seed_"):
        assert getattr(first, name) == getattr(second, name), name
    assert without_seconds(first.history_) == without_seconds(second.history_)
    if isinstance(first, BayesNetLearner):
        assert first.network_ == second.network_
        assert first.score_ == second.score_
        assert first.network_.metadata == second.network_.metadata
    else:
        assert np.array_equal(first.front_.values, second.front_.values)
        assert first.front_.record["single_network"]["id"] == second.front_.record["single_network"]["id"]
        networks = [[candidate.network for candidate in front] for front in (first.front_, second.front_)]
        assert networks[0] == networks[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_killed_and_resumed_learner_learns_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    make, table, n_files = LEARNERS[name]
    n_jobs = iter([1, 2, *[1] * 99])
    learner, n_kills = killed_and_resumed(
        monkeypatch,
        lambda checkpoint: make(n_jobs=next(n_jobs)).fit(table(), checkpoint=checkpoint),
        tmp_path / "c",
        n_files,
        most_kills=4,
    )
    assert n_kills > 2
    assert_same(make().fit(table()), learner)
    began = time.perf_counter()
    again = make().fit(table(), checkpoint=Checkpoint(tmp_path / "c", resume=True))
    assert_same(learner, again)
    assert time.perf_counter() - began < 20
    # the preparation and the conditionals take other seconds
    assert again.fit_seconds_ == pytest.approx(
        learner.fit_seconds_, abs=5.0 if name == "missing values" else 1.0
    )


@pytest.mark.long
def test_a_learner_that_the_user_stopped_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    make, table, _ = LEARNERS["optimal"]

    def stops(progress: Progress) -> bool:
        return progress.n_eval > 8_000

    stopped = make(callback=stops).fit(table(), checkpoint=tmp_path / "c")
    assert stopped.stopped_by_ == "callback"
    assert_same(make().fit(table()), make().fit(table(), checkpoint=Checkpoint(tmp_path / "c", resume=True)))


def small_ensemble() -> BayesNetEnsemble:
    return BayesNetEnsemble(
        BayesNetLearner(max_evaluations=2_000, max_seconds=None, curves="none"), n_networks=3, random_state=2
    )


@pytest.mark.long
def test_a_killed_and_resumed_ensemble_learns_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ensemble, n_kills = killed_and_resumed(
        monkeypatch, lambda checkpoint: small_ensemble().fit(rows(), checkpoint=checkpoint), tmp_path / "c", 1
    )
    assert n_kills > 2
    whole = small_ensemble().fit(rows())
    assert whole.networks_ == ensemble.networks_
    assert ensemble.stopped_by_ == "n_networks"
    assert [n.metadata for n in whole.networks_] == [n.metadata for n in ensemble.networks_]
    assert np.array_equal(whole.log_density(rows()), ensemble.log_density(rows()))
    resumed = Checkpoint(tmp_path / "c", resume=True)
    assert small_ensemble().fit(rows(), checkpoint=resumed).networks_ == whole.networks_
    other = small_ensemble()
    assert other.learner is not None
    other.learner.set_params(max_bins=4)
    with pytest.raises(GomeaBnError, match="option learner was"):
        other.fit(rows(), checkpoint=resumed)


def test_a_callback_that_stops_one_network_leaves_checkpoints_of_the_next_ones(tmp_path: Path) -> None:
    learner = BayesNetLearner(
        max_seconds=None, callback=lambda progress: progress.n_eval > 300, curves="none"
    )
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=2).fit(rows(), checkpoint=tmp_path)
    resumed = Checkpoint(tmp_path, resume=True)
    again = BayesNetEnsemble(learner, n_networks=2, random_state=2).fit(rows(), checkpoint=resumed)
    assert again.networks_ == ensemble.networks_
    assert again.fit_seconds_ == ensemble.fit_seconds_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame, learner: (frame, learner.set_params(max_bins=7)),
            "option max_bins was 'auto', and is now 7",
        ),
        (
            lambda frame, learner: (frame, learner.set_params(random_state=2)),
            "option random_state was 1, and is now 2",
        ),
        (lambda frame, learner: (frame.assign(b=frame["b"] + 1), learner), "other values in column 'b'"),
        (lambda frame, learner: (frame.iloc[:-1], learner), "other values in column 'a'"),
        (lambda frame, learner: (frame.drop(columns="c"), learner), "the table lacks the column 'c'"),
        (lambda frame, learner: (frame[["b", "a", "c", "d"]], learner), "the columns are in another order"),
    ],
)
def test_other_data_and_options_are_refused_by_name(tmp_path: Path, change: Any, message: str) -> None:
    make, table, _ = LEARNERS["equal frequency"]
    make(callback=lambda _progress: True).fit(table(), checkpoint=tmp_path)
    frame, learner = change(table(), make())
    with pytest.raises(GomeaBnError, match="belongs to another run") as caught:
        learner.fit(frame, checkpoint=Checkpoint(tmp_path, resume=True))
    assert message in str(caught.value)


def test_a_learner_without_a_seed_goes_on_with_that_of_its_checkpoint(tmp_path: Path) -> None:
    make, table, _ = LEARNERS["equal frequency"]
    learner = (
        make(callback=lambda _progress: True).set_params(random_state=None).fit(table(), checkpoint=tmp_path)
    )
    again = make().set_params(random_state=None).fit(table(), checkpoint=Checkpoint(tmp_path, resume=True))
    assert again.seed_ == learner.seed_
    assert_same(make().set_params(random_state=learner.seed_).fit(table()), again)


def _learned_score(folder: Path, written: Any) -> None:
    """Learn in a process of its own, which tells the clock of every checkpoint after it was written."""
    warnings.simplefilter("ignore")
    write = checkpoints._File.write

    def telling(self: Any) -> None:
        write(self)
        written.value = read_checkpoint(self.checkpoint.path)["run"]["parts"]["search"]["state"].get(
            "rounds", {"seconds": np.inf}
        )["seconds"]

    checkpoints._MOST_SHARE = 1.0
    checkpoints._File.write = telling  # type: ignore[method-assign]
    make, table, _ = LEARNERS["optimal"]
    learner = make().fit(table(), checkpoint=Checkpoint(folder, every=0.005, resume=True))
    (folder / "score").write_text(repr((learner.score_, learner.n_eval_, learner.network_.edges)))


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")
def test_none_of_100_kills_loses_more_than_the_time_since_the_last_checkpoint(tmp_path: Path) -> None:
    make, table, _ = LEARNERS["optimal"]
    whole = make().fit(table())
    expected = repr((whole.score_, whole.n_eval_, whole.network_.edges))
    context = multiprocessing.get_context("fork")
    drawn = random.Random(1)
    # as long as a run takes here and now that nobody kills
    began = time.monotonic()
    process = context.Process(target=_learned_score, args=(tmp_path / "whole", context.Value("d", 0.0)))
    process.start()
    process.join()
    seconds = time.monotonic() - began
    assert process.exitcode == 0
    n_kills = n_ended = 0
    # a machine that becomes busier kills more runs before they end
    while n_kills < 100 or (n_ended <= 2 and n_kills < 1000):
        folder = tmp_path / str(n_ended)
        path, written = folder / "checkpoint.gomea", context.Value("d", 0.0)
        process = context.Process(target=_learned_score, args=(folder, written))
        process.start()
        process.join(drawn.uniform(0.0, 1.2 * seconds))
        assert process.pid is not None
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        if path.exists():
            # whole, and not older than the latest one that was written
            state = read_checkpoint(path)["run"]["parts"]["search"]["state"]
            assert state.get("rounds", {"seconds": np.inf})["seconds"] >= written.value
        if process.exitcode == -signal.SIGKILL:
            n_kills += 1
        else:
            assert process.exitcode == 0
            assert (folder / "score").read_text() == expected
            n_ended += 1
    assert n_ended > 2
