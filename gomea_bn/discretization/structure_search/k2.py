"""K2: greedy search for a network's structure along an order of discretized columns (Cooper & Herskovits 1992)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, is_missing, level_values, storage
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Column, Table
from gomea_bn.discretization.base import check_each_once
from gomea_bn.errors import GomeaBnError, check_integer, nearest, row_list
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.parameters import Integer, Number, Parameters, check_declared, declarations, option
from gomea_bn.problems.cuts.blanket import CodedColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.scoring.family_scorer import Family, FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import score_rule, scoring_method
from gomea_bn.runtime.threads import StopFlag

if TYPE_CHECKING:
    import pandas as pd

Parents = list[tuple[int, ...]]
"""Positions of every column's parents, in the order in which the search added them."""


@dataclass(eq=False, repr=False, kw_only=True)
class K2(Parameters):
    """Learns the structure of discretized columns: each column takes the best parents among those before it.

    Parameters
    ----------
    order : sequence of str, optional
        Names of all columns, each after the columns that may be its parents. By default random orders, of which the
        best result is the final one.
    max_indegree : int
        Largest number of parents of a column.
    n_restarts : int
        Number of random orders; not used if `order` is given.
    pseudo_count : float
        Pseudo-count per row of the network's tables.
    max_levels : int
        Largest number of distinct values of a column, at most 255.
    max_seconds : float, optional
        Deadline in seconds; the best result so far is kept.
    random_state : int, optional
        Seed of the orders.

    Attributes
    ----------
    edges_ : list of (parent, child)
    score_ : float
        Log of the K2 score (the probability of the table given the graph, with Dirichlet(1) priors) in nats; higher is
        better.
    order_ : list of str
        Order of the best result.
    network_ : DiscretizedBayesNet
        Network over discrete columns.
    n_restarts_ : int
        Number of orders that were tried.
    stopped_by_ : str
        "n_restarts", "max_seconds" or "interrupt".
    feature_names_in_ : ndarray of str
    n_features_in_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 0, 1, 1] * 10, "c": [0, 1, 0, 1] * 10})
    >>> K2(order=["a", "b", "c"]).fit(frame).edges_
    [('a', 'b')]
    """

    order: Sequence[str] | None = None
    max_indegree: int = option(6, Integer(0))
    n_restarts: int = option(50, Integer(1))
    pseudo_count: float = 1.0
    max_levels: int = 50
    max_seconds: float | None = option(None, Number(0, above=True, none=""))
    random_state: int | None = option(None, Integer(0, none=""))

    def fit(self, X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str], y: object = None) -> Self:
        """Learn the structure and return self.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Discretized columns, such as `Discretizer.transform` returns; their distinct values (or the categories of
            a pandas categorical) are the levels. A column of one value is allowed and gets no edges.
        y : ignored
            Present for scikit-learn's tools.

        Raises
        ------
        GomeaBnError
            For columns with missing values or too many levels, and for options out of range.
        """
        check_declared(declarations(type(self)).values(), vars(self))
        table = discrete_table(X, self.max_levels)
        coded = [CodedColumn(c.values, len(c.levels or ())) for c in table.columns]
        orders = orders_to_try(self.order, table.names, self.n_restarts, self.random_state)
        compile_k2_kernels()
        stop = StopFlag(self.max_seconds)
        scorer = k2_scorer(table.names, coded)
        best: Parents = [()] * len(coded)
        best_order: list[int] = []
        best_score, tried = -np.inf, 0
        with stop.catching_interrupts():
            for order in orders:
                parents = k2_parents(scorer, order, self.max_indegree, stop)
                tried += 1
                score = scorer.graph_score(parents)
                if score > best_score:
                    best, best_score, best_order = parents, score, order
                if stop.reason:
                    break
        self.edges_ = named_edges(best, table.names)
        self.score_ = best_score
        self.order_ = [table.names[v] for v in best_order]
        self.network_ = DiscretizedBayesNet.from_table(
            table,
            self.edges_,
            {},
            pseudo_count=self.pseudo_count,
            metadata={"scoring_method": "k2", "score": best_score, "n_rows": table.n_rows},
        )
        self.n_restarts_ = tried
        self.stopped_by_ = stop.reason or "n_restarts"
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        return self


def orders_to_try(
    order: Sequence[str] | None, names: Sequence[str], n_restarts: int, random_state: int | None
) -> Iterator[list[int]]:
    """Yield the one order as positions, or `n_restarts` random orders, each drawn when it is asked for."""
    if order is not None:
        return iter([positions_in_order(order, names)])
    generator = np.random.default_rng(random_state)
    return (generator.permutation(len(names)).tolist() for _ in range(n_restarts))


