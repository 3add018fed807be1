"""Lines fitted to rows: against regressions without each row, and weights of mixtures against a search on a grid."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from scipy.stats import t as student

from gomea_bn.learning.averaging.line_fit import (
    FittedLine,
    LineRows,
    best_line,
    fitted_line,
    left_out_residuals,
    mixture_weight,
    possible_terms,
    transform_of,
)
from gomea_bn.network.conditionals.basis import LineTerms
from gomea_bn.network.conditionals.scales import ProbabilityScale
from gomea_bn.problems.cuts.shape import Shape

SCALE = ProbabilityScale(Shape([0.0, 1.0], [1.0], [1.0]), 200)


@dataclass
class Rows:
    """Rows of a column, its continuous parents and its groups, all on probability scales."""

    z: NDArray[np.float64]
    parents: NDArray[np.float64]
    groups: NDArray[np.int64]
    n_groups: int

    def line(self, min_scale: float = 1e-3) -> FittedLine:
        return fitted_line(
            LineRows(self.z, self.parents, self.groups, self.n_groups, SCALE, min_scale), heavy_tails=()
        )


def rows_with(seed: int, n: int, slopes: list[list[float]], noise: list[float]) -> Rows:
    """Return rows with the slopes and the noise of every group."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, len(slopes), n)
    parents = rng.normal(size=(n, len(slopes[0])))
    means = (np.array(slopes)[groups] * parents).sum(axis=1) + 0.3 * groups
    z = means + np.array(noise)[groups] * rng.normal(size=n)
    return Rows(np.clip(z, SCALE.low, SCALE.high), parents, groups, len(slopes))


def slow_ridge(
    z: NDArray[np.float64], design: NDArray[np.float64], precisions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return coefficients and penalised sum of squares, with every prior as one more row."""
    rows = np.vstack([design, np.diag(np.sqrt(precisions))])
    values = np.concatenate([z, np.zeros(len(precisions))])
    coefficients = np.linalg.lstsq(rows, values, rcond=None)[0]
    return coefficients, float(((values - rows @ coefficients) ** 2).sum())


def slow_log_density(z: float, mean: float, scale: float, freedom: float) -> float:
    """Return the log density of Student's t distribution in the range, around a centre inside it."""
    law = student(freedom, min(max(mean, SCALE.low), SCALE.high), scale)
    return float(law.logpdf(z)) - math.log(law.cdf(SCALE.high) - law.cdf(SCALE.low))


def slow_fit(
    z: NDArray[np.float64], parents: NDArray[np.float64], min_scale: float
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """Return coefficients, scale and left-out log densities of one regression, which is done again for every row."""
    n = len(z)
    design = np.column_stack([np.ones(n), parents])
    precisions = np.full(design.shape[1], 0.1)
    wider = math.sqrt(1 + design.shape[1] / n)
    coefficients, squares = slow_ridge(z, design, precisions)
    scale = max(math.sqrt((squares + 0.02) / (n + 1)) * wider, min_scale)
    left_out = []
    for row in range(n):
        others = np.arange(n) != row
        without, rest = slow_ridge(z[others], design[others], precisions)
        of_row = max(math.sqrt((rest + 0.02) / n) * wider, min_scale)
        left_out.append(slow_log_density(z[row], float(design[row] @ without), of_row, n))
    return coefficients, scale, np.array(left_out)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 4), st.sampled_from([0.01, 0.1, 3.0]))
@settings(max_examples=60)
def test_left_out_residuals_are_those_of_regressions_without_each_row(
    seed: int, n: int, n_columns: int, precision: float
) -> None:
    rng = np.random.default_rng(seed)
    design, z = rng.normal(size=(n, n_columns)), rng.normal(size=n)
    precisions = precision * rng.uniform(0.5, 2, n_columns)
    coefficients, residuals, squares, total = left_out_residuals(z, design, precisions)
    slow, slow_total = slow_ridge(z, design, precisions)
    np.testing.assert_allclose(coefficients, slow, rtol=1e-8, atol=1e-10)
    assert total == pytest.approx(slow_total, rel=1e-8, abs=1e-10)
    for row in range(n):
        others = np.arange(n) != row
        without, rest = slow_ridge(z[others], design[others], precisions)
        assert residuals[row] == pytest.approx(z[row] - design[row] @ without, abs=1e-8)
        assert squares[row] == pytest.approx(rest, abs=1e-8)


