"""Log densities in which a point mass counts as a bin of one measuring step."""

import math

import numpy as np
import pandas as pd
import pytest

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    GomeaBnError,
    average_families,
    fit_shape,
    read_table,
)

N_ROWS = 400

pytestmark = pytest.mark.filterwarnings("ignore:.*continuous columns? ha.* at most 10 values")


def some_rows() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    x = rng.normal(size=N_ROWS)
    return pd.DataFrame(
        {
            "x": x,
            # measured in steps of 0.5
            "dose": rng.choice([0.5, 1.0, 2.5, 10.0], N_ROWS, p=[0.5, 0.3, 0.1, 0.1]),
            # thirds have no decimal step; two of them are nearest
            "third": rng.choice([0.0, 1 / 3, 1.0], N_ROWS),
            "rain": np.where(rng.random(N_ROWS) < 0.4, 0.0, np.exp(x)),
            "group": rng.choice(["a", "b"], N_ROWS),
        }
    )


def shaped_network(frame: pd.DataFrame) -> DiscretizedBayesNet:
    cuts = {"x": [0.0], "dose": [0.75], "third": [0.5], "rain": [0.5, 1.0]}
    shapes = {name: fit_shape(frame[name]).shape for name in cuts}
    edges = [("x", "rain"), ("group", "dose"), ("dose", "third")]
    table = read_table(frame, kinds=dict.fromkeys(cuts, "continuous"))
    return DiscretizedBayesNet.from_table(table, edges, cuts, shapes=shapes)


def expected_widths(frame: pd.DataFrame, network: DiscretizedBayesNet) -> np.ndarray:
    """Return the sum over the cells with point masses of the log widths of their bins."""
    low, high = network.support["rain"]
    return np.full(len(frame), math.log(0.5) + math.log(1 / 3)) + np.where(
        frame["rain"] == 0, math.log((high - low) / 1000), 0.0
    )


def test_steps_divide_the_probabilities_of_points_by_widths_of_bins():
    frame = some_rows()
    network = shaped_network(frame)
    widths = expected_widths(frame, network)
    plain = network.log_density(frame)
    np.testing.assert_allclose(network.log_density(frame, resolution="steps"), plain - widths)
    np.testing.assert_array_equal(network.log_density(frame, resolution="points"), plain)
    assert network.score(frame, resolution="steps") == pytest.approx((plain - widths).mean())
    averaged = average_families(network, frame, n_copies=2)
    of_averaged = averaged.log_density(frame)
    np.testing.assert_allclose(averaged.log_density(frame, resolution="steps"), of_averaged - widths)
    assert averaged.score(frame, resolution="steps") == pytest.approx((of_averaged - widths).mean())


def test_steps_count_in_the_columns_whose_density_is_wanted():
    frame = some_rows()
    network = shaped_network(frame)
    gaps = frame.assign(dose=frame["dose"].where(np.arange(N_ROWS) % 2 == 0))
    difference = network.log_density(gaps) - network.log_density(gaps, resolution="steps")
    expected = expected_widths(frame, network) - np.where(gaps["dose"].isna(), math.log(0.5), 0.0)
    np.testing.assert_allclose(difference, expected)
    for of, given, width in (("dose", (), 0.5), ("dose", "third", 0.5), ("x", "dose", 1.0)):
        one, another = (network.log_density(frame, of, given, resolution=r) for r in ("points", "steps"))
        np.testing.assert_allclose(one - another, math.log(width), atol=1e-12)
    with pytest.raises(GomeaBnError, match=r"resolution must be .*'points'.*'steps'.* got 'bins'"):
        network.log_density(frame, resolution="bins")


def test_learners_and_ensembles_take_a_resolution():
    frame = some_rows().drop(columns=["third", "rain"])
    learner = BayesNetLearner(max_evaluations=300, max_seconds=None, random_state=0)
    for model in (learner.fit(frame), BayesNetEnsemble(learner, n_networks=2, random_state=0).fit(frame)):
        samples = model.score_samples(frame)
        steps = model.score_samples(frame, resolution="steps")
        np.testing.assert_allclose(samples - steps, math.log(0.5))
        assert model.score(frame, resolution="steps") == pytest.approx(steps.mean())


def test_steps_compare_with_densities_of_finely_measured_rows():
    """A normal column in steps of a tenth of its deviation has nearly the density of the column itself."""
    rng = np.random.default_rng(3)
    fine = rng.normal(size=20_000)
    coarse = pd.DataFrame({"x": fine.round(1), "y": rng.normal(size=20_000)})
    shapes = {"x": fit_shape(coarse["x"].clip(-2.5, 2.5)).shape}
    table = read_table(coarse.assign(x=coarse["x"].clip(-2.5, 2.5)))
    network = DiscretizedBayesNet.from_table(table, [], {"x": [], "y": []}, shapes=shapes)
    assert len(shapes["x"].points) == 51
    inside = coarse[coarse["x"].abs() < 2.4]
    density = network.log_density(inside, "x", resolution="steps").mean()
    normal = (-0.5 * inside["x"] ** 2 - 0.5 * math.log(2 * math.pi)).mean()
    assert density == pytest.approx(normal, abs=0.01)
