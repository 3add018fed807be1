"""Sums of smooth curves: the score against multivariate t distributions, the basis, ties, and limits."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, permutations
from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pricing_examples import curved_column, curves_scorer, functions_of_rows
from scipy.interpolate import CubicSpline
from scipy.stats import multivariate_t, norm, rankdata

from gomea_bn.problems import (
    CurveModel,
    CurveSizes,
    FamilyScorer,
    LevelFunctions,
    LibraryGrowth,
    NumberFunctions,
    ScoredFamily,
    ScoredVariable,
    SmoothFunctions,
    best_curve_model,
    column_functions,
    curve_data,
    curves,
    normal_scores,
    score_rule,
    scoring_method,
    sizes_and_functions,
)
from gomea_bn.problems.column_functions import UnitFunction
from gomea_bn.problems.curve_models import beats_table
from gomea_bn.problems.curve_parts import cell_data, no_tails
from gomea_bn.problems.curves import family_curve_data
from gomea_bn.problems.kernels.curves import LINES, SMOOTH, UNITS, CurveData
from gomea_bn.problems.splines import spline_design
from gomea_bn.runtime import in_spare_threads, spare_threads

Values = NDArray[np.float64]
METHOD = scoring_method("density-bd")


def some_variables(n_rows: int = 60, seed: int = 0) -> list[ScoredVariable]:
    """A chain of three columns, the second with ties, and a discrete column with a level that does not occur."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    b = np.round(np.sin(a) + 0.3 * rng.normal(size=n_rows), 1)
    level = (rng.random(n_rows) < 0.4).astype(np.int32) * 2
    c = np.exp(b + 0.5 * level + 0.2 * rng.normal(size=n_rows))
    return [
        curved_column("a", a),
        curved_column("b", b),
        curved_column("c", c),
        ScoredVariable("level", level, 3),
    ]


def family(child: int, *parents: int) -> ScoredFamily:
    return ScoredFamily((child, 0), tuple((parent, 0) for parent in parents))


def design_of(variables: list[ScoredVariable], v: int) -> Values:
    variable = variables[v]
    n_rows = len(variable.values)
    if variable.n_levels:
        codes = np.asarray(variable.values, np.int32)
        return LevelFunctions(codes, variable.n_levels, is_ordered=variable.is_ordered).of_rows(0, n_rows)
    values = np.asarray(variable.values, np.float64)
    rows = SmoothFunctions(normal_scores(values)[0], 9).of_rows(0, n_rows)
    moved = values - np.median(values)
    reach = 30 * np.subtract(*np.quantile(values, (0.75, 0.25)))
    moved = np.clip(moved, -reach, reach)
    return np.column_stack([rows, (moved - moved.mean()) / moved.std()])


def factors_of(variables: list[ScoredVariable], v: int) -> Values:
    """The first six functions of a continuous column, or centred indicators, one of two levels."""
    if not (n_levels := variables[v].n_levels):
        return design_of(variables, v)[:, :6]
    codes = np.asarray(variables[v].values)
    present = [level for level in range(n_levels) if (codes == level).any()]
    indicators = [(codes == level) * 1.0 for level in present[: 1 if len(present) == 2 else None]]
    return np.column_stack([(one - one.mean()) / one.std() for one in indicators])


def products_of(
    variables: list[ScoredVariable], i: int, j: int, *, is_plain: bool = False
) -> tuple[Values, Values]:
    """The products of two columns, or of their lines and levels alone, and precisions under smooth curves."""
    chosen, roughness = [], []
    n_levels = [variables[v].n_levels for v in (i, j)]
    for v in (i, j):
        factors = factors_of(variables, v)
        n_used = factors.shape[1] if variables[v].n_levels else 1 if is_plain else 6 if any(n_levels) else 3
        chosen.append(factors[:, :n_used])
        values = np.asarray(variables[v].values, np.float64)
        has_roughness = any(n_levels) and not variables[v].n_levels
        of_column = SmoothFunctions(normal_scores(values)[0], 9).roughness if has_roughness else np.zeros(9)
        roughness.append(of_column[:n_used])
    products = np.column_stack([a * b for a in chosen[0].T for b in chosen[1].T])
    return products, np.maximum(np.add.outer(*roughness).ravel(), 1)


def log_t_ratio(target: Values, design: Values, precisions: Values, unexplained: float) -> float:
    """Return the log ratio of marginal likelihoods with and without a design, by multivariate t distributions.

    An improper prior of the intercept leaves the n - 1 contrasts that are orthogonal to a constant.
    """
    n = len(target)
    contrasts = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, : n - 1]]))[0][:, 1:]
    y, x = contrasts.T @ target, contrasts.T @ design
    covariance = unexplained * (np.eye(n - 1) + (x / precisions) @ x.T)
    with_design = multivariate_t.logpdf(y, np.zeros(n - 1), covariance, df=1)
    return float(with_design - multivariate_t.logpdf(y, np.zeros(n - 1), unexplained * np.eye(n - 1), df=1))


def of_normal_noise(scorer: FamilyScorer) -> FamilyScorer:
    """Return the scorer without heavy tails and widths that follow parents."""
    scorer.rows = scorer.rows._replace(curves=scorer.rows.curves._replace(tails=no_tails()))
    return scorer


