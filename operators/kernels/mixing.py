"""Compiled variation of one solution: gene-pool optimal mixing, forced improvement, local search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage
from gomea_bn.problems.base import Journal, Solution, evaluate, evaluate_partial, set_gene, undo
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels.random_draws import random_below, shuffle

__all__ = ["Elite", "MixingRules", "MixingWork", "PopulationData"]

NOT_RUN, FINISHED, CUT_SHORT = 0, 1, 2


class PopulationData(NamedTuple):
    """A population of n solutions; row i of every array belongs to solution i."""

    parents: NDArray[np.int16]  # (n, l) previous generation: donors, and what linkage is learned from
    genotypes: NDArray[np.int16]  # (n, l) offspring in the making
    terms: NDArray[np.float64]  # (n, n_terms)
    aux: NDArray[np.uint64]  # (n, n_aux)
    objectives: NDArray[np.float64]  # (n, n_objectives)
    violations: NDArray[np.float64]  # (n,)
    stalls: NDArray[np.int64]  # (n,) generations without strict improvement
    tallies: NDArray[np.int64]  # (n, 4) of this generation: status, evaluations, touched terms, elite copies


class Elite(NamedTuple):
    """The best solution of all populations, as it stood when the generation began."""

    genotype: NDArray[np.int16]  # (l,)
    objectives: NDArray[np.float64]
    violation: NDArray[np.float64]  # (1,)


class MixingRules(NamedTuple):
    """Options of variation."""

    alphabet: NDArray[np.int64]  # (l,)
    allowed: NDArray[np.bool_]  # (l, largest alphabet)
    ordinal: NDArray[np.bool_]  # (l,)
    max_tries: int  # of other values of a gene that is not ordinal, in one climb
    stall_limit: int  # forced improvement begins above this many stalled generations
    forced_improvement: bool
    local_search: bool
    search_donors: bool  # try donors until one differs
    immediate_elite: bool  # the elite follows every improvement (one thread only)


class MixingWork(NamedTuple):
    """One thread's work space."""

    journal: Journal
    subsets: NDArray[np.int64]  # (n_subsets,) visiting order
    genes: NDArray[np.int64]  # (l,) visiting order
    donors: NDArray[np.int64]  # (n,)
    budget: NDArray[np.int64]  # (1,) evaluations left
    stop: NDArray[np.uint8]  # (1,) set from outside to interrupt
    target: NDArray[np.float64]  # (1,) a feasible objective this low ends the thread's work


@kernel
def better(f: NDArray[np.float64], violation: float, g: NDArray[np.float64], other_violation: float) -> bool:
    """Return whether the first (objectives, violation) beats the second: feasibility first, then objective 0."""
    if violation != other_violation:
        return violation < other_violation
    return violation == 0.0 and f[0] < g[0]


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
    for g in range(a.shape[0]):
        if a[g] != b[g]:
            return False
    return True


@kernel
def _offer_elite(elite: Elite, solution: Solution) -> None:
    if better(solution.objectives, solution.violation[0], elite.objectives, elite.violation[0]):
        for g in range(solution.genotype.shape[0]):
            elite.genotype[g] = solution.genotype[g]
        for m in range(solution.objectives.shape[0]):
            elite.objectives[m] = solution.objectives[m]
        elite.violation[0] = solution.violation[0]


@kernel
def net_change(solution: Solution, journal: Journal, n_own: int) -> bool:
    """Return whether a step of `n_own` gene changes, after repair, left any gene different."""
    for k in range(journal.counts[0]):
        gene = journal.genes[k]
        first = k
        for earlier in range(n_own):
            if journal.genes[earlier] == gene:
                first = earlier
                break
        if solution.genotype[gene] != journal.gene_values[first]:
            return True
    return False


