"""Kernels of searches for thresholds of one column under a description length that is additive over intervals."""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.intervals import CandidateCells, absorb
from gomea_bn.runtime.jit import kernel


class MergeData(NamedTuple):
    """The intervals' counts, sparse and sorted by counter; mutated by `merge_path`."""

    start: NDArray[np.int64]  # (n_cells,) first entry
    length: NDArray[np.int64]  # (n_cells,)
    entries: NDArray[np.int32]  # counters, ascending inside a cell
    amounts: NDArray[np.int32]  # rows at that counter
    table: NDArray[np.float64]  # (n_rows + 1,) x ln x
    first_row: int  # counters from here on are rows of tables, which count negatively


class MergeWork(NamedTuple):
    """Work space and result of `merge_path`; mutated."""

    after: NDArray[np.int64]  # (n_cells + 1,) next interval of an interval, both named by their first cell
    before: NDArray[np.int64]  # (n_cells + 1,)
    loss: NDArray[np.float64]  # (n_leaves,) loss by merging an interval with the next
    tree: NDArray[np.int64]  # (2 * n_leaves,) tournament of least losses; n_leaves is a power of two
    counted_entries: NDArray[np.int32]
    counted_amounts: NDArray[np.int32]
    removed: NDArray[np.int64]  # (n_cells - 1,) result: the cell whose left threshold goes, in order
    lost: NDArray[np.float64]  # (n_cells - 1,) result: loss by that merge, in nats


class SplitWork(NamedTuple):
    """Work space of `shortest_split`; mutated."""

    left: NDArray[np.int32]  # (n_counters,) all 0 between calls
    right: NDArray[np.int32]  # (n_counters,) all 0 between calls
    gain: NDArray[np.float64]  # (n_cells,) result: gain of the best split of the interval from a cell on
    split: NDArray[np.int64]  # (n_cells,) result: the cell before which it is split; -1 for none


@kernel
def gains_of_intervals(
    cells: CandidateCells,
    shift: NDArray[np.int64],
    table: NDArray[np.float64],
    counts: NDArray[np.int32],
    gains: NDArray[np.float64],
) -> None:
    """Fill `gains` (n_cells,) with the gain of every cell as an interval of its own; `counts` stays 0."""
    for c in range(gains.shape[0]):
        gains[c] = absorb(cells, c, shift, table, counts)
        for e in range(cells.starts[c], cells.starts[c + 1]):
            counts[cells.entries[e]] = 0


@kernel
def _release(cells: CandidateCells, c: int, table: NDArray[np.float64], counts: NDArray[np.int32]) -> float:
    """Take cell `c` out of an interval's `counts` and return the growth of its gain."""
    grown = 0.0
    for e in range(cells.starts[c], cells.starts[c + 1]):
        j = cells.entries[e]
        old = counts[j]
        counts[j] = old - cells.amounts[e]
        step = table[counts[j]] - table[old]
        grown += step if e < cells.middles[c] else -step
    return grown


@kernel
def shortest_split(
    cells: CandidateCells,
    shift: NDArray[np.int64],
    table: NDArray[np.float64],
    first: int,
    last: int,
    work: SplitWork,
) -> None:
    """Find the best split of the interval of cells `first` to `last` - 1 into two; ties go to the left."""
    left, right = work.left, work.right
    work.gain[first], work.split[first] = -inf, -1
    for c in range(first, last):
        absorb(cells, c, shift, table, right)
    gain = 0.0
    for c in range(first, last - 1):
        gain += absorb(cells, c, shift, table, left) + _release(cells, c, table, right)
        if gain > work.gain[first]:
            work.gain[first], work.split[first] = gain, c + 1
    for c in range(first, last):
        for e in range(cells.starts[c], cells.starts[c + 1]):
            left[cells.entries[e]] = 0
            right[cells.entries[e]] = 0


