"""Small compiled functions that the kernels of all packages share: bits of words, and random numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

_ONE = np.uint64(1)


@kernel
def bit_count(word: np.uint64) -> int:
    """Return the number of ones in a word; the compiler turns this into one instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def lowest_bit(word: np.uint64) -> int:
    """Return the index of the lowest one in a word other than zero."""
    return bit_count((word & (~word + _ONE)) - _ONE)


@kernel
def float_bits(value: float) -> np.uint64:
    """Return the 64 bits of a float as a word."""
    return np.float64(value).view(np.uint64)


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
