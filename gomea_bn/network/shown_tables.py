"""Tables over the bins of a network with conditionals that are computed when they are asked for, from drawn rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.conditionals import cell_middles, table_over_rows
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.rows import draws_by_name
from gomea_bn.network.tables import MOST_COMPUTED_CELLS
from gomea_bn.problems.cuts.policies import bin_codes

if TYPE_CHECKING:
    from gomea_bn.network.recorded import NetworkLike

ROWS_OF_TABLES = 20_000
"""Number of drawn rows that tables are computed from."""


class ShownTables(Mapping[str, NDArray[np.float64]]):
    """The tables of a network over its shown bins, by variable; those that it does not hold are computed once.

    Every parent is distributed inside its bins as in 20,000 drawn rows. Their seeds depend on names alone, so that the
    order of variables has no effect.
    """

    def __init__(self, network: NetworkLike, stored: Mapping[str, NDArray[np.float64]]) -> None:
        self._network = network
        self._tables = dict(stored)
        self._drawn: dict[str, NDArray[Any]] | None = None

    @property
    def rows(self) -> dict[str, NDArray[Any]]:
        """Numbers, or codes of levels, of the drawn rows by variable, each (n_rows,)."""
        if self._drawn is None:
            self._drawn = draws_by_name(self._network, ROWS_OF_TABLES)
        return self._drawn

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self._tables:
            network = self._network
            if name not in network.names:
                raise KeyError(name)
            n_cells = prod(map(network.cardinality, (*network.parents(name), name)))
            if n_cells > MOST_COMPUTED_CELLS:
                raise GomeaBnError(
                    f"The table of '{name}' over the bins of all its parents would have {n_cells:,} cells; the limit "
                    f"is {MOST_COMPUTED_CELLS:,}. Use table('{name}', parents) for some of them, or compiled()."
                )
            table = table_over_rows(network, name, network.cut_points, self.rows)
            table.flags.writeable = False
            self._tables[name] = table
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._network.names)

    def __len__(self) -> int:
        return len(self._network.names)


def table_over_cells(
    network: NetworkLike,
    name: str,
    parents: Sequence[str],
    cells: Mapping[str, NDArray[np.float64]],
    rows: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    """Return P(cell or level of a variable | those of some parents), float64 (card(parent_1), ..., card(name)).

    `cells` are the inner cuts of continuous variables, and `rows` has numbers or codes of all variables. A cell of the
    parents has the mean over its rows of the probabilities given all parents. One more row is at the middles of the
    cell, and has the mean over some of the rows in place of other parents.
    """
    if tuple(parents) == network.parents(name):
        return table_over_rows(network, name, cells, rows)
    masses = network.families[name].masses(cells.get(name), Columns(rows))
    n_rows, card = len(rows[name]), masses.shape[-1]
    masses = np.broadcast_to(masses, (n_rows, card))
    configurations, shape = np.zeros(n_rows, np.int64), []
    middles: list[NDArray[Any]] = []
    for parent in parents:
        codes = rows[parent]
        values: NDArray[Any] = np.arange(network.cardinality(parent))
        if parent in cells:
            codes = bin_codes(rows[parent], cells[parent])
            values = cell_middles(cells[parent], network.support[parent], network.shapes.get(parent))
        configurations = configurations * len(values) + codes
        shape.append(len(values))
        middles.append(values)
    n_cells = prod(shape)
    # rows over which other parents are averaged in a cell without rows, within a number of numbers of all these cells
    n_others = int(np.clip(2_000_000 // (n_cells * card), 1, min(20, n_rows)))
    grid = {
        parent: values.reshape([-1 if k == axis else 1 for k in range(len(parents))] + [1])
        for axis, (parent, values) in enumerate(zip(parents, middles, strict=True))
    }
    others = {other: rows[other][:n_others] for other in network.parents(name) if other not in grid}
    at_middles = network.families[name].masses(cells.get(name), Columns({**others, **grid}))
    at_middles = np.broadcast_to(at_middles, (*shape, n_others, card)).mean(axis=-2)
    sums = np.column_stack([np.bincount(configurations, masses[:, code], n_cells) for code in range(card)])
    counts = np.bincount(configurations, minlength=n_cells)[:, None]
    means = (sums + at_middles.reshape(n_cells, card)) / (counts + 1)
    return np.asarray(means / means.sum(axis=1, keepdims=True)).reshape(*shape, card)
