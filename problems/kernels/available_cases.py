"""Kernels that count the rows in which all members of a family are observed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

__all__ = ["MISSING", "count_available", "count_available_sparsely", "sum_over_parent"]

MISSING = 255
"""Code of a missing value as a byte; codes of levels and bins are smaller."""


@kernel
def count_available(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    cells: int,
    joint: NDArray[np.uint16],
    is_complete: NDArray[np.uint8],
    counts: NDArray[np.int32],
) -> int:
    """Count joint configurations of `views`, the last one fastest, into ``counts[:cells]``; return the number of rows.

    Rows in which a view is missing do not count. `joint` and `is_complete` are work space for a block of rows. An
    incomplete row adds 0 to the first cell, so that no branch depends on the data.
    """
    n_rows = codes.shape[1]
    block = joint.shape[0]
    counts[:cells] = 0
    n_complete = 0
    for start in range(0, n_rows, block):
        m = min(block, n_rows - start)
        joint[:m] = 0
        is_complete[:m] = 1
        for v in range(n_views):
            column = codes[views[v], start : start + m]
            r = np.uint16(cardinality[views[v]])
            for i in range(m):
                joint[i] = np.uint16(joint[i] * r + column[i])
                is_complete[i] &= np.uint8(column[i] != MISSING)
        for i in range(m):
            counts[np.int64(joint[i]) * np.int64(is_complete[i])] += np.int32(is_complete[i])
            n_complete += np.int64(is_complete[i])
    return n_complete


@kernel
def count_available_sparsely(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    left_out: int,
    slots: NDArray[np.int64],
    slot_keys: NDArray[np.int64],
    counts: NDArray[np.int32],
) -> tuple[int, int]:
    """Count into a table of the *observed* parent configurations; return how many there are, and the number of rows.

    Rows in which a view is missing do not count. The parent at position `left_out` (-1 for none) decides which rows
    count, but is no part of the configuration. See `count_sparse` for the layout.
    """
    r = cardinality[views[n_views - 1]]
    mask = np.int64(slots.shape[0] - 1)
    slots[:] = 0
    observed = 0
    n_complete = 0
    for i in range(codes.shape[1]):
        key = np.int64(0)
        complete = True
        for v in range(n_views):
            code = codes[views[v], i]
            if code == MISSING:
                complete = False
                break
            if v != left_out and v < n_views - 1:
                key = key * cardinality[views[v]] + np.int64(code)
        if not complete:
            continue
        n_complete += 1
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> np.uint64(33)) & mask
        while slots[slot] != 0 and slot_keys[slot] != key:
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slot_keys[slot] = key
            counts[observed * r : (observed + 1) * r] = 0
            observed += 1
            slots[slot] = observed
        counts[(slots[slot] - 1) * r + np.int64(codes[views[n_views - 1], i])] += 1
    return observed, n_complete


@kernel
def sum_over_parent(
    counts: NDArray[np.int32], cells: int, card: int, stride: int, sums: NDArray[np.int32]
) -> None:
    """Fill ``sums[: cells / card]`` with the counts summed over the values of a parent.

    `stride` is the number of cells between neighbouring values of the parent.
    """
    span = stride * card
    for outer in range(cells // span):
        for inner in range(stride):
            total = np.int32(0)
            for value in range(card):
                total += counts[outer * span + value * stride + inner]
            sums[outer * stride + inner] = total
