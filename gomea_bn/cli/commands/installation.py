"""The commands `info`, `warm-up` and `bench`: what is installed, and what a checkout adds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from gomea_bn import __version__
from gomea_bn.cli.output import FAILED, WRONG_USE, fail, failing, say, silent
from gomea_bn.cli.plain_help import PlainCommand, opt
from gomea_bn.cli.running import compile_first
from gomea_bn.errors import GomeaBnError

_OPTIONAL = ("pyagrum", "pgmpy", "networkx", "scikit-learn", "pyarrow")
_REQUIRED = ("numpy", "numba", "scipy", "pandas", "pymoo", "rich", "typer", "platformdirs")


def info(as_json: Annotated[bool, opt("Print it as JSON.", "--json")] = False) -> None:
    """Print versions, the digest of the sources, cores, the folder of compiled kernels, and optional libraries."""
    import platform

    from gomea_bn.runtime.environment import cpu_name, installed_version
    from gomea_bn.runtime.jit import kernel_cache_dir, kernels_are_cached
    from gomea_bn.runtime.sources import source_digest
    from gomea_bn.runtime.threads import thread_count

    folder = kernel_cache_dir()
    facts = {
        "gomea-bn": __version__,
        "sources": source_digest(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": thread_count(-1),
        "kernel_cache": str(folder),
        "kernels_compiled": kernels_are_cached(),
        "required": {name: installed_version(name) for name in _REQUIRED},
        "optional": {name: installed_version(name) for name in _OPTIONAL},
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    state = "compiled" if facts["kernels_compiled"] else "not compiled yet: the first run compiles them, once"
    lines = [
        f"gomea-bn {__version__}, sources {facts['sources']}",
        f"Python {facts['python']}, {facts['platform']}",
        f"{facts['cpu']}, {facts['cores']} cores for threads",
        f"kernels: {folder} ({state})",
        "libraries: " + ", ".join(f"{name} {installed_version(name)}" for name in _REQUIRED),
        "optional: "
        + ", ".join(f"{name} {installed_version(name) or 'not installed'}" for name in _OPTIONAL),
    ]
    say("\n".join(lines), to_error=False)


def warm_up(
    quiet: Annotated[bool, opt("Do not print progress.", "--quiet", "-q")] = False,
) -> None:
    """Compile the kernels of all commands, for images and clusters; without it each is compiled on first use.

    NUMBA_CACHE_DIR names another folder for them. Exit codes: 0 done, 1 the kernels could not be kept on disk.
    """
    from gomea_bn.runtime.jit import kernel_cache_dir, kernels_are_cached, kernels_can_be_kept

    if not kernels_can_be_kept():
        fail(
            f"The kernels could not be kept in '{kernel_cache_dir()}': the folder cannot be written, or others can "
            "write to it. NUMBA_CACHE_DIR names another one.",
            FAILED,
        )
    seconds = compile_first(_compile_all, silent if quiet else say)
    if not kernels_are_cached():
        fail(f"The kernels could not be kept in '{kernel_cache_dir()}'.", FAILED)
    if not quiet:
        n_kernels = len(list(kernel_cache_dir().glob("*.kernel")))
        say(f"All {n_kernels} kernels are compiled and kept in '{kernel_cache_dir()}' ({seconds:.0f} s).")


def _compile_all(announce: Callable[[str], object]) -> float:
    """Compile or load all kernels, also those of tables in pieces, and return the seconds this took."""
    from gomea_bn.learning.all_kernels import compile_all_kernels
    from gomea_bn.learning.learner import compile_many_rows

    return compile_all_kernels(announce) + compile_many_rows(announce)


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
    with failing(WRONG_USE):
        command = laboratory("command")
    command.main(arguments or [])
