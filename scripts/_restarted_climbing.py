"""Restarted hill climbing with the learner's own score, kernels and pricing: what the search is compared with."""

from __future__ import annotations

from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.populations import new_population, new_work, variation_rules
from gomea_bn.operators.kernels.mixing import initialise_range
from gomea_bn.problems.structure import StructureProblem

__all__ = ["restarted_climbing"]

# a restart begins from the best network with this share of its genes drawn anew, or from a random network
_PERTURBED = 0.1
_FROM_RANDOM = 0.3


def restarted_climbing(
    problem: StructureProblem, max_seconds: float, seed: int
) -> tuple[NDArray[np.int16], float, float, int]:
    """Return the best genotype, its score in nats, the seconds until it was found, and the number of climbs.

    A climb tries every value of every gene in random order until none helps; where the problem prices cuts, all
    variables are then priced, and the climb goes on until neither helps.
    """
    generator = np.random.default_rng(seed)
    stop = np.zeros(1, np.uint8)
    refiner = problem.refiner(stop)
    rules, work = variation_rules(problem, 1, climbs=True), new_work(problem, stop)
    began = perf_counter()
    best, best_value, found_at, n_climbs = problem.sample(generator, 1)[0], np.inf, 0.0, 0
    while perf_counter() - began < max_seconds:
        start = problem.sample(generator, 1)
        if n_climbs and generator.random() > _FROM_RANDOM:
            kept = generator.random(problem.n_variables) >= _PERTURBED
            start[0, kept] = best[kept]
        value = np.inf
        while perf_counter() - began < max_seconds:
            data = new_population(problem, start)
            work.budget[0] = 1 << 62
            initialise_range(problem.kernel_data(1)[0], data, rules, generator, work, 0, 1)
            problem.generation_ended()
            n_climbs += 1
            reached = float(data.objectives[0, 0])
            if reached < best_value:
                best, best_value, found_at = data.genotypes[0].copy(), reached, perf_counter() - began
            if reached > value - 1e-9:
                break
            value, start = reached, data.genotypes.copy()
            if refiner is not None:
                in_use = partial(_values, start[0], best)
                start = refiner.improved(start[0], generator, in_use)[None]
    return best, -best_value, found_at, n_climbs


def _values(present: NDArray[np.int16], best: NDArray[np.int16], gene: int) -> NDArray[np.int64]:
    return np.array([present[gene], best[gene]], np.int64)
