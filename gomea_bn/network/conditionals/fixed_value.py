"""A column that an intervention has set to one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.network.conditionals.kind import Fitted
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.parts import WithTables


@dataclass(frozen=True, eq=False)
class FixedValue(Fitted):
    """The number, or the code of the level, that a column has with certainty, whatever its parents were.

    Attributes
    ----------
    value : float
        The number or the code.
    """

    of_levels = None
    what = "a fixed value"
    kind = "fixed value"
    required = ("value",)

    value: float
    parents: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return "an intervention"

    @property
    def n_parameters(self) -> float:
        """Number of parameters that were estimated: none."""
        return 0

    @property
    def fixed_value(self) -> float:
        """The number, or the code of the level, that the column has with certainty."""
        return self.value

    @property
    def takes_rows(self) -> bool:
        """Whether it can take further rows: they say nothing about it."""
        return False

    def to_content(self) -> dict[str, Any]:
        """Return the value as JSON can hold it."""
        return {"kind": self.kind, "value": self.value}

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that it needs a scale of: none."""
        return set()

    def check(self, network: WithTables, name: str, scales: Mapping[bool, Mapping[str, Any]]) -> None:
        """Raise `GomeaBnError` for a value that the column cannot have."""
        is_discrete = name in network.levels
        low, high = (0, len(network.levels[name]) - 1) if is_discrete else network.support[name]
        if (
            not is_real(self.value)
            or not low <= self.value <= high
            or (is_discrete and self.value != int(self.value))
        ):
            raise GomeaBnError(
                f"The fixed value of '{name}' must be from {low:g} to {high:g}, got {self.value!r}."
            )

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density, and its relative error where values are the middles of cells, or None."""
        return np.where(np.asarray(values[self.name]) == self.value, 0.0, -np.inf), None

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, or of all levels, float64 (..., n_cells)."""
        if cuts is None:
            return np.asarray(np.arange(self.facts.n_levels[self.name]) == self.value, np.float64)
        return np.asarray(np.arange(len(cuts) + 1) == np.searchsorted(cuts, self.value), np.float64)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, (n,)."""
        return np.full(n, self.value, np.int32 if self.name in self.facts.n_levels else np.float64)

    def breaks(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers between which the density is drawn as lines, float64 (n,)."""
        return np.empty(0)

    def pieces(
        self, breaks: NDArray[np.float64], values: Columns
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean density over rows at the left and right ends of pieces between breaks, (n_pieces,) each."""
        nothing = np.zeros(len(breaks) - 1)
        return nothing, nothing

    def of_points(self, points: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the mean probabilities of point masses over rows of the parents, float64 (n_points,)."""
        return np.asarray(points == self.value, np.float64)
