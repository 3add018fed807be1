"""Kernels that find the interval of every value between many cuts, and what depends on the interval alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

__all__ = ["CutGuide", "fill_codes", "fill_functions", "fill_guide"]


class CutGuide(NamedTuple):
    """Ascending cuts of a column, with a guide that says between which of them a value can lie.

    A value at distance d from the centre, in units of the spread, is in a bucket by d / (1 + |d|), which follows long
    tails.
    """

    cuts: NDArray[np.float64]  # (n_cuts + 1,), the last one infinite
    below: NDArray[np.uint32]  # (n_buckets + 2,) number of cuts in the buckets before each one, and in all
    centre: float
    scale: float  # one per spread; no distance is infinite


@kernel
def _bucket(value: float, guide: CutGuide) -> np.uint32:
    """Return the bucket of a value; it never falls from one value to a larger one."""
    distance = (value - guide.centre) * guide.scale
    # every step is rounded in the order of the values, which the quotient d / (1 + |d|) is not
    side = 1.0 / (1.0 + abs(distance))
    share = 2.0 - side if distance > 0.0 else side
    return np.uint32(0.5 * (guide.below.shape[0] - 2) * share)


@kernel
def fill_guide(guide: CutGuide) -> None:
    """Fill ``guide.below``."""
    bucket, n_cuts = 0, guide.cuts.shape[0] - 1
    for cut in range(n_cuts):
        of_cut = _bucket(guide.cuts[cut], guide)
        while bucket <= of_cut:
            guide.below[bucket] = cut
            bucket += 1
    while bucket < guide.below.shape[0]:
        guide.below[bucket] = n_cuts
        bucket += 1


@kernel
def _number_below(value: float, guide: CutGuide) -> np.uint32:
    """Return the number of cuts below a value, and one more than there are cuts for NaN."""
    if value != value:
        return np.uint32(guide.cuts.shape[0])
    bucket = _bucket(value, guide)
    # indices without a sign need no check for negative ones
    low, high = np.uint32(guide.below[bucket]), np.uint32(guide.below[bucket + np.uint32(1)])
    while high > low + np.uint32(1):
        middle = (low + high) >> np.uint32(1)
        if guide.cuts[middle] < value:
            low = middle + np.uint32(1)
        else:
            high = middle
    # written without a branch on the data, which could not be predicted
    return np.uint32(low + np.uint32((high > low) & (guide.cuts[low] < value)))


@kernel
def fill_functions(
    values: NDArray[np.float64],
    guide: CutGuide,
    table: NDArray[np.float32],
    intervals: NDArray[np.uint32],
    block: NDArray[np.float32],
) -> None:
    """Fill `block` (n_functions, n_rows) with the column of a table for the interval of every value.

    The table is (n_functions, n_cuts + 1). `intervals`, of any length, is work space. A function after the other is
    filled, so that writes are to neighbouring places.
    """
    for start in range(0, values.shape[0], intervals.shape[0]):
        n = min(intervals.shape[0], values.shape[0] - start)
        for i in range(n):
            intervals[i] = _number_below(values[start + i], guide)
        for function in range(table.shape[0]):
            of_function, row = table[function], block[function, start : start + n]
            for i in range(n):
                row[i] = of_function[intervals[i]]


@kernel
def fill_codes(
    values: NDArray[np.float64],
    guide: CutGuide,
    code_of: NDArray[np.uint8],
    intervals: NDArray[np.uint32],
    rows: NDArray[np.int64],
    codes: NDArray[np.uint8],
) -> None:
    """Fill `codes` (n_policies, n_rows) with the code of every value under some policies, and count rows by interval.

    `code_of` (n_policies, n_cuts + 2) has the codes of every interval, the last one for NaN; `rows` (n_cuts + 2,)
    receives the number of rows. `intervals`, of any length, is work space.
    """
    rows[:] = 0
    for start in range(0, values.shape[0], intervals.shape[0]):
        n = min(intervals.shape[0], values.shape[0] - start)
        for i in range(n):
            interval = _number_below(values[start + i], guide)
            intervals[i] = interval
            rows[interval] += 1
        for policy in range(codes.shape[0]):
            of_policy = code_of[policy]
            block = codes[policy, start : start + n]
            for i in range(n):
                block[i] = of_policy[intervals[i]]
