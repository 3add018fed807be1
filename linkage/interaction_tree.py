"""The linkage tree of a graph of interacting genes, built once and without a population."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.linkage.models import Linkage, LinkageModel, average_linkage, single_genes


@dataclass
class StaticTree(LinkageModel):
    """The tree that average linkage (UPGMA) builds over the graph of interacting genes.

    Parameters
    ----------
    interactions : array_like of int, shape (n_pairs, 2)
        Pairs of genes, such as a benchmark problem's ``interactions``. `from_neighbours` takes lists of neighbours.
    weights : array_like of shape (n_pairs,), optional
        Positive strength of every pair; 1 by default. The strengths of duplicate pairs add up.
    max_set_size : int, optional
        Subsets of more genes are left out; the tree itself does not change.
    random_state : int
        Seed of the order in which equal similarities are taken.

    Notes
    -----
    The similarity of two clusters is the mean weight over all pairs between them, 0 for pairs that do not interact, so
    the densest parts of the graph merge first. Unions of connected components are left out, as mixing the components
    has the same effect. The root is left out, too. With fewer than three genes the family consists of single genes.
    The tree is built at the first population and is the same for all populations.

    Examples
    --------
    >>> tree = StaticTree([(0, 1), (2, 3)])
    >>> subsets = tree.learn(np.zeros((1, 4), np.int16), np.full(4, 2), np.random.default_rng(0)).subsets()
    >>> {0, 1} in subsets, {2, 3} in subsets
    (True, True)
    """

    interactions: ArrayLike
    weights: ArrayLike | None = None
    max_set_size: int | None = None
    random_state: int = 0
    _trees: dict[int, Linkage] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_integer("StaticTree: max_set_size", self.max_set_size, 1, optional=True)
        check_integer("StaticTree: random_state", self.random_state, 0)
        self._pairs, self._weights = _checked(self.interactions, self.weights)

    @classmethod
    def from_neighbours(
        cls, neighbours: Iterable[Iterable[int]], *, max_set_size: int | None = None, random_state: int = 0
    ) -> StaticTree:
        """Return the tree of a graph given as every gene's neighbours; a pair may be listed by one or both genes."""
        pairs = {(min(g, h), max(g, h)) for g, listed in enumerate(neighbours) for h in listed}
        edges = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return cls(edges, max_set_size=max_set_size, random_state=random_state)

    def similarities(self, n_genes: int) -> NDArray[np.float64]:
        """Return the symmetric matrix of weights, shape (n_genes, n_genes).

        Raises
        ------
        GomeaBnError
            If a pair has a gene that does not exist.
        """
        largest = int(self._pairs.max(initial=-1))
        if largest >= n_genes:
            raise GomeaBnError(
                f"StaticTree: genes are 0 to {n_genes - 1}, got an interaction with gene {largest}."
            )
        matrix = np.zeros((n_genes, n_genes))
        for first, second in (self._pairs.T, self._pairs.T[::-1]):
            np.add.at(matrix, (first, second), self._weights)
        return matrix

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the tree's subsets, single genes first; they depend only on the number of genes."""
        n_genes = len(alphabet)
        if n_genes not in self._trees:
            self._trees[n_genes] = self._built(n_genes)
        return self._trees[n_genes]

    def _built(self, n_genes: int) -> Linkage:
        matrix = self.similarities(n_genes)
        if n_genes < 3:
            return single_genes(n_genes)
        generator = np.random.default_rng(self.random_state)
        order = generator.permutation(n_genes)
        tree, _, strength = average_linkage(matrix[np.ix_(order, order)], generator)
        keep = np.concatenate([np.ones(n_genes, np.bool_), strength > 0])
        keep[-1] = False
        if self.max_set_size is not None:
            keep &= tree.sizes <= self.max_set_size
        return Linkage(order[tree.members], tree.starts[keep], tree.sizes[keep])


def _checked(
    interactions: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    pairs = np.asarray(interactions)
    if pairs.size == 0:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise GomeaBnError(
            f"StaticTree: interactions must be integers of shape (n_pairs, 2), got {pairs.dtype} of shape "
            f"{pairs.shape}; for lists of neighbours use StaticTree.from_neighbours."
        )
    wrong = (pairs < 0).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        raise GomeaBnError(
            f"StaticTree: an interaction must be two different genes, got {pairs[np.argmax(wrong)].tolist()}."
        )
    strengths = np.ones(len(pairs)) if weights is None else np.asarray(weights, np.float64)
    if strengths.shape != (len(pairs),) or not ((strengths > 0) & np.isfinite(strengths)).all():
        raise GomeaBnError(f"StaticTree: weights must be {len(pairs)} positive numbers, one per pair.")
    return pairs.astype(np.int64), strengths
