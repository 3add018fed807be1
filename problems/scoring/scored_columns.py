"""Columns as the score takes them: their values, and their codes and constants under a policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.score import (
    LEFT_OUT,
    LEFT_OUT_BEST,
    MISFIT_KINDS,
    MISSING,
    ScoreRule,
    score_counts,
)
from gomea_bn.problems.scoring.scores import ScoringMethod

_LEAVES_OUT = (LEFT_OUT, LEFT_OUT_BEST)
# powers of 2 above it are normal floats
_LEAST_EXPONENT = -1000
# constants have this number of binary digits for the nats of a row, about twelve decimal ones
_BITS_OF_CONSTANT = 40


@dataclass(frozen=True)
class ScoredVariable:
    """One column for the score."""

    name: str
    # (n_rows,) float64 in original units, NaN where missing, or codes, `MISSING` as a byte where missing
    values: NDArray[np.float64] | NDArray[np.int32] | NDArray[np.uint8]
    n_levels: int  # 0 for a continuous column
    policies: tuple[Policy, ...] = ()  # library of a continuous column, fewest bins first
    shape: ColumnShape | None = None  # inside of the bins of a continuous column; without it they are uniform

    @cached_property
    def ranks(self) -> SortedColumn:
        """A continuous column sorted once."""
        return SortedColumn(np.asarray(self.values, np.float64))

    @property
    def is_observed(self) -> NDArray[np.bool_]:
        """Which values are not missing, bool (n_rows,)."""
        if self.n_levels:
            return np.asarray(self.values.astype(np.uint8) != MISSING)
        return ~np.isnan(self.values)

    @property
    def n_observed(self) -> int:
        """Number of values that are not missing."""
        return int(np.count_nonzero(self.is_observed))

    @property
    def has_free_cuts(self) -> bool:
        """Return whether the column is continuous and no user has fixed its cuts."""
        return bool(self.policies) and all(policy.chosen for policy in self.policies)


def _log_width_sum(
    counts: NDArray[np.int64], edges: NDArray[np.float64], *, of_earlier_versions: bool
) -> float:
    """Return the sum over rows of the log bin width, for bins between `edges`, scaled to a range of 1.

    A column times a power of 2 has the same sum to the last bit, other than in earlier versions. Networks whose scores
    are equal but for rounding would change places.
    """
    filled = counts > 0
    widths = edges[1:] - edges[:-1]
    if of_earlier_versions:
        return float(np.sum(counts[filled] * (np.log(widths[filled]) - np.log(edges[-1] - edges[0]))))
    digits, exponents = np.frexp(np.concatenate((widths[filled], edges[-1:] - edges[:1])))
    # in units in which the range is from a half to 1
    exponents -= exponents[-1]
    if exponents.min() > _LEAST_EXPONENT:
        logs = np.log(np.ldexp(digits, exponents))
    else:
        # logarithms of digits and exponent where a narrow bin of a huge range would underflow
        logs = np.where(
            exponents > _LEAST_EXPONENT,
            np.log(np.ldexp(digits, np.maximum(exponents, _LEAST_EXPONENT))),
            np.log(digits) + exponents * log(2),
        )
    return float(np.sum(counts[filled] * (logs[:-1] - logs[-1])))


class ScoredColumn:
    """A continuous column that can be coded under any policy. Only its observed rows count in its constants."""

    def __init__(self, variable: ScoredVariable, method: ScoringMethod, rule: ScoreRule) -> None:
        self._ranks = ranks = variable.ranks
        self.weight = ranks.n_all_rows / ranks.n_rows
        self.cut_cost = method.cut_cost * np.log(max(len(ranks.cuts), 1))
        self._rule = rule
        self._shape = shape = variable.shape
        self._measures = (False,) if shape is None else shape.measures
        # log density of the rows under the shape for misfits, in nats with the range scaled to 1
        self._of_shape = 0.0
        if shape is not None and rule.kind in MISFIT_KINDS and True in self._measures:
            # the shape was fitted to all rows, so that a misfit that leaves rows out charges its effective parameters
            self._of_shape = shape.log_likelihood
            if rule.kind not in _LEAVES_OUT:
                self._of_shape = float(shape.shape.log_scaled_density(ranks.ascending).sum())

    def code(self, policy: Policy, codes: NDArray[np.uint8]) -> tuple[float, float, bool]:
        """Fill `codes`; return constant and cost in nats, both per all rows, and whether the bins are shaped."""
        ranks, shape = self._ranks, self._shape
        below = np.concatenate(([0], ranks.code(policy.cut_points, codes), [ranks.n_rows]))
        counts = below[1:] - below[:-1]
        cost = self.cut_cost * (policy.n_bins - 1) if policy.chosen else 0.0
        edges = np.concatenate(([ranks.low], policy.cut_points, [ranks.high]))
        constants: dict[bool, float] = {}
        if True in self._measures:
            constants[True] = self._rounded(self._shaped(policy, counts))
        # in a column that may have a shape instead, narrow bins are not uniform
        if False in self._measures and not (
            constants and shape and shape.is_too_narrow(edges, below, ranks.distinct_up_to(below))
        ):
            # without shapes learners repeat the results of versions that had none
            constants[False] = self._rounded(
                -_log_width_sum(counts, edges, of_earlier_versions=shape is None)
            )
        # equal constants: uniform bins, which need no further numbers
        shaped = max(sorted(constants), key=lambda measure: constants[measure])
        if len(constants) == 2 and self._rule.kind in _LEAVES_OUT:
            shaped = self._scores_better_shaped(counts, constants[False])
        return float(constants[shaped] - cost) * self.weight, float(cost) * self.weight, shaped

    def _rounded(self, constant: float) -> float:
        """Return the constant of a column with a shape without digits that depend on the units of the column."""
        if self._shape is None:
            return constant
        # a power of 2, so that nothing else is rounded
        step = 2.0 ** (self._ranks.n_rows.bit_length() - _BITS_OF_CONSTANT)
        return round(constant / step) * step

    def _scores_better_shaped(self, counts: NDArray[np.int64], uniform: float) -> bool:
        """Return whether shaped bins have the larger marginal likelihood, by which `BayesNetLearner` decides.

        The shape was fitted to the rows, so that their density under it would overrate it. `uniform` is minus the sum
        of the rows' log widths in nats.
        """
        assert self._shape is not None
        n_bins = len(counts)
        of_bins = sum(lgamma(count + 1.0) for count in counts.tolist())
        of_bins += lgamma(n_bins) - lgamma(n_bins + int(counts.sum()))
        return self._shape.log_likelihood > uniform + of_bins

    def _shaped(self, policy: Policy, counts: NDArray[np.int64]) -> float:
        """Return the constant of shaped bins without the cost of the cuts, in nats.

        It is the log density of the shape, minus the score of the bins without parents. A log density that is the same
        for all cuts is left out. Misfits use the masses of the bins under the shape in place of that score, as the
        density of a network does.
        """
        shape = self._shape
        assert shape is not None
        if self._rule.kind in MISFIT_KINDS:
            return self._of_shape - float(counts @ np.log(shape.shape.bin_masses(policy.cut_points)))
        root = score_counts(counts.astype(np.int32), 1, 1.0, policy.n_bins, self._rule)
        return shape.compared_log_likelihood - float(root)
