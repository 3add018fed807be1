"""The marginal distribution of one variable of a network: exact if tables stay small, otherwise sampled."""

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
"""Largest table of the exact computation, in float64 cells: 32 MB."""

N_ROWS = 100_000
"""Number of rows of the sample that replaces larger tables."""


@dataclass(frozen=True, slots=True)
class Marginal:
    """Probabilities of the bins or levels, float64 (cardinality,), and whether they are exact."""

    probabilities: NDArray[np.float64]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Factor:
    """A table with one axis per variable."""

    names: tuple[str, ...]
    cells: NDArray[np.float64]


def marginal(network: NetworkLike, name: str, *, max_cells: int = MAX_CELLS) -> Marginal:
    """Return the distribution of one variable, summed over all others.

    Parameters
    ----------
    network : NetworkLike
        The network.
    name : str
        Name of a variable.
    max_cells : int
        Largest table of the exact computation, in cells. If it needs a larger one, the distribution of the variable's
        parents is estimated from 100,000 rows drawn with a fixed seed; the variable's own table stays exact.

    Raises
    ------
    GomeaBnError
        For an unknown name.

    Notes
    -----
    The exact computation is variable elimination over the ancestors, always of the variable whose product of tables is
    smallest.
    """
    network.cardinality(name)  # raises for an unknown name
    exact = _eliminated(network, name, max_cells)
    if exact is not None:
        return Marginal(exact, True)
    parents = network.parents(name)
    codes = network.discretize(network.sample(N_ROWS, random_state=0))
    rows = network.tables[name][tuple(codes[parent].to_numpy() for parent in parents)]
    return Marginal(rows.mean(axis=0), False)


def _eliminated(network: NetworkLike, name: str, max_cells: int) -> NDArray[np.float64] | None:
    """Return the exact distribution, or None if a table would exceed the limit."""
    cards = {other: network.cardinality(other) for other in _ancestry(network, name)}
    factors = [_factor(network, other, cards) for other in cards]
    waiting = {other for other in cards if other != name and cards[other] > 1}

    def cells(other: str) -> int:
        joined = {member for factor in factors if other in factor.names for member in factor.names}
        return prod(cards[member] for member in joined)

    while waiting:
        cheapest = min(sorted(waiting), key=cells)
        if cells(cheapest) > max_cells:
            return None
        touched = [factor for factor in factors if cheapest in factor.names]
        product = touched[0]
        for factor in touched[1:]:
            product = _times(product, factor)
        axis = product.names.index(cheapest)
        rest = tuple(member for member in product.names if member != cheapest)
        factors = [factor for factor in factors if cheapest not in factor.names]
        factors.append(_Factor(rest, product.cells.sum(axis=axis)))
        waiting.remove(cheapest)
    result = np.ones(cards[name])
    for factor in factors:
        result = result * factor.cells
    return result


def _ancestry(network: NetworkLike, name: str) -> list[str]:
    """Return the variable and its ancestors in column order; other variables do not affect its distribution."""
    relevant, waiting = {name}, [name]
    while waiting:
        new = [parent for parent in network.parents(waiting.pop()) if parent not in relevant]
        relevant.update(new)
        waiting += new
    return [other for other in network.names if other in relevant]


def _factor(network: NetworkLike, name: str, cards: dict[str, int]) -> _Factor:
    """Return a variable's table without the axes of variables with a single value."""
    varying = tuple(other for other in (*network.parents(name), name) if cards[other] > 1)
    return _Factor(varying, network.tables[name].reshape([cards[other] for other in varying]))


def _times(first: _Factor, second: _Factor) -> _Factor:
    """Return the product of two tables, over the variables of both."""
    names = tuple(dict.fromkeys((*first.names, *second.names)))
    letters = dict(zip(names, ascii_letters, strict=False))

    def axes(of: Sequence[str]) -> str:
        return "".join(letters[name] for name in of)

    formula = f"{axes(first.names)},{axes(second.names)}->{axes(names)}"
    return _Factor(names, np.asarray(np.einsum(formula, first.cells, second.cells)))
