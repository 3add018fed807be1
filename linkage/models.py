"""Linkage models: families of subsets of genes that are exchanged together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.linkage.counting import count_work
from gomea_bn.linkage.kernels.tree import CORRECTED, MI, NMI, fill_similarities, tree_slices, upgma
from gomea_bn.linkage.sparse_tree import sparse_trees

__all__ = ["Custom", "Linkage", "LinkageModel", "LinkageTree", "Univariate", "linkage_model"]

_FILTER_AT = 1.0 - 1e-6
_MEASURES = {"mi": MI, "nmi": NMI, "corrected": CORRECTED}


class Linkage(NamedTuple):
    """A family of subsets: subset k is ``members[starts[k] : starts[k] + sizes[k]]``; all int64."""

    members: NDArray[np.int64]
    starts: NDArray[np.int64]  # (n_subsets,)
    sizes: NDArray[np.int64]  # (n_subsets,)

    def subsets(self) -> list[frozenset[int]]:
        """Return the subsets as sets of gene indices."""
        slices = zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        return [frozenset(self.members[a : a + size].tolist()) for a, size in slices]


class LinkageModel(Protocol):
    """Anything that turns a population into a family of subsets."""

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the subsets for a population of shape (n, n_variables) with the given cardinalities."""


def _from_subsets(subsets: list[list[int]]) -> Linkage:
    sizes = np.array([len(subset) for subset in subsets], np.int64)
    members = np.array([gene for subset in subsets for gene in subset], np.int64)
    return Linkage(members, np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64), sizes)


@dataclass
class Univariate:
    """Every gene on its own."""

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return one subset per gene."""
        genes = np.arange(len(alphabet), dtype=np.int64)
        return Linkage(genes, genes, np.ones(len(alphabet), np.int64))


@dataclass
class Custom:
    """A fixed family of subsets.

    Parameters
    ----------
    subsets : iterable of iterables of int
        Gene indices; every subset not empty and without repeats.
    """

    subsets: Iterable[Iterable[int]]

    def __post_init__(self) -> None:
        listed = [[int(gene) for gene in subset] for subset in self.subsets]
        self.subsets = listed
        if not listed:
            raise GomeaBnError("Custom linkage needs at least one subset.")
        for subset in listed:
            if not subset or len(set(subset)) != len(subset):
                raise GomeaBnError(
                    f"Custom linkage: subsets must be non-empty and without repeats, got {subset}."
                )

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the fixed subsets; raises `GomeaBnError` if one names a gene that does not exist."""
        subsets = [list(subset) for subset in self.subsets]
        for subset in subsets:
            if min(subset) < 0 or max(subset) >= len(alphabet):
                raise GomeaBnError(
                    f"Custom linkage: genes are 0 to {len(alphabet) - 1}, got the subset {subset}."
                )
        return _from_subsets(subsets)


