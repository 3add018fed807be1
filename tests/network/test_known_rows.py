"""Rows of a network: symbols of missing values as in the fit, and levels that it does not know."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import (
    BayesNetClassifier,
    BayesNetLearner,
    DiscretizedBayesNet,
    GomeaBnError,
    GomeaBnWarning,
    read_table,
)
from gomea_bn.cli.statements import read_statements

QUICK: dict[str, Any] = {"max_evaluations": 50, "max_seconds": None, "random_state": 1}


def table(symbol: object, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    level = np.where(x > 0, "u", "v").astype(object)
    level[rng.random(n) < 0.2] = symbol
    count = np.clip(np.round(2 + x), 0, 4).astype(int)
    return pd.DataFrame({"x": x, "c": level, "count": count})


def ways(network: DiscretizedBayesNet, frame: pd.DataFrame) -> list[object]:
    """Return what methods that take rows answer."""
    return [
        network.log_density(frame).tolist(),
        network.score(frame),
        network.predict(frame, "x").tolist(),
        network.predict_proba(frame, "count").to_numpy().tolist(),
        network.predict_interval(frame, "x").to_numpy().tolist(),
        network.update(frame).tables["c"].tolist(),
        network.impute(frame, "mean")["c"].tolist(),
    ]


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    return BayesNetLearner(**QUICK).fit(table(None)).network_


@pytest.mark.filterwarnings("ignore::gomea_bn.errors.GomeaBnWarning")
@pytest.mark.parametrize("symbol", ["NA", "?", " nan ", "-", "null"])
def test_rows_are_read_as_in_the_fit(symbol):
    frame = table(symbol)
    # a column of numbers apart from its symbols
    frame["text"] = [f"{v:.3f}" for v in frame["x"] + np.random.default_rng(1).normal(size=len(frame))]
    frame.loc[::7, "text"] = symbol
    network = BayesNetLearner(**QUICK).fit(frame).network_
    assert network.levels["c"] == ("u", "v")
    assert "text" in network.support
    missing = frame.mask(frame == symbol)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Levels")
        assert ways(network, frame) == ways(network, missing)
    assert network.drift(frame).equals(network.drift(missing))


@pytest.mark.filterwarnings("ignore::gomea_bn.errors.GomeaBnWarning")
def test_symbols_that_are_levels_stay_levels():
    frame = table("NA").astype({"c": pd.CategoricalDtype(["NA", "u", "v"])})
    network = BayesNetLearner(**QUICK).fit(frame).network_
    assert network.levels["c"] == ("NA", "u", "v")
    texts = frame.astype({"c": object})
    np.testing.assert_array_equal(network.log_density(texts), network.log_density(frame))
    assert network.impute(texts, "mode")["c"].tolist() == frame["c"].tolist()


@pytest.mark.filterwarnings("ignore::gomea_bn.errors.GomeaBnWarning")
def test_symbols_of_a_reading_are_remembered():
    frame = table("gone")
    frame.loc[::9, "x"] = -999.0
    network = (
        BayesNetLearner(**QUICK).fit(read_table(frame, na_values=["gone", -999], missing="keep")).network_
    )
    network = DiscretizedBayesNet.from_json(network.to_json())
    missing = frame.assign(x=frame["x"].mask(frame["x"] == -999), c=frame["c"].mask(frame["c"] == "gone"))
    np.testing.assert_array_equal(network.log_density(frame), network.log_density(missing))


def test_an_unknown_level_counts_as_missing(network):
    frame = table(None)
    odd = frame.assign(
        c=frame["c"].mask(frame.index == 3, "w"), count=frame["count"].mask(frame.index == 5, 7)
    )
    missing = frame.assign(
        c=frame["c"].mask(frame.index == 3), count=frame["count"].astype(float).mask(frame.index == 5)
    )
    text = "count as missing: 'w' of 'c' in 1 row, 7 of 'count' in 1 row"
    with pytest.warns(GomeaBnWarning, match=text) as caught:
        density = network.log_density(odd)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(density, network.log_density(missing))
    with pytest.warns(GomeaBnWarning, match="Levels"):
        assert ways(network, odd)[:-1] == ways(network, missing)[:-1]
    # nothing of a user's is overwritten
    with pytest.warns(GomeaBnWarning, match="Levels"):
        filled = network.impute(odd, "mode")
    assert (filled["c"][3], filled["count"][5]) == ("w", 7)
    assert not filled.isna().any().any()


def test_an_unknown_level_may_count_as_the_nearest(network):
    frame = table(None).dropna()
    far = frame.assign(count=frame["count"].replace(4, 9))
    with pytest.warns(GomeaBnWarning, match="9 of 'count' in"):
        density = network.log_density(far, unknown="nearest")
    np.testing.assert_array_equal(density, network.log_density(frame))
    ordered = pd.CategoricalDtype(["low", "mid", "high", "top"], ordered=True)
    sizes = frame.assign(
        size=pd.Categorical(np.where(frame["x"] > 0, "high", "low"), ["low", "high"], ordered=True)
    )
    of_sizes = BayesNetLearner(**QUICK).fit(sizes).network_
    top = sizes.assign(size=pd.Series(np.where(sizes["x"] > 0, "top", "low"), sizes.index).astype(ordered))
    with pytest.warns(GomeaBnWarning, match="'top' of 'size'"):
        density = of_sizes.log_density(top, unknown="nearest")
    np.testing.assert_array_equal(density, of_sizes.log_density(sizes))


@pytest.mark.parametrize(("far", "level"), [(np.inf, 4), (-np.inf, 0), ("9", 4), (" -1e3 ", 0), (2**70, 4)])
def test_the_nearest_level_of_a_number_is_that_of_its_text_and_of_the_infinite(network, far, level):
    frame = table(None).dropna()
    chosen = frame["count"] == level
    odd = frame.assign(count=frame["count"].astype(object).where(~chosen, far))
    with pytest.warns(GomeaBnWarning, match=f"of 'count' in {chosen.sum()} row"):
        density = network.log_density(odd, unknown="nearest")
    np.testing.assert_array_equal(density, network.log_density(frame))


@pytest.mark.parametrize("unknown", ["missing", "nearest"])
@pytest.mark.parametrize("has_gap", [True, False])
def test_imputed_rows_keep_unknown_levels_with_and_without_gaps(network, unknown, has_gap):
    frame = table(None).dropna().reset_index(drop=True)
    odd = frame.assign(count=frame["count"].replace(4, 9).astype("Int64"))
    if has_gap:
        odd.loc[0, "count"] = pd.NA
    with pytest.warns(GomeaBnWarning, match="9 of 'count'"):
        filled = network.impute(odd, "mode", unknown=unknown)
    expected = odd["count"].fillna(filled.loc[0, "count"])
    pd.testing.assert_series_equal(filled["count"], expected)


def test_an_unknown_level_may_be_refused(network):
    odd = table(None).assign(c="w")
    for method in (network.log_density, network.score, network.update, network.impute):
        with pytest.raises(GomeaBnError, match="'c' has unknown level 'w'"):
            method(odd, unknown="error")
    with pytest.raises(GomeaBnError, match="unknown must be one of 'missing'"):
        network.predict(odd, "x", unknown="drop")
    with pytest.raises(GomeaBnError, match="must be one of the levels"):
        network.query("x", {"c": "w"})


def test_predictors_have_the_option():
    frame = table("u").astype({"c": str})
    model = BayesNetClassifier(BayesNetLearner(**QUICK), structure="naive", random_state=1)
    model.fit(frame[["x", "count"]], frame["c"])
    far = frame[["x"]].assign(count=9)
    with pytest.warns(GomeaBnWarning, match="9 of 'count' in 200 rows"):
        missing = model.predict_proba(far)
    np.testing.assert_allclose(missing, model.predict_proba(far.assign(count=np.nan)))
    with pytest.warns(GomeaBnWarning, match="nearest"):
        nearest = model.set_params(unknown="nearest").predict_proba(far)
    np.testing.assert_array_equal(nearest, model.predict_proba(far.assign(count=4)))
    with pytest.raises(GomeaBnError, match="unknown level 9"):
        model.set_params(unknown="error").predict_proba(far)


def test_files_of_earlier_versions_are_read(network, tmp_path: Path):
    path = tmp_path / "network.json"
    network.to_json(path)
    assert "na_values" not in network.metadata
    assert DiscretizedBayesNet.from_json(path) == network


def measured(numbers):
    """Return a table with texts in units, and the same one with numbers."""
    texts = pd.DataFrame({"x": numbers, "mass": [f"{40 + n / 7:.3f} kg" for n in numbers]})
    return texts, texts.assign(mass=[float(text.removesuffix(" kg")) for text in texts["mass"]])


def test_texts_with_units_are_read_as_in_the_fit():
    texts, numbers = measured(np.random.default_rng(1).permutation(60) / 3)
    learner = BayesNetLearner(max_evaluations=100, random_state=1).fit(read_table(texts, decimal="."))
    restored = DiscretizedBayesNet.from_json(learner.network_.to_json())
    # a row of its own does not say which mark it has
    for network, rows in ((restored, slice(None)), (restored, slice(0, 1)), (learner.network_, slice(3, 9))):
        written, read = texts[rows], numbers[rows]
        assert network.log_density(written).tolist() == network.log_density(read).tolist()
        assert network.predict(written, "x").tolist() == network.predict(read, "x").tolist()
        assert network.impute(written.drop(columns="x").assign(x=np.nan), "mean")["mass"].tolist() == (
            read["mass"].tolist()
        )
        assert network.update(written).to_json() == network.update(read).to_json()
    assert learner.score(texts) == learner.score(numbers)
    has_gap = np.arange(60) % 4 == 0
    gaps, gaps_read = (frame.assign(mass=frame["mass"].mask(has_gap)) for frame in (texts, numbers))
    assert restored.predict(gaps, "x").tolist() == restored.predict(gaps_read, "x").tolist()


def test_questions_take_texts_as_rows_do():
    texts, _ = measured(np.arange(60) / 3)
    learner = BayesNetLearner(max_evaluations=100, random_state=1).fit(read_table(texts, decimal="."))
    network = learner.network_

    def answer(mass: Any) -> list[float]:
        return np.asarray(network.query("x", {"mass": mass})).tolist()

    for text in ("45.5 kg", "45,5 kg", "45,5", "45.5"):
        assert answer(text) == answer(45.5)
        assert read_statements("--given", [f"mass={text}"], network) == {"mass": 45.5}
        row = pd.DataFrame({"x": [np.nan], "mass": [text]})
        # the table has decimal points
        if "," not in text:
            assert network.predict(row, "x").tolist() == network.predict(row.assign(mass=45.5), "x").tolist()
    assert answer(("42 kg", "45 kg")) == answer((42.0, 45.0))
    with pytest.raises(GomeaBnError, match="the numbers of 'mass' are in kg, got '45 lb'"):
        answer("45 lb")
    for wrong in ("<45 kg", "inf", "heavy"):
        with pytest.raises(GomeaBnError, match=r"evidence\['mass'\] must be a .*number"):
            answer(wrong)
    with pytest.raises(GomeaBnError, match="the numbers of 'x' have no unit"):
        network.query("mass", {"x": "3 kg"})


def test_texts_of_a_date_are_dates() -> None:
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), "D")
    rows = read_table(pd.DataFrame({"day": days, "k": np.arange(60) % 2}))
    day = rows.names[0]
    network = DiscretizedBayesNet.from_table(rows, [(day, "k")], {day: [19_750.0]})

    def answer(value: Any) -> list[float]:
        return np.asarray(network.query("k", {day: value})).tolist()

    assert answer("2024-02-01") == answer(pd.Timestamp("2024-02-01"))
    for wrong in ("5", "19,760"):
        with pytest.raises(GomeaBnError, match="must be a number, or a date"):
            answer(wrong)


@pytest.mark.parametrize("wrong", ["41 lb", "heavy"])
def test_texts_of_another_unit_are_refused_by_row(wrong):
    texts, _ = measured(np.arange(60) / 3)
    network = (
        BayesNetLearner(max_evaluations=100, random_state=1).fit(read_table(texts, decimal=".")).network_
    )
    texts.loc[[5, 7], "mass"] = wrong
    with pytest.raises(
        GomeaBnError, match=f"'mass' must hold what reads as 'number in kg'.* got '{wrong}' in rows 5, 7"
    ):
        network.predict(texts, "x")
