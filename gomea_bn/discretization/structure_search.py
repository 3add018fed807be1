"""Greedy searches for the graph of discretized columns.

K2 adds parents along an order (Cooper & Herskovits 1992). Tabu search moves from graph to graph by single edges, even
downhill (Glover 1989; Bouckaert 1995).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, is_missing, level_values, storage
from gomea_bn.data.frames import plain_frame
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import MAX_LEVELS, Column, Table
from gomea_bn.discretization.base import check_each_once
from gomea_bn.errors import GomeaBnError, check_integer, nearest, row_list
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph, Network
from gomea_bn.parameters import (
    Choice,
    Number,
    Parameters,
    WholeNumber,
    check_declared,
    declarations,
    option,
    stated,
)
from gomea_bn.problems.cuts.blanket import CodedColumn, coded_columns
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules
from gomea_bn.problems.scores import is_gain, rounding, score_rule, scoring_method
from gomea_bn.runtime.threads import StopFlag

if TYPE_CHECKING:
    import pandas as pd

Parents = tuple[tuple[int, ...], ...]
"""Positions of every column's parents."""

DISCRETE_SCORES = ("aic", "bdeu", "bic", "k2")
TABU_LENGTH, PATIENCE = 50, 100


class _StructureLearner(Parameters):
    """What K2 and tabu search have in common: their input and their result."""

    pseudo_count: float
    max_levels: int

    def _read(self, source: Any, coupled: str) -> tuple[Table, list[CodedColumn]]:
        """Return a table whose columns are all discrete, and may be constant, and its columns as codes.

        Messages name the method `coupled`, which couples the learner with a discretizer.
        """
        check_declared(declarations(type(self)).values(), vars(self))
        check_integer("max_levels", self.max_levels, 1, MAX_CARDINALITY)
        learner = type(self).__name__

        def refuse(name: str, fault: str) -> GomeaBnError:
            return GomeaBnError(
                f"Column '{name}' {fault}; {learner} learns from discretized columns. Cut it first, for example with "
                f"gomea_bn.discretization.EqualFrequency().fit_transform(frame), or use {coupled}, which does both; "
                "raise max_levels for a discrete column."
            )

        if isinstance(source, Table):
            source.require_complete(learner)
            columns = list(source.columns)
            for column in columns:
                if column.is_continuous:
                    raise refuse(column.name, "is continuous")
        else:
            columns = _discrete_columns(source, learner)
        coded = coded_columns(columns, {})
        for column, of_column in zip(columns, coded):
            if of_column.cardinality > self.max_levels:
                n_levels = of_column.cardinality
                raise refuse(column.name, f"has {n_levels} distinct values, more than {self.max_levels}")
        return Table(tuple(columns), len(columns[0].values), ()), coded

    def _set_result(
        self, table: Table, parents: Sequence[Sequence[int]], score: float, score_name: str, stopped_by: str
    ) -> None:
        self.edges_ = named_edges(parents, table.names)
        self.score_ = score
        self.stopped_by_ = stopped_by
        self.network_ = DiscretizedBayesNet.from_table(
            table,
            self.edges_,
            {},
            pseudo_count=self.pseudo_count,
            metadata={"scoring_method": score_name, "score": score, "n_rows": table.n_rows},
        )
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)


def _discrete_columns(source: Any, learner: str) -> list[Column]:
    frame = plain_frame(source_frame(source))
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
    return columns


def coded_scorer(
    names: Sequence[str], coded: Sequence[CodedColumn], score: str, **options: Any
) -> FamilyScorer:
    """Return the scorer of families of coded columns; `options` are those of `score_rule`."""
    method = scoring_method(score)
    variables = [ScoredVariable(name, column.codes, column.cardinality) for name, column in zip(names, coded)]
    return FamilyScorer(variables, method, score_rule(method, len(coded[0].codes), **options))


def plain_families(child: int, parent_sets: Iterable[Iterable[int]]) -> list[ScoredFamily]:
    """Return the families of a child with each of some parent sets, for columns with one set of bins each."""
    return [ScoredFamily((child, 0), tuple((p, 0) for p in parents)) for parents in parent_sets]


