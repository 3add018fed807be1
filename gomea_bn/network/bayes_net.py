"""The class of discretized Bayesian networks: a graph, a conditional density per variable, and bins that show them."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import Level
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network import checks
from gomea_bn.network.conditionals.checks import around_cuts
from gomea_bn.network.conditionals.conditionals import Conditionals, families_of, row_values
from gomea_bn.network.conditionals.family import Columns, Family
from gomea_bn.network.distributions.smoothing import PseudoCount
from gomea_bn.network.earlier_versions import averaged_member, warn_of_curve_edges, with_axes
from gomea_bn.network.exports import Exports
from gomea_bn.network.immutable import Immutable
from gomea_bn.network.questions import Questions
from gomea_bn.network.row_densities import mean_log_density
from gomea_bn.network.tables import bin_texts
from gomea_bn.network.value_kinds import ValueKind

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.data.table import Table
    from gomea_bn.network.curves import Curve
    from gomea_bn.network.inference.cells import CellGrids
    from gomea_bn.problems.cuts.shape import Shape

__all__ = ["DiscretizedBayesNet"]

Net = TypeVar("Net", bound="DiscretizedBayesNet")


class DiscretizedBayesNet(Immutable, Questions, Exports):
    """An immutable Bayesian network: a graph with one conditional density per variable, which bins show.

    Bins are (a, b]: a value equal to a cut point belongs to the lower bin; the first bin also holds the minimum.
    Values outside the support belong to the end bins. The density of a row is the product over the variables of
    p(variable | parents).

    A learned network has `conditionals`: averages of tables over several sets of cuts, and lines or curves of the
    continuous parents. Densities, draws and answers come from them, and `tables` over the shown bins are computed from
    them. A network without conditionals is its tables: p is P(bin or level | parents), multiplied by the density inside
    the bin for each continuous variable. That is 1 / width of the bin if the variable is uniform inside its bins,
    otherwise the shape's density / the shape's probability of the bin.

    Parameters
    ----------
    names : sequence of str
        Names of the variables, in column order.
    edges : iterable of (parent, child)
        Pairs of names; the graph must be acyclic.
    cut_points : mapping of str to array-like of shape (n_bins - 1,)
        Inner cut points of every continuous variable in original units, increasing, strictly inside its support. An
        empty sequence means one bin.
    support : mapping of str to (min, max)
        Outer ends of the end bins of every continuous variable, in original units.
    levels : mapping of str to sequence
        Values of every discrete variable: text, numbers or bools.
    tables : mapping of str to array-like of shape (card(parent_1), ..., card(parent_p), card(name))
        P(name | parents), with parents in column order. The last axis sums to 1 within 1e-6.
    shapes : mapping of str to Shape, optional
        Distributions of continuous variables inside their bins, each on the support of its variable: given its bin, a
        variable is distributed as the shape is inside that bin. A variable without an entry is uniform inside its bins.
    conditionals : Conditionals, optional
        Conditional densities; without them the tables are the network.
    counts : mapping of str to array-like, optional
        Number of rows of every cell of the tables of a network without conditionals, so that `update` can add rows.
        They do not count for equality.
    curve_edges : iterable of (parent, child), optional
        Deprecated: edges whose parents have no axis in the tables.
    pseudo_count : float or "auto", optional
        Smoothing with which the tables were counted, see `from_table`. It is only recorded; equal networks have equal
        ones.
    value_kinds : mapping of str to ValueKind, optional
        Kinds of the values of variables, such as integers, for rows that are drawn and cells that are filled. They do
        not count for equality.
    metadata : mapping, optional
        Further values that JSON can hold. They do not count for equality.

    Raises
    ------
    GomeaBnError
        For any part that is missing, unknown, of the wrong shape or not a probability; the message names the variable.
    """

    __slots__ = (
        "_cards",
        "_conditionals",
        "_counts",
        "_cuts",
        "_families",
        "_grids",
        "_levels",
        "_metadata",
        "_names",
        "_order",
        "_parents",
        "_pseudo_count",
        "_shapes",
        "_support",
        "_tables",
        "_value_kinds",
    )

    _cards: tuple[int, ...]
    _conditionals: Conditionals | None
    _counts: dict[str, NDArray[np.float64]]
    _cuts: dict[str, NDArray[np.float64]]
    _families: dict[str, Family]
    _grids: CellGrids | None
    _levels: dict[str, tuple[Level, ...]]
    _metadata: str
    _names: tuple[str, ...]
    _order: tuple[int, ...]
    _parents: tuple[tuple[int, ...], ...]
    _pseudo_count: PseudoCount | None
    _shapes: dict[str, Shape]
    _support: dict[str, tuple[float, float]]
    _tables: dict[str, NDArray[np.float64]]
    _value_kinds: dict[str, ValueKind]

    def __init__(
        self,
        names: Sequence[str],
        edges: Iterable[tuple[str, str]],
        *,
        cut_points: Mapping[str, ArrayLike],
        support: Mapping[str, tuple[float, float]],
        levels: Mapping[str, Sequence[Level]],
        tables: Mapping[str, ArrayLike],
        shapes: Mapping[str, Shape] | None = None,
        conditionals: Conditionals | None = None,
        counts: Mapping[str, ArrayLike] | None = None,
        curve_edges: Iterable[tuple[str, str]] = (),
        pseudo_count: PseudoCount | None = None,
        metadata: Mapping[str, Any] | None = None,
        value_kinds: Mapping[str, ValueKind] | None = None,
    ) -> None:
        edges = list(edges)
        if curve_edges := list(curve_edges):
            warn_of_curve_edges("tables have an axis for every parent; the given ones are repeated along it")
            tables = with_axes(names, edges, curve_edges, cut_points, levels, tables)
        parts = checks.checked_parts(
            names,
            edges,
            cut_points=cut_points,
            support=support,
            levels=levels,
            tables=tables,
            counts=counts if conditionals is None else None,
            shapes=shapes,
            pseudo_count=pseudo_count,
            metadata=metadata,
            value_kinds=value_kinds,
        )
        self._set_parts({f"_{part}": value for part, value in parts.items()})
        self._set_parts({"_conditionals": None})
        if conditionals is not None:
            self._set_parts({"_conditionals": conditionals.checked(self)})
        self._set_parts({"_families": families_of(self), "_grids": None})

    @classmethod
    def from_table(
        cls,
        table: Table | pd.DataFrame | str | os.PathLike[str],
        edges: Iterable[tuple[str, str]],
        cut_points: Mapping[str, ArrayLike],
        *,
        pseudo_count: PseudoCount = 1.0,
        shapes: Mapping[str, Shape] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the network of a graph and bins, with probability tables counted from rows of data.

        The support of a continuous variable is the range of its column. With missing values the table of a variable
        counts the rows in which the variable and all its parents have values. Then a few steps of expectation and
        maximisation follow, in which incomplete rows are drawn from the network given their observed values.

        Parameters
        ----------
        table : Table, DataFrame, or path of a CSV, TSV or Parquet file
            The rows. The columns of a frame or file that have cut points are continuous, all others discrete.
        edges : iterable of (parent, child)
            Pairs of names; the graph must be acyclic.
        cut_points : mapping of str to array-like of shape (n_bins - 1,)
            Inner cut points of every continuous column.
        pseudo_count : float or "auto"
            Smoothing: P(cell) = (n_cell + pseudo_count / card) / (n_row + pseudo_count) for each parent configuration.
            Without rows and with 0 it is uniform. With "auto", P(cell) = (n_cell + amount * base) / (n_row + amount),
            averaged over amounts and over three bases, which are smoothed in the same way: the uniform distribution,
            the marginal of the variable, and its table with one parent fewer. Weights grow with the likelihood of the
            rows, each row left out of the counts; no probability is 0. See `gomea_bn.network.distributions.smoothing`.
        shapes : mapping of str to Shape, optional
            Distributions of continuous columns inside their bins, for example from `fit_shape`; their ranges must be
            those of the columns.
        metadata : mapping, optional
            Further values that JSON can hold.

        Raises
        ------
        GomeaBnError
            For cut points or edges that do not fit the table, and for probability tables of more than 2**27 cells.
        """
        from gomea_bn.network.counting import counted_network

        return counted_network(
            cls,
            checks.check_rows(table, cut_points),
            edges,
            cut_points,
            pseudo_count=pseudo_count,
            shapes=shapes,
            metadata=metadata,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables in column order."""
        return self._names

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Pairs (parent, child), sorted by child and then parent in column order."""
        return [
            (self._names[parent], child)
            for child, parents in zip(self._names, self._parents)
            for parent in parents
        ]

    @property
    def curve_edges(self) -> list[tuple[str, str]]:
        """An empty list, with a warning: the tables have all edges."""
        warn_of_curve_edges("every edge is in a table")
        return []

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the variables with every parent before its children."""
        return tuple(self._names[position] for position in self._order)

    @property
    def cut_points(self) -> dict[str, NDArray[np.float64]]:
        """Inner cut points by continuous variable, float64 (n_bins - 1,), read-only."""
        return dict(self._cuts)

    @property
    def support(self) -> dict[str, tuple[float, float]]:
        """Outer ends (min, max) of the bins by continuous variable."""
        return dict(self._support)

    @property
    def shapes(self) -> dict[str, Shape]:
        """Distributions inside the bins by continuous variable; variables without an entry are uniform there."""
        return dict(self._shapes)

    @property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Values by discrete variable, in code order."""
        return dict(self._levels)

    @property
    def tables(self) -> dict[str, NDArray[np.float64]]:
        """P(name | parents) by variable over the shown bins, float64 (card(parent_1), ..., card(name)), read-only."""
        return dict(self._tables)

    @property
    def conditionals(self) -> Conditionals | None:
        """Conditional densities that the tables are computed from; None if the network is its tables."""
        return self._conditionals

    @property
    def counts(self) -> dict[str, NDArray[np.float64]]:
        """Number of rows of the cells of the tables, if they were counted and the network has no conditionals."""
        return dict(self._counts)

    @property
    def families(self) -> Mapping[str, Family]:
        """The density of every variable given its parents, on arrays of values."""
        return self._families

    @property
    def cell_grids(self) -> CellGrids:
        """Cells of the columns of a network with conditionals, and its tables over them, which are kept."""
        from gomea_bn.network.inference.cells import CellGrids

        if self._grids is None:
            self._set_parts({"_grids": CellGrids(self)})
        assert self._grids is not None
        return self._grids

    @property
    def value_kinds(self) -> dict[str, ValueKind]:
        """Kinds of values by variable; variables without an entry are real numbers or unordered levels."""
        return dict(self._value_kinds)

    @property
    def pseudo_count(self) -> PseudoCount | None:
        """Number of pseudo-counts per table row, "auto" for smoothing chosen from the data, or None if unknown."""
        return self._pseudo_count

    @property
    def metadata(self) -> dict[str, Any]:
        """Further values, as a copy."""
        return dict(json.loads(self._metadata))

    @property
    def adjacency_matrix(self) -> NDArray[np.int8]:
        """Matrix of int8 (n_variables, n_variables) whose entry [i, j] is 1 for an edge from i to j."""
        matrix = np.zeros((len(self._names), len(self._names)), dtype=np.int8)
        for child, parents in enumerate(self._parents):
            matrix[list(parents), child] = 1
        return matrix

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: the sum of (card - 1) over all table rows."""
        return sum(table.size - table.size // table.shape[-1] for table in self._tables.values())

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the parents of a variable in column order."""
        return tuple(self._names[parent] for parent in self._parents[self._position(name)])

    def table_parents(self, name: str) -> tuple[str, ...]:
        """Return the parents of a variable, with a warning: the tables have all of them."""
        warn_of_curve_edges("every parent is in the table")
        return self.parents(name)

    def without_curve_edges(self) -> Self:
        """Return the network, with a warning: its tables have all edges."""
        warn_of_curve_edges("every edge is in a table")
        return self

    def of_tables(self) -> Self:
        """Return the network whose densities are those of the tables over the shown bins, without conditionals."""
        return self if self._conditionals is None else self.changed(conditionals=None)

    def changed(self, **parts: Any) -> Self:
        """Return a network with other values of some keywords of the constructor, and the names and edges of this."""
        content = self._content()
        if "tables" in parts:
            content["counts"] = None
        return _rebuild(type(self), self._names, self.edges, {**content, **parts})

    def with_metadata(self, **entries: Any) -> Self:
        """Return the network with further entries in its metadata, which replace those of the same name.

        Raises
        ------
        GomeaBnError
            For values that JSON cannot hold.
        """
        return self.changed(metadata={**self.metadata, **entries})

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

        if not isinstance(frame, pd.DataFrame):
            raise GomeaBnError(f"frame must be a pandas DataFrame, got {type(frame).__name__}.")
        columns = Columns(row_values(self, frame, self._names))
        codes = {name: columns.codes(name, self._cuts.get(name)).astype(np.int32) for name in self._names}
        return pd.DataFrame(codes, index=frame.index)

    def log_density_terms(
        self, frame: pd.DataFrame, of: Collection[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return the terms of `log_density`, ln p(variable | parents), float64 (n_rows,) by variable, in nats.

        With `of` these are the terms of some variables. `frame` then needs only their columns and those of their
        parents.
        """
        import pandas as pd

        if not isinstance(frame, pd.DataFrame):
            raise GomeaBnError(f"frame must be a pandas DataFrame, got {type(frame).__name__}.")
        chosen = [v for v, name in enumerate(self._names) if of is None or name in of]
        needed = {self._names[member] for v in chosen for member in (v, *self._parents[v])}
        columns = Columns(row_values(self, frame, needed))
        return {
            name: np.broadcast_to(self._families[name].log_density(columns), len(frame))
            for name in (self._names[v] for v in chosen)
        }

    def conditional_density(self, variable: str, given: Mapping[str, object]) -> Curve:
        """Return the density of a continuous variable given all of its parents.

        See `gomea_bn.network.distributions.conditionals.conditional_density`.
        """
        from gomea_bn.network.distributions.conditionals import conditional_density

        return conditional_density(self, variable, given)

    def conditional_probabilities(self, variable: str, given: Mapping[str, object]) -> NDArray[np.float64]:
        """Return the probabilities of a discrete variable's levels given all of its parents.

        See `gomea_bn.network.distributions.conditionals.conditional_probabilities`.
        """
        from gomea_bn.network.distributions.conditionals import conditional_probabilities

        return conditional_probabilities(self, variable, given)

    def cut_probabilities(self, variable: str) -> pd.DataFrame:
        """Return how sure every shown cut is, one row per cut.

        Parameters
        ----------
        variable : str
            Name of a continuous variable.

        Returns
        -------
        DataFrame
            Columns `cut`, `low`, `high` and `probability`: the posterior probability that at least one cut lies between
            `low` and `high`, which are half-way to the neighbouring cuts, or at the ends of the range. The graph and
            the bins of all other variables are given.

        Raises
        ------
        GomeaBnError
            For an unknown or discrete variable, and if the probabilities are unknown.
        """
        import pandas as pd

        probabilities = self._known_of_cuts(variable, "cut_probabilities")
        lows, highs = around_cuts(self._cuts[variable], self._support[variable])
        return pd.DataFrame(
            {"cut": self._cuts[variable], "low": lows, "high": highs, "probability": probabilities}
        )

    def cut_intervals(self, variable: str) -> pd.DataFrame:
        """Return where every shown cut lies, one row per cut.

        Parameters
        ----------
        variable : str
            Name of a continuous variable.

        Returns
        -------
        DataFrame
            Columns `cut`, `low` and `high`: the central 90 % interval of the i-th cut under the posterior distribution
            of the cuts of the variable, given their number, the graph and the bins of all other variables, in the units
            of the variable. The ends are half-way between neighbouring candidates. A cut that a user has fixed has an
            interval of width 0.

        Raises
        ------
        GomeaBnError
            For an unknown or discrete variable, and if the intervals are unknown.
        """
        import pandas as pd

        intervals = self._known_of_cuts(variable, "cut_intervals")
        return pd.DataFrame({"cut": self._cuts[variable], "low": intervals[:, 0], "high": intervals[:, 1]})

    def score(self, frame: pd.DataFrame, *, resolution: str = "points") -> float:
        """Return the mean of `log_density` over the rows, in nats per row; higher is better."""
        return mean_log_density(lambda rows: self.log_density(rows, resolution=resolution), frame)

    def sample(
        self,
        n: int,
        random_state: int | np.random.SeedSequence | np.random.Generator | None = None,
        *,
        evidence: Mapping[str, object] | None = None,
        values: str = "own",
    ) -> pd.DataFrame:
        """Return rows drawn from the network, given evidence if there is some.

        A continuous value is uniform inside its bin, or distributed as its variable's shape. Then it is rounded to the
        kind of its column.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, SeedSequence, Generator or None
            Seed; the same integer gives the same rows.
        evidence : mapping of str to value, optional
            What all rows agree with, as of `query`. A number stands in all rows; values of an interval vary inside it.
        values : {"own", "grid", "numbers"}
            "own": integers for integer columns, dates for dates, under the name of their column. "grid": real numbers
            are also rounded to the step that their column was measured with, such as 0.1. "numbers": all continuous
            values as drawn. A rounded value stays in its bin if the bin has a value of the grid.

        Returns
        -------
        DataFrame
            Columns in the order of `names`; discrete variables are pandas categoricals with all their levels, ordered
            if those of the column are.
        """
        if evidence:
            from gomea_bn.network.inference.completion import sample_given

            return sample_given(self, n, evidence, random_state=random_state, values=values)
        from gomea_bn.network.sampling import sampled_rows

        return sampled_rows(self, n, random_state, values)

    def update(
        self,
        data: pd.DataFrame | Table | str | os.PathLike[str],
        weight: ArrayLike = 1.0,
        forget: float | None = None,
    ) -> DiscretizedBayesNet:
        """Return a network that has learned from further rows; graph and cuts stay.

        Tables are smoothed as before, from the counts of all rows. Coefficients and scales of lines and curves are
        those of a fit to all rows, with the same functions of the parents, tails, scales of columns and weights
        against the tables. The shape of a column, which kernels smooth, takes the new rows by groups of its pieces, and
        its point masses take them exactly. The support stays: values outside it count as its ends. Missing cells are
        drawn given the others of their row.

        Parameters
        ----------
        data : DataFrame, Table, or path of a CSV, TSV or Parquet file
            Further rows with the columns and levels of the network.
        weight : float, or array-like of shape (n_rows,)
            Number of rows that each of them counts for: one above 0 for all, or one per row from 0 on.
        forget : float, optional
            Number of rows after which a row counts half, above 0. Rows are in the order of time. None forgets nothing.

        Returns
        -------
        DiscretizedBayesNet
            Its tables over the shown bins are computed from drawn rows. It does not know how sure its cuts are, since
            these are those of the former rows.

        Raises
        ------
        GomeaBnError
            For rows that do not fit the columns and levels, and for a network that does not hold the counts of its
            rows, such as one of an earlier version.

        Examples
        --------
        >>> import pandas as pd
        >>> from gomea_bn import DiscretizedBayesNet
        >>> rows = pd.DataFrame({"x": ["a", "a", "b"]})
        >>> network = DiscretizedBayesNet.from_table(rows, [], {})
        >>> updated = network.update(pd.DataFrame({"x": ["b"] * 5}))
        >>> print(updated.tables["x"].round(3))
        [0.278 0.722]
        """
        from gomea_bn.network.updates import updated_network

        return updated_network(self, data, weight=weight, forget=forget)

    def drift(
        self,
        data: pd.DataFrame | Table | str | os.PathLike[str],
        *,
        level: float = 0.05,
        random_state: int | np.random.SeedSequence | np.random.Generator | None = 0,
    ) -> pd.DataFrame:
        """Return whether further rows still follow the network, one row per column.

        Two tests judge a column, and Holm's procedure all columns. The mean of -ln p(column | parents) is compared
        with that of the former rows, each left out of the fit (Welch's test), or with that of drawn rows where it is
        unknown. The numbers of rows in cells of the column are compared with their sums of probabilities by a
        chi-square that allows for the error of the former rows.

        An edge is broken if knowing the parent gains surely less for the rows than for rows drawn from the network, and
        at most half. Not knowing it is having the value of another row.

        Parameters
        ----------
        data : DataFrame, Table, or path of a CSV, TSV or Parquet file
            Rows that the network was not learned from. A family is judged by the rows in which it has no missing cell.
        level : float
            Probability that any column of rows that follow the network counts as drifted, between 0 and 1.
        random_state : int, SeedSequence, Generator or None
            Seed of the draws.

        Returns
        -------
        DataFrame
            By column: `rows`, their number; `log_loss` and `expected`, its mean in nats in these rows and as expected;
            `p_value` of both tests together; `drifted`; `outside`, the share of values outside the support; and
            `broken`, the parents of broken edges as text.

        Raises
        ------
        GomeaBnError
            For rows that do not fit the columns and levels of the network.

        Examples
        --------
        >>> import pandas as pd
        >>> from gomea_bn import DiscretizedBayesNet
        >>> network = DiscretizedBayesNet.from_table(pd.DataFrame({"x": ["a", "b"] * 100}), [], {})
        >>> network.drift(pd.DataFrame({"x": ["a"] * 50 + ["b"] * 10}))["drifted"].tolist()
        [True]
        """
        from gomea_bn.network.drift import drift

        return drift(self, data, level=level, random_state=random_state)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from gomea_bn.plots.html import network_html

        return network_html(self)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Return the network of a JSON file, or of JSON text, which begins with a brace."""
        from gomea_bn.network.formats.json_format import from_json

        return from_json(source, cls)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], format: str | None = None) -> DiscretizedBayesNet:
        """Return the network of a file: JSON, BIF, XDSL, NET or UAI, also compressed by gzip.

        Files that gomea-bn wrote give the names, bins and levels of the network, but for UAI files, which hold none.
        Other files give discrete variables whose levels are the names of the states. Rows of tables that sum to 1
        within 0.01, as in rounded files, are scaled.

        Parameters
        ----------
        path : path
            The file.
        format : {"json", "bif", "xdsl", "net", "uai"}, optional
            Format; by default that of the ending: .json, .bif, .xdsl, .net or .uai.

        Raises
        ------
        GomeaBnError
            For a file that cannot be read, is not of the format, or does not describe a network of discrete variables;
            the message names the file, and the line or the variable.
        """
        from gomea_bn.network.formats.registry import network_from_file

        return network_from_file(path, format)

    def _known_of_cuts(self, variable: str, what: str) -> NDArray[np.float64]:
        """Return what is known of the shown cuts of a continuous variable."""
        self._position(variable)
        if variable not in self._cuts:
            raise GomeaBnError(f"'{variable}' is discrete; only continuous variables have cuts.")
        known = {} if self._conditionals is None else getattr(self._conditionals, what)
        if variable not in known:
            words = what.replace("cut_", "")
            raise GomeaBnError(f"This network has no {words} of cuts; average_families computes them.")
        return np.asarray(known[variable], np.float64)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # a slot without a value is asked for while a copy is made
            if name.startswith("_"):
                raise AttributeError(name)
            return averaged_member(self, name)

    def _position(self, name: str) -> int:
        if name not in self._names:
            raise GomeaBnError(f"Unknown variable {name!r}.{nearest(str(name), self._names)}")
        return self._names.index(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DiscretizedBayesNet):
            return NotImplemented
        return (
            self._names == other._names
            and self._parents == other._parents
            and self._support == other._support
            and self._levels == other._levels
            and self._shapes == other._shapes
            and self._pseudo_count == other._pseudo_count
            and self._conditionals == other._conditionals
            and all(np.array_equal(cuts, other._cuts[name]) for name, cuts in self._cuts.items())
            and all(np.array_equal(table, other._tables[name]) for name, table in self._tables.items())
        )

    def __hash__(self) -> int:
        cuts = tuple(tuple(inner.tolist()) for inner in self._cuts.values())
        return hash(
            (self._names, self._parents, tuple(self._support.items()), tuple(self._levels.items()), cuts)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._names, self.edges, self._content())

    def _content(self) -> dict[str, Any]:
        """Return the parts of the network apart from its names and edges, as keywords."""
        return {
            "cut_points": self._cuts,
            "support": self._support,
            "levels": self._levels,
            "tables": self._tables,
            "shapes": self._shapes,
            "conditionals": self._conditionals,
            "counts": self._counts,
            "pseudo_count": self._pseudo_count,
            "metadata": self.metadata,
            "value_kinds": self._value_kinds,
        }

    def __repr__(self) -> str:
        n_bins = sum(len(cuts) + 1 for cuts in self._cuts.values())
        n_edges = sum(map(len, self._parents))
        return (
            f"{type(self).__name__}({len(self._cuts)} continuous variables with {n_bins} bins, "
            f"{len(self._levels)} discrete, {n_edges} edges)"
        )


def _rebuild(
    kind: type[Net],
    names: tuple[str, ...],
    edges: list[tuple[str, str]],
    content: dict[str, Any],
) -> Net:
    """Return a network from its pickled parts, which are checked again."""
    return kind(names, edges, **content)
