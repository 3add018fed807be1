"""Kernels of the dynamic programme over the intervals of one column."""

from __future__ import annotations

from math import inf, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.score import MOST_OF_PRODUCT, stirling_lgamma, stirling_lgammas
from gomea_bn.runtime.jit import kernel


class CandidateCells(NamedTuple):
    """Candidate cells between neighbouring candidate cuts, their counts sparse; `starts` and on are filled."""

    edges: NDArray[np.float64]  # (n_cells + 1,) minimum, candidate cuts, maximum
    below: NDArray[np.int64]  # (n_cells + 1,) rows up to each edge
    starts: NDArray[np.int64]  # (n_cells + 1,) first entry of a cell
    middles: NDArray[np.int64]  # (n_cells,) first entry of a cell that is a total
    entries: NDArray[np.int32]  # counters
    amounts: NDArray[np.int32]  # rows of the cell at that counter; int64 as those of `IntervalWork`


class CentredTables(NamedTuple):
    """Tables whose prior has their child's own distribution as its mean, given concentrations; and work space.

    The tables of the column's own family have a counter per configuration of the parents. The prior of such a counter
    is the concentration times the share of the rows that are in the interval.
    """

    is_used: bool
    # (n_counters,) pseudo-count of a cell; of a total the concentration
    pseudo_counts: NDArray[np.float64]
    own: NDArray[np.int32]  # (n_counters,) table of the column's own family, -1 for others
    weights: NDArray[np.float64]  # (n_counters,) factors of the tables' scores, with a minus for totals
    concentrations: NDArray[np.float64]  # (n_own,) pseudo-counts per row of the table
    n_rows: NDArray[np.int64]  # (n_own,)
    own_weights: NDArray[np.float64]  # (n_own,)
    rows: NDArray[np.int64]  # (n_own,) mutated: rows in the interval
    # (2, n_own) mutated: pseudo-counts of a counter, given these rows, and their ln Gamma
    of_rows: NDArray[np.float64]
    touched: NDArray[np.int32]  # (n_counters,) mutated: counters of own tables that have rows
    # mutated: up to n_counters places of large counts, and two numbers for each, whose ln Gamma is taken together
    large: NDArray[np.int64]
    of_large: NDArray[np.float64]


NOT_CENTRED = CentredTables(
    is_used=False,
    pseudo_counts=np.empty(0),
    own=np.empty(0, np.int32),
    weights=np.empty(0),
    concentrations=np.empty(0),
    n_rows=np.empty(0, np.int64),
    own_weights=np.empty(0),
    rows=np.empty(0, np.int64),
    of_rows=np.empty((2, 0)),
    touched=np.empty(0, np.int32),
    large=np.empty(0, np.int64),
    of_large=np.empty((2, 0)),
)
"""What stands for tables under another prior."""


class IntervalRule(NamedTuple):
    """Gains of intervals in nats, and limits on the intervals."""

    # (n,) x ln x, or lnG(x + 1); longer than the largest count plus 255 if `weights` is empty
    table: NDArray[np.float64]
    bayesian: bool  # whether the table has lnG(x + 1)
    bin_cost: float  # per interval
    log_range: float  # ln of the variable's range
    # whether bins have the shape of the column: their own rows' likelihood replaces the logarithm of the width
    shaped: bool
    min_width: float  # in the variable's units
    # the same, for intervals with more than two rows per distinct value
    min_tied_width: float
    distinct: NDArray[np.int64]  # (n_cells + 1,) distinct values up to each edge
    min_rows: int
    n_layers: int  # most intervals; 0 = any number, and then one layer
    # (n_counters,) factors of the tables' scores, or (0,) if all are 1 and the table is long enough
    weights: NDArray[np.float64]
    row_weight: float  # factor of what the widths, or the column's own rows, gain
    centred: CentredTables = NOT_CENTRED


