"""Counts of families over all rows by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.pieces import Piece
from gomea_bn.large.cells import CodedPiece, Coding, coded_piece
from gomea_bn.large.counts import Coded, CountPlan
from gomea_bn.large.survey import Sampled, survey

__all__ = ["DaskCounter"]

# largest number of pieces whose counts one task adds
_SUMMED = 8


class DaskCounter:
    """Counts on the workers of a cluster, which hold the cells of their pieces in memory; rows never move.

    Dask computes the cells of a worker that dies again, on other workers. Every piece is counted by one task whose
    result is added once.

    Parameters
    ----------
    client : distributed.Client
    pieces : sequence of Piece
        Workers read files by the same paths as this process.
    """

    def __init__(self, client: Any, pieces: Sequence[Piece]) -> None:
        self._client = client
        self._pieces = list(pieces)
        self._coded: list[Any] = []

    def sizes(self) -> list[int]:
        """Return the number of rows of every piece."""
        return [int(n) for n in self._gathered(self._client.map(_size, self._pieces, pure=False))]

    def survey(self, positions: Sequence[NDArray[np.int64]]) -> list[Sampled]:
        """Return the sampled rows of every piece; see `FamilyCounter`."""
        return list(self._gathered(self._client.map(survey, self._pieces, list(positions), pure=False)))

    def code(self, coding: Coding) -> Coded:
        """Read all rows and keep their cells at the workers; see `FamilyCounter`."""
        self._coded = []
        self._coded = self._client.map(coded_piece, self._pieces, coding=coding, pure=False)
        return Coded.of_pieces(self._gathered(self._client.map(_numbers, self._coded, pure=False)))

    def count(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over all rows; see `FamilyCounter`."""
        parts = self._client.map(_count, self._coded, plan=plan, pure=False)
        while len(parts) > 1:
            groups = [parts[first : first + _SUMMED] for first in range(0, len(parts), _SUMMED)]
            parts = self._client.map(_sum, groups, pure=False)
        (total,) = self._gathered(parts)
        return np.asarray(total, np.int64)

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


def _count(coded: CodedPiece, plan: CountPlan) -> NDArray[np.int64]:
    return plan.count([coded], np.zeros(plan.n_cells, np.int64))


def _sum(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.asarray(np.sum(parts, axis=0), np.int64)
