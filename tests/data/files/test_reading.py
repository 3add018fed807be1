"""Files of tables: options for reading, symbols of missing values, columns left out, ugly files, limits."""

import gzip
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import refused
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from table_examples import assert_same_table, column_of
from ugly_files import N_ROWS, UGLY_FILES, clean_table, written

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.data import Table, read_frame
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.data.number_texts import numbers_in, written_with

N = 24


def warned(rows: pd.DataFrame | Path, **options: Any) -> tuple[Table, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(rows, **options)
    return table, [str(warning.message) for warning in caught]


def base(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"y": np.random.default_rng(0).normal(size=N), **columns})


@given(st.lists(st.floats(-1e15, 1e15) | st.integers(-(10**12), 10**12), min_size=1), st.sampled_from(".,"))
def test_written_numbers_come_back(numbers, decimal):
    for form in ("{}", "{:,}"):
        marks = str.maketrans(",.", ".,") if decimal == "," else {}
        texts = [form.format(number).translate(marks) for number in numbers]
        assert numbers_in(texts, decimal) == numbers
        assert decimal in written_with(texts)


@pytest.mark.parametrize(
    ("texts", "decimals"),
    [
        (["1,5"], ","),
        (["1.5"], "."),
        (["1,234"], ".,"),
        (["1,234", "0,5"], ","),
        (["1,234.5"], "."),
        (["1.234,5"], ","),
        (["1,234,567"], "."),
        (["0,123"], ","),
        (["1,234", "-0,361"], ","),
        (["0.361"], "."),
        (["0,361,000"], ""),
        (["275.089", "7"], ".,"),
        (["02163"], ""),
        (["0", "00501"], ""),
        (["0", "-05", "05.5"], "."),
        (["7"], ".,"),
        (["1,5", "1.5"], ""),
        (["1,2,3"], ""),
        (["12,34.5"], ""),
        (["1_000"], ""),
        (["2020-01-01"], ""),
        (["1e5", "-inf"], ".,"),
    ],
)
def test_decimal_marks_are_those_under_which_all_texts_are_numbers(texts, decimals):
    assert written_with(texts) == decimals


@pytest.mark.parametrize(
    ("values", "n_missing", "levels"),
    [
        (["a", "b", "?"] * 8, 8, ("a", "b")),
        (["a", "b", " NA "] * 8, 8, ("a", "b")),
        (["a", "b", "-"] * 8, 8, ("a", "b")),
        (["+", "-"] * 12, 0, ("+", "-")),
        (["+", "-", "?"] * 8, 8, ("+", "-")),
        (["1", "2", "*"] * 8, 8, (1, 2)),
        (["True", "false", "null"] * 8, 8, (False, True)),
        ([1, 2, "?"] * 8, 8, (1, 2)),
        (["a", "b", "unknown"] * 8, 0, ("a", "b", "unknown")),
        (pd.Categorical(["a", "?"] * 12), 0, ("?", "a")),
    ],
)
def test_symbols_of_missing_values(values, n_missing, levels):
    column = column_of(values, missing="keep")
    assert (column.n_missing, column.levels) == (n_missing, levels)


def test_symbols_next_to_numbers_leave_numbers():
    column = column_of([*map(str, np.linspace(0, 1, 20)), "?", "NA", ".", "-"], missing="keep")
    assert column.observed.tolist() == np.linspace(0, 1, 20).tolist()
    assert column.n_missing == 4


def test_listed_symbols_replace_the_usual_ones():
    values = ["a", "b", "?", "zz"] * 6
    assert column_of(values, na_values=[]).levels == ("?", "a", "b", "zz")
    assert column_of(values, na_values="zz", missing="keep").levels == ("?", "a", "b")
    numbers = [1.5, 2.5, -9.0, -99.0] * 6
    column = column_of(numbers, na_values=[-9, "-99"], missing="keep")
    assert column.n_missing == 12
    assert set(column.observed) == {1.5, 2.5}
    declared = column_of(pd.Categorical(["a", "?", "b"] * 8), na_values=["?"], missing="keep")
    assert (declared.levels, declared.n_missing) == (("a", "b"), 8)


