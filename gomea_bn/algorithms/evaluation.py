"""Evaluation of given solutions of a problem, outside any search."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.populations import checked_genotypes, new_population, new_work
from gomea_bn.algorithms.rvgomea import RVGOMEA, RealRun
from gomea_bn.operators.kernels.mixing import evaluate_row
from gomea_bn.problems.base import CompiledProblem, with_defaults
from gomea_bn.problems.continuous import RealProblem
from gomea_bn.runtime.limits import Limits

__all__ = ["evaluate_genotypes", "evaluate_solutions"]


def evaluate_genotypes(
    problem: CompiledProblem, genotypes: ArrayLike, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int16]]:
    """Return objectives (n, n_objectives), violations (n,) and the repaired genotypes (n, n_variables).

    Parameters
    ----------
    problem : CompiledProblem
        Problem over discrete variables.
    genotypes : array_like of int, shape (n, n_variables)
        Genotypes; the array is not changed.
    random_state : int
        Seed of a repair that draws random numbers.

    Raises
    ------
    GomeaBnError
        For a wrong shape, or a value that a gene may not have.
    """
    problem = with_defaults(problem)
    population = new_population(problem, checked_genotypes(problem, genotypes, "genotypes"))
    work = new_work(problem, np.zeros(1, np.uint8))
    generator = np.random.default_rng(random_state)
    data = problem.kernel_data(1)[0]
    for row in range(len(population.parents)):
        evaluate_row(data, population, row, generator, work)
    problem.chunk_ended(0, data)
    problem.generation_ended()
    return population.objectives, population.violations, population.genotypes


def evaluate_solutions(
    problem: RealProblem, solutions: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return objectives (n, n_objectives) and violations (n,) of solutions of shape (n, n_variables), float64.

    Raises
    ------
    GomeaBnError
        For a wrong shape, or values outside the bounds.
    """
    initial = np.asarray(solutions, np.float64)
    settings = RVGOMEA(base_population=max(len(initial), 3))
    with RealRun(settings, problem, Limits(max_generations=1), random_state=0, initial=initial) as run:
        run.step()
    data = run.populations[0].data
    return data.objectives[: len(initial)], data.violations[: len(initial)]
