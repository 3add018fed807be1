"""The fit of a column of counts, and the log density of rows that are left out of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.learning.averaging.effects_fit import TOLERANCE, Design
from gomea_bn.learning.averaging.logit_fit import MOST_LEVERAGE, RIDGE
from gomea_bn.learning.averaging.stacks import Member
from gomea_bn.network.conditionals.family_counts import FamilyCounts, fitted_count
from gomea_bn.network.conditionals.kind import ColumnFacts
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.problems.counts import COUNT_SIZES, log_probabilities_of_counts
from gomea_bn.problems.kernels.cells import factor_of_amounts
from gomea_bn.problems.kernels.counts import LEAST_OF_AMOUNTS

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
