"""Kernels that score discrete columns whose levels follow a sum of smooth curves of their parents, as logits."""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.cells import (
    FAR,
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
    start_derivatives,
    start_sums,
    total,
)
from gomea_bn.runtime.jit import kernel, separate_kernel
from gomea_bn.runtime.kernels import eliminate, exponentials, solve_back

MOST_TERMS = 96
"""Most functions of all parents of a logit; a family with more is scored by its table."""
MOST_LEVELS = 10
"""Most levels of a column that follows a logit."""
MOST_PARAMETERS = 1 + MOST_TERMS + 2 * (MOST_LEVELS - 2)
"""Most parameters of a logit: a constant, one per function, and two per level beyond two."""

N_OF_ITEM = 9
"""Numbers of an item apart from the probabilities of the levels."""
MOST_STEPS = 20
# a step that promises fewer nats is the last one
_LEAST_PROMISE = 0.1
# share of the promise of the last step from which the information is found anew
_SLOW = 0.2
# nats of steps after which the information of the evidence is found anew
_NEAR = 1.0
MOST_HALVINGS = 4
# the same where levels have sums of their own, each step a quarter of the one before
_MOST_QUARTERS = 8
# limits of the factor of the prior precisions: effects on levels may be larger than those on numbers
_LEAST_FACTOR, _MOST_FACTOR = 1.0 / 64.0, 1.0
# prior precisions of what an amount of a level moves: log odds of two levels, which have a deviation of 2, and those of
# one of many levels
_OF_TWO, _OF_ONE = 0.25, 0.5
# a smaller change of the factor changes nothing else
_LEAST_CHANGE = 1.5
_STEPS_OF_POSITIONS = 20
# the least share of the positions that a regression leaves unexplained
_LEAST_LEFT = 1e-2
# positions that are not explained at all
_LEAST_POSITION = 1e-12
# steps after which levels with sums of their own end that promise less than is known already
_FEWEST_STEPS = 2


class LogitData(NamedTuple):
    """Rows in random order for discrete columns that may follow curves; without such columns there are no rows.

    Level k of a column has the probability exp(a_k + b_k f) divided by the sum of these over the levels, where f is a
    sum of functions of the parents, and the positions b of the levels have the mean 0 and the variance 1 over the rows.
    Or it has a sum f_k of its own, in place of b_k f. Levels in their order may have positions at equal distances,
    which is one ratio of odds for every step (the adjacent-category logit: Goodman, "Simple models for the analysis of
    association in cross-classifications having ordered categories", 1979).
    """

    cells: CellData
    codes: NDArray[np.uint8]  # (N, m) numbers of the levels that occur
    n_levels: NDArray[np.int64]  # (N,) levels that occur, 0 for a column that follows no curves
    shares: NDArray[np.float64]  # (N, most levels) of the rows
    most_functions: NDArray[np.int64]  # (N,) that a column has as a parent, the smoothest ones of numbers
    alone: NDArray[np.float64]  # (N,) score of the table without parents, in nats
    weight: float  # rows of the table per row here


class LogitScratch(NamedTuple):
    """One thread's work space; mutated. A logit has at most `MOST_PARAMETERS`: its coefficients come first."""

    cells: CellScratch
    counts: NDArray[np.float64]  # (most levels, m) rows of a level by item
    totals: NDArray[np.float64]  # (m,) rows by item
    # (N_OF_ITEM + most levels, ITEMS_OF_BLOCK) sums of functions, greatest exponents, norms, means, derivatives and
    # variances of positions, log likelihoods, two further numbers, and the probabilities of the levels
    block: NDArray[np.float64]
    # (1 + further sums, ITEMS_OF_BLOCK) of derivatives, and of the information on levels
    sums: NDArray[np.float64]
    levels: NDArray[np.float64]  # (4, most levels) constants, positions, and further numbers
    between: NDArray[np.float64]  # (most levels, most levels + 1)
    odds: NDArray[np.float64]  # (most levels, m) sums of functions, and then probabilities, of levels by item
    slopes: NDArray[np.float64]  # (2, most levels, most) constants and slopes of levels, and the former ones
    state: NDArray[
        np.float64
    ]  # (3,) factor of the precisions, share of the positions that a regression leaves, and what it explains of levels


