"""Distances of a learned network to the true one, and a comparison of two networks in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.metrics.comparison import compare
    from gomea_bn.metrics.distances import (
        Estimate,
        accuracy,
        cpdag,
        cpdag_tpr_fpr,
        held_out_log_density,
        histogram_baseline,
        kl_divergence,
        sensitivity,
        shd,
    )

__all__ = [
    "Estimate",
    "accuracy",
    "compare",
    "cpdag",
    "cpdag_tpr_fpr",
    "held_out_log_density",
    "histogram_baseline",
    "kl_divergence",
    "sensitivity",
    "shd",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Estimate": "gomea_bn.metrics.distances",
        "accuracy": "gomea_bn.metrics.distances",
        "compare": "gomea_bn.metrics.comparison",
        "cpdag": "gomea_bn.metrics.distances",
        "cpdag_tpr_fpr": "gomea_bn.metrics.distances",
        "held_out_log_density": "gomea_bn.metrics.distances",
        "histogram_baseline": "gomea_bn.metrics.distances",
        "kl_divergence": "gomea_bn.metrics.distances",
        "sensitivity": "gomea_bn.metrics.distances",
        "shd": "gomea_bn.metrics.distances",
    },
)
