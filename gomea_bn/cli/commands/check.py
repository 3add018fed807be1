"""The command `check`: what a table would be read as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.option_texts import read_kinds
from gomea_bn.cli.options import KIND_OVERRIDE, MAX_LEVELS, AsJson, Data, Group, Kind, MaxLevels, reads_table
from gomea_bn.cli.output import UNUSABLE_DATA, WRONG_USE, check_output, failing, say
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, check_choice, raise_all, spelling
from gomea_bn.texts import counted, listed, shown_name

if TYPE_CHECKING:
    from gomea_bn.data.files.reading import Loaded
    from gomea_bn.data.table import Table


@reads_table()
def check(
    data: Data,
    write: Annotated[
        Path | None,
        opt(
            "JSON file for the columns, kinds, forms and options found, which --reading of all commands takes."
        ),
    ] = None,
    kind: Kind = None,
    missing: Annotated[str, opt("Treatment of rows with missing values: keep, error or drop.")] = "keep",
    max_levels: MaxLevels = MAX_LEVELS,
    group: Group = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Print what the columns of DATA would be read as, and what is wrong with them, without learning.

    Columns that cannot be read are left out, and all problems printed at the end. Of a table that cannot be used the
    first values are printed, and of a file that cannot be read the first lines. Exit codes: 0 the table can be used,
    2 wrong use, 3 data unusable.
    """
    with failing(WRONG_USE):
        kinds = read_kinds(kind or ())
        check_choice("missing", missing, ("keep", "error", "drop"))
        check_output("--write", write, {"DATA": [data]}, [".json"])
    from gomea_bn.data.table import load, table_of

    problems: list[GomeaBnError] = []
    found: dict[str, Any] = {}
    loaded: Loaded | None = None
    code = UNUSABLE_DATA
    try:
        loaded = load(data, reading, groups=group)
        with printed_warnings():
            table = table_of(
                loaded, kinds=kinds, missing=missing, max_levels=max_levels, min_rows=1, problems=problems
            )
        found = _options(table, missing, max_levels)
    except GomeaBnError as error:
        code = WRONG_USE if error.is_about_option else UNUSABLE_DATA
        problems.append(error)
    if as_json:
        record: dict[str, Any] = {"problems": [problem.text(spelling()) for problem in problems]}
        if found:
            record = {"n_rows": table.n_rows, "reading": found, "left_out": dict(table.left_out), **record}
        elif loaded is not None:
            record = {"n_rows": len(loaded.frame), "columns": [*map(str, loaded.frame.columns)], **record}
        typer.echo(json.dumps(record, indent=2))
    elif found:
        typer.echo(table.describe(KIND_OVERRIDE, spelling()))
    elif code == UNUSABLE_DATA:
        for line in _first_lines(data) if loaded is None else _first_values(loaded):
            typer.echo(line)
    if problems:
        if write is not None:
            say(f"'{write}' is not written, since there are problems.")
        with failing(code, of_options=code):
            raise_all(problems)
    if write is not None:
        from gomea_bn.runtime.files import write_text

        write_text(write, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        say(f"Wrote '{write}'; --reading {write} reads the table so.")


def _first_values(loaded: Loaded) -> list[str]:
    """Return lines with the size of rows, what was detected, and the first values of every column."""
    frame = loaded.frame
    names = [shown_name(str(name)) for name in frame.columns]
    width = max(map(len, names), default=0)
    values = [
        listed([repr(str(value)[:30]) for value in frame.iloc[:, position].dropna().unique()], 3)
        or "no values"
        for position in range(len(names))
    ]
    return [
        f"{counted(len(frame), 'row')}, {counted(len(names), 'column')}, with these first values:",
        *(note.text(spelling()) for note in (*loaded.notes, *loaded.warnings)),
        *(f"  {name:<{width}}  {of_column}" for name, of_column in zip(names, values, strict=True)),
    ]


def _first_lines(path: Path) -> list[str]:
    """Return lines with the first ones of a text file; none for other sources."""
    from gomea_bn.data.files.table_files import applicable_options

    if "sep" not in (applicable_options(path) or ()) or not path.is_file():
        return []
    # where it begins says enough
    with path.open("rb") as file:
        start = file.read(2_000)
    # first lines of a file that cannot be read, which an error shows
    lines = start.decode("utf-8", "backslashreplace").splitlines()[:5]
    shown = [f"  {number}  {line[:100]}" for number, line in enumerate(lines, 1) if line.isprintable()]
    return [f"'{path}' has {path.stat().st_size:,} bytes, which begin:", *shown] if shown else []


def _options(table: Table, missing: str, max_levels: int) -> dict[str, Any]:
    """Return all options by which a table was read, with the kind of every column, as a file of them holds them."""
    from gomea_bn.data.dates import source_name

    names = [source_name(column.name) for column in table.columns]
    kinds = {
        name: "continuous" if column.is_continuous else "discrete"
        for name, column in zip(names, table.columns, strict=True)
        # constant columns have no kind to choose
        if not column.is_constant
    }
    given = {**table.reading.given, "columns": names, "kinds": kinds, "max_levels": max_levels}
    given.pop("drop", None)
    return given if missing == "keep" else {**given, "missing": missing}
