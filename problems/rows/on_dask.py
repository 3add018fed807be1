"""Counts of families over all rows by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.pieces import Piece
from gomea_bn.problems.rows.cells import CodedPiece, Coding, coded_piece
from gomea_bn.problems.rows.counter import Coded, CountPlan, OfPiece, sum_of
from gomea_bn.problems.rows.survey import Sampled, survey

# largest number of results that one task adds
_SUMMED = 8


class DaskCounter:
    """Counts on the workers of a cluster, which hold the cells of their pieces in memory; rows never move.

    Every thread of a worker adds the counts of its pieces in one task, so that a pass sends as many tables as there are
    threads. Dask computes the cells of a worker that dies again, on other workers. Every piece belongs to one task,
    whose result is added once. Workers read files by the same paths as this process.
    """

    def __init__(self, client: Any, pieces: Sequence[Piece]) -> None:
        self._client = client
        self.pieces = list(pieces)
        self._coded: list[Any] = []

    def sizes(self) -> list[int]:
        """Return the number of rows of every piece."""
        return [int(n) for n in self._gathered(self._client.map(_size, self.pieces, pure=False))]

    def survey(self, positions: Sequence[NDArray[np.int64]]) -> list[Sampled]:
        """Return the sampled rows of every piece; see `FamilyCounter`."""
        return list(self._gathered(self._client.map(survey, self.pieces, list(positions), pure=False)))

    def code(self, coding: Coding) -> Coded:
        """Read all rows and keep their cells at the workers; see `FamilyCounter`."""
        self._coded = []
        self._coded = self._client.map(coded_piece, self.pieces, coding=coding, pure=False)
        return Coded.of_pieces(self._gathered(self._client.map(_numbers, self._coded, pure=False)))

    def count(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over all rows; see `FamilyCounter`."""
        parts = [
            # another worker counts the pieces if this one dies
            self._client.submit(_count, pieces, plan, workers=worker, allow_other_workers=True, pure=False)
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


def _numbers(coded: CodedPiece) -> tuple[int, NDArray[np.int64], dict[str, float]]:
    return coded.n_rows, coded.n_missing, coded.log_densities


def _count(pieces: Sequence[CodedPiece], plan: CountPlan) -> NDArray[np.int64]:
    return plan.count(pieces, np.zeros(plan.n_cells, np.int64))
