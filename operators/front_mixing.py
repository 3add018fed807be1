"""Compiled variation of one solution for several objectives: mixing in a cluster, forced improvement, climbing."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage
from gomea_bn.operators.archive import (
    ADDED,
    DOMINATED,
    KNOWN,
    MEMBERS,
    SAME_BOX,
    Archive,
    canonical,
    genotype_key,
    offer_solution,
    standing,
)
from gomea_bn.operators.mixing import (
    COPIES,
    CUT_SHORT,
    EVALUATIONS,
    FINISHED,
    STATUS,
    TOUCHED,
    MixingRules,
    MixingWork,
    PopulationData,
    become,
    donate,
    donate_from_any,
    equal_genes,
    interrupted,
    n_other_values,
    net_change,
    other_value,
    solution_of,
    visiting_order,
)
from gomea_bn.problems.base import GENES, Solution, evaluate, evaluate_partial, set_gene, undo
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import random_below, shuffle

# a further outcome of offering a solution, next to those of the archive
INFEASIBLE = 5

# in place of an objective: dominance decides, or a weighted sum
ALL, WEIGHTED = -1, -2

# entries of `FrontWork.clock`
EVALUATED, LATEST_ADDITION = 0, 1


class Clusters(NamedTuple):
    """A population's clusters in objective space (n solutions, k clusters, which may overlap)."""

    of_solution: NDArray[np.int64]  # (n,)
    objective: NDArray[np.int64]  # (k,) the one objective of an extreme cluster, or ALL
    members: NDArray[np.int64]  # cluster c: members[member_starts[c] : member_starts[c + 1]]
    member_starts: NDArray[np.int64]  # (k + 1,)
    linkage: Linkage  # cluster c: subsets subset_starts[c] to subset_starts[c + 1]
    subset_starts: NDArray[np.int64]  # (k + 1,)


class FrontState(NamedTuple):
    """The state of a search that a block of solutions reads and adds to."""

    archive: Archive  # only read while a generation runs, unless `immediate`
    finds: Archive  # new members from this block, merged into the archive afterwards
    clusters: Clusters
    stalled: bool  # improvement is forced for every solution
    immediate: bool  # the archive takes in every solution at once (one thread only)
    scale: NDArray[np.float64]  # (m,) factors of the objectives in weighted sums
    weighted: bool  # outside extreme clusters a weighted sum decides instead of dominance


class FrontWork(NamedTuple):
    """One thread's work space (m objectives)."""

    mixing: MixingWork
    former: NDArray[np.float64]  # (m,) objectives before a step
    candidate: NDArray[np.float64]  # (m,) canonical objectives of the offered solution
    weights: NDArray[np.float64]  # (m,) of the objectives in the sum that decides
    clock: NDArray[np.int64]  # (2,) numbers of evaluations: EVALUATED so far, and at the LATEST_ADDITION


@kernel
def _offer(search: FrontState, solution: Solution, work: FrontWork, exchange: bool) -> int:
    """Offer an evaluated solution to the block's finds (or the archive); returns the outcome."""
    for j in range(work.candidate.shape[0]):
        work.candidate[j] = canonical(solution.objectives[j])
    if solution.violation[0] > 0.0:
        return INFEASIBLE
    key = genotype_key(solution.genotype)
    if search.immediate:
        became = offer_solution(search.archive, solution.genotype, key, work.candidate, exchange)
    else:
        became = standing(search.archive, key, work.candidate)
        if became in (KNOWN, DOMINATED):
            return became
        among_finds = offer_solution(search.finds, solution.genotype, key, work.candidate, exchange)
        if among_finds == DOMINATED:
            became = DOMINATED
        elif among_finds != ADDED:
            became = SAME_BOX
    if became == ADDED:
        work.clock[LATEST_ADDITION] = work.clock[EVALUATED]
    return became


@kernel
def _accepts(
    solution: Solution, former_violation: float, work: FrontWork, became: int, objective: int, strict: bool
) -> bool:
    """Return whether a step from ``work.former`` is kept: less violation first, then dominance or one objective.

    Where dominance decides, a step is also kept if it leads to a new member of the archive. Unless `strict`, a step
    to any solution that no member dominates is kept, too.
    """
    violation = solution.violation[0]
    if violation != former_violation:
        return violation < former_violation
    if objective != ALL:
        now, before = 0.0, 0.0
        if objective == WEIGHTED:
            for j in range(work.weights.shape[0]):
                now += work.weights[j] * work.candidate[j]
                before += work.weights[j] * canonical(work.former[j])
        else:
            now, before = work.candidate[objective], canonical(work.former[objective])
        return now < before or (now == before and not strict)
    better, worse = False, False
    for j in range(work.candidate.shape[0]):
        before = canonical(work.former[j])
        better |= work.candidate[j] < before
        worse |= work.candidate[j] > before
    if not worse and (better or not strict):
        return True
    return became == ADDED or (not strict and became != DOMINATED and became != INFEASIBLE)


