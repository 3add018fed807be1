"""A table in pieces as cells of its columns: codings of all rows, and what they tell of the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.pieces import FramePiece
from gomea_bn.data.table import Table
from gomea_bn.large.boundaries import (
    estimated_distinct,
    first_boundaries,
    repeats_values,
    zoomed_boundaries,
)
from gomea_bn.large.cells import CodedPiece, Coding, coded_piece, scaled_log_density
from gomea_bn.large.counters.plan import Coded, CountPlan, FamilyCounter, OfPiece, View
from gomea_bn.large.grid_cuts import GridColumn
from gomea_bn.large.known_scores import CodedRows, KnownScores, coding_key
from gomea_bn.large.opening import SourceFiles, check_complete
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import column_shapes, scoring_of
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.shape import ColumnShape

__all__ = ["CodedTable"]


class CodedTable:
    """All rows of a table as cells of its columns.

    Parameters
    ----------
    counter : FamilyCounter
        Reads and counts all rows.
    files : SourceFiles
        Checked after every reading.
    sample : Table
        Sample of the rows, with their smallest and largest values and all levels.
    n_rows : int
        Number of all rows.
    options : LearningOptions
        Options of the search.
    known : KnownScores
        Codings whose results are known are only repeated when families are counted.
    missing : {"available", "drop", "error"}
        What is done with rows that have missing values.
    announce : callable
        Receives a line on every reading.

    Attributes
    ----------
    n_rows, n_sample_rows : int
        Numbers of all rows that count, and of those of the sample.
    key : bytes
        Digest of the present cells.
    has_missing : list of bool
        Columns in which values are missing.
    columns : list of GridColumn or None
        Continuous columns with their present cells; None for discrete ones.
    cardinality : list of int
        Number of cells or levels of every column.
    sorted_samples : dict of str to SortedColumn
        Samples of the continuous columns.
    shapes : dict of str to ColumnShape
        Shapes of continuous columns, of the sample until the first coding, then with the likelihood of all rows.
    """

    def __init__(
        self,
        counter: FamilyCounter,
        files: SourceFiles,
        sample: Table,
        n_rows: int,
        options: LearningOptions,
        known: KnownScores,
        *,
        missing: str,
        announce: Callable[[str], object],
    ) -> None:
        self.sample = sample
        self.n_rows, self.n_sample_rows = n_rows, sample.n_rows
        self.key = b""
        self.columns: list[GridColumn | None] = []
        self.cardinality: list[int] = []
        self.has_missing: list[bool] = []
        self.sorted_samples = {
            column.name: SortedColumn(np.asarray(column.values, np.float64))
            for column in sample.columns
            if column.is_continuous
        }
        self.shapes = column_shapes(sample, options)
        self._method, _ = scoring_of(sample, options)
        self._counter = counter
        self._files = files
        self._options = options
        self._known = known
        self._coding = Coding(sample.names, {}, {})
        # whether the counter does not have the cells of the coding yet
        self._is_waiting = False
        self._sample_cells: CodedPiece | None = None
        self._missing = missing
        self._announce = announce

    def code_around(self, cut_points: Mapping[str, NDArray[np.float64]]) -> None:
        """Read all rows for the first time, with cells around the cuts of the sample."""
        self._code(
            {name: first_boundaries(sample, cut_points[name]) for name, sample in self.sorted_samples.items()}
        )

    def zoom(self, cuts: list[NDArray[np.int64]]) -> bool:
        """Split the cells next to some cuts by reading all rows; return False if all of them are fine.

        Parameters
        ----------
        cuts : list of ndarray of shape (k,), int64
            Cuts of every continuous column as indices of boundaries; empty for discrete columns.
        """
        boundaries: dict[str, NDArray[np.float64]] = {}
        is_finer = False
        for name, column, of_column in zip(self.sample.names, self.columns, cuts, strict=True):
            if column is not None:
                finer = zoomed_boundaries(self.sorted_samples[name], column, of_column)
                is_finer |= finer is not None
                boundaries[name] = column.boundaries if finer is None else finer
        if is_finer:
            self._code(boundaries)
        return is_finer

    def cut_points(self, cuts: list[NDArray[np.int64]]) -> dict[str, NDArray[np.float64]]:
        """Return the values of cuts, given as indices of boundaries, by continuous column."""
        return {
            name: column.boundaries[of_column]
            for name, column, of_column in zip(self.sample.names, self.columns, cuts, strict=True)
            if column is not None
        }

    def indices(self, cut_points: Mapping[str, NDArray[np.float64]]) -> list[NDArray[np.int64]]:
        """Return cuts as indices of the boundaries of their columns; empty for discrete columns."""
        return [
            np.empty(0, np.int64)
            if column is None
            else np.searchsorted(column.boundaries, cut_points[name]).astype(np.int64)
            for name, column in zip(self.sample.names, self.columns, strict=True)
        ]

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
            {name: shape.shape for name, shape in self.shapes.items()} if is_first else {},
            drops_missing=self._missing == "drop",
            na_values=self.sample.reading.na_values,
        )
        self.key = coding_key(coding)
        self._coding, self._is_waiting, self._sample_cells = coding, True, None
        if self.key not in self._known.codings:
            # the code after the last cell is that of missing values
            views = [
                View.of_codes(v, np.arange(n_cells), n_cells, has_missing=True)
                for v, n_cells in enumerate(self.cardinality)
            ]
            plan = CountPlan([[view] for view in views])
            coded = self._read()
            self._known.codings[self.key] = CodedRows(coded, plan.tables(self.count(plan)))
            self._announce(f"All rows read and coded in {perf_counter() - began:.1f} s.")
            self._known.section.write_if_due()
        known = self._known.codings[self.key]
        self.n_rows = known.coded.n_rows
        # rows with missing values may have been dropped
        self.has_missing = [bool(of_column[-1]) for of_column in known.rows_of_cells]
        if is_first:
            self.shapes = {
                name: self._shape_of_all(name, shape, known.coded) for name, shape in self.shapes.items()
            }
        self.columns = [
            self._grid_column(column.name, boundaries[column.name], of_column[:-1])
            if column.levels is None
            else None
            for column, of_column in zip(self.sample.columns, known.rows_of_cells, strict=True)
        ]

    def _read(self) -> Coded:
        """Let the counter read all rows and keep their cells."""
        coded = self._counter.code(self._coding)
        self._is_waiting = False
        self._files.check_unchanged()
        self._known.n_readings += 1
        if self._missing == "error":
            check_complete(self.sample, coded.n_missing)
        return coded

    def count(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over the present cells of all rows, int64 (plan.n_cells,)."""
        if self._is_waiting:
            self._read()
        return self._counter.count(plan)

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the present cells of all pieces."""
        if self._is_waiting:
            self._read()
        self._known.n_passes += 1
        return self._counter.total(of_piece)

    def count_sample(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over the present cells of the sample, int64 (plan.n_cells,)."""
        if self._sample_cells is None:
            self._sample_cells = coded_piece(FramePiece(self.sample.to_frame()), self._coding)
        return plan.count([self._sample_cells], np.zeros(plan.n_cells, np.int64))

    def _shape_of_all(self, name: str, shape: ColumnShape, coded: Coded) -> ColumnShape:
        """Return the shape of a column with its log likelihood over all rows.

        Its price in nats grows as the logarithm of the number of rows does.
        """
        values = self.sorted_samples[name].values
        of_sample = scaled_log_density(shape.shape, values)
        price = (of_sample - shape.log_likelihood) * np.log(self.n_rows) / np.log(len(values))
        return replace(shape, log_likelihood=coded.log_densities[name] - price)

    def _grid_column(self, name: str, boundaries: NDArray[np.float64], rows: NDArray[np.int64]) -> GridColumn:
        """Return a continuous column, given the number of rows of every cell."""
        sample = self.sorted_samples[name]
        distinct = rows
        if repeats_values(sample):
            ends = np.concatenate(([0], np.searchsorted(sample.distinct, boundaries, side="right")))
            distinct = np.diff(np.append(ends, len(sample.distinct)))
        cost = self._method.cut_cost * np.log(max(estimated_distinct(sample, int(rows.sum())) - 1, 1))
        if name in (self._options.cut_points or {}):
            cost = 0.0
        n_observed = int(rows.sum())
        return GridColumn(
            boundaries,
            sample.low,
            sample.high,
            rows,
            distinct,
            cost,
            self.shapes.get(name),
            self.n_rows / max(n_observed, 1),
        )
