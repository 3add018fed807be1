"""Markov chains over graphs and bins: the posterior of edges where the bins are unknown as well.

A chain takes turns. Given the bins, sweeps draw the parents of several variables at once (`GraphChain`). Given the
graph and all other bins, the cuts of one column after another are drawn from their posterior, by forward filtering and
backward sampling over the intervals of the dynamic programme (`CutPosterior`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.graph_chain import MARGIN, GraphChain, SweepSums, chain_families
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.orders import OrderSearch
from gomea_bn.certainty.parent_sets import ParentSets
from gomea_bn.discretization.base import Cuts
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.cuts.cut_cycle import RefinementSession
from gomea_bn.network.graph import reachable, topological_order
from gomea_bn.problems.cuts.blanket import CodedColumn, coded_bins
from gomea_bn.problems.cuts.blanket import ParentSets as Graph
from gomea_bn.problems.cuts.cut_posterior import CutPosterior, PricedIntervals
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.runtime.checkpoints import State

__all__ = ["SWEEPS_PER_DRAW", "BinsChain", "BinsModel"]

SWEEPS_PER_DRAW = 20
"""Sweeps of a chain over graphs between two draws of all bins: scoring the parent sets takes longer than they do."""

# draws of cuts take time that grows with the square of the candidates and with the bins
_MOST_BINS = 15


@dataclass(frozen=True)
class BinsModel:
    """What chains over graphs and bins have in common.

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
    n_proposals : int
        Number of edges that are proposed to come or go before a draw of a column's cuts.
    """

    graphs: GraphScores
    columns: dict[int, SortedColumn]
    session: RefinementSession
    interval_score: IntervalScore
    cut_cost: float = 1.0
    n_proposals: int = 2

    @classmethod
    def of(cls, graphs: GraphScores) -> BinsModel:
        """Return the model of all continuous columns whose cuts no user has fixed."""
        session = graphs.session
        assert session is not None
        columns = {v: SortedColumn(graphs.table.columns[v].values) for v in session.movable}
        return cls(
            graphs,
            {v: column for v, column in columns.items() if len(column.cuts)},
            session,
            IntervalScore(graphs.scorer.method, graphs.scorer.rule),
        )

    def draw(
        self, cuts: Cuts, parents: Sequence[Sequence[int]], generator: np.random.Generator
    ) -> tuple[Cuts, list[list[int]]]:
        """Return cuts and parents after a draw of every column's cuts in turn, given all other bins.

        Before each draw some edges to the column are proposed to come or go, by the sums over its cuts.
        """
        drawn, graph = dict(cuts), [list(of_child) for of_child in parents]
        coded = self.session.coded(cuts)
        for v in generator.permutation(list(self.columns)).tolist():
            seed = int(generator.integers(2**63))
            posterior = self._posterior(v, drawn[v], graph, coded, seed)
            if posterior is None:
                # the network may break the limits on bins, and then keeps its cuts
                continue
            for _ in range(self.n_proposals):
                proposed = self._proposed_graph(v, graph, coded, generator)
                if proposed is None:
                    continue
                # the same candidate cuts, drawn with the same seed
                other = self._posterior(v, drawn[v], proposed, coded, seed)
                if other is None:
                    continue
                n_more = len(proposed[v]) - len(graph[v])
                gain = other.log_total - posterior.log_total - n_more * self.graphs.scorer.rule.edge_cost
                if np.log(generator.random()) < gain:
                    posterior, graph = other, proposed
            drawn[v] = posterior.draw(1, generator)[0]
            coded[v] = coded_bins(self.graphs.table.columns[v].values, drawn[v])
        return drawn, graph

    def _posterior(
        self, v: int, cuts: NDArray[np.float64], parents: list[list[int]], coded: list[CodedColumn], seed: int
    ) -> CutPosterior | None:
        """Return the posterior of a column's cuts, among candidates that contain its present ones; None without cuts.

        None stands for a graph under which no cuts are within the limits on bins and tables.
        """
        graph = Graph(parents)
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

    def _proposed_graph(
        self, v: int, parents: list[list[int]], coded: list[CodedColumn], generator: np.random.Generator
    ) -> list[list[int]] | None:
        """Return the graph with an edge to a column more or less, from a uniform other one; None if it may not be."""
        u = int(generator.integers(len(parents)))
        rules = self.graphs.knowledge_rules
        if u == v or self.graphs.is_required(u, v):
            return None
        proposed = [list(of_child) for of_child in parents]
        if u in proposed[v]:
            proposed[v].remove(u)
            return proposed
        is_allowed = rules.allowed[min(u, v), max(u, v), 1 if u < v else 2]
        descends = v in reachable(dict(enumerate(parents)), [u])
        if not is_allowed or descends or coded[u].cardinality < 2 or len(parents[v]) == rules.max_indegree:
            return None
        proposed[v].append(u)
        return proposed

    def _least_bins(self, v: int, graph: Graph) -> int:
        """Return 2 for a variable with an edge, which needs two bins, unless all its edges are required ones."""
        is_free = any(not self.graphs.is_required(p, v) for p in graph.parents[v]) or any(
            not self.graphs.is_required(v, c) for c in graph.children[v]
        )
        return 2 if is_free else 1


class BinsChain:
    """A Markov chain over graphs and bins, with the methods of a `GraphChain`.

    Parameters
    ----------
    model : BinsModel
    at_network : bool
        Whether the chain starts at the bins and the graph of the network. Otherwise it starts at bins that are drawn
        for columns without edges, and at the best graph of a random order over them.
    generator : numpy Generator
    """

    def __init__(self, model: BinsModel, at_network: bool, generator: np.random.Generator) -> None:
        self._model = model
        self._generator = generator
        graphs = model.graphs
        assert graphs.session is not None
        self._cuts: Cuts = dict(graphs.session.network_cuts)
        if not at_network:
            alone = replace(model, n_proposals=0)
            self._cuts, _ = alone.draw(self._cuts, [[] for _ in graphs.names], generator)
        sets = self._parent_sets()
        order = list(topological_order(graphs.parents, graphs.names))
        if not at_network:
            order = generator.permutation(len(sets)).tolist()
        search = OrderSearch(sets)
        if search.score(search.choices(order)) == -np.inf:
            order = graphs.required_order
        self._sums = SweepSums(len(sets))
        self._follow(sets, search.choices(order), order)

    def _parent_sets(self) -> list[ParentSets]:
        return self._model.graphs.with_bins(self._cuts).parent_sets(prune=True, margin=MARGIN)

    def _follow(self, sets: list[ParentSets], chosen: Sequence[int], order: Sequence[int]) -> None:
        """Go on with the graph under other parent sets."""
        self._sets = sets
        self._chain = GraphChain(chain_families(sets), chosen, order, self._generator, self._sums)
        self._n_left = SWEEPS_PER_DRAW

    def sweep(self, n_sweeps: int = 1) -> None:
        """Take sweeps, and draw all bins whenever as many as `SWEEPS_PER_DRAW` have been taken."""
        while n_sweeps > 0:
            if not self._n_left:
                self._draw_bins()
            n_taken = min(n_sweeps, self._n_left)
            self._chain.sweep(n_taken)
            self._n_left -= n_taken
            n_sweeps -= n_taken

    def _draw_bins(self) -> None:
        parents = [
            np.flatnonzero(of_child.members[k]).tolist()
            for of_child, k in zip(self._sets, self._chain.chosen, strict=True)
        ]
        self._cuts, parents = self._model.draw(self._cuts, parents, self._generator)
        sets = self._parent_sets()
        chosen = [_nearest(of_child, wanted) for of_child, wanted in zip(sets, parents, strict=True)]
        self._follow(sets, chosen, list(topological_order(parents, self._model.graphs.names)))

    def mean_probabilities(self) -> NDArray[np.float64]:
        """Return the mean probability of every edge, without the first quarter of the sweeps, (n, n)."""
        return self._sums.mean()

    def state(self) -> State:
        """Return all that further sweeps and the means depend on, for checkpoints."""
        return {
            **self._chain.state(),
            "cuts": [self._cuts[v] for v in sorted(self._cuts)],
            "n_left": self._n_left,
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned for the same model."""
        self._cuts = dict(zip(sorted(self._cuts), state["cuts"], strict=True))
        sets = self._parent_sets()
        self._follow(sets, [0] * len(sets), range(len(sets)))
        self._chain.restore(state)
        self._generator = self._chain.generator
        self._n_left = state["n_left"]


def _nearest(sets: ParentSets, parents: list[int]) -> int:
    """Return the position of a parent set, or of its best subset where it scores too low to be among the sets."""
    wanted = np.zeros(sets.members.shape[1], np.bool_)
    wanted[parents] = True
    same = np.flatnonzero((sets.members == wanted).all(axis=1))
    if len(same):
        return int(same[0])
    return int(np.flatnonzero((sets.members <= wanted).all(axis=1))[0])
