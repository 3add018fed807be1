"""Scores of predictions, and the methods that are compared, on small tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss

from gomea_bn.prediction.distributions import Cells, crps
from lab.peers import prediction


def numbers(n: int = 120) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(1)
    x = pd.DataFrame(
        {"a": rng.normal(size=n), "b": pd.Categorical(rng.choice(["u", "v"], n)), "c": np.ones(n)}
    )
    return x, 5 * x["a"] + 9 * (x["b"] == "v") + rng.normal(size=n)


def test_scores_of_classes_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    probabilities, classes = rng.dirichlet(np.ones(3), 50), np.array(["p", "q", "r"])
    y = pd.Series(rng.choice(classes, 50))
    accuracy, loss = prediction.class_scores(probabilities, classes, y)
    assert accuracy == accuracy_score(y, classes[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(loss, log_loss(y, probabilities, labels=classes))


def test_the_pinball_loss_approaches_the_score_of_the_distribution() -> None:
    rng = np.random.default_rng(0)
    cells = Cells.of(rng.normal(size=150))
    probabilities = np.full((40, len(cells.values)), 1 / len(cells.values))
    y = pd.Series(rng.normal(size=40))
    quantiles = np.column_stack([cells.quantiles(probabilities, level) for level in prediction.LEVELS])
    error, score = prediction.number_scores(np.zeros(40), quantiles, y)
    assert abs(score - crps(cells, probabilities, np.asarray(y, np.float64))[0].mean()) < 0.01
    assert error == pytest.approx(np.sqrt((y**2).mean()))


def test_folds_have_all_parts_of_the_target() -> None:
    folds = prediction.fold_of(pd.Series(["a"] * 50 + ["b"] * 20), 0)
    assert np.bincount(folds).tolist() == [14] * 5
    assert np.bincount(folds[50:]).tolist() == [4] * 5


@pytest.mark.parametrize("cuts", ["quantiles", "MDLP"])
def test_peers_get_bins_of_the_training_rows(cuts: str) -> None:
    x, y = numbers()
    codes = (y > y.median()).to_numpy().astype(int)
    rows, others = prediction.discretized(cuts, x, codes, x.assign(a=99.0)[:5])
    # column c is constant
    assert list(rows.columns) == list(others.columns) == ["v0", "v1"]
    assert set(others["v0"]) == {str(rows["v0"].astype(int).max())}


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", prediction.number_peers().items(), ids=lambda item: item[0])
def test_all_regressors_beat_the_mean(method: tuple[str, prediction.Fitted]) -> None:
    x, y = numbers(300)
    means, quantiles = method[1](x[:200], y[:200], x[200:])
    error, _ = prediction.number_scores(means, quantiles, y[200:])
    assert quantiles.shape == (100, 100)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert error < 0.6 * y.std()


@pytest.mark.parametrize("method", prediction.class_peers().items(), ids=lambda item: item[0])
def test_all_classifiers_beat_chance(method: tuple[str, prediction.Fitted]) -> None:
    x, numeric = numbers(300)
    y = pd.Series(np.where(numeric > numeric.median(), "high", "low"))
    probabilities, classes = method[1](x[:200], y[:200], x[200:])
    assert list(classes) == ["high", "low"]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert prediction.class_scores(probabilities, classes, y[200:])[0] > 0.75


@pytest.mark.long
def test_ours_and_the_peers_are_in_one_table(run_lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "table_of", lambda name, _: None if name == "abalone" else numbers())
    monkeypatch.setattr(prediction, "warm_up", lambda _: None)
    options = "leaf:structure=leaf,max_evaluations=300,density=bins,curves=none"
    tables = ["--tables", "diabetes", "abalone"]
    printed = run_lab("prediction", *tables, "--no-peers", "--variant", options)
    assert "ours, leaf" in printed
    assert "CRPS of our best minus that of the random forest" in printed
    assert "abalone: skipped, needs --abalone FILE" in printed
