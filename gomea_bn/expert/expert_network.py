"""The class of an expert's networks: edges, optional bins and optional probability tables."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import Level, same_as_text
from gomea_bn.data.table import Column, Table
from gomea_bn.errors import GomeaBnError, Setting, is_real, nearest, pairs_in
from gomea_bn.expert import files
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.formats.dot import read_dot_graph
from gomea_bn.network.parts import (
    Immutable,
    check_cut_points,
    check_edges,
    check_pseudo_count,
    variable_names,
)
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.files import named_source, prefixed_errors
from gomea_bn.texts import counted, listed

# equal-frequency bins of a column without bins from the expert: low, middle, high, or fewer with many equal values
_DEFAULT_BINS = 3
_WITHOUT_TABLES = "ExpertNetwork.from_edges(expert.edges, cut_points=expert.cut_points)"


class ExpertNetwork(Immutable):
    """An immutable expert's network: edges, bins of some variables, and optional probability tables.

    `fitted` completes it to a network over all columns of a table of data.

    Parameters
    ----------
    names : sequence of str
        Names of the variables that the expert mentions.
    edges : iterable of (parent, child)
        Pairs of names; the graph must be acyclic.
    cut_points : mapping of str to array-like of shape (n_bins - 1,), optional
        Inner cut points, strictly increasing, of the variables whose bins the expert gives.
    network : DiscretizedBayesNet, optional
        Network with probability tables over the same names and edges. A variable that is discrete in it but has
        `cut_points` has bins as states, lowest first, without known outer ends.

    Raises
    ------
    GomeaBnError
        For unknown or duplicate names, cycles, duplicate edges, edges from a variable to itself, and cut points that do
        not increase or do not fit the network.

    Examples
    --------
    >>> expert = ExpertNetwork.from_edges([("age", "bp"), ("bmi", "bp")], cut_points={"bmi": [25, 30]})
    >>> expert
    ExpertNetwork(3 variables, 2 edges, bins of 1 variable, no tables)
    """

    __slots__ = ("_cut_points", "_edges", "_names", "_network")

    _cut_points: dict[str, NDArray[np.float64]]
    _edges: tuple[tuple[str, str], ...]
    _names: tuple[str, ...]
    _network: DiscretizedBayesNet | None

    def __init__(
        self,
        names: Sequence[str],
        edges: Iterable[tuple[str, str]],
        *,
        cut_points: Mapping[str, ArrayLike] | None = None,
        network: DiscretizedBayesNet | None = None,
    ) -> None:
        names = variable_names(names)
        pairs = pairs_in("edges", edges)
        with prefixed_errors("Expert's network"):
            check_edges(pairs, names)
        cuts = _checked_cuts({} if cut_points is None else cut_points, names)
        if network is not None:
            if not isinstance(network, DiscretizedBayesNet):
                raise GomeaBnError(
                    f"network must be a DiscretizedBayesNet or None, got {type(network).__name__}."
                )
            if network.names != names or set(network.edges) != set(pairs):
                raise GomeaBnError("The names and edges of an expert with tables must be those of network.")
            cuts = _joined_cuts(cuts, network)
        self._set_parts({"_names": names, "_edges": tuple(pairs), "_cut_points": cuts, "_network": network})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Return the expert's network of a file: JSON, BIF, XDSL, NET, DOT, or edges in CSV or TSV.

        The ending (.json, .bif, .xdsl, .net, .dot, .csv, .tsv, ...) or otherwise the content decides.
        See `from_json` and `from_bif`, which also takes the bins of a BIF file of other programs. A list of edges has
        the columns parent,child. Of a DOT file the graph is read.

        Raises
        ------
        GomeaBnError
            For a file that cannot be read or does not describe a valid network.
        """
        kind = files.file_kind(path)
        if kind == "json":
            return cls.from_json(path)
        if kind == "dot":
            names, edges = read_dot_graph(path)
            with prefixed_errors(named_source(path)):
                return cls.from_edges(edges, names=names)
        if kind != "edges":
            return cls._from_network_file(path, kind)
        edges = files.read_edge_list(path)
        with prefixed_errors(named_source(path)):
            return cls.from_edges(edges)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[str, str]],
        *,
        names: Sequence[str] | None = None,
        cut_points: Mapping[str, ArrayLike] | None = None,
    ) -> Self:
        """Return an expert's network without tables.

        Parameters
        ----------
        edges : iterable of (parent, child)
            Pairs of names; the graph must be acyclic.
        names : sequence of str, optional
            Names of all variables that the expert mentions; by default those of the edges and cut points.
        cut_points : mapping of str to array-like of shape (n_bins - 1,), optional
            Inner cut points of the variables whose bins the expert gives.
        """
        pairs = pairs_in("edges", edges)
        if names is None:
            binned = cut_points if isinstance(cut_points, Mapping) else ()
            names = list(dict.fromkeys([*(end for edge in pairs for end in edge), *binned]))
            if not names:
                raise GomeaBnError("The expert's network is empty: give edges, names or cut_points.")
        return cls(names, pairs, cut_points=cut_points)

    @classmethod
    def from_network(cls, network: DiscretizedBayesNet) -> Self:
        """Return an expert's network with the edges, bins, support and tables of a network."""
        return cls(network.names, network.edges, network=network)

    @classmethod
    def from_bif(
        cls,
        path: str | os.PathLike[str],
        cut_points: Mapping[str, ArrayLike] | None = None,
        support: Mapping[str, tuple[float, float]] | None = None,
    ) -> Self:
        """Return the expert's network of a BIF file, with its tables.

        Files that gomea-bn wrote hold names, bins and support. In other files every variable is discrete, with text
        levels.

        Parameters
        ----------
        path : path
            The file, plain or compressed by gzip.
        cut_points : mapping of str to array-like of shape (n_bins - 1,), optional
            Inner cut points of variables whose states are bins, lowest first; one fewer than states.
        support : mapping of str to (min, max), optional
            Outer ends of the bins of those variables; by default the range of the data.

        Raises
        ------
        GomeaBnError
            For a file that is not BIF, and for cut points that do not fit its states.
        """
        return cls._from_network_file(path, "bif", cut_points, support)

    @classmethod
    def _from_network_file(
        cls,
        path: str | os.PathLike[str],
        kind: str,
        cut_points: Mapping[str, ArrayLike] | None = None,
        support: Mapping[str, tuple[float, float]] | None = None,
    ) -> Self:
        """Return the expert's network of a file with tables; see `from_bif`."""
        network = DiscretizedBayesNet.from_file(path, kind)
        with prefixed_errors(named_source(path)):
            expert = cls(network.names, network.edges, cut_points=cut_points, network=network)
            if not support:
                return expert
            for name in support:
                if name not in (cut_points or {}):
                    near = nearest(str(name), cut_points or {})
                    raise GomeaBnError(f"support: variable {name!r} has no entry in cut_points.{near}")
            closed = DiscretizedBayesNet(
                network.names,
                network.edges,
                cut_points={
                    **network.cut_points,
                    **{name: cuts for name, cuts in expert.cut_points.items() if name in support},
                },
                support={**network.support, **support},
                levels={name: levels for name, levels in network.levels.items() if name not in support},
                tables=network.tables,
                pseudo_count=network.pseudo_count,
                metadata=network.metadata,
            )
            return cls(closed.names, closed.edges, cut_points=cut_points, network=closed)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Return the expert's network of a JSON file, or of JSON text, which begins with a brace.

        The JSON is that of a network (`DiscretizedBayesNet.to_json`) or that of `to_json`, in which `names`,
        `cut_points` and `network` are optional: ``{"format": "gomea-bn expert", "format_version": 1,
        "edges": [["age", "bp"]], "cut_points": {"age": [40, 60]}}``.

        Raises
        ------
        GomeaBnError
            For a file that cannot be read, is not such JSON, has unknown fields or does not describe a valid network.
        """
        names, edges, cut_points, network = files.read_expert_json(source)
        is_text = isinstance(source, str) and source.lstrip()[:1] == "{"
        with prefixed_errors("JSON text" if is_text else named_source(source)):
            if network is None:
                return cls.from_edges(edges, names=names, cut_points=cut_points)
            return cls(
                network.names if names is None else names, edges, cut_points=cut_points, network=network
            )

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the expert's network as JSON text, exact to the last bit; write it to `path` if given."""
        return files.expert_to_json(self.names, self.edges, self.cut_points, self.network, path)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables that the expert mentions."""
        return self._names

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Pairs (parent, child), in the order in which they were given."""
        return list(self._edges)

    @property
    def cut_points(self) -> dict[str, NDArray[np.float64]]:
        """Inner cut points, float64 (n_bins - 1,), read-only, of the variables whose bins the expert gave."""
        return dict(self._cut_points)

    @property
    def network(self) -> DiscretizedBayesNet | None:
        """Network with the probability tables that the expert gave, or None.

        A variable that is discrete in it but has `cut_points` has bins as states, without known outer ends.
        """
        return self._network

    def mentioned(self, table: Table) -> tuple[str, ...]:
        """Return the columns of a table that the expert mentions, in the order of the table.

        Raises
        ------
        GomeaBnError
            For variables that are not columns; the message names them and the nearest columns.
        """
        if not isinstance(table, Table):
            raise GomeaBnError(f"table must be a Table, got {type(table).__name__}; use read_table(frame).")
        unknown = [name for name in self._names if name not in table.names]
        if unknown:
            lines = [_unknown_column(name, self._edges, table.names) for name in unknown[:10]]
            if len(unknown) > 10:
                lines.append(f"… and {counted(len(unknown) - 10, 'more variable')}")
            raise GomeaBnError("\n".join(lines))
        return tuple(name for name in table.names if name in self._names)

    def fitted(
        self, table: Table, *, pseudo_count: PseudoCount = 1.0, shapes: Mapping[str, Shape] | None = None
    ) -> DiscretizedBayesNet:
        """Return the expert's network completed over all columns of a table, in the table's order.

        The expert's bins and tables stay as they are. Levels are matched by value or, if one side is text, as text. A
        network with tables keeps its support, which may be wider or narrower than the range of the data.

        Missing parts come from the data. The support is the range of the column. A continuous column without bins gets
        three equal-frequency bins, low, middle and high, or fewer if it has too many equal values. A column that the
        expert does not mention gets no edges. Tables are counted from the rows.

        Parameters
        ----------
        table : Table
            The data, from `read_table`.
        pseudo_count : float or "auto"
            Smoothing of the counted tables: number of pseudo-counts per table row, spread evenly over its cells, or
            "auto", see `DiscretizedBayesNet.from_table`.
        shapes : mapping of str to Shape, optional
            Distributions inside the bins of continuous columns. A variable with tables and a support of the expert
            keeps its own shape, or stays uniform inside its bins if it has none. Without a shape a column is uniform
            inside its bins.

        Returns
        -------
        DiscretizedBayesNet
            The completed network. Its metadata entry "expert_fit" lists the columns `not_mentioned`, those with
            `default_bins` and those with `counted_tables`. Its `pseudo_count` is None if the expert's tables and the
            counted tables were smoothed differently.

        Raises
        ------
        GomeaBnError
            For variables that are not columns; for cut points outside the range of the data if the expert gave no
            support; for data that lie outside the support; for variables that are continuous on one side and discrete
            on the other; and for levels that only one side has.
        """
        self.mentioned(table)
        cut_points, network = self._cut_points, self._network
        weight = check_pseudo_count(pseudo_count)
        if weight is None:
            raise GomeaBnError("pseudo_count must be a finite number of at least 0 or 'auto', got None.")
        table.require_complete("The expert's network")
        for column in table.columns:
            if column.name in cut_points and not column.is_continuous:
                raise GomeaBnError(
                    f"The expert gives cut points of column '{column.name}', which is discrete ({column.reason}).",
                    [
                        *([] if column.is_constant else [Setting("kinds", "continuous", column.name)]),
                        "leave these cut points out",
                    ],
                )
        continuous = [column for column in table.columns if column.is_continuous]
        record = {
            "not_mentioned": [name for name in table.names if name not in self._names],
            "default_bins": [column.name for column in continuous if column.name not in cut_points],
            "counted_tables": [name for name in table.names if network is None or name not in network.names],
        }
        if network is not None:
            return _with_given_tables(table, cut_points, network, weight, shapes or {}, record)
        cuts = {column.name: _cuts(column, cut_points) for column in continuous}
        return DiscretizedBayesNet.from_table(
            table, self.edges, cuts, pseudo_count=weight, shapes=shapes or {}, metadata={"expert_fit": record}
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExpertNetwork):
            return NotImplemented
        return (
            self._names == other._names
            and self._edges == other._edges
            and self._cut_points.keys() == other._cut_points.keys()
            and all(np.array_equal(cuts, other._cut_points[name]) for name, cuts in self._cut_points.items())
            and self._network == other._network
        )

    def __hash__(self) -> int:
        cut_points = frozenset((name, tuple(cuts.tolist())) for name, cuts in self._cut_points.items())
        return hash((self._names, self._edges, cut_points, self._network))

    def __reduce__(self) -> tuple[Any, ...]:
        cuts, network = self._cut_points, self._network
        return partial(type(self), self._names, self._edges, cut_points=cuts, network=network), ()

    def __repr__(self) -> str:
        n_binned = len(self._cut_points)
        return (
            f"{type(self).__name__}({counted(len(self._names), 'variable')}, {counted(len(self._edges), 'edge')}, "
            f"bins of {counted(n_binned, 'variable')}, {'with' if self._network is not None else 'no'} tables)"
        )


