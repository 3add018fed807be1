"""MDL discretization: bins that shorten the description of a network and its data (Friedman & Goldszmidt 1996)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import log
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Table
from gomea_bn.discretization.base import (
    DiscretizationTask,
    Discretizer,
    NoNeighbourWarning,
    order_of_columns,
    starting_cuts,
)
from gomea_bn.discretization.levels import grouped_columns, groups_between_cuts, network_over_levels
from gomea_bn.discretization.mdl.description_length import (
    CRITERIA,
    Criterion,
    DescriptionLength,
    total_length,
)
from gomea_bn.discretization.mdl.search import SEARCHES, ThresholdProblem
from gomea_bn.discretization.structure_search import (
    EdgeMoves,
    Parents,
    check_knowledge,
    coded_scorer,
    compile_structure_kernels,
    frozen_parents,
    permitted_start,
)
from gomea_bn.errors import GomeaBnError, Option, check_integer, give_warning
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph, Network
from gomea_bn.parameters import Choice, Number, WholeNumber, option, stated
from gomea_bn.problems.cuts.blanket import (
    CodedColumn,
    CodedFamily,
    Cuts,
    Neighbourhood,
    coded_column,
)
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_counts import PricedCuts
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, equal_frequency_cuts
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules
from gomea_bn.problems.scores import is_gain
from gomea_bn.runtime.limits import HistoryEntry
from gomea_bn.texts import counted

if TYPE_CHECKING:
    import pandas as pd

STARTS = ("equal-width", "equal-frequency", "network")


class MDLColumns:
    """The columns of a task as the description sees them: values that may be cut, or codes that stay.

    Adjacent levels of the discrete columns `grouped` may be grouped.
    """

    def __init__(self, task: DiscretizationTask, grouped: Iterable[int]) -> None:
        self.task = task
        self.grouped = frozenset(grouped)
        self.movable = frozenset(task.movable) | self.grouped
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
        if v == len(self.task.table.columns):
            target = self.task.target
            assert target is not None
            return CodedColumn(target, int(target.max()) + 1)
        return coded_column(self.task.table.columns[v], cuts[v] if self.is_cut(v) else None)

    def total_length(self, cuts: Cuts, graph: ColumnGraph, criterion: Criterion) -> DescriptionLength:
        """Return the description length of all columns under the cuts and a graph."""
        coded = [self.coded(v, cuts) for v in range(self.n_columns)]
        counts = {v: self.value_counts(v) for v in range(self.n_columns) if self.is_cut(v)}
        return total_length(coded, graph, criterion, counts)


class MDLCycle:
    """Steps of one column after another under one description length, which no step may raise.

    With `published`, children are priced by the distinct values of raw columns, as the code behind a published
    comparison does. The columns then have no common length: every step is taken, and passes need not come to an end.
    `history` has the length after every step that was taken, whose `n_eval` is the number of steps tried. `degenerate`
    has the reasons for the columns whose last step was degenerate; see `ThresholdProblem`.
    """

    def __init__(
        self,
        columns: MDLColumns,
        criterion: Criterion,
        options: dict[str, Any],
        *,
        published: bool = False,
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
        return self.columns.total_length(cuts, graph, self.criterion)

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
        passes = task.passes(order, max_cycles, graph=graph)
        before = self.n_cycles
        for v in passes:
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
    ) -> tuple[float, PricedCuts | None]:
        """Return the gain of new thresholds of one variable in nats, and the thresholds; None if it was stopped."""
        self.n_steps += 1
        task = self.columns.task

        def search() -> tuple[float, PricedCuts | None]:
            problem = ThresholdProblem(
                task.sorted_column(v),
                graph.neighbourhood(v, coded),
                self.criterion,
                self._raw_child_parameters(v, coded, graph) if self.published else None,
            )
            thresholds = problem.find(**self.options, incumbent=cuts, stop=task.stop.flag)
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


@cache
def compile_mdl_kernels() -> None:
    """Compile or load the kernels on a tiny problem, so that no deadline pays for it."""
    codes: NDArray[np.int32] = (np.arange(12, dtype=np.int32) // 4) % 2
    other = CodedColumn(codes, 2)
    around = Neighbourhood((other,), (CodedFamily(other, (other,)),))
    problem = ThresholdProblem(CutColumn.of_values(np.arange(12.0)), around, Criterion("mdl", 12))
    for search in SEARCHES:
        problem.find(search)


@dataclass(eq=False, repr=False, kw_only=True)
class DescriptionDiscretizer(Discretizer):
    """What discretizers by description length share; `MDLDiscretizer` describes parameters and attributes."""

    _warm_ups: ClassVar[tuple[Callable[[], None], ...]] = (compile_mdl_kernels,)

    search: str = field(default="exact", metadata=stated(Choice(SEARCHES), ""), kw_only=False)
    criterion: str = option("mdl", Choice(CRITERIA))
    aggregate_levels: str | Sequence[str] | None = None
    max_bins: int = option(30, WholeNumber(1, MAX_CARDINALITY))
    n_cells: int | None = option(None, WholeNumber(2, none=""))

    def transform(self, X: Any) -> pd.DataFrame:
        """Return the codes of the fitted columns, int32 (n_rows, n_features_in_), with the frame's index.

        The codes of columns in `level_groups_` are the positions of their groups.
        """
        codes = super().transform(X)
        for name, groups in self.level_groups_.items():
            group_of = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups])
            codes[name] = group_of[codes[name].to_numpy()]
        return codes

    def read(self, source: Any, network: Network | None = None) -> Table:
        """Return the source as a table; see `Discretizer.read`."""
        table = super().read(source, network)
        self._grouped = grouped_columns(self.aggregate_levels, table)
        return table

    def _cycle(self, columns: MDLColumns, *, published: bool = False) -> MDLCycle:
        criterion = Criterion(self.criterion, columns.task.table.n_rows)
        options = {"search": self.search, "max_bins": self.max_bins, "n_cells": self.n_cells}
        return MDLCycle(columns, criterion, options, published=published)

    def _warn_of_degenerate(self, cycle: MDLCycle) -> None:
        """Warn once about the columns for which the single-threshold rule does not depend on the data."""
        reasons = cycle.degenerate
        if not reasons:
            return
        names = cycle.columns.task.table.names
        shown = "; ".join(f"{names[v]!r}: {reasons[v]}" for v in sorted(reasons)[:3])
        more = f"; and {counted(len(reasons) - 3, 'more column')}" if len(reasons) > 3 else ""
        give_warning(
            f"search='single-threshold' is degenerate, whatever the data say, for {shown}{more}. Such steps are kept "
            "only if they shorten the description. Set n_cells to fewer cells, say 20 to 100, or use "
            "search='exact' or 'merge'.",
            UserWarning,
        )

    def _set_result(self, cycle: MDLCycle, cuts: Cuts, graph: ColumnGraph) -> Cuts:
        """Set the fitted attributes and return the cuts of the continuous columns."""
        columns = cycle.columns
        table = columns.task.table
        self.description_length_ = cycle.length(cuts, graph)
        self.history_ = cycle.history
        self.n_cycles_ = cycle.n_cycles
        self.level_groups_ = {
            table.names[v]: groups_between_cuts(table.columns[v].levels or (), cuts[v])
            for v in sorted(columns.grouped)
        }
        return {v: cuts[v] for v in columns.task.movable}


@dataclass(eq=False, repr=False, kw_only=True)
class MDLDiscretizer(DescriptionDiscretizer):
    """Cuts columns so that the description of the network, its bins and the data is short.

    One column after another gets its best thresholds, given the bins of all others. A column is visited again once the
    bins of its Markov blanket have changed. All steps share one description length, and no step lengthens it. A column
    without neighbours gets one bin: without a graph or `y` there is no dependence to preserve.

    Parameters
    ----------
    search : {"exact", "merge", "split", "single-threshold"}
        Search for the thresholds of one column. "exact": dynamic programming, one layer per number of bins. "merge":
        starting from all thresholds, the two neighbours that lose least are merged until one bin is left; the best
        partition on the path is chosen. "split": thresholds are added, the best first, until none helps (as in the
        original paper). "single-threshold": starting from all thresholds, every threshold is dropped whose removal
        alone does not lengthen the description (Corcoran, Tran & Levine 2014); meant for discrete columns and many
        rows, and degenerate for others, which a warning says.
    criterion : {"mdl", "bic", "aic"}
        The description length, or only its data part with (ln n)/2 or 1 nat per parameter.
    variant : {"corrected", "published"}
        "published" counts the distinct values of *raw* children and spouses in the cost of a bin, as the code behind
        the MDL results of Chen, Wheeler & Kochenderfer (2017) does; it leaves almost every column in one bin. The steps
        then have no common length: all are taken, for at most `max_cycles` passes, 10 by default.
    aggregate_levels : "ordered" or sequence of str, optional
        Discrete columns whose adjacent levels may be grouped. "ordered": all columns with at least three levels that
        are numbers or come from an ordered pandas categorical. Names: these columns, whose levels must have an order.
        All other discrete columns keep their levels.
    start : {"equal-width", "equal-frequency", "network"}
        First bins of every column; "network" takes the cuts of the network given to `fit`.
    start_bins : int, optional
        Number of first bins, and of first groups of levels (of equal frequency). By default the number of levels of the
        largest discrete column (see `base.starting_cuts`), and one group per level.
    order : sequence of str, optional
        Names of all columns that are cut or grouped, in the order of a pass; by default children come before their
        parents.
    max_bins : int
        Largest number of bins or groups of a column.
    n_cells : int, optional
        Number of cells of equal frequency whose borders are the candidates, instead of all mid-points of neighbouring
        values. The exact search is exact up to this number of distinct values, 1,000 by default. For more values it
        solves a grid of this number of cells, 400 by default, and refines the grid around the chosen thresholds until
        they lie between neighbouring values.
    max_cycles : int, optional
        Largest number of passes over the columns.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; the best result so far is kept.

    Attributes
    ----------
    level_groups_ : dict of str to tuple of tuples
        Groups of levels of every column that `aggregate_levels` names, in code order; `transform` returns the
        positions of groups.
    description_length_ : DescriptionLength
        Parts and total in nats; the corrected length for either variant.
    history_ : list of HistoryEntry
        Description length after every step that was taken.
    n_cycles_ : int
        Number of passes over the columns.

    Notes
    -----
    `ThresholdProblem` defines the local description length. Dynamic programming takes O(C m) count updates plus
    O(max_bins C^2) steps for C candidate cells with m distinct values; "merge" takes O(n log n) merges.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.arange(200.0)
    >>> frame = pd.DataFrame({"x": x, "y": np.where(x < 80, "low", "high")})
    >>> MDLDiscretizer().fit(frame, network=[("x", "y")]).cut_points_
    {'x': array([79.5])}
    """

    variant: str = option("corrected", Choice(("corrected", "published")))
    start: str = option("equal-width", Choice(STARTS))
    start_bins: int | None = option(None, WholeNumber(1, MAX_CARDINALITY, none=""))
    order: Sequence[str] | None = None
    max_cycles: int | None = option(None, WholeNumber(1, none=""))

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        super().check_options()
        if self.variant == "published" and self.criterion != "mdl":
            raise GomeaBnError(f"variant='published' needs criterion='mdl', got {self.criterion!r}.")

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        columns = MDLColumns(task, self._grouped)
        graph = graph_with_classes(task, columns)
        if not any(graph.parents) and columns.movable:
            give_warning(
                NoNeighbourWarning(
                    [
                        "No column has a neighbour, so every column gets one bin. Give a graph (",
                        Option("network"),
                        ") or classes (",
                        Option("y"),
                        "), or learn the graph too with MDLNetwork.",
                    ]
                )
            )
        published = self.variant == "published"
        cycle = self._cycle(columns, published=published)
        cuts = {
            **starting_cuts(task, self.start, self.start_bins),
            **starting_groups(columns, self.start_bins),
        }
        cycle.note(cycle.length(cuts, graph).total)
        max_cycles = 10 if published and self.max_cycles is None else self.max_cycles
        noun = "column that is cut or grouped"
        order = order_of_columns(self.order, columns.movable, graph, noun, noun)
        cuts = cycle.run(cuts, graph, order, max_cycles)
        if max_cycles is not None and cycle.n_cycles >= max_cycles:
            self.stopped_by_ = "max_cycles"
        self._warn_of_degenerate(cycle)
        return self._set_result(cycle, cuts, graph)


def graph_with_classes(task: DiscretizationTask, columns: MDLColumns) -> ColumnGraph:
    """Return the task's graph with the classes as a further variable, a parent of every column that moves."""
    graph = task.graph
    if task.target is None:
        return graph
    target = len(graph.names)
    parents = tuple(
        (*of_column, target) if v in columns.movable else of_column
        for v, of_column in enumerate(graph.parents)
    )
    return ColumnGraph((*graph.names, "classes given as y"), (*parents, ()))


