"""The marginal distribution of one variable of a network: exact if tables stay small, otherwise sampled.

For a continuous variable also its density, which is linear between values and may jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.curves import Curve, bin_ratios, curve_inside, scaled_by_bin
from gomea_bn.network.distributions.conditionals import mean_density, mean_probabilities, sampled_marginal

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "Marginal",
    "MarginalDensity",
    "exact_marginal",
    "level_probabilities",
    "marginal",
    "marginal_density",
]

MAX_CELLS = 2**22
"""Largest table of the exact computation, in float64 cells: 32 MB."""

N_ROWS = 100_000
"""Number of rows of the sample that replaces larger tables."""

# rows of parents that the density of a network with conditionals is the mean over
_N_DRAWN = 4_000


@dataclass(frozen=True, slots=True)
class Marginal:
    """Probabilities of the bins or levels, float64 (cardinality,), and whether they are exact."""

    probabilities: NDArray[np.float64]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class MarginalDensity:
    """The curve of a variable's marginal density, and whether the probabilities of the bins are exact."""

    curve: Curve
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
    smallest. A network with conditionals answers as `query` does.
    """
    network.cardinality(name)  # raises for an unknown name
    if network.conditionals is not None:
        exact = _of_conditionals(network, name)
    else:
        exact = exact_marginal(network, name, max_cells=max_cells)
    if exact is not None:
        return Marginal(exact, True)
    codes = network.discretize(network.sample(N_ROWS, random_state=0))
    return Marginal(sampled_marginal(network, name, codes), False)


def marginal_density(network: NetworkLike, name: str) -> MarginalDensity:
    """Return the marginal density of a continuous variable.

    In a bin of a network of tables it is the marginal probability of the bin times the density inside the bin. The
    integral of the curve and the probabilities of its points sum to 1.

    Parameters
    ----------
    network : NetworkLike
        The network. With conditionals the density is the mean of the densities given the parents in 4,000 rows that
        are drawn with a fixed seed; without parents it is exact. Lines are drawn at points that follow their bends.
    name : str
        Name of a continuous variable.

    Raises
    ------
    GomeaBnError
        For an unknown name and for a discrete variable.
    """
    network.cardinality(name)  # raises for an unknown name
    if name not in network.cut_points:
        raise GomeaBnError(f"A density needs a continuous variable, but '{name}' is discrete.")
    if network.conditionals is not None:
        return MarginalDensity(mean_density(network, name, _drawn(network)), not network.parents(name))
    distribution = marginal(network, name)
    ratios = bin_ratios(network, name, distribution.probabilities)
    curve = scaled_by_bin(curve_inside(network, name), network.cut_points[name], ratios)
    return MarginalDensity(curve, distribution.is_exact)


def level_probabilities(network: NetworkLike, name: str) -> Marginal:
    """Return the marginal distribution of a discrete variable, as in `marginal_density`."""
    if network.conditionals is not None:
        return Marginal(mean_probabilities(network, name, _drawn(network)), not network.parents(name))
    return marginal(network, name)


def _of_conditionals(network: NetworkLike, name: str) -> NDArray[np.float64] | None:
    """Return the distribution of a variable over cells, added up to bins, or None if it would be too large."""
    from gomea_bn.network.inference.engine import Evidence, engine_for

    unknown = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
    try:
        answer = engine_for(network, is_single=True).joint(unknown, [network.names.index(name)], in_bins=True)
    except GomeaBnError:
        return None
    return np.asarray(answer.tables[0])


def _drawn(network: NetworkLike) -> pd.DataFrame:
    """Return the rows whose parents stand for their distribution."""
    return network.sample(_N_DRAWN, 0, values="numbers")


def exact_marginal(
    network: NetworkLike, name: str, *, max_cells: int = MAX_CELLS
) -> NDArray[np.float64] | None:
    """Return the exact distribution of a variable, or None if a table would have more than `max_cells` cells."""
    cards = {other: network.cardinality(other) for other in _ancestry(network, name)}
    factors = [_factor(network, other, cards) for other in cards]
    # variables that share a factor with each variable, itself included
    joined: dict[str, set[str]] = {other: set() for other in cards}
    for factor in factors:
        for other in factor.names:
            joined[other].update(factor.names)
    cells = {
        other: prod(cards[member] for member in joined[other])
        for other in cards
        if other != name and cards[other] > 1
    }
    while cells:
        cheapest = min(cells, key=lambda other: (cells[other], other))
        if cells.pop(cheapest) > max_cells:
            return None
        touched = [factor for factor in factors if cheapest in factor.names]
        product = touched[0]
        for factor in touched[1:]:
            product = _times(product, factor)
        axis = product.names.index(cheapest)
        rest = tuple(member for member in product.names if member != cheapest)
        factors = [factor for factor in factors if cheapest not in factor.names]
        factors.append(_Factor(rest, product.cells.sum(axis=axis)))
        for other in rest:
            joined[other] = (joined[other] | joined[cheapest]) - {cheapest}
            if other in cells:
                cells[other] = prod(cards[member] for member in joined[other])
    result = np.ones(cards[name])
    for factor in factors:
        result = result * factor.cells
    return result


def _ancestry(network: NetworkLike, name: str) -> list[str]:
    """Return the variable and its ancestors in column order; other variables do not affect its distribution."""
    relevant, waiting = {name}, [name]
    while waiting:
        new = [other for other in network.parents(waiting.pop()) if other not in relevant]
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
