"""Linkage models: families of subsets of genes that are exchanged together.

The linkage tree, by average linkage of mutual information, is that of Thierens, "The linkage tree genetic algorithm",
PPSN 2010.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, check_choice, check_flag, check_integer, is_integer
from gomea_bn.linkage.kernels import (
    CORRECTED,
    MI,
    NMI,
    Neighbours,
    PairCountWork,
    SparseGraph,
    fill_similarities,
    link_neighbours,
    nearest_neighbours,
    sparse_average_linkage,
    tree_slices,
    upgma,
)

_MEASURES = {"corrected": CORRECTED, "mi": MI, "nmi": NMI}


class Linkage(NamedTuple):
    """A family of subsets: subset k is ``members[starts[k] : starts[k] + sizes[k]]``; all int64."""

    members: NDArray[np.int64]
    starts: NDArray[np.int64]  # (n_subsets,)
    sizes: NDArray[np.int64]  # (n_subsets,)

    def lists(self) -> list[list[int]]:
        """Return the subsets as lists of gene indices."""
        slices = zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        return [self.members[start : start + size].tolist() for start, size in slices]

    def subsets(self) -> list[frozenset[int]]:
        """Return the subsets as sets of gene indices."""
        return list(map(frozenset, self.lists()))

    def within(self, kept: NDArray[np.bool_]) -> Linkage:
        """Return the different parts of the subsets inside the genes that are `kept`, (n_genes,)."""
        parts = [[gene for gene in subset if kept[gene]] for subset in self.lists()]
        # a dict keeps the order of the subsets
        return from_subsets({frozenset(part): part for part in parts if part}.values())


class LinkageModel(Protocol):
    """An object that learns the subsets of genes; a user's own class needs no base.

    It may also have ``for_run(stop)``, which returns the model that one run uses; the run sets `stop`, uint8 (1,), to
    end learning early.
    """

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the subsets for a population of shape (n, n_variables) with the given cardinalities.

        A list of lists of genes will do.
        """


def from_subsets(subsets: Iterable[Iterable[int]]) -> Linkage:
    """Return the family of the given subsets."""
    listed = [list(subset) for subset in subsets]
    sizes = np.array([len(subset) for subset in listed], np.int64)
    members = np.array([gene for subset in listed for gene in subset], np.int64)
    return Linkage(members, np.cumsum(sizes) - sizes, sizes)


def single_genes(n_genes: int) -> Linkage:
    """Return the family with one subset per gene."""
    genes = np.arange(n_genes, dtype=np.int64)
    return Linkage(genes, genes, np.ones(n_genes, np.int64))


def checked_subsets(model: str, subsets: Iterable[Iterable[int]]) -> list[list[int]]:
    """Return subsets as lists; raises `GomeaBnError` if there is none, or one is empty or has duplicates."""
    try:
        given = [list(subset) for subset in subsets]
    except TypeError:
        given = None
    if given is None or not all(is_integer(member) for subset in given for member in subset):
        raise GomeaBnError(
            f"{model}: subsets must be lists of integers, such as [[0, 1], [2]], got {subsets!r:.80}."
        )
    listed = [[int(member) for member in subset] for subset in given]
    if not listed:
        raise GomeaBnError(f"{model}: subsets must hold at least one subset, got none.")
    for subset in listed:
        if not subset or len(set(subset)) != len(subset):
            raise GomeaBnError(f"{model}: subsets must be non-empty and without duplicates, got {subset}.")
    return listed


def check_members(model: str, nouns: str, subsets: Iterable[Iterable[int]], n: int) -> None:
    """Raise `GomeaBnError` if a subset has a member outside 0 to n - 1; `nouns` is what members are called."""
    for subset in subsets:
        if not all(0 <= member < n for member in subset):
            raise GomeaBnError(f"{model}: {nouns} are 0 to {n - 1}, got the subset {list(subset)}.")


def learned_linkage(model: object, nouns: str, learned: Any, n: int) -> Linkage:
    """Return what ``learn`` of a linkage model has returned, a `Linkage` or a list of subsets, over `n` genes.

    Raises `GomeaBnError` for anything else, and for genes outside 0 to n - 1, which kernels would read beyond arrays;
    `nouns` is what genes are called.
    """
    name = f"{type(model).__name__}.learn"
    if not isinstance(learned, Linkage):
        return learned_linkage(model, nouns, from_subsets(checked_subsets(name, learned)), n)
    members, starts, sizes = (np.ascontiguousarray(part, np.int64) for part in learned)
    if len(starts) and (min(starts.min(), sizes.min()) < 0 or (starts + sizes).max() > len(members)):
        raise GomeaBnError(
            f"{name}: starts and sizes of the Linkage reach beyond its {len(members)} members."
        )
    if len(members) and (members.min() < 0 or members.max() >= n):
        check_members(name, nouns, learned.lists(), n)
    return Linkage(members, starts, sizes)


