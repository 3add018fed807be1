"""The commands `predict`, `impute` and `query` give the answers of the library, and say what they assumed."""

import io
import json
import re
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused, refused_last
from front_examples import example_front, small_frame
from network_examples import network_with

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, lagged, read_table, write_front
from gomea_bn.cli.statements import read_statements


@pytest.fixture(scope="module")
def gaps(rows):
    """Return the rows with an id, 20 % of the cells missing and one value outside the support."""
    frame = rows.mask(np.random.default_rng(8).random(rows.shape) < 0.2)
    frame["d"] = frame["d"].astype("Int64")
    frame.insert(0, "id", [f"r{i}" for i in range(len(rows))])
    frame.loc[0, "a"] = 50.0
    frame.loc[9, "id"] = None
    return frame


@pytest.fixture
def files(network, gaps, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network.to_json("net.json")
    gaps.to_csv("gaps.csv", index=False)
    return tmp_path


def outside(call, *arguments, **options):
    """Return what a method of a network answers; it warns of the value outside the support."""
    with pytest.warns(UserWarning, match="outside the support"):
        return call(*arguments, **options)


def test_predict_writes_the_answers_of_the_library(files, network, gaps):
    result = ok("predict", "net.json", "gaps.csv", "--target", "c", "--keep", "id,a", "-o", "out.csv")
    assert "Values outside the support count as in the nearest bin: 1 value of 'a'" in result.stderr
    columns = gaps[["a", "b", "d"]].isna()
    n_cells, n_rows = int(columns.to_numpy().sum()), int(columns.any(axis=1).sum())
    assert f"{n_cells} missing cells in {n_rows} of 150 rows: they are summed out (a " in result.stderr
    written = pd.read_csv("out.csv")
    assert written.columns.tolist() == ["id", "a", "c predicted"]
    assert written["id"].fillna("").tolist() == gaps["id"].fillna("").tolist()
    assert written["c predicted"].tolist() == outside(network.predict, gaps, "c").tolist()


def test_a_folder_is_read_as_the_file_of_its_rows(files, gaps):
    (files / "folder").mkdir()
    gaps.to_parquet("rows.parquet")
    gaps.iloc[:60].to_parquet("folder/1.parquet")
    gaps.iloc[60:].to_parquet("folder/2.parquet")
    for command in (("predict", "--target", "c", "--keep", "id"), ("impute", "--how", "mode")):
        name, *options = command
        expected = ok(name, "net.json", "rows.parquet", *options).stdout
        for source in ("folder", "folder/*.parquet"):
            assert ok(name, "net.json", source, *options).stdout == expected
    asked = ("query", "net.json", "--target", "c", "--given", "a in ..0.2", "--data")
    assert ok(*asked, "folder").stdout == ok(*asked, "rows.parquet").stdout
    assert "--sep does not apply" in refused(
        2, "predict", "net.json", "folder", "--target", "c", "--sep", ";"
    )


def test_probabilities_and_intervals_have_one_column_each(files, network, gaps):
    printed = pd.read_csv(
        io.StringIO(ok("predict", "net.json", "gaps.csv", "--target", "d", "--proba").stdout)
    )
    assert printed.columns.tolist() == ["d=0", "d=1", "d=2"]
    # computed numbers have six digits
    np.testing.assert_allclose(printed, outside(network.predict_proba, gaps, "d"), rtol=5e-6)
    arguments = ("predict", "net.json", "gaps.csv", "--target", "b", "--interval", "0.8", "-o", "out.parquet")
    ok(*arguments)
    written = pd.read_parquet("out.parquet")
    assert written.columns.tolist() == ["b mean", "b median", "b 10%", "b 90%"]
    np.testing.assert_allclose(written, outside(network.predict_interval, gaps, "b", [0.1, 0.9]))
    printed = pd.read_csv(
        io.StringIO(ok("predict", "net.json", "gaps.csv", "--target", "b", "--how", "median").stdout)
    )
    np.testing.assert_allclose(
        printed["b predicted"], outside(network.predict, gaps, "b", "median"), rtol=5e-6
    )


def test_the_target_need_not_be_in_the_data(files, network, gaps):
    gaps.drop(columns="c").to_csv("less.csv", index=False)
    printed = pd.read_csv(io.StringIO(ok("predict", "net.json", "less.csv", "--target", "c").stdout))
    assert printed["c predicted"].tolist() == outside(network.predict, gaps, "c").tolist()


def test_columns_that_the_data_lack_count_as_missing(files, network, gaps):
    gaps.drop(columns=["b", "d"]).assign(B=1.5).to_csv("less.csv", index=False)
    complete = gaps.assign(b=None, d=None)
    result = ok("predict", "net.json", "less.csv", "--target", "c")
    lacking = "The table lacks 2 columns of the network, whose cells count as missing: 'b', 'd'."
    note = f"{lacking} For 'b': Did you mean 'B'?"
    assert note in result.stderr
    printed = pd.read_csv(io.StringIO(result.stdout))
    assert printed["c predicted"].tolist() == outside(network.predict, complete, "c").tolist()
    result = ok("impute", "net.json", "less.csv", "--seed", 2, "-o", "filled.csv")
    assert note in result.stderr
    filled, expected = pd.read_csv("filled.csv"), outside(network.impute, complete, random_state=2)
    assert filled.columns.tolist() == ["id", "a", "c", "B", "b", "d"]
    assert filled["c"].tolist() == expected["c"].tolist()
    for name in "abd":
        np.testing.assert_allclose(filled[name].astype(float), expected[name].astype(float), rtol=5e-6)


@pytest.mark.parametrize("how", ["draw", "mode", "mean"])
def test_impute_fills_missing_cells_only(files, network, gaps, how):
    result = ok("impute", "net.json", "gaps.csv", "--how", how, "--seed", 3, "-o", "full.csv")
    assert f"they are filled ({how}) (a " in result.stderr
    written, expected = pd.read_csv("full.csv"), outside(network.impute, gaps, how, random_state=3)
    assert written.columns.tolist() == gaps.columns.tolist()
    assert "Missing cells of id stay: the network does not have these columns." in result.stderr
    for name in "abcd":
        # filled numbers have six digits
        if expected[name].dtype == float:
            np.testing.assert_allclose(written[name], expected[name], rtol=1e-5)
        else:
            assert written[name].tolist() == expected[name].tolist()
        observed = gaps[name].notna()
        assert written.loc[observed, name].tolist() == gaps.loc[observed, name].tolist()
    # integer levels stay integers
    assert ",0.0\n" not in (files / "full.csv").read_text()


@pytest.mark.parametrize("decimal", [".", ","])
def test_impute_keeps_texts_with_limits(files, rows, decimal):
    texts = [f"{value:.3f}".replace(".", decimal) for value in rows["a"]]
    limit = f"<0{decimal}006"
    texts[2], texts[5], texts[7] = limit, "", "trace"
    changed = rows.assign(a=texts)
    changed.to_csv("limits.csv", index=False, sep=";", decimal=decimal)
    options = ("limits.csv", "--form", "a=number", "--decimal", decimal, "--how", "mean")
    result = ok("impute", "net.json", *options, "-o", "full.csv")
    assert "Texts with limits stay as they are in 'a'." in result.stderr
    written = pd.read_csv("full.csv", sep=";", dtype=str)["a"]
    assert written[[2, 7]].tolist() == [limit, "trace"]
    assert float(written[5].replace(decimal, ".")) != 0
    # computed numbers have six digits
    assert len(written[5].lstrip("-0.,")) <= 7
    assert "give --form a=number" in refused_last(3, "impute", "net.json", "limits.csv", "--decimal", decimal)
    others = [k for k in range(len(rows)) if k not in (2, 5, 7)]
    assert [float(written[k].replace(decimal, ".")) for k in others] == [
        float(texts[k].replace(decimal, ".")) for k in others
    ]


@pytest.mark.parametrize(
    ("unit", "texts"),
    [
        ("years", {"<5 years": "<5", ">90 year": ">90"}),
        ("L", {"<LOD": "<LOD", "<0.5L": "<0.5"}),
        ("d", {"<LOD": "<LOD", "not detected": "not detected", "<1 200 d": "<1200"}),
        ("mg", {"<5 MG": "<5", "90+ mg": "90+"}),
        ("", {"< 5": "< 5", "<LOD": "<LOD"}),
        ("€", {"<€5": "<5", "€7+": "7+"}),
    ],
)
def test_impute_takes_units_from_limits_and_leaves_words(files, rows, unit, texts):
    cells = [f"{value:.3f} {unit}" for value in rows["a"]]
    cells[: len(texts)] = texts
    rows.assign(a=cells).to_csv("limits.csv", index=False)
    ok("impute", "net.json", "limits.csv", "--form", "a=number", "-o", "full.csv")
    written = pd.read_csv("full.csv", dtype=str)["a"]
    assert written[: len(texts)].tolist() == [*texts.values()]
    assert written[len(texts) :].astype(float).tolist() == rows["a"][len(texts) :].round(3).tolist()


def test_impute_writes_observed_numbers_next_to_limits_as_they_are(files, rows):
    cells = [repr(float(value) / 3) for value in rows["a"]]
    others = ["<5", *map(repr, np.random.default_rng(1).random(len(rows) - 2).tolist()), ""]
    rows.assign(a=["<0.006", *cells[1:]], other=others).to_csv("limits.csv", index=False)
    ok("impute", "net.json", "limits.csv", "--form", "a=number", "--form", "other=number", "-o", "full.csv")
    written = pd.read_csv("full.csv", dtype=str, keep_default_na=False)
    assert written["a"].tolist() == ["<0.006", *cells[1:]]
    # no cell of a column that the network lacks is filled
    assert written["other"].tolist() == others


def test_impute_keeps_texts_with_limits_of_earlier_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"who": np.tile(["a", "b"], 30), "t": np.repeat(np.arange(30), 2)})
    rows["x"] = random.normal(size=60).round(3)
    lags: dict[str, Any] = {"time": "t", "group": "who", "lags": [1, 2]}
    frame, _ = lagged(rows, **lags)
    values = frame.drop(columns="who")
    DiscretizedBayesNet.from_table(values, [], {str(name): [0.0] for name in values}).to_json("net.json")
    written = rows.astype({"x": str})
    written.loc[random.choice(60, 20, replace=False), "x"] = "<-3"
    written.sample(frac=1, random_state=1).to_csv("rows.csv", index=False)
    (tmp_path / "reading.json").write_text(json.dumps({"lags": lags, "forms": {"x": "number"}}))
    result = ok("impute", "net.json", "rows.csv", "--reading", "reading.json")
    assert "Texts with limits stay as they are in 'x (2 before)', 'x (1 before)', 'x'." in result.stderr
    filled = pd.read_csv(io.StringIO(result.stdout), dtype=str).astype({"t": int})
    texts = {(row.who, row.t): row.x for row in written.itertuples()}
    assert len(filled) == 56
    for step, name in enumerate(("x", "x (1 before)", "x (2 before)")):
        expected = [texts[who, t - step] for who, t in zip(filled["who"], filled["t"], strict=True)]
        assert filled[name].tolist() == expected


