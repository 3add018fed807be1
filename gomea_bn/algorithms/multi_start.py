"""The interleaved multi-start scheme: the turns of populations, their end, and the end of the run.

Populations of growing size in turn, of which a smaller one ends when a larger one has a better mean: Harik & Lobo, "A
parameter-less genetic algorithm", GECCO 1999; with generations interleaved as in Bosman, Luong & Thierens, "Expanding
from discrete Cartesian to permutation gene-pool optimal mixing evolutionary algorithms", GECCO 2016.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, fields
from math import inf
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, check_callable, check_flag, check_integer, is_integer
from gomea_bn.operators.mixing import ALL_ROWS, no_elite, take_best, values_of
from gomea_bn.problems.base import AnyProblem
from gomea_bn.runtime.checkpoints import (
    NO_CHECKPOINT,
    CheckpointOption,
    Section,
    State,
    filled,
    history_of,
    history_state,
    opened,
    option_text,
    option_texts,
    result_of,
    result_state,
    seeds_of,
    seeds_state,
)
from gomea_bn.runtime.limits import (
    ROUNDING,
    STOPPED_BY_USER,
    Callback,
    HistoryEntry,
    Limits,
    Progress,
    Result,
)
from gomea_bn.runtime.threads import StopFlag, Workers

if TYPE_CHECKING:
    from gomea_bn.algorithms.ask_tell import AskedRun

_RESULT = "result"
# reasons that end a run in the middle of a generation
_WITHIN_GENERATION = ("max_evaluations", "max_seconds", "repeated", "target")
_NOTHING: Mapping[str, Any] = {}

UNLIMITED = 2**62
"""A budget of evaluations without limit."""
INLINE_SECONDS = 2e-3
"""Expected seconds below which a generation runs in the calling thread."""


def ended_before(section: Section, problem: Any) -> Result | None:
    """Return the result of a search that had ended when its checkpoint was written, after restoring its problem."""
    if section.saved is None or _RESULT not in section.saved:
        return None
    results: list[Result] = []

    def restore(state: State) -> None:
        problem.restore(state["problem"])
        results.append(result_of(state[_RESULT]))

    section.resume(restore)
    section.finish(section.saved)
    return results[0]


def finish_section(
    section: Section, problem: Any, result: Result, more: Mapping[str, Any] = _NOTHING
) -> None:
    """Keep the result of a search that has ended, with further values; a search that the user stopped can go on."""
    if not section.is_active:
        return
    if result.stopped_by in STOPPED_BY_USER:
        section.set_frozen(True)
    section.finish({**more, _RESULT: result_state(result), "problem": problem.state()})


# pairs (class of kernel data, kind of work) whose kernels this process has compiled or loaded
_COMPILED: set[tuple[type, str]] = set()


class Scheme:
    """The options of the scheme, which the options of every algorithm include."""

    base_population: int  # size of the first population
    growth: int  # factor from one population's size to the next
    subgenerations: int  # generations of a population per generation of the next larger one
    max_population_size: int  # size above which no population is started

    def start(
        self,
        problem: Any,
        *,
        random_state: Any = None,
        initial: Any = None,
        checkpoint: CheckpointOption = None,
        **limits: Any,
    ) -> AskedRun:
        """Return a search whose solutions the caller evaluates; see `AskedRun`.

        Parameters
        ----------
        problem : object or mapping
            A space (a mapping of names to `Real`, `Integer`, `Categorical` or `Permutation`), or an object with
            ``space`` or with ``n_variables`` and ``alphabet``, ``bounds`` or both, and ``n_objectives`` if there are
            several; see `PythonProblem`. It needs no ``evaluate``.
        random_state, initial, checkpoint : optional
            Those of `gomea_bn.optimise`. A search that was killed asks again for the solutions of the generation in
            which it was killed.
        **limits : number
            Limits of the search by name; see `Limits`. Without any, the caller ends it.

        Raises
        ------
        GomeaBnError
            For a problem, option or limit that cannot be used, and for a checkpoint of another search.
        """
        from gomea_bn.algorithms.ask_tell import AskedRun, asked_problem

        wrong = sorted(limits.keys() - {f.name for f in fields(Limits)})
        if wrong:
            raise GomeaBnError(f"start has no option {wrong[0]!r}; limits are those of Limits.")
        is_limited = any(limit is not None for limit in limits.values())
        asked = asked_problem(problem)
        run = self._new_run(
            asked,
            Limits(**limits) if is_limited else Limits(max_generations=2**62),
            random_state=random_state,
            initial=initial,
        )
        return AskedRun(run, asked, opened_run(checkpoint, run, random_state))

    def _new_run(self, problem: Any, limits: Limits, **options: Any) -> MultiStartRun:
        """Return a run with these options."""
        raise NotImplementedError


def check_scheme(settings: Scheme, switches: Sequence[str], sizes: Sequence[tuple[str, int]]) -> None:
    """Raise `GomeaBnError` for options of a search that cannot be used.

    `switches` are names of options that are True or False, `sizes` those of integers with their least values.
    """
    for name in switches:
        check_flag(name, getattr(settings, name))
    for name, least in sizes:
        check_integer(name, getattr(settings, name), least)
    if settings.max_population_size < settings.base_population:
        raise GomeaBnError(
            f"max_population_size must be at least base_population ({settings.base_population}), "
            f"got {settings.max_population_size}."
        )


def is_real_problem(problem: Any) -> bool:
    """Return whether a problem has real or mixed variables."""
    from gomea_bn.problems.python_problem import as_compiled

    return bool(as_compiled(problem).is_real)


def compiled_for(settings: Scheme, problem: Any, *, is_real: bool) -> Any:
    """Return a problem that kernels can evaluate; raises `GomeaBnError` for variables of the other kind."""
    # learners load without problems in plain Python
    if isinstance(problem, AnyProblem) and getattr(problem, "space", None) is None:
        compiled: Any = problem
    else:
        from gomea_bn.problems.python_problem import as_compiled

        compiled = as_compiled(problem)
    if compiled.is_real != is_real:
        wanted, given, other = "discrete variables", "real or mixed ones", "RVGOMEA"
        if is_real:
            wanted, given, other = "real or mixed variables", "discrete ones alone", "GOMEA or MOGOMEA"
        name = type(settings).__name__
        raise GomeaBnError(f"{name} takes problems of {wanted}, this one has {given}; use {other}.")
    return compiled


def in_numbers(problem: Any, initial: Any) -> Any:
    """Return initial solutions of a problem; those by name in the numbers of its space."""
    if getattr(problem, "user", None) is None:
        return initial
    from gomea_bn.problems.spaces import named_user

    user = named_user(problem)
    return initial if user is None else user.space.rows(initial)


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the seeds of a run; raises `GomeaBnError` for a random state that is not a valid seed."""
    if isinstance(random_state, np.random.SeedSequence):
        # spawning counts up inside a sequence, so a copy lets the same sequence be used again
        return np.random.SeedSequence(
            random_state.entropy, spawn_key=random_state.spawn_key, pool_size=random_state.pool_size
        )
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    if random_state is not None and (not is_integer(random_state) or random_state < 0):
        raise GomeaBnError(
            "random_state must be an integer of at least 0, a SeedSequence, a Generator, a RandomState or None, "
            f"got {random_state!r:.80}."
        )
    return np.random.SeedSequence(random_state)


