"""The moments of functions of columns, and the other data by which kernels score sums of curves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import comb, log, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.column_functions import (
    CURVE_PRECISION,
    FIXED_SEED,
    MOST_FACTORS_OF_LEVELS,
    MOST_PER_COLUMN,
    ColumnFunctions,
    LevelFunctions,
    NumberFunctions,
    column_functions,
    prior_precisions,
)
from gomea_bn.problems.curve_parts import (
    LEAST_DEVIATION,
    N_TARGETS,
    logit_data,
    new_logit_scratch,
    new_tail_scratch,
    new_transform_scratch,
    no_counts,
    no_logits,
    no_tails,
    no_transforms,
    tail_data,
    transform_data,
)
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.distributions import PRIOR_ROWS, PRIOR_VARIANCE
from gomea_bn.problems.kernels.cells import ITEMS_OF_BLOCK
from gomea_bn.problems.kernels.counts import CountScratch
from gomea_bn.problems.kernels.curves import (
    COEFFICIENTS,
    LINES,
    MOST_FUNCTIONS,
    MOST_PER_PAIR,
    SMOOTH,
    UNITS,
    CurveData,
    CurveScratch,
    ProductScratch,
)
from gomea_bn.problems.kernels.transforms import MOST_OF_TRANSFORM
from gomea_bn.problems.kernels.widths import MOST_FORMS, MOST_OF_WIDTHS, WidthScratch
from gomea_bn.runtime.threads import one_blas_thread

# most functions of a continuous column beyond some rows, and of all columns together: a family takes the cube of these
_FEW_ROWS, _MOST_OF_MANY_ROWS, _MOST_OF_COLUMNS = 1_000, 32, 240
_GROWTH = 0.43
# most functions of a continuous column in its products with another one
_MOST_FACTORS = 3
# what cross products may cost: multiplications, and functions of all columns
_MOST_PRODUCTS = 2e10
_MOST_COLUMNS_OF_PRODUCTS = 4_000
# the same with products of two columns, of at most 10,000 rows
_MOST_PRODUCTS_OF_PAIRS = 5e9
_ROWS_OF_PAIRS = 10_000
_MOST_COLUMNS_OF_PAIRS = 2_000
_BLOCK_ROWS = 1 << 14
_BLOCK_NUMBERS = 1 << 24
# prior precisions of coefficients where there are lines alone, in rows
_WIDTHS = (1.0, 10.0, 100.0)
# of the least rough curve, for each prior: lines, lines in units, and smooth curves
_CURVE_PRECISIONS = (*(np.inf for _ in _WIDTHS), np.inf, CURVE_PRECISION)


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


def curve_data(variables: Sequence[ScoredVariable]) -> CurveData:
    """Return what kernels need to score columns as sums of curves of their parents; no curves for very large tables.

    Discrete columns of at most ten levels may follow logits, whose log odds are sums of curves of their parents;
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
    wanted = max(MOST_PER_COLUMN, min(wanted, int(MOST_PER_COLUMN * (n_rows / _FEW_ROWS) ** _GROWTH)))
    affordable = (most - n_levels) // max(n_continuous, 1)
    per_column = int(min(wanted, affordable))
    if per_column < 1 or not any(variable.may_follow_curves for variable in variables):
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


