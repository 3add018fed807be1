"""What an expert says of the variables: edges, perhaps bins, perhaps tables; and experts to test with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.expert import files
from gomea_bn.expert.bins import checked_cuts, joined_cuts
from gomea_bn.expert.completion import completed, no_column
from gomea_bn.expert.parts import ExpertParts
from gomea_bn.network import checks
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.smoothing import PseudoCount
from gomea_bn.runtime.text_files import named_source, prefixed_errors

__all__ = [
    "ExpertNetwork",
]


class ExpertNetwork:
    """An immutable statement about variables: edges, bins of some variables, and tables or none.

    `fitted` turns it into a whole network over the columns of a table of data.

    Parameters
    ----------
    names : sequence of str
        The variables that the expert speaks about.
    edges : iterable of (parent, child)
        Names; the graph must have no cycle.
    cut_points : mapping of str to array-like of shape (n_bins - 1,), optional
        Inner cuts, strictly increasing, of the variables whose bins the expert gives.
    network : DiscretizedBayesNet, optional
        The whole network, where the expert gives tables: over the same names and edges. A variable that is
        discrete in it but has `cut_points` has bins for states, in order, whose outer ends are not known.

    Raises
    ------
    GomeaBnError
        For unknown or doubled names, cycles, repeated edges, edges from a variable to itself, cuts that do not
        increase, or cuts that disagree with the network's.

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
        own_names = checks.check_names(names)
        listed = _edge_list(edges)
        with prefixed_errors("Expert's network"):
            checks.check_edges(listed, own_names)
        cuts = checked_cuts(cut_points or {}, own_names)
        if network is not None:
            if network.names != own_names or set(network.edges) != set(listed):
                raise GomeaBnError(
                    "The expert's names and edges must be those of the expert's network with tables."
                )
            cuts = joined_cuts(cuts, network)
        for slot, value in {
            "_names": own_names,
            "_edges": tuple(listed),
            "_cut_points": cuts,
            "_network": network,
        }.items():
            object.__setattr__(self, slot, value)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Return the expert's network of a file: JSON, BIF, or edges in CSV or TSV.

        The ending (.json, .bif, .bif.gz, .csv, .tsv) or else the content says which. See `from_json`, `from_bif`
        (also for the bins of a foreign BIF file) and, for edges, the columns parent,child.

        Raises
        ------
        GomeaBnError
            For a file that cannot be read or states no valid network.
        """
        kind = files.file_kind(path)
        if kind == "json":
            return cls.from_json(path)
        if kind == "bif":
            return cls.from_bif(path)
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
        names : sequence of str, optional
            All variables that the expert speaks about; by default those of the edges and cut points.
        cut_points : mapping of str to array-like of shape (n_bins - 1,), optional
            Inner cuts of the variables whose bins the expert gives.
        """
        listed = _edge_list(edges)
        if names is None:
            binned = cut_points if isinstance(cut_points, Mapping) else ()
            names = list(dict.fromkeys([*(end for edge in listed for end in edge), *binned]))
            if not names:
                raise GomeaBnError("The expert says nothing: give edges, names or cut_points.")
        return cls(names, listed, cut_points=cut_points)

    @classmethod
    def from_network(cls, network: DiscretizedBayesNet) -> Self:
        """Return a whole network as an expert's: its edges, bins, support and tables."""
        return cls(network.names, network.edges, network=network)

    @classmethod
    def from_bif(
        cls,
        path: str | os.PathLike[str],
        cut_points: Mapping[str, ArrayLike] | None = None,
        support: Mapping[str, tuple[float, float]] | None = None,
    ) -> Self:
        """Return the expert's network of a BIF file, with its tables.

        Files that gomea-bn wrote carry names, bins and support. In others every variable is discrete, with
        text levels.

        Parameters
        ----------
        path : path
            May be compressed (.gz).
        cut_points : mapping of str to array-like of shape (n_bins - 1,), optional
            For variables whose states are bins, lowest first: the inner cuts, one fewer than states.
        support : mapping of str to (min, max), optional
            Where the end bins of those variables end; by default at the ends of the data's range.

        Raises
        ------
        GomeaBnError
            For a file that is no BIF, and for cuts that do not fit its states.
        """
        network = files.read_bif_network(path)
        with prefixed_errors(named_source(path)):
            expert = cls(network.names, network.edges, cut_points=cut_points, network=network)
            if not support:
                return expert
            for name in support:
                if name not in (cut_points or {}):
                    near = nearest(str(name), cut_points or {})
                    raise GomeaBnError(f"support names {name!r}, which has no cut_points.{near}")
            closed = DiscretizedBayesNet(
                network.names,
                network.edges,
                cut_points={
                    **network.cut_points,
                    **{name: cuts for name, cuts in expert.cut_points.items() if name in support},
                },
                support={**network.support, **support},
                levels={name: one for name, one in network.levels.items() if name not in support},
                tables=network.tables,
                pseudo_count=network.pseudo_count,
                metadata=network.metadata,
            )
            return cls(closed.names, closed.edges, cut_points=cut_points, network=closed)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Return the expert's network of a JSON file, or of JSON text (that which begins with a brace).

        Read are networks (`DiscretizedBayesNet.to_json`) and the format of `to_json`, of which `names`,
        `cut_points` and `network` may be left out: ``{"format": "gomea-bn expert", "format_version": 1,
        "edges": [["age", "bp"]], "cut_points": {"age": [40, 60]}}``.

        Raises
        ------
        GomeaBnError
            For a file that cannot be read, is no such JSON, has unknown fields or states no valid network.
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
        """Return all that the expert said as JSON text, exact to the last bit; write it to `path` if given."""
        return files.to_json(self._parts(), path)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that the expert speaks about."""
        return self._names

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) pairs, as they were given."""
        return list(self._edges)

    @property
    def cut_points(self) -> dict[str, NDArray[np.float64]]:
        """Inner cuts, float64 (n_bins - 1,), read-only, of the variables whose bins the expert gave."""
        return dict(self._cut_points)

    @property
    def network(self) -> DiscretizedBayesNet | None:
        """The whole network where the expert gave tables, else None.

        A variable of it that is discrete but has `cut_points` has bins for states, without known outer ends.
        """
        return self._network

    def mentioned(self, table: Table) -> tuple[str, ...]:
        """Return the columns of a table that the expert speaks about, in the table's order.

        Raises
        ------
        GomeaBnError
            Naming every variable of the expert's that is no column, and the nearest column.
        """
        if not isinstance(table, Table):
            raise GomeaBnError(
                f"An expert's network is fitted to a Table, got {type(table).__name__}; use read_table(frame)."
            )
        told = [no_column(name, self._edges, table.names) for name in self._names if name not in table.names]
        if told:
            more = f"\n… and {len(told) - 10} variables more" if len(told) > 10 else ""
            raise GomeaBnError("\n".join(told[:10]) + more)
        return tuple(name for name in table.names if name in self._names)

    def fitted(self, table: Table, *, pseudo_count: PseudoCount = 1.0) -> DiscretizedBayesNet:
        """Return the expert's network completed over all columns of a table, in the table's order.

        Given bins and tables are kept, with levels matched by value or, where one side is text, as text. A
        network with tables keeps its own support, which may be wider or narrower than the data's range. What the
        expert left out comes from the data: the support is the range of the column; a continuous column without
        bins gets three of equal frequency ("low, middle, high"; fewer where equal values leave fewer);
        a column that the expert does not mention gets no edge; tables are counted from the rows.

        Parameters
        ----------
        table : Table
            The data, from `read_table`.
        pseudo_count : float or "auto"
            Smoothing of the counted tables, per table row and spread evenly over its cells; "auto" as in
            `DiscretizedBayesNet.from_table`.

        Returns
        -------
        DiscretizedBayesNet
            Its metadata has the entry "expert_fit" with the columns `not_mentioned`, those with `default_bins`
            and those with `counted_tables`. Its `pseudo_count` is None where given and counted tables differ
            in it.

        Raises
        ------
        GomeaBnError
            For variables that are no columns; cuts outside the data's range where the expert gave no support;
            a support that the data lie outside of; variables that are continuous on one side and discrete on
            the other; levels that only one side has.
        """
        self.mentioned(table)
        return completed(self._parts(), table, pseudo_count)

    def _parts(self) -> ExpertParts:
        return ExpertParts(self.names, self.edges, self.cut_points, self.network)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("An ExpertNetwork cannot be changed; make a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("An ExpertNetwork cannot be changed; make a new one.")

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
        cuts = frozenset((name, tuple(one.tolist())) for name, one in self._cut_points.items())
        return hash((self._names, self._edges, cuts, self._network))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._names, self._edges, self._cut_points, self._network)

    def __repr__(self) -> str:
        n_binned = len(self._cut_points)
        return (
            f"{type(self).__name__}({_count(len(self._names), 'variable')}, {_count(len(self._edges), 'edge')}, "
            f"bins of {_count(n_binned, 'variable')}, {'with' if self._network is not None else 'no'} tables)"
        )


def _edge_list(edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the edges, each a pair of texts."""
    if isinstance(edges, (str, Mapping)) or not isinstance(edges, Iterable):
        raise GomeaBnError(f"edges must be (parent, child) pairs of names, got {edges!r:.80}.")
    listed = []
    for edge in edges:
        if (
            isinstance(edge, str)
            or not isinstance(edge, Sequence)
            or len(edge) != 2
            or not all(isinstance(end, str) for end in edge)
        ):
            raise GomeaBnError(f"An edge must be a pair of names (parent, child), got {edge!r:.80}.")
        listed.append((str(edge[0]), str(edge[1])))
    return listed


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _rebuild(
    kind: type[ExpertNetwork],
    names: tuple[str, ...],
    edges: tuple[tuple[str, str], ...],
    cut_points: dict[str, NDArray[np.float64]],
    network: DiscretizedBayesNet | None,
) -> ExpertNetwork:
    """Return an expert's network from its copied parts, checked again."""
    return kind(names, edges, cut_points=cut_points, network=network)
