"""Sums over all cuts of one column by its parents: proposals of other parents are judged by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.cut_cycle import RefinementSession
from gomea_bn.problems.cuts.blanket import CodedColumn, ParentSets
from gomea_bn.problems.cuts.cut_posterior import CutPosterior, PricedIntervals
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore

# most bins of a drawn column: draws take time that grows with it, and with the square of candidates
_MOST_BINS = 15


def with_parents(graph: Sequence[Sequence[int]], v: int, parents: Iterable[int]) -> list[list[int]]:
    """Return the parents of every variable in a graph where one variable has other parents."""
    return [sorted(parents) if w == v else list(of_w) for w, of_w in enumerate(graph)]


@dataclass(frozen=True)
class CutModel:
    """What the posterior of a column's cuts depends on besides graph and bins.

    Attributes
    ----------
    graphs : GraphScores
        Scores over the bins of the network, under "density-bd".
    columns : dict of int to SortedColumn
        Columns whose cuts are drawn.
    session : RefinementSession
    interval_score : IntervalScore
    cut_cost : float
        Cost of a cut as a multiple of ln m for m places of a cut. 1 gives all places together the same prior
        probability as the column without that cut.
    """

    graphs: GraphScores
    columns: dict[int, SortedColumn]
    session: RefinementSession
    interval_score: IntervalScore
    cut_cost: float = 1.0

    def posterior(
        self, v: int, cuts: NDArray[np.float64], graph: ParentSets, coded: Sequence[CodedColumn], seed: int
    ) -> CutPosterior | None:
        """Return the posterior of a column's cuts, among candidates that contain its present ones.

        The same seed draws the same candidates. None stands for a graph under which no cuts are within the limits on
        bins and tables.
        """
        around = graph.neighbourhood(v, coded)
        shape = self.session.shapes.get(v)
        least = self._least_bins(v, graph)
        most = min(_MOST_BINS, around.most_bins(self.graphs.knowledge_rules.max_table_cells))
        if most < least:
            return None
        intervals = PricedIntervals(
            CutProblem(self.columns[v], around, self.interval_score, shape),
            CutLimits(least, most),
            shaped=shape is not None and shape.may_be_shaped,
            incumbent=cuts,
            generator=np.random.default_rng(seed),
        )
        try:
            return CutPosterior(intervals, cut_cost=self.cut_cost)
        except GomeaBnError:
            return None

    def _least_bins(self, v: int, graph: ParentSets) -> int:
        """Return 2 for a variable with an edge, which needs two bins, unless all its edges are required ones."""
        is_free = any(not self.graphs.is_required(p, v) for p in graph.parents[v]) or any(
            not self.graphs.is_required(v, c) for c in graph.children[v]
        )
        return 2 if is_free else 1


class CutSums:
    """Sums over the cuts of one column by its parents, given all other edges and the bins of the other columns.

    Parameters
    ----------
    model : CutModel
    v : int
        The column.
    cuts : ndarray of shape (k,), float64
        Its present cuts.
    graph : sequence of sequence of int
        Parents of every variable; those of the column do not matter.
    coded : sequence of CodedColumn
        Present codes of all variables; the column's own do not matter.
    seed : int
        Seed of the candidate cuts.
    """

    def __init__(
        self,
        model: CutModel,
        v: int,
        cuts: NDArray[np.float64],
        graph: Sequence[Sequence[int]],
        coded: Sequence[CodedColumn],
        seed: int,
    ) -> None:
        self._model, self._v, self._cuts, self._coded, self._seed = model, v, cuts, coded, seed
        self._graph = graph
        self._posteriors: dict[frozenset[int], CutPosterior | None] = {}

    def posterior(self, parents: frozenset[int]) -> CutPosterior | None:
        """Return the posterior of the cuts under parents of the column; None if no cuts are within the limits."""
        if parents not in self._posteriors:
            graph = ParentSets(with_parents(self._graph, self._v, parents))
            self._posteriors[parents] = self._model.posterior(
                self._v, self._cuts, graph, self._coded, self._seed
            )
        return self._posteriors[parents]

    def gain(self, parents: frozenset[int], proposed: frozenset[int]) -> float:
        """Return ln of the posterior odds of other parents, -inf if no cuts are within the limits under them."""
        now, then = self.posterior(parents), self.posterior(proposed)
        if then is None or now is None:
            return -np.inf
        gain = then.log_total - now.log_total
        return gain - (len(proposed) - len(parents)) * self._model.graphs.scorer.rule.edge_cost
