"""Learners of networks, ensembles, and the refinement of cut points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.learning.cuts.refinement import RefinementResult, refine_boundaries
    from gomea_bn.learning.ensemble import BayesNetEnsemble
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.parameters import (
        Averaged,
        EdgeSearch,
        OptimalCuts,
        Scoring,
        learner_of_options,
        plain_options,
    )
    from gomea_bn.learning.pareto_learner import OwnObjective, ParetoBayesNetLearner
    from gomea_bn.learning.repeats import Stability, stability

__all__ = [
    "Averaged",
    "BayesNetEnsemble",
    "BayesNetLearner",
    "EdgeSearch",
    "OptimalCuts",
    "OwnObjective",
    "ParetoBayesNetLearner",
    "RefinementResult",
    "Scoring",
    "Stability",
    "learner_of_options",
    "plain_options",
    "refine_boundaries",
    "stability",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Averaged": "gomea_bn.learning.parameters",
        "BayesNetEnsemble": "gomea_bn.learning.ensemble",
        "BayesNetLearner": "gomea_bn.learning.learner",
        "EdgeSearch": "gomea_bn.learning.parameters",
        "OptimalCuts": "gomea_bn.learning.parameters",
        "OwnObjective": "gomea_bn.learning.pareto_learner",
        "ParetoBayesNetLearner": "gomea_bn.learning.pareto_learner",
        "RefinementResult": "gomea_bn.learning.cuts.refinement",
        "Scoring": "gomea_bn.learning.parameters",
        "Stability": "gomea_bn.learning.repeats",
        "learner_of_options": "gomea_bn.learning.parameters",
        "plain_options": "gomea_bn.learning.parameters",
        "refine_boundaries": "gomea_bn.learning.cuts.refinement",
        "stability": "gomea_bn.learning.repeats",
    },
)
