"""Compiled evaluation of continuous benchmark functions; every kernel fills a solution's terms and objective."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import GENES, Journal, Solution, register_problem, set_term
from gomea_bn.runtime.jit import kernel

# kinds of windows
SQUARE, VALLEY, ELLIPSOID = 0, 1, 2


class WindowsData(NamedTuple):
    """Data of a sum over windows of k variables: squares, Rosenbrock's valleys or rotated ellipsoids."""

    kind: int  # SQUARE, VALLEY or ELLIPSOID
    size: int  # k
    stride: int  # distance between the first variables of neighbouring windows
    # (k, k) of an ellipsoid, with rows scaled by the square roots of the coefficients
    rotation: NDArray[np.float64]
    stamps: NDArray[
        np.int64
    ]  # (n_windows + 1,) latest step that touched each window; the last entry counts steps


class CirclesData(NamedTuple):
    """Data of minus the smallest distance of any two points; point p has the variables 2p and 2p + 1."""

    firsts: NDArray[np.int64]  # (n,) index of the first term (p, p + 1) of every point
    stamps: NDArray[np.int64]  # (n + 1,) latest step that moved each point; the last entry counts steps


@kernel
def _resum(solution: Solution) -> None:
    """Compute the objective from the terms."""
    total = 0.0
    for t in range(solution.terms.shape[0]):
        total += solution.terms[t]
    solution.objectives[0] = total


@kernel
def _touch(stamps: NDArray[np.int64], item: int) -> bool:
    """Return whether this step touches `item` for the first time, and mark it."""
    step = stamps[stamps.shape[0] - 1]
    if stamps[item] == step:
        return False
    stamps[item] = step
    return True


@kernel
def _term(data: WindowsData, genotype: NDArray[np.float64], window: int) -> float:
    first = window * data.stride
    x = genotype[first]
    if data.kind == SQUARE:
        return x * x
    if data.kind == VALLEY:
        valley = genotype[first + 1] - x * x
        return 100.0 * valley * valley + (1.0 - x) * (1.0 - x)
    total = 0.0
    for row in range(data.size):
        turned = 0.0
        for column in range(data.size):
            turned += data.rotation[row, column] * genotype[first + column]
        total += turned * turned
    return total


@kernel
def evaluate_real_windows(
    data: WindowsData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate every window; returns their number."""
    for t in range(solution.terms.shape[0]):
        solution.terms[t] = _term(data, solution.genotype, t)
    solution.violation[0] = 0.0
    _resum(solution)
    return solution.terms.shape[0]


@kernel
def evaluate_real_windows_partial(
    data: WindowsData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate the windows that hold a changed variable; without any, compute the objective from the terms."""
    n_changed = journal.counts[GENES]
    if n_changed == 0:
        _resum(solution)
    n_terms, stride = solution.terms.shape[0], data.stride
    data.stamps[n_terms] += 1
    touched, change = 0, 0.0
    for c in range(n_changed):
        g = journal.genes[c]
        first = max(0, (g - data.size + stride) // stride)
        last = min(n_terms - 1, g // stride)
        for t in range(first, last + 1):
            if _touch(data.stamps, t):
                value = _term(data, solution.genotype, t)
                change += value - solution.terms[t]
                set_term(solution, journal, t, value)
                touched += 1
    solution.objectives[0] += change
    return touched


@kernel
def _distance(genotype: NDArray[np.float64], p: int, q: int) -> float:
    dx = genotype[2 * p] - genotype[2 * q]
    dy = genotype[2 * p + 1] - genotype[2 * q + 1]
    return np.sqrt(dx * dx + dy * dy)


@kernel
def _least(solution: Solution) -> None:
    """Set the objective to minus the least term."""
    least = np.inf
    for t in range(solution.terms.shape[0]):
        least = min(least, solution.terms[t])
    solution.objectives[0] = -least


@kernel
def circles(data: CirclesData, solution: Solution, journal: Journal, generator: np.random.Generator) -> int:
    """Evaluate all distances of points in the unit square."""
    n = data.firsts.shape[0]
    for p in range(n):
        for q in range(p + 1, n):
            solution.terms[data.firsts[p] + q - p - 1] = _distance(solution.genotype, p, q)
    solution.violation[0] = 0.0
    _least(solution)
    return solution.terms.shape[0]


@kernel
def circles_partial(
    data: CirclesData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate the distances of the points that moved."""
    n = data.firsts.shape[0]
    data.stamps[n] += 1
    touched = 0
    for k in range(journal.counts[GENES]):
        p = journal.genes[k] // 2
        if not _touch(data.stamps, p):
            continue
        for q in range(n):
            # a pair of moved points belongs to the point that was visited first
            if q == p or (data.stamps[q] == data.stamps[n]):
                continue
            a, b = min(p, q), max(p, q)
            set_term(solution, journal, data.firsts[a] + b - a - 1, _distance(solution.genotype, p, q))
            touched += 1
    _least(solution)
    return touched


register_problem(WindowsData, evaluate_real_windows, evaluate_real_windows_partial)
register_problem(CirclesData, circles, circles_partial)
