"""What a column follows, with the probabilities of its cells multiplied by odds that depend on cells of its parents.

Sums of effects say how a column moves with its parents everywhere, and may be wrong about single cells of two columns.
Odds of cells make up for that: the exponential tilting of a density (Efron & Tibshirani, "Using specially designed
exponential families for density estimation", 1996), by a table of every parent that needs one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.family_effects import finite_numbers
from gomea_bn.network.conditionals.kind import LEAST_PROBABILITY, Family, Fitted, FurtherRows, Stack
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.parts import WithTables, check_cut_points
from gomea_bn.texts import listed, shown_name

MOST_LOG_ODDS = 10.0
"""Largest log odds of a cell, in either direction."""
# numbers per row and round that are proposed for a cell, and parts of it, in one of which a number is drawn then
_PROPOSALS = (1, 2, 4, 8, 16, 32)
_PARTS = 64


@dataclass(frozen=True, eq=False)
class CellOdds:
    """Log odds of the cells of a column by cells of one of its parents.

    Attributes
    ----------
    parent : str
        Name of the parent.
    cuts : ndarray of shape (n_parent_cells - 1,), float64, or None
        Cuts between the cells of the parent; None for the levels of a discrete one.
    logs : ndarray of shape (n_parent_cells, n_cells), float64
        By how much the log probability of a cell of the column rises, up to a constant of the row.
    """

    parent: str
    cuts: NDArray[np.float64] | None
    logs: NDArray[np.float64]

    def __post_init__(self) -> None:
        logs = finite_numbers(self.logs, f"log odds by '{self.parent}'", FamilyOdds.what)
        if logs.ndim != 2 or (np.abs(logs) > MOST_LOG_ODDS).any():
            raise GomeaBnError(
                f"The log odds by '{self.parent}' must be one list per cell of it, of numbers from {-MOST_LOG_ODDS:g} "
                f"to {MOST_LOG_ODDS:g}."
            )
        object.__setattr__(self, "logs", logs)
        if self.cuts is not None:
            cuts = finite_numbers(self.cuts, f"cuts of '{self.parent}'", FamilyOdds.what)
            object.__setattr__(self, "cuts", cuts)


@dataclass(frozen=True, eq=False)
class FamilyOdds(Fitted):
    """A stack whose probabilities of cells are multiplied by odds, which depend on cells of parents.

    Given the parents, the density of a value in cell k is in proportion to that under the stack, times the exponential
    of the sum of the log odds of k over the parents that have some.

    Attributes
    ----------
    stack : Stack
        What the column follows without odds.
    cuts : ndarray of shape (n_cells - 1,), float64, or None
        Cuts between the cells of the column; None for the levels of a discrete one.
    odds : tuple of CellOdds
        Log odds by parent, each of another one.

    Raises
    ------
    GomeaBnError
        For parts of other shapes or outside their ranges.
    """

    of_levels = None
    what = "a stack with odds of cells"
    kind = "odds"
    required = ("stack", "odds")

    stack: Stack
    cuts: NDArray[np.float64] | None
    odds: tuple[CellOdds, ...]
    parents: tuple[str, ...] = field(init=False)
    groups: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        by_parent = [one.parent for one in self.odds]
        if not by_parent or len(set(by_parent)) < len(by_parent) or self.stack.fixed_value is not None:
            raise GomeaBnError(
                "A stack with odds of cells must have odds by one or several parents, each named once, and no fixed "
                "value."
            )
        members = [fitted for _, fitted in self.stack.members]
        continuous = [one.parent for one in self.odds if one.cuts is not None]
        discrete = [one.parent for one in self.odds if one.cuts is None]
        parents = dict.fromkeys([*(p for fitted in members for p in fitted.parents), *continuous])
        groups = dict.fromkeys([*(p for fitted in members for p in fitted.groups), *discrete])
        object.__setattr__(self, "parents", tuple(parents))
        object.__setattr__(self, "groups", tuple(groups))
        if self.cuts is not None:
            object.__setattr__(self, "cuts", finite_numbers(self.cuts, "cuts", self.what))

    @property
    def counts_cells(self) -> bool:
        """Whether no member of the stack is a function of numbers."""
        return not self.stack.smooth

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        names = listed([shown_name(one.parent) for one in self.odds])
        return f"{self.stack.words} with odds of cells of {names}"

    @property
    def n_parameters(self) -> float:
        """Number of parameters of the stack and of free odds."""
        n_free = sum(len(one.logs) * (one.logs.shape[1] - 1) for one in self.odds)
        return self.stack.n_parameters + float(n_free)

    @property
    def n_sets(self) -> int:
        """Number of sets of cuts that tables average over; 0 without tables."""
        return self.stack.n_sets

    @property
    def value_counts(self) -> NDArray[np.float64] | None:
        """Number of rows of every bin or level; None if it does not count them."""
        return self.stack.value_counts

    @property
    def takes_rows(self) -> bool:
        """Whether the stack can take further rows."""
        return self.stack.takes_rows

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that the stack needs a scale of, each with whether that is in own units."""
        return self.stack.scaled(name)

    def in_order(self, names: Any) -> FamilyOdds:
        """Return it for a network with its columns in another order."""
        return replace(self, stack=self.stack.in_order(names))

    def checked(
        self,
        network: WithTables,
        name: str,
        scales: Mapping[bool, Mapping[str, Any]],
        shared: dict[bytes, NDArray[np.float64]],
    ) -> FamilyOdds:
        """Return it in its stored form; raises `GomeaBnError` if it does not fit the family of a column."""

        def of_network(member: str, cuts: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
            if (cuts is None) != (member in network.levels):
                wanted = "no cuts, for it is discrete" if member in network.levels else "cuts"
                raise GomeaBnError(f"The cells of '{member}' in the odds of '{name}' must have {wanted}.")
            if cuts is None:
                return None
            # positions of one array are computed once
            checked = check_cut_points(cuts, member, network.support[member])
            checked.flags.writeable = False
            return shared.setdefault(checked.tobytes(), checked)

        def n_cells(member: str, cuts: NDArray[np.float64] | None) -> int:
            return len(network.levels[member]) if cuts is None else len(cuts) + 1

        own = of_network(name, self.cuts)
        odds = []
        for one in self.odds:
            if one.parent not in network.parents(name):
                raise GomeaBnError(
                    f"The odds of '{name}' depend on '{one.parent}', which is no parent of it."
                )
            cuts = of_network(one.parent, one.cuts)
            wanted = n_cells(one.parent, cuts), n_cells(name, own)
            if one.logs.shape != wanted:
                raise GomeaBnError(
                    f"The log odds of '{name}' by '{one.parent}' must have the shape {wanted}, got {one.logs.shape}."
                )
            odds.append(replace(one, cuts=cuts))
        return FamilyOdds(self.stack.checked(network, name, scales, shared), own, tuple(odds))

    def with_rows(self, name: str, rows: FurtherRows) -> FamilyOdds:
        """Return the stack with further rows; odds stay."""
        return replace(self, stack=self.stack.with_rows(name, rows))

    def counted(self, name: str, rows: FurtherRows) -> FamilyOdds:
        """Return the stack with rows counted in place of those so far; odds stay."""
        return replace(self, stack=self.stack.counted(name, rows))

    def to_content(self) -> dict[str, Any]:
        """Return the stack and the odds as values that JSON can hold."""
        odds = [
            {
                "parent": one.parent,
                **({} if one.cuts is None else {"cut_points": one.cuts.tolist()}),
                "logs": one.logs.tolist(),
            }
            for one in self.odds
        ]
        cuts = {} if self.cuts is None else {"cut_points": self.cuts.tolist()}
        return {"kind": self.kind, "stack": self.stack.to_content(), **cuts, "odds": odds}

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe, the stack as one; raises `GomeaBnError` for other values."""
        is_known = isinstance(content, Mapping) and {"stack", "odds"} <= set(content)
        odds = content["odds"] if is_known else None
        if not isinstance(odds, list) or not all(
            isinstance(one, Mapping) and isinstance(one.get("parent"), str) and "logs" in one for one in odds
        ):
            raise GomeaBnError(
                "A stack with odds of cells must be an object with the fields stack, odds, a list of objects with the "
                "fields parent, logs."
            )
        return {
            "stack": content["stack"],
            "cuts": content.get("cut_points"),
            "odds": tuple(CellOdds(one["parent"], one.get("cut_points"), one["logs"]) for one in odds),
        }

    @cached_property
    def _family(self) -> Family:
        """Density without odds."""
        return Family(self.name, self.stack, self.facts)

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density, and its relative error where values are the middles of cells, or None."""
        log_odds, norms = values.made_of(self.members, (self, "odds"), self._odds_and_norms)
        codes = np.asarray(values.codes(self.name, self.cuts)).astype(np.int64)
        shape = np.broadcast_shapes(codes.shape, log_odds.shape[:-1])
        of_cells = np.broadcast_to(log_odds, (*shape, log_odds.shape[-1]))
        of_own = np.take_along_axis(of_cells, np.broadcast_to(codes, shape)[..., None], axis=-1)[..., 0]
        return self._family.log_density(values) + of_own - norms, None

    def _odds_and_norms(self, values: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log odds of all cells, float64 (..., n_cells), and the log of what they add up to, (...)."""
        log_odds = self._log_odds(values)
        masses = self._family.masses(self.cuts, values)
        norms = np.einsum("...k,...k->...", np.maximum(masses, LEAST_PROBABILITY), np.exp(log_odds))
        return log_odds, np.log(norms)

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, or of all levels, float64 (..., n_cells)."""
        own, odds = self.cuts, self._odds(values)
        if cuts is None or own is None:
            return _shares(self._family.masses(None, values) * odds)
        both = np.union1d(own, cuts)
        # a cell between both kinds of cuts lies in the one that its upper end lies in
        ends = np.append(both, np.inf)
        masses = _shares(self._family.masses(both, values) * odds[..., np.searchsorted(own, ends)])
        first = np.concatenate([[0], np.searchsorted(both, cuts) + 1])
        return np.asarray(np.add.reduceat(masses, first, axis=-1), np.float64)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, (n,)."""
        shape = n, self._n_cells
        before = self._family.masses(self.cuts, values)
        before, after = (np.broadcast_to(of, shape) for of in (before, _shares(before * self._odds(values))))
        if self.cuts is None:
            return _drawn_cells(after, generator).astype(np.int32)
        drawn = self._family.draw(values, n, generator)
        # a number stays as often as its cell allows, and others move to cells that lack some (maximal coupling)
        rows, codes = np.arange(n), np.searchsorted(self.cuts, drawn)
        moves = generator.random(n) * before[rows, codes] >= after[rows, codes]
        left = np.flatnonzero(moves)
        lacking = np.maximum(after[left] - before[left], LEAST_PROBABILITY)
        codes = _drawn_cells(lacking / lacking.sum(axis=1, keepdims=True), generator)
        members = self.members
        for n_proposals in _PROPOSALS:
            if not len(left):
                break
            repeated = np.repeat(left, n_proposals)
            proposed = self._family.draw(values.some(repeated, members), len(repeated), generator)
            is_inside = np.searchsorted(self.cuts, proposed) == np.repeat(codes, n_proposals)
            is_inside, proposed = (part.reshape(-1, n_proposals) for part in (is_inside, proposed))
            found, first = is_inside.any(axis=1), is_inside.argmax(axis=1)
            drawn[left[found]] = proposed[found, first[found]]
            left, codes = left[~found], codes[~found]
        for cell in np.unique(codes):
            of_cell = left[codes == cell]
            drawn[of_cell] = self._drawn_in_cell(values.some(of_cell, members), len(of_cell), cell, generator)
        return drawn

    def _drawn_in_cell(
        self, values: Columns, n: int, cell: int, generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return numbers of a cell that proposals hardly reach, evenly in narrow parts of it, float64 (n,)."""
        assert self.cuts is not None
        edges = np.concatenate(
            [self.facts.support[self.name][:1], self.cuts, self.facts.support[self.name][1:]]
        )
        parts = np.linspace(edges[cell], edges[cell + 1], _PARTS + 1)
        masses = (
            np.broadcast_to(self._family.masses(parts, values), (n, _PARTS + 2))[:, 1:-1] + LEAST_PROBABILITY
        )
        codes = _drawn_cells(masses / masses.sum(axis=1, keepdims=True), generator)
        return np.asarray(generator.uniform(parts[codes], parts[codes + 1]), np.float64)

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the density bends, float64 (n,)."""
        cuts = [one.cuts for one in self.odds if one.parent == parent and one.cuts is not None]
        return np.unique(np.concatenate([self._family.bends(parent), *cuts]))

    def jumps(self, name: str) -> NDArray[np.float64]:
        """Return the values of the column or of a parent at which the density jumps, float64 (n,)."""
        cuts = [one.cuts for one in self.odds if one.parent == name and one.cuts is not None]
        if name == self.name and self.cuts is not None:
            cuts.append(self.cuts)
        return np.unique(np.concatenate([self._family.jumps(name), *cuts]))

    def below(self, numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the probability up to increasing numbers, about as the mean over the parents, float64 (n,)."""
        return self._family.below(numbers)

    def breaks(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers between which the density is drawn as lines, float64 (n,)."""
        return np.union1d(self._family.breaks(values), self.jumps(self.name))

    @property
    def _n_cells(self) -> int:
        return int(self.odds[0].logs.shape[1])

    def _odds(self, values: Columns) -> NDArray[np.float64]:
        """Return the odds of all cells, at most 1, float64 (..., n_cells)."""
        log_odds = self._log_odds(values)
        return np.asarray(np.exp(log_odds - log_odds.max(axis=-1, keepdims=True)), np.float64)

    def _log_odds(self, values: Columns) -> NDArray[np.float64]:
        """Return the log odds of all cells, float64 (..., n_cells), of the shape that the parents broadcast to."""
        varied = [one for one in self.odds if values.vary((one.parent,))]
        total: NDArray[np.float64] | float = 0.0
        # those of parents that are known in a row are added up once
        for some in (varied, [one for one in self.odds if one not in varied]):
            if some:
                names, key = tuple(one.parent for one in some), (self, *some)
                total = total + values.made_of(names, key, partial(_sum_of_odds, some))
        return np.asarray(total, np.float64)


def _shares(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return masses (..., n_cells) as shares of what they add up to."""
    return np.asarray(masses / np.maximum(masses.sum(axis=-1, keepdims=True), LEAST_PROBABILITY), np.float64)


def _sum_of_odds(odds: Sequence[CellOdds], values: Columns) -> NDArray[np.float64]:
    """Return the sum of log odds of all cells, float64 (..., n_cells)."""
    parts = [one.logs[np.asarray(values.codes(one.parent, one.cuts)).astype(np.int64)] for one in odds]
    return np.asarray(sum(parts[1:], parts[0]), np.float64)


def tilted(logs: NDArray[np.float64], log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log probabilities (..., n_cells) after odds have multiplied them, float64 of the broadcast shape."""
    moved = logs + log_odds
    return np.asarray(moved - scipy.special.logsumexp(moved, axis=-1, keepdims=True))


def _drawn_cells(masses: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a cell of every row by its probabilities (n, n_cells), int64 (n,)."""
    below = masses.cumsum(axis=1)[:, :-1]
    return np.asarray((generator.random(len(masses))[:, None] >= below).sum(axis=1), np.int64)
