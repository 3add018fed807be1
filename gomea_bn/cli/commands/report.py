"""The commands `report` and `plot`: a network on paper, and as a picture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.figures import check_figure, write_figure
from gomea_bn.cli.named_networks import (
    Network,
    files_of,
    named_network,
    recorded_file,
    run_record_of,
    table_of_record,
)
from gomea_bn.cli.options import reads_table
from gomea_bn.cli.output import (
    FAILED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_targets,
    check_writable,
    fail,
    finishing,
    say,
)
from gomea_bn.cli.running import loaded_rows, printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.network.bayes_net import DiscretizedBayesNet


@reads_table("network")
def report(
    network: Network,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="File to write: .html, or .pdf, which Chromium or Chrome prints."),
    ],
    target: Annotated[str | None, typer.Option(help="Column whose drivers are named and drawn.")] = None,
    title: Annotated[str, typer.Option(help="Headline.")] = "What the table says",
    data: Annotated[
        Path | None, typer.Option(help="Table of the run. Default: where it was; without it no histograms.")
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Write one to three pages about NETWORK: what was learned, from which rows, how sure, drivers, limits.

    Example: gomea-bn report out/run --target cough -o report.html. Exit codes: 0 done, 1 not written, 2 wrong use, 3
    network or data unusable.
    """
    from gomea_bn.review.report import run_report

    if out.suffix.lower() not in (".html", ".pdf"):
        fail(f"--out: '{out}' must end in .html or .pdf.", WRONG_USE)
    check_targets({"--out": [out]}, {"NETWORK": files_of(network), "--data": [data] if data else []})
    check_writable(out)
    try:
        saved = named_network(network)
        record = run_record_of(Path(network)) if os.path.isdir(network) else {}
        table = _rows(saved, record, data, reading)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    if target is not None and target not in saved.names:
        fail(f"--target: unknown column '{target}'.", WRONG_USE)
    with finishing("the report"):
        try:
            with printed_warnings():
                run_report(saved, out, target=target, record=record, table=table, title=title)
        except GomeaBnError as error:
            fail(error, FAILED)
        say(f"Wrote {out}.")


@reads_table("network")
def plot(
    network: Network,
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture to write: .svg, .png or .pdf.")],
    column: Annotated[
        str | None, typer.Option(help="Column whose density is drawn. Default: the network.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Table for the histogram behind a density.")] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Draw NETWORK, or the density of one of its columns.

    Example: gomea-bn plot out/run -o network.svg. Exit codes: 0 done, 1 not written, 2 wrong use, 3 network or data
    unusable.
    """
    from gomea_bn.plots.density import plot_density
    from gomea_bn.plots.network import plot_network

    check_figure("--out", out)
    check_targets({"--out": [out]}, {"NETWORK": files_of(network), "--data": [data] if data else []})
    check_writable(out)
    if data is not None and column is None:
        fail("--data draws rows behind the density of --column; give both.", WRONG_USE)
    try:
        saved = named_network(network)
        table = _rows(saved, {}, data, reading)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    if column is not None and column not in saved.names:
        fail(f"--column: unknown column '{column}'.", WRONG_USE)
    if column is None:
        write_figure(lambda: plot_network(saved), out)
    else:
        write_figure(lambda: plot_density(saved, column, table=table), out)


def _rows(
    network: DiscretizedBayesNet, record: dict[str, Any], data: Path | None, reading: ReadingOptions
) -> Table | None:
    """Return the rows of `--data`, or those that the record of a run names; None if there are none."""
    from gomea_bn.network.rows import rows_for

    if data is not None:
        return rows_for(network, loaded_rows(data, reading))
    path = recorded_file(record.get("data"), None)
    return None if path is None else table_of_record(path, record)
