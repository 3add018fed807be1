"""Proposals of whole parent sets of a column whose cuts are unknown, by their scores over auxiliary bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.cut_sums import MOST_BINS, CutSums
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.discretization.base import Cuts
from gomea_bn.network.graph import reachable
from gomea_bn.problems.cuts.blanket import ParentSets as Graph
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.family_scorer import LibraryGrowth

__all__ = ["GuidedParents"]

# fewest bins of a guide, which may have an edge, and most: more of them have too few rows each
_FEWEST_GUIDE_BINS, _MOST_GUIDE_BINS = 2, 8
# exponents of the scores: 1 is right for a guide near the cuts of a good parent set, small ones for a poor guide
_POWERS = (0.3, 0.6, 1.0)


@dataclass(frozen=True)
class _Guide:
    """Proposal distribution of a column's parents.

    Attributes
    ----------
    parents : list of list of int
        Parent sets.
    log_weights : ndarray of shape (n_sets,), float64
        ln of their probabilities, up to a constant.
    position : int
        Position of the present parents.
    """

    parents: list[list[int]]
    log_weights: NDArray[np.float64]
    position: int


class GuidedParents:
    """Moves to other parents of a column, with its cuts summed out.

    The column gets random cuts, its guide, and the scores of all parent sets over them are the proposal distribution.
    It depends neither on the cuts of the column nor on its parents. A proposal is accepted by the odds of the sums over
    the cuts, divided by those of the proposals. Several parents that only explain a column together come at once.

    Parameters
    ----------
    graphs : GraphScores
    cuts : dict of int to ndarray
        Present cuts of all continuous variables.
    n_proposals : int
        Number of parent sets that are proposed per column.
    """

    def __init__(self, graphs: GraphScores, cuts: Cuts, n_proposals: int) -> None:
        self._graphs = graphs
        self._scorer = graphs.scorer_of_bins(cuts, LibraryGrowth(1, MOST_BINS))
        self._n_proposals = n_proposals

    def set_cuts(self, v: int, cuts: NDArray[np.float64]) -> None:
        """Set the present cuts of a column, which has been moved or drawn."""
        self._scorer.replace_first(v, cuts)

    def moved(
        self,
        v: int,
        column: SortedColumn,
        graph: Sequence[Sequence[int]],
        sums: CutSums,
        generator: np.random.Generator,
    ) -> list[int]:
        """Return the parents of a column after some proposals; its cuts in the scorer are then those of its guide."""
        parents = list(graph[v])
        guide = self._guide(v, column, graph, generator)
        if guide is None:
            return parents
        weights = np.exp(guide.log_weights - guide.log_weights.max())
        position = guide.position
        for k in generator.choice(len(weights), self._n_proposals, p=weights / weights.sum()).tolist():
            odds_of_proposals = guide.log_weights[k] - guide.log_weights[position]
            is_new = k != position
            if (
                is_new
                and np.log(generator.random()) < sums.gain(parents, guide.parents[k]) - odds_of_proposals
            ):
                parents, position = guide.parents[k], k
        return parents

    def _guide(
        self, v: int, column: SortedColumn, graph: Sequence[Sequence[int]], generator: np.random.Generator
    ) -> _Guide | None:
        """Return a random proposal distribution; None if it never proposes the present parents."""
        most = min(_MOST_GUIDE_BINS, len(column.cuts) + 1)
        n_cuts = int(generator.integers(_FEWEST_GUIDE_BINS, most + 1)) - 1
        self._scorer.replace_first(
            v, column.cuts[np.sort(generator.choice(len(column.cuts), n_cuts, replace=False))]
        )
        sets = self._graphs.scored_by(self._scorer).parent_sets_of(v)
        descendants = list(reachable(dict(enumerate(Graph(graph).children)), [v]))
        fits = ~sets.members[:, descendants].any(axis=1)
        members = sets.members[fits]
        present = np.zeros(members.shape[1], np.bool_)
        present[list(graph[v])] = True
        same = np.flatnonzero((members == present).all(axis=1))
        if not len(same):
            return None
        log_weights = generator.choice(_POWERS) * sets.scores[fits]
        return _Guide([np.flatnonzero(row).tolist() for row in members], log_weights, int(same[0]))