def _of_rows(
    variables: Sequence[ScoredVariable],
    functions: Sequence[ColumnFunctions],
    sizes: CurveSizes,
) -> CurveData:
    """Return the moments of all rows, given the functions of every column."""
    n_rows, n, per_column = len(variables[0].values), len(variables), sizes.per_column
    scores: dict[int, NDArray[np.float64]] = {}
    widths: dict[int, NDArray[np.float64]] = {}
    for v, column in enumerate(functions):
        if isinstance(column, NumberFunctions):
            assert column.widths is not None
            scores[v], widths[v] = column.scores, column.widths
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
    targets = np.zeros((n_rows, n, N_TARGETS))
    alone = np.full((n, N_TARGETS), -np.inf)
    least = np.zeros((n_rows, n, N_TARGETS))
    for v, variable in enumerate(variables):
        if variable.may_follow_curves and variable.shape is not None:
            targets[:, v, 0], least[:, v, 0] = _centred(scores[v], widths[v])
            alone[v, 0] = variable.shape.compared_log_likelihood
            # a probability has no units
            if False in variable.shape.measures:
                targets[:, v, 1], least[:, v, 1], alone[v, 1] = _in_own_units(variable)
    unexplained = np.where(alone > -np.inf, PRIOR_VARIANCE + least.sum(axis=0), 1.0)
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
    if per_column > MOST_PER_COLUMN:
        of_curves = (*of_curves, _FEW_ROWS / n_rows)
    precisions = np.array([prior_precisions(roughness, p) for p in of_curves])
    # a pair may act by its product alone, so that the width of lines says nothing about products
    precisions[LINES:UNITS, : first[-1]] *= np.array(_WIDTHS)[:, None]
    # next to lines, products are those of lines and levels; lines in units have none
    precisions[:UNITS, int(first[-1]) :][:, of_factors.any(axis=1)] = np.inf
    precisions[UNITS, int(first[-1]) :] = np.inf
    for v, column in enumerate(functions):
        if isinstance(column, NumberFunctions):
            last = first[v] + len(column.smooth.roughness)
            precisions[LINES:UNITS, last : first[v + 1]] = np.inf
            # smooth curves need few functions
            precisions[SMOOTH, first[v] + MOST_PER_COLUMN : last] = np.inf
        elif column.has_line:
            last = first[v + 1] - 1
            precisions[LINES:UNITS, last] = np.inf
            precisions[UNITS, first[v] : last] = np.inf
            # next to their line levels differ less
            precisions[SMOOTH:, first[v] : last] = _WIDTHS[1]
    keys = np.random.default_rng(FIXED_SEED).integers(1, 2**63, size=(2, n), dtype=np.int64).astype(np.uint64)
    logits, counts = logit_data(variables, functions)
    tails = tail_data(variables, functions, targets[:, :, 1], least, terms)
    squares, rows_of_noise = (targets**2).sum(axis=0) + unexplained, n_rows - 1 + PRIOR_ROWS
    return CurveData(
        products=products,
        with_targets=with_targets.reshape(size, n, N_TARGETS),
        squares=squares,
        unexplained=unexplained,
        alone=alone,
        first=first,
        pair=pair,
        n_products=n_products,
        terms=terms,
        kinds=first[-1] + np.cumsum([0, *(sum(one.n_products for one in kind) for kind in kinds_of_pairs)]),
        precisions=precisions,
        of_amounts=np.concatenate([*(f.squares for f in functions), np.zeros(len(terms))]),
        variable=np.zeros(0, np.int64),
        child_key=2 * keys[0] + 1,
        parent_key=2 * keys[1] + 1,
        half_rows=0.5 * rows_of_noise,
        logits=logits,
        counts=counts,
        transforms=transform_data(
            variables, functions, scores, widths, first, products, squares, rows_of_noise, tails
        ),
        tails=tails,
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
        for n_factors in range(MOST_FACTORS_OF_LEVELS, 0, -1):
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


def _centred(
    values: NDArray[np.float64], widths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return standardised values and squares that no curve explains: noise is as wide as equal values."""
    mean, deviation = values.mean(), values.std()
    least = np.maximum(widths**2 / (2 * pi) / deviation**2, LEAST_DEVIATION**2)
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
        with_targets=np.zeros((0, 0, N_TARGETS)),
        squares=nothing,
        unexplained=nothing,
        alone=nothing,
        first=np.zeros(1, np.int64),
        pair=np.zeros((0, 0), np.int64),
        n_products=np.zeros((0, 0), np.int64),
        terms=np.zeros((0, 4), np.int64),
        kinds=np.zeros(4, np.int64),
        precisions=nothing,
        of_amounts=np.zeros(0),
        variable=np.zeros(0, np.int64),
        child_key=np.zeros(0, np.uint64),
        parent_key=np.zeros(0, np.uint64),
        half_rows=0.0,
        logits=no_logits(0),
        counts=no_counts(0),
        transforms=no_transforms(0),
        tails=no_tails(),
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
    tails = new_tail_scratch(n_of_tails, size)
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
    most_targets = max(N_TARGETS + MOST_OF_TRANSFORM, n_levels)
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
            np.zeros((MOST_PER_PAIR, MOST_PER_PAIR + N_TARGETS)),
            np.zeros(MOST_PER_PAIR),
            np.zeros(MOST_FUNCTIONS, np.int64),
            np.zeros(MOST_FUNCTIONS, np.int64),
            np.zeros((MOST_FUNCTIONS, 2), np.int64),
            np.zeros(MOST_FUNCTIONS),
            np.zeros(2, np.int64),
        ),
        counts,
        np.zeros(1, np.int64),
        np.zeros(COEFFICIENTS + MOST_OF_TRANSFORM),
        np.zeros(2, np.int64),
        np.zeros(COEFFICIENTS),
    )
