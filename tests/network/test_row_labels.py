"""Whether answers about rows of a frame are the same whatever its labels of rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import (
    BayesNetClassifier,
    BayesNetEnsemble,
    BayesNetLearner,
    BayesNetRegressor,
    DiscretizedBayesNet,
    ParetoBayesNetLearner,
    average_families,
    lagged,
    read_table,
)
from gomea_bn.discretization import MDLP, EqualFrequency

N_ROWS = 120
LABELS: dict[str, Any] = {
    "shuffled": pd.Index(np.random.default_rng(5).permutation(N_ROWS)),
    "equal": pd.Index(np.zeros(N_ROWS, np.int64)),
    "texts": pd.Index([f"row {7 * k % N_ROWS}" for k in range(N_ROWS)]),
    "of two levels": pd.MultiIndex.from_arrays([np.arange(N_ROWS) % 3, np.arange(N_ROWS) % 2]),
    "missing": pd.Index([np.nan] * N_ROWS),
}
SEARCH: dict[str, Any] = {"max_evaluations": 200, "max_seconds": 600, "random_state": 1}


def rows_of() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    x = generator.normal(size=N_ROWS)
    grades = np.digitize(x + generator.normal(size=N_ROWS), [-0.5, 0.5])
    return pd.DataFrame(
        {
            "x": x,
            "k": pd.array(generator.poisson(np.exp(0.4 * x + 1)), dtype="Int64"),
            "n": generator.integers(0, 60, N_ROWS),
            "grade": pd.Categorical(
                np.array(["low", "mid", "high"])[grades], ["low", "mid", "high"], ordered=True
            ),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta((30 * x).round() + 200, unit="D"),
            "y": pd.array(np.where(x + generator.logistic(size=N_ROWS) > 0, "yes", "no"), dtype="string"),
        }
    )


COMPLETE = rows_of()
GAPS = COMPLETE.mask(np.random.default_rng(2).random(COMPLETE.shape) < 0.15)
DAY = "day [days since 1970-01-01]"
NETWORK = DiscretizedBayesNet.from_table(
    read_table(COMPLETE, kinds={"k": "continuous"}),
    [("x", "y"), ("x", "k"), ("x", "grade"), ("x", DAY)],
    {"x": [-0.5, 0.5], "k": [1.5, 3.5], "n": [20.0, 40.0], DAY: [18_450.0]},
    pseudo_count=1.0,
)
AVERAGED = average_families(NETWORK, COMPLETE, n_copies=2)
ENSEMBLE = BayesNetEnsemble(BayesNetLearner(max_evaluations=50), n_networks=2, random_state=1).fit(COMPLETE)
WEIGHTS = np.arange(N_ROWS) % 3 + 1.0


def features(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["x", "n", "grade"]]


def with_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows of which some have a level that no network knows."""
    return frame.assign(grade=np.where(np.arange(len(frame)) % 2, "other", "low"))


