"""K2: a network's structure from discretized columns, greedily along an order (Cooper & Herskovits 1992)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, is_missing, level_values, storage
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Column, Table
from gomea_bn.discretization.base import CodedColumn
from gomea_bn.errors import GomeaBnError, is_integer, is_real, nearest, row_list
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.parameters import Parameters
from gomea_bn.problems.family_scorer import Family, FamilyScorer, ScoredVariable
from gomea_bn.problems.policies import MAX_CARDINALITY
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.runtime.threads import StopFlag

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "K2",
    "Parents",
    "best_parent",
    "check_k2_options",
    "compile_k2_kernels",
    "discrete_table",
    "k2_parents",
    "k2_scorer",
    "named_edges",
    "orders_to_try",
    "total_k2_score",
]

Parents = list[tuple[int, ...]]
"""Positions of every column's parents, in the order in which they were found."""


class K2(Parameters):
    """Learns the structure of discretized columns: each column takes the best parents among those before it.

    Parameters
    ----------
    order : sequence of str, optional
        The columns, each after all that may be its parents; by default random orders, of which the best result is
        kept.
    max_indegree : int
        Most parents of a column.
    n_restarts : int
        How many random orders; without effect where `order` is given.
    pseudo_count : float
        Smoothing of the network's tables, per row of a table.
    max_levels : int
        Most distinct values of a column, at most 255.
    max_seconds : float, optional
        Deadline; the best result so far is kept.
    random_state : int, optional
        Seed of the orders.

    Attributes
    ----------
    edges_ : list of (parent, child)
    score_ : float
        ln of the K2 score (the probability of the table given the graph, with Dirichlet(1) priors), in nats; higher
        is better.
    order_ : list of str
        The order of the best result.
    network_ : DiscretizedBayesNet
        All columns discrete.
    n_restarts_ : int
        Orders that were tried.
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

    def __init__(
        self,
        *,
        order: Sequence[str] | None = None,
        max_indegree: int = 6,
        n_restarts: int = 50,
        pseudo_count: float = 1.0,
        max_levels: int = 50,
        max_seconds: float | None = None,
        random_state: int | None = None,
    ) -> None:
        self.order = order
        self.max_indegree = max_indegree
        self.n_restarts = n_restarts
        self.pseudo_count = pseudo_count
        self.max_levels = max_levels
        self.max_seconds = max_seconds
        self.random_state = random_state

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
        check_k2_options(self.max_indegree, self.n_restarts, self.max_seconds, self.random_state)
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
                found = k2_parents(scorer, order, self.max_indegree, stop)
                tried += 1
                score = total_k2_score(scorer, found)
                if score > best_score:
                    best, best_score, best_order = found, score, order
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
    """Return the given order as positions, or so many random orders, drawn when they are asked for."""
    if order is not None:
        return iter([positions_in_order(order, names)])
    generator = np.random.default_rng(random_state)
    return (generator.permutation(len(names)).tolist() for _ in range(n_restarts))


def k2_scorer(names: Sequence[str], coded: Sequence[CodedColumn]) -> FamilyScorer:
    """Return the scorer of families of coded columns, under the K2 score."""
    method = scoring_method("k2")
    variables = [ScoredVariable(name, column.codes, column.cardinality) for name, column in zip(names, coded)]
    return FamilyScorer(variables, method, score_rule(method, len(coded[0].codes)))


def total_k2_score(scorer: FamilyScorer, parents: Sequence[tuple[int, ...]]) -> float:
    """Return ln of the K2 score of a graph, in nats."""
    families = [Family((v, 0), tuple((p, 0) for p in found)) for v, found in enumerate(parents)]
    return float(scorer.score(families).sum())


def best_parent(
    scorer: FamilyScorer, child: int, parents: tuple[int, ...], candidates: Sequence[int]
) -> tuple[int, float]:
    """Return which candidate is the best further parent (the first of equals), and the family's score with it."""
    families = [Family((child, 0), tuple((p, 0) for p in (*parents, new))) for new in candidates]
    scores = scorer.score(families)
    best = int(np.argmax(scores))
    return candidates[best], float(scores[best])


