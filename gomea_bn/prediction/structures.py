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
from gomea_bn.learning.averaging.families import average_of_blanket
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.learning_problem import check_learning
from gomea_bn.learning.options import LearningOptions
from gomea_bn.learning.parameters import learner_of_options
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.knowledge import ExpertKnowledge

AUTO = "auto"
STRUCTURES = ("free", "root", "augmented", "leaf")
"""Rules about the edges of the target; `BayesNetClassifier` describes them."""

Answer = Callable[[DiscretizedBayesNet, Table], NDArray[np.float64]]
"""Probabilities of the values of the target in every row under a network, float64 (n_rows, n_values)."""

Loss = Callable[[NDArray[np.float64], Table], NDArray[np.float64]]
"""Loss of such probabilities in every row, float64 (n_rows,), in nats or in the units of the target."""

# sets of cuts of networks that only choose a structure
_N_COPIES = 6
# the last search has all rows, and its average has all copies
_SHARES_OF_LAST = 3
# share of its time that a search gets at least, whatever preparation and averaging take
_LEAST_SHARE = 0.25
POWERS = np.exp(np.linspace(np.log(0.1), np.log(1.5), 60))
"""Powers of the probabilities of a classifier that are tried, float64 (60,)."""
# the logarithm of the power has a normal prior around 0 with this deviation
_POWER_DEVIATION = 0.5


class Budget:
    """Seconds that the searches of a fit share; preparation, averages and predictions count as well.

    Parameters
    ----------
    seconds : float or None
        Seconds from now on; None is no limit.
    n_searches : int
        Number of searches that choose a structure.
    n_last : int
        Number of searches from all rows.

    Attributes
    ----------
    n_shares : int
        Parts into which the time that is left is divided.
    """

    def __init__(self, seconds: float | None, n_searches: int, n_last: int) -> None:
        self._end = None if seconds is None else perf_counter() + seconds
        self._last_shares = _SHARES_OF_LAST * n_last
        self.n_shares = n_searches + self._last_shares
        # seconds of a search besides the search itself, and when the last search began and what it took
        self._overhead = 0.0
        self._former: tuple[float, float] | None = None

    @property
    def seconds(self) -> float | None:
        """Seconds that are left, at least a thousandth; None is no limit."""
        return None if self._end is None else max(self._end - perf_counter(), 1e-3)

    def fitted(self, options: Mapping[str, Any], table: Table, *, is_last: bool = False) -> BayesNetLearner:
        """Return a learner that is fitted within its share of the time."""
        self._note_overhead()
        n_shares = _SHARES_OF_LAST if is_last else 1
        seconds = self.seconds
        if seconds is not None:
            share = seconds * n_shares / max(self.n_shares, n_shares)
            seconds = max(share - n_shares * self._overhead, _LEAST_SHARE * share)
        began = perf_counter()
        learner = learner_of_options(BayesNetLearner, {**options, "max_seconds": seconds}).fit(table)
        self._former = began, learner.fit_seconds_
        self.n_shares -= n_shares
        return learner

    def allows(self, n_searches: int) -> bool:
        """Return whether further searches leave enough time for the last ones; otherwise these get the time."""
        self._note_overhead()
        seconds = self.seconds
        needed = (1 + _LEAST_SHARE) * self._overhead * (n_searches + self._last_shares)
        if seconds is None or needed <= seconds:
            return True
        self.n_shares = self._last_shares
        return False

    def _note_overhead(self) -> None:
        """Remember what the last search took besides the search itself."""
        if self._former is not None:
            began, searched = self._former
            self._overhead = max(self._overhead, perf_counter() - began - searched)
            self._former = None


