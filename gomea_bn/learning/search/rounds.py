"""The rounds of one search: several searches one after another, with the limits and the counts of all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.discrete_run import DiscreteSearch
from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.multi_start import finish_section
from gomea_bn.problems.base import CompiledProblem
from gomea_bn.problems.scores import is_gain
from gomea_bn.runtime.checkpoints import (
    NO_CHECKPOINT,
    Section,
    State,
    history_of,
    history_state,
    result_of,
    result_state,
)
from gomea_bn.runtime.limits import STOPPED_BY_USER, Callback, HistoryEntry, Limits, Progress, Result
from gomea_bn.runtime.threads import StopFlag


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of a search, and of the searches that it consists of: limits of all of them together.

    The seed is that of the first part; those of the others follow from it. The callback gets the counts of the whole
    search.
    """

    algorithm: GOMEA
    limits: Limits
    seed: int
    n_threads: int
    callback: Callback | None = None
    section: Section = NO_CHECKPOINT

    def within(self, limits: Limits) -> Self:
        """Return the same settings with other limits."""
        return replace(self, limits=limits)

    def part(self, name: str) -> Self:
        """Return the same settings for the part of the search with a name of its own in the checkpoint."""
        return replace(self, section=self.section.part(name))

    def run(
        self,
        problem: CompiledProblem,
        *,
        initial: NDArray[np.int16] | None = None,
        random_state: np.random.SeedSequence | int | None = None,
        algorithm: DiscreteSearch | None = None,
    ) -> Result:
        """Return the result of a run, which begins with some genotypes; seed and algorithm may be others."""
        return (algorithm or self.algorithm).run(
            problem,
            self.limits,
            random_state=self.seed if random_state is None else random_state,
            n_jobs=self.n_threads,
            callback=self.callback,
            initial=initial,
            checkpoint=self.section,
        )


