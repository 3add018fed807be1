"""Reading the graph of DOT files of Graphviz: names and edges."""

from __future__ import annotations

import itertools
import os
import re

from gomea_bn.network.formats.discrete.file_variables import one_line
from gomea_bn.network.formats.token_reader import TokenReader
from gomea_bn.runtime.files.text_files import file_text, named_source, prefixed_errors

__all__ = ["read_dot_graph"]

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
_DEFAULTS = ("graph", "node", "edge")
# what gomea-bn puts below a name in the label of a node
_STATES = re.compile(r"\\n[0-9,]+ (?:bin|level)s?$")


def read_dot_graph(path: str | os.PathLike[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the names and the edges (parent, child) of a directed graph in DOT.

    Nodes are named by their identifiers, in the order in which they occur; in files that gomea-bn wrote by their
    labels. Attributes of other programs are ignored. Edges without an arrowhead (dir=none) keep their direction.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read, is not one directed graph, or has sub-graphs or ports; the message names the
        line.
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
        if token.lower() in _DEFAULTS and self.peek() == "[":
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
