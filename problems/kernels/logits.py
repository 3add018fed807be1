"""Kernels that score discrete columns whose levels follow a sum of smooth curves of their parents, as logits."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

MOST_PER_PARENT = 7
"""Most functions of a parent of a logit, the smoothest ones."""
MOST_TERMS = 96
"""Most functions of all parents of a logit; a family with more is scored by its table."""
MOST_LEVELS = 8
"""Most levels of a column that follows a logit."""
MOST_PARAMETERS = 1 + MOST_TERMS + 2 * (MOST_LEVELS - 2)
"""Most parameters of a logit: a constant, one per function, and two per level beyond two."""

ROWS_AT_ONCE = 4
"""Rows whose moments are added together."""
# a logit is fitted to a part of the rows before it is fitted to all, of a fewest number of rows per parameter
_PARTS = (4, 1)
_FEWEST_ROWS = 20
_MOST_STEPS = 12
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
    system: NDArray[np.float64]  # (most, most + 1) upper part of the information, and the gradient
    parameters: NDArray[np.float64]  # (4, most) present and former ones, prior precisions, and least pivots
    levels: NDArray[np.float64]  # (5, most levels) constants, positions, probabilities, and further numbers
    between: NDArray[np.float64]  # (most levels, most levels + 1)


@kernel
def eliminate(system: NDArray[np.float64], size: int, width: int, least: NDArray[np.float64]) -> None:
    """Factorise the upper part of a positive definite matrix in place, and solve for the columns beyond it.

    The matrix has `size` rows, and the system `width` columns. The diagonal then has the squares of the pivots, which
    rounding leaves no smaller than `least`, and the rows of the factor are divided by the pivots.
    """
    for k in range(size):
        system[k, k] = max(system[k, k], least[k])
        pivot = sqrt(system[k, k])
        of_pivot = system[k, k + 1 : width]
        for j in range(of_pivot.shape[0]):
            of_pivot[j] /= pivot
        # whole rows are subtracted, which compiles to vector code, unlike sums of products
        for i in range(k + 1, size):
            factor = system[k, i]
            above, below = system[k, i:width], system[i, i:width]
            for j in range(below.shape[0]):
                below[j] -= factor * above[j]


@kernel
def _solution(system: NDArray[np.float64], size: int) -> float:
    """Turn the last column of an eliminated system into its solution; return twice the promised rise in nats."""
    promise = 0.0
    for k in range(size):
        promise += system[k, size] * system[k, size]
    for k in range(size - 1, -1, -1):
        value = system[k, size]
        for j in range(k + 1, size):
            value -= system[k, j] * system[j, size]
        system[k, size] = value / sqrt(system[k, k])
    return promise


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
def _log_likelihood(
    data: LogitData, scratch: LogitScratch, child: int, size: int, n_rows: int, ends: tuple[int, int]
) -> float:
    """Return the log likelihood of the first rows, and fill the information matrix and the gradient."""
    n_levels = data.n_levels[child]
    system = scratch.system
    some, weighted = scratch.some[:ROWS_AT_ONCE], scratch.some[ROWS_AT_ONCE:]
    a, b, p = scratch.levels[0], scratch.levels[1], scratch.levels[2]
    beta = scratch.parameters[0]
    codes = data.codes[child]
    n_all = size + 1
    n_parameters = n_all if n_levels == 2 else n_all + 2 * (n_levels - 2)
    for i in range(n_parameters):
        system[i, : n_parameters + 1] = 0.0
    total = 0.0
    for start in range(0, n_rows, ROWS_AT_ONCE):
        for r in range(ROWS_AT_ONCE):
            row, values = start + r, some[r]
            if row >= n_rows:
                for j in range(n_all):
                    values[j] = 0.0
                weighted[r, :n_all] = 0.0
                continue
            of_row = scratch.rows[row]
            f = 0.0
            for j in range(n_all):
                values[j] = of_row[j]
            for j in range(n_all):
                f += values[j] * beta[j]
            greatest = -np.inf
            for k in range(n_levels):
                p[k] = a[k] + b[k] * f
                greatest = max(greatest, p[k])
            code = codes[row]
            total += p[code] - greatest
            norm = 0.0
            for k in range(n_levels):
                p[k] = exp(p[k] - greatest)
                norm += p[k]
            total -= log(norm)
            mean, square = 0.0, 0.0
            for k in range(n_levels):
                p[k] /= norm
                mean += p[k] * b[k]
                square += p[k] * b[k] * b[k]
            weight = square - mean * mean
            residual = b[code] - mean
            for j in range(n_all):
                weighted[r, j] = weight * values[j]
                system[j, n_parameters] += residual * values[j]
            place = n_all
            for k in range(n_levels):
                if not _is_free(k, n_levels, ends):
                    continue
                left = 1.0 - p[k] if k == code else -p[k]
                system[place, n_parameters] += left
                system[place + 1, n_parameters] += f * left
                share = p[k] * (b[k] - mean)
                for j in range(n_all):
                    system[j, place] += share * values[j]
                    system[j, place + 1] += f * share * values[j]
                other = n_all
                for m in range(k + 1):
                    if not _is_free(m, n_levels, ends):
                        continue
                    product = p[k] - p[k] * p[k] if m == k else -p[k] * p[m]
                    system[other, place] += product
                    system[other, place + 1] += f * product
                    system[other + 1, place + 1] += f * f * product
                    if m < k:
                        system[other + 1, place] += f * product
                    other += 2
                place += 2
        for i in range(n_all):
            w0, w1, w2, w3 = weighted[0, i], weighted[1, i], weighted[2, i], weighted[3, i]
            below = system[i, i:n_all]
            x0, x1, x2, x3 = some[0, i:n_all], some[1, i:n_all], some[2, i:n_all], some[3, i:n_all]
            for j in range(below.shape[0]):
                below[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j]
    return total


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
    _solution(system, size)
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
def logit_gain(data: LogitData, scratch: LogitScratch, child: int, size: int) -> float:
    """Return how much a logit gains over the shares of the levels, in nats of all rows of the table.

    It is Laplace's approximation of the log marginal likelihood. ``scratch.rows`` has ones and the functions of the
    parents, ``scratch.parameters`` the first coefficients, and their prior precisions in row 2, ``scratch.levels`` the
    first constants and positions.
    """
    n_levels = data.n_levels[child]
    shares, levels, system = data.shares[child], scratch.levels, scratch.system
    present, before, precisions, least = (
        scratch.parameters[0],
        scratch.parameters[1],
        scratch.parameters[2],
        scratch.parameters[3],
    )
    n_all, m = size + 1, data.functions.shape[0]
    low, high = 0, 0
    root = 0.0
    for k in range(n_levels):
        root += m * shares[k] * log(shares[k])
        if levels[1, k] < levels[1, low]:
            low = k
        if levels[1, k] > levels[1, high]:
            high = k
    ends = (low, high)
    n_parameters = n_all
    for k in range(n_levels):
        if _is_free(k, n_levels, ends):
            present[n_parameters], present[n_parameters + 1] = levels[0, k], levels[1, k]
            precisions[n_parameters], precisions[n_parameters + 1] = 0.0, 1.0
            n_parameters += 2
    of_root = _root_determinant(data, scratch, child, ends)
    factor = 1.0
    objective, promise, determinant, share = 0.0, 0.0, 0.0, 1.0
    n_factors = 0
    for of_part in _PARTS:
        n_rows = m // of_part
        if n_rows < m and n_rows < _FEWEST_ROWS * n_parameters:
            continue
        share = n_rows / m
        n_halvings, known = 0, -np.inf
        for _ in range(_MOST_STEPS):
            _set_levels(scratch, n_all, n_levels, ends)
            objective = _log_likelihood(data, scratch, child, size, n_rows, ends)
            squares, effective = 0.0, 0.0
            for j in range(1, n_all):
                squares += precisions[j] * present[j] * present[j]
                of_rows = system[j, j] / share
                effective += of_rows / (of_rows + factor * precisions[j])
            objective -= 0.5 * factor * share * squares
            promise = 0.0
            if objective < known:
                # a step that went too far
                n_halvings += 1
                nearness = 0.25 if n_halvings < _MOST_HALVINGS else 0.0
                for j in range(n_parameters):
                    present[j] = before[j] + nearness * (present[j] - before[j])
                continue
            if n_halvings >= _MOST_HALVINGS:
                break
            if n_factors == 0:
                objective += 0.5 * factor * share * squares
                factor = min(max(effective / max(squares, 1e-300), _LEAST_FACTOR), _MOST_FACTOR)
                objective -= 0.5 * factor * share * squares
                n_factors = 1
            known, n_halvings = objective, 0
            for j in range(n_parameters):
                least[j] = share * precisions[j]
                if 0 < j < n_all:
                    least[j] *= factor
                    system[j, n_parameters] -= least[j] * present[j]
                least[j] = max(least[j], _RIDGE * n_rows)
                system[j, j] += least[j]
            eliminate(system, n_parameters, n_parameters + 1, least)
            determinant = 0.0
            for j in range(n_parameters):
                determinant += log(system[j, j] / share)
            promise = _solution(system, n_parameters)
            for j in range(n_parameters):
                before[j] = present[j]
                present[j] += system[j, n_parameters]
            if promise < 2.0 * _LEAST_PROMISE * share:
                if n_factors > 1:
                    break
                # coefficients are settled, and so are their sizes
                n_factors, former = 2, factor
                factor = min(max(effective / max(squares, 1e-300), _LEAST_FACTOR), _MOST_FACTOR)
                if max(factor, former) < _LEAST_CHANGE * min(factor, former):
                    factor = former
                    break
                known = -np.inf
    _set_levels(scratch, n_all, n_levels, ends)
    scratch.levels[4, 0] = factor
    promise = min(promise, 2.0 * _LEAST_PROMISE * share)
    prior = 0.0
    for j in range(1, n_all):
        prior += log(factor * precisions[j])
    n_of_root = 1 + (n_parameters - n_all) // 2
    occam = 0.5 * (prior - determinant + of_root + n_of_root * log(m))
    return ((objective + 0.5 * promise) / share - root + occam) * data.weight
