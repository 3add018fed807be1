"""Compiled execution of plans: probabilities, distributions and draws of the unknown values of rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.inference.kernels.arrays import ALONE, FREE, Batch, Model, Plan, Rows
from gomea_bn.network.inference.kernels.plans import make_plan
from gomea_bn.runtime.jit import kernel

__all__ = [
    "draw_rows",
    "drawn_code",
    "fill_table",
    "joint_of_rows",
    "marginals_of_rows",
    "observed_offset",
    "own_table",
]

# a table is multiplied by a power of two before its largest number becomes smaller
_LEAST_TOP = 2.0**-300
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
def own_table(rows: Rows, row: int, v: int) -> int:
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
def fill_table(model: Model, rows: Rows, row: int, plan: Plan, step: int) -> float:
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
        if top < _LEAST_TOP:
            exponent = math.frexp(top)[1]
            log_scale += exponent * _LOG_2
            scale = math.ldexp(1.0, -exponent)
            for cell in range(plan.table_at[step], plan.table_at[step] + plan.n_cells[step]):
                work[cell] *= scale
        assigns = False
        factor = plan.following[factor]
    return log_scale


@kernel
def _forward(model: Model, rows: Rows, row: int, plan: Plan) -> float:
    """Execute a plan for a row and return the log probability of its evidence, -inf if it is impossible.

    The answer, a table over the kept variables, is in the table of the last step, not normalised.
    """
    n = len(model.cards)
    work = plan.work
    n_steps = plan.n_steps[0]
    log_total = 0.0
    for v in range(n):
        if plan.home[v] == ALONE:
            own = own_table(rows, row, v)
            if own >= 0:
                probability = rows.tables[own]
            else:
                probability = model.cells[observed_offset(model, rows.codes[row], v)]
            if not probability > 0.0:
                return -np.inf
            log_total += np.log(probability)
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
def joint_of_rows(
    model: Model, rows: Rows, batch: Batch, first: int, last: int, plan: Plan,
    log_evidence: NDArray[np.float64], tables: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write the log probability of the evidence and P(kept | evidence) for rows `batch.order[first:last]`.

    `log_evidence` is (n,), `tables` (n, cells of the kept variables). Rows of impossible evidence keep their table.
    """
    for i in range(first, last):
        row = batch.order[i]
        pattern = batch.pattern_of[row]
        if i == first or pattern != batch.pattern_of[batch.order[i - 1]]:
            make_plan(model, batch.patterns[pattern], batch.kept, False, plan)
        log_evidence[row] = _forward(model, rows, row, plan)
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
    model: Model, rows: Rows, batch: Batch, first: int, last: int, plan: Plan,
    log_evidence: NDArray[np.float64], marginals: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write P(variable | evidence) of every wanted variable for rows `batch.order[first:last]`.

    `marginals` is (n, sum of all cards), the variables one after the other.
    """
    for i in range(first, last):
        row = batch.order[i]
        pattern = batch.pattern_of[row]
        if i == first or pattern != batch.pattern_of[batch.order[i - 1]]:
            make_plan(model, batch.patterns[pattern], batch.kept, True, plan)
        log_evidence[row] = _forward(model, rows, row, plan)
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
    model: Model, rows: Rows, batch: Batch, first: int, last: int, plan: Plan,
    log_evidence: NDArray[np.float64], drawn: NDArray[np.int32], generator: np.random.Generator,
) -> int:  # fmt: skip
    """Write draws of all unknown values given the evidence for rows `batch.order[first:last]`.

    `drawn` is (n, n_draws, V). The variables of a plan are drawn in reverse order of their elimination, and variables
    on which no evidence depends from their tables, parents first; without a table their code is FREE.
    """
    n = len(model.cards)
    for i in range(first, last):
        row = batch.order[i]
        pattern = batch.pattern_of[row]
        if i == first or pattern != batch.pattern_of[batch.order[i - 1]]:
            make_plan(model, batch.patterns[pattern], batch.kept, True, plan)
        log_evidence[row] = _forward(model, rows, row, plan)
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
                if codes[v] < 0 and model.table_at[v] < 0:
                    codes[v] = FREE
                elif codes[v] < 0:
                    at = observed_offset(model, codes, v)
                    codes[v] = drawn_code(model.cells, at, model.cards[v], generator.random())
    return 0
