"""Writing the graph of a network as Graphviz DOT text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gomea_bn.network.edges.equivalence import equivalence_class
from gomea_bn.network.edges.recorded import recorded_edge_probabilities
from gomea_bn.runtime.files.atomic_files import write_text
from gomea_bn.texts import counted

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["to_dot"]


def to_dot(network: NetworkLike, path: str | os.PathLike[str] | None = None, *, cpdag: bool = False) -> str:
    """Return the graph as DOT text, and write it to `path` if given.

    Nodes are n0, n1, ... in column order. Labels hold the name and the number of bins (ellipses) or levels (boxes).
    With `cpdag` an edge that is reversible has no arrowhead.
    Where the network has probabilities of edges, thickness and label are that of an edge in either direction.
    """
    index = {name: position for position, name in enumerate(network.names)}
    lines = ["digraph network {", "  node [fontname=Helvetica];"]
    for name, position in index.items():
        continuous = name in network.cut_points
        states = counted(network.cardinality(name), "bin" if continuous else "level")
        label = f"{_escaped(name)}\\n{states}"
        lines.append(f'  n{position} [label="{label}", shape={"ellipse" if continuous else "box"}];')
    reversible = equivalence_class(network).reversible if cpdag else ()
    probabilities = recorded_edge_probabilities(network)
    for edge in network.edges:
        attributes = ["dir=none"] if edge in reversible else []
        if edge in probabilities:
            adjacent = probabilities[edge].adjacent
            attributes += [f"penwidth={0.5 + 2.5 * adjacent:.2f}", f'label="{adjacent:.2f}"']
        of_edge = f" [{', '.join(attributes)}]" if attributes else ""
        lines.append(f"  n{index[edge[0]]} -> n{index[edge[1]]}{of_edge};")
    text = "\n".join([*lines, "}"]) + "\n"
    if path is not None:
        write_text(path, text)
    return text


def _escaped(name: str) -> str:
    """Return a name with the characters escaped that have a meaning in a quoted DOT label."""
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    plain = plain.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n").replace("\0", "")
    # DOT reads HTML entities in labels
    return plain.replace("&", "&amp;")
