"""Columns: how their values are stored, numbers, levels, gaps, kinds. Tables and new rows share these rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.dates import as_numbers, source_name, unit_of
from gomea_bn.data.frames import distinct_values, has_floats, plain, plain_frame
from gomea_bn.data.kernels import MISSING as MOST_LEVELS
from gomea_bn.data.number_texts import number_texts
from gomea_bn.errors import GomeaBnError, RowPositions, Setting, give_warning, nearest
from gomea_bn.runtime.threads import in_threads
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

Level = str | int | float | bool
YES = frozenset({"1", "1.0", "true", "t", "yes", "y"})
"""Texts of levels that say yes, in small letters."""

LARGEST_EXACT = 2**53
"""Integers up to this size are distinct as float64."""

LEAST_RANGE = 1e-303
"""Smallest range of a continuous column: densities over narrower ones exceed float64."""

EMPTY_LEVEL = "(empty)"
"""Only level of a column without values, for which every missing value counts."""

MISSING_CODE = -1
"""Code of a missing value in a discrete column; as uint8 it is 255, one more than the largest code of a level."""

ROWS_IN_CACHE = 1 << 16
"""Rows of a tall table that are dealt with at once: a column of float64 stays in the cache of a core."""

MANY_ROWS = 50_000
"""Number of rows beyond which a column is worth threads, and ways of computing that pay for many values."""

ROWS_WORTH_THREADS = 300_000
"""Number of rows beyond which columns are prepared in threads; on fewer, threads wait for the interpreter."""

FEW_ROWS = 100
"""Rows of a column that are looked at before all of them."""

# most columns that a message about gaps names
_MOST_LINES = 10
_REFUSED = {
    "complex": "use its real part or its modulus",
    "datetime": "turn it into numbers, for example days: (x - x.min()).dt.total_seconds() / 86400",
    "timedelta": "turn it into numbers: x.dt.total_seconds()",
    "period": "turn it into numbers or text: x.astype(str)",
    "interval": "turn it into text: x.astype(str)",
    "bytes": "turn it into text: x.str.decode('utf-8')",
    "nested": "lists, tuples, dicts and arrays are not values of one variable: give each part its own column",
    "mixed": "make it one type, for example x.astype(str), or repair the odd values",
}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One variable of a table.

    Attributes
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,), read-only
        Continuous columns: float64 in original units, NaN where missing. Discrete columns: int32 codes into `levels`,
        `MISSING_CODE` where missing.
    levels : tuple or None
        Discrete values in code order; None for a continuous column.
    reason : str
        Rule that decided the kind, in words.
    ordered : bool
        Whether the levels come from an ordered pandas categorical.
    is_integer : bool
        Whether the values of a continuous column were stored as integers, or are dates without a time.
    points : ndarray of shape (n_points,), optional
        Values that are point masses, where the rows are a part of others that decide; otherwise those that repeat.
    time_zone : str or None
        Name of the time zone of dates, which are numbers in UTC.
    dtype : str
        Name of the type that pandas had for the column; empty for other sources and for categoricals.
    """

    name: str
    values: NDArray[Any]
    levels: tuple[Level, ...] | None
    reason: str
    ordered: bool = False
    is_integer: bool = False
    points: NDArray[np.float64] | None = None
    time_zone: str | None = None
    dtype: str = ""
    # counted at the first question, since a search asks repeatedly
    _n_missing: int | None = field(default=None, init=False, repr=False)

    @property
    def is_continuous(self) -> bool:
        """Whether the column is continuous."""
        return self.levels is None

    @property
    def has_order(self) -> bool:
        """Whether the levels are in their order: those of an ordered categorical, or increasing numbers."""
        if self.ordered or self.levels is None:
            return self.ordered
        numbers = [level for level in self.levels if isinstance(level, (int, float))]
        return len(numbers) == len(self.levels) and all(a < b for a, b in pairwise(numbers))

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which values are missing, bool (n_rows,)."""
        is_missing = np.isnan(self.values) if self.levels is None else self.values == MISSING_CODE
        return np.asarray(is_missing, np.bool_)

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        if self._n_missing is None:
            object.__setattr__(self, "_n_missing", int(np.count_nonzero(self.is_missing)))
        return int(self._n_missing or 0)

    @property
    def observed(self) -> NDArray[Any]:
        """Values that are not missing, in the order of the rows, (n_rows - n_missing,)."""
        return self.values[~self.is_missing] if self.n_missing else self.values

    @property
    def is_constant(self) -> bool:
        """Whether all values that are not missing are the same; such a column gets no edges."""
        observed = self.observed
        # most columns vary among their first rows
        return all(bool((part == observed[:1]).all()) for part in (observed[:FEW_ROWS], observed[FEW_ROWS:]))


def column_positions(frame: pd.DataFrame, names: Iterable[str] | None = None) -> dict[str, int]:
    """Return the position of every column by its name as text (`str` of names that are not text).

    Each of `names` must occur exactly once, and other columns are ignored; by default every column is checked. Names
    that are duplicate (also "1" next to 1), blank or missing are errors, and columns of several levels.
    """
    if frame.columns.nlevels > 1:
        raise GomeaBnError(
            f"The table has column names of {frame.columns.nlevels} levels; flatten them, for example "
            "frame.columns = ['_'.join(map(str, c)) for c in frame.columns]."
        )
    positions: dict[str, int] = {}
    duplicates: dict[str, list[int]] = {}
    for position, label in enumerate(frame.columns):
        name = str(label)
        check_texts([name], ascii(name)[1:-1])
        if name in positions:
            duplicates.setdefault(name, [positions[name]]).append(position)
        positions.setdefault(name, position)
    required = positions.keys() if names is None else tuple(names)
    for name in required:
        if name in duplicates:
            raise GomeaBnError(
                f"Column name '{name}' occurs more than once (positions {' and '.join(map(str, duplicates[name]))}, "
                "names compared as text).",
                ["rename one of the columns"],
            )
        if name not in positions and source_name(name) in positions:
            # dates, which become numbers
            positions[name] = positions[source_name(name)]
        if name not in positions:
            raise GomeaBnError(f"The table has no column '{name}'.{nearest(name, positions)}")
    if names is None:
        for position, label in enumerate(frame.columns):
            if label is None or label != label or not str(label).strip():
                raise GomeaBnError(f"The column at position {position} has no name.", ["name it", "drop it"])
    return positions


def storage(series: pd.Series[Any], name: str) -> str:
    """Return the storage of a column: "bool", "category", "text", "integer", "float", or "empty" (all missing).

    Dates, durations, complex numbers, intervals, bytes, nested objects and mixtures of types are errors.
    """
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if types.is_bool_dtype(dtype):
        return "bool"
    if types.is_integer_dtype(dtype):
        return "integer"
    if types.is_complex_dtype(dtype):
        raise _refusal(name, "complex", str(dtype))
    if types.is_float_dtype(dtype):
        return "float"
    if isinstance(dtype, pd.PeriodDtype):
        raise _refusal(name, "period", str(dtype))
    if isinstance(dtype, pd.IntervalDtype):
        raise _refusal(name, "interval", str(dtype))
    if isinstance(dtype, pd.StringDtype):
        return "text"
    return _object_storage(series, name)


def _object_storage(series: pd.Series[Any], name: str) -> str:
    """Return the storage of a column of Python objects."""
    from pandas.api import types

    values = series.dropna().astype(object)
    inferred = types.infer_dtype(values, skipna=True)
    by_inferred = {
        "string": "text",
        "boolean": "bool",
        "integer": "integer",
        "floating": "float",
        "mixed-integer-float": "float",
        "decimal": "float",
        "empty": "empty",
    }
    if inferred in by_inferred:
        return by_inferred[inferred]
    if inferred in ("complex", "period", "interval", "bytes"):
        raise _refusal(name, inferred, inferred)
    if inferred in ("datetime", "datetime64", "date", "time"):
        raise _refusal(name, "datetime", inferred)
    if inferred in ("timedelta", "timedelta64"):
        raise _refusal(name, "timedelta", inferred)
    type_names = [type(value).__name__ for value in values]
    if any(isinstance(value, (list, tuple, dict, set, frozenset, np.ndarray)) for value in values):
        raise _refusal(name, "nested", listed(sorted(set(type_names)), 5))
    first = {type_name: position for position, type_name in reversed(list(enumerate(type_names)))}
    rows = np.flatnonzero(~series.isna().to_numpy(dtype=bool))
    examples: list[str | RowPositions] = []
    for type_name, position in sorted(first.items())[:3]:
        separator = "; " if examples else "a mixture of types: "
        examples += [
            f"{separator}{type_name} {values.iloc[position]!r:.40} in ",
            RowPositions(rows[position : position + 1]),
        ]
    raise _refusal(name, "mixed", *examples)


def _refusal(name: str, reason: str, *got: str | RowPositions) -> GomeaBnError:
    return GomeaBnError(
        [
            f"Column '{name}' must hold numbers, text, bools or categories, got ",
            *got,
            f"; {_REFUSED[reason]} (x is the column).",
        ]
    )


def is_missing(series: pd.Series[Any], stored: str) -> NDArray[np.bool_]:
    """Return which values are missing or infinite, bool (n_rows,); `stored` is from `storage`."""
    if stored == "float" and isinstance(series.dtype, np.dtype) and series.dtype.kind == "f":
        values = series.to_numpy()
        if np.isfinite(extremes(values)).all():
            return np.zeros(len(values), np.bool_)
        return np.asarray(~np.isfinite(values))
    missing = series.isna().to_numpy(dtype=bool).copy()
    if stored == "float":
        missing |= ~np.isfinite(_as_float(series))
    return missing


def has_gaps(frame: pd.DataFrame, names: Sequence[str]) -> bool:
    """Return whether a cell of some columns is missing; False for an object that is not a frame."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        return False
    positions = column_positions(frame, names)
    columns = plain_frame(frame.iloc[:, [positions[name] for name in names]])
    return bool(columns.isna().to_numpy().any())


