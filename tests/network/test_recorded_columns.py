"""Columns that metadata name, where files may hold any metadata."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, refine_boundaries
from gomea_bn.certainty import edge_probabilities
from gomea_bn.data.table import read_table
from gomea_bn.expert.distance import mentioned_names
from gomea_bn.network.recorded import columns_of_expert_fit, fixed_columns

ODD = (None, 3, "x", ["x", ["y"], 4], [{"x": 1}], {"x": ["y"]}, [["x"]])


def network_with(**metadata: Any) -> DiscretizedBayesNet:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=60)})
    return DiscretizedBayesNet.from_table(
        read_table(frame), [("x", "y")], {"x": [0.0], "y": [0.1]}, pseudo_count=1.0, metadata=metadata
    )


def test_names_alone_are_columns():
    assert fixed_columns(network_with(fixed_cut_points=["x", ["y"], 4])) == {"x"}
    assert fixed_columns(network_with(fixed_cut_points="x")) == frozenset()
    assert columns_of_expert_fit(network_with(expert_fit={"not_mentioned": ["y", [1]]}), "not_mentioned") == {
        "y"
    }
    assert columns_of_expert_fit(network_with(expert_fit=["y"]), "not_mentioned") == frozenset()


@pytest.mark.parametrize("odd", ODD)
def test_odd_metadata_raise_no_error(odd):
    network = network_with(fixed_cut_points=odd, expert_fit=odd, do=odd, scoring_method=odd)
    frame = network.sample(50, random_state=1)
    refined = refine_boundaries(network, frame, max_seconds=5)
    # only a list with the name fixes its cuts
    if isinstance(odd, list) and "x" in odd:
        np.testing.assert_array_equal(refined.network.cut_points["x"], network.cut_points["x"])
    refine_boundaries(network, frame, method="equal-width", max_seconds=5)
    assert mentioned_names(network) == {"x", "y"}
    assert set(network.do({"x": 0.5}).metadata["do"]) >= {"x"}
    assert edge_probabilities(network, frame).arcs.shape == (2, 2)
