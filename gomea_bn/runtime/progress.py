"""The live table of a run: time, populations, best score, and speed of scoring."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from gomea_bn.runtime.limits import Progress

_REFRESH_SECONDS = 0.2


class LiveTable:
    """A callback that redraws one table in place; it shows nothing if the output is not a terminal.

    Parameters
    ----------
    console : rich.console.Console, optional
        Console to draw on; standard error by default, so that standard output holds only results.
    scores : bool
        Whether the search is for networks: its objective is then minus the score, which is shown. Otherwise the table
        shows the objective as the problem gives it.

    Examples
    --------
    >>> from gomea_bn import BayesNetLearner
    >>> with LiveTable() as table:
    ...     learner = BayesNetLearner(callback=table)
    """

    def __init__(self, console: Console | None = None, *, scores: bool = True) -> None:
        self._of_networks = scores
        self.console = console or Console(stderr=True)
        self._live: Live | None = None
        self._drawn = float("-inf")
        self._former = (0.0, 0)
        self._rate = 0.0
        self._last: Progress | None = None

    def __enter__(self) -> LiveTable:
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False, transient=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            # the end of a run may fall between two drawings
            if self._last is not None:
                self._live.update(self.render(self._last), refresh=True)
            self._live.stop()
            self._live = None

    def __call__(self, progress: Progress) -> bool:
        """Redraw the table, at most a few times per second; returns False, so the run goes on."""
        self._last = progress
        if self._live is not None and abs(progress.seconds - self._drawn) >= _REFRESH_SECONDS:
            self._live.update(self.render(progress), refresh=True)
            self._drawn = progress.seconds
        return False

    def render(self, progress: Progress) -> Table:
        """Return the table of one state of the run."""
        scored = progress.statistics.get("families_scored", 0)
        hits = progress.statistics.get("cache_hits", 0)
        seconds, n_requests = self._former
        # another phase of a fit counts from 0 again
        if scored + hits < n_requests or progress.seconds < seconds:
            self._former = (progress.seconds, scored + hits)
        elif progress.seconds - seconds >= _REFRESH_SECONDS:
            self._rate = (scored + hits - n_requests) / (progress.seconds - seconds)
            self._former = (progress.seconds, scored + hits)
        size = f"{progress.archive_size:,}"
        objective = f"{-progress.best if self._of_networks else progress.best:.3f}"
        cells = {
            "seconds": f"{progress.seconds:.1f}",
            "populations": " ".join(map(str, progress.population_sizes)) or "-",
            "generation": str(progress.n_generations),
        }
        if progress.archive_size:
            cells["networks" if self._of_networks else "solutions"] = size
        else:
            cells["best score" if self._of_networks else "objective"] = objective
        if progress.violation > 0:
            cells["violation"] = f"{progress.violation:.3g}"
        cells["evaluations"] = f"{progress.n_eval:,}"
        if self._of_networks:
            cells["families/s"] = f"{self._rate:,.0f}"
            cells["cached"] = f"{hits / max(scored + hits, 1):.1%}"
        table = Table(box=None, pad_edge=False)
        for heading in cells:
            table.add_column(heading, justify="right")
        table.add_row(*cells.values())
        return table
