"""Functions of columns, their moments, and the other data by which kernels score sums of curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, log, pi
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.cells import COARSE, ITEMS_OF_BLOCK, LANES, CellData, CellScratch
from gomea_bn.problems.kernels.counts import CountData, CountScratch
from gomea_bn.problems.kernels.curves import (
    COEFFICIENTS,
    LINES,
    MOST_FUNCTIONS,
    MOST_PER_PAIR,
    MOST_WITH_PRODUCTS,
    OF_RANKS,
    SMOOTH,
    UNITS,
    CurveData,
    CurveScratch,
    ProductScratch,
)
from gomea_bn.problems.kernels.logits import (
    MOST_LEVELS,
    MOST_PARAMETERS,
    MOST_TERMS,
    N_OF_ITEM,
    LogitData,
    LogitScratch,
)
from gomea_bn.problems.kernels.score import MISSING
from gomea_bn.problems.kernels.tails import CELLS, PARTS, TailData, TailScratch, fit_tails
from gomea_bn.problems.kernels.transforms import (
    MOST_OF_TRANSFORM,
    TransformData,
    TransformScratch,
    transform_gain,
)
from gomea_bn.problems.kernels.widths import MOST_FORMS, MOST_OF_WIDTHS, WidthScratch
from gomea_bn.problems.splines import differentiated, spline_design, spline_values
from gomea_bn.runtime.threads import one_blas_thread, zeros_by_pages

# any fixed number: keys must be the same in every process
_CURVE_KEY_SEED = 20250131
_N_TARGETS = 2
# most functions of a continuous column, a line and curves by increasing roughness
_MOST_PER_COLUMN = 9
# the same beyond some rows, and of all columns together, since a family takes the cube of their number
_FEW_ROWS, _MOST_OF_MANY_ROWS, _MOST_OF_COLUMNS = 1_000, 32, 240
_GROWTH = 0.43
# most functions of a continuous column in its products with another one, and with levels
_MOST_FACTORS, _MOST_FACTORS_OF_LEVELS = 3, 6
# what cross products may cost: multiplications, and functions of all columns
_MOST_PRODUCTS = 2e10
_MOST_COLUMNS_OF_PRODUCTS = 4_000
# the same with products of two columns, of at most 10,000 rows
_MOST_PRODUCTS_OF_PAIRS = 5e9
_ROWS_OF_PAIRS = 10_000
_MOST_COLUMNS_OF_PAIRS = 2_000
_BLOCK_ROWS = 1 << 14
_BLOCK_NUMBERS = 1 << 24
# prior precision of coefficients, in rows: of a line, and of the narrower ones where there are lines alone
_LINE_PRECISION = 1.0
_WIDTHS = (1.0, 10.0, 100.0)
# fewest levels whose line says less than their indicators
_LEAST_ORDERED = 3
# of the least rough curve, for each prior: lines, lines in units, and smooth curves
_CURVE_PRECISIONS = (*(np.inf for _ in _WIDTHS), np.inf, 1.0)
# prior of the variance of residuals, which are relative to the variance of the column
_PRIOR_ROWS = 1.0
_PRIOR_SQUARES = 0.02
_LEAST_DEVIATION = 1e-3

# most rows by which tails of residuals are judged
_MOST_ROWS_OF_TAILS = 1 << 15
# parts of the range of a column that is transformed
_PARTS_OF_TRANSFORM = 48

# most functions of a number as a parent of a logit
_MOST_OF_LOGIT = 7
# most rows by which discrete columns follow curves, and most of their functions
_MOST_ROWS_OF_LOGITS, _MOST_NUMBERS_OF_LOGITS = 6_000, 1 << 25


@dataclass(frozen=True)
class ScoredVariable:
    """One column for the score."""

    name: str
    # (n_rows,) float64 in original units, NaN where missing, or codes, `MISSING` as a byte where missing
    values: NDArray[np.float64] | NDArray[np.int32] | NDArray[np.uint8]
    n_levels: int  # 0 for a continuous column
    policies: tuple[Policy, ...] = ()  # library of a continuous column, fewest bins first
    shape: ColumnShape | None = None  # inside of the bins of a continuous column; without it they are uniform
    is_ordered: bool = False  # whether the levels of a discrete column are in their order

    @cached_property
    def ranks(self) -> SortedColumn:
        """A continuous column sorted once."""
        return SortedColumn(np.asarray(self.values, np.float64))

    @property
    def is_observed(self) -> NDArray[np.bool_]:
        """Which values are not missing, bool (n_rows,)."""
        if self.n_levels:
            return np.asarray(self.values.astype(np.uint8) != MISSING)
        return ~np.isnan(self.values)

    @property
    def n_observed(self) -> int:
        """Number of values that are not missing."""
        return int(np.count_nonzero(self.is_observed))

    @property
    def constant_score(self) -> float:
        """Part of the score of every network in nats that the column adds whatever its parents and its cuts are."""
        return 0.0 if self.shape is None else self.shape.constant_score * (len(self.values) / self.n_observed)

    @property
    def has_free_cuts(self) -> bool:
        """Return whether the column is continuous and no user has fixed its cuts."""
        return bool(self.policies) and all(policy.chosen for policy in self.policies)


class _Pair(NamedTuple):
    """Two columns, and how many factors of each are multiplied."""

    first: int
    second: int
    of_first: int
    of_second: int

    @property
    def n_products(self) -> int:
        """Number of products."""
        return self.of_first * self.of_second


# distance from the median, in interquartile ranges, at which a column in its own units ends
_MOST_WIDTHS = 30.0
# inner knots of the splines of the curves: of few functions, and per function of many
_INNER_KNOTS, _KNOTS_PER_FUNCTION = 8, 1.5
_DEGREE = 3
_LEAST_EIGENVALUE = 1e-6


class LevelFunctions:
    """Indicators of the levels that occur, scaled to a standard deviation of 1.

    Of at least three levels in their order the last function is a line: the normal scores of the levels' mean ranks.
    """

    def __init__(self, codes: NDArray[np.int32], n_levels: int, *, is_ordered: bool = False) -> None:
        self._codes = codes
        counts = np.bincount(codes, minlength=n_levels)
        share = counts / len(codes)
        self._used = np.flatnonzero((share > 0) & (share < 1))
        self._scale = 1 / np.sqrt(share[self._used] * (1 - share[self._used]))
        self.has_line = is_ordered and len(self._used) >= _LEAST_ORDERED
        self._line = np.empty((n_levels, 0))
        if self.has_line:
            scores = _quantile(np.cumsum(counts) - counts / 2, len(codes))
            scores = scores - share @ scores
            self._line = (scores / np.sqrt(share @ scores**2))[:, None]
        self.roughness = np.zeros(len(self._used) + self._line.shape[1])
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
        return np.column_stack([indicators, self._line[codes]]) if self.has_line else indicators

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
        is_fine = n_functions > _MOST_PER_COLUMN
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

    The last one is left out where the others say the same, as of a column of few values.
    """

    def __init__(
        self, values: NDArray[np.float64], scores: NDArray[np.float64], n_functions: int, *, has_units: bool
    ) -> None:
        self._values = values
        self.smooth = SmoothFunctions(scores, n_functions)
        # curves are any function of so few values
        adds = has_units and len(np.unique(values)) > len(self.smooth.roughness) + 1
        self.units = UnitFunction(values) if adds else None
        self.n_curves = len(self.smooth.roughness)
        self.roughness = np.append(self.smooth.roughness, np.zeros(int(self.units is not None)))
        self.n_factors = min(_MOST_FACTORS_OF_LEVELS, self.n_curves)

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        return self._with_units(self.smooth.of_rows(first, last), self._values[first:last])

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


