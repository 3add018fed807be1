"""Mean log densities of tall tables, whose parts are computed in threads."""

import numpy as np
import pytest
from network_examples import small_network

from gomea_bn.errors import GomeaBnError
from gomea_bn.network import bayes_net


@pytest.fixture
def tall(monkeypatch):
    """Let tables of more than 20 rows be tall, in parts of 16 rows."""
    monkeypatch.setattr(bayes_net, "MANY_ROWS", 20)
    monkeypatch.setattr(bayes_net, "_ROWS_OF_PART", 16)


@pytest.mark.parametrize("n", [1, 20, 21, 32, 33])
def test_the_score_is_the_mean_over_all_rows(tall, n):
    network = small_network(3)
    frame = network.sample(n, random_state=1)
    assert network.score(frame) == pytest.approx(network.log_density(frame).mean(), rel=1e-12)


def test_a_message_names_the_row_of_the_whole_table(tall):
    network = small_network(3)
    frame = network.sample(40, random_state=1)
    column = next(iter(network.cut_points))
    frame.loc[37, column] = np.inf
    with pytest.raises(GomeaBnError, match="row 37"):
        network.score(frame)
