"""The distribution of a variable given its parents, as it is in a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.conditionals.conditionals import row_values
from gomea_bn.network.conditionals.family import Columns
from gomea_bn.network.curves import Curve, bin_ratios, curve_inside, piece_ends, scaled_by_bin
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "conditional_density",
    "conditional_probabilities",
    "mean_density",
    "mean_probabilities",
    "sampled_marginal",
]

# points of the scale at which a line is drawn: over its range, and for some of its centres up to six scales away
_N_POINTS = 129
_N_CENTRES = 41
_FARTHEST = 6.0


def conditional_density(network: NetworkLike, name: str, given: Mapping[str, object]) -> Curve:
    """Return the density of a continuous variable given values of all of its parents.

    It is the mixture of all sets of cuts and of the line. It is exact except for the line, which is drawn through
    points.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    name : str
        Name of a continuous variable.
    given : mapping of str to value
        Value of every parent: a number in original units, or a level. A number outside the support counts as its end.

    Raises
    ------
    GomeaBnError
        For an unknown or discrete variable, for parents without a value, names that are not parents, and values that do
        not fit.
    """
    return mean_density(network, name, _row_of(network, name, given))


def conditional_probabilities(
    network: NetworkLike, name: str, given: Mapping[str, object]
) -> NDArray[np.float64]:
    """Return the probabilities of the levels of a discrete variable given its parents, float64 (n_levels,).

    Parameters and errors are those of `conditional_density`, for a discrete variable.
    """
    return mean_probabilities(network, name, _row_of(network, name, given))


def mean_density(network: NetworkLike, name: str, rows: pd.DataFrame) -> Curve:
    """Return the density of a continuous variable given its parents, as the mean over rows.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    name : str
        Name of a continuous variable.
    rows : DataFrame
        At least one row with the columns of the parents.
    """
    network.cardinality(name)  # raises for an unknown name
    if name not in network.cut_points:
        raise GomeaBnError(f"A density needs a continuous variable, but '{name}' is discrete.")
    family, columns = network.families[name], _columns(network, name, rows)
    sets_of_cuts = family.sets_of_cuts(network.cut_points[name])
    curves = []
    for k, cuts in enumerate(sets_of_cuts):
        probabilities = np.asarray(family.table_probabilities(k, columns), np.float64)
        mean_row = probabilities.reshape(-1, probabilities.shape[-1]).mean(axis=0)
        curves.append(
            scaled_by_bin(curve_inside(network, name), cuts, bin_ratios(network, name, mean_row, cuts))
        )
    breaks = np.unique(np.concatenate([curve.values for curve in curves]))
    weight = 0.0 if family.line is None else family.line.weight
    if weight:
        bends = family.points_of_line(columns, _N_POINTS, _N_CENTRES, _FARTHEST)
        bends = bends[(bends > breaks[0]) & (bends < breaks[-1])]
        breaks = np.unique(np.concatenate([breaks, bends]))
    pieces = [piece_ends(curve, breaks) for curve in curves]
    left, right = (np.mean(ends, axis=0) for ends in zip(*pieces, strict=True))
    # all copies have the same shape
    points = np.array(list(curves[0].points), np.float64)
    of_points = np.mean([list(curve.points.values()) for curve in curves], axis=0)
    if weight:
        left = (1 - weight) * left + weight * family.line_density(np.nextafter(breaks[:-1], np.inf), columns)
        right = (1 - weight) * right + weight * family.line_density(
            np.nextafter(breaks[1:], -np.inf), columns
        )
        if len(points):
            of_points = (1 - weight) * of_points + weight * family.line_density(points, columns)
    masses = dict(zip(points.tolist(), of_points.tolist(), strict=True))
    return Curve(np.repeat(breaks, 2)[1:-1], np.column_stack([left, right]).ravel(), masses)


def mean_probabilities(network: NetworkLike, name: str, rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the probabilities of a discrete variable's levels given its parents, as the mean over rows.

    Parameters are those of `mean_density`; the result is float64 (n_levels,).
    """
    network.cardinality(name)  # raises for an unknown name
    if name in network.cut_points:
        raise GomeaBnError(f"Probabilities of levels need a discrete variable, but '{name}' is continuous.")
    probabilities = network.families[name].masses(None, _columns(network, name, rows))
    return np.asarray(probabilities.reshape(-1, probabilities.shape[-1]).mean(axis=0), np.float64)


def sampled_marginal(network: NetworkLike, name: str, codes: pd.DataFrame) -> NDArray[np.float64]:
    """Return the distribution of a variable whose parents are distributed as in rows of codes, float64 (card,)."""
    parents = network.parents(name)
    rows = network.tables[name][tuple(codes[parent].to_numpy() for parent in parents)]
    return np.asarray(rows.mean(axis=0) if parents else rows, np.float64)


def _row_of(network: NetworkLike, name: str, given: Mapping[str, object]) -> pd.DataFrame:
    """Return one row with the values of the parents of a variable."""
    import pandas as pd

    parents = network.parents(name)
    for other in given:
        if other not in parents:
            raise GomeaBnError(
                f"given: {other!r} is not a parent of '{name}', which has the parents {listed(parents) or 'none'}."
                f"{nearest(str(other), parents)}"
            )
    missing = [parent for parent in parents if parent not in given]
    if missing:
        raise GomeaBnError(
            f"given must have a value for every parent of '{name}', got none for '{missing[0]}'."
        )
    # one row also without parents
    return pd.DataFrame({parent: [given[parent]] for parent in parents}, index=[0])


def _columns(network: NetworkLike, name: str, rows: pd.DataFrame) -> Columns:
    """Return the values of the parents of a variable in rows."""
    return Columns(row_values(network, rows, network.parents(name)))
