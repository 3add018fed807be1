"""Tables in memory, Arrow files and spreadsheets give the same table as a pandas frame."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from table_examples import assert_same_table
from wrong_input import untyped

from gomea_bn import BayesNetEnsemble, BayesNetLearner, GomeaBnError, GomeaBnWarning, read_table
from gomea_bn.data.frames import require_pyarrow
from gomea_bn.data.table import load

N = 24


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "weight": rng.normal(size=N),
            "rooms": rng.integers(0, 4, N),
            "town": rng.choice(["x", "y"], N),
            "sold": rng.choice([True, False], N),
        }
    )


def gappy() -> pd.DataFrame:
    with_gaps = frame().astype({"rooms": "Int64", "sold": "boolean", "town": "string"})
    with_gaps.loc[3, "rooms"] = pd.NA
    with_gaps.loc[5, "sold"] = pd.NA
    with_gaps.loc[7, "town"] = pd.NA
    return with_gaps


def polars_frame(rows: pd.DataFrame) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(
        {name: rows[name].astype(object).where(rows[name].notna(), None).tolist() for name in rows}
    )


def arrow_table(rows: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(rows, preserve_index=False)


class Capsule:
    """An object of which only the Arrow capsule is known."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.table = arrow_table(rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def columns_of(rows: pd.DataFrame) -> dict[str, Any]:
    return {str(name): rows[name].to_numpy() for name in rows}


@pytest.mark.parametrize("source_of", [polars_frame, arrow_table, Capsule])
def test_sources_with_missing_values_give_the_table_of_the_frame(source_of):
    assert_same_table(read_table(source_of(gappy()), missing="keep"), read_table(gappy(), missing="keep"))


@pytest.mark.parametrize(
    "source_of", [polars_frame, arrow_table, Capsule, columns_of, lambda f: f.to_records(index=False)]
)
def test_every_source_gives_the_table_of_the_frame(source_of):
    assert_same_table(read_table(source_of(frame())), read_table(frame()))


