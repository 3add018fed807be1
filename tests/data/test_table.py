import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_examples import assert_same_table, column_of
from wrong_input import untyped

from gomea_bn import GomeaBnError, read_table
from gomea_bn.data import Column, Table
from gomea_bn.data.columns import numeric_values
from gomea_bn.data.sources import source_frame, source_table
from gomea_bn.data.table import table_digest
from gomea_bn.errors import row_list

N = 30
TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\0")  # pandas 2 compares up to a NUL


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "height": rng.normal(size=N),
            "count": 2 * np.arange(N),
            "rooms": np.arange(N) % 4,
            "town": np.array(["b", "a", "c"], dtype=object)[np.arange(N) % 3],
        }
    )


def decoded(column):
    if column.is_continuous:
        return column.values.tolist()
    return [column.levels[code] for code in column.values]


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([True, False] * 6, (False, True)),
        (np.array([True, False] * 6, dtype=object), (False, True)),
        (pd.array([True, False] * 6, dtype="boolean"), (False, True)),
        (["b", "a", "c"] * 4, ("a", "b", "c")),
        (pd.array(["b", "a", "c"] * 4, dtype="string"), ("a", "b", "c")),
        (pd.array(["b", "a", "c"] * 4, dtype="string[pyarrow]"), ("a", "b", "c")),
        (pd.Categorical(["b", "a"] * 6, categories=["z", "b", "a"]), ("z", "b", "a")),
        (pd.Categorical([3, 1] * 6), (1, 3)),
        ([3, 1, 2] * 4, (1, 2, 3)),
        (pd.array([3, 1, 2] * 4, dtype="Int64"), (1, 2, 3)),
        (pd.array([3, 1, 2] * 4, dtype="int32[pyarrow]"), (1, 2, 3)),
        (np.array([3, 1, 2] * 4, dtype=object), (1, 2, 3)),
        (np.arange(10).repeat(2), tuple(range(10))),
    ],
)
def test_discrete_columns_have_their_levels_in_order(values, levels):
    column = column_of(values)
    assert column.levels == levels
    assert all(type(level) is type(expected) for level, expected in zip(column.levels, levels))
    assert column.values.dtype == np.int32
    assert decoded(column) == list(values)


@pytest.mark.parametrize(
    "values",
    [
        2 * np.arange(11),
        2.0 * np.arange(11),
        np.array([0.5, 1.5] * 6, dtype=np.float32),
        pd.array([0.5, 1.5] * 6, dtype="Float64"),
        pd.array([0.5, 1.5] * 6, dtype="double[pyarrow]"),
        np.array([0.5, 1] * 6, dtype=object),
        pd.arrays.SparseArray([0.0, 1.5] * 6),
    ],
)
def test_continuous_columns_keep_their_values(values):
    column = column_of(values)
    assert column.is_continuous
    assert column.values.dtype == np.float64
    assert column.values.tolist() == [float(value) for value in values]


@pytest.mark.parametrize(
    "values", [[0.0, 1.0], [0.0, 1.0, 2.0, 3.0, 4.0], [-2.0, 7.0], [10.0 * k for k in range(10)]]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "double[pyarrow]", object])
def test_whole_numbers_are_integers_however_they_are_stored(values, dtype):
    as_integers = column_of([int(value) for value in values] * 6)
    assert not as_integers.is_continuous
    column = column_of(pd.Series(values * 6).astype(dtype))
    assert column.levels == as_integers.levels
    assert all(type(level) is int for level in column.levels)
    assert column.values.tolist() == as_integers.values.tolist()
    assert column.reason == as_integers.reason


def test_whole_numbers_with_a_gap_have_the_kind_of_those_without():
    values = [0.0, 1.0, 1.0] * 5
    complete = read_table(pd.DataFrame({"x": values, "y": np.arange(15) / 7}))
    for missing in ("drop", "keep"):
        gap = read_table(pd.DataFrame({"x": [np.nan, *values[1:]], "y": np.arange(15) / 7}), missing=missing)
        assert gap.columns[0].levels == complete.columns[0].levels == (0, 1)


def test_many_whole_numbers_are_continuous_integers():
    column = column_of(np.arange(40.0))
    assert column.is_continuous
    assert column.is_integer
    # beyond 2**53 every float is whole
    assert not column_of(2.0**60 * np.arange(40)).is_integer
    assert not column_of(np.arange(40) + 0.5).is_integer


