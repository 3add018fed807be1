"""Continuous columns sorted once, and the counts of their intervals: the basis of all searches for cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.cuts.policies import midpoint
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.intervals import CandidateCells, IntervalTables, fill_cells
from gomea_bn.problems.kernels.score import MISSING, ScoreRule
from gomea_bn.problems.scores import family_score

# of the grid's measure; the rest follows the axis, so that wide gaps get candidates too
_RANK_SHARE = 0.75
NO_STOP: NDArray[np.uint8] = np.zeros(1, np.uint8)
"""A stop flag that is never raised."""


@dataclass(frozen=True, slots=True)
class PricedCuts:
    """Cut points of a column, and what a search says of them in nats: a score, or a length to be short."""

    cut_points: NDArray[np.float64]
    value: float


class SortedColumn:
    """A continuous column sorted once, with every raw candidate cut: the mid-points of neighbouring values.

    Of float64 values with NaN where they are missing, `values` (n_rows,) are the others, `order` their rows by
    ascending value, and `distinct` (m,) the different ones, ascending. ``cuts[i]`` lies between ``distinct[i]`` and
    ``distinct[i + 1]``, with ``below[i]`` rows below it. A column of equal values raises `GomeaBnError`.
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
        # rows with at most the first values
        self._up_to = np.append(starts, self.n_rows)
        self.below = self._up_to[1:-1]
        self.low, self.high = float(self.distinct[0]), float(self.distinct[-1])
        # every search of the column begins with the same grid
        self._grids: dict[tuple[int, bool], NDArray[np.int64]] = {}

    def rows_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of rows at or below each of any cut points."""
        return np.asarray(self._up_to[np.searchsorted(self.distinct, cut_points, side="right")], np.int64)

    def distinct_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of distinct values at or below each of any cut points."""
        return np.searchsorted(self.distinct, cut_points, side="right")

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(self.distinct)

    @property
    def weight(self) -> float:
        """Number of all rows per row in which the column has a value."""
        return self.n_all_rows / self.n_rows

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of every distinct value, int64 (n_distinct,)."""
        return np.diff(self.below, prepend=0, append=self.n_rows)

    @property
    def ascending(self) -> NDArray[np.float64]:
        """Values in ascending order, float64 (n_rows,)."""
        return np.repeat(self.distinct, self.counts)

    def distinct_up_to(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of distinct values among the first rows by value, of which no value has a part."""
        return np.searchsorted(self._up_to, rows)

    def code(self, cut_points: NDArray[np.float64], codes: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Fill `codes` with bins, `MISSING` without a value, and return the number of rows below each cut."""
        if self.n_rows < self.n_all_rows:
            codes[:] = MISSING
        ends = self.rows_below(cut_points)
        ascending = np.empty(self.n_rows, np.uint8)
        for code, (first, last) in enumerate(pairwise([0, *ends.tolist(), self.n_rows])):
            ascending[first:last] = code
        codes[self.order] = ascending
        return ends

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
        if (n_cells, by_rank) not in self._grids:
            self._grids[n_cells, by_rank] = self._grid(n_cells, by_rank=by_rank)
        return self._grids[n_cells, by_rank]

    def _grid(self, n_cells: int, *, by_rank: bool) -> NDArray[np.int64]:
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


@dataclass(frozen=True, slots=True)
class CountTable:
    """A table of counts that every interval of a column has."""

    # (n,) cell of every row in the order of the data; -1 for a row that does not count
    codes: NDArray[np.int32]
    n_cells: int
    n_table_rows: int = 0  # rows of neighbouring cells; 0 if their totals are not counted
    shift: int = 0  # by which a table row's total is raised before its score is looked up
    weight: float = 1.0  # factor of the score of the table; 1 only if all rows count

    def of_child(self, cardinality: int) -> NDArray[np.int64]:
        """Return the rows of every level of a child whose codes vary fastest, int64 (cardinality,)."""
        counted = self.codes[self.codes >= 0]
        return np.bincount(counted % cardinality, minlength=cardinality).astype(np.int64)


class IntervalCounts:
    """The counters of several tables, numbered consecutively: all cells first, then the totals of all table rows.

    From `first_total` on counters are totals. By counter, `shift` is the amount by which a total is raised before the
    look-up, `table_of` the table of a total, -1 for a cell, and `weights` the weight of its table, of shape (0,) if all
    weights are 1. `counts` is new work space of a kernel, all 0.
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
        self._sizes = [size for table in tables for size in (table.n_cells, table.n_table_rows)]

    @property
    def counts(self) -> NDArray[np.int32]:
        """Work space of a kernel, int32 (n_counters,): a call of its own for each of several threads."""
        return np.zeros(len(self.shift), np.int32)

    def cells(self, cut_points: NDArray[np.float64], below: NDArray[np.int64]) -> CandidateCells:
        """Return the counted cells between ascending cut points (k,), given the number of rows below each of them."""
        column = self._column
        n_cells = len(below) + 1
        n_entries = sum(min(column.n_rows, n_cells * size) for size in self._sizes)
        cells = CandidateCells(
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
    """Return the positions of the chosen candidates, ascending; with one layer for any number, `layer` is 0."""
    edges: list[int] = []
    edge, step = origin.shape[1] - 1, int(len(origin) > 1)
    while (edge := int(origin[layer, edge])) > 0:
        edges.append(edge - 1)
        layer -= step
    return edges[::-1]


def search_by_zooming(
    column: SortedColumn,
    solve: Callable[[NDArray[np.int64]], tuple[PricedCuts | None, NDArray[np.int64]]],
    is_worse: Callable[[float, float], bool],
    n_cells: int,
    incumbent: NDArray[np.float64] | None = None,
    *,
    by_rank: bool = False,
) -> PricedCuts | None:
    """Return the best solution on a grid of raw cuts that is refined around the chosen ones until these are raw.

    `solve` gets candidates as indices of raw cuts, and returns the best solution with the indices of its cuts, or None
    with no index. The first grid has at most `n_cells` cells, and the gaps of the cuts `incumbent`; with `by_rank` it
    depends on the ranks of the values alone.
    """
    candidates = column.grid(n_cells, by_rank=by_rank)
    if incumbent is not None:
        candidates = np.union1d(candidates, column.gaps(incumbent))
    best, chosen = solve(candidates)
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


@dataclass(frozen=True)
class GridColumn:
    """A continuous column as cells, and what its cuts cost; without a shape its bins are uniform inside."""

    cuts: NDArray[np.float64]  # (n_cells - 1,) values between the cells, which may become cuts
    low: float
    high: float
    rows: NDArray[np.int64]  # (n_cells,)
    distinct: NDArray[np.int64]  # (n_cells,) distinct values in every cell, estimated from a sample
    cost_of_cut: float  # nats per chosen cut
    shape: ColumnShape | None
    n_all_rows: int  # also those in which the column has no value

    @property
    def below(self) -> NDArray[np.int64]:
        """Rows below every boundary, int64 (n_cells - 1,)."""
        return np.cumsum(self.rows)[:-1]

    @property
    def n_rows(self) -> int:
        """Number of rows in which the column has a value."""
        return int(self.rows.sum())

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return int(self.distinct.sum())

    def distinct_of_cuts(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of distinct values below boundaries, given by their indices."""
        return np.cumsum(self.distinct)[indices]

    def rows_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of rows below each of some boundaries."""
        return self.below[np.searchsorted(self.cuts, cut_points)]

    def distinct_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of distinct values below each of some boundaries."""
        return self.distinct_of_cuts(np.searchsorted(self.cuts, cut_points))

    @property
    def weight(self) -> float:
        """Number of all rows per row in which the column has a value."""
        return self.n_all_rows / max(self.n_rows, 1)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Ends of the cells, float64 (n_cells + 1,)."""
        return np.concatenate(([self.low], self.cuts, [self.high]))

    @property
    def measures(self) -> tuple[bool, ...]:
        """Ways in which bins may be distributed inside: False for uniform, True for shaped."""
        return (False,) if self.shape is None else self.shape.measures

    def merged(self, candidates: NDArray[np.int64]) -> GridColumn:
        """Return the column with some of its boundaries alone, given by their indices, ascending."""
        starts = np.concatenate(([0], candidates + 1))
        return replace(
            self,
            cuts=self.cuts[candidates],
            rows=np.add.reduceat(self.rows, starts),
            distinct=np.add.reduceat(self.distinct, starts),
        )

    def constant(self, cuts: NDArray[np.int64], rule: ScoreRule) -> tuple[float, bool]:
        """Return what the inside of the bins adds to the score in nats, less the cost of the cuts.

        The second value says whether the bins are shaped. `cuts` holds indices of boundaries, ascending; `rule` scores
        families.
        """
        ends = np.concatenate(([0], cuts + 1, [len(self.rows)]))
        counts = np.add.reduceat(self.rows, ends[:-1])
        values = {shaped: self._constant(counts, ends, rule, shaped=shaped) for shaped in self.measures}
        # equal constants: uniform bins, which need no further numbers
        shaped = max(sorted(values), key=lambda measure: values[measure])
        return self.weight * (values[shaped] - self.cost_of_cut * len(cuts)), shaped

    def _constant(
        self, counts: NDArray[np.int64], ends: NDArray[np.int64], rule: ScoreRule, *, shaped: bool
    ) -> float:
        if shaped:
            assert self.shape is not None
            return self.shape.compared_log_likelihood - family_score(counts, rule)
        filled = counts > 0
        edges = self.edges[ends]
        if self.shape is not None and len(self.measures) == 2:
            # a column that may have a shape instead
            below, distinct = (np.concatenate(([0], np.cumsum(x)))[ends] for x in (self.rows, self.distinct))
            if self.shape.is_too_narrow(edges, below, distinct):
                return -np.inf
        logs = np.log(np.diff(edges)[filled]) - log(self.high - self.low)
        return -float(counts[filled] @ logs)


class CellCounts:
    """Counts of a column's cells in tables around it: `IntervalCounts` without rows, of which there may be many.

    Tables are given as (weight, counts (n_cells, m), number of neighbouring counts of a table row or 0 if their totals
    are not counted). With `bayesian`, totals are raised before the look-up. Attributes are those of `IntervalCounts`.
    """

    def __init__(
        self, column: GridColumn, tables: Sequence[tuple[float, NDArray[np.int64], int]], *, bayesian: bool
    ) -> None:
        self._column = column
        n_cells = len(column.rows)
        rows = [
            (weight, table.reshape(n_cells, -1, cardinality).sum(axis=2), cardinality - 1 if bayesian else 0)
            for weight, table, cardinality in tables
            if cardinality
        ]
        parts = [(weight, table, 0) for weight, table, _ in tables] + rows
        self._of_cells = np.concatenate([table for _, table, _ in parts], axis=1)
        self._first_total = sum(table.shape[1] for _, table, _ in tables)
        sizes = [table.shape[1] for _, table, _ in parts]
        self.shift = np.repeat([shift for _, _, shift in parts], sizes).astype(np.int64)
        self.weights = np.repeat([float(weight) for weight, _, _ in parts], sizes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Work space of a kernel, int64 (n_counters,)."""
        return np.zeros(len(self.shift), np.int64)

    def cells(self, cut_points: NDArray[np.float64], below: NDArray[np.int64]) -> CandidateCells:
        """Return the counted cells between cut points; see `IntervalCounts.cells`."""
        column = self._column
        starts = np.concatenate(([0], np.searchsorted(column.cuts, cut_points) + 1))
        of_cells = np.add.reduceat(self._of_cells, starts, axis=0)
        filled, counters = np.nonzero(of_cells)
        n_counters, first = of_cells.shape[1], np.arange(len(starts)) * of_cells.shape[1]
        entries = filled * n_counters + counters
        return CandidateCells(
            edges=np.concatenate(([column.low], cut_points, [column.high])),
            below=np.concatenate(([0], below, [column.n_rows])).astype(np.int64),
            starts=np.searchsorted(entries, np.append(first, len(starts) * n_counters)),
            middles=np.searchsorted(entries, first + self._first_total),
            entries=counters.astype(np.int32),
            amounts=of_cells[filled, counters],
        )
