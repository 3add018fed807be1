"""Options that several commands share, and those of commands that search, which the learners declare."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.option_texts import (
    checkpoint_of_options,
    cut_files,
    read_cut_points,
    read_jobs,
    read_kinds,
    read_knowledge,
    read_reading,
    read_reading_file,
)
from gomea_bn.cli.output import UNUSABLE_DATA, WRONG_USE, fail, failing, say
from gomea_bn.cli.plain_help import READING_FILE, READING_OPTIONS, opt
from gomea_bn.cli.running import limit
from gomea_bn.errors import Option, spelling
from gomea_bn.learning.parameters import (
    BINS,
    COMMON,
    KNOWLEDGE,
    READING,
    LearnerParameters,
    NetworkParameters,
)
from gomea_bn.parameters import Choice, Declaration, Number, WholeNumber, check_declared, declarations

if TYPE_CHECKING:
    from gomea_bn.runtime.checkpoints import Checkpoint

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="File of a table: .csv, .tsv, .txt, .parquet, .feather, .xlsx, .ods, ..."
    ),
]


def _named(values: Any, help: str, panel: str, *names: str, **others: Any) -> Any:
    """Return the annotation of an option in a panel of the help; `others` are typer's."""
    return Annotated[values, opt(help, *names, rich_help_panel=panel, **others)]


TestGraph = Annotated[
    bool, opt("Test on the rows whether they reject the graph, and which edges they support, reject or miss.")
]
OutFolder = _named(Path | None, "Folder for the result; made if absent.", COMMON, "--out", "-o")
Weight = Annotated[
    str | None,
    opt(
        "Column of weights of rows, from 0 on: whole numbers are frequencies, others importances.",
        metavar="COLUMN",
    ),
]
Lags = _named(
    int | None,
    "Number of earlier rows of the same --group, in the order of --time, whose values are columns, too. No edge leads "
    "back in time.",
    COMMON,
    min=1,
)
TimeOfRows = _named(
    str | None, "Column that orders the rows, for --lags.", COMMON, "--time", metavar="COLUMN"
)
_LONG_RUNS = "Long runs"
# types of values that typer reads
_KINDS_OF_VALUES = {Choice: str, WholeNumber: int, Number: float}


def option_of(declaration: Declaration, **others: Any) -> tuple[Any, Any]:
    """Return the annotation and the default with which a command has a declared option; `others` are typer's."""
    check, default = declaration.check, declaration.default
    values: Any = _KINDS_OF_VALUES.get(type(check), str)
    further = {"help": declaration.help, "rich_help_panel": declaration.panel, **others}
    if check is not None:
        further.setdefault("metavar", check.metavar)
    if isinstance(check, Number):
        if check.words:
            values, default = str, check.none if default is None else str(default)
        elif check.none == "0":
            default = default or 0.0
        if values is not str:
            further["min"] = check.least if check.least > -inf else None
    if default is None:
        values = values | None
    names = [f"--{declaration.command}"] if declaration.command else []
    return Annotated[values, typer.Option(*names, **further)], default


def value_of(declaration: Declaration, text: Any) -> Any:
    """Return the value of a declared option that the value on the command line stands for, after its check."""
    check, value = declaration.check, text
    if isinstance(check, Number) and check.words and isinstance(text, str):
        value = check.read(declaration.name, text)
    elif isinstance(check, Number) and check.none == "0":
        value = limit(text)
    check_declared([declaration], {declaration.name: value})
    return value


DECLARED = declarations(NetworkParameters)
"""The options of a learner of one network, which other commands share."""
MaxBins, MAX_BINS = option_of(DECLARED["max_bins"])
MinWidth, MIN_WIDTH = option_of(DECLARED["min_width"])
MinBinCount, MIN_BIN_COUNT = option_of(DECLARED["min_bin_count"])
Shape, SHAPE = option_of(DECLARED["shape"])
PseudoCount, PSEUDO_COUNT = option_of(DECLARED["pseudo_count"])
LearnerMissing, LEARNER_MISSING = option_of(DECLARED["missing"])
MaxLevels, MAX_LEVELS = option_of(DECLARED["max_levels"])
Group, _ = option_of(DECLARED["groups"])
MaxSeconds, _ = option_of(DECLARED["max_seconds"])

