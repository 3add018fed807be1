"""Choices from a front of objective values: the knee, the network nearest to weights, and a representative subset.

All functions take finite values of shape (n, m), float64, to be minimised, and consider the rows that no other row
dominates. They scale every objective by its range over these rows, so that units do not matter. An objective in which
all these rows are equal is left out. Of equal scores (to 1e-9) the lexicographically smallest row wins.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_TIE = 1e-9


def hyperplane_knee(values: Values) -> int:
    """Return the row farthest below the hyperplane through the extremes, which are the best rows of the objectives.

    Das, "On characterizing the 'knee' of the Pareto curve based on normal-boundary intersection", Structural
    Optimization 18, 1999. With two objectives the scaled extremes are (0, 1) and (1, 0), so the knee has the least sum
    of scaled values. With three or more objectives the plane through the extremes may not face the ideal point, for
    example if one row is best in two objectives. Its normal then has an entry that is not positive, and the plane of
    equal sums replaces it, because only a normal with positive entries never chooses a dominated row.
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


def price_choice(values: Values, prices: Values) -> int:
    """Return the row with the least sum of price times value, for prices of shape (m,) of at least 0.

    Unlike the knees, the choice does not depend on the extent of the front: adding a worse row does not change it.
    """
    rows = nondominated_rows(values)
    costs = (values[rows] - values[rows].min(axis=0)) @ prices
    return _smallest(costs / max(costs.max(), np.finfo(float).tiny), values, rows)


def nearest_pseudo_weights(values: Values, weights: Values) -> int:
    """Return the row whose pseudo-weights have the least Euclidean distance to weights of shape (m,), not all 0.

    Deb, "Multi-objective optimization using evolutionary algorithms", 2001: with d_j = (worst_j - value_j) / (worst_j -
    best_j), the pseudo-weight of objective j is d_j / (d_1 + ... + d_m). The weights are divided by their sum. Of rows
    at equal distance the one with the least weighted sum of scaled values wins.
    """
    rows, unit = _scaled_front(values)
    if unit.shape[1] < 2:
        return _smallest(unit.sum(axis=1), values, rows)
    target = weights[np.ptp(values[rows], axis=0) > 0]
    target = target / target.sum() if target.sum() > 0 else np.full(len(target), 1 / len(target))
    gained = 1.0 - unit
    shares = gained / gained.sum(axis=1, keepdims=True)
    distances = np.sqrt(((shares - target) ** 2).sum(axis=1))
    tied = np.flatnonzero(distances <= distances.min() + _TIE)
    return _smallest(unit[tied] @ target, values, rows[tied])


def greedy_hypervolume(
    values: Values, first: Iterable[int], n: int, key: Callable[[int], Hashable]
) -> list[int]:
    """Return `n` rows: those of `first`, then repeatedly the row that adds most hypervolume.

    Values, float64 (n_rows, m), are scaled; the reference point is 1.1 in every objective. Rows with a new key come
    before others; `key` is called only for rows that are about to be chosen.

    The greedy choice reaches at least 1 - 1/e of the best subset's hypervolume, which is submodular (Guerreiro, Fonseca
    & Paquete, "Greedy hypervolume subset selection in low dimensions", Evolutionary Computation 24, 2016). The gain of
    a row can only shrink, so that an old value bounds the new one and only the top of a heap is computed again (Minoux,
    "Accelerated greedy algorithms for maximizing submodular set functions", 1978). This gives the same rows with far
    fewer evaluations.
    """
    import moocore

    chosen = list(dict.fromkeys(int(row) for row in first))
    seen = {key(row) for row in chosen}
    chosen_values = values[chosen]
    total = moocore.hypervolume(chosen_values, ref=1.1) if chosen else 0.0
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
            gain = moocore.hypervolume(np.vstack([chosen_values, values[row]]), ref=1.1) - total
            heapq.heappush(bounds, (max(-gain, bound), row, len(chosen)))
            continue
        if distinct and key(row) in seen:
            repeated.append((bound, row, age))
            continue
        seen.add(key(row))
        chosen.append(row)
        chosen_values = values[chosen]
        total = moocore.hypervolume(chosen_values, ref=1.1)
    return chosen


def nondominated_rows(values: Values) -> NDArray[np.int64]:
    """Return the positions of the rows that no other row dominates; of equal rows only the first."""
    import moocore

    return np.flatnonzero(moocore.is_nondominated(values))


def scaled(values: Values, ideal: Values, nadir: Values) -> Values:
    """Return (values - ideal) / (nadir - ideal), where a difference of 0 counts as 1."""
    spread = nadir - ideal
    return np.asarray((values - ideal) / np.where(spread > 0, spread, 1.0))


def _scaled_front(values: Values) -> tuple[NDArray[np.int64], Values]:
    """Return the positions of the non-dominated rows and their scaled values without constant objectives."""
    rows = nondominated_rows(values)
    front = values[rows]
    ideal, nadir = front.min(axis=0), front.max(axis=0)
    return rows, scaled(front, ideal, nadir)[:, nadir > ideal]


def _smallest(scores: Values, values: Values, rows: NDArray[np.int64]) -> int:
    """Return the row with the least score; of equal scores the row with the lexicographically smallest values."""
    tied = rows[scores <= scores.min() + _TIE]
    return int(tied[np.lexsort(values[tied].T[::-1])[0]])
