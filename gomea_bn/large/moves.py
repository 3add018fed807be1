"""Changes of a network, and the rules for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.kernels.score_rules import ScoreRule
from gomea_bn.problems.knowledge import EdgeRules

__all__ = ["LEAST_GAIN_OF_CUTS", "Move", "SearchRules"]

LEAST_GAIN_OF_CUTS = 1.0
"""Nats that other cuts of a column have to gain over all rows; smaller gains would take passes of their own."""


@dataclass(frozen=True)
class SearchRules:
    """What the climb may change, and how families are scored.

    Attributes
    ----------
    edges : EdgeRules
    pairs : ndarray of shape (n_columns, n_columns), bool
        Pairs of columns that may be joined.
    score : ScoreRule
        Score of families over all rows; see `scores.family_score`.
    limits : CutLimits
    recut : frozenset of int
        Columns whose cuts may change.
    """

    edges: EdgeRules
    pairs: NDArray[np.bool_]
    score: ScoreRule
    limits: CutLimits
    recut: frozenset[int]

    def allows(self, parent: int, child: int) -> bool:
        """Return whether an edge may be added."""
        first, second = sorted((parent, child))
        return bool(self.pairs[parent, child] and self.edges.allowed[first, second, 1 + (parent > child)])

    def requires(self, parent: int, child: int) -> bool:
        """Return whether the pair of an edge must stay joined."""
        first, second = sorted((parent, child))
        return not self.edges.allowed[first, second, 0]


@dataclass(frozen=True)
class Move:
    """A change of the network that raises its score over all rows.

    Attributes
    ----------
    kind : str
        "add", "remove", "replace", "reverse" or "cuts".
    columns : tuple of int
        Parent, or new and former parent, and child; or the column that is cut.
    gain : float
        Nats.
    families : mapping of int to frozenset of int
        New parents of the children that change.
    cuts : ndarray of shape (k,), int64, optional
        New cuts as indices of boundaries.
    """

    kind: str
    columns: tuple[int, ...]
    gain: float
    families: Mapping[int, frozenset[int]]
    cuts: NDArray[np.int64] | None = None
