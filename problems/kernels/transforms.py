"""Kernels that find the increasing transformation of a column after which it is a sum of curves and normal noise."""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import eliminate, solve_back

MOST_OF_TRANSFORM = 7
"""Most functions of a column that its transformation is a sum of."""


class TransformData(NamedTuple):
    """Transformations of N continuous columns, each a sum of K functions of the column.

    The range of a column has G parts, at the ends of which no equal values are divided. Within a part the slope of a
    transformation is its mean slope, so that no value gains density from a steep place between its neighbours.
    """

    n_functions: NDArray[
        np.int64
    ]  # (N,) first functions of a column that are used, 0 without transformations
    n_parts: NDArray[np.int64]  # (N,)
    slopes: NDArray[np.float64]  # (N, G, K) mean slopes of functions in parts
    rows: NDArray[np.float64]  # (N, G) numbers of rows in parts
    precisions: NDArray[np.float64]  # (N, K) of the prior of coefficients, 1 of the first, which has none
    least: NDArray[np.float64]  # (N, K, K) moments that no curve can explain
    # (N,) what the best transformation and its noise gain without parents, in nats, at least 0
    alone: NDArray[np.float64]


class TransformScratch(NamedTuple):
    """One thread's work space; mutated."""

    moments: NDArray[np.float64]  # (K, K) of the residuals of functions, and prior precisions
    system: NDArray[np.float64]  # (K, K + 1) upper part of the information, then its factor; a step
    coefficients: NDArray[np.float64]  # (3, K) present and next ones, least pivots
    slopes: NDArray[np.float64]  # (G,) of the transformation
    functions: NDArray[np.int64]  # (K,) of the child


@kernel
def _log_density(data: TransformData, scratch: TransformScratch, child: int, which: int) -> float:
    """Return the log density of all rows under a transformation, up to a constant; -inf if it does not increase."""
    size = data.n_functions[child]
    c, total = scratch.coefficients[which], 0.0
    for g in range(data.n_parts[child]):
        slope = 0.0
        for a in range(size):
            slope += c[a] * data.slopes[child, g, a]
        if slope <= 0.0:
            return -np.inf
        scratch.slopes[g] = slope
        total += data.rows[child, g] * log(slope)
    for a in range(size):
        total -= 0.5 * c[a] * c[a] * scratch.moments[a, a]
        for b in range(a + 1, size):
            total -= c[a] * c[b] * scratch.moments[a, b]
    return total


@kernel
def _set_system(data: TransformData, scratch: TransformScratch, child: int) -> None:
    """Set the system to the information about the present coefficients, and its last column to the gradient."""
    size = data.n_functions[child]
    c, system, moments = scratch.coefficients[0], scratch.system, scratch.moments
    for a in range(size):
        system[a, size] = 0.0
    for a in range(size):
        scratch.coefficients[2, a] = 1e-9 * moments[a, a]
        system[a, size] -= moments[a, a] * c[a]
        system[a, a] = moments[a, a]
        for b in range(a + 1, size):
            system[a, b] = moments[a, b]
            system[a, size] -= moments[a, b] * c[b]
            system[b, size] -= moments[a, b] * c[a]
    for g in range(data.n_parts[child]):
        of_part = data.slopes[child, g]
        weight = data.rows[child, g] / scratch.slopes[g]
        square = weight / scratch.slopes[g]
        for a in range(size):
            system[a, size] += weight * of_part[a]
            factor = square * of_part[a]
            for b in range(a, size):
                system[a, b] += factor * of_part[b]


@kernel
def transform_gain(
    data: TransformData, scratch: TransformScratch, child: int, n_rows: float, before: float
) -> float:
    """Return what the best transformation of a column gains by its parents, in nats.

    It is compared with the first function without parents, or with the best transformation without parents where that
    is better, as of a column of few values: only parents gain.

    ``scratch.moments`` are the moments of the residuals of the functions given the parents, with the precisions of the
    prior, and `before` are the squares of the first function. The log density of the rows is concave in the
    coefficients: it is the sum of the logs of the slopes, less half of the squared residuals (Hothorn, Moest &
    Buehlmann, "Most likely transformations", 2018). Newton's method finds its maximum, and Laplace's approximation
    gives the evidence.
    """
    size = data.n_functions[child]
    c, step = scratch.coefficients, scratch.system
    for a in range(size):
        c[0, a] = 0.0
    c[0, 0] = sqrt(n_rows / scratch.moments[0, 0])
    value = _log_density(data, scratch, child, 0)
    for _ in range(20):
        _set_system(data, scratch, child)
        eliminate(scratch.system, size, size + 1, c[2])
        promise = solve_back(scratch.system, size)
        # twice a tenth of a nat: a step that promises less is the last one
        if promise < 0.2:
            break
        length = 1.0
        for _halving in range(20):
            for a in range(size):
                c[1, a] = c[0, a] + length * step[a, size]
            other = _log_density(data, scratch, child, 1)
            if other > value:
                break
            length *= 0.5
        if other <= value:
            break
        value = other
        for a in range(size):
            c[0, a] = c[1, a]
    # of the logarithm of the first coefficient, whose information is 2 n without others
    occam = 0.5 * log(2.0 * n_rows) - log(c[0, 0])
    for a in range(size):
        occam -= 0.5 * log(scratch.system[a, a] / data.precisions[child, a])
    alone = n_rows * (log(data.slopes[child, 0, 0]) + 0.5 * log(n_rows / before) - 0.5)
    return value - alone + occam - data.alone[child]
