"""MGCD: EM and cuts against slow twins, brute force and scikit-learn; recovery of cuts and graphs; the interface."""

from __future__ import annotations

import itertools
import math
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from gomea_bn.discretization import discretizer
from gomea_bn.discretization.mgcd.columns import MGCDColumns
from gomea_bn.discretization.mgcd.kernels import EMWork, SharedGaussians, expectation_maximisation
from gomea_bn.discretization.mgcd.mgcd import MGCDiscretizer
from gomea_bn.discretization.mgcd.shared_gaussians import (
    ColumnCells,
    Configurations,
    SharedMixture,
    SharedMixtureOptions,
    SharedMixtureSearch,
    gaussian_cut,
    log_complexity,
    separating_cuts,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.cuts.blanket import CodedColumn
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.knowledge import ExpertKnowledge


def configurations(codes):
    return Configurations.of([CodedColumn(np.asarray(codes, np.int32), int(np.max(codes)) + 1)], len(codes))


def search(values, codes, *, n_cells=10**6, min_deviation=1e-3, seed=0, **options):
    cells = ColumnCells(SortedColumn(np.asarray(values, float)), n_cells, min_deviation)
    return SharedMixtureSearch(
        cells,
        configurations(codes),
        SharedMixtureOptions(**options),
        np.random.default_rng(seed),
        stop=np.zeros(1, np.uint8),
        run=lambda call: call(),
    )


def em(found, start, iterations, tolerance=-math.inf):
    """Run the kernel from a start; returns the mixture and the trace."""
    data = found.data
    shape = (len(data.means), len(start.means))
    mixture = SharedGaussians(*(part.copy() for part in start))
    work = EMWork(
        *(np.empty(shape) for _ in range(2)),
        np.empty(shape[0]),
        np.empty(shape),
        np.empty_like(start.weights),
        np.empty(shape[1]),
        np.empty(iterations + 1),
        np.zeros(1, np.uint8),
    )
    done = expectation_maximisation(data, mixture, work, found.cells.floor, tolerance)
    return mixture, work.trace[: done + 1]


def slow_em(values, codes, start, floor, iterations):
    """Mixture and trace by the formulas, row by row, in logarithms."""
    means, deviations, weights = (part.copy() for part in start)
    trace = []
    while True:
        with np.errstate(divide="ignore"):
            joint = np.log(weights[codes]) + norm.logpdf(values[:, None], means, deviations)
        density = logsumexp(joint, axis=1)
        trace.append(density.sum())
        if len(trace) > iterations:
            return SharedGaussians(means, deviations, weights), np.array(trace)
        share = np.exp(joint - density[:, None])
        weights = np.array([share[codes == j].mean(axis=0) for j in range(len(weights))])
        rows = share.sum(axis=0)
        means = share.T @ values / rows
        deviations = np.sqrt((share * (values[:, None] - means) ** 2).sum(axis=0) / rows)
        deviations = np.maximum(deviations, floor)


def drawn(seed, n, n_configurations=4, borders=(0.0, 1.0, 2.5, 3.0, 5.0), spread=4.0):
    """Rows of truncated Gaussians between borders, weighed by a configuration; values and codes."""
    rng = np.random.default_rng(seed)
    edges = np.asarray(borders)
    codes = rng.integers(0, n_configurations, n)
    weights = rng.dirichlet(np.ones(len(edges) - 1), n_configurations)
    k = (np.cumsum(weights, axis=1)[codes] < rng.random(n)[:, None]).sum(axis=1)
    low, high = edges[k], edges[k + 1]
    values = np.full(n, np.inf)
    while (outside := (values <= low) | (values >= high)).any():
        again = rng.normal((low + high) / 2, (high - low) / spread)
        values[outside] = again[outside]
    return values, codes


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 6), st.booleans())
def test_em_is_the_slow_twin_and_never_goes_downhill(seed, n_components, n_configurations, tied):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    values, codes = drawn(seed, n, n_configurations)
    values[0] += 40.0 * rng.random()  # an outlier, whose density underflows beside the others'
    if tied:
        values = np.round(values * 2)
    values[1] = values[0] - 1
    found = search(values, codes)
    codes = found._configurations.codes
    start = found._started(np.sort(rng.normal(size=n_components - 1)))
    mixture, trace = em(found, start, 12)
    standard = found.cells.means[found.cells.cell_of_row]
    slow, slow_trace = slow_em(standard, codes, start, found.cells.floor, 12)
    np.testing.assert_allclose(trace, slow_trace, rtol=1e-8, atol=1e-8)
    for part, slow_part in zip(mixture, slow):
        np.testing.assert_allclose(part, slow_part, rtol=1e-5, atol=1e-7)
    assert (np.diff(trace) >= -1e-9 * np.maximum(1, np.abs(trace[1:]))).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_cells_bound_the_likelihood_from_below_and_em_in_cells_goes_uphill(seed, n_cells):
    values, codes = drawn(seed, 300)
    exact, coarse = search(values, codes), search(values, codes, n_cells=n_cells)
    start = coarse._started(np.array([-0.4, 0.3]))
    assert em(coarse, start, 0)[1][0] <= em(exact, start, 0)[1][0] + 1e-9
    trace = em(coarse, start, 30)[1]
    assert (np.diff(trace) >= -1e-9).all()


