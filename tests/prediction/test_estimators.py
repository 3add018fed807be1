"""Classifier and regressor: what they learn, predict and refuse, and the contract of scikit-learn."""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from gomea_bn import (
    BayesNetClassifier,
    BayesNetLearner,
    BayesNetRegressor,
    ExpertKnowledge,
    GomeaBnError,
    GomeaBnWarning,
)


def learner(**options: Any) -> BayesNetLearner:
    return BayesNetLearner(**{"max_seconds": None, "max_evaluations": 500, **options})


def classes(n: int = 200) -> tuple[pd.DataFrame, pd.Series]:
    """Return a class that depends on a number and a level, and a column of noise."""
    rng = np.random.default_rng(2)
    x = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.choice(["u", "v", "w"], n), "noise": rng.normal(size=n)}
    )
    y = np.where(x["a"] + (x["b"] == "v") + rng.normal(scale=0.2, size=n) > 0.5, "yes", "no")
    return x, pd.Series(y, name="bought")


def numbers(n: int = 240) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(3)
    x = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n), "noise": rng.normal(size=n)})
    y = 2 * x["a"] + 3 * (x["b"] == "v") + rng.normal(scale=0.3, size=n)
    return x, y.rename("price")


@pytest.fixture(scope="module")
def classifier() -> BayesNetClassifier:
    return BayesNetClassifier(learner(), structure="root", random_state=1).fit(*classes())


@pytest.fixture(scope="module")
def averaged() -> BayesNetClassifier:
    return BayesNetClassifier(learner(density="averaged"), structure="root", random_state=1).fit(*classes())


@pytest.fixture(scope="module")
def regressor() -> BayesNetRegressor:
    return BayesNetRegressor(learner(density="averaged"), structure="free", random_state=1).fit(*numbers())


def test_the_network_has_the_features_and_the_target(classifier):
    x, y = classes()
    assert classifier.network_.names == (*x.columns, "bought")
    assert classifier.classes_.tolist() == ["no", "yes"]
    assert classifier.feature_names_in_.tolist() == list(x.columns)
    assert classifier.score(x, y) > 0.85
    assert set(classifier.predict(x)) == {"no", "yes"}


def test_probabilities_are_those_of_the_network(classifier):
    x, _ = classes()
    expected = classifier.network_.predict_proba(x, "bought").to_numpy()
    np.testing.assert_allclose(classifier.predict_proba(x), expected)


def test_averaged_probabilities_are_ratios_of_joint_densities(averaged):
    x, _ = classes()
    labels = [pd.Categorical([label] * len(x), ["no", "yes"]) for label in ("no", "yes")]
    joint = np.exp(np.column_stack([averaged.network_.log_density(x.assign(bought=of)) for of in labels]))
    probabilities = averaged.predict_proba(x)
    np.testing.assert_allclose(probabilities, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(averaged.predict_proba(x[::-1]), probabilities[::-1])


def test_missing_cells_are_summed_out(classifier, averaged):
    x, _ = classes()
    gaps = x.assign(a=np.nan)
    marginal = classifier.network_.predict_proba(gaps, "bought").to_numpy()
    np.testing.assert_allclose(classifier.predict_proba(gaps), marginal)
    mixed = x.copy()
    mixed.loc[:9, "a"] = np.nan
    answers = averaged.predict_proba(mixed)
    np.testing.assert_allclose(answers[10:], averaged.predict_proba(x)[10:])
    by_bins = averaged.network_.predict_proba(mixed[:10], "bought").to_numpy()
    np.testing.assert_allclose(answers[:10], by_bins)


@pytest.mark.long
def test_tables_with_missing_values_are_learned():
    x, y = classes()
    gaps = x.mask(np.random.default_rng(0).random(x.shape) < 0.1)
    model = BayesNetClassifier(learner(), structure="root", random_state=1).fit(gaps, y)
    assert model.score(gaps, y) > 0.8


@pytest.mark.long
def test_parents_are_chosen_for_rows_with_missing_numbers_and_levels():
    x, y = classes()
    gaps = x.mask(np.random.default_rng(0).random(x.shape) < 0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = BayesNetClassifier(learner(density="averaged"), random_state=1).fit(gaps, y)
    assert model.structure_ == "auto"
    assert model.score(gaps, y) > 0.75
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, GomeaBnWarning)]
    assert len(messages) == len(set(messages)) <= 1


