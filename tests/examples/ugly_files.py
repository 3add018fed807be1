"""Files of tables as users have them: one table, written in ways that are hard to read."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["N_ROWS", "UGLY_FILES", "UglyFile", "clean_table", "written"]

N_ROWS = 40


@dataclass(frozen=True)
class UglyFile:
    """A file, and what becomes of it.

    Attributes
    ----------
    name : str
        Name of the file.
    content : callable
        Function that returns its bytes.
    advice : str
        Text of the error that tells what to type; "" if the file is read without options.
    options : dict
        Options of `read_table` that `advice` names; with them the file is read.
    missing : dict
        Rows with missing values by column; they are dropped.
    left_out : str
        Texts that a warning names.
    """

    name: str
    content: Callable[[], bytes]
    advice: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, list[int]] = field(default_factory=dict)
    left_out: str = ""


def clean_table() -> pd.DataFrame:
    """Return the table that all files hold: a real column, a count and a text."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "Größe": np.round(rng.normal(170, 10, N_ROWS), 2),
            "income": rng.integers(1000, 9000, N_ROWS),
            "town": rng.choice(["Köln", "Bonn", "Aachen"], N_ROWS),
        }
    )


def _text(
    frame: pd.DataFrame, *, sep: str = ",", decimal: str = ".", index: bool = False, header: bool = True
) -> str:
    return frame.to_csv(sep=sep, decimal=decimal, index=index, header=header, lineterminator="\n")


def _european(frame: pd.DataFrame | None = None) -> str:
    return _text(clean_table() if frame is None else frame, sep=";", decimal=",")


def _with_symbols() -> bytes:
    frame = clean_table().astype(object)
    frame.loc[[1, 5], "Größe"] = "?"
    frame.loc[[2], "income"] = "NA"
    frame.loc[[7], "town"] = "-"
    return _text(frame).encode()


def _with_codes() -> bytes:
    frame = clean_table()
    frame.loc[[0, 4], "income"] = -999
    return _text(frame).encode()


def _with_identifiers() -> bytes:
    frame = clean_table()
    frame.insert(0, "ID", range(1000, 1000 + N_ROWS))
    frame["remark"] = [f"seen on day {i}, then not again" for i in range(N_ROWS)]
    frame["token"] = [f"{i:08x}-0000-4000-8000-{i:012x}" for i in range(N_ROWS)]
    return _text(frame).encode()


def _with_row_names() -> bytes:
    """R's write.table: the first line has one field fewer than the others."""
    lines = _text(clean_table(), sep=" ", header=False).splitlines()
    names = [f'"row{i}" {line}' for i, line in enumerate(lines)]
    return ("\n".join(['"Größe" "income" "town"', *names]) + "\n").encode()


def _with_groups() -> bytes:
    frame = clean_table()
    frame["income"] = [f"{value:,}" for value in frame["income"]]
    return _text(frame).encode()


def _with_ambiguous_groups() -> bytes:
    frame = clean_table().drop(columns="Größe")
    frame["income"] = [f"{value:,}" for value in frame["income"]]
    return _text(frame, sep=";").encode()


def _with_dates(form: str) -> Callable[[], bytes]:
    def content() -> bytes:
        frame = clean_table()
        frame["day"] = pd.date_range("2021-01-01", periods=N_ROWS, freq="5D").strftime(form)
        return _text(frame).encode()

    return content


def _with_ambiguous_dates() -> bytes:
    frame = clean_table()
    frame["day"] = [f"{1 + i % 12:02}/{1 + i % 11:02}/2021" for i in range(N_ROWS)]
    return _text(frame).encode()


def _with_empty_parts() -> bytes:
    """As spreadsheets export: a column that is empty, a nameless one at the end, and empty lines."""
    lines = [line + ";" for line in _european(clean_table().assign(notes="")).splitlines()]
    return ("\n".join([*lines, ";;;;", ";;;;"]) + "\n").encode()


UGLY_FILES = {
    "semicolons and decimal commas": UglyFile("a.csv", lambda: _european().encode()),
    "decimal commas in cp1252": UglyFile(
        "a.csv", lambda: _european().encode("cp1252"), "cp1252", {"encoding": "cp1252"}
    ),
    "UTF-16 of a spreadsheet": UglyFile("a.txt", lambda: _text(clean_table(), sep="\t").encode("utf-16")),
    "byte order mark and CRLF": UglyFile(
        "a.csv", lambda: _text(clean_table()).replace("\n", "\r\n").encode("utf-8-sig")
    ),
    "tabs under the wrong ending": UglyFile("a.csv", lambda: _text(clean_table(), sep="\t").encode()),
    "bars": UglyFile("a.txt", lambda: _text(clean_table(), sep="|").encode()),
    "aligned blanks": UglyFile("a.dat", lambda: clean_table().to_string(index=False).encode()),
    "unknown ending": UglyFile("a.export", lambda: _text(clean_table()).encode(), 'sep=","', {"sep": ","}),
    "no column names": UglyFile(
        "a.csv",
        lambda: _text(clean_table()[["Größe"]].assign(b=range(0, 2 * N_ROWS, 2)), header=False).encode(),
        options={"header": "none"},
    ),
    "row index without a name": UglyFile(
        "a.csv", lambda: _text(clean_table(), index=True).encode(), left_out="column 0 (a running number)"
    ),
    "row names of R": UglyFile("a.txt", _with_row_names, left_out="column 0"),
    "symbols of missing values": UglyFile(
        "a.csv",
        _with_symbols,
        missing={"Größe": [1, 5], "income": [2], "town": [7]},
        left_out="'town' (1 '-')",
    ),
    "a number for missing values": UglyFile(
        "a.csv", _with_codes, options={"na_values": -999}, missing={"income": [0, 4]}
    ),
    "identifiers and free text": UglyFile(
        "a.csv",
        _with_identifiers,
        left_out="'ID' (a running number), 'remark' (a different text in every row)",
    ),
    "groups of digits": UglyFile("a.csv", _with_groups),
    "groups of digits that may be decimals": UglyFile(
        "a.csv", _with_ambiguous_groups, 'decimal="."', {"decimal": "."}
    ),
    "dates": UglyFile("a.csv", _with_dates("%Y-%m-%d")),
    "German dates": UglyFile("a.csv", _with_dates("%d.%m.%Y")),
    "American dates": UglyFile("a.csv", _with_dates("%m/%d/%Y")),
    "ambiguous dates": UglyFile("a.csv", _with_ambiguous_dates, 'drop="day"', {"drop": "day"}),
    "empty columns and lines": UglyFile("a.csv", _with_empty_parts, left_out="column 4 (empty)"),
    "a title above the names": UglyFile(
        "a.csv", lambda: b"Report of 2021\n" + _text(clean_table()).encode(), left_out="'Report of 2021'"
    ),
    "two columns of one name": UglyFile(
        "a.csv", lambda: _text(clean_table()).replace("income", "town").encode(), "Rename one of them"
    ),
    "ragged rows": UglyFile(
        "a.csv", lambda: _text(clean_table()).encode() + b"1,2,3,4\n", "line 42 has 4 fields"
    ),
    "compressed": UglyFile("a.csv.gz", lambda: gzip.compress(_european().encode(), mtime=0)),
}
"""The files by what is ugly about them."""


def written(ugly: UglyFile, folder: Path) -> Path:
    """Write an ugly file and return its path."""
    path = folder / ugly.name
    path.write_bytes(ugly.content())
    return path
