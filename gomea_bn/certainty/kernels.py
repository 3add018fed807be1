"""Compiled steps of a Markov chain over graphs: the parent sets of several variables are drawn at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import random_below

MOST_DRAWN = 4
"""Largest number of variables whose parents are drawn at once."""

STEP = 300.0
"""Nats below the best set of a variable after which weights of sets begin at 1 again, which floats could not hold."""

# weights below the largest one of their sum by this number of nats add nothing: thousands of them change it by 1e-5
_NEGLIGIBLE = 20.0
# tried reversals per variable and sweep: a few per edge, at a small part of the time of a sweep
_TRIES = 10
_STEP_WEIGHT = float(np.exp(-STEP))


class Families(NamedTuple):
    """Parent sets of all variables, and from which variables a step is likely to draw together."""

    # (n + 1,) the sets of variable v are at `offsets[v]` to `offsets[v + 1]`, best score first
    offsets: NDArray[np.int64]
    members: NDArray[np.uint32]  # (n_sets, most_members) members of every set, filled up with n
    scores: NDArray[np.float64]  # (n_sets,) scores of the families in nats
    # (n_sets,) exponentials of the scores, above the greatest number that is a multiple of `STEP` below the
    # variable's best score and not below the set's own score
    weights: NDArray[np.float64]
    # (n, n) cumulative probabilities of a variable that is drawn together with another one, per row
    partners: NDArray[np.float64]
    n_acyclic: NDArray[np.int64]  # (MOST_DRAWN,) number of acyclic graphs over 1, 2, ... variables
    # (MOST_DRAWN, most_graphs, MOST_DRAWN) parents of every variable in each of these graphs, as bits
    acyclic: NDArray[np.int64]
    codes: NDArray[np.uint64]  # (n,) a random number per variable
    # (n_sets,) exclusive or of the numbers of a set's members; different for the sets of one variable
    keys: NDArray[np.uint64]
    sorted_keys: NDArray[np.uint64]  # (n_sets,) the keys, those of each variable in ascending order
    positions: NDArray[np.int64]  # (n_sets,) positions of the sets that have the sorted keys


class OrderedGraph(NamedTuple):
    """The graph in which a chain is: the position of every variable's parent set, and an order, parents first."""

    chosen: NDArray[np.int64]
    order: NDArray[np.int64]


class WorkSpace(NamedTuple):
    """Memory of a step."""

    block: NDArray[np.int64]  # (MOST_DRAWN,) variables whose parents are drawn
    # (n + 1,) variables of the block from which a variable descends or which it is, as bits; 0 at n
    reached: NDArray[np.int64]
    # sums, tops, bases, log_sums: (MOST_DRAWN, 2**MOST_DRAWN) by the variables that the sets of a block's
    # variable reach: sum of their weights, their largest score, the score above which its weight counts,
    # and log of the sum
    sums: NDArray[np.float64]
    tops: NDArray[np.float64]
    bases: NDArray[np.float64]
    log_sums: NDArray[np.float64]
    weights: NDArray[np.float64]  # (most_graphs,)
    shares: NDArray[np.float64]  # (n + 1,)
    # (n + 1, n) whether a variable descends from another one or is it; 0 in the last row
    descends: NDArray[np.uint8]
    marks: NDArray[np.int64]  # (n + 1,)
    # path, steps, new_order: (n + 1,)
    path: NDArray[np.int64]
    steps: NDArray[np.int64]
    new_order: NDArray[np.int64]


@kernel
def _reached_by(families: Families, reached: NDArray[np.int64], position: int) -> int:
    """Return from which variables of the block some member of a parent set descends, as bits."""
    bits = 0
    for k in range(families.members.shape[1]):
        bits |= reached[families.members[position, k]]
    return bits


@kernel
def _draw_block(families: Families, size: int, work: WorkSpace, generator: np.random.Generator) -> int:
    """Write different variables to `work.block`: a uniform one, and variables that are often next to them."""
    n = len(families.partners)
    work.block[0] = random_below(generator, n)
    n_drawn = 1
    while n_drawn < size:
        if generator.random() < 0.7:
            first = work.block[random_below(generator, n_drawn)]
            v = min(int(np.searchsorted(families.partners[first], generator.random())), n - 1)
        else:
            v = random_below(generator, n)
        is_new = True
        for k in range(n_drawn):
            is_new &= work.block[k] != v
        if is_new:
            work.block[n_drawn] = v
            n_drawn += 1
    return size


