"""Orders and copies of rows and columns, as their values alone decide, so that the order of a table does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.data.table import Table

FIXED_SEED = 20240219
"""Seed of draws that only the rows decide: the same rows give the same result in every call and in every process."""

# shifts and factors of Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014
_SHIFTS = (30, 27)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)

# a table keeps its ordered rows and columns, since cuts and shapes are kept with these
_ordered: WeakKeyDictionary[Table, Table] = WeakKeyDictionary()
_with_ordered_columns: WeakKeyDictionary[Table, Table | None] = WeakKeyDictionary()


def row_order(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the positions of rows in an order that does not depend on where the rows stand, int64 (n_rows,).

    Rows are ordered by a hash of the ranks of their values, so that units of columns do not matter. Only as many
    columns count as tell all rows apart, those of real numbers first. Equal rows stay in their order, since they are
    interchangeable. So do different rows of the same hash, of which n rows have a pair with probability n**2 / 2**65.
    The columns, (n_rows,), are float64 or integers; all NaN are equal.
    """
    n_rows = len(columns[0])
    hashes = np.zeros(n_rows, np.uint64)
    n_possible = 1
    for values in sorted(columns, key=lambda column: column.dtype.kind != "f"):
        ranks, n_distinct = _ranks(values)
        hashes *= _STEP
        hashes += ranks
        _mix(hashes)
        n_possible *= n_distinct
        if n_possible >= n_rows:
            order = np.argsort(hashes, kind="stable")
            ascending = hashes[order]
            if bool((ascending[1:] != ascending[:-1]).all()):
                return order
    return np.argsort(hashes, kind="stable")


def in_row_order(table: Table) -> Table:
    """Return the rows of a table in their `row_order`; the table itself if they stand in it."""
    if table not in _ordered:
        order = row_order([column.values for column in table.columns])
        if (np.diff(order) > 0).all():
            return table
        _ordered[table] = replace(table.take(order), dropped_rows=table.dropped_rows)
    return _ordered[table]


def column_order(columns: Sequence[NDArray[Any]]) -> list[int]:
    """Return the positions of columns in an order that depends neither on their places nor on the order of the rows.

    A column is described by its type, by how often it has each of its values in increasing order, and by a sum over the
    rows of a hash of its rank there and of a sum over the ranks of all columns. So units do not matter, and columns
    without ties, which have the same ranks, are told apart by the other columns. Equal columns stay in their order.
    Constant columns are the last ones, and change nothing for the others. The columns, (n_rows,), are float64 or
    integers; all NaN are equal.
    """
    ranks, marks, are_constant, rows = _marked(columns)
    described = []
    for v, (values, of_column, mark) in enumerate(zip(columns, ranks, marks, strict=True)):
        kind = values.dtype.kind != "f"
        described.append((are_constant[v], kind, int(mark), int(_mark_by_rows(of_column, mark, rows))))
    return sorted(range(len(columns)), key=described.__getitem__)


