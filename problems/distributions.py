"""Distributions in scores as in networks: counts, and the priors of coefficients and of the scales of noise."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

PRECISION = 0.1
"""Precision of the normal prior of intercepts and slopes, in rows of a standard normal column."""
PRIOR_ROWS = 1.0
"""Weight of the inverse-gamma prior of the variance of residuals, in rows."""
PRIOR_VARIANCE = 0.02
"""Variance of the inverse-gamma prior, relative to that of the column."""


MOST_COUNT = 255
"""Largest number of a column of counts."""
COUNT_SIZES = (np.inf, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25)
"""Sizes of the distribution of a count; the variance is mean + mean^2 / size."""


def are_counts(values: NDArray[np.float64]) -> bool:
    """Return whether values may be counts: at least three whole numbers from about 0 on, none of them large."""
    is_whole = values.min() >= 0 and values.max() <= MOST_COUNT and bool((values == np.round(values)).all())
    # a column of counts has at least three numbers, the least of them at most ten
    return is_whole and values.min() <= 10 and len(np.unique(values)) >= 3


def count_constants(numbers: NDArray[Any], size: float) -> NDArray[np.float64]:
    """Return the part of the log probabilities of counts that depends on them alone, float64 (n,)."""
    constants = -scipy.special.gammaln(numbers + 1.0)
    if size < np.inf:
        constants += scipy.special.gammaln(numbers + size) - scipy.special.gammaln(size) - numbers * log(size)
    return np.asarray(constants, np.float64)


def log_probabilities_of_counts(
    numbers: NDArray[Any], logs: NDArray[np.float64], size: float
) -> NDArray[np.float64]:
    """Return the log probabilities of counts, float64, given the logarithms of their means, which broadcast."""
    constants = count_constants(numbers, size)
    if size == np.inf:
        return np.asarray(numbers * logs - np.exp(logs) + constants, np.float64)
    return np.asarray(
        numbers * logs - (numbers + size) * np.log1p(np.exp(logs) / size) + constants, np.float64
    )
