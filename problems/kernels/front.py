"""Kernels of the objectives of a network: misfit, complexity, an expert's distance, loss of a target, a user's."""

from __future__ import annotations

from math import isnan, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.kernels import count_dense
from gomea_bn.problems.base import Journal, Solution, register_problem, set_term
from gomea_bn.problems.kernels.insertion import ONE, ZERO
from gomea_bn.problems.kernels.python_calls import call_python
from gomea_bn.problems.kernels.score import (
    FamilyCache,
    RowData,
    ScoreScratch,
    cache_insert,
    cached_family_score,
    configuration_number,
    count_sparse,
    family_key,
    is_dense,
    known_value,
    n_configurations,
    n_parameters,
)
from gomea_bn.problems.kernels.structure import (
    StructureData,
    build_graph,
    drop_arc,
    family_views,
    follow_changes,
)
from gomea_bn.problems.kernels.target import TargetRows, is_judged, target_loss
from gomea_bn.runtime.jit import kernel, separate_kernel
from gomea_bn.runtime.kernels import lowest_bit

# kinds of objectives; from USER on those of the user, in order
MISFIT, COMPLEXITY, EXPERT_DISTANCE, TARGET, USER = 0, 1, 2, 3, 4


class ExpertRows(NamedTuple):
    """A sample from the expert's network as bin codes; no rows without an expert."""

    codes: NDArray[np.uint8]  # (n_views, n_sampled)
    # (n_views,) mean log density of the sample inside the bins; 0 for discrete variables
    log_inside: NDArray[np.float64]
    counts: NDArray[np.float64]  # (n_variables,) 1 if the expert mentions the variable, else 0
    scratch: ScoreScratch
    shared: FamilyCache
    writable: FamilyCache


class FrontRules(NamedTuple):
    """Kinds and constants of the objectives."""

    kinds: NDArray[np.int64]  # (m,)
    n_rows: float
    misfit_constant: float  # nats per row from [0, 1] to original units
    expert_constant: float  # mean log density of the expert's sample under the expert's network
    max_parameters: float
    has_misfit: bool
    judges_all: bool  # whether every family counts, or only those that decide on the target given all others


class FrontData(NamedTuple):
    """Everything that evaluation needs, for one thread; the structure's scores are smoothed log likelihoods."""

    structure: StructureData
    expert: ExpertRows
    target: TargetRows
    rules: FrontRules
    # the exchange with Python: the address of a callable without arguments, 0 for none; every call overwrites arrays
    user_address: int
    genotype: NDArray[np.int16]  # (l,)
    user_values: NDArray[np.float64]  # (n_user,) set by Python


