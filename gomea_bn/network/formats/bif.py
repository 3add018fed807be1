"""BIF, the Interchange Format of Bayesian networks: text and reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, product
from math import prod
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.discrete import (
    FileVariable,
    TokenReader,
    bin_names,
    checked_table,
    distinct_names,
    file_variables,
)
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import MOST_AXES

# words of the format; pyAgrum refuses them as names and as labels
_BIF_WORDS = frozenset(
    ["network", "variable", "property", "probability", "type", "discrete", "table", "default"]
)

_NUMBER_AFTER_WORD = re.compile(r"(table|default)(?=[\d.eE+-])", re.IGNORECASE)


def to_bif(network: NetworkLike) -> str:
    """Return a network as BIF text, ASCII only.

    Names and labels keep letters, digits, "_" and "-"; every other character becomes "_". Words of the format and
    names that begin with a digit get the prefix "x_". Duplicates end in _2, _3, and so on (names differ by more than
    case). A comment lists the changed names.

    Bins have the labels le_a, gt_a_le_b, gt_b, because pyAgrum reads no brackets. Each variable has the properties
    `name`, its original name, and either `levels` or `edges`, the bin edges to the last bit. Names and levels are
    percent-encoded; an empty level is "%".

    pyAgrum needs two states per variable: a variable of one bin or level gets a second state "never" of probability 0.
    pyAgrum reads numbers of BIF files in single precision.
    """
    names = safe_names(network.names, fold_case=True)
    bins = partial(bin_names, below="le_{}", between="gt_{}_le_{}", above="gt_{}")
    variables = file_variables(network, names, bins, partial(_bif_name, digits=True))
    changed = [
        f"// {quote(name, safe=' ')} is written {safe}"
        for name, safe in zip(network.names, names, strict=True)
        if name != safe
    ]
    head = ["// Written by gomea-bn. Bins are (a, b]; a value equal to a cut belongs to the lower bin."]
    if changed:
        head += ["// Names changed to what BIF readers accept (the old name percent-encoded):", *changed]
    lines = [*head, "network gomea_bn {", "}"]
    for variable in variables:
        key = "edges" if "edges" in variable.properties else "levels"
        lines += [
            f"variable {variable.name} {{",
            f"  type discrete [ {len(variable.states)} ] {{ {', '.join(variable.states)} }};",
            f"  property name = {variable.properties['name']} ;",
            f"  property {key} = {variable.properties[key]} ;",
            "}",
        ]
    states = {variable.name: variable.states for variable in variables}
    for variable in variables:
        lines += _bif_probability(variable, states)
    return "\n".join(lines) + "\n"


def _bif_probability(variable: FileVariable, states: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the lines of one probability block."""
    rows = [
        ", ".join(map(repr, row)) for row in variable.table.reshape(-1, variable.table.shape[-1]).tolist()
    ]
    if not variable.parents:
        return [f"probability ( {variable.name} ) {{", f"  table {rows[0]};", "}"]
    of_parents = product(*(states[parent] for parent in variable.parents))
    lines = [f"  ({', '.join(state)}) {row};" for state, row in zip(of_parents, rows, strict=True)]
    return [f"probability ( {variable.name} | {', '.join(variable.parents)} ) {{", *lines, "}"]


def safe_names(names: Iterable[str], *, fold_case: bool, digits: bool = False) -> list[str]:
    """Return one BIF identifier per name, without duplicates; a name that is safe already stays as it is.

    With `fold_case` identifiers differ by more than case (pgmpy's reader ignores the case of variables). With `digits`
    whole numbers are safe: they are as labels, but not as names.
    """
    return distinct_names(names, partial(_bif_name, digits=digits), fold_case=fold_case)


def _bif_name(name: str, *, digits: bool) -> str:
    """Return a text of letters, digits, "_" and "-" that no reader takes for a word of the format."""
    text = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if digits and re.fullmatch(r"-?[0-9]+", text):
        return text
    if not re.match(r"[A-Za-z_]", text) or text.lower() in _BIF_WORDS:
        text = f"x_{text}"
    # pgmpy takes "table1" for the start of a table
    return _NUMBER_AFTER_WORD.sub(r"\1_", text)


