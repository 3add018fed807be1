"""The marginal product model: disjoint subsets from greedy merging.

Harik, "Linkage learning via probabilistic modeling in the ECGA", IlliGAL report 99010, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import check_integer
from gomea_bn.linkage.models import Linkage, LinkageModel
from gomea_bn.runtime.jit import kernel


@dataclass
class MarginalProduct(LinkageModel):
    """A partition of the genes, relearned from every population by greedy merging (as in the ECGA).

    Parameters
    ----------
    max_set_size : int, optional
        Largest number of genes in a subset.

    Notes
    -----
    Merging begins with single genes. Each step merges the two clusters that shorten the population's description most,
    until no merge shortens it. With n solutions, a cluster of genes with the cardinalities r costs
    (prod r - 1) log2(n + 1) bits for its table and n H bits for the solutions' values under it, where H is the entropy
    of its joint frequencies (Harik 1999). A merge saves n times the mutual information and costs a larger table, so
    genes stay single in small populations. Learning takes O(l^2 n) for l genes and O(l n) per merge. Of merges that
    save equally much the first one in a random order is taken.

    Examples
    --------
    >>> rows = np.repeat(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]], np.int16), 9, axis=0)
    >>> subsets = MarginalProduct().learn(rows, np.full(3, 2), np.random.default_rng(0)).subsets()
    >>> {0, 1} in subsets, {2} in subsets
    (True, True)
    """

    max_set_size: int | None = None

    def __post_init__(self) -> None:
        check_integer("MarginalProduct: max_set_size", self.max_set_size, 1, optional=True)

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the clusters, which together hold every gene once."""
        n, n_genes = genotypes.shape
        order = generator.permutation(n_genes)
        x = np.arange(n + 1, dtype=np.float64)
        work = _Clusters(
            labels=np.ascontiguousarray(genotypes[:, order].T, np.int64),
            n_labels=alphabet[order].astype(np.int64),
            cells=alphabet[order].astype(np.float64),
            entropies=np.zeros(n_genes),
            sizes=np.ones(n_genes, np.int64),
            owner=np.arange(n_genes),
            gains=np.zeros((n_genes, n_genes)),
            slots=np.full((3, 1 << (2 * n).bit_length()), -1, np.int64),
            x_log_x=x * np.log2(np.maximum(x, 1.0)),
        )
        _merge_all(work, n_genes if self.max_set_size is None else int(self.max_set_size))
        sizes = np.bincount(work.owner, minlength=n_genes)
        sizes = sizes[sizes > 0].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        return Linkage(order[np.argsort(work.owner, kind="stable")], starts, sizes)


# rows of `_Clusters.slots`
_KEY, _VALUE, _USED = 0, 1, 2


class _Clusters(NamedTuple):
    """Clusters of l genes over n solutions, numbered by their first gene; all arrays but `x_log_x` are mutated."""

    labels: NDArray[np.int64]  # (l, n) joint values
    n_labels: NDArray[np.int64]  # (l,) above the largest label
    cells: NDArray[np.float64]  # (l,) size of the table of all values
    entropies: NDArray[np.float64]  # (l,) bits over the whole population
    sizes: NDArray[np.int64]  # (l,) number of genes
    owner: NDArray[np.int64]  # (l,) cluster of every gene
    gains: NDArray[np.float64]  # (l, l) bits saved by a merge, later gene first
    # (3, power of two above 2 n): keys of a hash table (-1 = free), their counts or labels, and a list of used slots
    slots: NDArray[np.int64]
    x_log_x: NDArray[np.float64]  # (n + 1,) in bits


@kernel
def _slot_of(key: int, slots: NDArray[np.int64]) -> int:
    """Return the slot of a key, or the free slot where it belongs."""
    mask = slots.shape[1] - 1
    slot = (key + 31 * (key >> 11)) & mask
    while slots[_KEY, slot] != key and slots[_KEY, slot] >= 0:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def _joint_entropy(work: _Clusters, a: int, b: int) -> float:
    """Return n times the entropy in bits of the joint value of two clusters, which may be the same cluster."""
    slots = work.slots
    n = work.labels.shape[1]
    used = 0
    for s in range(n):
        key = work.labels[a, s] * work.n_labels[b] + work.labels[b, s]
        slot = _slot_of(key, slots)
        if slots[_KEY, slot] < 0:
            slots[_KEY, slot] = key
            slots[_VALUE, slot] = 0
            slots[_USED, used] = slot
            used += 1
        slots[_VALUE, slot] += 1
    total = float(work.x_log_x[n])
    for k in range(used):
        total -= work.x_log_x[slots[_VALUE, slots[_USED, k]]]
        slots[_KEY, slots[_USED, k]] = -1
    return float(total)


@kernel
def _label_jointly(work: _Clusters, a: int, b: int) -> None:
    """Give cluster `a` the joint values of both, numbered as they appear."""
    slots = work.slots
    used = 0
    for s in range(work.labels.shape[1]):
        key = work.labels[a, s] * work.n_labels[b] + work.labels[b, s]
        slot = _slot_of(key, slots)
        if slots[_KEY, slot] < 0:
            slots[_KEY, slot] = key
            slots[_VALUE, slot] = used
            slots[_USED, used] = slot
            used += 1
        work.labels[a, s] = slots[_VALUE, slot]
    for k in range(used):
        slots[_KEY, slots[_USED, k]] = -1
    work.n_labels[a] = used


@kernel
def _gain(work: _Clusters, a: int, b: int) -> float:
    """Return the number of bits that a merge saves, or 0 where its table alone costs more than it could save."""
    table_cost = (work.cells[a] - 1.0) * (work.cells[b] - 1.0) * np.log2(work.labels.shape[1] + 1.0)
    if table_cost >= min(work.entropies[a], work.entropies[b]):
        return 0.0
    return float(work.entropies[a] + work.entropies[b] - _joint_entropy(work, a, b) - table_cost)


@kernel
def _merge_all(work: _Clusters, largest: int) -> None:
    """Merge clusters of at most `largest` genes greedily until no merge saves bits; mutates `work`."""
    n_genes = work.labels.shape[0]
    owner, gains, sizes = work.owner, work.gains, work.sizes
    for g in range(n_genes):
        work.entropies[g] = _joint_entropy(work, g, g)
        for h in range(g):
            gains[g, h] = _gain(work, g, h)
    while True:
        best = 1e-9
        a, b = -1, -1
        for g in range(n_genes):
            if owner[g] == g:
                for h in range(g):
                    if owner[h] == h and gains[g, h] > best and sizes[g] + sizes[h] <= largest:
                        best = gains[g, h]
                        a, b = h, g
        if a < 0:
            return
        work.entropies[a] = _joint_entropy(work, a, b)
        _label_jointly(work, a, b)
        work.cells[a] *= work.cells[b]
        sizes[a] += sizes[b]
        for g in range(n_genes):
            if owner[g] == b:
                owner[g] = a
        for g in range(n_genes):
            if owner[g] == g and g != a:
                gains[max(a, g), min(a, g)] = _gain(work, a, g)
