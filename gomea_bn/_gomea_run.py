"""The state of one GOMEA run: populations, blocks on threads, exact budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import floor, log10
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn._elite_run import EliteRun
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.limits import Callback, Limits
from gomea_bn.linkage.models import Linkage, linkage_model
from gomea_bn.operators._kernels import (
    FINISHED,
    NOT_RUN,
    MixingRules,
    MixingWork,
    PopulationData,
    evaluate_row,
    initialise_range,
    vary_range,
)
from gomea_bn.problems.base import CompiledProblem, new_journal

if TYPE_CHECKING:
    from gomea_bn.gomea import GOMEA

__all__ = [
    "REFINED_SHARE",
    "FormerRow",
    "GomeaRun",
    "Refiner",
    "checked_genotypes",
    "climb_cost",
    "evaluated_anew",
    "finished_prefix",
    "most_tries",
    "new_population",
    "new_work",
    "variation_rules",
]

UNLIMITED = 2**62
# below this expected time a generation runs in the calling thread
INLINE_SECONDS = 2e-3
# the same where there is only one thread: handing over then only serves the deadline
ALONE_SECONDS = 0.05
# below this many genes times solutions, so does learning linkage
INLINE_CELLS = 1 << 16


# one in so many solutions is refined after each generation, beside the best one
REFINED_SHARE = 8


class Refiner(Protocol):
    """Improves solutions by what only their problem knows."""

    def improved(
        self,
        genotype: NDArray[np.int16],
        generator: np.random.Generator,
        in_use: Callable[[int], NDArray[np.int64]],
    ) -> NDArray[np.int16]:
        """Return a genotype that is at least as good; `in_use` tells which values of a gene solutions have."""

    def affordable(self, n_eval: int) -> bool:
        """Return whether the work done so far is in proportion to so many evaluations of the search."""


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


def checked_genotypes(problem: CompiledProblem, genotypes: ArrayLike, what: str) -> NDArray[np.int16]:
    """Return genotypes, shape (k, n_variables), each gene with a value that the problem allows."""
    given = np.asarray(genotypes)
    if given.ndim != 2 or given.shape[1] != problem.n_variables or not np.issubdtype(given.dtype, np.integer):
        raise GomeaBnError(
            f"{what} must be integers of shape (k, {problem.n_variables}), got {given.dtype} of shape {given.shape}."
        )
    known = (given >= 0) & (given < problem.alphabet)
    genes = np.broadcast_to(np.arange(problem.n_variables), given.shape)
    wrong = np.argwhere(~(known & problem.allowed[genes, np.where(known, given, 0)]))
    if len(wrong):
        row, gene = wrong[0].tolist()
        raise GomeaBnError(
            f"{what}: row {row} has the value {given[row, gene]} in gene {gene}, which is not allowed."
        )
    return given.astype(np.int16)


def new_population(problem: CompiledProblem, parents: NDArray[np.int16]) -> PopulationData:
    """Return a population of these genotypes that has not been evaluated."""
    size = len(parents)
    return PopulationData(
        parents,
        parents.copy(),
        np.zeros((size, problem.n_terms)),
        np.zeros((size, problem.n_aux), np.uint64),
        np.full((size, problem.n_objectives), np.inf),
        np.full(size, np.inf),
        np.zeros(size, np.int64),
        np.zeros((size, 4), np.int64),
    )


def new_work(problem: CompiledProblem, stop: NDArray[np.uint8], target: float | None = None) -> MixingWork:
    """Return one thread's work space."""
    return MixingWork(
        # the alphabet of a problem whose libraries grow may reach the width of `allowed`
        new_journal(np.full(problem.n_variables, problem.allowed.shape[1]), problem.n_terms, problem.n_aux),
        np.zeros(2 * problem.n_variables + 1, np.int64),
        np.zeros(problem.n_variables, np.int64),
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
        stop,
        np.full(1, -np.inf if target is None else target),
    )


@dataclass(frozen=True)
class FormerRow:
    """A solution's rows as they were, and how many terms its new evaluation touched."""

    rows: tuple[NDArray[Any], ...]
    violation: float
    touched: int

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Return the former objectives."""
        return self.rows[-1]

    def restore(self, data: PopulationData, i: int) -> None:
        """Write the rows back."""
        for row, former in zip(_rows_of(data, i), self.rows, strict=True):
            row[:] = former
        data.violations[i] = self.violation


def _rows_of(data: PopulationData, i: int) -> tuple[NDArray[Any], ...]:
    return data.genotypes[i], data.terms[i], data.aux[i], data.objectives[i]


def evaluated_anew(
    problem: CompiledProblem,
    data: PopulationData,
    i: int,
    genotype: NDArray[np.int16],
    generator: np.random.Generator,
    work: MixingWork,
) -> FormerRow:
    """Give solution i of a population another genotype, evaluate it, and return what it was before."""
    former = tuple(row.copy() for row in _rows_of(data, i))
    violation = float(data.violations[i])
    data.genotypes[i] = genotype
    touched = evaluate_row(problem.kernel_data(1)[0], data, i, generator, work)
    problem.generation_ended()
    return FormerRow(former, violation, int(touched))


def most_tries(problem: CompiledProblem) -> int:
    """Return how many other values of a gene that is not ordinal one climb tries."""
    return getattr(problem, "max_tries", 0) or problem.allowed.shape[1]


def climb_cost(problem: CompiledProblem, climbs: bool) -> int:
    """Return the most evaluations of one climb."""
    others = np.minimum(problem.alphabet - 1, most_tries(problem))
    return int(np.where(problem.ordinal, 2, others).sum()) * climbs


def variation_rules(
    problem: CompiledProblem, size: int, *, climbs: bool, settings: GOMEA | None = None
) -> MixingRules:
    """Return the options of variation for a population of `size`."""
    return MixingRules(
        problem.alphabet,
        problem.allowed,
        problem.ordinal,
        most_tries(problem),
        1 + floor(log10(size)),
        settings is not None and settings.forced_improvement,
        climbs,
        settings is not None and settings.search_donors,
        settings is not None and settings.elite_update == "immediate",
    )


def finished_prefix(tallies: NDArray[np.int64]) -> int:
    """Return how many solutions count: those before the first unfinished one, and that one if it was begun."""
    unfinished = np.flatnonzero(tallies[:, 0] != FINISHED)
    if not len(unfinished):
        return len(tallies)
    return int(unfinished[0]) + int(tallies[unfinished[0], 0] != NOT_RUN)


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
        return variation_rules(self.problem, size, climbs=self.climbs, settings=self.settings)

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
