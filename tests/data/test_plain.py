"""Columns of Arrow's, nullable, sparse and half-precision types give the answers of NumPy columns, or a clear error."""

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetClassifier, BayesNetLearner, DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.data import Table
from gomea_bn.data.pieces import pieces_of

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 40
STEPS = [i * 7 % N for i in range(N)]
MIDNIGHT = datetime.datetime(2020, 1, 1)
GAPS = {"none": [], "one": [3], "many": [1, 4, 5, 9, 16, 25, 36]}
LEARNER = BayesNetLearner(max_seconds=None, max_evaluations=50, random_state=1)

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64"]
MOMENTS = {
    f"timestamp[{unit}{', ' if zone else ''}{zone or ''}]": pa.timestamp(unit, zone)
    for unit in ("s", "ms", "us", "ns")
    for zone in (None, "Europe/Paris")
}
TYPES: dict[str, tuple[Any, list[Any]]] = {
    **{name: (getattr(pa, name)(), STEPS) for name in INTEGERS},
    "int8 of few values": (pa.int8(), [step % 3 for step in STEPS]),
    **{name: (getattr(pa, name)(), [step / 8 for step in STEPS]) for name in FLOATS},
    "decimal128": (pa.decimal128(20, 2), [Decimal(step) / 4 for step in STEPS]),
    "decimal256": (pa.decimal256(50, 2), [Decimal(step) / 4 for step in STEPS]),
    "bool": (pa.bool_(), [step % 3 == 0 for step in STEPS]),
    "string": (pa.string(), ["abc"[step % 3] for step in STEPS]),
    "large_string": (pa.large_string(), ["abc"[step % 3] for step in STEPS]),
    "string_view": (pa.string_view(), ["abc"[step % 3] for step in STEPS]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["abc"[step % 3] for step in STEPS]),
    "date32": (pa.date32(), [(MIDNIGHT + datetime.timedelta(days=step)).date() for step in STEPS]),
    "date64": (pa.date64(), [(MIDNIGHT + datetime.timedelta(days=step)).date() for step in STEPS]),
    **{
        name: (kind, [MIDNIGHT + datetime.timedelta(hours=s) for s in STEPS])
        for name, kind in MOMENTS.items()
    },
    "time32": (pa.time32("s"), [datetime.time(9, step) for step in STEPS]),
    "time64": (pa.time64("us"), [datetime.time(9, step, 0, 7) for step in STEPS]),
    "time64[ns]": (pa.time64("ns"), [datetime.time(9, step, 0, 7) for step in STEPS]),
    **{
        f"duration[{unit}]": (pa.duration(unit), [datetime.timedelta(seconds=step) for step in STEPS])
        for unit in ("s", "ms", "us", "ns")
    },
}
REFUSED: dict[str, Any] = {
    "binary": pa.array([b"a", b"b"] * 20),
    "list": pa.array([[1], [2]] * 20),
    "struct": pa.array([{"part": 1}, {"part": 2}] * 20),
    "map": pa.array([[("key", 1)], []] * 20, pa.map_(pa.string(), pa.int64())),
    "interval": pa.array([pa.MonthDayNano([1, 2, 3]), None] * 20),
    "union": pa.UnionArray.from_sparse(
        pa.array([0, 1] * 20, pa.int8()), [pa.array([1] * N), pa.array(["a"] * N)]
    ),
    "date beyond Python": pa.array([10**7, 10**7 + 1] * 20, pa.date32()),
}


def other() -> pd.Series:
    return pd.Series(["low" if step < 20 else "high" for step in STEPS])


def in_numpy(name: str, gaps: list[int]) -> pd.Series:
    """The values of a type in NumPy storage."""
    kind, values = TYPES[name]
    series = pd.Series(values)
    if pa.types.is_timestamp(kind) and kind.tz:
        series = series.dt.tz_localize("UTC")
    if pa.types.is_boolean(kind) or series.dtype == "str":
        series = series.astype(object)
    if pa.types.is_dictionary(kind):
        series = series.astype(pd.CategoricalDtype(list(dict.fromkeys(values))))
    return series.mask(series.index.isin(gaps)) if gaps else series


