"""Kernels that give residuals heavy tails: Student's t distribution in place of a normal one, and its coefficients."""

from __future__ import annotations

from math import inf, lgamma, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

PARTS = 512
"""Sums that are formed at the same time."""
CELLS = 512
"""Cells of the range of a column, within which curves are constant for residuals."""
FREEDOMS = (3.0, 8.0)
"""Degrees of freedom of heavy tails."""
# products of eight such numbers are numbers of 32 bits
_LARGEST, _TIMES_HALVED = np.float32(3e4), 3
# standard errors of the kurtosis of normal residuals
_LEAST_ERRORS = 3.0


class TailData(NamedTuple):
    """m rows by which residuals are judged; without such rows residuals are normal."""

    cells: NDArray[np.uint16]  # (N, m) of continuous columns, levels of discrete ones
    of_cells: NDArray[np.float32]  # (M, CELLS) mean values of functions in cells
    column: NDArray[np.int64]  # (M,) of a function
    factors: NDArray[np.float32]  # (F, m) functions of one column that products are made of
    products: NDArray[np.int64]  # (P, 2) factors of the products, which follow the M functions
    own: NDArray[np.float32]  # (N, m) columns in their own units, standardised
    least: NDArray[np.float32]  # (N, T, CELLS) mean squares that no curve explains of targets in cells
    rows: NDArray[np.float64]  # (N, CELLS) shares of the m rows in cells
    weight: float  # rows of the table per row here


class TailScratch(NamedTuple):
    """One thread's work space; mutated."""

    residuals: NDArray[np.float32]  # (m,)
    squares: NDArray[np.float32]  # (m,)
    scores: NDArray[np.float32]  # (m,) derivatives of the log density, see `score_residuals`
    work: NDArray[np.float32]  # (m,)
    parts: NDArray[np.float32]  # (PARTS,)
    curve: NDArray[np.float32]  # (CELLS,)
    state: NDArray[np.float64]  # (2,) squared scale of the residuals, mean log density if they are normal
    coefficients: NDArray[np.float64]  # (2, n_most) of functions, and a step


@kernel
def vector_sum(values: NDArray[np.float32]) -> float:
    """Return the sum of some numbers, which are lost: halves are added, which compiles to vector code."""
    m = values.shape[0]
    while m > 1:
        half = m // 2
        first, second = values[:half], values[m - half : m]
        for i in range(half):
            first[i] += second[i]
        m -= half
    return float(values[0])


@kernel
def _product_sum(
    first: NDArray[np.float32], second: NDArray[np.float32], parts: NDArray[np.float32]
) -> float:
    """Return the sum of products of two arrays; sums of `parts` numbers at a time compile to vector code."""
    m, width = first.shape[0], parts.shape[0]
    for i in range(width):
        parts[i] = np.float32(0.0)
    start = 0
    while start + width <= m:
        a, b = first[start : start + width], second[start : start + width]
        for i in range(width):
            parts[i] += a[i] * b[i]
        start += width
    for i in range(start, m):
        parts[i - start] += first[i] * second[i]
    return vector_sum(parts)


@kernel
def add_functions(
    data: TailData,
    scratch: TailScratch,
    functions: NDArray[np.int64],
    coefficients: NDArray[np.float64],
    sign: float,
) -> None:
    """Add functions of columns, and products, times coefficients and a sign to the residuals.

    Functions of a column follow each other.
    """
    residuals, curve, n_plain = scratch.residuals, scratch.curve, data.column.shape[0]
    k, size = 0, functions.shape[0]
    while k < size:
        if functions[k] < n_plain:
            column = data.column[functions[k]]
            for cell in range(CELLS):
                curve[cell] = np.float32(0.0)
            while k < size and functions[k] < n_plain and data.column[functions[k]] == column:
                factor, values = np.float32(sign * coefficients[k]), data.of_cells[functions[k]]
                for cell in range(CELLS):
                    curve[cell] += factor * values[cell]
                k += 1
            cells = data.cells[column]
            for i in range(residuals.shape[0]):
                residuals[i] += curve[cells[i]]
        else:
            product = data.products[functions[k] - n_plain]
            first, second = data.factors[product[0]], data.factors[product[1]]
            factor = np.float32(sign * coefficients[k])
            for i in range(residuals.shape[0]):
                residuals[i] += factor * first[i] * second[i]
            k += 1


@kernel
def scores_of_functions(
    data: TailData, scratch: TailScratch, functions: NDArray[np.int64], sums: NDArray[np.float64]
) -> None:
    """Fill `sums` with the sums over rows of functions, in the order of `add_functions`, times the scores."""
    scores, curve, n_plain = scratch.scores, scratch.curve, data.column.shape[0]
    k, size, of_work = 0, functions.shape[0], np.int64(-1)
    while k < size:
        if functions[k] < n_plain:
            column = data.column[functions[k]]
            for cell in range(CELLS):
                curve[cell] = np.float32(0.0)
            cells = data.cells[column]
            for i in range(scores.shape[0]):
                curve[cells[i]] += scores[i]
            while k < size and functions[k] < n_plain and data.column[functions[k]] == column:
                sums[k] = _product_sum(data.of_cells[functions[k]], curve, scratch.parts)
                k += 1
        else:
            product = data.products[functions[k] - n_plain]
            # products of a pair share their first factors
            if product[0] != of_work:
                of_work, factor = product[0], data.factors[product[0]]
                for i in range(scores.shape[0]):
                    scratch.work[i] = factor[i] * scores[i]
            sums[k] = _product_sum(scratch.work, data.factors[product[1]], scratch.parts)
            k += 1


