"""Kernels of the dynamic programme over intervals of one column under the Bayesian objective of Chen et al."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.intervals import CandidateCells
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.limits import ROUNDING


class CostRule(NamedTuple):
    """How counts and edges become costs in nats.

    Counters are numbered consecutively: cells of count tables first, then one counter for each row of a table.
    """

    table_of: NDArray[np.int32]  # (n_counters,) table of a row's counter; -1 for cells
    log_factorials: NDArray[np.float64]  # (n_rows + 1,) ln x!
    row_costs: NDArray[np.float64]  # (n_tables, n_rows + 1) lnG(x + J) - lnG(J), J the cells of a table's row
    first: NDArray[np.float64]  # (n_cells,) L / range times the lowest value of a cell
    last: NDArray[np.float64]  # (n_cells,) L / range times the highest value of a cell
    edge_costs: NDArray[np.float64]  # (n_cells,) of a cut above a cell, infinite where none may be; last 0
    slack: float  # most by which two intervals can cost more than their union, without the edge cost


class PartitionWork(NamedTuple):
    """Work space and result; mutated."""

    counts: NDArray[np.int32]  # (n_counters,) all 0 between calls
    costs: NDArray[np.float64]  # (n_cells + 1,) least cost of the cells before an edge, the edge included
    bounds: NDArray[np.float64]  # (n_cells + 1,) upper bounds of `costs`, infinite where none is known
    origins: NDArray[np.int32]  # (n_cells + 1,) first cell of the last interval of that best
    stop: NDArray[np.uint8]  # (1,) raised to give up


@kernel
def _absorb(cells: CandidateCells, c: int, rule: CostRule, counts: NDArray[np.int32]) -> float:
    """Add cell `c` to an interval's `counts` and return the growth of its cost."""
    entries, amounts = cells.entries, cells.amounts
    grown = 0.0
    for e in range(cells.middles[c], cells.starts[c + 1]):
        j = entries[e]
        old = counts[j]
        counts[j] = old + amounts[e]
        t = rule.table_of[j]
        grown += rule.row_costs[t, old + amounts[e]] - rule.row_costs[t, old]
    for e in range(cells.starts[c], cells.middles[c]):
        j = entries[e]
        old = counts[j]
        counts[j] = old + amounts[e]
        grown -= rule.log_factorials[old + amounts[e]] - rule.log_factorials[old]
    return grown


@kernel
def _clear(cells: CandidateCells, low: int, high: int, counts: NDArray[np.int32]) -> None:
    """Set the counts of the cells `low` to `high` - 1 back to 0."""
    if cells.starts[high] - cells.starts[low] < counts.shape[0]:
        for e in range(cells.starts[low], cells.starts[high]):
            counts[cells.entries[e]] = 0
    else:
        for j in range(counts.shape[0]):
            counts[j] = 0


@kernel
def best_partition(cells: CandidateCells, rule: CostRule, work: PartitionWork) -> None:
    """Fill ``work.costs`` and ``work.origins`` with the cheapest partition of the cells before every edge.

    For a fixed left edge the right edge sweeps over the cells, so that an interval costs the entries of one cell. The
    sweep ends where the interval so far costs `slack` more than some partition that ends there too: going on from that
    partition is then cheaper, whatever follows.
    """
    costs, origins, counts, bounds = work.costs, work.origins, work.counts, work.bounds
    n_cells = rule.first.shape[0]
    for b in range(n_cells + 1):
        costs[b] = inf
    costs[0] = 0.0
    for a in range(n_cells):
        if work.stop[0] != 0:
            return
        if costs[a] == inf:
            continue
        end = n_cells
        before = costs[a] - rule.first[a]
        cost = 0.0
        for b in range(a, n_cells):
            cost += _absorb(cells, b, rule, counts)
            total = before + cost + rule.last[b]
            if total - rule.slack > bounds[b + 1]:
                end = b + 1
                break
            total += rule.edge_costs[b]
            if total < costs[b + 1] - ROUNDING:
                costs[b + 1] = total
                origins[b + 1] = a
        _clear(cells, a, end, counts)


@kernel
def cheapest_split(
    cells: CandidateCells, rule: CostRule, work: PartitionWork, low: int, high: int
) -> tuple[int, float]:
    """Return the cheapest cut of the cells `low` to `high` - 1 and its gain over leaving them whole.

    The gain is 0 and the cut is `low` if no cut is cheaper. Uses ``work.costs``.
    """
    costs, counts = work.costs, work.counts
    cost = 0.0
    for b in range(low, high):
        cost += _absorb(cells, b, rule, counts)
        costs[b + 1] = cost + rule.last[b] - rule.first[low]
    whole = costs[high]
    _clear(cells, low, high, counts)
    cost = 0.0
    best, edge = whole, low
    for a in range(high - 1, low, -1):
        cost += _absorb(cells, a, rule, counts)
        total = costs[a] + rule.edge_costs[a - 1] + cost + rule.last[high - 1] - rule.first[a]
        if total < best - ROUNDING:
            best, edge = total, a
    _clear(cells, low + 1, high, counts)
    return edge, whole - best


@kernel
def partition_cost(
    cells: CandidateCells, rule: CostRule, work: PartitionWork, edges: NDArray[np.int64]
) -> float:
    """Return the cost of the partition at given edges, int64 (n_intervals + 1,), from 0 to n_cells."""
    counts = work.counts
    total = 0.0
    for k in range(edges.shape[0] - 1):
        for c in range(edges[k], edges[k + 1]):
            total += _absorb(cells, c, rule, counts)
        _clear(cells, edges[k], edges[k + 1], counts)
        end = edges[k + 1] - 1
        total += rule.last[end] - rule.first[edges[k]] + rule.edge_costs[end]
    return total
