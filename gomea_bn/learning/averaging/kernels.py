"""Kernels of the fits of conditionals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.distributions import PRIOR_ROWS, PRIOR_VARIANCE
from gomea_bn.runtime.jit import kernel

# rows of the whole table that the variance of a group is pooled with
_POOLED_ROWS = 8.0
_LEAST_VARIANCE = 1e-12
_SCALE_STEPS = 8


@kernel
def fill_group_scales(
    residuals: NDArray[np.float64], groups: NDArray[np.int64], freedom: float,
    counts: NDArray[np.float64], sums: NDArray[np.float64], scales: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the scale of residuals in every group (n_groups,), drawn towards that of all rows.

    Sums of squares are divided by those of the weights, with which few steps of expectation and maximisation suffice
    (Kent, Tyler & Vardi, "A curious likelihood identity for the multivariate t-distribution", 1994). `counts` and
    `sums` (n_groups,) are room for them.
    """
    n_groups = len(scales)
    for step in range(1 if freedom == np.inf else _SCALE_STEPS):
        for group in range(n_groups):
            counts[group] = 0.0
            sums[group] = 0.0
        for row in range(len(residuals)):
            group = groups[row]
            square = residuals[row] * residuals[row]
            share = 1.0 if step == 0 else (freedom + 1.0) / (freedom + square / scales[group])
            counts[group] += share
            sums[group] += share * square
        n_rows, total = 0.0, 0.0
        for group in range(n_groups):
            n_rows += counts[group]
            total += sums[group]
        of_all = (total + PRIOR_ROWS * PRIOR_VARIANCE) / (n_rows + PRIOR_ROWS)
        for group in range(n_groups):
            variance = (sums[group] + _POOLED_ROWS * of_all) / (counts[group] + _POOLED_ROWS)
            scales[group] = max(of_all if n_groups == 1 else variance, _LEAST_VARIANCE)
    for group in range(n_groups):
        scales[group] = np.sqrt(scales[group])
    return 0
