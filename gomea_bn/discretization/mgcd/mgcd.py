"""MGCD: bins between the Gaussians that a column's Markov blanket mixes (Mabrouk et al. 2015)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import DiscretizationTask, Discretizer, starting_cuts
from gomea_bn.discretization.mgcd.columns import (
    MGCDColumns,
    MGCDState,
    compile_mgcd_kernels,
)
from gomea_bn.discretization.mgcd.shared_gaussians import PENALTIES
from gomea_bn.discretization.structure_search.tabu import (
    PATIENCE,
    TABU_LENGTH,
    TabuList,
    TabuSearch,
    check_knowledge,
    compile_tabu_kernels,
    permitted_start,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import Network
from gomea_bn.parameters import Choice, Flag, Integer, Number, option, without_effect
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.knowledge import ExpertKnowledge, edge_rules

if TYPE_CHECKING:
    import pandas as pd

# of a column: deviations of a small share of it must not underflow
_LEAST_RANGE = 1e-303
# alternations of search and discretization
_MAX_ROUNDS = 10


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
        compile_tabu_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        for column in (task.table.columns[v] for v in task.movable):
            if np.ptp(column.values) < _LEAST_RANGE:
                raise GomeaBnError(
                    f"Column '{column.name}' ranges from {column.values.min():g} to {column.values.max():g}, too "
                    "narrow for the densities of float64; rescale it."
                )
        columns = MGCDColumns(
            task,
            univariate=bool(self.univariate),
            max_components=self.max_bins,
            penalty=self.penalty,
            min_width=self.min_width,
            min_bin_count=self.min_bin_count,
            seed=self.random_state,
        )
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
            search = TabuSearch(scorer, rules, TabuList(len(table.names), TABU_LENGTH))
            result = search.run(state.graph.parents, task.stop, patience=PATIENCE)
            if self.round_scores_ and result.parents == state.graph.parents:
                self.stopped_by_ = "fixpoint"
                break
            searched = state.over(result.parents)
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
