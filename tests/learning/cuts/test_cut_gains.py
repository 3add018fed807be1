"""What a cut gains is a difference of scores of two networks, computed here by counting."""

from math import log

import numpy as np
import pytest
from pricing_examples import slow_network_score, table_variables
from shaped_examples import shaped_network, shaped_table
from wrong_input import untyped

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, cut_gains
from gomea_bn.learning.cuts import RefinementSession


def score(network, table, cuts, cut_cost, edge_cost):
    """Return the density-bd score of a network's graph and shapes under any cuts, apart from terms without cuts."""
    position = {name: v for v, name in enumerate(table.names)}
    return slow_network_score(
        table_variables(table),
        [(position[a], position[b]) for a, b in network.edges],
        [cuts[name] for name in table.names],
        cut_cost=cut_cost,
        edge_cost=edge_cost,
        shape_likelihoods=dict.fromkeys(map(position.__getitem__, network.shapes), 0.0),
    )


@pytest.mark.parametrize(("cut_cost", "edge_cost"), [(0.5, 1.0), (1.5, 0.0)])
def test_gains_are_differences_of_scores(cut_cost, edge_cost):
    table = shaped_table(200)
    recorded = {"scoring_method": "density-bd", "cut_cost": cut_cost, "edge_cost": edge_cost}
    network = shaped_network(table, 4, metadata=recorded)
    gains = cut_gains(network, table)
    whole = score(network, table, network.cut_points, cut_cost, edge_cost)
    assert list(gains) == list(network.cut_points)
    for name, cuts in network.cut_points.items():
        assert len(gains[name]) == len(cuts) > 0
        for position, gain in enumerate(gains[name]):
            fewer = {**network.cut_points, name: np.delete(cuts, position)}
            merged = score(network, table, fewer, cut_cost, edge_cost)
            assert gain == pytest.approx(whole - merged, abs=1e-6)


def test_a_network_without_costs_is_scored_with_the_usual_ones():
    table = shaped_table(200)
    usual = {"scoring_method": "density-bd", "cut_cost": 0.5, "edge_cost": 1.0}
    expected = cut_gains(shaped_network(table, metadata=usual), table)
    for name, gains in cut_gains(shaped_network(table), table.to_frame()).items():
        np.testing.assert_allclose(gains, expected[name])


def test_fixed_cuts_cost_nothing():
    table = shaped_table(200)
    gains = cut_gains(shaped_network(table), table)
    free = cut_gains(shaped_network(table, metadata={"fixed_cut_points": ["cause"]}), table)
    np.testing.assert_allclose(free["cause"] - gains["cause"], 0.5 * log(199))
    np.testing.assert_allclose(free["flat"], gains["flat"])


@pytest.mark.sample(1)
@pytest.mark.parametrize("shape", ["uniform", "marginal"])
def test_chosen_cuts_gain(shape):
    table = shaped_table(400)
    network = BayesNetLearner(max_evaluations=3000, random_state=1, shape=shape).fit(table).network_
    gains = np.concatenate(list(cut_gains(network, table).values()))
    assert len(gains) >= 2
    assert (gains > -1e-6).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "options",
    [
        {"scoring_method": "density-bic", "penalty": "aic"},
        {"scoring_method": "density-bic", "penalty": 8.0, "shape": "marginal"},
        {"scoring_method": "density-bd", "prior": "bdeu", "discretizer": "equal-frequency"},
        {
            "scoring_method": "density-bd",
            "prior": "bdeu",
            "equivalent_sample_size": 2.0,
            "discretizer": "equal-width",
        },
    ],
)
def test_gains_are_of_the_score_that_a_network_was_learned_with(options):
    """Without all cuts of a column the score is less by what they gain together."""
    table = shaped_table(300)
    given = {"max_evaluations": 2000, "random_state": 1, **options}
    learner = BayesNetLearner(**given).fit(table)
    session = RefinementSession(learner.network_, table, options["scoring_method"], None, None)
    assert session.score(session.network_cuts) == pytest.approx(learner.score_, abs=1e-8)
    gains = cut_gains(learner.network_, table)
    assert sum(map(len, gains.values())) >= 2
    for v, cuts in session.network_cuts.items():
        for position, gain in enumerate(gains[table.names[v]]):
            fewer = {**session.network_cuts, v: np.delete(cuts, position)}
            assert gain == pytest.approx(learner.score_ - session.score(fewer), abs=1e-6)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("options", "record"),
    [
        ({}, {}),
        ({"scoring_method": "density-bic"}, {}),
        ({"scoring_method": "density-bic", "penalty": 8}, {"penalty": 8}),
        ({"scoring_method": "density-bic", "penalty": "literal"}, {"penalty": "literal"}),
        # not used by this score
        ({"scoring_method": "density-bd", "penalty": "aic"}, {}),
        ({"equivalent_sample_size": 3.0}, {}),
        (
            {"discretizer": "equal-width", "scoring_method": "density-bd", "prior": "bdeu"},
            {"prior": "bdeu", "equivalent_sample_size": 10.0},
        ),
    ],
)
def test_metadata_record_the_options_of_a_score_that_are_not_the_default(options, record):
    given = {"max_evaluations": 200, "random_state": 1, **options}
    network = BayesNetLearner(**given).fit(shaped_table(200)).network_
    names = ("penalty", "prior", "equivalent_sample_size")
    assert {name: value for name, value in network.metadata.items() if name in names} == record


def test_gains_need_a_network():
    table = shaped_table(200)
    with pytest.raises(GomeaBnError, match="network must be a DiscretizedBayesNet, got int"):
        cut_gains(untyped(3), table)
    one_bin = shaped_network(table, 1)
    assert isinstance(one_bin, DiscretizedBayesNet)
    assert all(len(gains) == 0 for gains in cut_gains(one_bin, table).values())
