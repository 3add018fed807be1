"""Discretized Bayesian networks learned from mixed tables: the graph and the bins together, with GOMEA."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gomea_bn._jit import kernel
    from gomea_bn.archive import ElitistArchive
    from gomea_bn.comparison import compare
    from gomea_bn.decision import accept, read_decision
    from gomea_bn.ensemble import BayesNetEnsemble
    from gomea_bn.errors import GomeaBnError
    from gomea_bn.estimator import BayesNetLearner
    from gomea_bn.expert import ExpertNetwork, simulated_expert
    from gomea_bn.front import Front
    from gomea_bn.gomea import GOMEA
    from gomea_bn.io.front_folder import read_front, write_front
    from gomea_bn.linkage.full import Full
    from gomea_bn.linkage.interaction_tree import StaticTree
    from gomea_bn.linkage.marginal_product import MarginalProduct
    from gomea_bn.linkage.models import Custom, LinkageTree, Univariate
    from gomea_bn.mogomea import MOGOMEA
    from gomea_bn.network import DiscretizedBayesNet
    from gomea_bn.optimisation import optimise
    from gomea_bn.pareto import OwnObjective, ParetoBayesNetLearner
    from gomea_bn.problems.base import KernelProblem, register_problem
    from gomea_bn.problems.continuous import RealKernelProblem
    from gomea_bn.problems.knowledge import ExpertKnowledge
    from gomea_bn.refinement import RefinementResult, refine_boundaries
    from gomea_bn.report.review import network_report, review_page
    from gomea_bn.rvgomea import RVGOMEA
    from gomea_bn.table import read_table

_HOMES = {
    "BayesNetEnsemble": "gomea_bn.ensemble",
    "BayesNetLearner": "gomea_bn.estimator",
    "Custom": "gomea_bn.linkage.models",
    "DiscretizedBayesNet": "gomea_bn.network",
    "ElitistArchive": "gomea_bn.archive",
    "ExpertKnowledge": "gomea_bn.problems.knowledge",
    "ExpertNetwork": "gomea_bn.expert",
    "Front": "gomea_bn.front",
    "Full": "gomea_bn.linkage.full",
    "GOMEA": "gomea_bn.gomea",
    "GomeaBnError": "gomea_bn.errors",
    "KernelProblem": "gomea_bn.problems.base",
    "LinkageTree": "gomea_bn.linkage.models",
    "MOGOMEA": "gomea_bn.mogomea",
    "MarginalProduct": "gomea_bn.linkage.marginal_product",
    "OwnObjective": "gomea_bn.pareto",
    "ParetoBayesNetLearner": "gomea_bn.pareto",
    "RVGOMEA": "gomea_bn.rvgomea",
    "RealKernelProblem": "gomea_bn.problems.continuous",
    "RefinementResult": "gomea_bn.refinement",
    "StaticTree": "gomea_bn.linkage.interaction_tree",
    "Univariate": "gomea_bn.linkage.models",
    "accept": "gomea_bn.decision",
    "compare": "gomea_bn.comparison",
    "kernel": "gomea_bn._jit",
    "network_report": "gomea_bn.report.review",
    "optimise": "gomea_bn.optimisation",
    "read_decision": "gomea_bn.decision",
    "read_front": "gomea_bn.io.front_folder",
    "read_table": "gomea_bn.table",
    "refine_boundaries": "gomea_bn.refinement",
    "register_problem": "gomea_bn.problems.base",
    "review_page": "gomea_bn.report.review",
    "simulated_expert": "gomea_bn.expert",
    "write_front": "gomea_bn.io.front_folder",
}

__all__ = [
    "GOMEA",
    "MOGOMEA",
    "RVGOMEA",
    "BayesNetEnsemble",
    "BayesNetLearner",
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
    "StaticTree",
    "Univariate",
    "accept",
    "compare",
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
    if name not in _HOMES:
        raise AttributeError(f"module 'gomea_bn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
