"""The command line: learn networks from a file, look at them, choose, compare; say what is installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gomea_bn import __version__
from gomea_bn.cli import bench as _cli_bench
from gomea_bn.cli import choose as _cli_choice
from gomea_bn.cli import discretize as _cli_discretize
from gomea_bn.cli import front as _cli_front
from gomea_bn.cli import learn as _cli_learn
from gomea_bn.cli.options import read_penalty
from gomea_bn.cli.output import UNUSABLE_DATA, WRONG_USE, check_target, fail, say
from gomea_bn.cli.running import cores
from gomea_bn.errors import GomeaBnError

__all__ = ["main"]

_METHOD_HELP = (
    "dp (exact, one variable at a time), rv-gomea, or a discretizer: bayesian, mdl, latent, mgcd, ..."
)
_OPTIONAL = ("pyagrum", "pgmpy", "networkx", "scikit-learn", "pyarrow")
_REQUIRED = ("numpy", "numba", "scipy", "pandas", "pymoo", "rich", "typer", "platformdirs")


class _OneLineErrors(TyperGroup):
    """Commands whose wrong use is answered by one line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; with `standalone_mode` the process then exits with its code."""
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # names may hold what the terminal's encoding lacks
                stream.reconfigure(errors="backslashreplace")
        try:
            code = run()
        except Exception as error:
            message = getattr(error, "format_message", None)  # only exceptions about use have it
            if message is None:
                raise
            say(f"Error: {' '.join(message().split())} (--help tells more)")
            code = getattr(error, "exit_code", WRONG_USE)
        sys.exit(code if isinstance(code, int) else 0)


main = typer.Typer(
    name="gomea-bn",
    help="Learn discretized Bayesian networks, the graph and the bins together, from tables of mixed columns.",
    cls=_OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gomea-bn {__version__}")
        raise typer.Exit


@main.callback(invoke_without_command=True)
def _before_commands(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command in (
    _cli_learn.learn,
    _cli_discretize.discretize,
    _cli_front.front,
    *_cli_choice.COMMANDS,
    _cli_bench.bench,
):
    main.command()(_command)


@main.command()
def show(network: Annotated[Path, typer.Argument(help="A network.json.")]) -> None:
    """Print a saved network: its variables, their bins or levels, its edges."""
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    try:
        found = DiscretizedBayesNet.from_json(network)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    say(found.summary(), to_error=False)
    known = found.metadata
    if isinstance(known.get("score"), float) and "scoring_method" in known:
        say(f"\nScore ({known['scoring_method']}): {known['score']:.3f} nats.", to_error=False)


@main.command()
def refine(
    network: Annotated[Path, typer.Argument(help="A network.json.")],
    data: Annotated[Path, typer.Argument(help="The table: CSV, TSV or Parquet.")],
    out: Annotated[Path, typer.Option(help="The JSON file to write.")],
    method: Annotated[str, typer.Option(help=_METHOD_HELP)] = "dp",
    bin_counts: Annotated[
        str | None, typer.Option(help="fixed (default) or free, of dp; discretizers are free.")
    ] = None,
    scoring_method: Annotated[str | None, typer.Option(help="Default: the network's own.")] = None,
    penalty: Annotated[str, typer.Option(help="bic, literal, aic, or nats per parameter.")] = "bic",
    max_bins: Annotated[int, typer.Option(help="Most bins of a variable, if free.")] = 15,
    width_floor: Annotated[float, typer.Option(help="Least bin width, as a share of the range.")] = 1e-3,
    min_bin_count: Annotated[int, typer.Option(help="Fewest rows of a bin.")] = 1,
    max_seconds: Annotated[float, typer.Option(help="Limit; 0 for none.")] = 60.0,
    seed: Annotated[int | None, typer.Option(help="Repeats an rv-gomea or mgcd run.")] = None,
) -> None:
    """Move the cut points of a saved network to where its data want them; the graph stays."""
    from gomea_bn.cli.refine import refine_command
    from gomea_bn.data.table_files import read_frame
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.rows import table_for

    try:
        table_for(DiscretizedBayesNet.from_json(network), read_frame(data))
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    check_target(out, [data])
    try:
        text = refine_command(
            network,
            data,
            out,
            method=method,
            bin_counts=bin_counts,
            scoring_method=scoring_method,
            penalty=read_penalty(penalty),
            max_bins=max_bins,
            width_floor=width_floor,
            min_bin_count=min_bin_count,
            max_seconds=max_seconds or None,
            seed=seed,
        )
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    say(text, to_error=False)


@main.command()
def info(as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> None:
    """Print versions, cores, where compiled kernels are kept, and which optional libraries are there."""
    import platform

    from gomea_bn.runtime.environment import cpu_name, installed_version
    from gomea_bn.runtime.jit import kernel_cache_dir, kernels_are_cached

    folder = kernel_cache_dir()
    facts = {
        "gomea-bn": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": cores(),
        "kernel_cache": str(folder),
        "kernels_compiled": kernels_are_cached(),
        "required": {name: installed_version(name) for name in _REQUIRED},
        "optional": {name: installed_version(name) for name in _OPTIONAL},
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    state = "compiled" if facts["kernels_compiled"] else "not compiled yet: the first run does it, once"
    lines = [
        f"gomea-bn {__version__}, Python {facts['python']}, {facts['platform']}",
        f"{facts['cpu']}, {facts['cores']} cores for threads",
        f"kernels: {folder} ({state})",
        "libraries: " + ", ".join(f"{name} {installed_version(name)}" for name in _REQUIRED),
        "optional: "
        + ", ".join(f"{name} {installed_version(name) or 'not installed'}" for name in _OPTIONAL),
    ]
    say("\n".join(lines), to_error=False)
