"""The kinds of what a column follows given its parents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.family_counts import FamilyCounts
from gomea_bn.network.conditionals.family_effects import FamilyEffects, effects_of_line
from gomea_bn.network.conditionals.family_logit import FamilyLogit, logit_of_earlier_versions
from gomea_bn.network.conditionals.family_mixture import FamilyMixture
from gomea_bn.network.conditionals.family_odds import FamilyOdds
from gomea_bn.network.conditionals.family_table import FamilyTable
from gomea_bn.network.conditionals.fixed_value import FixedValue
from gomea_bn.network.conditionals.kind import Fitted, Stack

KINDS: tuple[type[Fitted], ...] = (
    FamilyTable,
    FamilyEffects,
    FamilyLogit,
    FamilyCounts,
    FamilyMixture,
    FamilyOdds,
    FixedValue,
)
"""All kinds."""

# lines of earlier versions, some of which have no field "kind"
_LINE = "line"


def fitted_from_content(content: Any) -> Fitted:
    """Return what a column follows, as JSON values describe it; raises `GomeaBnError` for others."""
    named = content.get("kind", _LINE) if isinstance(content, Mapping) else _LINE
    if named == _LINE:
        content, named = effects_of_line(content), FamilyEffects.kind
    elif named == FamilyLogit.kind and "amounts" in content:
        content = logit_of_earlier_versions(content)
    elif named == FamilyOdds.kind and "stack" in content:
        content = {**content, "stack": stack_from_content(content["stack"])}
    for kind in KINDS:
        if kind.kind == named:
            return kind.from_content(content)
    raise GomeaBnError(f"A conditional must be of a known kind, got {named!r:.80}.")


def stack_from_content(content: Any) -> Stack:
    """Return the stack that JSON values describe; raises `GomeaBnError` for others."""
    if not isinstance(content, list) or not all(isinstance(member, Mapping) for member in content):
        raise GomeaBnError(f"A stack must be a list of objects, got {content!r:.80}.")
    return Stack(tuple((member.get("weight"), fitted_from_content(member)) for member in content))
