"""Proposals of parent sets: any guide leaves the posterior as it is."""

from __future__ import annotations

import numpy as np
import pytest

from gomea_bn.certainty.chains.guided_parents import Guide

SETS = [frozenset(), frozenset({1}), frozenset({2}), frozenset({1, 2})]
MEMBERS = np.array([[v in parents for v in range(4)] for parents in SETS])
POSTERIOR = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("guide", [[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]])
def test_parent_sets_are_visited_by_their_posterior_whatever_the_guide(guide):
    def gain(present, proposed):
        return float(np.log(POSTERIOR[SETS.index(proposed)] / POSTERIOR[SETS.index(present)]))

    generator = np.random.default_rng(5)
    proposals = Guide(MEMBERS, np.log(guide) + 7.0)
    counts = np.zeros(4)
    parents = SETS[0]
    for _ in range(20_000):
        parents = proposals.moved(parents, 2, gain, generator)
        counts[SETS.index(parents)] += 1
    np.testing.assert_allclose(counts / counts.sum(), POSTERIOR, atol=0.02)


def test_parents_stay_if_the_guide_never_proposes_them():
    def gain(present, proposed):
        raise AssertionError("no proposal was wanted")

    present = frozenset({3})
    assert Guide(MEMBERS, np.zeros(4)).moved(present, 3, gain, np.random.default_rng(1)) == present
