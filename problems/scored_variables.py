"""A column of a table as scores need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.kernels import MISSING
from gomea_bn.problems.counts import are_counts
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.cuts.shape import ColumnShape


@dataclass(frozen=True)
class ScoredVariable:
    """One column for the score."""

    name: str
    # (n_rows,) float64 in original units, NaN where missing, or codes, `MISSING` as a byte where missing
    values: NDArray[np.float64] | NDArray[np.int32] | NDArray[np.uint8]
    n_levels: int  # 0 for a continuous column
    policies: tuple[Policy, ...] = ()  # library of a continuous column, fewest bins first
    shape: ColumnShape | None = None  # inside of the bins of a continuous column; without it they are uniform
    is_ordered: bool = False  # whether the levels of a discrete column are in their order
    are_bins: bool = False  # whether the levels are bins of a continuous column

    @cached_property
    def ranks(self) -> CutColumn:
        """A continuous column sorted once."""
        return CutColumn.of_values(np.asarray(self.values, np.float64))

    def with_policies(self, policies: Iterable[Policy]) -> ScoredVariable:
        """Return a continuous column with another library; both are sorted once."""
        other = replace(self, policies=tuple(policies))
        vars(other)["ranks"] = self.ranks
        return other

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
    def constant_score(self) -> float:
        """Part of the score of every network in nats that the column adds whatever its parents and its cuts are."""
        return 0.0 if self.shape is None else self.shape.constant_score * (len(self.values) / self.n_observed)

    @property
    def has_free_cuts(self) -> bool:
        """Return whether the column is continuous and no user has fixed its cuts."""
        return bool(self.policies) and all(policy.chosen for policy in self.policies)

    @property
    def may_follow_curves(self) -> bool:
        """Whether the column may be a sum of curves: one of few values or without point masses, not a mixture."""
        shape = self.shape
        return shape is not None and (shape.shape.has_few_values or not len(shape.shape.point_values))

    @property
    def may_be_count(self) -> bool:
        """Whether the column may be a count."""
        return self.shape is not None and are_counts(np.asarray(self.values, np.float64))
