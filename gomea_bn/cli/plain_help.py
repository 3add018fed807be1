"""Help texts that name the values of options by words such as PATH and NUMBER, and group the options.

Commands with very many options show the most used ones with --help, and all of them with --help-all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand
from typer.models import OptionInfo

from gomea_bn.cli.output import WRONG_USE, fail

_BY_TYPE = {Path: "PATH", int: "NUMBER", float: "NUMBER", str: "NAME"}
# by command, the options that --help shows
_MOST_USED = {
    "learn": (
        "out", "max_seconds", "seed", "jobs", "quiet", "target", "require", "forbid", "tier", "kind", "missing",
        "reading_file", "max_indegree",
    ),
    "front": (
        "out", "max_seconds", "seed", "jobs", "quiet", "expert", "require", "target", "forbid", "kind", "missing",
        "reading_file", "max_complexity",
    ),
}  # fmt: skip
_PANELS = ("Common", "Options", "Knowledge", "Reading a table", "Search", "Bins", "Score", "Long runs")
_ALL = "gomea_bn.all_options"


class PlainCommand(TyperCommand):
    """A command whose help shows no types of arguments, and the options by headings."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for parameter in self.params:
            if isinstance(parameter, TyperArgument):
                # recent releases of typer write the type behind the name
                setattr(parameter, "display_type_rich", lambda ctx: None)  # noqa: B010 (older releases lack it)

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of arguments; an option of one value that is given again is an error."""
        parser: Any = super().make_parser(ctx)
        for option in (*parser._long_opt.values(), *parser._short_opt.values()):
            if option.action == "store":
                option.process = _once(option)
        return parser

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options by headings."""
        most_used = _MOST_USED.get(self.name or "")
        first = "Options" if most_used is None else "Common"
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            heading = getattr(parameter, "rich_help_panel", None) or first
            if isinstance(parameter, TyperArgument):
                heading = "Arguments"
            elif (
                most_used and parameter.name not in (*most_used, "help", "help_all") and _ALL not in ctx.meta
            ):
                continue
            if (record := parameter.get_help_record(ctx)) is not None:
                sections.setdefault(first if heading == "Common" else heading, []).append(record)
        for heading in ("Arguments", *_PANELS):
            if sections.get(heading):
                with formatter.section(heading):
                    formatter.write_dl(sections[heading])


def _once(option: Any) -> Callable[[Any, Any], None]:
    """Return the function that takes in the value of a parser's option, and exits with code 2 at a second value."""

    def take(value: Any, state: Any) -> None:
        if option.dest in state.opts:
            values = [
                " ".join(given) if isinstance(given, tuple) else given
                for given in (state.opts[option.dest], value)
            ]
            name = max(option.obj.opts, key=len)
            fail(f"{name} is given twice, with {values[0]!r} and {values[1]!r}; give it once.", WRONG_USE)
        type(option).process(option, value, state)

    return take


def _show_all(ctx: typer.Context, is_given: bool) -> None:
    if is_given:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options and exit.")
]
"""Option of the commands that show the most used options with --help."""


def opt(help: str, *names: str, **others: Any) -> Any:
    """Return an option of typer with a help; `with_names` names a flag by its parameter, without a form with "no"."""
    return typer.Option(*names, help=help, **others)


def with_names(command: Callable[..., None]) -> Callable[..., None]:
    """Name flags and the values of options in the help of a command, where the option itself does not; return it."""
    # typer would evaluate annotations that are text again, without the words
    command.__annotations__ = inspect.get_annotations(command, eval_str=True)
    for name, annotated in command.__annotations__.items():
        origin: Any = get_origin(annotated)
        if origin is not Annotated:
            continue
        annotation, *extras = get_args(annotated)
        for extra in extras:
            if isinstance(extra, OptionInfo):
                extra.metavar = extra.metavar or _words(annotation)
                # in annotations the default of typer is the first name
                if annotation is bool and extra.default is ...:
                    extra.param_decls = (f"--{name.replace('_', '-')}",)
    return command


def _words(annotation: Any) -> str | None:
    """Return the words for values of a type: one for every part of a tuple, None for a flag."""
    if annotation in _BY_TYPE:
        return _BY_TYPE[annotation]
    words = [_words(part) for part in get_args(annotation)]
    return " ".join(word for word in words if word is not None) or None
