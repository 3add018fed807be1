"""The command that cuts the columns of a table by itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.options import read_kinds
from gomea_bn.cli.output import (
    FAILED,
    INTERRUPTED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_target,
    fail,
    say,
    silent,
)
from gomea_bn.cli.running import as_options, limit
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.discretization.base import Discretizer
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["discretize"]

# parameters of every discretizer that have options of their own here
_OWN = ("kinds", "missing", "max_levels", "max_seconds")


def discretize(
    data: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file; its first line holds the names.")],
    method: Annotated[
        str, typer.Option(help="bayesian, mdl, latent, mgcd, equal-frequency, equal-width, k-means, mdlp.")
    ],
    network: Annotated[
        Path | None, typer.Option(help="A network.json whose graph and fixed cuts the method uses.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column that holds classes: mdlp needs it, mdl can use it.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE of the method, such as n_bins=8 or search=merge; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="JSON file for the cuts, which learn --cuts reads.")
    ] = None,
    codes: Annotated[Path | None, typer.Option(help="CSV file for the bin of every value.")] = None,
    max_seconds: Annotated[float, typer.Option(min=0, help="Limit on the method's time; 0 for none.")] = 60.0,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="NAME=continuous or NAME=discrete, against the rule; may be repeated."),
    ] = None,
    missing: Annotated[str, typer.Option(help="Rows with missing values: error or drop.")] = "error",
    max_levels: Annotated[int, typer.Option(min=2, help="Most levels of a discrete column.")] = 50,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No column kinds, no announcements.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the cuts and counts as JSON.")] = False,
) -> None:
    """Cut the continuous columns of DATA into bins and print the cuts.

    Ctrl-C ends the method and keeps the cuts so far. Exit codes: 0 done, 1 not written, 2 wrong use, 3 data unusable,
    130 interrupted before there were cuts.
    """
    try:
        from gomea_bn.discretization.base import discretizer

        kinds = read_kinds(kind or ())
        if missing not in ("error", "drop"):
            raise GomeaBnError(f"--missing must be error or drop, got {missing!r}.")
        made = discretizer(
            method,
            **_read_options(option or ()),
            kinds=kinds,
            missing=missing,
            max_levels=max_levels,
            max_seconds=limit(max_seconds),
        )
        made.check_options()
        read = [path for path in (data, network) if path is not None]
        for path in (out, codes):
            if path is not None:
                check_target(path, read)
        if out is not None and codes is not None and out.absolute() == codes.absolute():
            raise GomeaBnError(f"--out and --codes must be two files, got '{out}' twice.")
        tell = silent if quiet else say
        frame, table, given = _read(data, network, made, kinds)
        if target is not None and target not in table.names:
            from gomea_bn.errors import nearest

            raise GomeaBnError(f"--target: no column '{target}'.{nearest(target, table.names)}")
        if target is None and method == "mdlp":
            raise GomeaBnError("--method mdlp needs classes: --target COLUMN.")
        tell(table.describe())
        _compile(method, made, tell)
        _discretize(made, method, frame, target, given)
        _write_and_print(made, method, frame, out, codes, tell, as_json=as_json)
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)


def _read_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the options of "name=value"; values are JSON where they can be read so, else text."""
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise GomeaBnError(f"--option must be name=value, got {text!r}.")
        if name in _OWN:
            own = "--kind" if name == "kinds" else f"--{name.replace('_', '-')}"
            raise GomeaBnError(f"--option {name}: give it as {own}.")
        if name in options:
            raise GomeaBnError(f"--option names '{name}' twice.")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value.strip()
    return options


def _read(
    data: Path, network: Path | None, made: Discretizer, kinds: dict[str, str]
) -> tuple[Any, Table, DiscretizedBayesNet | None]:
    """Return the file as a frame and as a table of the network's kinds, and the network; exits if one is unusable."""
    from gomea_bn.data.columns import column_positions
    from gomea_bn.data.table_files import read_frame
    from gomea_bn.errors import nearest
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    try:
        frame = read_frame(data)
        given = None if network is None else DiscretizedBayesNet.from_json(network)
        if given is not None:
            column_positions(frame, given.names)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    names = list(map(str, frame.columns))
    for name in kinds:
        if name not in names:
            raise GomeaBnError(f"--kind: no column '{name}'.{nearest(name, names)}")
        if given is not None and name in given.names:
            known = "continuous" if name in given.cut_points else "discrete"
            if kinds[name] != known:
                raise GomeaBnError(f"--kind: '{name}' is {known} in the network.")
    try:
        return frame, made.read(frame, given), given
    except GomeaBnError as error:
        fail(as_options(str(error)), UNUSABLE_DATA)


def _compile(method: str, made: Discretizer, tell: Any) -> None:
    """Compile or load the method's kernels, saying so where it takes long."""
    from gomea_bn.runtime.jit import kernels_are_cached, note_kernels_cached

    what = f"discretizer-{method}"
    if not kernels_are_cached(what):
        tell("Compiling kernels (once per machine and version) ...")
    made.compile()
    note_kernels_cached(what)


def _discretize(
    made: Discretizer, method: str, frame: Any, target: str | None, given: DiscretizedBayesNet | None
) -> None:
    """Fit; what is refused now lies in the data."""
    try:
        made.fit(frame, target, network=given)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    if made.stopped_by_ == "interrupt":
        say("Interrupted: these are the cuts found so far.")


def _write_and_print(
    made: Discretizer,
    method: str,
    frame: Any,
    out: Path | None,
    codes: Path | None,
    tell: Any,
    *,
    as_json: bool,
) -> None:
    """Write the files that are wanted, print the cuts, and say where they are."""
    from gomea_bn.discretization.cut_files import write_cut_file
    from gomea_bn.runtime.atomic_files import write_text

    written, problem = [], ""
    try:
        if out is not None:
            written.append(write_cut_file(out, made.cut_points_))
        if codes is not None:
            kept = frame.drop(index=frame.index[list(made.table_.dropped_rows)])
            written.append(write_text(codes, made.transform(kept).to_csv(index=False)))
    except GomeaBnError as error:
        problem = str(error)
    if as_json:
        typer.echo(json.dumps(_record(made, method), indent=2))
    else:
        say(_report(made), to_error=False)
    if problem:
        fail(problem, FAILED)
    if written:
        tell("Wrote " + ", ".join(map(str, written)) + ".")
    else:
        tell("Nothing was written: no --out given.")


def _record(made: Discretizer, method: str) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "method": method,
        "cut_points": {name: cuts.tolist() for name, cuts in made.cut_points_.items()},
        "n_rows": made.table_.n_rows,
        "dropped_rows": list(made.table_.dropped_rows),
        "seconds": made.fit_seconds_,
        "stopped_by": made.stopped_by_,
    }


def _report(made: Discretizer) -> str:
    """Return the printed result: bins and cuts of every continuous column, and why the method ended."""
    names = [*made.cut_points_]
    width = max(map(len, [*names, "column"]))
    lines = [f"{'column':<{width}}  bins  cuts"]
    for name, cuts in made.cut_points_.items():
        lines.append(f"{name:<{width}}  {len(cuts) + 1:>4}  {', '.join(f'{cut:g}' for cut in cuts.tolist())}")
    lines += ["", f"Stopped by {made.stopped_by_} after {made.fit_seconds_:.2f} s."]
    return "\n".join(line.rstrip() for line in lines)
