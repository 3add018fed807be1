"""Data by which kernels fit logits and counts, transform columns that follow curves, and judge tails of residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, pi

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.column_functions import (
    CURVE_PRECISION,
    FIXED_SEED,
    ColumnFunctions,
    NumberFunctions,
    SmoothFunctions,
    prior_precisions,
)
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.distributions import (
    COUNT_SIZES,
    PRIOR_VARIANCE,
    count_constants,
    log_probabilities_of_counts,
)
from gomea_bn.problems.kernels.cells import COARSE, ITEMS_OF_BLOCK, LANES, CellData, CellScratch
from gomea_bn.problems.kernels.counts import CountData
from gomea_bn.problems.kernels.curves import OF_RANKS
from gomea_bn.problems.kernels.logits import (
    MOST_LEVELS,
    MOST_PARAMETERS,
    MOST_TERMS,
    N_OF_ITEM,
    LogitData,
    LogitScratch,
)
from gomea_bn.problems.kernels.tails import CELLS, PARTS, TailData, TailScratch, fit_tails
from gomea_bn.problems.kernels.transforms import (
    MOST_OF_TRANSFORM,
    TransformData,
    TransformScratch,
    transform_gain,
)
from gomea_bn.runtime.threads import zeros_by_pages

N_TARGETS = 2
"""Forms of a column that follows curves: its normal scores, and its own units."""
LEAST_DEVIATION = 1e-3
"""Least width of noise, relative to that of the column."""

# most rows by which tails of residuals are judged
_MOST_ROWS_OF_TAILS = 1 << 15
# parts of the range of a column that is transformed
_PARTS_OF_TRANSFORM = 48


def tail_data(
    variables: Sequence[ScoredVariable],
    functions: Sequence[ColumnFunctions],
    own: NDArray[np.float64],
    least: NDArray[np.float64],
    terms: NDArray[np.int64],
) -> TailData:
    """Return rows by which the tails of residuals are judged; of many rows some are taken."""
    n_rows, n = own.shape
    m = min(n_rows, _MOST_ROWS_OF_TAILS)
    some = np.sort(np.random.default_rng(FIXED_SEED).permutation(n_rows)[:m])
    cells = np.zeros((n, m), np.uint16)
    least_of_cells, shares = np.zeros((n, N_TARGETS, CELLS), np.float32), np.zeros((n, CELLS))
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
        for t in range(N_TARGETS):
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
        np.zeros((0, N_TARGETS, CELLS), np.float32),
        np.zeros((0, CELLS)),
        1.0,
    )


def transform_data(
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
        if isinstance(column, NumberFunctions) and variables[v].may_follow_curves:
            set_transform(data, v, column.smooth, scores[v], widths[v])
        size = int(data.n_functions[v])
        if size:
            own = slice(first[v], first[v] + size)
            of_prior = np.diag(np.append(0.0, data.precisions[v, 1:size]))
            scratch.moments[:size, :size] = products[own, own] + data.least[v, :size, :size] + of_prior
            gain = transform_gain(data, scratch, v, n_rows, squares[v, OF_RANKS])
            transform = scratch.coefficients[0, :size]
            # few values may have heavy tails after it
            noise = new_tail_scratch(tails.cells.shape[1], 0)
            noise.residuals[:] = (transform @ tails.of_cells[own])[tails.cells[v]]
            of_tails, _ = fit_tails(
                noise, float(transform @ data.least[v, :size, :size] @ transform) / n_rows
            )
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
    least = np.maximum(widths**2 / (2 * pi), (LEAST_DEVIATION * scores.std()) ** 2)
    of_parts = np.bincount(part, least, minlength=n_parts)
    data.n_functions[v], data.n_parts[v] = size, n_parts
    data.slopes[v, :n_parts, :size] = slopes
    data.rows[v, :n_parts] = np.bincount(part, minlength=n_parts)
    data.least[v, :size, :size] = slopes.T @ (slopes * of_parts[:, None])
    data.least[v, 0, 0] += PRIOR_VARIANCE
    data.precisions[v, 1:size] = prior_precisions(functions.roughness[1:size], CURVE_PRECISION)


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


def new_tail_scratch(n_rows: int, n_functions: int) -> TailScratch:
    """Return the work space of one thread for the tails of residuals."""
    residuals, squares, scores, work = np.zeros((4, n_rows), np.float32)
    return TailScratch(
        residuals,
        squares,
        scores,
        work,
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


# most functions of a number as a parent of a logit
_MOST_OF_LOGIT = 7
# most rows by which discrete columns follow curves, and most of their functions
_MOST_ROWS_OF_LOGITS, _MOST_NUMBERS_OF_LOGITS = 6_000, 1 << 25


def logit_data(
    variables: Sequence[ScoredVariable], functions: Sequence[ColumnFunctions]
) -> tuple[LogitData, CountData]:
    """Return what kernels need to score discrete columns as logits of curves of their parents, and columns of counts.

    Rows are in random order. Of many rows, or of many columns, some are taken.
    """
    n_rows, n = len(variables[0].values), len(variables)
    n_functions = sum(len(column.roughness) for column in functions)
    m = min(n_rows, _MOST_ROWS_OF_LOGITS, _MOST_NUMBERS_OF_LOGITS // n_functions)
    some = np.random.default_rng(FIXED_SEED).permutation(n_rows)[:m]
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
    n, n_rows = len(variables), len(variables[0].values)
    is_count = np.array([variable.may_be_count for variable in variables])
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
        parameters=np.zeros((6, MOST_PARAMETERS)),
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
