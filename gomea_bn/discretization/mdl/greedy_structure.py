"""Greedy search for the graph with the shortest description of coded columns, one edge at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log

import numpy as np

from gomea_bn.discretization.base import DiscretizationTask
from gomea_bn.discretization.mdl.description_length import Criterion
from gomea_bn.discretization.structure_search.moves import EdgeMoves, ParentSet
from gomea_bn.problems.cuts.blanket import CodedColumn
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scoring.family_scorer import Family, FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import is_gain, score_rule, scoring_method


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
        self.edge_cost = log(len(coded)) if criterion.codes_partitions else 0.0
        method = scoring_method("aic" if criterion.name == "aic" else "bic")
        variables = [
            ScoredVariable(name, column.codes, column.cardinality) for name, column in zip(names, coded)
        ]
        self.scorer = FamilyScorer(variables, method, score_rule(method, criterion.n_rows))
        self._moves = EdgeMoves(rules, [column.cardinality for column in coded])

    def climb(self, start: Sequence[Sequence[int]], task: DiscretizationTask) -> tuple[tuple[int, ...], ...]:
        """Return every column's parents at the end of the climb from `start`, or at the deadline.

        Ties go to additions before removals before reversals, and then to the first parent and child.
        """
        parents = [set(columns) for columns in start]
        due = list(range(len(parents)))
        longest = 0.0
        while not task.expired:
            for c in due:
                longest = max(longest, self._price(c, parents[c]))
            gains = self._moves.gains(parents)
            best = int(np.argmax(gains))
            if not is_gain(float(gains.reshape(-1)[best]), longest):
                break
            kind, p, c = (int(i) for i in np.unravel_index(best, gains.shape))
            due = self._moves.make(parents, kind, p, c)
        return tuple(tuple(sorted(columns)) for columns in parents)

    def _price(self, c: int, parents: ParentSet) -> float:
        """Note what adding or removing single parents of column `c` saves, and return the length of the column."""
        sets = self._moves.parent_sets(c, parents)
        families = [Family((c, 0), tuple((p, 0) for p in columns)) for columns in sets]
        lengths = self.edge_cost * np.array([len(columns) for columns in sets]) - self.scorer.score(families)
        self._moves.note_gains(c, parents, -lengths)
        return float(abs(lengths[0]))


@cache
def compile_greedy_kernels() -> None:
    """Compile or load the kernels of the family scores, so that no deadline pays for it."""
    method = scoring_method("bic")
    codes = np.arange(4, dtype=np.int32) % 2
    variables = [ScoredVariable(name, codes, 2) for name in ("x", "y")]
    FamilyScorer(variables, method, score_rule(method, 4)).score([Family((0, 0), ((1, 0),))])
