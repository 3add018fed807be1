"""Scores of discrete columns as logits of curves of their parents, against SciPy's optimum and by what they are for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray
from pricing_examples import curved_column, curves_scorer, functions_of_rows

from gomea_bn.problems import (
    CurveModel,
    FamilyScorer,
    ScoredFamily,
    ScoredVariable,
    best_curve_model,
    curve_data,
    sizes_and_functions,
)
from gomea_bn.problems.curves import curves_of_views, new_curve_scratch
from gomea_bn.problems.kernels.curves import LINES, SMOOTH, regress_levels
from gomea_bn.problems.kernels.logits import several_indices_gain

Values = NDArray[np.float64]


def discrete(name: str, codes: NDArray[np.int64], n_levels: int) -> ScoredVariable:
    return ScoredVariable(name, codes.astype(np.int32), n_levels)


def score(scorer: FamilyScorer, child: int, *parents: int) -> float:
    return float(scorer.score([ScoredFamily((child, 0), tuple((p, 0) for p in parents))], use_cache=False)[0])


def levels_of(index: Values, n_levels: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return ordered levels that logistic noise and thresholds make of an index."""
    noisy = index + generator.logistic(size=len(index))
    return np.searchsorted(np.quantile(noisy, np.arange(1, n_levels) / n_levels), noisy)


def chain(n_levels: int, n_rows: int = 400, seed: int = 0) -> list[ScoredVariable]:
    """Columns of a chain a -> b -> k, in which k is discrete, with a discrete column g -> k and an unrelated one u."""
    generator = np.random.default_rng(seed)
    a, u = generator.normal(size=(2, n_rows))
    b = np.sin(a) + 0.5 * generator.normal(size=n_rows)
    g = generator.integers(0, 3, n_rows)
    k = levels_of(3 * b + np.array([0.0, 1.5, -1.0])[g], n_levels, generator)
    return [
        curved_column("a", a),
        curved_column("b", b),
        discrete("g", g, 3),
        discrete("k", k, n_levels),
        curved_column("u", u),
    ]


def slow_log_evidence(
    scorer: FamilyScorer,
    child: int,
    parents: tuple[int, ...],
    prior: int,
    factor: float,
    width: float,
    *,
    in_order: bool = False,
) -> float:
    """Return the gain over the shares of the levels by SciPy's optimiser, with numerical second derivatives.

    Amounts of levels move the log odds of the outer levels of the child by a deviation of 2 / sqrt(width). Levels
    `in_order` keep positions at equal distances.
    """
    curves = scorer.rows.curves
    logits = curves.logits
    precisions = curves.precisions[prior]
    chosen = [
        function
        for parent in parents
        for function in range(
            curves.first[parent],
            min(curves.first[parent + 1], curves.first[parent] + logits.most_functions[parent]),
        )
        if precisions[function] < np.inf
    ]
    x, codes = functions_of_rows(logits.cells, chosen), logits.codes[child]
    n_levels, shares = int(logits.n_levels[child]), logits.shares[child]
    free = list(range(1, n_levels - 1))
    ends = 0, n_levels - 1
    first = np.linspace(-1, 1, n_levels)
    first -= shares[:n_levels] @ first
    first /= np.sqrt(shares[:n_levels] @ first**2)
    of_amounts = curves.of_amounts[chosen] * np.ptp(first) ** 2 / 4
    of_prior = np.where(of_amounts > 0, width * of_amounts, factor * precisions[chosen])

    def loss(parameters: Values, functions: Values, penalty: Values) -> float:
        n_slopes = functions.shape[1] + 1
        constants, positions = np.log(shares[:n_levels]), first.copy()
        constants[free] = parameters[n_slopes : n_slopes + len(free)]
        if not in_order:
            positions[free] = parameters[n_slopes + len(free) :]
        index = parameters[0] + functions @ parameters[1:n_slopes]
        logs = constants + positions * index[:, None]
        logs -= scipy.special.logsumexp(logs, axis=1, keepdims=True)
        slopes = parameters[1:n_slopes]
        return float(0.5 * penalty @ slopes**2 - logs[np.arange(len(codes)), codes].sum())

    def laplace(functions: Values, penalty: Values, *, has_positions: bool) -> float:
        start = np.concatenate([np.zeros(1 + functions.shape[1]), np.log(shares[free]), first[free]])
        found = scipy.optimize.minimize(
            loss, start, (functions, penalty), "L-BFGS-B", options={"maxiter": 5000}
        )
        n = len(start) if has_positions else len(start) - len(free)
        step = 1e-3
        hessian = np.empty((n, n))
        for i in range(n):
            for j in range(i + 1):
                total = 0.0
                for si, sj in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                    moved = found.x.copy()
                    moved[i] += si * step
                    moved[j] += sj * step
                    total += si * sj * loss(moved, functions, penalty)
                hessian[i, j] = hessian[j, i] = total / (4 * step**2)
        # positions are standard normal, given their mean and their variance over the rows
        places = np.arange(n - len(free), n) if has_positions else np.empty(0, np.int64)
        hessian[places, places] += 1.0
        of_positions = 0.0
        if has_positions and free:
            positions = first.copy()
            positions[free] = found.x[places]
            weights = shares[:n_levels]
            centre = np.average(positions, weights=weights)
            variance = np.average((positions - centre) ** 2, weights=weights)
            of_positions = 1 - 0.5 * float(((positions - centre) ** 2).sum()) / variance
        determinants = np.log(penalty).sum() - np.linalg.slogdet(hessian)[1]
        return of_positions - found.fun + 0.5 * determinants

    of_root = laplace(np.empty((len(x), 0)), np.empty(0), has_positions=False)
    assert ends == (0, n_levels - 1)
    return laplace(x, of_prior, has_positions=not in_order) - of_root


