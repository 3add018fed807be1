"""The text summary of a network: its bins, what is inside them, and what its cuts gain."""

from __future__ import annotations

import numpy as np
import pytest

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.cuts.shape import Shape


def rain_and_height(shape: Shape | None = None) -> DiscretizedBayesNet:
    """Return a network of a discrete and a continuous variable, which may have a shape."""
    return DiscretizedBayesNet(
        ["rain", "height"],
        [("rain", "height")],
        cut_points={"height": [1.0, 2.5]},
        support={"height": (0.0, 4.0)},
        levels={"rain": ["no", "yes"]},
        tables={"rain": [0.25, 0.75], "height": [[0.5, 0.25, 0.25], [0.1, 0.9, 0.0]]},
        shapes=None if shape is None else {"height": shape},
    )


def test_the_summary_names_edges_and_bins():
    text = rain_and_height().summary()
    assert "2 variables (1 continuous, 1 discrete), 1 edge, 3 bins, 5 free probabilities" in text
    assert "rain → height" in text
    assert "3 bins  [0, 1] (1, 2.5] (2.5, 4]" in text
    assert "2 levels  no yes" in text
    assert "given rain" in text
    # a discrete variable has nothing inside
    assert text.count("uniform inside") == 1


def test_the_summary_names_shapes_and_points():
    network = rain_and_height(Shape([0.0, 4.0], [0.5], [0.51], {0.0: 0.49, 2.0: 0.005}))
    lines = [line.strip() for line in network.summary().splitlines()]
    assert "shape of its column inside; 0 in 49 % of rows, 2 in 0.5 % of rows" in lines
    assert "uniform inside" not in lines
    without_points = rain_and_height(Shape([0.0, 4.0], [1.0], [1.0])).summary()
    assert "shape of its column inside\n" in without_points


def test_the_summary_names_the_gains_of_cuts():
    network = rain_and_height()
    text = network.summary({"height": np.array([12.34, -0.04])})
    assert "nats gained by cuts: 12.3 at 1, 0.0 at 2.5\n" in text
    assert "nats" not in network.summary()
    assert "nats" not in network.summary({})
    with pytest.raises(
        GomeaBnError, match=r"cut_gains\['height'\] must have one number for each of 2 cuts, got 1"
    ):
        network.summary({"height": np.array([1.0])})


def test_the_summary_of_many_bins_is_cut():
    support, cuts = (0.0, 10.0), np.arange(1.0, 10.0)
    network = DiscretizedBayesNet(
        ["x"],
        [],
        cut_points={"x": cuts},
        support={"x": support},
        levels={},
        tables={"x": np.full(10, 0.1)},
    )
    text = network.summary({"x": cuts})
    assert "(5, 6] …\n" in text
    assert text.endswith("6.0 at 6 …")
