"""A learned network cut again by a discretizer: the graph stays, fixed cuts stay, scores before and after."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refinement_examples import slow_refined_score
from typer.testing import CliRunner

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, read_table, refine_boundaries
from gomea_bn.cli import app as cli
from gomea_bn.discretization import (
    MDLP,
    BayesianDiscretizer,
    EqualFrequency,
    EqualWidth,
    KMeans,
    MDLDiscretizer,
    MDLNetwork,
)
from gomea_bn.problems.cuts import without_sparse_bins
from gomea_bn.simulation import random_network


@pytest.fixture(scope="module")
def frame():
    return random_network(6, rows="dirichlet", random_state=3).sample(600, random_state=4)


@pytest.fixture(scope="module")
def network(frame):
    return (
        BayesNetLearner(
            "equal-frequency",
            pseudo_count=1.0,
            shape="uniform",
            density="bins",
            max_evaluations=4000,
            random_state=1,
        )
        .fit(frame)
        .network_
    )


@pytest.mark.parametrize("scoring_method", ["density-bic", "density-bd"])
@pytest.mark.parametrize("method", ["bayesian", "mdl", "k-means", "equal-width"])
def test_the_result_has_the_discretizers_cuts_and_both_scores(frame, network, method, scoring_method):
    result = refine_boundaries(network, frame, method, scoring_method=scoring_method, pseudo_count=2.0)
    kinds = {
        "bayesian": BayesianDiscretizer,
        "mdl": MDLDiscretizer,
        "k-means": KMeans,
        "equal-width": EqualWidth,
    }
    options = {"max_bins": 15} if method == "mdl" else {}
    alone = kinds[method](**options).fit(frame, network=network)
    assert result.network.edges == network.edges
    assert result.stopped_by == alone.stopped_by_
    for name, cuts in result.network.cut_points.items():
        assert cuts.tolist() == alone.cut_points_[name].tolist()
    counted = DiscretizedBayesNet.from_table(
        read_table(frame), network.edges, alone.cut_points_, pseudo_count=2.0
    )
    assert counted == result.network
    assert result.score_before == pytest.approx(slow_refined_score(network, frame, scoring_method), abs=1e-7)
    assert result.score_after == pytest.approx(
        slow_refined_score(result.network, frame, scoring_method), abs=1e-7
    )
    metadata = result.network.metadata
    assert metadata["score"] == result.score_after
    assert metadata["refinement"] == {
        "method": method,
        "bin_counts": "free",
        "score_before": result.score_before,
    }
    assert result.history == []
    assert result.seconds > 0


def test_a_score_that_drops_is_reported_and_kept(frame, network):
    result = refine_boundaries(network, frame, EqualWidth(n_bins=40))
    assert result.score_after < result.score_before
    assert all(len(cuts) == 39 for cuts in result.network.cut_points.values())
    assert result.network.metadata["refinement"]["method"] == "EqualWidth(n_bins=40)"


def test_options_of_a_discretizer_count_and_it_is_left_as_it_was(frame, network):
    method = MDLDiscretizer("merge", max_bins=3, max_seconds=50.0)
    result = refine_boundaries(network, frame, method)
    assert max(map(len, result.network.cut_points.values())) == 2
    assert not hasattr(method, "cut_points_")
    assert refine_boundaries(network, frame, "mdl", max_bins=3).network.n_parameters <= 4**4


@pytest.mark.long
def test_cuts_that_the_user_fixed_stay_and_so_do_those_not_named(frame):
    continuous = [c.name for c in read_table(frame).columns if c.is_continuous]
    fixed, other = continuous[:2]
    learned = BayesNetLearner(cut_points={fixed: [0.25, 0.5]}, max_evaluations=3000, random_state=1).fit(
        frame
    )
    result = refine_boundaries(learned.network_, frame, EqualWidth(n_bins=4))
    assert result.network.cut_points[fixed].tolist() == [0.25, 0.5]
    assert len(result.network.cut_points[other]) == 3
    refined = refine_boundaries(learned.network_, frame, EqualWidth(n_bins=4), variables=[other]).network
    for name in continuous:
        if name == other:
            assert len(refined.cut_points[name]) == 3
        else:
            assert refined.cut_points[name].tolist() == learned.network_.cut_points[name].tolist()
    assert refine_boundaries(
        learned.network_, frame, "bayesian", variables=[]
    ).network.cut_points.keys() == set(continuous)


def test_no_bin_is_narrower_than_the_floor(network, frame):
    result = refine_boundaries(network, frame, EqualWidth(n_bins=100), min_width=0.03)
    assert set(result.network.cut_points) == set(network.cut_points) != set()
    for name, cuts in result.network.cut_points.items():
        low, high = result.network.support[name]
        assert np.diff([low, *cuts, high]).min() >= 0.03 * (high - low)
        assert len(cuts) > 20


@pytest.mark.parametrize("least", [1, 2, 40])
def test_no_bin_has_fewer_rows_than_the_least(network, frame, least):
    result = refine_boundaries(network, frame, EqualFrequency(n_bins=30), min_bin_count=least, min_width=0.0)
    plain = refine_boundaries(network, frame, EqualFrequency(n_bins=30), min_width=0.0)
    assert set(result.network.cut_points) == set(network.cut_points) != set()
    for name, cuts in result.network.cut_points.items():
        assert np.bincount(np.searchsorted(cuts, frame[name])).min() >= least
        assert set(cuts.tolist()) <= set(plain.network.cut_points[name].tolist())
        assert len(cuts) >= 3


def test_cuts_with_too_few_rows_between_them_are_dropped_from_the_left():
    values, cuts = np.arange(10.0), np.array([2.5, 3.5, 5.5, 8.5])
    assert without_sparse_bins(cuts, values, 3).tolist() == [2.5, 5.5]
    assert without_sparse_bins(cuts, values, 1).tolist() == cuts.tolist()


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 12), min_size=2, max_size=60), st.lists(st.integers(-1, 13), unique=True),
    st.integers(1, 20),
)  # fmt: skip
def test_joined_bins_have_rows_enough_and_full_ones_stay(values, positions, least):
    values, cuts = np.array(values, float), np.sort(np.array(positions, float)) + 0.5
    full = without_sparse_bins(cuts, values, least)
    assert set(full.tolist()) <= set(cuts.tolist())
    counts = np.bincount(np.searchsorted(cuts, values), minlength=len(cuts) + 1)
    if least > 1 and len(full):
        assert np.bincount(np.searchsorted(full, values), minlength=len(full) + 1).min() >= least
    if counts.min() >= least or least == 1:
        assert full.tolist() == cuts.tolist()


def test_a_clock_ends_the_refinement(network, frame):
    result = refine_boundaries(network, frame, "bayesian", max_seconds=1e-6)
    assert result.stopped_by == "max_seconds"
    assert result.network.edges == network.edges


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("bayes", {}, "method must be one of .*'dp'.* got 'bayes'"),
        ("mdlp", {}, "needs classes"),
        (MDLP(), {}, "needs classes"),
        (MDLNetwork(), {}, "learns a graph of its own"),
        (7, {}, "method must be one of"),
        ("bayesian", {"bin_counts": "fixed"}, "chooses the number of bins"),
        ("bayesian", {"starts": 3}, "starts is not supported by discretizers"),
        ("bayesian", {"min_bin_count": -1}, "min_bin_count must be"),
        ("bayesian", {"callback": print}, "callback is not supported by discretizers"),
        ("bayesian", {"min_width": 2.0}, "min_width must be"),
        ("bayesian", {"variables": ["none"]}, "no continuous variable 'none'"),
        (BayesianDiscretizer(order=["X1"]), {}, "order"),
    ],
)
def test_what_cannot_be_done_is_refused(network, frame, method, options, message):
    with pytest.raises(GomeaBnError, match=message):
        refine_boundaries(network, frame, method, **options)


def test_commands_take_a_discretizer_by_name(network, frame, tmp_path):
    saved, rows, out = tmp_path / "in.json", tmp_path / "rows.csv", tmp_path / "out.json"
    network.to_json(saved)
    frame.to_csv(rows, index=False, float_format="%.17g")

    def refine(*arguments):
        return CliRunner().invoke(cli.main, ["refine", *map(str, (saved, rows, "--out", out, *arguments))])

    expected = refine_boundaries(network, frame, "mdl")
    assert f"{expected.score_before:.3f} -> {expected.score_after:.3f}" in refine("--method", "mdl").stdout
    assert DiscretizedBayesNet.from_json(out) == expected.network
    done = refine("--method", "bayesian")
    assert done.exit_code == 0, done.stderr
    by_name = refine_boundaries(network, frame, "bayesian").network
    assert json.loads(out.read_text())["metadata"]["refinement"]["method"] == "bayesian"
    assert DiscretizedBayesNet.from_json(out) == by_name
    assert refine("--method", "bayesian", "--bin-counts", "fixed").exit_code == 2
    assert "needs classes" in refine("--method", "mdlp").stderr
    assert refine("--method", "dp").exit_code == 0
    assert json.loads(out.read_text())["metadata"]["refinement"]["bin_counts"] == "fixed"


def test_levels_that_no_row_has_stay(network):
    frame = pd.DataFrame({"x": np.arange(60.0), "c": ["a", "b"] * 30})
    unrefined = DiscretizedBayesNet(
        ["x", "c"],
        [("c", "x")],
        cut_points={"x": [20.5]},
        support={"x": (0.0, 59.0)},
        levels={"c": ("a", "b", "z")},
        tables={"x": [[0.5, 0.5]] * 3, "c": [0.3, 0.3, 0.4]},
    )
    assert refine_boundaries(unrefined, frame, "mdl").network.levels == {"c": ("a", "b", "z")}
