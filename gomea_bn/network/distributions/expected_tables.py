"""Probability tables from rows with missing values, by steps of expectation and maximisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.row_order import row_order
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.distributions.smoothing import PseudoCount
from gomea_bn.network.inference.engine import Evidence, engine_for
from gomea_bn.network.tables import smoothed_expectation

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["IncompleteRows", "completed_codes", "expected_tables"]

N_STEPS = 5
"""Number of steps."""
N_DRAWS = 10
"""Number of completions of every incomplete row and step."""

# any fixed number: the same rows must give the same tables
_SEED = 20240219


@dataclass(frozen=True, slots=True)
class IncompleteRows:
    """Rows of a table as codes.

    Attributes
    ----------
    codes : sequence of ndarray of shape (n_rows,), int32
        Bins or levels by variable; -1 where missing.
    parents : sequence of tuple of int
        Positions of every variable's parents.
    cards : sequence of int
        Number of bins or levels by variable.
    """

    codes: Sequence[NDArray[np.int32]]
    parents: Sequence[tuple[int, ...]]
    cards: Sequence[int]


def expected_tables(
    network: NetworkLike,
    rows: IncompleteRows,
    pseudo_count: PseudoCount,
    with_tables: Callable[[Mapping[str, NDArray[np.float64]]], NetworkLike],
) -> dict[str, NDArray[np.float64]]:
    """Return the tables of a network after some steps from its own tables.

    A step draws every incomplete row some times from the network given its observed values, and counts the completed
    rows (a Monte Carlo form of the EM algorithm: Wei and Tanner 1990). Draws are exact where exact inference has room,
    otherwise by weighted sampling. The numbers of smoothing "auto" are those of the complete cases. Rows that are
    impossible under the network do not count.

    Parameters
    ----------
    network : NetworkLike
        With tables counted from available cases.
    rows : IncompleteRows
        The rows, variables in the order of the network.
    pseudo_count : float or "auto"
        Smoothing of the tables.
    with_tables : callable
        Returns the network with other tables.
    """
    observed = np.column_stack(rows.codes)
    is_complete = (observed >= 0).all(axis=1)
    incomplete = observed[~is_complete]
    # draws of a row must not depend on where it stands
    incomplete = incomplete[row_order(list(incomplete.T))]
    weights = np.concatenate(
        (np.ones(int(is_complete.sum())), np.full(len(incomplete) * N_DRAWS, 1 / N_DRAWS))
    )
    generator = np.random.default_rng(_SEED)
    tables: dict[str, NDArray[np.float64]] = {}
    for _ in range(N_STEPS):
        drawn = completed_codes(network, incomplete, N_DRAWS, generator)
        completed = np.concatenate((observed[is_complete], drawn.reshape(-1, len(rows.cards))))
        is_possible = completed[:, 0] >= 0
        columns = list(np.ascontiguousarray(completed[is_possible].T))
        tables = {
            name: smoothed_expectation(
                columns,
                weights[is_possible],
                rows.codes,
                rows.parents[v],
                v,
                rows.cards,
                pseudo_count,
                name,
            )
            for v, name in enumerate(network.names)
        }
        network = with_tables(tables)
    return tables


def completed_codes(
    network: NetworkLike, codes: NDArray[np.int32], n_draws: int, generator: np.random.Generator
) -> NDArray[np.int32]:
    """Return draws of all variables given the observed codes, int32 (n_rows, n_draws, n_variables).

    `codes` (n_rows, n_variables) are -1 where missing. Draws are -1 in rows that are impossible under the network.
    """
    evidence = Evidence(codes, {})
    try:
        return engine_for(network).draws(evidence, n_draws, generator)
    except GomeaBnError:
        # the graph has too many paths for exact inference
        return engine_for(network, "sampling", random_state=generator).draws(evidence, n_draws, generator)
