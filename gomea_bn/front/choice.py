"""Choices from a front: the recommended network, the knee, the nearest one to weights, and a representative subset.

Values are finite, float64 (n, m), and to be minimised. Functions of values alone consider the rows that no other row
dominates. They scale every objective by its range over these rows, so that units do not matter. An objective in which
all these rows are equal is left out. Of equal scores (to 1e-9) the lexicographically smallest row wins.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError
from gomea_bn.front.objectives import COMPLEXITY, EXPERT_DISTANCE, MISFIT, TARGET
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.elimination import ExactEngine
from gomea_bn.network.inference.question import Evidence
from gomea_bn.texts import amount

KneeMethod: TypeAlias = Literal["aic", "left-out", "hyperplane"]
Values = NDArray[np.float64]

_TIE = 1e-9
# standard errors of a mean of n differences that have a standard deviation of 1 nat
_MARGIN = 2.0
# rows that the standard errors are computed from, and the fewest for a standard error
MOST_ROWS, _FEWEST_ROWS = 5_000, 30


def simplest_good_fit(
    values: NDArray[np.float64],
    names: Sequence[str],
    network: Callable[[int], DiscretizedBayesNet],
    error: float,
) -> tuple[int, str, str]:
    """Return the simplest network that fits as well as the best one up to chance, and whose answers are exact.

    It is given by its row, and by why to look at it first and the numbers behind it, each as a sentence. Values are
    float64 (n_networks, n_objectives), and the misfits leave every row out of its own tables.

    A network fits as well as the best one if its misfit exceeds the least one by at most the standard error of the
    least one: the rule of one standard error (Breiman, Friedman, Olshen & Stone, "Classification and regression trees",
    1984). Where values have the loss of a target it takes the place of the misfit, and `error` is its standard error.
    """
    fit = TARGET.name if TARGET.name in names else MISFIT.name
    misfits, sizes = (values[:, list(names).index(name)] for name in (fit, COMPLEXITY.name))
    best = int(np.argmin(misfits))
    best_one, verb, words = "The best fit", "fits", "misfit is {} nats per row"
    if fit == TARGET.name:
        best_one, verb, words = "The best prediction", "predicts", "loss of the target is {}"
    close = None
    for row in np.lexsort((misfits, sizes)).tolist():
        gap = float(misfits[row] - misfits[best])
        if gap > error:
            continue
        what = (
            best_one if row == best else f"The simplest network that {verb} as well as the best, up to chance"
        )
        detail = (
            f"Its {words.format(amount(gap))} above the least one, whose standard error is {amount(error)}."
        )
        if _answers_exactly(network(row)):
            return row, f"{what}.", detail
        close = close or (row, f"{what}; its answers are estimates.", detail)
    # the best fit is close to itself
    assert close is not None
    return close


def error_of_misfit(network: DiscretizedBayesNet, table: Table) -> float | None:
    """Return the standard error of the mean log density of the rows of a table under a network that knows them.

    The standard deviation is that over at most 5,000 complete rows; None for fewer than 30 of them.
    """
    complete = table.complete_rows()
    if complete.n_rows < _FEWEST_ROWS:
        return None
    chosen = np.random.default_rng(0).permutation(complete.n_rows)[:MOST_ROWS]
    frame = complete.take(np.sort(chosen)).to_frame()
    return float(network.log_density(frame).std() / sqrt(table.n_rows))


def _answers_exactly(network: DiscretizedBayesNet) -> bool:
    """Return whether the distributions of all variables fit into the work space of the page."""
    nothing = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
    try:
        # work space of an exact answer on the review page, in numbers
        ExactEngine(network.of_tables(), 2**23).marginals(nothing)
    except GomeaBnError:
        return False
    return True


def knee_row(
    values: NDArray[np.float64],
    names: Sequence[str],
    n_rows: int | None,
    method: KneeMethod | None,
    *,
    leaves_rows_out: bool,
) -> int:
    """Return the row of the knee, of values float64 (n_networks, n_objectives); `Front.knee` describes the methods.

    The default depends on whether the misfit leaves every row out of its own tables. "aic" and "left-out" without
    misfit, complexity or the number of rows raise `GomeaBnError`.
    """
    if method is None:
        has_prices = {MISFIT.name, COMPLEXITY.name} <= set(names) and n_rows is not None
        others = set(names) - {MISFIT.name, COMPLEXITY.name, EXPERT_DISTANCE.name}
        priced: KneeMethod = "left-out" if leaves_rows_out else "aic"
        method = priced if has_prices and not others else "hyperplane"
    if method == "hyperplane":
        return hyperplane_knee(values)
    missing = [name for name in (MISFIT.name, COMPLEXITY.name) if name not in names]
    if missing:
        raise GomeaBnError(
            f"method={method!r} needs the objective '{missing[0]}'; the front has {', '.join(names)}. Use "
            "method='hyperplane'."
        )
    if n_rows is None:
        raise GomeaBnError(
            f"method={method!r} needs the number of rows: give the front its table or record={{'n_rows': ...}}."
        )
    prices = {MISFIT.name: 1.0, COMPLEXITY.name: 1.0 / n_rows}
    rows = np.arange(len(values))
    if method == "left-out":
        misfits = values[:, list(names).index(MISFIT.name)]
        rows = np.flatnonzero(misfits <= misfits.min() + _MARGIN / sqrt(n_rows))
    rows = rows[nondominated_rows(values[rows])]
    # unlike scaled values, prices do not depend on the extent of the front
    costs = (values[rows] - values[rows].min(axis=0)) @ np.array([prices.get(name, 0.0) for name in names])
    return _smallest(costs / max(costs.max(), np.finfo(float).tiny), values, rows)


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


def nearest_pseudo_weights(values: Values, weights: Values) -> int:
    """Return the row whose pseudo-weights have the least Euclidean distance to weights of shape (m,), not all 0.

    `Front.nearest` describes the rule.
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
