"""The command `warm-up`: compile all kernels ahead of their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from gomea_bn.cli.output import FAILED, fail, say, silent
from gomea_bn.cli.running import compile_first


def warm_up(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print progress.")] = False,
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
