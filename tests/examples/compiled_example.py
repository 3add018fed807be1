"""A user's own compiled problem, in a module of its own: trap functions with partial evaluation."""

from typing import NamedTuple

import numpy as np

from gomea_bn import KernelProblem, kernel, register_problem
from gomea_bn.problems import set_term


class TrapData(NamedTuple):
    """Blocks of `size` genes."""

    size: int


@kernel
def block_cost(genotype, block, size):
    ones = 0
    for gene in range(block * size, (block + 1) * size):
        ones += genotype[gene]
    return -float(size) if ones == size else -float(size - 1 - ones)


@kernel
def total(terms):
    result = 0.0
    for t in range(terms.shape[0]):
        result += terms[t]
    return result


@kernel
def evaluate_trap(data, solution, journal, generator):
    for block in range(solution.terms.shape[0]):
        solution.terms[block] = block_cost(solution.genotype, block, data.size)
    solution.objectives[0] = total(solution.terms)
    solution.violation[0] = 0.0
    return solution.terms.shape[0]


@kernel
def evaluate_trap_partial(data, solution, journal, generator):
    touched = 0
    for k in range(journal.counts[0]):
        block = journal.genes[k] // data.size
        cost = block_cost(solution.genotype, block, data.size)
        if cost != solution.terms[block]:
            set_term(solution, journal, block, cost)
            touched += 1
    solution.objectives[0] = total(solution.terms)
    return touched


register_problem(TrapData, evaluate_trap, evaluate_trap_partial)


def compiled_trap(n_blocks, size=5):
    return KernelProblem(
        TrapData(size), np.full(n_blocks * size, 2), n_terms=n_blocks, target=-float(n_blocks * size)
    )


class PythonTrap:
    """The same in plain Python."""

    alphabet = 2

    def __init__(self, n_blocks, size=5):
        self.n_variables, self.size, self.target = n_blocks * size, size, -float(n_blocks * size)
        self.calls = 0

    def costs(self, x):
        ones = x.reshape(-1, self.size).sum(axis=1)
        return np.where(ones == self.size, -float(self.size), -(self.size - 1.0 - ones))

    def evaluate(self, x):
        self.calls += 1
        return float(self.costs(x).sum())


class PartialPythonTrap(PythonTrap):
    """The same with partial evaluation over terms."""

    def __init__(self, n_blocks, size=5):
        super().__init__(n_blocks, size)
        self.n_terms = n_blocks
        self.partial_calls = 0

    def evaluate(self, x):
        terms = self.costs(x)
        return terms.sum(), 0.0, terms

    def evaluate_partial(self, x, changed, parent_terms):
        self.partial_calls += 1
        terms = parent_terms.copy()
        for block in {int(gene) // self.size for gene in changed}:
            terms[block] = self.costs(x[block * self.size : (block + 1) * self.size])[0]
        return terms.sum(), 0.0, terms
