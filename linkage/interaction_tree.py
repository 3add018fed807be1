"""The linkage tree of a problem-given interaction graph: built once, from no population."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.linkage.models import Linkage, average_linkage, check_set_size

__all__ = ["StaticTree"]


@dataclass
class StaticTree:
    """Average linkage (UPGMA) over the graph of which genes interact.

    Parameters
    ----------
    interactions : array_like of int, shape (n_pairs, 2)
        Pairs of genes, such as a benchmark problem's ``interactions``; `from_neighbours` takes lists of neighbours.
    weights : array_like of shape (n_pairs,), optional
        Strength of every pair, positive; 1 if not given. A pair that stands twice counts twice.
    max_set_size : int, optional
        Leave out subsets of more genes; the tree is the same as without.
    seed : int
        Draws the order in which equal similarities are taken.

    Notes
    -----
    Two clusters are as similar as the mean weight of all pairs between them, 0 for those that do not interact, so the
    densest parts of the graph merge first. Unions of parts without an interaction between them (connected components)
    are left out, as mixing the parts does as much; so is the root, except that fewer than three genes stay single.
    The tree is built at the first population and is the same for all.
    """

    interactions: ArrayLike
    weights: ArrayLike | None = None
    max_set_size: int | None = None
    seed: int = 0
    _trees: dict[int, Linkage] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_set_size("StaticTree", self.max_set_size)
        self._pairs, self._weights = _checked(self.interactions, self.weights)

    @classmethod
    def from_neighbours(
        cls, neighbours: Iterable[Iterable[int]], *, max_set_size: int | None = None, seed: int = 0
    ) -> StaticTree:
        """Return the tree of a graph given as every gene's neighbours; a pair may stand at one or both of its genes."""
        pairs = {(min(g, h), max(g, h)) for g, listed in enumerate(neighbours) for h in listed}
        return cls(np.array(sorted(pairs), np.int64).reshape(-1, 2), max_set_size=max_set_size, seed=seed)

    def similarities(self, n_genes: int) -> NDArray[np.float64]:
        """Return the symmetric matrix of weights, shape (n_genes, n_genes).

        Raises
        ------
        GomeaBnError
            If a pair names a gene that does not exist.
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
        """Return the tree's subsets, single genes first; neither the population nor the generator matters."""
        n_genes = len(alphabet)
        if n_genes not in self._trees:
            self._trees[n_genes] = self._built(n_genes)
        return self._trees[n_genes]

    def _built(self, n_genes: int) -> Linkage:
        matrix = self.similarities(n_genes)
        if n_genes < 3:
            genes = np.arange(n_genes, dtype=np.int64)
            return Linkage(genes, genes, np.ones(n_genes, np.int64))
        generator = np.random.default_rng(self.seed)
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
            f"{pairs.shape}; lists of neighbours go through StaticTree.from_neighbours."
        )
    wrong = (pairs < 0).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        raise GomeaBnError(
            f"StaticTree: interactions are pairs of two different genes, got {pairs[np.argmax(wrong)].tolist()}."
        )
    strengths = np.ones(len(pairs)) if weights is None else np.asarray(weights, np.float64)
    if strengths.shape != (len(pairs),) or not ((strengths > 0) & np.isfinite(strengths)).all():
        raise GomeaBnError(f"StaticTree: weights must be {len(pairs)} positive numbers, one per pair.")
    return pairs.astype(np.int64), strengths
