"""The distribution of a variable given its parents, as it is in a network or an averaged network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, encode_levels, numeric_values
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.averaged.family_line import joint_groups, log_line_density
from gomea_bn.network.averaged.network import AveragedBayesNet
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.curves import Curve, bin_ratios, curve_inside, piece_ends, scaled_by_bin
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "Network",
    "conditional_density",
    "conditional_probabilities",
    "mean_density",
    "mean_probabilities",
    "sampled_marginal",
]

Network: TypeAlias = DiscretizedBayesNet | AveragedBayesNet

# points of the scale at which a line is drawn: over its range, and for some of its centres up to six scales away
_N_POINTS = 129
_N_CENTRES = 41
_FARTHEST = 6.0


def conditional_density(network: Network, name: str, given: Mapping[str, object]) -> Curve:
    """Return the density of a continuous variable given values of all of its parents.

    For an averaged network it is the mixture of all sets of cuts and of the line. It is exact except for the line,
    which is drawn through points.

    Parameters
    ----------
    network : DiscretizedBayesNet or AveragedBayesNet
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
    network: Network, name: str, given: Mapping[str, object]
) -> NDArray[np.float64]:
    """Return the probabilities of the levels of a discrete variable given its parents, float64 (n_levels,).

    Parameters and errors are those of `conditional_density`, for a discrete variable.
    """
    return mean_probabilities(network, name, _row_of(network, name, given))


def mean_density(network: Network, name: str, rows: pd.DataFrame) -> Curve:
    """Return the density of a continuous variable given its parents, as the mean over rows.

    Parameters
    ----------
    network : DiscretizedBayesNet or AveragedBayesNet
        The network.
    name : str
        Name of a continuous variable.
    rows : DataFrame
        At least one row with the columns of the parents.
    """
    shown = _shown(network)
    shown.cardinality(name)  # raises for an unknown name
    if name not in shown.cut_points:
        raise GomeaBnError(f"A density needs a continuous variable, but '{name}' is discrete.")
    copies = _copies(network)
    curves = [
        scaled_by_bin(
            curve_inside(copy, name),
            copy.cut_points[name],
            bin_ratios(copy, name, _mean_row(copy, name, rows)),
        )
        for copy in copies
    ]
    breaks = np.unique(np.concatenate([curve.values for curve in curves]))
    line, weight = None, 0.0
    if isinstance(network, AveragedBayesNet) and name in network.lines:
        line, weight = _MeanLine(network, name, rows), network.lines[name].weight
        breaks = np.unique(np.concatenate([breaks, line.points(breaks[0], breaks[-1])]))
    pieces = [piece_ends(curve, breaks) for curve in curves]
    left, right = (np.mean(ends, axis=0) for ends in zip(*pieces, strict=True))
    if line is not None:
        left = (1 - weight) * left + weight * line.density(np.nextafter(breaks[:-1], np.inf))
        right = (1 - weight) * right + weight * line.density(np.nextafter(breaks[1:], -np.inf))
    # all copies have the same shape
    points = np.array(list(curves[0].points), np.float64)
    of_points = np.mean([list(curve.points.values()) for curve in curves], axis=0)
    if line is not None and len(points):
        of_points = (1 - weight) * of_points + weight * line.density(points)
    masses = dict(zip(points.tolist(), of_points.tolist(), strict=True))
    return Curve(np.repeat(breaks, 2)[1:-1], np.column_stack([left, right]).ravel(), masses)


