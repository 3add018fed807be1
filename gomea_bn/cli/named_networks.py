"""Networks by their names on the command line: a file, the folder of a run, or FOLDER#ID in a front."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.output import UNUSABLE_DATA, WRONG_USE, fail, failing, say
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import printed_warnings, read_data
from gomea_bn.data.files.database_names import database_of
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.formats.registry import WRITTEN, format_of
from gomea_bn.runtime.files import finish_exchange, read_json
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.data.table import Table
    from gomea_bn.expert.expert_network import ExpertNetwork
    from gomea_bn.front.front import Candidate, Front
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

NETWORK_HELP = (
    "File of a network (.json, .bif, .xdsl, ...) or of an expert's edges (.csv, .dot, ...), folder of a run, or "
    "FOLDER#ID of a front; also FOLDER#recommended, #knee, #closest, #single, #expert or #OBJECTIVE."
)
"""What the argument NETWORK of a command may be."""

Network = Annotated[str, typer.Argument(metavar="NETWORK", help=NETWORK_HELP)]
"""The argument NETWORK."""

Statements = Annotated[
    list[str] | None,
    opt(
        "What is known: 'x=3.2', 'x>3', 'y in 2..5' (also '2..' and '..5') or 'z in {a,b}'; several may follow.",
        metavar="STATEMENT",
    ),
]
"""The option --given of commands that answer."""

_BY_ROLE = ("recommended", "knee", "closest", "single")


def named_network(text: str, rows: pd.DataFrame | None = None) -> DiscretizedBayesNet:
    """Return the network of a file of any format, of the folder of a run, or of FOLDER#ID.

    The rows complete an expert's network without probabilities, such as a list of edges; without them it is an error,
    as is the folder of a front without an id.
    """
    from gomea_bn.front.folder import is_front_folder, read_front

    if not text:
        raise GomeaBnError("NETWORK must name a file or folder, got an empty text.")
    folder, mark, which = text.rpartition("#")
    is_numbered = mark and not os.path.lexists(text)
    finish_folder(folder if is_numbered else text)
    if is_numbered:
        front = read_front(folder)
        if which == "expert":
            if front.expert is None:
                raise GomeaBnError(f"The front in '{folder}' was learned without an expert's network.")
            return front.expert
        return candidate(front, which).network
    if is_front_folder(text):
        raise GomeaBnError(
            f"'{text}' holds a front; name one of its networks: '{text}#12' or '{text}#knee', with an expert also "
            f"'{text}#closest' or '{text}#expert'."
        )
    if os.path.isdir(text):
        return of_run_folder(Path(text))
    if _is_of_expert(text):
        return _completed(text, rows)[0]
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    return DiscretizedBayesNet.from_file(text)


def loaded_network(text: str) -> DiscretizedBayesNet:
    """Return the network of `named_network`; exits with code 3 if it cannot be used."""
    with failing(UNUSABLE_DATA):
        return named_network(text)


def _is_of_expert(path: str) -> bool:
    """Return whether a file holds an expert's network, whose bins and probabilities may be missing."""
    from gomea_bn.expert.files import FORMAT
    from gomea_bn.runtime.files import has_format

    return path.lower().endswith((".csv", ".tsv", ".dot", ".gv")) or (
        path.lower().endswith(".json") and has_format(Path(path), FORMAT)
    )


def network_and_rows(text: str, rows: pd.DataFrame | None) -> tuple[DiscretizedBayesNet, pd.DataFrame | None]:
    """Return the network of `named_network`, and the rows as its columns read them.

    A network that was learned has a record of how, such as limits of detection. An expert's network is completed from
    the rows as `read_table` reads them.
    """
    if os.path.isfile(text) and _is_of_expert(text):
        return _completed(text, rows)
    return named_network(text, rows), rows


def tested_network(text: str, network: DiscretizedBayesNet) -> DiscretizedBayesNet | ExpertNetwork:
    """Return what a test of the graph takes: an expert's edges as he gave them, any other network as it is."""
    from gomea_bn.expert.expert_network import ExpertNetwork

    return ExpertNetwork.from_file(text) if os.path.isfile(text) and _is_of_expert(text) else network


