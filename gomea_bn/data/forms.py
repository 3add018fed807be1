"""Forms in which the texts of a column may be read: numbers, dates and times of day.

A column is read in a form only if all of its values fit it, and a note says how.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.dates import (
    DAY_MONTH,
    DAYS,
    HOURS,
    MONTH_DAY,
    CalendarTexts,
    as_numbers,
    calendar_texts,
    clock_texts,
    column_of_numbers,
    time_zone,
    zone_of_offsets,
)
from gomea_bn.data.files.reading import DATE, NUMBER, TEXT, TIME_OF_DAY, Note, number_form
from gomea_bn.data.frames import distinct_values, has_floats
from gomea_bn.data.number_texts import (
    CODE_PATTERN,
    NumberTexts,
    is_below_limit,
    is_measured,
    number_texts,
    numbers_in,
    typed,
)
from gomea_bn.data.symbols import USUAL, is_text_like
from gomea_bn.errors import GomeaBnError, Option, RowPositions, Setting, nearest
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

# texts of a column that a message shows
_MOST_TEXTS = 5
# different words, such as unknown, among dates
_MOST_WORDS = 3


class Formed(NamedTuple):
    """A frame whose dates and texts in forms of numbers are numbers.

    `names` are the new names, with units, of dates and times by the former name as text, and `time_zones` those of
    columns of dates by new name. `forms` are those by which rows of this kind must be read, by name, and `decimal` is
    the mark that the numbers of columns with a form need, None if they need none or differ. `doubts` are warnings, and
    `problems` errors, one for each kind of them; the columns of these are not in the frame.
    """

    frame: pd.DataFrame
    names: dict[str, str]
    time_zones: dict[str, str]
    forms: dict[str, str]
    notes: list[Note]
    doubts: list[Note]
    problems: list[GomeaBnError]
    decimal: str | None = None


class _Read(NamedTuple):
    """A column that is read in a form; `said` says how, and `form` how to read others so, if it must be said."""

    series: pd.Series[Any]
    unit: str = ""
    said: str = ""
    form: str = ""
    zone: str | None = None
    # what texts below or above a limit are read as, and the number of their cells, by the text
    limits: Mapping[str, tuple[float | None, int]] = MappingProxyType({})
    # the decimal mark without which the texts are other numbers or none
    mark: str = ""
    # texts among dates that are read as missing values, and the number of their cells
    undated: Mapping[str, int] = MappingProxyType({})


class _Ambiguous(Exception):
    """Raised for texts of two readings, with an example and the options that decide."""

    def __init__(self, example: str, option: str, values: tuple[str, str]) -> None:
        super().__init__(example)
        self.example, self.option, self.values = example, option, values


def with_forms(
    frame: pd.DataFrame,
    kinds: Mapping[str, str],
    forms: Mapping[str, str],
    *,
    dates: str,
    decimal: str | None,
    few: int,
) -> Formed:
    """Return a frame with dates, times, durations and texts in forms of numbers as numbers.

    Columns of text stay text if `kinds` calls them discrete or `forms` calls them text, and if they have at most `few`
    distinct values and `kinds` does not call them continuous. `dates` is "numbers", or "drop", which leaves the columns
    out. `decimal` is the decimal mark of numbers, None for one that the texts of a column must decide.
    """
    changed: dict[int, _Read] = {}
    ambiguous: dict[tuple[str, tuple[str, str]], list[tuple[str, str]]] = {}
    undecided: set[int] = set()
    others: list[tuple[str, dict[str, int], int]] = []
    measured: list[str] = []
    for position, (label, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        name = str(label)
        if has_floats(dtype) or forms.get(name) == TEXT:
            continue
        series = frame.iloc[:, position]
        try:
            read = _read(series, name, kinds.get(name), decimal, 0 if name in forms else few)
        except _Ambiguous as doubt:
            ambiguous.setdefault((doubt.option, doubt.values), []).append((name, doubt.example))
            undecided.add(position)
            continue
        if read is not None:
            changed[position] = read
        elif kinds.get(name) != "discrete" and (found := _texts_among_numbers(series)):
            others.append((name, *found))
        elif kinds.get(name) is None and (texts := _measured(series, few)):
            measured.append(f"'{name}' ({listed(map(repr, texts), 2)})")
    doubts = _doubts(frame, changed, others)
    if measured:
        doubts.append(
            Note(
                "Texts begin with numbers, but not all with those of one unit, and are read as texts: "
                f"{listed(measured, 5)}.",
                [
                    "give both parts of texts such as 120/80 columns of their own",
                    "convert numbers to one unit",
                ],
            )
        )
    problems = [_problem(option, values, columns) for (option, values), columns in ambiguous.items()]
    if not changed and not undecided:
        return Formed(frame, {}, {}, {}, [], doubts, problems)
    named = {position: str(frame.columns[position]) for position in changed}
    names = {named[p]: f"{named[p]} [{read.unit}]" for p, read in changed.items() if read.unit}
    detected = {named[position]: read.form for position, read in changed.items() if read.form}
    parts, labels, dropped = [], [], []
    for position, label in enumerate(frame.columns):
        read = changed.get(position)
        if position in undecided:
            continue
        if read is not None and read.unit and dates == "drop":
            dropped.append(repr(str(label)))
            continue
        parts.append(frame.iloc[:, position] if read is None else read.series)
        labels.append(names.get(str(label), label) if read is not None else label)
    notes = _notes(changed, named, {} if dropped else names)
    if dropped:
        notes.append(Note(f"Left out columns of dates and times: {listed(dropped, 10)}."))
        names = {}
    zones = {names[named[p]]: read.zone for p, read in changed.items() if read.zone and named[p] in names}
    if not parts:
        return Formed(frame.iloc[:, :0], names, zones, detected, notes, doubts, problems)
    import pandas as pd

    formed = pd.concat(parts, axis=1, keys=range(len(parts))).set_axis(labels, axis=1)
    marks = {read.mark for read in changed.values() if read.mark}
    mark = marks.pop() if len(marks) == 1 else None
    return Formed(formed, names, zones, detected, notes, doubts, problems, mark)


def in_given_forms(
    frame: pd.DataFrame, forms: Mapping[str, str], decimal: str | None
) -> tuple[pd.DataFrame, list[Note], dict[str, pd.Series[Any]]]:
    """Return a frame with the columns that `forms` names in these forms, warnings, and texts with limits by column.

    These texts, such as "<0.006", stand in columns of their own, missing in all other rows. Forms of other columns do
    not count. Raises `GomeaBnError` for a text that does not fit its form.
    """
    parts = {}
    for position, label in enumerate(frame.columns):
        form = forms.get(str(label), TEXT)
        if form != TEXT and not has_floats(frame.dtypes.iloc[position]):
            parts[position] = _in_form(frame.iloc[:, position], str(label), form, decimal)
    if not parts:
        return frame, [], {}
    formed = frame.copy(deep=False)
    limited = {}
    for position, read in parts.items():
        formed.isetitem(position, read.series.array)
        if read.limits:
            texts = frame.iloc[:, position].astype("string").str.strip()
            limited[str(frame.columns[position])] = texts.where(
                texts.map(typed, na_action="ignore").isin(read.limits)
            )
    return formed, _doubts(frame, parts, []), limited


def check_form_names(forms: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise `GomeaBnError` for the form of a column that there is not."""
    for name in forms:
        if name not in names:
            raise GomeaBnError([Option("forms"), f": unknown column '{name}'.{nearest(name, names)}"])


