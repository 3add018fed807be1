"""Kernels that score a continuous column as a sum of smooth curves of its parents, from cross products alone."""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

MOST_FUNCTIONS = 256
"""Largest number of functions of all parents of a column; a family with more is scored by its table."""
MOST_WITH_PRODUCTS = 128
"""Largest number of functions of all parents of a column together with products; a family with more has no products."""


class CurveData(NamedTuple):
    """Cross products of M functions of N variables and of T targets per variable; without curves M is 0.

    Functions and targets are centred. A target is the column of a child on one of its scales. The functions of the
    variables come first, and then products of functions of two variables.
    """

    products: NDArray[np.float64]  # (M, M) of functions
    with_targets: NDArray[np.float64]  # (M, N, T) of functions and targets
    squares: NDArray[np.float64]  # (N, T) of every target with itself, and what no curve can explain
    unexplained: NDArray[np.float64]  # (N, T) squares that no curve can explain
    alone: NDArray[np.float64]  # (N, T) score of a target without parents in nats, -inf without a target
    first: NDArray[np.int64]  # (N + 1,) functions of variable i: first[i] to first[i + 1]
    pair: NDArray[np.int64]  # (N, N) first product of two variables, -1 without products
    n_products: int  # number of products of two variables
    precisions: NDArray[np.float64]  # (n_priors, M) prior precisions of coefficients, inf: coefficient 0
    variable: NDArray[np.int64]  # (n_views,) variable of a view
    child_key: NDArray[np.uint64]  # (N,) random words that hash a family apart from its bins
    parent_key: NDArray[np.uint64]  # (N,)
    half_rows: float  # half of the rows, with those of the prior


class CurveScratch(NamedTuple):
    """One thread's work space; mutated."""

    functions: NDArray[np.int64]  # (n_most,)
    system: NDArray[np.float64]  # (n_most, n_most + T) upper part of penalised products, and the targets


@kernel
def has_curves(curves: CurveData) -> bool:
    """Return whether any family may be scored by curves."""
    return curves.products.shape[0] > 0


@kernel
def curve_key(curves: CurveData, views: NDArray[np.int64], n_views: int) -> np.uint64:
    """Return the 64-bit key of a family apart from its bins, which does not depend on the order of the parents."""
    key = curves.child_key[curves.variable[views[n_views - 1]]]
    for v in range(n_views - 1):
        key += curves.parent_key[curves.variable[views[v]]]
    return key if key != np.uint64(0) else np.uint64(1)


@kernel
def _gather_functions(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int
) -> int:
    """Fill ``scratch.functions`` with the functions of the parents under a prior, and return their number.

    -1 if there are more than fit.
    """
    size = 0
    for k in range(n_views - 1):
        parent = curves.variable[views[k]]
        for function in range(curves.first[parent], curves.first[parent + 1]):
            if curves.precisions[prior, function] < np.inf:
                if size == scratch.functions.shape[0]:
                    return -1
                scratch.functions[size] = function
                size += 1
    return size


@kernel
def _gather_products(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int, size: int
) -> int:
    """Add the products of all pairs of parents to the `size` gathered functions, and return the number of all.

    None are added if there are more than fit.
    """
    most = min(scratch.functions.shape[0], MOST_WITH_PRODUCTS)
    n_curves = size
    for k in range(n_views - 1):
        for j in range(k):
            first = curves.pair[curves.variable[views[j]], curves.variable[views[k]]]
            if first < 0 or curves.precisions[prior, first] == np.inf:
                continue
            if size + curves.n_products > most:
                return n_curves
            for function in range(first, first + curves.n_products):
                scratch.functions[size] = function
                size += 1
    return size


@kernel
def _solve(curves: CurveData, scratch: CurveScratch, child: int, size: int, prior: int) -> None:
    """Factorise the penalised products of the gathered functions, and solve for the targets of a child.

    The diagonal of ``scratch.system`` then has the squares of the pivots, and row k ends with what function k explains
    of every target, in standard deviations of the residuals. The first rows are also the solution for the first
    functions alone.
    """
    functions, system = scratch.functions, scratch.system
    n_targets = curves.alone.shape[1]
    width = size + n_targets
    for i in range(size):
        row = functions[i]
        for j in range(i, size):
            system[i, j] = curves.products[row, functions[j]]
        system[i, i] += curves.precisions[prior, row]
        for t in range(n_targets):
            system[i, size + t] = curves.with_targets[row, child, t]
    for k in range(size):
        # rounding must not leave less than the prior alone
        system[k, k] = max(system[k, k], curves.precisions[prior, functions[k]])
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
def curve_score(curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int) -> float:
    """Return the score in nats of a family whose child is a sum of curves of its parents; -inf if it cannot be one.

    The best target and prior count, with products of parents or without. The costs of edges and cuts are not included.
    `views` are as of `family_score`.
    """
    child = curves.variable[views[n_views - 1]]
    best = -np.inf
    for t in range(curves.alone.shape[1]):
        best = max(best, curves.alone[child, t])
    if best == -np.inf or n_views == 1:
        return -np.inf
    best = -np.inf
    for prior in range(curves.precisions.shape[0]):
        n_curves = _gather_functions(curves, scratch, views, n_views, prior)
        if n_curves < 0:
            continue
        size = _gather_products(curves, scratch, views, n_views, prior, n_curves)
        _solve(curves, scratch, child, size, prior)
        for t in range(curves.alone.shape[1]):
            before = curves.squares[child, t]
            after = before
            # half of ln(|prior precision| / |posterior precision|), relative to the variance of the residuals
            occam = 0.0
            for k in range(size):
                pivot, explained = scratch.system[k, k], scratch.system[k, size + t]
                occam += 0.5 * log(curves.precisions[prior, scratch.functions[k]]) - log(sqrt(pivot))
                after -= explained * explained
                if k == n_curves - 1 or k == size - 1:
                    left = max(after, curves.unexplained[child, t])
                    gain = occam + curves.half_rows * log(before / left)
                    best = max(best, curves.alone[child, t] + gain)
    return best
