"""Kernels that evaluate a network's structure and bins: parent sets, repair, and scores of touched families."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import GENES, Journal, Solution, register_problem, set_aux, set_gene, set_term
from gomea_bn.problems.kernels.insertion import ONE, ZERO
from gomea_bn.problems.kernels.score import RowData, ScoreCache, ScoreRule, ScoreScratch, cached_family_score
from gomea_bn.runtime.jit import kernel, separate_kernel
from gomea_bn.runtime.kernels import bit_count, lowest_bit, random_below, shuffle

UNSEEN, ON_STACK, DONE = 0, 1, 2


class StructureRules(NamedTuple):
    """Layout of the genotype and limits of a network, for N variables and E edge genes, at most N(N-1)/2."""

    first: NDArray[np.int64]  # (E,) lower variable of an edge gene
    second: NDArray[np.int64]  # (E,) higher variable
    gene_of: NDArray[np.int32]  # (N, N) edge gene of a pair, in either order; -1 if the pair has none
    bin_gene: NDArray[np.int64]  # (N,) gene that picks a variable's policy, or -1
    bin_variable: NDArray[np.int64]  # (l - E,) variable of a policy gene
    view_offset: NDArray[np.int64]  # (N + 1,)
    removable: NDArray[np.bool_]  # (E,) whether the edge gene may be 0
    max_indegree: int
    max_cells: float
    random_order: bool  # whether cycles are broken in random order


class StructureData(NamedTuple):
    """Everything that evaluation needs, for one thread; W = words of a parent set."""

    rules: StructureRules
    rows: RowData
    score: ScoreRule
    scratch: ScoreScratch
    shared: ScoreCache
    writable: ScoreCache
    # work space
    dirty: NDArray[np.uint64]  # (W,)
    todo: NDArray[np.uint64]  # (W,)
    seen: NDArray[np.uint64]  # (W,)
    remaining: NDArray[np.uint64]  # (N, W)
    stack: NDArray[np.int64]  # (N,)
    state: NDArray[np.int64]  # (N,)
    roots: NDArray[np.int64]  # (N,)
    added_parent: NDArray[np.int64]  # (E,)
    added_child: NDArray[np.int64]  # (E,)
    views: NDArray[np.int64]  # (N,)


@kernel
def has_arc(aux: NDArray[np.uint64], words: int, parent: int, child: int) -> bool:
    """Return whether an arc is in the parent sets."""
    return (aux[child * words + (parent >> 6)] >> np.uint64(parent & 63)) & ONE == ONE


@kernel
def _mark(flags: NDArray[np.uint64], variable: int) -> None:
    flags[variable >> 6] |= ONE << np.uint64(variable & 63)


@kernel
def _flip_arc(solution: Solution, journal: Journal, data: StructureData, parent: int, child: int) -> None:
    """Add or remove an arc in the parent sets, and mark the child's family."""
    words = data.dirty.shape[0]
    index = child * words + (parent >> 6)
    set_aux(solution, journal, index, solution.aux[index] ^ (ONE << np.uint64(parent & 63)))
    _mark(data.dirty, child)


@kernel
def drop_arc(data: StructureData, solution: Solution, journal: Journal, parent: int, child: int) -> None:
    """Remove an arc from the parent sets and from the genotype."""
    _flip_arc(solution, journal, data, parent, child)
    set_gene(solution, journal, data.rules.gene_of[parent, child], 0)


@kernel
def view_of(rules: StructureRules, genotype: NDArray[np.int16], variable: int) -> int:
    """Return the view (variable under its current policy)."""
    gene = rules.bin_gene[variable]
    return rules.view_offset[variable] + (np.int64(genotype[gene]) if gene >= 0 else 0)


@kernel
def _table_cells(data: StructureData, solution: Solution, child: int) -> float:
    """Return the number of cells of a variable's table."""
    words = data.dirty.shape[0]
    cells = float(data.rows.cardinality[view_of(data.rules, solution.genotype, child)])
    for w in range(words):
        rest = solution.aux[child * words + w]
        while rest != ZERO:
            parent = w * 64 + lowest_bit(rest)
            rest &= rest - ONE
            cells *= data.rows.cardinality[view_of(data.rules, solution.genotype, parent)]
    return cells


