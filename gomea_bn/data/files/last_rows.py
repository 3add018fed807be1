"""Rows at the end of a table that are none of its rows: empty ones, totals, and notes such as a source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.files.reading import Note
from gomea_bn.data.number_texts import number_texts, typed
from gomea_bn.data.symbols import MARKS, WORDS, is_text_like
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

_TOTAL = re.compile(
    r"(?:(?:grand |sub)?totals?|total général|total general|sum|summe|gesamt(?:summe)?|insgesamt|somme|suma|totaal|all|"
    r"mean|average|avg\.?|median|mittelwert|durchschnitt|moyenne|promedio|gemiddelde)(?:\s*[:(].*)?",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"(?:sources?|quellen?|fuente|bron|notes?|nb|n\.b\.|anmerkung(?:en)?|hinweise?|remarks?|legend|legende|generated|"
    r"created|exported|printed|downloaded|retrieved|erstellt|exportiert|gedruckt|stand|copyright|end of|"
    r"page|seite)\b.*|[*†©].*",
    re.IGNORECASE | re.DOTALL,
)
# rows at the end that may be no rows of the table
_MOST_LAST = 12
_TOLERANCE = 1e-6


def is_note(line: str) -> bool:
    """Return whether a text is a note below a table, such as a source."""
    return bool(_NOTE.fullmatch(line.strip().strip('"').rstrip(",;\t ")))


def end_of_rows(frame: pd.DataFrame) -> tuple[int, list[Note], list[Note]]:
    """Return the number of rows of a table without those at its end that are none, notes, and warnings.

    Left out are empty rows, rows with one text alone that is a note, and rows that are called a total or a mean and
    have the sums or means of the others. Rows that are called so and have none stay, with a warning.
    """
    is_full = frame.notna().any(axis=1).to_numpy()
    if not is_full.any():
        return len(frame), [], []
    end = int(is_full.nonzero()[0][-1]) + 1
    n_empty = len(frame) - end
    notes: list[str] = []
    totals: list[tuple[int, str]] = []
    for position in range(end - 1, max(end - 1 - _MOST_LAST, 2), -1):
        row = frame.iloc[position]
        if not totals and (text := _note_of(row, frame)) is not None:
            notes.append(text)
        elif (text := _name_of_total(row, frame, position)) is not None:
            totals.append((position, text))
        elif is_full[position]:
            break
        else:
            continue
        end = position
    while not is_full[end - 1]:
        end -= 1
    doubts = []
    if totals:
        left_out = [(position, text) for position, text in totals if _sums_up(frame, position, end)]
        if len(left_out) < len(totals):
            stays = [repr(text) for _, text in totals if text not in dict(left_out).values()]
            doubts.append(
                Note(
                    f"The last {'row is' if len(stays) == 1 else 'rows are'} called {listed(stays, 3)}, but "
                    f"{'has' if len(stays) == 1 else 'have'} no sums of the others, and counts like these.",
                    ["remove from the file what is no row"],
                )
            )
            end = max(position for position, text in totals if repr(text) in stays) + 1
            left_out = [(position, text) for position, text in left_out if position >= end]
        if left_out:
            names = listed([repr(text) for _, text in reversed(left_out)], 3)
            what = "the last row" if len(left_out) == 1 else "the last rows"
            has = "has the sum" if len(left_out) == 1 else "have sums or means"
            doubts.append(Note(f"Left out {what}, {names}, which {has} of the others."))
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
    if not (is_alone or is_note(text)) or not all(isinstance(value, str) for value in row[cells]):
        return None
    # where rows are short as a rule, this is one of them
    others = frame.iloc[: max(len(frame) - _MOST_LAST, len(frame) // 2)]
    return None if (others.notna().sum(axis=1) == n_values).any() else text.strip()


def _name_of_total(row: pd.Series[Any], frame: pd.DataFrame, position: int) -> str | None:
    """Return the text by which a row is called a total or a mean, which no row above has; or None."""
    for column, value in enumerate(row):
        is_name = isinstance(value, str) and _TOTAL.fullmatch(value.strip())
        if is_name and not frame.iloc[:position, column].eq(value).fillna(False).any():
            return str(value).strip()
    return None


def _sums_up(frame: pd.DataFrame, position: int, end: int) -> bool:
    """Return whether at least half of the numbers of a row are sums, means or medians of the rows before `end`."""
    n_numbers = n_sums = 0
    for column in range(frame.shape[1]):
        series = frame.iloc[:, column]
        for numbers in _numbers(series.iloc[[*range(end), position]]):
            present, total = numbers[:-1][~np.isnan(numbers[:-1])], numbers[-1]
            if not present.size or np.isnan(total):
                continue
            of_all = (present.sum(), present.mean(), np.median(present))
            is_sum = any(abs(total - value) <= _TOLERANCE * abs(value) for value in of_all if value)
            n_numbers += 1
            n_sums += is_sum
            break
    return n_sums > 0 and 2 * n_sums >= n_numbers


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