@kernel
def _note_target(solution: Solution, work: MixingWork) -> None:
    """End the thread's work once the target is met; solutions before this one are finished by their threads."""
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
    """Evaluate the gene changes in the journal and keep or undo them; returns whether the genotype changed."""
    journal = work.journal
    n_own = journal.counts[0]
    former = solution.objectives[0]
    former_violation = solution.violation[0]
    tallies[2] += evaluate_partial(problem, solution, journal, generator)
    tallies[1] += 1
    work.budget[0] -= 1
    violation, objective = solution.violation[0], solution.objectives[0]
    if violation < former_violation or (violation == former_violation and objective < former):
        journal.counts[:] = 0
        _note_target(solution, work)
        return True
    if not strict and violation == former_violation and objective == former:
        changed = net_change(solution, journal, n_own)
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
    return journal.counts[0] > 0


@kernel
def interrupted(work: MixingWork) -> bool:
    return work.budget[0] <= 0 or work.stop[0] != 0


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
    """Gene-pool optimal mixing of solution i with donors of the previous generation; returns whether it changed."""
    solution = solution_of(population, i)
    n = population.parents.shape[0]
    if n < 2:
        return False
    # the elite itself must improve strictly, or equal exchanges would let it drift away
    strict = solution.objectives[0] <= elite.objectives[0] and equal_genes(solution.genotype, elite.genotype)
    changed = False
    n_subsets = linkage.starts.shape[0]
    for k in range(n_subsets):
        work.subsets[k] = k
    shuffle(generator, work.subsets[:n_subsets])
    for k in range(n_subsets):
        if interrupted(work):
            return changed
        if rules.search_donors:
            for d in range(n):
                work.donors[d] = d
            shuffle(generator, work.donors[:n])
            differs = False
            for d in range(n):
                if work.donors[d] == i:
                    continue
                differs = donate(
                    solution, population.parents[work.donors[d]], linkage, work.subsets[k], work.journal
                )
                if differs:
                    break
        else:
            donor = random_below(generator, n - 1)
            if donor >= i:
                donor += 1
            differs = donate(solution, population.parents[donor], linkage, work.subsets[k], work.journal)
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
    """Take subsets of the elite until one improves strictly, else become the elite (forced improvement)."""
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
    if not better(solution.objectives, solution.violation[0], elite.objectives, elite.violation[0]):
        for gene in range(solution.genotype.shape[0]):
            if solution.genotype[gene] != elite.genotype[gene]:
                set_gene(solution, work.journal, gene, elite.genotype[gene])
        population.tallies[i, 3] += 1
        _step(problem, solution, population.tallies[i], np.bool_(False), work, generator)


@kernel
def n_other_values(rules: MixingRules, gene: int) -> int:
    """Return how many values of a gene a climb tries: all others of an edge gene, two next to a policy gene's."""
    return np.int64(2) if rules.ordinal[gene] else rules.alphabet[gene] - 1


@kernel
def other_value(rules: MixingRules, gene: int, start: int, turn: int) -> int:
    """Return the value number `turn` that a climb from `start` tries; -1 if there is none or it is not allowed."""
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
    """Try other values of every gene once, in random order, keeping strict improvements; returns whether any was.

    An edge gene tries all its other values, a policy gene the two next to where it began (Orphanou et al. 2018), or
    where its library has no order, up to ``max_tries`` of its other values.
    """
    solution = solution_of(population, i)
    improved = False
    for g in range(work.genes.shape[0]):
        work.genes[g] = g
    shuffle(generator, work.genes)
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
    """Evaluate solution i in full and return the touched terms; mutates its rows but no tallies."""
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
        tallies[2] += evaluate(problem, solution_of(population, i), work.journal, generator)
        tallies[1] += 1
        work.budget[0] -= 1
        _note_target(solution_of(population, i), work)
        if rules.local_search:
            _climb(problem, population, i, rules, generator, work)
        tallies[0] = CUT_SHORT if interrupted(work) else FINISHED


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
        population.tallies[i, 0] = CUT_SHORT if interrupted(work) else FINISHED
