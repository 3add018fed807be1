"""Smooth curves: the functions of every column that another column may be a sum of, and their cross products."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import log, pi
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.problems.kernels.curves import MOST_FUNCTIONS, CurveData, CurveScratch
from gomea_bn.problems.scoring.curve_functions import LevelFunctions, SmoothFunctions
from gomea_bn.runtime.threads import one_blas_thread

if TYPE_CHECKING:
    from gomea_bn.problems.cuts.shape import ColumnShape
    from gomea_bn.problems.scoring.scored_columns import ScoredVariable

# any fixed number: keys must be the same in every process
_KEY_SEED = 20250131
_N_TARGETS = 2
# most functions of a continuous column: a line, and curves by increasing roughness
_MOST_PER_COLUMN = 9
# most functions of either column in the products of two columns
_MOST_PER_PAIR = 3
# what cross products may cost: multiplications, and functions of all columns
_MOST_PRODUCTS = 2e10
_MOST_COLUMNS_OF_PRODUCTS = 4_000
# the same with products of two columns
_MOST_PRODUCTS_OF_PAIRS = 5e9
_MOST_COLUMNS_OF_PAIRS = 2_000
_BLOCK_ROWS = 1 << 14
_BLOCK_NUMBERS = 1 << 24
# prior of coefficients, in rows: a line, and the least rough curve
_LINE_PRECISION = 1.0
_CURVE_PRECISIONS = (np.inf, 1.0)
# prior of the variance of residuals, which are relative to the variance of the column
_PRIOR_ROWS = 1.0
_PRIOR_SQUARES = 0.02
_LEAST_DEVIATION = 1e-3


class _Functions(Protocol):
    """Functions of one column, by rows."""

    roughness: NDArray[np.float64]

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""


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


def curve_data(variables: Sequence[ScoredVariable]) -> CurveData:
    """Return what kernels need to score columns as sums of curves of their parents; no curves for very large tables.

    Continuous columns with a shape may follow curves, unless point masses have some of their rows and a density has
    others; all columns may be parents. A column follows its parents on the scale of its normal scores, or, if its bins
    may be uniform, in its own units. It is a sum of one smooth curve of the normal scores of every continuous parent,
    one amount for every level of every discrete parent, and normal noise. The score is the marginal likelihood under a
    normal prior of the coefficients and an inverse-gamma prior of the variance, as a density with respect to the shape
    of the column. Three models are compared: lines, curves whose prior precision grows with their roughness, and these
    curves with products of the first functions of every two continuous parents, as many as are affordable for all pairs
    of columns. The noise is never narrower than what equal values cover, so that repeated values gain no density.
    """
    n_rows, n = len(variables[0].values), len(variables)
    per_column = _functions_per_column(variables, n_rows)
    if per_column < 1 or not any(_may_follow(variable) for variable in variables):
        return no_curves()
    with one_blas_thread():
        moments = _moments(variables, per_column)
    keys = np.random.default_rng(_KEY_SEED).integers(1, 2**63, size=(2, n), dtype=np.int64).astype(np.uint64)
    return CurveData(
        products=moments.products,
        with_targets=moments.with_targets,
        squares=moments.squares,
        unexplained=moments.unexplained,
        alone=moments.alone,
        first=moments.first,
        pair=moments.pair,
        n_products=moments.n_products,
        precisions=np.array([_precisions(moments, of_curve) for of_curve in _CURVE_PRECISIONS]),
        variable=np.zeros(0, np.int64),
        child_key=2 * keys[0] + 1,
        parent_key=2 * keys[1] + 1,
        half_rows=0.5 * (n_rows - 1 + _PRIOR_ROWS),
    )


class _Moments(NamedTuple):
    """The parts of `CurveData` that come from the rows, and the roughness of every function, 0 for products, (M,)."""

    products: NDArray[np.float64]
    with_targets: NDArray[np.float64]
    squares: NDArray[np.float64]
    unexplained: NDArray[np.float64]
    alone: NDArray[np.float64]
    first: NDArray[np.int64]
    pair: NDArray[np.int64]
    n_products: int
    roughness: NDArray[np.float64]


def _moments(variables: Sequence[ScoredVariable], per_column: int) -> _Moments:
    """Return the moments of all rows, with at most `per_column` functions of every continuous column."""
    n_rows, n = len(variables[0].values), len(variables)
    scores: dict[int, NDArray[np.float64]] = {}
    widths: dict[int, NDArray[np.float64]] = {}
    for v, variable in enumerate(variables):
        if not variable.n_levels:
            scores[v], widths[v] = normal_scores(np.asarray(variable.values, np.float64))
    functions: list[_Functions] = [
        SmoothFunctions(scores[v], per_column)
        if v in scores
        else LevelFunctions(np.asarray(variable.values, np.int32), variable.n_levels)
        for v, variable in enumerate(variables)
    ]
    first = _first_functions(functions)
    per_pair, pairs = _pairs(functions, sorted(scores), n_rows)
    pair = np.full((n, n), -1, np.int64)
    for place, (i, j) in enumerate(pairs):
        pair[i, j] = pair[j, i] = first[-1] + place * per_pair**2
    size = int(first[-1]) + len(pairs) * per_pair**2
    targets = np.zeros((n_rows, n, _N_TARGETS))
    alone = np.full((n, _N_TARGETS), -np.inf)
    unexplained = np.ones((n, _N_TARGETS))
    for v, variable in enumerate(variables):
        if _may_follow(variable):
            targets[:, v, 0], unexplained[v, 0] = _centred(scores[v], widths[v])
            alone[v, 0] = _of_shape(variable)
            if _has_own_units(variable):
                targets[:, v, 1], unexplained[v, 1], alone[v, 1] = _in_own_units(variable)
    flat = targets.reshape(n_rows, -1)
    sums, products, with_targets = np.zeros(size), np.zeros((size, size)), np.zeros((size, flat.shape[1]))
    n_block = min(_BLOCK_ROWS, _BLOCK_NUMBERS // size)
    for start in range(0, n_rows, n_block):
        of_columns = [f.of_rows(start, start + n_block) for f in functions]
        of_pairs = [_pair_products(of_columns[i], of_columns[j], per_pair) for i, j in pairs]
        block = np.concatenate([*of_columns, *of_pairs], axis=1)
        sums += block.sum(axis=0)
        products += block.T @ block
        with_targets += block.T @ flat[start : start + n_block]
    products -= np.outer(sums, sums) / n_rows
    return _Moments(
        products=products,
        with_targets=with_targets.reshape(size, n, _N_TARGETS),
        squares=(targets**2).sum(axis=0) + unexplained,
        unexplained=unexplained,
        alone=alone,
        first=first,
        pair=pair,
        n_products=per_pair**2,
        roughness=np.concatenate([*(f.roughness for f in functions), np.zeros(size - first[-1])]),
    )


def _first_functions(columns: Sequence[_Functions]) -> NDArray[np.int64]:
    """Return the position of the first function of every column, and the number of all, int64 (N + 1,)."""
    return np.concatenate([[0], np.cumsum([len(column.roughness) for column in columns])]).astype(np.int64)


def _pairs(
    functions: Sequence[_Functions], continuous: Sequence[int], n_rows: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return how many functions of either column are multiplied, and the pairs of continuous columns, if any.

    As many as are affordable for all pairs of columns.
    """
    n_functions = sum(len(column.roughness) for column in functions)
    most = min(_MOST_COLUMNS_OF_PAIRS, (_MOST_PRODUCTS_OF_PAIRS / n_rows) ** 0.5)
    for per_pair in range(_MOST_PER_PAIR, 0, -1):
        members = [v for v in continuous if len(functions[v].roughness) >= per_pair]
        pairs = list(combinations(members, 2))
        if n_functions + len(pairs) * per_pair**2 <= most:
            return per_pair, pairs
    return 0, []


