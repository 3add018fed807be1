"""Compiled evaluation of the multi-objective benchmark functions, where a changed gene costs only its sub-functions.

As with one objective, all values are multiples of one power of two, and all sums are exact in float64. Objectives are
updated by differences, and equal genotypes have equal objectives to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import GENES, Journal, Solution, evaluate, register_problem, set_gene, set_term
from gomea_bn.runtime.jit import kernel

# genes are 0 or 1; this bit marks genes that the step flipped
_FLIPPED = 2


class BlockFrontData(NamedTuple):
    """Blocks of consecutive genes with a value for each number of ones in every objective."""

    values: NDArray[np.float64]  # (size + 1, m) minimised, by number of ones


class RunLengthData(NamedTuple):
    """Data of leading ones and trailing zeros."""

    worth: float  # value of each gene of a run, maximised


class CutFrontData(NamedTuple):
    """Weights of pairs of genes that differ, one per objective, as neighbour lists."""

    starts: NDArray[np.int64]  # (l + 1,)
    neighbours: NDArray[np.int64]  # (2 * n_pairs,)
    weights: NDArray[np.float64]  # (2 * n_pairs, m) minimised


class KnapsackData(NamedTuple):
    """Items with a profit and a weight in each of m knapsacks; a solution's first m terms are the loads."""

    profits: NDArray[np.float64]  # (l, m) minimised
    weights: NDArray[np.float64]  # (l, m)
    capacities: NDArray[np.float64]  # (m,)
    drop_order: NDArray[np.int64]  # (l,) items in the order in which repair removes them


