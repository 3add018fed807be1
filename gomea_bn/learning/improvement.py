"""All rows of a table as cells, what their counts have shown, and the moves that improve a network over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from math import inf, log, prod, sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.cells import Coding, CountPlan, View, count_in_passes
from gomea_bn.data.pieces import FramePiece, files_digest
from gomea_bn.data.row_counters import Coded, CountsPieces, FamilyCounter, OfPiece
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Setting
from gomea_bn.learning.learning_problem import column_shapes, scoring_of
from gomea_bn.learning.options import LearningOptions, rows_of_search
from gomea_bn.network.graph import reachable
from gomea_bn.problems.cuts.counted_cells import (
    available_score,
    cuts_around,
    estimated_distinct,
    first_boundaries,
    repeats_values,
    scaled_log_density,
    zoomed_boundaries,
)
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits, IntervalScore, candidate_boundaries
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.score import DIRICHLET, ScoreRule
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import family_score, is_gain, price_per_parameter, scoring_method
from gomea_bn.runtime.checkpoints import NO_CHECKPOINT, Section, State
from gomea_bn.runtime.threads import StopFlag
from gomea_bn.texts import counted, listed

# nats that other cuts of a column have to gain over all rows; smaller gains would take passes of their own
_LEAST_GAIN_OF_CUTS = 1.0
_KEY_BYTES = 16
# seconds of reading and coding a value on two cores
_SECONDS_OF_CELL = 2e-8


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


# the best cuts of a column given the bins around it, as indices of boundaries, int64 (k,), and the scores in nats of
# these and of the present cuts, without what is the same for all cuts
_BestCuts = tuple[NDArray[np.int64], float, float]


@dataclass
class KnownScores:
    """Results of counts over all rows by digests of what was counted; a checkpoint has them, written after passes.

    The moves of a climb follow from them, so that a resumed run repeats all moves of the first one without counting,
    and then goes on. Scores of families in nats have the `joined_key` of their views, best cuts that of a coding, of
    the families around a column and of its present cuts. Codings, by their `coding_key`, have log densities of all rows
    and, by column, their numbers by cell and of missing values. Readings are of all rows, passes over their cells.
    """

    section: Section = NO_CHECKPOINT
    families: dict[bytes, float] = field(default_factory=dict)
    best_cuts: dict[bytes, _BestCuts] = field(default_factory=dict)
    codings: dict[bytes, tuple[Coded, list[NDArray[np.int64]]]] = field(default_factory=dict)
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
            "n_cuts": np.array([len(of_column) for of_column, *_ in cuts], np.int64),
            "cuts": np.concatenate([np.empty(0, np.int64), *(of_column for of_column, *_ in cuts)]),
            "values": np.array([scores for _, *scores in cuts], np.float64).reshape(-1, 2),
            "codings": [
                {
                    "key": key.hex(),
                    "rows": coded.n_rows,
                    "missing": coded.n_missing,
                    "log densities": coded.log_densities,
                    "cells": rows_of_cells,
                }
                for key, (coded, rows_of_cells) in self.codings.items()
            ],
        }

    def restore(self, state: State) -> None:
        """Take over what `state` has returned."""
        self.n_readings, self.n_passes = int(state["readings"]), int(state["passes"])
        self.families = dict(zip(_split(state["families"]), state["scores"].tolist(), strict=True))
        cuts = np.split(state["cuts"], np.cumsum(state["n_cuts"])[:-1]) if len(state["n_cuts"]) else []
        self.best_cuts = {
            key: (of_column.copy(), float(value), float(present))
            for key, of_column, (value, present) in zip(
                _split(state["columns"]), cuts, state["values"], strict=True
            )
        }
        self.codings = {
            bytes.fromhex(item["key"]): (
                Coded(int(item["rows"]), item["missing"], dict(item["log densities"])),
                list(item["cells"]),
            )
            for item in state["codings"]
        }


def _joined(keys: Iterable[bytes]) -> NDArray[np.uint8]:
    """Return keys as an array, uint8 (n, _KEY_BYTES)."""
    return np.frombuffer(b"".join(keys), np.uint8).reshape(-1, _KEY_BYTES)


def _split(keys: NDArray[np.uint8]) -> list[bytes]:
    """Return the keys of an array, uint8 (n, _KEY_BYTES)."""
    return [row.tobytes() for row in keys]


class SourceFiles:
    """The files of a table in pieces as they are before the first reading; their digest is "" for frames."""

    def __init__(self, source: Any) -> None:
        self._source = source if isinstance(source, (str, os.PathLike)) else None
        self.digest = self._present_digest()

    def _present_digest(self) -> str:
        return "" if self._source is None else files_digest(self._source)

    def check_unchanged(self) -> None:
        """Raise if a file was written to, added or removed since the first reading."""
        if self.digest != self._present_digest():
            raise GomeaBnError("Files of the table have changed while they were read.", ["start again"])


def check_complete(table: Table, n_missing: NDArray[np.int64], of_rows: str = "") -> None:
    """Raise if values of columns are missing, int64 (n_columns,), for `missing="error"`."""
    if n_missing.any():
        texts = [f"{name!r} ({n:,})" for name, n in zip(table.names, n_missing.tolist(), strict=True) if n]
        raise GomeaBnError(
            f"The table has missing values{of_rows} in {listed(texts, 5)}.",
            ["fill them", Setting("missing", "drop"), Setting("missing", "available")],
        )


@dataclass(eq=False)
class CodedTable:
    """All rows of a table as cells of its columns.

    Every reading is announced, and files are checked after it. The sample has the smallest and largest values and all
    levels. Codings whose results are known are only repeated when families are counted. `missing` says what is done
    with rows that have missing values. `n_rows` is the number of rows that count, and `key` a digest of the present
    cells. `columns` are the continuous ones with these cells, and None for discrete ones. Shapes are those of the
    sample, since the first coding with the likelihood of all rows, unless `stop` came before.
    """

    counter: FamilyCounter
    files: SourceFiles
    sample: Table
    n_rows: int
    options: LearningOptions
    known: KnownScores
    missing: str
    announce: Callable[[str], object]
    stop: StopFlag

    def __post_init__(self) -> None:
        self.n_sample_rows = self.sample.n_rows
        self.key = b""
        self.columns: list[CutColumn | None] = []
        self.cardinality: list[int] = []
        self.has_missing: list[bool] = []
        self.sorted_samples = {
            column.name: CutColumn.of_values(np.asarray(column.values, np.float64))
            for column in self.sample.columns
            if column.is_continuous
        }
        # the search has fitted those of these rows
        self.shapes = column_shapes(rows_of_search(self.sample, self.options.shape), self.options)
        self._method, self._rule = scoring_of(self.sample, self.options)
        self._coding = Coding(self.sample.names, {}, {})
        # whether the counter does not have the cells of the coding yet
        self._is_waiting = False
        self._sample_cells: Coded | None = None

    def code_around(self, cut_points: Mapping[str, NDArray[np.float64]]) -> None:
        """Read all rows for the first time, with cells around the cuts of the sample.

        The cells are the bins where the time is over, or would be after reading finer ones: no cuts will move.
        """
        self.stop.check_deadline(_SECONDS_OF_CELL * self.n_rows * len(self.sample.columns))
        if self.stop.is_over:
            self._code({name: cut_points[name] for name in self.sorted_samples})
            return
        self._code(
            {name: first_boundaries(sample, cut_points[name]) for name, sample in self.sorted_samples.items()}
        )

    def zoom(self, cuts: list[NDArray[np.int64]]) -> bool:
        """Split the cells next to some cuts by reading all rows; return False if all of them are fine.

        `cuts` of continuous columns are indices of boundaries, int64 (k,); those of discrete columns are empty.
        """
        boundaries: dict[str, NDArray[np.float64]] = {}
        is_finer = False
        for name, column, of_column in zip(self.sample.names, self.columns, cuts, strict=True):
            if column is not None:
                finer = zoomed_boundaries(self.sorted_samples[name], column, of_column)
                is_finer |= finer is not None
                boundaries[name] = column.cuts if finer is None else finer
        if is_finer:
            self._code(boundaries)
        return is_finer

    def cut_points(self, cuts: list[NDArray[np.int64]]) -> dict[str, NDArray[np.float64]]:
        """Return the values of cuts, given as indices of boundaries, by continuous column."""
        return {
            name: column.cuts[of_column]
            for name, column, of_column in zip(self.sample.names, self.columns, cuts, strict=True)
            if column is not None
        }

    def indices(self, cut_points: Mapping[str, NDArray[np.float64]]) -> list[NDArray[np.int64]]:
        """Return cuts as indices of the boundaries of their columns; empty for discrete columns."""
        return [
            np.empty(0, np.int64)
            if column is None
            else np.searchsorted(column.cuts, cut_points[name]).astype(np.int64)
            for name, column in zip(self.sample.names, self.columns, strict=True)
        ]

    @property
    def rule(self) -> ScoreRule:
        """Score of families over all rows."""
        price = price_per_parameter(self._method, self.n_rows, self.options.penalty)
        return self._rule._replace(weight=price)

    @property
    def constant_score(self) -> float:
        """Score in nats of the shapes of columns whose bins can only be shaped, which is the same for all cuts."""
        return sum(
            column.weight * self.shapes[name].constant_score
            for name, column in zip(self.sample.names, self.columns, strict=True)
            if column is not None and name in self.shapes
        )

    def _code(self, boundaries: dict[str, NDArray[np.float64]]) -> None:
        """Read all rows, keep their cells, and describe the columns by them."""
        began = perf_counter()
        is_first = not self.columns
        self.cardinality = [
            len(boundaries[column.name]) + 1 if column.levels is None else len(column.levels)
            for column in self.sample.columns
        ]
        coding = Coding(
            self.sample.names,
            boundaries,
            {column.name: column.levels for column in self.sample.columns if column.levels is not None},
            {name: partial(scaled_log_density, shape.shape) for name, shape in self.shapes.items()}
            if is_first and not self.stop.is_over
            else {},
            drops_missing=self.missing == "drop",
            na_values=self.sample.reading.na_values,
        )
        self.key = coding_key(coding)
        self._coding, self._is_waiting, self._sample_cells = coding, True, None
        if self.key not in self.known.codings:
            # the code after the last cell is that of missing values
            views = [
                View.of_codes(v, np.arange(n_cells), n_cells, has_missing=True)
                for v, n_cells in enumerate(self.cardinality)
            ]
            plan = CountPlan([[view] for view in views])
            coded = self._read()
            self.known.codings[self.key] = coded, plan.tables(self.count(plan.count))
            self.announce(f"All rows read and coded in {perf_counter() - began:.1f} s.")
            self.known.section.write_if_due()
        coded, rows_of_cells = self.known.codings[self.key]
        self.n_rows = coded.n_rows
        # rows with missing values may have been dropped
        self.has_missing = [bool(of_column[-1]) for of_column in rows_of_cells]
        if is_first:
            self.shapes = {n: self._shape_of_all(n, shape, coded) for n, shape in self.shapes.items()}
        self.columns = [
            self._cut_column(column.name, boundaries[column.name], of_column[:-1])
            if column.levels is None
            else None
            for column, of_column in zip(self.sample.columns, rows_of_cells, strict=True)
        ]

    def _read(self) -> Coded:
        """Let the counter read all rows and keep their cells."""
        coded = self.counter.code(self._coding)
        self._is_waiting = False
        self.files.check_unchanged()
        self.known.n_readings += 1
        if self.missing == "error":
            check_complete(self.sample, coded.n_missing)
        return coded

    def count(self, counts_of: CountsPieces) -> NDArray[np.int64]:
        """Return counts over the present cells of all rows."""
        if self._is_waiting:
            self._read()
        return self.counter.count(counts_of)

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the present cells of all pieces."""
        if self._is_waiting:
            self._read()
        self.known.n_passes += 1
        return self.counter.total(of_piece)

    def count_sample(self, counts_of: CountsPieces) -> NDArray[np.int64]:
        """Return counts over the present cells of the sample."""
        if self._sample_cells is None:
            self._sample_cells = self._coding(FramePiece(self.sample.to_frame()))
        return counts_of([self._sample_cells])

    def _shape_of_all(self, name: str, shape: ColumnShape, coded: Coded) -> ColumnShape:
        """Return the shape of a column with its log likelihood over all rows.

        Its price in nats grows as the logarithm of the number of rows does.
        """
        values = self.sorted_samples[name].values
        of_sample = scaled_log_density(shape.shape, values)
        price = (of_sample - shape.log_likelihood) * np.log(self.n_rows) / np.log(len(values))
        of_all = coded.log_densities.get(name, of_sample * self.n_rows / len(values))
        return replace(shape, log_likelihood=of_all - price)

    def _cut_column(self, name: str, boundaries: NDArray[np.float64], rows: NDArray[np.int64]) -> CutColumn:
        """Return a continuous column, given the number of rows of every cell."""
        sample = self.sorted_samples[name]
        distinct = rows
        if repeats_values(sample):
            distinct = np.diff(sample.distinct_below(np.append(boundaries, sample.high)), prepend=0)
        return CutColumn.of_cells(boundaries, (sample.low, sample.high), rows, distinct, self.n_rows)

    def cut_cost(self, v: int) -> float:
        """Return the nats per chosen cut of a continuous column; given cuts cost nothing."""
        name, column = self.sample.names[v], self.columns[v]
        assert column is not None
        if name in (self.options.cut_points or {}):
            return 0.0
        n_distinct = estimated_distinct(self.sorted_samples[name], column.n_rows)
        return self._method.cut_cost * float(np.log(max(n_distinct - 1, 1)))

    def inside_of_bins(self, v: int, cuts: NDArray[np.int64], rule: ScoreRule) -> tuple[float, bool]:
        """Return what the inside of a column's bins adds to the score in nats, less the cost of the cuts.

        The second value says whether the bins are shaped. `cuts` holds indices of boundaries; `rule` scores families. A
        discrete column adds nothing.
        """
        column, shape = self.columns[v], self.shapes.get(self.sample.names[v])
        if column is None:
            return 0.0, False
        bins = column.merged(cuts)
        # equal values: uniform bins, which need no further numbers
        value, is_shaped = _inside_of_uniform_bins(bins, shape), False
        if shape is not None and shape.measures[-1]:
            of_shape = shape.compared_log_likelihood - family_score(bins.rows, rule)
            if len(shape.measures) == 1 or of_shape > value:
                value, is_shaped = of_shape, True
        return column.weight * (value - self.cut_cost(v) * len(cuts)), is_shaped


