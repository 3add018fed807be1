"""Tests of weights of rows."""

import contextlib
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from command_line import invoke, ok
from hypothesis import given
from hypothesis import strategies as st
from review_examples import page_data

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    Checkpoint,
    DiscretizedBayesNet,
    GomeaBnError,
    ParetoBayesNetLearner,
    read_front,
    read_table,
    refine_boundaries,
)
from gomea_bn.cli.named_networks import named_network
from gomea_bn.data.weights import weighted_table

OPTIONS: dict[str, Any] = {
    "max_seconds": None, "max_evaluations": 300, "single_evaluations": 200, "random_state": 1,
}  # fmt: skip


def frame(n=120, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + 0.3 * generator.normal(size=n), "k": np.where(x > 0, "a", "b")})


def coarse_frame(n=120, seed=0):
    """Rows that are equal by chance."""
    rows = frame(n, seed)
    return rows.assign(x=rows["x"].round(), y=rows["y"].round())


def test_coarse_rows_stand_as_often_as_their_weights_say():
    table = read_table(coarse_frame(), kinds={"x": "continuous", "y": "continuous"})
    weights = np.arange(120) % 4
    repeated = weighted_table(table, weights)
    wanted = table.columns[0].values[np.repeat(np.arange(120), weights)]
    np.testing.assert_array_equal(repeated.columns[0].values, wanted)
    assert "Weights repeat the 120 rows given." in repeated.describe()
    assert repeated.all_rows is None


def test_weights_are_those_of_the_rows_that_were_not_dropped():
    rows = frame(12)
    rows.loc[1, "x"] = np.nan
    weighted = weighted_table(read_table(rows, missing="drop"), [1, 9, 1, 2, *[1] * 8])
    assert weighted.all_rows is not None
    x, weights = weighted.all_rows.table.columns[0].values, weighted.all_rows.weights
    assert dict(zip(x.tolist(), weights.tolist(), strict=True)) == dict.fromkeys(rows["x"].dropna(), 1) | {
        rows["x"][3]: 2
    }


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(0.01, 2), st.floats(1e-300, 1e300)), min_size=10, max_size=60)
)
def test_no_exact_row_is_searched_twice(weights):
    # one fraction makes them importances
    weights = [*weights, 0.5]
    n = len(weights)
    table = read_table(pd.DataFrame({"x": np.arange(n) ** 1.5, "y": np.sqrt(np.arange(n))}))
    scaled = np.array(weights) / max(weights)
    worth = scaled.sum() ** 2 / (scaled**2).sum()
    if worth < 11:
        with contextlib.suppress(GomeaBnError):
            assert weighted_table(table, weights).n_rows >= 10
        return
    weighted = weighted_table(table, weights)
    searched = weighted.columns[0].values
    assert len(np.unique(searched)) == len(searched)
    assert abs(len(searched) - worth) < 1 + 1e-6
    positions = np.searchsorted(table.columns[0].values, searched)
    assert (scaled[positions] > 0).all()
    assert weighted.all_rows is not None
    assert weighted.all_rows.weights.mean() == pytest.approx(1)