def row_marks(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return a random number for the content of every row, uint64 (n_rows,).

    Neither the order of the rows and columns nor units change it. Columns are as of `column_order`.
    """
    ranks, marks, _, rows = _marked(columns)
    numbers = _mix(rows.copy())
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    is_shared = counts[inverse] > 1
    if is_shared.any():
        # two rows may have each other's ranks in two columns without ties, which only the other rows tell apart
        for of_column, mark in zip(ranks, marks, strict=True):
            numbers[is_shared] += _mix(of_column[is_shared] * _STEP + _mark_by_rows(of_column, mark, rows))
        numbers[is_shared] = _mix(numbers[is_shared])
    return numbers


def _mark_by_rows(ranks: NDArray[np.uint64], mark: Any, rows: NDArray[np.uint64]) -> Any:
    """Return a hash of a column that tells it apart from others of the same ranks by the rows."""
    return _mix((ranks + mark) * _STEP + rows).sum()


def _marked(
    columns: Sequence[NDArray[Any]],
) -> tuple[list[NDArray[np.uint64]], list[Any], list[bool], NDArray[np.uint64]]:
    """Return the ranks of the values of columns, a hash of each column, whether it is constant, and one of each row."""
    ranks, marks, are_constant = [], [], []
    for values in columns:
        of_column, _ = _ranks(values)
        # the code of a missing value is the largest number, and becomes 0
        counts = np.bincount((of_column + np.uint64(1)).view(np.int64))
        of_counts = np.arange(len(counts), dtype=np.uint64) * _STEP + counts.astype(np.uint64)
        mark = np.array([_mix(of_counts).sum() + np.uint64(values.dtype.kind == "f")])
        ranks.append(of_column)
        are_constant.append(bool(np.count_nonzero(counts) <= 1))
        marks.append(_mix(mark)[0])
    rows = np.zeros(len(columns[0]), np.uint64)
    for of_column, mark, is_constant in zip(ranks, marks, are_constant, strict=True):
        if not is_constant:
            rows += _mix(of_column * _STEP + mark)
    return ranks, marks, are_constant, rows


def in_column_order(table: Table) -> Table:
    """Return a table with its columns in their `column_order`; the table itself if they stand in it.

    Of more than 50,000 rows, rows at equal distances decide.
    """
    if table not in _with_ordered_columns:
        step = -(-table.n_rows // MANY_ROWS)
        order = column_order([column.values[::step] for column in table.columns])
        ordered = table if order == sorted(order) else table.in_order([table.names[v] for v in order])
        # a value that is its own key would never be forgotten
        _with_ordered_columns[ordered] = None
        if ordered is not table:
            _with_ordered_columns[table] = ordered
    return _with_ordered_columns[table] or table


def turned_marks(columns: Sequence[NDArray[Any]], n_first: int = 1) -> NDArray[np.uint64]:
    """Return a random number for the content of every row, which no turn of a column around changes, uint64 (n_rows,).

    Nor do the order of the rows and that of the columns after the first `n_first` ones change it. Real numbers count by
    the distance of their rank from the nearer end, and integers by their value. The columns, (n_rows,), are float64
    without NaN or integers.
    """
    marks = np.zeros(len(columns[0]), np.uint64)
    for position, values in enumerate(columns):
        ranks, n_distinct = _ranks(values)
        if values.dtype.kind == "f":
            ranks = np.minimum(ranks, np.uint64(n_distinct - 1) - ranks)
        mark = _mix(np.array([min(position, n_first)], np.uint64))
        marks += _mix(ranks * _STEP + mark)
    return _mix(marks)


def _mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of every hash in its place, and return the array."""
    hashes += _STEP
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=True):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= factor
    hashes ^= hashes >> np.uint64(31)
    return hashes


def _ranks(values: NDArray[Any]) -> tuple[NDArray[np.uint64], int]:
    """Return the position of every value among the distinct ones, uint64 (n_rows,), and their number.

    Codes of levels stand for themselves, and their largest number is the number that is possible.
    """
    if values.dtype.kind != "f":
        return values.astype(np.int64).view(np.uint64), int(values.max(initial=-1)) + 2
    distinct, ranks = np.unique(values, return_inverse=True)
    return ranks.astype(np.uint64), len(distinct)


# share of equal pairs by chance above which all rows count: coarse values then make equal rows
MOST_CHANCE = 0.5


