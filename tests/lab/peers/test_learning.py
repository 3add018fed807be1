"""Samples of ALARM, and what is printed of peers that gave no result."""

import itertools
import math

import pandas as pd

from lab.peers import learning
from lab.published.tables import published_network


def test_a_sample_has_all_levels_and_is_repeatable():
    truth = published_network("child")
    frame, again, other = (learning.alarm_sample(truth, 400, seed) for seed in (3, 3, 4))
    assert frame.shape == (400, 20)
    assert {name: tuple(frame[name].cat.categories) for name in frame} == dict(truth.levels)
    pd.testing.assert_frame_equal(frame, again)
    assert not frame.equals(other)


def test_each_family_of_a_sample_follows_the_network():
    truth, n = published_network("asia"), 20_000
    frame = learning.alarm_sample(truth, n, 5)
    assert len(truth.names) == 8
    for child in truth.names:
        parents = truth.parents(child)
        counts = frame.value_counts([*parents, child])
        for states in itertools.product(*(range(truth.cardinality(parent)) for parent in parents)):
            levels = tuple(truth.levels[p][s] for p, s in zip(parents, states, strict=True))
            rows = [counts.get((*levels, level), 0) for level in truth.levels[child]]
            for count, p in zip(rows, truth.tables[child][states], strict=True):
                assert abs(count - sum(rows) * p) <= 6 * math.sqrt(sum(rows) * p * (1 - p)) + 1


def test_random_families_are_distinct():
    families = learning.random_families(list("abcdef"), 100, 3, seed=0)
    assert len(set(families)) == 100
    assert {len(parents) for _, parents in families} == {0, 1, 2, 3}
    assert all(child not in parents for child, parents in families)


def test_a_peer_without_a_result_is_reported_with_its_reason():
    record = {
        "ours": -10.0,
        "scores": {"generating network": -12.0, "fast": -11.0},
        "seconds": {"fast": 0.5},
        "notes": {"fast": "", "absent": "No module named 'absent'"},
        "passed": {"generating network": 0.1, "fast": None},
    }
    table = learning.samples_sheet(100, "bic", 1.0, [record])
    assert table.note == "absent: No module named 'absent'"
    assert table.rows[-1] == ("fast", "-11.0", "+1.0", "inf", "0.50")
