"""The study of a table: its numbers next to pandas and brute force, its page, its errors."""

import base64
import hashlib
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from wrong_input import untyped

from gomea_bn import BayesNetLearner, ExpertNetwork, GomeaBnError, read_table, study
from gomea_bn.data.weights import weighted_table
from gomea_bn.prediction.distributions import folds_of
from gomea_bn.review.page_data import _tested
from gomea_bn.simulation import random_network
from gomea_bn.studies import page as page_module
from gomea_bn.studies.drawings import groups_svg, waterfall_svg
from gomea_bn.studies.left_out import OURS, LeftOut
from gomea_bn.studies.outcome_study import VERDICTS, _p_value
from gomea_bn.studies.page import study_page
from gomea_bn.studies.value_groups import groups_of, information

UGLY = "<b>\"&'`</style><script>"


def rows(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return rows in which "sick" goes with x and with a level, and not with the other columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    level = rng.choice(["low", UGLY, "high"], n)
    p = 1 / (1 + np.exp(-(1.5 * x + 1.5 * (level == "high") - 0.5)))
    frame = pd.DataFrame(
        {
            "x": x,
            UGLY: level,
            "chance": rng.normal(size=n),
            "coin": rng.choice(["a", "b"], n),
            "sick": (rng.random(n) < p).astype(int),
            "stay": 3 + x + 0.5 * rng.normal(size=n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "chance"] = np.nan
    return frame


def learner() -> BayesNetLearner:
    return BayesNetLearner(max_seconds=None, max_evaluations=30, n_jobs=1)


@pytest.fixture(scope="module")
def made():
    frame = rows().drop(columns="stay")
    expert = [("x", "sick"), ("coin", "sick"), (UGLY, "x")]
    return study(frame, "sick", expert=expert, folds=2, learner=learner())


def test_the_rows_figures_are_those_of_a_group_by(made):
    frame = made.table.to_frame().astype({"sick": int, UGLY: str})
    of_levels = made.groups[made.groups["column"] == UGLY].set_index("group")
    means = frame.groupby(UGLY)["sick"].agg(["mean", "size"])
    for level, row in means.iterrows():
        assert of_levels.loc[level, "share"] == pytest.approx(row["mean"])
        assert of_levels.loc[level, "rows"] == row["size"]
        ends = stats.binomtest(round(row["mean"] * row["size"]), int(row["size"])).proportion_ci(
            0.9, "wilson"
        )
        assert of_levels.loc[level, ["share_low", "share_high"]].tolist() == pytest.approx(
            [ends.low, ends.high]
        )
    for name in ("x", "chance"):
        of_column = made.groups[made.groups["column"] == name]
        assert of_column["rows"].sum() == len(frame)
        assert (of_column["rows"] * of_column["share"]).sum() == pytest.approx(frame["sick"].sum())
    gaps = made.groups[(made.groups["column"] == "chance") & (made.groups["group"] == "not known")]
    assert gaps["share"].item() == pytest.approx(frame.loc[frame["chance"].isna(), "sick"].mean())
    assert made.outcome == "sick = 1"
    assert made.base == pytest.approx(frame["sick"].mean())


def test_the_networks_figures_are_the_means_of_its_answers(made):
    frame = made.table.to_frame()
    answers = made.network.predict_proba(frame, "sick")[1].groupby(frame[UGLY].to_numpy()).mean()
    of_levels = made.groups[made.groups["column"] == UGLY].set_index("group")
    assert of_levels.loc[answers.index, "network"].tolist() == pytest.approx(answers.tolist())
    for level in answers.index:
        interval = made.network.query("sick", {UGLY: level}, interval=0.9).attrs["interval"]
        assert 0 < interval["low"][1] < interval["high"][1] < 1
        width = of_levels.loc[level, "network_high"] - of_levels.loc[level, "network_low"]
        assert width == pytest.approx(interval["high"][1] - interval["low"][1])
    gaps = made.groups[made.groups["group"] == "not known"]
    assert len(gaps)
    assert gaps[["network_low", "network_high"]].isna().all(axis=None)


def test_columns_are_sorted_by_what_they_tell(made):
    joined = made.columns[made.columns["joined"]]
    assert set(joined.index) >= {"x", UGLY}
    assert joined["tells"].is_monotonic_decreasing
    assert joined.index[0] == "x"
    assert made.columns.loc["coin", "tells"] < 0.02 < made.columns.loc["x", "tells"]
    counts = pd.crosstab(made.table.to_frame()["coin"], made.table.to_frame()["sick"])
    expected = stats.chi2_contingency(counts, correction=False).pvalue
    assert made.columns.loc["coin", "p_value"] == pytest.approx(expected)


def test_every_row_is_predicted_by_a_network_that_has_not_seen_it(made):
    folds = folds_of(made.table, "sick", 2, np.random.default_rng(0))
    kept, held_out = (np.flatnonzero(folds == fold) for fold in (1, 0))
    network = (
        BayesNetLearner(
            max_seconds=None, max_evaluations=30, target="sick", random_state=0, missing="available", n_jobs=1
        )
        .fit(made.table.take(kept))
        .network_
    )
    frame = made.table.take(held_out).to_frame().drop(columns="sick")
    expected = network.predict_proba(frame, "sick")[1].to_numpy()
    assert made.left_out.predictions[OURS][held_out] == pytest.approx(expected)


def judged(seed: int, n: int = 60) -> LeftOut:
    rng = np.random.default_rng(seed)
    predicted = rng.integers(1, 10, n) / 10
    observed = (rng.random(n) < predicted).astype(float)
    return LeftOut(observed, {OURS: predicted}, None, np.arange(n), 2)


@pytest.mark.parametrize("seed", range(3))
def test_measures_equal_brute_force(seed):
    of = judged(seed)
    predicted, observed = of.predictions[OURS], of.observed
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a in predicted[observed == 1]
        for b in predicted[observed == 0]
    ]
    quality = of.quality()
    auc: Any = quality.loc[(OURS, "auc")]
    assert auc["value"] == pytest.approx(np.mean(pairs))
    assert auc["low"] < auc["value"] < auc["high"]
    assert quality.loc[(OURS, "brier"), "value"] == pytest.approx(np.mean((predicted - observed) ** 2))
    benefit: Any = of.net_benefit()
    for chance in (0.2, 0.5):
        above = predicted >= chance
        expected = (above & (observed == 1)).mean() - chance / (1 - chance) * (above & (observed == 0)).mean()
        assert benefit.loc[chance, OURS] == pytest.approx(expected)
    calibration = of.calibration()
    assert calibration["rows"].sum() == len(observed)
    assert (calibration["rows"] * calibration["happened"]).sum() == pytest.approx(observed.sum())
    assert calibration["said"].is_monotonic_increasing


def test_an_auc_agrees_with_another_library():
    metrics = pytest.importorskip("sklearn.metrics")
    of = judged(7, 200)
    expected = metrics.roc_auc_score(of.observed, of.predictions[OURS])
    assert of.quality().loc[(OURS, "auc"), "value"] == pytest.approx(expected)


def test_groups_of_rows_are_drawn_together():
    of = judged(1, 40)
    twice = LeftOut(
        np.repeat(of.observed, 5),
        {OURS: np.repeat(of.predictions[OURS], 5)},
        None,
        np.repeat(np.arange(40), 5),
        2,
    )
    of_both: list[Any] = [one.quality().loc[(OURS, "brier")] for one in (of, twice)]
    alone, together = of_both
    assert together.tolist() == pytest.approx(alone.tolist())


@given(
    st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, np.nan]) | st.floats(-5, 5), min_size=12, max_size=80)
)
def test_groups_hold_every_row_once_and_are_what_the_network_is_asked(values):
    frame = pd.DataFrame({"v": values, "w": np.arange(len(values)) % 3})
    if frame["v"].nunique() < 2:
        return
    with warnings.catch_warnings():
        # of rows that repeat
        warnings.simplefilter("ignore")
        column = read_table(frame, missing="keep", kinds={"v": "continuous"}).columns[0]
    groups = groups_of(column)
    assert len(set(groups.labels)) == len(groups.labels)
    for code, statement in enumerate(groups.statements):
        low, high = statement if isinstance(statement, tuple) else (statement, statement)
        assert ((groups.codes == code) == (column.values >= low) & (column.values <= high)).all()
    assert ((groups.codes < 0) == np.isnan(column.values)).all()


