"""Sums of effects fitted to rows: against regressions without each row, and stacks against a search of all choices."""

import itertools
import math
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of, effects_on, network_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pricing_examples import curved_column
from scipy.optimize import minimize
from scipy.special import ndtri
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression

from gomea_bn import DiscretizedBayesNet, average_families, read_table
from gomea_bn.learning.averaging import Member, RepeatedValues, best_stack, mixture_weight
from gomea_bn.learning.averaging.effects_fit import (
    OwnScale,
    design_of_model,
    design_of_terms,
    fill_group_scales,
    fitted_effects,
    functions_of_places,
    left_out_residuals,
    scores_of_parent,
    width_coefficients,
)
from gomea_bn.network.conditionals import (
    Columns,
    FamilyEffects,
    FamilyLogit,
    FixedValue,
    LineScale,
    Terms,
    UnitScale,
    broken_line,
)
from gomea_bn.network.conditionals.terms import SumOfTerms
from gomea_bn.problems import (
    CurveSizes,
    NumberFunctions,
    ScoredVariable,
    SmoothFunctions,
    best_curve_model,
    normal_scores,
    sizes_and_functions,
)

Floats = NDArray[np.float64]


def slow_ridge(z: Floats, design: Floats, precisions: Floats) -> Floats:
    """Return coefficients, with every prior as one more row."""
    rows = np.vstack([design, np.diag(np.sqrt(precisions))])
    return np.asarray(np.linalg.lstsq(rows, np.concatenate([z, np.zeros(len(precisions))]), rcond=None)[0])


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 4), st.sampled_from([0.01, 0.1, 3.0]))
@settings(max_examples=40)
def test_left_out_residuals_are_those_of_regressions_without_each_row(
    seed: int, n: int, n_columns: int, precision: float
) -> None:
    rng = np.random.default_rng(seed)
    design, z = rng.normal(size=(n, n_columns)), rng.normal(size=(n, 2))
    precisions = precision * rng.uniform(0.5, 2, n_columns)
    coefficients, residuals = left_out_residuals(z, design, precisions)
    for k in range(2):
        np.testing.assert_allclose(
            coefficients[:, k], slow_ridge(z[:, k], design, precisions), rtol=1e-8, atol=1e-10
        )
        for row in range(n):
            others = np.arange(n) != row
            without = slow_ridge(z[others, k], design[others], precisions)
            assert residuals[row, k] == pytest.approx(z[row, k] - design[row] @ without, abs=1e-8)


def unit_scale(values: Floats) -> UnitScale:
    # the range is so wide that noise never reaches its ends
    return UnitScale(float(values.mean()), float(values.std()), (-30.0, 30.0))


def example(
    seed: int, n: int, law: Any = lambda x, w: 0.8 * x - 0.4 * w, noise: float = 0.3
) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(2, n))
    return {"x": x, "w": w, "y": law(x, w) + noise * rng.standard_normal(n)}


def fit_of(
    values: dict[str, Any],
    terms: Terms,
    precisions: Floats,
    n_levels: dict[str, int] | None = None,
    scales: list[OwnScale] | None = None,
) -> tuple[Member, dict[str, LineScale]]:
    """Return the effects of terms on "y", with scales in own units."""
    columns = Columns(values)
    of_parents: dict[str, LineScale] = {
        name: unit_scale(values[name]) for name in values if name not in (n_levels or {})
    }
    design = design_of_terms(terms, precisions, columns, {False: of_parents}, n_levels or {})
    parents = tuple(name for name in of_parents if name != "y")
    member = fitted_effects(
        design,
        parents,
        tuple(n_levels or {}),
        columns,
        {name: columns.positions(name, of_parents[name]) for name in parents},
        n_levels or {},
        scales or [OwnScale(values["y"], of_parents["y"], in_units=True)],
        RepeatedValues(values["y"], of_parents["y"]),
    )
    return member, of_parents


LINES = Terms(tuple(broken_line(name, np.array([-5.0, 5.0]), in_units=False) for name in "xw"))


