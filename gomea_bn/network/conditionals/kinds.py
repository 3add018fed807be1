"""The kinds of what a column follows in addition to its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gomea_bn.network.conditionals.family_line import FamilyLine
from gomea_bn.network.conditionals.family_logit import FamilyLogit
from gomea_bn.network.conditionals.family_mixture import FamilyMixture
from gomea_bn.network.conditionals.kind import Fitted

KINDS: tuple[type[Fitted], ...] = (FamilyLine, FamilyMixture, FamilyLogit)
"""All kinds; the first one has no field "kind" in JSON."""


def fitted_from_content(content: Any) -> Fitted:
    """Return what a column follows, as JSON values describe it; raises `GomeaBnError` for others."""
    named = content.get("kind") if isinstance(content, Mapping) else None
    [kind] = [kind for kind in KINDS if kind.kind == named] or KINDS[:1]
    return kind.from_content(content)
