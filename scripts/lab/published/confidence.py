"""Calibration of the confidence in edges: frequencies among networks, and posterior probabilities.

The pairs of columns of networks with a known truth, directions ignored. A confidence of .7 is calibrated if seven of
ten such pairs have an edge.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gomea_bn.learning.ensemble import BayesNetEnsemble
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.simulation.random_networks import random_network
from lab.published.algorithms import learning_seed
from lab.published.mgcd import gaussian_sample, random_truth
from lab.published.tables import published_network
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import Figure, Panel, Report, Series, Sheet, group_by
from lab.runner.runs import timed
from lab.samples.structural_laws import LAWS

POSTERIOR, POSTERIOR_BINS, POSTERIOR_DRAWN = "posterior", "posterior-bins", "posterior-drawn"
METHODS = ("subsample", POSTERIOR_BINS, POSTERIOR, POSTERIOR_DRAWN, "bootstrap")
RANDOM = {"random-8": 8, "random-20": 20}
"""Number of columns of the random networks by variant."""
MGCD = "mgcd"
DISCRETE = ("asia", "child", "alarm")
VARIANTS = (*RANDOM, MGCD, *DISCRETE, "nonlinear", "mixed", "products", "post-nonlinear")
"""Networks, and laws of `structural_laws.py`, whose columns follow curves."""
N_MEMBERS = 8
N_BINS = 10
MOST_SWEEPS = 1_000
"""Largest number of sweeps of a chain, for networks of more than 15 columns."""
MOST_DRAWN_SWEEPS = 2_000
"""Largest number of sweeps of a chain that also draws bins, after every twentieth."""
MEASURES = ("ECE", "AUC", "Brier")


def calibration_error(confidence: ArrayLike, is_true: ArrayLike) -> float:
    """Return the mean distance between confidence and share of true pairs, in ten bins weighted by pairs (ECE)."""
    values, truths = np.asarray(confidence, np.float64), np.asarray(is_true, np.float64)
    bins = np.minimum((values * N_BINS).astype(np.int64), N_BINS - 1)
    return float(np.abs(np.bincount(bins, values - truths)).sum() / len(values))


def area_under_curve(of_true: ArrayLike, of_false: ArrayLike) -> float:
    """Return the probability that a true pair has a higher confidence than a false one; ties count half (AUC)."""
    difference = np.subtract.outer(np.asarray(of_true), np.asarray(of_false))
    return float((difference > 0).mean() + (difference == 0).mean() / 2)


def edges_and_rows(variant: str, n_rows: int, net: int) -> tuple[list[tuple[str, str]], pd.DataFrame]:
    """Return the edges of the generating network or law of a variant, and rows of it."""
    seed = 10_000 + net
    if variant in LAWS:
        sample = LAWS[variant](n_rows, seed)
        return sample.edges, sample.frame
    if variant == MGCD:
        truth = random_truth(net)
        return truth.edges, gaussian_sample(truth, n_rows, seed)
    truth = (
        random_network(RANDOM[variant], random_state=net) if variant in RANDOM else published_network(variant)
    )
    return truth.edges, truth.sample(n_rows, random_state=seed)


def tasks(plan: Plan) -> list[Task]:
    """Return one task per network, number of rows and method; discrete tables have no bins to vary."""
    return [
        task
        for task in plan.tasks("network", "rows", "method")
        if not (task["network"] in DISCRETE and task["method"] in (POSTERIOR_BINS, POSTERIOR_DRAWN))
    ]


def measure(task: Task) -> Measured:
    """Return the confidences in the pairs with an edge and in all others."""
    net = task["net"]
    true_edges, frame = edges_and_rows(task["network"], task["rows"], net)
    frame = frame[[name for name in frame.columns if frame[name].nunique() > 1]]
    confidences, seconds = timed(_confidences, task, frame)
    edges = {frozenset(edge) for edge in true_edges}
    values: dict[str, list[float]] = {"true": [], "false": []}
    known = _of_pairs(confidences)
    for pair in itertools.combinations(frame.columns, 2):
        kind = "true" if frozenset(pair) in edges else "false"
        # rounding of sums must not leave the range
        values[kind].append(round(min(max(known.get(frozenset(pair), 0.0), 0.0), 1.0), 6))
    return Measured(values, {"confidence": seconds})


def _confidences(task: Task, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the confidence of a method in every edge."""
    method = task["method"]
    seed = learning_seed(task["net"])
    learner = BayesNetLearner(
        scoring_method="bdeu" if task["network"] in DISCRETE else None,
        max_seconds=task["seconds"],
        max_evaluations=task["evaluations"],
        random_state=seed,
        density="bins",
    )
    # sweeps end chains, not the clock, so that rows repeat
    sampling: dict[str, Any] = {"random_state": seed, "max_seconds": None, "n_sweeps": MOST_SWEEPS}
    if method == POSTERIOR:
        return learner.fit(frame).edge_probabilities(**sampling).to_frame()
    if method == POSTERIOR_DRAWN:
        sampling |= {"bins": "drawn", "n_sweeps": MOST_DRAWN_SWEEPS}
        return learner.fit(frame).edge_probabilities(**sampling).to_frame()
    ensemble = _ensemble(learner, frame, "subsample" if method == POSTERIOR_BINS else method, task)
    if method == POSTERIOR_BINS:
        return ensemble.edge_probabilities(**sampling).to_frame()
    return ensemble.edge_frequency()


