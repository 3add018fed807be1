"""What a discretized Bayesian network holds: a graph, a conditional density per variable, and bins that show them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import Level
from gomea_bn.data.sources import Rows, source_frame
from gomea_bn.data.table import table_digest
from gomea_bn.data.weights import checked_weights
from gomea_bn.errors import (
    GomeaBnError,
    check_choice,
    check_integer,
    mapping_in,
    names_in,
    pairs_in,
)
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.conditionals import (
    CellGrids,
    Conditionals,
    families_of,
    row_values,
)
from gomea_bn.network.conditionals.family_table import TableSet
from gomea_bn.network.conditionals.kind import Family
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.graph import are_separated, markov_blanket, reachable, topological_order
from gomea_bn.network.matched_rows import RowSource, TableRows, kept_counts
from gomea_bn.network.parts import (
    VALUES,
    Immutable,
    ValueKind,
    check_counts,
    check_cut_points,
    check_edges,
    check_keys,
    check_levels,
    check_metadata,
    check_pseudo_count,
    check_shapes,
    check_support,
    check_table,
    check_value_kinds,
    random_generator,
    unknown_variable,
    variable_names,
)
from gomea_bn.network.recorded import OF_ROWS, family_scores, recorded_checks
from gomea_bn.network.rows import drawn_values, draws_by_name, frame_of_draws, known_rows, rows_for
from gomea_bn.network.tables import MOST_FILE_CELLS, PseudoCount, bin_texts
from gomea_bn.texts import listed

if TYPE_CHECKING:
    from gomea_bn.network.effects import ColumnEffects, EffectsOfNetwork
    from gomea_bn.network.inference.engine import Seed
    from gomea_bn.network.shown_tables import ShownTables
    from gomea_bn.problems.cuts.shape import Shape


class NetworkParts(Immutable):
    """The parts of a `DiscretizedBayesNet`, and networks with other parts, another order or fewer edges."""

    _cards: tuple[int, ...]
    _conditionals: Conditionals | None
    _counts: dict[str, NDArray[np.float64]]
    _cuts: dict[str, NDArray[np.float64]]
    _effects: EffectsOfNetwork | None
    _families: dict[str, Family]
    _grids: CellGrids | None
    _levels: dict[str, tuple[Level, ...]]
    _metadata: str
    _names: tuple[str, ...]
    _order: tuple[int, ...]
    _parents: tuple[tuple[int, ...], ...]
    _pseudo_count: PseudoCount | None
    _row_source: RowSource | None
    _shapes: dict[str, Shape]
    _shown: ShownTables | None
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
        pseudo_count: PseudoCount | None = None,
        metadata: Mapping[str, Any] | None = None,
        value_kinds: Mapping[str, ValueKind] | None = None,
    ) -> None:
        edges = pairs_in("edges", edges)
        names = variable_names(names)
        continuous = [name for name in names if name in cut_points]
        check_keys(cut_points, continuous, names, "cut_points")
        check_keys(support, continuous, names, "support")
        check_keys(levels, [name for name in names if name not in cut_points], names, "levels")
        ends = {name: check_support(support[name], name) for name in continuous}
        cuts = {name: check_cut_points(cut_points[name], name, ends[name]) for name in continuous}
        for inner in cuts.values():
            inner.flags.writeable = False
        of_discrete = {name: check_levels(levels[name], name) for name in names if name not in cuts}
        parents = check_edges(edges, names)
        wanted = names if conditionals is None else [name for name in names if name in tables]
        check_keys(tables, wanted, names, "tables")
        cards = tuple(len(cuts[name]) + 1 if name in cuts else len(of_discrete[name]) for name in names)
        of_parents = {}
        for position, name in enumerate(names):
            if name not in tables:
                continue
            shape = tuple(cards[member] for member in (*parents[position], position))
            of_parents[name] = check_table(tables[name], name, shape)
        self._set_parts(
            {
                "_names": names,
                "_parents": parents,
                "_order": topological_order(parents, names),
                "_cards": cards,
                "_cuts": cuts,
                "_support": ends,
                "_shapes": check_shapes(mapping_in("shapes", shapes), ends, names),
                "_levels": of_discrete,
                "_tables": of_parents,
                "_counts": check_counts((counts or {}) if conditionals is None else {}, of_parents),
                "_pseudo_count": check_pseudo_count(pseudo_count),
                "_metadata": check_metadata(mapping_in("metadata", metadata, "names")),
                "_value_kinds": check_value_kinds(value_kinds, names, cuts),
                "_conditionals": None,
            }
        )
        if conditionals is not None:
            self._set_parts({"_conditionals": conditionals.checked(self)})
        self._set_parts({"_families": families_of(self), "_grids": None, "_effects": None, "_shown": None})
        self._set_parts({"_row_source": None})

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
    def tables(self) -> Mapping[str, NDArray[np.float64]]:
        """P(name | parents) by variable over the shown bins, float64 (card(parent_1), ..., card(name)), read-only.

        Those of `stored_tables` are held. All others are computed from the conditionals when they are asked for, over
        20,000 drawn rows, and kept.
        """
        if len(self._tables) == len(self._names):
            return dict(self._tables)
        if self._shown is None:
            from gomea_bn.network.shown_tables import ShownTables

            self._set_parts({"_shown": ShownTables(self, self._tables)})
        assert self._shown is not None
        return self._shown

    @property
    def stored_tables(self) -> dict[str, NDArray[np.float64]]:
        """Tables that the network holds and files have: all of a network without conditionals, otherwise small ones."""
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
        if self._grids is None:
            # drawn rows from which cells are placed
            self._set_parts({"_grids": CellGrids(self, lambda: draws_by_name(self, 4_000))})
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
    def checks(self) -> pd.DataFrame:
        """Pairs of columns whose joint probabilities are off the rows of the fit, the worst pair first.

        A fit with conditionals compares all pairs of columns over the shown bins with the rows in which both have
        values, and a column in one bin over quarters of its rows. A pair is here if a cell is off by more than four
        standard errors of the rows and of the rows that the network drew; at most 20 pairs are kept, with their worst
        cell each.

        Returns
        -------
        DataFrame
            Columns `first` and `second`, `first_bin` and `second_bin` (the cell, written as in `bin_labels`), `rows`
            and `network` (its share of the rows, and its probability), and `standard_error` of their difference.
            `attrs["pairs"]` is the number of pairs that were compared, and `attrs["off"]` of those that are off. Both
            are 0 if there is no record: networks that were changed, updated or set by `do` have none.
        """
        known = recorded_checks(self)
        frame = pd.DataFrame(
            [] if known is None else known.worst,
            columns=["first", "first_bin", "second", "second_bin", "rows", "network", "standard_error"],
        )
        frame.attrs = (
            {"pairs": 0, "off": 0} if known is None else {"pairs": known.n_pairs, "off": known.n_off}
        )
        return frame

    @property
    def row_source(self) -> RowSource | None:
        """Rows to set next to answers: those of `with_rows` or of the fit, counts that a file has, or None."""
        if self._row_source is None:
            self._set_parts({"_row_source": kept_counts(self)})
        return self._row_source

    def with_rows(self, rows: Rows, weights: ArrayLike | None = None) -> Self:
        """Return the network with rows in memory, whose shares stand next to its answers.

        The answers of `query`, of `explain` and of a prediction for one row then have what those rows say that satisfy
        the findings, in `attrs["rows"]` or in the sentences. A fit leaves its network with its rows, and with counts
        of pairs and triples of columns, which files keep; files do not keep rows.

        Parameters
        ----------
        rows : DataFrame, Table, path, or other table
            Rows, as of `read_table`, with a column for every variable. Cells may be missing: rows count where they
            have values of the columns in question.
        weights : array-like of shape (n_rows,), optional
            By how much each row counts; all count 1 by default.

        Raises
        ------
        GomeaBnError
            For missing columns, rows that are not there, and weights that are no numbers of at least 0.
        """
        table = rows_for(self, rows)
        numbers = None if weights is None else checked_weights(weights, table.n_rows, "weights")
        is_own = numbers is None and table_digest(table) == self.metadata.get("data_sha256")
        return self.with_row_source(TableRows(self, table, is_own, numbers))

    def with_row_source(self, source: RowSource) -> Self:
        """Return the network with rows to set next to answers, see `with_rows`."""
        network = self.with_metadata()
        network._set_parts({"_row_source": source})
        return network

    @property
    def family_scores(self) -> dict[str, float]:
        """Score of every variable given its parents in nats, whose sum is the score of the fit.

        A fit with default options of a table without missing values records them. They are log marginal likelihoods
        of the values, with every continuous column scaled to [0, 1], minus the costs of edges and cuts: by the table or
        by the curves of the search, whichever is better. The cuts are those of the search. Other ones are shown of
        columns in families that follow curves, so that tables over the shown bins need not have these scores.

        Networks that were made by hand, refined, or improved over more rows than the search had, have none.
        """
        return family_scores(self)

    @property
    def adjacency_matrix(self) -> NDArray[np.int8]:
        """Matrix of int8 (n_variables, n_variables) whose entry [i, j] is 1 for an edge from i to j."""
        matrix = np.zeros((len(self._names), len(self._names)), dtype=np.int8)
        for child, parents in enumerate(self._parents):
            matrix[list(parents), child] = 1
        return matrix

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that the network keeps.

        Of a table these are card - 1 for each of its rows, of effects their coefficients and scales. An average counts
        as the mean of its parts, by their weights: tables over twenty sets of cuts count once. The number of one
        variable, `families[name].n_parameters`, need not be whole.
        """
        if self._conditionals is None:
            return sum(table.size - table.size // table.shape[-1] for table in self._tables.values())
        return round(sum(family.n_parameters for family in self._families.values()))

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the parents of a variable in column order."""
        return tuple(self._names[parent] for parent in self._parents[self._position(name)])

    def of_tables(self) -> Self:
        """Return the network whose densities are those of the tables over the shown bins, without conditionals."""
        return self if self._conditionals is None else self.changed(conditionals=None)

    def with_fewer_parents(self, parents: Mapping[str, Sequence[str]]) -> Self:
        """Return the network of tables over the shown bins in which some variables have some of their parents.

        Parents that are left out are averaged over the rows that the network has in each cell. Nothing of rows is
        recorded.
        """
        from gomea_bn.network.shown_tables import ROWS_OF_TABLES, table_over_cells

        kept = {
            name: tuple(p for p in self.parents(name) if p in of_name) for name, of_name in parents.items()
        }
        rows = draws_by_name(self, ROWS_OF_TABLES)
        tables = {
            name: table_over_cells(self, name, kept[name], self.cut_points, rows)
            if name in kept
            else self.tables[name]
            for name in self._names
        }
        edges = [(parent, child) for parent, child in self.edges if parent in kept.get(child, (parent,))]
        content = self._content() | {"tables": tables, "conditionals": None, "counts": None}
        content["metadata"] = {k: value for k, value in content["metadata"].items() if k not in OF_ROWS}
        return type(self)(self._names, edges, **content)

    def changed(self, **parts: Any) -> Self:
        """Return a network with other values of some keywords of the constructor, and the names and edges of this.

        The rows and a record of `checks` go, unless only the metadata or the kinds of values are others.
        """
        content = self._content()
        if "tables" in parts:
            content["counts"] = None
        elif parts.get("conditionals", self._conditionals) is None:
            content["tables"] = dict(self.tables)
        keeps_rows = not parts.keys() - {"metadata", "value_kinds"}
        if not keeps_rows:
            for entry in OF_ROWS:
                content["metadata"].pop(entry, None)
        network = type(self)(self._names, self.edges, **{**content, **parts})
        if keeps_rows and isinstance(self._row_source, TableRows):
            network._set_parts({"_row_source": self._row_source})
        return network

    def compiled(self, max_cells: int = MOST_FILE_CELLS) -> Self:
        """Return a network of tables alone within a budget of cells, as other programs can hold it.

        A network without conditionals is returned as it is. Tables are computed as those of `tables`. If all of them
        together have more than `max_cells` cells, the largest one gives way first: of its parents the one with the
        least share in `effects` gets half of its bins, down to two. Then it leaves the table, and its edge is gone.
        `metadata["compiled"]` then names the variables with "merged" bins, and the edges that were "left_out".

        Parameters
        ----------
        max_cells : int
            Most cells of all tables together.

        Raises
        ------
        GomeaBnError
            If there are more bins and levels than cells.
        """
        check_integer("max_cells", max_cells, 1)
        if self._conditionals is None:
            return self
        from gomea_bn.network.compilation import COMPILED, coarser, compiled_tables

        cut_points, parents, record = coarser(self, max_cells)
        if not any(record.values()):
            return self.of_tables()
        content = self._content()
        edges = [edge for edge in self.edges if list(edge) not in record["left_out"]]
        content |= {
            "cut_points": cut_points,
            "tables": compiled_tables(self, cut_points, parents),
            "conditionals": None,
            "counts": None,
            "metadata": {
                **{key: value for key, value in self.metadata.items() if key not in OF_ROWS},
                COMPILED: record,
            },
        }
        return type(self)(self._names, edges, **content)

    def in_order(self, names: Sequence[str]) -> Self:
        """Return the network with its variables in another order; the axes of every table follow its parents.

        Parameters
        ----------
        names : sequence of str
            All names of the network, each once.

        Raises
        ------
        GomeaBnError
            If a name is missing, unknown or given twice.
        """
        names = names_in("names", names)
        if tuple(names) == self._names:
            return self
        if sorted(map(str, names)) != sorted(self._names):
            raise GomeaBnError(
                f"names must have every variable of the network once: {listed(self._names)}; got {listed(names)}."
            )
        content = self._content()
        shown = TableSet.of_network(self, self._counts)
        ordered = {
            name: shown.of_column(name).in_order(names) for name in names if name in self.stored_tables
        }
        content |= {
            "cut_points": {name: self._cuts[name] for name in names if name in self._cuts},
            "tables": {name: of_name.table for name, of_name in ordered.items()},
            "counts": {name: of_name.counts for name, of_name in ordered.items() if name in self._counts},
        }
        if self._conditionals is not None:
            content["conditionals"] = self._conditionals.in_order(names)
        for part in ("support", "levels", "shapes", "value_kinds"):
            content[part] = {name: content[part][name] for name in names if name in content[part]}
        return type(self)(tuple(names), self.edges, **content)

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
        """Return the bins as "(a, b]" (the first as "[a, b]"), or the levels as text, in code order.

        Ends of bins of dates and times of day are written as these, such as "(2024-12-31, 2025-03-01]".
        """
        self._position(name)
        if name in self._cuts:
            return bin_texts(name, self._cuts[name], self._support[name])
        return tuple(str(level) for level in self._levels[name])

    def discretize(self, frame: Rows) -> pd.DataFrame:
        """Return bin or level codes, int32 (n_rows, n_variables), with the frame's index."""
        frame = known_rows(self, source_frame(frame), "error")
        columns = Columns(row_values(self, frame, self._names))
        codes = {name: columns.codes(name, self._cuts.get(name)).astype(np.int32) for name in self._names}
        return pd.DataFrame(codes, index=frame.index)

    def log_density_terms(
        self, frame: Rows, of: Collection[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return the terms of `log_density`, ln p(variable | parents), float64 (n_rows,) by variable, in nats.

        With `of` these are the terms of some variables. `frame` then needs only their columns and those of their
        parents.
        """
        frame = source_frame(frame)
        members = None if of is None else {self._position(name) for name in names_in("of", of)}
        chosen = [v for v in range(len(self._names)) if members is None or v in members]
        needed = {self._names[member] for v in chosen for member in (v, *self._parents[v])}
        columns = Columns(row_values(self, known_rows(self, frame, "error", needed), needed))
        return {
            name: np.broadcast_to(self._families[name].log_density(columns), len(frame))
            for name in (self._names[v] for v in chosen)
        }

    def column_effects(self, name: str) -> ColumnEffects:
        """Return the effects of `effects` as an object, with what all parents explain; it is computed once."""
        self._position(name)
        if self._effects is None:
            from gomea_bn.network.effects import EffectsOfNetwork

            self._set_parts({"_effects": EffectsOfNetwork(self)})
        assert self._effects is not None
        return self._effects.of(name)

    def sample(
        self,
        n: int,
        random_state: Seed = None,
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
            "own": integers for integer columns, dates in the time zone of their column for dates, under its name. A
            network that was learned from a frame of pandas gives the types of its columns, such as int8, bool and str.
            "grid": real numbers are also rounded to the step that their column was measured with, such as 0.1.
            "numbers": all continuous values as drawn. A rounded value stays in its bin if the bin has a value of the
            grid.

        Returns
        -------
        DataFrame
            Columns in the order of `names`; discrete variables without another type are pandas categoricals with all
            their levels, ordered if those of the column are.
        """
        check_integer("n", n, 0)
        check_choice("values", values, VALUES)
        evidence = mapping_in("evidence", evidence)
        if evidence:
            from gomea_bn.network.inference import completion

            return completion.sample_given(self, n, evidence, random_state=random_state, values=values)
        return frame_of_draws(self, drawn_values(self, n, random_generator(random_state)), values)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the children of a variable in column order."""
        self.parents(name)  # raises for an unknown name
        return tuple(child for child in self.names if name in self.parents(child))

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return all variables from which a directed path leads to a variable, in column order."""
        ancestors = reachable({other: self.parents(other) for other in self.names}, self.parents(name))
        return tuple(other for other in self.names if other in ancestors)

    def descendants(self, name: str) -> tuple[str, ...]:
        """Return all variables to which a directed path leads from a variable, in column order."""
        self.parents(name)  # raises for an unknown name
        children: dict[str, list[str]] = {other: [] for other in self.names}
        for parent, child in self.edges:
            children[parent].append(child)
        descendants = reachable(children, children[name])
        return tuple(other for other in self.names if other in descendants)

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Return parents, children and the children's other parents of a variable, in column order.

        Given these, the variable is independent of all other variables.
        """
        self.parents(name)  # raises for an unknown name
        blanket = markov_blanket({other: self.parents(other) for other in self.names}, name)
        return tuple(other for other in self.names if other in blanket)

    def d_separated(
        self, first: str | Sequence[str], second: str | Sequence[str], given: str | Sequence[str] = ()
    ) -> bool:
        """Return whether the graph implies that variables are independent given other ones.

        Parameters
        ----------
        first, second, given : str or sequence of str
            Three sets of variables without a common one.

        Raises
        ------
        GomeaBnError
            For unknown variables, empty sets `first` or `second`, and a variable in two sets.
        """
        sets = [{names} if isinstance(names, str) else set(names) for names in (first, second, given)]
        for name in set().union(*sets):
            self.parents(name)  # raises for an unknown name
        if not sets[0] or not sets[1]:
            raise GomeaBnError("first and second must each name at least one variable.")
        for one, other in ((0, 1), (0, 2), (1, 2)):
            if both := sorted(sets[one] & sets[other]):
                raise GomeaBnError(
                    f"first, second and given must not share variables; two of them have '{both[0]}'."
                )
        return are_separated({name: self.parents(name) for name in self.names}, *sets)

    def _position(self, name: str) -> int:
        if not isinstance(name, str) or name not in self._names:
            raise GomeaBnError(f"U{unknown_variable(name, self._names, self.metadata)[1:]}")
        return self._names.index(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NetworkParts):
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
            and all(
                np.array_equal(table, other._tables[name])
                for name, table in self._tables.items()
                if name in other._tables
            )
        )

    def __hash__(self) -> int:
        cuts = tuple(tuple(inner.tolist()) for inner in self._cuts.values())
        return hash(
            (self._names, self._parents, tuple(self._support.items()), tuple(self._levels.items()), cuts)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self._names, self.edges, **self._content()), ()

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
