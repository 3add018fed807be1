"""First cuts of the libraries: gaps of shapes, limits, columns without free cuts, and what they depend on."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import fixed

from gomea_bn import Shape, fit_shape
from gomea_bn.problems import ScoredVariable, scoring_method
from gomea_bn.problems.cuts import (
    CutColumn,
    CutLimits,
    bin_codes,
    equal_frequency_cuts,
    libraries,
    policy_library,
)
from gomea_bn.problems.cuts.libraries import first_cuts, gaps_of_shape

METHOD = scoring_method("density-bd")


def variable(name: str, values: NDArray[np.float64], *, uniform: bool = True) -> ScoredVariable:
    shape = replace(fit_shape(values), may_be_uniform=uniform)
    return ScoredVariable(name, values, 0, policy_library(values, "equal-frequency", 6), shape)


def columns(n_rows: int = 400, *, uniform: bool = True) -> list[ScoredVariable]:
    """Two modes, a column that follows them, a discrete one, fixed cuts, and one without a shape."""
    rng = np.random.default_rng(1)
    modes = np.where(rng.random(n_rows) < 0.5, 0.0, 8.0) + rng.normal(size=n_rows)
    follower = np.where(modes > 4, 2.0, 0.0) + 0.8 * rng.normal(size=n_rows)
    level = (modes + rng.normal(size=n_rows) > 4).astype(np.int32)
    noise = rng.normal(size=n_rows)
    return [
        variable("modes", modes, uniform=uniform),
        variable("follower", follower, uniform=uniform),
        ScoredVariable("level", level, 2),
        replace(variable("fixed", noise), policies=(fixed(noise, 0.0),)),
        replace(variable("plain", rng.normal(size=n_rows)), shape=None),
    ]


@pytest.mark.parametrize(
    ("edges", "heights", "gaps"),
    [
        ([0, 1, 2], [1.5, 0.5, 1.5], [1.0]),
        # not lower by the factor 1.5 than both sides
        ([0, 1, 2], [1.4, 1.0, 1.4], []),
        ([0, 1, 2], [3.0, 0.5, 0.55], []),
        ([0, 1, 2], [1.0, 1.0, 1.0], []),
        # ends are no gaps
        ([0, 1, 2], [0.5, 1.5, 0.5], []),
        ([0, 1, 2, 3, 4], [2.0, 0.5, 2.0, 0.5, 2.0], [1.0, 3.0]),
        # the first value of a flat minimum
        ([0, 1, 2, 3], [2.0, 0.5, 0.5, 2.0], [1.0]),
    ],
)
def test_gaps_are_deep_minima_inside_the_range(
    edges: list[float], heights: list[float], gaps: list[float]
) -> None:
    x, h = np.array(edges, np.float64), np.array(heights)
    total = float(np.sum(np.diff(x) * (h[1:] + h[:-1]) / 2) / (x[-1] - x[0]))
    assert gaps_of_shape(Shape(x, h[:-1] / total, h[1:] / total)).tolist() == gaps


def test_a_gap_at_a_jump_has_the_lower_of_two_heights() -> None:
    shape = Shape([0, 1, 2, 3, 4], [2.0, 0.2, 0.2, 1.6], [2.0, 0.2, 0.2, 1.6])
    assert gaps_of_shape(shape).tolist() == [1.0]


def test_the_gap_of_two_modes_lies_between_them() -> None:
    gaps = gaps_of_shape(columns()[0].shape.shape)
    assert any(2 < gap < 6 for gap in gaps.tolist())
    rng = np.random.default_rng(0)
    assert gaps_of_shape(fit_shape(rng.normal(size=2000)).shape).tolist() == []


@pytest.mark.parametrize(("in_hump", "gaps"), [(0.92, [1.0]), (0.96, [])])
def test_a_gap_needs_a_twentieth_of_the_probability_on_either_side(in_hump: float, gaps: list[float]) -> None:
    heights = np.array([in_hump, 0.001, 0.099 * (1 - in_hump), 0.9 * (1 - in_hump)])
    heights *= 4 / heights.sum()
    assert gaps_of_shape(Shape([0, 1, 2, 3, 4], heights, heights)).tolist() == gaps
    mirrored = gaps_of_shape(Shape([0, 1, 2, 3, 4], heights[::-1], heights[::-1]))
    assert mirrored.tolist() == ([2.0] if gaps else [])


def test_dependent_columns_get_cuts_that_show_the_dependence() -> None:
    proposed = first_cuts(columns(), METHOD, CutLimits())
    assert sorted(proposed) == [0, 1]
    # in the gap, and half-way between the two means
    assert any(len(cuts) == 1 and 2 < cuts[0] < 6 for cuts in proposed[0])
    assert any(len(cuts) <= 4 and ((cuts > 0.3) & (cuts < 1.7)).any() for cuts in proposed[1])
    assert all((np.diff(cuts) > 0).all() for v in proposed for cuts in proposed[v])


def test_only_free_columns_with_a_shape_get_cuts() -> None:
    assert sorted(first_cuts(columns()[2:], METHOD, CutLimits())) == []
    assert first_cuts(columns()[:1], METHOD, CutLimits()) == {0: []}


def test_without_time_cuts_are_those_of_the_libraries_with_at_most_five_bins() -> None:
    found = first_cuts(columns(), METHOD, CutLimits(), lambda: True)
    for v, name in enumerate(("modes", "follower")):
        values = np.asarray(columns()[v].values, np.float64)
        (cuts,) = found[v]
        assert cuts.tolist() == equal_frequency_cuts(values, 5).tolist(), name


def test_the_same_table_gets_the_same_cuts_and_changes_nothing() -> None:
    variables = columns(3000)
    before = [v.values.copy() for v in variables]
    first, second = (first_cuts(variables, METHOD, CutLimits()) for _ in range(2))
    for v in first:
        assert [cuts.tolist() for cuts in first[v]] == [cuts.tolist() for cuts in second[v]]
    assert all((v.values == values).all() for v, values in zip(variables, before))


def test_at_most_two_thousand_rows_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = columns(3000)
    rows = libraries._some_rows(3000)
    assert len(np.unique(rows)) == 2000
    assert libraries._some_rows(2000).tolist() == list(range(2000))
    few = [replace(v, values=v.values[rows]) for v in variables]
    all_rows = first_cuts(variables, METHOD, CutLimits())
    for v, cuts in first_cuts(few, METHOD, CutLimits()).items():
        assert [c.tolist() for c in cuts] == [c.tolist() for c in all_rows[v]]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("max_bins", [2, 3, 6, None])
@pytest.mark.parametrize("min_bin_count", [1, 30, 150, 250])
def test_cuts_keep_the_limits(uniform: bool, max_bins: int | None, min_bin_count: int) -> None:
    rng = np.random.default_rng(5)
    humps = 10.0 * rng.integers(0, 5, 400) + rng.normal(size=400)
    variables = [*columns(uniform=uniform), variable("humps", humps, uniform=uniform)]
    proposed = first_cuts(variables, METHOD, CutLimits(max_bins=max_bins, min_bin_count=min_bin_count))
    assert sorted(proposed) == [0, 1, 5]
    for v, all_cuts in proposed.items():
        for cuts in all_cuts:
            assert 0 < len(cuts) < (max_bins or 256)
            codes = bin_codes(np.asarray(variables[v].values, np.float64), cuts)
            assert np.bincount(codes, minlength=len(cuts) + 1).min() >= min_bin_count
    assert any(proposed.values()) == (min_bin_count <= 200)


def test_a_column_that_is_constant_in_the_rows_used_gets_no_cuts() -> None:
    rng = np.random.default_rng(2)
    unused = np.setdiff1d(np.arange(3000), libraries._some_rows(3000))
    rare = np.zeros(3000)
    rare[unused[:50]] = rng.random(50)
    variables = [*columns(3000), variable("rare", rare)]
    proposed = first_cuts(variables, METHOD, CutLimits())
    assert proposed[5] == []
    assert len(proposed[0]) > 1


@pytest.mark.parametrize(
    "transform", [np.exp, np.cbrt, lambda x: np.argsort(np.argsort(x)).astype(np.float64)]
)
def test_cuts_of_columns_that_can_only_be_shaped_depend_on_ranks_alone(
    transform: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> None:
    variables = columns(uniform=False)[:3]
    changed = [
        variable(v.name, transform(np.asarray(v.values)), uniform=False) if not v.n_levels else v
        for v in variables
    ]
    first, second = (first_cuts(vs, METHOD, CutLimits(min_width=0.2)) for vs in (variables, changed))
    for v in (0, 1):
        codes = [
            [bin_codes(np.asarray(vs[v].values, np.float64), cuts).tolist() for cuts in proposed[v]]
            for vs, proposed in ((variables, first), (changed, second))
        ]
        assert codes[0] == codes[1]
    start = equal_frequency_cuts(np.asarray(variables[0].values, np.float64), 5)
    assert first[0][0].tolist() == start.tolist()


@pytest.mark.parametrize("transform", [np.exp, lambda x: np.argsort(np.argsort(x)).astype(np.float64)])
def test_cuts_of_some_rows_depend_on_ranks_alone(
    transform: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> None:
    """Rows that are left out lie between the two values of a cut, which the position of the cut would divide."""
    rng = np.random.default_rng(4)
    cause = rng.normal(size=6_000)
    values = [cause, cause + rng.normal(size=6_000)]
    codes = []
    for columns_of in (values, [np.asarray(transform(x), np.float64) for x in values]):
        variables = [variable(f"v{k}", x, uniform=False) for k, x in enumerate(columns_of)]
        proposed = first_cuts(variables, METHOD, CutLimits())
        assert len(proposed[0]) > 1
        codes.append([[bin_codes(x, c).tolist() for c in proposed[k]] for k, x in enumerate(columns_of)])
    assert codes[0] == codes[1]


def test_cuts_of_some_rows_are_in_the_middle_by_rank() -> None:
    some, whole = (
        CutColumn.of_values(np.array([0.0, 9.0, 20.0])),
        CutColumn.of_values(np.append(np.arange(10.0), 20.0)),
    )
    moved = libraries._moved_by_rank(np.array([4.5, 14.5]), some, whole)
    # between 0 and 9 there are nine gaps, between 9 and 20 one
    assert moved.tolist() == [4.5, 14.5]
    some, whole = (
        CutColumn.of_values(np.array([0.0, 9.0])),
        CutColumn.of_values(np.array([0.0, 1.0, 1.0, 2.0, 9.0])),
    )
    assert libraries._moved_by_rank(np.array([4.5]), some, whole).tolist() == [1.5]


def test_partners_are_the_columns_that_depend_most() -> None:
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, 2, 500)]
    for noise in (0.1, 0.2, 0.3, 0.4, 0.5):
        codes.append(np.where(rng.random(500) < noise, rng.integers(0, 2, 500), codes[0]))
    codes.append(rng.integers(0, 2, 500))
    coded = [libraries.CodedColumn(c.astype(np.int32), 2) for c in codes]
    partners = libraries._partners(coded, METHOD, [0, 6])
    assert partners[0] == [1, 2, 3]
    # one at least, even if nothing depends on the column
    assert len(partners[6]) >= 1
    assert 6 not in partners[6]