def test_rare_levels_share_a_group():
    values = np.concatenate([np.repeat([f"v{k:02d}" for k in range(12)], 6), [f"rare{k}" for k in range(5)]])
    groups = groups_of(read_table(pd.DataFrame({"v": values, "w": np.arange(len(values)) % 7})).columns[0])
    assert groups.labels[-1] == "the other 6"
    assert np.bincount(groups.codes).sum() == len(values)


def test_chance_tells_nothing():
    rng = np.random.default_rng(0)
    first, second = rng.integers(4, size=5_000), rng.integers(3, size=5_000)
    assert information(first, second) < 1e-3
    assert information(first, first) == pytest.approx(2, abs=0.01)


def test_an_experts_arrows_get_verdicts(made):
    verdicts = made.expert.set_index(["parent", "child"])["verdict"]
    assert verdicts["x", "sick"] == "the rows support it"
    assert verdicts["coin", "sick"] != "the rows support it"
    assert set(verdicts) <= set(VERDICTS.values())
    many = rows(4_000, 3)[["x", "coin", "sick", "stay"]]
    of_many = study(
        many, "sick", expert=ExpertNetwork.from_edges([("coin", "sick")]), folds=0, learner=learner()
    )
    assert of_many.expert["verdict"].tolist() == ["the rows speak against it"]
    assert "No edge found" in study_page(of_many)
    assert "coin" in study_page(of_many).partition("No edge found")[2]


def _verdict_words(text: str) -> dict[tuple[str, str], str]:
    """Return the verdicts on edges that a printed test has, by edge, in the words of a study."""
    found = re.findall(
        r"^  (\S+) → (\S+): the data (support|speak against|do not decide on) this edge", text, re.M
    )
    return {(parent, child): VERDICTS[word] for parent, child, word in found}


