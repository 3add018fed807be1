"""Gaussians that a column mixes given configurations of others, and the cuts between them (Mabrouk et al. 2015)."""

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
from gomea_bn.problems.blanket import CodedColumn, joint_codes
from gomea_bn.problems.interval_counts import SortedColumn

__all__ = [
    "ColumnCells",
    "Configurations",
    "SharedMixture",
    "SharedMixtureOptions",
    "SharedMixtureSearch",
    "gaussian_cut",
    "log_complexity",
    "separating_cuts",
]

_SHORT_RUN = 10  # iterations of every start; only the best goes on
_LEAST_ROWS = 2.0  # a component with fewer is dropped
_PATIENCE = 2  # numbers of components in a row without a better score


@dataclass(frozen=True, slots=True)
class SharedMixtureOptions:
    """How mixtures are fitted; see `MGCDiscretizer`."""

    min_components: int = 1
    max_components: int = 15
    n_starts: int = 6
    max_iterations: int = 200
    tolerance: float = 1e-5
    penalty: str = "nml"


@dataclass(frozen=True, slots=True)
class SharedMixture:
    """Gaussians that all configurations share, by ascending mean.

    Attributes
    ----------
    means, deviations : ndarray of shape (n_components,)
        In the data's units.
    shares : ndarray of shape (n_components,)
        Of all rows; they sum to 1.
    weights : ndarray of shape (n_configurations, n_components)
        Of the rows of each configuration.
    log_likelihood, score : float
        In nats, higher is better; the score is the likelihood minus what the parameters cost.
    """

    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    log_likelihood: float
    score: float

    def cuts(self, *, weighted: bool = False) -> NDArray[np.float64]:
        """Return the best cut between every two neighbouring means, ascending; equal means have none.

        Parameters
        ----------
        weighted : bool
            Whether the Gaussians count by their share of the rows; the paper's rule counts all alike.
        """
        means, deviations = self.means.tolist(), self.deviations.tolist()
        shares = self.shares.tolist() if weighted else [1.0] * len(means)
        found = [
            gaussian_cut(means[k], deviations[k], means[k + 1], deviations[k + 1], shares[k], shares[k + 1])
            for k in range(len(means) - 1)
            if means[k] < means[k + 1]
        ]
        return np.maximum.accumulate(np.array(found)) if found else np.empty(0)


def gaussian_cut(
    mean_0: float,
    deviation_0: float,
    mean_1: float,
    deviation_1: float,
    weight_0: float = 1.0,
    weight_1: float = 1.0,
) -> float:
    """Return the cut between two Gaussians, ``mean_0 < mean_1``, that puts least of their mass on the wrong side.

    That is the minimum over [mean_0, mean_1] of ``w0 (1 - Phi((t - m0) / s0)) + w1 Phi((t - m1) / s1)`` (Mabrouk et
    al. 2015, Eq. 6, there with equal weights, where their Proposition 2 says "highest" for lowest). Inside, the
    weighted densities cross there; the crossing is the root of a quadratic at which its slope is positive, in the form
    without cancellation.
    """
    ratio = deviation_1 / deviation_0
    distance = 2 * ((mean_1 / 2 - mean_0 / 2) / deviation_0)  # halves, for the difference may overflow
    curvature = 1 - 1 / ratio**2
    slope = distance / ratio**2
    odds = 2 * log(weight_0 * ratio / weight_1)
    discriminant = (distance / ratio) ** 2 + odds * curvature
    places = [0.0, distance]
    if discriminant >= 0:
        crossing = (distance * slope + odds) / (slope + sqrt(discriminant))
        places.insert(0, min(max(crossing, 0.0), distance))

    def misplaced(place: float) -> float:
        return weight_0 * erfc(place / sqrt(2)) + weight_1 * erfc((distance - place) / ratio / sqrt(2))

    return min(max(mean_0 + deviation_0 * min(places, key=misplaced), mean_0), mean_1)


