"""The commands `review`, `export`, `accept` and `compare`, which use the networks of a front or a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import (
    NETWORK_HELP,
    candidate,
    ending_of,
    files_of,
    finish_folder,
    named_network,
    network_and_rows,
    network_text,
    of_run_folder,
    reading_of,
    recorded_file,
    run_record_of,
    table_of_record,
    tested_network,
)
from gomea_bn.cli.options import TestGraph, reads_table
from gomea_bn.cli.output import (
    FAILED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_output,
    deliver,
    deliver_frame,
    fail,
    failing,
    say,
)
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import loaded_rows, printed_warnings, tested_graph
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.network.formats.registry import WRITTEN, format_of
from gomea_bn.texts import listed

if TYPE_CHECKING:
    from gomea_bn.data.files.reading import TextForm
    from gomea_bn.data.table import Table
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

_TABLE_FORMATS = ("csv", "parquet")
# of formats whose files have other endings than their name too
_ENDINGS = {"dot": (".dot", ".gv"), "parquet": (".parquet", ".pq")}


@reads_table()
def review(
    source: Annotated[
        str,
        typer.Argument(metavar="NETWORK", help=f"Folder of a front, for all its networks. {NETWORK_HELP}"),
    ],
    out: Annotated[
        Path | None,
        opt(
            "HTML file to write. Default: review.html in the folder, review_ID.html for FOLDER#ID, or the file "
            "of the network with the ending .html.",
            "--out",
            "-o",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        opt(
            "The table, for numbers of rows. Default: the recorded file, if it exists and is unchanged. Completes "
            "an expert's edges."
        ),
    ] = None,
    networks: Annotated[int, opt("Largest number of networks on the page.", min=1)] = 200,
    test_graph: TestGraph = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Write a page on which to look at a network, or to compare and choose those of a front: one HTML file, no server.

    The page holds histograms and counts of the table, never its rows. The table of a folder is read as recorded there,
    other tables by the options for reading. Exit codes: 0 done, 1 not written, 2 wrong use, 3 network, folder or table
    unusable.
    """
    from gomea_bn.front.folder import is_front_folder

    target = _page_file(source) if out is None else out
    # a folder is no table, as the command says later
    inputs = {"--data": [data] if data and data.is_file() else [], **files_of("NETWORK", source)}
    check_output("--out", target, inputs, [".html"])
    with failing(UNUSABLE_DATA):
        finish_folder(source)
        written = _page(source, target, data, reading, networks)
    with failing(FAILED):
        written(test_graph=test_graph)
    say(f"Wrote {target}; open it in a browser.", to_error=False)
    if is_front_folder(source):
        say(
            f"Choose there, save the decision, then: gomea-bn accept {source} decision.json -o model.json\n"
            "If you called edges impossible there: gomea-bn front DATA --rules decision.json",
            to_error=False,
        )


def _page_file(source: str) -> Path:
    """Return the file of a page about a network or a folder, next to it or in it."""
    if os.path.isdir(source):
        return Path(source, "review.html")
    folder, mark, which = source.rpartition("#")
    if mark and not os.path.lexists(source):
        return Path(folder, f"review_{which}.html")
    return Path(source).with_suffix(".html")


def _page(
    source: str, target: Path, data: Path | None, reading: ReadingOptions, networks: int
) -> Callable[..., object]:
    """Return a function that writes the page of a front, of a run of `learn`, of a network of a front, or of a file."""
    from gomea_bn.front.folder import is_front_folder, read_front
    from gomea_bn.network.rows import table_for
    from gomea_bn.review.page import network_report, review_page

    if is_front_folder(source):
        front = read_front(source)
        rows_of_front = _recorded_rows(front.record, front.record.get("source"), data)
        return partial(review_page, front.with_origin(table=rows_of_front), target, max_networks=networks)
    if os.path.isdir(source):
        network, run = of_run_folder(Path(source)), run_record_of(Path(source))
        table = _recorded_rows(run, run.get("data"), data)
        return partial(network_report, network, table, target, record=run)
    folder, mark, _ = source.rpartition("#")
    if mark and not os.path.lexists(source):
        network, record = named_network(source), read_front(folder).record
        recorded = _recorded_rows(record, record.get("source"), data)
        return partial(network_report, network, recorded, target)
    network, rows = network_and_rows(source, None if data is None else loaded_rows(data, reading))
    with printed_warnings():
        table = None if rows is None else table_for(network, rows, allow_missing=True)
    return partial(network_report, network, table, target)


