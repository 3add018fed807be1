"""Columns that follow curves after a transformation, or with heavy tails, against SciPy's optimum and by their use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray
from scipy.stats import t as student

from gomea_bn import fit_shape
from gomea_bn.problems import (
    FamilyScorer,
    LevelFunctions,
    NumberFunctions,
    ScoredFamily,
    ScoredVariable,
    SmoothFunctions,
    curve_data,
    normal_scores,
    score_rule,
    scoring_method,
)
from gomea_bn.problems.curve_parts import no_tails, no_transforms
from gomea_bn.problems.cuts import policy_library
from gomea_bn.problems.kernels.curves import CurveData

Values = NDArray[np.float64]
METHOD = scoring_method("density-bd")


def variables_of(*columns: Values) -> list[ScoredVariable]:
    return [
        ScoredVariable(f"x{k}", values, 0, policy_library(values, "equal-frequency", 2), fit_shape(values))
        for k, values in enumerate(columns)
    ]


def score(variables: list[ScoredVariable], data: CurveData, child: int, *parents: int) -> float:
    rule = score_rule(METHOD, len(variables[0].values), n_variables=len(variables))
    family = ScoredFamily((child, 0), tuple((p, 0) for p in parents))
    own_cost = rule.edge_cost * len(parents) + METHOD.cut_cost * np.log(len(variables[0].values) - 1)
    found = FamilyScorer(variables, METHOD, rule, curves=data).score([family], use_cache=False)[0]
    return float(found + own_cost)


def without_transforms(data: CurveData) -> CurveData:
    return data._replace(transforms=no_transforms(len(data.alone)))


def without_tails(data: CurveData) -> CurveData:
    return data._replace(tails=no_tails())


def basis(values: Values) -> tuple[SmoothFunctions, Values, Values]:
    """Return the functions of a column, their values in rows, and its normal scores."""
    scores, _ = normal_scores(values)
    functions = NumberFunctions(values, scores, 9, has_units=True)
    return functions.smooth, functions.of_rows(0, len(values)), scores


def slow_log_evidence(parent: Values, child: Values, data: CurveData, prior: int) -> float:
    """Return the gain of a child with one parent after its best transformation, by SciPy's optimum and all slopes."""
    n = len(child)
    _, x, _ = basis(parent)
    functions, b, scores = basis(child)
    b = b[:, : data.transforms.n_functions[1]]
    columns = np.flatnonzero(np.isfinite(data.precisions[prior, : data.first[1]]))
    precisions = data.precisions[prior, columns]
    x = x[:, columns] - x[:, columns].mean(axis=0)
    system = x.T @ x + np.diag(precisions)
    explained = x.T @ b
    of_prior = np.diag(np.append(0.0, data.transforms.precisions[1, 1 : b.shape[1]]))
    moments = b.T @ b - explained.T @ np.linalg.solve(system, explained)
    moments += data.transforms.least[1, : b.shape[1], : b.shape[1]] + of_prior
    step = 1e-5
    inner = np.clip(scores, scores.min() + step, scores.max() - step)
    slopes = (functions.of_scores(inner + step) - functions.of_scores(inner - step)) / (2 * step)
    slopes = slopes[:, : b.shape[1]]

    def loss(c: Values) -> tuple[float, Values]:
        of_rows = slopes @ c
        if of_rows.min() <= 0:
            return np.inf, np.zeros(len(c))
        value = float(np.log(of_rows).sum() - 0.5 * c @ moments @ c)
        return -value, -(slopes.T @ (1 / of_rows) - moments @ c)

    start = np.append(np.sqrt(n / moments[0, 0]), np.zeros(b.shape[1] - 1))
    found = scipy.optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-3})
    of_rows = slopes @ found.x
    information = moments + (slopes / of_rows[:, None]).T @ (slopes / of_rows[:, None])
    alone = n * (np.log(slopes[0, 0]) + 0.5 * np.log(n / data.squares[1, 0]) - 0.5)
    occam = 0.5 * (np.log(precisions).sum() - np.linalg.slogdet(system)[1])
    occam += 0.5 * np.log(of_prior.diagonal()[1:]).sum() - 0.5 * np.linalg.slogdet(information)[1]
    occam += 0.5 * np.log(2 * n) - np.log(found.x[0])
    return float(-found.fun - alone + occam)


