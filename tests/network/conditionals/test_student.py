"""Student's t distribution from tables: against SciPy, against the closed form, its inverse and its own density."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn.network.conditionals import family_effects
from gomea_bn.network.conditionals.family_effects import (
    below_student,
    log_student,
    student_cells,
    student_distribution,
    student_quantiles,
)


@pytest.mark.parametrize("freedom", [0.5, 3.0, 6.0, 15.0, 151.0, 1501.0, 1e6])
def test_probabilities_are_those_of_scipy_with_all_digits_of_small_ones(freedom):
    rng = np.random.default_rng(1)
    far = np.exp(rng.uniform(-20, 50, 2_000)) * rng.choice([-1.0, 1.0], 2_000)
    t = np.concatenate([rng.normal(size=2_000) * 3, far])
    expected = scipy.special.stdtr(freedom, t)
    found = below_student(freedom, t)
    np.testing.assert_allclose(found, expected, atol=1e-11, rtol=0)
    is_tail = (t < 0) & (expected > 1e-280)
    assert is_tail.sum() > 1_000
    np.testing.assert_allclose(found[is_tail], expected[is_tail], rtol=1e-9)


@pytest.mark.parametrize("freedom", [340.5, 341.5])
def test_tables_are_not_read_behind_their_end(freedom, monkeypatch):
    tails = family_effects._tails(freedom)
    behind = np.vstack([tails.pieces, np.full((1, 4), np.nan)])
    monkeypatch.setattr(family_effects, "_tails", lambda _: tails._replace(pieces=behind[:-1]))
    # 1 + t is rounded to the end
    t = -np.nextafter(tails.last, 0.0)
    assert 1.0 - t == 1.0 + tails.last
    assert below_student(freedom, t) == 0


def test_one_degree_of_freedom_has_its_closed_form():
    t = np.linspace(-50, 50, 1_001)
    np.testing.assert_allclose(below_student(1.0, t), 0.5 + np.arctan(t) / np.pi, atol=1e-12)


def test_shapes_broadcast_and_infinite_and_missing_numbers_keep_their_meaning():
    t = np.array([-np.inf, 0.0, np.inf, np.nan])
    found = below_student(np.array([[3.0], [40.0]]), t)
    assert found.shape == (2, 4)
    np.testing.assert_allclose(found, [[0, 0.5, 1, np.nan]] * 2)


@given(st.floats(0.3, 2e3), st.floats(-30, 30), st.floats(0.01, 5))
def test_probabilities_increase_and_have_the_density_as_slope(freedom, t, step):
    low, high = below_student(freedom, [t, t + step])
    assert 0 <= low <= high <= 1
    slope = np.diff(below_student(freedom, [t - 1e-4, t + 1e-4]))[0] / 2e-4
    assert slope == pytest.approx(float(np.exp(log_student(np.array([t]), freedom))[0]), abs=1e-6)


def test_an_averaged_centre_is_the_mean_over_centres():
    t, freedom = np.linspace(-8, 8, 17), 5.0
    centres = np.linspace(-3, 3, 20_001)
    centres = (centres[:-1] + centres[1:]) / 2
    expected = scipy.special.stdtr(freedom, t[:, None] - centres).mean(axis=1)
    np.testing.assert_allclose(student_distribution(t, freedom, np.full(17, 6.0)), expected, atol=1e-8)


@pytest.mark.parametrize("freedom", [0.5, 2.7, 15.0, 1501.0, 1e6])
def test_quantiles_are_the_inverse_of_the_probabilities(freedom):
    rng = np.random.default_rng(1)
    shares = np.concatenate([rng.random(2_000), 10 ** rng.uniform(-100, -1, 500)])
    found = student_quantiles(freedom, shares)
    np.testing.assert_allclose(below_student(freedom, found), shares, rtol=1e-10)
    # the upper half has the digits of its distance to 1
    upper = shares[(shares > 1e-9) & (shares < 0.5)]
    np.testing.assert_allclose(
        student_quantiles(freedom, 1 - upper), -student_quantiles(freedom, upper), rtol=1e-6
    )


def test_quantiles_of_all_and_of_nothing_are_infinite():
    found = student_quantiles(np.array([[3.0], [400.0]]), [0.0, 0.5, 1.0])
    np.testing.assert_allclose(found, [[-np.inf, 0, np.inf]] * 2, atol=1e-12)


def test_cells_have_their_shares_of_the_range_between_the_outer_ends():
    rng = np.random.default_rng(1)
    ends = np.sort(rng.normal(size=6)) * 3
    means, scales, freedom = rng.normal(size=(7, 1)), np.array([0.1, 2.0, 30.0]), np.array([3.0, 5.0, 3.0])
    below = scipy.special.stdtr(freedom[..., None], (ends - means[..., None]) / scales[..., None])
    expected = np.diff(below) / (below[..., -1:] - below[..., :1])
    np.testing.assert_allclose(student_cells(ends, means, scales, freedom), expected, atol=1e-9)
