"""Compiled linkage learning: similarities of genes in a population, and the tree of merges.

Of many genes only the most similar ones of each are kept, and average linkage goes over these pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import bit_count, random_below, shuffle

# measures of similarity
MI, NMI, CORRECTED = 0, 1, 2

_WORD_BITS = 64
_TWO_LN_2 = 2.0 * np.log(2.0)
# pairs are visited in squares, so that both halves of the symmetric matrix are written while in the cache
_SQUARE = 32


class PairCountWork(NamedTuple):
    """Work space for a population of n genotypes of l genes; all arrays but `x_log_x` are mutated."""

    x_log_x: NDArray[np.float64]  # (n + 1,) in bits
    bits: NDArray[np.uint64]  # (alleles of all genes, words of n bits)
    columns: NDArray[np.uint16]  # (l, n) alleles, gene by gene
    counts: NDArray[np.int64]  # (alleles of all genes,)
    joint: NDArray[np.int64]  # (cells of the largest joint table,)
    entropies: NDArray[np.float64]  # (l,)
    supports: NDArray[np.int64]  # (l,) number of alleles that occur
    stop: NDArray[np.uint8]  # (1,) set from outside to interrupt; the matrix is then unfinished


@kernel
def fill_bits(
    genotypes: NDArray[np.int16],
    offsets: NDArray[np.int64],
    bits: NDArray[np.uint64],
    columns: NDArray[np.uint16],
) -> None:
    """Fill allele bit sets, ``bits[offsets[g] + allele]``, and gene-major alleles `columns` (l, n)."""
    n, n_genes = genotypes.shape
    bits[:] = np.uint64(0)
    # the rows of one word lie side by side, so they stay in the cache
    for w in range(bits.shape[1]):
        first, last = w * _WORD_BITS, min((w + 1) * _WORD_BITS, n)
        for g in range(n_genes):
            bit = np.uint64(1)
            for s in range(first, last):
                allele = np.int64(genotypes[s, g])
                bits[offsets[g] + allele, w] |= bit
                columns[g, s] = allele
                bit <<= np.uint64(1)


@kernel
def count_alleles(n: int, offsets: NDArray[np.int64], work: PairCountWork) -> None:
    """Fill counts, supports and entropies from the bit sets."""
    log_n = work.x_log_x[n] / n
    for g in range(work.entropies.shape[0]):
        total = 0.0
        support = 0
        for a in range(offsets[g], offsets[g + 1]):
            count = 0
            for w in range(work.bits.shape[1]):
                count += bit_count(work.bits[a, w])
            work.counts[a] = count
            support += count > 0
            total += work.x_log_x[count]
        work.supports[g] = support
        work.entropies[g] = log_n - total / n


@kernel
def _joint_of_two_alleles(
    first: NDArray[np.uint64],
    other: NDArray[np.uint64],
    n_first: int,
    n_other: int,
    n: int,
    table: NDArray[np.float64],
) -> float:
    """Return the sum of x log x over a 2 x 2 table, from the bit sets and counts of both genes' first alleles."""
    both = 0
    for w in range(first.shape[0]):
        both += bit_count(first[w] & other[w])
    total = table[both] + table[n_first - both]
    return total + table[n_other - both] + table[n - n_first - n_other + both]


@kernel
def _joint_by_bits(
    bits: NDArray[np.uint64], first: int, last: int, other: int, width: int, table: NDArray[np.float64]
) -> float:
    """Return the sum of x log x over a joint table, from the bit sets of all alleles of both genes."""
    total = 0.0
    for a in range(first, last):
        for b in range(other, other + width):
            count = 0
            for w in range(bits.shape[1]):
                count += bit_count(bits[a, w] & bits[b, w])
            total += table[count]
    return total


