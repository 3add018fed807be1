"""Rules about a network's edges, checked for contradictions and turned into allowed gene values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option, check_integer, nearest
from gomea_bn.texts import counted, listed


@dataclass(frozen=True)
class ExpertKnowledge:
    """Rules that every learned network obeys.

    Parameters
    ----------
    required_edges, forbidden_edges : sequence of (parent, child) names
        Edges that every network has or none has; a forbidden edge may occur in the opposite direction.
    temporal_order : sequence of sequences of names
        Tiers, earliest first: no edge leads from a later tier to an earlier one. Other variables are free.
    max_indegree : int, optional
        Largest number of parents of a variable.
    max_table_cells : int
        Largest number of cells of a variable's table: its bins times its parents' bins.

    Examples
    --------
    >>> ExpertKnowledge(required_edges=[("smoker", "cough")], temporal_order=[["age"], ["smoker", "cough"]])
    ExpertKnowledge(required_edges=(('smoker', 'cough'),), forbidden_edges=(), ...)
    """

    required_edges: Sequence[tuple[str, str]] = ()
    forbidden_edges: Sequence[tuple[str, str]] = ()
    temporal_order: Sequence[Sequence[str]] = ()
    max_indegree: int | None = None
    max_table_cells: int = 1_000_000

    def __post_init__(self) -> None:
        for option in ("required_edges", "forbidden_edges"):
            object.__setattr__(self, option, _edge_list(option, getattr(self, option)))
        object.__setattr__(self, "temporal_order", _tiers(self.temporal_order))
        check_integer("max_indegree", self.max_indegree, 0, optional=True)
        # a gigabyte of counts
        check_integer("max_table_cells", self.max_table_cells, 2, 2**27)


@dataclass(frozen=True)
class EdgeRules:
    """Rules by variable index."""

    # (N, N, 3) for i < j, whether 0 = no edge, 1 = i -> j, or 2 = j -> i is allowed
    allowed: NDArray[np.bool_]
    max_indegree: int
    max_table_cells: float

    @cached_property
    def may_lead(self) -> NDArray[np.bool_]:
        """Whether an edge from a parent, in the rows, to a child, in the columns, is allowed, bool (N, N)."""
        upper = np.triu(np.ones(self.allowed.shape[:2], np.bool_), 1)
        return np.where(upper, self.allowed[:, :, 1], self.allowed[:, :, 2].T & upper.T)

    @cached_property
    def may_lack(self) -> NDArray[np.bool_]:
        """Whether two variables may have no edge, bool (N, N), symmetric."""
        upper = np.triu(np.ones(self.allowed.shape[:2], np.bool_), 1)
        return np.where(upper, self.allowed[:, :, 0], self.allowed[:, :, 0].T)

    @cached_property
    def required(self) -> NDArray[np.bool_]:
        """Whether every graph has an edge from a parent, in the rows, to a child, in the columns, bool (N, N)."""
        return np.asarray(self.may_lead & ~self.may_lack)

    @cached_property
    def is_settled(self) -> bool:
        """Whether the rules clearly allow a single graph: any further parent is forbidden or exceeds the limit."""
        is_full = self.required.sum(axis=0) >= self.max_indegree
        return bool((is_full | (self.required == self.may_lead).all(axis=0)).all())

    def addable(self, child: int, parents: Collection[int], cardinality: Sequence[float]) -> list[int]:
        """Return the variables that may be added to the parents of a child, ascending, given all cardinalities."""
        if len(parents) >= self.max_indegree:
            return []
        room = self.max_table_cells / prod(float(cardinality[k]) for k in (child, *parents))
        return [
            p
            for p in np.flatnonzero(self.may_lead[:, child]).tolist()
            if p not in parents and cardinality[p] <= room
        ]

    def violations(
        self, names: Sequence[str], edges: Iterable[tuple[int, int]], cardinality: Sequence[int]
    ) -> list[str]:
        """Return one text for every rule that a network breaks; an empty list means none."""
        present = set(edges)
        n = len(names)
        broken = []
        values = np.zeros((n, n), np.int64)
        for i, j in present:
            values[min(i, j), max(i, j)] = 1 if (min(i, j), max(i, j)) in present else 2
        is_allowed = np.take_along_axis(self.allowed, values[:, :, None], axis=2)[:, :, 0]
        for i, j in np.argwhere(np.triu(~is_allowed, 1)).tolist():
            got = ("no edge", f"{names[i]} -> {names[j]}", f"{names[j]} -> {names[i]}")[values[i, j]]
            broken.append(f"between {names[i]!r} and {names[j]!r}: {got} is not allowed")
        for child in range(n):
            parents = [i for i, j in present if j == child]
            cells = prod(float(cardinality[k]) for k in [child, *parents])
            if len(parents) > self.max_indegree:
                broken.append(f"{names[child]!r} has {len(parents)} parents, more than {self.max_indegree}")
            if cells > self.max_table_cells:
                broken.append(f"the table of {names[child]!r} has {cells:.0f} cells")
        return broken


def _tiers(order: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    parts = [order] if isinstance(order, str) or not isinstance(order, Iterable) else list(order)
    for part in parts:
        if isinstance(part, str) or not isinstance(part, Iterable):
            raise GomeaBnError(
                f"temporal_order must be a sequence of tiers, each a list of names; got {part!r}."
            )
    tiers = [tuple(tier) for tier in parts]
    counts = Counter(name for tier in tiers for name in tier)
    duplicates = sorted(str(name) for name, count in counts.items() if count > 1)
    if duplicates:
        raise GomeaBnError(
            [Option("temporal_order"), f": duplicate {listed(map(repr, duplicates), most=5)}."]
        )
    return tuple(tiers)


def _edge_list(option: str, edges: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise GomeaBnError(f"{option} must be (parent, child) pairs of names, got {edges!r}.")
    pairs = []
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Iterable) or len(tuple(edge)) != 2:
            raise GomeaBnError(f"{option} must be (parent, child) pairs of names, got {edge!r}.")
        parent, child = edge
        if parent == child:
            raise GomeaBnError([Option(option), f": {parent!r} -> {child!r} joins a column with itself."])
        pairs.append((parent, child))
    return tuple(pairs)


def _index(option: str, name: str, names: Sequence[str]) -> int:
    if name in names:
        return names.index(name)
    hint = nearest(str(name), names) or f" The columns are {listed(map(repr, names), most=10)}."
    raise GomeaBnError([Option(option), f": unknown column {name!r}.{hint}"])


def _cycle(edges: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names along a directed cycle, first name repeated at the end; empty if there is none."""
    parents: dict[str, list[str]] = {}
    for parent, child in edges:
        parents.setdefault(child, []).append(parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def edge_rules(
    knowledge: ExpertKnowledge | None,
    names: Sequence[str],
    fewest_bins: Sequence[int],
    *,
    max_indegree: int | None = None,
) -> EdgeRules:
    """Return the rules of `knowledge` for the columns `names`.

    `fewest_bins` are the smallest cardinalities of the variables; required tables have at least this size. The smaller
    one of both limits of the in-degree holds. Unknown names and rules that contradict each other raise `GomeaBnError`.
    """
    knowledge = knowledge or ExpertKnowledge()
    n = len(names)
    limits = [limit for limit in (max_indegree, knowledge.max_indegree) if limit is not None]
    limit = min([*limits, max(n - 1, 0)])
    forbidden = np.zeros((n, n), np.bool_)
    for parent, child in knowledge.forbidden_edges:
        forbidden[_index("forbidden_edges", parent, names), _index("forbidden_edges", child, names)] = True
    late = np.zeros((n, n), np.bool_)
    tiers = [[_index("temporal_order", name, names) for name in tier] for tier in knowledge.temporal_order]
    for earlier in range(len(tiers)):
        for later in range(earlier + 1, len(tiers)):
            late[np.ix_(tiers[later], tiers[earlier])] = True
    required = np.zeros((n, n), np.bool_)
    for parent, child in knowledge.required_edges:
        i, j = _index("required_edges", parent, names), _index("required_edges", child, names)
        if forbidden[i, j]:
            raise GomeaBnError(f"The edge {parent!r} -> {child!r} is both required and forbidden.")
        if late[i, j]:
            reason = f": {parent!r} -> {child!r} runs against "
            raise GomeaBnError([Option("required_edges"), reason, Option("temporal_order"), "."])
        required[i, j] = True
    cycle = _cycle(knowledge.required_edges)
    if cycle:
        raise GomeaBnError([Option("required_edges"), f": {' -> '.join(cycle)} is a cycle."])
    for j in range(n):
        parents = np.flatnonzero(required[:, j]).tolist()
        if len(parents) > limit:
            reason = f": {names[j]!r} gets {counted(len(parents), 'parent')}, but "
            raise GomeaBnError([Option("required_edges"), reason, Option("max_indegree"), f" is {limit}."])
        cells = prod(float(fewest_bins[k]) for k in [j, *parents])
        if cells > knowledge.max_table_cells:
            need = (
                f"The table of {names[j]!r} needs at least {cells:.0f} cells with its required parents, but "
            )
            advice = f" is {knowledge.max_table_cells}; raise it or use fewer levels."
            raise GomeaBnError([need, Option("max_table_cells"), advice])
    banned = forbidden | late
    allowed = np.ones((n, n, 3), np.bool_)
    allowed[:, :, 0] = ~(required | required.T)
    allowed[:, :, 1] = ~(banned | required.T)
    allowed[:, :, 2] = ~(banned.T | required)
    return EdgeRules(allowed, limit, float(knowledge.max_table_cells))
