"""MGCD: bins between the Gaussians that a column's Markov blanket mixes (Mabrouk et al. 2015)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import DiscretizationTask, Discretizer, starting_cuts
from gomea_bn.discretization.mgcd.shared_gaussians import (
    PENALTIES,
    ColumnCells,
    Configurations,
    SharedMixture,
    SharedMixtureSearch,
    separating_cuts,
)
from gomea_bn.discretization.structure_search import (
    Parents,
    check_knowledge,
    compile_structure_kernels,
    permitted_start,
    tabu_search,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph, Network
from gomea_bn.parameters import Choice, Flag, Integer, Number, option, without_effect
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts, coded_bins
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, Policy, without_narrow_bins, without_sparse_bins
from gomea_bn.problems.knowledge import ExpertKnowledge, edge_rules
from gomea_bn.problems.scoring.family_scorer import FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import score_rule, scoring_method

if TYPE_CHECKING:
    import pandas as pd

# of a column: deviations of a small share of it must not underflow
_LEAST_RANGE = 1e-303
# alternations of search and discretization
_MAX_ROUNDS = 10
# passes over the columns for one graph
_MAX_CYCLES = 3


@without_effect(
    "min_bins", "cut_rule", "start", "start_bins", "max_cycles", "n_starts", "min_deviation", "n_cells",
    "tabu_steps", "tabu_length", "patience", "max_rounds", "keep",
)  # fmt: skip
@dataclass(eq=False, repr=False, kw_only=True)
class MGCDiscretizer(Discretizer):
    """Cuts every column between the Gaussians of its mixture given its Markov blanket; can learn the graph too.

    Given the configuration of its blanket under the others' bins, a column is a mixture of Gaussians. All
    configurations share the Gaussians, and each has its own weights. EM fits the Gaussians, BIC chooses their number,
    and a cut lies between every two neighbours. Without `network=` in `fit`, the graph is learned in turn by tabu
    search.

    Parameters
    ----------
    univariate : bool
        Whether to ignore the blankets: one mixture per column. Similar to the univariate method of Cai et al. (2013),
        with which the paper compares MGCD.
    max_bins : int
        Largest number of Gaussians of a column; bins without rows are joined afterwards.
    penalty : {"nml", "observed", "all"}
        Cost of the weights in the choice of the number of Gaussians. "observed" and "all": (ln n)/2 nats for each
        weight, for the configurations that occur or for all possible ones (BIC, as published). "nml": the stochastic
        complexity of the rows of each configuration; see Notes.
    min_width : float
        Width of the narrowest bin, as a fraction of the column's range. Narrower bins are joined with a neighbour.
        With 0, bins around repeated values would have unbounded density.
    min_bin_count : int
        Smallest number of rows of a bin; bins with fewer are joined with a neighbour.
    max_indegree, knowledge
        Limits of the search; see `Tabu`.
    pseudo_count : float
        Pseudo-count per row of the network's tables.
    random_state : int, optional
        Seed of the starts.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds. Unfinished columns keep their former cuts. The bins and the graph of an unfinished round
        are the result if their score is the best.

    Attributes
    ----------
    mixtures_ : dict of str to SharedMixture
        Gaussians behind the cuts.
    n_cycles_ : int
        Number of passes over the columns.
    edges_, network_, score_, round_scores_
        Only if the graph was learned: the (parent, child) pairs and the network of the best round, its "density-bic" in
        nats (higher is better, and comparable whatever the bins), and the scores of all rounds.
    stopped_by_ : str
        "fixpoint", "cycle" (rounds repeat), "max_cycles", "max_rounds", "max_seconds" or "interrupt".

    Notes
    -----
    BIC for g cuts is ``ln L - (q g + 2 (g + 1)) / 2 ln n`` for q configurations (paper, Section 3). It charges every
    configuration as if it had all n rows, so that a column with a large blanket gets hardly any cuts. "nml" charges the
    stochastic complexity of the rows that a configuration has (Kontkanen & Myllymaki 2007); a column of pure noise gets
    one bin whatever the blanket.

    The paper leaves open where the alternation starts and how its rounds compare; here it starts from bins of equal
    frequency, and every round makes a whole tabu search. Bins are (a, b] here and [a, b) in
    the paper: a cut equal to a value lies just below it, so that the same rows share a bin.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> frame = pd.DataFrame({"x": rng.normal(4.0 * y, 0.5), "y": y})
    >>> fitted = MGCDiscretizer(random_state=0).fit(frame, network=[("y", "x")])
    >>> bool(1.5 < fitted.cut_points_["x"].item() < 2.5)
    True
    """

    univariate: bool = option(False, Flag())
    max_bins: int = option(15, Integer(1, MAX_CARDINALITY))
    penalty: str = option("nml", Choice(PENALTIES))
    min_width: float = option(1e-3, Number(0, 1, below=True))
    min_bin_count: int = option(1, Integer(1))
    max_indegree: int | None = option(6, Integer(0, none=""))
    knowledge: ExpertKnowledge | None = None
    pseudo_count: float = option(1.0, Number(0))
    random_state: int | None = option(None, Integer(0, none=""))

    def fit(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: Any = None,
        *,
        network: Network | None = None,
    ) -> Self:
        """Find the cuts of every continuous column, and the graph if none is given, and return self.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Never changed. An array's columns are named x0, x1, ...
        y : ignored
            Present for scikit-learn's tools; classes belong into the table as a column.
        network : DiscretizedBayesNet or list of (parent, child), optional
            The graph over columns of X, ``[]`` for none of the edges; by default the graph is learned as well.

        Raises
        ------
        GomeaBnError
            For a table, an option or a graph that cannot be used; the message says what to do.
        """
        self._learns_graph = network is None
        for name in ("edges_", "network_", "score_", "round_scores_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return super().fit(X, network=network)

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        super().check_options()
        check_knowledge(self.knowledge)

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        compile_mgcd_kernels()
        compile_structure_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        for column in (task.table.columns[v] for v in task.movable):
            if np.ptp(column.values) < _LEAST_RANGE:
                raise GomeaBnError(
                    f"Column '{column.name}' ranges from {column.values.min():g} to {column.values.max():g}, too "
                    "narrow for the densities of float64; rescale it."
                )
        columns = MGCDColumns(task, self)
        state = MGCDState(task.graph, starting_cuts(task, "equal-frequency"), {})
        if self._learns_graph:
            state = self._alternate(columns, state)
        else:
            state = columns.discretized(state)
            if not columns.converged:
                self.stopped_by_ = "max_cycles"
        self.mixtures_ = {task.table.names[v]: state.mixtures[v] for v in sorted(state.mixtures)}
        self.n_cycles_ = columns.n_cycles
        return {v: state.cuts[v] for v in task.movable}

    def _alternate(self, columns: MGCDColumns, start: MGCDState) -> MGCDState:
        """Return the best round of search and discretization in turn."""
        task, table = columns.task, columns.task.table
        sizes = [1 if column.levels is None else len(column.levels) for column in table.columns]
        rules = edge_rules(self.knowledge, table.names, sizes, max_indegree=self.max_indegree)
        parents = permitted_start(task.graph, rules, self.knowledge, sizes)
        state = start.over(parents)
        scorer = columns.scorer(state.cuts)
        best, best_score = state, scorer.graph_score(parents)
        self.round_scores_: list[float] = []
        visited = {state.key()}
        self.stopped_by_ = "max_rounds"
        for _ in range(_MAX_ROUNDS):
            found = tabu_search(scorer, rules, state.graph.parents, task.stop).parents
            if self.round_scores_ and found == state.graph.parents:
                self.stopped_by_ = "fixpoint"
                break
            searched = state.over(found)
            moved = columns.discretized(searched, rules.max_table_cells)
            if task.expired:
                for unfinished in (searched, moved):
                    score = columns.scorer(unfinished.cuts).graph_score(unfinished.graph.parents)
                    if score > best_score:
                        best, best_score = unfinished, score
                break
            before, state = state.key(), moved
            scorer = columns.scorer(state.cuts)
            score = scorer.graph_score(state.graph.parents)
            if not self.round_scores_ or score > best_score:
                best, best_score = state, score
            self.round_scores_.append(score)
            if state.key() in visited:
                self.stopped_by_ = "fixpoint" if state.key() == before else "cycle"
                break
            visited.add(state.key())
        self.edges_ = best.graph.edges
        self.score_ = best_score
        self.network_ = DiscretizedBayesNet.from_table(
            table,
            self.edges_,
            {table.names[v]: cuts for v, cuts in best.cuts.items()},
            pseudo_count=self.pseudo_count,
            metadata={"scoring_method": "density-bic", "score": best_score, "n_rows": table.n_rows},
        )
        return best


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

    def __init__(self, task: DiscretizationTask, options: MGCDiscretizer) -> None:
        self.task = task
        self._options = options
        self.n_cycles = 0
        self.converged = True
        self._cells: dict[int, ColumnCells] = {}
        self._seed = np.random.SeedSequence(options.random_state).entropy
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
                around = [] if self._options.univariate else sorted(state.graph.blanket(v))
                most = self._options.max_bins
                if max_table_cells < inf:
                    # tables around the column stay within the limit
                    room = state.graph.neighbourhood(v, coded).most_bins(max_table_cells)
                    most = max(1, min(most, room))
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
            self._cells[v] = ColumnCells(SortedColumn(task.table.columns[v].values))
        search = SharedMixtureSearch(
            self._cells[v],
            Configurations.of(blanket, task.table.n_rows),
            most,
            self._options.penalty,
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
        wide = without_narrow_bins(cuts, (column.low, column.high), self._options.min_width)
        return without_sparse_bins(wide, self.task.table.columns[v].values, self._options.min_bin_count)


@cache
def compile_mgcd_kernels() -> None:
    """Compile or load the kernels on a tiny column, so that no deadline pays for it."""
    cells = ColumnCells(SortedColumn(np.arange(12.0)), 10)
    halves = CodedColumn(np.arange(12, dtype=np.int32) // 6, 2)
    around = Configurations.of([halves], 12)
    SharedMixtureSearch(cells, around, 2, "nml", np.random.default_rng(0)).fitted(2)
