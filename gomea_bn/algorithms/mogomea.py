"""MOGOMEA: gene-pool optimal mixing for several objectives, with an elitist archive.

Luong, La Poutré & Bosman, "Multi-objective gene-pool optimal mixing evolutionary algorithms", GECCO 2014, and
"Multi-objective gene-pool optimal mixing evolutionary algorithm with the interleaved multi-start scheme", Swarm and
Evolutionary Computation 40, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.archive import ElitistArchive, new_archive
from gomea_bn.algorithms.discrete_run import (
    DiscretePopulation,
    DiscreteRun,
    DiscreteSearch,
    put_back,
    stall_limit,
)
from gomea_bn.algorithms.multi_start import MultiStartRun, check_scheme, is_real_problem
from gomea_bn.algorithms.rvgomea import RVGOMEA, Population, RealRun
from gomea_bn.errors import GomeaBnError, check_choice, check_integer
from gomea_bn.linkage.models import Linkage, LinkageModel, linkage_model
from gomea_bn.operators.archive import REFUSED_FULL, Archive, clear
from gomea_bn.operators.front_mixing import (
    ALL,
    EVALUATED,
    LATEST_ADDITION,
    Clusters,
    FrontState,
    FrontWork,
    initialise_front,
    vary_front,
)
from gomea_bn.operators.mixing import ALL_ROWS, PopulationData, no_elite, take_best, values_of
from gomea_bn.operators.real_mixing import initialise
from gomea_bn.parameters import with_known_names
from gomea_bn.problems.base import CompiledProblem, Refiner
from gomea_bn.runtime.checkpoints import State, fill, filled, history_of, history_state
from gomea_bn.runtime.limits import FrontHistoryEntry, Limits, Progress, Result

_MOST_ROUNDS = 1000
# most objectives of which a hypervolume is computed exactly, and the directions of an approximation for more: the exact
# gain of a front of 500 takes .03 s for five objectives, and 2 s for six
_MOST_OF_EXACT_VOLUMES, _N_DIRECTIONS = 4, 4096


def balanced_clusters(
    objectives: NDArray[np.float64], k: int, generator: np.random.Generator
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the members of k clusters of equal size, and a cluster for every solution.

    Balanced k-leader-means (Luong, La Poutre & Bosman 2014): leaders that lie far apart are the first centres of
    k-means, with finite objectives (n, m) scaled by their ranges. Each final centre takes the ``c = max(1, 2 n // k)``
    nearest solutions (all n for one cluster), its k-means members first, so that clusters overlap. A centre without
    members moves to the solution that lies farthest from its centre. A solution gets a random one of the clusters that
    hold it, or the nearest one.
    """
    n = len(objectives)
    spans = np.ptp(objectives, axis=0)
    # the offset is subtracted, as a large one would hide differences
    points = (objectives - objectives.min(axis=0)) / np.where(spans > 0, spans, 1.0)
    if k == 1:
        return [np.arange(n)], np.zeros(n, np.int64)
    axis = int(generator.integers(points.shape[1]))
    leaders = [int(np.argmax(points[:, axis]))]
    nearest = _distances(points, points[leaders[0]])
    while len(leaders) < k:
        leaders.append(int(np.argmax(nearest)))
        np.minimum(nearest, _distances(points, points[leaders[-1]]), out=nearest)
    centres = points[leaders]
    for _ in range(_MOST_ROUNDS):
        distances = np.stack([_distances(points, centre) for centre in centres])
        owner = distances.argmin(axis=0)
        moved = np.empty_like(centres)
        for c in range(k):
            in_cluster = owner == c
            farthest = int(np.argmax(distances.min(axis=0)))
            moved[c] = points[in_cluster].mean(axis=0) if in_cluster.any() else points[farthest]
        shift = float(np.sqrt(((moved - centres) ** 2).sum(axis=1)).sum())
        centres = moved
        # sum of the centres' shifts at which k-means ends
        if shift <= 1e-10:
            break
    size = max(1, 2 * n // k)
    clusters = []
    belongs = np.zeros((n, k), np.bool_)
    for c in range(k):
        distance = np.where(owner == c, 0.0, _distances(points, centres[c]))
        members = np.sort(np.argsort(distance, kind="stable")[:size])
        centres[c] = points[members].mean(axis=0)
        belongs[members, c] = True
        clusters.append(members)
    choice = np.where(belongs, generator.random((n, k)), -1.0).argmax(axis=1)
    outside = ~belongs.any(axis=1)
    if outside.any():
        distances = np.stack([_distances(points[outside], centre) for centre in centres])
        choice[outside] = distances.argmin(axis=0)
    return clusters, choice.astype(np.int64)


def _distances(points: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(((points - centre) ** 2).sum(axis=1)), np.float64)


def extreme_clusters(
    objectives: NDArray[np.float64], clusters: list[NDArray[np.int64]], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the objective of each extreme cluster and ALL for the other clusters, shape (k,).

    In random order every objective gets the cluster with the best mean that has no objective yet. One cluster keeps
    ALL objectives.
    """
    own_objective = np.full(len(clusters), ALL, np.int64)
    means = np.stack([objectives[members].mean(axis=0) for members in clusters])
    for objective in generator.permutation(objectives.shape[1])[: len(clusters) - 1]:
        free = np.flatnonzero(own_objective == ALL)
        own_objective[free[np.argmin(means[free, objective])]] = objective
    return own_objective


# largest number of members that a block may find, and of bytes of their genotypes
_MOST_FINDS, _FIND_BYTES = 512, 1 << 21


@with_known_names
@dataclass(frozen=True)
class MOGOMEA(DiscreteSearch):
    """Multi-objective GOMEA with the interleaved multi-start scheme (Luong, La Poutre & Bosman 2014, 2018).

    A population is divided into balanced clusters in objective space. Each cluster has its own linkage model, and
    donors come from the same cluster. The clusters at the ends of the front improve one objective alone.

    Parameters
    ----------
    linkage : str or LinkageModel
        "tree-corrected" (NMI without its bias, which is large in clusters of few solutions), "tree" (NMI, filtered),
        "tree-mi", "univariate", or an object with ``learn``.
    local_search : bool, optional
        Whether every solution climbs once over all genes after initialisation and after mixing. A climb follows the
        cluster's objective in an extreme cluster, else a weighted sum, whatever `mixing` is. The problem decides by
        default.
    forced_improvement : bool
        Whether solutions that did not change take genes of archive members until they improve, or else become equal
        to a member. If the population stalled for more than 1 + floor(log10 n) generations, all solutions do.
    search_donors : bool
        Whether the cluster's donors are tried in random order until one differs. Otherwise one random donor is tried.
    mixing : {"weights", "dominance"}
        Rule by which a step is kept outside the extreme clusters. "weights": a weighted sum of the objectives, scaled
        by their ranges in the archive, does not get worse; weights are drawn for every solution and generation.
        "dominance", as in the published code: no objective gets worse, or no archive member dominates the result.
    archive_update : {"generation", "immediate"}
        Whether the archive changes between blocks of solutions, which threads need, or takes in every evaluated
        solution at once, as in the published code (one thread).
    archive_size : int
        Wanted size of the archive; see `ElitistArchive`.
    base_population, growth : int
        Size of the first population, and factor from each population's size to the next.
    base_clusters : int, optional
        Number of clusters of the first population, by default the number of objectives + 1. Each further population
        has one more.
    max_clusters : int
        Largest number of clusters.
    subgenerations : int
        Generations of a population, its initialisation included, per generation of the next larger one.
    max_population_size : int
        Size above which no population is started.

    Notes
    -----
    With real or mixed variables there are no clusters and no subsets, and populations and subgenerations are four times
    as large. To a solution of the population or of the archive a share of the difference of two others is added
    (differential evolution), in all variables or in some; a discrete variable takes the value of the first one. Then
    one variable on average mutates (polynomial mutation, or any value of a discrete one). The population and these
    trial solutions are reduced to its size by layers and crowding distance, as in NSGA-II.

    Feasible solutions precede infeasible ones, which are ordered by their violation. In an extreme cluster a step is
    kept if the cluster's objective does not get worse. All evaluated solutions are offered to the archive, including
    rejected ones, so weighted sums lose no part of a front that is not convex. A population stops when all its
    genotypes are equal.

    Examples
    --------
    >>> from gomea_bn import MOGOMEA, optimise
    >>> from gomea_bn.problems.multi_objective import LOTZ
    >>> front = optimise(LOTZ(6), MOGOMEA(mixing="dominance"), random_state=1, max_evaluations=5_000)
    >>> len(front.F)
    7
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
        check_choice("archive_update", self.archive_update, ("generation", "immediate"))
        check_choice("mixing", self.mixing, ("weights", "dominance"))
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
        check_integer("base_clusters", self.base_clusters, 1, optional=True)
        linkage_model(self.linkage)

    def _new_run(self, problem: Any, limits: Limits, **options: Any) -> Any:
        if is_real_problem(problem):
            return RealFrontRun(self, problem, limits, **options)
        return FrontRun(self, problem, limits, **options)


def _bounded(objectives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return objectives (n, m), with infinite ones one range beyond the finite ones, which stay comparable."""
    # objectives beyond this count as infinite, because sums of them would be
    finite = np.abs(objectives) < 1e300
    low = np.where(finite, objectives, np.inf).min(axis=0)
    high = np.where(finite, objectives, -np.inf).max(axis=0)
    low, high = np.where(finite.any(axis=0), low, 0.0), np.where(finite.any(axis=0), high, 0.0)
    beyond = np.where(high > low, high - low, 1.0)
    return np.asarray(np.clip(objectives, low - beyond, high + beyond), np.float64)


def hypervolume_gain(before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """Return the share of the hypervolume of a front, float64 (n, m), that a former front of the same run lacks.

    Objectives are scaled to 0 and 1 at the least and the largest value of the front, and the reference point is 1.1.
    An empty former front lacks all of it. Of more than four objectives the volumes are means over fixed directions.
    """
    if not len(before):
        return 1.0
    values = _bounded(np.concatenate([now, before]))
    low, high = values[: len(now)].min(axis=0), values[: len(now)].max(axis=0)
    unit = (values - low) / np.where(high > low, high - low, 1.0)
    return 1.0 - _hypervolume(unit[len(now) :]) / _hypervolume(unit[: len(now)])


def _hypervolume(points: NDArray[np.float64]) -> float:
    import moocore

    if points.shape[1] <= _MOST_OF_EXACT_VOLUMES:
        return float(moocore.hypervolume(points, ref=1.1))
    return float(moocore.hv_approx(points, ref=1.1, nsamples=_N_DIRECTIONS, method="DZ2019-HW"))


def _no_clusters() -> Clusters:
    nobody = np.zeros(0, np.int64)
    return Clusters(
        of_solution=nobody,
        objective=nobody,
        members=nobody,
        member_starts=nobody,
        linkage=Linkage(nobody, nobody, nobody),
        subset_starts=nobody,
    )


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    """Return where consecutive parts of these lengths begin, and the end of the last one."""
    return np.cumsum([0, *lengths], dtype=np.int64)


def _check_no_target(limits: Limits) -> None:
    """Raise `GomeaBnError` for a target, which is for one objective."""
    if limits.target is not None:
        raise GomeaBnError(
            f"target is for one objective and must be None in MOGOMEA, got {limits.target!r}; "
            "use a callback to stop the run."
        )


class _FrontResults(MultiStartRun):
    """What runs for several objectives return: the members of their archive."""

    archive: ElitistArchive
    history: list[Any]
    _nearest: Any
    _refused = 0

    def result(self) -> Result:
        """Return the front so far, ordered by the first objective, then the next ones."""
        order = np.lexsort(self.archive.objectives.T[::-1])
        nearest = (
            {}
            if len(order)
            else {
                "nearest_X": self._nearest.genotype.copy(),
                "nearest_F": self._nearest.objectives.copy(),
                "nearest_violation": float(self._nearest.violation[0]),
            }
        )
        return Result(
            X=self.archive.genotypes[order],
            F=self.archive.objectives[order],
            time_to_best=self.history[-1].seconds if self.history else 0.0,
            history=self.history,
            extra={
                "violation": np.zeros(len(order)),
                "n_eval_at_last_addition": self.n_eval_at_best,
                "refused_by_full_archive": self.archive.refused + self._refused,
                **nearest,
            },
            **self.totals(),
        )

    def best(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return the archive's genotypes, objectives and violations."""
        return self.archive.genotypes, self.archive.objectives, np.zeros(len(self.archive))

    def _gain(self, before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
        return hypervolume_gain(before, now)

    def _note_additions(self, population: Any, n_eval: int) -> None:
        """Record that the archive has new members, the last one after a number of evaluations."""
        self.n_eval_at_best = n_eval
        ideal = tuple(self.archive.objectives.min(axis=0).tolist())
        self.history.append(
            FrontHistoryEntry(self.stop.seconds, self.n_eval, len(self.archive), ideal, population.size)
        )

    def progress(self) -> Progress:
        """Return the state of the run; `best` is the least value of the first objective."""
        if not len(self.archive):
            best, violation = float(self._nearest.objectives[0]), float(self._nearest.violation[0])
            return Progress(best=best, violation=violation, **self.counts())
        least = self.archive.objectives[:, 0].min()
        return Progress(best=float(least), archive_size=len(self.archive), **self.counts())


class FrontRun(_FrontResults, DiscreteRun):
    """One run of MOGOMEA; see `DiscreteSearch.run`."""

    populations: list[DiscretePopulation]

    def __init__(self, settings: MOGOMEA, problem: CompiledProblem, limits: Limits, **options: Any) -> None:
        _check_no_target(limits)
        immediate = settings.archive_update == "immediate"
        super().__init__(settings, problem, limits, immediate=immediate, **options)
        self.settings = settings
        m, n_variables = self.problem.n_objectives, self.problem.n_variables
        self.archive = ElitistArchive(n_variables, m, settings.archive_size)
        self.history: list[FrontHistoryEntry] = []
        self.front_works = [
            FrontWork(
                mixing=work,
                former=np.zeros(m),
                candidate=np.zeros(m),
                weights=np.zeros(m),
                clock=np.zeros(2, np.int64),
            )
            for work in self.works
        ]
        self._find_capacity = max(16, min(_MOST_FINDS, _FIND_BYTES // (2 * max(n_variables, 1))))
        self._finds: list[Archive] = []
        self._refused = 0
        # the solution of least violation, while the archive is empty
        self._nearest = no_elite(self.problem, np.int16)

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations."""
        return {
            **super().state(),
            "archive": self.archive.data._asdict(),
            "refused": self._refused,
            "clock": self.front_works[0].clock,
            "nearest": self._nearest._asdict(),
            "history": history_state(self.history),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        super().restore(state)
        self.archive.restore(state["archive"])
        self._refused = state["refused"]
        fill(self.front_works[0].clock, state["clock"])
        filled(self._nearest, state["nearest"])
        self.history = history_of(state["history"])

    def _population_state(self, population: DiscretePopulation) -> State:
        """Return a population as plain values and arrays."""
        numbers = {"n_clusters": population.n_clusters, "stalled": population.stalled}
        return {**super()._population_state(population), **numbers}

    def _population_of(self, saved: State, size: int) -> DiscretePopulation:
        """Return the population of `_population_state`, which has `size` solutions."""
        population: DiscretePopulation = super()._population_of(saved, size)
        population.n_clusters, population.stalled = saved["n_clusters"], saved["stalled"]
        return population

    def _new_population(
        self, data: PopulationData, sampler: np.random.Generator, generators: list[np.random.Generator]
    ) -> DiscretePopulation:
        settings = self.settings
        first = settings.base_clusters or self.problem.n_objectives + 1
        n_clusters = min(first + len(self.populations), settings.max_clusters, len(data.parents))
        return DiscretePopulation(data, sampler, generators, n_clusters=n_clusters)

    def _initialise(self, population: DiscretePopulation, cost_bound: int) -> None:
        self._run_waves(population, _no_clusters(), initialise_front, "initialise", cost_bound)

    def _vary(self, population: DiscretePopulation) -> None:
        clusters = self._learn_clusters(population)
        most_subsets = int(np.diff(clusters.subset_starts).max())
        self._enlarge_works(most_subsets, int(np.diff(clusters.member_starts).max()))
        self.front_works = [
            front_work._replace(mixing=work)
            for front_work, work in zip(self.front_works, self.works, strict=True)
        ]
        self._run_waves(population, clusters, vary_front, "vary", self._cost_bound(most_subsets))

    def _refine(self, population: DiscretePopulation) -> None:
        refiner = self.refiner
        if refiner is None or not population.finished:
            return
        additions = self.archive.additions
        n_chosen = self._refined_sample(population.size)
        for i in population.sampler.permutation(population.size)[:n_chosen].tolist():
            if not self._may_refine(refiner):
                break
            self._refine_and_offer(population, refiner, i)
        if self.archive.additions > additions:
            self._note_finds(population)
            self.archive.adapt()

    def _refine_and_offer(self, population: DiscretePopulation, refiner: Refiner, i: int) -> None:
        """Refine solution i and offer the result to the archive; keep it unless it is dominated or violates more."""
        data = population.data
        former = self._refined(population, refiner, i)
        if former is None:
            return
        clock = self.front_works[0].clock
        clock[EVALUATED] += 1
        row = slice(i, i + 1)
        if data.violations[i] == 0 and self.archive.offer(data.genotypes[row], data.objectives[row]):
            clock[LATEST_ADDITION] = clock[EVALUATED]
        violation = former.violation[0]
        dominated = data.violations[i] == violation and (former.objectives <= data.objectives[i]).all()
        if data.violations[i] > violation or dominated:
            put_back(data, i, former)
        else:
            data.parents[i] = data.genotypes[i]

    def _learn_clusters(self, population: DiscretePopulation) -> Clusters:
        """Cluster a population and learn the linkage of each cluster."""
        objectives = _bounded(population.data.objectives)
        members, of_solution = balanced_clusters(objectives, population.n_clusters, population.sampler)
        learned = self._learn_linkage(population, members)
        offsets = _starts([len(linkage.members) for linkage in learned])
        return Clusters(
            of_solution=of_solution,
            objective=extreme_clusters(objectives, members, population.sampler),
            members=np.concatenate(members).astype(np.int64),
            member_starts=_starts([len(rows) for rows in members]),
            linkage=Linkage(
                members=np.concatenate([linkage.members for linkage in learned]),
                starts=np.concatenate([linkage.starts + offset for linkage, offset in zip(learned, offsets)]),
                sizes=np.concatenate([linkage.sizes for linkage in learned]),
            ),
            subset_starts=_starts([len(linkage.starts) for linkage in learned]),
        )

    def _run_waves(
        self, population: DiscretePopulation, clusters: Clusters, kernel: Any, work_kind: str, cost_bound: int
    ) -> None:
        """Run a generation in waves of blocks and merge finds, up to the first unfinished solution; then count.

        The blocks of a wave vary on the archive as it is before the wave.
        """
        size, rules, scale = population.size, self._rules(population.size), self._scale()
        stalled = population.stalled > stall_limit(size)
        turn = self._begin(population, cost_bound)
        # number of blocks that vary on one state of the archive; their finds are merged before the next ones
        wave = 1 if self.immediate else 64

        def vary_block(data: Any, thread: int, block: int, bounds: tuple[int, int]) -> None:
            archive, finds = self.archive.data, self._finds[block % wave]
            clear(finds)
            finds.widths[:] = archive.widths
            search = FrontState(
                archive=archive,
                finds=finds,
                clusters=clusters,
                stalled=stalled,
                immediate=self.immediate,
                scale=scale,
                weighted=self.settings.mixing == "weights",
            )
            generator, work = population.generators[block], self.front_works[thread]
            kernel(data, population.data, search, rules, generator, work, bounds)

        additions = self.archive.additions
        for start in range(0, turn.n_blocks, wave):
            blocks = range(start, min(start + wave, turn.n_blocks))
            self._make_room(len(blocks), cost_bound)
            try:
                self._run_blocks(population, turn, f"{work_kind} front", blocks, vary_block)
            except Exception:
                # an error of the user's function does not lose what the wave has found
                self._take_finds(0 if self.immediate else len(blocks))
                if self.archive.additions > additions:
                    self._note_finds(population)
                raise
            n_finished = self._n_counted(population.data.tallies)
            if not self.immediate:
                n_begun = -(-(n_finished - start * self.block) // self.block)
                self._take_finds(max(0, min(len(blocks), n_begun)))
            if n_finished < min(size, blocks.stop * self.block) or self.stop.flag[0]:
                break
        population.seconds = perf_counter() - turn.began
        n_counted = self._count_evaluations(population)
        if n_counted and not len(self.archive):
            take_best(self._nearest, *values_of(population, slice(n_counted)))
        population.generations += 1
        population.stalled += 1
        if self.archive.additions > additions:
            self._note_finds(population)
        self.archive.adapt()
        if n_counted == size:
            np.copyto(population.data.parents, population.data.genotypes)

    def _scale(self) -> NDArray[np.float64]:
        """Return one over each objective's range in the archive; 1 where there is none."""
        if not len(self.archive):
            return np.ones(self.problem.n_objectives)
        spans = np.ptp(_bounded(self.archive.objectives), axis=0)
        return np.asarray(1.0 / np.where(spans > 0, spans, 1.0), np.float64)

    def _make_room(self, n_blocks: int, cost_bound: int) -> None:
        """Make room for what some blocks find, in immediate mode in the archive itself."""
        size = self.settings.archive_size
        if self.immediate:
            # in immediate mode the grid is adapted within a generation above this multiple of the wanted size
            if len(self.archive) > 2.0 * size:
                self.archive.adapt()
            # least room in the archive for a block of solutions in immediate mode, whatever the wanted size
            self.archive.reserve(min(cost_bound * self.block, max(4 * size, 1024)))
        while len(self._finds) < n_blocks:
            capacity = 1 if self.immediate else self._find_capacity
            self._finds.append(new_archive(capacity, self.problem.n_variables, self.problem.n_objectives))

    def _note_finds(self, population: DiscretePopulation) -> None:
        """Record that the archive has new members."""
        population.stalled = 0
        latest = int(self.front_works[0].clock[LATEST_ADDITION])
        self._note_additions(population, latest if self.immediate else self.n_eval)

    def _take_finds(self, n_blocks: int) -> None:
        """Merge the finds of the first blocks of a wave into the archive, in order."""
        for finds in self._finds[:n_blocks]:
            self.archive.take(finds)
            self._refused += int(finds.counts[REFUSED_FULL])
            finds.counts[REFUSED_FULL] = 0


# factor of population sizes and of subgenerations to those over discrete variables
_LARGER = 4
# shares of trials that change all variables, and whose other variables are those of the base vector
_WHOLE, _OF_BASE = 0.1, 0.7


def survivors(objectives: NDArray[np.float64], violations: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Return the n best of k solutions by violation, then by layers of nondominated ones, then by their distance.

    The distance is that of crowding: the sum over objectives of the gap between the neighbours in the layer, relative
    to the layer's range (Deb et al. 2002).
    """
    less = violations[:, None] < violations
    equal = violations[:, None] == violations
    no_worse = (objectives[:, None] <= objectives).all(axis=2)
    dominates = less | (equal & no_worse & (objectives[:, None] < objectives).any(axis=2))
    left, chosen = np.ones(len(objectives), np.bool_), np.zeros(0, np.int64)
    while len(chosen) < n:
        layer = np.flatnonzero(left & ~dominates[left].any(axis=0))
        left[layer] = False
        gaps = np.zeros(len(layer))
        for values in objectives[layer].T:
            order = np.argsort(values, kind="stable")
            ends = values[order]
            inner = (ends[2:] - ends[:-2]) / max(ends[-1] - ends[0], 1e-300)
            gaps[order] += np.concatenate([[np.inf], inner, [np.inf]])[: len(layer)]
        chosen = np.concatenate([chosen, layer[np.argsort(-gaps, kind="stable")]])
    return chosen[:n]


class RealFrontRun(_FrontResults, RealRun):
    """One run of MOGOMEA over real or mixed variables; see `DiscreteSearch.run`."""

    takes_several = True

    def __init__(
        self,
        settings: MOGOMEA,
        problem: Any,
        limits: Limits,
        *,
        n_jobs: int | None = 1,
        **options: Any,
    ) -> None:
        _check_no_target(limits)
        super().__init__(RVGOMEA(linkage="univariate"), problem, limits, **options)
        self.scheme = replace(settings, subgenerations=_LARGER * settings.subgenerations)
        self.archive = ElitistArchive(
            self.problem.n_variables, self.problem.n_objectives, settings.archive_size, np.float64
        )
        self._nearest = no_elite(self.problem, np.float64)

    def note_best(self, population: Any, rows: slice = ALL_ROWS) -> None:
        """Offer solutions to the archive, or note the one nearest to being feasible while there is no member."""
        solutions, objectives, violations = values_of(population, rows)
        is_feasible = violations == 0
        if not is_feasible.any() and not len(self.archive):
            take_best(self._nearest, solutions, objectives, violations)
        additions = self.archive.additions
        self.archive.offer(solutions[is_feasible], objectives[is_feasible])
        self.archive.adapt()
        if self.archive.additions > additions:
            self._note_additions(population, self.n_eval)

    def _overtaken(self) -> list[Any]:
        return []

    def _size(self, index: int) -> int:
        return _LARGER * super()._size(index)

    def _vary(self, population: Population) -> int:
        data, generator, problem = population.data, population.generator, self.problem
        n, n_variables = data.genotypes.shape
        parents, former, amounts = data.genotypes.copy(), data.objectives.copy(), data.violations.copy()
        donors = np.array([generator.permutation(n)[:3] for _ in range(n)])
        base = parents[donors[:, 0]]
        if len(self.archive):
            members = self.archive.genotypes
            chosen = generator.integers(len(members), size=n)
            # share of base vectors that are members of the archive
            base = np.where(generator.random((n, 1)) < 0.3, members[chosen], base)
        # range of the share of a difference that is added
        share = generator.uniform(0.05, 0.9, (n, 1))
        trial = base + share * (parents[donors[:, 1]] - parents[donors[:, 2]])
        # all variables together, or some of them
        chance = np.where(generator.random((n, 1)) < _WHOLE, 1.0, generator.random((n, 1)) ** 4)
        taken = generator.random((n, n_variables)) < chance
        taken[np.arange(n), generator.integers(n_variables, size=n)] = True
        discrete = np.zeros(n_variables, np.bool_) if self.mixed is None else self.mixed.is_discrete
        trial[:, discrete] = base[:, discrete]
        rest = np.where(generator.random((n, 1)) < _OF_BASE, base, parents)
        trial = np.where(taken, trial, rest)
        # one variable of a trial mutates on average
        mutated = generator.random((n, n_variables)) < 1.0 / n_variables
        signed = 2.0 * generator.random((n, n_variables)) - 1.0
        # polynomial mutation of index 20, as in NSGA-II: the larger the index, the smaller the steps
        steps = np.sign(signed) * (1.0 - (1.0 - np.abs(signed)) ** (1.0 / 21))
        least, largest = problem.initial_range
        trial += np.where(mutated & ~discrete, steps * (largest - least), 0.0)
        if self.mixed is not None:
            values = np.floor((signed + 1.0) / 2.0 * self.mixed.alphabet)
            trial = np.where(mutated & discrete, values, trial)
        trial = np.clip(trial, problem.lower, problem.upper)
        data.genotypes[:], data.objectives[:], data.violations[:] = trial, np.inf, np.inf
        status = int(initialise(self.kernel_data, data, population.rules, population.work, generator))
        self.note_best(population)
        both = [
            np.concatenate(parts)
            for parts in ((parents, data.genotypes), (former, data.objectives), (amounts, data.violations))
        ]
        rows = survivors(_bounded(both[1]), both[2], n)
        data.genotypes[:], data.objectives[:], data.violations[:] = (part[rows] for part in both)
        return status

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations."""
        return {
            **super().state(),
            "archive": self.archive.data._asdict(),
            "nearest": self._nearest._asdict(),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        super().restore(state)
        self.archive.restore(state["archive"])
        filled(self._nearest, state["nearest"])
