"""The distribution of one variable, against sums over all states and against pyAgrum."""

from __future__ import annotations

import numpy as np
import pytest
from network_examples import all_states, joint_probability, small_network

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.marginals import marginal
from gomea_bn.simulation.random_networks import random_network


@pytest.mark.parametrize("seed", range(8))
def test_marginals_are_sums_over_all_states(seed):
    network = small_network(seed, 5, levels=[("only",), ("lo", "hi"), (0, 1, 2)])
    assert len(network.names) == 5
    for name in network.names:
        expected = np.zeros(network.cardinality(name))
        for codes in all_states(network):
            expected[codes[name]] += joint_probability(network, codes)
        computed = marginal(network, name)
        assert computed.is_exact
        np.testing.assert_allclose(computed.probabilities, expected, atol=1e-12)


def test_marginals_agree_with_pyagrum_on_twenty_variables():
    network = random_network(20, random_state=2)
    assert len(network.names) == 20
    for name in network.names:
        np.testing.assert_allclose(
            marginal(network, name).probabilities, network.query(name).to_numpy(), atol=1e-12
        )


def test_a_sample_stands_in_where_tables_would_grow_too_large():
    network = random_network(12, random_state=3)
    name = max(network.names, key=lambda variable: len(network.parents(variable)))
    exact, sampled = marginal(network, name), marginal(network, name, max_cells=3)
    assert exact.is_exact
    assert not sampled.is_exact
    np.testing.assert_allclose(sampled.probabilities, exact.probabilities, atol=0.01)
    assert sampled.probabilities.sum() == pytest.approx(1)
    again = marginal(network, name, max_cells=3)
    np.testing.assert_array_equal(sampled.probabilities, again.probabilities)
    with pytest.raises(GomeaBnError, match="Unknown variable"):
        marginal(network, "nobody")