@kernel
def _joint_by_histogram(
    column: NDArray[np.uint16],
    other: NDArray[np.uint16],
    height: int,
    width: int,
    joint: NDArray[np.int64],
    table: NDArray[np.float64],
) -> float:
    """Return the sum of x log x over a joint table, counted solution by solution."""
    cells = height * width
    for c in range(cells):
        joint[c] = 0
    for s in range(column.shape[0]):
        joint[np.int64(column[s]) * width + np.int64(other[s])] += 1
    total = 0.0
    for c in range(cells):
        total += table[joint[c]]
    return total


@kernel
def pair_similarity(offsets: NDArray[np.int64], measure: int, work: PairCountWork, g: int, h: int) -> float:
    """Return the similarity of two genes of positive entropy, from the counts in `work`; see `fill_similarities`."""
    bits, counts, table, n = work.bits, work.counts, work.x_log_x, work.columns.shape[1]
    first, height = offsets[g], offsets[g + 1] - offsets[g]
    other, width = offsets[h], offsets[h + 1] - offsets[h]
    if height == 2 and width == 2:
        total = _joint_of_two_alleles(bits[first], bits[other], counts[first], counts[other], n, table)
    elif height * width <= 64:
        # up to this number of joint cells, counting by bit sets beats a histogram
        total = _joint_by_bits(bits, first, first + height, other, width, table)
    else:
        total = _joint_by_histogram(work.columns[g], work.columns[h], height, width, work.joint, table)
    both = table[n] / n - total / n
    value = max(work.entropies[g] + work.entropies[h] - both, 0.0)
    if measure == CORRECTED:
        bias = (work.supports[g] - 1) * (work.supports[h] - 1) / (n * _TWO_LN_2)
        value = max(value - bias, 0.0)
    if measure != MI:
        value = value / both if both > 0.0 else 0.0
    return value


@kernel
def fill_similarities(
    genotypes: NDArray[np.int16],
    offsets: NDArray[np.int64],
    measure: int,
    work: PairCountWork,
    similarities: NDArray[np.float64],
) -> None:
    """Fill the symmetric (l, l) matrix of similarities between genes of a population of shape (n, l).

    MI is in bits. NMI is MI(X, Y) / H(X, Y), and 0 where H(X, Y) = 0. CORRECTED is the NMI after the MI's expectation
    under independence is subtracted from the MI: (s - 1)(t - 1) / (2 n ln 2) for genes with s and t alleles in the
    population; a negative difference becomes 0. A constant gene has similarity 0 to all genes. `offsets` (l + 1,) are
    the genes' first rows in ``work.bits``. Mutates `work` and `similarities`.
    """
    n_genes = genotypes.shape[1]
    entropies = work.entropies
    fill_bits(genotypes, offsets, work.bits, work.columns)
    count_alleles(genotypes.shape[0], offsets, work)
    for top in range(0, n_genes, _SQUARE):
        if work.stop[0] != 0:
            return
        for left in range(0, top + 1, _SQUARE):
            for g in range(top, min(top + _SQUARE, n_genes)):
                if left == top:
                    similarities[g, g] = 0.0
                for h in range(left, min(left + _SQUARE, g)):
                    value = 0.0
                    if entropies[g] > 1e-12 and entropies[h] > 1e-12:
                        value = pair_similarity(offsets, measure, work, g, h)
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
def _follow_chain(
    similarities: NDArray[np.float64],
    sizes: NDArray[np.int64],
    n_clusters: int,
    chain: NDArray[np.int64],
    length: int,
) -> tuple[int, int]:
    """Extend a chain of nearest neighbours up to two clusters that are each other's nearest.

    Returns the chain's new length and the nearest cluster of its last one. Mutates `chain`.
    """
    while True:
        last = chain[length - 1]
        previous = chain[length - 2] if length > 1 else -1
        nearest = _nearest(similarities, sizes, n_clusters, last, previous)
        # rounding can make a chain run in a circle, which the second condition ends
        if nearest == previous or length > n_clusters:
            return length, nearest
        chain[length] = nearest
        length += 1


