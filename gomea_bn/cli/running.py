"""Steps that several commands share: reading the table, compiling, limits, interrupts."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.cli.output import INTERRUPTED, UNUSABLE_DATA, WRONG_USE, fail, failing, say
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Option, nearest, spelling
from gomea_bn.runtime.interrupts import signal_exit_code
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.certainty import GraphTest
    from gomea_bn.data.files.reading import Loaded, ReadingOptions
    from gomea_bn.data.table import Table
    from gomea_bn.expert.expert_network import ExpertNetwork
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.problems.knowledge import ExpertKnowledge


def read_data(
    data: Path,
    *,
    kinds: Mapping[str, str],
    missing: str,
    max_levels: int,
    reading: ReadingOptions,
    weight: str | None = None,
    groups: str | None = None,
    target: str | None = None,
    duration: str | None = None,
    horizon: float | None = None,
    keeps_times: bool = False,
) -> Table:
    """Return the checked table of a file; exits with code 3 if it cannot be used, and prints its warnings.

    The column `weight` has the weight of every row, and `groups` names its group. With a `duration` the target is the
    event within the horizon, unless the table `keeps_times` for who asks for the event.
    """
    from gomea_bn.data.censoring import with_outcome
    from gomea_bn.data.sources import treatment_in_reading
    from gomea_bn.data.table import table_of
    from gomea_bn.data.weights import weighted_table

    deciding = {"--weight": weight, "--group": groups, "--duration": duration}
    if len(given := [option for option, name in deciding.items() if name is not None]) > 1:
        raise GomeaBnError(f"{' and '.join(given)} both decide how rows count; leave one of them out.")
    loaded = loaded_data(data, reading, weight, groups, duration)
    names = list(map(str, loaded.frame.columns))
    for name in kinds:
        if name == weight:
            raise GomeaBnError(f"--kind: column '{name}' has the weights of rows (--weight), and no kind.")
        if name not in names:
            raise GomeaBnError(f"--kind: unknown column '{name}'.{nearest(name, names)}")
    with failing(UNUSABLE_DATA), printed_warnings():
        table = table_of(loaded, kinds=kinds, missing=treatment_in_reading(missing), max_levels=max_levels)
        if loaded.weights is not None:
            weights = loaded.weights.to_numpy(copy=True)
            # dropped rows may have none
            weights[list(table.dropped_rows)] = 0
            table = weighted_table(table, weights)
    if keeps_times:
        return table
    with failing(UNUSABLE_DATA, of_options=WRONG_USE):
        return with_outcome(table, target, duration, horizon)


def loaded_data(
    data: Path | pd.DataFrame,
    reading: ReadingOptions,
    weight: str | None = None,
    groups: str | None = None,
    duration: str | None = None,
) -> Loaded:
    """Return the rows of a file or frame; exits with 3 if they cannot be used, and with 2 if an option does not fit."""
    from gomea_bn.data.table import load

    with failing(UNUSABLE_DATA, of_options=WRONG_USE):
        return load(data, reading, weight, groups, duration)


def loaded_rows(data: Path, reading: ReadingOptions) -> pd.DataFrame:
    """Return the rows of a file for a saved network, and print what was detected; exits as `loaded_data`."""
    return loaded_for_network(data, reading).frame


def loaded_for_network(data: Path, reading: ReadingOptions) -> Loaded:
    """Return what `loaded_rows` does, with what a file needs that is written like it."""
    from gomea_bn.data.lags import rows_with_earlier

    loaded = loaded_data(_in_memory(data, reading), replace(reading, lags=None))
    for note in (*loaded.notes, *loaded.warnings):
        say(note.text(spelling()))
    frame = loaded.frame
    # a file may have the columns of earlier rows itself
    if reading.lags is not None and reading.lags["time"] in map(str, frame.columns):
        n_rows = len(frame)
        with failing(UNUSABLE_DATA, of_options=WRONG_USE), printed_warnings():
            frame, limited = rows_with_earlier(frame, loaded.limited, **reading.lags)
        loaded = replace(loaded, limited=limited)
        say(
            f"{counted(len(frame), 'row')} of {n_rows:,} have enough earlier ones; they stand in the order of "
            f"{listed([repr(name) for name in key_columns(reading, frame)])}."
        )
    return replace(loaded, frame=frame)


def _in_memory(data: Path, reading: ReadingOptions) -> Path | pd.DataFrame:
    """Return the rows of a folder or pattern of files, below one another; a file is returned as it is."""
    from gomea_bn.data.files.database_names import database_of
    from gomea_bn.data.files.reading import FILE_OPTIONS
    from gomea_bn.data.sources import is_in_pieces

    # a database is read as a file
    if database_of(data) is not None or not is_in_pieces(data):
        return data
    import pandas as pd

    from gomea_bn.data.pieces import pieces_of

    with failing(WRONG_USE):
        refuse_in_pieces([name for name in reading.given if name in FILE_OPTIONS], data)
    with failing(UNUSABLE_DATA):
        return pd.concat([frame for piece in pieces_of(data) for frame in piece.frames()], ignore_index=True)


def key_columns(reading: ReadingOptions, frame: pd.DataFrame) -> list[str]:
    """Return the columns that say which row is which where rows have been made of others: group and time of lags."""
    lags = reading.lags or {}
    names = [str(lags[key]) for key in ("group", "time") if key in lags]
    return [name for name in names if name in map(str, frame.columns)]


def with_lags(
    reading: ReadingOptions, time: str | None, group: str | None, lags: int | None
) -> tuple[ReadingOptions, str | None]:
    """Return the options for reading with lags, and the column of groups; with lags the group is one of theirs."""
    if lags is None:
        if time is not None:
            raise GomeaBnError(
                [
                    Option("time"),
                    " orders the rows for ",
                    Option("lags"),
                    ", which is missing. Times until an event are given by ",
                    Option("duration"),
                    ".",
                ]
            )
        return reading, group
    if time is None:
        raise GomeaBnError([Option("lags"), " needs ", Option("time", "COLUMN"), ", which orders the rows."])
    of_group = {} if group is None else {"group": group}
    return replace(reading, lags={"time": time, **of_group, "lags": lags}), None


def with_tiers(knowledge: ExpertKnowledge, table: Table) -> ExpertKnowledge:
    """Return the rules on edges with the order of time of a table with lags; those of other tables stay."""
    if not (tiers := table.tiers):
        return knowledge
    if knowledge.temporal_order:
        raise GomeaBnError([Option("temporal_order"), ": the lags of the table have an order of their own."])
    return replace(knowledge, temporal_order=tiers)


def tested_graph(network: DiscretizedBayesNet | ExpertNetwork, rows: pd.DataFrame | None) -> GraphTest:
    """Return the test of a graph on rows, the same at each call; exits with 2 without rows, or with 3."""
    from gomea_bn.certainty import test_graph

    if rows is None:
        fail("--test-graph needs the rows: give them with --data.", WRONG_USE)
    with answering(data_may_be_wrong=True):
        return test_graph(network, rows)


@contextmanager
def printed_warnings(names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Print warnings for the user as lines of the command, without the place in the code that raised them.

    Options in them are spelled by `gomea_bn.errors.spelling`, which describes `names`.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
    finally:
        # an error follows what was warned of before; inside `catch_warnings` this would lengthen the list it walks
        for warning in caught:
            message = warning.message
            if not issubclass(warning.category, UserWarning):
                warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)
            elif isinstance(message, GomeaBnWarning):
                say(f"Warning: {message.text(spelling(names))}")
            else:
                say(f"Warning: {message}")


@contextmanager
def answering(interrupted: str = "Interrupted.", *, data_may_be_wrong: bool = False) -> Iterator[None]:
    """Print warnings, and turn errors and Ctrl-C into an exit: code 2, or 130 with the given message.

    With `data_may_be_wrong` errors that are not about an option have code 3.
    """
    code = UNUSABLE_DATA if data_may_be_wrong else WRONG_USE
    with failing(code, of_options=WRONG_USE, interrupted=interrupted), printed_warnings():
        yield


# new objects between two looks; modules are made of many objects, which all stay
_OBJECTS_BETWEEN_LOOKS = 100_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely during the block: a command imports for a second, a sixth of which was such looks.

    A process that never looks, with a threshold of 0, goes on not to look.
    """
    usual = gc.get_threshold()
    gc.set_threshold(usual[0] and max(_OBJECTS_BETWEEN_LOOKS, usual[0]), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def compile_first(compile_kernels: Callable[..., float], tell: Callable[[str], None]) -> float:
    """Compile or load kernels on another thread, so that Ctrl-C does not wait for the compiler; return the seconds.

    `compile_kernels` is a function of `gomea_bn.learning.warm_up`; `tell` gets one line if there is something to
    compile.
    """
    outcome: list[float | BaseException] = []

    def work() -> None:
        try:
            outcome.append(compile_kernels(announce=tell))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    try:
        with printed_warnings():
            thread.start()
            thread.join()
    except KeyboardInterrupt:
        say("Interrupted while compiling; nothing was written.")
        sys.stderr.flush()
        # a plain exit waits for the thread of the compiler
        os._exit(signal_exit_code() or INTERRUPTED)
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def announcement(learner: Any, out: Path | None) -> str:
    """Return the line before a search: what ends it, and a warning if no file will be written."""
    limits = {
        "seconds": learner.max_seconds,
        "evaluations": learner.max_evaluations,
        "generations": learner.max_generations,
    }
    most = ", ".join(f"{value:g} {unit}" for unit, value in limits.items() if value is not None)
    saved = "" if out is not None else " Nothing will be written: no --out given."
    end = f"at most {most}; " if most else "until more work finds nothing better; "
    return f"Searching ({end}once the columns are prepared, Ctrl-C keeps the best so far).{saved}"


def limit(value: float) -> float | None:
    """Return the limit that an option stands for: None, no limit, for 0 and infinity."""
    return None if value == 0 or isinf(value) else value


def refuse_in_pieces(given: Sequence[str], data: Path) -> None:
    """Raise if options for reading a table in one file are given for one in pieces, whose columns have types."""
    if not given:
        return
    from gomea_bn.data.pieces import pieces_in_words

    raise GomeaBnError(
        [
            Option(given[0]),
            f" does not apply to {pieces_in_words(data)}, whose columns have names and types.",
        ],
        [
            "store the columns with the types that you want, for example by DataFrame.to_parquet",
            "give one file",
        ],
    )
