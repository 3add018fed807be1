"""A column that follows lines, curves or a surface of its continuous parents: the density of a family with noise.

The noise has Student's t distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.basis import (
    LEAST_SPREAD,
    PRECISION,
    PRIOR_ROWS,
    LineTerms,
    design_of,
    scale_of,
    sum_of_terms,
)
from gomea_bn.network.conditionals.kind import (
    ColumnFacts,
    Density,
    Fitted,
    FurtherRows,
    Parts,
    ScaledDensity,
    symmetric,
)
from gomea_bn.network.conditionals.scales import Columns, LineScale, PointEnds, TransformedScale
from gomea_bn.network.conditionals.student import (
    below_student,
    log_student,
    student_distribution,
    student_masses,
)
from gomea_bn.network.parts import WithTables
from gomea_bn.problems.cuts.shape import Shape


@dataclass(frozen=True, eq=False)
class LineSums(Parts):
    """Sums of products over the rows of a line, and what its fit has chosen by single rows.

    There is one regression with equal slopes in all groups, or one per group.

    `products` (n_regressions, n_columns + 1, n_columns + 1) are those of the columns of `design_of` and, last, of the
    column itself, on their scales, with rows of one regression for all groups divided by the ratio of their group.
    `ratios` (n_groups,) are the scales of the residuals relative to that of all groups; ones if every group has a
    regression. By regression: `n_rows`; `tails`, degrees of freedom of heavy tails, 0 where they are those of the
    estimated variance; and `widths`, factors of the scale that fit best with these tails, 1 without heavy tails.
    `least_scale` is that of the residuals.
    """

    what = "the sums of a line"
    required = ("products", "n_rows", "ratios", "tails", "widths", "least_scale")
    halves = ("products",)

    products: NDArray[np.float64]
    n_rows: NDArray[np.float64]
    ratios: NDArray[np.float64]
    tails: NDArray[np.float64]
    widths: NDArray[np.float64]
    least_scale: float

    @classmethod
    def of_rows(
        cls,
        z: NDArray[np.float64],
        terms: NDArray[np.float64],
        groups: NDArray[np.int64],
        ratios: NDArray[np.float64],
        tails: NDArray[np.float64],
        widths: NDArray[np.float64],
        least_scale: float,
        weights: NDArray[np.float64] | None = None,
    ) -> LineSums:
        """Return the sums over rows, which count `weights` times.

        `z` is the column on its scale, `terms` (n, n_terms) are functions of the parents, and `groups` configurations
        of the discrete parents, by row. All else is as in the class.
        """
        n_regressions, n_groups = len(tails), len(ratios)
        counts = np.ones(len(z)) if weights is None else weights
        products, n_rows = [], np.empty(n_regressions)
        for k in range(n_regressions):
            members = np.flatnonzero(groups == k) if n_regressions > 1 else np.arange(len(z))
            design = design_of(terms[members], groups[members], 1 if n_regressions > 1 else n_groups)
            columns = np.column_stack([design, z[members]])
            columns *= (np.sqrt(counts[members]) / ratios[groups[members]])[:, None]
            products.append(columns.T @ columns)
            n_rows[k] = counts[members].sum()
        return cls(np.array(products), n_rows, ratios, tails, widths, least_scale)

    def with_rows(self, old: float, rows: LineSums) -> LineSums:
        """Return the sums in which the rows so far count `old` times, with further rows."""
        return LineSums(
            old * self.products + rows.products,
            old * self.n_rows + rows.n_rows,
            self.ratios,
            self.tails,
            self.widths,
            self.least_scale,
        )

    def coefficients(self, k: int) -> tuple[NDArray[np.float64], float, float]:
        """Return coefficients of the design of one regression, and the scale and degrees of freedom of its residuals.

        These two are of Student's t distribution of a new row of a group whose ratio is 1.
        """
        products, n_rows = self.products[k], float(self.n_rows[k])
        inner, with_z = products[:-1, :-1], products[:-1, -1]
        factor = scipy.linalg.cholesky(inner + PRECISION * np.eye(len(inner)), lower=True)
        coefficients = scipy.linalg.cho_solve((factor, True), with_z)
        total = max(float(products[-1, -1] - with_z @ coefficients), 0.0)
        wider = np.sqrt(1 + len(inner) / n_rows)
        scale = float(scale_of(total, n_rows) * wider * self.widths[k])
        return coefficients, scale, float(self.tails[k]) or n_rows + PRIOR_ROWS

    @classmethod
    def from_content(cls, content: Any, n_terms: int, n_groups: int) -> LineSums:
        """Return the sums that JSON values describe; raises `GomeaBnError` for others."""
        parts = cls.parts_of(content)
        halves, *others = parts.values()
        n_regressions = len(halves) if halves.ndim == 2 else 0
        n = 2 + n_terms + (n_groups if n_regressions == 1 and n_groups > 1 else 0)
        shapes = [(n_regressions,), (n_groups,), (n_regressions,), (n_regressions,), ()]
        is_valid = (
            n_regressions in (1, n_groups)
            and halves.shape[1] == n * (n + 1) // 2
            and list(map(np.shape, others)) == shapes
            and bool(np.isfinite(halves).all())
            and all(np.isfinite(part).all() and np.all(part >= 0) for part in others)
            and bool((parts["ratios"] > 0).all())
        )
        if not is_valid:
            raise GomeaBnError(
                f"The sums of a line with {n_terms} terms and {n_groups} groups must have one half of the products, "
                "a number of rows, tails and a width for one or all groups, and ratios above 0, all finite."
            )
        return cls(**{**parts, "products": symmetric(halves, n)})


# the probability of the range of a column is never rounded to 0
_LEAST_MASS = 1e-12
# the probability of a point mass far from its centre
_LEAST_PROBABILITY = 1e-300


def log_line_density(
    z: NDArray[np.float64],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    freedom: NDArray[np.float64] | float,
    scale: LineScale,
    ends: PointEnds | None = None,
    spread: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the log density of Student's t distribution, restricted to the range of a column, float64 (n,).

    `z` are places on the scale of the column. A centre (`means`) beyond the range is moved to its end, so that the
    range never loses its probability to rounding. A value that is a point mass has the log of the probability between
    the ends of its positions. `spread` is the width of an interval around each centre over which the density is
    averaged.
    """
    means = np.clip(means, scale.low, scale.high)
    below = below_student(freedom, (scale.low - means) / scales)
    mass = below_student(freedom, (scale.high - means) / scales) - below
    distances = (z - means) / scales
    logs = log_student(distances, freedom)
    widths: Any = None
    if spread is not None and (spread > LEAST_SPREAD * scales).any():
        widths = np.where(spread > LEAST_SPREAD * scales, spread / scales, 0.0)
        shape = np.broadcast_shapes(widths.shape, logs.shape)
        logs = np.array(np.broadcast_to(logs, shape))
        places = np.nonzero(np.broadcast_to(widths > 0, shape))
        distance, width, of_places = (
            np.broadcast_to(part, shape)[places] for part in (distances, widths, freedom)
        )
        masses = student_masses(distance - width / 2, distance + width / 2, of_places)
        # the nearest centre where the interval has no probability
        nearest = log_student(np.maximum(np.abs(distance) - width / 2, 0.0), of_places)
        averaged = np.log(np.maximum(masses, _LEAST_PROBABILITY) / width)
        logs[places] = np.where(masses > 0, averaged, nearest)
    logs = logs - np.log(scales)
    if ends is not None:
        low, high = (ends.lows - means) / scales, (ends.highs - means) / scales
        of_points = student_masses(low, high, freedom)
        if widths is not None:
            averaged = student_distribution(high, freedom, widths) - student_distribution(
                low, freedom, widths
            )
            of_points = np.where(widths > 0, averaged, of_points)
        logs = np.where(ends.is_point, np.log(np.maximum(of_points, _LEAST_PROBABILITY)), logs)
    return np.asarray(logs - np.log(np.maximum(mass, _LEAST_MASS)), np.float64)