@kernel
def _mark_descendants(families: Families, graph: OrderedGraph, size: int, work: WorkSpace) -> int:
    """Write `work.reached` for the graph in which the variables of the block have no parents."""
    reached = work.reached
    reached[:] = 0
    for k in range(size):
        reached[work.block[k]] = 1 << k
    is_below = False
    for v in graph.order:
        if reached[v] != 0:
            is_below = True
        elif is_below:
            reached[v] = _reached_by(families, reached, graph.chosen[v])
    return 0


@kernel
def _base(families: Families, v: int, score: float) -> float:
    """Return the score above which the weight of a set of variable v with this score counts."""
    best = families.scores[families.offsets[v]]
    return best - STEP * np.floor((best - score) / STEP)


@kernel
def _weight(families: Families, position: int, base: float) -> float:
    """Return the weight of a set above a base that is that of a better set less than `STEP` above it."""
    weight = families.weights[position]
    return weight if families.scores[position] > base - STEP else weight * _STEP_WEIGHT


@kernel
def _sum_sets(families: Families, size: int, work: WorkSpace) -> int:
    """Write sums of sets to `work`; sets that a variable of the block itself reaches do not count.

    Sets that no variable of the block reaches fit every graph over the block. Sets far below the best of them, which
    come last, therefore add nothing to any sum that matters.
    """
    sums, tops, bases = work.sums, work.tops, work.bases
    for k in range(size):
        sums[k] = 0.0
        tops[k] = -np.inf
        v = work.block[k]
        for position in range(families.offsets[v], families.offsets[v + 1]):
            score = families.scores[position]
            if score - tops[k, 0] <= -_NEGLIGIBLE:
                break
            bits = _reached_by(families, work.reached, position)
            if bits >> k & 1:
                continue
            if sums[k, bits] == 0.0:
                tops[k, bits] = score
                bases[k, bits] = _base(families, v, score)
            if score - tops[k, bits] > -_NEGLIGIBLE:
                sums[k, bits] += _weight(families, position, bases[k, bits])
        for bits in range(1 << size):
            if sums[k, bits] > 0.0:
                work.log_sums[k, bits] = bases[k, bits] + np.log(sums[k, bits])
            else:
                work.log_sums[k, bits] = -np.inf
    return 0


@kernel
def _draw_acyclic(families: Families, size: int, work: WorkSpace, generator: np.random.Generator) -> int:
    """Return the position of a graph over the block, drawn by the sum of the graphs in which its variables reach so."""
    n_graphs = families.n_acyclic[size - 1]
    highest = -np.inf
    for g in range(n_graphs):
        log_weight = 0.0
        for k in range(size):
            log_weight += work.log_sums[k, families.acyclic[size - 1, g, k]]
        work.weights[g] = log_weight
        highest = max(highest, log_weight)
    total = 0.0
    for g in range(n_graphs):
        total += np.exp(work.weights[g] - highest)
        work.weights[g] = total
    drawn = int(np.searchsorted(work.weights[:n_graphs], generator.random() * total, "right"))
    return min(drawn, n_graphs - 1)


@kernel
def _draw_set(families: Families, k: int, bits: int, work: WorkSpace, generator: np.random.Generator) -> int:
    """Return the position of a parent set of variable k of the block among those that reach `bits`."""
    v = work.block[k]
    left = generator.random() * work.sums[k, bits]
    drawn = -1
    for position in range(families.offsets[v], families.offsets[v + 1]):
        if families.scores[position] - work.tops[k, bits] <= -_NEGLIGIBLE:
            break
        if _reached_by(families, work.reached, position) != bits:
            continue
        drawn = position
        left -= _weight(families, position, work.bases[k, bits])
        if left < 0.0:
            break
    return drawn


@kernel
def _sort(families: Families, graph: OrderedGraph, work: WorkSpace) -> int:
    """Bring `graph.order` into an order in which parents come first."""
    n = len(graph.order)
    most = families.members.shape[1]
    marks, path, steps = work.marks, work.path, work.steps
    marks[:] = 0
    marks[n] = 1
    n_sorted = 0
    for start in graph.order:
        if marks[start]:
            continue
        depth = 0
        path[0], steps[0], marks[start] = start, 0, 1
        while depth >= 0:
            v = path[depth]
            if steps[depth] < most:
                parent = families.members[graph.chosen[v], steps[depth]]
                steps[depth] += 1
                if not marks[parent]:
                    depth += 1
                    path[depth], steps[depth], marks[parent] = parent, 0, 1
            else:
                work.new_order[n_sorted] = v
                n_sorted += 1
                depth -= 1
    for k in range(n):
        graph.order[k] = work.new_order[k]
    return 0


