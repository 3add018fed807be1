"""Compiled parts of real-valued estimation: selection, means and covariances, Cholesky factors, inheritance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage
from gomea_bn.operators.mixing import improves
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import random_below


class RealPopulation(NamedTuple):
    """A population of n real solutions; row i of every array belongs to solution i."""

    genotypes: NDArray[np.float64]  # (n, l)
    terms: NDArray[np.float64]  # (n, n_terms)
    aux: NDArray[np.uint64]  # (n, n_aux)
    objectives: NDArray[np.float64]  # (n, n_objectives)
    violations: NDArray[np.float64]  # (n,)
    stalls: NDArray[np.int64]  # (n,) generations in a row in which the solution did not improve
    improved: NDArray[np.uint8]  # (n,) 1 if the solution improved in this generation


class SelectionWork(NamedTuple):
    """Work space of selection; everything is mutated."""

    order: NDArray[np.int64]  # (n,) best solution first
    merge: NDArray[np.int64]  # (n,) order in the making
    distances: NDArray[np.float64]  # (n,) squared distances to the nearest selected solution


@kernel
def beats(population: RealPopulation, a: int, b: int) -> bool:
    """Return whether solution a beats solution b."""
    return improves(
        population.objectives[a, 0],
        population.violations[a],
        population.objectives[b, 0],
        population.violations[b],
    )


@kernel
def _rank(population: RealPopulation, work: SelectionWork) -> None:
    """Sort ``work.order`` from best to worst; stable (merge sort)."""
    order, merge = work.order, work.merge
    n = order.shape[0]
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            a, b = start, middle
            for k in range(start, end):
                if b < end and (a >= middle or beats(population, order[b], order[a])):
                    merge[k] = order[b]
                    b += 1
                else:
                    merge[k] = order[a]
                    a += 1
        for k in range(n):
            order[k] = merge[k]
        width *= 2


@kernel
def _scatter(
    population: RealPopulation,
    n_tied: int,
    n_selected: int,
    work: SelectionWork,
    generator: np.random.Generator,
) -> None:
    """Move `n_selected` of the first `n_tied` solutions, greedily chosen far from each other, to the front."""
    order, distances = work.order, work.distances
    n_variables = population.genotypes.shape[1]
    by = random_below(generator, n_variables)
    first = 0
    for k in range(n_tied):
        distances[k] = np.inf
        if population.genotypes[order[k], by] > population.genotypes[order[first], by]:
            first = k
    for chosen in range(n_selected):
        order[chosen], order[first] = order[first], order[chosen]
        distances[first] = distances[chosen]
        newest = order[chosen]
        first = chosen + 1
        for k in range(chosen + 1, n_tied):
            distance = 0.0
            for g in range(n_variables):
                step = population.genotypes[order[k], g] - population.genotypes[newest, g]
                distance += step * step
            distances[k] = min(distances[k], distance)
            if distances[k] > distances[first]:
                first = k


@kernel
def select(
    population: RealPopulation, n_selected: int, work: SelectionWork, generator: np.random.Generator
) -> None:
    """Put the selection first in ``work.order``, beginning with the best solution.

    If more than `n_selected` solutions are as good as the best one, those far from each other are selected.
    """
    _rank(population, work)
    order = work.order
    n_tied = 1
    while n_tied < order.shape[0] and not beats(population, order[0], order[n_tied]):
        n_tied += 1
    if n_tied > n_selected:
        _scatter(population, n_tied, n_selected, work, generator)


@kernel
def gather(
    genotypes: NDArray[np.float64],
    rows: NDArray[np.int64],
    n_rows: int,
    members: NDArray[np.int64],
    deviations: NDArray[np.float64],
    mean: NDArray[np.float64],
) -> None:
    """Fill means (k,) and deviations (k, n_rows) of k variables over the first `n_rows` of `rows`."""
    for k in range(members.shape[0]):
        g = members[k]
        total = 0.0
        for s in range(n_rows):
            value = genotypes[rows[s], g]
            deviations[k, s] = value
            total += value
        average = total / n_rows
        mean[k] = average
        for s in range(n_rows):
            deviations[k, s] -= average


@kernel
def covariance_of_rows(
    deviations: NDArray[np.float64], n_variables: int, n_rows: int, covariance: NDArray[np.float64]
) -> None:
    """Fill the lower triangle with maximum-likelihood covariances of the first rows of deviations."""
    for a in range(n_variables):
        for b in range(a + 1):
            # four independent sums, so that no addition waits for the one before
            s0 = s1 = s2 = s3 = 0.0
            whole = n_rows - n_rows % 4
            for s in range(0, whole, 4):
                s0 += deviations[a, s] * deviations[b, s]
                s1 += deviations[a, s + 1] * deviations[b, s + 1]
                s2 += deviations[a, s + 2] * deviations[b, s + 2]
                s3 += deviations[a, s + 3] * deviations[b, s + 3]
            for s in range(whole, n_rows):
                s0 += deviations[a, s] * deviations[b, s]
            covariance[a, b] = ((s0 + s1) + (s2 + s3)) / n_rows


@kernel
def cholesky(covariance: NDArray[np.float64], n: int, scale: float, factor: NDArray[np.float64]) -> bool:
    """Fill the lower factor L with L L' = ``scale * covariance`` (n x n block); returns whether it has full rank.

    A pivot that is lost in rounding becomes 0, and so does its column. Draws then stay in the selection's subspace.
    """
    full_rank = True
    for j in range(n):
        pivot = scale * covariance[j, j]
        least = 1e-14 * pivot
        for k in range(j):
            pivot -= factor[j, k] * factor[j, k]
        if pivot > least:
            root = np.sqrt(pivot)
            factor[j, j] = root
            for i in range(j + 1, n):
                value = scale * covariance[i, j]
                for k in range(j):
                    value -= factor[i, k] * factor[j, k]
                factor[i, j] = value / root
        else:
            full_rank = False
            for i in range(j, n):
                factor[i, j] = 0.0
    return full_rank


@kernel
def solve_lower(factor: NDArray[np.float64], n: int, vector: NDArray[np.float64]) -> None:
    """Replace the first n entries of `vector` by L^-1 times them; a coordinate without variance becomes 0."""
    for i in range(n):
        value = vector[i]
        for k in range(i):
            value -= factor[i, k] * vector[k]
        vector[i] = value / factor[i, i] if factor[i, i] > 0.0 else 0.0


@kernel
def carry_multipliers(
    former: Linkage,
    former_values: NDArray[np.float64],
    linkage: Linkage,
    values: NDArray[np.float64],
    marks: NDArray[np.int64],
) -> None:
    """Fill the multipliers of new subsets from those former subsets that they overlap most.

    The overlap of A and B is 2|A & B| / (|A| + |B|). A subset with an overlap of at most one half with all former
    ones starts at 1. `marks` (l,) is work space.
    """
    marks[:] = -1
    for new in range(linkage.starts.shape[0]):
        start, size = linkage.starts[new], linkage.sizes[new]
        for k in range(start, start + size):
            marks[linkage.members[k]] = new
        values[new] = 1.0
        best = 0.5
        for old in range(former.starts.shape[0]):
            old_start, old_size = former.starts[old], former.sizes[old]
            if 2.0 * min(size, old_size) / (size + old_size) <= best:
                continue
            shared = 0
            for k in range(old_start, old_start + old_size):
                shared += marks[former.members[k]] == new
            similarity = 2.0 * shared / (size + old_size)
            if similarity > best:
                best = similarity
                values[new] = former_values[old]
