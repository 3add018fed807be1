"""Rows as a network has them: tables in its column order and with its levels, draws, and its values as columns."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf, isfinite
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import (
    EMPTY_LEVEL,
    Level,
    code_of_number,
    column_positions,
    encode_levels,
    numeric_values,
)
from gomea_bn.data.dates import from_numbers, source_name, unit_of
from gomea_bn.data.files.reading import NUMBER, number_form
from gomea_bn.data.frames import as_stored, distinct_values, has_floats, plain
from gomea_bn.data.number_texts import NumberTexts, number_texts, numbers_in, typed
from gomea_bn.data.selection import group_codes
from gomea_bn.data.sources import source_frame
from gomea_bn.data.symbols import from_distinct, is_text_like, symbols_among
from gomea_bn.data.table import Column, RowGroups, Table
from gomea_bn.data.weights import rows_to_search_in_groups
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, RowPositions, check_choice, give_warning
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.parts import MOST_DECIMALS, READ_DECIMAL, READ_FORMS, ValueKind
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.texts import counted, listed

UNKNOWN = ("missing", "nearest", "error")
"""What a level that a network does not know counts as."""


def known_rows(
    network: NetworkLike,
    frame: pd.DataFrame,
    unknown: str = "missing",
    names: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Return a frame of rows as `read_rows` does."""
    return read_rows(network, frame, unknown, names)[0]


def read_rows(
    network: NetworkLike,
    frame: pd.DataFrame,
    unknown: str = "missing",
    names: Iterable[str] | None = None,
) -> tuple[pd.DataFrame, dict[str, NDArray[np.bool_]]]:
    """Return rows whose symbols of missing values are missing, and whose unknown levels count as `unknown` says.

    Symbols are those of the fit, unless they are levels, and texts such as 12 mg are numbers in the forms of the fit. A
    warning names column, levels and number of rows; "error" leaves unknown levels, which are refused where they are
    read. `names` are the variables that are read, by default all. Columns that are absent or occur twice are left to
    their reader.

    The second result has the cells whose level the network does not know, bool (n_rows,), by variable.
    """
    check_choice("unknown", unknown, UNKNOWN)
    if frame.columns.nlevels > 1:
        return frame, {}
    labels = list(map(str, frame.columns))
    na_values = network.metadata.get("na_values")
    columns: dict[int, Any] = {}
    masks: dict[str, NDArray[np.bool_]] = {}
    lines = []
    for name in network.names if names is None else names:
        label = name if name in labels else source_name(name)
        if labels.count(label) != 1:
            continue
        position = labels.index(label)
        series = frame.iloc[:, position]
        if name not in network.levels:
            numbers = _numbers(network, series, name)
            if numbers is not None:
                columns[position] = numbers
            continue
        is_ordered = network.value_kinds.get(name, ValueKind()).is_ordered
        read = _levels(series, network.levels[name], na_values, unknown, is_ordered=is_ordered)
        if read is None:
            continue
        columns[position], mask, said = read
        if mask.any():
            masks[name] = mask
            lines.append(f"{said} of '{name}' in {counted(int(mask.sum()), 'row')}")
    if not columns:
        return frame, {}
    known = frame.copy(deep=False)
    for position, column in columns.items():
        known.isetitem(position, column)
    if lines:
        counts_as = (
            "the nearest level, or as missing where levels have no order"
            if unknown == "nearest"
            else "missing"
        )
        give_warning(f"Levels that the network does not know count as {counts_as}: {listed(lines, 5)}.")
    return known, masks


def _numbers(network: NetworkLike, series: pd.Series[Any], name: str) -> pd.Series[Any] | None:
    """Return a continuous column without symbols, its texts as numbers; None for one without symbols and texts."""
    na_values = network.metadata.get("na_values")
    if has_floats(series.dtype) and not na_values:
        return None
    series = plain(series)
    distinct = _distinct(series)
    if distinct is None:
        return None
    codes, values = distinct
    is_symbol = symbols_among(values, na_values)
    others = [value for value, symbol in zip(values, is_symbol, strict=True) if not symbol]
    is_text = is_text_like(series) and bool(others) and all(isinstance(v, str) for v in others)
    # dates are read by their own rules, and other texts are refused there
    numbers: Sequence[float | None] | None = None
    if is_text and unit_of(name) is None:
        numbers = numbers_in(others)
        if numbers is None and (form := _form(network, name)) is not None:
            decimal = network.metadata.get(READ_DECIMAL)
            readings = _in_form(others, form, decimal)
            numbers = readings[0].numbers if readings else None
            if numbers is None:
                is_wrong = [
                    not symbol and not _in_form([value], form, decimal)
                    for value, symbol in zip(values, is_symbol, strict=True)
                ]
                rows = np.flatnonzero(_cells(codes, np.array(is_wrong if any(is_wrong) else ~is_symbol)))
                raise GomeaBnError(
                    [
                        f"Column '{name}' must hold what reads as {form!r}, as where the network was learned, got "
                        f"{str(series.iloc[rows[0]])!r:.60} in ",
                        RowPositions(rows),
                        ".",
                    ],
                    ["repair or drop these rows"],
                )
    if not is_symbol.any() and numbers is None:
        return None
    if numbers is None:
        return series.mask(_cells(codes, is_symbol))
    each = iter(numbers)
    return from_distinct(series, codes, [None if symbol else next(each) for symbol in is_symbol])


