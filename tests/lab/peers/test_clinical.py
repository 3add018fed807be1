"""The experiment on outcomes of patients, on few rows."""

import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest

from lab.peers.clinical import (
    CLASSIFIER,
    FRONT,
    OUTCOMES,
    front_answer,
    imputed,
    one_fold,
    outcome_table,
    probabilistic_scores,
    tree_answer,
)


@pytest.fixture
def survival():
    """Return rows whose event within 100 days follows a number and a factor; every tenth is censored before."""
    rng = np.random.default_rng(0)
    dose, sex = rng.normal(size=300), rng.choice(["f", "m"], 300)
    early = dose + (sex == "m") + 0.3 * rng.normal(size=300) > 0.5
    censored = np.arange(300) % 10 == 0
    frame = pd.DataFrame(
        {
            "pid": np.arange(300),
            "event": (early & ~censored).astype(int),
            "time": np.where(early | censored, 50, 400),
            "num_dose": dose,
            "num_model": early * 1.0,
            "fac_sex": sex,
        }
    )
    return frame, early[~censored]


def test_an_outcome_is_an_event_in_time_and_censored_rows_are_left_out(survival):
    frame, early = survival
    x, y = outcome_table(frame, 100, ("num_model", "absent"))
    assert list(x.columns) == ["num_dose", "fac_sex"]
    assert x["fac_sex"].dtype == "category"
    assert (y == "yes").tolist() == early.tolist()


def test_a_chosen_network_is_small_and_predicts(survival):
    x, y = outcome_table(survival[0], 100, ("num_model",))
    train, test = np.arange(len(x)) % 3 > 0, np.arange(len(x)) % 3 == 0
    answer, classes, (parameters, edges) = front_answer(x[train], y[train], x[test], 1.0)
    assert parameters <= 30
    assert edges >= 1
    alone = -np.log(y.value_counts(normalize=True)[y[test]]).mean()
    loss = probabilistic_scores(answer, classes, y[test])[0]
    assert loss < 0.7 * alone
    tree = tree_answer(x[train], y[train], x[test], int(parameters))
    assert probabilistic_scores(*tree, y[test])[0] < alone


def test_scores_of_probabilities_are_those_of_their_definitions():
    truth = pd.Series(["a", "b", "b", "a", "b"])
    second = np.array([0.2, 0.7, 0.4, 0.5, 0.9])
    loss, auc, brier, slope = probabilistic_scores(
        np.column_stack([1 - second, second]), np.array(["a", "b"]), truth
    )
    of_truth = np.array([0.8, 0.7, 0.4, 0.5, 0.9])
    assert loss == pytest.approx(-np.log(of_truth).mean())
    assert auc == pytest.approx(5 / 6)  # of six pairs one is in the wrong order
    assert brier == pytest.approx(2 * ((1 - of_truth) ** 2).mean())
    assert slope > 0
    sharper = 1 / (1 + np.exp(-2 * np.log(second / (1 - second))))
    twice = probabilistic_scores(np.column_stack([1 - sharper, sharper]), np.array(["a", "b"]), truth)
    assert twice[3] == pytest.approx(slope / 2, rel=1e-3)


def test_missing_cells_get_medians_and_frequent_levels_of_the_training_rows():
    x = pd.DataFrame({"n": [1.0, 2.0, 9.0, np.nan], "f": pd.Categorical(["u", "v", "u", None])})
    new = pd.DataFrame({"n": [np.nan, 100.0], "f": pd.Categorical(["v", None], categories=["u", "v"])})
    rows, others = imputed(x, new)
    assert rows["n"].tolist() == [1.0, 2.0, 9.0, 2.0]
    assert others["n"].tolist() == [2.0, 100.0]
    assert others["f"].tolist() == ["v", "u"]


def test_a_fold_of_a_table_in_a_wheel_has_all_methods(survival, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "tables.whl", "w") as wheel:
        wheel.writestr("SurvSet/resources/pickles/small.pickle", pickle.dumps(survival[0]))
    monkeypatch.setitem(OUTCOMES, "small", (100, ("num_model",)))
    task = {"table": "small", "repeat": 0, "fold": 0, "seconds": 1.0, "wheel": str(tmp_path / "tables.whl")}
    result = one_fold(task)
    assert result["rows"] == 270
    assert {CLASSIFIER, FRONT, "logistic regression", "random forest"} <= set(result["methods"])
    assert all(len(scores) == 7 for scores in result["methods"].values())
