"""Compiled variation of real-valued GOMEA: partial sampling, anticipated mean shift, forced improvement.

Bouter, Alderliesten, Witteveen & Bosman, "Exploiting linkage information in real-valued optimization with the
real-valued gene-pool optimal mixing evolutionary algorithm", GECCO 2017. The anticipated mean shift is that of Bosman,
Grahl & Thierens, "Enhancing the performance of maximum-likelihood Gaussian EDAs using anticipated mean shift",
PPSN 2008.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage
from gomea_bn.operators.mixing import improves, solution_of
from gomea_bn.operators.real_estimation import (
    RealPopulation,
    SelectionWork,
    beats,
    cholesky,
    covariance_of_rows,
    gather,
    select,
    solve_lower,
)
from gomea_bn.problems.base import Journal, announce, evaluate, evaluate_partial, set_gene, undo
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import shuffle

# largest number of attempts to draw inside the bounds
_DRAWS = 100
# length of the anticipated mean shift, in units of the mean's latest shift
_AMS_SHIFT = 2.0
# factor by which a distribution narrows; it widens by the inverse
_DECREASE = 0.9

# states of a generation
ONGOING, TARGET_MET, CUT_SHORT = 0, 1, 2

# entries of `RealModel.counts`
GENERATIONS, STALLED = 0, 1

# matrices of `RealWork.matrices`
COVARIANCES, FACTOR = 0, 1

# rows of `RealWork.vectors`
MEAN, CENTRE, NORMALS, DRAW, IMPROVEMENT = 0, 1, 2, 3, 4

# entries of `RealWork.tallies`
EVALUATIONS, TOUCHED, BUDGET = 0, 1, 2


class RealRules(NamedTuple):
    """Options of variation."""

    lower: NDArray[np.float64]  # (l,) bounds
    upper: NDArray[np.float64]  # (l,)
    least: NDArray[np.float64]  # (l,) initial range
    largest: NDArray[np.float64]  # (l,)
    n_selected: int  # number of selected solutions
    n_shifted: int  # number of solutions that the anticipated mean shift moves
    accept_worse: float  # probability of keeping a step that does not improve
    stall_limit: int  # generations without improvement before multipliers may fall below 1
    target: float  # -inf for none


class RealModel(NamedTuple):
    """The state of a population's distribution that persists between generations."""

    mean: NDArray[np.float64]  # (l,) of the selection
    shift: NDArray[np.float64]  # (l,) change of the mean since the last generation
    covariance: NDArray[np.float64]  # (l, l) of the selection
    counts: NDArray[np.int64]  # (2,) GENERATIONS; STALLED ones, in a row without improvement


class RealWork(NamedTuple):
    """Work space for populations of at most n solutions; all arrays are mutated."""

    journal: Journal
    selection: SelectionWork
    all_variables: NDArray[np.int64]  # (l,) 0, 1, ...
    subsets: NDArray[np.int64]  # (n_subsets,) visiting order
    # (n_selected, l) the selection at the beginning of the generation, minus `offsets`
    selected: NDArray[np.float64]
    # (n, l) what a solution's discrete variables add to the mean of the real ones
    offsets: NDArray[np.float64]
    rows: NDArray[np.int64]  # (n_selected,) 0, 1, ...
    deviations: NDArray[np.float64]  # (l, n_selected)
    matrices: NDArray[np.float64]  # (2, l, l) of one subset: COVARIANCES and their FACTOR
    # (5, l) of one subset: MEAN, CENTRE of a solution, NORMALS, DRAW, mean IMPROVEMENT
    vectors: NDArray[np.float64]
    draws: NDArray[np.float64]  # (n, l) new values of one subset for every solution
    tallies: NDArray[np.int64]  # (3,) EVALUATIONS, TOUCHED terms, BUDGET of evaluations left
    stop: NDArray[np.uint8]  # (1,) set from outside to interrupt


@kernel
def _status(population: RealPopulation, i: int, rules: RealRules, work: RealWork) -> int:
    """Return the state of the generation after an evaluation of solution i."""
    if population.violations[i] == 0.0 and population.objectives[i, 0] <= rules.target:
        return TARGET_MET
    if work.tallies[BUDGET] <= 0 or work.stop[0] != 0:
        return CUT_SHORT
    return ONGOING


