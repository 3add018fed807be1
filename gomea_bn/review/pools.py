"""Bins and tables of many networks, each kept once: networks of a front share most of them."""

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
"""Rows of a probability table that the page holds."""

_DIGITS = 10_000  # probabilities are kept as whole multiples of 1 / 10,000
_MOST_COUNTING = (
    50_000_000  # rows times bins and tables; beyond it the rows behind a bin or table row stay unknown
)


class Pools:
    """The distinct bins and families of networks over the same variables.

    Parameters
    ----------
    names : sequence of str
        The variables in order.
    table : Table, optional
        The rows; with them every bin and every row of a table says how many rows it holds.

    Attributes
    ----------
    cuts : list of list of dict
        Per variable the distinct bins: "at", the inner cuts, and "n", the rows in every bin (or None).
    families : list of list of dict
        Per variable the distinct tables: "p" parents as positions; "r" number of rows; "t" probabilities of
        the rows kept, flat, in ten-thousandths; "i" which rows these are (None: all); "n" rows of data for
        each (or None).
    """

    def __init__(self, names: Sequence[str], table: Table | None) -> None:
        self.cuts: list[list[dict[str, Any]]] = [[] for _ in names]
        self.families: list[list[dict[str, Any]]] = [[] for _ in names]
        self._names = tuple(names)
        self._columns = {column.name: column for column in table.columns} if table is not None else {}
        self._n_rows = table.n_rows if table is not None else 0
        self._spent = 0
        self._cut_places: list[dict[bytes, int]] = [{} for _ in names]
        self._family_places: list[dict[tuple[Any, ...], int]] = [{} for _ in names]
        self._codes: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._row_counts: dict[tuple[Any, ...], NDArray[np.int64] | None] = {}
        self._support: dict[str, tuple[float, float]] = {}

    def add(self, network: DiscretizedBayesNet) -> dict[str, list[int]]:
        """Return a network as positions in the pools: "c" of its bins and "f" of its tables, by variable."""
        bins = [self._bins(network, position) for position in range(len(self._names))]
        return {
            "c": bins,
            "f": [self._family(network, position, bins) for position in range(len(self._names))],
        }

    def support(self, name: str) -> list[float]:
        """Return the least and greatest value of a continuous variable over all networks that were added."""
        return list(self._support[name])

    def _bins(self, network: DiscretizedBayesNet, position: int) -> int:
        name = self._names[position]
        if name not in network.cut_points:
            key, at = b"", None
        else:
            cuts = network.cut_points[name]
            key, at = cuts.tobytes(), [float(f"{cut:.10g}") for cut in cuts.tolist()]
            low, high = network.support[name]
            known = self._support.get(name, (low, high))
            self._support[name] = (min(low, known[0]), max(high, known[1]))
        places = self._cut_places[position]
        if key not in places:
            places[key] = len(places)
            codes = self._coded(network, position, places[key])
            counts = None
            if codes is not None:
                counts = np.bincount(codes, minlength=network.cardinality(name)).tolist()
            self.cuts[position].append({"at": at, "n": counts})
        return places[key]

    def _coded(self, network: DiscretizedBayesNet, position: int, place: int) -> NDArray[np.int32] | None:
        """Return the bin or level of every row, int32 (n_rows,), or None without rows or with too many."""
        name = self._names[position]
        if name not in self._columns or self._spent > _MOST_COUNTING:
            return None
        column = self._columns[name]
        if column.levels is not None:
            codes = column.values
        else:
            self._spent += self._n_rows
            codes = np.searchsorted(network.cut_points[name], column.values, side="left").astype(np.int32)
        self._codes[position, place] = codes
        return codes

    def _family(self, network: DiscretizedBayesNet, position: int, bins: Sequence[int]) -> int:
        name = self._names[position]
        parents = [self._names.index(parent) for parent in network.parents(name)]
        table = network.tables[name]
        key = (tuple(parents), tuple(bins[one] for one in parents), bins[position], table.tobytes())
        places = self._family_places[position]
        if key not in places:
            places[key] = len(places)
            cards = [network.cardinality(self._names[one]) for one in parents]
            self.families[position].append(self._family_entry(table, parents, bins, cards))
        return places[key]

    def _family_entry(
        self, table: NDArray[np.float64], parents: list[int], bins: Sequence[int], cards: list[int]
    ) -> dict[str, Any]:
        rows = table.reshape(-1, table.shape[-1])
        counts = self._counts(parents, bins, cards) if parents else None
        kept = None
        if len(rows) > MOST_TABLE_ROWS:
            first = np.arange(len(rows)) if counts is None else np.argsort(-counts, kind="stable")
            kept = np.sort(first[:MOST_TABLE_ROWS])
            rows = rows[kept]
            counts = counts[kept] if counts is not None else None
        return {
            "p": parents,
            "r": table.size // table.shape[-1],
            "t": np.rint(rows * _DIGITS).astype(int).ravel().tolist(),
            "i": None if kept is None else kept.tolist(),
            "n": None if counts is None else counts.tolist(),
        }

    def _counts(self, parents: list[int], bins: Sequence[int], cards: list[int]) -> NDArray[np.int64] | None:
        """Return the rows of data behind every row of a table, int64 (n_table_rows,), or None if unknown."""
        key = tuple((one, bins[one]) for one in parents)
        if key not in self._row_counts:
            self._row_counts[key] = None
            if self._spent <= _MOST_COUNTING and all(pair in self._codes for pair in key):
                self._spent += self._n_rows * len(parents)
                index = np.zeros(self._n_rows, dtype=np.int64)
                for pair, card in zip(key, cards):
                    index = index * card + self._codes[pair]
                self._row_counts[key] = np.bincount(index, minlength=int(np.prod(cards)))
        return self._row_counts[key]
