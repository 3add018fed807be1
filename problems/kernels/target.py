"""Kernels of the loss of a target given all other columns of its row, under tables that leave the row out."""

from __future__ import annotations

from math import exp, isnan, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.kernels import count_dense
from gomea_bn.problems.base import Solution
from gomea_bn.problems.kernels.insertion import ZERO
from gomea_bn.problems.kernels.score import (
    BLOCK,
    LEFT_OUT_BEST,
    SMOOTHED,
    FamilyCache,
    ScoreScratch,
    best_amount,
    cache_insert,
    configuration_number,
    count_sparse,
    family_key,
    is_dense,
    known_value,
    n_configurations,
)
from gomea_bn.problems.kernels.structure import StructureData, family_views, has_arc, view_of
from gomea_bn.runtime.jit import kernel

# smaller products of probabilities are replaced by their logarithm, and smaller probabilities by it
_SMALL = 1e-100


class TargetRows(NamedTuple):
    """The target and one thread's work space for its loss; `variable` is -1 without a target."""

    variable: int
    # of a continuous target, otherwise empty: rows by ascending value, and values less their mean
    order: NDArray[np.int64]  # (n_rows,)
    values: NDArray[np.float64]  # (n_rows,)
    probabilities: NDArray[np.float64]  # (most_values, n_rows) of the target's values, up to a factor by row
    # probabilities of a family's cells under the counts of all rows, then with one row of the cell left out
    cells: NDArray[np.float64]
    bases: NDArray[np.float64]  # (2, most_values of any column) shares of the smoothing, like the cells
    bins: NDArray[
        np.float64
    ]  # (3, most_values) widths of bins, integrals of distribution functions and of squares
    members: NDArray[np.uint64]  # (words,) columns of the blanket
    shared: FamilyCache
    writable: FamilyCache


@kernel
def is_judged(data: StructureData, solution: Solution, target: int, variable: int) -> bool:
    """Return whether a variable's family decides on the target given all others: its own and its children's do."""
    return variable == target or has_arc(solution.aux, data.dirty.shape[0], target, variable)


@kernel
def _blanket_key(data: StructureData, solution: Solution, target: int) -> np.uint64:
    """Return a key of the judged families; keys of families are mixed so that their sum tells their parents apart."""
    total = np.uint64(0)
    for child in range(data.roots.shape[0]):
        if is_judged(data, solution, target, child):
            n_views = family_views(data, solution, child)
            key = family_key(data.rows, data.views, n_views)
            key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
            total += key ^ (key >> np.uint64(29))
    return total if total != ZERO else np.uint64(1)


@kernel
def _fill_bases(
    target: TargetRows, scratch: ScoreScratch, n_observed: int, r: int, n_rows: int, kind: int, is_own: bool
) -> None:
    """Fill the shares of the smoothing by value of the child: evenly, or like the child alone without the row.

    In the target's own family the row that is left out has one value; the shares of other values count all rows.
    """
    for k in range(r):
        if kind == LEFT_OUT_BEST:
            marginal = 0
            for j in range(n_observed):
                marginal += scratch.counts[j * r + k]
            target.bases[1, k] = (marginal - 1.0 + 1.0 / r) / n_rows
            target.bases[0, k] = (marginal + 1.0 / r) / n_rows if is_own else target.bases[1, k]
        else:
            target.bases[0, k] = target.bases[1, k] = 1.0 / r


@kernel
def _fill_cells(
    target: TargetRows,
    scratch: ScoreScratch,
    n_observed: int,
    r: int,
    amount: float,
    n_left_out: float,
    is_own: bool,
) -> None:
    """Fill the probabilities of a family's cells; those of the own family are multiplied by the sum of the cells."""
    n_cells = n_observed * r
    for j in range(n_observed):
        row = 0
        for k in range(j * r, (j + 1) * r):
            row += scratch.counts[k]
        of_row = 1.0 if is_own else row + amount
        of_others = 1.0 if is_own else of_row - n_left_out
        for k in range(r):
            count = scratch.counts[j * r + k]
            # without rows and smoothing all values are alike
            if row == 0:
                target.cells[j * r + k] = target.bases[0, k]
            else:
                target.cells[j * r + k] = (count + amount * target.bases[0, k]) / of_row
            if count > 0:
                left = count - n_left_out + amount * target.bases[1, k]
                target.cells[n_cells + j * r + k] = left / of_others


