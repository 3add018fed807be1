"""The distribution of the cuts of one column: against sums over all sets of cuts, and samples against probabilities."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2
from shape_oracles import with_cuts
from shaped_cut_examples import METHODS, Example, random_example

from gomea_bn import GomeaBnError, fit_shape
from gomea_bn.problems import ScoredVariable, scoring_method
from gomea_bn.problems.cuts import CutColumn, CutLimits, CutPosterior, cut_posterior

LIMITS = [
    CutLimits(1, None, 0.0, 0),
    CutLimits(1, 3, 1e-3, 1),
    CutLimits(2, 4, 0.1, 2),
    CutLimits(3, 3, 0.0, 3),
]


def slow_probabilities(
    example: Example,
    method: str,
    limits: CutLimits,
    *,
    shaped: bool,
    power: float = 1.0,
    cut_cost: float | None = None,
) -> dict[tuple[float, ...], float]:
    """Return the probability of every set of cuts, by the scores of all sets that the limits allow."""
    allowed = example.allowed_cuts(limits, shaped=shaped)
    of_score = scoring_method(method).cut_cost
    log_gaps = math.log(len(np.unique(example.values)) - 1)
    logs = []
    for cuts in allowed:
        without_costs = example.slow_value(cuts, method, shaped=shaped) + of_score * log_gaps * len(cuts)
        cost = of_score if cut_cost is None else cut_cost
        logs.append(power * without_costs - cost * log_gaps * len(cuts))
    weights = [math.exp(log - max(logs)) for log in logs]
    return {cuts: weight / math.fsum(weights) for cuts, weight in zip(allowed, weights, strict=True)}


def posterior_of(example: Example, method: str, limits: CutLimits, *, shaped: bool) -> CutPosterior:
    return CutPosterior(example.problem(method), limits, shaped=shaped)


@pytest.mark.long
@given(st.integers(0, 10_000), st.sampled_from(METHODS), st.booleans(), st.sampled_from(LIMITS))
@settings(max_examples=40)
def test_gains_of_intervals_and_the_term_of_their_number_are_the_score(
    seed: int, method: str, shaped: bool, limits: CutLimits
) -> None:
    example = random_example(seed, 24, 7, "shaped" if shaped else "uniform")
    problem = example.problem(method)
    n = len(problem.column.cuts)
    gains = problem.interval_gains(np.arange(n), limits, shaped=shaped)
    assert gains.shape == (n + 2, n + 2)
    assert (gains[np.tril_indices(n + 2)] == -math.inf).all()
    # the counters are cleared
    np.testing.assert_array_equal(problem.interval_gains(np.arange(n), limits, shaped=shaped), gains)
    positions = {cut: position + 1 for position, cut in enumerate(problem.column.cuts.tolist())}
    allowed = set(example.allowed_cuts(replace(limits, min_bins=1, max_bins=None), shaped=shaped))
    for cuts in example.allowed_cuts(CutLimits(1, None, 0.0, 0), shaped=True):
        edges = [0, *(positions[cut] for cut in cuts), n + 1]
        total = math.fsum(gains[a, b] for a, b in itertools.pairwise(edges))
        if cuts in allowed:
            score = total + problem.layer_term(len(cuts) + 1, shaped=shaped)
            assert score == pytest.approx(example.slow_value(cuts, method, shaped=shaped), abs=1e-8)
            assert score == pytest.approx(problem.value(np.array(cuts)), abs=1e-8)
        else:
            assert total == -math.inf


@pytest.mark.long
@given(
    st.integers(0, 10_000),
    st.sampled_from(METHODS),
    st.booleans(),
    st.sampled_from(LIMITS),
    st.sampled_from([1.0, 0.25]),
    st.sampled_from([None, 0.0, 0.7]),
)
@settings(max_examples=50)
def test_numbers_of_bins_and_cuts_between_values_have_the_probabilities_of_all_sets(
    seed: int, method: str, shaped: bool, limits: CutLimits, power: float, cut_cost: float | None
) -> None:
    example = random_example(seed, 24, 6)
    slow = slow_probabilities(example, method, limits, shaped=shaped, power=power, cut_cost=cut_cost)
    if not slow:
        with pytest.raises(GomeaBnError, match="No cut points are within the limits on bins"):
            posterior_of(example, method, limits, shaped=shaped)
        return
    posterior = posterior_of(example, method, limits, shaped=shaped)
    if (power, cut_cost) != (1.0, None):
        posterior = posterior.with_power(
            power, scoring_method(method).cut_cost if cut_cost is None else cut_cost
        )
    assert len(posterior.bin_probabilities) == min(limits.max_bins or 99, len(posterior.candidates) + 1)
    by_number = np.zeros(len(posterior.bin_probabilities))
    for cuts, probability in slow.items():
        by_number[len(cuts)] += probability
    np.testing.assert_allclose(posterior.bin_probabilities, by_number, rtol=1e-8, atol=1e-12)
    rng = np.random.default_rng(seed)
    candidates = posterior.candidates.tolist()
    ends = [(-9.0, 9.0), (candidates[0], candidates[-1]), *np.sort(rng.uniform(-3, 3, (4, 2))).tolist()]
    for low, high in ends:
        between = math.fsum(p for cuts, p in slow.items() if any(low < cut < high for cut in cuts))
        assert posterior.probability_between(low, high) == pytest.approx(between, abs=1e-9)


@given(
    st.integers(0, 10_000),
    st.sampled_from(METHODS),
    st.booleans(),
    st.sampled_from(LIMITS),
    st.sampled_from([1.0, 0.25]),
)
@settings(max_examples=30)
def test_places_of_cuts_given_their_number_have_the_probabilities_of_all_sets(
    seed: int, method: str, shaped: bool, limits: CutLimits, power: float
) -> None:
    example = random_example(seed, 24, 6)
    slow = slow_probabilities(example, method, limits, shaped=shaped, power=power)
    if not slow:
        return
    posterior = posterior_of(example, method, limits, shaped=shaped)
    posterior = posterior.with_power(power, scoring_method(method).cut_cost)
    candidates = posterior.candidates.tolist()
    for n_bins in range(1, len(candidates) + 4):
        of_number = {cuts: p for cuts, p in slow.items() if len(cuts) == n_bins - 1}
        places = posterior.places(n_bins)
        if not of_number:
            assert places is None
            continue
        expected = np.zeros((n_bins - 1, len(candidates)))
        for cuts, probability in of_number.items():
            for position, cut in enumerate(cuts):
                expected[position, candidates.index(cut)] += probability
        assert places is not None
        np.testing.assert_allclose(places, expected / math.fsum(of_number.values()), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize("limits", LIMITS[1:3])
def test_every_set_of_cuts_is_drawn_with_its_probability(
    method: str, shaped: bool, limits: CutLimits
) -> None:
    example = random_example(11, 24, 7)
    slow = slow_probabilities(example, method, limits, shaped=shaped, power=0.25, cut_cost=0.25)
    posterior = posterior_of(example, method, limits, shaped=shaped).with_power(0.25, 0.25)
    n = 3000
    drawn = Counter(tuple(cuts.tolist()) for cuts in posterior.draw(n, np.random.default_rng(1)))
    assert set(drawn) <= set(slow)
    often = {cuts: n * probability for cuts, probability in slow.items() if n * probability >= 5}
    assert len(often) >= 3
    expected = [*often.values(), n - math.fsum(often.values())]
    observed = [*(drawn[cuts] for cuts in often), n - sum(drawn[cuts] for cuts in often)]
    statistic = sum((o - e) ** 2 / max(e, 1.0) for o, e in zip(observed, expected, strict=True))
    assert statistic < chi2.ppf(1 - 1e-5, len(often))


@pytest.mark.parametrize("scale", [1.0, 40.0, 3000.0])
def test_sums_of_floats_equal_sums_of_logarithms(monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    gains = np.random.default_rng(3).normal(size=(40, 40)) * scale
    # intervals that limits forbid, among them all that end at edge 7
    gains[np.tril_indices(40)] = -np.inf
    gains[:, 7] = -np.inf
    gains[2:5, 9:12] = -np.inf
    quick = CutPosterior._filtered(gains, 6)
    monkeypatch.setattr(cut_posterior, "_LEAST_SUM", np.inf)
    np.testing.assert_allclose(quick, CutPosterior._filtered(gains, 6), rtol=1e-12, atol=1e-9)


def test_draws_depend_on_the_seed_alone() -> None:
    example = random_example(3, 60, 30)
    posterior = posterior_of(example, "density-bd", CutLimits(), shaped=True).with_power(0.25, 0.25)
    assert posterior.draw(0, np.random.default_rng(0)) == []
    first, again, other = (
        [cuts.tolist() for cuts in posterior.draw(20, np.random.default_rng(seed))] for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other
    assert all(cuts == sorted(set(cuts)) for cuts in first)
    assert all(cuts.dtype == np.float64 for cuts in posterior.draw(5, np.random.default_rng(0)))


def step_column(n: int = 500) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return a column of many distinct values, and a parent that changes at 1."""
    rng = np.random.default_rng(2)
    values = rng.gamma(2.0, size=n)
    parent = (rng.random(n) < np.where(values > 1, 0.95, 0.05)).astype(np.int32)
    return values, parent


