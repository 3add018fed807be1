"""Which network of a front is its knee, beyond which added complexity no longer pays."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.front import choice
from gomea_bn.front.objectives import COMPLEXITY, EXPERT_DISTANCE, MISFIT

KneeMethod: TypeAlias = Literal["aic", "left-out", "hyperplane"]

# standard errors of a mean of n differences that have a standard deviation of 1 nat
_MARGIN = 2.0


def knee_row(
    values: NDArray[np.float64],
    names: Sequence[str],
    n_rows: int | None,
    method: KneeMethod | None,
    *,
    leaves_rows_out: bool,
) -> int:
    """Return the row of the knee, of values float64 (n_networks, n_objectives); `Front.knee` describes the methods.

    The default depends on whether the misfit leaves every row out of its own tables. "aic" and "left-out" without
    misfit, complexity or the number of rows raise `GomeaBnError`.
    """
    if method is None:
        has_prices = {MISFIT.name, COMPLEXITY.name} <= set(names) and n_rows is not None
        others = set(names) - {MISFIT.name, COMPLEXITY.name, EXPERT_DISTANCE.name}
        priced: KneeMethod = "left-out" if leaves_rows_out else "aic"
        method = priced if has_prices and not others else "hyperplane"
    if method == "hyperplane":
        return choice.hyperplane_knee(values)
    n_rows = _checked_rows(method, names, n_rows)
    prices = {MISFIT.name: 1.0, COMPLEXITY.name: 1.0 / n_rows}
    rows = np.arange(len(values))
    if method == "left-out":
        misfits = values[:, list(names).index(MISFIT.name)]
        rows = np.flatnonzero(misfits <= misfits.min() + _MARGIN / sqrt(n_rows))
    chosen = choice.price_choice(values[rows], np.array([prices.get(name, 0.0) for name in names]))
    return int(rows[chosen])


def _checked_rows(method: str, names: Sequence[str], n_rows: int | None) -> int:
    """Return the number of rows, after a check that a method with prices can be used."""
    missing = [name for name in (MISFIT.name, COMPLEXITY.name) if name not in names]
    if missing:
        raise GomeaBnError(
            f"method={method!r} needs the objective '{missing[0]}'; the front has {', '.join(names)}. Use "
            "method='hyperplane'."
        )
    if n_rows is None:
        raise GomeaBnError(
            f"method={method!r} needs the number of rows: give the front its table or record={{'n_rows': ...}}."
        )
    return n_rows