@kernel
def _multiply_by_family(
    data: StructureData, target: TargetRows, n_views: int, place: int, n_values: int, n_left_out: float
) -> None:
    """Multiply the probabilities by those of a family; the target is the view at `place` of the family."""
    rows, scratch, views = data.rows, data.scratch, data.views
    codes = rows.codes
    n_rows = codes.shape[1]
    kind = data.score.kind
    is_own = place == n_views - 1
    r = rows.cardinality[views[n_views - 1]]
    configurations = n_configurations(rows, views, n_views)
    whole = is_dense(configurations * r, n_rows)
    if whole:
        n_observed = np.int64(configurations)
        count_dense(codes, views, rows.cardinality, n_views, n_observed * r, 1, scratch.joint, scratch.counts)
    else:
        n_observed = count_sparse(codes, views, rows.cardinality, n_views, scratch)
    amount = data.score.prior
    if kind == LEFT_OUT_BEST:
        amount = best_amount(scratch.counts, n_observed, r)
    _fill_bases(target, scratch, n_observed, r, n_rows, kind, is_own)
    _fill_cells(target, scratch, n_observed, r, amount, n_left_out, is_own)
    n_cells = n_observed * r
    of_target = codes[views[place]]
    # cells or configurations between neighbouring values of the target
    stride = np.int64(1)
    for v in range(place + 1, n_views if whole else n_views - 1):
        stride *= rows.cardinality[views[v]]
    if whole:
        joint = scratch.joint
        for start in range(0, n_rows, BLOCK):
            m = min(BLOCK, n_rows - start)
            joint[:m] = 0
            for v in range(n_views):
                column = codes[views[v], start : start + m]
                card = np.uint16(rows.cardinality[views[v]])
                for i in range(m):
                    joint[i] = np.uint16(joint[i] * card + column[i])
            for t in range(n_values):
                of_value = target.probabilities[t, start : start + m]
                for i in range(m):
                    value = np.int64(of_target[start + i])
                    cell = np.int64(joint[i]) + (t - value) * stride
                    of_value[i] *= target.cells[cell + (n_cells if t == value else 0)]
        return
    child = codes[views[n_views - 1]]
    for i in range(n_rows):
        key = np.int64(0)
        for v in range(n_views - 1):
            key = key * rows.cardinality[views[v]] + np.int64(codes[views[v], i])
        value = np.int64(of_target[i])
        for t in range(n_values):
            number = configuration_number(scratch, key if is_own else key + (t - value) * stride)
            code = t if is_own else np.int64(child[i])
            if number >= 0:
                cell = number * r + code
                target.probabilities[t, i] *= target.cells[cell + (n_cells if t == value else 0)]
            else:
                target.probabilities[t, i] *= target.bases[0, code]


@kernel
def _scale(target: TargetRows, n_values: int) -> None:
    """Scale the probabilities of every row to a sum of 1."""
    for i in range(target.probabilities.shape[1]):
        total = 0.0
        for t in range(n_values):
            total += target.probabilities[t, i]
        for t in range(n_values):
            target.probabilities[t, i] /= total


@kernel
def _cross_entropy(target: TargetRows, codes: NDArray[np.uint8]) -> float:
    """Return the mean of -ln P(value of the target | the other columns) over the rows, in nats."""
    n_rows = codes.shape[0]
    total, product = 0.0, 1.0
    for i in range(n_rows):
        # one logarithm for many rows
        product *= max(target.probabilities[codes[i], i], _SMALL)
        if product < _SMALL:
            total -= log(product)
            product = 1.0
    return (total - log(product)) / n_rows


@kernel
def _fill_bins(target: TargetRows, codes: NDArray[np.uint8], n_values: int) -> None:
    """Fill the widths of the bins, and the integrals over them of the distribution function of their rows.

    A bin reaches from its least value to that of the next one with rows, so that all of its rows are in it.
    """
    order, values = target.order, target.values
    n_rows = order.shape[0]
    target.bins[:, :n_values] = 0.0
    start = 0
    while start < n_rows:
        code = codes[order[start]]
        end = start
        while end < n_rows and codes[order[end]] == code:
            end += 1
        n_bin = end - start
        for k in range(start, end):
            step = values[order[min(k + 1, n_rows - 1)]] - values[order[k]]
            share = (k + 1 - start) / n_bin
            target.bins[0, code] += step
            target.bins[1, code] += share * step
            target.bins[2, code] += share * share * step
        start = end


