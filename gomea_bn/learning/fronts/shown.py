"""What is shown of a front's networks in which some columns follow curves: cuts, and the parents in their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.learning.search.shown_cuts import (
    LearnedNetwork,
    greedy_table_parents,
    learned_cut_points,
    learned_edges,
    learned_shapes,
)
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.problems.structure import StructureProblem

# most cells of a table in which a column is shown that the search has not cut
_MOST_CELLS = 2**12
# numbers of cuts of a column in smaller tables
_FEWER_CUTS = (3, 2, 1, 0)
Cuts = Mapping[int, NDArray[np.float64]]


def shown_networks(
    problem: StructureProblem, genotypes: NDArray[np.int16], cuts: Cuts
) -> Iterator[LearnedNetwork]:
    """Yield the networks of genotypes (n, l) in order, whose records have at most "curves".

    The bins that a genotype has of a column which only curves need mean nothing. Such a column is shown in the given
    cuts, or without these in halves of the rows, and with fewer bins where tables would be large. The table of a column
    that follows curves has those of its parents that raise its score.
    """
    levels = [_entered(problem, genotypes, of_level) for of_level in _levels(problem, cuts)]
    for genotype in genotypes:
        yield _shown(problem, genotype, levels)


def _levels(problem: StructureProblem, cuts: Cuts) -> list[dict[int, NDArray[np.float64]]]:
    """Return cuts of the columns that may be cut, the finest ones first."""
    finest = {}
    for v in problem.priced_variables:
        of_column = cuts.get(v, np.empty(0))
        finest[v] = of_column if len(of_column) else _halves(problem, v)
    return [finest, *({v: _some(of_column, n) for v, of_column in finest.items()} for n in _FEWER_CUTS)]


def _some(cuts: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return at most `n` of some cuts, spread evenly."""
    if len(cuts) <= n:
        return cuts
    return np.asarray(cuts[((np.arange(n) + 0.5) * len(cuts) / max(n, 1)).astype(int)], np.float64)


def _halves(problem: StructureProblem, v: int) -> NDArray[np.float64]:
    """Return the cut of a column into halves of the rows, none if the limits of bins forbid it."""
    values, pricing = problem.values(v), problem.pricing
    cuts = equal_frequency_cuts(values, 2)
    if pricing is None or not len(cuts):
        return cuts
    limits, n_below = pricing.limits, int((values <= cuts[0]).sum())
    narrowest = min(cuts[0] - values.min(), values.max() - cuts[0])
    is_allowed = (
        (limits.max_bins or 2) > 1
        and min(n_below, len(values) - n_below) >= limits.min_bin_count
        and narrowest >= limits.min_width * np.ptp(values)
    )
    return cuts if is_allowed else np.empty(0)


def _entered(
    problem: StructureProblem, genotypes: NDArray[np.int16], cuts: Mapping[int, NDArray[np.float64]]
) -> dict[int, int]:
    """Return the indices of cuts, which enter the libraries; policies of the genotypes stay in them."""
    in_use = np.array([problem.policy_indices(genotype) for genotype in genotypes])
    return {v: problem.enter_between_runs(v, c, in_use[:, v].tolist()) for v, c in cuts.items()}


def _shown(
    problem: StructureProblem, genotype: NDArray[np.int16], levels: list[dict[int, int]]
) -> LearnedNetwork:
    scorer = problem.scorer
    names = [variable.name for variable in scorer.variables]
    edges = learned_edges(problem, genotype)
    follows = problem.curve_gains(genotype) > 0
    searched = problem.policy_indices(genotype)
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in edges:
        parents[child].append(parent)
    families = [{child, *parents[child]} for child in range(len(names))]
    in_curves = set().union(*(families[child] for child in np.flatnonzero(follows).tolist()))
    in_tables = set().union(
        *(f for f, is_curve in zip(families, follows, strict=True) if len(f) > 1 and not is_curve)
    )
    for level in levels:
        policies = searched.copy()
        for v in (in_curves - in_tables) & set(level):
            policies[v] = level[v]
        cards = scorer.rows.cardinality[scorer.view_offset[:-1] + policies]
        cells = max(prod(float(cards[m]) for m in (v, *of_v)) for v, of_v in enumerate(parents))
        if cells <= _MOST_CELLS:
            break
    shown = problem.genotype(edges, policies.tolist())
    curves = {}
    # the search has them in its cache
    scores = scorer.score(problem.families(genotype))
    for child in np.flatnonzero(follows).tolist():
        of_table, score = greedy_table_parents(
            scorer, scorer.table_scores, child, parents[child], policies.tolist(), _MOST_CELLS
        )
        curves[names[child]] = {
            "nats": max(float(scores[child]) - score, 0.0),
            "table_parents": [names[parent] for parent in of_table],
        }
    return LearnedNetwork(
        edges,
        learned_cut_points(problem, shown),
        learned_shapes(problem, shown),
        {"curves": curves} if curves else {},
    )
