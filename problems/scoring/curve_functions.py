"""The functions of a column of which smooth curves are sums: levels, a line, and curves by roughness."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

_INNER_KNOTS = 8
_DEGREE = 3
_LEAST_EIGENVALUE = 1e-6


class LevelFunctions:
    """Indicators of the levels that occur, scaled to a standard deviation of 1."""

    def __init__(self, codes: NDArray[np.int32], n_levels: int) -> None:
        self._codes = codes
        share = np.bincount(codes, minlength=n_levels) / len(codes)
        self._used = np.flatnonzero((share > 0) & (share < 1))
        self._scale = 1 / np.sqrt(share[self._used] * (1 - share[self._used]))
        self.roughness = np.zeros(len(self._used))

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        codes = self._codes[first:last]
        return np.asarray((codes[:, None] == self._used) * self._scale, np.float64)


class SmoothFunctions:
    """A line, and curves that are orthogonal to it and to each other, by increasing roughness.

    The curves are the first functions of a Demmler-Reinsch basis of cubic splines: orthogonal over the rows, and with
    orthogonal second derivatives (Demmler & Reinsch, "Oscillation matrices with spline smoothing", 1975). Their
    roughness is the integral of the squared second derivative, relative to that of the first curve.
    """

    def __init__(self, scores: NDArray[np.float64], n_functions: int) -> None:
        self._scores = scores
        distinct, counts = np.unique(scores, return_counts=True)
        share = counts / len(scores)
        self._mean = float(share @ distinct)
        self._deviation = float(np.sqrt(share @ (distinct - self._mean) ** 2))
        low, high = float(distinct[0]), float(distinct[-1])
        inner = np.linspace(low, high, _INNER_KNOTS + 2)
        self._knots = np.concatenate([[low] * _DEGREE, inner, [high] * _DEGREE])
        design = self._splines(distinct)
        values, vectors = scipy.linalg.eigh(design.T @ (design * share[:, None]))
        is_kept = values > _LEAST_EIGENVALUE * values[-1]
        orthonormal = vectors[:, is_kept] / np.sqrt(values[is_kept])
        roughness, rotation = scipy.linalg.eigh(orthonormal.T @ _second_products(self._knots) @ orthonormal)
        # the first two are smooth everywhere: a constant and the line
        n_curves = min(n_functions - 1, len(roughness) - 2, len(distinct) - 2)
        chosen = slice(2, 2 + max(n_curves, 0))
        self._curves = (orthonormal @ rotation)[:, chosen]
        relative = roughness[chosen] / roughness[2] if n_curves > 0 else np.empty(0)
        self.roughness = np.concatenate([[0.0], relative])

    def _splines(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(
            scipy.interpolate.BSpline.design_matrix(scores, self._knots, _DEGREE).toarray(), np.float64
        )

    def of_rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the functions of some rows, float64 (n_rows, n_functions)."""
        scores = self._scores[first:last]
        line = (scores - self._mean) / self._deviation
        if not self._curves.shape[1]:
            return line[:, None]
        return np.column_stack([line, self._splines(scores) @ self._curves])


def _second_products(knots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integrals of products of second derivatives of cubic splines, which are linear between knots."""
    n_splines = len(knots) - _DEGREE - 1
    ends = np.unique(knots)
    # Simpson's rule is exact for the products, parabolas between knots
    places = np.concatenate([ends, (ends[1:] + ends[:-1]) / 2])
    widths = np.diff(ends)
    weights = np.zeros(len(places))
    weights[: len(ends) - 1] += widths / 6
    weights[1 : len(ends)] += widths / 6
    weights[len(ends) :] = widths * 4 / 6
    second = scipy.interpolate.BSpline(knots, np.eye(n_splines), _DEGREE).derivative(2)(places)
    return np.asarray(second.T @ (second * weights[:, None]), np.float64)
