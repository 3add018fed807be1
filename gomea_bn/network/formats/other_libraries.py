"""Networks as objects of networkx, pyAgrum and pgmpy."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.data.columns import Level
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import networkx
    import pgmpy.models
    import pyagrum

    from gomea_bn.network.recorded import NetworkLike


def require(library: str) -> Any:
    """Return an optional library; raise `GomeaBnError` with the command that installs it if it is missing."""
    try:
        return import_module(library)
    except ImportError as error:
        raise GomeaBnError(f"This needs {library}: pip install 'gomea-bn[interop]' ({error}).") from error


def to_networkx(network: NetworkLike) -> networkx.DiGraph:
    """Return the graph as a networkx DiGraph.

    Nodes have the attributes `kind` ("continuous" or "discrete") and `cardinality`, and either `cut_points` and
    `support` or `levels`.
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

    Discrete variables become `LabelizedVariable`, continuous ones an empirical `DiscretizedVariable`, in which a value
    outside the support belongs to an end bin.

    Notes
    -----
    Bins of pyAgrum are [a, b), ours are (a, b]. Every cut therefore becomes a tick at the next larger float64, for
    example 30.000000000000004 for 30, so that every value, a cut included, has the same bin in both
    libraries. pyAgrum looks up no values in a variable with a single bin (it raises OutOfBounds).

    What pyAgrum 3.3 writes from the network:

    - BIFXML, JGUM, BGUM and pickles keep the ticks to the last bit; reading them back gives the same bins.
    - BIF, DSL and XDSL keep the ticks as text of the labels only, and the variables are no longer numeric (BIF and DSL
      only with `allowModificationWhenSaving=True`). `to_bif` writes BIF with the names of our bins.
    - O3PRM rounds ticks to six digits: there a value equal to a cut can belong to the bin above it.
    - NET files with such labels cannot be read by pyAgrum itself.
    """
    gum = require("pyagrum")
    model: pyagrum.BayesNet = gum.BayesNet()
    for name in network.names:
        if name in network.cut_points:
            low, high = network.support[name]
            # the bins [a, b) of these ticks hold the same float64 values as the bins (a, b] between the cuts
            inner = np.nextafter(network.cut_points[name], np.inf).tolist()
            if inner and inner[-1] >= high:  # the cut next to the maximum: pyAgrum wants ticks that differ
                high = float(np.nextafter(inner[-1], np.inf))
            model.add(gum.DiscretizedVariable(name, name, [low, *inner, high], True))
        else:
            model.add(gum.LabelizedVariable(name, name, list(distinct_texts(network.levels[name]))))
    for parent, child in network.edges:
        model.addArc(parent, child)
    for name, table in network.tables.items():
        tensor, axes = model.cpt(name), [*network.parents(name), name]
        # its array has the variables in reverse order
        tensor[:] = np.ascontiguousarray(
            table.transpose([axes.index(other) for other in reversed(tensor.names)])
        )
    return model


def distinct_texts(levels: Sequence[Level]) -> tuple[str, ...]:
    """Return the levels as text without duplicates: of 1 and "1" the number becomes <1>."""
    texts: list[str] = []
    texts_among_levels = {level for level in levels if isinstance(level, str)}
    for level in levels:
        text = str(level)
        if not isinstance(level, str):
            while text in texts_among_levels or text in texts:
                text = f"<{text}>"
        texts.append(text)
    return tuple(texts)


def to_pgmpy(network: NetworkLike) -> pgmpy.models.DiscreteBayesianNetwork:
    """Return the network as a pgmpy DiscreteBayesianNetwork with the same names and probabilities.

    State names are the bins as text, `bin_labels(name)`, or the levels.
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
                state_names={member: states[member] for member in (name, *parents)},
            )
        )
    return model
