"""What the commands that search have in common: reading the table, compiling, limits."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import isinf
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from gomea_bn.cli.output import INTERRUPTED, UNUSABLE_DATA, fail, say
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.data.table import Table

__all__ = ["announcement", "as_options", "compile_first", "cores", "finishing", "limit", "read_data"]


def read_data(
    data: Path, *, kinds: Mapping[str, str] | None, missing: str, max_levels: int
) -> tuple[Any, Table]:
    """Return the file as a frame and as a checked table; exits if it cannot be used."""
    from gomea_bn.data.table import read_table
    from gomea_bn.data.table_files import read_frame
    from gomea_bn.errors import nearest

    if missing not in ("error", "drop"):
        raise GomeaBnError(f"--missing must be error or drop, got {missing!r}.")
    try:
        frame = read_frame(data)
    except GomeaBnError as error:
        fail(str(error), UNUSABLE_DATA)
    for name in kinds or ():
        if name not in map(str, frame.columns):
            raise GomeaBnError(f"--kind: no column '{name}'.{nearest(name, map(str, frame.columns))}")
    try:
        return frame, read_table(frame, kinds=kinds, missing=missing, max_levels=max_levels)
    except GomeaBnError as error:
        fail(as_options(str(error)), UNUSABLE_DATA)


def as_options(message: str) -> str:
    """Return advice of `read_table` with the options of the command line for the arguments that it names."""
    message = re.sub(r'pass missing="drop"\.$', "give --missing drop.", message)
    message = re.sub(r", raise max_levels(?=\.$|, or pass kinds)", ", raise --max-levels", message)
    return re.sub(r"pass kinds=\{'(.*)': 'continuous'\}\.$", r"give --kind '\1=continuous'.", message)


def compile_first(compile_kernels: Callable[..., float], tell: Callable[[str], None]) -> float:
    """Return the seconds of compiling or loading kernels, on a thread: Ctrl-C need not wait for the compiler.

    Parameters
    ----------
    compile_kernels : callable
        One of `gomea_bn.learning.warm_up`.
    tell : callable
        Gets one line if there is something to wait for.
    """
    outcome: list[float | BaseException] = []

    def work() -> None:
        try:
            outcome.append(compile_kernels(announce=tell))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        say("Interrupted while compiling; nothing was written.")
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # a plain exit waits for the compiler's thread
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


@contextmanager
def finishing(what: str) -> Iterator[None]:
    """Let the first Ctrl-C wait for what is done inside, and say so; a second one interrupts at once."""
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or former == signal.SIG_IGN:
        yield
        return
    noted = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True
        with suppress(RuntimeError):  # a stream that is being written to cannot be written to from here
            say(f"Interrupted: finishing {what} first; a second Ctrl-C abandons that.")

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def announcement(learner: Any, out: Path | None) -> str:
    """Return what a search says before it starts: its limits, and whether anything will be written."""
    limits = {
        "seconds": learner.max_seconds,
        "evaluations": learner.max_evaluations,
        "generations": learner.max_generations,
    }
    most = ", ".join(f"{value:g} {unit}" for unit, value in limits.items() if value is not None)
    saved = "" if out is not None else " Nothing will be written: no --out given."
    return f"Searching ({f'at most {most}; ' if most else ''}Ctrl-C keeps the best so far).{saved}"


def limit(value: float) -> float | None:
    """Return None for 0 and infinity, which both mean that there is no limit."""
    return None if value == 0 or isinf(value) else value


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