def _completed(path: str, rows: pd.DataFrame | None) -> tuple[DiscretizedBayesNet, pd.DataFrame]:
    """Return an expert's network completed over the columns of a table, by `ExpertNetwork.fitted`, and the table."""
    from gomea_bn.data.table import read_table
    from gomea_bn.expert.expert_network import ExpertNetwork

    expert = ExpertNetwork.from_file(path)
    if rows is None:
        raise GomeaBnError(
            f"'{path}' holds an expert's edges without probabilities. `gomea-bn export {shlex.quote(path)} --data DATA "
            "-o model.json` completes it by a table, and writes a network that all commands take."
        )
    with printed_warnings():
        table = read_table(rows, missing="keep")
        # levels that only other rows have are levels too
        complete = table.complete_rows()
        if complete.n_rows < table.n_rows:
            say(
                f"The expert's network is completed from {complete.n_rows:,} of {len(rows):,} rows, those without "
                "missing values."
            )
        return expert.fitted(complete), table.to_frame()


def finish_folder(folder: str | os.PathLike[str]) -> None:
    """Complete a folder whose files a killed process was replacing, and print a warning that says so."""
    from gomea_bn.front.folder import FRONT_ENTRIES
    from gomea_bn.learning.run_folder import RUN_ENTRIES

    with printed_warnings():
        finish_exchange(Path(folder), (*FRONT_ENTRIES, *RUN_ENTRIES))


def files_of(source: str, text: str) -> dict[str, list[Path]]:
    """Return the files behind a network, for `check_targets`, by words for them.

    They are the file that the network may be read from, or those that `learn --out` and `front --out` write into its
    folder, existing or not, and the table that it was learned from. The folder of a file may name that table too.
    `source` is the argument or option that has the name `text` of the network.
    """
    from gomea_bn.front.folder import FRONT_ENTRIES, NETWORKS
    from gomea_bn.learning.run_folder import RUN_ENTRIES

    if (folder := _folder_of(text)) is None:
        files = {source: [Path(text)]}
        folder = Path(text).absolute().parent
        if folder.name == NETWORKS:
            folder = folder.parent
    else:
        files = {source: [folder / name for name in (*FRONT_ENTRIES, *RUN_ENTRIES)]}
    # the command itself says what is wrong with the folder
    with suppress(GomeaBnError):
        record = _record_of(folder)
        table = record.get("source", record.get("data"))
        # no file has a name with a null character, which a damaged record may hold
        if isinstance(table, dict) and isinstance(table.get("path"), str) and "\0" not in table["path"]:
            files[f"the table of {source}"] = [Path(table["path"])]
    return files


def _folder_of(text: str) -> Path | None:
    """Return the folder of the run or of the front that the name of a network says, None for a file."""
    name, mark, _ = text.rpartition("#")
    if mark and not os.path.lexists(text):
        return Path(name)
    return Path(text) if os.path.isdir(text) else None


def _record_of(folder: Path) -> dict[str, Any]:
    """Return the record of a front or of a run in a folder, empty if there is none."""
    from gomea_bn.front.folder import is_front_folder, read_front_record

    finish_folder(folder)
    return read_front_record(folder) if is_front_folder(str(folder)) else run_record_of(folder)


def of_run_folder(folder: Path) -> DiscretizedBayesNet:
    """Return the network of a folder that `learn --out` wrote."""
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    if not os.path.isdir(folder):
        is_file = os.path.exists(folder)
        raise GomeaBnError(
            f"'{folder}' is not a folder." if is_file else f"Folder '{folder}' does not exist."
        )
    if not os.path.isfile(folder / "network.json"):
        raise GomeaBnError(
            f"Folder '{folder}' holds neither front.json nor network.json; give a folder that `gomea-bn front` or "
            "`gomea-bn learn` wrote with --out."
        )
    return DiscretizedBayesNet.from_json(folder / "network.json")


def run_record_of(folder: Path) -> dict[str, Any]:
    """Return the run.json of a folder that `learn --out` wrote, or an empty record if there is none."""
    from gomea_bn.learning.run_folder import RECORD_FORMAT

    path = folder / "run.json"
    if not os.path.isfile(path):
        return {}
    record, _ = read_json(path, "the record of a run", RECORD_FORMAT, advice="Learn again with --out.")
    return record


def recorded_reading(text: str, data: Path) -> dict[str, Any]:
    """Return the options by which the table of a network's run was read, as far as they apply to another table.

    The options that choose columns stay out: the network has its own columns. Only folders of runs and networks of
    fronts have a record. The options must apply to the kind of file of the other table, `data`.
    """
    from gomea_bn.data.files.table_files import applicable_options

    folder = _folder_of(text)
    if folder is None or not os.path.isdir(folder):
        return {}
    options = reading_of(_record_of(folder))
    applicable = (
        "na_values",
        "decimal",
        "forms",
        "lags",
        *(applicable_options(data, options.get("sep")) or ()),
    )
    try:
        return ReadingOptions.of(**{key: options[key] for key in applicable if key in options}).given
    except GomeaBnError as error:
        raise GomeaBnError(
            f"The record in '{folder}' has reading options that cannot be used: {error}"
        ) from error