@kernel
def _count_evaluation(tallies: NDArray[np.int64], work: FrontWork) -> None:
    tallies[EVALUATIONS] += 1
    work.mixing.budget[0] -= 1
    work.clock[EVALUATED] += 1


@kernel
def _step(
    problem: Any,
    solution: Solution,
    tallies: NDArray[np.int64],
    search: FrontState,
    work: FrontWork,
    generator: np.random.Generator,
    objective: int,
    strict: bool,
) -> bool:
    """Evaluate and offer the changed solution, then keep or undo the changes; returns whether the genotype changed."""
    journal = work.mixing.journal
    n_before_repair = journal.counts[GENES]
    for j in range(work.former.shape[0]):
        work.former[j] = solution.objectives[j]
    former_violation = solution.violation[0]
    tallies[TOUCHED] += evaluate_partial(problem, solution, journal, generator)
    _count_evaluation(tallies, work)
    became = _offer(search, solution, work, np.bool_(True))
    if _accepts(solution, former_violation, work, became, objective, strict):
        changed = net_change(solution, journal, n_before_repair)
        journal.counts[:] = 0
        return changed
    undo(solution, journal)
    for j in range(work.former.shape[0]):
        solution.objectives[j] = work.former[j]
    solution.violation[0] = former_violation
    return False


@kernel
def _subsets_of(clusters: Clusters, cluster: int, work: MixingWork, generator: np.random.Generator) -> int:
    """Fill ``work.subsets`` with a cluster's subsets in random order; returns their number."""
    first = clusters.subset_starts[cluster]
    n_subsets = clusters.subset_starts[cluster + 1] - first
    for k in range(n_subsets):
        work.subsets[k] = first + k
    shuffle(generator, work.subsets[:n_subsets])
    return n_subsets


@kernel
def _draw_weights(search: FrontState, work: FrontWork, generator: np.random.Generator) -> None:
    """Draw weights uniformly from the simplex and multiply them by the objectives' factors."""
    total = 0.0
    for j in range(work.weights.shape[0]):
        work.weights[j] = -log(1.0 - generator.random())
        total += work.weights[j]
    for j in range(work.weights.shape[0]):
        work.weights[j] *= search.scale[j] / total


@kernel
def _mix(
    problem: Any,
    population: PopulationData,
    i: int,
    search: FrontState,
    rules: MixingRules,
    generator: np.random.Generator,
    work: FrontWork,
) -> bool:
    """Mix solution i with donors of its cluster (gene-pool optimal mixing); returns whether it changed."""
    solution = solution_of(population, i)
    clusters, mixing = search.clusters, work.mixing
    cluster = clusters.of_solution[i]
    objective = clusters.objective[cluster]
    if objective == ALL and search.weighted:
        objective = WEIGHTED
        _draw_weights(search, work, generator)
    first_member = clusters.member_starts[cluster]
    n_members = clusters.member_starts[cluster + 1] - first_member
    n_subsets = _subsets_of(clusters, cluster, mixing, generator)
    changed = False
    for k in range(n_subsets):
        if interrupted(mixing):
            return changed
        subset = mixing.subsets[k]
        if rules.search_donors:
            for d in range(n_members):
                mixing.donors[d] = clusters.members[first_member + d]
            donors = mixing.donors[:n_members]
            shuffle(generator, donors)
            differs = donate_from_any(
                solution, population.parents, donors, -1, clusters.linkage, subset, mixing.journal
            )
        else:
            donor = population.parents[clusters.members[first_member + random_below(generator, n_members)]]
            differs = donate(solution, donor, clusters.linkage, subset, mixing.journal)
        if differs:
            changed |= _step(
                problem, solution, population.tallies[i], search, work, generator, objective, np.bool_(False)
            )
    return changed


@kernel
def _archive_donor(archive: Archive, objective: int, generator: np.random.Generator) -> int:
    """Return the member that is best in an objective; a random member where ALL count."""
    if objective != ALL:
        return archive.best[objective]
    return random_below(generator, archive.counts[MEMBERS])


