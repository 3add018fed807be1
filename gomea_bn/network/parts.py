"""The parts of a network, which are set by its constructor and never change: its graph, bins and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gomea_bn.data.columns import Level
    from gomea_bn.network.smoothing import PseudoCount
    from gomea_bn.network.value_kinds import ValueKind
    from gomea_bn.problems.cuts.shape import Shape


class Immutable:
    """A base class of objects with slots that are set once, by `_set_parts` in the constructor."""

    __slots__ = ()

    def _set_parts(self, parts: Mapping[str, object]) -> None:
        """Set slots by their names."""
        for slot, value in parts.items():
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(self._refusal())

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(self._refusal())

    def _refusal(self) -> str:
        name = type(self).__name__
        return f"{'An' if name[0] in 'AEIOU' else 'A'} {name} cannot be changed; make a new one."


class WithEdges(Protocol):
    """An object with edges."""

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) pairs."""


class WithTables(WithEdges, Protocol):
    """The graph, the bins and the tables of a discretized network; `DiscretizedBayesNet` documents them."""

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

    def cardinality(self, name: str) -> int:
        """Return the number of bins or levels of a variable."""

    def bin_labels(self, name: str) -> tuple[str, ...]:
        """Return the bins or levels of a variable as text, in code order."""