def test_continuous_columns_of_few_values_are_named_by_a_warning():
    frame = pd.DataFrame({"dose": [0.5, 1.5, 2.5] * 8, "x": np.arange(24) / 7})
    with pytest.warns(
        UserWarning, match=r"1 continuous column has at most 10 values: 'dose' \(0.5, 1.5, 2.5\)"
    ):
        read_table(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(frame, kinds={"dose": "discrete"})
        read_table(frame.assign(dose=np.arange(24) % 12 / 7))
        # ten values in a table of ten rows do not repeat
        read_table(frame.iloc[:10].assign(dose=np.arange(10) / 7))


def test_kinds_override_the_rule():
    assert column_of([1, 2, 3] * 4, kinds={"x": "continuous"}).is_continuous
    assert column_of([0.5, 2.0, 1.0] * 4, kinds={"x": "discrete"}).levels == (0.5, 1.0, 2.0)
    assert column_of(["1.5", "2"] * 6, kinds={"x": "continuous"}).values.tolist() == [1.5, 2.0] * 6
    assert column_of(pd.Categorical([3, 1] * 6), kinds={"x": "continuous"}).values.tolist() == [3.0, 1.0] * 6


def test_describe_prints_the_rule_and_every_reason(frame):
    text = read_table(frame, kinds={"rooms": "continuous"}).describe()
    assert "30 rows, 4 columns: 3 continuous, 1 discrete" in text
    assert "columns of whole numbers with at most 10 distinct values" in text
    assert "integers, 30 distinct (more than 10)" in text
    assert "set by kinds (the rule says discrete: integers, 4 distinct (at most 10))" in text


def test_text_that_is_mostly_numbers_is_remarked():
    column = column_of([*map(str, range(10)), "9", "!"])
    assert "11 of 12 values read as numbers; the first that does not is '!'" in column.reason


def test_names_of_other_types_become_text():
    table = read_table(pd.DataFrame({0: [1, 2] * 6, "b": [3, 4] * 6}), kinds=untyped({0: "continuous"}))
    assert table.names == ("0", "b")
    assert [column.is_continuous for column in table.columns] == [True, False]


def test_the_callers_frame_is_neither_changed_nor_shared(frame):
    before = frame.copy(deep=True)
    table = read_table(frame)
    pd.testing.assert_frame_equal(frame, before)
    for column in table.columns:
        assert not np.shares_memory(column.values, frame[column.name].to_numpy())
        with pytest.raises(ValueError, match="read-only"):
            column.values[0] = 1


def test_dropping_records_the_rows(frame):
    frame.loc[[3, 7], "height"] = [np.nan, np.inf]
    frame.loc[9, "town"] = None
    table = read_table(frame.set_index("count", drop=False), missing="drop")
    assert table.dropped_rows == (3, 7, 9)
    assert table.n_rows == N - 3
    assert decoded(table.columns[1]) == [2.0 * i for i in range(N) if i not in (3, 7, 9)]
    assert "Dropped 3 of 30 rows with missing or infinite values: rows 3, 7, 9" in table.describe()


def with_missing(frame):
    frame.loc[[4, 19], "height"] = np.nan
    frame.loc[2, "town"] = None
    return frame


def with_column(values):
    return lambda frame: frame.assign(odd=values() if callable(values) else values)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (with_missing, {}, ["'height' has 2 missing", "rows 4, 19", "'town' has 1", "row 2", 'missing="drop"']),
        (lambda f: f.assign(height=[*f.height[:-1], -np.inf]), {}, ["'height'", "1 missing or infinite", "row 29"]),
        (with_column([np.inf] * N), {"missing": "drop"}, ["'odd' has no values", "all 30 rows"]),
        (with_column([np.nan] * 25 + [1.5, 2, 3, 4, 5]), {"missing": "drop"}, ["10 rows, got 5 after dropping 25"]),
        (
            lambda f: pd.DataFrame({"odd": [3] * N, "even": ["q"] * N}),
            {},
            ["All columns of the table are constant: 'odd' is 3, 'even' is 'q' in all 30 rows"],
        ),
        (lambda f: f.head(9), {}, ["at least 10 rows, got 9"]),
        (lambda f: f[[]], {}, ["no columns"]),
        (lambda f: pd.concat([f, f[["town"]]], axis=1), {}, ["'town' occurs more than once", "3 and 4"]),
        (lambda f: f.rename(columns={"town": 1, "rooms": "1"}), {}, ["'1' occurs more than once"]),
        (lambda f: f.rename(columns={"town": " "}), {}, ["position 3 has no name"]),
        (lambda f: f.rename(columns={"town": None}), {}, ["position 3 has no name"]),
        (lambda f: f.set_axis(pd.MultiIndex.from_product([["a"], list(f)]), axis=1), {}, ["2 levels", "flatten"]),
        (
            with_column([f"{i % 29}!" for i in range(N)]),
            {"max_levels": 20, "kinds": {"odd": "discrete"}},
            ["'odd'", "at most 20 levels, got 29"],
        ),
        (with_column([str(i) for i in range(N)]), {"max_levels": 20}, ["reads as a number", "kinds={'odd'"]),
        (lambda f: f, {"kinds": {"height": "discrete"}, "max_levels": 20}, ["'height'", "at most 20 levels"]),
        (lambda f: f, {"kinds": {"heigth": "discrete"}}, ["'heigth'", "Did you mean 'height'?"]),
        (lambda f: f, {"kinds": {"height": "categorical"}}, ["'continuous', 'discrete'", "'categorical'"]),
        (lambda f: f, {"kinds": ["height"]}, ["kinds must map"]),
        (lambda f: f, {"kinds": {"town": "continuous"}}, ["'town' must hold numbers", "'b'", "rows 0, 1, 2"]),
        (with_column([True, False] * 15), {"kinds": {"odd": "continuous"}}, ["'odd' must hold numbers, got bools"]),
        (lambda f: f, {"missing": "fill"}, ["missing must be", "'fill'"]),
        (lambda f: f, {"max_levels": 1}, ["max_levels must be", "got 1"]),
        (lambda f: f, {"min_rows": "10"}, ["min_rows must be", "'10'"]),
        (with_column(lambda: pd.period_range("2020", periods=N, freq="M")), {}, ["'odd'", "period"]),
        (with_column(lambda: pd.interval_range(0, N)), {}, ["'odd'", "interval"]),
        (with_column(1j * np.arange(N)), {}, ["'odd'", "complex"]),
        (with_column([[1]] * N), {}, ["'odd'", "list", "its own column"]),
        (with_column([{"a": 1}] * N), {}, ["'odd'", "dict"]),
        (with_column([b"x", b"y"] * 15), {}, ["'odd'", "bytes", "decode"]),
        (with_column([1, "a", 2.5] * 10), {}, ["'odd'", "str 'a' in row 1", "int 1 in row 0", "astype(str)"]),
        (with_column([None, "a", 2] * 10), {"missing": "drop"}, ["str 'a' in row 1", "int 2 in row 2"]),
        (with_column(lambda: pd.Categorical(pd.cut(np.arange(N), 3))), {}, ["'odd'", "Interval", "rename"]),
        (with_column([2**60 + 2 * i for i in range(N)]), {}, ["'odd'", "2**53"]),
        (with_column(lambda: pd.Series([10**400 + i for i in range(N)], dtype=object)), {}, ["'odd'", "infinite"]),
        (with_column(lambda: pd.Series([None, *(10**400 + i for i in range(1, N))], dtype=object)), {}, ["'odd'"]),
        (with_column([-1.7e308, 1.7e308] * 15), {}, ["'odd' ranges from", "too wide", "Rescale it."]),
        (with_column([0.0, 1e-310, 3e-308] * 10), {}, ["'odd' ranges from", "too narrow", "Rescale it."]),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_with_the_column_and_the_rows(frame, change, options, words):
    with pytest.raises(GomeaBnError) as caught:
        read_table(change(frame), **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("source", [None, [[1, 2]], 3.5])
def test_other_sources_are_refused_with_advice(source):
    with pytest.raises(GomeaBnError, match=r"must be a Table, a frame .* or the path of a file; got"):
        read_table(source)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".tab", ".CSV", ".parquet", ".pq"])
