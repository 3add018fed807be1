"""Kernels that let the width of noise follow the parents: its log is a sum of lines, curves and amounts of levels."""

from __future__ import annotations

from math import exp, inf, log, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.tails import (
    CELLS,
    FREEDOMS,
    TailData,
    TailScratch,
    least_kurtosis,
    log_tail_density,
    scale_of_tails,
    scores_of_functions,
    vector_sum,
)
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import divide_back, divide_forward, eliminate

MOST_OF_WIDTHS = 48
"""Most functions of all parents that widths may follow; those of further parents are left out."""
MOST_FORMS = 2 * MOST_OF_WIDTHS
"""Most forms in which all parents may move widths."""
_MOST_STEPS = 8
# widths in one cell differ at most by this factor's log from the mean
_MOST_LOG_WIDTH = 6.0


class WidthScratch(NamedTuple):
    """One thread's work space; mutated.

    A form is a set of functions of one parent that follow each other: lines or amounts, or lines and curves.
    """

    squares: NDArray[np.float32]  # (m,) of residuals, with what equal values cover
    functions: NDArray[np.int64]  # (MOST_OF_WIDTHS,) of all parents
    sums: NDArray[np.float64]  # (MOST_OF_WIDTHS,) of these times the scores of the rows
    forms: NDArray[np.int64]  # (MOST_FORMS, 4) parent, first place in `functions`, their number, prior
    used: NDArray[np.int64]  # (MOST_FORMS,) forms that are used, in order of their choice
    chosen: NDArray[np.int64]  # (MOST_OF_WIDTHS,) functions of these
    system: NDArray[np.float64]  # (MOST_OF_WIDTHS, MOST_OF_WIDTHS + 1)
    precisions: NDArray[np.float64]  # (MOST_OF_WIDTHS,) of the chosen functions
    coefficients: NDArray[np.float64]  # (3, MOST_OF_WIDTHS) present ones, a step, and the former ones
    counts: NDArray[np.int64]  # (3,) numbers of forms, of chosen functions, and of those of the best model
    best: NDArray[np.int64]  # (MOST_OF_WIDTHS,) functions of the best model


@kernel
def list_forms(
    first: NDArray[np.int64],
    of_lines: NDArray[np.float64],
    of_curves: NDArray[np.float64],
    work: WidthScratch,
    parent: int,
    n_listed: int,
) -> int:
    """List the forms of a parent after `n_listed` functions of others, and return the number of all functions.

    `of_lines` and `of_curves`, (M,), are prior precisions of all functions in models of lines and of curves.
    """
    start, n_lines, n_curves = first[parent], 0, 0
    end = first[parent + 1]
    while start + n_lines < end and of_lines[start + n_lines] < inf:
        n_lines += 1
    while n_curves < 3 and start + n_curves < end and of_curves[start + n_curves] < inf:
        n_curves += 1
    size = max(n_lines, n_curves)
    if n_lines == 0 or n_lines > 12 or n_listed + size > MOST_OF_WIDTHS:
        return n_listed
    for k in range(size):
        work.functions[n_listed + k] = start + k
    for prior in range(2):
        number = n_lines if prior == 0 else n_curves
        if prior == 1 and number <= n_lines:
            continue
        form = work.forms[work.counts[0]]
        form[0], form[1], form[2], form[3] = parent, n_listed, number, prior
        work.counts[0] += 1
    return n_listed + size


@kernel
def _gather(
    products: NDArray[np.float64],
    of_lines: NDArray[np.float64],
    of_curves: NDArray[np.float64],
    work: WidthScratch,
    n_used: int,
    factor: float,
) -> tuple[int, float]:
    """Eliminate the system of the forms in use, and return its size and what these promise to gain, in nats.

    `factor` is the information of a row on its log width.
    """
    size, system = 0, work.system
    for u in range(n_used):
        form = work.forms[work.used[u]]
        for k in range(form[2]):
            function = work.functions[form[1] + k]
            work.chosen[size] = function
            work.precisions[size] = of_curves[function] if form[3] == 1 else of_lines[function]
            work.coefficients[1, size] = work.sums[form[1] + k] / factor
            size += 1
    for i in range(size):
        for j in range(i, size):
            system[i, j] = products[work.chosen[i], work.chosen[j]]
        system[i, i] += work.precisions[i]
        system[i, size] = work.coefficients[1, i]
    eliminate(system, size, size + 1, work.precisions)
    gain = 0.0
    for k in range(size):
        gain += (
            0.5 * log(work.precisions[k] / system[k, k]) + 0.5 * factor * system[k, size] * system[k, size]
        )
    return size, gain


@kernel
def _price(work: WidthScratch, n_parents: int, n_used: int) -> float:
    """Return the log of the number of sets of as many parents, each in one of its forms."""
    price = 0.0
    for u in range(n_used):
        price += log((n_parents - u) / (u + 1.0))
        parent, n_forms = work.forms[work.used[u], 0], 0
        for k in range(work.counts[0]):
            n_forms += 1 if work.forms[k, 0] == parent else 0
        price += log(float(n_forms))
    return price


