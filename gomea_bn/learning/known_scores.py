"""Scores and cuts that counts over all rows gave: the part of learning from pieces that a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.rows.cells import Coding
from gomea_bn.problems.rows.counter import Coded, View
from gomea_bn.runtime.checkpoints import NO_CHECKPOINT, Section, State

_KEY_BYTES = 16


def coding_key(coding: Coding) -> bytes:
    """Return a digest of the cells that a coding gives."""
    digest = sha256()
    for name in coding.names:
        cells = (
            coding.boundaries[name].tobytes()
            if name in coding.boundaries
            else repr(coding.levels[name]).encode()
        )
        digest.update(b"%d " % len(cells) + cells)
    return digest.digest()[:_KEY_BYTES]


def view_key(view: View, boundaries: NDArray[np.float64] | None) -> bytes:
    """Return a digest of the bins of a view, which are the same under all codings that have their cuts.

    `boundaries` are those of the cells of a continuous column, and None for a discrete one.
    """
    bins = view.lookup
    if boundaries is not None:
        codes = np.frombuffer(view.lookup, np.uint8)[: len(boundaries) + 1]
        bins = boundaries[np.flatnonzero(np.diff(codes))].tobytes()
    return sha256(b"%d " % view.column + bins).digest()[:_KEY_BYTES]


def joined_key(keys: Iterable[bytes]) -> bytes:
    """Return a digest of views, families or codings in their order, given by their keys."""
    return sha256(b"".join(keys)).digest()[:_KEY_BYTES]


@dataclass(frozen=True)
class BestCuts:
    """The best cuts of a column, as indices of boundaries, int64 (k,), given the bins around it.

    Values are scores in nats of these and of the present cuts, without what is the same for all cuts.
    """

    cuts: NDArray[np.int64]
    value: float
    present: float


@dataclass(frozen=True)
class CodedRows:
    """Log densities of all rows under one coding, and their numbers by cell and of missing values, by column."""

    coded: Coded
    rows_of_cells: list[NDArray[np.int64]]


@dataclass
class KnownScores:
    """Results of counts over all rows by digests of what was counted; a checkpoint has them, written after passes.

    The moves of a climb follow from them, so that a resumed run repeats all moves of the first one without counting,
    and then goes on. Scores of families in nats have the `joined_key` of their views, best cuts that of a coding, of
    the families around a column and of its present cuts, and codings their `coding_key`. Readings are of all rows,
    passes over their cells.
    """

    section: Section = NO_CHECKPOINT
    families: dict[bytes, float] = field(default_factory=dict)
    best_cuts: dict[bytes, BestCuts] = field(default_factory=dict)
    codings: dict[bytes, CodedRows] = field(default_factory=dict)
    n_readings: int = 0
    n_passes: int = 0

    def state(self) -> State:
        """Return everything as plain values and arrays."""
        cuts = list(self.best_cuts.values())
        return {
            "readings": self.n_readings,
            "passes": self.n_passes,
            "families": _joined(self.families),
            "scores": np.array(list(self.families.values()), np.float64),
            "columns": _joined(self.best_cuts),
            "n_cuts": np.array([len(best.cuts) for best in cuts], np.int64),
            "cuts": np.concatenate([np.empty(0, np.int64), *(best.cuts for best in cuts)]),
            "values": np.array([(best.value, best.present) for best in cuts], np.float64).reshape(-1, 2),
            "codings": [
                {
                    "key": key.hex(),
                    "rows": of_coding.coded.n_rows,
                    "missing": of_coding.coded.n_missing,
                    "log densities": of_coding.coded.log_densities,
                    "cells": of_coding.rows_of_cells,
                }
                for key, of_coding in self.codings.items()
            ],
        }

    def restore(self, state: State) -> None:
        """Take over what `state` has returned."""
        self.n_readings, self.n_passes = int(state["readings"]), int(state["passes"])
        self.families = dict(zip(_split(state["families"]), state["scores"].tolist(), strict=True))
        cuts = np.split(state["cuts"], np.cumsum(state["n_cuts"])[:-1]) if len(state["n_cuts"]) else []
        self.best_cuts = {
            key: BestCuts(of_column.copy(), float(value), float(present))
            for key, of_column, (value, present) in zip(
                _split(state["columns"]), cuts, state["values"], strict=True
            )
        }
        self.codings = {
            bytes.fromhex(item["key"]): CodedRows(
                Coded(int(item["rows"]), item["missing"], dict(item["log densities"])), list(item["cells"])
            )
            for item in state["codings"]
        }


def _joined(keys: Iterable[bytes]) -> NDArray[np.uint8]:
    """Return keys as an array, uint8 (n, _KEY_BYTES)."""
    return np.frombuffer(b"".join(keys), np.uint8).reshape(-1, _KEY_BYTES)


def _split(keys: NDArray[np.uint8]) -> list[bytes]:
    """Return the keys of an array, uint8 (n, _KEY_BYTES)."""
    return [row.tobytes() for row in keys]
