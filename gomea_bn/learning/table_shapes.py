"""The cells and the fitted shapes of a table's continuous columns, computed once per table."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from gomea_bn.data.columns import ROWS_WORTH_THREADS, TALL_TABLE, Column
from gomea_bn.data.table import Table
from gomea_bn.problems.cuts.quantile_cells import QuantileCells, quantile_cells
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.cuts.shape_fit import fit_shape, fit_shape_of_cells
from gomea_bn.runtime.small_pages import WorkSpaces
from gomea_bn.runtime.threads import in_threads

__all__ = ["share_point_masses", "table_cells", "table_shapes"]

_cells: WeakKeyDictionary[Table, dict[str, QuantileCells]] = WeakKeyDictionary()
# by table, and by whether the fit is coarse
_shapes: WeakKeyDictionary[Table, dict[bool, dict[str, ColumnShape]]] = WeakKeyDictionary()


def table_cells(table: Table) -> dict[str, QuantileCells]:
    """Return the cells of every continuous column of a tall table, by name; a table of fewer rows has none.

    A column with missing values has the cells of its other values.
    """
    if table.n_rows <= TALL_TABLE:
        return {}
    if table not in _cells:
        tall = [column for column in table.columns if column.is_continuous and _is_tall(column)]
        spaces = WorkSpaces()
        cells = in_threads(lambda column: _cells_of(column, spaces), tall, n_threads=_threads_of(table))
        _cells[table] = dict(zip((column.name for column in tall), cells, strict=True))
    return _cells[table]


def _cells_of(column: Column, spaces: WorkSpaces) -> QuantileCells:
    ascending = spaces.of_shape(column.observed.shape, np.float64)
    ascending[:] = column.observed
    ascending.sort()
    return quantile_cells(ascending)


def _threads_of(table: Table) -> int:
    return -1 if table.n_rows > ROWS_WORTH_THREADS else 1


def _is_tall(column: Column) -> bool:
    return len(column.values) - column.n_missing > TALL_TABLE


def table_shapes(table: Table, *, is_coarse: bool = False) -> dict[str, ColumnShape]:
    """Return the fitted shape of every continuous column of a table, by name.

    A coarse fit takes a third of the time for the columns that have cells. It is the usual one for others.
    """
    of_table = _shapes.setdefault(table, {})
    if is_coarse not in of_table:
        known, spaces = _cells.get(table, {}), WorkSpaces()
        continuous = [column for column in table.columns if column.is_continuous]

        def fitted(column: Column) -> tuple[QuantileCells | None, ColumnShape]:
            if not _is_tall(column):
                return None, fit_shape(column.observed)
            # while a thread fits, which needs the interpreter, another one sorts
            cells = known[column.name] if known else _cells_of(column, spaces)
            return cells, fit_shape_of_cells(column.observed, cells, is_coarse=is_coarse)

        fits = in_threads(fitted, continuous, n_threads=_threads_of(table))
        by_name = dict(zip((column.name for column in continuous), fits, strict=True))
        of_table[is_coarse] = {name: shape for name, (_, shape) in by_name.items()}
        if table.n_rows > TALL_TABLE:
            _cells[table] = {name: cells for name, (cells, _) in by_name.items() if cells is not None}
    return of_table[is_coarse]


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
    _shapes[part] = {False: of_part, True: of_part}
