"""A search begins from the graph and cuts of a given network."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, Checkpoint, DiscretizedBayesNet, ExpertKnowledge, GomeaBnError

OPTIONS: dict[str, Any] = {"max_seconds": None, "max_evaluations": 1, "random_state": 1, "density": "bins"}
CUTS = {"a": [0.0], "b": [-0.5, 0.5], "c": [0.1]}


def rows(n=300, seed=0):
    generator = np.random.default_rng(seed)
    a = generator.normal(size=n)
    b = a + 0.3 * generator.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": b + 0.3 * generator.normal(size=n)})


@pytest.fixture(scope="module")
def start():
    return DiscretizedBayesNet.from_table(rows(), [("a", "b"), ("b", "c")], CUTS)


@pytest.mark.parametrize("discretizer", ["optimal", "equal-frequency", "mdl"])
def test_a_search_of_one_evaluation_returns_the_graph(start, discretizer):
    network = BayesNetLearner(discretizer, **OPTIONS).fit(rows(), start=start).network_
    assert set(map(frozenset, network.edges)) == {frozenset("ab"), frozenset("bc")}


def test_the_cuts_are_those_of_the_network(start):
    options = {**OPTIONS, "shape": "uniform"}
    network = BayesNetLearner(**options, curves="none").fit(rows(), start=start).network_
    for name, cuts in CUTS.items():
        np.testing.assert_array_equal(network.cut_points[name], cuts)


def test_rules_come_first(start):
    knowledge = ExpertKnowledge(required_edges=[("c", "a")], forbidden_edges=[("a", "b")])
    network = BayesNetLearner(**OPTIONS, knowledge=knowledge).fit(rows(), start=start).network_
    assert ("c", "a") in network.edges
    assert ("a", "b") not in network.edges


def test_columns_may_come_and_go(start):
    frame = rows().drop(columns="c").assign(d=np.random.default_rng(2).choice(["p", "q"], 300))
    network = BayesNetLearner(**OPTIONS).fit(frame, start=start).network_
    assert set(map(frozenset, network.edges)) == {frozenset("ab")}


def test_the_metadata_name_the_start(start):
    network = BayesNetLearner(**OPTIONS).fit(rows(), start=start).network_
    assert len(network.metadata["started_from"]) == 64
    assert "started_from" not in BayesNetLearner(**OPTIONS).fit(rows()).network_.metadata


def test_a_checkpoint_goes_on_from_the_same_start_only(start, tmp_path):
    BayesNetLearner(**OPTIONS).fit(rows(), start=start, checkpoint=tmp_path)
    other = DiscretizedBayesNet.from_table(rows(), [], CUTS)
    with pytest.raises(GomeaBnError, match="started_from"):
        BayesNetLearner(**OPTIONS).fit(rows(), start=other, checkpoint=Checkpoint(tmp_path, resume=True))


def test_another_kind_of_start_is_refused():
    with pytest.raises(GomeaBnError, match="start must be a DiscretizedBayesNet or None, got list"):
        BayesNetLearner(**OPTIONS).fit(rows(), start=[("a", "b")])  # type: ignore[arg-type]


def test_the_score_of_the_start_is_one_evaluation():
    options = {**OPTIONS, "max_evaluations": 2000, "curves": "none"}
    former = BayesNetLearner(**options).fit(rows())
    again = BayesNetLearner(**options).fit(rows(), start=former.network_)
    assert again.history_[0].n_eval == 1
    assert again.history_[0].objective == pytest.approx(-former.score_)
