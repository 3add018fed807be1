"""The learners that the experiments compare, by the names of Ha et al."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.table import Table, read_table
from gomea_bn.discretization.bayesian.bayesian import LDBN
from gomea_bn.learning.cuts.refinement import compile_refinement_kernels
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems.cuts.policies import without_narrow_bins

FLOORS: dict[str, PseudoCount] = {"floor": 1.0, "floor-auto": "auto"}
"""Pseudo-counts of the floors by name. A floor is the true graph with the true bins, its tables counted from the same
rows: the result of a learner without errors. One floor has the published smoothing, the other that of the learner's
default."""

GOMEA_ALGORITHMS: dict[str, Callable[..., BayesNetLearner]] = {
    "EW": partial(BayesNetLearner.published, "EW"),
    "EF": partial(BayesNetLearner.published, "EF"),
    "EF-AIC": partial(BayesNetLearner.published, "EF", penalty="aic", pseudo_count=8.0),
    "BD": partial(BayesNetLearner.published, "BD"),
    "optimal": partial(BayesNetLearner.published, "EF", discretizer="optimal", pseudo_count="auto"),
    "default": partial(BayesNetLearner, density="bins"),
}
"""Functions that return a learner with further options, by name. Bins are uniform inside as published, and numbers of
bins and parents do not depend on the rows, except for the learner's default. EF-AIC is our setting for prediction."""

LEARNERS = ("EW", "EF", "EF-AIC", "BD", "LDBN", "optimal", "default")
"""Names of the learners in the order of tables."""

EVALUATIONS_PER_ORDER = 2_000
"""Number of evaluations that counts as one random order of LDBN, which evaluates no networks, if evaluations are
limited."""


@dataclass(frozen=True)
class Learned:
    """A learned network, its number of evaluations, the limit that ended it, and its seconds in all and to the best.

    LDBN draws orders of the variables: it has 0 evaluations, and its seconds to the best are None.
    """

    network: DiscretizedBayesNet
    n_eval: int
    stopped_by: str
    seconds: float
    time_to_best: float | None


def learning_seed(net: int) -> int:
    """Return the seed of a learner; seeds of networks and samples are smaller."""
    return 60_000 + net


def learn(name: str, frame: pd.DataFrame, limits: Mapping[str, Any], net: int, **options: Any) -> Learned:
    """Return what one of `LEARNERS` learns from rows on one core, under the limits of a task.

    `net` is the number of the network or sample; see `learning_seed`. Further options of `BayesNetLearner` take
    precedence over those of the name; LDBN ignores them.
    """
    if name == "LDBN":
        n_orders = 50
        if limits["evaluations"] is not None:
            n_orders = min(n_orders, max(1, int(limits["evaluations"]) // EVALUATIONS_PER_ORDER))
        coupled = LDBN(max_seconds=limits["seconds"], n_restarts=n_orders, random_state=learning_seed(net))
        coupled.fit(frame)
        return Learned(coupled.network_, 0, coupled.stopped_by_, coupled.fit_seconds_, None)
    compile_kernels()
    learner = GOMEA_ALGORITHMS[name](
        **options,
        max_seconds=limits["seconds"],
        max_evaluations=limits["evaluations"],
        n_jobs=1,
        random_state=learning_seed(net),
    ).fit(frame)
    return Learned(
        learner.network_, learner.n_eval_, learner.stopped_by_, learner.fit_seconds_, learner.time_to_best_
    )


def compile_search_and_refinement(announce: Callable[[str], object]) -> float:
    """Compile the search and the methods of `refine_boundaries` that have kernels; returns the seconds."""
    seconds = compile_kernels(announce)
    for method in ("dp", "rv-gomea"):
        compile_refinement_kernels(method)
    return seconds


def true_fit(
    truth: DiscretizedBayesNet, frame: pd.DataFrame, pseudo_count: PseudoCount = 1.0
) -> DiscretizedBayesNet:
    """Return the true graph with the true bins, its tables counted from rows and smoothed."""
    kinds = {name: "continuous" if name in truth.cut_points else "discrete" for name in truth.names}
    table = read_table(frame, kinds=kinds)
    cuts = inside(truth.cut_points, table)
    return DiscretizedBayesNet.from_table(table, truth.edges, cuts, pseudo_count=pseudo_count)


def inside(cuts: Mapping[str, Any], table: Table) -> dict[str, NDArray[np.float64]]:
    """Return the cuts of every continuous column that lie strictly inside its range, increasing."""
    cuts_in_range = {}
    for name, (low, high) in _ranges(table).items():
        increasing = np.unique(np.asarray(cuts[name], np.float64))
        cuts_in_range[name] = increasing[(increasing > low) & (increasing < high)]
    return cuts_in_range


def wide_cuts(cuts: Any, table: Table, width: float) -> dict[str, Any]:
    """Return cuts that leave no bin narrower than a share of its column's range."""
    ranges = _ranges(table)
    return {name: without_narrow_bins(of_column, ranges[name], width) for name, of_column in cuts.items()}


def _ranges(table: Table) -> dict[str, tuple[float, float]]:
    return {c.name: (float(c.values.min()), float(c.values.max())) for c in table.columns if c.is_continuous}
