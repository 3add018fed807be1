"""Gaussians shared by configurations: EM, cuts and scores against slow twins, brute force and scikit-learn."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.mixture import GaussianMixture
from table_examples import truncated_gaussians

from gomea_bn.discretization.mgcd.kernels import EMWork, SharedGaussians, expectation_maximisation
from gomea_bn.discretization.mgcd.mgcd import (
    ColumnCells,
    Configurations,
    SharedMixtureSearch,
    gaussian_cut,
    log_complexity,
    separating_cuts,
)
from gomea_bn.problems.cuts import CodedColumn, CutColumn


def configurations(codes):
    return Configurations.of([CodedColumn(np.asarray(codes, np.int32), int(np.max(codes)) + 1)], len(codes))


def search(values, codes, *, n_cells=10**6, penalty="nml"):
    cells = ColumnCells(CutColumn.of_values(np.asarray(values, float)), n_cells)
    return SharedMixtureSearch(
        cells, configurations(codes), 15, penalty, np.random.default_rng(0), stop=np.zeros(1, np.uint8),
        run=lambda call: call(),
    )  # fmt: skip


def em(mixtures, start, iterations, tolerance=-math.inf):
    """Run the kernel from a start; returns the mixture and the trace."""
    data = mixtures.data
    shape = (len(data.means), len(start.means))
    mixture = SharedGaussians(*(part.copy() for part in start))
    work = EMWork(
        np.empty(shape), np.empty(shape), np.empty(shape[0]), np.empty(shape), np.empty_like(start.weights),
        np.empty(shape[1]), np.empty(iterations + 1), np.zeros(1, np.uint8),
    )  # fmt: skip
    done = expectation_maximisation(data, mixture, work, mixtures.cells.floor, tolerance)
    return mixture, work.trace[: done + 1]


def slow_em(values, codes, start, floor, iterations):
    """Mixture and trace by the formulas, row by row, in logarithms."""
    means, deviations, weights = (part.copy() for part in start)
    trace = []
    while True:
        with np.errstate(divide="ignore"):
            joint = np.log(weights[codes]) + norm.logpdf(values[:, None], means, deviations)
        density = logsumexp(joint, axis=1)
        trace.append(density.sum())
        if len(trace) > iterations:
            return SharedGaussians(means, deviations, weights), np.array(trace)
        share = np.exp(joint - density[:, None])
        weights = np.array([share[codes == j].mean(axis=0) for j in range(len(weights))])
        rows = share.sum(axis=0)
        means = share.T @ values / rows
        deviations = np.sqrt((share * (values[:, None] - means) ** 2).sum(axis=0) / rows)
        deviations = np.maximum(deviations, floor)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 6), st.booleans())
def test_em_is_the_slow_twin_and_never_goes_downhill(seed, n_components, n_configurations, tied):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    values, codes = truncated_gaussians(seed, n, n_configurations)
    values[0] += 40.0 * rng.random()  # an outlier, whose density underflows next to the others'
    if tied:
        values = np.round(values * 2)
    values[1] = values[0] - 1
    mixtures = search(values, codes)
    codes = mixtures._configurations.codes
    start = mixtures._started(np.sort(rng.normal(size=n_components - 1)))
    mixture, trace = em(mixtures, start, 12)
    standard = mixtures.cells.means[mixtures.cells.cell_of_row]
    slow, slow_trace = slow_em(standard, codes, start, mixtures.cells.floor, 12)
    np.testing.assert_allclose(trace, slow_trace, rtol=1e-8, atol=1e-8)
    for part, slow_part in zip(mixture, slow):
        np.testing.assert_allclose(part, slow_part, rtol=1e-5, atol=1e-7)
    assert (np.diff(trace) >= -1e-9 * np.maximum(1, np.abs(trace[1:]))).all()


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_cells_bound_the_likelihood_from_below_and_em_in_cells_goes_uphill(seed, n_cells):
    values, codes = truncated_gaussians(seed, 300)
    exact, coarse = search(values, codes), search(values, codes, n_cells=n_cells)
    start = coarse._started(np.array([-0.4, 0.3]))
    assert em(coarse, start, 0)[1][0] <= em(exact, start, 0)[1][0] + 1e-9
    trace = em(coarse, start, 30)[1]
    assert (np.diff(trace) >= -1e-9).all()


@pytest.mark.long
def test_em_finds_what_scikit_learn_finds_for_one_configuration():
    values, _ = truncated_gaussians(3, 2000, 1)
    ours = search(values, np.zeros(2000, int)).fitted(4)
    peer = GaussianMixture(4, n_init=5, tol=1e-9, max_iter=2000, random_state=0).fit(values[:, None])
    assert ours.log_likelihood >= peer.score(values[:, None]) * 2000 - 0.5
    assert ours.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("gaussians", "cut"),
    [
        ((0, 1, 3, 2), 1.4183449881),
        ((0, 2, 3, 1), 1.5816550119),
        ((0, 1, 3, 1), 1.5),
        ((0, 4, 1, 1), 0.0),
        ((0, 1, 1, 4), 1.0),
    ],
)
def test_cuts_between_two_gaussians_have_known_values(gaussians, cut):
    assert gaussian_cut(*gaussians) == pytest.approx(cut, abs=1e-10)


positive = st.floats(0.01, 30)


@settings(max_examples=150)
@given(positive, positive, positive, st.floats(-50, 50))
def test_the_cut_puts_least_mass_on_the_wrong_side(deviation_0, deviation_1, distance, mean):
    high = mean + distance
    cut = gaussian_cut(mean, deviation_0, high, deviation_1)

    def misplaced(t):
        return norm.sf(t, mean, deviation_0) + norm.cdf(t, high, deviation_1)

    def slope(t):
        return norm.pdf(t, high, deviation_1) - norm.pdf(t, mean, deviation_0)

    grid = np.linspace(mean, high, 2001)
    assert mean <= cut <= high
    assert misplaced(cut) <= misplaced(grid).min() + 1e-12
    step = distance / 2000
    low, top = max(mean, cut - step), min(high, cut + step)
    if mean < low and top < high and slope(low) < 0 < slope(top):
        assert cut == pytest.approx(brentq(slope, low, top, xtol=1e-13), abs=1e-9 * max(1, distance))


@pytest.mark.parametrize(("n_values", "n_rows"), [(1, 5), (2, 1), (2, 9), (3, 4), (4, 7), (6, 3)])
def test_the_complexity_of_weights_is_the_sum_over_all_samples(n_values, n_rows):
    total = 0.0
    for counts in itertools.product(range(n_rows + 1), repeat=n_values):
        if sum(counts) == n_rows:
            ways = math.factorial(n_rows) / math.prod(math.factorial(c) for c in counts)
            total += ways * math.prod((c / n_rows) ** c for c in counts)
    assert log_complexity(n_values, np.array([float(n_rows)]))[0] == pytest.approx(math.log(total), abs=0.01)


def test_the_score_of_a_mixture_is_its_likelihood_less_the_price_of_its_parameters():
    values, codes = truncated_gaussians(1, 400)
    n_all = 10.0
    around = Configurations(codes.astype(np.int32), np.bincount(codes), n_all)
    for penalty, q in (("observed", 4), ("all", n_all)):
        mixtures = search(values, codes, penalty=penalty)
        mixtures._configurations = around
        mixture = mixtures.fitted(3)
        density = mixture.weights[codes] * norm.pdf(values[:, None], mixture.means, mixture.deviations)
        assert mixture.log_likelihood == pytest.approx(np.log(density.sum(axis=1)).sum(), rel=1e-9)
        price = (q * 2 + 2 * 3) / 2 * math.log(400)
        assert mixture.score == pytest.approx(mixture.log_likelihood - price, rel=1e-12)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=30), st.lists(st.floats(-1, 13), max_size=8))
def test_cuts_keep_the_papers_bins_where_rows_are(values, cuts):
    values = np.array([*values, 0, 12], float)
    ordered = np.sort(np.round(np.array(cuts) * 4) / 4)
    separating = separating_cuts(ordered, CutColumn.of_values(values))
    paper = np.searchsorted(ordered, values, side="right")  # [a, b)
    ours = np.searchsorted(separating, values, side="left")  # (a, b]
    np.testing.assert_array_equal(np.unique(paper, return_inverse=True)[1], ours)
    assert len(separating) == len(set(paper)) - 1
    assert ((separating >= 0) & (separating < 12)).all()
    assert (np.diff(separating) > 0).all()


@pytest.mark.parametrize("n_values", [2, 30, 2000])
def test_noise_stays_whole_whatever_the_blanket(n_values):
    rng = np.random.default_rng(1)
    mixture = search(rng.normal(size=1000), rng.integers(0, n_values, 1000)).best()
    assert len(mixture.means) == 1
