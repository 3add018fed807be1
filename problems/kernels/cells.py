"""Kernels that sum functions of several columns over rows, where functions of a column are constant within its cells.

A sum of functions of a parent is one number per cell, and the derivatives of a likelihood by its coefficients need the
sums of the derivatives of the rows by cell. Both take one step per row, however many functions the parent has.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import eliminate, vector_product

COARSE = 64
"""Most cells of a continuous column within which functions are constant for the information."""
ITEMS_OF_BLOCK = 128
"""Rows, or combinations of the cells of parents, that are dealt with together."""
LANES = 4
"""Sums by cell that are formed in turn, as rows in the same cell may follow each other."""
FAR = 10.0
"""Nats that a step promises which is too far for all parameters at once."""
# amounts of levels that a prior of their width is worth, and limits of the factor of their precisions
_FURTHER_AMOUNTS, _LEAST_OF_AMOUNTS, _MOST_OF_AMOUNTS = 3.0, 1.0 / 16.0, 4.0


class CellData(NamedTuple):
    """m rows of N columns with M functions, in random order, as cells within which functions are constant.

    Up to `COARSE` cells of a column, and those of levels, are coarse ones as well.
    """

    fine: NDArray[np.int32]  # (N, m)
    n_fine: NDArray[np.int64]  # (N,)
    of_fine: NDArray[np.float64]  # (M, most cells) mean values of functions
    coarse: NDArray[np.int32]  # (N, m)
    n_coarse: NDArray[np.int64]  # (N,)
    of_coarse: NDArray[np.float64]  # (M, most coarse cells)
    column: NDArray[np.int64]  # (M,) of a function


class CellScratch(NamedTuple):
    """One thread's work space for at most P parents; mutated."""

    parents: NDArray[np.int64]  # (P + 1, 2) columns, and the first one of their functions in the family
    combined: NDArray[np.int32]  # (P, m) cells of the combinations of cells of parents
    joint: NDArray[np.int32]  # (m,) number of the combination of a row
    heights: NDArray[np.float64]  # (P, most cells) sums of the functions of a parent
    lanes: NDArray[np.float64]  # (P, LANES, most cells) sums of derivatives
    crossed: NDArray[np.float64]  # (further parameters, P, most coarse cells) sums of information
    weights: NDArray[np.float64]  # (m,) information of items
    of_pair: NDArray[np.float64]  # (most coarse cells squared,) weights by cells of two parents
    product: NDArray[np.float64]  # (most functions of a parent, most coarse cells)
    system: NDArray[np.float64]  # (most, most + 1) upper part of the information, then its factor; a step
    # (6, most) present parameters and former ones, prior precisions that a factor multiplies, least pivots, gradient,
    # and prior precisions of amounts of levels; coefficients come first
    parameters: NDArray[np.float64]


class Items(NamedTuple):
    """What a likelihood is a sum over: rows, or combinations of the cells of parents, and the number of parents."""

    number: int
    n_parents: int
    are_combined: bool


@kernel
def total(values: NDArray[np.float64]) -> float:
    """Return the sum of some numbers."""
    s = 0.0
    for i in range(values.shape[0]):
        s += values[i]
    return s


@kernel
def list_parents(data: CellData, work: CellScratch, functions: NDArray[np.int64], may_combine: bool) -> Items:
    """List the parents of functions, and return the items: all rows, or combinations if these are few and allowed.

    Cells of combinations are set. Functions of a parent follow each other.
    """
    m, parents, n_parents, number = data.fine.shape[1], work.parents, 0, 1
    for k in range(functions.shape[0]):
        column = data.column[functions[k]]
        if n_parents == 0 or parents[n_parents - 1, 0] != column:
            parents[n_parents, 0], parents[n_parents, 1] = column, k
            n_parents += 1
            # combinations of finer cells than those of the information are many
            number = min(number * data.n_fine[column], m) if data.n_fine[column] <= COARSE else m
    parents[n_parents, 1] = functions.shape[0]
    # rows per combination of cells from which combinations are counted
    if not may_combine or 4 * number > m:
        return Items(m, n_parents, False)
    joint = work.joint
    for r in range(m):
        joint[r] = 0
    for q in range(n_parents):
        cells, n_cells = data.fine[parents[q, 0]], np.int32(data.n_fine[parents[q, 0]])
        for r in range(m):
            joint[r] = joint[r] * n_cells + cells[r]
    for item in range(number):
        rest = item
        for q in range(n_parents - 1, -1, -1):
            n_cells_of = data.n_fine[parents[q, 0]]
            work.combined[q, item] = rest % n_cells_of
            rest //= n_cells_of
    return Items(number, n_parents, True)


