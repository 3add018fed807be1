from __future__ import annotations

import pytest
from network_examples import small_network
from wrong_input import untyped

from gomea_bn.expert.distance import expert_distance


def test_the_former_name_of_the_seed_works_with_a_warning():
    network = small_network(3)
    with pytest.warns(FutureWarning, match="seed is now called random_state"):
        former = untyped(expert_distance)(network, network, n_samples=64, seed=5)
    assert former == expert_distance(network, network, n_samples=64, random_state=5)
