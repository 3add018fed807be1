"""Kernels that factorise and solve symmetric positive definite systems in place."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel


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
def solve_back(system: NDArray[np.float64], size: int) -> float:
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
def divide_back(system: NDArray[np.float64], size: int, values: NDArray[np.float64]) -> None:
    """Replace what the rows of an eliminated system explain of a target, ``values[:size]``, by its coefficients."""
    for k in range(size - 1, -1, -1):
        value = values[k]
        for j in range(k + 1, size):
            value -= system[k, j] * values[j]
        values[k] = value / sqrt(system[k, k])


@kernel
def divide_forward(system: NDArray[np.float64], size: int, values: NDArray[np.float64]) -> None:
    """Replace a right side of a system that is eliminated already, ``values[:size]``, by what its rows explain."""
    for k in range(size):
        value = values[k]
        for j in range(k):
            value -= system[j, k] * values[j]
        values[k] = value / sqrt(system[k, k])
