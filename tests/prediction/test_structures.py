"""The choice of a structure by inner folds: powers of probabilities, and the time that searches share."""

from __future__ import annotations

from time import sleep
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from gomea_bn import BayesNetClassifier, BayesNetLearner
from gomea_bn.data.table import Table
from gomea_bn.learning.averaging.families import average_of_blanket
from gomea_bn.prediction import structures
from gomea_bn.prediction.distributions import level_probabilities
from gomea_bn.prediction.structures import Budget, with_power


def repeated_features(n: int = 240) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return a class, and six features that are nearly the same measurement of it."""
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=n)
    shared = y + rng.normal(scale=1.0, size=n)
    x = pd.DataFrame({f"f{k}": shared + rng.normal(scale=0.05, size=n) for k in range(6)})
    return x, pd.Series(y, name="sick")


def test_powers_keep_the_order_and_sum_to_one() -> None:
    probabilities = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [1e-300, 1 - 1e-16, 1e-16]])
    for power in (0.2, 1.0, 1.4):
        raised = with_power(probabilities, power)
        np.testing.assert_allclose(raised.sum(axis=1), 1)
        np.testing.assert_array_equal(raised.argsort(axis=1), probabilities.argsort(axis=1))
    np.testing.assert_allclose(with_power(probabilities[:1], 2.0), [[0.49 / 0.54, 0.04 / 0.54, 0.01 / 0.54]])
    assert with_power(probabilities, 1.0) is probabilities


def test_features_that_repeat_each_other_make_the_power_small() -> None:
    x, y = repeated_features()
    learner = BayesNetLearner(max_seconds=None, max_evaluations=300, max_indegree=1)
    model = BayesNetClassifier(learner, random_state=1).fit(x, y)
    plain = BayesNetClassifier(learner, structure=model.structure_, random_state=1).fit(x, y)
    assert plain.power_ == 1.0
    assert plain.network_ == model.network_
    np.testing.assert_allclose(model.predict_proba(x), with_power(plain.predict_proba(x), model.power_))
    np.testing.assert_array_equal(model.predict(x), plain.predict(x))


def test_the_most_probable_power_has_the_smallest_loss_apart_from_its_prior() -> None:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([2.0, 2.0], 4000)
    codes = (rng.random(4000) > truth[:, 0]).astype(int)

    def loss(probabilities: NDArray[np.float64], _rows: Table) -> NDArray[np.float64]:
        return np.asarray(-np.log(probabilities[np.arange(4000), codes]))

    rows: Any = None
    for power in (0.5, 0.9):
        overconfident = with_power(truth, 1 / power)
        found, mean = structures._best_power([overconfident], [rows], loss, structures.POWERS)
        assert abs(found - power) < 0.15
        assert mean <= loss(truth, rows).mean() + 1e-3


def test_searches_share_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []

    class Searched:
        def fit(self, _table: Any) -> Any:
            self.fit_seconds_ = 0.0
            sleep(0.02)
            return self

    def learner_of(_learner: type, options: dict[str, Any]) -> Any:
        shares.append(options["max_seconds"])
        return Searched()

    monkeypatch.setattr(structures, "learner_of_options", learner_of)
    table: Any = None
    budget = Budget(1000.0, 3, 1)
    for _ in range(3):
        budget.fitted({}, table)
    budget.fitted({}, table, is_last=True)
    # the last search counts as three; what one search leaves over goes to the next ones
    np.testing.assert_allclose(shares, [1000 / 6, 1000 / 5, 1000 / 4, 1000], rtol=1e-2)
    assert budget.allows(3)
    hurried = Budget(0.05, 9, 1)
    hurried.fitted({}, table)
    assert not hurried.allows(3)
    assert hurried.n_shares == 3
    unlimited = Budget(None, 9, 1)
    unlimited.fitted({}, table)
    assert unlimited.allows(3)
    assert shares[-1] is None


def test_folds_are_left_out_where_the_time_is_short() -> None:
    x, y = repeated_features(120)
    model = BayesNetClassifier(BayesNetLearner(max_seconds=0.01, density="averaged"), random_state=1).fit(
        x, y
    )
    assert model.n_folds_ == 1
    whole = BayesNetClassifier(BayesNetLearner(max_seconds=None, max_evaluations=50), random_state=1).fit(
        x, y
    )
    assert whole.n_folds_ == 3


def test_an_average_around_the_target_predicts_as_the_whole_average() -> None:
    x, y = repeated_features()
    x["other"] = np.random.default_rng(1).normal(size=len(x))
    model = BayesNetClassifier(
        BayesNetLearner(max_seconds=None, max_evaluations=500, density="averaged"),
        structure="root",
        random_state=1,
    ).fit(x, y)
    part = average_of_blanket(model.network_, model.table_, "sick", n_copies=20, line="auto", random_state=0)
    assert set(part.names) == {"sick", *model.network_.markov_blanket("sick")}
    answers = [level_probabilities(density, x, "sick") for density in (part, model.network_)]
    # the copies have other cuts
    assert np.abs(answers[0] - answers[1]).mean() < 0.08