def test_unknown_levels_count_as_missing(classifier):
    x, _ = classes()
    unknown = x.assign(b="never seen")
    with pytest.warns(GomeaBnWarning, match=r"count as missing: 'never seen' of 'b' in 200 rows"):
        answers = classifier.predict_proba(unknown)
    np.testing.assert_allclose(answers, classifier.predict_proba(x.assign(b=None)))


@pytest.mark.parametrize(
    ("n_columns", "structure", "evaluations"), [(4, "auto", 2_000), (60, "auto", 3_660), (4, "free", None)]
)
def test_a_fit_ends_by_its_work(monkeypatch, n_columns, structure, evaluations):
    class Asked(Exception):
        pass

    def fit(self: BayesNetLearner, *_: Any) -> None:
        assert self.max_evaluations == evaluations
        # far beyond what the work takes, less the seconds of reading
        assert self.max_seconds is not None
        assert 60 < self.max_seconds <= 120
        raise Asked

    monkeypatch.setattr(BayesNetLearner, "fit", fit)
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(40, n_columns)))
    with pytest.raises(Asked):
        BayesNetClassifier(structure=structure).fit(x.to_numpy(), np.arange(40) % 2)


def test_structures_are_obeyed():
    x, y = classes()
    for structure in ("root", "augmented", "tree", "naive", "leaf"):
        network = BayesNetClassifier(learner(), structure=structure).fit(x, y).network_
        children, parents = network.children("bought"), network.parents("bought")
        assert (structure == "leaf" and not children) or (structure != "leaf" and not parents), structure
        if structure in ("augmented", "tree", "naive"):
            assert children == tuple(x.columns)
        most = {"tree": 2, "naive": 1}.get(structure, len(x.columns))
        assert all(len(network.parents(name)) <= most for name in x.columns), structure


def test_the_network_is_that_of_a_learner_with_the_target():
    x, y = classes()
    options: dict[str, Any] = {"density": "averaged", "curves": "none"}
    model = BayesNetClassifier(learner(**options), random_state=1).fit(x, y)
    known = {"kinds": {"bought": "discrete"}, "random_state": 1, **options}
    network = learner(target="bought", **known).fit(x.assign(bought=y)).network_
    assert set(model.network_.edges) == set(network.edges)
    of_network = network.predict_proba(x, "bought")
    np.testing.assert_allclose(
        model.predict_proba(x), of_network[[str(c) for c in model.classes_]], atol=1e-9
    )


def test_copies_of_rows_hardly_move_what_a_target_follows():
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.lognormal(size=(120, 4)), columns=list("abcd"))
    y = pd.Series(np.where(np.log(x["a"]) + rng.logistic(size=120) > 0, "yes", "no"), name="k")
    copied = np.concatenate([np.arange(120), [0, 1, 2]])
    alone, twice = (
        BayesNetClassifier(learner(curves="none"), random_state=1).fit(x.iloc[rows], y.iloc[rows])
        for rows in (np.arange(120), copied)
    )
    assert twice.network_.metadata["copies"] == {"rows": 123, "evidence": 120}
    odds = [np.log(p[:, 1] / p[:, 0]) for p in (alone.predict_proba(x), twice.predict_proba(x))]
    # shapes follow all rows
    np.testing.assert_allclose(odds[1], odds[0], atol=0.3)


def test_a_limit_leaves_the_parents_of_a_target_all_rows():
    rng = np.random.default_rng(4)
    x = pd.DataFrame(rng.normal(size=(2_000, 3)), columns=list("abc"))
    y = pd.Series(np.where(x["a"] + rng.logistic(size=2_000) > 0, "yes", "no"), name="k")
    # 15,000 values a second are 1,000 rows of four columns, which a network without a target is learned from
    model = BayesNetClassifier(learner(density="averaged", max_seconds=0.2), random_state=1).fit(x, y)
    assert model.structure_ == "auto"
    assert "all_rows" not in model.network_.metadata


