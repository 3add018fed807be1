"""Compiled linkage learning: similarities of genes over a population, and the tree of merges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn._jit import kernel
from gomea_bn._random import random_below

__all__ = ["CountWork", "fill_similarities", "tree_slices", "upgma"]

MI, NMI = 0, 1
_WORD_BITS = 64
# up to this many joint cells, counting by bit sets beats a histogram
_BITSET_CELLS = 64


class CountWork(NamedTuple):
    """Work space for a population of n genotypes of l genes; all but the table are mutated."""

    x_log_x: NDArray[np.float64]  # (n + 1,) in bits
    bits: NDArray[np.uint64]  # (alleles of all genes, words of n bits)
    columns: NDArray[np.uint8]  # (l, n) alleles, gene by gene
    joint: NDArray[np.int64]  # (largest joint table,)
    entropies: NDArray[np.float64]  # (l,)


@kernel
def _bit_count(word: np.uint64) -> int:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _fill_bits(
    genotypes: NDArray[np.int16],
    offsets: NDArray[np.int64],
    bits: NDArray[np.uint64],
    columns: NDArray[np.uint8],
) -> None:
    """Fill allele bit sets, ``bits[offsets[g] + allele]``, and gene-major alleles `columns` (l, n)."""
    n, n_genes = genotypes.shape
    bits[:] = np.uint64(0)
    for s in range(n):
        one = np.uint64(1) << np.uint64(s % _WORD_BITS)
        for g in range(n_genes):
            allele = np.int64(genotypes[s, g])
            bits[offsets[g] + allele, s // _WORD_BITS] |= one
            columns[g, s] = allele


@kernel
def fill_similarities(
    genotypes: NDArray[np.int16],
    offsets: NDArray[np.int64],
    measure: int,
    work: CountWork,
    similarities: NDArray[np.float64],
) -> None:
    """Fill the symmetric (l, l) matrix of MI (bits) or NMI between genes of a population of shape (n, l).

    NMI is MI(X, Y) / H(X, Y), and 0 where H(X, Y) = 0; a constant gene has no similarity to any. `offsets` (l + 1,)
    are the genes' first rows in ``work.bits``. Mutates `work` and `similarities`.
    """
    n, n_genes = genotypes.shape
    words = (n + _WORD_BITS - 1) // _WORD_BITS
    bits, columns, joint, entropies, table = work.bits, work.columns, work.joint, work.entropies, work.x_log_x
    _fill_bits(genotypes, offsets, bits, columns)
    log_n = table[n] / n
    for g in range(n_genes):
        total = 0.0
        for a in range(offsets[g], offsets[g + 1]):
            count = 0
            for w in range(words):
                count += _bit_count(bits[a, w])
            total += table[count]
        entropies[g] = log_n - total / n
    for g in range(n_genes):
        similarities[g, g] = 0.0
        for h in range(g):
            if entropies[g] <= 1e-12 or entropies[h] <= 1e-12:
                similarities[g, h] = 0.0
                similarities[h, g] = 0.0
                continue
            width = offsets[h + 1] - offsets[h]
            cells = (offsets[g + 1] - offsets[g]) * width
            total = 0.0
            if cells <= _BITSET_CELLS:
                for a in range(offsets[g], offsets[g + 1]):
                    for b in range(offsets[h], offsets[h + 1]):
                        count = 0
                        for w in range(words):
                            count += _bit_count(bits[a, w] & bits[b, w])
                        total += table[count]
            else:
                for c in range(cells):
                    joint[c] = 0
                for s in range(n):
                    joint[np.int64(columns[g, s]) * width + np.int64(columns[h, s])] += 1
                for c in range(cells):
                    total += table[joint[c]]
            both = log_n - total / n
            value = max(entropies[g] + entropies[h] - both, 0.0)
            if measure == NMI:
                value = value / both if both > 0.0 else 0.0
            similarities[g, h] = value
            similarities[h, g] = value


@kernel
def _nearest(
    similarities: NDArray[np.float64], sizes: NDArray[np.int64], n_clusters: int, cluster: int, previous: int
) -> int:
    """Return the most similar cluster; ties go to `previous` (so that a chain ends), then to the smaller one."""
    best = previous if previous >= 0 else (1 if cluster == 0 else 0)
    for other in range(n_clusters):
        if other in (cluster, best):
            continue
        gain = similarities[cluster, other] - similarities[cluster, best]
        if gain > 0.0 or (gain == 0.0 and best != previous and sizes[other] < sizes[best]):
            best = other
    return best


@kernel
def upgma(
    similarities: NDArray[np.float64],
    generator: np.random.Generator,
    cluster_node: NDArray[np.int64],
    sizes: NDArray[np.int64],
    chain: NDArray[np.int64],
    children: NDArray[np.int64],
    merge_similarity: NDArray[np.float64],
) -> None:
    """Merge l genes into one tree by average linkage, with reciprocal nearest neighbours.

    Node ids: 0..l-1 genes, l + t the t-th merge. Fills `children` (l-1, 2) and `merge_similarity` (l-1,);
    mutates the (l, l) `similarities` and the work arrays `cluster_node`, `sizes` (l,) and `chain` (l + 1,).
    """
    n = similarities.shape[0]
    for g in range(n):
        cluster_node[g] = g
        sizes[g] = 1
    n_clusters = n
    length = 0
    for merge in range(n - 1):
        if length == 0:
            chain[0] = random_below(generator, n_clusters)
            length = 1
        while True:
            last = chain[length - 1]
            previous = chain[length - 2] if length > 1 else -1
            following = _nearest(similarities, sizes, n_clusters, last, previous)
            if following == previous or length > n_clusters:
                break
            chain[length] = following
            length += 1
        a, b = min(last, following), max(last, following)
        length -= 2
        if length < 0:
            length = 0
        children[merge, 0], children[merge, 1] = cluster_node[a], cluster_node[b]
        merge_similarity[merge] = similarities[a, b]
        weight_a = sizes[a] / (sizes[a] + sizes[b])
        weight_b = sizes[b] / (sizes[a] + sizes[b])
        for other in range(n_clusters):
            if other != a and other != b:
                value = weight_a * similarities[a, other] + weight_b * similarities[b, other]
                similarities[a, other] = value
                similarities[other, a] = value
        cluster_node[a] = n + merge
        sizes[a] += sizes[b]
        n_clusters -= 1
        if b != n_clusters:
            cluster_node[b] = cluster_node[n_clusters]
            sizes[b] = sizes[n_clusters]
            for other in range(n_clusters):
                similarities[b, other] = similarities[n_clusters, other]
                similarities[other, b] = similarities[n_clusters, other]
            similarities[b, b] = 0.0
            for c in range(length):
                if chain[c] == n_clusters:
                    chain[c] = b
        for c in range(length):
            # a numerically tied chain may still hold a merged cluster: start it afresh
            if chain[c] == a or chain[c] >= n_clusters:
                length = 0
                break


@kernel
def tree_slices(
    children: NDArray[np.int64],
    node_size: NDArray[np.int64],
    starts: NDArray[np.int64],
    leaves: NDArray[np.int64],
) -> None:
    """Lay the genes out so that every node of the tree is one slice of `leaves` (l,).

    Fills `node_size` and `starts`, both (2l - 1,), by node id; the slice of a node is
    ``leaves[starts[node] : starts[node] + node_size[node]]``.
    """
    n = leaves.shape[0]
    for node in range(n):
        node_size[node] = 1
    for merge in range(n - 1):
        node_size[n + merge] = node_size[children[merge, 0]] + node_size[children[merge, 1]]
    starts[2 * n - 2] = 0
    for merge in range(n - 2, -1, -1):
        left, right = children[merge, 0], children[merge, 1]
        starts[left] = starts[n + merge]
        starts[right] = starts[n + merge] + node_size[left]
    for node in range(n):
        leaves[starts[node]] = node