@pytest.mark.parametrize("parents", [(0,), (3,), (4,), (0, 1), (1, 3), (1, 4), (0, 1, 3)])
def test_a_score_is_the_marginal_likelihood_of_a_linear_model(parents: tuple[int, ...]) -> None:
    variables = some_variables()
    # levels in their order, of which the last one does not occur
    steps = np.digitize(variables[2].values, np.quantile(variables[2].values, (0.2, 0.6, 0.7)))
    variables.append(ScoredVariable("steps", steps.astype(np.int32), 5, is_ordered=True))
    data = curve_data(variables)
    design = np.column_stack([design_of(variables, v) for v in parents])
    columns = np.concatenate([np.arange(data.first[v], data.first[v + 1]) for v in parents])
    values = np.asarray(variables[2].values, np.float64)
    targets = [normal_scores(values)[0], values]
    expected, of_widths = [], []
    assert data.precisions[:UNITS, 0].tolist() == [1.0, 10.0, 100.0]
    for prior, precisions in enumerate(data.precisions[:, columns]):
        used = np.isfinite(precisions)

        def scores(
            *blocks: tuple[Values, Values],
            used: NDArray[np.bool_] = used,
            precisions: Values = precisions,
        ) -> Values:
            whole = np.column_stack([design[:, used], *(block[0] for block in blocks)])
            of_prior = np.concatenate([precisions[used], *(block[1] for block in blocks)])
            return np.array(
                [
                    data.alone[2, t]
                    + log_t_ratio(
                        (target - target.mean()) / target.std(),
                        whole,
                        of_prior,
                        float(data.unexplained[2, t]),
                    )
                    for t, target in enumerate(targets)
                ]
            )

        plain = scores()
        pairs = combinations(parents, 2) if prior != UNITS else []
        blocks = [products_of(variables, i, j, is_plain=prior < SMOOTH) for i, j in pairs]
        gains = [float((scores(block) - plain).max()) for block in blocks]
        kept = sorted((k for k in range(len(blocks)) if gains[k] > 0), key=lambda k: -gains[k])
        found = [plain.max()]
        for n in range(1, len(kept) + 1):
            found.append(scores(*(blocks[k] for k in kept[:n])).max() - log(comb(len(blocks), n)))
        if prior < UNITS:
            of_widths.append([one - log(3) for one in found])
        else:
            expected += found
    # the width that is best without products
    expected += max(of_widths, key=lambda found: next(iter(found)))
    scorer = of_normal_noise(curves_scorer(variables))
    # the first policy has one cut
    own_cost = scorer.rule.edge_cost * len(parents) + METHOD.cut_cost * np.log(59)
    assert max(expected) - own_cost > scorer.table_scores([family(2, *parents)])[0]
    found = scorer.score([family(2, *parents)])[0]
    assert found == pytest.approx(max(expected) - own_cost, abs=1e-7)


def test_columns_without_parents_have_tables_and_cuts_are_charged_under_curves_too() -> None:
    variables = some_variables()
    scorer = curves_scorer(variables)
    alone = [ScoredFamily((v, k)) for v in range(3) for k in range(3)]
    np.testing.assert_array_equal(scorer.score(alone), scorer.table_scores(alone))
    scores = scorer.score([ScoredFamily((2, k), ((1, 0), (3, 0))) for k in range(3)])
    np.testing.assert_allclose(np.diff(scores), -METHOD.cut_cost * np.log(59))


def test_the_better_of_table_and_curves_counts_in_any_order_with_and_without_a_cache() -> None:
    variables = some_variables()
    scorer = curves_scorer(variables)
    plain = FamilyScorer(variables, METHOD, scorer.rule)
    pairs = [(child, *sorted({0, 1, 2, 3} - {child, other})) for child, other in permutations(range(4), 2)]
    families = [family(child, *parents) for child, a, b in pairs for parents in ((a, b), (b, a))]
    uncached = scorer.score(families, use_cache=False)
    np.testing.assert_array_equal(scorer.score(families), uncached)
    np.testing.assert_array_equal(scorer.score(families), uncached)
    np.testing.assert_array_equal(uncached[::2], uncached[1::2])
    tables = plain.score(families)
    np.testing.assert_array_equal(scorer.table_scores(families), tables)
    assert (uncached >= tables).all()
    assert (uncached > tables).any()


