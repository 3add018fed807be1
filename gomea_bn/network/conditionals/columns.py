"""Values of columns, with their bins and positions on scales."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.conditionals.scales import LineScale
from gomea_bn.problems.cuts.policies import bin_codes


class Columns:
    """Values of columns, whose bins and positions on scales are computed once.

    Numbers of continuous columns, and codes of discrete ones, have shapes that broadcast. Numbers that stand for cells
    have the `ends` (lower, upper) of these, of their shape.
    """

    def __init__(
        self,
        values: Mapping[str, NDArray[Any]],
        ends: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None,
    ) -> None:
        self._values, self._ends = values, ends or {}
        self._codes: dict[tuple[str, int], tuple[object, NDArray[Any]]] = {}
        self._positions: dict[tuple[str, int], tuple[object, NDArray[np.float64]]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]

    @property
    def n_rows(self) -> int:
        """Number of rows of columns of shape (n_rows,)."""
        return len(next(iter(self._values.values())))

    def codes(self, name: str, cuts: NDArray[np.float64] | None) -> NDArray[Any]:
        """Return the bins of a continuous column, or the codes of a discrete one, for which `cuts` is None."""
        values = self._values[name]
        if cuts is None:
            return values
        key = name, id(cuts)
        if key not in self._codes:
            # the cuts are kept so that no other array gets their number
            self._codes[key] = cuts, bin_codes(np.ravel(values), cuts).reshape(np.shape(values))
        return self._codes[key][1]

    def positions(self, name: str, scale: LineScale) -> NDArray[np.float64]:
        """Return the positions of a continuous column on a scale."""
        key = name, id(scale)
        if key not in self._positions:
            self._positions[key] = scale, scale.of_values(np.asarray(self._values[name], np.float64))
        return self._positions[key][1]

    def ends(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the ends of the cells that values of a column stand for; None for exact values."""
        return self._ends.get(name)

    def bounds(self) -> tuple[Columns, ...] | None:
        """Return the columns at both ends of the cells of a single column; None for values and for several columns."""
        return None

    def add_error(self, error: NDArray[np.float64]) -> None:
        """Take note of the relative error of densities that count with their middles in cells of a single column."""

    def some(self, rows: NDArray[np.int64], of: Iterable[str]) -> Columns:
        """Return some rows of some columns of shape (n_rows,)."""
        return Columns({name: self._values[name][rows] for name in of})