@kernel
def expert_family_term(
    rows: RowData,
    prior: float,
    scratch: ScoreScratch,
    expert: ExpertRows,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return the mean of -ln q(child | parents) over the expert's sample, in nats and original units.

    q are the smoothed tables of the rows; the child is uniform given a parent configuration that no row has.
    """
    n_sampled = expert.codes.shape[1]
    r = rows.cardinality[views[n_views - 1]]
    configurations = n_configurations(rows, views, n_views)
    cells = configurations * r
    share = prior / r
    total = 0.0
    if is_dense(cells, rows.codes.shape[1]) and is_dense(cells, n_sampled):
        whole = np.int64(cells)
        count_dense(rows.codes, views, rows.cardinality, n_views, whole, 1, scratch.joint, scratch.counts)
        work = expert.scratch
        count_dense(expert.codes, views, rows.cardinality, n_views, whole, 1, work.joint, work.counts)
        for j in range(np.int64(configurations)):
            row = 0
            sampled = 0
            for k in range(j * r, (j + 1) * r):
                row += scratch.counts[k]
                count = expert.scratch.counts[k]
                if count > 0:
                    sampled += count
                    total -= count * log(scratch.counts[k] + share)
            if sampled > 0:
                total += sampled * log(row + prior)
    else:
        observed = count_sparse(rows.codes, views, rows.cardinality, n_views, scratch)
        for j in range(observed):
            row = 0
            for k in range(j * r, (j + 1) * r):
                row += scratch.counts[k]
            expert.scratch.slots[j] = row
        for i in range(n_sampled):
            key = np.int64(0)
            for v in range(n_views - 1):
                key = key * rows.cardinality[views[v]] + np.int64(expert.codes[views[v], i])
            number = configuration_number(scratch, key)
            if number < 0:
                total += log(float(r))
            else:
                cell = number * r + np.int64(expert.codes[views[n_views - 1], i])
                total -= log((scratch.counts[cell] + share) / (expert.scratch.slots[number] + prior))
    return total / n_sampled - expert.log_inside[views[n_views - 1]]


@kernel
def _cached_expert_term(data: FrontData, views: NDArray[np.int64], n_views: int) -> float:
    structure, expert = data.structure, data.expert
    key = family_key(structure.rows, views, n_views)
    known = known_value(expert.shared, expert.writable, key)
    if not isnan(known):
        return known
    term = expert_family_term(
        structure.rows, structure.score.prior, structure.scratch, expert, views, n_views
    )
    cache_insert(expert.writable, key, term)
    return term


@kernel
def _drop_unjudged(data: FrontData, solution: Solution, journal: Journal) -> None:
    """Drop the arcs of families that no objective judges; required arcs stay."""
    structure = data.structure
    words = structure.dirty.shape[0]
    for child in range(structure.roots.shape[0]):
        if is_judged(structure, solution, data.target.variable, child):
            continue
        for w in range(words):
            rest = solution.aux[child * words + w]
            while rest != ZERO:
                parent = w * 64 + lowest_bit(rest)
                rest &= rest - ONE
                if structure.rules.removable[structure.rules.gene_of[parent, child]]:
                    drop_arc(structure, solution, journal, parent, child)


@kernel
def _score_marked(data: FrontData, solution: Solution, journal: Journal) -> int:
    """Re-score the marked families, sum all terms in variable order, set objectives; returns touched terms.

    Terms: minus log likelihoods, free parameters, expert terms, each by variable.
    """
    structure, rules = data.structure, data.rules
    if not rules.judges_all:
        _drop_unjudged(data, solution, journal)
    n = structure.roots.shape[0]
    touched = 0
    for w in range(structure.dirty.shape[0]):
        rest = structure.dirty[w]
        while rest != ZERO:
            child = w * 64 + lowest_bit(rest)
            rest &= rest - ONE
            n_views = family_views(structure, solution, child)
            views = structure.views
            if rules.has_misfit:
                score = cached_family_score(
                    structure.rows,
                    structure.score,
                    structure.scratch,
                    structure.shared,
                    structure.writable,
                    views,
                    n_views,
                )
                set_term(solution, journal, child, -score)
            parameters = n_parameters(
                structure.rows,
                structure.score,
                structure.scratch,
                structure.shared,
                structure.writable,
                views,
                n_views,
            )
            set_term(solution, journal, n + child, parameters)
            if data.expert.codes.shape[1] > 0 and data.expert.counts[child] > 0.0:
                set_term(solution, journal, 2 * n + child, _cached_expert_term(data, views, n_views))
            touched += 3
    misfit, parameters, distance = 0.0, 0.0, 0.0
    for i in range(n):
        misfit += solution.terms[i]
        if rules.judges_all or is_judged(structure, solution, data.target.variable, i):
            parameters += solution.terms[n + i]
        distance += solution.terms[2 * n + i]
    if data.user_address != 0:
        for g in range(solution.genotype.shape[0]):
            data.genotype[g] = solution.genotype[g]
        call_python(data.user_address)
    for j in range(rules.kinds.shape[0]):
        kind = rules.kinds[j]
        if kind == MISFIT:
            solution.objectives[j] = misfit / rules.n_rows + rules.misfit_constant
        elif kind == COMPLEXITY:
            solution.objectives[j] = parameters
        elif kind == EXPERT_DISTANCE:
            # the estimate may fall below 0 by its error
            solution.objectives[j] = max(0.0, distance + rules.expert_constant)
        elif kind == TARGET:
            solution.objectives[j] = target_loss(structure, solution, data.target)
        else:
            solution.objectives[j] = data.user_values[kind - USER]
    solution.violation[0] = max(0.0, parameters / rules.max_parameters - 1.0)
    return touched


@separate_kernel
def evaluate_front_partial(
    data: FrontData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate after the journal's gene changes, repairing what they broke; returns touched terms."""
    follow_changes(data.structure, solution, journal, generator)
    return _score_marked(data, solution, journal)


@separate_kernel
def evaluate_front(
    data: FrontData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Build parent sets from the genotype, repair them, and score every family; returns the number of terms."""
    build_graph(data.structure, solution, journal, generator)
    solution.terms[:] = 0.0
    touched = _score_marked(data, solution, journal)
    journal.counts[:] = 0
    return touched


register_problem(FrontData, evaluate_front, evaluate_front_partial)
