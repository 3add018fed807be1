"""Reading BIF files as networks of discrete variables."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.formats.discrete.file_variables import FileVariable, checked_table, network_of
from gomea_bn.network.formats.token_reader import TokenReader
from gomea_bn.runtime.files.text_files import file_text, named_source, prefixed_errors

__all__ = ["bif_variables", "parse_bif", "read_bif"]

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/)
    | (?P<quoted>"[^"]*")
    | (?P<mark>[{}()\[\],;|])
    | (?P<word>[^\s{}()\[\],;|"]+)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# NumPy allows 64 axes
_MOST_AXES = 63
# cells of all tables with a default row, which the file need not hold one by one
_MOST_DEFAULT_CELLS = 2**24


def read_bif(path: str | os.PathLike[str]) -> DiscretizedBayesNet:
    """Return the network of a BIF file, plain or compressed by gzip, with the names and labels in the file.

    All variables are discrete, in the file's order, with the labels as text levels. Table rows that sum to 1
    within 0.01 but not within 1e-6, as in rounded files, are scaled to sum to 1. `DiscretizedBayesNet.from_file`
    restores the bins of a file that gomea-bn wrote.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read or is not BIF, and for tables that lack rows or do not sum to 1; the message
        names the line.
    """
    text = file_text(path, "a BIF file")
    with prefixed_errors(named_source(path)):
        return parse_bif(text)


def parse_bif(text: str) -> DiscretizedBayesNet:
    """Return the network of BIF text; see `read_bif`."""
    return network_of(bif_variables(text), restore=False)


def bif_variables(text: str) -> list[FileVariable]:
    """Return the variables of BIF text in its order; errors are those of `read_bif`."""
    reader = _Reader(text)
    reader.read()
    if not reader.levels:
        raise GomeaBnError("the file has no variable; it is not BIF.")
    for name in reader.levels:
        if name not in reader.tables:
            raise GomeaBnError(f"variable '{name}' has no probability block.")
    return [
        FileVariable(
            name,
            tuple(levels),
            tuple(reader.tables[name][0]),
            reader.tables[name][1],
            reader.properties[name],
        )
        for name, levels in reader.levels.items()
    ]


class _Reader(TokenReader):
    """The tokens of a text, and the levels and tables read so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _TOKEN)
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

    def until(self, *ends: str) -> list[str]:
        """Return the tokens before one of the ends, without their quotes, and step over that end."""
        tokens = []
        while (token := self.take()) not in ends:
            tokens.append(token[1:-1] if token[0] == '"' else token)
        return tokens

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
            labels = _entries(self.until("}"))
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
        if not _entries(tokens):
            self.fail("a probability block names no variable")
        if "|" in tokens:
            bar = tokens.index("|")
            child, parents = " ".join(tokens[:bar]), _entries([*tokens[bar + 1 :], ","])
        else:
            child, *parents = _entries(tokens)
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
                states = _entries([*self.until(")"), ","])
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
        if n_cells > max(len(self.tokens), _MOST_DEFAULT_CELLS) or len(shape) > _MOST_AXES:
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


def _entries(tokens: list[str]) -> list[str]:
    """Return the entries of a list: the texts between commas, or the tokens if there is no comma."""
    if "," not in tokens:
        return tokens
    entries: list[list[str]] = [[]]
    for token in tokens:
        if token == ",":
            entries.append([])
        else:
            entries[-1].append(token)
    return [" ".join(entry) for entry in entries if entry]
