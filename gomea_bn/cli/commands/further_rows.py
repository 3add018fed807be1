"""The commands `update` and `drift`: further rows for a saved network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gomea_bn.cli.named_networks import Network, files_of, loaded_network
from gomea_bn.cli.options import AsJson, Data, reads_table
from gomea_bn.cli.output import (
    FAILED,
    check_targets,
    check_writable,
    deliver_frame,
    fail,
    finishing,
    say,
)
from gomea_bn.cli.running import answering, loaded_rows
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError


@reads_table("network")
def update(
    network: Network,
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="JSON file for the network with the rows.")],
    weight: Annotated[float, typer.Option(help="Number of rows that each row counts for.")] = 1.0,
    forget: Annotated[
        float | None,
        typer.Option(help="Number of rows after which a row counts half; rows are in the order of time."),
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Let NETWORK take the rows of DATA: tables, lines and shapes change, graph and cuts stay.

    Example: gomea-bn update out/run new.csv -o updated.json. Exit codes: 0 done, 1 not written, 2 wrong use, 3 network
    or data unusable, 130 interrupted.
    """
    check_targets({"--out": [out]}, {"NETWORK": files_of(network), "DATA": [data]})
    check_writable(out)
    with answering("Interrupted; nothing was written.", data_may_be_wrong=True):
        rows = loaded_rows(data, reading)
        updated = loaded_network(network).update(rows, weight, forget)
    with finishing("the network"):
        try:
            updated.to_json(out)
        except GomeaBnError as error:
            fail(error, FAILED)
        say(f"Wrote {out}: the network with {len(rows):,} further rows.")


@reads_table("network")
def drift(
    network: Network,
    data: Data,
    level: Annotated[
        float, typer.Option(help="Probability that any column of rows without drift counts as drifted.")
    ] = 0.05,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file to write.")] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Print for every column of NETWORK whether the rows of DATA still follow it, and which edges are broken.

    DATA must hold rows that NETWORK was not learned from. Example: gomea-bn drift out/run new.csv. Exit codes: 0 done,
    1 not written, 2 wrong use, 3 network or data unusable, 130 interrupted.
    """
    if out is not None:
        check_targets({"--out": [out]}, {"NETWORK": files_of(network), "DATA": [data]})
        check_writable(out)
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