def test_rows_with_lags_say_which_row_is_which(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"who": np.tile(["a", "b"], 30), "t": np.repeat(np.arange(30), 2)})
    rows["x"] = random.normal(size=60).round(3)
    lags: dict[str, Any] = {"time": "t", "group": "who", "lags": [1]}
    frame, _ = lagged(rows, **lags)
    values = frame.drop(columns="who")
    DiscretizedBayesNet.from_table(
        values, [("x (1 before)", "x")], {"x": [0.0], "x (1 before)": [0.0]}
    ).to_json("net.json")
    rows.to_csv("rows.csv", index=False)
    (tmp_path / "reading.json").write_text(json.dumps({"lags": lags}))
    options = ("net.json", "rows.csv", "--reading", "reading.json")
    result = ok("predict", *options, "--target", "x", "--keep", "x", "-o", "out.csv")
    assert "58 rows of 60 have enough earlier ones" in result.stderr
    written = pd.read_csv("out.csv")
    assert written.columns.tolist() == ["who", "t", "x", "x predicted"]
    known = {(row.who, row.t): row.x for row in rows.itertuples()}
    assert [known[key] for key in zip(written["who"], written["t"], strict=True)] == written["x"].tolist()
    filled = pd.read_csv(io.StringIO(ok("impute", *options).stdout))
    assert filled.columns.tolist() == ["t", "who", "x (1 before)", "x"]
    uneven = rows[rows["t"] != 7]
    uneven.to_csv("rows.csv", index=False)
    said = ok("predict", *options, "--target", "x").stderr
    assert (
        "The times in 't' are not evenly spaced: 2 steps of 56 from row to row differ from the usual 1"
        in said
    )


