"""The discretizer MGCD: recovery of cuts and graphs, rounds, limits, options."""

import math

import numpy as np
import pandas as pd
import pytest
from processor_time import at_most
from sklearn.base import clone
from table_examples import copied_codes, truncated_gaussians

from gomea_bn import DiscretizedBayesNet, ExpertKnowledge, GomeaBnError
from gomea_bn.discretization import MGCDiscretizer, discretizer
from gomea_bn.discretization.mgcd.mgcd import MGCDColumns, SharedMixture


@pytest.mark.parametrize(("n", "error"), [(1000, 0.12), (20_000, 0.06)])
def test_borders_of_truncated_gaussians_are_found_given_the_blanket(n, error):
    values, codes = truncated_gaussians(0, n, 10, spread=6.0)
    frame = pd.DataFrame({"y": codes, "x": values})
    fitted = MGCDiscretizer(random_state=0).fit(frame, network=[("y", "x")])
    np.testing.assert_allclose(fitted.cut_points_["x"], [1.0, 2.5, 3.0], atol=error)
    assert fitted.stopped_by_ == "fixpoint"
    assert fitted.mixtures_["x"].weights.shape == (10, 4)


def test_a_blanket_tells_apart_what_one_column_alone_hides():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    frame = pd.DataFrame({"x": rng.normal(1.5 * y, 1.0), "y": y})
    given_y = MGCDiscretizer(random_state=0).fit(frame, network=[("x", "y")])
    halfway = frame.groupby("y")["x"].mean().mean()
    assert given_y.cut_points_["x"] == pytest.approx([halfway], abs=0.01)
    for alone in (
        MGCDiscretizer(random_state=0, univariate=True).fit(frame, network=[("x", "y")]),
        MGCDiscretizer(random_state=0).fit(frame, network=[]),
    ):
        assert alone.cut_points_["x"].tolist() == []


def chain(n, seed):
    """Rows of a -> b -> c, each of three separate Gaussians, and a lone d."""
    rng = np.random.default_rng(seed)
    codes = [*copied_codes(rng, n, 3, 0.7), rng.integers(0, 2, n)]
    return pd.DataFrame({name: rng.normal(code, 0.18) for name, code in zip("abcd", codes)})


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [{}, {"univariate": True}, {"penalty": "observed"}])
def test_graph_and_bins_are_learned_in_turn(options):
    frame = chain(1500, 0)
    fitted = MGCDiscretizer(random_state=0, **options).fit(frame)
    assert {frozenset(edge) for edge in fitted.edges_} == {frozenset("ab"), frozenset("bc")}
    for name in "abc":
        np.testing.assert_allclose(fitted.cut_points_[name], [0.5, 1.5], atol=0.1)
    np.testing.assert_allclose(fitted.cut_points_["d"], [0.5], atol=0.1)
    assert fitted.network_.edges == fitted.edges_
    assert fitted.stopped_by_ == "fixpoint"
    assert fitted.score_ in fitted.round_scores_
    network = DiscretizedBayesNet.from_table(fitted.table_, fitted.edges_, fitted.cut_points_)
    assert fitted.network_ == DiscretizedBayesNet.from_table(
        fitted.table_, fitted.edges_, fitted.cut_points_, metadata=fitted.network_.metadata
    )
    assert network.score(frame) > DiscretizedBayesNet.from_table(fitted.table_, [], fitted.cut_points_).score(
        frame
    )
    assert clone(fitted).fit(frame).network_ == fitted.network_
    fixed = fitted.fit(frame, network=fitted.network_)
    assert not hasattr(fixed, "network_")


def test_rounds_that_change_nothing_end_at_a_fixpoint():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 3))).add_prefix("x")
    fitted = MGCDiscretizer(random_state=0).fit(frame)
    assert fitted.edges_ == []
    assert fitted.stopped_by_ == "fixpoint"
    assert len(fitted.round_scores_) == 1


def test_the_kept_round_is_the_best_and_its_score_that_of_the_network():
    frame = chain(600, 3)
    fitted = MGCDiscretizer(random_state=0).fit(frame)
    assert fitted.score_ == max(fitted.round_scores_)
    exact = DiscretizedBayesNet.from_table(fitted.table_, fitted.edges_, fitted.cut_points_, pseudo_count=0.0)
    ranges = sum(math.log(np.ptp(frame[name])) for name in frame)
    expected = 600 * (exact.score(frame) + ranges) - exact.n_parameters * math.log(600) / 2
    assert fitted.score_ == pytest.approx(expected, rel=1e-9)


