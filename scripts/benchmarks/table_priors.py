"""Priors of probability tables: the skeletons and densities that greedy search finds with each of them, on equal bins.

    python scripts/benchmarks/table_priors.py [--laws nonlinear bells mixed] [--rows 200 500 2000] [--graphs 10]

The learner finds the bins of every sample (see structural_laws.py). Hill climbing over single edges then starts from
the empty graph and from the learner's graph, and the better result counts. It maximises the sum of family scores, minus
ln(N - 1) for every edge among N columns unless the method says otherwise. The scores are:

uniform cells    Dirichlet prior of 1 for every cell, the learner's score.
own frequencies  Dirichlet prior of r f_k for r cells, where f_k is the share of cell k in the whole column.
BDeu(s)          Dirichlet prior of s / (q r) for q configurations of the parents.
BDs(s)           the same, with the number of configurations that occur as q (Scutari, PGM 2016).
qNML             quotient normalised maximum likelihood (Silander et al., AISTATS 2018), with the approximation of
                 Szpankowski and Weinberger (IEEE Transactions on Information Theory 58, 2012) to the regret.

Printed are the F1 of the skeleton, the log density of new rows minus that of "uniform cells" in nats a row, and the
number of edges. All networks have the learner's tables, so that the graph alone makes the difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log, prod, sqrt
from typing import Any

import numpy as np
from harness.printing import mean_difference, print_table, with_error
from harness.runs import run_tasks, warm_up
from harness.structural_laws import LAWS, Sample
from numpy.typing import NDArray
from parts.skeletons import f1_of_skeleton
from scipy.special import gammaln

from gomea_bn import BayesNetLearner, DiscretizedBayesNet

__all__ = ["PRIORS", "GreedySearch", "TablePrior"]

Counts = NDArray[np.int64]
"""Rows by configuration of the parents that occurs and by bin of the child, (n_observed, n_bins)."""
FamilyScore = Callable[[Counts, float], float]
"""Score in nats of counts and of the number of configurations that are possible."""
ParentGraph = tuple[frozenset[int], ...]
Change = tuple[tuple[int, frozenset[int]], ...]
"""Columns with their new parents."""

MAX_PARENTS = 5
TEST_ROWS = 10_000
LEAST_GAIN = 1e-9
LEAST_PRIOR = 1e-6


@dataclass(frozen=True)
class TablePrior:
    """A family score, and the cost of an edge as a share of ln(N - 1) among N columns."""

    score: FamilyScore
    edge_cost: float = 1.0


def dirichlet(counts: Counts, prior: NDArray[np.float64]) -> float:
    """Return the log marginal likelihood of counts in nats if every row has the same Dirichlet prior, (n_bins,)."""
    cells = gammaln(prior + counts) - gammaln(prior)
    totals = gammaln(prior.sum()) - gammaln(prior.sum() + counts.sum(axis=1))
    return float(cells.sum() + totals.sum())


def uniform_cells(counts: Counts, n_configurations: float) -> float:
    """Return the score under a prior of 1 for every cell."""
    return dirichlet(counts, np.ones(counts.shape[1]))


def own_frequencies(counts: Counts, n_configurations: float) -> float:
    """Return the score under a prior in proportion to the frequencies of the child, 1 a cell on average."""
    shares = counts.sum(axis=0) / counts.sum()
    return dirichlet(counts, np.maximum(shares * counts.shape[1], LEAST_PRIOR))


def bdeu(counts: Counts, n_configurations: float, size: float) -> float:
    """Return the BDeu score for an equivalent sample size."""
    n_bins = counts.shape[1]
    return dirichlet(counts, np.full(n_bins, size / (n_configurations * n_bins)))


def bds(counts: Counts, n_configurations: float, size: float) -> float:
    """Return the BDs score for an equivalent sample size."""
    return bdeu(counts, float(len(counts)), size)


def qnml(counts: Counts, n_configurations: float) -> float:
    """Return the score by quotient normalised maximum likelihood."""
    totals = counts.sum(axis=1, keepdims=True)
    likelihood = float((counts * np.log(np.where(counts > 0, counts / totals, 1.0))).sum())
    n_rows = int(counts.sum())
    return likelihood - regret(n_rows, n_configurations * counts.shape[1]) + regret(n_rows, n_configurations)


def regret(n_rows: int, n_cells: float) -> float:
    """Return the approximate regret of a multinomial distribution in nats."""
    if n_cells <= 1:
        return 0.0
    ratio = n_cells / n_rows
    growth = 0.5 + 0.5 * sqrt(1 + 4 / ratio)
    return n_rows * (log(ratio) + (ratio + 2) * log(growth) - 1 / growth) - 0.5 * log(growth + 2 / ratio)


PRIORS: dict[str, TablePrior] = {
    "uniform cells": TablePrior(uniform_cells),
    "uniform cells, half the edge cost": TablePrior(uniform_cells, 0.5),
    "uniform cells, no edge cost": TablePrior(uniform_cells, 0.0),
    "own frequencies": TablePrior(own_frequencies),
    "own frequencies, no edge cost": TablePrior(own_frequencies, 0.0),
    "BDeu(1)": TablePrior(partial(bdeu, size=1.0)),
    "BDeu(10)": TablePrior(partial(bdeu, size=10.0)),
    "BDs(1)": TablePrior(partial(bds, size=1.0)),
    "BDs(10)": TablePrior(partial(bds, size=10.0)),
    "BDs(10), no edge cost": TablePrior(partial(bds, size=10.0), 0.0),
    "qNML": TablePrior(qnml),
    "qNML, no edge cost": TablePrior(qnml, 0.0),
}


class GreedySearch:
    """Hill climbing over single edges: additions, removals and reversals.

    Parameters
    ----------
    codes : ndarray of shape (n_columns, n_rows), int64
    n_bins : ndarray of shape (n_columns,), int64
    prior : TablePrior
    """

    def __init__(self, codes: NDArray[np.int64], n_bins: NDArray[np.int64], prior: TablePrior) -> None:
        self._codes, self._n_bins, self._prior = codes, n_bins, prior
        self._scores: dict[tuple[int, frozenset[int]], float] = {}

    def best(self, starts: list[ParentGraph]) -> ParentGraph:
        """Return the graph with the greatest score among those that climbing reaches from the starts."""
        graphs = [self._climbed(start) for start in starts]
        return max(graphs, key=lambda graph: sum(self.family_score(v, of_v) for v, of_v in enumerate(graph)))

    def family_score(self, child: int, parents: frozenset[int]) -> float:
        """Return the score of a family in nats, with the cost of its edges."""
        key = child, parents
        if key not in self._scores:
            configurations = np.zeros(self._codes.shape[1], np.int64)
            for parent in sorted(parents):
                configurations = configurations * self._n_bins[parent] + self._codes[parent]
            _, observed = np.unique(configurations, return_inverse=True)
            shape = (int(observed.max()) + 1, int(self._n_bins[child]))
            counts = np.bincount(observed * shape[1] + self._codes[child], minlength=shape[0] * shape[1])
            n_configurations = prod(float(self._n_bins[parent]) for parent in parents)
            charge = self._prior.edge_cost * log(len(self._codes) - 1) * len(parents)
            self._scores[key] = self._prior.score(counts.reshape(shape), n_configurations) - charge
        return self._scores[key]

    def _climbed(self, graph: ParentGraph) -> ParentGraph:
        while True:
            changes = [
                (gain, change)
                for change in _changes(graph)
                if (gain := self._gain(graph, change)) > LEAST_GAIN and is_acyclic(_changed(graph, change))
            ]
            if not changes:
                return graph
            graph = _changed(graph, max(changes, key=lambda pair: pair[0])[1])

    def _gain(self, graph: ParentGraph, change: Change) -> float:
        return sum(self.family_score(v, new) - self.family_score(v, graph[v]) for v, new in change)


def _changes(graph: ParentGraph) -> list[Change]:
    """Return all additions, removals and reversals of one edge, cycles included."""
    changes: list[Change] = []
    for child, parents in enumerate(graph):
        for parent in range(len(graph)):
            if parent == child:
                continue
            if parent not in parents:
                if len(parents) < MAX_PARENTS:
                    changes.append(((child, parents | {parent}),))
                continue
            removal = (child, parents - {parent})
            changes.append((removal,))
            if len(graph[parent]) < MAX_PARENTS:
                changes.append((removal, (parent, graph[parent] | {child})))
    return changes


def _changed(graph: ParentGraph, change: Change) -> ParentGraph:
    parents = list(graph)
    for v, new in change:
        parents[v] = new
    return tuple(parents)


def is_acyclic(graph: ParentGraph) -> bool:
    """Return whether a graph, given by the parents of every column, has no directed cycle."""
    left = set(range(len(graph)))
    while left:
        roots = {v for v in left if not graph[v] & left}
        if not roots:
            return False
        left -= roots
    return True


def compared(task: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return F1, log density of new rows and number of edges for every prior on one sample."""
    warm_up({})
    sample = LAWS[task["law"]](task["rows"] + TEST_ROWS, task["graph"])
    train, test = sample.frame.iloc[: task["rows"]], sample.frame.iloc[task["rows"] :]
    learner = BayesNetLearner(
        density="bins", kinds=sample.kinds, max_seconds=task["seconds"], n_jobs=1, random_state=task["graph"]
    ).fit(train)
    network = learner.network_
    test = _inside(test, network)
    codes = network.discretize(train).to_numpy(np.int64).T
    n_bins = np.array([network.cardinality(name) for name in network.names])
    positions = {name: position for position, name in enumerate(network.names)}
    learned = tuple(frozenset(positions[p] for p in network.parents(name)) for name in network.names)
    starts: list[ParentGraph] = [(frozenset(),) * len(learned), learned]
    results = {}
    for label, prior in PRIORS.items():
        graph = GreedySearch(codes, n_bins, prior).best(starts)
        edges = [(network.names[p], network.names[v]) for v, parents in enumerate(graph) for p in parents]
        results[label] = _judged(learner, edges, sample, test)
    return results