def test_impute_names_the_seed_that_repeats_it(files):
    first = ok("impute", "net.json", "gaps.csv", "-o", "one.csv")
    seed = first.stderr.split("Drawing with --seed ")[1].split(".")[0]
    ok("impute", "net.json", "gaps.csv", "-o", "two.csv", "--seed", seed)
    assert (files / "one.csv").read_text() == (files / "two.csv").read_text()


def test_query_prints_the_answer_of_the_library(files, network):
    answer = network.query(["c", "d"], {"a": (None, 0.25), "b": 0.1})
    result = ok("query", "net.json", "--target", "c", "--target", "d", "--given", "a in ..0.25", "b=0.1")
    lines = result.stdout.splitlines()
    assert lines[0] == "P(c, d | a in ..0.25, b=0.1)"
    assert len(lines) == 3 + len(answer)
    for line, (states, probability) in zip(lines[3:], answer.items(), strict=True):
        assert line.split() == [*map(str, states), f"{probability:.4f}"]
    ordered = ok(
        "query", "net.json", "--target", "c", "--given", "b=0.1", "a<0.25", "d in {0}", "--json"
    ).stdout
    assert json.loads(ordered)["given"] == ["b=0.1", "a<0.25", "d in {0}"]
    record = json.loads(
        ok(
            "query", "net.json", "--target", "a", "--given", "c in {high}", "--given", "d in {0, 2}", "--json"
        ).stdout
    )
    answer = network.query("a", {"c": {"high"}, "d": {0, 2}})
    assert [cell["probability"] for cell in record["distribution"]] == answer.tolist()
    assert record["distribution"][1]["a"] == [-0.5, 0.5]
    assert record["given"] == ["c in {high}", "d in {0, 2}"]


