"""Histograms of columns count every value in the bin (a, b] that holds it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import read_table
from gomea_bn.data.column_summary import column_summary

finite = st.floats(-1e300, 1e300)
near_one = st.integers(0, 9).map(lambda k: 1 + k * 2.0**-52)
tiny = st.integers(0, 500).map(lambda k: k * 1e-290)
columns = st.one_of(
    st.lists(tiny, min_size=10, max_size=60),
    st.lists(finite, min_size=10, max_size=60),
    st.lists(near_one, min_size=10, max_size=60),
    st.lists(st.integers(-40, 40).map(float), min_size=10, max_size=60),
    st.lists(st.integers(0, 40).map(lambda k: 2.0**60 + 512 * k), min_size=10, max_size=60),
)


@given(columns)
def test_counts_are_those_of_a_search_in_the_edges(values):
    values = np.array(values)
    if values.min() == values.max():
        return
    table = read_table(pd.DataFrame({"x": values}), kinds={"x": "continuous"})
    histogram = column_summary(table)[0]["histogram"]
    inner = np.array(histogram["edges"][1:-1])
    expected = np.bincount(np.searchsorted(inner, values, side="left"), minlength=len(inner) + 1)
    assert histogram["counts"] == expected.tolist()


@pytest.mark.parametrize("n", [50, 100_000])
def test_every_row_is_counted_once(n):
    values = np.random.default_rng(n).normal(size=n)
    histogram = column_summary(read_table(pd.DataFrame({"x": values})))[0]["histogram"]
    assert sum(histogram["counts"]) == n
    assert len(histogram["edges"]) == len(histogram["counts"]) + 1
