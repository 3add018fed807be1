"""A column that follows several lines, each where it holds: the density of a family as a mixture of normal densities.

The column and its continuous parents have a mixture of normal densities together. Given the parents, the column is
normal around one line per component, and the components have the probabilities that the parents give them (mixtures of
experts: Xu, Jordan & Hinton, "An alternative model for mixtures of experts", 1995).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import erfc, log, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.kind import (
    LEAST_MASS,
    LEAST_PROBABILITY,
    FurtherRows,
    OnScale,
    symmetric,
)
from gomea_bn.network.conditionals.scales import LEAST_SPREAD, Columns, PointEnds
from gomea_bn.problems.distributions import PRECISION, PRIOR_ROWS, PRIOR_VARIANCE
from gomea_bn.problems.kernels.score import HALF_LOG_TWO_PI
from gomea_bn.runtime.jit import kernel, read_only
from gomea_bn.runtime.kernels import exponentials, vector_product

# components with a smaller probability, given the parents, have no cells
_LEAST_SHARE = 1e-9
_FARTHEST_EXPONENT = 25.0
# rows whose shares are found at a time
_ROWS_OF_BLOCK = 128
_LEAST_LOG = -700.0
_ROOT_HALF = sqrt(0.5)
# the probability of a standard normal number beyond it is less than rounding of 1
_FARTHEST = 8.5
# a line inside the range has more than a third of its noise there, if that is narrower than half of the range
_LOG_THREE, _LOG_LEAST_MASS = log(3.0), log(LEAST_MASS)


@dataclass(frozen=True, eq=False)
class FamilyMixture(OnScale):
    """The mixture of lines of a family, which sums over rows of data determine.

    All columns are on their probability scales, or all in their own units. The density of every component is restricted
    to the range of the column.

    Attributes
    ----------
    parents : tuple of str
        Continuous parents, in the order of the coefficients.
    groups : tuple of str
        Discrete parents, in the order of the groups.
    moments : ndarray of shape (n_components, n_parents + 2, n_parents + 2), float64
        Sums over the rows of products of 1, the parents and the column, each row by its share in a component.
    counts : ndarray of shape (n_components, n_groups), float64
        Rows of every configuration of the discrete parents, the last one fastest, by their shares in the components.
    least_scales : ndarray of shape (n_components,), float64
        Least scale of every component around its line.
    in_units : bool
        Whether columns are in their own units, and not on their probability scales.

    Raises
    ------
    GomeaBnError
        For parts of other shapes or outside their ranges.
    """

    what = "a mixture of lines"
    kind = "mixture"
    required = ("parents", "groups", "moments", "counts", "least_scales", "in_units")
    halves = ("moments",)

    parents: tuple[str, ...]
    groups: tuple[str, ...]
    moments: NDArray[np.float64]
    counts: NDArray[np.float64]
    least_scales: NDArray[np.float64]
    in_units: bool = False

    def __post_init__(self) -> None:
        is_finite = self._fix()
        n, size = len(self.moments), len(self.parents) + 2
        is_valid = (
            is_finite
            and len(self.parents) > 0
            and n > 0
            and self.moments.shape == (n, size, size)
            and self.counts.ndim == 2
            and self.counts.shape[0] == n
            and self.counts.shape[1] > 0
            and self.least_scales.shape == (n,)
            and bool((self.least_scales > 0).all())
            and bool((self.counts >= 0).all())
            and bool((self.counts.sum(axis=1) > 0).all())
            and bool(np.allclose(self.moments[:, 0, 0], self.counts.sum(axis=1), rtol=1e-6, atol=0.0))
        )
        if not is_valid or not self._has_components():
            raise GomeaBnError(
                "A mixture of lines must have at least one continuous parent, and for each of its components sums "
                "of products, numbers of rows of all groups and a least scale, all finite."
            )

    def _has_components(self) -> bool:
        """Return whether the sums are those of some rows."""
        with np.errstate(all="ignore"):
            return all(np.isfinite(part).all() for part in self.components)

    @property
    def n_parameters(self) -> int:
        """Number of shares, means, covariances and probabilities of groups that were estimated."""
        n, n_groups = self.counts.shape
        size = len(self.parents) + 1
        return int(n * (size + size * (size + 1) // 2 + n_groups) - 1)

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return f"a mixture of {len(self.moments)} lines" if len(self.moments) > 1 else "a line"

    @cached_property
    def components(self) -> Components:
        """Parameters of the components."""
        return components_of(self.moments, self.counts, self.least_scales)

    def _check_groups(self, name: str, n_levels: Mapping[str, int]) -> None:
        self._check_configurations(name, self.counts.shape[1], n_levels)

    def with_rows(self, name: str, rows: FurtherRows) -> FamilyMixture:
        """Return the mixture with further rows, which have the shares in components of the present ones."""
        # the mixture of a longer table was fitted to a sample of its rows
        share = float(self.counts.sum()) / rows.n_former
        moments, counts, _ = sums_of_shares(
            self.components,
            rows.columns.positions(name, rows.facts.scales[self.in_units][name]),
            rows.positions(self.parents, self.in_units),
            rows.groups(self.groups),
            share * rows.weights,
        )
        moments, counts = rows.old * self.moments + moments, rows.old * self.counts + counts
        # a component that has lost its rows leaves
        n_rows = counts.sum(axis=1)
        kept = n_rows > _LEAST_SHARE * n_rows.sum()
        return replace(self, moments=moments[kept], counts=counts[kept], least_scales=self.least_scales[kept])

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        parts = super().parts_of(content)
        size, halves = len(parts["parents"]) + 2, parts["moments"]
        if halves.ndim != 2 or halves.shape[1] != size * (size + 1) // 2:
            raise GomeaBnError(
                f"The moments of a mixture with {size - 2} continuous parents must be lists of "
                f"{size * (size + 1) // 2} numbers, one list per component."
            )
        return {**parts, "moments": symmetric(halves, size)}

    def log_on_scale(self, values: Columns, ends: PointEnds | None) -> tuple[NDArray[np.float64], Any]:
        """Return the log density on the scale, and its relative error where values are middles of cells, or None."""
        if (bounds := values.bounds()) is None:
            widths = self._widths(values)
            if (of_own := self.own_ends(values)) is None:
                return self._logs(values, ends, widths)[0], None
            widths = [np.zeros(1)] * len(self.parents) if widths is None else widths
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
        """Return the probabilities of cells, whose ends on the scale are given, float64 (..., n_cells)."""
        shape, parents, groups = self._rows(values)
        widths = self._widths(values)
        cells = None if widths is None else _flat(widths, shape)
        masses = masses_of_lines(self.components, ends, parents, groups, cells)
        return masses.reshape(*shape, len(ends) - 1)

    def draw_on_scale(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return one place on the scale per row, float64 (n,)."""
        _, parents, groups = self._rows(values)
        return drawn_from_lines(
            self.components, parents, groups, (self.scale.low, self.scale.high), generator
        )

    def centres(self, values: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centres and scales of the densities around lines, for drawing, float64 (n,)."""
        _, parents, groups = self._rows(values)
        shares, means = gates_and_means(self.components, parents, groups, (self.scale.low, self.scale.high))
        # probability of a component from which its line is drawn
        is_drawn = shares > 0.01
        return means[is_drawn], np.broadcast_to(self.components.scales, means.shape)[is_drawn]

    def _positions(self, values: Columns) -> list[NDArray[np.float64]]:
        scales = self.facts.scales[self.in_units]
        return [values.positions(parent, scales[parent]) for parent in self.parents]

    def _widths(self, values: Columns) -> list[NDArray[np.float64]] | None:
        """Return the widths of the cells of the parents, 0 for exact values; None if no parent has cells."""
        widths, has_cells, scales = [], False, self.facts.scales[self.in_units]
        for parent in self.parents:
            if (ends := values.ends(parent)) is None:
                widths.append(np.zeros(1))
                continue
            low, high = (scales[parent].of_values(end) for end in ends)
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
            self.components,
            np.ascontiguousarray(np.broadcast_to(z, shape).ravel()),
            parents,
            groups,
            (self.scale.low, self.scale.high),
            points,
            spread,
        )
        return logs.reshape(shape), squares.reshape(shape)


class Components(NamedTuple):
    """Parameters of the components of a mixture of lines, float64.

    By component: `log_gates` (n, n_groups), the log of its share times the probability of every group; `centres` (n, d)
    of the parents; `factors` (n, d, d), lower triangles that make the parents standard normal; `coefficients`
    (n, d + 1), intercept and slopes of its line; and `scales` (n,) around it.
    """

    log_gates: NDArray[np.float64]
    centres: NDArray[np.float64]
    factors: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    scales: NDArray[np.float64]


def components_of(
    moments: NDArray[np.float64], counts: NDArray[np.float64], least_scales: NDArray[np.float64]
) -> Components:
    """Return the components that sums over rows give; see `FamilyMixture`.

    Covariances of the parents and the scales have the inverse-gamma prior of lines, and coefficients their normal one.
    """
    n, d = len(moments), moments.shape[1] - 2
    components = Components(
        np.empty(counts.shape), np.empty((n, d)), np.zeros((n, d, d)), np.empty((n, d + 1)), np.empty(n)
    )
    total = float(counts.sum())
    of_groups = (counts.sum(axis=0) + 1 / counts.shape[1]) / (total + 1)
    room = np.empty((d + 1, d + 1)), np.empty((d, d))
    _fill_components(
        _rows_of(moments),
        _rows_of(counts),
        _rows_of(least_scales),
        of_groups,
        total,
        *room,
        components,
    )
    return components


def _rows_of(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the one form that kernels are compiled for; most arrays have that order already."""
    return read_only(np.ascontiguousarray(array))


@kernel
def _fill_components(
    moments: NDArray[np.float64], counts: NDArray[np.float64], least_scales: NDArray[np.float64],
    of_groups: NDArray[np.float64], total: float,
    inner: NDArray[np.float64], lower: NDArray[np.float64], components: Components,
) -> int:  # fmt: skip
    """Write the parameters of `components_of`, NaN for sums that no rows have, with room (d + 1, d + 1) and (d, d)."""
    n, d = components.centres.shape
    for k in range(n):
        n_rows = 0.0
        for group in range(counts.shape[1]):
            n_rows += counts[k, group]
        centres, factors, coefficients = (
            components.centres[k],
            components.factors[k],
            components.coefficients[k],
        )
        for i in range(d):
            centres[i] = moments[k, 0, i + 1] / n_rows
        for i in range(d):
            for j in range(i + 1):
                lower[i, j] = moments[k, i + 1, j + 1] - n_rows * centres[i] * centres[j]
            lower[i, i] += PRIOR_ROWS * PRIOR_VARIANCE
            for j in range(i + 1):
                lower[i, j] /= n_rows + PRIOR_ROWS
            # variance of parents in a component that is added to what rows say
            lower[i, i] += 1e-4
        _factorise(lower)
        log_det = 0.0
        for j in range(d):
            # the inverse, by columns
            for i in range(j, d):
                value = 1.0 if i == j else 0.0
                for m in range(j, i):
                    value -= lower[i, m] * factors[m, j]
                factors[i, j] = value / lower[i, i]
            log_det += np.log(factors[j, j])
        for i in range(d + 1):
            for j in range(i + 1):
                inner[i, j] = moments[k, i, j]
            inner[i, i] += PRECISION
        _factorise(inner)
        for i in range(d + 1):
            value = moments[k, i, d + 1]
            for j in range(i):
                value -= inner[i, j] * coefficients[j]
            coefficients[i] = value / inner[i, i]
        for i in range(d, -1, -1):
            value = coefficients[i]
            for j in range(i + 1, d + 1):
                value -= inner[j, i] * coefficients[j]
            coefficients[i] = value / inner[i, i]
        squares = moments[k, d + 1, d + 1]
        for i in range(d + 1):
            squares -= moments[k, i, d + 1] * coefficients[i]
        variance = (max(squares, 0.0) + PRIOR_ROWS * PRIOR_VARIANCE) / (n_rows + PRIOR_ROWS)
        scale = np.sqrt(variance) * np.sqrt(1.0 + (d + 1) / n_rows)
        components.scales[k] = max(scale, least_scales[k])
        for group in range(counts.shape[1]):
            share = (counts[k, group] + of_groups[group]) / (n_rows + 1.0)
            components.log_gates[k, group] = np.log(n_rows / total) + log_det + np.log(share)
    return 0


@kernel
def _factorise(matrix: NDArray[np.float64]) -> int:
    """Replace the lower half of a symmetric matrix by its Cholesky factor, with NaN if it has none."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            value = matrix[i, j]
            for m in range(j):
                value -= matrix[i, m] * matrix[j, m]
            matrix[i, j] = np.sqrt(value) if i == j else value / matrix[j, j]
    return 0


class ShareWork(NamedTuple):
    """Work space of `sums_of_shares` for a block of rows; mutated."""

    values: NDArray[np.float64]  # (d + 2, rows) of 1, parents and the column
    logs: NDArray[np.float64]  # (n_components, rows) of densities, and then shares
    most: NDArray[np.float64]  # (rows,) the largest ones, and then sides
    total: NDArray[np.float64]  # (rows,)
    left: NDArray[np.float64]  # (rows,) squares, and then shares of the second halves
    by: NDArray[np.float64]  # (rows,)


def sums_of_shares(
    components: Components,
    z: NDArray[np.float64],
    parents: NDArray[np.float64],
    groups: NDArray[np.int64],
    weights: NDArray[np.float64],
    log_steps: NDArray[np.float64] | None = None,
    axes: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return sums of rows by their shares in components: `moments` and `counts` of `FamilyMixture`, and of logs.

    The last ones (n_components,) are sums of the logs of the steps of the rows, of which the mean is the log of the
    least scale that gains nothing from repeated values.

    The rows count `weights` (n,) times, and `log_steps` (n,) are the logs of their steps. With `axes` (n_components,
    d + 2) every component becomes two, of the rows on either side of the plane on which the products of 1, parents and
    column with its axis add up to 0. All first halves come before all second ones.
    """
    n, n_groups = components.log_gates.shape
    size = parents.shape[1] + 2
    n_parts = n if axes is None else 2 * n
    moments, counts, steps = np.zeros((n_parts, size, size)), np.zeros((n_parts, n_groups)), np.zeros(n_parts)
    _add_shares(
        components,
        np.log(components.scales),
        _rows_of(z),
        _rows_of(parents),
        _rows_of(groups),
        _rows_of(weights),
        _rows_of(np.empty(0) if log_steps is None else log_steps),
        _rows_of(np.empty((0, 0)) if axes is None else axes),
        ShareWork(
            values=np.empty((size, _ROWS_OF_BLOCK)),
            logs=np.empty((n, _ROWS_OF_BLOCK)),
            most=np.empty(_ROWS_OF_BLOCK),
            total=np.empty(_ROWS_OF_BLOCK),
            left=np.empty(_ROWS_OF_BLOCK),
            by=np.empty(_ROWS_OF_BLOCK),
        ),
        moments,
        counts,
        steps,
    )
    return moments, counts, steps


def log_mixture_of_lines(
    components: Components,
    z: NDArray[np.float64],
    parents: NDArray[np.float64],
    groups: NDArray[np.int64],
    ends: tuple[float, float],
    points: PointEnds | None = None,
    spread: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log density of a column given its parents under a mixture of lines, and squares of widths, both (n,).

    `z` (n,) and `parents` (n, d) are places on scales, `groups` (n,) configurations of the discrete parents, and `ends`
    those of the range of the column. A value that is a point mass has the log of the probability between the ends of
    its positions. `spread` are the widths of cells around z (n,) and around the parents (n, d). Lines are averaged over
    cells that are wide against their scale. The squares are those of the widths of the cells in deviations of the
    components, in the mean over these, and 0 without cells.
    """
    n, d = parents.shape
    result, bends, work = np.empty(n), np.zeros(n), np.empty((5, len(components.scales)))
    if points is None:
        points = PointEnds(np.zeros(0, np.bool_), np.empty(0), np.empty(0))
    own_widths, widths = (np.empty(0), np.empty((0, d))) if spread is None else spread
    low, high = ends
    z, rows, groups = _rows_of(z), _rows_of(parents), _rows_of(groups)
    own_widths, widths = _rows_of(own_widths), _rows_of(widths)
    is_point, lows, highs = map(_rows_of, points)
    _fill_logs(
        components,
        z,
        rows,
        groups,
        low,
        high,
        is_point,
        lows,
        highs,
        own_widths,
        widths,
        work,
        result,
        bends,
    )
    return result, bends


def masses_of_lines(
    components: Components,
    cells: NDArray[np.float64],
    parents: NDArray[np.float64],
    groups: NDArray[np.int64],
    widths: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the probabilities of cells of a column given its parents under a mixture of lines, float64 (n, n_cells).

    `cells` (n_cells + 1,) are their ends on the scale of the column, from one end of its range to the other, and
    `widths` (n, d) those of cells of the parents over which the lines are averaged.
    """
    result = np.empty((len(parents), len(cells) - 1))
    of_parents = np.empty((0, parents.shape[1])) if widths is None else widths
    _fill_masses(
        components,
        _rows_of(cells),
        _rows_of(parents),
        _rows_of(groups),
        _rows_of(of_parents),
        np.empty(len(components.scales)),
        result,
    )
    return result


def drawn_from_lines(
    components: Components,
    parents: NDArray[np.float64],
    groups: NDArray[np.int64],
    ends: tuple[float, float],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return one place on the scale of the column per row of parents (n, d), float64 (n,)."""
    shares, means = gates_and_means(components, parents, groups, ends)
    places = shares.cumsum(axis=1)
    n = len(parents)
    chosen = np.minimum((places < generator.random(n)[:, None]).sum(axis=1), shares.shape[1] - 1)
    centres, scales = means[np.arange(n), chosen], components.scales[chosen]
    low, high = (scipy.special.ndtr((end - centres) / scales) for end in ends)
    drawn = scipy.special.ndtri(low + generator.random(n) * (high - low))
    return np.asarray(np.clip(centres + scales * drawn, *ends), np.float64)


def gates_and_means(
    components: Components, parents: NDArray[np.float64], groups: NDArray[np.int64], ends: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of every component given the parents, and the place of its line, both (n, n_components).

    Places beyond the range are moved to its ends.
    """
    centred = parents[:, None, :] - components.centres
    white = np.einsum("kij,nkj->nki", components.factors, centred)
    logs = components.log_gates.T[groups] - 0.5 * (white**2).sum(axis=2)
    shares = scipy.special.softmax(logs, axis=1)
    means = components.coefficients[:, 0] + parents @ components.coefficients[:, 1:].T
    return shares, np.clip(means, *ends)


@kernel
def _gates(
    components: Components, parents: NDArray[np.float64], row: int, group: int, gates: NDArray[np.float64]
) -> float:
    """Write the log of the density of the parents in every component, and return the largest one."""
    log_gates, centres, factors = components.log_gates, components.centres, components.factors
    n, d = centres.shape
    most = -np.inf
    for k in range(n):
        square = 0.0
        for i in range(d):
            white = 0.0
            for j in range(i + 1):
                white += factors[k, i, j] * (parents[row, j] - centres[k, j])
            square += white * white
        gates[k] = log_gates[k, group] - 0.5 * square
        most = max(most, float(gates[k]))
    return most


@kernel
def _log_sum(gates: NDArray[np.float64], most: float) -> float:
    """Return the log of the sum of exponentials whose largest exponent is known."""
    total = 0.0
    for k in range(len(gates)):
        if gates[k] > most - _FARTHEST_EXPONENT:
            total += np.exp(gates[k] - most)
    return float(most + np.log(total))


@kernel
def _below(t: float) -> float:
    """Return P(T <= t) of the standard normal distribution."""
    return float(0.5 * erfc(-t * _ROOT_HALF))


@kernel
def _mass_between(first: float, last: float) -> float:
    """Return P(first < T <= last) of the standard normal distribution; ends beyond 8.5 leave no more than rounding."""
    before = _below(first) if first > -_FARTHEST else 0.0
    return (_below(last) if last < _FARTHEST else 1.0) - before


@kernel
def _line_at(coefficients: NDArray[np.float64], parents: NDArray[np.float64], row: int, k: int) -> float:
    """Return the place of the line of a component at the parents of a row."""
    mean = coefficients[k, 0]
    for j in range(parents.shape[1]):
        mean += coefficients[k, j + 1] * parents[row, j]
    return float(mean)


@kernel
def _scale_over_cell(
    components: Components, widths: NDArray[np.float64], row: int, k: int, own_width: float
) -> float:
    """Return the scale around a line, with that of the line's own movement inside a cell that is wide against it."""
    coefficients, scales = components.coefficients, components.scales
    width, squares = own_width, own_width * own_width
    if len(widths) > 0:
        for j in range(widths.shape[1]):
            step = coefficients[k, j + 1] * widths[row, j]
            width += abs(step)
            squares += step * step
    if width > LEAST_SPREAD * scales[k]:
        return float(np.sqrt(scales[k] * scales[k] + squares / 12.0))
    return float(scales[k])


@kernel
def _fill_logs(
    components: Components, z: NDArray[np.float64], parents: NDArray[np.float64], groups: NDArray[np.int64],
    low: float, high: float,
    is_point: NDArray[np.bool_], point_lows: NDArray[np.float64], point_highs: NDArray[np.float64],
    own_widths: NDArray[np.float64], widths: NDArray[np.float64], work: NDArray[np.float64],
    result: NDArray[np.float64], bends: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the log densities and the squares of widths of `log_mixture_of_lines`, with room (5, n_components)."""
    n, d = components.centres.shape
    coefficients, factors, scales = components.coefficients, components.factors, components.scales
    gates, owns, means, spreads, log_scales = work[0], work[1], work[2], work[3], work[4]
    for k in range(n):
        log_scales[k] = np.log(scales[k])
    for row in range(len(z)):
        total = _log_sum(gates, _gates(components, parents, row, groups[row], gates))
        has_points = len(is_point) > 0 and is_point[row]
        has_cells = len(own_widths) > 0
        most = -np.inf
        for k in range(n):
            mean = min(max(_line_at(coefficients, parents, row, k), low), high)
            means[k], spreads[k] = mean, scales[k]
            if has_cells:
                spreads[k] = _scale_over_cell(components, widths, row, k, own_widths[row])
            scale = spreads[k]
            if has_points:
                first, last = (point_lows[row] - mean) / scale, (point_highs[row] - mean) / scale
                # by the tail that keeps its digits
                inside = _below(last) - _below(first) if first < 0 else _below(-first) - _below(-last)
                owns[k] = np.log(max(inside, LEAST_PROBABILITY))
            else:
                t = (z[row] - mean) / scale
                of_scale = np.log(scale) if has_cells else log_scales[k]
                owns[k] = -0.5 * t * t - of_scale - HALF_LOG_TWO_PI
            most = max(most, gates[k] + owns[k])
        least = most - _FARTHEST_EXPONENT
        most = -np.inf
        for k in range(n):
            of_mass = _LOG_THREE if 2.0 * spreads[k] < high - low else -_LOG_LEAST_MASS
            if gates[k] + owns[k] + of_mass < least:
                # such a component is as good as nothing, whatever part of it lies in the range
                gates[k] = -np.inf
                continue
            mass = max(
                _mass_between((low - means[k]) / spreads[k], (high - means[k]) / spreads[k]), LEAST_MASS
            )
            gates[k] += owns[k] - (np.log(mass) if mass < 1.0 else 0.0)
            most = max(most, gates[k])
        result[row] = _log_sum(gates, most) - total
        if has_cells:
            bends[row] = 0.0
            for k in range(n):
                if gates[k] > most - _FARTHEST_EXPONENT:
                    across, along = 0.0, own_widths[row] * own_widths[row]
                    for i in range(d):
                        white = 0.0
                        for j in range(i + 1):
                            white += factors[k, i, j] * widths[row, j]
                        step = coefficients[k, i + 1] * widths[row, i]
                        across += white * white
                        along += step * step
                    bend = across + along / (scales[k] * scales[k])
                    bends[row] += np.exp(gates[k] - most) * bend
            bends[row] /= np.exp(result[row] + total - most)
    return 0


@kernel
def _fill_masses(
    components: Components, cells: NDArray[np.float64], parents: NDArray[np.float64], groups: NDArray[np.int64],
    widths: NDArray[np.float64], gates: NDArray[np.float64], result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the probabilities of `masses_of_lines`."""
    low, high, n_cells = cells[0], cells[-1], len(cells) - 1
    for row in range(len(parents)):
        total = _log_sum(gates, _gates(components, parents, row, groups[row], gates))
        result[row, :] = 0.0
        for k in range(len(components.scales)):
            share = np.exp(gates[k] - total)
            if share < _LEAST_SHARE:
                continue
            mean = min(max(_line_at(components.coefficients, parents, row, k), low), high)
            scale = _scale_over_cell(components, widths, row, k, 0.0)
            before = _below((low - mean) / scale)
            factor = share / max(_below((high - mean) / scale) - before, LEAST_MASS)
            for cell in range(n_cells):
                after = _below((cells[cell + 1] - mean) / scale)
                result[row, cell] += factor * (after - before)
                before = after
        shared = 0.0
        for cell in range(n_cells):
            shared += result[row, cell]
        for cell in range(n_cells):
            result[row, cell] /= shared
    return 0


@kernel
def _set_logs(
    components: Components,
    log_scales: NDArray[np.float64],
    groups: NDArray[np.int64],
    work: ShareWork,
    m: int,
) -> int:
    """Set the logs of the densities of a block of m rows in every component, and the largest ones."""
    n, d = components.centres.shape
    values, white, squares, most = work.values, work.by[:m], work.left[:m], work.most[:m]
    for r in range(m):
        most[r] = -np.inf
    for k in range(n):
        logs, coefficients, factors = work.logs[k, :m], components.coefficients[k], components.factors[k]
        for r in range(m):
            white[r] = coefficients[0]
            squares[r] = 0.0
        for j in range(d):
            of_parent, slope = values[j + 1, :m], coefficients[j + 1]
            for r in range(m):
                white[r] += slope * of_parent[r]
        own, inverse = values[d + 1, :m], 1.0 / components.scales[k]
        for r in range(m):
            distance = (own[r] - white[r]) * inverse
            squares[r] += distance * distance
        for i in range(d):
            for r in range(m):
                white[r] = 0.0
            for j in range(i + 1):
                of_parent, factor, centre = values[j + 1, :m], factors[i, j], components.centres[k, j]
                for r in range(m):
                    white[r] += factor * (of_parent[r] - centre)
            for r in range(m):
                squares[r] += white[r] * white[r]
        for r in range(m):
            logs[r] = components.log_gates[k, groups[r]] - 0.5 * squares[r] - log_scales[k]
        for r in range(m):
            most[r] = max(most[r], logs[r])
    return 0


@kernel
def _add_products(
    shares: NDArray[np.float64], groups: NDArray[np.int64], steps: NDArray[np.float64], work: ShareWork,
    moments: NDArray[np.float64], counts: NDArray[np.float64],
) -> float:  # fmt: skip
    """Add a block of rows by their shares to the lower part of the moments of a component, and to its counts.

    Return the sum of the steps of the rows.
    """
    m, by = len(shares), work.by[: len(shares)]
    for i in range(len(moments)):
        of_row = work.values[i, :m]
        for r in range(m):
            by[r] = shares[r] * of_row[r]
        for j in range(i + 1):
            moments[i, j] += vector_product(by, work.values[j, :m])
    if len(counts) == 1:
        counts[0] = moments[0, 0]
    else:
        for r in range(m):
            counts[groups[r]] += shares[r]
    return vector_product(shares, steps) if len(steps) > 0 else 0.0


@kernel
def _add_shares(
    components: Components, log_scales: NDArray[np.float64],
    z: NDArray[np.float64], parents: NDArray[np.float64], groups: NDArray[np.int64], weights: NDArray[np.float64],
    log_steps: NDArray[np.float64], axes: NDArray[np.float64], work: ShareWork,
    moments: NDArray[np.float64], counts: NDArray[np.float64], steps: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write moments, and add rows to counts and to steps, as of `sums_of_shares`."""
    n, d = components.centres.shape
    width = work.values.shape[1]
    for start in range(0, len(z), width):
        end = min(start + width, len(z))
        m = end - start
        of_groups, of_steps = groups[start:end], log_steps[start:end]
        for r in range(m):
            work.values[0, r], work.values[d + 1, r] = 1.0, z[start + r]
            for j in range(d):
                work.values[j + 1, r] = parents[start + r, j]
        _set_logs(components, log_scales, of_groups, work, m)
        most, total, left = work.most[:m], work.total[:m], work.left[:m]
        for r in range(m):
            total[r] = 0.0
        for k in range(n):
            shares = work.logs[k, :m]
            for r in range(m):
                shares[r] -= most[r]
            exponentials(shares)
            for r in range(m):
                total[r] += shares[r]
        for r in range(m):
            total[r] = 1.0 / total[r]
        for k in range(n):
            shares = work.logs[k, :m]
            for r in range(m):
                share = shares[r] * total[r]
                shares[r] = share * weights[start + r] if share >= _LEAST_SHARE else 0.0
            if len(axes) > 0:
                side = work.most[:m]
                for r in range(m):
                    side[r] = 0.0
                for j in range(d + 2):
                    slope, of_row = axes[k, j], work.values[j, :m]
                    for r in range(m):
                        side[r] += slope * of_row[r]
                for r in range(m):
                    left[r] = shares[r] if side[r] > 0.0 else 0.0
                    shares[r] -= left[r]
                steps[n + k] += _add_products(left, of_groups, of_steps, work, moments[n + k], counts[n + k])
            steps[k] += _add_products(shares, of_groups, of_steps, work, moments[k], counts[k])
    for k in range(len(moments)):
        for i in range(d + 2):
            for j in range(i):
                moments[k, j, i] = moments[k, i, j]
    return 0


def _flat(parts: list[NDArray[np.float64]], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return arrays that broadcast to a shape as the columns of one, float64 (n, n_parts)."""
    return np.column_stack([np.broadcast_to(part, shape).ravel() for part in parts])
