"""Counts of the intervals of a column in tables around it, and zooming over its candidate cuts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.kernels.intervals import CandidateCells, fill_cells
from gomea_bn.runtime.threads import in_spare_threads

NO_STOP: NDArray[np.uint8] = np.zeros(1, np.uint8)
"""A stop flag that is never raised."""


@dataclass(frozen=True, slots=True)
class PricedCuts:
    """Cut points of a column, and what a search says of them in nats: a score, or a length to be short."""

    cut_points: NDArray[np.float64]
    value: float


@dataclass(frozen=True)
class CountTable:
    """A table of counts that every interval of a column has, by rows or by the column's cells."""

    # (n,) cell of every row in the order of the data, -1 for a row that does not count; or (cells of the column,
    # n_cells) rows
    counted: NDArray[np.integer[Any]]
    n_cells: int
    n_table_rows: int = 0  # rows of neighbouring cells; 0 if their totals are not counted
    shift: int = 0  # by which a table row's total is raised before its score is looked up
    weight: float = 1.0  # factor of the score of the table; 1 only if all rows count
    # of a child's table, whose values vary fastest: their number, 0 of the own family, and whether they are levels
    n_values: int = 0
    is_level: bool = False
    has_parents: bool = True

    @property
    def weight_of_gain(self) -> float:
        """Factor of what the table gains over the column or child alone: 0 of a column without parents."""
        return self.weight if self.has_parents else 0.0

    @cached_property
    def of_values(self) -> NDArray[np.int64]:
        """Rows of every value of the child, int64 (n_values,); of the own family the number of all rows, (1,)."""
        n = max(self.n_values, 1)
        if self.counted.ndim == 2:
            return np.asarray(self.counted.reshape(-1, n).sum(axis=0), np.int64)
        counted = self.counted[self.counted >= 0]
        return np.bincount(counted % n, minlength=n).astype(np.int64)


