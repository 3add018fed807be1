"""What one column follows given its parents, a weighted stack of kinds, and its density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.network.conditionals.kind import ColumnFacts, Fitted, FurtherRows
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.parts import WithTables
from gomea_bn.texts import percent


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
