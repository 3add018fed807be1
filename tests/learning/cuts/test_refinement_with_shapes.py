"""Refinement of networks with shapes: scores of the learner, shapes that stay, the least width of repeated values."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pricing_examples import slow_network_score, table_variables
from shaped_examples import shaped_network, shaped_table

from gomea_bn import DiscretizedBayesNet, read_table, refine_boundaries
from gomea_bn.discretization import EqualWidth
from gomea_bn.learning import BayesNetLearner
from gomea_bn.learning.cuts import CutCycle, RefinementSession
from gomea_bn.network.rows import table_for
from gomea_bn.problems.cuts import CutLimits, table_shapes
from gomea_bn.runtime import StopFlag


@pytest.fixture(scope="module")
def table():
    return shaped_table(300)


@pytest.mark.sample(1)
@pytest.mark.parametrize("scoring_method", ["density-bd", "density-bic"])
@pytest.mark.parametrize("shape", ["auto", "uniform", "marginal"])
def test_the_score_before_is_that_of_the_learner(table, scoring_method, shape):
    learner = BayesNetLearner(
        scoring_method=scoring_method, shape=shape, curves="none", max_evaluations=1500, random_state=1
    ).fit(table)
    result = refine_boundaries(learner.network_, table)
    assert result.score_before == pytest.approx(learner.score_, abs=1e-7)
    assert result.score_after >= result.score_before
    assert result.network.shapes == learner.network_.shapes
    assert (len(learner.network_.shapes) > 0) == (shape != "uniform")


@pytest.mark.parametrize("scoring_method", ["density-bd", "density-bic"])
@pytest.mark.parametrize("method", ["dp", "rv-gomea", "k-means", EqualWidth(n_bins=4)])
def test_shapes_stay_and_scores_that_users_see_hold_their_likelihoods(table, method, scoring_method):
    network, reports = shaped_network(table, metadata={"shape": "auto"}), []
    assert set(network.shapes) == {"cause", "rain", "tail"}
    is_search = method in ("dp", "rv-gomea")
    options: dict[str, Any] = {"callback": reports.append} if is_search else {}
    result = refine_boundaries(
        network, table, method, scoring_method=scoring_method, max_seconds=0.7, random_state=1, **options
    )
    shapes = table_shapes(table)
    assert result.network.shapes == {name: shapes[name].shape for name in network.shapes}
    position = {name: v for v, name in enumerate(table.names)}
    for refined, score in ((network, result.score_before), (result.network, result.score_after)):
        expected = slow_network_score(
            table_variables(table),
            [(position[a], position[b]) for a, b in refined.edges],
            [refined.cut_points[name] for name in table.names],
            scoring_method,
            edge_cost=1.0,
            shape_likelihoods={position[v]: shapes[v].log_likelihood for v in network.shapes},
        )
        assert score == pytest.approx(expected, abs=1e-7)
    assert result.network.metadata["score"] == result.score_after
    assert result.network.metadata["refinement"]["score_before"] == result.score_before
    if is_search:
        assert result.score_after > result.score_before + 1
        assert -result.history[-1].objective == pytest.approx(result.score_after, abs=1e-7)
        assert -reports[-1].best == pytest.approx(result.score_after, abs=1e-7)
    again = refine_boundaries(result.network, table, "dp", scoring_method=scoring_method)
    assert again.score_before == pytest.approx(result.score_after, abs=1e-7)


def test_shapes_are_fitted_to_the_rows_at_hand(table):
    other = shaped_table(500, seed=3)
    network = shaped_network(table)
    refined = refine_boundaries(network, other, scoring_method="density-bd").network
    assert refined.shapes == {
        name: shape.shape for name, shape in table_shapes(other).items() if name in network.shapes
    }
    assert refined.shapes != network.shapes


def rounded_pair():
    """Return rows of x, rounded so that half of them share twelve values that lie close together, and of y."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 12, 400)
    x = np.where(rng.random(400) < 0.5, 5 + 0.01 * level, rng.uniform(0, 10, 400))
    y = np.where(np.abs(x - 5.06) < 0.03, 1.0, 0.0) + rng.normal(scale=0.2, size=400)
    return read_table(pd.DataFrame({"x": x, "y": y}), kinds=dict.fromkeys("xy", "continuous"))


def narrowest_tied(network, table):
    """Return the width of the narrowest bin of x with more than two rows per distinct value."""
    x = table.columns[0].values
    edges = np.concatenate(([x.min() - 1], network.cut_points["x"], [x.max()]))
    bins = [x[(x > low) & (x <= high)] for low, high in pairwise(edges)]
    edges[0] = x.min()
    return min(
        (
            width
            for values, width in zip(bins, np.diff(edges), strict=True)
            if len(values) > 2 * len(np.unique(values))
        ),
        default=np.inf,
    )


@pytest.mark.parametrize("method", ["dp", "rv-gomea"])
def test_repeated_values_gain_no_density_in_networks_that_were_learned_with_shapes(method):
    table = rounded_pair()
    resolution = table_shapes(table)["x"].resolution
    assert resolution > 0.05

    def refined(metadata):
        network = DiscretizedBayesNet.from_table(
            table, [("x", "y")], {"x": [2.0, 7.0], "y": [0.5]}, metadata=metadata
        )
        options: dict[str, Any] = {} if method == "rv-gomea" else {"bin_counts": "free", "starts": 4}
        result = refine_boundaries(
            network, table, method, scoring_method="density-bd", min_width=0.0, random_state=1, **options
        )
        assert not result.network.shapes
        assert result.score_after >= result.score_before
        return result.network

    # exact cuts find what the least width forbids
    if method == "dp":
        assert narrowest_tied(refined({"shape": "uniform"}), table) < 0.8 * resolution
        assert narrowest_tied(refined({}), table) < 0.8 * resolution
    assert narrowest_tied(refined({"shape": "auto"}), table) >= resolution
    assert narrowest_tied(refined({"shape": "marginal"}), table) >= resolution


def test_random_starts_obey_the_least_width_of_repeated_values():
    table = rounded_pair()
    resolution = table_shapes(table)["x"].resolution
    network = DiscretizedBayesNet.from_table(
        table, [("x", "y")], {"x": [2.0, 7.0], "y": [0.5]}, metadata={"shape": "auto"}
    )
    session = RefinementSession(network, table_for(network, table), "density-bd", "bic", None)

    def narrowest(cycle, seed):
        cuts = cycle._random_start(np.random.default_rng(seed))
        return narrowest_tied(DiscretizedBayesNet.from_table(table, [], {"x": cuts[0], "y": cuts[1]}), table)

    cycle, without = (CutCycle(session, CutLimits(min_width=0.0), True, StopFlag(None), None) for _ in "ab")
    assert min(narrowest(cycle, seed) for seed in range(30)) >= resolution
    session.shapes = {}
    assert min(narrowest(without, seed) for seed in range(30)) < resolution
