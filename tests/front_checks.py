"""Checks of learned fronts against slow computations."""

import numpy as np
import pytest
from mo_oracles import dominates
from oracles import is_acyclic


def check_networks(learner, frame):
    """Every value of a front is its network's own, every network a DAG, and none dominates another."""
    front = learner.front_
    assert front.values.tolist() == sorted(front.values.tolist())
    limit = front.record["parameters"]["max_complexity"]
    for one in front:
        network = one.network
        assert network.names == tuple(frame.columns)
        place = {name: i for i, name in enumerate(network.names)}
        assert is_acyclic(len(place), [(place[a], place[b]) for a, b in network.edges])
        if "misfit" in front.names:
            assert one.objectives["misfit"] == pytest.approx(-network.score(frame), rel=1e-11, abs=1e-11)
        if "complexity" in front.names:
            assert one.objectives["complexity"] == network.n_parameters
        assert network.n_parameters <= limit
        assert not any(dominates(tuple(other), tuple(front.values[one.index])) for other in front.values)


def family_density(network, name, rows):
    """Return the mean log density of a variable given its parents over rows, by looking every row up."""
    codes = network.discretize(rows)
    total = 0.0
    widths = {}
    if name in network.cut_points:
        widths = np.diff([network.support[name][0], *network.cut_points[name], network.support[name][1]])
    for row in range(len(rows)):
        place = tuple(codes[one].iloc[row] for one in [*network.parents(name), name])
        total += np.log(network.tables[name][place])
        if len(widths):
            total -= np.log(widths[place[-1]])
    return total / len(rows)
