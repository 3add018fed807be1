"""The command `discretize`: cut the continuous columns of a table into bins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import files_of, named_network
from gomea_bn.cli.option_texts import read_kinds
from gomea_bn.cli.options import (
    KIND_OVERRIDE,
    MAX_LEVELS,
    AsJson,
    Data,
    Kind,
    MaxLevels,
    Missing,
    reads_table,
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
    silent,
    spelling,
)
from gomea_bn.cli.running import limit, loaded_data, printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, check_choice
from gomea_bn.runtime.kernel_progress import announced_kernels
from gomea_bn.texts import shown_name

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.discretization.base import Discretizer
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

# parameters of every discretizer for which this command has options
_WITH_OPTION = ("kinds", "missing", "max_levels", "max_seconds")


@reads_table("network")
def discretize(
    data: Data,
    method: Annotated[
        str, typer.Option(help="bayesian, mdl, latent, mgcd, equal-frequency, equal-width, k-means, mdlp.")
    ],
    network: Annotated[
        str | None,
        typer.Option(
            help="File of a network (.json, .bif, ...), folder of a run, or FOLDER#ID of a front; the method uses its "
            "graph and its fixed cuts."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column with classes: mdlp needs it, mdl can use it.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE: an option of the method, such as n_bins=8 or search=merge; may be repeated."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="JSON file for the cuts; learn --cuts reads it.")
    ] = None,
    codes: Annotated[
        Path | None, typer.Option(help="CSV file for the codes of the bins of all rows.")
    ] = None,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Time limit of the method in seconds; 0 for none.")
    ] = 60.0,
    kind: Kind = None,
    missing: Missing = "error",
    max_levels: MaxLevels = MAX_LEVELS,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not print column kinds and announcements.")
    ] = False,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Cut the continuous columns of DATA into bins and print the cuts.

    Ctrl-C ends the method and keeps the cuts so far. Exit codes: 0 done, 1 not written, 2 wrong use, 3 data unusable,
    130 interrupted before there were cuts.
    """
    names = {"discretizer": "--method", "y": "--target"}
    try:
        from gomea_bn.discretization.proposals import discretizer
        from gomea_bn.learning.options import seed_of

        check_targets(
            {"--out": [out] if out else [], "--codes": [codes] if codes else []},
            {"DATA": [data], "--network": files_of(network) if network else []},
        )
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
            from gomea_bn.errors import nearest

            raise GomeaBnError(f"--target: unknown column '{target}'.{nearest(target, table.names)}")
        if target is None and method == "mdlp":
            raise GomeaBnError("--method mdlp needs classes: --target COLUMN.")
        tell(table.describe(KIND_OVERRIDE, spelling()))
        with announced_kernels(tell):
            made.compile()
        _discretize(made, table, target, saved, names)
        with finishing("the report and the files"):
            _write_and_print(made, method, out, codes, tell, as_json=as_json)
    except GomeaBnError as error:
        fail(error, WRONG_USE, names)
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)


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
    from gomea_bn.errors import nearest

    loaded = loaded_data(data, reading)
    try:
        saved = None if network is None else named_network(network)
        if saved is not None:
            column_positions(loaded.frame, saved.names)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    names = list(map(str, loaded.frame.columns))
    for name in kinds:
        if name not in names:
            raise GomeaBnError(f"--kind: unknown column '{name}'.{nearest(name, names)}")
        if saved is not None and name in saved.names:
            network_kind = "continuous" if name in saved.cut_points else "discrete"
            if kinds[name] != network_kind:
                raise GomeaBnError(f"--kind: '{name}' is {network_kind} in the network.")
    try:
        with printed_warnings():
            table = made.read(loaded, saved)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    return table, saved


def _discretize(
    made: Discretizer,
    table: Table,
    target: str | None,
    saved: DiscretizedBayesNet | None,
    names: Mapping[str, str],
) -> None:
    """Fit the method; errors from here on are caused by the data."""
    try:
        with printed_warnings(names):
            made.fit(table, target, network=saved)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA, names)
    if made.stopped_by_ == "interrupt":
        say("Interrupted: these are the cuts found so far.")


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
    from gomea_bn.runtime.files.atomic_files import write_text

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
        typer.echo(json.dumps(_record(made, method), indent=2))
    else:
        say(_report(made), to_error=False)
    if problem is not None:
        fail(problem, FAILED)
    if written:
        tell("Wrote " + ", ".join(map(str, written)) + ".")
    else:
        tell("Nothing was written: no --out given.")


def _record(made: Discretizer, method: str) -> dict[str, Any]:
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


def _report(made: Discretizer) -> str:
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