@kernel
def _step(
    problem: Any,
    population: RealPopulation,
    i: int,
    accept_worse: float,
    work: RealWork,
    generator: np.random.Generator,
) -> bool:
    """Evaluate the changes in the journal, keep improvements (others by chance); returns whether they improved."""
    solution, journal = solution_of(population, i), work.journal
    objective, violation = solution.objectives[0], solution.violation[0]
    work.tallies[TOUCHED] += evaluate_partial(problem, solution, journal, generator)
    work.tallies[EVALUATIONS] += 1
    work.tallies[BUDGET] -= 1
    improved = improves(solution.objectives[0], solution.violation[0], objective, violation)
    if improved or (accept_worse > 0.0 and generator.random() < accept_worse):
        journal.counts[:] = 0
        return improved
    undo(solution, journal)
    solution.objectives[0] = objective
    solution.violation[0] = violation
    return False


@kernel
def initialise(
    problem: Any,
    population: RealPopulation,
    rules: RealRules,
    work: RealWork,
    generator: np.random.Generator,
) -> int:
    """Evaluate all solutions in full; returns the status. Solutions that are not reached keep infinite violation."""
    n = population.genotypes.shape[0]
    announce(problem, population.genotypes, work.all_variables[:0], work.draws, min(n, work.tallies[BUDGET]))
    for i in range(n):
        # a run that is stopped at once still returns one evaluated solution
        if i > 0 and (work.tallies[BUDGET] <= 0 or work.stop[0] != 0):
            return CUT_SHORT
        work.tallies[TOUCHED] += evaluate(problem, solution_of(population, i), work.journal, generator)
        work.tallies[EVALUATIONS] += 1
        work.tallies[BUDGET] -= 1
        status = _status(population, i, rules, work)
        if status == TARGET_MET:
            return status
    return ONGOING


@kernel
def estimate(
    population: RealPopulation,
    rules: RealRules,
    model: RealModel,
    work: RealWork,
    generator: np.random.Generator,
    with_covariance: bool,
) -> None:
    """Select, then update the mean, its shift and (`with_covariance`) the covariances of all variables."""
    n_variables = population.genotypes.shape[1]
    select(population, rules.n_selected, work.selection, generator)
    order = work.selection.order
    mean = work.vectors[CENTRE]
    gather(population.genotypes, order, rules.n_selected, work.all_variables, work.deviations, mean)
    for g in range(n_variables):
        model.shift[g] = mean[g] - model.mean[g]
        model.mean[g] = mean[g]
    if with_covariance:
        covariance_of_rows(work.deviations, n_variables, rules.n_selected, model.covariance)
        for a in range(n_variables):
            for b in range(a):
                model.covariance[b, a] = model.covariance[a, b]
    for s in range(rules.n_selected):
        for g in range(n_variables):
            work.selected[s, g] = population.genotypes[order[s], g]


@kernel
def _draw(
    members: NDArray[np.int64], rules: RealRules, work: RealWork, generator: np.random.Generator
) -> int:
    """Draw values of a subset inside the bounds; returns the number of attempts outside."""
    size = members.shape[0]
    centre, normals, values = work.vectors[CENTRE], work.vectors[NORMALS], work.vectors[DRAW]
    factor = work.matrices[FACTOR]
    for attempt in range(_DRAWS):
        inside = True
        for k in range(size):
            normals[k] = generator.standard_normal()
            value = centre[k]
            for m in range(k + 1):
                value += factor[k, m] * normals[m]
            values[k] = value
            inside &= rules.lower[members[k]] <= value <= rules.upper[members[k]]
        if inside:
            return attempt
    for k in range(size):
        g = members[k]
        values[k] = rules.least[g] + (rules.largest[g] - rules.least[g]) * generator.random()
    return _DRAWS


@kernel
def _shift(
    members: NDArray[np.int64],
    values: NDArray[np.float64],
    shift: NDArray[np.float64],
    factor: float,
    rules: RealRules,
) -> bool:
    """Move `values` along the mean's shift (anticipated mean shift), halving the move until it ends inside the bounds.

    Entry k of `values` belongs to variable ``members[k]``. Returns whether `values` moved.
    """
    length = 1.0
    while length > 1e-10:
        inside = True
        for k in range(members.shape[0]):
            g = members[k]
            value = values[k] + length * factor * shift[g]
            inside &= rules.lower[g] <= value <= rules.upper[g]
        if inside:
            for k in range(members.shape[0]):
                values[k] += length * factor * shift[members[k]]
            return True
        length *= 0.5
    return False


