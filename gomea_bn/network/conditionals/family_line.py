"""A column that follows lines, curves or a surface of its continuous parents: the density of a family with noise.

The noise has Student's t distribution, whose probabilities are read from tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product
from math import asinh, log, pi
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.followed import Followed, Parts, symmetric
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.jit import kernel

LEAST_SPREAD = 2.0
"""Width of cells, in scales, below which sums over their middles are right within 2 %."""

# distance of degrees of freedom to 1
_LEAST_DISTANCE = 1e-6
# step of the tables in asinh(t), with a relative error of cubic interpolation below 1e-9
_STEP = 1 / 512
# from this t on the tail is a power of t, up to the digits of float64
_FARTHEST = 1e7
# a smaller tail counts as 0
_LEAST_TAIL = 1e-290

_HALF_LOG_TWO_PI = 0.5 * log(2 * pi)


def below_student(freedom: Any, t: Any) -> NDArray[np.float64]:
    """Return P(T <= t) for degrees of freedom above 0, float64 of the broadcast shape.

    The relative error of probabilities up to 1/2 is below 1e-8.
    """
    t, freedom = np.asarray(t, np.float64), np.asarray(freedom, np.float64)
    shape = np.broadcast_shapes(t.shape, freedom.shape) if freedom.ndim else t.shape
    values = np.ascontiguousarray(t if t.shape == shape else np.broadcast_to(t, shape)).ravel()
    result = np.empty(len(values))
    first = float(freedom.flat[0]) if freedom.size else 1.0
    if (freedom == first).all():
        _fill_below(values, *_tail_table(first), result)
    else:
        of_values = np.broadcast_to(freedom, shape).ravel()
        for one in np.unique(freedom).tolist():
            some = np.flatnonzero(of_values == one)
            of_some = np.empty(len(some))
            _fill_below(values[some], *_tail_table(one), of_some)
            result[some] = of_some
    return result.reshape(shape)


@lru_cache(maxsize=256)
def _tail_table(freedom: float) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the log of P(T <= -t) at equal steps of asinh(t), its slopes times the step, and the power of the tail."""
    t = np.sinh(_STEP * np.arange(int(asinh(_FARTHEST) / _STEP) + 1))
    tails = scipy.special.stdtr(freedom, -t)
    n = len(t) if (tails > _LEAST_TAIL).all() else int(np.argmax(tails <= _LEAST_TAIL))
    t, logs = t[:n], np.log(tails[:n])
    slopes = -np.exp(log_student(t, freedom) - logs) * np.sqrt(1 + t * t) * _STEP
    return logs, slopes, freedom if tails[-1] > _LEAST_TAIL else np.inf


