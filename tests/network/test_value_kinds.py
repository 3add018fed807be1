"""Values of a column's own kind in drawn rows, predictions and filled cells."""

import datetime
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.data.frames import as_stored
from gomea_bn.network.parts import ValueKind, measuring_step

CUTS: dict[str, list[float]] = {
    "age": [18, 40], "weight": [70.25], "x": [0.5], "day [days since 1970-01-01]": [18_300],
    "wait [seconds]": [90.0], "start [hours]": [12.0],
}  # fmt: skip
EDGES = [("age", "weight"), ("day [days since 1970-01-01]", "wait [seconds]"), ("grade", "x")]


def frame(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    minutes = rng.integers(0, 24 * 60, n)
    return pd.DataFrame(
        {
            "age": rng.integers(1, 90, n),
            "weight": np.round(rng.normal(70, 9, n), 1),
            "x": rng.random(n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 200, n), unit="D"),
            "wait": pd.to_timedelta(rng.integers(0, 180, n), unit="s"),
            "start": [datetime.time(m // 60, m % 60) for m in minutes],
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "town": rng.choice(["A", "B"], n),
        }
    )


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    return DiscretizedBayesNet.from_table(read_table(frame()), EDGES, CUTS)


def test_drawn_columns_have_the_kinds_of_the_table(network):
    rows, source = network.sample(300, 1), frame()
    assert list(rows.columns) == list(source.columns)
    assert rows["age"].dtype == np.int64
    assert rows["x"].dtype == np.float64
    assert rows["day"].dtype.kind == "M"
    assert (rows["day"] == rows["day"].dt.normalize()).all()
    assert rows["day"].between(source["day"].min(), source["day"].max()).all()
    assert rows["wait"].dtype.kind == "m"
    assert isinstance(rows["start"].iloc[0], datetime.time)
    assert rows["start"].between(source["start"].min(), source["start"].max()).all()
    assert rows["grade"].dtype == source["grade"].dtype
    assert rows["town"].dtype == source["town"].dtype
    assert set(rows["town"]) == {"A", "B"}


def test_numbers_are_rounded_within_their_bins(network):
    drawn, rounded = network.sample(2000, 1, values="numbers"), network.sample(2000, 1, values="grid")
    assert list(drawn.columns) == list(network.names)
    pd.testing.assert_frame_equal(network.discretize(drawn), network.discretize(rounded))
    assert np.abs(rounded["age"] - drawn["age"]).max() <= 1
    assert np.abs(rounded["weight"] - drawn["weight"]).max() <= 0.1
    assert np.array_equal(rounded["weight"], np.round(rounded["weight"], 1))
    assert not np.array_equal(network.sample(50, 1)["weight"], rounded["weight"][:50])
    assert np.array_equal(rounded["x"], drawn["x"])


def test_drawn_rows_have_a_density(network):
    assert np.isfinite(network.log_density(network.sample(50, 2))).all()
    assert np.isfinite(network.log_density(network.sample(50, 2, values="numbers"))).all()


def test_rows_drawn_given_evidence_have_the_same_kinds(network):
    rows = network.sample(40, 1, evidence={"age": 30, "grade": "mid"})
    assert (rows["age"] == 30).all()
    assert rows.dtypes.to_dict() == network.sample(40, 1).dtypes.to_dict()
    numbers = network.sample(40, 1, evidence={"town": "A"}, values="numbers")
    assert list(numbers.columns) == list(network.names)


def test_a_stated_number_is_not_rounded(network):
    assert (network.sample(4, 1, evidence={"age": 30.5})["age"] == 30.5).all()


def test_a_bin_without_a_value_of_the_grid_gives_the_nearest_one():
    table = read_table(pd.DataFrame({"n": np.arange(40) % 20, "y": np.arange(40.0) ** 0.5}))
    drawn = DiscretizedBayesNet.from_table(table, [], {"n": [5.2, 5.4], "y": []}).sample(3000, 0)
    assert set(drawn["n"]) <= set(range(20))


def test_predictions_and_filled_cells_have_the_kinds_of_the_table(network):
    source = frame()
    gaps = source.mask(np.random.default_rng(0).random(source.shape) < 0.2)
    filled = network.impute(gaps, random_state=1)
    for name in ("age", "day", "wait", "grade"):
        assert filled[name].dtype == source[name].dtype, name
        observed = gaps[name].notna()
        assert (filled[name][observed] == source[name][observed]).all(), name
        assert filled[name].notna().all(), name
    assert network.impute(gaps, "mean")["age"].dtype == np.float64
    assert network.predict(source, "age", "mode").dtype == np.int64
    assert network.predict(source, "age").dtype == np.float64
    assert network.predict(source, "grade").cat.ordered
    days = network.predict(source, "day [days since 1970-01-01]", "median")
    assert days.name == "day"
    assert days.between(source["day"].min(), source["day"].max()).all()


def test_json_and_pickle_keep_the_kinds(network):
    for copy in (
        DiscretizedBayesNet.from_json(network.to_json()),
        pickle.loads(pickle.dumps(network)),
        network.do({"town": "A"}),
    ):
        assert copy.value_kinds == network.value_kinds
    assert network.value_kinds["weight"] == ValueKind(step=0.1)
    assert network.value_kinds["age"] == ValueKind(is_integer=True, step=1)
    assert network.value_kinds["grade"] == ValueKind(is_ordered=True)
    assert "x" not in network.value_kinds


def test_files_of_earlier_versions_are_read(network):
    content = json.loads(network.to_json())
    for entry in content["variables"]:
        entry.pop("values", None)
    former = DiscretizedBayesNet.from_json(json.dumps(content))
    assert former == network
    assert former.value_kinds == {}
    assert former.sample(5, 1)["age"].dtype == np.float64


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"values": 3}, "must be an object"),
        ({"values": {"integer": 1}}, "integer must be True or False"),
        ({"values": {"step": 0}}, "step"),
        ({"values": {"ordered": True}}, "must not be ordered"),
    ],
)
def test_wrong_kinds_in_files_are_refused(network, wrong, message):
    content = json.loads(network.to_json())
    content["variables"][0].update(wrong)
    with pytest.raises(GomeaBnError, match=message):
        DiscretizedBayesNet.from_json(json.dumps(content))


