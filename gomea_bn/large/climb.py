"""Improvement of a network on all rows: the best move among single edges and the cuts of single columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.large.available import available_score, available_terms, counts_of_term
from gomea_bn.large.counts import CountPlan, View
from gomea_bn.large.grid_cuts import GridColumn, GridCuts
from gomea_bn.large.known_scores import BestCuts, KnownScores, families_key, family_key
from gomea_bn.large.moves import Move, SearchRules
from gomea_bn.network.graph import reachable
from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.scoring.scores import is_gain
from gomea_bn.runtime.threads import StopFlag, in_threads

__all__ = ["CellCounter", "Climb"]

# cells of the tables of one pass over the cells of all rows
_CELLS_OF_PASS = 2**24
# a table by cells with more entries is not counted, so that its column keeps its cuts
_MOST_CELLS_OF_CUTS = 2**22

_Family = tuple[View, ...]
"""Parents in their order, then the child; or any views whose joint table is counted."""


class CellCounter(Protocol):
    """Counts families over the cells of all rows, and of a sample of them."""

    def count(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over all rows, int64 (plan.n_cells,)."""

    def count_sample(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over the rows of the sample, int64 (plan.n_cells,)."""


@dataclass
class Climb:
    """A network over cells, and the moves that improve it over all rows.

    Every pass counts the families of the network and of all its neighbours that are not known yet. Then moves are made
    in the order of their gains, as long as no earlier one of the pass has changed a family that they need.

    Parameters
    ----------
    counter : CellCounter
    known : KnownScores
        Results of counts, which are not repeated.
    coding : bytes
        Key of the cells.
    columns : sequence of GridColumn or None
        Continuous columns; None for discrete ones.
    cardinality : sequence of int
        Number of cells of every column.
    parents : list of frozenset of int
    has_missing : sequence of bool
        Columns in which values are missing; their families are scored on available cases.
    cuts : list of ndarray of shape (k,), int64
        Cuts of every continuous column as indices of boundaries; empty for discrete columns.
    rules : SearchRules
    announce : callable
        Receives a line on every pass.
    stop : StopFlag
        Ends the climb after the present pass.
    n_threads : int
        Threads that score counts.
    """

    counter: CellCounter
    known: KnownScores
    coding: bytes
    columns: Sequence[GridColumn | None]
    cardinality: Sequence[int]
    has_missing: Sequence[bool]
    parents: list[frozenset[int]]
    cuts: list[NDArray[np.int64]]
    rules: SearchRules
    announce: Callable[[str], object]
    stop: StopFlag
    n_threads: int = 1
    moves: list[Move] = field(default_factory=list)

    def view(self, v: int) -> View:
        """Return the present bins or levels of a column."""
        if self.columns[v] is None:
            return self.cells(v)
        codes = np.searchsorted(self.cuts[v], np.arange(self.cardinality[v]), side="left")
        return View.of_codes(v, codes, len(self.cuts[v]) + 1, has_missing=self.has_missing[v])

    def cells(self, v: int) -> View:
        """Return the cells of a column."""
        n_cells = self.cardinality[v]
        return View.of_codes(v, np.arange(n_cells), n_cells, has_missing=self.has_missing[v])

    def improve(self, *, edges: bool) -> float:
        """Make moves until none is left, and return what they gain in nats; without `edges` only cuts move.

        Where no single move is left, pairs are tried: a parent in place of another one, and the reversal of an edge
        with one more change of the parents at either end, unless they lose much on the sample.

        Cuts of all columns first move at once, since most of them hardly matter to each other. As soon as that lowers
        the score it is taken back, and from then on a move waits for those that concern its families.

        With missing values new cuts may change the order in which parents are judged, and so lower the score. Such
        moves are taken back and end the climb, which could go in a circle otherwise.
        """
        gained, at_once, pairs = 0.0, not edges, False
        before: tuple[float, list[NDArray[np.int64]], list[frozenset[int]], int] | None = None
        while not self.stop.flag[0]:
            moves = self._pass(edges=edges, pairs=pairs)
            score = self._total()
            if before is not None:
                if score < before[0] and (at_once or any(self.has_missing)):
                    _, self.cuts, self.parents, n_moves = before
                    del self.moves[n_moves:]
                    if not at_once:
                        break
                    at_once, before = False, None
                    continue
                gained += score - before[0]
            before = score, list(self.cuts), list(self.parents), len(self.moves)
            has_moved = bool(self._make(moves, at_once=at_once))
            if not has_moved and (pairs or not edges):
                break
            pairs = not has_moved
        return gained

    def _total(self) -> float:
        """Return the score of the network, whose families are counted, in nats."""
        total = sum(self._score(v, parents) for v, parents in enumerate(self.parents))
        return total + sum(
            column.constant(cuts)[0]
            for column, cuts in zip(self.columns, self.cuts, strict=True)
            if column is not None
        )

    def table_parents(self, v: int) -> list[int]:
        """Return the parents of a column without those that tell nothing, since one of the two has a single bin.

        Parents that the rules require stay.
        """
        several = [self.view(p).cardinality > 1 for p in range(len(self.parents))]
        return [
            p for p in sorted(self.parents[v]) if (several[p] and several[v]) or self.rules.requires(p, v)
        ]

    def family_tables(self) -> list[NDArray[np.int64]]:
        """Return the counts of the families of the network, int64 (n_codes(parent_1), ..., n_codes(child)) each."""
        families = [self._family(v, parents) for v, parents in enumerate(self.parents)]
        tables: dict[int, NDArray[np.int64]] = {}

        def keep(v: int, counts: list[NDArray[np.int64]]) -> None:
            (tables[v],) = counts

        self._count([[family] for family in families], keep)
        return [tables[v] for v in range(len(families))]

    def score(self, tables: Sequence[NDArray[np.int64]]) -> tuple[float, NDArray[np.bool_]]:
        """Return the score of the network in nats, given `family_tables`, and which columns have shaped bins."""
        total = 0.0
        is_shaped = np.zeros(len(self.parents), np.bool_)
        for v, table in enumerate(tables):
            views = self._family(v, self.parents[v])
            total += available_score(table, views, self.rules.score)
            column = self.columns[v]
            if column is not None:
                constant, is_shaped[v] = column.constant(self.cuts[v])
                total += constant
        return total, is_shaped

    def use_cells(
        self, coding: bytes, columns: Sequence[GridColumn | None], cuts: list[NDArray[np.int64]]
    ) -> None:
        """Go on with other cells, given by their key, whose boundaries contain the present cuts."""
        self.coding, self.columns, self.cuts = coding, columns, cuts
        self.cardinality = [
            n if column is None else len(column.rows)
            for n, column in zip(self.cardinality, columns, strict=True)
        ]

    def _family(self, child: int, parents: Iterable[int]) -> _Family:
        return (*(self.view(p) for p in sorted(parents)), self.view(child))

    def _pass(self, *, edges: bool, pairs: bool) -> list[Move]:
        """Count what is not known of the neighbours, and return all moves that gain, best first."""
        children = range(len(self.parents))
        neighbours = {v: self._neighbours(v, self.parents[v]) for v in children} if edges else {}
        if pairs:
            neighbours = self._promising({v: self._second_neighbours(v, neighbours[v]) for v in children})
        families = [self._family(v, self.parents[v]) for v in children]
        families += [self._family(v, parents) for v, sets in neighbours.items() for parents in sets]
        around = {v: self._around(v) for v in sorted(self.rules.recut) if self._can_recut(v)}
        n_counted = self._count_unknown(families, around)
        if n_counted:
            self.announce(f"{n_counted:,} families counted over all rows; {len(self.moves):,} moves so far.")
            self.known.section.write_if_due()
        moves = self._cut_moves(around)
        if edges:
            moves += self._edge_moves(neighbours)
        return sorted(moves, key=lambda move: (-move.gain, move.kind, move.columns))

    def _count_unknown(self, families: Sequence[_Family], around: Mapping[int, Sequence[_Family]]) -> int:
        """Score families, and find the best cuts of columns, as far as they are unknown; return how many were counted.

        `around` has the families that the cuts of a column decide.
        """
        unknown = {
            key: family for family in families if (key := self._key(family)) not in self.known.families
        }
        due = {
            key: v
            for v, of_column in around.items()
            if (key := self._keys(of_column)) not in self.known.best_cuts
        }
        keys = [*unknown, *due]
        groups: list[Sequence[_Family]] = [[family] for family in unknown.values()]
        groups += [around[v] for v in due.values()]

        def use(group: int, tables: list[NDArray[np.int64]]) -> None:
            key = keys[group]
            if key in unknown:
                self.known.families[key] = available_score(tables[0], unknown[key], self.rules.score)
                return
            v = due[key]
            cuts = self._grid_cuts(v, around[v], tables)
            self.known.best_cuts[key] = BestCuts(*cuts.best(self._limits(v), self.cuts[v]))

        self._count(groups, use)
        return sum(map(len, groups))

    def _grid_cuts(
        self, v: int, families: Sequence[_Family], tables: Sequence[NDArray[np.int64]]
    ) -> GridCuts:
        """Return the cuts of a column, given the counts of the families around it by its cells.

        The order in which parents with missing values are judged is that of the present cuts.
        """
        column = self.columns[v]
        assert column is not None
        if not any(view.has_missing for family in families for view in family):
            return GridCuts(column, [(1.0, tables[0])], [(1.0, table) for table in tables[1:]])
        starts = np.concatenate(([0], self.cuts[v] + 1))
        if self.has_missing[v]:
            starts = np.append(starts, len(column.rows))
        parts: list[list[tuple[float, NDArray[np.int64]]]] = []
        for family, table in zip(families, tables, strict=True):
            position = [view.column for view in family].index(v)
            bins = np.add.reduceat(table, starts, axis=position)
            views = [self.view(view.column) for view in family]
            terms = available_terms(bins, views, self.rules.score)
            parts.append(
                [
                    (term.weight, counts_of_term(table, family, term))
                    for term in terms
                    if position in (*term.parents, len(family) - 1)
                ]
            )
        return GridCuts(column, parts[0], [part for of_child in parts[1:] for part in of_child])

    def _neighbours(self, child: int, parents: frozenset[int]) -> list[frozenset[int]]:
        """Return the sets with one parent more or fewer that the rules allow."""
        fewer = [parents - {p} for p in sorted(parents) if not self.rules.requires(p, child)]
        if len(parents) >= self.rules.edges.max_indegree:
            return fewer
        cells = prod(self.view(v).cardinality for v in (*parents, child))
        most = self.rules.edges.max_table_cells
        return fewer + [
            parents | {p}
            for p in range(len(self.parents))
            if p != child
            and p not in parents
            and self.rules.allows(p, child)
            and cells * self.view(p).cardinality <= most
            # a column with one bin gains nothing as a parent
            and self.view(p).cardinality > 1
        ]

    def _second_neighbours(self, child: int, neighbours: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        """Return the neighbours of a child's parents, and the neighbours of those that differ by a present edge.

        A present edge either ends at the child, or leads from it to a column that becomes a parent.
        """
        parents = self.parents[child]
        sets = dict.fromkeys(neighbours)
        for near in neighbours:
            (other,) = near ^ parents
            if other in parents or child in self.parents[other]:
                sets.update(dict.fromkeys(self._neighbours(child, near)))
        sets.pop(parents, None)
        return list(sets)

    def _promising(
        self, neighbours: Mapping[int, Sequence[frozenset[int]]]
    ) -> dict[int, list[frozenset[int]]]:
        """Return the neighbours that differ by one parent, and those of the others that lose little on the sample.

        A sample of m rows shows gains and losses with an error of the order of the root of m.
        """
        keys = [
            (v, parents)
            for v, sets in neighbours.items()
            for parents in dict.fromkeys((*sets, self.parents[v]))
        ]
        families = [self._family(v, parents) for v, parents in keys]
        scores: dict[tuple[int, frozenset[int]], float] = {}
        n_rows = 0

        def use(position: int, tables: list[NDArray[np.int64]]) -> None:
            nonlocal n_rows
            n_rows = int(tables[0].sum())
            scores[keys[position]] = available_score(tables[0], families[position], self.rules.score)

        self._count([[family] for family in families], use, of_sample=True)
        most = sqrt(n_rows)
        return {
            v: [
                parents
                for parents in sets
                if len(parents ^ self.parents[v]) == 1
                or scores[v, parents] > scores[v, self.parents[v]] - most
            ]
            for v, sets in neighbours.items()
        }

    def _can_recut(self, v: int) -> bool:
        sizes = [prod(view.n_codes for view in family) for family in self._around(v)]
        return max(sizes) <= _MOST_CELLS_OF_CUTS

    def _around(self, v: int) -> list[_Family]:
        """Return the families that the cuts of a column decide, with its cells: its own, and those of its children."""
        family = (*(self.view(p) for p in sorted(self.parents[v])), self.cells(v))
        children = [c for c, parents in enumerate(self.parents) if v in parents]
        return [
            family,
            *(
                (self.cells(v), *(self.view(p) for p in sorted(self.parents[c] - {v})), self.view(c))
                for c in children
            ),
        ]

    def _cut_moves(self, around: Mapping[int, Sequence[_Family]]) -> list[Move]:
        """Return the best cuts of columns whose present cuts are worse."""
        moves = []
        for v, families in around.items():
            best = self.known.best_cuts[self._keys(families)]
            if is_gain(best.value - best.present, best.value) and not np.array_equal(best.cuts, self.cuts[v]):
                changed = {v, *(c for c, parents in enumerate(self.parents) if v in parents)}
                families_after = {c: self.parents[c] for c in sorted(changed)}
                moves.append(Move("cuts", (v,), best.value - best.present, families_after, best.cuts))
        return moves

    def _limits(self, v: int) -> CutLimits:
        """Return the limits of the cuts of a column, so that no table around it exceeds its largest size."""
        others = [prod(view.cardinality for view in family if view.column != v) for family in self._around(v)]
        limits = self.rules.limits
        most = max(int(self.rules.edges.max_table_cells // max(others)), 1)
        largest = most if limits.max_bins is None else min(limits.max_bins, most)
        return CutLimits(1, largest, limits.min_width, limits.min_bin_count)

    def _edge_moves(self, neighbours: Mapping[int, Sequence[frozenset[int]]]) -> list[Move]:
        """Return the changes of one parent set, and the reversals of an edge, that gain."""
        moves = []
        present = [self._score(v, parents) for v, parents in enumerate(self.parents)]
        for child, sets in neighbours.items():
            for parents in sets:
                gain = self._score(child, parents) - present[child]
                added, removed = sorted(parents - self.parents[child]), sorted(self.parents[child] - parents)
                if len(added) + len(removed) > 1 and not (added and removed):
                    continue
                if is_gain(gain, present[child]):
                    kind = "replace" if added and removed else "add" if added else "remove"
                    moves.append(Move(kind, (*added, *removed, child), gain, {child: parents}))
        for child, parents in enumerate(self.parents):
            for parent in sorted(parents):
                if not self.rules.allows(child, parent):
                    continue
                without = [s for s in (*neighbours[child], parents) if parent not in s]
                reversed_ = [s for s in neighbours[parent] if child in s]
                if not without or not reversed_:
                    continue
                best = max(without, key=lambda s: (self._score(child, s), sorted(s)))
                new = max(reversed_, key=lambda s: (self._score(parent, s), sorted(s)))
                gain = self._score(child, best) + self._score(parent, new) - present[child] - present[parent]
                if is_gain(gain, present[child] + present[parent]):
                    moves.append(Move("reverse", (parent, child), gain, {child: best, parent: new}))
        return moves

    def _make(self, moves: Sequence[Move], *, at_once: bool) -> int:
        """Make moves in their order, and return their number.

        Unless all are made at once, those are left out whose gain an earlier one may have changed.
        """
        n_before = len(self.moves)
        changed: set[int] = set()
        recut: set[int] = set()
        for move in moves:
            members = {v for child, parents in move.families.items() for v in (child, *parents)}
            members |= {v for child in move.families for v in self.parents[child]}
            if not at_once and (changed & set(move.families) or recut & members):
                continue
            if move.kind != "cuts" and self._makes_cycle(move):
                continue
            for child, parents in move.families.items():
                self.parents[child] = parents
            changed |= set(move.families)
            if move.cuts is not None:
                self.cuts[move.columns[0]] = move.cuts
                recut.add(move.columns[0])
            self.moves.append(move)
        return len(self.moves) - n_before

    def _makes_cycle(self, move: Move) -> bool:
        parents = [move.families.get(v, of_column) for v, of_column in enumerate(self.parents)]
        ancestors = dict(enumerate(parents))
        return any(v in reachable(ancestors, parents[v]) for v in move.families)

    def _key(self, family: Sequence[View]) -> bytes:
        return family_key(self.coding, family)

    def _keys(self, families: Sequence[_Family]) -> bytes:
        """Return the key of the families around a column, and of its present cuts."""
        of_cuts = self.view(families[0][-1].column)
        return families_key([*map(self._key, families), self._key((of_cuts,))])

    def _score(self, child: int, parents: frozenset[int]) -> float:
        """Return the score of a counted family in nats, without the inside of the bins."""
        return self.known.families[self._key(self._family(child, parents))]

    def _count(
        self,
        groups: Sequence[Sequence[_Family]],
        use: Callable[[int, list[NDArray[np.int64]]], None],
        *,
        of_sample: bool = False,
    ) -> None:
        """Count families in one pass or, where their tables are large, in several.

        Parameters
        ----------
        groups : sequence of sequence of family
            The tables of a group are in memory together.
        use : callable
            Receives the position of every group and its tables, on some thread; the tables are then released.
        of_sample : bool
            Whether the rows of the sample are counted instead of all rows.
        """
        first = 0
        while first < len(groups):
            n_cells, last = 0, first
            while last < len(groups) and (last == first or n_cells < _CELLS_OF_PASS):
                n_cells += sum(prod(view.n_codes for view in family) for family in groups[last])
                last += 1
            plan = CountPlan([family for group in groups[first:last] for family in group])
            count = self.counter.count_sample if of_sample else self.counter.count
            tables = iter(plan.tables(count(plan)))
            self.known.n_passes += not of_sample
            of_groups = {
                position: [next(tables) for _ in groups[position]] for position in range(first, last)
            }
            in_threads(lambda item: use(*item), of_groups.items(), n_threads=self.n_threads)
            first = last
