"""A continuous column that is a sum of effects of its parents and of noise, which is normal or Student's.

The noise has Student's t distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as field_of
from functools import cached_property, lru_cache
from itertools import combinations
from math import pi, prod
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.network.conditionals.kind import (
    LEAST_MASS,
    LEAST_PROBABILITY,
    FurtherRows,
    OnScale,
    check_has_fields,
    check_names_of,
)
from gomea_bn.network.conditionals.scales import LEAST_SPREAD, Columns, LineScale, PointEnds, TransformedScale
from gomea_bn.network.conditionals.terms import Functions, SumOfTerms, Terms, broken_line, indicators
from gomea_bn.network.parts import WithTables
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.jit import kernel
from gomea_bn.texts import listed, shown_name

# distance of degrees of freedom to 1
_LEAST_DISTANCE = 1e-6
# pieces of the tables of tails between 1 + |t| = 2^k and 2^(k + 1), with a relative error of the cubics below 1e-9
_LOG_PIECES = 8
_N_PIECES = 2**_LOG_PIECES
# from 2^25 - 1 on a tail is a power of t, up to the digits of float64
_N_DOUBLINGS = 25
# a smaller tail counts as 0
_LEAST_TAIL = 1e-290
# binary digits of float64 behind the point, and the exponent of 1
_DIGITS, _EXPONENT_OF_ONE = 52, 1023


class _Tails(NamedTuple):
    """P(T <= -t) under Student's t distribution with some degrees of freedom, as a function of 1 + t.

    `pieces` (n, 4) are equal parts of the numbers between two powers of 2: the tail at the start, and the coefficients
    of the cubic in the share of the part by which the log of the tail goes on. `last` and `log_tail` are the end of
    the last piece and the log of its tail, from where the tail falls by a `power` of t.
    """

    pieces: NDArray[np.float64]
    last: float
    log_tail: float
    power: float


def below_student(freedom: Any, t: Any) -> NDArray[np.float64]:
    """Return P(T <= t) for degrees of freedom above 0, float64 of the broadcast shape.

    The relative error of probabilities up to 1/2 is below 1e-9.
    """
    return _of_tails(_fill_below, freedom, t)


def student_quantiles(freedom: Any, shares: Any) -> NDArray[np.float64]:
    """Return the t with P(T <= t) = share, as of `below_student`, float64 of the broadcast shape.

    Shares are from 0 to 1, for which it is infinite.
    """
    return _of_tails(_fill_quantiles, freedom, shares)


def student_cells(ends: NDArray[np.float64], means: Any, scales: Any, freedom: Any) -> NDArray[np.float64]:
    """Return the probabilities of cells between increasing ends (n_cells + 1,), which add up to 1 for each centre.

    They are those of Student's t distribution around centres, which broadcast with the scales and the degrees of
    freedom, restricted to the range of the cells: float64 (..., n_cells). They add up to less than 1 where the range
    has hardly any probability.
    """
    shape = np.broadcast_shapes(np.shape(means), np.shape(scales), np.shape(freedom))
    centres, of_scales = _flat(means, shape), _flat(scales, shape)
    result = np.empty((len(centres), len(ends) - 1))
    for some, one in _by_freedom(freedom, shape):
        of_some = result[some]
        _fill_cells(ends, centres[some], of_scales[some], *_tails(one), of_some)
        result[some] = of_some
    return result.reshape(*shape, len(ends) - 1)


def _of_tails(fill: Callable[..., int], freedom: Any, numbers: Any) -> NDArray[np.float64]:
    """Return what a kernel makes of numbers by the tails of their degrees of freedom, of the broadcast shape."""
    shape = np.broadcast_shapes(np.shape(numbers), np.shape(freedom))
    given = _flat(numbers, shape)
    result = np.empty(len(given))
    for some, one in _by_freedom(freedom, shape):
        of_some = result[some]
        fill(given[some], *_tails(one), of_some)
        result[some] = of_some
    return result.reshape(shape)


def _flat(numbers: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return numbers of some shape in one row that may be written, since kernels compile again for other arrays."""
    given = np.asarray(numbers, np.float64)
    is_own = given.shape == shape and given.flags.writeable
    return given.ravel() if is_own else np.broadcast_to(given, shape).flatten()


def _by_freedom(freedom: Any, shape: tuple[int, ...]) -> list[tuple[Any, float]]:
    """Return the degrees of freedom of numbers of some shape, each with the numbers that have them."""
    freedom = np.asarray(freedom, np.float64)
    first = float(freedom.flat[0]) if freedom.size else 1.0
    if (freedom == first).all():
        return [(slice(None), first)]
    of_numbers = np.broadcast_to(freedom, shape).ravel()
    return [(np.flatnonzero(of_numbers == one), one) for one in np.unique(freedom).tolist()]


