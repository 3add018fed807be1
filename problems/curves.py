"""Smooth curves: the functions of every column that another column may be a sum of, and their cross products."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.linalg import eigh
from scipy.special import ndtri

from gomea_bn.problems.kernels.curves import MOST_FUNCTIONS, CurveData, CurveScratch

if TYPE_CHECKING:
    from gomea_bn.problems.family_scorer import ScoredVariable

__all__ = ["curve_data", "curves_of_views", "new_curve_scratch", "no_curves", "normal_scores"]

# any fixed number: keys must be the same in every process
_KEY_SEED = 20250131
_N_TARGETS = 2
# most functions of a continuous column: a line, and curves by increasing roughness
_MOST_PER_COLUMN = 9
_INNER_KNOTS = 8
_DEGREE = 3
# what cross products may cost: multiplications, and functions of all columns
_MOST_PRODUCTS = 2e10
_MOST_COLUMNS_OF_PRODUCTS = 4_000
_BLOCK_ROWS = 1 << 14
# prior of coefficients, in rows: a line, and the least rough curve
_LINE_PRECISION = 1.0
_CURVE_PRECISIONS = (np.inf, 1.0)
# prior of the variance of residuals, which are relative to the variance of the column
_PRIOR_ROWS = 1.0
_PRIOR_SQUARES = 0.02
_LEAST_DEVIATION = 1e-3
_LEAST_EIGENVALUE = 1e-6


class _Functions(Protocol):
    """Functions of one column, by rows."""

    roughness: NDArray[np.float64]

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""


class _LevelFunctions:
    """Indicators of the levels that occur, scaled to a standard deviation of 1."""

    def __init__(self, codes: NDArray[np.int32], n_levels: int) -> None:
        self._codes = codes
        share = np.bincount(codes, minlength=n_levels) / len(codes)
        self._used = np.flatnonzero((share > 0) & (share < 1))
        self._scale = 1 / np.sqrt(share[self._used] * (1 - share[self._used]))
        self.roughness = np.zeros(len(self._used))

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        return np.asarray((self._codes[first:last, None] == self._used) * self._scale, np.float64)


class _SmoothFunctions:
    """A line, and curves that are orthogonal to it and to each other, by increasing roughness.

    The curves are the first functions of a Demmler-Reinsch basis of cubic splines: orthogonal over the rows, and with
    orthogonal second derivatives (Demmler & Reinsch, "Oscillation matrices with spline smoothing", 1975). Their
    roughness is the integral of the squared second derivative, relative to that of the first curve.
    """

    def __init__(self, scores: NDArray[np.float64], n_functions: int) -> None:
        distinct, counts = np.unique(scores, return_counts=True)
        share = counts / len(scores)
        self._scores = scores
        self._mean = float(share @ distinct)
        self._deviation = float(np.sqrt(share @ (distinct - self._mean) ** 2))
        low, high = float(distinct[0]), float(distinct[-1])
        inner = np.linspace(low, high, _INNER_KNOTS + 2)
        self._knots = np.concatenate([[low] * _DEGREE, inner, [high] * _DEGREE])
        design = self._splines(distinct)
        values, vectors = eigh(design.T @ (design * share[:, None]))
        kept = values > _LEAST_EIGENVALUE * values[-1]
        orthonormal = vectors[:, kept] / np.sqrt(values[kept])
        roughness, rotation = eigh(orthonormal.T @ _second_products(self._knots) @ orthonormal)
        # the first two are smooth everywhere: a constant and the line
        n_curves = min(n_functions - 1, len(roughness) - 2, len(distinct) - 2)
        chosen = slice(2, 2 + max(n_curves, 0))
        self._curves = (orthonormal @ rotation)[:, chosen]
        relative = roughness[chosen] / roughness[2] if n_curves > 0 else np.empty(0)
        self.roughness = np.concatenate([[0.0], relative])

    def _splines(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(BSpline.design_matrix(scores, self._knots, _DEGREE).toarray(), np.float64)

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        scores = self._scores[first:last]
        line = (scores - self._mean) / self._deviation
        if not self._curves.shape[1]:
            return line[:, None]
        return np.column_stack([line, self._splines(scores) @ self._curves])


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
    second = BSpline(knots, np.eye(n_splines), _DEGREE).derivative(2)(places)
    return np.asarray(second.T @ (second * weights[:, None]), np.float64)


def normal_scores(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the quantile of a standard normal at the mean rank of every value, and the width that its ties cover.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64

    Returns
    -------
    scores, widths : ndarray of shape (n_rows,), float64
        Both depend on the order of the values alone. Equal values share the probabilities of their ranks, moved
        towards 1/2 by half a row; the width is the distance of the quantiles at the ends of these.
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    up_to = np.cumsum(counts)
    below = up_to - counts
    n_rows = len(values)

    def quantile(rank: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(ndtri((rank + 0.5) / (n_rows + 1)), np.float64)

    scores = quantile((below + up_to) / 2)
    widths = quantile(up_to.astype(np.float64)) - quantile(below.astype(np.float64))
    return scores[inverse], widths[inverse]


def curve_data(variables: Sequence[ScoredVariable]) -> CurveData:
    """Return what kernels need to score columns as sums of curves of their parents; no curves for very large tables.

    Parameters
    ----------
    variables : sequence of ScoredVariable
        Columns. Continuous ones with a shape but without point masses may follow curves; all may be parents.

    Notes
    -----
    A column follows its parents on the scale of its normal scores, or, if its bins may be uniform, in its own units. It
    is a sum of one smooth curve of the normal scores of every continuous parent, one amount for every level of every
    discrete parent, and normal noise. The score is the marginal likelihood under a normal prior of the coefficients and
    an inverse-gamma prior of the variance, as a density with respect to the shape of the column. Two priors are
    compared, lines and curves whose prior precision grows with their roughness. The noise is never narrower than what
    equal values cover, so that repeated values gain no density.
    """
    n_rows, n = len(variables[0].values), len(variables)
    scores: dict[int, NDArray[np.float64]] = {}
    widths: dict[int, NDArray[np.float64]] = {}
    for v, variable in enumerate(variables):
        if not variable.n_levels:
            scores[v], widths[v] = normal_scores(np.asarray(variable.values, np.float64))
    per_column = _functions_per_column(variables, n_rows)
    if per_column < 1 or not any(_may_follow(variable) for variable in variables):
        return no_curves()
    functions: list[_Functions] = [
        _SmoothFunctions(scores[v], per_column)
        if v in scores
        else _LevelFunctions(np.asarray(variable.values, np.int32), variable.n_levels)
        for v, variable in enumerate(variables)
    ]
    first = np.concatenate([[0], np.cumsum([len(f.roughness) for f in functions])]).astype(np.int64)
    targets = np.zeros((n_rows, n, _N_TARGETS))
    alone = np.full((n, _N_TARGETS), -np.inf)
    unexplained = np.ones((n, _N_TARGETS))
    for v, variable in enumerate(variables):
        if _may_follow(variable):
            targets[:, v, 0], unexplained[v, 0] = _centred(scores[v], widths[v])
            alone[v, 0] = _of_shape(variable)
            if variable.shape is not None and variable.shape.may_be_uniform:
                targets[:, v, 1], unexplained[v, 1], alone[v, 1] = _in_own_units(variable)
    flat = targets.reshape(n_rows, -1)
    sums, products, with_targets = (
        np.zeros(first[-1]),
        np.zeros((first[-1],) * 2),
        np.zeros((first[-1], flat.shape[1])),
    )
    for start in range(0, n_rows, _BLOCK_ROWS):
        block = np.concatenate([f.of_rows(start, start + _BLOCK_ROWS) for f in functions], axis=1)
        sums += block.sum(axis=0)
        products += block.T @ block
        with_targets += block.T @ flat[start : start + _BLOCK_ROWS]
    products -= np.outer(sums, sums) / n_rows
    roughness = np.concatenate([f.roughness for f in functions])
    keys = np.random.default_rng(_KEY_SEED).integers(1, 2**63, size=(2, n), dtype=np.int64).astype(np.uint64)
    return CurveData(
        products=products,
        with_targets=with_targets.reshape(first[-1], n, _N_TARGETS),
        squares=(targets**2).sum(axis=0) + unexplained,
        unexplained=unexplained,
        alone=alone,
        first=first,
        precisions=np.array([_precisions(roughness, of_curve) for of_curve in _CURVE_PRECISIONS]),
        variable=np.zeros(0, np.int64),
        child_key=2 * keys[0] + 1,
        parent_key=2 * keys[1] + 1,
        half_rows=0.5 * (n_rows - 1 + _PRIOR_ROWS),
    )


def _may_follow(variable: ScoredVariable) -> bool:
    """Return whether a column may be a sum of curves: the density of a column with point masses is none."""
    return variable.shape is not None and not len(variable.shape.shape.point_values)


def _functions_per_column(variables: Sequence[ScoredVariable], n_rows: int) -> int:
    """Return the number of functions of a continuous column, 0 if even lines cost too much."""
    n_continuous = sum(not variable.n_levels for variable in variables)
    n_levels = sum(variable.n_levels for variable in variables)
    most = min(_MOST_COLUMNS_OF_PRODUCTS, (_MOST_PRODUCTS / n_rows) ** 0.5)
    return int(min(_MOST_PER_COLUMN, (most - n_levels) // max(n_continuous, 1)))


def _precisions(roughness: NDArray[np.float64], of_curve: float) -> NDArray[np.float64]:
    """Return the prior precision of every function, in rows, given that of the least rough curve."""
    with np.errstate(invalid="ignore"):
        of_curves = np.maximum(of_curve * roughness, _LINE_PRECISION)
    return np.where(roughness == 0, _LINE_PRECISION, of_curves)


def _centred(values: NDArray[np.float64], widths: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return standardised values, and the squares that no curve can explain.

    The density of normal noise is nowhere above that of the uniform one on what equal values cover.
    """
    deviation = values.std()
    least = np.maximum(widths**2 / (2 * pi) / deviation**2, _LEAST_DEVIATION**2)
    return (values - values.mean()) / deviation, _PRIOR_SQUARES + float(least.sum())