class IntervalWork(NamedTuple):
    """Work space and result of `best_intervals`; mutated."""

    # (n_counters,) all 0 between calls; int64 where there may be more rows than int32 numbers
    counts: NDArray[np.int32] | NDArray[np.int64]
    logs: NDArray[np.float64]  # of the shape of `IntervalRule.weights`
    values: NDArray[np.float64]  # (n_layers + 1, n_cells + 1) best sum of gains of the cells before an edge
    origin: NDArray[np.int32]  # same shape: first cell of the last interval of that partition
    stop: NDArray[np.uint8]  # (1,) raised to give up
    # (n_cells + 1, n_cells + 1) scores of the tables of the intervals, NaN in rows that no call has filled; or (0, 0)
    scores: NDArray[np.float64]


@kernel
def fill_cells(
    codes: NDArray[np.int32], row_of: NDArray[np.int32], cells: CandidateCells, counts: NDArray[np.int32]
) -> None:
    """Count the rows of every cell into its sparse entries; mutates `cells`, leaves `counts` at 0.

    Counters are numbered consecutively: first the cells of all tables, then the totals of all table rows. `codes`
    (n_tables, n_rows), with the rows in ascending order of the column, has the cell of a row in every table, -1 if the
    row does not count, and `row_of` (n_counters,) the total of a cell's table row, -1 if it is not counted.
    """
    entries, amounts = cells.entries, cells.amounts
    k = 0
    for c in range(cells.middles.shape[0]):
        start = k
        cells.starts[c] = start
        for t in range(codes.shape[0]):
            for i in range(cells.below[c], cells.below[c + 1]):
                j = codes[t, i]
                if j < 0:
                    continue
                if counts[j] == 0:
                    entries[k] = j
                    k += 1
                counts[j] += 1
        middle = k
        cells.middles[c] = middle
        for e in range(start, middle):
            j = entries[e]
            amounts[e] = counts[j]
            counts[j] = 0
        for e in range(start, middle):
            row = row_of[entries[e]]
            if row >= 0:
                if counts[row] == 0:
                    entries[k] = row
                    k += 1
                counts[row] += amounts[e]
        for e in range(middle, k):
            j = entries[e]
            amounts[e] = counts[j]
            counts[j] = 0
    cells.starts[cells.middles.shape[0]] = k


@kernel
def absorb(
    cells: CandidateCells,
    c: int,
    shift: NDArray[np.int64],
    table: NDArray[np.float64],
    counts: NDArray[np.int32],
) -> float:
    """Add cell `c` to an interval's `counts` and return the growth of the score of its tables."""
    entries, amounts = cells.entries, cells.amounts
    grown = 0.0
    for e in range(cells.starts[c], cells.middles[c]):
        j = entries[e]
        old = counts[j]
        new = old + amounts[e]
        counts[j] = new
        grown += table[new] - table[old]
    for e in range(cells.middles[c], cells.starts[c + 1]):
        j = entries[e]
        old = counts[j] + shift[j]
        new = old + amounts[e]
        counts[j] += amounts[e]
        grown -= table[new] - table[old]
    return grown


@kernel
def _log(count: int, rule: IntervalRule) -> float:
    """Return the entry of the table at a count, or compute it if the table ends before."""
    if count < rule.table.shape[0]:
        return rule.table[count]
    return stirling_lgamma(count + 1.0) if rule.bayesian else count * log(count)


@kernel
def _absorb_weighted(
    cells: CandidateCells,
    c: int,
    shift: NDArray[np.int64],
    rule: IntervalRule,
    counts: NDArray[np.int32],
    logs: NDArray[np.float64],
) -> float:
    """Do the same as `absorb` for tables whose scores have factors, and for counts of any size.

    `logs` (n_counters,) is work space: the logarithms of the counts that are not 0.
    """
    grown = 0.0
    for e in range(cells.starts[c], cells.starts[c + 1]):
        j = cells.entries[e]
        before = logs[j] if counts[j] > 0 else rule.table[shift[j]]
        counts[j] += cells.amounts[e]
        logs[j] = _log(counts[j] + shift[j], rule)
        gain = rule.weights[j] * (logs[j] - before)
        grown += gain if e < cells.middles[c] else -gain
    return grown


