"""B-splines, and monotone curves through points, to the bit those of SciPy, whose import takes half a second."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spline_parts(
    knots: NDArray[np.float64], degree: int, places: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the first B-spline that is not 0 at each place, int64 (n,), and the values of it and the next ones.

    The values, float64 (degree + 1, n), follow de Boor's recursion ("On calculating with B-splines", 1972). Outside the
    knots the polynomials at the ends go on.
    """
    last = len(knots) - degree - 2
    interval = np.clip(np.searchsorted(knots, places, side="right") - 1, degree, last)
    values = np.zeros((degree + 1, len(places)))
    values[0] = 1.0
    for order in range(1, degree + 1):
        former = values[:order].copy()
        values[0] = 0.0
        for n in range(1, order + 1):
            above, below = knots[interval + n], knots[interval + n - order]
            width = above - below
            is_wide = width != 0.0
            share = former[n - 1] / np.where(is_wide, width, 1.0)
            # between equal knots there is nothing
            values[n - 1] += np.where(is_wide, share * (above - places), 0.0)
            values[n] = np.where(is_wide, share * (places - below), 0.0)
    return interval - degree, values


def spline_values(
    knots: NDArray[np.float64], coefficients: NDArray[np.float64], degree: int, places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sums of B-splines at places of any shape; coefficients are (n_splines, size), values (..., size)."""
    first, parts = spline_parts(knots, degree, places.ravel())
    values = np.zeros((len(first), coefficients.shape[1]))
    for k, part in enumerate(parts):
        values += coefficients[first + k] * part[:, None]
    return values.reshape(*places.shape, coefficients.shape[1])


def spline_design(
    knots: NDArray[np.float64], degree: int, places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return all B-splines at places, float64 (n, n_splines)."""
    first, parts = spline_parts(knots, degree, places)
    design = np.zeros((len(places), len(knots) - degree - 1))
    rows = np.arange(len(places))
    for k, part in enumerate(parts):
        design[rows, first + k] = part
    return design


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