def test_em_finds_what_scikit_learn_finds_for_one_configuration():
    values, _ = drawn(3, 2000, 1)
    ours = search(values, np.zeros(2000, int), max_iterations=2000, tolerance=1e-9).fitted(4)
    peer = GaussianMixture(4, n_init=5, tol=1e-9, max_iter=2000, random_state=0).fit(values[:, None])
    assert ours.log_likelihood >= peer.score(values[:, None]) * 2000 - 0.5
    assert ours.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("gaussians", "cut"),
    [
        ((0, 1, 3, 2), 1.4183449881),
        ((0, 2, 3, 1), 1.5816550119),
        ((0, 1, 3, 1), 1.5),
        ((0, 4, 1, 1), 0.0),
        ((0, 1, 1, 4), 1.0),
    ],
)
def test_the_cut_between_two_gaussians(gaussians, cut):
    assert gaussian_cut(*gaussians) == pytest.approx(cut, abs=1e-10)


positive = st.floats(0.01, 30)


@settings(max_examples=150, deadline=None)
@given(positive, positive, positive, st.floats(-50, 50), st.floats(0.02, 0.98) | st.just(0.5))
def test_the_cut_puts_least_mass_on_the_wrong_side(deviation_0, deviation_1, distance, mean, weight):
    high = mean + distance
    cut = gaussian_cut(mean, deviation_0, high, deviation_1, weight, 1 - weight)

    def misplaced(t):
        return weight * norm.sf(t, mean, deviation_0) + (1 - weight) * norm.cdf(t, high, deviation_1)

    def slope(t):
        return (1 - weight) * norm.pdf(t, high, deviation_1) - weight * norm.pdf(t, mean, deviation_0)

    grid = np.linspace(mean, high, 2001)
    assert mean <= cut <= high
    assert misplaced(cut) <= misplaced(grid).min() + 1e-12
    step = distance / 2000
    low, top = max(mean, cut - step), min(high, cut + step)
    if mean < low and top < high and slope(low) < 0 < slope(top):
        assert cut == pytest.approx(brentq(slope, low, top, xtol=1e-13), abs=1e-9 * max(1, distance))


def test_the_paper_counts_gaussians_alike_and_the_weighted_rule_by_their_rows():
    values = np.concatenate((np.linspace(-1, 1, 1000), np.linspace(4, 6, 50)))
    mixture = search(values, np.zeros(1050, int)).fitted(2)
    plain, weighted = mixture.cuts(), mixture.cuts(weighted=True)
    assert plain[0] < weighted[0]
    assert gaussian_cut(0, 1, 4, 1, 0.9, 0.1) == pytest.approx(2 + math.log(9) / 4)