def test_left_out_densities_are_those_of_refits_without_each_row() -> None:
    values = example(0, 60)
    member, scales = fit_of(values, LINES, np.full(4, 0.5))
    effects: Any = member.fitted
    assert isinstance(effects, FamilyEffects)
    assert effects.freedom[0] > 50
    # the prior of coefficients is around the mean of the terms
    rows = LINES.of_rows(Columns(values), {False: scales}, {})
    z = scales["y"].of_values(values["y"])
    design = np.column_stack([np.ones(60), rows - rows.mean(axis=0)])
    precisions = np.array([1e-3, *[0.5] * 4])
    residuals = np.empty(60)
    for row in range(60):
        others = np.arange(60) != row
        residuals[row] = z[row] - design[row] @ slow_ridge(z[others], design[others], precisions)
    width = math.sqrt(((residuals**2).sum() + 0.02) / 61)
    assert effects.scales.tolist() == pytest.approx([width])
    expected = student(60, scale=width).logpdf(residuals) - math.log(values["y"].std())
    np.testing.assert_allclose(member.left_out, expected, atol=1e-6)
    # the coefficients are the mean of the posterior
    coefficients = slow_ridge(z, design, precisions)
    sums = SumOfTerms(effects.terms, effects.coefficients, {False: scales}, {}).of(Columns(values))
    np.testing.assert_allclose(sums, design @ coefficients, atol=0.03 * width)


def test_new_rows_are_as_likely_as_left_out_ones() -> None:
    member, scales = fit_of(example(1, 400), LINES, np.full(4, 0.5))
    effects: Any = member.fitted
    new = example(2, 20_000)
    sums = SumOfTerms(effects.terms, effects.coefficients, {False: scales}, {}).of(Columns(new))
    law = student(effects.freedom[0], sums, effects.scales[0])
    of_new = law.logpdf(scales["y"].of_values(new["y"])) - math.log(example(1, 400)["y"].std())
    assert member.left_out.mean() == pytest.approx(of_new.mean(), abs=4 * 0.75 / math.sqrt(400))


@pytest.mark.parametrize(("freedom", "chosen"), [(2.5, 3.0), (7.0, 8.0), (1e6, 2000.0)])
def test_the_tail_is_that_of_the_noise(freedom: float, chosen: float) -> None:
    rng = np.random.default_rng(44)
    values = example(4, 2_000, noise=0.0)
    noise = 0.05 * student(freedom).rvs(2_000, random_state=rng)
    values["y"] = values["y"] + noise
    effects: Any = fit_of(values, LINES, np.full(4, 1e-3))[0].fitted
    assert effects.freedom.tolist() == [chosen]
    # the scale is that of the noise, not its standard deviation
    fitted = student.fit(noise, fdf=chosen, floc=0)[2] / values["y"].std()
    assert effects.scales[0] == pytest.approx(fitted, rel=0.03)


def test_groups_have_noise_of_their_own_that_is_pooled_where_rows_are_few() -> None:
    values: dict[str, Any] = example(5, 605)
    rng = np.random.default_rng(55)
    values["g"] = np.repeat([0, 1, 2], [300, 300, 5])
    widths = np.array([0.1, 1.0, 1.0])[values["g"]]
    values["y"] = 0.8 * values["x"] + widths * rng.normal(size=605)
    effects: Any = fit_of(values, LINES, np.full(4, 1e-3), {"g": 3})[0].fitted
    spread = values["y"].std()
    assert effects.scales[0] * spread == pytest.approx(0.15, abs=0.06)
    assert effects.scales[1] * spread == pytest.approx(1.0, rel=0.15)
    # between that of five rows and that of all
    assert 0.3 < effects.scales[2] * spread < 1.5
    # rows of little noise say more: the slope is that of the first group
    alone = np.polyfit(values["x"][:300], values["y"][:300], 1)[0]
    scale = unit_scale(values["x"])
    ends = {name: np.array([0.0, scale.spread]) if name == "x" else np.zeros(2) for name in "xw"}
    of_units = {name: unit_scale(values[name]) for name in "xw"}
    low, high = SumOfTerms(effects.terms, effects.coefficients, {False: of_units}, {"g": 3}).of(Columns(ends))
    assert (high - low) * spread / scale.spread == pytest.approx(alone, abs=0.01)


