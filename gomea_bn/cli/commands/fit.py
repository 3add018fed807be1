"""The command `fit`: probability tables for a graph and cuts of one's own."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import ending_of, files_of, named_network
from gomea_bn.cli.option_texts import all_cut_points, read_kinds
from gomea_bn.cli.options import (
    DECLARED,
    LEARNER_MISSING,
    MAX_LEVELS,
    PSEUDO_COUNT,
    SHAPE,
    CutPoints,
    Data,
    FormerDevice,
    Kind,
    LearnerMissing,
    MaxLevels,
    PseudoCount,
    Shape,
    reads_table,
    value_of,
)
from gomea_bn.cli.output import (
    FAILED,
    INTERRUPTED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_targets,
    check_writable,
    fail,
    finishing,
    say,
)
from gomea_bn.cli.running import loaded_data, printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, Option
from gomea_bn.texts import listed

if TYPE_CHECKING:
    from gomea_bn.data.files.loading import Loaded
    from gomea_bn.data.table import Table


@reads_table("graph")
def fit(
    graph: Annotated[
        str,
        typer.Argument(
            metavar="GRAPH",
            help="CSV of edges (parent,child), .dot, file of a network (.json, .bif, .xdsl, ...), folder of a run, or "
            "FOLDER#ID of a front; tables in it are not used.",
        ),
    ],
    data: Data,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="File for the network: .json, .bif, .xdsl, .net, .uai or .dot."),
    ],
    cuts: Annotated[
        Path | None, typer.Option(help="File of cut points, as `gomea-bn discretize --out` writes it.")
    ] = None,
    cut_points: CutPoints = None,
    pseudo_count: PseudoCount = PSEUDO_COUNT,
    shape: Shape = SHAPE,
    device: FormerDevice = "cpu",
    kind: Kind = None,
    missing: LearnerMissing = LEARNER_MISSING,
    max_levels: MaxLevels = MAX_LEVELS,
    *,
    reading: ReadingOptions,
) -> None:
    """Count the probability tables of a graph and bins of your own from DATA; nothing is searched.

    DATA may be a folder or a quoted pattern of Parquet and Arrow files, which need not fit into memory.

    Every column of the graph that is continuous needs cuts, from --cuts, --cut-points or GRAPH. In Python this is
    DiscretizedBayesNet.from_table(table, edges, cut_points, pseudo_count="auto",
    shapes=shapes_of_cuts(table, cut_points)). Exit codes: 0 done, 1 not written, 2
    wrong use, 3 graph or data unusable, 130 interrupted.
    """
    from gomea_bn.data.files.loading import load
    from gomea_bn.data.files.table_files import FILE_OPTIONS
    from gomea_bn.data.pieces import is_in_pieces
    from gomea_bn.data.sources import treatment_in_reading
    from gomea_bn.learning.cuts.given_cuts import network_from_pieces, shapes_of_cuts
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    inputs = {"GRAPH": files_of(graph), "DATA": [data], "--cuts": [] if cuts is None else [cuts]}
    check_targets({"--out": [out]}, inputs)
    try:
        ending_of(out)
        chosen_cuts = all_cut_points(cut_points or (), cuts)
        kinds = read_kinds(kind or ())
        treatment = value_of(DECLARED["missing"], missing)
        smoothing = value_of(DECLARED["pseudo_count"], pseudo_count)
        value_of(DECLARED["shape"], shape)
        of_files = [name for name in reading.given if name in FILE_OPTIONS]
        if of_files and is_in_pieces(data):
            raise GomeaBnError([Option(of_files[0]), " does not apply to a folder of files."])
    except GomeaBnError as error:
        fail(error, WRONG_USE)
    check_writable(out)
    if device != "cpu":
        say("Warning: --device has no effect, and the next version has no such option.")
    try:
        names, edges, own_cuts = _graph(graph)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    for name in chosen_cuts:
        if name not in names:
            from gomea_bn.errors import nearest

            fail(
                f"--cuts or --cut-points: the graph has no column '{name}'.{nearest(name, names)}", WRONG_USE
            )
    chosen_cuts = {
        **{name: cut for name, cut in own_cuts.items() if kinds.get(name) != "discrete"},
        **chosen_cuts,
    }
    in_reading = treatment_in_reading(treatment)
    try:
        if is_in_pieces(data):
            with printed_warnings():
                network = network_from_pieces(
                    data,
                    edges,
                    chosen_cuts,
                    table_of=lambda frame: _table(
                        load(frame, reading), names, chosen_cuts, kinds, in_reading, max_levels
                    ),
                    missing=treatment,
                    pseudo_count=smoothing,
                    shape=shape,
                    n_jobs=-1,
                    announce=say,
                )
        else:
            loaded = loaded_data(data, reading)
            with printed_warnings():
                table = _table(loaded, names, chosen_cuts, kinds, in_reading, max_levels)
                network = DiscretizedBayesNet.from_table(
                    table,
                    edges,
                    chosen_cuts,
                    pseudo_count=smoothing,
                    shapes=shapes_of_cuts(table, chosen_cuts, shape),
                )
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)
    with finishing("the report and the file"):
        try:
            network.export(out)
        except GomeaBnError as error:
            fail(error, FAILED)
        say(network.summary(), to_error=False)
        say(f"Wrote {out}.")


def _graph(text: str) -> tuple[list[str], list[tuple[str, str]], dict[str, list[float]]]:
    """Return the names, the edges and the cuts of a graph."""
    from gomea_bn.expert.expert_network import ExpertNetwork

    if os.path.isfile(text):
        expert = ExpertNetwork.from_file(text)
        return (
            list(expert.names),
            expert.edges,
            {name: cuts.tolist() for name, cuts in expert.cut_points.items()},
        )
    network = named_network(text)
    return (
        list(network.names),
        network.edges,
        {name: cuts.tolist() for name, cuts in network.cut_points.items()},
    )


def _table(
    loaded: Loaded,
    names: list[str],
    cut_points: dict[str, list[float]],
    kinds: dict[str, str],
    missing: str,
    max_levels: int,
) -> Table:
    """Return the columns of the graph; columns with cuts are continuous."""
    from gomea_bn.data.columns import column_positions
    from gomea_bn.data.table import table_of

    positions = column_positions(loaded.frame, names)
    chosen = sorted({positions[name] for name in names})
    others = [str(name) for at, name in enumerate(loaded.frame.columns) if at not in chosen]
    if others:
        say(f"Left out, since the graph does not have these columns: {listed(others, 10)}.")
    for name, kind in kinds.items():
        if name not in names:
            raise GomeaBnError(f"--kind: the graph has no column '{name}'.")
        if kind == "discrete" and name in cut_points:
            raise GomeaBnError(f"--kind: '{name}' cannot be discrete, since it has cuts.")
    kinds = {**dict.fromkeys(cut_points, "continuous"), **kinds}
    subset = replace(loaded, frame=loaded.frame.iloc[:, chosen])
    table = table_of(subset, kinds=kinds, missing=missing, max_levels=max_levels)
    _check_columns(table, names, cut_points)
    return table


def _check_columns(table: Table, names: list[str], cut_points: dict[str, Any]) -> None:
    """Raise for columns of the graph that were left out, and for continuous columns without cuts."""
    columns = {column.name: column for column in table.columns}
    for name in names:
        if name not in columns:
            raise GomeaBnError(
                f"Column '{name}' of the graph was left out; take it in by --kind {name}=discrete or cuts."
            )
    without = [name for name in names if columns[name].is_continuous and name not in cut_points]
    if without:
        raise GomeaBnError(
            f"Continuous columns need cuts: {listed(without, 10)}. Give them by --cuts (`gomea-bn discretize` writes "
            f"such a file) or --cut-points '{without[0]}=1,2.5', or give --kind '{without[0]}=discrete'."
        )
