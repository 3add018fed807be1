"""What the commands print, and the codes that they exit with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import typer

__all__ = ["FAILED", "INTERRUPTED", "UNUSABLE_DATA", "WRONG_USE", "check_target", "fail", "say", "silent"]

FAILED, WRONG_USE, UNUSABLE_DATA, INTERRUPTED = 1, 2, 3, 130


def say(text: str, to_error: bool = True) -> None:
    """Print text in which a column's name cannot steer the terminal."""
    shown = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    typer.echo(shown, err=to_error)


def silent(_text: str) -> None:
    """Print nothing."""


def fail(message: str, code: int) -> NoReturn:
    """Print what went wrong and exit with a code."""
    say(f"Error: {message}")
    raise typer.Exit(code)


def check_target(target: Path, inputs: Iterable[Path]) -> None:
    """Exit if a file cannot be written where it is wanted, or would replace one that the command reads."""
    if not target.absolute().parent.is_dir() or target.is_dir():
        fail(f"Cannot write '{target}': its folder must exist, and it must not be one itself.", FAILED)
    if any(target.absolute() == path.absolute() or _same(target, path) for path in inputs):
        fail(
            f"Cannot write '{target}': the command reads it, and it would be lost; choose another.", WRONG_USE
        )


def _same(target: Path, other: Path) -> bool:
    return target.exists() and other.exists() and target.samefile(other)