# evaluations per gene before a run may be done; graphs of 20 to 60 discrete columns gained no nat after 44
_LEAST_PER_GENE = 320


class MultiStartRun(ABC):
    """One run, advanced by `step`; a context manager that owns the threads.

    All methods work on the calling thread; only kernels run on others. A subclass adds populations, runs their
    generations, and keeps their best solutions. It counts in `n_eval`, `touched`, `n_generations` and
    `n_eval_at_best`. Its populations have ``generations``, ``active``, ``size`` and ``converged``.
    """

    populations: list[Any]
    initial: NDArray[Any]

    def __init__(
        self,
        settings: Scheme,
        problem: Any,
        limits: Limits,
        random_state: int | np.random.SeedSequence | None,
        callback: Callback | None,
        n_threads: int,
    ) -> None:
        if not isinstance(limits, Limits):
            raise GomeaBnError(
                f"limits must be a Limits, such as Limits(max_seconds=10), got {limits!r:.80}."
            )
        check_callable("callback", callback)
        self.scheme = settings
        self.problem = problem
        self.limits = limits
        self.callback = callback
        # whether a checkpoint with other limits is gone on from
        self.limits_may_differ = False
        # what the latest generation began with
        self._before: State = {}
        self.n_threads = n_threads
        self.seeds = seed_sequence(random_state)
        self.stop = StopFlag(limits.max_seconds)
        self._data_class = type(problem.kernel_data(1)[0])
        self.populations = []
        self.n_eval = 0
        self.touched = 0
        self.n_generations = 0
        self.n_eval_at_best = 0
        self._turn = 0
        # the population whose turn it was
        self._newest: Any = None
        # evaluations and best objectives from which the next gain counts, as of `Limits.least_gain`
        self._mark: tuple[int, NDArray[np.float64]] | None = None

    @abstractmethod
    def _add_population(self, size: int) -> None:
        """Append a population and initialise it, which counts as a generation."""

    @abstractmethod
    def _generation(self, population: Any) -> None:
        """Run one generation of a population."""

    def _overtaken(self) -> list[Any]:
        """Return the active populations that larger ones have overtaken: none, unless a scheme compares them."""
        return []

    @abstractmethod
    def result(self) -> Result:
        """Return the result so far."""

    @abstractmethod
    def progress(self) -> Progress:
        """Return the state of the run."""

    @abstractmethod
    def best(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return the best solutions, their objectives and violations."""

    @abstractmethod
    def newest(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return solutions, objectives and violations of the population whose turn it was."""

    def __enter__(self) -> Self:
        self.workers = Workers(self.n_threads, self.stop, may_wait=self.problem.meeting is not None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is not None and self.problem.meeting is not None:
            self.problem.meeting.leave()
        self.workers.__exit__(kind, error, trace)

    def finish(self, section: Section = NO_CHECKPOINT) -> Result:
        """Run to a limit, or go on to it from a checkpoint, and return the best solution."""
        saved = section.saved
        if saved is None or not self.limits_may_differ or saved["limits"] == asdict(self.limits):
            before = ended_before(section, self.problem)
            if before is not None:
                return before
        self.begin(section)
        try:
            with self, self.stop.catching_interrupts():
                while self.advance(section):
                    pass
        except Exception as error:
            best = self.result()
            if len(best.X) and np.isfinite(best.F).all():
                error.add_note(f"The search had found this before the error:\n{best!r}")
            raise
        result = self.result()
        more = self._to_go_on_from() if self.limits_may_differ and section.is_active else {}
        finish_section(section, self.problem, result, more)
        return result

    def begin(self, section: Section) -> None:
        """Go on from the state of a section, if it has one; the section keeps the state from now on."""
        self.stop.delays_interrupts = section.is_active
        if section.resume(self.restore):
            # a criterion that had ended the run ends it again
            self._call_back()
            self._check_limits()
        section.keep(self._to_go_on_from)

    def _to_go_on_from(self) -> State:
        """Return the state; before the latest generation if it was cut, so that larger limits repeat it whole."""
        is_cut = self.stop.reason in _WITHIN_GENERATION or self.n_eval >= self.limits.evaluations
        return self._before if is_cut and self._before else self.state()

    def advance(self, section: Section) -> bool:
        """Run one generation as `step` does, and write a checkpoint if one is due or the user stops the run."""
        if not self.stop.reason:
            if self.limits_may_differ and section.is_active:
                self._before = deepcopy(self.state())
            self.step()
        if self.stop.has_delayed:
            # a generation that the clock has cut short cannot be gone on from
            if self._before or self.stop.reason != "max_seconds":
                section.write()
            self.stop.replace_reason("interrupt")
        elif self.stop.reason == "callback":
            section.write()
        elif not self.stop.reason:
            section.write_if_due()
        return not self.stop.reason

    def identity(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return texts of the options and of the problem, by name, which decide the result."""
        options = {
            **option_texts({f.name: getattr(self.scheme, f.name) for f in fields(self.scheme)}),  # type: ignore[arg-type]
            **option_texts(asdict(self.limits)),
            "initial": option_text(self.initial),
            "random_state": option_text(seeds_state(self.seeds)),
        }
        return options, self.problem.identity()

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations; arrays are not copied."""
        return {
            "limits": asdict(self.limits),
            "seconds": self.stop.seconds,
            "seeds": seeds_state(self.seeds),
            "initial": self.initial,
            "counts": [self.n_eval, self.touched, self.n_generations, self.n_eval_at_best, self._turn],
            "newest": next((i for i, p in enumerate(self.populations) if p is self._newest), None),
            "problem": self.problem.state(),
            "populations": [self._population_state(population) for population in self.populations],
            "mark": self._mark,
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        if not self.limits_may_differ:
            self.limits = Limits(**state["limits"])
        self.stop.start_clock(state["seconds"], self.limits.max_seconds)
        self.seeds = seeds_of(state["seeds"])
        self.initial = np.array(state["initial"])
        self.n_eval, self.touched, self.n_generations, self.n_eval_at_best, self._turn = state["counts"]
        self.problem.restore(state["problem"])
        self.populations = []
        for saved in state["populations"]:
            self.populations.append(self._population_of(saved, self._size(len(self.populations))))
        self._newest = None if state["newest"] is None else self.populations[state["newest"]]
        # runs of earlier versions have none, or one objective
        mark = state.get("mark")
        self._mark = None if mark is None else (mark[0], np.array(mark[1], np.float64, ndmin=2))

    @abstractmethod
    def _population_state(self, population: Any) -> State:
        """Return a population as plain values and arrays."""

    @abstractmethod
    def _population_of(self, saved: State, size: int) -> Any:
        """Return the population of `_population_state`, which has `size` solutions."""

    def _size(self, index: int) -> int:
        """Return the size of a population by its position."""
        return int(self.scheme.base_population * self.scheme.growth**index)

    def step(self) -> bool:
        """Run one generation of the population whose turn it is; returns whether the run goes on."""
        index = self._turn
        if index < len(self.populations):
            self._generation(self.populations[index])
        else:
            size = self._size(len(self.populations))
            if size <= self.scheme.max_population_size:
                self._add_population(size)
            else:
                index = self._smallest()
                if index == len(self.populations):
                    self.stop.raise_for("max_population_size")
                    return False
                self._generation(self.populations[index])
        self._retire()
        self._call_back()
        self._check_limits()
        self._turn = self._next(index)
        return not self.stop.reason

    def counts(self) -> dict[str, Any]:
        """Return the part of a `Progress` that every run has."""
        active = [p for p in self.populations if p.active]
        return {
            "seconds": self.stop.seconds,
            "n_eval": self.n_eval,
            "n_generations": self.n_generations,
            "population_sizes": tuple(p.size for p in active),
            "population_generations": tuple(p.generations for p in active),
            "statistics": self.problem.statistics(),
            "done_at": 0 if self._mark is None else 2 * self._mark[0],
        }

    def totals(self) -> dict[str, Any]:
        """Return the part of a `Result` that every run has."""
        return {
            "n_eval": self.n_eval,
            "n_eval_full": self.touched / max(self.problem.n_terms, 1),
            "exec_time": self.stop.seconds,
            "stopped_by": self.stop.reason,
            "n_generations": self.n_generations,
            "statistics": self.problem.statistics(),
        }

    def execute(
        self, task: Callable[[int, int], Any], n_blocks: int, *, work_kind: str, n_threads: int, inline: bool
    ) -> None:
        """Run ``task(thread, block)`` for every block; a run that is stopped at once still evaluates one solution.

        The first execution for a kind of problem and a `work_kind` stays in the calling thread. It compiles, and
        compiling on another thread never returns if a module that is being imported started the run.
        """
        first = (self._data_class, work_kind)
        meeting = self.problem.meeting
        # threads that wait for each other's evaluations are worth their start
        inline = first not in _COMPILED or (inline and meeting is None)
        _COMPILED.add(first)
        if meeting is not None:
            meeting.begin(n_blocks, 1 if inline else n_threads)
        n_certain = 1 if self.n_eval == 0 else 0
        self.workers.run(task, n_blocks, n_threads=n_threads, inline=inline, n_certain=n_certain)

    def _target_met(self, target: float) -> bool:
        """Return whether a feasible solution has an objective of at most `target`."""
        return False

    @abstractmethod
    def _gain(self, before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
        """Return what the best feasible solutions have gained, as `Limits.least_gain` counts it.

        Both are objectives, shape (n, n_objectives), where n may be 0.
        """

    def _gained_less(self, least: float) -> bool:
        """Return whether the best gained less than `least` while the evaluations doubled, when they just have."""
        n_eval, before = self._mark or (_LEAST_PER_GENE * self.problem.n_variables // 4, None)
        if self.n_eval < 2 * max(n_eval, 1):
            return False
        _, objectives, violations = self.best()
        self._mark = self.n_eval, objectives[violations == 0]
        return before is not None and self._gain(before, self._mark[1]) < least

    def _call_back(self) -> None:
        if self.callback is not None and self.callback(self.progress()):
            self.stop.raise_for("callback")

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
        for population in self._overtaken():
            population.active = False
        for population in self.populations:
            population.active &= not population.converged

    def _check_limits(self) -> None:
        limits = self.limits
        if met := limits.met(self.stop.seconds, self.n_eval, self.n_generations):
            self.stop.raise_for(met)
        if limits.target is not None and self._target_met(limits.target):
            self.stop.raise_for("target")
        if limits.least_gain is not None and self._gained_less(limits.least_gain):
            self.stop.raise_for("done")
        if limits.patience is not None:
            least = 1000 * max(self.problem.n_variables, 1)
            if self.n_eval > max(least, limits.patience * self.n_eval_at_best):
                self.stop.raise_for("patience")


def opened_run(checkpoint: CheckpointOption, run: MultiStartRun, random_state: Any) -> Section:
    """Return the section of a run in its checkpoint, whose limits may be others.

    The seed in the file counts if there is no `random_state`.
    """
    run.limits_may_differ = not isinstance(checkpoint, Section)
    limits = [f.name for f in fields(Limits)]
    return opened(
        checkpoint,
        type(run.scheme).__name__,
        lambda: run.identity()[0],
        lambda: {f"problem's {name}": text for name, text in run.identity()[1].items()},
        free=(*limits, "random_state") if random_state is None else tuple(limits),
    )


class EliteRun(MultiStartRun):
    """One run for one objective; its populations have a ``mean`` (violation, objective) and call `note_best`."""

    dtype: type[np.generic] = np.int16
    # a subclass may search for a front
    takes_several = False

    def __init__(self, settings: Scheme, problem: Any, *options: Any) -> None:
        if problem.n_objectives != 1 and not self.takes_several:
            raise GomeaBnError(
                f"{type(settings).__name__} takes problems with one objective, this one has "
                f"{problem.n_objectives}; use MOGOMEA."
            )
        super().__init__(settings, problem, *options)
        self.elite = no_elite(problem, self.dtype)
        self.history: list[HistoryEntry] = []

    def result(self) -> Result:
        """Return the best solution so far."""
        return Result(
            X=self.elite.genotype.copy(),
            F=self.elite.objectives.copy(),
            time_to_best=self.history[-1].seconds if self.history else 0.0,
            history=self.history,
            extra={"violation": float(self.elite.violation[0])},
            **self.totals(),
        )

    def best(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return the best solution, its objectives and violation, each with a leading axis of 1."""
        return self.elite.genotype[None], self.elite.objectives[None], self.elite.violation

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations."""
        best = {"elite": self.elite._asdict(), "history": history_state(self.history)}
        return {**super().state(), **best}

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        super().restore(state)
        filled(self.elite, state["elite"])
        self.history = history_of(state["history"])

    def progress(self) -> Progress:
        """Return the state of the run."""
        best, violation = float(self.elite.objectives[0]), float(self.elite.violation[0])
        return Progress(best=best, violation=violation, **self.counts())

    def note_best(self, population: Any, rows: slice = ALL_ROWS) -> None:
        """Copy the best of some solutions, the first of equals, if it is an improvement, and add to the history."""
        take_best(self.elite, *values_of(population, rows))
        objective = float(self.elite.objectives[0])
        former = self.history[-1].objective if self.history else inf
        if not self.history or objective != former:
            if not 0 <= former - objective < ROUNDING * abs(former):
                self.n_eval_at_best = self.n_eval
            self.history.append(HistoryEntry(self.stop.seconds, self.n_eval, objective, population.size))

    def _overtaken(self) -> list[Any]:
        """Return the populations with a worse mean than a larger one, and all smaller populations than those."""
        best_larger = (inf, inf)
        overtaken: list[Any] = []
        for population in reversed(self.populations):
            if not population.active:
                continue
            if overtaken or best_larger < population.mean:
                overtaken.append(population)
            elif not population.converged:
                best_larger = min(best_larger, population.mean)
        return overtaken

    def _gain(self, before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
        return float(before[0, 0] - now[0, 0]) if len(before) else inf

    def _target_met(self, target: float) -> bool:
        return bool(self.elite.violation[0] == 0 and self.elite.objectives[0] <= target)
