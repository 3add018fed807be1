"""Bayesian discretization: the most probable cuts given a graph (Chen, Wheeler & Kochenderfer 2017)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn._columns import nearest
from gomea_bn.discretization._bayesian_kernels import (
    CostRule,
    PartitionWork,
    best_partition,
    best_split,
    partition_cost,
)
from gomea_bn.discretization.base import (
    CodedColumn,
    CodedFamily,
    Cuts,
    DiscretizationTask,
    Discretizer,
    Neighbourhood,
    coded_bins,
    joint_codes,
    starting_cuts,
)
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.problems._interval_kernels import Cells, IntervalTables, fill_cells
from gomea_bn.problems.interval_dp import SortedColumn

__all__ = ["BayesianCuts", "BayesianDiscretizer", "CycleResult", "discretize_all"]

_NO_STOP: NDArray[np.uint8] = np.zeros(1, np.uint8)
_LARGE = 400  # candidates, from which bounds by a thinned programme pay
_THINNING = 8
_MAX_ROUNDS = 5  # of refining a thinned programme; two are the rule
_LEAST_GAIN = 1e-9


class BayesianDiscretizer(Discretizer):
    """The most probable bins of every column given its Markov blanket.

    Parameters
    ----------
    cardinality_over : {"table", "blanket"}
        Whose largest number of bins or levels sets the prior's expected number of cuts: all columns' (the authors'
        code, which gives their published cuts), or the Markov blanket's (their paper).
    max_cycles : int
        Most passes over the columns.
    order : sequence of str, optional
        The columns in the order of a pass; by default children before their parents. Other orders may end in other
        cuts, since the method has no objective that is common to all columns.
    start : {"equal-width", "equal-frequency", "network"}
        The bins before the first pass; "network" takes those of the given network.
    max_candidates : int or None
        Up to so many distinct values a column is cut exactly; above, the cuts are chosen among so many candidates and
        then moved to the best place between their neighbours. None is always exact, in time quadratic in the rows.
    kinds, missing, max_levels
        See `gomea_bn.table.read_table`.
    max_seconds : float, optional
        Deadline; columns not reached by then keep the cuts they had.

    Attributes
    ----------
    costs_ : dict of str to float
        The objective of every column with a Markov blanket when it was last cut, in nats, lower is better.
    n_cycles_ : int

    Notes
    -----
    For a column X with distinct values u_1 < ... < u_m in range R, largest cardinality L, J_P configurations of its
    parents and J_c values of its child c, a set of cuts costs (paper, Section 3; here as negative logs of
    Dirichlet(1)-multinomials)

    - -ln(1 - exp(-L (u_{j+1} - u_j) / R)) for every cut between u_j and u_{j+1},
    - L (last - first value) / R for every interval,
    - lnG(g + J_P) - lnG(J_P) - sum_q ln n_q! for an interval of g rows, n_q of them with parent configuration q,
    - and for every child c and configuration s of its other parents lnG(n_s + J_c) - lnG(J_c) - sum_v ln n_sv!.

    The minimum is found by dynamic programming in O(m n (1 + children)) time and O(n) memory. A column without parents
    and children keeps its starting bins.
    """

    def __init__(
        self,
        *,
        cardinality_over: str = "table",
        max_cycles: int = 10,
        order: Sequence[str] | None = None,
        start: str = "equal-width",
        max_candidates: int | None = 2000,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.cardinality_over = cardinality_over
        self.max_cycles = max_cycles
        self.order = order
        self.start = start
        self.max_candidates = max_candidates
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def _check_options(self) -> None:
        check_bayesian_options(self.cardinality_over, self.max_cycles, self.max_candidates)
        if self.start not in ("equal-width", "equal-frequency", "network"):
            raise GomeaBnError(
                f"start must be 'equal-width', 'equal-frequency' or 'network', got {self.start!r}."
            )

    def _compile(self) -> None:
        compile_bayesian_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        found = discretize_all(
            task,
            starting_cuts(task, self.start),
            _visiting_order(self.order, task),
            cardinality_over=self.cardinality_over,
            max_cycles=self.max_cycles,
            max_candidates=self.max_candidates,
        )
        self.costs_ = {task.table.names[v]: cost for v, cost in sorted(found.costs.items())}
        self.n_cycles_ = found.n_cycles
        if not found.converged:
            self.stopped_by_ = "max_cycles"
        return found.cuts


@dataclass(frozen=True, slots=True)
class CycleResult:
    """The cuts after some passes, the objective of every column when it was last cut, and how it ended."""

    cuts: Cuts
    costs: dict[int, float]
    n_cycles: int
    converged: bool


def discretize_all(
    task: DiscretizationTask,
    start: Cuts,
    order: Sequence[int],
    *,
    cardinality_over: str,
    max_cycles: int,
    max_candidates: int | None,
    sorted_columns: dict[int, SortedColumn] | None = None,
) -> CycleResult:
    """Return the cuts after passes over the columns until none changes, each cut given all others' bins.

    A column whose blanket and largest cardinality are as at its last visit is left, for its optimum is the same.
    """
    columns = {} if sorted_columns is None else sorted_columns
    cuts = dict(start)
    coded = task.coded(cuts)
    costs: dict[int, float] = {}
    seen: dict[int, tuple[int, dict[int, CodedColumn]]] = {}
    visited = [v for v in order if task.graph.blanket(v)]
    for n_cycles in range(1, max_cycles + 1):
        changed = False
        for v in visited:
            blanket = {u: coded[u] for u in task.graph.blanket(v)}
            among = blanket.values() if cardinality_over == "blanket" else coded
            largest = max(one.cardinality for one in among)
            if v in seen and seen[v][0] == largest and all(seen[v][1][u] is blanket[u] for u in blanket):
                continue
            seen[v] = largest, blanket
            if v not in columns:
                columns[v] = SortedColumn(task.table.columns[v].values)
            problem = BayesianCuts(columns[v], task.graph.neighbourhood(v, coded), largest)
            found, cost = problem.optimal(max_candidates, incumbent=cuts[v], task=task)
            if task.expired:
                return CycleResult(cuts, costs, n_cycles, False)
            costs[v] = cost
            if not np.array_equal(found, cuts[v]):
                changed = True
                cuts[v] = found
                coded[v] = coded_bins(task.table.columns[v].values, found)
        if not changed:
            return CycleResult(cuts, costs, n_cycles, True)
    return CycleResult(cuts, costs, max_cycles, False)


class BayesianCuts:
    """The objective of one column's cuts, everything else fixed, and its minimum.

    Parameters
    ----------
    column : SortedColumn
    around : Neighbourhood
    largest_cardinality : int
        L of the prior.
    """

    def __init__(self, column: SortedColumn, around: Neighbourhood, largest_cardinality: int) -> None:
        self.column = column
        n_rows = column.n_rows
        tables = [_table(around.parents, (), n_rows)] if around.parents else []
        tables += [_table((family.child,), family.spouses, n_rows) for family in around.families]
        tables = [table for table in tables if table.row_size > 1]  # others cost nothing
        n_cells = sum(table.n_rows * table.row_cells for table in tables)
        row_of = np.full(n_cells + sum(table.n_rows for table in tables), -1, np.int32)
        table_of = np.full(len(row_of), -1, np.int32)
        codes = np.empty((len(tables), n_rows), np.int32)
        row_costs = np.zeros((len(tables), n_rows + 1))
        log_factorials = np.zeros(n_rows + 1)
        log_factorials[1:] = np.cumsum(np.log(np.arange(1, n_rows + 1)))
        cell, row = 0, n_cells
        for t, table in enumerate(tables):
            size = table.n_rows * table.row_cells
            codes[t] = (table.cells + cell)[column.order]
            row_of[cell : cell + size] = row + np.repeat(np.arange(table.n_rows), table.row_cells)
            table_of[row : row + table.n_rows] = t
            row_costs[t, 1:] = np.cumsum(np.log(table.row_size + np.arange(n_rows)))
            cell, row = cell + size, row + table.n_rows
        self._tables = IntervalTables(codes, row_of, np.zeros(1, np.int64))
        self._sizes = [
            min(n_rows, size) for table in tables for size in (table.n_rows * table.row_cells, table.n_rows)
        ]
        # joining intervals of g1 and g2 rows saves at most ln C(g2 + J - 1, J - 1) for each row of a table, since
        # multinomial coefficients multiply to at most that of the sums
        totals = [np.bincount(table.cells // table.row_cells) for table in tables]
        self._slack = sum(
            float(np.sum(costs[total] - log_factorials[total])) for costs, total in zip(row_costs, totals)
        )
        self._table_of = table_of
        self._row_costs = row_costs
        self._log_factorials = log_factorials
        scale = largest_cardinality / (column.high - column.low)
        with np.errstate(divide="ignore"):
            self._edge_costs = -np.log(-np.expm1(-scale * np.diff(column.distinct)))
        self._edge_costs[column.cuts <= column.low] = (
            np.inf
        )  # between neighbouring floats there is no inner cut
        self._positions = scale * (column.distinct - column.low)

    def value(self, cut_points: NDArray[np.float64]) -> float:
        """Return the objective of given cuts in nats; each counts as lying in its gap between distinct values."""
        chosen = self.column.gaps(cut_points) if len(cut_points) else np.empty(0, np.int64)
        cells, rule, work = self._programme(chosen, _NO_STOP)
        return float(partition_cost(cells, rule, work, np.arange(len(chosen) + 2)))

    def optimal(
        self,
        max_candidates: int | None = None,
        *,
        incumbent: NDArray[np.float64] | None = None,
        task: DiscretizationTask | None = None,
    ) -> tuple[NDArray[np.float64], float]:
        """Return the best cuts and their objective; see `BayesianDiscretizer` for `max_candidates`.

        Parameters
        ----------
        max_candidates : int or None
        incumbent : ndarray of shape (k,), optional
            Cuts whose gaps are candidates also where these are thinned.
        task : DiscretizationTask, optional
            Whose deadline ends the search; the result is then of no use.
        """
        stop = _NO_STOP if task is None else task.stop.flag

        def solve() -> tuple[NDArray[np.int64], float]:
            return self._solve(max_candidates, incumbent, stop)

        chosen, cost = solve() if task is None else task.interruptible(solve)
        return self.column.cuts[chosen], cost

    def _solve(
        self, max_candidates: int | None, incumbent: NDArray[np.float64] | None, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], float]:
        """Return the best cuts as indices of gaps, and their objective."""
        n_gaps = len(self.column.cuts)
        if max_candidates is None or n_gaps <= max_candidates:
            return self._best(np.arange(n_gaps), stop)
        grid = self._grid(max_candidates)
        known = np.empty(0, np.int64)
        if incumbent is not None and len(incumbent):
            known = self.column.gaps(incumbent)
        raw = self._programme(np.arange(n_gaps), stop)
        best, best_cost = known, np.inf
        for _ in range(_MAX_ROUNDS):
            chosen, _cost = self._best(np.union1d(grid, known), stop)
            if stop[0]:
                break
            chosen = self._moved(chosen, raw)
            cost = float(partition_cost(*raw, np.concatenate(([0], chosen + 1, [n_gaps + 1]))))
            if cost >= best_cost - _LEAST_GAIN:
                break
            best, best_cost = chosen, cost
            known = np.union1d(known, chosen)
        return best, best_cost

    def _grid(self, n_candidates: int) -> NDArray[np.int64]:
        """Return the gap that costs least in each of so many groups of about equally many rows."""
        group = self.column.below * n_candidates // self.column.n_rows
        order = np.lexsort((self._edge_costs, group))
        found: NDArray[np.int64] = order[np.flatnonzero(np.diff(group[order], prepend=-1))]
        return found

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
        """Return the least cost before every candidate edge, and where its last interval begins.

        The costs of a thinned programme bound those of a large one, which then can end most of its sweeps early.
        """
        cells, rule, work = self._programme(candidates, stop)
        if len(candidates) > _LARGE:
            few = np.arange(_THINNING // 2, len(candidates), _THINNING)
            work.bounds[few + 1] = self._partitions(candidates[few], stop)[0][1:-1]
        best_partition(cells, rule, work)
        return work.costs, work.origins

    def _moved(
        self, chosen: NDArray[np.int64], raw: tuple[Cells, CostRule, PartitionWork]
    ) -> NDArray[np.int64]:
        """Return cuts of which none alone can be moved between its neighbours, or left out, at a gain."""
        edges = [0, *(chosen + 1).tolist(), len(self.column.cuts) + 1]
        due = set(edges[1:-1])
        while due and not raw[2].stop[0]:
            edge = min(due)
            due.discard(edge)
            k = edges.index(edge)
            place, gain = best_split(*raw, edges[k - 1], edges[k + 1])
            if place == edge:
                continue
            edges[k : k + 1] = [place] if gain > 0.0 else []
            due.update(edges[max(k - 1, 1) : k + 2])
            due -= {place, edges[0], edges[-1]}
        return np.array(edges[1:-1], np.int64) - 1

    def _programme(
        self, candidates: NDArray[np.int64], stop: NDArray[np.uint8]
    ) -> tuple[Cells, CostRule, PartitionWork]:
        """Return the counted cells between candidate gaps, their costs, and work space."""
        column = self.column
        n_cells = len(candidates) + 1
        most = sum(min(column.n_rows, n_cells * size) for size in self._sizes)
        counts = np.zeros(len(self._table_of), np.int32)
        cells = Cells(
            np.concatenate(([column.low], column.cuts[candidates], [column.high])),
            np.concatenate(([0], column.below[candidates], [column.n_rows])).astype(np.int64),
            np.zeros(n_cells + 1, np.int64),
            np.zeros(n_cells, np.int64),
            np.empty(most, np.int32),
            np.empty(most, np.int32),
        )
        fill_cells(self._tables, cells, counts)
        rule = CostRule(
            self._table_of,
            self._log_factorials,
            self._row_costs,
            self._positions[np.concatenate(([0], candidates + 1))],
            self._positions[np.concatenate((candidates, [len(column.cuts)]))],
            np.concatenate((self._edge_costs[candidates], [0.0])),
            self._slack,
        )
        bounds = np.full(n_cells + 1, np.inf)
        work = PartitionWork(counts, np.zeros(n_cells + 1), bounds, np.zeros(n_cells + 1, np.int32), stop)
        return cells, rule, work


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of counts around the column: `n_rows` rows of `row_cells` numbered cells."""

    cells: NDArray[np.int32]
    n_rows: int
    row_cells: int
    row_size: float  # cells that the prior knows, seen or not