def k2_scorer(names: Sequence[str], coded: Sequence[CodedColumn]) -> FamilyScorer:
    """Return the scorer of families of coded columns, under the K2 score."""
    method = scoring_method("k2")
    variables = [ScoredVariable(name, column.codes, column.cardinality) for name, column in zip(names, coded)]
    return FamilyScorer(variables, method, score_rule(method, len(coded[0].codes)))


def best_parent(
    scorer: FamilyScorer, child: int, parents: tuple[int, ...], candidates: Sequence[int]
) -> tuple[int, float]:
    """Return the candidate that is the best further parent (the first of equals), and the family's score with it."""
    families = [Family((child, 0), tuple((p, 0) for p in (*parents, new))) for new in candidates]
    scores = scorer.score(families)
    best = int(np.argmax(scores))
    return candidates[best], float(scores[best])


def k2_parents(scorer: FamilyScorer, order: Sequence[int], max_indegree: int, stop: StopFlag) -> Parents:
    """Return the parents of every column that K2 finds along an order of positions."""
    parents: Parents = [()] * len(order)
    for position, child in enumerate(order):
        score = float(scorer.score([Family((child, 0))])[0])
        while len(parents[child]) < min(max_indegree, position):
            stop.check_deadline()
            if stop.reason:
                return parents
            candidates = [v for v in order[:position] if v not in parents[child]]
            new, grown = best_parent(scorer, child, parents[child], candidates)
            # a parent with a single level gains nothing but rounding errors
            if not grown > score + 1e-9:
                break
            parents[child] = (*parents[child], new)
            score = grown
    return parents


def named_edges(parents: Sequence[tuple[int, ...]], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (parent, child) names by child and then parent in column order."""
    return [(names[p], names[child]) for child, of_child in enumerate(parents) for p in sorted(of_child)]


def positions_in_order(order: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the positions of all columns in the order of their names."""
    ordered = list(order) if isinstance(order, Iterable) and not isinstance(order, str) else [order]
    for name in ordered:
        if name not in names:
            raise GomeaBnError(f"order: unknown column {name!r}.{nearest(str(name), names)}")
    check_each_once(ordered, names, "column")
    return [list(names).index(name) for name in ordered]


def discrete_table(source: Any, max_levels: int, learner: str = "K2", coupled: str = "LDBN") -> Table:
    """Return a table whose columns are all discrete, whatever their storage; a column may be constant.

    Parameters
    ----------
    source : DataFrame, Table, path or ndarray
    max_levels : int
        Largest number of distinct values of a column.
    learner, coupled : str
        Names of the learner and of the method that couples it with a discretizer, for messages.
    """
    check_integer("max_levels", max_levels, 1, MAX_CARDINALITY)
    if isinstance(source, Table):
        source.require_complete(learner)
        columns = list(source.columns)
        continuous = [column.name for column in columns if column.is_continuous]
        if continuous:
            raise GomeaBnError(_advice(continuous[0], "is continuous", learner, coupled))
    else:
        frame = source_frame(source)
        if len(frame) == 0 or frame.shape[1] == 0:
            raise GomeaBnError(f"{learner} needs rows and columns, got a table of shape {frame.shape}.")
        columns = []
        for name, position in column_positions(frame).items():
            series = frame.iloc[:, position]
            missing = np.flatnonzero(is_missing(series, storage(series, name)))
            if missing.size:
                raise GomeaBnError(
                    f"Column '{name}' has missing or infinite values in {row_list(missing)}; fill or drop them."
                )
            columns.append(Column(name, *level_values(series, name), "discretized"))
    for column in columns:
        if len(column.levels or ()) > max_levels:
            raise GomeaBnError(
                _advice(
                    column.name,
                    f"has {len(column.levels or ())} distinct values, more than {max_levels}",
                    learner,
                    coupled,
                )
            )
    return Table(tuple(columns), len(columns[0].values), ())


def _advice(name: str, fault: str, learner: str, coupled: str) -> str:
    return (
        f"Column '{name}' {fault}; {learner} learns from discretized columns. Cut it first, for example with "
        f"gomea_bn.discretization.EqualFrequency().fit_transform(frame), or use {coupled}, which does both; raise "
        "max_levels for a discrete column."
    )


@cache
def compile_k2_kernels() -> None:
    """Compile or load the kernels on a tiny table, so that no deadline pays for it."""
    coded = CodedColumn(np.array([0, 1, 1, 0], np.int32), 2)
    scorer = k2_scorer(("a", "b"), (coded, coded))
    scorer.reserve(1 << 12)  # a cache that grows needs a kernel too
    scorer.graph_score([(), (0,)])