Jobs = _named(int, "Number of threads, 0 for all cores; the result does not depend on it.", COMMON, min=0)
Kind = _named(
    list[str] | None,
    "NAME=continuous or NAME=discrete replaces the inferred kind; may be repeated.",
    READING,
    metavar="COLUMN=KIND",
)
CutPoints = _named(
    list[str] | None,
    "NAME=18,40,65: fixed inner cuts of a column, or a JSON file of cuts, as discretize writes it; may be repeated.",
    BINS,
    metavar="COLUMN=NUMBERS|FILE",
)
Missing = _named(str, "Treatment of rows with missing values: error or drop.", READING)
Quiet = _named(bool, "Do not print column kinds and progress.", COMMON, "--quiet", "-q")
Unknown = Annotated[
    str,
    opt(
        "What a level that NETWORK does not know counts as: missing, nearest (the nearest number or ordered level), or "
        "error."
    ),
]
AsJson = _named(bool, "Print the result as JSON.", COMMON, "--json")
CheckpointFolder = _named(
    Path | None,
    "Folder for checkpoints, from which --resume goes on after the process was killed; made if absent.",
    _LONG_RUNS,
    "--checkpoint",
)
CheckpointEvery = _named(
    float | None,
    "Seconds between two checkpoints, 60 by default; more where writing would take over 1 % of the time.",
    _LONG_RUNS,
    "--every",
    min=0,
)
CheckpointResume = _named(
    bool,
    "Go on from the checkpoint in the folder of --checkpoint, with the same data and options; without one "
    "the search starts from the beginning.",
    _LONG_RUNS,
    "--resume",
)


# options of commands that search, apart from those that the learner declares
_OF_SEARCHES: dict[str, Any] = {
    "seed": _named(int | None, "Seed that repeats a run; by default random and recorded.", COMMON, min=0),
    "jobs": Jobs,
    "quiet": Quiet,
    "as_json": AsJson,
    "require": _named(
        list[str] | None,
        "PARENT,CHILD or 'PARENT->CHILD': an edge that the network must have; may be repeated.",
        KNOWLEDGE,
        metavar="EDGE",
    ),
    "forbid": _named(
        list[str] | None,
        "PARENT,CHILD or 'PARENT->CHILD': an edge that it must not have; may be repeated.",
        KNOWLEDGE,
        metavar="EDGE",
    ),
    "rules": _named(
        Path | None,
        "decision.json of the review page: every network obeys its rules about edges, with those of --require and "
        "--forbid.",
        KNOWLEDGE,
    ),
    "tier": _named(
        list[str] | None,
        "NAME,NAME: no edge leads from a later tier to an earlier one; may be repeated.",
        KNOWLEDGE,
        metavar="NAME,NAME",
    ),
    "tiers": _named(Path | None, "File with one tier per line, earliest first.", KNOWLEDGE),
    "max_table_cells": _named(int, "Largest number of cells of a variable's table.", KNOWLEDGE),
    "kind": Kind,
    "cut_points": CutPoints,
    "checkpoint": CheckpointFolder,
    "every": CheckpointEvery,
    "resume": CheckpointResume,
}
_FIRST_VALUES = {
    "jobs": 0, "quiet": False, "as_json": False, "max_table_cells": 1_000_000, "resume": False
}  # fmt: skip


@dataclass(frozen=True)
class Given:
    """What the options of a command that searches say: `values` by parameter, those of a learner and others."""

    learner: type[LearnerParameters]
    values: Mapping[str, Any]

    @property
    def files(self) -> dict[str, list[Path]]:
        """Files that the options name for reading, by option."""
        of_knowledge = {
            f"--{name}": [path] for name in ("tiers", "rules") if (path := self.values[name]) is not None
        }
        return {"--cut-points": cut_files(self.values["cut_points"] or ())} | of_knowledge

    @property
    def spelled(self) -> dict[str, str]:
        """Options that hold the user's tiers and edges, by their names in Python; see `spelling`."""

        def holding(option: str, file_option: str) -> str:
            given = [name for name in (option, file_option) if self.values[name.strip("-").replace("-", "_")]]
            return " or ".join(given) or option

        return {
            "temporal_order": holding("--tier", "--tiers"),
            "required_edges": holding("--require", "--rules"),
            "forbidden_edges": holding("--forbid", "--rules"),
        }

    def options(self) -> dict[str, Any]:
        """Return the options of the learner; raises for texts without meaning."""
        values = self.values
        declared = {
            name: value_of(declaration, values[name])
            for name, declaration in declarations(self.learner).items()
            if name in values
        }
        rules = ("require", "forbid", "rules", "tier", "tiers", "max_table_cells")
        return {
            **declared,
            "cut_points": read_cut_points(values["cut_points"] or ()),
            "knowledge": read_knowledge(**{name: values[name] for name in rules}),
            "kinds": read_kinds(values["kind"] or ()),
            "n_jobs": read_jobs(values["jobs"]),
            "random_state": values["seed"],
            "verbose": not values["quiet"],
        }

    def saved_search(self) -> Checkpoint | None:
        """Return what `--checkpoint`, `--every` and `--resume` ask for; raises `GomeaBnError` if it cannot be used."""
        return checkpoint_of_options(*(self.values[name] for name in ("checkpoint", "every", "resume")))


