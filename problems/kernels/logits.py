"""Kernels that score discrete columns whose levels follow a sum of smooth curves of their parents, as logits."""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel, separate_kernel
from gomea_bn.runtime.kernels import eliminate, solve_back

MOST_PER_PARENT = 7
"""Most functions of a parent of a logit, the smoothest ones."""
MOST_TERMS = 96
"""Most functions of all parents of a logit; a family with more is scored by its table."""
MOST_LEVELS = 8
"""Most levels of a column that follows a logit."""
MOST_PARAMETERS = 1 + MOST_TERMS + 2 * (MOST_LEVELS - 2)
"""Most parameters of a logit: a constant, one per function, and two per level beyond two."""

WHOLE, ESTIMATED, CONTINUED = 0, 1, 2
"""A logit is fitted to some rows and then to all; its gain is estimated by some rows; an estimate goes on to all."""
ROWS_AT_ONCE = 4
"""Rows whose moments are added together."""
ROWS_OF_BLOCK = 64
"""Rows whose probabilities are found together; a multiple of `ROWS_AT_ONCE`."""
N_OF_ROW = 6
"""Numbers of a row apart from the probabilities of the levels."""
# a part of the rows is enough for the information, of a fewest number of rows per parameter
_PART = 8
_FEWEST_ROWS = 40
_MOST_STEPS, _STEPS_OF_SOME = 20, 4
# a step that promises fewer nats on all rows is the last one of a part
_LEAST_PROMISE = 1.0
_MOST_HALVINGS = 4
# limits of the factor of the prior precisions: effects on levels may be larger than those on numbers
_LEAST_FACTOR, _MOST_FACTOR = 1.0 / 64.0, 1.0
# a smaller change of the factor changes nothing else
_LEAST_CHANGE = 1.5
_STEPS_OF_POSITIONS = 20
# a share of the rows that keeps moments of levels regular
_RIDGE = 1e-6
# the least share of the positions that a regression leaves unexplained
_LEAST_LEFT = 1e-2
# positions that are not explained at all
_LEAST_POSITION = 1e-12


class LogitData(NamedTuple):
    """Rows in random order for discrete columns that may follow curves; without such columns there are no rows.

    Level k of a column has the probability exp(a_k + b_k f) divided by the sum of these over the levels, where f is a
    sum of functions of the parents, and the positions b of the levels have the mean 0 and the variance 1 over the rows.
    """

    functions: NDArray[np.float32]  # (m, M) of all columns
    codes: NDArray[np.uint8]  # (N, m) numbers of the levels that occur
    n_levels: NDArray[np.int64]  # (N,) levels that occur, 0 for a column that follows no curves
    shares: NDArray[np.float64]  # (N, most levels) of the rows
    alone: NDArray[np.float64]  # (N,) score of the table without parents, in nats
    weight: float  # rows of the table per row here


class LogitScratch(NamedTuple):
    """One thread's work space; mutated. A logit has at most `MOST_PARAMETERS`: its coefficients come first."""

    rows: NDArray[np.float32]  # (m, 1 + MOST_TERMS) ones, and the functions of a family
    some: NDArray[np.float64]  # (2 * ROWS_AT_ONCE, 1 + MOST_TERMS) rows, and the same times their weights
    system: NDArray[np.float64]  # (most, most + 1) upper part of the information, then its factor; a step
    parameters: NDArray[
        np.float64
    ]  # (5, most) present and former ones, prior precisions, least pivots, gradient
    crossed: NDArray[
        np.float64
    ]  # (2 * most levels, 1 + MOST_TERMS) information on coefficients and levels together
    # (N_OF_ROW + most levels, ROWS_OF_BLOCK) sums of functions, greatest exponents, norms, means, residuals and
    # variances of positions, and the probabilities of the levels
    block: NDArray[np.float64]
    levels: NDArray[np.float64]  # (4, most levels) constants, positions, and further numbers
    between: NDArray[np.float64]  # (most levels, most levels + 1)
    # (5,) two levels without parameters, determinant without parents, factor of the precisions, determinant
    state: NDArray[np.float64]


@kernel
def _is_free(k: int, n_levels: int, ends: tuple[int, int]) -> bool:
    """Return whether a level has a constant and a position of its own: all but two levels do."""
    return n_levels > 2 and k != ends[0] and k != ends[1]


