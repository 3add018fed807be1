"""The live table of a run: what is running and what has been reached in words, and the counts of the search."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isclose
from time import perf_counter
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gomea_bn.runtime.fit_clock import SEARCH
from gomea_bn.runtime.limits import ROUNDING, Limits, Progress
from gomea_bn.texts import counted

_REFRESH_SECONDS = 0.2
# seconds without a better solution that are worth words
_LONG = 1.0


class LiveTable:
    """A callback that redraws one table in place; it shows nothing if the output is not a terminal.

    A line below the table says what is running, what has been reached, and what remains. `begin` tells of a phase that
    has no progress of its own.

    Parameters
    ----------
    console : rich.console.Console, optional
        Console to draw on; standard error by default, so that standard output holds only results.
    limits : Limits, optional
        Limits of a search of any problem, whose objective is shown as the problem gives it, with the seconds until a
        limit. Without them the search is for networks, and the score is shown.

    Examples
    --------
    >>> from gomea_bn import BayesNetLearner
    >>> with LiveTable() as table:
    ...     learner = BayesNetLearner(callback=table)
    """

    def __init__(self, console: Console | None = None, *, limits: Limits | None = None) -> None:
        self._limits, self._of_networks = limits, limits is None
        self.console = console or Console(stderr=True)
        self._live: Live | None = None
        self._former = (0.0, 0)
        self._rate = 0.0
        self._last: Progress | None = None
        # best objective so far, and when it was reached
        self._best, self._better_at = float("inf"), perf_counter()
        # what is running, what follows it, and since when; a search is running while there is nothing
        self._running, self._began = "", perf_counter()
        self._then: tuple[str, ...] = ()
        # pieces of what is running, and one entry for each that is done
        self._n_pieces, self._done = 0, list[None]()

    def __enter__(self) -> LiveTable:
        if self.console.is_terminal:
            # a thread redraws the seconds of phases without progress
            refresh = 1 / _REFRESH_SECONDS
            self._live = Live(
                console=self.console, refresh_per_second=refresh, transient=False, get_renderable=self.shown
            )
            self._live.start(refresh=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            # the end of a run may fall between two drawings, and nothing is running any more
            live, self._live = self._live, None
            live.stop()

    def __call__(self, progress: Progress) -> bool:
        """Take in the state of a search, which is drawn a few times per second; returns False, so the run goes on."""
        # sums of other orders differ in their last digits; another search of a fit may have another objective
        if not isclose(progress.best, self._best, rel_tol=ROUNDING):
            self._best, self._better_at = progress.best, perf_counter()
        self._last, self._running = progress, ""
        self._then = tuple(phase for phase in self._then if phase != SEARCH)
        return False

    def begin(self, running: str, *then: str) -> None:
        """Show from now on that something is running, and what follows it, until the next progress of a search."""
        self.begin_part(running)
        self._then = then

    def begin_part(self, running: str, n_pieces: int = 0) -> Callable[[], None]:
        """Show what is running of a phase, and return what to call for each of its pieces that is done."""
        done: list[None] = []
        self._running, self._n_pieces, self._done, self._began = running, n_pieces, done, perf_counter()
        return lambda: done.append(None)

    def shown(self) -> Group:
        """Return the table of the last state, if there was one, and the line below it while something is running."""
        of_search = [] if self._last is None else [self.render(self._last)]
        of_phase = [] if self._live is None else [Text(self.line())]
        return Group(*of_search, *of_phase)

    def line(self) -> str:
        """Return what is running, what has been reached and what remains, in words."""
        if self._running or self._last is None:
            pieces = f", {len(self._done):,} of {self._n_pieces:,} done" if self._n_pieces else ""
            seconds = perf_counter() - self._began
            return f"{self._running or 'Starting'}{pieces}: {seconds:.0f} s{self._after()}."
        progress, seconds = self._last, perf_counter() - self._better_at
        noun = "network" if self._of_networks else "solution"
        reached = [progress.reached] if progress.reached else []
        if progress.archive_size:
            reached = [counted(progress.archive_size, noun)]
        elif seconds >= _LONG:
            reached += [f"no better {noun} for {seconds:.0f} s"]
        else:
            reached += [f"a better {noun} just now"]
        left = progress.done_at - progress.n_eval
        remains = f"; done after {left:,} more evaluations without a gain" if left > 0 else ""
        return f"Searching: {', '.join(reached)}{remains}{self._after()}."

    def _after(self) -> str:
        """Return what follows what is running, as the end of a sentence."""
        *former, last = self._then or ("",)
        return f"; then {', '.join(former)}{' and ' if former else ''}{last}" if last else ""

    def _seconds_left(self, progress: Progress) -> float:
        """Return the seconds until a limit of time or evaluations at the present rate, infinity without them."""
        assert self._limits is not None
        seconds = inf if self._limits.max_seconds is None else self._limits.max_seconds - progress.seconds
        left = self._limits.evaluations - progress.n_eval
        return max(min(seconds, left / self._rate if self._rate > 0 else inf), 0.0)

    def render(self, progress: Progress) -> Table:
        """Return the table of one state of the run."""
        scored = progress.statistics.get("families_scored", 0)
        hits = progress.statistics.get("cache_hits", 0)
        done = scored + hits if self._of_networks else progress.n_eval
        seconds, before = self._former
        # another phase of a fit counts from 0 again
        if done < before or progress.seconds < seconds:
            self._former = (progress.seconds, done)
        elif progress.seconds - seconds >= _REFRESH_SECONDS:
            self._rate = (done - before) / (progress.seconds - seconds)
            self._former = (progress.seconds, done)
        size = f"{progress.archive_size:,}"
        objective = f"{-progress.best:.3f}" if self._of_networks else f"{progress.best:.6g}"
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
        else:
            cells["evaluations/s"] = f"{self._rate:,.0f}"
            left = self._seconds_left(progress)
            cells["time left"] = "-" if left == inf else f"{left:,.0f} s"
        table = Table(box=None, pad_edge=False)
        for heading in cells:
            table.add_column(heading, justify="right")
        table.add_row(*cells.values())
        return table
