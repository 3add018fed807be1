"""What stays and what moves if a network is learned again from parts of the rows, as values and in words."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.equivalence import equivalence_class
from gomea_bn.runtime.atomic_files import write_text
from gomea_bn.texts import counted, listed, percent, shown_name

__all__ = ["ColumnStability", "CutStability", "EdgeStability", "Stability", "stability"]

Edge: TypeAlias = tuple[str, str]

_STAYS, _OFTEN = 0.9, 0.5
_MOST_LISTED = 12


@dataclass(frozen=True, slots=True)
class EdgeStability:
    """How often repeated searches found an edge.

    Attributes
    ----------
    parent, child : str
        The edge in the network, or the more frequent direction of an edge that it lacks.
    arc, adjacent : float
        Share of the repeated networks with this edge, and with an edge in either direction.
    in_network : bool
        Whether the network has the edge.
    reversible : bool
        Whether the network's independences leave the direction open.
    """

    parent: str
    child: str
    arc: float
    adjacent: float
    in_network: bool
    reversible: bool


@dataclass(frozen=True, slots=True)
class CutStability:
    """Where repeated searches had a cut.

    Attributes
    ----------
    cut : float
        The cut of the network.
    share : float
        Share of the repeated networks with a cut nearer to this one than to any other of the network.
    low, high : float or None
        Least and greatest of their nearest cuts; None without any.
    """

    cut: float
    share: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ColumnStability:
    """Bins of a continuous column in repeated searches.

    Attributes
    ----------
    name : str
    n_bins : int
        Number of bins in the network.
    n_bins_repeated : tuple of int
        Number of bins in every repeated network.
    cuts : tuple of CutStability
        One per cut of the network.
    """

    name: str
    n_bins: int
    n_bins_repeated: tuple[int, ...]
    cuts: tuple[CutStability, ...]


@dataclass(frozen=True, slots=True)
class Stability:
    """Agreement of a network with networks that were learned from parts of the rows.

    Attributes
    ----------
    n_networks : int
        Number of repeated networks.
    edges : tuple of EdgeStability
        Edges of the network, and pairs without one that a repeated network joins; most frequent first.
    columns : tuple of ColumnStability
        Continuous columns in the order of the network.
    """

    n_networks: int
    edges: tuple[EdgeStability, ...]
    columns: tuple[ColumnStability, ...]

    @property
    def staying(self) -> list[EdgeStability]:
        """Edges of the network that at least 90 % of the repeated networks have in either direction."""
        return [edge for edge in self.edges if edge.in_network and edge.adjacent >= _STAYS]

    @property
    def moving(self) -> list[EdgeStability]:
        """Edges of the network that fewer than 90 % of the repeated networks have."""
        return [edge for edge in self.edges if edge.in_network and edge.adjacent < _STAYS]

    @property
    def missing(self) -> list[EdgeStability]:
        """Edges that the network lacks, and at least half of the repeated networks have."""
        return [edge for edge in self.edges if not edge.in_network and edge.adjacent >= _OFTEN]

    def summary(self) -> dict[str, int]:
        """Return the numbers of repeated networks, of edges by kind, and of columns whose number of bins changes."""
        return {
            "n_networks": self.n_networks,
            "edges that stay": len(self.staying),
            "edges that come and go": len(self.moving),
            "edges found only by repeats": len(self.missing),
            "columns with another number of bins": sum(
                any(n != column.n_bins for n in column.n_bins_repeated) for column in self.columns
            ),
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the values as JSON text; write it to `path` if given."""
        content = {
            "format": "gomea-bn stability",
            "format_version": 1,
            "summary": self.summary(),
            **asdict(self),
        }
        text = json.dumps(content, indent=1, allow_nan=False) + "\n"
        if path is not None:
            write_text(path, text)
        return text

    def to_text(self) -> str:
        """Return the agreement in words."""
        n = self.n_networks
        lines = [
            f"Learned again {counted(n, 'time')}, each time from random 63 % of the rows and with a new seed:",
            *_edge_lines(
                f"Stable: {counted(len(self.staying), 'edge')} in at least 90 % of the networks.",
                self.staying,
            ),
            *_edge_lines(f"Unstable: {counted(len(self.moving), 'edge')} in fewer.", self.moving),
        ]
        if self.missing:
            title = "Found by at least half of the networks, but not by this one: "
            lines += _edge_lines(title + f"{counted(len(self.missing), 'edge')}.", self.missing)
        lines += [f"  {_column_line(column)}" for column in self.columns]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def _edge_lines(title: str, edges: Sequence[EdgeStability]) -> list[str]:
    lines = [f"  {title}"]
    for edge in edges[:_MOST_LISTED]:
        direction = ""
        if edge.adjacent > 0:
            same = edge.arc / edge.adjacent
            open_ = ", which the rows leave open" if edge.reversible else ""
            if same == 0:
                direction = f"; always in the other direction{open_}"
            elif same < 1:
                direction = f"; in this direction in {percent(same)} of them{open_}"
        lines.append(
            f"    {shown_name(edge.parent)} → {shown_name(edge.child)}: in {percent(edge.adjacent)}{direction}"
        )
    if len(edges) > _MOST_LISTED:
        lines.append(f"    and {len(edges) - _MOST_LISTED} more")
    return lines


