"""The command `gomea-bn`, assembled from the modules of its sub-commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from io import TextIOWrapper
from typing import Annotated, Any

import click
import typer
from typer.core import TyperGroup

from gomea_bn import __version__
from gomea_bn.cli.answers import StatementCommand, impute, predict, query
from gomea_bn.cli.bench import bench
from gomea_bn.cli.certify import certify
from gomea_bn.cli.choose import accept, compare, export, review
from gomea_bn.cli.discretize import discretize
from gomea_bn.cli.fit import fit
from gomea_bn.cli.front import front
from gomea_bn.cli.info import info
from gomea_bn.cli.learn import learn
from gomea_bn.cli.output import INTERRUPTED, WRONG_USE, say
from gomea_bn.cli.refine import refine
from gomea_bn.cli.show import show
from gomea_bn.runtime.interrupts import signal_exit_code, treat_as_interrupts

__all__ = ["main"]


class _NamedPath(click.Path):
    """Path on the command line; an empty text is wrong use, where pathlib would take the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("must name a file or folder, got an empty text.", param, ctx)
        return super().convert(value, param, ctx)


class _OneLineErrors(TyperGroup):
    """Group of commands that answers wrong use with one line."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, whose paths cannot be empty."""
        command = super().get_command(ctx, cmd_name)
        for parameter in command.params if command is not None else ():
            if isinstance(parameter.type, click.Path):
                parameter.type = _NamedPath()
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; with `standalone_mode` the process exits with its code afterwards."""
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        for stream in (sys.stdout, sys.stderr):
            # names may hold characters that the encoding of the terminal lacks
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        treat_as_interrupts()
        try:
            code = run()
        except Exception as error:
            # only exceptions about wrong use have it
            message = getattr(error, "format_message", None)
            if message is None:
                raise
            say(f"Error: {' '.join(message().split())} (--help tells more)")
            code = getattr(error, "exit_code", WRONG_USE)
        code = code if isinstance(code, int) else 0
        sys.exit(signal_exit_code() or code if code in (0, INTERRUPTED) else code)


main = typer.Typer(
    name="gomea-bn",
    help="Learn discretized Bayesian networks, the graph and the bins together, from tables of mixed columns.",
    cls=_OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(is_given: bool) -> None:
    if is_given:
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
    learn,
    discretize,
    front,
    review,
    export,
    accept,
    compare,
    bench,
    show,
    refine,
    certify,
    fit,
    predict,
    impute,
    info,
):
    main.command()(_command)
main.command(cls=StatementCommand)(query)
