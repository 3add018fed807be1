"""Best cuts of one column among the boundaries of its cells, from the counts of its families over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.interval_counts import NO_STOP
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProgramme, IntervalScore
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.intervals import Cells
from gomea_bn.problems.kernels.score import ScoreRule
from gomea_bn.problems.scoring.scores import family_score

__all__ = ["GridColumn", "GridCuts", "candidate_boundaries"]

# pairs of cells times counters of a dynamic programme, to which its time is proportional
_MOST_WORK = 30_000_000


@dataclass(frozen=True)
class GridColumn:
    """A continuous column as cells, and what its cuts cost.

    Attributes
    ----------
    boundaries : ndarray of shape (n_cells - 1,), float64
        Values between the cells.
    low, high : float
        Smallest and largest value.
    rows : ndarray of shape (n_cells,), int64
        Rows of every cell.
    distinct : ndarray of shape (n_cells,), int64
        Distinct values in every cell, estimated from a sample.
    cost_of_cut : float
        Nats per chosen cut.
    shape : ColumnShape, optional
        How the bins may be distributed inside; without it they are uniform.
    n_all_rows : int
        Number of all rows, also those in which the column has no value.
    """

    boundaries: NDArray[np.float64]
    low: float
    high: float
    rows: NDArray[np.int64]
    distinct: NDArray[np.int64]
    cost_of_cut: float
    shape: ColumnShape | None
    n_all_rows: int

    @property
    def cuts(self) -> NDArray[np.float64]:
        """Values that may become cuts: the boundaries."""
        return self.boundaries

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

    @property
    def weight(self) -> float:
        """Number of all rows per row in which the column has a value."""
        return self.n_all_rows / max(self.n_rows, 1)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Ends of the cells, float64 (n_cells + 1,)."""
        return np.concatenate(([self.low], self.boundaries, [self.high]))

    @property
    def measures(self) -> tuple[bool, ...]:
        """Ways in which bins may be distributed inside: False for uniform, True for shaped."""
        return (False,) if self.shape is None else self.shape.measures

    def merged(self, candidates: NDArray[np.int64]) -> GridColumn:
        """Return the column with some of its boundaries alone, given by their indices, ascending."""
        starts = np.concatenate(([0], candidates + 1))
        return replace(
            self,
            boundaries=self.boundaries[candidates],
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
        if len(self.measures) == 2 and not self._is_wide_enough(ends):
            return -np.inf
        logs = np.log(np.diff(edges)[filled]) - log(self.high - self.low)
        return -float(counts[filled] @ logs)

    def _is_wide_enough(self, ends: NDArray[np.int64]) -> bool:
        """Return whether no bin is too narrow to be uniform, in a column that may have a shape instead."""
        assert self.shape is not None
        below, distinct = (np.concatenate(([0], np.cumsum(x)))[ends] for x in (self.rows, self.distinct))
        return not self.shape.is_too_narrow(self.edges[ends], below, distinct)


def candidate_boundaries(n_boundaries: int, n_counters: int, present: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the boundaries of a column that may become cuts as indices, int64 (n,), ascending.

    All of them take part unless the dynamic programme would have too much to do; then a part that is spread evenly,
    all present cuts and their neighbours do.

    Parameters
    ----------
    n_boundaries : int
    n_counters : int
        Cells of the tables around the column, per cell of the column.
    present : ndarray of shape (k,), int64
        Present cuts as indices of boundaries.
    """
    most = int((2 * _MOST_WORK / max(n_counters, 1)) ** 0.5)
    if n_boundaries <= max(most, 2 * len(present) + 8):
        return np.arange(n_boundaries)
    spread = np.linspace(0, n_boundaries - 1, max(most, 8)).round().astype(np.int64)
    near = np.concatenate([present + step for step in (-1, 0, 1)])
    return np.unique(np.concatenate((spread, near[(near >= 0) & (near < n_boundaries)])))


class CellCounts:
    """Counts of a column's cells in tables around it: `IntervalCounts` without rows, of which there may be many.

    Parameters
    ----------
    column : GridColumn
    tables : sequence of (float, ndarray of shape (n_cells, m), int)
        Weight and counts, int64, of every table; and the number of neighbouring counts of a table row, 0 if their
        totals are not counted.
    bayesian : bool
        Whether totals are raised before the look-up.

    Attributes
    ----------
    shift, weights, counts
        As of `IntervalCounts`.
    """

    def __init__(
        self,
        column: GridColumn,
        tables: Sequence[tuple[float, NDArray[np.int64], int]],
        *,
        bayesian: bool,
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
        self.counts = np.zeros(len(self.shift), np.int64)

    def cells(self, cut_points: NDArray[np.float64], below: NDArray[np.int64]) -> Cells:
        """Return the counted cells between cut points; see `IntervalCounts.cells`."""
        column = self._column
        starts = np.concatenate(([0], np.searchsorted(column.cuts, cut_points) + 1))
        of_cells = np.add.reduceat(self._of_cells, starts, axis=0)
        filled, counters = np.nonzero(of_cells)
        n_counters, first = of_cells.shape[1], np.arange(len(starts)) * of_cells.shape[1]
        entries = filled * n_counters + counters
        return Cells(
            edges=np.concatenate(([column.low], cut_points, [column.high])),
            below=np.concatenate(([0], below, [column.n_rows])).astype(np.int64),
            starts=np.searchsorted(entries, np.append(first, len(starts) * n_counters)),
            middles=np.searchsorted(entries, first + self._first_total),
            entries=counters.astype(np.int32),
            amounts=of_cells[filled, counters],
        )


class GridCuts(CutProgramme):
    """The cuts of one column among the boundaries of its cells, given the bins of its Markov blanket.

    Parameters
    ----------
    column : GridColumn
    of_family : sequence of (weight, ndarray of shape (card(parent_1), ..., n_cells), int64)
        Counts of the column and its parents; several, with weights, if values are missing.
    children : sequence of (weight, ndarray of shape (n_cells, card(parent), ..., card(child)), int64)
        Counts of the families of its children; the first axis is the column.
    score : IntervalScore
    """

    def __init__(
        self,
        column: GridColumn,
        of_family: Sequence[tuple[float, NDArray[np.int64]]],
        children: Sequence[tuple[float, NDArray[np.int64]]],
        score: IntervalScore,
    ) -> None:
        n_cells = len(column.rows)
        own = [(weight, table.reshape(-1, n_cells)) for weight, table in of_family]
        totals = [(weight, table.sum(axis=1)) for weight, table in own]
        bin_cost = sum(weight * len(table) for weight, table in own)
        bin_cost += sum(weight * table[0].size * (1 - 1 / table.shape[-1]) for weight, table in children)
        tables = [(weight, table.T, 0) for weight, table in own]
        tables += [(weight, table.reshape(n_cells, -1), table.shape[-1]) for weight, table in children]
        super().__init__(
            column,
            CellCounts(column, tables, bayesian=score.bayesian),
            [(weight, rows[rows > 0], len(rows)) for weight, rows in totals],
            bin_cost,
            column.cost_of_cut,
            score,
            column.shape,
        )

    def best(self, limits: CutLimits, present: NDArray[np.int64]) -> tuple[NDArray[np.int64], float, float]:
        """Return the best cuts, their score, and the score of the present cuts on the same scale, in nats.

        Cuts are indices of boundaries, ascending. Present cuts that the limits forbid score -inf.
        """
        n_bins = len(present) + 1
        of_present = replace(limits, min_bins=n_bins, max_bins=n_bins)
        now = -np.inf
        best, best_value = present, -np.inf
        priced, every = self._all_cells(), np.arange(len(self.column.cuts))
        for shaped in self._measures:
            unchanged, _ = self._solve(present, of_present, NO_STOP, shaped=shaped)
            now = max(now, -np.inf if unchanged is None else unchanged.value)
            optimum, chosen = self._solve(every, limits, NO_STOP, shaped=shaped, priced=priced)
            if optimum is not None and optimum.value > best_value:
                best, best_value = chosen, optimum.value
        return best, best_value, now