@kernel
def _fill_below(
    t: NDArray[np.float64], logs: NDArray[np.float64], slopes: NDArray[np.float64], power: float,
    result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write P(T <= t) by cubic interpolation of the log of the tail; see `_tail_table`."""
    last = len(logs) - 1
    for i in range(len(t)):
        size = abs(t[i])
        if np.isnan(size):
            result[i] = np.nan
            continue
        place = np.log(size + np.sqrt(size * size + 1.0)) / _STEP if size < 1e150 else np.inf
        if place < last:
            k = int(place)
            x = place - k
            change = logs[k + 1] - logs[k]
            bend = slopes[k] - change
            log_tail = (
                logs[k] + x * change + x * (1.0 - x) * (bend * (1.0 - x) - (slopes[k + 1] - change) * x)
            )
            tail = np.exp(log_tail)
        elif power == np.inf or size == np.inf:
            tail = 0.0
        else:
            tail = np.exp(logs[last] - power * (np.log(size) - np.log(np.sinh(last * _STEP))))
        result[i] = tail if t[i] < 0 else 1.0 - tail
    return 0


def student_distribution(t: Any, freedom: Any, widths: Any = None) -> NDArray[np.float64]:
    """Return P(T <= t) under Student's t distribution with scale 1 around 0, float64 of the broadcast shape.

    With `widths` it is the mean over centres that are uniform in an interval of this width around 0.
    """
    below = below_student(freedom, t)
    if widths is None or not (widths > LEAST_SPREAD).any():
        return np.asarray(below)
    wide = np.maximum(widths, LEAST_SPREAD)
    low, high = (_integral(t + sign * wide / 2, freedom) for sign in (-1, 1))
    return np.asarray(
        np.where(widths > LEAST_SPREAD, np.clip((high - low) / wide, 0.0, 1.0), below), np.float64
    )


def _integral(t: Any, freedom: Any) -> NDArray[np.float64]:
    """Return an integral of Student's distribution function, up to a constant."""
    # 1 degree of freedom has a logarithm, which the formula comes near to
    freedom = np.where(np.abs(freedom - 1.0) < _LEAST_DISTANCE, 1.0 + _LEAST_DISTANCE, freedom)
    with_density = np.exp(log_student(t, freedom)) * (freedom + t * t) / (freedom - 1.0)
    return np.asarray(t * below_student(freedom, t) + with_density)


def student_masses(lows: Any, highs: Any, freedom: Any) -> NDArray[np.float64]:
    """Return the probabilities of intervals under Student's t distribution with scale 1 around 0."""
    # by the tails below the centre, whose differences keep their digits
    is_above = lows > 0
    lows, highs = np.where(is_above, -highs, lows), np.where(is_above, -lows, highs)
    return np.asarray(below_student(freedom, highs) - below_student(freedom, lows))


def log_student(t: NDArray[np.float64], freedom: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the log density of Student's t distribution with scale 1 around 0, float64 (n,)."""
    half = np.asarray(freedom) / 2
    gammas = scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half)
    constant = gammas - 0.5 * np.log(pi * np.asarray(freedom))
    return np.asarray(constant - (half + 0.5) * np.log1p(t**2 / freedom), np.float64)


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
        slopes = self.shape.log_density(values) + share + 0.5 * z * z + _HALF_LOG_TWO_PI
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


# points of a transformation, which is linear between them
_FINE_POINTS = 257


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
        self._places = np.linspace(places[0], places[-1], _FINE_POINTS)
        self._heights = scipy.interpolate.PchipInterpolator(places, heights)(self._places)
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


PRECISION = 0.1
"""Precision of the normal prior of intercepts and slopes, in rows of a standard normal column."""
PRIOR_ROWS = 1.0
"""Weight of the inverse-gamma prior of the scale, in rows."""
PRIOR_VARIANCE = 0.02
"""Variance of the inverse-gamma prior."""


def scale_of(squares: NDArray[np.float64] | float, n_rows: float) -> NDArray[np.float64]:
    """Return the scale of residuals from their sum of squares."""
    return np.sqrt((np.asarray(squares) + PRIOR_ROWS * PRIOR_VARIANCE) / (n_rows + PRIOR_ROWS))


def design_of(terms: NDArray[np.float64], groups: NDArray[np.int64], n_groups: int) -> NDArray[np.float64]:
    """Return the design of a regression with equal slopes: 1, the terms, and indicators of several groups."""
    indicators = np.eye(n_groups)[groups] if n_groups > 1 else np.empty((len(terms), 0))
    return np.column_stack([np.ones(len(terms)), terms, indicators])


@dataclass(frozen=True, eq=False)
class LineSums(Parts):
    """Sums of products over the rows of a line, and what its fit has chosen by single rows.

    There is one regression with equal slopes in all groups, or one per group.

    `products` (n_regressions, n_columns + 1, n_columns + 1) are those of the columns of `design_of` and, last, of the
    column itself, on their scales, with rows of one regression for all groups divided by the ratio of their group.
    `ratios` (n_groups,) are the scales of the residuals relative to that of all groups; ones if every group has a
    regression. By regression: `n_rows`; `tails`, degrees of freedom of heavy tails, 0 where they are those of the
    estimated variance; and `widths`, factors of the scale that fit best with these tails, 1 without heavy tails.
    `least_scale` is that of the residuals.
    """

    what = "the sums of a line"
    required = ("products", "n_rows", "ratios", "tails", "widths", "least_scale")
    halves = ("products",)

    products: NDArray[np.float64]
    n_rows: NDArray[np.float64]
    ratios: NDArray[np.float64]
    tails: NDArray[np.float64]
    widths: NDArray[np.float64]
    least_scale: float

    @classmethod
    def of_rows(
        cls,
        z: NDArray[np.float64],
        terms: NDArray[np.float64],
        groups: NDArray[np.int64],
        ratios: NDArray[np.float64],
        tails: NDArray[np.float64],
        widths: NDArray[np.float64],
        least_scale: float,
        weights: NDArray[np.float64] | None = None,
    ) -> LineSums:
        """Return the sums over rows, which count `weights` times.

        `z` is the column on its scale, `terms` (n, n_terms) are functions of the parents, and `groups` configurations
        of the discrete parents, by row. All else is as in the class.
        """
        n_regressions, n_groups = len(tails), len(ratios)
        counts = np.ones(len(z)) if weights is None else weights
        products, n_rows = [], np.empty(n_regressions)
        for k in range(n_regressions):
            members = np.flatnonzero(groups == k) if n_regressions > 1 else np.arange(len(z))
            design = design_of(terms[members], groups[members], 1 if n_regressions > 1 else n_groups)
            columns = np.column_stack([design, z[members]])
            columns *= (np.sqrt(counts[members]) / ratios[groups[members]])[:, None]
            products.append(columns.T @ columns)
            n_rows[k] = counts[members].sum()
        return cls(np.array(products), n_rows, ratios, tails, widths, least_scale)

    def with_rows(self, old: float, rows: LineSums) -> LineSums:
        """Return the sums in which the rows so far count `old` times, with further rows."""
        return LineSums(
            old * self.products + rows.products,
            old * self.n_rows + rows.n_rows,
            self.ratios,
            self.tails,
            self.widths,
            self.least_scale,
        )

    def coefficients(self, k: int) -> tuple[NDArray[np.float64], float, float]:
        """Return coefficients of the design of one regression, and the scale and degrees of freedom of its residuals.

        These two are of Student's t distribution of a new row of a group whose ratio is 1.
        """
        products, n_rows = self.products[k], float(self.n_rows[k])
        inner, with_z = products[:-1, :-1], products[:-1, -1]
        factor = scipy.linalg.cholesky(inner + PRECISION * np.eye(len(inner)), lower=True)
        coefficients = scipy.linalg.cho_solve((factor, True), with_z)
        total = max(float(products[-1, -1] - with_z @ coefficients), 0.0)
        wider = np.sqrt(1 + len(inner) / n_rows)
        scale = float(scale_of(total, n_rows) * wider * self.widths[k])
        return coefficients, scale, float(self.tails[k]) or n_rows + PRIOR_ROWS

    @classmethod
    def from_content(cls, content: Any, n_terms: int, n_groups: int) -> LineSums:
        """Return the sums that JSON values describe; raises `GomeaBnError` for others."""
        parts = cls.parts_of(content)
        halves, *others = parts.values()
        n_regressions = len(halves) if halves.ndim == 2 else 0
        n = 2 + n_terms + (n_groups if n_regressions == 1 and n_groups > 1 else 0)
        shapes = [(n_regressions,), (n_groups,), (n_regressions,), (n_regressions,), ()]
        is_valid = (
            n_regressions in (1, n_groups)
            and halves.shape[1] == n * (n + 1) // 2
            and list(map(np.shape, others)) == shapes
            and bool(np.isfinite(halves).all())
            and all(np.isfinite(part).all() and np.all(part >= 0) for part in others)
            and bool((parts["ratios"] > 0).all())
        )
        if not is_valid:
            raise GomeaBnError(
                f"The sums of a line with {n_terms} terms and {n_groups} groups must have one half of the products, "
                "a number of rows, tails and a width for one or all groups, and ratios above 0, all finite."
            )
        return cls(**{**parts, "products": symmetric(halves, n)})


# the probability of the range of a column is never rounded to 0
_LEAST_MASS = 1e-12
# the probability of a point mass far from its centre
_LEAST_PROBABILITY = 1e-300


def log_line_density(
    z: NDArray[np.float64],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    freedom: NDArray[np.float64] | float,
    scale: LineScale,
    ends: PointEnds | None = None,
    spread: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the log density of Student's t distribution, restricted to the range of a column, float64 (n,).

    `z` are places on the scale of the column. A centre (`means`) beyond the range is moved to its end, so that the
    range never loses its probability to rounding. A value that is a point mass has the log of the probability between
    the ends of its positions. `spread` is the width of an interval around each centre over which the density is
    averaged.
    """
    means = np.clip(means, scale.low, scale.high)
    below = below_student(freedom, (scale.low - means) / scales)
    mass = below_student(freedom, (scale.high - means) / scales) - below
    distances = (z - means) / scales
    logs = log_student(distances, freedom)
    widths: Any = None
    if spread is not None and (spread > LEAST_SPREAD * scales).any():
        widths = np.where(spread > LEAST_SPREAD * scales, spread / scales, 0.0)
        shape = np.broadcast_shapes(widths.shape, logs.shape)
        logs = np.array(np.broadcast_to(logs, shape))
        places = np.nonzero(np.broadcast_to(widths > 0, shape))
        distance, width, of_places = (
            np.broadcast_to(part, shape)[places] for part in (distances, widths, freedom)
        )
        masses = student_masses(distance - width / 2, distance + width / 2, of_places)
        # the nearest centre where the interval has no probability
        nearest = log_student(np.maximum(np.abs(distance) - width / 2, 0.0), of_places)
        averaged = np.log(np.maximum(masses, _LEAST_PROBABILITY) / width)
        logs[places] = np.where(masses > 0, averaged, nearest)
    logs = logs - np.log(scales)
    if ends is not None:
        low, high = (ends.lows - means) / scales, (ends.highs - means) / scales
        of_points = student_masses(low, high, freedom)
        if widths is not None:
            averaged = student_distribution(high, freedom, widths) - student_distribution(
                low, freedom, widths
            )
            of_points = np.where(widths > 0, averaged, of_points)
        logs = np.where(ends.is_point, np.log(np.maximum(of_points, _LEAST_PROBABILITY)), logs)
    return np.asarray(logs - np.log(np.maximum(mass, _LEAST_MASS)), np.float64)


def joint_groups(codes: Sequence[NDArray[Any]], n_levels: Sequence[int], n_rows: int) -> NDArray[np.int64]:
    """Return the configuration of discrete columns in every row, int64 (n_rows,), with the last column fastest."""
    groups = np.zeros(n_rows, np.int64)
    for of_column, n in zip(codes, n_levels, strict=True):
        groups = groups * n + of_column
    return groups


def log_mixture(
    first: NDArray[np.float64], second: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return the log density of a mixture of two log densities, (n,); the second has a weight above 0 and below 1."""
    return np.asarray(np.logaddexp(first + np.log1p(-weight), second + np.log(weight)), np.float64)


@dataclass(frozen=True, eq=False)
class LineTerms:
    """The functions of continuous parents whose sum, with coefficients, is the centre of a column.

    They are the positions of the parents themselves; then for every knot of a parent max(position - knot, 0), so that
    the parent has a curve that is linear between its knots; then the products of all pairs of parents, with squares;
    then all further products of a factor of one parent and a factor of another. The factors of a parent are its
    position and max(position - knot, 0) for each of its knots of products. Both sorts of knots are by parent, and empty
    for lines and for products of positions.
    """

    knots: tuple[NDArray[np.float64], ...]
    has_products: bool = False
    product_knots: tuple[NDArray[np.float64], ...] = ()

    @property
    def n_terms(self) -> int:
        """Number of functions."""
        return len(self.knots) + sum(map(len, self.knots)) + len(self.products)

    @property
    def products(self) -> list[tuple[int, int, int, int]]:
        """Parent and factor, and another parent and its factor, of every product."""
        if not self.has_products:
            return []
        plain = combinations_with_replacement(range(len(self.knots)), 2)
        n_factors = [1 + len(knots) for knots in self.product_knots]
        return [(i, 0, j, 0) for i, j in plain] + [
            (i, a, j, b)
            for i, j in combinations(range(len(n_factors)), 2)
            for a, b in product(range(n_factors[i]), range(n_factors[j]))
            if a or b
        ]

    def factors(self, parent: int, positions: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the factors of a parent at positions of any shape, each float64 of this shape."""
        knots = self.product_knots[parent] if self.product_knots else np.empty(0)
        return [positions, *(np.maximum(positions - knot, 0.0) for knot in knots.tolist())]

    @property
    def kind(self) -> str:
        """What the sum of the terms is: "line", "curve" or "surface"."""
        if self.has_products:
            return "surface"
        return "curve" if any(map(len, self.knots)) else "line"

    @property
    def words(self) -> str:
        """The kind with its article, for a sentence."""
        return {"line": "a line", "curve": "curves", "surface": "a surface"}[self.kind]

    def of_rows(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the functions of positions (n, n_parents) on the scales of the parents, float64 (n, n_terms)."""
        terms = [positions]
        terms += [
            np.maximum(column[:, None] - knots, 0.0)
            for column, knots in zip(positions.T, self.knots, strict=True)
            if len(knots)
        ]
        factors = [self.factors(parent, column) for parent, column in enumerate(positions.T)]
        terms += [factors[i][a] * factors[j][b] for i, a, j, b in self.products]
        return np.column_stack(terms)


# fields that only lines which differ from the default have
_OPTIONAL = ("in_units", "product_knots", "transform")


@dataclass(frozen=True, eq=False)
class FamilyLine(Followed):
    """The line of a family: the column is Student-t around a sum of functions of its continuous parents.

    All columns are on their probability scales, or all in their own units. Coefficients, scale and degrees of freedom
    may differ between the configurations of the discrete parents, the groups. The density is restricted to the range
    of the column, and a centre beyond the range is moved to its end.

    Attributes
    ----------
    weight : float
        Share of the line in the density of the family, above 0 and below 1; the bins have the rest.
    parents : tuple of str
        Continuous parents, in the order of the coefficients.
    groups : tuple of str
        Discrete parents, in the order of the groups.
    coefficients : ndarray of shape (n_groups, n_terms + 1), float64
        Intercept and coefficients of the terms; groups are numbered with the last discrete parent fastest.
    scales, freedom : ndarray of shape (n_groups,), float64
        Scale and degrees of freedom of Student's t distribution, above 0.
    knots, has_products, product_knots
        As of `LineTerms`; by default the terms are the parents themselves, a line.
    in_units : bool
        Whether columns are in their own units, and not on their probability scales.
    sums : LineSums, optional
        Sums over the rows that the line was fitted to, so that it can take further rows.
    transform : ndarray of shape (2, n_points), float64, optional
        Positions of the column on its scale, and where an increasing transformation moves them, both increasing; the
        line is that of the moved positions. By default they stay.

    Raises
    ------
    GomeaBnError
        For parts of other shapes or outside their ranges.
    """

    what = "a line"
    required = ("weight", "parents", "groups", "coefficients", "scales", "freedom")

    weight: float
    parents: tuple[str, ...]
    groups: tuple[str, ...]
    coefficients: NDArray[np.float64]
    scales: NDArray[np.float64]
    freedom: NDArray[np.float64]
    knots: tuple[NDArray[np.float64], ...] = ()
    has_products: bool = False
    in_units: bool = False
    sums: LineSums | None = None
    product_knots: tuple[NDArray[np.float64], ...] = ()
    transform: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", self.knots or ((),) * len(self.parents))
        is_finite = self._fix()
        if self.transform is not None:
            points = self.transform
            if points.ndim != 2 or len(points) != 2 or points.shape[1] < 2 or not (np.diff(points) > 0).all():
                raise GomeaBnError(
                    "The transform of a line must have two lists of equal length, of at least two increasing numbers."
                )
            if not np.isfinite(points).all():
                raise GomeaBnError("The transform of a line must have finite numbers.")
        n_groups = self.scales.size
        is_valid = (
            is_finite
            and 0 < self.weight < 1
            and len(self.parents) > 0
            and n_groups > 0
            and len(self.knots) == len(self.parents)
            and len(self.product_knots) in (0, self.has_products * len(self.parents))
            and self.coefficients.shape == (n_groups, self.terms.n_terms + 1)
            and self.freedom.shape == self.scales.shape == (n_groups,)
            and bool((self.scales > 0).all())
            and bool((self.freedom > 0).all())
        )
        if not is_valid:
            raise GomeaBnError(
                "A line must have a weight between 0 and 1, at least one continuous parent, and for each of its groups "
                "an intercept, one coefficient per term, a scale and degrees of freedom above 0, all finite."
            )

    @property
    def terms(self) -> LineTerms:
        """The functions of the parents that have coefficients."""
        return LineTerms(self.knots, self.has_products, self.product_knots)

    @property
    def n_groups(self) -> int:
        """Number of configurations of the discrete parents."""
        return len(self.scales)

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return self.terms.words if self.transform is None else f"{self.terms.words} on a scale of its own"

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, scales and points of a transformation; equal slopes of all groups count once."""
        slopes = self.coefficients[:, 1:]
        is_shared = bool((slopes == slopes[0]).all())
        n_slopes = slopes.shape[1] if is_shared else slopes.size
        return n_slopes + 2 * len(self.scales) + (0 if self.transform is None else self.transform.shape[1])

    def own_scale(self, scale: LineScale) -> LineScale:
        """Return the scale that the line of the column is on, given that of the column."""
        if self.transform is None or isinstance(scale, TransformedScale):
            return scale
        return TransformedScale(scale, *self.transform)

    def of_sums(self, sums: LineSums) -> FamilyLine:
        """Return the line that the sums over some rows give, with the same terms, tails and ratios of the groups.

        A group without rows that has a regression of its own keeps its coefficients.
        """
        coefficients, scales, freedom = self.coefficients.copy(), self.scales.copy(), self.freedom.copy()
        n_terms, is_shared = self.terms.n_terms, len(sums.products) == 1
        for k in np.flatnonzero(sums.n_rows > 0).tolist():
            of_design, scale, of_variance = sums.coefficients(k)
            groups = slice(None) if is_shared else slice(k, k + 1)
            coefficients[groups, 0] = of_design[0]
            coefficients[groups, 1:] = of_design[1 : 1 + n_terms]
            if is_shared and len(self.scales) > 1:
                coefficients[:, 0] += of_design[1 + n_terms :]
            scales[groups] = np.maximum(scale * sums.ratios[groups], sums.least_scale)
            freedom[groups] = of_variance
        return replace(self, coefficients=coefficients, scales=scales, freedom=freedom, sums=sums)

    def to_content(self) -> dict[str, Any]:
        """Return the line as values that JSON can hold, without fields that say what holds by default."""
        content = super().to_content()
        # files of earlier versions have none
        sums = content.pop("sums")
        if self.terms.kind == "line":
            del content["knots"], content["has_products"]
        content = {name: value for name, value in content.items() if name not in _OPTIONAL or value}
        return content if sums is None else {**content, "sums": sums.to_content()}

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        parts = super().parts_of(content)
        sums = parts.pop("sums", None)
        if sums is None:
            return parts
        line = cls(**parts)
        return {**parts, "sums": LineSums.from_content(sums, line.terms.n_terms, len(line.scales))}
