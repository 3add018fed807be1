"""GOMEA for one objective: populations of growing size in turn, each mixing along its own linkage."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.elite_run import EliteRun
from gomea_bn.algorithms.multi_start import check_scheme
from gomea_bn.algorithms.populations import (
    ALONE_SECONDS,
    INLINE_CELLS,
    INLINE_SECONDS,
    REFINED_SHARE,
    UNLIMITED,
    Refiner,
    checked_genotypes,
    climb_cost,
    evaluated_anew,
    finished_prefix,
    new_population,
    new_work,
    variation_rules,
)
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.linkage.models import Linkage, LinkageModel, linkage_model
from gomea_bn.operators.kernels.mixing import (
    FINISHED,
    MixingRules,
    MixingWork,
    PopulationData,
    initialise_range,
    vary_range,
)
from gomea_bn.problems.base import CompiledProblem
from gomea_bn.runtime.limits import Callback, Limits, Result

__all__ = ["GOMEA"]


@dataclass(frozen=True)
class GOMEA:
    """Gene-pool optimal mixing with the interleaved multi-start scheme.

    Parameters
    ----------
    linkage : str or LinkageModel
        "tree" (NMI, filtered), "tree-mi", "tree-corrected", "univariate", or an object with ``learn``.
    local_search : bool, optional
        Climb once over all genes after initialisation and after mixing, for every solution and generation.
        None asks the problem: yes for network structure, no otherwise.
    forced_improvement : bool
        Solutions that did not change, or stalled for more than 1 + floor(log10 n) generations, take genes of the
        best solution until they improve, or become it.
    search_donors : bool
        Try donors in random order until one differs (exhaustive donor search) instead of one random donor.
    elite_update : {"generation", "immediate"}
        Whether the shared best solution stands still during a generation (needed for threads) or follows at once,
        as in the published code (one thread).
    refine : {"sample", "best", "doubling"}
        Which solutions a problem that can refine solutions itself works on, after every generation: the best one of
        the population and one in eight others, the best one, or the best one whenever the evaluations have doubled.
    base_population, growth : int
        Size of the first population; each further one is `growth` times larger.
    subgenerations : int
        Generations of a population per generation of the next larger one.
    max_population_size : int
        No larger population is started.

    Notes
    -----
    The schedule is a counter: after every `subgenerations`-th generation of a population the next larger one gets
    its turn, else the smallest active one does. A population stops, with all smaller ones, when a larger one has a
    better mean, and it stops when all its genotypes are equal. Means are taken after initialisation and local
    search, so that they can be compared from the start.
    """

    linkage: str | LinkageModel = "tree"
    local_search: bool | None = None
    forced_improvement: bool = True
    search_donors: bool = False
    elite_update: str = "generation"
    refine: str = "sample"
    base_population: int = 2
    growth: int = 2
    subgenerations: int = 4
    max_population_size: int = 1 << 17

    def __post_init__(self) -> None:
        if self.elite_update not in ("generation", "immediate"):
            raise GomeaBnError(
                f"elite_update must be 'generation' or 'immediate', got {self.elite_update!r}."
            )
        if self.refine not in ("sample", "best", "doubling"):
            raise GomeaBnError(f"refine must be 'sample', 'best' or 'doubling', got {self.refine!r}.")
        optional = ("local_search",) if self.local_search is not None else ()
        sizes = (("base_population", 1), ("growth", 2), ("subgenerations", 1), ("max_population_size", 1))
        check_scheme(self, ("forced_improvement", "search_donors", *optional), sizes)
        linkage_model(self.linkage)

    def run(
        self,
        problem: CompiledProblem,
        limits: Limits,
        *,
        seed: int | np.random.SeedSequence | None = None,
        n_threads: int = 1,
        callback: Callback | None = None,
        initial: ArrayLike | None = None,
    ) -> Result:
        """Return the best solution found within the limits.

        Parameters
        ----------
        problem : CompiledProblem
        limits : Limits
        seed : int or SeedSequence, optional
            Same seed, same result, at any number of threads (unless a clock ended the run).
        n_threads : int
        callback : callable, optional
            Gets a `Progress` after every generation; a true return value stops the run.
        initial : array_like of int, shape (k, n_variables), optional
            Genotypes that take the first places of every population.
        """
        return GomeaRun(self, problem, limits, seed, n_threads, callback, initial).finish()


@dataclass
class _Population:
    """One population of the scheme, with the generators of its blocks."""

    data: PopulationData
    sampler: np.random.Generator
    generators: list[np.random.Generator]
    generations: int = 0
    active: bool = True
    evaluated: bool = False
    mean: tuple[float, float] = (np.inf, np.inf)
    seconds: float = field(default=np.inf)

    @property
    def size(self) -> int:
        return len(self.data.parents)

    @property
    def converged(self) -> bool:
        return bool((self.data.parents == self.data.parents[0]).all())


class GomeaRun(EliteRun):
    """One run of GOMEA."""

    populations: list[_Population]

    def __init__(
        self,
        settings: GOMEA,
        problem: CompiledProblem,
        limits: Limits,
        seed: int | np.random.SeedSequence | None,
        n_threads: int,
        callback: Callback | None,
        initial: ArrayLike | None,
    ) -> None:
        if not is_integer(n_threads) or n_threads < 1:
            raise GomeaBnError(f"n_threads must be an integer of at least 1, got {n_threads!r}.")
        nothing = np.empty((0, problem.n_variables), np.int16)
        self.initial = checked_genotypes(problem, nothing if initial is None else initial, "initial")
        model = linkage_model(settings.linkage)
        threads = 1 if settings.elite_update == "immediate" else n_threads
        super().__init__(settings, problem, limits, seed, callback, threads, np.int16)
        self.settings = settings
        self.linkage = model.for_run(self.stop.flag) if hasattr(model, "for_run") else model
        # fixed by the problem alone, so that results do not depend on the number of threads
        self.block = max(1, min(16, 1024 // max(problem.n_variables, 1)))
        asked = settings.local_search
        self.climbs = bool(getattr(problem, "climbs", False)) if asked is None else asked
        self.works = [new_work(problem, self.stop.flag, limits.target) for _ in range(self.n_threads)]
        self.refiner: Refiner | None = (
            problem.refiner(self.stop.flag) if hasattr(problem, "refiner") else None
        )
        self._refined_at = 0

    def newest(self) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.float64]]:
        """Return genotypes, objectives and violations of the population whose turn it was."""
        data = self._newest.data
        return data.parents, data.objectives, data.violations

    def _rules(self, size: int) -> MixingRules:
        settings = self.settings
        return variation_rules(
            self.problem,
            size,
            climbs=self.climbs,
            forced_improvement=settings.forced_improvement,
            search_donors=settings.search_donors,
            immediate_elite=settings.elite_update == "immediate",
        )

    def _add_population(self, size: int) -> None:
        problem = self.problem
        n_blocks = -(-size // self.block)
        seeds = self.seeds.spawn(1)[0].spawn(n_blocks + 1)
        sampler = np.random.default_rng(seeds[0])
        parents = problem.sample(sampler, size)
        given = min(size, len(self.initial))
        parents[:given] = self.initial[:given]
        data = new_population(problem, parents)
        population = _Population(data, sampler, [np.random.default_rng(s) for s in seeds[1:]])
        if self.populations:
            population.seconds = self.settings.growth * self.populations[-1].seconds
        self.populations.append(population)
        rules = self._rules(size)

        def kernel(data: Any, block: int, work: MixingWork, first: int, last: int) -> None:
            generator = population.generators[block]
            initialise_range(data, population.data, rules, generator, work, first, last)

        self._run_blocks(population, kernel, 1 + climb_cost(problem, self.climbs))
        self._refine(population)

    def _generation(self, population: _Population) -> None:
        data = population.data
        linkage = self._learn_linkage(population)
        rules = self._rules(population.size)
        for work_index, work in enumerate(self.works):
            if len(work.subsets) < len(linkage.starts) or len(work.donors) < population.size:
                self.works[work_index] = work._replace(
                    subsets=np.zeros(max(len(linkage.starts), len(work.subsets)), np.int64),
                    donors=np.zeros(max(population.size, len(work.donors)), np.int64),
                )
        np.copyto(data.genotypes, data.parents)
        data.tallies[:] = 0

        def kernel(kernel_data: Any, block: int, work: MixingWork, first: int, last: int) -> None:
            generator = population.generators[block]
            vary_range(kernel_data, data, self.elite, linkage, rules, generator, work, (first, last))

        cost = 2 * len(linkage.starts) + 1 + climb_cost(self.problem, self.climbs)
        self._run_blocks(population, kernel, cost)
        self._refine(population)
        population.generations += 1

    def _refine(self, population: _Population) -> None:
        """Let the problem's refiner work on the best solution of a population and on a sample of the others."""
        refiner, data = self.refiner, population.data
        if refiner is None or not (data.tallies[:, 0] == FINISHED).all():
            return
        best = int(np.lexsort((data.objectives[:, 0], data.violations))[0])
        chosen = [best]
        if self.settings.refine == "sample":
            n_others = max(1, population.size // REFINED_SHARE)
            others = np.delete(np.arange(population.size), best)
            chosen += population.sampler.permutation(others)[:n_others].tolist()
        elif self.settings.refine == "doubling" and self.n_eval < 2 * self._refined_at:
            return
        self._refined_at = self.n_eval
        for i in chosen:
            while not self.stop.reason and self.n_eval < self.limits.evaluations:
                if not refiner.affordable(self.n_eval) or not self._refine_one(population, refiner, i):
                    break
        population.mean = (float(data.violations.mean()), float(data.objectives[:, 0].mean()))

    def _refine_one(self, population: _Population, refiner: Refiner, i: int) -> bool:
        """Refine a solution; returns whether it is better now."""
        data = population.data
        found: list[NDArray[np.int16]] = []

        def work(_thread: int, _block: int) -> None:
            found.append(refiner.improved(data.genotypes[i], population.sampler, self._values_in_use))

        self.execute(work, 1, what="refine", n_threads=1, inline=population.seconds < ALONE_SECONDS)
        if not found or self.stop.flag[0] or (found[0] == data.genotypes[i]).all():
            return False
        former = evaluated_anew(self.problem, data, i, found[0], population.sampler, self.works[0])
        self.n_eval += 1
        self.touched += former.touched
        if (data.violations[i], data.objectives[i, 0]) >= (former.violation, former.objectives[0]):
            former.restore(data, i)
            return False
        data.parents[i] = data.genotypes[i]
        one = slice(i, i + 1)
        self.note_best(data.genotypes[one], data.objectives[one], data.violations[one], population.size)
        return True

    def _values_in_use(self, gene: int) -> NDArray[np.int64]:
        """Return the values of a gene that the best solution or a population has."""
        held = [self.elite.genotype[gene : gene + 1]]
        for population in self.populations:
            if population.active:
                held += [population.data.parents[:, gene], population.data.genotypes[:, gene]]
        return np.unique(np.concatenate([*held, self.initial[:, gene]])).astype(np.int64)

    def _learn_linkage(self, population: _Population) -> Linkage:
        """Learn the linkage of a population on a thread where it may take long, so that the deadline is seen."""
        learned: list[Linkage] = []

        def learn(_thread: int, _block: int) -> None:
            parents = population.data.parents
            learned.append(self.linkage.learn(parents, self.problem.alphabet, population.sampler))

        inline = self.problem.n_variables * population.size < INLINE_CELLS
        self.execute(learn, 1, what="linkage", n_threads=1, inline=inline)
        if not learned:
            genes = np.arange(self.problem.n_variables)
            return Linkage(genes, genes, np.ones(len(genes), np.int64))
        return learned[0]

    def _run_blocks(self, population: _Population, kernel: Any, cost_bound: int) -> None:
        """Run one generation's blocks, then count, merge finds, and update best, mean and parents.

        Where the evaluation limit might fall inside, blocks run one after another with an exact budget. A generation
        that was interrupted counts up to its first unfinished solution, so that the same number of evaluations as
        a limit repeats it exactly.
        """
        size, block = population.size, self.block
        n_blocks = -(-size // block)
        left = self.limits.evaluations - self.n_eval
        sequential = left < cost_bound * size
        n_threads = 1 if sequential else min(self.n_threads, n_blocks)
        data = self.problem.kernel_data(self.n_threads)
        for work in self.works:
            work.budget[0] = int(left) if sequential else UNLIMITED

        def task(thread: int, number: int) -> None:
            work = self.works[thread]
            kernel(data[thread], number, work, number * block, min(size, (number + 1) * block))
            data[thread] = self.problem.chunk_ended(thread, data[thread])

        began = perf_counter()
        inline = population.seconds < (INLINE_SECONDS if self.n_threads > 1 else ALONE_SECONDS)
        self._newest = population
        what = "vary" if population.generations or population.evaluated else "initialise"
        self.execute(task, n_blocks, what=what, n_threads=n_threads, inline=inline)
        population.evaluated = True
        population.seconds = perf_counter() - began
        self.problem.generation_ended()
        self._count(population)

    def _count(self, population: _Population) -> None:
        data = population.data
        n_counted = finished_prefix(data.tallies)
        self.n_eval += int(data.tallies[:n_counted, 1].sum())
        self.touched += int(data.tallies[:n_counted, 2].sum())
        # a generation that was stopped before its first evaluation has not happened
        self.n_generations += n_counted > 0
        if n_counted:
            found = (data.genotypes[:n_counted], data.objectives[:n_counted], data.violations[:n_counted])
            self.note_best(*found, population.size)
        if (data.tallies[:, 0] == FINISHED).all():
            np.copyto(data.parents, data.genotypes)
            population.mean = (float(data.violations.mean()), float(data.objectives[:, 0].mean()))
