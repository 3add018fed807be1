"""Checks of learned fronts against slow computations."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from mo_oracles import dominates
from oracles import is_acyclic
from shape_oracles import slow_log_density, slow_mass

from gomea_bn.expert.distance import draw_expert_sample

PUBLISHED_FRONT: dict[str, Any] = {
    "discretizer": "equal-frequency",
    "max_bins": 9,
    "max_indegree": 6,
    "pseudo_count": 1.0,
    "misfit": "in-sample",
    "single_share": 0.0,
    "patience": None,
}
"""Options of a front as published, whose misfits are minus the densities of its networks."""


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


def check_distances(learner, mentioned):
    """Check, for every fourth network, the distance over the families of what the expert mentions, row by row.

    The expert is sampled with 256 rows.
    """
    drawn = draw_expert_sample(learner.expert_, 256, learner.seed_, frozenset(mentioned))
    columns = zip(learner.table_.in_order(learner.expert_.names).columns, drawn.values, strict=True)
    rows = pd.DataFrame(
        {c.name: v if c.is_continuous else pd.Categorical.from_codes(v, c.levels) for c, v in columns}
    )
    expert_density = sum(family_density(learner.expert_, name, rows) for name in mentioned)
    assert expert_density == pytest.approx(drawn.mean_log_density, abs=1e-9)
    candidates = [*learner.front_][::4]
    assert len(candidates) > 1
    for candidate in candidates:
        density = sum(family_density(candidate.network, name, rows) for name in mentioned)
        assert candidate.objectives["expert_distance"] == pytest.approx(
            max(0.0, expert_density - density), abs=1e-9
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
        if name in network.shapes:
            total += slow_log_inside(network.shapes[name], rows[name].iloc[row], network.cut_points[name])
        elif len(widths):
            total -= np.log(widths[cell[-1]])
    return total / len(rows)


def slow_log_inside(shape, value, cuts):
    """Return the log density of a value, or the log probability of a point mass, given its bin."""
    ends = [shape.low, *cuts, shape.high]
    code = int(np.searchsorted(cuts, value, side="left"))
    return slow_log_density(shape, value) - np.log(slow_mass(shape, ends[code], ends[code + 1]))
