"""The scales of columns in lines: the probability scale of a column, and its own units."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, pi
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, numeric_values
from gomea_bn.problems.cuts.shape import Shape

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LineColumns", "LineScale", "ProbabilityScale", "UnitScale"]

_HALF_LOG_TWO_PI = 0.5 * log(2 * pi)


class ProbabilityScale:
    """The scale z = Phi^-1(F(x)) of a column, on which the shape F of the column is standard normal.

    Probabilities are moved towards 1/2 by half a row, so that the smallest and the largest value are finite. A point
    mass stands at the middle of its probabilities.

    Parameters
    ----------
    shape : Shape
        Distribution of the column.
    n_rows : int
        Number of rows that the shape was fitted to.

    Attributes
    ----------
    low, high : float
        Ends of the range of the column on the scale.
    least, greatest : float
        Ends of the range of the column in its units.
    bends : ndarray of shape (n_bends,), float64
        Values at which the slope of the scale jumps.
    """

    def __init__(self, shape: Shape, n_rows: int) -> None:
        self.shape = shape
        self._n_rows = n_rows
        self.low = float(scipy.special.ndtri(0.5 / (n_rows + 1)))
        self.high = float(scipy.special.ndtri((n_rows + 0.5) / (n_rows + 1)))
        self.least, self.greatest = float(shape.low), float(shape.high)
        self.bends = shape.edges

    def of_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return z of values, float64 (n,); values beyond the range are moved to its ends."""
        values = np.clip(values, self.shape.low, self.shape.high)
        probabilities = self.shape.distribution(values)
        for value, mass in self.shape.points.items():
            probabilities[values == value] -= mass / 2
        return np.asarray(
            scipy.special.ndtri((self._n_rows * probabilities + 0.5) / (self._n_rows + 1)), np.float64
        )

    def values_of(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at positions of the scale, float64 (n,)."""
        return self.shape.quantile(((self._n_rows + 1) * scipy.special.ndtr(z) - 0.5) / self._n_rows)

    def log_slope(self, values: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(dz / dx) at values without a point mass, float64 (n,), given their positions on the scale."""
        share = log(self._n_rows / (self._n_rows + 1))
        return np.asarray(self.shape.log_density(values) + share + 0.5 * z * z + _HALF_LOG_TWO_PI, np.float64)


class UnitScale:
    """The units of a column, moved and scaled: z = (x - centre) / spread.

    Parameters
    ----------
    centre, spread : float
        In the units of the column; the spread is above 0.
    support : (float, float)
        Ends of the range of the column.

    Attributes
    ----------
    low, high, least, greatest, bends
        As of `ProbabilityScale`; there are no bends.
    """

    def __init__(self, centre: float, spread: float, support: tuple[float, float]) -> None:
        self.centre, self.spread = float(centre), float(spread)
        self.least, self.greatest = support
        self.low, self.high = ((end - self.centre) / self.spread for end in support)
        self.bends = np.empty(0)

    def of_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return z of values, float64 (n,); values beyond the range are moved to its ends."""
        return np.asarray(
            (np.clip(values, self.least, self.greatest) - self.centre) / self.spread, np.float64
        )

    def values_of(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at positions of the scale, float64 (n,)."""
        return np.clip(self.centre + self.spread * z, self.least, self.greatest)

    def log_slope(self, values: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(dz / dx) at values, float64 (n,)."""
        return np.full(len(values), -log(self.spread))


LineScale = ProbabilityScale | UnitScale
"""A scale of a column in a line."""


class LineColumns:
    """Columns of a frame for lines: values inside the support and their positions on scales, both computed once."""

    def __init__(self, frame: pd.DataFrame, support: Mapping[str, tuple[float, float]]) -> None:
        self._frame = frame
        self._support = support
        self._values: dict[str, NDArray[np.float64]] = {}
        self._positions: dict[tuple[str, type], NDArray[np.float64]] = {}

    def values(self, name: str) -> NDArray[np.float64]:
        """Return the values of a column, float64 (n_rows,); those beyond the support are moved to its ends."""
        if name not in self._values:
            column = self._frame.iloc[:, column_positions(self._frame, [name])[name]]
            self._values[name] = np.clip(numeric_values(column, name), *self._support[name])
        return self._values[name]

    def positions(self, name: str, scale: LineScale) -> NDArray[np.float64]:
        """Return the positions of a column on a scale, float64 (n_rows,); a column has one scale of every kind."""
        key = name, type(scale)
        if key not in self._positions:
            self._positions[key] = scale.of_values(self.values(name))
        return self._positions[key]
