"""Compiled evaluation of the discrete benchmark functions, where a changed gene costs only its sub-functions.

Values of sub-functions are multiples of one power of two, to which `benchmarks` rounds tables and weights, and they are
so small that all sums are exact in float64. Objectives are therefore updated by differences without drift, and equal
genotypes have objectives equal to the last bit. Only HIFF stores state, and no function stores terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import AUX, GENES, Journal, Solution, register_problem, set_aux
from gomea_bn.runtime.jit import kernel

# genes are 0 or 1; this bit marks genes that the step flipped
_FLIPPED = 2
# states of HIFF's tree nodes: 0 or 1 if all genes below are equal, else mixed; a bit marks changed states
_MIXED, _CHANGED = np.uint64(2), np.uint64(4)


class BlockData(NamedTuple):
    """Blocks of consecutive genes with a value for each number of ones."""

    values: NDArray[np.float64]  # (size + 1,) minimised, by number of ones


class WindowData(NamedTuple):
    """A table for every window of k consecutive genes (NK, S1)."""

    tables: NDArray[np.float64]  # (l - k + 1, 2**k) minimised; the window's first gene is the highest bit


class PairData(NamedTuple):
    """Weights of pairs of genes that differ, as neighbour lists (MAXCUT, spin glasses)."""

    offset: float  # objective of all genes equal
    starts: NDArray[np.int64]  # (l + 1,)
    neighbours: NDArray[np.int64]  # (2 * n_pairs,)
    weights: NDArray[np.float64]  # (2 * n_pairs,) minimised


class HiffData(NamedTuple):
    """A complete binary tree over the genes, with root 1 and leaf l + g for gene g."""

    values: NDArray[np.float64]  # (2 l,) minimised, of nodes whose genes are all equal; node 0 does not exist


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
    total = 0.0
    for block in range(n_blocks):
        ones = 0
        for gene in range(block * size, (block + 1) * size):
            ones += solution.genotype[gene]
        total += data.values[ones]
    solution.objectives[0] = total
    solution.violation[0] = 0.0
    return n_blocks


@kernel
def evaluate_blocks_partial(
    data: BlockData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate the blocks of the flipped genes; returns their number."""
    genotype = solution.genotype
    size = data.values.shape[0] - 1
    delta = 0.0
    if size == 1:
        for c in range(journal.counts[GENES]):
            bit = genotype[journal.genes[c]]
            delta += data.values[bit] - data.values[1 - bit]
        solution.objectives[0] += delta
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
        delta += data.values[after] - data.values[before]
        touched += 1
    solution.objectives[0] += delta
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
    total = data.offset
    for gene in range(solution.genotype.shape[0]):
        for e in range(data.starts[gene], data.starts[gene + 1]):
            other = data.neighbours[e]
            if other < gene and solution.genotype[gene] != solution.genotype[other]:
                total += data.weights[e]
    solution.objectives[0] = total
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
    delta = 0.0
    for c in range(journal.counts[GENES]):
        gene = journal.genes[c]
        bit = genotype[gene] & 1
        for e in range(data.starts[gene], data.starts[gene + 1]):
            other = genotype[data.neighbours[e]]
            if other & _FLIPPED != 0:
                # both ends flipped: the pair does not change and is visited twice
                ends += 1
            else:
                ends += 2
                delta += data.weights[e] if other != bit else -data.weights[e]
    _clear_flipped(solution, journal)
    solution.objectives[0] += delta
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
    """Return the least objective over all genotypes, visited in Gray code; leaves an optimum in `genotype`.

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
            value += data.weights[e] if genotype[data.neighbours[e]] != bit else -data.weights[e]
        if value < least:
            least = value
            best = step ^ (step >> 1)
    for gene in range(n):
        genotype[gene] = best >> gene & 1
    return least


register_problem(BlockData, evaluate_blocks, evaluate_blocks_partial)
register_problem(WindowData, evaluate_windows, evaluate_windows_partial)
register_problem(PairData, evaluate_pairs, evaluate_pairs_partial)
register_problem(HiffData, evaluate_hiff, evaluate_hiff_partial)
