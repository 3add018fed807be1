"""The folder of a front: its table, the store of all its networks, its record, and files of networks on request."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gomea_bn.data.column_summary import column_summary
from gomea_bn.data.frames import require_pyarrow
from gomea_bn.errors import GomeaBnError, check_integer, is_integer, is_real
from gomea_bn.front.front import Front
from gomea_bn.front.judged_rows import is_prediction_summary
from gomea_bn.front.objectives import EXPERT_DISTANCE, MISFIT, Objective
from gomea_bn.front.predictions import prediction_summary
from gomea_bn.front.store import StoredNetworks, packed_networks
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.runtime.files import (
    check_folder,
    check_is_file,
    check_name,
    check_replaceable,
    field_of,
    finish_exchange,
    head_of,
    json_text,
    named_source,
    prefixed_errors,
    read_json,
    replaced_entries,
    unpacked,
)

FORMAT = "gomea-bn front"
MAIN, TABLE, PARQUET, STORE = "front.json", "front.csv", "front.parquet", "networks.gz"
EARLIER_STORE = "networks.jsonl.gz"
"""Store of format version 1: every network as one line of JSON text."""
EXPERT, NETWORKS = "expert_completed.json", "networks"
FILES = (MAIN, TABLE, PARQUET, STORE, EARLIER_STORE, EXPERT)
FRONT_ENTRIES = (*FILES, NETWORKS)
"""Names of all files and folders of a front."""
_OWN_NETWORK = re.compile(r"[0-9]{4,}\.(json|bif|dot)")


def write_front(
    folder: str | os.PathLike[str],
    front: Front,
    *,
    networks: int | None = 0,
    parquet: bool = False,
    columns: pd.DataFrame | None = None,
    go_on: Callable[[int, int], bool] | None = None,
) -> list[Path]:
    """Write the files of a front, replacing an earlier front in the folder, and return their paths.

    The files are:

    - front.csv: one row per network.
    - front.json: objectives and values to the last bit, the record, and `run_hash`.
    - networks.gz: every network in the order of the front, each distinct family once; see `gomea_bn.front.store`.
      Networks with files of their own and those with a role, such as the knee, have their conditionals, if the front
      has any; others have tables, and `average_families` learns conditionals from rows.
    - expert_completed.json: `front.expert`, the expert's network completed over the columns of the table, if there is
      one.
    - networks/0012.json, .bif and .dot for networks that `front.thin` chooses, if `networks` asks for some; they are
      named by their ids.

    The rows of the table are not written. The record's "columns" holds the histogram or the level counts of every
    column, and "n_rows" their number; "predictions" has the summary of left-out predictions of a target, if the front
    has one (`gomea_bn.front.predictions.prediction_summary`). All files are first completed in a temporary folder, so
    that a full disk, an interrupt or a killed process leaves an earlier front or the whole new one. Other files in the
    folder stay.

    Parameters
    ----------
    folder : path
        The folder, which is created if it does not exist.
    front : Front
        The front.
    networks : int or None
        Number of networks with files of their own; None for all.
    parquet : bool
        Whether to write front.parquet as well, which needs pyarrow.
    columns : DataFrame, optional
        Further columns of front.csv, by id; networks that it lacks have empty cells.
    go_on : callable, optional
        Function that is called before the files of every network, with the number of networks that have theirs, and
        the number of networks that get some. The others get none once it returns False.

    Raises
    ------
    GomeaBnError
        If the folder cannot be written or holds files of the same names that do not belong to a front, if the record's
        "columns" or "predictions" are no such summaries, or if pyarrow is missing.
    """
    path = Path(folder)
    check_front_folder(path, parquet=parquet)
    _check_summaries(front.record)
    check_integer("networks", networks, 0, optional=True)
    chosen = ids_with_files(front, networks)
    with replaced_entries(path, FRONT_ENTRIES) as new:
        ids: list[int] = []
        for index in chosen:
            if go_on is not None and not go_on(len(ids), len(chosen)):
                break
            (new / NETWORKS).mkdir(exist_ok=True)
            network = front[index].network
            texts = network.to_json(), network.compiled().to_bif(), network.to_dot()
            for ending, text in zip(("json", "bif", "dot"), texts, strict=True):
                _write(new / network_file(index, ending), text.encode())
            ids.append(index)
        # a network that has been built is stored with its conditionals
        for role in _roles(front):
            front.network(role)
        store = packed_networks(front.network_parts(index) for index in range(len(front)))
        sha256 = {STORE: _write(new / STORE, store)}
        if front.expert is not None:
            sha256[EXPERT] = _write(new / EXPERT, front.expert.to_json().encode())
        frame = _table_of_folder(front, ids)
        if columns is not None:
            frame = frame.join(columns)
        _write(new / TABLE, frame.to_csv(lineterminator="\n").encode())
        if parquet:
            frame.to_parquet(new / PARQUET)
        _write(new / MAIN, _main(front, ids, sha256).encode())
        written = [name for name in FILES if os.path.exists(new / name)]
    return [path / name for name in written] + [
        path / network_file(index, ending) for index in ids for ending in ("json", "bif", "dot")
    ]


def _table_of_folder(front: Front, ids: Sequence[int]) -> pd.DataFrame:
    """Return `front_table` with standard errors of the distances to the expert, and the names of files.

    Errors of thousands of networks would take minutes, so only networks with files and those with a role have one.
    """
    frame = front_table(front)
    if EXPERT_DISTANCE.name in front.names:
        errors = {index: front[index].distance_error for index in {*ids, *_roles(front)}}
        if any(error is not None for error in errors.values()):
            frame["expert_distance_error"] = frame.index.map(errors)
    if ids:
        frame["file"] = [network_file(index, "json") if index in ids else "" for index in frame.index]
    return frame


def _roles(front: Front) -> set[int]:
    """Return the ids of the networks that people look at first."""
    roles = [front.knee(), front.recommended().candidate, *(front.best(name) for name in front.names)]
    if (single := front.single) is not None:
        roles.append(single)
    return {role.index for role in roles}


def read_front(folder: str | os.PathLike[str]) -> Front:
    """Return the front in a folder that `write_front` wrote; its networks are read on first use.

    Its `table` is None, because the rows are not in the folder. ``record["columns"]`` summarises them as
    `gomea_bn.data.column_summary.column_summary` does.

    Raises
    ------
    GomeaBnError
        If files are missing, are of another format or version, or do not belong together.
    """
    path = Path(folder)
    finish_exchange(path, FRONT_ENTRIES)
    content = _read_main(path)
    where = named_source(path / MAIN)
    values = field_of(content, "values", list, where)
    sha256 = field_of(content, "sha256", dict, where)
    if unknown := sorted(set(sha256) - {STORE, EARLIER_STORE, EXPERT}):
        raise GomeaBnError(f"{where} names the unknown file '{unknown[0]}'; write the front again.")
    kind, name = (StoredNetworks, STORE) if content["format_version"] > 1 else (_Lines, EARLIER_STORE)
    store = _read_verified(path, name, sha256)
    expert = None
    if EXPERT in sha256:
        _read_verified(path, EXPERT, sha256)
        expert = DiscretizedBayesNet.from_json(path / EXPERT)
    described = field_of(content, "objectives", list, where)
    record = field_of(content, "record", dict, where)
    with prefixed_errors(where):
        objectives = [_objective(entry) for entry in described]
        networks = kind(store, len(values), path / name)
        _check_summaries(record)
        front = Front(objectives, values, networks, expert=expert, record=record)
    if front.values.tolist() != [[float(value) for value in row] for row in values]:
        raise GomeaBnError(
            f"{where}: values must be in the front's order. The file was changed; write the front again."
        )
    if front.run_hash != content.get("run_hash"):
        raise GomeaBnError(
            f"{where}: run_hash does not fit the values, seed and data hash. The file was changed or damaged; write "
            "the front again."
        )
    return front


def read_front_record(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the record in a folder that `write_front` wrote; its networks are not read."""
    path = Path(folder)
    finish_exchange(path, FRONT_ENTRIES)
    record: dict[str, Any] = field_of(_read_main(path), "record", dict, named_source(path / MAIN))
    return record