@kernel
def _set_levels(scratch: LogitScratch, n_all: int, n_levels: int, ends: tuple[int, int]) -> None:
    """Set constants and positions of levels to the parameters that follow the `n_all` coefficients."""
    place = n_all
    for k in range(n_levels):
        if _is_free(k, n_levels, ends):
            scratch.levels[0, k] = scratch.parameters[0, place]
            scratch.levels[1, k] = scratch.parameters[0, place + 1]
            place += 2


@kernel
def _exponentials(values: NDArray[np.float64]) -> None:
    """Replace numbers of at most 0 by their exponentials; all below -40 count as that.

    The 256th power of a short series takes arithmetic alone, so that several numbers are done at a time.
    """
    for r in range(values.shape[0]):
        x = max(values[r], -40.0) / 256.0
        y = 1.0 + x * (1.0 / 8.0)
        y = 1.0 + x * (1.0 / 7.0) * y
        y = 1.0 + x * (1.0 / 6.0) * y
        y = 1.0 + x * (1.0 / 5.0) * y
        y = 1.0 + x * (1.0 / 4.0) * y
        y = 1.0 + x * (1.0 / 3.0) * y
        y = 1.0 + x * (1.0 / 2.0) * y
        y = 1.0 + x * y
        y *= y
        y *= y
        y *= y
        y *= y
        y *= y
        y *= y
        y *= y
        values[r] = y * y


@kernel
def set_sums(scratch: LogitScratch, n_all: int, start: int, n_rows: int) -> None:
    """Fill row 0 of the block with the sums of the first `n_all` functions for rows from `start` on, of `n_rows`."""
    beta, f, last = scratch.parameters[0, :n_all], scratch.block[0], n_rows - 1
    for r in range(0, ROWS_OF_BLOCK, ROWS_AT_ONCE):
        x0, x1 = scratch.rows[min(start + r, last)], scratch.rows[min(start + r + 1, last)]
        x2, x3 = scratch.rows[min(start + r + 2, last)], scratch.rows[min(start + r + 3, last)]
        f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
        for j in range(n_all):
            f0 += beta[j] * x0[j]
            f1 += beta[j] * x1[j]
            f2 += beta[j] * x2[j]
            f3 += beta[j] * x3[j]
        f[r], f[r + 1], f[r + 2], f[r + 3] = f0, f1, f2, f3


@kernel
def add_residuals(scratch: LogitScratch, n_all: int, start: int, n_block: int, n_rows: int) -> None:
    """Add the products of functions and residuals, row 4 of the block, to the gradient of the coefficients."""
    of_beta, residual, last = scratch.parameters[4, :n_all], scratch.block[4], n_rows - 1
    for r in range(0, n_block, ROWS_AT_ONCE):
        x0, x1 = scratch.rows[min(start + r, last)], scratch.rows[min(start + r + 1, last)]
        x2, x3 = scratch.rows[min(start + r + 2, last)], scratch.rows[min(start + r + 3, last)]
        e0, e1, e2, e3 = residual[r], residual[r + 1], residual[r + 2], residual[r + 3]
        for j in range(n_all):
            of_beta[j] += e0 * x0[j] + e1 * x1[j] + e2 * x2[j] + e3 * x3[j]


@kernel
def add_products(scratch: LogitScratch, n_all: int, start: int, first: int, n_block: int) -> None:
    """Add the products of functions, weighted by row 5 of the block, to the information of the coefficients.

    They are those of `ROWS_AT_ONCE` rows from `first` on of the block that starts at row `start`.
    """
    system, some, weighted = scratch.system, scratch.some[:ROWS_AT_ONCE], scratch.some[ROWS_AT_ONCE:]
    for r in range(ROWS_AT_ONCE):
        # rows after the last one have no weight
        of_row, weight = scratch.rows[start + min(first + r, n_block - 1)], scratch.block[5, first + r]
        values, of_weights = some[r], weighted[r]
        for j in range(n_all):
            values[j] = of_row[j]
        for j in range(n_all):
            of_weights[j] = weight * values[j]
    for i in range(n_all):
        w0, w1, w2, w3 = weighted[0, i], weighted[1, i], weighted[2, i], weighted[3, i]
        below = system[i, i:n_all]
        x0, x1, x2, x3 = some[0, i:n_all], some[1, i:n_all], some[2, i:n_all], some[3, i:n_all]
        for j in range(below.shape[0]):
            below[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j]