@pytest.fixture(scope="module")
def of_rows():
    """A fit of two numbers and a level, and its rows."""
    x = np.random.default_rng(2).normal(size=400)
    y = x + 0.3 * np.random.default_rng(3).normal(size=400)
    frame = pd.DataFrame({"x": x, "y": y, "z": np.where(y > 0, "high", "low")})
    fitted = BayesNetLearner(max_evaluations=500, max_seconds=None, random_state=1).fit(frame).network_
    return fitted, frame


def test_query_prints_what_rows_say(of_rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted, frame = of_rows
    fitted.to_json("net.json")
    frame.to_csv("rows.csv", index=False)
    given = frame[frame["x"] > fitted.cut_points["x"][1]]
    shares = given["z"].value_counts(normalize=True)
    asked = ("query", "net.json", "--target", "z", "--given", f"x in {float(fitted.cut_points['x'][1])!r}..")
    for further in ((), ("--data", "rows.csv")):
        lines = ok(*asked, *further).stdout.splitlines()
        assert lines[2].split() == ["z", "probability", "90", "%", "interval", "rows"]
        for line in lines[3:5]:
            assert line.split()[-1] == f"{shares[line.split()[0]]:.4f}"
        assert lines[-1].endswith(f" % of {len(given)}.")
        record = json.loads(ok(*asked, *further, "--json").stdout)["rows"]
        assert record["rows"] == len(given)
        assert record["shares"] == pytest.approx([shares[level] for level in fitted.levels["z"]])
    # counts hold no part of a bin
    part = ("query", "net.json", "--target", "z", "--given", "x in 0.1..0.45")
    assert "--data" in ok(*part).stdout.splitlines()[-1]
    number = frame["x"].between(0.1, 0.45).sum()
    assert f" of {number}" in ok(*part, "--data", "rows.csv").stdout.splitlines()[-1]
    # a number asks for the rows of its bin, and the network answers for that bin too
    heading = ok(*asked[:-1], "x=0").stdout.splitlines()[2]
    assert heading.split() == ["z", "probability", "90", "%", "interval", "in", "bins", "rows"]
    words = json.loads(ok("explain", "net.json", "--target", "z", "--given", "x=0", "--json").stdout)["rows"][
        "words"
    ]
    assert words in ok("explain", "net.json", "--target", "z", "--given", "x=0", "--data", "rows.csv").stdout


def test_query_says_where_rows_differ_once(of_rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted, frame = of_rows
    fitted.to_json("net.json")
    turned = frame.assign(z=np.where(frame["z"] == "high", "low", "high"))
    turned.to_csv("rows.csv", index=False)
    result = ok("query", "net.json", "--target", "z", "--given", "x in 1..", "--data", "rows.csv")
    assert " differ from this network by more than chance" in result.stdout or "know more" in result.stdout
    assert "chance" not in result.stderr
    assert "--data" in refused(2, "query", "net.json", "--target", "z", "--do", "x=1", "--data", "rows.csv")


def test_query_prints_intervals_of_one_target(files, network):
    known = network.with_metadata(n_rows=200)
    known.to_json("known.json")
    asked = ("--target", "c", "--given", "a in ..0.25")
    interval = known.query("c", {"a": (None, 0.25)}, interval=0.9).attrs["interval"]
    printed = ok("query", "known.json", *asked).stdout
    assert "probability  90 % interval" in printed
    for low, high in zip(interval["low"], interval["high"], strict=True):
        assert f"[{low:.4f}, {high:.4f}]" in printed
    assert "The intervals take graph and bins as given." in printed
    record = json.loads(ok("query", "known.json", *asked, "--json").stdout)
    assert record["interval"] == interval
    # a network that does not know its number of rows, and several targets
    for unknown in (("net.json", *asked), ("known.json", *asked, "--target", "d")):
        printed = ok("query", *unknown).stdout
        assert "interval" not in printed
        assert "[" not in printed
    assert json.loads(ok("query", "net.json", *asked, "--json").stdout)["interval"] is None


def test_query_tells_interventions_from_evidence(files, network):
    result = ok("query", "net.json", "--target", "a", "--do", "b=2", "--given", "d=1", "--json")
    expected = network.do({"b": 2.0}).query("a", {"d": 1})
    assert [cell["probability"] for cell in json.loads(result.stdout)["distribution"]] == expected.tolist()
    changed = ok("query", "net.json", "--target", "c", "--do", "b=2", "--json")
    expected_c = network.do({"b": 2.0}).query("c")
    assert [cell["probability"] for cell in json.loads(changed.stdout)["distribution"]] == expected_c.tolist()
    assert np.abs(expected_c.to_numpy() - network.query("c").to_numpy()).max() > 0.1
    observed = network.query("a", {"d": 1, "b": 2.0})
    assert np.abs(expected.to_numpy() - observed.to_numpy()).max() > 0.1
    assert "only if the edges are causes" in result.stderr
    assert (
        "P(a | do(b=2), d=1)"
        in ok("query", "net.json", "--target", "a", "--do", "b=2", "--given", "d=1").stdout
    )


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("e=1", "unknown variable 'e'. The network has 'a', "),
        ("a", "must be NAME=VALUE, NAME>VALUE, NAME in LOW..HIGH or NAME in {VALUE,VALUE}, got 'a'"),
        ("a=", "must be NAME=VALUE"),
        ("a=low", "'a' is continuous and needs a number, got 'low'"),
        ("a=inf", "needs a number"),
        ("a in {1,2}", "'a' is continuous and needs an interval"),
        ("a in 5..2", "smaller end first"),
        ("a in ..", "needs an interval"),
        ("c=hig", "'c' has no level 'hig'; its levels are high, low. Did you mean 'high'?"),
        ("c in 1..2", "'c' needs a set of levels, 'c in {a,b}'"),
        ("d=7", "its levels are 0, 1, 2"),
        ("c>1", "'c' has levels, which no comparison orders; give c=LEVEL or 'c in {a,b}'"),
        ("d>2", "no level of 'd' satisfies d>2; its levels are 0, 1, 2."),
        ("d in 7..9", "no level of 'd' satisfies d in 7..9"),
        ("a>", "must be NAME=VALUE, NAME>VALUE"),
        ("a>=high", "'a' is continuous and needs a number, got 'high'"),
    ],
)
def test_wrong_statements_are_named(files, statement, message):
    assert message in refused(2, "query", "net.json", "--target", "b", "--given", statement)