def test_symbols_are_said():
    table, said = warned(base(town=["a", "b", "?", "-"] * 6), missing="keep")
    assert said == [
        "Symbols are read as missing values in a column: 'town' (6 '?', 6 '-'). na_values lists the symbols to read "
        "so; an empty list keeps them all as values."
    ]
    table, said = warned(base(size=[*map(str, np.arange(23) / 7), "?"]), missing="keep")
    assert said == []
    assert "'size' (1 '?')" in table.describe()


UUIDS = [f"{i:08x}-0000-4000-8000-{7 * i:012x}" for i in range(N // 2)] * 2


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("x", range(5, 5 + N), "a running number"),
        ("x", pd.array(range(N), dtype="Int64"), "a running number"),
        ("x", [f"name {i}" for i in range(N)], "a different text in every row"),
        ("x", UUIDS, "UUIDs"),
        ("PassengerId", [i * i for i in range(N)], "a different number in every row, under the name of an identifier"),
        ("row_id", [-i for i in range(N)], "a different number in every row, under the name of an identifier"),
    ],
)  # fmt: skip
def test_identifiers_are_left_out_unless_they_are_named(name, values, reason):
    rows = base(**{name: values})
    table, said = warned(rows)
    assert table.names == ("y",)
    assert table.left_out == {name: reason}
    kind = "discrete" if isinstance(values, list) and isinstance(values[0], str) else "continuous"
    assert said == [
        f"Left out 1 column: '{name}' ({reason}). To take one in: pass kinds={{'{name}': '{kind}'}}, or name it among "
        "the columns to read."
    ]
    assert read_table(rows, kinds={name: kind}).names == ("y", name)
    assert read_table(rows, columns=["y", name]).names == ("y", name)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", np.arange(float(N))),
        ("x", [2 * i for i in range(N)]),
        ("x", [*range(N - 1), N]),
        ("x", range(N, 0, -1)),
        ("humid", [i * i for i in range(N)]),
        ("id", [i * i for i in range(N - 1)] + [0]),
        ("x", [f"name {i % 23}" for i in range(N)]),
        ("x", pd.Categorical([f"name {i}" for i in range(N)])),
        ("x", [str(i) for i in range(N)]),
    ],
)
def test_other_columns_are_not_left_out(name, values):
    assert read_table(base(**{name: values})).names == ("y", name)


