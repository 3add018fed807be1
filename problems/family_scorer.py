"""Scores of families: a variable and its parents, each with a discretization. Computed in batches and cached.

Columns are taken as the score needs them: their values, their codes and constants under a policy, and the smooth
functions of every column that another column may be a sum of, with their cross products.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import lgamma, log, pi
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import DTypeLike, NDArray

from gomea_bn.data.columns import ROWS_WORTH_THREADS
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, Policy
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.curves import COEFFICIENTS, MOST_FUNCTIONS, CurveData, CurveScratch
from gomea_bn.problems.kernels.logits import (
    MOST_LEVELS,
    MOST_PARAMETERS,
    MOST_TERMS,
    ROWS_AT_ONCE,
    LogitData,
    LogitScratch,
)
from gomea_bn.problems.kernels.score import (
    BLOCK,
    LEFT_OUT,
    LEFT_OUT_BEST,
    MISFIT_KINDS,
    MISSING,
    MOST_MEMBERS,
    FamilyCache,
    RowData,
    ScoreRule,
    ScoreScratch,
    cache_merge,
    score_counts,
    score_families,
)
from gomea_bn.problems.kernels.tails import CELLS, PARTS, TailData, TailScratch
from gomea_bn.problems.kernels.transforms import MOST_OF_TRANSFORM, TransformData, TransformScratch
from gomea_bn.problems.scores import ScoringMethod
from gomea_bn.runtime.checkpoints import fill, generator_states, generators_of
from gomea_bn.runtime.threads import in_threads, one_blas_thread

# NumPy asks for pages of 2 MiB for arrays of at least this number of bytes
_BYTES_OF_HUGE_PAGES = 1 << 22

_LEAVES_OUT = (LEFT_OUT, LEFT_OUT_BEST)
# powers of 2 above it are normal floats
_LEAST_EXPONENT = -1000
# constants have this number of binary digits for the nats of a row, about twelve decimal ones
_BITS_OF_CONSTANT = 40

# any fixed number: keys must be the same in every process
_CURVE_KEY_SEED = 20250131
_N_TARGETS = 2
# most functions of a continuous column, a line and curves by increasing roughness
_MOST_PER_COLUMN = 9
# the same beyond some rows, and of all columns together, since a family takes the cube of their number
_FEW_ROWS, _MOST_OF_MANY_ROWS, _MOST_OF_COLUMNS = 1_000, 32, 240
_GROWTH = 0.43
# most functions of either column in the products of two columns
_MOST_PER_PAIR = 3
# what cross products may cost: multiplications, and functions of all columns
_MOST_PRODUCTS = 2e10
_MOST_COLUMNS_OF_PRODUCTS = 4_000
# the same with products of two columns, of at most 10,000 rows
_MOST_PRODUCTS_OF_PAIRS = 5e9
_ROWS_OF_PAIRS = 10_000
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

# most rows by which tails of residuals are judged
_MOST_ROWS_OF_TAILS = 1 << 15
# parts of the range of a column that is transformed
_PARTS_OF_TRANSFORM = 48

# most rows by which discrete columns follow curves, and most of their functions
_MOST_ROWS_OF_LOGITS, _MOST_NUMBERS_OF_LOGITS = 6_000, 1 << 25

_FIRST_CAPACITY = 1 << 12


def zeros_by_pages(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros of which only the written parts take memory, in the pages of the system.

    NumPy asks for pages of 2 MiB, so that one written row of 100 kB takes 2 MiB, and the time to fill them with zeros.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes < _BYTES_OF_HUGE_PAGES:
        return np.zeros(shape, dtype)
    # a forked process gets a copy, as of other arrays
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    return np.frombuffer(mmap.mmap(-1, n_bytes, **private), dtype).reshape(shape)


@dataclass(frozen=True)
class ScoredVariable:
    """One column for the score."""

    name: str
    # (n_rows,) float64 in original units, NaN where missing, or codes, `MISSING` as a byte where missing
    values: NDArray[np.float64] | NDArray[np.int32] | NDArray[np.uint8]
    n_levels: int  # 0 for a continuous column
    policies: tuple[Policy, ...] = ()  # library of a continuous column, fewest bins first
    shape: ColumnShape | None = None  # inside of the bins of a continuous column; without it they are uniform

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
    def has_free_cuts(self) -> bool:
        """Return whether the column is continuous and no user has fixed its cuts."""
        return bool(self.policies) and all(policy.chosen for policy in self.policies)


def _log_width_sum(
    counts: NDArray[np.int64], edges: NDArray[np.float64], *, of_earlier_versions: bool
) -> float:
    """Return the sum over rows of the log bin width, for bins between `edges`, scaled to a range of 1.

    A column times a power of 2 has the same sum to the last bit, other than in earlier versions. Networks whose scores
    are equal but for rounding would change places.
    """
    filled = counts > 0
    widths = edges[1:] - edges[:-1]
    if of_earlier_versions:
        return float(np.sum(counts[filled] * (np.log(widths[filled]) - np.log(edges[-1] - edges[0]))))
    digits, exponents = np.frexp(np.concatenate((widths[filled], edges[-1:] - edges[:1])))
    # in units in which the range is from a half to 1
    exponents -= exponents[-1]
    if exponents.min() > _LEAST_EXPONENT:
        logs = np.log(np.ldexp(digits, exponents))
    else:
        # logarithms of digits and exponent where a narrow bin of a huge range would underflow
        logs = np.where(
            exponents > _LEAST_EXPONENT,
            np.log(np.ldexp(digits, np.maximum(exponents, _LEAST_EXPONENT))),
            np.log(digits) + exponents * log(2),
        )
    return float(np.sum(counts[filled] * (logs[:-1] - logs[-1])))


class ScoredColumn:
    """A continuous column that can be coded under any policy. Only its observed rows count in its constants."""

    def __init__(self, variable: ScoredVariable, method: ScoringMethod, rule: ScoreRule) -> None:
        self._ranks = ranks = variable.ranks
        self.weight = ranks.n_all_rows / ranks.n_rows
        self.cut_cost = method.cut_cost * np.log(max(len(ranks.cuts), 1))
        self._rule = rule
        self._shape = shape = variable.shape
        self._measures = (False,) if shape is None else shape.measures
        # log density of the rows under the shape for misfits, in nats with the range scaled to 1
        self._of_shape = 0.0
        if shape is not None and rule.kind in MISFIT_KINDS and True in self._measures:
            # the shape was fitted to all rows, so that a misfit that leaves rows out charges its effective parameters
            self._of_shape = shape.log_likelihood
            if rule.kind not in _LEAVES_OUT:
                self._of_shape = float(shape.shape.log_scaled_density(ranks.ascending).sum())

    def code(self, policy: Policy, codes: NDArray[np.uint8]) -> tuple[float, float, bool]:
        """Fill `codes`; return constant and cost in nats, both per all rows, and whether the bins are shaped."""
        ranks, shape = self._ranks, self._shape
        below = np.concatenate(([0], ranks.code(policy.cut_points, codes), [ranks.n_rows]))
        counts = below[1:] - below[:-1]
        cost = self.cut_cost * (policy.n_bins - 1) if policy.chosen else 0.0
        edges = np.concatenate(([ranks.low], policy.cut_points, [ranks.high]))
        constants: dict[bool, float] = {}
        if True in self._measures:
            constants[True] = self._rounded(self._shaped(policy, counts))
        # in a column that may have a shape instead, narrow bins are not uniform
        if False in self._measures and not (
            constants and shape and shape.is_too_narrow(edges, below, ranks.distinct_up_to(below))
        ):
            # without shapes learners repeat the results of versions that had none
            constants[False] = self._rounded(
                -_log_width_sum(counts, edges, of_earlier_versions=shape is None)
            )
        # equal constants: uniform bins, which need no further numbers
        shaped = max(sorted(constants), key=lambda measure: constants[measure])
        if len(constants) == 2 and self._rule.kind in _LEAVES_OUT:
            shaped = self._scores_better_shaped(counts, constants[False])
        return float(constants[shaped] - cost) * self.weight, float(cost) * self.weight, shaped

    def _rounded(self, constant: float) -> float:
        """Return the constant of a column with a shape without digits that depend on the units of the column."""
        if self._shape is None:
            return constant
        # a power of 2, so that nothing else is rounded
        step = 2.0 ** (self._ranks.n_rows.bit_length() - _BITS_OF_CONSTANT)
        return round(constant / step) * step

    def _scores_better_shaped(self, counts: NDArray[np.int64], uniform: float) -> bool:
        """Return whether shaped bins have the larger marginal likelihood, by which `BayesNetLearner` decides.

        The shape was fitted to the rows, so that their density under it would overrate it. `uniform` is minus the sum
        of the rows' log widths in nats.
        """
        assert self._shape is not None
        n_bins = len(counts)
        of_bins = sum(lgamma(count + 1.0) for count in counts.tolist())
        of_bins += lgamma(n_bins) - lgamma(n_bins + int(counts.sum()))
        return self._shape.log_likelihood > uniform + of_bins

    def _shaped(self, policy: Policy, counts: NDArray[np.int64]) -> float:
        """Return the constant of shaped bins without the cost of the cuts, in nats.

        It is the log density of the shape, minus the score of the bins without parents. A log density that is the same
        for all cuts is left out. Misfits use the masses of the bins under the shape in place of that score, as the
        density of a network does.
        """
        shape = self._shape
        assert shape is not None
        if self._rule.kind in MISFIT_KINDS:
            return self._of_shape - float(counts @ np.log(shape.shape.bin_masses(policy.cut_points)))
        root = score_counts(counts.astype(np.int32), 1, 1.0, policy.n_bins, self._rule)
        return shape.compared_log_likelihood - float(root)


class _Functions(Protocol):
    """Functions of one column, by rows."""

    roughness: NDArray[np.float64]

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""


# inner knots of the splines of the curves: of few functions, and per function of many
_INNER_KNOTS, _KNOTS_PER_FUNCTION = 8, 1.5
_DEGREE = 3
_LEAST_EIGENVALUE = 1e-6


class LevelFunctions:
    """Indicators of the levels that occur, scaled to a standard deviation of 1."""

    def __init__(self, codes: NDArray[np.int32], n_levels: int) -> None:
        self._codes = codes
        share = np.bincount(codes, minlength=n_levels) / len(codes)
        self._used = np.flatnonzero((share > 0) & (share < 1))
        self._scale = 1 / np.sqrt(share[self._used] * (1 - share[self._used]))
        self.roughness = np.zeros(len(self._used))

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        codes = self._codes[first:last]
        return np.asarray((codes[:, None] == self._used) * self._scale, np.float64)


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
        self._curves = (orthonormal @ rotation)[:, chosen]
        relative = roughness[chosen] / roughness[2] if n_curves > 0 else np.empty(0)
        self.roughness = np.concatenate([[0.0], relative])

    def _splines(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(
            scipy.interpolate.BSpline.design_matrix(scores, self._knots, _DEGREE).toarray(), np.float64
        )

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        return self.of_scores(self._scores[first:last])

    def of_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the functions at some scores within the range of the column, float64 (n, n_functions)."""
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
    second = scipy.interpolate.BSpline(knots, np.eye(n_splines), _DEGREE).derivative(2)(places)
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
    see `gomea_bn.problems.kernels.logits`. Continuous columns with a shape may follow curves, unless point masses
    have some of their rows and a density has others; all columns may be parents. A column follows its parents on the
    scale of its normal scores, or, if its bins may be uniform, in its own units. It is a sum of one smooth curve of
    the normal scores of every continuous parent, one amount for every level of every discrete parent, and normal
    noise. The score is the marginal likelihood under a normal prior of the coefficients and an inverse-gamma prior of
    the variance, as a density with respect to the shape of the column. Three models are compared: lines, curves whose
    prior precision grows with their roughness, and these curves with products of the first functions of every two
    continuous parents, as many as are affordable for all pairs of columns. The noise is never narrower than what
    equal values cover, so that repeated values gain no density.

    Beyond 10,000 rows columns have more functions, in proportion to the two thirds power of the rows, and a fourth
    model has rough curves, which follow kinks: what the functions of a parent miss would return as false edges.
    """
    n_rows = len(variables[0].values)
    n_levels, n_continuous = sum(v.n_levels for v in variables), sum(not v.n_levels for v in variables)
    most = min(_MOST_COLUMNS_OF_PRODUCTS, (_MOST_PRODUCTS / n_rows) ** 0.5)
    wanted = min(_MOST_OF_MANY_ROWS, _MOST_OF_COLUMNS // max(n_continuous, 1))
    wanted = max(_MOST_PER_COLUMN, min(wanted, int(_MOST_PER_COLUMN * (n_rows / _FEW_ROWS) ** _GROWTH)))
    per_column = int(min(wanted, (most - n_levels) // max(n_continuous, 1)))
    # not even lines are affordable, or of no use
    if per_column < 1 or not any(_may_follow(variable) for variable in variables):
        return no_curves()
    with one_blas_thread():
        return _of_rows(variables, per_column)


def _of_rows(variables: Sequence[ScoredVariable], per_column: int) -> CurveData:
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
    first = np.cumsum([0, *(len(column.roughness) for column in functions)]).astype(np.int64)
    per_pair, pairs = _pairs(functions, sorted(scores), n_rows)
    pair = np.full((n, n), -1, np.int64)
    for place, (i, j) in enumerate(pairs):
        pair[i, j] = pair[j, i] = first[-1] + place * per_pair**2
    size = int(first[-1]) + len(pairs) * per_pair**2
    targets = np.zeros((n_rows, n, _N_TARGETS))
    alone = np.full((n, _N_TARGETS), -np.inf)
    unexplained = np.ones((n, _N_TARGETS))
    for v, variable in enumerate(variables):
        if _may_follow(variable) and variable.shape is not None:
            targets[:, v, 0], unexplained[v, 0] = _centred(scores[v], widths[v])
            alone[v, 0] = variable.shape.compared_log_likelihood
            # a probability has no units
            if False in variable.shape.measures:
                targets[:, v, 1], unexplained[v, 1], alone[v, 1] = _in_own_units(variable)
    flat = targets.reshape(n_rows, -1)
    sums, products, with_targets = np.zeros(size), np.zeros((size, size)), np.zeros((size, flat.shape[1]))
    n_block = min(_BLOCK_ROWS, _BLOCK_NUMBERS // size)
    for start in range(0, n_rows, n_block):
        of_columns = [f.of_rows(start, start + n_block) for f in functions]
        of_pairs = [of_columns[i][:, :per_pair, None] * of_columns[j][:, None, :per_pair] for i, j in pairs]
        block = np.concatenate(
            [*of_columns, *(of_pair.reshape(len(of_pair), -1) for of_pair in of_pairs)], axis=1
        )
        sums += block.sum(axis=0)
        products += block.T @ block
        with_targets += block.T @ flat[start : start + n_block]
    products -= np.outer(sums, sums) / n_rows
    roughness = np.concatenate([*(f.roughness for f in functions), np.zeros(size - first[-1])])
    of_curves: tuple[float, ...] = _CURVE_PRECISIONS
    if per_column > _MOST_PER_COLUMN:
        of_curves = (*of_curves, _FEW_ROWS / n_rows)
    precisions = np.array([_precisions(roughness, int(first[-1]), p) for p in of_curves])
    for v in scores:
        # smooth curves need few functions
        precisions[1, first[v] + _MOST_PER_COLUMN : first[v + 1]] = np.inf
    keys = (
        np.random.default_rng(_CURVE_KEY_SEED)
        .integers(1, 2**63, size=(2, n), dtype=np.int64)
        .astype(np.uint64)
    )
    return CurveData(
        products=products,
        with_targets=with_targets.reshape(size, n, _N_TARGETS),
        squares=(targets**2).sum(axis=0) + unexplained,
        unexplained=unexplained,
        alone=alone,
        first=first,
        pair=pair,
        n_products=per_pair**2,
        precisions=precisions,
        variable=np.zeros(0, np.int64),
        child_key=2 * keys[0] + 1,
        parent_key=2 * keys[1] + 1,
        half_rows=0.5 * (n_rows - 1 + _PRIOR_ROWS),
        logits=_logit_data(variables, functions),
        transforms=_transform_data(variables, functions, scores, widths),
        tails=_tail_data(variables, functions, targets[:, :, 1], pairs, per_pair),
    )


def _tail_data(
    variables: Sequence[ScoredVariable],
    functions: Sequence[_Functions],
    own: NDArray[np.float64],
    pairs: Sequence[tuple[int, int]],
    per_pair: int,
) -> TailData:
    """Return rows by which the tails of residuals are judged; of many rows some are taken."""
    n_rows, n = own.shape
    m = min(n_rows, _MOST_ROWS_OF_TAILS)
    some = np.sort(np.random.default_rng(_CURVE_KEY_SEED).permutation(n_rows)[:m])
    cells = np.zeros((n, m), np.uint16)
    of_cells, first = [], np.zeros((n, per_pair, m), np.float32)
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
        first[v, : min(per_pair, values.shape[1])] = values[some, :per_pair].T
    return TailData(
        cells,
        np.array(of_cells, np.float32),
        np.repeat(np.arange(n), [len(column.roughness) for column in functions]).astype(np.int64),
        first,
        np.array(pairs, np.int64).reshape(-1, 2),
        np.ascontiguousarray(own[some].T.astype(np.float32)),
        n_rows / m,
    )


def no_tails() -> TailData:
    """Return data with which all residuals are normal."""
    return TailData(
        np.zeros((0, 0), np.uint16),
        np.zeros((0, CELLS), np.float32),
        np.zeros(0, np.int64),
        np.zeros((0, 0, 0), np.float32),
        np.zeros((0, 2), np.int64),
        np.zeros((0, 0), np.float32),
        1.0,
    )


def _transform_data(
    variables: Sequence[ScoredVariable],
    functions: Sequence[_Functions],
    scores: Mapping[int, NDArray[np.float64]],
    widths: Mapping[int, NDArray[np.float64]],
) -> TransformData:
    """Return what kernels need to score columns that follow curves of their parents after a transformation."""
    n = len(variables)
    data = no_transforms(n)
    for v, column in enumerate(functions):
        if v not in scores or not _may_follow(variables[v]) or not isinstance(column, SmoothFunctions):
            continue
        size = min(len(column.roughness), MOST_OF_TRANSFORM)
        if size < 2:
            continue
        distinct, inverse, counts = np.unique(scores[v], return_inverse=True, return_counts=True)
        n_rows = len(scores[v])
        edges = _quantile(np.concatenate([[0], np.cumsum(counts)]).astype(np.float64), n_rows)
        wanted = np.linspace(edges[0], edges[-1], _PARTS_OF_TRANSFORM + 1)
        chosen = np.unique(np.searchsorted(edges, wanted))
        chosen[-1] = len(edges) - 1
        n_parts = len(chosen) - 1
        # the splines of a column end at its outer scores
        ends = np.clip(edges[chosen], distinct[0], distinct[-1])
        values = column.of_scores(ends)[:, :size]
        slopes = np.diff(values, axis=0) / np.diff(ends)[:, None]
        part = (np.searchsorted(chosen, np.arange(len(distinct)), side="right") - 1)[inverse]
        data.n_functions[v], data.n_parts[v] = size, n_parts
        data.slopes[v, :n_parts, :size] = slopes
        data.rows[v, :n_parts] = np.bincount(part, minlength=n_parts)
        deviation = scores[v].std()
        least = np.maximum(widths[v] ** 2 / (2 * pi), (_LEAST_DEVIATION * deviation) ** 2)
        of_parts = np.bincount(part, least, minlength=n_parts)
        data.least[v, :size, :size] = slopes.T @ (slopes * of_parts[:, None])
        data.least[v, 0, 0] += _PRIOR_SQUARES
        data.precisions[v, 1:size] = _precisions(column.roughness[1:size], size, _CURVE_PRECISIONS[-1])
    return data


def no_transforms(n_variables: int) -> TransformData:
    """Return data with which no column is transformed."""
    return TransformData(
        np.zeros(n_variables, np.int64),
        np.zeros(n_variables, np.int64),
        np.zeros((n_variables, _PARTS_OF_TRANSFORM, MOST_OF_TRANSFORM)),
        np.zeros((n_variables, _PARTS_OF_TRANSFORM)),
        np.ones((n_variables, MOST_OF_TRANSFORM)),
        np.zeros((n_variables, MOST_OF_TRANSFORM, MOST_OF_TRANSFORM)),
    )


def _logit_data(variables: Sequence[ScoredVariable], functions: Sequence[_Functions]) -> LogitData:
    """Return what kernels need to score discrete columns as logits of curves of their parents.

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
    if not n_levels.any():
        return no_logits(n)
    shares = np.zeros((n, int(n_levels.max())))
    for v in np.flatnonzero(n_levels).tolist():
        shares[v, : n_levels[v]] = np.bincount(codes[v]) / m
    of_columns = [column.of_rows(0, n_rows)[some].astype(np.float32) for column in functions]
    return LogitData(np.concatenate(of_columns, axis=1), codes, n_levels, shares, np.zeros(n), n_rows / m)


