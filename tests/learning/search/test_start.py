"""A search begins from the graph and cuts of a given network."""

import re
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wrong_input import untyped

from gomea_bn import (
    BayesNetLearner,
    Checkpoint,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    GomeaBnWarning,
)

OPTIONS: dict[str, Any] = {"max_seconds": None, "max_evaluations": 1, "random_state": 1, "density": "bins"}
CUTS = {"a": [0.0], "b": [-0.5, 0.5], "c": [0.1]}
POINTS_TO_FIT = r"BayesNetLearner has no parameter 'start'. It is one of fit; call fit\(rows, start=...\)"


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
    expected = r"^start: the search begins without 1 edge that rules or limits exclude \('a' → 'b'\)\.$"
    with pytest.warns(GomeaBnWarning, match=expected) as caught:
        network = BayesNetLearner(**OPTIONS, knowledge=knowledge).fit(rows(), start=start).network_
    assert [warning.filename for warning in caught] == [__file__]
    assert ("c", "a") in network.edges
    assert ("a", "b") not in network.edges


def test_columns_may_come_and_go(start):
    frame = rows().drop(columns="c").assign(d=np.random.default_rng(2).choice(["p", "q"], 300))
    with pytest.warns(GomeaBnWarning, match=r"without 1 column that the table lacks \('c'\)\.$"):
        network = BayesNetLearner(**OPTIONS).fit(frame, start=start).network_
    assert set(map(frozenset, network.edges)) == {frozenset("ab")}


def test_one_warning_names_three_columns_and_three_edges():
    generator = np.random.default_rng(0)
    letters = list("abcdefghi")
    frame = pd.DataFrame({letter: generator.choice(["p", "q"], 100) for letter in letters})
    star = DiscretizedBayesNet.from_table(frame, [("a", child) for child in letters[1:]], {})
    options = {**OPTIONS, "knowledge": ExpertKnowledge(forbidden_edges=[("a", child) for child in "bcde"])}
    expected = re.escape(
        "without 4 columns that the table lacks ('f', 'g', 'h' and 1 more) and 4 edges that rules or limits exclude "
        "('a' → 'b', 'a' → 'c', 'a' → 'd' and 1 more)."
    )
    with pytest.warns(GomeaBnWarning, match=expected) as caught:
        BayesNetLearner(**options).fit(frame[list("abcde")], start=star)
    assert len(caught) == 1


def test_a_start_that_fits_gives_no_warning(start):
    required = ExpertKnowledge(required_edges=[("a", "b")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesNetLearner(**OPTIONS, knowledge=required).fit(rows(), start=start)


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (
            lambda start: BayesNetLearner(**OPTIONS).fit(rows().add_prefix("new_"), start=start),
            "start must share columns with the table, got a network of 'a', 'b', 'c'",
        ),
        (
            lambda start: BayesNetLearner(**OPTIONS).fit(rows(), start=start.edges),
            "start must be a DiscretizedBayesNet or None, got list",
        ),
        (lambda start: untyped(BayesNetLearner)(start=start), POINTS_TO_FIT),
        (lambda start: BayesNetLearner().set_params(start=start), POINTS_TO_FIT),
    ],
)
def test_what_is_no_start_is_refused(start, give, message):
    with pytest.raises(GomeaBnError, match=message):
        give(start)


def test_the_metadata_name_the_start(start):
    network = BayesNetLearner(**OPTIONS).fit(rows(), start=start).network_
    assert len(network.metadata["started_from"]) == 64
    assert "started_from" not in BayesNetLearner(**OPTIONS).fit(rows()).network_.metadata


def test_a_checkpoint_goes_on_from_the_same_start_only(start, tmp_path):
    BayesNetLearner(**OPTIONS).fit(rows(), start=start, checkpoint=tmp_path)
    other = DiscretizedBayesNet.from_table(rows(), [], CUTS)
    with pytest.raises(GomeaBnError, match="started_from"):
        BayesNetLearner(**OPTIONS).fit(rows(), start=other, checkpoint=Checkpoint(tmp_path, resume=True))


def test_the_score_of_the_start_is_one_evaluation():
    options = {**OPTIONS, "max_evaluations": 2000, "curves": "none"}
    former = BayesNetLearner(**options).fit(rows())
    again = BayesNetLearner(**options).fit(rows(), start=former.network_)
    assert again.history_[0].n_eval == 1
    assert again.history_[0].objective == pytest.approx(-former.score_)


@pytest.mark.parametrize("discretizer", ["optimal", "equal-frequency", "mdl"])
def test_cuts_into_more_bins_than_may_enter_are_left_out(start, discretizer):
    learner = BayesNetLearner(discretizer, **OPTIONS, max_bins=2)
    expected = r"without the cuts of 1 column into more bins than the limit on bins allows \('b'\)\.$"
    # the other methods take the cuts of their own nearest to these
    with pytest.warns(GomeaBnWarning, match=expected) if discretizer == "optimal" else nullcontext():
        network = learner.fit(rows(), start=start).network_
    assert all(len(cuts) <= 1 for cuts in network.cut_points.values())
    assert set(map(frozenset, network.edges)) == {frozenset("ab"), frozenset("bc")}
