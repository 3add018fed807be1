"""The cells of all rows of a table, in memory or in temporary files, and who codes and counts them.

Threads of this process count, or the workers of a Dask cluster. What is counted is a function of coded pieces.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.pieces import Piece
from gomea_bn.data.survey import survey
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

BLOCK_ROWS = 2**20
"""Largest number of rows of a block of cells."""

# largest number of results that one task adds
_SUMMED = 8


@dataclass
class Coded:
    """Rows that have become cells, in memory or in a file, and what is known of them; of a whole table the latter."""

    n_rows: int
    n_missing: NDArray[np.int64]  # (n_columns,) missing values in the rows that were read
    # sums over the rows under a column's shape, in nats with the range scaled to 1
    log_densities: dict[str, float]
    blocks_in_memory: list[NDArray[np.uint8]] = field(
        default_factory=list
    )  # (n_columns, at most BLOCK_ROWS) each
    path: str | None = None  # file that holds the blocks instead
    sizes: list[int] = field(default_factory=list)  # numbers of rows of the blocks of the file

    @staticmethod
    def of_pieces(parts: Sequence[Coded]) -> Coded:
        """Return the sum of the numbers of pieces, in their order."""
        return Coded(
            sum(part.n_rows for part in parts),
            np.sum([part.n_missing for part in parts], axis=0),
            {
                name: float(np.sum([part.log_densities[name] for part in parts]))
                for name in parts[0].log_densities
            },
        )

    @property
    def n_bytes(self) -> int:
        """Bytes of the cells."""
        return self.n_rows * len(self.n_missing)

    def blocks(self) -> Iterator[NDArray[np.uint8]]:
        """Give the blocks of cells, uint8 (n_columns, n_rows of the block); those of a file share their memory."""
        if self.path is None:
            yield from self.blocks_in_memory
            return
        n_columns = len(self.n_missing)
        space = np.empty(n_columns * max(self.sizes, default=0), np.uint8)
        with open(self.path, "rb", buffering=0) as file:
            for size in self.sizes:
                block = space[: n_columns * size]
                if file.readinto(block.data) != len(block):
                    raise OSError(f"The temporary file '{self.path}' is shorter than it was written.")
                yield block.reshape(n_columns, size)

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


CodesPiece = Callable[[Piece], Coded]
"""Returns the cells of a piece; other processes can call it."""

CountsPieces = Callable[[Iterable[Coded]], NDArray[np.int64]]
"""Returns counts over the rows of some pieces; other processes can call it."""

OfPiece = Callable[[int, Coded], NDArray[np.int64]]
"""Returns an array of the piece at a position among all pieces; other processes can call it."""


class FamilyCounter(ABC):
    """Reads the pieces of a table, in the order of their rows, and counts families over all of their rows.

    Counts are sums of integers over pieces, so that they depend neither on the number of workers nor on their order.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = list(pieces)

    @abstractmethod
    def _of_pieces(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return what a function returns for every piece and its arguments."""

    def sizes(self) -> list[int]:
        """Return the number of rows of every piece."""
        return self._of_pieces(_size)

    def survey(self, positions: Sequence[NDArray[np.int64]]) -> list[pd.DataFrame]:
        """Return the sampled rows of every piece, given their positions in it; see `survey.survey`."""
        return self._of_pieces(survey, positions)

    @abstractmethod
    def code(self, coding: CodesPiece) -> Coded:
        """Read all rows and keep their cells, in place of those of an earlier coding."""

    @abstractmethod
    def count(self, counts_of: CountsPieces) -> NDArray[np.int64]:
        """Return the counts of all rows: the sum of those of disjoint sets of pieces."""

    @abstractmethod
    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the cells of all pieces."""


def sum_of(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of arrays, of which two are in memory at once if they come one by one."""
    return reduce(np.add, parts)


class LocalCounter(FamilyCounter):
    """Counts on threads of this process; cells that exceed a limit of memory, in bytes, are kept in temporary files."""

    def __init__(self, pieces: Sequence[Piece], n_threads: int, most_bytes: int) -> None:
        super().__init__(pieces)
        self._n_threads = n_threads
        self._most_bytes = most_bytes
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="gomea-bn")
        self._folder: str | None = None
        self._coded: list[Coded] = []
        self._held = 0
        self._lock = threading.Lock()

    def __enter__(self) -> LocalCounter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._forget()

    def _of_pieces(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        return list(self._pool.map(function, self.pieces, *arguments))

    def code(self, coding: CodesPiece) -> Coded:
        """Read all rows and keep their cells; see `FamilyCounter`."""
        self._forget()

        def code_and_keep(piece: Piece) -> Coded:
            coded = coding(piece)
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
        return Coded.of_pieces(self._coded)

    def count(self, counts_of: CountsPieces) -> NDArray[np.int64]:
        """Return the counts of all rows; see `FamilyCounter`."""
        waiting = iter(self._coded)

        def taken() -> Iterable[Coded]:
            while True:
                with self._lock:
                    piece = next(waiting, None)
                if piece is None:
                    return
                yield piece

        return sum_of(self._pool.map(lambda _thread: counts_of(taken()), range(self._n_threads)))

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the cells of all pieces; see `FamilyCounter`."""
        return sum_of(self._pool.map(of_piece, range(len(self._coded)), self._coded))

    def _forget(self) -> None:
        """Give back the cells and their files."""
        self._coded, self._held = [], 0
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


class DaskCounter(FamilyCounter):
    """Counts on the workers of a cluster, which hold the cells of their pieces in memory; rows never move.

    Every thread of a worker adds the counts of its pieces in one task, so that a pass sends as many tables as there are
    threads. Dask computes the cells of a worker that dies again, on other workers. Every piece belongs to one task,
    whose result is added once. Workers read files by the same paths as this process.
    """

    def __init__(self, client: Any, pieces: Sequence[Piece]) -> None:
        super().__init__(pieces)
        self._client = client
        self._coded: list[Any] = []

    def _of_pieces(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        futures = self._client.map(function, self.pieces, *map(list, arguments), pure=False)
        return list(self._gathered(futures))

    def code(self, coding: CodesPiece) -> Coded:
        """Read all rows and keep their cells at the workers; see `FamilyCounter`."""
        self._coded = []
        self._coded = self._client.map(_coded, self.pieces, coding=coding, pure=False)
        return Coded.of_pieces(self._gathered(self._client.map(_numbers, self._coded, pure=False)))

    def count(self, counts_of: CountsPieces) -> NDArray[np.int64]:
        """Return the counts of all rows; see `FamilyCounter`."""
        parts = [
            # another worker counts the pieces if this one dies
            self._client.submit(
                _counts, pieces, counts_of, workers=worker, allow_other_workers=True, pure=False
            )
            for worker, pieces in self._pieces_of_threads()
        ]
        return self._sum_of(parts)

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the cells of all pieces; see `FamilyCounter`."""
        positions = list(range(len(self._coded)))
        return self._sum_of(self._client.map(of_piece, positions, self._coded, pure=False))

    def _sum_of(self, parts: list[Any]) -> NDArray[np.int64]:
        """Return the sum of the results of tasks, which workers add."""
        while len(parts) > 1:
            groups = [parts[first : first + _SUMMED] for first in range(0, len(parts), _SUMMED)]
            parts = self._client.map(sum_of, groups, pure=False)
        (total,) = self._gathered(parts)
        return np.asarray(total, np.int64)

    def _pieces_of_threads(self) -> list[tuple[str | None, list[Any]]]:
        """Return the coded pieces of every thread of the cluster with the address of its worker.

        Pieces that a dead worker had are a part of their own without an address.
        """
        holders = self._client.who_has(self._coded)
        of_worker: dict[str | None, list[Any]] = {}
        for coded in self._coded:
            of_worker.setdefault(next(iter(holders[coded.key]), None), []).append(coded)
        n_threads = self._client.nthreads()
        parts = []
        for worker, pieces in of_worker.items():
            n_parts = min(n_threads.get(worker, 1), len(pieces))
            parts += [(worker, pieces[first::n_parts]) for first in range(n_parts)]
        return parts

    def _gathered(self, futures: Sequence[Any]) -> Any:
        """Return the results of tasks; Ctrl-C cancels them."""
        try:
            return self._client.gather(futures)
        except KeyboardInterrupt:
            self._client.cancel(futures)
            raise


def _size(piece: Piece) -> int:
    return piece.n_rows()


def _numbers(coded: Coded) -> Coded:
    return Coded.of_pieces([coded])


def _coded(piece: Piece, coding: CodesPiece) -> Coded:
    return coding(piece)


def _counts(pieces: Sequence[Coded], counts_of: CountsPieces) -> NDArray[np.int64]:
    return counts_of(pieces)
