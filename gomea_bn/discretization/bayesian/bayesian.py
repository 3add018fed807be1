"""Bayesian discretization: the most probable cuts of every column given a graph (Chen et al. 2017)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.base import DiscretizationTask, Discretizer, order_of_columns, starting_cuts
from gomea_bn.discretization.bayesian.kernels import (
    CostRule,
    PartitionWork,
    best_partition,
    cheapest_split,
    partition_cost,
)
from gomea_bn.discretization.structure_search import (
    best_parent,
    coded_scorer,
    compile_structure_kernels,
    named_edges,
    orders_to_try,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.parameters import Choice, WholeNumber, option
from gomea_bn.problems.cuts.blanket import (
    CodedColumn,
    CodedFamily,
    Cuts,
    DueColumns,
    Neighbourhood,
    coded_column,
    joint_codes,
)
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_counts import NO_STOP, CountTable, IntervalCounts
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.kernels.intervals import CandidateCells
from gomea_bn.runtime.limits import ROUNDING

CARDINALITY_OVER = Choice(("table", "blanket"))
MAX_CANDIDATES = WholeNumber(10, none="")

_THINNING = 8


@cache
def compile_bayesian_kernels() -> None:
    """Compile or load the kernels on a tiny problem, so that no deadline pays for it."""
    column = CutColumn.of_values(np.arange(24.0))
    coded = CodedColumn(np.repeat(np.array([0, 1], np.int32), 12), 2)
    problem = BayesianCuts(column, Neighbourhood((coded,), (CodedFamily(coded, ()),)), 2)
    problem.value(np.array([5.5]))
    problem.optimal(10)


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianDiscretizer(Discretizer):
    """Cuts every column into its most probable bins given its Markov blanket (Chen, Wheeler & Kochenderfer 2017).

    Parameters
    ----------
    cardinality_over : {"table", "blanket"}
        Columns whose largest number of bins or levels sets the prior's expected number of cuts: all columns (the
        authors' code, which gives their published cuts), or the Markov blanket (their paper).
    max_cycles : int
        Largest number of passes over the columns.
    order : sequence of str, optional
        Names of all continuous columns in the order of a pass; by default children come before their parents. The cuts
        may depend on the order, since the columns have no common objective.
    start : {"equal-width", "equal-frequency", "network"}
        Bins before the first pass; "network" takes the cuts of the network given to `fit`.
    max_candidates : int or None
        Largest number of distinct values of a column that is cut exactly. For more values, cuts are chosen among this
        number of candidates and then moved to the best position between their neighbours. None is always exact, in
        time quadratic in the number of rows.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; columns that are not reached keep their starting cuts.

    Attributes
    ----------
    costs_ : dict of str to float
        Objective of every column with a Markov blanket when it was last cut, in nats; lower is better.
    n_cycles_ : int
        Number of passes.

    Notes
    -----
    For a column X with distinct values u_1 < ... < u_m in range R, largest cardinality L, J_P configurations of its
    parents and J_c values of its child c, a set of cuts costs (paper, Section 3; here as negative logs of
    Dirichlet(1)-multinomials)

    - -ln(1 - exp(-L (u_{j+1} - u_j) / R)) for every cut between u_j and u_{j+1},
    - L (last - first value) / R for every interval,
    - lnG(g + J_P) - lnG(J_P) - sum_q ln n_q! for an interval of g rows, n_q of them with parent configuration q,
    - and for every child c and configuration s of its other parents lnG(n_s + J_c) - lnG(J_c) - sum_v ln n_sv!.

    Dynamic programming finds the minimum in O(m n (1 + children)) time and O(n) memory. A column without parents and
    children keeps its starting bins.
    """

    _warm_ups = (compile_bayesian_kernels,)

    cardinality_over: str = option("table", CARDINALITY_OVER)
    max_cycles: int = option(10, WholeNumber(1))
    order: Sequence[str] | None = None
    start: str = option("equal-width", Choice(("equal-width", "equal-frequency", "network")))
    max_candidates: int | None = option(2000, MAX_CANDIDATES)

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        noun = "continuous column"
        order = order_of_columns(self.order, task.movable, task.graph, noun, f"{noun} with free cuts")
        cuts, costs, passes = discretize_all(task, self, starting_cuts(task, self.start), order)
        self.costs_ = {task.table.names[v]: cost for v, cost in sorted(costs.items())}
        self.n_cycles_ = passes.n_passes
        if passes.changed_in_pass:
            self.stopped_by_ = "max_cycles"
        return cuts


def discretize_all(
    task: DiscretizationTask,
    options: BayesianDiscretizer | LDBN,
    start: Cuts,
    order: Sequence[int],
) -> tuple[Cuts, dict[int, float], DueColumns]:
    """Return the cuts after passes over the columns until none changes, each cut given all others' bins.

    With them are the objective of every column when it was last cut, and the passes.
    """
    cuts = dict(start)
    coded = task.coded(cuts)
    costs: dict[int, float] = {}

    # cardinality on which the prior of a column depends, when its turn came last
    largest: dict[int, int] = {}

    def has_other_prior(v: int) -> bool:
        among: Iterable[CodedColumn] = coded
        if options.cardinality_over == "blanket":
            among = (coded[u] for u in task.graph.blanket(v))
        before, largest[v] = largest.get(v), max(column.cardinality for column in among)
        return largest[v] != before

    visited = [v for v in order if task.graph.blanket(v)]
    # as the authors' code makes them
    passes = task.passes(visited, options.max_cycles, is_also_due=has_other_prior, to_unchanged=True)
    for v in passes:
        problem = BayesianCuts(task.sorted_column(v), task.graph.neighbourhood(v, coded), largest[v])
        best, cost = problem.optimal(options.max_candidates, incumbent=cuts[v], task=task)
        if task.expired:
            break
        costs[v] = cost
        if not np.array_equal(best, cuts[v]):
            cuts[v] = best
            coded[v] = coded_column(task.table.columns[v], best)
            passes.note_change(v)
    return cuts, costs, passes


class BayesianCuts:
    """The objective of one column's cuts, everything else fixed, and its minimum; see `BayesianDiscretizer`."""

    def __init__(self, column: CutColumn, around: Neighbourhood, largest_cardinality: int) -> None:
        self.column = column
        n_rows = column.n_rows
        tables = [_table(around.parents, (), n_rows)] if around.parents else []
        tables += [_table((family.child,), family.spouses, n_rows) for family in around.families]
        # other tables cost nothing
        tables = [(table, row_size) for table, row_size in tables if row_size > 1]
        self._counts = IntervalCounts(column, [table for table, _ in tables])
        log_factorials = np.zeros(n_rows + 1)
        log_factorials[1:] = np.cumsum(np.log(np.arange(1, n_rows + 1)))
        row_costs = np.zeros((len(tables), n_rows + 1))
        self._slack = 0.0
        for costs, (table, row_size) in zip(row_costs, tables):
            costs[1:] = np.cumsum(np.log(row_size + np.arange(n_rows)))
            # joining intervals of g1 and g2 rows saves at most ln C(g2 + J - 1, J - 1) for each row of a table, since
            # multinomial coefficients multiply to at most that of the sums
            row_cells = table.n_cells // table.n_table_rows
            totals = np.bincount(table.counted // row_cells)
            self._slack += float(np.sum(costs[totals] - log_factorials[totals]))
        self._row_costs = row_costs
        self._log_factorials = log_factorials
        # divided by first: its inverse may overflow
        width = column.high - column.low
        with np.errstate(divide="ignore"):
            self._edge_costs = -np.log(-np.expm1(-largest_cardinality * (np.diff(column.greatest) / width)))
        # between two neighbouring floats the cut is the lower one, but the minimum itself cannot be a cut
        self._edge_costs[column.cuts <= column.low] = np.inf
        self._positions = largest_cardinality * ((column.greatest - column.low) / width)

    def value(self, cut_points: NDArray[np.float64]) -> float:
        """Return the objective of any cuts in nats; a cut counts as any other one between the same distinct values."""
        chosen = self.column.gaps(cut_points) if len(cut_points) else np.empty(0, np.int64)
        cells, rule, work = self._programme(chosen, NO_STOP)
        return float(partition_cost(cells, rule, work, np.arange(len(chosen) + 2)))

    def optimal(
        self,
        max_candidates: int | None = None,
        *,
        incumbent: NDArray[np.float64] | None = None,
        task: DiscretizationTask | None = None,
    ) -> tuple[NDArray[np.float64], float]:
        """Return the best cuts and their objective; see `BayesianDiscretizer` for `max_candidates`.

        The gaps of the cuts `incumbent` are candidates even if the others are thinned. The deadline of a task ends the
        search; the result is then meaningless.
        """
        if task is None:
            chosen, cost = self._solve(max_candidates, incumbent, NO_STOP)
        else:
            flag = task.stop.flag
            chosen, cost = task.interruptible(lambda: self._solve(max_candidates, incumbent, flag))
        return self.column.cuts[chosen], cost

    def _solve(
        self, max_candidates: int | None, incumbent: NDArray[np.float64] | None, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], float]:
        """Return the best cuts as indices of gaps, and their objective."""
        n_gaps = len(self.column.cuts)
        if max_candidates is None or n_gaps <= max_candidates:
            return self._best(np.arange(n_gaps), stop)
        grid = self._grid(max_candidates)
        added = np.empty(0, np.int64)
        if incumbent is not None and len(incumbent):
            added = self.column.gaps(incumbent)
        raw = self._programme(np.arange(n_gaps), stop)
        best, best_cost = added, np.inf
        # of refining a thinned programme; two are the rule
        for _ in range(5):
            chosen, _cost = self._best(np.union1d(grid, added), stop)
            if stop[0]:
                break
            chosen = self._moved(chosen, raw)
            cost = float(partition_cost(*raw, np.concatenate(([0], chosen + 1, [n_gaps + 1]))))
            if cost >= best_cost - ROUNDING:
                break
            best, best_cost = chosen, cost
            added = np.union1d(added, chosen)
        return best, best_cost

    def _grid(self, n_candidates: int) -> NDArray[np.int64]:
        """Return the cheapest gap of each of `n_candidates` groups of about equal numbers of rows."""
        group = self.column.below * n_candidates // self.column.n_rows
        order = np.lexsort((self._edge_costs, group))
        return np.asarray(order[np.flatnonzero(np.diff(group[order], prepend=-1))], np.int64)

    def _best(
        self, candidates: NDArray[np.int64], stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], float]:
        """Return the best cuts among candidate gaps, by dynamic programming, and their objective."""
        costs, origins = self._partitions(candidates, stop)
        edges = []
        edge = len(candidates) + 1
        while not stop[0] and (edge := int(origins[edge])) > 0:
            edges.append(edge - 1)
        return candidates[edges[::-1]], float(costs[-1])

    def _partitions(
        self, candidates: NDArray[np.int64], stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the least cost before every candidate edge, and the first cell of its last interval.

        The costs of a thinned programme are bounds that let a large one end most of its sweeps early.
        """
        cells, rule, work = self._programme(candidates, stop)
        # number of candidates from which bounds by a thinned programme pay
        if len(candidates) > 400:
            few = np.arange(_THINNING // 2, len(candidates), _THINNING)
            work.bounds[few + 1] = self._partitions(candidates[few], stop)[0][1:-1]
        best_partition(cells, rule, work)
        return work.costs, work.origins

    def _moved(
        self, chosen: NDArray[np.int64], raw: tuple[CandidateCells, CostRule, PartitionWork]
    ) -> NDArray[np.int64]:
        """Return the cuts after moving or leaving out single ones, between their neighbours, until none gains."""
        edges = [0, *(chosen + 1).tolist(), len(self.column.cuts) + 1]
        due = set(edges[1:-1])
        while due and not raw[2].stop[0]:
            edge = min(due)
            due.discard(edge)
            k = edges.index(edge)
            best_edge, gain = cheapest_split(*raw, edges[k - 1], edges[k + 1])
            if best_edge == edge:
                continue
            edges[k : k + 1] = [best_edge] if gain > 0.0 else []
            due.update(edges[max(k - 1, 1) : k + 2])
            due -= {best_edge, edges[0], edges[-1]}
        return np.array(edges[1:-1], np.int64) - 1

    def _programme(
        self, candidates: NDArray[np.int64], stop: NDArray[np.uint8]
    ) -> tuple[CandidateCells, CostRule, PartitionWork]:
        """Return the counted cells between candidate gaps, their costs, and work space."""
        column = self.column
        n_cells = len(candidates) + 1
        cells = self._counts.cells(column.cuts[candidates], column.below[candidates])
        rule = CostRule(
            table_of=self._counts.table_of,
            log_factorials=self._log_factorials,
            row_costs=self._row_costs,
            first=self._positions[np.concatenate(([0], candidates + 1))],
            last=self._positions[np.concatenate((candidates, [len(column.cuts)]))],
            edge_costs=np.concatenate((self._edge_costs[candidates], [0.0])),
            slack=self._slack,
        )
        work = PartitionWork(
            counts=self._counts.counts,
            costs=np.zeros(n_cells + 1),
            bounds=np.full(n_cells + 1, np.inf),
            origins=np.zeros(n_cells + 1, np.int32),
            stop=stop,
        )
        return cells, rule, work


def _table(
    members: tuple[CodedColumn, ...], conditions: tuple[CodedColumn, ...], n_rows: int
) -> tuple[CountTable, float]:
    """Return a table of counts around the column, and the cells per row that its prior knows, seen or not."""
    values, n_values, row_size = joint_codes(members, n_rows)
    rows, n_observed, _ = joint_codes(conditions, n_rows)
    cells = rows * np.int32(n_values) + values
    return CountTable(cells, n_observed * n_values, n_observed), row_size


@dataclass(eq=False, repr=False, kw_only=True)
class LDBN(Discretizer):
    """Learns structure and bins together: K2 adds edges, and after every edge all columns are cut again.

    Parameters
    ----------
    order, max_indegree, n_restarts, pseudo_count, random_state
        See `K2`; the paper has 50 random orders.
    max_cycles : int
        Largest number of passes of a discretization.
    cardinality_over, max_candidates
        See `BayesianDiscretizer`.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; the best result so far is kept.

    Attributes
    ----------
    network_ : DiscretizedBayesNet
        Network over the columns with their bins.
    score_ : float
        ln of the K2 score of the discretized table, in nats; higher is better.
    edges_, order_, n_restarts_, stopped_by_
        See `K2`.
    cut_points_, levels_, table_, fit_seconds_, feature_names_in_, n_features_in_
        See `Discretizer`.

    Notes
    -----
    As in the authors' code, a column gets further parents while these raise the score that it had when its last parent
    was accepted, before the bins changed. Orders are compared by the K2 score of tables with different bins, which
    favours few bins.

    Each pass of the discretization visits the columns in reverse order. After every new edge it begins with equal-width
    bins.
    """

    _warm_ups = (compile_bayesian_kernels, compile_structure_kernels)
    _uses_classes = False

    order: Sequence[str] | None = None
    max_indegree: int = option(6, WholeNumber(0))
    n_restarts: int = option(50, WholeNumber(1))
    max_cycles: int = option(10, WholeNumber(1))
    cardinality_over: str = option("table", CARDINALITY_OVER)
    max_candidates: int | None = option(2000, MAX_CANDIDATES)
    pseudo_count: float = 1.0
    random_state: int | None = option(None, WholeNumber(0, none=""))

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        if task.has_graph:
            raise GomeaBnError(
                "LDBN learns the graph itself; leave network out, or use BayesianDiscretizer to keep the graph."
            )
        names = task.table.names
        search = _CoupledSearch(task, self)
        best, tried = None, 0
        for order in orders_to_try(self.order, names, self.n_restarts, self.random_state):
            learned = search.along(order)
            tried += 1
            if best is None or learned[0] > best[0]:
                best, best_order = learned, order
            if task.expired:
                break
        assert best is not None
        self.score_, parents, cuts = best
        self.edges_ = named_edges(parents, names)
        self.order_ = [names[v] for v in best_order]
        self.n_restarts_ = tried
        self.stopped_by_ = "n_restarts"
        self.network_ = DiscretizedBayesNet.from_table(
            task.table,
            self.edges_,
            {names[v]: of_column for v, of_column in cuts.items()},
            pseudo_count=self.pseudo_count,
            metadata={"scoring_method": "k2", "score": self.score_, "n_rows": task.table.n_rows},
        )
        return cuts


class _CoupledSearch:
    """K2 and Bayesian discretization in turn over one table, whose columns are sorted once."""

    def __init__(self, task: DiscretizationTask, options: LDBN) -> None:
        self._task = task
        self._options = options
        self._start = starting_cuts(task)

    def along(self, order: Sequence[int]) -> tuple[float, list[tuple[int, ...]], Cuts]:
        """Return score, parents and cuts for one order; at the deadline, those of the last complete state."""
        task = self._task
        parents: list[tuple[int, ...]] = [()] * len(task.table.columns)
        cuts = self._start
        scorer = self._scorer(cuts)
        # constant columns have no edges
        order = [v for v in order if not task.table.columns[v].is_constant]
        for position, child in enumerate(order):
            score = float(scorer.score([ScoredFamily((child, 0))])[0])
            while len(parents[child]) < min(self._options.max_indegree, position) and not task.expired:
                candidates = [v for v in order[:position] if v not in parents[child]]
                new, grown = best_parent(scorer, child, parents[child], candidates)
                if not grown > score:
                    break
                grown_parents = [*parents]
                grown_parents[child] = (*parents[child], new)
                grown_cuts = self._cuts(grown_parents, order)
                if task.expired:
                    break
                parents, cuts, score = grown_parents, grown_cuts, grown
                scorer = self._scorer(cuts)
            if task.expired:
                break
        return scorer.graph_score(parents), parents, cuts

    def _cuts(self, parents: Sequence[Sequence[int]], order: Sequence[int]) -> Cuts:
        """Return the cuts for a graph, columns visited in reverse order."""
        task = self._task
        graph = ColumnGraph(task.table.names, tuple(tuple(sorted(of_child)) for of_child in parents))
        order = [v for v in reversed(order) if v in task.movable]
        task = replace(task, graph=graph)
        cuts, _, _ = discretize_all(task, self._options, self._start, order)
        return cuts

    def _scorer(self, cuts: Cuts) -> FamilyScorer:
        return coded_scorer(self._task.table.names, self._task.coded(cuts), "k2")