def test_few_rows_per_group_have_one_noise() -> None:
    values: dict[str, Any] = example(6, 60)
    values["g"] = np.arange(60) % 7
    effects: Any = fit_of(values, LINES, np.full(4, 0.5), {"g": 7})[0].fitted
    assert len(effects.scales) == 1


def variables_of(values: dict[str, Any], names: str) -> list[ScoredVariable]:
    return [
        ScoredVariable(name, values[name].astype(np.int32), 3)
        if name == "g"
        else ScoredVariable(name, values[name].astype(np.int32), 5, is_ordered=True)
        if name == "s"
        else curved_column(name, values[name])
        for name in names
    ]


@pytest.mark.parametrize(
    ("law", "words", "names"),
    [
        (lambda x, w, g: 0.8 * x - 0.5 * w + g, "lines", "xwgy"),
        (lambda x, w, g: np.sin(2 * x) + 0.2 * w, "curves", "xwy"),
        (lambda x, w, g: x * w, "effects that depend on each other", "xwy"),
        (lambda x, w, g: 1.0 * g, "amounts of levels", "gy"),
        (lambda x, w, g: 0.8 * x + 0.2 * np.digitize(w, (-1, 0, 1)), "lines", "xsy"),
    ],
)
def test_the_posterior_is_that_of_the_model_that_the_score_chose(law: Any, words: str, names: str) -> None:
    """Sums of the kept terms are those of a ridge regression on the functions of the search."""
    rng = np.random.default_rng(7)
    x, w = rng.normal(size=(2, 500))
    values: dict[str, Any] = {"x": x, "w": w, "g": rng.integers(0, 3, 500)}
    values["s"] = np.digitize(w, (-1, 0, 1))
    values["y"] = law(x, w, values["g"]) + 0.3 * rng.normal(size=500)
    family = variables_of(values, names)
    sizes, functions = sizes_and_functions(family)
    assert sizes is not None
    model = best_curve_model(family, sizes)
    assert model is not None
    assert bool(len(model.products)) == (words == "effects that depend on each other")
    parents = [name for name in names[:-1] if name not in "gs"]
    groups = [name for name in names if name in "gs"]
    scales: dict[str, LineScale] = {name: unit_scale(values[name]) for name in (*parents, "y")}
    columns, n_levels = Columns(values), {name: {"g": 3, "s": 5}[name] for name in groups}
    known = dict(zip(names, functions, strict=True))
    design = design_of_model(model, list(names[:-1]), columns, {False: scales, True: scales}, known, sizes)
    np.testing.assert_allclose(design.columns.mean(axis=0), 0.0, atol=1e-12)
    assert np.isfinite(design.precisions).all()
    places = {name: columns.positions(name, scales[name]) for name in parents}
    own, repeated = (
        [OwnScale(values["y"], scales["y"], in_units=True)],
        RepeatedValues(values["y"], scales["y"]),
    )
    member = fitted_effects(design, tuple(parents), tuple(groups), columns, places, n_levels, own, repeated)
    effects: Any = member.fitted
    assert effects.words == words
    full = np.column_stack([np.ones(500), design.columns])
    z = scales["y"].of_values(values["y"])
    expected = full @ slow_ridge(z, full, np.concatenate([[1e-3], design.precisions]))
    by_units = {False: scales, True: scales}
    sums = SumOfTerms(effects.terms, effects.coefficients, by_units, n_levels).of(columns)
    # every curve may be moved by .01 scales; groups weigh rows
    tolerance = 0.01 * (len(parents) + 1) * effects.scales.min() + (0.05 if groups else 0.0)
    assert np.abs(sums - expected).max() < tolerance
    # the score is that of its best model
    assert model.score > best_curve_model([*family[:-2], family[-1]], sizes).score if len(names) > 2 else True


