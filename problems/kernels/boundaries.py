"""Kernels that evaluate cut points as real genes, with the graph and the numbers of bins given."""

from __future__ import annotations

from math import floor, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import GENES, Journal, Solution, register_problem, set_term
from gomea_bn.problems.kernels.score import RowData, ScoreRule, ScoreScratch, table_score
from gomea_bn.runtime.jit import kernel


class BoundaryColumns(NamedTuple):
    """The graph, the variables' values, and the genes that cut them; one whose cuts do not move has no gene."""

    first_gene: NDArray[np.int64]  # (n_nodes + 1,)
    ranks: NDArray[np.int32]  # (n_nodes, n_rows) index of a row's value among the distinct values
    first_cut: NDArray[np.int64]  # (n_nodes + 1,) into the next two
    cuts: NDArray[np.float64]  # mid-points of neighbouring distinct values
    below: NDArray[np.int64]  # rows below each mid-point
    span: NDArray[np.float64]  # (n_nodes, 2) minimum and maximum
    cut_cost: NDArray[np.float64]  # (n_nodes,) nats per cut
    # (n_nodes,) whether bins have the shape of the column: a term of their rows replaces the logarithm of the width
    shaped: NDArray[np.bool_]
    row_term: NDArray[np.float64]  # (n_rows + 1,) that term by the number of rows of a bin
    shape_constant: NDArray[np.float64]  # (n_nodes,) nats that depend on the number of bins alone
    min_width: NDArray[np.float64]  # (n_nodes,) of a bin, as a fraction of the range
    # (n_nodes,) the same, for bins with more than two rows per distinct value
    min_tied_width: NDArray[np.float64]
    min_rows: float  # of a bin
    first_member: NDArray[np.int64]  # (n_nodes + 1,)
    members: NDArray[np.int64]  # of every family: parents, then the child
    first_touched: NDArray[np.int64]  # (n_nodes + 1,)
    touched: NDArray[np.int64]  # families that a variable's cuts enter


class BoundaryData(NamedTuple):
    """One thread's problem; `rows` has one view per variable. That, `scratch` and what follows it are mutated."""

    columns: BoundaryColumns
    rows: RowData
    rule: ScoreRule
    scratch: ScoreScratch
    indices: NDArray[np.int64]  # (n_genes,) sorted cut indices of the solution at hand
    coded: NDArray[np.int64]  # (n_genes,) cut indices that `RowData.codes` and `constant` have; -1 for none
    bin_of_rank: NDArray[np.uint8]  # (most distinct values,)
    due: NDArray[np.uint8]  # (n_nodes,)


@kernel
def decode(columns: BoundaryColumns, genotype: NDArray[np.float64], indices: NDArray[np.int64]) -> None:
    """Fill `indices` (n_genes,) with floored genes inside the bounds, ascending within each variable."""
    for v in range(columns.first_gene.shape[0] - 1):
        last = columns.first_cut[v + 1] - columns.first_cut[v] - 1
        first = columns.first_gene[v]
        for g in range(first, columns.first_gene[v + 1]):
            index = min(max(np.int64(floor(genotype[g])), 0), last)
            position = g
            while position > first and indices[position - 1] > index:
                indices[position] = indices[position - 1]
                position -= 1
            indices[position] = index


@kernel
def shortfall(columns: BoundaryColumns, indices: NDArray[np.int64]) -> float:
    """Return the sum of shortfalls of bins in width and rows, as shares of the limits; a bin without width counts 1."""
    missing = 0.0
    least_rows = columns.min_rows
    n_rows = columns.ranks.shape[1]
    for v in range(columns.first_gene.shape[0] - 1):
        if columns.first_gene[v] == columns.first_gene[v + 1]:
            continue
        low, high = columns.span[v, 0], columns.span[v, 1]
        edge, rows, distinct = low, 0, 0
        for g in range(columns.first_gene[v], columns.first_gene[v + 1] + 1):
            next_edge, next_rows = high, n_rows
            next_distinct = columns.first_cut[v + 1] - columns.first_cut[v] + 1
            if g < columns.first_gene[v + 1]:
                cut = columns.first_cut[v] + indices[g]
                next_edge, next_rows = columns.cuts[cut], columns.below[cut]
                next_distinct = indices[g] + 1
            width = (next_edge - edge) / (high - low)
            least_width = columns.min_width[v]
            if next_rows - rows > 2 * (next_distinct - distinct):
                least_width = max(least_width, columns.min_tied_width[v])
            if next_edge <= edge:
                missing += 1.0
            elif width < least_width:
                missing += 1.0 - width / least_width
            if next_rows - rows < least_rows:
                missing += 1.0 - (next_rows - rows) / least_rows
            edge, rows, distinct = next_edge, next_rows, next_distinct
    return missing