def test_free_text_is_left_out_and_many_levels_are_refused():
    remarks = ["the same remark in several rows " + str(i // 3) for i in range(60)]
    rows = pd.DataFrame({"y": np.linspace(0, 1, 60) ** 2, "x": remarks})
    table, said = warned(rows, max_levels=10)
    assert table.names == ("y",)
    assert "'x' (20 different texts in 60 rows)" in said[0]
    assert read_table(rows, max_levels=20).names == ("y", "x")
    with pytest.raises(GomeaBnError, match="at most 10 levels, got 20"):
        read_table(rows.assign(x=[f"n{i // 3}" for i in range(60)]), max_levels=10)
    _, said = warned(rows.assign(x=[f"n{i // 2}" for i in range(60)]), max_levels=10)
    assert "'x' (30 different texts in 60 rows)" in said[0]


def test_a_table_of_identifiers_alone_is_refused():
    with pytest.raises(
        GomeaBnError, match=r"No column .* 'a' \(a running number\)\. Pass kinds=\{'a': 'continuous'\}"
    ):
        read_table(pd.DataFrame({"a": range(N)}))


def test_columns_are_chosen_in_the_order_of_the_table():
    rows = base(a=[1, 2] * 12, b=["u", "v"] * 12)
    assert read_table(rows, columns=["b", "y"]).names == ("y", "b")
    assert read_table(rows, drop="a").names == ("y", "b")
    assert read_table(rows, columns=["y", "a"], drop=["a"]).names == ("y",)
    with pytest.raises(GomeaBnError, match=r"columns: unknown column 'bb'\. Did you mean 'b'\?"):
        read_table(rows, columns=["bb"])
    with pytest.raises(GomeaBnError, match="drop: unknown column 'z'"):
        read_table(rows, drop=["z"])
    with pytest.raises(GomeaBnError, match="No column remains after columns and drop"):
        read_table(rows, columns="a", drop="a")


def test_an_empty_column_is_a_root_with_one_level():
    rows = base(empty=[None] * N, other=[np.nan] * N)
    for missing in ("error", "drop", "keep"):
        table, said = warned(rows, missing=missing)
        assert "'empty' is '(empty)', 'other' is '(empty)' in all 24 rows" in said[0]
        assert [column.levels for column in table.columns] == [None, ("(empty)",), ("(empty)",)]
        assert (table.n_rows, table.n_missing) == (N, 0)
    assert table.columns[1].reason == "empty: no value in all 24 rows"
    rows["z"] = rows["y"] ** 2
    for missing in ("error", "drop"):
        learner = BayesNetLearner(max_evaluations=10, random_state=0, missing=missing).fit(rows)
        assert np.isfinite(learner.score(rows))
        with pytest.raises(GomeaBnError, match="'empty' has unknown level 3"):
            learner.network_.log_density(rows.assign(empty=3), unknown="error")


def test_duplicate_rows_are_reported():
    rows = base(a=[1, 2] * 12)
    assert warned(rows)[1] == []
    twice = pd.concat([rows, rows.head(3)])
    assert "3 rows of 27 (11 %) repeat an earlier one. They count" in warned(twice)[1][0]
    whole = pd.DataFrame({"a": np.arange(40) // 2 % 5, "b": np.arange(40) // 10})
    assert "20 rows of 40 (50 %) repeat" in warned(whole)[1][0]
    assert "Every row occurs 2 times or a multiple of it." in warned(whole)[1][0]
    assert warned(pd.DataFrame({"a": [0, 1] * 12, "b": [0, 0, 1] * 8}))[1] == []
    gaps = pd.DataFrame({"a": [0.5 * i for i in range(10)] + [None, None], "b": [1, 2] * 6})
    assert warned(gaps, missing="keep")[1] == []


def test_rows_that_are_equal_where_they_have_values_are_no_duplicates():
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"a": random.normal(size=60), "b": random.normal(size=60), "c": [0, 1] * 30})
    gaps = rows.assign(a=rows["a"].where(rows.index >= 40), b=rows["b"].where(rows.index >= 20))
    assert warned(gaps, missing="keep")[1] == []
    # rows 40 and above are complete
    twice = pd.concat([gaps, gaps.tail(5)], ignore_index=True)
    assert "5 rows of 25 without missing values (20 %) repeat" in warned(twice, missing="keep")[1][0]
    nowhere = rows.assign(a=rows["a"].where(rows["c"] == 0), b=rows["b"].where(rows["c"] == 1).round(0))
    assert warned(nowhere, missing="keep")[1] == []


def test_names_that_are_data_are_reported(tmp_path):
    iris = load_iris(as_frame=True).frame.assign(target=lambda f: f["target"].map({0: "s", 1: "v", 2: "g"}))
    path = tmp_path / "iris.csv"
    iris.to_csv(path, index=False, header=False)
    with pytest.warns(UserWarning, match=r"5 of 5 column names look like data: '5\.1', '3\.5', .*header"):
        read_table(path)
    assert read_table(path, header="none").names == ("x0", "x1", "x2", "x3", "x4")
    digits = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 3)), columns=["1", "2", "3"])
    assert warned(digits)[1] == []
    assert len(warned(digits.set_axis(["1", "2", "4"], axis=1))[1]) == 1
    assert warned(digits.set_axis(["1.5", "b", "c"], axis=1))[1] == []