def _column_line(column: ColumnStability) -> str:
    """Return the number of bins and the cuts of a column in words."""
    low, high = min(column.n_bins_repeated), max(column.n_bins_repeated)
    repeated = f"always {low}" if low == high else f"{low} to {high}"
    bins = f"{shown_name(column.name)}: {counted(column.n_bins, 'bin')}, {repeated} when repeated"
    cuts = [
        f"{cut.cut:.4g} ({percent(cut.share)}"
        + (f", {cut.low:.4g} to {cut.high:.4g})" if cut.low is not None and cut.high is not None else ")")
        for cut in column.cuts
    ]
    return f"{bins}; cuts {listed(cuts, _MOST_LISTED)}." if cuts else f"{bins}."


def stability(network: DiscretizedBayesNet, repeated: Sequence[DiscretizedBayesNet]) -> Stability:
    """Return what of a network stays and what moves among networks that were learned from parts of its rows.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    repeated : sequence of DiscretizedBayesNet
        Networks over the same variables, at least one, such as `BayesNetEnsemble.networks_`.

    Raises
    ------
    GomeaBnError
        For no repeated network, and for other variables.
    """
    if not repeated:
        raise GomeaBnError("repeated must hold at least one network.")
    for position, other in enumerate(repeated):
        if other.names != network.names:
            raise GomeaBnError(
                f"repeated[{position}] must have the variables of the network "
                f"({listed(map(repr, network.names), 5)}), got {listed(map(repr, other.names), 5)}."
            )
    return Stability(
        n_networks=len(repeated),
        edges=tuple(_edges(network, repeated)),
        columns=tuple(
            _column(network, repeated, name) for name in network.names if name in network.cut_points
        ),
    )


def _edges(network: DiscretizedBayesNet, repeated: Sequence[DiscretizedBayesNet]) -> list[EdgeStability]:
    names, own = network.names, network.adjacency_matrix
    arcs = np.mean([other.adjacency_matrix for other in repeated], axis=0)
    reversible = set(equivalence_class(network).reversible)
    edges = []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            if own[i, j] or own[j, i]:
                parent, child = (i, j) if own[i, j] else (j, i)
            elif arcs[i, j] + arcs[j, i] > 0:
                parent, child = (i, j) if arcs[i, j] >= arcs[j, i] else (j, i)
            else:
                continue
            edge = names[parent], names[child]
            adjacent = float(arcs[i, j] + arcs[j, i])
            edges.append(
                EdgeStability(
                    *edge, float(arcs[parent, child]), adjacent, bool(own[parent, child]), edge in reversible
                )
            )
    return sorted(edges, key=lambda edge: -edge.adjacent)


def _column(
    network: DiscretizedBayesNet, repeated: Sequence[DiscretizedBayesNet], name: str
) -> ColumnStability:
    cuts = network.cut_points[name]
    middles = (cuts[1:] + cuts[:-1]) / 2
    nearest: list[list[float]] = [[] for _ in cuts]
    for other in repeated:
        if len(cuts):
            owners = np.searchsorted(middles, other.cut_points[name])
            for k in np.unique(owners).tolist():
                of_cut = other.cut_points[name][owners == k]
                nearest[k].append(float(of_cut[np.argmin(np.abs(of_cut - cuts[k]))]))
    return ColumnStability(
        name=name,
        n_bins=network.cardinality(name),
        n_bins_repeated=tuple(other.cardinality(name) for other in repeated),
        cuts=tuple(
            CutStability(
                float(cut),
                len(values) / len(repeated),
                min(values, default=None),
                max(values, default=None),
            )
            for cut, values in zip(cuts, nearest, strict=True)
        ),
    )