def test_rows_are_searched_in_proportion_to_their_weights():
    n = 6_000
    weights = np.tile([0.5, 1.0, 2.0], n // 3)
    x = np.random.default_rng(0).normal(size=n)
    table = read_table(pd.DataFrame({"x": x, "y": x**3}))
    searched = set(weighted_table(table, weights).columns[0].values.tolist())
    counts = np.array([sum(value in searched for value in x[k::3].tolist()) for k in range(3)])
    # rows are worth 7/9 of all: 7/3 of three, of which the largest weight has no more than 1
    np.testing.assert_allclose(counts / (n // 3), [4 / 9, 8 / 9, 1], atol=0.03)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_rows_searched_do_not_depend_on_where_rows_and_columns_stand(seed, are_whole):
    generator = np.random.default_rng(seed)
    # the largest value of x and whole rows stand several times, with other weights
    rows = (
        frame(60, seed)
        .assign(x=lambda rows: rows["x"].clip(upper=0.5))
        .sample(100, replace=True, random_state=seed)
    )
    weights = generator.integers(0, 5, len(rows)) if are_whole else generator.random(len(rows))
    order = generator.permutation(len(rows))
    tables = []
    for of_rows, by_row, names in (
        (rows, weights, ["x", "y", "k"]),
        (rows.iloc[order], weights[order], ["y", "k", "x"]),
    ):
        weighted = weighted_table(read_table(of_rows[names]), by_row)
        assert weighted.all_rows is not None
        shares = weighted.all_rows.table.to_frame().assign(
            share=weighted.all_rows.shares, weight=weighted.all_rows.weights
        )
        tables.append([weighted.to_frame(), shares])
    for first, second in zip(*tables, strict=True):
        by = list(first.columns)
        first, second = (
            of.astype({"k": str}).sort_values(by, ignore_index=True) for of in (first, second[by])
        )
        pd.testing.assert_frame_equal(first, second, rtol=1e-12, check_exact=False)


def test_learning_with_weights_equals_learning_from_repeated_rows():
    rows = coarse_frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    # under the default score copies do not count
    options: dict[str, Any] = {
        "max_seconds": None, "max_evaluations": 200, "random_state": 1, "scoring_method": "density-bic",
        "kinds": {"x": "continuous", "y": "continuous"},
    }  # fmt: skip
    weighted = BayesNetLearner(**options).fit(rows, sample_weight=weights)
    repeated = BayesNetLearner(**options).fit(rows.iloc[np.repeat(np.arange(len(rows)), weights)])
    assert weighted.network_ == repeated.network_
    assert weighted.score_ == repeated.score_


def test_frequencies_of_exact_rows_are_counted_like_repeated_rows():
    rows = frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    learner = BayesNetLearner(max_seconds=None, max_evaluations=300, random_state=1, density="bins")
    network = learner.fit(rows, sample_weight=weights).network_
    table = read_table(rows.iloc[np.repeat(np.arange(len(rows)), weights)])
    repeated = DiscretizedBayesNet.from_table(table, network.edges, network.cut_points)
    assert network.edges
    for name in network.names:
        np.testing.assert_array_equal(network.counts[name], repeated.counts[name])
    searched = learner.table_.n_rows
    assert network.metadata["weights"] == {
        "rows": int((weights > 0).sum()),
        "searched": searched,
        "sum": float(weights.sum()),
    }
    assert "tables count all by weight." in network.summary()
    assert "tables count all by weight, and further rows." in network.update(rows).summary()


def test_the_ends_of_columns_are_those_of_all_rows():
    rows = frame(400)
    weights = np.random.default_rng(1).integers(1, 6, len(rows))
    learner = BayesNetLearner(max_seconds=None, max_evaluations=300, random_state=1)
    network = learner.fit(rows, sample_weight=weights).network_
    assert learner.table_.n_rows < len(rows)
    for name in ("x", "y"):
        assert network.support[name] == (rows[name].min(), rows[name].max())
    refined = refine_boundaries(network, rows, method="dp")
    assert "weights" not in refined.network.metadata


@pytest.mark.parametrize(("seed", "is_point"), [(6, True), (11, True), (224, False)])
def test_all_rows_decide_by_weight_which_values_are_point_masses(seed, is_point):
    generator = np.random.default_rng(seed)
    n = 300
    rain = np.where(np.arange(n) < 36, 0.0, generator.gamma(2, size=n))
    weights = generator.exponential(size=n)
    rows = pd.DataFrame({"rain": rain, "other": generator.normal(size=n)})
    searched = weighted_table(read_table(rows), weights).columns[0].values
    share = weights[:36].sum() / weights.sum()
    # the rows searched say otherwise
    assert (np.mean(searched == 0) > 0.1) != is_point == (share > 0.1)
    learner = BayesNetLearner(max_seconds=None, max_evaluations=100, random_state=1, shape="marginal")
    points = learner.fit(rows, sample_weight=weights).network_.shapes["rain"].points
    assert points == ({0.0: pytest.approx(share)} if is_point else {})
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=1).fit(learner.table_)
    assert [set(network.shapes["rain"].points) for network in ensemble.networks_] == [set(points)] * 2
    front = ParetoBayesNetLearner(**OPTIONS, shape="marginal").fit(rows, sample_weight=weights).front_
    assert set(front[0].network.shapes["rain"].points) == set(points)


def test_a_column_without_values_is_named():
    rows = frame()
    rows.loc[30:, "x"] = np.nan
    weights = np.where(np.arange(len(rows)) < 30, 0.0, np.random.default_rng(2).random(len(rows)))
    with pytest.raises(GomeaBnError, match="sample_weight leaves no value of column 'x'"):
        weighted_table(read_table(rows, missing="keep"), weights)


@pytest.mark.parametrize("weight", [1, 0.3])
def test_equal_importances_are_no_weights(weight):
    table = read_table(frame())
    assert weighted_table(table, np.full(120, weight)) is table


def test_edges_do_not_fit_weights():
    generator = np.random.default_rng(3)
    rows = pd.DataFrame(generator.normal(size=(200, 3)), columns=["a", "b", "c"])
    learner = BayesNetLearner(max_seconds=None, max_evaluations=1_000, random_state=1)
    learner.fit(rows, sample_weight=generator.integers(1, 5, len(rows)))
    assert not learner.network_.edges


def test_importance_weights_undo_a_selection():
    generator = np.random.default_rng(4)
    x = generator.normal(size=4_000)
    chance = 1 / (1 + np.exp(-1.5 * x))
    rows = pd.DataFrame(
        {"x": x, "y": x + generator.normal(size=len(x)), "k": generator.choice(["a", "b"], len(x))}
    )
    is_seen = generator.random(len(x)) < 0.2 * chance
    seen, weights = rows[is_seen], 1 / chance[is_seen]
    learner = BayesNetLearner(max_seconds=None, max_evaluations=300, random_state=1)
    plain = learner.fit(seen).network_
    weighted = learner.fit(seen, sample_weight=weights).network_
    assert weighted.score(rows) > plain.score(rows) + 0.1
    assert weighted == learner.fit(seen, sample_weight=8 * weights).network_
    counts = conditionals_of(weighted).stacks["k"].value_counts
    assert counts is not None
    assert counts.sum() == pytest.approx(len(seen))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "sample_weight must have one weight for each of 120 rows"),
        (np.full(120, -1), "sample_weight must be finite numbers from 0 on, some above 0; wrong in"),
        (np.zeros(120), "all are zero"),
        ([0.5, *np.zeros(119)], "sample_weight must be worth at least 10 rows"),
        (["a"] * 120, "sample_weight must be numbers"),
    ],
)
def test_other_weights_are_refused(weights, message):
    with pytest.raises(GomeaBnError, match=message):
        BayesNetLearner(max_evaluations=10).fit(frame(), sample_weight=weights)