def counted_rows(table: Table) -> NDArray[np.int64] | None:
    """Return the positions of the rows that count as evidence, ascending int64; None if all do.

    Of k equal rows count 1 + (k - 1) * c, rounded, where c is the share of equal pairs that chance explains
    (`chance_of_copies`). All rows count if that is more than a half, in tables of discrete columns alone, and where
    weights repeat rows. Equal rows whose numbers are all missing or dominant, such as zeros, are no sign of copies: of
    these count as many in proportion as of the other rows.
    """
    if table.weighted or not any(column.is_continuous for column in table.columns):
        return None
    hashes, steps, tell = _row_hashes(table)
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    if len(counts) == table.n_rows:
        return None
    chance = _chance(hashes, steps, tell)
    if chance > MOST_CHANCE:
        return None
    order = np.argsort(inverse, kind="stable")
    # number of equal rows before each
    before = np.empty(table.n_rows, np.int64)
    before[order] = np.arange(table.n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
    n_equal = counts[inverse]
    is_kept = before <= np.round((n_equal - 1) * chance)
    share = is_kept[tell].mean()
    is_kept = np.where(tell, is_kept, before < np.maximum(np.round(n_equal * share), 1))
    kept = np.flatnonzero(is_kept)
    return kept if len(kept) < table.n_rows else None


def chance_of_copies(table: Table, weights: NDArray[np.float64] | None = None) -> float:
    """Return the share of the pairs of equal rows that chance explains, at most 1; 1 without such pairs.

    Weights, whole float64 (n_rows,), say how often every row stands in the table.

    Where a density is smooth over one step between neighbouring values, two independent rows are as often equal as they
    differ by one step up in one continuous column alone. The number of such pairs is the largest one of all continuous
    columns; without any the share is 1. Rows whose numbers are all missing or dominant do not take part. A value is
    dominant if it has at least five times as many rows as every value that is not, and stands in different rows or in a
    tenth of them.
    """
    return _chance(*_row_hashes(table, weights), weights)


def _chance(
    hashes: NDArray[np.uint64],
    steps: NDArray[np.uint64],
    tell: NDArray[np.bool_],
    weights: NDArray[np.float64] | None = None,
) -> float:
    """Return `chance_of_copies` of rows with their hashes, see `_row_hashes`."""
    hashes, steps = hashes[tell], steps[:, tell]
    distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    counts = np.bincount(inverse, None if weights is None else weights[tell])
    n_equal = float((counts * (counts - 1)).sum()) / 2
    if not n_equal:
        return 1.0
    n_by_step = [0.0]
    for of_column in steps[:, first]:
        neighbours = distinct + of_column
        positions = np.minimum(np.searchsorted(distinct, neighbours), len(distinct) - 1)
        is_neighbour = (distinct[positions] == neighbours) & (of_column > 0)
        n_by_step.append(float((counts * counts[positions])[is_neighbour].sum()))
    # either row of a pair may be one step above the other
    return min(max(n_by_step) / (2 * n_equal), 1.0)


def _row_hashes(
    table: Table, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.bool_]]:
    """Return hashes of the rows of a table, what values change in them, and whether equal rows tell of copies.

    A hash, uint64 (n_rows,), is the sum of random words of the values, so that a change of one value changes it by a
    difference: uint64 (n_continuous, n_rows) for the next larger value of every continuous column. NaN are equal, and
    neither they nor the largest value have a next one: the change is 0. A row tells of copies, bool (n_rows,), if
    one of its numbers is neither missing nor dominant. Rows stand in the table as often as their weights say.
    """
    generator = np.random.default_rng(FIXED_SEED)
    hashes = np.zeros(table.n_rows, np.uint64)
    continuous, steps = [], []
    for column in table.columns:
        distinct, codes = np.unique(column.values, return_inverse=True)
        words = generator.integers(0, 2**64, len(distinct), np.uint64)
        hashes += words[codes]
        if column.is_continuous:
            differences = np.append(words[1:] - words[:-1], np.uint64(0))
            if np.isnan(distinct[-1]):
                differences[-2:] = 0
            steps.append(differences[codes])
            continuous.append((distinct, codes))
    _, first = np.unique(hashes, return_index=True)
    tell = np.zeros(table.n_rows, np.bool_)
    for distinct, codes in continuous:
        n_values = np.count_nonzero(~np.isnan(distinct))
        counts = np.bincount(codes, weights)[:n_values]
        is_wide = np.bincount(codes[first], minlength=len(distinct))[:n_values] > 1
        # share of the rows from which on a value may be dominant though its rows are all equal
        is_dominant = _are_most(counts) & (is_wide | (counts >= 0.1 * counts.sum()))
        tell |= np.append(~is_dominant, np.False_)[np.minimum(codes, n_values)]
    return hashes, np.array(steps, np.uint64).reshape(len(steps), table.n_rows), tell


def _are_most(counts: NDArray[np.int64 | np.float64]) -> NDArray[np.bool_]:
    """Return which values have several times as many rows as every other value, bool (n_values,).

    At least two values are not among them.
    """
    order = np.argsort(-counts, kind="stable")
    ordered = counts[order]
    # how many times as many rows a dominant value has as every value that is not dominant
    ends = np.flatnonzero(ordered[:-2] >= 5 * ordered[1:-1])
    are_most = np.zeros(len(counts), np.bool_)
    are_most[order[: ends[-1] + 1 if len(ends) else 0]] = True
    return are_most