@kernel
def _log_gamma(x: float) -> float:
    return stirling_lgamma(x) if x >= 16.0 else lgamma(x)


@kernel
def _absorb_centred(
    cells: CandidateCells,
    c: int,
    tables: CentredTables,
    counts: NDArray[np.int32],
    n_touched: int,
) -> tuple[float, int]:
    """Do the same as `absorb` for tables under a centred prior, without those of the column's own family.

    These are only counted; the second value is the number of their counters that have rows.
    """
    grown, product, n_large = 0.0, 1.0, 0
    for e in range(cells.starts[c], cells.starts[c + 1]):
        j = cells.entries[e]
        old, amount = counts[j], cells.amounts[e]
        counts[j] = old + amount
        own = tables.own[j]
        if own >= 0:
            if old == 0:
                tables.touched[n_touched] = j
                n_touched += 1
            tables.rows[own] += amount
            continue
        first, weight = tables.pseudo_counts[j] + old, tables.weights[j]
        # few rows are factors of a product, and so are the first ones of many where ln Gamma has no short series
        n_factors = amount
        if amount >= 16:
            n_factors = 16 if first < 16.0 else 0
            tables.large[n_large] = j
            tables.of_large[0, n_large], tables.of_large[1, n_large] = first + n_factors, first + amount
            n_large += 1
        factor = 1.0
        for i in range(n_factors):
            factor *= first + i
        if weight == 1.0:
            product *= factor
        elif weight == -1.0:
            product /= factor
        else:
            grown += weight * log(factor)
        if product > MOST_OF_PRODUCT or product < 1.0 / MOST_OF_PRODUCT:
            grown += log(product)
            product = 1.0
    before, after = tables.of_large[0, :n_large], tables.of_large[1, :n_large]
    stirling_lgammas(before)
    stirling_lgammas(after)
    for i in range(n_large):
        grown += tables.weights[tables.large[i]] * (after[i] - before[i])
    return grown + log(product), n_touched


@kernel
def _own_gain(tables: CentredTables, counts: NDArray[np.int32], n_touched: int) -> float:
    """Return what an interval gains in the tables of the column's own family under a centred prior."""
    gain, product, n_large = 0.0, 1.0, 0
    pseudo_counts, log_gammas = tables.of_rows[0], tables.of_rows[1]
    for t in range(tables.rows.shape[0]):
        if tables.rows[t] > 0:
            share = tables.rows[t] / tables.n_rows[t]
            gain -= tables.own_weights[t] * tables.rows[t] * log(share)
            pseudo_counts[t] = tables.concentrations[t] * share
            log_gammas[t] = _log_gamma(pseudo_counts[t])
    for i in range(n_touched):
        j = tables.touched[i]
        t, count = tables.own[j], counts[j]
        pseudo_count, weight = pseudo_counts[t], tables.own_weights[t]
        if count >= 16:
            tables.large[n_large], tables.of_large[0, n_large] = t, pseudo_count + count
            n_large += 1
            continue
        factor = 1.0
        for c in range(count):
            factor *= pseudo_count + c
        if weight == 1.0:
            product *= factor
        else:
            gain += weight * log(factor)
        if product > MOST_OF_PRODUCT or product < 1.0 / MOST_OF_PRODUCT:
            gain += log(product)
            product = 1.0
    of_large = tables.of_large[0, :n_large]
    stirling_lgammas(of_large)
    for i in range(n_large):
        t = tables.large[i]
        gain += tables.own_weights[t] * (of_large[i] - log_gammas[t])
    return gain + log(product)


@kernel
def _interval_gain(cells: CandidateCells, a: int, b: int, score: float, rule: IntervalRule) -> float:
    """Return the gain of the interval between two edges whose tables score `score`; -inf if a limit forbids it."""
    width = cells.edges[b] - cells.edges[a]
    rows = cells.below[b] - cells.below[a]
    if not (a == 0 and b == cells.edges.shape[0] - 1):
        if width < rule.min_width or width <= 0.0 or rows < rule.min_rows:
            return -inf
        if width < rule.min_tied_width and rows > 2 * (rule.distinct[b] - rule.distinct[a]):
            return -inf
    gain = score - rule.bin_cost
    if rule.centred.is_used:
        # the column alone, which shaped bins are compared with
        gain += rule.row_weight * _log(rows, rule)
    if rule.shaped:
        return gain - rule.row_weight * _log(rows, rule)
    return gain - rule.row_weight * rows * (log(width) - rule.log_range)


