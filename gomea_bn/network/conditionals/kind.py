"""What every kind of conditional has, its parts and its density; stacks of them, and the density of a family.

A kind is one thing everywhere, in a file of its own. `kinds` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import isclose, prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.network.conditionals.scales import Columns, LineScale, PointEnds
from gomea_bn.network.parts import WithTables
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.texts import percent

LEAST_PROBABILITY = 1e-300
"""Least probability of a density far from its centre: its logarithm is a number."""
LEAST_MASS = 1e-12
"""Least probability of the range of a column, or of a cell, under a density: it is never rounded to 0."""

# points at which a line is drawn: over its range, and for some of its centres up to six scales away
_N_POINTS = 129
_FARTHEST = 6.0

_NAMES = ("parents", "groups")
_FLAGS = ("in_units",)
_NUMBERS = ("value",)


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What a density needs to know of the columns of a network.

    Attributes
    ----------
    support : mapping of str to (float, float)
        Ranges of the continuous columns.
    shapes : mapping of str to Shape
        Distributions inside the bins; continuous columns without one are uniform there.
    n_levels : mapping of str to int
        Number of levels of the discrete columns.
    scales : mapping of bool to mapping of str to LineScale
        Scales of continuous columns, by whether they are in own units.
    """

    support: Mapping[str, tuple[float, float]]
    shapes: Mapping[str, Shape]
    n_levels: Mapping[str, int]
    scales: Mapping[bool, Mapping[str, LineScale]]


def check_has_fields(content: Any, required: Sequence[str], what: str) -> None:
    """Raise `GomeaBnError` unless JSON values are an object with some fields."""
    if not isinstance(content, Mapping) or any(field not in content for field in required):
        raise GomeaBnError(
            f"{what[0].upper()}{what[1:]} must be an object with the fields {', '.join(required)}."
        )


def check_names_of(content: Mapping[str, Any], field: str, what: str) -> None:
    """Raise `GomeaBnError` unless a field of JSON values is a list of names."""
    names = content[field]
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise GomeaBnError(f"The {field} of {what} must be a list of names, got {names!r:.80}.")


def joint_groups(codes: Sequence[NDArray[Any]], n_levels: Sequence[int], n_rows: int) -> NDArray[np.int64]:
    """Return the configuration of discrete columns in every row, int64 (n_rows,), with the last column fastest."""
    groups = np.zeros(n_rows, np.int64)
    for of_column, n in zip(codes, n_levels, strict=True):
        groups = groups * n + of_column
    return groups


@dataclass(frozen=True, eq=False)
class FurtherRows:
    """Complete rows that a conditional takes or leaves out, with what it needs to know of the rows so far.

    Attributes
    ----------
    columns : Columns
        Values (n_rows,) of the column and of its parents.
    weights : ndarray of shape (n_rows,), float64
        How often every row counts.
    old : float
        How often the rows so far count.
    n_former, n_learned : float
        Number of rows so far, and of those from which the conditionals were learned.
    facts : ColumnFacts
        What is known of the columns.
    smoothing : "auto", "scored" or float
        Smoothing of the column's tables, that of `gomea_bn.network.tables.smoothing_of`.
    draw_former : callable, optional
        Function that returns drawn rows of all columns that are like the rows so far.
    """

    columns: Columns
    weights: NDArray[np.float64]
    old: float
    n_former: float
    n_learned: int
    facts: ColumnFacts
    smoothing: PseudoCount
    draw_former: Callable[[], Columns] | None = None

    def like_former(self) -> FurtherRows:
        """Return drawn rows that are like the rows so far, and count as often as these together."""
        assert self.draw_former is not None
        columns = self.draw_former()
        weight = self.old * self.n_former / columns.n_rows
        return replace(self, columns=columns, weights=np.full(columns.n_rows, weight))

    def positions(self, parents: Sequence[str], in_units: bool) -> NDArray[np.float64]:
        """Return the positions of continuous parents on their scales, float64 (n_rows, n_parents)."""
        scales = self.facts.scales[in_units]
        of_parents = [self.columns.positions(parent, scales[parent]) for parent in parents]
        return np.column_stack([np.empty((self.columns.n_rows, 0)), *of_parents])

    def levels(self, name: str) -> NDArray[np.int64]:
        """Return the codes of a discrete column, int64 (n_rows,)."""
        return np.asarray(self.columns[name], np.int64)

    def groups(self, parents: Sequence[str]) -> NDArray[np.int64]:
        """Return the configuration of discrete parents in every row, int64 (n_rows,), with the last one fastest."""
        codes = [self.columns[parent] for parent in parents]
        return joint_groups(codes, [self.facts.n_levels[parent] for parent in parents], len(self.weights))


