"""The parts of a network that a genotype stands for: edges, cuts and shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.structure import StructureProblem

__all__ = ["learned_cut_points", "learned_edges", "learned_shapes"]


def learned_cut_points(
    problem: StructureProblem, genotype: NDArray[np.int16]
) -> dict[str, NDArray[np.float64]]:
    """Return the inner cuts of every continuous variable under a genotype, by name."""
    scorer = problem.scorer
    return {scorer.variables[v].name: cuts for v, cuts in problem.cuts(genotype).items()}


def learned_shapes(problem: StructureProblem, genotype: NDArray[np.int16]) -> dict[str, Shape]:
    """Return the shapes of the continuous variables whose bins have them under a genotype, by name."""
    scorer = problem.scorer
    shapes = {}
    for v, policy in enumerate(problem.policy_indices(genotype).tolist()):
        shape = scorer.variables[v].shape
        if shape is not None and scorer.is_shaped[scorer.view(v, policy)]:
            shapes[scorer.variables[v].name] = shape.shape
    return shapes


def learned_edges(problem: StructureProblem, genotype: NDArray[np.int16]) -> list[tuple[int, int]]:
    """Return the arcs (parent, child) of a repaired genotype, by variable index, without void ones.

    An arc from or to a variable with a single bin is void: it changes no probability. Required arcs stay, and arcs of
    families that curves score better than their tables.
    """
    views = problem.scorer.view_offset[:-1] + problem.policy_indices(genotype)
    several = problem.scorer.rows.cardinality[views] > 1
    required = ~problem.edge_rules.allowed[:, :, 0]
    follows = problem.curve_gains(genotype) > 0
    return [
        (parent, child)
        for parent, child in problem.edges(genotype)
        if (several[parent] and several[child]) or required[parent, child] or follows[child]
    ]
