"""Rows as a network has them: tables in its column order and with its levels, draws, and its values as columns."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, encode_levels, numeric_values
from gomea_bn.data.dates import from_numbers, source_name
from gomea_bn.data.frames import as_stored
from gomea_bn.data.group_columns import group_codes
from gomea_bn.data.groups import rows_to_search_in_groups
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Column, RowGroups, Table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, give_warning
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.known_rows import known_rows
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.value_kinds import MOST_DECIMALS, ValueKind


def _range(name: str, observed: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least and the greatest value of a continuous column."""
    if not observed.size:
        raise GomeaBnError(f"Column '{name}' has no values, but is continuous in the network.")
    return float(observed.min()), float(observed.max())


def table_for(
    network: NetworkLike,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    allow_missing: bool = False,
    allow_empty_bins: bool = False,
    unknown: str = "error",
) -> Table:
    """Return the rows of `data` as a table with the network's variables, order and levels; further columns are ignored.

    Unknown levels count as `known_rows` says. Raises for missing columns, missing values unless they are allowed,
    constant continuous columns, cut points outside the data unless first and last bins may be empty, and fewer than 2
    rows.
    """
    if isinstance(data, Table):
        if not allow_missing:
            data.require_complete("The network")
        levels, support = network.levels, network.support
        if data.names == network.names and all(
            column.levels == levels.get(column.name)
            and (column.levels is not None or _range(column.name, column.observed) == support[column.name])
            for column in data.columns
        ):
            return data
    table = rows_for(network, data, allow_missing=allow_missing, unknown=unknown)
    if table.n_rows < 2:
        raise GomeaBnError(f"data must have at least 2 rows, got {table.n_rows}.")
    for column in table.columns:
        if column.levels is not None:
            continue
        name = column.name
        low, high = _range(name, column.observed)
        if low == high:
            raise GomeaBnError(f"Column '{name}' is constant: all its values are {low:g}.")
        if allow_empty_bins:
            continue
        outside = [cut for cut in network.cut_points[name].tolist() if not low < cut < high]
        if outside:
            raise GomeaBnError(
                f"Column '{name}' has values from {low:g} to {high:g}, which the network's cut point {outside[0]:g} is "
                "outside of; give the rows that the network was learned from."
            )
    return table


def evidence_for(
    network: NetworkLike, data: pd.DataFrame | Table | str | os.PathLike[str], **options: Any
) -> Table:
    """Return the table of `table_for` with the rows that count as independent observations.

    Of rows with the column of groups that the network was learned with these are the rows to search; without it all
    rows count, with a warning. A `Table` without groups has such rows alone.
    """
    if isinstance(data, Table):
        return table_for(network, rows_to_search_in_groups(data), **options)
    if not isinstance(network.metadata.get("groups"), Mapping):
        return table_for(network, data, **options)
    frame = source_frame(data)
    table = table_for(network, frame, **options)
    groups = groups_of(network, frame)
    return table if groups is None else rows_to_search_in_groups(replace(table, groups=groups))


def groups_of(network: NetworkLike, data: pd.DataFrame | Table) -> RowGroups | None:
    """Return the groups of rows by the column that a network was learned with; None without any.

    Rows without this column have none, with a warning.
    """
    if isinstance(data, Table):
        return data.groups
    groups = network.metadata.get("groups")
    if not isinstance(groups, Mapping):
        return None
    name = str(groups["column"])
    if name not in map(str, data.columns):
        give_warning(
            GomeaBnWarning(
                f"The network was learned with groups by '{name}', which is no column of the rows: all of them count "
                "as independent observations.",
                ["give the rows with this column"],
            )
        )
        return None
    return RowGroups(name, group_codes(data.iloc[:, column_positions(data, [name])[name]], name))


def rows_for(
    network: NetworkLike,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    allow_missing: bool = True,
    unknown: str = "missing",
) -> Table:
    """Return rows with the network's variables, order and levels, whatever their number and their range.

    Unknown levels count as `known_rows` says. Raises for missing columns, missing values unless they are allowed, and a
    table without rows.
    """
    frame = known_rows(network, source_frame(data), unknown)
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
        columns.append(
            Column(
                name,
                values,
                None,
                "as in the network",
                is_integer=kind.is_integer,
                time_zone=kind.time_zone,
            )
        )
    return Table(tuple(columns), len(frame), ())


def column_name(network: NetworkLike, name: str, values: str = "own") -> str:
    """Return the name of the column that a variable comes from: the unit of dates is left out of it."""
    source = source_name(name)
    return name if values == "numbers" or source in network.names else source


