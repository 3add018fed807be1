"""What the commands print, and the codes that they exit with."""

from __future__ import annotations

from typing import NoReturn

import typer

__all__ = ["FAILED", "INTERRUPTED", "UNUSABLE_DATA", "WRONG_USE", "fail", "say", "silent"]

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
