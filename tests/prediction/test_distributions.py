"""Cells of a continuous target, their probabilities and scores, against slow twins."""

from itertools import pairwise

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from gomea_bn import DiscretizedBayesNet, average_families, fit_shape
from gomea_bn.prediction.distributions import Cells, cell_probabilities, crps


def frame(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    a = rng.normal(size=n)
    return pd.DataFrame({"a": a, "y": np.round(a + rng.normal(scale=0.5, size=n), 1)})


def test_cells_have_the_values_of_a_column_with_few_of_them():
    cells = Cells.of(np.array([3.0, 1.0, 1.0, 2.0]))
    assert cells.values.tolist() == [1, 2, 3]
    assert cells.edges.tolist() == [1, 1.5, 2.5, 3]
    many = Cells.of(np.random.default_rng(0).normal(size=5000))
    assert len(many.values) == 200
    assert (np.diff(many.edges) > 0).all()


def test_cells_of_a_network_have_the_probabilities_of_its_intervals():
    rows = frame()
    shape = fit_shape(rows["y"].to_numpy()).shape
    for shapes in ({}, {"y": shape}):
        network = DiscretizedBayesNet.from_table(
            rows, [("a", "y")], {"a": [0.0], "y": [-0.35, 0.5]}, shapes=shapes
        )
        cells = Cells.of(rows["y"].to_numpy())
        probabilities = cell_probabilities(network, rows[:7], "y", cells)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        for row in range(7):
            evidence = {"a": rows["a"][row]}
            bins = network.query("y", evidence)
            below = network.predict_interval(rows[row : row + 1], "y", [float(probabilities[row, :40].sum())])
            assert abs(below.iloc[0, 2] - cells.edges[40]) < 1e-6 * np.ptp(rows["y"]) + 0.051
            assert abs(bins.iloc[0] - probabilities[row, cells.values < -0.35].sum()) < 0.06


def test_cells_of_a_network_with_conditionals_are_integrals_of_its_density():
    rows = frame()
    network = DiscretizedBayesNet.from_table(rows, [("a", "y")], {"a": [0.0], "y": [-0.35, 0.5]})
    network = average_families(network, rows, random_state=1)
    cells = Cells.of(rows["y"].to_numpy())
    probabilities = cell_probabilities(network, rows[:3], "y", cells)
    shares = (np.arange(40) + 0.5) / 40
    points = cells.edges[:-1, None] + shares * np.diff(cells.edges)[:, None]
    for row in range(3):
        density = np.exp(network.log_density(pd.DataFrame({"a": rows["a"][row], "y": points.ravel()})))
        masses = density.reshape(points.shape).mean(axis=1) * np.diff(cells.edges)
        np.testing.assert_allclose(probabilities[row], masses / masses.sum(), atol=0.002)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.floats(-5, 5), min_size=2, max_size=8, unique_by=lambda x: round(x, 3)),
    st.floats(-7, 7),
    st.integers(0, 1000),
)
def test_the_score_is_the_integral_of_squared_differences(values, observed, seed):
    cells = Cells.of(np.array(values))
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(cells.values)))

    def squared(z: float) -> float:
        return float((weights[cells.values <= z].sum() - (z >= observed)) ** 2)

    breaks = sorted({*cells.values.tolist(), observed})
    expected = sum(quad(squared, low, high)[0] for low, high in pairwise(breaks))
    (score,), _ = crps(cells, weights[None], np.array([observed]))
    assert abs(score - expected) < 1e-6


def test_quantiles_are_the_first_values_that_reach_a_level():
    cells = Cells.of(np.array([1.0, 2.0, 4.0]))
    probabilities = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0]])
    assert [cells.quantiles(probabilities, level).tolist() for level in (0.0, 0.2, 0.21, 0.7, 1.0)] == [
        [1, 4], [1, 4], [2, 4], [2, 4], [4, 4],
    ]  # fmt: skip