def test_levels_that_are_numbers_are_compared():
    network = DiscretizedBayesNet(
        ["karno", "visits", "town", "a"], [], cut_points={"a": []}, support={"a": (0.0, 9000.0)},
        levels={"karno": (50, 60, 90, 100), "visits": ("0", "1", "10"), "town": ("u", "v")},
        tables={"karno": [0.25] * 4, "visits": [0.2, 0.3, 0.5], "town": [0.5, 0.5], "a": [1.0]},
    )  # fmt: skip
    for text, levels in [
        ("karno>=90", {90, 100}),
        ("karno > 90", {100}),
        ("karno<59,5", {50}),
        ("karno in 55..90", {60, 90}),
        ("karno in ..60", {50, 60}),
        # levels of a file are texts, which their letters would order otherwise
        ("visits>=2", {"10"}),
        ("visits<=1", {"0", "1"}),
    ]:
        ((_, value),) = read_statements("--given", [text], network).items()
        assert value == levels, text
    assert network.query("town", {"karno": {90, 100}})["u"] == 0.5


def test_decimal_commas_are_read_where_they_are_no_marks_of_thousands():
    network = DiscretizedBayesNet(
        ["a"], [], cut_points={"a": []}, support={"a": (0.0, 9000.0)}, levels={}, tables={"a": [1.0]}
    )
    assert read_statements("--given", ["a=3,25"], network) == {"a": 3.25}
    assert read_statements("--given", ["a in 1,5..2,5"], network) == {"a": (1.5, 2.5)}
    with pytest.raises(GomeaBnError, match=r"'1,234' may be 1\.234 or 1234; write the number alone"):
        read_statements("--given", ["a=1,234"], network)