@pytest.mark.parametrize("equivalent", [False, True])
def test_tables_that_beat_curves_by_any_amount_are_found(equivalent: bool) -> None:
    rng = np.random.default_rng(0)
    n_rows = 800
    parents = rng.integers(0, 2, size=(n_rows, 3))
    variables = [ScoredVariable(f"p{k}", parents[:, k].astype(np.int32), 2) for k in range(3)]
    x = rng.normal(size=n_rows)
    variables.append(curved_column("x", x))
    for share in np.linspace(0.5, 0.9, 16):
        # whether the sum of three is even no curve shows
        is_even = np.where(rng.random(n_rows) < share, parents.sum(axis=1) % 2, rng.integers(0, 2, n_rows))
        variables.append(ScoredVariable(f"level at {share}", is_even.astype(np.int32), 2))
        number = 3.0 * is_even + 0.5 * x + rng.normal(size=n_rows)
        variables.append(curved_column(f"number at {share}", number))
    rule = score_rule(METHOD, n_rows, n_variables=len(variables), centred=True, equivalent=equivalent)
    scorer = FamilyScorer(variables, METHOD, rule, curves=curve_data(variables))
    sets = [(3,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]
    families = [family(child, *chosen) for child in range(4, len(variables)) for chosen in sets]
    scores, tables = scorer.score(families), scorer.table_scores(families)
    assert (scores >= tables).all()
    is_best = (scores == tables).reshape(-1, 2, len(sets))
    assert (is_best.sum(axis=(0, 2)) > 8).all()
    assert (~is_best).sum() > 8


def families_of_four() -> list[ScoredFamily]:
    """Return families of four variables whose parents stand in all orders."""
    sets = [(child, order) for child in range(4) for n in range(4) for order in permutations(range(4), n)]
    return [family(child, *parents) for child, parents in sets if child not in parents]


@pytest.mark.parametrize("n_families", [0, 1, 2, 3, 20])
@pytest.mark.parametrize("use_cache", [False, True])
def test_threads_share_the_families_of_a_call(n_families: int, use_cache: bool) -> None:
    chosen = families_of_four()[-n_families:] if n_families else []
    alone, together = (curves_scorer(some_variables(500)) for _ in range(2))
    expected = alone.score(chosen, use_cache=False)
    with spare_threads(3):
        for _ in range(2):
            np.testing.assert_array_equal(together.score(chosen, use_cache=use_cache), expected)
    # what one thread has scored is known to all
    n_distinct = len({(one.child, frozenset(one.parents)) for one in chosen})
    assert together.caches.shared.used[0] >= n_distinct * use_cache


def test_families_that_are_known_or_few_are_scored_by_the_calling_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = []

    def note(function: Callable[[int], int], parts: range) -> list[int]:
        shared.append(len(parts))
        return in_spare_threads(function, parts)

    monkeypatch.setattr("gomea_bn.problems.family_scorer.in_spare_threads", note)
    chosen, scorer = families_of_four(), curves_scorer(some_variables(500))
    with spare_threads(3):
        # three threads, two parts each
        for some, n_parts in ((chosen[:10], 0), (chosen, 6), (chosen, 0)):
            scores = scorer.score(some)
            assert shared.pop() == n_parts
    np.testing.assert_array_equal(scores, scorer.score(chosen, use_cache=False))


def test_policies_of_parents_have_no_influence_on_curves() -> None:
    variables = some_variables()
    scorer = curves_scorer(variables)
    several = [ScoredFamily((2, 2), ((1, parent), (3, 0))) for parent in (0, 1, 2)]
    scores = scorer.score(several)
    assert np.ptp(scorer.table_scores(several)) > 1
    assert (scores > scorer.table_scores(several)).all()
    np.testing.assert_array_equal(scores, scores[0])


def growing_scorer() -> FamilyScorer:
    """Return a scorer by curves whose libraries of cuts grow."""
    plain = curves_scorer(some_variables())
    growth, curves = LibraryGrowth(8, 8), plain.rows.curves
    return FamilyScorer(plain.variables, plain.method, plain.rule, growth=growth, curves=curves)


def cuts_of_policies(scorer: FamilyScorer, policy: int) -> dict[int, Values]:
    return {v: scorer.policy(v, policy).cut_points for v in np.flatnonzero(scorer.grows).tolist()}


def test_scores_by_curves_are_kept_when_cuts_change() -> None:
    first = growing_scorer()
    families = [ScoredFamily((2, 0), ((1, 0), (3, 0))), ScoredFamily((3, 0), ((0, 0), (1, 0)))]
    first.score(families)
    n_known = int(first.curve_caches.shared.used[0])
    assert n_known > 0
    second = first.with_cuts(cuts_of_policies(first, 1))
    np.testing.assert_array_equal(second.score(families), second.score(families, use_cache=False))
    assert np.ptp([first.table_scores(families), second.table_scores(families)], axis=0).min() > 0
    assert int(first.curve_caches.shared.used[0]) == n_known


def test_scores_of_equal_cuts_are_those_of_every_scorer_with_them() -> None:
    first = growing_scorer()
    families = [ScoredFamily((2, 0), ((1, 0), (3, 0))), ScoredFamily((0, 0), ((1, 0),))]
    some, others = (cuts_of_policies(first, policy) for policy in (1, 2))
    second, third = first.with_cuts(some), first.with_cuts(others)
    for scorer in (second, third, first.with_cuts(some)):
        known = scorer.score(families)
        n_known = int(scorer.caches.shared.used[0])
        np.testing.assert_array_equal(known, scorer.score(families, use_cache=False))
    # the last one has scored nothing
    assert n_known == int(second.caches.shared.used[0]) == int(third.caches.shared.used[0])
    assert not np.array_equal(second.score(families), third.score(families))
    first.set_edge_cost(0.5)
    cheaper = first.with_cuts(some)
    assert (cheaper.score(families) > known).all()
    np.testing.assert_array_equal(cheaper.score(families), cheaper.score(families, use_cache=False))


@pytest.mark.parametrize("n_levels", [2, 5, 30, 70])
def test_functions_of_levels_and_few_values_are_those_of_their_cells(n_levels: int) -> None:
    rng = np.random.default_rng(n_levels)
    codes = np.append(np.arange(n_levels), rng.integers(0, n_levels, 900)).astype(np.int32)
    values = rng.normal(size=len(codes)).round(1)
    columns = [
        LevelFunctions(codes, n_levels).of_rows(0, len(codes)),
        NumberFunctions(values, normal_scores(values)[0], 9, has_units=True).of_rows(0, len(codes)),
    ]
    cells = cell_data(columns, 512)
    together = np.concatenate(columns, axis=1)
    np.testing.assert_allclose(
        functions_of_rows(cells, np.arange(together.shape[1])), together, rtol=0, atol=1e-9
    )
    assert cells.n_fine[0] == cells.n_coarse[0] == n_levels
    # coarse cells keep means, and most of the variance of smooth functions
    rows = np.column_stack(
        [cells.of_coarse[k][cells.coarse[cells.column[k]]] for k in range(together.shape[1])]
    )
    np.testing.assert_allclose(rows.mean(axis=0), together.mean(axis=0), atol=1e-9)
    assert (rows.var(axis=0) > 0.97 * together.var(axis=0)).all()


def test_cells_of_many_values_are_as_wide_as_each_other() -> None:
    line = np.random.default_rng(0).normal(size=(5_000, 1))
    cells = cell_data([line], 100)
    assert cells.n_fine[0] <= 100
    assert cells.n_coarse[0] <= 64
    assert np.abs(functions_of_rows(cells, [0]) - line).max() <= np.ptp(line) / 100


def test_families_with_known_functions_do_not_make_splines_of_all_rows_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables = some_variables()
    sizes, functions = sizes_and_functions(variables)
    assert sizes is not None
    first = family_curve_data(variables[:2], sizes, functions[:2])
    n_places: list[int] = []

    def counted_design(knots: Values, degree: int, places: Values) -> Values:
        n_places.append(len(places))
        return spline_design(knots, degree, places)

    monkeypatch.setattr(column_functions, "spline_design", counted_design)
    again = family_curve_data(variables[:2], sizes, functions[:2])
    # the parts of a transformation alone
    assert max(n_places) < len(variables[0].values)
    np.testing.assert_array_equal(again.products, first.products)
    anew = family_curve_data(variables[:2], sizes)
    assert max(n_places) == len(variables[0].values)
    np.testing.assert_array_equal(anew.products, first.products)
    np.testing.assert_array_equal(anew.tails.of_cells, first.tails.of_cells)


def test_functions_keep_as_many_numbers_as_they_may() -> None:
    values = np.random.default_rng(1).normal(size=200)
    scores = normal_scores(values)[0]
    functions = NumberFunctions(values, scores, 9, has_units=False, most_kept=2000)
    whole = functions.of_rows(0, 300)
    assert functions.of_rows(0, 200) is whole
    # a second one would be too much
    assert functions.of_rows(50, 150) is not functions.of_rows(50, 150)
    np.testing.assert_array_equal(functions.of_rows(50, 150), whole[50:150])


def test_functions_are_a_line_and_orthonormal_curves_of_increasing_roughness() -> None:
    scores = normal_scores(np.random.default_rng(1).normal(size=200))[0]
    functions = SmoothFunctions(scores, 9)
    rows = functions.of_rows(0, 200)
    assert rows.shape == (200, 9)
    np.testing.assert_allclose(rows.T @ rows / 200, np.eye(9), atol=1e-8)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-8)
    assert abs(np.corrcoef(rows[:, 0], scores)[0, 1]) == pytest.approx(1)
    assert functions.roughness[0] == 0
    assert functions.roughness[1] == 1
    assert (np.diff(functions.roughness) > 0).all()
    # the integrals of squared second derivatives, by a spline through the values
    order = np.argsort(scores)
    integrals = []
    for k in range(1, 6):
        second = CubicSpline(scores[order], rows[order, k]).derivative(2)
        grid = np.linspace(scores.min(), scores.max(), 20_001)
        integrals.append(np.mean(second(grid) ** 2))
    np.testing.assert_allclose(np.array(integrals) / integrals[0], functions.roughness[1:6], rtol=0.02)


