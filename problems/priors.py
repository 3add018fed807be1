"""Priors of coefficients and of the scales of noise, in scores as in networks."""

from __future__ import annotations

PRECISION = 0.1
"""Precision of the normal prior of intercepts and slopes, in rows of a standard normal column."""
PRIOR_ROWS = 1.0
"""Weight of the inverse-gamma prior of the variance of residuals, in rows."""
PRIOR_VARIANCE = 0.02
"""Variance of the inverse-gamma prior, relative to that of the column."""
