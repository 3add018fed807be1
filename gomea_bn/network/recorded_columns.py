"""Columns that the metadata of a network name. Files may hold any metadata, so whatever is not a name is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["columns_of_expert_fit", "fixed_columns"]


def fixed_columns(network: NetworkLike) -> frozenset[str]:
    """Return the names of the columns whose cuts a user has fixed."""
    return _names(network.metadata.get("fixed_cut_points"))


def columns_of_expert_fit(expert: NetworkLike, entry: str) -> frozenset[str]:
    """Return the names of the columns that `ExpertNetwork.fitted` records in an entry, such as "not_mentioned"."""
    fit = expert.metadata.get("expert_fit")
    return _names(fit.get(entry)) if isinstance(fit, Mapping) else frozenset()


def _names(entry: Any) -> frozenset[str]:
    is_list = isinstance(entry, (list, tuple))
    return frozenset(name for name in entry if isinstance(name, str)) if is_list else frozenset()