@kernel
def _is_free(k: int, n_levels: int, ends: tuple[int, int]) -> bool:
    """Return whether a level has a constant and a position of its own: all but two levels do."""
    return n_levels > 2 and k != ends[0] and k != ends[1]


@kernel
def _set_levels(scratch: LogitScratch, n_all: int, n_levels: int, ends: tuple[int, int]) -> None:
    """Set constants, and then positions, of levels to the parameters that follow the `n_all` coefficients."""
    present, place = scratch.cells.parameters[0], n_all
    for k in range(n_levels):
        if _is_free(k, n_levels, ends):
            scratch.levels[0, k], scratch.levels[1, k] = present[place], present[place + n_levels - 2]
            place += 1


@kernel
def _add_exponentials(
    of_level: NDArray[np.float64], greatest: NDArray[np.float64], norm: NDArray[np.float64]
) -> None:
    """Replace sums of a level by their exponentials, relative to the greatest ones, and add these to the norms."""
    for r in range(of_level.shape[0]):
        of_level[r] -= greatest[r]
    exponentials(of_level)
    for r in range(of_level.shape[0]):
        norm[r] += of_level[r]


@kernel
def _count_items(data: LogitData, scratch: LogitScratch, child: int, items: Items) -> None:
    """Count the rows of every item by level."""
    n_levels, codes, counts, totals = data.n_levels[child], data.codes[child], scratch.counts, scratch.totals
    if not items.are_combined:
        for k in range(n_levels):
            of_level, level = counts[k], np.uint8(k)
            for r in range(items.number):
                of_level[r] = 1.0 if codes[r] == level else 0.0
        for r in range(items.number):
            totals[r] = 1.0
        return
    joint = scratch.cells.joint
    for k in range(n_levels):
        counts[k, : items.number] = 0.0
    for r in range(codes.shape[0]):
        counts[codes[r], joint[r]] += 1.0
    for item in range(items.number):
        totals[item] = 0.0
        for k in range(n_levels):
            totals[item] += counts[k, item]


@kernel
def _set_probabilities(
    scratch: LogitScratch, n_levels: int, start: int, n_block: int, are_combined: bool
) -> float:
    """Fill probabilities of levels and their moments for a block of items, whose sums of functions are set.

    Return a part of the log likelihood; the other part enters the sums of the block.
    """
    a, b = scratch.levels[0], scratch.levels[1]
    block, p, totals = scratch.block, scratch.block[N_OF_ITEM:], scratch.totals[start : start + n_block]
    f, greatest, norm, mean = block[0, :n_block], block[1, :n_block], block[2, :n_block], block[3, :n_block]
    residual, variance, likelihood = block[4, :n_block], block[5, :n_block], block[6, :n_block]
    for r in range(n_block):
        greatest[r] = -np.inf
        norm[r], mean[r], residual[r], variance[r] = 0.0, 0.0, 0.0, 0.0
    for k in range(n_levels):
        of_level, constant, position = p[k, :n_block], a[k], b[k]
        counts = scratch.counts[k, start : start + n_block]
        for r in range(n_block):
            of_level[r] = constant + position * f[r]
            greatest[r] = max(greatest[r], of_level[r])
            likelihood[r] += counts[r] * of_level[r]
            residual[r] += counts[r] * position
    for r in range(n_block):
        likelihood[r] -= totals[r] * greatest[r]
    for k in range(n_levels):
        _add_exponentials(p[k, :n_block], greatest, norm)
    value = 0.0
    if are_combined:
        for r in range(n_block):
            value -= totals[r] * log(norm[r])
    else:
        product = 1.0
        for r in range(n_block):
            product *= norm[r]
        value = -log(product)
    for r in range(n_block):
        norm[r] = 1.0 / norm[r]
    for k in range(n_levels):
        of_level, position = p[k, :n_block], b[k]
        for r in range(n_block):
            of_level[r] *= norm[r]
            mean[r] += of_level[r] * position
            variance[r] += of_level[r] * position * position
    for r in range(n_block):
        residual[r] -= totals[r] * mean[r]
        variance[r] = totals[r] * (variance[r] - mean[r] * mean[r])
    return value


