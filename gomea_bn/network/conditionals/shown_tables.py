"""Tables of a network over cells of its columns, computed from its conditional densities."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.conditionals.family import Columns
from gomea_bn.problems.cuts.policies import bin_codes

if TYPE_CHECKING:
    from gomea_bn.network.conditionals.conditionals import WithDensities
    from gomea_bn.problems.cuts.shape import Shape

# weight of the middles of cells against rows of data, in rows
_WEIGHT_OF_MIDDLES = 1.0


def cell_middles(
    cuts: NDArray[np.float64], support: tuple[float, float], shape: Shape | None
) -> NDArray[np.float64]:
    """Return the median of each cell between some cuts, under the shape or uniform, float64 (n_cells,)."""
    if shape is not None:
        n_cells = len(cuts) + 1
        return shape.inside(np.arange(n_cells), cuts, np.full(n_cells, 0.5))
    ends = np.concatenate((support[:1], cuts, support[1:]))
    # halves first, since the sum of huge ends may overflow
    return np.asarray(ends[:-1] / 2 + ends[1:] / 2, np.float64)


def table_over_grid(
    network: WithDensities,
    name: str,
    cells: Mapping[str, NDArray[np.float64]],
    ends: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None,
) -> NDArray[np.float64]:
    """Return P(cell or level of a column | cells or levels of its parents), each parent at the middle of its cell.

    `cells` are the inner cuts of the cells of continuous columns. With the `ends` of these, each (n_cells,), the line
    of the column is averaged over them. The table has the shape (card(parent_1), ..., card(name)).
    """
    parents, levels = network.parents(name), network.levels
    values: dict[str, NDArray[Any]] = {}
    along_axes = {}
    shape = []
    for axis, parent in enumerate(parents):
        middles: NDArray[Any] = (
            np.arange(len(levels[parent]))
            if parent in levels
            else cell_middles(cells[parent], network.support[parent], network.shapes.get(parent))
        )
        shape.append(len(middles))
        along = [-1 if k == axis else 1 for k in range(len(parents))]
        values[parent] = middles.reshape(along)
        if ends is not None and parent in ends:
            low, high = ends[parent]
            along_axes[parent] = low.reshape(along), high.reshape(along)
    masses = network.families[name].masses(cells.get(name), Columns(values, along_axes))
    return np.array(np.broadcast_to(masses, (*shape, masses.shape[-1])))


def table_over_rows(
    network: WithDensities,
    name: str,
    cells: Mapping[str, NDArray[np.float64]],
    rows: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    """Return the table of `table_over_grid` with parents distributed inside their cells as in rows of data.

    A cell of the parents has the mean over its rows of the probabilities given their values, and over one more row at
    the middles, which alone decides for cells without rows. `rows` has numbers, or codes of levels, of all columns.
    """
    table = table_over_grid(network, name, cells)
    parents = network.parents(name)
    if not parents:
        return table
    card, n_configurations = table.shape[-1], prod(table.shape[:-1])
    configurations = np.zeros(len(rows[name]), np.int64)
    for parent, size in zip(parents, table.shape, strict=False):
        codes = rows[parent] if parent not in cells else bin_codes(rows[parent], cells[parent])
        configurations = configurations * size + codes
    masses = network.families[name].masses(cells.get(name), Columns(rows))
    masses = np.broadcast_to(masses, (len(configurations), card))
    sums = np.column_stack(
        [np.bincount(configurations, masses[:, code], n_configurations) for code in range(card)]
    )
    counts = np.bincount(configurations, minlength=n_configurations)[:, None]
    weight = _WEIGHT_OF_MIDDLES
    means = (sums + weight * table.reshape(-1, card)) / (counts + weight)
    return np.asarray(means / means.sum(axis=1, keepdims=True)).reshape(table.shape)
