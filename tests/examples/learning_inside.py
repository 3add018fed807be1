"""Names and modules of `gomea_bn.learning` that several tests use: a file that moves changes these imports alone."""

from gomea_bn.learning import fit as of_fit
from gomea_bn.learning import improvement as of_improvement
from gomea_bn.learning import learning_problem as of_problems
from gomea_bn.learning import many_rows as of_many_rows
from gomea_bn.learning.averaging import families as of_families
from gomea_bn.learning.averaging.effects_fit import design_of_terms as design_of_terms
from gomea_bn.learning.fronts.search import limits_of_front as limits_of_front
from gomea_bn.learning.improvement import Climb as Climb
from gomea_bn.learning.improvement import Move as Move
from gomea_bn.learning.improvement import Promises as Promises
from gomea_bn.learning.improvement import view_key as view_key
from gomea_bn.learning.learning_problem import check_learning as check_learning
from gomea_bn.learning.learning_problem import learning_problem as learning_problem
from gomea_bn.learning.learning_problem import merged_library as merged_library
from gomea_bn.learning.learning_problem import planned_bytes as planned_bytes
from gomea_bn.learning.learning_problem import scored_variables as scored_variables
from gomea_bn.learning.learning_problem import scoring_of as scoring_of
from gomea_bn.learning.many_rows import Improvement as Improvement
from gomea_bn.learning.many_rows import opened_counter as opened_counter
from gomea_bn.learning.options import LearningOptions as LearningOptions
from gomea_bn.learning.options import automatic_bins as automatic_bins
from gomea_bn.learning.options import automatic_indegree as automatic_indegree
from gomea_bn.learning.options import limits_after_preparation as limits_after_preparation
from gomea_bn.learning.options import limits_of as limits_of
from gomea_bn.learning.options import sampled_table as sampled_table
from gomea_bn.learning.options import seconds_after_search as seconds_after_search
from gomea_bn.learning.options import seconds_of_columns as seconds_of_columns
from gomea_bn.learning.options import why_unrepeatable as why_unrepeatable
from gomea_bn.learning.parameters import FrontParameters as FrontParameters
from gomea_bn.learning.parameters import LearnerParameters as LearnerParameters
from gomea_bn.learning.parameters import NetworkParameters as NetworkParameters
from gomea_bn.learning.pareto_learner import check_front_learning as check_front_learning
from gomea_bn.learning.pareto_learner import front_problem as front_problem
from gomea_bn.learning.search import search as of_search
from gomea_bn.learning.search.staged_search import StagedSearch as StagedSearch

__all__ = ["of_families", "of_fit", "of_improvement", "of_many_rows", "of_problems", "of_search"]