@kernel
def _force(
    problem: Any,
    population: PopulationData,
    i: int,
    search: FrontState,
    generator: np.random.Generator,
    work: FrontWork,
) -> None:
    """Take subsets of archive members until one improves strictly, otherwise copy a member (forced improvement)."""
    solution = solution_of(population, i)
    archive, mixing = search.archive, work.mixing
    if archive.counts[MEMBERS] == 0:
        return
    cluster = search.clusters.of_solution[i]
    objective = search.clusters.objective[cluster]
    n_subsets = _subsets_of(search.clusters, cluster, mixing, generator)
    for k in range(n_subsets):
        if interrupted(mixing):
            return
        donor = archive.genotypes[_archive_donor(archive, objective, generator)]
        if donate(solution, donor, search.clusters.linkage, mixing.subsets[k], mixing.journal) and _step(
            problem, solution, population.tallies[i], search, work, generator, objective, np.bool_(True)
        ):
            return
    if interrupted(mixing):
        return
    donor_number = _archive_donor(archive, objective, generator)
    member = archive.genotypes[donor_number]
    if equal_genes(solution.genotype, member):
        return
    # within this generation the solution may have passed the archive, which stands still
    if objective != ALL and solution.violation[0] == 0.0:
        if canonical(solution.objectives[objective]) < archive.objectives[donor_number, objective]:
            return
    become(solution, member, mixing.journal)
    population.tallies[i, COPIES] += 1
    population.tallies[i, TOUCHED] += evaluate_partial(problem, solution, mixing.journal, generator)
    _count_evaluation(population.tallies[i], work)
    mixing.journal.counts[:] = 0


@kernel
def _climb(
    problem: Any,
    population: PopulationData,
    i: int,
    search: FrontState,
    rules: MixingRules,
    generator: np.random.Generator,
    work: FrontWork,
    objective: int,
) -> None:
    """Try other values of every gene once, in random order, and keep strict improvements."""
    solution = solution_of(population, i)
    mixing = work.mixing
    if objective == WEIGHTED:
        _draw_weights(search, work, generator)
    visiting_order(mixing.genes, mixing.genes.shape[0], generator)
    for g in range(mixing.genes.shape[0]):
        gene = mixing.genes[g]
        start = np.int64(solution.genotype[gene])
        n_others = n_other_values(rules, gene)
        first = random_below(generator, n_others) if n_others > 1 else 0
        for k in range(min(n_others, rules.max_tries)):
            value = other_value(rules, gene, start, (first + k) % n_others)
            if value < 0:
                continue
            if interrupted(mixing):
                return
            set_gene(solution, mixing.journal, gene, value)
            _step(
                problem, solution, population.tallies[i], search, work, generator, objective, np.bool_(True)
            )


@kernel
def initialise_front(
    problem: Any,
    population: PopulationData,
    search: FrontState,
    rules: MixingRules,
    generator: np.random.Generator,
    work: FrontWork,
    bounds: tuple[int, int],
) -> None:
    """Evaluate and offer solutions ``bounds[0]`` to ``bounds[1]`` (exclusive) and climb from them."""
    for i in range(bounds[0], bounds[1]):
        if i > 0 and interrupted(work.mixing):
            return
        solution = solution_of(population, i)
        tallies = population.tallies[i]
        tallies[TOUCHED] += evaluate(problem, solution, work.mixing.journal, generator)
        _count_evaluation(tallies, work)
        _offer(search, solution, work, np.bool_(False))
        if rules.local_search:
            _climb(problem, population, i, search, rules, generator, work, np.int64(WEIGHTED))
        tallies[STATUS] = CUT_SHORT if interrupted(work.mixing) else FINISHED


@kernel
def vary_front(
    problem: Any,
    population: PopulationData,
    search: FrontState,
    rules: MixingRules,
    generator: np.random.Generator,
    work: FrontWork,
    bounds: tuple[int, int],
) -> None:
    """Vary solutions ``bounds[0]`` to ``bounds[1]`` (exclusive): mixing, forced improvement, climbing."""
    for i in range(bounds[0], bounds[1]):
        if interrupted(work.mixing):
            return
        changed = _mix(problem, population, i, search, rules, generator, work)
        if rules.forced_improvement and (not changed or search.stalled):
            _force(problem, population, i, search, generator, work)
        if rules.local_search:
            objective = search.clusters.objective[search.clusters.of_solution[i]]
            if objective == ALL:
                objective = np.int64(WEIGHTED)
            _climb(problem, population, i, search, rules, generator, work, objective)
        population.tallies[i, STATUS] = CUT_SHORT if interrupted(work.mixing) else FINISHED