@kernel
def start_sums(
    data: CellData, work: CellScratch, items: Items, functions: NDArray[np.int64], n_crossed: int
) -> None:
    """Set the sums of functions of every cell under the present parameters, and sums of derivatives to 0.

    So are those of the information on coefficients and the first `n_crossed` further parameters together.
    """
    beta = work.parameters[0]
    for q in range(items.n_parents):
        n_cells, heights = data.n_fine[work.parents[q, 0]], work.heights[q]
        heights[:n_cells] = 0.0
        for j in range(work.parents[q, 1], work.parents[q + 1, 1]):
            factor, values = beta[j + 1], data.of_fine[functions[j]]
            for cell in range(n_cells):
                heights[cell] += factor * values[cell]
        for place in range(n_crossed):
            work.crossed[place, q, :] = 0.0
    start_derivatives(data, work, items)


@kernel
def start_derivatives(data: CellData, work: CellScratch, items: Items) -> None:
    """Set the sums of derivatives of every cell to 0."""
    for q in range(items.n_parents):
        n_cells = data.n_fine[work.parents[q, 0]]
        for lane in range(LANES):
            work.lanes[q, lane, :n_cells] = 0.0


@kernel
def set_sums(data: CellData, work: CellScratch, items: Items, start: int, f: NDArray[np.float64]) -> None:
    """Fill `f` with the sums of functions of items from `start` on."""
    n_block, constant = f.shape[0], work.parameters[0, 0]
    for r in range(n_block):
        f[r] = constant
    for q in range(items.n_parents):
        of_parent = work.combined[q] if items.are_combined else data.fine[work.parents[q, 0]]
        cells, heights = of_parent[start : start + n_block], work.heights[q]
        for r in range(n_block):
            f[r] += heights[np.uint32(cells[r])]


@kernel
def _add_by_cell(cells: NDArray[np.int32], values: NDArray[np.float64], lanes: NDArray[np.float64]) -> None:
    """Add values to the sums of their cells, (LANES, most cells)."""
    first, second, third, fourth = lanes[0], lanes[1], lanes[2], lanes[3]
    m = cells.shape[0]
    whole = m // LANES * LANES
    for r in range(0, whole, LANES):
        # without a sign, so that compiled code looks for no places before the first one
        first[np.uint32(cells[r])] += values[r]
        second[np.uint32(cells[r + 1])] += values[r + 1]
        third[np.uint32(cells[r + 2])] += values[r + 2]
        fourth[np.uint32(cells[r + 3])] += values[r + 3]
    for r in range(whole, m):
        first[cells[r]] += values[r]


@kernel
def _join_lanes(lanes: NDArray[np.float64], n_cells: int) -> None:
    """Add the sums by cell of all lanes to those of the first one."""
    first = lanes[0, :n_cells]
    for lane in range(1, LANES):
        other = lanes[lane, :n_cells]
        for cell in range(n_cells):
            first[cell] += other[cell]


@kernel
def add_derivatives(
    data: CellData, work: CellScratch, items: Items, start: int, derivatives: NDArray[np.float64]
) -> None:
    """Add derivatives of the log likelihood by the sums of functions, of items from `start` on, to those by cell."""
    for q in range(items.n_parents):
        cells = work.combined[q] if items.are_combined else data.fine[work.parents[q, 0]]
        _add_by_cell(cells[start : start + derivatives.shape[0]], derivatives, work.lanes[q])


@kernel
def set_gradient(data: CellData, work: CellScratch, items: Items, functions: NDArray[np.int64]) -> None:
    """Fill the gradient of the coefficients of functions by the derivatives by cell."""
    for q in range(items.n_parents):
        n_cells = data.n_fine[work.parents[q, 0]]
        _join_lanes(work.lanes[q], n_cells)
        of_cells = work.lanes[q, 0, :n_cells]
        for j in range(work.parents[q, 1], work.parents[q + 1, 1]):
            work.parameters[4, j + 1] = vector_product(data.of_fine[functions[j], :n_cells], of_cells)