def test_statements_find_names_with_operators_and_typed_levels():
    names = ["a", "a=b", "x in y", "n"]
    network = DiscretizedBayesNet(
        names, [], cut_points={"a": []}, support={"a": (0.0, 1.0)},
        levels={"a=b": (1, "1", 2.5), "x in y": ("p,q", "r"), "n": (1.5, 2.0)},
        tables={"a": [1.0], "a=b": [0.2, 0.3, 0.5], "x in y": [0.5, 0.5], "n": [0.5, 0.5]},
    )  # fmt: skip
    stated = read_statements("--given", ["a=b = 1", "a=0.5", 'x in y in {"p,q", r}', "n=2"], network)
    assert stated == {"a=b": "1", "a": 0.5, "x in y": {"p,q", "r"}, "n": 2.0}
    assert read_statements("--given", ["a in -1..-0.5"], network) == {"a": (-1.0, -0.5)}
    for text, wanted in [
        ("a >= 0.25", (0.25, None)),
        ("a<=0.25", (None, 0.25)),
        ("a > 0.25", pd.Interval(0.25, np.inf, closed="neither")),
        ("a<0.25", pd.Interval(-np.inf, 0.25, closed="neither")),
    ]:
        assert read_statements("--given", [text], network) == {"a": wanted}
    with pytest.raises(GomeaBnError, match="names 'a' twice"):
        read_statements("--given", ["a=0.5", "a=0.6"], network)


def test_statements_take_dates_and_say_how_numbers_are_written():
    visit, weight = "visit [days since 1970-01-01]", "weight (kg)"
    network = network_with(
        [visit, weight], [], cut_points={visit: [], weight: []},
        support={visit: (19_000.0, 20_000.0), weight: (40.0, 120.0)}, tables={visit: [1.0], weight: [1.0]},
    )  # fmt: skip
    stated = read_statements("--given", ["visit in 2023-05-01..01.06.2023"], network)
    assert stated == {visit: (19_478.0, 19_509.0)}
    assert read_statements("--given", [f"{visit}=19478"], network) == {visit: 19_478.0}
    with pytest.raises(GomeaBnError, match=r"needs a number, or a date such as 2024-12-31, got 'May'"):
        read_statements("--given", ["visit=May"], network)
    assert read_statements("--given", ["weight (kg)=70,5"], network) == {weight: 70.5}
    # the range of the column decides
    assert read_statements("--given", ["weight (kg)=70,500"], network) == {weight: 70.5}
    with pytest.raises(GomeaBnError, match=r"unknown variable 'visits'. Did you mean 'visit'"):
        read_statements("--given", ["visits=70"], network)


def test_a_column_that_was_left_out_of_a_network_is_named_with_the_reason(files):
    network = DiscretizedBayesNet.from_json("net.json")
    network.with_metadata(left_out_columns={"id": "a running number"}).to_json("left.json")
    said = "unknown variable 'id': its column was left out of the table (a running number)."
    assert said in refused(2, "query", "left.json", "--target", "b", "--given", "id=3")
    assert said in refused(2, "predict", "left.json", "gaps.csv", "--target", "id")
    network = DiscretizedBayesNet.from_json("left.json")
    for ask in (lambda: network.query("b", {"id": 3}), lambda: network.query("id")):
        with pytest.raises(GomeaBnError, match=re.escape(said)):
            ask()
    with pytest.raises(GomeaBnError, match=re.escape(said.capitalize().replace("'Id'", "'id'"))):
        network.parents("id")
    network.with_metadata(left_out_columns=["id"]).to_json("left.json")
    assert "unknown variable 'id'." in refused(2, "predict", "left.json", "gaps.csv", "--target", "id")


