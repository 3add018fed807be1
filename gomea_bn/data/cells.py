"""Rows as cells of their columns, and counts of cells: in memory or not, over any pieces of a table.

Of every row at most 255 cells of each column are kept. `row_counters` has who codes and counts the rows. Missing values
have a code of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level, column_positions, encode_levels, numeric_values
from gomea_bn.data.kernels import CODED_ROWS, MISSING, MOST_NARROW, CountWork, add_counts, cells_of_values
from gomea_bn.data.pieces import Piece, TablePiece
from gomea_bn.data.row_counters import BLOCK_ROWS, Coded, CountsPieces
from gomea_bn.data.symbols import without_symbols
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, row_list
from gomea_bn.runtime.jit import read_only
from gomea_bn.runtime.threads import in_threads

if TYPE_CHECKING:
    import pandas as pd

MOST_BOUNDARIES = MISSING - 1
"""Largest number of boundaries between the cells of a column."""


@dataclass(frozen=True)
class Coding:
    """How the columns of a table become cells.

    Boundaries are ascending values between the cells of every continuous column; a value equal to one lies below it.
    `log_densities` has for some continuous columns the sum of the log densities of values, NaN among them.
    """

    names: tuple[str, ...]
    boundaries: dict[str, NDArray[np.float64]]
    levels: dict[str, tuple[Level, ...]]
    log_densities: dict[str, Callable[[NDArray[np.float64]], float]] = field(default_factory=dict)
    drops_missing: bool = False  # rows with missing or infinite values; otherwise these are counted
    na_values: Sequence[str | float] | None = None  # symbols of missing values, as of `read_table`

    def __call__(self, piece: Piece) -> Coded:
        """Return the cells of a piece; unknown levels, and texts in a continuous column, raise `GomeaBnError`."""
        n_missing = np.zeros(len(self.names), np.int64)
        sums = dict.fromkeys(self.log_densities, 0.0)
        blocks: list[NDArray[np.uint8]] = []
        waiting: list[NDArray[np.uint8]] = []
        # values that are bisected together; their positions stay in the first cache
        positions_of_values = np.empty(2048, np.int32)
        # a frame would copy the values of a table, which are checked
        parts: Iterable[pd.DataFrame | Table] = piece.frames()
        if isinstance(piece, TablePiece) and not self.drops_missing:
            parts = [piece.rows]
        first = 0
        for rows in parts:
            n_rows = rows.n_rows if isinstance(rows, Table) else len(rows)
            try:
                cells, summed = _cells_of(n_rows, rows, self, n_missing, positions_of_values)
            except GomeaBnError as error:
                named = partial(_named, piece.first_row() + first)
                raise error.with_rows(named).within(f"In {piece.origin}: ") from error
            first += n_rows
            complete = np.ones(n_rows, np.bool_)
            if self.drops_missing:
                complete = (cells != MISSING).all(axis=0)
                cells = cells[:, complete]
            for name, values in summed.items():
                sums[name] += self.log_densities[name](values[complete])
            if waiting and sum(part.shape[1] for part in waiting) + cells.shape[1] > BLOCK_ROWS:
                blocks.append(np.concatenate(waiting, axis=1))
                waiting = []
            waiting.append(cells)
        if waiting:
            blocks.append(np.concatenate(waiting, axis=1))
        return Coded(sum(block.shape[1] for block in blocks), n_missing, sums, blocks)


def _named(before: int, positions: NDArray[np.int64]) -> str:
    """Return the words for rows that follow a number of others of the same origin."""
    return row_list(before + positions)


def _cells_of(
    n_rows: int,
    rows: pd.DataFrame | Table,
    coding: Coding,
    n_missing: NDArray[np.int64],
    work: NDArray[np.int32],
) -> tuple[NDArray[np.uint8], dict[str, NDArray[np.float64]]]:
    """Return the cells of all rows, uint8 (n_columns, n_rows), and the values whose log densities are summed.

    Numbers of missing values are added to `n_missing`, int64 (n_columns,). `work` is that of `cells_of_values`.
    """
    values_of = _columns_of_table(rows) if isinstance(rows, Table) else _columns_of_frame(rows, coding)
    cells = np.empty((len(coding.names), n_rows), np.uint8)
    summed: dict[str, NDArray[np.float64]] = {}
    for position, name in enumerate(coding.names):
        values = values_of(name)
        if name in coding.boundaries:
            n_missing[position] += cells_of_values(
                read_only(values), read_only(coding.boundaries[name]), MISSING, work, cells[position]
            )
            if name in coding.log_densities:
                summed[name] = values
        else:
            n_missing[position] += int((values < 0).sum())
            cells[position] = values.astype(np.uint8)
    return cells, summed


_ColumnsByName = Callable[[str], NDArray[Any]]
"""Gives the values of a continuous column, float64 (n_rows,), or the codes of a discrete one, -1 where missing."""


def _columns_of_table(table: Table) -> _ColumnsByName:
    """Return the columns of a table, whose levels are those of the coding."""
    columns = {column.name: column.values for column in table.columns}
    return lambda name: np.ascontiguousarray(columns[name])


def _columns_of_frame(frame: pd.DataFrame, coding: Coding) -> _ColumnsByName:
    """Return the columns of a frame, each checked when it is read."""
    plain, _, _ = without_symbols(frame, coding.na_values)
    positions = column_positions(plain, coding.names)

    def values_of(name: str) -> NDArray[Any]:
        column = plain.iloc[:, positions[name]]
        if name not in coding.boundaries:
            return encode_levels(column, name, coding.levels[name], allow_missing=True)
        if coding.drops_missing:
            column = column.replace([np.inf, -np.inf], np.nan)
        return numeric_values(column, name, allow_missing=True)

    return values_of


@dataclass(frozen=True)
class View:
    """A column as bins, levels or cells: the code of every cell."""

    column: int  # position
    lookup: bytes  # code of every cell, 256 bytes
    cardinality: int  # number of codes of values
    has_missing: bool = False  # missing values have a code of their own, the last one
    is_level: bool = False  # whether the column is discrete

    @property
    def n_codes(self) -> int:
        """Number of codes, that of missing values among them."""
        return self.cardinality + self.has_missing

    @classmethod
    def of_codes(
        cls,
        column: int,
        codes: NDArray[np.integer],
        cardinality: int,
        *,
        has_missing: bool = False,
        is_level: bool = False,
    ) -> View:
        """Return the view of a column with the given code per cell."""
        lookup = np.zeros(256, np.uint8)
        lookup[: len(codes)] = codes
        if has_missing:
            lookup[MISSING] = cardinality
        return cls(column, lookup.tobytes(), cardinality, has_missing, is_level)


class CountPlan:
    """Families whose rows are counted, as arrays for the kernel; the last member varies fastest in a table."""

    def __init__(self, families: Sequence[Sequence[View]]) -> None:
        views = list(dict.fromkeys(view for family in families for view in family))
        index = {view: position for position, view in enumerate(views)}
        self.shapes = [tuple(view.n_codes for view in family) for family in families]
        self.columns = np.array([view.column for view in views], np.int64)
        self.lookups = np.array([np.frombuffer(view.lookup, np.uint8) for view in views]).reshape(-1, 256)
        self.cardinality = np.array([view.n_codes for view in views], np.int64)
        self.members = np.array([index[view] for family in families for view in family], np.int64)
        self.starts = np.cumsum([0, *map(len, families)]).astype(np.int64)
        self.first_cell = np.cumsum([0, *map(prod, self.shapes)]).astype(np.int64)

    @property
    def n_cells(self) -> int:
        """Number of cells of all tables."""
        return int(self.first_cell[-1])

    def tables(self, totals: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the table of every family, int64 (card(first member), ..., card(last member))."""
        return [
            totals[first:last].reshape(shape)
            for first, last, shape in zip(self.first_cell[:-1], self.first_cell[1:], self.shapes, strict=True)
        ]

    def count(self, pieces: Iterable[Coded], totals: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the counts of some pieces, int64 (n_cells,), added to `totals` if they are given."""
        totals = np.zeros(self.n_cells, np.int64) if totals is None else totals
        # rows of a large table whose joint codes are formed together, in the first cache
        work = CountWork(
            codes=np.empty((len(self.columns), CODED_ROWS), np.uint8),
            joint=np.empty(2048, np.uint32),
            narrow=np.empty(2048, np.uint16),
            counts=np.empty(MOST_NARROW, np.int32),
        )
        for piece in pieces:
            for block in piece.blocks():
                add_counts(
                    block,
                    self.columns,
                    self.lookups,
                    self.cardinality,
                    self.members,
                    self.starts,
                    self.first_cell,
                    work,
                    totals,
                )
        return totals


def count_in_passes(
    groups: Sequence[Sequence[Sequence[View]]],
    count: Callable[[CountsPieces], NDArray[np.int64]],
    use: Callable[[int, list[NDArray[np.int64]]], None],
    *,
    n_threads: int,
) -> int:
    """Count families in one pass or, where their tables are large, in several; return the number of passes.

    The tables of a group are in memory together. `use` receives the position of every group and its tables, on one of
    `n_threads` threads; the tables are then released.
    """
    first, n_passes = 0, 0
    while first < len(groups):
        n_cells, last = 0, first
        # cells of the tables of one pass over the cells of all rows
        while last < len(groups) and (last == first or n_cells < 2**24):
            n_cells += sum(prod(view.n_codes for view in family) for family in groups[last])
            last += 1
        plan = CountPlan([family for group in groups[first:last] for family in group])
        tables = iter(plan.tables(count(plan.count)))
        n_passes += 1
        of_groups = {position: [next(tables) for _ in groups[position]] for position in range(first, last)}
        in_threads(lambda item: use(*item), of_groups.items(), n_threads=n_threads)
        first = last
    return n_passes


def observed_counts(
    counts: NDArray[np.int64], views: Sequence[View], axes: Sequence[int]
) -> NDArray[np.int64]:
    """Return the counts of the rows in which the members `axes` have values; the last code stands for missing."""
    observed = tuple(
        slice(view.cardinality) if axis in axes else slice(None) for axis, view in enumerate(views)
    )
    others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    return np.asarray(counts[observed].sum(axis=others))