@given(st.lists(st.integers(0, 5), min_size=3, max_size=40).filter(lambda values: len(set(values)) > 1))
def test_normal_scores_are_quantiles_of_mean_ranks(values: list[int]) -> None:
    array = np.array(values, np.float64)
    scores, widths = normal_scores(array)
    n = len(values)
    np.testing.assert_allclose(scores, norm.ppf(rankdata(array) / (n + 1)), atol=1e-12)
    for value in set(values):
        low, high = np.sum(array < value), np.sum(array <= value)
        expected = norm.ppf((high + 0.5) / (n + 1)) - norm.ppf((low + 0.5) / (n + 1))
        np.testing.assert_allclose(widths[array == value], expected, atol=1e-12)


def test_scores_depend_on_the_order_of_values_if_bins_cannot_be_uniform() -> None:
    variables = some_variables()

    def data(transform: np.ufunc) -> CurveData:
        changed = [
            v if v.n_levels else curved_column(v.name, np.asarray(transform(v.values), np.float64))
            for v in variables
        ]
        return curve_data(
            [
                v if v.shape is None else replace(v, shape=replace(v.shape, may_be_uniform=False))
                for v in changed
            ]
        )

    plain, exponential = data(np.positive), data(np.exp)
    # but for the functions of the columns in their own units
    of_ranks = np.setdiff1d(np.arange(len(plain.products)), plain.first[1:4] - 1)
    for part in ("squares", "unexplained", "alone"):
        np.testing.assert_array_equal(getattr(plain, part), getattr(exponential, part))
    for before, after in (
        (plain.products[:, of_ranks], exponential.products[:, of_ranks]),
        (plain.with_targets, exponential.with_targets),
    ):
        np.testing.assert_allclose(before[of_ranks], after[of_ranks], atol=1e-9)
    assert np.isneginf(plain.alone[:, 1]).all()


@pytest.mark.long
@given(scale=st.floats(1e-6, 1e6), shift=st.floats(-10, 10))
def test_scores_are_invariant_under_affine_changes(scale: float, shift: float) -> None:
    variables = some_variables()
    changed = [
        v if v.n_levels else curved_column(v.name, (np.asarray(v.values, np.float64) + shift) * scale)
        for v in variables
    ]
    families = [family(2, 0), family(2, 1, 3), family(0, 1)]
    before, after = curves_scorer(variables).score(families), curves_scorer(changed).score(families)
    # fitted shapes may differ by hundredths of a nat
    np.testing.assert_allclose(after, before, atol=0.02)


@pytest.mark.parametrize("n_values", [3, 6, 20])
def test_a_copy_of_repeated_values_gains_no_more_than_their_probabilities(n_values: int) -> None:
    rng = np.random.default_rng(n_values)
    values = rng.integers(0, n_values, 600).astype(np.float64)
    original = curved_column("x", values)
    assert original.shape is not None
    variables = [original, curved_column("copy", values), curved_column("noise", rng.normal(size=600))]
    data = curve_data(variables)
    shares = np.bincount(values.astype(np.int64)) / 600
    most = -600 * float(shares[shares > 0] @ np.log(shares[shares > 0]))
    # a probability has no units
    assert original.shape.shape.has_few_values
    assert np.isfinite(data.alone[:2, 0]).all()
    assert np.isneginf(data.alone[:2, 1]).all()
    gains = curves_scorer(variables).score([family(1, 0)])[0] - curves_scorer(variables).score([family(1)])[0]
    assert 0 < gains < most + 1