@kernel
def _crps(target: TargetRows, codes: NDArray[np.uint8], n_values: int, n_left_out: float) -> float:
    """Return the mean continuous ranked probability score of the rows, in units of the target.

    It is the integral of (F(x) - [x >= y])^2 over x, with the value y of the row (Matheson & Winkler, "Scoring rules
    for continuous probability distributions", 1976). F gives every bin its probability, which the values of its rows
    share alike; a row that is left out does not count among them. A bin without other rows is uniform.
    """
    _fill_bins(target, codes, n_values)
    order, values, bins = target.order, target.values, target.bins
    n_rows = order.shape[0]
    total = 0.0
    start = 0
    while start < n_rows:
        own = np.int64(codes[order[start]])
        end = start
        while end < n_rows and codes[order[end]] == own:
            end += 1
        n_bin, width = end - start, bins[0, own]
        below, low = 0.0, values[order[start]]
        for k in range(start, end):
            i = order[k]
            y = values[i]
            if k > start:
                below += (k - start) / n_bin * (y - values[order[k - 1]])
            first, second, lower = bins[1, own], bins[2, own], below
            if n_left_out > 0.0 and n_bin == 1:
                first, second, lower = width / 2.0, width / 3.0, 0.0
            elif n_left_out > 0.0:
                above = low + width - y
                rest = n_bin - 1.0
                second = (n_bin * (n_bin * second - 2.0 * (first - below)) + above) / (rest * rest)
                first = (n_bin * first - above) / rest
                lower = n_bin * below / rest
            cumulated = 0.0
            for t in range(n_values):
                p = target.probabilities[t, i]
                # F - [x >= y] above y
                low_end = cumulated if t < own else cumulated - 1.0
                if t == own:
                    total += low_end * (low_end * width + 2.0 * p * first) + p * p * second
                    total += (2.0 * cumulated - 1.0) * (y - low) + 2.0 * p * lower
                else:
                    total += low_end * (low_end * bins[0, t] + 2.0 * p * bins[1, t]) + p * p * bins[2, t]
                cumulated += p
        start = end
    return total / n_rows


@kernel
def _charge(data: StructureData, solution: Solution, target: TargetRows) -> float:
    """Return the costs in nats of the chosen cuts of the blanket's columns, and of the edges of judged families."""
    words = data.dirty.shape[0]
    n = data.roots.shape[0]
    members = target.members
    members[:] = ZERO
    total = 0.0
    for child in range(n):
        if is_judged(data, solution, target.variable, child):
            members[child >> 6] |= np.uint64(1) << np.uint64(child & 63)
            for w in range(words):
                members[w] |= solution.aux[child * words + w]
            total += data.score.edge_cost * (family_views(data, solution, child) - 1)
    for variable in range(n):
        if (members[variable >> 6] >> np.uint64(variable & 63)) & np.uint64(1):
            # a cut costs more than in the misfit: the loss of one column hides what cuts were chosen for
            total += 2.0 * data.rows.own_cost[view_of(data.rules, solution.genotype, variable)]
    return total


@kernel
def _loss(data: StructureData, solution: Solution, target: TargetRows) -> float:
    """Return the uncached loss of the target; see `target_loss`."""
    n_left_out = 0.0 if data.score.kind == SMOOTHED else 1.0
    own_view = view_of(data.rules, solution.genotype, target.variable)
    n_values = data.rows.cardinality[own_view]
    codes = data.rows.codes[own_view]
    for t in range(n_values):
        target.probabilities[t] = 1.0
    n_families = 0
    for child in range(data.roots.shape[0]):
        if is_judged(data, solution, target.variable, child):
            n_views = family_views(data, solution, child)
            place = 0
            while data.views[place] != own_view:
                place += 1
            _multiply_by_family(data, target, n_views, place, n_values, n_left_out)
            n_families += 1
            # families after which probabilities are scaled, so that their products stay far from the smallest numbers
            if n_families % 16 == 0:
                _scale(target, n_values)
    _scale(target, n_values)
    share = _charge(data, solution, target) / codes.shape[0]
    if target.order.shape[0] == 0:
        return _cross_entropy(target, codes) + share
    return _crps(target, codes, n_values, n_left_out) * exp(share)


@kernel
def target_loss(data: StructureData, solution: Solution, target: TargetRows) -> float:
    """Return the mean loss of the target given all other columns: nats, or units of a continuous target.

    The tables, their smoothing and their estimate are those of the misfit. The costs of cuts and edges are added to a
    cross-entropy, and multiply a CRPS by their exponential: a nat makes a distribution narrower by the factor e. Losses
    are found in the shared or the writable cache, where a blanket has been judged before.
    """
    key = _blanket_key(data, solution, target.variable)
    known = known_value(target.shared, target.writable, key)
    if not isnan(known):
        return known
    loss = _loss(data, solution, target)
    cache_insert(target.writable, key, loss)
    return loss