@kernel
def _surplus_parent(
    data: StructureData, solution: Solution, child: int, generator: np.random.Generator
) -> int:
    """Return a parent that may be dropped: a random one, or the last in gene order; -1 if none may."""
    n = data.rules.bin_gene.shape[0]
    words = data.dirty.shape[0]
    chosen = -1
    n_candidates = 0
    for parent in range(n):
        if (
            has_arc(solution.aux, words, parent, child)
            and data.rules.removable[data.rules.gene_of[parent, child]]
        ):
            n_candidates += 1
            if not data.rules.random_order or generator.random() * n_candidates < 1.0:
                chosen = parent
    return chosen


@kernel
def _coarser_value(data: StructureData, genotype: NDArray[np.int16], variable: int) -> int:
    """Return the value of a policy gene with the most bins below the present number; -1 if there is none."""
    gene = data.rules.bin_gene[variable]
    if gene < 0:
        return -1
    first, last = data.rules.view_offset[variable], data.rules.view_offset[variable + 1]
    present = data.rows.cardinality[first + np.int64(genotype[gene])]
    chosen = -1
    most = 0
    for view in range(first, last):
        cardinality = data.rows.cardinality[view]  # 0 marks a free index of the library
        if most < cardinality < present:
            most = cardinality
            chosen = view - first
    return chosen


@kernel
def _coarsen_family(
    data: StructureData, solution: Solution, journal: Journal, child: int, generator: np.random.Generator
) -> None:
    """Step the widest variable of a family, child included, to its next coarser policy; ties at random."""
    n = data.rules.bin_gene.shape[0]
    words = data.dirty.shape[0]
    widest = -1
    widest_cardinality = 0
    n_widest = 0
    for variable in range(n):
        if variable == child or has_arc(solution.aux, words, variable, child):
            cardinality = data.rows.cardinality[view_of(data.rules, solution.genotype, variable)]
            if cardinality < widest_cardinality or _coarser_value(data, solution.genotype, variable) < 0:
                continue
            n_widest = n_widest + 1 if cardinality == widest_cardinality else 1
            if n_widest == 1 or (data.rules.random_order and generator.random() * n_widest < 1.0):
                widest = variable
                widest_cardinality = cardinality
    value = _coarser_value(data, solution.genotype, widest)
    set_gene(solution, journal, data.rules.bin_gene[widest], value)
    _mark_with_children(data, solution, widest)


@kernel
def _mark_with_children(data: StructureData, solution: Solution, variable: int) -> None:
    """Mark the families that a variable's discretization enters."""
    words = data.dirty.shape[0]
    _mark(data.dirty, variable)
    for child in range(data.rules.bin_gene.shape[0]):
        if has_arc(solution.aux, words, variable, child):
            _mark(data.dirty, child)


