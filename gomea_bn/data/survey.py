"""The first reading of a table in pieces: its number of rows, a sample, and the rows with extreme and rare values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.pieces import Piece, rows_of_pieces

# first rows that show whether a column has few values
FIRST_ROWS = 2000
# a column with more distinct values has no rows for each of them
MOST_DISTINCT = 300


def sampled_rows(n_rows: Sequence[int], size: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the sorted positions in every piece of a random sample of `size` rows without replacement, or of all."""
    ends = np.cumsum(n_rows)
    total = int(ends[-1])
    generator = np.random.default_rng(seed)
    chosen = (
        np.arange(total)
        if size >= total
        else np.sort(generator.choice(total, size, replace=False, shuffle=False))
    )
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    return [part - (end - n) for part, end, n in zip(parts, ends, n_rows, strict=True)]


def survey(piece: Piece, positions: NDArray[np.int64]) -> pd.DataFrame:
    """Return the rows of one piece at some sorted positions, and those with extreme and rare values.

    These have the smallest and largest value of a column or the first of its few values. The index is the position of a
    row in the piece.
    """
    parts = []
    first = 0
    for frame in piece.frames():
        inside = positions[np.searchsorted(positions, first) : np.searchsorted(positions, first + len(frame))]
        kept = np.union1d(inside - first, _corners(frame))
        part = frame.iloc[kept]
        part.index = pd.Index(kept + first)
        parts.append(part)
        first += len(frame)
    if not parts:
        return pd.DataFrame()
    rows = pd.concat(parts)
    # the corners of all frames of the piece, of which most are none of the piece
    kept = np.union1d(np.flatnonzero(rows.index.isin(positions)), _corners(rows))
    return rows.iloc[kept]


@dataclass(frozen=True)
class Sample:
    """A sample of the rows of a table in pieces, whose index counts them, and where they are.

    `piece_of` has the number of the piece of every row, and `position_in` the position of the row in it, int64 (n,).
    """

    rows: pd.DataFrame
    pieces: Sequence[Piece]
    piece_of: NDArray[np.int64]
    position_in: NDArray[np.int64]

    def named(self, rows: NDArray[np.int64]) -> str:
        """Return where rows of the sample are, given their positions in it; the first of them if there are many."""
        # most rows that a message names
        places = [(self.pieces[self.piece_of[row]], int(self.position_in[row])) for row in rows[:8]]
        return rows_of_pieces(places, len(rows))


def sample_of(
    pieces: Sequence[Piece], parts: Sequence[pd.DataFrame], positions: Sequence[NDArray[np.int64]]
) -> Sample:
    """Return the sample of a table: the chosen rows, and those with extreme and rare values of the whole table."""
    is_chosen = np.concatenate(
        [part.index.isin(of_piece) for part, of_piece in zip(parts, positions, strict=True)]
    )
    rows = pd.concat([part for part in parts if len(part)])
    piece_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    position_in = rows.index.to_numpy(np.int64)
    rows = rows.reset_index(drop=True)
    kept = np.union1d(np.flatnonzero(is_chosen), _corners(rows))
    return Sample(rows.iloc[kept].reset_index(drop=True), pieces, piece_of[kept], position_in[kept])


def _corners(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Return positions of rows in which columns have their extreme values, their first gap, or few values first."""
    kept: list[NDArray[np.int64]] = []
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        # so that missing values outside the sample are an error before the search
        is_missing = column.isna().to_numpy()
        kept.append(np.flatnonzero(is_missing)[:1])
        first = column.iloc[:FIRST_ROWS]
        # numbers with a fraction are levels only if they repeat
        most = len(first) // 2 if pd.api.types.is_float_dtype(column) else MOST_DISTINCT
        if _n_distinct(first) <= min(most, MOST_DISTINCT):
            kept.append(np.flatnonzero(~column.duplicated().to_numpy())[:MOST_DISTINCT])
        kept.append(_extremes(column, ~is_missing))
    # where rows with gaps are dropped, these columns end at complete rows
    has_gap = frame.isna().any(axis=1).to_numpy()
    if has_gap.any() and not has_gap.all():
        complete = np.flatnonzero(~has_gap)
        of_complete = frame.iloc[complete]
        every = np.ones(len(complete), np.bool_)
        kept += [complete[_extremes(of_complete.iloc[:, k], every)] for k in range(frame.shape[1])]
    return np.unique(np.concatenate(kept)) if kept else np.empty(0, np.int64)


def _extremes(column: pd.Series[Any], is_known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the positions of the smallest and the largest known value of a column with an order; none of others.

    Texts of numbers, which may be declared continuous, have the order of their numbers.
    """
    types = pd.api.types
    if types.is_object_dtype(column) or types.is_string_dtype(column):
        known = np.flatnonzero(is_known)
        values = column.to_numpy(object)[known]
        first = pd.Series(values[:FIRST_ROWS], dtype=object)
        if first.map(lambda value: isinstance(value, str)).any():
            # largest share of texts that are no numbers in a column that may be declared continuous
            if pd.to_numeric(first, errors="coerce").isna().mean() > 0.5:
                return np.empty(0, np.int64)
            values = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").to_numpy(np.float64)
            known, values = known[~np.isnan(values)], values[~np.isnan(values)]
    elif (
        types.is_numeric_dtype(column)
        or types.is_datetime64_any_dtype(column)
        or types.is_timedelta64_dtype(column)
    ):
        # pandas would copy the values to look for gaps
        if isinstance(column.dtype, np.dtype) and is_known.all() and len(column):
            plain = column.to_numpy()
            return np.array([plain.argmin(), plain.argmax()], np.int64)
        known = np.flatnonzero(is_known)
        values = column.iloc[known].array
    else:
        return np.empty(0, np.int64)
    if not len(known):
        return np.empty(0, np.int64)
    try:
        return known[[values.argmin(), values.argmax()]]
    except TypeError:
        # objects without an order
        return np.empty(0, np.int64)


def _n_distinct(column: pd.Series[Any]) -> float:
    """Return the number of distinct values; infinity for lists and records, which the table of the sample refuses."""
    try:
        return column.nunique()
    except TypeError:
        return np.inf
