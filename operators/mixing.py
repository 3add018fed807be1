"""Compiled variation of one solution: gene-pool optimal mixing, forced improvement, local search; the elite.

Gene-pool optimal mixing is that of Thierens & Bosman, "Optimal mixing evolutionary algorithms", GECCO 2011, and forced
improvement that of Bosman & Thierens, "Linkage neighbors, optimal mixing and forced improvements in genetic
algorithms", GECCO 2012.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage
from gomea_bn.problems.base import GENES, Journal, Solution, evaluate, evaluate_partial, set_gene, undo
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import random_below, shuffle

MOST_DONORS = 4
"""Donors that are tried for a subset of one objective; more cost evaluations where good solutions share little."""

# entries of a row of `PopulationData.tallies`
STATUS, EVALUATIONS, TOUCHED, COPIES = 0, 1, 2, 3

# values of the entry STATUS: the state of a solution in this generation
NOT_RUN, FINISHED, CUT_SHORT = 0, 1, 2


class PopulationData(NamedTuple):
    """A population of n solutions; row i of every array belongs to solution i."""

    parents: NDArray[np.int16]  # (n, l) previous generation: the donors, from which linkage is learned
    genotypes: NDArray[np.int16]  # (n, l) offspring in the making
    terms: NDArray[np.float64]  # (n, n_terms)
    aux: NDArray[np.uint64]  # (n, n_aux)
    objectives: NDArray[np.float64]  # (n, n_objectives)
    violations: NDArray[np.float64]  # (n,)
    stalls: NDArray[np.int64]  # (n,) generations without strict improvement
    # (n, 4) of this generation: STATUS, EVALUATIONS, TOUCHED terms, COPIES of the elite
    tallies: NDArray[np.int64]


class Elite(NamedTuple):
    """The best solution of all populations at the beginning of the generation."""

    genotype: NDArray[np.int16]  # (l,)
    objectives: NDArray[np.float64]  # (n_objectives,)
    violation: NDArray[np.float64]  # (1,)


class MixingRules(NamedTuple):
    """Options of variation."""

    alphabet: NDArray[np.int64]  # (l,) cardinalities
    allowed: NDArray[np.bool_]  # (l, largest alphabet) values that a climb may use
    ordinal: NDArray[np.bool_]  # (l,) whether a climb tries only the two neighbouring values
    max_tries: int  # largest number of values that a climb tries for a gene that is not ordinal
    stall_limit: int  # number of stalled generations above which improvement is forced
    forced_improvement: bool
    local_search: bool
    search_donors: bool  # try several donors until one differs from the solution
    immediate_elite: bool  # the elite follows every improvement (one thread only)


class MixingWork(NamedTuple):
    """One thread's work space."""

    journal: Journal
    subsets: NDArray[np.int64]  # (n_subsets,) visiting order
    genes: NDArray[np.int64]  # (l,) visiting order
    donors: NDArray[np.int64]  # (n,) visiting order
    budget: NDArray[np.int64]  # (1,) evaluations left
    stop: NDArray[np.uint8]  # (1,) set from outside to interrupt
    target: NDArray[np.float64]  # (1,) a feasible objective of at most this ends the thread's work


@kernel
def improves(objective: float, violation: float, than: float, than_violation: float) -> bool:
    """Return whether the first beats the second: less violation first, then the objective of feasible solutions."""
    if violation != than_violation:
        return violation < than_violation
    return violation == 0.0 and objective < than


@kernel
def solution_of(population: PopulationData, i: int) -> Solution:
    """Return the views that make up solution i."""
    return Solution(
        population.genotypes[i],
        population.terms[i],
        population.aux[i],
        population.objectives[i],
        population.violations[i : i + 1],
    )


@kernel
def equal_genes(a: NDArray[np.int16], b: NDArray[np.int16]) -> bool:
    """Return whether two genotypes are equal."""
    for g in range(a.shape[0]):
        if a[g] != b[g]:
            return False
    return True


