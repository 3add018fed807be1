"""Protocols of networks, for files, plots, queries and metrics that only read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from gomea_bn.data.columns import Level
    from gomea_bn.network.conditionals.conditionals import Conditionals
    from gomea_bn.network.conditionals.family import Family
    from gomea_bn.network.distributions.smoothing import PseudoCount
    from gomea_bn.network.inference.cells import CellGrids
    from gomea_bn.network.value_kinds import ValueKind
    from gomea_bn.problems.cuts.shape import Shape

__all__ = ["NetworkLike", "WithEdges"]


class WithEdges(Protocol):
    """An object with edges."""

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) pairs."""


class NetworkLike(WithEdges, Protocol):
    """The read-only members of a discretized network; `DiscretizedBayesNet` documents them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables in column order."""

    @property
    def cut_points(self) -> dict[str, NDArray[np.float64]]:
        """Inner cut points by continuous variable."""

    @property
    def support(self) -> dict[str, tuple[float, float]]:
        """(minimum, maximum) by continuous variable."""

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Distributions inside the bins by continuous variable; variables without an entry are uniform there."""

    @property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Values by discrete variable, in code order."""

    @property
    def tables(self) -> Mapping[str, NDArray[np.float64]]:
        """P(name | parents) by variable."""

    @property
    def value_kinds(self) -> Mapping[str, ValueKind]:
        """Kinds of values, such as integers, by variable."""

    @property
    def pseudo_count(self) -> PseudoCount | None:
        """Smoothing of the tables, None if unknown."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Further values that JSON can hold."""

    @property
    def adjacency_matrix(self) -> NDArray[np.int8]:
        """Matrix whose entry [i, j] is 1 for an edge from variable i to variable j."""

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities."""

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the parents of a variable in column order."""

    @property
    def conditionals(self) -> Conditionals | None:
        """Conditional densities that the tables are computed from; None if the network is its tables."""

    @property
    def counts(self) -> Mapping[str, NDArray[np.float64]]:
        """Number of rows of the cells of counted tables; empty if unknown."""

    @property
    def families(self) -> Mapping[str, Family]:
        """The density of every variable given its parents, on arrays of values."""

    @property
    def cell_grids(self) -> CellGrids:
        """Cells of the columns of a network with conditionals, and its tables over them."""

    def cardinality(self, name: str) -> int:
        """Return the number of bins or levels of a variable."""

    def bin_labels(self, name: str) -> tuple[str, ...]:
        """Return the bins or levels of a variable as text, in code order."""

    def discretize(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return bin or level codes of rows."""

    def log_density_terms(
        self, frame: pd.DataFrame, of: Collection[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return ln p(variable | parents) of rows without missing cells, by variable, of all or some variables."""

    def sample(self, n: int, random_state: int | None = None, *, values: str = "own") -> pd.DataFrame:
        """Return rows drawn from the network."""
