"""Compiled inference: networks, evidence and plans of elimination as arrays, and the execution of plans.

A plan is variable elimination as a tree of buckets (Dechter, "Bucket elimination: a unifying framework for reasoning",
1999). A bucket is the product of the factors that contain its variable; summing the variable out gives a message to a
later bucket. Factors are numbered: `v` is the table of variable v, `n + v` are its weights, and `2 n + s` is the
message of step s. The execution of plans gives probabilities, distributions and draws, and the largest probability of
evidence together with one bin or level of some variables.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

# states of a variable in a pattern; all from HIDDEN on have an unknown value
EXACT = -1
"""The number of the variable is known; each row has its own tables of the families with such a member."""
SINGLE = 0
"""The variable has a single bin or level."""
OBSERVED = 1
HIDDEN = 2
"""The variable is summed out, and ignored if nothing depends on it."""
WEIGHED = 3
"""The variable has weights as evidence and is summed out."""
KEPT = 4
"""The variable is an axis of the answer."""
WANTED = 5
"""The variable is summed out, and its own distribution is wanted."""

MOST_AXES = 40
"""Largest number of axes of a table; every axis has at least two cells, so larger tables never fit into memory."""

ALONE = -1
"""Home of a factor that is a number."""
ABSENT = -2
"""Home of an unused factor."""


FREE = -2
"""Code in a draw of a variable on which no evidence depends, and which no table with cells of its parents draws."""


class Model(NamedTuple):
    """A network as arrays; V is the number of variables."""

    cards: NDArray[np.int64]  # (V,) numbers of bins or levels
    order: NDArray[np.int64]  # (V,) variables with every parent before its children
    members_at: NDArray[np.int64]  # (V + 1,) where the family of every variable starts in `members`
    members: NDArray[np.int64]  # (n_edges + V,) families: the parents of a variable, then itself
    strides: NDArray[np.int64]  # (n_edges + V,) strides of the members in the flattened table of the family
    # (V,) where the table of every variable starts in `cells`; -1 for a variable whose table is not needed
    table_at: NDArray[np.int64]
    cells: NDArray[np.float64]  # all tables, flattened


class RowsToAnswer(NamedTuple):
    """Evidence of n rows."""

    codes: NDArray[np.int32]  # (n, V) observed bins or levels; -1 for an unknown value
    # (V,) where the weights of a variable start in `weights`; -1 for a variable without
    weights_at: NDArray[np.int64]
    # for every variable with weights one row of `card` weights per row of evidence
    weights: NDArray[np.float64]
    # (n, V) where a row's own table of a family starts in `tables`; -1 for a family whose table is that of
    # the model; without rows if no row has tables
    table_at: NDArray[np.int64]
    tables: NDArray[np.float64]  # tables of families over their unknown members


class Batch(NamedTuple):
    """Rows by their pattern of states."""

    patterns: NDArray[np.int8]  # (n_patterns, V) state of every variable
    pattern_of: NDArray[np.int64]  # (n,) pattern of every row
    order: NDArray[np.int64]  # (n,) rows, those of one pattern together
    kept: NDArray[np.int64]  # (n_kept,) variables of state KEPT, in the order of the axes of the answer


class Plan(NamedTuple):
    """A plan of elimination for one pattern; S is the number of steps, at most V, and step S is the answer."""

    n_steps: NDArray[np.int64]  # (1,) number of steps
    step_of: NDArray[np.int64]  # (V,) step that eliminates a variable, S for a kept one, -1 for all others
    # (V + 1, MOST_AXES) variables of the table of every step; the one that is summed out is last
    scope: NDArray[np.int64]
    # n_scope, n_cells: (V + 1,) number of variables and of cells of the table of every step
    n_scope: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    table_at: NDArray[np.int64]  # (V + 1,) where the table of every step starts in the work space
    message_at: NDArray[np.int64]  # (V,) where the message of every step starts in the work space
    # (3 V,) step in whose table a factor is multiplied; `ALONE` for a number, `ABSENT` for an unused factor
    home: NDArray[np.int64]
    first: NDArray[np.int64]  # (V + 1,) first factor of every step, or -1
    following: NDArray[np.int64]  # (3 V,) next factor of the same step, or -1
    strides: NDArray[np.int64]  # (3 V, MOST_AXES) strides of a factor along the variables of its step
    is_relevant: NDArray[np.bool_]  # (V,) whether the answer depends on the table of a variable
    joined: NDArray[np.bool_]  # (V, V) whether two variables are in one table
    # (V,) logarithm to base 2 of the cells of the table that eliminating a variable needs
    size: NDArray[np.float64]
    # unknown, place, digits: (V,), (V,) and (MOST_AXES,) work space
    unknown: NDArray[np.int64]
    place: NDArray[np.int64]
    digits: NDArray[np.int64]
    codes: NDArray[np.int32]  # (V,) work space for one draw
    cost: NDArray[np.float64]  # (3,) cost of the plan, see `make_plan`
    work: NDArray[np.float64]  # tables and messages


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

    The table of a family with an exact member, or without a table of the model, is a row's own, over the unknown
    members alone.
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
                is_own = model.table_at[factor] < 0
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


_LOG_2 = math.log(2.0)


@kernel
def observed_offset(model: Model, codes: NDArray[np.int32], v: int) -> int:
    """Return where the observed members of a family put its table's cells."""
    offset = model.table_at[v]
    for i in range(model.members_at[v], model.members_at[v + 1]):
        code = codes[model.members[i]]
        if code > 0:
            offset += code * model.strides[i]
    return offset