class IntervalCounts:
    """The counters of several tables, numbered consecutively: all cells first, then the totals of all table rows.

    From `first_total` on counters are totals. By counter, `shift` is the amount by which a total is raised before the
    look-up, `table_of` the table of a total, -1 for a cell, and `weights` the weight of its table, of shape (0,) if all
    weights of tables of rows are 1. `counts` is new work space of a kernel, all 0.
    """

    def __init__(self, column: CutColumn, tables: Sequence[CountTable]) -> None:
        self._column = column
        self.first_total = sum(table.n_cells for table in tables)
        n_counters = self.first_total + sum(table.n_table_rows for table in tables)
        row_of = np.full(n_counters, -1, np.int32)
        self.shift = np.zeros(n_counters, np.int64)
        self.table_of = np.full(n_counters, -1, np.int32)
        weights = np.ones(n_counters)
        cell, total = 0, self.first_total
        for t, table in enumerate(tables):
            cells, totals = slice(cell, cell + table.n_cells), slice(total, total + table.n_table_rows)
            weights[cells], weights[totals] = table.weight, table.weight
            if table.n_table_rows:
                numbers = np.arange(table.n_table_rows)
                row_of[cells] = total + np.repeat(numbers, table.n_cells // table.n_table_rows)
                self.shift[totals], self.table_of[totals] = table.shift, t
            cell, total = cells.stop, totals.stop
        # (cells of the column, n_counters) rows, of tables by cells
        self._of_cells: NDArray[np.int64] | None = None
        if any(table.counted.ndim == 2 for table in tables):
            self._of_cells = _with_totals(tables)
        else:
            self._codes, self._row_of = _codes(column, tables), row_of
        has_weights = self._of_cells is not None or any(table.weight != 1.0 for table in tables)
        self.weights = weights if has_weights else np.empty(0)
        self._sizes = [size for table in tables for size in (table.n_cells, table.n_table_rows)]

    @property
    def counts(self) -> NDArray[np.signedinteger[Any]]:
        """Work space of a kernel, (n_counters,): a call of its own for each of several threads.

        It is int64 for counts of cells, which may be of more rows than int32 numbers.
        """
        return np.zeros(len(self.shift), np.int32 if self._of_cells is None else np.int64)

    def cells(self, cut_points: NDArray[np.float64], below: NDArray[np.int64]) -> CandidateCells:
        """Return the counted cells between ascending cut points (k,), given the number of rows below each of them.

        Cut points of a column of ranges are among its cuts.
        """
        column = self._column
        edges = np.concatenate(([column.low], cut_points, [column.high]))
        up_to_edges = np.concatenate(([0], below, [column.n_rows])).astype(np.int64)
        if self._of_cells is not None:
            return CandidateCells(edges, up_to_edges, *self._added(column.cells_below(cut_points)))
        n_cells = len(below) + 1
        n_entries = sum(min(column.n_rows, n_cells * size) for size in self._sizes)
        cells = CandidateCells(
            edges=edges,
            below=up_to_edges,
            starts=np.zeros(n_cells + 1, np.int64),
            middles=np.zeros(n_cells, np.int64),
            entries=np.empty(n_entries, np.int32),
            amounts=np.empty(n_entries, np.int32),
        )
        fill_cells(self._codes, self._row_of, cells, self.counts)
        return cells

    def _added(self, cells_below: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Return starts, middles, entries and amounts of candidate cells, given the column's cells below each cut."""
        assert self._of_cells is not None
        of_cells = np.add.reduceat(self._of_cells, np.concatenate(([0], cells_below)), axis=0)
        filled, counters = np.nonzero(of_cells)
        n_cells, n_counters = of_cells.shape
        entries = filled * n_counters + counters
        starts = np.searchsorted(entries, np.arange(n_cells + 1) * n_counters)
        middles = np.searchsorted(entries, np.arange(n_cells) * n_counters + self.first_total)
        return starts, middles, counters.astype(np.int32), of_cells[filled, counters]


def _codes(column: CutColumn, tables: Sequence[CountTable]) -> NDArray[np.int32]:
    """Return the counters of rows by ascending value, int32 (n_tables, n_rows); -1 for those that do not count."""
    codes, cell = np.empty((len(tables), column.n_rows), np.int32), 0
    for t, table in enumerate(tables):
        of_rows = table.counted[column.order]
        codes[t] = of_rows + cell
        if table.weight != 1.0:
            codes[t, of_rows < 0] = -1
        cell += table.n_cells
    return codes


def _with_totals(tables: Sequence[CountTable]) -> NDArray[np.int64]:
    """Return the counts of all tables by cells of the column, and then the totals of their table rows."""
    totals = [
        table.counted.reshape(len(table.counted), table.n_table_rows, -1).sum(axis=2)
        for table in tables
        if table.n_table_rows
    ]
    return np.concatenate([*(table.counted for table in tables), *totals], axis=1)


def chosen_of(origin: NDArray[np.int32], layer: int) -> list[int]:
    """Return the positions of the chosen candidates, ascending; with one layer for any number, `layer` is 0."""
    edges: list[int] = []
    edge, step = origin.shape[1] - 1, int(len(origin) > 1)
    while (edge := int(origin[layer, edge])) > 0:
        edges.append(edge - 1)
        layer -= step
    return edges[::-1]


Solve = Callable[[NDArray[np.int64]], tuple[PricedCuts | None, NDArray[np.int64]]]
"""Gives the best solution among candidates, which are indices of raw cuts, with the indices of its cuts.

Without a solution it gives None and no index.
"""


def search_by_zooming(
    column: CutColumn,
    solves: Mapping[bool, Solve],
    is_worse: Callable[[float, float], bool],
    n_cells: int,
    incumbent: NDArray[np.float64] | None = None,
) -> PricedCuts | None:
    """Return the best solution on a grid of raw cuts that is refined around the chosen ones until these are raw.

    The first grid has at most `n_cells` cells, and the gaps of the cuts `incumbent`. Of several ways to solve it, the
    best one there, the first of equals, goes on. A way stands by whether its first grid depends on the ranks of the
    values alone.
    """
    present = np.empty(0, np.int64) if incumbent is None else column.gaps(incumbent)

    def begun(by_rank: bool) -> tuple[NDArray[np.int64], Solve, PricedCuts | None, NDArray[np.int64]]:
        candidates = np.union1d(column.grid(n_cells, by_rank=by_rank), present)
        return candidates, solves[by_rank], *solves[by_rank](candidates)

    candidates, solve, best, chosen = max(
        in_spare_threads(begun, solves), key=lambda of_way: -inf if of_way[2] is None else of_way[2].value
    )
    for _ in range(40):
        if best is None or not len(chosen):
            break
        candidates, is_raw = _zoomed(candidates, chosen, len(column.cuts), n_cells)
        if is_raw:
            break
        solution, chosen_now = solve(candidates)
        if solution is None or is_worse(solution.value, best.value):
            break
        best, chosen = solution, chosen_now
    return best


def _zoomed(
    candidates: NDArray[np.int64], chosen: NDArray[np.int64], n_raw: int, n_cells: int
) -> tuple[NDArray[np.int64], bool]:
    """Return candidates between the neighbours of every chosen one, and whether all those neighbours are raw."""
    bounds = np.concatenate(([-1], candidates, [n_raw]))
    position = np.searchsorted(candidates, chosen) + 1
    low, high = np.maximum(bounds[position - 1], 0), np.minimum(bounds[position + 1], n_raw - 1)
    if ((chosen - low <= 1) & (high - chosen <= 1)).all():
        return candidates, True
    n_each = max(8, n_cells // len(chosen))
    merged = np.sort(np.concatenate([chosen, spread_windows(low, high, n_each)]))
    return merged[np.concatenate(([True], merged[1:] != merged[:-1]))], False


def spread_windows(low: NDArray[np.int64], high: NDArray[np.int64], n_each: int) -> NDArray[np.int64]:
    """Return up to `n_each` whole numbers that are spread evenly from each of `low` to its `high`.

    They are those of `linspace` of NumPy, whose calls for single windows take longer than the dynamic programme.
    """
    n_points = np.minimum(n_each, high - low + 1)
    ends = np.cumsum(n_points)
    positions = np.arange(ends[-1]) - np.repeat(ends - n_points, n_points)
    steps = (high - low) / np.maximum(n_points - 1, 1)
    points = positions * np.repeat(steps, n_points) + np.repeat(low, n_points)
    points[ends - 1] = high
    return np.asarray(points.round(), np.int64)
