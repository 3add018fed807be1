"""The fit of the logit of a discrete column, and the probabilities of rows that are left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.learning.averaging.line_fit import possible_terms
from gomea_bn.network.conditionals.basis import LineTerms
from gomea_bn.network.conditionals.family_logit import FamilyLogit, derivatives, log_levels, logit_design
from gomea_bn.problems.curves import new_logit_scratch
from gomea_bn.problems.kernels.logits import (
    MOST_LEVELS,
    MOST_TERMS,
    WHOLE,
    LogitData,
    logit_gain,
    start_logit,
)

# rows on which terms are chosen, drawn with any fixed seed
_MOST_ROWS_OF_CHOICE = 4_000
_SEED = 20240219
# prior precision of the coefficients of standardised terms, before the kernel multiplies it
_PRECISION = 1.0
# rows that a level has which the fit does not see
_ROWS_OF_OTHERS = 0.5
_MOST_LEVERAGE = 0.9
# gain of further terms that counts, in nats of the rows of the choice
_LEAST_GAIN = 2.0
_RIDGE = 1e-6


@dataclass(frozen=True)
class FittedLogit:
    """A logit apart from its weight, and the log probability of every row with the row left out, float64 (n_rows,)."""

    terms: LineTerms
    slopes: NDArray[np.float64]
    constants: NDArray[np.float64]
    positions: NDArray[np.float64]
    information: NDArray[np.float64]
    n_group_levels: Sequence[int]
    left_out: NDArray[np.float64]

    def of_family(self, parents: tuple[str, ...], groups: tuple[str, ...]) -> FamilyLogit:
        """Return the logit of a family with its continuous and discrete parents."""
        coefficients, *amounts = np.split(
            self.slopes, np.cumsum([self.terms.n_terms, *self.n_group_levels[:-1]]) if groups else []
        )
        return FamilyLogit(
            parents,
            groups,
            coefficients,
            tuple(amounts),
            self.constants,
            self.positions,
            self.information,
            self.terms.knots,
            self.terms.has_products,
            self.terms.product_knots,
        )


@dataclass(frozen=True)
class LogitRows:
    """Rows of a discrete column and its parents.

    `levels`, int64 (n_rows,) below `n_levels`, are those of the column. `parents` (n_rows, n_parents) are places of
    continuous parents on their scales. `groups` are the levels of every discrete parent, below `n_group_levels`.
    """

    levels: NDArray[np.int64]
    n_levels: int
    parents: NDArray[np.float64]
    groups: Sequence[NDArray[np.int64]]
    n_group_levels: Sequence[int]

    def some(self, rows: NDArray[np.int64]) -> LogitRows:
        """Return some of the rows."""
        groups = [of_parent[rows] for of_parent in self.groups]
        return LogitRows(self.levels[rows], self.n_levels, self.parents[rows], groups, self.n_group_levels)


def best_logit(rows: LogitRows) -> FittedLogit | None:
    """Return the logit whose terms have the largest marginal likelihood; they are chosen on at most 4,000 rows.

    None if no terms can be fitted: for a column of one level, or of more than 8.
    """
    n_present = len(np.unique(rows.levels))
    if not 2 <= n_present <= MOST_LEVELS:
        return None
    n_rows = len(rows.levels)
    order = np.random.default_rng(_SEED).permutation(n_rows)
    few = rows.some(order[:_MOST_ROWS_OF_CHOICE])
    best: _Fit | None = None
    if len(np.unique(few.levels)) == n_present:
        for terms in possible_terms(rows.parents) if rows.parents.shape[1] else [LineTerms(())]:
            if terms.n_terms + sum(rows.n_group_levels) <= MOST_TERMS:
                fit = _Fit(few, terms)
                if fit.gain > (0.0 if best is None else best.gain) + _LEAST_GAIN:
                    best = fit
    if best is not None and n_rows > _MOST_ROWS_OF_CHOICE:
        best = _Fit(rows.some(order), best.terms)
    return None if best is None else best.fitted(rows)


def logit_of_terms(rows: LogitRows, terms: LineTerms) -> FittedLogit:
    """Return the logit of given terms, fitted to all rows."""
    order = np.random.default_rng(_SEED).permutation(len(rows.levels))
    return _Fit(rows.some(order), terms).fitted(rows)


class _Fit:
    """The logit of rows in random order that maximises the posterior under some terms."""

    def __init__(self, rows: LogitRows, terms: LineTerms) -> None:
        self.terms = terms
        design = logit_design(terms.of_rows(rows.parents), rows.groups, rows.n_group_levels)
        means, deviations = design.mean(axis=0), design.std(axis=0)
        # a term that is the same in all rows has the coefficient 0
        self._deviations = np.where(deviations > 0, deviations, 1.0)
        self._means = means
        self._present, codes, counts = np.unique(rows.levels, return_inverse=True, return_counts=True)
        self._n_levels, size = rows.n_levels, design.shape[1]
        shares = counts / len(codes)
        scratch = new_logit_scratch(len(codes), len(counts))
        scratch.rows[:, 0] = 1.0
        scratch.rows[:, 1 : size + 1] = (design - means) / self._deviations
        scratch.parameters[2, 1 : size + 1] = _PRECISION
        data = LogitData(
            np.ascontiguousarray(scratch.rows[:, :size]),
            codes[None].astype(np.uint8),
            np.array([len(counts)]),
            shares[None],
            np.zeros(1),
            1.0,
        )
        start_logit(
            data, scratch, self._eliminated(scratch.rows[:, 1 : size + 1], codes, shares), 0, size, len(codes)
        )
        self.gain = float(logit_gain(data, scratch, 0, size, WHOLE))
        # the same probabilities, with positions of mean 0 and variance 1 over the rows
        self._constants, positions = scratch.levels[:2, : len(counts)].copy()
        positions -= shares @ positions
        scale = float(np.sqrt(shares @ positions**2))
        self._positions = positions / scale
        self._intercept = scale * scratch.parameters[0, 0]
        self._coefficients = scale * scratch.parameters[0, 1 : size + 1]
        self._precision = _PRECISION * scratch.state[3] / scale**2

    def fitted(self, rows: LogitRows) -> FittedLogit:
        """Return the logit with the log probabilities of all rows, in any order, each left out of the fit."""
        design = logit_design(self.terms.of_rows(rows.parents), rows.groups, rows.n_group_levels)
        slopes = self._coefficients / self._deviations
        positions, constants = np.zeros(self._n_levels), np.full(self._n_levels, -np.inf)
        positions[self._present] = self._positions
        offset = self._intercept - float(self._means @ slopes)
        constants[self._present] = self._constants + self._positions * offset
        index = design @ slopes
        # a level without rows has the probability of half a row
        norm = scipy.special.logsumexp(
            constants[self._present] + positions[self._present] * index[:, None], axis=1
        )
        constants[np.isinf(constants)] = float(norm.mean()) + np.log(_ROWS_OF_OTHERS / len(index))
        logs = log_levels(index, constants, positions)
        n_levels = self._n_levels
        gradient_of = positions[rows.levels] - np.exp(logs) @ positions
        variances = np.exp(logs) @ positions**2 - (np.exp(logs) @ positions) ** 2
        _, information = derivatives(
            design, logs, positions, np.eye(n_levels)[rows.levels], np.ones(len(index))
        )
        prior = self._precision * self._deviations**2
        information[np.arange(n_levels, len(information)), np.arange(n_levels, len(information))] += prior
        ridge = _RIDGE * len(index) * np.eye(len(information))
        factor = scipy.linalg.cholesky(information + ridge, lower=True)
        # constants move the index along the positions
        along = np.bincount(rows.levels, minlength=n_levels) / len(index) * positions
        of_rows = np.column_stack([np.tile(along, (len(index), 1)), design])
        half = scipy.linalg.solve_triangular(factor, of_rows.T, lower=True)
        leverage = np.einsum("ji,ji->i", half, half)
        # the index without a row, to first order: Rad & Maleki, "A scalable estimate of the out-of-sample error", 2020
        moved = leverage * gradient_of / (1 - np.minimum(leverage * variances, _MOST_LEVERAGE))
        left_out = log_levels(index - moved, constants, positions)[np.arange(len(index)), rows.levels]
        return FittedLogit(
            self.terms, slopes, constants, positions, information, rows.n_group_levels, left_out
        )

    @staticmethod
    def _eliminated(
        functions: NDArray[np.float32], codes: NDArray[np.int64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return products of functions and of indicators of levels in the form that `start_logit` takes."""
        x = functions.astype(np.float64)
        indicators = ((codes[:, None] == np.arange(len(shares))) - shares) / np.sqrt(shares * (1 - shares))
        inner = x.T @ x + _PRECISION * np.eye(x.shape[1])
        factor = scipy.linalg.cholesky(inner)
        explained = scipy.linalg.solve_triangular(factor, x.T @ indicators, trans="T")
        np.fill_diagonal(factor, np.diag(factor) ** 2)
        return np.ascontiguousarray(np.column_stack([factor, explained]))