@kernel
def _has_cells(model: Model, states: NDArray[np.int8], codes: NDArray[np.int32], v: int) -> bool:
    """Return whether a variable has a table that holds the cells of all its parents.

    A parent that is known exactly, or is drawn from its density later, is in no cell of the table.
    """
    if model.table_at[v] < 0:
        return False
    for i in range(model.members_at[v], model.members_at[v + 1] - 1):
        parent = model.members[i]
        if states[parent] == EXACT or codes[parent] == FREE:
            return False
    return True


@kernel
def own_table(rows: RowsToAnswer, row: int, v: int) -> int:
    """Return where a row's own table of a family starts, -1 without one."""
    return rows.table_at[row, v] if len(rows.table_at) > 0 else -1


@kernel
def _multiply(
    model: Model, plan: Plan, step: int, factor: int, source: NDArray[np.float64], base: int,
    assigns: bool,
) -> float:  # fmt: skip
    """Multiply the table of a step by a factor, or write the factor into it; return the largest cell."""
    work = plan.work
    at = plan.table_at[step]
    last = plan.n_scope[step] - 1
    index = base
    top = 0.0
    card = model.cards[plan.scope[step, last]]
    stride = plan.strides[factor, last]
    for j in range(last):
        plan.digits[j] = 0
    cell = at
    end = at + plan.n_cells[step]
    while cell < end:
        for code in range(card):
            value = source[index + code * stride]
            if not assigns:
                value *= work[cell]
            work[cell] = value
            top = max(top, value)
            cell += 1
        j = last - 1
        while j >= 0:
            plan.digits[j] += 1
            index += plan.strides[factor, j]
            size = model.cards[plan.scope[step, j]]
            if plan.digits[j] < size:
                break
            index -= plan.strides[factor, j] * size
            plan.digits[j] = 0
            j -= 1
    return top


