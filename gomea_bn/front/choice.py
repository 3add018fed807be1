"""Choices from a front of objective values: knees, the network nearest to wishes, a subset worth looking at.

All functions take values of shape (n, m), float64, finite, to be minimised, and look at the rows that no other row
dominates. They scale every objective by its range over these rows, so that units do not matter; an objective in which
these rows are all equal says nothing and is left out. Equal scores (to 1e-9) go to the lexicographically smallest row.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from math import comb

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "greedy_hypervolume",
    "hyperplane_knee",
    "ideal_point_choice",
    "marginal_utility_knee",
    "nearest_pseudo_weights",
    "nondominated_rows",
    "price_choice",
    "scaled",
    "simplex_lattice",
]

Values = NDArray[np.float64]

_TIE = 1e-9
_MAX_WEIGHTS = 1000
_WEIGHTS_AT_ONCE = 64


def hyperplane_knee(values: Values) -> int:
    """Return the row farthest below the hyperplane through the extremes, the best row of every objective.

    Notes
    -----
    Das, "On characterizing the 'knee' of the Pareto curve based on normal-boundary intersection", Structural
    Optimization 18, 1999. With two objectives the scaled extremes are (0, 1) and (1, 0), so the knee has the least
    sum of scaled values. From three objectives on, the plane through the extremes need not face the ideal point (one
    row may be best in two objectives, or an extreme be good in everything); its normal then has an entry that is not
    positive, and the plane of equal sums stands in: a normal with positive entries never takes a dominated row.
    """
    rows, unit = _scaled_front(values)
    if unit.shape[1] < 2:
        return _smallest(unit.sum(axis=1), values, rows)
    extremes = unit[[_smallest(unit[:, j], unit, np.arange(len(unit))) for j in range(unit.shape[1])]]
    normal = np.ones(unit.shape[1])
    if np.linalg.cond(extremes) < 1e6:
        through = np.linalg.solve(extremes, normal)
        if (through > 0).all():
            normal = through / through.max()
    return _smallest(unit @ normal, values, rows)


def ideal_point_choice(values: Values) -> int:
    """Return the row at the least Euclidean distance to the ideal point, the best value of every objective.

    Notes
    -----
    The compromise solution with exponent 2 (Zeleny, "Compromise programming", 1973; Yu, "A class of solutions for
    group decision problems", Management Science 19, 1973). Defined for every front; among equally spread rows on
    a line it takes the middle, where the other two definitions have no preference.
    """
    rows, unit = _scaled_front(values)
    return _smallest(np.sqrt((unit**2).sum(axis=1)), values, rows)


def marginal_utility_knee(values: Values) -> int:
    """Return the row whose loss would cost most, averaged over all ways to weight the objectives.

    Notes
    -----
    Branke, Deb, Dierolf & Osswald, "Finding knees in multi-objective optimization", PPSN VIII, 2004: a weighting w
    costs min_j w.z_j; without its best row i it costs the second least, and the difference counts for i; the mean is
    over weights uniform on the simplex, here a lattice of at most 1000 of them. It favours rows that stand alone, so
    gaps of a front that a search left thin can decide. Where no row ever wins alone (a straight line), the extremes do.
    """
    rows, unit = _scaled_front(values)
    if unit.shape[1] < 2:
        return _smallest(unit.sum(axis=1), values, rows)
    weights = simplex_lattice(unit.shape[1])
    utility = np.zeros(len(unit))
    for start in range(0, len(weights), _WEIGHTS_AT_ONCE):
        costs = unit @ weights[start : start + _WEIGHTS_AT_ONCE].T
        best = costs.argmin(axis=0)
        least, second = np.partition(costs, 1, axis=0)[:2]
        np.add.at(utility, best, second - least)
    return _smallest(-utility / len(weights), values, rows)


def price_choice(values: Values, prices: Values) -> int:
    """Return the row with the least sum of price times value; prices of shape (m,) are at least 0.

    Unlike the knees it does not depend on how far the front reaches: a row stays chosen when a worse one is added.
    """
    rows = nondominated_rows(values)
    costs = (values[rows] - values[rows].min(axis=0)) @ prices
    return _smallest(costs / max(costs.max(), np.finfo(float).tiny), values, rows)


def nearest_pseudo_weights(values: Values, weights: Values) -> int:
    """Return the row whose pseudo-weights are nearest (Euclidean) to weights of shape (m,), not all zero.

    Notes
    -----
    Deb, "Multi-objective optimization using evolutionary algorithms", 2001: with d_j = (worst_j - value_j) /
    (worst_j - best_j), the pseudo-weight of objective j is d_j / (d_1 + ... + d_m). The weights are divided by their
    sum. Rows at equal distance go by the least weighted sum of scaled values.
    """
    rows, unit = _scaled_front(values)
    if unit.shape[1] < 2:
        return _smallest(unit.sum(axis=1), values, rows)
    wanted = weights[np.ptp(values[rows], axis=0) > 0]
    wanted = wanted / wanted.sum() if wanted.sum() > 0 else np.full(len(wanted), 1 / len(wanted))
    gained = 1.0 - unit
    shares = gained / gained.sum(axis=1, keepdims=True)
    distances = np.sqrt(((shares - wanted) ** 2).sum(axis=1))
    tied = np.flatnonzero(distances <= distances.min() + _TIE)
    return _smallest(unit[tied] @ wanted, values, rows[tied])


def greedy_hypervolume(
    values: Values, kept: Iterable[int], n: int, key: Callable[[int], Hashable]
) -> list[int]:
    """Return `n` rows, `kept` first, then always the one that adds most hypervolume; one per key before any second.

    Parameters
    ----------
    values : ndarray of shape (n_rows, m), float64
        Scaled; the reference point is 1.1 in every objective.
    kept : iterable of int
        Rows that are in from the start.
    n : int
        Rows wanted, at most n_rows.
    key : callable
        From a row to what should differ; asked only for rows that are about to be taken.

    Notes
    -----
    The greedy choice reaches at least 1 - 1/e of the best subset's hypervolume, which is submodular (Guerreiro,
    Fonseca & Paquete, "Greedy hypervolume subset selection in low dimensions", Evolutionary Computation 24, 2016).
    What a row adds can only shrink, so an old value bounds the new one and only the top of a heap is computed anew
    (Minoux, "Accelerated greedy algorithms for maximizing submodular set functions", 1978): same rows, far fewer
    evaluations.
    """
    import moocore

    chosen = list(dict.fromkeys(int(row) for row in kept))
    seen = {key(row) for row in chosen}
    held = values[chosen]
    total = moocore.hypervolume(held, ref=1.1) if chosen else 0.0
    alone = np.prod(np.maximum(1.1 - values, 0.0), axis=1)
    bounds = [(-alone[row], row, -1) for row in range(len(values)) if row not in set(chosen)]
    heapq.heapify(bounds)
    repeated: list[tuple[float, int, int]] = []
    distinct = True
    while len(chosen) < n:
        if not bounds:
            bounds, repeated, distinct = repeated, [], False
            heapq.heapify(bounds)
        bound, row, age = heapq.heappop(bounds)
        if age < len(chosen):
            gain = moocore.hypervolume(np.vstack([held, values[row]]), ref=1.1) - total
            heapq.heappush(bounds, (max(-gain, bound), row, len(chosen)))
            continue
        if distinct and key(row) in seen:
            repeated.append((bound, row, age))
            continue
        seen.add(key(row))
        chosen.append(row)
        held = values[chosen]
        total = moocore.hypervolume(held, ref=1.1)
    return chosen


def nondominated_rows(values: Values) -> NDArray[np.int64]:
    """Return the positions of the rows that no other row dominates, the first of equal rows only."""
    import moocore

    return np.flatnonzero(moocore.is_nondominated(values))


def scaled(values: Values, ideal: Values, nadir: Values) -> Values:
    """Return (values - ideal) / (nadir - ideal), with 1 for a difference of 0."""
    spread = nadir - ideal
    return np.asarray((values - ideal) / np.where(spread > 0, spread, 1.0))


def simplex_lattice(m: int) -> Values:
    """Return at most 1000 evenly spaced weights, shape (k, m), positive, rows summing to 1.

    The points (c_j + 1/m) / (h + 1) for all counts c_j that sum to h, h as large as the number allows.
    """
    parts = 0
    while m > 1 and comb(parts + m, m - 1) <= _MAX_WEIGHTS:
        parts += 1
    counts = np.zeros((1, 0), dtype=np.int64)
    for left in range(m - 1, -1, -1):
        rest = parts - counts.sum(axis=1)
        sizes = rest + 1 if left else np.ones(len(rest), dtype=np.int64)
        steps = np.concatenate([np.arange(size) for size in sizes]) if left else rest
        counts = np.column_stack([np.repeat(counts, sizes, axis=0), steps])
    return (counts + 1 / m) / (parts + 1)


def _scaled_front(values: Values) -> tuple[NDArray[np.int64], Values]:
    """Return the positions of the non-dominated rows and their scaled values without constant objectives."""
    rows = nondominated_rows(values)
    front = values[rows]
    ideal, nadir = front.min(axis=0), front.max(axis=0)
    return rows, scaled(front, ideal, nadir)[:, nadir > ideal]


def _smallest(scores: Values, values: Values, rows: NDArray[np.int64]) -> int:
    """Return the row with the least score; of equal scores the lexicographically smallest row of values."""
    tied = rows[scores <= scores.min() + _TIE]
    return int(tied[np.lexsort(values[tied].T[::-1])[0]])
