"""Random connected acyclic graphs within bounds: random trees with further edges, and a uniform Markov chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

Edge: TypeAlias = tuple[int, int]

BURN_IN = 20
"""Number of steps of the Markov chain, in multiples of the squared number of variables."""


@dataclass(frozen=True, slots=True)
class GraphBounds:
    """Upper bounds of a graph; variables are the positions of `cardinalities`."""

    cardinalities: Sequence[int]
    max_edges: int
    max_indegree: int
    max_table_rows: int

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)


class _Graph:
    """A directed acyclic graph as bit masks, with checks of its bounds."""

    def __init__(self, bounds: GraphBounds) -> None:
        self.bounds = bounds
        self.edges: list[Edge] = []
        self.children = [0] * bounds.n_variables
        self.neighbours = [0] * bounds.n_variables
        self.indegree = [0] * bounds.n_variables
        self.table_rows = [1] * bounds.n_variables

    def has(self, edge: Edge) -> bool:
        """Return whether the graph has the edge."""
        return bool(self.children[edge[0]] >> edge[1] & 1)

    def fits(self, edge: Edge) -> bool:
        """Return whether the bounds allow one more edge, without a check for cycles."""
        parent, child = edge
        return (
            len(self.edges) < self.bounds.max_edges
            and self.indegree[child] < self.bounds.max_indegree
            and self.table_rows[child] * self.bounds.cardinalities[parent] <= self.bounds.max_table_rows
        )

    def closes_cycle(self, edge: Edge) -> bool:
        """Return whether a path leads from the child of the edge to its parent."""
        return _leads_to(self.children, edge[1], edge[0])

    def add(self, edge: Edge) -> None:
        """Add an edge without checks."""
        parent, child = edge
        self.edges.append(edge)
        self.indegree[child] += 1
        self.table_rows[child] *= self.bounds.cardinalities[parent]
        self._flip(edge)

    def remove(self, position: int) -> Edge:
        """Remove and return the edge at a position of `edges`, whose order changes."""
        edge = self.edges[position]
        self.edges[position] = self.edges[-1]
        self.edges.pop()
        parent, child = edge
        self.indegree[child] -= 1
        self.table_rows[child] //= self.bounds.cardinalities[parent]
        self._flip(edge)
        return edge

    def joins(self, edge: Edge) -> bool:
        """Return whether the two ends are connected, directions ignored."""
        return _leads_to(self.neighbours, *edge)

    def _flip(self, edge: Edge) -> None:
        parent, child = edge
        self.children[parent] ^= 1 << child
        self.neighbours[parent] ^= 1 << child
        self.neighbours[child] ^= 1 << parent


def _leads_to(links: Sequence[int], start: int, goal: int) -> bool:
    """Return whether a path follows the bit masks `links` from `start` to `goal`."""
    seen = ahead = 1 << start
    while ahead:
        if ahead >> goal & 1:
            return True
        lowest = ahead & -ahead
        reached = links[lowest.bit_length() - 1] & ~seen
        seen |= reached
        ahead = (ahead ^ lowest) | reached
    return False


def tree_edges(bounds: GraphBounds, rng: np.random.Generator) -> list[Edge]:
    """Return edges by the law "tree": a random tree along a random order, with further random edges."""
    n_variables = bounds.n_variables
    order = [int(v) for v in rng.permutation(n_variables)]
    n_draws = int(rng.integers(n_variables - 1, bounds.max_edges + 1)) - (n_variables - 1)
    graph = _Graph(bounds)
    for position in range(1, n_variables):
        graph.add((order[int(rng.integers(position))], order[position]))
    pairs = [(order[i], order[j]) for i in range(n_variables) for j in range(i + 1, n_variables)]
    for k in rng.integers(len(pairs), size=n_draws):
        if not graph.has(pairs[k]) and graph.fits(pairs[k]):
            graph.add(pairs[k])
    return graph.edges


def ide_cozman_edges(bounds: GraphBounds, rng: np.random.Generator) -> list[Edge]:
    """Return edges by the law "ide-cozman": uniform over the connected acyclic graphs within the bounds."""
    n_variables = bounds.n_variables
    graph = _Graph(bounds)
    path = [int(v) for v in rng.permutation(n_variables)]
    for edge in pairwise(path):
        graph.add(edge)
    n_steps = BURN_IN * n_variables**2
    firsts = rng.integers(n_variables, size=n_steps).tolist()
    gaps = rng.integers(1, n_variables, size=n_steps).tolist()
    replaces = (rng.random(n_steps) < 0.5).tolist()
    picks = rng.random(n_steps).tolist()
    for first, gap, replace, pick in zip(firsts, gaps, replaces, picks):
        pair = (first, (first + gap) % n_variables)
        if replace:
            _replace(graph, int(pick * len(graph.edges)), pair)
        elif graph.has(pair):
            graph.remove(graph.edges.index(pair))
            if not graph.joins(pair):
                graph.add(pair)
        elif graph.fits(pair) and not graph.closes_cycle(pair):
            graph.add(pair)
    return graph.edges


def _replace(graph: _Graph, position: int, pair: Edge) -> None:
    """Replace one edge by `pair` if the graph stays within its bounds and connected."""
    if graph.has(pair):
        return
    removed = graph.remove(position)
    if graph.fits(pair) and not graph.closes_cycle(pair):
        graph.add(pair)
        if graph.joins(removed):
            return
        graph.remove(len(graph.edges) - 1)
    graph.add(removed)