@kernel
def fill_table(model: Model, rows: RowsToAnswer, row: int, plan: Plan, step: int) -> float:
    """Write the table of a step, scaled; return the logarithm of the scale, -inf for a table of zeros."""
    n = len(model.cards)
    work = plan.work
    log_scale = 0.0
    assigns = True
    factor = plan.first[step]
    while factor >= 0:
        if factor < n:
            base = own_table(rows, row, factor)
            if base >= 0:
                top = _multiply(model, plan, step, factor, rows.tables, base, assigns)
            else:
                base = observed_offset(model, rows.codes[row], factor)
                top = _multiply(model, plan, step, factor, model.cells, base, assigns)
        elif factor < 2 * n:
            base = rows.weights_at[factor - n] + row * model.cards[factor - n]
            top = _multiply(model, plan, step, factor, rows.weights, base, assigns)
        else:
            base = plan.message_at[factor - 2 * n]
            top = _multiply(model, plan, step, factor, work, base, assigns)
        if not top > 0.0:
            return -np.inf
        # a table is multiplied by a power of two before its largest number becomes smaller
        if top < 2.0**-300:
            exponent = math.frexp(top)[1]
            log_scale += exponent * _LOG_2
            scale = math.ldexp(1.0, -exponent)
            for cell in range(plan.table_at[step], plan.table_at[step] + plan.n_cells[step]):
                work[cell] *= scale
        assigns = False
        factor = plan.following[factor]
    return log_scale


@kernel
def _log_alone(model: Model, rows: RowsToAnswer, row: int, plan: Plan) -> float:
    """Return the log probability of the families all of whose members are known, -inf if one is impossible."""
    log_total = 0.0
    for v in range(len(model.cards)):
        if plan.home[v] == ALONE:
            own = own_table(rows, row, v)
            if own >= 0:
                probability = rows.tables[own]
            else:
                probability = model.cells[observed_offset(model, rows.codes[row], v)]
            if not probability > 0.0:
                return -np.inf
            log_total += np.log(probability)
    return log_total


