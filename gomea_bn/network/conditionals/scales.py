"""Scales of columns: by probability, in own units, or transformed; and values of columns with their places on them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from math import log
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.kernels.score import HALF_LOG_TWO_PI
from gomea_bn.problems.splines import monotone_curve

LEAST_SPREAD = 2.0
"""Width of cells, in scales, below which sums over their middles are right within 2 %."""


class PointEnds(NamedTuple):
    """Which of some values are point masses, and where on a scale their probabilities begin and end, each (n,)."""

    is_point: NDArray[np.bool_]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]

    def some(self, rows: NDArray[np.int64]) -> PointEnds:
        """Return those of some of the values."""
        return PointEnds(self.is_point[rows], self.lows[rows], self.highs[rows])


class ProbabilityScale:
    """The scale z = Phi^-1(F(x)) of a column, on which the shape F of the column is standard normal.

    Probabilities are moved towards 1/2 by half a row of the `n_rows` that the shape was fitted to, so that the smallest
    and the largest value are finite. A point mass stands at the middle of its probabilities. `low` and `high` are the
    ends of the range on the scale, `least` and `greatest` in the units of the column, and `bends` the values at which
    the slope of the scale jumps.
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
        nearest, is_point = self.shape.find_points(values)
        probabilities[is_point] -= self.shape.point_masses[nearest[is_point]] / 2
        return self._of_probabilities(probabilities)

    def ends_of_points(self, values: NDArray[np.float64]) -> PointEnds | None:
        """Return the ends of the positions of point masses on the scale; None without point masses."""
        nearest, is_point = self.shape.find_points(values)
        if not is_point.any():
            return None
        highs = self.shape.distribution(values)
        masses = np.where(is_point, self.shape.point_masses[nearest], 0.0)
        return PointEnds(is_point, self._of_probabilities(highs - masses), self._of_probabilities(highs))

    def upper_ends(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions at which the probabilities of values up to and including these end, float64 (n,)."""
        return self._of_probabilities(self.shape.distribution(values))

    def _of_probabilities(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = (self._n_rows * np.clip(probabilities, 0.0, 1.0) + 0.5) / (self._n_rows + 1)
        return np.asarray(scipy.special.ndtri(shares), np.float64)

    def values_of(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at positions of the scale, float64 (n,)."""
        return self.shape.quantile(((self._n_rows + 1) * scipy.special.ndtr(z) - 0.5) / self._n_rows)

    def log_slope(self, values: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(dz / dx) at values, float64 (n,), given their positions on the scale; 0 at point masses."""
        share = log(self._n_rows / (self._n_rows + 1))
        slopes = self.shape.log_density(values) + share + 0.5 * z * z + HALF_LOG_TWO_PI
        return np.where(self.shape.find_points(values)[1], 0.0, slopes)


class UnitScale:
    """The units of a column, moved and scaled: z = (x - centre) / spread, with a spread above 0.

    The attributes are those of `ProbabilityScale`; there are no bends.
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

    def ends_of_points(self, values: NDArray[np.float64]) -> PointEnds | None:
        """Return None: a column in its own units has no point masses."""
        return None

    def upper_ends(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of values, float64 (n,)."""
        return self.of_values(values)

    def log_slope(self, values: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(dz / dx) at values, float64 (n,)."""
        return np.full(np.shape(values), -log(self.spread))


class TransformedScale:
    """A scale of a column after an increasing transformation of its positions.

    The transformation is a monotone curve through `heights` at `places` (Fritsch & Carlson, "Monotone piecewise cubic
    interpolation", 1980), linear between 257 of its points and beyond the outer ones. There are no point masses. The
    attributes are those of `ProbabilityScale`.
    """

    def __init__(
        self, scale: ProbabilityScale | UnitScale, places: NDArray[np.float64], heights: NDArray[np.float64]
    ) -> None:
        self._scale = scale
        # points of a transformation, which is linear between them
        self._places = np.linspace(places[0], places[-1], 257)
        self._heights = monotone_curve(places, heights, self._places)
        self._slopes = np.diff(self._heights) / np.diff(self._places)
        ends = self._moved(np.array([scale.low, scale.high]))
        self.low, self.high = float(ends[0]), float(ends[1])
        self.least, self.greatest, self.bends = float(scale.least), float(scale.greatest), scale.bends

    def of_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return positions of values, float64 of their shape; values beyond the range are moved to its ends."""
        return self._moved(self._scale.of_values(values))

    def upper_ends(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions at which the probabilities of values up to and including these end, float64 (n,)."""
        return self._moved(self._scale.upper_ends(values))

    def values_of(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at positions of the scale, float64 (n,)."""
        return self._scale.values_of(self._back(z))

    def ends_of_points(self, values: NDArray[np.float64]) -> PointEnds | None:
        """Return None: a transformed column has no point masses."""
        return None

    def log_slope(self, values: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(dz / dx) at values, float64 (n,), given their positions on the scale."""
        before = self._back(z)
        parts = np.clip(np.searchsorted(self._places, before, side="right") - 1, 0, len(self._slopes) - 1)
        return self._scale.log_slope(values, before) + np.log(self._slopes[parts])

    def _moved(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        return _interpolated(positions, self._places, self._heights, self._slopes)

    def _back(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        return _interpolated(z, self._heights, self._places, 1 / self._slopes)


def _interpolated(
    x: NDArray[np.float64],
    places: NDArray[np.float64],
    heights: NDArray[np.float64],
    slopes: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return a function that is linear between places, and goes on with the outer slopes."""
    below, above = np.minimum(x - places[0], 0.0), np.maximum(x - places[-1], 0.0)
    return np.asarray(np.interp(x, places, heights) + slopes[0] * below + slopes[-1] * above, np.float64)


LineScale = ProbabilityScale | UnitScale | TransformedScale
"""A scale of a column in a line."""


class Columns:
    """Values of columns, whose bins and positions on scales are computed once.

    Numbers of continuous columns, and codes of discrete ones, have shapes that broadcast. Numbers that stand for cells
    have the `ends` (lower, upper) of these, of their shape.
    """

    _last: tuple[object, Any] = None, None

    def __init__(
        self,
        values: Mapping[str, NDArray[Any]],
        ends: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None,
    ) -> None:
        self._values, self._ends = values, ends or {}
        self._codes: dict[tuple[str, int], tuple[object, NDArray[Any]]] = {}
        self._positions: dict[tuple[str, int], tuple[object, NDArray[np.float64]]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]

    @property
    def n_rows(self) -> int:
        """Number of rows of columns of shape (n_rows,)."""
        return len(next(iter(self._values.values())))

    def codes(self, name: str, cuts: NDArray[np.float64] | None) -> NDArray[Any]:
        """Return the bins of a continuous column, or the codes of a discrete one, for which `cuts` is None."""
        values = self._values[name]
        if cuts is None:
            return values
        key = name, id(cuts)
        if key not in self._codes:
            # the cuts are kept so that no other array gets their number
            self._codes[key] = cuts, bin_codes(np.ravel(values), cuts).reshape(np.shape(values))
        return self._codes[key][1]

    def positions(self, name: str, scale: LineScale) -> NDArray[np.float64]:
        """Return the positions of a continuous column on a scale."""
        key = name, id(scale)
        if key not in self._positions:
            self._positions[key] = scale, scale.of_values(np.asarray(self._values[name], np.float64))
        return self._positions[key][1]

    def ends(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the ends of the cells that values of a column stand for; None for exact values."""
        return self._ends.get(name)

    def made_of(self, names: Iterable[str], key: Hashable, make: Callable[[Columns], Any]) -> Any:
        """Return what a function makes of some columns, an array or several; once for rows that have it in common.

        The `key` is that of the function.
        """
        return make(self)

    def made_by(self, owner: object, make: Callable[[Columns], Any]) -> Any:
        """Return what a function makes of the columns; what its owner made last is not made again."""
        last = self._last
        if last[0] is not owner:
            # of two threads each returns what is its own
            last = self._last = owner, make(self)
        return last[1]

    def vary(self, names: Iterable[str]) -> bool:
        """Return whether any of some columns may have several values in a row."""
        return True

    def bounds(self) -> tuple[Columns, ...] | None:
        """Return the columns at both ends of the cells of a single column; None for values and for several columns."""
        return None

    def add_error(self, error: NDArray[np.float64]) -> None:
        """Take note of the relative error of densities that count with their middles in cells of a single column."""

    def some(self, rows: NDArray[np.int64], of: Iterable[str]) -> Columns:
        """Return some rows of some columns of shape (n_rows,)."""
        return Columns({name: self._values[name][rows] for name in of})