@dataclass(frozen=True)
class Choice:
    """What inner cross-validation has chosen.

    Attributes
    ----------
    structure : str
    power : float
        Power to which the probabilities of the structure are raised.
    losses : dict of str to float
        Mean loss of every structure with its best power.
    n_folds : int
        Number of folds that were held out.
    """

    structure: str
    power: float
    losses: dict[str, float]
    n_folds: int


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
    answer: Answer,
    loss: Loss,
    powers: NDArray[np.float64],
) -> Choice:
    """Return the structure of smallest mean loss over the folds, with the power that makes it smallest.

    A structure that contradicts the knowledge of the options is left out. Folds after the first one are left out if
    preparation and averaging alone would take the time of the searches from all rows.

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
    answer, loss : callable
        Probabilities of held-out rows, and their losses.
    powers : ndarray of shape (n,), float64
        Powers of the probabilities that are tried.

    Raises
    ------
    GomeaBnError
        If every structure contradicts the knowledge.
    """
    possible = list(_possible(options, table, target, candidates))
    n_folds = int(folds.max()) + 1
    budget.n_shares -= n_folds * (len(candidates) - len(possible))
    answers: dict[str, list[NDArray[np.float64]]] = {structure: [] for structure in possible}
    held_out: list[Table] = []
    for fold in range(n_folds):
        if fold and not budget.allows(len(possible)):
            break
        inner = _varying(table.take(np.flatnonzero(folds != fold)), target)
        if inner.columns[inner.names.index(target)].is_constant:
            # all rows of the other classes are held out
            continue
        held_out.append(table.take(np.flatnonzero(folds == fold)))
        for structure in possible:
            density = _inner_density(structured(options, inner, target, structure), inner, target, budget)
            answers[structure].append(answer(density, held_out[-1]))
    if not held_out:
        raise GomeaBnError(
            f"The target '{target}' has too few rows of other values than the most frequent one to choose a structure. "
            "Give more rows, or name the structure."
        )
    chosen = {
        structure: _best_power(of_folds, held_out, loss, powers) for structure, of_folds in answers.items()
    }
    losses = {structure: of_structure for structure, (_, of_structure) in chosen.items()}
    best = min(losses, key=lambda structure: losses[structure])
    return Choice(best, chosen[best][0], losses, len(held_out))


def _inner_density(
    options: Mapping[str, Any], table: Table, target: str, budget: Budget
) -> DiscretizedBayesNet:
    """Return the network of a search that helps to choose a structure, or one with conditionals around the target."""
    learner = budget.fitted({**options, "density": "bins"}, table)
    if options["density"] == "bins":
        return learner.network_
    return average_of_blanket(
        learner.network_,
        table,
        target,
        n_copies=_N_COPIES,
        line=options["line"],
        random_state=learner.seed_,
    )


def _best_power(
    answers: Sequence[NDArray[np.float64]],
    held_out: Sequence[Table],
    loss: Loss,
    powers: NDArray[np.float64],
) -> tuple[float, float]:
    """Return the most probable power of the probabilities of some folds, and the mean loss with it."""
    totals = np.array(
        [
            sum(
                loss(with_power(part, power), rows).sum()
                for part, rows in zip(answers, held_out, strict=True)
            )
            for power in powers.tolist()
        ]
    )
    best = int(np.argmin(totals + np.log(powers) ** 2 / (2 * _POWER_DEVIATION**2)))
    return float(powers[best]), float(totals[best] / sum(map(len, answers)))


def with_power(probabilities: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return probabilities raised to a power and scaled to sum to 1 again, float64 (n_rows, n_values)."""
    if power == 1.0:
        return probabilities
    # the largest one becomes 1, so that no row underflows
    raised = (probabilities / probabilities.max(axis=1, keepdims=True)) ** power
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _possible(
    options: Mapping[str, Any], table: Table, target: str, candidates: Sequence[str]
) -> Iterator[str]:
    """Yield the structures that the knowledge of the options allows; raises what is wrong if there is none."""
    refused: list[GomeaBnError] = []
    for structure in candidates:
        learner = learner_of_options(BayesNetLearner, structured(options, table, target, structure))
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
