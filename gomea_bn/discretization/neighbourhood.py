"""The graph around a column, and columns as codes: what a discretizer of one column sees of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.checks import check_edges
from gomea_bn.network.graph import topological_order
from gomea_bn.problems.policies import midpoint

__all__ = [
    "CodedColumn",
    "CodedFamily",
    "Graph",
    "Neighbourhood",
    "Network",
    "candidate_cuts",
    "coded_bins",
    "joint_codes",
]

Network = DiscretizedBayesNet | Iterable[tuple[str, str]]
"""A network, or the (parent, child) pairs of a graph."""


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """A column as bins or levels: int32 codes of shape (n_rows,), and how many there can be."""

    codes: NDArray[np.int32]
    cardinality: int


@dataclass(frozen=True, slots=True)
class CodedFamily:
    """A child of the column that is cut, with the child's other parents."""

    child: CodedColumn
    spouses: tuple[CodedColumn, ...]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The Markov blanket of one column, coded, as a discretizer of that column sees it."""

    parents: tuple[CodedColumn, ...]
    families: tuple[CodedFamily, ...]

    @property
    def is_empty(self) -> bool:
        """True without parents and children."""
        return not self.parents and not self.families


@dataclass(frozen=True)
class Graph:
    """A directed graph without cycles over the columns of a table.

    Attributes
    ----------
    names : tuple of str
        The columns in order.
    parents : tuple of tuple of int
        Sorted positions of every column's parents.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, network: Network | None, names: tuple[str, ...]) -> Graph:
        """Return the graph of a network or of (parent, child) pairs over columns; None has no edges.

        Raises
        ------
        GomeaBnError
            For a name that is no column, a doubled edge or a cycle.
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
            return cls(names, check_edges(network.edges, names))
        if isinstance(network, str) or not isinstance(network, Iterable):
            raise GomeaBnError(
                "network must be a DiscretizedBayesNet or a list of (parent, child) names, got "
                f"{type(network).__name__}; read a file with DiscretizedBayesNet.from_json(path)."
            )
        return cls(names, check_edges([_named(edge) for edge in network], names))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Sorted positions of every column's children."""
        return tuple(
            tuple(c for c, found in enumerate(self.parents) if v in found) for v in range(len(self.names))
        )

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) names, by child and then parent in column order."""
        return [(self.names[p], self.names[c]) for c, found in enumerate(self.parents) for p in found]

    def reverse_topological_order(self) -> list[int]:
        """Return the positions with every child before its parents."""
        return list(topological_order(self.parents, self.names))[::-1]

    def blanket(self, v: int) -> set[int]:
        """Return the positions of a column's Markov blanket: parents, children and the children's parents."""
        found = {*self.parents[v], *self.children[v]}
        for child in self.children[v]:
            found.update(self.parents[child])
        return found - {v}

    def neighbourhood(self, v: int, coded: Sequence[CodedColumn]) -> Neighbourhood:
        """Return the coded parents, children and spouses of a column."""
        families = tuple(
            CodedFamily(coded[c], tuple(coded[s] for s in self.parents[c] if s != v))
            for c in self.children[v]
        )
        return Neighbourhood(tuple(coded[p] for p in self.parents[v]), families)


def _named(edge: Any) -> Any:
    """Return an edge with its ends as text, as the columns' names are; what is no pair stays for the error."""
    return tuple(map(str, edge)) if isinstance(edge, (tuple, list)) else edge


def coded_bins(values: NDArray[np.float64], cut_points: NDArray[np.float64]) -> CodedColumn:
    """Return the bin of every value; a value equal to a cut goes to the lower bin."""
    codes = np.searchsorted(cut_points, values, side="left").astype(np.int32)
    return CodedColumn(codes, len(cut_points) + 1)


def joint_codes(columns: Sequence[CodedColumn], n_rows: int) -> tuple[NDArray[np.int32], int, float]:
    """Return joint codes (n_rows,), up to how many they are numbered, and how many configurations there are.

    Where the configurations outnumber the rows, only those that occur are numbered.
    """
    n_all = float(np.prod([float(one.cardinality) for one in columns]))
    joint = np.zeros(n_rows, np.int64)
    n_numbered = 1
    for one in columns:
        joint = joint * one.cardinality + one.codes
        n_numbered *= one.cardinality
        if n_numbered > 2 * n_rows + 1024:
            distinct, joint = np.unique(joint, return_inverse=True)
            n_numbered = len(distinct)
    return joint.astype(np.int32), n_numbered, n_all


def candidate_cuts(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mid-points between neighbouring distinct values, strictly inside their range, ascending."""
    distinct = np.unique(values)
    cuts = midpoint(distinct[:-1], distinct[1:])
    kept: NDArray[np.float64] = cuts[cuts > distinct[0]]
    return kept