@kernel
def _merge(
    similarities: NDArray[np.float64],
    sizes: NDArray[np.int64],
    cluster_node: NDArray[np.int64],
    n_clusters: int,
    a: int,
    b: int,
    node: int,
) -> None:
    """Give cluster `a` the members of `b` and the id `node`; the last cluster then moves to the index `b` > `a`."""
    weight_a = sizes[a] / (sizes[a] + sizes[b])
    weight_b = sizes[b] / (sizes[a] + sizes[b])
    for other in range(n_clusters):
        if other != a and other != b:
            value = weight_a * similarities[a, other] + weight_b * similarities[b, other]
            similarities[a, other] = value
            similarities[other, a] = value
    cluster_node[a] = node
    sizes[a] += sizes[b]
    end = n_clusters - 1
    if b != end:
        cluster_node[b] = cluster_node[end]
        sizes[b] = sizes[end]
        for other in range(end):
            similarities[b, other] = similarities[end, other]
            similarities[other, b] = similarities[end, other]
        similarities[b, b] = 0.0


@kernel
def _chain_after_merge(chain: NDArray[np.int64], length: int, a: int, b: int, n_clusters: int) -> int:
    """Renumber the cluster that moved to index `b`; returns the length, 0 if the chain holds a merged cluster."""
    for c in range(length):
        if b != n_clusters and chain[c] == n_clusters:
            chain[c] = b
    for c in range(length):
        # a chain that ran in a circle may still hold a merged cluster
        if chain[c] == a or chain[c] >= n_clusters:
            return 0
    return length


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
        length, nearest = _follow_chain(similarities, sizes, n_clusters, chain, length)
        last = chain[length - 1]
        a, b = min(last, nearest), max(last, nearest)
        children[merge, 0], children[merge, 1] = cluster_node[a], cluster_node[b]
        merge_similarity[merge] = similarities[a, b]
        _merge(similarities, sizes, cluster_node, n_clusters, a, b, n + merge)
        n_clusters -= 1
        length = _chain_after_merge(chain, max(length - 2, 0), a, b, n_clusters)


@kernel
def tree_slices(
    children: NDArray[np.int64],
    node_size: NDArray[np.int64],
    starts: NDArray[np.int64],
    leaves: NDArray[np.int64],
) -> None:
    """Order the genes so that every node of a tree, or of several trees, is one slice of `leaves` (l,).

    Fills `node_size` and `starts`, both (l + m,) for the m merges of `children` (m, 2), by node id; the slice of a node
    is ``leaves[starts[node] : starts[node] + node_size[node]]``.
    """
    n = leaves.shape[0]
    n_merges = children.shape[0]
    for node in range(n):
        node_size[node] = 1
        starts[node] = -1
    for merge in range(n_merges):
        node_size[n + merge] = node_size[children[merge, 0]] + node_size[children[merge, 1]]
        starts[n + merge] = -1
    end = 0
    for node in range(n + n_merges - 1, -1, -1):
        # the root of a tree
        if starts[node] < 0:
            starts[node] = end
            end += node_size[node]
        if node >= n:
            left, right = children[node - n, 0], children[node - n, 1]
            starts[left] = starts[node]
            starts[right] = starts[node] + node_size[left]
    for node in range(n):
        leaves[starts[node]] = node


class Neighbours(NamedTuple):
    """At most k most similar genes of every gene, unordered."""

    genes: NDArray[np.int32]  # (l, k)
    similarities: NDArray[np.float64]  # (l, k)
    counts: NDArray[np.int64]  # (l,)


class SparseGraph(NamedTuple):
    """Clusters as nodes of a graph: edge m is the two half-edges 2m and 2m + 1, each in the list of one end."""

    target: NDArray[np.int32]  # (2e,) the other end
    total: NDArray[np.float64]  # (e,) sum of similarities over the pairs of members
    following: NDArray[np.int32]  # (2e,) next half-edge of the list, -1 at its end
    preceding: NDArray[np.int32]  # (2e,)
    first: NDArray[np.int32]  # (l,) a cluster's first half-edge, -1 if it has none
    degree: NDArray[np.int64]  # (l,)
    half_to: NDArray[np.int32]  # (l,) work space: a half-edge to each neighbour, else -1
    node: NDArray[np.int64]  # (l,) a cluster's node in the tree
    weight: NDArray[np.float64]  # (l,) its number of members
    chain: NDArray[np.int64]  # (l + 1,) work space
    order: NDArray[np.int64]  # (l,) where chains begin