def separating_cuts(cuts: NDArray[np.float64], column: SortedColumn) -> NDArray[np.float64]:
    """Return ascending cuts as bins (a, b] with rows in all of them.

    A cut equal to a value moves just below it: the paper's bins [a, b) put that value into the upper one. Of cuts
    between the same two values the lowest stays, and cuts beyond the values go.
    """
    place = np.searchsorted(column.distinct, cuts, side="left")  # distinct values strictly below
    inside = (place > 0) & (place < len(column.distinct))
    cuts, place = cuts[inside], place[inside]
    _, first = np.unique(place, return_index=True)
    cuts, place = cuts[first], place[first]
    moved = np.where(cuts == column.distinct[place], np.nextafter(cuts, -inf), cuts)
    kept: NDArray[np.float64] = moved[moved > column.low]
    return kept


@dataclass(frozen=True, slots=True)
class Configurations:
    """Which configuration of its blanket every row has.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,), int32
    rows : ndarray of shape (n_observed,), int64
        Of every configuration that occurs.
    n_all : float
        How many configurations there are.
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
        """Return what the weights of so many components cost, in nats; see `MGCDiscretizer`."""
        if penalty == "nml":
            sizes, counts = np.unique(self.rows, return_counts=True)
            return float(counts @ log_complexity(n_components, sizes.astype(np.float64)))
        n = self.n_all if penalty == "all" else len(self.rows)
        return n * (n_components - 1) * log(len(self.codes)) / 2


def log_complexity(n_values: int, n_rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stochastic complexity of a distribution over so many values for each number of rows, in nats.

    That is the log of the sum over all samples of their highest likelihood (Kontkanen & Myllymaki 2007, their
    recurrence from Szpankowski's approximation for two values, which errs by less than one part in a hundred).
    """
    before = np.ones(len(n_rows))
    if n_values == 1:
        return np.log(before)
    current = np.sqrt(pi * n_rows / 2) * np.exp(
        np.sqrt(8 / (9 * pi * n_rows)) + (3 * pi - 16) / (36 * pi * n_rows)
    )
    for k in range(1, n_values - 1):
        before, current = current, current + n_rows / k * before
    found: NDArray[np.float64] = np.log(current)
    return found


