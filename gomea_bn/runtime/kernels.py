"""Small compiled functions that kernels share: bits, random numbers, sums, exponentials, and positive systems."""

from __future__ import annotations

from math import sqrt

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


@kernel
def vector_product(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the sum of products of two arrays; several sums are formed at the same time."""
    m = first.shape[0]
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = m // 8 * 8
    for i in range(0, whole, 8):
        s0 += first[i] * second[i]
        s1 += first[i + 1] * second[i + 1]
        s2 += first[i + 2] * second[i + 2]
        s3 += first[i + 3] * second[i + 3]
        s4 += first[i + 4] * second[i + 4]
        s5 += first[i + 5] * second[i + 5]
        s6 += first[i + 6] * second[i + 6]
        s7 += first[i + 7] * second[i + 7]
    for i in range(whole, m):
        s0 += first[i] * second[i]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@kernel
def natural_log(x: float) -> float:
    """Return ln x of a normal number above 0, with an error below a unit in the last place (as fdlibm).

    It takes arithmetic alone, so that loops over several numbers compile to vector code.
    """
    # the number is 2^power (1 + f), and 1 + f lies between the root of 1/2 and that of 2
    bits = float_bits(x) + np.uint64(0x00095F6200000000)
    power = np.int64(bits >> np.uint64(52)) - 1023
    share = np.uint64((bits & np.uint64(0x000FFFFFFFFFFFFF)) + np.uint64(0x3FE6A09E00000000))
    f = share.view(np.float64) - 1.0
    half_square = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    odd = w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    series = even + z * (0.6666666666666735130 + odd)
    # ln 2 in two parts, of which the first has few digits
    low = s * (half_square + series) + power * 1.90821492927058770002e-10
    return low - half_square + f + power * 0.693147180369123816490


@kernel
def exponentials(values: NDArray[np.float64]) -> None:
    """Replace numbers of at most 0 by their exponentials; all below -40 count as that.

    The 256th power of a short series takes arithmetic alone, so that several numbers are done at a time.
    """
    for r in range(values.shape[0]):
        x = max(values[r], -40.0) / 256.0
        y = 1.0 + x * (1.0 / 8.0)
        y = 1.0 + x * (1.0 / 7.0) * y
        y = 1.0 + x * (1.0 / 6.0) * y
        y = 1.0 + x * (1.0 / 5.0) * y
        y = 1.0 + x * (1.0 / 4.0) * y
        y = 1.0 + x * (1.0 / 3.0) * y
        y = 1.0 + x * (1.0 / 2.0) * y
        y = 1.0 + x * y
        y *= y
        y *= y
        y *= y
        y *= y
        y *= y
        y *= y
        y *= y
        values[r] = y * y


@kernel
def eliminate(system: NDArray[np.float64], size: int, width: int, least: NDArray[np.float64]) -> None:
    """Factorise the upper part of a positive definite matrix in place, and solve for the columns beyond it.

    The matrix has `size` rows, and the system `width` columns. The diagonal then has the squares of the pivots, which
    rounding leaves no smaller than `least`, and the rows of the factor are divided by the pivots.
    """
    for k in range(size):
        system[k, k] = max(system[k, k], least[k])
        pivot = sqrt(system[k, k])
        of_pivot = system[k, k + 1 : width]
        for j in range(of_pivot.shape[0]):
            of_pivot[j] /= pivot
        # whole rows are subtracted, which compiles to vector code, unlike sums of products
        for i in range(k + 1, size):
            factor = system[k, i]
            above, below = system[k, i:width], system[i, i:width]
            for j in range(below.shape[0]):
                below[j] -= factor * above[j]


@kernel
def solve_back(system: NDArray[np.float64], size: int) -> float:
    """Turn the last column of an eliminated system into its solution; return twice the promised rise in nats."""
    promise = 0.0
    for k in range(size):
        promise += system[k, size] * system[k, size]
    for k in range(size - 1, -1, -1):
        value = system[k, size]
        for j in range(k + 1, size):
            value -= system[k, j] * system[j, size]
        system[k, size] = value / sqrt(system[k, k])
    return promise


@kernel
def divide_back(system: NDArray[np.float64], size: int, values: NDArray[np.float64]) -> None:
    """Replace what the rows of an eliminated system explain of a target, ``values[:size]``, by its coefficients."""
    for k in range(size - 1, -1, -1):
        value = values[k]
        for j in range(k + 1, size):
            value -= system[k, j] * values[j]
        values[k] = value / sqrt(system[k, k])


@kernel
def divide_forward(system: NDArray[np.float64], size: int, values: NDArray[np.float64]) -> None:
    """Replace a right side of a system that is eliminated already, ``values[:size]``, by what its rows explain."""
    for k in range(size):
        value = values[k]
        for j in range(k):
            value -= system[j, k] * values[j]
        values[k] = value / sqrt(system[k, k])
