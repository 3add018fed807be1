"""Operations on the bits of words, for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from gomea_bn.runtime.jit import kernel

__all__ = ["bit_count", "float_bits", "lowest_bit"]

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


@intrinsic
def float_bits(_typing_context: Any, _value: Any) -> Any:
    """Return the 64 bits of a float as a word; callable from kernels only."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), generate
