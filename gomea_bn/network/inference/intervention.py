"""Interventions: the network in which some variables are set to values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Option
from gomea_bn.network.inference.evidence import Reader
from gomea_bn.texts import listed

if TYPE_CHECKING:
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["do"]


def do(network: NetworkLike, values: Mapping[str, object]) -> DiscretizedBayesNet:
    """Return the network after an intervention; see `DiscretizedBayesNet.do`."""
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    reader = Reader(network)
    tables = dict(network.tables)
    recorded = network.metadata.get("do")
    labels = dict(recorded) if isinstance(recorded, dict) else {}
    names = reader.variables(values, "values")
    stated = {
        name: reader.value(name, value, f"values['{given}']")
        for name, (given, value) in zip(names, values.items(), strict=True)
    }
    for name, statement in stated.items():
        tables[name] = np.eye(network.cardinality(name))[statement.code]
        labels[name] = network.bin_labels(name)[statement.code]
    reader.warn_of_outside({name: statement.outside for name, statement in stated.items()})
    if not stated:
        raise GomeaBnError("values must name at least one variable, got none.")
    without_effect = [f"{parent} → {child}" for parent, child in network.curve_edges if parent in stated]
    if without_effect:
        warnings.warn(
            GomeaBnWarning(
                [
                    f"Tables leave out {listed(without_effect, 5)}, so answers after the intervention lack the effect "
                    f"along {'this edge' if len(without_effect) == 1 else 'these edges'}. Learn with ",
                    Option("curves", "none"),
                    " for tables of all parents.",
                ]
            ),
            stacklevel=3,
        )
    return DiscretizedBayesNet(
        network.names,
        [(parent, child) for parent, child in network.edges if child not in stated],
        cut_points=network.cut_points,
        support=network.support,
        levels=network.levels,
        tables=tables,
        shapes=network.shapes,
        curve_edges=[(parent, child) for parent, child in network.curve_edges if child not in stated],
        pseudo_count=network.pseudo_count,
        value_kinds=network.value_kinds,
        metadata={**network.metadata, "do": labels},
    )
