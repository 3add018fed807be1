"""The command `explain`: what an answer about one column of a saved network rests on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.figures import check_figure, write_figure
from gomea_bn.cli.named_networks import Network, Statements, files_of, loaded_network
from gomea_bn.cli.options import AsJson, reads_table
from gomea_bn.cli.output import (
    WRONG_USE,
    check_targets,
    check_writable,
    fail,
    say,
)
from gomea_bn.cli.running import answering, loaded_rows
from gomea_bn.data.files.reading import ReadingOptions

if TYPE_CHECKING:
    from gomea_bn.network.explanations import Explanation

_TABLES = ("drivers", "pushes", "measure_next", "parameters")


@reads_table("network")
def explain(
    network: Network,
    target: Annotated[str, typer.Option(help="Column whose answer is explained.")],
    given: Statements = None,
    data: Annotated[Path | None, typer.Option(help="File of a table, for --row.")] = None,
    row: Annotated[
        int | None,
        typer.Option(
            min=0, help="Row of --data, counted from 0, whose cells are known; not that of the target."
        ),
    ] = None,
    state: Annotated[
        str | None, typer.Option(help="Level of a discrete target. Default: the most probable one.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File of a plot to write: .png, .svg or .pdf; needs Matplotlib.")
    ] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Print what the answer about one column of NETWORK rests on: drivers, findings, what to measure next, sensitivity.

    Example: gomea-bn explain out/run --target cough --given 'age=50' smoker=yes. Exit codes: 0 done, 1 not written, 2
    wrong use, 3 network or data unusable, 130 interrupted.
    """
    from gomea_bn.cli.statements import read_statements, read_values

    if (data is None) != (row is None):
        fail("--row is a row of the table of --data; give both.", WRONG_USE)
    if plot is not None:
        check_figure("--plot", plot)
        check_targets({"--plot": [plot]}, {"NETWORK": files_of(network), "--data": [data] if data else []})
        check_writable(plot)
    saved = loaded_network(network)
    cells = None
    if data is not None and row is not None:
        frame = loaded_rows(data, reading)
        if row >= len(frame):
            fail(f"--row must be a row of '{data}', 0 to {len(frame) - 1:,}, got {row:,}.", WRONG_USE)
        cells = frame.iloc[row]
    with answering():
        stated = read_statements("--given", given or (), saved)
        level = None
        if state is not None:
            level = next(iter(read_values("--state", [f"{target}={state}"], saved).values()))
        explanation = saved.explain(target, stated, cells, state=level)
    if as_json:
        typer.echo(json.dumps(_record(explanation), indent=2))
    else:
        say(str(explanation), to_error=False)
    if plot is not None:
        from gomea_bn.plots.explanation import plot_explanation

        write_figure(lambda: plot_explanation(explanation), plot)


def _record(explanation: Explanation) -> dict[str, Any]:
    """Return what `--json` prints; numbers that are not known are null."""
    tables = {}
    for part in _TABLES:
        frame = getattr(explanation, part)
        frame = frame if part == "parameters" else frame.rename_axis("column").reset_index()
        tables[part] = json.loads(frame.to_json(orient="records"))
    low, high = explanation.interval
    return {
        "target": explanation.target,
        "quantity": explanation.quantity,
        "answer": explanation.answer,
        "interval": None if low != low else [low, high],
        "baseline": explanation.baseline,
        "sentences": list(explanation.sentences),
        **tables,
    }
