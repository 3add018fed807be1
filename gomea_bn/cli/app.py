"""The command `gomea-bn`, assembled from the modules of its sub-commands."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from gomea_bn import __version__
from gomea_bn.cli.output import FAILED, INTERRUPTED, UNUSABLE_DATA, WRONG_USE, say, silent
from gomea_bn.cli.plain_help import PlainCommand, with_names
from gomea_bn.cli.running import rare_collections
from gomea_bn.errors import GomeaBnError, nearest, spelling
from gomea_bn.runtime.interrupts import ignore_until_exit, signal_exit_code, treat_as_interrupts
from gomea_bn.runtime.kernel_progress import announced_kernels
from gomea_bn.texts import listed

__all__ = ["main", "run_as_process"]

# what standard output may refuse, and words for what the system calls otherwise
_OUTPUT_ERRORS = {errno.ENOSPC: None, errno.EBADF: "standard output is closed"}


@cache
def _loaded(name: str) -> Any:
    """Return a command made of the function of its name in its module of `gomea_bn.cli.commands`."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    function = getattr(import_module(f"gomea_bn.cli.commands.{_MODULES[name]}"), name.replace("-", "_"))
    alone.command(name, cls=PlainCommand)(with_names(function))
    return get_command(alone)


class _OneLineErrors(TyperGroup):
    """Group of commands that answers wrong use with one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # names for the list and for suggestions; `get_command` imports the module of a command when it is asked for
        self.commands = dict.fromkeys(_MODULES)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None."""
        return _loaded(cmd_name) if cmd_name in self.commands else None

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
        # without arguments the command is that of the process, which ends with it
        return run_as_process(run, sys.argv[1:] if args is None else args, until_exit=args is None)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by what a user wants."""
        for heading, commands in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])


def run_as_process(run: Callable[[], Any], arguments: Sequence[str], *, until_exit: bool = True) -> NoReturn:
    """Run a command with its arguments, turn errors into one line, and exit with its code.

    Signals end the command like Ctrl-C; with `until_exit` for the rest of the process.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # names may hold characters that the encoding of the terminal lacks
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    treat_as_interrupts(until_exit=until_exit)
    is_quiet = bool({"-q", "--quiet"}.intersection(arguments))
    try:
        _refuse_empty(arguments)
        with announced_kernels(silent if is_quiet else say), rare_collections():
            code = run()
        sys.stdout.flush()
        ignore_until_exit()
    except typer.Exit as ended:
        code = ended.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except GomeaBnError as error:
        # a command that reads parts of its input late
        say(f"Error: {error.text(spelling())}")
        code = UNUSABLE_DATA
    except MemoryError as error:
        say(f"Error: not enough memory: {error or 'the system has no more'}.")
        code = FAILED
    except BrokenPipeError:
        # whoever reads the output has enough of it
        code = _without_output()
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        say(f"Error: cannot write the output: {_OUTPUT_ERRORS[error.errno] or error.strerror}.")
        code = _without_output()
    except Exception as error:
        # only exceptions about wrong use have it
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        said = _unknown_option(error) or " ".join(message().split())
        say(f"Error: {said} (--help tells more)")
        code = getattr(error, "exit_code", WRONG_USE)
    ignore_until_exit()
    if until_exit:
        # the interpreter's last looks for garbage, at objects that end with it, take a sixth of a short command
        gc.freeze()
    code = code if isinstance(code, int) else 0
    sys.exit(signal_exit_code() or code if code in (0, INTERRUPTED) else code)


def _unknown_option(error: Any) -> str | None:
    """Return the message for an option that the command does not have, with the nearest one; None for other errors."""
    name, command = getattr(error, "option_name", None), getattr(getattr(error, "ctx", None), "command", None)
    if name is None or command is None or not getattr(error, "message", "").startswith("No such option"):
        return None
    known = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
    # a statement about a column whose name looks like an option
    if found := re.match(r"--[^<>\s]*[<>\s]", name):
        rule = "A value that begins with dashes follows an equals sign"
        return f"No such option: {name}. {rule}: OPTION='{found[0]}...'."
    if name.startswith("--"):
        return (
            f"No such option: {name}.{nearest(name, [option for option in known if option.startswith('--')])}"
        )
    short = sorted(option for option in known if not option.startswith("--"))
    return f"No such option: {name}. {'Short ones are ' + listed(short) if short else 'There are no short ones'}."


def _open_closed_streams() -> None:
    """Give the standard streams that the process was started without a descriptor of the null device.

    The next file that is opened would otherwise get theirs. Standard output refuses what is written to it.
    """
    for name, access, mode in (
        ("stdin", os.O_RDONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))


def _without_output() -> int:
    """Let standard output, which cannot be written, take what is left in its buffer; return the exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Exit with code 2 if an argument is empty, as that of an unset variable: a path would be the working folder."""
    for former, argument in zip(["", *arguments], arguments, strict=False):
        option, mark, value = (
            argument.partition("=") if argument.startswith("--") else (former, "=", argument)
        )
        if mark and not value and option != "--na-values":
            name = option if option.startswith("-") else "an argument"
            say(f"Error: {name} must not be empty.")
            sys.exit(WRONG_USE)


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


# the module of every command, and a summary, by what a user wants; a line must fit into 80 columns next to the name
_GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Learn": {
        "check": ("check", "Say how a table would be read, and what is wrong with it."),
        "study": ("study", "Write one page: what drives an outcome, and how surely."),
        "learn": ("learn", "Learn a network from a table."),
        "front": ("front", "Find networks that trade fit, simplicity and an expert."),
        "fit": ("bins", "Learn the probabilities of a graph of your own."),
        "update": ("rows", "Let a network take further rows."),
        "discretize": ("bins", "Cut the continuous columns of a table into bins."),
        "refine": ("bins", "Move the cuts of a network, and keep its graph."),
    },
    "Ask": {
        "show": ("show", "Print or draw a network, or what its graph says."),
        "query": ("answers", "What is likely, given what is known?"),
        "explain": ("answers", "Say what an answer rests on, and what to measure next."),
        "effect": ("effect", "Say what a change of one column does, if arrows are causes."),
        "predict": ("answers", "Predict a column for every row of a table."),
        "impute": ("answers", "Fill the missing cells of a table."),
    },
    "Judge": {
        "confidence": ("certainty", "Say how sure a network is of its edges, or prove its graph."),
        "test-graph": ("certainty", "Test whether a table rejects the graph of a network."),
        "drift": ("rows", "Say whether further rows still follow a network."),
        "cross-validate": ("rows", "Judge learners and baselines on held-out rows."),
    },
    "Choose": {
        "review": ("choose", "Write an offline page of a network or a front."),
        "compare": ("choose", "Say in words how two networks differ."),
        "accept": ("choose", "Write the network that somebody chose on the page."),
    },
    "Move": {
        "export": ("choose", "Write a network in another format, or a front's table."),
        "info": ("installation", "Print versions and cores, or compile all kernels."),
    },
}
_MODULES = {name: module for commands in _GROUPS.values() for name, (module, _) in commands.items()}
