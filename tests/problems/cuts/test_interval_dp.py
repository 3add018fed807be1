"""Optimal cut points of one variable: against brute force, slow scores, hand-made vectors."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import at_most
from shaped_cut_examples import METHODS, Example, plain_example
from shaped_cut_examples import random_example as with_shapes

from gomea_bn import GomeaBnError
from gomea_bn.problems import score_rule, scoring_method
from gomea_bn.problems.cuts import CutColumn, CutLimits, IntervalScore, bin_codes
from gomea_bn.problems.cuts.interval_counts import spread_windows


def random_example(seed: int, n_rows: int, n_distinct: int) -> Example:
    example = with_shapes(seed, n_rows, n_distinct)
    return Example(
        [*example.variables[:-1], replace(example.x, shape=None)], example.parents, example.children
    )


TOY = plain_example(
    np.array([1.1, 1.2, 1.2, 2.9, 2.9, 2.9, 3.5, 4.3, 4.3, 5.0]),
    [np.array([0, 0, 0, 1, 1, 0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1, 1, 1, 1, 0, 0])],
    [0],
    [(1, [])],
)


@pytest.mark.parametrize("seed", range(20))
def test_windows_of_a_zoom_are_those_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 10 ** rng.integers(1, 7), 9)
    high, most = low + rng.integers(0, 10 ** rng.integers(1, 6), 9), int(rng.integers(2, 60))
    windows = [np.linspace(a, b, min(most, b - a + 1)).round() for a, b in zip(low.tolist(), high.tolist())]
    assert spread_windows(low, high, most).tolist() == np.concatenate(windows).tolist()


@pytest.mark.parametrize(
    ("penalty", "uncut", "two_cuts", "best_cuts", "best"),
    [
        (0.5 * math.log(10), -8.082764352, -11.115500133, [], -8.082764352),
        (math.log(5), -8.540909718, -14.322517695, [], -8.540909718),
        (0.2, -7.131471806, -4.456452308, [1.15, 2.05, 3.2, 3.9, 4.65], -3.026482542),
    ],
)
def test_toy_table_has_its_known_values(
    penalty: float, uncut: float, two_cuts: float, best_cuts: list[float], best: float
) -> None:
    problem = TOY.problem(penalty=penalty)
    assert problem.value(np.empty(0)) == pytest.approx(uncut, abs=1e-8)
    assert problem.value(np.array([2.05, 4.65])) == pytest.approx(two_cuts, abs=1e-8)
    for max_bins in (None, 15):
        optimum = problem.optimal(CutLimits(max_bins=max_bins))
        assert optimum is not None
        assert optimum.cut_points == pytest.approx(best_cuts)
        assert optimum.value == pytest.approx(best, abs=1e-8)


@given(
    st.integers(0, 10_000),
    st.sampled_from(METHODS),
    st.sampled_from([0.05, 0.3, "bic"]),
    st.sampled_from([(1, None), (1, 15), (2, 4), (1, 1), (3, 3), (4, 4)]),
    st.sampled_from([0.0, 1e-3, 0.1]),
    st.sampled_from([0, 1, 3]),
)
@settings(max_examples=120)
def test_optimum_equals_brute_force_over_all_sets_of_mid_points(
    seed: int,
    method: str,
    penalty: str | float,
    bins: tuple[int, int | None],
    min_width: float,
    min_bin_count: int,
) -> None:
    example = random_example(seed, n_rows=24, n_distinct=8)
    limits = CutLimits(*bins, min_width, min_bin_count)
    optimum = example.problem(method, penalty).optimal(limits)
    best = example.slow_optimum(limits, method, penalty)
    if optimum is None:
        assert best == -math.inf
        return
    assert optimum.value == pytest.approx(best, abs=1e-8)
    assert example.slow_value(optimum.cut_points.tolist(), method, penalty) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_value_of_any_cuts_is_that_of_the_families(method: str) -> None:
    for seed in range(20):
        example = random_example(seed, n_rows=60, n_distinct=30)
        problem = example.problem(method, 0.7)
        rng = np.random.default_rng(seed)
        for n_cuts in (0, 1, 3, 6):
            cuts = np.sort(rng.uniform(-2.9, 2.9, n_cuts))
            assert problem.value(cuts) == pytest.approx(
                example.slow_value(cuts.tolist(), method, 0.7), abs=1e-8
            )


@pytest.mark.parametrize("method", METHODS)
def test_score_is_a_sum_over_intervals_and_a_term_in_their_number(method: str) -> None:
    """What a cut at the left changes does not depend on a cut further right."""
    example = random_example(7, n_rows=200, n_distinct=100)
    problem = example.problem(method)

    def gains(*cuts: float) -> float:
        return problem.value(np.array(cuts)) - problem.layer_term(len(cuts) + 1)

    assert gains(-1.0, 0.2, 1.5) - gains(0.2, 1.5) == pytest.approx(gains(-1.0, 0.2) - gains(0.2), abs=1e-9)


def centred_example(seed: int, n_rows: int) -> Example:
    """An example whose tables shrink towards their child's own distribution."""
    return replace(with_shapes(seed, n_rows, n_distinct=8), centred=True)


