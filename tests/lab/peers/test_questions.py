"""The experiment on small networks for a question, on few rows."""

import numpy as np
import pandas as pd
import pytest

from lab.peers.questions import clinical_table, front_scores, peer_scores


@pytest.fixture
def survival(tmp_path):
    """A file in which the event within 100 days follows a number and a factor; every tenth row is censored before."""
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
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv", early[~censored]


def test_an_outcome_is_an_event_in_time_and_censored_rows_are_left_out(survival):
    path, early = survival
    x, y = clinical_table(path, 100, ("num_model", "absent"))
    assert list(x.columns) == ["num_dose", "fac_sex"]
    assert x["fac_sex"].dtype == "category"
    assert (y == "yes").tolist() == early.tolist()


def test_a_chosen_network_is_small_and_predicts(survival):
    x, y = clinical_table(survival[0], 100, ("num_model",))
    train, test = np.arange(len(x)) % 3 > 0, np.arange(len(x)) % 3 == 0
    loss, left_out, parameters, predictors = front_scores(x[train], y[train], x[test], y[test], 1.0)
    assert parameters <= 30
    assert 1 <= predictors <= 2
    alone = -np.log(y.value_counts(normalize=True)[y[test]]).mean()
    assert max(loss, left_out) < 0.7 * alone
    tree, logistic = peer_scores(x[train], y[train], x[test], y[test], int(parameters))
    assert max(tree, logistic) < alone
