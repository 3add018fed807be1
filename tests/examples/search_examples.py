"""What every search needs: solutions before their evaluation, journals, and a linkage model without any set."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.discrete_run import DiscreteRun, Turn
from gomea_bn.algorithms.multi_start import UNLIMITED
from gomea_bn.linkage import Linkage
from gomea_bn.operators.mixing import MixingRules
from gomea_bn.problems import Journal, Solution, new_journal, new_real_journal


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


def mixing_rules(
    problem: Any, stall_limit: int, *, forced: bool = False, climb: bool = False, donors: bool = False,
    immediate: bool = False,
) -> MixingRules:  # fmt: skip
    """The rules of variation over the genes of a problem."""
    return MixingRules(
        alphabet=problem.alphabet, allowed=problem.allowed, ordinal=problem.ordinal,
        max_tries=problem.allowed.shape[1], stall_limit=stall_limit, forced_improvement=forced,
        local_search=climb, search_donors=donors, immediate_elite=immediate,
    )  # fmt: skip


@contextmanager
def shared_last_generations() -> Iterator[None]:
    """Demand that threads share generations that a limit on evaluations ends."""
    shared: list[int] = []
    sure_blocks = DiscreteRun._sure_blocks

    def noted(run: DiscreteRun, population: Any, turn: Turn, blocks: range) -> range:
        sure = sure_blocks(run, population, turn, blocks)
        if turn.left < UNLIMITED and len(sure) > 1:
            shared.append(len(sure))
        return sure

    with patch.object(DiscreteRun, "_sure_blocks", noted):
        yield
    assert shared


def random_population(rng: np.random.Generator, n: int, n_genes: int, largest: int) -> NDArray[np.int16]:
    """Genes of up to `largest` values that copy, coarsen or ignore each other, some of them constant."""
    columns = [rng.integers(0, rng.integers(1, largest + 1), n)]
    for _ in range(n_genes - 1):
        base = columns[int(rng.integers(len(columns)))]
        fresh = rng.integers(0, rng.integers(1, largest + 1), n)
        columns.append([base, base // 2, np.where(rng.random(n) < 0.3, fresh, base), fresh][rng.integers(4)])
    return np.array(columns, np.int16).T.copy()


class NoLinkage:
    """No set of genes at all: solutions stay what they are."""

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        empty = np.zeros(0, np.int64)
        return Linkage(empty, empty, empty)
