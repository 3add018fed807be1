"""Point masses that one network has and another one lacks."""

from gomea_bn.network.point_masses import unshared_points
from gomea_bn.problems.cuts.shape import Shape


def shape_with(*values):
    share = 1 - 0.1 * len(values)
    return Shape([0.0, 1.0], [share], [share], dict.fromkeys(values, 0.1))


def test_point_masses_are_matched_by_variable_and_value():
    first = {"x": shape_with(0.0, 0.5), "y": shape_with(1.0), "z": shape_with()}
    assert unshared_points(first, first) == []
    assert unshared_points(first, {}) == [("x", 0.0), ("x", 0.5), ("y", 1.0)]
    assert unshared_points(first, {"x": shape_with(0.5, 1.0), "y": shape_with(0.0, 1.0)}) == [("x", 0.0)]
    assert unshared_points({}, first) == []