@given(st.integers(0, 10_000), st.integers(3, 30), st.sampled_from([1e-3, 0.4]))
@settings(max_examples=20)
def test_the_line_of_one_group_is_that_of_regressions_without_each_row(
    seed: int, n: int, min_scale: float
) -> None:
    rows = rows_with(seed, n, [[0.7, -0.4]], [0.3])
    line = rows.line(min_scale)
    coefficients, scale, left_out = slow_fit(rows.z, rows.parents, min_scale)
    np.testing.assert_allclose(line.coefficients, [coefficients], rtol=1e-8, atol=1e-10)
    assert line.scales.tolist() == pytest.approx([scale])
    assert line.freedom.tolist() == [n + 1]
    np.testing.assert_allclose(line.left_out, left_out, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_slopes_that_differ_between_groups_are_regressions_of_the_groups(seed: int) -> None:
    rows = rows_with(seed, 90, [[1.0], [-1.0], [0.2]], [0.1, 0.1, 0.3])
    line = rows.line()
    for group in range(3):
        members = np.flatnonzero(rows.groups == group)
        coefficients, scale, left_out = slow_fit(rows.z[members], rows.parents[members], 1e-3)
        np.testing.assert_allclose(line.coefficients[group], coefficients, rtol=1e-8, atol=1e-10)
        assert line.scales[group] == pytest.approx(scale)
        assert line.freedom[group] == len(members) + 1
        np.testing.assert_allclose(line.left_out[members], left_out, rtol=1e-7, atol=1e-7)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [2, 7, 8])
def test_slopes_that_all_groups_share_are_one_weighted_regression(seed: int) -> None:
    n, noise = 60, [0.1, 0.5, 0.2]
    rows = rows_with(seed, n, [[0.6, 0.2]] * 3, noise)
    line = rows.line()
    assert (line.coefficients[:, 1:] == line.coefficients[0, 1:]).all()
    assert line.freedom.tolist() == [n + 1] * 3
    design = np.column_stack([np.ones(n), rows.parents, *(rows.groups == group for group in range(3))])
    precisions = np.full(6, 0.1)
    # ratios of the scales of the groups, each pooled with eight rows of the whole table
    mean_square = slow_ridge(rows.z, design, precisions)[1] / n
    residuals = left_out_residuals(rows.z, design, precisions)[1]
    ratios = np.array(
        [
            math.sqrt(
                (float((residuals[rows.groups == group] ** 2).sum()) / mean_square + 8)
                / ((rows.groups == group).sum() + 8)
            )
            for group in range(3)
        ]
    )
    assert (np.argsort(ratios) == np.argsort(noise)).all()
    of_rows = ratios[rows.groups]
    weighted, weighted_design = rows.z / of_rows, design / of_rows[:, None]
    coefficients, squares = slow_ridge(weighted, weighted_design, precisions)
    wider = math.sqrt(1 + 6 / n)
    np.testing.assert_allclose(line.coefficients[:, 0], coefficients[0] + coefficients[3:], rtol=1e-8)
    np.testing.assert_allclose(line.coefficients[0, 1:], coefficients[1:3], rtol=1e-8)
    np.testing.assert_allclose(line.scales, math.sqrt((squares + 0.02) / (n + 1)) * wider * ratios, rtol=1e-8)
    for row in range(n):
        others = np.arange(n) != row
        without, rest = slow_ridge(weighted[others], weighted_design[others], precisions)
        scale = math.sqrt((rest + 0.02) / n) * wider * of_rows[row]
        expected = slow_log_density(rows.z[row], float(design[row] @ without), scale, n)
        assert line.left_out[row] == pytest.approx(expected, abs=1e-7)
    # regressions of the groups alone predict worse
    members = [rows.groups == group for group in range(3)]
    alone = [slow_fit(rows.z[m], rows.parents[m], 1e-3)[2].sum() for m in members]
    assert line.left_out.sum() >= sum(alone)


def test_a_group_without_rows_has_the_line_of_all_rows() -> None:
    rows = rows_with(1, 80, [[1.0], [-1.0]], [0.1, 0.1])
    rows.n_groups = 3
    line = rows.line()
    assert line.coefficients[0, 1] > 0.9
    assert line.coefficients[1, 1] < -0.9
    # between the slopes of the others
    assert abs(line.coefficients[2, 1]) < 0.5
    assert line.freedom[2] == 81
    assert line.scales[2] > 5 * line.scales[0]
    assert np.isfinite(line.left_out).all()


def test_the_scale_has_its_floor() -> None:
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(size=2000), SCALE.low, SCALE.high)
    exact = Rows(x, x[:, None], np.zeros(2000, np.int64), 1)
    assert exact.line(1e-3).scales[0] < 0.01
    line = exact.line(0.25)
    assert line.scales.tolist() == [0.25]
    # no row has more density than the floor allows at the centre of a range that holds nearly everything
    assert line.left_out.max() < -math.log(0.25) - 0.5 * math.log(2 * math.pi) + math.log(2) + 1e-3
    two_groups = Rows(x, x[:, None], rng.integers(0, 2, 2000), 2).line(0.25)
    assert two_groups.scales.tolist() == [0.25, 0.25]
    groups = rng.integers(0, 2, 2000)
    opposite = Rows(np.where(groups == 0, x, -x), x[:, None], groups, 2).line(0.25)
    assert (np.sign(opposite.coefficients[:, 1]) == [1, -1]).all()
    assert opposite.scales.tolist() == [0.25, 0.25]


