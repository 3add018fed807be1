"""Runs of a benchmark on several processes, and their records in a file from which a long run continues."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["append_record", "read_records", "run_all"]

T = TypeVar("T")
R = TypeVar("R")


def run_all(function: Callable[[T], R], tasks: Sequence[T], workers: int) -> Iterator[tuple[T, R]]:
    """Yield every task with its result as it ends; one worker is this process itself."""
    if workers == 1:
        for task in tasks:
            yield task, function(task)
        return
    with ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(function, task): task for task in tasks}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON-lines file, none where there is no file; half a last line is cut off."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Append one record to a JSON-lines file, making its folder first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
