"""Learning graph and bins in turn under one description length (Friedman & Goldszmidt 1996)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.sources import source_frame
from gomea_bn.discretization.base import DiscretizationTask, starting_cuts
from gomea_bn.discretization.levels import network_over_levels
from gomea_bn.discretization.mdl.description_length import Criterion
from gomea_bn.discretization.mdl.mdl import (
    STARTS,
    DescriptionDiscretizer,
    MDLColumns,
    MDLCycle,
    starting_groups,
)
from gomea_bn.discretization.mdl.search import SearchOptions
from gomea_bn.discretization.structure_search import (
    EdgeMoves,
    Parents,
    check_knowledge,
    coded_scorer,
    compile_structure_kernels,
    frozen_parents,
    permitted_start,
)
from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.parameters import Choice, Integer, Number, option
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules
from gomea_bn.problems.scoring.scores import is_gain
from gomea_bn.runtime.limits import HistoryEntry

if TYPE_CHECKING:
    import pandas as pd


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

    start: str = option("equal-frequency", Choice(STARTS))
    start_bins: Sequence[int] = (2, 3, 5)
    max_indegree: int | None = option(6, Integer(0, none=""))
    knowledge: ExpertKnowledge | None = None
    pseudo_count: float = option(1.0, Number(0))
    max_rounds: int | None = option(None, Integer(1, none=""))

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

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        super().compile()
        compile_structure_kernels()

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
            cycle = MDLCycle(
                columns,
                Criterion(self.criterion, task.table.n_rows),
                SearchOptions(self.search, self.max_bins, self.n_cells),
            )
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