def test_knowledge_that_contradicts_a_structure_is_refused():
    knowledge = ExpertKnowledge(required_edges=[("a", "bought")])
    model = BayesNetClassifier(learner(knowledge=knowledge), random_state=1).fit(*classes())
    assert ("a", "bought") in model.network_.edges
    with pytest.raises(GomeaBnError, match="bought"):
        BayesNetClassifier(learner(knowledge=knowledge), structure="root").fit(*classes())


@pytest.mark.long
def test_a_class_with_a_single_row_is_learned():
    x, _ = classes(100)
    y = pd.Series(["no"] * 99 + ["yes"], name="bought")
    fitted = BayesNetClassifier(learner(max_evaluations=200), random_state=1).fit(x, y)
    assert fitted.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(fitted.predict_proba(x).sum(axis=1), 1)


@pytest.mark.parametrize("structure", ["auto", "root"])
def test_several_networks_are_averaged(structure):
    x, y = classes()
    model = BayesNetClassifier(
        learner(max_evaluations=200), structure=structure, n_networks=3, random_state=1
    ).fit(x, y)
    assert model.structure_ == structure
    assert len(model.densities_) == 3
    assert model.densities_[0] is model.network_
    networks: list[Any] = model.densities_
    parts = [network.predict_proba(x, "bought").to_numpy() for network in networks]
    np.testing.assert_allclose(model.predict_proba(x), np.mean(parts, axis=0))


def test_the_regressor_predicts_means_and_quantiles(regressor):
    x, y = numbers()
    assert regressor.score(x, y) > 0.9
    answer = regressor.predict_interval(x, [0.1, 0.9])
    assert list(answer.columns) == ["mean", "median", "10%", "90%"]
    np.testing.assert_array_equal(answer["mean"], regressor.predict(x))
    assert (answer["10%"] <= answer["median"]).all()
    assert (answer["median"] <= answer["90%"]).all()
    assert y.between(answer["10%"], answer["90%"]).mean() > 0.75
    assert (answer["90%"] - answer["10%"]).mean() < 0.3 * np.ptp(y)
    assert set(answer["median"]) <= set(y)
    assert answer.index.equals(x.index)


@pytest.mark.long
def test_a_regressor_of_bins_predicts_the_mean_of_the_network():
    x, y = numbers()
    model = BayesNetRegressor(learner(), structure="free", random_state=1).fit(x, y)
    expected = model.network_.predict(x, "price").to_numpy()
    assert np.abs(model.predict(x) - expected).max() < 0.05 * np.ptp(y)
    gaps = x.assign(a=np.where(np.arange(len(x)) % 2, np.nan, x["a"]))
    assert np.isfinite(model.predict(gaps)).all()


def test_rows_without_a_feature_are_refused_by_its_name(classifier):
    x, _ = classes()
    name = str(x.columns[0])
    with pytest.raises(GomeaBnError, match=f"yet now missing:\\n- {name}"):
        classifier.predict_proba(x.drop(columns=name))


@pytest.mark.long
def test_targets_get_names():
    x, y = load_iris(return_X_y=True)
    model = BayesNetClassifier(learner(), structure="root").fit(x, y)
    assert model.target_ == "target"
    assert model.network_.names == ("x0", "x1", "x2", "x3", "target")
    assert model.predict(x).dtype == y.dtype
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    with pytest.raises(GomeaBnError, match="X has a column 'a'"):
        BayesNetClassifier(learner()).fit(frame, pd.Series(y, name="a"))