def _in_form(series: pd.Series[Any], name: str, form: str, decimal: str | None) -> _Read:
    """Return a column in a form that was asked for; numbers in files and dates of pandas already are."""
    from pandas.api import types

    kind, _, more = form.partition(" ")
    if not is_text_like(series):
        if kind != DATE or not types.is_integer_dtype(series.dtype):
            return _Read(series)
        # whole numbers such as 20190110
        series = series.astype("string")
    codes, uniques = distinct_values(series)
    texts = [typed(str(value)) for value in uniques]

    def read(some: Sequence[str]) -> Any:
        if kind == NUMBER:
            unit, limit = number_form(form) or (None, None)
            return _numbers_of(some, decimal, unit, limit, is_given=True)
        return clock_texts(some) if form == TIME_OF_DAY else calendar_texts(some, more)

    words: list[str] = []
    if kind == DATE:
        # a few words are missing values here, however few the dates of new rows are
        words = [text for text in texts if not any(map(str.isdigit, text))]
        words = words if len(words) <= _MOST_WORDS else []
    try:
        found = read([text for text in texts if text not in words]) if len(words) < len(texts) else None
    except _Ambiguous as doubt:
        raise _problem(doubt.option, doubt.values, [(name, doubt.example)]) from None
    if found is None and len(words) < len(texts):
        wrong = next((k for k, text in enumerate(texts) if text not in words and read([text]) is None), 0)
        raise _wrong_form(name, form, texts[wrong], np.flatnonzero(codes == wrong))
    if not texts or form == TIME_OF_DAY:
        return _Read(series)
    if kind == NUMBER and found is not None:
        found, _ = found
        return _Read(_column(found.numbers, codes, series), limits=_limits(found, texts, codes))
    if found is not None and found.order == "?":
        orders = (f"{DATE} {DAY_MONTH}", f"{DATE} {MONTH_DAY}")
        raise _problem("forms", orders, [(name, next(text for text in texts if text not in words))])
    days = np.full(len(texts), np.nan)
    days[[text not in words for text in texts]] = [] if found is None else found.values
    undated = _undated(days, texts, codes)
    return _Read(_moments(np.append(days, np.nan)[codes], series), undated=undated)


