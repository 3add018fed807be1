"""Probabilities of edges that a network carries in its metadata, for drawings, files and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gomea_bn.errors import is_real
from gomea_bn.network.recorded_columns import counted_parents

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["EDGE_PROBABILITIES", "EdgeProbability", "recorded_edge_probabilities"]

EDGE_PROBABILITIES = "edge_probabilities"
"""Entry of a network's metadata, which `EdgeProbabilities.recorded_network` writes."""


class EdgeProbability(NamedTuple):
    """Posterior probability of an edge in its direction, and of an edge in either direction."""

    arc: float
    adjacent: float


def recorded_edge_probabilities(network: NetworkLike) -> dict[tuple[str, str], EdgeProbability]:
    """Return the recorded probabilities of the edges of a network; empty if none were recorded.

    Edges that only curves need have none. Damaged entries are left out.
    """
    pairs = _pairs(network.metadata.get(EDGE_PROBABILITIES))
    if pairs is None:
        return {}
    counted = {
        (parent, child)
        for child, parents in zip(network.names, counted_parents(network), strict=True)
        for parent in parents
    }
    probabilities = {}
    for parent, child in network.edges:
        if (parent, child) in counted:
            arc, reverse = pairs.get((parent, child), 0.0), pairs.get((child, parent), 0.0)
            probabilities[parent, child] = EdgeProbability(arc, min(arc + reverse, 1.0))
    return probabilities


def _pairs(record: Any) -> dict[tuple[str, str], float] | None:
    """Return the probability of every recorded edge, None without a record."""
    if not isinstance(record, dict) or not isinstance(record.get("pairs"), list):
        return None
    arcs: dict[tuple[str, str], float] = {}
    for pair in record["pairs"]:
        if (
            not isinstance(pair, list)
            or len(pair) != 4
            or not all(isinstance(name, str) for name in pair[:2])
        ):
            continue
        if all(is_real(value) and 0 <= value <= 1 for value in pair[2:]):
            arcs[pair[0], pair[1]], arcs[pair[1], pair[0]] = map(float, pair[2:])
    return arcs
