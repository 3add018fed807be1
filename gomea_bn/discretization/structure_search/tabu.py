"""Tabu search for a network's structure from discretized columns (Glover 1989; Bouckaert 1995)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.structure_search.k2 import discrete_table, named_edges
from gomea_bn.discretization.structure_search.moves import EdgeMoves, ParentSet
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph, Network
from gomea_bn.parameters import (
    Choice,
    Integer,
    Number,
    Parameters,
    check_declared,
    declarations,
    option,
    stated,
)
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules
from gomea_bn.problems.scoring.family_scorer import Family, FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import is_gain, rounding, score_rule, scoring_method
from gomea_bn.runtime.threads import StopFlag

if TYPE_CHECKING:
    import pandas as pd

DISCRETE_SCORES = ("aic", "bdeu", "bic", "k2")
TABU_LENGTH, PATIENCE = 50, 100
Parents = tuple[tuple[int, ...], ...]


@dataclass(eq=False, repr=False, kw_only=True)
class Tabu(Parameters):
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
    max_indegree: int | None = option(6, Integer(0, none=""))
    knowledge: ExpertKnowledge | None = None
    tabu_length: int = option(TABU_LENGTH, Integer(0))
    patience: int = option(PATIENCE, Integer(1))
    max_steps: int | None = option(None, Integer(1, none=""))
    equivalent_sample_size: float = 1.0
    pseudo_count: float = 1.0
    max_levels: int = 50
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
        check_declared(declarations(type(self)).values(), vars(self))
        check_knowledge(self.knowledge)
        table = discrete_table(X, self.max_levels, "Tabu", "MGCDiscretizer")
        names = table.names
        cardinality = [len(column.levels or ()) for column in table.columns]
        rules = edge_rules(self.knowledge, names, cardinality, max_indegree=self.max_indegree)
        start = permitted_start(ColumnGraph.of(network, names), rules, self.knowledge, cardinality)
        method = scoring_method(self.scoring_method)
        rule = score_rule(method, table.n_rows, equivalent_sample_size=self.equivalent_sample_size)
        compile_tabu_kernels()
        stop = StopFlag(self.max_seconds)
        variables = [ScoredVariable(c.name, c.values, r) for c, r in zip(table.columns, cardinality)]
        search = TabuSearch(
            FamilyScorer(variables, method, rule), rules, TabuList(len(names), self.tabu_length)
        )
        with stop.catching_interrupts():
            result = search.run(start, stop, patience=self.patience, max_steps=self.max_steps)
        self.edges_ = named_edges(result.parents, names)
        self.score_ = result.score
        self.n_steps_ = result.n_steps
        self.stopped_by_ = result.stopped_by
        self.network_ = DiscretizedBayesNet.from_table(
            table,
            self.edges_,
            {},
            pseudo_count=self.pseudo_count,
            metadata={"scoring_method": method.name, "score": result.score, "n_rows": table.n_rows},
        )
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self


class TabuList:
    """The pairs of columns that rest.

    Parameters
    ----------
    n : int
        Number of columns.
    length : int
        Number of steps for which a pair rests; limited to half the number of pairs, so that some can change.
    """

    def __init__(self, n: int, length: int) -> None:
        self.length = min(length, n * (n - 1) // 4)
        self.step = 0
        self._until = np.zeros((n, n), np.int64)

    @property
    def resting(self) -> NDArray[np.bool_]:
        """Return the pairs that rest at the next step, a symmetric bool matrix of shape (n, n)."""
        return self._until > self.step

    def note(self, i: int, j: int) -> None:
        """Count a step that changed the pair."""
        self.step += 1
        self._until[i, j] = self._until[j, i] = self.step + self.length


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best graph of a search, its score in nats, the number of moves, and the reason why the search ended."""

    parents: Parents
    score: float
    n_steps: int
    stopped_by: str


class TabuSearch:
    """Moves from graph to graph over columns under fixed bins.

    Parameters
    ----------
    scorer : FamilyScorer
        With one policy per column.
    rules : EdgeRules
    tabu : TabuList
        Counts on over several runs.
    """

    def __init__(self, scorer: FamilyScorer, rules: EdgeRules, tabu: TabuList) -> None:
        self.scorer = scorer
        self.tabu = tabu
        self._moves = EdgeMoves(rules, scorer.rows.cardinality.tolist())
        self._scores = np.zeros(len(scorer.variables))

    def run(
        self,
        start: Sequence[Sequence[int]],
        stop: StopFlag,
        *,
        patience: int,
        max_steps: int | None = None,
    ) -> SearchResult:
        """Return the best graph that the search visits from `start`, the parents of every column."""
        parents = [set(columns) for columns in start]
        best = total = self.scorer.graph_score(map(sorted, parents))
        best_parents = _frozen(parents)
        due = list(range(len(parents)))
        n_steps = idle = 0
        while True:
            for c in due:
                stop.check_deadline()
                if stop.reason:
                    return SearchResult(best_parents, best, n_steps, stop.reason)
                self._price(c, parents[c])
            total = float(self._scores.sum())
            if is_gain(total - best, best):
                best, best_parents, idle = total, _frozen(parents), 0
            if idle >= patience:
                return SearchResult(best_parents, best, n_steps, "patience")
            if max_steps is not None and n_steps >= max_steps:
                return SearchResult(best_parents, best, n_steps, "max_steps")
            gains = self._moves.gains(parents)
            slack = rounding(best)
            gains[self.tabu.resting & (total + gains <= best + slack)] = -inf
            highest = float(gains.max())
            if highest == -inf:
                return SearchResult(best_parents, best, n_steps, "no_moves")
            first = int(np.argmax(gains >= highest - slack))
            kind, p, c = (int(i) for i in np.unravel_index(first, gains.shape))
            due = self._moves.make(parents, kind, p, c)
            self.tabu.note(p, c)
            n_steps += 1
            idle += 1

    def _price(self, c: int, parents: ParentSet) -> None:
        """Score column `c` with its parents, and with one parent fewer or more."""
        sets = self._moves.parent_sets(c, parents)
        scores = self.scorer.score([Family((c, 0), tuple((p, 0) for p in columns)) for columns in sets])
        self._moves.note_gains(c, parents, scores)
        self._scores[c] = scores[0]


def _frozen(parents: Sequence[set[int]]) -> Parents:
    return tuple(tuple(sorted(columns)) for columns in parents)


def permitted_start(
    first: ColumnGraph, rules: EdgeRules, knowledge: ExpertKnowledge | None, cardinality: Sequence[int]
) -> Parents:
    """Return every column's parents in a first graph with the required edges added.

    Raises
    ------
    GomeaBnError
        If it breaks the rules.
    """
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


@cache
def compile_tabu_kernels() -> None:
    """Compile or load the kernels on a tiny table, so that no deadline pays for it."""
    codes = np.arange(4, dtype=np.int32) % 2
    for score in ("bic", "k2", "bdeu"):
        method = scoring_method(score)
        variables = [ScoredVariable(name, codes, 2) for name in ("a", "b")]
        scorer = FamilyScorer(variables, method, score_rule(method, 4))
        # a cache that grows needs a kernel too
        scorer.reserve(len(scorer.caches.shared.keys))
        scorer.score([Family((0, 0), ((1, 0),))])