def _checked_cuts(
    cut_points: Mapping[str, ArrayLike], names: tuple[str, ...]
) -> dict[str, NDArray[np.float64]]:
    """Return the cut points by name, in the order of the names, read-only."""
    if not isinstance(cut_points, Mapping):
        raise GomeaBnError(f"cut_points must map names to lists of numbers, got {type(cut_points).__name__}.")
    for name, cuts in cut_points.items():
        if name not in names:
            raise GomeaBnError(f"cut_points: unknown variable {name!r}.{nearest(str(name), names)}")
        if (
            isinstance(cuts, str)
            or not isinstance(cuts, Iterable)
            or not all(is_real(cut) for cut in np.ravel(np.asarray(cuts, dtype=object)))
        ):
            raise GomeaBnError(f"cut_points['{name}'] must be a list of numbers, got {cuts!r:.80}.")
    checked = {
        name: check_cut_points(cut_points[name], name, (-math.inf, math.inf))
        for name in names
        if name in cut_points
    }
    for cuts in checked.values():
        cuts.flags.writeable = False
    return checked


def _joined_cuts(
    cut_points: Mapping[str, NDArray[np.float64]], network: NetworkLike
) -> dict[str, NDArray[np.float64]]:
    """Return cut points, which must fit the states of a network, together with those of the network."""
    for name, cuts in cut_points.items():
        if name in network.cut_points:
            if not np.array_equal(cuts, network.cut_points[name]):
                raise GomeaBnError(
                    f"cut_points['{name}'] must be left out, because the network already has bins of '{name}', with "
                    f"the cut points {network.cut_points[name].tolist()}."
                )
        elif len(cuts) + 1 != len(network.levels[name]):
            states = network.levels[name]
            raise GomeaBnError(
                f"cut_points['{name}'] makes {len(cuts) + 1} bins, but the network has {len(states)} states of "
                f"'{name}', {listed(map(repr, states), most=10)}: give {counted(len(states) - 1, 'cut point')}, lowest "
                "bin first."
            )
    both = {**cut_points, **network.cut_points}
    return {name: both[name] for name in network.names if name in both}


