"""The marginal product model: disjoint subsets, found by greedy merging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage, check_set_size
from gomea_bn.runtime.jit import kernel

__all__ = ["MarginalProduct"]


@dataclass
class MarginalProduct:
    """A partition of the genes, relearned from every population by greedy merging (as in the ECGA).

    Parameters
    ----------
    max_set_size : int, optional
        Two clusters with more genes together are not merged.

    Notes
    -----
    From single genes on, the two clusters are merged that shorten the population's description most, until none does.
    With n solutions, a cluster of genes with the cardinalities r costs (prod r - 1) log2(n + 1) bits for its table and
    n H bits for the solutions' values under it, H the entropy of its joint frequencies (Harik 1999). A merge saves n
    times the mutual information and pays for the larger table, so small populations stay single.
    Takes O(l^2 n) for l genes, and O(l n) per merge. Ties go to pairs of a random order.
    """

    max_set_size: int | None = None

    def __post_init__(self) -> None:
        check_set_size("MarginalProduct", self.max_set_size)

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the clusters, which hold every gene once."""
        n, n_genes = genotypes.shape
        order = generator.permutation(n_genes)
        x = np.arange(n + 1, dtype=np.float64)
        work = _Clusters(
            np.ascontiguousarray(genotypes[:, order].T, np.int64),
            alphabet[order].astype(np.int64),
            alphabet[order].astype(np.float64),
            np.zeros(n_genes),
            np.ones(n_genes, np.int64),
            np.arange(n_genes),
            np.zeros((n_genes, n_genes)),
            np.full((3, 1 << (2 * n).bit_length()), -1, np.int64),
            x * np.log2(np.maximum(x, 1.0)),
        )
        _merge_all(work, n_genes if self.max_set_size is None else int(self.max_set_size))
        sizes = np.bincount(work.owner, minlength=n_genes)
        sizes = sizes[sizes > 0].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        return Linkage(order[np.argsort(work.owner, kind="stable")], starts, sizes)


class _Clusters(NamedTuple):
    """Clusters of l genes over n solutions; a cluster is known by its first gene. All but the table are mutated."""

    labels: NDArray[np.int64]  # (l, n) joint values
    n_labels: NDArray[np.int64]  # (l,) above the largest label
    cells: NDArray[np.float64]  # (l,) size of the table of all values
    entropies: NDArray[np.float64]  # (l,) bits over the whole population
    sizes: NDArray[np.int64]  # (l,) number of genes
    owner: NDArray[np.int64]  # (l,) cluster of every gene
    gains: NDArray[np.float64]  # (l, l) bits saved by a merge, later gene first
    slots: NDArray[
        np.int64
    ]  # (3, power of two above 2 n) hash table, -1 = free: key, its count or label; slots in use
    x_log_x: NDArray[np.float64]  # (n + 1,) in bits


@kernel
def _slot_of(key: int, slots: NDArray[np.int64]) -> int:
    """Return where a key lies, or would."""
    mask = slots.shape[1] - 1
    slot = (key + 31 * (key >> 11)) & mask
    while slots[0, slot] != key and slots[0, slot] >= 0:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def _joint_entropy(work: _Clusters, a: int, b: int) -> float:
    """Return n times the entropy of two clusters' joint value, in bits; a cluster's own if both are the same."""
    slots = work.slots
    n = work.labels.shape[1]
    used = 0
    for s in range(n):
        key = work.labels[a, s] * work.n_labels[b] + work.labels[b, s]
        slot = _slot_of(key, slots)
        if slots[0, slot] < 0:
            slots[0, slot] = key
            slots[1, slot] = 0
            slots[2, used] = slot
            used += 1
        slots[1, slot] += 1
    total = float(work.x_log_x[n])
    for k in range(used):
        total -= work.x_log_x[slots[1, slots[2, k]]]
        slots[0, slots[2, k]] = -1
    return float(total)


@kernel
def _label_jointly(work: _Clusters, a: int, b: int) -> None:
    """Give cluster `a` the joint values of both, numbered as they appear."""
    slots = work.slots
    used = 0
    for s in range(work.labels.shape[1]):
        key = work.labels[a, s] * work.n_labels[b] + work.labels[b, s]
        slot = _slot_of(key, slots)
        if slots[0, slot] < 0:
            slots[0, slot] = key
            slots[1, slot] = used
            slots[2, used] = slot
            used += 1
        work.labels[a, s] = slots[1, slot]
    for k in range(used):
        slots[0, slots[2, k]] = -1
    work.n_labels[a] = used


@kernel
def _gain(work: _Clusters, a: int, b: int) -> float:
    """Return the bits that a merge saves; without counting where its table alone costs more than it could save."""
    table_cost = (work.cells[a] - 1.0) * (work.cells[b] - 1.0) * np.log2(work.labels.shape[1] + 1.0)
    if table_cost >= min(work.entropies[a], work.entropies[b]):
        return 0.0
    return float(work.entropies[a] + work.entropies[b] - _joint_entropy(work, a, b) - table_cost)


@kernel
def _merge_all(work: _Clusters, largest: int) -> None:
    """Merge greedily until no merge saves anything; mutates `work`."""
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
