"""The draws behind a simulated expert: wrong edges and random bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer, is_real
from gomea_bn.network import DiscretizedBayesNet
from gomea_bn.table import Table

__all__ = ["check_options", "column_ranges", "random_cuts", "wrong_edges"]

_MOST_BINS = 255


def check_options(truth: DiscretizedBayesNet, known: float, max_bins: int, max_indegree: int) -> None:
    if not isinstance(truth, DiscretizedBayesNet):
        raise GomeaBnError(f"truth must be a DiscretizedBayesNet, got {type(truth).__name__}.")
    if not is_real(known) or not 0 <= known <= 1:
        raise GomeaBnError(f"known must be a share of the edges, from 0 to 1, got {known!r}.")
    if not is_integer(max_bins) or not 2 <= max_bins <= _MOST_BINS:
        raise GomeaBnError(f"max_bins must be an integer from 2 to {_MOST_BINS}, got {max_bins!r}.")
    if not is_integer(max_indegree) or max_indegree < 1:
        raise GomeaBnError(f"max_indegree must be an integer of at least 1, got {max_indegree!r}.")


def column_ranges(table: Table, truth: DiscretizedBayesNet) -> dict[str, tuple[float, float]]:
    """Return (min, max) of the columns of the truth's continuous variables."""
    columns = {column.name: column for column in table.columns if column.is_continuous}
    for name in truth.cut_points:
        if name not in columns:
            raise GomeaBnError(f"table must have a continuous column '{name}' as the truth has.")
    return {
        name: (float(columns[name].values.min()), float(columns[name].values.max()))
        for name in truth.cut_points
    }


def wrong_edges(
    truth: DiscretizedBayesNet,
    right: Sequence[tuple[str, str]],
    max_indegree: int,
    rng: np.random.Generator,
) -> list[tuple[str, str]]:
    """Return as many edges as `right` has, between variables that the truth does not join."""
    names = truth.names
    place = {name: position for position, name in enumerate(names)}
    joined = truth.adjacency_matrix + truth.adjacency_matrix.T
    reaches = np.eye(len(names), dtype=bool)
    indegree = [0] * len(names)

    def add(parent: int, child: int) -> None:
        reaches[...] |= np.outer(reaches[:, parent], reaches[child])
        indegree[child] += 1

    for parent, child in right:
        add(place[parent], place[child])
    free = [(i, j) for j in range(len(names)) for i in range(j) if not joined[i, j]]
    wrong: list[tuple[str, str]] = []
    for pick, turned in zip(rng.permutation(len(free)), rng.random(len(free)) < 0.5):
        if len(wrong) == len(right):
            break
        i, j = free[pick]
        for parent, child in ((j, i), (i, j)) if turned else ((i, j), (j, i)):
            if not reaches[child, parent] and indegree[child] < max_indegree:
                add(parent, child)
                wrong.append((names[parent], names[child]))
                break
    if len(wrong) < len(right):
        raise GomeaBnError(
            f"The truth has {len(truth.edges)} edges and leaves room for {len(wrong)} of the {len(right)} wrong "
            f"ones: {len(free)} pairs of variables are not joined, and no variable may have more than "
            f"max_indegree = {max_indegree} parents. Lower known or raise max_indegree."
        )
    return wrong


def random_cuts(support: tuple[float, float], max_bins: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the inner cuts of 2 to `max_bins` bins, none narrower than half an equal share."""
    low, high = support
    n_bins = int(rng.integers(2, max_bins + 1))
    shares = np.diff(np.concatenate(([0.0], np.sort(rng.random(n_bins - 1)), [1.0])))
    cuts = np.unique(low + (high - low) * np.cumsum(0.5 / n_bins + 0.5 * shares)[:-1])
    inside: NDArray[np.float64] = cuts[(cuts > low) & (cuts < high)]
    return inside
