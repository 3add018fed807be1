"""The commands that look at a front, take networks out of it, carry out a choice, and compare networks."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import (
    WRITERS,
    candidate,
    ending_of,
    named_network,
    network_text,
    of_run_folder,
    run_record_of,
)
from gomea_bn.cli.output import FAILED, UNUSABLE_DATA, WRONG_USE, fail, say
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.front.front import Front

__all__ = ["COMMANDS", "accept", "compare", "export", "review"]


def review(
    folder: Annotated[Path, typer.Argument(help="Folder of a front, or of a run of `learn`.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page. Default: review.html in the folder.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The table, for counts of rows. Default: the file it was, if unchanged and still there."
        ),
    ] = None,
    networks: Annotated[int, typer.Option(min=1, help="Most networks on the page.")] = 200,
) -> None:
    """Write a page to look at the networks of a front, compare them and choose one: one HTML file, no server.

    The page holds histograms and counts of the table, never its rows. Exit codes: 0 done, 1 not written, 3
    folder or table unusable.
    """
    from gomea_bn.front.folder import is_front_folder, read_front
    from gomea_bn.review.page import network_report, review_page

    target = folder / "review.html" if out is None else out
    try:
        if is_front_folder(folder):
            front = read_front(folder)
            front = _with_table(
                front, _rows(front.record.get("source"), front.record.get("parameters"), data)
            )
        else:
            front, network, run = None, of_run_folder(folder), run_record_of(folder)
            table = _rows(run.get("data"), run.get("parameters"), data)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    try:
        if front is not None:
            review_page(front, target, max_networks=networks)
        else:
            network_report(network, table, target, record=run)
    except GomeaBnError as error:
        fail(str(error), FAILED)
    say(f"Wrote {target}; open it in a browser.", to_error=False)
    if front is not None:
        say(
            f"Choose there, save the decision, then: gomea-bn accept {folder} decision.json -o model.json",
            to_error=False,
        )


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a front, or of a run of `learn`.")],
    network: Annotated[
        str | None,
        typer.Option(
            help="Its id in the front, knee, closest (to the expert) or the objective it is best in."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="json, bif, dot for a network; csv, parquet for the table. Default: the ending of --out."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file. Default: printed.")] = None,
) -> None:
    """Take one network out of a front, or the table of all of them."""
    from gomea_bn.front.folder import is_front_folder

    wanted = (to or (out.suffix[1:] if out is not None else "json")).lower()
    if wanted not in (*WRITERS, "csv", "parquet"):
        fail(f"--to must be json, bif, dot, csv or parquet, got {wanted!r}.", WRONG_USE)
    if is_front_folder(folder):
        _export_front(folder, network, wanted, out)
        return
    if network is not None or wanted not in WRITERS:
        fail(f"'{folder}' is no front's folder: it has no ids and no table; leave --network out.", WRONG_USE)
    try:
        only = of_run_folder(folder)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    _deliver(network_text(only, wanted), out)


def accept(
    folder: Annotated[Path, typer.Argument(help="Folder of the front that the decision is about.")],
    decision: Annotated[Path, typer.Argument(help="decision.json, as the review page saves it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model to write: .json, .bif or .dot.")],
) -> None:
    """Check that a decision is about this front, and write the network that it chose.

    The JSON model keeps the decision, notes included, in its metadata. Exit codes: 0 done, 1 not written, 2 wrong use,
    3 front or decision unusable, or not made for each other.
    """
    from gomea_bn.front.decision import accept as accept_decision
    from gomea_bn.front.decision import read_decision
    from gomea_bn.front.folder import read_front

    try:
        ending = ending_of(out)
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    try:
        made = read_decision(decision)
        found = read_front(folder)
        chosen = accept_decision(found, made)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    _deliver(network_text(chosen, ending), out)
    note = f"\nNote: {made.notes[made.network]}" if made.network in made.notes else ""
    say(f"Network {made.network}, chosen {made.made} from a front of {len(found):,}.{note}\n", to_error=False)
    say(chosen.summary(), to_error=False)


def compare(
    a: Annotated[str, typer.Argument(help="A JSON or BIF file, a run's folder, or FOLDER#ID of a front.")],
    b: Annotated[str, typer.Argument(help="Another; also FOLDER#knee, #closest, #expert or #OBJECTIVE.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Tell in words which edges and bins two networks share and in which they differ."""
    from gomea_bn.metrics.comparison import compare as compare_networks

    try:
        found = compare_networks(named_network(a), named_network(b))
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        say(f"A: {a}\nB: {b}\n\n{found.to_text('A', 'B')}", to_error=False)


def _rows(source: Any, parameters: Any, data: Path | None) -> Table | None:
    """Return the table that a record's source and parameters name, or None, saying so, if it is not there."""
    from gomea_bn.data.table import read_table
    from gomea_bn.runtime.environment import file_digest

    source = source if isinstance(source, dict) else {}
    parameters = parameters if isinstance(parameters, dict) else {}
    if data is not None and not data.is_file():
        raise GomeaBnError(
            f"'{data}' {'is no file' if data.exists() else 'does not exist'}; --data names the table."
        )
    path = data if data is not None else Path(str(source.get("path", "")))
    if not path.is_file() or file_digest(path) != source.get("file_sha256"):
        if data is not None:
            raise GomeaBnError(
                f"'{data}' is not the file that was learned from: its SHA-256 is not the recorded one."
            )
        say(
            "The table is not where it was, or has changed: the page counts no rows per bin. --data says where it is."
        )
        return None
    options = {name: parameters[name] for name in ("kinds", "missing", "max_levels") if name in parameters}
    return read_table(path, **options)


def _with_table(front: Front, table: Table | None) -> Front:
    """Return the front with its rows."""
    from gomea_bn.front.front import Front

    if table is None:
        return front
    return Front(
        front.objectives, front.values, front.network, table=table, expert=front.expert, record=front.record
    )


def _export_front(folder: Path, network: str | None, wanted: str, out: Path | None) -> None:
    """Print or write one network of a front, or its table."""
    from gomea_bn.front.folder import read_front

    if (network is None) == (wanted in WRITERS):
        what = (
            "a network: name it with --network" if network is None else "the whole table: leave --network out"
        )
        fail(f"--to {wanted} is the format of {what}.", WRONG_USE)
    try:
        found = read_front(folder)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    if network is None:
        _deliver_table(found, wanted, out)
        return
    try:
        chosen = candidate(found, network)
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    _deliver(network_text(chosen.network, wanted), out)


def _deliver(text: str, out: Path | None) -> None:
    """Print a text, or write it to a file."""
    from gomea_bn.runtime.atomic_files import write_text

    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        write_text(out, text)
    except GomeaBnError as error:
        fail(str(error), FAILED)
    say(f"Wrote {out}.")


def _deliver_table(found: Front, wanted: str, out: Path | None) -> None:
    """Print or write the table of a front."""
    from gomea_bn.front.folder import front_table, require_pyarrow
    from gomea_bn.runtime.atomic_files import write_bytes

    if wanted == "csv":
        _deliver(front_table(found).to_csv(lineterminator="\n"), out)
        return
    if out is None:
        fail("Parquet is not text: say where to write it with --out.", WRONG_USE)
    try:
        require_pyarrow()
        write_bytes(out, front_table(found).to_parquet())
    except GomeaBnError as error:
        fail(str(error), FAILED)
    say(f"Wrote {out}.")


COMMANDS = (review, export, accept, compare)
