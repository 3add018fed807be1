"""Which kinds of conditionals a column follows, by the density of rows that are left out of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.conditionals.kind import Fitted, Stack, log_mixture

_MOST_STEPS = 100
_STEP_TOLERANCE = 1e-9
LEAST_GAIN = 2.0
"""Gain of another choice that counts, in nats of all rows."""


@dataclass(frozen=True)
class Member:
    """A conditional of a column, and the log density of every row left out of it, in its units, float64 (n_rows,)."""

    fitted: Fitted
    left_out: NDArray[np.float64]


def mixture_weight(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the weight of the second of two densities with which their mixture fits rows best.

    The log densities, float64 (n_rows,), are of rows that were left out of the fit of either. The weight, by Newton's
    method on a concave function, is at most 1 - 1 / (n_rows + 1): the next row may be one that the second density
    cannot predict.
    """
    excess = np.exp(np.clip(_differences(second, first), -700, 700)) - 1
    low, high = 0.0, 1 - 1 / (len(first) + 1)
    if excess.sum() <= 0:
        return low
    if (excess / (1 + high * excess)).sum() >= 0:
        return high
    weight = 0.5
    for _ in range(_MOST_STEPS):
        slopes = excess / (1 + weight * excess)
        slope = float(slopes.sum())
        low, high = (weight, high) if slope > 0 else (low, weight)
        further = weight + slope / float(slopes @ slopes)
        before, weight = weight, further if low < further < high else (low + high) / 2
        if abs(weight - before) < _STEP_TOLERANCE:
            break
    return weight


def mixture_gain(first: NDArray[np.float64], second: NDArray[np.float64], weight: float) -> float:
    """Return what the mixture of two densities gains over the first one, in nats of all rows; 0 for a weight of 0."""
    return float(np.sum(log_mixture(first, second, weight) - first)) if weight > 0 else 0.0


def best_stack(members: Sequence[Member], price: float) -> tuple[Stack, NDArray[np.float64]]:
    """Return one or two members with their weights, and the log density of left-out rows, float64 (n_rows,).

    The first member is the one that the score chose; see `best_choice`.
    """
    numbers = [member.fitted.n_parameters for member in members]
    (first, *more), weight, left_out = best_choice(numbers, [member.left_out for member in members], price)
    further = members[more[0]].fitted if more else None
    return Stack.of(members[first].fitted, further, weight), left_out


def best_choice(
    numbers: Sequence[float], logs: Sequence[NDArray[np.float64]], price: float
) -> tuple[tuple[int, ...], float, NDArray[np.float64]]:
    """Return which one or two of some members to take, the weight of the second, and their left-out log density.

    Another choice than the first member must gain more than 2 nats of all rows, and the price, in nats, of every number
    that it has beyond those of the first. `numbers` are how many a member has, and `logs`, float64 (n_rows,), the log
    densities of rows that are left out of it.
    """
    base, n_numbers = logs[0], numbers[0]
    best: tuple[int, ...] = (0,)
    of_best, left_out, gain = 0.0, base, 0.0
    for one in range(1, len(logs)):
        further = price * max(numbers[one] - n_numbers, 0.0)
        of_one = _difference(logs[one], base) - further
        if of_one > gain + LEAST_GAIN:
            best, left_out, gain = (one,), logs[one], of_one
    for one, other in combinations(range(len(logs)), 2):
        weight = mixture_weight(logs[one], logs[other])
        if not 0 < weight < 1:
            continue
        together = log_mixture(logs[one], logs[other], weight)
        n_both = numbers[one] + numbers[other]
        of_both = _difference(together, base) - price * max(n_both - n_numbers, 0.0)
        if of_both > gain + LEAST_GAIN:
            best, of_best, left_out, gain = (one, other), weight, together, of_both
    return best, of_best, left_out


def _difference(logs: NDArray[np.float64], base: NDArray[np.float64]) -> float:
    """Return the sum of differences of log densities."""
    return float(_differences(logs, base).sum())


def _differences(logs: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences of log densities; those of rows that are impossible under both are 0."""
    return np.subtract(logs, base, out=np.zeros_like(logs), where=logs != base)
