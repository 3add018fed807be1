"""A summary of a network as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.texts import counted, shown_name

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["to_text"]

_SHOWN_BINS = 6


def to_text(network: NetworkLike) -> str:
    """Return a text with counts, then bins or levels and parents of every variable, then the edges."""
    edges = network.edges
    n_bins = sum(len(cuts) + 1 for cuts in network.cut_points.values())
    lines = [
        f"{counted(len(network.names), 'variable')} ({len(network.cut_points)} continuous, "
        f"{len(network.levels)} discrete), {counted(len(edges), 'edge')}, {counted(n_bins, 'bin')}, "
        f"{counted(network.n_parameters, 'free probability', 'free probabilities')}",
        "",
    ]
    shown_names = {name: shown_name(name) for name in network.names}
    width = max(map(len, shown_names.values()))
    for name in network.names:
        unit = "bin" if name in network.cut_points else "level"
        parents = ", ".join(shown_names[parent] for parent in network.parents(name))
        labels = network.bin_labels(name)
        shown = " ".join(labels[:_SHOWN_BINS]) + (" …" if len(labels) > _SHOWN_BINS else "")
        lines.append(f"{shown_names[name]:<{width}}  {counted(len(labels), unit):>9}  {shown}")
        if parents:
            lines.append(f"{'':<{width}}  {'':>9}  given {parents}")
    if edges:
        lines += [
            "",
            "Edges:",
            *(f"  {shown_names[parent]} → {shown_names[child]}" for parent, child in edges),
        ]
    return "\n".join(lines)
