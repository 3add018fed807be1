"""The commands `discretize`, `fit` and `refine`: bins of the columns of a table, and tables of a graph over them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import Network, ending_of, files_of, named_network
from gomea_bn.cli.option_texts import cut_files, read_cut_points, read_kinds
from gomea_bn.cli.options import (
    DECLARED,
    KIND_OVERRIDE,
    LEARNER_MISSING,
    MAX_BINS,
    MAX_LEVELS,
    MIN_BIN_COUNT,
    MIN_WIDTH,
    PSEUDO_COUNT,
    SHAPE,
    AsJson,
    CutPoints,
    Data,
    Group,
    Kind,
    LearnerMissing,
    MaxBins,
    MaxLevels,
    MinBinCount,
    MinWidth,
    Missing,
    PseudoCount,
    Shape,
    reads_table,
    value_of,
)
from gomea_bn.cli.output import (
    FAILED,
    NOTHING_WRITTEN,
    UNUSABLE_DATA,
    WRONG_USE,
    check_ending,
    check_output,
    check_targets,
    check_writable,
    fail,
    failing,
    finishing,
    say,
    silent,
)
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import limit, loaded_data, loaded_rows, printed_warnings, refuse_in_pieces
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, Option, check_choice, give_warning, nearest, spelling
from gomea_bn.runtime.kernel_progress import announced_kernels
from gomea_bn.texts import listed, shown_name

if TYPE_CHECKING:
    from gomea_bn.data.files.reading import Loaded
    from gomea_bn.data.table import Table
    from gomea_bn.discretization.base import Discretizer
    from gomea_bn.learning.cuts.refinement import RefinementResult
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

# parameters of every discretizer for which this command has options
_WITH_OPTION = ("kinds", "missing", "max_levels", "max_seconds")


@reads_table("network")
def discretize(
    data: Data,
    method: Annotated[str, opt("bayesian, mdl, latent, mgcd, equal-frequency, equal-width, k-means, mdlp.")],
    network: Annotated[
        str | None,
        opt(
            "File of a network (.json, .bif, ...), folder of a run, or FOLDER#ID of a front; the method uses its "
            "graph and its fixed cuts."
        ),
    ] = None,
    target: Annotated[str | None, opt("Column with classes: mdlp needs it, mdl can use it.")] = None,
    option: Annotated[
        list[str] | None,
        opt(
            "NAME=VALUE: an option of the method, such as n_bins=8 or search=merge; may be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    out: Annotated[
        Path | None, opt("JSON file for the cuts; learn --cut-points reads it.", "--out", "-o")
    ] = None,
    codes: Annotated[Path | None, opt("CSV file for the codes of the bins of all rows.")] = None,
    max_seconds: Annotated[float, opt("Time limit of the method in seconds; 0 for none.", min=0)] = 60.0,
    kind: Kind = None,
    missing: Missing = "error",
    max_levels: MaxLevels = MAX_LEVELS,
    quiet: Annotated[bool, opt("Do not print column kinds and announcements.", "--quiet", "-q")] = False,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Cut the continuous columns of DATA into bins and print the cuts.

    Ctrl-C ends the method and keeps the cuts so far. Exit codes: 0 done, 1 not written, 2 wrong use, 3 data unusable,
    130 interrupted before there were cuts.
    """
    names = {"discretizer": "--method", "y": "--target"}
    with failing(WRONG_USE, names, interrupted=NOTHING_WRITTEN):
        from gomea_bn.discretization.proposals import discretizer
        from gomea_bn.learning.options import seed_of

        check_targets(
            {"--out": [out] if out else [], "--codes": [codes] if codes else []},
            {"DATA": [data], **(files_of("--network", network) if network else {})},
        )
        for target_option, path, ending in (("--out", out, ".json"), ("--codes", codes, ".csv")):
            if path is not None:
                check_ending(target_option, path, [ending])
        kinds = read_kinds(kind or ())
        check_choice("missing", missing, ("error", "drop"))
        made = discretizer(
            method,
            **_read_options(option or ()),
            kinds=kinds,
            missing=missing,
            max_levels=max_levels,
            max_seconds=limit(max_seconds),
        )
        names |= {name: f"--option {name}" for name in made.get_params() if name not in _WITH_OPTION}
        if "random_state" in names and made.get_params()["random_state"] is None:
            # a seed that can be printed
            made.set_params(random_state=seed_of(None))
        made.check_options()
        for path in (out, codes):
            if path is not None:
                check_writable(path)
        tell = silent if quiet else say
        table, saved = _read(data, network, made, kinds, reading)
        if target is not None and target not in table.names:
            raise GomeaBnError(f"--target: unknown column '{target}'.{nearest(target, table.names)}")
        if target is None and method == "mdlp":
            raise GomeaBnError("--method mdlp needs classes: --target COLUMN.")
        tell(table.describe(KIND_OVERRIDE, spelling()))
        with announced_kernels(tell):
            made.compile()
        # errors from here on are caused by the data
        with failing(UNUSABLE_DATA, names), printed_warnings(names):
            made.fit(table, target, network=saved)
        if made.stopped_by_ == "interrupt":
            say("Interrupted: these are the cuts found so far.")
        with finishing("the report and the files"):
            _write_and_print(made, method, out, codes, tell, as_json=as_json)