def test_tables_of_very_few_rows_have_lines() -> None:
    line = rows_with(0, 3, [[1.0, 1.0, 1.0]], [0.1]).line()
    assert np.isfinite(line.left_out).all()
    for n in (2, 4):
        single = Rows(np.arange(n) / n, np.ones((n, 1)), np.arange(n), n).line()
        assert np.isfinite(single.left_out).all()
        assert (single.scales > 0).all()


def on_scale(z: NDArray[np.float64], parents: NDArray[np.float64], min_scale: float = 1e-3) -> LineRows:
    """Return rows without groups."""
    z = np.clip(z, SCALE.low, SCALE.high)
    return LineRows(z, parents, np.zeros(len(z), np.int64), 1, SCALE, min_scale)


def test_a_surface_is_a_regression_on_its_terms() -> None:
    rng = np.random.default_rng(0)
    parents = rng.normal(size=(50, 2))
    z = 0.5 * parents[:, 0] * parents[:, 1] + 0.2 * rng.normal(size=50)
    rows = on_scale(z, parents)
    terms = LineTerms((np.array([-0.4, 0.6]), np.array([0.1])), has_products=True)
    line = fitted_line(rows, terms, heavy_tails=())
    coefficients, scale, left_out = slow_fit(rows.z, terms.of_rows(parents), 1e-3)
    np.testing.assert_allclose(line.coefficients, [coefficients], rtol=1e-7, atol=1e-9)
    assert line.scales.tolist() == pytest.approx([scale])
    np.testing.assert_allclose(line.left_out, left_out, rtol=1e-7, atol=1e-7)


def test_terms_of_groups_have_intercepts_of_their_own() -> None:
    rng = np.random.default_rng(1)
    x, groups = rng.normal(size=400), rng.integers(0, 2, 400)
    z = np.abs(x) + groups - 1.3 + 0.1 * rng.normal(size=400)
    rows = replace(on_scale(z, x[:, None]), groups=groups, n_groups=2)
    line = best_line(rows)
    assert line.terms.kind != "line"
    assert (line.coefficients[0, 1:] == line.coefficients[1, 1:]).all()
    assert line.coefficients[1, 0] - line.coefficients[0, 0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("law", "kind"),
    [
        (lambda x, y: 0.6 * x - 0.4 * y, "line"),
        (lambda x, y: np.abs(x) - 0.8 + 0.2 * y, "curve"),
        (lambda x, y: 0.5 * x * y, "surface"),
    ],
    ids=["line", "curve", "surface"],
)
def test_the_terms_are_those_of_the_law(law: Any, kind: str) -> None:
    rng = np.random.default_rng(0)
    parents = rng.normal(size=(600, 2))
    rows = on_scale(law(*parents.T) + 0.1 * rng.normal(size=600), parents)
    line = best_line(rows)
    assert line.terms.kind == kind
    assert not line.terms.product_knots


@pytest.mark.parametrize("n_parents", [2, 4, 5])
def test_products_of_curves_are_found_for_at_most_four_parents(n_parents: int) -> None:
    rng = np.random.default_rng(0)
    parents = rng.normal(size=(600, n_parents))
    # the product of positions explains nothing
    z = (np.abs(parents[:, 0]) - 0.8) * parents[:, 1] + 0.1 * rng.normal(size=600)
    rows = on_scale(z, parents)
    line = best_line(rows)
    assert bool(line.terms.product_knots) == (n_parents < 5)
    without = fitted_line(rows, replace(line.terms, product_knots=()))
    gain = line.left_out.sum() - without.left_out.sum()
    assert (gain > 600 * 0.5) == (n_parents < 5)


def test_few_rows_have_few_terms() -> None:
    parents = np.random.default_rng(0).normal(size=(40, 6))
    kinds = [(terms.kind, terms.n_terms) for terms in possible_terms(parents)]
    # 27 terms of a surface without knots are too many for 40 rows, 18 further terms of curves as well
    assert kinds == [("line", 6)]
    assert [terms.kind for terms in possible_terms(parents[:3])] == ["line"]
    # 8 products of curves are the last of 19 terms, of which 40 rows have enough and 39 rows do not
    assert [terms.n_terms for terms in possible_terms(parents[:, :2])] == [2, 8, 5, 11, 19]
    assert [terms.n_terms for terms in possible_terms(parents[:39, :2])] == [2, 8, 5, 11]
    many = np.random.default_rng(0).normal(size=(9_000, 2))
    knots = possible_terms(many)[1].knots
    assert [len(of_parent) for of_parent in knots] == [20, 20]
    assert all((np.diff(of_parent) > 0).all() for of_parent in knots)


