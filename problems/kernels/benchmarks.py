"""Compiled evaluation of the discrete benchmark functions, where a changed gene costs only its sub-functions.

Values of sub-functions are multiples of one power of two, to which `benchmarks` rounds tables and weights, and they are
so small that all sums are exact in float64. Objectives are therefore updated by differences without drift, and equal
genotypes have objectives equal to the last bit. Only HIFF stores state, and only knapsacks store terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import (
    AUX,
    GENES,
    Journal,
    Solution,
    evaluate,
    register_problem,
    set_aux,
    set_gene,
    set_term,
)
from gomea_bn.runtime.jit import kernel

# genes are 0 or 1; this bit marks genes that the step flipped
_FLIPPED = 2
# states of HIFF's tree nodes: 0 or 1 if all genes below are equal, else mixed; a bit marks changed states
_MIXED, _CHANGED = np.uint64(2), np.uint64(4)


class BlockData(NamedTuple):
    """Blocks of consecutive genes with a value for each number of ones in each of m objectives."""

    values: NDArray[np.float64]  # (size + 1, m) minimised, by number of ones


class WindowData(NamedTuple):
    """A table for every window of k consecutive genes (NK, S1)."""

    tables: NDArray[np.float64]  # (l - k + 1, 2**k) minimised; the window's first gene is the highest bit


class PairData(NamedTuple):
    """Weights of pairs of genes that differ, one per objective, as neighbour lists (MAXCUT, spin glasses)."""

    offset: float  # every objective if all genes are equal
    starts: NDArray[np.int64]  # (l + 1,)
    neighbours: NDArray[np.int64]  # (2 * n_pairs,)
    weights: NDArray[np.float64]  # (2 * n_pairs, m) minimised


class HiffData(NamedTuple):
    """A complete binary tree over the genes, with root 1 and leaf l + g for gene g."""

    values: NDArray[np.float64]  # (2 l,) minimised, of nodes whose genes are all equal; node 0 does not exist


class RunLengthData(NamedTuple):
    """Data of leading ones and trailing zeros."""

    worth: float  # value of each gene of a run, maximised


class KnapsackData(NamedTuple):
    """Items with a profit and a weight in each of m knapsacks; a solution's first m terms are the loads."""

    profits: NDArray[np.float64]  # (l, m) minimised
    weights: NDArray[np.float64]  # (l, m)
    capacities: NDArray[np.float64]  # (m,)
    drop_order: NDArray[np.int64]  # (l,) items in the order in which repair removes them


@kernel
def _mark_flipped(solution: Solution, journal: Journal) -> None:
    for c in range(journal.counts[GENES]):
        solution.genotype[journal.genes[c]] |= _FLIPPED


@kernel
def _clear_flipped(solution: Solution, journal: Journal) -> None:
    for c in range(journal.counts[GENES]):
        solution.genotype[journal.genes[c]] &= 1