def test_more_free_probabilities_than_rows_are_reported():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": [f"n{i % 12}" for i in range(N)], "b": [f"n{i % 14}" for i in range(N)]})
    assert warned(rows)[1] == []  # 11 + 13 = 24
    said = warned(rows.assign(c=rng.permutation([0, 1] * 12)))[1]
    assert (
        "25 free parameters even without edges, more than the 24 rows: 'b' 14 levels, 'a' 12 levels"
        in said[0]
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sep": 5}, "sep must be one character"),
        ({"sep": ";;"}, "sep must be one character"),
        ({"sep": '"'}, "sep must be one character"),
        ({"decimal": ";"}, "decimal must be one of"),
        ({"sep": ",", "decimal": ","}, "sep and decimal must differ"),
        ({"encoding": "utf-9"}, "encoding must be the name of an encoding"),
        ({"sheet": -1}, "sheet must be an integer"),
        ({"header": "second"}, "header must be one of"),
        ({"dates": "weeks"}, "dates must be one of"),
        ({"na_values": [None]}, "na_values must hold texts and numbers"),
        ({"sep": ";"}, "sep applies to files, but the table is a DataFrame"),
        ({"header": "none"}, "header applies to files"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(GomeaBnError, match=words):
        read_table(base(), **options)


def test_options_that_do_not_apply_to_a_file_are_named(tmp_path):
    base().to_csv(tmp_path / "a.csv", index=False)
    base().to_parquet(tmp_path / "a.parquet")
    with pytest.raises(GomeaBnError, match="sheet applies to spreadsheets"):
        read_table(tmp_path / "a.csv", sheet="x")
    with pytest.raises(GomeaBnError, match="encoding applies to text files"):
        read_table(tmp_path / "a.parquet", encoding="cp1252")


def test_given_options_are_plain_and_repeat_the_reading():
    options = ReadingOptions.of(sep="tab", na_values=["?", -9], columns="a", drop=None)
    assert options.given == {"sep": "tab", "na_values": ["?", -9], "columns": ["a"]}
    assert ReadingOptions.of(**options.given) == options
    assert read_table(base()).reading.given == {}
    assert options.separator == "\t"


def test_given_symbols_of_missing_values_can_be_stored_as_json():
    given = ReadingOptions.of(na_values=[float("nan"), float("inf"), "?"]).given
    assert given == {"na_values": ["inf", "?"]}
    assert ReadingOptions.of(**given).given == given


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a;b,c\n1;2,3\n" * 2, "may be separated by ',' or ';'; say by which"),
        ("a;b\n1,5;0.5\n" + "2,5;1.5\n" * 12, "'a' holds numbers such as '1,5', but column 'b' holds decimal points"),
        ("a;b\n1,234;u\n" + "2,345;v\n" * 12, "which may be 1.234 or 1234"),
    ],
)  # fmt: skip
def test_what_is_ambiguous_must_be_said(tmp_path, content, words):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(GomeaBnError, match=words):
        read_table(tmp_path / "a.txt")


@pytest.mark.parametrize("separator", [";", ","])
@pytest.mark.parametrize(
    ("fields", "decimal", "values"),
    [
        (("275.089", "0,361"), ",", [275089, 0.361]),
        (("275.089", "0.361"), ".", [275.089, 0.361]),
        (("275.089", "12.50"), ".", [275.089, 12.5]),
        (("1,234", "12.50"), ".", [1234, 12.5]),
        (("275.089", "12,50"), ",", [275089, 12.5]),
        (("275.089", "x"), "", [275.089, 275089]),
        (("275.089", "1,234"), "", [275.089, 275089]),
    ],
)
def test_a_number_that_no_grouping_explains_decides_the_decimal_mark(
    tmp_path, separator, fields, decimal, values
):
    line = separator.join(f'"{field}"' for field in fields)
    (tmp_path / "a.csv").write_text(f"a{separator}b\n" + f"{line}\n" * 9)
    if separator == "," and fields[1] == "x":
        # a decimal comma would separate fields
        assert read_frame(tmp_path / "a.csv")["a"].tolist() == [values[0]] * 9
        return
    if not decimal:
        with pytest.raises(
            GomeaBnError, match=r"'a' holds numbers such as '275.089', which may be 275.089 or 275089"
        ) as error:
            read_frame(tmp_path / "a.csv")
        assert str(error.value).endswith('Pass decimal=",", or pass decimal=".".')
        for mark, value in zip(".,", values, strict=True):
            assert read_frame(tmp_path / "a.csv", decimal=mark)["a"].tolist() == [value] * 9
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = read_frame(tmp_path / "a.csv")
    assert rows.iloc[4].tolist() == values


