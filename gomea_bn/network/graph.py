"""Orders of a directed acyclic graph, and the error for a graph that has a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from gomea_bn.errors import GomeaBnError

__all__ = ["layers", "topological_order"]


def topological_order(parents: Sequence[Sequence[int]], names: Sequence[str]) -> tuple[int, ...]:
    """Return the nodes in an order in which every parent comes before its children.

    The order is that of Kahn's algorithm with a queue: nodes without parents by position, then each node when the last
    of its parents is taken. Sampling draws variables in this order, so seeds depend on it.

    Parameters
    ----------
    parents : sequence of sequence of int
        Positions of the parents of every node.
    names : sequence of str
        Names of the nodes, for messages.

    Raises
    ------
    GomeaBnError
        For a graph with a cycle; the message names its nodes.
    """
    return tuple(node for layer in _ready_layers(parents, names) for node in layer)


def layers(parents: Sequence[Sequence[int]], names: Sequence[str]) -> list[list[int]]:
    """Return the nodes by the length of the longest path that leads to them, each layer in increasing order.

    Parameters and errors are those of `topological_order`.
    """
    return [sorted(layer) for layer in _ready_layers(parents, names)]


def _ready_layers(parents: Sequence[Sequence[int]], names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    # nodes first: the sorter keeps the order in which it meets them
    sorter = TopologicalSorter[int](dict.fromkeys(range(len(parents)), ()))
    for node, node_parents in enumerate(parents):
        sorter.add(node, *node_parents)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = " → ".join(names[node] for node in error.args[1])
        raise GomeaBnError(f"The edges contain the cycle {cycle}.") from error
    while sorter.is_active():
        layer = sorter.get_ready()
        yield layer
        sorter.done(*layer)