def test_a_sum_in_own_units_is_exact() -> None:
    rng = np.random.default_rng(2)
    n = 500
    a, b = np.exp(rng.normal(size=n)), rng.standard_t(3, n)
    other = rng.exponential(size=n)
    total = 2 * a + 3 * b + 0.05 * rng.normal(size=n)
    variables = [curved_column(*column) for column in (("a", a), ("b", b), ("o", other), ("t", total))]
    scorer = of_normal_noise(curves_scorer(variables))
    data = scorer.rows.curves
    sets = ((0, 1), (0,), (1,), (0, 2), (0, 1, 2))
    scores = scorer.score([family(3, *parents) for parents in sets])
    assert scores.argmax() == 0
    precisions = data.precisions.copy()
    for v in range(4):
        assert np.isinf(precisions[LINES, data.first[v + 1] - 1])
        precisions[:, data.first[v + 1] - 1] = np.inf
    scorer.rows = scorer.rows._replace(curves=data._replace(precisions=precisions))
    of_ranks = scorer.score([family(3, 0, 1)], use_cache=False)[0]
    assert scores[0] > of_ranks + 100


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_a_column_in_its_own_units_is_standardised_and_has_no_far_values(scale: float) -> None:
    values = np.append(np.random.default_rng(0).normal(size=999), 1e6) * scale
    function = UnitFunction(values)
    found = function.of_values(values)
    np.testing.assert_allclose([found.mean(), found.std()], [0, 1], atol=1e-9)
    # a line but for the last value
    slopes = np.diff(found) / (np.diff(values) / scale)
    np.testing.assert_allclose(slopes[:-1], slopes[0], rtol=1e-6)
    quarters = np.quantile(values[:-1] / scale, (0.25, 0.75))
    assert (found[-1] - np.median(found)) / slopes[0] == pytest.approx(30 * np.ptp(quarters), rel=0.02)
    assert function.of_values(np.array([np.finfo(float).max]))[0] == found[-1]


def test_functions_of_rows_are_those_of_their_values() -> None:
    variables = some_variables()
    values = np.asarray(variables[1].values, np.float64)
    scores, _ = normal_scores(values)
    numbers = NumberFunctions(values, scores, 9, has_units=True)
    some = np.array([40, 3, 3])
    found = numbers.of_values(values[some], scores[some])
    np.testing.assert_allclose(found, numbers.of_rows(0, 60)[some], atol=1e-12)
    np.testing.assert_allclose(numbers.of_rows(0, 60), design_of(variables, 1), atol=1e-9)
    assert numbers.factors(found).shape == (3, 6)
    codes = np.asarray(variables[3].values, np.int32)
    levels = LevelFunctions(codes, 3)
    # a level that did not occur has no function
    np.testing.assert_array_equal(levels.of_codes(np.array([1], np.int32)), [[0.0, 0.0]])
    np.testing.assert_array_equal(levels.of_codes(codes[some]), levels.of_rows(0, 60)[some])


def test_few_values_and_large_tables_have_no_function_in_units() -> None:
    values = np.random.default_rng(0).integers(0, 9, 200).astype(np.float64)
    for some, has_units, expected in (
        (values, True, False),
        (np.arange(200.0), True, True),
        (np.arange(200.0), False, False),
    ):
        functions = NumberFunctions(some, normal_scores(some)[0], 9, has_units=has_units)
        assert (functions.units is not None) == expected
        assert functions.of_rows(0, 200).shape[1] == len(functions.roughness)


def test_wide_and_narrow_lines_pay_by_their_size() -> None:
    rng = np.random.default_rng(1)
    n = 500
    x, noise = rng.normal(size=(2, n))
    gains = []
    for slope in (0.12, 0.3, 3.0):
        variables = [curved_column("x", x), curved_column("y", slope * x + noise)]
        scorer = curves_scorer(variables)
        data = scorer.rows.curves
        found = scorer.score([family(1, 0)])[0]
        for narrow in (1, 2):
            precisions = data.precisions.copy()
            precisions[[0, narrow]] = precisions[[narrow, 0]]
            # the order of the widths has no influence
            scorer.rows = scorer.rows._replace(curves=data._replace(precisions=precisions))
            assert scorer.score([family(1, 0)], use_cache=False)[0] == pytest.approx(found, abs=1e-9)
        precisions = data.precisions.copy()
        precisions[:UNITS] = precisions[LINES]
        scorer.rows = scorer.rows._replace(curves=data._replace(precisions=precisions))
        gains.append(found - scorer.score([family(1, 0)], use_cache=False)[0])
    # narrow priors help weak effects alone
    assert gains[0] > 0.5
    assert gains[0] > gains[1] >= gains[2] >= 0


def test_levels_in_their_order_have_a_line() -> None:
    rng = np.random.default_rng(3)
    codes = rng.choice(6, 400, p=[0.1, 0.3, 0.1, 0.2, 0.0, 0.3]).astype(np.int32)
    functions = LevelFunctions(codes, 6, is_ordered=True)
    line = functions.matrix[:, -1]
    assert (np.diff(line) > 0).all()
    assert line[codes].mean() == pytest.approx(0.0, abs=1e-12)
    assert line[codes].std() == pytest.approx(1.0)
    np.testing.assert_array_equal(functions.matrix[:, :-1], LevelFunctions(codes, 6).matrix)
    assert LevelFunctions(codes % 2, 2, is_ordered=True).matrix.shape == (2, 2)

    noise, other = rng.normal(size=(2, 400))
    orders = {
        "ordered": np.arange(6),
        "reversed": np.arange(6)[::-1],
        "shuffled": np.array([3, 0, 5, 1, 4, 2]),
    }
    children = {
        "line": curved_column("y", 0.25 * line[codes] + noise),
        "jump": curved_column("y", 1.5 * (codes == 1) + noise),
        "levels": ScoredVariable(
            "y", np.digitize(0.5 * line[codes] + noise, (-0.7, 0.7)).astype(np.int32), 3
        ),
    }
    gains: dict[tuple[str, str], float] = {}
    for law, child in children.items():
        for name, order in orders.items():
            found = []
            for is_ordered in (False, True):
                parent = ScoredVariable("g", order.astype(np.int32)[codes], 6, is_ordered=is_ordered)
                scorer = curves_scorer([parent, child, curved_column("x", other)])
                found.append(float(scorer.score([family(1, 0)])[0]))
            gains[law, name] = found[1] - found[0]
    assert min(gains.values()) >= 0
    for law in ("line", "levels"):
        assert gains[law, "ordered"] > 1 + gains[law, "shuffled"]
        assert gains[law, "ordered"] == pytest.approx(gains[law, "reversed"], abs=1e-6)
    assert gains["jump", "ordered"] < 0.5


