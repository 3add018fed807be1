"""Learners of networks, ensembles, and the refinement of cut points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.learning.cuts.refinement import RefinementResult, refine_boundaries
    from gomea_bn.learning.ensemble import BayesNetEnsemble
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.pareto_learner import OwnObjective, ParetoBayesNetLearner
    from gomea_bn.learning.repeats import Stability, stability

__all__ = [
    "BayesNetEnsemble",
    "BayesNetLearner",
    "OwnObjective",
    "ParetoBayesNetLearner",
    "RefinementResult",
    "Stability",
    "refine_boundaries",
    "stability",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BayesNetEnsemble": "gomea_bn.learning.ensemble",
        "BayesNetLearner": "gomea_bn.learning.learner",
        "OwnObjective": "gomea_bn.learning.pareto_learner",
        "ParetoBayesNetLearner": "gomea_bn.learning.pareto_learner",
        "RefinementResult": "gomea_bn.learning.cuts.refinement",
        "Stability": "gomea_bn.learning.repeats",
        "refine_boundaries": "gomea_bn.learning.cuts.refinement",
        "stability": "gomea_bn.learning.repeats",
    },
)