@kernel
def _offer(neighbours: Neighbours, gene: int, other: int, similarity: float) -> None:
    """Add a neighbour, in a full list instead of the weakest one, which stands first there, if that is weaker."""
    genes, values = neighbours.genes[gene], neighbours.similarities[gene]
    k = genes.shape[0]
    count = neighbours.counts[gene]
    if count == k:
        if similarity <= values[0]:
            return
        position = 0
    else:
        position = count
        neighbours.counts[gene] = count + 1
    genes[position], values[position] = other, similarity
    if neighbours.counts[gene] == k:
        weakest = 0
        for i in range(1, k):
            if values[i] < values[weakest]:
                weakest = i
        genes[0], genes[weakest] = genes[weakest], genes[0]
        values[0], values[weakest] = values[weakest], values[0]


@kernel
def _weakest(neighbours: Neighbours, gene: int) -> float:
    """Return the similarity that a gene's next neighbour must exceed."""
    full = neighbours.counts[gene] == neighbours.genes.shape[1]
    return neighbours.similarities[gene, 0] if full else 0.0


@kernel
def nearest_neighbours(
    genotypes: NDArray[np.int16],
    offsets: NDArray[np.int64],
    measure: int,
    work: PairCountWork,
    neighbours: Neighbours,
) -> None:
    """Fill `neighbours` with the genes of highest positive similarity; arguments as of `fill_similarities`."""
    n_genes = genotypes.shape[1]
    fill_bits(genotypes, offsets, work.bits, work.columns)
    count_alleles(genotypes.shape[0], offsets, work)
    for gene in range(n_genes):
        if gene % 64 == 0 and work.stop[0] != 0:
            return
        if work.entropies[gene] <= 1e-12:
            continue
        for other in range(gene):
            if work.entropies[other] > 1e-12:
                # information is at most the smaller entropy, and the joint entropy at least the larger one
                bound = min(work.entropies[gene], work.entropies[other])
                if measure != MI:
                    bound /= max(work.entropies[gene], work.entropies[other])
                if bound < min(_weakest(neighbours, gene), _weakest(neighbours, other)):
                    continue
                similarity = pair_similarity(offsets, measure, work, gene, other)
                if similarity > 0.0:
                    _offer(neighbours, gene, other, similarity)
                    _offer(neighbours, other, gene, similarity)


@kernel
def link_neighbours(pairs: NDArray[np.int32], totals: NDArray[np.float64], graph: SparseGraph) -> None:
    """Fill the lists of a graph with the distinct edges `pairs` (e, 2) and their sums of similarities (e,)."""
    for edge in range(pairs.shape[0]):
        graph.total[edge] = totals[edge]
        for side in range(2):
            _insert(graph, 2 * edge + side, np.int64(pairs[edge, side]), np.int64(pairs[edge, 1 - side]))


@kernel
def _insert(graph: SparseGraph, half: int, cluster: int, other: int) -> None:
    """Put a half-edge at the front of a cluster's list."""
    graph.target[half] = other
    head = np.int64(graph.first[cluster])
    graph.following[half] = head
    graph.preceding[half] = -1
    if head >= 0:
        graph.preceding[head] = half
    graph.first[cluster] = half
    graph.degree[cluster] += 1


@kernel
def _remove(graph: SparseGraph, half: int, cluster: int) -> None:
    """Take a half-edge out of a cluster's list."""
    before, after = np.int64(graph.preceding[half]), np.int64(graph.following[half])
    if before >= 0:
        graph.following[before] = after
    else:
        graph.first[cluster] = after
    if after >= 0:
        graph.preceding[after] = before
    graph.degree[cluster] -= 1


