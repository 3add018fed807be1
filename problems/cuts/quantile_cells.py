"""Cells of neighbouring values of a tall column, which stand for its rows where ranks need not be exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.problems.cuts.policies import midpoint

__all__ = ["MOST_CELLS", "QuantileCells", "quantile_cells"]

MOST_CELLS = 4_096
"""Largest number of cells of a column, apart from those of frequent values."""


@dataclass(frozen=True, slots=True, eq=False)
class QuantileCells:
    """Cells of a column between cuts that lie evenly on the scale of normal scores, so that tails have small cells.

    Equal values are in one cell. Cell i has the rows from ``below[i]`` to ``below[i + 1]`` by ascending value.

    Attributes
    ----------
    cuts : ndarray of shape (n_cells - 1,), float64
        Mid-points between the values of neighbouring cells, ascending.
    below, distinct_below : ndarray of shape (n_cells + 1,), int64
        Number of rows, and of distinct values, up to each end of a cell.
    middles : ndarray of shape (n_cells,), float64
        Median value of every cell.
    low, high : float
        Smallest and largest value.
    """

    cuts: NDArray[np.float64]
    below: NDArray[np.int64]
    distinct_below: NDArray[np.int64]
    middles: NDArray[np.float64]
    low: float
    high: float

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.below[-1])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of every cell, int64 (n_cells,)."""
        return np.diff(self.below)

    def distinct_up_to(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of distinct values among the first rows by value, interpolated inside cells."""
        return np.interp(rows, self.below, self.distinct_below).round().astype(np.int64)


def quantile_cells(ascending: NDArray[np.float64]) -> QuantileCells:
    """Return the cells of a column, whose values are given in ascending order, float64 (n_rows,).

    A value with more rows than an average cell has a cell of its own.
    """
    n_rows = len(ascending)
    furthest = scipy.special.ndtri((n_rows - 0.5) / n_rows)
    ranks = n_rows * scipy.special.ndtr(np.linspace(-furthest, furthest, MOST_CELLS + 1)[1:-1])
    ends = np.unique(np.clip(ranks.astype(np.int64), 1, n_rows))
    # equal values are in one cell
    starts, ends = (np.searchsorted(ascending, ascending[ends - 1], side=side) for side in ("left", "right"))
    ends = np.unique(np.concatenate((starts[ends - starts > n_rows / MOST_CELLS], ends)))
    ends = ends[(ends > 0) & (ends < n_rows)]
    below = np.concatenate(([0], ends, [n_rows])).astype(np.int64)
    repeated = np.flatnonzero(ascending[1:] == ascending[:-1]) + 1
    return QuantileCells(
        cuts=midpoint(ascending[ends - 1], ascending[ends]),
        below=below,
        distinct_below=below - np.searchsorted(repeated, below),
        middles=ascending[(below[:-1] + below[1:] - 1) // 2],
        low=float(ascending[0]),
        high=float(ascending[-1]),
    )
