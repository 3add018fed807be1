"""GOMEA for one objective: populations of growing size in turn, each mixing along its own linkage.

Gene-pool optimal mixing: Thierens & Bosman, "Optimal mixing evolutionary algorithms", GECCO 2011. Forced improvement of
solutions that stall: Bosman & Thierens, "Linkage neighbors, optimal mixing and forced improvements in genetic
algorithms", GECCO 2012. `gomea_bn.operators.mixing` has both, and `gomea_bn.linkage.models` the linkage tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from gomea_bn.algorithms.discrete_run import (
    DiscretePopulation,
    DiscreteRun,
    DiscreteSearch,
    begun_prefix,
    put_back,
)
from gomea_bn.algorithms.multi_start import EliteRun, check_scheme
from gomea_bn.errors import check_choice
from gomea_bn.linkage.models import LinkageModel, linkage_model
from gomea_bn.operators.mixing import MixingWork, initialise_range, vary_range
from gomea_bn.parameters import with_known_names
from gomea_bn.problems.base import CompiledProblem, Refiner
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.limits import Limits


@with_known_names
@dataclass(frozen=True)
class GOMEA(DiscreteSearch):
    """Gene-pool optimal mixing with the interleaved multi-start scheme.

    Parameters
    ----------
    linkage : str or LinkageModel
        "tree" (NMI, filtered), "tree-mi", "tree-corrected", "univariate", or an object with ``learn``.
    local_search : bool, optional
        Whether every solution climbs once over all genes after initialisation and after mixing. The problem decides
        by default: yes for network structure, no otherwise.
    forced_improvement : bool
        Whether solutions that did not change, or stalled for more than 1 + floor(log10 n) generations, take genes of
        the best solution until they improve, or else become equal to it.
    search_donors : bool, optional
        Whether up to four random donors are tried until one differs. Otherwise one random donor is tried, as published.
        The problem decides by default: no for network structure, yes otherwise.
    elite_update : {"generation", "immediate"}
        Whether the shared best solution changes between generations, which threads need, or at once, as in the
        published code (one thread).
    refine : {"sample", "best", "doubling", "none"}
        Solutions that a problem with a refiner works on after every generation: the best one of the population and one
        in eight others ("sample"), the best one ("best"), the best one each time the number of evaluations has
        doubled ("doubling"), or no solution ("none").
    base_population, growth : int
        Size of the first population, and factor from each population's size to the next.
    subgenerations : int
        Generations of a population per generation of the next larger one.
    max_population_size : int
        Size above which no population is started.

    Notes
    -----
    The schedule is a counter. After every `subgenerations`-th generation of a population the next larger one has its
    turn, otherwise the smallest active one. A population stops when all its genotypes are equal. It also stops, with
    all smaller ones, when a larger population has a better mean. Means are taken after initialisation and local
    search, so that they are comparable from the start.

    Examples
    --------
    >>> from gomea_bn import GOMEA, optimise
    >>> from gomea_bn.problems.benchmarks import Trap
    >>> optimise(Trap(20), GOMEA(growth=3), random_state=1, max_evaluations=100_000).stopped_by
    'target'
    """

    linkage: str | LinkageModel = "tree"
    local_search: bool | None = None
    forced_improvement: bool = True
    search_donors: bool | None = None
    elite_update: str = "generation"
    refine: str = "sample"
    base_population: int = 2
    growth: int = 2
    subgenerations: int = 4
    max_population_size: int = 1 << 17

    def __post_init__(self) -> None:
        check_choice("elite_update", self.elite_update, ("generation", "immediate"))
        check_choice("refine", self.refine, ("sample", "best", "doubling", "none"))
        optional = [name for name in ("local_search", "search_donors") if getattr(self, name) is not None]
        sizes = (("base_population", 1), ("growth", 2), ("subgenerations", 1), ("max_population_size", 1))
        check_scheme(self, ("forced_improvement", *optional), sizes)
        linkage_model(self.linkage)

    def _new_run(self, problem: CompiledProblem, limits: Limits, **options: Any) -> GomeaRun:
        return GomeaRun(self, problem, limits, **options)


class GomeaRun(DiscreteRun, EliteRun):
    """One run of GOMEA; see `DiscreteSearch.run`."""

    populations: list[DiscretePopulation]

    def __init__(self, settings: GOMEA, problem: CompiledProblem, limits: Limits, **options: Any) -> None:
        immediate = settings.elite_update == "immediate"
        super().__init__(settings, problem, limits, immediate=immediate, **options)
        self.refined_solutions = settings.refine
        self._refined_at = 0

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations."""
        return {**super().state(), "refined_at": self._refined_at}

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        super().restore(state)
        self._refined_at = state["refined_at"]

    def _population_state(self, population: DiscretePopulation) -> State:
        """Return a population as plain values and arrays."""
        return {**super()._population_state(population), "mean": population.mean}

    def _population_of(self, saved: State, size: int) -> DiscretePopulation:
        """Return the population of `_population_state`, which has `size` solutions."""
        population: DiscretePopulation = super()._population_of(saved, size)
        violation, objective = saved["mean"]
        population.mean = (violation, objective)
        return population

    def _initialise(self, population: DiscretePopulation, cost_bound: int) -> None:
        rules = self._rules(population.size)

        def block(
            data: Any, work: MixingWork, generator: np.random.Generator, bounds: tuple[int, int]
        ) -> None:
            initialise_range(data, population.data, rules, generator, work, bounds[0], bounds[1])

        self._run(population, "initialise", cost_bound, block)

    def _vary(self, population: DiscretePopulation) -> None:
        (linkage,) = self._learn_linkage(population, [slice(None)])
        rules = self._rules(population.size)
        self._enlarge_works(len(linkage.starts), 0)

        def block(
            data: Any, work: MixingWork, generator: np.random.Generator, bounds: tuple[int, int]
        ) -> None:
            vary_range(data, population.data, self.elite, linkage, rules, generator, work, bounds)

        self._run(population, "vary", self._cost_bound(len(linkage.starts)), block)
        population.generations += 1

    def _run(
        self, population: DiscretePopulation, work_kind: str, cost_bound: int, block_kernel: Any
    ) -> None:
        """Run one generation's blocks, then count evaluations and update the best solution, mean and parents."""
        turn = self._begin(population, cost_bound)

        def vary_block(data: Any, thread: int, block: int, bounds: tuple[int, int]) -> None:
            block_kernel(data, self.works[thread], population.generators[block], bounds)

        try:
            self._run_blocks(population, turn, work_kind, range(turn.n_blocks), vary_block)
        except Exception:
            # an error of the user's function does not lose what the generation has found
            if n_begun := begun_prefix(population.data.tallies):
                self.note_best(population, slice(n_begun))
            raise
        population.seconds = perf_counter() - turn.began
        n_counted = self._count_evaluations(population)
        if n_counted:
            self.note_best(population, slice(n_counted))
        if population.finished:
            np.copyto(population.data.parents, population.data.genotypes)
            _take_mean(population)

    def _refine(self, population: DiscretePopulation) -> None:
        refiner, data = self.refiner, population.data
        if refiner is None or self.refined_solutions == "none" or not population.finished:
            return
        best = int(np.lexsort((data.objectives[:, 0], data.violations))[0])
        chosen = [best]
        if self.refined_solutions == "sample":
            others = np.delete(np.arange(population.size), best)
            chosen += population.sampler.permutation(others)[: self._refined_sample(population.size)].tolist()
        elif self.refined_solutions == "doubling" and self.n_eval < 2 * self._refined_at:
            return
        self._refined_at = self.n_eval
        for i in chosen:
            while self._may_refine(refiner) and self._improve(population, refiner, i):
                pass
        _take_mean(population)

    def _improve(self, population: DiscretePopulation, refiner: Refiner, i: int) -> bool:
        """Refine solution i, which stays as it was unless it improves; returns whether it did."""
        data = population.data
        former = self._refined(population, refiner, i)
        if former is None:
            return False
        if (data.violations[i], data.objectives[i, 0]) >= (former.violation[0], former.objectives[0]):
            put_back(data, i, former)
            return False
        data.parents[i] = data.genotypes[i]
        self.note_best(population, slice(i, i + 1))
        return True


def _take_mean(population: DiscretePopulation) -> None:
    """Take the mean of the violations and objectives of a population as they are now."""
    data = population.data
    population.mean = (float(data.violations.mean()), float(data.objectives[:, 0].mean()))
