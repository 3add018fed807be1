"""Mixtures of Gaussians shared by all configurations of a blanket, and the cuts between them (Mabrouk et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import erfc, inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.mgcd.kernels import (
    CountedCells,
    EMWork,
    SharedGaussians,
    expectation_maximisation,
)
from gomea_bn.problems.cuts.blanket import CodedColumn, joint_codes
from gomea_bn.problems.cuts.interval_counts import NO_STOP, SortedColumn

# iterations of EM from every start; only the best goes on
_SHORT_RUN = 10
# components with fewer rows are dropped
_LEAST_ROWS = 2.0
# numbers of components in a row without a better score that end the search
_PATIENCE = 2
# starts of EM for a number of components: one from quantiles, the others from rows drawn far apart
_N_STARTS = 6
_MAX_ITERATIONS = 200
# nats per row
_TOLERANCE = 1e-5
# cells of near values that represent a column with more distinct values
_N_CELLS = 300
# smallest standard deviation of a component, relative to the column's
_MIN_DEVIATION = 1e-3
PENALTIES = ("nml", "observed", "all")


@dataclass(frozen=True, slots=True)
class SharedMixture:
    """Gaussians that all configurations share, by ascending mean.

    Means and standard deviations, (n_components,), are in the data's units. `shares` are those of all rows and sum to
    1, `weights`, (n_configurations, n_components), are the shares of the rows of each configuration. The score is the
    log likelihood minus the cost of the parameters, both in nats.
    """

    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    log_likelihood: float
    score: float

    def cuts(self) -> NDArray[np.float64]:
        """Return the best cut between every two neighbouring means, ascending; equal means have none."""
        means, deviations = self.means.tolist(), self.deviations.tolist()
        cuts = [
            gaussian_cut(means[k], deviations[k], means[k + 1], deviations[k + 1])
            for k in range(len(means) - 1)
            if means[k] < means[k + 1]
        ]
        return np.maximum.accumulate(np.array(cuts)) if cuts else np.empty(0)


def gaussian_cut(mean_0: float, deviation_0: float, mean_1: float, deviation_1: float) -> float:
    """Return the cut between two Gaussians, ``mean_0 < mean_1``, with the least of their mass on the wrong side.

    The cut minimises ``1 - Phi((t - m0) / s0) + Phi((t - m1) / s1)`` over t in [mean_0, mean_1] (Mabrouk et al. 2015,
    Eq. 6; their Proposition 2 says "highest" for lowest). At an inner minimum the densities cross: it is the root of a
    quadratic at which its slope is positive, computed without cancellation.
    """
    ratio = deviation_1 / deviation_0
    # halves, since the difference may overflow
    distance = 2 * ((mean_1 / 2 - mean_0 / 2) / deviation_0)
    curvature = 1 - 1 / ratio**2
    slope = distance / ratio**2
    odds = 2 * log(ratio)
    discriminant = (distance / ratio) ** 2 + odds * curvature
    positions = [0.0, distance]
    if discriminant >= 0:
        crossing = (distance * slope + odds) / (slope + sqrt(discriminant))
        positions.insert(0, min(max(crossing, 0.0), distance))

    def misplaced(position: float) -> float:
        return erfc(position / sqrt(2)) + erfc((distance - position) / ratio / sqrt(2))

    return min(max(mean_0 + deviation_0 * min(positions, key=misplaced), mean_0), mean_1)


def separating_cuts(cuts: NDArray[np.float64], column: SortedColumn) -> NDArray[np.float64]:
    """Return the ascending cuts that separate values, for bins (a, b].

    A cut equal to a value moves just below it, since the paper's bins [a, b) put that value into the upper bin. Of
    cuts between the same two values the lowest stays. Cuts beyond the values are dropped.
    """
    n_below = np.searchsorted(column.distinct, cuts, side="left")
    inside = (n_below > 0) & (n_below < len(column.distinct))
    cuts, n_below = cuts[inside], n_below[inside]
    _, first = np.unique(n_below, return_index=True)
    cuts, n_below = cuts[first], n_below[first]
    moved = np.where(cuts == column.distinct[n_below], np.nextafter(cuts, -inf), cuts)
    return np.asarray(moved[moved > column.low], np.float64)


@dataclass(frozen=True, slots=True)
class Configurations:
    """Configurations of the blanket of a column.

    `codes` has that of every row, `rows` the number of rows of every configuration that occurs, and `n_all` is the
    number of possible ones.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    n_all: float

    @classmethod
    def of(cls, blanket: Sequence[CodedColumn], n_rows: int) -> Configurations:
        """Return the joint configurations of coded columns."""
        joint, _, n_all = joint_codes(blanket, n_rows)
        _, codes, rows = np.unique(joint, return_inverse=True, return_counts=True)
        return cls(codes.astype(np.int32), rows, n_all)

    def weight_cost(self, n_components: int, penalty: str) -> float:
        """Return the cost of the weights of `n_components` components in nats; see `MGCDiscretizer`."""
        if penalty == "nml":
            sizes, counts = np.unique(self.rows, return_counts=True)
            return float(counts @ log_complexity(n_components, sizes.astype(np.float64)))
        n = self.n_all if penalty == "all" else len(self.rows)
        return n * (n_components - 1) * log(len(self.codes)) / 2