def curve_data(variables: Sequence[ScoredVariable]) -> CurveData:
    """Return what kernels need to score columns as sums of curves of their parents; no curves for very large tables.

    Discrete columns of at most eight levels may follow logits, whose log odds are sums of curves of their parents;
    see `gomea_bn.problems.kernels.logits`. Columns of counts may have such sums as logarithms of their means; see
    `gomea_bn.problems.kernels.counts`. Continuous columns with a shape may follow curves, unless point masses
    have some of their rows and a density has others; all columns may be parents. A column follows its parents on the
    scale of its normal scores, or, if its bins may be uniform, in its own units. It is a sum of one smooth curve of
    the normal scores of every continuous parent and a line of its values, one amount for every level of every discrete
    parent, and noise. The score is the marginal likelihood under a normal prior of the coefficients and an
    inverse-gamma prior of the variance of normal noise, as a density with respect to the shape of the column. The
    noise is never narrower than what equal values cover, so that repeated values gain no density.

    Three models are compared: lines of normal scores, under the best of three prior widths; these lines and lines of
    values; and all functions, where the prior precision of a curve grows with its roughness. Levels in their order have
    a line, too: the second model has it in place of their amounts, and the third one next to them. The first and the
    last one may also have products of pairs of parents: of lines and levels, or of the first functions and levels, as
    many as are affordable for all pairs of columns. Pairs are chosen by what each one gains alone, and the choice costs
    the log of the number of sets of as many pairs.

    Normal scores may be transformed first; see `gomea_bn.problems.kernels.transforms`. The noise of the best models
    may have heavy tails, or widths that follow the parents; see `gomea_bn.problems.kernels.tails` and `widths`. Up to
    32,768 rows judge these, of longer tables in proportion.

    Beyond 1,000 rows columns have more functions, in proportion to the power .43 of the rows, and a fourth model has
    rough curves, which follow kinks: what the functions of a parent miss would return as false edges.
    """
    sizes, functions = sizes_and_functions(variables)
    if sizes is None:
        return no_curves()
    with one_blas_thread():
        return _of_rows(variables, functions, sizes)


class CurveSizes(NamedTuple):
    """How many functions the columns of a table have."""

    per_column: int  # most functions of the ranks of a continuous column
    has_units: bool  # whether continuous columns in their own units are functions, too
    # most factors of a continuous column in products: of two such columns, of both kinds, and of discrete ones; 0: none
    factors: tuple[int, int, int]


ColumnFunctions = LevelFunctions | NumberFunctions
"""The functions of a column, by its kind."""


