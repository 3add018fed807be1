"""Splines and monotone curves are to the bit those of SciPy."""

import numpy as np
import pytest
from scipy.interpolate import BSpline, PchipInterpolator

from gomea_bn.problems.splines import differentiated, monotone_curve, spline_design, spline_values


def some_knots(rng, degree, *, repeated):
    inner = np.sort(rng.normal(size=rng.integers(4, 20)))
    if repeated:
        inner[2] = inner[1]
    return np.concatenate([[inner[0]] * degree, inner, [inner[-1]] * degree])


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("repeated", [False, True])
def test_splines_are_those_of_scipy(degree, repeated):
    rng = np.random.default_rng(degree)
    for _ in range(20):
        knots = some_knots(rng, degree, repeated=repeated)
        places = np.concatenate([rng.uniform(knots[0], knots[-1], 50), knots])
        coefficients = rng.normal(size=(len(knots) - degree - 1, 3))
        theirs = BSpline(knots, coefficients, degree)
        np.testing.assert_array_equal(spline_values(knots, coefficients, degree, places), theirs(places))
        design = BSpline.design_matrix(places, knots, degree).toarray()
        np.testing.assert_array_equal(spline_design(knots, degree, places), design)
        if degree > 1 and not repeated:
            twice = differentiated(*differentiated(knots, coefficients, degree))
            np.testing.assert_array_equal(spline_values(*twice, places), theirs.derivative(2)(places))


def test_values_have_the_shape_of_the_places():
    knots = some_knots(np.random.default_rng(0), 3, repeated=False)
    coefficients = np.ones((len(knots) - 4, 2))
    assert spline_values(knots, coefficients, 3, np.full((4, 5), knots[5])).shape == (4, 5, 2)


@pytest.mark.parametrize("n_places", [2, 3, 4, 9])
def test_monotone_curves_are_those_of_scipy(n_places):
    rng = np.random.default_rng(n_places)
    for trial in range(50):
        places = np.sort(rng.normal(size=n_places))
        heights = np.cumsum(rng.normal(size=n_places) + trial % 3)
        if trial % 5 == 0 and n_places > 2:
            heights[1] = heights[2]
        at = np.concatenate([rng.uniform(places[0], places[-1], 40), places])
        theirs = PchipInterpolator(places, heights)(at)
        np.testing.assert_array_equal(monotone_curve(places, heights, at), theirs)
