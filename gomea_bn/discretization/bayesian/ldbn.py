"""LDBN: K2 coupled with Bayesian discretization learns structure and bins together (Chen et al. 2017)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import DiscretizationTask, Discretizer, starting_cuts
from gomea_bn.discretization.bayesian.bayesian import (
    CARDINALITY_OVER,
    MAX_CANDIDATES,
    compile_bayesian_kernels,
    discretize_all,
)
from gomea_bn.discretization.structure_search import (
    best_parent,
    coded_scorer,
    compile_structure_kernels,
    named_edges,
    orders_to_try,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph, Network
from gomea_bn.parameters import Integer, option
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.interval_counts import SortedColumns
from gomea_bn.problems.scoring.family_scorer import Family, FamilyScorer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False, kw_only=True)
class LDBN(Discretizer):
    """Learns structure and bins together: K2 adds edges, and after every edge all columns are cut again.

    Parameters
    ----------
    order, max_indegree, n_restarts, pseudo_count, random_state
        See `K2`; the paper has 50 random orders.
    max_cycles : int
        Largest number of passes of a discretization.
    cardinality_over, max_candidates
        See `BayesianDiscretizer`.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; the best result so far is kept.

    Attributes
    ----------
    score_ : float
        ln of the K2 score of the discretized table, in nats; higher is better.
    network_, edges_, order_, n_restarts_, stopped_by_
        See `K2`.
    cut_points_, levels_, table_, fit_seconds_, feature_names_in_, n_features_in_
        See `Discretizer`.

    Notes
    -----
    As in the authors' code, a column gets further parents while these raise the score that it had when its last parent
    was accepted, before the bins changed. Orders are compared by the K2 score of tables with different bins, which
    favours few bins.

    Each pass of the discretization visits the columns in reverse order. After every new edge it begins with equal-width
    bins.
    """

    order: Sequence[str] | None = None
    max_indegree: int = option(6, Integer(0))
    n_restarts: int = option(50, Integer(1))
    max_cycles: int = option(10, Integer(1))
    cardinality_over: str = option("table", CARDINALITY_OVER)
    max_candidates: int | None = option(2000, MAX_CANDIDATES)
    pseudo_count: float = 1.0
    random_state: int | None = option(None, Integer(0, none=""))

    def fit(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: Any = None,
        *,
        network: Network | None = None,
    ) -> Self:
        """Learn the structure and the bins, and return self.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Never changed. An array's columns are named x0, x1, ...
        y : ignored
            Present for scikit-learn's tools; classes must be a column of the table.
        network : None
            Must be None, since the structure is learned; `BayesianDiscretizer` takes a network.

        Raises
        ------
        GomeaBnError
            For a table or an option that cannot be used; the message says what to do.
        """
        if network is not None:
            raise GomeaBnError(
                "LDBN learns the graph itself; leave network out, or use BayesianDiscretizer to keep the graph."
            )
        super().fit(X)
        self.network_ = DiscretizedBayesNet.from_table(
            self.table_,
            self.edges_,
            self.cut_points_,
            pseudo_count=self.pseudo_count,
            metadata={"scoring_method": "k2", "score": self.score_, "n_rows": self.table_.n_rows},
        )
        return self

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        compile_bayesian_kernels()
        compile_structure_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        names = task.table.names
        search = _CoupledSearch(task, self)
        best, tried = None, 0
        for order in orders_to_try(self.order, names, self.n_restarts, self.random_state):
            learned = search.along(order)
            tried += 1
            if best is None or learned.score > best.score:
                best, best_order = learned, order
            if task.expired:
                break
        assert best is not None
        self.edges_ = named_edges(best.parents, names)
        self.score_ = best.score
        self.order_ = [names[v] for v in best_order]
        self.n_restarts_ = tried
        self.stopped_by_ = "n_restarts"
        return best.cuts


class _Learned(NamedTuple):
    """Result for one order."""

    parents: list[tuple[int, ...]]
    cuts: Cuts
    score: float


class _CoupledSearch:
    """K2 and Bayesian discretization in turn over one table, whose columns are sorted once."""

    def __init__(self, task: DiscretizationTask, options: LDBN) -> None:
        self._task = task
        self._options = options
        self._columns = SortedColumns(lambda v: task.table.columns[v].values)
        self._start = starting_cuts(task)

    def along(self, order: Sequence[int]) -> _Learned:
        """Return the result for one order; at the deadline, the last complete state."""
        task = self._task
        parents: list[tuple[int, ...]] = [()] * len(task.table.columns)
        cuts = self._start
        scorer = self._scorer(cuts)
        # constant columns have no edges
        order = [v for v in order if not task.table.columns[v].is_constant]
        for position, child in enumerate(order):
            score = float(scorer.score([Family((child, 0))])[0])
            while len(parents[child]) < min(self._options.max_indegree, position) and not task.expired:
                candidates = [v for v in order[:position] if v not in parents[child]]
                new, grown = best_parent(scorer, child, parents[child], candidates)
                if not grown > score:
                    break
                grown_parents = [*parents]
                grown_parents[child] = (*parents[child], new)
                grown_cuts = self._cuts(grown_parents, order)
                if task.expired:
                    break
                parents, cuts, score = grown_parents, grown_cuts, grown
                scorer = self._scorer(cuts)
            if task.expired:
                break
        return _Learned(parents, cuts, scorer.graph_score(parents))

    def _cuts(self, parents: Sequence[Sequence[int]], order: Sequence[int]) -> Cuts:
        """Return the cuts for a graph, columns visited in reverse order."""
        task = self._task
        graph = ColumnGraph(task.table.names, tuple(tuple(sorted(of_child)) for of_child in parents))
        return discretize_all(
            replace(task, graph=graph),
            self._start,
            [v for v in reversed(order) if v in task.movable],
            cardinality_over=self._options.cardinality_over,
            max_cycles=self._options.max_cycles,
            max_candidates=self._options.max_candidates,
            sorted_columns=self._columns,
        ).cuts

    def _scorer(self, cuts: Cuts) -> FamilyScorer:
        return coded_scorer(self._task.table.names, self._task.coded(cuts), "k2")
