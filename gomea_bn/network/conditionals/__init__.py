"""Conditional densities: stacks of tables over sets of cuts, effects, logits, counts, mixtures, and fixed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.network.conditionals.conditionals import Conditionals as Conditionals
    from gomea_bn.network.conditionals.conditionals import table_over_rows as table_over_rows
    from gomea_bn.network.conditionals.curve import Curve as Curve
    from gomea_bn.network.conditionals.family_counts import FamilyCounts as FamilyCounts
    from gomea_bn.network.conditionals.family_effects import FamilyEffects as FamilyEffects
    from gomea_bn.network.conditionals.family_logit import FamilyLogit as FamilyLogit
    from gomea_bn.network.conditionals.family_logit import log_levels as log_levels
    from gomea_bn.network.conditionals.family_mixture import FamilyMixture as FamilyMixture
    from gomea_bn.network.conditionals.family_odds import FamilyOdds as FamilyOdds
    from gomea_bn.network.conditionals.family_table import CutTable as CutTable
    from gomea_bn.network.conditionals.family_table import FamilyTable as FamilyTable
    from gomea_bn.network.conditionals.family_table import TableSet as TableSet
    from gomea_bn.network.conditionals.fixed_value import FixedValue as FixedValue
    from gomea_bn.network.conditionals.kind import ColumnFacts as ColumnFacts
    from gomea_bn.network.conditionals.kind import Family as Family
    from gomea_bn.network.conditionals.kind import Fitted as Fitted
    from gomea_bn.network.conditionals.kind import FurtherRows as FurtherRows
    from gomea_bn.network.conditionals.kind import Stack as Stack
    from gomea_bn.network.conditionals.scales import Columns as Columns
    from gomea_bn.network.conditionals.scales import LineScale as LineScale
    from gomea_bn.network.conditionals.scales import ProbabilityScale as ProbabilityScale
    from gomea_bn.network.conditionals.scales import UnitScale as UnitScale
    from gomea_bn.network.conditionals.terms import Functions as Functions
    from gomea_bn.network.conditionals.terms import Terms as Terms
    from gomea_bn.network.conditionals.terms import broken_line as broken_line
    from gomea_bn.network.conditionals.terms import indicators as indicators

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
