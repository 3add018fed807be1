"""Discretized Bayesian networks learned from mixed tables: the graph and the bins together, with GOMEA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import declared_names, lazy_names, need, offer, usable_names
from gomea_bn.runtime.sources import __version__ as __version__

# the one list of public names: type checkers read it, and declared_names
if TYPE_CHECKING:
    from gomea_bn.algorithms.archive import ElitistArchive as ElitistArchive
    from gomea_bn.algorithms.gomea import GOMEA as GOMEA
    from gomea_bn.algorithms.mogomea import MOGOMEA as MOGOMEA
    from gomea_bn.algorithms.optimisation import check_problem as check_problem
    from gomea_bn.algorithms.optimisation import optimise as optimise
    from gomea_bn.algorithms.rvgomea import RVGOMEA as RVGOMEA
    from gomea_bn.data.lags import lagged as lagged
    from gomea_bn.data.table import read_table as read_table
    from gomea_bn.errors import GomeaBnError as GomeaBnError
    from gomea_bn.errors import GomeaBnWarning as GomeaBnWarning
    from gomea_bn.errors import RowsDiffer as RowsDiffer
    from gomea_bn.expert.expert_network import ExpertNetwork as ExpertNetwork
    from gomea_bn.front.decision import accept as accept
    from gomea_bn.front.decision import read_decision as read_decision
    from gomea_bn.front.folder import read_front as read_front
    from gomea_bn.front.folder import write_front as write_front
    from gomea_bn.front.front import Front as Front
    from gomea_bn.learning.averaging.averaged_front import averaged_misfits as averaged_misfits
    from gomea_bn.learning.averaging.families import average_families as average_families
    from gomea_bn.learning.cuts.cut_gains import cut_gains as cut_gains
    from gomea_bn.learning.cuts.refinement import RefinementResult as RefinementResult
    from gomea_bn.learning.cuts.refinement import refine_boundaries as refine_boundaries
    from gomea_bn.learning.ensemble import BayesNetEnsemble as BayesNetEnsemble
    from gomea_bn.learning.learner import BayesNetLearner as BayesNetLearner
    from gomea_bn.learning.pareto_learner import OwnObjective as OwnObjective
    from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner as ParetoBayesNetLearner
    from gomea_bn.linkage.interaction_tree import StaticTree as StaticTree
    from gomea_bn.linkage.marginal_product import MarginalProduct as MarginalProduct
    from gomea_bn.linkage.models import Custom as Custom
    from gomea_bn.linkage.models import Full as Full
    from gomea_bn.linkage.models import LinkageTree as LinkageTree
    from gomea_bn.linkage.models import Univariate as Univariate
    from gomea_bn.metrics.comparison import compare as compare
    from gomea_bn.network.bayes_net import DiscretizedBayesNet as DiscretizedBayesNet
    from gomea_bn.prediction.estimators import BayesNetClassifier as BayesNetClassifier
    from gomea_bn.prediction.estimators import BayesNetRegressor as BayesNetRegressor
    from gomea_bn.problems.base import KernelProblem as KernelProblem
    from gomea_bn.problems.base import register_problem as register_problem
    from gomea_bn.problems.continuous import RealKernelProblem as RealKernelProblem
    from gomea_bn.problems.cuts.shape import Shape as Shape
    from gomea_bn.problems.cuts.shape_fit import fit_shape as fit_shape
    from gomea_bn.problems.knowledge import ExpertKnowledge as ExpertKnowledge
    from gomea_bn.problems.spaces import Categorical as Categorical
    from gomea_bn.problems.spaces import Integer as Integer
    from gomea_bn.problems.spaces import Permutation as Permutation
    from gomea_bn.problems.spaces import Real as Real
    from gomea_bn.review.page import network_report as network_report
    from gomea_bn.review.page import review_page as review_page
    from gomea_bn.runtime.checkpoints import Checkpoint as Checkpoint
    from gomea_bn.runtime.jit import kernel as kernel
    from gomea_bn.simulation.random_experts import simulated_expert as simulated_expert
    from gomea_bn.studies.outcome_study import Study as Study
    from gomea_bn.studies.outcome_study import study as study

need({"gomea_bn.prediction.estimators": "sklearn"})
_HOMES = declared_names(__file__)
__getattr__, __dir__ = lazy_names(__name__, {**_HOMES, "__version__": __name__})
__all__ = usable_names(_HOMES)

# what methods of networks, tables and learners call of higher packages
offer(
    {
        "drift": "gomea_bn.network.drift",
        "printed_pdf": "gomea_bn.studies.page",
        "study_page": "gomea_bn.studies.page",
        "study_part": "gomea_bn.studies.page",
        "updated_network": "gomea_bn.network.updates",
        "explanation_html": "gomea_bn.plots.html",
        "edge_probabilities": "gomea_bn.certainty.edge_posterior",
        "network_html": "gomea_bn.plots.html",
        "node_boxes": "gomea_bn.plots.network_layout",
        "plot_network": "gomea_bn.plots.network",
        "table_html": "gomea_bn.plots.html",
        "test_graph": "gomea_bn.certainty.graph_tests",
    }
)