@pytest.mark.sample(1)
@pytest.mark.parametrize("estimator", [BayesNetClassifier, BayesNetRegressor])
def test_a_target_without_a_name_leaves_features_their_names(estimator):
    x, y = classes(60) if estimator is BayesNetClassifier else numbers(60)
    x = x.rename(columns={"a": "target", "noise": "target_2"})
    model = estimator(learner(), structure="root", random_state=1).fit(x, y.to_numpy())
    assert model.target_ == "target_3"
    assert model.network_.names == ("target", "b", "target_2", "target_3")
    assert len(model.predict(x)) == 60


@pytest.mark.parametrize(
    "labels",
    [
        lambda y: y.mask(y.index == 3, None).to_numpy(object),
        lambda y: list(y.mask(y.index == 3, None)),
        lambda y: y.mask(y.index == 3, np.nan),
        lambda y: y.mask(y.index == 3, None).astype("string"),
        lambda y: y.mask(y.index == 3, None).astype("category"),
        lambda y: [None] * 3 + [None, *y[4:]],
    ],
)
def test_missing_classes_are_refused_with_their_rows(labels):
    x, y = classes(30)
    with pytest.raises(GomeaBnError, match=r"y must not hold missing values, got some in rows? .*3 .*Drop"):
        BayesNetClassifier().fit(x, labels(y))


@pytest.mark.long
def test_tools_of_scikit_learn_work():
    x, y = classes()
    model = BayesNetClassifier(learner(), structure="root", random_state=1)
    assert clone(model).get_params()["learner__max_evaluations"] == 500
    pipeline = make_pipeline(FunctionTransformer(), model)
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.8
    grid = {"structure": ["root", "leaf"], "learner__max_bins": [5]}
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss").fit(x, y)
    assert search.best_estimator_.learner.max_bins == 5
    assert model.learner is not None
    assert model.learner.max_bins == "auto"


def test_a_pickled_estimator_predicts_the_same(regressor):
    x, _ = numbers(30)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(regressor)).predict(x), regressor.predict(x))