@pytest.mark.parametrize("n_distinct", [3, 8, 400])
def test_equal_places_leave_fewer_functions_than_ranks_had(n_distinct: int) -> None:
    values = example(9, 2_000, lambda x, w: np.sin(2 * x) + 0.5 * w + 2 * x * w)
    family = variables_of(values, "xwy")
    sizes, functions = sizes_and_functions(family)
    assert sizes is not None
    model = best_curve_model(family, sizes)
    assert model is not None
    assert len(model.products)
    assert max(model.functions[0]) >= 8
    ranks = np.argsort(np.argsort(values["x"]))
    coarse = {**values, "x": np.sort(values["x"])[ranks * n_distinct // 2_000]}
    scales: dict[str, LineScale] = {name: unit_scale(coarse[name]) for name in "xwy"}
    by_units = {False: scales, True: scales}
    design = design_of_model(
        model, ["x", "w"], Columns(coarse), by_units, dict(zip("xwy", functions, strict=True)), sizes
    )
    assert design.columns.shape == (2_000, len(design.precisions))
    of_x = sum(functions.size for functions in design.functions if functions.of == ("x",))
    assert 1 <= of_x <= n_distinct


def test_curves_are_thinned_within_the_tolerance() -> None:
    values = example(8, 2_000, lambda x, w: np.sin(x) + 0.0 * w)
    family = variables_of(values, "xy")
    sizes = CurveSizes(24, has_units=False, factors=(0, 0, 0))
    model = best_curve_model(family, sizes)
    assert model is not None
    scales: dict[str, LineScale] = {name: unit_scale(values[name]) for name in "xy"}
    columns = Columns(values)
    known = {"x": NumberFunctions(values["x"], normal_scores(values["x"])[0], 24, has_units=False)}
    design = design_of_model(model, ["x"], columns, {False: scales, True: scales}, known, sizes)
    places = columns.positions("x", scales["x"])
    coefficients = np.random.default_rng(0).normal(size=1 + design.columns.shape[1]) / (
        1 + np.arange(1 + design.columns.shape[1])
    )
    exact = coefficients[0] + design.columns @ coefficients[1:]
    n_before = np.inf
    for tolerance in (0.0, 1e-6, 0.01, 0.1, 0.5, 10.0):
        terms, of_terms = design.effects(coefficients, {"x": places}, tolerance)
        sums = SumOfTerms(terms, of_terms, {False: scales}, {}).of(columns)
        assert np.abs(sums - exact).max() <= tolerance + 1e-8
        assert terms.n_terms <= n_before
        n_before = terms.n_terms
    assert n_before == 2


def member_of(n_parameters: int, left_out: Floats) -> Member:
    """Return a member with a number of parameters."""
    terms = Terms((broken_line("x", np.linspace(0, 1, n_parameters - 1), in_units=False),))
    effects = FamilyEffects(("x",), (), terms, np.zeros(n_parameters), np.ones(1), np.ones(1))
    assert effects.n_parameters == n_parameters
    return Member(effects, left_out)


@given(st.integers(0, 10_000), st.floats(-1, 1), st.sampled_from([0.0, 0.5, 3.0]))
@settings(max_examples=60)
def test_the_best_stack_is_that_of_all_choices(seed: int, shift: float, price: float) -> None:
    rng = np.random.default_rng(seed)
    members = [
        member_of(int(rng.integers(3, 30)), rng.normal(size=80) + shift * k / 2)
        for k in range(int(rng.integers(1, 4)))
    ]
    base, n_base = members[0].left_out.sum(), members[0].fitted.n_parameters
    grid = np.linspace(0.005, 80 / 81, 300)[:, None]
    possible = []
    for one in members:
        further = max(one.fitted.n_parameters - n_base, 0)
        possible.append((one.left_out.sum() - base - price * further, one.left_out))
    for one, other in itertools.combinations(members, 2):
        logs = np.logaddexp(one.left_out + np.log1p(-grid), other.left_out + np.log(grid))
        best = logs[logs.sum(axis=1).argmax()]
        further = max(one.fitted.n_parameters + other.fitted.n_parameters - n_base, 0)
        possible.append((best.sum() - base - price * further, best))
    most = max(gain for gain, _ in possible)
    stack, left_out = best_stack(members, price)
    n_all = sum(fitted.n_parameters for _, fitted in stack.members)
    gain = left_out.sum() - base - price * max(n_all - n_base, 0)
    # a choice counts if it gains 2 nats beyond the one before
    assert gain >= most - 2.0 * len(possible) - 0.05
    assert gain >= 0 or len(stack.members) == 1
    if most < 2.0:
        assert stack.members == ((1.0, members[0].fitted),)
    total = np.logaddexp.reduce(
        [
            np.log(weight) + next(m.left_out for m in members if m.fitted is fitted)
            for weight, fitted in stack.members
        ]
    )
    np.testing.assert_allclose(left_out, total, rtol=1e-9, atol=1e-12)


def test_rows_that_are_impossible_under_both_do_not_choose() -> None:
    first, second = np.zeros(50), np.full(50, 0.5)
    first[3] = second[3] = -np.inf
    stack, left_out = best_stack([member_of(3, first), member_of(3, second)], 0.0)
    assert stack.members[-1][0] > 0.9
    assert np.isneginf(left_out[3])


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
def test_a_further_member_never_has_all_the_weight(gain: float) -> None:
    weight = mixture_weight(np.zeros(50) - gain, np.zeros(50))
    assert weight == pytest.approx(50 / 51)
    assert mixture_weight(np.zeros(50), np.zeros(50) - gain) < 1e-3


@pytest.mark.parametrize("outer", [np.exp, np.tanh])
def test_a_transformation_makes_noise_normal(outer: Any) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=1_500)
    inner = 1.2 * np.sin(x) + 0.3 * rng.normal(size=1_500)
    frame = pd.DataFrame({"x": x, "y": outer(inner)})
    network = average_families(network_of(frame, [("x", "y")]), frame, line="single", prefer="density")
    effects = effects_on(network, "y")
    assert effects.transform is not None
    scale = network.families["y"].facts.scales[False]["y"]
    moved = effects.own_scale(scale).of_values(frame["y"].to_numpy())
    assert moved.std() == pytest.approx(1.0, abs=0.02)
    # of the noise that is added inside, apart from its ends
    assert np.corrcoef(moved, inner)[0, 1] > 0.99
    # nearer to it than without
    z = scale.of_values(frame["y"].to_numpy())
    assert np.corrcoef(moved, inner)[0, 1] > np.corrcoef(z, inner)[0, 1]


@pytest.mark.parametrize("spacing", [0.02, 0.1, 0.25])
def test_repeated_values_gain_no_density(spacing: float) -> None:
    x = np.round(np.random.default_rng(2).normal(size=400) / spacing) * spacing
    frame = pd.DataFrame({"x": x, "y": x})
    network = average_families(
        network_of(frame, [("x", "y")], n_bins=8), frame, prefer="density", line="single"
    )
    of_rows = network.log_density_terms(frame)["y"]
    # all that is known of a value is the interval that rounds to it
    assert of_rows.mean() < -math.log(spacing) + 0.02
    _, loss, _ = conditionals_of(network).log_losses["y"]
    assert loss > math.log(spacing) - 0.02


def test_effects_on_a_column_that_is_clipped_keep_their_noise() -> None:
    """Its scale is steep where values repeat, whatever the noise."""

    def rows(n: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=(2, n)) * [[1.0], [1.3]]
        a, b = np.clip(a, -2, 2), np.clip(b, -3, 3)
        return pd.DataFrame({"a": a, "b": b, "c": np.clip(a * b + 0.1 * rng.normal(size=n), -1.5, 1.5)})

    frame, new = rows(900, 21), rows(2_000, 22)
    network = average_families(
        network_of(frame, [("a", "c"), ("b", "c")]), frame, n_copies=5, line="single", prefer="density"
    )
    assert effects_on(network, "c").scales.max() < 0.3
    tables = average_families(network.of_tables(), frame, n_copies=5, line="none")
    inside = new[new["a"].between(*network.support["a"]) & new["b"].between(*network.support["b"])]
    logs, of_tables = (one.log_density_terms(inside)["c"].mean() for one in (network, tables))
    # up to the density of the noise
    assert of_tables + 0.2 < logs < -math.log(0.1 * math.sqrt(2 * math.pi)) - 0.45


def test_a_fixed_value_is_no_member_of_a_mixture() -> None:
    """Its weight is all or nothing."""
    stack, _ = best_stack([Member(FixedValue(1.0), np.zeros(20))], 0.0)
    assert stack.fixed_value == 1.0


@pytest.mark.parametrize("freedom", [np.inf, 8.0])
def test_coefficients_of_widths_are_the_likeliest_ones(freedom: float) -> None:
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(500, 3))
    columns -= columns.mean(axis=0)
    residuals = np.exp(columns @ [0.8, -0.3, 0.0]) * rng.normal(size=500)
    precisions = np.array([1.0, 2.0, 5.0])
    information = 2.0 if freedom == np.inf else 2 * freedom / (freedom + 3)

    def loss(parameters: Floats) -> float:
        scales = np.exp(parameters[0] + columns @ parameters[1:])
        law = norm.logpdf if freedom == np.inf else student(freedom).logpdf
        prior = information / 2 * float(precisions @ parameters[1:] ** 2)
        return float(prior - (law(residuals / scales) - np.log(scales)).sum())

    expected = minimize(loss, np.zeros(4), method="BFGS").x
    found = width_coefficients(residuals, columns, precisions, freedom)
    np.testing.assert_allclose(found, expected[1:], atol=0.01)


