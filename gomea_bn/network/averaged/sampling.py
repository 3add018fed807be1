"""Rows drawn from averaged networks: from random copies, or from the lines of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.averaged.family_line import joint_groups
from gomea_bn.network.sampling import values_in_bins
from gomea_bn.network.tables import draw_codes, family_index
from gomea_bn.problems.cuts.policies import bin_codes

if TYPE_CHECKING:
    from gomea_bn.network.averaged.network import AveragedBayesNet

__all__ = ["drawn_values"]


def drawn_values(
    averaged: AveragedBayesNet,
    n: int,
    generator: np.random.Generator,
    given: Mapping[str, NDArray[Any]] | None,
) -> dict[str, NDArray[Any]]:
    """Return draws of all variables for `AveragedBayesNet.drawn_values`, which describes the parameters."""
    lines = averaged.lines
    values: dict[str, NDArray[Any]] = {}
    for name in averaged.network.order:
        if given and name in given:
            values[name] = given[name]
            continue
        drawn = _drawn_from_copies(averaged, name, values, n, generator)
        if name in lines:
            rows = np.flatnonzero(generator.random(n) < lines[name].weight)
            drawn[rows] = _drawn_from_line(averaged, name, values, rows, generator)
        values[name] = drawn
    return values


def _drawn_from_copies(
    averaged: AveragedBayesNet,
    name: str,
    values: Mapping[str, NDArray[Any]],
    n: int,
    generator: np.random.Generator,
) -> NDArray[Any]:
    """Return one value or level code of a variable per row, each from a random copy given the parents."""
    is_continuous = name in averaged.network.cut_points
    drawn = np.zeros(n, np.float64 if is_continuous else np.int32)
    members = generator.integers(len(averaged.copies), size=n)
    for member, copy in enumerate(averaged.copies):
        rows = np.flatnonzero(members == member)
        if not len(rows):
            continue
        cuts = copy.cut_points
        parents = copy.table_parents(name)
        codes = [
            bin_codes(values[p][rows], cuts[p]).astype(np.int32) if p in cuts else values[p][rows]
            for p in parents
        ]
        cards = [*(copy.cardinality(p) for p in parents), copy.cardinality(name)]
        codes.append(np.zeros(len(rows), np.int32))
        child = len(parents)
        configuration = family_index(codes, range(child), child, cards) // cards[-1]
        codes_of_child = draw_codes(copy.tables[name].reshape(-1, cards[-1]), configuration, generator)
        drawn[rows] = (
            values_in_bins(copy, name, codes_of_child, generator) if is_continuous else codes_of_child
        )
    return drawn


def _drawn_from_line(
    averaged: AveragedBayesNet,
    name: str,
    values: Mapping[str, NDArray[Any]],
    rows: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return one value of a variable for each of some rows, from its line given the parents."""
    line = averaged.lines[name]
    scales = averaged.scales_of(line)
    scale = scales[name]
    parents = np.column_stack([scales[parent].of_values(values[parent][rows]) for parent in line.parents])
    n_levels = [averaged.network.cardinality(parent) for parent in line.groups]
    groups = joint_groups([values[parent][rows] for parent in line.groups], n_levels, len(rows))
    return scale.values_of(line.draw(parents, groups, scale, generator))
