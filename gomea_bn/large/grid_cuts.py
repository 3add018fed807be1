"""Best cuts of one column among the boundaries of its cells, from the counts of its families over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gomea_bn.large.kernels import interval_scores_of_counts
from gomea_bn.large.scores import dirichlet_score
from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.cuts.shape import ColumnShape

__all__ = ["GridColumn", "GridCuts", "candidate_boundaries"]

# pairs of cells times counters of a dynamic programme, to which its time is proportional
_MOST_WORK = 30_000_000
# ln(n!) of small counts, which most counts are, in the second cache
_LOG_FACTORIALS = gammaln(np.arange(8192) + 1.0)


@dataclass(frozen=True)
class GridColumn:
    """A continuous column as cells, and what its cuts cost.

    Attributes
    ----------
    boundaries : ndarray of shape (n_cells - 1,), float64
        Values between the cells.
    low, high : float
        Smallest and largest value.
    rows : ndarray of shape (n_cells,), int64
        Rows of every cell.
    distinct : ndarray of shape (n_cells,), int64
        Distinct values in every cell, estimated from a sample.
    cost_of_cut : float
        Nats per chosen cut.
    shape : ColumnShape, optional
        How the bins may be distributed inside; without it they are uniform.
    weight : float
        Number of all rows per row in which the column has a value.
    """

    boundaries: NDArray[np.float64]
    low: float
    high: float
    rows: NDArray[np.int64]
    distinct: NDArray[np.int64]
    cost_of_cut: float
    shape: ColumnShape | None
    weight: float = 1.0

    @property
    def edges(self) -> NDArray[np.float64]:
        """Ends of the cells, float64 (n_cells + 1,)."""
        return np.concatenate(([self.low], self.boundaries, [self.high]))

    @property
    def measures(self) -> tuple[bool, ...]:
        """Ways in which bins may be distributed inside: False for uniform, True for shaped."""
        return (False,) if self.shape is None else self.shape.measures

    def merged(self, candidates: NDArray[np.int64]) -> GridColumn:
        """Return the column with some of its boundaries alone, given by their indices, ascending."""
        starts = np.concatenate(([0], candidates + 1))
        return replace(
            self,
            boundaries=self.boundaries[candidates],
            rows=np.add.reduceat(self.rows, starts),
            distinct=np.add.reduceat(self.distinct, starts),
        )

    def constant(self, cuts: NDArray[np.int64]) -> tuple[float, bool]:
        """Return what the inside of the bins adds to the score in nats, less the cost of the cuts.

        The second value says whether the bins are shaped. `cuts` holds indices of boundaries, ascending.
        """
        ends = np.concatenate(([0], cuts + 1, [len(self.rows)]))
        counts = np.add.reduceat(self.rows, ends[:-1])
        values = {shaped: self._constant(counts, ends, shaped=shaped) for shaped in self.measures}
        # equal constants: uniform bins, which need no further numbers
        shaped = max(sorted(values), key=lambda measure: values[measure])
        return self.weight * (values[shaped] - self.cost_of_cut * len(cuts)), shaped

    def _constant(self, counts: NDArray[np.int64], ends: NDArray[np.int64], *, shaped: bool) -> float:
        if shaped:
            assert self.shape is not None
            return self.shape.compared_log_likelihood - dirichlet_score(counts)
        filled = counts > 0
        edges = self.edges[ends]
        if len(self.measures) == 2 and not self._is_wide_enough(ends):
            return -np.inf
        logs = np.log(np.diff(edges)[filled]) - log(self.high - self.low)
        return -float(counts[filled] @ logs)

    def _is_wide_enough(self, ends: NDArray[np.int64]) -> bool:
        """Return whether no bin is too narrow to be uniform, in a column that may have a shape instead."""
        assert self.shape is not None
        below, distinct = (np.concatenate(([0], np.cumsum(x)))[ends] for x in (self.rows, self.distinct))
        return not self.shape.is_too_narrow(self.edges[ends], below, distinct)


def candidate_boundaries(n_boundaries: int, n_counters: int, present: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the boundaries of a column that may become cuts as indices, int64 (n,), ascending.

    All of them take part unless the dynamic programme would have too much to do; then a part that is spread evenly,
    all present cuts and their neighbours do.

    Parameters
    ----------
    n_boundaries : int
    n_counters : int
        Cells of the tables around the column, per cell of the column.
    present : ndarray of shape (k,), int64
        Present cuts as indices of boundaries.
    """
    most = int((2 * _MOST_WORK / max(n_counters, 1)) ** 0.5)
    if n_boundaries <= max(most, 2 * len(present) + 8):
        return np.arange(n_boundaries)
    spread = np.linspace(0, n_boundaries - 1, max(most, 8)).round().astype(np.int64)
    near = np.concatenate([present + step for step in (-1, 0, 1)])
    return np.unique(np.concatenate((spread, near[(near >= 0) & (near < n_boundaries)])))


