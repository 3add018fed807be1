"""Counts of families over all rows by threads of this process."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.pieces import Piece
from gomea_bn.large.cells import CodedPiece, Coding, coded_piece
from gomea_bn.large.counters.plan import Coded, CountPlan, OfPiece, sum_of
from gomea_bn.large.survey import Sampled, survey

__all__ = ["LocalCounter"]


class LocalCounter:
    """Counts on threads of this process; cells that exceed a limit of memory are kept in temporary files.

    Parameters
    ----------
    pieces : sequence of Piece
    n_threads : int
    most_bytes : int
        Largest number of bytes of cells in memory.
    """

    def __init__(self, pieces: Sequence[Piece], n_threads: int, most_bytes: int) -> None:
        self._pieces = list(pieces)
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
        return list(self._pool.map(lambda piece: piece.n_rows(), self._pieces))

    def survey(self, positions: Sequence[NDArray[np.int64]]) -> list[Sampled]:
        """Return the sampled rows of every piece; see `FamilyCounter`."""
        return list(self._pool.map(survey, self._pieces, positions))

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

        self._coded = list(self._pool.map(code_and_keep, self._pieces))
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