@pytest.mark.parametrize(("n_values", "n_rows"), [(1, 5), (2, 1), (2, 9), (3, 4), (4, 7), (6, 3)])
def test_the_complexity_of_weights_is_the_sum_over_all_samples(n_values, n_rows):
    total = 0.0
    for counts in itertools.product(range(n_rows + 1), repeat=n_values):
        if sum(counts) == n_rows:
            ways = math.factorial(n_rows) / math.prod(math.factorial(c) for c in counts)
            total += ways * math.prod((c / n_rows) ** c for c in counts)
    assert log_complexity(n_values, np.array([float(n_rows)]))[0] == pytest.approx(math.log(total), abs=0.01)


def test_the_score_of_a_mixture_is_its_likelihood_less_the_price_of_its_parameters():
    values, codes = drawn(1, 400)
    n_all = 10.0
    around = Configurations(codes.astype(np.int32), np.bincount(codes), n_all)
    for penalty, q in (("observed", 4), ("all", n_all)):
        found = search(values, codes, penalty=penalty)
        found._configurations = around
        mixture = found.fitted(3)
        density = mixture.weights[codes] * norm.pdf(values[:, None], mixture.means, mixture.deviations)
        assert mixture.log_likelihood == pytest.approx(np.log(density.sum(axis=1)).sum(), rel=1e-9)
        price = (q * 2 + 2 * 3) / 2 * math.log(400)
        assert mixture.score == pytest.approx(mixture.log_likelihood - price, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=30), st.lists(st.floats(-1, 13), max_size=8))
def test_cuts_keep_the_papers_bins_where_rows_are(values, cuts):
    values = np.array([*values, 0, 12], float)
    ordered = np.sort(np.round(np.array(cuts) * 4) / 4)
    kept = separating_cuts(ordered, SortedColumn(values))
    paper = np.searchsorted(ordered, values, side="right")  # [a, b)
    ours = np.searchsorted(kept, values, side="left")  # (a, b]
    np.testing.assert_array_equal(np.unique(paper, return_inverse=True)[1], ours)
    assert len(kept) == len(set(paper)) - 1
    assert ((kept >= 0) & (kept < 12)).all()
    assert (np.diff(kept) > 0).all()


def test_a_value_on_a_border_of_the_mixture_goes_to_the_upper_bin(monkeypatch):
    frame = pd.DataFrame({"x": np.arange(60.0)})
    monkeypatch.setattr(SharedMixture, "cuts", lambda self, *, weighted: np.array([-5.0, 30.0, 30.5]))
    found = MGCDiscretizer().fit(frame, network=[]).cut_points_["x"]
    assert found.tolist() == [np.nextafter(30.0, 0), 30.5]


@pytest.mark.parametrize(("n", "error"), [(1000, 0.12), (20_000, 0.06)])
def test_borders_of_truncated_gaussians_are_found_given_the_blanket(n, error):
    values, codes = drawn(0, n, 10, spread=6.0)
    frame = pd.DataFrame({"y": codes, "x": values})
    found = MGCDiscretizer(random_state=0).fit(frame, network=[("y", "x")])
    np.testing.assert_allclose(found.cut_points_["x"], [1.0, 2.5, 3.0], atol=error)
    assert found.stopped_by_ == "fixpoint"
    assert found.mixtures_["x"].weights.shape == (10, 4)


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


@pytest.mark.parametrize("n_values", [2, 30, 2000])
def test_noise_stays_whole_whatever_the_blanket(n_values):
    rng = np.random.default_rng(1)
    found = search(rng.normal(size=1000), rng.integers(0, n_values, 1000)).best()
    assert len(found.means) == 1


