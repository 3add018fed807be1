"""Calibration of the confidence in edges: frequencies among networks, and posterior probabilities.

The pairs of columns of networks with a known truth, directions ignored. A confidence of .7 is calibrated if seven of
ten such pairs have an edge.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gomea_bn.experiments.algorithms import compile_search, learning_seed
from gomea_bn.experiments.runner.experiment import Experiment, Measured, Plan, Row, Task
from gomea_bn.experiments.runner.report import Figure, Panel, Report, Series, Sheet, group_by
from gomea_bn.experiments.tables import published_network
from gomea_bn.network.bayes_net import DiscretizedBayesNet

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "area_under_curve", "calibration_error"]

METHODS = ("subsample", "bootstrap", "posterior")
RANDOM = {"random-8": 8, "random-20": 20}
"""Number of columns of the random networks by variant."""
VARIANTS = (*RANDOM, "asia", "child", "alarm")
N_MEMBERS = 8
N_BINS = 10
MEASURES = ("ECE", "AUC", "Brier")


def calibration_error(confidence: ArrayLike, is_true: ArrayLike) -> float:
    """Return the mean distance between confidence and share of true pairs, in ten bins weighted by pairs (ECE).

    Parameters
    ----------
    confidence : array_like of float, shape (n_pairs,)
        From 0 to 1.
    is_true : array_like of bool, shape (n_pairs,)
    """
    values, truths = np.asarray(confidence, np.float64), np.asarray(is_true, np.float64)
    bins = np.minimum((values * N_BINS).astype(np.int64), N_BINS - 1)
    return float(np.abs(np.bincount(bins, values - truths)).sum() / len(values))


def area_under_curve(of_true: ArrayLike, of_false: ArrayLike) -> float:
    """Return the probability that a true pair has a higher confidence than a false one; ties count half (AUC)."""
    difference = np.subtract.outer(np.asarray(of_true), np.asarray(of_false))
    return float((difference > 0).mean() + (difference == 0).mean() / 2)


def truth_of(variant: str, net: int) -> DiscretizedBayesNet:
    """Return the generating network of a variant."""
    from gomea_bn.simulation.random_networks import random_network

    if variant in RANDOM:
        return random_network(RANDOM[variant], random_state=net)
    return published_network(variant)


def measure(task: Task) -> Measured:
    """Return the confidences in the pairs with an edge and in all others."""
    from gomea_bn.learning.ensemble import BayesNetEnsemble
    from gomea_bn.learning.learner import BayesNetLearner

    net = task["net"]
    truth = truth_of(task["network"], net)
    frame = truth.sample(task["rows"], random_state=10_000 + net)
    frame = frame[[name for name in truth.names if frame[name].nunique() > 1]]
    learner = BayesNetLearner(
        scoring_method=None if task["network"] in RANDOM else "bdeu",
        max_seconds=task["seconds"],
        max_evaluations=task["evaluations"],
        random_state=learning_seed(net),
    )
    began = perf_counter()
    if task["method"] == "posterior":
        confidences = learner.fit(frame).edge_probabilities(random_state=learning_seed(net)).to_frame()
    else:
        ensemble = BayesNetEnsemble(
            learner, n_networks=N_MEMBERS, resampling=task["method"], random_state=learning_seed(net)
        )
        confidences = ensemble.fit(frame).edge_frequency()
    seconds = perf_counter() - began
    edges = {frozenset(edge) for edge in truth.edges}
    values: dict[str, list[float]] = {"true": [], "false": []}
    known = _of_pairs(confidences)
    for pair in itertools.combinations(frame.columns, 2):
        kind = "true" if frozenset(pair) in edges else "false"
        # rounding of sums must not leave the range
        values[kind].append(round(min(max(known.get(frozenset(pair), 0.0), 0.0), 1.0), 6))
    return Measured(values, {"confidence": seconds})


def _of_pairs(frame: pd.DataFrame) -> dict[frozenset[str], float]:
    """Return the column `adjacent` by pair."""
    return {
        frozenset((str(parent), str(child))): float(adjacent)
        for parent, child, adjacent in frame[["parent", "child", "adjacent"]].to_numpy().tolist()
    }


def quality(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the measures of the pairs of several rows together; without true or false pairs there are none."""
    of_true = [value for row in rows for value in row["measured"]["true"]]
    of_false = [value for row in rows for value in row["measured"]["false"]]
    if not of_true or not of_false:
        return {}
    confidence = np.array(of_true + of_false)
    is_true = np.arange(len(confidence)) < len(of_true)
    return {
        "ECE": calibration_error(confidence, is_true),
        "AUC": area_under_curve(of_true, of_false),
        "Brier": float(((confidence - is_true) ** 2).mean()),
        "true pairs": float(np.mean(of_true)),
        "false pairs": float(np.mean(of_false)),
    }


def report(_plan: Plan, rows: Sequence[Row]) -> Report:
    """Return the measures by network, rows and method."""
    sheets, panels = [], []
    for (network,), group in group_by(rows, "network").items():
        cells = {
            key: measures
            for key, cell in group_by(group, "rows", "method").items()
            if (measures := quality(cell))
        }
        names = (*MEASURES, "true pairs", "false pairs")
        lines = tuple(
            (str(size), method, *(f"{measures[name]:.3f}" for name in names))
            for (size, method), measures in cells.items()
        )
        note = "The last two columns are mean confidences."
        sheets.append(Sheet(f"Confidence in pairs, {network}", ("rows", "method", *names), lines, note))
        for name in MEASURES[:2]:
            panels.append(Panel(f"{name}, {network}", "rows", name, _series(cells, name), log_x=True))
    caption = "Calibration error (ECE) and area under the curve (AUC) of the confidence in pairs"
    return Report(tuple(sheets), (Figure("confidence", caption, tuple(panels), 2),), (), (NOTE,))


def _series(cells: dict[tuple[int, str], dict[str, float]], name: str) -> tuple[Series, ...]:
    """Return one line per method of a measure by the number of rows."""
    series = []
    for method in dict.fromkeys(method for _, method in cells):
        sizes = tuple(sorted(size for size, other in cells if other == method))
        series.append(Series(method, sizes, tuple(cells[size, method][name] for size in sizes)))
    return tuple(series)


NOTE = (
    "Pairs of columns, directions ignored, of all networks of a kind together. Frequencies are those among "
    f"{N_MEMBERS} networks, each learned from a subsample or a bootstrap resample of the rows. The posterior is of "
    "`edge_probabilities`, with the bins of the learned network. ECE: mean distance between confidence and share of "
    "true pairs in ten bins."
)


EXPERIMENTS = (
    Experiment(
        name="confidence",
        title="Calibration of the confidence in edges",
        source="No publication: random networks of 8 and 20 columns and discrete networks, whose edges are known.",
        plan=Plan(3, (400,), METHODS, ("random-8", "random-20", "asia"), None, 10_000),
        full=Plan(10, (200, 400, 800, 1_600, 3_200), METHODS, VARIANTS, 10.0),
        known_algorithms=METHODS,
        known_variants=VARIANTS,
        tasks=lambda plan: plan.tasks("network", "rows", "method"),
        measure=measure,
        report=report,
        least_size=10,
        prepare=compile_search,
    ),
)