def test_files_give_the_same_table_as_the_frame(tmp_path, frame, ending):
    path = tmp_path / f"rows{ending}"
    if ending in (".parquet", ".pq"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="," if "csv" in ending.lower() else "\t")
    assert_same_table(read_table(path), read_table(frame))


def test_whole_numbers_next_to_missing_ones_stay_whole(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "\n".join(f"{i % 3},{i}" for i in range(20)) + "\n,21\n")
    table = read_table(path, missing="drop")
    assert table.columns[0].levels == (0, 1, 2)
    assert table.dropped_rows == (20,)


def test_a_number_among_other_names_is_a_name(tmp_path):
    (tmp_path / "a.csv").write_text("dose,1.5\n" + "1,2\n3,4\n" * 6)
    assert read_table(tmp_path / "a.csv").names == ("dose", "1.5")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", ["is empty"]),
        ("a.parquet", b"", ["is empty"]),
        ("a.csv", b"\n\n", ["is empty"]),
        ("a.csv", bytes(range(256)) * 9, ["not UTF-8 text"]),
        ("a.csv", "a,\u00e9\n1,2\n".encode("latin-1"), ["not UTF-8 text"]),
        ("a.csv", "a,\u4e2d\n1,\u4e2d\n".encode("utf-16-le") + b"\0", ["UTF-16", "utf-16-le"]),
        ("a.csv", b"a,b\n" + b"1,2\n" * 12 + b"1,2,3\n", ["ragged", "line 14"]),
        ("a.csv", b"a,b\n" + b"1,2,3\n" * 12, ["ragged", "2 column names"]),
        ("a.csv", b"a,b\n" + b"1,2\n2,4\n" * 6 + b"1\n", ["'b' has 1 missing", "row 12"]),
        ("a.csv", b'a,b\n1,"2\n', ["unclosed quote"]),
        ("a.csv", b"a,a\n1,2\n", ["'a' occurs more than once", "0 and 1"]),
        ("a.csv", b"a,b,a\n1,2,3\n", ["'a' occurs more than once", "0 and 2"]),
        ("a.csv", b"a;b\n0;2;3\n", ["only one column", "sep"]),
        ("a.csv.gz", b"\x1f\x8b\x08\x00junk", ["cannot be read"]),
        ("a.csv.zip", b"junk", ["cannot be read"]),
        ("a.parquet", b"junk", ["not a readable Parquet"]),
        ("a.doc", b"junk", ["must end in", "'.doc'"]),
        ("a.xlsx", b"junk", ["not a readable .xlsx file"]),
        ("a", b"junk", ["no ending"]),
    ],
)
def test_unreadable_files_are_named(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(GomeaBnError) as caught:
        read_table(path)
    for word in words:
        assert word in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(GomeaBnError, match=r"no\.csv' does not exist"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(GomeaBnError, match="is a folder"):
        read_table(str(tmp_path))


@pytest.mark.long
@settings(max_examples=60)
@given(
    numbers=st.lists(st.floats(-1e100, 1e100), min_size=10, max_size=30, unique=True),
    words=st.lists(st.text(TEXT, max_size=5), min_size=10, max_size=30),
)
def test_every_value_comes_back(numbers, words):
    size = min(len(numbers), len(words))
    numbers, words = numbers[:size], [*words[: size - 1], "another word"]
    frame = pd.DataFrame({"number": numbers, "word": pd.Series(words, dtype=object)})
    if len(set(words)) < 2:
        return
    number, word = read_table(frame, na_values=[], columns=["number", "word"]).columns
    assert decoded(number) == numbers
    assert decoded(word) == words
    assert list(word.levels) == sorted(set(words))


def values_of(series, name="x"):
    return numeric_values(pd.Series(series, dtype=object), name)


def test_missing_text_is_reported_as_missing_and_other_text_as_no_number():
    with pytest.raises(GomeaBnError, match=r"'x' has 1 missing or infinite value in row 1 "):
        values_of(["1.5", None])
    with pytest.raises(GomeaBnError, match=r"'x' must hold numbers, got 'one' in row 1 "):
        values_of(["1.5", "one", None])


def test_only_the_first_rows_are_listed():
    assert row_list([4]) == "row 4 (counted from 0)"
    assert row_list(range(20)) == "rows 0, 1, 2, 3, 4, 5, 6, 7 and 12 more (counted from 0)"


def test_large_whole_numbers_next_to_missing_ones_stay_real():
    large = [float(2**60 + 4096 * i) for i in range(12)]
    column = column_of([*large, np.nan], missing="drop")
    assert column.reason == "real numbers"
    assert column.values.tolist() == large
    small = column_of([*map(float, range(12)), np.nan], missing="drop")
    assert small.reason == "integers, 12 distinct (more than 10)"


def test_text_of_which_half_reads_as_numbers_is_remarked():
    half = column_of([*map(str, range(6)), *"abcdef"], kinds={"x": "discrete"})
    assert "6 of 12 values read as numbers; the first that does not is 'a'" in half.reason
    assert (
        "read as numbers" not in column_of([*map(str, range(5)), *"abcdefg"], kinds={"x": "discrete"}).reason
    )


def test_as_many_levels_as_allowed_are_accepted():
    letters = 3 * list("abcdefghijkl")
    assert len(column_of(letters, max_levels=12).levels) == 12
    with pytest.raises(GomeaBnError, match="at most 11 levels, got 12"):
        column_of(letters, max_levels=11)


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([3] * 12, (3,)),
        ([2.5] * 12, (2.5,)),
        (["q"] * 12, ("q",)),
        ([True] * 12, (True,)),
        (pd.Categorical(["b"] * 12, categories=["a", "b", "c"]), ("a", "b", "c")),
    ],
)
def test_a_constant_column_is_discrete_with_a_warning(values, levels):
    for kinds in (None, {"x": "discrete"}, {"x": "continuous"}):
        with pytest.warns(
            UserWarning, match="1 column of the table is constant and will have no edges: 'x' is "
        ):
            column = column_of(values, kinds=kinds)
        assert column.levels == levels
        assert column.is_constant
        assert column.reason.startswith(f"constant: {values[0]!r} in all 12 rows")
        assert decoded(column) == list(values)