class SearchRounds:
    """The rounds of one search, with the limits of all together: their results, improvements and sums of statistics.

    A round is a run of an algorithm, or a search with rounds of its own. The clock of `stop` starts with the object.
    `n_climbing` is the number of families that local searches before the first run have scored. `is_resumed` says
    whether the next round goes on from a checkpoint.
    """

    def __init__(self, settings: SearchSettings) -> None:
        self.settings = settings
        self.stop = StopFlag(settings.limits.max_seconds)
        self.results: list[Result] = []
        self.history: list[HistoryEntry] = []
        self.statistics: Counter[str] = Counter()
        self.n_climbing = 0
        self.is_resumed = False
        self._began = 0.0

    def open(self, restore: Callable[[State], None], state: Callable[[], State]) -> None:
        """Go on from the state of the search in a checkpoint, if there is one, and keep its state from now on."""
        self.is_resumed = self.settings.section.resume(restore)
        self.settings.section.keep(state)

    def state(self) -> State:
        """Return the results so far, the clock and the counts, for checkpoints."""
        return {
            "seconds": self.stop.seconds,
            "began": self._began,
            "results": [result_state(result) for result in self.results],
            "history": history_state(self.history),
            "statistics": dict(self.statistics),
            "n_climbing": self.n_climbing,
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned."""
        self.stop.start_clock(state["seconds"], self.settings.limits.max_seconds)
        self._began = state["began"]
        self.results[:] = [result_of(saved) for saved in state["results"]]
        self.history[:] = history_of(state["history"])
        self.statistics.clear()
        self.statistics.update(state["statistics"])
        self.n_climbing = state["n_climbing"]

    @property
    def n_eval(self) -> int:
        """Number of evaluations of the local searches, one per family, and of the rounds that have ended."""
        return self.n_climbing + sum(result.n_eval for result in self.results)

    @property
    def n_generations(self) -> int:
        """Number of generations of the rounds that have ended."""
        return sum(result.n_generations for result in self.results)

    @property
    def limit_met(self) -> str:
        """Name of the first limit on what was spent that is met, empty if there is none."""
        return self.settings.limits.met(self.stop.seconds, self.n_eval, self.n_generations)

    @property
    def is_over(self) -> bool:
        """Whether no further round should begin: a limit is met, or the user has stopped one."""
        was_stopped = any(result.stopped_by in STOPPED_BY_USER for result in self.results)
        return bool(self.stop.reason) or was_stopped or bool(self.limit_met)

    @property
    def seconds_left(self) -> float:
        """Seconds that are left, infinity without a limit."""
        most = self.settings.limits.max_seconds
        return np.inf if most is None else most - self.stop.seconds

    @property
    def random_state(self) -> int | np.random.SeedSequence:
        """Seed of the next round."""
        seed = self.settings.seed
        return np.random.SeedSequence([seed, len(self.results)]) if self.results else seed

    def limits(self, share: float = 1.0) -> Limits:
        """Return a share of what the rounds so far have left; `patience` is that of the whole search."""
        return self.settings.limits.after(self.stop.seconds, self.n_eval, self.n_generations, share=share)

    def run(
        self,
        search: Callable[[SearchSettings], Result],
        part: str,
        limits: Limits,
        *,
        further: int = 0,
        best: float = np.inf,
        reached: str = "",
        done_at: int = 0,
        compares: bool = True,
    ) -> Result:
        """Add the result of the next round, a search in a part of the checkpoint, and return it.

        Its seed is that of the first round plus a number. Progress has the counts of all rounds and the best objective
        of all, or `best`, that so far, where those of the round do not compare with it. `reached` says what the best
        solution so far is, and `done_at` is that of `Progress`.
        """
        if not self.is_resumed:
            self._began = self.stop.seconds
        callback = self._reporter(best, reached, done_at, compares=compares)
        seed = self.settings.seed + further
        result = search(replace(self.settings.part(part), limits=limits, seed=seed, callback=callback))
        self.is_resumed = False
        return self.add(result)

    def _reporter(self, best: float, reached: str, done_at: int, *, compares: bool) -> Callback | None:
        """Return a callback that passes on the progress of the next round, as `run` does."""
        callback = self.settings.callback
        if callback is None:
            return None
        n_eval, n_generations, began = self.n_eval, self.n_generations, self._began
        statistics = Counter(self.statistics)

        def report(progress: Progress) -> bool | None:
            return callback(
                replace(
                    progress,
                    # a round that goes on from a checkpoint has seconds of an earlier process
                    seconds=max(self.stop.seconds, began + progress.seconds),
                    n_eval=n_eval + progress.n_eval,
                    n_generations=n_generations + progress.n_generations,
                    best=min(best, progress.best) if compares else best,
                    reached=progress.reached or ("" if is_gain(best - progress.best, best) else reached),
                    done_at=done_at or (progress.done_at and n_eval + progress.done_at),
                    statistics=dict(statistics + Counter(progress.statistics)),
                )
            )

        return report

    def report_start(self, objective: float, reached: str) -> None:
        """Report what was reached before the first run, its objective and words; the callback may end the search."""
        progress = Progress(self.stop.seconds, self.n_eval, 0, (), (), objective, {}, reached=reached)
        if self.settings.callback is not None and self.settings.callback(progress):
            self.stop.raise_for("callback")

    def add(self, result: Result) -> Result:
        """Add the result of a round with its improvements, and return it; one of a checkpoint keeps its seconds."""
        n_eval = self.n_eval
        self.results.append(result)
        self.statistics.update(result.statistics)
        for entry in result.history:
            if not isinstance(entry, HistoryEntry):
                continue
            if not self.history or entry.objective < self.history[-1].objective:
                seconds = self._began + entry.seconds
                self.history.append(replace(entry, seconds=seconds, n_eval=n_eval + entry.n_eval))
        ended = self._began + result.exec_time
        if ended > self.stop.seconds:
            self.stop.start_clock(ended, self.settings.limits.max_seconds)
        return result

    def finish(
        self,
        problem: CompiledProblem,
        x: NDArray[np.int16],
        objective: float,
        statistics: Mapping[str, int],
        more: Mapping[str, Any] | None = None,
    ) -> Result:
        """Return the result of all rounds, the best genotype of a problem, its objective and further statistics.

        The checkpoint has it, and `more` values.
        """
        result = self.total(
            self.results[-1],
            X=x,
            F=np.array([objective]),
            time_to_best=self.history[-1].seconds,
            history=self.history,
            stopped_by=self.stop.reason,
            statistics={**self.statistics, **statistics},
        )
        finish_section(self.settings.section, problem, result, more or {})
        return result

    def total(self, result: Result, **changes: Any) -> Result:
        """Return the result of a round, some of it changed, with the counts of all rounds and a stop by the user."""
        stops = [of_round.stopped_by for of_round in self.results if of_round.stopped_by in STOPPED_BY_USER]
        # between two rounds
        stops += [self.stop.reason] if self.stop.reason in STOPPED_BY_USER else []
        counts: dict[str, Any] = {
            "n_eval": self.n_eval,
            "n_eval_full": sum(of_round.n_eval_full for of_round in self.results),
            "exec_time": self.stop.seconds,
            "stopped_by": stops[-1] if stops else result.stopped_by,
            "n_generations": self.n_generations,
            "statistics": dict(self.statistics),
        }
        return replace(result, **{**counts, **changes})
