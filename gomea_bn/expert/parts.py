"""The parts of an expert's network as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gomea_bn.network.bayes_net import DiscretizedBayesNet


class ExpertParts(NamedTuple):
    """Arguments of an `ExpertNetwork`; None for parts that are not stated."""

    names: Sequence[str] | None
    edges: list[tuple[str, str]]
    # array-likes of shape (n_cuts,)
    cut_points: Mapping[str, Any]
    network: DiscretizedBayesNet | None