def test_widths_that_follow_a_parent_are_kept_and_predict_new_rows() -> None:
    def widening(seed: int, n: int) -> dict[str, Floats]:
        rng = np.random.default_rng(seed)
        x, w = rng.normal(size=(2, n))
        return {"x": x, "w": w, "y": 0.5 * x + 0.3 * np.exp(0.6 * w) * rng.standard_normal(n)}

    values, new = widening(1, 800), widening(2, 20_000)
    columns = Columns(values)
    scales: dict[str, LineScale] = {name: unit_scale(values[name]) for name in values}
    by_units = {False: scales, True: scales}
    design = design_of_terms(LINES, np.full(4, 0.5), columns, by_units, {})
    of_w = Terms(LINES.functions[1:])
    members = []
    for widths in (None, design_of_terms(of_w, np.ones(2), columns, by_units, {})):
        members.append(
            fitted_effects(
                replace(design, widths=widths),
                ("x", "w"),
                (),
                columns,
                {name: columns.positions(name, scales[name]) for name in "xw"},
                {},
                [OwnScale(values["y"], scales["y"], in_units=True)],
                RepeatedValues(values["y"], scales["y"]),
            )
        )
    of_one, following = members
    assert following.left_out.mean() > of_one.left_out.mean() + 0.15
    effects: Any = following.fitted
    assert effects.words == "lines with noise that widens with w"
    assert effects.n_parameters == of_one.fitted.n_parameters + 1
    sums, logs = (
        SumOfTerms(terms, of_terms, {False: scales}, {}).of(Columns(new))
        for terms, of_terms in (
            (effects.terms, effects.coefficients),
            (effects.width_terms, effects.width_coefficients),
        )
    )
    slope = np.polyfit(new["w"], logs, 1)[0]
    assert slope == pytest.approx(0.6, abs=0.08)
    law = student(effects.freedom[0], sums, effects.scales[0] * np.exp(logs))
    of_new = law.logpdf(scales["y"].of_values(new["y"])) - math.log(values["y"].std())
    assert following.left_out.mean() == pytest.approx(of_new.mean(), abs=0.12)