def _read_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the options in "name=value" texts; values are read as JSON if possible, otherwise as text."""
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise GomeaBnError(f"--option must be name=value, got {text!r}.")
        if name in _WITH_OPTION:
            own_option = "--kind" if name == "kinds" else f"--{name.replace('_', '-')}"
            raise GomeaBnError(f"--option {name}: give it as {own_option}.")
        if name in options:
            raise GomeaBnError(f"--option names '{name}' twice.")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value.strip()
    return options


def _read(
    data: Path, network: str | None, made: Discretizer, kinds: dict[str, str], reading: ReadingOptions
) -> tuple[Table, DiscretizedBayesNet | None]:
    """Return the table, its kinds those of the network, and the network; exits if one is unusable."""
    from gomea_bn.data.columns import column_positions

    loaded = loaded_data(data, reading)
    with failing(UNUSABLE_DATA):
        saved = None if network is None else named_network(network)
        if saved is not None:
            column_positions(loaded.frame, saved.names)
    names = list(map(str, loaded.frame.columns))
    for name in kinds:
        if name not in names:
            raise GomeaBnError(f"--kind: unknown column '{name}'.{nearest(name, names)}")
        if saved is not None and name in saved.names:
            network_kind = "continuous" if name in saved.cut_points else "discrete"
            if kinds[name] != network_kind:
                raise GomeaBnError(f"--kind: '{name}' is {network_kind} in the network.")
    with failing(UNUSABLE_DATA), printed_warnings():
        table = made.read(loaded, saved)
    return table, saved


def _write_and_print(
    made: Discretizer,
    method: str,
    out: Path | None,
    codes: Path | None,
    tell: Any,
    *,
    as_json: bool,
) -> None:
    """Write the files, print the cuts, and say where the files are."""
    from gomea_bn.discretization.cut_files import write_cut_file
    from gomea_bn.runtime.files import write_text

    written: list[Path] = []
    problem: GomeaBnError | None = None
    try:
        if out is not None:
            written.append(write_cut_file(out, made.cut_points_))
        if codes is not None:
            text = made.transform(made.table_.to_frame()).to_csv(index=False)
            written.append(write_text(codes, text))
    except GomeaBnError as error:
        problem = error
    if as_json:
        typer.echo(json.dumps(_cuts_record(made, method), indent=2))
    else:
        say(_cuts_text(made), to_error=False)
    if problem is not None:
        fail(problem, FAILED)
    if written:
        tell("Wrote " + ", ".join(map(str, written)) + ".")
    else:
        tell("Nothing was written: no --out given.")


def _cuts_record(made: Discretizer, method: str) -> dict[str, Any]:
    """Return the record that `--json` prints."""
    return {
        "method": method,
        "cut_points": {name: cuts.tolist() for name, cuts in made.cut_points_.items()},
        "n_rows": made.table_.n_rows,
        "dropped_rows": list(made.table_.dropped_rows),
        "seconds": made.fit_seconds_,
        "stopped_by": made.stopped_by_,
        "random_state": made.get_params().get("random_state"),
    }


def _cuts_text(made: Discretizer) -> str:
    """Return the printed result: bins and cuts of every continuous column, and why the method ended."""
    from gomea_bn.network.tables import edge_texts

    names = [shown_name(name) for name in made.cut_points_]
    width = max(map(len, [*names, "column"]))
    lines = [f"{'column':<{width}}  bins  cuts"]
    for name, cuts in zip(names, made.cut_points_.values(), strict=True):
        lines.append(f"{name:<{width}}  {len(cuts) + 1:>4}  {', '.join(edge_texts(cuts.tolist(), fewest=6))}")
    lines += ["", f"Stopped by {made.stopped_by_} after {made.fit_seconds_:.2f} s."]
    if "random_state" in made.get_params() and made.stopped_by_ not in ("max_seconds", "interrupt"):
        again = f"--option random_state={made.get_params()['random_state']}"
        lines.append(f"The same data and options with {again} give these cuts again.")
    return "\n".join(line.rstrip() for line in lines)


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
    out: Annotated[Path, opt("File for the network: .json, .bif, .xdsl, .net or .dot.", "--out", "-o")],
    cut_points: CutPoints = None,
    pseudo_count: PseudoCount = PSEUDO_COUNT,
    shape: Shape = SHAPE,
    kind: Kind = None,
    group: Group = None,
    missing: LearnerMissing = LEARNER_MISSING,
    max_levels: MaxLevels = MAX_LEVELS,
    *,
    reading: ReadingOptions,
) -> None:
    """Learn the probabilities of a graph of your own from DATA; the graph is not searched.

    Example: gomea-bn fit edges.csv data.csv -o own.json

    Continuous columns of the graph have cuts from --cut-points or GRAPH. If all have, tables are counted. The
    others get cuts that fit DATA, and all columns conditional densities. DATA may be a folder or a quoted pattern of
    Parquet and Arrow files, which need not fit into memory; all continuous columns then need cuts. With --group as many
    rows of each group are learned from as count as independent ones, and tables count all. In Python this is
    gomea_bn.learning.network_of_graph(table, edges, cut_points). Exit codes: 0 done, 1 not written, 2 wrong use, 3
    graph or data unusable, 130 interrupted.
    """
    from gomea_bn.data.files.reading import FILE_OPTIONS
    from gomea_bn.data.sources import is_in_pieces, treatment_in_reading
    from gomea_bn.data.table import load
    from gomea_bn.learning.cuts.given_cuts import network_from_pieces, network_of_graph

    inputs = {**files_of("GRAPH", graph), "DATA": [data], "--cut-points": cut_files(cut_points or ())}
    check_targets({"--out": [out]}, inputs)
    with failing(WRONG_USE):
        ending_of(out)
        chosen_cuts = read_cut_points(cut_points or ())
        kinds = read_kinds(kind or ())
        treatment = value_of(DECLARED["missing"], missing)
        smoothing = value_of(DECLARED["pseudo_count"], pseudo_count)
        value_of(DECLARED["shape"], shape)
        of_files = [name for name in reading.given if name in FILE_OPTIONS]
        if is_in_pieces(data):
            refuse_in_pieces(of_files, data)
            if group is not None:
                raise GomeaBnError(
                    [Option("groups"), " needs a table in memory: pieces are counted where they lie."],
                    ["write the rows into one file"],
                )
    check_writable(out)
    with failing(UNUSABLE_DATA):
        names, edges, own_cuts = _graph(graph)
    for name in chosen_cuts:
        if name not in names:
            fail(f"--cut-points: the graph has no column '{name}'.{nearest(name, names)}", WRONG_USE)
    chosen_cuts = {
        **{name: cut for name, cut in own_cuts.items() if kinds.get(name) != "discrete"},
        **chosen_cuts,
    }
    in_reading = treatment_in_reading(treatment)
    with failing(UNUSABLE_DATA, interrupted=NOTHING_WRITTEN):
        if is_in_pieces(data):
            with printed_warnings():
                network = network_from_pieces(
                    data,
                    edges,
                    chosen_cuts,
                    table_of=lambda frame: _with_all_cuts(
                        _table_of_graph(
                            load(frame, reading), names, chosen_cuts, kinds, in_reading, max_levels
                        ),
                        chosen_cuts,
                    ),
                    missing=treatment,
                    pseudo_count=smoothing,
                    shape=shape,
                    n_jobs=-1,
                    announce=say,
                )
        else:
            loaded = loaded_data(data, reading, groups=group)
            with printed_warnings():
                table = _table_of_graph(loaded, names, chosen_cuts, kinds, in_reading, max_levels)
                network = network_of_graph(table, edges, chosen_cuts, pseudo_count=smoothing, shape=shape)
    with finishing("the report and the file"):
        with failing(FAILED):
            network.export(out)
        say(network.summary(), to_error=False)
        say(f"Wrote {out}.")


def _graph(text: str) -> tuple[list[str], list[tuple[str, str]], dict[str, list[float]]]:
    """Return the names, the edges and the cuts of a graph."""
    from gomea_bn.expert.expert_network import ExpertNetwork

    graph = ExpertNetwork.from_file(text) if os.path.isfile(text) else named_network(text)
    cut_points = {name: cuts.tolist() for name, cuts in graph.cut_points.items()}
    return list(graph.names), graph.edges, cut_points


def _table_of_graph(
    loaded: Loaded,
    names: list[str],
    cut_points: dict[str, list[float]],
    kinds: dict[str, str],
    missing: str,
    max_levels: int,
) -> Table:
    """Return the columns of the graph; columns with cuts are continuous."""
    from gomea_bn.data.columns import column_positions
    from gomea_bn.data.selection import doubts_about_groups
    from gomea_bn.data.table import table_of

    positions = column_positions(loaded.frame, names)
    # the column of groups says which rows belong together, and need not be one of the graph
    wanted = {positions[name] for name in names} | {
        at for at, name in enumerate(loaded.frame.columns) if str(name) == loaded.groups
    }
    chosen = sorted(wanted)
    others = [str(name) for at, name in enumerate(loaded.frame.columns) if at not in chosen]
    if others:
        say(f"Left out, since the graph does not have these columns: {listed(others, 10)}.")
    for name, kind in kinds.items():
        if name not in names:
            raise GomeaBnError(f"--kind: the graph has no column '{name}'.")
        if kind == "discrete" and name in cut_points:
            raise GomeaBnError(f"--kind: '{name}' cannot be discrete, since it has cuts.")
    # dates have the names of the table until they are numbers
    labels = {name: str(loaded.frame.columns[positions[name]]) for name in names}
    of_graph = {**dict.fromkeys(cut_points, "continuous"), **kinds}
    kinds = {labels[name]: kind for name, kind in of_graph.items()}
    subset = replace(loaded, frame=loaded.frame.iloc[:, chosen])
    # the column that names persons or sites is rarely one of the graph; one that is has a warning of its own
    if loaded.groups is None and not doubts_about_groups(subset.frame):
        for note in doubts_about_groups(loaded.frame):
            give_warning(note)
    table = table_of(subset, kinds=kinds, missing=missing, max_levels=max_levels)
    columns = {column.name: column for column in table.columns}
    for name in names:
        if name not in columns:
            raise GomeaBnError(
                f"Column '{name}' of the graph was left out; take it in by --kind {name}=discrete or cuts."
            )
    return table


def _with_all_cuts(table: Table, cut_points: dict[str, list[float]]) -> Table:
    """Return a table in pieces, whose cuts are not searched; raises for continuous columns without cuts."""
    without = [
        column.name for column in table.columns if column.is_continuous and column.name not in cut_points
    ]
    if without:
        raise GomeaBnError(
            f"Continuous columns of a table in pieces need cuts: {listed(without, 10)}. Give them by --cut-points "
            f"'{without[0]}=1,2.5' or a file that `gomea-bn discretize` writes, or give --kind "
            f"'{without[0]}=discrete'."
        )
    return table


@reads_table("network")
def refine(
    network: Network,
    data: Data,
    out: Annotated[Path, opt("JSON file for the refined network.", "--out", "-o")],
    method: Annotated[
        str,
        opt(
            "dp (exact, one variable at a time), rv-gomea, or a discretizer: bayesian, mdl, latent, mgcd, ..."
        ),
    ] = "dp",
    bin_counts: Annotated[
        str | None,
        opt(
            "fixed (default) or free, for dp; discretizers always choose the number of bins.",
            metavar="fixed|free",
        ),
    ] = None,
    scoring_method: Annotated[
        str | None, opt("density-bic or density-bd. Default: that of the network.")
    ] = None,
    penalty: Annotated[
        str | None,
        opt("Penalty of density-bic: bic, literal, aic or nats per parameter. Default: that of the network."),
    ] = None,
    max_bins: MaxBins = MAX_BINS,
    min_width: MinWidth = MIN_WIDTH,
    min_bin_count: MinBinCount = MIN_BIN_COUNT,
    max_seconds: Annotated[float, opt("Time limit in seconds; 0 for none.", min=0)] = 60.0,
    seed: Annotated[int | None, opt("Seed that repeats a run; by default random and printed.", min=0)] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Move the cut points of NETWORK to fit DATA better; the graph stays.

    Conditional densities of NETWORK are learned again with the refined cuts.

    Ctrl-C ends the method and keeps the cuts so far. Exit codes: 0 done, 1 not written, 2 wrong use, 3 network or data
    unusable, 130 interrupted before there were cuts.
    """
    from gomea_bn.learning.cuts.refinement import refine_boundaries
    from gomea_bn.learning.options import seed_of
    from gomea_bn.network.rows import table_for

    check_output("--out", out, {**files_of("NETWORK", network), "DATA": [data]}, [".json"])
    rows = loaded_rows(data, reading)
    with failing(UNUSABLE_DATA):
        former = named_network(network, rows)
        if not former.cut_points:
            raise GomeaBnError(
                f"'{network}' has no variable with cuts, so nothing can be refined; give a file that gomea-bn wrote."
            )
        with printed_warnings():
            table = table_for(former, rows, allow_missing=True)
    seed = seed_of(seed)
    with failing(WRONG_USE, interrupted=NOTHING_WRITTEN), printed_warnings():
        result = refine_boundaries(
            former,
            table,
            method,
            bin_counts,
            scoring_method=scoring_method,
            penalty=None if penalty is None else value_of(DECLARED["penalty"], penalty),
            max_bins=value_of(DECLARED["max_bins"], max_bins),
            min_width=min_width,
            min_bin_count=min_bin_count,
            max_seconds=limit(max_seconds),
            random_state=seed,
        )
    with finishing("the report and the file"):
        with failing(FAILED):
            result.network.to_json(out)
        say(_refinement_text(former, result, out, seed), to_error=False)


def _refinement_text(before: DiscretizedBayesNet, result: RefinementResult, out: Path, seed: int) -> str:
    """Return the printed result: scores, numbers of bins, and why the method ended."""
    after = result.network
    lines = [
        f"Score ({after.metadata['scoring_method']}, continuous columns scaled to [0, 1]): "
        f"{result.score_before:.3f} -> {result.score_after:.3f} nats."
    ]
    lines += [
        f"  {shown_name(name)}: {before.cardinality(name)} -> {after.cardinality(name)} bins"
        for name in before.cut_points
    ]
    lines.append(
        f"Stopped by {result.stopped_by} after {result.seconds:.2f} s, with --seed {seed}. Wrote {out}."
    )
    return "\n".join(lines)
