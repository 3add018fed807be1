"""Rows as the table of a fit is read: symbols of missing values, texts such as 12 mg, and unknown levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import EMPTY_LEVEL, Level, code_of_number
from gomea_bn.data.dates import source_name, unit_of
from gomea_bn.data.files.reading import NUMBER, number_form
from gomea_bn.data.frames import distinct_values, has_floats, plain
from gomea_bn.data.number_texts import NumberTexts, number_texts, numbers_in, typed
from gomea_bn.data.symbols import from_distinct, is_text_like, symbols_among
from gomea_bn.errors import GomeaBnError, RowPositions, check_choice, give_warning
from gomea_bn.lazy import pd
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.value_kinds import READ_DECIMAL, READ_FORMS, ValueKind
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