# the last ensemble and what it was learned from: two methods in a row ask for the same one
_last_ensemble: list[tuple[Task, BayesNetEnsemble]] = []


def _ensemble(learner: BayesNetLearner, frame: pd.DataFrame, resampling: str, task: Task) -> BayesNetEnsemble:
    """Return an ensemble of the networks of a task."""
    key = {**task, "method": resampling}
    if _last_ensemble and _last_ensemble[0][0] == key:
        return _last_ensemble[0][1]
    ensemble = BayesNetEnsemble(
        learner, n_networks=N_MEMBERS, resampling=resampling, random_state=learner.random_state
    ).fit(frame)
    _last_ensemble[:] = [(key, ensemble)]
    return ensemble


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
    has_laws = any(network in LAWS for (network,) in group_by(rows, "network"))
    notes = (NOTE, NOTE_OF_LAWS) if has_laws else (NOTE,)
    return Report(tuple(sheets), (Figure("confidence", caption, tuple(panels), 2),), (), notes)


def _series(cells: dict[tuple[int, str], dict[str, float]], name: str) -> tuple[Series, ...]:
    """Return one line per method of a measure by the number of rows."""
    series = []
    for method in dict.fromkeys(method for _, method in cells):
        sizes = tuple(sorted(size for size, other in cells if other == method))
        series.append(Series(method, sizes, tuple(cells[size, method][name] for size in sizes)))
    return tuple(series)


NOTE = (
    "Pairs of columns, directions ignored, of all networks of a kind together. Frequencies are those among "
    f"{N_MEMBERS} networks, each learned from a subsample or a bootstrap resample of the rows. The posterior "
    "is that of `edge_probabilities` over the bins of the learned network. posterior-bins is the mean over "
    f"the bins of the {N_MEMBERS} networks from subsamples, each from all rows; discrete tables have one set of "
    f"bins. posterior-drawn draws bins and graphs together, by four chains of at most {MOST_DRAWN_SWEEPS:,} sweeps. "
    f"Beyond 15 columns the other posteriors are sampled by four chains of at most {MOST_SWEEPS:,} sweeps. "
    f"Random networks have uniform values in every bin; those of {MGCD} have 10 to 30 columns and a normal "
    "distribution in every interval. ECE: mean distance between confidence and share of true pairs in ten bins."
)

NOTE_OF_LAWS = "Laws are those of `scripts/lab shapes-skeletons`: ten columns that follow curves or logits."


EXPERIMENTS = (
    Experiment(
        name="confidence",
        title="Calibration of the confidence in edges",
        source="No publication: random networks of 8 and 20 columns and discrete networks, whose edges are known.",
        plan=Plan(3, (400,), METHODS, ("random-8", "random-20", "asia"), None, 10_000),
        full=Plan(10, (200, 400, 800, 1_600, 3_200), METHODS, VARIANTS, 10.0),
        tasks=tasks,
        measure=measure,
        report=report,
        least_size=10,
        prepare=compile_kernels,
    ),
)
