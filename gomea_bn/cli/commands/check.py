"""The command `check`: what a table would be read as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.option_texts import read_kinds
from gomea_bn.cli.options import KIND_OVERRIDE, MAX_LEVELS, AsJson, Data, Group, Kind, MaxLevels, reads_table
from gomea_bn.cli.output import (
    UNUSABLE_DATA,
    WRONG_USE,
    check_output,
    failing,
    say,
    spelling,
)
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, check_choice, raise_all

if TYPE_CHECKING:
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

    Columns that cannot be read are left out, and all problems printed at the end. Exit codes: 0 the table can be used,
    2 wrong use, 3 data unusable.
    """
    with failing(WRONG_USE):
        kinds = read_kinds(kind or ())
        check_choice("missing", missing, ("keep", "error", "drop"))
        check_output("--write", write, {"DATA": [data]}, [".json"])
    from gomea_bn.data.files.table_files import load
    from gomea_bn.data.table import table_of

    problems: list[GomeaBnError] = []
    found: dict[str, Any] = {}
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
        typer.echo(json.dumps(record, indent=2))
    elif found:
        typer.echo(table.describe(KIND_OVERRIDE, spelling()))
    if problems:
        if write is not None:
            say(f"'{write}' is not written, since there are problems.")
        with failing(code, of_options=code):
            raise_all(problems)
    if write is not None:
        from gomea_bn.runtime.files import write_text

        write_text(write, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        say(f"Wrote '{write}'; --reading {write} reads the table so.")


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
