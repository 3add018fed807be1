"""Random networks that generate tables, and simulated experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.simulation.random_experts import simulated_expert
    from gomea_bn.simulation.random_networks import random_network

__all__ = [
    "random_network",
    "simulated_expert",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "random_network": "gomea_bn.simulation.random_networks",
        "simulated_expert": "gomea_bn.simulation.random_experts",
    },
)