OF_ROWS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "predict a count": lambda rows: AVERAGED.predict(rows, "k"),
    "predict a number": lambda rows: AVERAGED.predict(rows, "x", "mean"),
    "predict a day": lambda rows: AVERAGED.predict(rows, "day"),
    "predict a level": lambda rows: NETWORK.predict(rows, "grade"),
    "predict next to unknown levels": lambda rows: NETWORK.predict(with_levels(rows), "y"),
    "predict_proba": lambda rows: AVERAGED.predict_proba(rows, "y"),
    "predict_interval": lambda rows: AVERAGED.predict_interval(rows, "n"),
    "query": lambda rows: NETWORK.query("y", rows[["x", "grade"]]),
    "log_density": lambda rows: AVERAGED.log_density(rows),
    "log_density given": lambda rows: NETWORK.log_density(rows, of=["y"], given=["x", "k"]),
    "score": lambda rows: AVERAGED.score(rows),
    "impute by draws": lambda rows: NETWORK.impute(rows, random_state=1),
    "impute by means": lambda rows: AVERAGED.impute(rows, how="mean", random_state=1),
    "impute next to unknown levels": lambda rows: NETWORK.impute(with_levels(rows), random_state=1),
    "drift": lambda rows: str(NETWORK.drift(rows)),
    "update": lambda rows: NETWORK.update(rows).tables,
    "explain with rows": lambda rows: NETWORK.with_rows(rows, WEIGHTS).explain("y", {"x": 1.0}).pushes,
    "log_density of an ensemble": lambda rows: ENSEMBLE.log_density(rows),
    "fit": lambda rows: BayesNetLearner(**SEARCH).fit(rows[["k", "y"]]).score_samples(rows),
}
OF_COMPLETE: dict[str, Callable[[pd.DataFrame], Any]] = {
    "discretize": lambda rows: NETWORK.discretize(rows),
    "log_density_terms": lambda rows: NETWORK.log_density_terms(rows),
    "from_table": lambda rows: (
        DiscretizedBayesNet.from_table(rows[["x", "y"]], [("x", "y")], {"x": [0.0]}).tables
    ),
    "average_families": lambda rows: average_families(NETWORK, rows, n_copies=2).log_density(rows),
    "fit with weights": lambda rows: (
        BayesNetLearner(**SEARCH).fit(rows, sample_weight=pd.Series(WEIGHTS, rows.index)).network_.tables
    ),
    "fit of a front": lambda rows: ParetoBayesNetLearner(**SEARCH).fit(rows).front_.values,
    "classifier": lambda rows: (
        BayesNetClassifier(BayesNetLearner(max_evaluations=200), random_state=1)
        .fit(features(rows), rows["y"])
        .predict_proba(features(rows))
    ),
    "regressor": lambda rows: (
        BayesNetRegressor(BayesNetLearner(max_evaluations=200), random_state=1)
        .fit(rows[["n", "grade"]], rows["x"])
        .predict_interval(rows[["n", "grade"]])
        .to_numpy()
    ),
    "equal frequency": lambda rows: EqualFrequency().fit_transform(rows[["x", "n"]]),
    "MDLP": lambda rows: MDLP().fit_transform(rows[["x", "n", "y"]], "y"),
    "lagged": lambda rows: lagged(rows[["x", "n", "y"]].assign(t=range(N_ROWS)), time="t", lags=2)[
        0
    ].to_numpy(),
}


def plain(answer: Any) -> Any:
    """Return an answer without the labels of its rows."""
    if isinstance(answer, pd.DataFrame):
        return [plain(answer.iloc[:, k]) for k in range(answer.shape[1])]
    if isinstance(answer, pd.Series):
        return [str(answer.dtype), *map(repr, answer.tolist())]
    if isinstance(answer, np.ndarray):
        return repr(answer.tolist())
    if hasattr(answer, "items"):
        return {name: plain(value) for name, value in answer.items()}
    return repr(answer)


def check(answer: Callable[[pd.DataFrame], Any], rows: pd.DataFrame) -> None:
    expected = plain(answer(rows))
    for labels in LABELS.values():
        found = answer(rows.set_axis(labels, axis=0))
        assert plain(found) == expected
        if isinstance(found, (pd.DataFrame, pd.Series)) and len(found) == len(rows):
            assert found.index.equals(labels)


@pytest.mark.filterwarnings("ignore::gomea_bn.GomeaBnWarning")
@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("has_gaps", [False, True])
def test_answers_about_rows_do_not_depend_on_their_labels(name: str, has_gaps: bool) -> None:
    check(OF_ROWS[name], GAPS if has_gaps else COMPLETE)


@pytest.mark.filterwarnings("ignore::gomea_bn.GomeaBnWarning")
@pytest.mark.parametrize("name", OF_COMPLETE)
def test_answers_about_complete_rows_do_not_depend_on_their_labels(name: str) -> None:
    check(OF_COMPLETE[name], COMPLETE)