@pytest.mark.parametrize("seed", range(10))
def test_all_commands_and_pages_give_the_same_verdicts(seed, tmp_path):
    """Of ten tables, every second one with gaps, and experts who are right, wrong and unsure."""
    frame = random_network(5, max_indegree=2, random_state=seed).sample(250 + 150 * seed, random_state=seed)
    rng = np.random.default_rng(seed)
    names = list(frame.columns)
    pairs = [(names[i], names[j]) for i in range(4) for j in range(i + 1, 4)]
    edges = [pairs[k] for k in rng.choice(len(pairs), 3, replace=False)]
    if seed % 2:
        # the last column is not the expert's
        for name in (edges[0][0], names[-1]):
            frame[name] = frame[name].astype(object).where(rng.random(len(frame)) > 0.2, None)
    data, expert = tmp_path / "rows.csv", tmp_path / "edges.csv"
    frame.to_csv(data, index=False)
    pd.DataFrame(edges, columns=["parent", "child"]).to_csv(expert, index=False)

    made = study(data, names[-1] if seed % 3 else None, expert=expert, folds=0, learner=learner())
    assert made.expert is not None
    said = made.expert.set_index(["parent", "child"])["verdict"].to_dict()
    assert set(said) == set(edges)
    assert _verdict_words(ok("test-graph", expert, data).stdout) == said
    model = tmp_path / "model.json"
    made.network.to_json(model)
    of_a, of_b = ok("compare", expert, model, "--data", data, "--test-graph").stdout.split("\nB: ")[-2:]
    assert _verdict_words(of_a) == said
    assert _verdict_words(of_b) == _verdict_words(ok("test-graph", model, data).stdout)

    first = edges[0]
    shown = ok("show", expert, "--why", *first, "--data", data, "--test-graph").stdout
    note = shown.partition(f"{' and '.join(first)}: ")[2]
    assert _verdict_words(f"  {' → '.join(first)}: {note}") == {first: said[first]}

    # the page of a front has the expert's network completed by its table
    table = read_table(data, missing="keep")
    completed = ExpertNetwork.from_file(expert).fitted(table.complete_rows())
    page = _tested(completed, table, completed.names)
    notes = {(completed.names[i], completed.names[j]): note for i, j, note in page["pairs"]}
    assert _verdict_words("\n".join(f"  {p} → {c}: {notes[p, c]}" for p, c in edges)) == said
    supported = {(completed.names[i], completed.names[j]) for i, j in page["supported"]}
    assert supported == {edge for edge, verdict in said.items() if verdict == VERDICTS["support"]}


def test_confidence_gives_the_verdicts_of_a_test_of_the_graph(tmp_path):
    data, run = tmp_path / "rows.csv", tmp_path / "run"
    rows(300).drop(columns=UGLY).to_csv(data, index=False)
    ok("learn", data, "--out", run, "--max-evaluations", "30", "--seed", "5", "-q")
    said = _verdict_words(ok("confidence", run, "-q").stdout)
    assert said
    assert said == _verdict_words(ok("test-graph", run, data).stdout)


def test_what_reading_warned_of_is_on_the_page_of_the_command(tmp_path):
    frame = rows(200)[["x", "sick"]]
    frame["level"] = np.where(frame["x"] < 0, "<0.5", "2.5")
    frame.loc[::3, "level"] = np.round(frame["x"][::3] ** 2 + 3, 3).astype(str)
    data, page = tmp_path / "rows.csv", tmp_path / "study.html"
    frame.to_csv(data, index=False)
    ok("study", data, "-o", page, "--target", "sick", "--folds", "0", "--max-seconds", "0", "-q")
    text = page.read_text(encoding="utf-8")
    assert "Values below a limit are read as half of it" in text
    assert "give --na-values" in text


def test_an_array_is_studied_by_the_names_of_its_columns():
    values = rows(200)[["x", "stay", "sick"]].to_numpy(np.float64)
    made = study(values, "x2", folds=0, learner=learner())
    assert made.outcome == "x2 = 1"
    assert set(made.columns.index) == {"x0", "x1"}


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)


