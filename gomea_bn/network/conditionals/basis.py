"""Priors of coefficients and scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRECISION = 0.1
"""Precision of the normal prior of intercepts and slopes, in rows of a standard normal column."""
PRIOR_ROWS = 1.0
"""Weight of the inverse-gamma prior of the scale, in rows."""
PRIOR_VARIANCE = 0.02
"""Variance of the inverse-gamma prior."""


def scale_of(squares: NDArray[np.float64] | float, n_rows: float) -> NDArray[np.float64]:
    """Return the scale of residuals from their sum of squares."""
    return np.sqrt((np.asarray(squares) + PRIOR_ROWS * PRIOR_VARIANCE) / (n_rows + PRIOR_ROWS))