def _limits(
    found: NumberTexts, texts: Sequence[str], codes: NDArray[Any]
) -> dict[str, tuple[float | None, int]]:
    """Return what texts with a limit are read as, and the number of their cells."""
    cells = dict(zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()))
    return {text: (value, cells[text]) for text, value in found.limits.items()}


def _wrong_form(name: str, form: str, value: object, rows: NDArray[Any]) -> GomeaBnError:
    return GomeaBnError(
        [
            Option("forms"),
            f": column '{name}' must hold what reads as {form!r}, got {value!r:.60} in ",
            RowPositions(rows),
            ".",
        ],
        ["repair or drop these rows", Setting("forms", TEXT, name)],
    )


def _moments(days: NDArray[np.float64], series: pd.Series[Any]) -> pd.Series[Any]:
    """Return days since 1970-01-01 as dates of pandas, in the order of a column."""
    import pandas as pd

    moments = np.full(len(days), np.datetime64("NaT", "us"))
    is_day = ~np.isnan(days)
    moments[is_day] = np.rint(days[is_day] * 86_400e6).astype(np.int64).view("datetime64[us]")
    return pd.Series(moments, series.index, name=series.name)


def _read(series: pd.Series[Any], name: str, kind: str | None, decimal: str | None, few: int) -> _Read | None:
    """Return a column as numbers, or None for one that has no form or is to stay as it is."""
    from pandas import CategoricalDtype
    from pandas.api import types

    # pandas warns of categories that are booleans
    if not isinstance(series.dtype, CategoricalDtype) and types.is_bool_dtype(series.dtype):
        return None
    if types.is_integer_dtype(series.dtype):
        return None if kind is not None else _compact_dates(series, name, few)
    is_text = is_text_like(series)
    if is_text and _stays_text(series, kind, few):
        return None
    converted = (
        as_numbers(series, name) if not is_text or types.infer_dtype(series.dropna()) != "string" else None
    )
    if converted is not None:
        zone = time_zone(series) if converted[1] == DAYS else None
        return _Read(converted[0], converted[1], zone=zone)
    if not is_text:
        return None
    try:
        codes, uniques = distinct_values(series)
    except TypeError:
        # cells such as lists are refused where columns are made
        return None
    if not len(uniques) or not all(isinstance(value, str) for value in uniques):
        return None
    texts = [typed(value) for value in uniques]
    if (hours := clock_texts(texts)) is not None:
        return _Read(column_of_numbers(np.append(hours, np.nan)[codes], series), HOURS)
    if (dates := calendar_texts(texts)) is not None:
        return _dates(dates, texts, codes, series)
    if (dates := _dates_among(texts)) is not None:
        return _dates(dates, texts, codes, series)
    if _are_plain(uniques):
        # they stay text, as they were given
        return None
    return _numbers(texts, list(uniques), codes, series, decimal)