def best_log_evidence(
    scorer: FamilyScorer, child: int, parents: tuple[int, ...], prior: int, *, in_order: bool = False
) -> float:
    """Return the greatest gain of `slow_log_evidence` for some factors and widths."""
    has_levels = any(scorer.rows.curves.logits.n_levels[parent] for parent in parents)
    return max(
        slow_log_evidence(scorer, child, parents, prior, factor, width, in_order=in_order)
        for factor in (1.0, 0.5, 0.25, 0.125)
        for width in ((4.0, 2.0, 1.0, 0.5) if has_levels else (1.0,))
    )


@pytest.mark.parametrize("n_levels", [2, 4])
@pytest.mark.parametrize("parents", [(1,), (1, 2)])
def test_scores_are_those_of_the_best_logit(n_levels: int, parents: tuple[int, ...]) -> None:
    scorer = curves_scorer(chain(n_levels))
    gain = score(scorer, 3, *parents) - score(scorer, 3) + len(parents) * scorer.rule.edge_cost
    of_priors = [best_log_evidence(scorer, 3, parents, prior) for prior in (LINES, SMOOTH)]
    assert gain > 50
    assert gain == pytest.approx(max(of_priors), abs=1.5)


@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_parents_of_parents_and_unrelated_columns_add_nothing(n_levels: int) -> None:
    scorer = curves_scorer(chain(n_levels, 3_000))
    alone = score(scorer, 3, 1, 2)
    # tables let something of a through the bins of b
    families = [ScoredFamily((3, 0), tuple((p, 0) for p in parents)) for parents in ((1, 2), (0, 1, 2))]
    without, with_grandparent = scorer.table_scores(families)
    assert with_grandparent > without
    assert score(scorer, 3, 0, 1, 2) < alone - 2
    assert score(scorer, 3, 1, 2, 4) < alone - 2
    assert alone > without + 50


def test_irrelevant_parents_make_logits_no_better_than_tables() -> None:
    scorer = curves_scorer(chain(3, 500))
    root = score(scorer, 3)
    assert score(scorer, 3, 4) < root
    # a discrete parent alone may be part of a logit too, so that no further parent opens the way to one
    assert score(scorer, 3, 2, 4) < score(scorer, 3, 2)


@pytest.mark.parametrize("n_levels", [3, 7])
def test_unrelated_numbers_have_bayes_factors_of_at_most_one_in_the_mean(n_levels: int) -> None:
    generator, gains = np.random.default_rng(n_levels), []
    for _ in range(150):
        scorer = curves_scorer(
            [
                curved_column("x", generator.normal(size=150)),
                discrete("k", generator.integers(0, n_levels, 150), n_levels),
            ]
        )
        gains.append(score(scorer, 1, 0) - score(scorer, 1) + scorer.rule.edge_cost)
    assert np.mean(np.exp(gains)) < 1


def test_levels_without_an_order_find_their_positions() -> None:
    generator = np.random.default_rng(3)
    x = generator.normal(size=2_000)
    ordered = levels_of(3 * x, 4, generator)
    shuffled = np.array([2, 0, 3, 1])[ordered]
    scores = []
    for codes in (ordered, shuffled):
        scorer = curves_scorer([curved_column("x", x), discrete("k", codes, 4)])
        scores.append(score(scorer, 1, 0))
    assert scores[0] == pytest.approx(scores[1], abs=0.5)


