"""The best solution of a run."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.operators.mixing import Elite

ALL_ROWS = slice(None)
"""Stands for all solutions of a population."""


def values_of(population: Any, rows: slice) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
    """Return some solutions of a population with their objectives and violations."""
    data = population.data
    return data.genotypes[rows], data.objectives[rows], data.violations[rows]


def no_elite(problem: Any, dtype: type[np.generic]) -> Elite:
    """Return room for the best solution of a run that has none yet."""
    genotype: Any = np.zeros(problem.n_variables, dtype)
    return Elite(genotype=genotype, objectives=np.full(problem.n_objectives, inf), violation=np.full(1, inf))


def take_best(
    elite: Elite, genotypes: NDArray[Any], objectives: NDArray[np.float64], violations: NDArray[np.float64]
) -> None:
    """Copy the first of the best solutions if it is better: by its violation, then by its first objective."""
    best = int(np.lexsort((objectives[:, 0], violations))[0])
    if (violations[best], objectives[best, 0]) < (elite.violation[0], elite.objectives[0]):
        elite.genotype[:] = genotypes[best]
        elite.objectives[:] = objectives[best]
        elite.violation[0] = violations[best]