def searches(learner: type[LearnerParameters]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of a learner, as one argument, `given`.

    The command has a keyword-only parameter `given`, a `Given`.
    """
    options = {
        name: option_of(declaration)
        for name, declaration in declarations(learner).items()
        if declaration.help
    } | {name: (annotation, _FIRST_VALUES.get(name)) for name, annotation in _OF_SEARCHES.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(*arguments: Any, **values: Any) -> None:
            given = Given(learner, {name: values.pop(name) for name in options})
            command(*arguments, given=given, **values)

        return _with_parameters(with_options, command, "given", options)

    return decorate


def _with_parameters(
    new: Callable[..., None],
    command: Callable[..., None],
    replaced: str,
    options: Mapping[str, tuple[Any, Any]],
) -> Callable[..., None]:
    """Give a function the signature of a command with some options in place of one parameter."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [parameter for name, parameter in signature.parameters.items() if name != replaced]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
    # typer reads both
    new.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    new.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return new


KIND_OVERRIDE = "--kind NAME=continuous or NAME=discrete"
"""How a user of a command replaces the kind of a column that the rule decides."""

MOST_DESCRIBED = 12
"""Columns of a table whose kinds a search gives reasons for; `gomea-bn check` does for all."""


def reads_table(
    network: str | None = None, *, only_with: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options for reading tables, as one argument, `reading`.

    The command has a keyword-only parameter `reading`, a `ReadingOptions`. `network` is the parameter of the command
    that names a network: the table in `data` is then read as that of the network's run, but for the options that the
    user gives. Without the flag `only_with` the command reads no table by such options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(*arguments: Any, **options: Any) -> None:
            given = _reading_options(options.pop("reading") or ())
            file, in_file, recorded = given.pop("reading"), {}, {}
            with failing(WRONG_USE):
                if file is not None:
                    in_file = _from_file(Path(file), options, inspect.signature(with_options).parameters)
            reads = only_with is None or options[only_with]
            if not reads and (useless := [name for name, value in given.items() if value is not None]):
                fail(f"{spelling()(Option(useless[0]))} is for --{only_with}; give both.", WRONG_USE)
            if network is not None and reads and options[network] is not None and options["data"] is not None:
                # the network has its own columns
                in_file.pop("columns", None)
                recorded = _recorded(options[network], options["data"], given)
            with failing(WRONG_USE):
                reading = read_reading(given, {**recorded, **in_file})
            command(*arguments, reading=reading, **options)

        annotation = _named(
            list[str] | None,
            f"How the table is read; {READING_FILE} takes the options from a JSON file.",
            READING,
            *READING_OPTIONS,
            metavar="VALUE",
        )
        return _with_parameters(with_options, command, "reading", {"reading": (annotation, None)})

    return decorate


def _reading_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the values of the options for reading by name, None where they are not given; texts are NAME=VALUE."""
    given: dict[str, Any] = {declared.name: None for declared in READING_OPTIONS.values()}
    for text in texts:
        option, _, value = text.partition("=")
        declared = READING_OPTIONS[option]
        given[declared.name] = [*(given[declared.name] or ()), value] if declared.repeats else value
    return given


def _from_file(
    file: Path, options: dict[str, Any], parameters: Mapping[str, inspect.Parameter]
) -> dict[str, Any]:
    """Return the reading options of a file; its kinds, missing and max_levels go to the command if that has them."""
    others = [name for name in ("kind", "missing", "max_levels") if name in options]
    in_file = read_reading_file(file)
    kinds = in_file.pop("kinds", {})
    if kinds and "kind" in others:
        given = options["kind"] or []
        named = read_kinds(given)
        options["kind"] = [*given, *(f"{name}={kind}" for name, kind in kinds.items() if name not in named)]
    for name in ("missing", "max_levels"):
        value = in_file.pop(name, None)
        if value is not None and name in others and options[name] == parameters[name].default:
            options[name] = value
    return in_file


def _on_command_line(name: str, value: Any) -> list[Option]:
    """Return the options that say the same on the command line."""
    if name == "lags":
        options = {"time": value["time"], "groups": value.get("group"), "lags": value["lags"][-1]}
        return [Option(option, str(text)) for option, text in options.items() if text is not None]
    if isinstance(value, Mapping):
        return [Option(name, f"{column}={text}") for column, text in value.items()]
    return [Option(name, ",".join(map(str, value)) if isinstance(value, list) else str(value))]


def _recorded(network: str, data: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for reading of a network's run that were not given, and print them."""
    from gomea_bn.cli.named_networks import recorded_reading

    with failing(UNUSABLE_DATA):
        recorded = recorded_reading(network, data)
    recorded = {name: value for name, value in recorded.items() if given.get(name) is None}
    if recorded:
        given_options = [
            option for name, value in recorded.items() for option in _on_command_line(name, value)
        ]
        spelled = " ".join(map(spelling(), given_options))
        say(
            f"'{data}' is read like the table of '{network}': {spelled}; options that you give replace these."
        )
    return recorded
