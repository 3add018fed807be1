"""The command `bench`, which runs the laboratory of the repository: `scripts/lab`, which is no part of the package."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from gomea_bn.cli.output import WRONG_USE, fail
from gomea_bn.cli.plain_help import PlainCommand
from gomea_bn.errors import GomeaBnError

_SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
_WHERE = (
    "The laboratory is the folder scripts/lab of the repository of gomea-bn and no part of the installed package. "
    'Clone the repository, install it with pip install -e ".[experiments]", and run gomea-bn bench from it.'
)


class LaboratoryCommand(PlainCommand):
    """A command whose arguments, `--help` included, are all those of the laboratory."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take all arguments as they are."""
        # what follows -- is no option of this command
        return list(super().parse_args(ctx, ["--", *args]))


def laboratory(module: str) -> ModuleType:
    """Return a module of the laboratory, such as `runner.run`.

    It is missing if this package is not in a checkout of the repository, and no folder with `lab` is on the path.
    """
    if (_SCRIPTS / "lab" / "command.py").is_file() and str(_SCRIPTS) not in sys.path:
        # processes that are started later get this path
        sys.path.append(str(_SCRIPTS))
    if find_spec("lab") is None or find_spec("lab.command") is None:
        raise GomeaBnError(_WHERE)
    return import_module(f"lab.{module}")


def bench(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME [OPTIONS]", help="An experiment and its options, all, or list."),
    ] = None,
) -> None:
    """Run an experiment of the laboratory, which is in the repository: scripts/lab."""
    try:
        command = laboratory("command")
    except GomeaBnError as error:
        fail(error, WRONG_USE)
    command.main(arguments or [])