def test_wrong_use_is_refused_before_anything_is_written(files):
    predict, impute = ("predict", "net.json", "gaps.csv"), ("impute", "net.json", "gaps.csv")
    assert "unknown variable 'e'" in refused(2, *predict, "--target", "e")
    assert "'c' is discrete" in refused(2, *predict, "--target", "c", "--interval", 0.9)
    assert "only one of" in refused(2, *predict, "--target", "b", "--interval", 0.9, "--proba")
    assert "between 0 and 1, got 90" in refused(2, *predict, "--target", "b", "--interval", 90)
    assert "--keep" in refused(2, *predict, "--target", "b", "--keep", "ids")
    assert "--how must be draw, mode, mean or joint" in refused(2, *impute, "--how", "median")
    assert "must end in .csv or .parquet" in refused(2, *impute, "-o", "out.xlsx")
    assert "since it is an input (DATA)" in refused(2, *impute, "-o", "gaps.csv")
    assert "since it is an input (NETWORK)" in refused(2, "impute", "net.csv", "gaps.csv", "-o", "net.csv")
    assert "its folder does not exist" in refused(1, *impute, "-o", "none/out.csv")
    assert "none.json' does not exist" in refused(3, "impute", "none.json", "gaps.csv")
    assert "--do must set 'b' to one value" in refused(
        2, "query", "net.json", "--target", "a", "--do", "b in 1..2"
    )
    assert "both name 'b'" in refused(
        2, "query", "net.json", "--target", "a", "--do", "b=1", "--given", "b=1"
    )
    assert "both target and evidence" in refused(2, "query", "net.json", "--target", "a", "--given", "a=1")
    assert sorted(path.name for path in files.iterdir()) == ["gaps.csv", "net.json"]


def test_data_that_do_not_fit_are_named_by_column(files, gaps):
    gaps[["id"]].assign(aa=1).to_csv("other.csv", index=False)
    message = refused(3, "predict", "net.json", "other.csv", "--target", "c")
    assert "none of the columns of the network: 'a', 'b', 'd'. It has 'id', 'aa'." in message
    gaps.assign(c="medium").to_csv("other.csv", index=False)
    assert "Column 'c' has unknown level 'medium'" in refused(
        3, "impute", "net.json", "other.csv", "--how", "mode", "--unknown", "error", "-o", "out.csv"
    )
    assert not (files / "out.csv").exists()


def test_an_interrupt_writes_nothing(files, monkeypatch):
    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(DiscretizedBayesNet, "impute", interrupted)
    result = invoke("impute", "net.json", "gaps.csv", "--seed", 1, "-o", "full.csv")
    assert result.exit_code == 130
    assert "Interrupted; nothing was written." in result.stderr
    assert not (files / "full.csv").exists()


def test_reading_options_apply(files, gaps):
    gaps.to_csv("semicolon.csv", index=False, sep=";", decimal=",", na_rep="-999")
    arguments = ("predict", "net.json", "semicolon.csv", "--target", "c", "--sep", ";", "--decimal", ",")
    assert (
        ok(*arguments, "--na-values", "-999").stdout
        == ok("predict", "net.json", "gaps.csv", "--target", "c").stdout
    )


@pytest.fixture
def run(files, gaps):
    """Return the folder of a run whose table had semicolons, decimal commas and symbols of missing values."""
    reading = {"sep": ";", "decimal": ",", "na_values": ["-999"], "drop": ["id"], "columns": ["a", "b"]}
    (files / "run").mkdir()
    (files / "net.json").rename(files / "run" / "network.json")
    record = {"format": "gomea-bn run", "format_version": 1, "reading": reading}
    (files / "run" / "run.json").write_text(json.dumps(record))
    gaps.to_csv("like.csv", index=False, sep=";", decimal=",", na_rep="-999")
    return files / "run"


def test_a_table_is_read_like_that_of_the_run(run, network, gaps):
    for command in (
        ("predict", "run", "{}", "--target", "c", "--keep", "id"),
        ("impute", "run", "{}", "--seed", 1),
    ):
        like = [str(word).format("like.csv") for word in command]
        plain = [str(word).format("gaps.csv") for word in command]
        result = ok(*like)
        assert (
            "'like.csv' is read like the table of 'run': --sep ';' --decimal , --na-values -999; options that you "
            "give replace these." in result.stderr
        )
        again = ok(*plain, "--sep", ",", "--decimal", ".", "--na-values", "NA,")
        assert "is read like" not in again.stderr
        # results are written as the table was
        written = pd.read_csv(io.StringIO(result.stdout), sep=";", decimal=",", na_values="-999")
        pd.testing.assert_frame_equal(written, pd.read_csv(io.StringIO(again.stdout)))
    # options of text files alone do not apply
    gaps.to_parquet("gaps.parquet")
    result = ok("predict", "run", "gaps.parquet", "--target", "c")
    assert "is read like the table of 'run': --decimal , --na-values -999; options" in result.stderr


