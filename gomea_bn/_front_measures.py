"""What can be measured on a front as a whole: its quality by moocore, and how often its networks share edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn._front_choice import scaled
from gomea_bn._objectives import check_point, check_values
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network import DiscretizedBayesNet

__all__ = ["edge_frequency", "hypervolume", "igd_plus"]


def hypervolume(
    values: NDArray[np.float64],
    names: Sequence[str],
    reference: ArrayLike | None,
    ideal: ArrayLike | None,
    nadir: ArrayLike | None,
) -> float:
    """Return the hypervolume of values (n, m) scaled by `ideal` and `nadir`; see `Front.hypervolume`."""
    import moocore

    low = values.min(axis=0) if ideal is None else check_point(ideal, names, "ideal")
    high = values.max(axis=0) if nadir is None else check_point(nadir, names, "nadir")
    for name, one, other in zip(names, low.tolist(), high.tolist(), strict=True):
        if one > other:
            raise GomeaBnError(f"ideal must not exceed nadir, got {one!r} and {other!r} for '{name}'.")
    corner = check_point(1.1 if reference is None else reference, names, "reference")
    return float(moocore.hypervolume(scaled(values, low, high), ref=corner))


def igd_plus(values: NDArray[np.float64], names: Sequence[str], reference_values: ArrayLike) -> float:
    """Return IGD+ of values (n, m) to reference values (k, m), scaled by those; see `Front.igd_plus`."""
    import moocore

    wanted = check_values(reference_values, names, "reference_front")
    low, high = wanted.min(axis=0), wanted.max(axis=0)
    return float(moocore.igd_plus(scaled(values, low, high), ref=scaled(wanted, low, high)))


def edge_frequency(networks: Sequence[DiscretizedBayesNet]) -> pd.DataFrame:
    """Return how often each arc occurs in networks over the same variables; see `Front.edge_frequency`."""
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
            "parent": pd.Series([names[place] for place in parents], dtype=object),
            "child": pd.Series([names[place] for place in children], dtype=object),
            "arc": total[parents, children] / len(networks),
            "adjacent": (total + total.T)[parents, children] / len(networks),
        }
    )
    return frame.sort_values(["adjacent", "arc"], ascending=False, kind="stable", ignore_index=True)
