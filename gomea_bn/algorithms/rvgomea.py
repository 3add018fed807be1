"""RV-GOMEA: normal distributions over subsets of real variables, in populations of growing size.

Bouter, Alderliesten, Witteveen & Bosman, "Exploiting linkage information in real-valued optimization with the
real-valued gene-pool optimal mixing evolutionary algorithm", GECCO 2017. The distributions adapt as in AMaLGaM: Bosman,
Grahl & Thierens, "Benchmarking parameter-free AMaLGaM on functions with and without noise", Evolutionary Computation
21, 2013. `gomea_bn.algorithms.mixed` adds discrete variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.adapted import MOST_VARIABLES, Adapted, evaluates_whole, interacting_groups
from gomea_bn.algorithms.mixed import MixedVariables
from gomea_bn.algorithms.multi_start import (
    INLINE_SECONDS,
    UNLIMITED,
    EliteRun,
    Scheme,
    check_scheme,
    compiled_for,
    in_numbers,
    opened_run,
)
from gomea_bn.errors import GomeaBnError, check_number
from gomea_bn.linkage.models import (
    Linkage,
    LinkageModel,
    check_members,
    from_subsets,
    learned_linkage,
)
from gomea_bn.linkage.real import RealLinkageModel, real_linkage_model
from gomea_bn.operators.mixing import EVALUATIONS as MIXING_EVALUATIONS
from gomea_bn.operators.mixing import TOUCHED as MIXING_TOUCHED
from gomea_bn.operators.mixing import take_best
from gomea_bn.operators.real_estimation import (
    RealPopulation,
    SelectionWork,
    carry_multipliers,
)
from gomea_bn.operators.real_mixing import (
    BUDGET,
    CUT_SHORT,
    EVALUATIONS,
    ONGOING,
    STALLED,
    TARGET_MET,
    TOUCHED,
    RealModel,
    RealRules,
    RealWork,
    estimate,
    initialise,
    vary,
)
from gomea_bn.parameters import with_known_names
from gomea_bn.problems.continuous import RealProblem, new_real_journal, outside, real_array
from gomea_bn.runtime.checkpoints import CheckpointOption, State, filled, generator_of, generator_states
from gomea_bn.runtime.limits import Callback, Limits, Result


@with_known_names
@dataclass(frozen=True)
class RVGOMEA(Scheme):
    """Gene-pool optimal mixing over real or mixed variables with the interleaved multi-start scheme.

    Every generation selects the best solutions and fits a normal distribution to each subset of the linkage model.
    Every solution then gets new values for one subset after another and keeps them if they are improvements. Some
    solutions move along the mean's latest shift (anticipated mean shift). Distributions widen while improvements lie
    far from the mean and narrow without improvements (AMaLGaM). Solutions that stall move towards the best one.

    Parameters
    ----------
    linkage : str, LinkageModel or RealLinkageModel
        "auto" ("tree" where changes of a few variables are evaluated alone and above 200 variables; otherwise groups of
        interacting variables, see below, or with discrete variables "univariate" if none interact, else "tree"),
        "tree" (learned from the correlations in every generation, with the root), "interaction-tree" (fixed, from the
        problem's interactions), "univariate", "full", a `LinkageTree`, `Custom` subsets or a `StaticTree`, or an object
        with ``learn`` and ``learned``. The subsets are those of all variables, discrete ones included.
    selection : float
        Share of the population that is selected, above 0 and at most 1.
    base_population, growth : int
        Size of the first population, and factor from each population's size to the next.
    subgenerations : int
        Generations of a population per generation of the next larger one.
    max_population_size : int
        Size above which no population is started.

    Notes
    -----
    "auto" finds the groups of variables that interact, from the problem's ``interactions`` or from second differences
    of the objective between two solutions. It costs 2 n_variables + 2 evaluations if none interact, and at most half of
    n_variables squared more. Each group has a normal distribution that adapts as in CMA-ES; a population of n draws n
    values of a group in every generation, which are evaluated in the best solution so far. A population stops when none
    of its distributions moves anything. Violations, and limits that these evaluations would fill, leave one group.

    With other linkage models a population stops when its fitness has no variance or its distributions have vanished.
    Any population stops, with all smaller ones, when a larger one has a better mean. Draws outside the bounds are
    repeated up to 100 times, then replaced by uniform draws in the initial range; no solution leaves the bounds.

    The multiplier of a relearned subset comes from the former subset with the largest overlap.

    A step without improvement is kept with probability 0.05 where no variable is in two subsets, except by the best
    solution; in overlapping subsets such steps would add up until the population diverges. A selection that is too
    small for a covariance matrix of full rank draws in its own subspace. After 25 + n_variables generations without
    improvement distributions may become narrower than estimated, and improvement of solutions is forced.

    A problem with discrete and real variables has one linkage over both, by mutual information (Sadowski et al.
    2018). Distributions are those of the real variables of a subset; the mean of a real variable depends on the
    discrete one that tells most about it, if any does. Then solutions exchange each subset's discrete variables, once
    alone and once with its real ones, and keep what is not worse (gene-pool optimal mixing). All parts of a subset
    that are equal to those of another one count once, and constant discrete variables are left out.

    Examples
    --------
    >>> from gomea_bn import RVGOMEA, optimise
    >>> from gomea_bn.problems.continuous import sphere
    >>> optimise(sphere(4), RVGOMEA(linkage="univariate"), random_state=1, max_evaluations=50_000).stopped_by
    'target'
    """

    linkage: str | RealLinkageModel | LinkageModel = "auto"
    selection: float = 0.35
    base_population: int = 10
    growth: int = 2
    subgenerations: int = 8
    max_population_size: int = 1 << 17

    def __post_init__(self) -> None:
        check_number("selection", self.selection, 0.0, 1.0, above=True)
        sizes = (("base_population", 3), ("growth", 2), ("subgenerations", 1), ("max_population_size", 3))
        check_scheme(self, (), sizes)
        real_linkage_model(self.linkage, [])

    def run(
        self,
        problem: RealProblem,
        limits: Limits,
        *,
        random_state: int | np.random.SeedSequence | None = None,
        callback: Callback | None = None,
        initial: NDArray[np.float64] | None = None,
        checkpoint: CheckpointOption = None,
    ) -> Result:
        """Return the best solution found within the limits; its ``X`` is float64 of shape (n_variables,).

        Parameters
        ----------
        problem : RealProblem
            Problem with one objective.
        limits : Limits
            Limits of the run. A feasible solution that meets the target ends the run at once.
        random_state : int or SeedSequence, optional
            Seed. The same seed gives the same result, unless a clock ended the run.
        callback : callable, optional
            Function that gets a `Progress` after every generation; a true return value stops the run.
        initial : ndarray of shape (k, n_variables), optional
            Solutions with which every population begins.
        checkpoint : Checkpoint or path, optional
            Folder for checkpoints, from which a run that was killed can go on.

        Raises
        ------
        GomeaBnError
            For an option that cannot be used, and for a checkpoint of another run.
        """
        run = self._new_run(problem, limits, random_state=random_state, callback=callback, initial=initial)
        return run.finish(opened_run(checkpoint, run, random_state))

    def _new_run(self, problem: RealProblem, limits: Limits, **options: Any) -> RealRun:
        problem = compiled_for(self, problem, is_real=True)
        is_auto = isinstance(self.linkage, str) and self.linkage == "auto"
        sees = is_auto and problem.n_variables <= MOST_VARIABLES and evaluates_whole(problem)
        if sees and problem.alphabet is None:
            return AdaptedRun(self, problem, limits, **options)
        run = RealRun(self, problem, limits, **options)
        run.sees_separable = sees
        return run


@dataclass
class Population:
    """One population of the scheme, with its distributions and its generator of random numbers."""

    data: RealPopulation
    model: RealModel
    rules: RealRules
    work: RealWork
    generator: np.random.Generator
    linkage: Linkage | None = None
    # the parts of its subsets that are sampled, and how wide the distribution of each one is
    sampled: Linkage = field(default_factory=lambda: from_subsets([]))
    multipliers: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    generations: int = 0
    active: bool = True
    mean: tuple[float, float] = (inf, inf)
    seconds: float = inf
    # distributions of groups, where all evaluations are whole ones
    adapted: list[Adapted] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of solutions."""
        return len(self.data.genotypes)

    @property
    def converged(self) -> bool:
        """Whether the distributions have vanished or all solutions are equally good."""
        objectives, violations = self.data.objectives[:, 0], self.data.violations
        if self.adapted:
            return all(group.has_ended for group in self.adapted)
        # a distribution this narrow no longer moves anything
        if self.linkage is not None and float(self.multipliers.max()) < 1e-10:
            return True
        return bool((objectives == objectives[0]).all() and (violations == violations[0]).all())


def _checked_initial(problem: RealProblem, initial: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the initial solutions; raises `GomeaBnError` for a wrong shape or values outside the bounds."""
    if initial is None:
        return np.empty((0, problem.n_variables))
    solutions = real_array("initial", initial)
    if solutions.ndim != 2 or solutions.shape[1] != problem.n_variables:
        raise GomeaBnError(f"initial must have shape (k, {problem.n_variables}), got {solutions.shape}.")
    wrong = np.argwhere(outside(problem, solutions))
    if len(wrong):
        row, g = wrong[0].tolist()
        is_discrete = problem.alphabet is not None and problem.alphabet[g] > 0
        least, largest = problem.lower[g], problem.upper[g]
        rule = (
            f"which must be a whole number from 0 to {largest:.0f}"
            if is_discrete
            else f"outside its bounds [{least}, {largest}]"
        )
        raise GomeaBnError(f"initial: row {row} has {solutions[row, g]} for variable {g}, {rule}.")
    return solutions


class RealRun(EliteRun):
    """One run of RV-GOMEA; see `RVGOMEA.run`."""

    dtype = np.float64
    problem: RealProblem
    populations: list[Population]
    # whether the first population finds out if any variables interact, and whether none did
    sees_separable = False
    is_separable = False

    def __init__(
        self,
        settings: RVGOMEA,
        problem: RealProblem,
        limits: Limits,
        *,
        random_state: int | np.random.SeedSequence | None = None,
        callback: Callback | None = None,
        initial: NDArray[np.float64] | None = None,
    ) -> None:
        problem = compiled_for(settings, problem, is_real=True)
        self.initial = _checked_initial(problem, in_numbers(problem, initial))
        super().__init__(settings, problem, limits, random_state, callback, 1)
        self.settings = settings
        self.linkage = real_linkage_model(settings.linkage, problem.interactions)
        self.mixed = None if problem.alphabet is None else MixedVariables(problem.alphabet)
        self.kernel_data = problem.kernel_data(1)[0]

    def newest(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return solutions, objectives and violations of the population whose turn it was."""
        data = self._newest.data
        return data.genotypes, data.objectives, data.violations

    def _rules(self, size: int) -> RealRules:
        settings, problem = self.settings, self.problem
        return RealRules(
            lower=problem.lower,
            upper=problem.upper,
            least=problem.initial_range[0],
            largest=problem.initial_range[1],
            n_selected=max(2, int(settings.selection * size)),
            n_shifted=int(0.5 * settings.selection * size),
            accept_worse=0.0,
            stall_limit=25 + problem.n_variables,
            target=-inf if self.limits.target is None else float(self.limits.target),
        )

    def _add_population(self, size: int) -> None:
        generator = np.random.default_rng(self.seeds.spawn(1)[0])
        genotypes = np.ascontiguousarray(self.problem.sample(generator, size), np.float64)
        n_given = min(size, len(self.initial))
        genotypes[:n_given] = self.initial[:n_given]
        population = self._new_population(genotypes, generator)
        self.populations.append(population)
        data, rules, work = population.data, population.rules, population.work
        self._execute(population, lambda: initialise(self.kernel_data, data, rules, work, generator))
        if self.sees_separable and len(self.populations) == 1 and not self.stop.reason:
            self._set_separable(all(len(group) == 1 for group in self._groups(population)))

    def _set_separable(self, is_separable: bool) -> None:
        """Vary every variable alone from now on, if none interacts with another one."""
        self.is_separable = is_separable
        if is_separable:
            self.linkage = real_linkage_model("univariate")

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations."""
        return {**super().state(), "is_separable": self.is_separable}

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        self._set_separable(state["is_separable"])
        super().restore(state)

    def _groups(self, population: Population) -> list[NDArray[np.int64]]:
        """Return the groups of interacting variables; all are one where the limits or violations hide them."""
        problem, n = self.problem, self.problem.n_variables
        together = [np.arange(n)]
        if problem.interactions is not None:
            group = np.arange(n)
            for i, j in problem.interactions:
                group[group == group[j]] = group[i]
            return [np.flatnonzero(group == g) for g in np.unique(group)]
        if self.limits.evaluations - self.n_eval < 2 * n * n or n == 1:
            return together
        y = np.ascontiguousarray(problem.sample(population.generator, 1), np.float64)[0]
        x = self.elite.genotype.astype(np.float64)
        if self.mixed is not None:
            discrete = self.mixed.discrete
            same = discrete[x[discrete] == y[discrete]]
            y[same] = (x[same] + 1) % self.mixed.alphabet[same]
        violations: list[float] = []

        def objectives_of(solutions: NDArray[np.float64]) -> NDArray[np.float64]:
            if self.stop.reason:
                return np.zeros(len(solutions))
            probes = self._new_population(solutions, population.generator)
            self._execute(
                probes,
                lambda: initialise(
                    self.kernel_data, probes.data, probes.rules, probes.work, population.generator
                ),
            )
            # this is part of the generation that begins the population
            self.n_generations -= 1
            violations.append(float(probes.data.violations.max()))
            return probes.data.objectives[:, 0]

        groups = interacting_groups(objectives_of, x, y, population.generator)
        self._newest = population
        return together if max(violations, default=0.0) > 0 else groups

    def _population_state(self, population: Population) -> State:
        """Return a population as plain values and arrays."""
        linkage = population.linkage
        return {
            "data": population.data._asdict(),
            "model": population.model._asdict(),
            "accept_worse": population.rules.accept_worse,
            "linkage": None if linkage is None else linkage._asdict(),
            "multipliers": population.multipliers,
            "generator": generator_states([population.generator]),
            "generations": population.generations,
            "active": population.active,
            "mean": population.mean,
            "seconds": population.seconds,
        }

    def _population_of(self, saved: State, size: int) -> Population:
        """Return the population of `_population_state`, which has `size` solutions."""
        genotypes = np.zeros((size, self.problem.n_variables))
        population = self._new_population(genotypes, generator_of(saved["generator"]))
        filled(population.data, saved["data"])
        if self.mixed is not None and outside(self.problem, genotypes)[:, self.mixed.discrete].any():
            raise GomeaBnError(
                "The checkpoint has values of discrete variables that the alphabet does not allow."
            )
        filled(population.model, saved["model"])
        population.rules = population.rules._replace(accept_worse=saved["accept_worse"])
        if saved["linkage"] is not None:
            linkage = Linkage(**{name: np.array(part, np.int64) for name, part in saved["linkage"].items()})
            check_members("the checkpoint", "variables", linkage.subsets(), self.problem.n_variables)
            self._take_linkage(population, linkage)
            population.multipliers[:] = saved["multipliers"]
        violation, objective = saved["mean"]
        population.mean = (violation, objective)
        population.generations = saved["generations"]
        population.active = saved["active"]
        population.seconds = saved["seconds"]
        return population

    def _new_population(self, genotypes: NDArray[np.float64], generator: np.random.Generator) -> Population:
        """Return a population of these genotypes, not yet evaluated."""
        problem, (size, n_variables) = self.problem, genotypes.shape
        rules = self._rules(size)
        data = RealPopulation(
            genotypes=genotypes,
            terms=np.zeros((size, problem.n_terms)),
            aux=np.zeros((size, problem.n_aux), np.uint64),
            objectives=np.full((size, problem.n_objectives), inf),
            violations=np.full(size, inf),
            stalls=np.zeros(size, np.int64),
            improved=np.zeros(size, np.uint8),
        )
        model = RealModel(
            mean=np.zeros(n_variables),
            shift=np.zeros(n_variables),
            covariance=np.zeros((n_variables, n_variables)),
            counts=np.zeros(2, np.int64),
        )
        work = RealWork(
            journal=new_real_journal(n_variables, problem.n_terms, problem.n_aux),
            selection=SelectionWork(
                order=np.zeros(size, np.int64), merge=np.zeros(size, np.int64), distances=np.zeros(size)
            ),
            all_variables=np.arange(n_variables),
            subsets=np.zeros(0, np.int64),
            selected=np.zeros((rules.n_selected, n_variables)),
            offsets=np.zeros((size, n_variables)),
            rows=np.arange(rules.n_selected),
            deviations=np.zeros((n_variables, rules.n_selected)),
            matrices=np.zeros((2, n_variables, n_variables)),
            vectors=np.zeros((5, n_variables)),
            draws=np.zeros((size, n_variables)),
            tallies=np.zeros(3, np.int64),
            stop=self.stop.flag,
        )
        return Population(data, model, rules, work, generator)

    def _generation(self, population: Population) -> None:
        self._execute(population, lambda: self._vary(population))
        population.generations += 1

    def _vary(self, population: Population) -> int:
        data, rules, model = population.data, population.rules, population.model
        work, generator = population.work, population.generator
        estimate(data, rules, model, work, generator, self.linkage.learned)
        covariance = model.covariance
        if self.mixed is not None:
            # the codes of discrete variables have no direction
            model.shift[self.mixed.discrete] = 0.0
            groups = self.mixed.groups(work.selected)
            covariance = self.mixed.covariance(groups, covariance) if self.linkage.learned else covariance
            work.offsets[:] = self.mixed.offsets(groups, data.genotypes)
            work.selected[:] -= work.offsets[work.selection.order[: rules.n_selected]]
        if population.linkage is None or self.linkage.learned:
            former, multipliers = population.sampled, population.multipliers
            answer = self.linkage.learn(covariance, generator)
            learned = learned_linkage(self.settings.linkage, "variables", answer, self.problem.n_variables)
            self._take_linkage(population, learned)
            sampled = population.sampled
            if len(multipliers):
                marks = np.zeros(self.problem.n_variables, np.int64)
                carry_multipliers(former, multipliers, sampled, population.multipliers, marks)
            # subsets of a tree are overlapping slices of the same members
            disjoint = int(sampled.sizes.sum()) == len(np.unique(sampled.members))
            # probability of keeping a step that does not improve, where every variable is in one subset only
            population.rules = rules._replace(accept_worse=0.05 if disjoint else 0.0)
        rules, work = population.rules, population.work
        sampled, multipliers = population.sampled, population.multipliers
        status = vary(self.kernel_data, data, sampled, multipliers, rules, model, work, generator)
        if self.mixed is None or status != ONGOING:
            return status
        return self._exchange(population, self.mixed)

    def _take_linkage(self, population: Population, linkage: Linkage) -> None:
        """Give a population a family of subsets, and new distributions of those that are sampled."""
        population.linkage = linkage
        sampled = linkage if self.mixed is None else self.mixed.sampled(linkage)
        population.sampled, population.multipliers = sampled, np.ones(len(sampled.starts))
        n_subsets = len(sampled.starts)
        if not n_subsets:
            raise GomeaBnError("linkage: no subset has a real variable, so that none would change.")
        if len(population.work.subsets) < n_subsets:
            population.work = population.work._replace(subsets=np.zeros(n_subsets, np.int64))

    def _exchange(self, population: Population, mixed: MixedVariables) -> int:
        """Exchange discrete variables between solutions (gene-pool optimal mixing); returns the status."""
        data, work, rules = population.data, population.work, population.rules
        assert population.linkage is not None
        mixing = mixed.exchange(
            data,
            population.linkage,
            work,
            target=rules.target,
            kernel_data=self.kernel_data,
            elite=self.elite,
            generator=population.generator,
        )
        work.tallies[EVALUATIONS] += mixing.tallies[:, MIXING_EVALUATIONS].sum()
        work.tallies[TOUCHED] += mixing.tallies[:, MIXING_TOUCHED].sum()
        improved = mixing.stalls == 0
        data.stalls[improved] = 0
        if improved.any():
            population.model.counts[STALLED] = 0
        if ((data.violations == 0.0) & (data.objectives[:, 0] <= rules.target)).any():
            return TARGET_MET
        return CUT_SHORT if work.tallies[BUDGET] <= 0 or work.stop[0] else ONGOING

    def _execute(self, population: Population, kernel: Callable[[], int]) -> None:
        """Run one generation's kernel, then count evaluations and update the best solution."""
        data, tallies = population.data, population.work.tallies
        tallies[:] = 0
        tallies[BUDGET] = int(min(self.limits.evaluations - self.n_eval, UNLIMITED))
        statuses: list[int] = []

        def task(_thread: int, _block: int) -> None:
            statuses.append(kernel())
            self.kernel_data = self.problem.chunk_ended(0, self.kernel_data)

        began = perf_counter()
        inline = population.seconds < INLINE_SECONDS
        self._newest = population
        work_kind = "vary" if population.linkage is not None else "initialise"
        try:
            self.execute(task, 1, work_kind=work_kind, n_threads=1, inline=inline)
        except Exception:
            # an error of the user's function does not lose what the generation has found
            self.note_best(population)
            raise
        population.seconds = perf_counter() - began
        if not statuses:
            return
        self.problem.generation_ended()
        self.n_eval += int(tallies[EVALUATIONS])
        self.touched += int(tallies[TOUCHED])
        self.n_generations += 1
        if statuses[0] == ONGOING:
            population.mean = (float(data.violations.mean()), float(data.objectives[:, 0].mean()))
        self.note_best(population)
        if statuses[0] == TARGET_MET:
            self.stop.raise_for("target")


class AdaptedRun(RealRun):
    """One run of RV-GOMEA whose populations are samples of adapted distributions; see `RVGOMEA.run`.

    A generation draws new values of one group after another, in the best solution of the run.
    """

    # mean over groups of the best objective in the latest whole generation
    _level = inf

    def _add_population(self, size: int) -> None:
        super()._add_population(size)
        population = self.populations[-1]
        data = population.data
        best = np.lexsort((data.objectives[:, 0], data.violations))
        start = data.genotypes[best[: max(1, size // 2)]].mean(axis=0)
        groups = self._groups(population)
        widths = self.problem.initial_range[1] - self.problem.initial_range[0]
        population.adapted = [Adapted(group, start[group], widths[group]) for group in groups]

    def _vary(self, population: Population) -> int:
        data, work = population.data, population.work
        adapted = [group for group in population.adapted if not group.has_ended]
        status, levels = ONGOING, []
        for i in population.generator.permutation(len(adapted)):
            group = adapted[i]
            lower, upper = self.problem.lower[group.variables], self.problem.upper[group.variables]
            data.genotypes[:] = self.elite.genotype
            draws = group.draw(population.size, lower, upper, population.generator)
            # beyond a bound a draw has the objective of the point on it
            data.genotypes[:, group.variables] = np.clip(draws, lower, upper)
            data.objectives[:], data.violations[:] = inf, inf
            status = initialise(self.kernel_data, data, population.rules, work, population.generator)
            take_best(self.elite, data.genotypes, data.objectives, data.violations)
            if status != ONGOING or work.tallies[BUDGET] <= 0:
                return status
            order = np.lexsort((data.objectives[:, 0], data.violations))
            levels.append(float(data.objectives[order[0], 0]))
            group.adapt(draws[order], levels[-1])
            group.mean = np.clip(group.mean, lower, upper)
        self._level = float(np.mean(levels))
        return status

    def _generation(self, population: Population) -> None:
        super()._generation(population)
        # the mean of one group is no measure of all of them
        if len(population.adapted) > 1 and not self.stop.reason:
            population.mean = (population.mean[0], self._level)

    def _population_state(self, population: Population) -> State:
        """Return a population as plain values and arrays."""
        adapted = [group.state() for group in population.adapted]
        return {**super()._population_state(population), "adapted": adapted}

    def _population_of(self, saved: State, size: int) -> Population:
        """Return the population of `_population_state`, which has `size` solutions."""
        population = super()._population_of(saved, size)
        population.adapted = [Adapted.of_state(group) for group in saved["adapted"]]
        return population
