"""Structures of networks that predict one column: rules about its edges, and the choice by inner cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.learning_problem import LearningOptions, check_learning
from gomea_bn.prediction.distributions import Density
from gomea_bn.problems.knowledge import ExpertKnowledge

__all__ = ["AUTO", "STRUCTURES", "Budget", "chosen_structure", "density_of", "structured"]

AUTO = "auto"
STRUCTURES = ("free", "root", "augmented", "leaf")
"""Rules about the edges of the target; `BayesNetClassifier` describes them."""

Loss = Callable[[Density, Table], float]
"""Mean loss of a network on rows that it was not learned from."""


@dataclass
class Budget:
    """Seconds that several searches share; time that one leaves over goes to the next ones.

    Attributes
    ----------
    seconds : float or None
        Seconds that are left; None is no limit.
    n_searches : int
        Number of searches that still follow.
    """

    seconds: float | None
    n_searches: int

    def fitted(self, options: Mapping[str, Any], table: Table) -> BayesNetLearner:
        """Return a learner that is fitted within its share of the time."""
        share = self.seconds
        if share is not None:
            share = max(share, 1e-3) / max(self.n_searches, 1)
        began = perf_counter()
        learner = BayesNetLearner(**{**options, "max_seconds": share}).fit(table)
        self.n_searches -= 1
        if self.seconds is not None:
            # compilation does not count
            self.seconds -= min(learner.fit_seconds_, perf_counter() - began)
        return learner


def structured(options: Mapping[str, Any], table: Table, target: str, structure: str) -> dict[str, Any]:
    """Return the options of a learner whose knowledge also has the rules of a structure.

    Parameters
    ----------
    options : mapping
        Parameters of `BayesNetLearner`.
    table : Table
        Rows with the target; columns that are constant get no rules.
    target : str
        Column that is predicted.
    structure : str
        One of `STRUCTURES`.
    """
    knowledge = options["knowledge"] or ExpertKnowledge()
    others = [column.name for column in table.columns if column.name != target and not column.is_constant]
    away, towards = [(target, name) for name in others], [(name, target) for name in others]
    if structure == "augmented":
        required = dict.fromkeys([*knowledge.required_edges, *away])
        knowledge = replace(knowledge, required_edges=tuple(required))
    elif structure != "free":
        forbidden = dict.fromkeys([*knowledge.forbidden_edges, *(towards if structure == "root" else away)])
        knowledge = replace(knowledge, forbidden_edges=tuple(forbidden))
    return {**options, "knowledge": knowledge}


def chosen_structure(
    options: Mapping[str, Any],
    table: Table,
    target: str,
    candidates: Sequence[str],
    folds: NDArray[np.int64],
    budget: Budget,
    loss: Loss,
) -> tuple[str, dict[str, float]]:
    """Return the structure of smallest mean loss over the folds, and the losses of all.

    A structure that contradicts the knowledge of the options is left out.

    Parameters
    ----------
    options, table, target
        As of `structured`.
    candidates : sequence of str
        Structures; the first one wins ties.
    folds : ndarray of shape (n_rows,), int64
        Fold of every row, from 0.
    budget : Budget
        Seconds of all searches.
    loss : callable
        Mean loss on held-out rows.

    Raises
    ------
    GomeaBnError
        If every structure contradicts the knowledge.
    """
    possible = list(_possible(options, table, target, candidates))
    n_folds = int(folds.max()) + 1
    budget.n_searches -= n_folds * (len(candidates) - len(possible))
    losses = dict.fromkeys(possible, 0.0)
    for fold in range(n_folds):
        inner = _varying(table.take(np.flatnonzero(folds != fold)), target)
        held_out = table.take(np.flatnonzero(folds == fold))
        for structure in possible:
            learner = budget.fitted(structured(options, inner, target, structure), inner)
            losses[structure] += loss(density_of(learner), held_out) / n_folds
    return min(losses, key=lambda structure: losses[structure]), losses


def density_of(learner: BayesNetLearner) -> Density:
    """Return the averaged network of a fitted learner, or its network if it has none."""
    return learner.averaged_ if hasattr(learner, "averaged_") else learner.network_


def _possible(
    options: Mapping[str, Any], table: Table, target: str, candidates: Sequence[str]
) -> Iterator[str]:
    """Yield the structures that the knowledge of the options allows; raises what is wrong if there is none."""
    refused: list[GomeaBnError] = []
    for structure in candidates:
        learner = BayesNetLearner(**structured(options, table, target, structure))
        try:
            check_learning(table, LearningOptions.of(learner, table.n_rows))
        except GomeaBnError as error:
            refused.append(error)
        else:
            yield structure
    if len(refused) == len(candidates):
        raise refused[0]


def _varying(table: Table, target: str) -> Table:
    """Return a table without the columns that are constant in its rows, apart from the target."""
    columns = tuple(column for column in table.columns if column.name == target or not column.is_constant)
    return replace(table, columns=columns)
