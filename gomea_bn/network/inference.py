"""Exact queries P(target | evidence), computed by pyAgrum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gomea_bn.errors import GomeaBnError, check_number, nearest
from gomea_bn.network.formats.other_libraries import fill_pyagrum_table, require
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = ["query"]


def query(
    network: NetworkLike, target: str, evidence: Mapping[str, object] | None = None
) -> pd.Series[float]:
    """Return P(target | evidence) over the bins or levels of the target.

    Parameters
    ----------
    network : NetworkLike
        The network.
    target : str
        Name of a variable.
    evidence : mapping of str to value, optional
        Observed values by variable: numbers in original units, or levels. A number outside the support counts as in an
        end bin.

    Returns
    -------
    pandas.Series of float64
        Probabilities that sum to 1, indexed by an IntervalIndex of the bins or by the levels.

    Raises
    ------
    GomeaBnError
        For unknown names, values or levels, evidence of probability 0, or if pyAgrum is not installed.
    """
    import pandas as pd

    gum = require("pyagrum")
    _check_name(network, target, "target")
    observed = dict(evidence or {})
    if target in observed:
        raise GomeaBnError(f"'{target}' is both target and evidence; remove it from one.")
    codes = {name: _code(network, name, value) for name, value in observed.items()}
    relevant = _with_ancestors(network, [target, *observed])
    # names that are safe in pyAgrum
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
    if observed and not _is_possible(engine, gum):
        values = ", ".join(f"{name} = {value!r}" for name, value in observed.items())
        raise GomeaBnError(f"The evidence has probability 0 in this network: {values}.")
    posterior = np.array(engine.posterior(inner[target]).toarray(), dtype=np.float64).ravel()
    if target in network.cut_points:
        low, high = network.support[target]
        breaks = [low, *network.cut_points[target].tolist(), high]
        index: pd.Index[Any] = pd.IntervalIndex.from_breaks(breaks, closed="right", name=target)
    else:
        index = pd.Index(list(network.levels[target]), name=target)
    return pd.Series(posterior, index=index, name=f"P({target})")


def _check_name(network: NetworkLike, name: str, option: str) -> None:
    if name not in network.names:
        raise GomeaBnError(f"{option}: unknown variable {name!r}.{nearest(str(name), network.names)}")


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
        check_number(f"evidence['{name}']", value)
        return int(np.searchsorted(network.cut_points[name], float(cast("float", value)), side="left"))
    levels = network.levels[name]
    plain = value.item() if isinstance(value, np.generic) else value
    code = levels.index(plain) if isinstance(plain, (str, bool, int, float)) and plain in levels else -1
    if code < 0:
        shown = listed(map(repr, levels), most=10)
        raise GomeaBnError(f"evidence['{name}'] must be one of the levels {shown}, got {value!r}.")
    return code


def _with_ancestors(network: NetworkLike, names: list[str]) -> set[str]:
    """Return the names and all their ancestors; other variables do not affect the answer."""
    relevant: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in relevant:
            relevant.add(name)
            waiting += network.parents(name)
    return relevant