def test_columns_with_point_masses_follow_no_curves_but_may_be_parents() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    zero = np.where(rng.random(300) < 0.5, 0.0, x)
    variables = [curved_column("x", x), curved_column("zero", zero)]
    assert variables[1].shape is not None
    assert len(variables[1].shape.shape.point_values)
    data = curve_data(variables)
    assert np.isneginf(data.alone[1]).all()
    assert np.isfinite(data.alone[0, 0])
    assert data.first.tolist() == [0, 10, 20]


@pytest.mark.parametrize("is_centred", [True, False])
def test_a_product_of_two_parents_is_found_and_none_of_them_alone(is_centred: bool) -> None:
    rng = np.random.default_rng(0)
    x, y, other = rng.normal(size=(3, 400))
    product = (x + 2 * (not is_centred)) * y + 0.3 * rng.normal(size=400)
    variables = [curved_column(name, v) for name, v in zip("xyop", (x, y, other, product), strict=True)]
    data = curve_data(variables)._replace(tails=no_tails())
    assert data.n_products[0, 1] == 9
    scorer = of_normal_noise(curves_scorer(variables))
    alone, of_x, of_y, both, wrong, all_three = scorer.score(
        [family(3), *(family(3, *parents) for parents in ((0,), (1,), (0, 1), (0, 2), (0, 1, 2)))]
    )
    assert both > max(alone, of_x, of_y, wrong) + 200
    assert both > all_three
    assert of_x < alone
    assert (of_y > alone) != is_centred
    # the same functions without products
    plain = FamilyScorer(
        variables, METHOD, scorer.rule, curves=data._replace(pair=np.full_like(data.pair, -1))
    )
    assert both > plain.score([family(3, 0, 1)])[0] + (200 if is_centred else 30)
    np.testing.assert_array_equal(
        plain.score([family(3, 0), family(3, 1)]), scorer.score([family(3, 0), family(3, 1)])
    )


def test_a_product_without_lines_scores_near_its_regression() -> None:
    rng = np.random.default_rng(0)
    x, y, noise = rng.normal(size=(3, 2000))
    child = x * y + 0.3 * noise
    scorer = of_normal_noise(
        curves_scorer([curved_column(name, v) for name, v in zip("xyc", (x, y, child), strict=True)])
    )
    alone, both = scorer.score([family(2), family(2, 0, 1)])
    slope, centre = np.polyfit(x * y, child, 1)
    explained = child.var() / (child - slope * x * y - centre).var()
    normal_alone = -1000 * np.log(2 * np.pi * np.exp(1) * child.var() / np.ptp(child) ** 2)
    assert both > normal_alone + 1000 * np.log(explained) - 60
    assert both > alone


def test_a_product_is_found_next_to_curves_of_many_parents() -> None:
    rng = np.random.default_rng(0)
    parents = rng.normal(size=(6, 400))
    child = (parents[0] ** 2 - 1) * parents[1] + parents[2:].sum(axis=0) + 0.3 * rng.normal(size=400)
    variables = [curved_column(f"x{k}", v) for k, v in enumerate([*parents, child])]
    scorer = curves_scorer(variables)
    whole, *others = scorer.score([family(6, *(set(range(6)) - left)) for left in (set(), {0}, {1}, {0, 1})])
    assert whole > max(others) + 200


def test_terms_say_what_products_are_made_of() -> None:
    variables = [*some_variables(), ScoredVariable("other", np.arange(60, dtype=np.int32) % 3, 3)]
    data = curve_data(variables)
    assert [data.n_products[k, m] for k, m in ((0, 1), (0, 3), (2, 4), (3, 4))] == [9, 6, 12, 3]
    assert len(data.terms) == len(data.products) - data.first[-1] == 3 * 9 + 3 * 6 + 3 * 12 + 3
    rows = np.column_stack(
        [
            *(design_of(variables, v) for v in range(5)),
            *(factors_of(variables, i)[:, a] * factors_of(variables, j)[:, b] for i, a, j, b in data.terms),
        ]
    )
    rows -= rows.mean(axis=0)
    np.testing.assert_allclose(data.products, rows.T @ rows, atol=1e-8)
    # of rows by which tails are judged
    first, second = data.tails.products.T
    found = data.tails.factors[first] * data.tails.factors[second]
    order = np.random.default_rng(20250131).permutation(60)
    assert sorted(order) == list(range(60))
    for k, (i, a, j, b) in enumerate(data.terms):
        expected = factors_of(variables, i)[:, a] * factors_of(variables, j)[:, b]
        np.testing.assert_allclose(found[k], expected, atol=1e-5)
    # those of lines and levels are next to lines
    plain = [all(variables[v].n_levels or a == 0 for v, a in (t[:2], t[2:])) for t in data.terms.tolist()]
    for prior in range(UNITS):
        np.testing.assert_array_equal(np.isfinite(data.precisions[prior, data.first[-1] :]), plain)
    assert np.isinf(data.precisions[UNITS, data.first[-1] :]).all()


