"""The distribution of one variable of a network: given its parents, and the marginal one.

The marginal is exact if tables stay small, otherwise sampled. A continuous variable also has a density, which is linear
between values and may jump. Tables that people read have few parents.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, mapping_in, nearest
from gomea_bn.lazy import pd
from gomea_bn.network.bin_distributions import bin_ratios, curve_inside
from gomea_bn.network.conditionals.conditionals import row_values
from gomea_bn.network.conditionals.curve import Curve, scaled_by_bin
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.inference.question import Evidence
from gomea_bn.network.recorded import NetworkLike, ordered_parents
from gomea_bn.network.tables import MOST_COMPUTED_CELLS, MOST_SHOWN_CELLS
from gomea_bn.texts import listed

N_ROWS = 100_000
"""Number of rows of the sample that replaces larger tables."""

# rows of parents that the density of a network with conditionals is the mean over
_N_DRAWN = 4_000


def conditional_density(network: NetworkLike, name: str, given: Mapping[str, object]) -> Curve:
    """Return the density of a continuous variable given values of all of its parents.

    It is exact except for lines, which are drawn through points.

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
    """Return the density of a continuous variable given its parents, as the mean over at least one row of these."""
    network.cardinality(name)  # raises for an unknown name
    if name not in network.cut_points:
        raise GomeaBnError(f"A density needs a continuous variable, but '{name}' is discrete.")
    family, columns = network.families[name], _columns(network, name, rows)
    inside = curve_inside(network, name)
    ends = inside.values[[0, -1]]
    breaks = np.concatenate([ends, family.breaks(columns)])
    breaks = np.unique(breaks[(breaks >= ends[0]) & (breaks <= ends[1])])
    left, right = family.pieces(breaks, columns)
    fixed = family.stack.fixed_value
    points = np.array(list(inside.points) if fixed is None else [fixed], np.float64)
    masses = family.of_points(points, columns) if len(points) else points
    by_value = dict(zip(points.tolist(), masses.tolist(), strict=True))
    return Curve(np.repeat(breaks, 2)[1:-1], np.column_stack([left, right]).ravel(), by_value)


def mean_probabilities(network: NetworkLike, name: str, rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the probabilities of a discrete variable's levels given its parents, as the mean over rows of these."""
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
    parents, given = network.parents(name), mapping_in("given", given)
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


def marginal(
    network: NetworkLike, name: str, *, max_cells: int = MOST_COMPUTED_CELLS
) -> tuple[NDArray[np.float64], bool]:
    """Return the distribution of one variable, summed over all others, as `query` computes it, and whether it is exact.

    It is over the bins or levels, float64 (cardinality,).

    If tables need a work space of more than `max_cells` numbers, the distribution of the parents is estimated from
    100,000 rows drawn with a fixed seed; the variable's own table stays exact.
    """
    network.cardinality(name)  # raises for an unknown name
    exact = exact_marginal(network, name, max_cells=max_cells)
    if exact is not None:
        return exact, True
    codes = network.discretize(network.sample(N_ROWS, random_state=0))
    return sampled_marginal(network, name, codes), False


def marginal_density(network: NetworkLike, name: str) -> Curve:
    """Return the curve of the marginal density of a continuous variable.

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
        return mean_density(network, name, drawn_numbers(network))
    ratios = bin_ratios(network, name, marginal(network, name)[0])
    return scaled_by_bin(curve_inside(network, name), network.cut_points[name], ratios)


def level_probabilities(network: NetworkLike, name: str) -> tuple[NDArray[np.float64], bool]:
    """Return the marginal distribution of a discrete variable, as in `marginal_density`, and whether it is exact."""
    if network.conditionals is not None:
        return mean_probabilities(network, name, drawn_numbers(network)), not network.parents(name)
    return marginal(network, name)


def exact_marginal(
    network: NetworkLike, name: str, *, max_cells: int = MOST_COMPUTED_CELLS
) -> NDArray[np.float64] | None:
    """Return the distribution of a variable over its bins or levels, or None if its tables would be too large."""
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


def shown_parents(network: NetworkLike, name: str) -> tuple[str, ...]:
    """Return the parents that the shown table of a variable has, the one that adds most first.

    A parent has a place if the table of 200 cells has room for it. Families of discrete columns alone show all parents.
    """
    parents = ordered_parents(network, name)
    if not any(member in network.cut_points for member in (name, *parents)):
        return parents
    chosen: list[str] = []
    for parent in parents:
        n_cells = prod(map(network.cardinality, (name, *chosen, parent)))
        if n_cells <= MOST_SHOWN_CELLS:
            chosen.append(parent)
    return tuple(chosen)


def shown_table(
    network: NetworkLike, name: str, counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return P(variable | shown parents), and the number of rows behind each of its table rows.

    Rows of the whole table that agree in the shown parents are averaged, weighted by their rows of data, or drawn ones:
    `counts`, int64, in C order. Axes are in the order of `shown_parents`, with that of the variable last.
    """
    table, parents, shown = network.tables[name], network.parents(name), shown_parents(network, name)
    of_rows = counts.reshape(table.shape[:-1])
    # weight of a table row without rows of data
    weights = np.maximum(of_rows, 1e-3)
    # shown parents first, in their order
    axes = [parents.index(parent) for parent in shown]
    axes += [axis for axis in range(len(parents)) if axis not in axes]
    hidden = tuple(range(len(shown), len(parents)))
    moved = (table * weights[..., None]).transpose(*axes, len(parents)).sum(axis=hidden)
    total = weights.transpose(axes).sum(axis=hidden)
    return moved / total[..., None], of_rows.transpose(axes).sum(axis=hidden)
