"""Continuous columns sorted once, and the counts of their intervals: the basis of all searches for cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.cuts.policies import midpoint
from gomea_bn.problems.kernels.intervals import Cells, IntervalTables, fill_cells
from gomea_bn.problems.kernels.score import MISSING

__all__ = [
    "NO_STOP",
    "CountTable",
    "IntervalCounts",
    "SortedColumn",
    "SortedColumns",
    "chosen_of",
    "search_by_zooming",
]

# of the grid's measure; the rest follows the axis, so that wide gaps get candidates too
_RANK_SHARE = 0.75
_MAX_ZOOMS = 40
NO_STOP: NDArray[np.uint8] = np.zeros(1, np.uint8)
"""A stop flag that is never raised."""

S = TypeVar("S")


class SortedColumn:
    """A continuous column sorted once, with every raw candidate cut: the mid-points of neighbouring values.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        At least two distinct values, and NaN where values are missing.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), float64
        Values that are not missing.
    n_rows : int
        Number of them.
    n_all_rows : int
        Number of rows with those in which the value is missing.
    order : ndarray of shape (n_rows,), int64
        Their rows by ascending value.
    distinct : ndarray of shape (m,), float64
        Distinct values, ascending.
    cuts : ndarray of shape (m - 1,), float64
        ``cuts[i]`` lies between ``distinct[i]`` and ``distinct[i + 1]``.
    below : ndarray of shape (m - 1,), int64
        Number of rows below each cut.
    low, high : float
        Smallest and largest value.

    Raises
    ------
    GomeaBnError
        If all values are equal.
    """

    def __init__(self, values: NDArray[np.float64]) -> None:
        is_missing = np.isnan(values)
        self.values = values[~is_missing] if is_missing.any() else values
        self.n_rows, self.n_all_rows = len(self.values), len(values)
        self.order = _order(values)[: self.n_rows]
        ascending = values[self.order]
        starts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
        self.distinct = ascending[starts]
        if len(self.distinct) < 2:
            raise GomeaBnError("A constant column cannot be cut; it needs at least two distinct values.")
        self.cuts = midpoint(self.distinct[:-1], self.distinct[1:])
        self.below = starts[1:]
        self.low, self.high = float(self.distinct[0]), float(self.distinct[-1])

    def rows_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of rows at or below each of any cut points."""
        cumulated = np.concatenate(([0], self.below, [self.n_rows]))
        return np.asarray(cumulated[np.searchsorted(self.distinct, cut_points, side="right")], np.int64)

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(self.distinct)

    @property
    def ascending(self) -> NDArray[np.float64]:
        """Values in ascending order, float64 (n_rows,)."""
        return np.repeat(self.distinct, np.diff(self.below, prepend=0, append=self.n_rows))

    def distinct_up_to(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of distinct values among the first rows by value, of which no value has a part."""
        return np.searchsorted(np.concatenate(([0], self.below, [self.n_rows])), rows)

    def code(self, cut_points: NDArray[np.float64], codes: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Fill `codes` with bins, `MISSING` without a value, and return the number of rows below each cut."""
        codes[:] = MISSING
        ends = self.rows_below(cut_points)
        counts = np.diff(ends, prepend=0, append=self.n_rows)
        codes[self.order] = np.repeat(np.arange(len(counts), dtype=np.uint8), counts)
        return ends

    def code_library(
        self, library: Sequence[NDArray[np.float64]], codes: NDArray[np.uint8]
    ) -> list[NDArray[np.int64]]:
        """Do the same as `code` for several vectors of cuts, with codes (n_vectors, n_rows)."""
        return [self.code(cuts, of_cuts) for cuts, of_cuts in zip(library, codes, strict=True)]

    def distinct_of_cuts(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of distinct values below raw cuts, given by their indices."""
        return indices + 1

    def gaps(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return for each cut point the index of the raw cut in the same gap between distinct values."""
        index = np.searchsorted(self.distinct, cut_points, side="right") - 1
        return np.unique(np.clip(index, 0, len(self.cuts) - 1))

    def grid(self, n_cells: int, *, by_rank: bool = False) -> NDArray[np.int64]:
        """Return at most `n_cells` - 1 indices of raw cuts, evenly spread in a mixture of rank and position.

        The rank of a repeated value jumps over several steps, which puts a candidate on either side of it. With
        `by_rank` the positions have no influence.
        """
        measure = self.below / self.n_rows
        if not by_rank:
            position = (self.cuts - self.low) / (self.high - self.low)
            measure = _RANK_SHARE * measure + (1 - _RANK_SHARE) * position
        steps = np.arange(1, n_cells) / n_cells
        upper = np.clip(np.searchsorted(measure, steps), 0, len(measure) - 1)
        lower = np.maximum(upper - 1, 0)
        return np.unique(np.where(steps - measure[lower] < measure[upper] - steps, lower, upper))


def _order(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows by ascending value, equal values in the order of the rows and NaN last, int64 (n,)."""
    if len(values) > MANY_ROWS:
        # several times as fast, and the same if all values differ
        order = np.argsort(values)
        ascending = values[order]
        if not (ascending[1:] == ascending[:-1]).any() and not np.isnan(ascending[-1]):
            return order
    return np.argsort(values, kind="stable")


class SortedColumns:
    """Continuous columns by position, each sorted when it is first needed.

    Parameters
    ----------
    values_of : callable
        Gets a position and returns the column's values, float64 (n_rows,).
    """

    def __init__(self, values_of: Callable[[int], NDArray[np.float64]]) -> None:
        self._values_of = values_of
        self._columns: dict[int, SortedColumn] = {}

    def __getitem__(self, v: int) -> SortedColumn:
        if v not in self._columns:
            self._columns[v] = SortedColumn(self._values_of(v))
        return self._columns[v]


@dataclass(frozen=True, slots=True)
class CountTable:
    """A table of counts that every interval of a column has.

    Attributes
    ----------
    codes : ndarray of shape (n,), int32
        Cell of every row of the data, in the order of the data; -1 for a row that does not count.
    n_cells : int
    n_table_rows : int
        Number of table rows, each of ``n_cells / n_table_rows`` neighbouring cells; 0 if their totals are not counted.
    shift : int
        Amount by which a table row's total is raised before its score is looked up.
    weight : float
        Factor of the score of the table; 1 only if all rows count.
    """

    codes: NDArray[np.int32]
    n_cells: int
    n_table_rows: int = 0
    shift: int = 0
    weight: float = 1.0


class IntervalCounts:
    """The counters of several tables, numbered consecutively: all cells first, then the totals of all table rows.

    Parameters
    ----------
    column : SortedColumn
        The column that is cut.
    tables : sequence of CountTable

    Attributes
    ----------
    tables : IntervalTables
        For the kernels.
    shift : ndarray of shape (n_counters,), int64
        Amounts by which totals are raised before the look-up.
    first_total : int
        First counter that is the total of a table row.
    table_of : ndarray of shape (n_counters,), int32
        Table of a total's counter; -1 for a cell's.
    weights : ndarray of shape (n_counters,), float64
        Weight of the table of every counter; of shape (0,) if all weights are 1.
    counts : ndarray of shape (n_counters,), int32
        Work space of the kernels; all 0 between calls.
    """

    def __init__(self, column: SortedColumn, tables: Sequence[CountTable]) -> None:
        self._column = column
        self.first_total = sum(table.n_cells for table in tables)
        n_counters = self.first_total + sum(table.n_table_rows for table in tables)
        codes = np.empty((len(tables), column.n_rows), np.int32)
        row_of = np.full(n_counters, -1, np.int32)
        shift = np.zeros(n_counters, np.int64)
        self.table_of = np.full(n_counters, -1, np.int32)
        weights = np.ones(n_counters)
        cell, total = 0, self.first_total
        for t, table in enumerate(tables):
            of_rows = table.codes[column.order]
            codes[t] = of_rows + cell
            if table.weight != 1.0:
                codes[t, of_rows < 0] = -1
                weights[cell : cell + table.n_cells] = table.weight
                weights[total : total + table.n_table_rows] = table.weight
            if table.n_table_rows:
                n_rows = table.n_table_rows
                row_of[cell : cell + table.n_cells] = total + np.repeat(
                    np.arange(n_rows), table.n_cells // n_rows
                )
                shift[total : total + n_rows] = table.shift
                self.table_of[total : total + n_rows] = t
            cell, total = cell + table.n_cells, total + table.n_table_rows
        self.tables = IntervalTables(codes=codes, row_of=row_of, shift=shift)
        self.shift = shift
        self.weights = np.empty(0) if all(table.weight == 1.0 for table in tables) else weights
        self.counts = np.zeros(n_counters, np.int32)
        self._sizes = [size for table in tables for size in (table.n_cells, table.n_table_rows)]

    def cells(self, cut_points: NDArray[np.float64], below: NDArray[np.int64]) -> Cells:
        """Return the counted cells between cut points.

        Parameters
        ----------
        cut_points : ndarray of shape (k,), float64
            Ascending, inside the column's range.
        below : ndarray of shape (k,), int64
            Number of rows below each of them.
        """
        column = self._column
        n_cells = len(below) + 1
        n_entries = sum(min(column.n_rows, n_cells * size) for size in self._sizes)
        cells = Cells(
            edges=np.concatenate(([column.low], cut_points, [column.high])),
            below=np.concatenate(([0], below, [column.n_rows])).astype(np.int64),
            starts=np.zeros(n_cells + 1, np.int64),
            middles=np.zeros(n_cells, np.int64),
            entries=np.empty(n_entries, np.int32),
            amounts=np.empty(n_entries, np.int32),
        )
        fill_cells(self.tables, cells, self.counts)
        return cells


def chosen_of(origin: NDArray[np.int32], layer: int) -> list[int]:
    """Return the positions of the chosen candidates among all, ascending, from the origins of `IntervalWork`.

    `layer` is the number of intervals; with one layer for any number it is 0.
    """
    edges: list[int] = []
    edge, step = origin.shape[1] - 1, int(len(origin) > 1)
    while (edge := int(origin[layer, edge])) > 0:
        edges.append(edge - 1)
        layer -= step
    return edges[::-1]


def search_by_zooming(
    column: SortedColumn,
    solve: Callable[[NDArray[np.int64]], tuple[S | None, NDArray[np.int64]]],
    is_worse: Callable[[S, S], bool],
    n_cells: int,
    incumbent: NDArray[np.float64] | None = None,
    *,
    by_rank: bool = False,
) -> S | None:
    """Return the best solution on a grid of raw cuts that is refined around the chosen ones until these are raw.

    Parameters
    ----------
    column : SortedColumn
    solve : callable
        Gets candidates as indices of raw cuts; returns the best solution with the indices of its cuts, or None with no
        index if there is none.
    is_worse : callable
        Whether the first of two solutions is worse than the second.
    n_cells : int
        Largest number of cells of the first grid.
    incumbent : ndarray of shape (k,), float64, optional
        Cut points whose gaps are candidates of the first grid.
    by_rank : bool
        Whether the first grid depends on the ranks of the values alone.
    """
    candidates = column.grid(n_cells, by_rank=by_rank)
    if incumbent is not None:
        candidates = np.union1d(candidates, column.gaps(incumbent))
    best, chosen = solve(candidates)
    for _ in range(_MAX_ZOOMS):
        if best is None or not len(chosen):
            break
        candidates, is_raw = _zoomed(candidates, chosen, len(column.cuts), n_cells)
        if is_raw:
            break
        solution, chosen_now = solve(candidates)
        if solution is None or is_worse(solution, best):
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
    windows = [np.linspace(a, b, min(n_each, b - a + 1)).round().astype(np.int64) for a, b in zip(low, high)]
    return np.unique(np.concatenate([chosen, *windows])), False