def extremes(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the smallest and the largest value, both finite only if all values are; (0, 0) for no values.

    NaN is the smallest and the largest value, where there is one.
    """
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


def _as_float(series: pd.Series[Any]) -> NDArray[np.float64]:
    """Return a new float64 array without negative zeros; missing values are NaN, numbers beyond float64 infinite."""
    # a negative zero would be printed as -0
    if series.dtype == np.float64:
        return np.asarray(series.to_numpy() + 0.0, np.float64)
    try:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:
        values = np.array(
            [np.nan if gap else _one_float(value) for value, gap in zip(series, series.isna(), strict=True)],
            dtype=np.float64,
        )
    return np.asarray(values, np.float64) + 0.0


def _one_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def numeric_values(series: pd.Series[Any], name: str, *, allow_missing: bool = False) -> NDArray[np.float64]:
    """Return the values of a column as a new array, float64 (n_rows,), in its units; text is read as numbers.

    A negative zero becomes 0. Dates become numbers if the name of the column ends in their unit in brackets. With
    `allow_missing` a missing value is NaN. Bools, values that are not numbers, infinite ones, and missing ones unless
    they are allowed are errors, which name rows.
    """
    import pandas as pd

    series = plain(series)
    if unit_of(name) is not None and (converted := as_numbers(series, name)) is not None:
        if converted[1] != unit_of(name):
            raise GomeaBnError(
                f"Column '{name}' must hold values in {unit_of(name)}, got values in {converted[1]}.",
                ["repair the column"],
            )
        series = converted[0]
    stored = storage(series, name)
    if stored == "bool":
        raise GomeaBnError(
            f"Column '{name}' must hold numbers, got bools.",
            ["write them as 0 and 1", "leave it discrete"],
        )
    if stored == "category":
        dtype = series.cat.categories.dtype
        # an integer column cannot hold a missing value
        has_gaps = pd.api.types.is_integer_dtype(dtype) and bool(series.isna().any())
        values_of_rows = series.astype("float64" if has_gaps else dtype)
        return numeric_values(values_of_rows, name, allow_missing=allow_missing)
    if stored == "text":
        missing = series.isna().to_numpy(dtype=bool)
        values = np.asarray(pd.to_numeric(series.astype(object), errors="coerce"), np.float64) + 0.0
        wrong = np.flatnonzero(np.isnan(values) & ~missing)
        if wrong.size:
            text = str(series.iloc[int(wrong[0])])
            reads = any(number_texts([text], mark, is_given=True) for mark in ".,")
            raise GomeaBnError(
                [f"Column '{name}' must hold numbers, got {text!r} in ", RowPositions(wrong), "."],
                ["repair or drop these rows", *([Setting("forms", "number", name)] if reads else [])],
            )
    else:
        values = _as_float(series)
    if not np.isfinite(extremes(values)).all():
        wrong = np.flatnonzero(np.isinf(values) if allow_missing else ~np.isfinite(values))
    else:
        wrong = np.empty(0, np.int64)
    if wrong.size:
        refused = "infinite value" if allow_missing else "missing or infinite value"
        raise GomeaBnError(
            [f"Column '{name}' has {counted(wrong.size, refused)} in ", RowPositions(wrong), "."],
            ["fill or drop them"],
        )
    return values


def _scalar(value: Any, name: str) -> Level:
    """Return a level as a plain Python value."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        check_texts([value], name)
        return str(value)
    if isinstance(value, (bool, int, float)):
        return value
    try:
        return float(value) if not isinstance(value, (complex, bytes)) else _not_scalar(value, name)
    except (TypeError, ValueError, OverflowError):
        return _not_scalar(value, name)


def _not_scalar(value: Any, name: str) -> Level:
    raise GomeaBnError(
        f"Column '{name}' has a level of type {type(value).__name__} ({value!r:.60}); levels must be text, "
        "numbers or bools: rename them, for example x.cat.rename_categories(str)."
    )


def check_texts(texts: Iterable[object], name: str) -> None:
    """Raise `GomeaBnError` for a text that no UTF-8 file can hold, since it has half of a surrogate pair."""
    for text in texts:
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise GomeaBnError(
                    f"Column '{name}' has a text with half of a surrogate pair, {text!r:.60}, which UTF-8 cannot hold.",
                    ["read the file in its own encoding", "replace the text"],
                ) from error


def level_values(series: pd.Series[Any], name: str) -> tuple[NDArray[np.int32], tuple[Level, ...]]:
    """Return the codes, int32 (n_rows,), of a column without missing values, and its levels.

    The levels are all categories of a pandas categorical in their order, or the sorted distinct values.
    """
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        categories = tuple(_scalar(value, name) for value in series.cat.categories)
        return np.array(series.cat.codes, dtype=np.int32), categories
    codes, uniques = distinct_values(series)
    levels = [_scalar(value, name) for value in uniques]
    order = sorted(range(len(levels)), key=lambda position: levels[position])
    rank = np.empty(len(levels), dtype=np.int32)
    rank[order] = np.arange(len(levels), dtype=np.int32)
    return rank[codes], tuple(levels[position] for position in order)


def encode_levels(
    series: pd.Series[Any], name: str, levels: Sequence[Level], *, allow_missing: bool = False
) -> NDArray[np.int32]:
    """Return the codes, int32 (n_rows,), of new values into known levels (compared by ==, so 1 equals 1.0).

    With `allow_missing` a missing value has the code -1. Numbers match levels that are texts of numbers, as files of
    other programs hold them, and texts of numbers match levels that are numbers, with a warning. Undeclared levels are
    errors, and so are missing values unless they are allowed or `EMPTY_LEVEL` is the only level.
    """
    series = plain(series)
    try:
        codes, uniques = distinct_values(series)
    except TypeError as error:
        raise GomeaBnError(f"Column '{name}' holds values that cannot be compared: {error}.") from error
    missing = np.flatnonzero(codes < 0)
    if missing.size and tuple(levels) == (EMPTY_LEVEL,):
        series = series.astype(object).where(series.notna(), EMPTY_LEVEL)
        return encode_levels(series, name, levels)
    if missing.size and not allow_missing:
        raise GomeaBnError(
            [f"Column '{name}' has {counted(missing.size, 'missing value')} in ", RowPositions(missing), "."],
            ["fill or drop them"],
        )
    code_of = {level: code for code, level in enumerate(levels)}
    # a level is a float, which only some decimals equal
    uniques = [float(value) if isinstance(value, Decimal) else value for value in uniques]
    table = np.array([code_of.get(value, -1) for value in uniques], dtype=np.int32)
    if (table < 0).any():
        by_number = np.array([code_of_number(value, levels) for value in uniques], dtype=np.int32)
        if (by_number > table).any():
            table = np.maximum(table, by_number)
            kinds = ("numbers", "text") if isinstance(levels[0], str) else ("text", "numbers")
            give_warning(
                f"Column '{name}' holds {kinds[0]}, and its levels in the network are {kinds[1]}: "
                f"{listed(map(repr, levels), 5)}. They are matched by their values."
            )
    if table.size == 0:
        return np.full(len(codes), -1, dtype=np.int32)
    encoded = np.where(codes < 0, np.int32(-1), table[codes])
    unknown = np.flatnonzero((encoded < 0) & (codes >= 0))
    if unknown.size:
        values = [uniques[position] for position in np.flatnonzero(table < 0)[:5]]
        got = ", ".join(repr(value.item() if isinstance(value, np.generic) else value) for value in values)
        raise GomeaBnError(
            [
                f"Column '{name}' has unknown level {got} in ",
                RowPositions(unknown),
                f"; the levels are {listed(map(repr, levels), 10)}.",
            ],
            ["declare the level in the training table (a pandas categorical)", "drop these rows"],
        )
    return encoded


def code_of_number(value: object, levels: Sequence[Level]) -> int:
    """Return the position of the only level that is the text of a number or a bool, or whose text is given; or -1.

    Levels must all be texts, or all be none.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    is_text = isinstance(plain, str)
    if not isinstance(plain, (bool, int, float, str)) or any(isinstance(x, str) == is_text for x in levels):
        return -1
    codes = [code for code, level in enumerate(levels) if same_as_text(level, plain)]
    return codes[0] if len(codes) == 1 else -1


def outcome_code(levels: Sequence[Level], shares: Sequence[float] | NDArray[Any]) -> int:
    """Return the position of the level that is the outcome: the one that says yes, or else the rarest that occurs.

    `shares` (n_levels,) are numbers or shares of rows.
    """
    yes = [code for code, level in enumerate(levels) if str(level).strip().lower() in YES]
    if len(yes) == 1:
        return yes[0]
    return min(range(len(levels)), key=lambda code: (not shares[code], shares[code]))


def same_as_text(level: Level, other: Level) -> bool:
    """Return whether one level is the text of the other, a number or a bool; BIF files store all levels as text."""
    if isinstance(level, str) == isinstance(other, str):
        return False
    text, value = (level, other) if isinstance(level, str) else (other, level)
    if isinstance(value, bool):
        return str(text).strip().lower() == str(value).lower()
    try:
        return float(text) == value
    except ValueError:
        return False


def gaps_of(series: Sequence[pd.Series[Any]], storages: Sequence[str]) -> list[NDArray[np.bool_]]:
    """Return which values of every column are missing or infinite, bool (n_rows,)."""
    has_threads = len(series) > 0 and len(series[0]) > ROWS_WORTH_THREADS
    return in_threads(
        lambda column: is_missing(*column),
        zip(series, storages, strict=True),
        n_threads=-1 if has_threads else 1,
    )


def refuse_gaps(gaps: Mapping[str, NDArray[np.bool_]]) -> None:
    """Raise if a column has missing or infinite values; `gaps` says which, bool (n_rows,), by name."""
    if any(is_gap.any() for is_gap in gaps.values()):
        raise GomeaBnError(
            gap_lines(gaps, "missing or infinite value"), ["fill or drop them", Setting("missing", "drop")]
        )


def refuse_infinite(gaps: Mapping[str, NDArray[np.bool_]], series: Sequence[pd.Series[Any]]) -> None:
    """Raise if any of the gaps, bool (n_rows,) by name, is an infinite value; the series are in the same order."""
    infinite = {
        name: is_gap & ~values.isna().to_numpy(dtype=bool)
        for (name, is_gap), values in zip(gaps.items(), series, strict=True)
        if is_gap.any()
    }
    if any(is_infinite.any() for is_infinite in infinite.values()):
        raise GomeaBnError(
            gap_lines(infinite, "infinite value"), ["replace or drop them", Setting("missing", "drop")]
        )


def gap_lines(gaps: Mapping[str, NDArray[np.bool_]], noun: str) -> list[str | RowPositions]:
    """Return the parts of one line per column that has gaps, bool (n_rows,) by name, and of one on further columns.

    `noun` says what a gap is, in the singular.
    """
    rows = {name: np.flatnonzero(is_gap) for name, is_gap in gaps.items() if is_gap.any()}
    parts: list[str | RowPositions] = []
    for name, of_column in list(rows.items())[:_MOST_LINES]:
        line = f"Column '{name}' has {counted(of_column.size, noun)} in "
        parts += ["\n" + line if parts else line, RowPositions(of_column), "."]
    n_more = len(rows) - _MOST_LINES
    return [*parts, f"\n… and {counted(n_more, 'further column')}."] if n_more > 0 else parts


def with_missing(column: Column, gaps: NDArray[np.bool_]) -> Column:
    """Return a column of observed values over all rows, with missing values at the gaps, bool (n_rows,)."""
    if not gaps.any():
        return column
    missing = np.nan if column.levels is None else MISSING_CODE
    values = np.full(len(gaps), missing, dtype=column.values.dtype)
    values[~gaps] = column.values
    values.flags.writeable = False
    reason = f"{column.reason}; {counted(int(gaps.sum()), 'missing value')}"
    return replace(column, values=values, reason=reason)


FEW_VALUES = 10
"""A column of whole numbers with at most this many distinct values is discrete."""

RULE = (
    "bool, categorical and text columns, and columns of whole numbers with at most "
    f"{FEW_VALUES} distinct values, are discrete; all others are continuous"
)


def decided_column(
    series: pd.Series[Any], name: str, stored: str, kind: str | None, max_levels: int
) -> Column:
    """Return one column with its kind decided; whole numbers are integers, also where they are stored as floats."""
    # most columns of real numbers have a fraction among their first rows, and vary among them
    first = series.to_numpy()[:FEW_ROWS] if has_floats(series.dtype) else np.empty(0)
    has_fraction = bool((first != np.rint(first)).any())
    if stored == "float" and not has_fraction and (whole := _as_integers(series, name)) is not None:
        series, stored = whole, "integer"
    if not (first != first[:1]).any() and _has_one_value(series):
        return _constant_column(series, name, max_levels)
    inferred, reason = _inferred_kind(series, stored)
    if kind is not None:
        reason = (
            f"set by kinds (the rule says {inferred}: {reason})"
            if kind != inferred
            else f"set by kinds; {reason}"
        )
    if (kind or inferred) == "continuous":
        values: NDArray[Any] = numeric_values(series, name)
        _check_numbers(values, series, name, stored)
        levels = None
    else:
        values, levels = level_values(series, name)
        _check_levels(series, name, levels, max_levels, reason)
        reason += f"; {len(levels)} levels"
    values.flags.writeable = False
    is_integer = levels is None and stored == "integer"
    return Column(name, values, levels, reason, levels is not None and _has_order(series), is_integer)


def _has_one_value(series: pd.Series[Any]) -> bool:
    """Return whether all values of a column are the same; most columns vary among their first rows."""
    parts = (series.iloc[:FEW_ROWS], series.iloc[FEW_ROWS:])
    return all(bool((part == series.iloc[0]).all()) for part in parts)


def _as_integers(series: pd.Series[Any], name: str) -> pd.Series[Any] | None:
    """Return floats as integers, or None if one is no whole number or too large to be exact."""
    import pandas as pd

    # most columns of real numbers have a fraction among their first rows
    for part in (series.iloc[:FEW_ROWS], series):
        values = numeric_values(part, name)
        if not ((values == np.rint(values)) & (np.abs(values) < LARGEST_EXACT)).all():
            return None
    return pd.Series(values.astype(np.int64), index=series.index)


def empty_column(name: str, n_rows: int) -> Column:
    """Return the column of a source that has no values: discrete, with `EMPTY_LEVEL` in all rows."""
    values = np.zeros(n_rows, np.int32)
    values.flags.writeable = False
    return Column(name, values, (EMPTY_LEVEL,), f"empty: no value in all {n_rows} rows")


def _has_order(series: pd.Series[Any]) -> bool:
    """Return whether a column is an ordered pandas categorical."""
    return bool(getattr(series.dtype, "ordered", False))


def _constant_column(series: pd.Series[Any], name: str, max_levels: int) -> Column:
    """Return a constant column: discrete, with its value or the declared categories as levels."""
    values, levels = level_values(series, name)
    _check_levels(series, name, levels, max_levels, "pandas categorical")
    values.flags.writeable = False
    more = f"; {len(levels)} declared levels" if len(levels) > 1 else ""
    value = levels[int(values[0])]
    reason = f"constant: {value!r} in all {len(values)} rows{more}"
    return Column(name, values, levels, reason, _has_order(series))


def _inferred_kind(series: pd.Series[Any], stored: str) -> tuple[str, str]:
    """Return the kind by the rule, and the rule in words."""
    if stored == "float":
        return "continuous", "real numbers"
    if stored == "integer":
        distinct = series.nunique()
        if distinct <= FEW_VALUES:
            return "discrete", f"integers, {distinct} distinct (at most {FEW_VALUES})"
        return "continuous", f"integers, {distinct} distinct (more than {FEW_VALUES})"
    if stored == "text":
        return "discrete", "text" + _numbers_in_text(series)
    return "discrete", {"category": "pandas categorical", "bool": "bools"}[stored]


def _numbers_in_text(series: pd.Series[Any]) -> str:
    """Return a remark for text of which at least half reads as numbers, with the first that does not."""
    import pandas as pd

    numbers = np.array(pd.to_numeric(series.astype(object), errors="coerce"), dtype=np.float64)
    other = np.flatnonzero(np.isnan(numbers))
    if 2 * other.size > len(series):
        return ""
    if other.size == 0:
        return ", though every value reads as a number"
    return (
        f", though {len(series) - other.size} of {len(series)} values read as numbers; the first that does "
        f"not is {series.iloc[int(other[0])]!r:.40}"
    )


def _check_numbers(values: NDArray[np.float64], series: pd.Series[Any], name: str, stored: str) -> None:
    """Raise for numbers that float64 cannot distinguish, and for a range or densities that float64 cannot hold."""
    low, high = extremes(values)
    # Python's floats overflow without a warning
    if not np.isfinite(high - low) or 0 < high - low < LEAST_RANGE:
        extent = "narrow" if high - low < LEAST_RANGE else "wide"
        raise GomeaBnError(
            f"Column '{name}' ranges from {low:g} to {high:g}, too {extent} for float64.",
            ["rescale it"],
        )
    if stored == "integer" and max(-low, high) > LARGEST_EXACT and np.unique(values).size < series.nunique():
        raise GomeaBnError(
            f"Column '{name}' has integers beyond 2**53 that float64 cannot distinguish.",
            ["subtract an offset", "drop the column if it is an identifier"],
        )


def _check_levels(
    series: pd.Series[Any], name: str, levels: tuple[Level, ...], max_levels: int, reason: str
) -> None:
    if len(levels) <= max_levels:
        return
    # no search takes more levels than codes of a byte, so that more cannot be allowed
    way_out = Setting("max_levels") if len(levels) <= MOST_LEVELS else Setting("drop", name)
    advice: list[str | Setting] = ["merge or drop levels", way_out]
    if isinstance(levels[0], (int, float)) or "every value reads as a number" in reason:
        advice.append(Setting("kinds", "continuous", name))
    raise GomeaBnError(
        f"Column '{name}' must have at most {max_levels} levels, got {len(levels)} in its {len(series)} rows "
        f"({listed(map(repr, levels[:3]))}, …). It counts as discrete because: {reason}.",
        advice,
    )
