"""Rows next to answers: which ones satisfy findings, and whether they differ from the network by more than chance."""

import json
import pickle
import warnings
from itertools import pairwise
from math import erfc, log, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, RowsDiffer
from gomea_bn.learning.checks import checked_network
from gomea_bn.network.matched_rows import (
    KeptCounts,
    TableRows,
    counted_sets,
    limit_of_chance,
    number_of_figures,
    standard_errors_apart,
)
from gomea_bn.network.rows import rows_for

OPTIONS: dict[str, Any] = {"max_evaluations": 1500, "max_seconds": None, "random_state": 1}
pytestmark = pytest.mark.filterwarnings("ignore:.*no (edges|path of edges)")


def rows(n_rows: int = 900, seed: int = 3) -> pd.DataFrame:
    """Return a chain of two numbers and a level, and a level on its own."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    y = x + 0.5 * rng.normal(size=n_rows)
    z = np.where(y + 0.5 * rng.normal(size=n_rows) > 0, "high", "low")
    return pd.DataFrame({"x": x, "y": y, "z": z, "w": rng.choice(["a", "b", "c"], n_rows)})


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    return BayesNetLearner(**OPTIONS).fit(rows()).network_


@pytest.fixture(scope="module")
def apart(network: DiscretizedBayesNet) -> DiscretizedBayesNet:
    """A network without edges."""
    return DiscretizedBayesNet.from_table(rows(), [], network.cut_points)


def in_bin(network: DiscretizedBayesNet, name: str, values: pd.Series, number: float) -> pd.Series:
    """Return which values lie in the shown bin of a number."""
    edges = [-np.inf, *network.cut_points[name].tolist(), np.inf]
    code = next(k for k in range(len(edges) - 1) if edges[k] < number <= edges[k + 1])
    return (values > edges[code]) & (values <= edges[code + 1])


def shares_of(frame: pd.DataFrame, network: DiscretizedBayesNet, target: str) -> list[float]:
    """Return the shares of the levels of a column."""
    return [float((frame[target] == level).mean()) for level in network.levels[target]]


def test_rows_are_those_that_satisfy_the_findings(network: DiscretizedBayesNet) -> None:
    frame = rows()
    cases: list[tuple[dict[str, object], Any]] = [
        ({}, frame["x"] < np.inf),
        ({"x": 0.3}, in_bin(network, "x", frame["x"], 0.3)),
        ({"x": (0.1, 0.9)}, frame["x"].between(0.1, 0.9)),
        ({"x": {(None, -0.5), (0.5, None)}}, (frame["x"] <= -0.5) | (frame["x"] >= 0.5)),
        ({"x": pd.Interval(-1.0, 0.0), "w": {"a", "b"}}, frame["x"].between(-1, 0) & (frame["w"] != "c")),
        ({"y": (None, 0.2), "w": "a", "x": None}, (frame["y"] <= 0.2) & (frame["w"] == "a")),
        (
            {"y": 0.4, "w": "b", "x": (0, None)},
            in_bin(network, "y", frame["y"], 0.4) & (frame["w"] == "b") & (frame["x"] >= 0),
        ),
    ]
    for given, fits in cases:
        note = network.query("z", given).attrs["rows"]
        assert note["rows"] == note["evidence"] == fits.sum()
        assert note["shares"] == pytest.approx(shares_of(frame[fits], network, "z"))
        assert not note["differs"]
        assert f" of {fits.sum()}" in note["words"]
        json.dumps(note)


def test_the_network_answers_for_the_bins_of_numbers(network: DiscretizedBayesNet) -> None:
    low, high = network.cut_points["x"][1:3]
    number = network.query("z", {"x": (low + high) / 2}).attrs["rows"]
    of_bin: Any = network.query("z", {"x": pd.Interval(low, high)})
    assert number["network"] == pytest.approx(of_bin.tolist(), abs=0.01)
    assert number["shares"] == of_bin.attrs["rows"]["shares"]
    assert of_bin.attrs["rows"]["network"] == of_bin.tolist()
    assert f"with x ({low:.4g}, {high:.4g}]" in number["words"]
    assert "with x" not in of_bin.attrs["rows"]["words"]


def test_likelihoods_and_several_rows_have_no_rows(network: DiscretizedBayesNet) -> None:
    assert "rows" not in network.query("z", {"w": {"a": 1.0, "b": 0.5}}).attrs
    frame = rows(5)
    assert "rows" not in network.query("z", frame[["x"]]).attrs
    assert "rows" not in network.predict(frame, "z").attrs


def test_a_prediction_for_one_row_has_the_rows_that_are_like_it(network: DiscretizedBayesNet) -> None:
    frame = rows()
    one = pd.DataFrame({"x": [0.3], "y": [None], "w": ["a"]})
    fits = in_bin(network, "x", frame["x"], 0.3) & (frame["w"] == "a")
    for answer in (network.predict(one, "z"), network.predict_proba(one, "z")):
        assert answer.attrs["rows"]["rows"] == fits.sum()
        assert answer.attrs["rows"]["shares"] == pytest.approx(shares_of(frame[fits], network, "z"))
    other = network.predict_interval(one[["x"]].assign(z="high", w="a"), "y").attrs["rows"]
    assert other["rows"] == (fits & (frame["z"] == "high")).sum()
    few = network.predict(pd.DataFrame({"x": [3.0], "y": [-2.0], "w": ["a"]}), "z").attrs["rows"]
    assert few == {"words": "No row satisfies all findings.", "differs": False, "rows": 0.0}


def test_weights_count_rows(network: DiscretizedBayesNet) -> None:
    frame = rows()
    weights = np.random.default_rng(1).random(len(frame)) * 3
    note = network.with_rows(frame, weights).query("z", {"w": "a"}).attrs["rows"]
    fits = (frame["w"] == "a").to_numpy()
    of_level = [weights[fits & (frame["z"] == level)].sum() for level in network.levels["z"]]
    assert note["shares"] == pytest.approx(np.array(of_level) / weights[fits].sum())
    assert note["rows"] == pytest.approx(weights[fits].sum() / weights.mean())
    assert note["evidence"] == pytest.approx(weights[fits].sum() ** 2 / (weights[fits] ** 2).sum())
    assert "by weight; evidence like" in note["words"]
    with pytest.raises(ValueError, match="weights"):
        network.with_rows(frame, weights[:-1])


def test_rows_with_gaps_count_where_columns_of_the_question_are_known(network: DiscretizedBayesNet) -> None:
    frame = rows()
    gaps = frame.assign(
        x=frame["x"].mask(np.arange(len(frame)) % 3 == 0), z=frame["z"].mask(frame.index % 7 == 0)
    )
    note = network.with_rows(gaps).query("z", {"x": (0, None)}).attrs["rows"]
    known = gaps[(gaps["x"] >= 0) & gaps["z"].notna()]
    assert note["rows"] == len(known)
    assert note["shares"] == pytest.approx(shares_of(known, network, "z"))


def test_gaps_that_depend_on_values_are_no_difference() -> None:
    # a value is missing where another column is large, so that rows with the value are others
    source = BayesNetLearner(**OPTIONS).fit(rows(4_000)).network_
    differs, plain = 0, 0
    for seed in range(3):
        frame = source.sample(4_000, seed)
        chance = 1 / (1 + np.exp(-4 * frame["x"]))
        gaps = frame.assign(y=frame["y"].mask(np.random.default_rng(seed).random(4_000) < chance))
        cut = float(source.cut_points["y"][2])
        answer = _quiet(source.with_rows(gaps), "x", {"y": pd.Interval(-np.inf, cut)})
        differs += answer["differs"]
        away = standard_errors_apart(
            np.array(answer["network"]), np.array(answer["shares"]), answer["evidence"] / 2
        )
        plain += bool(np.abs(away).max() > limit_of_chance(len(away)))
    assert differs == 0
    assert plain > 1


def _quiet(network: DiscretizedBayesNet, target: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return what rows say next to an answer, without its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(network.query(target, given).attrs["rows"])


def test_files_keep_counts_of_one_and_two_findings(network: DiscretizedBayesNet) -> None:
    read = DiscretizedBayesNet.from_json(network.to_json())
    assert isinstance(read.row_source, KeptCounts)
    cut = float(network.cut_points["x"][1])
    stated: tuple[dict[str, Any], ...] = (
        {},
        {"w": "a"},
        {"x": 0.3, "w": {"a", "c"}},
        {"x": pd.Interval(cut, np.inf)},
        {"y": 0.0, "x": 0.0},
    )
    for given in stated:
        assert read.query("z", given).attrs["rows"] == network.query("z", given).attrs["rows"]
    joint = read.query(["w", "z"], {"x": 0.3}).attrs["rows"]
    assert joint["shares"] == network.query(["w", "z"], {"x": 0.3}).attrs["rows"]["shares"]
    without: tuple[dict[str, Any], ...] = ({"x": (0.1, 0.4)}, {"x": 0.3, "y": 0.2, "w": "a"})
    for given in without:
        note = read.query("z", given).attrs["rows"]
        assert note["rows"] is None
        assert "with_rows" in note["words"]
        assert (
            read.with_rows(rows()).query("z", given).attrs["rows"] == network.query("z", given).attrs["rows"]
        )
    turned = read.in_order(["z", "w", "y", "x"])
    assert turned.query("z", {"x": 0.3, "w": "a"}).attrs["rows"]["shares"] == pytest.approx(
        read.query("z", {"x": 0.3, "w": "a"}).attrs["rows"]["shares"]
    )


def test_networks_of_one_bin_a_column_answer_from_a_file() -> None:
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(60, 2)), columns=["x", "y"])
    learner = BayesNetLearner(cut_points={"x": [], "y": []}, max_evaluations=50, random_state=0)
    read = DiscretizedBayesNet.from_json(learner.fit(frame).network_.to_json())
    assert read.query("x", {"y": 0.1}).sum() == pytest.approx(1.0)


def test_kept_counts_are_few(network: DiscretizedBayesNet) -> None:
    counts = json.dumps(network.metadata["row_counts"])
    assert len(counts) < len(rows().to_csv(index=False)) / 2
    n = 60
    chain = np.zeros((n, n), np.int8)
    for child in range(1, n):
        chain[child - 1, child] = 1
    for n_rows in (100, 10_000, 10**8):
        sets = counted_sets(chain, [4] * n, n_rows)
        assert len(set(sets)) == len(sets)
        assert sum(4 ** len(members) for members in sets) <= min(2**17, n_rows * n)
        assert len(sets) * n_rows <= max(2 * 10**8, 10 * n * n_rows)
        # single columns first, and pairs with an edge before others
        assert sets[:n] == [(v,) for v in range(n)]
        pairs = [members for members in sets if len(members) == 2]
        assert set(pairs[: n - 1]) == {(v, v + 1) for v in range(n - 1)}
    assert {(0, 1, 2), (1, 2, 3)} <= set(counted_sets(chain, [4] * n, 10_000))


@pytest.mark.parametrize("damage", ["sets", "counts", "columns", "rows", "evidence", "gaps"])
def test_a_damaged_record_of_counts_is_none(network: DiscretizedBayesNet, damage: str) -> None:
    record = network.metadata["row_counts"]
    for value in (None, "AAAA", [[0, 99]], [[0, 0]], [], -1, 0, "x"):
        read = DiscretizedBayesNet.from_json(
            network.with_metadata(row_counts={**record, damage: value}).to_json()
        )
        if not (damage == "gaps" and value in ([], [[0, 99]], [[0, 0]])):
            assert read.row_source is None
            assert "rows" not in read.query("z", {"x": 0.1}).attrs


def test_other_networks_do_not_have_the_rows(network: DiscretizedBayesNet) -> None:
    assert isinstance(network.with_metadata(title="t").row_source, TableRows)
    assert isinstance(pickle.loads(pickle.dumps(network)).row_source, KeptCounts)
    for other in (
        network.do({"x": 0.0}),
        network.changed(shapes={}),
        network.update(rows(50, 6)),
        network.of_tables(),
        network.compiled(),
        DiscretizedBayesNet.from_table(rows(), network.edges, network.cut_points, metadata=network.metadata),
    ):
        assert other.row_source is None
        assert "rows" not in other.query("z").attrs
    assert isinstance(BayesNetLearner(**OPTIONS, density="bins").fit(rows()).network_.row_source, TableRows)


def test_rows_of_the_fit_are_known_again(network: DiscretizedBayesNet) -> None:
    for frame, is_own in ((rows(), True), (rows()[["w", "z", "y", "x"]], True), (rows(900, 4), False)):
        source = network.with_rows(frame).row_source
        assert source is not None
        assert source.is_own == is_own


def test_a_missing_edge_is_named(apart: DiscretizedBayesNet) -> None:
    told = apart.with_rows(rows())
    with pytest.warns(RowsDiffer, match="no edge between y and z"):
        note = told.query("z", {"y": (0.5, None)}).attrs["rows"]
    assert note["differs"]
    assert note["words"].endswith("The rows know more than this network, which has no edge between y and z.")
    # the fewest findings that suffice
    assert "between x and z" in _quiet(told, "z", {"w": "a", "x": (0.5, None)})["words"]
    assert not told.query("z", {"w": "a"}).attrs["rows"]["differs"]
    explained = told.explain("z", {"y": (0.5, None)})
    assert explained.rows is not None
    assert explained.rows.differs
    assert explained.rows.words in str(explained)


def test_a_wrong_edge_names_its_finding(network: DiscretizedBayesNet) -> None:
    turned = rows(3_000, 8)
    turned["y"] = -turned["y"]
    told = network.with_rows(turned)
    edges = {frozenset(edge) for edge in network.edges}
    target, given = next((pair for pair in (("z", "y"), ("y", "z")) if frozenset(pair) in edges), ("z", "y"))
    finding = {given: "high"} if given == "z" else {given: (1.0, None)}
    words = _quiet(told, target, finding)["words"]
    assert f"The rows differ from this network by more than chance, given {given} " in words


def test_findings_that_differ_together_are_named_together() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.choice(["no", "yes"], (2, 2_000))
    same = np.where((a == b) ^ (rng.random(2_000) < 0.1), "same", "other")
    frame = pd.DataFrame({"a": a, "b": b, "c": same, "d": rng.choice(["p", "q"], 2_000)})
    network = DiscretizedBayesNet.from_table(frame, [], {})
    words = _quiet(network.with_rows(frame), "c", {"a": "yes", "b": "no", "d": "p"})["words"]
    assert "more than chance, given a yes and b no together. They know more than this network, " in words


def test_few_rows_are_shown_and_not_judged(apart: DiscretizedBayesNet) -> None:
    told = apart.with_rows(rows().iloc[:40])
    note = told.query("z", {"y": (0.6, None)}).attrs["rows"]
    assert 0 < note["rows"] < 20
    assert not note["differs"]
    assert note["words"].endswith("too few to compare.")


def test_figures_that_are_off_by_chance_are_rare(network: DiscretizedBayesNet) -> None:
    # all answers about an outcome, given each bin or level of the others, for rows that the network drew
    drawn = network.sample(600, 50)
    told = [network.with_rows(network.sample(600, seed)) for seed in range(4)]
    for same in (*told, BayesNetLearner(**OPTIONS).fit(drawn).network_):
        worst, cards = 0.0, []
        for given in "xyw":
            for value in _values(same, given):
                note = _quiet(same, "z", {given: value})
                if note["rows"] and note.get("evidence", 0) >= 20:
                    away = standard_errors_apart(
                        np.array(note["network"]), np.array(note["shares"]), note["evidence"]
                    )
                    worst = max(worst, float(np.abs(away).max()))
                    cards.append(len(away))
                    assert not note["differs"]
        assert len(cards) > 8
        assert worst < limit_of_chance(number_of_figures(cards))


def _values(network: DiscretizedBayesNet, name: str) -> list[Any]:
    """Return the levels or the shown bins of a column."""
    if name in network.levels:
        return list(network.levels[name])
    breaks = [-np.inf, *network.cut_points[name].tolist(), np.inf]
    return [pd.Interval(low, high) for low, high in pairwise(breaks)]


def test_standard_errors_are_roots_of_the_deviance() -> None:
    p, q, n = 0.2, 0.23, 900.0
    deviance = 2 * n * (q * log(q / p) + (1 - q) * log((1 - q) / (1 - p)))
    away = standard_errors_apart(np.array([p, 0.8]), np.array([q, 0.77]), n)
    assert away == pytest.approx([sqrt(deviance), -sqrt(deviance)])
    assert away[0] == pytest.approx((q - p) / sqrt(p * (1 - p) / n), rel=0.03)
    # the noise of the network adds to that of the rows
    error = sqrt(p * (1 - p) / n)
    assert standard_errors_apart(np.array([p]), np.array([q]), n, error) == pytest.approx(away[0] / sqrt(2))
    assert standard_errors_apart(np.array([0.0]), np.array([0.1]), n) == np.inf
    assert standard_errors_apart(np.array([0.0, 1.0]), np.array([0.0, 1.0]), n) == pytest.approx([0, 0])


def test_limits_are_those_of_three_standard_errors_for_all_figures_together() -> None:
    assert limit_of_chance(1) == pytest.approx(3.0)
    for n_figures in (2, 10, 500):
        assert n_figures * erfc(limit_of_chance(n_figures) / sqrt(2)) == pytest.approx(erfc(3 / sqrt(2)))
    assert number_of_figures([2, 3, 2]) == 5


def test_a_mean_stands_next_to_that_of_the_rows(network: DiscretizedBayesNet) -> None:
    frame = rows()
    explanation = network.explain("y", {"x": (0.2, None), "w": "a"})
    fits = (frame["x"] >= 0.2) & (frame["w"] == "a")
    assert explanation.rows_mean == pytest.approx(frame["y"][fits].mean())
    assert f"; of the rows {explanation.in_words(explanation.rows_mean)}" in explanation.sentences[0]
    assert f" of {fits.sum()}" in explanation.sentences[1]
    level = network.explain("z", {"w": "a"}, state="low")
    assert level.rows is not None
    assert level.rows.words.startswith("z low: network ")
    read = DiscretizedBayesNet.from_json(network.to_json()).explain("y", {"w": "a"})
    assert np.isnan(read.rows_mean)
    assert read.rows is not None


def test_checked_rows_are_those_next_to_answers(network: DiscretizedBayesNet) -> None:
    other = rows(500, 9)
    checked = checked_network(network, rows_for(network, other), 0)
    for told in (checked, DiscretizedBayesNet.from_json(checked.to_json())):
        note = told.query("z", {"w": "b"}).attrs["rows"]
        assert note["rows"] == (other["w"] == "b").sum()


def test_other_rows_meet_the_noise_of_the_network(network: DiscretizedBayesNet) -> None:
    # between three and three times the root of two standard errors
    p = network.query("w").to_numpy()
    n = len(rows())
    sizes = np.round(n * p).astype(int)
    shift = int(3.8 * np.sqrt(n * p[0] * (1 - p[0])))
    sizes += [shift, -shift, n - sizes.sum()]
    other = rows().assign(w=np.repeat(list(network.levels["w"]), sizes))
    assert not network.with_rows(other).query("w").attrs["rows"]["differs"]
    own = network.with_row_source(TableRows(network, rows_for(network, other), True))
    assert _quiet(own, "w", {})["differs"]


def test_all_rows_of_pieces_are_counted(tmp_path) -> None:
    parts = [rows(1_500, seed) for seed in range(2)]
    parts[1].loc[:99, "y"] = np.nan
    for number, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{number}.parquet")
    learner = BayesNetLearner(**OPTIONS, sample_rows=1_000, missing="available")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = learner.fit(str(tmp_path / "*.parquet")).network_
    source = network.row_source
    assert isinstance(source, KeptCounts)
    assert source.n_rows == 3_000
    assert source.has_gaps(["y"])
    assert not source.has_gaps(["x", "z", "w"])
    of_all = TableRows(network, rows_for(network, pd.concat(parts)), True)
    assert len(source.tables) > 6
    for names, table in source.tables.values():
        np.testing.assert_array_equal(table, of_all.crossed(names))
