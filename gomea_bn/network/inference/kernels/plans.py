"""Compiled plans of elimination: which variable is summed out of which product of factors.

A plan is variable elimination as a tree of buckets (Dechter, "Bucket elimination: a unifying framework for reasoning",
1999). A bucket is the product of the factors that contain its variable; summing the variable out gives a message to a
later bucket. Factors are numbered: `v` is the table of variable v, `n + v` are its weights, and `2 n + s` is the
message of step s.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.inference.kernels.arrays import (
    ABSENT,
    ALONE,
    EXACT,
    HIDDEN,
    KEPT,
    MOST_AXES,
    SINGLE,
    WEIGHED,
    Batch,
    Model,
    Plan,
)
from gomea_bn.runtime.jit import kernel

__all__ = ["make_plan", "mark_relevant", "plan_costs"]


@kernel
def mark_relevant(model: Model, pattern: NDArray[np.int8], is_relevant: NDArray[np.bool_]) -> int:
    """Mark evidence, answers and all their ancestors; return the number of marked variables."""
    n = len(model.cards)
    n_relevant = 0
    for v in range(n):
        is_relevant[v] = pattern[v] != HIDDEN and pattern[v] != SINGLE
    for position in range(n - 1, -1, -1):
        v = model.order[position]
        if is_relevant[v]:
            n_relevant += 1
            for member in range(model.members_at[v], model.members_at[v + 1] - 1):
                is_relevant[model.members[member]] = True
    return n_relevant


@kernel
def _join_families(model: Model, pattern: NDArray[np.int8], plan: Plan) -> int:
    """List the unknown relevant variables and join those of one family; return their number."""
    n = len(model.cards)
    n_unknown = 0
    for v in range(n):
        plan.step_of[v] = -1
        if plan.is_relevant[v] and pattern[v] >= HIDDEN:
            plan.unknown[n_unknown] = v
            n_unknown += 1
    for i in range(n_unknown):
        for j in range(n_unknown):
            plan.joined[plan.unknown[i], plan.unknown[j]] = False
    for v in range(n):
        if plan.is_relevant[v]:
            for i in range(model.members_at[v], model.members_at[v + 1]):
                a = model.members[i]
                if pattern[a] >= HIDDEN:
                    for j in range(model.members_at[v], i):
                        b = model.members[j]
                        if pattern[b] >= HIDDEN:
                            plan.joined[a, b] = True
                            plan.joined[b, a] = True
    return n_unknown


@kernel
def _weigh(model: Model, plan: Plan, n_unknown: int, v: int) -> int:
    """Write the size of the table that eliminating a variable needs into `plan.size`."""
    size = np.log2(model.cards[v])
    for i in range(n_unknown):
        other = plan.unknown[i]
        if plan.joined[v, other] and plan.step_of[other] < 0:
            size += np.log2(model.cards[other])
    plan.size[v] = size
    return 0


@kernel
def _eliminate(model: Model, plan: Plan, n_unknown: int, step: int, v: int) -> bool:
    """Write the scope of a step that eliminates a variable, and join its neighbours; False for too many of them."""
    n_scope = 0
    for i in range(n_unknown):
        other = plan.unknown[i]
        if plan.joined[v, other] and plan.step_of[other] < 0:
            if n_scope == MOST_AXES - 1:
                return False
            plan.scope[step, n_scope] = other
            n_scope += 1
    plan.step_of[v] = step
    for i in range(n_scope):
        a = plan.scope[step, i]
        for j in range(i):
            b = plan.scope[step, j]
            plan.joined[a, b] = True
            plan.joined[b, a] = True
    for i in range(n_scope):
        _weigh(model, plan, n_unknown, plan.scope[step, i])
    plan.scope[step, n_scope] = v
    plan.n_scope[step] = n_scope + 1
    return True


@kernel
def _link(plan: Plan, factor: int, step: int) -> int:
    """Put a factor into the table of a step."""
    plan.home[factor] = step
    plan.following[factor] = plan.first[step]
    plan.first[step] = factor
    return 0


@kernel
def _assign_factors(model: Model, pattern: NDArray[np.int8], plan: Plan) -> int:
    """Put every factor into the first step that eliminates one of its variables."""
    n = len(model.cards)
    n_steps = plan.n_steps[0]
    for step in range(n_steps + 1):
        plan.first[step] = -1
    for v in range(n):
        plan.home[v] = ABSENT
        plan.home[n + v] = ABSENT
        plan.home[2 * n + v] = ABSENT
        if not plan.is_relevant[v]:
            continue
        step = n_steps + 1
        for i in range(model.members_at[v], model.members_at[v + 1]):
            member = model.members[i]
            if pattern[member] >= HIDDEN:
                step = min(step, plan.step_of[member])
        if step > n_steps:
            plan.home[v] = ALONE
        else:
            _link(plan, v, step)
        if pattern[v] == WEIGHED:
            _link(plan, n + v, plan.step_of[v])
    for step in range(n_steps):
        later = n_steps + 1
        for j in range(plan.n_scope[step] - 1):
            later = min(later, plan.step_of[plan.scope[step, j]])
        if later > n_steps:
            plan.home[2 * n + step] = ALONE
        else:
            _link(plan, 2 * n + step, later)
    return 0


@kernel
def _write_strides(model: Model, pattern: NDArray[np.int8], plan: Plan) -> int:
    """Write the strides of all factors along the variables of their steps.

    The table of a family with an exact member is a row's own, over the unknown members alone.
    """
    n = len(model.cards)
    for step in range(plan.n_steps[0] + 1):
        for j in range(plan.n_scope[step]):
            plan.place[plan.scope[step, j]] = j
        factor = plan.first[step]
        while factor >= 0:
            for j in range(plan.n_scope[step]):
                plan.strides[factor, j] = 0
            if factor < n:
                first = model.members_at[factor]
                last = model.members_at[factor + 1] - 1
                is_own = False
                for i in range(first, last + 1):
                    if pattern[model.members[i]] == EXACT:
                        is_own = True
                stride = 1
                for i in range(last, first - 1, -1):
                    member = model.members[i]
                    if pattern[member] >= HIDDEN:
                        plan.strides[factor, plan.place[member]] = stride if is_own else model.strides[i]
                        stride *= model.cards[member]
            elif factor < 2 * n:
                plan.strides[factor, plan.place[factor - n]] = 1
            else:
                sender = factor - 2 * n
                stride = 1
                for j in range(plan.n_scope[sender] - 2, -1, -1):
                    member = plan.scope[sender, j]
                    plan.strides[factor, plan.place[member]] = stride
                    stride *= model.cards[member]
            factor = plan.following[factor]
    return 0


@kernel
def make_plan(
    model: Model,
    pattern: NDArray[np.int8],
    kept: NDArray[np.int64],
    keeps_tables: bool,
    plan: Plan,
) -> bool:
    """Write the plan of a pattern, and return whether it can be executed.

    Variables are eliminated greedily, always the one that needs the smallest table. `plan.cost` becomes the
    logarithm to base 2 of the largest table, the number of cells of work space, and the number of multiplications per
    row. Without `keeps_tables` the tables of all steps share their place.
    """
    cost = plan.cost
    mark_relevant(model, pattern, plan.is_relevant)
    n_unknown = _join_families(model, pattern, plan)
    for i in range(n_unknown):
        _weigh(model, plan, n_unknown, plan.unknown[i])
    cost[0] = 0.0
    cost[1] = 0.0
    cost[2] = 0.0
    n_steps = 0
    fits = True
    while fits:
        best = -1
        for i in range(n_unknown):
            v = plan.unknown[i]
            if pattern[v] != KEPT and plan.step_of[v] < 0 and (best < 0 or plan.size[v] < plan.size[best]):
                best = v
        if best < 0:
            break
        cost[0] = max(cost[0], plan.size[best])
        fits = _eliminate(model, plan, n_unknown, n_steps, best)
        n_steps += 1
    answer = 0.0
    for i in range(len(kept)):
        answer += np.log2(model.cards[kept[i]])
    cost[0] = max(cost[0], answer)
    if not fits or cost[0] >= MOST_AXES or len(kept) > MOST_AXES:
        return False
    plan.n_steps[0] = n_steps
    plan.n_scope[n_steps] = len(kept)
    for i in range(len(kept)):
        plan.scope[n_steps, i] = kept[i]
        if pattern[kept[i]] == KEPT:
            plan.step_of[kept[i]] = n_steps
    _assign_factors(model, pattern, plan)
    _write_strides(model, pattern, plan)
    _place_tables(model, keeps_tables, plan)
    return True


@kernel
def _place_tables(model: Model, keeps_tables: bool, plan: Plan) -> int:
    """Write where tables and messages start, and the last two parts of `plan.cost`."""
    cost = plan.cost
    n_steps = plan.n_steps[0]
    largest = 1
    largest_message = 1
    for step in range(n_steps + 1):
        cells = 1
        for j in range(plan.n_scope[step]):
            cells *= model.cards[plan.scope[step, j]]
        plan.n_cells[step] = cells
        largest = max(largest, cells)
        factor = plan.first[step]
        while factor >= 0:
            cost[2] += cells
            factor = plan.following[factor]
    end = 0 if keeps_tables else largest
    for step in range(n_steps + 1):
        plan.table_at[step] = end if keeps_tables else 0
        if keeps_tables:
            end += plan.n_cells[step]
        if step < n_steps:
            plan.message_at[step] = end
            message = plan.n_cells[step] // model.cards[plan.scope[step, plan.n_scope[step] - 1]]
            end += message
            largest_message = max(largest_message, message)
    # the last part of the work space serves the way back
    cost[1] = end + largest_message
    return 0


@kernel
def plan_costs(model: Model, batch: Batch, keeps_tables: bool, plan: Plan, costs: NDArray[np.float64]) -> int:
    """Write the costs of the plans of all patterns, (n_patterns, 3); return the number of refused plans."""
    n_refused = 0
    for position in range(len(batch.patterns)):
        if not make_plan(model, batch.patterns[position], batch.kept, keeps_tables, plan):
            n_refused += 1
        for part in range(3):
            costs[position, part] = plan.cost[part]
    return n_refused
