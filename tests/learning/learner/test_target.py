"""`BayesNetLearner(target=...)`: one network of all columns that predicts one of them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import ok, refused_last
from numpy.testing import assert_allclose

from gomea_bn import (
    BayesNetClassifier,
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    network_report,
)
from gomea_bn.prediction import cross_validate


def rows(n_rows: int = 800, seed: int = 0) -> pd.DataFrame:
    """Return an outcome of weak causes, one of which follows another, and a column that follows the outcome."""
    r = np.random.default_rng(seed)
    age = r.normal(60, 12, n_rows)
    dose = age / 12 + r.normal(size=n_rows)
    ward = np.array(["n", "s", "w"])[r.integers(0, 3, n_rows)]
    noise = r.normal(size=n_rows)
    index = 0.05 * (age - 60) + 0.8 * (ward == "s") + 0.5 * (dose - 5) - 1
    outcome = r.random(n_rows) < 1 / (1 + np.exp(-index))
    later = np.where(r.random(n_rows) < 0.85, outcome, ~outcome)
    words = np.array(["no", "yes"])
    return pd.DataFrame(
        {
            "age": age,
            "dose": dose,
            "ward": ward,
            "noise": noise,
            "outcome": words[outcome.astype(int)],
            "later": words[later.astype(int)],
        }
    )


def learned(frame: pd.DataFrame, target: str = "outcome", **options: Any) -> DiscretizedBayesNet:
    options = {"max_evaluations": 400, "max_seconds": None, "random_state": 1, **options}
    return BayesNetLearner(target=target, **options).fit(frame).network_


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    return learned(rows().drop(columns="later"))


def test_the_target_comes_last_and_the_rest_follows_the_score(network: DiscretizedBayesNet) -> None:
    assert set(network.parents("outcome")) >= {"age", "dose", "ward"}
    assert not network.children("outcome")
    assert {"age", "dose"} <= set(network.markov_blanket("dose")) | {"dose"}
    assert network.metadata["target"] == "outcome"
    gains = dict(network.metadata["parents"]["outcome"])
    assert set(gains) == set(network.parents("outcome"))
    assert gains["age"] + gains["dose"] > 10
    assert "logistic regression" in network.summary()


def test_it_predicts_new_rows_as_a_logistic_regression(network: DiscretizedBayesNet) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    train, new = (
        pd.get_dummies(frame.drop(columns=["later", "outcome"])) for frame in (rows(), rows(4_000, 1))
    )
    centre, spread = train.mean(), train.std()
    model = linear.LogisticRegression().fit((train - centre) / spread, rows()["outcome"])
    of_new = rows(4_000, 1).drop(columns="later")
    is_yes = of_new["outcome"].to_numpy() == "yes"
    own = network.predict_proba(of_new.drop(columns="outcome"), "outcome")["yes"].to_numpy()
    other = model.predict_proba((new - centre) / spread)[:, 1]
    losses = [-np.log(np.where(is_yes, p, 1 - p)).mean() for p in (own, other)]
    assert losses[0] < losses[1] + 0.005


def test_files_and_the_page_know_the_target(network: DiscretizedBayesNet) -> None:
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again == network
    new = rows(50, 2).drop(columns=["later", "outcome"])
    assert_allclose(again.predict_proba(new, "outcome"), network.predict_proba(new, "outcome"))
    page = network_report(network, rows().drop(columns="later"))
    assert "predicts outcome" in page
    assert f'"target":{network.names.index("outcome")}' in page
    assert '"target":null' in network_report(network.of_tables().with_metadata(target=5))


def test_the_order_of_rows_and_columns_changes_nothing(network: DiscretizedBayesNet) -> None:
    frame = rows().drop(columns="later").sample(frac=1, random_state=3).reset_index(drop=True)
    moved = learned(frame[["noise", "outcome", "ward", "dose", "age"]])
    assert set(moved.edges) == set(network.edges)
    new = rows(50, 2).drop(columns=["later", "outcome"])
    assert_allclose(moved.predict_proba(new, "outcome"), network.predict_proba(new, "outcome"), atol=1e-9)


def test_knowledge_holds() -> None:
    knowledge = ExpertKnowledge(
        required_edges=[("noise", "outcome")],
        forbidden_edges=[("age", "outcome")],
        temporal_order=[["age", "dose"], ["outcome"], ["later"]],
    )
    network = learned(rows(), knowledge=knowledge)
    assert ("noise", "outcome") in network.edges
    assert ("age", "outcome") not in network.edges
    # what comes after the target may follow it, and is no parent
    assert network.children("outcome") == ("later",)
    assert "later" not in network.parents("outcome")
    assert {"dose", "ward"} <= set(network.parents("outcome"))
    few = learned(rows(), max_indegree=2)
    assert len(few.parents("outcome")) == 2


def test_missing_cells_count_nothing() -> None:
    frame = rows().drop(columns="later")
    r = np.random.default_rng(9)
    frame.loc[r.random(len(frame)) < 0.2, "dose"] = np.nan
    frame.loc[r.random(len(frame)) < 0.2, "ward"] = None
    network = learned(frame)
    assert set(network.parents("outcome")) >= {"age", "dose", "ward"}
    answers = network.predict_proba(frame.drop(columns="outcome"), "outcome")["yes"]
    assert np.isfinite(answers).all()


def test_a_number_is_a_target_too() -> None:
    frame = rows().drop(columns=["later", "outcome"])
    r = np.random.default_rng(4)
    frame["length"] = 0.05 * frame["age"] + 0.4 * frame["dose"] + (frame["ward"] == "w") + r.normal(size=800)
    network = learned(frame, "length")
    assert set(network.parents("length")) >= {"age", "dose", "ward"}
    assert not network.children("length")
    predicted = network.predict(frame.drop(columns="length"), "length")
    assert np.corrcoef(predicted, frame["length"])[0, 1] > 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "outcom"}, "must be a column of the table, got 'outcom'.* 'outcome'"),
        ({"target": "same"}, "must have several values"),
        ({"target": "gaps"}, "must not have missing values, got 1 missing value of 'gaps'"),
        ({"target": "many"}, "must have at most 12 levels, got 30 of 'many'"),
        ({"density": "bins"}, "needs a density of effects"),
    ],
)
def test_what_cannot_be_a_target(options: dict[str, Any], message: str) -> None:
    frame = rows(60).assign(same="x", many=[f"m{k}" for k in range(30)] * 2)
    frame["gaps"] = ["a", None, *"ab" * 29]
    with pytest.raises(GomeaBnError, match=message):
        learned(frame, **options)


def test_tables_in_pieces_have_no_target() -> None:
    with pytest.raises(GomeaBnError, match="target needs a table in memory"):
        BayesNetLearner(target="outcome").fit([rows(50), rows(50)])
    with pytest.raises(GomeaBnError, match=r"needs all rows in the search, got 1,200 rows of which 1,000"):
        learned(rows(1_200), sample_rows=1_000)


def lived(n_rows: int = 3_000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return times that may be censored, mostly where the arm is b, and the true risk of the event within 8."""
    r = np.random.default_rng(seed)
    age, arm = r.normal(60, 10, n_rows), np.array(["a", "b"])[r.integers(0, 2, n_rows)]
    rate = np.exp(-2.8 + 0.05 * (age - 60) + 0.8 * (arm == "b"))
    until, censored = r.exponential(1 / rate), np.minimum(r.exponential(15, n_rows), r.uniform(4, 30, n_rows))
    frame = pd.DataFrame(
        {
            "age": age.round(1),
            "arm": arm,
            "noise": r.normal(size=n_rows),
            "time": np.minimum(until, censored).round(4),
            "event": (until <= censored).astype(int),
        }
    )
    return frame, 1 - np.exp(-8 * rate)


