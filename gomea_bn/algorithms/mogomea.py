"""MOGOMEA: gene-pool optimal mixing for several objectives, with an elitist archive."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, log10
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.archive import ElitistArchive, new_archive
from gomea_bn.algorithms.clusters import balanced_clusters, extreme_clusters
from gomea_bn.algorithms.multi_start import MultiStartRun, check_scheme
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
    most_tries,
    new_population,
    new_work,
)
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.linkage.models import Linkage, LinkageModel, linkage_model
from gomea_bn.operators.kernels.archive import REFUSED_FULL, Archive, clear
from gomea_bn.operators.kernels.front_mixing import (
    Clusters,
    FrontSearch,
    FrontWork,
    initialise_front,
    vary_front,
)
from gomea_bn.operators.kernels.mixing import FINISHED, MixingRules, PopulationData
from gomea_bn.problems.base import CompiledProblem
from gomea_bn.runtime.limits import Callback, FrontHistoryEntry, Limits, Progress, Result

__all__ = ["MOGOMEA"]


@dataclass(frozen=True)
class MOGOMEA:
    """Multi-objective GOMEA with the interleaved multi-start scheme (Luong, La Poutre & Bosman 2014, 2018).

    A population is cut into balanced clusters in objective space, each with a linkage model of its own and donors
    from within; the clusters at the ends of the front improve one objective alone.

    Parameters
    ----------
    linkage : str or LinkageModel
        "tree-corrected" (NMI less its bias, which clusters of a few solutions make large), "tree" (NMI, filtered),
        "tree-mi", "univariate", or an object with ``learn``.
    local_search : bool, optional
        Climb once over all genes after initialisation and after mixing: by the cluster's objective in an extreme
        cluster, else by a weighted sum, whatever `mixing` says. None asks the problem.
    forced_improvement : bool
        Solutions that did not change, and all once the population stalled for more than 1 + floor(log10 n)
        generations, take genes of archive members until they improve, or become one.
    search_donors : bool
        Try the cluster's donors in random order until one differs instead of one random donor.
    mixing : {"weights", "dominance"}
        What decides whether a step is kept outside the extreme clusters: a weighted sum of the objectives, scaled by
        their ranges in the archive, with weights drawn anew for every solution and generation; or, as in the published
        code, that nothing gets worse or that no archive member dominates the result.
    archive_update : {"generation", "immediate"}
        Whether the archive stands still while blocks of solutions vary (needed for threads), or takes in every
        evaluated solution at once, as in the published code (one thread).
    archive_size : int
        Wanted size of the archive; see `ElitistArchive`.
    base_population, growth : int
        Size of the first population; each further one is `growth` times larger.
    base_clusters : int, optional
        Clusters of the first population; number of objectives + 1 if not given. Each further one has one more.
    max_clusters : int
        No population has more.
    subgenerations : int
        Generations of a population, its initialisation included, per generation of the next larger one.
    max_population_size : int
        No larger population is started.

    Notes
    -----
    Feasible solutions come before infeasible ones, and those in the order of their violation. In an extreme cluster a
    step is kept if the cluster's objective does not get worse. Every solution that is evaluated is offered to the
    archive, kept or not, so that weighted sums lose no part of a front that is not convex. A population stops when all
    its genotypes are equal.
    """

    linkage: str | LinkageModel = "tree-corrected"
    local_search: bool | None = None
    forced_improvement: bool = True
    search_donors: bool = True
    mixing: str = "weights"
    archive_update: str = "generation"
    archive_size: int = 10_000
    base_population: int = 8
    growth: int = 2
    base_clusters: int | None = None
    max_clusters: int = 20
    subgenerations: int = 2
    max_population_size: int = 1 << 17

    def __post_init__(self) -> None:
        if self.archive_update not in ("generation", "immediate"):
            raise GomeaBnError(
                f"archive_update must be 'generation' or 'immediate', got {self.archive_update!r}."
            )
        if self.mixing not in ("weights", "dominance"):
            raise GomeaBnError(f"mixing must be 'weights' or 'dominance', got {self.mixing!r}.")
        optional = ("local_search",) if self.local_search is not None else ()
        sizes = (
            ("archive_size", 1),
            ("base_population", 1),
            ("growth", 2),
            ("max_clusters", 1),
            ("subgenerations", 1),
            ("max_population_size", 1),
        )
        check_scheme(self, ("forced_improvement", "search_donors", *optional), sizes)
        if self.base_clusters is not None and (not is_integer(self.base_clusters) or self.base_clusters < 1):
            raise GomeaBnError(
                f"base_clusters must be an integer of at least 1 or None, got {self.base_clusters!r}."
            )
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
        """Return the nondominated solutions found within the limits.

        Parameters
        ----------
        problem : CompiledProblem
        limits : Limits
            Its ``target`` is for one objective and must be None.
        seed : int or SeedSequence, optional
            Same seed, same result, at any number of threads (unless a clock ended the run).
        n_threads : int
        callback : callable, optional
            Gets a `Progress` after every generation; a true return value stops the run.
        initial : array_like of int, shape (k, n_variables), optional
            Genotypes that take the first places of every population.
        """
        return FrontRun(self, problem, limits, seed, n_threads, callback, initial).finish()


# blocks of solutions that vary on one state of the archive; their finds are merged before the next ones
_WAVE = 64


_MOST_FINDS = 512


_FIND_BYTES = 1 << 21


# objectives beyond this count as infinite, for sums of them would be
_INFINITE = 1e300


# in immediate mode a block of solutions may need this room in the archive, whatever the wanted size
_LEAST_ROOM = 1024


# in immediate mode the grid is also adapted between generations above this many times the wanted size
_OVERFLOW = 2.0


@dataclass
class _Population:
    """One population of the scheme, with the generators of its blocks."""

    data: PopulationData
    sampler: np.random.Generator
    generators: list[np.random.Generator]
    n_clusters: int
    generations: int = 0
    active: bool = True
    stalled: int = 0
    seconds: float = field(default=np.inf)

    @property
    def size(self) -> int:
        return len(self.data.parents)

    @property
    def converged(self) -> bool:
        return bool((self.data.parents == self.data.parents[0]).all())


class _Variation(NamedTuple):
    """What all waves of a generation share."""

    population: _Population
    clusters: Clusters
    kernel: Any
    what: str
    rules: MixingRules
    stalled: bool
    n_threads: int
    inline: bool
    scale: NDArray[np.float64]  # (m,) of objectives in weighted sums
    room: int  # new members that a block may need in the archive


def _bounded(objectives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return objectives (n, m), infinite ones one range beyond the finite ones, which stay comparable that way."""
    finite = np.abs(objectives) < _INFINITE
    low = np.where(finite, objectives, np.inf).min(axis=0)
    high = np.where(finite, objectives, -np.inf).max(axis=0)
    low, high = np.where(finite.any(axis=0), low, 0.0), np.where(finite.any(axis=0), high, 0.0)
    beyond = np.where(high > low, high - low, 1.0)
    found: NDArray[np.float64] = np.clip(objectives, low - beyond, high + beyond)
    return found


