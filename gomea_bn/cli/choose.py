"""The commands `review`, `export`, `accept` and `compare`, which use the networks of a front or a run."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import (
    WRITERS,
    averaged_of_run_folder,
    candidate,
    ending_of,
    finish_folder,
    folder_files,
    named_network,
    network_text,
    of_run_folder,
    run_record_of,
)
from gomea_bn.cli.output import (
    FAILED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_targets,
    deliver,
    deliver_frame,
    fail,
    say,
)
from gomea_bn.cli.running import printed_warnings
from gomea_bn.data.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.registry import format_of
from gomea_bn.texts import listed

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.front.front import Front

__all__ = ["accept", "compare", "export", "review"]

_TABLE_FORMATS = ("csv", "parquet")


def review(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of a front, or of a run of `learn`.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="HTML file to write. Default: review.html in the folder."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The table, for numbers of rows. Default: the recorded file, if it exists and is unchanged."
        ),
    ] = None,
    networks: Annotated[int, typer.Option(min=1, help="Largest number of networks on the page.")] = 200,
) -> None:
    """Write a page on which to look at the networks of a front, compare them and choose one: one HTML file, no server.

    The page holds histograms and counts of the table, never its rows. Exit codes: 0 done, 1 not written, 2 wrong use,
    3 folder or table unusable. Of a run with averaged.json the page also draws the averaged densities.
    """
    from gomea_bn.front.folder import is_front_folder, read_front
    from gomea_bn.review.page import network_report, review_page

    target = folder / "review.html" if out is None else out
    try:
        finish_folder(folder)
        if is_front_folder(folder):
            front = read_front(folder)
            source, parameters = front.record.get("source"), front.record.get("parameters")
            reading = front.record.get("reading")
        else:
            front, network, run = None, of_run_folder(folder), run_record_of(folder)
            averaged = averaged_of_run_folder(folder, network)
            source, parameters = run.get("data"), run.get("parameters")
            reading = run.get("reading")
        path = _table_path(source, data)
        inputs = {
            "FOLDER": folder_files(folder),
            "--data" if data is not None else "the table": [path] if path else [],
        }
        check_targets({"--out": [target]}, inputs)
        table = _rows(path, parameters, reading)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    try:
        if front is not None:
            review_page(_with_table(front, table), target, max_networks=networks)
        else:
            network_report(averaged or network, table, target, record=run)
    except GomeaBnError as error:
        fail(error, FAILED)
    say(f"Wrote {target}; open it in a browser.", to_error=False)
    if front is not None:
        say(
            f"Choose there, save the decision, then: gomea-bn accept {folder} decision.json -o model.json",
            to_error=False,
        )


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of a front, or of a run of `learn`.")
    ],
    network: Annotated[
        str | None,
        typer.Option(
            help="Id in the front, knee, closest (to the expert), or the objective in which the network is best."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help=f"Format: {listed(WRITERS)} for a network; {listed(_TABLE_FORMATS)} for the table. Default: that "
            "of the ending of --out. xdsl is for GeNIe, net for HUGIN."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. Default: standard output.")
    ] = None,
    cpdag: Annotated[
        bool,
        typer.Option("--cpdag", help="With dot: no arrowheads at edges whose direction no rows can tell."),
    ] = False,
) -> None:
    """Write one network of a front or a run, or the table of a front.

    Exit codes: 0 done, 1 not written, 2 wrong use, 3 folder unusable.
    """
    from gomea_bn.front.folder import is_front_folder

    ending = (to or (format_of(out) or out.suffix[1:] if out is not None else "json")).lower()
    if ending not in (*WRITERS, *_TABLE_FORMATS):
        fail(f"--to must be one of {listed((*WRITERS, *_TABLE_FORMATS))}, got {ending!r}.", WRONG_USE)
    if cpdag and ending != "dot":
        fail(f"--cpdag is for --to dot, got {ending}.", WRONG_USE)
    if out is not None:
        check_targets({"--out": [out]}, {"FOLDER": folder_files(folder)})
    try:
        finish_folder(folder)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    if is_front_folder(folder):
        _export_front(folder, network, ending, out, cpdag=cpdag)
        return
    if network is not None or ending not in WRITERS:
        advice = "leave --network out" if network is not None else f"--to must be one of {listed(WRITERS)}"
        fail(f"'{folder}' is not the folder of a front: it has no ids and no table; {advice}.", WRONG_USE)
    try:
        only_network = of_run_folder(folder)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    deliver(network_text(only_network, ending, cpdag=cpdag), out)


def accept(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of the front in which the decision was made.")
    ],
    decision: Annotated[
        Path, typer.Argument(metavar="DECISION", help="decision.json, as the review page saves it.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help=f"File for the model; its ending is one of {listed(WRITERS)}.")
    ],
) -> None:
    """Check that a decision belongs to a front, and write the chosen network.

    The JSON model keeps the decision with its notes in its metadata. Exit codes: 0 done, 1 not written, 2 wrong use,
    3 front or decision unusable, or the decision belongs to another front.
    """
    from gomea_bn.front.decision import accept as accept_decision
    from gomea_bn.front.decision import read_decision
    from gomea_bn.front.folder import read_front

    try:
        ending = ending_of(out)
    except GomeaBnError as error:
        fail(error, WRONG_USE)
    check_targets({"--out": [out]}, {"FOLDER": folder_files(folder), "DECISION": [decision]})
    try:
        made = read_decision(decision)
        finish_folder(folder)
        front = read_front(folder)
        chosen = accept_decision(front, made)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    deliver(network_text(chosen, ending), out)
    note = f"\nNote: {made.notes[made.network]}" if made.network in made.notes else ""
    say(f"Network {made.network}, chosen {made.made} from a front of {len(front):,}.{note}\n", to_error=False)
    say(chosen.summary(), to_error=False)


def compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="File of a network, folder of a run, or FOLDER#ID of a front.")
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B", help="Another network; also FOLDER#knee, #closest, #expert or #OBJECTIVE."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Describe the edges and bins that two networks share and those in which they differ.

    Exit codes: 0 done, 3 a network is unusable.
    """
    from gomea_bn.metrics.comparison import compare as compare_networks

    try:
        comparison = compare_networks(named_network(a), named_network(b))
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    if as_json:
        typer.echo(json.dumps(asdict(comparison), indent=2))
    else:
        say(f"A: {a}\nB: {b}\n\n{comparison.to_text('A', 'B')}", to_error=False)