def _of_shape(variable: ScoredVariable) -> float:
    assert variable.shape is not None
    return variable.shape.compared_log_likelihood


def _in_own_units(variable: ScoredVariable) -> tuple[NDArray[np.float64], float, float]:
    """Return a column in its own units as `_centred` does, and its score without parents.

    It has the score of its shape, or, if the column is far from normal, that of a normal distribution: its log density,
    minus ln n for two parameters.
    """
    shape = variable.shape
    assert shape is not None
    values = np.asarray(variable.values, np.float64)
    n_rows = len(values)
    scale = np.ptp(values)
    distinct, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    around = np.diff(np.concatenate([distinct[:1], (distinct[1:] + distinct[:-1]) / 2, distinct[-1:]]))
    widths = np.maximum(np.where(counts > 1, around, 0.0), shape.resolution)[inverse]
    target, unexplained = _centred(values / scale, widths / scale)
    normal = -n_rows * (log(float((values / scale).std())) + 0.5 * log(2 * pi) + 0.5) - log(n_rows)
    return target, unexplained, shape.compared_log_likelihood + min(normal - shape.log_likelihood, 0.0)


def curves_of_views(curves: CurveData, view_offset: NDArray[np.int64]) -> CurveData:
    """Return the data for views, given the first view of every variable, (N + 1,)."""
    variable = np.repeat(np.arange(len(view_offset) - 1), np.diff(view_offset)).astype(np.int64)
    return curves._replace(variable=variable)


def no_curves() -> CurveData:
    """Return data with which every family is scored by its table."""
    nothing = np.zeros((0, 0))
    return CurveData(
        products=nothing,
        with_targets=np.zeros((0, 0, _N_TARGETS)),
        squares=nothing,
        unexplained=nothing,
        alone=nothing,
        first=np.zeros(1, np.int64),
        precisions=nothing,
        variable=np.zeros(0, np.int64),
        child_key=np.zeros(0, np.uint64),
        parent_key=np.zeros(0, np.uint64),
        half_rows=0.0,
    )


def new_curve_scratch(curves: CurveData) -> CurveScratch:
    """Return the work space of one thread for curves."""
    size = min(len(curves.products), MOST_FUNCTIONS)
    return CurveScratch(np.zeros(size, np.int64), np.zeros((size, size + _N_TARGETS)))
