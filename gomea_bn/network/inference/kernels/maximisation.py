"""Compiled maximisation: the largest probability of evidence together with one bin or level of some variables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.inference.kernels.arrays import ALONE, Batch, Model, Plan, Rows
from gomea_bn.network.inference.kernels.execution import fill_table, observed_offset, own_table
from gomea_bn.network.inference.kernels.plans import make_plan
from gomea_bn.runtime.jit import kernel

__all__ = ["log_maxima"]


@kernel
def log_maxima(
    model: Model, rows: Rows, batch: Batch, plan: Plan, groups_at: NDArray[np.int64],
    group_ends: NDArray[np.int64], log_bounds: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write upper bounds of the log probability of rows of one pattern with the best groups of cells.

    A step sums the cells of each group of its variable and keeps the largest sum. A variable that is summed out has one
    group. A sum of maxima is at least the maximum of the sums, so the result is an upper bound. It is exact if at most
    one group of every variable has a positive weight, or if all groups are single cells.

    Parameters
    ----------
    groups_at : ndarray of shape (V + 1,), int64
        Where the groups of every variable start in `group_ends`.
    group_ends : ndarray of int64
        Cell after the last one of each group, in increasing order.
    log_bounds : ndarray of shape (n,), float64
    """
    n = len(model.cards)
    work = plan.work
    make_plan(model, batch.patterns[0], batch.kept, False, plan)
    n_steps = plan.n_steps[0]
    for row in range(len(log_bounds)):
        log_total = 0.0
        for v in range(n):
            if plan.home[v] == ALONE:
                own = own_table(rows, row, v)
                if own >= 0:
                    probability = rows.tables[own]
                else:
                    probability = model.cells[observed_offset(model, rows.codes[row], v)]
                log_total += np.log(probability) if probability > 0.0 else -np.inf
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
