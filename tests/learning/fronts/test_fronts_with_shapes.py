"""Fronts of networks whose continuous columns have shapes: their values, the expert, errors, repetition."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from front_checks import PUBLISHED_FRONT, check_networks
from shaped_examples import shaped_table

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, GomeaBnError, read_front, write_front
from gomea_bn.expert.distance import expert_distance
from gomea_bn.learning import ParetoBayesNetLearner
from gomea_bn.problems.cuts import table_shapes

QUICK: dict[str, Any] = {
    **PUBLISHED_FRONT,
    "max_evaluations": 1500,
    "random_state": 1,
    "expert_sample_size": 256,
}
EXPERT = ExpertNetwork.from_edges([("cause", "rain"), ("cause", "tail")], cut_points={"cause": [3.0]})


@pytest.fixture(scope="module")
def table():
    return shaped_table(250)


def own_shapes(table):
    return {name: shape.shape for name, shape in table_shapes(table).items()}


@pytest.mark.sample(1)
@pytest.mark.parametrize("discretizer", ["equal-frequency", "optimal"])
@pytest.mark.parametrize("shape", ["auto", "marginal", "uniform"])
def test_values_are_those_of_the_networks(table, discretizer, shape):
    learner = ParetoBayesNetLearner(**{**QUICK, "discretizer": discretizer}, shape=shape, expert=EXPERT).fit(
        table
    )
    check_networks(learner, table.to_frame())
    fitted = own_shapes(table)
    names = set()
    for candidate in learner.front_:
        network = candidate.network
        assert network.metadata["shape"] == shape
        distance = expert_distance(learner.expert_, network, n_samples=256, random_state=1)
        assert candidate.objectives["expert_distance"] == pytest.approx(distance, abs=1e-10)
        assert all(network.shapes[name] == fitted[name] for name in network.shapes)
        names.add(tuple(network.shapes))
        # a density and a probability do not compare
        assert ("rain" in network.shapes) == (shape != "uniform")
    assert any(names) == (shape != "uniform")
    assert learner.expert_.shapes == ({} if shape == "uniform" else fitted)
    assert shape != "marginal" or names == {tuple(fitted)}


@pytest.mark.long
def test_networks_have_their_shapes_in_files_and_pickles(table, tmp_path):
    front = ParetoBayesNetLearner(expert=EXPERT, **QUICK).fit(table).front_
    write_front(tmp_path / "front", front, networks=1)
    for other in (read_front(tmp_path / "front"), pickle.loads(pickle.dumps(front)), front.nondominated()):
        assert all(
            a.network == b.network and len(b.network.shapes) > 0
            for a, b in zip(front, other, strict=True)
            if len(other) == len(front)
        )
        assert other.expert.shapes == front.expert.shapes


def test_an_experts_tables_keep_their_own_shapes(table):
    shapes = own_shapes(table)
    other = own_shapes(shaped_table(250, seed=1))
    cuts = {"cause": [3.0], "rain": [5.0], "tail": [1.0], "flat": [0.5]}
    expert = DiscretizedBayesNet.from_table(
        table, [("cause", "rain")], cuts, pseudo_count=1.0, shapes={"cause": shapes["cause"]}
    )
    narrow = DiscretizedBayesNet.from_table(
        shaped_table(250, seed=1), [], cuts, shapes={"rain": other["rain"]}
    )
    assert ExpertNetwork.from_network(expert).fitted(table).shapes == {"cause": shapes["cause"]}
    # the expert's tables and support of the other columns are of uniform bins, also if the range is the column's
    completed = ExpertNetwork.from_network(expert).fitted(table, shapes=shapes)
    assert completed.shapes == {"cause": shapes["cause"]}
    frame = table.to_frame()
    assert completed.log_density(frame) == pytest.approx(expert.log_density(frame))
    # another support
    fitted = ExpertNetwork.from_network(narrow).fitted(table, shapes=shapes)
    assert fitted.shapes == {"rain": other["rain"]}
    assert fitted.support == narrow.support


def test_columns_that_an_experts_tables_do_not_mention_get_shapes(table):
    shapes = own_shapes(table)
    cause = DiscretizedBayesNet(
        ["cause"],
        [],
        cut_points={"cause": [3.0]},
        support={"cause": (-5.0, 12.0)},
        levels={},
        tables={"cause": [0.4, 0.6]},
    )
    fitted = ExpertNetwork.from_network(cause).fitted(table, shapes=shapes)
    assert fitted.shapes == {name: shapes[name] for name in ("rain", "tail", "flat")}


def test_tables_without_a_support_get_shapes(table, tmp_path):
    """The support of states that become bins is the range of the column."""
    shapes = own_shapes(table)
    cuts = {"cause": [3.0], "rain": [5.0], "tail": [1.0]}
    path = tmp_path / "expert.bif"
    states = dict.fromkeys(cuts, ("low", "high"))
    tables: dict[str, Any] = {"cause": [0.4, 0.6], "rain": [[0.3, 0.7], [0.6, 0.4]], "tail": [0.5, 0.5]}
    DiscretizedBayesNet(
        list(cuts), [("cause", "rain")], cut_points={}, support={}, levels=states, tables=tables
    ).to_bif(path)
    without = ExpertNetwork.from_bif(path, cut_points=cuts)
    assert without.fitted(table, shapes=shapes).shapes == shapes
    support = {name: (shapes[name].low, shapes[name].high) for name in ("cause", "tail")}
    some = ExpertNetwork.from_bif(path, cut_points=cuts, support=support)
    assert some.fitted(table, shapes=shapes).shapes == {name: shapes[name] for name in ("rain", "flat")}


def test_a_point_mass_that_networks_of_the_front_lack_is_an_error(table):
    shapes = own_shapes(table)
    cuts = {"cause": [3.0], "rain": [5.0], "tail": [1.0], "flat": [0.5]}
    expert = DiscretizedBayesNet.from_table(table, [], cuts, shapes={"rain": shapes["rain"]})
    with pytest.raises(
        GomeaBnError, match=r"'rain' has a point mass at 0, which the other .* shape=\"auto\""
    ):
        ParetoBayesNetLearner(expert=expert, shape="uniform", **QUICK).fit(table)
    learner = ParetoBayesNetLearner(
        expert=expert, shape="uniform", objectives=["misfit", "complexity"], **QUICK
    ).fit(table)
    assert len(learner.front_) > 1
    assert len(ParetoBayesNetLearner(expert=expert, **QUICK).fit(table).front_) > 1


def test_a_point_mass_that_the_data_lack_is_no_matter_of_the_option(table):
    frame = table.to_frame()
    rng = np.random.default_rng(1)
    frame["rain"] = np.where(frame["rain"] == 0, 0.01 * rng.random(len(frame)), frame["rain"])
    cuts = {"cause": [3.0], "rain": [5.0], "tail": [1.0], "flat": [0.5]}
    shapes = own_shapes(table)
    expert = DiscretizedBayesNet.from_table(table, [], cuts, shapes={"rain": shapes["rain"]})
    with pytest.raises(GomeaBnError, match="point mass at 0, which the shape of its column lacks") as caught:
        ParetoBayesNetLearner(expert=expert, **QUICK).fit(frame)
    assert "shape=" not in str(caught.value)
    assert str(caught.value).endswith("Give the expert's edges and cut points without tables.")


def test_a_point_mass_of_a_column_that_the_expert_does_not_mention_does_not_count(table):
    statement = ExpertNetwork.from_edges([("cause", "tail")])
    with_points = statement.fitted(table, shapes=own_shapes(table))
    without = statement.fitted(table)
    assert with_points.shapes["rain"].points.keys() == {0.0}
    assert np.isfinite(expert_distance(with_points, without))
    with pytest.raises(GomeaBnError, match="'rain' has a point mass at 0"):
        expert_distance(EXPERT.fitted(table, shapes=own_shapes(table)), without)


def test_columns_may_be_named_in_another_order(table):
    frame = table.to_frame()[["tail", "flat", "rain", "cause"]]
    learner = ParetoBayesNetLearner(
        expert=EXPERT, kinds=dict.fromkeys(frame.columns, "continuous"), **QUICK
    ).fit(pd.DataFrame(frame))
    check_networks(learner, frame)
