"""The kinds of what a column follows given its parents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.family_line import FamilyLine
from gomea_bn.network.conditionals.family_logit import FamilyLogit
from gomea_bn.network.conditionals.family_mixture import FamilyMixture
from gomea_bn.network.conditionals.family_table import FamilyTable
from gomea_bn.network.conditionals.fixed_value import FixedValue
from gomea_bn.network.conditionals.kind import Fitted

KINDS: tuple[type[Fitted], ...] = (FamilyTable, FamilyLine, FamilyMixture, FamilyLogit, FixedValue)
"""All kinds."""


def fitted_from_content(content: Any) -> Fitted:
    """Return what a column follows, as JSON values describe it; raises `GomeaBnError` for others."""
    # a line has no field "kind" in files of earlier versions
    named = content.get("kind", FamilyLine.kind) if isinstance(content, Mapping) else FamilyLine.kind
    for kind in KINDS:
        if kind.kind == named:
            return kind.from_content(content)
    raise GomeaBnError(f"A conditional must be of a known kind, got {named!r:.80}.")