def test_whole_numbers_next_to_symbols_need_no_decimal_mark(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n" + "7;x\n8;y\n?;z\n" * 3)
    assert read_frame(tmp_path / "a.csv")["a"].fillna(-1).tolist() == [7, 8, -1] * 3


def test_blanks_are_no_part_of_codes(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,zip\n" + "".join(f"{k % 7}.5, 0{k % 3}\n" for k in range(30)))
    assert read_table(path).columns[1].levels == ("00", "01", "02")


CODES = ["02163", None, "10001", "00501", "94110"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".dat", ".xlsx"])
def test_codes_with_leading_zeros_stay_text(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    rows = pd.DataFrame({"zip": CODES * 5, "size": np.arange(25) ** 2 / 4, "n": list(range(0, 50, 2))})
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
        rows.to_excel(path, index=False)
    else:
        rows.to_csv(path, index=False, sep="\t" if ending == ".tsv" else "," if ending == ".csv" else ";")
    read = read_frame(path)
    assert read["zip"].dropna().tolist() == [code for code in CODES if code] * 5
    assert read["size"].tolist() == rows["size"].tolist()
    assert read["n"].tolist() == rows["n"].tolist()
    table = read_table(path, missing="drop")
    assert table.columns[0].levels == ("00501", "02163", "10001", "94110")
    assert "Leading zeros make 1 column text: 'zip' (such as '02163')." in table.describe()
    numbers = read_table(path, missing="drop", kinds={"zip": "continuous"}).columns[0]
    assert set(numbers.values) == {501, 2163, 10001, 94110}


def test_imputed_files_keep_codes_as_they_are_written(tmp_path):
    generator = np.random.default_rng(0)
    codes = generator.choice(["02163", "00501", "10001"], 200)
    rows = pd.DataFrame({"zip": codes, "x": generator.normal(size=200) + 3 * (codes == "02163")})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    network = BayesNetLearner(max_evaluations=50, random_state=0).fit(tmp_path / "rows.csv").network_
    rows.assign(zip=rows["zip"].where(rows.index > 5)).to_csv(tmp_path / "gaps.csv", index=False)
    filled = network.impute(read_frame(tmp_path / "gaps.csv"))
    assert filled["zip"].tolist()[6:] == rows["zip"].tolist()[6:]
    assert set(filled["zip"][:6]) <= {"02163", "00501", "10001"}
    # no code of these rows has a leading zero
    (tmp_path / "new.csv").write_text("zip,x\n10001,0.5\n10001,\n")
    with pytest.warns(UserWarning, match="matched by their values"):
        assert np.isfinite(network.log_density(read_frame(tmp_path / "new.csv"))).all()


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_blank_rows_of_one_column_are_missing_values(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    values = [1.5, None, *map(float, range(12)), None, None, 3.5]
    if ending == ".csv":
        lines = ["" if value is None else str(value) for value in values]
        lines[-2] = "   "
        path.write_text("\n\nx\n" + "\n".join(lines) + "\n\n \n")
    else:
        pytest.importorskip("openpyxl")
        pd.DataFrame({"x": values}).to_excel(path, index=False)
    with pytest.raises(GomeaBnError, match=r"'x'.*3 missing.*rows 1, 14, 15"):
        read_table(path)
    table = read_table(path, missing="drop")
    assert table.dropped_rows == (1, 14, 15)
    assert table.n_rows == 14
    if ending == ".csv":
        assert "Left out 2 empty rows at the end of the table." in table.describe()
        path.write_text("\n" + "\n".join(lines))
        read = read_frame(path, header="none")["x0"]
        assert read.isna().tolist() == [True] + [value is None for value in values]


def test_blank_lines_of_several_columns_are_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("\na,b\n1,x\n\n2,y\n  \n,\n3,z\n\n")
    assert read_frame(tmp_path / "a.csv")["a"].fillna(-1).tolist() == [1, 2, -1, 3]


def test_files_may_be_read_as_frames(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n" + "1,5;x\n2,5;?\n" * 6)
    with pytest.warns(UserWarning, match=r"'b' \(6 '\?'\)"):
        frame = read_frame(tmp_path / "a.csv")
    assert frame["a"].tolist() == [1.5, 2.5] * 6
    assert read_frame(tmp_path / "a.csv", na_values=[])["b"].tolist() == ["x", "?"] * 6


@pytest.mark.parametrize("load", [load_iris, load_wine, load_diabetes, load_breast_cancer])
def test_public_tables_survive_every_way_of_writing(load, tmp_path):
    frame = load(as_frame=True).frame
    expected, _ = warned(frame)
    ways: list[tuple[str, dict[str, Any]]] = [
        ("a.csv", {}), ("b.csv", {"sep": ";", "decimal": ","}), ("c.tsv", {"sep": "\t", "decimal": ","}),
        ("d.txt", {"sep": "|"}), ("e.dat", {"sep": " "}),
    ]  # fmt: skip
    for name, options in ways:
        frame.to_csv(tmp_path / name, index=False, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = read_table(tmp_path / name)
        assert_same_table(table, expected)


@pytest.mark.parametrize("what", UGLY_FILES)
def test_ugly_files_are_read_or_tell_what_to_type(what, tmp_path):
    ugly = UGLY_FILES[what]
    path = written(ugly, tmp_path)
    if ugly.advice:
        with pytest.raises(GomeaBnError) as caught:
            read_table(path)
        assert ugly.advice in str(caught.value)
        assert str(path) in str(caught.value) or "Column '" in str(caught.value)
        if not ugly.options:
            return
    table, said = warned(path, missing="drop" if ugly.missing else "error", **ugly.options)
    assert ugly.left_out in " ".join(said)
    dropped = sorted({row for rows in ugly.missing.values() for row in rows})
    assert list(table.dropped_rows) == dropped
    expected = clean_table().drop(index=dropped)
    columns = {column.name: column for column in table.columns}
    found = [name for name in expected if name in columns]
    if ugly.options.get("header") == "none":
        columns["Größe"], found = columns["x0"], ["Größe"]
    assert found
    for name in found:
        column = columns[name]
        values = column.values if column.levels is None else [column.levels[code] for code in column.values]
        assert list(values) == expected[name].tolist()


def test_ugly_files_hold_no_other_columns(tmp_path):
    others = {}
    for what, ugly in UGLY_FILES.items():
        if not ugly.advice:
            table, _ = warned(
                written(ugly, tmp_path), missing="drop" if ugly.missing else "error", **ugly.options
            )
            others[what] = set(table.names) - set(clean_table())
    assert {what: names for what, names in others.items() if names} == {
        "no column names": {"x0", "x1"},
        "dates": {"day [days since 1970-01-01]"},
        "German dates": {"day [days since 1970-01-01]"},
        "American dates": {"day [days since 1970-01-01]"},
        "empty columns and lines": {"notes"},
    }


@pytest.mark.parametrize("what", ["dates", "German dates", "American dates"])
def test_dates_are_days(what, tmp_path):
    table = read_table(written(UGLY_FILES[what], tmp_path))
    first = (np.datetime64("2021-01-01") - np.datetime64("1970-01-01")).astype(int)
    assert table.columns[3].values.tolist() == [first + 5.0 * i for i in range(N_ROWS)]
    assert "Dates and times are read as numbers: 'day' as 'day [days since 1970-01-01]'" in table.describe()
    assert "day" not in " ".join(read_table(written(UGLY_FILES[what], tmp_path), dates="drop").names)


def test_what_was_detected_is_said(tmp_path):
    text = read_table(written(UGLY_FILES["semicolons and decimal commas"], tmp_path)).describe()
    assert "Fields are separated by ';'; sep sets another separator." in text
    assert (
        "Decimal commas in 1 column ('Größe'), for example '190,41'; decimal sets the decimal mark." in text
    )
    text = read_table(written(UGLY_FILES["tabs under the wrong ending"], tmp_path)).describe()
    assert "Fields are separated by 'tab'" in text


def test_decimal_commas_are_detected_next_to_symbols_of_the_user(tmp_path):
    path = tmp_path / "rents.csv"
    rents = [f"{300 + k / 4:.2f}".replace(".", ",") for k in range(40)]
    path.write_text("rent;own\n" + "".join(f"{rent};{k % 2}\nk.A.;1\n" for k, rent in enumerate(rents)))
    table = read_table(path, na_values=["k.A."], missing="keep")
    assert "Decimal commas in 1 column ('rent')" in table.describe()
    np.testing.assert_array_equal(table.columns[0].values[::2], 300 + np.arange(40) / 4)
    assert table.n_missing == 40


@pytest.mark.parametrize(
    ("name", "limit", "write"),
    [
        ("bomb.csv.gz", 200_000, lambda rows, path: rows.to_csv(path, index=False)),
        ("bomb.parquet", 200_000, lambda rows, path: rows.to_parquet(path)),
        ("bomb.xlsx", 20_000, lambda rows, path: rows.head(1_000).to_excel(path, index=False)),
    ],
)
def test_compressed_tables_have_a_limit(tmp_path, monkeypatch, name, limit, write):
    write(pd.DataFrame({"a": [1.5] * 30_000, "b": [2.5] * 30_000}), tmp_path / name)
    assert (tmp_path / name).stat().st_size < limit
    monkeypatch.setenv("GOMEA_BN_MAX_FILE_BYTES", str(limit))
    with pytest.raises(GomeaBnError, match=rf"larger than {limit:,} bytes.*GOMEA_BN_MAX_FILE_BYTES"):
        read_table(tmp_path / name)


def test_a_network_may_not_unpack_to_a_thousand_times_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr("gomea_bn.runtime.files._MOST_UNPACKED", 1000)
    path = tmp_path / "network.json.gz"
    path.write_bytes(packed := gzip.compress(b'{"a": "' + b"0" * 10**6))
    assert 100 * len(packed) < 10**6
    with pytest.raises(GomeaBnError, match=f"larger than {100 * len(packed):,} bytes"):
        DiscretizedBayesNet.from_json(path)


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        assert "is a device or a pipe" in refused(3, "learn", tmp_path / name)
        assert "is a device or a pipe" in refused(3, "show", tmp_path / name)


def test_columns_have_a_limit_that_options_raise(tmp_path, monkeypatch):
    monkeypatch.setenv("GOMEA_BN_MAX_COLUMNS", "2")
    frame = pd.DataFrame({"a": range(12), "b": [0.5, 1.5, 2.5] * 4, "c": [1, 0] * 6})
    frame.to_csv(path := tmp_path / "rows.csv", index=False)
    for source in (frame, path):
        with pytest.raises(GomeaBnError, match=r"3 columns; the limit is 2\..*GOMEA_BN_MAX_COLUMNS"):
            read_table(source)
        assert read_table(source, columns=["b", "c"]).names == ("b", "c")
    monkeypatch.setenv("GOMEA_BN_MAX_COLUMNS", "many")
    with pytest.raises(GomeaBnError, match="must be a positive number of columns, got 'many'"):
        read_table(frame)