def test_wrong_options_are_refused(network):
    with pytest.raises(GomeaBnError, match="values must be"):
        network.sample(3, values="whole")
    with pytest.raises(GomeaBnError, match="values must be"):
        network.sample(3, values="whole", evidence={"town": "A"})
    parts: dict[str, Any] = {
        "cut_points": {}, "support": {}, "levels": {"a": [0, 1]}, "tables": {"a": [0.5, 0.5]},
    }  # fmt: skip
    for kinds in ({"b": ValueKind()}, {"a": 3}, {"a": ValueKind(is_integer=True)}):
        with pytest.raises(GomeaBnError, match="value_kinds"):
            DiscretizedBayesNet(["a"], [], **parts, value_kinds=untyped(kinds))


@settings(deadline=None)
@given(
    st.lists(st.integers(-10_000, 10_000), min_size=2, max_size=30, unique=True),
    st.integers(0, 4),
    st.integers(1, 50),
)
def test_the_step_divides_all_differences(places, decimals, factor):
    values = np.array(places) * factor / 10**decimals
    step = measuring_step(values)
    assert step is not None
    multiples = (values - values.min()) / step
    assert np.abs(multiples - np.rint(multiples)).max() < 1e-6
    assert np.gcd.reduce(np.rint(multiples).astype(np.int64)) == 1


def test_real_numbers_have_no_step():
    assert measuring_step(np.random.default_rng(0).random(20)) is None
    assert measuring_step(np.array([1e300, 2e300])) is None


@pytest.mark.parametrize("stored", ["Int16", "Int64", "float32", "Float64", "int64[pyarrow]"])
def test_filled_columns_are_stored_as_they_came(stored):
    pytest.importorskip("pyarrow")
    rows = frame()[["age", "weight"]]
    network = DiscretizedBayesNet.from_table(
        read_table(rows), [("age", "weight")], {"age": [40], "weight": [70.25]}
    )
    given = rows.assign(age=rows["age"].astype(stored))
    given.loc[[3, 5], "age"] = pd.NA if stored != "float32" else np.nan
    filled = network.impute(given, random_state=0)
    assert filled["age"].dtype == given["age"].dtype
    assert filled["age"].notna().all()
    others = given.index.difference([3, 5])
    assert filled["age"][others].astype(float).tolist() == rows["age"][others].tolist()
    assert (
        network.impute(given, how="mean")["age"].astype(float)[others].tolist()
        == rows["age"][others].tolist()
    )