@kernel
def _average(graph: SparseGraph, half: int, cluster: int) -> float:
    return graph.total[half >> 1] / (graph.weight[cluster] * graph.weight[graph.target[half]])


@kernel
def _nearest_linked(graph: SparseGraph, cluster: int, previous: int) -> int:
    """Return the half-edge to the most similar cluster, -1 if none; ties go to `previous`, then to smaller clusters."""
    best = -1
    highest = -1.0
    half = np.int64(graph.first[cluster])
    while half >= 0:
        other = np.int64(graph.target[half])
        average = _average(graph, half, cluster)
        if average > highest:
            best, highest = half, average
        elif average == highest:
            rival = np.int64(graph.target[best])
            if other == previous or (rival != previous and graph.weight[other] < graph.weight[rival]):
                best = half
        half = np.int64(graph.following[half])
    return best


@kernel
def _absorb(graph: SparseGraph, survivor: int, gone: int) -> None:
    """Move the edges of cluster `gone` to `survivor`, adding up the similarities to common neighbours."""
    half = np.int64(graph.first[survivor])
    while half >= 0:
        graph.half_to[graph.target[half]] = half
        half = np.int64(graph.following[half])
    half = np.int64(graph.first[gone])
    while half >= 0:
        after = np.int64(graph.following[half])
        other = np.int64(graph.target[half])
        if other == survivor:
            _remove(graph, half ^ 1, survivor)
        else:
            same = np.int64(graph.half_to[other])
            if same >= 0:
                graph.total[same >> 1] += graph.total[half >> 1]
                _remove(graph, half ^ 1, other)
            else:
                _insert(graph, half, survivor, other)
                graph.target[half ^ 1] = survivor
        half = after
    graph.first[gone] = -1
    graph.degree[gone] = 0
    half = np.int64(graph.first[survivor])
    while half >= 0:
        graph.half_to[graph.target[half]] = -1
        half = np.int64(graph.following[half])
    graph.half_to[gone] = -1
    graph.weight[survivor] += graph.weight[gone]


@kernel
def sparse_average_linkage(
    graph: SparseGraph,
    generator: np.random.Generator,
    stop: NDArray[np.uint8],
    children: NDArray[np.int64],
    merge_similarity: NDArray[np.float64],
) -> int:
    """Merge l clusters by average linkage until no two have an edge; returns the number of merges.

    A pair of genes without an edge counts as similarity 0. Node ids: 0..l-1 clusters as given, l + t the t-th merge.
    Fills that many rows of `children` (l - 1, 2) and of `merge_similarity` (l - 1,); mutates `graph`.
    """
    n = graph.node.shape[0]
    for cluster in range(n):
        graph.node[cluster] = cluster
        graph.order[cluster] = cluster
    shuffle(generator, graph.order)
    merges = 0
    length = 0
    begun = 0
    while True:
        if length == 0:
            # absorbed and isolated clusters have no edges left
            while begun < n and graph.first[graph.order[begun]] < 0:
                begun += 1
            if begun == n or stop[0] != 0:
                return merges
            graph.chain[0] = graph.order[begun]
            length = 1
        last = graph.chain[length - 1]
        previous = graph.chain[length - 2] if length > 1 else -1
        half = _nearest_linked(graph, last, previous)
        following = np.int64(graph.target[half])
        if following != previous and length < n:
            graph.chain[length] = following
            length += 1
            continue
        # after n steps without a reciprocal pair, rounding makes the chain run in a circle, which ends here
        merge_similarity[merges] = _average(graph, half, last)
        children[merges, 0], children[merges, 1] = graph.node[last], graph.node[following]
        survivor, gone = last, following
        if graph.degree[survivor] < graph.degree[gone]:
            survivor, gone = gone, survivor
        _absorb(graph, survivor, gone)
        graph.node[survivor] = n + merges
        merges += 1
        length = length - 2 if following == previous else 0
