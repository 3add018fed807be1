"""The choice of a structure by inner folds: the weights of families, and the time that searches share."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import lines_of
from processor_time import work_for

from gomea_bn import BayesNetClassifier, BayesNetLearner, BayesNetRegressor
from gomea_bn.learning import learning_problem
from gomea_bn.learning.averaging import mixture_fit
from gomea_bn.learning.averaging.families import average_of_blanket
from gomea_bn.prediction import structures
from gomea_bn.prediction.structures import Budget
from gomea_bn.prediction.weights import Weights, log_loss


def repeated_features(n: int = 240) -> tuple[pd.DataFrame, pd.Series]:
    """Return a class, and six features that are nearly the same measurement of it."""
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=n)
    shared = y + rng.normal(scale=1.0, size=n)
    x = pd.DataFrame({f"f{k}": shared + rng.normal(scale=0.05, size=n) for k in range(6)})
    return x, pd.Series(y, name="sick")


@pytest.mark.long
def test_features_that_repeat_each_other_get_small_weights():
    x, y = repeated_features()
    learner = BayesNetLearner(max_seconds=None, max_evaluations=300, max_indegree=1)
    model = BayesNetClassifier(learner, random_state=1).fit(x, y)
    plain = BayesNetClassifier(learner, structure=model.structure_, random_state=1).fit(x, y)
    assert (plain.power_, plain.weights_) == (1.0, {})
    assert plain.network_ == model.network_
    losses = [log_loss(y.to_numpy())(each.predict_proba(x))[0].mean() for each in (model, plain)]
    assert losses[0] < losses[1] - 0.05
    children = model.network_.children("sick")
    weights = [model.weights_.get(name, model.power_) for name in children]
    # the children copy one measurement and say no more than it
    assert len(children) > 1
    assert sum(weights) < 0.6 * len(children)


def test_searches_share_the_time_that_is_left(monkeypatch):
    shares = []

    class Searched:
        def fit(self, _table: Any, start: Any) -> Any:
            assert start is None
            self.fit_seconds_ = 0.0
            work_for(0.02)
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
    # the average over all rows takes 2.5 times as long as one search, of .02 s
    hurried = Budget(0.15, 9, 1)
    hurried.fitted({}, table)
    assert hurried.allows(1)
    assert not hurried.allows(3)
    hurried.expect(2)
    assert hurried.n_shares == 5
    unlimited = Budget(None, 9, 1)
    unlimited.fitted({}, table)
    assert unlimited.allows(3)
    assert shares[-1] is None


def test_a_structure_that_is_far_behind_is_not_tried_on_further_folds(monkeypatch):
    rng = np.random.default_rng(2)
    y = pd.Series(rng.integers(2, size=300), name="sick")
    # farther from 0 in both directions, which no slope says
    x = pd.DataFrame({f"f{k}": rng.normal(size=300) * (1 + 3 * y) for k in range(3)})
    searched, fitted = [], Budget.fitted

    def noting(budget: Budget, options: Any, table: Any, **how: Any) -> BayesNetLearner:
        most = options["max_indegree"]
        searched.append(most)
        # a search that finds nothing, where no edge is required
        return fitted(budget, {**options, "max_indegree": 0} if most == 5 else options, table, **how)

    monkeypatch.setattr(Budget, "fitted", noting)
    learner = BayesNetLearner(max_seconds=None, max_evaluations=200, max_indegree=5, density="bins")
    model = BayesNetClassifier(learner, random_state=1).fit(x, y)
    assert searched[:3] == [1, 2, 5]
    assert 5 not in searched[3:]
    assert (model.n_folds_, set(model.losses_)) == (3, {"naive", "tree", "free"})
    assert model.losses_["free"] > model.losses_[model.structure_] + 0.05


def moons(n_rows: int = 400) -> tuple[pd.DataFrame, pd.Series]:
    """Return two features that follow a mixture of lines given a class."""
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=n_rows)
    angle = rng.uniform(0, np.pi, n_rows)
    x = pd.DataFrame(
        {
            "right": np.cos(angle) + y + 0.1 * rng.normal(size=n_rows),
            "up": np.where(y, 0.5 - np.sin(angle), np.sin(angle)) + 0.1 * rng.normal(size=n_rows),
        }
    )
    return x, pd.Series(y, name="sick")


def test_features_away_from_the_class_have_slopes():
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.integers(2, size=(400, 8)), columns=[f"f{k}" for k in range(8)]).astype(str)
    y = pd.Series(x.astype(int).sum(axis=1) > 4, name="sick")
    # no edge around the class
    learner = BayesNetLearner(max_seconds=None, max_evaluations=1, max_indegree=0)
    model = BayesNetClassifier(learner, random_state=1).fit(x, y)
    assert model.structure_ == "free"
    assert not model.network_.markov_blanket("sick")
    assert (model.slopes_.abs().max(axis=1) > 0.5).all()
    assert model.losses_["free"] < 0.2


def test_the_last_search_begins_at_the_network_of_the_first_fold(monkeypatch):
    began, fit = [], BayesNetLearner.fit

    def noting(learner: BayesNetLearner, table: Any, **how: Any) -> BayesNetLearner:
        fit(learner, table, **how)
        began.append((how["start"], learner.network_))
        return learner

    monkeypatch.setattr(BayesNetLearner, "fit", noting)
    x, y = moons()
    model = BayesNetClassifier(BayesNetLearner(max_seconds=None, max_evaluations=300), random_state=1).fit(
        x, y
    )
    tried = list(model.losses_)
    assert [start for start, _ in began[:-1]] == [None] * (len(began) - 1)
    assert began[-1][0] is began[tried.index(model.structure_)][1]


def test_folds_prepare_a_table_once_for_all_structures(monkeypatch):
    made, first_cuts = [], learning_problem.first_cuts

    def counted(*given: Any) -> Any:
        made.append(given)
        return first_cuts(*given)

    monkeypatch.setattr(learning_problem, "first_cuts", counted)
    x, y = moons()
    model = BayesNetClassifier(BayesNetLearner(max_seconds=None, max_evaluations=50), random_state=1).fit(
        x, y
    )
    # one per fold, and that of all rows
    assert len(made) == model.n_folds_ + 1


def test_classes_are_predicted_without_mixtures_of_lines_where_time_is_short(monkeypatch):
    fitted, of_rows = [], mixture_fit.fitted_mixture

    def noting(*given: Any) -> Any:
        fitted.append(given)
        return of_rows(*given)

    monkeypatch.setattr(mixture_fit, "fitted_mixture", noting)
    x, y = moons()
    # four times the 5 s that small tables have by default
    quick, slow = (BayesNetLearner(max_seconds=limit, max_evaluations=100) for limit in (19.0, 21.0))
    model = BayesNetClassifier(quick, structure="augmented", random_state=1).fit(x, y)
    assert model.network_.conditionals is not None
    assert lines_of(model.network_)
    assert not fitted
    BayesNetClassifier(slow, structure="augmented", random_state=1).fit(x, y)
    n_fitted = len(fitted)
    assert n_fitted
    BayesNetRegressor(quick, structure="free", random_state=1).fit(x[["right"]], x["up"])
    assert len(fitted) > n_fitted


def test_structures_are_left_out_where_the_time_is_short(monkeypatch):
    left, fitted = [], Budget.fitted

    def noting(budget: Budget, *given: Any, **how: Any) -> BayesNetLearner:
        left.append(budget.n_shares)
        return fitted(budget, *given, **how)

    monkeypatch.setattr(Budget, "fitted", noting)
    monkeypatch.setattr(Budget, "allows", lambda _budget, _n: False)
    x, y = moons()
    model = BayesNetClassifier(BayesNetLearner(max_seconds=30, max_evaluations=50), random_state=1).fit(x, y)
    assert (model.structure_, list(model.losses_), model.n_folds_) == ("naive", ["naive"], 1)
    # the last search has the time of those that are left out
    assert left == [12, 3]


def test_the_best_structure_alone_is_tried_on_further_folds_where_the_time_is_short(monkeypatch):
    searched, fitted = [], Budget.fitted

    def noting(budget: Budget, options: Any, table: Any, **how: Any) -> BayesNetLearner:
        searched.append((options["max_indegree"], budget.n_shares))
        return fitted(budget, options, table, **how)

    monkeypatch.setattr(Budget, "fitted", noting)
    monkeypatch.setattr(Budget, "allows", lambda _budget, n: n <= 1)
    x, y = moons()
    learner = BayesNetLearner(max_seconds=30, max_evaluations=300, max_indegree=5)
    model = BayesNetClassifier(learner, random_state=1).fit(x, y)
    # "naive" takes the features for independent given the class
    assert model.losses_["tree"] < model.losses_["naive"] - 0.05
    assert [most for most, _ in searched] == [1, 2, 5, *[searched[-1][0]] * 3]
    assert (model.structure_ != "naive", model.n_folds_, set(model.losses_)) == (
        True,
        3,
        {"naive", "tree", "free"},
    )
    # the searches that are left share the time with the last one, which counts as three
    assert [shares for _, shares in searched] == [12, 11, 10, 5, 4, 3]


@pytest.mark.parametrize(("behind", "chosen"), [(0.005, "naive"), (0.2, "tree")])
def test_the_first_structure_within_a_standard_error_is_chosen(monkeypatch, behind, chosen):
    rng = np.random.default_rng(3)
    y = pd.Series(rng.integers(2, size=120), name="sick")
    x = pd.DataFrame({"f": np.where(rng.random(120) < 0.8, y, 0).astype(str)})
    # with a difference of mean `behind` and standard error .009
    noise = np.tile([0.1, -0.1], 60)
    judged = iter([1.0 + behind + noise, np.ones(120), 1.1 + noise])

    def weighted(*_: Any) -> tuple[Weights, np.ndarray]:
        return Weights(), next(judged)

    monkeypatch.setattr(structures, "_weighted", weighted)
    monkeypatch.setattr(structures, "_ERRORS_BEHIND", 1e9)
    learner = BayesNetLearner(max_seconds=None, max_evaluations=1, density="bins")
    model = BayesNetClassifier(learner, random_state=1).fit(x, y)
    assert list(model.losses_) == ["naive", "tree", "free"]
    assert model.structure_ == chosen


@pytest.mark.long
def test_folds_are_left_out_where_the_time_is_short():
    x, y = repeated_features(120)
    model = BayesNetClassifier(BayesNetLearner(max_seconds=0.01, density="averaged"), random_state=1).fit(
        x, y
    )
    assert model.n_folds_ == 1
    whole = BayesNetClassifier(BayesNetLearner(max_seconds=None, max_evaluations=50), random_state=1).fit(
        x, y
    )
    assert whole.n_folds_ == 3


@pytest.mark.long
def test_an_average_around_the_target_predicts_as_the_whole_average():
    x, y = repeated_features()
    x["other"] = np.random.default_rng(1).normal(size=len(x))
    model = BayesNetClassifier(
        BayesNetLearner(max_seconds=None, max_evaluations=500, density="averaged"),
        structure="root",
        random_state=1,
    ).fit(x, y)
    part = average_of_blanket(model.network_, model.table_, "sick", n_copies=20, line="auto", random_state=0)
    assert set(part.names) == {"sick", *model.network_.markov_blanket("sick")}
    answers = [density.predict_proba(x, "sick").to_numpy() for density in (part, model.network_)]
    # the copies have other cuts
    assert np.abs(answers[0] - answers[1]).mean() < 0.08
