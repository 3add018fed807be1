"""Search in stages, over graphs with given cuts and over graphs and cuts together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.multi_start import ended_before
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnWarning, Option, give_warning
from gomea_bn.learning.search.rounds import SearchRounds, SearchSettings
from gomea_bn.network.graph import reachable
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.interval_dp import N_CELLS
from gomea_bn.problems.cuts.policies import without_sparse_bins
from gomea_bn.problems.parents import ParentLibraries
from gomea_bn.problems.scores import is_gain, relative_edge_cost
from gomea_bn.problems.structure import (
    CutPricer,
    ParentPricer,
    StructureProblem,
    allowed_graphs,
    best_graphs,
)
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.limits import HistoryEntry, Result
from gomea_bn.runtime.threads import Workers
from gomea_bn.texts import counted, listed

# evaluations per gene of the first stage over graphs and cuts; stages double
_FIRST_PER_GENE = 20
_FEWEST_EVALUATIONS = 500
# most of them where the search ends when it is done, without curves and with them: of wide tables a longer stage takes
# long to show no gain, and with curves its first graphs are families that nothing has scored
_MOST_EVALUATIONS, _MOST_WITH_CURVES = 10_000, 2_000
# evaluations over graphs alone per evaluation over graphs and cuts: they take about as long. Where columns may follow
# curves and the search ends when it is done there is one
_GRAPH_SHARE = 64
_PATIENT_PER_GENE = 1000
_PRICING_PASSES = 5
# local searches without a gain after which the first stage begins, and the least gain in nats that counts as one
_IDLE_CLIMBS, _LEAST_GAIN = 6, 1.0
# numbers of these after which the next one tries pairs of parents: with either kind of cuts
_IDLE_WITH_PAIRS = (1, 2)
# most prices of an edge that follow the first one, and least share by which one differs from the last
_MOST_PRICES, _LEAST_CHANGE = 4, 0.01
# columns up to which all graphs are compared, the best ones whose cuts are improved, and dynamic programmes per column
_FEW_COLUMNS, _N_BEST_GRAPHS, _PROGRAMMES_PER_COLUMN = 4, 3, 30
# evaluations that take as long as a dynamic programme
_PROGRAMME_EVALUATIONS = 10
# first cuts of these searches: sets of first cuts, and cuts of equal frequency by number of bins
_N_FIRST_CUTS, _FIRST_BINS = 2, (3, 4, 6)
# reasons why a stage ends, although the search may go on
_STAGE_ENDS = ("max_seconds", "max_evaluations", "max_population_size")
# columns or edges that a warning names
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class GraphAndCuts:
    """A network apart from the libraries of a problem: arcs (parent, child), and inner cuts by variable."""

    edges: list[tuple[int, int]]
    cuts: Cuts


class StagedSearch:
    """Search that alternates between graphs with given cuts, and graphs together with cuts.

    It begins with local searches over parent sets in turn with exact cuts, which reach in seconds what populations need
    minutes for. Of up to four columns with shapes all graphs are compared instead. The stages then find what only joint
    changes of edges and cuts reach.

    Evaluations of graphs with one policy per variable are many times as fast, since most family scores are in the cache
    and no cuts are priced. They also find edges whose cuts would not last: pricing removes every cut that explains no
    edge of the present network. In a stage over graphs the variables therefore keep the finer of two cuts, those of the
    best network and first cuts; stages take turns with the first and the last of these. The next stage over graphs and
    cuts starts from the best graph.

    The lengths of the stages depend on numbers of evaluations alone, so that the same number of evaluations gives the
    same network again. Limits and counts of progress are those of all stages together. Every pair of stages is twice as
    long as the pair before it, about as long as all before it together; with `least_gain` the search is done after a
    pair that gained less.
    """

    def __init__(self, problem: StructureProblem, settings: SearchSettings) -> None:
        self.problem = problem
        self.settings = settings
        self.first_cuts = {v: cuts for v, cuts in problem.first_cuts.items() if cuts}
        self.best, self.objective = GraphAndCuts([], {}), np.inf
        self._has_curves = problem.scorer.has_curves
        # numbers of evaluations as patience counts them: those over graphs alone take a small share of the time
        self._effort = self._effort_at_best = 0.0
        # objective before the pair of stages that is running
        self._objective_before = np.inf
        # evaluations at its end
        self._done_at = 0
        # the price of an edge at first, and its changes, each as a share of the price before
        self._given_edge_cost = problem.scorer.method.edge_cost
        self._price_changes: list[float] = []
        # the pair of stages that is running, and the cuts of its second stage once that has begun
        self._turn = 0
        self._graph_cuts: Cuts | None = None

    def run(self, start: GraphAndCuts | None = None) -> Result:
        """Return the best network as a genotype of the problem, with the counts of all stages."""
        section = self.settings.section
        before = ended_before(section, self.problem)
        if before is not None:
            return before
        self.rounds = SearchRounds(self.settings)
        self.stages = self.rounds.results
        self.stop = self.rounds.stop
        self._length = max(_FIRST_PER_GENE * self.problem.n_variables, _FEWEST_EVALUATIONS)
        self._graphs_per_evaluation = _GRAPH_SHARE
        if self.settings.limits.least_gain is not None:
            self._length = min(self._length, _MOST_WITH_CURVES if self._has_curves else _MOST_EVALUATIONS)
            self._graphs_per_evaluation = 1 if self._has_curves else _GRAPH_SHARE
        starts = [] if start is None else [start]
        self.rounds.open(self._restore, self._state)
        n_threads = self.settings.n_threads
        with self.stop.catching_interrupts(), Workers(n_threads, self.stop) as self.workers:
            if not self.rounds.is_resumed:
                has_shapes = any(v.shape is not None for v in self.problem.scorer.variables)
                # published settings have uniform bins, and repeat their results
                if has_shapes and self.problem.n_nodes <= _FEW_COLUMNS:
                    self._compare_graphs(starts)
                else:
                    self._climb(self._first_network(starts))
                starts = [self.best]
                if self.stop.reason:
                    # one evaluation is that of the best network
                    self._length = 1
            while True:
                if self._graph_cuts is None:
                    if not self.rounds.is_resumed:
                        self._objective_before = self.objective
                    if self.settings.limits.least_gain is not None:
                        self._done_at = self.rounds.n_eval + (1 + self._graphs_per_evaluation) * self._length
                    self._stage(self.problem, self._length, starts)
                    if self._ended():
                        break
                    self._graph_cuts = self._stage_cuts(self._turn, self.best)
                    # every other stage over graphs starts without the best graph, which may be hard to leave
                    starts = [GraphAndCuts(self.best.edges, self._graph_cuts)] if self._turn % 2 else []
                cuts = self._graph_cuts
                length = self._graphs_per_evaluation * self._length
                graph = self._stage(self.problem.with_cuts(cuts), length, starts)
                if self._ended():
                    break
                starts = [self.best, self._priced(GraphAndCuts(graph.edges, cuts))]
                if self._ended() or self._is_done():
                    break
                self._length, self._turn, self._graph_cuts = 2 * self._length, self._turn + 1, None
            genotype = genotype_of(self.problem, self.best)
        return self.rounds.finish(self.problem, genotype, self.objective, {"stages": len(self.stages)})

    def _state(self) -> State:
        """Return all that the rest of the search depends on, apart from the stage that is running."""
        in_graphs = self._graph_cuts is not None
        return {
            "rounds": self.rounds.state(),
            "best": [self.best.edges, _cuts_state(self.best.cuts)],
            "objective": float(self.objective),
            "effort": self._effort,
            "effort_at_best": self._effort_at_best,
            "objective_before": float(self._objective_before),
            "length": self._length,
            "turn": self._turn,
            "graph_cuts": None if self._graph_cuts is None else _cuts_state(self._graph_cuts),
            "edge_cost": self.problem.scorer.method.edge_cost,
            # a stage over graphs and cuts has the state of the problem
            "problem": self.problem.state() if in_graphs else None,
        }

    def _restore(self, state: State) -> None:
        """Go on from what `_state` had returned."""
        self.rounds.restore(state["rounds"])
        edges, cuts = state["best"]
        self.best = GraphAndCuts([(parent, child) for parent, child in edges], _cuts_of(cuts))
        self.objective = state["objective"]
        self._effort, self._effort_at_best = state["effort"], state["effort_at_best"]
        # checkpoints of earlier versions lack it
        self._objective_before = state.get("objective_before", np.inf)
        self._length, self._turn = state["length"], state["turn"]
        if state["edge_cost"] != self.problem.scorer.method.edge_cost:
            self.problem.set_edge_cost(state["edge_cost"])
        if state["graph_cuts"] is not None:
            self._graph_cuts = _cuts_of(state["graph_cuts"])
            self.problem.restore(state["problem"])

    def _stage_cuts(self, turn: int, network: GraphAndCuts) -> Cuts:
        """Return the cuts of a search over graphs: those of a network, or first cuts if these are more.

        With required edges they are the network's, since tables of more bins might exceed the limit on cells.
        """
        cuts = dict(network.cuts)
        if _required_edges(self.problem):
            return cuts
        for v, first in self.first_cuts.items():
            candidate = first[turn % len(first)]
            # the bins of one variable must fit into a table
            if len(cuts[v]) < len(candidate) < self.problem.max_table_cells:
                cuts[v] = candidate
        return cuts

    def _without_idle_cuts(self, network: GraphAndCuts) -> GraphAndCuts:
        """Return a network without the cuts of variables that are in families with curves alone."""
        idle = self.problem.idle_variables(genotype_of(self.problem, network))
        return GraphAndCuts(network.edges, {**network.cuts, **dict.fromkeys(idle, np.empty(0))})

    def _leaner(self, network: GraphAndCuts, objective: float) -> tuple[GraphAndCuts, float]:
        """Return the network without idle cuts if that is better, and its objective."""
        if not self._has_curves:
            return network, objective
        lean = self._without_idle_cuts(network)
        of_lean = self._objective(lean)
        return (lean, of_lean) if of_lean < objective else (network, objective)

    def _climb(self, network: GraphAndCuts) -> None:
        """Find the network from which the first stage begins, by local searches until some of them gain nothing.

        Local searches over graphs take turns with exact cuts of every variable. Every other one keeps the cuts that fit
        the latest graph, the others have the finer ones of `_stage_cuts`. They begin at the given network, the best one
        so far, and each goes on from the latest one, whether that is the best one or not. After one or two without a
        gain the next one tries all pairs of parents. After one it begins at other orders too: a graph with edges that
        run the wrong way can be hard to leave, and has more edges. Once all of these have been tried without a gain,
        edges get the price that the graph says after every search that gains nothing. A local search that a limit ends
        counts only if it is the first one, so that a number of evaluations gives the same network again. Progress is
        reported after every local search.
        """
        n_climbs = turn = n_idle = 0
        is_settled = is_late = False
        while n_idle < _IDLE_CLIMBS and not is_late:
            cuts = network.cuts if turn % 2 else self._stage_cuts(turn // 2, network)
            climbed = self._climbed(network, cuts, n_idle)
            priced = climbed if self._is_late() else self._priced(climbed)
            is_late = self._is_late()
            if is_late and n_climbs:
                break
            network = climbed if is_late else priced
            network, objective = self._leaner(network, self._objective(network))
            n_climbs, turn, n_idle = n_climbs + 1, turn + 1, n_idle + 1
            before = self.objective
            if self._keep_better(network, objective) and before - self.objective >= _LEAST_GAIN:
                n_idle = 0
            is_settled |= n_idle > max(_IDLE_WITH_PAIRS)
            if n_idle and is_settled and self._change_edge_cost():
                network, turn, n_idle = self.best, 0, 0
            self.rounds.report_start(self.objective, self._reached)
        self._effort = self.rounds.n_climbing / _GRAPH_SHARE

    def _change_edge_cost(self) -> bool:
        """Let an edge cost what the number of edges found says, and return whether it costs anything else now.

        Many edges make further ones cheaper, and few raise the price: most of the pairs of independent columns that
        gain do so by chance. The price moves one way. Scores other than the default one are published, and stay. So
        does the first price of so few columns that all graphs are compared, apart from constant ones.
        """
        scorer, rules = self.problem.scorer, self.problem.edge_rules
        varies = np.array([float(np.ptp(v.values[v.is_observed])) > 0 for v in scorer.variables])
        if not (scorer.rule.centred and scorer.rule.edge_cost > 0) or varies.sum() <= _FEW_COLUMNS:
            return False
        may_join = (rules.may_lead | rules.may_lead.T) & rules.may_lack & np.outer(varies, varies)
        required = set(_required_edges(self.problem))
        n_edges = sum(edge not in required for edge in self.best.edges)
        relative = relative_edge_cost(n_edges, int(np.triu(may_join, 1).sum()), int(varies.sum()))
        change = self._given_edge_cost * relative / scorer.method.edge_cost - 1.0
        turns_back = any(change * former < 0.0 for former in self._price_changes)
        is_last = turns_back or len(self._price_changes) == _MOST_PRICES
        if is_last or abs(change) < _LEAST_CHANGE or self._is_late():
            return False
        self.problem.set_edge_cost(self._given_edge_cost * relative)
        self._price_changes.append(change)
        self.objective = self._objective(self.best)
        if change > 0.0:
            # objectives under the lower price are no progress towards the best one
            self.rounds.history[:] = [HistoryEntry(self.stop.seconds, self.rounds.n_eval, self.objective, 1)]
        return True

    def _first_network(self, starts: Sequence[GraphAndCuts]) -> GraphAndCuts:
        """Make the first of `starts` the best network, or else that of the required edges alone, and return it.

        A given network is one evaluation.
        """
        problem = self.problem
        required = _required_edges(problem)
        plain = GraphAndCuts(required, problem.cuts(problem.genotype(required, [0] * problem.n_nodes)))
        self.best = starts[0] if starts else plain
        self.objective = self._objective(self.best)
        if starts:
            self.rounds.n_climbing = 1
            self.rounds.history.append(HistoryEntry(self.stop.seconds, 1, self.objective, 1))
        return self.best

    def _keep_better(self, network: GraphAndCuts, objective: float) -> bool:
        """Make a network the best one if it is better, and return whether it is."""
        if not is_gain(self.objective - objective, self.objective):
            return False
        self.best, self.objective = network, objective
        self.rounds.history.append(HistoryEntry(self.stop.seconds, self.rounds.n_eval, objective, 1))
        self._effort_at_best = self.rounds.n_climbing / _GRAPH_SHARE
        return True

    def _compare_graphs(self, starts: Sequence[GraphAndCuts]) -> None:
        """Find the network from which the first stage begins, of few columns: all graphs, in turn with exact cuts.

        All graphs are scored with given cuts, and the cuts of the best ones are improved. The cuts that this gives are
        taken up in the order of the scores. Every column has exact cuts given all others, which need not be the best of
        all cuts together; several first cuts and several graphs per cuts stand in for that. Nothing is random. Families
        and dynamic programmes count as evaluations. Networks that the clock interrupts do not count, so that a number
        of evaluations gives the same network again. Limits and `starts` are those of `_climb`.
        """
        problem = self.problem
        graphs = allowed_graphs(problem)
        first = self._first_network(starts)
        queue: list[tuple[float, int, Cuts]] = []
        seen: set[tuple[bytes, ...]] = set()
        best: dict[tuple[tuple[int, int], ...], tuple[float, GraphAndCuts]] = {}

        def put(cuts: Cuts, objective: float) -> None:
            key = tuple(of_column.tobytes() for of_column in cuts.values())
            if key not in seen:
                seen.add(key)
                heappush(queue, (objective, len(seen), cuts))

        def take(network: GraphAndCuts) -> None:
            network, objective = self._leaner(network, self._objective(network))
            self._count_climbing(1)
            self._keep_better(network, objective)
            put(network.cuts, objective)
            edges = tuple(network.edges)
            if edges not in best or objective < best[edges][0]:
                best[edges] = objective, network

        for cuts in (first.cuts, *self._several_first_cuts(first.cuts)):
            put(cuts, -np.inf)
        pricer = self._pricer()
        while queue and not self._is_late() and pricer.n_priced < _PROGRAMMES_PER_COLUMN * problem.n_nodes:
            cuts = heappop(queue)[-1]
            policies = problem.policy_indices(genotype_of(problem, GraphAndCuts([], cuts))).tolist()
            ranked, n_families = best_graphs(problem, graphs, policies, _N_BEST_GRAPHS)
            self._count_climbing(n_families)
            for edges in ranked:
                if self._is_late():
                    break
                take(GraphAndCuts(edges, cuts))
                for network in self._with_better_cuts(GraphAndCuts(edges, cuts), pricer):
                    take(network)
            if not self._is_late():
                self.rounds.report_start(self.objective, self._reached)
        finer = self._pricer(N_CELLS)
        if best and not self._is_late():
            _, network = min(best.values(), key=lambda item: item[0])
            for polished in self._with_better_cuts(network, finer):
                take(polished)
        if not self._is_late():
            self.rounds.report_start(self.objective, self._reached)
        self._effort = self.rounds.n_climbing / _GRAPH_SHARE

    def _several_first_cuts(self, present: Cuts) -> list[Cuts]:
        """Return cuts from which a comparison of graphs begins; columns with fixed cuts have their present ones."""
        several = []
        for turn in range(_N_FIRST_CUTS):
            first = {v: of_column[turn % len(of_column)] for v, of_column in self.first_cuts.items()}
            several.append({**present, **first})
        for n_bins in _FIRST_BINS:
            equal = {
                v: min(
                    self.problem.scorer.variables[v].policies, key=lambda policy: abs(policy.n_bins - n_bins)
                ).cut_points
                for v in self.problem.priced_variables
            }
            several.append({**present, **equal})
        return several

    def _with_better_cuts(self, network: GraphAndCuts, pricer: CutPricer) -> list[GraphAndCuts]:
        """Return the graph of a network with the best cuts for all its tables, and for those that curves leave over.

        Cuts that are best for the table of a column which follows curves are of no use. Which columns follow curves
        depends on the cuts in turn, so that both have to be tried. There are none if the clock has interrupted.
        """
        generator = np.random.default_rng(self.problem.n_nodes)
        n_before = pricer.n_priced
        networks: list[GraphAndCuts] = []
        in_tables = self._edges_in_tables(network)
        if in_tables or not network.edges:
            networks.append(self._priced_by(pricer, network, generator))
        for given in (network, *networks):
            in_tables = self._edges_in_tables(given)
            if len(in_tables) < len(given.edges):
                priced = self._priced_by(pricer, GraphAndCuts(in_tables, given.cuts), generator)
                networks.append(GraphAndCuts(network.edges, priced.cuts))
        if self.stop.is_over:
            return []
        self._count_climbing(_PROGRAMME_EVALUATIONS * (pricer.n_priced - n_before))
        return networks

    def _edges_in_tables(self, network: GraphAndCuts) -> list[tuple[int, int]]:
        """Return the edges of a network into columns that do not follow curves."""
        if not self._has_curves:
            return network.edges
        follows = self.problem.follows_curves(genotype_of(self.problem, network))
        return [(parent, child) for parent, child in network.edges if not follows[child]]

    def _count_climbing(self, n_evaluations: int) -> None:
        """Count evaluations before the first stage, for which one is left."""
        n_climbing = self.rounds.n_climbing + n_evaluations
        self.rounds.n_climbing = int(min(n_climbing, self.settings.limits.evaluations - 1))

    def _is_late(self, n_scored: int = 0) -> bool:
        """Return whether a limit ends the local searches, of which the present one has scored a number of families.

        One evaluation is left for the first stage.
        """
        n_evaluations = self.rounds.n_climbing + n_scored
        return self.stop.is_over or n_evaluations >= self.settings.limits.evaluations - 1

    def _climbed(self, network: GraphAndCuts, cuts: Cuts, n_idle: int) -> GraphAndCuts:
        """Return the graph at which a local search from the edges of a network ends, with given cuts.

        After one or two local searches without a gain, of which there were `n_idle`, parents join that count only
        together. After one, searches begin at other orders too.
        """
        graphs = self.problem.with_cuts(cuts)
        # families alone count: searches in libraries are added too late to end a repeated run at the same place
        rules, pairs = graphs.edge_rules, graphs.pairs
        libraries = ParentLibraries(
            graphs.scorer, rules, pairs, is_late=lambda: self._is_late(libraries.n_scored)
        )
        # the flag of the whole search would stay raised
        halt = np.zeros(1, np.uint8)
        pricer = ParentPricer(graphs, libraries, halt)
        generator = np.random.default_rng([self.settings.seed, self.problem.n_nodes])
        genotype = graphs.genotype(network.edges, [0] * graphs.n_nodes)
        improved = [genotype]

        def climb(_thread: int, _block: int) -> None:
            if n_idle in _IDLE_WITH_PAIRS:
                libraries.enter_pairs(halt)
            improved.append(pricer.improved(genotype, generator, lambda _gene: np.empty(0, np.int64)))
            if n_idle == 1:
                improved.append(pricer.from_orders(improved[-1], generator))

        self.workers.run(climb, 1, n_threads=1, inline=False, n_certain=0)
        self._count_climbing(libraries.n_scored)
        return GraphAndCuts(graphs.edges(improved[-1]), cuts)

    def _objective(self, network: GraphAndCuts) -> float:
        families = self.problem.families(genotype_of(self.problem, network))
        return -float(self.problem.scorer.score(families).sum())

    def _priced(self, network: GraphAndCuts) -> GraphAndCuts:
        """Return a network with the best cuts of one variable after another, and none that only curves need."""
        generator = np.random.default_rng([self.settings.seed, len(self.stages)])
        return self._priced_by(self._pricer(), self._without_idle_cuts(network), generator)

    def _pricer(self, n_cells: int | None = None) -> CutPricer:
        """Return what finds the best cuts, by dynamic programmes over other than the usual number of cells if given."""
        pricer = self.problem.refiner(self.stop.flag)
        assert isinstance(pricer, CutPricer)
        if n_cells is not None:
            pricer.pricing = replace(pricer.pricing, n_cells=n_cells)
        return pricer

    def _priced_by(
        self, pricer: CutPricer, network: GraphAndCuts, generator: np.random.Generator
    ) -> GraphAndCuts:
        """Return a network with the best cuts of one variable after another."""
        passes = [genotype_of(self.problem, network)]
        # the pricer itself keeps the policies of the genotype that it improves
        nothing: NDArray[np.int64] = np.empty(0, np.int64)

        def price(_thread: int, _block: int) -> None:
            if len(passes) == 1 or not np.array_equal(passes[-1], passes[-2]):
                passes.append(pricer.improved(passes[-1], generator, lambda _gene: nothing))

        self.workers.run(price, _PRICING_PASSES, n_threads=1, inline=False, n_certain=0)
        return GraphAndCuts(network.edges, self.problem.cuts(passes[-1]))

    def _stage(self, problem: StructureProblem, length: int, starts: Sequence[GraphAndCuts]) -> GraphAndCuts:
        """Search one problem from some networks for a number of evaluations, and return the best network of the stage.

        If it is better than the best one so far, it replaces that one.
        """
        left = self.rounds.limits()
        limits = replace(
            left, max_evaluations=int(min(length, left.evaluations)), patience=None, least_gain=None
        )
        random_state = self.rounds.random_state
        # a stage that goes on has its own limits and first solutions
        initial = _genotypes(problem, starts) if starts and not self.rounds.is_resumed else None
        result = self.rounds.run(
            lambda settings: settings.run(problem, initial=initial, random_state=random_state),
            "stage",
            limits,
            best=self.objective,
            reached=self._reached,
            done_at=self._done_at,
        )
        network = GraphAndCuts(problem.edges(result.X), problem.cuts(result.X))
        network, objective = self._leaner(network, float(result.F[0]))
        share = 1.0 if problem is self.problem else 1 / _GRAPH_SHARE
        if objective < self.objective:
            self.best, self.objective = network, objective
            # cuts that only curves need were left out after the run had ended
            last, seconds = self.rounds.history[-1], self.stop.seconds
            if objective < last.objective:
                now = replace(last, seconds=seconds, n_eval=self.rounds.n_eval, objective=objective)
                self.rounds.history.append(now)
            self._effort_at_best = self._effort + share * result.history[-1].n_eval
        self._effort += share * result.n_eval
        if result.stopped_by not in _STAGE_ENDS:
            self.stop.raise_for(result.stopped_by)
        return network

    def _ended(self) -> bool:
        """Return whether a limit of the whole search is met; its name is then the reason of `stop`."""
        if not self.stop.reason:
            patience = self.settings.limits.patience
            if met := self.rounds.limit_met:
                self.stop.raise_for(met)
            elif patience is not None and self._effort > max(
                _PATIENT_PER_GENE * self.problem.n_variables, patience * self._effort_at_best
            ):
                self.stop.raise_for("patience")
        return bool(self.stop.reason)

    @property
    def _reached(self) -> str:
        """What the best network is, in words."""
        return counted(len(self.best.edges), "edge")

    def _is_done(self) -> bool:
        """Return whether a pair of stages that has ended gained less than the limits want, or a limit is met."""
        least = self.settings.limits.least_gain
        if least is not None and self._objective_before - self.objective < least:
            self.stop.raise_for("done")
        return bool(self.stop.reason)


def searched(
    problem: StructureProblem,
    settings: SearchSettings,
    start: GraphAndCuts | None = None,
) -> Result:
    """Return the result of the search that suits a problem, in stages if its cuts are priced.

    `start` is that of `StagedSearch.run`; the default is the graph from which a search of the problem begins.
    """
    if problem.first_cuts:
        return StagedSearch(problem, settings).run(start)
    if start is None and problem.start:
        start = GraphAndCuts(problem.start, {})
    return settings.run(problem, initial=None if start is None else genotype_of(problem, start)[None])


def _required_edges(problem: StructureProblem) -> list[tuple[int, int]]:
    """Return the required arcs (parent, child)."""
    allowed = problem.edge_rules.allowed
    pairs = np.argwhere(np.triu(~allowed[:, :, 0], 1)).tolist()
    return [(first, second) if allowed[first, second, 1] else (second, first) for first, second in pairs]


def _cuts_state(cuts: Cuts) -> State:
    return {str(v): of_variable for v, of_variable in cuts.items()}


def _cuts_of(saved: State) -> Cuts:
    return {int(v): np.array(of_variable, np.float64) for v, of_variable in saved.items()}


def _genotypes(problem: StructureProblem, networks: Sequence[GraphAndCuts]) -> NDArray[np.int16]:
    """Return the genotypes of networks, shape (n, n_genes); their cuts enter the libraries if they are new."""
    policies = np.zeros((len(networks), problem.n_nodes), np.int64)
    for v in networks[0].cuts:
        for k, network in enumerate(networks):
            policies[k, v] = _policy_of(problem, v, network.cuts[v], policies[:k, v].tolist())
    return np.stack([problem.genotype(n.edges, chosen) for n, chosen in zip(networks, policies.tolist())])


def _policy_of(
    problem: StructureProblem, variable: int, cuts: NDArray[np.float64], in_use: Sequence[int]
) -> int:
    """Return the index of the policy with these cuts, which enters a library that grows.

    In another library it is the first policy whose number of bins is nearest: cuts of equal frequency move with rows.
    """
    if problem.scorer.grows[variable]:
        return problem.enter_between_runs(variable, cuts, in_use)
    library = problem.scorer.variables[variable].policies
    same = [np.array_equal(policy.cut_points, cuts) for policy in library]
    if any(same):
        return same.index(True)
    return int(np.argmin([abs(len(policy.cut_points) - len(cuts)) for policy in library]))


def genotype_of(problem: StructureProblem, network: GraphAndCuts) -> NDArray[np.int16]:
    """Return the genotype of a network; its cuts enter the libraries if they are new."""
    genotype: NDArray[np.int16] = _genotypes(problem, [network])[0]
    return genotype


def start_of(
    network: NetworkLike, table: Table, problem: StructureProblem, min_bin_count: int = 1
) -> GraphAndCuts:
    """Return the edges and cuts of a network from which a search of a table may start.

    Columns that the network lacks have no edges. Left out are columns that the table lacks, edges that rules, limits or
    candidate pairs exclude, and the cuts of columns with more bins than may enter, with a warning. So are cuts outside
    the rows of the problem or next to bins with fewer than `min_bin_count` of them. Required edges are added.
    """
    first = problem.cuts(problem.genotype([], [0] * problem.n_nodes))
    cuts = {}
    too_many: list[str] = []
    for v, of_library in first.items():
        column = table.columns[v]
        given = network.cut_points.get(column.name, of_library)
        low, high = float(column.observed.min()), float(column.observed.max())
        inside = without_sparse_bins(given[(given > low) & (given < high)], column.observed, min_bin_count)
        cuts[v] = inside if problem.scorer.grows[v] else given
        growth = problem.scorer.growth
        if problem.scorer.grows[v] and growth is not None and len(inside) >= growth.max_bins:
            too_many.append(repr(column.name))
            cuts[v] = of_library
    rules, position = problem.edge_rules, {name: v for v, name in enumerate(table.names)}
    cardinality = [
        len(cuts[v]) + 1 if column.levels is None else len(column.levels)
        for v, column in enumerate(table.columns)
    ]
    parents: list[set[int]] = [set() for _ in table.names]
    edges = _required_edges(problem)
    for parent, child in edges:
        parents[child].add(parent)
    excluded = []
    for parent_name, child_name in network.edges:
        if parent_name not in position or child_name not in position:
            continue
        parent, child = position[parent_name], position[child_name]
        if parent in parents[child]:
            continue
        if (
            (problem.pairs is None or problem.pairs[parent, child])
            and parent in rules.addable(child, parents[child], cardinality)
            and child not in reachable(dict(enumerate(parents)), [parent])
        ):
            parents[child].add(parent)
            edges.append((parent, child))
        else:
            excluded.append(f"{parent_name!r} → {child_name!r}")
    _warn_of_left_out([repr(name) for name in network.names if name not in position], excluded, too_many)
    return GraphAndCuts(edges, cuts)


def _warn_of_left_out(columns: Sequence[str], edges: Sequence[str], too_many: Sequence[str]) -> None:
    """Warn of columns, edges and cuts of a given network, in words, without which a search begins."""
    parts = [
        f"{words.format(counted(len(names), noun))} ({listed(names, _MOST_NAMED)})"
        for names, noun, words in (
            (columns, "column", "{} that the table lacks"),
            (edges, "edge", "{} that rules or limits exclude"),
            (too_many, "column", "the cuts of {} into more bins than the limit on bins allows"),
        )
        if names
    ]
    if parts:
        give_warning(GomeaBnWarning([Option("start"), f": the search begins without {' and '.join(parts)}."]))
