"""Interventions: the network in which some variables are set to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.inference.evidence import EvidenceReader

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

    Net = TypeVar("Net", bound=NetworkLike)


def do(network: NetworkLike, values: Mapping[str, object], kind: Callable[..., Net]) -> Net:
    """Return the network after an intervention, which `kind` makes of its parts; see `DiscretizedBayesNet.do`."""
    reader = EvidenceReader(network)
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
    edges = [(parent, child) for parent, child in network.edges if child not in stated]
    conditionals = network.conditionals
    if conditionals is not None:
        conditionals = conditionals.after_intervention(
            {
                name: float(statement.code)
                if statement.value is None
                else reader.inside(name, statement.value)
                for name, statement in stated.items()
            }
        )
    return kind(
        network.names,
        edges,
        cut_points=network.cut_points,
        support=network.support,
        levels=network.levels,
        tables=tables,
        shapes=network.shapes,
        conditionals=conditionals,
        pseudo_count=network.pseudo_count,
        value_kinds=network.value_kinds,
        metadata={**network.metadata, "do": labels},
    )
