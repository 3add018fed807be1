"""Networks of a front that share parts, and the file that holds every distinct part once.

The networks of a front differ in few families: 172 networks of 60 columns had 465 distinct families among 10,320.
"""

from __future__ import annotations

import gzip
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.formats import json_format
from gomea_bn.network.tables import MOST_AXES
from gomea_bn.runtime.files import (
    decoded,
    field_of,
    head_of,
    named_source,
    parse_json,
    prefixed_errors,
    unpacked,
)

FORMAT = "gomea-bn networks"


@dataclass(frozen=True, slots=True, eq=False)
class StoredVariable:
    """One variable as the JSON file of its network describes it, without the table, and its table.

    The table is float64 (card(parent_1), ..., card(child)).
    """

    entry: dict[str, Any]
    table: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StoredParts:
    """The parts of a network: the JSON file without its variables, and the variables in column order.

    `learns_conditionals` says whether the network learns conditionals when it is built, which its parts lack.
    """

    head: dict[str, Any]
    variables: tuple[StoredVariable, ...]
    learns_conditionals: bool = False

    @property
    def graph(self) -> tuple[tuple[str, ...], ...]:
        """Parents of every variable, in column order."""
        return tuple(tuple(variable.entry["parents"]) for variable in self.variables)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of edges, of free probabilities of the tables, and of most parents of a column."""
        tables = [variable.table for variable in self.variables]
        n_free = sum(table.size - table.size // table.shape[-1] for table in tables)
        n_parents = [len(parents) for parents in self.graph]
        return sum(n_parents), n_free, max(n_parents)

    @property
    def has_conditionals(self) -> bool:
        """Whether the columns follow conditionals, from which their tables were computed."""
        return "conditionals" in self.head

    def network(self) -> DiscretizedBayesNet:
        """Return the network; raises `GomeaBnError` for parts that are not those of a network."""
        variables = [{**variable.entry, "table": variable.table} for variable in self.variables]
        content = {**self.head, "variables": variables}
        return json_format.network_from_content(content, "the network", DiscretizedBayesNet)


def parts_of(network: DiscretizedBayesNet) -> StoredParts:
    """Return the parts of a network."""
    tables = network.tables
    variables = [
        StoredVariable(entry, tables[entry["name"]]) for entry in json_format.variable_contents(network)
    ]
    return StoredParts(json_format.head_content(network), tuple(variables))


class PooledNetworks(ABC):
    """Networks by row, whose equal parts are the same objects; calling it with a row builds that network."""

    @abstractmethod
    def parts(self, row: int) -> StoredParts:
        """Return the parts of the network of a row, counted from 0."""

    def __call__(self, row: int) -> DiscretizedBayesNet:
        """Return the network of a row, counted from 0."""
        return self.parts(row).network()


def packed_networks(networks: Iterable[StoredParts]) -> bytes:
    """Return networks as the content of a file, in which every distinct part stands once.

    The file is compressed by gzip. Its first line is JSON: "heads" and "variables" have the distinct parts, and
    "networks" has one list per network, the positions of its head and of its variables. The tables of the variables
    follow in their order as little-endian float64. The same networks give the same bytes.
    """
    heads: list[dict[str, Any]] = []
    variables: list[StoredVariable] = []
    head_positions: dict[str, int] = {}
    positions: dict[tuple[str, bytes], int] = {}
    # most parts are objects that were seen before, and equal to themselves alone
    position_of_seen: dict[StoredVariable, int] = {}

    def position_of(variable: StoredVariable) -> int:
        if variable not in position_of_seen:
            key = (json.dumps(variable.entry, allow_nan=False), variable.table.tobytes())
            if key not in positions:
                positions[key] = len(variables)
                variables.append(variable)
            position_of_seen[variable] = positions[key]
        return position_of_seen[variable]

    rows: list[list[int]] = []
    for parts in networks:
        text = json.dumps(parts.head, allow_nan=False)
        if text not in head_positions:
            head_positions[text] = len(heads)
            heads.append(parts.head)
        rows.append([head_positions[text], *map(position_of, parts.variables)])
    content = {
        **head_of(FORMAT),
        "heads": heads,
        "variables": [{**v.entry, "table_shape": list(v.table.shape)} for v in variables],
        "networks": rows,
    }
    tables = b"".join(v.table.astype("<f8").tobytes() for v in variables)
    # JSON text has line ends only where it is indented
    # level 4 takes twice as long as level 1 and saves a tenth
    return gzip.compress(
        json.dumps(content, allow_nan=False).encode() + b"\n" + tables, compresslevel=1, mtime=0
    )


class StoredNetworks(PooledNetworks):
    """The `count` networks of a file that `packed_networks` returned, which is unpacked on first use."""

    def __init__(self, packed: bytes, count: int, path: Path) -> None:
        # None once it is unpacked
        self._packed: bytes | None = packed
        self._count = count
        self._where = named_source(path)
        self._heads: list[dict[str, Any]] = []
        self._variables: list[StoredVariable] = []
        # positions of the head and of the variables of every network
        self._rows: list[list[int]] = []

    def parts(self, row: int) -> StoredParts:
        """Return the parts of the network of a row; raises `GomeaBnError` if the file does not hold them."""
        if self._packed is not None:
            self._unpack(self._packed)
        head, *positions = self._rows[row]
        return StoredParts(self._heads[head], tuple(self._variables[position] for position in positions))

    def __call__(self, row: int) -> DiscretizedBayesNet:
        """Return the network of a row, counted from 0."""
        with prefixed_errors(f"{self._where}, network {row}"):
            return self.parts(row).network()

    def _unpack(self, packed: bytes) -> None:
        """Read the file."""
        text, _, tables = unpacked(packed, self._where).partition(b"\n")
        with prefixed_errors(self._where):
            content = parse_json(
                decoded(text, "its first line"),
                "its first line",
                "the networks of a front",
                FORMAT,
            )
            heads, entries, rows = (
                field_of(content, key, list, "its first line") for key in ("heads", "variables", "networks")
            )
            if not all(isinstance(head, dict) for head in heads):
                raise GomeaBnError("heads must be objects.")
            _check_rows(rows, self._count, len(heads), len(entries))
            variables = _variables(entries, tables)
        self._heads, self._variables, self._rows = heads, variables, rows
        self._packed = None


def _check_rows(rows: list[Any], count: int, n_heads: int, n_variables: int) -> None:
    """Raise `GomeaBnError` unless there are `count` lists of the positions of a head and of variables."""
    if len(rows) != count:
        raise GomeaBnError(f"it must hold {count} networks, got {len(rows)}.")
    for position, row in enumerate(rows):
        if (
            not isinstance(row, list)
            or len(row) < 2
            or not all(is_integer(part) and 0 <= part < n_variables for part in row[1:])
            or not is_integer(row[0])
            or not 0 <= row[0] < n_heads
        ):
            raise GomeaBnError(
                f"networks[{position}] must be the position of a head (below {n_heads}) and those of variables (below "
                f"{n_variables}), got {row!r:.80}."
            )


def _variables(entries: list[Any], tables: bytes) -> list[StoredVariable]:
    """Return the variables that entries describe, with the tables that follow each other in bytes."""
    shapes = [_shape_of(entry, f"variables[{position}]") for position, entry in enumerate(entries)]
    sizes = [prod(shape) for shape in shapes]
    if 8 * sum(sizes) != len(tables):
        raise GomeaBnError(
            f"its tables must have {8 * sum(sizes):,} bytes, 8 for each probability, got {len(tables):,}."
        )
    cells = np.frombuffer(tables, "<f8").astype(np.float64)
    cells.flags.writeable = False
    starts = np.cumsum([0, *sizes]).tolist()
    return [
        StoredVariable(
            {key: value for key, value in entry.items() if key != "table_shape"},
            cells[start : start + size].reshape(shape),
        )
        for entry, start, size, shape in zip(entries, starts, sizes, shapes)
    ]


def _shape_of(entry: Any, where: str) -> list[int]:
    """Return the shape of a variable's table."""
    if not isinstance(entry, dict):
        raise GomeaBnError(f"{where} must be an object, got {type(entry).__name__}.")
    parents = field_of(entry, "parents", list, where)
    if not all(isinstance(parent, str) for parent in parents):
        raise GomeaBnError(f"{where}: parents must be names, got {parents!r:.80}.")
    shape: list[Any] = field_of(entry, "table_shape", list, where)
    if len(shape) != len(parents) + 1 or not all(is_integer(size) and size > 0 for size in shape):
        raise GomeaBnError(
            f"{where}: table_shape must be {len(parents) + 1} positive integers, got {shape!r:.80}."
        )
    if len(shape) > MOST_AXES:
        raise GomeaBnError(f"{where} must have at most {MOST_AXES - 1} parents, got {len(parents)}.")
    return shape
