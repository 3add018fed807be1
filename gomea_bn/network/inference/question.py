"""What is known of rows, and what engines of inference return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, row_list

Interval: TypeAlias = tuple[float, float, str]
"""Low end, high end, and which ends belong to an interval: "both", "left", "right" or "neither"."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Weighted intervals of a continuous variable as weighted parts of its bins.

    An interval outside the support is the whole of the end bin on its side. A value that several intervals hold has the
    largest of their weights.

    By part and bin, (n_pieces, n_bins): `starts`, the share of the probability of the bin below the part; `shares`,
    P(part | bin); and `weights`, which add up where parts overlap. `inside` has the intervals that reach into the
    support with their weights, and `of_whole_bins` (n_bins,) the weights of whole bins by intervals outside it.
    """

    starts: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    inside: list[tuple[Interval, float]]
    of_whole_bins: NDArray[np.float64]

    @property
    def likelihood(self) -> NDArray[np.float64]:
        """Likelihood of the evidence by bin, float64 (n_bins,)."""
        return np.asarray((self.weights * self.shares).sum(axis=0))

    def likelihood_of(self, values: NDArray[np.float64], codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the likelihood of the evidence at values, of their shape, given their bins."""
        total = self.of_whole_bins[codes]
        for (low, high, closed), weight in self.inside:
            above = values >= low if closed in ("both", "left") else values > low
            below = values <= high if closed in ("both", "right") else values < high
            total = np.where(above & below, np.maximum(total, weight), total)
        return np.asarray(total, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of rows.

    `codes` (n_rows, n_variables) are observed bins or levels, -1 where unknown, and `values`, of the same shape, the
    observed numbers of continuous variables, NaN for all others; they count for networks with conditional densities.
    `weights` (n_rows, cardinality), by position of a variable, are likelihoods of what was observed up to a factor per
    row. They count in rows in which the variable is unknown; such a row has ones if nothing was observed. `pieces` has
    the intervals by row that weights stand for.
    """

    codes: NDArray[np.int32]
    weights: Mapping[int, NDArray[np.float64]]
    values: NDArray[np.float64] | None = None
    pieces: Mapping[int, Sequence[Pieces | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some rows, int64 (n,), by position."""
        values = None if self.values is None else self.values[rows]
        weights = {v: of_rows[rows] for v, of_rows in self.weights.items()}
        pieces = {v: [of_rows[row] for row in rows.tolist()] for v, of_rows in self.pieces.items()}
        return Evidence(self.codes[rows], weights, values, pieces)

    def without(self, positions: Sequence[int]) -> Evidence:
        """Return the evidence of codes and values in which some variables are unknown."""
        codes, values = self.codes.copy(), self.numbers().copy()
        codes[:, list(positions)] = -1
        values[:, list(positions)] = np.nan
        return Evidence(codes, {}, values)

    def numbers(self) -> NDArray[np.float64]:
        """Return the observed numbers, float64 (n_rows, n_variables), NaN where there are none."""
        return np.full(self.codes.shape, np.nan) if self.values is None else self.values


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """The cells of continuous variables that an answer was summed over.

    `n_cells` is their largest number for one variable, 0 if there was none to sum over, `level` the coarsest level, and
    `summed` (n_variables,) says which variables were summed over in some row. `errors` (n_rows,) are those of the
    probabilities of rows over cells of their own, and NaN for rows that had to make do with coarse ones.
    """

    n_cells: int
    level: int
    summed: NDArray[np.bool_]
    errors: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Joint distributions of some variables given evidence.

    `log_evidence` (n_rows,) is in nats up to the factors of weights, -inf for impossible evidence. `tables` (n_rows,
    n_cells) are flattened in C order, zeros for impossible evidence. Both have standard errors unless they are exact.
    `resolution` is None if bins of the network, or draws, were summed over.
    """

    log_evidence: NDArray[np.float64]
    tables: NDArray[np.float64]
    log_evidence_errors: NDArray[np.float64] | None = None
    errors: NDArray[np.float64] | None = None
    resolution: Resolution | None = None


def refuse_impossible(is_impossible: NDArray[np.bool_], rows: NDArray[np.int64] | None = None) -> None:
    """Raise `GomeaBnError` for rows whose evidence has probability 0; `rows` are their numbers if not 0, 1, ..."""
    positions = np.flatnonzero(is_impossible)
    rows = positions if rows is None else rows[positions]
    if rows.size:
        verb = "has" if rows.size == 1 else "have"
        raise GomeaBnError(
            f"The observed values of {row_list(rows)} {verb} probability 0 in this network.",
            ["drop these rows", "use a network with pseudo-counts"],
        )