@kernel
def _choose_forms(
    products: NDArray[np.float64],
    of_lines: NDArray[np.float64],
    of_curves: NDArray[np.float64],
    work: WidthScratch,
    n_parents: int,
    factor: float,
) -> int:
    """Add the form that promises most to those in use until none promises more, and return the number in use."""
    n_used, best = 0, 0.0
    while True:
        chosen = -1
        for form in range(work.counts[0]):
            is_free = True
            for u in range(n_used):
                is_free &= work.forms[work.used[u], 0] != work.forms[form, 0]
            if not is_free:
                continue
            work.used[n_used] = form
            _, gain = _gather(products, of_lines, of_curves, work, n_used + 1, factor)
            gain -= _price(work, n_parents, n_used + 1)
            if gain > best:
                best, chosen = gain, form
        if chosen < 0:
            return n_used
        work.used[n_used] = chosen
        n_used += 1


@kernel
def _standardise(data: TailData, scratch: TailScratch, work: WidthScratch, size: int) -> float:
    """Set the squares of residuals divided by their relative widths, and return the mean log of these widths."""
    squares, curve, mean, k = scratch.squares, scratch.curve, 0.0, 0
    for i in range(squares.shape[0]):
        squares[i] = work.squares[i]
    while k < size:
        column = data.column[work.chosen[k]]
        for cell in range(CELLS):
            curve[cell] = np.float32(0.0)
        while k < size and data.column[work.chosen[k]] == column:
            height, values = np.float32(work.coefficients[0, k]), data.of_cells[work.chosen[k]]
            for cell in range(CELLS):
                curve[cell] += height * values[cell]
            k += 1
        shares = data.rows[column]
        for cell in range(CELLS):
            # an exponential takes longer than to see that no row needs it
            if shares[cell] > 0.0:
                of_cell = min(max(curve[cell], -_MOST_LOG_WIDTH), _MOST_LOG_WIDTH)
                mean += of_cell * shares[cell]
                curve[cell] = np.float32(exp(-2.0 * of_cell))
        cells = data.cells[column]
        for i in range(squares.shape[0]):
            squares[i] *= curve[cells[i]]
    return mean


@kernel
def _fit_scale(scratch: TailScratch, freedom: float) -> float:
    """Set the squared scale of standardised residuals, and return their mean log density."""
    squares, work = scratch.squares, scratch.work
    for i in range(squares.shape[0]):
        work[i] = squares[i]
    variance = max(vector_sum(work) / squares.shape[0], 1e-12)
    scratch.state[0] = variance
    if freedom == inf:
        return -0.5 * (log(2.0 * pi * variance) + 1.0)
    start = variance * (freedom - 2.0) / freedom
    scratch.state[0] = scale_of_tails(scratch, freedom, start, 1e-12, 5)
    return log_tail_density(scratch, freedom, scratch.state[0])


@kernel
def _score_widths(scratch: TailScratch, freedom: float) -> None:
    """Set the scores: derivatives of the log density of the rows by their log widths, centred."""
    squares, scores, work = scratch.squares, scratch.scores, scratch.work
    if freedom == inf:
        inverse = np.float32(1.0 / scratch.state[0])
        for i in range(squares.shape[0]):
            scores[i] = squares[i] * inverse - np.float32(1.0)
    else:
        top, bottom = np.float32(freedom + 1.0), np.float32(freedom * scratch.state[0])
        for i in range(squares.shape[0]):
            scores[i] = top * squares[i] / (bottom + squares[i])
        for i in range(squares.shape[0]):
            work[i] = scores[i]
        # few steps leave the scale next to its best value
        mean = np.float32(vector_sum(work) / squares.shape[0])
        for i in range(squares.shape[0]):
            scores[i] -= mean


@kernel
def _information(freedom: float) -> float:
    """Return the information of a row on its log width."""
    return 2.0 if freedom == inf else 2.0 * freedom / (freedom + 3.0)