@kernel
def _draw_parents(
    families: Families, graph: OrderedGraph, size: int, work: WorkSpace, generator: np.random.Generator
) -> int:
    """Draw the parents of `size` variables from their exact joint distribution given those of all others."""
    _draw_block(families, size, work, generator)
    _mark_descendants(families, graph, size, work)
    _sum_sets(families, size, work)
    drawn = _draw_acyclic(families, size, work, generator)
    has_changed = False
    for k in range(size):
        position = _draw_set(families, k, families.acyclic[size - 1, drawn, k], work, generator)
        has_changed |= graph.chosen[work.block[k]] != position
        graph.chosen[work.block[k]] = position
    if has_changed:
        _sort(families, graph, work)
    return 0


@kernel
def _position_of(families: Families, v: int, key: np.uint64) -> int:
    """Return the position of the parent set of a variable with a key, -1 if the variable has no such set."""
    low, high = families.offsets[v], families.offsets[v + 1]
    last = high
    while low < high:
        middle = (low + high) // 2
        if families.sorted_keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < last and families.sorted_keys[low] == key:
        return int(families.positions[low])
    return -1


@kernel
def _reverse_covered(
    families: Families, graph: OrderedGraph, n_tries: int, work: WorkSpace, generator: np.random.Generator
) -> int:
    """Try to reverse edges u -> v whose ends have the same other parents, which never closes a cycle.

    Each try takes one of the places for parents of all variables, many of which are empty. The reversed edge has one
    place as well, so that a reversal is proposed as often as the way back.
    """
    n, most = len(graph.order), families.members.shape[1]
    chosen = graph.chosen
    has_changed = False
    for _ in range(n_tries):
        v = random_below(generator, n)
        u = int(families.members[chosen[v], random_below(generator, most)])
        if u == n:
            continue
        common = families.keys[chosen[u]]
        if families.keys[chosen[v]] ^ families.codes[u] != common:
            continue
        of_v = _position_of(families, v, common)
        of_u = _position_of(families, u, common ^ families.codes[v])
        if of_v < 0 or of_u < 0:
            continue
        gain = families.scores[of_v] + families.scores[of_u]
        gain -= families.scores[chosen[v]] + families.scores[chosen[u]]
        if gain >= 0.0 or generator.random() < np.exp(gain):
            chosen[v], chosen[u] = of_v, of_u
            has_changed = True
    if has_changed:
        _sort(families, graph, work)
    return 0


@kernel
def _fill_descents(families: Families, graph: OrderedGraph, work: WorkSpace) -> int:
    """Write `work.descends` for a graph."""
    descends = work.descends
    for v in graph.order:
        descends[v, :] = 0
        descends[v, v] = 1
        for k in range(families.members.shape[1]):
            parent = families.members[graph.chosen[v], k]
            for u in range(len(graph.order)):
                descends[v, u] |= descends[parent, u]
    return 0


@kernel
def _add_probabilities(
    families: Families, graph: OrderedGraph, work: WorkSpace, totals: NDArray[np.float64]
) -> int:
    """Add the probability of every edge given the parents of all variables but its child to `totals` (n + 1, n)."""
    shares, descends = work.shares, work.descends
    _fill_descents(families, graph, work)
    for v in range(len(graph.order)):
        shares[:] = 0.0
        top, base, total = -np.inf, 0.0, 0.0
        for position in range(families.offsets[v], families.offsets[v + 1]):
            score = families.scores[position]
            if score - top <= -_NEGLIGIBLE:
                break
            is_below = False
            for k in range(families.members.shape[1]):
                is_below |= descends[families.members[position, k], v] != 0
            if not is_below:
                if top == -np.inf:
                    top, base = score, _base(families, v, score)
                weight = _weight(families, position, base)
                total += weight
                for k in range(families.members.shape[1]):
                    shares[families.members[position, k]] += weight
        for parent in range(len(shares)):
            totals[parent, v] += shares[parent] / total
    return 0


@kernel
def sweep(
    families: Families,
    graph: OrderedGraph,
    work: WorkSpace,
    totals: NDArray[np.float64],
    n_sweeps: int,
    generator: np.random.Generator,
) -> int:
    """Take `n_sweeps` times as many steps as there are variables, each time adding the probabilities of edges.

    A step draws the parents of one to four variables at once. Reversals of covered edges follow, many of which leave
    the score as it is. Changes `graph`, `work` and `totals` (n + 1, n).
    """
    n = len(graph.order)
    for _ in range(n_sweeps):
        for _step in range(n):
            number = generator.random()
            size = 1 + (number > 0.1) + (number > 0.4) + (number > 0.8)
            _draw_parents(families, graph, min(size, n), work, generator)
        _reverse_covered(families, graph, _TRIES * n, work, generator)
        _add_probabilities(families, graph, work, totals)
    return 0
