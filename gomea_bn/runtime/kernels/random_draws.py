"""Random numbers for kernels, from NumPy's generators and without allocation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel


@kernel
def random_below(generator: np.random.Generator, n: int) -> int:
    """Return a uniform integer in [0, n) from one draw; ``Generator.integers`` would allocate an array per call."""
    return int(generator.random() * n)


@kernel
def shuffle(generator: np.random.Generator, order: NDArray[np.int64]) -> None:
    """Permute `order`, shape (n,), uniformly in place."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = random_below(generator, i + 1)
        order[i], order[j] = order[j], order[i]