def test_a_target_with_a_time_is_the_event_within_the_horizon() -> None:
    frame, risk = lived()
    with warnings.catch_warnings():
        # with the option the pair of columns is no news
        warnings.simplefilter("error")
        network = learned(frame, "event", duration="time", horizon=8)
    assert "time" not in network.names
    assert set(network.parents("event")) >= {"age", "arm"}
    asked = frame.drop(columns=["time", "event"])
    answers = network.predict_proba(asked, "event").iloc[:, 1].to_numpy()
    assert answers.mean() == pytest.approx(risk.mean(), abs=0.02)
    assert np.abs(answers - risk).mean() < 0.03
    for arm in "ab":
        assert answers[frame["arm"] == arm].mean() == pytest.approx(
            risk[frame["arm"] == arm].mean(), abs=0.03
        )
    # the rows that were not lost, as they are, have events more often
    known = frame[(frame["event"] == 1) | (frame["time"] >= 8)]
    assert ((known["event"] == 1) & (known["time"] <= 8)).mean() > risk.mean() + 0.05
    said = network.metadata["censoring"]
    assert (said["duration"], said["horizon"], said["n_rows"]) == ("time", 8.0, 3_000)
    assert "'event' is the event within 8 by 'time' (as given)" in network.summary()
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again.summary() == network.summary()
    assert "is the event within" not in network.with_metadata(censoring={"duration": 3}).summary()


