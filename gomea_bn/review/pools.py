"""Pools of bins and probability tables; networks of a front share most of them, so each is stored once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["MOST_TABLE_ROWS", "Pools"]

MOST_TABLE_ROWS = 200
"""Largest number of rows of a probability table on the page."""

# probabilities are stored as whole multiples of 1 / 10,000
_DIGITS = 10_000
# limit of the time for counting, in rows times bins and tables; counts beyond it are left out
_MOST_COUNTING = 50_000_000


class Pools:
    """The distinct bins and families of networks over the same variables.

    Parameters
    ----------
    names : sequence of str
        Names of the variables, in the networks' order.
    table : Table, optional
        Rows of data. With them, each bin and each row of a probability table gets its number of rows of data.

    Attributes
    ----------
    cuts : list of list of dict
        Distinct bins of each variable: "at" has the cut points, "n" the number of rows in every bin (or None).
    families : list of list of dict
        Distinct probability tables of each variable: "p" has the positions of the parents, "r" the number of table
        rows, "t" the probabilities of the stored rows as a flat list in ten-thousandths, "i" the indices of the
        stored rows (None: all rows), "n" the number of rows of data behind each stored row (or None).
    """

    def __init__(self, names: Sequence[str], table: Table | None) -> None:
        self.cuts: list[list[dict[str, Any]]] = [[] for _ in names]
        self.families: list[list[dict[str, Any]]] = [[] for _ in names]
        self._names = tuple(names)
        self._columns = {column.name: column for column in table.columns} if table is not None else {}
        self._n_rows = table.n_rows if table is not None else 0
        self._spent = 0
        self._cut_positions: list[dict[bytes, int]] = [{} for _ in names]
        self._family_positions: list[dict[tuple[Any, ...], int]] = [{} for _ in names]
        self._codes: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._row_counts: dict[tuple[Any, ...], NDArray[np.int64] | None] = {}
        self._support: dict[str, tuple[float, float]] = {}

    def add(self, network: DiscretizedBayesNet) -> dict[str, list[int]]:
        """Add a network and return its positions in the pools by variable: "c" of its bins, "f" of its tables."""
        bins = [self._bins(network, position) for position in range(len(self._names))]
        return {
            "c": bins,
            "f": [self._family(network, position, bins) for position in range(len(self._names))],
        }

    def support(self, name: str) -> list[float]:
        """Return the range of a continuous variable over all added networks: its least and greatest value."""
        return list(self._support[name])

    def _bins(self, network: DiscretizedBayesNet, position: int) -> int:
        name = self._names[position]
        if name not in network.cut_points:
            key, cut_points = b"", None
        else:
            cuts = network.cut_points[name]
            key, cut_points = cuts.tobytes(), [float(f"{cut:.10g}") for cut in cuts.tolist()]
            low, high = network.support[name]
            before = self._support.get(name, (low, high))
            self._support[name] = (min(low, before[0]), max(high, before[1]))
        positions = self._cut_positions[position]
        if key not in positions:
            positions[key] = len(positions)
            codes = self._coded(network, position, positions[key])
            counts = None
            if codes is not None:
                counts = np.bincount(codes, minlength=network.cardinality(name)).tolist()
            self.cuts[position].append({"at": cut_points, "n": counts})
        return positions[key]

    def _coded(self, network: DiscretizedBayesNet, position: int, bins: int) -> NDArray[np.int32] | None:
        """Return the bin or level of every row, int32 (n_rows,), or None without rows or beyond the limit of time."""
        name = self._names[position]
        if name not in self._columns or self._spent > _MOST_COUNTING:
            return None
        column = self._columns[name]
        if column.levels is not None:
            codes = column.values
        else:
            self._spent += self._n_rows
            codes = np.searchsorted(network.cut_points[name], column.values, side="left").astype(np.int32)
        self._codes[position, bins] = codes
        return codes

    def _family(self, network: DiscretizedBayesNet, position: int, bins: Sequence[int]) -> int:
        name = self._names[position]
        parents = [self._names.index(parent) for parent in network.parents(name)]
        table = network.tables[name]
        key = (tuple(parents), tuple(bins[parent] for parent in parents), bins[position], table.tobytes())
        positions = self._family_positions[position]
        if key not in positions:
            positions[key] = len(positions)
            cards = [network.cardinality(self._names[parent]) for parent in parents]
            self.families[position].append(self._family_entry(table, parents, bins, cards))
        return positions[key]

    def _family_entry(
        self, table: NDArray[np.float64], parents: list[int], bins: Sequence[int], cards: list[int]
    ) -> dict[str, Any]:
        rows = table.reshape(-1, table.shape[-1])
        counts = self._counts(parents, bins, cards) if parents else None
        stored = None
        if len(rows) > MOST_TABLE_ROWS:
            first = np.arange(len(rows)) if counts is None else np.argsort(-counts, kind="stable")
            stored = np.sort(first[:MOST_TABLE_ROWS])
            rows = rows[stored]
            counts = counts[stored] if counts is not None else None
        return {
            "p": parents,
            "r": table.size // table.shape[-1],
            "t": np.rint(rows * _DIGITS).astype(int).ravel().tolist(),
            "i": None if stored is None else stored.tolist(),
            "n": None if counts is None else counts.tolist(),
        }

    def _counts(self, parents: list[int], bins: Sequence[int], cards: list[int]) -> NDArray[np.int64] | None:
        """Return the number of rows of data behind every row of a table, int64 (n_table_rows,), or None if unknown."""
        key = tuple((parent, bins[parent]) for parent in parents)
        if key not in self._row_counts:
            self._row_counts[key] = None
            if self._spent <= _MOST_COUNTING and all(pair in self._codes for pair in key):
                self._spent += self._n_rows * len(parents)
                index = np.zeros(self._n_rows, dtype=np.int64)
                for pair, card in zip(key, cards):
                    index = index * card + self._codes[pair]
                self._row_counts[key] = np.bincount(index, minlength=int(np.prod(cards)))
        return self._row_counts[key]
