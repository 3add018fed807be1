"""Options of the search for a front, and their checks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, nearest
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.objectives import COMPLEXITY, EXPERT_DISTANCE, MISFIT, OwnObjective
from gomea_bn.learning.options import OPTIMAL, LearningOptions, check_options, limits_of
from gomea_bn.learning.parameters import FrontParameters, OptimalCuts
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.parameters import check_declared, declarations
from gomea_bn.problems.cuts.policies import POLICY_FAMILIES
from gomea_bn.runtime.limits import Limits
from gomea_bn.texts import listed

STANDARD_OBJECTIVES = {objective.name: objective for objective in (MISFIT, COMPLEXITY, EXPERT_DISTANCE)}
"""Objectives that a front can have without functions of the user, by name."""


def limits_of_front(learner: FrontParameters) -> Limits:
    """Return the limits of both searches, after a check of the options that need no table."""
    limits = limits_of(learner)
    check_options(learner, MOGOMEA, auto=True)
    check_declared(declarations(FrontParameters).values(), learner.get_params(deep=False))
    most = limits.max_evaluations
    if learner.single_evaluations is not None and most is not None and learner.single_evaluations >= most:
        raise GomeaBnError(
            [
                Option("single_evaluations"),
                f" must be below {most:,}, the limit of both searches, got {learner.single_evaluations:,}.",
            ]
        )
    return limits


def options_of_front(learner: FrontParameters, table: Table) -> LearningOptions:
    """Return the options of the search space."""
    _check_discretizer(learner.discretizer)
    return LearningOptions.of(learner, table.n_rows, curves="none")


def _check_discretizer(discretizer: Any) -> None:
    """Raise unless a front can have the discretizer."""
    methods = sorted([OPTIMAL, *POLICY_FAMILIES])
    if isinstance(discretizer, OptimalCuts):
        return
    if not isinstance(discretizer, str) or discretizer not in methods:
        raise GomeaBnError(
            [
                Option("discretizer"),
                f" must be one of {listed(map(repr, methods))} for a front, got {discretizer!r:.80}. Other "
                "discretizers work in BayesNetLearner; or cut the table by one alone, then learn with its cuts as ",
                Option("cut_points"),
                ".",
            ]
        )


def expert_of(value: Any) -> ExpertNetwork | None:
    """Return the expert's network that the option `expert` stands for."""
    if value is None or isinstance(value, ExpertNetwork):
        return value
    if isinstance(value, DiscretizedBayesNet):
        return ExpertNetwork.from_network(value)
    if isinstance(value, (str, os.PathLike)):
        return ExpertNetwork.from_file(value)
    raise GomeaBnError(
        f"expert must be an ExpertNetwork, a DiscretizedBayesNet, a path or None, got {value!r:.80}."
    )


def objectives_of(value: Any, has_expert: bool) -> list[str | OwnObjective]:
    """Return the objectives that the option `objectives` stands for."""
    if value is None:
        return [*STANDARD_OBJECTIVES] if has_expert else [MISFIT.name, COMPLEXITY.name]
    allowed = f"names out of {sorted(STANDARD_OBJECTIVES)}, or OwnObjective"
    if isinstance(value, (str, OwnObjective)) or not isinstance(value, Iterable):
        raise GomeaBnError(f"objectives must be a list of {allowed}, got {value!r:.80}.")
    objectives = list(value)
    for objective in objectives:
        if isinstance(objective, OwnObjective):
            _check_own_objective(objective)
        elif not (isinstance(objective, str) and objective in STANDARD_OBJECTIVES):
            hint = nearest(objective, STANDARD_OBJECTIVES) if isinstance(objective, str) else ""
            raise GomeaBnError(f"objectives must be {allowed}, got {objective!r:.80}.{hint}")
    names = [objective if isinstance(objective, str) else objective.name for objective in objectives]
    if len(names) < 2 or len(set(names)) < len(names):
        raise GomeaBnError(f"objectives must be at least two different ones, got {names}.")
    if EXPERT_DISTANCE.name in names and not has_expert:
        raise GomeaBnError(f"objectives: {EXPERT_DISTANCE.name!r} needs the expert's network; pass expert=.")
    return objectives


def _check_own_objective(objective: OwnObjective) -> None:
    if not isinstance(objective.name, str) or objective.name in ("", *STANDARD_OBJECTIVES):
        raise GomeaBnError(
            f"The name of an OwnObjective must be text other than '' and the names {sorted(STANDARD_OBJECTIVES)}, got "
            f"{objective.name!r:.80}."
        )
    if not callable(objective.function):
        raise GomeaBnError(
            f"The function of the OwnObjective {objective.name!r} must be callable, got {objective.function!r:.80}."
        )
