"""Columns as at most 255 cells each: what is kept of every row while the network is improved on all rows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level, column_positions, encode_levels, numeric_values
from gomea_bn.data.pieces import Piece, TablePiece
from gomea_bn.data.symbols import without_symbols
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, row_list
from gomea_bn.problems.cuts.interval_counts import GridColumn, SortedColumn
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.kernels.rows import cells_of_values, sum_log_heights
from gomea_bn.problems.kernels.score import MISSING

if TYPE_CHECKING:
    import pandas as pd

BLOCK_ROWS = 2**20
"""Largest number of rows of a block of cells."""

MOST_BOUNDARIES = 254
"""Largest number of boundaries between the cells of a column."""

# values that are bisected together; their positions stay in the first cache
_BISECTED = 2048


@dataclass(frozen=True)
class Coding:
    """How the columns of a table become cells.

    Boundaries are ascending values between the cells of every continuous column; a value equal to one lies below it.
    Shapes are those of continuous columns whose log density is summed over the rows.
    """

    names: tuple[str, ...]
    boundaries: dict[str, NDArray[np.float64]]
    levels: dict[str, tuple[Level, ...]]
    shapes: dict[str, Shape] = field(default_factory=dict)
    drops_missing: bool = False  # rows with missing or infinite values; otherwise these are counted
    na_values: Sequence[str | float] | None = None  # symbols of missing values, as of `read_table`


@dataclass
class CodedPiece:
    """The cells of the rows of one piece, in memory or in a file."""

    n_rows: int
    n_columns: int
    n_missing: NDArray[np.int64]  # (n_columns,) missing values in the rows that were read
    # sums over the rows under a column's shape, in nats with the range scaled to 1
    log_densities: dict[str, float]
    blocks_in_memory: list[NDArray[np.uint8]]  # (n_columns, at most BLOCK_ROWS) each
    path: str | None = None  # file that holds the blocks instead
    sizes: list[int] = field(default_factory=list)  # numbers of rows of the blocks of the file

    @property
    def n_bytes(self) -> int:
        """Bytes of the cells."""
        return self.n_rows * self.n_columns

    def blocks(self) -> Iterator[NDArray[np.uint8]]:
        """Give the blocks of cells, uint8 (n_columns, n_rows of the block); those of a file share their memory."""
        if self.path is None:
            yield from self.blocks_in_memory
            return
        space = np.empty(self.n_columns * max(self.sizes, default=0), np.uint8)
        with open(self.path, "rb", buffering=0) as file:
            for size in self.sizes:
                block = space[: self.n_columns * size]
                if file.readinto(block.data) != len(block):
                    raise OSError(f"The temporary file '{self.path}' is shorter than it was written.")
                yield block.reshape(self.n_columns, size)

    def move_to_file(self, folder: str) -> None:
        """Write the blocks to a new file in a folder, and release their memory; a full disk raises `GomeaBnError`."""
        try:
            number, path = tempfile.mkstemp(suffix=".cells", dir=folder)
            with os.fdopen(number, "wb") as file:
                for block in self.blocks_in_memory:
                    file.write(block.data)
        except OSError as error:
            raise GomeaBnError(
                f"Cannot write {self.n_bytes:,} bytes of cells to the temporary folder '{folder}': "
                f"{error.strerror or error}.",
                ["set the environment variable TMPDIR to a folder with more space"],
            ) from error
        self.path, self.sizes, self.blocks_in_memory = (
            path,
            [block.shape[1] for block in self.blocks_in_memory],
            [],
        )


def coded_piece(piece: Piece, coding: Coding) -> CodedPiece:
    """Return the cells of a piece; unknown levels, and texts in a continuous column, raise `GomeaBnError`."""
    n_columns = len(coding.names)
    n_missing = np.zeros(n_columns, np.int64)
    sums = dict.fromkeys(coding.shapes, 0.0)
    blocks: list[NDArray[np.uint8]] = []
    waiting: list[NDArray[np.uint8]] = []
    positions_of_values = np.empty(_BISECTED, np.int32)
    # a frame would copy the values of a table, which are checked
    parts: Iterable[pd.DataFrame | Table] = piece.frames()
    if isinstance(piece, TablePiece) and not coding.drops_missing:
        parts = [piece.rows]
    first = 0
    for rows in parts:
        n_rows = rows.n_rows if isinstance(rows, Table) else len(rows)
        try:
            cells, shaped = _cells_of(n_rows, rows, coding, n_missing, positions_of_values)
        except GomeaBnError as error:
            raise error.with_rows(partial(_named, piece.first_row() + first)).within(
                f"In {piece.origin}: "
            ) from error
        first += n_rows
        complete = np.ones(n_rows, np.bool_)
        if coding.drops_missing:
            complete = (cells != MISSING).all(axis=0)
            cells = cells[:, complete]
        for name, values in shaped.items():
            sums[name] += scaled_log_density(coding.shapes[name], values[complete])
        if waiting and sum(part.shape[1] for part in waiting) + cells.shape[1] > BLOCK_ROWS:
            blocks.append(np.concatenate(waiting, axis=1))
            waiting = []
        waiting.append(cells)
    if waiting:
        blocks.append(np.concatenate(waiting, axis=1))
    return CodedPiece(sum(block.shape[1] for block in blocks), n_columns, n_missing, sums, blocks)


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
    """Return the cells of all rows, uint8 (n_columns, n_rows), and the values of columns with shapes.

    Numbers of missing values are added to `n_missing`, int64 (n_columns,). `work` is that of `cells_of_values`.
    """
    values_of = _columns_of_table(rows) if isinstance(rows, Table) else _columns_of_frame(rows, coding)
    cells = np.empty((len(coding.names), n_rows), np.uint8)
    shaped: dict[str, NDArray[np.float64]] = {}
    for position, name in enumerate(coding.names):
        values = values_of(name)
        if name in coding.boundaries:
            n_missing[position] += cells_of_values(
                values, coding.boundaries[name], MISSING, work, cells[position]
            )
            if name in coding.shapes:
                shaped[name] = values
        else:
            n_missing[position] += int((values < 0).sum())
            cells[position] = values.astype(np.uint8)
    return cells, shaped


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


def scaled_log_density(shape: Shape, values: NDArray[np.float64]) -> float:
    """Return the sum of the log densities of values with the range of the column scaled to 1; NaN adds nothing.

    A value that is a point mass adds the logarithm of its probability.
    """
    masses = np.log(shape.point_masses)
    return float(sum_log_heights(values, shape.edges, shape.left, shape.right, shape.point_values, masses))


# boundaries that are spread over a column; the others are near its cuts
_SPREAD = 120
# sample ranks around a learned cut that become boundaries
_NEAR = (-64, -32, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32, 64)
# cells next to a cut that hold more rows are split
_FINE_ROWS = 2
# a column with more rows than this per distinct value of the sample repeats its values
_TIES = 2


def first_boundaries(sample: SortedColumn, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boundaries of the first cells of a column: the cuts of a sample, near ones, and spread ones."""
    gaps = sample.gaps(cuts) if len(cuts) else np.empty(0, np.int64)
    near = (gaps[:, None] + np.array(_NEAR)).ravel()
    near = near[(near >= 0) & (near < len(sample.cuts))]
    room = max(MOST_BOUNDARIES - _SPREAD - len(cuts), 1)
    if len(near) > MOST_BOUNDARIES - _SPREAD - len(cuts):
        near = near[:: -(-len(near) // room)]
    spread = sample.grid(min(_SPREAD, len(sample.cuts) + 1))
    return _with_cuts(sample.cuts[np.setdiff1d(np.union1d(near, spread), gaps)], cuts)


def zoomed_boundaries(
    sample: SortedColumn, column: GridColumn, cuts: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return boundaries with more of them next to the cuts, present ones; None if the cells there are fine."""
    if not len(cuts) or repeats_values(sample):
        return None
    if (np.maximum(column.rows[cuts], column.rows[cuts + 1]) <= _FINE_ROWS).all():
        return None
    edges = column.edges
    n_each = (MOST_BOUNDARIES - _SPREAD - len(cuts)) // len(cuts)
    near = np.concatenate(
        [np.linspace(edges[cut], edges[cut + 2], max(n_each, 3) + 2)[1:-1] for cut in cuts.tolist()]
    )
    spread = sample.cuts[sample.grid(min(_SPREAD, len(sample.cuts) + 1))]
    chosen = np.concatenate((near, edges[cuts], edges[cuts + 2], spread))
    inside = np.unique(chosen[(chosen > column.low) & (chosen < column.high)])
    return _with_cuts(inside, column.boundaries[cuts])


def _with_cuts(boundaries: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most `MOST_BOUNDARIES` boundaries, all cuts among them, ascending."""
    others = np.setdiff1d(boundaries, cuts)
    room = MOST_BOUNDARIES - len(cuts)
    if len(others) > room:
        others = others[np.linspace(0, len(others) - 1, room).round().astype(np.int64)]
    return np.union1d(others, cuts)


def repeats_values(sample: SortedColumn) -> bool:
    """Return whether a column has few distinct values for its rows, so that the sample shows them all."""
    return sample.n_rows > _TIES * len(sample.distinct)


def estimated_distinct(sample: SortedColumn, n_rows: int) -> float:
    """Return an estimate of the number of distinct values in all rows.

    Of the rows outside the sample, the share of values that occur once in the sample is new (Good, 1953); but no
    more values are unseen than their numbers of occurrences suggest (Chao, 1984).
    """
    counts = np.diff(np.concatenate(([0], sample.below, [sample.n_rows])))
    once, twice = float((counts == 1).sum()), float((counts == 2).sum())
    new = once / sample.n_rows * (n_rows - sample.n_rows)
    return len(sample.distinct) + min(new, once * max(once - 1, 0) / (2 * (twice + 1)))
