"""Discretized Bayesian networks learned from mixed tables: the graph and the bins together, with GOMEA."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import warn

__version__ = "0.2.0"

if TYPE_CHECKING:
    from gomea_bn.algorithms.archive import ElitistArchive
    from gomea_bn.algorithms.gomea import GOMEA
    from gomea_bn.algorithms.mogomea import MOGOMEA
    from gomea_bn.algorithms.optimisation import optimise
    from gomea_bn.algorithms.rvgomea import RVGOMEA
    from gomea_bn.data.table import read_table
    from gomea_bn.errors import GomeaBnError
    from gomea_bn.expert.expert_network import ExpertNetwork
    from gomea_bn.front.decision import accept, read_decision
    from gomea_bn.front.folder import read_front, write_front
    from gomea_bn.front.front import Front
    from gomea_bn.learning.averaging.averaged_front import averaged_misfits
    from gomea_bn.learning.averaging.families import average_families
    from gomea_bn.learning.cuts.cut_gains import cut_gains
    from gomea_bn.learning.cuts.refinement import RefinementResult, refine_boundaries
    from gomea_bn.learning.ensemble import BayesNetEnsemble
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.pareto_learner import OwnObjective, ParetoBayesNetLearner
    from gomea_bn.linkage.full import Full
    from gomea_bn.linkage.interaction_tree import StaticTree
    from gomea_bn.linkage.marginal_product import MarginalProduct
    from gomea_bn.linkage.models import Custom, LinkageTree, Univariate
    from gomea_bn.metrics.comparison import compare
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.prediction.estimators import BayesNetClassifier, BayesNetRegressor
    from gomea_bn.problems.base import KernelProblem, register_problem
    from gomea_bn.problems.continuous import RealKernelProblem
    from gomea_bn.problems.cuts.shape import Shape
    from gomea_bn.problems.cuts.shape_fit import fit_shape
    from gomea_bn.problems.knowledge import ExpertKnowledge
    from gomea_bn.review.page import network_report, review_page
    from gomea_bn.runtime.checkpoints import Checkpoint
    from gomea_bn.runtime.jit import kernel
    from gomea_bn.simulation.random_experts import simulated_expert

_HOMES = {
    "BayesNetClassifier": "gomea_bn.prediction.estimators",
    "BayesNetEnsemble": "gomea_bn.learning.ensemble",
    "BayesNetLearner": "gomea_bn.learning.learner",
    "BayesNetRegressor": "gomea_bn.prediction.estimators",
    "Checkpoint": "gomea_bn.runtime.checkpoints",
    "Custom": "gomea_bn.linkage.models",
    "DiscretizedBayesNet": "gomea_bn.network.bayes_net",
    "ElitistArchive": "gomea_bn.algorithms.archive",
    "ExpertKnowledge": "gomea_bn.problems.knowledge",
    "ExpertNetwork": "gomea_bn.expert.expert_network",
    "Front": "gomea_bn.front.front",
    "Full": "gomea_bn.linkage.full",
    "GOMEA": "gomea_bn.algorithms.gomea",
    "GomeaBnError": "gomea_bn.errors",
    "KernelProblem": "gomea_bn.problems.base",
    "LinkageTree": "gomea_bn.linkage.models",
    "MOGOMEA": "gomea_bn.algorithms.mogomea",
    "MarginalProduct": "gomea_bn.linkage.marginal_product",
    "OwnObjective": "gomea_bn.learning.pareto_learner",
    "ParetoBayesNetLearner": "gomea_bn.learning.pareto_learner",
    "RVGOMEA": "gomea_bn.algorithms.rvgomea",
    "RealKernelProblem": "gomea_bn.problems.continuous",
    "RefinementResult": "gomea_bn.learning.cuts.refinement",
    "Shape": "gomea_bn.problems.cuts.shape",
    "StaticTree": "gomea_bn.linkage.interaction_tree",
    "Univariate": "gomea_bn.linkage.models",
    "accept": "gomea_bn.front.decision",
    "average_families": "gomea_bn.learning.averaging.families",
    "averaged_misfits": "gomea_bn.learning.averaging.averaged_front",
    "compare": "gomea_bn.metrics.comparison",
    "cut_gains": "gomea_bn.learning.cuts.cut_gains",
    "fit_shape": "gomea_bn.problems.cuts.shape_fit",
    "kernel": "gomea_bn.runtime.jit",
    "network_report": "gomea_bn.review.page",
    "optimise": "gomea_bn.algorithms.optimisation",
    "read_decision": "gomea_bn.front.decision",
    "read_front": "gomea_bn.front.folder",
    "read_table": "gomea_bn.data.table",
    "refine_boundaries": "gomea_bn.learning.cuts.refinement",
    "register_problem": "gomea_bn.problems.base",
    "review_page": "gomea_bn.review.page",
    "simulated_expert": "gomea_bn.simulation.random_experts",
    "write_front": "gomea_bn.front.folder",
}

__all__ = [
    "GOMEA",
    "MOGOMEA",
    "RVGOMEA",
    "BayesNetClassifier",
    "BayesNetEnsemble",
    "BayesNetLearner",
    "BayesNetRegressor",
    "Checkpoint",
    "Custom",
    "DiscretizedBayesNet",
    "ElitistArchive",
    "ExpertKnowledge",
    "ExpertNetwork",
    "Front",
    "Full",
    "GomeaBnError",
    "KernelProblem",
    "LinkageTree",
    "MarginalProduct",
    "OwnObjective",
    "ParetoBayesNetLearner",
    "RealKernelProblem",
    "RefinementResult",
    "Shape",
    "StaticTree",
    "Univariate",
    "accept",
    "average_families",
    "averaged_misfits",
    "compare",
    "cut_gains",
    "fit_shape",
    "kernel",
    "network_report",
    "optimise",
    "read_decision",
    "read_front",
    "read_table",
    "refine_boundaries",
    "register_problem",
    "review_page",
    "simulated_expert",
    "write_front",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that importing the package stays quick."""
    if name == "AveragedBayesNet":
        warn(
            "AveragedBayesNet is now DiscretizedBayesNet: networks have their conditionals. The next version drops "
            "this name.",
            DeprecationWarning,
            stacklevel=2,
        )
        name = "DiscretizedBayesNet"
    if name not in _HOMES:
        raise AttributeError(f"module 'gomea_bn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
