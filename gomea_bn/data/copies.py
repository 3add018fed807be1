"""Copies: rows that are equal more often than the rounding of values explains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table

_SEED = 20240219
# share of equal pairs by chance above which all rows count: coarse values then make equal rows
_MOST_CHANCE = 0.5


def counted_rows(table: Table) -> NDArray[np.int64] | None:
    """Return the positions of the rows that count as evidence, ascending int64; None if all do.

    Of k equal rows count 1 + (k - 1) * c, rounded, where c is the share of equal pairs that chance explains
    (`chance_of_copies`). All rows count if that is more than a half, in tables of discrete columns alone, and where
    weights repeat rows.
    """
    if table.weighted or not any(column.is_continuous for column in table.columns):
        return None
    hashes, steps = _hashes(table)
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    if len(counts) == table.n_rows:
        return None
    chance = _chance(hashes, steps)
    if chance > _MOST_CHANCE:
        return None
    order = np.argsort(inverse, kind="stable")
    # number of equal rows before each
    before = np.empty(table.n_rows, np.int64)
    before[order] = np.arange(table.n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = np.flatnonzero(before <= np.round((counts[inverse] - 1) * chance))
    return kept if len(kept) < table.n_rows else None


def chance_of_copies(table: Table) -> float:
    """Return the share of the pairs of equal rows that chance explains, at most 1; 1 without such pairs.

    Where a density is smooth over one step between neighbouring values, two independent rows are as often equal as they
    differ by one step up in one continuous column alone. The number of such pairs is the largest one of all continuous
    columns; without any the share is 1.
    """
    return _chance(*_hashes(table))


def _chance(hashes: NDArray[np.uint64], steps: NDArray[np.uint64]) -> float:
    """Return `chance_of_copies` from what `_hashes` returns."""
    distinct, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    n_equal = int((counts * (counts - 1) // 2).sum())
    if not n_equal:
        return 1.0
    n_by_step = [0]
    for of_column in steps[:, first]:
        neighbours = distinct + of_column
        positions = np.minimum(np.searchsorted(distinct, neighbours), len(distinct) - 1)
        is_neighbour = (distinct[positions] == neighbours) & (of_column > 0)
        n_by_step.append(int((counts * counts[positions])[is_neighbour].sum()))
    # either row of a pair may be one step above the other
    return min(max(n_by_step) / (2 * n_equal), 1.0)


def _hashes(table: Table) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return a hash of every row, and by how much it changes with the next larger value of every continuous column.

    A hash is the sum of random words of the values, so that a change of one value changes it by a difference. NaN are
    equal, and neither they nor the largest value have a next one: the change is 0. The arrays are uint64 (n_rows,) and
    (n_continuous, n_rows).
    """
    generator = np.random.default_rng(_SEED)
    hashes = np.zeros(table.n_rows, np.uint64)
    steps = []
    for column in table.columns:
        distinct, codes = np.unique(column.values, return_inverse=True)
        words = generator.integers(0, 2**64, len(distinct), np.uint64)
        hashes += words[codes]
        if column.is_continuous:
            differences = np.append(words[1:] - words[:-1], np.uint64(0))
            if np.isnan(distinct[-1]):
                differences[-2:] = 0
            steps.append(differences[codes])
    return hashes, np.array(steps, np.uint64).reshape(len(steps), table.n_rows)
