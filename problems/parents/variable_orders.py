"""Orders of the variables in which the parents of a graph come before their children."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arc", "Parents", "arcs_of", "random_order", "ranked_order"]

Parents = tuple[int, ...]
Arc = tuple[int, int]


def arcs_of(sets: Sequence[Parents]) -> list[Arc]:
    """Return the arcs (parent, child) of the parents of every variable."""
    return [(parent, v) for v, of_variable in enumerate(sets) for parent in of_variable]


def random_order(parents: Sequence[Iterable[int]], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of the variables in which parents come before their children."""
    return ranked_order(parents, generator.permutation(len(parents)))


def ranked_order(parents: Sequence[Iterable[int]], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of the variables in which parents come before their children, otherwise the lowest rank first.

    Parameters
    ----------
    parents : sequence of iterable of int
        Of every variable, without cycles.
    ranks : ndarray of shape (n_variables,), int64
        A permutation of 0 to n_variables - 1.
    """
    n = len(parents)
    rank = ranks.tolist()
    variable = np.argsort(ranks).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    n_waiting = [0] * n
    for v, of_variable in enumerate(parents):
        for parent in of_variable:
            children[parent].append(v)
            n_waiting[v] += 1
    ready = [rank[v] for v in range(n) if not n_waiting[v]]
    heapify(ready)
    order = []
    while ready:
        v = variable[heappop(ready)]
        order.append(v)
        for child in children[v]:
            n_waiting[child] -= 1
            if not n_waiting[child]:
                heappush(ready, rank[child])
    return np.array(order, np.int64)