@kernel
def _adapt(
    population: RealPopulation,
    members: NDArray[np.int64],
    multipliers: NDArray[np.float64],
    subset: int,
    best: tuple[float, float],
    rules: RealRules,
    model: RealModel,
    work: RealWork,
) -> None:
    """Widen a subset's distribution where improvements lie far out, narrow it where there are none (AMaLGaM)."""
    n, size = population.genotypes.shape[0], members.shape[0]
    improvement = work.vectors[IMPROVEMENT]
    improvement[:size] = 0.0
    n_improved = 0
    for i in range(n):
        if improves(population.objectives[i, 0], population.violations[i], best[0], best[1]):
            n_improved += 1
            for k in range(size):
                improvement[k] += population.genotypes[i, members[k]] - work.offsets[i, members[k]]
    multiplier = multipliers[subset]
    if n_improved > 0:
        multiplier = max(multiplier, 1.0)
        ratio = 0.0
        for k in range(size):
            improvement[k] = improvement[k] / n_improved - work.vectors[MEAN, k]
        solve_lower(work.matrices[FACTOR], size, improvement)
        for k in range(size):
            ratio = max(ratio, abs(improvement[k]))
        # standard deviations between mean and mean improvement above which a distribution widens
        if ratio > 1.0:
            multiplier /= _DECREASE
    else:
        stalled = model.counts[STALLED] >= rules.stall_limit
        if multiplier > 1.0 or stalled:
            multiplier *= _DECREASE
        if not stalled and multiplier < 1.0:
            multiplier = 1.0
    multipliers[subset] = multiplier


@kernel
def _vary_subset(
    problem: Any,
    population: RealPopulation,
    linkage: Linkage,
    multipliers: NDArray[np.float64],
    subset: int,
    elite: int,
    rules: RealRules,
    model: RealModel,
    work: RealWork,
    generator: np.random.Generator,
) -> int:
    """Give every solution new values of one subset, drawn from the selection's distribution."""
    members = linkage.members[linkage.starts[subset] : linkage.starts[subset] + linkage.sizes[subset]]
    n, size = population.genotypes.shape[0], members.shape[0]
    mean, centre = work.vectors[MEAN], work.vectors[CENTRE]
    covariances, factor = work.matrices[COVARIANCES], work.matrices[FACTOR]
    gather(work.selected, work.rows, rules.n_selected, members, work.deviations, mean)
    covariance_of_rows(work.deviations, size, rules.n_selected, covariances)
    cholesky(covariances, size, multipliers[subset], factor)
    best = work.selection.order[0]
    best_values = (population.objectives[best, 0], population.violations[best])
    # a narrow distribution searches around the best solution
    if multipliers[subset] < 1.0:
        for k in range(size):
            mean[k] = population.genotypes[best, members[k]] - work.offsets[best, members[k]]
    values = work.vectors[DRAW]
    n_shifted = rules.n_shifted if model.counts[GENERATIONS] > 0 else 0
    n_outside = n_draws = 0
    for i in range(n):
        for k in range(size):
            centre[k] = mean[k] + work.offsets[i, members[k]]
        outside = _draw(members, rules, work, generator)
        n_outside += outside
        n_draws += outside + (1 if outside < _DRAWS else 0)
        if n_shifted > 0:
            n_shifted -= 1
            _shift(members, values, model.shift, _AMS_SHIFT * multipliers[subset], rules)
        for k in range(size):
            work.draws[i, k] = values[k]
    announce(problem, population.genotypes, members, work.draws, min(n, work.tallies[BUDGET]))
    for i in range(n):
        solution = solution_of(population, i)
        for k in range(size):
            set_gene(solution, work.journal, members[k], work.draws[i, k])
        accept_worse = 0.0 if i == elite else rules.accept_worse
        if _step(problem, population, i, accept_worse, work, generator):
            population.improved[i] = 1
        status = _status(population, i, rules, work)
        if status != ONGOING:
            return status
    if n_outside > 0.9 * n_draws:
        # the distribution is too wide
        multipliers[subset] *= 0.5
    _adapt(population, members, multipliers, subset, best_values, rules, model, work)
    return ONGOING


