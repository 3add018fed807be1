"""One column of a table: what it stores, its numbers, its levels; one rule for learning and for new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, nearest, row_list

if TYPE_CHECKING:
    pass

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Level",
    "column_positions",
    "encode_levels",
    "is_missing",
    "level_values",
    "numeric_values",
    "storage",
]

Level = str | int | float | bool

_REFUSED = {
    "complex": "use its real part or its modulus",
    "datetime": "turn it into numbers, for example days: (x - x.min()).dt.total_seconds() / 86400",
    "timedelta": "turn it into numbers: x.dt.total_seconds()",
    "period": "turn it into numbers or text: x.astype(str)",
    "interval": "turn it into text: x.astype(str)",
    "bytes": "turn it into text: x.str.decode('utf-8')",
    "nested": "lists, tuples, dicts and arrays are not values of one variable: give each part its own column",
    "mixed": "it mixes types; make it one type, for example x.astype(str), or repair the odd values",
}


def column_positions(frame: pd.DataFrame, wanted: Iterable[str] | None = None) -> dict[str, int]:
    """Return the position of every column by its name as text (`str` of names that are not text).

    Parameters
    ----------
    frame : DataFrame
        Any table with one level of column names.
    wanted : iterable of str, optional
        Names that must be there, once; other columns then may be anything. By default every column counts.

    Raises
    ------
    GomeaBnError
        If a name is doubled (also "1" beside 1), blank or missing, or if the columns have several levels.
    """
    if frame.columns.nlevels > 1:
        raise GomeaBnError(
            f"The table has column names of {frame.columns.nlevels} levels; flatten them, for example "
            "frame.columns = ['_'.join(map(str, c)) for c in frame.columns]."
        )
    positions: dict[str, int] = {}
    doubled: dict[str, list[int]] = {}
    for position, label in enumerate(frame.columns):
        name = str(label)
        if name in positions:
            doubled.setdefault(name, [positions[name]]).append(position)
        positions.setdefault(name, position)
    required = positions.keys() if wanted is None else tuple(wanted)
    for name in required:
        if name in doubled:
            places = " and ".join(map(str, doubled[name]))
            raise GomeaBnError(
                f"Column name '{name}' occurs more than once (positions {places}, names compared as text); "
                "rename one."
            )
        if name not in positions:
            raise GomeaBnError(f"The table has no column '{name}'.{nearest(name, positions)}")
    if wanted is None:
        for position, label in enumerate(frame.columns):
            if label is None or label != label or not str(label).strip():
                raise GomeaBnError(f"The column at position {position} has no name; name it or drop it.")
    return positions


def storage(series: pd.Series[Any], name: str) -> str:
    """Return what a column stores: "bool", "category", "text", "integer", "float", or "empty" (all missing).

    Raises
    ------
    GomeaBnError
        For dates, durations, complex numbers, intervals, bytes, nested objects and mixtures of types.
    """
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
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
    """Return what a column of Python objects (or Arrow values) stores."""
    from pandas.api import types

    values = series.dropna().astype(object)
    inferred = types.infer_dtype(values, skipna=True)
    known = {
        "string": "text",
        "boolean": "bool",
        "integer": "integer",
        "floating": "float",
        "mixed-integer-float": "float",
        "decimal": "float",
        "empty": "empty",
    }
    if inferred in known:
        return known[inferred]
    if inferred in ("complex", "period", "interval", "bytes"):
        raise _refusal(name, inferred, inferred)
    if inferred in ("datetime", "datetime64", "date", "time"):
        raise _refusal(name, "datetime", inferred)
    if inferred in ("timedelta", "timedelta64"):
        raise _refusal(name, "timedelta", inferred)
    kinds = [type(value).__name__ for value in values]
    if any(isinstance(value, (list, tuple, dict, set, frozenset, np.ndarray)) for value in values):
        raise _refusal(name, "nested", ", ".join(sorted(set(kinds))[:5]))
    first = {kind: position for position, kind in reversed(list(enumerate(kinds)))}
    rows = np.flatnonzero(~series.isna().to_numpy(dtype=bool))
    seen = [
        f"{kind} {values.iloc[place]!r:.40} in row {rows[place]}" for kind, place in sorted(first.items())[:3]
    ]
    raise _refusal(name, "mixed", "; ".join(seen))


def _refusal(name: str, what: str, got: str) -> GomeaBnError:
    return GomeaBnError(
        f"Column '{name}' must hold numbers, text, bools or categories, got {got}; {_REFUSED[what]} "
        "(x is the column)."
    )


def is_missing(series: pd.Series[Any], stored: str) -> NDArray[np.bool_]:
    """Return bool (n_rows,), true where the value is missing or infinite."""
    missing = series.isna().to_numpy(dtype=bool).copy()
    if stored == "float":
        missing |= ~np.isfinite(_as_float(series))
    return missing


def _as_float(series: pd.Series[Any]) -> NDArray[np.float64]:
    """Return a new float64 array, NaN where missing; whole numbers beyond float64 become infinite."""
    try:
        values = _dense(series).to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:
        values = np.array([_one_float(value) for value in series], dtype=np.float64)
    return np.array(values, dtype=np.float64)


def _one_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def numeric_values(series: pd.Series[Any], name: str) -> NDArray[np.float64]:
    """Return a column as new float64 (n_rows,), in its own units; text that spells numbers is read.

    Raises
    ------
    GomeaBnError
        Naming column and rows, for bools, values that are not numbers, and missing or infinite values.
    """
    import pandas as pd

    stored = storage(series, name)
    if stored == "bool":
        raise GomeaBnError(
            f"Column '{name}' must hold numbers, got bools; convert it with astype(int) or leave it discrete."
        )
    if stored == "category":
        categories = series.cat.categories
        return numeric_values(series.astype(categories.dtype), name)
    if stored == "text":
        missing = series.isna().to_numpy(dtype=bool)
        values = np.array(pd.to_numeric(series.astype(object), errors="coerce"), dtype=np.float64)
        wrong = np.flatnonzero(np.isnan(values) & ~missing)
        if wrong.size:
            raise GomeaBnError(
                f"Column '{name}' must hold numbers, got {series.iloc[int(wrong[0])]!r} in "
                f"{row_list(wrong)}; repair or drop these rows."
            )
    else:
        values = _as_float(series)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise GomeaBnError(
            f"Column '{name}' has {wrong.size} missing or infinite value{'s' if wrong.size != 1 else ''} "
            f"in {row_list(wrong)}; fill or drop them."
        )
    return values


def _scalar(value: Any, name: str) -> Level:
    """Return a level as a plain Python value."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, int, float)):
        return value
    try:
        return float(value) if not isinstance(value, (complex, bytes)) else _not_scalar(value, name)
    except (TypeError, ValueError):
        return _not_scalar(value, name)