@pytest.mark.parametrize("n_levels", [2, 3, 12, 13])
@pytest.mark.parametrize("is_bent", [True, False])
def test_a_level_that_turns_an_effect_is_found(n_levels: int, is_bent: bool) -> None:
    rng = np.random.default_rng(n_levels + 1)
    n = 150 * n_levels
    x, other = rng.normal(size=(2, n))
    level, z = rng.integers(0, n_levels, n), rng.integers(0, 2, n)
    slope = np.where(level % 2, 1.0, -1.0)
    y = slope * (np.sin(2 * x) if is_bent and n_levels < 12 else x) + 0.5 * rng.normal(size=n)
    variables = [
        *(curved_column(name, values) for name, values in (("x", x), ("o", other), ("y", y))),
        ScoredVariable("level", level.astype(np.int32), n_levels),
        ScoredVariable("z", z.astype(np.int32), 2),
    ]
    scorer = curves_scorer(variables)
    sets = ((), (0,), (3,), (0, 3), (0, 4), (1, 3), (0, 1, 3), (0, 3, 4))
    scores = scorer.score([family(2, *parents) for parents in sets])
    plain = scorer.rows.curves._replace(pair=np.full_like(scorer.rows.curves.pair, -1))
    scorer.rows = scorer.rows._replace(curves=plain)
    gain = scores[3] - scorer.score([family(2, 0, 3)], use_cache=False)[0]
    if n_levels == 13:
        assert gain == 0
    else:
        assert gain > 50
        assert scores.argmax() == 3
        assert np.delete(scores, [3, 6, 7]).max() < scores[3] - 50


def test_two_factors_that_interact_are_found() -> None:
    rng = np.random.default_rng(4)
    n = 400
    f, g, h = rng.integers(0, (2, 3, 2), (n, 3)).T.astype(np.int32)
    y = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])[f, g] + 0.3 * rng.normal(size=n)
    variables = [
        curved_column("y", y),
        *(ScoredVariable(name, codes, k) for name, codes, k in (("f", f, 2), ("g", g, 3), ("h", h, 2))),
    ]
    scorer = curves_scorer(variables)
    sets = ((1, 2), (), (1,), (2,), (1, 3), (2, 3), (1, 2, 3))
    scores = scorer.score([family(0, *parents) for parents in sets])
    data = scorer.rows.curves
    assert data.n_products[1, 2] == 3
    assert scores.argmax() == 0
    scorer.rows = scorer.rows._replace(curves=data._replace(pair=np.full_like(data.pair, -1)))
    assert scores[0] > scorer.score([family(0, 1, 2)], use_cache=False)[0] + 20


def test_a_family_with_too_many_products_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 200))
    variables = [curved_column(n, v) for n, v in zip("xyp", (x, y, (x**2 - 1) * y + 0.3 * x), strict=True)]
    data = curve_data(variables)
    with_products = curves_scorer(variables).score([family(2, 0, 1)])[0]
    plain = data._replace(pair=np.full_like(data.pair, -1))
    rule = score_rule(METHOD, 200, n_variables=3)
    without = FamilyScorer(variables, METHOD, rule, curves=plain).score([family(2, 0, 1)])[0]
    assert with_products > without + 50
    # the work space is smaller than the 20 functions and 9 products
    monkeypatch.setattr(curves, "MOST_FUNCTIONS", 28)
    assert curves_scorer(variables).score([family(2, 0, 1)])[0] == without


def test_a_kink_of_many_rows_lets_nothing_through() -> None:
    n_rows = 60_000
    rng = np.random.default_rng(6)
    first = rng.normal(size=n_rows)
    second = first + 0.5 * rng.normal(size=n_rows)
    third = np.abs(second) + 0.2 * rng.normal(size=n_rows)
    scorer = curves_scorer([curved_column(*column) for column in (("a", first), ("b", second), ("c", third))])
    alone, with_first = scorer.score([family(2, 1), family(2, 1, 0)])
    assert alone > with_first