@reads_table()
def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="NETWORK", help=f"Folder of a front, for its table or --network. {NETWORK_HELP}"
        ),
    ],
    network: Annotated[
        str | None,
        opt(
            "Id in the front, recommended, knee, closest (to the expert), single (of the search for one network), "
            "or the objective in which the network is best."
        ),
    ] = None,
    to: Annotated[
        str | None,
        opt(
            f"Format: {listed(WRITTEN)} for a network; {listed(_TABLE_FORMATS)} for the table. Default: that "
            "of the ending of --out. xdsl is for GeNIe, net for HUGIN.",
            metavar="FORMAT",
        ),
    ] = None,
    out: Annotated[Path | None, opt("File to write. Default: standard output.", "--out", "-o")] = None,
    cpdag: Annotated[bool, opt("With dot: no arrowheads at edges whose direction no rows can tell.")] = False,
    data: Annotated[
        Path | None,
        opt(
            "The table that completes an expert's edges, or of a front, where it is not in its place any more."
        ),
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Write a network in another format, one network of a front or a run, or the table of a front.

    CSV has the separator and the decimal mark of the table that the front was learned from, if it is there.
    Exit codes: 0 done, 1 not written, 2 wrong use, 3 network or folder unusable.
    """
    from gomea_bn.front.folder import is_front_folder

    ending = (to or (format_of(out) or out.suffix[1:] if out is not None else "json")).lower()
    if ending not in (*WRITTEN, *_TABLE_FORMATS):
        fail(f"--to must be one of {listed((*WRITTEN, *_TABLE_FORMATS))}, got {ending!r}.", WRONG_USE)
    if cpdag and ending != "dot":
        fail(f"--cpdag is for --to dot, got {ending}.", WRONG_USE)
    inputs = {**files_of("NETWORK", source), "--data": [data] if data else []}
    check_output("--out", out, inputs, _ENDINGS.get(ending, (f".{ending}",)))
    with failing(UNUSABLE_DATA):
        finish_folder(source)
    if is_front_folder(source):
        _export_front(Path(source), network, ending, out, data, cpdag=cpdag)
        return
    if network is not None or ending not in WRITTEN:
        advice = "leave --network out" if network is not None else f"--to must be one of {listed(WRITTEN)}"
        fail(f"'{source}' is not the folder of a front: it has no ids and no table; {advice}.", WRONG_USE)
    with failing(UNUSABLE_DATA):
        only_network = named_network(source, None if data is None else loaded_rows(data, reading))
    deliver(network_text(only_network, ending, cpdag=cpdag), out)
    _say_tables_alone(only_network)


def accept(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder of the front or the run whose page the decision is from."
        ),
    ],
    decision: Annotated[
        Path, typer.Argument(metavar="DECISION", help="decision.json, as the review page saves it.")
    ],
    out: Annotated[Path, opt(f"File for the model; its ending is one of {listed(WRITTEN)}.", "--out", "-o")],
) -> None:
    """Check that a decision belongs to a front or a run, and write the chosen network.

    The JSON model keeps the decision with its notes in its metadata. Exit codes: 0 done, 1 not written, 2 wrong use,
    3 folder or decision unusable, or the decision belongs to another front.
    """
    from gomea_bn.front.decision import accept as accept_decision
    from gomea_bn.front.decision import read_decision
    from gomea_bn.front.folder import is_front_folder, read_front
    from gomea_bn.network.formats.summary import to_short_text

    with failing(WRONG_USE):
        ending = ending_of(out)
    check_output("--out", out, {**files_of("FOLDER", str(folder)), "DECISION": [decision]}, [f".{ending}"])
    with failing(UNUSABLE_DATA):
        made = read_decision(decision)
        finish_folder(folder)
        of_run = made.run_hash is None and not is_front_folder(str(folder))
        front = None if of_run else read_front(folder)
        chosen = accept_decision(of_run_folder(folder) if front is None else front, made)
    deliver(network_text(chosen, ending), out)
    _say_tables_alone(chosen)
    note = f"\nNote: {made.notes[made.network]}" if made.network in made.notes else ""
    which = f"The network of the run, accepted {made.made}."
    if front is not None:
        which = f"Network {made.network}, chosen {made.made} from a front of {len(front):,}."
    say(f"{which}{note}\n", to_error=False)
    say(f"{to_short_text(chosen)}\n\nNext: gomea-bn show {out}", to_error=False)
    # a decision may keep a network that its own rules call wrong
    edges = set(chosen.edges)
    said = [(edge, "rules out", "has") for edge in made.forbidden_edges if edge in edges]
    said += [(edge, "demands", "lacks") for edge in made.required_edges if edge not in edges]
    for (parent, child), wanted, got in said:
        say(f"The decision {wanted} '{parent}' -> '{child}', and the network {got} it.")
    if said:
        say(
            f"To search by its rules: gomea-bn {'learn' if front is None else 'front'} DATA --rules {decision}"
        )


@reads_table()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=NETWORK_HELP)],
    b: Annotated[
        str,
        typer.Argument(metavar="B", help="Another network, named like A."),
    ],
    data: Annotated[
        Path | None, opt("The table that completes an expert's edges, and whose rows --test-graph takes.")
    ] = None,
    test_graph: TestGraph = False,
    as_json: Annotated[bool, opt("Print it as JSON.", "--json")] = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Describe the edges and bins that two networks share and those in which they differ.

    Exit codes: 0 done, 2 wrong use, 3 a network or the table is unusable.
    """
    from gomea_bn.metrics.comparison import compare as compare_networks

    with failing(UNUSABLE_DATA):
        of_a, rows = network_and_rows(a, None if data is None else loaded_rows(data, reading))
        of_b, rows = network_and_rows(b, rows)
        networks = {"A": of_a, "B": of_b}
        comparison = compare_networks(*networks.values())
    tests = {}
    if test_graph:
        graphs = {key: tested_network(text, networks[key]) for key, text in (("A", a), ("B", b))}
        tests = {key: tested_graph(graph, rows) for key, graph in graphs.items()}
    if as_json:
        record = asdict(comparison) | {f"test_{key.lower()}": test.to_dict() for key, test in tests.items()}
        typer.echo(json.dumps(record, indent=2))
    else:
        blocks = [f"A: {a}\nB: {b}", comparison.to_text("A", "B"), *(f"{key}: {tests[key]}" for key in tests)]
        say("\n\n".join(blocks), to_error=False)


def _recorded_rows(record: Mapping[str, Any], source: Any, data: Path | None) -> Table | None:
    """Return the table that a record names, or None, with a message, if it is missing or has changed."""
    path = recorded_file(source, data)
    if path is None:
        say(
            "The table is not where it was, or has changed: the page shows no numbers of rows per bin. Give its place "
            "with --data."
        )
        return None
    return table_of_record(path, record)


def _form_of_record(record: Mapping[str, Any], data: Path | None) -> TextForm | None:
    """Return how the text file that a front was learned from writes a table, None without such a file."""
    from gomea_bn.data.files.table_files import is_text_file, read_file

    path, options = recorded_file(record.get("source"), data), ReadingOptions.of(**reading_of(record))
    return read_file(path, options).form if path is not None and is_text_file(path, options.sep) else None


def _export_front(
    folder: Path, network: str | None, ending: str, out: Path | None, data: Path | None, *, cpdag: bool
) -> None:
    """Print or write one network of a front, or its table."""
    from gomea_bn.front.folder import read_front

    if network is None and ending == "json":
        fail("Name a network with --network, or write the table with --to csv.", WRONG_USE)
    if (network is None) == (ending in WRITTEN):
        content = (
            "a network: name it with --network" if network is None else "the whole table: leave --network out"
        )
        fail(f"--to {ending} is a format of {content}.", WRONG_USE)
    with failing(UNUSABLE_DATA):
        front = read_front(folder)
    if network is None:
        from gomea_bn.front.folder import front_table

        if ending == "parquet" and out is None:
            fail("Parquet is not text: name a file with --out.", WRONG_USE)
        is_parquet = ending == "parquet"
        with failing(UNUSABLE_DATA):
            form = None if is_parquet else _form_of_record(front.record, data)
        deliver_frame(front_table(front), out, as_parquet=is_parquet, index=True, form=form)
        return
    with failing(WRONG_USE):
        chosen = candidate(front, network)
    deliver(network_text(chosen.network, ending, cpdag=cpdag), out)
    _say_tables_alone(chosen.network)


def _say_tables_alone(network: DiscretizedBayesNet) -> None:
    """Say that a network was learned with curves of which its folder keeps only tables."""
    if (curves := network.metadata.get("curves")) and network.conditionals is None:
        say(
            f"The folder of the front keeps tables of this network alone, not the curves of "
            f"{listed(map(repr, curves), 5)}. They come back from the rows, in Python: "
            "gomea_bn.average_families(network, frame)"
        )
