"""The folder of a front: a table of it, all its networks, where it comes from, and files of those to look at."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import GomeaBnError, check_integer, is_integer, is_real
from gomea_bn.runtime.atomic_files import check_folder
from gomea_bn.runtime.json_files import field_of, load_json, read_json
from gomea_bn.runtime.text_files import file_text, named_source, prefixed_errors

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.front.front import Front, Objective
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = [
    "check_front_folder",
    "front_table",
    "is_front_folder",
    "network_file",
    "read_front",
    "require_pyarrow",
    "write_front",
]

FORMAT = "gomea-bn front"
FORMAT_VERSION = 1
MAIN, TABLE, PARQUET, STORE = "front.json", "front.csv", "front.parquet", "networks.jsonl.gz"
EXPERT, NETWORKS = "expert_completed.json", "networks"
FILES = (MAIN, TABLE, PARQUET, STORE, EXPERT)
_OWN_NETWORK = re.compile(r"[0-9]{4,}\.(json|bif|dot)")


def write_front(
    folder: str | os.PathLike[str], front: Front, *, networks: int | None = 200, parquet: bool = False
) -> list[Path]:
    """Return the paths of a front's files, after writing all of them; an earlier front there is replaced.

    Written are front.csv (one row per network), front.json (objectives and values to the last bit, the
    record, `run_hash`), networks.jsonl.gz (every network, one JSON text per line, in the front's order),
    expert_completed.json if there is an expert (`front.expert`: the expert's network completed over the
    table's columns, so more than the expert said), and for the networks that `front.thin` keeps
    networks/0012.json, .bif and .dot, named by their ids. The rows of the table are not written: the record's
    "columns" holds the histogram or the level counts of every column, "n_rows" their number.
    Everything is completed beside its place first, so that a full disk or an interrupt leaves an earlier
    front as it was. Other files in the folder stay.

    Parameters
    ----------
    folder : path
        Made if absent.
    front : Front
        All its networks are built.
    networks : int or None
        How many networks get files of their own: 0 none, None all.
    parquet : bool
        Whether to write front.parquet too, which needs pyarrow.

    Raises
    ------
    GomeaBnError
        If the folder cannot be written, files there are in the way that are no front's, the record's "columns" are
        no summary, or pyarrow is missing.
    """
    place = Path(folder)
    check_front_folder(place, parquet=parquet)
    _check_columns(front.record)
    if networks is not None and (not is_integer(networks) or networks < 0):
        raise GomeaBnError(f"networks must be an integer of at least 0, or None for all, got {networks!r}.")
    ids = _ids_with_files(front, networks)
    frame = front_table(front)
    with_files = set(ids)
    frame["file"] = [network_file(index, "json") if index in with_files else "" for index in frame.index]
    with _replacing(place) as beside:
        texts = [candidate.network.to_json() for candidate in front]
        sha256 = {STORE: _write(beside / STORE, _store(texts))}
        if front.expert is not None:
            sha256[EXPERT] = _write(beside / EXPERT, front.expert.to_json().encode())
        _write(beside / TABLE, frame.to_csv(lineterminator="\n").encode())
        if parquet:
            frame.to_parquet(beside / PARQUET)
        if ids:
            (beside / NETWORKS).mkdir()
        for index in ids:
            network = front[index].network
            for ending, text in (
                ("json", texts[index]),
                ("bif", network.to_bif()),
                ("dot", network.to_dot()),
            ):
                _write(beside / network_file(index, ending), text.encode())
        _write(beside / MAIN, _main(front, ids, sha256).encode())
        written = [name for name in (MAIN, TABLE, PARQUET, STORE, EXPERT) if (beside / name).exists()]
    return [place / name for name in written] + [
        place / network_file(index, ending) for index in ids for ending in ("json", "bif", "dot")
    ]


def read_front(folder: str | os.PathLike[str]) -> Front:
    """Return the front of a folder that `write_front` wrote; its networks are read when first asked for.

    Its `table` is None, since the rows are not in the folder; ``record["columns"]`` summarises them as
    `gomea_bn.data.column_summary.column_summary` does.

    Raises
    ------
    GomeaBnError
        If files are missing, are of another format or version, or do not belong together.
    """
    from gomea_bn.front.front import Front
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    path = Path(folder)
    content = _read_main(path)
    where = named_source(path / MAIN)
    values = field_of(content, "values", list, where)
    sha256 = field_of(content, "sha256", dict, where)
    if unknown := sorted(set(sha256) - {STORE, EXPERT}):
        raise GomeaBnError(f"{where} names the unknown file '{unknown[0]}'; write the front again.")
    store = _read_verified(path, STORE, sha256)
    expert = None
    if EXPERT in sha256:
        _read_verified(path, EXPERT, sha256)
        expert = DiscretizedBayesNet.from_json(path / EXPERT)
    described = field_of(content, "objectives", list, where)
    record = field_of(content, "record", dict, where)
    with prefixed_errors(where):
        objectives = [_objective(entry) for entry in described]
        networks = _StoredNetworks(store, len(values), path / STORE)
        _check_columns(record)
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


def front_table(front: Front) -> pd.DataFrame:
    """Return `front.to_frame()` with the flags knee and, where that is an objective, closest_to_expert."""
    from gomea_bn.front.front import EXPERT_DISTANCE

    frame = front.to_frame()
    frame["knee"] = frame.index == front.knee().index
    if EXPERT_DISTANCE.name in front.names:
        frame["closest_to_expert"] = frame.index == front.closest_to_expert().index
    return frame


def check_front_folder(folder: Path, *, parquet: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raise `GomeaBnError` if a front could not be written to `folder` without loss; creates nothing.

    Files of an earlier front are replaced. Without its front.json they may be anyone's, and are not; nor are
    `inputs`, the files that the front comes from.
    """
    inside = folder / NETWORKS
    if os.path.lexists(inside) and not inside.is_dir():
        raise GomeaBnError(f"Cannot write '{inside}': a file of that name is in the way.")
    held = sorted(os.listdir(inside)) if inside.is_dir() else []
    replaced = [*FILES, *(f"{NETWORKS}/{name}" for name in held)]
    check_folder(folder, replaced, inputs=inputs)
    if others := [name for name in held if not _OWN_NETWORK.fullmatch(name)]:
        raise GomeaBnError(
            f"Cannot write '{inside}': it holds '{others[0]}', which is no network of a front and would be lost; "
            "move it, or choose another folder."
        )
    there = [name for name in replaced if os.path.lexists(folder / name)]
    if there and not _is_own(folder / MAIN):
        raise GomeaBnError(
            f"Cannot write '{folder / there[0]}': the file there is no front's, for no {MAIN} of a front is beside it, "
            "and would be lost; choose another folder."
        )
    if parquet:
        require_pyarrow()


def require_pyarrow() -> None:
    """Raise `GomeaBnError` if pyarrow, which writes Parquet files, is not installed."""
    if find_spec("pyarrow") is None:
        raise GomeaBnError(
            "Writing Parquet needs pyarrow: pip install 'gomea-bn[parquet]', or write CSV only."
        )


def is_front_folder(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds a front."""
    return (Path(folder) / MAIN).is_file()


def network_file(index: int, ending: str) -> str:
    """Return where the network of an id has its file, for example "networks/0012.json"."""
    return f"{NETWORKS}/{index:04d}.{ending}"


class _StoredNetworks:
    """The networks of a store, each made when it is asked for."""

    def __init__(self, packed: bytes, count: int, path: Path) -> None:
        self._packed = packed
        self._count = count
        self._path = path
        self._lines: list[bytes] = []

    def __call__(self, index: int) -> DiscretizedBayesNet:
        """Return the network of a line, counted from 0."""
        from gomea_bn.network.bayes_net import DiscretizedBayesNet

        if not self._lines:
            self._lines = self._unpacked()
            self._packed = b""
        try:
            text = self._lines[index].decode()
            return DiscretizedBayesNet.from_json(text if text[:1] == "{" else "{}")
        except (GomeaBnError, UnicodeDecodeError) as error:
            raise GomeaBnError(f"File '{self._path}', line {index + 1}: {error}") from error

    def _unpacked(self) -> list[bytes]:
        """Return one JSON text per network."""
        try:
            lines = gzip.decompress(self._packed).splitlines()
        except (OSError, EOFError, zlib.error) as error:
            raise GomeaBnError(f"File '{self._path}' is not compressed by gzip: {error}.") from error
        if len(lines) != self._count:
            raise GomeaBnError(
                f"File '{self._path}' must hold {self._count} networks, one per line, got {len(lines)}."
            )
        return lines


def _store(texts: Sequence[str]) -> bytes:
    """Return networks' JSON texts, one per line, compressed; the same front gives the same bytes."""
    # in JSON text a line end can only stand between tokens
    lines = "".join(text.replace("\n", " ") + "\n" for text in texts)
    return gzip.compress(lines.encode(), compresslevel=4, mtime=0)  # 6 takes twice as long for a tenth less


def _main(front: Front, ids: Sequence[int], sha256: dict[str, str]) -> str:
    """Return the text of front.json."""
    from gomea_bn.data.column_summary import column_summary

    record = front.record
    if front.table is not None:
        record |= {"n_rows": front.table.n_rows, "columns": column_summary(front.table)}
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "run_hash": front.run_hash,
        "objectives": [asdict(objective) for objective in front.objectives],
        "record": record,
        "sha256": sha256,
        "networks_with_files": list(ids),
    }
    fields = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in head.items()]
    rows = ",\n".join(f"    {json.dumps(row, allow_nan=False)}" for row in front.values.tolist())
    return "{\n" + ",\n".join(fields) + f',\n  "values": [\n{rows}\n  ]\n}}\n'


def _read_main(folder: Path) -> dict[str, Any]:
    """Return the content of front.json, its format and version checked."""
    path = folder / MAIN
    if not folder.is_dir():
        raise GomeaBnError(f"'{folder}' is not a folder; give the folder of a front.")
    if not path.is_file():
        raise GomeaBnError(
            f"Folder '{folder}' holds no {MAIN}; a front's folder is written by `gomea-bn front --out`."
        )
    content, _ = read_json(path, "a front", FORMAT, FORMAT_VERSION)
    return content


def _read_verified(folder: Path, name: str, sha256: dict[str, str]) -> bytes:
    """Return the bytes of a file that front.json names with its digest."""
    try:
        content = (folder / name).read_bytes()
    except FileNotFoundError as error:
        raise GomeaBnError(
            f"Folder '{folder}' lacks {name}, which its {MAIN} names; copy the whole folder again."
        ) from error
    except OSError as error:
        raise GomeaBnError(f"File '{folder / name}' cannot be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != sha256.get(name):
        raise GomeaBnError(
            f"File '{folder / name}' is not the one that {MAIN} was written with (its SHA-256 differs); copy the "
            "whole folder again."
        )
    return content


def _is_own(path: Path) -> bool:
    """Return whether a file is the front.json of a front, of whatever version."""
    try:
        content = load_json(file_text(path, "a front"), str(path))
    except GomeaBnError:
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def _check_columns(record: Mapping[str, Any]) -> None:
    """Raise `GomeaBnError` unless a record's "columns", if there, are what `column_summary` returns."""
    columns = record.get("columns", [])
    if not isinstance(columns, list):
        raise GomeaBnError(f"the record's columns must be a list, got {type(columns).__name__}.")
    for place, entry in enumerate(columns):
        if not _is_summary(entry):
            raise GomeaBnError(
                f"the record's columns[{place}] must have a name and a histogram (increasing edges, one count for "
                f"each bin) or levels with a count for each, got {entry!r:.100}; write the front again from its table."
            )


def _is_summary(entry: Any) -> bool:
    """Return whether a value from JSON describes one column as `column_summary` does."""
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
    from gomea_bn.front.front import Objective

    wanted = tuple(Objective.__dataclass_fields__)
    if (
        not isinstance(entry, dict)
        or set(entry) != set(wanted)
        or not all(isinstance(text, str) for text in entry.values())
    ):
        raise GomeaBnError(f"an objective must have the texts {', '.join(wanted)}, got {entry!r:.100}.")
    return Objective(**entry)


def _ids_with_files(front: Front, networks: int | None) -> list[int]:
    if networks == 0:
        return []
    if networks is None or networks >= len(front):
        return list(range(len(front)))
    own = {original: index for index, original in enumerate(front.original_index)}  # it may be thinned itself
    return sorted(own[original] for original in front.thin(networks).original_index)


def _write(path: Path, content: bytes) -> str:
    """Write a new file and return its SHA-256."""
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """Give a new folder to fill; then its entries take the places of an earlier front's, all or none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
        new, old = beside / "new", beside / "old"
        try:
            new.mkdir()
            old.mkdir()
            yield new
            _exchange(folder, new, old)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(new, ignore_errors=True)
            for emptied in (old, beside):  # what could not be moved back stays
                with suppress(OSError):
                    emptied.rmdir()
    except OSError as error:
        raise GomeaBnError(f"Cannot write to folder '{folder}': {error.strerror or error}.") from error


def _exchange(folder: Path, new: Path, old: Path) -> None:
    """Move what a front has in `folder` to `old`, then all of `new` into `folder`; or leave all as it was."""
    moves: list[tuple[Path, Path]] = []
    try:
        for name in (*FILES, NETWORKS):
            if os.path.lexists(folder / name):
                moves.append((folder / name, old / name))
                os.rename(*moves[-1])
        for name in sorted(os.listdir(new)):
            moves.append((new / name, folder / name))
            os.rename(*moves[-1])
    except BaseException:
        for source, target in reversed(moves):
            if os.path.lexists(target) and not os.path.lexists(source):
                os.rename(target, source)
        raise