@lru_cache(maxsize=256)
def _tails(freedom: float) -> _Tails:
    """Return the tails for some degrees of freedom."""
    starts = 2.0 ** np.arange(_N_DOUBLINGS)[:, None] * (1.0 + np.arange(_N_PIECES) / _N_PIECES)
    t = np.append(starts.ravel(), 2.0**_N_DOUBLINGS) - 1.0
    tails = scipy.special.stdtr(freedom, -t)
    n = len(t) if (tails > _LEAST_TAIL).all() else int(np.argmax(tails <= _LEAST_TAIL))
    t, logs = t[:n], np.log(tails[:n])
    slopes = -np.exp(log_student(t, freedom) - logs)
    widths, changes = np.diff(t), np.diff(logs)
    first, last = slopes[:-1] * widths, slopes[1:] * widths
    pieces = [tails[: n - 1], first, 3 * changes - 2 * first - last, first + last - 2 * changes]
    power = freedom if tails[-1] > _LEAST_TAIL else np.inf
    return _Tails(np.column_stack(pieces), float(t[-1]), float(logs[-1]), power)


@kernel
def _below(t: float, pieces: NDArray[np.float64], last: float, log_tail: float, power: float) -> float:
    """Return P(T <= t); see `_Tails`."""
    size = abs(t)
    # both ends are rounded as the place is, which may be the last one
    if 1.0 + size < 1.0 + last:
        # the first binary digits of 1 + size number the pieces, and the others are the share of the piece
        digits = np.float64(1.0 + size).view(np.int64)
        k = (digits >> (_DIGITS - _LOG_PIECES)) - (_EXPONENT_OF_ONE << _LOG_PIECES)
        rest = digits & ((1 << (_DIGITS - _LOG_PIECES)) - 1)
        x = np.float64(rest) / (1 << (_DIGITS - _LOG_PIECES))
        change = x * (pieces[k, 1] + x * (pieces[k, 2] + x * pieces[k, 3]))
        if change > -0.25:
            # the exponential by its series
            factor = 1 + change * (1 + change * (1 / 2 + change * (1 / 6 + change * (1 / 24 + change * (1 / 120
                + change * (1 / 720 + change * (1 / 5040 + change / 40320)))))))  # fmt: skip
        else:
            factor = np.exp(change)
        tail = pieces[k, 0] * factor
    elif np.isnan(size):
        tail = np.nan
    elif power == np.inf or size == np.inf:
        tail = 0.0
    else:
        tail = np.exp(log_tail - power * (np.log(size) - np.log(last)))
    below: float = tail if t < 0 else 1.0 - tail
    return below


