"""The table of a family that people read: few cells, with the parents that add most."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.protocol import NetworkLike
from gomea_bn.network.recorded import ordered_parents

MOST_SHOWN_CELLS = 200
"""Most cells of the shown table of a family with a continuous column."""

# weight of a table row without rows of data
_LEAST_WEIGHT = 1e-3


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
    weights = np.maximum(of_rows, _LEAST_WEIGHT)
    # shown parents first, in their order
    axes = [parents.index(parent) for parent in shown]
    axes += [axis for axis in range(len(parents)) if axis not in axes]
    hidden = tuple(range(len(shown), len(parents)))
    moved = (table * weights[..., None]).transpose(*axes, len(parents)).sum(axis=hidden)
    total = weights.transpose(axes).sum(axis=hidden)
    return moved / total[..., None], of_rows.transpose(axes).sum(axis=hidden)
