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
from gomea_bn.network.graph import reachable
from gomea_bn.network.tables import bin_widths

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "Curve",
    "Marginal",
    "MarginalDensity",
    "bin_ratios",
    "curve_inside",
    "exact_marginal",
    "marginal",
    "marginal_density",
    "sampled_marginal",
    "scaled_by_bin",
]

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
class Curve:
    """A density that is linear between values, and values with a probability of their own.

    Attributes
    ----------
    values : ndarray of shape (n,), float64
        Values in increasing order. A value at which the density may jump stands twice.
    densities : ndarray of shape (n,), float64
        Density at these values, per unit of the variable.
    points : dict of float to float
        Probability of every value that is a point mass, by increasing value.
    """

    values: NDArray[np.float64]
    densities: NDArray[np.float64]
    points: dict[float, float]


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
    smallest.
    """
    network.cardinality(name)  # raises for an unknown name
    exact = exact_marginal(network, name, max_cells=max_cells)
    if exact is not None:
        return Marginal(exact, True)
    codes = network.discretize(network.sample(N_ROWS, random_state=0))
    return Marginal(sampled_marginal(network, name, codes), False)


def sampled_marginal(network: NetworkLike, name: str, codes: pd.DataFrame) -> NDArray[np.float64]:
    """Return the distribution of a variable whose parents are distributed as in rows of codes, float64 (card,)."""
    parents = network.parents(name)
    rows = network.tables[name][tuple(codes[parent].to_numpy() for parent in parents)]
    return np.asarray(rows.mean(axis=0) if parents else rows, np.float64)


def marginal_density(network: NetworkLike, name: str) -> MarginalDensity:
    """Return the marginal density of a continuous variable.

    In a bin it is the marginal probability of the bin times the density inside the bin. So the integral of the curve
    and the probabilities of its points sum to 1.

    Parameters
    ----------
    network : NetworkLike
        The network.
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
    distribution = marginal(network, name)
    ratios = bin_ratios(network, name, distribution.probabilities)
    curve = scaled_by_bin(curve_inside(network, name), network.cut_points[name], ratios)
    return MarginalDensity(curve, distribution.is_exact)


def curve_inside(network: NetworkLike, name: str) -> Curve:
    """Return the density whose parts are the densities inside the bins: the shape of a variable, or uniform."""
    shape = network.shapes.get(name)
    low, high = network.support[name]
    if shape is None:
        return Curve(np.array([low, high]), np.full(2, 1 / (high - low)), {})
    values = np.repeat(shape.edges, 2)[1:-1]
    densities = np.column_stack([shape.left, shape.right]).ravel() / (high - low)
    return Curve(values, densities, shape.points)


def bin_ratios(network: NetworkLike, name: str, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the bins divided by those under `curve_inside`, float64 (n_bins,)."""
    shape = network.shapes.get(name)
    cuts, support = network.cut_points[name], network.support[name]
    if shape is not None:
        return np.asarray(probabilities / shape.bin_masses(cuts), np.float64)
    # widths first, since the quotient of a narrow bin and a huge range may underflow
    return np.asarray(probabilities / bin_widths(cuts, support) * (support[1] - support[0]), np.float64)


def scaled_by_bin(curve: Curve, cuts: NDArray[np.float64], ratios: NDArray[np.float64]) -> Curve:
    """Return a curve multiplied by one number per bin.

    Parameters
    ----------
    curve : Curve
        A curve that spans the bins.
    cuts : ndarray of shape (n_bins - 1,), float64
        Inner cut points.
    ratios : ndarray of shape (n_bins,), float64
        Factor of every bin.
    """
    ends = [curve.values[0], *cuts, curve.values[-1]]
    values, densities = [], []
    for low, high, ratio in zip(ends, ends[1:], ratios, strict=False):
        first = int(np.searchsorted(curve.values, low, side="right"))
        last = int(np.searchsorted(curve.values, high, side="left"))
        heights = [_between(curve, first, low), *curve.densities[first:last], _between(curve, last, high)]
        values.append(np.array([low, *curve.values[first:last], high]))
        densities.append(ratio * np.array(heights))
    codes = np.searchsorted(cuts, list(curve.points), side="left")
    points = {
        value: float(mass * ratios[code])
        for (value, mass), code in zip(curve.points.items(), codes, strict=True)
    }
    return Curve(np.concatenate(values), np.concatenate(densities), points)


def _between(curve: Curve, position: int, value: float) -> float:
    """Return the density at a value on the line that leads to the vertex at a position."""
    (left, right), (from_height, to_height) = (
        part[position - 1 : position + 1].tolist() for part in (curve.values, curve.densities)
    )
    share = (value - left) / (right - left)
    return float(from_height + share * (to_height - from_height))


def exact_marginal(
    network: NetworkLike, name: str, *, max_cells: int = MAX_CELLS
) -> NDArray[np.float64] | None:
    """Return the exact distribution of a variable, or None if a table would have more than `max_cells` cells."""
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
    relevant = reachable({other: network.parents(other) for other in network.names}, [name])
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