def test_an_experts_rules_hold_and_tables_stay_within_their_limit():
    frame = chain(1500, 1)
    knowledge = ExpertKnowledge(
        required_edges=[("d", "a")], forbidden_edges=[("a", "b"), ("b", "a")], max_table_cells=6
    )
    fitted = MGCDiscretizer(knowledge=knowledge, random_state=0).fit(frame)
    assert ("d", "a") in fitted.edges_
    assert frozenset("ab") not in {frozenset(edge) for edge in fitted.edges_}
    assert max(table.size for table in fitted.network_.tables.values()) <= 6


def test_mgcd_is_made_by_its_name_and_keeps_cuts_that_a_user_has_fixed():
    frame = chain(800, 2)
    before = frame.copy()
    made = discretizer("mgcd", random_state=0)
    codes = made.fit_transform(frame, network=[("a", "b")])
    pd.testing.assert_frame_equal(frame, before)
    assert codes["a"].nunique() == 3
    network = DiscretizedBayesNet.from_table(
        made.table_, [("a", "b")], {**made.cut_points_, "a": [0.3]}, metadata={"fixed_cut_points": ["a"]}
    )
    fitted = MGCDiscretizer(random_state=0).fit(frame, network=network)
    assert fitted.cut_points_["a"].tolist() == [0.3]
    assert sorted(fitted.mixtures_) == ["b", "c", "d"]


def test_units_do_not_matter():
    values, codes = truncated_gaussians(5, 600)
    frame = pd.DataFrame({"x": values, "y": codes})
    plain = MGCDiscretizer(random_state=0).fit(frame, network=[("y", "x")]).cut_points_["x"]
    assert len(plain) >= 2
    for scale in (1e-300, 1e300, 1e-9):
        scaled = frame.assign(x=values * scale)
        cuts = MGCDiscretizer(random_state=0).fit(scaled, network=[("y", "x")]).cut_points_["x"]
        np.testing.assert_allclose(cuts, plain * scale, rtol=1e-6)


@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [2, 3, 7])
def test_tiny_tables_and_tables_without_continuous_columns_are_cut(n):
    frame = pd.DataFrame({"x": np.random.default_rng(n).normal(size=n), "y": np.arange(n) % 2})
    kinds = {"x": "continuous", "y": "discrete"}
    fitted = MGCDiscretizer(random_state=0, kinds=kinds).fit(frame)
    assert len(fitted.cut_points_["x"]) < n
    assert MGCDiscretizer(kinds=kinds).fit(frame, network=[("y", "x")]).cut_points_
    words = pd.DataFrame({"a": list("uv") * 20, "b": list("uv") * 20})
    fitted = MGCDiscretizer().fit(words)
    assert fitted.cut_points_ == {}
    assert len(fitted.edges_) == 1


def test_a_value_on_a_border_of_the_mixture_goes_to_the_upper_bin(monkeypatch):
    frame = pd.DataFrame({"x": np.arange(60.0)})
    monkeypatch.setattr(SharedMixture, "cuts", lambda self: np.array([-5.0, 30.0, 30.5]))
    cut_points = MGCDiscretizer().fit(frame, network=[]).cut_points_["x"]
    assert cut_points.tolist() == [np.nextafter(30.0, 0), 30.5]


def test_cuts_lie_between_repeated_values_and_a_column_of_one_value_has_none():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.choice([0.0, 0.0, 1.0, 7.0], 300), "z": rng.integers(0, 9, 300) + 0.5})
    fitted = MGCDiscretizer(random_state=0, kinds={"x": "continuous", "z": "continuous"}).fit(
        frame, network=[]
    )
    codes = fitted.transform(frame)
    assert codes.groupby(frame["x"])["x"].nunique().eq(1).all()
    assert codes["x"].nunique() >= 2
    kinds = {"x": "continuous"}
    with pytest.warns(UserWarning, match="'x' is 3 in"):
        assert "x" in MGCDiscretizer(kinds=kinds).fit(frame.assign(x=3.0)).levels_