def _dates(dates: CalendarTexts, texts: list[str], codes: NDArray[Any], series: pd.Series[Any]) -> _Read:
    if dates.order == "?":
        example = next(text for text, day in zip(texts, dates.values, strict=True) if not np.isnan(day))
        raise _Ambiguous(example, "forms", (f"{DATE} {DAY_MONTH}", f"{DATE} {MONTH_DAY}"))
    numbers = column_of_numbers(np.append(dates.values, np.nan)[codes], series)
    undated = _undated(dates.values, texts, codes)
    example = next(text for text, day in zip(texts, dates.values, strict=True) if not np.isnan(day))
    said = "" if dates.form == "year-month-day" else f", from {dates.form} such as {example!r}"
    form = f"{DATE} {dates.order}" if dates.order else DATE if undated else ""
    return _Read(numbers, DAYS, said, form, zone_of_offsets(dates.zones), undated=undated)


def _dates_among(texts: list[str]) -> CalendarTexts | None:
    """Return the days of texts of which a few are words without digits, NaN for these; or None."""
    positions = [k for k, text in enumerate(texts) if any(map(str.isdigit, text))]
    n_words = len(texts) - len(positions)
    if not positions or n_words > min(_MOST_WORDS, len(positions) // 3):
        return None
    dates = calendar_texts([texts[k] for k in positions])
    if dates is None:
        return None
    days = np.full(len(texts), np.nan)
    days[positions] = dates.values
    return dates._replace(values=days)


def _undated(days: NDArray[np.float64], texts: Sequence[str], codes: NDArray[Any]) -> dict[str, int]:
    """Return the texts that are no dates, and the number of their cells."""
    cells = np.bincount(codes[codes >= 0], minlength=len(texts))
    return {texts[k]: int(cells[k]) for k in np.flatnonzero(np.isnan(days)).tolist()}


def _compact_dates(series: pd.Series[Any], name: str, few: int) -> _Read | None:
    """Return whole numbers such as 20190110 as days, if all are days of the calendar and some differ."""
    present = series.dropna()
    if not len(present) or present.iloc[0] < 19000101 or present.nunique() <= few:
        return None
    converted = as_numbers(series, name)
    if converted is None:
        return None
    example = f", from year-month-day such as {present.iloc[0]}"
    return _Read(converted[0], DAYS, example, DATE)


def _numbers(
    texts: list[str], uniques: list[str], codes: NDArray[Any], series: pd.Series[Any], decimal: str | None
) -> _Read | None:
    """Return texts as numbers that have a unit, marks of groups or limits; `texts` are typed as on a keyboard."""
    read = _numbers_of(texts, decimal)
    if read is None:
        return None
    found, mark = read
    how = [f"in {found.unit}"] if found.unit else []
    odd = [k for k, text in enumerate(uniques) if not _are_plain([text])]
    # a minus sign that stands elsewhere must not be overlooked
    turned = [k for k in odd if re.search(r"\)|\d-$", texts[k]) and (found.numbers[k] or 0) < 0]
    # a word such as trace does not show how numbers are written
    position = (turned or [k for k in odd if any(map(str.isdigit, texts[k]))] or odd)[0]
    value = f" for {found.numbers[position]:g}" if turned else ""
    without = [f"without the flags {listed(map(repr, found.flags), 5)}"] if found.flags else []
    form = NUMBER + (f" in {found.unit}" if found.unit else "")
    if found.limit is not None:
        form += f" with limit {str(found.limit).removesuffix('.0')}"
    return _Read(
        _column(found.numbers, codes, series),
        said=" ".join([*how, f"(such as {uniques[position].strip()!r}{value})", *without]),
        form=form,
        limits=_limits(found, texts, codes),
        mark=mark,
    )


def _numbers_of(
    texts: Sequence[str],
    decimal: str | None,
    unit: str | None = None,
    limit: float | None = None,
    *,
    is_given: bool = False,
) -> tuple[NumberTexts, str] | None:
    """Return what distinct texts stand for as of `number_texts`, and the decimal mark if only that makes them these.

    Raises `_Ambiguous` for texts that are different numbers with both marks, of which none is given.
    """
    fitting = {
        mark: found for mark in ".," if (found := number_texts(texts, mark, unit, limit, is_given=is_given))
    }
    differing = [
        text
        for text, *numbers in zip(texts, *(found.numbers for found in fitting.values()))
        if len({*numbers}) == 2
    ]
    if differing and not decimal:
        raise _Ambiguous(differing[0], "decimal", (".", ","))
    mark = decimal or next(iter(fitting), "")
    return (fitting[mark], mark if differing or len(fitting) == 1 else "") if mark in fitting else None


def _are_plain(texts: Sequence[str]) -> bool:
    """Return whether texts are numbers as Python writes them."""
    try:
        [float(text) for text in texts]
    except ValueError:
        return False
    return True


def _column(numbers: Sequence[float | None], codes: NDArray[Any], series: pd.Series[Any]) -> pd.Series[Any]:
    """Return the numbers of distinct values as a column; missing cells have the code -1."""
    import pandas as pd

    whole = all(isinstance(number, int) for number in numbers)
    each = np.array([*numbers, None], dtype=object)[codes]
    return pd.Series(pd.array(each, dtype="Int64" if whole else "Float64"), series.index, name=series.name)


def _stays_text(series: pd.Series[Any], kind: str | None, few: int) -> bool:
    """Return whether a column of text is not to be looked at, because it is discrete."""
    if kind is not None:
        return kind == "discrete"
    try:
        return bool(series.nunique() <= few)
    # lists and dicts cannot be compared
    except TypeError:
        return True


def _texts_among_numbers(series: pd.Series[Any]) -> tuple[dict[str, int], int] | None:
    """Return the texts of a column that are no numbers, by how often they occur; None unless most cells are numbers."""
    from pandas.api import types

    if not is_text_like(series):
        return None
    values = series.dropna()
    if types.infer_dtype(values, skipna=True) != "string":
        return None
    counts = values.value_counts()
    found: dict[str, int] = {}
    number = n_limits = 0
    for text, n_cells in zip(counts.index, counts.tolist(), strict=True):
        if CODE_PATTERN.fullmatch(text.strip()):
            return None
        if numbers_in([text]) is None and numbers_in([text], ",") is None:
            found[text.strip()] = n_cells
            number += n_cells
            n_limits += n_cells if is_below_limit(text) else 0
            # of columns of texts a few say enough; limits are numbers, too
            if 2 * (number - n_limits) >= len(values):
                return None
    return (found, number) if 0 < number < len(values) else None


def _measured(series: pd.Series[Any], few: int) -> list[str]:
    """Return texts of a column that all begin with a number, if there are more than a few and some are no numbers."""
    if not is_text_like(series):
        return []
    try:
        texts = list(series.dropna().unique())
    # lists and dicts cannot be compared
    except TypeError:
        return []
    if len(texts) <= few or not all(isinstance(text, str) and is_measured(text) for text in texts):
        return []
    odd = [text.strip() for text in texts if numbers_in([text]) is None and numbers_in([text], ",") is None]
    return odd[:3]


def _doubts(
    frame: pd.DataFrame, changed: Mapping[int, _Read], others: Sequence[tuple[str, dict[str, int], int]]
) -> list[Note]:
    doubts = []
    limits = {str(frame.columns[p]): read.limits for p, read in changed.items() if read.limits}
    if limits:
        shown = _by_column(limits, lambda text, read: _shown(text, *read))
        doubts.append(
            Note(
                "Values below a limit are read as half of it (as the limit if that is not positive), values above one "
                "as the limit, and words by the smallest limit of the column (missing where no text states one), in "
                f"{counted(len(limits), 'column')}: {shown}. To read them as missing values:",
                [_usual_and([text for of_column in limits.values() for text in of_column])],
            )
        )
    undated = {str(frame.columns[p]): read.undated for p, read in changed.items() if read.undated}
    if undated:
        shown = _by_column(undated, lambda text, n: f"{n} {text!r}")
        doubts.append(
            Note(
                f"Texts among dates are read as missing values in {counted(len(undated), 'column')}: "
                f"{shown}. To keep a column as text:",
                [Setting("forms", TEXT, next(iter(undated)))],
            )
        )
    if others:
        by_column = [
            f"all but {counted(number, 'cell')} of '{name}' are numbers ("
            f"{listed([f'{n} {text!r}' for text, n in texts.items()], _MOST_TEXTS)} are not)"
            for name, texts, number in others
        ]
        words = listed(by_column, 10)
        texts = [text for _, of_column, _ in others for text in of_column]
        # texts with digits are values
        symbols = [text for text in texts if not any(map(str.isdigit, text))]
        limited = [name for name, of_column, _ in others if any(map(is_below_limit, of_column))]
        aims = {
            f"If {'these texts' if symbols == texts else 'those without digits'} stand for missing values": symbols,
            "To read limits as numbers": limited,
        }
        said = "; ".join(aim for aim, reasons in aims.items() if reasons)
        advice = [_usual_and(symbols)] if symbols else []
        advice += [Setting("kinds", "continuous", name) for name in limited[:1]]
        more = f" {said}:" if said else " Such columns are read as texts."
        doubts.append(Note(f"{words[0].upper()}{words[1:]}.{more}", advice))
    return doubts


def _by_column(texts: Mapping[str, Mapping[str, Any]], say: Callable[[str, Any], str]) -> str:
    """Return the texts of columns in words, given what to say of each."""
    return listed(
        [
            f"'{name}' ({listed([say(text, read) for text, read in of_column.items()], _MOST_TEXTS)})"
            for name, of_column in texts.items()
        ],
        10,
    )


def _shown(text: str, value: float | None, n_cells: int) -> str:
    return f"{n_cells} {text!r} as {'missing' if value is None else f'{value:g}'}"


def _usual_and(texts: Sequence[str]) -> Setting:
    """Return the advice to read texts as missing values next to the usual ones."""
    return Setting("na_values", (USUAL, *dict.fromkeys(texts)))


def _problem(option: str, values: tuple[str, str], columns: Sequence[tuple[str, str]]) -> GomeaBnError:
    """Return the error about columns whose texts have two readings."""
    name, example = columns[0]
    names = listed([f"'{each}'" for each, _ in columns], 10)
    subject = f"Column {names} holds" if len(columns) == 1 else f"Columns {names} hold"
    if option == "decimal":
        return GomeaBnError(
            f"{subject} numbers such as {example!r}, whose mark may be that of decimals or of thousands.",
            [Setting(option, value) for value in values],
        )
    return GomeaBnError(
        f"{subject} dates such as {example!r}, in which day and month cannot be distinguished.",
        [
            *(Setting(option, value, name) for value in values),
            "write them as YYYY-MM-DD",
            Setting("kinds", "discrete", name),
            Setting("drop", name),
        ],
    )


def _notes(changed: Mapping[int, _Read], named: Mapping[int, str], names: Mapping[str, str]) -> list[Note]:
    """Return notes that say how columns were read."""
    notes = []
    dated = [
        f"'{named[p]}' as '{names[named[p]]}'{read.said}" for p, read in changed.items() if named[p] in names
    ]
    if dated:
        notes.append(
            Note(
                [
                    f"Dates and times are read as numbers: {listed(dated, 5)}; ",
                    Option("dates", "drop"),
                    " leaves them out.",
                ]
            )
        )
    numbers = [f"'{named[p]}' {read.said}" for p, read in changed.items() if not read.unit]
    if numbers:
        notes.append(
            Note(
                [
                    f"Texts are read as numbers: {listed(numbers, 5)}; ",
                    Option("forms"),
                    " sets how the texts of a column are read, text for none.",
                ]
            )
        )
    return notes
