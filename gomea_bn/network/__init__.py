"""The discretized Bayesian network: its graph, bins and tables, inference, and file formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.parts import WithEdges
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["DiscretizedBayesNet", "NetworkLike", "WithEdges"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DiscretizedBayesNet": "gomea_bn.network.bayes_net",
        "NetworkLike": "gomea_bn.network.protocol",
        "WithEdges": "gomea_bn.network.parts",
    },
)
