"""Runs over discrete genes: populations, their work space and variation, and what one and several objectives share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor, log10
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.multi_start import (
    INLINE_SECONDS,
    UNLIMITED,
    MultiStartRun,
    Scheme,
    compiled_for,
    in_numbers,
    opened_run,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.linkage.models import Linkage, LinkageModel, learned_linkage, linkage_model, single_genes
from gomea_bn.operators.mixing import (
    EVALUATIONS,
    FINISHED,
    NOT_RUN,
    STATUS,
    TOUCHED,
    MixingRules,
    MixingWork,
    PopulationData,
    evaluate_row,
)
from gomea_bn.problems.base import CompiledProblem, Refiner, Solution, new_journal
from gomea_bn.runtime.checkpoints import CheckpointOption, State, filled, generator_states, generators_of
from gomea_bn.runtime.evaluations import ROUND
from gomea_bn.runtime.limits import Callback, Limits, Result
from gomea_bn.runtime.threads import thread_count


def checked_genotypes(problem: CompiledProblem, genotypes: ArrayLike, option: str) -> NDArray[np.int16]:
    """Return genotypes as int16, shape (k, n_variables), if the problem allows all values; `option` is their name."""
    values = np.asarray(genotypes)
    if (
        values.ndim != 2
        or values.shape[1] != problem.n_variables
        or not np.issubdtype(values.dtype, np.integer)
    ):
        raise GomeaBnError(
            f"{option} must be integers of shape (k, {problem.n_variables}), "
            f"got {values.dtype} of shape {values.shape}."
        )
    in_alphabet = (values >= 0) & (values < problem.alphabet)
    genes = np.broadcast_to(np.arange(problem.n_variables), values.shape)
    wrong = np.argwhere(~(in_alphabet & problem.allowed[genes, np.where(in_alphabet, values, 0)]))
    if len(wrong):
        row, gene = wrong[0].tolist()
        raise GomeaBnError(
            f"{option}: row {row} has the value {values[row, gene]} in gene {gene}, which is not allowed."
        )
    return values.astype(np.int16)


def new_population(problem: CompiledProblem, parents: NDArray[np.int16]) -> PopulationData:
    """Return a population of these genotypes, not yet evaluated."""
    size = len(parents)
    return PopulationData(
        parents=parents,
        genotypes=parents.copy(),
        terms=np.zeros((size, problem.n_terms)),
        aux=np.zeros((size, problem.n_aux), np.uint64),
        objectives=np.full((size, problem.n_objectives), np.inf),
        violations=np.full(size, np.inf),
        stalls=np.zeros(size, np.int64),
        tallies=np.zeros((size, 4), np.int64),
    )


def new_work(problem: CompiledProblem, stop: NDArray[np.uint8], target: float | None = None) -> MixingWork:
    """Return one thread's work space, whose kernels `stop` interrupts, and which ends at an objective of `target`."""
    # the alphabet of a problem whose libraries grow may reach the width of `allowed`
    widest = np.full(problem.n_variables, problem.allowed.shape[1])
    return MixingWork(
        journal=new_journal(widest, problem.n_terms, problem.n_aux),
        subsets=np.zeros(2 * problem.n_variables + 1, np.int64),
        genes=np.zeros(problem.n_variables, np.int64),
        donors=np.zeros(0, np.int64),
        budget=np.zeros(1, np.int64),
        stop=stop,
        target=np.full(1, -np.inf if target is None else target),
    )


def solution_rows(data: PopulationData, i: int) -> Solution:
    """Return the rows of solution i of a population, as views."""
    return Solution(
        genotype=data.genotypes[i],
        terms=data.terms[i],
        aux=data.aux[i],
        objectives=data.objectives[i],
        violation=data.violations[i : i + 1],
    )


def put_back(data: PopulationData, i: int, former: Solution) -> None:
    """Give solution i of a population its former rows."""
    rows: Any = solution_rows(data, i)
    for row, of_former in zip(rows, former, strict=True):
        row[:] = of_former


def most_tries(problem: CompiledProblem) -> int:
    """Return the largest number of values that one climb tries for a gene that is not ordinal."""
    return problem.max_tries or problem.allowed.shape[1]


def climb_cost(problem: CompiledProblem, climbs: bool) -> int:
    """Return the largest number of evaluations of one climb, 0 without climbs."""
    others = np.minimum(problem.alphabet - 1, most_tries(problem))
    return int(np.where(problem.ordinal, 2, others).sum()) * climbs


