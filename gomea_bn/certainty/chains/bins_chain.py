"""Markov chains over graphs and bins: the posterior of edges where the bins are unknown as well.

A chain takes turns. Given the bins, sweeps draw the parents of several variables at once (`GraphChain`). Given the
graph and all other bins, the cuts of one column after another are drawn from their posterior, by forward filtering and
backward sampling over the intervals of the dynamic programme (`CutPosterior`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.chains.graph_chain import MARGIN, GraphChain, SweepSums, chain_families
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.parent_sets import OrderSearch, ScoredParentSets
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.cut_cycle import RefinementSession
from gomea_bn.network.graph import reachable, topological_order
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts, ParentSets, coded_bins
from gomea_bn.problems.cuts.cut_posterior import MOST_DRAWN_BINS, CutPosterior
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.threads import StopFlag


def with_parents(graph: Sequence[Sequence[int]], v: int, parents: Iterable[int]) -> list[list[int]]:
    """Return the parents of every variable in a graph where one variable has other parents."""
    return [sorted(parents) if w == v else list(of_w) for w, of_w in enumerate(graph)]


@dataclass(frozen=True)
class BinsModel:
    """What chains over graphs and bins have in common.

    `graphs` are the scores over the bins of the network, under "density-bd", and `columns` those whose cuts are drawn.
    Before a draw of a column's cuts `n_edge_proposals` single edges are proposed to come or go.
    """

    graphs: GraphScores
    columns: tuple[int, ...]
    session: RefinementSession
    interval_score: IntervalScore
    n_edge_proposals: int = 2

    @classmethod
    def of(cls, graphs: GraphScores) -> BinsModel:
        """Return the model of all continuous columns whose cuts no user has fixed."""
        session = graphs.session
        assert session is not None
        columns = tuple(v for v in session.movable if len(session.sorted_column(v).cuts))
        return cls(graphs, columns, session, IntervalScore(graphs.scorer.method, graphs.scorer.rule))

    def draw(
        self,
        cuts: Cuts,
        parents: Sequence[Sequence[int]],
        generator: np.random.Generator,
        stop: StopFlag | None = None,
    ) -> tuple[Cuts, list[list[int]]] | None:
        """Return cuts and parents after a draw of every column's cuts in turn, given all other bins.

        Before each draw other parents of the column are proposed, by the sums over its cuts. None stands for a draw
        that a stop has ended.
        """
        drawn, graph = dict(cuts), [list(of_child) for of_child in parents]
        coded = self.session.coded(cuts)
        for v in generator.permutation(self.columns).tolist():
            if stop is not None and stop.is_over:
                return None
            sums = CutSums(self, v, drawn[v], graph, coded, int(generator.integers(2**63)))
            if sums.posterior(frozenset(graph[v])) is None:
                # the network may break the limits on bins, and then keeps its cuts
                continue
            for _ in range(self.n_edge_proposals):
                graph = self._with_edge_changed(v, graph, coded, sums, generator)
            posterior = sums.posterior(frozenset(graph[v]))
            # only parents with a posterior are accepted
            assert posterior is not None
            drawn[v] = posterior.draw(1, generator)[0]
            coded[v] = coded_bins(self.graphs.table.columns[v].values, drawn[v])
        return drawn, graph

    def _with_edge_changed(
        self,
        v: int,
        graph: list[list[int]],
        coded: list[CodedColumn],
        sums: CutSums,
        generator: np.random.Generator,
    ) -> list[list[int]]:
        """Return the graph after a proposal to remove or add the edge to a column from a uniform other one."""
        u = int(generator.integers(len(graph)))
        if u == v or self.graphs.rules.required[u, v]:
            return graph
        parents = frozenset(graph[v])
        proposed = parents ^ {u}
        if u not in parents:
            rules = self.graphs.knowledge_rules
            descends = v in reachable(dict(enumerate(graph)), [u])
            is_full = len(graph[v]) == rules.max_indegree
            if not rules.may_lead[u, v] or descends or coded[u].cardinality < 2 or is_full:
                return graph
        if np.log(generator.random()) < sums.gain(parents, proposed):
            return with_parents(graph, v, proposed)
        return graph

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
        most = min(MOST_DRAWN_BINS, around.most_bins(self.graphs.knowledge_rules.max_table_cells))
        if most < least:
            return None
        problem = CutProblem.of_rows(self.session.sorted_column(v), around, self.interval_score, shape)
        try:
            return CutPosterior(
                problem,
                CutLimits(least, most),
                shaped=shape is not None and shape.may_be_shaped,
                incumbent=cuts,
                generator=np.random.default_rng(seed),
                # all places of a cut together have the same prior probability as the column without that cut
                cut_cost=1.0,
            )
        except GomeaBnError:
            return None

    def _least_bins(self, v: int, graph: ParentSets) -> int:
        """Return 2 for a variable with an edge, which needs two bins, unless all its edges are required ones."""
        required = self.graphs.rules.required
        edges = [*((parent, v) for parent in graph.parents[v]), *((v, child) for child in graph.children[v])]
        return 1 if all(required[edge] for edge in edges) else 2


class CutSums:
    """Sums over the cuts of one column by its parents, given all other edges and the bins of the other columns.

    `cuts` are its present ones. The parents of the column in `graph` and its own codes in `coded` do not matter. `seed`
    is that of the candidate cuts.
    """

    def __init__(
        self,
        model: BinsModel,
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


SWEEPS_PER_DRAW = 20
"""Sweeps of a chain over graphs between two draws of all bins: scoring the parent sets takes longer than they do."""


class BinsChain:
    """A Markov chain over graphs and bins, with the methods of a `GraphChain`.

    With `at_network` the chain starts at the bins and the graph of the network. Otherwise it starts at bins that are
    drawn for columns without edges, and at the best graph of a random order over them. `stop` ends draws of bins
    between two columns; the draw at the start is then left out.
    """

    def __init__(
        self, model: BinsModel, at_network: bool, generator: np.random.Generator, stop: StopFlag
    ) -> None:
        self._model = model
        self._generator = generator
        self._stop = stop
        graphs = model.graphs
        assert graphs.session is not None
        self._cuts: Cuts = dict(graphs.session.network_cuts)
        if not at_network:
            alone = replace(model, n_edge_proposals=0)
            drawn = alone.draw(self._cuts, [[] for _ in graphs.names], generator, stop)
            if drawn is not None:
                self._cuts, _ = drawn
        sets = self._parent_sets()
        search = OrderSearch(sets)
        order = graphs.first_order(search, None if at_network else generator)
        self.sums = SweepSums(len(sets))
        self._follow(sets, search.choices(order), order)

    def _parent_sets(self) -> list[ScoredParentSets]:
        return self._model.graphs.with_bins(self._cuts).parent_sets(prune=True, margin=MARGIN)

    def _follow(self, sets: list[ScoredParentSets], chosen: Sequence[int], order: Sequence[int]) -> None:
        """Go on with the graph under other parent sets."""
        self._sets = sets
        self._chain = GraphChain(chain_families(sets), chosen, order, self._generator, self.sums)
        self._n_left = SWEEPS_PER_DRAW

    def sweep(self, n_sweeps: int = 1) -> None:
        """Take sweeps, and draw all bins whenever as many as `SWEEPS_PER_DRAW` have been taken.

        A draw that a stop ends leaves the chain as it was before the draw, and ends the sweeps.
        """
        while n_sweeps > 0:
            if not self._n_left and not self._draw_bins():
                return
            n_taken = min(n_sweeps, self._n_left)
            self._chain.sweep(n_taken)
            self._n_left -= n_taken
            n_sweeps -= n_taken

    def _draw_bins(self) -> bool:
        """Draw all bins; returns whether no stop ended the draw."""
        parents = [
            np.flatnonzero(of_child.members[k]).tolist()
            for of_child, k in zip(self._sets, self._chain.chosen, strict=True)
        ]
        before = self._generator.bit_generator.state
        drawn = self._model.draw(self._cuts, parents, self._generator, self._stop)
        if drawn is None:
            self._generator.bit_generator.state = before
            return False
        self._cuts, parents = drawn
        sets = self._parent_sets()
        chosen = [_nearest(of_child, wanted) for of_child, wanted in zip(sets, parents, strict=True)]
        self._follow(sets, chosen, list(topological_order(parents, self._model.graphs.names)))
        return True

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


def _nearest(sets: ScoredParentSets, parents: list[int]) -> int:
    """Return the position of a parent set, or of its best subset where it scores too low to be among the sets."""
    wanted = np.zeros(sets.members.shape[1], np.bool_)
    wanted[parents] = True
    same = np.flatnonzero((sets.members == wanted).all(axis=1))
    if len(same):
        return int(same[0])
    return int(np.flatnonzero((sets.members <= wanted).all(axis=1))[0])