def reading_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for reading tables that the record of a run or of a front names."""
    reading = record.get("reading")
    known = {field.name for field in fields(ReadingOptions)}
    return {key: value for key, value in reading.items() if key in known} if isinstance(reading, dict) else {}


def candidate(front: Front, which: str) -> Candidate:
    """Return the network of an id or a role, or the best in an objective.

    Roles are "recommended", "knee", "closest" (to the expert) and "single" (of the search for one network).
    """
    if which.isascii() and which.isdecimal():
        return front[int(which)]
    if which == "recommended":
        return front.recommended().candidate
    if which == "knee":
        return front.knee()
    if which == "closest":
        return front.closest_to_expert()
    if which == "single" and front.single is not None:
        return front.single
    if which in front.names:
        return front.best(which)
    raise GomeaBnError(
        f"A network of a front is named by its id (0 to {len(front) - 1}), recommended, knee, closest, single if it "
        f"has one, or the objective in which it is best ({', '.join(front.names)}), got {which!r}."
        f"{nearest(which, (*_BY_ROLE, *front.names))}"
    )


def network_text(network: DiscretizedBayesNet, ending: str, *, cpdag: bool = False) -> str:
    """Return a network as text in one of the formats `WRITTEN`; `cpdag` is an option of "dot"."""
    if cpdag:
        return network.to_dot(cpdag=True)
    with printed_warnings():
        return str(getattr(network, f"to_{ending}")())


def ending_of(path: Path) -> str:
    """Return the format of `WRITTEN` that belongs to the ending of a file name."""
    name = format_of(path)
    if name not in WRITTEN:
        endings = listed(f".{name}" for name in WRITTEN)
        raise GomeaBnError(f"'{path}' must end in one of {endings}, got '{path.suffix or 'no ending'}'.")
    return name


def recorded_file(source: Any, data: Path | None) -> Path | None:
    """Return the file of the table of a run or of a front, or None if it is missing or has changed.

    `source` is the entry of a record that names the file, with its SHA-256, and `data` another place of the same file;
    it is an error if another file is there.
    """
    from gomea_bn.data.files.database_names import content_digest

    source = source if isinstance(source, dict) else {}
    if data is not None and not os.path.isfile(data) and database_of(data) is None:
        raise GomeaBnError(
            f"--data: '{data}' {'is not a file' if os.path.exists(data) else 'does not exist'}; give the table."
        )
    path = data if data is not None else Path(str(source.get("path", "")))
    if (os.path.isfile(path) or database_of(path)) and content_digest(path) == source.get("file_sha256"):
        return path
    if data is not None:
        raise GomeaBnError(
            f"--data: '{data}' is not the file that was learned from: its SHA-256 differs from the recorded one."
        )
    return None


def table_of_record(path: Path, record: Mapping[str, Any]) -> Table:
    """Return the table of a file, read with the parameters, the weights and the options for reading of a record."""
    recorded = record.get("parameters")
    parameters = recorded if isinstance(recorded, dict) else {}
    source = record.get("data", record.get("source"))
    groups = parameters.get("groups")
    table = read_data(
        path,
        kinds=parameters.get("kinds") or {},
        missing=parameters.get("missing", "error"),
        max_levels=parameters.get("max_levels", 50),
        reading=ReadingOptions.of(**reading_of(record)),
        weight=source.get("weight") if isinstance(source, dict) else None,
        groups=groups,
        target=parameters.get("target"),
        duration=parameters.get("duration"),
        horizon=parameters.get("horizon"),
    )
    from gomea_bn.data.weights import rows_to_search_in_groups

    with failing(UNUSABLE_DATA):
        return rows_to_search_in_groups(table)


def table_of_network(text: str) -> Table:
    """Return the table of the run or of the front that the name of a network says; exits with 3 if it is not there."""
    with failing(UNUSABLE_DATA):
        folder = _folder_of(text)
        record = {} if folder is None else _record_of(folder)
        path = recorded_file(record.get("data", record.get("source")), None)
        if path is None:
            raise GomeaBnError(
                f"The table that '{text}' was learned from is not known, or has moved or changed; give it with --data."
            )
        return table_of_record(path, record)


def named_column(network: DiscretizedBayesNet, name: str, option: str) -> str:
    """Return the variable of a column that an option names, also of dates without the unit; exits with 2 for none."""
    from gomea_bn.network.parts import spellings, unknown_variable

    variables = spellings(network.names)
    if name not in variables:
        fail(f"{option}: {unknown_variable(name, network.names, network.metadata)}", WRONG_USE)
    return variables[name]