@dataclass
class LinkageTree:
    """The linkage tree, relearned from every population by average linkage (UPGMA).

    Parameters
    ----------
    measure : {"nmi", "mi", "corrected"}
        Similarity of two genes: mutual information in bits ("mi"), or divided by their joint entropy ("nmi"), or
        that after its bias is taken off ("corrected").
    filtered : bool
        Drop both children of a merge whose NMI is 1, for they carry the same information as their parent.
        Has no effect with the other measures, where no value marks identity.
    max_set_size : int, optional
        Leave out subsets of more genes; the tree is the same as without.
    max_matrix_genes : int
        Up to so many varying genes all similarities are kept, 8 bytes for each ordered pair. Above it only those to the
        most similar genes are, and others count as 0.
    n_neighbours : int
        How many genes those are, equal ones counted once.

    Notes
    -----
    Only genes that vary in the population are in the tree: exchanging the others changes nothing. The root, which
    holds all of them, is left out: exchanging it copies the donor. With fewer than three such genes, single genes
    remain.

    Above `max_matrix_genes` there may be several trees, whose roots are kept, as genes of no kept similarity do not
    merge; equal genes merge first.

    In a population of n, independent genes of which s and t alleles occur have an expected MI of about
    (s - 1)(t - 1) / (2 n ln 2) bits (Miller 1955), so small populations link genes of many alleles to each other,
    under "nmi" too. "corrected" subtracts that, takes 0 for what falls below, and then divides by the joint entropy,
    as the entropy still bounds the MI, which would favour genes of many alleles again.
    """

    measure: str = "nmi"
    filtered: bool = True
    max_set_size: int | None = None
    max_matrix_genes: int = 4000
    n_neighbours: int = 32

    def __post_init__(self) -> None:
        if self.measure not in _MEASURES:
            raise GomeaBnError(
                f"LinkageTree: measure must be one of {sorted(_MEASURES)}, got {self.measure!r}."
            )
        check_set_size("LinkageTree", self.max_set_size)
        for name, least in (("max_matrix_genes", 0), ("n_neighbours", 1)):
            value = getattr(self, name)
            if not is_integer(value) or value < least:
                raise GomeaBnError(
                    f"LinkageTree: {name} must be an integer of at least {least}, got {value!r}."
                )
        self._matrix = np.empty(0)
        self._stop: NDArray[np.uint8] = np.zeros(1, np.uint8)

    def for_run(self, stop: NDArray[np.uint8]) -> LinkageTree:
        """Return a copy with a matrix of its own, so that runs can go on side by side.

        Parameters
        ----------
        stop : ndarray of shape (1,), uint8
            Setting it ends learning early; the family is then of single genes.
        """
        copied = replace(self)
        copied._stop = stop
        return copied

    def similarities(self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the similarity matrix of shape (n_variables, n_variables); overwritten by the next call."""
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
        """Return the nodes of the tree but its root, single genes first, then merges in order."""
        varying = np.flatnonzero((genotypes != genotypes[0]).any(axis=0))
        n_genes = len(varying)
        # equal similarities must not favour genes of low index
        order = generator.permutation(varying)
        singles = np.arange(n_genes, dtype=np.int64)
        if n_genes < 3:
            return Linkage(order, singles, np.ones(n_genes, np.int64))
        ordered = np.ascontiguousarray(genotypes[:, order])
        if n_genes > self.max_matrix_genes:
            members, starts, sizes, children, strength = sparse_trees(
                ordered, _MEASURES[self.measure], self.n_neighbours, generator, self._stop
            )
        else:
            matrix = self.similarities(ordered, alphabet[order])
            if not self._stop[0]:
                (members, starts, sizes), children, strength = average_linkage(matrix, generator)
        if self._stop[0]:
            return Linkage(order, singles, np.ones(n_genes, np.int64))
        keep = np.ones(len(sizes), np.bool_)
        # a root that holds every gene is left out, so its children stay whatever its strength
        inner = len(children) - (sizes[-1] == n_genes)
        keep[n_genes + inner :] = False
        if self.filtered and self.measure == "nmi":
            keep[children[:inner][strength[:inner] >= _FILTER_AT].ravel()] = False
        if self.max_set_size is not None:
            keep &= sizes <= self.max_set_size
        return Linkage(order[members], starts[keep], sizes[keep])


def check_set_size(model: str, size: int | None) -> None:
    """Raise `GomeaBnError` unless `size` is None or a positive integer."""
    if size is not None and (not is_integer(size) or size < 1):
        raise GomeaBnError(f"{model}: max_set_size must be an integer of at least 1 or None, got {size!r}.")


def average_linkage(
    similarities: NDArray[np.float64], generator: np.random.Generator
) -> tuple[Linkage, NDArray[np.int64], NDArray[np.float64]]:
    """Return all nodes of the UPGMA tree over at least two genes, the two children of every merge, and its similarity.

    Parameters
    ----------
    similarities : ndarray of shape (l, l), float64
        Symmetric; overwritten.
    generator : numpy.random.Generator
        Picks where chains of nearest neighbours begin.

    Returns
    -------
    Linkage, ndarray of shape (l - 1, 2), ndarray of shape (l - 1,)
        Nodes: the l genes, then the merges in order, the root last.
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
    """Return a linkage model from its name ("tree", "tree-mi", "tree-corrected", "univariate") or as it is.

    Raises
    ------
    GomeaBnError
        For a name that is not known, or an object without a ``learn`` method.
    """
    named: dict[str, LinkageModel] = {
        "tree": LinkageTree(),
        "tree-mi": LinkageTree("mi"),
        "tree-corrected": LinkageTree("corrected"),
        "univariate": Univariate(),
    }
    if isinstance(model, str):
        if model in named:
            return named[model]
    elif hasattr(model, "learn"):
        return model
    raise GomeaBnError(f"linkage must be one of {sorted(named)} or an object with learn(...), got {model!r}.")