def _cuts(column: Column, cut_points: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    if column.name not in cut_points:
        return equal_frequency_cuts(column.values, _DEFAULT_BINS)
    _column_range(column, cut_points[column.name], "leave it out")
    return cut_points[column.name]


def _column_range(column: Column, cuts: NDArray[np.float64], advice: str) -> tuple[float, float]:
    """Return the minimum and maximum of a column, or raise if a cut point of the expert lies outside."""
    low, high = float(column.values.min()), float(column.values.max())
    outside = cuts[(cuts <= low) | (cuts >= high)].tolist()
    if outside:
        raise GomeaBnError(
            f"Expert's {'cut points' if len(outside) > 1 else 'cut point'} {listed(outside)} of column '{column.name}' "
            f"must lie inside the range of its data, {low!r} to {high!r}. A bin outside it has neither rows nor a "
            f"width; {advice}, or check the units."
        )
    return low, high


def _shared_support(column: Column, support: tuple[float, float]) -> tuple[float, float]:
    """Return the expert's support of a column, or raise if all data lie outside of it."""
    low, high = float(column.values.min()), float(column.values.max())
    if support[1] <= low or support[0] >= high:
        raise GomeaBnError(
            f"The expert's bins of column '{column.name}' span {support[0]!r} to {support[1]!r}, but all its data lie "
            f"between {low!r} and {high!r}; check the units."
        )
    return support


def _with_given_tables(
    table: Table,
    cut_points: Mapping[str, NDArray[np.float64]],
    network: DiscretizedBayesNet,
    pseudo_count: PseudoCount,
    shapes: Mapping[str, Shape],
    record: dict[str, list[str]],
) -> DiscretizedBayesNet:
    """Return the expert's probability tables in the order of the columns, with counted tables of the other columns."""
    columns = {column.name: column for column in table.columns}
    parts: dict[str, dict[str, Any]] = {
        "cut_points": {},
        "support": {},
        "levels": {},
        "tables": {},
        "shapes": dict(network.shapes),
    }
    codes: dict[str, list[int]] = {}
    for name in network.names:
        column = columns[name]
        if name in cut_points:
            parts["cut_points"][name] = cut_points[name]
            parts["support"][name] = (
                _shared_support(column, network.support[name])
                if name in network.support
                else _column_range(column, cut_points[name], f"give support={{'{name}': (min, max)}}")
            )
        else:
            codes[name] = _level_codes(column, network.levels[name])
            parts["levels"][name] = column.levels
    position_of = {name: position for position, name in enumerate(table.names)}
    for name in network.names:
        parents = network.parents(name)
        order = sorted(range(len(parents)), key=lambda axis: position_of[parents[axis]])
        probabilities = network.tables[name].transpose([*order, len(parents)])
        for axis, variable in enumerate([*(parents[position] for position in order), name]):
            if variable in codes:
                probabilities = probabilities.take(codes[variable], axis=axis)
        parts["tables"][name] = probabilities
    others = tuple(column for column in table.columns if column.name not in network.names)
    if others:
        alone = Table(others, table.n_rows, table.dropped_rows)
        cuts = {column.name: _cuts(column, {}) for column in others if column.is_continuous}
        counted = DiscretizedBayesNet.from_table(alone, [], cuts, pseudo_count=pseudo_count)
        for kind, part in parts.items():
            part.update(getattr(counted, kind))
    for name, shape in shapes.items():
        # an expert who gives tables and a support means bins that are uniform inside
        if name not in network.support and name in parts["support"]:
            parts["shapes"][name] = shape
    same_smoothing = not others or network.pseudo_count == pseudo_count
    return DiscretizedBayesNet(
        table.names,
        network.edges,
        conditionals=None,
        pseudo_count=network.pseudo_count if same_smoothing else None,
        metadata={**network.metadata, "expert_fit": record},
        **parts,
    )


def _level_codes(column: Column, expert_levels: Sequence[Level]) -> list[int]:
    """Return for each level of a column its code among the expert's levels; raise if the levels do not match."""
    name = column.name
    if column.levels is None:
        raise GomeaBnError(
            f"Column '{name}' is continuous ({column.reason}), but the expert's network gives it the states "
            f"{_shown(expert_levels)}. If these are bins, give their cut points, lowest first: "
            f"ExpertNetwork.from_bif(path, cut_points={{'{name}': [...]}}); if they are values, read the data with "
            f"kinds={{'{name}': 'discrete'}}."
        )
    by_value = {level: code for code, level in enumerate(expert_levels)}
    codes: list[int] = []
    for level in column.levels:
        same_text = [code for code, other in enumerate(expert_levels) if same_as_text(level, other)]
        code = by_value.get(level, same_text[0] if len(same_text) == 1 else -1)
        if code < 0 or code in codes:
            raise GomeaBnError(
                f"Column '{name}' has the level {level!r}, which the expert's table of '{name}' lacks; its levels are "
                f"{_shown(expert_levels)}.{nearest(str(level), map(str, expert_levels))} Rename levels in the data or "
                f"in the expert's network, or drop the expert's tables: {_WITHOUT_TABLES}."
            )
        codes.append(code)
    unmatched = [level for code, level in enumerate(expert_levels) if code not in codes]
    if unmatched:
        raise GomeaBnError(
            f"The expert's table of '{name}' has the level {_shown(unmatched)}, which column '{name}' lacks; its "
            f"levels are {_shown(column.levels)}. Declare it in the data, frame['{name}'] = "
            f"pandas.Categorical(frame['{name}'], categories=[...]), or drop the expert's tables: "
            f"{_WITHOUT_TABLES}."
        )
    return codes


def _shown(levels: Sequence[Level]) -> str:
    return listed(map(repr, levels), most=10)


def _unknown_column(name: str, edges: Sequence[tuple[str, str]], columns: tuple[str, ...]) -> str:
    """Return the message for an expert's variable that is not a column of the table."""
    hint = nearest(name, columns)
    if not hint:
        hint = f" Columns are {_shown(columns)}."
    edge = next((edge for edge in edges if name in edge), None)
    statement = f"edge '{edge[0]}' -> '{edge[1]}'" if edge else f"variable '{name}'"
    return f"Expert's {statement}: unknown column '{name}'.{hint}"