def starting_groups(columns: MDLColumns, n_groups: int | None) -> Cuts:
    """Return first cuts of the grouped columns: `n_groups` groups of equal frequency, or every level by itself."""
    return {
        v: columns.task.sorted_column(v).cuts
        if n_groups is None
        else equal_frequency_cuts(columns.values(v), n_groups)
        for v in columns.grouped
    }


@dataclass(frozen=True, slots=True)
class _State:
    """Bins, graph, their description length in nats, and its history."""

    cuts: Cuts
    graph: ColumnGraph
    length: float
    history: tuple[HistoryEntry, ...]


@dataclass(eq=False, repr=False, kw_only=True)
class MDLNetwork(DescriptionDiscretizer):
    """Learns the graph and the bins in turn, each to shorten the description of network, bins and data.

    A round improves the graph under the bins by greedy hill climbing (adding, removing or reversing the edge that helps
    most), and then the bins under the graph as `MDLDiscretizer` does. Rounds go on until neither helps. Then columns
    that ended in one bin get their first bins back for one more round, which counts only if it ends shorter. Nothing
    that lengthens the description is kept. Lengths can be compared whatever the bins, so that the shortest of several
    starts is the result.

    Parameters
    ----------
    search, criterion, aggregate_levels, max_bins, n_cells
        See `MDLDiscretizer`.
    start : {"equal-frequency", "equal-width", "network"}
        First bins of every column; "network" takes the cuts of the network given to `fit`.
    start_bins : sequence of int
        Numbers of first bins and of first groups of levels, one for each start.
    max_indegree : int, optional
        Largest number of parents of a column.
    knowledge : ExpertKnowledge, optional
        Required and forbidden edges, tiers, and limits.
    pseudo_count : float
        Smoothing of the network's tables, per table row.
    max_rounds : int, optional
        Largest number of rounds of a start.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; the best result so far is kept.

    Attributes
    ----------
    network_ : DiscretizedBayesNet
        Network over all levels of grouped columns; its tables depend only on the groups.
    n_rounds_ : int
        Number of rounds of all starts.

    See Also
    --------
    MDLDiscretizer : learns only the bins; describes the other attributes.

    Notes
    -----
    The graph's part of the description is that of `DescriptionLength`: BIC, and ln N nats per edge. `fit` takes a
    first graph as ``network=``; classes must be a column of the table. Greedy climbing continues from the graph of the
    round before, under the common length, and gives the same result on every run.
    """

    _warm_ups = (compile_mdl_kernels, compile_structure_kernels)

    start: str = option("equal-frequency", Choice(STARTS))
    start_bins: Sequence[int] = (2, 3, 5)
    max_indegree: int | None = option(6, WholeNumber(0, none=""))
    knowledge: ExpertKnowledge | None = None
    pseudo_count: float = option(1.0, Number(0))
    max_rounds: int | None = option(None, WholeNumber(1, none=""))

    def score(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str], y: object = None) -> float:
        """Return the mean log density per row of a table, in nats and original units; higher is better."""
        if not hasattr(self, "network_"):
            raise GomeaBnError(
                f"This {type(self).__name__} has not learned a network yet; call fit(frame) first."
            )
        return self.network_.score(source_frame(X))

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        super().check_options()
        if not isinstance(self.start_bins, Iterable) or not list(self.start_bins):
            raise GomeaBnError(f"start_bins must be a sequence of integers, got {self.start_bins!r}.")
        for n_bins in self.start_bins:
            check_integer("start_bins", n_bins, 2, MAX_CARDINALITY)
        check_knowledge(self.knowledge)

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        if task.target is not None:
            raise GomeaBnError("MDLNetwork does not use y; put the classes into the table as a column.")
        columns = MDLColumns(task, self._grouped)
        names = task.table.names
        fewest = [
            1 if v in columns.movable else len(column.levels or task.known_cuts[v]) + column.is_continuous
            for v, column in enumerate(task.table.columns)
        ]
        rules = edge_rules(self.knowledge, names, fewest, max_indegree=self.max_indegree)
        first = ColumnGraph(names, permitted_start(task.graph, rules, self.knowledge, [1] * len(names)))
        starts: list[tuple[_State, MDLCycle]] = []
        self.n_rounds_ = 0
        for n_bins in self.start_bins:
            cycle = self._cycle(columns)
            starts.append((self._improve(cycle, first, n_bins, rules), cycle))
            if task.expired or self.start == "network":
                break
        best, cycle = min(starts, key=lambda pair: pair[0].length)
        self._warn_of_degenerate(cycle)
        cuts = self._set_result(cycle, best.cuts, best.graph)
        self.history_ = list(best.history)
        self.network_ = self._network(task, best)
        return cuts

    def _improve(self, cycle: MDLCycle, first: ColumnGraph, n_bins: int, rules: EdgeRules) -> _State:
        """Return the state after all rounds from one start."""
        task = cycle.columns.task
        start = {**starting_cuts(task, self.start, n_bins), **starting_groups(cycle.columns, n_bins)}
        length = cycle.length(start, first).total
        cycle.note(length)
        best = _State(start, first, length, tuple(cycle.history))
        opened = False
        rounds = 0
        while not task.expired:
            cuts = best.cuts
            if opened:
                cuts = {v: cuts[v] if len(cuts[v]) else start[v] for v in cuts}
            cycle.history[:] = best.history
            state = self._round(cycle, cuts, best.graph, rules)
            self.n_rounds_ += 1
            rounds += 1
            if is_gain(best.length - state.length, best.length):
                best, opened = state, False
            elif opened or all(len(best.cuts[v]) for v in cycle.columns.movable):
                break
            else:
                opened = True
            if self.max_rounds is not None and rounds >= self.max_rounds:
                self.stopped_by_ = "max_rounds"
                break
        return best

    def _round(self, cycle: MDLCycle, cuts: Cuts, graph: ColumnGraph, rules: EdgeRules) -> _State:
        """Return the state after the graph was improved under the bins, and then the bins under the graph."""
        columns, task = cycle.columns, cycle.columns.task
        coded = [columns.coded(v, cuts) for v in range(columns.n_columns)]
        parents = shortest_graph(coded, graph, cycle.criterion, rules, task)
        better = ColumnGraph(graph.names, parents)
        before = len(cycle.history)
        climbed = HistoryEntry(task.stop.seconds, cycle.n_steps, cycle.length(cuts, better).total, 0)
        order = [v for v in better.reverse_topological_order() if v in columns.movable]
        cuts = cycle.run(cuts, better, order)
        length = cycle.length(cuts, better).total
        steps = [climbed, *cycle.history[before:]]
        history = list(cycle.history[:before])
        # a column that gets its first bins back may lengthen the description at first
        for entry in steps:
            if entry.objective < history[-1].objective:
                history.append(entry)
        return _State(cuts, better, length, tuple(history))

    def _network(self, task: DiscretizationTask, state: _State) -> DiscretizedBayesNet:
        """Return the network with its tables."""
        table = task.table
        continuous = [v for v, column in enumerate(table.columns) if column.is_continuous]
        return network_over_levels(
            table,
            state.graph.edges,
            {table.names[v]: state.cuts[v] for v in continuous},
            self.level_groups_,
            pseudo_count=self.pseudo_count,
            metadata={
                "criterion": self.criterion,
                "description_length": state.length,
                "n_rows": table.n_rows,
                "fixed_cut_points": sorted(table.names[v] for v in set(continuous) - set(task.movable)),
                "level_groups": {
                    name: [list(group) for group in groups] for name, groups in self.level_groups_.items()
                },
            },
        )


def shortest_graph(
    coded: Sequence[CodedColumn],
    start: ColumnGraph,
    criterion: Criterion,
    rules: EdgeRules,
    task: DiscretizationTask,
) -> Parents:
    """Return every column's parents after greedy steps from a graph, under the bins; those so far at the deadline.

    A step adds, removes or reverses the edge that shortens the description most, until none shortens it. An edge costs
    its parameters and, under MDL, ln N for naming the parent among N variables. Ties go to additions before removals
    before reversals, and then to the first parent and child.
    """
    scorer = coded_scorer(start.names, coded, "aic" if criterion.name == "aic" else "bic")
    moves = EdgeMoves(scorer, rules, log(len(coded)) if criterion.codes_partitions else 0.0)
    parents = [set(columns) for columns in start.parents]
    due = list(range(len(parents)))
    longest = 0.0
    while not task.expired:
        for c in due:
            longest = max(longest, abs(moves.price(c, parents[c])))
        gains = moves.gains(parents)
        best = int(np.argmax(gains))
        if not is_gain(float(gains.reshape(-1)[best]), longest):
            break
        kind, p, c = (int(i) for i in np.unravel_index(best, gains.shape))
        due = moves.make(parents, kind, p, c)
    return frozen_parents(parents)
