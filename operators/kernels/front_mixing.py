"""Compiled variation of one solution for several objectives: mixing in a cluster, forced improvement, climbing."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage
from gomea_bn.operators.kernels.archive import (
    ADDED,
    DOMINATED,
    KNOWN,
    MEMBERS,
    SAME_BOX,
    Archive,
    offer,
    standing,
)
from gomea_bn.operators.kernels.keys import canonical, genotype_key
from gomea_bn.operators.kernels.mixing import (
    CUT_SHORT,
    FINISHED,
    MixingRules,
    MixingWork,
    PopulationData,
    donate,
    equal_genes,
    interrupted,
    n_other_values,
    net_change,
    other_value,
    solution_of,
)
from gomea_bn.problems.base import Solution, evaluate, evaluate_partial, set_gene, undo
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels.random_draws import random_below, shuffle

__all__ = ["Clusters", "FrontSearch", "FrontWork"]

INFEASIBLE = 5
ALL = -1  # in place of an objective: dominance decides
WEIGHTED = -2  # in place of an objective: a weighted sum decides


class Clusters(NamedTuple):
    """A population's clusters in objective space (n solutions, k clusters, which may overlap)."""

    of_solution: NDArray[np.int64]  # (n,)
    objective: NDArray[np.int64]  # (k,) the one objective of an extreme cluster, or ALL
    members: NDArray[np.int64]  # cluster c: members[member_starts[c] : member_starts[c + 1]]
    member_starts: NDArray[np.int64]  # (k + 1,)
    linkage: Linkage  # cluster c: subsets subset_starts[c] to subset_starts[c + 1]
    subset_starts: NDArray[np.int64]  # (k + 1,)


class FrontSearch(NamedTuple):
    """What a block of solutions reads and adds to."""

    archive: Archive  # only read while a generation runs, unless `immediate`
    finds: Archive  # of this block, merged into the archive afterwards
    clusters: Clusters
    stalled: bool  # forced improvement for every solution
    immediate: bool  # the archive takes in every solution at once (one thread only)
    scale: NDArray[np.float64]  # (m,) of objectives in weighted sums
    weighted: bool  # in general clusters a weighted sum decides, not dominance


class FrontWork(NamedTuple):
    """One thread's work space (m objectives)."""

    mixing: MixingWork
    former: NDArray[np.float64]  # (m,) objectives before a step
    candidate: NDArray[np.float64]  # (m,) canonical objectives of the solution on offer
    weights: NDArray[np.float64]  # (m,) of objectives in the sum that decides
    clock: NDArray[np.int64]  # (2,) evaluations so far, and at the latest addition to the archive


@kernel
def _offer(search: FrontSearch, solution: Solution, work: FrontWork, exchange: bool) -> int:
    """Offer an evaluated solution; returns how it stands to the archive and to the block's finds."""
    for j in range(work.candidate.shape[0]):
        work.candidate[j] = canonical(solution.objectives[j])
    if solution.violation[0] > 0.0:
        return INFEASIBLE
    key = genotype_key(solution.genotype)
    if search.immediate:
        became = offer(search.archive, solution.genotype, key, work.candidate, exchange)
    else:
        became = standing(search.archive, key, work.candidate)
        if became in (KNOWN, DOMINATED):
            return became
        found = offer(search.finds, solution.genotype, key, work.candidate, exchange)
        if found == DOMINATED:
            became = DOMINATED
        elif found != ADDED:
            became = SAME_BOX
    if became == ADDED:
        work.clock[1] = work.clock[0]
    return became


@kernel
def _accepts(
    solution: Solution, former_violation: float, work: FrontWork, became: int, objective: int, strict: bool
) -> bool:
    """Return whether a step from ``work.former`` is kept: feasibility first, then dominance or one objective.

    Where dominance decides, a step is also kept if it leads to a new member of the archive, and, unless `strict`, to
    any solution that no member dominates.
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
def _step(
    problem: Any,
    solution: Solution,
    tallies: NDArray[np.int64],
    search: FrontSearch,
    work: FrontWork,
    generator: np.random.Generator,
    objective: int,
    strict: bool,
) -> bool:
    """Evaluate and offer the gene changes in the journal, keep or undo them; returns whether the genotype changed."""
    journal = work.mixing.journal
    n_own = journal.counts[0]
    for j in range(work.former.shape[0]):
        work.former[j] = solution.objectives[j]
    former_violation = solution.violation[0]
    tallies[2] += evaluate_partial(problem, solution, journal, generator)
    tallies[1] += 1
    work.mixing.budget[0] -= 1
    work.clock[0] += 1
    became = _offer(search, solution, work, np.bool_(True))
    if _accepts(solution, former_violation, work, became, objective, strict):
        changed = net_change(solution, journal, n_own)
        journal.counts[:] = 0
        return changed
    undo(solution, journal)
    for j in range(work.former.shape[0]):
        solution.objectives[j] = work.former[j]
    solution.violation[0] = former_violation
    return False


@kernel
def _visiting_order(
    clusters: Clusters, cluster: int, work: MixingWork, generator: np.random.Generator
) -> int:
    """Fill ``work.subsets`` with a cluster's subsets in random order; returns their number."""
    first = clusters.subset_starts[cluster]
    n_subsets = clusters.subset_starts[cluster + 1] - first
    for k in range(n_subsets):
        work.subsets[k] = first + k
    shuffle(generator, work.subsets[:n_subsets])
    return n_subsets


