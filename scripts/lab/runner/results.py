"""The folder of one experiment's rows: one file per finished task, merged when the run ends."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.cluster import distributed
from gomea_bn.runtime.files import check_is_file, write_text
from lab.runner.experiment import Row, Task, plain, task_key

_DESCRIPTION, _ROWS, _TABLE, _TASKS = "description.json", "rows.jsonl", "rows.csv", "tasks"
_ASIDE, _LOCK = "set_aside.jsonl", ".lock"


def _locket() -> Any:
    """Return the module `locket`; raises `GomeaBnError` if it is not installed."""
    try:
        return import_module("locket")
    except ImportError:
        raise GomeaBnError('Experiments need locket: pip install "gomea-bn[experiments]".') from None


class ResultFolder:
    """Rows by the key of their task, safe against being killed at any moment; the folder is made if it is absent.

    The row of a finished task is written whole into a file of its own. `merge` then writes all rows in the order of the
    tasks, as one file of JSON lines and one of comma-separated values.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(
        self, description: Mapping[str, Any], *, resume: bool = False, accept_changes: bool = False
    ) -> None:
        """Raise `GomeaBnError` unless the folder is absent or empty, or holds results that may be continued.

        That is if `resume` is set, and for another description `accept_changes`. The libraries of runs must be
        installed.
        """
        _locket()
        distributed()
        former = self.description()
        if former is None:
            if self.path.exists() and (not self.path.is_dir() or any(map(_is_result, self.path.iterdir()))):
                raise GomeaBnError(
                    f"'{self.path}' is not a folder of results, since it has no {_DESCRIPTION}. Give another folder."
                )
        elif not self.rows():  # stopped before the first row
            return
        elif not resume:
            raise GomeaBnError(
                f"'{self.path}' holds results already; continue them with --resume, or give another --out."
            )
        elif former != plain(description) and not accept_changes:
            changed = sorted(
                name for name in {*former, *description} if former.get(name) != plain(description).get(name)
            )
            differences = "; ".join(
                f"{name} was {former.get(name)!r}, is {description.get(name)!r}" for name in changed
            )
            raise GomeaBnError(
                f"'{self.path}' holds results of another description ({differences}). Give the same options, another "
                "--out, or --accept-changes, which keeps the rows of the tasks of this run and sets the others aside."
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing into the folder, which is made if it is absent, or raise `GomeaBnError`."""
        locket = _locket()
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with locket.lock_file(str(self.path / _LOCK), timeout=0):
                yield
        except locket.LockError:
            raise GomeaBnError(
                f"Another run writes into '{self.path}'; wait for its end, or give another --out."
            ) from None

    def open(
        self, description: Mapping[str, Any], *, resume: bool = False, accept_changes: bool = False
    ) -> None:
        """Make the folder after `check`, whose errors it raises."""
        self.check(description, resume=resume, accept_changes=accept_changes)
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(self.path / _DESCRIPTION, json.dumps(plain(description), indent=1) + "\n")
        (self.path / _TASKS).mkdir(exist_ok=True)

    def description(self) -> dict[str, Any] | None:
        """Return the description of the folder, or None if it has none."""
        path = self.path / _DESCRIPTION
        if not path.is_file():
            return None
        description = _parsed(path, path.read_bytes())
        if not isinstance(description, dict):
            raise GomeaBnError(f"'{path}' is not a description; move the folder away and run again.")
        return description

    def add(self, row: Row) -> None:
        """Write one row; it replaces an earlier row of the same task."""
        write_text(self.path / _TASKS / f"{row['key']}.json", json.dumps(row, allow_nan=False) + "\n")

    def rows(self) -> dict[str, Row]:
        """Return all rows by key, including those that are not merged."""
        rows_by_key: dict[str, Row] = {}
        for merged in (self.path / _ASIDE, self.path / _ROWS):
            lines = merged.read_bytes().split(b"\n") if merged.is_file() else []
            for line_number, line in enumerate(lines, 1):
                if line:
                    row = _parsed_row(merged, line, line_number)
                    rows_by_key[row["key"]] = row
        folder = self.path / _TASKS
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            check_is_file(path)
            row = _parsed_row(path, path.read_bytes())
            rows_by_key[row["key"]] = row
        return rows_by_key

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks without a measured row, which were not run or failed."""
        rows = self.rows()
        return [task for task in tasks if (key := task_key(task)) not in rows or failed(rows[key])]

    def merge(self, tasks: Sequence[Task]) -> list[Row]:
        """Return the rows of the given tasks in their order, after writing them to one file and a table.

        Rows of other tasks are set aside in a file of their own, which `rows` reads too.
        """
        folder = self.path / _TASKS
        single_files = list(folder.iterdir()) if folder.is_dir() else []
        others = self.rows()
        rows = [others.pop(key) for key in map(task_key, tasks) if key in others]
        aside = self.path / _ASIDE
        # all rows are in one file or the other at any moment
        if others:
            write_text(aside, _lines([*others.values(), *rows]))
        write_text(self.path / _ROWS, _lines(rows))
        if others:
            write_text(aside, _lines(others.values()))
        else:
            aside.unlink(missing_ok=True)
        write_text(self.path / _TABLE, _table(rows))
        for path in single_files:
            if path.suffix == ".json" or not _is_result(path):
                path.unlink(missing_ok=True)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        return rows


def _is_result(path: Path) -> bool:
    """Return whether a file is neither a lock nor the part of a file that a killed process left."""
    return path.name != _LOCK and not (path.name.startswith(".") and path.name.endswith(".part"))


def failed(row: Row) -> bool:
    """Return whether the task of a row failed."""
    return "error" in row


def _lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def _parsed_row(path: Path, text: bytes, line: int | None = None) -> Row:
    """Return the row in a JSON text."""
    row = _parsed(path, text, line)
    if not isinstance(row, dict) or not {"key", "task"} <= set(row):
        raise _damaged(path, line, "it is not a row")
    return row


def _parsed(path: Path, text: bytes, line: int | None = None) -> Any:
    """Return the value of a JSON text; `line` is its number if it is one line of a file."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise _damaged(path, line, str(error)) from error


def _damaged(path: Path, line: int | None, why: str) -> GomeaBnError:
    """Return the error for a damaged file, with what to do about it."""
    where, advice = f"'{path}'", "delete it, and its tasks run again"
    if line is not None:
        where, advice = f"Line {line} of {where}", "delete that line, and its task runs again"
    elif path.name == _DESCRIPTION:
        advice = "move the folder away and run again"
    return GomeaBnError(f"{where} is damaged ({why}); {advice}.")


def _table(rows: Sequence[Row]) -> str:
    """Return rows as comma-separated values, nested results with dotted names."""
    flat = [
        {
            "key": row["key"],
            **_flat(row["task"]),
            **_flat(row.get("measured", {})),
            **_flat(row.get("seconds", {}), "seconds"),
            "error": row.get("error", ""),
        }
        for row in rows
    ]
    names = list(dict.fromkeys(name for line in flat for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        dotted = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict):
            flat.update(_flat(value, dotted))
        else:
            flat[dotted] = value
    return flat
