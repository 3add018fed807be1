"""Parent sets of every variable with their scores: what optima and posteriors of graphs are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option
from gomea_bn.problems.family_scorer import FamilyScorer
from gomea_bn.problems.knowledge import EdgeRules

# memory and seconds: a score takes about a microsecond per thousand rows
_MOST_FAMILIES = 20_000_000
_BLOCK = 1 << 16
# score of a variable whose required parents come later
_IMPOSSIBLE = -1e12


@dataclass(frozen=True)
class ScoredParentSets:
    """Parent sets of one variable and their scores in nats, best score first; equal scores in order of size.

    `members`, (n_sets, n_variables), says which variables are in a set.
    """

    members: NDArray[np.bool_]
    scores: NDArray[np.float64]

    @property
    def masks(self) -> NDArray[np.int64]:
        """Sets as bits, the first variable lowest, int64 (n_sets,); for at most 62 variables."""
        return np.asarray(self.members @ (np.int64(1) << np.arange(self.members.shape[1], dtype=np.int64)))


def parent_sets(
    scorer: FamilyScorer, rules: EdgeRules, *, prune: bool, margin: float = 0.0
) -> list[ScoredParentSets]:
    """Return the allowed parent sets of every variable, which has one policy, with their scores.

    With `prune` sets are left out that score by `margin` nats lower than one of their subsets, or with margin 0 no
    higher. The best graph has none of them. If a graph has such a set, the one with the subset in its place has
    exp(margin) times its weight. Raises `GomeaBnError` if there are more than twenty million sets, or a variable has no
    allowed one.
    """
    may, must, most = rules.may_lead, rules.required, rules.max_indegree
    total = sum(comb(int(m), k) for m in may.sum(axis=0) for k in range(most + 1))
    if total > _MOST_FAMILIES:
        raise GomeaBnError(
            [
                f"{len(may)} variables with at most {most} parents have {total:,} parent sets; at most "
                f"{_MOST_FAMILIES:,} can be scored. Lower ",
                Option("max_indegree"),
                " or forbid edges.",
            ]
        )
    return [
        _sets_of(scorer, child, may[:, child], must[:, child], rules, margin if prune else np.inf)
        for child in range(len(may))
    ]


@cache
def _combinations(n: int, k: int) -> NDArray[np.int64]:
    """Return the combinations of k of n numbers, int64 (n_combinations, k), in colexicographic order.

    The position of c_1 < ... < c_k is the sum of C(c_i, i).
    """
    if k == 0:
        return np.zeros((1, 0), np.int64)
    parts = [
        np.column_stack([_combinations(last, k - 1), np.full(comb(last, k - 1), last, np.int64)])
        for last in range(k - 1, n)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, k), np.int64)


def _positions(combinations: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of combinations in colexicographic order."""
    total = np.zeros(len(combinations), np.int64)
    for i in range(combinations.shape[1]):
        binomial = np.ones(len(combinations), np.int64)
        for factor in range(i + 1):
            binomial = binomial * (combinations[:, i] - factor) // (factor + 1)
        total += binomial
    return total


def _sets_of(
    scorer: FamilyScorer,
    child: int,
    may: NDArray[np.bool_],
    must: NDArray[np.bool_],
    rules: EdgeRules,
    margin: float,
) -> ScoredParentSets:
    """Return the parent sets of one variable that score at most `margin` lower than a subset."""
    required, optional = np.flatnonzero(must), np.flatnonzero(may & ~must)
    members, scores = [], []
    # best score of all subsets, the set included, of every combination with one parent less
    best: NDArray[np.float64] | None = None
    for size in range(min(rules.max_indegree - len(required), len(optional)) + 1):
        chosen = _combinations(len(optional), size)
        of_size = np.zeros((len(chosen), len(may)), np.bool_)
        of_size[:, required] = True
        of_size[np.arange(len(chosen))[:, None], optional[chosen]] = True
        of_subsets = np.full(len(chosen), -np.inf)
        if best is not None:
            for left_out in range(size):
                of_subsets = np.maximum(of_subsets, best[_positions(np.delete(chosen, left_out, axis=1))])
        of_sets = _scores(scorer, child, of_size, rules.max_table_cells)
        best = np.maximum(of_subsets, of_sets)
        # also leaves out tables with too many cells, whose score is minus infinity
        stays = of_sets > of_subsets - margin
        members.append(of_size[stays])
        scores.append(of_sets[stays])
    if not any(len(part) for part in scores):
        raise GomeaBnError(
            f"No table of variable {scorer.variables[child].name!r} with its required parents has at most "
            f"{rules.max_table_cells:.0f} cells."
        )
    order = np.argsort(-np.concatenate(scores), kind="stable")
    return ScoredParentSets(np.concatenate(members)[order], np.concatenate(scores)[order])


