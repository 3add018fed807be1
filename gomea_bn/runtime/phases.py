"""The phase of a fit that is running, for the live table that shows it, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def begin_part(running: str, n_pieces: int = 0) -> Callable[[], None]:
    """Show what is running of a phase from now on, and return what to call once for each of its pieces that is done.

    What follows the phase stays. The returned function may be called by other threads.
    """
    table = _table.get()
    if table is None:
        return _show_nothing
    return table.begin_part(running, n_pieces)


def _show_nothing() -> None:
    pass


@contextmanager
def showing(table: LiveTable) -> Iterator[None]:
    """Let a live table show the phases that begin in the block."""
    token = _table.set(table)
    try:
        yield
    finally:
        _table.reset(token)
