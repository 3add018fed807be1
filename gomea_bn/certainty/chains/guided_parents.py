"""Proposals of whole parent sets of a column whose cuts are unknown, by their scores over random bins of the column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.chains.cut_sums import MOST_BINS, CutSums
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.discretization.base import Cuts
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.graph import reachable
from gomea_bn.problems.cuts.blanket import ParentSets as Graph
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.scoring.family_scorer import LibraryGrowth

__all__ = ["Guide", "GuidedParents"]

# most bins of a guide: more of them have too few rows each
_MOST_GUIDE_BINS = 8
# exponents of the scores: 1 is right for a guide near the cuts of a good parent set, small ones for a poor guide
_POWERS = (0.3, 0.6, 1.0)


@dataclass(frozen=True)
class Guide:
    """A distribution from which parent sets are proposed.

    Attributes
    ----------
    members : ndarray of shape (n_sets, n_variables), bool
        Members of the parent sets.
    log_weights : ndarray of shape (n_sets,), float64
        ln of their probabilities, up to a constant.
    """

    members: NDArray[np.bool_]
    log_weights: NDArray[np.float64]

    def moved(
        self,
        present: frozenset[int],
        n_proposals: int,
        gain: Callable[[frozenset[int], frozenset[int]], float],
        generator: np.random.Generator,
    ) -> frozenset[int]:
        """Return the parents after some proposals; the present ones if the guide never proposes them.

        `gain` returns ln of the posterior odds of its second argument. A proposal is accepted by these odds, divided by
        the odds of proposing the two sets (an independence sampler: Hastings 1970), so that any guide leaves the
        posterior as it is.
        """
        wanted = np.zeros(self.members.shape[1], np.bool_)
        wanted[list(present)] = True
        positions = np.flatnonzero((self.members == wanted).all(axis=1))
        if not len(positions):
            return present
        position, parents = int(positions[0]), present
        weights = np.exp(self.log_weights - self.log_weights.max())
        for k in generator.choice(len(weights), n_proposals, p=weights / weights.sum()).tolist():
            if k == position:
                continue
            odds_of_proposals = self.log_weights[k] - self.log_weights[position]
            proposed = frozenset(np.flatnonzero(self.members[k]).tolist())
            if np.log(generator.random()) < gain(parents, proposed) - odds_of_proposals:
                position, parents = k, proposed
        return parents


class GuidedParents:
    """Moves to other parents of a column, with its cuts summed out.

    The column gets random cuts, and the scores of all parent sets over them are the guide of the proposals. They depend
    neither on the cuts of the column nor on its parents. Several parents that only explain a column together come at
    once.

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
    ) -> frozenset[int]:
        """Return the parents of a column after some proposals; its cuts in the scorer are then those of the guide."""
        present = frozenset(graph[v])
        guide = self._guide(v, column, graph, generator)
        if guide is None:
            return present
        return guide.moved(present, self._n_proposals, sums.gain, generator)

    def _guide(
        self, v: int, column: SortedColumn, graph: Sequence[Sequence[int]], generator: np.random.Generator
    ) -> Guide | None:
        """Return a guide by random cuts of a column; None if required edges make its tables too large."""
        n_cuts = int(generator.integers(1, min(_MOST_GUIDE_BINS, len(column.cuts) + 1)))
        cuts = column.cuts[np.sort(generator.choice(len(column.cuts), n_cuts, replace=False))]
        power = float(generator.choice(_POWERS))
        self._scorer.replace_first(v, cuts)
        try:
            sets = self._graphs.scored_by(self._scorer).parent_sets_of(v)
        except GomeaBnError:
            return None
        descendants = list(reachable(dict(enumerate(Graph(graph).children)), [v]))
        fits = np.asarray(~sets.members[:, descendants].any(axis=1))
        return Guide(sets.members[fits], power * sets.scores[fits])
