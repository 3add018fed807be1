"""The fitted shapes of a table's continuous columns, computed once per table."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from gomea_bn.data.columns import ROWS_WORTH_THREADS
from gomea_bn.data.table import Table
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.cuts.shape_fit import fit_shape
from gomea_bn.runtime.threads import in_threads

__all__ = ["share_point_masses", "table_shapes"]

_shapes: WeakKeyDictionary[Table, dict[str, ColumnShape]] = WeakKeyDictionary()


def table_shapes(table: Table) -> dict[str, ColumnShape]:
    """Return the fitted shape of every continuous column of a table, by name."""
    if table not in _shapes:
        continuous = [column for column in table.columns if column.is_continuous]
        n_threads = -1 if table.n_rows > ROWS_WORTH_THREADS else 1
        fits = in_threads(lambda column: fit_shape(column.observed), continuous, n_threads=n_threads)
        _shapes[table] = dict(zip((column.name for column in continuous), fits, strict=True))
    return _shapes[table]


def share_point_masses(part: Table, whole: Table) -> None:
    """Fit the shapes of a random part of a table's rows with the point masses of the whole table.

    `table_shapes` returns these shapes for the part from now on. Without this a value could be a point mass in one part
    and not in another, so that a probability would be averaged with a density.
    """
    shapes = table_shapes(whole)
    of_part = {
        column.name: fit_shape(column.observed, shapes[column.name].shape.point_values)
        for column in part.columns
        if column.is_continuous
    }
    _shapes[part] = of_part
