"""Discretized Bayesian networks learned from mixed tables: the graph and the bins together, with GOMEA."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gomea_bn._jit import kernel
    from gomea_bn.errors import GomeaBnError
    from gomea_bn.estimator import BayesNetLearner
    from gomea_bn.gomea import GOMEA
    from gomea_bn.linkage.full import Full
    from gomea_bn.linkage.interaction_tree import StaticTree
    from gomea_bn.linkage.marginal_product import MarginalProduct
    from gomea_bn.linkage.models import Custom, LinkageTree, Univariate
    from gomea_bn.network import DiscretizedBayesNet
    from gomea_bn.optimisation import optimise
    from gomea_bn.problems.base import KernelProblem, register_problem
    from gomea_bn.problems.continuous import RealKernelProblem
    from gomea_bn.problems.knowledge import ExpertKnowledge
    from gomea_bn.refinement import RefinementResult, refine_boundaries
    from gomea_bn.rvgomea import RVGOMEA
    from gomea_bn.table import read_table

_HOMES = {
    "GOMEA": "gomea_bn.gomea",
    "RVGOMEA": "gomea_bn.rvgomea",
    "BayesNetLearner": "gomea_bn.estimator",
    "Custom": "gomea_bn.linkage.models",
    "DiscretizedBayesNet": "gomea_bn.network",
    "ExpertKnowledge": "gomea_bn.problems.knowledge",
    "Full": "gomea_bn.linkage.full",
    "GomeaBnError": "gomea_bn.errors",
    "KernelProblem": "gomea_bn.problems.base",
    "LinkageTree": "gomea_bn.linkage.models",
    "MarginalProduct": "gomea_bn.linkage.marginal_product",
    "RealKernelProblem": "gomea_bn.problems.continuous",
    "RefinementResult": "gomea_bn.refinement",
    "StaticTree": "gomea_bn.linkage.interaction_tree",
    "Univariate": "gomea_bn.linkage.models",
    "kernel": "gomea_bn._jit",
    "optimise": "gomea_bn.optimisation",
    "read_table": "gomea_bn.table",
    "refine_boundaries": "gomea_bn.refinement",
    "register_problem": "gomea_bn.problems.base",
}

__all__ = [
    "GOMEA",
    "RVGOMEA",
    "BayesNetLearner",
    "Custom",
    "DiscretizedBayesNet",
    "ExpertKnowledge",
    "Full",
    "GomeaBnError",
    "KernelProblem",
    "LinkageTree",
    "MarginalProduct",
    "RealKernelProblem",
    "RefinementResult",
    "StaticTree",
    "Univariate",
    "kernel",
    "optimise",
    "read_table",
    "refine_boundaries",
    "register_problem",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that importing the package stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gomea_bn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