@kernel
def _set_probabilities(
    data: LogitData, scratch: LogitScratch, child: int, n_all: int, start: int, n_rows: int
) -> float:
    """Fill the sums of functions, the probabilities of the levels and their moments for rows from `start` on.

    Of `n_rows` rows those of one block count. Return their log likelihood. Residuals of positions, and their variances,
    are 0 after the last row.
    """
    n_levels, codes = data.n_levels[child], data.codes[child]
    a, b = scratch.levels[0], scratch.levels[1]
    block, p = scratch.block, scratch.block[N_OF_ROW:]
    f, greatest, norm, mean, residual, variance = block[0], block[1], block[2], block[3], block[4], block[5]
    set_sums(scratch, n_all, start, n_rows)
    greatest[:] = -np.inf
    for k in range(n_levels):
        of_level = p[k]
        for r in range(ROWS_OF_BLOCK):
            of_level[r] = a[k] + b[k] * f[r]
            greatest[r] = max(greatest[r], of_level[r])
    n_block = min(ROWS_OF_BLOCK, n_rows - start)
    total = 0.0
    for r in range(n_block):
        total += p[codes[start + r], r] - greatest[r]
    norm[:] = 0.0
    for k in range(n_levels):
        of_level = p[k]
        for r in range(ROWS_OF_BLOCK):
            of_level[r] -= greatest[r]
        _exponentials(of_level)
        for r in range(ROWS_OF_BLOCK):
            norm[r] += of_level[r]
    product = 1.0
    for r in range(n_block):
        product *= norm[r]
    mean[:] = 0.0
    variance[:] = 0.0
    for k in range(n_levels):
        of_level = p[k]
        for r in range(ROWS_OF_BLOCK):
            of_level[r] /= norm[r]
            mean[r] += of_level[r] * b[k]
            variance[r] += of_level[r] * b[k] * b[k]
    for r in range(ROWS_OF_BLOCK):
        variance[r] -= mean[r] * mean[r]
    for r in range(n_block):
        residual[r] = b[codes[start + r]] - mean[r]
    residual[n_block:] = 0.0
    variance[n_block:] = 0.0
    return total - log(product)


@kernel
def _log_likelihood(
    data: LogitData,
    scratch: LogitScratch,
    child: int,
    size: int,
    n_rows: int,
    ends: tuple[int, int],
    is_whole: bool,
) -> float:
    """Return the log likelihood of the first rows, and fill its gradient; as a whole also the information.

    All are multiplied by the number of all rows over that of the first ones.
    """
    n_levels = data.n_levels[child]
    system, crossed, gradient = scratch.system, scratch.crossed, scratch.parameters[4]
    codes = data.codes[child]
    n_all = size + 1
    n_parameters = n_all if n_levels == 2 else n_all + 2 * (n_levels - 2)
    gradient[:n_parameters] = 0.0
    if is_whole:
        for i in range(n_parameters):
            system[i, :n_parameters] = 0.0
        for i in range(n_parameters - n_all):
            crossed[i, :n_all] = 0.0
    f, p = scratch.block[0], scratch.block[N_OF_ROW:]
    total = 0.0
    for start in range(0, n_rows, ROWS_OF_BLOCK):
        total += _set_probabilities(data, scratch, child, n_all, start, n_rows)
        n_block = min(ROWS_OF_BLOCK, n_rows - start)
        add_residuals(scratch, n_all, start, n_block, n_rows)
        place = n_all
        for k in range(n_levels):
            if _is_free(k, n_levels, ends):
                of_constant, of_position = 0.0, 0.0
                for r in range(n_block):
                    left = 1.0 - p[k, r] if k == codes[start + r] else -p[k, r]
                    of_constant += left
                    of_position += f[r] * left
                gradient[place] += of_constant
                gradient[place + 1] += of_position
                place += 2
        if is_whole:
            _add_information(scratch, n_levels, n_all, start, n_block, ends)
    more = data.functions.shape[0] / n_rows
    for i in range(n_parameters):
        gradient[i] *= more
        if is_whole:
            for j in range(i, n_parameters):
                if i < n_all <= j:
                    system[i, j] = crossed[j - n_all, i]
                system[i, j] *= more
    return total * more


