"""Smoothing of a table by the data: towards tables with fewer parents, by leave-one-out likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["AMOUNTS", "Leaning", "PseudoCount", "Smoothing", "fitted_smoothing", "leave_one_out", "smoothed"]

PseudoCount: TypeAlias = float | Literal["auto"]
"""Pseudo-counts of a table row, spread evenly over its cells; "auto": how many, and towards what, by the data."""

AMOUNTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Pseudo-counts of a table row over which the smoothing by the data averages."""

_POWER = 0.25  # of the likelihoods: below 1, since cuts and parents were often chosen with the same rows


@dataclass(frozen=True)
class Leaning:
    """A base towards which a table leans, and the weight of every one of `AMOUNTS`; no base: all cells equally."""

    base: Smoothing | None
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Smoothing:
    """How a table is smoothed: P = sum of weight * (n_cell + amount * base) / (n_row + amount).

    Attributes
    ----------
    parents : tuple of int
        The axes of the full array of counts that are this table's parents; a base has fewer of them.
    leanings : tuple of Leaning
        All their weights together sum to 1.
    """

    parents: tuple[int, ...]
    leanings: tuple[Leaning, ...]


@dataclass(frozen=True)
class _Seen:
    """The cells that have rows: flat index, count, count of their table row, each of shape (n_seen,)."""

    counts_shape: tuple[int, ...]
    cells: NDArray[np.int64]
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]

    @property
    def children(self) -> NDArray[np.int64]:
        """The child's code in every cell."""
        return self.cells % self.counts_shape[-1]

    @property
    def evenly(self) -> NDArray[np.float64]:
        """The uniform base."""
        return np.full(len(self.cells), 1 / self.counts_shape[-1])


def fitted_smoothing(counts: NDArray[np.float64]) -> Smoothing:
    """Return the smoothing of a table that is fitted to its rows, each row left out of its own table.

    Parameters
    ----------
    counts : ndarray of shape (card(parent_1), ..., card(child)), float64
        Rows per cell.

    Notes
    -----
    The table without parents leans to uniform; any other one to uniform, to the table without parents, and to the
    table without a single parent. That parent is the one without which the smaller table, leaning to the table without
    parents by the best amount, has the greatest leave-one-out likelihood. All bases are smoothed in the same way. Every
    pair of a base and one of `AMOUNTS` has a weight in proportion to the fourth root of its leave-one-out likelihood
    (pseudo-Bayes factors: Geisser & Eddy, "A predictive approach to model selection", 1979; the root is ours: graph and
    cuts that were chosen with the same rows make the likelihood too sure of small amounts).
    """
    marginal = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    seen = _seen(marginal)
    root, values = _averaged(seen, (), [(None, seen.evenly)])
    return _fitted(counts, tuple(range(counts.ndim - 1)), root, _spread(seen, values))[0]


def smoothed(counts: NDArray[np.float64], smoothing: Smoothing) -> NDArray[np.float64]:
    """Return P(child | parents), of the shape of `counts`, whose axes are the smoothing's parents and the child."""
    totals = counts.sum(axis=-1, keepdims=True)
    table = np.zeros_like(counts)
    for leaning in smoothing.leanings:
        base: NDArray[np.float64] | float = 1 / counts.shape[-1]
        if leaning.base is not None:
            fewer = leaning.base.parents
            base = smoothed(_summed(counts, smoothing.parents, fewer), leaning.base)
            kept = [card if one in fewer else 1 for card, one in zip(counts.shape, smoothing.parents)]
            base = base.reshape(*kept, counts.shape[-1])
        of_count, of_base = _factors(totals, leaning.weights)
        table += of_count * counts + of_base * base
    return table


def leave_one_out(counts: NDArray[np.float64], smoothing: Smoothing) -> float:
    """Return the sum over all rows of ln P(child | parents), each row's P from all other rows, in nats.

    All rows of a cell share their cells in the smaller tables too, so that leaving out any one of them lowers the same
    counts by one: one value per cell is exact.
    """
    seen = _seen(counts)
    return float((seen.counts * np.log(_left_out(counts, seen, smoothing))).sum())


def _left_out(counts: NDArray[np.float64], seen: _Seen, smoothing: Smoothing) -> NDArray[np.float64]:
    """Return P of every seen cell without one of its rows, (n_seen,)."""
    found = np.zeros(len(seen.cells))
    for leaning in smoothing.leanings:
        base = seen.evenly
        if leaning.base is not None:
            fewer = leaning.base.parents
            smaller = _summed(counts, smoothing.parents, fewer)
            below = _seen(smaller)
            values = _spread(below, _left_out(smaller, below, leaning.base))
            base = values[_cells_below(seen, smoothing.parents, fewer)]
        of_count, of_base = _factors(seen.totals - 1, leaning.weights)
        found += of_count * (seen.counts - 1) + of_base * base
    return found


