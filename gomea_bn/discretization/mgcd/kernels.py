"""Kernels of EM for Gaussians that all configurations of a Markov blanket share with different weights."""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.score import HALF_LOG_TWO_PI
from gomea_bn.runtime.jit import kernel


class CountedCells(NamedTuple):
    """Rows of one column, counted by cell of its values and by configuration of its blanket."""

    means: NDArray[np.float64]  # (n_cells,) mean of the values in a cell
    variances: NDArray[np.float64]  # (n_cells,) their variance
    starts: NDArray[np.int64]  # (n_configurations + 1,) first entry of every configuration
    cells: NDArray[np.int32]  # (n_entries,)
    counts: NDArray[np.float64]  # (n_entries,) rows of a configuration in a cell


class SharedGaussians(NamedTuple):
    """The mixture; mutated."""

    means: NDArray[np.float64]  # (n_components,)
    deviations: NDArray[np.float64]  # (n_components,) standard deviations
    weights: NDArray[np.float64]  # (n_configurations, n_components) rows that sum to 1


class EMWork(NamedTuple):
    """Work space and result; mutated."""

    logs: NDArray[np.float64]  # (n_cells, n_components) log densities, averaged over the rows of a cell
    ratios: NDArray[np.float64]  # (n_cells, n_components) densities relative to the highest of the cell
    highest: NDArray[np.float64]  # (n_cells,) highest log density of the cell
    mass: NDArray[np.float64]  # (n_cells, n_components) rows of a cell by component
    weights: NDArray[np.float64]  # (n_configurations, n_components) weights after the iteration
    shares: NDArray[np.float64]  # (n_components,)
    trace: NDArray[np.float64]  # (max_iterations + 1,) log likelihood before every iteration and at the end
    stop: NDArray[np.uint8]  # (1,) raised to give up


@kernel
def _log_densities(data: CountedCells, mixture: SharedGaussians, work: EMWork) -> None:
    """Fill ``work.logs``, ``work.ratios`` and ``work.highest``."""
    logs, ratios = work.logs, work.ratios
    n_components = mixture.means.shape[0]
    for c in range(data.means.shape[0]):
        work.highest[c] = -inf
    for k in range(n_components):
        mean = mixture.means[k]
        scale = -0.5 / mixture.deviations[k] ** 2
        top = -HALF_LOG_TWO_PI - log(mixture.deviations[k])
        for c in range(data.means.shape[0]):
            d = data.means[c] - mean
            logs[c, k] = top + scale * (d * d + data.variances[c])
            work.highest[c] = max(work.highest[c], logs[c, k])
    for c in range(data.means.shape[0]):
        for k in range(n_components):
            ratios[c, k] = exp(logs[c, k] - work.highest[c])


@kernel
def _shares(mixture: SharedGaussians, work: EMWork, j: int, c: int) -> tuple[float, float]:
    """Fill ``work.shares`` in proportion to the components' shares of configuration `j` in cell `c`.

    Returns the sum of these numbers and the log density at the cell.
    """
    shares, weights = work.shares, mixture.weights
    n_components = weights.shape[1]
    total = 0.0
    for k in range(n_components):
        shares[k] = weights[j, k] * work.ratios[c, k]
        total += shares[k]
    # density relative to the highest below which sums are formed from logarithms
    if total > 1e-280:
        return total, log(total) + work.highest[c]
    # the component that is likely at the cell has no weight here: its density hides those of the others
    top = -inf
    for k in range(n_components):
        if weights[j, k] > 0.0:
            top = max(top, log(weights[j, k]) + work.logs[c, k])
    total = 0.0
    for k in range(n_components):
        shares[k] = 0.0
        if weights[j, k] > 0.0:
            shares[k] = exp(log(weights[j, k]) + work.logs[c, k] - top)
            total += shares[k]
    return total, log(total) + top


@kernel
def _expectation(data: CountedCells, mixture: SharedGaussians, work: EMWork) -> float:
    """Fill ``work.mass`` and ``work.weights`` for the current mixture and return its log likelihood in nats."""
    mass, weights, shares = work.mass, work.weights, work.shares
    n_components = mixture.means.shape[0]
    for c in range(mass.shape[0]):
        for k in range(n_components):
            mass[c, k] = 0.0
    likelihood = 0.0
    for j in range(data.starts.shape[0] - 1):
        n_rows = 0.0
        for k in range(n_components):
            weights[j, k] = 0.0
        for e in range(data.starts[j], data.starts[j + 1]):
            c = data.cells[e]
            total, value = _shares(mixture, work, j, c)
            likelihood += data.counts[e] * value
            scale = data.counts[e] / total
            for k in range(n_components):
                rows = shares[k] * scale
                weights[j, k] += rows
                mass[c, k] += rows
            n_rows += data.counts[e]
        for k in range(n_components):
            weights[j, k] /= n_rows
    return likelihood


@kernel
def _maximisation(data: CountedCells, mixture: SharedGaussians, work: EMWork, floor: float) -> None:
    """Move the mixture to the most likely one for ``work.mass``; a component without rows stays where it is."""
    mass = work.mass
    n_cells = mass.shape[0]
    for k in range(mixture.means.shape[0]):
        rows = total = 0.0
        for c in range(n_cells):
            rows += mass[c, k]
            total += mass[c, k] * data.means[c]
        if rows <= 0.0:
            continue
        mean = total / rows
        total = 0.0
        for c in range(n_cells):
            d = data.means[c] - mean
            total += mass[c, k] * (d * d + data.variances[c])
        mixture.means[k] = mean
        mixture.deviations[k] = max(sqrt(total / rows), floor)
    for j in range(mixture.weights.shape[0]):
        for k in range(mixture.weights.shape[1]):
            mixture.weights[j, k] = work.weights[j, k]


@kernel
def expectation_maximisation(
    data: CountedCells, mixture: SharedGaussians, work: EMWork, floor: float, tolerance: float
) -> int:
    """Move `mixture` uphill until the log likelihood grows by less than `tolerance` nats, or to the end of the trace.

    Returns the iterations; ``work.trace[iterations]`` is the log likelihood of the mixture. `floor` is the least
    standard deviation.
    """
    iteration = 0
    while True:
        _log_densities(data, mixture, work)
        work.trace[iteration] = _expectation(data, mixture, work)
        if iteration == work.trace.shape[0] - 1 or work.stop[0] != 0:
            return iteration
        if iteration > 0 and work.trace[iteration] - work.trace[iteration - 1] < tolerance:
            return iteration
        _maximisation(data, mixture, work, floor)
        iteration += 1