TYPES = {
    "int8": lambda rng: rng.integers(0, 100, 80),
    "uint16": lambda rng: rng.integers(0, 3, 80),
    "float32": lambda rng: rng.normal(size=80),
    "Int16": lambda rng: rng.integers(0, 90, 80),
    "Float32": lambda rng: rng.normal(size=80),
    "bool": lambda rng: rng.random(80) > 0.5,
    "boolean": lambda rng: rng.random(80) > 0.5,
    "str": lambda rng: rng.choice(["a", "b"], 80),
    "object": lambda rng: rng.choice(["a", "b"], 80),
    "string": lambda rng: rng.choice(["a", "b"], 80),
    "category": lambda rng: rng.choice(["a", "b"], 80),
    "datetime64[s]": lambda rng: pd.date_range("2020-01-01 07:13", periods=80, freq="7h11s"),
    "datetime64[ms]": lambda rng: pd.date_range("2020-01-01 07:13:11", periods=80, freq="7h11s").as_unit(
        "ms"
    ),
    "datetime64[s, UTC]": lambda rng: pd.date_range("2020-01-01", periods=80, freq="7h11s", tz="UTC"),
    "datetime64[ns, UTC]": lambda rng: pd.date_range("2020-01-01", periods=80, freq="7h", tz="UTC"),
    "timedelta64[s]": lambda rng: pd.to_timedelta(rng.integers(1, 90, 80), "h"),
    "int32[pyarrow]": lambda rng: rng.integers(0, 90, 80),
}


def test_drawn_and_filled_rows_have_the_types_of_the_table():
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    source = pd.DataFrame(
        {
            name: pd.Series(values(rng)).astype(pd.api.types.pandas_dtype(name))
            for name, values in TYPES.items()
        }
    )
    table = read_table(source)
    cuts = {
        column.name: [float(np.median(column.values))] for column in table.columns if column.is_continuous
    }
    network = DiscretizedBayesNet.from_table(table, [], cuts)
    again = DiscretizedBayesNet.from_json(network.to_json())
    for rows in (
        network.sample(40, 1),
        again.sample(40, 1),
        again.sample(40, 1, evidence={"uint16": 1}),
    ):
        assert rows.dtypes.astype(str).to_dict() == source.dtypes.astype(str).to_dict()
    assert network.sample(40, 1, values="numbers")["int8"].dtype == np.float64
    gaps = source.drop(columns="bool")
    gaps = gaps.mask(np.repeat(np.arange(80)[:, None] % 7 == 0, gaps.shape[1], axis=1))
    filled = network.impute(gaps.assign(bool=source["bool"]), random_state=1)
    assert filled.isna().sum().sum() == 0
    for name in gaps:
        assert str(filled[name].dtype) == str(source[name].dtype), name


def test_types_hold_where_cells_are_missing_and_values_stay_where_a_type_cannot_hold_them():
    whole = as_stored([1.0, np.nan, 3.0], "Int64")
    assert whole.dtype == "Int64"
    assert whole.isna().tolist() == [False, True, False]
    texts = as_stored(["a", None], "str")
    assert texts.dtype == "str"
    assert texts.isna().tolist() == [False, True]
    moments = pd.Series(pd.to_datetime(["2020-01-01 07:13:11.6", None])).dt.as_unit("us")
    rounded = as_stored(moments, "datetime64[s]")
    assert rounded.dtype == "datetime64[s]"
    assert rounded[0] == pd.Timestamp("2020-01-01 07:13:12")
    assert rounded.isna().tolist() == [False, True]
    for values, dtype in (
        ([True, None], "bool"),
        ([1.0, np.nan], "int64"),
        ([1.5, np.nan], "Int64"),
        ([300, 1], "int8"),
        (["02163", "10001"], "float32"),
    ):
        assert as_stored(values, dtype) is values
