"""Student's t distribution, whose probabilities are read from tables."""

from __future__ import annotations

from functools import lru_cache
from math import asinh, pi
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.scales import LEAST_SPREAD
from gomea_bn.runtime.jit import kernel

# distance of degrees of freedom to 1
_LEAST_DISTANCE = 1e-6
# step of the tables in asinh(t), with a relative error of cubic interpolation below 1e-9
_STEP = 1 / 512
# a smaller tail counts as 0
_LEAST_TAIL = 1e-290


def below_student(freedom: Any, t: Any) -> NDArray[np.float64]:
    """Return P(T <= t) for degrees of freedom above 0, float64 of the broadcast shape.

    The relative error of probabilities up to 1/2 is below 1e-8.
    """
    t, freedom = np.asarray(t, np.float64), np.asarray(freedom, np.float64)
    shape = np.broadcast_shapes(t.shape, freedom.shape) if freedom.ndim else t.shape
    values = np.ascontiguousarray(t if t.shape == shape else np.broadcast_to(t, shape)).ravel()
    result = np.empty(len(values))
    first = float(freedom.flat[0]) if freedom.size else 1.0
    if (freedom == first).all():
        _fill_below(values, *_tail_table(first), result)
    else:
        of_values = np.broadcast_to(freedom, shape).ravel()
        for one in np.unique(freedom).tolist():
            some = np.flatnonzero(of_values == one)
            of_some = np.empty(len(some))
            _fill_below(values[some], *_tail_table(one), of_some)
            result[some] = of_some
    return result.reshape(shape)


@lru_cache(maxsize=256)
def _tail_table(freedom: float) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the log of P(T <= -t) at equal steps of asinh(t), its slopes times the step, and the power of the tail."""
    # from this t on the tail is a power of t, up to the digits of float64
    t = np.sinh(_STEP * np.arange(int(asinh(1e7) / _STEP) + 1))
    tails = scipy.special.stdtr(freedom, -t)
    n = len(t) if (tails > _LEAST_TAIL).all() else int(np.argmax(tails <= _LEAST_TAIL))
    t, logs = t[:n], np.log(tails[:n])
    slopes = -np.exp(log_student(t, freedom) - logs) * np.sqrt(1 + t * t) * _STEP
    return logs, slopes, freedom if tails[-1] > _LEAST_TAIL else np.inf


@kernel
def _fill_below(
    t: NDArray[np.float64], logs: NDArray[np.float64], slopes: NDArray[np.float64], power: float,
    result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write P(T <= t) by cubic interpolation of the log of the tail; see `_tail_table`."""
    last = len(logs) - 1
    for i in range(len(t)):
        size = abs(t[i])
        if np.isnan(size):
            result[i] = np.nan
            continue
        place = np.log(size + np.sqrt(size * size + 1.0)) / _STEP if size < 1e150 else np.inf
        if place < last:
            k = int(place)
            x = place - k
            change = logs[k + 1] - logs[k]
            bend = slopes[k] - change
            log_tail = (
                logs[k] + x * change + x * (1.0 - x) * (bend * (1.0 - x) - (slopes[k + 1] - change) * x)
            )
            tail = np.exp(log_tail)
        elif power == np.inf or size == np.inf:
            tail = 0.0
        else:
            tail = np.exp(logs[last] - power * (np.log(size) - np.log(np.sinh(last * _STEP))))
        result[i] = tail if t[i] < 0 else 1.0 - tail
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