def _pair_products(
    first: NDArray[np.float64], second: NDArray[np.float64], per_pair: int
) -> NDArray[np.float64]:
    """Return the products of the first functions of two columns, float64 (n_rows, per_pair**2)."""
    products = first[:, :per_pair, None] * second[:, None, :per_pair]
    return np.asarray(products.reshape(len(products), -1), np.float64)


def _may_follow(variable: ScoredVariable) -> bool:
    """Return whether a column may be a sum of curves: one of few values or without point masses, not a mixture."""
    shape = variable.shape
    return shape is not None and (shape.shape.has_few_values or not len(shape.shape.point_values))


def _has_own_units(variable: ScoredVariable) -> bool:
    """Return whether a column may follow curves in its own units: a probability has none."""
    return variable.shape is not None and False in variable.shape.measures


def _functions_per_column(variables: Sequence[ScoredVariable], n_rows: int) -> int:
    """Return the number of functions of a continuous column, 0 if even lines cost too much."""
    n_continuous = sum(not variable.n_levels for variable in variables)
    n_levels = sum(variable.n_levels for variable in variables)
    most = min(_MOST_COLUMNS_OF_PRODUCTS, (_MOST_PRODUCTS / n_rows) ** 0.5)
    return int(min(_MOST_PER_COLUMN, (most - n_levels) // max(n_continuous, 1)))


def _precisions(moments: _Moments, of_curve: float) -> NDArray[np.float64]:
    """Return the prior precision of every function, in rows, given that of the least rough curve.

    Products have that of a line, and none next to lines.
    """
    roughness = moments.roughness
    with np.errstate(invalid="ignore"):
        of_curves = np.maximum(of_curve * roughness, _LINE_PRECISION)
    precisions = np.where(roughness == 0, _LINE_PRECISION, of_curves)
    if of_curve == np.inf:
        precisions[moments.first[-1] :] = np.inf
    return precisions


def _centred(values: NDArray[np.float64], widths: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return standardised values, and the squares that no curve can explain.

    The density of normal noise is nowhere above that of the uniform one on what equal values cover.
    """
    mean, deviation = values.mean(), values.std()
    least = np.maximum(widths**2 / (2 * pi) / deviation**2, _LEAST_DEVIATION**2)
    return (values - mean) / deviation, _PRIOR_SQUARES + float(least.sum())


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
    return target, unexplained, _of_normal(shape, float((values / scale).std()), n_rows)


def _of_normal(shape: ColumnShape, deviation: float, n_rows: int) -> float:
    """Return the score of a column without parents: that of its shape or, if that is less, of a normal distribution.

    `deviation` is the standard deviation relative to the range.
    """
    normal = -n_rows * (log(deviation) + 0.5 * log(2 * pi) + 0.5) - log(n_rows)
    return shape.compared_log_likelihood + min(normal - shape.log_likelihood, 0.0)


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
        pair=np.zeros((0, 0), np.int64),
        n_products=0,
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
