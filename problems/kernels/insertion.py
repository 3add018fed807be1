"""Kernels that improve an order of the variables, given parent sets of every variable with their scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import lowest_bit, random_below, shuffle

ZERO, ONE = np.uint64(0), np.uint64(1)


class ParentSetTable(NamedTuple):
    """Parent sets of N variables, best score first; W = words of a set."""

    members: NDArray[np.uint64]  # (n_sets, W) variables of a set as bits
    scores: NDArray[np.float64]  # (n_sets,) nats
    starts: NDArray[np.int64]  # (N + 1,) the sets of variable v are starts[v] to starts[v + 1]
    # sets with a member: those of variable v with u are with_member[k], ascending and counted from starts[v], for k
    # from member_starts[v, u] to member_starts[v, u + 1]
    with_member: NDArray[np.int32]
    member_starts: NDArray[np.int64]  # (N, N + 1)


class OrderWork(NamedTuple):
    """An order with the best set of every variable, and work space."""

    order: NDArray[np.int64]  # (N,) variables
    chosen: NDArray[np.int64]  # (N,) best set of every variable without variables that come later
    visits: NDArray[np.int64]  # (N,)
    is_changed: NDArray[np.uint8]  # (N,) 1 for variables that `reinsert` has still to visit
    previous: NDArray[np.int64]  # (N,) what `chosen` was before a move
    before: NDArray[np.uint64]  # (W,)
    reached: NDArray[np.uint64]  # (W,) variables that `move_chain` has visited
    stop: NDArray[np.uint8]  # (1,) raised from outside to interrupt
    n_scans: NDArray[np.int64]  # (1,) counts the searches for a set


@kernel
def _has(words: NDArray[np.uint64], variable: int) -> bool:
    return (words[variable >> 6] >> np.uint64(variable & 63)) & ONE == ONE


@kernel
def _flip(words: NDArray[np.uint64], variable: int) -> None:
    words[variable >> 6] ^= ONE << np.uint64(variable & 63)


@kernel
def _first_within(
    table: ParentSetTable, first: int, last: int, before: NDArray[np.uint64], n_scans: NDArray[np.int64]
) -> int:
    """Return the first of the sets `first` to `last` (exclusive) that is a subset of `before`, -1 without one."""
    n_scans[0] += 1
    for k in range(first, last):
        is_subset = True
        for w in range(before.shape[0]):
            if table.members[k, w] & ~before[w] != ZERO:
                is_subset = False
                break
        if is_subset:
            return k
    return -1


@kernel
def sets_with_members(
    members: NDArray[np.uint64], with_member: NDArray[np.int32], starts: NDArray[np.int64]
) -> None:
    """Fill the sets of one variable with each member, ascending, (n,), and the first place of each, (N + 1,).

    The places are all 0 before.
    """
    for k in range(members.shape[0]):
        for w in range(members.shape[1]):
            rest = members[k, w]
            while rest != ZERO:
                starts[64 * w + lowest_bit(rest)] += 1
                rest &= rest - ONE
    n_after = with_member.shape[0]
    for u in range(starts.shape[0] - 1, -1, -1):
        n_after -= starts[u]
        starts[u] = n_after + starts[u]
    for k in range(members.shape[0] - 1, -1, -1):
        for w in range(members.shape[1]):
            rest = members[k, w]
            while rest != ZERO:
                u = 64 * w + lowest_bit(rest)
                starts[u] -= 1
                with_member[starts[u]] = k
                rest &= rest - ONE


@kernel
def _with_further(
    table: ParentSetTable,
    v: int,
    chosen: int,
    further: int,
    before: NDArray[np.uint64],
    n_scans: NDArray[np.int64],
) -> int:
    """Return the best set of `v` within `before`, of which `chosen` is the best one without the member `further`."""
    n_scans[0] += 1
    first = table.starts[v]
    for i in range(table.member_starts[v, further], table.member_starts[v, further + 1]):
        k = first + table.with_member[i]
        if k >= chosen:
            break
        is_subset = True
        for w in range(before.shape[0]):
            if table.members[k, w] & ~before[w] != ZERO:
                is_subset = False
                break
        if is_subset:
            return k
    return chosen


@kernel
def _choose_between(table: ParentSetTable, work: OrderWork, first: int, last: int) -> bool:
    """Choose the best sets of the variables at positions `first` to `last`; returns whether each has one."""
    work.before[:] = ZERO
    for k in range(first):
        _flip(work.before, work.order[k])
    for k in range(first, last + 1):
        v = work.order[k]
        work.chosen[v] = _first_within(table, table.starts[v], table.starts[v + 1], work.before, work.n_scans)
        if work.chosen[v] < 0:
            return False
        _flip(work.before, v)
    return True


@kernel
def choose_sets(table: ParentSetTable, work: OrderWork) -> bool:
    """Fill ``work.chosen`` for ``work.order``; returns whether every variable has an allowed set."""
    return _choose_between(table, work, 0, work.order.shape[0] - 1)


@kernel
def _move(order: NDArray[np.int64], position: int, target: int) -> None:
    """Move the variable at one position of an order to another one."""
    v = order[position]
    step = 1 if target > position else -1
    for k in range(position, target, step):
        order[k] = order[k + step]
    order[target] = v


@kernel
def _best_position(
    table: ParentSetTable, work: OrderWork, position: int, least_gain: float, generator: np.random.Generator
) -> tuple[int, float]:
    """Return the best position of the variable at `position`, a random one of equals, and its gain in nats."""
    order, chosen, before = work.order, work.chosen, work.before
    v = order[position]
    score = table.scores[chosen[v]]
    best, best_gain, n_best = position, 0.0, 1
    for direction in (-1, 1):
        before[:] = ZERO
        for k in range(position):
            _flip(before, order[k])
        # what the variables gain that change sides with v, and the set of v
        others, of_v = 0.0, chosen[v]
        target = position + direction
        while 0 <= target < order.shape[0]:
            u = order[target]
            of_u = chosen[u]
            if direction < 0:
                _flip(before, u)
                if _has(table.members[of_v], u):
                    of_v = _first_within(table, of_v + 1, table.starts[v + 1], before, work.n_scans)
                _flip(before, v)
                of_u = _with_further(table, u, of_u, v, before, work.n_scans)
                _flip(before, v)
            else:
                if _has(table.members[of_u], v):
                    of_u = _first_within(table, of_u + 1, table.starts[u + 1], before, work.n_scans)
                _flip(before, u)
                of_v = _with_further(table, v, of_v, u, before, work.n_scans)
            # a required parent would come later, here and at all further positions
            if of_v < 0 or of_u < 0:
                break
            others += table.scores[of_u] - table.scores[chosen[u]]
            gain = others + table.scores[of_v] - score
            if gain > best_gain + least_gain:
                best, best_gain, n_best = target, gain, 1
            elif gain >= best_gain - least_gain:
                n_best += 1
                if random_below(generator, n_best) == 0:
                    best = target
            target += direction
    return best, best_gain


@kernel
def reinsert(
    table: ParentSetTable,
    work: OrderWork,
    least_gain: float,
    generator: np.random.Generator,
    only_changed: bool,
) -> int:
    """Move variables to their best positions until a pass over all gains no more than `least_gain`.

    ``work.order`` and ``work.chosen`` follow. Moves without gain walk among equally good orders. Returns the number of
    moves with a gain.

    With `only_changed`, only the variables of ``work.is_changed`` move, and those whose sets change by that, and only
    with a gain. Other variables stay until one of the sets in front of them changes, so that this takes a small part of
    the time and may miss moves. It ends when no variable is marked.
    """
    n = work.order.shape[0]
    n_gains = 0
    for k in range(n):
        work.visits[k] = k
    gained = True
    while gained:
        gained = False
        shuffle(generator, work.visits)
        for v in work.visits:
            if only_changed and work.is_changed[v] == 0:
                continue
            if work.stop[0] != 0:
                return n_gains
            work.is_changed[v] = 0
            position = 0
            while work.order[position] != v:
                position += 1
            target, gain = _best_position(table, work, position, least_gain, generator)
            if target == position or (only_changed and gain <= least_gain):
                continue
            if gain > least_gain:
                gained = True
                n_gains += 1
            for u in range(n):
                work.previous[u] = work.chosen[u]
            _move(work.order, position, target)
            _choose_between(table, work, min(position, target), max(position, target))
            for u in range(n):
                if u == v or work.chosen[u] != work.previous[u]:
                    work.is_changed[u] = 1
    return n_gains


@kernel
def _lowest_outside(words: NDArray[np.uint64], others: NDArray[np.uint64]) -> int:
    """Return the lowest variable of a set that is outside another set, -1 without one."""
    for w in range(words.shape[0]):
        rest = words[w] & ~others[w]
        if rest != ZERO:
            return 64 * w + lowest_bit(rest)
    return -1


@kernel
def _first_apart(table: ParentSetTable, first: int, last: int, others: NDArray[np.uint64]) -> int:
    """Return the first of the sets `first` to `last` (exclusive) without a variable of `others`, -1 without one."""
    for k in range(first, last):
        is_apart = True
        for w in range(others.shape[0]):
            if table.members[k, w] & others[w] != ZERO:
                is_apart = False
                break
        if is_apart:
            return k
    return -1


@kernel
def move_chain(
    table: ParentSetTable,
    order: NDArray[np.int64],
    chosen: NDArray[np.int64],
    last: int,
    depth: int,
    work: OrderWork,
) -> bool:
    """Fill ``work.order`` and ``work.chosen`` with an order that begins with a variable and its ancestors.

    The variable `last` gets its best set. Its parents, their parents and so on keep their sets of `chosen`, apart from
    those whose set would close a cycle and from the nearest `depth` generations: they get their best set that closes
    none. All other variables follow in their order. Work arrays are overwritten. Returns whether every variable
    has a set; the order has no meaning otherwise.
    """
    # variables on the path from `last`, with the set of each
    path, of_path, on_path, reached = work.visits, work.previous, work.before, work.reached
    on_path[:] = ZERO
    reached[:] = ZERO
    path[0], of_path[0] = last, table.starts[last]
    _flip(on_path, last)
    _flip(reached, last)
    length, n_moved = 1, 0
    while length > 0:
        v = path[length - 1]
        parent = _lowest_outside(table.members[of_path[length - 1]], reached)
        if parent < 0:
            work.order[n_moved] = v
            n_moved += 1
            _flip(on_path, v)
            length -= 1
            continue
        k = chosen[parent]
        if length <= depth or _first_apart(table, k, k + 1, on_path) < 0:
            k = _first_apart(table, table.starts[parent], table.starts[parent + 1], on_path)
        if k < 0:
            return False
        path[length], of_path[length] = parent, k
        _flip(on_path, parent)
        _flip(reached, parent)
        length += 1
    for v in order:
        if not _has(reached, v):
            work.order[n_moved] = v
            n_moved += 1
    return choose_sets(table, work)