def test_the_warning_names_every_constant_column():
    frame = pd.DataFrame({"a": np.arange(12.0), "b": 1, "c": "q"})
    with pytest.warns(
        UserWarning, match="2 columns .* are constant .*: 'b' is 1, 'c' is 'q' in all 12 rows"
    ) as caught:
        table = read_table(frame)
    assert len(caught) == 1
    assert table.n_varying == 1
    assert "b  discrete    constant: 1 in all 12 rows" in table.describe()


def test_a_description_counts_one_column_and_keeps_each_column_on_a_line():
    text = read_table(pd.DataFrame({"two\nlines": np.arange(12.0)})).describe("--kind")
    assert text.startswith("12 rows, 1 column: 1 continuous, 0 discrete.\n")
    assert "; --kind overrides it." in text
    assert text.splitlines()[-1] == "  'two\\nlines'  continuous  integers, 12 distinct (more than 10)"


def test_taken_rows_keep_kinds_and_levels(frame):
    table = read_table(frame)
    rows = np.array([3, 3, 7])
    part = table.take(rows)
    assert part.n_rows == 3
    for column, whole in zip(part.columns, table.columns):
        assert (column.name, column.levels, column.reason) == (whole.name, whole.levels, whole.reason)
        assert column.values.tolist() == whole.values[rows].tolist()
        with pytest.raises(ValueError, match="read-only"):
            column.values[0] = 1


