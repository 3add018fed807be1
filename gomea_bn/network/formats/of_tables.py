"""The part of a network that files and objects of other programs hold: its tables."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from gomea_bn.errors import GomeaBnWarning
from gomea_bn.texts import counted, listed, shown_name

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["for_export"]

_MOST_NAMED = 5


def for_export(network: NetworkLike, target: str) -> NetworkLike:
    """Return the network without curve edges, with a warning if there are some.

    Parameters
    ----------
    network : NetworkLike
    target : str
        The program or format, for the warning.
    """
    left_out = network.curve_edges
    if not left_out:
        return network
    edges = listed([f"{shown_name(parent)} → {shown_name(child)}" for parent, child in left_out], _MOST_NAMED)
    warnings.warn(
        GomeaBnWarning(
            f"The export to {target} holds probability tables, so it leaves out "
            f"{counted(len(left_out), 'edge')} that only curves need: {edges}.",
            ["write JSON, which keeps everything"],
        ),
        stacklevel=4,
    )
    return network.without_curve_edges()