def log_complexity(n_values: int, n_rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stochastic complexity of a distribution over `n_values` values for each number of rows, in nats.

    It is the log of the sum over all samples of their highest likelihood. The recurrence is that of Kontkanen &
    Myllymaki (2007); it starts from Szpankowski's approximation for two values, whose error is below one per cent.
    """
    before = np.ones(len(n_rows))
    if n_values == 1:
        return np.log(before)
    current = np.sqrt(pi * n_rows / 2) * np.exp(
        np.sqrt(8 / (9 * pi * n_rows)) + (3 * pi - 16) / (36 * pi * n_rows)
    )
    for k in range(1, n_values - 1):
        before, current = current, current + n_rows / k * before
    return np.asarray(np.log(current), np.float64)


class ColumnCells:
    """A column in at most `n_cells` cells of near values, standardized; of fewer distinct values each is a cell.

    `floor` is the smallest standard deviation of a component: at least 1 / sqrt(12) times the median gap between
    distinct values, as for values that are rounded to such steps.
    """

    def __init__(self, column: SortedColumn, n_cells: int = _N_CELLS) -> None:
        self.column = column
        low, high = column.low, column.high
        self._low, self._high = low, high
        # halves, since the range may overflow
        inside = (column.distinct / 2 - low / 2) / (high / 2 - low / 2)
        counts = np.diff(column.below, prepend=0, append=column.n_rows)
        self._centre = float(np.average(inside, weights=counts))
        self._scale = sqrt(np.average((inside - self._centre) ** 2, weights=counts))
        values = (inside - self._centre) / self._scale
        cell = np.arange(len(values))
        if len(values) > n_cells:
            cell = np.searchsorted(column.grid(n_cells), np.arange(len(values)), side="left")
        rows = np.bincount(cell, counts)
        self.means = np.bincount(cell, counts * values) / rows
        self.variances = np.bincount(cell, counts * (values - self.means[cell]) ** 2) / rows
        self.rows = rows
        self.cell_of_row = np.empty(column.n_rows, np.int32)
        self.cell_of_row[column.order] = np.repeat(cell, counts)
        self.floor = max(_MIN_DEVIATION, float(np.median(np.diff(values))) / sqrt(12))

    def counted(self, configurations: Configurations) -> CountedCells:
        """Return the rows by configuration and cell."""
        n_cells, q = len(self.means), len(configurations.rows)
        joint = configurations.codes.astype(np.int64) * n_cells + self.cell_of_row
        if q * n_cells <= 8 * self.column.n_rows:
            counts = np.bincount(joint, minlength=q * n_cells)
            occurring = np.flatnonzero(counts)
            counts = counts[occurring]
        else:
            occurring, counts = np.unique(joint, return_counts=True)
        return CountedCells(
            means=self.means,
            variances=self.variances,
            starts=np.searchsorted(occurring, np.arange(q + 1) * n_cells),
            cells=(occurring % n_cells).astype(np.int32),
            counts=counts.astype(np.float64),
        )

    def standardized(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values in the data's units as standardized ones."""
        inside = (values / 2 - self._low / 2) / (self._high / 2 - self._low / 2)
        return np.asarray((inside - self._centre) / self._scale, np.float64)

    def units(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return standardized values in the data's units."""
        inside = means * self._scale + self._centre
        return self._low * (1 - inside) + self._high * inside

    @property
    def unit(self) -> float:
        """Return the column's standard deviation in the data's units."""
        return 2 * (self._scale * (self._high / 2 - self._low / 2))


class SharedMixtureSearch:
    """Finds the number of Gaussians and the Gaussians of one column given configurations.

    `penalty` is that of `MGCDiscretizer`, and `generator` draws the random starts. `stop` is raised by another thread
    to give up, and `run` calls compiled functions, as `DiscretizationTask.interruptible` does.
    """

    def __init__(
        self,
        cells: ColumnCells,
        configurations: Configurations,
        max_components: int,
        penalty: str,
        generator: np.random.Generator,
        *,
        stop: NDArray[np.uint8] = NO_STOP,
        run: Callable[[Callable[[], int]], int] = lambda call: call(),
    ) -> None:
        self.cells = cells
        self.max_components = max_components
        self.penalty = penalty
        self.generator = generator
        self.data = cells.counted(configurations)
        self.n_rows = cells.column.n_rows
        self._configurations = configurations
        self._stop = stop
        self._run = run

    def best(self, near: SharedMixture | None = None) -> SharedMixture | None:
        """Return the mixture with the best score; None if stopped.

        More components are tried until two numbers in a row are no better. With a mixture to start from, the numbers go
        up and down from its number of components while they are better.
        """
        most = min(self.max_components, len(self.cells.column.distinct))
        if near is not None:
            return self._best_near(near, min(len(near.means), most), most)
        best: SharedMixture | None = None
        worse = 0
        for n_components in range(1, most + 1):
            mixture = self.fitted(n_components)
            if mixture is None:
                return None
            worse += 1
            if best is None or mixture.score > best.score:
                best, worse = mixture, 0
            if worse >= _PATIENCE:
                break
        return best

    def _best_near(self, near: SharedMixture, n_components: int, most: int) -> SharedMixture | None:
        """Return the mixture with the best score among the numbers of components around `n_components`."""
        best = self.fitted(n_components, near)
        for step in (1, -1):
            n_tried = n_components + step
            while best is not None and 1 <= n_tried <= most:
                mixture = self.fitted(n_tried)
                if mixture is None:
                    return None
                if mixture.score <= best.score:
                    break
                best, n_tried = mixture, n_tried + step
        return best

    def fitted(self, n_components: int, near: SharedMixture | None = None) -> SharedMixture | None:
        """Return the best mixture of `n_components` components over all starts; None if stopped.

        Components with hardly any rows are dropped. If `near` has `n_components` components, it replaces the random
        starts.
        """
        best = self._climb(self._started(self._quantiles(n_components)), _SHORT_RUN)
        for start in self._further_starts(n_components, near):
            if self._stop[0]:
                return None
            tried = self._climb(start, _SHORT_RUN)
            if tried[1] > best[1]:
                best = tried
        mixture, likelihood, rows = best
        while True:
            mixture, likelihood, rows = self._climb(mixture, _MAX_ITERATIONS)
            if self._stop[0]:
                return None
            living = rows >= min(_LEAST_ROWS, rows.max())
            if living.all():
                return self._described(mixture, likelihood, rows)
            # a configuration may have had dropped components alone
            weights = mixture.weights[:, living] + 1e-9
            mixture = SharedGaussians(
                means=mixture.means[living],
                deviations=mixture.deviations[living],
                weights=weights / weights.sum(axis=1, keepdims=True),
            )

    def _further_starts(self, n_components: int, near: SharedMixture | None) -> Iterator[SharedGaussians]:
        """Yield the starts of EM other than quantiles."""
        if near is None and n_components > 1:
            for _ in range(_N_STARTS - 1):
                yield self._started(self._far_apart(n_components))
        elif near is not None and len(near.means) == n_components:
            deviations = near.deviations / self.cells.unit
            yield self._with_equal_weights(self.cells.standardized(near.means), deviations, near.shares)

    def _quantiles(self, n_components: int) -> NDArray[np.float64]:
        """Return the borders, in standardized units, of groups with about equal numbers of rows."""
        below = np.cumsum(self.cells.rows) - self.cells.rows / 2
        rows_below = np.arange(1, n_components) * (self.n_rows / n_components)
        return np.asarray(np.interp(rows_below, below, self.cells.means), np.float64)

    def _far_apart(self, n_components: int) -> NDArray[np.float64]:
        """Return the borders between random rows, drawn in proportion to the squared distance to those before.

        These are the first centres of k-means++ (Arthur & Vassilvitskii 2007).
        """
        values, chances = self.cells.means, self.cells.rows
        centres: list[float] = []
        nearest = np.full(len(values), inf)
        for _ in range(n_components):
            below = np.cumsum(chances)
            drawn = np.searchsorted(below, self.generator.random() * below[-1], side="right")
            centres.append(values[min(drawn, len(values) - 1)])
            nearest = np.minimum(nearest, (values - centres[-1]) ** 2)
            chances = self.cells.rows * nearest
        ordered = np.sort(centres)
        return np.asarray((ordered[1:] + ordered[:-1]) / 2, np.float64)

    def _started(self, borders: NDArray[np.float64]) -> SharedGaussians:
        """Return the Gaussians of the rows between borders, with equal weights for all configurations."""
        cells = self.cells
        k = len(borders) + 1
        group = np.searchsorted(borders, cells.means)
        rows = np.bincount(group, cells.rows, minlength=k)
        at_least_one = np.maximum(rows, 1.0)
        edges = np.concatenate((cells.means[:1], borders, cells.means[-1:]))
        middle = (edges[1:] + edges[:-1]) / 2
        means = np.where(
            rows > 0, np.bincount(group, cells.rows * cells.means, minlength=k) / at_least_one, middle
        )
        spread = cells.variances + (cells.means - means[group]) ** 2
        variances = np.where(
            rows > 0, np.bincount(group, cells.rows * spread, minlength=k) / at_least_one, 1 / k**2
        )
        return self._with_equal_weights(means, np.sqrt(variances), at_least_one / at_least_one.sum())

    def _with_equal_weights(
        self, means: NDArray[np.float64], deviations: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> SharedGaussians:
        """Return Gaussians in standardized units, with the same weights for all configurations."""
        weights = np.tile(shares, (len(self.data.starts) - 1, 1))
        return SharedGaussians(means, np.maximum(deviations, self.cells.floor), weights)

    def _climb(
        self, start: SharedGaussians, max_iterations: int
    ) -> tuple[SharedGaussians, float, NDArray[np.float64]]:
        """Return the mixture at the end of EM, its log likelihood and the rows of every component."""
        mixture = SharedGaussians(start.means.copy(), start.deviations.copy(), start.weights.copy())
        shape = (len(self.data.means), len(start.means))
        work = EMWork(
            logs=np.empty(shape),
            ratios=np.empty(shape),
            highest=np.empty(shape[0]),
            mass=np.empty(shape),
            weights=np.empty_like(start.weights),
            shares=np.empty(shape[1]),
            trace=np.empty(max_iterations + 1),
            stop=self._stop,
        )
        tolerance = _TOLERANCE * self.n_rows
        n_iterations = self._run(
            lambda: expectation_maximisation(self.data, mixture, work, self.cells.floor, tolerance)
        )
        return mixture, float(work.trace[n_iterations]), work.mass.sum(axis=0)

    def _described(
        self, mixture: SharedGaussians, likelihood: float, rows: NDArray[np.float64]
    ) -> SharedMixture:
        """Return the mixture in the data's units."""
        n_components = len(mixture.means)
        # a mean and a deviation each
        cost = n_components * log(self.n_rows)
        cost += self._configurations.weight_cost(n_components, self.penalty)
        likelihood -= self.n_rows * log(self.cells.unit)
        order = np.argsort(mixture.means, kind="stable")
        return SharedMixture(
            means=self.cells.units(mixture.means[order]),
            deviations=mixture.deviations[order] * self.cells.unit,
            shares=rows[order] / self.n_rows,
            weights=mixture.weights[:, order],
            log_likelihood=likelihood,
            score=likelihood - cost,
        )
