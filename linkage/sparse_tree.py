"""Average linkage over many genes, in memory proportional to their number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.kernels.sparse import (
    Neighbours,
    SparseGraph,
    link_neighbours,
    nearest_neighbours,
    sparse_average_linkage,
)
from gomea_bn.linkage.kernels.tree import CountWork, tree_slices


def count_work(
    genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], stop: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], CountWork]:
    """Return the first row of each gene in the bit sets, shape (l + 1,), and work space for counting its alleles."""
    n, n_genes = genotypes.shape
    offsets = np.concatenate(([0], np.cumsum(alphabet))).astype(np.int64)
    largest = int(alphabet.max())
    x = np.arange(n + 1, dtype=np.float64)
    work = CountWork(
        x_log_x=x * np.log2(np.maximum(x, 1.0)),
        bits=np.zeros((int(offsets[-1]), (n + 63) // 64), np.uint64),
        columns=np.zeros((n_genes, n), np.uint16),
        counts=np.zeros(int(offsets[-1]), np.int64),
        joint=np.zeros(largest * largest, np.int64),
        entropies=np.zeros(n_genes),
        supports=np.zeros(n_genes, np.int64),
        stop=stop,
    )
    return offsets, work


class SparseTrees(NamedTuple):
    """Trees over l genes with m merges in total; node ids are 0..l-1 for genes and l + t for the t-th merge.

    Node k is ``members[starts[k] : starts[k] + sizes[k]]``.
    """

    members: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    children: NDArray[np.int64]  # (m, 2)
    strength: NDArray[np.float64]  # (m,) similarity of the merged nodes


def patterns(genotypes: NDArray[np.int16]) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return the columns that differ in more than names of alleles, (n, l'), and the column of each gene, (l,)."""
    n, n_genes = genotypes.shape
    genes = np.arange(n_genes)
    names = np.full((n_genes, int(genotypes.max(initial=0)) + 1), -1, np.int16)
    n_named = np.zeros(n_genes, np.int16)
    renamed = np.empty((n_genes, n), np.int16)
    for row in range(n):
        alleles = genotypes[row]
        unseen = names[genes, alleles] < 0
        names[genes[unseen], alleles[unseen]] = n_named[unseen]
        n_named[unseen] += 1
        renamed[:, row] = names[genes, alleles]
    rows = np.ascontiguousarray(renamed).view(np.dtype((np.void, 2 * n)))[:, 0]
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return np.ascontiguousarray(renamed[first].T), inverse.astype(np.int64)


def sparse_trees(
    genotypes: NDArray[np.int16],
    measure: int,
    n_neighbours: int,
    generator: np.random.Generator,
    stop: NDArray[np.uint8],
) -> SparseTrees:
    """Return the trees that average linkage builds from every gene's `n_neighbours` most similar others.

    Genes are in random order, so that equal similarities favour none of them. Equal genes count once as neighbours, and
    merge first, into balanced trees. The similarity of another pair counts if one gene is among the other's neighbours,
    else it is 0. Merging ends where no positive similarity remains. With all other genes as neighbours this is UPGMA
    without its merges of similarity 0. Setting `stop` ends learning early; the trees are then incomplete.
    """
    n_genes = genotypes.shape[1]
    columns, which = patterns(genotypes)
    inner, roots = _merge_equal(which, columns.shape[1])
    sizes = np.bincount(which, minlength=len(roots)).astype(np.float64)
    graph = _graph(columns, sizes, measure, n_neighbours, stop)
    outer, strength = np.zeros((len(roots), 2), np.int64), np.zeros(len(roots))
    n_merges = sparse_average_linkage(graph, generator, stop, outer, strength)
    outer, strength = outer[:n_merges], strength[:n_merges]
    node = np.concatenate([roots, n_genes + len(inner) + np.arange(n_merges)])
    children = np.concatenate([inner, node[outer]])
    n_nodes = n_genes + len(children)
    node_sizes, starts = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    members = np.zeros(n_genes, np.int64)
    tree_slices(children, node_sizes, starts, members)
    return SparseTrees(
        members=members,
        starts=starts,
        sizes=node_sizes,
        children=children,
        strength=np.concatenate([np.ones(len(inner)), strength]),
    )


def _merge_equal(which: NDArray[np.int64], n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the merges of equal genes, shape (m, 2), and the node that holds each group, shape (n_groups,)."""
    n_genes = len(which)
    members = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=n_groups))
    merges: list[list[int]] = []
    roots = np.empty(n_groups, np.int64)
    for group, nodes in enumerate(np.split(members, ends[:-1])):
        level = nodes.tolist()
        while len(level) > 1:
            paired = []
            for k in range(0, len(level) - 1, 2):
                merges.append(level[k : k + 2])
                paired.append(n_genes + len(merges) - 1)
            level = paired + level[2 * len(paired) :]
        roots[group] = level[0]
    return np.array(merges, np.int64).reshape(-1, 2), roots


def _graph(
    columns: NDArray[np.int16],
    sizes: NDArray[np.float64],
    measure: int,
    n_neighbours: int,
    stop: NDArray[np.uint8],
) -> SparseGraph:
    """Return the graph of the most similar columns; `sizes` are the numbers of equal genes per column."""
    n = columns.shape[1]
    k = max(min(n_neighbours, n - 1), 1)
    neighbours = Neighbours(
        genes=np.zeros((n, k), np.int32), similarities=np.zeros((n, k)), counts=np.zeros(n, np.int64)
    )
    offsets, work = count_work(columns, columns.max(axis=0).astype(np.int64) + 1, stop)
    nearest_neighbours(columns, offsets, measure, work, neighbours)
    used = np.arange(k) < neighbours.counts[:, None]
    first, other = np.repeat(np.arange(n), neighbours.counts), neighbours.genes[used].astype(np.int64)
    keys, chosen = np.unique(np.minimum(first, other) * n + np.maximum(first, other), return_index=True)
    pairs = np.column_stack([keys // n, keys % n])
    totals = neighbours.similarities[used][chosen] * sizes[pairs[:, 0]] * sizes[pairs[:, 1]]
    return sparse_graph(pairs, totals, sizes)


def sparse_graph(
    pairs: NDArray[np.int64], totals: NDArray[np.float64], sizes: NDArray[np.float64]
) -> SparseGraph:
    """Return the graph of l clusters of `sizes`, given edges (e, 2) with their similarities summed over members."""
    n, n_edges = len(sizes), len(pairs)
    graph = SparseGraph(
        target=np.zeros(2 * n_edges, np.int32),
        total=np.zeros(n_edges),
        following=np.zeros(2 * n_edges, np.int32),
        preceding=np.zeros(2 * n_edges, np.int32),
        first=np.full(n, -1, np.int32),
        degree=np.zeros(n, np.int64),
        half_to=np.full(n, -1, np.int32),
        node=np.zeros(n, np.int64),
        weight=sizes.copy(),
        chain=np.zeros(n + 1, np.int64),
        order=np.zeros(n, np.int64),
    )
    link_neighbours(pairs.astype(np.int32), totals, graph)
    return graph
