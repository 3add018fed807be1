"""Distances of a learned network to the true one, and a comparison of two networks in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.metrics.comparison import compare as compare
    from gomea_bn.metrics.distances import Estimate as Estimate
    from gomea_bn.metrics.distances import accuracy as accuracy
    from gomea_bn.metrics.distances import cpdag as cpdag
    from gomea_bn.metrics.distances import cpdag_tpr_fpr as cpdag_tpr_fpr
    from gomea_bn.metrics.distances import held_out_log_density as held_out_log_density
    from gomea_bn.metrics.distances import histogram_baseline as histogram_baseline
    from gomea_bn.metrics.distances import kl_divergence as kl_divergence
    from gomea_bn.metrics.distances import sensitivity as sensitivity
    from gomea_bn.metrics.distances import shd as shd

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
