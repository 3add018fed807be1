"""The fitted shapes of a table's continuous columns, computed once per table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

from gomea_bn.data.table import Table
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.cuts.shape_fit import fit_shape
from gomea_bn.runtime.threads import thread_count

__all__ = ["share_point_masses", "table_shapes"]

# on fewer rows threads wait for each other
_ROWS_WORTH_THREADS = 50_000

_shapes: WeakKeyDictionary[Table, dict[str, ColumnShape]] = WeakKeyDictionary()


def table_shapes(table: Table) -> dict[str, ColumnShape]:
    """Return the fitted shape of every continuous column of a table, by name."""
    if table not in _shapes:
        continuous = [column for column in table.columns if column.is_continuous]
        # NumPy sorts and adds without holding the lock of the interpreter
        n_threads = thread_count(-1) if table.n_rows >= _ROWS_WORTH_THREADS else 1
        pool = ThreadPoolExecutor(n_threads, thread_name_prefix="gomea-bn")
        try:
            fitted = list(pool.map(lambda column: fit_shape(column.observed), continuous))
        finally:
            # Ctrl-C waits for the columns in work alone
            pool.shutdown(cancel_futures=True)
        _shapes[table] = dict(zip((column.name for column in continuous), fitted, strict=True))
    return _shapes[table]


def share_point_masses(part: Table, whole: Table) -> None:
    """Fit the shapes of a random part of a table's rows with the point masses of the whole table.

    `table_shapes` returns these shapes for the part from now on. Without this a value could be a point mass in one part
    and not in another, so that a probability would be averaged with a density.
    """
    shapes = table_shapes(whole)
    _shapes[part] = {
        column.name: fit_shape(column.observed, shapes[column.name].shape.point_values)
        for column in part.columns
        if column.is_continuous
    }
