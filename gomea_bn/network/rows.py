"""Tables of data in the column order and with the levels of a network."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, encode_levels, numeric_values
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Column, Table
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.protocol import NetworkLike
from gomea_bn.network.value_kinds import ValueKind

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["rows_for", "table_for"]


def _has_variables(table: Table, network: NetworkLike) -> bool:
    """Return whether a table has the variables, order, levels and supports of a network."""
    levels, support = network.levels, network.support
    return table.names == network.names and all(
        column.levels == levels.get(column.name)
        and (column.levels is not None or _range(column.name, column.observed) == support[column.name])
        for column in table.columns
    )


def _range(name: str, observed: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least and the greatest value of a continuous column."""
    if not observed.size:
        raise GomeaBnError(f"Column '{name}' has no values, but is continuous in the network.")
    return float(observed.min()), float(observed.max())


def table_for(
    network: NetworkLike, data: pd.DataFrame | Table | str | os.PathLike[str], *, allow_missing: bool = False
) -> Table:
    """Return the rows of `data` as a table with the network's variables, order and levels.

    Parameters
    ----------
    network : NetworkLike
        The network.
    data : Table, path, DataFrame or another source of `gomea_bn.data.frames.frame_of`
        Rows with a column for every variable; further columns are ignored.
    allow_missing : bool
        Whether values may be missing. The table keeps them.

    Raises
    ------
    GomeaBnError
        For missing columns, missing values unless they are allowed, unknown levels, constant continuous columns, cut
        points outside the data, and fewer than 2 rows.
    """
    if isinstance(data, Table):
        if not allow_missing:
            data.require_complete("The network")
        if _has_variables(data, network):
            return data
    table = rows_for(network, data, allow_missing=allow_missing)
    if table.n_rows < 2:
        raise GomeaBnError(f"data must have at least 2 rows, got {table.n_rows}.")
    for column in table.columns:
        if column.levels is not None:
            continue
        name = column.name
        low, high = _range(name, column.observed)
        if low == high:
            raise GomeaBnError(f"Column '{name}' is constant: all its values are {low:g}.")
        outside = [cut for cut in network.cut_points[name].tolist() if not low < cut < high]
        if outside:
            raise GomeaBnError(
                f"Column '{name}' has values from {low:g} to {high:g}, which the network's cut point {outside[0]:g} is "
                "outside of; give the rows that the network was learned from."
            )
    return table


def rows_for(
    network: NetworkLike, data: pd.DataFrame | Table | str | os.PathLike[str], *, allow_missing: bool = True
) -> Table:
    """Return rows with the network's variables, order and levels, whatever their number and their range.

    Parameters are those of `table_for`.

    Raises
    ------
    GomeaBnError
        For missing columns, missing values unless they are allowed, unknown levels, and a table without rows.
    """
    frame = data.to_frame() if isinstance(data, Table) else source_frame(data)
    if not len(frame):
        raise GomeaBnError("data must have at least 1 row, got none.")
    positions = column_positions(frame, network.names)
    columns = []
    for name in network.names:
        series, kind = frame.iloc[:, positions[name]], network.value_kinds.get(name, ValueKind())
        if name in network.levels:
            levels = network.levels[name]
            codes = encode_levels(series, name, levels, allow_missing=allow_missing)
            columns.append(Column(name, codes, levels, "as in the network", kind.is_ordered))
            continue
        values = numeric_values(series, name, allow_missing=allow_missing)
        columns.append(Column(name, values, None, "as in the network", is_integer=kind.is_integer))
    return Table(tuple(columns), len(frame), ())
