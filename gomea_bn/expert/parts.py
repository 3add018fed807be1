"""What an expert states, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["ExpertParts"]


class ExpertParts(NamedTuple):
    """What a JSON file says, as the arguments of an `ExpertNetwork`; None where it says nothing."""

    names: Sequence[str] | None
    edges: list[tuple[str, str]]
    cut_points: Mapping[str, Any]  # array-like of shape (n_cuts,)
    network: DiscretizedBayesNet | None
