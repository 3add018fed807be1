"""The folder of a front: what is written, what comes back, what is refused; and the summary of columns."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import read_table
from gomea_bn._column_summary import column_summary


def slow_counts(values, edges):
    """Count the values of each (a, b], the first with its lower edge, one by one."""
    pairs = list(itertools.pairwise(edges))
    counts = [0] * len(pairs)
    for value in values:
        for place, (low, high) in enumerate(pairs):
            if low < value <= high or (place == 0 and value == low):
                counts[place] += 1
    return counts


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=60).filter(lambda values: len(set(values)) > 1),
    st.booleans(),
)
def test_a_histogram_holds_every_value_once(values, whole):
    values = np.round(values) if whole else np.array(values)
    if len(np.unique(values)) == 1:
        return
    table = read_table(pd.DataFrame({"x": values}), kinds={"x": "continuous"})
    (found,) = column_summary(table)
    edges, counts = found["histogram"]["edges"], found["histogram"]["counts"]
    assert found["kind"] == "continuous"
    assert 1 <= len(counts) == len(edges) - 1 <= 100
    assert all(low < high for low, high in itertools.pairwise(edges))
    assert counts == slow_counts(values.tolist(), edges)
    assert sum(counts) == len(values)


def test_whole_numbers_get_bins_of_whole_width_around_them():
    ages = np.repeat(np.arange(18, 91), 8)
    (found,) = column_summary(read_table(pd.DataFrame({"age": ages})))
    edges, counts = np.array(found["histogram"]["edges"]), found["histogram"]["counts"]
    assert set(np.diff(edges)) == {2.0}
    assert edges[0] == 17.5
    assert set(counts[:-1]) == {16}
    real = column_summary(read_table(pd.DataFrame({"x": ages / 7})))[0]["histogram"]["edges"]
    assert (real[0], real[-1], len(real)) == (18 / 7, 90 / 7, 51)  # 2 sqrt(584) is 48.3, rounded up to 50


def test_levels_are_counted_in_their_order_unseen_ones_too():
    frame = pd.DataFrame({"c": pd.Categorical(["b", "a"] * 6, ["b", "never", "a"]), "d": [True, False] * 6})
    assert column_summary(read_table(frame)) == [
        {"name": "c", "kind": "discrete", "levels": ["b", "never", "a"], "counts": [6, 0, 6]},
        {"name": "d", "kind": "discrete", "levels": [False, True], "counts": [6, 6]},
    ]


@pytest.mark.parametrize(
    "values", [[0.0, 5e-324] * 6, [1.0, 1.0 + 2**-52] * 6, [-1e300, 7e299] * 6, [1e17, 1e17 + 16] * 6]
)
def test_ranges_at_the_limits_of_numbers(values):
    table = read_table(pd.DataFrame({"x": values}), kinds={"x": "continuous"})
    (found,) = json.loads(json.dumps(column_summary(table), allow_nan=False))
    edges, counts = found["histogram"]["edges"], found["histogram"]["counts"]
    assert sum(counts) == 12
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()
