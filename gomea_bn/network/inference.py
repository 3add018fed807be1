"""Queries P(target | evidence), answered exactly by pyAgrum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.formats.other_libraries import fill_pyagrum_table, require

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = ["query"]


def query(
    network: NetworkLike, target: str, evidence: Mapping[str, object] | None = None
) -> pd.Series[float]:
    """Return P(target | evidence), one float64 per bin or level of the target; they sum to 1.

    Parameters
    ----------
    network : NetworkLike
        The network asked.
    target : str
        One variable. Continuous: indexed by a pandas IntervalIndex of its bins; discrete: by its levels.
    evidence : mapping of str to value, optional
        Values in original units (put into their bins, outside the support the end bins) or levels.

    Raises
    ------
    GomeaBnError
        For unknown names, values or levels, evidence of probability 0, or if pyAgrum is not installed.
    """
    import pandas as pd

    gum = require("pyagrum")
    _check_name(network, target, "target")
    given = dict(evidence or {})
    if target in given:
        raise GomeaBnError(f"'{target}' is both target and evidence; leave it out of one.")
    codes = {name: _code(network, name, value) for name, value in given.items()}
    relevant = _with_ancestors(network, [target, *given])
    inner = {name: f"v{position}" for position, name in enumerate(network.names) if name in relevant}
    model = gum.BayesNet()
    for name, short in inner.items():
        model.add(gum.LabelizedVariable(short, "", network.cardinality(name)))
    for name, short in inner.items():
        for parent in network.parents(name):
            model.addArc(inner[parent], short)
    for name, short in inner.items():
        fill_pyagrum_table(
            model.cpt(short), network.tables[name], [*map(inner.get, network.parents(name)), short]
        )
    engine = gum.LazyPropagation(model)
    engine.setEvidence({inner[name]: code for name, code in codes.items()})
    engine.addTarget(inner[target])
    if given and not _is_possible(engine, gum):
        told = ", ".join(f"{name} = {value!r}" for name, value in given.items())
        raise GomeaBnError(f"The evidence has probability 0 in this network: {told}.")
    posterior: NDArray[np.float64] = np.array(
        engine.posterior(inner[target]).toarray(), dtype=np.float64
    ).ravel()
    if target in network.cut_points:
        low, high = network.support[target]
        breaks = [low, *network.cut_points[target].tolist(), high]
        index: pd.Index[Any] = pd.IntervalIndex.from_breaks(breaks, closed="right", name=target)
    else:
        index = pd.Index(list(network.levels[target]), name=target)
    return pd.Series(posterior, index=index, name=f"P({target})")


def _check_name(network: NetworkLike, name: str, what: str) -> None:
    if name not in network.names:
        raise GomeaBnError(f"{what} names {name!r}, no variable.{nearest(str(name), network.names)}")


def _is_possible(engine: Any, gum: Any) -> bool:
    """Return whether the engine's evidence has a probability above 0."""
    try:
        return bool(engine.evidenceProbability() > 0)
    except gum.IncompatibleEvidence:
        return False


def _code(network: NetworkLike, name: str, value: object) -> int:
    """Return the bin or level code of a value of evidence."""
    _check_name(network, name, "evidence")
    if name in network.cut_points:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float, np.number))
            or not np.isfinite(float(value))
        ):
            raise GomeaBnError(f"evidence['{name}'] must be a finite number, got {value!r}.")
        return int(np.searchsorted(network.cut_points[name], float(value), side="left"))
    levels = network.levels[name]
    plain = value.item() if isinstance(value, np.generic) else value
    code = levels.index(plain) if isinstance(plain, (str, bool, int, float)) and plain in levels else -1
    if code < 0:
        wanted = ", ".join(repr(level) for level in levels[:10]) + (", …" if len(levels) > 10 else "")
        raise GomeaBnError(f"evidence['{name}'] must be one of the levels {wanted}, got {value!r}.")
    return code


def _with_ancestors(network: NetworkLike, names: list[str]) -> set[str]:
    """Return the names and all their ancestors: the rest of the network cannot matter."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += network.parents(name)
    return found