def mean_probabilities(network: Network, name: str, rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the probabilities of a discrete variable's levels given its parents, as the mean over rows.

    Parameters are those of `mean_density`; the result is float64 (n_levels,).
    """
    shown = _shown(network)
    shown.cardinality(name)  # raises for an unknown name
    if name in shown.cut_points:
        raise GomeaBnError(f"Probabilities of levels need a discrete variable, but '{name}' is continuous.")
    return np.asarray(np.mean([_mean_row(copy, name, rows) for copy in _copies(network)], axis=0), np.float64)


def sampled_marginal(network: NetworkLike, name: str, codes: pd.DataFrame) -> NDArray[np.float64]:
    """Return the distribution of a variable whose parents are distributed as in rows of codes, float64 (card,)."""
    parents = network.table_parents(name)
    rows = network.tables[name][tuple(codes[parent].to_numpy() for parent in parents)]
    return np.asarray(rows.mean(axis=0) if parents else rows, np.float64)


class _MeanLine:
    """The line of a variable given rows of its parents.

    Parameters
    ----------
    network : AveragedBayesNet
        A network with a line of the variable.
    name : str
        Name of the variable.
    rows : DataFrame
        Rows of the parents.
    """

    def __init__(self, network: AveragedBayesNet, name: str, rows: pd.DataFrame) -> None:
        line, levels, support = network.lines[name], network.network.levels, network.network.support
        scales = network.scales_of(line)
        positions = column_positions(rows, [*line.parents, *line.groups])
        codes = [encode_levels(rows.iloc[:, positions[p]], p, levels[p]) for p in line.groups]
        groups = joint_groups(codes, [len(levels[p]) for p in line.groups], len(rows))
        on_scales = [
            scales[p].of_values(np.clip(numeric_values(rows.iloc[:, positions[p]], p), *support[p]))
            for p in line.parents
        ]
        self._scale = scales[name]
        # the density moves a centre beyond the range to its end
        means = line.means(np.column_stack(on_scales), groups)
        self._means = np.clip(means, self._scale.low, self._scale.high)
        self._scales, self._freedom = line.scales[groups], line.freedom[groups]

    def points(self, low: float, high: float) -> NDArray[np.float64]:
        """Return values between two others at which the density may bend, float64 (n_points,)."""
        order = np.argsort(self._means)
        some = np.unique(order[np.linspace(0, len(order) - 1, _N_CENTRES).astype(np.int64)])
        offsets = np.linspace(-_FARTHEST, _FARTHEST, max(_N_POINTS // len(some), 5))
        around = self._means[some, None] + self._scales[some, None] * offsets
        z = np.concatenate([np.linspace(self._scale.low, self._scale.high, _N_POINTS), around.ravel()])
        values = self._scale.values_of(np.clip(z, self._scale.low, self._scale.high))
        values = np.concatenate([values, self._scale.bends])
        return values[(values > low) & (values < high)]

    def density(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean density of values over the rows, float64 (n_values,); a probability at point masses."""
        scale = self._scale
        z, ends = scale.of_values(values), scale.ends_of_points(values)
        logs = log_line_density(
            z, self._means[:, None], self._scales[:, None], self._freedom[:, None], scale, ends
        ) + scale.log_slope(values, z)
        is_inside = (values >= scale.least) & (values <= scale.greatest)
        densities = np.exp(logs).mean(axis=0)
        return np.where(is_inside, densities, 0.0)


def _row_of(network: Network, name: str, given: Mapping[str, object]) -> pd.DataFrame:
    """Return one row with the values of the parents of a variable."""
    import pandas as pd

    parents = _shown(network).parents(name)
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


def _mean_row(network: DiscretizedBayesNet, name: str, rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the mean of the table rows of a variable that rows of its parents select, float64 (cardinality,)."""
    import pandas as pd

    parents, cuts, levels = network.table_parents(name), network.cut_points, network.levels
    positions = column_positions(rows, parents)
    codes: dict[str, NDArray[Any]] = {}
    for parent in parents:
        column = rows.iloc[:, positions[parent]]
        if parent in cuts:
            codes[parent] = bin_codes(numeric_values(column, parent), cuts[parent])
        else:
            codes[parent] = encode_levels(column, parent, levels[parent])
    return sampled_marginal(network, name, pd.DataFrame(codes))


def _shown(network: Network) -> DiscretizedBayesNet:
    """Return the network that is shown."""
    return network.network if isinstance(network, AveragedBayesNet) else network


def _copies(network: Network) -> tuple[DiscretizedBayesNet, ...]:
    """Return the networks whose families are averaged."""
    return network.copies if isinstance(network, AveragedBayesNet) else (network,)