@kernel
def _offer_elite(elite: Elite, solution: Solution) -> None:
    """Copy a solution into the elite if it is better."""
    if improves(solution.objectives[0], solution.violation[0], elite.objectives[0], elite.violation[0]):
        for g in range(solution.genotype.shape[0]):
            elite.genotype[g] = solution.genotype[g]
        for m in range(solution.objectives.shape[0]):
            elite.objectives[m] = solution.objectives[m]
        elite.violation[0] = solution.violation[0]


@kernel
def net_change(solution: Solution, journal: Journal, n_before_repair: int) -> bool:
    """Return whether a step left any gene different; its first `n_before_repair` changes are not those of repair."""
    for k in range(journal.counts[GENES]):
        gene = journal.genes[k]
        first = k
        for earlier in range(n_before_repair):
            if journal.genes[earlier] == gene:
                first = earlier
                break
        if solution.genotype[gene] != journal.gene_values[first]:
            return True
    return False


@kernel
def _note_target(solution: Solution, work: MixingWork) -> None:
    """End the thread's work once the target is met; other threads finish the solutions before this one."""
    if solution.violation[0] == 0.0 and solution.objectives[0] <= work.target[0]:
        work.budget[0] = 0


@kernel
def _step(
    problem: Any,
    solution: Solution,
    tallies: NDArray[np.int64],
    strict: bool,
    work: MixingWork,
    generator: np.random.Generator,
) -> bool:
    """Evaluate the gene changes in the journal, then keep or undo them; returns whether the genotype changed."""
    journal = work.journal
    n_before_repair = journal.counts[GENES]
    former = solution.objectives[0]
    former_violation = solution.violation[0]
    tallies[TOUCHED] += evaluate_partial(problem, solution, journal, generator)
    tallies[EVALUATIONS] += 1
    work.budget[0] -= 1
    violation, objective = solution.violation[0], solution.objectives[0]
    if violation < former_violation or (violation == former_violation and objective < former):
        journal.counts[:] = 0
        _note_target(solution, work)
        return True
    if not strict and violation == former_violation and objective == former:
        changed = net_change(solution, journal, n_before_repair)
        journal.counts[:] = 0
        return changed
    undo(solution, journal)
    solution.objectives[0] = former
    solution.violation[0] = former_violation
    return False


@kernel
def donate(
    solution: Solution, donor: NDArray[np.int16], linkage: Linkage, subset: int, journal: Journal
) -> bool:
    """Copy a subset of the donor's genes into the solution; returns whether any differed."""
    start = linkage.starts[subset]
    for k in range(start, start + linkage.sizes[subset]):
        gene = linkage.members[k]
        if solution.genotype[gene] != donor[gene]:
            set_gene(solution, journal, gene, donor[gene])
    return journal.counts[GENES] > 0


@kernel
def interrupted(work: MixingWork) -> bool:
    """Return whether the budget is spent or the run is stopped."""
    return work.budget[0] <= 0 or work.stop[0] != 0


@kernel
def visiting_order(order: NDArray[np.int64], n: int, generator: np.random.Generator) -> None:
    """Fill the first n entries of `order` with 0 to n - 1 in random order."""
    for k in range(n):
        order[k] = k
    shuffle(generator, order[:n])


@kernel
def donate_from_any(
    solution: Solution,
    parents: NDArray[np.int16],
    donors: NDArray[np.int64],
    except_for: int,
    linkage: Linkage,
    subset: int,
    journal: Journal,
) -> bool:
    """Copy a subset from the first donor but `except_for` that differs in it; returns whether there was one."""
    for d in range(donors.shape[0]):
        if donors[d] != except_for and donate(solution, parents[donors[d]], linkage, subset, journal):
            return True
    return False


@kernel
def become(solution: Solution, genotype: NDArray[np.int16], journal: Journal) -> None:
    """Copy a whole genotype into the solution, noting the changes in the journal."""
    for gene in range(genotype.shape[0]):
        if solution.genotype[gene] != genotype[gene]:
            set_gene(solution, journal, gene, genotype[gene])


