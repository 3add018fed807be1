"""Cells of a column that every row has for itself, narrow where the column probably lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.inference.row_cells import RowCells

# the probabilities of inner cells are those of equal steps of a normal distribution between these deviations
_FARTHEST = 2.6
# numbers of deviations beyond the inner cells at which further cells end
_BEYOND = np.array([1.0, 3.0, 9.0, 27.0, 81.0])


def shares_of_cells(size: int) -> NDArray[np.float64]:
    """Return the probabilities below the ends of a number of cells, float64 (size,)."""
    return np.asarray(scipy.special.ndtr(np.linspace(-_FARTHEST, _FARTHEST, size)))


@dataclass(frozen=True, eq=False)
class FixedEnds:
    """What the cells of a column have in every row: its range, ends of cells, and point masses, each (n,).

    First cells also end where lines of children bend, so that no line rises and falls inside a wide cell.
    """

    support: tuple[float, float]
    cuts: NDArray[np.float64]
    bends: NDArray[np.float64]
    points: NDArray[np.float64]

    def first(self) -> FixedEnds:
        """Return the ends of first cells."""
        return replace(self, cuts=np.union1d(self.cuts, self.bends))

    def n_cells(self, size: int) -> int:
        """Return the number of cells of a row with a number of cells that move."""
        return size + 1 + 2 * len(_BEYOND) + len(self._always) + len(self.points)

    def grid(self, ends: NDArray[np.float64]) -> RowGrid:
        """Return cells between increasing ends of every row, float64 (n_rows, size), between fixed ones and beyond.

        The cells beyond become wider step by step, since a wide cell next to a probable one would hold too much.
        """
        n_rows, (low, high) = len(ends), self.support
        beyond = (ends[:, -1:] - ends[:, :1]) / (2 * _FARTHEST) * _BEYOND
        ends = np.concatenate((ends[:, :1] - beyond, ends, ends[:, -1:] + beyond), axis=1)
        ends = np.clip(ends, low, high)
        always = np.broadcast_to(self._always, (n_rows, len(self._always)))
        inner = np.sort(np.concatenate((ends, always), axis=1), axis=1)
        lows = np.concatenate((np.full((n_rows, 1), low), inner), axis=1)
        highs = np.concatenate((inner, np.full((n_rows, 1), high)), axis=1)
        is_point = np.zeros(lows.shape, np.bool_)
        if len(self.points):
            # a cell next to a point mass does not reach it
            lows = np.where(np.isin(lows, self.points), np.nextafter(lows, np.inf), lows)
            highs = np.where(np.isin(highs, self.points), np.nextafter(highs, -np.inf), highs)
            points = np.broadcast_to(self.points, (n_rows, len(self.points)))
            is_point = np.concatenate((is_point, np.ones(points.shape, np.bool_)), axis=1)
            lows, highs = np.concatenate((lows, points), axis=1), np.concatenate((highs, points), axis=1)
            order = np.lexsort((lows, highs), axis=1)
            lows, highs, is_point = (np.take_along_axis(part, order, 1) for part in (lows, highs, is_point))
        return RowGrid(lows, np.maximum(lows, highs), is_point)

    @property
    def _always(self) -> NDArray[np.float64]:
        # point masses up to which cells end at all of them
        return np.union1d(self.cuts, self.points) if len(self.points) <= 8 else self.cuts


@dataclass(frozen=True, eq=False)
class RowGrid:
    """The cells of one column in every row, in increasing order, all (n_rows, n_cells).

    A point mass has equal ends. Other cells with equal ends are empty.
    """

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    is_point: NDArray[np.bool_]

    @property
    def middles(self) -> NDArray[np.float64]:
        """Values that stand for the cells."""
        # the middle of a cell, as a share of its width, is no value that repeats
        return self.lows + (0.5 + 2.0**-23) * (self.highs - self.lows)

    @property
    def log_widths(self) -> NDArray[np.float64]:
        """Logarithms of the widths, 0 for point masses and -inf for empty cells."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(self.is_point, 0.0, np.log(self.highs - self.lows)))

    def quantiles(self, masses: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values below which shares of the masses of every row lie, float64 (n_rows, n_shares)."""
        cumulated = np.cumsum(masses, axis=1)
        cumulated /= cumulated[:, -1:]
        cell = (cumulated[:, None, :] < shares[None, :, None]).sum(axis=2)
        cell = np.minimum(cell, masses.shape[1] - 1)
        before = np.concatenate((np.zeros((len(masses), 1)), cumulated), axis=1)
        low, high = (np.take_along_axis(part, cell, 1) for part in (self.lows, self.highs))
        start, end = (np.take_along_axis(before, cell + step, 1) for step in (0, 1))
        inside = (shares - start) / np.maximum(end - start, np.finfo(np.float64).tiny)
        return np.asarray(low + np.clip(inside, 0.0, 1.0) * (high - low))

    def below(self, masses: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mass up to values, float64 (n_rows, n_values), uniform inside the cells."""
        up_to = np.concatenate((np.zeros((len(masses), 1)), np.cumsum(masses, axis=1)), axis=1)
        # an empty cell may end behind the next point mass
        highs = np.minimum.accumulate(self.highs[:, ::-1], axis=1)[:, ::-1]
        cell = (values[:, :, None] >= highs[:, None]).sum(axis=2)
        total = np.take_along_axis(up_to, cell, 1)
        # the first cell that a value does not reach the end of
        cell = np.minimum(cell, masses.shape[1] - 1)
        low, high, mass = (np.take_along_axis(part, cell, 1) for part in (self.lows, self.highs, masses))
        inside = np.divide(values - low, high - low, out=np.zeros_like(total), where=high > low)
        return np.asarray(total + np.where(values < high, np.maximum(inside, 0.0) * mass, 0.0))

    def some(self, rows: NDArray[np.int64]) -> RowGrid:
        """Return the cells of some rows."""
        return RowGrid(self.lows[rows], self.highs[rows], self.is_point[rows])

    def distribution(
        self,
        masses: NDArray[np.float64],
        log_evidence: NDArray[np.float64],
        errors: NDArray[np.float64],
        shown_cuts: NDArray[np.float64],
    ) -> RowCells:
        """Return the distributions of the column over the cells."""
        n_rows, n_cells = masses.shape
        return RowCells(
            rows=np.repeat(np.arange(n_rows), n_cells),
            lows=self.lows.ravel(),
            highs=self.highs.ravel(),
            masses=masses.ravel(),
            centres=self.middles.ravel(),
            log_evidence=log_evidence,
            errors=errors,
            bases=np.tile(np.arange(n_cells), n_rows),
            shown_cuts=shown_cuts,
            blanket=None,
        )


def columns_of_grids(grids: Mapping[str, RowGrid], levels: Mapping[str, int], n_rows: int) -> Columns:
    """Return cells of columns by row, and levels of others: values (n_rows, n_cells) or (n_rows, n_levels)."""
    values = {name: grid.middles for name, grid in grids.items()}
    of_levels = {name: np.broadcast_to(np.arange(card), (n_rows, card)) for name, card in levels.items()}
    return Columns({**values, **of_levels}, {name: (grid.lows, grid.highs) for name, grid in grids.items()})
