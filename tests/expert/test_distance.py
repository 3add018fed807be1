"""The sample from an expert's network, and the distance to it."""

from __future__ import annotations

import numpy as np
import pytest
from network_examples import small_network
from wrong_input import untyped

from gomea_bn.expert.distance import draw_expert_sample, expert_distance
from gomea_bn.network.bayes_net import DiscretizedBayesNet


def test_a_sample_of_one_variable_has_one_value_in_every_quantile():
    network = DiscretizedBayesNet(
        ["x"], [], cut_points={"x": [0.5]}, support={"x": (0.0, 2.0)}, levels={}, tables={"x": [0.75, 0.25]}
    )
    for n_samples, n_drawn in ((64, 64), (65, 128)):
        (values,) = draw_expert_sample(network, n_samples, 0).values
        edges = np.interp(np.arange(n_drawn + 1) / n_drawn, [0, 0.75, 1], [0.0, 0.5, 2.0])
        assert np.histogram(values, edges)[0].tolist() == [1] * n_drawn


def test_the_former_name_of_the_seed_works_with_a_warning():
    network = small_network(3)
    with pytest.warns(FutureWarning, match="seed is now called random_state"):
        former = untyped(expert_distance)(network, network, n_samples=64, seed=5)
    assert former == expert_distance(network, network, n_samples=64, random_state=5)