def test_pieces_have_no_weights():
    with pytest.raises(GomeaBnError, match="sample_weight needs a table in memory"):
        BayesNetLearner(max_evaluations=10).fit([frame(), frame()], sample_weight=np.ones(240))


def test_a_front_with_weights_equals_that_of_repeated_rows():
    rows = coarse_frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    weighted = ParetoBayesNetLearner(**OPTIONS).fit(rows, sample_weight=weights)
    repeated = ParetoBayesNetLearner(**OPTIONS).fit(rows.iloc[np.repeat(np.arange(len(rows)), weights)])
    np.testing.assert_array_equal(weighted.front_.values, repeated.front_.values)
    assert [entry.network for entry in weighted.front_] == [entry.network for entry in repeated.front_]
    assert weighted.front_.run_hash == repeated.front_.run_hash


def test_a_front_takes_importance_weights():
    rows = frame()
    weights = np.random.default_rng(1).random(len(rows))
    learner = ParetoBayesNetLearner(**OPTIONS).fit(rows, sample_weight=weights)
    searched = weighted_table(read_table(rows), weights)
    assert learner.table_.n_rows == searched.n_rows < len(rows)
    network = learner.front_[0].network
    assert all(counts.sum() == searched.n_rows for counts in network.counts.values())
    words = f"Graph and cuts come from {searched.n_rows} of 120 rows, chosen by weight; tables count these."
    assert words in network.summary()
    np.testing.assert_array_equal(
        ParetoBayesNetLearner(**OPTIONS).fit(searched).front_.values, learner.front_.values
    )


@pytest.mark.parametrize("learner", [BayesNetLearner, ParetoBayesNetLearner])
def test_a_run_goes_on_with_the_same_weights_alone(tmp_path, learner):
    rows = frame()
    weights = np.random.default_rng(1).random(len(rows))
    # the same rows are searched
    others = weights * np.where(np.arange(len(rows)) == 0, 1 + 1e-9, 1)
    searched = [weighted_table(read_table(rows), w).columns[0].values.tolist() for w in (weights, others)]
    assert searched[0] == searched[1]
    options = {**OPTIONS, "max_evaluations": 300}
    if learner is BayesNetLearner:
        del options["single_evaluations"]
    learner(**options).fit(rows, sample_weight=weights, checkpoint=Checkpoint(tmp_path, every=0))
    go_on = Checkpoint(tmp_path, resume=True)
    learner(**options).fit(rows, sample_weight=weights, checkpoint=go_on)
    for changed in (others, None):
        with pytest.raises(GomeaBnError, match="belongs to another run"):
            learner(**options).fit(rows, sample_weight=changed, checkpoint=go_on)


def test_too_many_repeats_are_refused():
    rows = pd.DataFrame({"k": ["a", "b"] * 5})
    with pytest.raises(GomeaBnError, match=r"must sum to at most 50,000,000, got 100,000,000\. Divide"):
        BayesNetLearner(max_evaluations=10).fit(rows, sample_weight=np.full(10, 1e7))
    with pytest.raises(GomeaBnError, match=r"at most 50,000,000, got weights of up to 1e\+308\. Divide"):
        BayesNetLearner(max_evaluations=10).fit(rows, sample_weight=np.full(10, 1e308))