_BIF_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/)
    | (?P<quoted>"[^"]*")
    | (?P<mark>[{}()\[\],;|])
    | (?P<word>[^\s{}()\[\],;|"]+)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)

# cells of all tables with a default row, which the file need not hold one by one
_MOST_DEFAULT_CELLS = 2**24


def bif_variables(text: str) -> list[FileVariable]:
    """Return the variables of BIF text in its order, plain names and labels as text; errors name the line."""
    reader = _BifReader(text)
    reader.read()
    if not reader.levels:
        raise GomeaBnError("the file has no variable; it is not BIF.")
    variables = []
    for name, levels in reader.levels.items():
        if name not in reader.tables:
            raise GomeaBnError(f"variable '{name}' has no probability block.")
        parents, table = reader.tables[name]
        variables.append(FileVariable(name, tuple(levels), tuple(parents), table, reader.properties[name]))
    return variables


class _BifReader(TokenReader):
    """The tokens of a text, and the levels and tables read so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _BIF_TOKEN)
        self.levels: dict[str, list[str]] = {}
        self.properties: dict[str, dict[str, str]] = {}
        self.tables: dict[str, tuple[list[str], NDArray[np.float64]]] = {}
        self.n_default_cells = 0

    def read(self) -> None:
        """Read all blocks."""
        readers: dict[str, Callable[[], None]] = {
            "network": self.network,
            "variable": self.variable,
            "probability": self.probability,
        }
        while self.position < len(self.tokens):
            word = self.take()
            if word not in readers:
                self.fail(f"wanted network, variable or probability, got {word!r:.60}")
            readers[word]()

    def until(self, end: str) -> list[str]:
        """Return the tokens before an end, without their quotes, and step over that end."""
        return [token[1:-1] if token[0] == '"' else token for token in iter(self.take, end)]

    def network(self) -> None:
        """Step over the block with the name of the network."""
        self.until("{")
        self.until("}")

    def variable(self) -> None:
        """Read the name and the labels of a variable."""
        name = " ".join(self.until("{"))
        if name in self.levels:
            self.fail(f"duplicate variable '{name}'")
        properties: dict[str, str] = {}
        while (word := self.take()) != "}":
            if word == "property":
                key, *value = [*self.until(";"), ""]
                if value[:1] == ["="]:
                    properties[key] = " ".join(value[1:-1])
                continue
            if word != "type":
                self.until(";")
                continue
            if name in self.levels:
                self.fail(f"variable '{name}' has two types")
            sort = self.take()
            self.take("[")
            count = self.take()
            self.take("]")
            self.take("{")
            labels = _bif_entries(self.until("}"))
            if sort != "discrete" or str(len(labels)) != count:
                self.fail(
                    f"variable '{name}': wanted discrete with {count} labels, got {sort} with {len(labels)}"
                )
            self.levels[name] = labels
            if self.peek() == ";":
                self.take()
        if name not in self.levels:
            self.fail(f"variable '{name}' has no type")
        self.properties[name] = properties

    def probability(self) -> None:
        """Read the table of a variable."""
        self.take("(")
        tokens = self.until(")")
        if not _bif_entries(tokens):
            self.fail("a probability block names no variable")
        if "|" in tokens:
            bar = tokens.index("|")
            child, parents = " ".join(tokens[:bar]), _bif_entries([*tokens[bar + 1 :], ","], self.levels)
        else:
            child, *parents = _bif_entries(tokens)
        for name in (child, *parents):
            if name not in self.levels:
                self.fail(
                    f"probability of '{child}': unknown variable '{name}'; variables must come before their tables"
                )
        if child in self.tables:
            self.fail(f"variable '{child}' has two probability blocks")
        table = self.empty_table([len(self.levels[name]) for name in (*parents, child)], child)
        default: list[float] | None = None
        codes = [{label: code for code, label in enumerate(self.levels[name])} for name in parents]
        self.take("{")
        while (word := self.take()) != "}":
            if word == "table":
                if not np.isnan(table).all():
                    self.fail(f"probability of '{child}': 'table' repeats rows that the block has already")
                # the states of the child change slowest here
                values = self.numbers(table.size, child)
                table[...] = np.moveaxis(np.reshape(values, (table.shape[-1], *table.shape[:-1])), 0, -1)
            elif word == "default":
                if default is not None:
                    self.fail(f"probability of '{child}': a second default row; remove one of them")
                default = self.numbers(table.shape[-1], child)
            elif word == "(":
                labels = {label for code_of in codes for label in code_of}
                states = _bif_entries([*self.until(")"), ","], labels)
                if len(states) != len(parents):
                    self.fail(f"probability of '{child}': wanted {len(parents)} parent labels, got {states}")
                for parent, state, code_of in zip(parents, states, codes):
                    if state not in code_of:
                        self.fail(f"probability of '{child}': '{parent}' has no label '{state}'")
                row = tuple(code_of[state] for state, code_of in zip(states, codes))
                if not np.isnan(table[row]).all():
                    self.fail(
                        f"probability of '{child}': a second row for ({', '.join(states)}); remove one of them"
                    )
                table[row] = self.numbers(table.shape[-1], child)
            else:
                self.until(";")
        if default is not None:
            self.n_default_cells += table.size
            if self.n_default_cells > _MOST_DEFAULT_CELLS:
                self.fail(
                    f"tables with a default row must have at most {_MOST_DEFAULT_CELLS:,} numbers in all"
                )
            table[np.isnan(table).any(axis=-1)] = default
        self.tables[child] = (parents, self.checked(table, child))

    def empty_table(self, shape: list[int], child: str) -> NDArray[np.float64]:
        """Return a table of NaN; raise, before it is allocated, if the text cannot fill it."""
        n_cells = prod(shape)
        if n_cells > max(len(self.tokens), _MOST_DEFAULT_CELLS) or len(shape) > MOST_AXES:
            self.fail(
                f"probability of '{child}': {len(shape) - 1} parents make a table of {n_cells:,} numbers, more than "
                "the file holds"
            )
        return np.full(shape, np.nan)

    def numbers(self, count: int, child: str) -> list[float]:
        """Return the numbers up to the semicolon."""
        words = [word for word in self.until(";") if word != ","]
        try:
            values = [float(word) for word in words]
        except ValueError as error:
            self.fail(f"probability of '{child}': {error}")
        if len(values) != count:
            self.fail(f"probability of '{child}': wanted {count} numbers, got {len(values)}")
        return values

    def checked(self, table: NDArray[np.float64], child: str) -> NDArray[np.float64]:
        """Return the table with rows that sum to 1; raise for missing and wrong rows."""
        sums = table.sum(axis=-1, keepdims=True)
        if np.isnan(sums).any():
            self.fail(
                f"probability of '{child}': no numbers for parent states "
                f"{np.argwhere(np.isnan(sums))[0][:-1].tolist()}"
            )
        try:
            return checked_table(table, child)
        except GomeaBnError as error:
            self.fail(str(error).rstrip("."))


def _bif_entries(tokens: list[str], known: Collection[str] = ()) -> list[str]:
    """Return the entries of a list: the texts between commas, or the tokens if there is no comma.

    JavaBayes separates entries by blanks: one that is not `known`, when all its words are, is as many as words.
    """
    if "," not in tokens:
        return tokens
    groups = [list(entry) for is_comma, entry in groupby(tokens, lambda token: token == ",") if not is_comma]
    if len(groups) == 1 and " ".join(groups[0]) not in known and all(word in known for word in groups[0]):
        return groups[0]
    return [" ".join(entry) for entry in groups]