def sizes_and_functions(
    variables: Sequence[ScoredVariable], *, has_units: bool | None = None
) -> tuple[CurveSizes | None, list[ColumnFunctions]]:
    """Return how many functions the columns of a table have, and these; None if lines are too costly or of no use.

    `has_units` says whether columns in their own units are functions, if they are affordable; by default they are if
    any column may be uniform inside its bins.
    """
    n_rows = len(variables[0].values)
    n_levels, n_continuous = sum(v.n_levels for v in variables), sum(not v.n_levels for v in variables)
    most = min(_MOST_COLUMNS_OF_PRODUCTS, (_MOST_PRODUCTS / n_rows) ** 0.5)
    wanted = min(_MOST_OF_MANY_ROWS, _MOST_OF_COLUMNS // max(n_continuous, 1))
    wanted = max(_MOST_PER_COLUMN, min(wanted, int(_MOST_PER_COLUMN * (n_rows / _FEW_ROWS) ** _GROWTH)))
    affordable = (most - n_levels) // max(n_continuous, 1)
    per_column = int(min(wanted, affordable))
    if per_column < 1 or not any(_may_follow(variable) for variable in variables):
        return None, []
    if has_units is None:
        # where shapes are all that counts, increasing transformations change nothing
        has_units = any(v.shape is not None and False in v.shape.measures for v in variables)
    has_units = has_units and affordable > per_column
    # eigenvectors of small matrices do not pay for threads, and one thread gives the same signs everywhere
    with one_blas_thread():
        functions = column_functions(variables, per_column, has_units)
    return CurveSizes(per_column, has_units, _affordable_factors(functions, n_rows)), functions


def family_curve_data(
    variables: Sequence[ScoredVariable],
    sizes: CurveSizes,
    functions: Sequence[ColumnFunctions] | None = None,
) -> CurveData:
    """Return what kernels need to score some columns of a table as sums of curves of others.

    `functions` are those of the columns, if they are known.
    """
    with one_blas_thread():
        if functions is None:
            functions = column_functions(variables, sizes.per_column, sizes.has_units)
        return _of_rows(variables, functions, sizes)


def column_functions(
    variables: Sequence[ScoredVariable], per_column: int, has_units: bool
) -> list[ColumnFunctions]:
    """Return the functions of every column."""
    return [
        LevelFunctions(
            np.asarray(variable.values, np.int32), variable.n_levels, is_ordered=variable.is_ordered
        )
        if variable.n_levels
        else NumberFunctions(values, normal_scores(values)[0], per_column, has_units=has_units)
        for variable in variables
        for values in (np.asarray(variable.values, np.float64),)
    ]


def _of_rows(
    variables: Sequence[ScoredVariable],
    functions: Sequence[ColumnFunctions],
    sizes: CurveSizes,
) -> CurveData:
    """Return the moments of all rows, given the functions of every column."""
    n_rows, n, per_column = len(variables[0].values), len(variables), sizes.per_column
    scores: dict[int, NDArray[np.float64]] = {}
    widths: dict[int, NDArray[np.float64]] = {}
    for v, variable in enumerate(variables):
        if not variable.n_levels:
            scores[v], widths[v] = normal_scores(np.asarray(variable.values, np.float64))
    first = np.cumsum([0, *(len(column.roughness) for column in functions)]).astype(np.int64)
    kinds_of_pairs = _pairs(functions, sizes.factors)
    pairs = [pair for kind in kinds_of_pairs for pair in kind]
    pair, n_products = np.full((n, n), -1, np.int64), np.zeros((n, n), np.int64)
    ends = first[-1] + np.cumsum([0, *(one.n_products for one in pairs)])
    for one, start in zip(pairs, ends, strict=False):
        pair[one.first, one.second] = pair[one.second, one.first] = start
        n_products[one.first, one.second] = n_products[one.second, one.first] = one.n_products
    terms = np.array(
        [
            (one.first, a, one.second, b)
            for one in pairs
            for a, b in product(range(one.of_first), range(one.of_second))
        ],
        np.int64,
    ).reshape(-1, 4)
    size = int(ends[-1])
    targets = np.zeros((n_rows, n, _N_TARGETS))
    alone = np.full((n, _N_TARGETS), -np.inf)
    least = np.zeros((n_rows, n, _N_TARGETS))
    for v, variable in enumerate(variables):
        if _may_follow(variable) and variable.shape is not None:
            targets[:, v, 0], least[:, v, 0] = _centred(scores[v], widths[v])
            alone[v, 0] = variable.shape.compared_log_likelihood
            # a probability has no units
            if False in variable.shape.measures:
                targets[:, v, 1], least[:, v, 1], alone[v, 1] = _in_own_units(variable)
    unexplained = np.where(alone > -np.inf, _PRIOR_SQUARES + least.sum(axis=0), 1.0)
    flat = targets.reshape(n_rows, -1)
    sums, products, with_targets = np.zeros(size), np.zeros((size, size)), np.zeros((size, flat.shape[1]))
    n_block = min(_BLOCK_ROWS, _BLOCK_NUMBERS // size)
    for start in range(0, n_rows, n_block):
        of_columns = [f.of_rows(start, start + n_block) for f in functions]
        factors = [f.factors(values) for f, values in zip(functions, of_columns, strict=True)]
        of_pairs = [factors[i][:, :of_i, None] * factors[j][:, None, :of_j] for i, j, of_i, of_j in pairs]
        block = np.concatenate(
            [*of_columns, *(of_pair.reshape(len(of_pair), -1) for of_pair in of_pairs)], axis=1
        )
        sums += block.sum(axis=0)
        products += block.T @ block
        with_targets += block.T @ flat[start : start + n_block]
    products -= np.outer(sums, sums) / n_rows
    # products of a level are as rough as the other factor
    is_of_numbers = np.isin(terms[:, ::2], sorted(scores)).all(axis=1)
    of_factors = np.array([functions[v].roughness[a] for v, a in terms.reshape(-1, 2).tolist()]).reshape(
        -1, 2
    )
    of_products = np.where(is_of_numbers, 0.0, of_factors.sum(axis=1))
    roughness = np.concatenate([*(f.roughness for f in functions), of_products])
    of_curves: tuple[float, ...] = _CURVE_PRECISIONS
    if per_column > _MOST_PER_COLUMN:
        of_curves = (*of_curves, _FEW_ROWS / n_rows)
    precisions = np.array([_precisions(roughness, p) for p in of_curves])
    precisions[LINES:UNITS] *= np.array(_WIDTHS)[:, None]
    # next to lines, products are those of lines and levels; lines in units have none
    precisions[:UNITS, int(first[-1]) :][:, of_factors.any(axis=1)] = np.inf
    precisions[UNITS, int(first[-1]) :] = np.inf
    for v, column in enumerate(functions):
        if isinstance(column, NumberFunctions):
            last = first[v] + len(column.smooth.roughness)
            precisions[LINES:UNITS, last : first[v + 1]] = np.inf
            # smooth curves need few functions
            precisions[SMOOTH, first[v] + _MOST_PER_COLUMN : last] = np.inf
        elif column.has_line:
            last = first[v + 1] - 1
            precisions[LINES:UNITS, last] = np.inf
            precisions[UNITS, first[v] : last] = np.inf
            # next to their line levels differ less
            precisions[SMOOTH:, first[v] : last] = _WIDTHS[1]
    keys = (
        np.random.default_rng(_CURVE_KEY_SEED)
        .integers(1, 2**63, size=(2, n), dtype=np.int64)
        .astype(np.uint64)
    )
    logits, counts = _logit_data(variables, functions)
    tails = _tail_data(variables, functions, targets[:, :, 1], least, terms)
    squares, rows_of_noise = (targets**2).sum(axis=0) + unexplained, n_rows - 1 + _PRIOR_ROWS
    return CurveData(
        products=products,
        with_targets=with_targets.reshape(size, n, _N_TARGETS),
        squares=squares,
        unexplained=unexplained,
        alone=alone,
        first=first,
        pair=pair,
        n_products=n_products,
        terms=terms,
        kinds=first[-1] + np.cumsum([0, *(sum(one.n_products for one in kind) for kind in kinds_of_pairs)]),
        precisions=precisions,
        variable=np.zeros(0, np.int64),
        child_key=2 * keys[0] + 1,
        parent_key=2 * keys[1] + 1,
        half_rows=0.5 * rows_of_noise,
        logits=logits,
        counts=counts,
        transforms=_transform_data(
            variables, functions, scores, widths, first, products, squares, rows_of_noise, tails
        ),
        tails=tails,
    )


def _tail_data(
    variables: Sequence[ScoredVariable],
    functions: Sequence[ColumnFunctions],
    own: NDArray[np.float64],
    least: NDArray[np.float64],
    terms: NDArray[np.int64],
) -> TailData:
    """Return rows by which the tails of residuals are judged; of many rows some are taken."""
    n_rows, n = own.shape
    m = min(n_rows, _MOST_ROWS_OF_TAILS)
    some = np.sort(np.random.default_rng(_CURVE_KEY_SEED).permutation(n_rows)[:m])
    cells = np.zeros((n, m), np.uint16)
    least_of_cells, shares = np.zeros((n, _N_TARGETS, CELLS), np.float32), np.zeros((n, CELLS))
    of_cells, factors = [], []
    for v, column in enumerate(functions):
        values = column.of_rows(0, n_rows)
        if variables[v].n_levels:
            code = np.asarray(variables[v].values, np.int64)
        else:
            line = values[:, 0]
            code = np.minimum((line - line.min()) / np.ptp(line) * CELLS, CELLS - 1).astype(np.int64)
        cells[v] = code[some]
        counts = np.maximum(np.bincount(code, minlength=CELLS), 1)
        of_cells += [np.bincount(code, of_rows, minlength=CELLS) / counts for of_rows in values.T]
        shares[v] = np.bincount(code[some], minlength=CELLS) / m
        for t in range(_N_TARGETS):
            least_of_cells[v, t] = np.bincount(code, least[:, v, t], minlength=CELLS) / counts
        n_used = 1 + max(np.max(terms[terms[:, k] == v, k + 1], initial=-1) for k in (0, 2))
        factors.append(column.factors(values)[some, :n_used].T.astype(np.float32))
    first = np.cumsum([0, *(len(of_column) for of_column in factors)]).astype(np.int64)
    return TailData(
        cells,
        np.array(of_cells, np.float32),
        np.repeat(np.arange(n), [len(column.roughness) for column in functions]).astype(np.int64),
        # the order of an empty array; another one would compile all kernels of curves again
        np.ascontiguousarray(np.concatenate(factors)),
        first[terms[:, ::2]] + terms[:, 1::2],
        np.ascontiguousarray(own[some].T.astype(np.float32)),
        least_of_cells,
        shares,
        n_rows / m,
    )


def no_tails() -> TailData:
    """Return data with which all residuals are normal."""
    return TailData(
        np.zeros((0, 0), np.uint16),
        np.zeros((0, CELLS), np.float32),
        np.zeros(0, np.int64),
        np.zeros((0, 0), np.float32),
        np.zeros((0, 2), np.int64),
        np.zeros((0, 0), np.float32),
        np.zeros((0, _N_TARGETS, CELLS), np.float32),
        np.zeros((0, CELLS)),
        1.0,
    )


def _transform_data(
    variables: Sequence[ScoredVariable],
    functions: Sequence[ColumnFunctions],
    scores: Mapping[int, NDArray[np.float64]],
    widths: Mapping[int, NDArray[np.float64]],
    first: NDArray[np.int64],
    products: NDArray[np.float64],
    squares: NDArray[np.float64],
    n_rows: float,
    tails: TailData,
) -> TransformData:
    """Return what kernels need to score columns that follow curves of their parents after a transformation.

    `first`, `products`, `squares` and `tails` are those of `CurveData`, and `n_rows` are the rows with those of the
    prior.
    """
    data, scratch = no_transforms(len(variables)), new_transform_scratch()
    for v, column in enumerate(functions):
        if isinstance(column, NumberFunctions) and _may_follow(variables[v]):
            set_transform(data, v, column.smooth, scores[v], widths[v])
        size = int(data.n_functions[v])
        if size:
            own = slice(first[v], first[v] + size)
            of_prior = np.diag(np.append(0.0, data.precisions[v, 1:size]))
            scratch.moments[:size, :size] = products[own, own] + data.least[v, :size, :size] + of_prior
            gain = transform_gain(data, scratch, v, n_rows, squares[v, OF_RANKS])
            transform = scratch.coefficients[0, :size]
            # few values may have heavy tails after it
            noise = _new_tail_scratch(tails.cells.shape[1], 0)
            noise.residuals[:] = (transform @ tails.of_cells[own])[tails.cells[v]]
            of_tails, _ = fit_tails(noise, transform @ data.least[v, :size, :size] @ transform / n_rows)
            data.alone[v] = max(gain + max(n_rows * of_tails - 0.5 * log(n_rows), 0.0), 0.0)
    return data


def set_transform(
    data: TransformData,
    v: int,
    functions: SmoothFunctions,
    scores: NDArray[np.float64],
    widths: NDArray[np.float64],
) -> None:
    """Let a column be transformed, if it has more functions than a line.

    `scores` and `widths`, float64 (n_rows,), are those of `functions`, and what equal values cover.
    """
    size = min(len(functions.roughness), MOST_OF_TRANSFORM)
    if size < 2:
        return
    distinct, inverse = np.unique(scores, return_inverse=True)
    # parts end half-way between values
    between = np.concatenate((distinct[:1], (distinct[1:] + distinct[:-1]) / 2, distinct[-1:]))
    wanted = np.linspace(between[0], between[-1], _PARTS_OF_TRANSFORM + 1)
    chosen = np.unique(np.searchsorted(between, wanted))
    chosen[-1] = len(between) - 1
    n_parts, ends = len(chosen) - 1, between[chosen]
    slopes = np.diff(functions.of_scores(ends)[:, :size], axis=0) / np.diff(ends)[:, None]
    part = (np.searchsorted(chosen, np.arange(len(distinct)), side="right") - 1)[inverse]
    least = np.maximum(widths**2 / (2 * pi), (_LEAST_DEVIATION * scores.std()) ** 2)
    of_parts = np.bincount(part, least, minlength=n_parts)
    data.n_functions[v], data.n_parts[v] = size, n_parts
    data.slopes[v, :n_parts, :size] = slopes
    data.rows[v, :n_parts] = np.bincount(part, minlength=n_parts)
    data.least[v, :size, :size] = slopes.T @ (slopes * of_parts[:, None])
    data.least[v, 0, 0] += _PRIOR_SQUARES
    data.precisions[v, 1:size] = _precisions(functions.roughness[1:size], _CURVE_PRECISIONS[-1])


def no_transforms(n_variables: int) -> TransformData:
    """Return data with which no column is transformed."""
    return TransformData(
        np.zeros(n_variables, np.int64),
        np.zeros(n_variables, np.int64),
        np.zeros((n_variables, _PARTS_OF_TRANSFORM, MOST_OF_TRANSFORM)),
        np.zeros((n_variables, _PARTS_OF_TRANSFORM)),
        np.ones((n_variables, MOST_OF_TRANSFORM)),
        np.zeros((n_variables, MOST_OF_TRANSFORM, MOST_OF_TRANSFORM)),
        np.zeros(n_variables),
    )


def _logit_data(
    variables: Sequence[ScoredVariable], functions: Sequence[LevelFunctions | NumberFunctions]
) -> tuple[LogitData, CountData]:
    """Return what kernels need to score discrete columns as logits of curves of their parents, and columns of counts.

    Rows are in random order. Of many rows, or of many columns, some are taken.
    """
    n_rows, n = len(variables[0].values), len(variables)
    n_functions = sum(len(column.roughness) for column in functions)
    m = min(n_rows, _MOST_ROWS_OF_LOGITS, _MOST_NUMBERS_OF_LOGITS // n_functions)
    some = np.random.default_rng(_CURVE_KEY_SEED).permutation(n_rows)[:m]
    n_levels, codes = np.zeros(n, np.int64), np.zeros((n, m), np.uint8)
    for v, variable in enumerate(variables):
        n_present = len(np.unique(variable.values)) if variable.n_levels else 0
        if 2 <= n_present <= MOST_LEVELS:
            among, of_rows = np.unique(np.asarray(variable.values)[some], return_inverse=True)
            # levels need rows to show what they depend on
            if len(among) == n_present:
                n_levels[v], codes[v] = n_present, of_rows
    counts = _count_data(variables, some)
    if not n_levels.any() and not counts.is_count.any():
        return no_logits(n), counts
    shares = np.zeros((n, max(int(n_levels.max()), 1)))
    for v in np.flatnonzero(n_levels).tolist():
        shares[v, : n_levels[v]] = np.bincount(codes[v]) / m
    cells = cell_data([column.of_rows(0, n_rows)[some] for column in functions], CELLS)
    most = [
        _MOST_OF_LOGIT if isinstance(column, NumberFunctions) else len(column.roughness)
        for column in functions
    ]
    return LogitData(cells, codes, n_levels, shares, np.array(most), np.zeros(n), n_rows / m), counts


def cell_data(functions: Sequence[NDArray[np.float64]], n_most: int) -> CellData:
    """Return columns as cells, given the functions of each, float64 (n_rows, n_functions), a line first if it is one.

    Rows with equal functions are in one cell; of a line with more than `n_most` values, those in intervals of one width
    are. Coarse cells are made in the same way.
    """
    fine, coarse = ([_cells(values, most) for values in functions] for most in (n_most, min(n_most, COARSE)))
    return CellData(
        *_cell_means(functions, fine),
        *_cell_means(functions, coarse),
        np.repeat(np.arange(len(functions)), [values.shape[1] for values in functions]).astype(np.int64),
    )


def _cells(functions: NDArray[np.float64], n_most: int) -> NDArray[np.int32]:
    """Return the cell of every row, int32 (n_rows,); every cell has rows, and a line at most `n_most` cells."""
    if not functions.shape[1]:
        # a column of one value
        return np.zeros(len(functions), np.int32)
    is_line = len(np.unique(functions[:, 0])) > _MOST_OF_LOGIT
    # of more levels than a family has functions, the line alone may be one
    seen = functions if functions.shape[1] <= MOST_TERMS else functions[:, -1:]
    keys = functions[:, 0] if is_line else np.unique(seen, axis=0, return_inverse=True)[1].ravel()
    cells = np.unique(keys, return_inverse=True)[1]
    if is_line and cells.max(initial=0) >= n_most:
        low, high = keys.min(), keys.max()
        places = np.minimum((keys - low) / (high - low) * n_most, n_most - 1).astype(np.int64)
        cells = np.unique(places, return_inverse=True)[1]
    return cells.astype(np.int32)


def _cell_means(
    functions: Sequence[NDArray[np.float64]], cells: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Return cells by column, (N, m), their numbers, (N,), and the means of functions in cells, (M, most cells)."""
    n_cells = np.array([of_column.max(initial=0) + 1 for of_column in cells], np.int64)
    means = np.zeros((sum(values.shape[1] for values in functions), int(n_cells.max(initial=1))))
    place = 0
    for values, of_column in zip(functions, cells, strict=True):
        counts = np.bincount(of_column)
        for function in values.T:
            means[place, : len(counts)] = np.bincount(of_column, function) / counts
            place += 1
    return np.stack(cells), n_cells, means


def _count_data(variables: Sequence[ScoredVariable], some: NDArray[np.int64]) -> CountData:
    """Return what kernels need to score columns of counts, in some rows.

    A count without parents has the score of its shape, or that of a Poisson or negative binomial distribution if it is
    better, so that only parents gain.
    """
    from gomea_bn.problems.counts import COUNT_SIZES, count_constants, log_probabilities_of_counts

    n, n_rows = len(variables), len(variables[0].values)
    is_count = np.array([_may_count(variable) for variable in variables])
    if not is_count.any():
        return no_counts(n)
    values = np.zeros((n, len(some)), np.int32)
    for v in np.flatnonzero(is_count).tolist():
        values[v] = np.asarray(variables[v].values)[some]
    numbers, sizes = np.arange(int(values.max()) + 1), np.array(COUNT_SIZES)
    constants = np.array([count_constants(numbers, size) for size in COUNT_SIZES])
    means, alone, reference = values.mean(axis=1), np.zeros(n), np.zeros(n)
    first_size = np.zeros(n, np.int64)
    for v in np.flatnonzero(is_count).tolist():
        of_column = np.bincount(values[v], minlength=len(numbers))
        # without rows above 0 there is nothing to follow
        is_count[v] = means[v] > 0
        if not is_count[v]:
            continue
        means_of_numbers = np.full(len(numbers), log(means[v]))
        logs = [
            float(of_column @ log_probabilities_of_counts(numbers, means_of_numbers, size))
            for size in COUNT_SIZES
        ]
        first_size[v] = int(np.argmax(logs))
        column_shape = variables[v].shape
        assert column_shape is not None
        shape, every = column_shape.shape, np.asarray(variables[v].values, np.float64)
        # a probability of a number without point mass is spread over a step of 1
        of_shape = shape.log_scaled_density(every)
        steps = np.where(shape.find_points(every)[1], 0.0, log(shape.high - shape.low))
        chosen = column_shape.log_likelihood - float(of_shape.sum())
        of_rows = float((of_shape - steps)[some].sum()) + chosen * len(some) / n_rows
        alone[v], reference[v] = column_shape.compared_log_likelihood, max(of_rows, *logs)
    return CountData(values, is_count, means, alone, reference, sizes, first_size, constants)


def no_counts(n_variables: int) -> CountData:
    """Return data with which no column is a count."""
    return CountData(
        np.zeros((n_variables, 0), np.int32),
        np.zeros(n_variables, np.bool_),
        np.zeros(n_variables),
        np.zeros(n_variables),
        np.zeros(n_variables),
        np.array([np.inf]),
        np.zeros(n_variables, np.int64),
        np.zeros((1, 1)),
    )


def no_logits(n_variables: int) -> LogitData:
    """Return data with which no discrete column follows curves."""
    nothing = np.zeros((n_variables, 0), np.int32), np.zeros(n_variables, np.int64), np.zeros((0, 1))
    return LogitData(
        CellData(*nothing, *nothing, np.zeros(0, np.int64)),
        np.zeros((n_variables, 0), np.uint8),
        np.zeros(n_variables, np.int64),
        np.zeros((n_variables, 1)),
        np.zeros(n_variables, np.int64),
        np.zeros(n_variables),
        1.0,
    )


def _affordable_factors(functions: Sequence[ColumnFunctions], n_rows: int) -> tuple[int, int, int]:
    """Return how many factors of a continuous column are affordable in the products of all pairs, by kind of pair.

    Each kind has as many as the kinds before it leave. Pairs with too many products of levels have none.
    """
    n_functions = sum(len(column.roughness) for column in functions)
    most = min(_MOST_COLUMNS_OF_PAIRS, (_MOST_PRODUCTS_OF_PAIRS / min(n_rows, _ROWS_OF_PAIRS)) ** 0.5)
    left = most - n_functions
    factors = [0, 0, 0]
    for kind in range(3):
        for n_factors in range(_MOST_FACTORS_OF_LEVELS, 0, -1):
            size = _n_products(functions, n_factors)[kind]
            if size <= left:
                factors[kind] = n_factors
                left -= size
                break
    return factors[0], factors[1], factors[2]


def _n_products(functions: Sequence[ColumnFunctions], n_factors: int) -> tuple[int, int, int]:
    """Return how many products the pairs of every kind have in `_pairs`, given the factors of continuous columns."""
    continuous, levels = (
        np.array([f.n_factors for f in functions if isinstance(f, kind)], np.int64)
        for kind in (NumberFunctions, LevelFunctions)
    )
    n_used = min(n_factors, _MOST_FACTORS)
    of_numbers = comb(int((continuous >= n_used).sum()), 2) * n_used**2
    few = levels[(levels > 0) & (levels <= MOST_PER_PAIR)]
    of_levels = np.minimum(n_factors, MOST_PER_PAIR // few)
    of_both = (few[:, None] * np.minimum(of_levels[:, None], continuous)).sum()
    crossed = np.outer(levels, levels)[np.triu_indices(len(levels), 1)]
    return of_numbers, int(of_both), int(crossed[crossed <= MOST_PER_PAIR].sum())


def _pairs(
    functions: Sequence[ColumnFunctions], factors: Sequence[int]
) -> tuple[list[_Pair], list[_Pair], list[_Pair]]:
    """Return the pairs whose factors are multiplied: of continuous columns, of both kinds, and of discrete columns."""
    continuous = [v for v, column in enumerate(functions) if isinstance(column, NumberFunctions)]
    levels = [v for v in range(len(functions)) if v not in continuous]
    of_numbers, of_both, of_levels = factors
    n_used = min(of_numbers, _MOST_FACTORS)
    members = [v for v in continuous if functions[v].n_factors >= n_used]
    numbers = [_Pair(i, j, n_used, n_used) for i, j in combinations(members, 2)] if n_used else []
    both = [
        _Pair(i, j, n_levels, min(of_both, functions[j].n_factors, MOST_PER_PAIR // n_levels))
        for i, j in product(levels, continuous)
        if of_both and 0 < (n_levels := functions[i].n_factors) <= MOST_PER_PAIR
    ]
    pairs = [
        _Pair(i, j, functions[i].n_factors, functions[j].n_factors)
        for i, j in combinations(levels if of_levels else [], 2)
    ]
    return numbers, both, [pair for pair in pairs if 0 < pair.n_products <= MOST_PER_PAIR]


def _may_follow(variable: ScoredVariable) -> bool:
    """Return whether a column may be a sum of curves: one of few values or without point masses, not a mixture."""
    shape = variable.shape
    return shape is not None and (shape.shape.has_few_values or not len(shape.shape.point_values))


def _may_count(variable: ScoredVariable) -> bool:
    """Return whether a column may be a count."""
    from gomea_bn.problems.counts import are_counts

    return variable.shape is not None and are_counts(np.asarray(variable.values, np.float64))


def _precisions(roughness: NDArray[np.float64], of_curve: float) -> NDArray[np.float64]:
    """Return the prior precision of every function, in rows, given that of the least rough curve.

    Products of two continuous columns have the roughness 0 and the precision of a line.
    """
    with np.errstate(invalid="ignore"):
        of_curves = np.maximum(of_curve * roughness, _LINE_PRECISION)
    return np.where(roughness == 0, _LINE_PRECISION, of_curves)


def _centred(
    values: NDArray[np.float64], widths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return standardised values and squares that no curve explains: noise is as wide as equal values."""
    mean, deviation = values.mean(), values.std()
    least = np.maximum(widths**2 / (2 * pi) / deviation**2, _LEAST_DEVIATION**2)
    return (values - mean) / deviation, least


def _in_own_units(variable: ScoredVariable) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
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
    around = np.diff(np.concatenate([distinct[:1], distinct[1:] / 2 + distinct[:-1] / 2, distinct[-1:]]))
    widths = np.maximum(np.where(counts > 1, around, 0.0), shape.resolution)[inverse]
    target, least = _centred(values / scale, widths / scale)
    normal = -n_rows * (log(float((values / scale).std())) + 0.5 * log(2 * pi) + 0.5) - log(n_rows)
    return target, least, shape.compared_log_likelihood + min(normal - shape.log_likelihood, 0.0)


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
        n_products=np.zeros((0, 0), np.int64),
        terms=np.zeros((0, 4), np.int64),
        kinds=np.zeros(4, np.int64),
        precisions=nothing,
        variable=np.zeros(0, np.int64),
        child_key=np.zeros(0, np.uint64),
        parent_key=np.zeros(0, np.uint64),
        half_rows=0.0,
        logits=no_logits(0),
        counts=no_counts(0),
        transforms=no_transforms(0),
        tails=no_tails(),
    )


def new_cell_scratch(cells: CellData, n_further: int) -> CellScratch:
    """Return the work space of one thread for sums over cells, with a number of parameters apart from coefficients."""
    m, n_most = cells.fine.shape[1], max(cells.of_fine.shape[1], cells.of_coarse.shape[1])
    n_parents = min(len(cells.fine), MOST_TERMS)
    n_functions = np.bincount(cells.column, minlength=1).max(initial=1)
    return CellScratch(
        parents=np.zeros((n_parents + 1, 2), np.int64),
        combined=zeros_by_pages((n_parents, m), np.int32),
        joint=np.zeros(m, np.int32),
        heights=zeros_by_pages((n_parents, n_most), np.float64),
        lanes=zeros_by_pages((n_parents, LANES, n_most), np.float64),
        crossed=np.zeros((n_further, n_parents, cells.of_coarse.shape[1])),
        weights=np.zeros(m),
        of_pair=np.zeros(cells.of_coarse.shape[1] ** 2),
        product=np.zeros((n_functions, cells.of_coarse.shape[1])),
        system=np.zeros((MOST_PARAMETERS, MOST_PARAMETERS + 1)),
        parameters=np.zeros((5, MOST_PARAMETERS)),
    )


def new_logit_scratch(cells: CellData, n_levels: int) -> LogitScratch:
    """Return the work space of one thread for logits of columns with at most `n_levels` levels."""
    n_free = max(n_levels - 2, 0)
    m = cells.fine.shape[1]
    return LogitScratch(
        cells=new_cell_scratch(cells, 2 * n_free),
        counts=np.zeros((n_levels, m)),
        totals=np.zeros(m),
        block=np.zeros((N_OF_ITEM + n_levels, ITEMS_OF_BLOCK)),
        sums=np.zeros((1 + 2 * n_free + 3 * n_free * (n_free + 1) // 2, ITEMS_OF_BLOCK)),
        levels=np.zeros((4, n_levels)),
        between=np.zeros((n_levels, n_levels + 1)),
        odds=zeros_by_pages((n_levels, m), np.float64),
        slopes=np.zeros((2, n_levels, MOST_TERMS + 1)),
        state=np.zeros(3),
    )


def _new_tail_scratch(n_rows: int, n_functions: int) -> TailScratch:
    """Return the work space of one thread for the tails of residuals."""
    return TailScratch(
        *np.zeros((4, n_rows), np.float32),
        np.zeros(PARTS, np.float32),
        np.zeros(CELLS, np.float32),
        np.zeros(2),
        np.zeros((2, n_functions)),
    )


def new_transform_scratch() -> TransformScratch:
    """Return the work space of one thread for transformations."""
    return TransformScratch(
        np.zeros((MOST_OF_TRANSFORM, MOST_OF_TRANSFORM)),
        np.zeros((MOST_OF_TRANSFORM, MOST_OF_TRANSFORM + 1)),
        np.zeros((3, MOST_OF_TRANSFORM)),
        np.zeros(_PARTS_OF_TRANSFORM),
        np.zeros(MOST_OF_TRANSFORM, np.int64),
    )


def new_curve_scratch(curves: CurveData) -> CurveScratch:
    """Return the work space of one thread for curves."""
    size = min(len(curves.products), MOST_FUNCTIONS)
    cells, n_levels = curves.logits.cells, curves.logits.shares.shape[1]
    logits, n_counted = new_logit_scratch(cells, n_levels), curves.counts.values.shape[1]
    counts = CountScratch(
        logits.cells,
        np.zeros(n_counted),
        np.zeros((2, ITEMS_OF_BLOCK)),
        np.zeros(len(curves.counts.sizes)),
        np.zeros(3),
    )
    n_of_tails = curves.tails.cells.shape[1]
    tails = _new_tail_scratch(n_of_tails, size)
    widths = WidthScratch(
        squares=np.zeros(n_of_tails, np.float32),
        functions=np.zeros(MOST_OF_WIDTHS, np.int64),
        sums=np.zeros(MOST_OF_WIDTHS),
        forms=np.zeros((MOST_FORMS, 4), np.int64),
        used=np.zeros(MOST_FORMS, np.int64),
        chosen=np.zeros(MOST_OF_WIDTHS, np.int64),
        system=np.zeros((MOST_OF_WIDTHS, MOST_OF_WIDTHS + 1)),
        precisions=np.zeros(MOST_OF_WIDTHS),
        coefficients=np.zeros((3, MOST_OF_WIDTHS)),
        counts=np.zeros(3, np.int64),
        best=np.zeros(MOST_OF_WIDTHS, np.int64),
    )
    most_targets = max(_N_TARGETS + MOST_OF_TRANSFORM, n_levels)
    return CurveScratch(
        np.zeros(size, np.int64),
        np.zeros((size, size + most_targets)),
        np.zeros(size),
        logits,
        new_transform_scratch(),
        np.zeros((4 * len(curves.precisions), COEFFICIENTS + MOST_OF_TRANSFORM)),
        tails,
        widths,
        ProductScratch(
            np.zeros((MOST_PER_PAIR, MOST_PER_PAIR + _N_TARGETS)),
            np.zeros(MOST_PER_PAIR),
            np.zeros(MOST_WITH_PRODUCTS, np.int64),
            np.zeros(MOST_WITH_PRODUCTS, np.int64),
            np.zeros((MOST_WITH_PRODUCTS, 2), np.int64),
            np.zeros(MOST_WITH_PRODUCTS),
            np.zeros(2, np.int64),
        ),
        counts,
        np.zeros(1, np.int64),
        np.zeros(COEFFICIENTS + MOST_OF_TRANSFORM),
        np.zeros(2, np.int64),
        np.zeros(COEFFICIENTS),
    )
