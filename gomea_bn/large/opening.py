"""A table in pieces as a counter of families and a sample of its rows."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.pieces import files_digest, pieces_of
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Setting
from gomea_bn.large.counters.local import LocalCounter
from gomea_bn.large.counters.on_dask import DaskCounter
from gomea_bn.large.counters.plan import FamilyCounter
from gomea_bn.large.survey import sample_of, sampled_rows
from gomea_bn.runtime.cluster import connected, distributed
from gomea_bn.runtime.threads import thread_count
from gomea_bn.texts import listed

__all__ = [
    "SourceFiles",
    "about_sample",
    "check_complete",
    "opened_counter",
    "print_line",
    "sample_frame",
    "silent",
]

# bytes of cells that stay in memory
_MOST_BYTES = 2**30


class SourceFiles:
    """The files of a table in pieces as they are before the first reading; none for frames.

    Parameters
    ----------
    source : path, pattern, Dask dataframe, or sequence of DataFrame
        See `pieces_of`.

    Attributes
    ----------
    digest : str
        See `files_digest`; "" for frames.
    """

    def __init__(self, source: Any) -> None:
        self._source = source if isinstance(source, (str, os.PathLike)) else None
        self.digest = self._present_digest()

    def _present_digest(self) -> str:
        return "" if self._source is None else files_digest(self._source)

    def check_unchanged(self) -> None:
        """Raise if a file was written to, added or removed since the first reading."""
        if self.digest != self._present_digest():
            raise GomeaBnError("Files of the table have changed while they were read.", ["start again"])


@contextmanager
def opened_counter(source: Any, scheduler: str | None, n_jobs: int | None) -> Iterator[FamilyCounter]:
    """Give the counter of a table in pieces: the workers of a cluster, or threads of this process.

    Parameters
    ----------
    source : path, pattern, Dask dataframe, or sequence of DataFrame
        See `pieces_of`. The client of the process counts the rows of a Dask dataframe, if there is one.
    scheduler : str, optional
        Address of a Dask scheduler.
    n_jobs : int, optional
        Number of threads, as of learners.

    Raises
    ------
    GomeaBnError
        For a source that cannot be read, and a scheduler that does not answer.
    """
    pieces = pieces_of(source)
    client = _present_client() if hasattr(source, "dask") and scheduler is None else None
    if scheduler is not None:
        with connected(scheduler) as client:
            yield DaskCounter(client, pieces)
        return
    if client is not None:
        yield DaskCounter(client, pieces)
        return
    with LocalCounter(pieces, thread_count(n_jobs), _MOST_BYTES) as counter:
        yield counter


def sample_frame(counter: FamilyCounter, size: int, seed: int) -> tuple[pd.DataFrame, int, int]:
    """Return a sample of the rows of a table in pieces, and the numbers of its rows and pieces.

    Raises
    ------
    GomeaBnError
        If there are no rows.
    """
    n_rows = counter.sizes()
    if not sum(n_rows):
        raise GomeaBnError("The table has no rows.")
    positions = sampled_rows(n_rows, size, seed)
    return sample_of(counter.survey(positions), positions), sum(n_rows), len(n_rows)


@contextmanager
def about_sample(sample_rows: int, n_rows: int) -> Iterator[None]:
    """Say in errors and warnings that they are about a sample; a sample of all rows needs no such words.

    Warnings are given at the end.

    Parameters
    ----------
    sample_rows, n_rows : int
        Number of rows of the sample and of the table.
    """
    if sample_rows == n_rows:
        yield
        return
    of_sample = f"In a sample of {sample_rows:,} of {n_rows:,} rows: "
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except GomeaBnError as error:
        raise error.within(of_sample) from error
    finally:
        for warning in caught:
            message = warning.message
            if isinstance(message, GomeaBnWarning):
                message = message.within(of_sample)
            warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)


def check_complete(table: Table, n_missing: NDArray[np.int64], of_rows: str = "") -> None:
    """Raise if values of columns are missing, int64 (n_columns,), for `missing="error"`."""
    if n_missing.any():
        texts = [f"{name!r} ({n:,})" for name, n in zip(table.names, n_missing.tolist(), strict=True) if n]
        raise GomeaBnError(
            f"The table has missing values{of_rows} in {listed(texts, 5)}.",
            ["fill them", Setting("missing", "drop"), Setting("missing", "available")],
        )


def print_line(line: str) -> None:
    """Print a line to standard error."""
    print(line, file=sys.stderr, flush=True)


def silent(line: str) -> None:
    """Print nothing."""


def _present_client() -> Any:
    """Return the Dask client of this process, None without any."""
    try:
        return distributed().default_client()
    except (ValueError, GomeaBnError):
        return None
