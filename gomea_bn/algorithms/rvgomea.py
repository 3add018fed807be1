"""Real-valued GOMEA: normal distributions over subsets of variables, in populations of growing size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.elite_run import EliteRun
from gomea_bn.errors import GomeaBnError, is_integer, is_real
from gomea_bn.linkage.models import Linkage
from gomea_bn.linkage.real import RealLinkageModel, real_linkage_model
from gomea_bn.operators.kernels.real_estimation import RealPopulation, SelectionWork, carry_multipliers
from gomea_bn.operators.kernels.real_mixing import (
    ONGOING,
    TARGET_MET,
    RealModel,
    RealRules,
    RealWork,
    estimate,
    initialise,
    vary,
)
from gomea_bn.problems.continuous import RealProblem, new_real_journal
from gomea_bn.runtime.limits import Callback, Limits, Result

__all__ = ["RVGOMEA"]

_UNLIMITED = 2**62
# below this expected time a generation runs in the calling thread
_INLINE_SECONDS = 2e-3
# a distribution this narrow no longer moves anything
_LEAST_MULTIPLIER = 1e-10
# probability of keeping a step that does not improve, where every variable is in one subset only
_ACCEPT_WORSE = 0.05


@dataclass(frozen=True)
class RVGOMEA:
    """Gene-pool optimal mixing over real variables with the interleaved multi-start scheme.

    Every generation selects the best solutions, fits a normal distribution to each subset of the linkage model, and
    offers every solution new values for one subset after another, which it keeps if they improve it. Some solutions
    are moved along the mean's latest shift (anticipated mean shift), the distributions widen while improvements lie
    far out and narrow where there are none (AMaLGaM), and solutions that stall are pulled towards the best one.

    Parameters
    ----------
    linkage : str or RealLinkageModel
        "tree" (learned from the correlations every generation, with the root), "interaction-tree" (fixed, from the
        problem's interactions), "univariate", "full", or an object with ``learn`` and ``learned``.
    selection : float
        Share of the population that is selected.
    accept_worse : float, optional
        Probability of keeping a step that does not improve. If not given: 0.05 (the published value) where no
        variable is in two subsets, else 0, for in overlapping subsets such steps add up and take the population
        apart; the best solution never takes one.
    reselect : bool
        Select and estimate anew before every subset instead of once per generation.
    singular : {"subspace", "diagonal"}
        How to draw where the selection is too small for a covariance matrix of full rank: in the subspace of the
        selected solutions, or (as published) from the variances alone.
    multiplier_decrease : float
        Factor by which a distribution narrows; it widens by the inverse.
    deviation_threshold : float
        Standard deviations between mean and mean improvement above which a distribution widens.
    stall_limit : int, optional
        Generations without improvement after which distributions may narrow below 1 and solutions are forced to
        improve; 25 + n_variables if not given.
    base_population, growth : int
        Size of the first population; each further one is `growth` times larger.
    subgenerations : int
        Generations of a population per generation of the next larger one.
    max_population_size : int
        No larger population is started.

    Notes
    -----
    A population stops, with all smaller ones, when a larger one has a better mean, and by itself when its fitness has
    no variance or its distributions have vanished. Multipliers of relearned subsets come from the former subset that
    they overlap most. Draws outside the bounds are repeated up to 100 times, then replaced by uniform ones in the
    initial range; no solution leaves the bounds.
    """

    linkage: str | RealLinkageModel = "tree"
    selection: float = 0.35
    accept_worse: float | None = None
    reselect: bool = False
    singular: str = "subspace"
    multiplier_decrease: float = 0.9
    deviation_threshold: float = 1.0
    stall_limit: int | None = None
    base_population: int = 10
    growth: int = 2
    subgenerations: int = 8
    max_population_size: int = 1 << 17

    def __post_init__(self) -> None:
        if self.singular not in ("subspace", "diagonal"):
            raise GomeaBnError(f"singular must be 'subspace' or 'diagonal', got {self.singular!r}.")
        shares = (
            ("selection", self.selection, 0.0, 1.0),
            ("accept_worse", 0.0 if self.accept_worse is None else self.accept_worse, -1e-300, 1.0),
            ("multiplier_decrease", self.multiplier_decrease, 0.0, 1.0),
            ("deviation_threshold", self.deviation_threshold, 0.0, inf),
        )
        for name, value, above, most in shares:
            if not is_real(value) or not above < float(value) <= most:
                raise GomeaBnError(
                    f"{name} must be a number above {max(above, 0.0)} and at most {most}, got {value!r}."
                )
        sizes = (
            ("base_population", self.base_population, 3),
            ("growth", self.growth, 2),
            ("subgenerations", self.subgenerations, 1),
            ("max_population_size", self.max_population_size, 3),
            ("stall_limit", 0 if self.stall_limit is None else self.stall_limit, 0),
        )
        for name, size, least in sizes:
            if not is_integer(size) or size < least:
                raise GomeaBnError(f"{name} must be an integer of at least {least}, got {size!r}.")
        if self.max_population_size < self.base_population:
            raise GomeaBnError(
                f"max_population_size must be at least base_population ({self.base_population}), "
                f"got {self.max_population_size}."
            )
        real_linkage_model(self.linkage, [])

    def run(
        self,
        problem: RealProblem,
        limits: Limits,
        *,
        seed: int | np.random.SeedSequence | None = None,
        callback: Callback | None = None,
        initial: NDArray[np.float64] | None = None,
    ) -> Result:
        """Return the best solution found within the limits; its ``X`` is float64 of shape (n_variables,).

        Parameters
        ----------
        problem : RealProblem
        limits : Limits
            A target is met by a feasible solution, and ends the run at that very evaluation.
        seed : int or SeedSequence, optional
            Same seed, same result (unless a clock ended the run).
        callback : callable, optional
            Gets a `Progress` after every generation; a true return value stops the run.
        initial : ndarray of shape (k, n_variables), optional
            Solutions that take the first places of every population.
        """
        return RealRun(self, problem, limits, seed, callback, initial).finish()


@dataclass
class _Population:
    """One population of the scheme, with its distributions and its generator."""

    data: RealPopulation
    model: RealModel
    rules: RealRules
    work: RealWork
    generator: np.random.Generator
    linkage: Linkage | None = None
    multipliers: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))
    generations: int = 0
    active: bool = True
    mean: tuple[float, float] = (inf, inf)
    seconds: float = inf

    @property
    def size(self) -> int:
        return len(self.data.genotypes)

    @property
    def converged(self) -> bool:
        objectives, violations = self.data.objectives[:, 0], self.data.violations
        if float(self.multipliers.max()) < _LEAST_MULTIPLIER:
            return True
        return bool((objectives == objectives[0]).all() and (violations == violations[0]).all())


def _checked_initial(problem: RealProblem, initial: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the given solutions, each inside the bounds."""
    if initial is None:
        return np.empty((0, problem.n_variables))
    given = np.asarray(initial, np.float64)
    if given.ndim != 2 or given.shape[1] != problem.n_variables:
        raise GomeaBnError(f"initial must have shape (k, {problem.n_variables}), got {given.shape}.")
    wrong = np.argwhere(~((given >= problem.lower) & (given <= problem.upper)))
    if len(wrong):
        row, g = wrong[0].tolist()
        raise GomeaBnError(
            f"initial: row {row} has {given[row, g]} for variable {g}, "
            f"outside its bounds [{problem.lower[g]}, {problem.upper[g]}]."
        )
    return given


class RealRun(EliteRun):
    """One run of RV-GOMEA."""

    populations: list[_Population]

    def __init__(
        self,
        settings: RVGOMEA,
        problem: RealProblem,
        limits: Limits,
        seed: int | np.random.SeedSequence | None,
        callback: Callback | None,
        initial: NDArray[np.float64] | None,
    ) -> None:
        self.initial = _checked_initial(problem, initial)
        super().__init__(settings, problem, limits, seed, callback, 1, np.float64)
        self.settings = settings
        self.linkage = real_linkage_model(settings.linkage, problem.interactions)
        self.kernel_data = problem.kernel_data(1)[0]

    def newest(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return solutions, objectives and violations of the population whose turn it was."""
        data = self._newest.data
        return data.genotypes, data.objectives, data.violations

    def _rules(self, size: int) -> RealRules:
        settings, problem = self.settings, self.problem
        return RealRules(
            problem.lower,
            problem.upper,
            problem.initial_range[0],
            problem.initial_range[1],
            max(2, int(settings.selection * size)),
            int(0.5 * settings.selection * size),
            0.0 if settings.accept_worse is None else float(settings.accept_worse),
            float(settings.multiplier_decrease),
            float(settings.deviation_threshold),
            25 + problem.n_variables if settings.stall_limit is None else settings.stall_limit,
            settings.reselect,
            settings.singular == "subspace",
            -inf if self.limits.target is None else float(self.limits.target),
        )

    def _add_population(self, size: int) -> None:
        problem, n_variables = self.problem, self.problem.n_variables
        generator = np.random.default_rng(self.seeds.spawn(1)[0])
        genotypes = np.ascontiguousarray(problem.sample(generator, size), np.float64)
        given = min(size, len(self.initial))
        genotypes[:given] = self.initial[:given]
        rules = self._rules(size)
        data = RealPopulation(
            genotypes,
            np.zeros((size, problem.n_terms)),
            np.zeros((size, problem.n_aux), np.uint64),
            np.full((size, problem.n_objectives), inf),
            np.full(size, inf),
            np.zeros(size, np.int64),
            np.zeros(size, np.uint8),
        )
        model = RealModel(
            np.zeros(n_variables),
            np.zeros(n_variables),
            np.zeros((n_variables, n_variables)),
            np.zeros(2, np.int64),
        )
        work = RealWork(
            new_real_journal(n_variables, problem.n_terms, problem.n_aux),
            SelectionWork(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size)),
            np.arange(n_variables),
            np.zeros(0, np.int64),
            np.zeros((rules.n_selected, n_variables)),
            np.arange(rules.n_selected),
            np.zeros((n_variables, rules.n_selected)),
            np.zeros((2, n_variables, n_variables)),
            np.zeros((4, n_variables)),
            np.zeros(3, np.int64),
            self.stop.flag,
        )
        population = _Population(data, model, rules, work, generator)
        self.populations.append(population)
        self._execute(population, lambda: initialise(self.kernel_data, data, rules, work, generator))

    def _generation(self, population: _Population) -> None:
        self._execute(population, lambda: self._vary(population))
        population.generations += 1

    def _vary(self, population: _Population) -> int:
        data, rules, model = population.data, population.rules, population.model
        work, generator = population.work, population.generator
        estimate(data, rules, model, work, generator, self.linkage.learned)
        former = population.linkage
        linkage = former
        if linkage is None or self.linkage.learned:
            linkage = self.linkage.learn(model.covariance, generator)
            multipliers = np.ones(len(linkage.starts))
            if former is not None:
                marks = np.zeros(self.problem.n_variables, np.int64)
                carry_multipliers(former, population.multipliers, linkage, multipliers, marks)
            population.linkage, population.multipliers = linkage, multipliers
            if len(work.subsets) < len(linkage.starts):
                work = work._replace(subsets=np.zeros(len(linkage.starts), np.int64))
            if self.settings.accept_worse is None:
                # subsets of a tree are overlapping slices of the same members
                disjoint = int(linkage.sizes.sum()) == len(np.unique(linkage.members))
                rules = rules._replace(accept_worse=_ACCEPT_WORSE if disjoint else 0.0)
            population.work, population.rules = work, rules
        return vary(self.kernel_data, data, linkage, population.multipliers, rules, model, work, generator)

    def _execute(self, population: _Population, kernel: Callable[[], int]) -> None:
        """Run one generation's kernel, then count and take in what it found."""
        data, tallies = population.data, population.work.tallies
        tallies[:] = 0, 0, int(min(self.limits.evaluations - self.n_eval, _UNLIMITED))
        statuses: list[int] = []

        def task(_thread: int, _block: int) -> None:
            statuses.append(kernel())
            self.kernel_data = self.problem.chunk_ended(0, self.kernel_data)

        began = perf_counter()
        inline = population.seconds < _INLINE_SECONDS
        self._newest = population
        what = "vary" if population.linkage is not None else "initialise"
        self.execute(task, 1, what=what, n_threads=1, inline=inline)
        population.seconds = perf_counter() - began
        if not statuses:
            return
        self.problem.generation_ended()
        self.n_eval += int(tallies[0])
        self.touched += int(tallies[1])
        self.n_generations += 1
        if statuses[0] == ONGOING:
            population.mean = (float(data.violations.mean()), float(data.objectives[:, 0].mean()))
        self.note_best(data.genotypes, data.objectives, data.violations, population.size)
        if statuses[0] == TARGET_MET:
            self.stop.raise_for("target")