@kernel
def evaluate_block_front(
    data: BlockFrontData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate every block; returns their number."""
    size = data.values.shape[0] - 1
    n_blocks = solution.genotype.shape[0] // size
    solution.objectives[:] = 0.0
    for block in range(n_blocks):
        ones = 0
        for gene in range(block * size, (block + 1) * size):
            ones += solution.genotype[gene]
        for m in range(data.values.shape[1]):
            solution.objectives[m] += data.values[ones, m]
    solution.violation[0] = 0.0
    return n_blocks


@kernel
def evaluate_block_front_partial(
    data: BlockFrontData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate the blocks of the flipped genes; returns their number."""
    genotype = solution.genotype
    size = data.values.shape[0] - 1
    for c in range(journal.counts[GENES]):
        genotype[journal.genes[c]] |= _FLIPPED
    touched = 0
    for c in range(journal.counts[GENES]):
        gene = journal.genes[c]
        if genotype[gene] & _FLIPPED == 0:
            # its block was evaluated, and its mark cleared, for an earlier gene
            continue
        start = gene - gene % size
        before, after = 0, 0
        for other in range(start, start + size):
            bit = genotype[other] & 1
            after += bit
            before += bit ^ (genotype[other] >> 1)
            genotype[other] = bit
        for m in range(data.values.shape[1]):
            solution.objectives[m] += data.values[after, m] - data.values[before, m]
        touched += 1
    return touched


@kernel
def _gene_at(position: int, n: int, backwards: bool) -> int:
    """Return the gene at a position, counted from the first or from the last gene."""
    return n - 1 - position if backwards else position


@kernel
def _grown_run(genotype: NDArray[np.int16], length: int, value: int, backwards: bool) -> int:
    """Return the length of a run of `value`, which is at least `length`."""
    n = genotype.shape[0]
    while length < n and genotype[_gene_at(length, n, backwards)] == value:
        length += 1
    return length


@kernel
def _changed_run(solution: Solution, journal: Journal, length: int, value: int, backwards: bool) -> int:
    """Return the new length of a run of `value` after the journal's flips."""
    genotype = solution.genotype
    n = genotype.shape[0]
    shorter = length
    for c in range(journal.counts[GENES]):
        gene = journal.genes[c]
        if genotype[gene] != value:
            shorter = min(shorter, _gene_at(gene, n, backwards))
    return shorter if shorter < length else _grown_run(genotype, length, value, backwards)


@kernel
def _touched_products(journal: Journal, before: int, after: int, n: int, backwards: bool) -> int:
    """Return the number of products of leading genes that a step re-evaluates.

    These are the products of the flipped genes, and those after a product whose value changed.
    """
    first, last = min(before, after) + 1, min(max(before, after), n - 1)
    touched = max(last - first + 1, 0)
    for c in range(journal.counts[GENES]):
        position = _gene_at(journal.genes[c], n, backwards)
        touched += position < first or position > last
    return touched


@kernel
def evaluate_run_lengths(
    data: RunLengthData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Count leading ones and trailing zeros; returns the number of products of genes, two per gene."""
    solution.objectives[0] = 0.0 - data.worth * _grown_run(solution.genotype, 0, 1, False)
    solution.objectives[1] = 0.0 - data.worth * _grown_run(solution.genotype, 0, 0, True)
    solution.violation[0] = 0.0
    return 2 * solution.genotype.shape[0]


@kernel
def evaluate_run_lengths_partial(
    data: RunLengthData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Cut or extend both runs where genes flipped; returns the number of re-evaluated products."""
    n = solution.genotype.shape[0]
    touched = 0
    for m in range(2):
        backwards = m == 1
        before = np.int64(-solution.objectives[m] / data.worth)
        after = _changed_run(solution, journal, before, 1 - m, backwards)
        touched += _touched_products(journal, before, after, n, backwards)
        solution.objectives[m] = 0.0 - data.worth * after
    return touched


@kernel
def evaluate_cut_front(
    data: CutFrontData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate every pair; returns their number."""
    solution.objectives[:] = 0.0
    for gene in range(solution.genotype.shape[0]):
        for e in range(data.starts[gene], data.starts[gene + 1]):
            other = data.neighbours[e]
            if other < gene and solution.genotype[gene] != solution.genotype[other]:
                for m in range(data.weights.shape[1]):
                    solution.objectives[m] += data.weights[e, m]
    solution.violation[0] = 0.0
    return data.neighbours.shape[0] // 2


@kernel
def evaluate_cut_front_partial(
    data: CutFrontData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate the pairs of the flipped genes, each once; returns their number."""
    genotype = solution.genotype
    for c in range(journal.counts[GENES]):
        genotype[journal.genes[c]] |= _FLIPPED
    ends = 0
    for c in range(journal.counts[GENES]):
        gene = journal.genes[c]
        bit = genotype[gene] & 1
        for e in range(data.starts[gene], data.starts[gene + 1]):
            other = genotype[data.neighbours[e]]
            if other & _FLIPPED != 0:
                # both ends flipped: the pair does not change and is visited twice
                ends += 1
                continue
            ends += 2
            for m in range(data.weights.shape[1]):
                solution.objectives[m] += data.weights[e, m] if other != bit else -data.weights[e, m]
    for c in range(journal.counts[GENES]):
        genotype[journal.genes[c]] &= 1
    return ends // 2


@kernel
def _fits(data: KnapsackData, solution: Solution) -> bool:
    """Return whether no knapsack is overloaded."""
    for m in range(data.capacities.shape[0]):
        if solution.terms[m] > data.capacities[m]:
            return False
    return True


@kernel
def _drop_until_it_fits(data: KnapsackData, solution: Solution, journal: Journal) -> int:
    """Remove items in the fixed order until no knapsack is overloaded; returns their number.

    The journal already has the former loads.
    """
    dropped = 0
    for k in range(data.drop_order.shape[0]):
        if _fits(data, solution):
            break
        item = data.drop_order[k]
        if solution.genotype[item] == 1:
            set_gene(solution, journal, item, 0)
            for m in range(data.capacities.shape[0]):
                solution.terms[m] -= data.weights[item, m]
                solution.objectives[m] -= data.profits[item, m]
            dropped += 1
    return dropped


@kernel
def evaluate_knapsack(
    data: KnapsackData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Add all chosen items and repair; returns the number of items and knapsacks."""
    journal.counts[:] = 0
    n, n_knapsacks = data.profits.shape
    solution.terms[:] = 0.0
    solution.objectives[:] = 0.0
    for item in range(n):
        if solution.genotype[item] == 1:
            for m in range(n_knapsacks):
                solution.terms[m] += data.weights[item, m]
                solution.objectives[m] += data.profits[item, m]
    _drop_until_it_fits(data, solution, journal)
    journal.counts[:] = 0
    solution.violation[0] = 0.0
    return n + n_knapsacks


@kernel
def evaluate_knapsack_partial(
    data: KnapsackData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Add or remove the flipped items and repair; returns the number of touched items and knapsacks."""
    n_own = journal.counts[GENES]
    n_knapsacks = data.capacities.shape[0]
    for m in range(n_knapsacks):
        load = solution.terms[m]
        for c in range(n_own):
            item = journal.genes[c]
            sign = 2.0 * solution.genotype[item] - 1.0
            load += sign * data.weights[item, m]
            solution.objectives[m] += sign * data.profits[item, m]
        set_term(solution, journal, m, load)
    return n_own + _drop_until_it_fits(data, solution, journal) + n_knapsacks


@kernel
def evaluate_every(
    problem: Any,
    alphabet: NDArray[np.int64],
    solution: Solution,
    journal: Journal,
    generator: np.random.Generator,
    objectives: NDArray[np.float64],
    violations: NDArray[np.float64],
) -> None:
    """Fill `objectives` (n, m) and `violations` (n,) of the first n genotypes; the first gene changes fastest."""
    for number in range(objectives.shape[0]):
        rest = number
        for gene in range(alphabet.shape[0]):
            solution.genotype[gene] = rest % alphabet[gene]
            rest //= alphabet[gene]
        evaluate(problem, solution, journal, generator)
        for m in range(objectives.shape[1]):
            objectives[number, m] = solution.objectives[m]
        violations[number] = solution.violation[0]


register_problem(BlockFrontData, evaluate_block_front, evaluate_block_front_partial)
register_problem(RunLengthData, evaluate_run_lengths, evaluate_run_lengths_partial)
register_problem(CutFrontData, evaluate_cut_front, evaluate_cut_front_partial)
register_problem(KnapsackData, evaluate_knapsack, evaluate_knapsack_partial)
