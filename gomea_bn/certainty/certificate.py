"""`certify`: proof that the graph of a network has the best score for its bins, or a limit of what it misses.

An integer programme over parent sets with cluster cuts finds the best graph, or a bound on its score.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.parent_sets import OrderSearch, ScoredParentSets
from gomea_bn.data.table import Table
from gomea_bn.errors import check_number
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.graph import topological_order
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.problems.scores import rounding
from gomea_bn.texts import counted

# the solver's own tolerance
_TOLERANCE = 1e-5
_LEAST_VIOLATION = 1e-4
_NO_WEIGHT = 1e-7
# searches from noisy steps, once the plain ones find no violated cluster
_NOISY_SEARCHES = 4
_STARTS = 3
# the solver counts a value within this distance of an integer as one
_INTEGER_TOLERANCE = 1e-6
_MARGIN = 1e-3


@dataclass(frozen=True)
class Certificate:
    """What is proven about the graph of a network among all graphs with the same bins.

    Attributes
    ----------
    score : float
        Score of the network's graph in nats.
    best_score : float
        Score of the best graph that is known, the network's own included.
    bound : float
        Upper limit of the score of all allowed graphs.
    edges : list of (parent, child)
        Edges of the best known graph.
    scoring_method : str
        Name of the score.
    max_indegree : int
        Largest number of parents of a variable in an allowed graph.
    n_parent_sets : int
        Number of parent sets that an optimum can have: each scores higher than all of its subsets.
    stopped_by : str
        "proof" if the best known graph is proven to be optimal, "max_seconds" or "interrupt".
    seconds : float
        Duration.
    """

    score: float
    best_score: float
    bound: float
    edges: list[tuple[str, str]]
    scoring_method: str
    max_indegree: int
    n_parent_sets: int
    stopped_by: str
    seconds: float

    @property
    def gap(self) -> float:
        """Nats by which the network's graph may be worse than the best one; 0 for a proven optimum."""
        return 0.0 if self.is_optimal else self.bound - self.score

    @property
    def is_optimal(self) -> bool:
        """Whether no allowed graph scores higher than that of the network."""
        return self.bound - self.score <= max(_TOLERANCE, rounding(self.score))

    def __str__(self) -> str:
        parents = counted(self.max_indegree, "parent")
        graphs = f"with at most {parents} per variable and the same bins"
        lines = [f"Score of the graph ({self.scoring_method}): {self.score:.4f} nats."]
        if self.is_optimal:
            lines.append(f"It is optimal: no graph {graphs} has a higher score.")
        elif self.stopped_by == "proof":
            lines.append(
                f"It is not optimal: the best graph {graphs} has {self.best_score:.4f}, {self.gap:.4f} nats more."
            )
        else:
            lines.append(
                f"No graph {graphs} has a score above {self.bound:.4f}, which is {self.gap:.4f} nats more."
            )
            if self.best_score - self.score > rounding(self.score):
                lines.append(f"It is not optimal: a graph with {self.best_score:.4f} is known.")
        reason = {"max_seconds": "the time limit", "interrupt": "an interrupt"}.get(self.stopped_by, "proof")
        lines.append(
            f"{counted(self.n_parent_sets, 'parent set')} after pruning; ended by {reason} after {self.seconds:.1f} s."
        )
        return "\n".join(lines)