@kernel
def _pair_loss(data: MergeData, i: int, j: int) -> float:
    """Return the loss of gain if the intervals with entries at `i` and `j` become one."""
    entries, amounts, table = data.entries, data.amounts, data.table
    x, y = data.start[i], data.start[j]
    x_end, y_end = x + data.length[i], y + data.length[j]
    loss = 0.0
    while x < x_end and y < y_end:
        if entries[x] < entries[y]:
            x += 1
        elif entries[y] < entries[x]:
            y += 1
        else:
            a, b = amounts[x], amounts[y]
            term = table[a] + table[b] - table[a + b]
            loss += term if entries[x] < data.first_row else -term
            x += 1
            y += 1
    return loss


@kernel
def pair_losses(data: MergeData, losses: NDArray[np.float64]) -> None:
    """Fill `losses` (n_cells - 1,) with the loss by merging every cell alone with its right neighbour."""
    for i in range(losses.shape[0]):
        losses[i] = _pair_loss(data, i, i + 1)


@kernel
def _join(data: MergeData, work: MergeWork, i: int, j: int) -> None:
    """Put the entries of interval `j` into those of `i`, whose room ends where `j` ends."""
    entries, amounts = data.entries, data.amounts
    x, y = data.start[i], data.start[j]
    x_end, y_end = x + data.length[i], y + data.length[j]
    n = 0
    while x < x_end or y < y_end:
        if y >= y_end or (x < x_end and entries[x] < entries[y]):
            work.counted_entries[n], work.counted_amounts[n] = entries[x], amounts[x]
            x += 1
        elif x >= x_end or entries[y] < entries[x]:
            work.counted_entries[n], work.counted_amounts[n] = entries[y], amounts[y]
            y += 1
        else:
            work.counted_entries[n], work.counted_amounts[n] = entries[x], amounts[x] + amounts[y]
            x += 1
            y += 1
        n += 1
    base = data.start[i]
    for e in range(n):
        entries[base + e] = work.counted_entries[e]
        amounts[base + e] = work.counted_amounts[e]
    data.length[i] = n


@kernel
def _settle(work: MergeWork, leaf: int) -> None:
    """Play the tournament of least losses again from `leaf` up; ties go to the left."""
    loss, tree = work.loss, work.tree
    node = (tree.shape[0] // 2 + leaf) // 2
    while node >= 1:
        left, right = tree[2 * node], tree[2 * node + 1]
        tree[node] = left if loss[left] <= loss[right] else right
        node //= 2


@kernel
def merge_path(data: MergeData, work: MergeWork, stop: NDArray[np.uint8]) -> int:
    """Merge the two neighbours that lose least until one interval is left; return the number of merges.

    Fills ``work.after``, ``work.before``, ``work.loss`` and ``work.tree`` first.
    """
    n_cells = data.start.shape[0]
    n_leaves = work.loss.shape[0]
    for c in range(n_cells + 1):
        work.after[c], work.before[c] = c + 1, c - 1
    for c in range(n_leaves):
        work.loss[c] = _pair_loss(data, c, c + 1) if c + 1 < n_cells else inf
        work.tree[n_leaves + c] = c
    for node in range(n_leaves - 1, 0, -1):
        left, right = work.tree[2 * node], work.tree[2 * node + 1]
        work.tree[node] = left if work.loss[left] <= work.loss[right] else right
    for step in range(n_cells - 1):
        if stop[0] != 0:
            return step
        i = work.tree[1]
        j = work.after[i]
        work.removed[step], work.lost[step] = j, work.loss[i]
        _join(data, work, i, j)
        k = work.after[j]
        work.after[i] = k
        work.before[k] = i
        work.loss[j] = inf
        _settle(work, j)
        work.loss[i] = _pair_loss(data, i, k) if k < n_cells else inf
        _settle(work, i)
        if i > 0:
            h = work.before[i]
            work.loss[h] = _pair_loss(data, h, i)
            _settle(work, h)
    return n_cells - 1