def test_scores_hardly_depend_on_the_order_of_rows() -> None:
    variables = chain(3, 2_500)
    order = np.random.default_rng(1).permutation(2_500)
    moved = [
        curved_column(v.name, np.asarray(v.values, np.float64)[order])
        if not v.n_levels
        else discrete(v.name, np.asarray(v.values)[order].astype(np.int64), v.n_levels)
        for v in variables
    ]
    first, second = (score(curves_scorer(of), 3, 1, 2) for of in (variables, moved))
    assert first == pytest.approx(second, abs=0.5)


def test_the_last_rows_count_once() -> None:
    """Rows are added four at a time; whichever rows are the last ones, 33 rows have one score."""
    generator = np.random.default_rng(2)
    values = generator.normal(size=33)
    codes = levels_of(2 * values, 2, generator)
    gains = []
    for _ in range(8):
        order = generator.permutation(33)
        scorer = curves_scorer([curved_column("b", values[order]), discrete("k", codes[order], 2)])
        gains.append(score(scorer, 1, 0) - score(scorer, 1))
    assert np.ptp(gains) < 0.02


def test_many_rows_are_judged_by_some_of_them() -> None:
    scorer = curves_scorer(chain(2, 45_000))
    logits = scorer.rows.curves.logits
    assert logits.codes.shape[1] == 6_000
    assert logits.weight == pytest.approx(45_000 / 6_000)
    gains = [
        score(of_rows, 3, 1, 2) - of_rows.rows.curves.logits.alone[3]
        for of_rows in (scorer, curves_scorer(chain(2, 6_000, seed=1)))
    ]
    assert gains[0] / 45_000 == pytest.approx(gains[1] / 6_000, rel=0.06)


def test_columns_of_one_level_or_of_more_than_ten_have_tables_alone() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=300)
    one, eleven = np.zeros(300, np.int64), levels_of(4 * x, 11, generator)
    scorer = curves_scorer([curved_column("x", x), discrete("one", one, 2), discrete("eleven", eleven, 11)])
    families = [ScoredFamily((child, 0), ((0, 0),)) for child in (1, 2)]
    np.testing.assert_array_equal(scorer.score(families), scorer.table_scores(families))


def test_rows_that_a_parent_separates_have_a_finite_score_that_rises_with_the_rows() -> None:
    scores = []
    for n_rows in (50, 200, 800):
        x = np.random.default_rng(0).normal(size=n_rows)
        scorer = curves_scorer([curved_column("x", x), discrete("k", (x > 0).astype(np.int64), 2)])
        scores.append((score(scorer, 1, 0) - score(scorer, 1)) / n_rows)
    assert np.isfinite(scores).all()
    assert all(later > earlier for earlier, later in pairwise(scores))
    assert scores[-1] < np.log(2)


def test_rare_levels_of_parents_count_by_all_rows() -> None:
    """Some of the rows may have none of a rare level, and its information on the logit is then unknown."""
    generator = np.random.default_rng(4)
    n_rows = 4_000
    g = generator.choice(5, n_rows, p=[0.5, 0.3, 0.19, 0.008, 0.002])
    x = generator.normal(size=n_rows)
    k = levels_of(np.array([0.0, 1.0, -1.0, 2.0, 0.5])[g] + 0.3 * x, 2, generator)
    scorer = curves_scorer([curved_column("x", x), discrete("g", g, 5), discrete("k", k, 2)])
    gain = score(scorer, 2, 0, 1) - score(scorer, 2) + 2 * scorer.rule.edge_cost
    assert gain == pytest.approx(best_log_evidence(scorer, 2, (0, 1), LINES), abs=0.7)


def test_combinations_of_levels_count_as_their_rows_do() -> None:
    """Rows of the same levels are counted together."""
    generator = np.random.default_rng(6)
    n_rows = 1_200
    g, h = generator.integers(0, 3, n_rows), generator.integers(0, 2, n_rows)
    k = levels_of(1.0 * g - 1.5 * h, 3, generator)
    columns = [discrete("g", g, 3), discrete("h", h, 2), discrete("k", k, 3)]
    scorer = curves_scorer([*columns, curved_column("x", generator.normal(size=n_rows))])
    gain = score(scorer, 2, 0, 1) - score(scorer, 2) + 2 * scorer.rule.edge_cost
    assert gain == pytest.approx(best_log_evidence(scorer, 2, (0, 1), LINES), abs=1.0)


