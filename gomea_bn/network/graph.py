"""Directed acyclic graphs: orders, the error for a cycle, ancestors, blankets, separation and back-door sets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from gomea_bn.errors import GomeaBnError

Parents = Mapping[str, Sequence[str]]
Node = TypeVar("Node", bound=Hashable)


def topological_order(parents: Sequence[Sequence[int]], names: Sequence[str]) -> tuple[int, ...]:
    """Return the nodes in an order in which every parent comes before its children; raises for a cycle.

    The order is that of Kahn's algorithm with a queue: nodes without parents by position, then each node when the last
    of its parents is taken. Sampling draws variables in this order, so seeds depend on it.
    """
    return tuple(node for layer in _ready_layers(parents, names) for node in layer)


def layers(parents: Sequence[Sequence[int]], names: Sequence[str]) -> list[list[int]]:
    """Return the nodes by the length of the longest path that leads to them, each layer in increasing order."""
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


def reachable(neighbours: Mapping[Node, Iterable[Node]], starts: Iterable[Node]) -> set[Node]:
    """Return the starts and all nodes that paths lead to; if the neighbours are parents, the ancestors."""
    visited: set[Node] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in visited:
            visited.add(node)
            waiting += neighbours[node]
    return visited


def markov_blanket(parents: Parents, node: str) -> set[str]:
    """Return the parents, the children and the other parents of the children of a node."""
    children = {child for child, its_parents in parents.items() if node in its_parents}
    others = {other for child in children for other in parents[child]}
    return (set(parents[node]) | children | others) - {node}


def are_separated(parents: Parents, first: set[str], second: set[str], given: set[str]) -> bool:
    """Return whether two sets of nodes are d-separated by a third one.

    They are if no path joins them in the moral graph of the ancestors of all three sets without the third set
    (Lauritzen, Dawid, Larsen & Leimer, "Independence properties of directed Markov fields", 1990).
    """
    relevant = reachable(parents, first | second | given)
    neighbours: dict[str, set[str]] = {node: set() for node in relevant - given}
    for child in relevant:
        family = {child, *parents[child]} - given
        for node in family:
            neighbours[node] |= family
    return not reachable(neighbours, first) & second


def on_paths(parents: Parents, start: str, end: str) -> set[str]:
    """Return the nodes on directed paths from one node to another, both included; empty if there is no path."""
    children: dict[str, list[str]] = {node: [] for node in parents}
    for child, its_parents in parents.items():
        for parent in its_parents:
            children[parent].append(child)
    after, before = reachable(children, [start]), reachable(parents, [end])
    return after & before


def back_door_set(parents: Parents, cause: str, outcome: str) -> set[str]:
    """Return a minimal set of nodes that closes every back-door path from a cause to a node that it leads to.

    The set is a part of the parents of the nodes on the directed paths, those without the cause (Henckel, Perkovic &
    Maathuis, "Graphical criteria for efficient total effect estimation via adjustment in causal linear models", 2022):
    nodes next to the outcome leave smaller errors than those next to the cause. The order of nodes has no effect.
    """
    after = on_paths(parents, cause, outcome) - {cause}
    # without the arrows out of the cause only back-door paths are left
    rest = {node: [parent for parent in of_node if parent != cause] for node, of_node in parents.items()}
    chosen = {parent for node in after for parent in rest[node]} - after
    # one round may free nodes that an earlier one needed
    while spare := [
        node for node in sorted(chosen) if are_separated(rest, {cause}, {outcome}, chosen - {node})
    ]:
        chosen.remove(spare[0])
    return chosen


def requisite_tables(parents: Parents, target: str, known: set[str], hinted: set[str]) -> set[str]:
    """Return the nodes whose tables the distribution of a target depends on, given what is known.

    Of the `hinted` nodes something is known, of the `known` ones their value. A table counts like a further parent of
    its node that is not d-separated from the target (Shachter, "Bayes-ball", 1998).
    """
    relevant = reachable(parents, {target} | known | hinted)
    families = {child: {child, *parents[child]} - known for child in relevant}
    neighbours: dict[str, set[str]] = {node: set() for node in relevant - known}
    for family in families.values():
        for node in family:
            neighbours[node] |= family
    near = reachable(neighbours, {target})
    return {child for child, family in families.items() if family & near}