@kernel
def _fill_below(
    t: NDArray[np.float64], pieces: NDArray[np.float64], last: float, log_tail: float, power: float,
    result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write P(T <= t); see `_Tails`."""
    for i in range(len(t)):
        result[i] = _below(t[i], pieces, last, log_tail, power)
    return 0


@kernel
def _fill_cells(
    ends: NDArray[np.float64], means: NDArray[np.float64], scales: NDArray[np.float64],
    pieces: NDArray[np.float64], last: float, log_tail: float, power: float, result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the probabilities of `student_cells`."""
    n_cells = result.shape[1]
    for i in range(len(means)):
        total, per_scale = 0.0, 1.0 / scales[i]
        before = _below((ends[0] - means[i]) * per_scale, pieces, last, log_tail, power)
        for k in range(n_cells):
            below = _below((ends[k + 1] - means[i]) * per_scale, pieces, last, log_tail, power)
            result[i, k] = max(below - before, 0.0)
            total += result[i, k]
            before = below
        total = max(total, LEAST_MASS)
        for k in range(n_cells):
            result[i, k] /= total
    return 0


@kernel
def _fill_quantiles(
    shares: NDArray[np.float64], pieces: NDArray[np.float64], last: float, log_tail: float, power: float,
    result: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the inverse of `_fill_below`."""
    for i in range(len(shares)):
        tail = min(shares[i], 1.0 - shares[i])
        wanted = np.log(tail) if tail > 0.0 else -np.inf
        if wanted > log_tail:
            k, above = 0, len(pieces)
            while above - k > 1:
                middle = (k + above) // 2
                if pieces[middle, 0] >= tail:
                    k = middle
                else:
                    above = middle
            change = wanted - np.log(pieces[k, 0])
            x = 0.5
            # Newton's method on a cubic that is almost a line
            for _ in range(4):
                a, b, c = pieces[k, 1], pieces[k, 2], pieces[k, 3]
                x -= (x * (a + x * (b + x * c)) - change) / (a + x * (2.0 * b + x * 3.0 * c))
                x = min(max(x, 0.0), 1.0)
            start = 1.0 + (k % _N_PIECES + x) / _N_PIECES
            size = start * 2.0 ** (k // _N_PIECES) - 1.0
        elif power == np.inf or wanted == -np.inf:
            size = np.inf
        else:
            size = last * np.exp((log_tail - wanted) / power)
        result[i] = -size if shares[i] < 0.5 else size
    return 0


def student_distribution(t: Any, freedom: Any, widths: Any = None) -> NDArray[np.float64]:
    """Return P(T <= t) under Student's t distribution with scale 1 around 0, float64 of the broadcast shape.

    With `widths` it is the mean over centres that are uniform in an interval of this width around 0.
    """
    below = below_student(freedom, t)
    if widths is None or not (widths > LEAST_SPREAD).any():
        return np.asarray(below)
    wide = np.maximum(widths, LEAST_SPREAD)
    low, high = (_integral(t + sign * wide / 2, freedom) for sign in (-1, 1))
    return np.asarray(
        np.where(widths > LEAST_SPREAD, np.clip((high - low) / wide, 0.0, 1.0), below), np.float64
    )


def _integral(t: Any, freedom: Any) -> NDArray[np.float64]:
    """Return an integral of Student's distribution function, up to a constant."""
    # 1 degree of freedom has a logarithm, which the formula comes near to
    freedom = np.where(np.abs(freedom - 1.0) < _LEAST_DISTANCE, 1.0 + _LEAST_DISTANCE, freedom)
    with_density = np.exp(log_student(t, freedom)) * (freedom + t * t) / (freedom - 1.0)
    return np.asarray(t * below_student(freedom, t) + with_density)


def student_masses(lows: Any, highs: Any, freedom: Any) -> NDArray[np.float64]:
    """Return the probabilities of intervals under Student's t distribution with scale 1 around 0."""
    # by the tails below the centre, whose differences keep their digits
    is_above = lows > 0
    lows, highs = np.where(is_above, -highs, lows), np.where(is_above, -lows, highs)
    return np.asarray(below_student(freedom, highs) - below_student(freedom, lows))


def log_student(t: NDArray[np.float64], freedom: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the log density of Student's t distribution with scale 1 around 0, float64 (n,)."""
    half = np.asarray(freedom) / 2
    gammas = scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half)
    constant = gammas - 0.5 * np.log(pi * np.asarray(freedom))
    return np.asarray(constant - (half + 0.5) * np.log1p(t**2 / freedom), np.float64)


# logs of relative widths are not beyond this bound, so that scales stay numbers
_MOST_LOG_WIDTH = 30.0
_NO_TERMS = Terms(())


def log_density_around(
    z: NDArray[np.float64],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    freedom: NDArray[np.float64] | float,
    scale: LineScale,
    ends: PointEnds | None = None,
    spread: NDArray[np.float64] | None = None,
    log_range: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the log density of Student's t distribution, restricted to the range of a column, float64 (n,).

    `z` are places on the scale of the column. A centre (`means`) beyond the range is moved to its end, so that the
    range never loses its probability to rounding. A value that is a point mass has the log of the probability between
    the ends of its positions. `spread` is the width of an interval around each centre over which the density is
    averaged. `log_range` is what `log_range_around` returns, if it is known.
    """
    means = np.clip(means, scale.low, scale.high)
    if log_range is None:
        log_range = log_range_around(means, scales, freedom, scale)
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
        averaged = np.log(np.maximum(masses, LEAST_PROBABILITY) / width)
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
        logs = np.where(ends.is_point, np.log(np.maximum(of_points, LEAST_PROBABILITY)), logs)
    return np.asarray(logs - log_range, np.float64)


def log_range_around(
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    freedom: NDArray[np.float64] | float,
    scale: LineScale,
) -> NDArray[np.float64]:
    """Return the log probability of the range of a column, by centres inside it, float64 (n,)."""
    below = below_student(freedom, (scale.low - means) / scales)
    mass = below_student(freedom, (scale.high - means) / scales) - below
    return np.asarray(np.log(np.maximum(mass, LEAST_MASS)), np.float64)


@dataclass(frozen=True, eq=False)
class FamilyEffects(OnScale):
    """The effects of the parents of a continuous column: it is Student-t around their sum, as wide as they say.

    Continuous parents have curves, or lines, on their probability scales or in their own units, discrete ones an amount
    for every level. Products of functions of two parents are effects that depend on each other. The column is on its
    probability scale, after an increasing transformation or not, or in its own units. The density is restricted to the
    range of the column, and a centre beyond the range is moved to its end.

    Attributes
    ----------
    parents, groups : tuple of str
        Continuous and discrete parents.
    terms : Terms
        Functions of the parents, of which the sum is made.
    coefficients : ndarray of shape (n_terms + 1,), float64
        Intercept and coefficients of the terms.
    scales, freedom : ndarray of shape (1,) or (n_configurations,), float64
        Scale and degrees of freedom of Student's t distribution, above 0: one for all rows, or one for every
        configuration of the discrete parents, the last one fastest.
    least_scale : float
        Smallest scale that further rows may give.
    in_units : bool
        Whether the column is in its own units, and not on its probability scale.
    transform : ndarray of shape (2, n_points), float64, optional
        Positions of the column on its scale, and where an increasing transformation moves them, both increasing.
    width_terms : Terms
        Functions of the parents, of which the log width of the noise is made; none by default.
    width_coefficients : ndarray of shape (n_width_terms + 1,), float64
        Intercept and coefficients of these. Scales are multiplied by the exponential of the sum, and are never below
        `least_scale` then.

    Raises
    ------
    GomeaBnError
        For parts of other shapes or outside their ranges.
    """

    what = "a sum of effects"
    kind = "effects"

    parents: tuple[str, ...]
    groups: tuple[str, ...]
    terms: Terms
    coefficients: NDArray[np.float64]
    scales: NDArray[np.float64]
    freedom: NDArray[np.float64]
    least_scale: float = 0.0
    in_units: bool = False
    transform: NDArray[np.float64] | None = None
    width_terms: Terms = _NO_TERMS
    width_coefficients: NDArray[np.float64] = field_of(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        for name in ("coefficients", "scales", "freedom", "width_coefficients"):
            object.__setattr__(self, name, finite_numbers(getattr(self, name), name, self.what))
        if self.transform is not None:
            points = finite_numbers(self.transform, "transform", self.what)
            object.__setattr__(self, "transform", points)
            if points.ndim != 2 or len(points) != 2 or points.shape[1] < 2 or not (np.diff(points) > 0).all():
                raise GomeaBnError(
                    "The transform of a sum of effects must have two lists of equal length, of at least two increasing "
                    "numbers."
                )
        is_valid = (
            len(self.parents) + len(self.groups) > 0
            and self.coefficients.shape == (self.terms.n_terms + 1,)
            and self.scales.ndim == 1
            and len(self.scales) > 0
            and self.freedom.shape == self.scales.shape
            and bool((self.scales > 0).all())
            and bool((self.freedom > 0).all())
            and self.least_scale >= 0
            and self.width_coefficients.shape == (self.width_terms.n_terms + 1,)
        )
        if not is_valid:
            raise GomeaBnError(
                "A sum of effects must have at least one parent, an intercept and one coefficient per term, also of "
                "its width, and scales and degrees of freedom above 0, all finite."
            )

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        centre = self.terms.words if self.transform is None else f"{self.terms.words} on a transformed scale"
        return f"{centre} with noise that {listed(widths)}" if (widths := self._widths_in_words) else centre

    @property
    def _widths_in_words(self) -> list[str]:
        """How the noise depends on every parent that moves its width."""
        first, words = 1, []
        for functions in self.width_terms.functions:
            names = listed([shown_name(name) for name in functions.of])
            heights = functions.matrix @ self.width_coefficients[first : first + functions.size]
            steps = np.diff(heights)
            first += functions.size
            if functions.of_levels:
                words.append(f"differs between levels of {names}")
            elif (steps >= 0).all():
                words.append(f"widens with {names}")
            elif (steps <= 0).all():
                words.append(f"narrows with {names}")
            else:
                words.append(f"is wider at some values of {names}")
        return words

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, scales and points of a transformation."""
        n_points = 0 if self.transform is None else self.transform.shape[1]
        return self.terms.n_free + self.width_terms.n_free + 1 + len(self.scales) + n_points

    def own_scale(self, scale: LineScale) -> LineScale:
        """Return the scale that the column has around the sum, given the one that all columns may have."""
        if self.transform is None or isinstance(scale, TransformedScale):
            return scale
        return TransformedScale(scale, *self.transform)

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that it needs a scale of, each with whether that is in own units."""
        return {(self.in_units, name)} | self.terms.scaled | self.width_terms.scaled

    def check(self, network: WithTables, name: str, scales: Mapping[bool, Mapping[str, Any]]) -> None:
        """Raise `GomeaBnError` unless the effects fit the family of a column, and its columns have a scale."""
        for terms in (self.terms, self.width_terms):
            terms.check(network, name, self.parents, self.groups, scales)
        if name not in scales[self.in_units]:
            option = "units" if self.in_units else "scales"
            raise GomeaBnError(f"{option} must have an entry for '{name}', which is a sum of effects.")
        n_groups = prod(len(network.levels[group]) for group in self.groups)
        if len(self.scales) not in (1, n_groups):
            raise GomeaBnError(
                f"The effects on '{name}' must have 1 or {n_groups} scales, got {len(self.scales)}."
            )
        if (
            self.transform is not None
            and isinstance(scales[False].get(name), Shape)
            and scales[False][name].points
        ):
            raise GomeaBnError(
                f"The effects on '{name}' have a transform, but scales['{name}'] has point masses, whose places are "
                "fixed."
            )

    def with_rows(self, name: str, rows: FurtherRows) -> FamilyEffects:
        """Return the effects after further rows; functions, freedom, transformation and relative widths stay.

        The rows so far are replaced by drawn ones whose parents are like theirs and which have the present sums
        (pseudo-rehearsal: Robins, "Catastrophic forgetting, rehearsal and pseudorehearsal", 1995). Rows far from the
        sum count less if the noise has heavy tails (Lange, Little & Taylor, "Robust statistical modeling using the t
        distribution", 1989).
        """
        facts = rows.facts
        former = rows.like_former()
        design, of_former = (
            np.column_stack(
                [np.ones(len(part.weights)), self.terms.of_rows(part.columns, facts.scales, facts.n_levels)]
            )
            for part in (rows, former)
        )
        z = rows.columns.positions(name, self.own_scale(facts.scales[self.in_units][name]))
        groups = rows.groups(self.groups) if len(self.scales) > 1 else np.zeros(len(z), np.int64)
        n_groups = len(self.scales)
        of_groups = former.groups(self.groups) if n_groups > 1 else np.zeros(len(of_former), np.int64)
        widths = SumOfTerms(self.width_terms, self.width_coefficients, facts.scales, facts.n_levels)
        relative, of_former_rows = (relative_widths(widths.of(part.columns)) for part in (rows, former))
        freedom = self.freedom[groups]
        # forgotten rows still keep the coefficients finite
        n_former = max(rows.old * rows.n_former, float(len(self.coefficients)))
        weights = np.full(len(of_former), n_former / len(of_former))
        # rows that a group has of all others where its scale takes further rows
        old = np.bincount(of_groups, weights, minlength=n_groups) + 1e-9
        n_rows = old + np.bincount(groups, rows.weights, minlength=n_groups)
        coefficients, scales = self.coefficients, self.scales
        residuals, moved = z - design @ coefficients, np.zeros(len(of_former))
        for _ in range(50):
            before = scales
            of_noise = residuals / (scales[groups] * relative)
            counts = rows.weights * (freedom + 1) / (freedom + of_noise**2)
            # rows with little noise say more
            precisions = (scales.min() / scales) ** 2
            of_old = weights * precisions[of_groups] / of_former_rows**2
            of_rows = counts * precisions[groups] / relative**2
            information = of_former.T @ (of_former * of_old[:, None]) + design.T @ (design * of_rows[:, None])
            # a share of the mean information keeps the sums of rows regular: splines of a parent add up to a constant
            ridge = 1e-9 * np.trace(information) / len(information) * np.eye(len(information))
            gradient = design.T @ (of_rows * residuals) - of_former.T @ (of_old * moved)
            step = scipy.linalg.solve(information + ridge, gradient, assume_a="pos")
            coefficients = coefficients + step
            residuals = z - design @ coefficients
            # what the former rows are further away from the new sums than from their own
            moved = of_former @ (coefficients - self.coefficients)
            further = np.bincount(of_groups, weights * (moved / of_former_rows) ** 2, minlength=n_groups)
            squares = old * self.scales**2 + further
            squares += np.bincount(groups, counts * (residuals / relative) ** 2, minlength=n_groups)
            scales = np.maximum(np.sqrt(squares / n_rows), max(self.least_scale, np.finfo(float).tiny))
            change = max(
                float(np.sqrt(np.mean((of_former @ step) ** 2)) / scales.min()),
                float(np.abs(np.log(scales / before)).max()),
            )
            # what rows leave open in scales of the noise is more
            if change < 0.1:
                break
        return replace(self, coefficients=coefficients, scales=scales)

    def to_content(self) -> dict[str, Any]:
        """Return the effects as values that JSON can hold."""
        content: dict[str, Any] = {
            "kind": self.kind,
            "parents": list(self.parents),
            "groups": list(self.groups),
            **self.terms.to_content(),
            "coefficients": self.coefficients.tolist(),
            "scales": self.scales.tolist(),
            "freedom": self.freedom.tolist(),
            "least_scale": self.least_scale,
        }
        if self.in_units:
            content["in_units"] = True
        if self.transform is not None:
            content["transform"] = self.transform.tolist()
        if self.width_terms.functions or self.width_terms.products:
            content["widths"] = {
                **self.width_terms.to_content(),
                "coefficients": self.width_coefficients.tolist(),
            }
        return content

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        numbers = ("coefficients", "scales", "freedom")
        parts = effect_parts(content, cls.what, numbers)
        in_units, least = content.get("in_units", False), content.get("least_scale", 0.0)
        if not isinstance(in_units, bool) or not is_real(least):
            raise GomeaBnError(
                "in_units of a sum of effects must be true or false, and least_scale a number."
            )
        widths = content.get("widths", {"functions": [], "coefficients": [0.0]})
        if not isinstance(widths, Mapping) or "functions" not in widths or "coefficients" not in widths:
            raise GomeaBnError(
                "The widths of a sum of effects must be an object with the fields functions and coefficients."
            )
        return {
            **parts,
            **{name: content[name] for name in numbers},
            "least_scale": float(least),
            "in_units": in_units,
            "transform": content.get("transform"),
            "width_terms": Terms.from_content(widths),
            "width_coefficients": widths["coefficients"],
        }

    @cached_property
    def scale(self) -> LineScale:
        """Scale of the column around the sum."""
        return self.own_scale(self.facts.scales[self.in_units][self.name])

    @cached_property
    def _sum(self) -> SumOfTerms:
        return SumOfTerms(self.terms, self.coefficients, self.facts.scales, self.facts.n_levels)

    @cached_property
    def _widths(self) -> SumOfTerms | None:
        """Log relative widths of the noise; None without terms, where all are those of the groups."""
        of_terms = self.width_terms, self.width_coefficients, self.facts.scales, self.facts.n_levels
        return SumOfTerms(*of_terms) if self.width_terms.n_terms else None

    @cached_property
    def _of_noise(self) -> set[str]:
        """Parents that scales and degrees of freedom depend on."""
        of_widths = (f.of for f in (*self.width_terms.functions, *self.width_terms.factors))
        groups = self.groups if len(self.scales) > 1 else ()
        return {*groups, *(name for names in of_widths for name in names)}

    def log_on_scale(self, values: Columns, ends: PointEnds | None) -> tuple[NDArray[np.float64], Any]:
        """Return the log density on the scale, and its relative error where values are middles of cells, or None."""
        z = values.positions(self.name, self.scale)
        means, scales, freedom = self._at(values)
        moves = values.vary(self.members)
        log_range = None if moves else values.made_of(self.members, (self, "range"), self._log_range)
        if (bounds := values.bounds()) is None:
            moved = self._spread_at(values)
            if (own := self.own_ends(values)) is not None:
                # an interval of numbers around a centre is one of centres around a number
                z, width = (own[0] + own[1]) / 2, own[1] - own[0]
                moved = width if moved is None else moved + width
            logs = log_density_around(z, means, scales, freedom, self.scale, ends, moved, log_range)
            return logs, None
        at_ends = [self._means(end) for end in bounds] if moves else [means, means]
        least, most = np.minimum(means, np.minimum(*at_ends)), np.maximum(means, np.maximum(*at_ends))
        low, high = (end.positions(self.name, self.scale) for end in bounds)
        # an interval of centres around a number is one of numbers around a centre
        spread = most - least + high - low
        widths, distances = spread / scales, (z - means) / scales
        # a bound of the second derivative of the density around the sum, as a share of it
        bend = (freedom + 1) * (1 / freedom + (freedom + 1) * (distances / (freedom + distances**2)) ** 2)
        is_wide = widths > LEAST_SPREAD
        z, means = np.where(is_wide, (low + high) / 2, z), np.where(is_wide, (least + most) / 2, means)
        logs = log_density_around(z, means, scales, freedom, self.scale, ends, spread, log_range)
        return logs, bend * widths**2 / 24

    def masses_on_scale(self, ends: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of cells, whose ends on the scale are given, float64 (..., n_cells)."""
        means, scales, freedom = self._at(values)
        spread = self._spread_at(values)
        if spread is None or not (spread > LEAST_SPREAD * scales).any():
            return student_cells(ends, means, scales, freedom)
        means, scales, freedom = (np.asarray(part)[..., None] for part in (means, scales, freedom))
        below = student_distribution((ends - means) / scales, freedom, spread[..., None] / scales)
        masses = np.maximum(np.diff(below, axis=-1), 0.0)
        total = masses.sum(axis=-1, keepdims=True)
        return np.asarray(masses / np.maximum(total, LEAST_MASS), np.float64)

    def draw_on_scale(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return one place on the scale per row, float64 (n,)."""
        means, scales, freedom = self._at(values)
        low = below_student(freedom, (self.scale.low - means) / scales)
        high = below_student(freedom, (self.scale.high - means) / scales)
        shares = low + generator.random(n) * (high - low)
        z = means + scales * student_quantiles(freedom, shares)
        return np.asarray(np.clip(z, self.scale.low, self.scale.high), np.float64)

    def centres(self, values: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centres and scales of the densities around lines, for drawing, float64 (n,)."""
        means, scales, _ = (np.atleast_1d(part) for part in self._at(values))
        means, scales = np.broadcast_arrays(means, scales)
        return means.ravel(), scales.ravel()

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the density bends, float64 (n,)."""
        bends = self._sum.bends(parent)
        return bends if self._widths is None else np.union1d(bends, self._widths.bends(parent))

    def _at(self, values: Columns) -> tuple[NDArray[np.float64], Any, Any]:
        """Return centres inside the range, scales and degrees of freedom of the noise, of shapes that broadcast."""
        at: tuple[NDArray[np.float64], Any, Any] = values.made_by(self, self._computed_at)
        return at

    def _computed_at(self, values: Columns) -> tuple[NDArray[np.float64], Any, Any]:
        return self._means(values), *values.made_of(self._of_noise, (self, "noise"), self._noise)

    def _means(self, values: Columns) -> NDArray[np.float64]:
        """Return centres inside the range."""
        return np.asarray(np.clip(self._sum.of(values), self.scale.low, self.scale.high))

    def _noise(self, values: Columns) -> tuple[Any, Any]:
        """Return scales and degrees of freedom of the noise."""
        group = self._groups(values) if len(self.scales) > 1 else 0
        scales: Any = self.scales[group]
        if self._widths is not None:
            scales = np.maximum(scales * relative_widths(self._widths.of(values)), self.least_scale)
        return scales, self.freedom[group]

    def _log_range(self, values: Columns) -> NDArray[np.float64]:
        return log_range_around(*self._at(values), self.scale)

    def _spread_at(self, values: Columns) -> NDArray[np.float64] | None:
        """Return how far the centre moves inside the cells of parents; None if no parent has cells.

        Parents move one at a time, and their distances add up, so that no value between the cells is left out.
        """
        moved = list(self._sum.moved(values))
        return None if not moved else np.asarray(sum(np.abs(of_parent) for of_parent in moved))


def relative_widths(logs: Any) -> Any:
    """Return what scales of noise are multiplied by, given its logs."""
    return np.exp(np.clip(logs, -_MOST_LOG_WIDTH, _MOST_LOG_WIDTH))


def effect_parts(content: Any, what: str, further: Sequence[str]) -> dict[str, Any]:
    """Return parents, groups and terms that JSON values describe, which also have `further` fields.

    Raises `GomeaBnError` for values of other types.
    """
    check_has_fields(content, ("parents", "groups", "functions", *further), what)
    for field in ("parents", "groups"):
        check_names_of(content, field, what)
    return {
        "parents": tuple(content["parents"]),
        "groups": tuple(content["groups"]),
        "terms": Terms.from_content(content),
    }


def finite_numbers(numbers: ArrayLike, part: str, what: str) -> NDArray[np.float64]:
    """Return finite numbers as a read-only array; raises `GomeaBnError` for others."""
    try:
        fixed = np.array(numbers, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"The {part} of {what} must be numbers: {error}.") from error
    if not np.isfinite(fixed).all():
        raise GomeaBnError(f"The {part} of {what} must be finite numbers.")
    fixed.flags.writeable = False
    return fixed


# ends of lines of earlier versions, far beyond the places of all values
_FAR = 1e6


def effects_of_line(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a sum of effects that is a line of earlier versions: hinges, squares and products.

    A line had functions of its continuous parents: their positions; max(position - knot, 0) for the knots of each; all
    products of two positions; and products of factors, which are positions and hinges at other knots. Its intercept, or
    all coefficients of a line without products, differed between the configurations of the discrete parents. Raises
    `GomeaBnError` for other values.
    """
    try:
        return _effects_of_line(content)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise GomeaBnError(
            "A line must be an object with the fields parents, groups, coefficients, scales and freedom, of one number "
            f"for each of its terms and groups: {error}."
        ) from error


def _effects_of_line(content: Mapping[str, Any]) -> dict[str, Any]:
    parents, groups = content["parents"], content["groups"]
    coefficients = np.array(content["coefficients"], np.float64)
    in_units = bool(content.get("in_units", False))
    knots = [np.array(k, np.float64) for k in content.get("knots") or [[]] * len(parents)]
    product_knots = [np.array(k, np.float64) for k in content.get("product_knots") or []]
    n_groups, n = len(coefficients), len(parents)
    has_products = bool(content.get("has_products", False))
    n_terms = n + sum(map(len, knots)) + has_products * n * (n + 1) // 2
    factors_of = [1 + len(k) for k in product_knots]
    n_terms += sum(a * b - 1 for a, b in combinations(factors_of, 2))
    is_shared = bool((coefficients[:, 1:] == coefficients[0, 1:]).all())
    is_valid = (
        coefficients.shape == (n_groups, n_terms + 1)
        and bool(np.isfinite(coefficients).all())
        and len(knots) == n
        and len(product_knots) in (0, has_products * n)
        # no version has learned such lines
        and (is_shared or not has_products)
    )
    if not is_valid:
        raise GomeaBnError(
            f"A line must have an intercept and one finite coefficient for each of its {n_terms} terms by group, "
            "equal ones of all groups if there are products."
        )
    ends = [np.concatenate([[-_FAR], np.unique(k), [_FAR]]) for k in knots]

    def heights(of_group: NDArray[np.float64], p: int) -> NDArray[np.float64]:
        """Return the function of a parent at its ends and knots."""
        first = 1 + n + sum(len(k) for k in knots[:p])
        bends = np.maximum(ends[p][:, None] - knots[p], 0.0) @ of_group[first : first + len(knots[p])]
        return np.asarray(of_group[1 + p] * ends[p] + bends)

    lines = [broken_line(parent, ends[p], in_units=in_units) for p, parent in enumerate(parents)]
    of_groups = indicators(groups, [n_groups]) if n_groups > 1 else None
    functions, numbers = [], []
    if of_groups is not None:
        functions.append(of_groups)
        numbers.append(coefficients[:, 0])
    if is_shared:
        functions += lines
        numbers += [heights(coefficients[0], p) for p in range(n)]
    factors: list[Functions] = []
    products: list[tuple[int, int]] = []
    if not is_shared:
        assert of_groups is not None
        factors = [of_groups, *lines]
        for p in range(n):
            products.append((0, 1 + p))
            numbers.append(np.concatenate([heights(of_group, p) for of_group in coefficients]))
    elif has_products:
        place = 1 + n + sum(map(len, knots))
        inner = product_knots or [np.empty(0)] * n
        factors = [_with_hinges(line, k) for line, k in zip(lines, inner, strict=True)]
        matrices = {
            (i, j): np.zeros((factors[i].size, factors[j].size)) for i in range(n) for j in range(i, n)
        }
        pairs = list(matrices)
        for i, j in pairs:
            matrices[i, j][0, 0] = coefficients[0, place]
            place += 1
        if product_knots:
            for i, j in pairs:
                for a in range(factors[i].size if i < j else 0):
                    for b in range(factors[j].size):
                        if a or b:
                            matrices[i, j][a, b] = coefficients[0, place]
                            place += 1
        products = pairs
        numbers += [matrices[pair].ravel() for pair in pairs]
    terms = Terms(tuple(functions), tuple(factors), tuple(products))
    intercept = 0.0 if of_groups is not None else float(coefficients[0, 0])
    sums = content.get("sums")
    return {
        "kind": FamilyEffects.kind,
        "parents": parents,
        "groups": groups,
        **terms.to_content(),
        "coefficients": np.concatenate([[intercept], *numbers]).tolist(),
        "scales": content["scales"],
        "freedom": content["freedom"],
        "least_scale": 0.0 if sums is None else sums["least_scale"],
        "in_units": in_units,
        "transform": content.get("transform"),
    }


def _with_hinges(line: Functions, knots: NDArray[np.float64]) -> Functions:
    """Return the position of a parent and max(position - knot, 0) for some knots."""
    ends = np.concatenate([[-_FAR], np.unique(knots), [_FAR]])
    plain = broken_line(line.of[0], ends, in_units=line.in_units)
    return plain.combined(np.column_stack([ends, np.maximum(ends[:, None] - knots, 0.0)]))
