"""A domain expert's network: its statements, its completion over a table, and the distance to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.expert.expert_network import ExpertNetwork as ExpertNetwork

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
