"""Distances of a learned network to the true one, and measures that need no true network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.sources import Rows, source_frame
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, check_integer, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.bin_distributions import unshared_points
from gomea_bn.network.edges import cpdag
from gomea_bn.network.graph import topological_order
from gomea_bn.problems.cuts.policies import equal_width_cuts
from gomea_bn.texts import listed

__all__ = [
    "Estimate",
    "accuracy",
    "cpdag",
    "cpdag_tpr_fpr",
    "held_out_log_density",
    "histogram_baseline",
    "kl_divergence",
    "sensitivity",
    "shd",
]

Graph: TypeAlias = DiscretizedBayesNet | Iterable[tuple[str, str]]


class Estimate(NamedTuple):
    """A mean over rows and its standard error, both in nats per row; `float` takes the mean."""

    mean: float
    standard_error: float

    def __float__(self) -> float:
        return self.mean


def accuracy(truth: Graph, learned: Graph, names: Sequence[str] | None = None) -> float:
    """Return the share of variable pairs on whose adjacency both graphs agree, directions ignored.

    This is (TP + TN) / (N (N - 1) / 2), as in Ha et al. ("Learning discretized Bayesian networks with GOMEA", 2024).

    Parameters
    ----------
    truth, learned : DiscretizedBayesNet or iterable of (parent, child)
        The graphs.
    names : sequence of str, optional
        Names of all variables; needed only if neither graph is a network.

    Returns
    -------
    float
        Share from 0 to 1; nan for a single variable, which has no pairs.

    Raises
    ------
    GomeaBnError
        If the variables differ or are unknown, or a graph has a cycle.

    Examples
    --------
    >>> accuracy([("a", "b")], [("b", "a"), ("b", "c")], names=["a", "b", "c"])
    0.6666666666666666
    """
    true_pairs, learned_pairs = _skeleton_pairs(truth, learned, names)
    if not true_pairs.size:
        return math.nan
    return float((true_pairs == learned_pairs).mean())


def sensitivity(truth: Graph, learned: Graph, names: Sequence[str] | None = None) -> float:
    """Return the share of the true graph's adjacencies that the learned graph has, directions ignored.

    This is TP / number of true edges, as in Ha et al. (2024); nan if the true graph has no edges. Parameters and errors
    are those of `accuracy`.

    Examples
    --------
    >>> sensitivity([("a", "b")], [("b", "a"), ("b", "c")], names=["a", "b", "c"])
    1.0
    """
    true_pairs, learned_pairs = _skeleton_pairs(truth, learned, names)
    if not true_pairs.any():
        return math.nan
    return float(learned_pairs[true_pairs].mean())


def shd(truth: Graph, learned: Graph, names: Sequence[str] | None = None) -> int:
    """Return the structural Hamming distance between the two graphs' CPDAGs.

    Every pair of variables with a different mark (none, -, ->, <-) counts 1. A reversed, an undirected and a missing
    edge therefore cost the same, and Markov-equivalent graphs have distance 0 (Tsamardinos, Brown & Aliferis, "The
    max-min hill-climbing Bayesian network structure learning algorithm", 2006). Parameters and errors are those of
    `accuracy`.

    Examples
    --------
    >>> shd([("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")], names=["a", "b", "c"])
    0
    """
    true_marks, learned_marks = _cpdags(truth, learned, names)
    differs = true_marks != learned_marks
    return int(np.triu(differs | differs.T).sum())


def cpdag_tpr_fpr(truth: Graph, learned: Graph, names: Sequence[str] | None = None) -> tuple[float, float]:
    """Return the true and the false positive rate of the arcs of the learned CPDAG.

    Both CPDAGs are sets of arcs over the N (N - 1) ordered pairs; an undirected edge is two arcs. TPR is the number of
    common arcs by the number of arcs of the true CPDAG. FPR is the number of arcs in the learned CPDAG only by the
    number of ordered pairs without an arc in the true CPDAG. A reversed edge costs one missed and one false arc, an
    edge that should be directed one false arc, and an edge that should be undirected one missed arc.

    A rate with denominator 0 is nan. Parameters and errors are those of `accuracy`.

    Examples
    --------
    >>> cpdag_tpr_fpr([("a", "c"), ("b", "c")], [("a", "c"), ("c", "b")], names=["a", "b", "c"])
    (1.0, 0.5)
    """
    true_marks, learned_marks = _cpdags(truth, learned, names)
    off_diagonal = ~np.eye(len(true_marks), dtype=bool)
    is_true = true_marks[off_diagonal] != 0
    is_learned = learned_marks[off_diagonal] != 0
    tpr = float(is_learned[is_true].mean()) if is_true.any() else math.nan
    fpr = float(is_learned[~is_true].mean()) if not is_true.all() else math.nan
    return tpr, fpr


def kl_divergence(
    truth: DiscretizedBayesNet,
    learned: DiscretizedBayesNet,
    n_rows: int = 50_000,
    random_state: int | np.random.Generator | None = None,
) -> Estimate:
    """Return an estimate of KL(truth || learned) in nats per row, with its standard error.

    Parameters
    ----------
    truth, learned : DiscretizedBayesNet
        Networks over the same variables, in the same units.
    n_rows : int
        Number of rows drawn from the true network, at least 2.
    random_state : int, numpy.random.Generator or None
        Seed of these rows.

    Returns
    -------
    Estimate
        Mean and standard error. The mean may fall slightly below 0 for networks that are close.

    Raises
    ------
    GomeaBnError
        If the variables differ, or the divergence is not finite.

    Notes
    -----
    The estimate is the mean of `truth.log_density(row) - learned.log_density(row)` over rows drawn from the true
    network. It is finite if no cell of the learned tables is 0, as with a `pseudo_count` above 0. A value outside the
    support of the learned network has the density of the nearest end bin, so that the learned density integrates to a
    little more than 1. The estimate is too low by at most the log of that integral, which is small: the range of n rows
    misses about 2 / n of the probability.

    Variables may have different distributions inside the bins of the two networks. The divergence is infinite if the
    true network has a point mass that the learned network lacks.
    """
    check_integer("n_rows", n_rows, 2)
    _common_names(truth, learned, None)
    if points := unshared_points(truth.shapes, learned.shapes):
        name, value = points[0]
        remedy = ["make the variable discrete by its kind"]
        if name not in learned.shapes:
            remedy.insert(0, "learn it with shape='auto'")
        raise GomeaBnError(
            f"The divergence is not finite: variable {name!r} has a point mass at {value:g} in the true network, but "
            "none in the learned one.",
            remedy,
        )
    # rounded values have another density
    frame = truth.sample(n_rows, random_state=random_state, values="numbers")
    surplus = truth.log_density(frame) - learned.log_density(frame)
    n_bad = int((~np.isfinite(surplus)).sum())
    if n_bad:
        raise GomeaBnError(
            f"The divergence is not finite: {n_bad} of {n_rows} rows drawn from the true network have density 0 in the "
            "learned network. Learn its tables with a pseudo_count above 0."
        )
    return _estimate(surplus)


def held_out_log_density(network: DiscretizedBayesNet, frame: Rows) -> Estimate:
    """Return the mean log density of held-out rows under a network, with its standard error, in nats per row.

    No true network is needed. Densities are in the original units of the data, so that only values for the same table
    can be compared. A point mass counts with its probability, so that networks must have the same ones. A row of
    probability 0, which smoothing excludes, makes the result (-inf, nan).

    Parameters
    ----------
    network : DiscretizedBayesNet
        Network over the columns of the frame.
    frame : DataFrame of shape (n_rows, n_variables), Table, path, or other table
        Rows that the network was not learned from; at least 2.
    """
    if not isinstance(network, DiscretizedBayesNet):
        raise GomeaBnError(f"network must be a DiscretizedBayesNet, got {type(network).__name__}.")
    frame = source_frame(frame)
    if len(frame) < 2:
        raise GomeaBnError(f"frame must have at least 2 rows, got {len(frame)}.")
    return _estimate(network.log_density(frame))


def histogram_baseline(table: Table, n_bins: int = 10, pseudo_count: float = 1.0) -> DiscretizedBayesNet:
    """Return a network without edges, with an equal-width histogram of every continuous column.

    It is a baseline for learned networks. Discrete columns have the shares of their levels. Values are uniform inside
    the bins.

    Parameters
    ----------
    table : Table
        Training rows.
    n_bins : int
        Number of bins of every continuous column, at least 1. There are fewer if the range has too few float64 values.
    pseudo_count : float
        Number of pseudo-counts per histogram, spread evenly over its bins.

    Raises
    ------
    GomeaBnError
        For missing values, and if `n_bins` is not a number of bins.
    """
    check_integer("n_bins", n_bins, 1)
    table.require_complete("histogram_baseline")
    continuous = [column for column in table.columns if column.is_continuous]
    cut_points = {column.name: equal_width_cuts(column.values, n_bins) for column in continuous}
    return DiscretizedBayesNet.from_table(table, [], cut_points, pseudo_count=pseudo_count)


def _estimate(values: NDArray[np.float64]) -> Estimate:
    """Return the mean of independent values and its standard error; (-inf, nan) if a value is -inf."""
    if not np.isfinite(values).all():
        return Estimate(-math.inf, math.nan)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size)))


def _common_names(truth: Graph, learned: Graph, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the variables of both graphs; raise if they differ or are unknown."""
    sets = [tuple(graph.names) for graph in (truth, learned) if isinstance(graph, DiscretizedBayesNet)]
    if names is not None:
        sets.append(tuple(names))
    if not sets:
        raise GomeaBnError(
            "names=[...] is needed, because two lists of edges do not determine the variables."
        )
    for other in sets[1:]:
        if only_one := sorted(set(other) ^ set(sets[0])):
            raise GomeaBnError(f"Both graphs must have the same variables; only one has {listed(only_one)}.")
    return sets[0]


def _adjacencies(
    truth: Graph, learned: Graph, names: Sequence[str] | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return both adjacency matrices over one order of the variables."""
    common = _common_names(truth, learned, names)
    position = {name: i for i, name in enumerate(common)}
    result = []
    for graph in (truth, learned):
        edges = graph.edges if isinstance(graph, DiscretizedBayesNet) else graph
        adjacency = np.zeros((len(common), len(common)), dtype=bool)
        for edge in edges:
            for name in edge:
                if name not in position:
                    raise GomeaBnError(
                        f"Edge {edge!r}: unknown variable {name!r}.{nearest(str(name), common)}"
                    )
            adjacency[position[edge[0]], position[edge[1]]] = True
        # raises for a cycle
        topological_order([np.flatnonzero(of_child).tolist() for of_child in adjacency.T], common)
        result.append(adjacency)
    return result[0], result[1]


def _skeleton_pairs(
    truth: Graph, learned: Graph, names: Sequence[str] | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for both graphs which unordered pairs are adjacent, shape (N (N - 1) / 2,)."""
    true_edges, learned_edges = _adjacencies(truth, learned, names)
    upper = np.triu_indices(len(true_edges), 1)
    return (true_edges | true_edges.T)[upper], (learned_edges | learned_edges.T)[upper]


def _cpdags(
    truth: Graph, learned: Graph, names: Sequence[str] | None
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return both CPDAGs over one order of the variables."""
    true_edges, learned_edges = _adjacencies(truth, learned, names)
    return cpdag(true_edges), cpdag(learned_edges)