def test_a_page_escapes_names_and_needs_nothing_else(made):
    text = study_page(made, UGLY)
    tags = _Tags(text)
    assert not {"script", "b", "img", "link", "iframe"} & (set(tags.tags) - {"b"})
    assert tags.tags.count("style") == text.count("</style>") == 1
    # arrows of the expert alone are bold
    assert tags.tags.count("b") == 3
    assert any(UGLY in word for word in tags.words)
    names = {name for name, _ in tags.attributes}
    assert not {"style", "src", "onclick", "onload"} & names
    assert all(value.startswith("#") for name, value in tags.attributes if name == "href")
    style = re.search("<style>(.*)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text
    assert not re.search(r"\bnats?\b|logit|free probabilit", " ".join(tags.words))


def test_a_page_has_its_sections_in_order(made):
    headings = re.findall("<h2.*?>(.*?)</h2>", study_page(made))
    assert headings == [
        "In one paragraph", "What drives it", "How good on new rows", "One case", "The picture",
        "An expert&#x27;s arrows", "From which rows",
    ]  # fmt: skip


def test_the_same_rows_give_the_same_page(made):
    frame = rows().drop(columns="stay")
    expert = [("x", "sick"), ("coin", "sick"), (UGLY, "x")]
    again = study(frame, "sick", expert=expert, folds=2, learner=learner())
    assert study_page(again) == study_page(made)
    assert "the same rows and options give the same page" in study_page(made)


def test_a_study_prints_in_a_line(made):
    assert (
        repr(made)
        == f"Study(sick = 1, {made.table.n_rows} rows, {len(made.table.columns)} columns, {len(made.edges)} edges)"
    )
    n_parts = made.left_out.n_folds
    methods = ", ".join(made.left_out.predictions)
    assert str(made.left_out) == f"LeftOut({made.table.n_rows} rows in {n_parts} parts, by {methods})"


def test_a_page_of_another_ending_is_an_error(made, tmp_path):
    with pytest.raises(GomeaBnError, match=r"must end in \.html, \.pdf, got '"):
        made.write(tmp_path / "page.docx")
    assert not list(tmp_path.iterdir())


def test_a_case_ends_at_the_networks_answer(made):
    assert len(made.cases) > 3
    frame = made.table.to_frame().drop(columns="sick")
    figures = [case.figure for case in made.cases]
    assert figures == sorted(figures)
    for case in made.cases:
        answer = made.network.predict_proba(frame.iloc[[case.row]], "sick")[1].item()
        assert case.figure == pytest.approx(answer)
        assert case.observed == made.table.to_frame()["sick"].iloc[case.row]
        if not len(case.next):
            assert case.steps["figure"].iloc[-1] == pytest.approx(answer)


def test_a_new_row_comes_to_the_networks_answer():
    frame = rows().drop(columns="stay")
    made = study(frame, "sick", row={"x": "0.5", UGLY: "high"}, folds=0, learner=learner())
    case = made.cases[0]
    assert case.row is None
    assert {"x", UGLY} <= {*case.steps.index}
    assert np.isnan(case.observed)
    answer = made.network.query("sick", {"x": 0.5, UGLY: "high"})[1]
    assert case.figure == pytest.approx(answer)
    text = study_page(made)
    assert "your row" in text
    assert "of rows with these cells, by the network" in text
    far = study(frame, "sick", row={"x": 0.5, "coin": "a"}, folds=0, learner=learner()).cases[0]
    assert {*far.steps.index} == {"x", "coin"}
    assert far.steps["figure"].iloc[-1] == pytest.approx(far.figure)
    lowest, highest = far.next.loc[UGLY, ["lowest", "highest"]].to_numpy(float)
    assert lowest < far.figure < highest


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"y": 1}, "row: unknown column 'y'"),
        ({"sick": 1}, "row has the outcome 'sick'"),
        ({"x": "high"}, "row 'x' must be a number, got 'high'"),
        ({"x": None}, "row 'x' must be a number, got None"),
        ({"coin": "c"}, "row 'coin' has no level 'c', only 'a', 'b'|row 'coin' has no level 'c', only a, b"),
        (3, "row must give values by column"),
    ],
)
def test_a_wrong_new_row_is_an_error(row, message):
    with pytest.raises(GomeaBnError, match=message):
        study(rows(100), "sick", row=row, learner=learner())
    with pytest.raises(GomeaBnError, match="row is a row whose outcome is wanted"):
        study(rows(100), row={"x": 1}, learner=learner())


def test_a_column_that_decides_the_outcome_alone_is_doubted(made):
    assert "it alone: leave out" not in study_page(made)
    frame = rows(200)[["sick", "x"]].assign(later=lambda of: np.where(of["sick"] == 1, "back", "away"))
    leaked = study(frame, "sick", folds=0, learner=learner())
    # the reason is given once
    page = " ".join(study_page(leaked).split())
    assert "later may be known only afterwards, since all" in page
    assert "later almost decides it alone" not in page
    number = rows(200)[["stay", "x"]].assign(cost=lambda of: np.exp(of["stay"] / 5))
    leaked = study(number, "stay", folds=0, learner=learner())
    assert "cost almost decides it alone: leave out" in study_page(leaked)
    assert "it alone: leave out" not in study_page(
        study(number.drop(columns="cost"), "stay", folds=0, learner=learner())
    )


def test_figures_of_a_handful_of_rows_are_no_headline():
    frame = rows(400)[["sick", "coin"]]
    frame.loc[:4, "coin"] = "edge"
    frame.loc[:4, "sick"] = 1
    made = study(frame, "sick", folds=0, learner=learner())
    assert {*made.columns.loc["coin", ["lowest_at", "highest_at"]]} <= {"a", "b"}
    assert "edge" in set(made.groups["group"])


