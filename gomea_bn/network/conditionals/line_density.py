"""The densities of lines, mixtures of lines and logits at values of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.family_line import (
    LEAST_SPREAD,
    FamilyLine,
    LineScale,
    LineTerms,
    PointEnds,
    below_student,
    log_line_density,
    student_distribution,
)
from gomea_bn.network.conditionals.family_logit import FamilyLogit, log_levels
from gomea_bn.network.conditionals.family_mixture import (
    FamilyMixture,
    drawn_from_lines,
    gates_and_means,
    log_mixture_of_lines,
    masses_of_lines,
)
from gomea_bn.problems.cuts.policies import bin_codes

# points at which a line is drawn: over its range, and for some of its centres up to six scales away
_N_POINTS = 129
_N_CENTRES = 41
_FARTHEST = 6.0
# a probability of the range of a column that is lost to rounding
_LEAST_MASS = 1e-12
# probability of a component from which its line is drawn
_LEAST_DRAWN = 0.01
_LEAST_LOG = -700.0
_LEAST_PROBABILITY = 1e-300
# nodes over an interval of width 1 around 0, and their shares, of Gauss and Legendre
_NODES, _SHARES = (part / 2 for part in np.polynomial.legendre.leggauss(5))

FollowedLine: TypeAlias = FamilyLine | FamilyMixture | FamilyLogit
"""What a column follows besides its tables."""


class Columns:
    """Values of columns, whose bins and positions on scales are computed once.

    Numbers of continuous columns, and codes of discrete ones, have shapes that broadcast. Numbers that stand for cells
    have the `ends` (lower, upper) of these, of their shape.
    """

    def __init__(
        self,
        values: Mapping[str, NDArray[Any]],
        ends: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None,
    ) -> None:
        self._values, self._ends = values, ends or {}
        self._codes: dict[tuple[str, int], tuple[object, NDArray[Any]]] = {}
        self._positions: dict[tuple[str, int], tuple[object, NDArray[np.float64]]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]

    def codes(self, name: str, cuts: NDArray[np.float64] | None) -> NDArray[Any]:
        """Return the bins of a continuous column, or the codes of a discrete one, for which `cuts` is None."""
        values = self._values[name]
        if cuts is None:
            return values
        key = name, id(cuts)
        if key not in self._codes:
            # the cuts are kept so that no other array gets their number
            self._codes[key] = cuts, bin_codes(np.ravel(values), cuts).reshape(np.shape(values))
        return self._codes[key][1]

    def positions(self, name: str, scale: LineScale) -> NDArray[np.float64]:
        """Return the positions of a continuous column on a scale."""
        key = name, id(scale)
        if key not in self._positions:
            self._positions[key] = scale, scale.of_values(np.asarray(self._values[name], np.float64))
        return self._positions[key][1]

    def ends(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the ends of the cells that values of a column stand for; None for exact values."""
        return self._ends.get(name)

    def bounds(self) -> tuple[Columns, ...] | None:
        """Return the columns at both ends of the cells of a single column; None for values and for several columns."""
        return None

    def add_error(self, error: NDArray[np.float64]) -> None:
        """Take note of the relative error of densities that count with their middles in cells of a single column."""

    def some(self, rows: NDArray[np.int64], of: Iterable[str]) -> Columns:
        """Return some rows of some columns of shape (n_rows,)."""
        return Columns({name: self._values[name][rows] for name in of})


