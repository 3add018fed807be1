"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gomea_bn.cli.option_texts import read_reading
from gomea_bn.cli.output import UNUSABLE_DATA, WRONG_USE, fail, say, spelling
from gomea_bn.errors import GomeaBnError, Option

__all__ = [
    "KIND_OVERRIDE",
    "AsJson",
    "CheckpointEvery",
    "CheckpointFolder",
    "CheckpointResume",
    "CutPoints",
    "Data",
    "Forbid",
    "FormerDevice",
    "Jobs",
    "Kind",
    "LearnerMissing",
    "MaxBins",
    "MaxCandidates",
    "MaxEvaluations",
    "MaxGenerations",
    "MaxIndegree",
    "MaxLevels",
    "MaxSeconds",
    "MaxTableCells",
    "MinBinCount",
    "MinWidth",
    "Missing",
    "Patience",
    "Quiet",
    "Require",
    "Seed",
    "Shape",
    "Tier",
    "Tiers",
    "reads_table",
]

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="File of a table: .csv, .tsv, .txt, .parquet, .feather, .xlsx, .ods, ..."
    ),
]
MaxBins = Annotated[
    str,
    typer.Option(
        help="Largest number of bins of a continuous column, or auto: it grows with the number of rows."
    ),
]
MaxIndegree = Annotated[
    str,
    typer.Option(help="Largest number of parents of a variable, or auto: it grows with the number of rows."),
]
MinWidth = Annotated[
    float, typer.Option(help="Smallest width of an optimal bin, as a fraction of the range of its column.")
]
MinBinCount = Annotated[int, typer.Option(min=0, help="Smallest number of rows in an optimal bin.")]
FormerDevice = Annotated[str, typer.Option(hidden=True)]
Shape = Annotated[
    str,
    typer.Option(
        help="Distribution of continuous columns inside their bins: uniform, marginal (the shape of the column's own "
        "distribution), or auto, which chooses for every column by the score."
    ),
]
MaxCandidates = Annotated[
    str,
    typer.Option(help="Candidate neighbours per variable: a number for each of two rankings, auto or all."),
]
MaxTableCells = Annotated[int, typer.Option(help="Largest number of cells of a variable's table.")]
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Folder for checkpoints, from which --resume goes on after the process was killed; made if absent.",
    ),
]
CheckpointEvery = Annotated[
    float | None,
    typer.Option(
        "--every",
        min=0,
        help="Seconds between two checkpoints, 60 by default; more where writing would take over 1 % of the time.",
    ),
]
CheckpointResume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on from the checkpoint in the folder of --checkpoint, with the same data and options; without one "
        "the search starts from the beginning.",
    ),
]
MaxSeconds = Annotated[float, typer.Option(min=0, help="Time limit of the search in seconds; 0 for none.")]
MaxEvaluations = Annotated[
    int | None, typer.Option(min=1, help="Limit on the number of evaluated networks, exact.")
]
MaxGenerations = Annotated[
    int | None, typer.Option(min=1, help="Limit on the number of generations over all populations.")
]
Patience = Annotated[
    float,
    typer.Option(
        min=0,
        help="Stop when the evaluations exceed this multiple of those up to the last improvement, and 1,000 for every "
        "pair of columns and every continuous column; 0 for never.",
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed that repeats a run; by default random and recorded.")
]
Jobs = Annotated[
    int, typer.Option(min=0, help="Number of threads, 0 for all cores; the result does not depend on it.")
]
Kind = Annotated[
    list[str] | None,
    typer.Option(help="NAME=continuous or NAME=discrete replaces the inferred kind; may be repeated."),
]
CutPoints = Annotated[
    list[str] | None, typer.Option(help="NAME=18,40,65: fixed inner cuts of a column; may be repeated.")
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        help="PARENT,CHILD or 'PARENT->CHILD': an edge that the network must have; may be repeated."
    ),
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(help="PARENT,CHILD or 'PARENT->CHILD': an edge that it must not have; may be repeated."),
]
Tier = Annotated[
    list[str] | None,
    typer.Option(help="NAME,NAME: no edge leads from a later tier to an earlier one; may be repeated."),
]
Tiers = Annotated[Path | None, typer.Option(help="File with one tier per line, earliest first.")]
Missing = Annotated[str, typer.Option(help="Treatment of rows with missing values: error or drop.")]
LearnerMissing = Annotated[
    str,
    typer.Option(help="Treatment of missing values: available (all rows are used), error or drop."),
]
MaxLevels = Annotated[int, typer.Option(min=2, help="Largest number of levels of a discrete column.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print column kinds and progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

_READING: dict[str, tuple[Any, Any]] = {
    "sep": (
        Annotated[
            str | None,
            typer.Option(
                help="Separator of a text file: one character, tab or space. Default: detected.",
            ),
        ],
        None,
    ),
    "decimal": (
        Annotated[str | None, typer.Option(help="Decimal mark of a text file: . or ,. Default: detected.")],
        None,
    ),
    "encoding": (
        Annotated[
            str | None,
            typer.Option(help="Encoding of a text file, such as cp1252. Default: UTF-8."),
        ],
        None,
    ),
    "na_values": (
        Annotated[
            list[str] | None,
            typer.Option(
                help="'?,NA,-999': all symbols of missing values; '' for empty cells only; may be repeated. Default: "
                "empty cells, NA, NaN, null, ?, - and the like."
            ),
        ],
        None,
    ),
    "columns": (
        Annotated[
            list[str] | None,
            typer.Option(help="NAME,NAME: columns to read; may be repeated. Default: all."),
        ],
        None,
    ),
    "drop": (
        Annotated[list[str] | None, typer.Option(help="NAME,NAME: columns to leave out; may be repeated.")],
        None,
    ),
    "sheet": (
        Annotated[
            str | None,
            typer.Option(
                help="Sheet of a spreadsheet, by name or number from 0. Default: the first with cells."
            ),
        ],
        None,
    ),
    "header": (
        Annotated[
            str | None,
            typer.Option(
                help="first-line: it holds the column names; none: columns are x0, x1, ... Default: first-line."
            ),
        ],
        None,
    ),
    "dates": (
        Annotated[
            str | None,
            typer.Option(
                help="numbers: dates become days since 1970-01-01; drop: they are left out. Default: numbers."
            ),
        ],
        None,
    ),
}

KIND_OVERRIDE = "--kind NAME=continuous or NAME=discrete"
"""How a user of a command replaces the kind of a column that the rule decides."""


def reads_table(network: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options for reading tables, as one argument, `reading`.

    The command has a keyword-only parameter `reading`, a `ReadingOptions`.

    Parameters
    ----------
    network : str, optional
        Parameter of the command that names a network. The table in `data` is read as that of the network's run, but
        for the options that the user gives.
    """
    return functools.partial(_reading_command, network=network)


def _reading_command(command: Callable[..., None], network: str | None) -> Callable[..., None]:
    @functools.wraps(command)
    def with_options(*arguments: Any, **options: Any) -> None:
        given = {name: options.pop(name) for name in _READING}
        recorded = {}
        if network is not None and options[network] is not None and options["data"] is not None:
            recorded = _recorded(options[network], options["data"], given)
        try:
            reading = read_reading(given, recorded)
        except GomeaBnError as error:
            fail(error, WRONG_USE)
        command(*arguments, reading=reading, **options)

    signature = inspect.signature(command, eval_str=True)
    parameters = [parameter for name, parameter in signature.parameters.items() if name != "reading"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _READING.items()
    ]
    # typer reads both
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options


def _recorded(network: str, data: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for reading of a network's run that were not given, and print them."""
    from gomea_bn.cli.named_networks import recorded_reading

    try:
        recorded = recorded_reading(network, data)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    recorded = {name: value for name, value in recorded.items() if given[name] is None}
    if recorded:
        values = {
            name: ",".join(map(str, value)) if isinstance(value, list) else str(value)
            for name, value in recorded.items()
        }
        spelled = " ".join(map(spelling(), (Option(name, value) for name, value in values.items())))
        say(
            f"'{data}' is read like the table of '{network}': {spelled}; options that you give replace these."
        )
    return recorded
