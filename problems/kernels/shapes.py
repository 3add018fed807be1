"""A kernel that sums log densities under a shape."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel


@kernel
def _number_below(value: float, ascending: NDArray[np.float64], first: int, n: int) -> int:
    """Return how many of the `n` numbers from position `first` on are below a value."""
    low = 0
    size = n
    while size > 0:
        half = size // 2
        # written without a branch on the data, which could not be predicted
        is_above = value > ascending[first + low + half]
        low = low + half + 1 if is_above else low
        size = size - half - 1 if is_above else half
    return low


@kernel
def sum_log_heights(
    values: NDArray[np.float64],
    edges: NDArray[np.float64],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    points: NDArray[np.float64],
    log_masses: NDArray[np.float64],
) -> float:
    """Return the sum over values of the log density of a shape with the range scaled to 1; NaN adds nothing.

    A value that is a point adds the logarithm of its probability. `edges`, `left` and `right` are those of a `Shape`.
    """
    total = 0.0
    product = 1.0
    n_pieces = left.shape[0]
    for i in range(values.shape[0]):
        value = values[i]
        if value != value:
            continue
        is_point = False
        for p in range(points.shape[0]):
            if value == points[p]:
                total += log_masses[p]
                is_point = True
        if is_point:
            continue
        value = min(max(value, edges[0]), edges[n_pieces])
        low = _number_below(value, edges, 1, n_pieces - 1)
        position = (value - edges[low]) / (edges[low + 1] - edges[low])
        # most values then need no logarithm
        product *= left[low] + position * (right[low] - left[low])
        if product > 1e200 or product < 1e-200:
            total += log(product)
            product = 1.0
    return total + log(product)
