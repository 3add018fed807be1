"""One variable after the other cut anew, the graph given, until none shortens the description."""

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
from gomea_bn.discretization.neighbourhood import CodedColumn, Graph, coded_bins
from gomea_bn.problems.interval_dp import SortedColumn
from gomea_bn.runtime.limits import HistoryEntry

__all__ = ["Cuts", "MDLColumns", "MDLCycle"]

Cuts = dict[int, NDArray[np.float64]]
"""Inner cuts by position; of a grouped column, cuts of its level codes."""

_LEAST_GAIN = (
    1e-10  # of the description's length: smaller gains are rounding, and would keep the cycle from ending
)


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
        self._sorted: dict[int, SortedColumn] = {}
        self._value_counts: dict[int, NDArray[np.int64]] = {}
        self.n_columns = len(task.table.columns) + (task.target is not None)

    def is_cut(self, v: int) -> bool:
        """Return whether a column is continuous or grouped."""
        columns = self.task.table.columns
        return v in self.grouped or (v < len(columns) and columns[v].is_continuous)

    def sorted(self, v: int) -> SortedColumn:
        """Return a column that is cut, sorted once."""
        if v not in self._sorted:
            self._sorted[v] = SortedColumn(self.values(v))
        return self._sorted[v]

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
    """Steps of one variable after the other under one description length, which no step may raise.

    Parameters
    ----------
    columns : MDLColumns
    criterion : Criterion
    options : SearchOptions
    published : bool
        Price children by the distinct values of raw columns, as the code behind a published comparison does. There
        is no common length then, every step is taken, and cycles may go round for ever.

    Attributes
    ----------
    history : list of HistoryEntry
        The description length after every step that was taken; `n_eval` counts steps tried.
    n_cycles : int
    degenerate : dict of int to str
        For the columns whose last step was degenerate (see `ThresholdProblem`), why.
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

    def length(self, cuts: Cuts, graph: Graph) -> DescriptionLength:
        """Return the description length of cuts and a graph."""
        return total_length(self.columns.described(cuts), graph, self.criterion)

    def note(self, length: float) -> None:
        """Add a length to the history."""
        self.history.append(HistoryEntry(self.columns.task.stop.seconds, self.n_steps, length, 0))

    def run(self, cuts: Cuts, graph: Graph, order: Sequence[int], max_cycles: int | None = None) -> Cuts:
        """Return cuts that no step improves, or the best so far at the deadline or after `max_cycles`."""
        task = self.columns.task
        cuts = dict(cuts)
        coded = [self.columns.coded(v, cuts) for v in range(self.columns.n_columns)]
        length = self.length(cuts, graph).total
        due = set(order)
        first = self.n_cycles
        while due and not task.expired and (max_cycles is None or self.n_cycles < first + max_cycles):
            self.n_cycles += 1
            for v in order:
                if v not in due:
                    continue
                due.discard(v)
                shorter, found = self._step(v, cuts[v], coded, graph)
                if task.expired or found is None:
                    return cuts
                if self.published:
                    taken = not np.array_equal(found.cut_points, cuts[v])
                else:
                    taken = shorter > _LEAST_GAIN * max(1.0, abs(length))
                if taken:
                    cuts[v] = found.cut_points
                    coded[v] = self.columns.coded(v, cuts)
                    length = self.length(cuts, graph).total if self.published else length - shorter
                    self.note(length)
                    due |= graph.blanket(v) & set(order)
        return cuts

    def _step(
        self, v: int, cuts: NDArray[np.float64], coded: Sequence[CodedColumn], graph: Graph
    ) -> tuple[float, Thresholds | None]:
        """Return by how much new thresholds of one variable shorten the description, and these."""
        self.n_steps += 1
        task = self.columns.task

        def search() -> tuple[float, Thresholds | None]:
            problem = ThresholdProblem(
                self.columns.sorted(v),
                graph.neighbourhood(v, coded),
                self.criterion,
                self._raw_child_parameters(v, coded, graph) if self.published else None,
            )
            found = problem.find(self.options, incumbent=cuts, stop=task.stop.flag)
            self.degenerate.pop(v, None)
            if problem.degenerate:
                self.degenerate[v] = problem.degenerate
            return (0.0, None) if found is None else (problem.value(cuts) - found.value, found)

        return task.interruptible(search)

    def _raw_child_parameters(self, v: int, coded: Sequence[CodedColumn], graph: Graph) -> float:
        """Return the parameters of the children's tables per bin, counting the distinct values of raw columns."""
        total = 0.0
        for child in graph.children[v]:
            spouses = [self.columns.raw_cardinality(s, coded[s]) for s in graph.parents[child] if s != v]
            own = self.columns.raw_cardinality(child, coded[child])
            total += float(np.prod(spouses, dtype=np.float64)) * (own - 1)
        return total