@pytest.mark.parametrize("estimator", [BayesNetClassifier(), BayesNetRegressor()])
def test_predicting_before_fit_is_refused(estimator):
    with pytest.raises(NotFittedError):
        estimator.predict(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "tan"}, "structure must be"),
        ({"n_networks": 0}, "n_networks must be"),
        ({"learner": 3}, "learner must be a BayesNetLearner"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(GomeaBnError, match=message):
        BayesNetClassifier(**options).fit(*classes(30))


def test_wrong_targets_are_refused():
    x, y = numbers(30)
    with pytest.raises(GomeaBnError, match="single class"):
        BayesNetClassifier().fit(x, ["a"] * 30)
    with pytest.raises(GomeaBnError, match=r"got the single class 0\.0\."):
        BayesNetClassifier().fit(x, np.zeros(30))
    with pytest.raises(ValueError, match="continuous"):
        BayesNetClassifier().fit(x, y)
    days = pd.date_range("2024-01-01", periods=3).repeat(10)
    for dates in (days, list(days.date), pd.Series(days).dt.time, days - days[0]):
        with pytest.raises(
            GomeaBnError, match=r"^y must hold classes: .* It holds dates or times, such as \S+"
        ):
            BayesNetClassifier().fit(x, dates)
    with pytest.raises(GomeaBnError, match="two different values"):
        BayesNetRegressor().fit(x, np.ones(30))
    with pytest.raises(GomeaBnError, match="y must hold numbers"):
        BayesNetRegressor().fit(x, ["a", "b", "c"] * 10)
    with pytest.raises(
        GomeaBnError, match=r"y must hold numbers, got the text '1\.5'. Convert it by pandas.to_num"
    ):
        BayesNetRegressor().fit(x, ["1.5", "2", "3"] * 10)
    zoned = days.tz_localize("Europe/Berlin")
    no_numbers: list[Any] = [
        days,
        list(days.date),
        pd.Series(days).dt.time,
        days - days[0],
        days.to_numpy().astype(object),
        [np.timedelta64(k, "D") for k in range(30)],
        zoned,
        days.to_period("D"),
    ]
    for wrong in no_numbers:
        with pytest.raises(
            GomeaBnError, match=r"^y must hold numbers(\. It holds dates or times, such as|: )"
        ):
            BayesNetRegressor().fit(x, wrong)
    with pytest.raises(GomeaBnError, match="missing or infinite"):
        BayesNetRegressor().fit(x, y.mask(y > 2))
    with pytest.raises(GomeaBnError, match="30 and 20"):
        BayesNetRegressor().fit(x, y[:20])


def coarse(n: int) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Return features that several rows share, a class and a number."""
    rng = np.random.default_rng(5)
    x = pd.DataFrame({"a": rng.integers(0, 12, n) / 2, "b": rng.choice(["u", "v"], n)})
    y = x["a"] + 2.0 * (x["b"] == "v") + rng.integers(-1, 2, n) / 2
    return x, pd.Series(np.where(y > 3, "yes", "no"), name="k"), y.rename("t")


def fitted(
    kind: str, x: pd.DataFrame, y: Any, weights: Any = None, structure: str = "auto", **options: Any
) -> Any:
    """Return probabilities of the classes, or quantiles of the numbers, of some rows after a fit."""
    estimator = {"classifier": BayesNetClassifier, "regressor": BayesNetRegressor}[kind](
        learner(max_evaluations=100, density="bins", **options), structure=structure, random_state=1
    ).fit(x, y, sample_weight=weights)
    ask = coarse(30)[0] if "noise" not in x else numbers(30)[0]
    return (
        estimator.predict_proba(ask) if kind == "classifier" else estimator.predict_interval(ask).to_numpy()
    )


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize("structure", ["auto", "root"])
def test_whole_weights_are_repeated_rows_and_weights_of_zero_removed_ones(kind, structure):
    x, k, t = coarse(90)
    y = k if kind == "classifier" else t
    weights = np.random.default_rng(6).integers(0, 4, 90)
    some = np.repeat(np.arange(90), weights)
    np.testing.assert_allclose(
        fitted(kind, x, y, weights, structure), fitted(kind, x.iloc[some], y.iloc[some], structure=structure)
    )
    zeros = weights > 0
    kept = np.flatnonzero(zeros)
    np.testing.assert_array_equal(
        fitted(kind, x, y, zeros, structure), fitted(kind, x.iloc[kept], y.iloc[kept], structure=structure)
    )


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_weights_of_zero_are_removed_rows_where_values_do_not_repeat(kind):
    x, t = numbers(120)
    y = t if kind == "regressor" else np.where(t > t.median(), "high", "low")
    weights = np.random.default_rng(7).uniform(0.5, 2, 120) * (np.arange(120) % 3 > 0)
    kept = np.flatnonzero(weights)
    of_kept = np.asarray(y)[kept]
    np.testing.assert_array_equal(
        fitted(kind, x, y, weights), fitted(kind, x.iloc[kept], of_kept, weights[kept])
    )
    # equal importances are none
    np.testing.assert_array_equal(fitted(kind, x, y, np.full(120, 0.3)), fitted(kind, x, y))


def test_weights_move_what_is_predicted():
    rng = np.random.default_rng(8)
    x = pd.DataFrame({"a": rng.normal(size=400)})
    of_second = np.arange(400) >= 200
    t = np.where(of_second, -1, 1) * x["a"].to_numpy() + 0.2 * rng.normal(size=400)
    weights = np.where(of_second, 0.02, 1.0)
    regressor = BayesNetRegressor(learner(), structure="leaf", random_state=1).fit(
        x, t, sample_weight=weights
    )
    assert np.corrcoef(regressor.predict(x), x["a"])[0, 1] > 0.9
    k = np.where(t > 0, "up", "down")
    classifier = BayesNetClassifier(learner(), structure="root", random_state=1).fit(
        x, k, sample_weight=1.02 - weights
    )
    assert np.corrcoef(classifier.predict_proba(x)[:, 1], x["a"])[0, 1] < -0.8


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "sample_weight must have one weight for each of 60 rows"),
        (np.zeros(60), "all are zero"),
        (-np.ones(60), "sample_weight must be finite numbers from 0 on"),
        (["a"] * 60, "sample_weight must be numbers"),
        (np.ones(60) * 1j, "sample_weight must be numbers"),
        (1.0, "sample_weight must have one weight for each"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    x, k, t = coarse(60)
    for estimator, y in ((BayesNetClassifier(), k), (BayesNetRegressor(), t)):
        with pytest.raises(GomeaBnError, match=message):
            estimator.fit(x, y, sample_weight=weights)


def test_a_target_may_be_missing_where_the_weight_is_zero():
    x, k, _ = coarse(60)
    weights = np.ones(60)
    weights[5] = 0
    gone = k.copy()
    gone[5] = None
    made = BayesNetClassifier(learner(max_evaluations=50), structure="root", random_state=1)
    assert made.fit(x, gone, sample_weight=weights).table_.n_rows == 59


def test_weights_are_routed_by_tools_of_scikit_learn():
    x, k, _ = coarse(120)
    weights = np.random.default_rng(6).integers(1, 3, 120)
    with config_context(enable_metadata_routing=True):
        made = BayesNetClassifier(
            learner(max_evaluations=50, density="bins"), structure="root", random_state=1
        )
        routed = made.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        results = cross_validate(routed, x, k, cv=2, params={"sample_weight": weights}, return_estimator=True)
        searched = GridSearchCV(routed, {"structure": ["root"]}, cv=2).fit(x, k, sample_weight=weights)
    first = np.unique(
        np.concatenate([estimator.table_.n_rows for estimator in results["estimator"]], axis=None)
    )
    assert first.sum() >= weights.sum() / 2
    assert searched.best_estimator_.table_.n_rows == weights.sum()


@pytest.mark.parametrize(("action", "n_given"), [("default", 1), ("always", 3), ("ignore", 0)])
def test_a_fit_warns_once_and_folds_repeat_nothing(action, n_given):
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"a": rng.normal(size=60), "same": 1.0, f"few {action}": rng.choice([0.0, 2.5], 60)})
    classifier = BayesNetClassifier(BayesNetLearner(max_seconds=None, max_evaluations=300), structure="free")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        for n_rows in (60, 59, 58):
            # code that changes filters lets Python forget what it has shown
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
            classifier.fit(x[:n_rows], np.arange(n_rows) % 2)
    texts = [str(one.message) for one in caught if issubclass(one.category, GomeaBnWarning)]
    assert len(texts) == n_given
    for text in texts:
        assert "'same' is 1 in all " in text
        assert f"'few {action}' (0, 2.5)" in text
    assert {Path(one.filename).name for one in caught} <= {"test_estimators.py"}


@pytest.mark.long
def test_without_scikit_learn_other_names_come_and_the_message_names_the_extra():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import gomea_bn\n"
        "from gomea_bn import *\n"
        "from gomea_bn.prediction import *\n"
        "print('BayesNetLearner' in dir(), 'cross_validate' in dir(), 'BayesNetClassifier' in dir())\n"
        "try: gomea_bn.BayesNetClassifier\n"
        "except gomea_bn.GomeaBnError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("True True False\n")
    assert "pip install 'gomea-bn[predict]'" in run.stdout


def of_too_few_rows(_estimator: Any) -> dict[str, str]:
    """Return the checks whose tables are too short for the package."""
    return {
        "check_sample_weight_equivalence_on_dense_data": "9 of 15 rows have weights above 0, and a table needs 10."
    }


@pytest.mark.sample(1)
@parametrize_with_checks(
    [
        BayesNetClassifier(BayesNetLearner(max_seconds=None, max_evaluations=300), structure="root"),
        BayesNetRegressor(BayesNetLearner(max_seconds=None, max_evaluations=300), structure="free"),
        BayesNetClassifier(BayesNetLearner(max_seconds=None, max_evaluations=300), structure="augmented"),
    ],
    expected_failed_checks=of_too_few_rows,
)
def test_contract_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        # the rows of the checks are constant, repeated and outside the range of the training rows
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)
