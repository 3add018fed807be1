"""The protocol of networks, for files, plots, queries and metrics that only read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Protocol

from gomea_bn.network.conditionals.conditionals import WithDensities

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from gomea_bn.network.conditionals.cells import CellGrids


class NetworkLike(WithDensities, Protocol):
    """The read-only members of a discretized network; `DiscretizedBayesNet` documents them."""

    @property
    def counts(self) -> Mapping[str, NDArray[np.float64]]:
        """Number of rows of the cells of counted tables; empty if unknown."""

    @property
    def cell_grids(self) -> CellGrids:
        """Cells of the columns of a network with conditionals, and its tables over them."""

    def discretize(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return bin or level codes of rows."""

    def log_density_terms(
        self, frame: pd.DataFrame, of: Collection[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return ln p(variable | parents) of rows without missing cells, by variable, of all or some variables."""

    def sample(self, n: int, random_state: int | None = None, *, values: str = "own") -> pd.DataFrame:
        """Return rows drawn from the network."""
