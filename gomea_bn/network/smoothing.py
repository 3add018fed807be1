"""Smoothing of a probability table towards tables with fewer parents, weighted by leave-one-out likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

PseudoCount: TypeAlias = float | Literal["auto"]
"""Number of pseudo-counts per table row, spread evenly over its cells; "auto": smoothing chosen from the data."""

AMOUNTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Numbers of pseudo-counts per table row over which the smoothing "auto" averages."""

_AMOUNTS = np.array(AMOUNTS)
# numbers by amount and cell that are computed together
_CELLS_TOGETHER = 1 << 15
# exponent of the likelihoods; below 1 because cuts and parents were often chosen with the same rows
_POWER = 0.25


@dataclass(frozen=True)
class Leaning:
    """A base towards which a table is smoothed, with one weight per entry of `AMOUNTS`.

    The base None is the uniform distribution.
    """

    base: Smoothing | None
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Smoothing:
    """The smoothing of a table: P = sum of weight * (n_cell + amount * base) / (n_row + amount).

    `parents` are the axes of the full array of counts that are the parents of this table; a base has fewer. The weights
    of all leanings together sum to 1.
    """

    parents: tuple[int, ...]
    leanings: tuple[Leaning, ...]


@dataclass(frozen=True)
class _Seen:
    """The cells with rows: flat index, count, and count of their table row, each of shape (n_seen,)."""

    counts_shape: tuple[int, ...]
    cells: NDArray[np.int64]
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]

    @property
    def fewer(self) -> NDArray[np.float64]:
        """Counts with one row left out."""
        return np.maximum(self.counts - 1, 0.0)

    @property
    def fewer_of_totals(self) -> NDArray[np.float64]:
        """Counts of the table rows with one row left out."""
        return np.maximum(self.totals - 1, 0.0)

    @property
    def children(self) -> NDArray[np.int64]:
        """Code of the child in every cell."""
        return self.cells % self.counts_shape[-1]

    @property
    def evenly(self) -> NDArray[np.float64]:
        """Probability of every cell under the uniform base."""
        return np.full(len(self.cells), 1 / self.counts_shape[-1])


def fitted_smoothing(counts: NDArray[np.float64]) -> Smoothing:
    """Return the smoothing of a table that fits its rows best when each row is left out of the counts.

    The table without parents has one base, the uniform distribution. Any other table has three: uniform, the table
    without parents, and the table with one parent fewer. The parent to drop is chosen by the smaller table: smoothed
    towards the table without parents by the best amount, it has the greatest leave-one-out likelihood. Bases are
    smoothed in the same way.

    Every pair of a base and an amount has a weight in proportion to the fourth root of its leave-one-out likelihood
    (pseudo-Bayes factors: Geisser & Eddy, "A predictive approach to model selection", 1979). The root is an addition:
    where the same rows chose graph and cuts, the likelihood overrates small amounts.
    """
    return _fitted_from_root(counts)[0]


