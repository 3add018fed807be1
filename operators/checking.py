"""Compiled evaluations of one solution outside any search, in full and after changes of some genes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import Journal, Solution, evaluate, evaluate_partial, set_gene
from gomea_bn.runtime.jit import kernel


@kernel
def evaluate_whole(problem: Any, solution: Solution, journal: Journal, generator: np.random.Generator) -> int:
    """Evaluate a solution in full; returns the number of terms."""
    return evaluate(problem, solution, journal, generator)


@kernel
def evaluate_change(
    problem: Any,
    solution: Solution,
    journal: Journal,
    genes: NDArray[np.int64],
    values: NDArray[Any],
    generator: np.random.Generator,
) -> int:
    """Give genes (k,) of a solution new values and evaluate the change; returns the number of terms."""
    for k in range(genes.shape[0]):
        set_gene(solution, journal, genes[k], values[k])
    n_terms = evaluate_partial(problem, solution, journal, generator)
    journal.counts[:] = 0
    return n_terms
