"""Edges of networks: which directions independences settle, why an edge is there, and what its removal would cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, names_in
from gomea_bn.lazy import pd
from gomea_bn.network.graph import topological_order
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.rows import table_for
from gomea_bn.network.tables import smoothing_of, table_and_left_out
from gomea_bn.problems.cuts.blanket import coded_bins
from gomea_bn.texts import amount, counted, shown_name


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


@dataclass(frozen=True, slots=True)
class EdgeReasons:
    """What an edge is worth.

    Attributes
    ----------
    edge : (parent, child)
    mutual_information : float
        Mutual information of the bins or levels of parent and child in the network, in nats.
    removal_cost : float
        Mutual information of parent and child given the other parents of the child, in nats per row. It is the
        Kullback-Leibler divergence from the network to the nearest network with all edges but this one.
    n_parameters : int
        Number of free probabilities that the edge adds.
    n_rows : int or None
        Number of rows of the data in which the child and all its parents have values; None without data.
    gain : float or None
        Log probability of the child in these rows with the edge minus that without it, in nats for all of them. Each
        row is left out of the counts for its own probability, so an edge that only fits noise gains less than 0.
    """

    edge: tuple[str, str]
    mutual_information: float
    removal_cost: float
    n_parameters: int
    n_rows: int | None = None
    gain: float | None = None

    def __str__(self) -> str:
        parent, child = map(shown_name, self.edge)
        lines = [
            f"{parent} → {child}: {amount(max(self.mutual_information, 0.0), 3)} nats of mutual information.",
            f"Removing it costs {amount(max(self.removal_cost, 0.0), 3)} nats per row and saves "
            f"{counted(self.n_parameters, 'free parameter')}.",
        ]
        if self.gain is not None and self.n_rows is not None:
            verb = "gains" if self.gain >= 0 else "loses"
            rows = counted(self.n_rows, "row")
            lines.append(f"On {rows}, each left out in turn, it {verb} {amount(abs(self.gain), 3)} nats.")
        return "\n".join(lines)


def why(
    network: NetworkLike,
    edge: Sequence[str],
    data: pd.DataFrame | Table | str | os.PathLike[str] | None = None,
) -> EdgeReasons:
    """Return what an edge is worth; see `DiscretizedBayesNet.why`."""
    from gomea_bn.network.inference.elimination import ExactEngine
    from gomea_bn.network.inference.question import Evidence

    pair = tuple(names_in("edge", edge))
    if pair not in network.edges:
        reverse = " It has the reverse." if pair[::-1] in network.edges else ""
        raise GomeaBnError(
            f"edge must be an edge (parent, child) of the network, got {edge!r:.120}.{reverse}"
        )
    parent, child = pair
    parents = network.parents(child)
    positions = [network.names.index(name) for name in parents]
    unknown = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
    try:
        of_parents = ExactEngine(network).joint(unknown, positions).tables[0]
    except GomeaBnError as error:
        # its advice is for questions
        raise GomeaBnError(
            f"What the edge {parent} → {child} is worth needs tables over the {len(parents)} parents of '{child}' that "
            "are too large."
        ) from error
    family = (
        of_parents.reshape([network.cardinality(name) for name in parents])[..., None] * network.tables[child]
    )
    axis = parents.index(parent)
    pair = family.sum(axis=tuple(i for i in range(len(parents)) if i != axis))
    gain, n_rows = (None, None) if data is None else _gain(network, parent, child, data)
    n_added = family.size // network.cardinality(parent) * (network.cardinality(parent) - 1)
    n_states = network.cardinality(child)
    return EdgeReasons(
        edge=(parent, child),
        mutual_information=_conditional_information(pair, 0),
        removal_cost=_conditional_information(family, axis),
        n_parameters=n_added * (n_states - 1) // n_states,
        n_rows=n_rows,
        gain=gain,
    )


def _conditional_information(family: NDArray[np.float64], axis: int) -> float:
    """Return the mutual information of one axis and the last axis given all others, in nats."""
    of_parents = family.sum(axis=-1, keepdims=True)
    without = family.sum(axis=axis, keepdims=True)
    others = without.sum(axis=-1, keepdims=True)
    # cells of probability 0 add nothing
    cells = family > 0
    ratios = (family * others)[cells] / (of_parents * without)[cells]
    return max(0.0, float(family[cells] @ np.log(ratios)))


def _gain(
    network: NetworkLike, parent: str, child: str, data: pd.DataFrame | Table | str | os.PathLike[str]
) -> tuple[float, int]:
    """Return the log probability that the edge adds to a column, in nats, and the number of rows with its family."""
    table = table_for(network, data, allow_missing=True)
    names = [*network.parents(child), child]
    columns = [table.columns[network.names.index(name)] for name in names]
    is_complete = ~np.logical_or.reduce([column.is_missing for column in columns])
    if not is_complete.any():
        raise GomeaBnError(f"No row of the data has values of '{child}' and of all its parents.")
    cuts = network.cut_points
    codes = [
        (coded_bins(column.values, cuts[column.name]).codes if column.is_continuous else column.values)[
            is_complete
        ]
        for column in columns
    ]
    cards = [network.cardinality(name) for name in names]
    parents = list(range(len(names) - 1))
    # without pseudo-counts a row that is left out may have probability 0
    logs = []
    for chosen in (parents, [position for position in parents if names[position] != parent]):
        members = [child, *(names[position] for position in chosen)]
        smoothing = smoothing_of(network.pseudo_count or "auto", network.metadata, network.levels, members)
        _, left_out = table_and_left_out(codes, chosen, len(parents), cards, smoothing, child)
        logs.append(float(np.log(left_out).sum()))
    return logs[0] - logs[1], int(is_complete.sum())
