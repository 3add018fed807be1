"""What searches of several runs share: their limits, the counts of all runs, progress reports and the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gomea_bn.learning.search.budget import Budget
from gomea_bn.learning.search.settings import SearchSettings
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.limits import Callback, HistoryEntry, Limits, Progress, Result
from gomea_bn.runtime.run_state import history_of, history_state, result_of, result_state
from gomea_bn.runtime.threads import StopFlag

__all__ = ["SearchRounds"]


class SearchRounds:
    """The runs of one search, and what they have in common.

    Parameters
    ----------
    settings : SearchSettings
        Limits and counts of progress are those of all runs together.

    Attributes
    ----------
    stop : StopFlag
        Its clock starts with the object.
    results : list of Result
        Results of the runs that have ended.
    history : list of HistoryEntry
        Improvements over all runs.
    statistics : Counter
        Sums over the runs.
    """

    def __init__(self, settings: SearchSettings) -> None:
        self.settings = settings
        self.stop = StopFlag(settings.limits.max_seconds)
        self.results: list[Result] = []
        self.history: list[HistoryEntry] = []
        self.statistics: Counter[str] = Counter()

    def state(self) -> State:
        """Return the results so far, the clock and the counts, for checkpoints."""
        return {
            "seconds": self.stop.seconds,
            "results": [result_state(result) for result in self.results],
            "history": history_state(self.history),
            "statistics": dict(self.statistics),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned."""
        self.stop.start_clock(state["seconds"], self.settings.limits.max_seconds)
        self.results[:] = [result_of(saved) for saved in state["results"]]
        self.history[:] = history_of(state["history"])
        self.statistics.clear()
        self.statistics.update(state["statistics"])

    @property
    def n_eval(self) -> int:
        """Number of evaluations of the runs that have ended."""
        return sum(result.n_eval for result in self.results)

    @property
    def n_generations(self) -> int:
        """Number of generations of the runs that have ended."""
        return sum(result.n_generations for result in self.results)

    @property
    def random_state(self) -> int | np.random.SeedSequence:
        """Seed of the next run."""
        seed = self.settings.seed
        return np.random.SeedSequence([seed, len(self.results)]) if self.results else seed

    def limits_left(self) -> Limits:
        """Return the limits minus the counts of the runs so far; `patience` is that of the whole search."""
        return Budget(self.settings.limits, self.stop.seconds, self.n_eval, self.n_generations).share()

    def reporter(self, best: float) -> Callback | None:
        """Return a callback that passes on the progress of the next run with the counts of all runs.

        Parameters
        ----------
        best : float
            Least objective of the runs so far.
        """
        callback = self.settings.callback
        if callback is None:
            return None
        n_eval, n_generations = self.n_eval, self.n_generations
        statistics = Counter(self.statistics)

        def report(progress: Progress) -> bool | None:
            return callback(
                replace(
                    progress,
                    seconds=self.stop.seconds,
                    n_eval=n_eval + progress.n_eval,
                    n_generations=n_generations + progress.n_generations,
                    best=min(best, progress.best),
                    statistics=dict(statistics + Counter(progress.statistics)),
                )
            )

        return report

    def report_start(self, objective: float) -> None:
        """Report the least objective that was reached before the first run; the callback may end the search."""
        progress = Progress(
            seconds=self.stop.seconds,
            n_eval=0,
            n_generations=0,
            population_sizes=(),
            population_generations=(),
            best=objective,
            statistics={},
        )
        if self.settings.callback is not None and self.settings.callback(progress):
            self.stop.raise_for("callback")

    def note(self, result: Result, began: float) -> None:
        """Add the result of a run that began at a number of seconds on the clock of `stop`."""
        n_eval = self.n_eval
        self.results.append(result)
        self.statistics.update(result.statistics)
        for entry in result.history:
            if not self.history or entry.objective < self.history[-1].objective:
                total = replace(entry, seconds=began + entry.seconds, n_eval=n_eval + entry.n_eval)
                self.history.append(total)

    def note_start(self, objective: float) -> None:
        """Add an objective that was reached before the first run."""
        self.history.append(HistoryEntry(self.stop.seconds, 0, objective, 1))

    def note_objective(self, objective: float) -> None:
        """Add an objective that was reached after a run has ended, if it improves on the history."""
        if objective < self.history[-1].objective:
            last = self.history[-1]
            self.history.append(
                replace(last, seconds=self.stop.seconds, n_eval=self.n_eval, objective=objective)
            )

    def result(self, x: NDArray[np.int16], objective: float, statistics: Mapping[str, int]) -> Result:
        """Return the result of all runs, with the best genotype and its objective, and further statistics."""
        return Result(
            X=x,
            F=np.array([objective]),
            n_eval=self.n_eval,
            n_eval_full=sum(result.n_eval_full for result in self.results),
            exec_time=self.stop.seconds,
            time_to_best=self.history[-1].seconds,
            history=self.history,
            stopped_by=self.stop.reason,
            n_generations=self.n_generations,
            statistics={**self.statistics, **statistics},
            extra=self.results[-1].extra,
        )