def stall_limit(size: int) -> int:
    """Return the number of stalled generations above which improvement is forced in a population of `size`."""
    return 1 + floor(log10(size))


def variation_rules(
    problem: CompiledProblem,
    size: int,
    *,
    climbs: bool,
    forced_improvement: bool = False,
    search_donors: bool = False,
    immediate_elite: bool = False,
) -> MixingRules:
    """Return the options of variation for a population of `size`."""
    return MixingRules(
        alphabet=problem.alphabet,
        allowed=problem.allowed,
        ordinal=problem.ordinal,
        max_tries=most_tries(problem),
        stall_limit=stall_limit(size),
        forced_improvement=forced_improvement,
        local_search=climbs,
        search_donors=search_donors,
        immediate_elite=immediate_elite,
    )


def begun_prefix(tallies: NDArray[np.int64]) -> int:
    """Return the number of solutions up to the first one that has not begun."""
    not_run = np.flatnonzero(tallies[:, STATUS] == NOT_RUN)
    return int(not_run[0]) if len(not_run) else len(tallies)


def finished_prefix(tallies: NDArray[np.int64]) -> int:
    """Return the number of solutions that count: up to the first unfinished one, with this one if it has begun."""
    unfinished = np.flatnonzero(tallies[:, STATUS] != FINISHED)
    if not len(unfinished):
        return len(tallies)
    return int(unfinished[0]) + int(tallies[unfinished[0], STATUS] != NOT_RUN)


# the same with one thread, where another thread only lets the deadline be seen
_ALONE_SECONDS = 0.05

# a sample of refined solutions is the population's size divided by this number
_REFINED_SHARE = 8


class DiscreteSearch(Scheme, ABC):
    """The options and the call that the searches over discrete genes share."""

    linkage: str | LinkageModel
    local_search: bool | None  # None asks the problem
    forced_improvement: bool
    # donors are tried until one differs; the problem decides if None
    search_donors: bool | None

    def run(
        self,
        problem: CompiledProblem,
        limits: Limits,
        *,
        random_state: int | np.random.SeedSequence | None = None,
        n_jobs: int | None = 1,
        callback: Callback | None = None,
        initial: ArrayLike | None = None,
        checkpoint: CheckpointOption = None,
    ) -> Result:
        """Return the best solution within the limits, or with `MOGOMEA` the nondominated solutions.

        Parameters
        ----------
        problem : CompiledProblem
            Problem, with one objective for `GOMEA`.
        limits : Limits
            Limits of the run; ``target`` is for one objective and must be None for `MOGOMEA`.
        random_state : int or SeedSequence, optional
            Seed. The same seed gives the same result at any number of threads, unless a clock ended the run.
        n_jobs : int or None
            Number of threads: None is 1, -1 is all cores.
        callback : callable, optional
            Function that gets a `Progress` after every generation; a true return value stops the run.
        initial : array_like of int, shape (k, n_variables), optional
            Genotypes with which every population begins.
        checkpoint : Checkpoint or path, optional
            Folder for checkpoints, from which a run that was killed can go on.

        Raises
        ------
        GomeaBnError
            For an option that cannot be used, and for a checkpoint of another run.
        """
        run = self._new_run(
            problem, limits, random_state=random_state, n_jobs=n_jobs, callback=callback, initial=initial
        )
        return run.finish(opened_run(checkpoint, run, random_state))

    @abstractmethod
    def _new_run(self, problem: CompiledProblem, limits: Limits, **options: Any) -> DiscreteRun:
        """Return a run with these options."""


@dataclass
class DiscretePopulation:
    """One population of the scheme, with the generators of its blocks.

    For one objective it has the means of violations and objectives, for several its number of clusters and that of
    generations since the archive's latest addition.
    """

    data: PopulationData
    sampler: np.random.Generator
    generators: list[np.random.Generator]
    generations: int = 0
    active: bool = True
    # duration of the latest generation; the first one, which is long, is not run in the calling thread
    seconds: float = field(default=np.inf)
    mean: tuple[float, float] = (np.inf, np.inf)
    n_clusters: int = 1
    stalled: int = 0

    @property
    def size(self) -> int:
        """Number of solutions."""
        return len(self.data.parents)

    @property
    def converged(self) -> bool:
        """Whether all genotypes are equal."""
        return bool((self.data.parents == self.data.parents[0]).all())

    @property
    def finished(self) -> bool:
        """Whether the latest generation reached the end of every solution."""
        return bool((self.data.tallies[:, STATUS] == FINISHED).all())