def step_example(transform: str = "none") -> Example:
    values, parent = step_column()
    if transform == "exp":
        values = np.exp(values)
    shape = fit_shape(values)
    variables = [ScoredVariable("p", parent, 2), with_cuts(ScoredVariable("x", values, 0, shape=shape))]
    return Example(variables, [0], [])


@pytest.mark.parametrize("shaped", [False, True])
def test_candidates_of_a_long_column_are_a_grid_with_the_gaps_of_the_given_cuts(shaped: bool) -> None:
    example = step_example()
    problem, column = example.problem("density-bd"), CutColumn.of_values(example.values)
    incumbent = np.array([0.777, 1.234])
    few = CutPosterior(problem, CutLimits(), shaped=shaped, n_cells=10)
    more = CutPosterior(problem, CutLimits(), shaped=shaped, n_cells=10, incumbent=incumbent)
    assert few.candidates.tolist() == column.cuts[column.grid(10, by_rank=shaped)].tolist()
    both = np.union1d(few.candidates, column.cuts[column.gaps(incumbent)])
    assert len(both) == len(few.candidates) + 2
    assert more.candidates.tolist() == both.tolist()
    # all mid-points where they are fewer than the cells
    every = CutPosterior(problem, CutLimits(), shaped=shaped, n_cells=500)
    assert every.candidates.tolist() == column.cuts.tolist()


