"""Cuts of a network whose graph is given: optimal cuts, refinement, and what each cut is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.learning.cut_cycle import CutCycle as CutCycle
    from gomea_bn.learning.cut_cycle import RefinementSession as RefinementSession

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