@kernel
def interval_gains(
    cells: CandidateCells,
    shift: NDArray[np.int64],
    rule: IntervalRule,
    counts: NDArray[np.int32] | NDArray[np.int64],
    logs: NDArray[np.float64],
    gains: NDArray[np.float64],
) -> None:
    """Fill ``gains[a, b]`` with the gain of the interval between edges a < b, and all other entries with -inf.

    `counts` and `logs` are those of `IntervalWork`; `gains` has shape (n_cells + 1, n_cells + 1).
    """
    n_cells = cells.edges.shape[0] - 1
    is_weighted = rule.weights.shape[0] > 0
    gains[:] = -inf
    for a in range(n_cells):
        score = 0.0
        of_others, n_touched = 0.0, 0
        rule.centred.rows[:] = 0
        for b in range(a + 1, n_cells + 1):
            if rule.centred.is_used:
                grown, n_touched = _absorb_centred(cells, b - 1, rule.centred, counts, n_touched)
                of_others += grown
                score = of_others + _own_gain(rule.centred, counts, n_touched)
            elif is_weighted:
                score += _absorb_weighted(cells, b - 1, shift, rule, counts, logs)
            else:
                score += absorb(cells, b - 1, shift, rule.table, counts)
            gains[a, b] = _interval_gain(cells, a, b, score, rule)
        counts[:] = 0


@kernel
def best_intervals(
    cells: CandidateCells, shift: NDArray[np.int64], rule: IntervalRule, work: IntervalWork
) -> None:
    """Fill ``work.values`` and ``work.origin``; layer k holds partitions into k intervals (or layer 0 into any).

    For a fixed left edge the right edge sweeps over the cells, so that an interval costs the entries of one cell.
    The one interval that is the whole range is always allowed.
    """
    values, origin, counts, logs = work.values, work.origin, work.counts, work.logs
    n_cells = cells.edges.shape[0] - 1
    n_layers = rule.n_layers
    is_weighted = rule.weights.shape[0] > 0
    scores, is_kept = work.scores, work.scores.shape[0] > 0
    values[:] = -inf
    values[0, 0] = 0.0
    for a in range(n_cells):
        if work.stop[0] != 0:
            return
        first, last = 0, -1  # the layers that reach this edge
        for k in range(max(n_layers, 1)):
            if values[k, a] > -inf:
                if last < 0:
                    first = k
                last = k
        if last < 0:
            continue
        counts[:] = 0
        score = 0.0
        of_others, n_touched = 0.0, 0
        rule.centred.rows[:] = 0
        is_known = is_kept and scores[a, n_cells] == scores[a, n_cells]
        for b in range(a + 1, n_cells + 1):
            if is_known:
                score = scores[a, b]
            elif rule.centred.is_used:
                grown, n_touched = _absorb_centred(cells, b - 1, rule.centred, counts, n_touched)
                of_others += grown
                score = of_others + _own_gain(rule.centred, counts, n_touched)
            elif is_weighted:
                score += _absorb_weighted(cells, b - 1, shift, rule, counts, logs)
            else:
                score += absorb(cells, b - 1, shift, rule.table, counts)
            if is_kept:
                scores[a, b] = score
            gain = _interval_gain(cells, a, b, score, rule)
            if gain == -inf:
                continue
            if n_layers == 0:
                if values[0, a] + gain > values[0, b]:
                    values[0, b] = values[0, a] + gain
                    origin[0, b] = a
            else:
                for k in range(first, last + 1):
                    if values[k, a] + gain > values[k + 1, b]:
                        values[k + 1, b] = values[k, a] + gain
                        origin[k + 1, b] = a
    counts[:] = 0
