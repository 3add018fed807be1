"""Mean log densities of rows, computed in threads for tall tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.threads import in_threads

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["mean_log_density"]

# rows whose densities are computed together in a tall table
_ROWS_OF_PART = 1 << 16


def mean_log_density(
    log_density: Callable[[pd.DataFrame], NDArray[np.float64]], frame: pd.DataFrame
) -> float:
    """Return the mean of a log density over rows, in nats; parts of a tall table are computed in threads."""
    n_rows = len(frame)
    if n_rows == 0:
        raise GomeaBnError("frame must have at least one row, got none.")
    if n_rows <= MANY_ROWS:
        return float(log_density(frame).mean())
    parts = range(0, n_rows, _ROWS_OF_PART)
    try:
        sums = in_threads(lambda k: log_density(frame.iloc[k : k + _ROWS_OF_PART]).sum(), parts)
    except GomeaBnError:
        # the message names rows of the whole frame
        return float(log_density(frame).mean())
    return float(np.sum(sums) / n_rows)
