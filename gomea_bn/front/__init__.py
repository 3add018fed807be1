"""Fronts of networks under several objectives: choices, quality, decisions, and the folder of a front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.front.decision import accept as accept
    from gomea_bn.front.decision import read_decision as read_decision
    from gomea_bn.front.folder import read_front as read_front
    from gomea_bn.front.folder import write_front as write_front
    from gomea_bn.front.front import Candidate as Candidate
    from gomea_bn.front.front import Front as Front
    from gomea_bn.front.objectives import COMPLEXITY as COMPLEXITY
    from gomea_bn.front.objectives import EXPERT_DISTANCE as EXPERT_DISTANCE
    from gomea_bn.front.objectives import MISFIT as MISFIT
    from gomea_bn.front.objectives import TARGET as TARGET
    from gomea_bn.front.objectives import Objective as Objective

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
