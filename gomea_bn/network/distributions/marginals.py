"""The marginal distribution of one variable of a network: exact if tables stay small, otherwise sampled.

For a continuous variable also its density, which is linear between values and may jump.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    "drawn_numbers",
    "exact_marginal",
    "level_probabilities",
    "marginal",
    "marginal_density",
]

MAX_CELLS = 2**22
"""Largest work space of the exact computation, in float64 numbers: 32 MB."""

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


def marginal(network: NetworkLike, name: str, *, max_cells: int = MAX_CELLS) -> Marginal:
    """Return the distribution of one variable, summed over all others.

    Parameters
    ----------
    network : NetworkLike
        The network.
    name : str
        Name of a variable.
    max_cells : int
        Largest work space of the exact computation on tables, in numbers. If it needs a larger one, the distribution of
        the variable's parents is estimated from 100,000 rows drawn with a fixed seed; the variable's own table stays
        exact.

    Raises
    ------
    GomeaBnError
        For an unknown name.

    Notes
    -----
    The exact computation is that of `query`.
    """
    network.cardinality(name)  # raises for an unknown name
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
        return MarginalDensity(mean_density(network, name, drawn_numbers(network)), not network.parents(name))
    distribution = marginal(network, name)
    ratios = bin_ratios(network, name, distribution.probabilities)
    curve = scaled_by_bin(curve_inside(network, name), network.cut_points[name], ratios)
    return MarginalDensity(curve, distribution.is_exact)


def level_probabilities(network: NetworkLike, name: str) -> Marginal:
    """Return the marginal distribution of a discrete variable, as in `marginal_density`."""
    if network.conditionals is not None:
        return Marginal(mean_probabilities(network, name, drawn_numbers(network)), not network.parents(name))
    return marginal(network, name)


def exact_marginal(
    network: NetworkLike, name: str, *, max_cells: int = MAX_CELLS
) -> NDArray[np.float64] | None:
    """Return the distribution of a variable over its bins or levels, or None if its tables would be too large."""
    from gomea_bn.network.inference.engine import Evidence, engine_for

    unknown = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
    engine = engine_for(network, is_single=True, most_numbers=max_cells)
    try:
        answer = engine.joint(unknown, [network.names.index(name)], in_bins=True)
    except GomeaBnError:
        return None
    return np.asarray(answer.tables[0])


def drawn_numbers(network: NetworkLike) -> pd.DataFrame:
    """Return 4,000 rows drawn with a fixed seed, with dates as numbers; they stand for the distribution of parents."""
    return network.sample(_N_DRAWN, 0, values="numbers")
