"""Columns that the metadata of a network name. Files may hold any metadata, so whatever is not a name is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import is_real
from gomea_bn.texts import counted, percent

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "columns_of_expert_fit",
    "counted_parents",
    "fixed_columns",
    "known_text",
    "ordered_parents",
    "parents_by_gain",
]

# share of what all parents add
_MOST_OF_IT = 0.9


def fixed_columns(network: NetworkLike) -> frozenset[str]:
    """Return the names of the columns whose cuts a user has fixed."""
    return _names(network.metadata.get("fixed_cut_points"))


def counted_parents(network: NetworkLike) -> list[tuple[str, ...]]:
    """Return the parents by which rows of every variable are counted into tables, in column order.

    These are all parents of most variables. Of a variable that follows curves the search has recorded those that its
    table needs, since counts over all of them would be sparse.
    """
    record = network.metadata.get("curves")
    chosen = []
    for name in network.names:
        parents = network.parents(name)
        of_name = record.get(name) if isinstance(record, Mapping) else None
        if isinstance(of_name, Mapping) and isinstance(of_name.get("table_parents"), list):
            parents = tuple(parent for parent in parents if parent in of_name["table_parents"])
        chosen.append(parents)
    return chosen


def parents_by_gain(network: NetworkLike, name: str) -> list[tuple[str, float]]:
    """Return parents of a variable with the nats of the score that each adds to those before it, the best one first.

    They are those that the search has recorded; none are recorded of required edges, and in files of other programs.
    """
    record = network.metadata.get("parents")
    entries = record.get(name) if isinstance(record, Mapping) else None
    parents = network.parents(name)
    found = []
    for entry in entries if isinstance(entries, (list, tuple)) else ():
        if isinstance(entry, (list, tuple)) and len(entry) == 2 and entry[0] in parents and is_real(entry[1]):
            found.append((str(entry[0]), float(entry[1])))
    return found


def ordered_parents(network: NetworkLike, name: str) -> tuple[str, ...]:
    """Return all parents of a variable, those of `parents_by_gain` first and in their order."""
    first = [parent for parent, _ in parents_by_gain(network, name)]
    return (*first, *(parent for parent in network.parents(name) if parent not in first))


def known_text(network: NetworkLike, name: str) -> str:
    """Return how many parents carry how much of the score that all add, such as "3 of 6 parents carry 96 % ...".

    It is "" where all parents are needed for nine tenths, and where the gain of a parent is not recorded.
    """
    gains = [max(gain, 0.0) for _, gain in parents_by_gain(network, name)]
    n_parents, total = len(network.parents(name)), sum(gains)
    if len(gains) < n_parents or not total:
        return ""
    n_needed = next(n for n in range(1, n_parents + 1) if sum(gains[:n]) >= _MOST_OF_IT * total)
    if n_needed == n_parents:
        return ""
    share = percent(sum(gains[:n_needed]) / total)
    verb = "carries" if n_needed == 1 else "carry"
    return f"{n_needed} of {counted(n_parents, 'parent')} {verb} {share} of what is known of it"


def columns_of_expert_fit(expert: NetworkLike, entry: str) -> frozenset[str]:
    """Return the names of the columns that `ExpertNetwork.fitted` records in an entry, such as "not_mentioned"."""
    fit = expert.metadata.get("expert_fit")
    return _names(fit.get(entry)) if isinstance(fit, Mapping) else frozenset()


def _names(entry: Any) -> frozenset[str]:
    is_list = isinstance(entry, (list, tuple))
    return frozenset(name for name in entry if isinstance(name, str)) if is_list else frozenset()
