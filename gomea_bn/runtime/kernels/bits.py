"""Operations on the bits of words, for kernels."""

from __future__ import annotations

import numpy as np

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