def certify(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    max_indegree: int = 3,
    max_seconds: float | None = 60.0,
    knowledge: ExpertKnowledge | None = None,
    scoring_method: str | None = None,
    equivalent_sample_size: float | None = None,
) -> Certificate:
    """Prove that a network's graph has the best score for its bins, or limit what it misses.

    The best graph is found by integer programming: parent sets that score no higher than a subset are pruned, cluster
    cuts tighten the linear relaxation, and HiGHS solves what remains. Any score that is a sum over families can be
    proven.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network; only its graph and its bins count.
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file
        Rows to score; normally those that the network was learned from.
    max_indegree : int
        Largest number of parents in the graphs that are compared.
    max_seconds : float, optional
        Time limit; the bound so far is returned. Scoring the parent sets does not end earlier.
    knowledge : ExpertKnowledge, optional
        Rules that the graphs obey. By default all graphs are compared, with tables of at most a million cells.
    scoring_method : str, optional
        Name of a score, as of `BayesNetLearner`. By default that of the network's metadata, or else "density-bd" with
        continuous columns and "bdeu" without. Scores of tables ("bdeu", "bic", "aic", "k2") take bins as levels.
    equivalent_sample_size : float, optional
        Of BDeu, in rows. By default that of the metadata, or else 1.

    Returns
    -------
    Certificate
        After Ctrl-C with the bound so far.

    Raises
    ------
    GomeaBnError
        For data that the network does not fit, for a network that breaks a rule, and for more than twenty million
        parent sets.

    Notes
    -----
    Bounds hold up to the solver's tolerance of about 1e-6 nats. Families of a network that was learned with curves are
    scored by tables over its bins or by curves, whichever is better, as in its search; bins that show curves were
    chosen after it, and have their costs.
    """
    check_number("max_seconds", max_seconds, 0, above=True, optional=True)
    began = perf_counter()
    graphs = GraphScores.of(
        network,
        data,
        max_indegree=max_indegree,
        knowledge=knowledge,
        scoring_method=scoring_method,
        equivalent_sample_size=equivalent_sample_size,
    )
    graphs.check_network()
    score = graphs.score(graphs.parents)
    sets = graphs.parent_sets(prune=True)
    left = None if max_seconds is None else max(max_seconds - (perf_counter() - began), 0.0)
    found = bounded_optimum(sets, [topological_order(graphs.parents, graphs.names)], left)
    best = graphs.score(found.parents)
    best_parents = found.parents
    if score >= best:
        best, best_parents = score, graphs.parents
    bound = max(found.bound + graphs.scorer.constant_score, best)
    return Certificate(
        score=score,
        best_score=best,
        bound=bound,
        edges=graphs.edges(best_parents),
        scoring_method=graphs.method_name,
        max_indegree=graphs.rules.max_indegree,
        n_parent_sets=sum(len(of_child.scores) for of_child in sets),
        stopped_by=found.stopped_by,
        seconds=perf_counter() - began,
    )


@dataclass(frozen=True)
class Choices:
    """All parent sets of all variables as the columns of a linear programme.

    A column has the variable `child`, which other variables are `members` of the set, and as `cost` the best score of
    the variable minus the score of the set, in nats.
    """

    child: NDArray[np.int64]
    members: NDArray[np.bool_]
    cost: NDArray[np.float64]

    @classmethod
    def of(cls, sets: Sequence[ScoredParentSets]) -> Choices:
        """Return the columns of the parent sets of every variable, in their order."""
        sizes = [len(of_child.scores) for of_child in sets]
        return cls(
            np.repeat(np.arange(len(sets)), sizes),
            np.concatenate([of_child.members for of_child in sets]),
            np.concatenate([of_child.scores[0] - of_child.scores for of_child in sets]),
        )

    def subset(self, columns: NDArray[np.bool_]) -> Choices:
        """Return some of the columns."""
        return Choices(self.child[columns], self.members[columns], self.cost[columns])

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.members.shape[1])

    def one_each(self) -> Any:
        """Return the matrix that sums the columns of every variable, sparse (n_variables, n_choices)."""
        n = len(self.child)
        return sparse.csr_matrix((np.ones(n), (self.child, np.arange(n))), shape=(self.n_variables, n))


def cluster_rows(choices: Choices, clusters: Sequence[NDArray[np.bool_]]) -> Any:
    """Return the matrix whose product with an acyclic graph is at least 1 in every row, sparse (n_clusters, n_choices).

    A row has ones for the parent sets of the cluster's variables without a member in the cluster: of an acyclic graph
    at least one variable has such a set (Jaakkola, Sontag, Globerson & Meila, "Learning Bayesian network structure
    using LP relaxations", AISTATS 2010).
    """
    rows = [
        np.flatnonzero(cluster[choices.child] & ~choices.members[:, cluster].any(axis=1))
        for cluster in clusters
    ]
    columns = np.concatenate([np.zeros(0, np.int64), *rows])
    return sparse.csr_matrix(
        (np.ones(len(columns)), columns, np.cumsum([0, *map(len, rows)])),
        shape=(len(rows), len(choices.child)),
    )


