"""What a discretizer proposes for a network whose score is a density: cuts in which no bin is too narrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import DISCRETIZERS, Discretizer, discretizer
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = [
    "PROPOSERS",
    "Proposal",
    "check_proposer",
    "follows_graph",
    "propose",
    "proposer",
    "proposers",
    "with_full_bins",
    "with_wide_bins",
]

PROPOSERS = tuple(sorted(set(DISCRETIZERS) - {"mdlp"}))
"""Names of the discretizers that need a table and a graph alone; MDLP needs classes."""
_GRAPH_LEARNERS = frozenset({"LDBN", "MDLNetwork"})
_WITHOUT_GRAPH = frozenset(
    DISCRETIZERS[name][1] for name in ("equal-frequency", "equal-width", "k-means", "latent")
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The inner cuts of every continuous column by name, and why the discretizer ended."""

    cut_points: dict[str, NDArray[np.float64]]
    stopped_by: str


def check_proposer(given: object, option: str, others: tuple[str, ...] = ()) -> None:
    """Raise `GomeaBnError` unless `given` is one of the `others`, or a discretizer for a given graph or its name.

    Parameters
    ----------
    given : object
    option : str
        What the caller calls it, for the message.
    others : tuple of str
        Further names that the caller knows.
    """
    if isinstance(given, Discretizer):
        _check_object(given, option)
    elif not isinstance(given, str) or given not in {*PROPOSERS, *others}:
        known = sorted({*PROPOSERS, *others})
        if given == "mdlp":
            raise GomeaBnError(_NEEDS_CLASSES.format(option=option))
        raise GomeaBnError(
            f"{option} must be one of {known} or a discretizer, got {given!r}.{nearest(str(given), known)}"
        )


def proposer(
    given: str | Discretizer, *, max_bins: int | None = None, random_state: int | None = None
) -> Discretizer:
    """Return a discretizer by its name, or a copy of the one given.

    Parameters
    ----------
    given : str or Discretizer
    max_bins : int, optional
        For a discretizer by name that has such an option.
    random_state : int, optional
        For a discretizer that has a `random_state` which is None.
    """
    made = discretizer(given) if isinstance(given, str) else given
    options = made.get_params(deep=False)
    if isinstance(given, str) and max_bins is not None and "max_bins" in options:
        options["max_bins"] = max_bins
    if random_state is not None and options.get("random_state", random_state) is None:
        options["random_state"] = random_state
    return type(made)(**options)


def proposers(
    given: str | Discretizer, *, max_bins: int, random_state: int | None = None
) -> tuple[Discretizer, ...]:
    """Return the discretizers whose cuts compete: one for every number of bins where the name leaves it open.

    Parameters as of `proposer`.
    """
    made = proposer(given, max_bins=max_bins, random_state=random_state)
    if isinstance(given, str) and "n_bins" in made.get_params(deep=False):
        return tuple(
            type(made)(**{**made.get_params(deep=False), "n_bins": n}) for n in range(2, max_bins + 1)
        )
    return (made,)


def follows_graph(method: Discretizer) -> bool:
    """Return whether another graph may give other cuts; an unknown kind of discretizer is taken to follow it."""
    return type(method).__name__ not in _WITHOUT_GRAPH


def propose(
    method: Discretizer,
    table: Table,
    network: DiscretizedBayesNet,
    *,
    min_width: float,
    min_bin_count: int = 1,
    max_seconds: float | None = None,
) -> Proposal:
    """Return the cuts that a discretizer finds for a network, those that its metadata name as fixed unchanged.

    Parameters
    ----------
    method : Discretizer
    table : Table
        The rows, with the network's columns.
    network : DiscretizedBayesNet
    min_width : float
        Least bin width, as a fraction of the column's range; narrower bins join a neighbour.
    min_bin_count : int
        Fewest rows of a bin; bins with fewer join a neighbour.
    max_seconds : float, optional
        Deadline, if the method's own is not earlier.
    """
    limits = [limit for limit in (method.max_seconds, max_seconds) if limit is not None]
    timed: Any = type(method)(**{**method.get_params(deep=False), "max_seconds": min(limits, default=None)})
    timed.fit(table, network=network)
    fixed = network.metadata.get("fixed_cut_points")
    cuts = dict(timed.cut_points_)
    for column in table.columns:
        if column.is_continuous and not (isinstance(fixed, list) and column.name in fixed):
            wide = with_wide_bins(cuts[column.name], network.support[column.name], min_width)
            cuts[column.name] = with_full_bins(wide, column.values, min_bin_count)
    return Proposal(cuts, timed.stopped_by_)


def with_wide_bins(
    cuts: NDArray[np.float64], support: tuple[float, float], min_width: float
) -> NDArray[np.float64]:
    """Return the cuts without those that leave a bin narrower than a fraction of the range.

    From the left, a cut too near to the one before it goes; then those too near to the maximum.

    Parameters
    ----------
    cuts : ndarray of shape (n_bins - 1,), float64
    support : tuple of float
        Minimum and maximum of the column.
    min_width : float
    """
    low, high = support
    least = min_width * (high - low)
    kept: list[float] = []
    for cut in cuts.tolist():
        if cut - (kept[-1] if kept else low) >= least and low < cut:
            kept.append(cut)
    while kept and (high - kept[-1] < least or kept[-1] >= high):
        kept.pop()
    return np.array(kept)


def with_full_bins(
    cuts: NDArray[np.float64], values: NDArray[np.float64], min_bin_count: int
) -> NDArray[np.float64]:
    """Return the cuts without those that leave a bin of fewer rows.

    From the left, a cut with too few rows between it and the one before goes; then those with too few rows above.

    Parameters
    ----------
    cuts : ndarray of shape (n_bins - 1,), float64
    values : ndarray of shape (n_rows,), float64
    min_bin_count : int
    """
    if min_bin_count <= 1 or not len(cuts):
        return cuts
    below = np.searchsorted(np.sort(values), cuts, side="right").tolist()
    kept: list[int] = []
    for place, rows in enumerate(below):
        if rows - (below[kept[-1]] if kept else 0) >= min_bin_count:
            kept.append(place)
    while kept and len(values) - below[kept[-1]] < min_bin_count:
        kept.pop()
    return cuts[kept]


_NEEDS_CLASSES = (
    "{option}='mdlp' needs classes, not a graph: fit it by itself and pass its cuts, "
    "cut_points=MDLP().fit(frame, y).cut_points_."
)


def _check_object(given: Discretizer, option: str) -> None:
    """Refuse discretizers that need more than a graph, or learn one."""
    if type(given).__name__ == DISCRETIZERS["mdlp"][1]:
        raise GomeaBnError(_NEEDS_CLASSES.format(option=option))
    if type(given).__name__ in _GRAPH_LEARNERS:
        raise GomeaBnError(
            f"{option}: {type(given).__name__} learns a graph of its own; use it by itself, or one of "
            f"{list(PROPOSERS)}."
        )
    if given.get_params(deep=False).get("aggregate_levels") is not None:
        raise GomeaBnError(
            f"{option}: aggregate_levels groups levels, which a network cannot carry; leave it out, or transform the "
            "table first."
        )
