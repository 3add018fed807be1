"""The fits of the logit of a discrete column and of a column of counts, and the log density of left-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.content_order import FIXED_SEED
from gomea_bn.learning.averaging.effects_fit import TOLERANCE, Design
from gomea_bn.learning.averaging.stacks import Member
from gomea_bn.learning.averaging.target_fit import LevelOdds
from gomea_bn.network.conditionals.family_counts import FamilyCounts, fitted_count
from gomea_bn.network.conditionals.family_logit import FamilyLogit, derivatives, log_levels
from gomea_bn.network.conditionals.kind import ColumnFacts
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.conditionals.terms import Terms
from gomea_bn.problems.curve_parts import new_logit_scratch
from gomea_bn.problems.distributions import COUNT_SIZES, log_probabilities_of_counts
from gomea_bn.problems.kernels.cells import CellData, factor_of_amounts
from gomea_bn.problems.kernels.counts import LEAST_OF_AMOUNTS
from gomea_bn.problems.kernels.logits import (
    MOST_LEVELS,
    MOST_TERMS,
    LogitData,
    logit_gain,
    several_indices_gain,
    start_logit,
)

# rows that a level has which the fit does not see
_ROWS_OF_OTHERS = 0.5
MOST_LEVERAGE = 0.9
RIDGE = 1e-6


@dataclass(frozen=True)
class LogitRows:
    """Rows of a discrete column, and terms of its parents.

    `levels`, int64 (n_rows,) below `n_levels`, are those of the column. Each of them may have an index. Those
    `in_order` have positions at equal distances, and so have levels without rows.
    """

    levels: NDArray[np.int64]
    n_levels: int
    design: Design
    has_several: bool = False
    in_order: bool = False


def fitted_logit(
    rows: LogitRows,
    parents: tuple[str, ...],
    groups: tuple[str, ...],
    places: Mapping[str, NDArray[np.float64]],
) -> Member | None:
    """Return the logit of some terms, and the log probabilities of left-out rows; None for one or many levels.

    `places`, float64 (n_rows,), are those of continuous parents on their scales.
    """
    n_present = len(np.unique(rows.levels))
    if not 2 <= n_present <= MOST_LEVELS or rows.design.columns.shape[1] > MOST_TERMS:
        return None
    order = np.random.default_rng(FIXED_SEED).permutation(len(rows.levels))
    return _Fit(rows, order).fitted(rows, parents, groups, places)


class _Fit:
    """The logit of rows in random order that maximises the posterior under some terms."""

    def __init__(self, rows: LogitRows, order: NDArray[np.int64]) -> None:
        design = rows.design.columns[order]
        deviations = design.std(axis=0)
        # a term that is the same in all rows has the coefficient 0
        self._deviations = np.where(deviations > 0, deviations, 1.0)
        levels = rows.levels[order]
        self._present, codes, counts = np.unique(levels, return_inverse=True, return_counts=True)
        self._n_levels, size = rows.n_levels, design.shape[1]
        shares = counts / len(codes)
        terms = design / self._deviations
        # every row is a cell, so that nothing is rounded
        by_row = (
            np.arange(len(codes), dtype=np.int32)[None],
            np.array([len(codes)]),
            np.ascontiguousarray(terms.T),
        )
        data = LogitData(
            CellData(*by_row, *by_row, np.zeros(size, np.int64)),
            codes[None].astype(np.uint8),
            np.array([len(counts)]),
            shares[None],
            np.array([size]),
            np.zeros(1),
            1.0,
        )
        scratch = new_logit_scratch(data.cells, len(counts))
        precisions, of_amounts = (scratch.cells.parameters[row, 1 : size + 1] for row in (2, 5))
        precisions[:] = rows.design.precisions
        of_amounts[:] = rows.design.of_amounts / self._deviations**2
        if rows.has_several:
            several_indices_gain(data, scratch, np.arange(size), 0, size, -np.inf)
            self._precisions = precisions * scratch.state[0] + of_amounts
            return
        start_logit(
            data,
            scratch,
            _eliminated(terms, codes, shares, rows.design.precisions),
            0,
            size,
            float(len(codes)),
            rows.in_order,
        )
        self._in_order = rows.in_order
        if rows.in_order and np.ptp(self._present) >= len(counts):
            # a level without rows between others is a step, too
            steps = self._present - shares @ self._present
            scratch.levels[1, : len(counts)] = steps / np.sqrt(shares @ steps**2)
        logit_gain(data, scratch, np.arange(size), 0, size, rows.in_order)
        # the same probabilities, with positions of mean 0 and variance 1 over the rows
        self._constants, positions = scratch.levels[:2, : len(counts)].copy()
        positions -= shares @ positions
        scale = float(np.sqrt(shares @ positions**2))
        self._positions = positions / scale
        self._intercept = scale * scratch.cells.parameters[0, 0]
        self._coefficients = scale * scratch.cells.parameters[0, 1 : size + 1]
        self._precisions = (precisions * scratch.state[0] + of_amounts) / scale**2

    def fitted(
        self,
        rows: LogitRows,
        parents: tuple[str, ...],
        groups: tuple[str, ...],
        places: Mapping[str, NDArray[np.float64]],
    ) -> Member:
        """Return the logit with the log probabilities of all rows, in any order, each left out of the fit."""
        design = rows.design.columns
        if rows.has_several:
            return self._of_levels(rows, parents, groups)
        slopes = self._coefficients / self._deviations
        positions, constants = np.zeros(self._n_levels), np.full(self._n_levels, -np.inf)
        positions[self._present] = self._positions
        if self._in_order and len(self._present) < self._n_levels:
            first, last = self._present[[0, -1]]
            step = (self._positions[-1] - self._positions[0]) / (last - first)
            positions = self._positions[0] + step * (np.arange(self._n_levels) - first)
        constants[self._present] = self._constants + self._positions * self._intercept
        prior = self._precisions * self._deviations**2
        index = design @ slopes
        # a level without rows has the probability of half a row
        norm = scipy.special.logsumexp(
            constants[self._present] + positions[self._present] * index[:, None], axis=1
        )
        for k in np.flatnonzero(np.isinf(constants)):
            relative = np.exp(positions[k] * index - norm)
            log_norm = -np.log(relative.mean()) if positions[k] else norm.mean()
            constants[k] = float(log_norm) + np.log(_ROWS_OF_OTHERS / len(index))
        logs = log_levels(index[None], constants, positions[None])
        n_levels = self._n_levels
        gradient_of = positions[rows.levels] - np.exp(logs) @ positions
        variances = np.exp(logs) @ positions**2 - (np.exp(logs) @ positions) ** 2
        _, information = derivatives(
            design, logs, positions[None], np.eye(n_levels)[rows.levels], np.ones(len(index))
        )
        information[np.arange(n_levels, len(information)), np.arange(n_levels, len(information))] += prior
        ridge = RIDGE * len(index) * np.eye(len(information))
        factor = scipy.linalg.cholesky(information + ridge, lower=True)
        # constants move the index along the positions
        along = np.bincount(rows.levels, minlength=n_levels) / len(index) * positions
        of_rows = np.column_stack([np.tile(along, (len(index), 1)), design])
        half = scipy.linalg.solve_triangular(factor, of_rows.T, lower=True)
        leverage = np.einsum("ji,ji->i", half, half)
        # the index without a row, to first order: Rad & Maleki, "A scalable estimate of the out-of-sample error", 2020
        moved = leverage * gradient_of / (1 - np.minimum(leverage * variances, MOST_LEVERAGE))
        left_out = log_levels((index - moved)[None], constants, positions[None])[
            np.arange(len(index)), rows.levels
        ]
        terms, coefficients = rows.design.effects(np.concatenate([[0.0], slopes]), places, TOLERANCE)
        return Member(FamilyLogit(parents, groups, terms, coefficients, constants, positions), left_out)

    def _of_levels(self, rows: LogitRows, parents: tuple[str, ...], groups: tuple[str, ...]) -> Member:
        """Return the logit with an index per level."""
        followed = LevelOdds(rows.levels, self._n_levels)
        terms = rows.design.columns / self._deviations
        # in rows, by what a row says of log odds, which is less with levels without rows
        parameters, covariance, logs = followed.posterior(terms, self._precisions / followed.prior_unit)
        constants, slopes = np.split(parameters, [self._n_levels])
        slopes = slopes.reshape(self._n_levels, -1) / self._deviations
        coefficients = np.column_stack([-slopes @ rows.design.means, slopes])
        of_terms = Terms(rows.design.functions, rows.design.factors, rows.design.products)
        fitted = FamilyLogit(parents, groups, of_terms, coefficients, constants, followed.positions)
        return Member(fitted, followed.left_out(terms, covariance, logs))


def _eliminated(
    functions: NDArray[np.float64],
    codes: NDArray[np.int64],
    shares: NDArray[np.float64],
    precisions: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return products of functions and of indicators of levels in the form that `start_logit` takes."""
    indicators = ((codes[:, None] == np.arange(len(shares))) - shares) / np.sqrt(shares * (1 - shares))
    factor = scipy.linalg.cholesky(functions.T @ functions + np.diag(precisions))
    explained = scipy.linalg.solve_triangular(factor, functions.T @ indicators, trans="T")
    np.fill_diagonal(factor, np.diag(factor) ** 2)
    return np.ascontiguousarray(np.column_stack([factor, explained]))