@kernel
def _add_information(
    scratch: LogitScratch, n_levels: int, n_all: int, start: int, n_block: int, ends: tuple[int, int]
) -> None:
    """Add the information of the rows of a block to that of coefficients, levels, and both together."""
    system, crossed, b = scratch.system, scratch.crossed, scratch.levels[1]
    some, f, mean, p = scratch.some, scratch.block[0], scratch.block[3], scratch.block[N_OF_ROW:]
    for first in range(0, n_block, ROWS_AT_ONCE):
        add_products(scratch, n_all, start, first, n_block)
        place = 0
        for k in range(n_levels):
            if not _is_free(k, n_levels, ends):
                continue
            of_constant, of_position = crossed[place, :n_all], crossed[place + 1, :n_all]
            place += 2
            for r in range(min(ROWS_AT_ONCE, n_block - first)):
                values, row = some[r], first + r
                share = p[k, row] * (b[k] - mean[row])
                of_f = f[row] * share
                for j in range(n_all):
                    of_constant[j] += share * values[j]
                    of_position[j] += of_f * values[j]
    place = n_all
    for k in range(n_levels):
        if not _is_free(k, n_levels, ends):
            continue
        other = n_all
        for m in range(k + 1):
            if not _is_free(m, n_levels, ends):
                continue
            zeroth, first_moment, second_moment = 0.0, 0.0, 0.0
            for r in range(n_block):
                product = p[k, r] - p[k, r] * p[k, r] if m == k else -p[k, r] * p[m, r]
                zeroth += product
                first_moment += f[r] * product
                second_moment += f[r] * f[r] * product
            system[other, place] += zeroth
            system[other, place + 1] += first_moment
            system[other + 1, place + 1] += second_moment
            if m < k:
                system[other + 1, place] += first_moment
            other += 2
        place += 2


@kernel
def _standardise(b: NDArray[np.float64], shares: NDArray[np.float64], n_levels: int) -> None:
    mean, square = 0.0, 0.0
    for k in range(n_levels):
        mean += shares[k] * b[k]
    for k in range(n_levels):
        b[k] -= mean
        square += shares[k] * b[k] * b[k]
    for k in range(n_levels):
        b[k] /= sqrt(max(square, 1e-300))


@kernel
def start_logit(
    data: LogitData,
    scratch: LogitScratch,
    system: NDArray[np.float64],
    child: int,
    size: int,
    n_rows: float,
) -> None:
    """Fill the first parameters of a logit: those of a discriminant analysis along the best positions of the levels.

    `system` is the eliminated one of the functions over `n_rows` rows, with the indicators of the levels, each divided
    by its standard deviation, as the columns after the first `size`.
    """
    n_levels, shares = data.n_levels[child], data.shares[child]
    _first_positions(system, size, n_levels, shares, scratch)
    b, parameters = scratch.levels[1], scratch.parameters
    explained = 0.0
    for i in range(size):
        of_position = 0.0
        for k in range(n_levels):
            of_position += system[i, size + k] * sqrt(shares[k] * (1.0 - shares[k])) * b[k]
        system[i, size] = of_position
        explained += of_position * of_position / n_rows
    left = max(1.0 - explained, _LEAST_LEFT)
    solve_back(system, size)
    parameters[0, 0] = 0.0
    for i in range(size):
        parameters[0, i + 1] = system[i, size] / left
    for k in range(n_levels):
        scratch.levels[0, k] = log(shares[k]) - 0.5 * b[k] * b[k] * (1.0 - left) / left


@kernel
def _first_positions(
    explained: NDArray[np.float64],
    size: int,
    n_levels: int,
    shares: NDArray[np.float64],
    scratch: LogitScratch,
) -> None:
    """Fill positions of levels, which make a linear regression of the position explain most of it.

    Rows of `explained` have, after the first `size` columns, what orthonormal functions explain of the indicators of
    the levels, each divided by its standard deviation.
    """
    b, new, deviations, between = scratch.levels[1], scratch.levels[2], scratch.levels[3], scratch.between
    for k in range(n_levels):
        b[k] = float(k)
    _standardise(b, shares, n_levels)
    if n_levels == 2:
        return
    for k in range(n_levels):
        between[k, :n_levels] = 0.0
        deviations[k] = sqrt(shares[k] * (1.0 - shares[k]))
    for i in range(size):
        for k in range(n_levels):
            for m in range(n_levels):
                between[k, m] += explained[i, size + k] * explained[i, size + m]
    for _ in range(_STEPS_OF_POSITIONS):
        most = 0.0
        for k in range(n_levels):
            new[k] = 0.0
            for m in range(n_levels):
                new[k] += between[k, m] * deviations[m] * b[m]
            new[k] *= deviations[k] / shares[k]
            most = max(most, abs(new[k]))
        if most < _LEAST_POSITION:
            return
        for k in range(n_levels):
            b[k] = new[k]
        _standardise(b, shares, n_levels)


