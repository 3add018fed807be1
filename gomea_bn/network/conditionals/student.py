"""Student's t distribution, whose probabilities are read from tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import pi
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.kind import LEAST_MASS
from gomea_bn.network.conditionals.scales import LEAST_SPREAD
from gomea_bn.runtime.jit import kernel

# distance of degrees of freedom to 1
_LEAST_DISTANCE = 1e-6
# pieces of the tables of tails between 1 + |t| = 2^k and 2^(k + 1), with a relative error of the cubics below 1e-9
_LOG_PIECES = 8
_N_PIECES = 2**_LOG_PIECES
# from 2^25 - 1 on a tail is a power of t, up to the digits of float64
_N_DOUBLINGS = 25
# a smaller tail counts as 0
_LEAST_TAIL = 1e-290
# binary digits of float64 behind the point, and the exponent of 1
_DIGITS, _EXPONENT_OF_ONE = 52, 1023


class _Tails(NamedTuple):
    """P(T <= -t) under Student's t distribution with some degrees of freedom, as a function of 1 + t.

    `pieces` (n, 4) are equal parts of the numbers between two powers of 2: the tail at the start, and the coefficients
    of the cubic in the share of the part by which the log of the tail goes on. `last` and `log_tail` are the end of
    the last piece and the log of its tail, from where the tail falls by a `power` of t.
    """

    pieces: NDArray[np.float64]
    last: float
    log_tail: float
    power: float


def below_student(freedom: Any, t: Any) -> NDArray[np.float64]:
    """Return P(T <= t) for degrees of freedom above 0, float64 of the broadcast shape.

    The relative error of probabilities up to 1/2 is below 1e-9.
    """
    return _of_tails(_fill_below, freedom, t)


def student_quantiles(freedom: Any, shares: Any) -> NDArray[np.float64]:
    """Return the t with P(T <= t) = share, as of `below_student`, float64 of the broadcast shape.

    Shares are from 0 to 1, for which it is infinite.
    """
    return _of_tails(_fill_quantiles, freedom, shares)


def student_cells(ends: NDArray[np.float64], means: Any, scales: Any, freedom: Any) -> NDArray[np.float64]:
    """Return the probabilities of cells between increasing ends (n_cells + 1,), which add up to 1 for each centre.

    They are those of Student's t distribution around centres, which broadcast with the scales and the degrees of
    freedom, restricted to the range of the cells: float64 (..., n_cells). They add up to less than 1 where the range
    has hardly any probability.
    """
    shape = np.broadcast_shapes(np.shape(means), np.shape(scales), np.shape(freedom))
    centres, of_scales = _flat(means, shape), _flat(scales, shape)
    result = np.empty((len(centres), len(ends) - 1))
    for some, one in _by_freedom(freedom, shape):
        of_some = result[some]
        _fill_cells(ends, centres[some], of_scales[some], *_tails(one), of_some)
        result[some] = of_some
    return result.reshape(*shape, len(ends) - 1)


def _of_tails(fill: Callable[..., int], freedom: Any, numbers: Any) -> NDArray[np.float64]:
    """Return what a kernel makes of numbers by the tails of their degrees of freedom, of the broadcast shape."""
    shape = np.broadcast_shapes(np.shape(numbers), np.shape(freedom))
    given = _flat(numbers, shape)
    result = np.empty(len(given))
    for some, one in _by_freedom(freedom, shape):
        of_some = result[some]
        fill(given[some], *_tails(one), of_some)
        result[some] = of_some
    return result.reshape(shape)


def _flat(numbers: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return numbers of some shape in one row that may be written, since kernels compile again for other arrays."""
    given = np.asarray(numbers, np.float64)
    is_own = given.shape == shape and given.flags.writeable
    return given.ravel() if is_own else np.broadcast_to(given, shape).flatten()


def _by_freedom(freedom: Any, shape: tuple[int, ...]) -> list[tuple[Any, float]]:
    """Return the degrees of freedom of numbers of some shape, each with the numbers that have them."""
    freedom = np.asarray(freedom, np.float64)
    first = float(freedom.flat[0]) if freedom.size else 1.0
    if (freedom == first).all():
        return [(slice(None), first)]
    of_numbers = np.broadcast_to(freedom, shape).ravel()
    return [(np.flatnonzero(of_numbers == one), one) for one in np.unique(freedom).tolist()]


@lru_cache(maxsize=256)
def _tails(freedom: float) -> _Tails:
    """Return the tails for some degrees of freedom."""
    starts = 2.0 ** np.arange(_N_DOUBLINGS)[:, None] * (1.0 + np.arange(_N_PIECES) / _N_PIECES)
    t = np.append(starts.ravel(), 2.0**_N_DOUBLINGS) - 1.0
    tails = scipy.special.stdtr(freedom, -t)
    n = len(t) if (tails > _LEAST_TAIL).all() else int(np.argmax(tails <= _LEAST_TAIL))
    t, logs = t[:n], np.log(tails[:n])
    slopes = -np.exp(log_student(t, freedom) - logs)
    widths, changes = np.diff(t), np.diff(logs)
    first, last = slopes[:-1] * widths, slopes[1:] * widths
    pieces = [tails[: n - 1], first, 3 * changes - 2 * first - last, first + last - 2 * changes]
    power = freedom if tails[-1] > _LEAST_TAIL else np.inf
    return _Tails(np.column_stack(pieces), float(t[-1]), float(logs[-1]), power)


