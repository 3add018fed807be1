"""The fitted shapes of a table's continuous columns, computed once per table."""

from __future__ import annotations

from time import perf_counter
from weakref import WeakKeyDictionary

import numpy as np

from gomea_bn.data.columns import ROWS_WORTH_THREADS, Column
from gomea_bn.data.table import Table
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.cuts.shape_fit import fit_shape
from gomea_bn.runtime.threads import in_threads

__all__ = ["share_point_masses", "table_shapes"]

_shapes: WeakKeyDictionary[Table, dict[str, ColumnShape]] = WeakKeyDictionary()


def table_shapes(table: Table, deadline: float = np.inf) -> dict[str, ColumnShape]:
    """Return the fitted shape of every continuous column of a table, by name.

    Shapes that begin after a deadline, a time of `perf_counter`, are quick ones; see `fit_shape`.
    """
    if table not in _shapes:
        continuous = [column for column in table.columns if column.is_continuous]
        n_threads = -1 if table.n_rows > ROWS_WORTH_THREADS or deadline < np.inf else 1

        def fitted(column: Column) -> ColumnShape:
            return fit_shape(column.observed, is_quick=perf_counter() > deadline)

        fits = in_threads(fitted, continuous, n_threads=n_threads)
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
