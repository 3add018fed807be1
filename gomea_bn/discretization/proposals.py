"""Discretizers by name, and the cuts that they propose for a network with a density score."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import Discretizer
from gomea_bn.errors import GomeaBnError, Option, check_choice, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.recorded import fixed_columns
from gomea_bn.problems.cuts.policies import without_narrow_bins, without_sparse_bins
from gomea_bn.texts import listed

DISCRETIZERS = {
    "bayesian": ("gomea_bn.discretization.bayesian.bayesian", "BayesianDiscretizer"),
    "equal-frequency": ("gomea_bn.discretization.baselines", "EqualFrequency"),
    "equal-width": ("gomea_bn.discretization.baselines", "EqualWidth"),
    "k-means": ("gomea_bn.discretization.baselines", "KMeans"),
    "latent": ("gomea_bn.discretization.latent.latent", "LatentDiscretizer"),
    "mdl": ("gomea_bn.discretization.mdl.mdl", "MDLDiscretizer"),
    "mdlp": ("gomea_bn.discretization.baselines", "MDLP"),
    "mgcd": ("gomea_bn.discretization.mgcd.mgcd", "MGCDiscretizer"),
}
"""Module and class of every discretizer by its name."""

PROPOSERS = tuple(sorted(set(DISCRETIZERS) - {"mdlp"}))
"""Names of the discretizers that need only a table and a graph; MDLP needs classes."""
_GRAPH_LEARNERS = frozenset({"LDBN", "MDLNetwork"})


def check_proposer(method: object, option: str, others: tuple[str, ...] = ()) -> None:
    """Raise `GomeaBnError` unless `method` is a discretizer for a given graph, its name, or one of the `others`.

    `option` is the name of the option, as the caller knows it.
    """
    kind = type(method).__name__
    if (isinstance(method, str) and method == "mdlp") or kind == DISCRETIZERS["mdlp"][1]:
        raise GomeaBnError(
            [
                Option(option, "mdlp"),
                " needs classes, not a graph: cut the table by MDLP alone, then learn with its cuts as ",
                Option("cut_points"),
                ".",
            ]
        )
    if not isinstance(method, Discretizer):
        names = sorted({*PROPOSERS, *others})
        if not isinstance(method, str) or method not in names:
            raise GomeaBnError(
                [
                    Option(option),
                    f" must be one of {listed(map(repr, names))} or a discretizer, got {method!r:.80}."
                    f"{nearest(str(method), names)}",
                ]
            )
    elif kind in _GRAPH_LEARNERS:
        raise GomeaBnError(
            f"{option}: {kind} learns a graph of its own; use it by itself, or use one of {list(PROPOSERS)}."
        )
    elif method.get_params(deep=False).get("aggregate_levels") is not None:
        raise GomeaBnError(
            f"{option}: aggregate_levels groups levels, which a network cannot carry; leave it out, or transform the "
            "table first."
        )


def proposer(
    method: str | Discretizer, *, max_bins: int | None = None, random_state: int | None = None
) -> Discretizer:
    """Return a discretizer by its name, or a copy of a discretizer.

    `max_bins` is set in a discretizer by name that has such an option, and `random_state` in one whose seed is None.
    """
    made = discretizer(method) if isinstance(method, str) else method
    options = made.get_params(deep=False)
    if isinstance(method, str) and max_bins is not None and "max_bins" in options:
        options["max_bins"] = max_bins
    if random_state is not None and options.get("random_state", random_state) is None:
        options["random_state"] = random_state
    return type(made)(**options)


def proposers(
    method: str | Discretizer, *, max_bins: int, random_state: int | None = None
) -> tuple[Discretizer, ...]:
    """Return the discretizers whose cuts compete: one per number of bins if a name leaves this number open."""
    made = proposer(method, max_bins=max_bins, random_state=random_state)
    if isinstance(method, str) and "n_bins" in made.get_params(deep=False):
        return tuple(
            type(made)(**{**made.get_params(deep=False), "n_bins": n}) for n in range(2, max_bins + 1)
        )
    return (made,)


def propose(
    method: Discretizer,
    table: Table,
    network: DiscretizedBayesNet,
    *,
    min_width: float,
    min_bin_count: int = 1,
    max_seconds: float | None = None,
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """Return the cuts that a discretizer finds for a network, and why it ended; cuts that the metadata fix stay.

    Bins narrower than `min_width`, a fraction of the column's range, and bins with fewer than `min_bin_count` rows are
    joined with a neighbour. The deadline is the earlier of `max_seconds` and that of the method.
    """
    limits = [limit for limit in (method.max_seconds, max_seconds) if limit is not None]
    timed: Any = type(method)(**{**method.get_params(deep=False), "max_seconds": min(limits, default=None)})
    timed.fit(table, network=network)
    fixed = fixed_columns(network)
    cuts = dict(timed.cut_points_)
    for column in table.columns:
        if column.is_continuous and column.name not in fixed:
            wide = without_narrow_bins(cuts[column.name], network.support[column.name], min_width)
            cuts[column.name] = without_sparse_bins(wide, column.values, min_bin_count)
    return cuts, timed.stopped_by_


def discretizer(name: str, **options: Any) -> Discretizer:
    """Return a discretizer by its name, one of `DISCRETIZERS`, with the given parameters.

    Raises
    ------
    GomeaBnError
        For an unknown name, or a parameter that the method does not have.
    """
    check_choice("discretizer", name, sorted(DISCRETIZERS))
    module, kind = DISCRETIZERS[name]
    chosen = getattr(import_module(module), kind)
    option_names = chosen._parameter_names()
    for option in options:
        if option not in option_names:
            raise GomeaBnError(
                f"The discretizer {name!r} has no option {option!r}; it has {', '.join(option_names)}."
                f"{nearest(option, option_names)}"
            )
    method: Discretizer = chosen(**options)
    return method
