"""A linear density of a column given its parents, in the scales on which every column is standard normal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.cuts.shape import Shape

__all__ = ["FamilyLine", "ProbabilityScale", "joint_groups", "log_line_density", "log_mixture"]

_HALF_LOG_TWO_PI = 0.5 * log(2 * pi)
# the probability of the range of a column is never rounded to 0
_LEAST_MASS = 1e-12


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
    """

    def __init__(self, shape: Shape, n_rows: int) -> None:
        self.shape = shape
        self._n_rows = n_rows
        self.low = float(ndtri(0.5 / (n_rows + 1)))
        self.high = float(ndtri((n_rows + 0.5) / (n_rows + 1)))

    def of_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return z of values, float64 (n,); values beyond the range are moved to its ends."""
        values = np.clip(values, self.shape.low, self.shape.high)
        probabilities = self.shape.distribution(values)
        for value, mass in self.shape.points.items():
            probabilities[values == value] -= mass / 2
        return np.asarray(ndtri((self._n_rows * probabilities + 0.5) / (self._n_rows + 1)), np.float64)

    def values_of(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at places of the scale, float64 (n,)."""
        return self.shape.quantile(((self._n_rows + 1) * ndtr(z) - 0.5) / self._n_rows)

    def log_slope(self, values: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(dz / dx) at values without a point mass, float64 (n,), given their places on the scale."""
        share = log(self._n_rows / (self._n_rows + 1))
        return np.asarray(self.shape.log_density(values) + share + 0.5 * z * z + _HALF_LOG_TWO_PI, np.float64)


def log_line_density(
    z: NDArray[np.float64],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    freedom: NDArray[np.float64] | float,
    scale: ProbabilityScale,
) -> NDArray[np.float64]:
    """Return the log density of Student's t distribution, restricted to the range of a column, float64 (n,).

    Parameters
    ----------
    z : ndarray of shape (n,), float64
        Places on the scale of the column.
    means, scales : ndarray of shape (n,), float64
        Centres and scales of the distribution. A centre beyond the range is moved to its end, so that the range never
        loses its probability to rounding.
    freedom : ndarray of shape (n,), float64, or float
        Degrees of freedom.
    scale : ProbabilityScale
        Scale of the column.
    """
    means = np.clip(means, scale.low, scale.high)
    half = np.asarray(freedom) / 2
    squares = ((z - means) / scales) ** 2 / freedom
    constant = gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(pi * np.asarray(freedom)) - np.log(scales)
    mass = stdtr(freedom, (scale.high - means) / scales) - stdtr(freedom, (scale.low - means) / scales)
    logs = constant - (half + 0.5) * np.log1p(squares) - np.log(np.maximum(mass, _LEAST_MASS))
    return np.asarray(logs, np.float64)


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
class FamilyLine:
    """The line of a family: the column is Student-t around a linear function of its continuous parents.

    All columns are on their probability scales. Coefficients, scale and degrees of freedom may differ between the
    configurations of the discrete parents, the groups. The density is restricted to the range of the column, and a
    centre beyond the range is moved to its end.

    Attributes
    ----------
    weight : float
        Share of the line in the density of the family, above 0 and below 1; the bins have the rest.
    parents : tuple of str
        Continuous parents, in column order.
    groups : tuple of str
        Discrete parents, in column order.
    coefficients : ndarray of shape (n_groups, n_parents + 1), float64
        Intercept and slopes; groups are numbered with the last discrete parent fastest.
    scales, freedom : ndarray of shape (n_groups,), float64
        Scale and degrees of freedom of Student's t distribution, above 0.

    Raises
    ------
    GomeaBnError
        For parts of other shapes or outside their ranges.
    """

    weight: float
    parents: tuple[str, ...]
    groups: tuple[str, ...]
    coefficients: NDArray[np.float64]
    scales: NDArray[np.float64]
    freedom: NDArray[np.float64]

    def __post_init__(self) -> None:
        for part in ("coefficients", "scales", "freedom"):
            numbers = np.array(getattr(self, part), np.float64)
            numbers.flags.writeable = False
            object.__setattr__(self, part, numbers)
        n_groups = self.scales.size
        is_valid = (
            0 < self.weight < 1
            and len(self.parents) > 0
            and n_groups > 0
            and self.coefficients.shape == (n_groups, len(self.parents) + 1)
            and self.freedom.shape == self.scales.shape == (n_groups,)
            and bool(np.isfinite(self.coefficients).all())
            and bool((np.isfinite(self.scales) & (self.scales > 0)).all())
            and bool((np.isfinite(self.freedom) & (self.freedom > 0)).all())
        )
        if not is_valid:
            raise GomeaBnError(
                "A line must have a weight between 0 and 1, at least one continuous parent, and for each of its groups "
                "an intercept, one slope per parent, a scale and degrees of freedom above 0, all finite."
            )

    def means(self, parents: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the linear function, float64 (n,), for parents (n, n_parents) on their scales."""
        coefficients = self.coefficients[groups]
        return np.asarray(coefficients[:, 0] + (coefficients[:, 1:] * parents).sum(axis=1), np.float64)

    def log_density(
        self,
        z: NDArray[np.float64],
        parents: NDArray[np.float64],
        groups: NDArray[np.int64],
        scale: ProbabilityScale,
    ) -> NDArray[np.float64]:
        """Return the log density of places of the column on its scale, float64 (n,)."""
        return log_line_density(
            z, self.means(parents, groups), self.scales[groups], self.freedom[groups], scale
        )

    def draw(
        self,
        parents: NDArray[np.float64],
        groups: NDArray[np.int64],
        scale: ProbabilityScale,
        generator: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Return places of the column on its scale, float64 (n,), one per row of the parents."""
        scales, freedom = self.scales[groups], self.freedom[groups]
        means = np.clip(self.means(parents, groups), scale.low, scale.high)
        low = stdtr(freedom, (scale.low - means) / scales)
        high = stdtr(freedom, (scale.high - means) / scales)
        drawn = means + scales * stdtrit(freedom, low + generator.random(len(means)) * (high - low))
        return np.asarray(np.clip(drawn, scale.low, scale.high), np.float64)

    def to_content(self) -> dict[str, Any]:
        """Return the line as values that JSON can hold."""
        return {
            "weight": self.weight,
            "parents": list(self.parents),
            "groups": list(self.groups),
            "coefficients": self.coefficients.tolist(),
            "scales": self.scales.tolist(),
            "freedom": self.freedom.tolist(),
        }

    @classmethod
    def from_content(cls, content: Any) -> FamilyLine:
        """Return the line that JSON values describe; raises `GomeaBnError` for others."""
        fields = ("weight", "parents", "groups", "coefficients", "scales", "freedom")
        if not isinstance(content, Mapping) or any(field not in content for field in fields):
            raise GomeaBnError(f"A line must be an object with the fields {', '.join(fields)}.")
        for field in ("parents", "groups"):
            names = content[field]
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise GomeaBnError(f"The {field} of a line must be a list of names, got {names!r:.80}.")
        try:
            arrays = [np.array(content[field], np.float64) for field in fields[3:]]
            weight = float(content["weight"])
        except (TypeError, ValueError, OverflowError) as error:
            raise GomeaBnError(f"The parts of a line must be numbers: {error}.") from error
        return cls(weight, tuple(content["parents"]), tuple(content["groups"]), *arrays)
