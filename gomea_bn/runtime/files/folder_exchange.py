"""Replacing several files of a folder together: all or none, also if the process is killed.

New entries are completed in a temporary folder next to the old ones. One rename then decides that they are valid. A
process that is killed before it leaves the old entries; after it, whoever reads or writes the folder next completes
the exchange.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from gomea_bn.runtime.files.atomic_files import is_left_over, process_mark
from gomea_bn.runtime.files.text_files import check_is_file

_PREFIX = ".part-"
# folders inside the temporary one: new entries before and after they are valid, and what they replace
_NEW, _READY, _OLD = "new", "ready", "old"
_PLAN = "plan.json"
_MOST_BYTES = 100_000


@contextmanager
def replaced_entries(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end of the block its entries replace those of another folder.

    The folder is made if absent. `names` are those of all entries that belong together: those that the block did not
    make are removed, and other entries stay. After an error the entries are as they were.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        finish_exchange(folder, names)
        temporary = folder / f"{_PREFIX}{process_mark()}"
        (temporary / _NEW).mkdir(parents=True)
        try:
            yield temporary / _NEW
            plan = {"names": list(names), "new": sorted(os.listdir(temporary / _NEW))}
            (temporary / _PLAN).write_text(json.dumps(plan), encoding="utf-8")
            os.rename(temporary / _NEW, temporary / _READY)
            _exchange(folder, temporary, plan["names"], plan["new"])
            shutil.rmtree(temporary, ignore_errors=True)
        finally:
            shutil.rmtree(temporary / _NEW, ignore_errors=True)
            (temporary / _PLAN).unlink(missing_ok=True)
            # entries that could not be moved back stay
            for emptied in (temporary / _OLD, temporary):
                with suppress(OSError):
                    emptied.rmdir()
    except OSError as error:
        raise GomeaBnError(f"Cannot write to folder '{folder}': {error.strerror or error}.") from error


def finish_exchange(folder: Path, names: Sequence[str]) -> None:
    """Complete the exchange of entries that a killed process had begun, and remove what such processes left.

    Both are said by a `GomeaBnWarning`. Leftovers of processes that may still run stay. Only entries of some names may
    be moved: a folder can come from a stranger, so its own plan does not decide that, and an exchange of other entries
    stays as it is.
    """
    for temporary in sorted(folder.glob(f"{_PREFIX}*")):
        if not _is_own_folder(temporary) or not is_left_over(temporary.name.removeprefix(_PREFIX)):
            continue
        if not _is_own_folder(temporary / _READY):
            shutil.rmtree(temporary, ignore_errors=True)
            _warn(f"Removed unfinished files of a process that was killed from folder '{folder}'.")
            continue
        try:
            plan = _plan(temporary)
            if not {*plan["names"], *plan["new"]} <= set(names):
                continue
            _move(folder, temporary, plan["names"], plan["new"], [])
        except (OSError, ValueError, RecursionError) as error:
            raise GomeaBnError(
                f"A process was killed while it replaced the files of folder '{folder}', and this cannot be completed: "
                f"{error}. The new files are in '{temporary / _READY}', the old ones in '{temporary / _OLD}'."
            ) from error
        shutil.rmtree(temporary, ignore_errors=True)
        _warn(f"Completed the exchange of files in folder '{folder}' that a killed process had begun.")


def _exchange(folder: Path, temporary: Path, names: Sequence[str], new: Sequence[str]) -> None:
    """Move valid entries into a folder as `_move` does; undo all moves after an error."""
    moves: list[tuple[Path, Path]] = []
    try:
        _move(folder, temporary, names, new, moves)
    except BaseException:
        for source, target in reversed(moves):
            if os.path.lexists(target) and not os.path.lexists(source):
                os.rename(target, source)
        # the entries are no longer valid, so that nobody completes the exchange
        os.rename(temporary / _READY, temporary / _NEW)
        raise


def _move(
    folder: Path, temporary: Path, names: Sequence[str], new: Sequence[str], moves: list[tuple[Path, Path]]
) -> None:
    """Move entries of a folder to `old` and the valid ones into the folder, and note every move before it is made.

    Entries that another process moved before it was killed stay where they are.
    """
    ready, old = temporary / _READY, temporary / _OLD
    old.mkdir(exist_ok=True)
    for name in sorted({*names, *new}):
        is_waiting = os.path.lexists(ready / name)
        if os.path.lexists(folder / name) and (is_waiting or name not in new):
            moves.append((folder / name, old / name))
            os.rename(*moves[-1])
        if is_waiting:
            moves.append((ready / name, folder / name))
            os.rename(*moves[-1])


def _plan(temporary: Path) -> dict[str, list[str]]:
    """Return the plan of an exchange; raises `ValueError` if it is damaged."""
    check_is_file(temporary / _PLAN)
    with open(temporary / _PLAN, "rb") as file:
        plan = json.loads(file.read(_MOST_BYTES))
    if not isinstance(plan, dict) or set(plan) != {"names", "new"}:
        raise ValueError("its plan is damaged")
    for entries in plan.values():
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise ValueError("its plan is damaged")
    if (temporary / _OLD).is_symlink():
        raise ValueError(f"'{_OLD}' is a link")
    return plan


def _is_own_folder(path: Path) -> bool:
    """Return whether a path is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _warn(text: str) -> None:
    warnings.warn(GomeaBnWarning(text), stacklevel=4)