@dataclass
class Univariate(LinkageModel):
    """One subset per gene.

    Examples
    --------
    >>> Univariate().learn(np.zeros((1, 3), np.int16), np.full(3, 2), np.random.default_rng(0)).lists()
    [[0], [1], [2]]
    """

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return one subset per gene."""
        return single_genes(len(alphabet))


@dataclass
class Full(LinkageModel):
    """One subset of all genes.

    Notes
    -----
    A solution takes all genes of a donor or none. Discrete mixing with this model therefore only replaces a solution
    by a better one: it selects and makes no new solution (local search still does). It is the family against which
    others are measured. `RVGOMEA` draws all variables together.

    Examples
    --------
    >>> Full().learn(np.zeros((1, 3), np.int16), np.full(3, 2), np.random.default_rng(0)).lists()
    [[0, 1, 2]]
    """

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the one subset."""
        return from_subsets([range(len(alphabet))])


@dataclass
class Custom(LinkageModel):
    """A fixed family of subsets.

    Parameters
    ----------
    subsets : iterable of iterables of int
        Gene indices. Every subset has at least one gene and no duplicates.

    Raises
    ------
    GomeaBnError
        If there is no subset, or one is empty or has duplicates.

    Examples
    --------
    >>> Custom([[0, 1], [2]]).learn(np.zeros((1, 3), np.int16), np.full(3, 2), np.random.default_rng(0)).lists()
    [[0, 1], [2]]
    """

    subsets: Iterable[Iterable[int]]

    def __post_init__(self) -> None:
        self.subsets = checked_subsets("Custom", self.subsets)

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the fixed subsets; raises `GomeaBnError` if a subset has a gene that does not exist."""
        check_members("Custom", "genes", self.subsets, len(alphabet))
        return from_subsets(self.subsets)


@dataclass
class LinkageTree(LinkageModel):
    """The linkage tree, relearned from every population by average linkage (UPGMA).

    Parameters
    ----------
    measure : {"nmi", "mi", "corrected"}
        Similarity of two genes: mutual information in bits ("mi"), mutual information divided by joint entropy
        ("nmi"), or the same after the bias of the mutual information is subtracted ("corrected").
    filtered : bool
        Drop both children of a merge whose NMI is 1, as they carry the same information as their parent.
        Only "nmi" filters: under the other measures no value marks identical genes.
    max_set_size : int, optional
        Subsets of more genes are left out; the tree itself does not change.
    max_matrix_genes : int
        Largest number of varying genes for which all similarities are stored, in 8 bytes per ordered pair. With more
        genes, only the similarities to each gene's most similar genes are stored, and all others count as 0.
    n_neighbours : int
        Number of those most similar genes; identical genes count once.

    Notes
    -----
    The tree holds only genes that vary in the population, as exchanging a constant gene changes nothing. The root,
    which holds all genes of the tree, is left out, as exchanging it copies the donor. With fewer than three varying
    genes the family consists of single genes.

    Above `max_matrix_genes` identical genes merge first, and genes without a stored similarity do not merge. There
    may then be several trees, whose roots are kept.

    In a population of n, independent genes of which s and t alleles occur have an expected MI of about
    (s - 1)(t - 1) / (2 n ln 2) bits (Miller 1955), so small populations link genes of many alleles to each other,
    also under "nmi". "corrected" subtracts this bias from the MI, sets negative differences to 0, and then divides by
    the joint entropy. The division is needed because the entropy bounds the MI, which would again favour genes of
    many alleles.

    Examples
    --------
    >>> rows = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]], np.int16)
    >>> subsets = LinkageTree("mi").learn(rows, np.full(3, 2), np.random.default_rng(0)).subsets()
    >>> {0, 1} in subsets
    True
    """

    measure: str = "nmi"
    filtered: bool = True
    max_set_size: int | None = None
    max_matrix_genes: int = 4000
    n_neighbours: int = 32

    def __post_init__(self) -> None:
        check_choice("LinkageTree: measure", self.measure, list(_MEASURES))
        check_flag("LinkageTree: filtered", self.filtered)
        check_integer("LinkageTree: max_set_size", self.max_set_size, 1, optional=True)
        check_integer("LinkageTree: max_matrix_genes", self.max_matrix_genes, 0)
        check_integer("LinkageTree: n_neighbours", self.n_neighbours, 1)
        self._matrix = np.empty(0)
        self._stop: NDArray[np.uint8] = np.zeros(1, np.uint8)

    def for_run(self, stop: NDArray[np.uint8]) -> LinkageTree:
        """Return a copy with a matrix of its own, so that runs can go on side by side.

        Once `stop` is set, the family consists of single genes.
        """
        copied = replace(self)
        copied._stop = stop
        return copied

    def similarities(self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the similarity matrix of shape (n_variables, n_variables); the next call overwrites it."""
        n_genes = genotypes.shape[1]
        if self._matrix.size < n_genes**2:
            self._matrix = np.empty(n_genes**2)
        matrix = self._matrix[: n_genes**2].reshape(n_genes, n_genes)
        offsets, work = count_work(genotypes, alphabet, self._stop)
        fill_similarities(genotypes, offsets, _MEASURES[self.measure], work, matrix)
        return matrix

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the nodes of the tree except its root: single genes first, then merges in order."""
        varying = np.flatnonzero((genotypes != genotypes[0]).any(axis=0))
        n_genes = len(varying)
        # equal similarities must not favour genes of low index
        order = generator.permutation(varying)
        singles = single_genes(n_genes)._replace(members=order)
        if n_genes < 3:
            return singles
        ordered = np.ascontiguousarray(genotypes[:, order])
        if n_genes > self.max_matrix_genes:
            (members, starts, sizes), children, strength = sparse_trees(
                ordered, _MEASURES[self.measure], self.n_neighbours, generator, self._stop
            )
        else:
            matrix = self.similarities(ordered, alphabet[order])
            if not self._stop[0]:
                (members, starts, sizes), children, strength = average_linkage(matrix, generator)
        if self._stop[0]:
            return singles
        keep = np.ones(len(sizes), np.bool_)
        # a root that holds every gene is left out, so its children stay whatever its strength
        inner = len(children) - (sizes[-1] == n_genes)
        keep[n_genes + inner :] = False
        if self.filtered and self.measure == "nmi":
            keep[children[:inner][strength[:inner] >= 1.0 - 1e-6].ravel()] = False
        if self.max_set_size is not None:
            keep &= sizes <= self.max_set_size
        return Linkage(order[members], starts[keep], sizes[keep])


def average_linkage(
    similarities: NDArray[np.float64], generator: np.random.Generator
) -> tuple[Linkage, NDArray[np.int64], NDArray[np.float64]]:
    """Return all nodes of the UPGMA tree over at least two genes, and the children and similarity of every merge.

    Nodes are the l genes, then the merges in order, the root last. The symmetric similarities (l, l) are overwritten.
    The generator draws the cluster with which a chain of nearest neighbours begins.
    """
    n_genes = len(similarities)
    children = np.zeros((n_genes - 1, 2), np.int64)
    strength = np.zeros(n_genes - 1)
    work = np.zeros((2, n_genes), np.int64)
    chain = np.zeros(n_genes + 2, np.int64)
    upgma(similarities, generator, work[0], work[1], chain, children, strength)
    sizes, starts = np.zeros(2 * n_genes - 1, np.int64), np.zeros(2 * n_genes - 1, np.int64)
    leaves = np.zeros(n_genes, np.int64)
    tree_slices(children, sizes, starts, leaves)
    return Linkage(leaves, starts, sizes), children, strength


def linkage_model(model: str | LinkageModel) -> LinkageModel:
    """Return a linkage model by its name ("tree", "tree-mi", "tree-corrected", "univariate"), or the given object."""
    named: dict[str, LinkageModel] = {
        "tree": LinkageTree(),
        "tree-mi": LinkageTree("mi"),
        "tree-corrected": LinkageTree("corrected"),
        "univariate": Univariate(),
    }
    if isinstance(model, str):
        check_choice("linkage", model, list(named))
        return named[model]
    names = ", ".join(map(repr, named))
    if not callable(getattr(model, "learn", None)):
        raise GomeaBnError(f"linkage must be one of {names} or an object with learn(...), got {model!r:.80}.")
    if hasattr(model, "learned") and not hasattr(model, "for_run"):
        raise GomeaBnError(
            f"linkage must be one of {names} or a linkage model of discrete genes; got {model!r:.80}, which is one of "
            "real variables, for RVGOMEA."
        )
    return model


def count_work(
    genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], stop: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], PairCountWork]:
    """Return the first row of each gene in the bit sets, shape (l + 1,), and work space for counting its alleles."""
    n, n_genes = genotypes.shape
    offsets = np.concatenate(([0], np.cumsum(alphabet))).astype(np.int64)
    largest = int(alphabet.max())
    x = np.arange(n + 1, dtype=np.float64)
    work = PairCountWork(
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
) -> tuple[Linkage, NDArray[np.int64], NDArray[np.float64]]:
    """Return the trees that average linkage builds from every gene's `n_neighbours` most similar others.

    With the nodes come the two that every merge joins, (m, 2), and their similarity, (m,). Node k < l is a gene, and
    node l + t the t-th merge.

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
    strength = np.concatenate([np.ones(len(inner)), strength])
    return Linkage(members, starts, node_sizes), children, strength


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
