"""The sample from an expert's network, and the distance to it."""

import numpy as np
import pandas as pd
import pytest
from network_examples import network_with, one_column, with_parts
from shaped_examples import shaped_network, shaped_table

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape
from gomea_bn.expert.distance import draw_expert_sample, expert_distance


def test_a_sample_of_one_variable_has_one_value_in_every_quantile():
    network = one_column([0.5], (0.0, 2.0), [0.75, 0.25])
    for n_samples, n_drawn in ((64, 64), (65, 128)):
        (values,) = draw_expert_sample(network, n_samples, 0).values
        edges = np.interp(np.arange(n_drawn + 1) / n_drawn, [0, 0.75, 1], [0.0, 0.5, 2.0])
        assert np.histogram(values, edges)[0].tolist() == [1] * n_drawn


def mixed_pair(shaped_by: str) -> tuple[DiscretizedBayesNet, DiscretizedBayesNet]:
    """Return an expert's network of rain -> yield and another one; the expert, the other one or both have shapes.

    "rain" has a point mass at 0 if both have its shape.
    """
    points = {0.0: 0.4} if shaped_by == "both" else {}
    share = 1 - sum(points.values())
    rain = Shape([0.0, 2.0, 10.0], [3 * share, 1.0 * share], [1.5 * share, 0.375 * share], points)
    harvest = Shape([0.0, 1.0], [0.5], [1.5])
    shapes = {"rain": rain, "yield": harvest}
    with_rain = shapes if shaped_by == "both" else {"yield": harvest}

    def network(cut_points, tables, used):
        return network_with(
            ["rain", "yield"],
            [("rain", "yield")] if np.ndim(tables[1]) == 2 else [],
            cut_points=dict(zip(("rain", "yield"), cut_points, strict=True)),
            support={"rain": (0.0, 10.0), "yield": (0.0, 1.0)},
            tables=dict(zip(("rain", "yield"), tables, strict=True)),
            shapes=used,
        )

    return (
        network(
            ([3.0], [0.3, 0.6]),
            ([0.7, 0.3], [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]),
            {} if shaped_by == "other" else with_rain,
        ),
        network(
            ([1.0, 6.0], [0.45]),
            ([0.3, 0.5, 0.2], [0.6, 0.4]),
            {} if shaped_by == "expert" else (shapes if shaped_by == "other" else with_rain),
        ),
    )


def numerical_divergence(expert: DiscretizedBayesNet, network: DiscretizedBayesNet) -> float:
    """Return KL(expert || network) by the mid-point rule on a fine grid, and at the point masses of "rain"."""
    n = 2_000
    rain, harvest = (np.arange(n) + 0.5) * 10 / n, (np.arange(n) + 0.5) / n
    points = expert.shapes["rain"].point_values if "rain" in expert.shapes else np.empty(0)
    total, mass = 0.0, 0.0
    for values, weight in ((points, 1 / n), (rain, 10 / n / n)):
        for value in values:
            frame = pd.DataFrame({"rain": np.full(n, value), "yield": harvest})
            p, q = expert.log_density(frame), network.log_density(frame)
            total += weight * float((np.exp(p) * (p - q)).sum())
            mass += weight * float(np.exp(p).sum())
    assert mass == pytest.approx(1.0, abs=1e-4)
    return total


@pytest.mark.long
@pytest.mark.parametrize("shaped_by", ["both", "expert", "other"])
def test_the_distance_is_the_divergence_of_densities_and_point_masses(shaped_by):
    expert, network = mixed_pair(shaped_by)
    assert bool(expert.shapes) == (shaped_by != "other")
    assert bool(network.shapes) == (shaped_by != "expert")
    exact = numerical_divergence(expert, network)
    assert exact > 0.1
    assert expert_distance(expert, network, n_samples=1 << 14) == pytest.approx(exact, abs=0.004)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_with_shapes_has_distance_0_to_itself(seed):
    network = shaped_network(shaped_table(200, seed))
    assert expert_distance(network, network) == pytest.approx(0.0, abs=1e-12)


def test_a_sample_has_the_values_of_shapes():
    network = shaped_network(shaped_table(300))
    sample = draw_expert_sample(network, 4096, 0)
    frame = pd.DataFrame(dict(zip(network.names, sample.values, strict=True)))
    assert network.log_density(frame).mean() == pytest.approx(sample.mean_log_density, abs=1e-10)
    # stratified, so that shares and means are almost those of the network
    plain = network.sample(100_000, 1)
    assert (frame["rain"] == 0).mean() == pytest.approx((plain["rain"] == 0).mean(), abs=0.01)
    for name in network.names:
        assert frame[name].mean() == pytest.approx(
            plain[name].mean(), abs=5 * plain[name].std() / np.sqrt(4096)
        )


def test_a_point_mass_that_the_network_lacks_is_an_error():
    network = shaped_network(shaped_table(200))
    uniform = with_parts(network, levels={})
    with pytest.raises(
        GomeaBnError,
        match="distance to the expert's network is infinite: its variable 'rain' has a point mass at 0",
    ):
        expert_distance(network, uniform)
    # the density of the expert's network never meets the point mass
    assert np.isfinite(expert_distance(uniform, network))