@pytest.mark.parametrize("freedom", [math.inf, 3.0])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_scales_of_groups_are_those_of_expectation_and_maximisation(freedom: float, n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    residuals, groups = rng.standard_t(4, 200), rng.integers(n_groups, size=200)
    counts, sums, scales = np.empty((3, n_groups))
    fill_group_scales(residuals, groups, freedom, counts, sums, scales)
    variances = np.full(n_groups, np.inf)
    for step in range(1 if freedom == math.inf else 8):
        shares = np.ones(200)
        if step:
            shares = (freedom + 1) / (freedom + residuals**2 / variances[groups])
        # a row of variance .02 joins all rows, and eight rows of all rows join every group
        of_all = ((shares * residuals**2).sum() + 0.02) / (shares.sum() + 1)
        variances = np.array([of_all])
        if n_groups > 1:
            own = [groups == group for group in range(n_groups)]
            variances = np.array(
                [((shares * residuals**2)[g].sum() + 8 * of_all) / (shares[g].sum() + 8) for g in own]
            )
    np.testing.assert_allclose(scales, np.sqrt(variances), rtol=1e-12)


def test_functions_of_a_parent_with_many_equal_rows_are_those_of_its_ranks() -> None:
    values = np.minimum(np.random.default_rng(5).geometric(0.3, 2_000), 30).astype(np.float64)
    # a continuous distribution has the least value at its end, and three tenths of the rows have it
    places = ndtri((np.searchsorted(np.sort(values), values, side="left") + 0.5) / (len(values) + 1))
    scores = scores_of_parent(values, places)
    np.testing.assert_array_equal(scores, normal_scores(values)[0])
    smooth = SmoothFunctions(scores, 5)
    functions = functions_of_places("x", smooth, scores, places)
    np.testing.assert_allclose(functions.at(places), smooth.of_rows(0, len(values)), atol=1e-9)


@given(st.lists(st.integers(-300, 300), min_size=2, max_size=100, unique=True))
def test_knots_of_ranks_are_the_scores_nearest_to_even_ones(numbers: list[int]) -> None:
    scores = np.sort(numbers) / 100
    places = np.arange(len(scores), dtype=np.float64)
    smooth = SmoothFunctions(normal_scores(np.arange(40.0))[0], 5)
    functions = functions_of_places("x", smooth, scores, places)
    even = np.linspace(scores[0], scores[-1], 32)
    knots = functions.knots[1:-1]
    assert {0, len(scores) - 1} <= set(knots)
    taken = scores[knots.astype(int)]
    nearest = np.abs(scores[:, None] - even).min(axis=0)
    np.testing.assert_allclose(np.abs(taken[:, None] - even).min(axis=0), nearest, atol=1e-12)
    assert len(knots) <= 32


def test_knots_of_many_values_need_little_memory() -> None:
    scores = normal_scores(np.arange(100_000.0))[0]
    smooth = SmoothFunctions(scores, 5)
    places = scores**3
    tracemalloc.start()
    functions_of_places("x", smooth, scores, places)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # a float of every pair of a value and a knot takes 26 MB
    assert most < 10_000_000


def test_functions_of_a_parent_whose_places_are_near_its_ranks_are_those_of_places() -> None:
    values = np.random.default_rng(6).normal(size=500)
    places = normal_scores(values)[0] + 0.01
    scores = scores_of_parent(values, places)
    assert scores is places
    smooth = SmoothFunctions(scores, 5)
    functions = functions_of_places("x", smooth, scores, places)
    assert functions.degree == 3
    np.testing.assert_allclose(functions.at(places), smooth.of_rows(0, len(values)), atol=1e-9)


def test_a_logit_of_a_count_is_as_likely_as_that_of_its_ranks() -> None:
    rng = np.random.default_rng(8)
    counts = rng.geometric(0.25, 1_000)
    scores = normal_scores(counts.astype(np.float64))[0]
    outcome = rng.random(1_000) < 1 / (1 + np.exp(0.3 - 0.9 * scores))
    frame = pd.DataFrame({"x": counts, "y": np.where(outcome, "yes", "no")})
    # copies of rows are counts of two columns
    network = DiscretizedBayesNet.from_table(read_table(frame.sort_values("x")), [("x", "y")], {"x": [2.5]})
    averaged = average_families(network, frame)
    (member,) = averaged.conditionals.stacks["y"].members
    assert isinstance(member[1], FamilyLogit)
    of_rows = LogisticRegression(C=np.inf).fit(scores[:, None], outcome).predict_proba(scores[:, None])
    likeliest = float(np.log(of_rows[np.arange(1_000), outcome.astype(int)]).sum())
    assert float(averaged.log_density_terms(frame)["y"].sum()) > likeliest - 1.0
