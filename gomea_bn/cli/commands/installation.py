"""The command `info`: what is installed, and kernels that are compiled before they are needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

import typer

from gomea_bn import __version__
from gomea_bn.cli.output import FAILED, fail, say
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import compile_first

_OPTIONAL = ("pyagrum", "pgmpy", "networkx", "scikit-learn", "pyarrow")
_REQUIRED = ("numpy", "numba", "scipy", "pandas", "pymoo", "rich", "typer", "platformdirs")


def info(
    as_json: Annotated[bool, opt("Print it as JSON.", "--json")] = False,
    warm_up: Annotated[
        bool,
        opt(
            "Compile the kernels of all commands first, for images and clusters; without it each is compiled on first "
            "use. NUMBA_CACHE_DIR names another folder for them."
        ),
    ] = False,
) -> None:
    """Print versions, the digest of the sources, cores, the folder of compiled kernels, and optional libraries.

    Exit codes: 0 done, 1 the kernels of --warm-up could not be kept on disk.
    """
    import platform

    from gomea_bn.runtime.environment import cpu_name, installed_version
    from gomea_bn.runtime.jit import kernel_cache_dir, kernels_are_cached
    from gomea_bn.runtime.sources import source_digest
    from gomea_bn.runtime.threads import thread_count

    if warm_up:
        _warm_up()
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


def _warm_up() -> None:
    """Compile the kernels of all commands and say so; exits with 1 if they cannot be kept on disk."""
    from gomea_bn.runtime.jit import kernel_cache_dir, kernels_are_cached, kernels_can_be_kept

    if not kernels_can_be_kept():
        fail(
            f"The kernels could not be kept in '{kernel_cache_dir()}': the folder cannot be written, or others can "
            "write to it. NUMBA_CACHE_DIR names another one.",
            FAILED,
        )
    seconds = compile_first(_compile_all, say)
    if not kernels_are_cached():
        fail(f"The kernels could not be kept in '{kernel_cache_dir()}'.", FAILED)
    n_kernels = len(list(kernel_cache_dir().glob("*.kernel")))
    say(f"All {n_kernels} kernels are compiled and kept in '{kernel_cache_dir()}' ({seconds:.0f} s).")


def _compile_all(announce: Callable[[str], object]) -> float:
    """Compile or load all kernels, also those of tables in pieces, and return the seconds this took."""
    from gomea_bn.learning.all_kernels import compile_all_kernels
    from gomea_bn.learning.fit import compile_many_rows

    return compile_all_kernels(announce) + compile_many_rows(announce)