def in_arrow(name: str, gaps: list[int]) -> Any:
    kind, values = TYPES[name]
    array = pa.array([None if i in gaps else value for i, value in enumerate(values)], kind)
    if pa.types.is_floating(kind) and len(gaps) > 1:
        # a NaN is missing like a null
        array = pa.array([np.nan if i in gaps[1:] else v for i, v in enumerate(array.to_pylist())], kind)
    if pa.types.is_dictionary(kind):
        levels = list(dict.fromkeys(values))
        codes = pa.array([None if i in gaps else levels.index(v) for i, v in enumerate(values)], pa.int8())
        array = pa.DictionaryArray.from_arrays(codes, pa.array(levels))
    return array


def arrow_backed(array: Any) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


def frames(name: str, gaps: list[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows with a column stored by Arrow, and the same rows in NumPy storage."""
    columns = arrow_backed(in_arrow(name, gaps)), in_numpy(name, gaps)
    first, second = (pd.DataFrame({"x": column, "other": other()}) for column in columns)
    return first, second


def network_of(frame: pd.DataFrame) -> DiscretizedBayesNet:
    """A network in which one column depends on the other."""
    table = read_table(frame, kinds={"other": "discrete"})
    child, parent = table.names
    cuts = {c.name: [float(np.median(c.values)) + 1e-3] for c in table.columns if c.is_continuous}
    return DiscretizedBayesNet.from_table(table, [(parent, child)], cuts)


def assert_same(table: Table, expected: Table) -> None:
    assert table.names == expected.names
    assert table.dropped_rows == expected.dropped_rows
    for column, wanted in zip(table.columns, expected.columns, strict=True):
        assert column.levels == wanted.levels
        assert column.is_integer == wanted.is_integer
        np.testing.assert_array_equal(column.values, wanted.values)


@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize("name", TYPES)
def test_tables_are_those_of_numpy_columns(name, gaps, tmp_path):
    rows, expected = frames(name, gaps)
    for missing in ("keep", "drop"):
        assert_same(read_table(rows, missing=missing), read_table(expected, missing=missing))
    table = pa.table({"x": in_arrow(name, gaps), "other": pa.array(other().tolist())})
    assert_same(read_table(table, missing="keep"), read_table(expected, missing="keep"))
    assert_same(
        read_table({"x": table["x"], "other": other()}, missing="keep"), read_table(expected, missing="keep")
    )
    parquet.write_table(table, tmp_path / "part.parquet")
    (piece,) = pieces_of(tmp_path)
    for source in (tmp_path / "part.parquet", next(piece.frames())):
        assert_same(read_table(source, missing="keep"), read_table(expected, missing="keep"))


@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize("name", TYPES)
def test_networks_answer_as_for_numpy_columns(name, gaps):
    rows, expected = frames(name, gaps)
    network = network_of(in_numpy(name, []).to_frame("x").assign(other=other()))
    np.testing.assert_array_equal(network.log_density(rows), network.log_density(expected))
    assert network.score(rows) == network.score(expected)
    pd.testing.assert_frame_equal(
        network.predict_proba(rows, "other"), network.predict_proba(expected, "other")
    )
    answer, wanted_answer = (
        pd.DataFrame(network.query("other", part[["x"]].set_axis([network.names[0]], axis=1)))
        for part in (rows, expected)
    )
    pd.testing.assert_frame_equal(answer, wanted_answer)
    filled, wanted = (network.impute(part, random_state=1) for part in (rows, expected))
    assert not filled.isna().any(axis=None)
    pd.testing.assert_frame_equal(network.discretize(filled), network.discretize(wanted))
    # in the type of the column; Arrow cuts moments off
    dtype, values = filled["x"].dtype, wanted["x"]
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_timestamp(dtype.pyarrow_dtype):
        values = values.dt.floor(dtype.pyarrow_dtype.unit)
    assert gaps == [] or filled["x"].tolist() == values.astype(dtype).tolist()
    if not gaps:
        pd.testing.assert_frame_equal(network.discretize(rows), network.discretize(expected))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", TYPES)
def test_learners_learn_and_score_as_from_numpy_columns(name, tmp_path):
    rows, expected = frames(name, GAPS["many"])
    learner = BayesNetLearner(**{**LEARNER.get_params(), "missing": "drop"}).fit(rows)
    assert learner.network_ == BayesNetLearner(**learner.get_params()).fit(expected).network_
    scores = learner.score_samples(rows)
    np.testing.assert_array_equal(scores, learner.score_samples(expected))
    assert np.flatnonzero(np.isnan(scores)).tolist() == GAPS["many"]
    parquet.write_table(
        pa.table({"x": in_arrow(name, [3]), "other": other().tolist()}), tmp_path / "a.parquet"
    )
    of_frames = replace(LEARNER).fit([frames(name, [3])[1]])
    assert replace(LEARNER).fit(tmp_path).network_ == of_frames.network_


@pytest.mark.parametrize("name", REFUSED)
def test_types_without_values_of_one_variable_are_refused(name):
    rows = pd.DataFrame({"x": arrow_backed(REFUSED[name]), "other": other()})
    network = network_of(pd.DataFrame({"x": STEPS, "other": other()}).astype({"x": float}))
    text = network_of(pd.DataFrame({"x": ["a", "b"] * 20, "other": other()}))
    calls: list[Any] = [
        lambda: read_table(rows),
        lambda: read_table(pa.table({"x": REFUSED[name], "other": other().tolist()})),
        lambda: network.log_density(rows),
        lambda: network.impute(rows),
        lambda: text.predict(rows, "other"),
    ]
    for call in calls:
        with pytest.raises(GomeaBnError, match="Column 'x'"):
            call()


def test_a_column_of_nulls_is_empty():
    rows = pd.DataFrame({"x": arrow_backed(pa.nulls(N)), "other": other()})
    with pytest.warns(UserWarning, match="constant"):
        assert read_table(rows).columns[0].levels == ("(empty)",)
    network = network_of(pd.DataFrame({"x": STEPS, "other": other()}))
    assert network.impute(rows, random_state=1)["x"].notna().all()


def codes(values: Any) -> pd.Series:
    return pd.Series(pd.Categorical.from_codes([step % 3 for step in STEPS], values))


STORED: dict[str, tuple[pd.Series, pd.Series | list[Any]]] = {
    "NumPy float16": (pd.Series([step / 8 for step in STEPS], dtype="float16"), [step / 8 for step in STEPS]),
    "Int64": (pd.Series(STEPS, dtype="Int64"), STEPS),
    "Float64": (pd.Series([step / 8 for step in STEPS], dtype="Float64"), [step / 8 for step in STEPS]),
    "Float32": (pd.Series([step / 8 for step in STEPS], dtype="Float32"), [step / 8 for step in STEPS]),
    "boolean": (pd.Series([step > 9 for step in STEPS], dtype="boolean"), [step > 9 for step in STEPS]),
    "string": (pd.Series(["abc"[step % 3] for step in STEPS], dtype="string"), ["abc"[s % 3] for s in STEPS]),
    "sparse": (pd.Series(pd.arrays.SparseArray([step / 8 for step in STEPS])), [step / 8 for step in STEPS]),
    "categories of Arrow text": (
        codes(pd.Index(["a", "b", "c"], dtype=pd.ArrowDtype(pa.string()))),
        codes(["a", "b", "c"]),
    ),
    "categories of Arrow numbers": (
        codes(pd.Index([1.5, 2.5, 3.5], dtype=pd.ArrowDtype(pa.float64()))),
        codes([1.5, 2.5, 3.5]),
    ),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize("name", STORED)
def test_other_storages_give_the_answers_of_numpy_columns(name, gaps):
    column, values = STORED[name]
    stored, numpy = (
        pd.DataFrame({"x": series.mask(series.index.isin(gaps)) if gaps else series, "other": other()})
        for series in (column, pd.Series(values))
    )
    assert_same(read_table(stored, missing="keep"), read_table(numpy, missing="keep"))
    network = network_of(pd.DataFrame({"x": values, "other": other()}))
    np.testing.assert_array_equal(network.log_density(stored), network.log_density(numpy))
    filled = network.impute(stored, random_state=1)
    pd.testing.assert_frame_equal(
        network.discretize(filled), network.discretize(network.impute(numpy, random_state=1))
    )


def test_numbers_of_categories_of_arrow_numbers_are_read():
    column, values = STORED["categories of Arrow numbers"]
    stored, numpy = (pd.DataFrame({"x": series, "other": other()}) for series in (column, values))
    kinds = {"x": "continuous"}
    assert_same(read_table(stored, kinds=kinds), read_table(numpy, kinds=kinds))


@pytest.mark.parametrize("dtype", ["Float64", pd.ArrowDtype(pa.float64())])
def test_a_nan_of_a_nullable_column_is_missing(dtype):
    ratio = pd.Series([0.0, 1.0, *STEPS[2:]], dtype=dtype) / pd.Series(
        [0.0, 1.0, *[4.0] * (N - 2)], dtype=dtype
    )
    rows = pd.DataFrame({"x": ratio, "other": other()})
    assert read_table(rows, missing="drop").dropped_rows == (0,)
    network = network_of(pd.DataFrame({"x": np.array(STEPS) / 4, "other": other()}))
    assert network.impute(rows, random_state=1)["x"].notna().all()
    np.testing.assert_array_equal(network.log_density(rows), network.log_density(rows.astype({"x": float})))


@pytest.mark.parametrize("levels", [["a", None, "b"], ["a", "a", "b"]])
def test_dictionaries_with_a_null_or_a_repeated_value_are_read(levels):
    array = pa.DictionaryArray.from_arrays(pa.array([step % 3 for step in STEPS]), pa.array(levels))
    rows = pd.DataFrame({"x": arrow_backed(array), "other": other()})
    expected = pd.DataFrame({"x": pd.Categorical(array.to_pylist()), "other": other()})
    assert_same(read_table(rows, missing="keep"), read_table(expected, missing="keep"))


@pytest.mark.parametrize("is_of_arrow", [False, True])
def test_decimals_may_be_levels(is_of_arrow):
    values = [Decimal(step % 3) / 10 for step in STEPS]
    rows = pd.DataFrame({"x": arrow_backed(pa.array(values)) if is_of_arrow else values, "other": other()})
    table = read_table(rows, kinds={"x": "discrete"})
    assert table.columns[0].levels == (0.0, 0.1, 0.2)
    codes = DiscretizedBayesNet.from_table(table, [("x", "other")], {}).discretize(rows)["x"]
    assert codes.tolist() == [step % 3 for step in STEPS]


def test_large_integers_next_to_a_missing_value_of_a_parquet_file_are_exact(tmp_path):
    numbers = [2**53 + step for step in STEPS]
    table = pa.table({"x": pa.array([None, *numbers[1:]], pa.int64()), "other": other().tolist()})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(GomeaBnError, match="beyond 2\\*\\*53"):
        read_table(tmp_path / "rows.parquet", missing="drop", kinds={"x": "continuous"})


def test_the_index_of_pandas_is_no_column_of_files(tmp_path):
    rows = pd.DataFrame({"x": np.array(STEPS) / 8, "other": other()}, index=STEPS)
    rows.to_parquet(tmp_path / "rows.parquet")
    (piece,) = pieces_of(tmp_path)
    (part,) = piece.frames()
    assert list(part.columns) == ["x", "other"]
    assert read_table(tmp_path / "rows.parquet").names == ("x", "other")


def test_rows_with_names_that_are_bools_are_dropped_by_position():
    rows = pd.DataFrame({True: np.array(STEPS) / 8, False: other()})
    rows.loc[3, True] = np.nan
    named = rows.set_axis(["True", "False"], axis=1)
    options = {**LEARNER.get_params(), "missing": "drop"}
    learner = BayesNetLearner(**options).fit(named)
    scores = learner.score_samples(rows)
    np.testing.assert_array_equal(scores, learner.score_samples(named))
    assert np.flatnonzero(np.isnan(scores)).tolist() == [3]


def test_classifiers_take_arrow_columns_and_numbered_ones():
    text = ["abc"[step % 3] for step in STEPS]
    learner = BayesNetLearner(max_seconds=None, max_evaluations=50, density="bins")
    rows = pd.DataFrame({0: text, 1: np.array(STEPS) / 8})
    stored = pd.DataFrame({0: arrow_backed(pa.array(text)), 1: arrow_backed(pa.array(rows[1]))})
    target = arrow_backed(pa.array(other().tolist()))
    first = BayesNetClassifier(learner, structure="root", random_state=1).fit(stored, target)
    second = BayesNetClassifier(learner, structure="root", random_state=1).fit(rows, other())
    assert first.network_ == second.network_
    with pytest.warns(UserWarning, match="'never seen' of '0' in 1 row"):
        of_unknown = first.predict_proba(with_unknown(stored))
    with pytest.warns(UserWarning, match="'never seen' of '0' in 1 row"):
        np.testing.assert_array_equal(of_unknown, second.predict_proba(with_unknown(rows)))


def with_unknown(rows: pd.DataFrame) -> pd.DataFrame:
    others: Any = rows[0].where(rows.index != 5, "never seen")
    changed = rows.copy()
    changed.isetitem(0, others)
    return changed


def test_networks_with_conditionals_take_arrow_columns_and_numbered_ones():
    text = ["abc"[step % 3] for step in STEPS]
    named = pd.DataFrame({"0": text, "other": other()})
    rows = pd.DataFrame({0: arrow_backed(pa.array(text, pa.string_view())), "other": other()})
    averaged = BayesNetLearner(max_seconds=None, max_evaluations=50).fit(named).network_
    for method in ("exact", "sampling"):
        answer, wanted = (
            averaged.predict_proba(part, "other", method=method, n_draws=50, random_state=1)
            for part in (rows, named)
        )
        pd.testing.assert_frame_equal(answer, wanted)
    np.testing.assert_array_equal(averaged.log_density(rows), averaged.log_density(named))


@pytest.mark.parametrize("name", TYPES)
def test_labels_of_rows_do_not_move_their_answers(name):
    rows, _ = frames(name, GAPS["many"])
    network = network_of(in_numpy(name, []).to_frame("x").assign(other=other()))
    filled, answers = network.impute(rows, random_state=1)["x"], network.predict(rows, "x")
    labels = np.random.default_rng(3).permutation(len(rows))
    relabelled = rows.set_axis(labels)
    assert network.impute(relabelled, random_state=1)["x"].tolist() == filled.tolist()
    assert network.predict(relabelled, "x").tolist() == answers.tolist()
    assert network.predict(relabelled, "x").index.tolist() == labels.tolist()


def test_rows_of_nullable_integers_with_gaps_are_learned_as_those_of_floats():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 40, 400)
    frame = pd.DataFrame({"x": pd.array(x, dtype="Int64"), "y": np.where(x < 20, "low", "high")})
    frame.loc[::9, "x"] = pd.NA
    learned = [
        BayesNetLearner(max_evaluations=50, random_state=1).fit([rows]).network_
        for rows in (frame, frame.astype({"x": float}))
    ]
    for value in (5.0, 30.0):
        answers = [network.query("y", {"x": value}) for network in learned]
        assert answers[0].to_dict() == pytest.approx(answers[1].to_dict())
        assert answers[0].max() > 0.9


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", object])
def test_observed_integers_beyond_the_digits_of_floats_stay(dtype):
    numbers = [2**60 + 112 + 1000 * step for step in STEPS]
    cells = pd.Series(
        [None if i in GAPS["many"] else number for i, number in enumerate(numbers)], dtype=object
    )
    frame = pd.DataFrame({"x": np.arange(N) / 8, "big": cells.astype(dtype)})
    network = LEARNER.fit(frame).network_
    filled = network.impute(frame, "mode")["big"].astype(object).tolist()
    kept = [i for i in range(N) if i not in GAPS["many"]]
    assert [filled[i] for i in kept] == [numbers[i] for i in kept]
    assert not pd.isna(filled).any()