def front_table(front: Front) -> pd.DataFrame:
    """Return `front.to_frame()` with flags: knee, and single and closest_to_expert if the front has such networks."""
    frame = front.to_frame()
    frame["knee"] = frame.index == front.knee().index
    if (single := front.single) is not None:
        frame["single"] = frame.index == single.index
    if EXPERT_DISTANCE.name in front.names:
        frame["closest_to_expert"] = frame.index == front.closest_to_expert().index
    return frame


def check_front_folder(folder: Path, *, parquet: bool = False) -> None:
    """Raise `GomeaBnError` if a front cannot be written to `folder` without loss; writes nothing.

    Only files of an earlier front may be replaced, which are recognised by its front.json. An exchange of files that a
    killed process had begun is completed first.
    """
    check_name(folder)
    finish_exchange(folder, FRONT_ENTRIES)
    inside = folder / NETWORKS
    if os.path.lexists(inside) and not os.path.isdir(inside):
        raise GomeaBnError(f"Cannot write '{inside}': a file of that name is in the way.")
    existing = sorted(os.listdir(inside)) if os.path.isdir(inside) else []
    replaced = [*FILES, *(f"{NETWORKS}/{name}" for name in existing)]
    check_folder(folder, replaced)
    if others := [name for name in existing if not _OWN_NETWORK.fullmatch(name)]:
        raise GomeaBnError(
            f"Cannot write '{inside}': '{others[0]}' in it is not a network of a front and would be lost; move it, or "
            "choose another folder."
        )
    check_replaceable(folder, replaced, MAIN, FORMAT, "a front")
    if parquet:
        require_pyarrow("Writing Parquet")


