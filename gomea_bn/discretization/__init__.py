"""Discretizers of continuous columns, each usable on its own and inside a learner.

`discretizer(name, **options)` makes one by its name; the classes are

- `BayesianDiscretizer` (Chen, Wheeler & Kochenderfer 2017), and `LDBN`, which couples it with `K2`
- `MDLDiscretizer` (Friedman & Goldszmidt 1996), and `MDLNetwork`, which couples it with structure search
- `LatentDiscretizer` (Monti & Cooper 1999)
- `MGCDiscretizer` (Mabrouk et al. 2015), which alternates with `Tabu`
- `EqualWidth`, `EqualFrequency`, `KMeans`, `MDLP`: baselines
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.discretization.base import Discretizer as Discretizer
    from gomea_bn.discretization.baselines import MDLP as MDLP
    from gomea_bn.discretization.baselines import EqualFrequency as EqualFrequency
    from gomea_bn.discretization.baselines import EqualWidth as EqualWidth
    from gomea_bn.discretization.baselines import KMeans as KMeans
    from gomea_bn.discretization.bayesian.bayesian import LDBN as LDBN
    from gomea_bn.discretization.bayesian.bayesian import BayesianDiscretizer as BayesianDiscretizer
    from gomea_bn.discretization.latent.latent import LatentDiscretizer as LatentDiscretizer
    from gomea_bn.discretization.mdl.description_length import DescriptionLength as DescriptionLength
    from gomea_bn.discretization.mdl.description_length import description_length as description_length
    from gomea_bn.discretization.mdl.mdl import MDLDiscretizer as MDLDiscretizer
    from gomea_bn.discretization.mdl.mdl import MDLNetwork as MDLNetwork
    from gomea_bn.discretization.mgcd.mgcd import MGCDiscretizer as MGCDiscretizer
    from gomea_bn.discretization.proposals import DISCRETIZERS as DISCRETIZERS
    from gomea_bn.discretization.proposals import discretizer as discretizer
    from gomea_bn.discretization.structure_search import K2 as K2
    from gomea_bn.discretization.structure_search import Tabu as Tabu

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
