"""Counts: whole numbers from 0 on, the logarithm of whose mean is a sum of functions of the parents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.network.conditionals.family_effects import effect_parts, finite_numbers
from gomea_bn.network.conditionals.kind import LEAST_PROBABILITY, FurtherRows, OnScale
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.conditionals.terms import NODES_OF_CELL, SumOfTerms, Terms, climb
from gomea_bn.network.parts import WithTables
from gomea_bn.problems.cuts.shape import RESERVE
from gomea_bn.runtime.jit import kernel

# by how much the logarithm of a mean may change in a step
_MOST_MOVED = 5.0


@dataclass(frozen=True, eq=False)
class FamilyCounts(OnScale):
    """The counts of a family: a Poisson or negative binomial distribution, whose mean is exp(f).

    The sum f is of functions of the continuous parents and of one amount for every level of each discrete parent. The
    variance is exp(f) + dispersion exp(2 f) (Lawless, "Negative binomial and mixed Poisson regression", 1987). The
    distribution is restricted to the whole numbers of the range of the column. A number that is a point mass of the
    column has a probability, and any other one a density: its probability is spread over a step of 1 around it.

    Attributes
    ----------
    parents, groups : tuple of str
        Continuous and discrete parents.
    terms : Terms
        Functions of the parents, of which the sum is made.
    coefficients : ndarray of shape (n_terms + 1,), float64
        Intercept and coefficients of the terms.
    dispersion : float
        At least 0, that of a Poisson distribution.

    Raises
    ------
    GomeaBnError
        For parts of other shapes, or that are not finite.
    """

    what = "a count"
    kind = "counts"

    parents: tuple[str, ...]
    groups: tuple[str, ...]
    terms: Terms
    coefficients: NDArray[np.float64]
    dispersion: float

    def __post_init__(self) -> None:
        coefficients = finite_numbers(self.coefficients, "coefficients", self.what)
        object.__setattr__(self, "coefficients", coefficients)
        is_valid = (
            len(self.parents) + len(self.groups) > 0
            and coefficients.shape == (self.terms.n_terms + 1,)
            and is_real(self.dispersion)
            and 0 <= self.dispersion < np.inf
        )
        if not is_valid:
            raise GomeaBnError(
                "A count must have at least one parent, an intercept and one coefficient per term, and a dispersion of "
                "at least 0, all finite."
            )

    @property
    def size(self) -> float:
        """Size of the negative binomial distribution, infinite without dispersion."""
        return 1 / self.dispersion if self.dispersion > 0 else np.inf

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return f"a count with {self.terms.words}"

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, and the dispersion."""
        return self.terms.n_free + 1 + (self.dispersion > 0)

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that it needs a scale of, each with whether that is in own units."""
        return {(False, name)} | self.terms.scaled

    def check(self, network: WithTables, name: str, scales: Mapping[bool, Mapping[str, Any]]) -> None:
        """Raise `GomeaBnError` unless the count fits the family of a column, and its columns have a scale."""
        self.terms.check(network, name, self.parents, self.groups, scales)
        if name not in scales[False]:
            raise GomeaBnError(f"scales must have an entry for '{name}', which is a count.")
        low, high = network.support[name]
        if not high > -0.5:
            raise GomeaBnError(
                f"'{name}' is a count, and its range must have whole numbers from 0 on, got {low:g} to {high:g}."
            )

    def with_rows(self, name: str, rows: FurtherRows) -> FamilyCounts:
        """Return the counts after further rows; functions and the dispersion stay.

        The rows so far are replaced by drawn ones whose parents are like theirs and which have the present means
        (pseudo-rehearsal: Robins, "Catastrophic forgetting, rehearsal and pseudorehearsal", 1995).
        """
        former, further = (
            np.column_stack(
                [
                    np.ones(part.columns.n_rows),
                    self.terms.of_rows(part.columns, rows.facts.scales, rows.facts.n_levels),
                ]
            )
            for part in (rows.like_former(), rows)
        )
        # forgotten rows still keep the coefficients finite
        n_former = max(rows.old * rows.n_former, float(len(self.coefficients)))
        weights = np.concatenate([np.full(len(former), n_former / len(former)), rows.weights])
        at_present = np.exp(_inside(former @ self.coefficients))
        values = np.maximum(np.round(np.asarray(rows.columns[name], np.float64)), 0.0)
        nothing = np.zeros(len(self.coefficients))
        coefficients, _ = fitted_count(
            np.concatenate([former, further]),
            np.concatenate([at_present, values]),
            weights,
            nothing,
            self.size,
            self.coefficients,
        )
        return replace(self, coefficients=coefficients)

    def counted(self, name: str, rows: FurtherRows) -> FamilyCounts:
        """Return the counts whose mean is that of the rows; all but the intercept, which had priors, stays."""
        terms = self.terms.of_rows(rows.columns, rows.facts.scales, rows.facts.n_levels)
        logs = _inside(self.coefficients[0] + terms @ self.coefficients[1:])
        values = np.maximum(np.round(np.asarray(rows.columns[name], np.float64)), 0.0)
        # half a row of one keeps the mean above 0
        ratio = (rows.weights @ values + 0.5) / (rows.weights @ np.exp(logs) + 0.5)
        coefficients = self.coefficients.copy()
        coefficients[0] += np.log(ratio)
        return replace(self, coefficients=coefficients)

    def to_content(self) -> dict[str, Any]:
        """Return the counts as values that JSON can hold."""
        names = {"parents": list(self.parents), "groups": list(self.groups)}
        numbers = {"coefficients": self.coefficients.tolist(), "dispersion": self.dispersion}
        return {"kind": self.kind, **names, **self.terms.to_content(), **numbers}

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        numbers = ("coefficients", "dispersion")
        parts = effect_parts(content, cls.what, numbers)
        return {**parts, **{name: content[name] for name in numbers}}

    @cached_property
    def _sum(self) -> SumOfTerms:
        return SumOfTerms(self.terms, self.coefficients, self.facts.scales, self.facts.n_levels)

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        """Whole numbers of the range of the column."""
        low, high = self.facts.support[self.name]
        first = max(np.floor(low + 0.5), 0.0)
        return np.arange(first, max(np.ceil(high - 0.5), first) + 1)

    @cached_property
    def _growths(self) -> NDArray[np.float64]:
        """The probability of a number as a multiple of that of the one before it, for a rate of 1."""
        before = self._numbers[:-1]
        return np.asarray((1.0 if self.size == np.inf else before + self.size) / (before + 1.0))

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        """Ends of the steps around the whole numbers."""
        low, high = self.facts.support[self.name]
        return np.concatenate([[low], self._numbers[1:] - 0.5, [high]])

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        """Point masses of the column."""
        return self.scale.shape.point_values if hasattr(self.scale, "shape") else np.empty(0)

    @cached_property
    def _of_points(self) -> NDArray[np.int64]:
        """Step of every point mass."""
        return self._steps(self._points)

    @cached_property
    def _masses_of_points(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probabilities of the point masses, and their sums by step."""
        masses = self.scale.shape.point_masses if hasattr(self.scale, "shape") else np.empty(0)
        totals = np.bincount(self._of_points, masses, minlength=len(self._numbers))
        return masses, np.asarray(totals, np.float64)

    @cached_property
    def _point_shares(self) -> NDArray[np.float64]:
        """Share that every point mass has of the probability of its step."""
        masses, totals = self._masses_of_points
        return np.asarray(masses / totals[self._of_points])

    @cached_property
    def _is_spread(self) -> NDArray[np.bool_]:
        """Whether the probability of a step is spread over it."""
        return np.asarray(self._masses_of_points[1] == 0)

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density, and its relative error where values are the middles of cells, or None."""
        own = np.asarray(values[self.name], np.float64)
        if (bounds := values.bounds()) is None:
            p = self._probabilities(self._logs(values), list(self._sum.moved(values)))
            return np.log(self._heights(p, own, values.ends(self.name))), None
        parts = [
            self._heights(
                self._probabilities(self._logs(one), []), np.asarray(one[self.name], np.float64), None
            )
            for one in (values, *bounds)
        ]
        # by the second difference
        return np.log(parts[0]), np.abs((parts[1] + parts[2]) / parts[0] - 2.0) / 6.0

    def log_density_around(self, logs: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log density of numbers, given the logarithms of means, float64 (n,)."""
        return np.asarray(np.log(self._heights(self._probabilities(_inside(logs), []), own, None)))

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, or of all levels, float64 (..., n_cells)."""
        assert cuts is not None
        p = self._probabilities(self._logs(values), list(self._sum.moved(values)))
        ends = np.concatenate([self._edges[:1], cuts, self._edges[-1:]])
        inside = np.clip(ends, self._edges[:-1, None], self._edges[1:, None])
        shares = np.diff(inside, axis=1) / np.diff(self._edges)[:, None] * self._is_spread[:, None]
        np.add.at(
            shares, (self._of_points, np.searchsorted(cuts, self._points, side="left")), self._point_shares
        )
        widths = np.diff(ends) / (ends[-1] - ends[0])
        return np.asarray((1 - RESERVE) * (p @ shares) + RESERVE * widths, np.float64)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, (n,)."""
        rates = np.broadcast_to(self._rates(self._logs(values)), n)
        steps = np.empty(n, np.int64)
        _fill_steps(rates.copy(), self._growths, generator.random(n), np.empty(len(self._numbers)), steps)
        shares = generator.random(n)
        drawn = self._edges[steps] + shares * (self._edges[steps + 1] - self._edges[steps])
        up_to = np.cumsum(self._point_shares)
        for step in np.unique(steps[~self._is_spread[steps]]).tolist():
            rows, points = np.flatnonzero(steps == step), np.flatnonzero(self._of_points == step)
            of_points = up_to[points] - up_to[points[0]] + self._point_shares[points[0]]
            places = np.minimum(np.searchsorted(of_points, shares[rows]), len(points) - 1)
            drawn[rows] = self._points[points[places]]
        return np.asarray(drawn)

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the density bends, float64 (n,)."""
        return self._sum.bends(parent)

    def jumps(self, name: str) -> NDArray[np.float64]:
        """Return the values of the column or of a parent at which the density jumps, float64 (n,)."""
        return self._edges[1:-1] if name == self.name else np.empty(0)

    def breaks(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers between which the density is drawn as lines, float64 (n,)."""
        return np.concatenate([self._edges, self._points])

    def _steps(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the step of every number; one at an edge belongs to the lower one."""
        return np.asarray(np.searchsorted(self._edges[1:-1], numbers, side="left"))

    def _logs(self, values: Columns) -> NDArray[np.float64]:
        return _inside(self._sum.of(values))

    def _rates(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what multiplies `_growths`, of the shape of the logarithms of means."""
        means = np.exp(logs)
        return np.asarray(means if self.size == np.inf else means / (means + self.size))

    def _probabilities(self, logs: NDArray[np.float64], moved: list[Any]) -> NDArray[np.float64]:
        """Return the probabilities of all steps, float64 (..., n_steps), averaged over cells of parents."""
        if not moved:
            result = np.empty((np.size(logs), len(self._numbers)))
            _fill_probabilities(self._rates(logs).ravel(), self._growths, result)
            return result.reshape(*np.shape(logs), len(self._numbers))
        # parents move independently
        width = np.sqrt(sum(np.square(of_parent) for of_parent in moved))
        return np.asarray(
            sum(
                share * self._probabilities(_inside(logs + node * width), []) for node, share in NODES_OF_CELL
            )
        )

    def _heights(
        self,
        p: NDArray[np.float64],
        own: NDArray[np.float64],
        ends: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    ) -> NDArray[np.float64]:
        """Return densities of numbers, or probabilities of point masses, given those of the steps, (..., n_steps).

        Numbers that stand for cells, of which the `ends` are given, have the mean density of these.
        """
        low, high = self._edges[0], self._edges[-1]
        own = np.clip(own, low, high)
        steps = self._steps(own)
        of_steps = _taken(p, steps)
        heights = of_steps * (self._is_spread / np.diff(self._edges))[steps]
        if ends is not None:
            lower, upper = (np.clip(end, low, high) for end in ends)
            width = upper - lower
            up_to = np.concatenate(
                [np.zeros((*p.shape[:-1], 1)), np.cumsum(p * self._is_spread, axis=-1)], axis=-1
            )
            below = [self._below(p, up_to, end) for end in (lower, upper)]
            heights = np.where(width > 0, (below[1] - below[0]) / np.where(width > 0, width, 1.0), heights)
        heights = (1 - RESERVE) * np.maximum(heights, 0.0) + RESERVE / (high - low)
        if len(self._points):
            places = np.minimum(np.searchsorted(self._points, own), len(self._points) - 1)
            of_points = np.maximum((1 - RESERVE) * of_steps * self._point_shares[places], LEAST_PROBABILITY)
            heights = np.where(self._points[places] == own, of_points, heights)
        return np.asarray(heights)

    def _below(
        self, p: NDArray[np.float64], up_to: NDArray[np.float64], numbers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the spread probability below numbers."""
        steps = self._steps(numbers)
        inside = (numbers - self._edges[steps]) / np.diff(self._edges)[steps] * self._is_spread[steps]
        return np.asarray(_taken(up_to, steps) + inside * _taken(p, steps), np.float64)


def fitted_count(
    design: NDArray[np.float64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    precisions: NDArray[np.float64],
    size: float,
    start: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coefficients of the likeliest logarithms of means, and the information on them, (n,) and (n, n).

    Parameters
    ----------
    design : ndarray of shape (n_rows, n), float64
        Ones and terms of rows.
    values, weights : ndarray of shape (n_rows,), float64
        Counts, or expected ones, and how often every row counts.
    precisions : ndarray of shape (n,), float64
        Those of the normal prior of the coefficients.
    size : float
        Size of the negative binomial distribution.
    start : ndarray of shape (n,), float64
        First coefficients.
    """
    shares = weights / weights.sum()
    prior = precisions / weights.sum()

    def objective(coefficients: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logs = _inside(design @ coefficients)
        of_rows = values * logs
        of_rows -= np.exp(logs) if size == np.inf else (values + size) * np.log1p(np.exp(logs) / size)
        return float(shares @ of_rows - 0.5 * prior @ coefficients**2), logs

    def derivatives(
        coefficients: NDArray[np.float64], logs: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        means = np.exp(logs)
        free = size / (size + means) if size < np.inf else np.ones(len(means))
        gradient = design.T @ (shares * (values - means) * free) - prior * coefficients
        bends = means if size == np.inf else (values + size) * means * size / (size + means) ** 2
        return gradient, design.T @ (design * (shares * bends)[:, None]) + np.diag(prior)

    coefficients, information = climb(
        objective, derivatives, start, lambda step: float(np.abs(design @ step).max()), _MOST_MOVED
    )
    return coefficients, information * weights.sum()


def _inside(logs: Any) -> NDArray[np.float64]:
    """Return logarithms of means in the range that counts."""
    # logarithms of means beyond these count as these
    return np.clip(np.asarray(logs, np.float64), -30.0, 20.0)


@kernel
def _fill_multiples(rate: float, growths: NDArray[np.float64], result: NDArray[np.float64]) -> float:
    """Write the probabilities of numbers, each of which is the one before it by rate times growth, as multiples.

    They are those of the most probable number, and the sum is returned.
    """
    last, mode = len(growths), 0
    # from the most probable number on in both directions, so that nothing overflows
    while mode < last and rate * growths[mode] >= 1.0:
        mode += 1
    result[mode] = total = 1.0
    for k in range(mode, last):
        result[k + 1] = result[k] * rate * growths[k]
        total += result[k + 1]
    for k in range(mode, 0, -1):
        result[k - 1] = result[k] / (rate * growths[k - 1])
        total += result[k - 1]
    return total


@kernel
def _fill_probabilities(
    rates: NDArray[np.float64], growths: NDArray[np.float64], result: NDArray[np.float64]
) -> int:
    """Write the probabilities of numbers (n, n_numbers), see `_fill_multiples`."""
    for i in range(len(rates)):
        total = _fill_multiples(rates[i], growths, result[i])
        for k in range(result.shape[1]):
            result[i, k] /= total
    return 0


@kernel
def _fill_steps(
    rates: NDArray[np.float64], growths: NDArray[np.float64], shares: NDArray[np.float64],
    multiples: NDArray[np.float64], steps: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the places of numbers up to which probabilities add up to shares, one per rate."""
    for i in range(len(rates)):
        wanted = shares[i] * _fill_multiples(rates[i], growths, multiples)
        place, below = 0, multiples[0]
        while place < len(growths) and below <= wanted:
            place += 1
            below += multiples[place]
        steps[i] = place
    return 0


def _taken(numbers: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return numbers (..., n) at places of a shape that broadcasts with the first axes."""
    shape = np.broadcast_shapes(numbers.shape[:-1], places.shape)
    of_shape = np.broadcast_to(numbers, (*shape, numbers.shape[-1]))
    return np.asarray(
        np.take_along_axis(of_shape, np.broadcast_to(places, shape)[..., None], axis=-1)[..., 0]
    )