@pytest.mark.sample(1)
@pytest.mark.parametrize("command", ["learn", "front"])
def test_commands_take_a_column_of_weights(tmp_path, command):
    rows = frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    data, out = tmp_path / "data.csv", tmp_path / "out"
    rows.assign(w=weights).to_csv(data, index=False)
    options: list[object] = ["--max-seconds", 0, "--max-evaluations", 300, "--seed", 1, "--out", out]
    if command == "front":
        options += ["--single-evaluations", 200]
    ok(command, data, "--weight", "w", *options)
    if command == "learn":
        learner = BayesNetLearner(max_seconds=None, max_evaluations=300, random_state=1)
        network = learner.fit(rows, sample_weight=weights).network_
        learned = named_network(str(out))
        assert (learned.edges, learned.metadata["score"]) == (network.edges, network.metadata["score"])
        assert "copies" not in learned.metadata
    else:
        front = ParetoBayesNetLearner(**OPTIONS).fit(rows, sample_weight=weights).front_
        np.testing.assert_array_equal(read_front(out).values, front.values)
    ok("review", out, "-o", tmp_path / "page.html")
    counts = next(
        v["counts"] for v in page_data((tmp_path / "page.html").read_text())["variables"] if "counts" in v
    )
    assert sum(counts) == weighted_table(read_table(rows), weights).n_rows
    assert "unknown column 'v'" in invoke(command, data, "--weight", "v", *options).stderr


@pytest.mark.parametrize("options", [["--columns", "x,y"], ["--drop", "k,w"], ["--columns", "y,w,x"]])
def test_the_column_of_weights_is_read_whatever_columns_are_chosen(tmp_path, options):
    data = tmp_path / "data.csv"
    weights = np.arange(120) % 3 + 0.5
    frame().assign(w=weights).to_csv(data, index=False)
    limits = ["--max-seconds", 0, "--max-evaluations", 50, "--seed", 1, "--out", tmp_path / "out"]
    ok("learn", data, *options, "--weight", "w", *limits)
    learned = named_network(str(tmp_path / "out"))
    assert sorted(learned.names) == ["x", "y"]
    assert learned.metadata["weights"]["sum"] == 120
    wrong = invoke("learn", data, *options, "--weight", "v", *limits)
    assert (wrong.exit_code, "--weight: unknown column 'v'" in wrong.stderr) == (2, True)
    assert "No column remains" in invoke("learn", data, "--columns", "w", "--weight", "w", *limits).stderr


def test_rows_without_a_weight_are_named_or_dropped(tmp_path):
    data = tmp_path / "data.csv"
    rows = frame().assign(w=np.arange(120) % 3 + 0.5)
    rows.loc[[3, 8], "w"] = np.nan
    rows.loc[5, "x"] = np.nan
    rows.to_csv(data, index=False)
    limits = ["--max-seconds", 0, "--max-evaluations", 50, "--seed", 1, "--out", tmp_path / "out"]
    for missing in ("available", "error"):
        refused = invoke("learn", data, "--weight", "w", "--missing", missing, *limits)
        assert refused.exit_code == 3
        assert "Column 'w' has 2 missing or infinite values in rows 3, 8 (counted from 0)." in refused.stderr
        assert "--missing drop" in refused.stderr
    dropped = ok("learn", data, "--weight", "w", "--missing", "drop", *limits)
    assert "Dropped 3 rows with missing or infinite values: rows 3, 5, 8 (counted from 0)." in dropped.stderr
    assert "90 rows, 3 columns" in dropped.stderr
    assert "Weights chose these from 117 rows given." in dropped.stderr
    assert named_network(str(tmp_path / "out")).metadata["weights"]["rows"] == 117


def test_the_column_of_weights_has_no_kind(tmp_path):
    data = tmp_path / "data.csv"
    frame().assign(w=1.5).to_csv(data, index=False)
    refused = invoke("front", data, "--weight", "w", "--kind", "w=continuous", "--max-evaluations", 10)
    assert refused.exit_code == 2
    assert "--kind: column 'w' has the weights of rows (--weight), and no kind" in refused.stderr


def test_the_command_names_its_own_option(tmp_path):
    data = tmp_path / "data.csv"
    frame().to_csv(data, index=False)
    assert (
        "--weight must be numbers" in invoke("learn", data, "--weight", "k", "--max-evaluations", 10).stderr
    )


def test_complex_weights_are_refused_without_a_warning_of_numpy():
    rows = frame()
    network = BayesNetLearner(max_evaluations=20, density="bins", random_state=1).fit(rows).network_
    weights = np.ones(len(rows)) * (1 + 1j)
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        with pytest.raises(
            GomeaBnError, match="sample_weight must be numbers: complex numbers have no order"
        ):
            BayesNetLearner(max_evaluations=20).fit(rows, sample_weight=weights)
        with pytest.raises(GomeaBnError, match="weight must be numbers: complex"):
            network.update(rows, weight=weights)
