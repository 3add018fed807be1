"""Compiled likelihood weighting: answers from draws, for networks whose exact tables would be too large."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.inference.kernels.arrays import Batch, Model, Plan, Rows
from gomea_bn.network.inference.kernels.execution import drawn_code, observed_offset
from gomea_bn.network.inference.kernels.plans import mark_relevant
from gomea_bn.runtime.jit import kernel

__all__ = ["weigh_joint", "weigh_rows"]


@kernel
def _weighted_draw(model: Model, rows: Rows, row: int, plan: Plan, generator: np.random.Generator) -> float:
    """Draw the unknown relevant variables of a row, parents first, and return the log probability of the evidence.

    This is likelihood weighting (Fung & Chang, "Weighing and integrating evidence for stochastic simulation in Bayesian
    networks", 1989): evidence is not drawn, but weighs the draw by its probability given the drawn parents.
    """
    n = len(model.cards)
    codes = plan.codes
    log_weight = 0.0
    for v in range(n):
        codes[v] = rows.codes[row, v]
    for position in range(n):
        v = model.order[position]
        if not plan.is_relevant[v]:
            continue
        at = observed_offset(model, codes, v)
        weight = 1.0
        if codes[v] >= 0:
            # the offset contains the observed code itself
            weight = model.cells[at]
        else:
            codes[v] = drawn_code(model.cells, at, model.cards[v], generator.random())
            if rows.weights_at[v] >= 0:
                weight = rows.weights[rows.weights_at[v] + row * model.cards[v] + codes[v]]
        if not weight > 0.0:
            return -np.inf
        log_weight += np.log(weight)
    return log_weight


@kernel
def weigh_joint(
    model: Model, rows: Rows, batch: Batch, first: int, last: int, n_draws: int, generator: np.random.Generator,
    plan: Plan, sums: NDArray[np.float64], squares: NDArray[np.float64], log_top: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write sums of the weights of draws, and of their squares, by the cell of the kept variables.

    `sums` and `squares` are (n, cells), and weights are divided by exp(`log_top`) (n,), which is -inf for a row without
    a draw of positive weight.
    """
    for i in range(first, last):
        row = batch.order[i]
        mark_relevant(model, batch.patterns[batch.pattern_of[row]], plan.is_relevant)
        top = -np.inf
        for _ in range(n_draws):
            log_weight = _weighted_draw(model, rows, row, plan, generator)
            if log_weight == -np.inf:
                continue
            if log_weight > top:
                scale = np.exp(top - log_weight)
                for cell in range(sums.shape[1]):
                    sums[row, cell] *= scale
                    squares[row, cell] *= scale * scale
                top = log_weight
            weight = np.exp(log_weight - top)
            cell = 0
            for j in range(len(batch.kept)):
                cell = cell * model.cards[batch.kept[j]] + plan.codes[batch.kept[j]]
            sums[row, cell] += weight
            squares[row, cell] += weight * weight
        log_top[row] = top
    return 0


@kernel
def weigh_rows(
    model: Model, rows: Rows, batch: Batch, first: int, last: int, n_draws: int, generator: np.random.Generator,
    plan: Plan, marginals: NDArray[np.float64], drawn: NDArray[np.int32], log_top: NDArray[np.float64],
) -> int:  # fmt: skip
    """Write estimated distributions of all variables, and draws of all unknown values given the evidence.

    `marginals` (n, sum of all cards) may have 0 columns. Each of `drawn` (n, n_drawn, V) is one of the weighted draws,
    chosen with a probability proportional to its weight.
    """
    n = len(model.cards)
    for i in range(first, last):
        row = batch.order[i]
        for v in range(n):
            plan.is_relevant[v] = True
        top = -np.inf
        total = 0.0
        for _ in range(n_draws):
            log_weight = _weighted_draw(model, rows, row, plan, generator)
            if log_weight == -np.inf:
                continue
            if log_weight > top:
                scale = np.exp(top - log_weight)
                total *= scale
                for cell in range(marginals.shape[1]):
                    marginals[row, cell] *= scale
                top = log_weight
            weight = np.exp(log_weight - top)
            total += weight
            if marginals.shape[1] > 0:
                start = 0
                for v in range(n):
                    marginals[row, start + plan.codes[v]] += weight
                    start += model.cards[v]
            for draw in range(drawn.shape[1]):
                if generator.random() * total < weight:
                    for v in range(n):
                        drawn[row, draw, v] = plan.codes[v]
        for cell in range(marginals.shape[1]):
            marginals[row, cell] /= total
        log_top[row] = top
    return 0
