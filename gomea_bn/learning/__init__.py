"""Learners of networks, ensembles, and the refinement of cut points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.learning.cuts.given_cuts import network_of_graph as network_of_graph
    from gomea_bn.learning.cuts.refinement import RefinementResult as RefinementResult
    from gomea_bn.learning.cuts.refinement import refine_boundaries as refine_boundaries
    from gomea_bn.learning.ensemble import BayesNetEnsemble as BayesNetEnsemble
    from gomea_bn.learning.learner import BayesNetLearner as BayesNetLearner
    from gomea_bn.learning.pareto_learner import OwnObjective as OwnObjective
    from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner as ParetoBayesNetLearner
    from gomea_bn.learning.repeats import Stability as Stability
    from gomea_bn.learning.repeats import stability as stability

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
