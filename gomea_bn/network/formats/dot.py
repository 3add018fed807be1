"""Graphs as DOT text of Graphviz: writing that of a network, and reading names and edges."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection

from gomea_bn.network.formats.discrete import TokenReader, one_line
from gomea_bn.network.recorded import NetworkLike, recorded_edge_probabilities
from gomea_bn.runtime.files import file_text, named_source, prefixed_errors
from gomea_bn.texts import counted


def to_dot(network: NetworkLike, *, cpdag: bool = False) -> str:
    """Return the graph as DOT text.

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
    reversible: Collection[tuple[str, str]] = ()
    if cpdag:
        from gomea_bn.network.edges import equivalence_class

        reversible = equivalence_class(network).reversible
    probabilities = recorded_edge_probabilities(network)
    for edge in network.edges:
        attributes = ["dir=none"] if edge in reversible else []
        if edge in probabilities:
            adjacent = probabilities[edge].adjacent
            attributes += [f"penwidth={0.5 + 2.5 * adjacent:.2f}", f'label="{adjacent:.2f}"']
        of_edge = f" [{', '.join(attributes)}]" if attributes else ""
        lines.append(f"  n{index[edge[0]]} -> n{index[edge[1]]}{of_edge};")
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(name: str) -> str:
    """Return a name with the characters escaped that have a meaning in a quoted DOT label."""
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    plain = plain.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n").replace("\0", "")
    # DOT reads HTML entities in labels
    return plain.replace("&", "&amp;")


_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/ | ^\#[^\n]*)
    | (?P<quoted>"(?:[^"\\]|\\.)*")
    | (?P<edge>->|--)
    | (?P<mark>[{}\[\];,=:])
    | (?P<word>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)|[^\s{}\[\];,=:"\-]+)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# what gomea-bn puts below a name in the label of a node
_STATES = re.compile(r"\\n[0-9,]+ (?:bin|level)s?$")


def read_dot_graph(path: str | os.PathLike[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the names and the edges (parent, child) of a directed graph in DOT.

    Nodes are named by their identifiers, in the order in which they occur; in files that gomea-bn wrote by their
    labels. Attributes of other programs are ignored. Edges without an arrowhead (dir=none) keep their direction. Files
    that are not one directed graph, or have sub-graphs or ports, are refused with the line.
    """
    text = file_text(path, "a DOT file")
    with prefixed_errors(named_source(path)):
        reader = _Reader(text)
        reader.read()
    names = {node: reader.labels.get(node, node) for node in reader.nodes}
    if len(reader.labels) < len(names) or len(set(names.values())) < len(names):
        names = {node: node for node in reader.nodes}
    edges = [(names[parent], names[child]) for parent, child in reader.edges]
    return list(names.values()), edges


class _Reader(TokenReader):
    """The tokens of a text, and the nodes, edges and labels read so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _TOKEN)
        self.nodes: dict[str, None] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.labels: dict[str, str] = {}

    def read(self) -> None:
        """Read the graph."""
        word = self.take() if self.tokens else ""
        if word.lower() == "strict":
            word = self.take()
        if word.lower() != "digraph":
            self.fail(f"wanted digraph, got {word!r:.60}")
        if self.peek() != "{":
            self.take()
        if self.take() != "{":
            self.fail("wanted { after the name of the graph")
        while (token := self.take()) != "}":
            if token != ";":
                self.statement(token)
        if self.peek():
            self.position += 1
            self.fail(
                f"wanted the end of the text after the graph, got {self.tokens[self.position - 1][0]!r:.60}"
            )

    def statement(self, token: str) -> None:
        """Read a node, edges, defaults or an attribute of the graph."""
        if token in ("{", "subgraph"):
            self.fail("sub-graphs cannot be read")
        if token.lower() in ("graph", "node", "edge") and self.peek() == "[":
            self.attributes()
            return
        if self.peek() == "=":
            self.take()
            self.take()
            return
        chain = [self.identifier(token)]
        while self.peek() in ("->", "--", ":"):
            if (link := self.take()) != "->":
                self.fail(
                    "ports cannot be read" if link == ":" else "wanted ->, got --: edges need a direction"
                )
            chain.append(self.identifier(self.take()))
        attributes = self.attributes() if self.peek() == "[" else {}
        self.nodes |= dict.fromkeys(chain)
        self.edges |= dict.fromkeys(itertools.pairwise(chain))
        label = attributes.get("label", "")
        if len(chain) == 1 and _STATES.search(label):
            self.labels[chain[0]] = _unescaped(_STATES.sub("", label))

    def identifier(self, token: str) -> str:
        """Return the name that a token stands for."""
        if token[0] == '"':
            return token[1:-1].replace("\\\n", "").replace('\\"', '"')
        if token in ("{", "}", "[", "]", ";", ",", "=", ":", "->", "--", "subgraph", "-"):
            self.fail(f"wanted a node, got {one_line(token)!r}")
        return token

    def attributes(self) -> dict[str, str]:
        """Return the attributes in brackets; texts keep their escapes."""
        found: dict[str, str] = {}
        self.take()
        while (key := self.take()) != "]":
            if key in (",", ";"):
                continue
            if self.peek() == "=":
                self.take()
                value = self.take()
                found[key] = value[1:-1] if value[0] == '"' else value
        return found


def _unescaped(label: str) -> str:
    """Return the name that gomea-bn has escaped in a label."""
    escapes = {"\\n": "\n", "\\\\": "\\", '\\"': '"'}
    plain = re.sub(r'\\[n\\"]', lambda match: escapes[match.group()], label)
    return plain.replace("&amp;", "&")