def number_of_text(network: NetworkLike, name: str, text: str, label: str) -> float | None:
    """Return the number that a text states of a continuous variable, read as a cell of the fit; None for others.

    Of two numbers that a text such as 1,250 may stand for, it is the one between the least and the largest value of the
    column. A text below or above a limit, such as <5 mg, states no number. `label` names the text in messages.
    """
    with suppress(ValueError):
        number = float(text)
        return number if isfinite(number) else None
    form = _form(network, name)
    # whoever states a number may write either mark
    readings = _in_form([text], form or NUMBER, None)
    if form is None and any(read.unit for read in readings):
        raise GomeaBnError(
            f"{label}: the numbers of '{name}' have no unit that the network knows, got {text!r:.80}; give the number "
            "alone."
        )
    unit = (number_form(form or NUMBER) or ("", None))[0]
    if unit and not readings and any(read.unit for read in _in_form([text], NUMBER, None)):
        raise GomeaBnError(
            f"{label}: the numbers of '{name}' are in {unit}, got {text!r:.80}; convert the number, and give it in "
            f"{unit} or alone."
        )
    # a word below a limit may have no number
    numbers = {float(read.numbers[0] or 0) for read in readings if not read.limits}
    low, high = network.support.get(name, (-inf, inf))
    possible = [number for number in numbers if low <= number <= high] if len(numbers) > 1 else [*numbers]
    if len(possible) == 1:
        return possible[0]
    if not numbers:
        return None
    raise GomeaBnError(
        f"{label}: '{name}' is from {low:g} to {high:g}, and {text!r:.80} may be "
        f"{' or '.join(f'{number:g}' for number in sorted(numbers))}; write the number alone, with a decimal point."
    )


def _form(network: NetworkLike, name: str) -> str | None:
    """Return the form of the texts of a column in the fit, or None if its cells were numbers."""
    forms = network.metadata.get(READ_FORMS)
    form = forms.get(name) if isinstance(forms, Mapping) else None
    # a file may hold anything there
    return form if isinstance(form, str) and number_form(form) is not None else None


def _in_form(texts: Sequence[str], form: str, decimal: object) -> list[NumberTexts]:
    """Return what texts stand for in a form, once for each decimal mark with which they fit it."""
    unit, limit = number_form(form) or (None, None)
    marks = decimal if decimal in (".", ",") else ".,"
    typed_texts = list(map(typed, texts))
    readings = []
    for mark in str(marks):
        # numbers of a column with a unit may lack it
        plain_numbers = numbers_in(typed_texts, mark)
        if plain_numbers is not None:
            readings.append(NumberTexts(plain_numbers, "", {}))
        elif (read := number_texts(typed_texts, mark, unit, limit, is_given=True)) is not None:
            readings.append(read)
    return readings


def _levels(
    series: pd.Series[Any],
    levels: tuple[Level, ...],
    na_values: Sequence[Any] | None,
    unknown: str,
    *,
    is_ordered: bool,
) -> tuple[pd.Series[Any], NDArray[np.bool_], str] | None:
    """Return a discrete column whose cells are levels or missing, which were unknown, and the unknown levels in words.

    None stands for a column without symbols and unknown levels.
    """
    series = plain(series)
    distinct = _distinct(series)
    if distinct is None:
        return None
    codes, values = distinct
    known = set(levels)
    is_foreign = np.array(
        [value not in known and code_of_number(value, levels) < 0 for value in values], np.bool_
    )
    is_symbol = symbols_among(values, na_values, has_marks=True) & is_foreign
    # values that can be no level are refused where they are read
    is_unknown = (
        is_foreign
        & ~is_symbol
        & np.array([isinstance(value, (str, int, float)) for value in values], np.bool_)
    )
    if unknown == "error":
        is_unknown[:] = False
    if not is_symbol.any() and not is_unknown.any():
        return None
    replaced: list[Any] = [
        None if symbol or foreign else value
        for value, symbol, foreign in zip(values, is_symbol, is_unknown, strict=True)
    ]
    if unknown == "nearest" and levels != (EMPTY_LEVEL,):
        order = list(series.cat.categories) if bool(getattr(series.dtype, "ordered", False)) else None
        for at in np.flatnonzero(is_unknown).tolist():
            replaced[at] = _nearest(values[at], levels, order if is_ordered else None)
    mask = _cells(codes, is_unknown)
    cells = np.array([*replaced, None], dtype=object)[codes]
    said = listed([repr(values[at]) for at in np.flatnonzero(is_unknown).tolist()], 5)
    return pd.Series(cells, index=series.index, name=series.name, dtype=object), mask, said


def _nearest(value: Any, levels: tuple[Level, ...], order: list[Any] | None) -> Level | None:
    """Return the nearest of the levels: of numbers by value, of others by the order of categories; or None."""
    numbers = [level for level in levels if isinstance(level, (int, float)) and not isinstance(level, bool)]
    if len(numbers) == len(levels) and not isinstance(value, bool):
        read = numbers_in([value]) if isinstance(value, str) else [value]
        if read is None:
            return None
        # a number beyond all levels may be infinite
        within = min(max(float(read[0]), min(numbers)), max(numbers))
        return min(numbers, key=lambda level: abs(level - within))
    if order is None or value not in order:
        return None
    ranks = {level: order.index(level) for level in levels if level in order}
    return min(ranks, key=lambda level: abs(ranks[level] - order.index(value))) if ranks else None


def _distinct(series: pd.Series[Any]) -> tuple[NDArray[np.int64], list[Any]] | None:
    """Return the distinct values of a column, and their position in every row, -1 where missing; None for odd ones."""
    try:
        codes, uniques = distinct_values(series)
    # lists and dicts cannot be compared, and are refused where they are read
    except TypeError:
        return None
    return codes, [value.item() if isinstance(value, np.generic) else value for value in uniques]


def _cells(codes: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which cells have one of the chosen distinct values, bool (n_rows,)."""
    return np.append(chosen, False)[codes]


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