@kernel
def _mix(
    problem: Any,
    population: PopulationData,
    i: int,
    elite: Elite,
    linkage: Linkage,
    rules: MixingRules,
    generator: np.random.Generator,
    work: MixingWork,
) -> bool:
    """Mix solution i with donors of the previous generation (gene-pool optimal mixing); returns whether it changed."""
    solution = solution_of(population, i)
    n = population.parents.shape[0]
    if n < 2:
        return False
    # the elite itself must improve strictly, or equal exchanges would let it drift away
    strict = solution.objectives[0] <= elite.objectives[0] and equal_genes(solution.genotype, elite.genotype)
    changed = False
    n_subsets = linkage.starts.shape[0]
    visiting_order(work.subsets, n_subsets, generator)
    for k in range(n_subsets):
        if interrupted(work):
            return changed
        subset = work.subsets[k]
        n_tries = MOST_DONORS if rules.search_donors else 1
        differs = False
        while n_tries > 0 and not differs:
            n_tries -= 1
            donor = random_below(generator, n - 1)
            if donor >= i:
                donor += 1
            differs = donate(solution, population.parents[donor], linkage, subset, work.journal)
        if differs:
            changed |= _step(problem, solution, population.tallies[i], strict, work, generator)
            if rules.immediate_elite:
                _offer_elite(elite, solution)
    return changed


@kernel
def _force(
    problem: Any,
    population: PopulationData,
    i: int,
    elite: Elite,
    linkage: Linkage,
    generator: np.random.Generator,
    work: MixingWork,
) -> None:
    """Take subsets of the elite until one improves strictly, otherwise copy the elite (forced improvement)."""
    solution = solution_of(population, i)
    n_subsets = linkage.starts.shape[0]
    shuffle(generator, work.subsets[:n_subsets])
    for k in range(n_subsets):
        if interrupted(work):
            return
        if donate(solution, elite.genotype, linkage, work.subsets[k], work.journal) and _step(
            problem, solution, population.tallies[i], np.bool_(True), work, generator
        ):
            return
    if interrupted(work) or equal_genes(solution.genotype, elite.genotype):
        return
    # within this generation the solution may have passed the elite, which stands still
    if not improves(solution.objectives[0], solution.violation[0], elite.objectives[0], elite.violation[0]):
        become(solution, elite.genotype, work.journal)
        population.tallies[i, COPIES] += 1
        _step(problem, solution, population.tallies[i], np.bool_(False), work, generator)


@kernel
def n_other_values(rules: MixingRules, gene: int) -> int:
    """Return the number of values that a climb may try: two for an ordinal gene, else all other values."""
    return np.int64(2) if rules.ordinal[gene] else rules.alphabet[gene] - 1


@kernel
def other_value(rules: MixingRules, gene: int, start: int, turn: int) -> int:
    """Return the value that a climb from `start` tries at a turn; -1 if it does not exist or is not allowed."""
    if rules.ordinal[gene]:
        value = start - 1 + 2 * turn
        if value < 0 or value >= rules.alphabet[gene]:
            return -1
    else:
        value = turn if turn < start else turn + 1
    return value if rules.allowed[gene, value] else -1


@kernel
def _climb(
    problem: Any,
    population: PopulationData,
    i: int,
    rules: MixingRules,
    generator: np.random.Generator,
    work: MixingWork,
) -> bool:
    """Try other values of every gene once, in random order, and keep strict improvements; returns whether any was.

    An ordinal gene tries the two values next to its first one (Orphanou et al. 2018), another gene at most
    ``max_tries`` of its other values.
    """
    solution = solution_of(population, i)
    improved = False
    visiting_order(work.genes, work.genes.shape[0], generator)
    for g in range(work.genes.shape[0]):
        gene = work.genes[g]
        start = np.int64(solution.genotype[gene])
        n_others = n_other_values(rules, gene)
        first = random_below(generator, n_others) if n_others > 1 else 0
        for k in range(min(n_others, rules.max_tries)):
            value = other_value(rules, gene, start, (first + k) % n_others)
            if value < 0:
                continue
            if interrupted(work):
                return improved
            set_gene(solution, work.journal, gene, value)
            improved |= _step(problem, solution, population.tallies[i], np.bool_(True), work, generator)
    return improved