@kernel
def _log_likelihood(
    data: LogitData,
    scratch: LogitScratch,
    functions: NDArray[np.int64],
    child: int,
    items: Items,
    ends: tuple[int, int],
    is_whole: bool,
) -> float:
    """Return the log likelihood of the items, and fill its gradient; as a whole also the information."""
    n_levels, cells, work = data.n_levels[child], data.cells, scratch.cells
    gradient, n_all = work.parameters[4], functions.shape[0] + 1
    block, p, sums = scratch.block, scratch.block[N_OF_ITEM:], scratch.sums
    n_further = 2 * max(n_levels - 2, 0)
    start_sums(cells, work, items, functions, n_further if is_whole else 0)
    n_sums = 1 + n_further + (3 * (n_further // 2) * (n_further // 2 + 1) // 2 if is_whole else 0)
    for place in range(n_sums):
        sums[place, :] = 0.0
    block[6, :] = 0.0
    value = 0.0
    for start in range(0, items.number, ITEMS_OF_BLOCK):
        n_block = min(ITEMS_OF_BLOCK, items.number - start)
        f, derivatives, of_derivatives = block[0, :n_block], block[4, :n_block], sums[0]
        set_sums(cells, work, items, start, f)
        value += _set_probabilities(scratch, n_levels, start, n_block, items.are_combined)
        add_derivatives(cells, work, items, start, derivatives)
        for r in range(n_block):
            of_derivatives[r] += derivatives[r]
        totals, place = scratch.totals[start : start + n_block], 1
        for k in range(n_levels):
            if _is_free(k, n_levels, ends):
                counts, of_level = scratch.counts[k, start : start + n_block], p[k]
                of_constant, of_position = sums[place], sums[place + n_levels - 2]
                for r in range(n_block):
                    left = counts[r] - totals[r] * of_level[r]
                    of_constant[r] += left
                    of_position[r] += f[r] * left
                place += 1
        if is_whole:
            weights, variances = work.weights[start : start + n_block], block[5]
            for r in range(n_block):
                weights[r] = variances[r]
            _add_information_of_levels(data, scratch, n_levels, items, start, n_block, ends)
    set_gradient(cells, work, items, functions)
    gradient[0] = total(sums[0])
    for place in range(n_further):
        gradient[n_all + place] = total(sums[1 + place])
    if is_whole:
        set_information(cells, work, items, functions, n_further)
        _set_information_of_levels(scratch, n_all, n_further)
    return value + total(block[6])


@kernel
def _add_information_of_levels(
    data: LogitData,
    scratch: LogitScratch,
    n_levels: int,
    items: Items,
    start: int,
    n_block: int,
    ends: tuple[int, int],
) -> None:
    """Add the information of a block of items on free levels, and on these and coefficients together, by cell."""
    work, p, b = scratch.cells, scratch.block[N_OF_ITEM:], scratch.levels[1]
    f, mean, share, of_f = scratch.block[0], scratch.block[3], scratch.block[7], scratch.block[8]
    totals, place, first = scratch.totals[start : start + n_block], 0, 1 + 2 * (n_levels - 2)
    for k in range(n_levels):
        if not _is_free(k, n_levels, ends):
            continue
        of_level = p[k]
        for r in range(n_block):
            share[r] = totals[r] * of_level[r] * (b[k] - mean[r])
            of_f[r] = f[r] * share[r]
        for q in range(items.n_parents):
            of_parent = work.combined[q] if items.are_combined else data.cells.coarse[work.parents[q, 0]]
            cells = of_parent[start : start + n_block]
            of_constant, of_position = work.crossed[place, q], work.crossed[place + n_levels - 2, q]
            for r in range(n_block):
                of_constant[np.uint32(cells[r])] += share[r]
                of_position[np.uint32(cells[r])] += of_f[r]
        place += 1
        for other in range(k + 1):
            if not _is_free(other, n_levels, ends):
                continue
            of_other, is_same = p[other], 1.0 if other == k else 0.0
            zeroth, first_moment, second_moment = (
                scratch.sums[first],
                scratch.sums[first + 1],
                scratch.sums[first + 2],
            )
            for r in range(n_block):
                product = totals[r] * of_level[r] * (is_same - of_other[r])
                zeroth[r] += product
                first_moment[r] += f[r] * product
                second_moment[r] += f[r] * f[r] * product
            first += 3


@kernel
def _set_information_of_levels(scratch: LogitScratch, n_all: int, n_further: int) -> None:
    """Fill the information on constants and positions of free levels."""
    system, first, n_free = scratch.cells.system, 1 + n_further, n_further // 2
    for k in range(n_all, n_all + n_free):
        for other in range(n_all, k + 1):
            first_moment = total(scratch.sums[first + 1])
            system[other, k] = total(scratch.sums[first])
            system[other, k + n_free] = system[k, other + n_free] = first_moment
            system[other + n_free, k + n_free] = total(scratch.sums[first + 2])
            first += 3


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
    in_order: bool,
) -> None:
    """Fill the first parameters of a logit: those of a discriminant analysis along the best positions of the levels.

    Levels `in_order` have positions at equal distances.
    `system` is the eliminated one of the functions over `n_rows` rows, with the indicators of the levels, each divided
    by its standard deviation, as the columns after the first `size`.
    """
    n_levels, shares = data.n_levels[child], data.shares[child]
    b, parameters = scratch.levels[1], scratch.cells.parameters
    for k in range(n_levels):
        b[k] = float(k)
    _standardise(b, shares, n_levels)
    if not in_order and n_levels > 2:
        _first_positions(system, size, n_levels, shares, scratch)
    explained, scratch.state[2] = 0.0, 0.0
    for i in range(size):
        of_position = 0.0
        for k in range(n_levels):
            scratch.state[2] += (1.0 - shares[k]) * system[i, size + k] * system[i, size + k] / n_rows
            of_position += system[i, size + k] * sqrt(shares[k] * (1.0 - shares[k])) * b[k]
        system[i, size] = of_position
        explained += of_position * of_position / n_rows
    left = max(1.0 - explained, _LEAST_LEFT)
    scratch.state[1] = left
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

    Positions are standard normal: what is explained, in rows, counts minus the sum of their squares. Without that a
    rare level lay far from all others, and stayed there, since two levels at the ends keep their places. The first ones
    are what the functions explain of each level together with the level of which they explain most, so that the order
    of the levels has no influence.

    Rows of `explained` have, after the first `size` columns, what orthonormal functions explain of the indicators of
    the levels, each divided by its standard deviation.
    """
    b, new, deviations, between = scratch.levels[1], scratch.levels[2], scratch.levels[3], scratch.between
    for k in range(n_levels):
        between[k, :n_levels] = 0.0
        deviations[k] = sqrt(shares[k] * (1.0 - shares[k]))
    for i in range(size):
        for k in range(n_levels):
            for m in range(n_levels):
                between[k, m] += explained[i, size + k] * explained[i, size + m]
    clearest, of_clearest = 0, 0.0
    for k in range(n_levels):
        if between[k, k] > of_clearest:
            clearest, of_clearest = k, between[k, k]
    if of_clearest > _LEAST_POSITION:
        for k in range(n_levels):
            b[k] = between[k, clearest] * deviations[k] / shares[k]
        _standardise(b, shares, n_levels)
    for _ in range(_STEPS_OF_POSITIONS):
        most, gain = 0.0, 0.0
        for k in range(n_levels):
            new[k] = 0.0
            for m in range(n_levels):
                new[k] += between[k, m] * deviations[m] * b[m]
            new[k] *= deviations[k]
            gain += new[k] * b[k]
        for k in range(n_levels):
            new[k] /= gain * shares[k] + 1.0
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


@kernel
def _start_amounts(scratch: LogitScratch, n_all: int, unit: float) -> None:
    """Turn squared heights of amounts of levels into prior precisions, which take the place of those by rows."""
    precisions, of_amounts = scratch.cells.parameters[2], scratch.cells.parameters[5]
    precisions[0], of_amounts[0] = 0.0, 0.0
    for j in range(1, n_all):
        of_amounts[j] *= unit
        if of_amounts[j] > 0.0:
            precisions[j] = 0.0


@separate_kernel
def logit_gain(
    data: LogitData,
    scratch: LogitScratch,
    functions: NDArray[np.int64],
    child: int,
    size: int,
    in_order: bool,
) -> float:
    """Return what a logit of `size` functions gains over the shares of the levels, in nats of all rows of the table.

    It is Laplace's approximation of the log marginal likelihood. Functions of a parent follow each other. Parameters
    of the cells have the first coefficients, prior precisions in row 2, and squared heights of amounts of levels in row
    5, which become their precisions; ``scratch.levels`` has the first constants and positions, which stay for levels
    `in_order`. Functions are constant within cells for the likelihood, and within coarse ones for the information.
    """
    n_levels, m = data.n_levels[child], data.codes.shape[1]
    shares, levels, work = data.shares[child], scratch.levels, scratch.cells
    system = work.system
    present, before, precisions, of_amounts = (
        scratch.cells.parameters[0],
        scratch.cells.parameters[1],
        scratch.cells.parameters[2],
        scratch.cells.parameters[5],
    )
    n_all = size + 1
    low, high = 0, 0
    for k in range(n_levels):
        if levels[1, k] < levels[1, low]:
            low = k
        if levels[1, k] > levels[1, high]:
            high = k
    ends = (low, high)
    of_root = _root_determinant(data, scratch, child, ends)
    _start_amounts(scratch, n_all, _OF_TWO * (levels[1, high] - levels[1, low]) ** 2)
    root, n_free, place = 0.0, max(n_levels - 2, 0), n_all
    n_parameters = n_all + (n_free if in_order else 2 * n_free)
    for k in range(n_levels):
        root += m * shares[k] * log(shares[k])
        if _is_free(k, n_levels, ends):
            present[place], present[place + n_free] = levels[0, k], levels[1, k]
            precisions[place], precisions[place + n_free] = 0.0, 1.0
            place += 1
    functions = functions[:size]
    items = list_parents(data.cells, work, functions, True)
    _count_items(data, scratch, child, items)
    factor, effective, n_factors, width, of_levels = 1.0, 0.0, 0, 1.0, 0.0
    objective, known, promise, determinant, moved = 0.0, -np.inf, 0.0, 0.0, 0.0
    n_halvings, n_steps, is_whole, last = 0, 0, True, np.inf
    for _ in range(MOST_STEPS):
        _set_levels(scratch, n_all, n_levels, ends)
        objective = _log_likelihood(data, scratch, functions, child, items, ends, is_whole)
        squares, amounts = 0.0, 0.0
        for j in range(1, n_all):
            squares += precisions[j] * present[j] * present[j]
            amounts += of_amounts[j] * present[j] * present[j]
        promise = 0.0
        if objective - 0.5 * (factor * squares + amounts) < known:
            # a step that went too far; with the information there the next ones go less far
            n_halvings += 1
            is_whole = True
            nearness = 0.25 if n_halvings < MOST_HALVINGS else 0.0
            for j in range(n_parameters):
                present[j] = before[j] + nearness * (present[j] - before[j])
            continue
        if n_halvings >= MOST_HALVINGS:
            objective -= 0.5 * (factor * squares + amounts)
            break
        n_halvings = 0
        if is_whole:
            moved, effective, of_levels = 0.0, 0.0, 0.0
            for j in range(1, n_all):
                known_share = system[j, j] / (system[j, j] + factor * precisions[j] + of_amounts[j])
                if of_amounts[j] > 0.0:
                    of_levels += known_share
                else:
                    effective += known_share
            if n_factors == 0:
                factor = min(max(effective / max(squares, 1e-300), _LEAST_FACTOR), _MOST_FACTOR)
                n_factors = 1
        objective -= 0.5 * (factor * squares + amounts)
        known = objective
        # positions follow once the others are near
        n_first = n_all + n_free if n_steps == 0 else n_parameters
        promise = newton_step(work, n_parameters, n_all, n_first, factor, is_whole)
        n_steps += 1
        if is_whole:
            determinant = 0.0
            for j in range(n_parameters):
                determinant += log(system[j, j])
        moved += promise
        if promise >= 2.0 * _LEAST_PROMISE:
            # steps by the same information that hardly come nearer end
            is_whole = promise >= _SLOW * last or promise >= 2.0 * FAR
            last = promise
            continue
        if n_factors == 1:
            # coefficients are settled, and so are their sizes
            n_factors = 2
            wanted = min(max(effective / max(squares, 1e-300), _LEAST_FACTOR), _MOST_FACTOR)
            of_width = factor_of_amounts(of_levels, amounts / width)
            change = max(
                max(factor, wanted) / min(factor, wanted), max(width, of_width) / min(width, of_width)
            )
            if change > _LEAST_CHANGE:
                for j in range(1, n_all):
                    of_amounts[j] *= of_width / width
                factor, width, known, is_whole = wanted, of_width, -np.inf, True
                continue
        if is_whole or moved < 2.0 * _NEAR:
            break
        # the information is that of coefficients too far from the present ones
        known, is_whole = -np.inf, True
    _set_levels(scratch, n_all, n_levels, ends)
    scratch.state[0] = factor
    promise = min(promise, 2.0 * _LEAST_PROMISE)
    prior = 0.0
    for j in range(1, n_all):
        prior += log(factor * precisions[j] + of_amounts[j])
    occam = 0.5 * (prior - determinant + of_root + (1 + n_free) * log(m))
    if not in_order:
        occam -= _price_of_positions(levels[1], shares, n_levels)
    return (objective + 0.5 * promise - root + occam) * data.weight


@kernel
def may_have_several_indices(
    data: LogitData, scratch: LogitScratch, system: NDArray[np.float64], child: int, size: int
) -> bool:
    """Return whether levels with sums of their own may gain over positions on one, where `start_logit` has begun.

    What other directions of the levels explain must pay for the further coefficients.
    """
    n_further, n_rows, price = data.n_levels[child] - 2, data.weight * data.codes.shape[1], 0.0
    for i in range(size):
        price += 0.5 * log(system[i, i] / scratch.cells.parameters[2, i + 1])
    promise = 0.5 * n_rows * (scratch.state[2] - (1.0 - scratch.state[1]))
    return n_further > 0 and promise > n_further * price


@kernel
def _set_shares(scratch: LogitScratch, n_levels: int, n_items: int) -> float:
    """Turn sums of functions of levels into probabilities, and return the log likelihood of the items."""
    odds, counts, totals, value = scratch.odds, scratch.counts, scratch.totals, 0.0
    greatest, norm = scratch.block[0], scratch.block[1]
    for start in range(0, n_items, ITEMS_OF_BLOCK):
        n_block = min(ITEMS_OF_BLOCK, n_items - start)
        for r in range(n_block):
            greatest[r], norm[r] = -np.inf, 0.0
        for k in range(n_levels):
            of_level, of_counts = odds[k, start : start + n_block], counts[k, start : start + n_block]
            for r in range(n_block):
                greatest[r] = max(greatest[r], of_level[r])
                value += of_counts[r] * of_level[r]
        for k in range(n_levels):
            _add_exponentials(odds[k, start : start + n_block], greatest, norm)
        for r in range(n_block):
            value -= totals[start + r] * (greatest[r] + log(norm[r]))
            norm[r] = 1.0 / norm[r]
        for k in range(n_levels):
            of_level = odds[k, start : start + n_block]
            for r in range(n_block):
                of_level[r] *= norm[r]
    return value


@kernel
def _step_of_level(
    data: LogitData,
    scratch: LogitScratch,
    functions: NDArray[np.int64],
    items: Items,
    level: int,
    factor: float,
) -> float:
    """Take Newton's step of the constant and the slopes of one level, and return twice the rise that it promises.

    The information is that of a Poisson count with a constant per row, which is that of all levels where probabilities
    are the same in all rows.
    """
    work, n_all = scratch.cells, functions.shape[0] + 1
    residual, of_level, counts = scratch.block[0], scratch.odds[level], scratch.counts[level]
    for j in range(n_all):
        work.parameters[0, j] = scratch.slopes[0, level, j]
    start_derivatives(data.cells, work, items)
    of_constant = 0.0
    for start in range(0, items.number, ITEMS_OF_BLOCK):
        n_block = min(ITEMS_OF_BLOCK, items.number - start)
        for r in range(n_block):
            mean = scratch.totals[start + r] * of_level[start + r]
            residual[r] = counts[start + r] - mean
            work.weights[start + r] = mean
            of_constant += residual[r]
        add_derivatives(data.cells, work, items, start, residual[:n_block])
    work.parameters[4, 0] = of_constant
    set_gradient(data.cells, work, items, functions)
    set_information(data.cells, work, items, functions, 0)
    promise = newton_step(work, n_all, n_all, n_all, factor, True)
    for j in range(n_all):
        scratch.slopes[1, level, j] = scratch.slopes[0, level, j]
        scratch.slopes[0, level, j] = work.parameters[0, j]
    return promise


@separate_kernel
def several_indices_gain(
    data: LogitData,
    scratch: LogitScratch,
    functions: NDArray[np.int64],
    child: int,
    size: int,
    least_gain: float,
) -> float:
    """Return what a logit of `size` functions with an index per level gains over the shares of the levels, in nats.

    It is -inf if steps show early that it is less than the least gain. It is Laplace's approximation of the log
    marginal likelihood, with an information that is exact where probabilities are the same in all rows. Levels have a
    prior of the same form, so that their names have no influence. Other arguments are as of `logit_gain`.
    ``scratch.slopes`` gets constants and slopes of the levels, and ``scratch.state`` the factor of the precisions.
    """
    n_levels, m = data.n_levels[child], data.codes.shape[1]
    shares, work, slopes = data.shares[child], scratch.cells, scratch.slopes
    system, precisions, of_amounts, n_all = work.system, work.parameters[2], work.parameters[5], size + 1
    functions = functions[:size]
    items = list_parents(data.cells, work, functions, True)
    _count_items(data, scratch, child, items)
    root, unit, of_root = 0.0, 0.0, -log(m / n_levels)
    for k in range(n_levels):
        root += m * shares[k] * log(shares[k])
        of_root += log(m * shares[k])
        unit += shares[k] * (1.0 - shares[k]) / n_levels
        slopes[0, k, 0] = log(shares[k])
        for j in range(1, n_all):
            slopes[0, k, j] = 0.0
    _start_amounts(scratch, n_all, _OF_ONE)
    for j in range(1, n_all):
        precisions[j] *= unit
    # all levels together have one index too many
    for r in range(items.number):
        work.weights[r] = scratch.totals[r] / n_levels
    set_information(data.cells, work, items, functions, 0)
    least, of_all = work.parameters[3], 0.0
    for j in range(n_all):
        least[j] = max(precisions[j] + of_amounts[j], 1e-6 * system[j, j])
        system[j, j] += least[j]
    eliminate(system, n_all, n_all, least)
    for j in range(n_all):
        of_all += log(system[j, j])
    factor, width, n_factors, n_halvings, n_steps, known = 1.0, 1.0, 0, 0, 0, -np.inf
    objective, promise, occam = 0.0, 0.0, 0.0
    for _ in range(2 * MOST_STEPS):
        squares, amounts = 0.0, 0.0
        for k in range(n_levels):
            for j in range(n_all):
                work.parameters[0, j] = slopes[0, k, j]
                squares += precisions[j] * slopes[0, k, j] * slopes[0, k, j]
                amounts += of_amounts[j] * slopes[0, k, j] * slopes[0, k, j]
            start_sums(data.cells, work, items, functions, 0)
            for start in range(0, items.number, ITEMS_OF_BLOCK):
                n_block = min(ITEMS_OF_BLOCK, items.number - start)
                set_sums(data.cells, work, items, start, scratch.odds[k, start : start + n_block])
        objective = _set_shares(scratch, n_levels, items.number) - 0.5 * (factor * squares + amounts)
        if objective < known:
            # a quarter of the step, as long as that may help
            n_halvings = min(n_halvings + 1, _MOST_QUARTERS)
            nearness = 0.25 if n_halvings < _MOST_QUARTERS else 0.0
            for k in range(n_levels):
                for j in range(n_all):
                    slopes[0, k, j] = slopes[1, k, j] + nearness * (slopes[0, k, j] - slopes[1, k, j])
            continue
        if n_halvings == _MOST_QUARTERS:
            break
        n_halvings, known = 0, objective
        promise, determinant, effective, of_levels, n_steps = 0.0, 0.0, 0.0, 0.0, n_steps + 1
        for k in range(n_levels):
            promise += _step_of_level(data, scratch, functions, items, k, factor)
            for j in range(n_all):
                determinant += log(system[j, j])
            for j in range(1, n_all):
                precision = factor * precisions[j] + of_amounts[j]
                known_share = 1.0 - precision / max(system[j, j], precision)
                if of_amounts[j] > 0.0:
                    of_levels += known_share
                else:
                    effective += known_share
        prior = 0.0
        for j in range(1, n_all):
            prior += (n_levels - 1) * log(factor * precisions[j] + of_amounts[j])
        occam = 0.5 * (prior - determinant + of_all + of_root)
        if n_steps >= _FEWEST_STEPS and (objective + 2.0 * promise - root + occam) * data.weight < least_gain:
            return -np.inf
        if promise >= 2.0 * _LEAST_PROMISE:
            continue
        wanted = effective * (n_levels - 1) / n_levels / max(squares, 1e-300)
        wanted = min(max(wanted, _LEAST_FACTOR), _MOST_FACTOR)
        of_width = factor_of_amounts(of_levels * (n_levels - 1) / n_levels, amounts / width)
        change = max(max(factor, wanted) / min(factor, wanted), max(width, of_width) / min(width, of_width))
        if n_factors == 2 or change < _LEAST_CHANGE:
            break
        for j in range(1, n_all):
            of_amounts[j] *= of_width / width
        factor, width, known = wanted, of_width, -np.inf
        n_factors += 1
    scratch.state[0] = factor
    return (objective + 0.5 * min(promise, 2.0 * _LEAST_PROMISE) - root + occam) * data.weight