@kernel
def _root_determinant(data: LogitData, scratch: LogitScratch, child: int, ends: tuple[int, int]) -> float:
    """Return ln of the determinant of the information of a logit without parents, per row to the power of its size."""
    n_levels, shares, b = data.n_levels[child], data.shares[child], scratch.levels[1]
    system = scratch.between
    system[0, 0] = 1.0
    place = 1
    for k in range(n_levels):
        if not _is_free(k, n_levels, ends):
            continue
        system[0, place] = shares[k] * b[k]
        other = 1
        for m in range(k + 1):
            if _is_free(m, n_levels, ends):
                system[other, place] = (shares[k] if m == k else 0.0) - shares[k] * shares[m]
                other += 1
        place += 1
    least = scratch.levels[3]
    for k in range(place):
        least[k] = 1e-12
    eliminate(system, place, place, least)
    determinant = 0.0
    for k in range(place):
        determinant += log(system[k, k])
    return determinant


@kernel
def newton_step(scratch: LogitScratch, n_parameters: int, n_all: int, factor: float, is_whole: bool) -> float:
    """Take Newton's step, and return twice the rise that it promises in nats.

    A whole information is factorised first; otherwise the factor of the last one counts.
    """
    system = scratch.system
    present, before, precisions, least, gradient = (
        scratch.parameters[0],
        scratch.parameters[1],
        scratch.parameters[2],
        scratch.parameters[3],
        scratch.parameters[4],
    )
    for j in range(n_parameters):
        precision = factor * precisions[j] if j < n_all else precisions[j]
        system[j, n_parameters] = gradient[j]
        # positions of levels are free, and their prior keeps steps small
        if j < n_all:
            system[j, n_parameters] -= precision * present[j]
        if is_whole:
            least[j] = max(precision, _RIDGE * system[j, j])
            system[j, j] += least[j]
    if is_whole:
        eliminate(system, n_parameters, n_parameters + 1, least)
    else:
        for k in range(n_parameters):
            system[k, n_parameters] /= sqrt(system[k, k])
            for i in range(k + 1, n_parameters):
                system[i, n_parameters] -= system[k, i] * system[k, n_parameters]
    promise = solve_back(system, n_parameters)
    for j in range(n_parameters):
        before[j] = present[j]
        present[j] += system[j, n_parameters]
    return promise