def _inside_of_uniform_bins(bins: CutColumn, shape: ColumnShape | None) -> float:
    """Return the log density of rows that are uniform in their bins, with the range scaled to 1, in nats.

    It is -inf if the column may have a shape instead and a bin is too narrow.
    """
    has_choice = shape is not None and len(shape.measures) == 2
    if shape and has_choice and shape.is_too_narrow(bins.edges, bins.rows_up_to, bins.distinct_up_to):
        return -inf
    filled = bins.rows > 0
    logs = np.log(np.diff(bins.edges)[filled]) - log(bins.high - bins.low)
    return -float(bins.rows[filled] @ logs)


@dataclass(frozen=True)
class Move:
    """A change of the network that raises its score over all rows by a gain in nats.

    It is "add", "remove", "replace", "reverse", "cuts" or "graph". Its columns are parent, or new and former parent,
    and child; the column that is cut; or all children that change. `families` has the new parents of these children,
    and `cuts`, int64 (k,), the new cuts as indices of boundaries.
    """

    kind: str
    columns: tuple[int, ...]
    gain: float
    families: Mapping[int, frozenset[int]]
    cuts: NDArray[np.int64] | None = None


@dataclass
class Promises:
    """What earlier passes tell of moves, so that most passes count a few of them.

    A pass that counts all moves has to follow before a climb may end. `gains` has what the edge between child and
    parent was worth in nats when it was last counted, and `stirred` what the moves in the families around a column have
    gained since its cuts were last priced.
    """

    gains: dict[tuple[int, int], float] = field(default_factory=dict)
    stirred: dict[int, float] = field(default_factory=dict)

    def may_gain(self, child: int, other: int, margin: float) -> bool:
        """Return whether adding an edge is unknown, or did not lose more than a margin in nats."""
        return self.gains.get((child, other), inf) > -margin

    def may_recut(self, column: int) -> bool:
        """Return whether enough has moved around a column that its cuts may move too."""
        return self.stirred.get(column, inf) > _LEAST_GAIN_OF_CUTS

    def note_priced(self, columns: Iterable[int]) -> None:
        """Note that the best cuts of columns are known."""
        self.stirred.update(dict.fromkeys(columns, 0.0))

    def note_move(self, members: Iterable[int], gain: float) -> None:
        """Note a move in families with the given members."""
        for column in members:
            self.stirred[column] = self.stirred.get(column, inf) + gain

    def forget_prices(self) -> None:
        """Let the cuts of all columns be priced in the next pass."""
        self.stirred.clear()