@pytest.mark.parametrize("n_rows", [24, 60])
def test_cuts_under_a_centred_prior_are_nearly_always_the_best_of_all(n_rows: int) -> None:
    limits = CutLimits(1, 5, 0.0, 0)
    missed = []
    for seed in range(40):
        example = centred_example(seed, n_rows)
        problem = example.problem("density-bd")
        optimum = problem.optimal(limits)
        assert optimum is not None
        cuts = optimum.cut_points
        assert problem.value(cuts) == pytest.approx(example.slow_value(cuts.tolist(), "density-bd"), abs=1e-8)
        best = example.slow_optimum(limits, "density-bd", "bic")
        assert optimum.value <= best + 1e-8
        missed.append(best - optimum.value)
    assert np.mean(np.array(missed) > 1e-8) <= 0.1
    assert np.mean(missed) < 0.05


@pytest.mark.parametrize("seed", range(20))
def test_concentrations_make_a_centred_score_a_sum_over_intervals(seed: int) -> None:
    """With the best concentrations of some cuts the sum over their intervals is the score."""
    example, shaped = centred_example(seed, 40), bool(seed % 2)
    problem = example.problem("density-bd")
    n = len(problem.column.cuts)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        cuts = np.sort(rng.choice(n, rng.integers(0, n), replace=False))
        problem.follow(cuts)
        gains = problem.interval_gains(np.arange(n), CutLimits(1, None, 0.0, 0), shaped=shaped)
        value = math.fsum(gains[a, b] for a, b in itertools.pairwise([0, *(cuts + 1).tolist(), n + 1]))
        value += problem.layer_term(len(cuts) + 1, shaped=shaped) + problem.constant_given()
        slow = example.slow_value(problem.column.cuts[cuts].tolist(), "density-bd", shaped=shaped)
        # narrow bins may not be uniform
        assert value == -math.inf or value == pytest.approx(slow, abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_cuts_under_a_centred_prior_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    example = centred_example(seed, 60)
    order = np.random.default_rng(seed).permutation(60)
    variables = [replace(v, values=v.values[order]) for v in example.variables]
    optima = [
        e.problem("density-bd").optimal(CutLimits()) for e in (example, replace(example, variables=variables))
    ]
    assert optima[0] is not None
    assert optima[1] is not None
    assert optima[0].cut_points.tolist() == optima[1].cut_points.tolist()
    assert optima[0].value == pytest.approx(optima[1].value, abs=1e-9)


def test_more_configurations_than_rows_are_counted_sparsely() -> None:
    rng = np.random.default_rng(5)
    discrete = [rng.integers(0, r, 300) for r in (20, 20, 20, 3)]
    values = rng.normal(size=300) + (discrete[3] == 1) * 2.0
    for parents, children in (([0, 1, 2], []), ([], [(3, [0, 1, 2])]), ([0, 1, 2], [(3, [0, 1, 2])])):
        example = plain_example(values, discrete, parents, children)
        for method in METHODS:
            for cuts in ([], [0.5], [-0.3, 1.0]):
                assert example.problem(method).value(np.array(cuts)) == pytest.approx(
                    example.slow_value(cuts, method), abs=1e-6
                )


def atom_example() -> Example:
    rng = np.random.default_rng(2)
    values = np.concatenate([np.full(300, 3.0), np.full(100, 4.0), rng.uniform(0, 10, 100)])
    return plain_example(values, [rng.integers(0, 2, 500)], [0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("min_width", "min_bin_count"), [(1e-3, 1), (0.02, 1), (0.1, 20)])
def test_bins_around_repeated_values_keep_the_floors(
    method: str, min_width: float, min_bin_count: int
) -> None:
    example = atom_example()
    limits = CutLimits(min_width=min_width, min_bin_count=min_bin_count)
    for n_cells in (20, 400):
        optimum = example.problem(method).optimal(limits, n_cells=n_cells)
        assert optimum is not None
        edges = np.concatenate(([example.values.min()], optimum.cut_points, [example.values.max()]))
        assert np.diff(edges).min() >= min_width * np.ptp(example.values)
        assert np.bincount(bin_codes(example.values, optimum.cut_points)).min() >= min_bin_count
        assert len(optimum.cut_points) >= 2  # an atom is worth isolating


def test_lower_min_width_lets_the_density_of_an_atom_grow() -> None:
    problem = atom_example().problem()
    values = []
    for min_width in (0.1, 0.02, 0.0):
        optimum = problem.optimal(CutLimits(min_width=min_width))
        assert optimum is not None
        values.append(optimum.value)
    assert values[0] < values[1] < values[2]


def test_a_cut_at_a_value_lies_in_the_gap_above_it():
    column = CutColumn.of_values(np.array([0.0, 1.0, 1.0, 2.0, 5.0]))
    assert column.gaps(np.array([-1.0, 0.0, 0.9, 1.0, 4.0, 5.0])).tolist() == [0, 1, 2]
    assert column.rows_below(np.array([-1.0, 0.0, 0.9, 1.0, 4.0, 5.0])).tolist() == [0, 1, 1, 3, 4, 5]
    assert column.gaps(np.array([1.0])).tolist() == [1]


def test_grid_has_candidates_on_both_sides_of_an_atom() -> None:
    column = CutColumn.of_values(np.concatenate([np.full(500, 3.0), np.linspace(0, 10, 700)]))
    cuts = column.cuts[column.grid(40)]
    neighbours = column.greatest[np.searchsorted(column.greatest, 3.0) + np.array([-1, 1])]
    assert (3.0 + neighbours[0]) / 2 in cuts
    assert (3.0 + neighbours[1]) / 2 in cuts
    assert len(cuts) < 40


def test_grid_reaches_into_wide_gaps() -> None:
    values = np.concatenate([np.linspace(0, 1, 5000), [50.0, 99.0, 100.0]])
    column = CutColumn.of_values(values)
    assert {25.5, 74.5} <= set(column.cuts[column.grid(100)].tolist())
    assert not {25.5, 74.5} <= set(
        column.cuts[:: len(column.cuts) // 100].tolist()
    )  # as plain quantiles would


def test_limits_that_nothing_satisfies_give_none() -> None:
    example = plain_example(np.array([0.0, 0.0, 1.0, 2.0, 2.0]))
    assert example.problem().optimal(CutLimits(4, 4)) is None
    assert example.problem().optimal(CutLimits(2, 3, min_bin_count=3)) is None
    assert example.problem().optimal(CutLimits(2, 3, min_width=0.6)) is None


def test_one_bin_over_the_whole_range_is_free_of_the_limits() -> None:
    optimum = plain_example(np.arange(5.0)).problem().optimal(CutLimits(1, 3, min_bin_count=6))
    assert optimum is not None
    assert optimum.cut_points.tolist() == []


def test_bins_of_exactly_the_least_width_are_allowed() -> None:
    values = np.concatenate([np.linspace(0, 0.4, 40), [0.6, 1.0]])
    optimum = plain_example(values).problem().optimal(CutLimits(1, 3, min_width=0.5))
    assert optimum is not None
    assert optimum.cut_points.tolist() == [0.5]


def test_cut_between_neighbouring_floats_never_leaves_a_bin_without_width() -> None:
    low = 1.0
    values = np.array([low, np.nextafter(low, 2), 1.5, 2.0] * 5)
    for penalty in (0.0, "bic"):
        optimum = plain_example(values).problem(penalty=penalty).optimal(CutLimits(min_width=0.0))
        assert optimum is not None
        assert low not in optimum.cut_points
        assert np.isfinite(optimum.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_bins": 0}, "min_bins must be an integer from 1"),
        ({"max_bins": 256}, "max_bins must be an integer from 1 to 255"),
        ({"max_bins": True}, "max_bins must be an integer"),
        ({"min_bins": 5, "max_bins": 4}, "max_bins must be at least min_bins=5, got 4"),
        ({"min_width": 1.0}, "min_width must be a finite number of at least 0 and below 1"),
        ({"min_width": -0.1}, "min_width must be a finite number of at least 0 and below 1"),
        ({"min_bin_count": 1.5}, "min_bin_count must be an integer"),
    ],
)
def test_limits_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        CutLimits(**options)


def test_scores_without_an_interval_form_are_refused() -> None:
    bic, bd = scoring_method("bic"), scoring_method("density-bd")
    with pytest.raises(GomeaBnError, match="got 'bic'"):
        IntervalScore(bic, score_rule(bic, 10))
    with pytest.raises(GomeaBnError, match="with the BDeu prior"):
        IntervalScore(bd, score_rule(bd, 10, prior="bdeu"))
    with pytest.raises(GomeaBnError, match="constant column"):
        CutColumn.of_values(np.ones(5))


def steps(n_rows: int, seed: int) -> Example:
    """Piecewise uniform given a parent, with a child that follows; true cuts 2, 3 and 7 on [0, 10]."""
    rng = np.random.default_rng(seed)
    parent = rng.integers(0, 2, n_rows)
    shares = np.array([[0.5, 0.1, 0.3, 0.1], [0.1, 0.4, 0.1, 0.4]])
    edges = np.array([0.0, 2.0, 3.0, 7.0, 10.0])
    bins = (rng.random(n_rows)[:, None] > np.cumsum(shares, axis=1)[parent]).sum(axis=1).clip(0, 3)
    values = edges[bins] + rng.random(n_rows) * np.diff(edges)[bins]
    child = (rng.random(n_rows) < np.array([0.1, 0.8, 0.3, 0.6])[bins]).astype(np.int64)
    return plain_example(values, [parent, child], [0], [(1, [])])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_cells", [100, 200])
def test_zoom_ends_at_the_cuts_of_the_exact_programme(method: str, n_cells: int) -> None:
    for seed in range(5):
        problem = steps(900, seed).problem(method)
        exact = problem.optimal(CutLimits(), n_cells=1000)
        zoomed = problem.optimal(CutLimits(), n_cells=n_cells)
        assert exact is not None
        assert zoomed is not None
        assert zoomed.value == pytest.approx(exact.value, abs=1e-8)
        assert zoomed.cut_points == pytest.approx(exact.cut_points)


def test_coarse_grid_costs_little_and_still_ends_between_raw_values() -> None:
    for seed in range(5):
        problem = steps(900, seed).problem()
        exact = problem.optimal(CutLimits(), n_cells=1000)
        coarse = problem.optimal(CutLimits(), n_cells=20)
        assert exact is not None
        assert coarse is not None
        assert exact.value - 10 < coarse.value <= exact.value + 1e-9
        assert set(coarse.cut_points.tolist()) <= set(problem.column.cuts.tolist())


def test_a_grid_that_gains_too_little_is_the_last_one() -> None:
    for seed in range(3):
        problem = steps(900, seed).problem()
        column = problem.column
        finer = problem.optimal(CutLimits(), n_cells=20)
        cheap = problem.optimal(CutLimits(), n_cells=20, least_gain=2.0)
        first = problem.optimal(CutLimits(), n_cells=20, least_gain=np.inf)
        assert finer is not None
        assert cheap is not None
        assert first is not None
        assert first.value <= cheap.value <= finer.value
        assert finer.value - 10 < cheap.value
        assert set(first.cut_points.tolist()) <= set(column.cuts[column.grid(20, by_rank=False)].tolist())
        assert not set(finer.cut_points.tolist()) <= set(column.cuts[column.grid(20, by_rank=False)].tolist())


def test_incumbent_is_never_undercut_even_on_a_coarse_grid() -> None:
    example = random_example(11, n_rows=500, n_distinct=400)
    problem = example.problem()
    exact = problem.optimal(CutLimits(min_width=0.0), n_cells=1000)
    assert exact is not None
    optimum = problem.optimal(CutLimits(min_width=0.0), n_cells=10, incumbent=exact.cut_points)
    assert optimum is not None
    assert optimum.value == pytest.approx(exact.value, abs=1e-8)


def test_fifty_thousand_rows_are_cut_between_raw_values_in_a_moment() -> None:
    steps(500, 0).problem().optimal(CutLimits())
    example = steps(50_000, 1)
    with at_most(2.0):  # about 0.05 on an idle core
        problem = example.problem()
        optimum = problem.optimal(CutLimits())
    assert optimum is not None
    assert optimum.cut_points == pytest.approx([2.0, 3.0, 7.0], abs=0.01)
    assert set(optimum.cut_points.tolist()) <= set(problem.column.cuts.tolist())


def test_raised_stop_flag_gives_up() -> None:
    problem = steps(5000, 1).problem()
    assert problem.optimal(CutLimits(), stop=np.ones(1, np.uint8)) is None
    assert problem.optimal(CutLimits(), stop=np.zeros(1, np.uint8)) is not None