@kernel
def _load(data: BoundaryData, v: int) -> None:
    """Bring the codes and the constant of a variable in line with its sorted cut indices."""
    columns, rows = data.columns, data.rows
    first, end = columns.first_gene[v], columns.first_gene[v + 1]
    same = True
    for g in range(first, end):
        if data.coded[g] != data.indices[g]:
            same = False
            break
    if same:
        return
    low, high = columns.span[v, 0], columns.span[v, 1]
    log_range = log(high - low)
    constant = columns.shape_constant[v] - columns.cut_cost[v] * (end - first)
    edge, below, rank = low, 0, 0
    for b in range(end - first + 1):
        next_edge, next_below = high, columns.ranks.shape[1]
        next_rank = columns.first_cut[v + 1] - columns.first_cut[v] + 1
        if first + b < end:
            index = data.indices[first + b]
            data.coded[first + b] = index
            next_edge = columns.cuts[columns.first_cut[v] + index]
            next_below = columns.below[columns.first_cut[v] + index]
            next_rank = index + 1
        if columns.shaped[v]:
            constant -= columns.row_term[next_below - below]
        elif next_below > below and next_edge > edge:
            constant -= (next_below - below) * (log(next_edge - edge) - log_range)
        data.bin_of_rank[rank:next_rank] = b
        edge, below, rank = next_edge, next_below, next_rank
    rows.constant[v] = constant
    ranks = columns.ranks[v]
    codes = rows.codes[v]
    for i in range(ranks.shape[0]):
        codes[i] = data.bin_of_rank[ranks[i]]


@kernel
def _score_due(data: BoundaryData, solution: Solution, journal: Journal) -> int:
    """Score the families that are due and then the whole; return the number of scored families."""
    columns = data.columns
    n_scored = 0
    total = 0.0
    for f in range(data.due.shape[0]):
        if data.due[f] != 0:
            family = columns.members[columns.first_member[f] : columns.first_member[f + 1]]
            for m in range(family.shape[0]):
                _load(data, family[m])
            score = table_score(data.rows, data.rule, data.scratch, family, family.shape[0], -np.inf)
            set_term(solution, journal, f, score)
            n_scored += 1
        total += solution.terms[f]
    solution.objectives[0] = -total
    solution.violation[0] = shortfall(columns, data.indices)
    return n_scored


@kernel
def evaluate_boundaries(
    data: BoundaryData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Score every family; returns their number."""
    decode(data.columns, solution.genotype, data.indices)
    data.due[:] = 1
    n_scored = _score_due(data, solution, journal)
    journal.counts[:] = 0
    return n_scored


@kernel
def evaluate_boundaries_partial(
    data: BoundaryData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Score the families of the variables whose genes changed, and of their children; returns their number."""
    columns = data.columns
    decode(columns, solution.genotype, data.indices)
    data.due[:] = 0
    for k in range(journal.counts[GENES]):
        gene = journal.genes[k]
        if np.int64(floor(journal.gene_values[k])) == np.int64(floor(solution.genotype[gene])):
            continue
        v = 0
        while columns.first_gene[v + 1] <= gene:
            v += 1
        for t in range(columns.first_touched[v], columns.first_touched[v + 1]):
            data.due[columns.touched[t]] = 1
    return _score_due(data, solution, journal)


register_problem(BoundaryData, evaluate_boundaries, evaluate_boundaries_partial)
