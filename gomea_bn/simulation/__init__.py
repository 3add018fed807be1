"""Random networks that generate tables, and simulated experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.simulation.random_experts import simulated_expert as simulated_expert
    from gomea_bn.simulation.random_networks import random_network as random_network

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
