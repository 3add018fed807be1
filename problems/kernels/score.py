"""Kernels that count the rows of families and score them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.available_cases import (
    count_available,
    count_available_sparsely,
    sum_over_parent,
)
from gomea_bn.problems.kernels.curves import CurveData, CurveScratch, curve_key, curve_score, has_curves
from gomea_bn.problems.kernels.family_cache import FamilyCache, cache_insert, cache_slot
from gomea_bn.problems.kernels.score_rules import ScoreRule, expected_score, score_counts
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels.bits import bit_count

__all__ = ["BLOCK", "MOST_MEMBERS", "RowData", "ScoreScratch"]

# slots of `ScoreScratch.statistics`
FAMILIES_SCORED, CACHE_HITS = 0, 1

# smallest improvement of a score that counts, relative to the score's size or in nats: smaller ones are rounding,
# and would keep a search from ending
LEAST_GAIN = 1e-10
BLOCK = 2048
# members with several values of a family whose configurations 64-bit integers can number
MOST_MEMBERS = 64
# the price of a family on completed rows grows by this power of the number of rows per observed row
_PRICE_POWER = 0.25


class RowData(NamedTuple):
    """The rows as bin codes; a view is one (variable, policy) pair."""

    codes: NDArray[np.uint8]  # (n_views, n_rows)
    cardinality: NDArray[np.int64]  # (n_views,)
    constant: NDArray[np.float64]  # (n_views,) nats: minus the rows' log widths, minus the policy's own cost
    own_cost: NDArray[np.float64]  # (n_views,) nats: the policy's own cost
    child_key: NDArray[np.uint64]  # (n_views,) random words that hash a family
    parent_key: NDArray[np.uint64]  # (n_views,)
    curves: CurveData
    has_missing: NDArray[np.bool_]  # (n_views,) whether some codes are MISSING
    # (n_views, n_words) which rows had a value before they were completed, a bit per row; no words without completion
    observed: NDArray[np.uint64]


class ScoreScratch(NamedTuple):
    """One thread's work space; mutated."""

    joint: NDArray[np.uint16]  # (BLOCK,)
    counts: NDArray[np.int32]
    slots: NDArray[np.int64]  # sparse counting: hash slot -> parent configuration's number + 1
    slot_keys: NDArray[np.int64]
    is_complete: NDArray[np.uint8]  # (BLOCK,)
    sums: NDArray[np.int32]  # counts summed over one parent
    members: NDArray[np.int64]  # (MOST_MEMBERS,) views of a family, fewer and fewer
    statistics: NDArray[np.int64]  # (2,) FAMILIES_SCORED and CACHE_HITS
    curves: CurveScratch


@kernel
def count_dense(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    cells: int,
    n_tables: int,
    scratch: ScoreScratch,
) -> None:
    """Count joint configurations of `views`, the last one fastest, into ``scratch.counts[:cells]``.

    The joint codes of a block are formed by vector code first. Four tables avoid store-to-load stalls when
    consecutive rows hit the same cell.
    """
    joint, counts = scratch.joint, scratch.counts
    n_rows = codes.shape[1]
    counts[: n_tables * cells] = 0
    for start in range(0, n_rows, BLOCK):
        m = min(BLOCK, n_rows - start)
        first = codes[views[0], start : start + m]
        for i in range(m):
            joint[i] = first[i]
        for v in range(1, n_views):
            column = codes[views[v], start : start + m]
            r = np.uint16(cardinality[views[v]])
            for i in range(m):
                joint[i] = np.uint16(joint[i] * r + column[i])
        if n_tables == 4:
            paired = m // 4 * 4
            for i in range(0, paired, 4):
                counts[joint[i]] += 1
                counts[cells + joint[i + 1]] += 1
                counts[2 * cells + joint[i + 2]] += 1
                counts[3 * cells + joint[i + 3]] += 1
            for i in range(paired, m):
                counts[joint[i]] += 1
        else:
            for i in range(m):
                counts[joint[i]] += 1
    if n_tables == 4:
        for c in range(cells):
            counts[c] += counts[cells + c] + counts[2 * cells + c] + counts[3 * cells + c]


@kernel
def count_sparse(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    scratch: ScoreScratch,
) -> int:
    """Count into a table of the *observed* parent configurations only; returns how many there are.

    ``scratch.counts`` then holds (n_observed, r) counts, configurations in order of first appearance.
    """
    counts, slots, slot_keys = scratch.counts, scratch.slots, scratch.slot_keys
    n_rows = codes.shape[1]
    r = cardinality[views[n_views - 1]]
    mask = np.int64(slots.shape[0] - 1)
    slots[:] = 0
    observed = 0
    child = codes[views[n_views - 1]]
    for i in range(n_rows):
        key = np.int64(0)
        for v in range(n_views - 1):
            key = key * cardinality[views[v]] + np.int64(codes[views[v], i])
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> np.uint64(33)) & mask
        while slots[slot] != 0 and slot_keys[slot] != key:
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slot_keys[slot] = key
            base = observed * r
            for c in range(r):
                counts[base + c] = 0
            observed += 1
            slots[slot] = observed
        counts[(slots[slot] - 1) * r + np.int64(child[i])] += 1
    return observed


