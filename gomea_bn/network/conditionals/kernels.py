"""Compiled sums of the cells of tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel


@kernel
def add_cells(
    flat: NDArray[np.float64], of_rows: NDArray[np.int64], of_numbers: NDArray[np.int64],
    total: NDArray[np.float64],
) -> int:  # fmt: skip
    """Add the cells of a flattened table at the sums of two places, for all pairs of them."""
    for i in range(len(of_rows)):
        for j in range(len(of_numbers)):
            total[i, j] += flat[of_rows[i] + of_numbers[j]]
    return 0
