"""Warnings about usable tables that may not be what their owner thinks: duplicate rows, names that are data."""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Column
from gomea_bn.data.files.numerals import is_number
from gomea_bn.data.files.reading import Note
from gomea_bn.data.kinds import FEW_VALUES
from gomea_bn.errors import Option, Setting
from gomea_bn.texts import counted, listed, percent

if TYPE_CHECKING:
    from gomea_bn.data.table import Table

__all__ = ["doubts_about"]

# duplicates of rows of measurements are rare
_MOST_DUPLICATES = 0.01
# so many different rows do not all occur equally often by chance
_LEAST_REPEATED = 20
# a column with repeated values mostly repeats one among this number of rows
_FEW_ROWS = 1_000
# odd, so that no bit of a hash is lost
_FACTOR = 1_000_003


def doubts_about(table: Table) -> list[Note]:
    """Return the warnings about a table."""
    if len(table.columns) < 2:
        return []
    doubts = (_duplicate_rows(table), _data_as_names(table), _few_values(table), _many_probabilities(table))
    return [note for note in doubts if note is not None]


def _duplicate_rows(table: Table) -> Note | None:
    """Return a warning if rows of measurements occur repeatedly, or if all rows were copied.

    Only rows without missing values count, since few remaining values may be equal by chance.
    """
    from pandas.util import hash_array

    incomplete = [column.is_missing for column in table.columns if column.n_missing]
    is_complete = ~np.logical_or.reduce(incomplete) if incomplete else slice(None)
    first, *others = sorted(table.columns, key=lambda column: not column.is_continuous)
    values = first.values[is_complete]
    if first.is_continuous and _all_differ(values):
        return None
    n_rows, hashes = len(values), hash_array(values)
    for column in others:
        hashes *= np.uint64(_FACTOR)
        hashes += hash_array(column.values[is_complete])
        if column.is_continuous and _all_differ(hashes):
            return None
    counts = np.unique(hashes, return_counts=True)[1]
    n_duplicates = n_rows - counts.size
    has_numbers = any(column.is_continuous for column in table.columns)
    are_copies = counts.size >= _LEAST_REPEATED and gcd(*counts.tolist()) > 1
    if not are_copies and not (has_numbers and n_duplicates > _MOST_DUPLICATES * n_rows):
        return None
    complete = "" if n_rows == table.n_rows else " without missing values"
    whole = f" Every row occurs {gcd(*counts.tolist())} times or a multiple of it." if are_copies else ""
    return Note(
        f"{counted(n_duplicates, 'row')} of {n_rows:,}{complete} ({percent(n_duplicates / n_rows)}) "
        f"{'repeats' if n_duplicates == 1 else 'repeat'} an earlier one.{whole} They count as independent "
        "observations, except under the default score of continuous columns: copies make edges and cuts look surer "
        "than they are, and put the same row into training and test data.",
        ["drop copies of the same observation before reading"],
    )


def _all_differ(numbers: NDArray[np.uint64] | NDArray[np.float64]) -> bool:
    """Return whether no number occurs twice; the first ones are looked at first."""
    few = numbers[:_FEW_ROWS]
    if len(np.unique(few)) < len(few):
        return False
    ascending = np.sort(numbers)
    return not bool((ascending[1:] == ascending[:-1]).any())


def _data_as_names(table: Table) -> Note | None:
    """Return a warning if at least half of the names, and two, could be values of their columns."""
    names = table.names
    if all(name.lstrip("+-").isdigit() for name in names) and _are_consecutive([int(name) for name in names]):
        return None
    suspicious = [column.name for column in table.columns if _could_be_value(column)]
    if len(suspicious) < 2 or 2 * len(suspicious) < len(names):
        return None
    return Note(
        [
            f"{len(suspicious)} of {len(names)} column names look like data: {listed(map(repr, suspicious), 5)}. If "
            "the first line of the file is a row, read it with ",
            Option("header", "none"),
            ".",
        ]
    )


def _are_consecutive(numbers: list[int]) -> bool:
    return all(second == first + 1 for first, second in pairwise(numbers))


def _could_be_value(column: Column) -> bool:
    """Return whether the name of a column is a number among numbers, or one of its levels."""
    if column.levels is None:
        return is_number(column.name)
    numeric = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in column.levels)
    return is_number(column.name) if numeric else column.name in column.levels


def _few_values(table: Table) -> Note | None:
    """Return a warning that names the continuous columns with at most `FEW_VALUES` values that repeat."""
    few: dict[str, NDArray[np.float64]] = {}
    for column in table.columns:
        # most columns have more values among their first rows
        if column.is_continuous and len(np.unique(column.observed[:_FEW_ROWS])) <= FEW_VALUES:
            values = np.unique(column.observed)
            # in a table of a few rows values hardly repeat
            if len(values) <= FEW_VALUES and 2 * len(values) <= len(column.observed):
                few[column.name] = values
    if not few:
        return None
    named = [
        f"'{name}' ({listed([f'{value:g}' for value in values.tolist()], FEW_VALUES)})"
        for name, values in few.items()
    ]
    return Note(
        f"{counted(len(few), 'continuous column')} {'has' if len(few) == 1 else 'have'} at most {FEW_VALUES} values: "
        f"{listed(named, 3)}. Such values are point masses, which have a probability and no density.",
        [Setting("kinds", "discrete", next(iter(few)))],
    )


def _many_probabilities(table: Table) -> Note | None:
    """Return a warning if the marginal distributions of discrete columns have more free probabilities than rows."""
    free = {column.name: len(column.levels) - 1 for column in table.columns if column.levels is not None}
    total = sum(free.values())
    if total <= table.n_rows:
        return None
    largest = sorted(free, key=lambda name: -free[name])[:3]
    most = listed([f"'{name}' {free[name] + 1} levels" for name in largest])
    return Note(
        f"The discrete columns have {total:,} free probabilities even without edges, more than the "
        f"{counted(table.n_rows, 'row')}: {most}.",
        ["merge or drop levels", "drop columns"],
    )
