"""Scores of counts, whose logarithmic means are sums of curves, against SciPy's optimum and by what they are for."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from pricing_examples import curved_column, curves_scorer, functions_of_rows

from gomea_bn.problems import ScoredFamily, ScoredVariable, best_curve_model, sizes_and_functions
from gomea_bn.problems.curves import family_curve_data, new_curve_scratch
from gomea_bn.problems.distributions import COUNT_SIZES, are_counts, log_probabilities_of_counts
from gomea_bn.problems.kernels.counts import WHOLE, count_gain
from gomea_bn.problems.kernels.curves import UNITS, start_count

Values = NDArray[np.float64]


def column(name: str, values: NDArray[np.float64 | np.int64]) -> ScoredVariable:
    return curved_column(name, np.asarray(values, np.float64))


def rows_of(n_rows: int, size: float, seed: int = 0, mean: float = 3.0) -> list[ScoredVariable]:
    """Return two numbers, and a count that follows them."""
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(2, n_rows))
    means = mean * np.exp(0.5 * a - 0.3 * b)
    if size < np.inf:
        means = means * generator.gamma(size, 1 / size, n_rows)
    return [column("a", a), column("b", b), column("y", generator.poisson(means))]


@pytest.mark.parametrize("size", COUNT_SIZES)
def test_probabilities_are_those_of_the_formulas(size: float) -> None:
    numbers, mean = np.arange(300), 4.5
    of_scipy = scipy.stats.poisson(mean) if size == np.inf else scipy.stats.nbinom(size, size / (size + mean))
    logs = log_probabilities_of_counts(numbers, np.full(300, math.log(mean)), size)
    assert_allclose(logs, of_scipy.logpmf(numbers), atol=1e-9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.arange(50.0), True),
        (np.arange(50.0) + 0.5, False),
        (np.arange(50.0) - 1, False),
        (np.arange(50.0) + 1990, False),
        (np.array([0.0, 1.0] * 20), False),
        (np.arange(50.0) * 1000, False),
    ],
)
def test_counts_are_whole_numbers_from_about_0_on(values: Values, expected: bool) -> None:
    assert are_counts(values) == expected


def slow_log_evidence(
    functions: Values, values: Values, precisions: Values, size: float, alone: float
) -> tuple[float, Values]:
    """Return Laplace's approximation of the log marginal likelihood by SciPy's optimiser, and the coefficients.

    `alone` is the information on the constant without parents.
    """
    x = np.column_stack([np.ones(len(values)), functions])
    prior = np.concatenate([[0.0], precisions])

    def loss(beta: Values) -> float:
        return float(0.5 * prior @ beta**2 - log_probabilities_of_counts(values, x @ beta, size).sum())

    best = scipy.optimize.minimize(
        loss, np.concatenate([[math.log(values.mean())], np.zeros(len(precisions))])
    )
    means = np.exp(x @ best.x)
    information = x.T @ (x * (means / (1 + means / size))[:, None]) + np.diag(prior)
    occam = 0.5 * (np.log(precisions).sum() - np.linalg.slogdet(information)[1] + math.log(alone))
    return -best.fun + occam, best.x


@pytest.mark.parametrize("size", [np.inf, 2.0])
@pytest.mark.parametrize("n_rows", [80, 900])
def test_the_gain_is_that_of_a_slow_optimum(size: float, n_rows: int) -> None:
    members = rows_of(n_rows, size)
    sizes, _ = sizes_and_functions(members)
    assert sizes is not None
    views = np.arange(3)
    curves = family_curve_data(members, sizes)._replace(variable=views)
    scratch, counts = new_curve_scratch(curves), curves.counts
    n = start_count(curves, scratch, views, 3, UNITS)
    work, cells = scratch.counts, curves.logits.cells
    before = work.cells.parameters[2, 1 : n + 1].copy()
    gain = count_gain(counts, cells, work, scratch.functions[:n], 2, WHOLE)
    number, factor = int(work.state[0]), float(work.state[1])
    mean = float(counts.means[2])
    of_row = mean / (1 + mean / COUNT_SIZES[counts.first_size[2]])
    functions = functions_of_rows(cells, scratch.functions[:n])
    evidence, beta = slow_log_evidence(
        functions,
        counts.values[2].astype(float),
        factor * of_row * before,
        COUNT_SIZES[number],
        of_row * n_rows,
    )
    # some of many rows give the information
    assert gain == pytest.approx(evidence - counts.reference[2], abs=0.05 if n_rows == 80 else 1.0)
    coefficients = work.cells.parameters[0, : n + 1]
    assert_allclose(functions @ coefficients[1:], functions @ beta[1:], atol=0.02 if n_rows == 80 else 0.1)
    # without parents a shape, or a distribution of counts, whichever is likelier
    values, numbers = counts.values[2], np.arange(int(counts.values[2].max()) + 1)
    logs = [
        float(log_probabilities_of_counts(numbers, np.full(len(numbers), math.log(mean)), s)[values].sum())
        for s in COUNT_SIZES
    ]
    assert counts.reference[2] >= max(logs) - 1e-9


@pytest.mark.parametrize("size", [np.inf, 2.0])
@pytest.mark.parametrize("mean", [1.0, 3.0, 20.0])
def test_counts_say_more_than_sums_with_noise(size: float, mean: float) -> None:
    members = rows_of(1000, size, 1, mean)
    sizes, _ = sizes_and_functions(members)
    assert sizes is not None
    model = best_curve_model(members, sizes)
    assert model is not None
    assert model.of_counts
    # a little jitter, and it is no count
    moved = np.random.default_rng(0).uniform(-0.01, 0.01, 1000)
    jittered = [*members[:2], column("y", members[2].values + moved)]
    of_noise = best_curve_model(jittered, sizes)
    assert of_noise is not None
    assert not of_noise.of_counts


@pytest.mark.parametrize("n_rows", [100, 500, 2500])
def test_unrelated_counts_gain_no_parent(n_rows: int) -> None:
    generator = np.random.default_rng(n_rows)
    means = np.exp(generator.uniform(0, 3, 4))
    columns = [column(f"p{k}", generator.poisson(mean, n_rows)) for k, mean in enumerate(means)]
    columns += [
        column(f"n{k}", generator.negative_binomial(2, 2 / (2 + mean), n_rows))
        for k, mean in enumerate(means)
    ]
    scorer = curves_scorer(columns)
    pairs = [(v, p) for v in range(8) for p in range(8) if v != p]
    scores = scorer.score([ScoredFamily((v, 0), ((p, 0),)) for v, p in pairs], use_cache=False)
    alone = scorer.score([ScoredFamily((v, 0), ()) for v in range(8)], use_cache=False)
    # chance leaves a table a little more now and then
    assert all(score < alone[v] + 1.5 for (v, _), score in zip(pairs, scores.tolist(), strict=True))


def test_a_count_is_the_effect_and_not_the_cause() -> None:
    generator = np.random.default_rng(3)
    a = generator.normal(size=1500)
    scorer = curves_scorer([column("a", a), column("y", generator.poisson(3 * np.exp(0.5 * a)))])
    forward, backward, *alone = scorer.score(
        [
            ScoredFamily((1, 0), ((0, 0),)),
            ScoredFamily((0, 0), ((1, 0),)),
            ScoredFamily((0, 0), ()),
            ScoredFamily((1, 0), ()),
        ],
        use_cache=False,
    )
    assert forward + alone[0] > backward + alone[1] + 3
