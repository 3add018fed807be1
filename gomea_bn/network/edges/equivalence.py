"""Markov equivalence: which edges of a graph have the same direction in all graphs with the same independences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.graph import topological_order
from gomea_bn.network.protocol import NetworkLike
from gomea_bn.texts import shown_name


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """Edges of a network by whether another direction implies the same independences.

    Attributes
    ----------
    compelled : tuple of (parent, child)
        Edges that have this direction in all Markov-equivalent graphs.
    reversible : tuple of (parent, child)
        Edges that have the other direction in some Markov-equivalent graph. Rows cannot tell their direction.
    """

    compelled: tuple[tuple[str, str], ...]
    reversible: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = [f"{shown_name(parent)} → {shown_name(child)}" for parent, child in self.compelled]
        lines += [f"{shown_name(parent)} — {shown_name(child)}" for parent, child in self.reversible]
        return "\n".join(lines)


def equivalence_class(network: NetworkLike) -> EquivalenceClass:
    """Return the compelled and the reversible edges of a network, each in the order of `network.edges`."""
    marks = cpdag(network.adjacency_matrix)
    position = {name: i for i, name in enumerate(network.names)}
    is_reversible = {edge: bool(marks[position[edge[1]], position[edge[0]]]) for edge in network.edges}
    return EquivalenceClass(
        tuple(edge for edge, reversible in is_reversible.items() if not reversible),
        tuple(edge for edge, reversible in is_reversible.items() if reversible),
    )


def cpdag(adjacency: ArrayLike) -> NDArray[np.int8]:
    """Return the completed partially directed graph (essential graph) of a directed acyclic graph.

    Parameters
    ----------
    adjacency : array_like of shape (N, N)
        Matrix whose entry [i, j] is nonzero for the edge i -> j.

    Returns
    -------
    ndarray of shape (N, N), int8
        Matrix with [i, j] = 1 and [j, i] = 0 for a directed edge i -> j, and 1 in both for an undirected edge.

    Raises
    ------
    GomeaBnError
        If the array is not square or has a directed cycle.

    Notes
    -----
    Edges of v-structures are directed first, then Meek's rules 1 to 3 are applied until nothing changes (Meek, "Causal
    inference and causal explanation with background knowledge", UAI 1995). Rule 4 is needed only with background
    knowledge.

    Examples
    --------
    >>> cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    dag = np.asarray(adjacency) != 0
    if dag.ndim != 2 or dag.shape[0] != dag.shape[1]:
        raise GomeaBnError(f"adjacency must be a square array, got shape {dag.shape}.")
    topological_order(
        [np.flatnonzero(column).tolist() for column in dag.T], [str(node) for node in range(len(dag))]
    )
    apart = ~(dag | dag.T)
    np.fill_diagonal(apart, False)
    directed = dag & _any_path(apart, dag)
    undirected = (dag | dag.T) & ~(directed | directed.T)
    while True:
        compelled = undirected & (
            _any_path(directed.T, apart)
            | _any_path(directed, directed)
            | _meek_3(directed, undirected, apart)
        )
        if not compelled.any():
            return np.asarray(directed | undirected, dtype=np.int8)
        directed |= compelled
        undirected &= ~(compelled | compelled.T)


def _any_path(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the pairs (i, j) with a k such that first[i, k] and second[k, j]."""
    return np.asarray(first.astype(np.float32) @ second.astype(np.float32) > 0)


def _meek_3(
    directed: NDArray[np.bool_], undirected: NDArray[np.bool_], apart: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the pairs a - b with two non-adjacent c, d such that a - c -> b and a - d -> b."""
    compelled = np.zeros_like(undirected)
    n_between = undirected.astype(np.float32) @ directed.astype(np.float32)
    for a, b in np.argwhere(undirected & (n_between > 1)):
        between = np.flatnonzero(undirected[a] & directed[:, b])
        compelled[a, b] = apart[np.ix_(between, between)].any()
    return compelled
