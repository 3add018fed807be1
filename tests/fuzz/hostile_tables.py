"""Random tables, most of them hard to use: any types, gaps, extreme numbers and names, and options that may not fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

__all__ = ["HOSTILE_TEXTS", "TableCase", "csv_bytes", "table_case"]

HOSTILE_TEXTS = [
    "", " ", "a", "A", "é", "e\u0301", "\ud800", "\x00", "a\nb", "a,b", 'a"b', "1", "1.0", "nan", "NA", "?", "-", "∞",
    "<script>", "=1+1", "x" * 300, "\u202e", "True", "2021-01-01", "12:30", "1e999", "%00", "..", "/", "#1", "\t",
]  # fmt: skip
_LARGEST = np.finfo(np.float64).max
_EXTREMES = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300, _LARGEST, -_LARGEST, 1, 2**53, -1])


@dataclass(frozen=True)
class TableCase:
    """A table, and options of `read_table`."""

    frame: pd.DataFrame
    options: dict[str, Any]


def table_case(rng: Generator) -> TableCase:
    """Return a table of up to 60 rows and 7 columns, and options."""
    n = int(rng.choice([0, 1, 2, 9, 10, 11, 20, 40, 60], p=[0.02, 0.02, 0.02, 0.04, 0.1, 0.1, 0.3, 0.2, 0.2]))
    columns = [_column(rng, n) for _ in range(rng.integers(0 if rng.random() < 0.02 else 1, 8))]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n))
    frame.columns = pd.Index(_names(rng, len(columns)), dtype=object)
    if rng.random() < 0.05 and n:
        frame.index = pd.Index(rng.integers(0, 3, n))
    return TableCase(frame, _options(rng, list(frame.columns)))


def csv_bytes(case: TableCase, rng: Generator) -> bytes:
    """Return the table as the bytes of a CSV file in one of several dialects."""
    text = case.frame.to_csv(
        index=bool(rng.random() < 0.1),
        sep=str(rng.choice([",", ";", "\t", "|"], p=[0.7, 0.1, 0.1, 0.1])),
        decimal=str(rng.choice([".", ","], p=[0.9, 0.1])),
        lineterminator=str(rng.choice(["\n", "\r\n"])),
    )
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16"], p=[0.8, 0.1, 0.1]))
    return text.encode(encoding, errors="surrogatepass")


def _names(rng: Generator, count: int) -> list[object]:
    if rng.random() < 0.7:
        return [f"c{i}" for i in range(count)]
    pool = [*HOSTILE_TEXTS, 0, 1.5, True, None, ("a", 1), b"x", np.float64("nan"), pd.Timestamp(0)]
    return [pool[int(i)] for i in rng.integers(0, len(pool), count)]


def _options(rng: Generator, names: list[object]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        options["missing"] = str(rng.choice(["error", "drop", "keep"]))
    if rng.random() < 0.2 and names:
        chosen = names[int(rng.integers(len(names)))]
        kind = str(rng.choice(["continuous", "discrete", "odd"], p=[0.5, 0.45, 0.05]))
        options["kinds"] = {str(chosen): kind}
    if rng.random() < 0.1:
        options["max_levels"] = int(rng.choice([-1, 0, 1, 2, 3, 10, 1000, 10**30]))
    if rng.random() < 0.1:
        options["min_rows"] = int(rng.choice([0, 1, 5]))
    if rng.random() < 0.1:
        options["na_values"] = [0, "", [], "a", [1.5, "x"], float("nan"), [None]][int(rng.integers(7))]
    if rng.random() < 0.1:
        options["drop"] = [str(names[0])] if names else ["x"]
    if rng.random() < 0.1:
        options["columns"] = [str(name) for name in names[:2]]
    if rng.random() < 0.1:
        options["dates"] = str(rng.choice(["numbers", "drop"]))
    return options


def _column(rng: Generator, n: int) -> pd.Series:
    makers = (
        *[_real] * 3,
        _tied,
        _extreme,
        _integers,
        *[_texts] * 2,
        _categorical,
        _booleans,
        _dates,
        _mixed,
    )
    series = makers[int(rng.integers(len(makers)))](rng, n)
    if rng.random() < 0.25 and n:
        gaps = rng.random(n) < rng.choice([0.05, 0.5, 1.0], p=[0.7, 0.2, 0.1])
        series = series.where(~pd.Series(gaps))
    return series


def _real(rng: Generator, n: int) -> pd.Series:
    scale = 10.0 ** rng.integers(-12, 13)
    offset = float(rng.choice([0.0, 1.0, 1e6])) * scale
    return pd.Series(
        (rng.normal(size=n) * scale + offset).astype(rng.choice(["float64", "float64", "float32"]))
    )


def _tied(rng: Generator, n: int) -> pd.Series:
    values = rng.normal(size=int(rng.integers(1, 15)))
    return pd.Series(rng.choice(values, n))


def _extreme(rng: Generator, n: int) -> pd.Series:
    values: NDArray[np.float64] = rng.choice(_EXTREMES, n)
    if rng.random() < 0.3 and n:
        values[rng.integers(n)] = rng.choice([np.inf, -np.inf, np.nan])
    if rng.random() < 0.5:
        # neighbours in float64
        values = np.nextafter(1.0, 2.0) + np.spacing(1.0) * rng.integers(0, 30, n)
    return pd.Series(values)


def _integers(rng: Generator, n: int) -> pd.Series:
    kind: Any = str(rng.choice(["int64", "int8", "uint8", "uint64", "Int64", "object"]))
    most = {"int8": 127, "uint8": 255}.get(kind, int(rng.choice([3, 30, 2**31, 2**62])))
    values = rng.integers(0, most, n)
    if kind == "object":
        return pd.Series([int(value) * 10**20 for value in values], dtype=object)
    return pd.Series(values).astype(kind)


def _texts(rng: Generator, n: int) -> pd.Series:
    pool = HOSTILE_TEXTS if rng.random() < 0.3 else [f"t{i}" for i in range(int(rng.integers(1, 6)))]
    values = pd.Series([pool[int(i)] for i in rng.integers(0, len(pool), n)], dtype=object)
    if rng.random() < 0.3:
        return pd.Series([f"{value:.6g}" for value in rng.normal(size=n)], dtype=object)
    return values


def _categorical(rng: Generator, n: int) -> pd.Series:
    levels: Any = [["lo", "hi", "never"], [1, 2, 3], [0.5, 1.5], ["only"], [True, False], ["\ud800", ""]][
        int(rng.integers(6))
    ]
    codes = rng.integers(-1 if rng.random() < 0.2 else 0, len(levels), n)
    return pd.Series(
        pd.Categorical.from_codes(codes, pd.Index(levels, dtype=object), ordered=bool(rng.random() < 0.5))
    )


def _booleans(rng: Generator, n: int) -> pd.Series:
    kind: Any = str(rng.choice(["bool", "boolean", "object"]))
    return pd.Series(rng.random(n) < 0.5).astype(kind)


def _dates(rng: Generator, n: int) -> pd.Series:
    days = pd.to_datetime(rng.integers(0, 40000, n), unit="D")
    form = int(rng.integers(5))
    if form == 0:
        return pd.Series(days.strftime("%Y-%m-%d"), dtype=object)
    if form == 1:
        return pd.Series(days.tz_localize("Europe/Amsterdam", ambiguous="NaT", nonexistent="NaT"))
    if form == 2:
        return pd.Series(pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"))
    if form == 3:
        return pd.Series(days.to_period("M"))
    return pd.Series(days)


def _mixed(rng: Generator, n: int) -> pd.Series:
    pool: list[object] = [1, 1.5, "a", None, True, b"x", [1], {"a": 1}, 1j, pd.Timestamp(0)]
    pool += [float("inf"), 10**400, ...]
    if rng.random() < 0.5:
        pool = pool[: int(rng.integers(1, 6))]
    return pd.Series([pool[int(i)] for i in rng.integers(0, len(pool), n)], dtype=object)
