"""Cuts of one column after another under one description length, until no step shortens it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.base import DiscretizationTask
from gomea_bn.discretization.mdl.description_length import (
    Criterion,
    Described,
    DescriptionLength,
    total_length,
)
from gomea_bn.discretization.mdl.search import SearchOptions, ThresholdProblem, Thresholds
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts, DueColumns, coded_bins
from gomea_bn.problems.cuts.interval_counts import SortedColumns
from gomea_bn.problems.scoring.scores import is_gain
from gomea_bn.runtime.limits import HistoryEntry


class MDLColumns:
    """The columns of a task as the description sees them: values that may be cut, or codes that stay.

    Parameters
    ----------
    task : DiscretizationTask
    grouped : iterable of int
        Discrete columns whose adjacent levels may be grouped.
    """

    def __init__(self, task: DiscretizationTask, grouped: Iterable[int]) -> None:
        self.task = task
        self.grouped = frozenset(grouped)
        self.movable = frozenset(task.movable) | self.grouped
        self.sorted = SortedColumns(self.values)
        self._value_counts: dict[int, NDArray[np.int64]] = {}
        self.n_columns = len(task.table.columns) + (task.target is not None)

    def is_cut(self, v: int) -> bool:
        """Return whether a column is continuous or grouped."""
        columns = self.task.table.columns
        return v in self.grouped or (v < len(columns) and columns[v].is_continuous)

    def values(self, v: int) -> NDArray[np.float64]:
        """Return the values of a column that is cut; levels as their codes."""
        return self.task.table.columns[v].values.astype(np.float64)

    def value_counts(self, v: int) -> NDArray[np.int64]:
        """Return how often every distinct value of a column that is cut occurs."""
        if v not in self._value_counts:
            self._value_counts[v] = np.unique(self.values(v), return_counts=True)[1]
        return self._value_counts[v]

    def raw_cardinality(self, v: int, coded: CodedColumn) -> int:
        """Return the number of distinct values of a column in the data, whatever its bins."""
        return len(self.value_counts(v)) if self.is_cut(v) else coded.cardinality

    def coded(self, v: int, cuts: Cuts) -> CodedColumn:
        """Return a column's codes under the cuts."""
        if self.is_cut(v):
            return coded_bins(self.values(v), cuts[v])
        if v == len(self.task.table.columns):
            target = self.task.target
            assert target is not None
            return CodedColumn(target, int(target.max()) + 1)
        column = self.task.table.columns[v]
        return CodedColumn(column.values, len(column.levels or ()))

    def described(self, cuts: Cuts) -> list[Described]:
        """Return all columns for `total_length`."""
        return [
            Described(self.coded(v, cuts), self.value_counts(v) if self.is_cut(v) else None)
            for v in range(self.n_columns)
        ]


class MDLCycle:
    """Steps of one column after another under one description length, which no step may raise.

    Parameters
    ----------
    columns : MDLColumns
    criterion : Criterion
    options : SearchOptions
    published : bool
        Price children by the distinct values of raw columns, as the code behind a published comparison does. The
        columns then have no common length: every step is taken, and passes need not come to an end.

    Attributes
    ----------
    history : list of HistoryEntry
        Description length after every step that was taken; `n_eval` is the number of steps tried.
    n_cycles : int
        Number of passes over the columns.
    degenerate : dict of int to str
        Reasons for the columns whose last step was degenerate; see `ThresholdProblem`.
    """

    def __init__(
        self, columns: MDLColumns, criterion: Criterion, options: SearchOptions, *, published: bool = False
    ) -> None:
        self.columns = columns
        self.criterion = criterion
        self.options = options
        self.published = published
        self.history: list[HistoryEntry] = []
        self.degenerate: dict[int, str] = {}
        self.n_cycles = 0
        self.n_steps = 0

    def length(self, cuts: Cuts, graph: ColumnGraph) -> DescriptionLength:
        """Return the description length of cuts and a graph."""
        return total_length(self.columns.described(cuts), graph, self.criterion)

    def note(self, length: float) -> None:
        """Add a length to the history."""
        self.history.append(HistoryEntry(self.columns.task.stop.seconds, self.n_steps, length, 0))

    def run(
        self, cuts: Cuts, graph: ColumnGraph, order: Sequence[int], max_cycles: int | None = None
    ) -> Cuts:
        """Return cuts that no step improves, or the best so far at the deadline or after `max_cycles`."""
        task = self.columns.task
        cuts = dict(cuts)
        coded = [self.columns.coded(v, cuts) for v in range(self.columns.n_columns)]
        length = self.length(cuts, graph).total
        passes = DueColumns(order, graph, max_cycles)
        before = self.n_cycles
        for v in passes:
            if task.expired:
                break
            self.n_cycles = before + passes.n_passes
            gain, thresholds = self._step(v, cuts[v], coded, graph)
            if task.expired or thresholds is None:
                break
            if self.published:
                is_taken = not np.array_equal(thresholds.cut_points, cuts[v])
            else:
                is_taken = is_gain(gain, length)
            if is_taken:
                cuts[v] = thresholds.cut_points
                coded[v] = self.columns.coded(v, cuts)
                length = self.length(cuts, graph).total if self.published else length - gain
                self.note(length)
                passes.note_change(v)
        return cuts

    def _step(
        self, v: int, cuts: NDArray[np.float64], coded: Sequence[CodedColumn], graph: ColumnGraph
    ) -> tuple[float, Thresholds | None]:
        """Return the gain of new thresholds of one variable in nats, and the thresholds; None if it was stopped."""
        self.n_steps += 1
        task = self.columns.task

        def search() -> tuple[float, Thresholds | None]:
            problem = ThresholdProblem(
                self.columns.sorted[v],
                graph.neighbourhood(v, coded),
                self.criterion,
                self._raw_child_parameters(v, coded, graph) if self.published else None,
            )
            thresholds = problem.find(self.options, incumbent=cuts, stop=task.stop.flag)
            self.degenerate.pop(v, None)
            if problem.degenerate:
                self.degenerate[v] = problem.degenerate
            if thresholds is None:
                return 0.0, None
            return problem.value(cuts) - thresholds.value, thresholds

        return task.interruptible(search)

    def _raw_child_parameters(self, v: int, coded: Sequence[CodedColumn], graph: ColumnGraph) -> float:
        """Return the parameters of the children's tables per bin, counting the distinct values of raw columns."""
        total = 0.0
        for child in graph.children[v]:
            spouses = [self.columns.raw_cardinality(s, coded[s]) for s in graph.parents[child] if s != v]
            n_values = self.columns.raw_cardinality(child, coded[child])
            total += float(np.prod(spouses, dtype=np.float64)) * (n_values - 1)
        return total
