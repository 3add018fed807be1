"""Constant columns: roots with one level, which get no edges."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    ExpertNetwork,
    GomeaBnError,
    ParetoBayesNetLearner,
    read_table,
    refine_boundaries,
)
from gomea_bn.discretization import DISCRETIZERS, K2, LDBN, MDLNetwork, Tabu, discretizer

WARNING = "columns of the table are constant and will have no edges: 'fixed' is 2.5, 'site' is 'north'"
QUICK: dict[str, Any] = {"max_evaluations": 1500, "max_seconds": None, "random_state": 1}

pytestmark = pytest.mark.filterwarnings("ignore:No column has a neighbour")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    return pd.DataFrame(
        {
            "fixed": 2.5,
            "x": x,
            "site": "north",
            "y": x + rng.normal(scale=0.3, size=200),
            "z": np.where(x > 0, "up", "down"),
        }
    )


@pytest.fixture(scope="module")
def learner(rows):
    with pytest.warns(UserWarning, match=WARNING):
        return BayesNetLearner(**QUICK).fit(rows)


def constants_of(network):
    return {name for edge in network.edges for name in edge} & {"fixed", "site"}


def test_constant_columns_are_roots_with_one_level(learner, rows):
    network = learner.network_
    assert network.levels["fixed"] == (2.5,)
    assert network.levels["site"] == ("north",)
    assert "fixed" not in network.cut_points
    assert len(network.edges) >= 2
    assert not constants_of(network)
    assert learner.n_candidate_pairs_ == 3
    assert list(network.names) == list(rows.columns)


def test_constant_columns_do_not_change_the_network(learner, rows):
    alone = BayesNetLearner(**QUICK).fit(rows[["x", "y", "z"]])
    assert learner.score_ == alone.score_
    assert learner.network_.edges == alone.network_.edges
    np.testing.assert_allclose(learner.score_samples(rows), alone.score_samples(rows), rtol=1e-12)


def test_another_value_is_an_unknown_level(learner, rows):
    for change, message in (
        ({"fixed": 2.6}, r"Column 'fixed' has unknown level 2\.6 in row 0.*; the levels are 2\.5"),
        ({"site": "south"}, "Column 'site' has unknown level 'south'"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            learner.network_.log_density(rows.head(1).assign(**change), unknown="error")


def test_declared_levels_stay_possible(rows):
    declared = rows.assign(site=pd.Categorical(rows["site"], categories=["north", "south"]))
    with pytest.warns(UserWarning, match="'site' is 'north'"):
        network = BayesNetLearner(**QUICK).fit(declared).network_
    assert network.levels["site"] == ("north", "south")
    assert not constants_of(network)
    assert np.isfinite(network.log_density(declared.assign(site="south"))).all()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["optimal", "equal-frequency", "equal-width", "mdl", "bayesian"])
def test_every_kind_of_cuts_keeps_constant_columns(rows, name):
    with pytest.warns(UserWarning, match=WARNING):
        network = BayesNetLearner(name, **QUICK).fit(rows).network_
    assert network.edges
    assert not constants_of(network)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "model",
    [
        BayesNetLearner(**QUICK),
        ParetoBayesNetLearner(**QUICK),
        BayesNetEnsemble(BayesNetLearner(max_evaluations=500), n_networks=3, random_state=1),
    ],
    ids=["learner", "front", "ensemble"],
)
def test_constant_columns_are_kept_without_edges_and_warned_of_once(rows, model):
    with pytest.warns(UserWarning, match=WARNING) as caught:
        model.fit(rows)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(model.table_)
    if isinstance(model, ParetoBayesNetLearner):
        networks = [item.network for item in model.front_]
    else:
        networks = getattr(model, "networks_", None) or [model.network_]
        assert np.isfinite(model.score_samples(rows)).all()
        assert (model.sample(5, random_state=0)[["fixed", "site"]] == [2.5, "north"]).all(axis=None)
        if not isinstance(model, BayesNetEnsemble):
            assert set(model.network_.tables) == set(rows)
    assert max(len(network.edges) for network in networks) > 0
    assert not any(constants_of(network) for network in networks)


@pytest.mark.parametrize("name", sorted(DISCRETIZERS))
def test_discretizers_leave_constant_columns_uncut(rows, name):
    method = discretizer(name)
    with pytest.warns(UserWarning, match=WARNING):
        method.fit(rows, "z" if name == "mdlp" else None, network=[("fixed", "x"), ("x", "y"), ("y", "site")])
    assert sorted(method.cut_points_) == ["x", "y"]
    assert method.levels_["fixed"] == (2.5,)
    assert method.transform(rows)[["fixed", "site"]].eq(0).all(axis=None)
    # the only discrete columns are constant: they do not decide the number of bins
    with pytest.warns(UserWarning, match=WARNING):
        discretizer(name).fit(rows.drop(columns="z"), "site" if name == "mdlp" else None)


@pytest.mark.parametrize("method", [LDBN(random_state=1), MDLNetwork()], ids=["LDBN", "MDLNetwork"])
def test_coupled_methods_give_constant_columns_no_edges(rows, method):
    with pytest.warns(UserWarning, match=WARNING):
        network = method.fit(rows).network_
    assert not constants_of(network)


@pytest.mark.parametrize("method", [K2(random_state=1), Tabu()], ids=["K2", "Tabu"])
def test_structure_searches_give_constant_columns_no_edges(rows, method):
    assert not constants_of(method.fit(rows[["fixed", "site", "z"]].assign(copy=rows["z"])).network_)


def test_a_required_edge_or_a_cut_at_one_is_refused(rows):
    with pytest.warns(UserWarning, match=WARNING):
        table = read_table(rows)
    for options, message in (
        (
            {"knowledge": ExpertKnowledge(required_edges=[("x", "y"), ("x", "fixed")])},
            r"required_edges: 'x' -> 'fixed' cannot be learned, since column 'fixed' has no edges \(constant: 2.5",
        ),
        ({"knowledge": ExpertKnowledge(required_edges=[("site", "x")])}, "'site' -> 'x' cannot be learned"),
        (
            {"cut_points": {"fixed": [2.0]}},
            r"cut_points: column 'fixed' is discrete \(constant: .*\. Leave its cut",
        ),
    ):
        for kind in (BayesNetLearner, ParetoBayesNetLearner):
            with pytest.raises(GomeaBnError, match=message):
                kind(**QUICK, **options).fit(table)


def test_other_knowledge_may_name_constant_columns(rows):
    knowledge = ExpertKnowledge(
        required_edges=[("y", "x")], forbidden_edges=[("fixed", "y")], temporal_order=[["site"], ["x", "y"]]
    )
    with pytest.warns(UserWarning, match=WARNING):
        network = BayesNetLearner(knowledge=knowledge, **QUICK).fit(rows).network_
    assert ("y", "x") in network.edges
    assert not constants_of(network)


def test_an_expert_may_name_constant_columns_but_not_cut_them(rows):
    expert = ExpertNetwork.from_edges([("fixed", "x"), ("x", "y")])
    plain = ExpertNetwork.from_edges([("x", "y")])
    with pytest.warns(UserWarning, match=WARNING):
        learner = ParetoBayesNetLearner(expert=expert, **QUICK).fit(rows)
    assert ("fixed", "x") in learner.expert_.edges
    without = ParetoBayesNetLearner(expert=plain, **QUICK).fit(learner.table_)
    assert learner.front_.closest_to_expert().objectives["expert_distance"] == pytest.approx(
        without.front_.closest_to_expert().objectives["expert_distance"], abs=0.02
    )
    cutting = ExpertNetwork.from_edges([("fixed", "x")], cut_points={"fixed": [2.0]})
    with pytest.raises(
        GomeaBnError, match=r"cut points of column 'fixed', .* \(constant: 2.5.*\. Leave these cut points out"
    ):
        ParetoBayesNetLearner(expert=cutting, **QUICK).fit(learner.table_)


def test_files_and_refinement_keep_constant_columns(learner, rows, tmp_path):
    network = learner.network_
    assert DiscretizedBayesNet.from_json(network.to_json()) == network
    network.to_bif(tmp_path / "network.bif")
    restored = ExpertNetwork.from_bif(tmp_path / "network.bif").network
    assert restored.cardinality("fixed") == restored.cardinality("site") == 1
    assert "fixed" in network.to_dot()
    exported = network.to_pyagrum()
    assert exported.variable("site").domainSize() == 1
    refined = refine_boundaries(network, rows, bin_counts="free")
    without = BayesNetLearner(curves="none", **QUICK).fit(rows)
    assert refine_boundaries(without.network_, rows).score_before == pytest.approx(without.score_)
    assert refined.network.levels == network.levels


def test_a_table_of_one_other_column_can_be_learned(rows):
    for names in (["fixed", "x"], ["fixed", "z"]):
        with pytest.warns(UserWarning, match="'fixed' is 2.5"):
            network = BayesNetLearner(**QUICK).fit(rows[names]).network_
        assert network.edges == []
