"""Fronts for the tests, and the slow plain-Python twin of what domination is."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from network_examples import random_network

from gomea_bn.front.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Front, Objective

NETWORKS = [random_network(seed) for seed in range(40)]
TRIO = (MISFIT, COMPLEXITY, EXPERT_DISTANCE)


def objectives_of(m):
    return [*TRIO, Objective("cost", "Cost", "euros", "cheaper")][:m]


def front_of(values, **options):
    values = np.asarray(values, dtype=float)
    return Front(objectives_of(values.shape[1]), values, lambda row: NETWORKS[row % len(NETWORKS)], **options)


def spread(n, m, seed):
    """Return n points on a sphere: none dominates another."""
    points = np.abs(np.random.default_rng(seed).normal(size=(n, m)))
    return 1 - points / np.linalg.norm(points, axis=1, keepdims=True)


def dominates(first, second):
    return all(a <= b for a, b in zip(first, second)) and any(a < b for a, b in zip(first, second))


def slow_front(values):
    """Return the positions that nothing dominates, the first of equal rows."""
    rows = [tuple(row) for row in values.tolist()]
    return [
        i
        for i, row in enumerate(rows)
        if not any(dominates(other, row) for other in rows) and row not in rows[:i]
    ]


def matrices(most_rows=12, fewest_columns=1, most_columns=4):
    return st.integers(fewest_columns, most_columns).flatmap(
        lambda m: hnp.arrays(
            np.float64,
            st.tuples(st.integers(1, most_rows), st.just(m)),
            elements=st.integers(0, 12).map(float),
        )
    )
