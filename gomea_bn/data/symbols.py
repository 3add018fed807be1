"""Texts in the cells of a frame that stand for missing values, such as "NA" and "?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import FEW_ROWS, check_texts
from gomea_bn.data.files.reading import Note
from gomea_bn.data.frames import distinct_values, has_floats
from gomea_bn.data.number_texts import numbers_in
from gomea_bn.errors import Option
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

WORDS = frozenset(
    (
        *("NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-NaN", "-nan"),
        *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "null", "NULL", "None", "?"),
        *("#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"),
    )
)
"""Texts that are missing values in every column."""

MARKS = frozenset(("*", "-", "--", ".", "..", "..."))
"""Texts that are missing values where all other values of the column hold a letter or a digit."""

USUAL = "usual"
"""Symbol that stands for `WORDS` and `MARKS` in a list of symbols of missing values."""

_TRUTH = {"true": True, "false": False}


def without_symbols(
    frame: pd.DataFrame,
    na_values: Sequence[str | float] | None,
    decimal: str = ".",
    *,
    of_text: bool = False,
) -> tuple[pd.DataFrame, list[Note], list[Note]]:
    """Return a frame whose symbols of missing values are missing values, notes and warnings.

    A column of text that holds nothing but numbers, or bools, apart from symbols becomes a column of these; without
    symbols only if the source is `of_text`, where no column is meant to be text. `na_values` are the symbols, as texts
    or numbers; None stands for `WORDS` and `MARKS`, as does `USUAL` among others. A note is about columns that are
    numbers without their symbols, a warning about those that remain text.
    """
    changed: dict[int, Any] = {}
    numeric: list[str] = []
    textual: list[str] = []
    marked: list[str] = []
    for position, dtype in enumerate(frame.dtypes):
        if has_floats(dtype) and not na_values:
            continue
        series = frame.iloc[:, position]
        cleaned, symbols = _cleaned(series, na_values, decimal, of_text=of_text)
        if cleaned is not series:
            changed[position] = cleaned
            marked += _marked(series, cleaned, str(frame.columns[position]))
        if symbols:
            counts = ", ".join(f"{count} {symbol!r}" for symbol, count in symbols.items())
            (textual if is_text_like(cleaned) else numeric).append(f"'{frame.columns[position]}' ({counts})")
    if not changed:
        return frame, [], []
    import pandas as pd

    parts = [changed.get(position, frame.iloc[:, position]) for position in range(frame.shape[1])]
    cleaned_frame = pd.concat(parts, axis=1, keys=range(len(parts))).set_axis(frame.columns, axis=1)
    if na_values is not None:
        numeric, textual = numeric + textual, []
    notes = [_note(numeric)] if numeric else []
    if marked:
        notes.append(
            Note(f"Numbers are written with marks of thousands or of typography: {listed(marked, 5)}.")
        )
    return cleaned_frame, notes, [_note(textual)] if textual else []


def _marked(texts: pd.Series[Any], numbers: pd.Series[Any], name: str) -> list[str]:
    """Return the name of a column, with an example, if its numbers are not written as Python writes them."""
    import pandas as pd
    from pandas.api import types

    if (
        is_text_like(numbers)
        or not types.is_numeric_dtype(numbers.dtype)
        or types.is_bool_dtype(numbers.dtype)
    ):
        return []
    for text, number in zip(texts.iloc[:FEW_ROWS], numbers.iloc[:FEW_ROWS], strict=True):
        if isinstance(text, str) and not pd.isna(number):
            plain = text.strip().replace(",", ".", 1) if text.count(",") == 1 and "." not in text else text
            try:
                if float(plain) == number:
                    continue
            except (TypeError, ValueError):
                pass
            return [f"'{name}' (such as {text.strip()!r} for {number:.15g})"]
    return []


def _note(columns: Sequence[str]) -> Note:
    noun = "a column" if len(columns) == 1 else f"{len(columns)} columns"
    return Note(
        [
            f"Symbols are read as missing values in {noun}: {listed(columns, 5)}. ",
            Option("na_values"),
            " lists the symbols to read so; an empty list keeps them all as values.",
        ]
    )


def is_text_like(series: pd.Series[Any]) -> bool:
    """Return whether pandas stores a column as text or as Python objects."""
    import pandas as pd

    return isinstance(series.dtype, pd.StringDtype) or series.dtype == object


def _cleaned(
    series: pd.Series[Any], na_values: Sequence[str | float] | None, decimal: str, *, of_text: bool
) -> tuple[pd.Series[Any], dict[str, int]]:
    """Return a column without its symbols, and the number of cells with each of them."""
    import pandas as pd

    if is_text_like(series):
        return _cleaned_text(series, na_values, decimal, of_text=of_text)
    if not na_values:
        return series, {}
    if isinstance(series.dtype, pd.CategoricalDtype):
        texts = {str(value).strip() for value in na_values}
        removed = [level for level in series.cat.categories if str(level) in texts]
        counts = {str(level): int((series == level).sum()) for level in removed}
        return (series.cat.remove_categories(removed) if removed else series), counts
    if not pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
        return series, {}
    numbers = _numbers_among(na_values)
    counts = {f"{number:g}": int((series == number).sum()) for number in numbers}
    counts = {symbol: count for symbol, count in counts.items() if count}
    return (series.mask(series.isin(numbers)) if counts else series), counts


def _numbers_among(values: Sequence[str | float]) -> list[float]:
    """Return the values that are numbers or read as numbers."""
    parsed = [numbers_in([value]) if isinstance(value, str) else [float(value)] for value in values]
    return [float(numbers[0]) for numbers in parsed if numbers]


def _cleaned_text(
    series: pd.Series[Any], na_values: Sequence[str | float] | None, decimal: str, *, of_text: bool
) -> tuple[pd.Series[Any], dict[str, int]]:
    """Return a column of text, or of mixed objects, without its symbols, and the number of cells with each."""
    try:
        codes, uniques = distinct_values(series)
    # lists and dicts cannot be compared
    except TypeError:
        return series, {}
    distinct = list(uniques)
    check_texts(distinct, str(series.name))
    is_symbol = symbols_among(distinct, na_values)
    if is_symbol.all():
        return series, {}
    if not is_symbol.any():
        is_number = (
            of_text and all(isinstance(value, str) for value in distinct) and numbers_in(distinct, decimal)
        )
        return (from_distinct(series, codes, distinct, decimal) if is_number else series), {}
    cells = np.bincount(codes[codes >= 0], minlength=len(distinct))
    counts = {str(distinct[i]): int(cells[i]) for i in np.flatnonzero(is_symbol)}
    values = [None if symbol else value for value, symbol in zip(distinct, is_symbol)]
    return from_distinct(series, codes, values, decimal), counts


def symbols_among(
    distinct: Sequence[Any], na_values: Sequence[str | float] | None, *, has_marks: bool = False
) -> NDArray[np.bool_]:
    """Return which of the distinct values of a column stand for missing values, bool (n_distinct,).

    `MARKS` do so by the other values of the column, or in any case with `has_marks`.
    """
    stripped = [value.strip() if isinstance(value, str) else None for value in distinct]
    if na_values is not None and USUAL in na_values:
        further = [value for value in na_values if value != USUAL]
        return symbols_among(distinct, None, has_marks=has_marks) | symbols_among(distinct, further)
    if na_values is not None:
        texts = {str(value).strip() for value in na_values}
        numbers = set(_numbers_among(na_values))
        is_number = [isinstance(value, (int, float)) and value in numbers for value in distinct]
        is_text = [text in texts for text in stripped]
        return np.array(is_number, np.bool_) | np.array(is_text, np.bool_)
    is_word = np.array([text in WORDS for text in stripped], np.bool_)
    is_mark = np.array([text in MARKS for text in stripped], np.bool_)
    others = [
        text for text, word, mark in zip(stripped, is_word, is_mark) if text is not None and not word | mark
    ]
    if has_marks or all(any(character.isalnum() for character in text) for text in others):
        is_word |= is_mark
    return is_word


def from_distinct(
    series: pd.Series[Any], codes: NDArray[np.int64], values: Sequence[Any], decimal: str = "."
) -> pd.Series[Any]:
    """Return a column with other distinct values, of numbers or bools if all are so.

    `codes`, int64 (n_rows,), are the positions of the distinct values, -1 where missing, and None among the values is
    missing. `decimal` is the mark of numbers in text.
    """
    import pandas as pd

    present = [value for value in values if value is not None]
    converted, dtype = _converted(present, decimal)
    each = iter(converted)
    distinct = np.array([*(None if value is None else next(each) for value in values), None], dtype=object)
    return pd.Series(pd.array(distinct[codes], dtype=dtype), index=series.index, name=series.name)


def _converted(values: list[Any], decimal: str) -> tuple[list[Any], Any]:
    """Return distinct values as numbers or bools where all are so, and the pandas type of their column."""
    if all(isinstance(value, str) for value in values):
        truths = [_TRUTH.get(value.strip().lower()) for value in values]
        if all(truth is not None for truth in truths):
            return truths, "boolean"
        numbers = numbers_in(values, decimal)
        if numbers is None:
            return values, "string"
        return numbers, "Int64" if isinstance(numbers[0], int) else "Float64"
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return values, "boolean"
    if any(isinstance(value, (bool, np.bool_, str)) for value in values):
        return values, object
    if all(isinstance(value, (int, np.integer)) and abs(int(value)) < 2**63 for value in values):
        return values, "Int64"
    is_real = all(isinstance(value, (int, float, np.integer, np.floating)) for value in values)
    return values, "Float64" if is_real else object