@pytest.mark.parametrize(("n_rows", "seed"), [(500, 1), (2_000, 3)])
def test_rare_levels_do_not_keep_positions_far_away(n_rows: int, seed: int) -> None:
    """Two unrelated parents, and a count with a level of a few rows, which a regression puts twenty deviations away."""
    generator = np.random.default_rng([37, seed, n_rows])
    g, h = generator.integers(0, 4, n_rows), generator.integers(0, 5, n_rows)
    generator.normal(size=9)
    count = np.minimum(generator.poisson(1.5, n_rows), 7)
    n_levels = int(count.max()) + 1
    variables = [
        curved_column("a", generator.normal(size=n_rows)),
        discrete("g", g, 4),
        discrete("h", h, 5),
        discrete("k", count, n_levels),
    ]
    scorer = curves_scorer(variables)
    gain = score(scorer, 3, 1, 2) - score(scorer, 3) + 2 * scorer.rule.edge_cost
    # a table, or a level that stays far away, is more than 80 nats below
    assert -60 < gain < 0


def several_columns(size: float, n_rows: int = 600, seed: int = 0) -> list[ScoredVariable]:
    """Levels of which one follows a number, another one a second number, and two neither of them."""
    generator = np.random.default_rng(seed)
    x, w = generator.normal(size=(2, n_rows))
    odds = np.column_stack([size * x, size * w, np.zeros((n_rows, 2))]) + generator.gumbel(size=(n_rows, 4))
    return [curved_column("x", x), curved_column("w", w), discrete("k", odds.argmax(axis=1), 4)]


def several_evidence(x: Values, codes: NDArray[np.int64], precisions: Values) -> float:
    """Return the gain of multinomial regression over the shares of the levels: Laplace's approximation, in full."""
    n_rows, n_levels = len(codes), int(codes.max()) + 1
    basis = scipy.linalg.null_space(np.ones((1, n_levels)))
    design, targets = np.column_stack([np.ones(n_rows), x]), np.eye(n_levels)[codes]

    def laplace(functions: Values, penalty: Values) -> float:
        parameters = np.zeros((functions.shape[1], n_levels - 1))
        for _ in range(50):
            logs = functions @ parameters @ basis.T
            logs -= scipy.special.logsumexp(logs, axis=1, keepdims=True)
            p = np.exp(logs)
            weights = np.einsum("ka,ik,kb->iab", basis, p, basis)
            weights -= np.einsum("ia,ib->iab", p @ basis, p @ basis)
            information = np.einsum("iab,ip,iq->paqb", weights, functions, functions)
            information = information.reshape(parameters.size, parameters.size)
            information += np.diag(np.repeat(penalty, n_levels - 1))
            gradient = functions.T @ ((targets - p) @ basis) - penalty[:, None] * parameters
            parameters = parameters + np.linalg.solve(information, gradient.ravel()).reshape(parameters.shape)
        value = float((targets * logs).sum() - 0.5 * (penalty @ parameters**2).sum())
        of_prior = (n_levels - 1) * np.log(penalty[1:]).sum()
        return value + 0.5 * float(of_prior - np.linalg.slogdet(information)[1])

    return laplace(design, np.append(0.0, precisions)) - laplace(design[:, :1], np.zeros(1))


@pytest.mark.parametrize(
    ("size", "prior", "most"),
    [(0.3, LINES, 0.2), (0.3, SMOOTH, 0.8), (1.5, LINES, 2.0), (30.0, SMOOTH, 40.0)],
)
def test_a_logit_with_an_index_per_level_has_its_evidence(size: float, prior: int, most: float) -> None:
    variables = several_columns(size)
    curves = curves_of_views(curve_data(variables), np.arange(4))
    scratch, views = new_curve_scratch(curves), np.arange(3)
    n_used = regress_levels(curves, scratch, views, 3, prior, False)
    functions = scratch.functions[:n_used].copy()
    found = several_indices_gain(curves.logits, scratch.logits, functions, 2, n_used, -np.inf)
    codes = curves.logits.codes[2].astype(np.int64)
    shares = curves.logits.shares[2][:4]
    precisions = (
        scratch.logits.state[0] * float((shares * (1 - shares)).mean()) * curves.precisions[prior, functions]
    )
    expected = several_evidence(functions_of_rows(curves.logits.cells, functions), codes, precisions)
    assert found == pytest.approx(expected, abs=most)