@kernel
def _completed_weight(rows: RowData, rule: ScoreRule, views: NDArray[np.int64], n_views: int) -> float:
    """Return the weight of a family's counts on completed rows: the fourth root of the share of its observed rows.

    In these rows all its members had values before the rows were completed.
    """
    n_observed = 0
    for word in range(rows.observed.shape[1]):
        common = rows.observed[views[0], word]
        for v in range(1, n_views):
            common &= rows.observed[views[v], word]
        n_observed += bit_count(common)
    return (max(n_observed, 1) * rule.completions / rows.codes.shape[1]) ** _PRICE_POWER


@kernel
def n_configurations(rows: RowData, views: NDArray[np.int64], n_views: int) -> float:
    """Return the number of parent configurations of a family, whose child's view comes last."""
    configurations = 1.0
    for v in range(n_views - 1):
        configurations *= rows.cardinality[views[v]]
    return configurations


@kernel
def is_dense(cells: float, n_rows: int) -> bool:
    """Return whether a table of `cells` cells is counted cell by cell rather than by observed configurations."""
    return cells <= 65536.0 and cells <= 8.0 * n_rows + 1024.0


@kernel
def _least_gain(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, n_members: int
) -> tuple[int, float, int]:
    """Return the parent in ``scratch.members`` that gains least, its gain in nats, and the number of complete rows.

    The child comes last. The gain of a parent is the score of the child given all parents minus that given the other
    parents, on the rows in which all members are observed. Without parents the position is -1, and the "gain" is the
    score. Of equal gains the first counts.
    """
    members, counts = scratch.members, scratch.counts
    r = rows.cardinality[members[n_members - 1]]
    configurations = n_configurations(rows, members, n_members)
    cells = configurations * r
    dense = is_dense(cells, rows.codes.shape[1])
    whole = np.int64(cells) if dense else 0
    if dense:
        observed = np.int64(configurations)
        n_complete = count_available(
            rows.codes,
            members,
            rows.cardinality,
            n_members,
            whole,
            scratch.joint,
            scratch.is_complete,
            counts,
        )
    else:
        observed, n_complete = count_available_sparsely(
            rows.codes, members, rows.cardinality, n_members, -1, scratch.slots, scratch.slot_keys, counts
        )
    score = score_counts(counts, observed, configurations, r, rule)
    weakest, least = -1, score
    stride = whole
    for p in range(n_members - 1):
        card = rows.cardinality[members[p]]
        fewer = configurations / card
        if dense:
            stride //= card
            sum_over_parent(counts, whole, card, stride, scratch.sums)
            without = score_counts(scratch.sums, np.int64(fewer), fewer, r, rule)
        else:
            observed, _ = count_available_sparsely(
                rows.codes,
                members,
                rows.cardinality,
                n_members,
                p,
                scratch.slots,
                scratch.slot_keys,
                counts,
            )
            without = score_counts(counts, observed, fewer, r, rule)
        gain = score - without
        if weakest < 0 or gain < least - LEAST_GAIN * max(1.0, abs(score)):
            weakest, least = p, gain
    return weakest, least, n_complete


@kernel
def _available_score(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, views: NDArray[np.int64], n_views: int
) -> float:
    """Return the score in nats of a family with missing values: a sum of gains, each on the rows that have its members.

    The parent that gains least, given the others, on the rows where all members are observed, is removed; then the next
    one from the smaller family, until none is left. A gain, less the cost of an edge, is multiplied by the number of
    all rows per complete row. So a parent is always judged on one set of rows. Without missing values the sum is the
    score of the family.
    """
    members = scratch.members
    n_rows = rows.codes.shape[1]
    n_members = 0
    for v in range(n_views):
        # a column with one value gains nothing; only so many of the others are numbered
        if v == n_views - 1 or n_views <= MOST_MEMBERS or rows.cardinality[views[v]] > 1:
            members[n_members] = views[v]
            n_members += 1
    total = rows.constant[views[n_views - 1]] - rule.edge_cost * (n_views - n_members)
    while True:
        weakest, gain, n_complete = _least_gain(rows, rule, scratch, n_members)
        weight = n_rows / max(n_complete, 1) if rule.extrapolates else 1.0
        if weakest < 0:
            return total + weight * gain
        total += weight * (gain - rule.edge_cost)
        for v in range(weakest, n_members - 1):
            members[v] = members[v + 1]
        n_members -= 1