def no_logits(n_variables: int) -> LogitData:
    """Return data with which no discrete column follows curves."""
    return LogitData(
        np.zeros((0, 0), np.float32),
        np.zeros((n_variables, 0), np.uint8),
        np.zeros(n_variables, np.int64),
        np.zeros((n_variables, 1)),
        np.zeros(n_variables),
        1.0,
    )


def _pairs(
    functions: Sequence[_Functions], continuous: Sequence[int], n_rows: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return how many functions of a column are multiplied, as many as are affordable, and the pairs of columns."""
    n_functions = sum(len(column.roughness) for column in functions)
    most = min(_MOST_COLUMNS_OF_PAIRS, (_MOST_PRODUCTS_OF_PAIRS / min(n_rows, _ROWS_OF_PAIRS)) ** 0.5)
    for per_pair in range(_MOST_PER_PAIR, 0, -1):
        members = [v for v in continuous if len(functions[v].roughness) >= per_pair]
        pairs = list(combinations(members, 2))
        if n_functions + len(pairs) * per_pair**2 <= most:
            return per_pair, pairs
    return 0, []


def _may_follow(variable: ScoredVariable) -> bool:
    """Return whether a column may be a sum of curves: one of few values or without point masses, not a mixture."""
    shape = variable.shape
    return shape is not None and (shape.shape.has_few_values or not len(shape.shape.point_values))


def _precisions(roughness: NDArray[np.float64], n_functions: int, of_curve: float) -> NDArray[np.float64]:
    """Return the prior precision of every function, in rows, given that of the least rough curve.

    Products, which follow the `n_functions` of columns, have the roughness 0 and the precision of a line, and none next
    to lines.
    """
    with np.errstate(invalid="ignore"):
        of_curves = np.maximum(of_curve * roughness, _LINE_PRECISION)
    precisions = np.where(roughness == 0, _LINE_PRECISION, of_curves)
    if of_curve == np.inf:
        precisions[n_functions:] = np.inf
    return precisions


def _centred(values: NDArray[np.float64], widths: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return standardised values and squares that no curve explains: noise is as wide as equal values."""
    mean, deviation = values.mean(), values.std()
    least = np.maximum(widths**2 / (2 * pi) / deviation**2, _LEAST_DEVIATION**2)
    return (values - mean) / deviation, _PRIOR_SQUARES + float(least.sum())


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
        pair=np.zeros((0, 0), np.int64),
        n_products=0,
        precisions=nothing,
        variable=np.zeros(0, np.int64),
        child_key=np.zeros(0, np.uint64),
        parent_key=np.zeros(0, np.uint64),
        half_rows=0.0,
        logits=no_logits(0),
        transforms=no_transforms(0),
        tails=no_tails(),
    )