def _not_scalar(value: Any, name: str) -> Level:
    raise GomeaBnError(
        f"Column '{name}' has a level of type {type(value).__name__} ({value!r:.60}); levels must be text, "
        "numbers or bools: rename them, for example x.cat.rename_categories(str)."
    )


def level_values(series: pd.Series[Any], name: str) -> tuple[NDArray[np.int32], tuple[Level, ...]]:
    """Return the codes, int32 (n_rows,), of a column without missing values, and its levels.

    A pandas categorical keeps all its categories in their order; others get their distinct values, sorted.
    """
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        levels = tuple(_scalar(value, name) for value in series.cat.categories)
        return np.array(series.cat.codes, dtype=np.int32), levels
    codes, uniques = pd.factorize(_dense(series).array)
    found = [_scalar(value, name) for value in uniques]
    order = sorted(range(len(found)), key=lambda position: found[position])
    rank = np.empty(len(found), dtype=np.int32)
    rank[order] = np.arange(len(found), dtype=np.int32)
    return rank[codes], tuple(found[position] for position in order)


def _dense(series: Any) -> Any:
    """Return the series itself, or its dense form where pandas stores it sparsely."""
    import pandas as pd

    return series.sparse.to_dense() if isinstance(series.dtype, pd.SparseDtype) else series


def encode_levels(series: pd.Series[Any], name: str, levels: Sequence[Level]) -> NDArray[np.int32]:
    """Return the codes, int32 (n_rows,), of new values into known levels (compared with ==, so 1 is 1.0).

    Raises
    ------
    GomeaBnError
        Naming column, values and rows, for missing values and for levels that were never declared.
    """
    import pandas as pd

    try:
        codes, uniques = pd.factorize(_dense(series).array, use_na_sentinel=True)
    except TypeError as error:
        raise GomeaBnError(f"Column '{name}' holds values that cannot be compared: {error}.") from error
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise GomeaBnError(
            f"Column '{name}' has {missing.size} missing value{'s' if missing.size != 1 else ''} in "
            f"{row_list(missing)}; fill or drop them."
        )
    known = {level: code for code, level in enumerate(levels)}
    table = np.array([known.get(value, -1) for value in uniques], dtype=np.int32)
    if table.size == 0:
        return np.zeros(len(codes), dtype=np.int32)
    encoded = table[codes]
    unknown = np.flatnonzero(encoded < 0)
    if unknown.size:
        values = [uniques[position] for position in np.flatnonzero(table < 0)[:5]]
        got = ", ".join(repr(value.item() if isinstance(value, np.generic) else value) for value in values)
        wanted = ", ".join(repr(level) for level in levels[:10]) + (", …" if len(levels) > 10 else "")
        raise GomeaBnError(
            f"Column '{name}' has unknown level {got} in {row_list(unknown)}; the levels are {wanted}. "
            "Declare a level in the training table (a pandas categorical) or drop these rows."
        )
    return encoded


def same_as_text(level: Level, other: Level) -> bool:
    """Return whether a text spells a number or a bool: files such as BIF hold all levels as text."""
    if isinstance(level, str) == isinstance(other, str):
        return False
    text, value = (level, other) if isinstance(level, str) else (other, level)
    if isinstance(value, bool):
        return str(text).strip().lower() == str(value).lower()
    try:
        return float(text) == value
    except ValueError:
        return False
