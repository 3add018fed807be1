"""Data by which kernels transform columns that follow curves, and judge the tails of their residuals."""

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
from gomea_bn.problems.kernels.curves import OF_RANKS
from gomea_bn.problems.kernels.tails import CELLS, PARTS, TailData, TailScratch, fit_tails
from gomea_bn.problems.kernels.transforms import (
    MOST_OF_TRANSFORM,
    TransformData,
    TransformScratch,
    transform_gain,
)
from gomea_bn.problems.priors import PRIOR_VARIANCE
from gomea_bn.problems.scored_variables import ScoredVariable

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