def new_logit_scratch(n_rows: int, n_levels: int) -> LogitScratch:
    """Return the work space of one thread for logits of columns with at most `n_levels` levels."""
    return LogitScratch(
        rows=zeros_by_pages((n_rows, 1 + MOST_TERMS), np.float32),
        some=np.zeros((2 * ROWS_AT_ONCE, 1 + MOST_TERMS)),
        system=np.zeros((MOST_PARAMETERS, MOST_PARAMETERS + 1)),
        parameters=np.zeros((5, MOST_PARAMETERS)),
        crossed=np.zeros((2 * n_levels, 1 + MOST_TERMS)),
        levels=np.zeros((4, n_levels)),
        between=np.zeros((n_levels, n_levels + 1)),
        state=np.zeros(5),
    )


def new_curve_scratch(curves: CurveData) -> CurveScratch:
    """Return the work space of one thread for curves."""
    size = min(len(curves.products), MOST_FUNCTIONS)
    n_rows, n_levels = len(curves.logits.functions), curves.logits.shares.shape[1]
    logits = new_logit_scratch(n_rows, n_levels)
    transforms = TransformScratch(
        np.zeros((MOST_OF_TRANSFORM, MOST_OF_TRANSFORM)),
        np.zeros((MOST_OF_TRANSFORM, MOST_OF_TRANSFORM + 1)),
        np.zeros((3, MOST_OF_TRANSFORM)),
        np.zeros(_PARTS_OF_TRANSFORM),
        np.zeros(MOST_OF_TRANSFORM, np.int64),
    )
    tails = TailScratch(
        *(np.zeros(curves.tails.cells.shape[1], np.float32) for _ in range(4)),
        np.zeros(PARTS, np.float32),
        np.zeros(CELLS, np.float32),
        np.zeros(2),
        np.zeros((2, size)),
    )
    most_targets = max(_N_TARGETS + MOST_OF_TRANSFORM, n_levels)
    return CurveScratch(
        np.zeros(size, np.int64),
        np.zeros((size, size + most_targets)),
        np.zeros(size),
        logits,
        transforms,
        np.zeros((4 * len(curves.precisions), COEFFICIENTS + MOST_OF_TRANSFORM)),
        tails,
    )


