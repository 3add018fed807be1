"""Structures of networks that predict one column: rules about its edges, and the choice by inner cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from gomea_bn.learning.averaging.families import average_of_blanket
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.learning_problem import check_learning
from gomea_bn.learning.options import LearningOptions
from gomea_bn.learning.parameters import learner_of_options
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.prediction.weights import FREEDOMS, WIDER, Answers, Loss, Weights, fitted_weights
from gomea_bn.problems.knowledge import ExpertKnowledge

AUTO = "auto"
STRUCTURES = ("free", "root", "augmented", "tree", "naive", "leaf")
"""Rules about the edges of the target; `BayesNetClassifier` describes them."""

Answer = Callable[[DiscretizedBayesNet, DiscretizedBayesNet, pd.DataFrame, Sequence[str]], Answers]
"""What a network says of rows, with scores read by another one, and the families of some columns.

Networks around the target have fewer columns, and other networks have other families.
"""

LossOf = Callable[[NDArray[Any]], Loss]
"""Loss of rows whose targets have some values, (n_rows,)."""

# sets of cuts of networks that only choose a structure and weights
_N_COPIES = 6
# evaluations of a search that chooses a structure, per pair of columns and per column: enough for its local searches
_EVALUATIONS_PER_GENE = 20
# the last search has all rows, and its average has all copies
_SHARES_OF_LAST = 3
# the average over all rows takes about as many times what one around the target takes
_OVERHEADS_OF_LAST = 2.5
# fitted weights take about as long as this share of what an average and its answers take, by structure and fold
_OVERHEADS_OF_WEIGHTS = 0.3
# share of its time that a search gets at least, whatever preparation and averaging take
_LEAST_SHARE = 0.75
# share of all seconds that the last search gets at least, however long the choice of the structure takes
_LEAST_OF_LAST = 0.1
# parts of the left-out rows between which weights are judged
_N_PARTS = 3
_SEED_OF_PARTS = 20261126
# standard errors of the difference from the best structure, beyond which another one is not tried again
_ERRORS_BEHIND = 4.0
# standard errors that an earlier candidate may be behind the best one and still be chosen
_ERRORS_OF_CHOICE = 1.0
# freedoms of the weights by which structures are judged after a fold: slopes mend much of what a network lacks
_FREEDOMS_OF_FOLD = ((0.0, 0.0), (0.0, 0.5))
_EVALUATIONS_OF_CUTS = 100
# most rows of a fold that are predicted
_MOST_HELD_OUT = 4_000


class Budget:
    """Seconds that the searches of a fit share; preparation, averages and predictions count as well.

    `n_searches` choose a structure, and `n_last` learn from all rows. The time that is left is divided into `n_shares`.
    """

    def __init__(self, seconds: float | None, n_searches: int, n_last: int) -> None:
        self._end = None if seconds is None else perf_counter() + seconds
        self._least_of_last = _LEAST_OF_LAST * (seconds or 0.0)
        self._last_shares, self._n_last = _SHARES_OF_LAST * n_last, n_last
        self.n_shares = n_searches + self._last_shares
        # what searches took, and what took place besides them; when the last search began and what it took
        self._searches: list[float] = []
        self._overheads: list[float] = []
        self._former: tuple[float, float] | None = None

    @property
    def seconds(self) -> float | None:
        """Seconds that are left, at least a thousandth; None is no limit."""
        return None if self._end is None else max(self._end - perf_counter(), 1e-3)

    def fitted(
        self,
        options: Mapping[str, Any],
        table: Table,
        *,
        start: DiscretizedBayesNet | None = None,
        is_last: bool = False,
    ) -> BayesNetLearner:
        """Return a learner that is fitted within its share of the time, from a network to start with."""
        self._note_overhead()
        n_shares = _SHARES_OF_LAST if is_last else 1
        seconds = self.seconds
        if seconds is not None:
            share = seconds * n_shares / max(self.n_shares, n_shares)
            if is_last:
                seconds = max(
                    share - _OVERHEADS_OF_LAST * max(self._overheads, default=0.0), self._least_of_last
                )
            else:
                seconds = max(share - self._overhead, _LEAST_SHARE * share)
        began = perf_counter()
        learner = learner_of_options(BayesNetLearner, {**options, "max_seconds": seconds})
        learner.fit(table, start=start)
        self._former = began, learner.fit_seconds_
        self.n_shares -= n_shares
        return learner

    def expect(self, n_searches: int) -> None:
        """Divide the time that is left between this many searches and the last ones."""
        self.n_shares = n_searches + self._last_shares

    def allows(self, n_searches: int) -> bool:
        """Return whether further searches leave enough time for the last ones."""
        self._note_overhead()
        seconds, n_done = self.seconds, len(self._searches)
        if seconds is not None and n_done:
            searching = n_searches * sum(self._searches) / n_done
            n_overheads = n_searches + _OVERHEADS_OF_WEIGHTS * (n_done + n_searches)
            of_last = _OVERHEADS_OF_LAST * self._n_last * max(self._overheads)
            return bool(searching + n_overheads * self._overhead + of_last <= seconds)
        return True

    @property
    def _overhead(self) -> float:
        """Mean seconds of a search besides the search itself."""
        return sum(self._overheads) / max(len(self._overheads), 1)

    def _note_overhead(self) -> None:
        """Remember what the last search took, and what took place besides it."""
        if self._former is not None:
            began, searched = self._former
            self._searches.append(searched)
            self._overheads.append(perf_counter() - began - searched)
            self._former = None


@dataclass(frozen=True)
class Choice:
    """The structure and the weights that inner cross-validation over some folds has chosen.

    Losses are means by structure, with weights that are judged on other rows than they are chosen by; a structure that
    was left out of later folds has that of the first ones, with a power and slopes alone. The network is that of the
    structure in the first fold.
    """

    structure: str
    weights: Weights
    losses: dict[str, float]
    n_folds: int
    network: DiscretizedBayesNet | None = None


def structured(options: Mapping[str, Any], table: Table, target: str, structure: str) -> dict[str, Any]:
    """Return the options of a learner whose knowledge also has the rules of one of `STRUCTURES`.

    Columns that are constant get no rules.
    """
    knowledge = options["knowledge"] or ExpertKnowledge()
    others = [column.name for column in table.columns if column.name != target and not column.is_constant]
    away, towards = [(target, name) for name in others], [(name, target) for name in others]
    if structure in ("augmented", "tree", "naive"):
        required = dict.fromkeys([*knowledge.required_edges, *away])
        knowledge = replace(knowledge, required_edges=tuple(required))
        if structure != "augmented":
            most, given = {"naive": 1, "tree": 2}[structure], options["max_indegree"]
            options = {**options, "max_indegree": min(most, given) if isinstance(given, int) else most}
        if structure == "naive":
            # cuts alone are left to find, and the first evaluations find the best ones
            limit = options["max_evaluations"] or _EVALUATIONS_OF_CUTS
            options = {**options, "max_evaluations": min(limit, _EVALUATIONS_OF_CUTS)}
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
    loss_of: LossOf,
) -> Choice:
    """Return the first structure whose loss over the folds is within a standard error of the smallest, and its weights.

    The standard error is that of the difference, and every structure has the weights that make its loss smallest. A
    structure that contradicts the knowledge of the options is left out; it is an error if all do. Structures after the
    first one are left out of the first fold if the time would not suffice for the searches from all rows. So are the
    worst ones from a further fold, or all of them, and from all further folds those that are far behind the best one.
    `answer` is what a network says of held-out rows about the target and about all members of the families around it,
    and `folds`, int64 (n_rows,), are numbered from 0.
    """
    possible, refused = [], []
    for structure in candidates:
        learner = learner_of_options(BayesNetLearner, structured(options, table, target, structure))
        try:
            check_learning(table, LearningOptions.of(learner, table.n_rows))
            possible.append(structure)
        except GomeaBnError as error:
            refused.append(error)
    if not possible:
        raise refused[0]
    n_folds = int(folds.max()) + 1
    names = table.names
    n_genes = len(names) * (len(names) + 1) // 2
    most = min(options["max_evaluations"] or np.inf, _EVALUATIONS_PER_GENE * n_genes)
    networks: dict[str, DiscretizedBayesNet] = {}
    mean_losses: dict[str, list[float]] = {structure: [] for structure in possible}
    answers: dict[str, list[Answers]] = {structure: [] for structure in possible}
    values = table.columns[table.names.index(target)].values
    held_out: list[NDArray[np.int64]] = []
    for fold in range(n_folds):
        # what further rows tell about the weights is worth more than further structures
        tried = possible
        while held_out and tried and not budget.allows(len(tried)):
            last = max(tried, key=lambda structure: float(np.mean(mean_losses[structure])))
            tried = [structure for structure in tried if structure != last]
        if not tried:
            break
        possible = tried
        budget.expect((n_folds - fold) * len(possible))
        inner = table.take(np.flatnonzero(folds != fold))
        varying = tuple(c for c in inner.columns if c.name == target or not c.is_constant)
        inner = replace(inner, columns=varying)
        if inner.columns[inner.names.index(target)].is_constant:
            # all rows of the other classes are held out
            continue
        outer = np.flatnonzero(folds == fold)
        held_out.append(outer[:: -(-len(outer) // _MOST_HELD_OUT)])
        frame = table.take(held_out[-1]).to_frame()
        with warnings.catch_warnings():
            # the last search warns of the table, and ranges of folds are nothing to warn of
            warnings.simplefilter("ignore", GomeaBnWarning)
            for structure in possible:
                if not fold and networks and not budget.allows(1):
                    break
                inner_options = structured({**options, "max_evaluations": most}, inner, target, structure)
                learner = budget.fitted({**inner_options, "density": "bins"}, inner)
                density = learner.network_
                networks.setdefault(structure, density)
                if options["density"] != "bins":
                    line, seed = options["line"], learner.seed_
                    density = average_of_blanket(
                        density, inner, target, n_copies=_N_COPIES, line=line, random_state=seed
                    )
                answers[structure].append(answer(density, learner.network_, frame, names))
        possible = [structure for structure in possible if structure in networks]
        of_fold = values[held_out[-1]]
        losses = {s: _judged(answers[s][-1], of_fold, loss_of, names, _FREEDOMS_OF_FOLD)[1] for s in possible}
        for structure, of_rows in losses.items():
            mean_losses[structure].append(float(of_rows.mean()))
        best = min(losses, key=lambda structure: float(losses[structure].mean()))
        possible = [s for s in possible if not _is_behind(losses[s], losses[best], _ERRORS_BEHIND)]
    budget.expect(0)
    if not held_out:
        raise GomeaBnError(
            f"The target '{target}' has too few rows of other values than the most frequent one to choose a structure. "
            "Give more rows, or name the structure."
        )
    of_rows = values[np.concatenate(held_out)]
    chosen = {s: _weighted(Answers.joined(answers[s]), of_rows, loss_of, names) for s in possible}
    losses_of = {s: float(chosen[s][1].mean() if s in chosen else np.mean(mean_losses[s])) for s in networks}
    best = min(possible, key=lambda structure: losses_of[structure])
    least = chosen[best][1]
    first = next(s for s in possible if not _is_behind(chosen[s][1], least, _ERRORS_OF_CHOICE))
    return Choice(first, chosen[first][0], losses_of, len(held_out), networks[first])


def _is_behind(losses: NDArray[np.float64], least: NDArray[np.float64], errors: float) -> bool:
    """Return whether more is lost on the same rows, by more than some standard errors of the difference."""
    difference = losses - least
    error = float(difference.std()) / np.sqrt(len(difference))
    return bool(difference.mean() > errors * error)


def _unit_of(answers: Answers, loss: Loss) -> float:
    """Return the loss that counts as one nat: the mean loss of the plain probabilities."""
    return float(loss(answers.probabilities)[0].mean()) or 1.0


def _judged(
    answers: Answers,
    values: NDArray[Any],
    loss_of: LossOf,
    names: Sequence[str],
    freedoms: Sequence[tuple[float, float]],
) -> tuple[tuple[float, float], NDArray[np.float64]]:
    """Return the freedom of weights that predict left-out rows best, and the losses of these, float64 (n_rows,).

    Answers are of rows by networks that were learned without them; the weights of some parts of the rows are judged on
    the others.
    """
    unit = _unit_of(answers, loss_of(values))
    parts = np.random.default_rng(_SEED_OF_PARTS).permutation(len(values)) % _N_PARTS
    members = [parts == part for part in np.unique(parts)]
    best: tuple[tuple[float, float], NDArray[np.float64]] | None = None
    is_better = True
    for freedom in freedoms:
        if freedom in WIDER and not is_better:
            break
        losses = np.empty(len(values))
        for part in members:
            weights = fitted_weights(answers.some(~part), loss_of(values[~part]), names, freedom, unit)
            losses[part] = loss_of(values[part])(weights.applied(answers.some(part), names))[0]
        is_better = best is None or bool(losses.mean() < best[1].mean())
        if is_better:
            best = freedom, losses
    assert best is not None
    return best


def _weighted(
    answers: Answers, values: NDArray[Any], loss_of: LossOf, names: Sequence[str]
) -> tuple[Weights, NDArray[np.float64]]:
    """Return the weights that predict left-out rows best, and the losses of these by the weights of other rows."""
    freedom, losses = _judged(answers, values, loss_of, names, (*FREEDOMS, *WIDER))
    loss = loss_of(values)
    return fitted_weights(answers, loss, names, freedom, _unit_of(answers, loss)), losses