def test_terms_of_many_rows_are_chosen_on_some_and_fitted_to_all() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6_000, 1))
    rows = on_scale(np.abs(x[:, 0]) - 0.8 + 0.1 * rng.normal(size=6_000), x)
    line = best_line(rows)
    assert line.left_out.shape == (6_000,)
    again = fitted_line(rows, line.terms)
    assert again.coefficients.tolist() == line.coefficients.tolist()


@pytest.mark.parametrize(("freedom", "chosen"), [(2.5, 3.0), (7.0, 6.0), (1e6, 2001.0)])
def test_the_tail_is_that_of_the_noise(freedom: float, chosen: float) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2_000, 1))
    noise = 0.05 * student(freedom).rvs(2_000, random_state=rng)
    rows = on_scale(0.5 * x[:, 0] + noise, x)
    line = fitted_line(rows)
    assert line.freedom.tolist() == [chosen]
    # the scale is that of the noise, not its standard deviation
    fitted = student.fit(rows.z - 0.5 * x[:, 0], fdf=chosen, floc=0)[2]
    assert line.scales[0] == pytest.approx(fitted, rel=0.03)
    assert line.left_out.sum() >= fitted_line(rows, heavy_tails=()).left_out.sum()
    expected = student(chosen, scale=fitted).logpdf(rows.z - 0.5 * x[:, 0]).mean()
    assert line.left_out.mean() == pytest.approx(expected, abs=0.02)


def test_heavy_tails_do_not_pass_the_floor_of_the_scale() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 1))
    rows = on_scale(x[:, 0] + np.where(rng.random(500) < 0.05, rng.normal(size=500), 0.0), x, 0.1)
    assert fitted_line(rows).scales.tolist() == [0.1]


@given(st.integers(0, 10_000), st.integers(5, 200), st.floats(-2, 2))
@settings(max_examples=40)
def test_the_weight_of_a_mixture_is_the_best_on_a_grid(seed: int, n: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=n), rng.normal(size=n) + shift
    weight = mixture_weight(first, second)
    grid = np.linspace(1e-6, 1 - 1 / (n + 1), 500)
    sums = np.log((1 - grid)[:, None] * np.exp(first)[None, :] + grid[:, None] * np.exp(second)[None, :]).sum(
        axis=1
    )
    best = float(np.log((1 - weight) * np.exp(first) + weight * np.exp(second)).sum())
    assert best >= sums.max() - 1e-3
    assert 0 <= weight <= 1 - 1 / (n + 1)


@pytest.mark.parametrize("gain", [5.0, 40.0, 1e4, math.inf])
def test_a_line_never_has_all_the_weight(gain: float) -> None:
    weight = mixture_weight(np.zeros(50) - gain, np.zeros(50))
    assert weight == pytest.approx(50 / 51)
    assert mixture_weight(np.zeros(50), np.zeros(50) - gain) < 1e-3


@pytest.mark.parametrize("outer", [np.exp, np.tanh, lambda values: values + values**3])
def test_a_transformation_makes_noise_normal(outer: Any) -> None:
    rng = np.random.default_rng(1)
    parent = rng.normal(size=1_500)
    inner = 1.2 * np.sin(parent) + 0.3 * rng.normal(size=1_500)
    ranks = rankdata(outer(inner)) / 1_501
    z = norm.ppf(ranks)
    rows = LineRows(z, parent[:, None], np.zeros(1_500, np.int64), 1, SCALE, 1e-3)
    line = best_line(rows)
    assert line is not None
    transform = transform_of(rows, line)
    assert transform is not None
    moved = np.interp(z, *transform)
    assert moved.std() == pytest.approx(1.0)
    # of the noise that is added inside, apart from its ends
    assert np.corrcoef(moved, inner)[0, 1] > max(np.corrcoef(z, inner)[0, 1], 0.995)
    # a column without parents that matter is normal already
    nothing = LineRows(rng.permutation(z), parent[:, None], np.zeros(1_500, np.int64), 1, SCALE, 1e-3)
    assert transform_of(nothing, fitted_line(nothing)) is None


def test_columns_of_few_values_are_not_transformed() -> None:
    rng = np.random.default_rng(0)
    parent = rng.normal(size=400)
    z = np.round(parent + 0.3 * rng.normal(size=400))
    rows = LineRows(z, parent[:, None], np.zeros(400, np.int64), 1, SCALE, 1e-3)
    assert transform_of(rows, fitted_line(rows)) is None