def chain(n, seed):
    """Rows of a -> b -> c, each of three separate Gaussians, and a lone d."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3, n)]
    for _ in range(2):
        codes.append(np.where(rng.random(n) < 0.7, codes[-1], rng.integers(0, 3, n)))
    codes.append(rng.integers(0, 2, n))
    return pd.DataFrame({name: rng.normal(code, 0.18) for name, code in zip("abcd", codes)})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"univariate": True},
        {"penalty": "observed"},
        {"start": "univariate", "tabu_steps": 1, "keep": "last", "max_rounds": 20},
    ],
)
def test_graph_and_bins_are_learned_in_turn(options):
    frame = chain(1500, 0)
    found = MGCDiscretizer(random_state=0, **options).fit(frame)
    assert {frozenset(edge) for edge in found.edges_} == {frozenset("ab"), frozenset("bc")}
    for name in "abc":
        np.testing.assert_allclose(found.cut_points_[name], [0.5, 1.5], atol=0.1)
    np.testing.assert_allclose(found.cut_points_["d"], [0.5], atol=0.1)
    assert found.network_.edges == found.edges_
    assert found.stopped_by_ == "fixpoint"
    assert found.score_ in found.round_scores_
    known = DiscretizedBayesNet.from_table(found.table_, found.edges_, found.cut_points_)
    assert found.network_ == DiscretizedBayesNet.from_table(
        found.table_, found.edges_, found.cut_points_, metadata=found.network_.metadata
    )
    assert known.score(frame) > DiscretizedBayesNet.from_table(found.table_, [], found.cut_points_).score(
        frame
    )
    again = clone(found).fit(frame)
    assert again.network_ == found.network_
    fixed = found.fit(frame, network=found.network_)
    assert not hasattr(fixed, "network_")


def test_rounds_that_change_nothing_end_at_a_fixpoint():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3))).add_prefix("x")
    found = MGCDiscretizer(start="univariate", random_state=0).fit(frame)
    assert found.edges_ == []
    assert found.stopped_by_ == "fixpoint"
    assert len(found.round_scores_) == 1


def test_the_kept_round_is_the_best_and_its_score_that_of_the_network():
    frame = chain(600, 3)
    found = MGCDiscretizer(random_state=0).fit(frame)
    assert found.score_ == max(found.round_scores_)
    exact = DiscretizedBayesNet.from_table(found.table_, found.edges_, found.cut_points_, pseudo_count=0.0)
    ranges = sum(math.log(np.ptp(frame[name])) for name in frame)
    expected = 600 * (exact.score(frame) + ranges) - exact.n_parameters * math.log(600) / 2
    assert found.score_ == pytest.approx(expected, rel=1e-9)


def test_an_experts_rules_hold_and_tables_stay_within_their_limit():
    frame = chain(1500, 1)
    knowledge = ExpertKnowledge(
        required_edges=[("d", "a")], forbidden_edges=[("a", "b"), ("b", "a")], max_table_cells=6
    )
    found = MGCDiscretizer(knowledge=knowledge, random_state=0).fit(frame)
    assert ("d", "a") in found.edges_
    assert frozenset("ab") not in {frozenset(edge) for edge in found.edges_}
    assert max(table.size for table in found.network_.tables.values()) <= 6


def test_it_is_a_discretizer_by_name_and_keeps_cuts_that_a_user_has_fixed():
    frame = chain(800, 2)
    before = frame.copy()
    made = discretizer("mgcd", random_state=0)
    codes = made.fit_transform(frame, network=[("a", "b")])
    pd.testing.assert_frame_equal(frame, before)
    assert codes["a"].nunique() == 3
    network = DiscretizedBayesNet.from_table(
        made.table_,
        [("a", "b")],
        {**made.cut_points_, "a": [0.3]},
        metadata={"fixed_cut_points": ["a"]},
    )
    kept = MGCDiscretizer(random_state=0, start="network").fit(frame, network=network)
    assert kept.cut_points_["a"].tolist() == [0.3]
    assert sorted(kept.mixtures_) == ["b", "c", "d"]


def test_units_do_not_matter():
    values, codes = drawn(5, 600)
    frame = pd.DataFrame({"x": values, "y": codes})
    plain = MGCDiscretizer(random_state=0).fit(frame, network=[("y", "x")]).cut_points_["x"]
    assert len(plain) >= 2
    for scale in (1e-300, 1e300, 1e-9):
        scaled = frame.assign(x=values * scale)
        found = MGCDiscretizer(random_state=0).fit(scaled, network=[("y", "x")]).cut_points_["x"]
        np.testing.assert_allclose(found, plain * scale, rtol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_tiny_tables_and_tables_without_continuous_columns_are_cut(n):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame({"x": rng.normal(size=n), "y": np.arange(n) % 2})
    kinds = {"x": "continuous", "y": "discrete"}
    for options in ({}, {"min_bins": 2}):
        found = MGCDiscretizer(random_state=0, kinds=kinds, **options).fit(frame)
        assert len(found.cut_points_["x"]) < n
        assert MGCDiscretizer(kinds=kinds, **options).fit(frame, network=[("y", "x")]).cut_points_
    words = pd.DataFrame({"a": list("uv") * 20, "b": list("uv") * 20})
    found = MGCDiscretizer().fit(words)
    assert found.cut_points_ == {}
    assert len(found.edges_) == 1


def test_repeated_values_part_between_them_and_a_column_of_one_value_is_refused():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.choice([0.0, 0.0, 1.0, 7.0], 300), "z": rng.integers(0, 9, 300) + 0.5})
    found = MGCDiscretizer(random_state=0, kinds={"x": "continuous", "z": "continuous"}).fit(
        frame, network=[]
    )
    codes = found.transform(frame)
    assert codes.groupby(frame["x"])["x"].nunique().eq(1).all()
    assert codes["x"].nunique() >= 2
    kinds = {"x": "continuous"}
    with pytest.warns(UserWarning, match="'x' is 3.0"):
        assert "x" in MGCDiscretizer(kinds=kinds).fit(frame.assign(x=3.0)).levels_


def test_narrow_bins_and_bins_of_few_rows_join_a_neighbour():
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 0.0005, 1.0], [400, 400, 100]) + rng.normal(scale=2e-5, size=900)
    frame = pd.DataFrame({"x": x, "y": rng.normal(size=900)})
    narrow = MGCDiscretizer(random_state=0, min_width=0.0, min_deviation=1e-6).fit(frame, network=[])
    edges = [x.min(), *narrow.cut_points_["x"], x.max()]
    assert len(edges) == 4
    assert np.diff(edges).min() < 1e-3 * np.ptp(x)
    for floor, least in ((1e-3, 1), (0.1, 1), (0.0, 120)):
        found = MGCDiscretizer(random_state=0, min_width=floor, min_bin_count=least, min_deviation=1e-6).fit(
            frame
        )
        assert len(found.cut_points_["x"]) == 1
        for name, cuts in found.cut_points_.items():
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
    found = MGCDiscretizer(random_state=0).fit(frame)
    assert found.stopped_by_ == "max_seconds"
    assert found.round_scores_ == []
    assert {frozenset(edge) for edge in found.edges_} & {frozenset(edge) for edge in whole.edges_}
    plain = DiscretizedBayesNet.from_table(found.table_, [], found.cut_points_, pseudo_count=0.0)
    ranges = sum(math.log(np.ptp(frame[name])) for name in frame)
    assert found.score_ > 900 * (plain.score(frame) + ranges) - plain.n_parameters * math.log(900) / 2


def test_limits_on_bins_and_passes_hold():
    values, codes = drawn(0, 3000)
    frame = pd.DataFrame({"x": values, "y": codes})
    edges = [("y", "x")]
    assert len(MGCDiscretizer(max_bins=2, random_state=0).fit(frame, network=edges).cut_points_["x"]) == 1
    wide = pd.DataFrame({"x": np.random.default_rng(0).normal(size=300), "y": [0, 1] * 150})
    least = MGCDiscretizer(min_bins=3, random_state=0).fit(wide, network=[])
    assert len(least.mixtures_["x"].means) == 3
    frame = chain(300, 0)
    once = MGCDiscretizer(max_cycles=1, random_state=0).fit(frame, network=[("a", "b"), ("b", "c")])
    assert once.stopped_by_ == "max_cycles"
    assert once.n_cycles_ == 1
    assert MGCDiscretizer(max_rounds=1, random_state=0).fit(frame).stopped_by_ == "max_rounds"


def test_the_last_round_is_kept_if_asked_for_though_another_scores_higher():
    rng = np.random.default_rng(8)
    h = rng.integers(0, 3, 80)
    frame = pd.DataFrame({name: rng.normal(spread * h) for name, spread in zip("abc", (2.0, 1.5, 1.0))})
    frame["d"] = rng.exponential(size=80) * (h + 1)
    last = MGCDiscretizer(random_state=0, keep="last", max_rounds=6).fit(frame)
    assert last.round_scores_[-1] < last.round_scores_[0]
    assert last.score_ == last.round_scores_[-1]
    best = MGCDiscretizer(random_state=0, max_rounds=6).fit(frame)
    assert best.score_ == last.round_scores_[0]


def test_the_former_name_of_the_smallest_width_warns():
    with pytest.warns(FutureWarning, match="width_floor is now called min_width"):
        former = MGCDiscretizer(width_floor=0.2)
    assert former.get_params()["min_width"] == 0.2


def test_the_deadline_holds_and_leaves_a_usable_result():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(30_000, 8))).add_prefix("x")
    MGCDiscretizer(max_seconds=0.01).fit(frame.iloc[:50])  # compiles
    began = perf_counter()
    found = MGCDiscretizer(max_seconds=0.3, random_state=0).fit(frame)
    assert found.stopped_by_ == "max_seconds"
    assert perf_counter() - began < 4
    assert found.network_.score(frame) > -1
    began = perf_counter()
    many = MGCDiscretizer(max_seconds=0.2, n_starts=10**9).fit(frame, network=[("x0", "x1")])
    assert many.stopped_by_ == "max_seconds"
    assert perf_counter() - began < 4
    given_graph = MGCDiscretizer(max_seconds=0.2, random_state=0).fit(frame, network=[("x0", "x1")])
    assert given_graph.stopped_by_ == "max_seconds"
    assert list(given_graph.cut_points_) == list(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_bins": 0}, "min_bins must be an integer from 1 to 255, got 0"),
        ({"min_bins": 4, "max_bins": 3}, "min_bins must be at most max_bins=3, got 4"),
        ({"cut_rule": "best"}, "cut_rule must be one of 'published', 'weighted', got 'best'"),
        ({"penalty": "aic"}, "penalty must be one of"),
        ({"start": "k-means"}, "start must be one of"),
        ({"keep": "first"}, "keep must be one of"),
        ({"n_starts": 0}, "n_starts must be an integer of at least 1"),
        ({"n_cells": 3}, "n_cells must be an integer of at least 10"),
        ({"min_width": 1.0}, "min_width must be a finite number of at least 0 and below 1, got 1.0"),
        ({"min_bin_count": 0}, "min_bin_count must be an integer of at least 1, got 0"),
        ({"univariate": 1}, "univariate must be True or False"),
        ({"min_deviation": 0}, "min_deviation must be a finite number above 0 and below 1"),
        ({"pseudo_count": -1}, "pseudo_count must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"tabu_steps": 0}, "tabu_steps must be"),
        ({"patience": 0}, "patience must be"),
        ({"max_seconds": 0}, "max_seconds must be"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(GomeaBnError, match=message):
        MGCDiscretizer(**options).fit(pd.DataFrame({"x": [0.5, 1.5, 2.5], "y": [1.5, 0.5, 2.0]}))
