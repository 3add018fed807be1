"""Compiled evaluation of continuous benchmark functions; every kernel fills a solution's terms and objective."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import GENES, Journal, Solution, register_problem, set_term
from gomea_bn.runtime.jit import kernel


class SphereData(NamedTuple):
    """Data of the sum of squares."""

    shift: NDArray[np.float64]  # (l,) the optimum


class RosenbrockData(NamedTuple):
    """Data of the sum over neighbours of 100 (y - x^2)^2 + (1 - x)^2."""

    stamps: NDArray[np.int64]  # (l,) latest step that touched each term; the last entry counts steps


class EllipsoidsData(NamedTuple):
    """Data of the sum of rotated ellipsoids over windows of k variables."""

    rotation: NDArray[np.float64]  # (k, k) with rows scaled by the square roots of the coefficients
    stride: int  # distance between the first variables of neighbouring windows
    stamps: NDArray[np.int64]  # (n_windows + 1,) as of `RosenbrockData`


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
def sphere(data: SphereData, solution: Solution, journal: Journal, generator: np.random.Generator) -> int:
    """Evaluate the sphere in full."""
    for g in range(solution.terms.shape[0]):
        solution.terms[g] = (solution.genotype[g] - data.shift[g]) ** 2
    solution.violation[0] = 0.0
    _resum(solution)
    return solution.terms.shape[0]


@kernel
def sphere_partial(
    data: SphereData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate the sphere's terms of the changed variables; without any, compute the objective from the terms."""
    n_changed = journal.counts[GENES]
    if n_changed == 0:
        _resum(solution)
    change = 0.0
    for k in range(n_changed):
        g = journal.genes[k]
        value = (solution.genotype[g] - data.shift[g]) ** 2
        change += value - solution.terms[g]
        set_term(solution, journal, g, value)
    solution.objectives[0] += change
    return n_changed


@kernel
def _rosenbrock_term(genotype: NDArray[np.float64], t: int) -> float:
    x = genotype[t]
    valley = genotype[t + 1] - x * x
    return 100.0 * valley * valley + (1.0 - x) * (1.0 - x)


@kernel
def rosenbrock(
    data: RosenbrockData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate the Rosenbrock function in full."""
    for t in range(solution.terms.shape[0]):
        solution.terms[t] = _rosenbrock_term(solution.genotype, t)
    solution.violation[0] = 0.0
    _resum(solution)
    return solution.terms.shape[0]


@kernel
def rosenbrock_partial(
    data: RosenbrockData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate the terms next to the changed variables; without any, compute the objective from the terms."""
    n_changed = journal.counts[GENES]
    if n_changed == 0:
        _resum(solution)
    n_terms = solution.terms.shape[0]
    data.stamps[n_terms] += 1
    touched, change = 0, 0.0
    for k in range(n_changed):
        g = journal.genes[k]
        for t in range(max(g - 1, 0), min(g + 1, n_terms)):
            if _touch(data.stamps, t):
                value = _rosenbrock_term(solution.genotype, t)
                change += value - solution.terms[t]
                set_term(solution, journal, t, value)
                touched += 1
    solution.objectives[0] += change
    return touched


@kernel
def _ellipsoid(data: EllipsoidsData, genotype: NDArray[np.float64], window: int) -> float:
    first, k = window * data.stride, data.rotation.shape[0]
    total = 0.0
    for row in range(k):
        turned = 0.0
        for column in range(k):
            turned += data.rotation[row, column] * genotype[first + column]
        total += turned * turned
    return total


@kernel
def ellipsoids(
    data: EllipsoidsData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate the sum of rotated ellipsoids in full."""
    for t in range(solution.terms.shape[0]):
        solution.terms[t] = _ellipsoid(data, solution.genotype, t)
    solution.violation[0] = 0.0
    _resum(solution)
    return solution.terms.shape[0]


@kernel
def ellipsoids_partial(
    data: EllipsoidsData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate the windows that hold a changed variable; without any, compute the objective from the terms."""
    n_changed = journal.counts[GENES]
    if n_changed == 0:
        _resum(solution)
    n_terms, k, stride = solution.terms.shape[0], data.rotation.shape[0], data.stride
    data.stamps[n_terms] += 1
    touched, change = 0, 0.0
    for c in range(n_changed):
        g = journal.genes[c]
        first = max(0, (g - k + stride) // stride)
        last = min(n_terms - 1, g // stride)
        for t in range(first, last + 1):
            if _touch(data.stamps, t):
                value = _ellipsoid(data, solution.genotype, t)
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


register_problem(SphereData, sphere, sphere_partial)
register_problem(RosenbrockData, rosenbrock, rosenbrock_partial)
register_problem(EllipsoidsData, ellipsoids, ellipsoids_partial)
register_problem(CirclesData, circles, circles_partial)