def test_a_cut_costs_by_the_number_of_all_mid_points() -> None:
    posterior = CutPosterior(step_example().problem("density-bd"), CutLimits(1, 2), shaped=True, n_cells=10)
    free, paid = (posterior.with_power(1.0, cost).bin_probabilities for cost in (0.0, 1.0))
    odds = (paid[1] / paid[0]) / (free[1] / free[0])
    # the candidates are nine
    assert odds == pytest.approx(1 / 499)


def test_a_sharp_step_has_a_certain_cut() -> None:
    posterior = posterior_of(step_example(), "density-bd", CutLimits(), shaped=True)
    assert posterior.bin_probabilities[0] < 1e-6
    assert posterior.probability_between(0.9, 1.1) > 0.99
    assert posterior.probability_between(2.0, 3.0) < 0.3
    assert posterior.probability_between(1.0, 1.0) == 0.0


def test_the_distribution_of_shaped_bins_depends_on_ranks_alone() -> None:
    plain, scaled = (
        posterior_of(step_example(name), "density-bd", CutLimits(), shaped=True) for name in ("none", "exp")
    )
    np.testing.assert_array_equal(
        plain.candidates.searchsorted(step_column()[0]),
        scaled.candidates.searchsorted(np.exp(step_column()[0])),
    )
    np.testing.assert_allclose(plain.bin_probabilities, scaled.bin_probabilities, rtol=1e-9)


@pytest.mark.long
def test_draws_among_random_candidates_keep_the_posterior() -> None:
    example = random_example(1, 24, 7, "uniform")
    problem, limits = example.problem("density-bd"), CutLimits(1, None, 0.0, 0)
    generator = np.random.default_rng(1)
    expected = slow_probabilities(example, "density-bd", limits, shaped=False)
    counts: Counter[tuple[float, ...]] = Counter()
    cuts = np.zeros(0)
    for _ in range(3_000):
        # two candidates on average, and the cuts themselves
        posterior = CutPosterior(
            problem, limits, shaped=False, incumbent=cuts, n_cells=3, generator=generator
        )
        cuts = posterior.draw(1, generator)[0]
        counts[tuple(cuts.tolist())] += 1
    assert sum(abs(counts[of_set] / 3_000 - expected[of_set]) for of_set in expected) / 2 < 0.05
