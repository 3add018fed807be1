"""The distribution of one variable of a network, exact where tables stay small, else from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["Marginal", "marginal"]

MAX_CELLS = 2**22
"""Largest table, in float64 cells, that the exact sums may need: 32 MB."""

N_ROWS = 100_000
"""Rows of the sample that stands in for larger tables."""


@dataclass(frozen=True, slots=True)
class Marginal:
    """P(bin or level), float64 (cardinality,), and whether it is exact."""

    probabilities: NDArray[np.float64]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Factor:
    """A table over variables, one axis each."""

    names: tuple[str, ...]
    cells: NDArray[np.float64]


def marginal(network: NetworkLike, name: str, *, max_cells: int = MAX_CELLS) -> Marginal:
    """Return the distribution of one variable, summed over all others.

    Parameters
    ----------
    network : NetworkLike
        The network asked.
    name : str
        One of its variables.
    max_cells : int
        Largest table that the exact sums may need. Beyond it, 100,000 rows drawn with a fixed seed stand in
        for the variable's parents; its own table stays exact.

    Raises
    ------
    GomeaBnError
        For an unknown name.

    Notes
    -----
    Variable elimination over the ancestors, each time the variable whose product of tables is smallest.
    """
    network.cardinality(name)  # refuses unknown names
    exact = _eliminated(network, name, max_cells)
    if exact is not None:
        return Marginal(exact, True)
    parents = network.parents(name)
    codes = network.discretize(network.sample(N_ROWS, random_state=0))
    rows = network.tables[name][tuple(codes[parent].to_numpy() for parent in parents)]
    return Marginal(rows.mean(axis=0), False)


def _eliminated(network: NetworkLike, name: str, max_cells: int) -> NDArray[np.float64] | None:
    """Return the exact distribution, or None if a table would outgrow the limit."""
    cards = {other: network.cardinality(other) for other in _ancestry(network, name)}
    factors = [_factor(network, other, cards) for other in cards]
    waiting = {other for other in cards if other != name and cards[other] > 1}

    def cells(other: str) -> int:
        joined = {one for factor in factors if other in factor.names for one in factor.names}
        return prod(cards[one] for one in joined)

    while waiting:
        nearest = min(sorted(waiting), key=cells)
        if cells(nearest) > max_cells:
            return None
        touched = [factor for factor in factors if nearest in factor.names]
        product = touched[0]
        for factor in touched[1:]:
            product = _times(product, factor)
        axis = product.names.index(nearest)
        rest = tuple(one for one in product.names if one != nearest)
        factors = [factor for factor in factors if nearest not in factor.names]
        factors.append(_Factor(rest, product.cells.sum(axis=axis)))
        waiting.remove(nearest)
    result = np.ones(cards[name])
    for factor in factors:
        result = result * factor.cells
    return result


def _ancestry(network: NetworkLike, name: str) -> list[str]:
    """Return the variable and its ancestors in column order; the others cannot matter."""
    found, waiting = {name}, [name]
    while waiting:
        new = [parent for parent in network.parents(waiting.pop()) if parent not in found]
        found.update(new)
        waiting += new
    return [other for other in network.names if other in found]


def _factor(network: NetworkLike, name: str, cards: dict[str, int]) -> _Factor:
    """Return a variable's table without the axes of variables that have one value only."""
    kept = tuple(other for other in (*network.parents(name), name) if cards[other] > 1)
    return _Factor(kept, network.tables[name].reshape([cards[other] for other in kept]))


def _times(first: _Factor, second: _Factor) -> _Factor:
    """Return the product over the variables of both."""
    names = tuple(dict.fromkeys((*first.names, *second.names)))
    letters = dict(zip(names, ascii_letters, strict=False))

    def spelt(of: Sequence[str]) -> str:
        return "".join(letters[name] for name in of)

    formula = f"{spelt(first.names)},{spelt(second.names)}->{spelt(names)}"
    return _Factor(names, np.asarray(np.einsum(formula, first.cells, second.cells)))
