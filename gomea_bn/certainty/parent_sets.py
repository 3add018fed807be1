"""Parent sets of every variable with their scores: what optima and posteriors of graphs are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scoring.family_scorer import FamilyScorer

# memory and seconds: a score takes about a microsecond per thousand rows
_MOST_FAMILIES = 20_000_000
_BLOCK = 1 << 16


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
    may = rules.may_lead
    must = may & ~rules.may_lack
    _check_number(may, rules.max_indegree)
    return [
        _sets_of(scorer, child, may[:, child], must[:, child], rules, margin if prune else np.inf)
        for child in range(len(may))
    ]


def _check_number(may: NDArray[np.bool_], max_indegree: int) -> None:
    total = sum(comb(int(m), k) for m in may.sum(axis=0) for k in range(max_indegree + 1))
    if total > _MOST_FAMILIES:
        raise GomeaBnError(
            [
                f"{len(may)} variables with at most {max_indegree} parents have {total:,} parent sets; at most "
                f"{_MOST_FAMILIES:,} can be scored. Lower ",
                Option("max_indegree"),
                " or forbid edges.",
            ]
        )


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
        of_size = _with_members(len(may), required, optional[chosen])
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


def _with_members(n: int, required: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    members = np.zeros((len(chosen), n), np.bool_)
    members[:, required] = True
    members[np.arange(len(chosen))[:, None], chosen] = True
    return members


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
