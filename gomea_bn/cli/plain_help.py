"""Help texts that name the values of options by words such as PATH and NUMBER, and group the options.

Commands with very many options show the most used ones with --help, and all of them with --help-all. The options for
reading a table are one parameter of a command, a list of texts OPTION=VALUE, and one line of --help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand
from typer.models import OptionInfo

from gomea_bn.cli.output import WRONG_USE, fail
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.parameters import Declaration, declarations

_BY_TYPE = {Path: "PATH", int: "NUMBER", float: "NUMBER", str: "NAME"}
# by command, the options that --help shows
_MOST_USED = {
    "learn": (
        "out", "max_seconds", "seed", "jobs", "quiet", "target", "lags", "require", "forbid", "kind", "missing",
        "reading", "max_indegree",
    ),
    "front": (
        "out", "max_seconds", "seed", "jobs", "quiet", "expert", "require", "target", "forbid", "kind", "missing",
        "reading", "max_complexity",
    ),
}  # fmt: skip
_PANELS = ("Common", "Options", "Knowledge", "Reading a table", "Search", "Bins", "Score", "Long runs")
_ALL = "gomea_bn.all_options"
_HELP_ALL = "--help-all"
_READING = "reading"
# options that several statements may follow
_WITH_STATEMENTS = frozenset({"--given", "--do"})


READING_FILE = "--reading"
READING_OPTIONS = {
    **{
        f"--{declared.command or name.replace('_', '-')}": declared
        for name, declared in declarations(ReadingOptions).items()
    },
    READING_FILE: Declaration(
        _READING,
        None,
        None,
        "JSON file of options for reading, such as sep, na_values, kinds and missing, as check --write writes it. "
        "Options on the command line replace those of the file.",
        "",
        "",
        metavar="PATH",
    ),
}
"""The options for reading tables of all commands."""


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
        for name, option in parser._long_opt.items():
            if option.dest == _READING:
                parser._long_opt[name] = of_name = copy(option)
                of_name.process = _with_name(option, name)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; --help-all is --help with all options, where --help does not show them."""
        if any(_WITH_STATEMENTS.intersection(parameter.opts) for parameter in self.params):
            args = _spread(args)
        own = args[: args.index("--")] if "--" in args else args
        if self._has_more and _HELP_ALL in own:
            ctx.meta[_ALL] = True
            args = ["--help"]
        return list(super().parse_args(ctx, args))

    @property
    def _has_more(self) -> bool:
        return self.name in _MOST_USED or any(parameter.name == _READING for parameter in self.params)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options by headings."""
        most_used = _MOST_USED.get(self.name or "")
        first = "Options" if most_used is None else "Common"
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            heading = getattr(parameter, "rich_help_panel", None) or first
            if isinstance(parameter, TyperArgument):
                heading = "Arguments"
            elif most_used and parameter.name not in (*most_used, "help") and _ALL not in ctx.meta:
                continue
            if parameter.name == _READING:
                sections.setdefault(heading, []).extend(_reading_records(in_one_line=_ALL not in ctx.meta))
            elif (record := parameter.get_help_record(ctx)) is not None:
                sections.setdefault(first if heading == "Common" else heading, []).append(record)
        if self._has_more:
            sections[first].append((_HELP_ALL, "Show all options and exit."))
        for heading in ("Arguments", *_PANELS):
            if sections.get(heading):
                with formatter.section(heading):
                    formatter.write_dl(sections[heading])


def _spread(args: list[str]) -> list[str]:
    """Return the arguments of a command in which every further statement has its option."""
    spread: list[str] = []
    option = ""
    for position, word in enumerate(args):
        follows_option = position > 0 and args[position - 1] in _WITH_STATEMENTS
        if word.startswith("-") and not follows_option:
            option = word if word in _WITH_STATEMENTS else ""
        elif option and not follows_option:
            if not any(mark in word for mark in ("=", "<", ">", " in ")):
                option = ""
            else:
                spread.append(option)
        spread.append(word)
    return spread


def _once(option: Any) -> Callable[[Any, Any], None]:
    """Return the function that takes in the value of a parser's option, and exits with code 2 at a second value."""

    def take(value: Any, state: Any) -> None:
        if option.dest in state.opts:
            values = [
                " ".join(given) if isinstance(given, tuple) else given
                for given in (state.opts[option.dest], value)
            ]
            _refuse_again(max(option.obj.opts, key=len), *values)
        type(option).process(option, value, state)

    return take


def _with_name(option: Any, name: str) -> Callable[[Any, Any], None]:
    """Return the function that takes in the value of an option for reading tables as NAME=VALUE."""

    def take(value: Any, state: Any) -> None:
        given = state.opts.setdefault(option.dest, [])
        former = [text for text in given if text.startswith(f"{name}=")]
        if former and not READING_OPTIONS[name].repeats:
            _refuse_again(name, former[0].partition("=")[2], value)
        given.append(f"{name}={value}")
        state.order.append(option.obj)

    return take


def _refuse_again(name: str, first: str, second: str) -> NoReturn:
    fail(f"{name} is given twice, with {first!r} and {second!r}; give it once.", WRONG_USE)


def _reading_records(*, in_one_line: bool) -> list[tuple[str, str]]:
    """Return the lines of a help on the options for reading tables: each of them, or that there are some."""
    if in_one_line:
        return [("--sep, --drop, ...", "How the table is read; --help-all shows these options.")]
    return [(f"{name} {option.metavar}", option.help) for name, option in READING_OPTIONS.items()]


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