def test_the_order_of_an_ordered_categorical_is_kept():
    ordered = pd.Categorical(["low", "high"] * 6, categories=["low", "high"], ordered=True)
    assert column_of(ordered).ordered
    assert not column_of(pd.Categorical(["low", "high"] * 6)).ordered
    assert read_table(pd.DataFrame({"x": ordered, "y": range(12)})).to_frame()["x"].cat.ordered


def test_every_source_gives_the_same_table(tmp_path):
    rows = np.random.default_rng(0).normal(size=(12, 2))
    frame = pd.DataFrame(rows, columns=["x0", "x1"])
    frame.to_parquet(tmp_path / "rows.parquet")
    table = read_table(frame)
    options: dict[str, Any] = {"kinds": None, "missing": "error", "max_levels": 50}
    assert source_table(table, **options) is table
    for source in (rows, frame, tmp_path / "rows.parquet", str(tmp_path / "rows.parquet")):
        assert table_digest(source_table(source, **options)) == table_digest(table)
        pd.testing.assert_frame_equal(source_frame(source), table.to_frame())
    with pytest.raises(GomeaBnError, match="'x0' of the Table is continuous, but kinds says 'discrete'"):
        source_table(table, **{**options, "kinds": {"x0": "discrete"}})
    flat = Table((Column("x", np.full(5, 2.5), None, ""),), 5, ())
    with pytest.raises(
        GomeaBnError, match=r"'x' of the Table is continuous, but has one value, 2\.5, in all 5 rows"
    ):
        source_table(flat, **options)
    for source, message in (
        ([1, 2], "got list"),
        (rows[0], r"must have shape \(n_rows, n_columns\), got shape \(2,\)"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            source_table(source, **options)


def test_a_negative_zero_is_zero():
    x = np.concatenate(([-0.0, 0.0], np.arange(8.0) - 8.5))
    table = read_table(pd.DataFrame({"x": x}), kinds={"x": "continuous"})
    assert np.signbit(table.columns[0].values).tolist() == [False, False] + [True] * 8
    assert not np.signbit(numeric_values(pd.Series(["-0.0", "0"]), "x")).any()


def test_text_among_numbers_is_named_with_the_option_that_reads_it_as_missing():
    rents = [f"{300 + k / 4:.2f}" for k in range(90)] + ["k.A."] * 20 + ["n/b"]
    frame = pd.DataFrame({"rent": rents, "x": np.linspace(0, 1, 111)})
    with pytest.warns(
        match=r"All but 21 cells of 'rent' are numbers \(20 'k.A.', 1 'n/b' are not\).*=\['usual', 'k.A.', 'n/b'\]"
    ):
        table = read_table(frame)
    assert table.names == ("x",)
    assert read_table(frame, na_values=["k.A.", "n/b"], missing="keep").names == ("rent", "x")


def test_text_among_numbers_is_named_before_the_error_that_it_causes(tmp_path):
    rents = [f"{300 + k % 60 / 4:.2f}".replace(".", ",") for k in range(180)] + ["k.A."] * 20
    path = tmp_path / "rents.csv"
    path.write_text("rent;x\n" + "\n".join(f"{rent};{k % 7}" for k, rent in enumerate(rents)) + "\n")
    with (
        pytest.warns(match=r"All but 20 cells of 'rent' are numbers \(20 'k.A.' are not\)"),
        pytest.raises(GomeaBnError, match="at most 50 levels"),
    ):
        read_table(path)
    assert read_table(path, na_values=["k.A."], missing="keep").columns[0].is_continuous


@pytest.mark.parametrize("name", ["nr", "Nr", "no", "Pat-Nr", "visit_no", "CaseNr", "id"])
def test_different_numbers_under_the_name_of_a_number_are_identifiers(name):
    values = np.random.default_rng(1).permutation(np.arange(100, 400))[:60]
    frame = pd.DataFrame({name: values, "x": np.linspace(0, 1, 60)})
    with pytest.warns(match=f"Left out 1 column: '{name}'"):
        assert read_table(frame).names == ("x",)
    frame.loc[0, name] = frame.loc[1, name]
    assert read_table(frame).names == (name, "x")


def test_a_short_description_names_the_other_columns_by_their_kinds():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 4)), columns=["a", "b", "c", "d"]).assign(
        e=rng.integers(2, size=50)
    )
    whole, short = read_table(frame).describe(), read_table(frame).describe(most_columns=2)
    assert short.splitlines()[:-2] == whole.splitlines()[:-3]
    assert short.splitlines()[-2:] == ["  Also continuous: c, d.", "  Also discrete: e."]


@pytest.mark.parametrize(("n_levels", "advice"), [(200, "raise max_levels"), (300, 'pass drop="city"')])
def test_advice_on_too_many_levels_can_be_followed(n_levels, advice):
    frame = pd.DataFrame({"city": [f"c{k}" for k in range(n_levels)] * 20, "x": np.arange(20.0 * n_levels)})
    with pytest.raises(GomeaBnError, match=f"or {advice}"):
        read_table(frame)


@pytest.mark.parametrize("cells", [[["a"], ["b"]], [["a"], "b"], [{"a": 1}, None]])
def test_cells_that_hold_several_values_are_refused(cells):
    with pytest.raises(GomeaBnError, match=r"Column 'cells' must hold numbers, .*; lists, tuples, dicts"):
        read_table(pd.DataFrame({"cells": cells * 30, "x": np.arange(60.0)}))
