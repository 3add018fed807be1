"""MGCD: bins between the Gaussians that a column's Markov blanket mixes (Mabrouk et al. 2015)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import DiscretizationTask, Discretizer
from gomea_bn.discretization.mgcd.columns import (
    MGCDColumns,
    MGCDOptions,
    MGCDState,
    compile_mgcd_kernels,
)
from gomea_bn.discretization.mgcd.shared_gaussians import SharedMixture, SharedMixtureOptions
from gomea_bn.discretization.structure_search.tabu import (
    TabuList,
    TabuSearch,
    check_tabu_options,
    compile_tabu_kernels,
    permitted_start,
)
from gomea_bn.errors import GomeaBnError, check_choice, check_flag, check_integer, check_number
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph, Network
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.knowledge import ExpertKnowledge, edge_rules

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MGCDiscretizer"]

# of a column: deviations of a small share of it must not underflow
_LEAST_RANGE = 1e-303

_CHOICES = {
    "cut_rule": ("published", "weighted"),
    "penalty": ("nml", "observed", "all"),
    "start": ("equal-frequency", "equal-width", "network", "univariate"),
    "keep": ("best", "last"),
}


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
    min_bins, max_bins : int
        Smallest and largest number of Gaussians of a column; bins without rows are joined afterwards.
    cut_rule : {"published", "weighted"}
        Weights of two Gaussians at the cut between them: equal, or their numbers of rows.
    penalty : {"nml", "observed", "all"}
        Cost of the weights in the choice of the number of Gaussians. "observed" and "all": (ln n)/2 nats for each
        weight, for the configurations that occur or for all possible ones (BIC, as published). "nml": the stochastic
        complexity of the rows of each configuration; see Notes.
    start : {"equal-frequency", "equal-width", "network", "univariate"}
        First bins. "univariate" takes the cuts that ``univariate=True`` gives, "network" those of the network given to
        `fit`.
    start_bins : int, optional
        Number of first bins; see `base.starting_cuts`.
    max_cycles : int
        Largest number of passes over the columns for one graph.
    n_starts : int
        Number of starts of EM: one from quantiles, the others from rows drawn far apart.
    min_deviation : float
        Smallest standard deviation of a Gaussian, relative to the column's.
    min_width : float
        Width of the narrowest bin, as a fraction of the column's range. Narrower bins are joined with a neighbour, even
        below `min_bins`. With 0, bins around repeated values would have unbounded density.
    min_bin_count : int
        Smallest number of rows of a bin; bins with fewer are joined with a neighbour.
    n_cells : int
        Number of cells of near values that represent a column with more distinct values.
    tabu_steps : int, optional
        Number of tabu steps between two discretizations; by default a whole search. The paper makes single steps.
    tabu_length, patience
        See `Tabu`.
    max_rounds : int
        Largest number of alternations of search and discretization.
    keep : {"best", "last"}
        Round that is the result: the one with the best "density-bic", which is comparable whatever the bins, or the
        last one.
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
        Only if the graph was learned: the (parent, child) pairs, the network, its "density-bic" in nats (higher is
        better), and the scores of all rounds.
    stopped_by_ : str
        "fixpoint", "cycle" (rounds repeat), "max_cycles", "max_rounds", "max_seconds" or "interrupt".

    Notes
    -----
    BIC for g cuts is ``ln L - (q g + 2 (g + 1)) / 2 ln n`` for q configurations (paper, Section 3). It charges every
    configuration as if it had all n rows, so that a column with a large blanket gets hardly any cuts. "nml" charges the
    stochastic complexity of the rows that a configuration has (Kontkanen & Myllymaki 2007); a column of pure noise gets
    one bin whatever the blanket.

    The paper leaves open where the alternation starts and how its rounds compare. Bins are (a, b] here and [a, b) in
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

    mixtures_: dict[str, SharedMixture]
    n_cycles_: int
    edges_: list[tuple[str, str]]
    network_: DiscretizedBayesNet
    score_: float
    round_scores_: list[float]

    def __init__(
        self,
        *,
        univariate: bool = False,
        min_bins: int = 1,
        max_bins: int = 15,
        cut_rule: str = "published",
        penalty: str = "nml",
        start: str = "equal-frequency",
        start_bins: int | None = None,
        max_cycles: int = 3,
        n_starts: int = 6,
        min_deviation: float = 1e-3,
        min_width: float = 1e-3,
        min_bin_count: int = 1,
        n_cells: int = 300,
        tabu_steps: int | None = None,
        tabu_length: int = 50,
        patience: int = 100,
        max_rounds: int = 10,
        keep: str = "best",
        max_indegree: int | None = 6,
        knowledge: ExpertKnowledge | None = None,
        pseudo_count: float = 1.0,
        random_state: int | None = None,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.univariate = univariate
        self.min_bins = min_bins
        self.max_bins = max_bins
        self.cut_rule = cut_rule
        self.penalty = penalty
        self.start = start
        self.start_bins = start_bins
        self.max_cycles = max_cycles
        self.n_starts = n_starts
        self.min_deviation = min_deviation
        self.min_width = min_width
        self.min_bin_count = min_bin_count
        self.n_cells = n_cells
        self.tabu_steps = tabu_steps
        self.tabu_length = tabu_length
        self.patience = patience
        self.max_rounds = max_rounds
        self.keep = keep
        self.max_indegree = max_indegree
        self.knowledge = knowledge
        self.pseudo_count = pseudo_count
        self.random_state = random_state
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

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
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_flag("univariate", self.univariate)
        check_integer("min_bins", self.min_bins, 1, MAX_CARDINALITY)
        check_integer("max_bins", self.max_bins, 1, MAX_CARDINALITY)
        if self.min_bins > self.max_bins:
            raise GomeaBnError(f"min_bins must be at most max_bins={self.max_bins}, got {self.min_bins}.")
        check_integer("start_bins", self.start_bins, 1, MAX_CARDINALITY, optional=True)
        check_integer("max_cycles", self.max_cycles, 1)
        check_integer("n_starts", self.n_starts, 1)
        check_number("min_deviation", self.min_deviation, 0, 1, above=True, below=True)
        check_number("min_width", self.min_width, 0, 1, below=True)
        check_integer("min_bin_count", self.min_bin_count, 1)
        check_integer("n_cells", self.n_cells, 10)
        check_integer("max_rounds", self.max_rounds, 1)
        check_number("pseudo_count", self.pseudo_count, 0)
        check_integer("random_state", self.random_state, 0, optional=True)
        check_tabu_options(
            self.max_indegree, self.knowledge, self.tabu_length, self.patience, self.tabu_steps, "tabu_steps"
        )

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        compile_mgcd_kernels()
        compile_tabu_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        options = MGCDOptions(
            SharedMixtureOptions(self.min_bins, self.max_bins, self.n_starts, penalty=self.penalty),
            univariate=bool(self.univariate),
            weighted_cuts=self.cut_rule == "weighted",
            start=self.start,
            start_bins=self.start_bins,
            max_cycles=self.max_cycles,
            min_deviation=self.min_deviation,
            min_width=self.min_width,
            min_bin_count=self.min_bin_count,
            n_cells=self.n_cells,
            seed=self.random_state,
        )
        for column in (task.table.columns[v] for v in task.movable):
            if np.ptp(column.values) < _LEAST_RANGE:
                raise GomeaBnError(
                    f"Column '{column.name}' ranges from {column.values.min():g} to {column.values.max():g}, too "
                    "narrow for the densities of float64; rescale it."
                )
        columns = MGCDColumns(task, options)
        state = MGCDState(task.graph, columns.first_cuts(), {})
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
        """Return the best or the last round of search and discretization in turn."""
        task, table = columns.task, columns.task.table
        sizes = [1 if column.levels is None else len(column.levels) for column in table.columns]
        rules = edge_rules(self.knowledge, table.names, sizes, max_indegree=self.max_indegree)
        parents = permitted_start(task.graph, rules, self.knowledge, sizes)
        state = replace(start, graph=ColumnGraph(table.names, parents))
        scorer = columns.scorer(state.cuts)
        best, best_score = state, scorer.graph_score(parents)
        self.round_scores_ = []
        visited = {state.key()}
        self.stopped_by_ = "max_rounds"
        for _ in range(self.max_rounds):
            search = TabuSearch(scorer, rules, TabuList(len(table.names), self.tabu_length))
            result = search.run(
                state.graph.parents, task.stop, patience=self.patience, max_steps=self.tabu_steps
            )
            if self.round_scores_ and result.parents == state.graph.parents:
                self.stopped_by_ = "fixpoint"
                break
            moved = columns.discretized(
                replace(state, graph=ColumnGraph(table.names, result.parents)), rules.max_table_cells
            )
            if task.expired:
                searched = replace(state, graph=moved.graph)
                if self.keep == "best" or not self.round_scores_:
                    best, best_score = self._best_of(columns, (best, best_score), (searched, moved))
                break
            before, state = state.key(), moved
            scorer = columns.scorer(state.cuts)
            score = scorer.graph_score(state.graph.parents)
            if not self.round_scores_ or score > best_score or self.keep == "last":
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

    @staticmethod
    def _best_of(
        columns: MGCDColumns, scored: tuple[MGCDState, float], states: tuple[MGCDState, ...]
    ) -> tuple[MGCDState, float]:
        """Return the best of a scored state and of others, with its score."""
        best, best_score = scored
        for state in states:
            score = columns.scorer(state.cuts).graph_score(state.graph.parents)
            if score > best_score:
                best, best_score = state, score
        return best, best_score
