"""Functions of one column, of which curves are sums: of levels, of normal scores, and of values in their units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.splines import differentiated, spline_design, spline_values

FIXED_SEED = 20250131
"""Any fixed number: keys and orders of rows must be the same in every process."""
MOST_FACTORS_OF_LEVELS = 6
"""Most functions of a continuous column in its products with levels."""
MOST_PER_COLUMN = 9
"""Most functions of a continuous column in few rows, a line and curves by increasing roughness."""
CURVE_PRECISION = 1.0
"""Prior precision of coefficients of the least rough curve, in rows."""

# the same of a line
_LINE_PRECISION = 1.0
# fewest levels whose line says less than their indicators
_LEAST_ORDERED = 3
# distance from the median, in interquartile ranges, at which a column in its own units ends
_MOST_WIDTHS = 30.0
# inner knots of the splines of the curves: of few functions, and per function of many
_INNER_KNOTS, _KNOTS_PER_FUNCTION = 8, 1.5
_DEGREE = 3
_LEAST_EIGENVALUE = 1e-6
# numbers of all columns that are kept, for as long as the table is
_MOST_KEPT = 1 << 24


class LevelFunctions:
    """Indicators of the levels that occur, scaled to a standard deviation of 1.

    Of at least three levels in their order the last function is a line: the normal scores of the levels' mean ranks.
    `squares`, float64 (n_functions,), are those of the heights of indicators, and 0 of the line. `line`, float64
    (n_levels, 1), has the line at every level, or no columns.
    """

    def __init__(self, codes: NDArray[np.int32], n_levels: int, *, is_ordered: bool = False) -> None:
        self._codes = codes
        counts = np.bincount(codes, minlength=n_levels)
        share = counts / len(codes)
        self._used = np.flatnonzero((share > 0) & (share < 1))
        self._scale = 1 / np.sqrt(share[self._used] * (1 - share[self._used]))
        self.has_line = is_ordered and len(self._used) >= _LEAST_ORDERED
        self.line = np.empty((n_levels, 0))
        if self.has_line:
            scores = _quantile(np.cumsum(counts) - counts / 2, len(codes))
            scores = scores - share @ scores
            self.line = (scores / np.sqrt(share @ scores**2))[:, None]
        self.roughness = np.zeros(len(self._used) + self.line.shape[1])
        self.squares = np.append(self._scale**2, np.zeros(self.line.shape[1]))
        self._n_levels = n_levels
        # two levels mirror each other
        self.n_factors = 1 if len(self._used) == 2 else len(self._used)
        self._means = share[self._used] * self._scale

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The functions of every level, float64 (n_levels, n_functions)."""
        return self.of_codes(np.arange(self._n_levels, dtype=np.int32))

    @property
    def factor_matrix(self) -> NDArray[np.float64]:
        """The factors of every level, float64 (n_levels, n_factors)."""
        return self.factors(self.matrix)

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        return self.of_codes(self._codes[first:last])

    def of_codes(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the functions of some codes, float64 (n, n_functions)."""
        indicators = np.asarray((codes[:, None] == self._used) * self._scale, np.float64)
        return np.column_stack([indicators, self.line[codes]]) if self.has_line else indicators

    def factors(self, functions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return centred indicators, given the functions of some rows, float64 (n_rows, n_factors)."""
        return functions[:, : self.n_factors] - self._means[: self.n_factors]


class SmoothFunctions:
    """A line, and curves that are orthogonal to it and to each other, by increasing roughness.

    The curves are the first functions of a Demmler-Reinsch basis of cubic splines: orthogonal over the rows, and with
    orthogonal second derivatives (Demmler & Reinsch, "Oscillation matrices with spline smoothing", 1975). Their
    roughness is the integral of the squared second derivative, relative to that of the first curve.
    """

    def __init__(self, scores: NDArray[np.float64], n_functions: int) -> None:
        self._scores = scores
        distinct, counts = np.unique(scores, return_counts=True)
        share = counts / len(scores)
        self._mean = float(share @ distinct)
        self._deviation = float(np.sqrt(share @ (distinct - self._mean) ** 2))
        low, high = float(distinct[0]), float(distinct[-1])
        is_fine = n_functions > MOST_PER_COLUMN
        n_inner = int(_KNOTS_PER_FUNCTION * n_functions) if is_fine else _INNER_KNOTS
        inner = np.linspace(low, high, n_inner + 2)
        self._knots = np.concatenate([[low] * _DEGREE, inner, [high] * _DEGREE])
        design = self._splines(distinct)
        values, vectors = scipy.linalg.eigh(design.T @ (design * share[:, None]))
        is_kept = values > _LEAST_EIGENVALUE * values[-1]
        orthonormal = vectors[:, is_kept] / np.sqrt(values[is_kept])
        roughness, rotation = scipy.linalg.eigh(orthonormal.T @ _second_products(self._knots) @ orthonormal)
        # the first two are smooth everywhere: a constant and the line
        n_curves = min(n_functions - 1, len(roughness) - 2, len(distinct) - 2)
        chosen = slice(2, 2 + max(n_curves, 0))
        curves = (orthonormal @ rotation)[:, chosen]
        # of both signs that of a value above 0 at the low end, so that similar scores have similar functions
        self._curves = np.where(curves[0] < 0, -curves, curves)
        relative = roughness[chosen] / roughness[2] if n_curves > 0 else np.empty(0)
        self.roughness = np.concatenate([[0.0], relative])

    @property
    def knots(self) -> NDArray[np.float64]:
        """Knots of the cubic splines, the outer ones repeated, float64 (n_splines + 4,)."""
        return self._knots

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The functions as sums of cubic B-splines, float64 (n_splines, n_functions)."""
        n_splines = len(self._knots) - _DEGREE - 1
        # a spline whose coefficients are the means of its inner knots is the line (Greville, 1967)
        places = np.array([self._knots[i + 1 : i + 1 + _DEGREE].mean() for i in range(n_splines)])
        line = (places - self._mean) / self._deviation
        return np.column_stack([line, self._curves])

    def _splines(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return spline_design(self._knots, _DEGREE, scores)

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        return self.of_scores(self._scores[first:last])

    def of_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the functions at some scores within the range of the column, float64 (n, n_functions)."""
        line = (scores - self._mean) / self._deviation
        if not self._curves.shape[1]:
            return line[:, None]
        return np.column_stack([line, self._splines(scores) @ self._curves])


class UnitFunction:
    """The value of a continuous column in its own units, to a distance from its median, scaled to a deviation of 1."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        # large numbers have no squares
        self._scale = float(np.ptp(values))
        scaled = values / self._scale
        self._centre = float(np.median(scaled))
        width = float(np.subtract(*np.quantile(scaled, (0.75, 0.25)))) or float(scaled.std())
        self._most = _MOST_WIDTHS * width
        moved = self._clipped(values)
        self._mean, self._deviation = float(moved.mean()), float(moved.std())

    def _clipped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        # further values may be farther away than numbers reach
        with np.errstate(over="ignore"):
            return np.clip(values / self._scale - self._centre, -self._most, self._most)

    @property
    def ends(self) -> tuple[float, float]:
        """Values beyond which the function stays as it is."""
        with np.errstate(over="ignore"):
            low, high = ((self._centre + side * self._most) * self._scale for side in (-1.0, 1.0))
        return low, high

    def of_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function at some values, float64 (n,)."""
        return (self._clipped(values) - self._mean) / self._deviation


class NumberFunctions:
    """Functions of the normal scores of a continuous column, and last of all the column in its own units.

    The last one is left out where the others say the same, as of a column of few values. `widths` are those of
    `normal_scores`; functions of columns that are followed have them. At most `most_kept` numbers of blocks of rows are
    kept.
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        scores: NDArray[np.float64],
        n_functions: int,
        *,
        has_units: bool,
        widths: NDArray[np.float64] | None = None,
        most_kept: int = 0,
    ) -> None:
        self._values, self._n_left = values, most_kept
        self.scores, self.widths = scores, widths
        # by first and last row: every family with the column asks for the same ones
        self._known: dict[tuple[int, int], NDArray[np.float64]] = {}
        self.smooth = SmoothFunctions(scores, n_functions)
        # curves are any function of so few values
        adds = has_units and len(np.unique(values)) > len(self.smooth.roughness) + 1
        self.units = UnitFunction(values) if adds else None
        self.n_curves = len(self.smooth.roughness)
        self.roughness = np.append(self.smooth.roughness, np.zeros(int(self.units is not None)))
        self.n_factors = min(MOST_FACTORS_OF_LEVELS, self.n_curves)
        self.squares = np.zeros(len(self.roughness))

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        some = first, min(last, len(self._values))
        found = self._known.get(some)
        if found is None:
            found = self._with_units(self.smooth.of_rows(*some), self._values[slice(*some)])
            if found.size <= self._n_left:
                self._known[some] = found
                self._n_left -= found.size
        return found

    def of_values(self, values: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the functions of some values with the normal scores `scores`, float64 (n, n_functions)."""
        return self._with_units(self.smooth.of_scores(scores), values)

    def _with_units(self, smooth: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return smooth if self.units is None else np.column_stack([smooth, self.units.of_values(values)])

    def factors(self, functions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the line and the first curves, given the functions of some rows, float64 (n_rows, n_factors)."""
        return functions[:, : self.n_factors]


def _second_products(knots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integrals of products of second derivatives of cubic splines, which are linear between knots."""
    n_splines = len(knots) - _DEGREE - 1
    ends = np.unique(knots)
    # Simpson's rule is exact for the products, parabolas between knots
    places = np.concatenate([ends, (ends[1:] + ends[:-1]) / 2])
    widths = np.diff(ends)
    weights = np.zeros(len(places))
    weights[: len(ends) - 1] += widths / 6
    weights[1 : len(ends)] += widths / 6
    weights[len(ends) :] = widths * 4 / 6
    splines = (knots, np.eye(n_splines), _DEGREE)
    second = spline_values(*differentiated(*differentiated(*splines)), places)
    return np.asarray(second.T @ (second * weights[:, None]), np.float64)


def normal_scores(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the quantile of a standard normal at the mean rank of every value, and the width that its ties cover.

    Both, float64 (n_rows,), depend on the order of the values alone. Equal values share the probabilities of their
    ranks, moved towards 1/2 by half a row; the width is the distance of the quantiles at the ends of these.
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    up_to = np.cumsum(counts)
    below = up_to - counts
    n_rows = len(values)
    scores = _quantile((below + up_to) / 2, n_rows)
    widths = _quantile(up_to.astype(np.float64), n_rows) - _quantile(below.astype(np.float64), n_rows)
    return scores[inverse], widths[inverse]


def _quantile(rank: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
    """Return the quantile of a standard normal at a rank from 0 to `n_rows`."""
    return np.asarray(scipy.special.ndtri((rank + 0.5) / (n_rows + 1)), np.float64)


ColumnFunctions = LevelFunctions | NumberFunctions
"""The functions of a column, by its kind."""


def column_functions(
    variables: Sequence[ScoredVariable], per_column: int, has_units: bool
) -> list[ColumnFunctions]:
    """Return the functions of every column."""
    return [
        LevelFunctions(
            np.asarray(variable.values, np.int32), variable.n_levels, is_ordered=variable.is_ordered
        )
        if variable.n_levels
        else _number_functions(
            np.asarray(variable.values, np.float64), per_column, has_units, _MOST_KEPT // len(variables)
        )
        for variable in variables
    ]


def _number_functions(
    values: NDArray[np.float64], n_functions: int, has_units: bool, most_kept: int
) -> NumberFunctions:
    scores, widths = normal_scores(values)
    return NumberFunctions(
        values, scores, n_functions, has_units=has_units, widths=widths, most_kept=most_kept
    )


def prior_precisions(roughness: NDArray[np.float64], of_curve: float) -> NDArray[np.float64]:
    """Return the prior precision of every function, in rows, given that of the least rough curve.

    Products of two continuous columns have the roughness 0 and the precision of a line.
    """
    with np.errstate(invalid="ignore"):
        of_curves = np.maximum(of_curve * roughness, _LINE_PRECISION)
    return np.where(roughness == 0, _LINE_PRECISION, of_curves)
