"""Runs that are killed after checkpoints and resumed, for tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gomea_bn import Checkpoint
from gomea_bn.runtime import checkpoints

T = TypeVar("T")


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the package handles it."""


def killed_and_resumed(
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[Checkpoint], T],
    folder: Path,
    n_files: int,
    most_kills: int = 12,
) -> tuple[T, int]:
    """Return what a run returns that is killed after every `n_files` checkpoints, and how often it was killed."""
    write = checkpoints._File.write
    left, n_kills = n_files, 0

    def killing(self: Any) -> None:
        nonlocal left, n_kills
        write(self)
        left -= 1
        if left == 0 and n_kills < most_kills:
            left, n_kills = n_files, n_kills + 1
            raise Killed

    # a file after every generation, however long writing takes
    monkeypatch.setattr(checkpoints, "_MOST_SHARE", 1.0)
    monkeypatch.setattr(checkpoints._File, "write", killing)
    try:
        while True:
            try:
                return run(Checkpoint(folder, every=0, resume=folder.exists())), n_kills
            except Killed:
                continue
    finally:
        monkeypatch.setattr(checkpoints._File, "write", write)


def without_seconds(history: list[Any]) -> list[Any]:
    """Return the entries of a history as tuples of all fields but the seconds."""
    return [tuple(getattr(entry, name) for name in entry.__slots__ if name != "seconds") for entry in history]