class Fitted:
    """What a column follows given its parents, as fitted to rows, and its density.

    A subclass is a kind of conditional, a frozen dataclass of named parts that JSON can hold. All that others need to
    know about it are the members of this class. The name of a field says what it is: `parents` and `groups` are names,
    `in_units` true or false, `value` a number, and all others are arrays.

    Only what `given` returns has a density. Its methods take the values of the parents as arrays that broadcast: of
    shape (n,) for rows, or of shapes such as (n, 1) and (1, m) for every combination of rows and of m values of one
    parent.
    """

    what: ClassVar[str]
    """Words for the object in messages."""
    kind: ClassVar[str | None] = None
    """Field "kind" of the object in JSON."""
    required: ClassVar[tuple[str, ...]]
    """Fields that JSON must have."""
    halves: ClassVar[tuple[str, ...]] = ()
    """Symmetric matrices, of which JSON has the upper half, row by row."""

    of_levels: ClassVar[bool | None] = False
    """Whether the column is discrete; None for a kind of all columns."""
    # fields of every kind: its continuous and discrete parents
    parents: tuple[str, ...]
    groups: tuple[str, ...]
    # what `given` adds
    name: str
    facts: ColumnFacts

    @cached_property
    def members(self) -> tuple[str, ...]:
        """All parents, continuous ones first."""
        return *self.parents, *self.groups

    @property
    def counts_cells(self) -> bool:
        """Whether it holds probabilities of cells, by the rows in them, and no function of numbers."""
        return False

    @property
    def in_units(self) -> bool:
        """Whether columns are in their own units, and not on their probability scales."""
        return False

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        raise NotImplementedError

    @property
    def n_parameters(self) -> float:
        """Number of parameters that were estimated; of an average the mean."""
        raise NotImplementedError

    @property
    def n_sets(self) -> int:
        """Number of sets of cuts that it averages over."""
        return 0

    @property
    def fixed_value(self) -> float | None:
        """The number, or the code of the level, that the column has with certainty."""
        return None

    @property
    def value_counts(self) -> NDArray[np.float64] | None:
        """Number of rows of every bin or level; None if it does not count them."""
        return None

    @property
    def takes_rows(self) -> bool:
        """Whether it holds what it was fitted to, so that it can take further rows."""
        return True

    @property
    def can_leave_out(self) -> bool:
        """Whether `left_out` knows it without some rows."""
        return False

    def to_content(self) -> dict[str, Any]:
        """Return the parts as values that JSON can hold."""
        content: dict[str, Any] = {} if self.kind is None else {"kind": self.kind}
        for part in fields(self):  # type: ignore[arg-type]
            value = getattr(self, part.name)
            if part.name in self.halves:
                value = value[..., *np.triu_indices(value.shape[-1])]
            content[part.name] = _plain(value)
        return content

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        what = cls.what
        check_has_fields(content, cls.required, what)
        parts: dict[str, Any] = {}
        for name in [part.name for part in fields(cls) if part.name in content]:  # type: ignore[arg-type]
            value = content[name]
            if name in _NAMES:
                check_names_of(content, name, what)
            if name in _FLAGS and not isinstance(value, bool):
                raise GomeaBnError(f"{name} of {what} must be true or false, got {value!r:.80}.")
            try:
                parts[name] = _read(name, value)
            except (TypeError, ValueError, OverflowError) as error:
                raise GomeaBnError(f"The parts of {what} must be numbers: {error}.") from error
        return parts

    def _fix(self) -> bool:
        """Replace arrays by read-only copies, and return whether all of their numbers are finite."""
        arrays: list[NDArray[np.float64]] = []
        for part in fields(self):  # type: ignore[arg-type]
            value = getattr(self, part.name)
            if part.name in (*_NAMES, *_FLAGS, *_NUMBERS) or value is None:
                continue
            fixed = _fixed(value)
            object.__setattr__(self, part.name, fixed)
            arrays.append(fixed)
        return all(np.isfinite(array).all() for array in arrays)

    @classmethod
    def from_content(cls, content: Any) -> Self:
        """Return what JSON values describe; raises `GomeaBnError` for others."""
        return cls(**cls.parts_of(content))

    def checked(
        self,
        network: WithTables,
        name: str,
        scales: Mapping[bool, Mapping[str, Any]],
        shared: dict[bytes, NDArray[np.float64]],
    ) -> Self:
        """Return it in its stored form; raises `GomeaBnError` if it does not fit the family of a column.

        `scales` has by `in_units` whatever describes columns that have a scale, a shape or units. Equal sets of cuts
        become one array of `shared`, so that `Columns` find their bins once.
        """
        self.check(network, name, scales)
        return self

    def check(self, network: WithTables, name: str, scales: Mapping[bool, Mapping[str, Any]]) -> None:
        """Raise `GomeaBnError` unless it fits the family of a column, and its columns have a scale.

        `scales` has by `in_units` whatever describes columns that have a scale, a shape or units.
        """
        cuts, levels = network.cut_points, network.levels
        parents = network.parents(name)
        continuous = tuple(parent for parent in parents if parent in cuts)
        discrete = tuple(parent for parent in parents if parent in levels)
        # it is the same in every order of its parents
        if sorted(self.parents) != sorted(continuous) or sorted(self.groups) != sorted(discrete):
            raise GomeaBnError(
                f"The line of '{name}' must have the continuous parents {continuous} and the discrete parents "
                f"{discrete}, got {self.parents} and {self.groups}."
            )
        self._check_groups(
            name, {group: len(levels[group]) for group in (*discrete, name) if group in levels}
        )
        scaled = (name, *continuous) if name in cuts else continuous
        missing = [member for member in scaled if member not in scales[self.in_units]]
        if missing:
            option = "units" if self.in_units else "scales"
            raise GomeaBnError(f"{option} must have an entry for '{missing[0]}', which is part of a line.")

    def _check_groups(self, name: str, n_levels: Mapping[str, int]) -> None:
        """Raise `GomeaBnError` unless parts by level fit the numbers of levels of the discrete members of a family."""
        raise NotImplementedError

    def _check_configurations(self, name: str, n_groups: int, n_levels: Mapping[str, int]) -> None:
        """Raise `GomeaBnError` unless there is one group for every configuration of the discrete parents."""
        wanted = prod(n_levels[group] for group in self.groups)
        if n_groups != wanted:
            raise GomeaBnError(f"The line of '{name}' must have {wanted} groups, got {n_groups}.")

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that it needs a scale of, each with whether that is in own units."""
        members = self.parents if self.of_levels else (name, *self.parents)
        return {(self.in_units, member) for member in members}

    def in_order(self, names: Sequence[str]) -> Self:
        """Return it for a network with its columns in another order."""
        return self

    def given(self, name: str, facts: ColumnFacts) -> Self:
        """Return it with the column that follows it, and what is known of the columns: so it has a density."""
        bound = object.__new__(type(self))
        bound.__dict__.update({part.name: getattr(self, part.name) for part in fields(self)})  # type: ignore[arg-type]
        bound.__dict__.update(name=name, facts=facts)
        return bound

    def with_rows(self, name: str, rows: FurtherRows) -> Self:
        """Return what a column follows after further rows."""
        raise NotImplementedError

    def counted(self, name: str, rows: FurtherRows) -> Self:
        """Return what a column follows with rows counted in place of those so far.

        Coefficients stay: a fit to these rows alone would lose the prior that they were learned with.
        """
        return self

    def left_out(self, name: str, rows: FurtherRows) -> Self:
        """Return what a column follows without some rows, which are among those that it was fitted to."""
        raise NotImplementedError

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density in units of the column, or the log probability of levels and point masses.

        With it comes its relative error where values are the middles of cells, or None. `along` is what the method
        `along` returned for the cells that the values lie in.
        """
        raise NotImplementedError

    def along(self, known: Columns, name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return what is the same inside cells of a column, float64 (n_rows, n_numbers); None if nothing is.

        The column `name`, this one or a continuous parent, has all `numbers` in every row, and `known` has the values
        (n_rows,) of the other members.
        """
        return None

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, or of all levels, float64 (..., n_cells)."""
        raise NotImplementedError

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, (n,)."""
        raise NotImplementedError

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the density bends, float64 (n,)."""
        return np.empty(0)

    def jumps(self, name: str) -> NDArray[np.float64]:
        """Return the values of the column or of a parent at which the density jumps, float64 (n,)."""
        return np.empty(0)

    def below(self, numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the probability up to increasing numbers, about as the mean over the parents, float64 (n,).

        The numbers reach over the whole range. None if it follows from the scale of the column.
        """
        return None

    def breaks(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers between which the density is drawn as lines, float64 (n,)."""
        raise NotImplementedError

    def pieces(
        self, breaks: NDArray[np.float64], values: Columns
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean density over rows at the left and right ends of pieces between breaks, (n_pieces,) each."""
        # on their inner sides
        left = self.of_points(np.nextafter(breaks[:-1], np.inf), values)
        return left, self.of_points(np.nextafter(breaks[1:], -np.inf), values)

    def of_points(self, points: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the mean over rows of the probabilities of point masses, and of the densities of other numbers."""
        of_rows = {name: np.atleast_1d(values[name])[:, None] for name in self.members}
        logs, _ = self.log_density(Columns({**of_rows, self.name: points}))
        return np.asarray(np.exp(logs).reshape(-1, len(points)).mean(axis=0))


class OnScale(Fitted):
    """A kind of continuous columns: its density is that of a place on the scale of the column."""

    @cached_property
    def scale(self) -> LineScale:
        """Scale of the column."""
        return self.facts.scales[self.in_units][self.name]

    def _groups(self, values: Columns) -> Any:
        """Return the configuration of the discrete parents, int64 of the shape that these broadcast to."""
        groups: Any = np.int64(0)
        for group in self.groups:
            groups = groups * self.facts.n_levels[group] + np.asarray(values[group]).astype(np.int64)
        return groups

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density as `Fitted` does; values beyond the range of the column count as its ends."""
        inside, slopes, *of_points = values.made_of((self.name,), (self, "own"), self._own_parts)
        logs, error = self.log_on_scale(values, PointEnds(*of_points) if of_points else None)
        if (cells := values.ends(self.name)) is not None and (on_scale := self.own_ends(values)) is not None:
            # the mean slope inside the cell
            width, of_cell = (high - low for low, high in (cells, on_scale))
            is_wide = (width > 0) & (of_cell > 0)
            ratios = np.divide(of_cell, width, out=np.ones(np.shape(width)), where=is_wide)
            slopes = np.where(is_wide, np.log(ratios), slopes)
        logs = logs + slopes
        is_inside = (inside >= self.scale.least) & (inside <= self.scale.greatest)
        return np.where(is_inside, logs, -np.inf), error

    def _own_parts(self, values: Columns) -> tuple[NDArray[Any], ...]:
        """Return values inside the range, log slopes of the scale at these, and the ends of any point masses."""
        inside = np.clip(np.asarray(values[self.name], np.float64), *self.facts.support[self.name])
        slopes = self.scale.log_slope(inside, values.positions(self.name, self.scale))
        return inside, slopes, *(self.scale.ends_of_points(inside) or ())

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

    def breaks(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers over the whole range, and about as many around some centres, float64 (n,)."""
        scale = self.scale
        means, scales = self.centres(values)
        order = np.argsort(means)
        some = np.unique(order[np.linspace(0, len(order) - 1, 41).astype(np.int64)])
        offsets = np.linspace(-_FARTHEST, _FARTHEST, max(_N_POINTS // len(some), 5))
        around = means[some, None] + scales[some, None] * offsets
        z = np.concatenate([np.linspace(scale.low, scale.high, _N_POINTS), around.ravel()])
        return np.concatenate([scale.values_of(np.clip(z, scale.low, scale.high)), scale.bends])


def symmetric(halves: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return symmetric matrices, float64 (..., n, n), given their upper halves (..., n * (n + 1) / 2)."""
    matrices = np.empty((*halves.shape[:-1], n, n))
    rows, columns = np.triu_indices(n)
    matrices[..., rows, columns] = halves
    matrices[..., columns, rows] = halves
    return matrices


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _read(name: str, value: Any) -> Any:
    if name in _NAMES:
        return tuple(value)
    if name in _FLAGS:
        return value
    if name in _NUMBERS:
        return float(value)
    return np.array(value, np.float64)


def _fixed(numbers: ArrayLike) -> NDArray[np.float64]:
    copied = np.array(numbers, np.float64)
    copied.flags.writeable = False
    return copied


def log_mixture(
    first: NDArray[np.float64], second: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return the log density of a mixture of two log densities, (n,); the second has a weight above 0 and below 1."""
    return np.asarray(np.logaddexp(first + np.log1p(-weight), second + np.log(weight)), np.float64)


@dataclass(frozen=True, eq=False)
class Stack:
    """What a column follows given its parents: the mean of some members, each of one kind, by their weights.

    Attributes
    ----------
    members : tuple of (float, Fitted)
        Weights above 0, whose sum is 1, and what they weigh.

    Raises
    ------
    GomeaBnError
        For other weights, and for a fixed value next to other members.
    """

    members: tuple[tuple[float, Fitted], ...]

    def __post_init__(self) -> None:
        for weight, fitted in self.members:
            if not isinstance(fitted, Fitted):
                raise GomeaBnError(
                    f"A member of a stack must be a kind of conditional, got {type(fitted).__name__}."
                )
            if not is_real(weight) or not 0 < weight <= 1:
                raise GomeaBnError(
                    f"The weight of {fitted.what} must be a number above 0, up to 1, got {weight!r}."
                )
        weights = [weight for weight, _ in self.members]
        if not isclose(sum(weights), 1.0, rel_tol=0.0, abs_tol=1e-9):
            raise GomeaBnError(f"The weights of a stack must sum to 1, got {weights}.")
        if len(weights) > 1 and any(fitted.fixed_value is not None for _, fitted in self.members):
            raise GomeaBnError("A fixed value must be the only member of its stack.")

    @classmethod
    def of(cls, tables: Fitted, further: Fitted | None = None, weight: float = 0.0) -> Stack:
        """Return the stack of one member, or of one and a further one with a weight."""
        if further is None or weight == 0:
            return cls(((1.0, tables),))
        return cls(((1.0 - weight, tables), (weight, further)))

    @property
    def smooth(self) -> tuple[tuple[float, Fitted], ...]:
        """Members that are functions of numbers, such as lines, and do not count cells."""
        return tuple(
            (weight, fitted)
            for weight, fitted in self.members
            if not fitted.counts_cells and fitted.fixed_value is None
        )

    @property
    def smooth_weight(self) -> float:
        """Weight of the smooth members together."""
        return float(sum(weight for weight, _ in self.smooth))

    def with_smooth_weight(self, total: float) -> Stack:
        """Return the stack with another weight of its smooth members together; the other ones share the rest."""
        before = self.smooth_weight
        scales = {True: total / before, False: (1 - total) / (1 - before)}
        smooth = {id(fitted) for _, fitted in self.smooth}
        members = [(weight * scales[id(fitted) in smooth], fitted) for weight, fitted in self.members]
        return Stack(tuple((weight, fitted) for weight, fitted in members if weight > 0))

    @property
    def words(self) -> str:
        """What the column follows, for a sentence: one member, or several with their weights, the last one first."""
        if len(self.members) == 1:
            return self.members[0][1].words
        return ", ".join(f"{percent(weight)} {fitted.words}" for weight, fitted in self.members[::-1])

    @property
    def smooth_words(self) -> str | None:
        """What the smooth members are, for a sentence; None if there are none."""
        return " and ".join(fitted.words for _, fitted in self.smooth) or None

    @property
    def n_parameters(self) -> float:
        """Number of parameters of the members, by their weights."""
        return float(sum(weight * fitted.n_parameters for weight, fitted in self.members))

    @property
    def n_sets(self) -> int:
        """Number of sets of cuts that tables average over; 0 without tables."""
        return max(fitted.n_sets for _, fitted in self.members)

    @property
    def fixed_value(self) -> float | None:
        """The number, or the code of the level, that the column has with certainty; None for a distribution."""
        return self.members[0][1].fixed_value

    @property
    def value_counts(self) -> NDArray[np.float64] | None:
        """Number of rows of every bin or level, of the first member that counts them; None if none does."""
        counts = (fitted.value_counts for _, fitted in self.members)
        return next((of_member for of_member in counts if of_member is not None), None)

    @property
    def takes_rows(self) -> bool:
        """Whether all members can take further rows."""
        return all(fitted.takes_rows for _, fitted in self.members)

    @property
    def can_leave_out(self) -> bool:
        """Whether `left_out` knows all members without some rows."""
        return all(fitted.can_leave_out for _, fitted in self.members)

    def with_rows(self, name: str, rows: FurtherRows) -> Stack:
        """Return what the column follows after further rows; weights stay."""
        return self._of_each(lambda fitted: fitted.with_rows(name, rows))

    def counted(self, name: str, rows: FurtherRows) -> Stack:
        """Return what the column follows with rows counted in place of those so far; weights stay."""
        return self._of_each(lambda fitted: fitted.counted(name, rows))

    def left_out(self, name: str, rows: FurtherRows) -> Stack:
        """Return what the column follows without some rows, which are among those that it was fitted to."""
        return self._of_each(lambda fitted: fitted.left_out(name, rows))

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that the members need a scale of, each with whether that is in own units."""
        return set().union(*(fitted.scaled(name) for _, fitted in self.members))

    def in_order(self, names: Sequence[str]) -> Stack:
        """Return the stack of a network with its columns in another order."""
        return self._of_each(lambda fitted: fitted.in_order(names))

    def checked(
        self,
        network: WithTables,
        name: str,
        scales: Mapping[bool, Mapping[str, Any]],
        shared: dict[bytes, NDArray[np.float64]],
    ) -> Stack:
        """Return the stack in its stored form, checked as `Fitted.checked` does."""
        is_discrete = name in network.levels
        for _, fitted in self.members:
            if fitted.of_levels is not None and fitted.of_levels != is_discrete:
                sort = "discrete" if is_discrete else "continuous"
                raise GomeaBnError(f"'{name}' is {sort} and cannot follow {fitted.what}.")
        return self._of_each(lambda fitted: fitted.checked(network, name, scales, shared))

    def _of_each(self, changed: Callable[[Fitted], Fitted]) -> Stack:
        return Stack(tuple((weight, changed(fitted)) for weight, fitted in self.members))

    def to_content(self) -> list[dict[str, Any]]:
        """Return the members as values that JSON can hold."""
        return [{"weight": weight, **fitted.to_content()} for weight, fitted in self.members]


class Family:
    """The density of a column given its parents.

    Parameters
    ----------
    name : str
        Name of the column.
    stack : Stack
        What the column follows.
    facts : ColumnFacts
        What is known of the columns of the network.

    Notes
    -----
    All methods take the values of the parents as arrays that broadcast, as those of `Fitted` do.
    """

    def __init__(self, name: str, stack: Stack, facts: ColumnFacts) -> None:
        self.name, self.stack, self.facts = name, stack, facts
        self._members = [(weight, fitted.given(name, facts)) for weight, fitted in stack.members]

    @property
    def n_parameters(self) -> float:
        """Number of free parameters that are kept, as of `Stack`."""
        return self.stack.n_parameters

    def log_density(
        self, values: Columns, along: Sequence[NDArray[np.float64] | None] | None = None
    ) -> NDArray[np.float64]:
        """Return ln p(name | parents), float64 of the broadcast shape, in nats and the units of the column.

        A point mass, and a level, have the logarithm of their probability. `along` is what `along` returned for the
        cells that the values lie in.
        """
        parts = [
            density.log_density(values, None if along is None else along[k])
            for k, (_, density) in enumerate(self._members)
        ]
        logs = [
            of_member if weight == 1 else of_member + np.log(weight)
            for (weight, _), (of_member, _) in zip(self._members, parts, strict=True)
        ]
        mixed = logs[0]
        for of_member in logs[1:]:
            mixed = np.logaddexp(mixed, of_member)
        for of_member, (_, error) in zip(logs, parts, strict=True):
            if error is not None:
                values.add_error(np.exp(of_member - np.where(mixed > -np.inf, mixed, 0.0)) * error)
        return np.asarray(mixed, np.float64)

    def along(
        self, known: Columns, name: str, numbers: NDArray[np.float64]
    ) -> list[NDArray[np.float64] | None]:
        """Return what is the same inside cells of a column by member, as `Fitted.along` does."""
        return [density.along(known, name, numbers) for _, density in self._members]

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of cells (a, b] of the column given its parents, float64 (..., n_cells).

        `cuts` (n_cells - 1,) are those between the cells; None for the levels of a discrete column.
        """
        parts = [
            of_member if weight == 1 else weight * of_member
            for weight, of_member in ((w, density.masses(cuts, values)) for w, density in self._members)
        ]
        return np.asarray(sum(parts[1:], parts[0]))

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, each of shape (n,), given the parents, also of shape (n,)."""
        drawn, total = self._members[0][1].draw(values, n, generator), self._members[0][0]
        for weight, density in self._members[1:]:
            total = min(total + weight, 1.0)
            rows = np.flatnonzero(generator.random(n) < weight / total)
            of_rows = values.some(rows, density.members)
            drawn[rows] = density.draw(of_rows, len(rows), generator)
        return drawn

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the density of the column bends, float64 (n,), increasing."""
        bends = [density.bends(parent) for _, density in self._members]
        return np.unique(np.concatenate([np.empty(0), *bends]))

    def jumps(self, name: str) -> NDArray[np.float64]:
        """Return the values of the column or of a parent at which its density jumps, float64 (n,), increasing."""
        jumps = [density.jumps(name) for _, density in self._members]
        return np.unique(np.concatenate([np.empty(0), *jumps]))

    def below(self, numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the probability up to increasing numbers by the first member that has it, or None.

        See `Fitted.below`.
        """
        parts = (density.below(numbers) for _, density in self._members)
        return next((of_member for of_member in parts if of_member is not None), None)

    def breaks(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers between which the density is drawn as lines, given rows of parents, float64 (n,)."""
        return np.unique(np.concatenate([density.breaks(values) for _, density in self._members]))

    def pieces(
        self, breaks: NDArray[np.float64], values: Columns
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean density over rows at the left and right ends of pieces between breaks, (n_pieces,) each."""
        parts = [(weight, density.pieces(breaks, values)) for weight, density in self._members]
        left, right = (np.sum([weight * ends[side] for weight, ends in parts], axis=0) for side in (0, 1))
        return left, right

    def of_points(self, points: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the mean probabilities of point masses over rows of the parents, float64 (n_points,)."""
        parts = [weight * density.of_points(points, values) for weight, density in self._members]
        return np.asarray(np.sum(parts, axis=0), np.float64)