class LineDensity:
    """The density of a column under its line, its mixture of lines, or its logit.

    Parameters
    ----------
    name : str
        Name of the column.
    line : FamilyLine, FamilyMixture or FamilyLogit
        What the column follows.
    scales : mapping of str to LineScale
        Scales of the column, unless it is discrete, and of its continuous parents.
    n_levels : mapping of str to int
        Number of levels of the discrete parents.

    Notes
    -----
    All methods take the values of the parents as arrays that broadcast, as those of `Family` do.
    """

    def __init__(
        self, name: str, line: FollowedLine, scales: Mapping[str, LineScale], n_levels: Mapping[str, int]
    ) -> None:
        self.name = name
        self._parents = line.parents
        self._group_columns = line.groups
        self._scales, self._n_levels = scales, n_levels

    def log_density(
        self, values: Columns, support: tuple[float, float] | None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density in units of the column, or the log probability of levels and point masses.

        With it comes its relative error where values are the middles of cells, or None.
        """
        raise NotImplementedError

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, or of all levels, float64 (..., n_cells)."""
        raise NotImplementedError

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, (n,)."""
        raise NotImplementedError

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the line of the column bends, float64 (n,)."""
        return np.empty(0)

    def _positions(self, values: Columns) -> list[NDArray[np.float64]]:
        return [values.positions(parent, self._scales[parent]) for parent in self._parents]

    def _groups(self, values: Columns) -> Any:
        """Return the group of the line, int64 of the shape that the discrete parents broadcast to."""
        groups: Any = np.int64(0)
        for group in self._group_columns:
            groups = groups * self._n_levels[group] + np.asarray(values[group]).astype(np.int64)
        return groups

    def _knots(self, terms: LineTerms, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which terms bend, float64 (n,)."""
        if parent not in self._parents:
            return np.empty(0)
        scale, position = self._scales[parent], self._parents.index(parent)
        knots = np.concatenate(
            [of_parents[position] for of_parents in (terms.knots, terms.product_knots) if of_parents]
        )
        return scale.values_of(knots[(knots > scale.low) & (knots < scale.high)])

    def _moved(
        self, terms: LineTerms, coefficients: NDArray[np.float64], groups: Any, values: Columns
    ) -> Iterator[Any]:
        """Yield how far a sum of terms moves inside the cells of each parent that has cells."""
        n = len(self._parents)
        first_knot = 1 + n
        first_product = first_knot + sum(map(len, terms.knots))
        for place, (parent, knots) in enumerate(zip(self._parents, terms.knots, strict=True)):
            at = [1 + place, *range(first_knot, first_knot + len(knots))]
            first_knot += len(knots)
            if (ends := values.ends(parent)) is None:
                continue
            low, high = (self._scales[parent].of_values(end)[..., None] for end in ends)
            steps = [high - low, np.maximum(high - knots, 0.0) - np.maximum(low - knots, 0.0)]
            sums = np.concatenate(steps, axis=-1) @ coefficients[:, at].T
            flat = sums.reshape(-1, len(coefficients))
            moved: Any = flat[np.arange(len(flat)).reshape(sums.shape[:-1]), groups]
            at_ends = [terms.factors(place, end[..., 0]) for end in (low, high)]
            for product, (i, a, j, b) in enumerate(terms.products, start=first_product):
                if place not in (i, j):
                    continue
                own, other, factor = (a, j, b) if i == place else (b, i, a)
                step = at_ends[1][own] - at_ends[0][own]
                if i == j:
                    by = at_ends[1][own] + at_ends[0][own]
                else:
                    of_other = self._parents[other]
                    by = terms.factors(other, values.positions(of_other, self._scales[of_other]))[factor]
                moved = moved + coefficients[groups, product] * (step * by)
            yield moved


class ScaledDensity(LineDensity):
    """The density of a continuous column, which is that of its place on a scale."""

    def __init__(
        self, name: str, line: FollowedLine, scales: Mapping[str, LineScale], n_levels: Mapping[str, int]
    ) -> None:
        super().__init__(name, line, scales, n_levels)
        self.scale = scales[name]

    def log_density(
        self, values: Columns, support: tuple[float, float] | None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density as `LineDensity` does; values beyond a support count as its ends."""
        own, scale = np.asarray(values[self.name], np.float64), self.scale
        inside = np.clip(own, *support) if support else own
        logs, error = self.log_on_scale(values, scale.ends_of_points(inside))
        slopes = scale.log_slope(inside, values.positions(self.name, scale))
        if (cells := values.ends(self.name)) is not None and (on_scale := self.own_ends(values)) is not None:
            # the mean slope inside the cell
            width, of_cell = (high - low for low, high in (cells, on_scale))
            is_wide = (width > 0) & (of_cell > 0)
            ratios = np.divide(of_cell, width, out=np.ones(np.shape(width)), where=is_wide)
            slopes = np.where(is_wide, np.log(ratios), slopes)
        logs = logs + slopes
        return np.where((inside >= scale.least) & (inside <= scale.greatest), logs, -np.inf), error

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, float64 (..., n_cells)."""
        assert cuts is not None
        ends = np.concatenate(([self.scale.low], self.scale.upper_ends(cuts), [self.scale.high]))
        return self.masses_on_scale(ends, values)

    def own_ends(self, values: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the ends on the scale of the cells that values of the column stand for; None for exact values."""
        if (ends := values.ends(self.name)) is None:
            return None
        low, high = (self.scale.of_values(end) for end in ends)
        return low, high

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number per row, float64 (n,)."""
        return self.scale.values_of(self.draw_on_scale(values, n, generator))

    def log_on_scale(self, values: Columns, ends: PointEnds | None) -> tuple[NDArray[np.float64], Any]:
        """Return the log density on the scale, and its relative error where values are the middles of cells, or None.

        `ends` are those of the values that are point masses.
        """
        raise NotImplementedError

    def masses_on_scale(self, ends: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of cells, whose ends on the scale are given, float64 (..., n_cells)."""
        raise NotImplementedError

    def draw_on_scale(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return one place on the scale per row, float64 (n,)."""
        raise NotImplementedError

    def centres(self, values: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centres and scales of the densities around lines, for drawing, float64 (n,)."""
        raise NotImplementedError

    def of_numbers(self, numbers: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the mean density of numbers over rows of the parents, float64 (n_numbers,).

        Point masses have probabilities.
        """
        members = {name: values[name] for name in (*self._parents, *self._group_columns)}
        of_rows = {name: np.atleast_1d(column)[:, None] for name, column in members.items()}
        logs, _ = self.log_density(Columns({**of_rows, self.name: numbers}), None)
        return np.asarray(np.exp(logs).reshape(-1, len(numbers)).mean(axis=0))

    def points(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers at which the density may bend, for drawing, float64 (n,).

        Some lie over the whole range, and about as many around some centres.
        """
        scale = self.scale
        means, scales = self.centres(values)
        order = np.argsort(means)
        some = np.unique(order[np.linspace(0, len(order) - 1, _N_CENTRES).astype(np.int64)])
        offsets = np.linspace(-_FARTHEST, _FARTHEST, max(_N_POINTS // len(some), 5))
        around = means[some, None] + scales[some, None] * offsets
        z = np.concatenate([np.linspace(scale.low, scale.high, _N_POINTS), around.ravel()])
        return np.concatenate([scale.values_of(np.clip(z, scale.low, scale.high)), scale.bends])


class _AroundLine(ScaledDensity):
    """Student's t distribution around a line, curves or a surface."""

    def __init__(
        self, name: str, line: FamilyLine, scales: Mapping[str, LineScale], n_levels: Mapping[str, int]
    ) -> None:
        super().__init__(name, line, scales, n_levels)
        self._line = line
        self.scale = line.own_scale(self.scale)

    def log_on_scale(self, values: Columns, ends: PointEnds | None) -> tuple[NDArray[np.float64], Any]:
        z = values.positions(self.name, self.scale)
        means, scales, freedom = self._at(values)
        if (bounds := values.bounds()) is None:
            moved = self._spread_at(values)
            if (own := self.own_ends(values)) is not None:
                # an interval of numbers around a centre is one of centres around a number
                z, width = (own[0] + own[1]) / 2, own[1] - own[0]
                moved = width if moved is None else moved + width
            logs = log_line_density(z, means, scales, freedom, self.scale, ends, moved)
            return logs, None
        at_ends = [self._at(end)[0] for end in bounds]
        least, most = np.minimum(means, np.minimum(*at_ends)), np.maximum(means, np.maximum(*at_ends))
        low, high = (end.positions(self.name, self.scale) for end in bounds)
        # an interval of centres around a number is one of numbers around a centre
        spread = most - least + high - low
        widths, distances = spread / scales, (z - means) / scales
        # a bound of the second derivative of the density of the line, as a share of it
        bend = (freedom + 1) * (1 / freedom + (freedom + 1) * (distances / (freedom + distances**2)) ** 2)
        is_wide = widths > LEAST_SPREAD
        z, means = np.where(is_wide, (low + high) / 2, z), np.where(is_wide, (least + most) / 2, means)
        logs = log_line_density(z, means, scales, freedom, self.scale, ends, spread)
        return logs, bend * widths**2 / 24

    def masses_on_scale(self, ends: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        means, scales, freedom = (np.asarray(part)[..., None] for part in self._at(values))
        spread = self._spread_at(values)
        widths = None if spread is None else spread[..., None] / scales
        below = student_distribution((ends - means) / scales, freedom, widths)
        masses = np.maximum(np.diff(below, axis=-1), 0.0)
        total = masses.sum(axis=-1, keepdims=True)
        return np.asarray(masses / np.maximum(total, _LEAST_MASS), np.float64)

    def draw_on_scale(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
        means, scales, freedom = self._at(values)
        low = below_student(freedom, (self.scale.low - means) / scales)
        high = below_student(freedom, (self.scale.high - means) / scales)
        shares = low + generator.random(n) * (high - low)
        z = means + scales * scipy.special.stdtrit(freedom, shares)
        return np.asarray(np.clip(z, self.scale.low, self.scale.high), np.float64)

    def centres(self, values: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        means, scales, _ = (np.atleast_1d(part) for part in self._at(values))
        means, scales = np.broadcast_arrays(means, scales)
        return means.ravel(), scales.ravel()

    def bends(self, parent: str) -> NDArray[np.float64]:
        return self._knots(self._line.terms, parent)

    def _at(self, values: Columns) -> tuple[NDArray[np.float64], Any, Any]:
        """Return centres inside the range, scales and degrees of freedom of the line, of shapes that broadcast."""
        line, scale = self._line, self.scale
        groups, positions = self._groups(values), self._positions(values)
        means = sum_of_terms(line.terms, line.coefficients, groups, positions)
        return np.clip(means, scale.low, scale.high), line.scales[groups], line.freedom[groups]

    def _spread_at(self, values: Columns) -> NDArray[np.float64] | None:
        """Return how far the centre of the line moves inside the cells of parents; None if no parent has cells.

        Parents move one at a time, and their distances add up, so that no value between the cells is left out.
        """
        line = self._line
        moved = list(self._moved(line.terms, line.coefficients, self._groups(values), values))
        return None if not moved else np.asarray(sum(np.abs(of_parent) for of_parent in moved))


class _OfMixture(ScaledDensity):
    """Normal distributions around several lines."""

    def __init__(
        self, name: str, line: FamilyMixture, scales: Mapping[str, LineScale], n_levels: Mapping[str, int]
    ) -> None:
        super().__init__(name, line, scales, n_levels)
        self._components = line.components

    def log_on_scale(self, values: Columns, ends: PointEnds | None) -> tuple[NDArray[np.float64], Any]:
        if (bounds := values.bounds()) is None:
            widths = self._widths(values)
            if (of_own := self.own_ends(values)) is None:
                return self._logs(values, ends, widths)[0], None
            widths = [np.zeros(1)] * len(self._parents) if widths is None else widths
            return self._logs(values, ends, widths, of_own[1] - of_own[0])[0], None
        # cells around the values of a single column
        low, high = ([*self._positions(end), end.positions(self.name, self.scale)] for end in bounds)
        *of_parents, own = (last - first for first, last in zip(low, high, strict=True))
        logs, squares = self._logs(values, ends, of_parents, own)
        # as of one component, or by the second difference, if another one begins inside the cell
        ratios = [
            np.exp(np.minimum(self._logs(end, ends, of_parents, own)[0] - logs, -_LEAST_LOG))
            for end in bounds
        ]
        return logs, np.maximum(squares / 24.0, np.abs(ratios[0] + ratios[1] - 2.0) / 6.0)

    def masses_on_scale(self, ends: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        shape, parents, groups = self._rows(values)
        widths = self._widths(values)
        cells = None if widths is None else _flat(widths, shape)
        masses = masses_of_lines(self._components, ends, parents, groups, cells)
        return masses.reshape(*shape, len(ends) - 1)

    def draw_on_scale(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
        _, parents, groups = self._rows(values)
        return drawn_from_lines(
            self._components, parents, groups, (self.scale.low, self.scale.high), generator
        )

    def centres(self, values: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        _, parents, groups = self._rows(values)
        shares, means = gates_and_means(self._components, parents, groups, (self.scale.low, self.scale.high))
        is_drawn = shares > _LEAST_DRAWN
        return means[is_drawn], np.broadcast_to(self._components.scales, means.shape)[is_drawn]

    def _widths(self, values: Columns) -> list[NDArray[np.float64]] | None:
        """Return the widths of the cells of the parents, 0 for exact values; None if no parent has cells."""
        widths, has_cells = [], False
        for parent in self._parents:
            if (ends := values.ends(parent)) is None:
                widths.append(np.zeros(1))
                continue
            low, high = (self._scales[parent].of_values(end) for end in ends)
            widths.append(high - low)
            has_cells = True
        return widths if has_cells else None

    def _rows(self, values: Columns, *further: NDArray[Any]) -> tuple[Any, Any, Any]:
        """Return the shape that all values broadcast to, the parents (n, d) and the groups (n,)."""
        positions, groups = self._positions(values), self._groups(values)
        shape = np.broadcast_shapes(*(np.shape(part) for part in (*positions, groups, *further)))
        of_rows = np.broadcast_to(groups, shape).ravel()
        return shape, _flat(positions, shape), np.ascontiguousarray(of_rows)

    def _logs(
        self,
        values: Columns,
        ends: PointEnds | None,
        widths: list[NDArray[np.float64]] | None,
        own: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        z = values.positions(self.name, self.scale)
        shape, parents, groups = self._rows(values, z)
        spread = None
        if widths is not None:
            of_own = np.zeros(1) if own is None else own
            spread = _flat([of_own], shape)[:, 0], _flat(widths, shape)
        points = None
        if ends is not None:
            is_point, lows, highs = ends
            points = PointEnds(
                np.broadcast_to(is_point, shape).ravel(),
                np.broadcast_to(lows, shape).ravel(),
                np.broadcast_to(highs, shape).ravel(),
            )
        logs, squares = log_mixture_of_lines(
            self._components,
            np.ascontiguousarray(np.broadcast_to(z, shape).ravel()),
            parents,
            groups,
            (self.scale.low, self.scale.high),
            points,
            spread,
        )
        return logs.reshape(shape), squares.reshape(shape)


class _OfLevels(LineDensity):
    """The probabilities of levels under a logit."""

    def __init__(
        self, name: str, line: FamilyLogit, scales: Mapping[str, LineScale], n_levels: Mapping[str, int]
    ) -> None:
        super().__init__(name, line, scales, n_levels)
        self._line = line
        self._coefficients = np.concatenate([[0.0], line.coefficients])[None]

    def log_density(
        self, values: Columns, support: tuple[float, float] | None
    ) -> tuple[NDArray[np.float64], Any]:
        codes = np.asarray(values[self.name]).astype(np.int64)
        if (bounds := values.bounds()) is None:
            return np.log(self._of_codes(values, codes)), None
        at_middle = self._of_codes(values, codes)
        at_ends = [self._of_codes(end, codes) for end in bounds]
        # by the second difference
        return np.log(at_middle), np.abs(sum(at_ends) / at_middle - 2.0) / 6.0

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        return self._probabilities(values)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        probabilities = np.broadcast_to(self._probabilities(values), (n, len(self._line.constants)))
        below = np.cumsum(probabilities, axis=1)
        places = generator.random(n) * below[:, -1]
        return np.asarray((below[:, :-1] <= places[:, None]).sum(axis=1), np.int32)

    def bends(self, parent: str) -> NDArray[np.float64]:
        return self._knots(self._line.terms, parent)

    def _of_codes(self, values: Columns, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probabilities of levels by their codes, of the shape that all values broadcast to."""
        probabilities = self._probabilities(values)
        shape = np.broadcast_shapes(probabilities.shape[:-1], codes.shape)
        probabilities = np.broadcast_to(probabilities, (*shape, probabilities.shape[-1]))
        places = np.broadcast_to(codes, shape)[..., None]
        return np.maximum(np.take_along_axis(probabilities, places, axis=-1)[..., 0], _LEAST_PROBABILITY)

    def _probabilities(self, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of all levels, float64 (..., n_levels), averaged over the cells of parents."""
        line = self._line
        index: Any = sum_of_terms(line.terms, self._coefficients, np.int64(0), self._positions(values))
        for group, amounts in zip(self._group_columns, line.amounts, strict=True):
            index = index + amounts[np.asarray(values[group]).astype(np.int64)]
        moved = list(self._moved(line.terms, self._coefficients, np.int64(0), values))
        if not moved:
            return np.exp(log_levels(index, line.constants, line.positions))
        # parents move independently
        width = np.sqrt(sum(np.square(of_parent) for of_parent in moved))
        total: Any = 0.0
        for node, share in zip(_NODES, _SHARES, strict=True):
            total = total + share * _of_levels(index + node * width, line.constants, line.positions)
        return np.asarray(total)


def _of_levels(
    index: Any, constants: NDArray[np.float64], positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the exponentials of `log_levels`, level by level, which is faster for few levels."""
    logs = [constant + position * index for constant, position in zip(constants, positions, strict=True)]
    top = np.maximum.reduce(logs)
    parts = [np.exp(of_level - top) for of_level in logs]
    return np.asarray(np.stack(parts, axis=-1) / sum(parts)[..., None])


def line_density(
    name: str,
    line: FollowedLine,
    scales: Mapping[str, LineScale],
    n_levels: Mapping[str, int],
) -> LineDensity:
    """Return the density of a column under what it follows; see `LineDensity`."""
    if isinstance(line, FamilyLogit):
        return _OfLevels(name, line, scales, n_levels)
    if isinstance(line, FamilyMixture):
        return _OfMixture(name, line, scales, n_levels)
    return _AroundLine(name, line, scales, n_levels)


def sum_of_terms(
    terms: LineTerms, coefficients: NDArray[np.float64], groups: Any, positions: list[NDArray[np.float64]]
) -> Any:
    """Return intercepts plus the sums of terms times their coefficients, of the shape that all values broadcast to.

    `coefficients` are (n_groups, n_terms + 1), of which every value takes those of its group, and `positions` those of
    every parent on its scale.
    """
    sums: Any = coefficients[groups, 0]
    place = 1
    first_knot = 1 + len(positions)
    for z, knots in zip(positions, terms.knots, strict=True):
        of_parent = [(place, z)]
        of_parent += [(first_knot + j, np.maximum(z - knot, 0.0)) for j, knot in enumerate(knots.tolist())]
        if len(coefficients) == 1:
            sums = sums + sum(coefficients[0, at] * term for at, term in of_parent)
        else:
            # one sum per group, of which every row takes its own
            columns = np.stack([term for _, term in of_parent], axis=-1)
            of_groups = columns @ coefficients[:, [at for at, _ in of_parent]].T
            flat = of_groups.reshape(-1, len(coefficients))
            sums = sums + flat[np.arange(len(flat)).reshape(z.shape), groups]
        place += 1
        first_knot += len(knots)
    factors = [terms.factors(parent, z) for parent, z in enumerate(positions)]
    for at, (i, a, j, b) in enumerate(terms.products, start=first_knot):
        sums = sums + coefficients[groups, at] * (factors[i][a] * factors[j][b])
    return sums


def line_from_content(content: Any) -> FollowedLine:
    """Return what a column follows, as JSON values describe it; raises `GomeaBnError` for others."""
    if isinstance(content, Mapping) and content.get("kind") == "logit":
        return FamilyLogit.from_content(content)
    if isinstance(content, Mapping) and content.get("kind") == "mixture":
        return FamilyMixture.from_content(content)
    return FamilyLine.from_content(content)


def _flat(parts: list[NDArray[np.float64]], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return arrays that broadcast to a shape as the columns of one, float64 (n, n_parts)."""
    return np.column_stack([np.broadcast_to(part, shape).ravel() for part in parts])