class Turn(NamedTuple):
    """The way in which one generation is run."""

    n_blocks: int
    inline: bool  # in the calling thread
    began: float  # clock time in seconds
    left: int  # evaluations that are left, or `UNLIMITED` if the limit on them cannot end the generation
    cost_bound: int  # most evaluations of one solution


class DiscreteRun(MultiStartRun):
    """One run over discrete genes; a subclass has the populations' state, their variation and what it counts.

    Members of the problem that have a default may be missing. With `immediate` solutions see what others find within a
    generation, which takes one thread.
    """

    scheme: DiscreteSearch
    problem: CompiledProblem
    populations: list[Any]

    def __init__(
        self,
        settings: DiscreteSearch,
        problem: CompiledProblem,
        limits: Limits,
        *,
        random_state: int | np.random.SeedSequence | None = None,
        n_jobs: int | None = 1,
        callback: Callback | None = None,
        initial: ArrayLike | None = None,
        immediate: bool = False,
    ) -> None:
        problem = compiled_for(settings, problem, is_real=False)
        initial = in_numbers(problem, initial)
        nothing = np.empty((0, problem.n_variables), np.int16)
        self.initial = checked_genotypes(problem, nothing if initial is None else initial, "initial")
        self.immediate = immediate
        n_threads = thread_count(n_jobs) if problem.meeting is None else ROUND
        super().__init__(settings, problem, limits, random_state, callback, 1 if immediate else n_threads)
        model: Any = linkage_model(settings.linkage)
        self.linkage = model.for_run(self.stop.flag) if hasattr(model, "for_run") else model
        # a function of the problem alone, so that results do not depend on the number of threads
        # largest number of genes of a block of solutions
        self.block = max(1, min(problem.solutions_per_block, 1024 // max(problem.n_variables, 1)))
        self.climbs = problem.climbs if settings.local_search is None else settings.local_search
        self.searches = not problem.climbs if settings.search_donors is None else settings.search_donors
        self.works = [new_work(problem, self.stop.flag, limits.target) for _ in range(self.n_threads)]
        self.refiner: Refiner | None = problem.refiner(self.stop.flag)

    def _new_population(
        self, data: PopulationData, sampler: np.random.Generator, generators: list[np.random.Generator]
    ) -> DiscretePopulation:
        """Return a population of these solutions."""
        return DiscretePopulation(data, sampler, generators)

    @abstractmethod
    def _initialise(self, population: Any, cost_bound: int) -> None:
        """Evaluate a new population with at most `cost_bound` evaluations per solution."""

    @abstractmethod
    def _vary(self, population: Any) -> None:
        """Vary all solutions of a population once."""

    @abstractmethod
    def _refine(self, population: Any) -> None:
        """Let the problem's refiner, if there is one, work on some solutions of a population."""

    def newest(self) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.float64]]:
        """Return genotypes, objectives and violations of the population whose turn it was."""
        data = self._newest.data
        return data.parents, data.objectives, data.violations

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations."""
        return {**super().state(), "refiner": None if self.refiner is None else self.refiner.state()}

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        super().restore(state)
        if self.refiner is not None:
            self.refiner.restore(state["refiner"])

    def _population_state(self, population: Any) -> State:
        """Return a population as plain values and arrays."""
        return {
            "data": population.data._asdict(),
            "generators": generator_states([population.sampler, *population.generators]),
            "generations": population.generations,
            "active": population.active,
            "seconds": population.seconds,
        }

    def _population_of(self, saved: State, size: int) -> Any:
        """Return the population of `_population_state`, which has `size` solutions."""
        genotypes = np.zeros((size, self.problem.n_variables), np.int16)
        data = filled(new_population(self.problem, genotypes), saved["data"])
        for name in ("parents", "genotypes"):
            checked_genotypes(self.problem, saved["data"][name], name)
        sampler, *generators = generators_of(saved["generators"])
        population = self._new_population(data, sampler, generators)
        population.generations = saved["generations"]
        population.active = saved["active"]
        population.seconds = saved["seconds"]
        return population

    def _add_population(self, size: int) -> None:
        seeds = self.seeds.spawn(1)[0].spawn(self._n_blocks(size) + 1)
        sampler = np.random.default_rng(seeds[0])
        parents = self.problem.sample(sampler, size)
        n_given = min(size, len(self.initial))
        parents[:n_given] = self.initial[:n_given]
        generators = [np.random.default_rng(seed) for seed in seeds[1:]]
        population = self._new_population(new_population(self.problem, parents), sampler, generators)
        self.populations.append(population)
        self._initialise(population, 1 + climb_cost(self.problem, self.climbs))
        self._refine(population)

    def _generation(self, population: Any) -> None:
        np.copyto(population.data.genotypes, population.data.parents)
        population.data.tallies[:] = 0
        self._vary(population)
        self._refine(population)

    def _n_blocks(self, size: int) -> int:
        return -(-size // self.block)

    def _rules(self, size: int) -> MixingRules:
        return variation_rules(
            self.problem,
            size,
            climbs=self.climbs,
            forced_improvement=self.scheme.forced_improvement,
            search_donors=self.searches,
            immediate_elite=self.immediate,
        )

    def _cost_bound(self, n_subsets: int) -> int:
        """Return the largest number of evaluations of one solution's variation."""
        return 2 * n_subsets + 1 + climb_cost(self.problem, self.climbs)

    def _enlarge_works(self, n_subsets: int, n_donors: int) -> None:
        """Make room in the threads' work space for this number of subsets and donors."""
        for index, work in enumerate(self.works):
            if len(work.subsets) < n_subsets or len(work.donors) < n_donors:
                self.works[index] = work._replace(
                    subsets=np.zeros(max(n_subsets, len(work.subsets)), np.int64),
                    donors=np.zeros(max(n_donors, len(work.donors)), np.int64),
                )

    def _begin(self, population: DiscretePopulation, cost_bound: int) -> Turn:
        """Set the budgets for a generation with at most `cost_bound` evaluations per solution."""
        size = population.size
        left = self.limits.evaluations - self.n_eval
        # the limit cannot end the generation
        left = UNLIMITED if left >= cost_bound * size else int(left)
        self._set_budgets(left)
        self._newest = population
        return Turn(
            n_blocks=self._n_blocks(size),
            inline=population.seconds < (INLINE_SECONDS if self.n_threads > 1 else _ALONE_SECONDS),
            began=perf_counter(),
            left=left,
            cost_bound=cost_bound,
        )

    def _set_budgets(self, left: int) -> None:
        for work in self.works:
            work.budget[0] = left

    def _run_blocks(
        self,
        population: DiscretePopulation,
        turn: Turn,
        work_kind: str,
        blocks: range,
        vary_block: Callable[[Any, int, int, tuple[int, int]], None],
    ) -> None:
        """Run some blocks of a generation; ``vary_block(kernel data, thread, block, bounds)`` does one.

        Where the evaluation limit may end the generation, threads share the blocks that it cannot end, and the others
        run one after another with an exact budget.
        """
        size = population.size
        data = self.problem.kernel_data(self.n_threads)
        meeting = self.problem.meeting

        def run(part: range, n_threads: int) -> None:
            def task(thread: int, number: int) -> None:
                block = part[number]
                bounds = (block * self.block, min(size, (block + 1) * self.block))
                if meeting is not None:
                    meeting.block_begins(thread, block)
                vary_block(data[thread], thread, block, bounds)
                if meeting is not None:
                    meeting.block_ends(thread)
                data[thread] = self.problem.chunk_ended(thread, data[thread])

            self.execute(task, len(part), work_kind=work_kind, n_threads=n_threads, inline=turn.inline)

        if meeting is not None:
            if (left := self._left(population, turn)) > 0:
                self._set_budgets(UNLIMITED)
                meeting.limit(left, [work.budget for work in self.works], self.stop.flag)
                run(blocks, min(self.n_threads, left))
            self.problem.generation_ended()
            return
        while len(sure := self._sure_blocks(population, turn, blocks)) > 1:
            self._set_budgets(UNLIMITED)
            run(sure, self.n_threads)
            self._set_budgets(self._left(population, turn))
            # a target or the clock may have ended a block
            is_ended = finished_prefix(population.data.tallies) < min(size, sure.stop * self.block)
            blocks = range(sure.stop, sure.stop if is_ended else blocks.stop)
        if blocks:
            run(blocks, 1)
        self.problem.generation_ended()

    def _left(self, population: DiscretePopulation, turn: Turn) -> int:
        """Return the evaluations that are left after those of the generation so far."""
        return turn.left - int(population.data.tallies[:, EVALUATIONS].sum())

    def _sure_blocks(self, population: DiscretePopulation, turn: Turn, blocks: range) -> range:
        """Return the first of some blocks, which threads can share: they take fewer evaluations than are left."""
        if self.n_threads == 1:
            return blocks[:0]
        # with none left at its end a solution counts as cut short
        n_sure = (self._left(population, turn) - 1) // (turn.cost_bound * self.block)
        return blocks[: max(n_sure, 0)]

    def _n_counted(self, tallies: NDArray[np.int64]) -> int:
        """Return the number of solutions of a generation that count: those that have begun where threads meet."""
        return begun_prefix(tallies) if self.problem.meeting is not None else finished_prefix(tallies)

    def _count_evaluations(self, population: DiscretePopulation) -> int:
        """Count a generation up to its first unfinished solution, so that a limit repeats it; return how many count."""
        tallies = population.data.tallies
        n_counted = self._n_counted(tallies)
        self.n_eval += int(tallies[:n_counted, EVALUATIONS].sum())
        self.touched += int(tallies[:n_counted, TOUCHED].sum())
        # a generation that was stopped before its first evaluation does not count
        self.n_generations += n_counted > 0
        return n_counted

    def _learn_linkage(self, population: DiscretePopulation, groups: Sequence[Any]) -> list[Linkage]:
        """Return the linkage of each group of rows, learned on a thread if it may take long (deadline)."""
        learned: list[Linkage] = []

        def learn(_thread: int, _block: int) -> None:
            for rows in groups:
                parents = np.ascontiguousarray(population.data.parents[rows])
                answer = self.linkage.learn(parents, self.problem.alphabet, population.sampler)
                learned.append(
                    learned_linkage(self.scheme.linkage, "genes", answer, len(self.problem.alphabet))
                )

        # below this number of genes times solutions, linkage is learned in the calling thread
        inline = self.problem.n_variables * population.size < (1 << 16)
        self.execute(learn, 1, work_kind="linkage", n_threads=1, inline=inline)
        # a stopped run still gets a family, of which it uses nothing
        return (
            learned if len(learned) == len(groups) else [single_genes(self.problem.n_variables)] * len(groups)
        )

    def _refined_sample(self, size: int) -> int:
        """Return the size of the sample that is refined."""
        return max(1, size // _REFINED_SHARE)

    def _may_refine(self, refiner: Refiner) -> bool:
        """Return whether the limits and the refiner allow one more refinement."""
        return (
            not self.stop.flag[0]
            and self.n_eval < self.limits.evaluations
            and refiner.affordable(self.n_eval)
        )

    def _refined(self, population: DiscretePopulation, refiner: Refiner, i: int) -> Solution | None:
        """Replace solution i by its refinement, evaluate it and return its former rows; None if nothing has changed."""
        data = population.data
        improved: list[NDArray[np.int16]] = []

        def work(_thread: int, _block: int) -> None:
            improved.append(refiner.improved(data.genotypes[i], population.sampler, self._values_in_use))

        # the deadline ends a refinement, which takes longer than a generation
        self.execute(work, 1, work_kind="refine", n_threads=1, inline=False)
        if not improved or self.stop.flag[0] or (improved[0] == data.genotypes[i]).all():
            return None
        rows: Any = solution_rows(data, i)
        former = Solution(*(row.copy() for row in rows))
        data.genotypes[i] = improved[0]
        kernel_data = self.problem.kernel_data(1)[0]
        self.touched += int(evaluate_row(kernel_data, data, i, population.sampler, self.works[0]))
        self.n_eval += 1
        self.problem.generation_ended()
        return former

    def _values_in_use(self, gene: int) -> NDArray[np.int64]:
        """Return the values of a gene that the best solutions, the initial ones or an active population have."""
        columns = [self.best()[0][:, gene], self.initial[:, gene]]
        for population in self.populations:
            if population.active:
                columns += [population.data.parents[:, gene], population.data.genotypes[:, gene]]
        return np.unique(np.concatenate(columns)).astype(np.int64)
