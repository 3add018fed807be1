"""Help texts that name the values of options by words such as PATH and NUMBER, not by types of Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from typer.core import TyperArgument, TyperCommand
from typer.models import OptionInfo

__all__ = ["PlainCommand", "with_value_names"]

_BY_TYPE = {Path: "PATH", int: "NUMBER", float: "NUMBER", str: "NAME"}
# by parameter, where the type says too little
_BY_PARAMETER = {
    "bin_counts": "fixed|free",
    "columns": "NAME,NAME",
    "curves": "auto|none",
    "cut_points": "COLUMN=NUMBERS",
    "decimal": "MARK",
    "do": "COLUMN=VALUE",
    "drop": "NAME,NAME",
    "forbid": "EDGE",
    "given": "NAME,NAME",
    "keep": "NAME,NAME",
    "kind": "COLUMN=KIND",
    "max_bins": "NUMBER|auto",
    "max_candidates": "NUMBER|auto|all",
    "max_indegree": "NUMBER|auto",
    "misfit": "left-out|in-sample",
    "na_values": "SYMBOLS",
    "option": "NAME=VALUE",
    "penalty": "NAME|NUMBER",
    "pseudo_count": "NUMBER|auto",
    "require": "EDGE",
    "sep": "MARK",
    "shape": "uniform|marginal|auto",
    "sizes": "NUMBERS",
    "tier": "NAME,NAME",
    "to": "FORMAT",
}


class PlainCommand(TyperCommand):
    """A command whose help shows no types of arguments."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for parameter in self.params:
            if isinstance(parameter, TyperArgument):
                # recent releases of typer write the type behind the name
                setattr(parameter, "display_type_rich", lambda ctx: None)  # noqa: B010 (older releases lack it)


def with_value_names(command: Callable[..., None]) -> Callable[..., None]:
    """Name the values of a command's options in its help, where the option itself does not; return the command."""
    # typer would evaluate annotations that are text again, without the words
    command.__annotations__ = inspect.get_annotations(command, eval_str=True)
    for name, annotated in command.__annotations__.items():
        origin: Any = get_origin(annotated)
        if origin is not Annotated:
            continue
        annotation, *extras = get_args(annotated)
        for extra in extras:
            if isinstance(extra, OptionInfo) and extra.metavar is None:
                extra.metavar = _BY_PARAMETER.get(name) or _words(annotation)
    return command


def _words(annotation: Any) -> str | None:
    """Return the words for values of a type: one for every part of a tuple, None for a flag."""
    if annotation in _BY_TYPE:
        return _BY_TYPE[annotation]
    words = [_words(part) for part in get_args(annotation)]
    return " ".join(word for word in words if word is not None) or None