class ColumnCells:
    """A column in cells of near values, standardized.

    Parameters
    ----------
    column : SortedColumn
    n_cells : int
        Up to so many distinct values each is a cell of its own.
    min_deviation : float
        Least standard deviation of a component, relative to the column's. It is also at least 1 / sqrt(12) times the
        median gap between distinct values, as for values rounded to such steps.
    """

    def __init__(self, column: SortedColumn, n_cells: int, min_deviation: float) -> None:
        self.column = column
        low, high = column.low, column.high
        self._low, self._high = low, high
        # halves, for the range may overflow
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
        self.floor = max(min_deviation, float(np.median(np.diff(values))) / sqrt(12))

    def counted(self, configurations: Configurations) -> CountedCells:
        """Return the rows by configuration and cell."""
        n_cells, q = len(self.means), len(configurations.rows)
        joint = configurations.codes.astype(np.int64) * n_cells + self.cell_of_row
        if q * n_cells <= 8 * self.column.n_rows:
            counts = np.bincount(joint, minlength=q * n_cells)
            held = np.flatnonzero(counts)
            counts = counts[held]
        else:
            held, counts = np.unique(joint, return_counts=True)
        starts = np.searchsorted(held, np.arange(q + 1) * n_cells)
        cells = (held % n_cells).astype(np.int32)
        return CountedCells(self.means, self.variances, starts, cells, counts.astype(np.float64))

    def standardized(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values in the data's units as standardized ones."""
        inside = (values / 2 - self._low / 2) / (self._high / 2 - self._low / 2)
        found: NDArray[np.float64] = (inside - self._centre) / self._scale
        return found

    def units(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return standardized values in the data's units."""
        inside = means * self._scale + self._centre
        return self._low * (1 - inside) + self._high * inside

    @property
    def unit(self) -> float:
        """The column's standard deviation, in the data's units."""
        return 2 * (self._scale * (self._high / 2 - self._low / 2))


class SharedMixtureSearch:
    """Finds the number of Gaussians, and the Gaussians, for one column given configurations.

    Parameters
    ----------
    cells : ColumnCells
    configurations : Configurations
    options : SharedMixtureOptions
    generator : Generator
        Of the random starts.
    stop : ndarray of shape (1,), uint8
        Raised to give up.
    run : callable
        Calls a compiled call; `DiscretizationTask.interruptible`.
    """

    def __init__(
        self,
        cells: ColumnCells,
        configurations: Configurations,
        options: SharedMixtureOptions,
        generator: np.random.Generator,
        *,
        stop: NDArray[np.uint8],
        run: Callable[[Callable[[], int]], int],
    ) -> None:
        self.cells = cells
        self.options = options
        self.generator = generator
        self.data = cells.counted(configurations)
        self.n_rows = cells.column.n_rows
        self._configurations = configurations
        self._stop = stop
        self._run = run

    def best(self, near: SharedMixture | None = None) -> SharedMixture | None:
        """Return the mixture of best score; None when stopped.

        More components are tried until two numbers in a row are no better. Where a mixture is given, the numbers go up
        and down from its own for as long as they are better.
        """
        options = self.options
        most = min(options.max_components, len(self.cells.column.distinct))
        if near is not None:
            return self._best_near(near, min(len(near.means), most), most)
        best: SharedMixture | None = None
        worse = 0
        for n_components in range(1, most + 1):
            found = self.fitted(n_components)
            if found is None:
                return None
            if best is None or self._rank(found) > self._rank(best):
                best, worse = found, 0
            else:
                worse += 1
            if worse >= _PATIENCE and n_components >= options.min_components:
                break
        return best

    def _best_near(self, near: SharedMixture, n_components: int, most: int) -> SharedMixture | None:
        """Return the mixture of best score among the numbers of components around a given one."""
        best = self.fitted(n_components, near)
        for step in (1, -1):
            n_tried = n_components + step
            while best is not None and 1 <= n_tried <= most:
                found = self.fitted(n_tried)
                if found is None:
                    return None
                if self._rank(found) <= self._rank(best):
                    break
                best, n_tried = found, n_tried + step
        return best

    def _rank(self, found: SharedMixture) -> tuple[int, float]:
        return min(len(found.means), self.options.min_components), found.score

    def fitted(self, n_components: int, near: SharedMixture | None = None) -> SharedMixture | None:
        """Return the best mixture of so many components that the starts lead to; None when stopped.

        Components that are left with hardly a row are dropped. A mixture of as many components serves as a start
        in the place of the random ones.
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
            mixture, likelihood, rows = self._climb(mixture, self.options.max_iterations)
            if self._stop[0]:
                return None
            held = rows >= min(_LEAST_ROWS, rows.max())
            if held.all():
                return self._described(mixture, likelihood, rows)
            weights = mixture.weights[:, held] + 1e-9  # a configuration may have had dropped components alone
            mixture = SharedGaussians(
                mixture.means[held],
                mixture.deviations[held],
                weights / weights.sum(axis=1, keepdims=True),
            )

    def _further_starts(self, n_components: int, near: SharedMixture | None) -> Iterator[SharedGaussians]:
        """Yield what EM starts from besides quantiles."""
        if near is None and n_components > 1:
            for _ in range(self.options.n_starts - 1):
                yield self._started(self._far_apart(n_components))
        elif near is not None and len(near.means) == n_components:
            yield self._standardized(near)

    def _quantiles(self, n_components: int) -> NDArray[np.float64]:
        """Return the borders, in standardized units, of groups of about as many rows."""
        below = np.cumsum(self.cells.rows) - self.cells.rows / 2
        wanted = np.arange(1, n_components) * (self.n_rows / n_components)
        found: NDArray[np.float64] = np.interp(wanted, below, self.cells.means)
        return found

    def _far_apart(self, n_components: int) -> NDArray[np.float64]:
        """Return the borders between random rows, drawn in proportion to the squared distance to those before.

        These are the first centres of k-means++ (Arthur & Vassilvitskii 2007).
        """
        values, chances = self.cells.means, self.cells.rows
        centres: list[float] = []
        nearest = np.full(len(values), inf)
        for _ in range(n_components):
            below = np.cumsum(chances)
            place = np.searchsorted(below, self.generator.random() * below[-1], side="right")
            centres.append(values[min(place, len(values) - 1)])
            nearest = np.minimum(nearest, (values - centres[-1]) ** 2)
            chances = self.cells.rows * nearest
        ordered = np.sort(centres)
        found: NDArray[np.float64] = (ordered[1:] + ordered[:-1]) / 2
        return found

    def _started(self, borders: NDArray[np.float64]) -> SharedGaussians:
        """Return the Gaussians of the rows between borders, alike for all configurations."""
        cells = self.cells
        k = len(borders) + 1
        group = np.searchsorted(borders, cells.means)
        rows = np.bincount(group, cells.rows, minlength=k)
        held = np.maximum(rows, 1.0)
        edges = np.concatenate((cells.means[:1], borders, cells.means[-1:]))
        middle = (edges[1:] + edges[:-1]) / 2
        means = np.where(rows > 0, np.bincount(group, cells.rows * cells.means, minlength=k) / held, middle)
        spread = cells.variances + (cells.means - means[group]) ** 2
        variances = np.where(rows > 0, np.bincount(group, cells.rows * spread, minlength=k) / held, 1 / k**2)
        shares = held / held.sum()
        return SharedGaussians(
            means,
            np.maximum(np.sqrt(variances), cells.floor),
            np.tile(shares, (len(self.data.starts) - 1, 1)),
        )

    def _standardized(self, mixture: SharedMixture) -> SharedGaussians:
        """Return a mixture in standardized units, its weights alike for all configurations."""
        return SharedGaussians(
            self.cells.standardized(mixture.means),
            np.maximum(mixture.deviations / self.cells.unit, self.cells.floor),
            np.tile(mixture.shares, (len(self.data.starts) - 1, 1)),
        )

    def _climb(
        self, start: SharedGaussians, max_iterations: int
    ) -> tuple[SharedGaussians, float, NDArray[np.float64]]:
        """Return where EM leads, its log likelihood and the rows of every component."""
        mixture = SharedGaussians(start.means.copy(), start.deviations.copy(), start.weights.copy())
        shape = (len(self.data.means), len(start.means))
        work = EMWork(
            np.empty(shape),
            np.empty(shape),
            np.empty(shape[0]),
            np.empty(shape),
            np.empty_like(start.weights),
            np.empty(shape[1]),
            np.empty(max_iterations + 1),
            self._stop,
        )
        tolerance = self.options.tolerance * self.n_rows
        done = self._run(
            lambda: expectation_maximisation(self.data, mixture, work, self.cells.floor, tolerance)
        )
        return mixture, float(work.trace[done]), work.mass.sum(axis=0)

    def _described(
        self, mixture: SharedGaussians, likelihood: float, rows: NDArray[np.float64]
    ) -> SharedMixture:
        """Return the mixture in the data's units."""
        n_components = len(mixture.means)
        price = n_components * log(self.n_rows)  # a mean and a deviation each
        price += self._configurations.weight_cost(n_components, self.options.penalty)
        likelihood -= self.n_rows * log(self.cells.unit)
        order = np.argsort(mixture.means, kind="stable")
        return SharedMixture(
            self.cells.units(mixture.means[order]),
            mixture.deviations[order] * self.cells.unit,
            rows[order] / self.n_rows,
            mixture.weights[:, order],
            likelihood,
            likelihood - price,
        )
