"""Optimisation problems: network structure with bins, what scores it, and benchmarks.

Tests and users import these names from here, since the files that they stand in may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.problems.base import CompiledProblem as CompiledProblem
    from gomea_bn.problems.base import Journal as Journal
    from gomea_bn.problems.base import Solution as Solution
    from gomea_bn.problems.base import evaluate as evaluate
    from gomea_bn.problems.base import evaluate_partial as evaluate_partial
    from gomea_bn.problems.base import new_journal as new_journal
    from gomea_bn.problems.base import set_aux as set_aux
    from gomea_bn.problems.base import set_gene as set_gene
    from gomea_bn.problems.base import set_term as set_term
    from gomea_bn.problems.base import undo as undo
    from gomea_bn.problems.benchmarks import HIFF as HIFF
    from gomea_bn.problems.benchmarks import BimodalTrap as BimodalTrap
    from gomea_bn.problems.benchmarks import IsingSpinGlass as IsingSpinGlass
    from gomea_bn.problems.benchmarks import MaxCut as MaxCut
    from gomea_bn.problems.benchmarks import NKLandscape as NKLandscape
    from gomea_bn.problems.benchmarks import OneMax as OneMax
    from gomea_bn.problems.benchmarks import Trap as Trap
    from gomea_bn.problems.benchmarks import Unitation as Unitation
    from gomea_bn.problems.boundaries import BoundaryProblem as BoundaryProblem
    from gomea_bn.problems.column_functions import LevelFunctions as LevelFunctions
    from gomea_bn.problems.column_functions import NumberFunctions as NumberFunctions
    from gomea_bn.problems.column_functions import SmoothFunctions as SmoothFunctions
    from gomea_bn.problems.column_functions import normal_scores as normal_scores
    from gomea_bn.problems.continuous import circles_in_a_square as circles_in_a_square
    from gomea_bn.problems.continuous import new_real_journal as new_real_journal
    from gomea_bn.problems.continuous import rosenbrock as rosenbrock
    from gomea_bn.problems.continuous import soreb as soreb
    from gomea_bn.problems.continuous import soreb_chain as soreb_chain
    from gomea_bn.problems.continuous import sphere as sphere
    from gomea_bn.problems.continuous import with_real_defaults as with_real_defaults
    from gomea_bn.problems.curve_models import CurveModel as CurveModel
    from gomea_bn.problems.curve_models import best_curve_model as best_curve_model
    from gomea_bn.problems.curves import CurveSizes as CurveSizes
    from gomea_bn.problems.curves import curve_data as curve_data
    from gomea_bn.problems.curves import sizes_and_functions as sizes_and_functions
    from gomea_bn.problems.cuts.cut_column import ScoredVariable as ScoredVariable
    from gomea_bn.problems.family_scorer import FamilyScorer as FamilyScorer
    from gomea_bn.problems.family_scorer import LibraryGrowth as LibraryGrowth
    from gomea_bn.problems.family_scorer import ScoredFamily as ScoredFamily
    from gomea_bn.problems.family_scorer import graph_families as graph_families
    from gomea_bn.problems.front_problem import FrontProblem as FrontProblem
    from gomea_bn.problems.front_problem import smoothed_scorer as smoothed_scorer
    from gomea_bn.problems.knowledge import EdgeRules as EdgeRules
    from gomea_bn.problems.knowledge import edge_rules as edge_rules
    from gomea_bn.problems.multi_objective import LOTZ as LOTZ
    from gomea_bn.problems.multi_objective import MultiObjectiveKnapsack as MultiObjectiveKnapsack
    from gomea_bn.problems.multi_objective import MultiObjectiveMaxCut as MultiObjectiveMaxCut
    from gomea_bn.problems.multi_objective import OneMaxZeroMax as OneMaxZeroMax
    from gomea_bn.problems.multi_objective import TrapInverseTrap as TrapInverseTrap
    from gomea_bn.problems.multi_objective import brute_force_front as brute_force_front
    from gomea_bn.problems.parents import ParentLibraries as ParentLibraries
    from gomea_bn.problems.python_problem import PythonProblem as PythonProblem
    from gomea_bn.problems.scores import family_score as family_score
    from gomea_bn.problems.scores import score_rule as score_rule
    from gomea_bn.problems.scores import scoring_method as scoring_method
    from gomea_bn.problems.structure import CutPricer as CutPricer
    from gomea_bn.problems.structure import StructureProblem as StructureProblem

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