def test_missing_cells_of_a_case_are_what_to_measure_next():
    frame = rows(300, 5)[["x", "coin", "sick"]]
    frame.loc[frame.index % 2 == 0, "x"] = np.nan
    made = study(frame, "sick", folds=0, learner=learner())
    unknown = [case for case in made.cases if len(case.next)]
    assert unknown
    for case in unknown:
        row = case.next.loc["x"]
        assert row["lowest"] < case.figure < row["highest"]
    assert "What to measure next" in study_page(made)
    # what would be measured is a typical value, not the end of the range
    frame.loc[frame["x"].idxmin(), "x"] = -1e3
    far = study(frame, "sick", folds=0, learner=learner())
    position = far.table.names.index("x")
    values = np.sort(far.table.columns[position].observed)
    ends = np.quantile(values, np.arange(1, 9) / 8, method="inverted_cdf")
    parts = np.split(values, np.searchsorted(values, ends, side="right")[:-1])
    medians = [part[(len(part) - 1) // 2] for part in parts]
    case = next(case for case in far.cases if len(case.next))
    cells = far.table.to_frame().drop(columns="sick").iloc[[case.row] * len(medians)].assign(x=medians)
    answers = far.network.predict_proba(cells, "sick")[1]
    assert case.next.loc["x", "lowest"] == pytest.approx(answers.min())
    assert case.next.loc["x", "highest"] == pytest.approx(answers.max())


def test_a_continuous_outcome_is_studied_by_its_mean():
    made = study(rows(300)[["x", "coin", "stay"]], "stay", folds=2, learner=learner())
    assert made.state is None
    assert made.outcome == "stay"
    of_coin = made.groups[made.groups["column"] == "coin"].set_index("group")
    means = made.table.to_frame().groupby("coin")["stay"].mean()
    assert of_coin["share"].tolist() == pytest.approx(means.tolist())
    quality = made.quality
    predicted, observed = made.left_out.predictions[OURS], made.left_out.observed
    assert quality.loc[(OURS, "mae"), "value"] == pytest.approx(np.abs(predicted - observed).mean())
    values: Any = quality["value"]
    assert values[OURS, "r2"] > 0.5
    assert 0.7 < values[OURS, "coverage"] <= 1
    text = study_page(made)
    assert "variance explained" in text
    assert "Net benefit" not in text


def test_without_a_target_the_page_says_what_goes_together(tmp_path):
    made = study(rows(200)[["x", "stay", "coin"]], learner=learner())
    assert made.left_out is None
    text = study_page(made)
    headings = re.findall("<h2.*?>(.*?)</h2>", text)
    assert headings == ["In one paragraph", "The picture", "From which rows"]
    assert "stay" in text
    made.write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == text
    assert "What goes together" in made._repr_html_()


def test_rows_without_the_outcome_are_left_out():
    frame = rows(200)[["x", "coin", "sick"]].astype({"sick": float})
    frame.loc[:19, "sick"] = np.nan
    made = study(frame, "sick", folds=0, learner=learner())
    assert made.n_without_outcome == 20
    assert made.table.n_rows == 180
    assert "20 rows without the outcome were left out." in study_page(made)


@pytest.mark.parametrize(
    ("target", "state", "message"),
    [
        ("sik", None, "must be a column of the table, got 'sik'.*sick"),
        ("sick", 2, "'sick' has no level 2, only 0, 1"),
        ("stay", 1, "'stay' is continuous and has no level 1"),
        ("one", None, "must have several values, got 'one'"),
        (3, None, "must be a column of the table, got 3"),
    ],
)
def test_a_wrong_outcome_is_an_error(target, state, message):
    frame = rows(100).assign(one="a")
    with pytest.raises(GomeaBnError, match=message):
        study(frame, target, state=state, learner=learner())


def test_other_wrong_input_is_an_error():
    frame = rows(100)[["x", "coin", "sick"]]
    with pytest.raises(GomeaBnError, match="'y'"):
        study(frame, "sick", expert=[("y", "sick")], learner=learner())
    with pytest.raises(GomeaBnError, match="folds must be"):
        study(frame, "sick", folds=1, learner=learner())
    with pytest.raises(GomeaBnError, match="at least 50 rows with a value of 'sick', got 40"):
        study(frame.head(40), "sick", learner=learner())
    with pytest.raises(GomeaBnError, match="learner must be a BayesNetLearner"):
        study(frame, "sick", learner=untyped(3))


def test_the_outcome_is_1_or_yes_or_the_rarest_level():
    for levels, expected in (([0, 1], 1), (["no", "yes"], "yes"), (["often", "rare"], "rare")):
        frame = pd.DataFrame({"x": np.arange(100) % 7 + 0.5, "t": np.where(np.arange(100) % 4, *levels)})
        made = study(frame, "t", folds=0, learner=learner())
        assert made.network.levels["t"][made.state] == expected


def test_the_command_writes_a_page(tmp_path):
    rows(120).drop(columns=UGLY).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "edges.csv").write_text("parent,child\nx,sick\n")
    out = tmp_path / "study.html"
    common = ["study", tmp_path / "data.csv", "-o", out]
    done = ok(*common, "--target", "sick=1", "--expert", tmp_path / "edges.csv", "--folds", 0)
    assert "Learning from 120 rows" in done.stderr
    assert "What goes with sick = 1" in out.read_text()
    ok(*common, "--target", "sick=0", "--folds", 0, "-q")
    assert "sick = 0" in out.read_text()
    assert "'sick' has no level '3', only 0, 1" in refused(2, *common, "--target", "sick=3")
    ok(*common, "--target", "sick", "--row", "x=0.5, coin=a", "--folds", 0, "-q")
    assert "your row" in out.read_text()
    assert "--row: unknown column 'y'" in refused(2, *common, "--target", "sick", "--row", "y=1")
    assert "--row names 'x' twice" in refused(2, *common, "--target", "sick", "--row", "x=1,x=2")
    assert "--target must be a column of the table, got 'sic'" in refused(2, *common, "--target", "sic")
    assert invoke("study", tmp_path / "data.csv", "-o", tmp_path / "r.txt").exit_code == 2


def test_a_pdf_without_a_browser_says_what_to_do(made, tmp_path, monkeypatch):
    monkeypatch.setattr(page_module.shutil, "which", lambda _name: None)
    with pytest.raises(GomeaBnError, match="print it in any browser"):
        made.write(tmp_path / "r.pdf")
    assert not (tmp_path / "r.pdf").exists()


def test_other_methods_are_those_of_scikit_learn(made):
    ensemble = pytest.importorskip("sklearn.ensemble")
    frame = made.table.to_frame().drop(columns="sick")
    levels = {name: frame[name].astype("category") for name in (UGLY, "coin")}
    frame, sick = frame.assign(**levels), made.left_out.observed
    folds = folds_of(made.table, "sick", 2, np.random.default_rng(0))
    for fold in (0, 1):
        kept, rows_of_fold = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        trees = ensemble.HistGradientBoostingClassifier(
            random_state=0, max_iter=60, early_stopping=True, categorical_features="from_dtype"
        ).fit(frame.iloc[kept], sick[kept])
        expected = trees.predict_proba(frame.iloc[rows_of_fold])[:, 1]
        assert made.left_out.predictions["boosting"][rows_of_fold] == pytest.approx(expected)


def test_a_new_row_is_explained_where_no_row_is_complete():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 160))
    even = np.arange(160) % 2 == 0
    frame = pd.DataFrame(
        {
            "self": np.where(even, first, np.nan),
            "c": np.where(even, np.nan, second),
            "y": np.where(np.where(even, first, second) + rng.normal(size=160) > 0, "yes", "no"),
        }
    )
    made = study(frame, "y", row={"self": 1.0}, folds=0, learner=learner())
    assert made.cases[0].row is None
    assert 0.5 < made.cases[0].figure <= 1


