"""Orders of the variables in which the parents of a graph come before their children."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arc", "Parents", "arcs_of", "chain", "random_order", "ranked_order"]

Parents = tuple[int, ...]
Arc = tuple[int, int]


def arcs_of(sets: Sequence[Parents]) -> list[Arc]:
    """Return the arcs (parent, child) of the parents of every variable."""
    return [(parent, v) for v, of_variable in enumerate(sets) for parent in of_variable]


def chain(
    first: int, sets: Sequence[Parents], ranked: Sequence[Sequence[Parents]], depth: int = 0
) -> list[int]:
    """Return the variables that come up to `first` in an order where it has the best set of its library.

    Its parents, their parents and so on keep their sets, apart from those whose set would close a cycle and from the
    nearest generations: they get their best set that closes none.

    Parameters
    ----------
    first : int
    sets : sequence of tuple of int
        Parents of every variable.
    ranked : sequence of sequence of tuple of int
        Library of every variable, best set first.
    depth : int
        Number of generations of ancestors that get their best sets.

    Returns
    -------
    order : list of int
        Parents before their children; empty if some variable has required parents that close a cycle.
    """
    order: list[int] = []
    # variables on the path from `first`, each with its parents that are still to be visited
    path = {first: iter(ranked[first][0])}
    reached = {first}
    while path:
        v, parents = next(reversed(path.items()))
        parent = next((p for p in parents if p not in reached), None)
        if parent is None:
            order.append(v)
            del path[v]
            continue
        chosen: Parents | None = sets[parent]
        if len(path) <= depth or not path.keys().isdisjoint(sets[parent]):
            chosen = next((s for s in ranked[parent] if path.keys().isdisjoint(s)), None)
        if chosen is None:
            return []
        reached.add(parent)
        path[parent] = iter(chosen)
    return order


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