def test_times_go_with_no_other_way_to_count_rows() -> None:
    frame, _ = lived(200)
    quick: dict[str, Any] = {"max_evaluations": 50, "max_seconds": None}
    for options, words in (
        ({"duration": "time"}, "needs the column of the event as target"),
        ({"horizon": 3.0, "target": "event"}, "horizon is that of a column of times"),
        ({"duration": "tyme", "target": "event"}, "unknown column 'tyme'"),
        ({"duration": 3, "target": "event"}, "duration must be the name of a column or None, got 3"),
    ):
        with pytest.raises(GomeaBnError, match=words):
            BayesNetLearner(**quick, **options).fit(frame)
    learner = BayesNetLearner(**quick, target="event", duration="time")
    with pytest.raises(GomeaBnError, match="duration and sample_weight both decide"):
        learner.fit(frame, sample_weight=np.linspace(0.5, 1.7, 200))
    for use in (
        lambda: BayesNetEnsemble(learner, n_networks=2).fit(frame),
        lambda: cross_validate(frame, learner=learner, folds=2),
        lambda: BayesNetClassifier(learner=learner).fit(frame.drop(columns="event"), frame["event"]),
    ):
        with pytest.raises(GomeaBnError, match=r"duration is an option of `BayesNetLearner\.fit` alone"):
            use()


def test_the_command_takes_times(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "run"
    lived(400)[0].to_csv(path, index=False)
    options = ["--max-seconds", "0", "--max-evaluations", "200", "--seed", "1"]
    noticed = ok("learn", path, *options).stderr
    assert "takes --target event and --duration time." in noticed
    result = ok("learn", path, *options, "--target", "event", "--duration", "time", "--out", out)
    assert "looks like the time" not in result.stderr
    assert "'event' is the event within" in result.stderr
    assert "half of the rows and after which a tenth is observed" in ok("show", out).stdout
    record = json.loads((out / "run.json").read_text())
    assert record["parameters"]["duration"] == "time"
    assert record["data"]["censoring"]["n_rows"] == 400
    ok("confidence", out, "--max-seconds", "2")
    wanted = ["--target", "event", "--duration", "time"]
    for further, words in (
        (["--target", "event", "--horizon", "5"], "--horizon is that of a column of times"),
        (["--duration", "time", "--weight", "age"], "--weight and --duration both decide"),
        ([*wanted, "--horizon", "1e9"], "--horizon must be below the longest time"),
    ):
        assert words in refused_last(2, "learn", path, *options, *further)


def test_a_target_that_nothing_explains_has_a_network() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "x": rng.normal(size=120),
                "z": rng.normal(size=120),
                "c": rng.choice(list("abcd"), 120),
                "d": rng.choice(list("uvw"), 120),
                "y": rng.integers(0, 2, 120),
            }
        )
        network = BayesNetLearner(max_evaluations=100, random_state=0, target="y").fit(frame).network_
        share = network.predict_proba(frame, "y").to_numpy()
        assert np.allclose(share.sum(axis=1), 1.0)
