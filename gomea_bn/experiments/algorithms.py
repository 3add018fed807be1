"""The learners that are compared on random networks, by the names of Ha et al.: from rows to a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.smoothing import PseudoCount

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FLOORS", "GOMEA_ALGORITHMS", "Learned", "learn", "learners", "learning_seed", "true_fit"]

FLOORS: dict[str, PseudoCount] = {"floor": 1.0, "floor-auto": "auto"}
"""The true graph and the true bins with tables from the same rows: what the rows allow a learner that errs nowhere.
By name the smoothing: as the published setting has it, and as the learner's default lets the data choose it."""

GOMEA_ALGORITHMS: dict[str, dict[str, Any]] = {
    "EW": {"discretizer": "equal-width", "pseudo_count": 1.0},
    "EF": {"discretizer": "equal-frequency", "pseudo_count": 1.0},
    "EF-AIC": {"discretizer": "equal-frequency", "penalty": "aic", "pseudo_count": 8.0},
    "BD": {"discretizer": "bayesian", "pseudo_count": 1.0},
    "optimal": {"discretizer": "optimal"},
}
"""Options of `BayesNetLearner` by name. EF-AIC is our setting for prediction; "optimal" is the learner's default."""

EVALUATIONS_PER_ORDER = 2_000
"""How many evaluations stand for one random order of LDBN, which evaluates no networks, where these are the limit."""


@dataclass(frozen=True)
class Learned:
    """A learned network, its evaluations (0 where none are counted), its end, and seconds in all and to the best.

    LDBN, which draws orders of the variables, does not tell which of them was the best.
    """

    network: DiscretizedBayesNet
    n_eval: int
    stopped_by: str
    seconds: float
    time_to_best: float | None


def learners() -> tuple[str, ...]:
    """Return the names that this version can run, in the order of tables."""
    from gomea_bn.learning.learning_problem import LearningOptions

    found = []
    for name, options in GOMEA_ALGORITHMS.items():
        try:
            LearningOptions(discretizer=options["discretizer"])
        except GomeaBnError:
            continue
        found.append(name)
    found.insert(found.index("BD") + 1, "LDBN")
    return tuple(found)


def learning_seed(net: int) -> int:
    """Return the seed of a learner, which is never one of the networks' and samples' seeds."""
    return 60_000 + net


def learn(name: str, frame: pd.DataFrame, limits: Mapping[str, Any], net: int, **options: Any) -> Learned:
    """Return what one algorithm learns from rows on one core.

    Parameters
    ----------
    name : str
        One of `learners`.
    frame : DataFrame
    limits : mapping
        "seconds" and "evaluations", None for none; a task has both.
    net : int
        The task's; see `learning_seed`.
    options
        More of `BayesNetLearner`, before those of the name; LDBN takes none of them.
    """
    from gomea_bn.discretization.bayesian.ldbn import LDBN
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.warm_up import compile_kernels

    if name == "LDBN":
        n_orders = 50
        if limits["evaluations"] is not None:
            n_orders = min(n_orders, max(1, int(limits["evaluations"]) // EVALUATIONS_PER_ORDER))
        coupled = LDBN(max_seconds=limits["seconds"], n_restarts=n_orders, random_state=learning_seed(net))
        coupled.fit(frame)
        return Learned(coupled.network_, 0, coupled.stopped_by_, coupled.fit_seconds_, None)
    compile_kernels()
    learner = BayesNetLearner(
        **{**GOMEA_ALGORITHMS[name], **options},
        max_seconds=limits["seconds"],
        max_evaluations=limits["evaluations"],
        n_jobs=1,
        random_state=learning_seed(net),
    ).fit(frame)
    return Learned(
        learner.network_, learner.n_eval_, learner.stopped_by_, learner.fit_seconds_, learner.time_to_best_
    )


def true_fit(
    truth: DiscretizedBayesNet, frame: pd.DataFrame, pseudo_count: PseudoCount = 1.0
) -> DiscretizedBayesNet:
    """Return the true graph with the true bins, its tables counted from rows and smoothed."""
    from gomea_bn.data.table import read_table

    kinds = {name: "continuous" if name in truth.cut_points else "discrete" for name in truth.names}
    table = read_table(frame, kinds=kinds)
    ranges = {
        c.name: (float(c.values.min()), float(c.values.max())) for c in table.columns if c.is_continuous
    }
    cuts = {
        name: own[(own > ranges[name][0]) & (own < ranges[name][1])] for name, own in truth.cut_points.items()
    }
    return DiscretizedBayesNet.from_table(table, truth.edges, cuts, pseudo_count=pseudo_count)
