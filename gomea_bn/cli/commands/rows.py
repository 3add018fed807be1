"""The commands `update`, `drift` and `cross-validate`: rows that a network was not learned from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gomea_bn.cli.named_networks import Network, files_of, loaded_network
from gomea_bn.cli.option_texts import fields_of, read_kinds
from gomea_bn.cli.options import (
    MAX_LEVELS,
    AsJson,
    Data,
    Group,
    Kind,
    MaxLevels,
    MaxSeconds,
    Quiet,
    Unknown,
    reads_table,
)
from gomea_bn.cli.output import (
    FAILED,
    NOTHING_WRITTEN,
    UNUSABLE_DATA,
    WRONG_USE,
    check_output,
    deliver_frame,
    failing,
    finishing,
    say,
)
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import answering, limit, loaded_rows, printed_warnings
from gomea_bn.data.files.reading import ReadingOptions


@reads_table("network")
def update(
    network: Network,
    data: Data,
    out: Annotated[Path, opt("JSON file for the network with the rows.", "--out", "-o")],
    weight: Annotated[float, opt("Number of rows that each row counts for.")] = 1.0,
    forget: Annotated[
        float | None, opt("Number of rows after which a row counts half; rows are in the order of time.")
    ] = None,
    unknown: Unknown = "missing",
    *,
    reading: ReadingOptions,
) -> None:
    """Let NETWORK take the rows of DATA: tables, lines and shapes change, graph and cuts stay.

    Example: gomea-bn update out/run new.csv -o updated.json. Exit codes: 0 done, 1 not written, 2 wrong use, 3 network
    or data unusable, 130 interrupted.
    """
    check_output("--out", out, {**files_of("NETWORK", network), "DATA": [data]}, [".json"])
    with answering(NOTHING_WRITTEN, data_may_be_wrong=True):
        rows = loaded_rows(data, reading)
        updated = loaded_network(network).update(rows, weight, forget, unknown=unknown)
    with finishing("the network"):
        with failing(FAILED):
            updated.to_json(out)
        say(f"Wrote {out}: the network with {len(rows):,} further rows.")


@reads_table("network")
def drift(
    network: Network,
    data: Data,
    level: Annotated[
        float, opt("Probability that any column of rows without drift counts as drifted.")
    ] = 0.05,
    out: Annotated[Path | None, opt("CSV file to write.", "--out", "-o")] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Print for every column of NETWORK whether the rows of DATA still follow it, and which edges are broken.

    DATA must hold rows that NETWORK was not learned from. Example: gomea-bn drift out/run new.csv. Exit codes: 0 done,
    1 not written, 2 wrong use, 3 network or data unusable, 130 interrupted.
    """
    check_output("--out", out, {**files_of("NETWORK", network), "DATA": [data]}, [".csv"])
    with answering(data_may_be_wrong=True):
        table = loaded_network(network).drift(loaded_rows(data, reading), level=level).reset_index()
    if as_json:
        typer.echo(table.to_json(orient="records", double_precision=15, indent=2))
    elif out is None:
        say(table.to_string(index=False, float_format="{:.4g}".format), to_error=False)
        drifted = table["column"][table["drifted"]].tolist()
        say(f"Drifted: {', '.join(drifted)}." if drifted else "No column has drifted.", to_error=False)
    if out is not None:
        deliver_frame(table, out)


@reads_table()
def cross_validate(
    data: Data,
    target: Annotated[str | None, opt("Column that is predicted from all others.")] = None,
    folds: Annotated[int, opt("Number of folds.", min=2)] = 5,
    compare: Annotated[
        list[str] | None,
        opt(
            "NAME,NAME: learner, knee (of a front), histogram (a baseline without edges), or discretizers such as "
            "equal-frequency and mdl; may be repeated. Default: learner,histogram."
        ),
    ] = None,
    out: Annotated[Path | None, opt("CSV file to write.", "--out", "-o")] = None,
    kind: Kind = None,
    max_levels: MaxLevels = MAX_LEVELS,
    group: Group = None,
    max_seconds: MaxSeconds = 10.0,
    seed: Annotated[int | None, opt("Seed that repeats a run; by default random and printed.", min=0)] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Learn from all folds of DATA but one, judge on that one, and print the means over all rows with standard errors.

    Example: gomea-bn cross-validate data.csv --target cough --compare learner,knee,equal-frequency,histogram. Exit
    codes: 0 done, 1 not written, 2 wrong use, 3 data unusable, 130 interrupted.
    """
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.prediction.cross_validation import cross_validate as table_of

    check_output("--out", out, {"DATA": [data]}, [".csv"])
    rows = loaded_rows(data, reading)
    with failing(UNUSABLE_DATA, of_options=WRONG_USE, interrupted=NOTHING_WRITTEN):
        methods = [name for text in compare or ["learner,histogram"] for name in fields_of("--compare", text)]
        with printed_warnings():
            result = table_of(
                rows,
                target=target,
                folds=folds,
                compare=methods,
                max_seconds=limit(max_seconds),
                learner=BayesNetLearner(max_levels=max_levels),
                kinds=read_kinds(kind or ()),
                random_state=seed,
                groups=group,
            )
    table = result.reset_index()
    if as_json:
        records = json.loads(table.to_json(orient="records", double_precision=15))
        typer.echo(json.dumps({"seed": result.attrs["seed"], "folds": folds, "methods": records}, indent=2))
    elif out is None:
        say(table.to_string(index=False, float_format="{:.4g}".format), to_error=False)
    if out is not None:
        deliver_frame(table, out)
    if not quiet:
        say(f"Repeat with --seed {result.attrs['seed']}.")
