"""Compiled linkage learning for many genes: each gene's most similar genes, and average linkage over these pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.kernels.tree import MI, CountWork, count_alleles, fill_bits, pair_similarity
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import shuffle

_STOP_EVERY = 64


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
    work: CountWork,
    neighbours: Neighbours,
) -> None:
    """Fill `neighbours` with the genes of highest positive similarity; arguments as of `fill_similarities`."""
    n_genes = genotypes.shape[1]
    fill_bits(genotypes, offsets, work.bits, work.columns)
    count_alleles(genotypes.shape[0], offsets, work)
    for gene in range(n_genes):
        if gene % _STOP_EVERY == 0 and work.stop[0] != 0:
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
def _nearest(graph: SparseGraph, cluster: int, previous: int) -> int:
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
        half = _nearest(graph, last, previous)
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