@kernel
def evaluate_blocks(
    data: BlockData, solution: Solution, journal: Journal, generator: np.random.Generator
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
def evaluate_blocks_partial(
    data: BlockData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate the blocks of the flipped genes; returns their number."""
    genotype = solution.genotype
    size = data.values.shape[0] - 1
    if size == 1:
        for c in range(journal.counts[GENES]):
            bit = genotype[journal.genes[c]]
            for m in range(data.values.shape[1]):
                solution.objectives[m] += data.values[bit, m] - data.values[1 - bit, m]
        return journal.counts[GENES]
    _mark_flipped(solution, journal)
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
def evaluate_windows(
    data: WindowData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate every window; returns their number."""
    n_windows, n_keys = data.tables.shape
    k = solution.genotype.shape[0] - n_windows + 1
    key = 0
    for gene in range(k - 1):
        key = key << 1 | np.int64(solution.genotype[gene])
    total = 0.0
    for window in range(n_windows):
        key = (key << 1 | np.int64(solution.genotype[window + k - 1])) & (n_keys - 1)
        total += data.tables[window, key]
    solution.objectives[0] = total
    solution.violation[0] = 0.0
    return n_windows


@kernel
def evaluate_windows_partial(
    data: WindowData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate the windows over the flipped genes, each once; returns their number."""
    genotype = solution.genotype
    n_windows, n_keys = data.tables.shape
    k = genotype.shape[0] - n_windows + 1
    _mark_flipped(solution, journal)
    touched = 0
    delta = 0.0
    for c in range(journal.counts[GENES]):
        gene = journal.genes[c]
        # windows that hold an earlier flipped gene belong to that gene
        first = max(gene - k + 1, 0)
        for earlier in range(gene - 1, first - 1, -1):
            if genotype[earlier] & _FLIPPED != 0:
                first = earlier + 1
                break
        last = min(gene, n_windows - 1)
        if first > last:
            continue
        after, flips = 0, 0
        for other in range(first, first + k - 1):
            gene_bits = np.int64(genotype[other])
            after = after << 1 | (gene_bits & 1)
            flips = flips << 1 | (gene_bits >> 1)
        for window in range(first, last + 1):
            gene_bits = np.int64(genotype[window + k - 1])
            after = (after << 1 | (gene_bits & 1)) & (n_keys - 1)
            flips = (flips << 1 | (gene_bits >> 1)) & (n_keys - 1)
            delta += data.tables[window, after] - data.tables[window, after ^ flips]
        touched += last - first + 1
    _clear_flipped(solution, journal)
    solution.objectives[0] += delta
    return touched


@kernel
def evaluate_pairs(
    data: PairData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate every pair; returns their number."""
    solution.objectives[:] = data.offset
    for gene in range(solution.genotype.shape[0]):
        for e in range(data.starts[gene], data.starts[gene + 1]):
            other = data.neighbours[e]
            if other < gene and solution.genotype[gene] != solution.genotype[other]:
                for m in range(data.weights.shape[1]):
                    solution.objectives[m] += data.weights[e, m]
    solution.violation[0] = 0.0
    return data.neighbours.shape[0] // 2


@kernel
def evaluate_pairs_partial(
    data: PairData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate the pairs of the flipped genes, each once; returns their number."""
    genotype = solution.genotype
    _mark_flipped(solution, journal)
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
    _clear_flipped(solution, journal)
    return ends // 2


@kernel
def evaluate_hiff(
    data: HiffData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Compute the state of every node; returns the number of nodes."""
    n = solution.genotype.shape[0]
    state = solution.aux
    state[0] = _MIXED
    total = 0.0
    for node in range(2 * n - 1, 0, -1):
        if node >= n:
            state[node] = np.uint64(solution.genotype[node - n])
        elif state[2 * node] == state[2 * node + 1]:
            state[node] = state[2 * node]
        else:
            state[node] = _MIXED
        if state[node] != _MIXED:
            total += data.values[node]
    solution.objectives[0] = total
    solution.violation[0] = 0.0
    return 2 * n - 1


@kernel
def evaluate_hiff_partial(
    data: HiffData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate the nodes above the flipped genes, level by level, while states change; returns their number."""
    n = solution.genotype.shape[0]
    state = solution.aux
    touched = journal.counts[GENES]
    for c in range(touched):
        gene = journal.genes[c]
        set_aux(solution, journal, n + gene, np.uint64(solution.genotype[gene]) | _CHANGED)
    delta = 0.0
    # the journal serves as queue: all nodes of a level are final before the first node of the next level
    k = 0
    while k < journal.counts[AUX]:
        node = journal.aux[k]
        k += 1
        # a node whose two children changed is evaluated at the turn of the left child
        if node == 1 or (node & 1 == 1 and state[node - 1] & _CHANGED != np.uint64(0)):
            continue
        parent = node >> 1
        touched += 1
        left, right = state[2 * parent] & ~_CHANGED, state[2 * parent + 1] & ~_CHANGED
        new = left if left == right else _MIXED
        old = state[parent]
        if new != old:
            if old == _MIXED:
                delta += data.values[parent]
            elif new == _MIXED:
                delta -= data.values[parent]
            set_aux(solution, journal, parent, new | _CHANGED)
    for k in range(journal.counts[AUX]):
        state[journal.aux[k]] &= ~_CHANGED
    solution.objectives[0] += delta
    return touched


@kernel
def best_windows(
    tables: NDArray[np.float64], best: NDArray[np.float64], former: NDArray[np.float64]
) -> float:
    """Return the least sum over all windows by dynamic programming; `best` and `former` (2**(k - 1),) are work space.

    The state is the last k - 1 genes, which a window shares with the next one.
    """
    n_windows, n_keys = tables.shape
    n_states = n_keys // 2
    best[:] = 0.0
    for window in range(n_windows):
        for state in range(n_states):
            former[state] = best[state]
        for state in range(n_states):
            # the two windows that end in this state differ in their first gene
            low, high = state, state + n_states
            best[state] = min(
                former[low >> 1] + tables[window, low], former[high >> 1] + tables[window, high]
            )
    least = best[0]
    for state in range(1, n_states):
        least = min(least, best[state])
    return least


@kernel
def best_bipartition(data: PairData, genotype: NDArray[np.int16]) -> float:
    """Return the least first objective over all genotypes, visited in Gray code; leaves an optimum in `genotype`.

    The last gene stays 0, as complementary genotypes have equal objectives.
    """
    n = genotype.shape[0]
    genotype[:] = 0
    value, least = data.offset, data.offset
    best = np.int64(0)
    for step in range(1, 1 << (n - 1)):
        gene = 0
        while step >> gene & 1 == 0:
            gene += 1
        bit = genotype[gene] ^ 1
        genotype[gene] = bit
        for e in range(data.starts[gene], data.starts[gene + 1]):
            weight = data.weights[e, 0]
            value += weight if genotype[data.neighbours[e]] != bit else -weight
        if value < least:
            least = value
            best = step ^ (step >> 1)
    for gene in range(n):
        genotype[gene] = best >> gene & 1
    return least


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


register_problem(BlockData, evaluate_blocks, evaluate_blocks_partial)
register_problem(WindowData, evaluate_windows, evaluate_windows_partial)
register_problem(PairData, evaluate_pairs, evaluate_pairs_partial)
register_problem(HiffData, evaluate_hiff, evaluate_hiff_partial)
register_problem(RunLengthData, evaluate_run_lengths, evaluate_run_lengths_partial)
register_problem(KnapsackData, evaluate_knapsack, evaluate_knapsack_partial)
