"""Checks of learned fronts against slow computations."""

import numpy as np
import pytest
from mo_oracles import dominates
from oracles import is_acyclic


def check_networks(learner, frame):
    """Check that every value of a front is that of its network, every network acyclic, and none dominates another."""
    front = learner.front_
    assert front.values.tolist() == sorted(front.values.tolist())
    limit = front.record["parameters"]["max_complexity"]
    for candidate in front:
        network = candidate.network
        assert network.names == tuple(frame.columns)
        position = {name: i for i, name in enumerate(network.names)}
        assert is_acyclic(len(position), [(position[a], position[b]) for a, b in network.edges])
        if "misfit" in front.names:
            assert candidate.objectives["misfit"] == pytest.approx(
                -network.score(frame), rel=1e-11, abs=1e-11
            )
        if "complexity" in front.names:
            assert candidate.objectives["complexity"] == network.n_parameters
        assert network.n_parameters <= limit
        assert not any(
            dominates(tuple(other), tuple(front.values[candidate.index])) for other in front.values
        )


def family_density(network, name, rows):
    """Return the mean log density of a variable given its parents over rows, row by row."""
    codes = network.discretize(rows)
    total = 0.0
    widths = np.empty(0)
    if name in network.cut_points:
        widths = np.diff([network.support[name][0], *network.cut_points[name], network.support[name][1]])
    for row in range(len(rows)):
        cell = tuple(codes[member].iloc[row] for member in [*network.parents(name), name])
        total += np.log(network.tables[name][cell])
        if len(widths):
            total -= np.log(widths[cell[-1]])
    return total / len(rows)