@kernel
def family_score(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, views: NDArray[np.int64], n_views: int
) -> float:
    """Return the uncached score in nats of a family by its table.

    `views` holds the parents' views in the order of their variables, then the child's; (n_views,), int64.
    """
    scratch.statistics[FAMILIES_SCORED] += 1
    for v in range(n_views):
        if rows.has_missing[views[v]]:
            return _available_score(rows, rule, scratch, views, n_views)
    n_rows = rows.codes.shape[1]
    r = rows.cardinality[views[n_views - 1]]
    configurations = n_configurations(rows, views, n_views)
    cells = configurations * r
    if is_dense(cells, n_rows):
        whole = np.int64(cells)
        n_tables = 4 if whole * 4 <= n_rows else 1
        count_dense(rows.codes, views, rows.cardinality, n_views, whole, n_tables, scratch)
        observed = np.int64(configurations)
    else:
        observed = count_sparse(rows.codes, views, rows.cardinality, n_views, scratch)
    if rows.observed.shape[1] > 0:
        weight = _completed_weight(rows, rule, views, n_views)
        score = expected_score(scratch.counts, observed, configurations, r, rule, weight / rule.completions)
        return (score - rule.edge_cost * (n_views - 1)) / weight
    score = score_counts(scratch.counts, observed, configurations, r, rule)
    return score + rows.constant[views[n_views - 1]] - rule.edge_cost * (n_views - 1)


@kernel
def family_key(rows: RowData, views: NDArray[np.int64], n_views: int) -> np.uint64:
    """Return the 64-bit key of a family, which does not depend on the order of the parents."""
    key = rows.child_key[views[n_views - 1]]
    for v in range(n_views - 1):
        key += rows.parent_key[views[v]]
    return key if key != np.uint64(0) else np.uint64(1)


@kernel
def best_score(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, views: NDArray[np.int64], n_views: int
) -> float:
    """Return the uncached score in nats of a family by its table or by curves, whichever is better."""
    score = family_score(rows, rule, scratch, views, n_views)
    if has_curves(rows.curves):
        of_curves = curve_score(rows.curves, scratch.curves, views, n_views)
        score = max(score, of_curves - rule.edge_cost * (n_views - 1) - rows.own_cost[views[n_views - 1]])
    return score


@kernel
def _cached_curve_score(
    rows: RowData,
    scratch: ScoreScratch,
    shared: FamilyCache,
    writable: FamilyCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return the score by curves from the shared or the `writable` cache, where it is the same for all bins."""
    key = curve_key(rows.curves, views, n_views)
    slot = cache_slot(shared, key)
    if slot >= 0 and shared.keys[slot] == key:
        return shared.scores[slot]
    slot = cache_slot(writable, key)
    if slot >= 0 and writable.keys[slot] == key:
        return writable.scores[slot]
    score = curve_score(rows.curves, scratch.curves, views, n_views)
    cache_insert(writable, key, score)
    return score


@kernel
def cached_family_score(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: FamilyCache,
    writable: FamilyCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return a family's score, by its table or by curves, from the shared or the `writable` cache.

    A new score is computed and enters the latter.
    """
    key = family_key(rows, views, n_views)
    slot = cache_slot(shared, key)
    if slot >= 0 and shared.keys[slot] == key:
        scratch.statistics[CACHE_HITS] += 1
        return shared.scores[slot]
    slot = cache_slot(writable, key)
    if slot >= 0 and writable.keys[slot] == key:
        scratch.statistics[CACHE_HITS] += 1
        return writable.scores[slot]
    score = family_score(rows, rule, scratch, views, n_views)
    if has_curves(rows.curves):
        of_curves = _cached_curve_score(rows, scratch, shared, writable, views, n_views)
        score = max(score, of_curves - rule.edge_cost * (n_views - 1) - rows.own_cost[views[n_views - 1]])
    cache_insert(writable, key, score)
    return score


@kernel
def score_families(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: FamilyCache,
    writable: FamilyCache,
    offsets: NDArray[np.int64],
    views: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Fill `scores` (n_families,) for families in compressed rows: ``views[offsets[f]:offsets[f + 1]]``, child last.

    With an empty `writable` table (capacity 0) every family is counted, and nothing is cached.
    """
    for f in range(scores.shape[0]):
        family = views[offsets[f] : offsets[f + 1]]
        if writable.keys.shape[0] == 0:
            scores[f] = best_score(rows, rule, scratch, family, family.shape[0])
        else:
            scores[f] = cached_family_score(rows, rule, scratch, shared, writable, family, family.shape[0])
