"""What networks of earlier versions had, for one more version: edges without an axis in a table, averaged networks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, GomeaBnWarning, give_warning
from gomea_bn.network.parts import check_edges
from gomea_bn.network.recorded import NetworkLike

# cells of a table that axes are added to
_MOST_CELLS = 2**22


def warn_of_curve_edges(what: str) -> None:
    """Warn the caller of a method that edges which only curves need are no more, and what holds in their place."""
    give_warning(f"Curve edges are no more: {what}. The next version drops this name.", DeprecationWarning)


def with_axes(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    curve_edges: Collection[tuple[str, str]],
    cut_points: Mapping[str, ArrayLike],
    levels: Mapping[str, Sequence[Any]],
    tables: Mapping[str, ArrayLike],
) -> dict[str, NDArray[np.float64]]:
    """Return tables with one axis per parent, repeated along the parents of edges that they left out.

    The parameters are those of `DiscretizedBayesNet`; the parents of `curve_edges` have no axis yet.
    """
    parents = check_edges(edges, tuple(names))
    left_out = check_edges(curve_edges, tuple(names))
    cards = [len(np.ravel(cut_points[n])) + 1 if n in cut_points else len(levels[n]) for n in names]
    result = {name: np.asarray(table, np.float64) for name, table in tables.items()}
    for child, name in enumerate(names):
        if not set(left_out[child]) <= set(parents[child]):
            raise GomeaBnError(f"curve_edges: '{name}' has a parent there that is not one in the network.")
        if not left_out[child]:
            continue
        shape = (*(cards[parent] for parent in parents[child]), cards[child])
        if prod(shape) > _MOST_CELLS:
            raise GomeaBnError(
                f"The table of '{name}' would have {prod(shape):,} cells with all parents; the limit is "
                f"{_MOST_CELLS:,}. Learn the network again."
            )
        kept = [cards[p] if p not in left_out[child] else 1 for p in parents[child]]
        result[name] = np.broadcast_to(result[name].reshape([*kept, cards[child]]), shape)
    return result


def averaged_member(network: NetworkLike, name: str) -> Any:
    """Return a member that averaged networks had, with a warning; raises AttributeError for any other name."""
    known = network.conditionals
    members = ("copies", "lines", "scales", "units", "n_rows")
    if known is None or name not in (*members, "network", "mean_line_weight"):
        raise AttributeError(f"{type(network).__name__!r} object has no attribute {name!r}")
    instead = {"network": "the network itself", "mean_line_weight": "conditionals.lines"}
    give_warning(
        GomeaBnWarning(
            f"'{name}' is that of an averaged network, which is now the network. The next version drops it.",
            [f"use {instead.get(name, f'conditionals.{name}')}"],
        )
    )
    if name == "network":
        return network
    if name == "mean_line_weight":
        return known.mean_line_weight(network)
    return getattr(known, name)