class FrontRun(MultiStartRun):
    """One run of MOGOMEA."""

    populations: list[_Population]

    def __init__(
        self,
        settings: MOGOMEA,
        problem: CompiledProblem,
        limits: Limits,
        seed: int | np.random.SeedSequence | None,
        n_threads: int,
        callback: Callback | None,
        initial: ArrayLike | None,
    ) -> None:
        if not is_integer(n_threads) or n_threads < 1:
            raise GomeaBnError(f"n_threads must be an integer of at least 1, got {n_threads!r}.")
        if limits.target is not None:
            raise GomeaBnError(
                f"target is for one objective, got {limits.target!r} for {problem.n_objectives}; stop by callback."
            )
        nothing = np.empty((0, problem.n_variables), np.int16)
        self.initial = checked_genotypes(problem, nothing if initial is None else initial, "initial")
        self.immediate = settings.archive_update == "immediate"
        super().__init__(settings, problem, limits, seed, callback, 1 if self.immediate else n_threads)
        self.settings = settings
        model = linkage_model(settings.linkage)
        self.linkage = model.for_run(self.stop.flag) if hasattr(model, "for_run") else model
        self.archive = ElitistArchive(problem.n_variables, problem.n_objectives, settings.archive_size)
        self.history: list[FrontHistoryEntry] = []
        # fixed by the problem alone, so that results do not depend on the number of threads
        self.block = max(1, min(16, 1024 // max(problem.n_variables, 1)))
        asked = settings.local_search
        self.climbs = bool(getattr(problem, "climbs", False)) if asked is None else asked
        self.works = [
            FrontWork(
                new_work(problem, self.stop.flag),
                np.zeros(problem.n_objectives),
                np.zeros(problem.n_objectives),
                np.zeros(problem.n_objectives),
                np.zeros(2, np.int64),
            )
            for _ in range(self.n_threads)
        ]
        self.refiner: Refiner | None = (
            problem.refiner(self.stop.flag) if hasattr(problem, "refiner") else None
        )
        self._find_capacity = max(16, min(_MOST_FINDS, _FIND_BYTES // (2 * max(problem.n_variables, 1))))
        self._finds: list[Archive] = []
        self._refused = 0

    def result(self) -> Result:
        """Return the front so far, ordered by the first objective, then the next ones."""
        order = np.lexsort(self.archive.objectives.T[::-1])
        return Result(
            X=self.archive.genotypes[order],
            F=self.archive.objectives[order],
            time_to_best=self.history[-1].seconds if self.history else 0.0,
            history=self.history,
            extra={
                "violation": np.zeros(len(order)),
                "n_eval_at_last_addition": self.n_eval_at_best,
                "refused_by_full_archive": self.archive.refused + self._refused,
            },
            **self.totals(),
        )

    def best(self) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.float64]]:
        """Return the archive's genotypes, objectives and violations."""
        return self.archive.genotypes, self.archive.objectives, np.zeros(len(self.archive))

    def newest(self) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.float64]]:
        """Return genotypes, objectives and violations of the population whose turn it was."""
        data = self._newest.data
        return data.parents, data.objectives, data.violations

    def progress(self) -> Progress:
        """Return the state of the run; `best` is the least value of the first objective."""
        least = self.archive.objectives[:, 0].min(initial=np.inf)
        return Progress(best=float(least), archive_size=len(self.archive), **self.counts())

    def _overtaken(self) -> list[Any]:
        return []

    def _rules(self) -> MixingRules:
        settings, problem = self.settings, self.problem
        return MixingRules(
            problem.alphabet,
            problem.allowed,
            problem.ordinal,
            most_tries(problem),
            0,
            settings.forced_improvement,
            self.climbs,
            settings.search_donors,
            self.immediate,
        )

    def _add_population(self, size: int) -> None:
        problem, settings = self.problem, self.settings
        n_blocks = -(-size // self.block)
        seeds = self.seeds.spawn(1)[0].spawn(n_blocks + 1)
        sampler = np.random.default_rng(seeds[0])
        parents = problem.sample(sampler, size)
        given = min(size, len(self.initial))
        parents[:given] = self.initial[:given]
        first = settings.base_clusters or problem.n_objectives + 1
        n_clusters = min(first + len(self.populations), settings.max_clusters, size)
        generators = [np.random.default_rng(s) for s in seeds[1:]]
        population = _Population(new_population(problem, parents), sampler, generators, n_clusters)
        if self.populations:
            population.seconds = settings.growth * self.populations[-1].seconds
        self.populations.append(population)
        nobody = np.zeros(0, np.int64)
        clusters = Clusters(nobody, nobody, nobody, nobody, Linkage(nobody, nobody, nobody), nobody)
        cost = 1 + climb_cost(problem, self.climbs)
        self._run_waves(population, clusters, initialise_front, "initialise", cost)
        self._refine(population)

    def _generation(self, population: _Population) -> None:
        data = population.data
        clusters = self._learn_clusters(population)
        most_subsets = int(np.diff(clusters.subset_starts).max())
        largest = int(np.diff(clusters.member_starts).max())
        for index, work in enumerate(self.works):
            mixing = work.mixing
            if len(mixing.subsets) < most_subsets or len(mixing.donors) < largest:
                mixing = mixing._replace(
                    subsets=np.zeros(max(most_subsets, len(mixing.subsets)), np.int64),
                    donors=np.zeros(max(largest, len(mixing.donors)), np.int64),
                )
                self.works[index] = work._replace(mixing=mixing)
        np.copyto(data.genotypes, data.parents)
        data.tallies[:] = 0
        cost = 2 * most_subsets + 1 + climb_cost(self.problem, self.climbs)
        self._run_waves(population, clusters, vary_front, "vary", cost)
        self._refine(population)

    def _refine(self, population: _Population) -> None:
        """Let the problem's refiner work on a sample of a population, and offer what it finds to the archive."""
        refiner, data = self.refiner, population.data
        if refiner is None or not (data.tallies[:, 0] == FINISHED).all():
            return
        additions = self.archive.additions
        n_chosen = max(1, population.size // REFINED_SHARE)
        for i in population.sampler.permutation(population.size)[:n_chosen].tolist():
            affordable = refiner.affordable(self.n_eval) and self.n_eval < self.limits.evaluations
            if self.stop.flag[0] or not affordable:
                break
            self._refine_one(population, refiner, i)
        if self.archive.additions > additions:
            self._note_additions(population)
            self.archive.adapt()

    def _refine_one(self, population: _Population, refiner: Refiner, i: int) -> None:
        """Refine a solution, which stays as it was if the outcome is dominated by it or violates more."""
        data = population.data
        found: list[NDArray[np.int16]] = []

        def work(_thread: int, _block: int) -> None:
            found.append(refiner.improved(data.genotypes[i], population.sampler, self._values_in_use))

        self.execute(work, 1, what="refine", n_threads=1, inline=population.seconds < ALONE_SECONDS)
        if not found or self.stop.flag[0] or (found[0] == data.genotypes[i]).all():
            return
        former = evaluated_anew(self.problem, data, i, found[0], population.sampler, self.works[0].mixing)
        self.n_eval += 1
        self.touched += former.touched
        clock = self.works[0].clock
        clock[0] += 1
        if data.violations[i] == 0 and self.archive.offer(
            data.genotypes[i : i + 1], data.objectives[i : i + 1]
        ):
            clock[1] = clock[0]
        worse = data.violations[i] > former.violation
        if worse or (
            data.violations[i] == former.violation and (former.objectives <= data.objectives[i]).all()
        ):
            former.restore(data, i)
        else:
            data.parents[i] = data.genotypes[i]

    def _values_in_use(self, gene: int) -> NDArray[np.int64]:
        """Return the values of a gene that a member of the archive or a population has."""
        held = [self.archive.genotypes[:, gene], self.initial[:, gene]]
        for population in self.populations:
            if population.active:
                held += [population.data.parents[:, gene], population.data.genotypes[:, gene]]
        return np.unique(np.concatenate(held)).astype(np.int64)

    def _learn_clusters(self, population: _Population) -> Clusters:
        """Cluster a population and learn the linkage of each cluster, on a thread where it may take long."""
        data, generator = population.data, population.sampler
        objectives = _bounded(data.objectives)
        members, of_solution = balanced_clusters(objectives, population.n_clusters, generator)
        learned: list[Linkage] = []

        def learn(_thread: int, _block: int) -> None:
            for cluster in members:
                parents = np.ascontiguousarray(data.parents[cluster])
                learned.append(self.linkage.learn(parents, self.problem.alphabet, generator))

        inline = self.problem.n_variables * population.size < INLINE_CELLS
        self.execute(learn, 1, what="linkage", n_threads=1, inline=inline)
        if len(learned) < len(members):
            genes = np.arange(self.problem.n_variables)
            learned = [Linkage(genes, genes, np.ones(len(genes), np.int64))] * len(members)
        offsets = np.cumsum([0] + [len(one.members) for one in learned])
        return Clusters(
            of_solution,
            extreme_clusters(objectives, members, generator),
            np.concatenate(members).astype(np.int64),
            np.cumsum([0] + [len(one) for one in members]),
            Linkage(
                np.concatenate([one.members for one in learned]),
                np.concatenate([one.starts + offset for one, offset in zip(learned, offsets)]),
                np.concatenate([one.sizes for one in learned]),
            ),
            np.cumsum([0] + [len(one.starts) for one in learned]),
        )

    def _run_waves(
        self, population: _Population, clusters: Clusters, kernel: Any, what: str, cost_bound: int
    ) -> None:
        """Run one generation's blocks in waves, merging what each wave found, then count and update parents.

        As with one objective, a generation that the evaluation limit may end runs block after block with an exact
        budget, and one that was interrupted counts, and adds to the archive, up to its first unfinished solution.
        """
        size = population.size
        n_blocks = -(-size // self.block)
        left = self.limits.evaluations - self.n_eval
        sequential = left < cost_bound * size
        for work in self.works:
            work.mixing.budget[0] = int(left) if sequential else UNLIMITED
        variation = _Variation(
            population,
            clusters,
            kernel,
            f"{what} front",
            self._rules(),
            population.stalled > 1 + floor(log10(size)),
            1 if sequential else self.n_threads,
            population.seconds < (INLINE_SECONDS if self.n_threads > 1 else ALONE_SECONDS),
            self._scale(),
            min(cost_bound * self.block, max(4 * self.settings.archive_size, _LEAST_ROOM)),
        )
        additions = self.archive.additions
        began = perf_counter()
        self._newest = population
        wave = 1 if self.immediate else _WAVE
        for start in range(0, n_blocks, wave):
            end = min(start + wave, n_blocks)
            self._run_wave(variation, start, end)
            if finished_prefix(population.data.tallies) < min(size, end * self.block) or self.stop.flag[0]:
                break
        population.seconds = perf_counter() - began
        self._count(population, additions)

    def _scale(self) -> NDArray[np.float64]:
        """Return one over each objective's range in the archive; 1 where there is none."""
        if not len(self.archive):
            return np.ones(self.problem.n_objectives)
        spans = np.ptp(_bounded(self.archive.objectives), axis=0)
        return 1.0 / np.where(spans > 0, spans, 1.0)

    def _run_wave(self, variation: _Variation, start: int, end: int) -> None:
        """Vary blocks `start` to `end` (exclusive) on the archive as it is, then merge their finds in order."""
        problem, population, block = self.problem, variation.population, self.block
        if self.immediate:
            if len(self.archive) > _OVERFLOW * self.settings.archive_size:
                self.archive.adapt()
            self.archive.reserve(variation.room)
        while len(self._finds) < end - start:
            capacity = 1 if self.immediate else self._find_capacity
            self._finds.append(new_archive(capacity, problem.n_variables, problem.n_objectives))
        archive = self.archive.data
        data = problem.kernel_data(self.n_threads)

        def task(thread: int, number: int) -> None:
            finds = self._finds[number]
            clear(finds)
            finds.widths[:] = archive.widths
            first = (start + number) * block
            variation.kernel(
                data[thread],
                population.data,
                FrontSearch(
                    archive,
                    finds,
                    variation.clusters,
                    variation.stalled,
                    self.immediate,
                    variation.scale,
                    self.settings.mixing == "weights",
                ),
                variation.rules,
                population.generators[start + number],
                self.works[thread],
                (first, min(population.size, first + block)),
            )
            data[thread] = problem.chunk_ended(thread, data[thread])

        count = end - start
        n_threads = min(variation.n_threads, count)
        self.execute(task, count, what=variation.what, n_threads=n_threads, inline=variation.inline)
        problem.generation_ended()
        if self.immediate:
            return
        n_counted = finished_prefix(population.data.tallies) - start * block
        for finds in self._finds[: max(0, min(count, -(-n_counted // block)))]:
            self.archive.take(finds)
            self._refused += int(finds.counts[REFUSED_FULL])
            finds.counts[REFUSED_FULL] = 0

    def _count(self, population: _Population, additions: int) -> None:
        data = population.data
        n_counted = finished_prefix(data.tallies)
        self.n_eval += int(data.tallies[:n_counted, 1].sum())
        self.touched += int(data.tallies[:n_counted, 2].sum())
        # a generation that was stopped before its first evaluation has not happened
        self.n_generations += n_counted > 0
        population.generations += 1
        added = self.archive.additions > additions
        population.stalled += 1
        if added:
            self._note_additions(population)
        self.archive.adapt()
        if n_counted == population.size:
            np.copyto(data.parents, data.genotypes)

    def _note_additions(self, population: _Population) -> None:
        """Record that the archive has new members."""
        population.stalled = 0
        self.n_eval_at_best = int(self.works[0].clock[1]) if self.immediate else self.n_eval
        ideal = tuple(self.archive.objectives.min(axis=0).tolist())
        self.history.append(
            FrontHistoryEntry(self.stop.seconds, self.n_eval, len(self.archive), ideal, population.size)
        )
