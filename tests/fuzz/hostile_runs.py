"""Random tables that can be learned from, with options of learners and rules about edges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import pandas as pd
from hostile_tables import table_case
from numpy.random import Generator

from gomea_bn import BayesNetLearner, ExpertKnowledge, GomeaBnError, ParetoBayesNetLearner, read_table
from gomea_bn.data.table import Table
from gomea_bn.learning.learning_problem import check_learning
from gomea_bn.learning.options import LearningOptions

__all__ = ["RunCase", "run_case"]

_DISCRETIZERS = ("optimal", "equal-frequency", "equal-width", "k-means")
_MOST_TRIES = 200


@dataclass(frozen=True)
class RunCase:
    """A table with at least two columns, and parameters that its learner accepts.

    Attributes
    ----------
    frame : DataFrame
    reading : dict
        Options of `read_table`.
    parameters : dict
        Parameters of the learner, without limits.
    forbidden : (str, str) or None
        Edge that no network may have.
    is_front : bool
        Whether a front is learned.
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