# fields that only lines which differ from the default have
_OPTIONAL = ("in_units", "product_knots", "transform")


@dataclass(frozen=True, eq=False)
class FamilyLine(Fitted):
    """The line of a family: the column is Student-t around a sum of functions of its continuous parents.

    All columns are on their probability scales, or all in their own units. Coefficients, scale and degrees of freedom
    may differ between the configurations of the discrete parents, the groups. The density is restricted to the range
    of the column, and a centre beyond the range is moved to its end.

    Attributes
    ----------
    parents : tuple of str
        Continuous parents, in the order of the coefficients.
    groups : tuple of str
        Discrete parents, in the order of the groups.
    coefficients : ndarray of shape (n_groups, n_terms + 1), float64
        Intercept and coefficients of the terms; groups are numbered with the last discrete parent fastest.
    scales, freedom : ndarray of shape (n_groups,), float64
        Scale and degrees of freedom of Student's t distribution, above 0.
    knots, has_products, product_knots
        As of `LineTerms`; by default the terms are the parents themselves, a line.
    in_units : bool
        Whether columns are in their own units, and not on their probability scales.
    sums : LineSums, optional
        Sums over the rows that the line was fitted to, so that it can take further rows.
    transform : ndarray of shape (2, n_points), float64, optional
        Positions of the column on its scale, and where an increasing transformation moves them, both increasing; the
        line is that of the moved positions. By default they stay.

    Raises
    ------
    GomeaBnError
        For parts of other shapes or outside their ranges.
    """

    what = "a line"
    kind = "line"
    required = ("parents", "groups", "coefficients", "scales", "freedom")

    parents: tuple[str, ...]
    groups: tuple[str, ...]
    coefficients: NDArray[np.float64]
    scales: NDArray[np.float64]
    freedom: NDArray[np.float64]
    knots: tuple[NDArray[np.float64], ...] = ()
    has_products: bool = False
    in_units: bool = False
    sums: LineSums | None = None
    product_knots: tuple[NDArray[np.float64], ...] = ()
    transform: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", self.knots or ((),) * len(self.parents))
        is_finite = self._fix()
        if self.transform is not None:
            points = self.transform
            if points.ndim != 2 or len(points) != 2 or points.shape[1] < 2 or not (np.diff(points) > 0).all():
                raise GomeaBnError(
                    "The transform of a line must have two lists of equal length, of at least two increasing numbers."
                )
            if not np.isfinite(points).all():
                raise GomeaBnError("The transform of a line must have finite numbers.")
        n_groups = self.scales.size
        is_valid = (
            is_finite
            and len(self.parents) > 0
            and n_groups > 0
            and len(self.knots) == len(self.parents)
            and len(self.product_knots) in (0, self.has_products * len(self.parents))
            and self.coefficients.shape == (n_groups, self.terms.n_terms + 1)
            and self.freedom.shape == self.scales.shape == (n_groups,)
            and bool((self.scales > 0).all())
            and bool((self.freedom > 0).all())
        )
        if not is_valid:
            raise GomeaBnError(
                "A line must have at least one continuous parent, and for each of its groups an intercept, "
                "one coefficient per term, a scale and degrees of freedom above 0, all finite."
            )

    @property
    def terms(self) -> LineTerms:
        """The functions of the parents that have coefficients."""
        return LineTerms(self.knots, self.has_products, self.product_knots)

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return self.terms.words if self.transform is None else f"{self.terms.words} on a scale of its own"

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, scales and points of a transformation; equal slopes of all groups count once."""
        slopes = self.coefficients[:, 1:]
        is_shared = bool((slopes == slopes[0]).all())
        n_slopes = slopes.shape[1] if is_shared else slopes.size
        return n_slopes + 2 * len(self.scales) + (0 if self.transform is None else self.transform.shape[1])

    def own_scale(self, scale: LineScale) -> LineScale:
        """Return the scale that the line of the column is on, given that of the column."""
        if self.transform is None or isinstance(scale, TransformedScale):
            return scale
        return TransformedScale(scale, *self.transform)

    @property
    def takes_rows(self) -> bool:
        """Whether the line holds the sums over the rows that it was fitted to."""
        return self.sums is not None

    def check(self, network: WithTables, name: str, scales: Mapping[str, Any]) -> None:
        """Raise `GomeaBnError` as every kind does, and for a transformed column with point masses."""
        super().check(network, name, scales)
        if self.transform is not None and isinstance(scales[name], Shape) and scales[name].points:
            raise GomeaBnError(
                f"The line of '{name}' has a transform, but scales['{name}'] has point masses, whose places are fixed."
            )

    def _check_groups(self, name: str, n_levels: Mapping[str, int]) -> None:
        self._check_configurations(name, len(self.scales), n_levels)

    def density(self, name: str, facts: ColumnFacts) -> Density:
        """Return the density of a column that follows the line."""
        return _AroundLine(name, self, facts)

    def with_rows(self, name: str, rows: FurtherRows) -> FamilyLine:
        """Return the line that the sums over former and further rows give."""
        sums = self.sums
        assert sums is not None
        # the line of a longer table was fitted to a sample of its rows
        share = float(sums.n_rows.sum()) / rows.n_former
        further = LineSums.of_rows(
            rows.columns.positions(name, self.own_scale(rows.facts.scales[self.in_units][name])),
            self.terms.of_rows(rows.positions(self.parents, self.in_units)),
            rows.groups(self.groups),
            sums.ratios,
            sums.tails,
            sums.widths,
            sums.least_scale,
            share * rows.weights,
        )
        return self.of_sums(sums.with_rows(rows.old, further))

    def of_sums(self, sums: LineSums) -> FamilyLine:
        """Return the line that the sums over some rows give, with the same terms, tails and ratios of the groups.

        A group without rows that has a regression of its own keeps its coefficients.
        """
        coefficients, scales, freedom = self.coefficients.copy(), self.scales.copy(), self.freedom.copy()
        n_terms, is_shared = self.terms.n_terms, len(sums.products) == 1
        for k in np.flatnonzero(sums.n_rows > 0).tolist():
            of_design, scale, of_variance = sums.coefficients(k)
            groups = slice(None) if is_shared else slice(k, k + 1)
            coefficients[groups, 0] = of_design[0]
            coefficients[groups, 1:] = of_design[1 : 1 + n_terms]
            if is_shared and len(self.scales) > 1:
                coefficients[:, 0] += of_design[1 + n_terms :]
            scales[groups] = np.maximum(scale * sums.ratios[groups], sums.least_scale)
            freedom[groups] = of_variance
        return replace(self, coefficients=coefficients, scales=scales, freedom=freedom, sums=sums)

    def to_content(self) -> dict[str, Any]:
        """Return the line as values that JSON can hold, without fields that say what holds by default."""
        content = super().to_content()
        # files of earlier versions have none
        sums = content.pop("sums")
        if self.terms.kind == "line":
            del content["knots"], content["has_products"]
        content = {name: value for name, value in content.items() if name not in _OPTIONAL or value}
        return content if sums is None else {**content, "sums": sums.to_content()}

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        parts = super().parts_of(content)
        sums = parts.pop("sums", None)
        if sums is None:
            return parts
        line = cls(**parts)
        return {**parts, "sums": LineSums.from_content(sums, line.terms.n_terms, len(line.scales))}


class _AroundLine(ScaledDensity):
    """Student's t distribution around a line, curves or a surface."""

    def __init__(self, name: str, line: FamilyLine, facts: ColumnFacts) -> None:
        super().__init__(name, line, facts)
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
