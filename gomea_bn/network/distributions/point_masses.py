"""Point masses of variables that one network has and another one lacks."""

from __future__ import annotations

from collections.abc import Mapping

from gomea_bn.problems.cuts.shape import Shape

__all__ = ["unshared_points"]


def unshared_points(shapes: Mapping[str, Shape], others: Mapping[str, Shape]) -> list[tuple[str, float]]:
    """Return the point masses (variable, value) of some shapes that other shapes lack.

    The divergence from a distribution with a point mass to one without it is infinite.
    """
    return [
        (name, value)
        for name, shape in shapes.items()
        for value in shape.points
        if name not in others or value not in others[name].points
    ]
