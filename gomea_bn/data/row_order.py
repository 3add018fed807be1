"""An order of rows that their values alone decide, so that results do not depend on the order of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table

__all__ = ["in_row_order", "row_order"]

# shifts and factors of Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014
_SHIFTS = (30, 27)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_LAST_SHIFT = 31
_STEP = np.uint64(0x9E3779B97F4A7C15)

# a table keeps its ordered rows, since cuts and shapes are kept with these
_ordered: WeakKeyDictionary[Table, Table] = WeakKeyDictionary()


def row_order(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the positions of rows in an order that does not depend on where the rows stand, int64 (n_rows,).

    Rows are ordered by a hash of their values. Equal rows stay in their order, since they are interchangeable. So do
    different rows of the same hash, of which n rows have a pair with probability n**2 / 2**65.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n_rows,), float64 or integers
        Values; all NaN are equal.
    """
    hashes = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        hashes *= _STEP
        hashes += _bits(values)
        hashes += _STEP
        for shift, factor in zip(_SHIFTS, _FACTORS, strict=True):
            hashes ^= hashes >> np.uint64(shift)
            hashes *= factor
        hashes ^= hashes >> np.uint64(_LAST_SHIFT)
    return np.argsort(hashes, kind="stable")


def in_row_order(table: Table) -> Table:
    """Return the rows of a table in their `row_order`; the table itself if they stand in it."""
    if table not in _ordered:
        order = row_order([column.values for column in table.columns])
        if (np.diff(order) > 0).all():
            return table
        _ordered[table] = replace(table.take(order), dropped_rows=table.dropped_rows)
    return _ordered[table]


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return values as 64 bits, which are equal for equal values, uint64 (n_rows,)."""
    if values.dtype.kind != "f":
        return values.astype(np.int64).view(np.uint64)
    # zeros may have signs, and NaN signs and payloads
    plain = np.asarray(values, np.float64) + 0.0
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)