class Interchange:
    """An object of which only the dataframe interchange is known."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.table = arrow_table(rows)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.table.__dataframe__(nan_as_null, allow_copy)


def test_the_dataframe_interchange_is_read():
    assert_same_table(read_table(Interchange(frame())), read_table(frame()))


def test_the_columns_of_an_array_are_numbered():
    assert read_table(np.random.default_rng(0).normal(size=(12, 2))).names == ("x0", "x1")
    mixed = np.array([[0.5 * i, "ab"[i % 2]] for i in range(12)], dtype=object)
    assert [column.is_continuous for column in read_table(mixed).columns] == [True, False]


def test_learners_take_every_source():
    learner = BayesNetLearner(max_evaluations=10, random_state=0).fit(untyped(columns_of(frame())))
    assert learner.table_.names == ("weight", "rooms", "town", "sold")
    assert np.isfinite(learner.score(untyped(columns_of(frame()))))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"a": [1, 2], "b": [1]}, "same number of rows, got 'a' 2, 'b' 1"),
        ({"a": 3}, "'a' maps to int"),
        ({"a": "text"}, "'a' maps to the text 'text'"),
        (np.zeros(3), r"shape \(n_rows, n_columns\), got shape \(3,\)"),
        (3, "a frame of pandas or polars, .* got int"),
        (pd.Series([1.0, 2.0], name="x"), r"got Series. Call its to_frame\(\)"),
    ],
)
def test_other_objects_are_refused(source, words):
    with pytest.raises(GomeaBnError, match=words):
        read_table(source)


@pytest.mark.parametrize("make", ["series", "lazy", "array"])
def test_columns_and_plans_of_other_libraries_are_refused(make):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    made = {
        "series": (lambda: polars.Series([1.0]), r"got Series. Call its to_frame\(\)"),
        "lazy": (lambda: polars.LazyFrame({"x": [1.0]}), r"got LazyFrame. Call its collect\(\)"),
        "array": (lambda: pyarrow.array([1.0]), "got DoubleArray"),
    }
    source, words = made[make]
    with pytest.raises(GomeaBnError, match=words):
        read_table(source())


def numbered(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.set_axis([f"x{i}" for i in range(rows.shape[1])], axis=1)


FORMS: dict[str, Any] = {
    "polars": polars_frame,
    "arrow": arrow_table,
    "capsule": Capsule,
    "dict": columns_of,
    "array": lambda rows: rows.to_numpy(),
    "Table": lambda rows: read_table(rows, missing="keep"),
}


@pytest.mark.parametrize("form", [*FORMS, "path"])
def test_networks_answer_about_rows_in_every_form_that_fit_takes(form, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    rows = numbered(pd.DataFrame({"x": x, "y": x + rng.normal(size=60), "z": rng.normal(size=60)}))
    rows.iloc[4, 1] = np.nan
    learner = BayesNetLearner(max_evaluations=100, max_seconds=None, density="bins", random_state=0).fit(rows)
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=0).fit(rows)
    if form == "path":
        source: Any = tmp_path / "rows.csv"
        rows.to_csv(source, index=False)
    else:
        source = FORMS[form](rows)
    network = learner.network_
    calls: dict[str, Any] = {
        "score": network.score,
        "log_density": network.log_density,
        "log_density of": lambda given: network.log_density(given, "x0", "x2"),
        "predict": lambda given: network.predict(given, "x1"),
        "predict_proba": lambda given: network.predict_proba(given, "x1"),
        "predict_interval": lambda given: network.predict_interval(given, "x1"),
        "impute": lambda given: network.impute(given, random_state=1),
        "update": lambda given: network.update(given).counts["x1"],
        "drift": network.drift,
        "learner's score": learner.score,
        "ensemble": ensemble.log_density,
        "fit": lambda given: (
            BayesNetLearner(max_evaluations=10, density="bins", random_state=0).fit(given).score_
        ),
    }
    for name, call in calls.items():
        np.testing.assert_array_equal(np.asarray(call(source)), np.asarray(call(rows)), err_msg=name)
    if form != "path":
        complete = rows.dropna()
        given = FORMS[form](complete)
        np.testing.assert_array_equal(network.discretize(given), network.discretize(complete))
        terms, expected = network.log_density_terms(given), network.log_density_terms(complete)
        np.testing.assert_array_equal(list(terms.values()), list(expected.values()))


@pytest.mark.parametrize("form", ["polars", "arrow", "Table"])
def test_a_table_in_any_form_asks_a_question_per_row(form):
    rows = frame()[["weight", "rooms"]]
    network = BayesNetLearner(max_evaluations=50, density="bins", random_state=0).fit(frame()).network_
    np.testing.assert_array_equal(network.query("town", FORMS[form](rows)), network.query("town", rows))


def test_imputing_keeps_the_columns_of_a_frame_as_they_are_stored():
    pytest.importorskip("pyarrow")
    rows = pd.DataFrame({"x": np.arange(20.0), "note": pd.array(["a"] * 20, dtype="string[pyarrow]")})
    network = (
        BayesNetLearner(max_evaluations=10, density="bins").fit(rows[["x"]].assign(y=rows["x"] ** 2)).network_
    )
    filled = network.impute(rows.assign(y=np.nan), random_state=1)
    assert filled["note"].dtype == rows["note"].dtype


def test_series_in_a_dict_are_not_aligned():
    first, second = pd.Series(np.arange(12.0)), pd.Series(np.arange(12.0)[::-1].copy(), index=range(20, 32))
    assert read_table({"a": first, "b": second}).columns[1].values.tolist() == second.tolist()


@pytest.mark.parametrize("ending", [".feather", ".arrow", ".arrows"])
def test_arrow_files_are_read(tmp_path, ending):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather

    path = tmp_path / f"rows{ending}"
    if ending == ".arrows":
        table = arrow_table(gappy())
        with pyarrow.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
    else:
        feather.write_feather(arrow_table(gappy()), str(path))
    assert_same_table(read_table(path, missing="keep"), read_table(gappy(), missing="keep"))
    path.write_bytes(b"junk")
    with pytest.raises(GomeaBnError, match="not a readable Arrow file"):
        read_table(path)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("ending", "package"), [(".xlsx", "openpyxl"), (".ods", "odf")])
def test_spreadsheets_are_read(tmp_path, ending, package):
    pytest.importorskip(package)
    path = tmp_path / f"book{ending}"
    rows = frame().round(3).assign(day=pd.date_range("2020-01-01", periods=N, freq="D"))
    second = frame().round(3).assign(town=["?"] + ["z", "w"] * 11 + ["z"])
    with pd.ExcelWriter(str(path)) as writer:
        pd.DataFrame().to_excel(writer, sheet_name="cover", index=False)
        rows.to_excel(writer, sheet_name="rows", index=False)
        second.to_excel(writer, sheet_name="more", index=True)
    table = read_table(path)
    assert_same_table(table, read_table(rows))
    assert table.names[-1] == "day [days since 1970-01-01]"
    assert "Sheet 'rows' is read, not 'cover', 'more'; sheet names another." in table.describe()
    with pytest.warns(
        UserWarning, match=r"Left out columns without a name, counted from 0: column 0 \(a running"
    ):
        chosen = read_table(path, sheet="more", missing="drop")
    assert_same_table(chosen, read_table(second, missing="drop"))
    assert chosen.dropped_rows == (0,)
    assert_same_table(read_table(path, sheet=2, missing="drop"), chosen)
    with pytest.raises(GomeaBnError, match=r"sheet: .* has no sheet 'row'; .* Did you mean 'rows'\?"):
        read_table(path, sheet="row")
    with pytest.raises(GomeaBnError, match="has no cells in 'cover'"):
        read_table(path, sheet="cover")
    path.write_bytes(b"junk")
    with pytest.raises(GomeaBnError, match=f"is not a readable {ending} file"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "module", "words"),
    [
        ("a.xlsx", "openpyxl", r"needs openpyxl: pip install 'gomea-bn\[excel\]'"),
        ("a.ods", "odf", r"needs odfpy: pip install 'gomea-bn\[excel\]'"),
        ("a.feather", "pyarrow", r"needs pyarrow: pip install 'gomea-bn\[parquet\]'"),
        ("a.parquet", "pyarrow", r"needs pyarrow: pip install 'gomea-bn\[parquet\]'"),
    ],
)
def test_missing_packages_are_named(tmp_path, monkeypatch, name, module, words):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    (tmp_path / name).write_bytes(b"junk")
    with pytest.raises(GomeaBnError, match=words):
        read_table(tmp_path / name)


def test_what_needs_pyarrow_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(GomeaBnError, match=r"^Reading this needs pyarrow"):
        require_pyarrow("Reading this")


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        (pd.date_range("1970-01-02", periods=N, freq="12h"), "t [days since 1970-01-01]", 1 + np.arange(N) / 2),
        (
            pd.date_range("1970-01-02", periods=N, freq="D", tz="Etc/GMT-12"),
            "t [days since 1970-01-01]",
            0.5 + np.arange(N),
        ),
        (pd.to_timedelta(np.arange(N), "min"), "t [seconds]", 60.0 * np.arange(N)),
        ([datetime.time(i % 24, 30) for i in range(N)], "t [hours]", 0.5 + np.arange(N) % 24),
        ([datetime.date(1970, 1, 1 + i) for i in range(N)], "t [days since 1970-01-01]", np.arange(N)),
        ([datetime.timedelta(hours=i) for i in range(N)], "t [seconds]", 3600.0 * np.arange(N)),
        ([f"{i % 24:02}:15" for i in range(N)], "t [hours]", 0.25 + np.arange(N) % 24),
        ([f"1970-01-{1 + i:02} 06:00" for i in range(N)], "t [days since 1970-01-01]", 0.25 + np.arange(N)),
    ],
)  # fmt: skip
def test_dates_times_and_durations_become_numbers(values, name, expected):
    rows = pd.DataFrame({"t": values, "other": np.linspace(0, 1, N)})
    table = read_table(rows)
    assert table.names == (name, "other")
    np.testing.assert_allclose(table.columns[0].values, expected, rtol=0, atol=1e-9)
    assert read_table(rows, dates="drop").names == ("other",)
    assert read_table(rows, kinds={"t": "continuous"}).names == (name, "other")
    rows.loc[3, "t"] = None
    assert read_table(rows, missing="drop").dropped_rows == (3,)


def test_networks_take_rows_with_dates():
    rows = pd.DataFrame(
        {"when": pd.date_range("2020-01-01", periods=N), "y": np.random.default_rng(0).normal(size=N)}
    )
    learner = BayesNetLearner(max_evaluations=20, random_state=0).fit(rows)
    assert learner.network_.names == ("when [days since 1970-01-01]", "y")
    numbers = learner.table_.to_frame()
    np.testing.assert_array_equal(learner.score_samples(rows), learner.score_samples(numbers))
    texts = rows.assign(when=rows["when"].dt.strftime("%Y-%m-%d"))
    np.testing.assert_array_equal(learner.network_.log_density(texts), learner.network_.log_density(numbers))


def test_text_dates_with_few_values_stay_text():
    rows = pd.DataFrame({"wave": ["2020-01-01", "2021-01-01"] * 12, "y": np.arange(N) / 7})
    assert read_table(rows).columns[0].levels == ("2020-01-01", "2021-01-01")
    as_days = read_table(rows, kinds={"wave": "continuous"})
    assert as_days.names == ("wave [days since 1970-01-01]", "y")
    assert set(as_days.columns[0].values) == {18262.0, 18628.0}


def test_labels_of_stata_are_levels(tmp_path):
    rows = pd.DataFrame(
        {
            "x": np.arange(24) / 7,
            "town": pd.Categorical(["Köln", "Bonn"] * 12),
            "n": pd.array([None, *range(23)], "Int16"),
        }
    )
    rows.to_stata(tmp_path / "a.dta", write_index=False, version=118)
    table = read_table(tmp_path / "a.dta", missing="keep")
    assert [column.levels for column in table.columns] == [None, ("Bonn", "Köln"), None]
    assert not table.columns[1].ordered
    assert table.columns[2].n_missing == 1
    assert table.columns[0].values.tolist() == rows["x"].tolist()


def test_labels_of_spss_are_levels_and_its_missing_values_are_missing(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    rows = pd.DataFrame(
        {
            "sex": np.tile([1.0, 2.0], 12),
            "content": np.tile([1.0, 2.0, 3.0, 9.0], 6),
            "age": np.arange(24) / 7,
            "visits": np.arange(24.0) ** 2,
            "day": pd.date_range("2020-02-20", periods=24),
            "town": ["Köln", "Bonn", ""] * 8,
        }
    )
    rows.loc[3, "age"] = np.nan
    labels = {"sex": {1: "male", 2: "female"}, "content": {1: "low", 2: "mid", 3: "high"}}
    for ending in (".sav", ".zsav"):
        path = tmp_path / f"a{ending}"
        pyreadstat.write_sav(
            rows,
            str(path),
            compress=ending == ".zsav",
            variable_value_labels=labels,
            missing_ranges={"content": [9]},
        )
        table = read_table(path, missing="keep")
        columns = {column.name: column for column in table.columns}
        assert columns["sex"].levels == ("male", "female")
        assert [columns["sex"].levels[code] for code in columns["sex"].values[:2]] == ["male", "female"]
        assert columns["content"].levels == ("low", "mid", "high")
        assert columns["content"].n_missing == 6
        assert (columns["age"].n_missing, columns["town"].n_missing) == (1, 8)
        assert columns["visits"].values.tolist() == rows["visits"].tolist()
        assert columns["day [days since 1970-01-01]"].values[0] == 18312


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_scales_with_labels_of_some_values_stay_numbers(ending, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    age = np.arange(40) + 20
    rows = pd.DataFrame(
        {
            "pain": np.arange(40) % 11,
            "age": np.where(age == 27, 99, age),
            "view": np.arange(40) % 4 + 1,
            "sex": np.arange(40) % 3 % 2,
        }
    )
    labels: dict[str, dict[float, str]] = {
        "pain": {0: "none", 10: "worst"},
        "age": {98: "missing", 99: "Refused to answer"},
        "view": {1: "strongly agree", 2: "agree", 3: "disagree", 4: "agree"},
        "sex": {0: "male", 1: "female"},
    }
    path = tmp_path / f"a{ending}"
    if ending == ".sav":
        pyreadstat.write_sav(
            rows, str(path), variable_value_labels=labels, variable_measure={"view": "ordinal"}
        )
    else:
        labels["view"][4] = "agree strongly"
        rows.to_stata(path, write_index=False, value_labels=labels)
    with pytest.warns(GomeaBnWarning) as caught:
        table = read_table(path, missing="keep")
    columns = {column.name: column for column in table.columns}
    assert columns["pain"].values.tolist() == rows["pain"].tolist()
    assert (columns["age"].n_missing, columns["age"].observed.max()) == (1, 59)
    assert columns["sex"].levels == ("male", "female")
    last = (
        ["agree (2)", "disagree", "agree (4)"]
        if ending == ".sav"
        else ["agree", "disagree", "agree strongly"]
    )
    assert columns["view"].levels == ("strongly agree", *last)
    assert columns["view"].ordered == (ending == ".sav")
    said = " ".join(str(warning.message) for warning in caught)
    assert "'age' (1 of 99 'Refused to answer')" in said
    assert "'pain' (0 'none', 10 'worst')" in said
    with pytest.warns(GomeaBnWarning, match="Only some of the values have labels"):
        kept = {column.name: column for column in read_table(path, na_values="usual").columns}
    assert kept["age"].values.tolist() == rows["age"].tolist()


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_second_file_of_a_survey_is_read_like_the_first(ending, tmp_path):
    first = pd.DataFrame({"often": np.arange(40) % 10 + 1, "age": np.arange(40) + 20})
    first.loc[3, "age"] = 99
    second = pd.DataFrame({"often": np.arange(12) % 2 * 9 + 1, "age": np.arange(12) + 30})
    second["age"] = np.where(second["age"] == 33, 99, second["age"])
    third = second.assign(age=99).iloc[:1]
    labels: dict[str, dict[float, str]] = {
        "often": {1: "never", 10: "always"},
        "age": {99: "Refused to answer"},
    }
    paths = [tmp_path / f"{name}{ending}" for name in ("first", "second", "third")]
    for rows, path in zip((first, second, third), paths, strict=True):
        if ending == ".sav":
            pytest.importorskip("pyreadstat").write_sav(rows, str(path), variable_value_labels=labels)
        else:
            rows.to_stata(path, write_index=False, value_labels=labels)
    with pytest.warns(GomeaBnWarning, match="Only some of the values have labels"):
        table = read_table(paths[0], missing="keep")
    assert table.reading.forms == {"often": "number", "age": "number"}
    # without the first file nothing says that these are numbers
    assert read_table(paths[1], missing="keep").columns[0].levels == ("never", "always")
    loaded = load(paths[1], table.reading)
    assert loaded.frame["often"].tolist() == second["often"].tolist()
    assert loaded.frame["age"].isna().tolist() == (second["age"] == 99).tolist()
    assert [note.text(str)[:36] for note in loaded.warnings] == ["Codes whose labels say that there is"]
    assert load(paths[2], table.reading).frame["age"].isna().all()
    some = read_table(paths[0], columns=["age"], missing="keep")
    assert some.reading.forms == {"age": "number"}
    # no row has a value with a label
    fourth = pd.DataFrame({"often": np.arange(40) % 3 + 4, "age": np.arange(40) + 20})
    path = tmp_path / f"fourth{ending}"
    if ending == ".sav":
        pytest.importorskip("pyreadstat").write_sav(fourth, str(path), variable_value_labels=labels)
    else:
        fourth.to_stata(path, write_index=False, value_labels=labels)
    assert read_table(path).reading.forms == {"often": "number", "age": "number"}


def test_two_values_of_stata_with_one_label_stay_numbers(tmp_path):
    rows = pd.DataFrame({"view": np.arange(30) % 3, "x": np.arange(30) / 7})
    labels: dict[str, dict[float, str]] = {"view": {0: "yes", 1: "no", 2: "yeS"}}
    rows.to_stata(tmp_path / "a.dta", write_index=False, value_labels=labels)
    content = (tmp_path / "a.dta").read_bytes().replace(b"yeS", b"yes")
    (tmp_path / "a.dta").write_bytes(content)
    with pytest.warns(GomeaBnWarning, match="Two values have one label"):
        table = read_table(tmp_path / "a.dta")
    assert table.columns[0].levels == (0, 1, 2)


@pytest.mark.parametrize("version", [5, 8])
def test_transport_files_of_sas_hold_the_numbers(version, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    rows = pd.DataFrame(
        {"zero": np.arange(30) % 12, "x": np.arange(30) / 7 - 2, "town": ["Bonn", "", "Ulm"] * 10}
    )
    pyreadstat.write_xport(rows, str(tmp_path / "a.xpt"), file_format_version=version)
    columns = read_table(tmp_path / "a.xpt", missing="keep").columns
    assert columns[0].values.tolist() == rows["zero"].tolist()
    assert columns[0].is_integer
    np.testing.assert_allclose(columns[1].values, rows["x"], rtol=1e-14)
    assert columns[2].n_missing == 10


@pytest.mark.parametrize("ending", [".rds", ".RData"])
def test_factors_of_r_are_levels(ending, tmp_path):
    pyreadr = pytest.importorskip("pyreadr")
    path = str(tmp_path / f"a{ending}")
    rows = pd.DataFrame(
        {
            "x": np.arange(24) / 7,
            "n": np.arange(24, dtype="int32") ** 2,
            "town": pd.Categorical(["b", "a"] * 12),
        }
    )
    rows.loc[2, "x"] = np.nan
    pyreadr.write_rds(path, rows) if ending == ".rds" else pyreadr.write_rdata(path, rows, df_name="rows")
    assert_same_table(read_table(path, missing="keep"), read_table(rows, missing="keep"))


def test_a_file_of_r_without_a_frame_is_named(tmp_path):
    pytest.importorskip("pyreadr")
    (tmp_path / "a.rds").write_bytes(b"junk" * 20)
    with pytest.raises(GomeaBnError, match="is not a readable"):
        read_table(tmp_path / "a.rds")


@pytest.mark.parametrize("ending", [".dta", ".sas7bdat", ".xpt"])
def test_files_of_statistics_that_are_none_are_named(ending, tmp_path):
    (tmp_path / f"a{ending}").write_bytes(b"junk" * 100)
    with pytest.raises(GomeaBnError, match=f"is not a readable {ending} file"):
        read_table(tmp_path / f"a{ending}")
