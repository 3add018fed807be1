"""Fronts of networks under several objectives: choices, quality, decisions, and the folder of a front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.front.decision import accept, read_decision
    from gomea_bn.front.folder import read_front, write_front
    from gomea_bn.front.front import Candidate, Front

__all__ = [
    "Candidate",
    "Front",
    "accept",
    "read_decision",
    "read_front",
    "write_front",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Candidate": "gomea_bn.front.front",
        "Front": "gomea_bn.front.front",
        "accept": "gomea_bn.front.decision",
        "read_decision": "gomea_bn.front.decision",
        "read_front": "gomea_bn.front.folder",
        "write_front": "gomea_bn.front.folder",
    },
)
