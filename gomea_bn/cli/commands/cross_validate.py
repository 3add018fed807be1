"""The command `cross-validate`: how well networks describe and predict held-out rows of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gomea_bn.cli.option_texts import fields_of, read_kinds
from gomea_bn.cli.options import AsJson, Data, Kind, MaxSeconds, reads_table
from gomea_bn.cli.output import (
    INTERRUPTED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_targets,
    check_writable,
    deliver_frame,
    fail,
    say,
)
from gomea_bn.cli.running import limit, loaded_rows, printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError


@reads_table()
def cross_validate(
    data: Data,
    target: Annotated[str | None, typer.Option(help="Column that is predicted from all others.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME,NAME: learner, knee (of a front), histogram (a baseline without edges), or discretizers such as "
            "equal-frequency and mdl; may be repeated. Default: learner,histogram."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file to write.")] = None,
    kind: Kind = None,
    max_seconds: MaxSeconds = 10.0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed that repeats a run; by default random and printed.")
    ] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Learn from all folds of DATA but one, judge on that one, and print the means over all rows with standard errors.

    Example: gomea-bn cross-validate data.csv --target cough --compare learner,knee,equal-frequency,histogram. Exit
    codes: 0 done, 1 not written, 2 wrong use, 3 data unusable, 130 interrupted.
    """
    from gomea_bn.prediction.cross_validation import cross_validate as table_of

    if out is not None:
        check_targets({"--out": [out]}, {"DATA": [data]})
        check_writable(out)
    rows = loaded_rows(data, reading)
    try:
        methods = [name for text in compare or ["learner,histogram"] for name in fields_of("--compare", text)]
        with printed_warnings():
            result = table_of(
                rows,
                target=target,
                folds=folds,
                compare=methods,
                max_seconds=limit(max_seconds),
                kinds=read_kinds(kind or ()),
                random_state=seed,
            )
    except GomeaBnError as error:
        fail(error, WRONG_USE if error.is_about_option else UNUSABLE_DATA)
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)
    table = result.reset_index()
    if as_json:
        records = json.loads(table.to_json(orient="records", double_precision=15))
        typer.echo(json.dumps({"seed": result.attrs["seed"], "folds": folds, "methods": records}, indent=2))
    elif out is None:
        say(table.to_string(index=False, float_format="{:.4g}".format), to_error=False)
    if out is not None:
        deliver_frame(table, out)
    say(f"Repeat with --seed {result.attrs['seed']}.")
