"""What every search needs: solutions before their evaluation, journals, and a linkage model without any set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage
from gomea_bn.problems.base import Journal, Solution, new_journal
from gomea_bn.problems.continuous import new_real_journal


def unevaluated(problem: Any, genotype: NDArray[Any] | None = None) -> Solution:
    """A solution with a copy of a genotype, or with zeros; an evaluation must replace every NaN."""
    genes: Any = np.zeros(problem.n_variables, np.int16) if genotype is None else genotype.copy()
    return Solution(
        genotype=genes, terms=np.full(problem.n_terms, np.nan), aux=np.zeros(problem.n_aux, np.uint64),
        objectives=np.full(problem.n_objectives, np.nan), violation=np.full(1, np.nan),
    )  # fmt: skip


def journal_of(problem: Any) -> Journal:
    """An empty journal for the steps of a problem, whose variables are genes or real numbers."""
    if problem.is_real:
        return new_real_journal(problem.n_variables, problem.n_terms, problem.n_aux)
    return new_journal(problem.alphabet, problem.n_terms, problem.n_aux)


class NoLinkage:
    """No set of genes at all: solutions stay what they are."""

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        empty = np.zeros(0, np.int64)
        return Linkage(empty, empty, empty)
