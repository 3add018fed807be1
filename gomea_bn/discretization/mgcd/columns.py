"""Passes of MGCD over the columns, each cut given a graph and the bins of all others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import inf

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.base import DiscretizationTask
from gomea_bn.discretization.mgcd.shared_gaussians import (
    ColumnCells,
    Configurations,
    SharedMixture,
    SharedMixtureSearch,
    separating_cuts,
)
from gomea_bn.discretization.structure_search.tabu import Parents
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts, coded_bins
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, Policy, without_narrow_bins, without_sparse_bins
from gomea_bn.problems.scoring.family_scorer import FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import score_rule, scoring_method

# passes over the columns for one graph
_MAX_CYCLES = 3


@dataclass(frozen=True, slots=True)
class MGCDState:
    """A graph, the bins of all continuous columns, and the mixtures behind those that moved."""

    graph: ColumnGraph
    cuts: Cuts
    mixtures: dict[int, SharedMixture]

    def over(self, parents: Parents) -> MGCDState:
        """Return the state with another graph."""
        return replace(self, graph=ColumnGraph(self.graph.names, parents))

    def key(self) -> tuple[Parents, tuple[bytes, ...]]:
        """Return a value that is equal for equal graphs and cuts."""
        return self.graph.parents, tuple(self.cuts[v].tobytes() for v in sorted(self.cuts))


class MGCDColumns:
    """The columns of a table, each sorted once, with the last mixture of each and what it was fitted to.

    The passes are not those of `DueColumns`: as published, a pass visits all columns, and the last one changes no row's
    bin. A column whose blanket has the same codes as at its last fit keeps its mixture, also from one graph to another.
    """

    def __init__(
        self,
        task: DiscretizationTask,
        *,
        univariate: bool,
        max_components: int,
        penalty: str,
        min_width: float,
        min_bin_count: int,
        seed: int | None,
    ) -> None:
        self.task = task
        self._univariate = univariate
        self._max_components = max_components
        self._penalty = penalty
        self._min_width = min_width
        self._min_bin_count = min_bin_count
        self.n_cycles = 0
        self.converged = True
        self._cells: dict[int, ColumnCells] = {}
        self._seed = np.random.SeedSequence(seed).entropy
        self._coded: dict[int, tuple[NDArray[np.float64], CodedColumn]] = {}
        self._fitted: dict[int, tuple[list[CodedColumn], int, SharedMixture]] = {}

    def discretized(self, state: MGCDState, max_table_cells: float = inf) -> MGCDState:
        """Return the state after passes over the columns, children first, until no row's bin changes."""
        cuts, mixtures = dict(state.cuts), dict(state.mixtures)
        order = [v for v in state.graph.reverse_topological_order() if v in self.task.movable]
        coded = self._recoded(cuts)
        for _ in range(_MAX_CYCLES):
            self.n_cycles += 1
            self.converged = True
            for v in order:
                around = [] if self._univariate else sorted(state.graph.blanket(v))
                most = min(self._max_components, _room(v, state.graph, coded, max_table_cells))
                mixture = self._mixture(v, [coded[u] for u in around], most)
                if mixture is None:
                    return MGCDState(state.graph, cuts, mixtures)
                mixtures[v], cuts[v] = mixture, self._cuts(v, mixture)
                before, coded = coded[v], self._recoded(cuts)
                self.converged &= coded[v] is before
            if self.converged:
                break
        return MGCDState(state.graph, cuts, mixtures)

    def scorer(self, cuts: Cuts) -> FamilyScorer:
        """Return the scorer of graphs under the bins by log density, which can be compared for different bins."""
        table = self.task.table
        method = scoring_method("density-bic")
        variables = [
            ScoredVariable(c.name, c.values, 0, (Policy(cuts[v]),))
            if c.levels is None
            else ScoredVariable(c.name, c.values, len(c.levels))
            for v, c in enumerate(table.columns)
        ]
        return FamilyScorer(variables, method, score_rule(method, table.n_rows))

    def _recoded(self, cuts: Cuts) -> list[CodedColumn]:
        """Return all columns as codes; a column whose rows stay in their bins is the same object as before."""
        for v, column in enumerate(self.task.table.columns):
            if column.levels is not None:
                self._coded.setdefault(v, (np.empty(0), CodedColumn(column.values, len(column.levels))))
            elif v not in self._coded or self._coded[v][0] is not cuts[v]:
                new = coded_bins(column.values, cuts[v])
                if v in self._coded and np.array_equal(new.codes, self._coded[v][1].codes):
                    new = self._coded[v][1]
                self._coded[v] = cuts[v], new
        return [self._coded[v][1] for v in range(len(self.task.table.columns))]

    def _mixture(self, v: int, blanket: list[CodedColumn], most: int) -> SharedMixture | None:
        """Return the best mixture of one column given its blanket; None at the deadline."""
        if self.task.expired:
            return None
        near = None
        if v in self._fitted:
            former, limit, near = self._fitted[v]
            if limit == most and len(former) == len(blanket) and all(a is b for a, b in zip(former, blanket)):
                return near
        task = self.task
        if v not in self._cells:
            column = SortedColumn(task.table.columns[v].values)
            self._cells[v] = ColumnCells(column)
        search = SharedMixtureSearch(
            self._cells[v],
            Configurations.of(blanket, task.table.n_rows),
            most,
            self._penalty,
            np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(v,))),
            stop=task.stop.flag,
            run=task.interruptible,
        )
        mixture = search.best(near)
        if mixture is not None:
            self._fitted[v] = blanket, most, mixture
        return mixture

    def _cuts(self, v: int, mixture: SharedMixture) -> NDArray[np.float64]:
        """Return the mixture's cuts without those that leave a bin too narrow or with too few rows."""
        column = self._cells[v].column
        cuts = separating_cuts(mixture.cuts(), column)
        wide = without_narrow_bins(cuts, (column.low, column.high), self._min_width)
        return without_sparse_bins(wide, self.task.table.columns[v].values, self._min_bin_count)


def _room(v: int, graph: ColumnGraph, coded: list[CodedColumn], max_table_cells: float) -> int:
    """Return the largest number of bins of a column with which no table exceeds its limit; at least 1."""
    if max_table_cells == inf:
        return MAX_CARDINALITY
    return max(1, min(MAX_CARDINALITY, graph.neighbourhood(v, coded).most_bins(max_table_cells)))


@cache
def compile_mgcd_kernels() -> None:
    """Compile or load the kernels on a tiny column, so that no deadline pays for it."""
    cells = ColumnCells(SortedColumn(np.arange(12.0)), 10)
    halves = CodedColumn(np.arange(12, dtype=np.int32) // 6, 2)
    search = SharedMixtureSearch(
        cells,
        Configurations.of([halves], 12),
        2,
        "nml",
        np.random.default_rng(0),
        stop=np.zeros(1, np.uint8),
        run=lambda call: call(),
    )
    search.fitted(2)