@kernel
def _n_of_estimate(data: LogitData, child: int, n_all: int) -> int:
    """Return the number of rows that give the information of a logit with `n_all` coefficients, and its estimate."""
    m, n_levels = data.functions.shape[0], data.n_levels[child]
    n_parameters = n_all if n_levels == 2 else n_all + 2 * (n_levels - 2)
    n_some = max(m // _PART, _FEWEST_ROWS * n_parameters)
    return m if 2 * n_some > m else n_some


@kernel
def gather_rows(
    data: LogitData,
    scratch: LogitScratch,
    functions: NDArray[np.int64],
    child: int,
    size: int,
    how: int,
) -> None:
    """Fill ``scratch.rows`` with ones and the first `size` functions, for the rows that `logit_gain` needs."""
    n_some = _n_of_estimate(data, child, size + 1)
    first = n_some if how == CONTINUED else 0
    last = n_some if how == ESTIMATED else data.functions.shape[0]
    for row in range(first, last):
        of_row, values = data.functions[row], scratch.rows[row]
        values[0] = 1.0
        for i in range(size):
            values[i + 1] = of_row[functions[i]]


@kernel
def _price_of_positions(b: NDArray[np.float64], shares: NDArray[np.float64], n_levels: int) -> float:
    """Return minus the log prior density of the free positions, in nats, relative to that of their mean.

    All positions are standard normal numbers, given that they have the mean 0 and the variance 1 over the rows.
    """
    if n_levels == 2:
        return 0.0
    mean, square = 0.0, 0.0
    for k in range(n_levels):
        mean += shares[k] * b[k]
        square += shares[k] * b[k] * b[k]
    variance = square - mean * mean
    squares = 0.0
    for k in range(n_levels):
        squares += (b[k] - mean) * (b[k] - mean)
    # two numbers have what the mean and the variance leave no choice of
    return 0.5 * (squares / variance - 2.0)


@separate_kernel
def logit_gain(data: LogitData, scratch: LogitScratch, child: int, size: int, how: int) -> float:
    """Return how much a logit gains over the shares of the levels, in nats of all rows of the table.

    It is Laplace's approximation of the log marginal likelihood. ``scratch.rows`` has ones and the functions of the
    parents, ``scratch.parameters`` the first coefficients, and their prior precisions in row 2, ``scratch.levels`` the
    first constants and positions. Some rows give the information, and all rows the likelihood. `how` is `WHOLE`,
    `ESTIMATED`, or `CONTINUED` right after an estimate.
    """
    n_levels, m = data.n_levels[child], data.functions.shape[0]
    shares, levels, system = data.shares[child], scratch.levels, scratch.system
    present, before, precisions = scratch.parameters[0], scratch.parameters[1], scratch.parameters[2]
    n_all = size + 1
    state = scratch.state
    if how != CONTINUED:
        low, high = 0, 0
        for k in range(n_levels):
            if levels[1, k] < levels[1, low]:
                low = k
            if levels[1, k] > levels[1, high]:
                high = k
        state[0], state[1] = low, high
        state[2] = _root_determinant(data, scratch, child, (low, high))
        precisions[0] = 0.0
    ends, of_root = (int(state[0]), int(state[1])), state[2]
    root = 0.0
    n_parameters = n_all
    for k in range(n_levels):
        root += m * shares[k] * log(shares[k])
        if _is_free(k, n_levels, ends):
            present[n_parameters], present[n_parameters + 1] = levels[0, k], levels[1, k]
            precisions[n_parameters], precisions[n_parameters + 1] = 0.0, 1.0
            n_parameters += 2
    n_some = _n_of_estimate(data, child, n_all)
    factor, wanted = 1.0, 1.0
    objective, known, promise, determinant = 0.0, -np.inf, 0.0, 0.0
    n_rows, n_halvings, n_factors, n_steps = n_some, 0, 0, 0
    is_whole = True
    if how == CONTINUED:
        factor, determinant, n_factors = state[3], state[4], 2
        n_rows, is_whole = m, n_some == m
    for _ in range(_MOST_STEPS):
        _set_levels(scratch, n_all, n_levels, ends)
        objective = _log_likelihood(data, scratch, child, size, n_rows, ends, is_whole)
        squares = 0.0
        for j in range(1, n_all):
            squares += precisions[j] * present[j] * present[j]
        promise = 0.0
        if objective - 0.5 * factor * squares < known:
            # a step that went too far; with the information of all rows the next ones go less far
            n_halvings += 1
            is_whole = True
            nearness = 0.25 if n_halvings < _MOST_HALVINGS else 0.0
            for j in range(n_parameters):
                present[j] = before[j] + nearness * (present[j] - before[j])
            continue
        if n_halvings >= _MOST_HALVINGS:
            objective -= 0.5 * factor * squares
            break
        n_halvings = 0
        if is_whole:
            effective = 0.0
            for j in range(1, n_all):
                effective += system[j, j] / (system[j, j] + factor * precisions[j])
            wanted = min(max(effective / max(squares, 1e-300), _LEAST_FACTOR), _MOST_FACTOR)
            if n_factors == 0:
                factor, n_factors = wanted, 1
        objective -= 0.5 * factor * squares
        known = objective
        promise = newton_step(scratch, n_parameters, n_all, factor, is_whole)
        if is_whole:
            determinant = 0.0
            for j in range(n_parameters):
                determinant += log(system[j, j])
        # some rows need not be fitted well
        n_steps += 1
        if promise * n_rows >= 2.0 * _LEAST_PROMISE * m and (n_rows == m or n_steps < _STEPS_OF_SOME):
            continue
        if is_whole and n_factors == 1:
            # coefficients are settled, and so are their sizes
            n_factors = 2
            if max(factor, wanted) > _LEAST_CHANGE * min(factor, wanted):
                factor, known = wanted, -np.inf
                continue
        if n_rows == m or how == ESTIMATED:
            break
        n_rows, known, is_whole = m, -np.inf, False
    _set_levels(scratch, n_all, n_levels, ends)
    state[3], state[4] = factor, determinant
    promise = min(promise, 2.0 * _LEAST_PROMISE)
    prior = 0.0
    for j in range(1, n_all):
        prior += log(factor * precisions[j])
    n_of_root = 1 + (n_parameters - n_all) // 2
    occam = 0.5 * (prior - determinant + of_root + n_of_root * log(m))
    occam -= _price_of_positions(levels[1], shares, n_levels)
    return (objective + 0.5 * promise - root + occam) * data.weight
