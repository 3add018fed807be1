"""Directed acyclic graphs over the named columns of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.graph import topological_order
from gomea_bn.network.parts import check_edges
from gomea_bn.network.recorded import counted_parents
from gomea_bn.problems.cuts.blanket import ParentSets

Network = DiscretizedBayesNet | Iterable[tuple[str, str]]
"""A network, or the (parent, child) pairs of a graph."""


@dataclass(frozen=True)
class ColumnGraph(ParentSets):
    """A directed acyclic graph over the columns of a table; `parents` are ascending positions by column."""

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, network: Network | None, names: tuple[str, ...]) -> ColumnGraph:
        """Return the graph of a network or of (parent, child) pairs over columns; None has no edges.

        Unknown columns, duplicate edges and cycles are refused.
        """
        if network is None:
            return cls(names, ((),) * len(names))
        if isinstance(network, DiscretizedBayesNet):
            for name in network.names:
                if name not in names:
                    raise GomeaBnError(
                        f"The network has the variable '{name}', but the table has no such column."
                        f"{nearest(name, names)}"
                    )
            # rows are counted by the parents that tables need
            edges = [
                (parent, child)
                for child, parents in zip(network.names, counted_parents(network), strict=True)
                for parent in parents
            ]
            return cls(names, check_edges(edges, names))
        if isinstance(network, str) or not isinstance(network, Iterable):
            raise GomeaBnError(
                "network must be a DiscretizedBayesNet or a list of (parent, child) names, got "
                f"{type(network).__name__}; read a file with DiscretizedBayesNet.from_json(path)."
            )
        # ends are text, like names of columns; anything but a pair stays for the error
        pairs: Any = [tuple(map(str, edge)) if isinstance(edge, (tuple, list)) else edge for edge in network]
        return cls(names, check_edges(pairs, names))

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) names, by child and then parent in column order."""
        return [(self.names[p], self.names[c]) for c, parents in enumerate(self.parents) for p in parents]

    def reverse_topological_order(self) -> list[int]:
        """Return the positions with every child before its parents."""
        return list(topological_order(self.parents, self.names))[::-1]
