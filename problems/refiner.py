"""What a search asks of an object that improves solutions by means that only their problem has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Refiner", "ValuesInUse"]

ValuesInUse: TypeAlias = Callable[[int], NDArray[np.int64]]
"""Function of a gene that returns its values in the solutions of a search, which a library must keep."""


class Refiner(Protocol):
    """An object that improves solutions; classes that do so derive from it."""

    def improved(
        self, genotype: NDArray[np.int16], generator: np.random.Generator, in_use: ValuesInUse
    ) -> NDArray[np.int16]:
        """Return a genotype that is at least as good.

        Parameters
        ----------
        genotype : ndarray of shape (n_genes,), int16
            Without cycles, as evaluation leaves it; not changed.
        generator : numpy.random.Generator
        in_use : callable
            Values that the rest of the search needs; those of the genotype itself are added.
        """
        raise NotImplementedError

    def affordable(self, n_eval: int) -> bool:
        """Return whether the work done so far is in proportion to `n_eval` evaluations of the search."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return what later work depends on, as plain values and arrays, for checkpoints."""
        raise NotImplementedError

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned."""
        raise NotImplementedError