def column_values(
    network: NetworkLike,
    name: str,
    numbers: NDArray[np.float64],
    values: str = "own",
    *,
    is_mean: bool = False,
) -> Any:
    """Return numbers of a continuous variable, without NaN, as values of its column's own kind.

    `values` is that of `DiscretizedBayesNet.sample`. Means are not rounded. A rounded value stays in the bin of its
    number if that bin has a value of the grid.
    """
    if values == "numbers":
        return numbers
    kind = network.value_kinds.get(name, ValueKind())
    step = kind.step if values == "grid" else None
    if step is None and kind.is_integer:
        step = 1.0
    if step is not None and not is_mean:
        numbers = _on_grid(numbers, network.cut_points[name], network.support[name], step)
    if source_name(name) != name:
        return from_numbers(numbers, name, kind.time_zone)
    return whole_numbers(numbers) if kind.is_integer and not is_mean else numbers


def whole_numbers(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return whole numbers as int64, or as they are where some are too large for it."""
    return numbers if (np.abs(numbers) >= 2.0**63).any() else numbers.astype(np.int64)


def level_column(network: NetworkLike, name: str, codes: NDArray[Any]) -> pd.Categorical[Any]:
    """Return codes of a discrete variable as a categorical with all its levels, ordered if its column is."""
    is_ordered = network.value_kinds.get(name, ValueKind()).is_ordered
    levels: Any = pd.Index(list(network.levels[name]))
    return pd.Categorical.from_codes(codes, levels, ordered=is_ordered)


def _on_grid(
    numbers: NDArray[np.float64], cuts: NDArray[np.float64], support: tuple[float, float], step: float
) -> NDArray[np.float64]:
    """Return the nearest values of a grid that lie in the same bins (a, b] as the numbers, float64 (n,)."""
    low = support[0]
    edges = np.array([low, *cuts.tolist(), support[1]])
    # places on the grid; a value equal to a cut belongs to the lower bin, and its place is whole up to rounding
    ends = (edges - low) / step
    is_whole = np.abs(ends - np.rint(ends)) <= 1e-9 * np.maximum(np.abs(ends), 1)
    highest = np.where(is_whole, np.rint(ends), np.floor(ends))
    lowest = highest[:-1] + 1
    lowest[0] = 0
    codes = np.clip(np.searchsorted(edges, numbers, side="left") - 1, 0, len(cuts))
    nearest = np.rint((numbers - low) / step)
    has_value = lowest <= highest[1:]
    inside = np.clip(nearest, lowest[codes], np.maximum(highest[1:], lowest)[codes])
    places = np.where(has_value[codes], inside, nearest)
    # decimal fractions are rounded as they are written
    return np.asarray(np.round(low + places * step, MOST_DECIMALS))


def drawn_values(
    network: NetworkLike,
    n: int,
    generator: np.random.Generator,
    given: Mapping[str, NDArray[Any]] | None = None,
    names: Container[str] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return draws of variables: numbers, or codes of levels, each of shape (n,), by name.

    All variables are drawn, or those with one of some `names`, which must have the names of their parents.
    `given` has numbers or codes (n,) of variables that are not drawn; NaN, or a code below 0, for a value that is.
    Values are drawn given their parents alone, so that a draw has a weight: the density of the given values given their
    parents.
    """
    drawn: dict[str, NDArray[Any]] = {}
    columns = Columns(drawn)
    for name in network.order:
        if names is not None and name not in names:
            continue
        known = given[name] if given and name in given else None
        is_unknown = (
            None if known is None else np.isnan(known) | (known < 0 if name in network.levels else False)
        )
        if known is None or is_unknown is None:
            drawn[name] = network.families[name].draw(columns, n, generator)
        elif is_unknown.any():
            drawn[name] = np.where(is_unknown, network.families[name].draw(columns, n, generator), known)
        else:
            drawn[name] = known
    return drawn


def draws_by_name(network: NetworkLike, n: int) -> dict[str, NDArray[Any]]:
    """Return draws of all variables as `drawn_values` does, with seeds that depend on names alone.

    The order of variables has no effect on them.
    """
    drawn: dict[str, NDArray[Any]] = {}
    for name in network.order:
        drawn[name] = network.families[name].draw(Columns(drawn), n, generator_by_name(name))
    return drawn


def generator_by_name(name: str, part: int = 0) -> np.random.Generator:
    """Return the generator of a variable, whose seed depends on its name; `part` tells several ones apart."""
    return np.random.default_rng([crc32(name.encode()), part])


def frame_of_draws(network: NetworkLike, drawn: Mapping[str, NDArray[Any]], values: str) -> pd.DataFrame:
    """Return drawn numbers and level codes as columns of the kinds of their variables, in column order."""
    return pd.DataFrame(
        {
            column_name(network, name, values): drawn_column(network, name, drawn[name], values)
            for name in network.names
        }
    )


def drawn_column(
    network: NetworkLike, name: str, drawn: NDArray[Any], values: str, *, is_mean: bool = False
) -> Any:
    """Return drawn numbers or level codes as `column_values` does, and with "own" in the type of the column, too."""
    column = (
        level_column(network, name, drawn)
        if name in network.levels
        else column_values(network, name, drawn, values, is_mean=is_mean)
    )
    dtype = network.value_kinds.get(name, ValueKind()).dtype
    return as_stored(column, dtype) if dtype and values == "own" else column