def smoothed_and_left_out(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(child | parents) under the fitted smoothing, and P of every cell with one of its rows left out.

    The smoothing is that of all rows; only the counts leave the row out. Both arrays have the shape of `counts`. Cells
    without rows have 0 in the second one.
    """
    smoothing, left_out = _fitted_from_root(counts)
    return smoothed(counts, smoothing), left_out.reshape(counts.shape)


def smoothed(counts: NDArray[np.float64], smoothing: Smoothing) -> NDArray[np.float64]:
    """Return P(child | parents), of the shape of `counts`, whose axes are the smoothing's parents and the child."""
    totals = counts.sum(axis=-1, keepdims=True)
    table = np.zeros_like(counts)
    for leaning in smoothing.leanings:
        base: NDArray[np.float64] | float = 1 / counts.shape[-1]
        if leaning.base is not None:
            fewer = leaning.base.parents
            base = smoothed(_summed(counts, smoothing.parents, fewer), leaning.base)
            shape = [card if parent in fewer else 1 for card, parent in zip(counts.shape, smoothing.parents)]
            base = base.reshape(*shape, counts.shape[-1])
        of_count, of_base = _factors(totals, leaning.weights)
        table += of_count * counts + of_base * base
    return table


def _fitted_from_root(counts: NDArray[np.float64]) -> tuple[Smoothing, NDArray[np.float64]]:
    """Return the smoothing of a table, and P of every cell with one of its rows left out, flat."""
    marginal = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    seen = _seen(marginal)
    root, values = _averaged(seen, (), [(None, seen.evenly)])
    return _fitted(counts, tuple(range(counts.ndim - 1)), root, _spread(seen, values))


def _fitted(
    counts: NDArray[np.float64], parents: tuple[int, ...], root: Smoothing, marginal: NDArray[np.float64]
) -> tuple[Smoothing, NDArray[np.float64]]:
    """Return the smoothing of a table, and P of every cell with one of its rows left out, flat.

    Cells without rows have 0. `root` and `marginal` are the same two values for the table without parents.
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
    smoothing, left_out = _averaged(seen, parents, bases)
    return smoothing, _spread(seen, left_out)


def _best_without_one(
    counts: NDArray[np.float64], parents: tuple[int, ...], marginal: NDArray[np.float64]
) -> tuple[int, ...]:
    """Return the parents without the one whose removal leaves the greatest likelihood, smoothed to the marginal."""
    best, best_parents = -np.inf, parents
    for position in range(len(parents)):
        fewer = (*parents[:position], *parents[position + 1 :])
        seen = _seen(_summed(counts, parents, fewer))
        likelihood = _likelihoods(seen, marginal[seen.children]).max()
        if likelihood > best:
            best, best_parents = likelihood, fewer
    return best_parents


def _averaged(
    seen: _Seen, parents: tuple[int, ...], bases: Sequence[tuple[Smoothing | None, NDArray[np.float64]]]
) -> tuple[Smoothing, NDArray[np.float64]]:
    """Return the average over bases and amounts, and P of every seen cell with one of its rows left out, (n_seen,)."""
    logs = np.array([_likelihoods(seen, values) for _, values in bases])
    weights = np.exp(_POWER * (logs - logs.max()))
    weights /= weights.sum()
    leanings = []
    left_out = np.zeros(len(seen.cells))
    for (base, values), row in zip(bases, weights.tolist()):
        leanings.append(Leaning(base, tuple(row)))
        of_count, of_base = _factors(seen.fewer_of_totals, leanings[-1].weights)
        left_out += of_count * seen.fewer + of_base * values
    return Smoothing(parents, tuple(leanings)), left_out


def _likelihoods(seen: _Seen, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the leave-one-out log likelihood of every amount, (n_amounts,); `base` also leaves the row out.

    All rows of a cell have the same probability when one of them is left out, so one value per cell is exact. A cell of
    less than one row, as weights make it, is left out as a whole.
    """
    fewer, fewer_of_totals = seen.fewer, seen.fewer_of_totals
    likelihoods = np.empty(len(AMOUNTS))
    # all amounts at once, unless their cells would not stay in the cache
    for part in _parts(len(base)):
        amounts = _AMOUNTS[part, None]
        left_out = (fewer + amounts * base) / (fewer_of_totals + amounts)
        likelihoods[part] = (seen.counts * np.log(left_out)).sum(axis=-1)
    return likelihoods


def _parts(n_cells: int) -> list[slice]:
    """Return the amounts whose numbers for some cells are computed together."""
    n_together = max(_CELLS_TOGETHER // max(n_cells, 1), 1)
    return [slice(first, first + n_together) for first in range(0, len(AMOUNTS), n_together)]


def _factors(
    totals: NDArray[np.float64], weights: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors of the counts and of the base in table rows with `totals` rows of data."""
    of_count, of_base = np.zeros((1, *totals.shape)), np.zeros((1, *totals.shape))
    for part in _parts(totals.size):
        amounts, of_part = (
            np.reshape(numbers[part], (-1, *(1,) * totals.ndim)) for numbers in (_AMOUNTS, np.array(weights))
        )
        shares = of_part / (totals + amounts)
        # sums in the order of the amounts, whatever the number of cells
        of_count = np.add.accumulate(np.concatenate((of_count, shares)))[-1:]
        of_base = np.add.accumulate(np.concatenate((of_base, shares * amounts)))[-1:]
    return of_count[0], of_base[0]


def _seen(counts: NDArray[np.float64]) -> _Seen:
    flat = counts.ravel()
    cells = np.flatnonzero(flat)
    totals = counts.reshape(-1, counts.shape[-1]).sum(axis=1)
    return _Seen(counts.shape, cells, flat[cells], totals[cells // counts.shape[-1]])


def _spread(seen: _Seen, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of the seen cells in the flat table, 0 elsewhere."""
    flat = np.zeros(int(np.prod(seen.counts_shape)))
    flat[seen.cells] = values
    return flat


def _summed(
    counts: NDArray[np.float64], parents: tuple[int, ...], fewer: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the counts summed over the parents that are not in `fewer`."""
    axes = tuple(axis for axis, parent in enumerate(parents) if parent not in fewer)
    return np.asarray(counts.sum(axis=axes), dtype=np.float64)


def _cells_below(seen: _Seen, parents: tuple[int, ...], fewer: tuple[int, ...]) -> NDArray[np.int64]:
    """Return for every seen cell its flat index in the table over fewer parents, (n_seen,)."""
    is_kept = [*(parent in fewer for parent in parents), True]
    index = np.zeros(len(seen.cells), np.int64)
    rest, factor = seen.cells, 1
    for card, keep in zip(seen.counts_shape[::-1], is_kept[::-1]):
        rest, code = np.divmod(rest, card)
        if keep:
            index += factor * code
            factor *= card
    return index