def violated_clusters(
    choices: Choices, point: NDArray[np.float64], generator: np.random.Generator, n_noisy: int = 0
) -> list[NDArray[np.bool_]]:
    """Return clusters whose inequality a point violates, each once, found by local search from every variable.

    The point, (n_choices,), is a solution of the relaxation. `n_noisy` further searches from every variable have noise
    on the steps.
    """
    n = choices.n_variables
    support = np.flatnonzero(point > _NO_WEIGHT)
    weights, members = point[support], choices.members[support].astype(np.float64)
    of_child = np.zeros((len(support), n))
    of_child[np.arange(len(support)), choices.child[support]] = 1.0
    clusters = np.tile(np.eye(n, dtype=np.bool_), (1 + n_noisy, 1))
    rows = np.arange(len(clusters))
    noise = np.repeat(np.linspace(0.0, 0.2, 1 + n_noisy), n)[:, None]
    for _ in range(2 * n):
        n_hits = clusters @ members.T
        inside = clusters @ of_child.T * weights
        hit = (n_hits > 0) * weights @ of_child
        joins = (inside * (n_hits == 0)) @ members + hit - 1
        leaves = 1 - (inside * (n_hits == 1)) @ members - hit
        gains = np.where(clusters, leaves, joins) + noise * generator.random(clusters.shape)
        small = clusters.sum(axis=1) < 2
        gains[clusters & small[:, None]] = -np.inf
        best = gains.argmax(axis=1)
        moves = (gains[rows, best] > 1e-9) | small
        if not moves.any():
            break
        clusters[rows[moves], best[moves]] ^= True
    without = ((clusters @ of_child.T * weights) * (clusters @ members.T == 0)).sum(axis=1)
    is_violated = (without < 1 - _LEAST_VIOLATION) & (clusters.sum(axis=1) > 1)
    return list(np.unique(clusters[is_violated], axis=0)) if is_violated.any() else []


def bounded_optimum(
    sets: Sequence[ScoredParentSets], first: Sequence[Sequence[int]], max_seconds: float | None
) -> BoundedOptimum:
    """Return the best graph of given parent sets, or the best known one and a bound after a time or Ctrl-C.

    The linear relaxation is tightened by cluster cuts until none is violated. Reduced costs prune parent sets that no
    graph better than the best known one can have. HiGHS solves the rest, in which positions of the variables exclude
    the remaining cycles. `sets` have none that score no higher than a subset. `first` are orders of the variables from
    which the search for good graphs starts.
    """
    programme = BoundedOptimum(sets, max_seconds)
    programme.run(first)
    return programme