def _table_path(source: Any, data: Path | None) -> Path | None:
    """Return the file of the table that a record names, or None, with a message, if it is missing or has changed."""
    from gomea_bn.runtime.environment import file_digest

    source = source if isinstance(source, dict) else {}
    if data is not None and not os.path.isfile(data):
        raise GomeaBnError(
            f"--data: '{data}' {'is not a file' if os.path.exists(data) else 'does not exist'}; give the table."
        )
    path = data if data is not None else Path(str(source.get("path", "")))
    if os.path.isfile(path) and file_digest(path) == source.get("file_sha256"):
        return path
    if data is not None:
        raise GomeaBnError(
            f"--data: '{data}' is not the file that was learned from: its SHA-256 differs from the recorded one."
        )
    say(
        "The table is not where it was, or has changed: the page shows no numbers of rows per bin. Give its place with "
        "--data."
    )
    return None


def _rows(path: Path | None, parameters: Any, reading: Any) -> Table | None:
    """Return the table of a file, read with the parameters and the options for reading of a record."""
    from gomea_bn.data.sources import treatment_in_reading
    from gomea_bn.data.table import read_table

    if path is None:
        return None
    parameters = parameters if isinstance(parameters, dict) else {}
    options = {name: parameters[name] for name in ("kinds", "missing", "max_levels") if name in parameters}
    if "missing" in options:
        options["missing"] = treatment_in_reading(options["missing"])
    reading = reading if isinstance(reading, dict) else {}
    known = {field.name for field in fields(ReadingOptions)}
    options |= {name: value for name, value in reading.items() if name in known}
    with printed_warnings():
        return read_table(path, **options)


def _with_table(front: Front, table: Table | None) -> Front:
    """Return the front with its rows."""
    from gomea_bn.front.front import Front

    if table is None:
        return front
    return Front(
        front.objectives, front.values, front.network, table=table, expert=front.expert, record=front.record
    )


def _export_front(folder: Path, network: str | None, ending: str, out: Path | None, *, cpdag: bool) -> None:
    """Print or write one network of a front, or its table."""
    from gomea_bn.front.folder import read_front

    if network is None and ending == "json":
        fail("Name a network with --network, or write the table with --to csv.", WRONG_USE)
    if (network is None) == (ending in WRITERS):
        content = (
            "a network: name it with --network" if network is None else "the whole table: leave --network out"
        )
        fail(f"--to {ending} is a format of {content}.", WRONG_USE)
    try:
        front = read_front(folder)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    if network is None:
        _deliver_table(front, ending, out)
        return
    try:
        chosen = candidate(front, network)
    except GomeaBnError as error:
        fail(error, WRONG_USE)
    deliver(network_text(chosen.network, ending, cpdag=cpdag), out)


def _deliver_table(front: Front, ending: str, out: Path | None) -> None:
    """Print or write the table of a front."""
    from gomea_bn.front.folder import front_table

    if ending == "parquet" and out is None:
        fail("Parquet is not text: name a file with --out.", WRONG_USE)
    deliver_frame(front_table(front), out, as_parquet=ending == "parquet", index=True)
