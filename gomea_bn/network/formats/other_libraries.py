"""Networks as objects of networkx, pyAgrum and pgmpy."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import networkx
    import pgmpy.models
    import pyagrum

    from gomea_bn.network.protocol import NetworkLike

__all__ = ["fill_pyagrum_table", "require", "to_networkx", "to_pgmpy", "to_pyagrum"]


def require(library: str) -> Any:
    """Return an optional library, or say how to install it."""
    try:
        return import_module(library)
    except ImportError as error:
        raise GomeaBnError(f"This needs {library}: pip install 'gomea-bn[interop]' ({error}).") from error


def to_networkx(network: NetworkLike) -> networkx.DiGraph:
    """Return the graph as a networkx DiGraph.

    Nodes carry `kind` ("continuous" or "discrete"), `cardinality`, and `cut_points` and `support`, or
    `levels`.
    """
    graph = require("networkx").DiGraph()
    for name in network.names:
        card = network.cardinality(name)
        if name in network.cut_points:
            cuts = network.cut_points[name].tolist()
            graph.add_node(
                name, kind="continuous", cardinality=card, cut_points=cuts, support=network.support[name]
            )
        else:
            graph.add_node(name, kind="discrete", cardinality=card, levels=network.levels[name])
    graph.add_edges_from(network.edges)
    return graph


def to_pyagrum(network: NetworkLike) -> pyagrum.BayesNet:
    """Return the network as a pyAgrum BayesNet with the same names and probabilities.

    Continuous variables become DiscretizedVariable with the support's ends and the cuts as ticks, in their
    empirical form (values outside count as in the end bins); discrete ones LabelizedVariable. pyAgrum's bins
    are [a, b[ where ours are (a, b]: a value equal to a cut falls one bin higher there.
    """
    gum = require("pyagrum")
    model: pyagrum.BayesNet = gum.BayesNet()
    for name in network.names:
        if name in network.cut_points:
            low, high = network.support[name]
            ticks = [low, *network.cut_points[name].tolist(), high]
            model.add(gum.DiscretizedVariable(name, name, ticks, True))
        else:
            model.add(gum.LabelizedVariable(name, name, list(distinct_texts(network.levels[name]))))
    for parent, child in network.edges:
        model.addArc(parent, child)
    for name, table in network.tables.items():
        fill_pyagrum_table(model.cpt(name), table, [*network.parents(name), name])
    return model


def fill_pyagrum_table(tensor: Any, table: NDArray[np.float64], axes: Sequence[str | None]) -> None:
    """Write a table, whose axes are named, into a pyAgrum tensor, which keeps its first variable last."""
    order = [axes.index(name) for name in reversed(tensor.names)]
    tensor[:] = np.ascontiguousarray(table.transpose(order))


def distinct_texts(levels: Sequence[Level]) -> tuple[str, ...]:
    """Return the levels as text, told apart by quotes where two look alike (1 and "1")."""
    texts: list[str] = []
    plain = {level for level in levels if isinstance(level, str)}
    for level in levels:
        text = str(level)
        if not isinstance(level, str):
            while text in plain or text in texts:
                text = f"<{text}>"
        texts.append(text)
    return tuple(texts)


def to_pgmpy(network: NetworkLike) -> pgmpy.models.DiscreteBayesianNetwork:
    """Return the network as a pgmpy DiscreteBayesianNetwork with the same names and probabilities.

    State names are the bins as text, `bin_labels(name)`, or the levels themselves.
    """
    model = require("pgmpy.models").DiscreteBayesianNetwork()
    table_of = require("pgmpy.factors.discrete").TabularCPD
    states: dict[str, list[Level]] = {
        name: list(network.bin_labels(name) if name in network.cut_points else network.levels[name])
        for name in network.names
    }
    model.add_nodes_from(network.names)
    model.add_edges_from(network.edges)
    for name, table in network.tables.items():
        parents = network.parents(name)
        card = network.cardinality(name)
        model.add_cpds(
            table_of(
                name,
                card,
                table.reshape(-1, card).T,
                evidence=list(parents),
                evidence_card=[network.cardinality(parent) for parent in parents],
                state_names={one: states[one] for one in (name, *parents)},
            )
        )
    return model
