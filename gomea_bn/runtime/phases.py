"""The phase of a fit that is running, for the live table that shows it, if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gomea_bn.runtime.progress import LiveTable

DENSITIES, COMPARISON = "the densities", "the comparison with the rows"
"""What follows a search, in words; the name of the search itself is that of `fit_clock`."""

_table: ContextVar[LiveTable | None] = ContextVar("table", default=None)


def present_table() -> LiveTable | None:
    """Return the live table of the fit that is running, None if nothing is shown."""
    return _table.get()


def begin_phase(running: str, *then: str) -> None:
    """Show what is running from now on, and what follows it, if anything is shown."""
    table = _table.get()
    if table is not None:
        table.begin(running, *then)


@contextmanager
def showing(table: LiveTable) -> Iterator[None]:
    """Let a live table show the phases that begin in the block."""
    token = _table.set(table)
    try:
        yield
    finally:
        _table.reset(token)