def _table(own: tuple[CodedColumn, ...], given: tuple[CodedColumn, ...], n_rows: int) -> _Table:
    values, n_values, n_all = joint_codes(own, n_rows)
    rows, n_numbered, _ = joint_codes(given, n_rows)
    return _Table(rows * np.int32(n_values) + values, n_numbered, n_values, n_all)


def _visiting_order(order: Sequence[str] | None, task: DiscretizationTask) -> list[int]:
    """Return the movable columns in the order of a pass."""
    if order is None:
        return [v for v in task.graph.reverse_topological_order() if v in task.movable]
    names = task.table.names
    for name in order:
        if name not in names or names.index(name) not in task.movable:
            raise GomeaBnError(
                f"order: no continuous column {name!r} whose cuts are wanted.{nearest(str(name), names)}"
            )
    found = [names.index(name) for name in order]
    left = [names[v] for v in task.movable if v not in found]
    if left or len(set(found)) < len(found):
        raise GomeaBnError(
            "order must name every continuous column once; it "
            + (f"lacks {left}." if left else f"repeats a name: {list(order)}.")
        )
    return found


def check_bayesian_options(cardinality_over: Any, max_cycles: Any, max_candidates: Any) -> None:
    """Refuse options of the method that are out of range."""
    if cardinality_over not in ("table", "blanket"):
        raise GomeaBnError(f"cardinality_over must be 'table' or 'blanket', got {cardinality_over!r}.")
    if not is_integer(max_cycles) or max_cycles < 1:
        raise GomeaBnError(f"max_cycles must be an integer of at least 1, got {max_cycles!r}.")
    if max_candidates is not None and (not is_integer(max_candidates) or max_candidates < 10):
        raise GomeaBnError(
            f"max_candidates must be an integer of at least 10 or None, got {max_candidates!r}."
        )


@cache
def compile_bayesian_kernels() -> None:
    """Compile or load the kernels on a tiny problem, so that no deadline pays for it."""
    column = SortedColumn(np.arange(24.0))
    coded = CodedColumn(np.repeat(np.array([0, 1], np.int32), 12), 2)
    problem = BayesianCuts(column, Neighbourhood((coded,), (CodedFamily(coded, ()),)), 2)
    problem.value(np.array([5.5]))
    problem.optimal(10)
