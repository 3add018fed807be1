"""The fitted shapes of a table's continuous columns, computed once per table."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from gomea_bn.data.table import Table
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.cuts.shape_fit import fit_shape

__all__ = ["table_shapes"]

_shapes: WeakKeyDictionary[Table, dict[str, ColumnShape]] = WeakKeyDictionary()


def table_shapes(table: Table) -> dict[str, ColumnShape]:
    """Return the fitted shape of every continuous column of a table, by name."""
    if table not in _shapes:
        _shapes[table] = {
            column.name: fit_shape(column.values) for column in table.columns if column.is_continuous
        }
    return _shapes[table]