# how many moves a pass counts: promising ones, all changes of one edge or column, and those of two parents
_PROMISING, _SINGLE, _PAIRS = range(3)
_MOST_ZOOMS = 4
# a table by cells with more entries is not counted, so that its column keeps its cuts
_MOST_CELLS_OF_CUTS = 2**22

_Family = tuple[View, ...]
"""Parents in their order, then the child; or any views whose joint table is counted."""


@dataclass
class Climb:
    """A network over cells, and the moves that improve it over all rows.

    A pass counts families of the network and of its neighbours that are not known yet. Then moves are made in the order
    of their gains, as long as no earlier one of the pass has changed a family that they need. Most passes count
    promising neighbours alone; all are counted where no promising move is left. A stop ends the climb after the present
    pass.

    Families of columns in which values are missing are scored on available cases. `cuts`, int64 (k,) for every
    continuous column and empty for discrete ones, are indices of boundaries.

    `pairs`, bool (n_columns, n_columns), may be joined, and the cuts of the columns `recut` may change. Columns that
    follow curves, which tables cannot judge, keep their parents.
    """

    rows: CodedTable
    parents: list[frozenset[int]]
    cuts: list[NDArray[np.int64]]
    edge_rules: EdgeRules
    pairs: NDArray[np.bool_]
    score_rule: ScoreRule
    limits: CutLimits
    recut: frozenset[int]
    keeps_parents: frozenset[int] = frozenset()
    n_threads: int = 1
    moves: list[Move] = field(default_factory=list)
    promises: Promises = field(default_factory=Promises)
    _view_keys: dict[View, bytes] = field(default_factory=dict)
    _sample_scores: dict[bytes, float] = field(default_factory=dict)

    def _allows(self, parent: int, child: int) -> bool:
        """Return whether an edge may be added."""
        return bool(self.pairs[parent, child] and self.edge_rules.may_lead[parent, child])

    def _requires(self, parent: int, child: int) -> bool:
        """Return whether the pair of an edge must stay joined."""
        return not self.edge_rules.may_lack[parent, child]

    @cached_property
    def _interval_score(self) -> IntervalScore:
        rule = self.score_rule
        return IntervalScore(scoring_method("density-bd" if rule.kind == DIRICHLET else "density-bic"), rule)

    def view(self, v: int) -> View:
        """Return the present bins or levels of a column."""
        codes, n_codes = np.arange(self.rows.cardinality[v]), self.rows.cardinality[v]
        if self.rows.columns[v] is not None:
            codes, n_codes = np.searchsorted(self.cuts[v], codes, side="left"), len(self.cuts[v]) + 1
        return View.of_codes(
            v,
            codes,
            n_codes,
            has_missing=self.rows.has_missing[v],
            is_level=self.rows.columns[v] is None,
        )

    def refine(self) -> bool:
        """Find the best cuts for the graph to within a few rows; return whether they have changed."""
        if not self.recut:
            return False
        before = self.rows.cut_points(self.cuts)
        self.improve(edges=False)
        for _ in range(_MOST_ZOOMS):
            cuts = self.rows.cut_points(self.cuts)
            if self.rows.stop.is_over or not self.rows.zoom(self.cuts):
                break
            self.cuts = self.rows.indices(cuts)
            self.promises.forget_prices()
            self._view_keys.clear()
            if self.improve(edges=False) < _LEAST_GAIN_OF_CUTS:
                break
        after = self.rows.cut_points(self.cuts)
        return any(not np.array_equal(before[name], after[name]) for name in after)

    def improve(self, *, edges: bool) -> float:
        """Make moves until none is left, and return what they gain in nats; without `edges` only cuts move.

        Cuts alone end where no promising move is left, since changes of edges follow. Where no single move is left,
        pairs are tried: a parent in place of another one, and the reversal of an edge with one more change of the
        parents at either end, unless they lose much on the sample.

        Cuts of all columns first move at once, since most of them hardly matter to each other. As soon as that lowers
        the score it is taken back, and from then on a move waits for those that concern its families.

        With missing values new cuts may change the order in which parents are judged, and so lower the score. Such
        moves are taken back and end the climb, which could go in a circle otherwise.

        A stop ends the climb after the present pass. Its moves are then made only if none of them can lower the score,
        since no pass follows that would take them back.
        """
        gained, at_once, breadth = 0.0, not edges, _PROMISING
        before: tuple[float, list[NDArray[np.int64]], list[frozenset[int]], int] | None = None
        is_last = self.rows.stop.is_over
        while not is_last:
            moves = self._pass(edges=edges, breadth=breadth)
            is_last = self.rows.stop.is_over
            score = self._total()
            if before is not None:
                if score < before[0] and (at_once or any(self.rows.has_missing)):
                    _, self.cuts, self.parents, n_moves = before
                    del self.moves[n_moves:]
                    self.promises.forget_prices()
                    if not at_once:
                        break
                    at_once, before = False, None
                    continue
                gained += score - before[0]
            before = score, list(self.cuts), list(self.parents), len(self.moves)
            if is_last and any(self.rows.has_missing):
                break
            has_moved = bool(self._make(moves, at_once=at_once and not is_last))
            if not has_moved and breadth == (_PAIRS if edges else _PROMISING):
                break
            breadth = _PROMISING if has_moved else breadth + 1
        return gained

    def offer(self, parents: list[frozenset[int]]) -> bool:
        """Take another graph if its score over all rows is higher, and return whether it was taken."""
        graphs = self.parents, parents
        families = [self._family(v, of_column) for graph in graphs for v, of_column in enumerate(graph)]
        self._count_unknown(families, {})
        present, other = (sum(self._score(v, p) for v, p in enumerate(graph)) for graph in graphs)
        if not is_gain(other - present, present):
            return False
        changed = {v: p for v, p in enumerate(parents) if p != self.parents[v]}
        self.parents = parents
        self.promises.forget_prices()
        self.moves.append(Move("graph", tuple(changed), other - present, changed))
        return True

    def _total(self) -> float:
        """Return the score of the network, whose families are counted, in nats."""
        total = sum(self._score(v, parents) for v, parents in enumerate(self.parents))
        return total + sum(
            self.rows.inside_of_bins(v, cuts, self.score_rule)[0] for v, cuts in enumerate(self.cuts)
        )

    def table_parents(self, v: int) -> list[int]:
        """Return the parents of a column without those that tell nothing, since one of the two has a single bin.

        Parents that the rules require stay, and all parents of a column that follows curves.
        """
        if v in self.keeps_parents:
            return sorted(self.parents[v])
        is_split = self.view(v).cardinality > 1
        return [
            p
            for p in sorted(self.parents[v])
            if (is_split and self.view(p).cardinality > 1) or self._requires(p, v)
        ]

    def family_tables(self) -> list[NDArray[np.int64]]:
        """Return the counts of the families of the network, int64 (n_codes(parent_1), ..., n_codes(child)) each."""
        families = [self._family(v, parents) for v, parents in enumerate(self.parents)]
        tables: dict[int, NDArray[np.int64]] = {}

        def keep(v: int, counts: list[NDArray[np.int64]]) -> None:
            (tables[v],) = counts

        self.count([[family] for family in families], keep)
        return [tables[v] for v in range(len(families))]

    def score(self, tables: Sequence[NDArray[np.int64]]) -> tuple[float, NDArray[np.bool_]]:
        """Return the score of the network in nats, given `family_tables`, and which columns have shaped bins."""
        total = 0.0
        is_shaped = np.zeros(len(self.parents), np.bool_)
        for v, table in enumerate(tables):
            views = self._family(v, self.parents[v])
            total += available_score(table, views, self.score_rule)
            inside, is_shaped[v] = self.rows.inside_of_bins(v, self.cuts[v], self.score_rule)
            total += inside
        return total, is_shaped

    def _family(self, child: int, parents: Iterable[int]) -> _Family:
        return (*(self.view(p) for p in sorted(parents)), self.view(child))

    def _pass(self, *, edges: bool, breadth: int) -> list[Move]:
        """Count what is not known of the neighbours, and return all moves that gain, best first."""
        children = range(len(self.parents))
        neighbours = {v: self._neighbours(v, self.parents[v]) for v in children} if edges else {}
        if breadth == _PAIRS:
            neighbours = self._promising({v: self._second_neighbours(v, neighbours[v]) for v in children})
        elif breadth == _PROMISING:
            neighbours = {v: self._near_gains(v, sets) for v, sets in neighbours.items()}
        families = [self._family(v, self.parents[v]) for v in children]
        families += [self._family(v, parents) for v, sets in neighbours.items() for parents in sets]
        recut = [v for v in sorted(self.recut) if breadth > _PROMISING or self.promises.may_recut(v)]
        around = {v: self._around(v) for v in recut}
        # all tables around a column are counted, or it keeps its cuts
        largest = {v: max(prod(view.n_codes for view in f) for f in near) for v, near in around.items()}
        around = {v: near for v, near in around.items() if largest[v] <= _MOST_CELLS_OF_CUTS}
        n_counted = self._count_unknown(families, around)
        if n_counted:
            families_counted = counted(n_counted, "family", "families")
            self.rows.announce(
                f"{families_counted} counted over all rows; {counted(len(self.moves), 'move')} so far."
            )
            self.rows.known.section.write_if_due()
        self.promises.note_priced(around)
        moves = self._cut_moves(around)
        if edges:
            moves += self._edge_moves(neighbours)
        return sorted(moves, key=lambda move: (-move.gain, move.kind, move.columns))

    def _count_unknown(self, families: Sequence[_Family], around: Mapping[int, Sequence[_Family]]) -> int:
        """Score families, and find the best cuts of columns, as far as they are unknown; return how many were counted.

        `around` has the families that the cuts of a column decide.
        """
        unknown = {
            key: family for family in families if (key := self._key(family)) not in self.rows.known.families
        }
        due = {
            key: v
            for v, of_column in around.items()
            if (key := self._keys(of_column)) not in self.rows.known.best_cuts
        }
        keys = [*unknown, *due]
        groups: list[Sequence[_Family]] = [[family] for family in unknown.values()]
        groups += [around[v] for v in due.values()]

        def use(group: int, tables: list[NDArray[np.int64]]) -> None:
            key = keys[group]
            if key in unknown:
                self.rows.known.families[key] = available_score(tables[0], unknown[key], self.score_rule)
                return
            v = due[key]
            self.rows.known.best_cuts[key] = self._best_cuts(v, around[v], tables)

        self.count(groups, use)
        return sum(map(len, groups))

    def _best_cuts(
        self, v: int, families: Sequence[_Family], tables: Sequence[NDArray[np.int64]]
    ) -> _BestCuts:
        """Return the best cuts of a column among its candidates, given the counts of the families around it."""
        column = self.rows.columns[v]
        assert column is not None
        candidates = self._candidates(v)
        present = np.searchsorted(candidates, self.cuts[v])
        merged = column.merged(candidates)
        bins = [[self.view(view.column) for view in family] for family in families]
        shape = self.rows.shapes.get(self.rows.sample.names[v])
        cuts = cuts_around(
            merged,
            present,
            families,
            bins,
            tables,
            self.score_rule,
            self._interval_score,
            self.rows.cut_cost(v),
            shape,
        )
        chosen, value, now = cuts.best(self._limits(v), present)
        return candidates[chosen], value, now

    def _near_gains(self, child: int, neighbours: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        """Return the neighbours of a child's parents without those that lost much when they were last counted.

        Such a loss is more than the root of the number of rows in nats, which cuts that move a little do not turn.
        """
        parents, margin = self.parents[child], sqrt(self.rows.n_rows)
        return [
            near
            for near in neighbours
            if near < parents or all(self.promises.may_gain(child, p, margin) for p in near - parents)
        ]

    def _neighbours(self, child: int, parents: frozenset[int]) -> list[frozenset[int]]:
        """Return the sets with one parent more or fewer that the rules allow."""
        if child in self.keeps_parents:
            return []
        fewer = [parents - {p} for p in sorted(parents) if not self._requires(p, child)]
        cardinality = [
            n if column is None else len(cuts) + 1
            for n, column, cuts in zip(self.rows.cardinality, self.rows.columns, self.cuts, strict=True)
        ]
        return fewer + [
            parents | {p}
            for p in self.edge_rules.addable(child, parents, cardinality)
            # a column with one bin gains nothing as a parent
            if self.pairs[p, child] and cardinality[p] > 1
        ]

    def _second_neighbours(self, child: int, neighbours: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        """Return the neighbours of a child's parents, and the neighbours of those that differ by a present edge.

        A present edge either ends at the child, or leads from it to a column that becomes a parent.
        """
        parents = self.parents[child]
        sets = dict.fromkeys(neighbours)
        for near in neighbours:
            (other,) = near ^ parents
            if other in parents or child in self.parents[other]:
                sets.update(dict.fromkeys(self._neighbours(child, near)))
        sets.pop(parents, None)
        return list(sets)

    def _promising(
        self, neighbours: Mapping[int, Sequence[frozenset[int]]]
    ) -> dict[int, list[frozenset[int]]]:
        """Return the neighbours that differ by one parent, and those of the others that lose little on the sample.

        A sample of m rows shows gains and losses with an error of the order of the root of m.
        """
        changed = [(v, parents) for v, sets in neighbours.items() for parents in (*sets, self.parents[v])]
        families = {member: self._family(*member) for member in changed}
        keys = {member: self._key(family) for member, family in families.items()}
        due = {key: families[member] for member, key in keys.items() if key not in self._sample_scores}
        unknown = list(due.items())

        def use(position: int, tables: list[NDArray[np.int64]]) -> None:
            key, family = unknown[position]
            self._sample_scores[key] = available_score(tables[0], family, self.score_rule)

        groups = [[family] for _, family in unknown]
        count_in_passes(groups, self.rows.count_sample, use, n_threads=self.n_threads)
        most = sqrt(self.rows.n_sample_rows)
        score = {member: self._sample_scores[key] for member, key in keys.items()}
        return {
            v: [
                parents
                for parents in sets
                if len(parents ^ self.parents[v]) == 1 or score[v, parents] > score[v, self.parents[v]] - most
            ]
            for v, sets in neighbours.items()
        }

    def _around(self, v: int) -> list[_Family]:
        """Return the families that the cuts of a column decide, with candidate cuts: its own, those of its children."""
        n_candidates = len(candidates := self._candidates(v))
        codes = np.searchsorted(candidates, np.arange(self.rows.cardinality[v]), side="left")
        column = View.of_codes(v, codes, n_candidates + 1, has_missing=self.rows.has_missing[v])
        parents, of_children = self._blanket(v)
        return [(*parents, column), *((column, *members) for members in of_children)]

    def _blanket(self, v: int) -> tuple[list[View], list[list[View]]]:
        """Return the parents of a column, and the other members of the families of its children."""
        children = [c for c, parents in enumerate(self.parents) if v in parents]
        return [self.view(p) for p in sorted(self.parents[v])], [
            [*(self.view(p) for p in sorted(self.parents[c] - {v})), self.view(c)] for c in children
        ]

    def _candidates(self, v: int) -> NDArray[np.int64]:
        """Return the boundaries of a column that may become its cuts, as indices."""
        parents, of_children = self._blanket(v)
        n_counters = prod(view.cardinality for view in parents)
        for *spouses, child in of_children:
            n_counters += prod(view.cardinality for view in spouses) * (child.cardinality + 1)
        return candidate_boundaries(self.rows.cardinality[v] - 1, n_counters, self.cuts[v])

    def _cut_moves(self, around: Mapping[int, Sequence[_Family]]) -> list[Move]:
        """Return the best cuts of columns whose present cuts are worse."""
        moves = []
        for v, families in around.items():
            cuts, value, present = self.rows.known.best_cuts[self._keys(families)]
            gain = value - present
            if gain > _LEAST_GAIN_OF_CUTS and is_gain(gain, value):
                changed = {v, *(c for c, parents in enumerate(self.parents) if v in parents)}
                families_after = {c: self.parents[c] for c in sorted(changed)}
                moves.append(Move("cuts", (v,), gain, families_after, cuts))
        return moves

    def _limits(self, v: int) -> CutLimits:
        """Return the limits of the cuts of a column, so that no table around it exceeds its largest size."""
        others = [prod(view.cardinality for view in family if view.column != v) for family in self._around(v)]
        limits = self.limits
        most = max(int(self.edge_rules.max_table_cells // max(others)), 1)
        largest = most if limits.max_bins is None else min(limits.max_bins, most)
        return CutLimits(1, largest, limits.min_width, limits.min_bin_count)

    def _edge_moves(self, neighbours: Mapping[int, Sequence[frozenset[int]]]) -> list[Move]:
        """Return the changes of one parent set, and the reversals of an edge, that gain."""
        moves = []
        present = [self._score(v, parents) for v, parents in enumerate(self.parents)]
        for child, sets in neighbours.items():
            for parents in sets:
                gain = self._score(child, parents) - present[child]
                added, removed = sorted(parents - self.parents[child]), sorted(self.parents[child] - parents)
                if len(added) + len(removed) == 1:
                    (other,) = (*added, *removed)
                    self.promises.gains[child, other] = gain if added else -gain
                if len(added) + len(removed) > 1 and not (added and removed):
                    continue
                if is_gain(gain, present[child]):
                    kind = "replace" if added and removed else "add" if added else "remove"
                    moves.append(Move(kind, (*added, *removed, child), gain, {child: parents}))
        for child, parents in enumerate(self.parents):
            for parent in sorted(parents):
                if not self._allows(child, parent):
                    continue
                without = [s for s in (*neighbours[child], parents) if parent not in s]
                reversed_ = [s for s in neighbours[parent] if child in s]
                if not without or not reversed_:
                    continue
                best = max(without, key=lambda s: (self._score(child, s), sorted(s)))
                new = max(reversed_, key=lambda s: (self._score(parent, s), sorted(s)))
                gain = self._score(child, best) + self._score(parent, new) - present[child] - present[parent]
                if is_gain(gain, present[child] + present[parent]):
                    moves.append(Move("reverse", (parent, child), gain, {child: best, parent: new}))
        return moves

    def _make(self, moves: Sequence[Move], *, at_once: bool) -> int:
        """Make moves in their order, and return their number.

        Unless all are made at once, those are left out whose gain an earlier one may have changed.
        """
        n_before = len(self.moves)
        changed: set[int] = set()
        recut: set[int] = set()
        for move in moves:
            members = {v for child, parents in move.families.items() for v in (child, *parents)}
            members |= {v for child in move.families for v in self.parents[child]}
            if not at_once and (changed & set(move.families) or recut & members):
                continue
            after = {**dict(enumerate(self.parents)), **move.families}
            if move.kind != "cuts" and any(v in reachable(after, after[v]) for v in move.families):
                continue
            for child, parents in move.families.items():
                self.parents[child] = parents
            changed |= set(move.families)
            self.promises.note_move(members, move.gain)
            if move.cuts is not None:
                self.cuts[move.columns[0]] = move.cuts
                recut.add(move.columns[0])
            self.moves.append(move)
        return len(self.moves) - n_before

    def _key(self, family: Sequence[View]) -> bytes:
        return joined_key(self._view_key(view) for view in family)

    def _view_key(self, view: View) -> bytes:
        if view not in self._view_keys:
            column = self.rows.columns[view.column]
            self._view_keys[view] = view_key(view, None if column is None else column.cuts)
        return self._view_keys[view]

    def _keys(self, families: Sequence[_Family]) -> bytes:
        """Return the key of the families around a column, and of its present cuts, as indices of present cells."""
        present = self.view(families[0][-1].column)
        return joined_key([self.rows.key, *map(self._key, families), self._view_key(present)])

    def _score(self, child: int, parents: frozenset[int]) -> float:
        """Return the score of a counted family in nats, without the inside of the bins."""
        return self.rows.known.families[self._key(self._family(child, parents))]

    def count(
        self, groups: Sequence[Sequence[_Family]], use: Callable[[int, list[NDArray[np.int64]]], None]
    ) -> None:
        """Count families over all rows; see `count_in_passes`."""
        self.rows.known.n_passes += count_in_passes(groups, self.rows.count, use, n_threads=self.n_threads)
