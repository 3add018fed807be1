"""The linkage model of one subset that holds all genes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage, LinkageModel


@dataclass
class Full(LinkageModel):
    """One subset of all genes.

    Notes
    -----
    A solution takes all genes of a donor or none. Discrete mixing with this model therefore only replaces a solution
    by a better one: it selects and makes no new solution (local search still does). It is the family against which
    others are measured. For real variables there is `gomea_bn.linkage.real.RealFull`.
    """

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        """Return the one subset."""
        genes = np.arange(len(alphabet), dtype=np.int64)
        return Linkage(genes, np.zeros(1, np.int64), np.full(1, len(alphabet), np.int64))