@kernel
def _set_product(
    of_pair: NDArray[np.float64], values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Set `sums` to those of the rows of weights by pair of cells times the values of a function in these rows."""
    n_cells, n_before = values.shape[0], sums.shape[0]
    sums[:] = 0.0
    whole = n_cells // 4 * 4
    # four at a time, so that a sum is read and written once for them
    for cell in range(0, whole, 4):
        v0, v1, v2, v3 = values[cell], values[cell + 1], values[cell + 2], values[cell + 3]
        start = cell * n_before
        r0, r1 = of_pair[start : start + n_before], of_pair[start + n_before : start + 2 * n_before]
        r2 = of_pair[start + 2 * n_before : start + 3 * n_before]
        r3 = of_pair[start + 3 * n_before : start + 4 * n_before]
        for other in range(n_before):
            sums[other] = sums[other] + v0 * r0[other] + v1 * r1[other] + v2 * r2[other] + v3 * r3[other]
    for cell in range(whole, n_cells):
        value, row = values[cell], of_pair[cell * n_before : (cell + 1) * n_before]
        for other in range(n_before):
            sums[other] += value * row[other]


@kernel
def set_information(
    data: CellData, work: CellScratch, items: Items, functions: NDArray[np.int64], n_crossed: int
) -> None:
    """Fill the information on the constant and the coefficients: products of functions in coarse cells, by weights.

    Columns of the first `n_crossed` further parameters get the information on coefficients and these together.
    """
    system, parents, weights = work.system, work.parents, work.weights[: items.number]
    product, of_pair, n_all = work.product, work.of_pair, functions.shape[0] + 1
    system[0, 0] = total(weights)
    for q in range(items.n_parents):
        of_parent = work.combined[q] if items.are_combined else data.coarse[parents[q, 0]]
        cells = of_parent[: items.number]
        n_cells, first, last = data.n_coarse[parents[q, 0]], parents[q, 1], parents[q + 1, 1]
        for lane in range(LANES):
            work.lanes[q, lane, :n_cells] = 0.0
        _add_by_cell(cells, weights, work.lanes[q])
        _join_lanes(work.lanes[q], n_cells)
        of_cells, weighted = work.lanes[q, 0, :n_cells], product[0, :n_cells]
        for i in range(first, last):
            values = data.of_coarse[functions[i], :n_cells]
            for cell in range(n_cells):
                weighted[cell] = of_cells[cell] * values[cell]
            system[0, i + 1] = total(weighted)
            for j in range(i, last):
                system[i + 1, j + 1] = vector_product(weighted, data.of_coarse[functions[j], :n_cells])
            for place in range(n_crossed):
                crossed = work.crossed[place, q, :n_cells]
                system[i + 1, n_all + place] = vector_product(values, crossed)
        for place in range(n_crossed):
            system[0, n_all + place] = total(work.crossed[place, q, :n_cells])
        for s in range(q):
            before = work.combined[s] if items.are_combined else data.coarse[parents[s, 0]]
            n_before = data.n_coarse[parents[s, 0]]
            of_pair[: n_before * n_cells] = 0.0
            width = np.int32(n_before)
            for r in range(items.number):
                of_pair[np.uint32(cells[r] * width + before[r])] += weights[r]
            for j in range(last - first):
                _set_product(of_pair, data.of_coarse[functions[first + j], :n_cells], product[j, :n_before])
            for i in range(parents[s, 1], parents[s + 1, 1]):
                values = data.of_coarse[functions[i], :n_before]
                for j in range(last - first):
                    system[i + 1, first + j + 1] = vector_product(values, product[j, :n_before])


@kernel
def factor_of_amounts(effective: float, squares: float) -> float:
    """Return the factor of the prior precisions of amounts of levels, given their effective number and their squares.

    The squares are times the precisions without a factor. All amounts of a family have one width, which a few levels
    hardly move: as many further amounts are as wide as these precisions say.
    """
    factor = (effective + _FURTHER_AMOUNTS) / (squares + _FURTHER_AMOUNTS)
    return min(max(factor, _LEAST_OF_AMOUNTS), _MOST_OF_AMOUNTS)


@kernel
def newton_step(
    work: CellScratch, n_parameters: int, n_all: int, n_first: int, factor: float, is_whole: bool
) -> float:
    """Take Newton's step, and return twice the rise that it promises in nats.

    A whole information is factorised first; otherwise the factor of the last one counts. The prior precisions of the
    first `n_all` parameters are multiplied by a factor, unless they are amounts of levels. If the step is far, only the
    first `n_first` parameters move.
    """
    system = work.system
    present, before, precisions, least, gradient, of_amounts = (
        work.parameters[0],
        work.parameters[1],
        work.parameters[2],
        work.parameters[3],
        work.parameters[4],
        work.parameters[5],
    )
    for j in range(n_parameters):
        precision = factor * precisions[j] + of_amounts[j] if j < n_all else precisions[j]
        system[j, n_parameters] = gradient[j]
        # positions of levels are free, and their prior keeps steps small
        if j < n_all:
            system[j, n_parameters] -= precision * present[j]
        if is_whole:
            # a share of the rows that keeps moments of levels regular
            least[j] = max(precision, 1e-6 * system[j, j])
            system[j, j] += least[j]
    if is_whole:
        eliminate(system, n_parameters, n_parameters + 1, least)
    else:
        for k in range(n_parameters):
            system[k, n_parameters] /= sqrt(system[k, k])
            for i in range(k + 1, n_parameters):
                system[i, n_parameters] -= system[k, i] * system[k, n_parameters]
    promise = 0.0
    for k in range(n_parameters):
        promise += system[k, n_parameters] * system[k, n_parameters]
        before[k] = present[k]
    # the first rows of a factor are the factor of the first parameters alone
    n_moved = n_first if promise >= 2.0 * FAR else n_parameters
    for k in range(n_moved - 1, -1, -1):
        step = system[k, n_parameters]
        for j in range(k + 1, n_moved):
            step -= system[k, j] * system[j, n_parameters]
        system[k, n_parameters] = step / sqrt(system[k, k])
        present[k] += system[k, n_parameters]
    return promise