def _fitted(
    counts: NDArray[np.float64], parents: tuple[int, ...], root: Smoothing, marginal: NDArray[np.float64]
) -> tuple[Smoothing, NDArray[np.float64]]:
    """Return the smoothing of a table, and P of every cell without one of its rows, flat; unseen cells have 0.

    `root` and `marginal` are these two of the table without parents.
    """
    if not parents:
        return root, marginal
    seen = _seen(counts)
    bases: list[tuple[Smoothing | None, NDArray[np.float64]]] = [
        (None, seen.evenly),
        (root, marginal[seen.children]),
    ]
    if len(parents) > 1:
        fewer = _best_without_one(counts, parents, marginal)
        base, values = _fitted(_summed(counts, parents, fewer), fewer, root, marginal)
        bases.append((base, values[_cells_below(seen, parents, fewer)]))
    found, own = _averaged(seen, parents, bases)
    return found, _spread(seen, own)


def _best_without_one(
    counts: NDArray[np.float64], parents: tuple[int, ...], marginal: NDArray[np.float64]
) -> tuple[int, ...]:
    """Return the parents but the one without which the likelihood, leaning to the marginal, is greatest."""
    best, kept = -np.inf, parents
    for place in range(len(parents)):
        fewer = (*parents[:place], *parents[place + 1 :])
        seen = _seen(_summed(counts, parents, fewer))
        value = _likelihoods(seen, marginal[seen.children]).max()
        if value > best:
            best, kept = value, fewer
    return kept


def _averaged(
    seen: _Seen,
    parents: tuple[int, ...],
    bases: Sequence[tuple[Smoothing | None, NDArray[np.float64]]],
) -> tuple[Smoothing, NDArray[np.float64]]:
    """Return the average over bases and amounts, and its P of every seen cell without one of its rows, (n_seen,)."""
    logs = np.array([_likelihoods(seen, values) for _, values in bases])
    weights = np.exp(_POWER * (logs - logs.max()))
    weights /= weights.sum()
    leanings = []
    found = np.zeros(len(seen.cells))
    for (base, values), row in zip(bases, weights.tolist()):
        leanings.append(Leaning(base, tuple(row)))
        of_count, of_base = _factors(seen.totals - 1, leanings[-1].weights)
        found += of_count * (seen.counts - 1) + of_base * values
    return Smoothing(parents, tuple(leanings)), found


def _likelihoods(seen: _Seen, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the leave-one-out log likelihood of every amount, (n_amounts,); `base` is without the row, too."""
    found = np.empty(len(AMOUNTS))
    for place, amount in enumerate(AMOUNTS):
        left = (seen.counts - 1 + amount * base) / (seen.totals - 1 + amount)
        found[place] = (seen.counts * np.log(left)).sum()
    return found


def _factors(
    totals: NDArray[np.float64], weights: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what multiplies the counts and the base where a row of the table has `totals` rows."""
    of_count, of_base = np.zeros_like(totals), np.zeros_like(totals)
    for amount, weight in zip(AMOUNTS, weights, strict=True):
        share = weight / (totals + amount)
        of_count += share
        of_base += share * amount
    return of_count, of_base


def _seen(counts: NDArray[np.float64]) -> _Seen:
    flat = counts.ravel()
    cells = np.flatnonzero(flat)
    totals = counts.reshape(-1, counts.shape[-1]).sum(axis=1)
    return _Seen(counts.shape, cells, flat[cells], totals[cells // counts.shape[-1]])


def _spread(seen: _Seen, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the seen cells' values in the flat table, 0 elsewhere."""
    flat = np.zeros(int(np.prod(seen.counts_shape)))
    flat[seen.cells] = values
    return flat


def _summed(
    counts: NDArray[np.float64], parents: tuple[int, ...], fewer: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the counts over fewer parents."""
    gone = tuple(place for place, parent in enumerate(parents) if parent not in fewer)
    summed: NDArray[np.float64] = counts.sum(axis=gone)
    return summed


def _cells_below(seen: _Seen, parents: tuple[int, ...], fewer: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the flat index of every seen cell in the table over fewer parents, (n_seen,)."""
    kept = [*(parent in fewer for parent in parents), True]
    found = np.zeros(len(seen.cells), np.int64)
    rest, factor = seen.cells, 1
    for card, keep in zip(seen.counts_shape[::-1], kept[::-1]):
        rest, code = np.divmod(rest, card)
        if keep:
            found += factor * code
            factor *= card
    return found