@kernel
def _forward(model: Model, rows: RowsToAnswer, row: int, plan: Plan) -> float:
    """Execute a plan for a row and return the log probability of its evidence, -inf if it is impossible.

    The answer, a table over the kept variables, is in the table of the last step, not normalised.
    """
    n = len(model.cards)
    work = plan.work
    n_steps = plan.n_steps[0]
    log_total = _log_alone(model, rows, row, plan)
    if log_total == -np.inf:
        return -np.inf
    for step in range(n_steps):
        log_scale = fill_table(model, rows, row, plan, step)
        if log_scale == -np.inf:
            return -np.inf
        log_total += log_scale
        cell = plan.table_at[step]
        message = plan.message_at[step]
        card = model.cards[plan.scope[step, plan.n_scope[step] - 1]]
        for i in range(plan.n_cells[step] // card):
            total = 0.0
            for _ in range(card):
                total += work[cell]
                cell += 1
            work[message + i] = total
        if plan.home[2 * n + step] == ALONE:
            log_total += np.log(work[message])
    if plan.n_scope[n_steps] > 0:
        log_scale = fill_table(model, rows, row, plan, n_steps)
        if log_scale == -np.inf:
            return -np.inf
        total = 0.0
        at = plan.table_at[n_steps]
        for cell in range(at, at + plan.n_cells[n_steps]):
            total += work[cell]
        log_total += log_scale + np.log(total)
    return log_total


@kernel
def _start(
    model: Model, rows: RowsToAnswer, batch: Batch, first: int, i: int, keeps_tables: bool, plan: Plan
) -> float:
    """Execute the plan of row `batch.order[i]`, which rows of one pattern share from `first` on; see `_forward`."""
    pattern = batch.pattern_of[batch.order[i]]
    if i == first or pattern != batch.pattern_of[batch.order[i - 1]]:
        make_plan(model, batch.patterns[pattern], batch.kept, keeps_tables, plan)
    return _forward(model, rows, batch.order[i], plan)


@kernel
def joint_of_rows(
    model: Model, rows: RowsToAnswer, batch: Batch, first: int, last: int, plan: Plan,
    log_evidence: NDArray[np.float64], tables: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the log probability of the evidence and P(kept | evidence) for rows `batch.order[first:last]`.

    `log_evidence` is (n,), `tables` (n, cells of the kept variables). Rows of impossible evidence keep their table.
    """
    for i in range(first, last):
        row = batch.order[i]
        log_evidence[row] = _start(model, rows, batch, first, i, False, plan)
        if len(batch.kept) > 0 and log_evidence[row] > -np.inf:
            answer = plan.n_steps[0]
            at = plan.table_at[answer]
            total = 0.0
            for cell in range(plan.n_cells[answer]):
                total += plan.work[at + cell]
            for cell in range(plan.n_cells[answer]):
                tables[row, cell] = plan.work[at + cell] / total
    return 0


@kernel
def _backward(model: Model, plan: Plan, scratch: int) -> int:
    """Turn the tables of all steps into the distributions of their variables given the evidence.

    The table of a step divided by its message is P(variable | later variables, evidence); it is multiplied by the
    distribution of the later variables, which the table of the receiving step contains (Lauritzen & Spiegelhalter,
    "Local computations with probabilities on graphical structures", 1988).
    """
    n = len(model.cards)
    work = plan.work
    for step in range(plan.n_steps[0] - 1, -1, -1):
        card = model.cards[plan.scope[step, plan.n_scope[step] - 1]]
        n_message = plan.n_cells[step] // card
        receiver = plan.home[2 * n + step]
        if receiver == ALONE:
            work[scratch] = 1.0
        else:
            _sum_onto_message(model, plan, step, receiver, scratch)
        for i in range(n_message):
            message = work[plan.message_at[step] + i]
            ratio = work[scratch + i] / message if message > 0.0 else 0.0
            for cell in range(plan.table_at[step] + i * card, plan.table_at[step] + (i + 1) * card):
                work[cell] *= ratio
    return 0


@kernel
def _sum_onto_message(model: Model, plan: Plan, step: int, receiver: int, scratch: int) -> int:
    """Write the distribution of the variables of a message, from the table of its receiver, to the scratch place."""
    work = plan.work
    factor = 2 * len(model.cards) + step
    card = model.cards[plan.scope[step, plan.n_scope[step] - 1]]
    for i in range(plan.n_cells[step] // card):
        work[scratch + i] = 0.0
    n_scope = plan.n_scope[receiver]
    for j in range(n_scope):
        plan.digits[j] = 0
    index = scratch
    for cell in range(plan.table_at[receiver], plan.table_at[receiver] + plan.n_cells[receiver]):
        work[index] += work[cell]
        j = n_scope - 1
        while j >= 0:
            plan.digits[j] += 1
            index += plan.strides[factor, j]
            size = model.cards[plan.scope[receiver, j]]
            if plan.digits[j] < size:
                break
            index -= plan.strides[factor, j] * size
            plan.digits[j] = 0
            j -= 1
    return 0


@kernel
def marginals_of_rows(
    model: Model, rows: RowsToAnswer, batch: Batch, first: int, last: int, plan: Plan,
    log_evidence: NDArray[np.float64], marginals: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write P(variable | evidence) of every wanted variable for rows `batch.order[first:last]`.

    `marginals` is (n, sum of all cards), the variables one after the other.
    """
    for i in range(first, last):
        row = batch.order[i]
        log_evidence[row] = _start(model, rows, batch, first, i, True, plan)
        if log_evidence[row] == -np.inf:
            continue
        scratch = len(plan.work) - _largest_message(model, plan)
        _backward(model, plan, scratch)
        start = 0
        for v in range(len(model.cards)):
            card = model.cards[v]
            step = plan.step_of[v]
            if step >= 0:
                for code in range(card):
                    marginals[row, start + code] = 0.0
                cell = plan.table_at[step]
                for _ in range(plan.n_cells[step] // card):
                    for code in range(card):
                        marginals[row, start + code] += plan.work[cell]
                        cell += 1
            start += card
    return 0


@kernel
def _largest_message(model: Model, plan: Plan) -> int:
    """Return the number of cells of the largest message."""
    largest = 1
    for step in range(plan.n_steps[0]):
        card = model.cards[plan.scope[step, plan.n_scope[step] - 1]]
        largest = max(largest, plan.n_cells[step] // card)
    return largest


@kernel
def drawn_code(cells: NDArray[np.float64], at: int, card: int, share: float) -> int:
    """Return a code with probabilities proportional to some cells; `share` is uniform on [0, 1)."""
    total = 0.0
    for code in range(card):
        total += cells[at + code]
    drawn = 0
    below = 0.0
    for code in range(card):
        if cells[at + code] > 0.0:
            drawn = code
            below += cells[at + code]
            if below > share * total:
                break
    return drawn


@kernel
def draw_rows(
    model: Model, rows: RowsToAnswer, batch: Batch, first: int, last: int, plan: Plan,
    log_evidence: NDArray[np.float64], drawn: NDArray[np.int32], generator: np.random.Generator,
) -> int:  # fmt: skip
    """Write draws of all unknown values given the evidence for rows `batch.order[first:last]`.

    `drawn` is (n, n_draws, V). The variables of a plan are drawn in reverse order of their elimination, and variables
    on which no evidence depends from their tables, parents first; where no table holds the cells of their parents,
    their code is FREE.
    """
    n = len(model.cards)
    for i in range(first, last):
        row = batch.order[i]
        log_evidence[row] = _start(model, rows, batch, first, i, True, plan)
        if log_evidence[row] == -np.inf:
            continue
        for draw in range(drawn.shape[1]):
            codes = drawn[row, draw]
            for v in range(n):
                codes[v] = rows.codes[row, v]
            for step in range(plan.n_steps[0] - 1, -1, -1):
                index = 0
                for j in range(plan.n_scope[step] - 1):
                    index = index * model.cards[plan.scope[step, j]] + codes[plan.scope[step, j]]
                v = plan.scope[step, plan.n_scope[step] - 1]
                at = plan.table_at[step] + index * model.cards[v]
                codes[v] = drawn_code(plan.work, at, model.cards[v], generator.random())
            for position in range(n):
                v = model.order[position]
                if codes[v] >= 0:
                    continue
                if _has_cells(model, batch.patterns[batch.pattern_of[row]], codes, v):
                    at = observed_offset(model, codes, v)
                    codes[v] = drawn_code(model.cells, at, model.cards[v], generator.random())
                else:
                    codes[v] = FREE
    return 0


@kernel
def log_maxima(
    model: Model, rows: RowsToAnswer, batch: Batch, plan: Plan, groups_at: NDArray[np.int64],
    group_ends: NDArray[np.int64], log_bounds: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write upper bounds of the log probability of rows of one pattern with the best groups of cells.

    A step sums the cells of each group of its variable and keeps the largest sum. A variable that is summed out has one
    group. A sum of maxima is at least the maximum of the sums, so the result is an upper bound. It is exact if at most
    one group of every variable has a positive weight, or if all groups are single cells.

    The groups of every variable start in `group_ends` at `groups_at` (V + 1,); there is the cell after the last one of
    each group, in increasing order.
    """
    n = len(model.cards)
    work = plan.work
    make_plan(model, batch.patterns[0], batch.kept, False, plan)
    n_steps = plan.n_steps[0]
    for row in range(len(log_bounds)):
        log_total = _log_alone(model, rows, row, plan)
        for step in range(n_steps):
            if log_total == -np.inf:
                break
            log_total += fill_table(model, rows, row, plan, step)
            v = plan.scope[step, plan.n_scope[step] - 1]
            card = model.cards[v]
            message = plan.message_at[step]
            for i in range(plan.n_cells[step] // card):
                start = plan.table_at[step] + i * card
                cell = start
                best = 0.0
                for group in range(groups_at[v], groups_at[v + 1]):
                    total = 0.0
                    while cell < start + group_ends[group]:
                        total += work[cell]
                        cell += 1
                    best = max(best, total)
                work[message + i] = best
            if plan.home[2 * n + step] == ALONE:
                log_total += np.log(work[message]) if work[message] > 0.0 else -np.inf
        log_bounds[row] = log_total
    return 0
