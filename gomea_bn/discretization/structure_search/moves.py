"""Moves between acyclic graphs that differ in one edge, under edge rules."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.knowledge import EdgeRules

ParentSet = set[int]
"""Positions of one column's parents."""

ADD, REMOVE = 0, 1


class EdgeMoves:
    """Gains of the additions, removals and reversals of single edges, and the moves themselves.

    Parameters
    ----------
    rules : EdgeRules
    cardinality : sequence of int
        Number of levels of every column.
    """

    def __init__(self, rules: EdgeRules, cardinality: Sequence[int]) -> None:
        self.rules = rules
        self.cardinality = [float(levels) for levels in cardinality]
        n = self.n = len(cardinality)
        # [p, c]: gain by adding, or removing, the edge p -> c alone
        self._added = np.full((n, n), -inf)
        self._removed = np.full((n, n), -inf)

    def parent_sets(self, c: int, parents: ParentSet) -> list[ParentSet]:
        """Return the parents of column `c`, then with one parent removed, then with one added, as the rules allow."""
        removable, addable = self._changes(c, parents)
        return [parents, *(parents - {p} for p in removable), *(parents | {p} for p in addable)]

    def note_gains(self, c: int, parents: ParentSet, values: NDArray[np.float64]) -> None:
        """Note the gains at column `c` from the values of `parent_sets` in their order; higher is better."""
        removable, addable = self._changes(c, parents)
        gains = values[1:] - values[0]
        self._added[:, c] = self._removed[:, c] = -inf
        self._removed[removable, c] = gains[: len(removable)]
        self._added[addable, c] = gains[len(removable) :]

    def _changes(self, c: int, parents: ParentSet) -> tuple[list[int], list[int]]:
        """Return the parents that may be removed from column `c`, and the columns that may be added to them."""
        rules = self.rules
        removable = [p for p in sorted(parents) if rules.may_lack[p, c] or rules.may_lead[c, p]]
        return removable, rules.addable(c, parents, self.cardinality)

    def gains(self, parents: Sequence[ParentSet]) -> NDArray[np.float64]:
        """Return the gain of every move, shape (3, n, n) by kind, parent and child; -inf if it is not allowed."""
        present = np.zeros((self.n, self.n), np.bool_)
        for c, of_child in enumerate(parents):
            present[list(of_child), c] = True
        reach = _reachability(present)
        # a reversal closes a cycle if another parent of the child descends from the parent
        others = reach.astype(np.float32) @ present.astype(np.float32) - present
        reversible = present & (others < 0.5)
        return np.stack(
            (
                np.where(reach.T, -inf, self._added),
                np.where(self.rules.may_lack, self._removed, -inf),
                np.where(reversible, self._removed + self._added.T, -inf),
            )
        )

    @staticmethod
    def make(parents: Sequence[ParentSet], kind: int, p: int, c: int) -> list[int]:
        """Change the edge p -> c in the parents of all columns, and return the columns whose parents changed."""
        if kind == ADD:
            parents[c].add(p)
            return [c]
        parents[c].discard(p)
        if kind == REMOVE:
            return [c]
        parents[p].add(c)
        return [c, p]


def _reachability(present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether edges lead from i to j, a bool matrix of shape (n, n) that is true on the diagonal."""
    reach: NDArray[np.bool_] = present | np.eye(len(present), dtype=np.bool_)
    while True:
        weights = reach.astype(np.float32)
        further = (weights @ weights) > 0.5
        if np.array_equal(further, reach):
            return reach
        reach = further
