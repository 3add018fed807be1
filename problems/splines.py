"""B-splines, and monotone curves through points, to the bit those of SciPy, whose import takes half a second."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel, read_only


def spline_values(
    knots: NDArray[np.float64], coefficients: NDArray[np.float64], degree: int, places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sums of B-splines at places of any shape; coefficients are (n_splines, size), values (..., size).

    Outside the knots the polynomials at the ends go on.
    """
    values = np.empty((places.size, coefficients.shape[1]))
    _fill_sums(
        _as_read(knots), _as_read(coefficients), degree, _as_read(places.ravel()), *_parts(degree), values
    )
    return values.reshape(*places.shape, coefficients.shape[1])


def spline_design(
    knots: NDArray[np.float64], degree: int, places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return all B-splines at places, float64 (n, n_splines)."""
    design = np.zeros((len(places), len(knots) - degree - 1))
    _fill_design(_as_read(knots), degree, _as_read(places), *_parts(degree), design)
    return design


def _as_read(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array in the one form that kernels are compiled for."""
    return read_only(np.ascontiguousarray(array, np.float64))


def _parts(degree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return room for the values of the B-splines that are not 0 at a place, and for those of one degree less."""
    return np.empty(degree + 1), np.empty(degree + 1)


@kernel
def _set_parts(
    knots: NDArray[np.float64], degree: int, place: float,
    parts: NDArray[np.float64], former: NDArray[np.float64],
) -> int:  # fmt: skip
    """Set the values of the B-splines that are not 0 at a place, and return the number of the first of them.

    The values follow de Boor's recursion ("On calculating with B-splines", 1972).
    """
    # without branches, which the processor cannot predict
    interval, n_left = 0, len(knots)
    while n_left > 1:
        half = n_left // 2
        interval += half if knots[interval + half] <= place else 0
        n_left -= half
    interval = min(max(interval, degree), len(knots) - degree - 2)
    parts[0] = 1.0
    for order in range(1, degree + 1):
        for k in range(order):
            former[k] = parts[k]
        parts[0] = 0.0
        for k in range(1, order + 1):
            above, below = knots[interval + k], knots[interval + k - order]
            width = above - below
            # between equal knots there is nothing
            share = former[k - 1] / width if width != 0.0 else 0.0
            parts[k - 1] += share * (above - place)
            parts[k] = share * (place - below)
    return interval - degree


@kernel
def _fill_sums(
    knots: NDArray[np.float64], coefficients: NDArray[np.float64], degree: int, places: NDArray[np.float64],
    parts: NDArray[np.float64], former: NDArray[np.float64], values: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the values of `spline_values`."""
    for row in range(len(places)):
        first = _set_parts(knots, degree, places[row], parts, former)
        for column in range(coefficients.shape[1]):
            total = 0.0
            for k in range(degree + 1):
                total += coefficients[first + k, column] * parts[k]
            values[row, column] = total
    return 0


@kernel
def _fill_design(
    knots: NDArray[np.float64], degree: int, places: NDArray[np.float64],
    parts: NDArray[np.float64], former: NDArray[np.float64], design: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the B-splines of `spline_design` that are not 0."""
    for row in range(len(places)):
        first = _set_parts(knots, degree, places[row], parts, former)
        for k in range(degree + 1):
            design[row, first + k] = parts[k]
    return 0


def differentiated(
    knots: NDArray[np.float64], coefficients: NDArray[np.float64], degree: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return the knots, coefficients and degree of the derivatives of sums of B-splines."""
    widths = knots[degree + 1 : -1] - knots[1 : -degree - 1]
    return knots[1:-1], np.diff(coefficients, axis=0) * degree / widths[:, None], degree - 1


def monotone_curve(
    places: NDArray[np.float64], heights: NDArray[np.float64], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the monotone piecewise cubic curve through the heights at two or more places, at others, float64 (n,).

    Slopes are those of Fritsch and Butland, "A method for constructing local monotone piecewise cubic interpolants"
    (1984).
    """
    widths = np.diff(places)
    rises = np.diff(heights) / widths
    slopes = np.zeros(len(places))
    signs = np.sign(rises)
    is_steady = (signs[1:] == signs[:-1]) & (rises[1:] != 0.0) & (rises[:-1] != 0.0)
    before, after = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (before / rises[:-1] + after / rises[1:]) / (before + after)
        slopes[1:-1] = np.where(is_steady, 1.0 / means, 0.0)
    if len(rises) == 1:
        slopes[:] = rises
    else:
        slopes[0] = _slope_at_end(widths[0], widths[1], rises[0], rises[1])
        slopes[-1] = _slope_at_end(widths[-1], widths[-2], rises[-1], rises[-2])
    bend = (slopes[:-1] + slopes[1:] - 2 * rises) / widths
    piece = np.clip(np.searchsorted(places, at, side="right") - 1, 0, len(widths) - 1)
    beyond = at - places[piece]
    values = heights[piece] + slopes[piece] * beyond
    power = beyond * beyond
    values += ((rises - slopes[:-1]) / widths - bend)[piece] * power
    return np.asarray(values + (bend / widths)[piece] * (power * beyond), np.float64)


def _slope_at_end(width: float, next_width: float, rise: float, next_rise: float) -> float:
    """Return the slope at an end by three points, moved where the curve would otherwise turn."""
    slope = ((2 * width + next_width) * rise - width * next_rise) / (width + next_width)
    if np.sign(slope) != np.sign(rise):
        return 0.0
    if np.sign(rise) != np.sign(next_rise) and abs(slope) > 3.0 * abs(rise):
        return 3.0 * rise
    return float(slope)