def test_an_option_that_equals_the_default_replaces_that_of_the_run(run, gaps):
    record = {"format": "gomea-bn run", "format_version": 1, "reading": {"header": "none", "sheet": 3}}
    (run / "run.json").write_text(json.dumps(record))
    assert "none of the columns" in refused_last(3, "impute", "run", "gaps.csv", "--how", "mode")
    ok("impute", "run", "gaps.csv", "--how", "mode", "--header", "first-line")
    (run / "run.json").write_text(json.dumps(record | {"reading": {"sep": "long"}}))
    message = refused(3, "impute", "run", "gaps.csv")
    assert "The record in 'run' has reading options that cannot be used: sep must be one character" in message


def test_a_network_of_a_front_is_read_like_the_table_of_the_front(tmp_path):
    front = example_front(4, expert=False, record={"seed": 1, "reading": {"sep": ";", "encoding": "cp1252"}})
    write_front(tmp_path / "front", front, networks=1)
    rows = small_frame().assign(note="weiß")
    rows.to_csv(tmp_path / "rows.csv", index=False, sep=";", encoding="cp1252")
    name = rows.columns[0]
    result = ok(
        "predict", f"{tmp_path / 'front'}#1", tmp_path / "rows.csv", "--target", name, "--keep", "note"
    )
    assert "--sep ';' --encoding cp1252;" in result.stderr
    assert set(pd.read_csv(io.StringIO(result.stdout), sep=";")["note"]) == {"weiß"}


def test_dates_name_their_column_in_every_command(files):
    days = pd.Series(pd.date_range("2021-01-01", periods=60))
    frame = pd.DataFrame({"day": days, "x": np.linspace(0, 1, 60)})
    full = "day [days since 1970-01-01]"
    DiscretizedBayesNet.from_table(read_table(frame), [(full, "x")], {full: [18640.0], "x": [0.5]}).to_json(
        "dates.json"
    )
    frame.to_csv("dates.csv", index=False)
    for command in (
        ("predict", "dates.json", "dates.csv", "--target"),
        ("query", "dates.json", "--given", "x=0.9", "--target"),
        ("query", "dates.json", "--most-probable", "5", "--target"),
        ("explain", "dates.json", "--given", "x=0.9", "--target"),
    ):
        assert ok(*command, "day").stdout == ok(*command, full).stdout
    assert "(2021-01-13, 2021-03-01]" in ok("query", "dates.json", "--target", "day").stdout
    assert "P(day)" in ok("query", "dates.json", "--most-probable", "5", "--target", "day").stdout
    predict = ("predict", "dates.json", "dates.csv", "--target", "day")
    assert ok(*predict).stdout.splitlines()[0] == "day predicted"
    assert ok(*predict, "--proba").stdout.startswith('"day=[2021-01-01, 2021-01-13]"')
    # these are numbers of days
    assert ok(*predict, "--interval", 0.5).stdout.startswith(f"{full} mean,")
    frame[["x"]].to_csv("dates.csv", index=False)
    result = ok("impute", "dates.json", "dates.csv", "--how", "mode")
    assert "whose cells count as missing: 'day'." in result.stderr
    assert (
        pd.to_datetime(pd.read_csv(io.StringIO(result.stdout))["day"])
        .between("2021-01-01", "2021-03-01")
        .all()
    )


def test_a_filled_column_of_dates_is_not_called_foreign(files):
    days = pd.Series(pd.date_range("2021-01-01", periods=60))
    frame = pd.DataFrame({"day": days, "x": np.random.default_rng(0).normal(size=60)})
    network = DiscretizedBayesNet.from_table(
        read_table(frame), [], {"day [days since 1970-01-01]": [18640.0], "x": [0.0]}
    )
    network.to_json(files / "dates.json")
    frame.loc[3, "day"] = pd.NaT
    frame.to_csv(files / "dates.csv", index=False)
    result = ok("impute", "dates.json", "dates.csv", "--how", "mode", "-o", "filled.csv")
    assert "they are filled (mode) (day 1)" in result.stderr
    assert "stay" not in result.stderr