def test_ctrl_c_ends_a_study(monkeypatch):
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=80), "y": ["a", "b"] * 40})

    class Interrupted:
        stopped_by_ = "interrupt"

    monkeypatch.setattr(BayesNetLearner, "fit", lambda _learner, _table: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        study(frame, "y", folds=0, learner=learner())


def test_levels_with_equals_signs_are_asked_about(tmp_path):
    rng = np.random.default_rng(5)
    hours = rng.normal(40, 8, 200).round(1)
    income = np.where(hours + rng.normal(0, 6, 200) > 42, ">50K", "<=50K")
    path = tmp_path / "income.csv"
    pd.DataFrame({"hours": hours, "income": income, "old=er": rng.choice(["=", "no"], 200)}).to_csv(
        path, index=False
    )
    page = tmp_path / "study.html"
    ok("study", path, "--target", "income=<=50K", "--row", "hours=35.5, old=er==", "--folds", "0", "-o", page)
    assert "income = &lt;=50K" in page.read_text()
    assert "your row" in page.read_text()


def times(n: int = 400, seed: int = 3) -> pd.DataFrame:
    """Return times until an event, which goes with x and with a level, or until the end of observation."""
    frame = rows(n, seed)[["x", UGLY]]
    rng = np.random.default_rng(seed)
    until = rng.exponential(10 * np.exp(-frame["x"] - (frame[UGLY] == "high")))
    seen = rng.uniform(2, 30, n)
    return frame.assign(died=(until <= seen).astype(int), followup=np.minimum(until, seen).round(3))


@pytest.fixture(scope="module")
def timed():
    return study(times(), "died", duration="followup", horizon=8.0, folds=2, learner=learner())


def test_shares_of_times_until_an_event_are_those_of_kaplan_and_meier(timed):
    frame = times()
    has_event, at = frame["died"].to_numpy() == 1, frame["followup"].to_numpy()
    survival = 1.0
    for moment in np.unique(at[has_event & (at <= 8)]):
        survival *= 1 - (has_event & (at == moment)).sum() / (at >= moment).sum()
    assert timed.base == pytest.approx(1 - survival)
    assert timed.outcome == "died = 1 within 8 (followup)"
    seen = frame[(has_event & (at <= 8)) | (at >= 8)]
    assert timed.table.n_rows == len(seen) < len(frame)
    assert timed.table.to_frame()["x"].tolist() == pytest.approx(seen["x"].tolist())
    assert "followup" not in timed.columns.index
    weighted = seen.assign(weight=timed.weights, case=(seen["died"] == 1) & (seen["followup"] <= 8))
    of_levels = timed.groups[timed.groups["column"] == UGLY].set_index("group")
    for level, part in weighted.groupby(UGLY):
        assert of_levels.loc[level, "rows"] == len(part)
        assert of_levels.loc[level, "share"] == pytest.approx(
            np.average(part["case"], weights=part["weight"])
        )
    # rows that stand for others say less than as many rows that stand for themselves
    low = of_levels.loc["low"]
    n_worth = (weights := weighted.loc[weighted[UGLY] == "low", "weight"]).sum() ** 2 / (weights**2).sum()
    assert n_worth < len(weights)
    half = (low["share_high"] - low["share_low"]) / 2
    assert half > 1.645 * np.sqrt(low["share"] * (1 - low["share"]) / (len(weights) + 1.645**2))


def test_measures_of_times_until_an_event_count_rows_by_weight(timed):
    of = timed.left_out
    predicted, weights = of.predictions[OURS], timed.weights
    assert of.observed.tolist() == (timed.table.to_frame()["died"].astype(int) == 1).astype(float).tolist()
    brier = np.average((predicted - of.observed) ** 2, weights=weights)
    assert timed.quality.loc[(OURS, "brier"), "value"] == pytest.approx(brier)
    pairs = [
        (weights[a] * weights[b], (predicted[a] > predicted[b]) + 0.5 * (predicted[a] == predicted[b]))
        for a in np.flatnonzero(of.observed == 1)
        for b in np.flatnonzero(of.observed == 0)
    ]
    auc = sum(weight * value for weight, value in pairs) / sum(weight for weight, _ in pairs)
    assert timed.quality.loc[(OURS, "auc"), "value"] == pytest.approx(auc)
    assert of.net_benefit().loc[0.01, "act on all"] == pytest.approx(timed.base - (1 - timed.base) / 99)
    # networks of few of the rows are right on average by weight
    assert np.average(predicted, weights=weights) == pytest.approx(timed.base, abs=0.06)


def test_cases_name_the_rows_of_the_source(timed):
    frame = times()
    for case in timed.cases:
        row = frame.iloc[case.row]
        assert case.observed == float(row["died"] == 1 and row["followup"] <= 8)
        assert case.steps.loc["x", "value"] == f"{row['x']:.4g}"
    gaps = rows(100).drop(columns="stay").astype({"sick": object})
    gaps.loc[gaps.index[:30], "sick"] = np.nan
    for case in study(gaps, "sick", folds=0, learner=learner()).cases:
        assert case.observed == gaps["sick"].iloc[case.row]


def shares_by_weight(made, values, weights):
    """Check the shares of groups against those of the rows by their weights, and the numbers of cases."""
    frame = made.table.to_frame()
    assert len(made.weights) == made.table.n_rows
    for level, figures in made.groups[made.groups["column"] == "coin"].set_index("group").iterrows():
        of_level = (values["coin"] == level).to_numpy()
        wanted = np.average(values["sick"][of_level] == 1, weights=weights[of_level])
        assert figures["share"] == pytest.approx(wanted)
        assert figures["rows"] == of_level.sum()
    assert made.base == pytest.approx(np.average(values["sick"] == 1, weights=weights))
    for case in made.cases:
        row = frame.iloc[case.row]
        assert case.observed == float(int(row["sick"]) == 1)
        assert case.steps.loc["x", "value"] == f"{row['x']:.4g}"


@pytest.mark.parametrize("n_missing", [0, 40])
def test_importance_weights_count_in_a_study_also_where_outcomes_are_missing(n_missing):
    frame = rows(300)[["x", "coin", "sick"]].astype({"sick": "Int64"})
    weights = np.random.default_rng(1).gamma(1.0, size=300) + 1.5 * frame["sick"].to_numpy(np.float64)
    frame.loc[: n_missing - 1, "sick"] = pd.NA
    table = weighted_table(read_table(frame, missing="keep"), weights)
    assert table.n_rows < 300
    made = study(table, "sick", folds=2, learner=learner())
    assert made.n_without_outcome == n_missing
    shares_by_weight(made, frame[n_missing:], weights[n_missing:])
    predicted = made.left_out.predictions[OURS]
    brier = np.average((predicted - made.left_out.observed) ** 2, weights=made.weights)
    assert made.quality.loc[(OURS, "brier"), "value"] == pytest.approx(brier)


def test_weights_exclude_times_until_an_event():
    table = weighted_table(read_table(times(200)), np.random.default_rng(1).gamma(1.0, size=200))
    with pytest.raises(GomeaBnError, match="both decide how rows count"):
        study(table, "died", duration="followup", learner=learner())


def test_cases_of_rows_that_frequencies_repeat_are_rows_of_the_study():
    frame = rows(200)[["x", "coin", "sick"]].round({"x": 0}).astype({"sick": "Int64"})
    frame.loc[:29, "sick"] = pd.NA
    table = weighted_table(read_table(frame, kinds={"x": "continuous"}, missing="keep"), np.arange(200) % 3)
    assert table.n_rows == 199
    made = study(table, "sick", folds=0, learner=learner())
    of_study = made.table.to_frame()
    assert made.cases
    for case in made.cases:
        assert case.observed == of_study["sick"].astype(int).iloc[case.row]


def test_the_page_says_what_it_made_of_times(timed):
    lead = " ".join(study_page(timed).split("</h2>")[1].split("</section>")[0].split())
    n_lost = 400 - timed.table.n_rows
    assert f"Of 400 rows {n_lost} were not seen that long" in lead
    assert "mislead" not in lead
    untimed = study(times(), "died", folds=0, learner=learner())
    assert "these figures mislead: make the page with --duration followup." in study_page(untimed)


def test_columns_whose_figures_mislead_are_named(timed):
    assert not timed.misleading
    frame = times()
    rng = np.random.default_rng(1)
    late = frame.assign(
        visits=(3 * frame["followup"] + rng.normal(size=len(frame))).round(2),
        cause=np.where(frame["died"] == 1, rng.choice(["heart", "lung"], len(frame)), None),
        gaps=np.where(rng.random(len(frame)) < 0.3, np.nan, frame["x"]),
    )
    made = study(late, "died", duration="followup", horizon=8.0, folds=0, learner=learner())
    assert made.misleading == {
        "cause": "may be known only afterwards, since it is missing in the rows without the outcome",
        "visits": "may be known only afterwards, since it goes with followup itself",
    }
    page = " ".join(study_page(made).split())
    assert "visits may be known only afterwards, since it goes with followup itself: leave it out" in page
    advice = [sentence for sentence in page.split(". ") if "(--drop)" in sentence]
    assert [sum(name in sentence for sentence in advice) for name in ("visits", "cause")] == [1, 1]
    untimed = study(late.drop(columns="followup"), "died", folds=0, learner=learner())
    assert list(untimed.misleading) == ["cause"]


def test_a_named_time_leaves_no_other_one_to_name():
    """Another column with the name of a time is no reason to name another time than the one that was named."""
    frame = times(200).assign(home_time=np.random.default_rng(1).integers(0, 40, 200))
    assert "--duration" in study_page(
        study(frame.drop(columns="followup"), "died", folds=0, learner=learner())
    )
    timed = study(frame, "died", duration="followup", folds=0, learner=learner())
    assert "--duration" not in study_page(timed)


def test_a_level_that_decides_the_outcome_is_named_as_misleading():
    """All rows of a level have the outcome, though the column as a whole tells little."""
    frame = rows(400)[["sick", "x"]]
    sick = np.flatnonzero(frame["sick"] == 1)
    rng = np.random.default_rng(1)
    frame["ward"] = rng.choice(["a", "b"], 400)
    frame.loc[sick[:40], "ward"] = "died before follow-up"
    # as few rows as this are alike by chance
    frame["room"] = rng.choice(["a", "b"], 400)
    frame.loc[sick[:4], "room"] = "c"
    made = study(frame, "sick", folds=0, learner=learner())
    reason = "may be known only afterwards, since all 40 rows with died before follow-up have the outcome"
    assert made.misleading == {"ward": reason}
    opposite = study(frame, "sick", state=0, folds=0, learner=learner())
    assert opposite.misleading == {"ward": reason.replace("have", "lack")}


def test_columns_that_nobody_had_time_to_try_are_not_called_useless(made):
    """A clock that ended the choice of columns leaves open which of them go with the outcome."""
    useless = "did not improve predictions of left-out rows"
    assert useless in " ".join(study_page(made).split())
    network = made.network.with_metadata(cut_short=["the choice of the parents of the target"])
    page = " ".join(study_page(replace(made, network=network)).split())
    assert useless not in page
    assert "predicted no better with it" not in page
    assert page.count("The time limit cut short the choice of columns") == 2


def test_dates_of_entry_are_named_as_misleading():
    """Rows of a late date are seen for a short time: those whose outcome is known within the horizon are ill early."""
    rng = np.random.default_rng(2)
    entry, day = rng.integers(2001, 2009, 400), rng.exponential(6.0, 400)
    seen = 2010.0 - entry + rng.random(400)
    frame = pd.DataFrame(
        {
            "entry": entry, "x": rng.normal(size=400), "site": rng.choice(["north", "south"], 400),
            "died": (day <= seen).astype(int), "followup": np.minimum(day, seen),
        }
    )  # fmt: skip
    made = study(frame, "died", duration="followup", horizon=5.0, folds=0, learner=learner())
    assert list(made.misleading) == ["entry"]
    page = " ".join(study_page(made).split())
    assert "entry says how long rows without the outcome were seen, as a date of entry does" in page


def test_times_need_an_event(tmp_path):
    times(100).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(GomeaBnError, match="needs the column of the event"):
        study(times(100), duration="followup", learner=learner())
    refused(2, "study", tmp_path / "t.csv", "--duration", "followup", "-o", tmp_path / "a.html")


@pytest.mark.parametrize("binary", [True, False])
def test_tests_of_groups_equal_those_of_scipy(binary):
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 4, 200)
    observed = rng.integers(0, 2 if binary else 6, 200).astype(float)
    known = codes >= 0
    if binary:
        expected = stats.chi2_contingency(pd.crosstab(codes[known], observed[known]), correction=False).pvalue
    else:
        expected = stats.kruskal(*(observed[codes == code] for code in range(4))).pvalue
    assert _p_value(codes, observed, None, binary=binary) == pytest.approx(expected)
    assert _p_value(codes, observed, np.full(200, 3.0), binary=binary) == pytest.approx(expected)


def test_dates_and_values_are_not_cut():
    groups = pd.DataFrame(
        {
            "group": ["1984-04-25 to 1985-02-21", "1985-02-22 to 1986-01-01"], "rows": [20, 30], "share": [0.1, 0.2],
            "share_low": 0.05, "share_high": 0.3, "network": 0.15, "network_low": 0.1, "network_high": 0.2,
        }
    )  # fmt: skip
    drawn = groups_svg(groups, 0.15, (0.0, 1.0), str, "by date", has_bars=True)
    assert "1984-04-25 to 1985-02-21</text>" in drawn
    steps = [("date of the diagnosis = 1984-07-05", 0.2)]
    assert " = 1984-07-05</text>" in waterfall_svg(steps, 0.1, 0.2, str, str, "a row")
    long = waterfall_svg([("state = " + "a" * 60, 0.2)], 0.1, 0.2, str, str, "a row")
    shown = re.findall("<title>state[^<]*</title>([^<]*)</text>", long)
    assert len(shown) == 1
    assert len(shown[0]) <= 22