def is_front_folder(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds a front."""
    return os.path.isfile(Path(folder) / MAIN)


def network_file(index: int, ending: str) -> str:
    """Return the file of the network with an id, for example "networks/0012.json"."""
    return f"{NETWORKS}/{index:04d}.{ending}"


class _Lines:
    """The networks of a store of format version 1, each built on first use."""

    def __init__(self, packed: bytes, count: int, path: Path) -> None:
        self._packed, self._count, self._path = packed, count, path
        self._lines: list[bytes] = []

    def __call__(self, index: int) -> DiscretizedBayesNet:
        """Return the network of a line, counted from 0."""
        if not self._lines:
            lines = unpacked(self._packed, named_source(self._path)).splitlines()
            if len(lines) != self._count:
                raise GomeaBnError(
                    f"File '{self._path}' must hold {self._count} networks, one per line, got {len(lines)}."
                )
            self._lines, self._packed = lines, b""
        try:
            text = self._lines[index].decode()
            return DiscretizedBayesNet.from_json(text if text[:1] == "{" else "{}")
        except (GomeaBnError, UnicodeDecodeError) as error:
            raise GomeaBnError(f"File '{self._path}', line {index + 1}: {error}") from error


def _main(front: Front, ids: Sequence[int], sha256: dict[str, str]) -> str:
    """Return the text of front.json."""
    record = front.record
    if front.table is not None:
        record |= {"n_rows": front.table.n_rows, "columns": column_summary(front.table)}
        if (predictions := prediction_summary(front)) is not None:
            record["predictions"] = predictions
        if (error := front.error_of_misfit()) is not None:
            best = front.original_index[front.best(MISFIT.name).index]
            record["misfit_error"] = {"id": best, "error": error}
    head = {
        **head_of(FORMAT),
        "run_hash": front.run_hash,
        "objectives": [asdict(objective) for objective in front.objectives],
        "record": record,
        "sha256": sha256,
        "networks_with_files": list(ids),
    }
    return json_text({**head, "values": front.values.tolist()}, ["values"])


def _read_main(folder: Path) -> dict[str, Any]:
    """Return the content of front.json, its format and version checked."""
    path = folder / MAIN
    if not os.path.isdir(folder):
        raise GomeaBnError(f"'{folder}' is not a folder; give the folder of a front.")
    if not os.path.isfile(path):
        raise GomeaBnError(
            f"Folder '{folder}' has no {MAIN}; give a folder that `gomea-bn front --out` wrote."
        )
    content, _ = read_json(path, "a front", FORMAT)
    return content


def _read_verified(folder: Path, name: str, sha256: dict[str, str]) -> bytes:
    """Return the bytes of a file, verified with its digest in front.json."""
    try:
        check_is_file(folder / name)
        content = (folder / name).read_bytes()
    except FileNotFoundError as error:
        raise GomeaBnError(
            f"Folder '{folder}' lacks {name}, which its {MAIN} mentions; copy the whole folder again."
        ) from error
    except OSError as error:
        raise GomeaBnError(f"File '{folder / name}' cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != sha256.get(name):
        raise GomeaBnError(
            f"File '{folder / name}' is not the one that {MAIN} was written with (its SHA-256 differs); copy the "
            "whole folder again."
        )
    return content


def _check_summaries(record: Mapping[str, Any]) -> None:
    """Raise `GomeaBnError` if a record has "columns" or "predictions" that no summary of rows can be."""
    if "predictions" in record and not is_prediction_summary(record["predictions"]):
        raise GomeaBnError(
            "the record's predictions must have a target, a number of rows, losses, and networks with counts of rows "
            f"by probability or groups of rows, got {record['predictions']!r:.100}; write the front again from its "
            "table."
        )
    columns = record.get("columns", [])
    if not isinstance(columns, list):
        raise GomeaBnError(f"the record's columns must be a list, got {type(columns).__name__}.")
    for position, entry in enumerate(columns):
        if not _is_summary(entry):
            raise GomeaBnError(
                f"the record's columns[{position}] must have a name and a histogram (increasing edges, one count for "
                f"each bin) or levels with a count for each, got {entry!r:.100}; write the front again from its table."
            )


def _is_summary(entry: Any) -> bool:
    """Return whether a JSON value describes one column as `column_summary` does."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return False
    if entry.get("kind") == "discrete":
        bins, counts = entry.get("levels"), entry.get("counts")
    elif entry.get("kind") == "continuous" and isinstance(entry.get("histogram"), dict):
        edges, counts = entry["histogram"].get("edges"), entry["histogram"].get("counts")
        largest = sys.float_info.max
        if not isinstance(edges, list) or not all(is_real(e) and abs(e) <= largest for e in edges):
            return False
        bins = list(itertools.pairwise(edges))
        if not bins or not all(low < high for low, high in bins):
            return False
    else:
        return False
    if not isinstance(bins, list) or not isinstance(counts, list) or len(bins) != len(counts):
        return False
    return all(is_integer(count) and count >= 0 for count in counts)


def _objective(entry: Any) -> Objective:
    texts = tuple(Objective.__dataclass_fields__)
    if (
        not isinstance(entry, dict)
        or set(entry) != set(texts)
        or not all(isinstance(text, str) for text in entry.values())
    ):
        raise GomeaBnError(f"an objective must have the texts {', '.join(texts)}, got {entry!r:.100}.")
    return Objective(**entry)


def ids_with_files(front: Front, networks: int | None) -> list[int]:
    """Return the ids of the networks that `write_front` gives files of their own."""
    if networks == 0:
        return []
    if networks is None or networks >= len(front):
        return list(range(len(front)))
    # the front may have been thinned before
    index_of = {original: index for index, original in enumerate(front.original_index)}
    return sorted(index_of[original] for original in front.thin(networks).original_index)


def _write(path: Path, content: bytes) -> str:
    """Write a new file and return its SHA-256."""
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()
