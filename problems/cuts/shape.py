"""The shape of a continuous column: a density that is linear between knots, with point masses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, is_real

RESERVE = 1e-9
"""Probability of values that no row has: a new row with such a value has a finite density."""
MOST_PIECES = 64
"""Largest number of pieces of a shape."""
MOST_POINTS = 4
"""Largest number of point masses of a column whose other values have a density."""
POINTS_SHARE = 0.95
"""Smallest share of the rows that the point masses of a column of few values have."""

MASS_TOLERANCE = 1e-6
"""Difference from 1 of a sum of probabilities that is rounding: other programs may write some nine digits."""

_LEAST_MASS = 1e-16


class Shape:
    """The distribution of one column: linear pieces of a density, and values with a probability of their own.

    A discretized network may use it inside the bins of a variable: given its bin, the variable is distributed as the
    shape is inside that bin. All computations are exact for the stored numbers; they use only the four operations and
    square roots, and so give the same results on every machine.

    Parameters
    ----------
    edges : array-like of shape (n_pieces + 1,)
        Ends of the pieces in the units of the data, strictly increasing, from the smallest to the largest value.
    left, right : array-like of shape (n_pieces,)
        Positive density at the left and right end of every piece, as a multiple of the uniform density on the range.
        The density may jump between pieces.
    points : mapping of float to float, optional
        Probability of every value that is a point mass. Points lie within the range. Probabilities and the integral of
        the density sum to 1.

    Raises
    ------
    GomeaBnError
        For parts of other shapes, and for parts that are not a distribution.

    Examples
    --------
    >>> from gomea_bn import Shape
    >>> shape = Shape([0, 1, 2], [0.5, 1.5], [0.5, 1.5])  # three times as dense in the second piece
    >>> shape.distribution([1.0]).tolist()
    [0.25]
    """

    edges: NDArray[np.float64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]

    def __init__(
        self, edges: ArrayLike, left: ArrayLike, right: ArrayLike, points: Mapping[float, float] | None = None
    ) -> None:
        self.edges = _numbers(edges, "edges")
        self.left, self.right = _numbers(left, "left"), _numbers(right, "right")
        n_pieces = len(self.edges) - 1
        if not 1 <= n_pieces <= MOST_PIECES or not len(self.left) == len(self.right) == n_pieces:
            raise GomeaBnError(
                f"A shape must have 1 to {MOST_PIECES} pieces with one edge more than heights, got {len(self.edges)} "
                f"edges, {len(self.left)} left and {len(self.right)} right heights."
            )
        if not (self.edges[1:] > self.edges[:-1]).all():
            raise GomeaBnError(
                f"The edges of a shape must increase strictly, got {self.edges.tolist()!r:.80}."
            )
        # Python's floats overflow without a warning
        if not isfinite(self.high - self.low):
            raise GomeaBnError(
                f"The range of a shape must be finite, got edges from {self.low:g} to {self.high:g}."
            )
        if not ((self.left > 0).all() and (self.right > 0).all()):
            raise GomeaBnError("The heights of a shape must be above 0.")
        if points is not None and not isinstance(points, Mapping):
            raise GomeaBnError(f"The points of a shape must map values to probabilities, got {points!r:.80}.")
        values = _numbers(list(points or ()), "points")
        order = np.argsort(values)
        self.point_values = _numbers(values[order], "points")
        self.point_masses = _numbers(_numbers(list((points or {}).values()), "points")[order], "points")
        if len(values) and not (
            self.low <= self.point_values[0]
            and self.point_values[-1] <= self.high
            and (self.point_masses > 0).all()
        ):
            raise GomeaBnError(
                f"The points of a shape must lie in its range and have probabilities above 0, got {self.points!r:.80}."
            )
        if abs(self._below[-1] + self.point_masses.sum() - 1) > MASS_TOLERANCE:
            raise GomeaBnError(
                f"A shape must have the total probability 1, got {self._below[-1] + self.point_masses.sum():.9g}."
            )

    @property
    def low(self) -> float:
        """Smallest value."""
        return float(self.edges[0])

    @property
    def high(self) -> float:
        """Largest value."""
        return float(self.edges[-1])

    @property
    def points(self) -> dict[float, float]:
        """Probability of every value that is a point mass, by increasing value."""
        return dict(zip(self.point_values.tolist(), self.point_masses.tolist(), strict=True))

    @property
    def has_few_values(self) -> bool:
        """Whether nearly all rows have point masses: counts, scores or doses, but for rare values."""
        return bool(self.point_masses.sum() >= POINTS_SHARE - MASS_TOLERANCE)

    @cached_property
    def _widths(self) -> NDArray[np.float64]:
        """Widths of the pieces as shares of the range, float64 (n_pieces,)."""
        return np.diff(self.edges) / (self.high - self.low)

    @cached_property
    def _below(self) -> NDArray[np.float64]:
        """Integral of the density up to every edge, float64 (n_pieces + 1,)."""
        return np.concatenate(([0.0], np.cumsum(self._widths * (self.left + self.right) / 2)))

    @cached_property
    def _points_below(self) -> NDArray[np.float64]:
        """Probability of all points before every point, and of all points, float64 (n_points + 1,)."""
        return np.concatenate(([0.0], np.cumsum(self.point_masses)))

    def log_density(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the log density of values, float64 of their shape, in nats for the original units.

        A point mass has the logarithm of its probability. A value beyond the range has the density of the nearer end,
        even if that end is a point mass.
        """
        return self._with_points(values, np.log(self._heights(values)) - np.log(self.high - self.low))

    def log_scaled_density(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the same with the range scaled to 1, to the last bit for columns times a power of 2."""
        return self._with_points(values, np.log(self._heights(values)))

    def _heights(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the density of values without points, as a multiple of the uniform density on the range."""
        inside = np.clip(np.asarray(values, np.float64), self.low, self.high)
        piece = np.clip(np.searchsorted(self.edges, inside, side="left") - 1, 0, len(self.left) - 1)
        position = (inside - self.edges[piece]) / (self.edges[piece + 1] - self.edges[piece])
        return np.asarray(self.left[piece] + position * (self.right[piece] - self.left[piece]), np.float64)

    def _with_points(self, values: ArrayLike, densities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log densities of values, with the logarithms of their probabilities at point masses."""
        nearest, is_point = self.find_points(values)
        if not is_point.any():
            return densities
        return np.where(is_point, np.log(self.point_masses)[nearest], densities)

    def find_points(self, values: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the position of the first point from each value on, or the last, and whether the value is a point."""
        given = np.asarray(values, np.float64)
        if not len(self.point_values):
            return np.zeros(given.shape, np.int64), np.zeros(given.shape, np.bool_)
        position = np.minimum(np.searchsorted(self.point_values, given), len(self.point_values) - 1)
        return position, np.asarray(self.point_values[position] == given)

    def distribution(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of values up to and including the given ones, float64 of their shape."""
        given = np.asarray(values, np.float64)
        values = np.clip(given, self.low, self.high)
        piece = np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, len(self.left) - 1)
        position = (values - self.edges[piece]) / (self.edges[piece + 1] - self.edges[piece])
        slope = self.right[piece] - self.left[piece]
        inside = self._widths[piece] * position * (self.left[piece] + slope * position / 2)
        points = self._points_below[np.searchsorted(self.point_values, values, side="right")]
        # below the range there is nothing, not even a point mass at its end
        return np.where(given < self.low, 0.0, self._below[piece] + inside + points)

    def quantile(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Return the smallest values whose distribution function reaches probabilities, float64 of their shape."""
        wanted = np.clip(np.asarray(probabilities, np.float64), 0.0, 1.0)
        # the distribution function just before and at every point
        at = self.distribution(self.point_values)
        before = at - self.point_masses
        n_passed = np.searchsorted(at, wanted, side="left")
        first = np.minimum(n_passed, len(at) - 1)
        is_point = (
            (n_passed < len(at)) & (wanted > before[first]) if len(at) else np.zeros(wanted.shape, np.bool_)
        )
        result = np.empty(wanted.shape)
        result[is_point] = self.point_values[first[is_point]] if len(at) else 0.0
        passed = self._points_below[n_passed]
        result[~is_point] = self._inverse_of_pieces((wanted - passed)[~is_point])
        return result

    def bin_masses(self, cut_points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the bins between inner cut points, float64 (n_bins,), all above 0."""
        below = self.distribution(cut_points)
        total = self._below[-1] + self._points_below[-1]
        masses = np.diff(np.concatenate(([0.0], below, [total])))
        # the difference of two sums may round to 0 in a bin between neighbouring numbers
        return np.maximum(masses, _LEAST_MASS)

    def log_inside(self, values: NDArray[np.float64], cut_points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log density of values given their bins, float64 (n,), in nats for the original units."""
        codes = np.searchsorted(cut_points, values, side="left")
        return np.asarray(self.log_density(values) - np.log(self.bin_masses(cut_points))[codes], np.float64)

    def inside(
        self, codes: NDArray[Any], cut_points: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the values at given shares of the probability of their bins, float64 (n,).

        Parameters
        ----------
        codes : ndarray of shape (n,), int
            Bin of every value.
        cut_points : ndarray of shape (n_bins - 1,), float64
            Inner cut points.
        shares : ndarray of shape (n,), float64
            Share of the bin's probability below the value, between 0 and 1.
        """
        masses = self.bin_masses(cut_points)
        start = np.concatenate(([0.0], np.cumsum(masses)))[codes]
        values = self.quantile(start + shares * masses[codes])
        ends = np.concatenate(([self.low], cut_points, [self.high]))
        # rounding must not move a value out of (a, b]; the first bin also holds the minimum
        lowest = np.where(codes > 0, np.nextafter(ends[codes], np.inf), self.low)
        return np.asarray(np.clip(values, lowest, ends[codes + 1]), np.float64)

    def to_content(self) -> dict[str, Any]:
        """Return the shape as values that JSON can hold; `from_content` gives an equal shape."""
        content: dict[str, Any] = {
            "edges": self.edges.tolist(),
            "left": self.left.tolist(),
            "right": self.right.tolist(),
        }
        if len(self.point_values):
            content["points"] = [list(item) for item in self.points.items()]
        return content

    @classmethod
    def from_content(cls, content: Any) -> Shape:
        """Return the shape that JSON values describe.

        Raises
        ------
        GomeaBnError
            For values that do not describe a shape.
        """
        if not isinstance(content, Mapping):
            raise GomeaBnError(f"A shape must be an object, got {type(content).__name__}.")
        missing = [key for key in ("edges", "left", "right") if key not in content]
        if missing:
            raise GomeaBnError(f"A shape must have a field {missing[0]!r}.")
        points = content.get("points", [])
        if not isinstance(points, list) or not all(isinstance(p, list) and len(p) == 2 for p in points):
            raise GomeaBnError(
                f"The points of a shape must be pairs of value and probability, got {points!r:.80}."
            )
        for part in ("edges", "left", "right"):
            _check_plain(content[part], part)
        _check_plain([number for pair in points for number in pair], "points")
        values = _numbers([value for value, _ in points], "points")
        masses = _numbers([mass for _, mass in points], "points")
        if len(np.unique(values)) < len(values):
            raise GomeaBnError(f"The points of a shape must differ, got {values.tolist()!r:.80}.")
        return cls(
            content["edges"],
            content["left"],
            content["right"],
            dict(zip(values.tolist(), masses.tolist(), strict=True)),
        )

    def _inverse_of_pieces(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values below which the pieces hold the given probabilities, float64 (n,)."""
        masses = np.clip(masses, 0.0, self._below[-1])
        piece = np.clip(np.searchsorted(self._below, masses, side="right") - 1, 0, len(self.left) - 1)
        rest = (masses - self._below[piece]) / self._widths[piece]
        left, slope = self.left[piece], self.right[piece] - self.left[piece]
        root = np.sqrt(np.maximum(left * left + 2 * slope * rest, 0.0))
        # the stable form of the smaller root of slope / 2 t^2 + left t = rest
        position = np.clip(2 * rest / (left + root), 0.0, 1.0)
        values = self.edges[piece] + position * (self.edges[piece + 1] - self.edges[piece])
        return np.asarray(np.clip(values, self.edges[piece], self.edges[piece + 1]), np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        return self.to_content() == other.to_content()

    def __hash__(self) -> int:
        # numbers instead of bytes: 0 and -0 are equal
        return hash((*self.edges.tolist(), *self.left.tolist(), *self.right.tolist()))

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy is checked again, and its arrays are read-only again
        return Shape.from_content, (self.to_content(),)

    def __repr__(self) -> str:
        points = f", {len(self.point_values)} point masses" if len(self.point_values) else ""
        return f"Shape({len(self.left)} pieces from {self.low:g} to {self.high:g}{points})"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnShape:
    """The fitted shape of a column, and how the bins of the column may be distributed inside.

    `log_likelihood` is the log density of the rows in nats with the range scaled to 1, minus a price per effective
    parameter, of which there are `n_parameters`, and the cost of what was chosen from the rows. `resolution` is the
    least width of structure in the shape, in the units of the data. A uniform bin with more than two rows per distinct
    value must be as wide, so that repeated values cannot gain density; no uniform bin may be narrower than
    `min_uniform_width`. If bins may be uniform or shaped inside, the better one for the cuts is taken. A shape with
    point masses excludes uniform bins, since a density and a probability do not compare.
    """

    shape: Shape
    log_likelihood: float
    resolution: float
    may_be_uniform: bool = True
    may_be_shaped: bool = True
    min_uniform_width: float = 0.0
    n_parameters: float = 0.0

    @property
    def measures(self) -> tuple[bool, ...]:
        """Ways in which bins may be distributed inside: False for uniform, True for shaped."""
        if len(self.shape.point_values) and self.may_be_shaped:
            return (True,)
        return (*((False,) if self.may_be_uniform else ()), *((True,) if self.may_be_shaped else ()))

    @property
    def constant_score(self) -> float:
        """Part of the log likelihood in nats that is the same for all cuts: all of it if bins can only be shaped, or 0.

        Sums that are compared leave it out: its size would decide how they are rounded, and it changes with the scale
        of the column, which must not decide between networks with equal scores.
        """
        return self.log_likelihood if self.measures == (True,) else 0.0

    @property
    def compared_log_likelihood(self) -> float:
        """Log likelihood in nats without the part that is the same for all cuts."""
        return self.log_likelihood - self.constant_score

    def is_too_narrow(
        self, edges: NDArray[np.float64], below: NDArray[np.int64], distinct: NDArray[np.int64]
    ) -> bool:
        """Return whether some bin is too narrow to be uniform inside, given the edges of the bins, (n_bins + 1,).

        `below` and `distinct` are the numbers of rows and of distinct values up to every edge.
        """
        widths = edges[1:] - edges[:-1]
        if len(widths) < 2 or widths.min() >= max(self.resolution, self.min_uniform_width):
            return False
        is_tied = np.diff(below) > 2 * np.diff(distinct)
        least = np.where(is_tied, max(self.resolution, self.min_uniform_width), self.min_uniform_width)
        return bool((widths < least).any())


def _check_plain(values: Any, part: str) -> None:
    """Raise unless values of JSON are a list of numbers; NumPy would also take texts and truth values for numbers."""
    # numbers one by one are most of the time in which a network of a front is built
    if isinstance(values, list) and {*map(type, values)} <= {int, float}:
        return
    if not isinstance(values, list) or not all(map(is_real, values)):
        raise GomeaBnError(f"The {part} of a shape must be a list of finite numbers, got {values!r:.80}.")


def _numbers(values: ArrayLike, part: str) -> NDArray[np.float64]:
    """Return finite numbers as a read-only array, float64 (n,)."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"The {part} of a shape must be numbers, got {values!r:.80}.") from error
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise GomeaBnError(f"The {part} of a shape must be a list of finite numbers, got {values!r:.80}.")
    numbers.flags.writeable = False
    return numbers
