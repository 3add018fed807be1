"""Counts of families over all rows: what is counted, and the counter on threads of this process."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from math import prod
from types import TracebackType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.pieces import Piece
from gomea_bn.problems.kernels.rows import CODED_ROWS, MOST_NARROW, CountWork, add_counts
from gomea_bn.problems.kernels.score import MISSING
from gomea_bn.problems.rows.cells import CodedPiece, Coding, coded_piece
from gomea_bn.problems.rows.survey import Sampled, survey
from gomea_bn.problems.scoring.family_scorer import new_scratch
from gomea_bn.runtime.threads import in_threads

# rows that give `new_scratch` room for the counts of `MOST_NARROW` cells
_SCRATCH_ROWS = MOST_NARROW // 8
# rows of a large table whose joint codes are formed together, in the first cache
_JOINT_ROWS = 2048


@dataclass(frozen=True)
class View:
    """A column as bins, levels or cells: the code of every cell."""

    column: int  # position
    lookup: bytes  # code of every cell, 256 bytes
    cardinality: int  # number of codes of values
    has_missing: bool = False  # missing values have a code of their own, the last one

    @property
    def n_codes(self) -> int:
        """Number of codes, that of missing values among them."""
        return self.cardinality + self.has_missing

    @classmethod
    def of_codes(
        cls, column: int, codes: NDArray[np.integer], cardinality: int, *, has_missing: bool = False
    ) -> View:
        """Return the view of a column with the given code per cell."""
        lookup = np.zeros(256, np.uint8)
        lookup[: len(codes)] = codes
        if has_missing:
            lookup[MISSING] = cardinality
        return cls(column, lookup.tobytes(), cardinality, has_missing)


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

    def count(self, pieces: Iterable[CodedPiece], totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add the counts of some pieces to `totals`, int64 (n_cells,), and return it."""
        work = CountWork(
            codes=np.empty((len(self.columns), CODED_ROWS), np.uint8),
            joint=np.empty(_JOINT_ROWS, np.uint32),
            scratch=new_scratch(_SCRATCH_ROWS, 1),
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


@dataclass(frozen=True)
class Coded:
    """What is known of all rows once they have become cells."""

    n_rows: int
    n_missing: NDArray[np.int64]  # (n_columns,)
    log_densities: dict[str, float]  # of the columns with shapes, summed over the rows, in nats

    @classmethod
    def of_pieces(cls, parts: Sequence[tuple[int, NDArray[np.int64], dict[str, float]]]) -> Coded:
        """Return the sum of the numbers of pieces, in their order."""
        names = parts[0][2]
        return cls(
            sum(n_rows for n_rows, _, _ in parts),
            np.sum([n_missing for _, n_missing, _ in parts], axis=0),
            {name: float(np.sum([sums[name] for _, _, sums in parts])) for name in names},
        )


class OfPiece(Protocol):
    """An array of every piece, which other processes can compute."""

    def __call__(self, position: int, piece: CodedPiece) -> NDArray[np.int64]:
        """Return the array of the piece at a position among all pieces."""


class FamilyCounter(Protocol):
    """Reads the pieces of a table, and counts families over all of their rows.

    Counts are sums of integers over pieces, so that they depend neither on the number of workers nor on their order.
    """

    @property
    def pieces(self) -> Sequence[Piece]:
        """The pieces, in the order of their rows."""

    def sizes(self) -> list[int]:
        """Return the number of rows of every piece."""

    def survey(self, positions: Sequence[NDArray[np.int64]]) -> list[Sampled]:
        """Return the sampled rows of every piece, given their positions in it; see `survey.survey`."""

    def code(self, coding: Coding) -> Coded:
        """Read all rows and keep their cells, in place of those of an earlier coding."""

    def count(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over all rows, int64 (plan.n_cells,)."""

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the cells of all pieces."""


def sum_of(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of arrays, of which two are in memory at once if they come one by one."""
    return reduce(np.add, parts)


# cells of the tables of one pass over the cells of all rows
_CELLS_OF_PASS = 2**24


def count_in_passes(
    groups: Sequence[Sequence[Sequence[View]]],
    count: Callable[[CountPlan], NDArray[np.int64]],
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
        while last < len(groups) and (last == first or n_cells < _CELLS_OF_PASS):
            n_cells += sum(prod(view.n_codes for view in family) for family in groups[last])
            last += 1
        plan = CountPlan([family for group in groups[first:last] for family in group])
        tables = iter(plan.tables(count(plan)))
        n_passes += 1
        of_groups = {position: [next(tables) for _ in groups[position]] for position in range(first, last)}
        in_threads(lambda item: use(*item), of_groups.items(), n_threads=n_threads)
        first = last
    return n_passes


class LocalCounter:
    """Counts on threads of this process; cells that exceed a limit of memory, in bytes, are kept in temporary files."""

    def __init__(self, pieces: Sequence[Piece], n_threads: int, most_bytes: int) -> None:
        self.pieces = list(pieces)
        self._n_threads = n_threads
        self._most_bytes = most_bytes
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="gomea-bn")
        self._folder: str | None = None
        self._coded: list[CodedPiece] = []
        self._held = 0
        self._lock = threading.Lock()

    def __enter__(self) -> LocalCounter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._forget()

    def sizes(self) -> list[int]:
        """Return the number of rows of every piece."""
        return list(self._pool.map(lambda piece: piece.n_rows(), self.pieces))

    def survey(self, positions: Sequence[NDArray[np.int64]]) -> list[Sampled]:
        """Return the sampled rows of every piece; see `FamilyCounter`."""
        return list(self._pool.map(survey, self.pieces, positions))

    def code(self, coding: Coding) -> Coded:
        """Read all rows and keep their cells; see `FamilyCounter`."""
        self._forget()

        def code_and_keep(piece: Piece) -> CodedPiece:
            coded = coded_piece(piece, coding)
            with self._lock:
                self._held += coded.n_bytes
                is_held = self._held <= self._most_bytes
                if not is_held:
                    self._held -= coded.n_bytes
                    self._folder = self._folder or tempfile.mkdtemp(prefix="gomea-bn-")
            if not is_held:
                assert self._folder is not None
                coded.move_to_file(self._folder)
            return coded

        self._coded = list(self._pool.map(code_and_keep, self.pieces))
        return Coded.of_pieces([(c.n_rows, c.n_missing, c.log_densities) for c in self._coded])

    def count(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over all rows; see `FamilyCounter`."""
        waiting = iter(self._coded)

        def taken() -> Iterable[CodedPiece]:
            while True:
                with self._lock:
                    piece = next(waiting, None)
                if piece is None:
                    return
                yield piece

        parts = self._pool.map(
            lambda _thread: plan.count(taken(), np.zeros(plan.n_cells, np.int64)), range(self._n_threads)
        )
        return sum_of(parts)

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the cells of all pieces; see `FamilyCounter`."""
        return sum_of(self._pool.map(of_piece, range(len(self._coded)), self._coded))

    def _forget(self) -> None:
        """Give back the cells and their files."""
        self._coded, self._held = [], 0
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
