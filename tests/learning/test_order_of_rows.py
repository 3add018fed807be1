"""Results do not depend on the order of the rows of a table; what is returned by row is in the order of the caller."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from table_examples import curved_rows as complete_rows

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ParetoBayesNetLearner,
    average_families,
    averaged_misfits,
    read_table,
    refine_boundaries,
)
from gomea_bn.data.table import table_digest
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.prediction import BayesNetClassifier

WITHOUT_CLOCK: dict[str, Any] = {"max_seconds": None, "random_state": 1}


def permuted(frame, seed=0):
    return frame.iloc[np.random.default_rng(seed).permutation(len(frame))].reset_index(drop=True)


def incomplete_rows(seed=0, n_rows=150):
    """Return the same columns with missing cells; some rows are equal."""
    rng = np.random.default_rng([seed, 1])
    frame = complete_rows(seed, n_rows)
    frame = frame.mask(rng.random(frame.shape) < 0.15)
    return pd.concat([frame, frame.head(12)], ignore_index=True)


def assert_same(network, other):
    assert sorted(network.edges) == sorted(other.edges)
    assert network.cut_points.keys() == other.cut_points.keys()
    for name, cuts in network.cut_points.items():
        np.testing.assert_array_equal(cuts, other.cut_points[name])
    for name, table in network.tables.items():
        np.testing.assert_allclose(table, other.tables[name], rtol=1e-9, atol=1e-12)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (complete_rows, {}),
        (incomplete_rows, {}),
        (incomplete_rows, {"shape": "uniform"}),
        (incomplete_rows, {"discretizer": "equal-frequency"}),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_learner(rows, options, seed):
    frame = rows(seed)
    learners = [
        BayesNetLearner(max_evaluations=300, **WITHOUT_CLOCK, **options).fit(given)
        for given in (frame, permuted(frame, seed))
    ]
    assert_same(*(learner.network_ for learner in learners))
    scores = [learner.score_ for learner in learners]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
    densities = [learner.score_samples(frame) for learner in learners]
    np.testing.assert_allclose(densities[0], densities[1], rtol=1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["frequencies", "importances"])
@pytest.mark.parametrize("rows", [complete_rows, incomplete_rows])
def test_weights(rows, kind):
    frame = rows()
    generator = np.random.default_rng(3)
    weights = generator.integers(0, 5, len(frame)) if kind == "frequencies" else generator.random(len(frame))
    order = np.random.default_rng(4).permutation(len(frame))
    first, second = (
        BayesNetLearner(max_evaluations=150, **WITHOUT_CLOCK).fit(given, sample_weight=of_rows)
        for given, of_rows in ((frame, weights), (frame.iloc[order].reset_index(drop=True), weights[order]))
    )
    assert_same(first.network_, second.network_)
    np.testing.assert_allclose(first.score_samples(frame), second.score_samples(frame), rtol=1e-9)


@pytest.mark.long
def test_table_and_digest_of_a_learner_are_those_of_the_given_rows():
    frame = incomplete_rows()
    table = read_table(frame, missing="keep")
    learner = BayesNetLearner(max_evaluations=50, **WITHOUT_CLOCK).fit(frame)
    pd.testing.assert_frame_equal(learner.table_.to_frame(), table.to_frame())
    assert learner.network_.metadata["data_sha256"] == table_digest(table)
    density = learner.score_samples(frame)
    again = learner.score_samples(permuted(frame))
    np.testing.assert_allclose(again, density[np.random.default_rng(0).permutation(len(frame))], rtol=1e-12)


def test_table_and_digest_of_an_ensemble_are_those_of_the_given_rows():
    frame = complete_rows()
    learner = BayesNetLearner(max_seconds=None, max_evaluations=50)
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=1).fit(frame)
    table = read_table(frame)
    pd.testing.assert_frame_equal(ensemble.table_.to_frame(), table.to_frame())
    assert {network.metadata["data_sha256"] for network in ensemble.networks_} == {table_digest(table)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("resampling", ["subsample", "bootstrap"])
@pytest.mark.parametrize("rows", [complete_rows, incomplete_rows])
def test_ensemble(rows, resampling):
    frame = rows(n_rows=100)
    learner = BayesNetLearner(max_seconds=None, max_evaluations=60)
    ensembles = [
        BayesNetEnsemble(learner, n_networks=2, resampling=resampling, random_state=1).fit(given)
        for given in (frame, permuted(frame))
    ]
    for network, other in zip(*(ensemble.networks_ for ensemble in ensembles), strict=True):
        assert_same(network, other)


def test_published_bootstrap_draws_rows_by_position():
    frame = complete_rows()[["a", "b"]]
    learner = BayesNetLearner(max_seconds=None, max_evaluations=50, shape="uniform")
    first, second = (
        BayesNetEnsemble(learner, n_networks=1, resampling="bootstrap", random_state=1)
        .fit(given)
        .networks_[0]
        for given in (frame, permuted(frame))
    )
    assert first.cut_points["a"].tolist() != second.cut_points["a"].tolist()


@pytest.mark.sample(1)
@pytest.mark.parametrize("rows", [complete_rows, incomplete_rows])
def test_front(rows):
    frame = rows()
    fronts = [
        ParetoBayesNetLearner(max_evaluations=500, **WITHOUT_CLOCK).fit(given).front_
        for given in (frame, permuted(frame))
    ]
    np.testing.assert_allclose(fronts[0].values, fronts[1].values, rtol=1e-9)
    for position in (0, len(fronts[0]) // 2, len(fronts[0]) - 1):
        assert_same(fronts[0].network(position), fronts[1].network(position))
    misfits = [averaged_misfits(front, test=frame.dropna(), ids=[0], n_copies=2) for front in fronts]
    np.testing.assert_allclose(misfits[0], misfits[1], rtol=1e-9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("rows", [complete_rows, incomplete_rows])
def test_averaged_families(rows):
    frame = rows(n_rows=4_500)
    network = DiscretizedBayesNet.from_table(
        read_table(frame, missing="keep"),
        [("a", "b"), ("b", "c"), ("a", "c")],
        {"a": [-0.5, 0.5], "b": [0.0], "c": [0.45, 1.05]},
    )
    probe = frame.dropna().head(50)
    densities = [
        average_families(network, given, n_copies=2).log_density(probe) for given in (frame, permuted(frame))
    ]
    np.testing.assert_allclose(densities[0], densities[1], rtol=1e-9)


@pytest.mark.parametrize("rows", [complete_rows, incomplete_rows])
def test_refined_cuts(rows):
    frame = rows()
    cuts = {"a": [-0.5, 0.5], "b": [0.0], "c": [0.45, 1.05]}
    network = DiscretizedBayesNet.from_table(
        read_table(frame, missing="keep"), [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")], cuts
    )
    refined = [
        refine_boundaries(network, given, starts=2, bin_counts="free", random_state=1).network
        for given in (frame, permuted(frame))
    ]
    assert_same(*refined)


def test_completed_rows():
    frame = incomplete_rows()
    table = read_table(frame, missing="keep")
    network = DiscretizedBayesNet.from_table(
        table, [("a", "b"), ("b", "c")], {"a": [0.0], "b": [0.0], "c": [0.45]}
    )
    filled = completed_table(network, table, np.random.default_rng(1)).to_frame()
    observed = table.to_frame()
    pd.testing.assert_frame_equal(filled.where(observed.notna()), observed, check_categorical=False)
    # equal rows have draws of their own, in any order
    unique = ~frame.duplicated(keep=False)
    order = np.random.default_rng(0).permutation(len(frame))
    other_table = read_table(permuted(frame), missing="keep")
    other = completed_table(network, other_table, np.random.default_rng(1)).to_frame()
    pd.testing.assert_frame_equal(
        other[unique.to_numpy()[order]].reset_index(drop=True),
        filled.iloc[order][unique.to_numpy()[order]].reset_index(drop=True),
    )
    twins = frame.isna().any(axis=1) & frame.duplicated(keep=False)
    assert not filled[twins].duplicated(keep=False).all()


@pytest.mark.long
def test_probabilities_of_a_classifier():
    frame = complete_rows()
    learner = BayesNetLearner(max_seconds=None, max_evaluations=40)
    classifiers = [
        BayesNetClassifier(learner, random_state=1).fit(given.drop(columns="d"), given["d"])
        for given in (frame, permuted(frame))
    ]
    features = frame.drop(columns="d")
    answers = [classifier.predict_proba(features) for classifier in classifiers]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-9)