@kernel
def scale_of_tails(scratch: TailScratch, freedom: float, first: float, least: float, n_steps: int) -> float:
    """Return the squared scale of Student's t of residuals by expectation and maximisation, at least `least`."""
    squares, work, scale = scratch.squares, scratch.work, max(first, least)
    nu, top = np.float32(freedom), np.float32(freedom + 1.0)
    for _ in range(n_steps):
        inverse = np.float32(1.0 / scale)
        for i in range(squares.shape[0]):
            work[i] = top * squares[i] / (nu + squares[i] * inverse)
        scale = max(vector_sum(work) / squares.shape[0], least)
    return scale


@kernel
def log_tail_density(scratch: TailScratch, freedom: float, scale: float) -> float:
    """Return the mean log density of residuals under Student's t distribution with a squared scale.

    Residuals beyond 300 scales count as such ones.
    """
    squares, work = scratch.squares, scratch.work
    m, inverse = squares.shape[0], np.float32(1.0 / (freedom * scale))
    for i in range(m):
        work[i] = min(np.float32(1.0) + squares[i] * inverse, _LARGEST)
    left = m
    for _ in range(_TIMES_HALVED):
        half = left // 2
        first, second = work[:half], work[left - half : left]
        for i in range(half):
            first[i] *= second[i]
        left -= half
    total = 0.0
    for i in range(left):
        total += log(work[i])
    constant = lgamma(0.5 * (freedom + 1.0)) - lgamma(0.5 * freedom) - 0.5 * log(freedom * pi * scale)
    return constant - 0.5 * (freedom + 1.0) * total / m


@kernel
def least_kurtosis(m: int) -> float:
    """Return the kurtosis above which m residuals may have heavy tails."""
    return 3.0 + _LEAST_ERRORS * sqrt(24.0 / m)


@kernel
def fit_tails(scratch: TailScratch, least: float) -> tuple[float, float]:
    """Return what residuals gain by Student's t distribution, in nats per row, and its degrees of freedom.

    The gain is over a normal distribution. It is 0, with infinite degrees of freedom, where the kurtosis may be that of
    normal residuals. Residuals are centred, and variances are at least `least`. The state of the work space is set.
    """
    residuals, squares, work = scratch.residuals, scratch.squares, scratch.work
    m = residuals.shape[0]
    for i in range(m):
        work[i] = residuals[i]
    centre = np.float32(vector_sum(work) / m)
    for i in range(m):
        residuals[i] -= centre
        squares[i] = residuals[i] * residuals[i]
        work[i] = squares[i]
    variance = vector_sum(work) / m
    for i in range(m):
        work[i] = squares[i] * squares[i]
    kurtosis = vector_sum(work) / m / (variance * variance)
    of_normal = max(variance, least)
    scratch.state[0], scratch.state[1] = of_normal, -0.5 * (log(2.0 * pi * of_normal) + variance / of_normal)
    best, chosen = 0.0, inf
    if kurtosis > least_kurtosis(m):
        for freedom in FREEDOMS:
            start = variance * (freedom - 2.0) / freedom
            scale = scale_of_tails(scratch, freedom, start, least, 5)
            gain = log_tail_density(scratch, freedom, scale) - scratch.state[1]
            if gain > best:
                best, chosen = gain, freedom
                scratch.state[0] = scale
    return best, chosen


@kernel
def score_residuals(scratch: TailScratch, freedom: float) -> None:
    """Set the scores: derivatives of the log density by the centres, divided by their mean information, and centred.

    Residuals are moved by the mean of the scores.
    """
    residuals, squares, scores, work = scratch.residuals, scratch.squares, scratch.scores, scratch.work
    top, bottom = np.float32((freedom + 3.0) * scratch.state[0]), np.float32(freedom * scratch.state[0])
    for i in range(residuals.shape[0]):
        scores[i] = top * residuals[i] / (bottom + squares[i])
        work[i] = scores[i]
    mean = np.float32(vector_sum(work) / residuals.shape[0])
    for i in range(residuals.shape[0]):
        scores[i] -= mean
        residuals[i] -= mean


@kernel
def refitted_gain(scratch: TailScratch, freedom: float, least: float) -> float:
    """Return what changed residuals gain by Student's t over the normal distribution of the former ones, per row."""
    residuals, squares = scratch.residuals, scratch.squares
    for i in range(residuals.shape[0]):
        squares[i] = residuals[i] * residuals[i]
    scale = scale_of_tails(scratch, freedom, scratch.state[0], least, 2)
    return log_tail_density(scratch, freedom, scale) - scratch.state[1]