def test_levels_in_several_directions_have_an_index_each_whatever_their_names() -> None:
    scores, models = [], []
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        *parents, child = several_columns(1.0)
        renamed = discrete("k", np.array(order)[child.values], 4)
        family = [*parents, renamed]
        sizes, _ = sizes_and_functions(family)
        assert sizes is not None
        models.append(best_curve_model(family, sizes))
        scores.append(score(curves_scorer(family), 2, 0, 1))
    assert all(model is not None and model.of_levels for model in models)
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
    # levels along one line have one
    family = [chain(4)[v] for v in (1, 2, 3)]
    sizes, _ = sizes_and_functions(family)
    assert sizes is not None
    model = best_curve_model(family, sizes)
    assert model is not None
    assert not model.of_levels


def ward_and_stay(seed: int, *, is_ordered: bool) -> list[ScoredVariable]:
    """A number, twelve levels, and four levels that follow both, in the order of the twelve or in none."""
    rng = np.random.default_rng(seed)
    x, ward = rng.normal(size=600), rng.integers(0, 12, 600)
    effects = np.linspace(-2, 2, 12) if is_ordered else rng.permutation(np.linspace(-2, 2, 12))
    stay = levels_of(x + effects[ward], 4, rng)
    return [
        curved_column("x", x),
        ScoredVariable("ward", ward.astype(np.int32), 12, is_ordered=is_ordered),
        discrete("stay", stay, 4),
    ]


def model_of(family: list[ScoredVariable]) -> CurveModel:
    sizes, _ = sizes_and_functions(family)
    assert sizes is not None
    model = best_curve_model(family, sizes)
    assert model is not None
    return model


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_levels_changes_no_score(seed: int) -> None:
    x, ward, stay = ward_and_stay(seed, is_ordered=False)
    rng = np.random.default_rng(seed)
    of_ward, of_stay = rng.permutation(12), rng.permutation(4)
    model = model_of([x, ward, stay])
    other = model_of(
        [x, discrete("ward", of_ward[ward.values], 12), discrete("stay", of_stay[stay.values], 4)]
    )
    assert model.functions[1] == other.functions[1] == list(range(12))
    assert other.score == pytest.approx(model.score, rel=1e-9)


def few(seed: int, n_rows: int = 400) -> list[ScoredVariable]:
    """A number, three levels, and a count of at most nine that follows both."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n_rows), rng.integers(0, 3, n_rows)
    count = np.minimum(rng.poisson(np.exp(0.4 * x + np.array([0.0, 0.5, 1.0])[g])), 9)
    return [
        curved_column("x", x),
        discrete("g", g, 3),
        ScoredVariable("n", count.astype(np.int32), 10, is_ordered=True),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_levels_in_their_order_follow_their_parents_step_by_step(seed: int) -> None:
    *parents, count = few(seed)
    scorer = curves_scorer([*parents, count])
    gain = score(scorer, 2, 0, 1) - score(scorer, 2) + 2 * scorer.rule.edge_cost
    assert gain == pytest.approx(best_log_evidence(scorer, 2, (0, 1), LINES, in_order=True), abs=1.0)
    # the same levels without an order pay for their positions
    plain = discrete("n", np.asarray(count.values, np.int64), 10)
    without = curves_scorer([*parents, plain])
    assert score(without, 2, 0, 1) < score(scorer, 2, 0, 1) - 5
    model, of_plain = model_of([*parents, count]), model_of([*parents, plain])
    assert model.in_order
    assert not of_plain.in_order
    highest = int(count.values.max())
    backwards = ScoredVariable("n", highest - count.values, highest + 1, is_ordered=True)
    assert model_of([*parents, backwards]).score == pytest.approx(model.score, rel=1e-6)


def test_levels_that_are_not_in_their_order_find_their_positions() -> None:
    generator = np.random.default_rng(3)
    x = generator.normal(size=2_000)
    codes = np.array([2, 0, 3, 1])[levels_of(3 * x, 4, generator)]
    columns = [curved_column("x", x), discrete("k", codes, 4)]
    ordered = ScoredVariable("k", columns[1].values, 4, is_ordered=True)
    scores = [score(curves_scorer([columns[0], child]), 1, 0) for child in (columns[1], ordered)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    assert not model_of([columns[0], ordered]).in_order


def test_levels_in_their_order_act_by_their_line_however_many_they_are() -> None:
    x, ward, stay = ward_and_stay(0, is_ordered=True)
    model = model_of([x, ward, stay])
    assert model.functions[1] == [12]
    backwards = ScoredVariable("ward", 11 - ward.values, 12, is_ordered=True)
    assert model_of([x, backwards, stay]).score == pytest.approx(model.score, rel=1e-9)
