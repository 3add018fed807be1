"""Rows at the end of a table that are none of its rows: empty ones, totals, and notes such as a source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.files.reading import Note
from gomea_bn.data.number_texts import number_texts, typed
from gomea_bn.data.symbols import MARKS, WORDS, is_text_like
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

# names of rows by what they hold of the others
_NAMES = {
    what: re.compile(rf"(?:{names})(?:\s*[:(].*)?", re.IGNORECASE)
    for what, names in {
        "sum": r"(?:grand |sub)?totals?|total général|total general|sum|summe|gesamt(?:summe)?|insgesamt|somme|suma|"
        r"totaal|all",
        "mean": r"mean|average|avg\.?|mittelwert|durchschnitt|moyenne|promedio|gemiddelde",
        "median": "median",
    }.items()
}
_VALUE_OF: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "sum": lambda numbers: float(numbers.sum()),
    "mean": lambda numbers: float(numbers.mean()),
    "median": lambda numbers: float(np.median(numbers)),
}
# words with which names begin, too, such as that of Page County
_AMBIGUOUS = (
    r"(?:legend|legende|generated|created|exported|printed|downloaded|retrieved|erstellt|exportiert|gedruckt|stand|"
    r"end of|page|seite)\b"
)
_NOTE = re.compile(
    r"(?:sources?|quellen?|fuente|bron|notes?|nb|n\.b\.|anmerkung(?:en)?|hinweise?|remarks?|copyright)\b.*|"
    rf"{_AMBIGUOUS}.*|[*†©].*",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(rf"{_AMBIGUOUS}[^:\d]*", re.IGNORECASE)
# rows at the end that may be no rows of the table
_MOST_LAST = 12
_TOLERANCE = 1e-6


class _Total(NamedTuple):
    """A row that is called a total: its position, the text that calls it so, and a key of `_NAMES`."""

    position: int
    text: str
    what: str


def is_note(line: str) -> bool:
    """Return whether a text is a note below a table, such as a source."""
    return bool(_NOTE.fullmatch(line.strip().strip('"').rstrip(",;\t ")))


def end_of_rows(frame: pd.DataFrame) -> tuple[int, list[Note], list[Note]]:
    """Return the number of rows of a table without those at its end that are none, notes, and warnings.

    Left out are empty rows, rows with one text alone that is a note, and rows that are called a total, a mean or a
    median and have the sums, means or medians of the others. Rows that are called so and have others stay, with a
    warning.
    """
    is_full = frame.notna().any(axis=1).to_numpy()
    if not is_full.any():
        return len(frame), [], []
    end = int(is_full.nonzero()[0][-1]) + 1
    n_empty = len(frame) - end
    notes: list[str] = []
    totals: list[_Total] = []
    for position in range(end - 1, max(end - 1 - _MOST_LAST, 2), -1):
        row = frame.iloc[position]
        if not totals and (text := _note_of(row, frame)) is not None:
            notes.append(text)
        elif (total := _named_total(row, frame, position)) is not None:
            totals.append(total)
        elif is_full[position]:
            break
        else:
            continue
        end = position
    while not is_full[end - 1]:
        end -= 1
    doubts = []
    if totals:
        totals.reverse()
        agreement = {total.position: _agreement(frame, total, end) for total in totals}
        if stay := [total for total in totals if not agreement[total.position]]:
            end = stay[-1].position + 1
        # a row without numbers is like any other
        if doubtful := [total for total in stay if agreement[total.position] is False]:
            doubts.append(
                Note(
                    f"The last {'row is' if len(doubtful) == 1 else 'rows are'} called {_texts_of(doubtful)}, but "
                    f"{'has' if len(doubtful) == 1 else 'have'} no {_whats(doubtful, 's')} of the others, and counts "
                    "like these.",
                    ["remove from the file what is no row"],
                )
            )
        if left_out := [total for total in totals if total.position >= end]:
            what, has, plural = ("row", "has the", "") if len(left_out) == 1 else ("rows", "have", "s")
            doubts.append(
                Note(
                    f"Left out the last {what}, {_texts_of(left_out)}, which {has} {_whats(left_out, plural)} of the "
                    "others."
                )
            )
    if notes:
        shown = listed([repr(text[:60]) for text in reversed(notes)], 3)
        doubts.append(Note(f"Left out {counted(len(notes), 'line')} below the table: {shown}."))
    said = [Note(f"Left out {counted(n_empty, 'empty row')} at the end of the table.")] if n_empty else []
    return end, said, doubts


def _note_of(row: pd.Series[Any], frame: pd.DataFrame) -> str | None:
    """Return the text of a row that is a note, a text in its first cell with most others empty; or None."""
    cells = row.notna().to_numpy()
    n_values, text = int(cells.sum()), row.iloc[0]
    if not isinstance(text, str) or 2 * n_values > len(cells):
        return None
    is_alone = n_values == 1 and len(cells) > 2 and len(text.split()) > 1
    is_said = is_note(text) and (n_values == 1 or not _NAME.fullmatch(text.strip()))
    if not (is_alone or is_said) or not all(isinstance(value, str) for value in row[cells]):
        return None
    # where rows are short as a rule, this is one of them
    others = frame.iloc[: max(len(frame) - _MOST_LAST, len(frame) // 2)]
    return None if (others.notna().sum(axis=1) == n_values).any() else text.strip()


def _named_total(row: pd.Series[Any], frame: pd.DataFrame, position: int) -> _Total | None:
    """Return a row that is called a total, a mean or a median by a text that no row above has; or None."""
    for column, value in enumerate(row):
        if not isinstance(value, str):
            continue
        for what, names in _NAMES.items():
            is_new = names.fullmatch(value.strip()) is not None
            if is_new and not frame.iloc[:position, column].eq(value).fillna(False).any():
                return _Total(position, value.strip(), what)
    return None


def _texts_of(totals: Iterable[_Total]) -> str:
    return listed([repr(total.text) for total in totals], 3)


def _whats(totals: Iterable[_Total], plural: str) -> str:
    """Return what rows are called to have of the others, in words."""
    return " or ".join(dict.fromkeys(f"{total.what}{plural}" for total in totals))


def _agreement(frame: pd.DataFrame, total: _Total, end: int) -> bool | None:
    """Return whether at least half of the numbers of a row are what it is called of the rows before `end`.

    None if it has no numbers to tell by: a zero says nothing where it is the sum of zeros.
    """
    n_numbers = n_equal = 0
    for column in range(frame.shape[1]):
        series = frame.iloc[:, column]
        for numbers in _numbers(series.iloc[[*range(end), total.position]]):
            present, number = numbers[:-1][~np.isnan(numbers[:-1])], numbers[-1]
            if not present.size or np.isnan(number):
                continue
            of_others = _VALUE_OF[total.what](present)
            if number or of_others:
                n_numbers += 1
                n_equal += bool(abs(number - of_others) <= _TOLERANCE * abs(of_others))
            break
    return n_equal > 0 and 2 * n_equal >= n_numbers if n_numbers else None


def _numbers(series: pd.Series[Any]) -> list[NDArray[np.float64]]:
    """Return the numbers of a column, NaN where missing, by each decimal mark with which all texts are numbers."""
    from pandas.api import types

    if types.is_bool_dtype(series.dtype):
        return []
    if types.is_numeric_dtype(series.dtype):
        return [series.to_numpy(np.float64, na_value=np.nan)]
    if not is_text_like(series):
        return []
    cells = ["" if is_gap else typed(str(value)) for value, is_gap in zip(series, series.isna(), strict=True)]
    distinct = [text for text in dict.fromkeys(cells) if text and text not in WORDS | MARKS]
    read = [number_texts(distinct, mark) for mark in ".,"]
    return [
        np.array([number_of.get(cell) for cell in cells], np.float64)
        for number_of in (dict(zip(distinct, each.numbers, strict=True)) for each in read if each is not None)
    ]
