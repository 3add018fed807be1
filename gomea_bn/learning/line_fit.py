"""Lines of families, fitted to the rows of a table, and the density of every row with the row left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.family_line import ProbabilityScale, log_line_density

__all__ = ["FittedLine", "fitted_line", "left_out_residuals", "mixture_weight"]

# precision of the normal prior of intercepts and slopes, in rows of a standard normal column
_PRECISION = 0.1
# the scale has an inverse-gamma prior of the weight of one row
_PRIOR_ROWS = 1.0
_PRIOR_VARIANCE = 0.02
# rows of the whole table that the variance of a group is pooled with
_POOLED_ROWS = 8.0
_MOST_STEPS = 500
_STEP_TOLERANCE = 1e-7


@dataclass(frozen=True)
class FittedLine:
    """A line as of `FamilyLine`, apart from its weight, and how well it predicts rows that are left out.

    Attributes
    ----------
    coefficients : ndarray of shape (n_groups, n_parents + 1), float64
    scales, freedom : ndarray of shape (n_groups,), float64
    left_out : ndarray of shape (n_rows,), float64
        Log density of every row on the scale of the column, with the row left out of the fit.
    """

    coefficients: NDArray[np.float64]
    scales: NDArray[np.float64]
    freedom: NDArray[np.float64]
    left_out: NDArray[np.float64]


def fitted_line(
    z: NDArray[np.float64],
    parents: NDArray[np.float64],
    groups: NDArray[np.int64],
    n_groups: int,
    scale: ProbabilityScale,
    min_scale: float,
) -> FittedLine:
    """Return the line that predicts left-out rows best: with slopes of all groups, or of each group.

    Parameters
    ----------
    z : ndarray of shape (n_rows,), float64
        The column on its probability scale.
    parents : ndarray of shape (n_rows, n_parents), float64
        Continuous parents on their scales.
    groups : ndarray of shape (n_rows,), int64
        Configuration of the discrete parents, below `n_groups`.
    scale : ProbabilityScale
        Scale of the column.
    min_scale : float
        Least scale of the residuals, so that repeated values cannot gain density.

    Notes
    -----
    Coefficients have a normal prior, and variances an inverse-gamma prior. The residual of a row that is left out is
    e / (1 - h) with its residual e and leverage h, and its square over (1 - h) leaves the sum of squares (PRESS: Allen,
    "The relationship between variable selection and data augmentation", 1974). The leverage of new rows is replaced by
    its mean. Groups with the same slopes may have other variances; their ratios are estimated first and then fixed.
    """
    shared = _with_shared_slopes(z, parents, groups, n_groups, scale, min_scale)
    if n_groups == 1:
        return shared
    separate = _with_own_slopes(z, parents, groups, n_groups, scale, min_scale, shared)
    return separate if separate.left_out.sum() > shared.left_out.sum() else shared


def left_out_residuals(
    z: NDArray[np.float64], design: NDArray[np.float64], precisions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Return the ridge regression of z on a design, and its residuals with each row left out.

    Parameters
    ----------
    z : ndarray of shape (n,), float64
    design : ndarray of shape (n, q), float64
    precisions : ndarray of shape (q,), float64
        Precisions of the normal prior of the coefficients, relative to that of a residual.

    Returns
    -------
    coefficients : ndarray of shape (q,)
    residuals : ndarray of shape (n,)
        Value minus prediction, with the row left out of the regression.
    squares : ndarray of shape (n,)
        Penalised sum of squares of the regression without the row.
    total : float
        Penalised sum of squares with all rows.
    """
    gram = design.T @ design + np.diag(precisions)
    coefficients = np.asarray(np.linalg.solve(gram, design.T @ z), np.float64)
    leverage = np.einsum("ij,ji->i", design, np.linalg.solve(gram, design.T))
    plain = z - design @ coefficients
    residuals = plain / (1 - leverage)
    total = max(float(z @ z - z @ (design @ coefficients)), 0.0)
    squares = np.maximum(total - plain * residuals, 0.0)
    return coefficients, residuals, squares, total


