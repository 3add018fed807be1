"""Greedy search for the graph with the shortest description of coded columns, one edge at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.base import DiscretizationTask
from gomea_bn.discretization.mdl.description_length import Criterion
from gomea_bn.problems.cuts.blanket import CodedColumn
from gomea_bn.problems.family_scorer import Family, FamilyScorer, ScoredVariable
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import is_gain, score_rule, scoring_method

__all__ = ["GreedyStructure", "compile_greedy_kernels"]

Parents = list[set[int]]


class GreedyStructure:
    """Adds, removes or reverses the edge that shortens the description most, until none shortens it.

    Parameters
    ----------
    coded : sequence of CodedColumn
        Columns under fixed bins.
    names : sequence of str
    criterion : Criterion
        An edge costs its parameters and, under MDL, ln N for naming the parent among N variables.
    rules : EdgeRules
    """

    def __init__(
        self, coded: Sequence[CodedColumn], names: Sequence[str], criterion: Criterion, rules: EdgeRules
    ) -> None:
        self.cardinality = [column.cardinality for column in coded]
        self.rules = rules
        self.edge_cost = log(len(coded)) if criterion.codes_partitions else 0.0
        method = scoring_method("aic" if criterion.name == "aic" else "bic")
        variables = [
            ScoredVariable(name, column.codes, column.cardinality) for name, column in zip(names, coded)
        ]
        self.scorer = FamilyScorer(variables, method, score_rule(method, criterion.n_rows))
        n = self.n = len(coded)
        allowed = rules.allowed
        upper = np.triu(np.ones((n, n), np.bool_), 1)
        self.may_lead = np.where(upper, allowed[:, :, 1], allowed[:, :, 2].T)
        np.fill_diagonal(self.may_lead, False)
        self.may_lack = np.where(upper, allowed[:, :, 0], allowed[:, :, 0].T)

    def climb(self, start: Sequence[Sequence[int]], task: DiscretizationTask) -> tuple[tuple[int, ...], ...]:
        """Return every column's parents at the end of the climb from `start`, or at the deadline.

        Ties go to additions before removals before reversals, and then to the first parent and child.
        """
        n = self.n
        parents: Parents = [set(columns) for columns in start]
        # [p, c]: change of the length by removing, or adding, the edge p -> c, in nats
        without = np.full((n, n), np.inf)
        added = np.full((n, n), np.inf)
        due = list(range(n))
        length = 0.0
        while not task.expired:
            for c in due:
                length = max(length, self._price(c, parents[c], without, added))
            reach = _reachability(parents)
            moves = np.stack(
                [np.where(reach.T, np.inf, added), without, self._reversed(parents, without, added)]
            )
            best = int(np.argmin(moves))
            if not is_gain(-float(moves.reshape(-1)[best]), length):
                break
            kind, p, c = (int(i) for i in np.unravel_index(best, moves.shape))
            if kind == 0:
                parents[c].add(p)
            else:
                parents[c].discard(p)
            if kind == 2:
                parents[p].add(c)
            due = [c, p] if kind == 2 else [c]
        return tuple(tuple(sorted(columns)) for columns in parents)

    def _price(
        self, c: int, own: set[int], without: NDArray[np.float64], added: NDArray[np.float64]
    ) -> float:
        """Fill column `c` with the changes of the lone removals and additions of its parents; return its length."""
        without[:, c] = added[:, c] = np.inf
        removable = [p for p in sorted(own) if self.may_lack[p, c]]
        room = self.rules.max_table_cells / prod(float(self.cardinality[k]) for k in (c, *own))
        addable = [
            p
            for p in range(self.n)
            if p not in own
            and self.may_lead[p, c]
            and self.cardinality[p] <= room
            and len(own) < self.rules.max_indegree
        ]
        sets = [own, *(own - {p} for p in removable), *(own | {p} for p in addable)]
        families = [Family((c, 0), tuple((p, 0) for p in found)) for found in sets]
        lengths = self.edge_cost * np.array([len(found) for found in sets]) - self.scorer.score(families)
        changes = lengths[1:] - lengths[0]
        without[removable, c] = changes[: len(removable)]
        added[addable, c] = changes[len(removable) :]
        return float(abs(lengths[0]))

    def _reversed(
        self, parents: Parents, without: NDArray[np.float64], added: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what turning the edge p -> c round changes, [p, c]; infinite where it may not be turned."""
        found = np.full((self.n, self.n), np.inf)
        for c, own in enumerate(parents):
            for p in sorted(own):
                change = without[p, c] + added[c, p]
                own.discard(p)
                if np.isfinite(change) and not _reachability(parents)[p, c]:
                    found[p, c] = change
                own.add(p)
        return found


def _reachability(parents: Sequence[set[int]]) -> NDArray[np.bool_]:
    """Return bool (n, n): [i, j] where a path leads from i to j, and on the diagonal."""
    n = len(parents)
    reach = np.eye(n, dtype=np.bool_)
    waiting = list(range(n))
    done: set[int] = set()
    while waiting:
        ready = [v for v in waiting if parents[v] <= done]
        for v in ready:
            for p in parents[v]:
                reach[:, v] |= reach[:, p]
        done.update(ready)
        waiting = [v for v in waiting if v not in done]
    return reach


@cache
def compile_greedy_kernels() -> None:
    """Compile or load the kernels of the family scores, so that no deadline pays for it."""
    method = scoring_method("bic")
    codes = np.arange(4, dtype=np.int32) % 2
    variables = [ScoredVariable(name, codes, 2) for name in ("x", "y")]
    FamilyScorer(variables, method, score_rule(method, 4)).score([Family((0, 0), ((1, 0),))])