@kernel
def _below(t: float, pieces: NDArray[np.float64], last: float, log_tail: float, power: float) -> float:
    """Return P(T <= t); see `_Tails`."""
    size = abs(t)
    # both ends are rounded as the place is, which may be the last one
    if 1.0 + size < 1.0 + last:
        # the first binary digits of 1 + size number the pieces, and the others are the share of the piece
        digits = np.float64(1.0 + size).view(np.int64)
        k = (digits >> (_DIGITS - _LOG_PIECES)) - (_EXPONENT_OF_ONE << _LOG_PIECES)
        rest = digits & ((1 << (_DIGITS - _LOG_PIECES)) - 1)
        x = np.float64(rest) / (1 << (_DIGITS - _LOG_PIECES))
        change = x * (pieces[k, 1] + x * (pieces[k, 2] + x * pieces[k, 3]))
        if change > -0.25:
            # the exponential by its series
            factor = 1 + change * (1 + change * (1 / 2 + change * (1 / 6 + change * (1 / 24 + change * (1 / 120
                + change * (1 / 720 + change * (1 / 5040 + change / 40320)))))))  # fmt: skip
        else:
            factor = np.exp(change)
        tail = pieces[k, 0] * factor
    elif np.isnan(size):
        tail = np.nan
    elif power == np.inf or size == np.inf:
        tail = 0.0
    else:
        tail = np.exp(log_tail - power * (np.log(size) - np.log(last)))
    below: float = tail if t < 0 else 1.0 - tail
    return below


@kernel
def _fill_below(
    t: NDArray[np.float64], pieces: NDArray[np.float64], last: float, log_tail: float, power: float,
    result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write P(T <= t); see `_Tails`."""
    for i in range(len(t)):
        result[i] = _below(t[i], pieces, last, log_tail, power)
    return 0


@kernel
def _fill_cells(
    ends: NDArray[np.float64], means: NDArray[np.float64], scales: NDArray[np.float64],
    pieces: NDArray[np.float64], last: float, log_tail: float, power: float, result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the probabilities of `student_cells`."""
    n_cells = result.shape[1]
    for i in range(len(means)):
        total, per_scale = 0.0, 1.0 / scales[i]
        before = _below((ends[0] - means[i]) * per_scale, pieces, last, log_tail, power)
        for k in range(n_cells):
            below = _below((ends[k + 1] - means[i]) * per_scale, pieces, last, log_tail, power)
            result[i, k] = max(below - before, 0.0)
            total += result[i, k]
            before = below
        total = max(total, LEAST_MASS)
        for k in range(n_cells):
            result[i, k] /= total
    return 0


@kernel
def _fill_quantiles(
    shares: NDArray[np.float64], pieces: NDArray[np.float64], last: float, log_tail: float, power: float,
    result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the inverse of `_fill_below`."""
    for i in range(len(shares)):
        tail = min(shares[i], 1.0 - shares[i])
        wanted = np.log(tail) if tail > 0.0 else -np.inf
        if wanted > log_tail:
            k, above = 0, len(pieces)
            while above - k > 1:
                middle = (k + above) // 2
                if pieces[middle, 0] >= tail:
                    k = middle
                else:
                    above = middle
            change = wanted - np.log(pieces[k, 0])
            x = 0.5
            # Newton's method on a cubic that is almost a line
            for _ in range(4):
                a, b, c = pieces[k, 1], pieces[k, 2], pieces[k, 3]
                x -= (x * (a + x * (b + x * c)) - change) / (a + x * (2.0 * b + x * 3.0 * c))
                x = min(max(x, 0.0), 1.0)
            start = 1.0 + (k % _N_PIECES + x) / _N_PIECES
            size = start * 2.0 ** (k // _N_PIECES) - 1.0
        elif power == np.inf or wanted == -np.inf:
            size = np.inf
        else:
            size = last * np.exp((log_tail - wanted) / power)
        result[i] = -size if shares[i] < 0.5 else size
    return 0


def student_distribution(t: Any, freedom: Any, widths: Any = None) -> NDArray[np.float64]:
    """Return P(T <= t) under Student's t distribution with scale 1 around 0, float64 of the broadcast shape.

    With `widths` it is the mean over centres that are uniform in an interval of this width around 0.
    """
    below = below_student(freedom, t)
    if widths is None or not (widths > LEAST_SPREAD).any():
        return np.asarray(below)
    wide = np.maximum(widths, LEAST_SPREAD)
    low, high = (_integral(t + sign * wide / 2, freedom) for sign in (-1, 1))
    return np.asarray(
        np.where(widths > LEAST_SPREAD, np.clip((high - low) / wide, 0.0, 1.0), below), np.float64
    )


def _integral(t: Any, freedom: Any) -> NDArray[np.float64]:
    """Return an integral of Student's distribution function, up to a constant."""
    # 1 degree of freedom has a logarithm, which the formula comes near to
    freedom = np.where(np.abs(freedom - 1.0) < _LEAST_DISTANCE, 1.0 + _LEAST_DISTANCE, freedom)
    with_density = np.exp(log_student(t, freedom)) * (freedom + t * t) / (freedom - 1.0)
    return np.asarray(t * below_student(freedom, t) + with_density)


def student_masses(lows: Any, highs: Any, freedom: Any) -> NDArray[np.float64]:
    """Return the probabilities of intervals under Student's t distribution with scale 1 around 0."""
    # by the tails below the centre, whose differences keep their digits
    is_above = lows > 0
    lows, highs = np.where(is_above, -highs, lows), np.where(is_above, -lows, highs)
    return np.asarray(below_student(freedom, highs) - below_student(freedom, lows))


def log_student(t: NDArray[np.float64], freedom: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the log density of Student's t distribution with scale 1 around 0, float64 (n,)."""
    half = np.asarray(freedom) / 2
    gammas = scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half)
    constant = gammas - 0.5 * np.log(pi * np.asarray(freedom))
    return np.asarray(constant - (half + 0.5) * np.log1p(t**2 / freedom), np.float64)
