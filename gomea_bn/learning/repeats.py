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
from gomea_bn.network.edges import equivalence_class
from gomea_bn.network.recorded import STABILITY_WORDS
from gomea_bn.network.tables import edge_texts
from gomea_bn.runtime.files import head_of, written
from gomea_bn.texts import counted, listed, percent, shown_name

Edge: TypeAlias = tuple[str, str]

_STAYS, _OFTEN = 0.9, 0.5
_MOST_LISTED = 12


@dataclass(frozen=True, slots=True)
class EdgeStability:
    """How often repeated searches found an edge, or the more frequent direction of an edge that the network lacks.

    `arc` and `adjacent` are the shares of the repeated networks with this edge, and with an edge in either direction. A
    reversible edge has a direction that the network's independences leave open.
    """

    parent: str
    child: str
    arc: float
    adjacent: float
    in_network: bool
    reversible: bool


@dataclass(frozen=True, slots=True)
class CutStability:
    """A cut of the network, and where repeated searches had it.

    `share` is that of the repeated networks with a cut nearer to this one than to any other of the network, and to the
    ends of the column. `low` and `high` are the least and greatest of their nearest cuts, None without any.
    """

    cut: float
    share: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ColumnStability:
    """Numbers of bins of a continuous column in the network and in every repeated one, and the cuts of the network."""

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
        head = {**head_of("gomea-bn stability"), "summary": self.summary()}
        content = {**head, **asdict(self)}
        return written(json.dumps(content, indent=1, allow_nan=False) + "\n", path)

    def paragraphs(self) -> list[str]:
        """Return the agreement as sentences that a report can quote, one paragraph per subject."""
        staying, moving, missing = self.staying, self.moving, self.missing
        n_edges = len(staying) + len(moving)
        parts = [
            f"Learned again {counted(self.n_networks, 'time')}, each time from random 63 % of the rows and with a new "
            'seed. What the network shares with at least 90 % of these networks "stays". Fewer rows show less, so that '
            "what comes and goes may be weak rather than wrong."
        ]
        if not n_edges:
            parts.append("The network has no edges.")
        of_all = f"of the network's {counted(n_edges, 'edge')}"
        if staying:
            verb = "stays" if len(staying) == 1 else "stay"
            parts.append(f"{len(staying)} {of_all} {verb}, in either direction: {_listed_edges(staying)}.")
        if moving:
            verbs = "comes and goes" if len(moving) == 1 else "come and go"
            tentative = f"{verbs}, and should be called tentative"
            parts.append(f"{len(moving)} {of_all} {tentative}: {_listed_edges(moving)}.")
        if missing:
            instead = ", perhaps in place of edges that come and go" if moving else ""
            found = (
                f"At least half of the repeats have {counted(len(missing), 'edge')} that this network lacks"
            )
            parts.append(f"{found}{instead}: {_listed_edges(missing)}.")
        return parts + _bin_paragraphs(self.columns) + _cut_paragraphs(self.columns)

    def to_text(self) -> str:
        """Return the agreement in words."""
        return "\n".join(self.paragraphs())

    __str__ = to_text

    def recorded_network(self, network: DiscretizedBayesNet) -> DiscretizedBayesNet:
        """Return a network with these words in its metadata, from which its page takes them."""
        return network.with_metadata(**{STABILITY_WORDS: self.paragraphs()})


def _listed_edges(edges: Sequence[EdgeStability]) -> str:
    return listed(map(_edge_words, edges), _MOST_LISTED)


def _edge_words(edge: EdgeStability) -> str:
    """Return an edge with its share, and how often it has the same direction."""
    words = f"{shown_name(edge.parent)} → {shown_name(edge.child)} ({_share_words(edge.adjacent)}"
    if edge.adjacent > 0 and edge.arc < edge.adjacent:
        same = percent(edge.arc / edge.adjacent)
        same = f"only {same}" if edge.arc < edge.adjacent / 2 else same
        words += f", {same} of them in this direction" if edge.arc > 0 else ", always in the other direction"
        words += ", which the rows leave open" if edge.reversible else ""
    return words + ")"


def _share_words(share: float) -> str:
    return f"{percent(share)} of the repeats" if share else "no repeat"


def _bin_paragraphs(columns: Sequence[ColumnStability]) -> list[str]:
    """Return which columns keep their number of bins, and between which numbers it moves in others."""
    constant = [column for column in columns if set(column.n_bins_repeated) == {column.n_bins}]
    moved = [column for column in columns if set(column.n_bins_repeated) != {column.n_bins}]
    parts = []
    if constant:
        names = [f"{shown_name(column.name)} ({column.n_bins})" for column in constant]
        parts.append(f"The same number of bins in all repeats: {listed(names, _MOST_LISTED)}.")
    if moved:
        names = [
            f"{shown_name(column.name)} ({column.n_bins} here, {_range(column.n_bins_repeated)} in the repeats)"
            for column in moved
        ]
        parts.append(f"Another number of bins in some repeats: {listed(names, _MOST_LISTED)}.")
    return parts


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _cut_paragraphs(columns: Sequence[ColumnStability]) -> list[str]:
    """Return which cuts stay and which move, with the range of their values in the repeats."""
    cuts = [(column.name, cut) for column in columns for cut in column.cuts]
    staying = [_cut_words(name, cut) for name, cut in cuts if cut.share >= _STAYS]
    moving = [
        f"{_cut_words(name, cut)} in {_share_words(cut.share)}" for name, cut in cuts if cut.share < _STAYS
    ]
    parts = []
    if staying:
        parts.append(f"Cuts that stay, and where they lie: {listed(staying, _MOST_LISTED)}.")
    if moving:
        parts.append(f"Cuts that come and go: {listed(moving, _MOST_LISTED)}.")
    return parts


def _cut_words(name: str, cut: CutStability) -> str:
    words = f"{shown_name(name)} at {cut.cut:.4g}"
    if cut.low is None or cut.high is None:
        return words
    range_of_cuts = " to ".join(edge_texts([cut.low, cut.high])) if cut.low < cut.high else f"{cut.low:.4g}"
    return f"{words} ({range_of_cuts})"


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
    columns = tuple(_column(network, repeated, name) for name in network.names if name in network.cut_points)
    return Stability(len(repeated), tuple(_edges(network, repeated)), columns)


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
    edges = np.concatenate(([network.support[name][0]], cuts, [network.support[name][1]]))
    # half-way to the neighbouring cuts and to the ends of the column
    middles = (edges[1:] + edges[:-1]) / 2
    nearest: list[list[float]] = [[] for _ in cuts]
    for other in repeated:
        if len(cuts):
            inside = other.cut_points[name]
            inside = inside[(inside >= middles[0]) & (inside <= middles[-1])]
            owners = np.searchsorted(middles[1:-1], inside)
            for k in np.unique(owners).tolist():
                of_cut = inside[owners == k]
                nearest[k].append(float(of_cut[np.argmin(np.abs(of_cut - cuts[k]))]))
    return ColumnStability(
        name=name,
        n_bins=network.cardinality(name),
        n_bins_repeated=tuple(other.cardinality(name) for other in repeated),
        cuts=tuple(
            CutStability(
                float(cut), len(values) / len(repeated), min(values, default=None), max(values, default=None)
            )
            for cut, values in zip(cuts, nearest, strict=True)
        ),
    )