def _with_shared_slopes(
    z: NDArray[np.float64],
    parents: NDArray[np.float64],
    groups: NDArray[np.int64],
    n_groups: int,
    scale: ProbabilityScale,
    min_scale: float,
) -> FittedLine:
    """Return the line with the same slopes in all groups; intercepts and variances may differ."""
    n_rows, n_parents = parents.shape
    indicators = np.eye(n_groups)[groups] if n_groups > 1 else np.empty((n_rows, 0))
    design = np.column_stack([np.ones(n_rows), parents, indicators])
    precisions = np.full(design.shape[1], _PRECISION)
    counts = np.bincount(groups, minlength=n_groups)
    ratios = np.ones(n_groups)
    if n_groups > 1:
        _, residuals, _, total = left_out_residuals(z, design, precisions)
        of_all = max(total / n_rows, _PRIOR_VARIANCE / n_rows)
        of_groups = np.bincount(groups, residuals**2, minlength=n_groups)
        ratios = np.sqrt((of_groups / of_all + _POOLED_ROWS) / (counts + _POOLED_ROWS))
    weights = 1 / ratios[groups]
    coefficients, residuals, squares, total = left_out_residuals(
        z * weights, design * weights[:, None], precisions
    )
    wider = np.sqrt(1 + design.shape[1] / n_rows)
    scales = np.maximum(_scale(total, n_rows) * wider * ratios, min_scale)
    left_out = log_line_density(
        z,
        z - residuals * ratios[groups],
        np.maximum(_scale(squares, n_rows - 1) * wider * ratios[groups], min_scale),
        n_rows - 1 + _PRIOR_ROWS,
        scale,
    )
    intercepts = coefficients[0] + (coefficients[1 + n_parents :] if n_groups > 1 else np.zeros(1))
    slopes = np.tile(coefficients[1 : 1 + n_parents], (n_groups, 1))
    freedom = np.full(n_groups, n_rows + _PRIOR_ROWS)
    return FittedLine(np.column_stack([intercepts, slopes]), scales, freedom, left_out)


def _with_own_slopes(
    z: NDArray[np.float64],
    parents: NDArray[np.float64],
    groups: NDArray[np.int64],
    n_groups: int,
    scale: ProbabilityScale,
    min_scale: float,
    shared: FittedLine,
) -> FittedLine:
    """Return one regression per group; a group without rows has the line with shared slopes."""
    coefficients, scales, freedom = shared.coefficients.copy(), shared.scales.copy(), shared.freedom.copy()
    left_out = np.empty(len(z))
    for group in range(n_groups):
        rows = np.flatnonzero(groups == group)
        n_rows = len(rows)
        if n_rows == 0:
            continue
        design = np.column_stack([np.ones(n_rows), parents[rows]])
        precisions = np.full(design.shape[1], _PRECISION)
        of_group, residuals, squares, total = left_out_residuals(z[rows], design, precisions)
        wider = np.sqrt(1 + design.shape[1] / n_rows)
        coefficients[group] = of_group
        scales[group] = max(float(_scale(total, n_rows)) * wider, min_scale)
        freedom[group] = n_rows + _PRIOR_ROWS
        left_out[rows] = log_line_density(
            z[rows],
            z[rows] - residuals,
            np.maximum(_scale(squares, n_rows - 1) * wider, min_scale),
            n_rows - 1 + _PRIOR_ROWS,
            scale,
        )
    return FittedLine(coefficients, scales, freedom, left_out)


def _scale(squares: NDArray[np.float64] | float, n_rows: int) -> NDArray[np.float64]:
    """Return the scale of residuals from their sum of squares."""
    return np.sqrt((np.asarray(squares) + _PRIOR_ROWS * _PRIOR_VARIANCE) / (n_rows + _PRIOR_ROWS))


def mixture_weight(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the weight of the second of two densities with which their mixture fits rows best.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows,), float64
        Log densities of rows that were left out of the fit of either.

    Returns
    -------
    float
        Weight by expectation maximisation, between 0 and 1 - 1 / (n_rows + 1): the next row may be one that the second
        density cannot predict.
    """
    ratio = np.exp(np.clip(second - first, -700, 700))
    weight = 0.5
    for _ in range(_MOST_STEPS):
        before, weight = weight, float(np.mean(weight * ratio / (1 - weight + weight * ratio)))
        if abs(weight - before) < _STEP_TOLERANCE:
            break
    return min(weight, 1 - 1 / (len(first) + 1))