def _scores(
    scorer: FamilyScorer, child: int, members: NDArray[np.bool_], max_cells: float
) -> NDArray[np.float64]:
    """Return the scores of families of one child, and minus infinity for tables with too many cells."""
    cardinality = scorer.rows.cardinality[scorer.view_offset[:-1]].astype(np.float64)
    cells = np.exp(members @ np.log(cardinality)) * cardinality[child]
    scores = np.full(len(members), -np.inf)
    fits = np.flatnonzero(cells <= max_cells * (1 + 1e-9))
    for start in range(0, len(fits), _BLOCK):
        block = fits[start : start + _BLOCK]
        # a child comes after its parents
        rows, parents = np.nonzero(members[block])
        ends = np.cumsum(np.bincount(rows, minlength=len(block)) + 1)
        views = np.full(int(ends[-1]), scorer.view(child), np.int64)
        is_parent = np.ones(len(views), np.bool_)
        is_parent[ends - 1] = False
        views[is_parent] = scorer.view_offset[parents]
        offsets = np.concatenate(([0], ends)).astype(np.int64)
        scores[block] = scorer.score_encoded(offsets, views, use_cache=False)
    return scores


def over_subsets(sets: ScoredParentSets, combine: np.ufunc) -> NDArray[np.float64]:
    """Return a sum or maximum of the scores of a variable's sets within every subset, float64 (2**n_variables,).

    `combine` is `numpy.maximum`, or `numpy.logaddexp` for the logarithm of a sum.
    """
    n = sets.members.shape[1]
    table = np.full(1 << n, -np.inf)
    table[sets.masks] = sets.scores
    for bit in range(n):
        halves = table.reshape(-1, 2, 1 << bit)
        combine(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return table


class OrderSearch:
    """Best graphs of orders of the variables; the sets have none that score no higher than a subset."""

    def __init__(self, sets: Sequence[ScoredParentSets]) -> None:
        self.sets = sets
        # the empty set comes last, for orders that allow no other
        self._members = [np.pad(of_child.members, ((0, 1), (0, 0))).astype(np.float32) for of_child in sets]
        self._scores = [np.append(of_child.scores, _IMPOSSIBLE) for of_child in sets]

    def choice(self, child: int, later: NDArray[np.bool_]) -> int:
        """Return the position of the best parent set without any of the later variables; their number if none fits."""
        return int(np.argmax(self._members[child] @ later.astype(np.float32) == 0))

    def value(self, child: int, later: NDArray[np.bool_]) -> float:
        """Return the score of a variable with its best parent set without any of the later variables."""
        return float(self._scores[child][self.choice(child, later)])

    def choices(self, order: Sequence[int]) -> list[int]:
        """Return the position of the best parent set of every variable under an order."""
        later = np.ones(len(self.sets), np.bool_)
        chosen = [0] * len(self.sets)
        for child in order:
            chosen[child] = self.choice(child, later)
            later[child] = False
        return chosen

    def score(self, choices: Sequence[int]) -> float:
        """Return the score of a choice of parent sets in nats, minus infinity if a variable has none that fits."""
        score = float(sum(scores[k] for scores, k in zip(self._scores, choices, strict=True)))
        return score if score > _IMPOSSIBLE / 2 else -np.inf

    def parents(self, choices: Sequence[int]) -> list[list[int]]:
        """Return the parents of every variable under a choice of parent sets."""
        return [
            np.flatnonzero(of_child.members[k]).tolist()
            for of_child, k in zip(self.sets, choices, strict=True)
        ]

    def climbed(self, order: Sequence[int], generator: np.random.Generator) -> list[int]:
        """Return an order that no insertion of one variable at another position improves."""
        current = list(order)
        improves = True
        while improves:
            improves = False
            for child in generator.permutation(len(current)).tolist():
                position, gain = self._best_position(current, child)
                if gain > 1e-9:
                    current.remove(child)
                    current.insert(position, child)
                    improves = True
        return current

    def _best_position(self, order: Sequence[int], child: int) -> tuple[int, float]:
        """Return where a variable is best inserted into the order of the others, and the gain in nats."""
        others = [v for v in order if v != child]
        later = np.ones(len(self.sets), np.bool_)
        # score of the order with the variable at each position, up to a constant
        of_child = np.empty(len(order))
        difference = np.empty(len(others))
        for position, other in enumerate(others):
            later[child] = True
            of_child[position] = self.value(child, later)
            without = self.value(other, later)
            later[child] = False
            difference[position] = self.value(other, later) - without
            later[other] = False
        of_child[-1] = self.value(child, later)
        # variables after the inserted one may have it as a parent
        gains = np.append(np.cumsum(difference[::-1])[::-1], 0.0)
        total = of_child + gains
        best = int(np.argmax(total))
        return best, float(total[best] - total[order.index(child)])