def named_edges(parents: Sequence[Sequence[int]], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (parent, child) names by child and then parent in column order."""
    return [(names[p], names[child]) for child, of_child in enumerate(parents) for p in sorted(of_child)]


@cache
def compile_structure_kernels() -> None:
    """Compile or load the kernels on a tiny table, so that no deadline pays for it."""
    column = CodedColumn(np.arange(4, dtype=np.int32) % 2, 2)
    for score in ("bic", "k2", "bdeu"):
        scorer = coded_scorer(("a", "b"), (column, column), score)
        # a cache that grows needs a kernel too
        scorer.reserve(max(1 << 12, len(scorer.caches.shared.keys)))
        scorer.graph_score([(), (0,)])


@dataclass(eq=False, repr=False, kw_only=True)
class K2(_StructureLearner):
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
    max_indegree: int = option(6, WholeNumber(0))
    n_restarts: int = option(50, WholeNumber(1))
    pseudo_count: float = 1.0
    max_levels: int = MAX_LEVELS
    max_seconds: float | None = option(None, Number(0, above=True, none=""))
    random_state: int | None = option(None, WholeNumber(0, none=""))

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
        table, coded = self._read(X, "LDBN")
        orders = orders_to_try(self.order, table.names, self.n_restarts, self.random_state)
        compile_structure_kernels()
        stop = StopFlag(self.max_seconds)
        scorer = coded_scorer(table.names, coded, "k2")
        best: list[tuple[int, ...]] = [()] * len(coded)
        best_order: list[int] = []
        best_score, tried = -np.inf, 0
        with stop.catching_interrupts():
            for order in orders:
                parents = _k2_parents(scorer, order, self.max_indegree, stop)
                tried += 1
                score = scorer.graph_score(parents)
                if score > best_score:
                    best, best_score, best_order = parents, score, order
                if stop.reason:
                    break
        self._set_result(table, best, best_score, "k2", stop.reason or "n_restarts")
        self.order_ = [table.names[v] for v in best_order]
        self.n_restarts_ = tried
        return self


def orders_to_try(
    order: Sequence[str] | None, names: Sequence[str], n_restarts: int, random_state: int | None
) -> Iterator[list[int]]:
    """Yield the one order as positions, or `n_restarts` random orders, each drawn when it is asked for."""
    if order is not None:
        ordered = list(order) if isinstance(order, Iterable) and not isinstance(order, str) else [order]
        for name in ordered:
            if name not in names:
                raise GomeaBnError(f"order: unknown column {name!r}.{nearest(str(name), names)}")
        check_each_once(ordered, names, "column")
        return iter([[list(names).index(name) for name in ordered]])
    generator = np.random.default_rng(random_state)
    return (generator.permutation(len(names)).tolist() for _ in range(n_restarts))


def best_parent(
    scorer: FamilyScorer, child: int, parents: tuple[int, ...], candidates: Sequence[int]
) -> tuple[int, float]:
    """Return the candidate that is the best further parent (the first of equals), and the family's score with it."""
    scores = scorer.score(plain_families(child, [(*parents, new) for new in candidates]))
    best = int(np.argmax(scores))
    return candidates[best], float(scores[best])


def _k2_parents(
    scorer: FamilyScorer, order: Sequence[int], max_indegree: int, stop: StopFlag
) -> list[tuple[int, ...]]:
    """Return the parents of every column that K2 finds along an order of positions."""
    parents: list[tuple[int, ...]] = [()] * len(order)
    for position, child in enumerate(order):
        score = float(scorer.score([ScoredFamily((child, 0))])[0])
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


@dataclass(eq=False, repr=False, kw_only=True)
class Tabu(_StructureLearner):
    """Learns the structure of discretized columns by tabu search: the best move to a neighbouring graph, even downhill.

    A move adds, removes or reverses one edge. The pair of columns that a move has changed then rests for some steps, so
    that the search leaves local optima. Only a move to a graph better than all before may change a resting pair. Up to
    the first local optimum this is greedy hill climbing.

    Parameters
    ----------
    scoring_method : {"bic", "aic", "bdeu", "k2"}
    max_indegree : int, optional
        Largest number of parents of a column.
    knowledge : ExpertKnowledge, optional
        Required and forbidden edges, tiers, and limits.
    tabu_length : int
        Number of steps for which a changed pair rests; at most half of all pairs rest at a time.
    patience : int
        Number of steps in a row without a new best graph after which the search ends.
    max_steps : int, optional
        Largest number of steps.
    equivalent_sample_size : float
        Weight of the prior of "bdeu", in rows.
    pseudo_count : float
        Pseudo-count per row of the network's tables.
    max_levels : int
        Largest number of distinct values of a column, at most 255.
    max_seconds : float, optional
        Deadline in seconds; the best graph so far is the result.

    Attributes
    ----------
    edges_ : list of (parent, child)
    score_ : float
        Score of the best graph in nats; higher is better.
    network_ : DiscretizedBayesNet
        Network over discrete columns.
    n_steps_ : int
        Number of moves.
    stopped_by_ : str
        "patience", "no_moves" (the rules leave no move), "max_steps", "max_seconds" or "interrupt".
    feature_names_in_ : ndarray of str
    n_features_in_ : int

    Notes
    -----
    Moves of equal score go to additions before removals before reversals, and then to the first parent and child, so
    that the result does not depend on chance.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 0, 1, 1] * 10, "c": [0, 1, 0, 1] * 10})
    >>> Tabu().fit(frame).edges_
    [('a', 'b')]
    """

    scoring_method: str = field(default="bic", metadata=stated(Choice(DISCRETE_SCORES), ""), kw_only=False)
    max_indegree: int | None = option(6, WholeNumber(0, none=""))
    knowledge: ExpertKnowledge | None = None
    tabu_length: int = option(TABU_LENGTH, WholeNumber(0))
    patience: int = option(PATIENCE, WholeNumber(1))
    max_steps: int | None = option(None, WholeNumber(1, none=""))
    equivalent_sample_size: float = 1.0
    pseudo_count: float = 1.0
    max_levels: int = MAX_LEVELS
    max_seconds: float | None = option(None, Number(0, above=True, none=""))

    def fit(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: object = None,
        *,
        network: Network | None = None,
    ) -> Self:
        """Learn the structure and return self.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Discretized columns, such as `Discretizer.transform` returns; their distinct values (or the categories of
            a pandas categorical) are the levels.
        y : ignored
            Present for scikit-learn's tools.
        network : DiscretizedBayesNet or list of (parent, child), optional
            The first graph; by default the required edges alone.

        Raises
        ------
        GomeaBnError
            For columns with missing values or too many levels, for options out of range, and for a first graph that
            breaks the rules.
        """
        check_knowledge(self.knowledge)
        table, coded = self._read(X, "MGCDiscretizer")
        names = table.names
        cardinality = [column.cardinality for column in coded]
        rules = edge_rules(self.knowledge, names, cardinality, max_indegree=self.max_indegree)
        start = permitted_start(ColumnGraph.of(network, names), rules, self.knowledge, cardinality)
        weight = self.equivalent_sample_size
        scorer = coded_scorer(names, coded, self.scoring_method, equivalent_sample_size=weight)
        compile_structure_kernels()
        stop = StopFlag(self.max_seconds)
        with stop.catching_interrupts():
            parents, score, self.n_steps_, stopped_by = tabu_search(
                scorer, rules, start, stop, self.tabu_length, self.patience, self.max_steps
            )
        self._set_result(table, parents, score, self.scoring_method, stopped_by)
        return self


class EdgeMoves:
    """Gains of the additions, removals and reversals of single edges under edge rules, and the moves themselves.

    Every variable of the scorer has one set of bins. An edge costs `edge_cost` besides what the score charges.
    """

    def __init__(self, scorer: FamilyScorer, rules: EdgeRules, edge_cost: float = 0.0) -> None:
        self._scorer, self._rules, self._edge_cost = scorer, rules, edge_cost
        self._cardinality = scorer.rows.cardinality.astype(np.float64).tolist()
        n = len(scorer.variables)
        # [p, c]: gain by adding, or removing, the edge p -> c alone
        self._added = np.full((n, n), -inf)
        self._removed = np.full((n, n), -inf)

    def price(self, c: int, parents: set[int]) -> float:
        """Score column `c` with one parent fewer or more, as the rules allow, and return its score as it is."""
        rules = self._rules
        removable = [p for p in sorted(parents) if rules.may_lack[p, c] or rules.may_lead[c, p]]
        addable = rules.addable(c, parents, self._cardinality)
        sets = [parents, *(parents - {p} for p in removable), *(parents | {p} for p in addable)]
        costs = self._edge_cost * np.array([len(columns) for columns in sets])
        scores = self._scorer.score(plain_families(c, sets)) - costs
        gains = scores[1:] - scores[0]
        self._added[:, c] = self._removed[:, c] = -inf
        self._removed[removable, c] = gains[: len(removable)]
        self._added[addable, c] = gains[len(removable) :]
        return float(scores[0])

    def gains(self, parents: Sequence[set[int]]) -> NDArray[np.float64]:
        """Return the gain of every move, shape (3, n, n) by kind, parent and child; -inf if it is not allowed.

        The kinds are addition, removal and reversal.
        """
        present = np.zeros(self._added.shape, np.bool_)
        for c, of_child in enumerate(parents):
            present[list(of_child), c] = True
        reach = _reachability(present)
        # a reversal closes a cycle if another parent of the child descends from the parent
        others = reach.astype(np.float32) @ present.astype(np.float32) - present
        reversible = present & (others < 0.5)
        return np.stack(
            (
                np.where(reach.T, -inf, self._added),
                np.where(self._rules.may_lack, self._removed, -inf),
                np.where(reversible, self._removed + self._added.T, -inf),
            )
        )

    @staticmethod
    def make(parents: Sequence[set[int]], kind: int, p: int, c: int) -> list[int]:
        """Change the edge p -> c in the parents of all columns, and return the columns whose parents changed."""
        if kind == 0:
            parents[c].add(p)
            return [c]
        parents[c].discard(p)
        if kind == 1:
            return [c]
        parents[p].add(c)
        return [c, p]


def _reachability(present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether edges lead from i to j, a bool matrix of shape (n, n) that is true on the diagonal."""
    reach: NDArray[np.bool_] = present | np.eye(len(present), dtype=np.bool_)
    while True:
        weights = reach.astype(np.float32)
        further = (weights @ weights) > 0.5
        if np.array_equal(further, reach):
            return reach
        reach = further


def tabu_search(
    scorer: FamilyScorer,
    rules: EdgeRules,
    start: Sequence[Sequence[int]],
    stop: StopFlag,
    tabu_length: int = TABU_LENGTH,
    patience: int = PATIENCE,
    max_steps: int | None = None,
) -> tuple[Parents, float, int, str]:
    """Return the best graph that the search visits from `start`, the parents of every column under fixed bins.

    After it come its score in nats, the number of moves, and the reason why the search ended.
    """
    parents = [set(columns) for columns in start]
    moves, n = EdgeMoves(scorer, rules), len(parents)
    # a pair that changed rests; at most half of all pairs do, so that some can change
    n_rests, rests_until = min(tabu_length, n * (n - 1) // 4), np.zeros((n, n), np.int64)
    scores = np.zeros(len(parents))
    best = scorer.graph_score(map(sorted, parents))
    best_parents = frozen_parents(parents)
    due = list(range(len(parents)))
    n_steps = idle = 0
    while True:
        for c in due:
            stop.check_deadline()
            if stop.reason:
                return best_parents, best, n_steps, stop.reason
            scores[c] = moves.price(c, parents[c])
        total = float(scores.sum())
        if is_gain(total - best, best):
            best, best_parents, idle = total, frozen_parents(parents), 0
        if idle >= patience:
            return best_parents, best, n_steps, "patience"
        if max_steps is not None and n_steps >= max_steps:
            return best_parents, best, n_steps, "max_steps"
        gains = moves.gains(parents)
        slack = rounding(best)
        gains[(rests_until > n_steps) & (total + gains <= best + slack)] = -inf
        highest = float(gains.max())
        if highest == -inf:
            return best_parents, best, n_steps, "no_moves"
        first = int(np.argmax(gains >= highest - slack))
        kind, p, c = (int(i) for i in np.unravel_index(first, gains.shape))
        due = moves.make(parents, kind, p, c)
        n_steps += 1
        rests_until[p, c] = rests_until[c, p] = n_steps + n_rests
        idle += 1


def frozen_parents(parents: Sequence[set[int]]) -> Parents:
    """Return the parents of every column in ascending order."""
    return tuple(tuple(sorted(columns)) for columns in parents)


def permitted_start(
    first: ColumnGraph, rules: EdgeRules, knowledge: ExpertKnowledge | None, cardinality: Sequence[int]
) -> Parents:
    """Return every column's parents in a first graph with the required edges added; raises if it breaks the rules."""
    names = first.names
    edges = sorted({*first.edges, *(knowledge.required_edges if knowledge else ())})
    graph = ColumnGraph.of(edges, names)
    arcs = [(p, c) for c, parents in enumerate(graph.parents) for p in parents]
    broken = rules.violations(names, arcs, cardinality)
    if broken:
        raise GomeaBnError(
            f"The first graph breaks the rules: {'; '.join(broken)}. Leave network out to start without it."
        )
    return graph.parents


def check_knowledge(knowledge: Any) -> None:
    """Raise `GomeaBnError` unless the option is an expert's knowledge or None."""
    if knowledge is not None and not isinstance(knowledge, ExpertKnowledge):
        raise GomeaBnError(f"knowledge must be an ExpertKnowledge or None, got {knowledge!r:.80}.")