class BoundedOptimum:
    """The best known graph, and a bound: no graph has a higher score, rounding apart.

    `parents` are those of every variable in the graph. `stopped_by` is "proof" if the graph reaches the bound, and
    otherwise "max_seconds" or "interrupt".
    """

    def __init__(self, sets: Sequence[ScoredParentSets], max_seconds: float | None) -> None:
        self.began = perf_counter()
        self.max_seconds = np.inf if max_seconds is None else max_seconds
        self.choices = Choices.of(sets)
        self.total = float(sum(of_child.scores[0] for of_child in sets))
        self.search = OrderSearch(sets)
        self.clusters: list[NDArray[np.bool_]] = []
        self.bound = self.total
        self.best = -np.inf
        self.parents: list[list[int]] = [[] for _ in sets]
        self.stopped_by = ""
        self.generator = np.random.default_rng(0)

    @property
    def seconds_left(self) -> float:
        """Seconds of the limit that are left, infinity without one."""
        return self.max_seconds - (perf_counter() - self.began)

    @property
    def is_proven(self) -> bool:
        """Whether the best known graph reaches the bound."""
        return self.best > -np.inf and self.bound - self.best <= max(_INTEGER_TOLERANCE, rounding(self.best))

    def run(self, first: Sequence[Sequence[int]]) -> None:
        """Search from orders of the variables, then prove, until the bound is reached or the time is up."""
        ended = "max_seconds"
        try:
            for order in first:
                self._climb(order)
            costs = self._relax()
            if not self.is_proven and self.seconds_left > 0:
                self._solve(costs)
        except KeyboardInterrupt:
            ended = "interrupt"
        self.stopped_by = "proof" if self.is_proven else ended

    def _climb(self, order: Sequence[int]) -> None:
        """Improve an order, and keep its graph if it is the best one so far."""
        self._keep(self.search.choices(self.search.climbed(order, self.generator)))

    def _keep(self, chosen: Sequence[int]) -> None:
        score = self.search.score(chosen)
        if score > self.best:
            self.best, self.parents = score, self.search.parents(chosen)

    def _relax(self) -> NDArray[np.float64]:
        """Tighten the linear relaxation, and return the reduced costs of all columns at its end."""
        from scipy.optimize import linprog

        choices, costs = self.choices, np.zeros(len(self.choices.cost))
        each = choices.one_each()
        while self.seconds_left > 0:
            limits: Any = {} if np.isinf(self.seconds_left) else {"time_limit": max(self.seconds_left, 0.1)}
            cuts: dict[str, Any] = {}
            if self.clusters:
                rows = -cluster_rows(choices, self.clusters)
                cuts = {"A_ub": rows, "b_ub": -np.ones(len(self.clusters))}
            result: Any = linprog(
                choices.cost,
                A_eq=each,
                b_eq=np.ones(choices.n_variables),
                method="highs-ds",
                options=limits,
                **cuts,
            )
            if result.status != 0:
                break
            self.bound, costs = min(self.bound, self.total - result.fun), result.lower.marginals
            found = violated_clusters(choices, result.x, self.generator)
            found = found or violated_clusters(choices, result.x, self.generator, _NOISY_SEARCHES)
            if not found:
                self._round(result.x)
                break
            self.clusters += found
        return np.asarray(costs, np.float64)

    def _round(self, point: NDArray[np.float64]) -> None:
        """Improve orders in which variables follow the parents that a fractional point gives them."""
        n = self.choices.n_variables
        weights = np.zeros((n, n))
        np.add.at(weights, self.choices.child, point[:, None] * self.choices.members)
        for start in range(_STARTS):
            noisy = weights + (start > 0) * 0.2 * self.generator.random((n, n))
            left, order = list(range(n)), []
            while left:
                fewest = left[int(np.argmin(noisy[np.ix_(left, left)].sum(axis=1)))]
                order.append(fewest)
                left.remove(fewest)
            self._climb(order)

    def _solve(self, costs: NDArray[np.float64]) -> None:
        """Solve the integer programme of the columns whose reduced costs allow a better graph."""
        # with a margin for the tolerances of the solver
        stays = costs <= self.bound - self.best + _MARGIN
        choices = self.choices.subset(stays)
        outcome: list[Any] = []
        seconds = self.seconds_left
        worker = threading.Thread(
            target=lambda: outcome.append(_integer_solution(choices, self.clusters, seconds)), daemon=True
        )
        worker.start()
        while worker.is_alive():
            # a join without a limit would not see Ctrl-C on all systems
            worker.join(0.1)
        result = outcome[0]
        if result.mip_dual_bound is not None:
            # columns that left cannot be in a graph better than the best known one
            self.bound = max(min(self.bound, self.total - result.mip_dual_bound), self.best)
        if result.x is not None:
            n = self.choices.n_variables
            chosen = np.flatnonzero(stays)[np.flatnonzero(result.x[: len(choices.child)] > 0.5)]
            firsts = np.searchsorted(self.choices.child, np.arange(n))
            self._keep((chosen - firsts).tolist())
            self.bound = max(self.bound, self.best)


def _integer_solution(choices: Choices, clusters: Sequence[NDArray[np.bool_]], max_seconds: float) -> Any:
    """Return HiGHS's result for one parent set per variable without cycles."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n, n_choices = choices.n_variables, len(choices.child)
    no_positions = sparse.csr_matrix((n, n))
    constraints = [LinearConstraint(sparse.hstack([choices.one_each(), no_positions], "csr"), 1, 1)]
    if clusters:
        rows = cluster_rows(choices, clusters)
        rows = sparse.hstack([rows, sparse.csr_matrix((len(clusters), n))], "csr")
        constraints.append(LinearConstraint(rows, 1, np.inf))
    constraints.append(LinearConstraint(_position_rows(choices), 1 - n, np.inf))
    return milp(
        np.concatenate([choices.cost, np.zeros(n)]),
        constraints=constraints,
        integrality=np.concatenate([np.ones(n_choices), np.zeros(n)]),
        bounds=Bounds(0, np.concatenate([np.ones(n_choices), np.full(n, n - 1)])),
        options={"mip_rel_gap": 1e-9, **({} if np.isinf(max_seconds) else {"time_limit": max_seconds})},
    )


def _position_rows(choices: Choices) -> Any:
    """Return the rows position(child) - position(parent) - n * edge, at least 1 - n, for every possible edge."""
    n, n_choices = choices.n_variables, len(choices.child)
    columns, parents = np.nonzero(choices.members)
    pairs, rows = np.unique(choices.child[columns] * n + parents, return_inverse=True)
    numbers = np.arange(len(pairs))
    return sparse.csr_matrix(
        (
            np.concatenate([np.full(len(columns), -float(n)), np.ones(len(pairs)), -np.ones(len(pairs))]),
            (
                np.concatenate([rows, numbers, numbers]),
                np.concatenate([columns, n_choices + pairs // n, n_choices + pairs % n]),
            ),
        ),
        shape=(len(pairs), n_choices + n),
    )
