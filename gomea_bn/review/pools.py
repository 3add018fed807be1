"""Pools of bins, densities and probability tables; networks of a front share most, so each is stored once."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.bin_distributions import BinDistributions, bin_ratios, curve_inside
from gomea_bn.network.conditionals.curve import Curve
from gomea_bn.network.edges import equivalence_class
from gomea_bn.network.marginals import exact_marginal, sampled_marginal, shown_parents, shown_table
from gomea_bn.network.recorded import recorded_edge_probabilities
from gomea_bn.network.tables import MOST_COMPUTED_CELLS
from gomea_bn.problems.cuts.blanket import coded_bins

MOST_TABLE_ROWS = 200
"""Largest number of rows of a probability table that the page shows."""


# limits of the cells of one table and of all tables that a page holds whole, for answers: 0.7 and 44 MB of text
_MOST_WHOLE = 2**16
_MOST_STORED = 2**22
# limit of the time for counting, in rows times bins and tables; counts beyond it are left out
_MOST_COUNTING = 50_000_000
# limits of the time for marginal probabilities: cells of a table, and number of computations
_MOST_CELLS = 2**14
# rows of the sample that stands in for larger tables, and limit of all samples in values
_SAMPLE = 10_000
_MOST_SAMPLED = 100_000_000


@dataclass
class _Sample:
    """A network, and codes of rows drawn from it when they are first needed."""

    network: DiscretizedBayesNet
    codes: pd.DataFrame | None = None

    def marginal(self, name: str) -> NDArray[np.float64]:
        """Return the distribution of a variable, with the distribution of its parents from the rows."""
        return sampled_marginal(self.network, name, self._drawn())

    def counts(self, name: str) -> NDArray[np.int64]:
        """Return the number of drawn rows behind every row of the table of a variable."""
        codes, parents = self._drawn(), self.network.parents(name)
        cards = [self.network.cardinality(parent) for parent in parents]
        index = np.ravel_multi_index([codes[parent].to_numpy() for parent in parents], cards)
        return np.bincount(index, minlength=int(np.prod(cards)))

    def _drawn(self) -> pd.DataFrame:
        if self.codes is None:
            self.codes = self.network.discretize(self.network.sample(_SAMPLE, 0))
        return self.codes


class Pools:
    """The distinct bins and families of networks over the same variables, and how many rows of a table they have.

    Attributes
    ----------
    cuts : list of list of dict
        Distinct bins of each variable: "at" has the cut points, "n" the number of rows in every bin (or None), "s" the
        position of the density inside the bins in `curves`, "m" the mean of every bin. A discrete variable has None for
        "at", "s" and "m".
    curves : list of list of dict
        Distinct densities inside the bins of each variable, see `curve_inside`: "x" has the values, "y" the densities,
        "p" pairs of a point mass and its probability.
    ratios : list of list of list of float
        Distinct marginal densities of each variable: the factor of every bin, see `bin_ratios`.
    families : list of list of dict
        Distinct probability tables of each variable: "p" has the positions of the parents, "r" the number of table
        rows, "i" the indices of the rows that are shown (None: all rows), "n" the number of rows of data behind each
        of them (or None), "z" pairs of the index of any other row and its positive number of rows of data (None if
        unknown). "t" has the probabilities of all rows as Base64 of little-endian float64 in C order. Of a table that
        would be too large it has the rows with the indices "k", and a last row that stands for all others: exactly if
        "w" is true, otherwise their mean. "k" is None for all rows. "v" has such an entry for the table that people
        read, if that has fewer parents, or has them in another order.
    """

    def __init__(self, names: Sequence[str], table: Table | None) -> None:
        self.cuts: list[list[dict[str, Any]]] = [[] for _ in names]
        self.families: list[list[dict[str, Any]]] = [[] for _ in names]
        self.curves: list[list[dict[str, Any]]] = [[] for _ in names]
        self.ratios: list[list[list[float]]] = [[] for _ in names]
        self._names = tuple(names)
        self._position_of = {name: position for position, name in enumerate(names)}
        # open edges by the edges of a network
        self._reversible: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
        self._columns = {column.name: column for column in table.columns} if table is not None else {}
        self._n_rows = table.n_rows if table is not None else 0
        self._spent = 0
        self._cut_positions: list[dict[bytes, int]] = [{} for _ in names]
        self._family_positions: list[dict[tuple[Any, ...], int]] = [{} for _ in names]
        self._codes: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._row_counts: dict[tuple[Any, ...], NDArray[np.int64] | None] = {}
        self._support: dict[str, tuple[float, float]] = {}
        # positions in `ratios` by the families of a variable and its ancestors
        self._density_positions: dict[tuple[Any, ...], int | None] = {}
        self._sampled = 0
        self._stored = 0

    def add(self, network: DiscretizedBayesNet) -> dict[str, list[Any]]:
        """Add a network and return its positions in the pools by variable.

        "c" is for its bins, "f" for its tables, and "d" for its marginal densities. The latter is None for a discrete
        variable, and where the density takes too long to compute. "o" has the edges whose direction is open, as
        position of the parent * number of variables + position of the child. "p" has the probability of an edge in
        either direction, and the one in this direction, by such positions, if the network carries them.
        """
        # the page answers by tables
        network = network.compiled(MOST_COMPUTED_CELLS)
        bins = [self._bins(network, position) for position in range(len(self._names))]
        sample = _Sample(network)
        families = [self._family(sample, position, bins) for position in range(len(self._names))]
        densities = [self._density(sample, position, families) for position in range(len(self._names))]
        n, position_of = len(self._names), self._position_of

        def keys(edges: Iterable[tuple[str, str]]) -> list[int]:
            return [position_of[parent] * n + position_of[child] for parent, child in edges]

        entry: dict[str, list[Any]] = {"c": [*bins], "f": [*families], "d": densities}
        edges = tuple(network.edges)
        if edges not in self._reversible:
            self._reversible[edges] = equivalence_class(network).reversible
        entry["o"] = keys(self._reversible[edges])
        probabilities = recorded_edge_probabilities(network)
        if probabilities:
            entry["p"] = [
                [edge, round(adjacent, 3), round(arc, 3)]
                for edge, (arc, adjacent) in zip(keys(probabilities), probabilities.values(), strict=True)
            ]
        return entry

    def support(self, name: str) -> list[float]:
        """Return the range of a continuous variable over all added networks: its least and greatest value."""
        return list(self._support[name])

    def _bins(self, network: DiscretizedBayesNet, position: int) -> int:
        name = self._names[position]
        if name not in network.cut_points:
            key, cut_points, curve = b"", None, None
        else:
            cuts = network.cut_points[name]
            cut_points = rounded_positions(cuts, network.support[name])
            curve = self._curve(network, position)
            key = cuts.tobytes() + bytes(str(curve), "ascii")
            low, high = network.support[name]
            before = self._support.get(name, (low, high))
            self._support[name] = (min(low, before[0]), max(high, before[1]))
        positions = self._cut_positions[position]
        if key not in positions:
            positions[key] = len(positions)
            codes = self._coded(network, position, positions[key])
            counts = None
            if codes is not None:
                counts = np.bincount(codes[codes >= 0], minlength=network.cardinality(name)).tolist()
            means = None if cut_points is None else BinDistributions(network, name).means().tolist()
            self.cuts[position].append({"at": cut_points, "n": counts, "s": curve, "m": means})
        return positions[key]

    def _curve(self, network: DiscretizedBayesNet, position: int) -> int:
        """Return the position of the density inside the bins of a continuous variable."""
        name = self._names[position]
        entry = curve_entry(curve_inside(network, name), network.support[name])
        if entry not in self.curves[position]:
            self.curves[position].append(entry)
        return self.curves[position].index(entry)

    def _density(self, sample: _Sample, position: int, families: Sequence[int]) -> int | None:
        """Return the position of the factors of the bins in a variable's marginal density."""
        if self._names[position] not in sample.network.cut_points:
            return None
        relevant = {position}
        waiting = [position]
        while waiting:
            variable = waiting.pop()
            new = set(self.families[variable][families[variable]]["p"]) - relevant
            relevant |= new
            waiting += new
        key = (position, *((variable, families[variable]) for variable in sorted(relevant)))
        if key not in self._density_positions:
            self._density_positions[key] = self._ratios(sample, position)
        return self._density_positions[key]

    def _ratios(self, sample: _Sample, position: int) -> int | None:
        """Return the position of the factors, None if their computation takes too long."""
        if len(self._density_positions) >= 20_000:
            return None
        network, name = sample.network, self._names[position]
        probabilities = exact_marginal(network, name, max_cells=_MOST_CELLS)
        if probabilities is None:
            if sample.codes is None:
                self._sampled += _SAMPLE * len(self._names)
            if self._sampled > _MOST_SAMPLED:
                return None
            probabilities = sample.marginal(name)
        ratios = rounded(bin_ratios(network, name, probabilities), 6)
        if ratios not in self.ratios[position]:
            self.ratios[position].append(ratios)
        return self.ratios[position].index(ratios)

    def _coded(self, network: DiscretizedBayesNet, position: int, bins: int) -> NDArray[np.int32] | None:
        """Return the bin or level of every row, int32 (n_rows,), -1 where missing.

        It is None without rows or beyond the limit of time.
        """
        name = self._names[position]
        if name not in self._columns or self._spent > _MOST_COUNTING:
            return None
        column = self._columns[name]
        if column.levels is not None:
            codes = column.values
        else:
            self._spent += self._n_rows
            codes = coded_bins(column.values, network.cut_points[name]).codes
        self._codes[position, bins] = codes
        return codes

    def _family(self, sample: _Sample, position: int, bins: Sequence[int]) -> int:
        network, name = sample.network, self._names[position]
        parents = [self._position_of[parent] for parent in network.parents(name)]
        shown = [self._position_of[parent] for parent in shown_parents(network, name)]
        table = network.tables[name]
        key = (tuple(parents), tuple(shown), tuple(bins[p] for p in parents), bins[position], table.tobytes())
        positions = self._family_positions[position]
        if key not in positions:
            positions[key] = len(positions)
            cards = [network.cardinality(self._names[parent]) for parent in parents]
            counts = self._counts(parents, bins, cards) if parents else None
            entry = self._family_entry(table, parents, counts)
            if shown != parents:
                # drawn rows weigh the table that people read where rows of data are unknown
                weights = sample.counts(name) if counts is None else counts
                read, of_rows = shown_table(network, name, weights)
                entry["v"] = self._family_entry(read, shown, None if counts is None else of_rows.ravel())
            self.families[position].append(entry)
        return positions[key]

    def _family_entry(
        self, table: NDArray[np.float64], parents: list[int], counts: NDArray[np.int64] | None
    ) -> dict[str, Any]:
        rows = table.reshape(-1, table.shape[-1])
        shown, others = None, None
        if len(rows) > MOST_TABLE_ROWS:
            first = np.arange(len(rows)) if counts is None else np.argsort(-counts, kind="stable")
            shown = np.sort(first[:MOST_TABLE_ROWS])
            if counts is not None:
                others = [[int(row), int(counts[row])] for row in np.setdiff1d(np.flatnonzero(counts), shown)]
                counts = counts[shown]
        kept, stored, is_exact = None, rows, True
        if shown is not None and not self._has_room(table.size):
            kept, rest = _unusual_rows(rows)
            is_exact = self._has_room((len(kept) + 1) * rows.shape[1])
            if not is_exact:
                kept, rest = shown, np.delete(rows, shown, axis=0).mean(axis=0)
            stored = np.vstack([rows[kept], rest])
        self._stored += stored.size
        return {
            "p": parents,
            "r": len(rows),
            "t": base64.b64encode(stored.astype("<f8").tobytes()).decode(),
            "k": None if kept is None else kept.tolist(),
            "w": is_exact,
            "i": None if shown is None else shown.tolist(),
            "n": None if counts is None else counts.tolist(),
            "z": others,
        }

    def _has_room(self, n_cells: int) -> bool:
        """Return whether the page can hold another number of probabilities of one table."""
        return n_cells <= _MOST_WHOLE and self._stored + n_cells <= _MOST_STORED

    def _counts(self, parents: list[int], bins: Sequence[int], cards: list[int]) -> NDArray[np.int64] | None:
        """Return the number of rows of data behind every row of a table, int64 (n_table_rows,), or None if unknown.

        Rows in which a parent is missing do not count.
        """
        key = tuple((parent, bins[parent]) for parent in parents)
        if key not in self._row_counts:
            self._row_counts[key] = None
            if self._spent <= _MOST_COUNTING and all(pair in self._codes for pair in key):
                self._spent += self._n_rows * len(parents)
                index = np.zeros(self._n_rows, dtype=np.int64)
                is_complete = np.ones(self._n_rows, dtype=np.bool_)
                for pair, card in zip(key, cards):
                    index = index * card + self._codes[pair]
                    is_complete &= self._codes[pair] >= 0
                self._row_counts[key] = np.bincount(index[is_complete], minlength=int(np.prod(cards)))
        return self._row_counts[key]


def _unusual_rows(rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the indices of the rows that differ from the commonest one, ascending, and the commonest one.

    Rows without data are equal in most tables.
    """
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    common = int(counts.argmax())
    return np.flatnonzero(inverse != common), rows[first[common]]


def curve_entry(curve: Curve, support: tuple[float, float]) -> dict[str, Any]:
    """Return a density on a range as a value for JSON: "x" has the values, "y" the densities, "p" the point masses."""
    return {
        "x": rounded_positions(curve.values, support),
        "y": rounded(curve.densities, 6),
        "p": [list(point) for point in curve.points.items()],
    }


def rounded_positions(values: NDArray[np.float64], support: tuple[float, float]) -> list[float]:
    """Return values on a range with the digits that a drawing needs: ten, and more if the range is far from 0."""
    span = support[1] - support[0]
    ratio = max(abs(support[0]), abs(support[1])) / span if span > 0 else 1.0
    further = int(log10(ratio)) if 1 < ratio < inf else 0
    return rounded(values, min(10 + further, 17))


def rounded(numbers: NDArray[np.float64], digits: int) -> list[float]:
    """Return numbers with a number of significant digits, which keeps pages small."""
    return [float(f"{number:.{digits}g}") for number in numbers.tolist()]
