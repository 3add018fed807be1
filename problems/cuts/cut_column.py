"""Columns as scores need them, and continuous ones as cells in ascending order, between which they may be cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS, Column
from gomea_bn.data.kernels import MISSING
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.cuts.policies import Policy, midpoint
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.distributions import are_counts

# of the grid's measure; the rest follows the axis, so that wide gaps get candidates too
_RANK_SHARE = 0.75


class CutColumn:
    """A continuous column as ascending cells, between which it may be cut: its distinct values, or ranges of values.

    ``cuts[i]`` lies between the cells i and i + 1, and ``greatest[i]`` is the largest value of the cell i, or the upper
    end of a range. Up to the end of every cell there are `rows_up_to` rows and `distinct_up_to` distinct values, int64
    (n_cells + 1,) with a 0 first. `n_all_rows` are also those in which the column has no value. A column of values
    (`of_values`) knows these, float64 (n_rows,) without NaN, and `order`, their rows by ascending value; both are empty
    for ranges (`of_cells`).
    """

    def __init__(
        self,
        cuts: NDArray[np.float64],
        greatest: NDArray[np.float64],
        rows_up_to: NDArray[np.int64],
        distinct_up_to: NDArray[np.int64],
        low: float,
        n_all_rows: int,
    ) -> None:
        self.cuts = cuts
        self.greatest = greatest
        self.rows_up_to, self.distinct_up_to = rows_up_to, distinct_up_to
        self.low, self.high = low, float(greatest[-1])
        self.n_rows, self.n_all_rows = int(rows_up_to[-1]), n_all_rows
        self.below = rows_up_to[1:-1]
        self.values = np.empty(0)
        self.order = np.empty(0, np.int64)
        # every search of the column begins with the same grid
        self._grids: dict[tuple[int, bool], NDArray[np.int64]] = {}

    @classmethod
    def of_values(cls, values: NDArray[np.float64]) -> CutColumn:
        """Return the column of values, NaN where they are missing, which may be cut at all mid-points of neighbours.

        A column of equal values raises `GomeaBnError`.
        """
        is_missing = np.isnan(values)
        present = values[~is_missing] if is_missing.any() else values
        order = _order(values)[: len(present)]
        ascending = values[order]
        starts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
        distinct = ascending[starts]
        if len(distinct) < 2:
            raise GomeaBnError("A constant column cannot be cut; it needs at least two distinct values.")
        column = cls(
            midpoint(distinct[:-1], distinct[1:]),
            distinct,
            np.append(starts, len(present)),
            np.arange(len(distinct) + 1),
            float(distinct[0]),
            len(values),
        )
        column.values, column.order = present, order
        return column

    @classmethod
    def of_cells(
        cls,
        cuts: NDArray[np.float64],
        ends: tuple[float, float],
        rows: NDArray[np.int64],
        distinct: NDArray[np.int64],
        n_all_rows: int,
    ) -> CutColumn:
        """Return the column between two ends whose cells have numbers of rows and of distinct values, (n_cells,)."""
        rows_up_to, distinct_up_to = (
            np.concatenate(([0], np.cumsum(of_cells))) for of_cells in (rows, distinct)
        )
        return cls(cuts, np.append(cuts, ends[1]), rows_up_to, distinct_up_to, ends[0], n_all_rows)

    def merged(self, candidates: NDArray[np.int64]) -> CutColumn:
        """Return the column with some of its cuts alone, given by their indices, ascending."""
        last = np.append(candidates, len(self.cuts))
        ends = np.concatenate(([0], last + 1))
        return CutColumn(
            self.cuts[candidates],
            self.greatest[last],
            self.rows_up_to[ends],
            self.distinct_up_to[ends],
            self.low,
            self.n_all_rows,
        )

    def rows_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of rows at or below each of any cut points; those of ranges must be among their ends."""
        return np.asarray(self.rows_up_to[self.cells_below(cut_points)], np.int64)

    def distinct_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of distinct values at or below each of any cut points, as `rows_below` does."""
        return np.asarray(self.distinct_up_to[self.cells_below(cut_points)], np.int64)

    def cells_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of cells at or below each of any cut points."""
        return np.searchsorted(self.greatest, cut_points, side="right")

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return int(self.distinct_up_to[-1])

    @property
    def weight(self) -> float:
        """Number of all rows per row in which the column has a value."""
        return self.n_all_rows / max(self.n_rows, 1)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Number of rows of every cell, int64 (n_cells,)."""
        return np.diff(self.rows_up_to)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Smallest value, cuts and largest value, float64 (n_cells + 1,)."""
        return np.concatenate(([self.low], self.cuts, [self.high]))

    @property
    def ascending(self) -> NDArray[np.float64]:
        """Values of a column of values in ascending order, float64 (n_rows,)."""
        return np.repeat(self.greatest, self.rows)

    def cells_of_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of cells among the first rows by value, of which no cell has a part."""
        return np.searchsorted(self.rows_up_to, rows)

    def code(self, cut_points: NDArray[np.float64], codes: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Fill `codes` with the bins of a column of values, `MISSING` without one; return the rows below each cut."""
        if self.n_rows < self.n_all_rows:
            codes[:] = MISSING
        ends = self.rows_below(cut_points)
        ascending = np.empty(self.n_rows, np.uint8)
        for code, (first, last) in enumerate(pairwise([0, *ends.tolist(), self.n_rows])):
            ascending[first:last] = code
        codes[self.order] = ascending
        return ends

    def distinct_of_cuts(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of distinct values below cuts, given by their indices."""
        return self.distinct_up_to[indices + 1]

    def gaps(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return for each cut point the index of the cut between the same cells."""
        index = self.cells_below(cut_points) - 1
        return np.unique(np.clip(index, 0, len(self.cuts) - 1))

    def grid(self, n_cells: int, *, by_rank: bool = False) -> NDArray[np.int64]:
        """Return at most `n_cells` - 1 indices of cuts, evenly spread in a mixture of rank and position.

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


@dataclass(frozen=True)
class ScoredVariable:
    """One column for the score."""

    name: str
    # (n_rows,) float64 in original units, NaN where missing, or codes, `MISSING` as a byte where missing
    values: NDArray[np.float64] | NDArray[np.int32] | NDArray[np.uint8]
    n_levels: int  # 0 for a continuous column
    policies: tuple[Policy, ...] = ()  # library of a continuous column, fewest bins first
    shape: ColumnShape | None = None  # inside of the bins of a continuous column; without it they are uniform
    is_ordered: bool = False  # whether the levels of a discrete column are in their order
    are_bins: bool = False  # whether the levels are bins of a continuous column
    # the same column with another library, which sorts both
    first: ScoredVariable | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, column: Column, policies: Iterable[Policy] = (), shape: ColumnShape | None = None
    ) -> ScoredVariable:
        """Return a column of a table; library and shape are those of a continuous one."""
        levels = column.levels or ()
        return cls(
            column.name, column.values, len(levels), tuple(policies), shape, is_ordered=column.has_order
        )

    @cached_property
    def ranks(self) -> CutColumn:
        """A continuous column sorted once."""
        if self.first is not None:
            return self.first.ranks
        return CutColumn.of_values(np.asarray(self.values, np.float64))

    def with_policies(self, policies: Iterable[Policy]) -> ScoredVariable:
        """Return a continuous column with another library; both are sorted once."""
        return replace(self, policies=tuple(policies), first=self.first or self)

    @property
    def is_observed(self) -> NDArray[np.bool_]:
        """Which values are not missing, bool (n_rows,)."""
        if self.n_levels:
            return np.asarray(self.values.astype(np.uint8) != MISSING)
        return ~np.isnan(self.values)

    @property
    def n_observed(self) -> int:
        """Number of values that are not missing."""
        return int(np.count_nonzero(self.is_observed))

    @property
    def constant_score(self) -> float:
        """Part of the score of every network in nats that the column adds whatever its parents and its cuts are."""
        return 0.0 if self.shape is None else self.shape.constant_score * (len(self.values) / self.n_observed)

    @property
    def has_free_cuts(self) -> bool:
        """Return whether the column is continuous and no user has fixed its cuts."""
        return bool(self.policies) and all(policy.chosen for policy in self.policies)

    @property
    def may_follow_curves(self) -> bool:
        """Whether the column may be a sum of curves: one of few values or without point masses, not a mixture."""
        shape = self.shape
        return shape is not None and (shape.shape.has_few_values or not len(shape.shape.point_values))

    @property
    def may_be_count(self) -> bool:
        """Whether the column may be a count."""
        return self.shape is not None and are_counts(np.asarray(self.values, np.float64))
