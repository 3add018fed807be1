"""Conditional densities of networks: tables over several sets of cuts, and lines of continuous parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.network.conditionals.conditionals import Conditionals
    from gomea_bn.network.conditionals.family import Family, TableSet
    from gomea_bn.network.conditionals.family_line import FamilyLine

__all__ = ["Conditionals", "Family", "FamilyLine", "TableSet"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Conditionals": "gomea_bn.network.conditionals.conditionals",
        "Family": "gomea_bn.network.conditionals.family",
        "FamilyLine": "gomea_bn.network.conditionals.family_line",
        "TableSet": "gomea_bn.network.conditionals.family",
    },
)