def new_cache(capacity: int) -> FamilyCache:
    """Return an empty cache table; `capacity` is a power of two."""
    return FamilyCache(
        keys=np.zeros(capacity, np.uint64), scores=np.zeros(capacity), used=np.zeros(1, np.int64)
    )


class ThreadCaches:
    """A cache of limited bytes that is only read while threads run; their new scores are merged afterwards."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.shared = new_cache(_FIRST_CAPACITY)
        self._per_thread: list[FamilyCache] = []

    def pair(self, thread: int, n_threads: int) -> tuple[FamilyCache, FamilyCache]:
        """Return the table that a thread reads, and the one that it also writes: a single thread the shared one."""
        if n_threads == 1:
            return new_cache(2), self.shared
        while len(self._per_thread) <= thread:
            self._per_thread.append(new_cache(_FIRST_CAPACITY))
        return self.shared, self._per_thread[thread]

    def grown(self, thread: int, cache: FamilyCache) -> FamilyCache:
        """Return a thread's table with room for further scores; called by that thread between its kernels."""
        larger = _grown(cache, max(int(cache.used[0]), _FIRST_CAPACITY), self.max_bytes)
        if cache is self.shared:
            self.shared = larger
        else:
            self._per_thread[thread] = larger
        return larger

    def merge(self) -> None:
        """Move the threads' new scores into the shared table, in thread order."""
        for thread, cache in enumerate(self._per_thread):
            used = int(cache.used[0])
            if used:
                self.shared = _grown(self.shared, used, self.max_bytes)
                cache_merge(self.shared, cache)
                self._per_thread[thread] = new_cache(len(cache.keys))

    def reserve(self, n_more: int) -> None:
        """Make room in the shared table for `n_more` entries, within the limit."""
        self.shared = _grown(self.shared, n_more, self.max_bytes)