def test_large_tables_get_fewer_functions_and_then_none(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = some_variables()
    assert np.diff(curve_data(variables).first).tolist() == [10, 10, 10, 2]
    monkeypatch.setattr(curves, "_MOST_PRODUCTS", 60 * 12.0**2)
    few = curve_data(variables)
    assert np.diff(few.first).tolist() == [3, 3, 3, 2]
    monkeypatch.setattr(curves, "_MOST_PRODUCTS", 60 * 5.0**2)
    assert not len(curve_data(variables).products)


def test_large_tables_get_fewer_products_and_then_none(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = some_variables()
    # 32 functions, and products of three, two or one of them for each of three pairs, and with levels if any are left
    for most, per_pair, with_levels in (
        (32 + 45, 3, 6),
        (32 + 36, 3, 3),
        (32 + 30, 3, 1),
        (32 + 29, 3, 0),
        (32 + 26, 2, 4),
        (32 + 11, 1, 2),
        (32 + 3, 1, 0),
    ):
        monkeypatch.setattr(curves, "_MOST_PRODUCTS_OF_PAIRS", 60 * (most + 0.01) ** 2)
        data = curve_data(variables)
        assert (data.n_products[np.triu_indices(3, 1)] == per_pair**2).all()
        assert (data.n_products[3, :3] == with_levels).all()
        ends = [32 + 3 * per_pair**2, 32 + 3 * per_pair**2 + 3 * with_levels]
        assert data.kinds.tolist() == [32, *ends, ends[1]]
        assert len(data.products) == ends[1]
        assert sorted(data.pair[np.triu_indices(3, 1)].tolist()) == [32 + k * per_pair**2 for k in range(3)]
        assert (data.pair[3, :3] < 0).all() == (with_levels == 0)
    monkeypatch.setattr(curves, "_MOST_PRODUCTS_OF_PAIRS", 60 * 32.0**2)
    without = curve_data(variables)
    assert len(without.products) == 32
    assert (without.pair < 0).all()


def test_blocks_of_rows_give_the_same_products(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = some_variables()
    whole = curve_data(variables)
    monkeypatch.setattr(curves, "_BLOCK_ROWS", 7)
    parts = curve_data(variables)
    np.testing.assert_allclose(parts.products, whole.products, atol=1e-10)
    np.testing.assert_allclose(parts.with_targets, whole.with_targets, atol=1e-10)


def test_a_family_with_too_many_functions_follows_lines_or_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 80))
    sum_of_both = 3 * y + 0.7 * x**2 + 0.1 * rng.normal(size=80)
    variables = [curved_column("x", x), curved_column("y", y), curved_column("sum", sum_of_both)]
    both = curves_scorer(variables).score([family(2, 0, 1)])[0]
    monkeypatch.setattr(curves, "MOST_FUNCTIONS", 19)
    lines = curves_scorer(variables).score([family(2, 0, 1)])[0]
    monkeypatch.setattr(curves, "MOST_FUNCTIONS", 1)
    table = curves_scorer(variables).score([family(2, 0, 1)])[0]
    assert both > lines > table == curves_scorer(variables).table_scores([family(2, 0, 1)])[0]


@pytest.mark.parametrize("parents", [(0,), (0, 1), (0, 1, 3)])
def test_the_best_model_of_a_family_has_the_score_of_the_search(parents: tuple[int, ...]) -> None:
    variables = some_variables(120)
    scorer, (sizes, functions) = curves_scorer(variables), sizes_and_functions(variables)
    assert sizes is not None
    members = [*(variables[p] for p in parents), variables[2]]
    model = best_curve_model(members, sizes)
    of_known = best_curve_model(members, sizes, [functions[v] for v in (*parents, 2)])
    assert model is not None
    assert of_known is not None
    assert (of_known.score, of_known.functions) == (model.score, model.functions)
    is_better = beats_table(model, members, METHOD, scorer.rule)
    of_search, of_table = (
        float(one[0])
        for one in (scorer.score([family(2, *parents)]), scorer.table_scores([family(2, *parents)]))
    )
    # the first policy has one cut
    own_cost = scorer.rule.edge_cost * len(parents) + METHOD.cut_cost * np.log(119)
    assert is_better == (of_search > of_table)
    if is_better:
        assert model.score - own_cost == pytest.approx(of_search, abs=1e-6)
    else:
        assert model.score - own_cost <= of_table + 1e-6


def test_models_say_which_functions_explain_a_column() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 600))
    laws = {
        "line": 0.8 * x - 0.5 * y,
        "curve": np.sin(2 * x) + 0.3 * y,
        "product": x * y,
        "heavy": 0.8 * x,
        "transformed": np.exp(2 * np.tanh(1.5 * np.sin(x))),
    }
    models: dict[str, CurveModel] = {}
    for name, law in laws.items():
        noise = rng.standard_t(2, 600) if name == "heavy" else rng.normal(size=600)
        values = (
            np.exp(2 * np.tanh(1.5 * np.sin(x) + 0.3 * noise)) if name == "transformed" else law + 0.2 * noise
        )
        members = [curved_column("x", x), curved_column("y", y), curved_column("z", values)]
        sizes, _ = sizes_and_functions(members)
        assert sizes is not None
        model = best_curve_model(members, sizes)
        assert model is not None
        assert len(model.precisions) == sum(map(len, model.functions)) + len(model.products)
        assert np.isfinite(model.precisions).all()
        models[name] = model
    assert [len(models[name].products) > 0 for name in ("line", "curve", "product")] == [False, False, True]
    # the line of the ranks, and the column in its own units
    assert all(set(of_parent) <= {0, 9} for of_parent in models["line"].functions)
    # the line and all curves of the ranks, of which rough ones are surely small
    assert set(range(9)) <= set(models["curve"].functions[0])
    assert (np.diff(models["curve"].precisions[:9]) >= 0).all()
    assert [0, 0, 1, 0] in models["product"].products.tolist()
    assert models["transformed"].transform is not None
    assert models["line"].transform is None
    # a column with point masses follows no curves
    points = curved_column("z", np.where(rng.random(600) < 0.5, 0.0, x))
    assert best_curve_model([curved_column("x", x), points], CurveSizes(9, True, (3, 6, 6))) is None


@pytest.mark.parametrize("seed", range(8))
def test_similar_scores_have_similar_functions(seed: int) -> None:
    """Coefficients of functions of ranks are used for functions of places on a smooth scale, which are near them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=600)
    ranks = normal_scores(values)[0]
    functions, others = (
        SmoothFunctions(scores, 8).of_scores(scores)
        for scores in (ranks, 0.97 * ranks + 0.02 * np.sin(ranks))
    )
    assert all(np.corrcoef(functions[:, k], others[:, k])[0, 1] > 0.9 for k in range(8))
    # of a column that is turned around, functions are those of the column up to signs
    turned = SmoothFunctions(-ranks, 8).of_scores(-ranks)
    np.testing.assert_allclose(np.abs(turned), np.abs(functions), atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_weak_parent_gains_no_more_of_a_count_than_its_correlation(seed: int) -> None:
    # a transformation of few values and heavy tails fit the count alone as well
    rng = np.random.default_rng(seed)
    count = rng.poisson(3, 2_500).astype(float)
    parent = 0.05 * count + rng.normal(size=2_500)
    scorer = curves_scorer([curved_column("count", count), curved_column("parent", parent)])
    alone, given = scorer.score([ScoredFamily((0, 0)), ScoredFamily((0, 0), ((1, 0),))])
    correlation = np.corrcoef(count, parent)[0, 1]
    of_line = -1_250 * np.log1p(-(correlation**2)) - 0.5 * np.log(2_500)
    assert given - alone + scorer.rule.edge_cost < of_line + 5
