"""Cut points of one column: policies and their libraries, counts of intervals, blankets, and exact optimal cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.problems.cuts.blanket import CodedColumn as CodedColumn
    from gomea_bn.problems.cuts.blanket import CodedFamily as CodedFamily
    from gomea_bn.problems.cuts.blanket import DueColumns as DueColumns
    from gomea_bn.problems.cuts.blanket import Neighbourhood as Neighbourhood
    from gomea_bn.problems.cuts.blanket import ParentSets as ParentSets
    from gomea_bn.problems.cuts.blanket import coded_bins as coded_bins
    from gomea_bn.problems.cuts.blanket import joint_codes as joint_codes
    from gomea_bn.problems.cuts.cut_column import CutColumn as CutColumn
    from gomea_bn.problems.cuts.cut_posterior import CutPosterior as CutPosterior
    from gomea_bn.problems.cuts.interval_dp import CutLimits as CutLimits
    from gomea_bn.problems.cuts.interval_dp import CutProblem as CutProblem
    from gomea_bn.problems.cuts.interval_dp import IntervalScore as IntervalScore
    from gomea_bn.problems.cuts.libraries import CodedNetwork as CodedNetwork
    from gomea_bn.problems.cuts.libraries import Pricing as Pricing
    from gomea_bn.problems.cuts.policies import MAX_CARDINALITY as MAX_CARDINALITY
    from gomea_bn.problems.cuts.policies import Policy as Policy
    from gomea_bn.problems.cuts.policies import bin_codes as bin_codes
    from gomea_bn.problems.cuts.policies import equal_frequency_cuts as equal_frequency_cuts
    from gomea_bn.problems.cuts.policies import policy_library as policy_library
    from gomea_bn.problems.cuts.policies import without_narrow_bins as without_narrow_bins
    from gomea_bn.problems.cuts.policies import without_sparse_bins as without_sparse_bins
    from gomea_bn.problems.cuts.shape import ColumnShape as ColumnShape
    from gomea_bn.problems.cuts.shape_fit import table_shapes as table_shapes

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
