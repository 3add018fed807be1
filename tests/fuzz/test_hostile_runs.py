"""Any run is repeated by its seed, keeps its deadline, and goes on after a kill as if there had been none."""

import os
import signal
import time
import warnings
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pytest
from checkpoint_examples import killed_and_resumed
from consistency import check_message, check_network, seeds
from hostile_tables import table_case
from learning_inside import LearningOptions, check_learning
from numpy.random import Generator
from processor_time import at_most

from gomea_bn import (
    BayesNetLearner,
    Checkpoint,
    ExpertKnowledge,
    GomeaBnError,
    ParetoBayesNetLearner,
    read_table,
)
from gomea_bn.data import Table
from gomea_bn.runtime import checkpoints
from gomea_bn.runtime.checkpoints import read_checkpoint


@pytest.fixture(autouse=True)
def _without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """Load all kernels before anything is measured or forked."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    for discretizer in ("optimal", "equal-frequency", "k-means"):
        BayesNetLearner(discretizer, max_evaluations=50, max_seconds=None).fit(frame)


def checked(learner, case):
    """Return what a learner has learned as text, after a check that it is valid."""
    networks = [c.network for c in learner.front_] if case.is_front else [learner.network_]
    for network in networks:
        check_network(network, learner.table_ if learner.table_.n_missing == 0 else None)
        assert case.forbidden not in network.edges
    scores = learner.front_.values.tolist() if case.is_front else learner.score_
    return repr((learner.n_eval_, scores, [network.to_json() for network in networks]))


def learned(case, *, checkpoint=None, **limits):
    """Return what a case learns as text, or the message of its refusal."""
    frame = case.frame.copy(deep=True)
    try:
        learner = case.learner(**limits).fit(case.table(), checkpoint=checkpoint)
    except GomeaBnError as error:
        check_message(error)
        return str(error)
    pd.testing.assert_frame_equal(case.frame, frame)
    return checked(learner, case)


def check_repetition(seed):
    """Learn twice, with one thread and with two."""
    rng = np.random.default_rng(seed)
    case, n = run_case(rng), int(rng.integers(1, 200))
    limits = {"max_seconds": None, "max_evaluations": n}
    assert learned(case, **limits) == learned(case, n_jobs=2, **limits)


def check_deadline(seed):
    """Learn in a very short time."""
    rng = np.random.default_rng(seed)
    case, seconds = run_case(rng), float(rng.choice([1e-9, 0.01, 0.1]))
    # the preparation of a front of such a table takes up to a second
    with at_most(seconds + 4.0):
        learned(case, max_seconds=seconds, patience=None)


def check_kills(seed, monkeypatch, folder):
    """End a run by an exception after some checkpoints, and go on."""
    rng = np.random.default_rng(seed)
    case, n = run_case(rng), int(rng.integers(50, 300))
    limits = {"max_seconds": None, "max_evaluations": n, "patience": None}
    resumed, _ = killed_and_resumed(
        monkeypatch, lambda checkpoint: learned(case, checkpoint=checkpoint, **limits), folder, 2
    )
    assert resumed == learned(case, **limits)


def check_sigkill(seed, folder):
    """Kill a process that learns at any time, and go on in this one."""
    rng = np.random.default_rng(seed)
    case = run_case(rng)
    limits = {"max_seconds": None, "max_evaluations": 400, "patience": None}
    child = os.fork()
    if child == 0:
        try:
            checkpoints._MOST_SHARE = 1.0
            learned(case, checkpoint=Checkpoint(folder, every=0), **limits)
        finally:
            os._exit(0)
    time.sleep(float(rng.uniform(0.01, 0.6)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    path = folder / "checkpoint.gomea"
    if path.exists():
        read_checkpoint(path)
    resumed = learned(case, checkpoint=Checkpoint(folder, resume=True), **limits)
    assert resumed == learned(case, **limits)
    assert not list(folder.glob("*.part*"))


# a column that ends at the largest number
@pytest.mark.parametrize("seed", [119])
def test_runs_that_have_failed_before(seed):
    check_repetition(seed)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes that are copies")
def test_many_runs(monkeypatch, tmp_path):
    # seed 6067: a run that ended before a discretizer proposed cuts, among cuts that tie
    for seed in chain([6067], seeds("runs")):
        check_repetition(seed)
        check_deadline(seed)
        check_kills(seed, monkeypatch, tmp_path / f"{seed} ended")
        check_sigkill(seed, tmp_path / f"{seed} killed")


_DISCRETIZERS = ("optimal", "equal-frequency", "equal-width", "k-means")
_MOST_TRIES = 200


@dataclass(frozen=True)
class RunCase:
    """A table of at least two columns, options of `read_table`, parameters of a learner without limits.

    No network may have the forbidden edge.
    """

    frame: pd.DataFrame
    reading: dict[str, Any]
    parameters: dict[str, Any]
    forbidden: tuple[str, str] | None
    is_front: bool

    def table(self) -> Table:
        """Return the table, read again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return read_table(self.frame, **self.reading)

    def learner(self, **limits: Any) -> BayesNetLearner | ParetoBayesNetLearner:
        """Return a new learner with some limits."""
        kind = ParetoBayesNetLearner if self.is_front else BayesNetLearner
        return kind(**self.parameters, **limits)


def run_case(rng: Generator) -> RunCase:
    """Return a case; tables and options that are refused are drawn again."""
    for _ in range(_MOST_TRIES):
        case = table_case(rng)
        is_front = bool(rng.random() < 0.25)
        parameters: dict[str, Any] = {
            "discretizer": str(rng.choice(_DISCRETIZERS[: 3 if is_front else 4])),
            "shape": str(rng.choice(["auto", "uniform", "marginal"])),
            "random_state": int(rng.integers(1000)),
        }
        reading = {**case.options, "missing": "keep" if rng.random() < 0.3 else "drop"}
        try:
            table = RunCase(case.frame, reading, {}, None, is_front).table()
            forbidden = None
            if len(table.names) > 1 and rng.random() < 0.5:
                parent, child = rng.choice(len(table.names), 2, replace=False).tolist()
                forbidden = table.names[parent], table.names[child]
                parameters["knowledge"] = ExpertKnowledge(forbidden_edges=[forbidden])
            run = RunCase(case.frame, reading, parameters, forbidden, is_front)
            check_learning(table, LearningOptions.of(run.learner(), table.n_rows))
        except GomeaBnError:
            continue
        if len(table.names) > 1:
            return run
    raise AssertionError(f"no table out of {_MOST_TRIES} could be learned from")