@kernel
def _shift_all(
    problem: Any,
    population: RealPopulation,
    elite: int,
    rules: RealRules,
    model: RealModel,
    work: RealWork,
    generator: np.random.Generator,
) -> int:
    """Move the first solutions as a whole along the mean's shift."""
    n_variables = population.genotypes.shape[1]
    values = work.vectors[DRAW]
    left = rules.n_shifted
    for i in range(population.genotypes.shape[0]):
        if left == 0:
            break
        left -= 1
        solution = solution_of(population, i)
        for g in range(n_variables):
            values[g] = solution.genotype[g]
        if not _shift(work.all_variables, values, model.shift, _AMS_SHIFT, rules):
            continue
        for g in range(n_variables):
            set_gene(solution, work.journal, g, values[g])
        accept_worse = 0.0 if i == elite else rules.accept_worse
        if _step(problem, population, i, accept_worse, work, generator):
            population.improved[i] = 1
        status = _status(population, i, rules, work)
        if status != ONGOING:
            return status
    return ONGOING


@kernel
def _force(
    problem: Any,
    population: RealPopulation,
    i: int,
    best: int,
    linkage: Linkage,
    rules: RealRules,
    work: RealWork,
    generator: np.random.Generator,
) -> int:
    """Move subsets towards the best solution, in growing steps, until solution i improves, otherwise copy the best."""
    n_subsets = linkage.starts.shape[0]
    solution, donor = solution_of(population, i), population.genotypes[best]
    blend = 0.5
    # forced improvement halves its step down to 2^-7
    while blend > 0.0078:
        shuffle(generator, work.subsets[:n_subsets])
        for s in range(n_subsets):
            start = linkage.starts[work.subsets[s]]
            for k in range(start, start + linkage.sizes[work.subsets[s]]):
                g = linkage.members[k]
                set_gene(solution, work.journal, g, blend * solution.genotype[g] + (1.0 - blend) * donor[g])
            improved = _step(problem, population, i, 0.0, work, generator)
            status = _status(population, i, rules, work)
            if improved or status != ONGOING:
                return status
        blend *= 0.5
    for g in range(solution.genotype.shape[0]):
        set_gene(solution, work.journal, g, donor[g])
    _step(problem, population, i, 1.0, work, generator)
    return _status(population, i, rules, work)


@kernel
def _best_of(population: RealPopulation) -> int:
    """Return the best solution, the first one of equals."""
    best = 0
    for i in range(1, population.genotypes.shape[0]):
        if beats(population, i, best):
            best = i
    return best


@kernel
def vary(
    problem: Any,
    population: RealPopulation,
    linkage: Linkage,
    multipliers: NDArray[np.float64],
    rules: RealRules,
    model: RealModel,
    work: RealWork,
    generator: np.random.Generator,
) -> int:
    """Run one generation after `estimate`; returns the status and mutates all arguments except problem and linkage."""
    n, n_subsets = population.genotypes.shape[0], multipliers.shape[0]
    population.improved[:] = 0
    # the best solution only takes improvements, so that it is never lost
    elite = work.selection.order[0]
    for s in range(n_subsets):
        work.subsets[s] = s
    shuffle(generator, work.subsets[:n_subsets])
    for s in range(n_subsets):
        status = _vary_subset(
            problem, population, linkage, multipliers, work.subsets[s], elite, rules, model, work, generator
        )
        if status != ONGOING:
            return status
    if model.counts[GENERATIONS] > 0:
        status = _shift_all(problem, population, elite, rules, model, work, generator)
        if status != ONGOING:
            return status
    best = _best_of(population)
    any_improved = False
    for i in range(n):
        any_improved |= population.improved[i] != 0
        population.stalls[i] = 0 if population.improved[i] != 0 else population.stalls[i] + 1
        if population.stalls[i] > rules.stall_limit and i != best:
            status = _force(problem, population, i, best, linkage, rules, work, generator)
            if status != ONGOING:
                return status
    widest = 0.0
    for s in range(n_subsets):
        widest = max(widest, multipliers[s])
    if any_improved:
        model.counts[STALLED] = 0
    elif widest <= 1.0:
        model.counts[STALLED] += 1
    model.counts[GENERATIONS] += 1
    for i in range(n):
        # without this the rounding of many small changes would add up
        evaluate_partial(problem, solution_of(population, i), work.journal, generator)
    return ONGOING