# limits of the factor of the prior precisions
_LEAST_FACTOR, _MOST_FACTOR = 1 / 64, 100.0


def fitted_counts(
    design: Design,
    name: str,
    parents: tuple[str, ...],
    groups: tuple[str, ...],
    columns: Columns,
    places: Mapping[str, NDArray[np.float64]],
    facts: ColumnFacts,
) -> Member:
    """Return the posterior mode of a column of counts under the terms of a model, and the density of left-out rows.

    The size is the likeliest one, and the prior precisions have the factor of the coefficients' own sizes. `places` are
    those of continuous parents on their scales.
    """
    values = np.asarray(columns[name], np.float64)
    n_rows, mean = len(values), float(values.mean())
    full, ones = np.column_stack([np.ones(n_rows), design.columns]), np.ones(n_rows)
    coefficients = np.zeros(full.shape[1])
    coefficients[0] = np.log(mean)
    size = _likeliest_size(values, np.full(n_rows, np.log(mean)))
    # what a row says of the logarithm of the mean, without parents
    of_row = mean / (1 + mean / size)
    of_amounts = np.concatenate([[0.0], design.of_amounts * max(of_row, LEAST_OF_AMOUNTS)])
    is_amount = of_amounts > 0
    precisions = np.where(is_amount, 0.0, np.concatenate([[0.0], design.precisions * of_row]))
    factor, width = 1.0, 1.0
    for _ in range(2):
        prior = factor * precisions + width * of_amounts
        coefficients, information = fitted_count(full, values, ones, prior, size, coefficients)
        size = _likeliest_size(values, full @ coefficients)
        known = 1 - prior / np.diag(information)
        effective = float(known[1:][~is_amount[1:]].sum())
        squares = float(precisions @ coefficients**2)
        factor = float(np.clip(effective / max(squares, 1e-300), _LEAST_FACTOR, _MOST_FACTOR))
        width = factor_of_amounts(float(known[is_amount].sum()), float(of_amounts @ coefficients**2))
    prior = factor * precisions + width * of_amounts
    coefficients, information = fitted_count(full, values, ones, prior, size, coefficients)
    terms, of_terms = design.effects(coefficients, places, TOLERANCE)
    fitted = FamilyCounts(parents, groups, terms, of_terms, 0.0 if size == np.inf else 1 / size)
    ridge = RIDGE * np.trace(information) / len(information) * np.eye(len(information))
    factor_of_all = scipy.linalg.cholesky(information + ridge, lower=True)
    half = scipy.linalg.solve_triangular(factor_of_all, full.T, lower=True)
    leverage = np.einsum("ji,ji->i", half, half)
    logs = full @ coefficients
    means = np.exp(logs)
    gradient = (values - means) / (1 + means / size)
    bends = means / (1 + means / size) * (1 + values / size) / (1 + means / size)
    # the sum without a row, to first order: Rad & Maleki, "A scalable estimate of the out-of-sample error", 2020
    moved = leverage * gradient / (1 - np.minimum(leverage * bends, MOST_LEVERAGE))
    return Member(fitted, fitted.given(name, facts).log_density_around(logs - moved, values))


def _likeliest_size(values: NDArray[np.float64], logs: NDArray[np.float64]) -> float:
    """Return the size under which counts are likeliest, given the logarithms of their means."""
    totals = [float(log_probabilities_of_counts(values, logs, size).sum()) for size in COUNT_SIZES]
    return COUNT_SIZES[int(np.argmax(totals))]
