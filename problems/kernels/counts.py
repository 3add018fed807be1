"""Kernels that score counts whose logarithmic means are a sum of smooth curves of their parents."""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.cells import (
    ITEMS_OF_BLOCK,
    CellData,
    CellScratch,
    Items,
    add_derivatives,
    factor_of_amounts,
    list_parents,
    newton_step,
    set_gradient,
    set_information,
    set_sums,
    start_sums,
)
from gomea_bn.problems.kernels.logits import MOST_HALVINGS, MOST_STEPS
from gomea_bn.runtime.jit import kernel, separate_kernel

WHOLE, ESTIMATED, CONTINUED = 0, 1, 2
"""A count is fitted to some rows and then to all; its gain is estimated by some rows; an estimate goes on to all."""

_FEWEST_ROWS = 40
_STEPS_OF_SOME = 5
# a step that promises fewer nats on all rows is the last one of a part
_LEAST_PROMISE = 1.0
LEAST_OF_AMOUNTS = 4.0
"""Least prior precision of the amount of a level, for a factor of 1."""


class CountData(NamedTuple):
    """Columns of counts, in the rows of `CellData`; without such columns there are no rows.

    A count with the mean exp(f) has a negative binomial distribution, whose variance is exp(f) + exp(2 f) / size; it is
    a Poisson distribution where the size is infinite. f is a constant and a sum of functions of the parents.
    """

    values: NDArray[np.int32]  # (N, m)
    is_count: NDArray[np.bool_]  # (N,)
    means: NDArray[np.float64]  # (N,)
    alone: NDArray[np.float64]  # (N,) score of the column without parents, in nats
    reference: NDArray[np.float64]  # (N,) log likelihood of the column without parents in the rows here
    sizes: NDArray[np.float64]  # (S,) that a count may have, the infinite one first
    first_size: NDArray[np.int64]  # (N,) number of the likeliest one without parents
    constants: NDArray[
        np.float64
    ]  # (S, most + 1) part of the log probability of every number that f leaves alone


class CountScratch(NamedTuple):
    """One thread's work space; mutated."""

    cells: CellScratch
    means: NDArray[np.float64]  # (m,)
    block: NDArray[np.float64]  # (2, ITEMS_OF_BLOCK) sums of functions, and derivatives
    totals: NDArray[np.float64]  # (S,) log likelihoods by size
    state: NDArray[np.float64]  # (3,) number of the size, factor of the precisions, determinant


@kernel
def _log_likelihood(
    counts: CountData,
    data: CellData,
    scratch: CountScratch,
    functions: NDArray[np.int64],
    child: int,
    items: Items,
    number: int,
    is_whole: bool,
) -> float:
    """Return the log likelihood of the first rows, and fill its gradient; as a whole also the expected information.

    All are multiplied by the number of all rows over that of the first ones. `number` is that of the size. Means of
    these rows are set.
    """
    values, constants, size = counts.values[child], counts.constants[number], counts.sizes[number]
    work, n_all, value, of_constant = scratch.cells, functions.shape[0] + 1, 0.0, 0.0
    start_sums(data, work, items, functions, 0)
    for start in range(0, items.number, ITEMS_OF_BLOCK):
        n_block = min(ITEMS_OF_BLOCK, items.number - start)
        f, derivatives = scratch.block[0, :n_block], scratch.block[1, :n_block]
        set_sums(data, work, items, start, f)
        for r in range(n_block):
            # logarithms of means beyond these count as these
            of_row = min(max(f[r], -30.0), 20.0)
            count, mean, share = values[start + r], exp(of_row), 1.0
            if number == 0:
                value += count * of_row - mean
            else:
                share = size / (size + mean)
                value += count * of_row + (count + size) * log(share)
            value += constants[count]
            derivatives[r] = (count - mean) * share
            of_constant += derivatives[r]
            scratch.means[start + r] = mean
            work.weights[start + r] = mean * share
        add_derivatives(data, work, items, start, derivatives)
    work.parameters[4, 0] = of_constant
    set_gradient(data, work, items, functions)
    if is_whole:
        set_information(data, work, items, functions, 0)
    more = values.shape[0] / items.number
    for i in range(n_all):
        work.parameters[4, i] *= more
        if is_whole:
            for j in range(i, n_all):
                work.system[i, j] *= more
    return value * more


@kernel
def _likeliest_size(
    counts: CountData, scratch: CountScratch, child: int, n_rows: int, first: int, last: int
) -> int:
    """Return the number of the size, from `first` to `last`, under which the first rows are likeliest.

    Means are those of `_log_likelihood`.
    """
    values, totals = counts.values[child], scratch.totals
    totals[first : last + 1] = 0.0
    for row in range(n_rows):
        value, mean = values[row], scratch.means[row]
        for s in range(first, last + 1):
            size = counts.sizes[s]
            of_mean = -mean if s == 0 else (value + size) * log(size / (size + mean))
            totals[s] += counts.constants[s, value] + of_mean
    best = first
    for s in range(first + 1, last + 1):
        if totals[s] > totals[best]:
            best = s
    return best


