"""NET, the format of Hugin: text and reader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.discrete import (
    PROPERTY_PREFIX,
    Box,
    FileVariable,
    TokenReader,
    ascii_text,
    bin_names,
    distinct_names,
    file_identifier,
    file_variables,
    one_line,
    printable_text,
    table_of_numbers,
)
from gomea_bn.network.recorded import NetworkLike

# words of the format; no node may be called so
_NET_WORDS = re.compile(
    "class|continuous|data|decision|discrete|function|label|model_data|model_nodes|net|node|normal|position|potential|"
    "state_values|states|subtype|temporal|utility"
)

_NET_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | %[^\n]*)
    | (?P<quoted>"[^"]*")
    | (?P<mark>[{}()=;|])
    | (?P<word>[^\s{}()=;|"%]+)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def to_net(network: NetworkLike, boxes: Mapping[str, Box] | None = None) -> str:
    """Return a network as NET text of HUGIN; `boxes` are positions of nodes in pixels.

    Identifiers of nodes keep ASCII letters, digits and "_"; labels show the original names. States are called "up to
    2.5", "2.5 to 4", "above 4", or by their levels in ASCII, with ' for quotes. Continuous variables are interval
    nodes, of which HUGIN knows the ends of the bins: it counts a value that equals a cut to the upper bin. The
    attributes gomea_bn_name, gomea_bn_edges and gomea_bn_levels restore names, bins and levels.
    """
    names = distinct_names(network.names, _net_identifier, fold_case=True)
    bins = partial(bin_names, below="up to {}", between="{} to {}", above="above {}")
    # pyAgrum takes different characters outside of ASCII for the same
    variables = file_variables(network, names, bins, lambda level: _net_text(ascii_text(level)))
    lowest = 0.0 if boxes is None else max((box[3] for box in boxes.values()), default=0.0)
    lines = [
        "% Written by gomea-bn. Bins are (a, b]; a value equal to a cut belongs to the lower bin.",
        "net",
        "{",
        "  node_size = (120 50);",
        "}",
    ]
    for name, variable in zip(network.names, variables, strict=True):
        lines += [f"node {variable.name}", "{", f'  label = "{_net_text(name)}";']
        if boxes is not None:
            left, top, right, bottom = boxes[name]
            # y points upwards in HUGIN
            lines.append(f"  position = ({round((left + right) / 2)} {round(lowest - (top + bottom) / 2)});")
        states = " ".join(f'"{state}"' for state in variable.states)
        lines.append(f"  states = ({states});")
        edges = variable.properties.get("edges", "").split()
        if len(edges) == len(variable.states) + 1:
            lines += ["  subtype = interval;", f"  state_values = ({' '.join(edges)});"]
        lines += [f'  {PROPERTY_PREFIX}{key} = "{value}";' for key, value in variable.properties.items()]
        lines.append("}")
    for variable in variables:
        given = f" | {' '.join(variable.parents)}" if variable.parents else ""
        rows = variable.table.reshape(-1, len(variable.states)).tolist()
        data = "\n    ".join(f"({' '.join(map(repr, row))})" for row in rows)
        lines += [f"potential ({variable.name}{given})", "{", f"  data = ({data});", "}"]
    return "\n".join(lines) + "\n"


def _net_identifier(name: str) -> str:
    """Return an identifier that is no word of the format."""
    text = file_identifier(name)
    return f"x_{text}" if _NET_WORDS.fullmatch(text.lower()) else text


def _net_text(text: str) -> str:
    """Return a text that may stand in quotes."""
    return printable_text(text).replace('"', "'").replace("\\", "/")


def net_variables(text: str) -> list[FileVariable]:
    """Return the variables of NET text, in the order of the nodes; errors name line and node."""
    reader = _NetReader(text)
    reader.read()
    variables = []
    for name, attributes in reader.nodes.items():
        if name not in reader.tables:
            raise GomeaBnError(f"node '{one_line(name)}' has no potential.")
        parents, words, position = reader.tables[name]
        reader.position = position
        for member in (name, *parents):
            if member not in reader.nodes:
                reader.fail(f"potential of '{one_line(name)}': unknown node '{one_line(member)}'")
        shape = [len(reader.states[member]) for member in (*parents, name)]
        try:
            table = table_of_numbers(words, shape, name)
        except GomeaBnError as error:
            reader.fail(str(error).rstrip("."))
        properties = {
            key[len(PROPERTY_PREFIX) :]: " ".join(value)
            for key, value in attributes.items()
            if key.startswith(PROPERTY_PREFIX)
        }
        variables.append(FileVariable(name, tuple(reader.states[name]), tuple(parents), table, properties))
    return variables


class _NetReader(TokenReader):
    """The tokens of a text, and the nodes and tables read so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _NET_TOKEN)
        self.nodes: dict[str, dict[str, list[str]]] = {}
        self.states: dict[str, list[str]] = {}
        # parents, numbers, and the position of the last token
        self.tables: dict[str, tuple[list[str], list[str], int]] = {}

    def read(self) -> None:
        """Read all blocks."""
        if not self.tokens:
            raise GomeaBnError("the file is empty; it is not NET.")
        while self.position < len(self.tokens):
            word = self.take()
            if word == "discrete":
                word = self.take("node")
            if word == "net":
                self.attributes("the net")
            elif word == "node":
                self.node()
            elif word == "potential":
                self.potential()
            elif word in ("class", "continuous", "decision", "utility", "function"):
                name = self.take()
                self.fail(
                    f"'{one_line(name)}' is of the sort {word!r}; only discrete chance nodes can be read"
                )
            else:
                self.fail(f"wanted net, node or potential, got {word!r:.60}")

    def attributes(self, block: str) -> dict[str, list[str]]:
        """Return the attributes of a block, named for messages; values are lists of words and of unquoted texts."""
        self.take("{")
        attributes: dict[str, list[str]] = {}
        while (key := self.take()) != "}":
            if key in attributes:
                self.fail(f"{block} has two values of {key!r:.60}; remove one of them")
            self.take("=")
            values = []
            while (token := self.take()) != ";":
                if token in ("{", "}", "="):
                    self.fail(f"wanted ';' after the value of {key!r:.60}, got {token!r}")
                if token not in ("(", ")"):
                    values.append(token[1:-1] if token[0] == '"' else token)
            attributes[key] = values
        return attributes

    def node(self) -> None:
        """Read the states of a node."""
        name = self.take()
        if name in self.nodes:
            self.fail(f"duplicate node '{one_line(name)}'")
        attributes = self.attributes(f"node '{one_line(name)}'")
        if not attributes.get("states"):
            self.fail(f"node '{one_line(name)}' has no states")
        self.nodes[name], self.states[name] = attributes, attributes["states"]

    def potential(self) -> None:
        """Read the numbers of a table."""
        self.take("(")
        words = list(iter(self.take, ")"))
        bar = words.index("|") if "|" in words else len(words)
        children, parents = words[:bar], words[bar + 1 :]
        if len(children) != 1:
            self.fail(f"a potential must be of one node, got {len(children)}")
        if children[0] in self.tables:
            self.fail(f"node '{one_line(children[0])}' has two potentials")
        attributes = self.attributes(f"the potential of '{one_line(children[0])}'")
        if "data" not in attributes:
            self.fail(f"the potential of '{one_line(children[0])}' has no data")
        self.tables[children[0]] = (parents, attributes["data"], self.position)