def _grown(cache: FamilyCache, n_more: int, max_bytes: int) -> FamilyCache:
    """Return `cache`, or a larger copy that holds `n_more` further entries at half load, within `max_bytes`."""
    capacity = len(cache.keys)
    while capacity < 2 * (int(cache.used[0]) + n_more) and 32 * capacity <= max_bytes:
        capacity *= 2
    if capacity == len(cache.keys):
        return cache
    larger = new_cache(capacity)
    cache_merge(larger, cache)
    return larger


# any fixed number: keys must be the same in every process
_KEY_SEED = 20240219
# configurations are numbered by 64-bit integers
_MAX_CELLS = 2**62


@dataclass(frozen=True, slots=True)
class Family:
    """A child and its parents, each a (variable index, policy index) pair; the policy of a discrete column is 0."""

    child: tuple[int, int]
    parents: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """How the rows of discrete columns were completed, each `n_completions` times by draws.

    The completions of a row count as one row. The price of a family is multiplied by the fourth root of the number of
    rows per row in which all its members were observed.
    """

    is_observed: NDArray[np.bool_]  # (n_variables, n_rows) before completion
    n_completions: int  # a variable has this number of values per row

    @property
    def words(self) -> NDArray[np.uint64]:
        """Observed values as bits, uint64 (n_variables, n_words)."""
        n_variables, n_rows = self.is_observed.shape
        bits = np.zeros((n_variables, -(-n_rows // 64) * 64), np.bool_)
        bits[:, :n_rows] = self.is_observed
        return np.packbits(bits, axis=1).view(np.uint64)


def graph_families(parents: Iterable[Iterable[int]]) -> list[Family]:
    """Return the family of every variable of a graph, given its parents, under the first policy of each library."""
    return [Family((v, 0), tuple((p, 0) for p in of_child)) for v, of_child in enumerate(parents)]


def new_scratch(n_rows: int, max_cardinality: int, curves: CurveData | None = None) -> ScoreScratch:
    """Return the work space of one thread for counting, and for curves."""
    n_slots = 1 << int(2 * n_rows - 1).bit_length()
    n_dense = min(65536, 8 * n_rows + 1024)
    return ScoreScratch(
        joint=np.zeros(BLOCK, np.uint16),
        counts=np.zeros(max(n_dense, n_rows * max_cardinality), np.int32),
        slots=np.zeros(n_slots, np.int64),
        slot_keys=np.zeros(n_slots, np.int64),
        is_complete=np.zeros(BLOCK, np.uint8),
        sums=np.zeros(n_dense, np.int32),
        members=np.zeros(MOST_MEMBERS, np.int64),
        statistics=np.zeros(2, np.int64),
        curves=new_curve_scratch(no_curves() if curves is None else curves),
    )


@dataclass(frozen=True, slots=True)
class LibraryGrowth:
    """Limits of the growth of the libraries of continuous variables whose cuts are not fixed."""

    capacity: int  # most policies of a variable; a larger first library stays as it is
    max_bins: int  # of a policy that enters


class FamilyScorer:
    """Scores families of one table under one rule.

    `cache_bytes` limits the shared score cache, and `growth` is room for policies that enter later. `completion` says
    which values are completed; only for discrete columns, and not for the score of misfits. `curves`
    (`curves.curve_data`) make the score of a family that of its table or of curves of its parents, whichever is better.

    Variable i under a policy is the row ``view_offset[i] + policy`` of ``rows.codes``; the cardinality of a free index
    in a library is 0. `constant_score` is the part of the score of every network in nats which scores of families leave
    out: the log likelihoods of the columns whose bins can only be shaped. A score is reported with it. It is 0 for
    misfits. By view, `is_shaped` says whether bins have the shape of their column inside; by variable, `grows` whether
    its library may grow.
    """

    def __init__(
        self,
        variables: Sequence[ScoredVariable],
        method: ScoringMethod,
        rule: ScoreRule,
        *,
        cache_bytes: int = 1 << 26,
        growth: LibraryGrowth | None = None,
        curves: CurveData | None = None,
        completion: Completion | None = None,
    ) -> None:
        self.variables = tuple(variables)
        self.method = method
        self.rule = rule
        self.growth = growth
        self.constant_score = 0.0
        if rule.kind not in MISFIT_KINDS:
            self.constant_score = float(
                sum(
                    v.shape.constant_score * (len(v.values) / v.n_observed)
                    for v in self.variables
                    if v.shape is not None
                )
            )
        for variable in self.variables:
            most = max([variable.n_levels, *(policy.n_bins for policy in variable.policies)])
            if most > MAX_CARDINALITY:
                raise GomeaBnError(
                    f"Variable {variable.name!r} has {most} levels or bins; at most {MAX_CARDINALITY} can be scored."
                )
        self.grows = np.array([growth is not None and v.has_free_cuts for v in self.variables], np.bool_)
        sizes = [max(len(v.policies), 1) for v in self.variables]
        if growth is not None:
            sizes = [max(n, growth.capacity) if g else n for n, g in zip(sizes, self.grows.tolist())]
        self.view_offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._keys = np.random.default_rng(_KEY_SEED)
        self._columns: dict[int, ScoredColumn] = {}
        self._libraries: list[list[Policy | None]] = [[] for _ in self.variables]
        self.is_shaped = np.zeros(int(self.view_offset[-1]), np.bool_)
        self.rows = self._rows(len(self.variables[0].values))
        if completion is not None:
            self.rule = rule._replace(completions=float(completion.n_completions))
            self.rows = self.rows._replace(observed=completion.words)
        if curves is not None:
            curves = curves_of_views(curves, self.view_offset)
            self.rows = self.rows._replace(curves=curves._replace(logits=self._with_roots(curves.logits)))
        self.max_cardinality = max(
            int(self.rows.cardinality.max()), growth.max_bins if growth is not None else 0
        )
        self.n_rows = self.rows.codes.shape[1]
        self.caches = ThreadCaches(cache_bytes)
        self._scratch = self.new_scratch()

    def _with_roots(self, logits: LogitData) -> LogitData:
        """Return logits with the scores of tables without parents."""
        alone = logits.alone.copy()
        for v in np.flatnonzero(logits.n_levels):
            n_levels = self.variables[v].n_levels
            counts = np.bincount(self.variables[v].values, minlength=n_levels).astype(np.int32)
            alone[v] = score_counts(counts, 1, 1.0, n_levels, self.rule)
        return logits._replace(alone=alone)

    def _rows(self, n_rows: int) -> RowData:
        n_views = int(self.view_offset[-1])
        keys = self._keys.integers(1, 2**63, size=(2, n_views), dtype=np.int64).astype(np.uint64)
        rows = RowData(
            # most policies enter later or never
            codes=zeros_by_pages((n_views, n_rows), np.uint8),
            cardinality=np.zeros(n_views, np.int64),
            constant=np.zeros(n_views),
            own_cost=np.zeros(n_views),
            child_key=2 * keys[0] + 1,
            parent_key=2 * keys[1] + 1,
            curves=no_curves(),
            has_missing=np.zeros(n_views, np.bool_),
            observed=np.zeros((n_views, 0), np.uint64),
        )
        n_threads = -1 if n_rows > ROWS_WORTH_THREADS else 1
        in_threads(lambda v: self._fill(rows, v), range(len(self.variables)), n_threads=n_threads)
        return rows

    def _fill(self, rows: RowData, v: int) -> None:
        """Fill the views of a variable under its first policies."""
        variable, first = self.variables[v], int(self.view_offset[v])
        rows.has_missing[first : self.view_offset[v + 1]] = variable.n_observed < len(variable.values)
        if variable.n_levels:
            rows.codes[first] = variable.values
            rows.cardinality[first] = variable.n_levels
            return
        column = ScoredColumn(variable, self.method, self.rule)
        views = slice(first, first + len(variable.policies))
        if variable.policies:
            coded = [column.code(*pair) for pair in zip(variable.policies, rows.codes[views], strict=True)]
            rows.constant[views], rows.own_cost[views], self.is_shaped[views] = zip(*coded, strict=True)
            rows.cardinality[views] = [policy.n_bins for policy in variable.policies]
        if self.grows[v]:
            self._columns[v] = column
        free = int(self.view_offset[v + 1]) - first - len(variable.policies)
        self._libraries[v] = [*variable.policies, *[None] * free]

    def new_scratch(self) -> ScoreScratch:
        """Return the work space of one thread."""
        return new_scratch(self.n_rows, self.max_cardinality, self.rows.curves)

    def for_thread(self) -> FamilyScorer:
        """Return the scorer with a work space of its own; `use_cache` must be False in threads."""
        other = copy(self)
        other._scratch = self.new_scratch()
        return other

    def without_curves(self) -> FamilyScorer:
        """Return a scorer by tables alone; both share their libraries, which become the first ones again."""
        self._restore_first_libraries()
        other = copy(self)
        other.rows = self.rows._replace(curves=no_curves())
        other.caches = ThreadCaches(self.caches.max_bytes)
        other._scratch = other.new_scratch()
        return other

    def library(self, variable: int) -> list[Policy | None]:
        """Return a continuous variable's policies by index, None for a free index; [] for a discrete variable."""
        return list(self._libraries[variable])

    def policy(self, variable: int, index: int) -> Policy:
        """Return a policy of a continuous variable's library by its index."""
        policy = self._libraries[variable][index]
        if policy is None:
            raise GomeaBnError(f"Variable {self.variables[variable].name!r} has no policy {index}.")
        return policy

    def enter(self, variable: int, cut_points: NDArray[np.float64]) -> int:
        """Return the index of the policy with these cuts, which enters if it is new; -1 if the library is full."""
        library = self._libraries[variable]
        for index, present in enumerate(library):
            if present is not None and np.array_equal(present.cut_points, cut_points):
                return index
        name = self.variables[variable].name
        if self.growth is None or not self.grows[variable]:
            raise GomeaBnError(f"The library of variable {name!r} cannot grow.")
        if len(cut_points) >= self.growth.max_bins:
            raise GomeaBnError(
                f"Variable {name!r}: at most {self.growth.max_bins} bins can enter, got {len(cut_points) + 1}."
            )
        if None not in library:
            return -1
        index = library.index(None)
        self._replace_policy(variable, index, Policy(cut_points))
        return index

    def leave(self, variable: int, index: int) -> None:
        """Free an index of a variable's library that no solution uses; the first index cannot be freed."""
        if index == 0 or not self.grows[variable]:
            raise GomeaBnError(f"Policy {index} of variable {self.variables[variable].name!r} cannot leave.")
        self._libraries[variable][index] = None
        self.rows.cardinality[int(self.view_offset[variable]) + index] = 0

    def _restore_first_libraries(self) -> None:
        """Take the policies that have entered out of the libraries, and put first policies that have left back."""
        for v in np.flatnonzero(self.grows).tolist():
            first = self.variables[v].policies
            for index, present in enumerate(self._libraries[v]):
                if index >= len(first):
                    self.leave(v, index)
                elif present is not first[index]:
                    self._replace_policy(v, index, first[index])

    def libraries_state(self) -> dict[str, Any]:
        """Return the libraries that grow, and the words by which cached scores know their policies."""
        return {
            "keys": generator_states([self._keys]),
            "child_key": self.rows.child_key,
            "parent_key": self.rows.parent_key,
            "policies": {
                str(v): [None if p is None else [p.cut_points, p.chosen] for p in self._libraries[v]]
                for v in np.flatnonzero(self.grows).tolist()
            },
        }

    def restore_libraries(self, state: Mapping[str, Any]) -> None:
        """Make the libraries those of `libraries_state`, with codes and constants; cached scores are dropped."""
        (self._keys.bit_generator.state,) = [g.bit_generator.state for g in generators_of(state["keys"])]
        fill(self.rows.child_key, state["child_key"])
        fill(self.rows.parent_key, state["parent_key"])
        for name, saved in state["policies"].items():
            v = int(name)
            library = self._libraries[v]
            if len(saved) != len(library):
                raise ValueError(f"the library of variable {v} has {len(library)} places, not {len(saved)}")
            for index, entry in enumerate(saved):
                view = int(self.view_offset[v]) + index
                library[index] = None
                self.rows.cardinality[view] = 0
                if entry is not None:
                    self._set_policy(v, index, Policy(np.array(entry[0], np.float64), bool(entry[1])))
        self.caches = ThreadCaches(self.caches.max_bytes)

    def _replace_policy(self, variable: int, index: int, policy: Policy) -> None:
        """Put a policy at an index of a library that another policy may have had."""
        self._set_policy(variable, index, policy)
        # fresh words: cached scores of the former policy at this index must never be found again
        keys = self._keys.integers(1, 2**63, size=2, dtype=np.int64).astype(np.uint64)
        view = int(self.view_offset[variable]) + index
        self.rows.child_key[view], self.rows.parent_key[view] = 2 * keys[0] + 1, 2 * keys[1] + 1

    def _set_policy(self, variable: int, index: int, policy: Policy) -> None:
        """Put a policy into a library, with its codes and constants."""
        view = int(self.view_offset[variable]) + index
        constant, own_cost, shaped = self._columns[variable].code(policy, self.rows.codes[view])
        self.rows.constant[view], self.rows.own_cost[view] = constant, own_cost
        self.is_shaped[view] = shaped
        self.rows.cardinality[view] = policy.n_bins
        self._libraries[variable][index] = policy

    def view(self, variable: int, policy: int = 0) -> int:
        """Return the row of ``rows.codes`` that holds a variable under a policy."""
        n_policies = int(self.view_offset[variable + 1] - self.view_offset[variable])
        if not 0 <= policy < n_policies or not self.rows.cardinality[self.view_offset[variable] + policy]:
            name = self.variables[variable].name
            raise GomeaBnError(f"Variable {name!r} has policies 0 to {n_policies - 1}, got {policy}.")
        return int(self.view_offset[variable]) + policy

    def encode(self, families: Iterable[Family]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return families in compressed rows: offsets (n_families + 1,), views with the child last."""
        views: list[int] = []
        offsets = [0]
        for family in families:
            parents = sorted(family.parents)
            views += [self.view(*parent) for parent in parents]
            views.append(self.view(*family.child))
            cells = np.prod([float(self.rows.cardinality[v]) for v in views[offsets[-1] :]])
            if cells > _MAX_CELLS:
                raise GomeaBnError(
                    f"The table of {self.variables[family.child[0]].name!r} with {len(parents)} parents has "
                    f"{cells:.3g} cells; at most {_MAX_CELLS} can be scored."
                )
            offsets.append(len(views))
        return np.array(offsets, np.int64), np.array(views, np.int64)

    def score(self, families: Iterable[Family], *, use_cache: bool = True) -> NDArray[np.float64]:
        """Return the scores of families in nats, shape (n_families,), higher is better.

        Equal for any order of the parents. The sum over a network's families, plus `constant_score`, is its score; for
        density methods that is the log density of the rows with every continuous column scaled to [0, 1], minus the
        penalties.
        """
        return self.score_encoded(*self.encode(families), use_cache=use_cache)

    def graph_score(self, parents: Iterable[Iterable[int]]) -> float:
        """Return the sum of the scores of a graph's families in nats, given the parents of every variable."""
        return float(self.score(graph_families(parents)).sum())

    def score_encoded(
        self, offsets: NDArray[np.int64], views: NDArray[np.int64], *, use_cache: bool = True
    ) -> NDArray[np.float64]:
        """Return the scores of families given as `encode` returns them."""
        scores = np.empty(len(offsets) - 1)
        if use_cache:
            self.reserve(len(scores))
        writable = self.caches.shared if use_cache else new_cache(0)
        score_families(self.rows, self.rule, self._scratch, new_cache(2), writable, offsets, views, scores)
        return scores

    def table_scores(self, families: Iterable[Family]) -> NDArray[np.float64]:
        """Return the scores of families by their tables, in nats, whether or not curves are better, (n_families,)."""
        rows = self.rows._replace(curves=no_curves())
        offsets, views = self.encode(families)
        scores = np.empty(len(offsets) - 1)
        score_families(rows, self.rule, self._scratch, new_cache(2), new_cache(0), offsets, views, scores)
        return scores

    def reserve(self, n_more: int) -> None:
        """Make room in the cache for `n_more` entries, up to its limit."""
        self.caches.reserve(n_more)