def _inside(test: Any, network: DiscretizedBayesNet) -> Any:
    """Return a frame whose values are moved into the support of the network."""
    return test.assign(**{name: test[name].clip(*ends) for name, ends in network.support.items()})


def _judged(
    learner: BayesNetLearner, edges: list[tuple[str, str]], sample: Sample, test: Any
) -> dict[str, float]:
    """Return what a graph with the learner's bins reaches on one sample."""
    network = learner.network_
    changed = DiscretizedBayesNet.from_table(
        learner.table_,
        edges,
        network.cut_points,
        pseudo_count=learner.pseudo_count,
        shapes=network.shapes,
    )
    return {
        "f1": f1_of_skeleton(sample.edges, edges),
        "density": changed.score(test),
        "edges": float(len(edges)),
    }


def main() -> None:
    """Print one table per law and number of rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--laws", nargs="+", choices=sorted(LAWS), default=list(LAWS), help="laws of the rows"
    )
    parser.add_argument("--rows", nargs="+", type=int, default=[200, 500, 2000])
    parser.add_argument("--graphs", type=int, default=10, help="number of random graphs")
    # other graphs than those of shapes.py, which compares libraries
    parser.add_argument("--first-seed", type=int, default=200, help="seed of the first graph")
    parser.add_argument("--seconds", type=float, default=2.0, help="deadline of the learner")
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    options = parser.parse_args()
    warm_up({})
    graphs = range(options.first_seed, options.first_seed + options.graphs)
    for law in options.laws:
        for n_rows in options.rows:
            tasks = [
                {"law": law, "rows": n_rows, "graph": graph, "seconds": options.seconds} for graph in graphs
            ]
            results = run_tasks(compared, tasks, options.workers)
            rows = []
            for label in PRIORS:
                of_label = [result[label] for result in results]
                default = [result["uniform cells"]["density"] for result in results]
                change = mean_difference([result["density"] for result in of_label], default)
                rows.append(
                    [
                        label,
                        with_error([result["f1"] for result in of_label], 3),
                        "{:+.3f} [{:+.3f}, {:+.3f}]".format(*change),
                        f"{np.mean([result['edges'] for result in of_label]):.1f}",
                    ]
                )
            heading = f"Law {law!r}, {n_rows:,} rows, graphs of seeds {graphs.start} to {graphs.stop - 1}"
            print_table(heading, ("prior", "F1 of the skeleton", "density", "edges"), rows)


if __name__ == "__main__":
    main()