@kernel
def _draw_weights(search: FrontSearch, work: FrontWork, generator: np.random.Generator) -> None:
    """Draw weights uniformly from the simplex, and scale them to the objectives' ranges."""
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
    search: FrontSearch,
    rules: MixingRules,
    generator: np.random.Generator,
    work: FrontWork,
) -> bool:
    """Gene-pool optimal mixing of solution i with donors of its cluster; returns whether it changed."""
    solution = solution_of(population, i)
    clusters, mixing = search.clusters, work.mixing
    cluster = clusters.of_solution[i]
    objective = clusters.objective[cluster]
    if objective == ALL and search.weighted:
        objective = WEIGHTED
        _draw_weights(search, work, generator)
    first_member = clusters.member_starts[cluster]
    n_members = clusters.member_starts[cluster + 1] - first_member
    n_subsets = _visiting_order(clusters, cluster, mixing, generator)
    changed = False
    for k in range(n_subsets):
        if interrupted(mixing):
            return changed
        subset = mixing.subsets[k]
        if rules.search_donors:
            for d in range(n_members):
                mixing.donors[d] = clusters.members[first_member + d]
            shuffle(generator, mixing.donors[:n_members])
            differs = False
            for d in range(n_members):
                donor = population.parents[mixing.donors[d]]
                differs = donate(solution, donor, clusters.linkage, subset, mixing.journal)
                if differs:
                    break
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
    """Return the member that is best in an objective, or any."""
    if objective != ALL:
        return archive.best[objective]
    return random_below(generator, archive.counts[MEMBERS])


@kernel
def _force(
    problem: Any,
    population: PopulationData,
    i: int,
    search: FrontSearch,
    generator: np.random.Generator,
    work: FrontWork,
) -> None:
    """Take subsets of archive members until one improves strictly, else become a member (forced improvement)."""
    solution = solution_of(population, i)
    archive, mixing = search.archive, work.mixing
    if archive.counts[MEMBERS] == 0:
        return
    cluster = search.clusters.of_solution[i]
    objective = search.clusters.objective[cluster]
    n_subsets = _visiting_order(search.clusters, cluster, mixing, generator)
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
    for gene in range(member.shape[0]):
        if solution.genotype[gene] != member[gene]:
            set_gene(solution, mixing.journal, gene, member[gene])
    population.tallies[i, 3] += 1
    population.tallies[i, 2] += evaluate_partial(problem, solution, mixing.journal, generator)
    population.tallies[i, 1] += 1
    mixing.budget[0] -= 1
    work.clock[0] += 1
    mixing.journal.counts[:] = 0


@kernel
def _climb(
    problem: Any,
    population: PopulationData,
    i: int,
    search: FrontSearch,
    rules: MixingRules,
    generator: np.random.Generator,
    work: FrontWork,
    objective: int,
) -> None:
    """Try other values of every gene once, in random order, keeping strict improvements."""
    solution = solution_of(population, i)
    mixing = work.mixing
    if objective == WEIGHTED:
        _draw_weights(search, work, generator)
    for g in range(mixing.genes.shape[0]):
        mixing.genes[g] = g
    shuffle(generator, mixing.genes)
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
    search: FrontSearch,
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
        tallies[2] += evaluate(problem, solution, work.mixing.journal, generator)
        tallies[1] += 1
        work.mixing.budget[0] -= 1
        work.clock[0] += 1
        _offer(search, solution, work, np.bool_(False))
        if rules.local_search:
            _climb(problem, population, i, search, rules, generator, work, np.int64(WEIGHTED))
        tallies[0] = CUT_SHORT if interrupted(work.mixing) else FINISHED


@kernel
def vary_front(
    problem: Any,
    population: PopulationData,
    search: FrontSearch,
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
        population.tallies[i, 0] = CUT_SHORT if interrupted(work.mixing) else FINISHED
