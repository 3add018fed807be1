"""The frequency of edges among several networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike


def edge_frequency(networks: Sequence[NetworkLike]) -> pd.DataFrame:
    """Return the frequency of every arc that occurs in at least one of several networks over the same variables.

    There is one row per (parent, child), the most frequent pairs first. Column `arc` is the share of networks with this
    arc, `adjacent` the share with this arc or its reverse.
    """
    import pandas as pd

    names = networks[0].names
    total = np.zeros((len(names), len(names)))
    for index, network in enumerate(networks):
        if network.names != names:
            raise GomeaBnError(
                f"Networks 0 and {index} have different variables ({', '.join(names)}; "
                f"{', '.join(network.names)}), so their edges cannot be counted together."
            )
        total += network.adjacency_matrix
    parents, children = np.nonzero(total)
    frame = pd.DataFrame(
        {
            "parent": pd.Series([names[position] for position in parents], dtype=object),
            "child": pd.Series([names[position] for position in children], dtype=object),
            "arc": total[parents, children] / len(networks),
            "adjacent": (total + total.T)[parents, children] / len(networks),
        }
    )
    return frame.sort_values(["adjacent", "arc"], ascending=False, kind="stable", ignore_index=True)
