"""The discretized Bayesian network: a graph, bins for the continuous variables, and their tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import Level, column_positions, encode_levels, numeric_values
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network import checks
from gomea_bn.network.exports import Exports
from gomea_bn.network.graph import topological_order
from gomea_bn.network.smoothing import PseudoCount
from gomea_bn.network.tables import (
    bin_texts,
    bin_widths,
    draw_codes,
    draw_in_bins,
    family_index,
    smoothed_table,
)

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.data.table import Table

__all__ = ["DiscretizedBayesNet"]


class DiscretizedBayesNet(Exports):
    """An immutable Bayesian network whose continuous variables are cut into bins.

    Bins are (a, b]: a value equal to a cut belongs to the lower bin; the first bin also holds the minimum.
    Values outside the support count as in the end bins. The density of a row is the product over the
    variables of P(bin or level | parents), divided by the bin's width for each continuous variable.

    Parameters
    ----------
    names : sequence of str
        The variables, in column order.
    edges : iterable of (parent, child)
        Names; the graph must have no cycle.
    cut_points : mapping of str to array-like of shape (n_bins - 1,)
        Inner cuts of every continuous variable, increasing, strictly inside its support; none = one bin.
    support : mapping of str to (min, max)
        Where the end bins of every continuous variable end, in original units.
    levels : mapping of str to sequence
        Values of every discrete variable: text, numbers or bools.
    tables : mapping of str to array-like of shape (card(parent_1), ..., card(parent_p), card(name))
        P(name | parents), last axis sums to 1 (to 1e-6); parents in column order.
    pseudo_count : float or "auto", optional
        The smoothing that the tables were made with, for the record, which is part of equality; see `from_table`.
    metadata : mapping, optional
        Anything that JSON can hold; carried along, no part of equality.

    Raises
    ------
    GomeaBnError
        Naming the variable, for any part that is missing, unknown, of wrong shape or no probability.
    """

    __slots__ = (
        "_cards",
        "_cuts",
        "_levels",
        "_log_terms",
        "_metadata",
        "_names",
        "_order",
        "_parents",
        "_pseudo_count",
        "_support",
        "_tables",
    )

    _cards: tuple[int, ...]
    _cuts: dict[str, NDArray[np.float64]]
    _levels: dict[str, tuple[Level, ...]]
    _log_terms: list[NDArray[np.float64]] | None
    _metadata: str
    _names: tuple[str, ...]
    _order: tuple[int, ...]
    _parents: tuple[tuple[int, ...], ...]
    _pseudo_count: PseudoCount | None
    _support: dict[str, tuple[float, float]]
    _tables: dict[str, NDArray[np.float64]]

    def __init__(
        self,
        names: Sequence[str],
        edges: Iterable[tuple[str, str]],
        *,
        cut_points: Mapping[str, ArrayLike],
        support: Mapping[str, tuple[float, float]],
        levels: Mapping[str, Sequence[Level]],
        tables: Mapping[str, ArrayLike],
        pseudo_count: PseudoCount | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        own = checks.check_names(names)
        continuous = [name for name in own if name in cut_points]
        checks.check_keys(cut_points, continuous, own, "cut_points")
        checks.check_keys(support, continuous, own, "support")
        checks.check_keys(levels, [name for name in own if name not in cut_points], own, "levels")
        found_support = {name: checks.check_support(support[name], name) for name in continuous}
        cuts = {
            name: checks.check_cut_points(cut_points[name], name, found_support[name]) for name in continuous
        }
        for one in cuts.values():
            one.flags.writeable = False
        found_levels = {name: checks.check_levels(levels[name], name) for name in own if name not in cuts}
        parents = checks.check_edges(edges, own)
        checks.check_keys(tables, own, own, "tables")
        cards = tuple(len(cuts[name]) + 1 if name in cuts else len(found_levels[name]) for name in own)
        found_tables = {}
        for position, name in enumerate(own):
            shape = tuple(cards[place] for place in (*parents[position], position))
            found_tables[name] = checks.check_table(tables[name], name, shape)
        for slot, value in {
            "_names": own,
            "_parents": parents,
            "_order": topological_order(parents, own),
            "_cards": cards,
            "_cuts": cuts,
            "_support": found_support,
            "_levels": found_levels,
            "_tables": found_tables,
            "_pseudo_count": checks.check_pseudo_count(pseudo_count),
            "_metadata": checks.check_metadata(metadata),
            "_log_terms": None,
        }.items():
            object.__setattr__(self, slot, value)

    @classmethod
    def from_table(
        cls,
        table: Table,
        edges: Iterable[tuple[str, str]],
        cut_points: Mapping[str, ArrayLike],
        *,
        pseudo_count: PseudoCount = 1.0,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the network of a graph and bins with tables counted from a table's rows.

        P(cell) = (n_cell + pseudo_count / card) / (n_row + pseudo_count) for each parent configuration;
        with no rows and pseudo_count 0 it is uniform. The support is the range of each continuous column.

        With "auto", P(cell) = (n_cell + amount * base) / (n_row + amount), averaged over amounts and over three bases:
        uniform, the variable's own marginal, and its table with one parent fewer, all smoothed in the same way. The
        weights follow how likely the table's rows are, each left out of the counts; no probability is 0.

        Raises
        ------
        GomeaBnError
            For cuts or edges that the table cannot carry, or a table of more than 2**27 cells.
        """
        names = table.names
        columns = {column.name: column for column in table.columns}
        continuous = [name for name in names if columns[name].is_continuous]
        checks.check_keys(cut_points, continuous, names, "cut_points")
        weight = checks.check_pseudo_count(pseudo_count) or 0.0
        support = {
            name: (float(columns[name].values.min()), float(columns[name].values.max()))
            for name in continuous
        }
        cuts = {name: checks.check_cut_points(cut_points[name], name, support[name]) for name in continuous}
        levels = {column.name: column.levels for column in table.columns if column.levels is not None}
        kept_edges = list(edges)
        parents = checks.check_edges(kept_edges, names)
        codes = [
            _bin_codes(columns[name].values, cuts[name]) if name in cuts else columns[name].values
            for name in names
        ]
        cards = [len(cuts[name]) + 1 if name in cuts else len(levels[name]) for name in names]
        tables = {
            name: smoothed_table(codes, parents[place], place, cards, weight, name)
            for place, name in enumerate(names)
        }
        return cls(
            names,
            kept_edges,
            cut_points=cuts,
            support=support,
            levels=levels,
            tables=tables,
            pseudo_count=weight,
            metadata=metadata,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in column order."""
        return self._names

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) pairs, by child and then parent in column order."""
        return [
            (self._names[parent], child)
            for child, parents in zip(self._names, self._parents)
            for parent in parents
        ]

    @property
    def cut_points(self) -> dict[str, NDArray[np.float64]]:
        """Inner cuts by continuous variable, float64 (n_bins - 1,), read-only."""
        return dict(self._cuts)

    @property
    def support(self) -> dict[str, tuple[float, float]]:
        """(min, max) by continuous variable."""
        return dict(self._support)

    @property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Values by discrete variable, in code order."""
        return dict(self._levels)

    @property
    def tables(self) -> dict[str, NDArray[np.float64]]:
        """P(name | parents) by variable, float64 (card(parent_1), ..., card(name)), read-only."""
        return dict(self._tables)

    @property
    def pseudo_count(self) -> PseudoCount | None:
        """The smoothing per table row, "auto" if the data chose it for every table, or None if unknown."""
        return self._pseudo_count

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of what was carried along."""
        import json

        found: dict[str, Any] = json.loads(self._metadata)
        return found

    @property
    def adjacency_matrix(self) -> NDArray[np.int8]:
        """int8 (n_variables, n_variables), [i, j] = 1 for an edge from i to j."""
        matrix = np.zeros((len(self._names), len(self._names)), dtype=np.int8)
        for child, parents in enumerate(self._parents):
            matrix[list(parents), child] = 1
        return matrix

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: the sum of (card - 1) over all table rows."""
        return sum(one.size - one.size // one.shape[-1] for one in self._tables.values())

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the parents of a variable in column order."""
        return tuple(self._names[place] for place in self._parents[self._position(name)])

    def cardinality(self, name: str) -> int:
        """Return the number of bins or levels of a variable."""
        return self._cards[self._position(name)]

    def bin_labels(self, name: str) -> tuple[str, ...]:
        """Return the bins as "(a, b]" (the first as "[a, b]"), or the levels as text, in code order."""
        self._position(name)
        if name in self._cuts:
            return bin_texts(self._cuts[name], self._support[name])
        return tuple(str(level) for level in self._levels[name])

    def discretize(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return bin or level codes, int32 (n_rows, n_variables), with the frame's index."""
        import pandas as pd

        return pd.DataFrame(dict(zip(self._names, self._encode(frame))), index=frame.index)

    def log_density(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return ln of the density of every row, float64 (n_rows,), in nats and original units.

        Continuous variables count by density, discrete ones by probability. Values outside the support take
        the density of the end bins, so the whole line integrates to more than 1: compare models on one
        support.
        -inf where the network gives probability 0.

        Parameters
        ----------
        frame : DataFrame
            Columns are matched by name; further columns are ignored.

        Raises
        ------
        GomeaBnError
            Naming column and rows: missing columns, missing or infinite values, levels never declared.
        """
        total = np.zeros(len(frame), dtype=np.float64)
        for term in self.log_density_terms(frame).values():
            total += term
        return total

    def log_density_terms(self, frame: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
        """Return the part of every variable's family in `log_density`, float64 (n_rows,) by name, in nats."""
        codes = self._encode(frame)
        if self._log_terms is None:
            object.__setattr__(self, "_log_terms", self._logarithms())
        return {
            name: term[family_index(codes, self._parents[position], position, self._cards)]
            for position, (name, term) in enumerate(zip(self._names, self._log_terms or (), strict=True))
        }

    def score(self, frame: pd.DataFrame) -> float:
        """Return the mean of `log_density` over the rows, in nats per row; higher is better."""
        if len(frame) == 0:
            raise GomeaBnError("A score needs at least one row, got an empty table.")
        return float(self.log_density(frame).mean())

    def sample(
        self, n: int, random_state: int | np.random.SeedSequence | np.random.Generator | None = None
    ) -> pd.DataFrame:
        """Return `n` rows drawn from the network, parents first, uniformly inside each bin.

        Discrete variables are pandas categoricals with all their levels; the same integer gives the same
        rows.
        """
        import pandas as pd

        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise GomeaBnError(f"n must be an integer of at least 0, got {n!r}.")
        try:
            generator = np.random.default_rng(random_state)
        except (TypeError, ValueError) as error:
            raise GomeaBnError(
                f"random_state must be a non-negative integer, a numpy generator or None, got {random_state!r}."
            ) from error
        codes = [np.zeros(n, dtype=np.int32) for _ in self._names]
        drawn: dict[str, Any] = {}
        for position in self._order:
            name = self._names[position]
            parents, card = self._parents[position], self._cards[position]
            rows = family_index(codes, parents, position, self._cards) // card
            codes[position] = draw_codes(self._tables[name].reshape(-1, card), rows, generator)
            if name in self._cuts:
                drawn[name] = draw_in_bins(codes[position], self._cuts[name], self._support[name], generator)
            else:
                drawn[name] = pd.Categorical.from_codes(codes[position], pd.Index(list(self._levels[name])))
        return pd.DataFrame({name: drawn[name] for name in self._names})

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Return the network of a JSON file, or of JSON text (that which begins with a brace)."""
        from gomea_bn.network.formats.json_format import from_json

        return from_json(source, cls)

    def _position(self, name: str) -> int:
        if name not in self._names:
            raise GomeaBnError(f"The network has no variable {name!r}.{nearest(str(name), self._names)}")
        return self._names.index(name)

    def _encode(self, frame: pd.DataFrame) -> list[NDArray[np.int32]]:
        """Return the codes of all variables, each int32 (n_rows,)."""
        import pandas as pd

        if not isinstance(frame, pd.DataFrame):
            raise GomeaBnError(f"Rows must come as a pandas DataFrame, got {type(frame).__name__}.")
        positions = column_positions(frame, self._names)
        codes = []
        for name in self._names:
            column = frame.iloc[:, positions[name]]
            if name in self._cuts:
                codes.append(_bin_codes(numeric_values(column, name), self._cuts[name]))
            else:
                codes.append(encode_levels(column, name, self._levels[name]))
        return codes

    def _logarithms(self) -> list[NDArray[np.float64]]:
        """Return for every variable ln(P / width) over its flattened table."""
        terms = []
        for name in self._names:
            with np.errstate(divide="ignore"):
                term = np.log(self._tables[name])
            if name in self._cuts:
                term = term - np.log(bin_widths(self._cuts[name], self._support[name]))
            terms.append(term.ravel())
        return terms

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("A DiscretizedBayesNet cannot be changed; make a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("A DiscretizedBayesNet cannot be changed; make a new one.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DiscretizedBayesNet):
            return NotImplemented
        return (
            self._names == other._names
            and self._parents == other._parents
            and self._support == other._support
            and self._levels == other._levels
            and self._pseudo_count == other._pseudo_count
            and all(np.array_equal(cuts, other._cuts[name]) for name, cuts in self._cuts.items())
            and all(np.array_equal(table, other._tables[name]) for name, table in self._tables.items())
        )

    def __hash__(self) -> int:
        cuts = tuple(tuple(one.tolist()) for one in self._cuts.values())
        return hash(
            (self._names, self._parents, tuple(self._support.items()), tuple(self._levels.items()), cuts)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        content = {
            "cut_points": self._cuts,
            "support": self._support,
            "levels": self._levels,
            "tables": self._tables,
            "pseudo_count": self._pseudo_count,
            "metadata": self.metadata,
        }
        return _rebuild, (type(self), self._names, self.edges, content)

    def __repr__(self) -> str:
        n_bins = sum(len(cuts) + 1 for cuts in self._cuts.values())
        n_edges = sum(map(len, self._parents))
        return (
            f"{type(self).__name__}({len(self._cuts)} continuous variables with {n_bins} bins, "
            f"{len(self._levels)} discrete, {n_edges} edges)"
        )


def _bin_codes(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the bin of every value, int32 (n,); a value equal to a cut goes to the lower bin."""
    return np.searchsorted(cuts, values, side="left").astype(np.int32)


def _rebuild(
    kind: type[DiscretizedBayesNet],
    names: tuple[str, ...],
    edges: list[tuple[str, str]],
    content: dict[str, Any],
) -> DiscretizedBayesNet:
    """Return a network from its pickled parts, checked again."""
    return kind(names, edges, **content)