def k2_parents(scorer: FamilyScorer, order: Sequence[int], max_indegree: int, stop: StopFlag) -> Parents:
    """Return the parents of every column that K2 finds along an order of positions."""
    parents: Parents = [()] * len(order)
    for place, child in enumerate(order):
        score = float(scorer.score([Family((child, 0))])[0])
        while len(parents[child]) < min(max_indegree, place):
            stop.check_deadline()
            if stop.reason:
                return parents
            candidates = [v for v in order[:place] if v not in parents[child]]
            new, grown = best_parent(scorer, child, parents[child], candidates)
            # a parent with a single level gains nothing but rounding errors
            if not grown > score + 1e-9:
                break
            parents[child] = (*parents[child], new)
            score = grown
    return parents


def named_edges(parents: Sequence[tuple[int, ...]], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (parent, child) names by child and then parent in column order."""
    return [(names[p], names[child]) for child, found in enumerate(parents) for p in sorted(found)]


def positions_in_order(order: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the positions of all columns in a given order of their names."""
    listed = list(order) if isinstance(order, Iterable) and not isinstance(order, str) else [order]
    for name in listed:
        if name not in names:
            raise GomeaBnError(f"order: no column {name!r}.{nearest(str(name), names)}")
    if sorted(listed) != sorted(names):
        left = [name for name in names if name not in listed]
        what = f"lacks {left}" if left else f"repeats a name: {listed}"
        raise GomeaBnError(f"order must name every column once; it {what}.")
    return [list(names).index(name) for name in listed]


def discrete_table(source: Any, max_levels: int, learner: str = "K2", coupled: str = "LDBN") -> Table:
    """Return columns as discrete ones, whatever they store; a single value is allowed.

    Messages name the `learner`, and what cuts columns while it learns (`coupled`).
    """
    if not is_integer(max_levels) or not 1 <= max_levels <= MAX_CARDINALITY:
        raise GomeaBnError(f"max_levels must be an integer from 1 to {MAX_CARDINALITY}, got {max_levels!r}.")
    if isinstance(source, Table):
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


def _advice(name: str, what: str, learner: str, coupled: str) -> str:
    return (
        f"Column '{name}' {what}; {learner} learns from discretized columns. Cut it first, for example with "
        f"gomea_bn.discretization.EqualFrequency().fit_transform(frame), or use {coupled}, which does both; raise "
        "max_levels for a discrete column."
    )


def check_k2_options(max_indegree: Any, n_restarts: Any, max_seconds: Any, random_state: Any) -> None:
    """Refuse options of the search that are out of range."""
    if not is_integer(max_indegree) or max_indegree < 0:
        raise GomeaBnError(f"max_indegree must be an integer of at least 0, got {max_indegree!r}.")
    if not is_integer(n_restarts) or n_restarts < 1:
        raise GomeaBnError(f"n_restarts must be an integer of at least 1, got {n_restarts!r}.")
    if max_seconds is not None and not (is_real(max_seconds) and max_seconds > 0):
        raise GomeaBnError(f"max_seconds must be a positive number or None, got {max_seconds!r}.")
    if random_state is not None and not (is_integer(random_state) and random_state >= 0):
        raise GomeaBnError(f"random_state must be a non-negative integer or None, got {random_state!r}.")


@cache
def compile_k2_kernels() -> None:
    """Compile or load the kernels on a tiny table, so that no deadline pays for it."""
    coded = CodedColumn(np.array([0, 1, 1, 0], np.int32), 2)
    scorer = k2_scorer(("a", "b"), (coded, coded))
    scorer.reserve(1 << 12)  # a cache that grows needs a kernel too
    total_k2_score(scorer, [(), (0,)])
