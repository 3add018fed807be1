"""Conditional densities: stacks of tables over sets of cuts, effects, logits, counts, mixtures, and fixed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.network.conditionals.conditionals import Conditionals as Conditionals
    from gomea_bn.network.conditionals.family import Family as Family
    from gomea_bn.network.conditionals.family import Stack as Stack
    from gomea_bn.network.conditionals.family_counts import FamilyCounts as FamilyCounts
    from gomea_bn.network.conditionals.family_effects import FamilyEffects as FamilyEffects
    from gomea_bn.network.conditionals.family_logit import FamilyLogit as FamilyLogit
    from gomea_bn.network.conditionals.family_mixture import FamilyMixture as FamilyMixture
    from gomea_bn.network.conditionals.family_odds import FamilyOdds as FamilyOdds
    from gomea_bn.network.conditionals.family_table import FamilyTable as FamilyTable
    from gomea_bn.network.conditionals.family_table import TableSet as TableSet
    from gomea_bn.network.conditionals.fixed_value import FixedValue as FixedValue

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
