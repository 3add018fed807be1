"""Names inside `gomea_bn.learning` that several tests use: a file that moves there changes these imports alone."""

from gomea_bn.learning.learning_problem import check_learning as check_learning
from gomea_bn.learning.learning_problem import learning_problem as learning_problem
from gomea_bn.learning.learning_problem import merged_library as merged_library
from gomea_bn.learning.learning_problem import planned_bytes as planned_bytes
from gomea_bn.learning.learning_problem import scored_variables as scored_variables
from gomea_bn.learning.learning_problem import scoring_of as scoring_of
from gomea_bn.learning.options import LearningOptions as LearningOptions
from gomea_bn.learning.options import automatic_bins as automatic_bins
from gomea_bn.learning.options import automatic_indegree as automatic_indegree
from gomea_bn.learning.options import limits_after_preparation as limits_after_preparation
from gomea_bn.learning.options import limits_of as limits_of
from gomea_bn.learning.options import sampled_table as sampled_table
from gomea_bn.learning.options import seconds_after_search as seconds_after_search
from gomea_bn.learning.options import why_unrepeatable as why_unrepeatable
from gomea_bn.learning.parameters import FrontParameters as FrontParameters
from gomea_bn.learning.parameters import LearnerParameters as LearnerParameters
from gomea_bn.learning.parameters import NetworkParameters as NetworkParameters
from gomea_bn.learning.parameters import declared_options as declared_options
from gomea_bn.learning.pareto_learner import check_front_learning as check_front_learning
from gomea_bn.learning.pareto_learner import front_problem as front_problem
