"""Cuts of columns whose bins may have a shape inside: best cuts against brute force, scores against slow twins."""

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import make_scorer
from shape_oracles import slow_is_too_narrow, with_cuts
from shaped_cut_examples import MEASURES, METHODS, Example, random_example

from gomea_bn import Shape, fit_shape
from gomea_bn.problems import ScoredVariable
from gomea_bn.problems.cuts import ColumnShape, CutColumn, CutLimits, bin_codes
from gomea_bn.runtime import spare_threads


@pytest.mark.long
@given(
    st.integers(0, 10_000),
    st.sampled_from(METHODS),
    st.sampled_from(sorted(MEASURES)),
    st.sampled_from([0.05, "bic"]),
    st.sampled_from([(1, None), (1, 15), (2, 4), (3, 3)]),
    st.sampled_from([(0.0, 0), (1e-3, 1), (0.1, 2)]),
)
@settings(max_examples=80)
def test_optimum_equals_brute_force_over_cuts_and_measures(
    seed: int,
    method: str,
    measures: str,
    penalty: str | float,
    bins: tuple[int, int | None],
    floors: tuple[float, int],
) -> None:
    example = random_example(seed, 24, 7, measures)
    limits = CutLimits(*bins, *floors)
    problem = example.problem(method, penalty)
    optimum = problem.optimal(limits)
    best = example.slow_optimum(limits, method, penalty)
    if optimum is None:
        assert best == -math.inf
        return
    assert optimum.value == pytest.approx(best, abs=1e-8)
    # uniform bins below the least width may be better still, but nothing chooses them
    assert problem.value(optimum.cut_points) >= optimum.value - 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_both_measures_begin_at_the_same_time(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_example(seed, 60, 40, "auto").problem("density-bd", "bic")
    alone = problem.optimal(CutLimits(), n_cells=8)
    meeting, grid = threading.Barrier(2, timeout=600.0), CutColumn.grid

    def meets(*given: Any, **options: Any) -> Any:
        meeting.wait()
        return grid(*given, **options)

    monkeypatch.setattr(CutColumn, "grid", meets)
    with spare_threads(2):
        together = problem.optimal(CutLimits(), n_cells=8)
    assert alone is not None
    assert together is not None
    assert together.value == alone.value
    assert together.cut_points.tolist() == alone.cut_points.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_the_measure_that_is_better_on_the_first_grid_goes_on(seed: int) -> None:
    example = random_example(seed, 60, 40, "auto")
    problem = example.problem("density-bd", "bic")
    optimum = problem.optimal(CutLimits(), n_cells=8)
    assert optimum is not None
    # no grid goes on where it has to gain more than anything can
    first = problem.optimal(CutLimits(), n_cells=8, least_gain=math.inf)
    assert first is not None
    shaped, uniform = (
        example.slow_value(tuple(first.cut_points.tolist()), "density-bd", "bic", shaped=measure)
        for measure in (True, False)
    )
    of_optimum = tuple(optimum.cut_points.tolist())
    goes_on = example.slow_value(of_optimum, "density-bd", "bic", shaped=shaped > uniform)
    assert optimum.value == pytest.approx(goes_on, abs=1e-8)
    assert optimum.value >= first.value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("measures", sorted(MEASURES))
def test_both_measures_are_chosen_somewhere(method: str, measures: str) -> None:
    """The examples above are worth something: under "auto" the likelihood of the shape decides."""
    chosen = set()
    for seed in range(20):
        example = random_example(seed, 24, 7, measures)
        optimum = example.problem(method, 0.05).optimal(CutLimits())
        assert optimum is not None
        cuts = tuple(optimum.cut_points.tolist())
        shaped = example.slow_value(cuts, method, 0.05, shaped=True)
        chosen.add(optimum.value == pytest.approx(shaped, abs=1e-8))
    assert chosen == {"uniform": {False}, "shaped": {True}, "auto": {False, True}}[measures]


@pytest.mark.sample(3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("measures", sorted(MEASURES))
def test_value_of_any_cuts_is_that_of_the_families_and_of_the_scorer(method: str, measures: str) -> None:
    for seed in range(12):
        example = random_example(seed, 60, 30, measures)
        problem = example.problem(method)
        rng = np.random.default_rng(seed)
        for n_cuts in (0, 1, 3, 6):
            cuts = tuple(np.sort(rng.uniform(-2.9, 2.9, n_cuts)).tolist())
            value = problem.value(np.array(cuts))
            assert value == pytest.approx(example.slow_value(cuts, method), abs=1e-8)
            scorer = make_scorer([*example.variables[:-1], with_cuts(example.x, *cuts)], method)
            assert scorer.score(example.families()).sum() == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("measures", ["shaped", "auto"])
def test_layers_change_nothing_where_the_number_of_bins_has_no_term(measures: str) -> None:
    for seed in range(10):
        example = random_example(seed, 200, 60, measures)
        problem = example.problem("density-bic", 1.0)
        limits = [CutLimits(max_bins=most, min_width=0.01) for most in (None, 61)]
        free, layered = (problem.optimal(limit) for limit in limits)
        assert free is not None
        assert layered is not None
        assert free.value == pytest.approx(layered.value, abs=1e-8)
        assert free.cut_points.tolist() == layered.cut_points.tolist()


@pytest.mark.parametrize("n_copies", [1, 3])
@pytest.mark.parametrize("measures", ["shaped", "auto"])
def test_shaped_bins_may_be_narrow(n_copies: int, measures: str) -> None:
    rng = np.random.default_rng(0)
    parent = np.repeat([0, 1, 0], 100).astype(np.int32)
    # the middle bin is a millionth wide
    inner = 1.0 + 1e-6 * np.repeat([0, 1, 2], 100) + 1e-8 * rng.random(300)
    values = np.append(np.repeat(inner, n_copies), [0.0, 50.0, 100.0])
    codes = np.append(np.repeat(parent, n_copies), [0, 0, 0]).astype(np.int32)
    uniform, shaped = MEASURES[measures]
    # a shape that fits better than uniform bins
    shape = replace(
        fit_shape(values),
        may_be_uniform=uniform,
        may_be_shaped=shaped,
        resolution=0.01,
        log_likelihood=1e4,
        min_uniform_width=0.1,
    )
    variables = [ScoredVariable("p", codes, 2), with_cuts(ScoredVariable("x", values, 0, shape=shape))]
    problem = Example(variables, [0], []).problem("density-bd")
    optimum = problem.optimal(CutLimits(min_width=1e-3))
    assert optimum is not None
    inside = (optimum.cut_points > 1.0) & (optimum.cut_points < 1.00001)
    assert inside.sum() == 2
    assert problem.value(optimum.cut_points) == pytest.approx(optimum.value)


def test_a_cut_beside_a_point_mass_is_found() -> None:
    rng = np.random.default_rng(4)
    measured = rng.random(120) < 0.6
    values = np.where(measured, rng.exponential(size=120), 0.0)
    fitted = fit_shape(values)
    assert fitted.shape.points
    variables = [
        ScoredVariable("p", measured.astype(np.int32), 2),
        with_cuts(ScoredVariable("x", values, 0, shape=fitted)),
    ]
    optimum = Example(variables, [0], []).problem("density-bd").optimal(CutLimits())
    assert optimum is not None
    smallest = values[values > 0].min()
    assert len(optimum.cut_points) == 1
    assert 0 < optimum.cut_points[0] < smallest


@given(st.integers(0, 5000), st.floats(0.0, 2.0), st.sampled_from([0.0, 0.3, 0.8]))
def test_narrow_bins_are_those_of_the_twin(seed: int, resolution: float, min_width: float) -> None:
    rng = np.random.default_rng(seed)
    column = CutColumn.of_values(rng.integers(0, 12, 40) / 4)
    cuts = np.unique(rng.choice(column.cuts, rng.integers(0, 5)))
    edges = np.concatenate(([column.low], cuts, [column.high]))
    below = np.concatenate(([0], column.rows_below(cuts), [40]))
    distinct = np.concatenate(
        ([0], np.searchsorted(column.greatest, cuts, side="right"), [column.n_distinct])
    )
    slow = slow_is_too_narrow(column.values.tolist(), cuts.tolist(), resolution, min_width)
    shape = ColumnShape(Shape([0.0, 3.0], [1.0], [1.0]), 0.0, resolution, min_uniform_width=min_width)
    assert shape.is_too_narrow(edges, below, distinct) == slow


@pytest.mark.parametrize("method", METHODS)
def test_zoom_ends_near_the_value_of_the_exact_programme(method: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.gamma(2.0, size=800)
    parent = (rng.random(800) < np.array([0.1, 0.9, 0.4])[np.searchsorted([1.0, 2.5], values)]).astype(
        np.int32
    )
    shape = replace(fit_shape(values), may_be_uniform=False)
    variables = [ScoredVariable("p", parent, 2), with_cuts(ScoredVariable("x", values, 0, shape=shape))]
    problem = Example(variables, [0], []).problem(method)
    exact, zoomed = problem.optimal(CutLimits(), n_cells=1000), problem.optimal(CutLimits(), n_cells=100)
    assert exact is not None
    assert zoomed is not None
    assert exact.value - 0.5 < zoomed.value <= exact.value + 1e-9
    assert zoomed.value == pytest.approx(problem.value(zoomed.cut_points), abs=1e-8)
    assert set(zoomed.cut_points.tolist()) <= set(problem.column.cuts.tolist())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("transform", [np.exp, np.cbrt, lambda x: x**3, lambda x: np.argsort(np.argsort(x))])
@pytest.mark.parametrize("n_cells", [40, 1000])
def test_best_cuts_of_shaped_bins_depend_on_ranks_alone(
    method: str, transform: Callable[[NDArray[np.float64]], NDArray[np.float64]], n_cells: int
) -> None:
    rng = np.random.default_rng(5)
    parent = rng.integers(0, 3, 400).astype(np.int32)
    values = rng.normal(size=400) + parent
    child = ((values > 1).astype(np.int32) + rng.integers(0, 2, 400).astype(np.int32)) % 2
    codes, scores = [], []
    for column in (values, np.asarray(transform(values), np.float64)):
        shape = replace(fit_shape(column), may_be_uniform=False)
        variables = [
            ScoredVariable("p", parent, 3),
            ScoredVariable("c", child, 2),
            with_cuts(ScoredVariable("x", column, 0, shape=shape)),
        ]
        problem = Example(variables, [0], [(1, [])]).problem(method)
        optimum = problem.optimal(CutLimits(min_width=0.05), n_cells=n_cells)
        assert optimum is not None
        assert len(optimum.cut_points) > 0
        codes.append(bin_codes(column, optimum.cut_points).tolist())
        scores.append((optimum.value, problem.value(optimum.cut_points)))
    assert codes[0] == codes[1]
    # to the last bit, so that rounding breaks ties alike
    assert scores[0] == scores[1]
