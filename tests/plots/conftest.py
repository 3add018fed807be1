import itertools

import matplotlib
import pytest
from plot_examples import binned_network

from gomea_bn import Front, read_table
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT
from gomea_bn.metrics import kl_divergence
from gomea_bn.simulation import random_network

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures after every test."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def truth():
    return random_network(6, random_state=4)


@pytest.fixture(scope="module")
def frame(truth):
    return truth.sample(200, random_state=1)


@pytest.fixture(scope="module")
def networks(truth, frame):
    return [
        binned_network(frame, truth.edges[:count], bins)
        for count, bins in itertools.product((0, 2, 4), (1, 2, 5))
    ]


@pytest.fixture(scope="module")
def front(networks, frame):
    expert = networks[4]
    values = [
        [-net.score(frame), net.n_parameters, kl_divergence(expert, net, 2000, 0).mean] for net in networks
    ]
    objectives = [MISFIT, COMPLEXITY, EXPERT_DISTANCE]
    return Front(objectives, values, networks, table=read_table(frame), expert=expert)