@kernel
def _keep_limits(
    data: StructureData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> None:
    """Drop parents of marked families until in-degree and table size are within their limits.

    Where only required arcs are left, the family's bins are coarsened instead.
    """
    words = data.dirty.shape[0]
    for w in range(words):
        rest = data.dirty[w]
        while rest != ZERO:
            child = w * 64 + lowest_bit(rest)
            rest &= rest - ONE
            indegree = 0
            for v in range(words):
                indegree += bit_count(solution.aux[child * words + v])
            while indegree > data.rules.max_indegree:
                parent = _surplus_parent(data, solution, child, generator)
                drop_arc(data, solution, journal, parent, child)
                indegree -= 1
            while _table_cells(data, solution, child) > data.rules.max_cells:
                parent = _surplus_parent(data, solution, child, generator)
                if parent >= 0:
                    drop_arc(data, solution, journal, parent, child)
                else:
                    _coarsen_family(data, solution, journal, child, generator)


@kernel
def reaches(aux: NDArray[np.uint64], data: StructureData, start: int, target: int) -> bool:
    """Return whether `target` is an ancestor of `start`."""
    words = data.dirty.shape[0]
    if words == 1:
        goal = ONE << np.uint64(target)
        todo = aux[start]
        seen = todo
        while todo != ZERO:
            if seen & goal != ZERO:
                return True
            new = aux[lowest_bit(todo)] & ~seen
            todo = (todo & (todo - ONE)) | new
            seen |= new
        return seen & goal != ZERO
    for w in range(words):
        data.todo[w] = aux[start * words + w]
        data.seen[w] = data.todo[w]
    w = 0
    while w < words:
        if data.todo[w] == ZERO:
            w += 1
            continue
        node = w * 64 + lowest_bit(data.todo[w])
        if node == target:
            return True
        data.todo[w] &= data.todo[w] - ONE
        for v in range(words):
            new = aux[node * words + v] & ~data.seen[v]
            data.seen[v] |= new
            data.todo[v] |= new
            if new != ZERO and v < w:
                w = v
    return False


@kernel
def _next_parent(remaining: NDArray[np.uint64], random_order: bool, generator: np.random.Generator) -> int:
    """Take a parent out of a set: the lowest, or a random one; -1 if the set is empty."""
    words = remaining.shape[0]
    skip = 0
    if random_order:
        size = 0
        for w in range(words):
            size += bit_count(remaining[w])
        if size > 1:
            skip = random_below(generator, size)
    for w in range(words):
        rest = remaining[w]
        while rest != ZERO:
            if skip == 0:
                bit = lowest_bit(rest)
                remaining[w] &= ~(ONE << np.uint64(bit))
                return w * 64 + bit
            skip -= 1
            rest &= rest - ONE
    return -1


@kernel
def _order_roots(data: StructureData, solution: Solution, generator: np.random.Generator) -> None:
    """Fill ``data.roots``: childless variables first, then the rest; in index order or shuffled."""
    words = data.dirty.shape[0]
    n = data.roots.shape[0]
    data.seen[:] = ZERO
    for child in range(n):
        for w in range(words):
            data.seen[w] |= solution.aux[child * words + w]
    position = 0
    for has_children in range(2):
        for variable in range(n):
            if np.int64((data.seen[variable >> 6] >> np.uint64(variable & 63)) & ONE) == has_children:
                data.roots[position] = variable
                position += 1
    if data.rules.random_order:
        shuffle(generator, data.roots)


@kernel
def _break_one_pass(
    data: StructureData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> bool:
    """Walk from children to parents and drop every arc that leads back onto the walk.

    Returns False if the walk had to stop because the closing arc is required and another one was dropped.
    """
    words = data.dirty.shape[0]
    n = data.roots.shape[0]
    data.state[:] = UNSEEN
    for r in range(n):
        root = data.roots[r]
        if data.state[root] != UNSEEN:
            continue
        top = 0
        data.stack[0] = root
        data.state[root] = ON_STACK
        for w in range(words):
            data.remaining[0, w] = solution.aux[root * words + w]
        while top >= 0:
            node = data.stack[top]
            parent = _next_parent(data.remaining[top], data.rules.random_order, generator)
            if parent < 0:
                data.state[node] = DONE
                top -= 1
            elif data.state[parent] == UNSEEN:
                top += 1
                data.stack[top] = parent
                data.state[parent] = ON_STACK
                for w in range(words):
                    data.remaining[top, w] = solution.aux[parent * words + w]
            elif data.state[parent] == ON_STACK:
                if data.rules.removable[data.rules.gene_of[parent, node]]:
                    drop_arc(data, solution, journal, parent, node)
                else:
                    for t in range(top - 1, -1, -1):
                        child, ancestor = data.stack[t], data.stack[t + 1]
                        if data.rules.removable[data.rules.gene_of[ancestor, child]]:
                            drop_arc(data, solution, journal, ancestor, child)
                            return False
    return True


@kernel
def break_cycles(
    data: StructureData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> None:
    """Drop arcs until the graph is acyclic; required arcs stay."""
    _order_roots(data, solution, generator)
    while not _break_one_pass(data, solution, journal, generator):
        pass


@kernel
def family_views(data: StructureData, solution: Solution, child: int) -> int:
    """Fill ``data.views`` with the views of a variable's parents in order, then its own; returns their number."""
    rules = data.rules
    words = data.dirty.shape[0]
    n_views = 0
    for w in range(words):
        parents = solution.aux[child * words + w]
        while parents != ZERO:
            data.views[n_views] = view_of(rules, solution.genotype, w * 64 + lowest_bit(parents))
            parents &= parents - ONE
            n_views += 1
    data.views[n_views] = view_of(rules, solution.genotype, child)
    return n_views + 1


@kernel
def _score_marked(data: StructureData, solution: Solution, journal: Journal) -> int:
    """Re-score the marked families, sum all terms in variable order, and return the number of re-scored families."""
    touched = 0
    for w in range(data.dirty.shape[0]):
        rest = data.dirty[w]
        while rest != ZERO:
            child = w * 64 + lowest_bit(rest)
            rest &= rest - ONE
            n_views = family_views(data, solution, child)
            score = cached_family_score(
                data.rows, data.score, data.scratch, data.shared, data.writable, data.views, n_views
            )
            set_term(solution, journal, child, -score)
            touched += 1
    total = 0.0
    for term in range(solution.terms.shape[0]):
        total += solution.terms[term]
    solution.objectives[0] = total
    return touched


@kernel
def follow_changes(
    data: StructureData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> None:
    """Bring parent sets up to the journal's gene changes, repair what these broke, and mark the touched families."""
    rules = data.rules
    n_edges = rules.first.shape[0]
    n_changes = journal.counts[GENES]
    data.dirty[:] = ZERO
    n_added = 0
    for k in range(n_changes):
        gene = journal.genes[k]
        if gene >= n_edges:
            continue
        i, j = rules.first[gene], rules.second[gene]
        old, new = journal.gene_values[k], solution.genotype[gene]
        if old == 1:
            _flip_arc(solution, journal, data, i, j)
        elif old == 2:
            _flip_arc(solution, journal, data, j, i)
        if new == 1:
            _flip_arc(solution, journal, data, i, j)
            data.added_parent[n_added], data.added_child[n_added] = i, j
            n_added += 1
        elif new == 2:
            _flip_arc(solution, journal, data, j, i)
            data.added_parent[n_added], data.added_child[n_added] = j, i
            n_added += 1
    for k in range(n_changes):
        gene = journal.genes[k]
        if gene >= n_edges:
            _mark_with_children(data, solution, rules.bin_variable[gene - n_edges])
    _keep_limits(data, solution, journal, generator)
    words = data.dirty.shape[0]
    for a in range(n_added):
        parent, child = data.added_parent[a], data.added_child[a]
        if has_arc(solution.aux, words, parent, child) and reaches(solution.aux, data, parent, child):
            break_cycles(data, solution, journal, generator)
            break


@kernel
def build_graph(
    data: StructureData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> None:
    """Build parent sets from the genotype, repair them, and mark every family."""
    rules = data.rules
    journal.counts[:] = 0
    solution.aux[:] = ZERO
    solution.violation[0] = 0.0
    words = data.dirty.shape[0]
    for gene in range(rules.first.shape[0]):
        i, j = rules.first[gene], rules.second[gene]
        if solution.genotype[gene] == 1:
            solution.aux[j * words + (i >> 6)] |= ONE << np.uint64(i & 63)
        elif solution.genotype[gene] == 2:
            solution.aux[i * words + (j >> 6)] |= ONE << np.uint64(j & 63)
    for variable in range(rules.bin_gene.shape[0]):
        _mark(data.dirty, variable)
    _keep_limits(data, solution, journal, generator)
    break_cycles(data, solution, journal, generator)


@separate_kernel
def evaluate_structure_partial(
    data: StructureData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Re-evaluate after the journal's gene changes, repairing what they broke; returns touched families."""
    follow_changes(data, solution, journal, generator)
    return _score_marked(data, solution, journal)


@separate_kernel
def evaluate_structure(
    data: StructureData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Build parent sets from the genotype, repair them, and score every family; returns their number."""
    build_graph(data, solution, journal, generator)
    touched = _score_marked(data, solution, journal)
    journal.counts[:] = 0
    return touched


register_problem(StructureData, evaluate_structure, evaluate_structure_partial)
