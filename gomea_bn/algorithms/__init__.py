"""Search algorithms: GOMEA, MOGOMEA, RV-GOMEA, their multi-start scheme and archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.algorithms.archive import ElitistArchive
    from gomea_bn.algorithms.gomea import GOMEA
    from gomea_bn.algorithms.mogomea import MOGOMEA
    from gomea_bn.algorithms.optimisation import optimise
    from gomea_bn.algorithms.rvgomea import RVGOMEA

__all__ = [
    "GOMEA",
    "MOGOMEA",
    "RVGOMEA",
    "ElitistArchive",
    "optimise",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ElitistArchive": "gomea_bn.algorithms.archive",
        "GOMEA": "gomea_bn.algorithms.gomea",
        "MOGOMEA": "gomea_bn.algorithms.mogomea",
        "RVGOMEA": "gomea_bn.algorithms.rvgomea",
        "optimise": "gomea_bn.algorithms.optimisation",
    },
)
