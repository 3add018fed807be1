"""The posterior distribution of the cut points of one column, with the graph and all other bins fixed."""

from __future__ import annotations

from copy import copy
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, log_sum_exp
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY

N_CELLS_OF_POSTERIOR = 100
# most bins of a drawn column: draws take time that grows with it, and with the square of candidates
MOST_DRAWN_BINS = 15

# of smaller sums of floats too much is rounded to 0
_LEAST_SUM = 1e-250


class CutPosterior:
    """The posterior distribution of the cut points of one column among candidate cuts.

    A set of k - 1 cuts has a probability in proportion to exp(power * (score of the cuts without their costs) -
    cut_cost * ln m * (k - 1)), where m is the number of mid-points between neighbouring values. All sums run over the
    sets of candidate cuts; they take O(k C^2) steps for C candidates by forward filtering (Scott, "Bayesian methods for
    hidden Markov models", 2002, does the same for chains of states). By default `cut_cost` is that of the score, and
    the power is 1; see `with_power`.

    The candidates are at most `n_cells` - 1 mid-points and the gaps of the cuts `incumbent`. Without a generator they
    are on a grid. A generator draws all mid-points with the same probability, which leaves the posterior of the cuts as
    it is when a chain replaces its cuts, the incumbent, by a draw among them. A cut in the incumbent is a candidate for
    sure, and one that is not with a probability of q, so that the pair of cuts and candidates has weights with a factor
    1/q for every cut. Bins that are not `shaped` are uniform inside. Under a centred prior the tables have the
    concentrations that are best for the incumbent, so that sums over the intervals of other cuts are nearly their
    scores.

    `bin_probabilities` (n_layers,) are those of every number of bins, from one bin on. `log_total` is ln of the sum
    over all sets of cuts; if no set is within the limits, `GomeaBnError` is raised.
    """

    def __init__(
        self,
        problem: CutProblem,
        limits: CutLimits,
        *,
        shaped: bool,
        incumbent: NDArray[np.float64] | None = None,
        n_cells: int = N_CELLS_OF_POSTERIOR,
        generator: np.random.Generator | None = None,
        cut_cost: float | None = None,
    ) -> None:
        column = problem.column
        indices, share = np.arange(len(column.cuts)), 1.0
        if len(indices) >= n_cells:
            if generator is None:
                indices = column.grid(n_cells, by_rank=shaped)
            else:
                share = (n_cells - 1) / len(indices)
                indices = np.flatnonzero(generator.random(len(indices)) < share)
            if incumbent is not None:
                indices = np.union1d(indices, column.gaps(incumbent))
        self.candidates = column.cuts[indices]
        if incumbent is not None:
            problem.follow(column.gaps(incumbent))
        # what intervals gain in nats, as of `CutProblem.interval_gains`
        self._priced = problem.interval_gains(indices, limits, shaped=shaped)
        numbers = np.arange(1, min(limits.max_bins or MAX_CARDINALITY, len(self._priced) - 1) + 1)
        # the part of the score that depends on the number of bins alone, without the costs of cuts
        self._layers = np.array([problem.layer_term(int(k), shaped=shaped) for k in numbers])
        # a cut costs some times the ln of the number of all mid-points
        self._log_gaps = log(max(len(column.cuts), 1))
        self._layers += problem.constant_given() - log(share) * (numbers - 1)
        if problem.score.bayesian:
            self._layers += problem.score.cut_cost * self._log_gaps * (numbers - 1)
        self._layers[: limits.min_bins - 1] = -inf
        self._sum(1.0, problem.score.cut_cost if cut_cost is None else cut_cost)

    def with_power(self, power: float, cut_cost: float) -> CutPosterior:
        """Return the distribution with another power and cost of cuts: below 1 it gives more varied cuts."""
        other = copy(self)
        other._sum(power, cut_cost)
        return other

    def _sum(self, power: float, cut_cost: float) -> None:
        """Sum over the sets of candidate cuts."""
        self._gains = power * self._priced
        self._terms = power * self._layers - cut_cost * self._log_gaps * np.arange(len(self._layers))
        self._forward = self._filtered(self._gains, len(self._terms))
        totals = self._forward[1:, -1] + self._terms
        self.log_total = float(log_sum_exp(totals))
        if self.log_total == -inf:
            raise GomeaBnError("No cut points are within the limits on bins.")
        self.bin_probabilities = np.exp(totals - self.log_total)
        # cumulated probabilities of the cut before an edge, by the number of bins up to that edge and the edge
        self._cumulated: dict[tuple[int, int], NDArray[np.float64]] = {}

    def draw(self, n: int, generator: np.random.Generator) -> list[NDArray[np.float64]]:
        """Return `n` sets of cut points, each float64 (k - 1,), ascending."""
        numbers = generator.choice(len(self.bin_probabilities), size=n, p=self.bin_probabilities) + 1
        return [self._drawn(int(k), generator) for k in numbers]

    def probability_between(self, low: float, high: float) -> float:
        """Return the probability that at least one cut lies in the open interval between two values."""
        is_between = (self.candidates > low) & (self.candidates < high)
        without = self._gains.copy()
        # no interval begins at these candidates, so none ends there
        without[1:-1][is_between] = -inf
        forward = self._filtered(without, len(self._terms))
        none = float(log_sum_exp(forward[1:, -1] + self._terms))
        return float(np.clip(1.0 - np.exp(none - self.log_total), 0.0, 1.0))

    def places(self, n_bins: int) -> NDArray[np.float64] | None:
        """Return the probability of every candidate to be each of the cuts into `n_bins` bins; None if there are none.

        The result, float64 (n_bins - 1, n_candidates), has a row for every cut in ascending order; it sums to 1.
        """
        n_edges = len(self._gains)
        if not n_bins < len(self._forward) or self._forward[n_bins, -1] + self._terms[n_bins - 1] == -inf:
            return None
        # partitions of the cells after an edge are those before it, read from the last cell on
        backward = self._filtered(self._gains[::-1, ::-1].T, n_bins - 1)[:, ::-1]
        logs = self._forward[1:n_bins] + backward[n_bins - 1 : 0 : -1] - self._forward[n_bins, -1]
        return np.asarray(np.exp(logs[:, 1 : n_edges - 1]), np.float64)

    @staticmethod
    def _filtered(gains: NDArray[np.float64], most: int) -> NDArray[np.float64]:
        """Return ln of the sum over partitions of the cells before an edge into k bins, (most + 1, n_edges)."""
        forward = np.full((most + 1, len(gains)), -inf)
        forward[0, 0] = 0.0
        # sums up to an edge grow with its position: without that trend their exponentials often fit into floats
        total = gains[0, -1] if gains[0, -1] > -inf else 0.0
        trend = np.linspace(0.0, total, len(gains))
        without_trend = gains - trend + trend[:, None]
        highest = without_trend.max(axis=0)
        highest[highest == -inf] = 0.0
        weights = np.exp(without_trend - highest)
        is_interval = np.where(gains > -inf, 1.0, 0.0)
        for k in range(most):
            before = forward[k] - trend
            finite = before[before > -inf]
            if not len(finite):
                break
            top = finite.max()
            sums = np.exp(before - top) @ weights
            with np.errstate(divide="ignore"):
                forward[k + 1] = np.log(sums) + highest + top + trend
            is_rounded = (sums < _LEAST_SUM) & ((before > -inf) @ is_interval > 0.0)
            if is_rounded.any():
                forward[k + 1, is_rounded] = log_sum_exp(forward[k][:, None] + gains[:, is_rounded])
        return forward

    def _drawn(self, n_bins: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return the cuts of one partition into `n_bins` bins, drawn from the last cut to the first."""
        edge, cuts = len(self._gains) - 1, []
        for k in range(n_bins - 1, 0, -1):
            if (k, edge) not in self._cumulated:
                logs = self._forward[k] + self._gains[:, edge]
                weights = np.exp(logs - logs.max())
                cumulated = np.cumsum(weights / weights.sum())
                self._cumulated[k, edge] = cumulated / cumulated[-1]
            # as `choice` of NumPy draws, whose checks take longer
            edge = int(self._cumulated[k, edge].searchsorted(generator.random(), side="right"))
            cuts.append(self.candidates[edge - 1])
        return np.array(cuts[::-1], np.float64)
