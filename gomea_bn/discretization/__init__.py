"""Discretizers of continuous columns, each usable on its own and inside a learner.

`discretizer(name, **options)` makes one by its name; the classes are

- `BayesianDiscretizer` (Chen, Wheeler & Kochenderfer 2017), and `LDBN`, which couples it with `K2`
- `MDLDiscretizer` (Friedman & Goldszmidt 1996), and `MDLNetwork`, which couples it with structure search
- `LatentDiscretizer` (Monti & Cooper 1999)
- `MGCDiscretizer` (Mabrouk et al. 2015), which alternates with `Tabu`
- `EqualWidth`, `EqualFrequency`, `KMeans`, `MDLP`: baselines
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gomea_bn.discretization.base import Discretizer
from gomea_bn.discretization.proposals import DISCRETIZERS, discretizer

if TYPE_CHECKING:
    from gomea_bn.discretization.baselines import MDLP, EqualFrequency, EqualWidth, KMeans
    from gomea_bn.discretization.bayesian.bayesian import BayesianDiscretizer
    from gomea_bn.discretization.bayesian.ldbn import LDBN
    from gomea_bn.discretization.latent.latent import LatentDiscretizer
    from gomea_bn.discretization.mdl.description_length import DescriptionLength, description_length
    from gomea_bn.discretization.mdl.mdl import MDLDiscretizer
    from gomea_bn.discretization.mdl.mdl_network import MDLNetwork
    from gomea_bn.discretization.mgcd.mgcd import MGCDiscretizer
    from gomea_bn.discretization.structure_search.k2 import K2
    from gomea_bn.discretization.structure_search.tabu import Tabu

_HOMES = {
    **{kind: module for module, kind in DISCRETIZERS.values()},
    "DescriptionLength": "gomea_bn.discretization.mdl.description_length",
    "K2": "gomea_bn.discretization.structure_search.k2",
    "LDBN": "gomea_bn.discretization.bayesian.ldbn",
    "MDLNetwork": "gomea_bn.discretization.mdl.mdl_network",
    "Tabu": "gomea_bn.discretization.structure_search.tabu",
    "description_length": "gomea_bn.discretization.mdl.description_length",
}

__all__ = [
    "DISCRETIZERS",
    "K2",
    "LDBN",
    "MDLP",
    "BayesianDiscretizer",
    "DescriptionLength",
    "Discretizer",
    "EqualFrequency",
    "EqualWidth",
    "KMeans",
    "LatentDiscretizer",
    "MDLDiscretizer",
    "MDLNetwork",
    "MGCDiscretizer",
    "Tabu",
    "description_length",
    "discretizer",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_HOMES})