def test_narrow_bins_and_bins_of_few_rows_join_a_neighbour():
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 0.005, 1.0], [400, 400, 100]) + rng.normal(scale=2e-4, size=900)
    frame = pd.DataFrame({"x": x, "y": rng.normal(size=900)})
    narrow = MGCDiscretizer(random_state=0, min_width=0.0).fit(frame, network=[])
    edges = [x.min(), *narrow.cut_points_["x"], x.max()]
    assert len(edges) > 3
    assert np.diff(edges).min() < 1e-2 * np.ptp(x)
    for floor, least in ((1e-2, 1), (0.1, 1), (0.0, 120)):
        fitted = MGCDiscretizer(random_state=0, min_width=floor, min_bin_count=least).fit(frame)
        assert len(fitted.cut_points_["x"]) == 1
        for name, cuts in fitted.cut_points_.items():
            values = frame[name].to_numpy()
            assert np.diff([values.min(), *cuts, values.max()]).min() >= floor * np.ptp(values)
            assert np.bincount(np.searchsorted(cuts, values)).min() >= least


def test_columns_of_ranges_next_to_nothing_are_refused_by_name():
    frame = pd.DataFrame({"x": np.tile([0.0, 5e-324, 1e-323], 20), "y": np.arange(60.0)})
    with pytest.raises(GomeaBnError, match=r"Column 'x' ranges from 0 to 9\.88131e-324, too narrow"):
        MGCDiscretizer().fit(frame, network=[])


def test_an_unfinished_round_counts_where_it_is_better(monkeypatch):
    frame = chain(900, 1)
    whole = MGCDiscretizer(random_state=0).fit(frame)

    def expire(columns, state, max_table_cells):
        columns.task.stop.raise_for("max_seconds")
        return state

    monkeypatch.setattr(MGCDColumns, "discretized", expire)
    fitted = MGCDiscretizer(random_state=0).fit(frame)
    assert fitted.stopped_by_ == "max_seconds"
    assert fitted.round_scores_ == []
    assert {frozenset(edge) for edge in fitted.edges_} & {frozenset(edge) for edge in whole.edges_}
    plain = DiscretizedBayesNet.from_table(fitted.table_, [], fitted.cut_points_, pseudo_count=0.0)
    ranges = sum(math.log(np.ptp(frame[name])) for name in frame)
    assert fitted.score_ > 900 * (plain.score(frame) + ranges) - plain.n_parameters * math.log(900) / 2


def test_limits_on_bins_and_passes_hold(monkeypatch):
    values, codes = truncated_gaussians(0, 3000)
    frame = pd.DataFrame({"x": values, "y": codes})
    edges = [("y", "x")]
    assert len(MGCDiscretizer(max_bins=2, random_state=0).fit(frame, network=edges).cut_points_["x"]) == 1
    monkeypatch.setattr("gomea_bn.discretization.mgcd.mgcd._MAX_CYCLES", 1)
    frame = chain(300, 0)
    once = MGCDiscretizer(random_state=0).fit(frame, network=[("a", "b"), ("b", "c")])
    assert once.stopped_by_ == "max_cycles"
    assert once.n_cycles_ == 1


def test_the_best_round_is_kept_though_a_later_one_scores_lower():
    rng = np.random.default_rng(8)
    h = rng.integers(0, 3, 80)
    frame = pd.DataFrame({name: rng.normal(spread * h) for name, spread in zip("abc", (2.0, 1.5, 1.0))})
    frame["d"] = rng.exponential(size=80) * (h + 1)
    fitted = MGCDiscretizer(random_state=0).fit(frame)
    assert fitted.round_scores_[-1] < fitted.round_scores_[0]
    assert fitted.score_ == fitted.round_scores_[0]


def test_the_deadline_holds_and_leaves_a_usable_result():
    frame = pd.DataFrame(np.random.default_rng(0).uniform(size=(30_000, 8))).add_prefix("x")
    MGCDiscretizer(max_seconds=0.01).fit(frame.iloc[:50])  # compiles
    with at_most(4):
        fitted = MGCDiscretizer(max_seconds=0.3, random_state=0).fit(frame)
    assert fitted.stopped_by_ == "max_seconds"
    assert fitted.network_.score(frame) > -1
    given_graph = MGCDiscretizer(max_seconds=0.2, random_state=0).fit(frame, network=[("x0", "x1")])
    assert given_graph.stopped_by_ == "max_seconds"
    assert list(given_graph.cut_points_) == list(frame)