@kernel
def _climb(
    data: TailData,
    scratch: TailScratch,
    work: WidthScratch,
    size: int,
    freedom: float,
    n_rows: float,
    mean: float,
    density: float,
    has_step: bool,
) -> tuple[float, float, float, bool]:
    """Move the coefficients of the chosen functions to their posterior mode by scoring, and return its log density.

    Without a constant of the prior. Squares are those of the coefficients, with the mean log of the widths and the mean
    log density of what is divided by them, and with `has_step` what rows of the system explain of the first step is
    known. Last come the mean and the density at the mode, and whether the squares are those of the mode.
    """
    present, step, former = work.coefficients[0], work.coefficients[1], work.coefficients[2]
    factor, value, is_set = _information(freedom), -inf, True
    for number in range(_MOST_STEPS):
        if number > 0:
            mean = _standardise(data, scratch, work, size)
            density = _fit_scale(scratch, freedom)
        changed = n_rows * (density - mean)
        for k in range(size):
            changed -= 0.5 * factor * work.precisions[k] * present[k] * present[k]
        is_set = not changed < value
        if not is_set:
            # half of the step, as seen from the coefficients before it
            for k in range(size):
                present[k] = former[k] + 0.5 * (present[k] - former[k])
            continue
        value = changed
        for k in range(size):
            former[k] = present[k]
        if number == _MOST_STEPS - 1:
            break
        if number > 0 or not has_step:
            _score_widths(scratch, freedom)
            scores_of_functions(data, scratch, work.chosen[:size], step)
            for k in range(size):
                step[k] = data.weight * step[k] / factor - work.precisions[k] * present[k]
            divide_forward(work.system, size, step)
        promise = 0.0
        for k in range(size):
            promise += 0.5 * factor * step[k] * step[k]
        # a step that promises fewer nats is the last one
        if promise < 0.5:
            break
        divide_back(work.system, size, step)
        for k in range(size):
            present[k] += step[k]
    for k in range(size):
        present[k] = former[k]
    return value, mean, density, is_set


@kernel
def _best_freedom(
    scratch: TailScratch, n_rows: float, freedom: float, density: float, is_known: bool
) -> tuple[float, float]:
    """Return the degrees of freedom under which standardised residuals are likeliest, less the price of heavy tails.

    Their mean log density follows, and the scale is set. With `is_known` the density under some degrees of freedom is
    known, of which the scale is set.
    """
    squares, work, m = scratch.squares, scratch.work, scratch.squares.shape[0]
    scale = scratch.state[0]
    of_normal = density if is_known and freedom == inf else _fit_scale(scratch, inf)
    best, chosen, of_chosen, scale_of_chosen = of_normal, inf, of_normal, scratch.state[0]
    inverse = np.float32(1.0 / scratch.state[0])
    for i in range(m):
        standard = squares[i] * inverse
        work[i] = standard * standard
    if vector_sum(work) / m > least_kurtosis(m):
        for other in FREEDOMS:
            if is_known and other == freedom:
                of_other, scratch.state[0] = density, scale
            else:
                of_other = _fit_scale(scratch, other)
            value = of_other - 0.5 * log(n_rows) / n_rows
            if value > best:
                best, chosen, of_chosen, scale_of_chosen = value, other, of_other, scratch.state[0]
    scratch.state[0] = scale_of_chosen
    return chosen, of_chosen


@kernel
def width_gain(
    data: TailData,
    scratch: TailScratch,
    work: WidthScratch,
    products: NDArray[np.float64],
    of_lines: NDArray[np.float64],
    of_curves: NDArray[np.float64],
    n_listed: int,
    n_parents: int,
    freedom: float,
    n_rows: float,
) -> tuple[float, int]:
    """Return what residuals gain by noise whose log width is a sum of functions of the parents, in nats.

    The gain is over normal noise of one width; 0 without a gain. Forms of the parents are listed, and chosen by what
    one step of scoring promises, given the degrees of freedom of the noise. Further steps find the posterior mode of
    their coefficients (Harvey, "Estimating regression models with multiplicative heteroscedasticity", 1976). The
    information on these is the same at all of their values, so that one system is enough. What looked like heavy tails
    may have been widths: both are compared with normal noise, given the widths. The squares of the work space are those
    of the residuals, with what equal values cover. With the gain comes the number of coefficients.
    """
    squares = scratch.squares
    for i in range(squares.shape[0]):
        squares[i] = work.squares[i]
    of_normal = _fit_scale(scratch, inf)
    density = of_normal if freedom == inf else _fit_scale(scratch, freedom)
    _score_widths(scratch, freedom)
    scores_of_functions(data, scratch, work.functions[:n_listed], work.sums)
    for k in range(n_listed):
        work.sums[k] *= data.weight
    n_used = _choose_forms(products, of_lines, of_curves, work, n_parents, _information(freedom))
    if n_used == 0:
        return 0.0, 0
    size, _ = _gather(products, of_lines, of_curves, work, n_used, _information(freedom))
    occam = -_price(work, n_parents, n_used)
    for k in range(size):
        occam += 0.5 * log(work.precisions[k] / work.system[k, k])
        work.coefficients[0, k], work.coefficients[1, k] = 0.0, work.system[k, size]
    best, n_best, mean = 0.0, 0, 0.0
    for number in range(2):
        value, mean, density, is_set = _climb(
            data, scratch, work, size, freedom, n_rows, mean, density, number == 0
        )
        price = 0.0 if freedom == inf else 0.5 * log(n_rows)
        gain = value - n_rows * of_normal + occam - price
        if gain > best:
            best, n_best = gain, size + (0 if freedom == inf else 1)
        if not is_set:
            mean = _standardise(data, scratch, work, size)
        other, density = _best_freedom(scratch, n_rows, freedom, density, is_set)
        if other == freedom:
            break
        freedom = other
    work.counts[1] = size
    return best, n_best