@kernel
def _n_of_estimate(m: int, n_all: int) -> int:
    """Return the number of rows, of `m`, that give the information on `n_all` coefficients, and an estimate."""
    n_some = max(m // 8, _FEWEST_ROWS * n_all)
    return m if 2 * n_some > m else n_some


@separate_kernel
def count_gain(
    counts: CountData,
    data: CellData,
    scratch: CountScratch,
    functions: NDArray[np.int64],
    child: int,
    how: int,
) -> float:
    """Return how much a column of counts gains over itself without parents, in nats of the rows here.

    It is Laplace's approximation of the log marginal likelihood, with the expected information, which some rows give.
    ``scratch.cells.parameters`` has the prior precisions of the functions, in rows, in row 2, from the second place on,
    and squared heights of amounts of levels in row 5, which become their precisions. It gets the coefficients in row 0.
    Functions of a parent follow each other. `how` is `WHOLE`, `ESTIMATED`, by some rows, or `CONTINUED` right after an
    estimate.
    """
    m, n_all, mean = counts.values.shape[1], functions.shape[0] + 1, counts.means[child]
    work, state = scratch.cells, scratch.state
    system, present, before, precisions, of_amounts = (
        work.system,
        work.parameters[0],
        work.parameters[1],
        work.parameters[2],
        work.parameters[5],
    )
    n_parents = list_parents(data, work, functions, False).n_parents
    # what a row says of the logarithm of the mean, without parents
    of_row = mean / (1.0 + mean / counts.sizes[counts.first_size[child]])
    n_some = _n_of_estimate(m, n_all)
    objective, known, promise = 0.0, -np.inf, 0.0
    if how == CONTINUED:
        number, factor, determinant = int(state[0]), state[1], state[2]
        n_rows, is_whole, is_settled = m, n_some == m, True
    else:
        number, factor, determinant = counts.first_size[child], 1.0, 0.0
        n_rows, is_whole, is_settled = n_some, True, False
        present[0], precisions[0], of_amounts[0] = log(mean), 0.0, 0.0
        present[1:n_all] = 0.0
        for j in range(1, n_all):
            # an amount moves the logarithm of the mean by a deviation of 1/2, or as far as a row lets it
            of_amounts[j] *= max(of_row, LEAST_OF_AMOUNTS)
            precisions[j] = 0.0 if of_amounts[j] > 0.0 else precisions[j] * of_row
    n_halvings, n_steps = 0, 0
    for _ in range(MOST_STEPS):
        items = Items(n_rows, n_parents, False)
        objective = _log_likelihood(counts, data, scratch, functions, child, items, number, is_whole)
        squares, amounts = 0.0, 0.0
        for j in range(1, n_all):
            squares += precisions[j] * present[j] * present[j]
            amounts += of_amounts[j] * present[j] * present[j]
        objective -= 0.5 * (factor * squares + amounts)
        promise = 0.0
        if not objective >= known:
            # a step that went too far
            n_halvings += 1
            is_whole = True
            nearness = 0.25 if n_halvings < MOST_HALVINGS else 0.0
            for j in range(n_all):
                present[j] = before[j] + nearness * (present[j] - before[j])
            if nearness == 0.0:
                known = -np.inf
            continue
        if n_halvings >= MOST_HALVINGS:
            break
        n_halvings = 0
        known = objective
        effective, of_levels = 0.0, 0.0
        if is_whole:
            for j in range(1, n_all):
                known_share = system[j, j] / (system[j, j] + factor * precisions[j] + of_amounts[j])
                if of_amounts[j] > 0.0:
                    of_levels += known_share
                else:
                    effective += known_share
        promise = newton_step(work, n_all, n_all, n_all, factor, is_whole)
        if is_whole:
            determinant = 0.0
            for j in range(n_all):
                determinant += log(system[j, j])
        n_steps += 1
        if promise * n_rows >= 2.0 * _LEAST_PROMISE * m and (n_rows == m or n_steps < _STEPS_OF_SOME):
            continue
        if not is_settled:
            is_settled = True
            # limits of the factor of the prior precisions
            wanted = min(max(effective / max(squares, 1e-300), 1.0 / 64.0), 100.0)
            width = factor_of_amounts(of_levels, amounts)
            # parents leave a column less dispersed than it is
            likeliest = _likeliest_size(counts, scratch, child, n_rows, 0, counts.first_size[child])
            # a smaller change of the factor changes nothing else
            change = max(max(factor, wanted) / min(factor, wanted), max(width, 1.0 / width))
            if likeliest != number or change > 1.5:
                number, factor, known = likeliest, wanted, -np.inf
                for j in range(1, n_all):
                    of_amounts[j] *= width
                is_whole = True
                continue
        if how == ESTIMATED:
            break
        if n_rows == m:
            low, high = max(number - 1, 0), min(number + 1, counts.sizes.shape[0] - 1)
            likeliest = _likeliest_size(counts, scratch, child, m, low, high)
            if likeliest == number:
                break
            number = likeliest
        n_rows, known, is_whole = m, -np.inf, False
    state[0], state[1], state[2] = number, factor, determinant
    promise = min(promise, 2.0 * _LEAST_PROMISE)
    prior = 0.0
    for j in range(1, n_all):
        prior += log(factor * precisions[j] + of_amounts[j])
    occam = 0.5 * (prior - determinant + log(of_row * m))
    return objective + 0.5 * promise + occam - counts.reference[child]
