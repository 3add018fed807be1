"""Quality measures of a whole front: hypervolume and IGD+, computed by moocore."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.front.choice import scaled
from gomea_bn.front.objectives import check_point, check_values


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
    for name, best, worst in zip(names, low.tolist(), high.tolist(), strict=True):
        if best > worst:
            raise GomeaBnError(f"ideal must not exceed nadir, got {best!r} and {worst!r} for '{name}'.")
    corner = check_point(1.1 if reference is None else reference, names, "reference")
    return float(moocore.hypervolume(scaled(values, low, high), ref=corner))


def igd_plus(values: NDArray[np.float64], names: Sequence[str], reference_values: ArrayLike) -> float:
    """Return IGD+ of values (n, m) to reference values (k, m), scaled by those; see `Front.igd_plus`."""
    import moocore

    points = check_values(reference_values, names, "reference_front")
    low, high = points.min(axis=0), points.max(axis=0)
    return float(moocore.igd_plus(scaled(values, low, high), ref=scaled(points, low, high)))
