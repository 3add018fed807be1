"""Rows of a file that are none of its table: empty ones and notes at the end, and totals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
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
# as pivot tables call the totals of groups
_NAMED_SUM = re.compile(
    r".{1,40} (?:sub)?totals?|(?:sub)?total (?:of |for )?.{1,40}|(?:summe|gesamt|somme|suma|totaal) .{1,40}",
    re.IGNORECASE,
)
# in small letters; one of them is part of every name
_PARTS_OF_NAMES = (
    *(
        "total",
        "totaal",
        "sum",
        "gesamt",
        "somme",
        "all",
        "mean",
        "average",
        "avg",
        "mittelwert",
        "durchschnitt",
    ),
    *("moyenne", "promedio", "gemiddelde", "median"),
)
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
_MOST_TOTALS = 50
_TOLERANCE = 1e-6


class _Total(NamedTuple):
    """A row that is called a total: its position, the text that calls it so, and a key of `_NAMES`.

    `is_sure` says whether the text is nothing but such a name, unlike "North total".
    """

    position: int
    text: str
    what: str
    is_sure: bool


def is_note(line: str) -> bool:
    """Return whether a text is a note below a table, such as a source."""
    return bool(_NOTE.fullmatch(line.strip().strip('"').rstrip(",;\t ")))


def rows_of_table(frame: pd.DataFrame) -> tuple[int, list[int], list[Note], list[Note]]:
    """Return which rows of a frame are rows of its table: those before an end but for some positions.

    After these two come notes and warnings.

    Left out are empty rows at the end, rows at the end with one text alone that is a note, and rows that are called a
    total, a mean or a median and have the sums, means or medians of the rows before them, of those since the total
    before, or of those up to the next one. Last rows that are called so and have others stay, with a warning.
    """
    is_full = frame.notna().any(axis=1).to_numpy()
    if not is_full.any():
        return len(frame), [], [], []
    end = int(is_full.nonzero()[0][-1]) + 1
    n_empty = len(frame) - end
    texts: list[str] = []
    for position in range(end - 1, max(end - 1 - _MOST_LAST, 2), -1):
        if is_full[position]:
            if (text := _note_of(frame.iloc[position], frame)) is None:
                break
            texts.append(text)
            end = position
    while not is_full[end - 1]:
        end -= 1
    totals = _named_totals(frame.iloc[:end])
    agreement, of_all = _agreements(frame.iloc[:end], totals)
    doubts = []
    last = end
    while last > 0 and (last - 1 in totals or not is_full[last - 1]):
        last -= 1
    left_out = _left_out(totals, agreement)
    for position in range(end - 1, last - 1, -1):
        if position in totals and position not in left_out:
            if not agreement[position]:
                break
            left_out.append(position)
    left_out.sort()
    # a row without numbers is like any other, and so is one of a level that rows above have
    levels = {total.text.lower() for total in totals.values() if total.position < last}
    doubtful = [
        total
        for total in totals.values()
        if total.position >= last
        and total.is_sure
        and agreement[total.position] is False
        and total.text.lower() not in levels
    ]
    if doubtful:
        doubts.append(
            Note(
                f"The last {'row is' if len(doubtful) == 1 else 'rows are'} called {_texts_of(doubtful)}, but "
                f"{'has' if len(doubtful) == 1 else 'have'} no {_whats(doubtful, 's')} of the others, and counts "
                "like these.",
                ["remove from the file what is no row"],
            )
        )
    while end > 1 and (end - 1 in left_out or not is_full[end - 1]):
        end -= 1
    # the last row may also be a total of the rows since the one before
    of_others = [totals[p] for p in left_out if p >= end and p in of_all]
    for found in (of_others, [totals[p] for p in left_out if totals[p] not in of_others]):
        if found:
            is_one = len(found) == 1
            if found is of_others:
                rows, of = f"the last {'row' if is_one else 'rows'}", "the others"
            else:
                rows, of = counted(len(found), "row"), f"rows next to {'it' if is_one else 'them'}"
            doubts.append(
                Note(
                    f"Left out {rows}, {_texts_of(found)}, which {'has the' if is_one else 'have'} "
                    f"{_whats(found, '' if is_one else 's')} of {of}."
                )
            )
    if texts:
        shown = listed([repr(text[:60]) for text in reversed(texts)], 3)
        doubts.append(Note(f"Left out {counted(len(texts), 'line')} below the table: {shown}."))
    said = [Note(f"Left out {counted(n_empty, 'empty row')} at the end of the table.")] if n_empty else []
    return end, [p for p in left_out if p < end], said, doubts


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


def _named_totals(frame: pd.DataFrame) -> dict[int, _Total]:
    """Return the rows that are called a total, a mean or a median, by position, unless most rows are."""
    totals: dict[int, _Total] = {}
    for column in range(frame.shape[1]):
        series = frame.iloc[:, column]
        if not is_text_like(series):
            continue
        values = [value for value in series.dropna().unique() if isinstance(value, str)]
        # most columns of many texts have no such names
        joined = "\n".join(values).lower()
        parts = [part for part in _PARTS_OF_NAMES if part in joined]
        named: dict[object, tuple[str, bool]] = {}
        for value in values if parts else ():
            is_likely = any(part in value.lower() for part in parts)
            if is_likely and (found := _name_of(value.strip())) is not None:
                named[value] = found
        for position in np.flatnonzero(series.isin(list(named))) if named else ():
            what, is_sure = named[series.iloc[position]]
            totals.setdefault(
                int(position), _Total(int(position), series.iloc[position].strip(), what, is_sure)
            )
    return dict(sorted(totals.items())) if 2 * len(totals) <= len(frame) else {}


def _name_of(text: str) -> tuple[str, bool] | None:
    """Return the key of `_NAMES` that a text is, and whether it is nothing else; or None."""
    for what, names in _NAMES.items():
        if names.fullmatch(text):
            return what, True
    return ("sum", False) if _NAMED_SUM.fullmatch(text) else None


def _left_out(totals: Mapping[int, _Total], agreement: Mapping[int, bool | None]) -> list[int]:
    """Return the positions of totals of a name with which some rows agree and none disagrees."""
    groups: dict[str, list[int]] = {}
    for total in totals.values():
        groups.setdefault(total.text.lower() if total.is_sure else "", []).append(total.position)
    found = [(group, [agreement[position] for position in group]) for group in groups.values()]
    return [position for group, agree in found if True in agree and False not in agree for position in group]


def _texts_of(totals: Iterable[_Total]) -> str:
    """Return the different texts of totals."""
    return listed(dict.fromkeys(repr(total.text) for total in totals), 3)


def _whats(totals: Iterable[_Total], plural: str) -> str:
    """Return what rows are called to have of the others, in words."""
    return " or ".join(dict.fromkeys(f"{total.what}{plural}" for total in totals))


def _agreements(frame: pd.DataFrame, totals: Mapping[int, _Total]) -> tuple[dict[int, bool | None], set[int]]:
    """Return whether at least half of the numbers of rows are what they are called, all of those with a longer name.

    The second value has the positions of those that are this of all rows before them. None stands for a row without
    numbers to tell by, and for one that may be the total of a single row: a zero says nothing where it is the sum of
    zeros, nor does a number that all rows have, such as a year.
    """
    if not totals:
        return {}, set()
    names = {total.text for total in totals.values()}
    columns = [
        numbers for c in range(frame.shape[1]) if (numbers := _numbers(frame.iloc[:, c], names)) is not None
    ]
    rows = np.setdiff1d(np.arange(len(frame)), [*totals])
    ends = np.searchsorted(rows, [*totals])
    edges = [0, *ends.tolist(), len(rows)]
    agreement: dict[int, bool | None] = {}
    of_all: set[int] = set()
    for k, total in enumerate(totals.values()):
        before, since, until = (
            rows[: ends[k]],
            rows[edges[k] : edges[k + 1]],
            rows[edges[k + 1] : edges[k + 2]],
        )
        # of very many totals none is that of all rows
        scopes = [since, until] if len(totals) > _MOST_TOTALS else [before, since, until]
        found = [_agrees(columns, total, scope) if len(scope) > 1 else None for scope in scopes]
        if found[0] and scopes[0] is before:
            of_all.add(total.position)
        is_copy = any(
            len(scope) == 1 and _are_equal(columns, total.position, scope[0]) for scope in (since, until)
        )
        agreement[total.position] = (
            True if True in found else None if is_copy or False not in found else False
        )
    return agreement, of_all


def _are_equal(columns: Sequence[NDArray[np.float64]], position: int, other: int) -> bool:
    """Return whether two rows have the same numbers, as the total of one row has; gaps of the first do not count."""
    return all(np.isnan(numbers[position]) or numbers[position] == numbers[other] for numbers in columns)


def _agrees(columns: Sequence[NDArray[np.float64]], total: _Total, rows: NDArray[np.int64]) -> bool | None:
    """Return whether the numbers of a row are what it is called of some rows; see `_agreements`."""
    n_numbers = n_equal = 0
    for numbers in columns:
        number, others = numbers[total.position], numbers[rows]
        others = others[~np.isnan(others)]
        if np.isnan(number) or not others.size or (others == number).all():
            continue
        of_others = _VALUE_OF[total.what](others)
        n_numbers += 1
        n_equal += bool(abs(number - of_others) <= _TOLERANCE * abs(of_others))
    if not n_numbers:
        return None
    return n_equal > 0 and (2 * n_equal >= n_numbers if total.is_sure else n_equal == n_numbers)


def _numbers(series: pd.Series[Any], names: Set[str]) -> NDArray[np.float64] | None:
    """Return the numbers of a column, NaN where missing or a name; None if its texts are numbers with neither mark."""
    from pandas.api import types

    if types.is_bool_dtype(series.dtype):
        return None
    if types.is_numeric_dtype(series.dtype):
        return series.to_numpy(np.float64, na_value=np.nan)
    if not is_text_like(series):
        return None
    cells = ["" if is_gap else typed(str(value)) for value, is_gap in zip(series, series.isna(), strict=True)]
    distinct = [text for text in dict.fromkeys(cells) if text and text not in WORDS | MARKS | names]
    for mark in ".,":
        if (read := number_texts(distinct, mark)) is not None:
            number_of = dict(zip(distinct, read.numbers, strict=True))
            return np.array([number_of.get(cell) for cell in cells], np.float64)
    return None
