"""Odds of cells of pairs of columns, where a network's probabilities are not those of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.learning.averaging.stacks import LEAST_GAIN
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.family_odds import MOST_LOG_ODDS, CellOdds, FamilyOdds, tilted
from gomea_bn.network.conditionals.kind import LEAST_PROBABILITY, Family, Stack
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.problems.cuts.policies import bin_codes, equal_frequency_cuts

# cells of a column, fewer of a table with few rows, and of a parent: about equally many rows
_OWN_CELLS, _FEW_OWN_CELLS, _MANY_ROWS = 8, 4, 2_000
_CELLS_OF_PARENTS = (4, 8, 16)
_MOST_NUMBERS = 200
# cells of a parent with fewer rows say nothing about draws
_LEAST_ROWS = 20
_MOST_DRAWS = 20_000
_SALT = 52_363
# prior precision of log odds, in nats
_PRECISION = 1.0
_STEPS, _HALVINGS, _LEAST_STEP, _LONGEST_STEP = 10, 10, 1e-3, 3.0
# passes over the odds of all parents after those of a further one
_PASSES = 2


def odds_of_families(
    network: DiscretizedBayesNet, table: Table, price: float, is_late: Callable[[], bool] = lambda: False
) -> dict[str, tuple[Stack, NDArray[np.float64]]]:
    """Return stacks with odds of cells, and what they add to the log density of every left-out row, (n_rows,).

    Columns that need no odds are left out, and those for which it is late. The rows of the table are complete. Every
    cell of a column and of a parent is compared with the rows twice: given the parents that the rows have, and those
    that the network draws, for answers come from these. Odds stay if left-out rows and draws, which count as often as
    the rows, gain more than a price in nats for every free number, and if left-out rows alone gain 2 nats. The rows
    that odds were fitted to gain a nat more for every free number than left-out ones (Stone, "An asymptotic
    equivalence of choice of model by cross-validation and Akaike's criterion", 1977).
    """
    conditionals = network.conditionals
    assert conditionals is not None
    facts, values = conditionals.facts(network), {column.name: column.values for column in table.columns}
    generator = np.random.default_rng(_SALT)
    n_draws = min(table.n_rows, _MOST_DRAWS)
    drawn: dict[str, NDArray[Any]] = {}
    found: dict[str, tuple[Stack, NDArray[np.float64]]] = {}
    for name in network.order:
        family = network.families[name]
        if network.parents(name):
            if is_late():
                break
            pairs = _Pairs(network, family, values, drawn)
            if (of_column := pairs.fitted(price)) is not None:
                found[name] = of_column
                family = Family(name, of_column[0], facts)
        drawn[name] = family.draw(Columns(drawn), n_draws, generator)
    return found


@dataclass(frozen=True)
class _Parent:
    """Cells of a parent: of all rows, (n,), those of the data before those that were drawn."""

    name: str
    cuts: NDArray[np.float64] | None
    codes: NDArray[np.int64]
    n_cells: int


_Wanted = tuple[NDArray[np.float64], NDArray[np.float64]]
"""How often cells of a column are wanted, float64 (n_parent_cells, n_cells), and how often rows count, (n,)."""


class _Pairs:
    """The cells of a column and of its parents, in rows of data and in drawn ones."""

    def __init__(
        self,
        network: DiscretizedBayesNet,
        family: Family,
        values: Mapping[str, NDArray[Any]],
        drawn: Mapping[str, NDArray[Any]],
    ) -> None:
        name = family.name
        self._name, self._family, self._network = name, family, network
        own = values[name]
        self._values, self._drawn, self._n_rows = values, drawn, len(own)
        n_own = _OWN_CELLS if self._n_rows >= _MANY_ROWS else _FEW_OWN_CELLS
        self._cuts = equal_frequency_cuts(own, n_own) if name in network.cut_points else None
        self._codes = _codes(own, self._cuts)
        self._n_cells = network.cardinality(name) if self._cuts is None else len(self._cuts) + 1
        masses = [
            np.broadcast_to(family.masses(self._cuts, Columns(of)), (n, self._n_cells))
            for of, n in ((values, self._n_rows), (drawn, len(drawn[network.parents(name)[0]])))
        ]
        self._logs = np.log(np.maximum(np.concatenate(masses), LEAST_PROBABILITY))
        n_drawn = len(masses[1])
        self._weights = np.concatenate([np.ones(self._n_rows), np.full(n_drawn, self._n_rows / n_drawn)])
        self._all_wanted: dict[str, _Wanted] = {}

    def fitted(self, price: float) -> tuple[Stack, NDArray[np.float64]] | None:
        """Return the stack with odds of the parents that need some, and the gains of left-out rows; None without."""
        if self._n_cells < 2:
            return None
        waiting = [cells for parent in self._network.parents(self._name) for cells in self._cells(parent)]
        chosen: list[_Parent] = []
        odds: dict[str, NDArray[np.float64]] = {}
        logs = self._logs
        while waiting:
            # a test of scores, since odds of few parents are worth their fit
            masses = np.exp(logs)
            promised = [self._promise(masses, parent, price) for parent in waiting]
            if max(promised) <= LEAST_GAIN:
                break
            best = waiting[int(np.argmax(promised))]
            waiting = [parent for parent in waiting if parent.name != best.name]
            further = self._fit([*chosen, best], odds)
            moved = self._moved([*chosen, best], further)
            n_free = self._n_free(best)
            of_rows = float(self._gains(logs, moved).sum()) - n_free
            gain = of_rows + self._gain_of_draws(best, logs, moved) - price * n_free
            if min(of_rows, gain) > LEAST_GAIN:
                chosen, logs, odds = [*chosen, best], moved, further
        if not chosen:
            return None
        of_parents = tuple(CellOdds(parent.name, parent.cuts, odds[parent.name]) for parent in chosen)
        n_free = sum(map(self._n_free, chosen))
        gains = self._gains(self._logs, logs) - n_free / self._n_rows
        return Stack.of(FamilyOdds(self._family.stack, self._cuts, of_parents)), gains

    def _cells(self, parent: str) -> list[_Parent]:
        """Return the cells of a parent, of several sizes if it is continuous."""
        if parent in self._network.levels:
            kinds: list[NDArray[np.float64] | None] = [None]
        else:
            kinds = [equal_frequency_cuts(self._values[parent], n) for n in _CELLS_OF_PARENTS]
        cells, sizes = [], set()
        for cuts in kinds:
            n_cells = self._network.cardinality(parent) if cuts is None else len(cuts) + 1
            if n_cells in sizes or n_cells < 2 or n_cells * (self._n_cells - 1) > _MOST_NUMBERS:
                continue
            sizes.add(n_cells)
            codes = [_codes(of[parent], cuts) for of in (self._values, self._drawn)]
            cells.append(_Parent(parent, cuts, np.concatenate(codes), n_cells))
        return cells

    def _n_free(self, parent: _Parent) -> int:
        return parent.n_cells * (self._n_cells - 1)

    def _promise(self, masses: NDArray[np.float64], parent: _Parent, price: float) -> float:
        """Return about what odds of a parent gain beyond their price, in nats, by Pearson's statistic.

        `masses` are the probabilities of the cells of the column without these odds, (n, n_cells).
        """
        counts, weights = self._wanted(parent)
        expected = _sums(masses * weights[:, None], parent.codes, parent.n_cells)
        statistic = float(((counts - expected) ** 2 / np.maximum(expected, 1.0)).sum())
        return statistic / 2 - (price + 1) * self._n_free(parent)

    def _wanted(self, parent: _Parent) -> _Wanted:
        """Return what the rows say about the cells of a column and of a parent."""
        if parent.name not in self._all_wanted or len(self._all_wanted[parent.name][0]) != parent.n_cells:
            self._all_wanted[parent.name] = self._counted(parent)
        return self._all_wanted[parent.name]

    def _counted(self, parent: _Parent) -> _Wanted:
        counts = self._counts(parent)
        totals = counts.sum(axis=1, keepdims=True)
        shares = (counts + counts.sum(axis=0) / counts.sum()) / (totals + 1)
        weights = self._weights.copy()
        of_drawn = parent.codes[self._n_rows :]
        weights[self._n_rows :] *= (totals[:, 0] >= _LEAST_ROWS)[of_drawn]
        n_drawn = np.bincount(of_drawn, weights[self._n_rows :], minlength=parent.n_cells)
        return counts + n_drawn[:, None] * shares, weights

    def _counts(self, parent: _Parent) -> NDArray[np.float64]:
        """Return the number of rows of data in cells of a parent and of the column."""
        of_pairs = parent.codes[: self._n_rows] * self._n_cells + self._codes
        counts = np.bincount(of_pairs, minlength=parent.n_cells * self._n_cells)
        return counts.reshape(parent.n_cells, self._n_cells).astype(np.float64)

    def _fit(
        self, parents: Sequence[_Parent], start: Mapping[str, NDArray[np.float64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the log odds by parent under which the rows and the draws are likeliest."""
        odds = {
            parent.name: start.get(parent.name, np.zeros((parent.n_cells, self._n_cells)))
            for parent in parents
        }
        # the further one begins
        order = sorted(parents, key=lambda parent: parent.name in start)
        for _ in range(_PASSES if len(parents) > 1 else 1):
            for parent in order:
                others = [other for other in parents if other is not parent]
                logs = self._moved(others, odds)
                odds[parent.name] = _log_odds(logs, parent, self._wanted(parent), odds[parent.name])
        return odds

    def _moved(
        self, parents: Sequence[_Parent], odds: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the log probabilities of the cells with odds of some parents, float64 (n, n_cells)."""
        moved = self._logs
        for parent in parents:
            moved = moved + odds[parent.name][parent.codes]
        return tilted(moved, np.zeros(1))

    def _gains(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gains of the rows of data, float64 (n_rows,), nats."""
        rows = np.arange(self._n_rows)
        return np.asarray(after[rows, self._codes] - before[rows, self._codes])

    def _gain_of_draws(
        self, parent: _Parent, before: NDArray[np.float64], after: NDArray[np.float64]
    ) -> float:
        """Return the gain of the mean probabilities of draws in the cells of a parent, as of so many rows, nats."""
        n, n_cells = self._n_rows, parent.n_cells
        counts = self._counts(parent)
        means = [
            _sums(np.exp(logs[n:]) * self._weights[n:, None], parent.codes[n:], n_cells) + 0.5
            for logs in (before, after)
        ]
        first, second = (np.log(sums / sums.sum(axis=1, keepdims=True)) for sums in means)
        is_known = counts.sum(axis=1) >= _LEAST_ROWS
        return float((counts * (second - first))[is_known].sum())


def _sums(
    of_cells: NDArray[np.float64], codes: NDArray[np.int64], n_parent_cells: int
) -> NDArray[np.float64]:
    """Return sums of the columns of rows (n, n_cells) by cell of a parent, float64 (n_parent_cells, n_cells)."""
    return np.column_stack([np.bincount(codes, of_cell, minlength=n_parent_cells) for of_cell in of_cells.T])


def _codes(values: NDArray[Any], cuts: NDArray[np.float64] | None) -> NDArray[np.int64]:
    return np.asarray(values if cuts is None else bin_codes(values, cuts), np.int64)


def _log_odds(
    logs: NDArray[np.float64], parent: _Parent, wanted: _Wanted, start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log odds with which the expected counts of cells are those that are wanted, by Newton's method.

    Cells of the parent have no odds in common. A normal prior draws them towards 0.
    """
    odds = start.copy()
    counts, weights = wanted
    order = np.argsort(parent.codes, kind="stable")
    ends = np.searchsorted(parent.codes[order], np.arange(parent.n_cells + 1))
    for k in range(parent.n_cells):
        rows = order[ends[k] : ends[k + 1]]
        rows = rows[weights[rows] > 0]
        if not len(rows):
            continue
        odds[k] = _of_cell(logs[rows], weights[rows], counts[k], odds[k])
    return odds


def _of_cell(
    logs: NDArray[np.float64],
    weights: NDArray[np.float64],
    counts: NDArray[np.float64],
    odds: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the log odds of one cell of a parent, float64 (n_cells,), whose mean is 0."""

    def level(odds: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        moved = logs + odds
        most = moved.max(axis=1, keepdims=True)
        p = np.exp(moved - most)
        sums = p.sum(axis=1, keepdims=True)
        value = counts @ odds - weights @ (np.log(sums) + most)[:, 0] - _PRECISION / 2 * odds @ odds
        return float(value), p / sums

    value, p = level(odds)
    for _ in range(_STEPS):
        weighted = p * weights[:, None]
        expected = weighted.sum(axis=0)
        gradient = counts - expected - _PRECISION * odds
        information = np.diag(expected + _PRECISION) - weighted.T @ p
        step = scipy.linalg.solve(information, gradient, assume_a="pos", check_finite=False)
        if gradient @ step < _LEAST_STEP:
            break
        step *= min(1.0, _LONGEST_STEP / np.abs(step).max())
        for _ in range(_HALVINGS):
            changed, of_changed = level(odds + step)
            if changed >= value:
                break
            step /= 2
        else:
            break
        odds, value, p = odds + step, changed, of_changed
    return np.asarray(np.clip(odds - odds.mean(), -MOST_LOG_ODDS, MOST_LOG_ODDS), np.float64)
