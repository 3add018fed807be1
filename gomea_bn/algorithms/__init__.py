"""Search algorithms: GOMEA, MOGOMEA, RV-GOMEA, their multi-start scheme and archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.algorithms.archive import ElitistArchive as ElitistArchive
    from gomea_bn.algorithms.gomea import GOMEA as GOMEA
    from gomea_bn.algorithms.mogomea import MOGOMEA as MOGOMEA
    from gomea_bn.algorithms.optimisation import optimise as optimise
    from gomea_bn.algorithms.rvgomea import RVGOMEA as RVGOMEA

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
