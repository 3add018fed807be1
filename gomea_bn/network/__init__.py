"""The discretized Bayesian network: its graph, bins and tables, inference, and file formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.network.bayes_net import DiscretizedBayesNet as DiscretizedBayesNet
    from gomea_bn.network.parts import WithEdges as WithEdges
    from gomea_bn.network.recorded import NetworkLike as NetworkLike

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
