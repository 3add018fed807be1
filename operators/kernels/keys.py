"""Compiled keys and comparisons of solutions: equality of genotypes, grid boxes, and dominance."""

from __future__ import annotations

from math import floor

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import float_bits

# adding and subtracting 2**12 times a number drops the low 12 of its 53 bits (Veltkamp's splitting)
_SPLIT = 4097.0


@kernel
def canonical(value: float) -> float:
    """Return `value` rounded to 41 bits, so that sums of the same terms in any order are equal."""
    if not -1e290 < value < 1e290:
        return value
    scaled = value * _SPLIT
    # adding 0 turns -0 into 0
    return scaled - (scaled - value) + 0.0


@kernel
def mixed(key: np.uint64, word: np.uint64) -> np.uint64:
    """Return a key that depends on every bit of another key and a word."""
    key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(32))


@kernel
def genotype_key(genotype: NDArray[np.int16]) -> np.uint64:
    """Return a 64-bit key of a genotype (l,)."""
    key = np.uint64(0x243F6A8885A308D3)
    for g in range(genotype.shape[0]):
        key = mixed(key, np.uint64(genotype[g]))
    return key


@kernel
def box_key(widths: NDArray[np.float64], f: NDArray[np.float64]) -> np.uint64:
    """Return a 64-bit key of the grid's box around objectives f (m,), or of f itself where the grid is off."""
    key = np.uint64(0x13198A2E03707344)
    for j in range(f.shape[0]):
        if widths[j] > 0.0:
            key = mixed(key, np.uint64(np.int64(floor(f[j] / widths[j]))))
        else:
            key = mixed(key, float_bits(f[j]))
    return key


@kernel
def compare(f: NDArray[np.float64], g: NDArray[np.float64]) -> int:
    """Return -1 if f (m,) Pareto-dominates g, 1 if g dominates f, 0 if they are equal, 2 if neither dominates."""
    less, more = False, False
    for j in range(f.shape[0]):
        if f[j] < g[j]:
            less = True
        elif f[j] > g[j]:
            more = True
    if less:
        return 2 if more else -1
    return 1 if more else 0