@kernel
def evaluate_row(
    problem: Any, population: PopulationData, i: int, generator: np.random.Generator, work: MixingWork
) -> int:
    """Evaluate solution i in full and return the number of touched terms; mutates its rows except the tallies."""
    return evaluate(problem, solution_of(population, i), work.journal, generator)


@kernel
def initialise_range(
    problem: Any,
    population: PopulationData,
    rules: MixingRules,
    generator: np.random.Generator,
    work: MixingWork,
    first: int,
    last: int,
) -> None:
    """Evaluate solutions `first` to `last` (exclusive) in full and climb from them; mutates their rows."""
    for i in range(first, last):
        if i > 0 and interrupted(work):
            return
        tallies = population.tallies[i]
        tallies[TOUCHED] += evaluate(problem, solution_of(population, i), work.journal, generator)
        tallies[EVALUATIONS] += 1
        work.budget[0] -= 1
        _note_target(solution_of(population, i), work)
        if rules.local_search:
            _climb(problem, population, i, rules, generator, work)
        tallies[STATUS] = CUT_SHORT if interrupted(work) else FINISHED


@kernel
def vary_range(
    problem: Any,
    population: PopulationData,
    elite: Elite,
    linkage: Linkage,
    rules: MixingRules,
    generator: np.random.Generator,
    work: MixingWork,
    bounds: tuple[int, int],
) -> None:
    """Vary solutions ``bounds[0]`` to ``bounds[1]`` (exclusive): mixing, forced improvement, climbing."""
    for i in range(bounds[0], bounds[1]):
        if interrupted(work):
            return
        solution = solution_of(population, i)
        former, former_violation = solution.objectives[0], solution.violation[0]
        changed = _mix(problem, population, i, elite, linkage, rules, generator, work)
        if rules.forced_improvement and (not changed or population.stalls[i] > rules.stall_limit):
            _force(problem, population, i, elite, linkage, generator, work)
        if rules.local_search:
            _climb(problem, population, i, rules, generator, work)
        violation, objective = solution.violation[0], solution.objectives[0]
        if violation < former_violation or (violation == former_violation and objective < former):
            population.stalls[i] = 0
        else:
            population.stalls[i] += 1
        if rules.immediate_elite:
            _offer_elite(elite, solution)
        population.tallies[i, STATUS] = CUT_SHORT if interrupted(work) else FINISHED


ALL_ROWS = slice(None)
"""Stands for all solutions of a population."""


def values_of(population: Any, rows: slice) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
    """Return some solutions of a population with their objectives and violations."""
    data = population.data
    return data.genotypes[rows], data.objectives[rows], data.violations[rows]


def no_elite(problem: Any, dtype: type[np.generic]) -> Elite:
    """Return room for the best solution of a run that has none yet."""
    genotype: Any = np.zeros(problem.n_variables, dtype)
    return Elite(genotype=genotype, objectives=np.full(problem.n_objectives, inf), violation=np.full(1, inf))


def take_best(
    elite: Elite, genotypes: NDArray[Any], objectives: NDArray[np.float64], violations: NDArray[np.float64]
) -> None:
    """Copy the first of the best solutions if it is better: by its violation, then by its first objective."""
    best = int(np.lexsort((objectives[:, 0], violations))[0])
    if (violations[best], objectives[best, 0]) < (elite.violation[0], elite.objectives[0]):
        elite.genotype[:] = genotypes[best]
        elite.objectives[:] = objectives[best]
        elite.violation[0] = violations[best]
