"""The interleaved multi-start scheme: whose turn it is, when a population stops, when the run ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn._workers import StopFlag, Workers
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.limits import Callback, HistoryEntry, Limits, Progress, Result
from gomea_bn.operators._kernels import Elite

__all__ = ["MultiStartRun", "ScheduledPopulation", "Scheme"]

# an improvement by less than this share of the objective is rounding
_MEANINGFUL = 1e-10
# (class of kernel data, kind of work) whose kernels this process has compiled or loaded
_COMPILED: set[tuple[type, str]] = set()


class Scheme(Protocol):
    """The options of the scheme, which the algorithms' own options include."""

    @property
    def base_population(self) -> int:
        """Size of the first population."""

    @property
    def growth(self) -> int:
        """Factor from one population's size to the next."""

    @property
    def subgenerations(self) -> int:
        """Generations of a population per generation of the next larger one."""

    @property
    def max_population_size(self) -> int:
        """No larger population is started."""


class ScheduledPopulation(Protocol):
    """What the scheme needs of a population."""

    generations: int
    active: bool
    mean: tuple[float, float]  # violation, objective

    @property
    def size(self) -> int:
        """Number of solutions."""

    @property
    def converged(self) -> bool:
        """Whether further generations would change nothing."""


class MultiStartRun(ABC):
    """One run, advanced by `step`; a context manager that owns the threads.

    Every method works on the calling thread; only kernels run elsewhere. A subclass adds populations and runs their
    generations; it counts in `n_eval`, `touched` and `n_generations`, and calls `note_best`.
    """

    populations: list[Any]

    def __init__(
        self,
        settings: Scheme,
        problem: Any,
        limits: Limits,
        seed: int | np.random.SeedSequence | None,
        callback: Callback | None,
        n_threads: int,
        dtype: type[np.generic],
    ) -> None:
        if problem.n_objectives != 1:
            raise GomeaBnError(f"This search takes one objective, the problem has {problem.n_objectives}.")
        self.scheme = settings
        self.problem = problem
        self.limits = limits
        self.callback = callback
        self.n_threads = n_threads
        if (
            seed is not None
            and not isinstance(seed, np.random.SeedSequence)
            and (not is_integer(seed) or seed < 0)
        ):
            raise GomeaBnError(f"seed must be a non-negative integer, a SeedSequence or None, got {seed!r}.")
        if isinstance(seed, np.random.SeedSequence):
            # spawning counts up inside a sequence: a copy lets the same one be used again
            self.seeds = np.random.SeedSequence(
                seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size
            )
        else:
            self.seeds = np.random.SeedSequence(seed)
        self.stop = StopFlag(limits.max_seconds)
        self._data_class = type(problem.kernel_data(1)[0])
        self.populations = []
        self.elite = Elite(
            np.zeros(problem.n_variables, dtype), np.full(problem.n_objectives, inf), np.full(1, inf)
        )
        self.n_eval = 0
        self.touched = 0
        self.n_generations = 0
        self.n_eval_at_best = 0
        self.history: list[HistoryEntry] = []
        self._turn = 0

    @abstractmethod
    def _add_population(self, size: int) -> None:
        """Append a population and initialise it; counts as a generation."""

    @abstractmethod
    def _generation(self, population: Any) -> None:
        """Run one generation of a population."""

    def __enter__(self) -> Self:
        self.workers = Workers(self.n_threads, self.stop)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self.workers.__exit__(kind, error, trace)

    def finish(self) -> Result:
        """Run to a limit and return the best solution."""
        with self, self.stop.catching_interrupts():
            while self.step():
                pass
        return self.result()

    def result(self) -> Result:
        """Return the best solution so far."""
        return Result(
            X=self.elite.genotype.copy(),
            F=self.elite.objectives.copy(),
            n_eval=self.n_eval,
            n_eval_full=self.touched / max(self.problem.n_terms, 1),
            exec_time=self.stop.seconds,
            time_to_best=self.history[-1].seconds if self.history else 0.0,
            history=self.history,
            stopped_by=self.stop.reason,
            n_generations=self.n_generations,
            statistics=self.problem.statistics(),
            extra={"violation": float(self.elite.violation[0])},
        )

    def best(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return the best solution, its objectives and violation, each with a leading axis of 1."""
        return self.elite.genotype[None], self.elite.objectives[None], self.elite.violation

    @abstractmethod
    def newest(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return solutions, objectives and violations of the population whose turn it was."""

    def step(self) -> bool:
        """Run one generation of the population whose turn it is; returns whether the run goes on."""
        index = self._turn
        if index < len(self.populations):
            self._generation(self.populations[index])
        else:
            size = self.scheme.base_population * self.scheme.growth ** len(self.populations)
            if size <= self.scheme.max_population_size:
                self._add_population(size)
            else:
                index = self._smallest()
                if index == len(self.populations):
                    self.stop.raise_for("max_population_size")
                    return False
                self._generation(self.populations[index])
        self._retire()
        if self.callback is not None and self.callback(self.progress()):
            self.stop.raise_for("callback")
        self._check_limits()
        self._turn = self._next(index)
        return not self.stop.reason

    def progress(self) -> Progress:
        """Return the state of the run."""
        active = [p for p in self.populations if p.active]
        return Progress(
            seconds=self.stop.seconds,
            n_eval=self.n_eval,
            n_generations=self.n_generations,
            population_sizes=tuple(p.size for p in active),
            population_generations=tuple(p.generations for p in active),
            best=float(self.elite.objectives[0]),
            statistics=self.problem.statistics(),
        )

    def note_best(
        self,
        genotypes: NDArray[Any],
        objectives: NDArray[np.float64],
        violations: NDArray[np.float64],
        population_size: int,
    ) -> None:
        """Take over the best of some solutions, the first of equals, and keep the history of improvements."""
        best = int(np.lexsort((objectives[:, 0], violations))[0])
        found = (violations[best], objectives[best, 0])
        if found < (self.elite.violation[0], self.elite.objectives[0]):
            self.elite.genotype[:] = genotypes[best]
            self.elite.objectives[:] = objectives[best]
            self.elite.violation[0] = violations[best]
        objective = float(self.elite.objectives[0])
        former = self.history[-1].objective if self.history else inf
        if not self.history or objective != former:
            if not 0 <= former - objective < _MEANINGFUL * abs(former):
                self.n_eval_at_best = self.n_eval
            self.history.append(HistoryEntry(self.stop.seconds, self.n_eval, objective, population_size))

    def execute(
        self, task: Callable[[int, int], Any], n_blocks: int, *, what: str, n_threads: int, inline: bool
    ) -> None:
        """Run the blocks of `what`; a run that is stopped at once still evaluates one solution.

        The first time for a kind of problem stays in the calling thread, for it compiles, and compiling on another
        thread waits for ever if a module that is being imported started the run.
        """
        first = (self._data_class, what)
        inline |= first not in _COMPILED
        _COMPILED.add(first)
        n_certain = 1 if self.n_eval == 0 else 0
        self.workers.run(task, n_blocks, n_threads=n_threads, inline=inline, n_certain=n_certain)

    def _smallest(self) -> int:
        return next((i for i, p in enumerate(self.populations) if p.active), len(self.populations))

    def _next(self, index: int) -> int:
        """Return the population whose turn it is, by the counter schedule."""
        population = self.populations[index]
        if population.active and population.generations == 0:
            return index
        if population.active and population.generations % self.scheme.subgenerations:
            return self._smallest()
        following = index + 1
        while following < len(self.populations) and not self.populations[following].active:
            following += 1
        return max(following, self._smallest())

    def _retire(self) -> None:
        """Stop populations that a larger one has overtaken, or that have converged."""
        best_larger = (inf, inf)
        overtaken = False
        for population in reversed(self.populations):
            if not population.active:
                continue
            overtaken |= best_larger < population.mean
            if overtaken or population.converged:
                population.active = False
            else:
                best_larger = min(best_larger, population.mean)

    def _check_limits(self) -> None:
        limits, elite = self.limits, self.elite
        self.stop.check_deadline()
        if self.n_eval >= limits.evaluations:
            self.stop.raise_for("max_evaluations")
        if limits.max_generations is not None and self.n_generations >= limits.max_generations:
            self.stop.raise_for("max_generations")
        if limits.target is not None and elite.violation[0] == 0 and elite.objectives[0] <= limits.target:
            self.stop.raise_for("target")
        if limits.patience is not None:
            least = 1000 * max(self.problem.n_variables, 1)
            if self.n_eval > max(least, limits.patience * self.n_eval_at_best):
                self.stop.raise_for("patience")
