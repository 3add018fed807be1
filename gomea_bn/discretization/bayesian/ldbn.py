"""LDBN: structure and bins together, K2 coupled with Bayesian discretization (Chen et al. 2017)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import (
    Cuts,
    DiscretizationTask,
    Discretizer,
    Graph,
    Network,
    starting_cuts,
)
from gomea_bn.discretization.bayesian.bayesian import check_bayesian_options, discretize_all
from gomea_bn.discretization.bayesian.cuts import compile_bayesian_kernels
from gomea_bn.discretization.structure_search.k2 import (
    Parents,
    best_parent,
    check_k2_options,
    compile_k2_kernels,
    k2_scorer,
    named_edges,
    orders_to_try,
    total_k2_score,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.family_scorer import Family, FamilyScorer
from gomea_bn.problems.interval_dp import SortedColumn

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LDBN"]


class LDBN(Discretizer):
    """Learns structure and bins together: K2 finds edges, and after every edge all columns are cut anew.

    Parameters
    ----------
    order : sequence of str, optional
        The columns, each after all that may be its parents; by default random orders, of which the best result is
        kept.
    max_indegree : int
        Most parents of a column.
    n_restarts : int
        How many random orders (the paper: 50); without effect where `order` is given.
    max_cycles : int
        Most passes of a discretization.
    cardinality_over : {"table", "blanket"}
    max_candidates : int or None
        Of the discretization; see `BayesianDiscretizer`.
    pseudo_count : float
        Smoothing of the network's tables, per row of a table.
    random_state : int, optional
        Seed of the orders.
    kinds, missing, max_levels
        See `gomea_bn.data.table.read_table`.
    max_seconds : float, optional
        Deadline; the best result so far is kept.

    Attributes
    ----------
    network_ : DiscretizedBayesNet
    edges_ : list of (parent, child)
    score_ : float
        ln of the K2 score of the discretized table, in nats; higher is better.
    order_ : list of str
        The order of the best result.
    n_restarts_ : int
        Orders that were tried.
    stopped_by_ : str
        "n_restarts", "max_seconds" or "interrupt".
    cut_points_, levels_, table_, fit_seconds_, feature_names_in_, n_features_in_
        See `Discretizer`.

    Notes
    -----
    As in the authors' code, a column's parents grow while a further one raises the score that the column had when its
    last parent was accepted, before the bins changed; and orders are compared by the K2 score of tables that are cut
    differently, which favours few bins.

    Each pass of the discretization visits the columns against the order. It begins with equal-width bins after every
    new edge.
    """

    def __init__(
        self,
        *,
        order: Sequence[str] | None = None,
        max_indegree: int = 6,
        n_restarts: int = 50,
        max_cycles: int = 10,
        cardinality_over: str = "table",
        max_candidates: int | None = 2000,
        pseudo_count: float = 1.0,
        random_state: int | None = None,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.order = order
        self.max_indegree = max_indegree
        self.n_restarts = n_restarts
        self.max_cycles = max_cycles
        self.cardinality_over = cardinality_over
        self.max_candidates = max_candidates
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
        """Learn the structure and the bins, and return self.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Never changed. An array's columns are named x0, x1, ...
        y : ignored
            Present for scikit-learn's tools; a class belongs into the table as a column.
        network : None
            The structure is learned; `BayesianDiscretizer` takes one that is given.

        Raises
        ------
        GomeaBnError
            For a table or an option that cannot be used; the message says what to do.
        """
        if network is not None:
            raise GomeaBnError(
                "LDBN learns the graph itself; leave network out, or use BayesianDiscretizer, which keeps it."
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

    def _check_options(self) -> None:
        check_bayesian_options(self.cardinality_over, self.max_cycles, self.max_candidates)
        check_k2_options(self.max_indegree, self.n_restarts, self.max_seconds, self.random_state)

    def _compile(self) -> None:
        compile_bayesian_kernels()
        compile_k2_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        orders = orders_to_try(self.order, task.table.names, self.n_restarts, self.random_state)
        bins = _Bins(task, self)
        best, best_order, tried = None, list[int](), 0
        for order in orders:
            found = self._along(order, task, bins)
            tried += 1
            if best is None or found.score > best.score:
                best, best_order = found, order
            if task.expired:
                break
        assert best is not None
        self.edges_ = named_edges(best.parents, task.table.names)
        self.score_ = best.score
        self.order_ = [task.table.names[v] for v in best_order]
        self.n_restarts_ = tried
        self.stopped_by_ = "n_restarts"
        return best.cuts

    def _along(self, order: Sequence[int], task: DiscretizationTask, bins: _Bins) -> _Learned:
        """Return what one order gives; the last complete state once the time is up."""
        parents: Parents = [()] * len(task.table.columns)
        cuts = bins.start
        scorer = bins.scorer(cuts)
        # constant columns have no edges
        order = [v for v in order if not task.table.columns[v].is_constant]
        for place, child in enumerate(order):
            score = float(scorer.score([Family((child, 0))])[0])
            while len(parents[child]) < min(self.max_indegree, place) and not task.expired:
                candidates = [v for v in order[:place] if v not in parents[child]]
                new, grown = best_parent(scorer, child, parents[child], candidates)
                if not grown > score:
                    break
                grown_parents = [*parents]
                grown_parents[child] = (*parents[child], new)
                found = bins.for_graph(grown_parents, order)
                if found is None:
                    break
                parents, cuts, score = grown_parents, found, grown
                scorer = bins.scorer(cuts)
            if task.expired:
                break
        return _Learned(parents, cuts, total_k2_score(scorer, parents))


@dataclass(frozen=True, slots=True)
class _Learned:
    """What one order gives."""

    parents: Parents
    cuts: Cuts
    score: float


class _Bins:
    """Bins for any graph over one table, its columns sorted once."""

    def __init__(self, task: DiscretizationTask, options: LDBN) -> None:
        self._task = task
        self._options = options
        self._columns: dict[int, SortedColumn] = {}
        self.start = starting_cuts(task)

    def for_graph(self, parents: Parents, order: Sequence[int]) -> Cuts | None:
        """Return the cuts for a graph, columns visited against the order; None once the time is up."""
        task = self._task
        graph = Graph(task.table.names, tuple(tuple(sorted(found)) for found in parents))
        found = discretize_all(
            replace(task, graph=graph),
            self.start,
            [v for v in reversed(order) if v in task.movable],
            cardinality_over=self._options.cardinality_over,
            max_cycles=self._options.max_cycles,
            max_candidates=self._options.max_candidates,
            sorted_columns=self._columns,
        )
        return None if task.expired else found.cuts

    def scorer(self, cuts: Cuts) -> FamilyScorer:
        """Return the K2 scorer of the table under given cuts."""
        return k2_scorer(self._task.table.names, self._task.coded(cuts))