OUTER: dict[str, Callable[[Values], Values]] = {
    "exponential": np.exp,
    "bounded": np.tanh,
    "cubic": lambda values: values + values**3,
}


def follow(
    n_rows: int, outer: Callable[[Values], Values], noise: Callable[..., Values], seed: int = 0
) -> list[Values]:
    """Return a chain of three columns: each later one is an increasing function of a curve and noise."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n_rows)
    inner = np.sin(1.5 * first) + 0.3 * noise(rng, n_rows)
    second = outer(inner)
    third = outer(np.square(np.clip(inner, -3, 3)) + 0.3 * noise(rng, n_rows))
    return [first, second, third]


def normal(rng: np.random.Generator, n_rows: int) -> Values:
    return rng.normal(size=n_rows)


def heavy(rng: np.random.Generator, n_rows: int) -> Values:
    return rng.standard_t(3, n_rows) / 3**0.5


@pytest.mark.parametrize("name", OUTER)
def test_a_transformation_is_the_most_likely_one(name: str) -> None:
    first, second, _ = follow(800, OUTER[name], normal)
    variables = variables_of(first, second)
    data = without_tails(curve_data(variables))
    found = score(variables, data, 1, 0) - data.alone[1, 0]
    expected = max(slow_log_evidence(first, second, data, prior) for prior in range(len(data.precisions)))
    # slopes are means of parts of the range there
    assert found == pytest.approx(expected, abs=2.0)
    plain = score(variables, without_transforms(data), 1, 0) - data.alone[1, 0]
    assert found > plain + 10


def test_normal_columns_gain_nothing() -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(size=2_000)
    variables = variables_of(first, first + 0.5 * rng.normal(size=2_000), rng.normal(size=2_000))
    data = curve_data(variables)
    plain = without_tails(without_transforms(data))
    assert score(variables, data, 1, 0) == score(variables, plain, 1, 0)
    assert score(variables, data, 2, 0) <= data.alone[2].max()


@pytest.mark.parametrize("skew", [1.0, 3.0])
@pytest.mark.parametrize("freedom", [3, 8])
def test_tails_gain_what_students_distribution_does(freedom: int, skew: float) -> None:
    rng = np.random.default_rng(freedom)
    n = 3_000
    first, group = rng.normal(size=n), rng.choice(3, n, p=[0.7, 0.2, 0.1]).astype(np.int32)
    noise = rng.standard_t(freedom, n)
    second = np.sin(first) + 0.5 * group + 0.3 * np.where(noise > 0, skew, 1.0) * noise
    variables = [*variables_of(first, second), ScoredVariable("g", group, 3)]
    data = without_transforms(curve_data(variables))
    x = np.column_stack(
        [
            NumberFunctions(first, normal_scores(first)[0], int(data.first[1]) - 1, has_units=True).of_rows(
                0, n
            ),
            LevelFunctions(group, 3).of_rows(0, n),
        ]
    )
    x -= x.mean(axis=0)
    columns = np.r_[: data.first[1], data.first[2] : data.first[3]]
    # of normal noise, with its coefficients, and of the best ones by penalised likelihood, for both targets
    found = []
    for t, target in enumerate((normal_scores(second)[0], second)):
        y = (target - target.mean()) / target.std()
        for precisions in data.precisions[:, columns]:
            used = np.isfinite(precisions)
            design, prior = x[:, used], precisions[used]
            system = design.T @ design + np.diag(prior)
            plain = y - design @ np.linalg.solve(system, design.T @ y)
            left = float(y @ plain) + data.unexplained[1, t]
            occam = 0.5 * (np.log(prior).sum() - np.linalg.slogdet(system)[1])
            of_normal = data.alone[1, t] + occam + 0.5 * n * np.log(data.squares[1, t] / left)
            of_normal += 0.5 * n * (np.log(2 * np.pi * plain.var()) + 1) - 0.5 * np.log(n)
            for nu in (3.0, 8.0):
                # an intercept, which has no prior
                wide = np.column_stack([np.ones(n), design])
                penalty = np.diag(np.append(0.0, prior))
                residuals, square = plain, plain.var() / 2
                steps = []
                for step in range(80):
                    shares = (nu + 1) / (nu + residuals**2 / square)
                    square = float(np.mean(shares * residuals**2))
                    if step >= 30:
                        shares = (nu + 1) / (nu + residuals**2 / square)
                        of_rows = wide * shares[:, None]
                        # the prior is relative to the information of a row, as that of normal noise is
                        scaled = penalty * (nu + 1) / (nu + 3)
                        beta = np.linalg.solve(of_rows.T @ wide + scaled, of_rows.T @ y)
                        residuals = y - wide @ beta
                    steps.append(student.logpdf(residuals, nu, scale=square**0.5).sum())
                found.append((of_normal + steps[29], of_normal + steps[-1]))
    as_normal, best = np.max(found, axis=0)
    score_with_tails = score(variables, data, 1, 0, 2)
    assert score_with_tails > score(variables, without_tails(data), 1, 0, 2) + 20
    # one step goes almost all of the way; skewed noise has other widths on a scale that is bent
    assert skew > 1 or score_with_tails <= best + 1
    assert score_with_tails - as_normal > 0.9 * (best - as_normal) - 0.5


@pytest.mark.parametrize("name", OUTER)
def test_a_parent_of_a_parent_adds_nothing_to_transformed_columns_with_heavy_tails(name: str) -> None:
    variables = variables_of(*follow(10_000, OUTER[name], heavy))
    data = curve_data(variables)
    assert score(variables, data, 2, 1) > score(variables, data, 2, 0, 1)
    # and the effect does not explain its cause as well
    forwards = score(variables, data, 1, 0) + data.alone[0, 0]
    backwards = score(variables, data, 0, 1) + data.alone[1, 0]
    assert forwards > backwards


def test_increasing_functions_of_a_child_change_little() -> None:
    first, second, _ = follow(1_000, lambda values: values, heavy)
    gains = []
    for outer in (np.positive, np.exp, np.arctan):
        variables = variables_of(first, outer(second))
        data = curve_data(variables)
        gains.append(score(variables, data, 1, 0) - data.alone[1, 0])
    # of the column in its own units, and of its normal scores
    assert max(gains) - min(gains[1:]) < 0.05 * max(gains)
    assert gains[1] == pytest.approx(gains[2], rel=1e-9)


@pytest.mark.parametrize("digits", [0, 1])
def test_rounding_buys_no_density(digits: int) -> None:
    first, second, _ = follow(2_000, lambda values: 2 * values, heavy)
    rounded = np.round(second, digits)
    plain, coarse = variables_of(first, second), variables_of(first, rounded)
    of_plain, of_coarse = curve_data(plain), curve_data(coarse)
    gain = score(plain, of_plain, 1, 0) - of_plain.alone[1, 0]
    assert score(coarse, of_coarse, 1, 0) - of_coarse.alone[1].max() < gain + 5
    # a copy gains no more than the probabilities of its values
    copies = variables_of(rounded, rounded.copy())
    of_copies = curve_data(copies)
    _, counts = np.unique(rounded, return_counts=True)
    entropy = -float(counts @ np.log(counts / len(rounded)))
    assert score(copies, of_copies, 1, 0) - of_copies.alone[1].max() < entropy + 1


@pytest.mark.parametrize("seed", range(3))
def test_a_count_gains_by_levels_no_more_than_all_its_probabilities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, group = rng.normal(size=1_500), rng.integers(0, 2, 1_500)
    count = rng.poisson(np.exp(0.4 * first + 0.5 * group + 0.5)).astype(float)
    variables = [*variables_of(count), ScoredVariable("g", group.astype(np.int32), 2)]
    data = curve_data(variables)
    # a transformation of the column alone fits the points where the values lie
    assert data.transforms.alone[0] > 10
    table = np.array([np.bincount(count.astype(int)[group == k], minlength=40) for k in range(2)], float)
    shares = table / table.sum(axis=1, keepdims=True)
    most = scipy.special.xlogy(table, shares).sum()
    most -= scipy.special.xlogy(table.sum(axis=0), table.mean(axis=0) / 750).sum()
    assert score(variables, data, 0, 1) - data.alone[0].max() < most


def test_some_of_many_rows_judge_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = variables_of(*follow(4_000, np.exp, heavy))
    whole = score(variables, curve_data(variables), 2, 1)
    monkeypatch.setattr("gomea_bn.problems.curve_parts._MOST_ROWS_OF_TAILS", 2_000)
    data = curve_data(variables)
    assert data.tails.cells.shape == (3, 2_000)
    part = score(variables, data, 2, 1)
    assert part != whole
    assert part == pytest.approx(whole, abs=0.1 * (whole - data.alone[2, 0]))