class GridCuts:
    """The cuts of one column, given the bins of its Markov blanket.

    The score of cuts is a sum over intervals and a term of their number, as in `problems.cuts.interval_dp`; here the
    counts of cells take the place of sorted rows, and logarithms of factorials are computed instead of looked up, since
    a table with an entry per row would take gigabytes.

    Parameters
    ----------
    column : GridColumn
    of_family : sequence of (weight, ndarray of shape (card(parent_1), ..., n_cells), int64)
        Counts of the column and its parents; several, with weights, if values are missing.
    children : sequence of (weight, ndarray of shape (n_cells, card(parent), ..., card(child)), int64)
        Counts of the families of its children; the first axis is the column.
    """

    def __init__(
        self,
        column: GridColumn,
        of_family: Sequence[tuple[float, NDArray[np.int64]]],
        children: Sequence[tuple[float, NDArray[np.int64]]],
    ) -> None:
        self.column = column
        n_cells = len(column.rows)
        parts, shift, weights = [], [], []
        self._configurations: list[tuple[float, NDArray[np.int64]]] = []
        for weight, table in of_family:
            rows_of_parents = table.reshape(-1, n_cells)
            self._configurations.append((weight, rows_of_parents.sum(axis=1)))
            parts.append(rows_of_parents.T)
            shift.append(np.zeros(len(rows_of_parents), np.int64))
            weights.append(np.full(len(rows_of_parents), weight))
        for weight, table in children:
            cardinality = table.shape[-1]
            cells = table.reshape(n_cells, -1)
            totals = cells.reshape(n_cells, -1, cardinality).sum(axis=2)
            parts += [cells, totals]
            shift += [np.zeros(cells.shape[1], np.int64), np.full(totals.shape[1], cardinality - 1, np.int64)]
            weights += [np.full(cells.shape[1], weight), np.full(totals.shape[1], -weight)]
        self._counts = np.ascontiguousarray(np.concatenate(parts, axis=1))
        self._shift, self._weights = np.concatenate(shift), np.concatenate(weights)

    def best(self, limits: CutLimits, present: NDArray[np.int64]) -> tuple[NDArray[np.int64], float, float]:
        """Return the best cuts, their score, and the score of the present cuts on the same scale, in nats.

        Cuts are indices of boundaries, ascending.
        """
        now = -np.inf
        best, best_value = present, -np.inf
        scores = self._scores()
        for shaped in self.column.measures:
            gains = self._gains(scores, limits, shaped=shaped)
            now = max(now, self._value(gains, present, shaped=shaped))
            chosen, value = self._solve(gains, limits, shaped=shaped)
            if value > best_value:
                best, best_value = chosen, value
        return best, best_value, now

    def _scores(self) -> NDArray[np.float64]:
        """Return the score of every interval between two edges by its tables, float64 (n_cells + 1, n_cells + 1)."""
        counts = self._counts
        scores = np.zeros((len(counts) + 1, len(counts) + 1))
        cells, counters = np.nonzero(counts)
        starts = np.searchsorted(cells, np.arange(len(counts) + 1))
        n_counters = counts.shape[1]
        interval_scores_of_counts(
            counters,
            counts[cells, counters],
            starts,
            self._shift,
            self._weights,
            _LOG_FACTORIALS,
            np.empty(n_counters, np.int64),
            np.empty(n_counters),
            scores,
        )
        return scores

    def _gains(self, scores: NDArray[np.float64], limits: CutLimits, *, shaped: bool) -> NDArray[np.float64]:
        """Return the gain of every interval between two edges, float64 (n_cells + 1, n_cells + 1)."""
        column = self.column
        edges = column.edges
        below, distinct = (np.concatenate(([0], np.cumsum(x))) for x in (column.rows, column.distinct))
        in_rows = below[None, :] - below[:, None]
        allowed = np.triu(in_rows >= limits.min_bin_count, 1)
        if shaped:
            gains = scores - column.weight * gammaln(np.maximum(in_rows, 0) + 1.0)
        else:
            widths = edges[None, :] - edges[:, None]
            least = limits.min_width * (column.high - column.low)
            tied = 0.0
            if column.shape is not None:
                least, tied = max(least, column.shape.min_uniform_width), column.shape.resolution
            is_tied = in_rows > 2 * (distinct[None, :] - distinct[:, None])
            allowed &= (widths >= least) & (widths > 0) & ~(is_tied & (widths < tied))
            log_widths = np.log(np.maximum(widths, np.finfo(float).tiny)) - log(column.high - column.low)
            gains = scores - column.weight * in_rows * log_widths
        # the one interval that is the whole range is always allowed
        allowed[0, -1] = True
        return np.where(allowed, gains, -np.inf)

    def _term(self, n_bins: int, *, shaped: bool) -> float:
        """Return the part of the score in nats that depends on the number of bins alone."""
        column = self.column
        term = -column.cost_of_cut * (n_bins - 1)
        if shaped:
            assert column.shape is not None
            n_rows = float(column.rows.sum())
            term += column.shape.compared_log_likelihood
            term += float(gammaln(n_rows + n_bins) - gammaln(n_bins))
        term *= column.weight
        for weight, totals in self._configurations:
            term += weight * float((gammaln(n_bins) - gammaln(totals + float(n_bins))).sum())
        return term

    def _value(self, gains: NDArray[np.float64], cuts: NDArray[np.int64], *, shaped: bool) -> float:
        """Return the score of some cuts, given as indices of boundaries."""
        ends = np.concatenate(([0], cuts + 1, [len(gains) - 1]))
        return float(gains[ends[:-1], ends[1:]].sum()) + self._term(len(cuts) + 1, shaped=shaped)

    def _solve(
        self, gains: NDArray[np.float64], limits: CutLimits, *, shaped: bool
    ) -> tuple[NDArray[np.int64], float]:
        """Return the best cuts as indices of boundaries, and their score."""
        n_edges = len(gains)
        most = min(limits.max_bins or n_edges - 1, n_edges - 1)
        layer = gains[0].copy()
        origins = [np.zeros(n_edges, np.int64)]
        best, best_total = 0, float(layer[-1]) + self._term(1, shaped=shaped)
        # the term falls with the number of bins if no weight is negative, so that more bins are not worth trying
        bound = _best_sum(gains) if all(weight > 0 for weight, _ in self._configurations) else np.inf
        for k in range(1, most):
            term = self._term(k + 1, shaped=shaped)
            if bound + term < best_total:
                break
            sums = layer[:, None] + gains
            origins.append(np.argmax(sums, axis=0))
            layer = sums[origins[-1], np.arange(n_edges)]
            if layer[-1] + term > best_total:
                best, best_total = k, float(layer[-1]) + term
        cuts = []
        edge = n_edges - 1
        for layer in range(best, 0, -1):
            edge = int(origins[layer][edge])
            cuts.append(edge - 1)
        return np.array(cuts[::-1], np.int64), best_total


def _best_sum(gains: NDArray[np.float64]) -> float:
    """Return the largest sum of gains of intervals that follow each other from the first edge to the last."""
    sums = gains[0].copy()
    for edge in range(2, len(gains)):
        sums[edge] = max(sums[edge], (sums[1:edge] + gains[1:edge, edge]).max())
    return float(sums[-1])
