"""Parent pricing: parent sets that improve a network enter libraries, and variables move to other places in an order.

The search is column generation with GOMEA as the master problem, as it is for cuts. Sets of parents one edge away from
those of a good network are scored, and a local search moves one variable at a time to another position in an order of
the variables, where every variable has the best set of its library without later variables. This neighbourhood is that
of MINOBS (Lee and van Beek 2017). Graphs of many variables are first improved by moves of whole chains of variables:
one variable gets its best set, and all that this displaces get their best remaining ones. Where variables determine
each other in both directions, no move of a single one turns a chain of edges round: all of them have to move at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.base import Refiner, ValuesInUse
from gomea_bn.problems.kernels.insertion import OrderWork, ParentSetTable, choose_sets, move_chain, reinsert
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scoring.family_scorer import FamilyScorer
from gomea_bn.problems.scoring.scores import is_gain, rounding

Parents = tuple[int, ...]
Arc = tuple[int, int]


def arcs_of(sets: Sequence[Parents]) -> list[Arc]:
    """Return the arcs (parent, child) of the parents of every variable."""
    return [(parent, v) for v, of_variable in enumerate(sets) for parent in of_variable]


def random_order(parents: Sequence[Iterable[int]], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of the variables in which parents come before their children."""
    return ranked_order(parents, generator.permutation(len(parents)))


def ranked_order(parents: Sequence[Iterable[int]], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order in which parents come before their children, otherwise the lowest rank (0 to n - 1) first."""
    n = len(parents)
    rank = ranks.tolist()
    variable = np.argsort(ranks).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    n_waiting = [0] * n
    for v, of_variable in enumerate(parents):
        for parent in of_variable:
            children[parent].append(v)
            n_waiting[v] += 1
    ready = [rank[v] for v in range(n) if not n_waiting[v]]
    heapify(ready)
    order = []
    while ready:
        v = variable[heappop(ready)]
        order.append(v)
        for child in children[v]:
            n_waiting[child] -= 1
            if not n_waiting[child]:
                heappush(ready, rank[child])
    return np.array(order, np.int64)


@dataclass(eq=False)
class ChainSearch:
    """Moves of chains in orders of the variables, where every variable has its best set without later variables.

    `depths` are numbers of generations of ancestors that get their best sets too; every variable is moved with each of
    them. `is_stopped` is asked before every move.
    """

    table: ParentSetTable
    depths: Sequence[int]
    is_stopped: Callable[[], bool]

    def improved(self, work: OrderWork, generator: np.random.Generator) -> OrderWork:
        """Return an order, with its sets chosen, after one pass over the variables that moves chains with a gain."""
        self._choose(work)
        score = self._score(work)
        for v in generator.permutation(len(work.order)).tolist():
            for depth in self.depths:
                if self.is_stopped():
                    return work
                other = self._moved(v, depth, work)
                if other is not None and is_gain(self._score(other) - score, score):
                    work, score = other, self._score(other)
        return work

    def kicked(
        self, work: OrderWork, generator: np.random.Generator, most_idle: int, *, is_thorough: bool = True
    ) -> OrderWork:
        """Return an order after moves of chains that lose at first, each followed by moves of single variables.

        Moves that lose least come first. They end after `most_idle` kicks without a gain. With `is_thorough` all
        variables may move after every kick. Otherwise they may if the moves of those gain whose sets changed or are not
        their best ones, which takes about a fifth of the time.
        """
        self._choose(work)
        score, n_idle = self._score(work), 0
        while n_idle < most_idle and not self.is_stopped():
            gained = False
            for v, depth in self._kicks(work):
                if n_idle >= most_idle or self.is_stopped():
                    return work
                other = self._moved(v, depth, work)
                if other is None:
                    continue
                n_idle += 1
                if not is_thorough:
                    is_changed = other.chosen != work.chosen
                    other.is_changed[:] = is_changed | (other.chosen != self.table.starts[:-1])
                    reinsert(self.table, other, rounding(score), generator, True)
                if is_thorough or is_gain(self._score(other) - score, score):
                    reinsert(self.table, other, rounding(score), generator, False)
                if is_gain(self._score(other) - score, score):
                    work, score, n_idle, gained = other, self._score(other), 0, True
            if not gained:
                break
        return work

    def _kicks(self, work: OrderWork) -> list[tuple[int, int]]:
        """Return the chain moves of an order, (variable, depth), smallest loss first, one of each loss."""
        kicks: dict[float, tuple[int, int]] = {}
        for v in range(len(work.order)):
            for depth in self.depths:
                if self.is_stopped():
                    return []
                other = self._moved(v, depth, work)
                if other is not None:
                    kicks.setdefault(self._score(other), (v, depth))
        return [kicks[score] for score in sorted(kicks, reverse=True)]

    def _moved(self, v: int, depth: int, work: OrderWork) -> OrderWork | None:
        """Return the order in which a variable has its best set, None if it has it or cannot have it."""
        if work.chosen[v] == self.table.starts[v]:
            return None
        other = work._replace(order=np.empty_like(work.order), chosen=np.zeros_like(work.chosen))
        return other if move_chain(self.table, work.order, work.chosen, v, depth, other) else None

    def _choose(self, work: OrderWork) -> None:
        if not choose_sets(self.table, work):
            raise ValueError(f"No parent set in the library suits the order {work.order.tolist()}.")

    def _score(self, work: OrderWork) -> float:
        return float(self.table.scores[work.chosen].sum())


# searches for a set in a library that take about as long as an evaluation
_SCANS_PER_EVALUATION = 30
# effort of parent pricing per evaluation of the search: of 1 to 5, all serve equally well
_EFFORT_PER_EVALUATION = 2
# graphs of fewer variables reach their optimum by moves of single variables
_FEWEST_CHAINED = 100
# partners that one neighbour of a parent set may add in `ParentLibraries.widen`
_MOST_JOINED = 3
# candidates of a variable of which `ParentLibraries.enter_pairs` scores all pairs
_MOST_PAIRED = 60


class _Library:
    """Parent sets of one variable, each with its score, in the order of their entry."""

    def __init__(self) -> None:
        self.sets: list[Parents] = []
        self.scores: list[float] = []
        self.position: dict[Parents, int] = {}
        # sets whose neighbours have been scored
        self.expanded: set[Parents] = set()
        self.ranks = np.empty(0, np.int64)

    def enter(self, parents: Parents, score: float) -> None:
        if parents not in self.position:
            self.position[parents] = len(self.sets)
            self.sets.append(parents)
            self.scores.append(score)

    def score(self, parents: Parents) -> float:
        return self.scores[self.position[parents]]

    def best(self) -> Parents:
        return self.sets[int(np.argmax(self.scores))]

    def ranked(self, n_words: int) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the sets as bits and their scores, best score first, the smaller set first among equals."""
        members = np.zeros((len(self.sets), n_words), np.uint64)
        for k, parents in enumerate(self.sets):
            for parent in parents:
                members[k, parent >> 6] |= np.uint64(1) << np.uint64(parent & 63)
        scores = np.array(self.scores)
        self.ranks = np.lexsort((np.array([len(parents) for parents in self.sets]), -scores))
        return members[self.ranks], scores[self.ranks]


class ParentLibraries:
    """Parent sets of every variable that are worth a place, in libraries that grow.

    Every variable of the scorer has one policy. `pairs` (N, N) are those that may be joined, by default all; `widen`
    adds to them. `is_late` is asked before every piece of work; `stop` is raised if no time is left. `n_scored` counts
    families scored, `n_scans` searches for a set in a library.
    """

    def __init__(
        self,
        scorer: FamilyScorer,
        rules: EdgeRules,
        pairs: NDArray[np.bool_] | None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.scorer = scorer
        self.rules = rules
        self.is_late = is_late
        n = len(scorer.variables)
        may = rules.may_lead
        must = may & ~rules.may_lack
        self.required = [set(np.flatnonzero(must[:, v]).tolist()) for v in range(n)]
        self._may = may
        self.pairs = np.ones((n, n), np.bool_) if pairs is None else pairs.copy()
        self._candidates = [np.flatnonzero(may[:, v] & self.pairs[:, v]) for v in range(n)]
        self._cardinality = scorer.rows.cardinality[scorer.view_offset[:-1]].astype(np.float64)
        self._libraries = [_Library() for _ in range(n)]
        self._words = -(-n // 64)
        self._ranked: list[tuple[NDArray[np.uint64], NDArray[np.float64]] | None] = [None] * n
        self.n_scored = 0
        self.n_scans = 0
        for v, required in enumerate(self.required):
            self.enter(v, tuple(sorted(required)))

    @property
    def effort(self) -> float:
        """Number of evaluations that take about as long as the work so far."""
        return self.n_scored + self.n_scans / _SCANS_PER_EVALUATION

    def _scores(self, v: int, sets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of a variable with parent sets of one size, (n_sets, size), members in increasing order."""
        offset = self.scorer.view_offset
        views = np.column_stack([offset[sets], np.full(len(sets), offset[v])]).astype(np.int64)
        ends = np.arange(0, views.size + 1, views.shape[1], dtype=np.int64)
        self.n_scored += len(sets)
        return self.scorer.score_encoded(ends, views.ravel())

    def enter(self, v: int, parents: Parents) -> None:
        """Put a parent set, members in increasing order, into the library of a variable if it is new."""
        library = self._libraries[v]
        if parents not in library.position:
            library.enter(parents, float(self._scores(v, np.array([parents], np.int64))[0]))
            self._ranked[v] = None

    def score(self, sets: Sequence[Parents]) -> float:
        """Return the score of the parents of every variable in nats; they are in its library."""
        return sum(library.score(parents) for library, parents in zip(self._libraries, sets, strict=True))

    def expand(self, v: int, parents: Parents) -> bool:
        """Enter sets with one parent less, and better ones with one more; returns whether that had not been done."""
        library = self._libraries[v]
        if parents in library.expanded:
            return False
        library.expanded.add(parents)
        score = library.score(parents)
        for parent in parents:
            if parent not in self.required[v]:
                self.enter(v, tuple(p for p in parents if p != parent))
        _, larger, scores = self._enlarged(v, parents, self._candidates[v])
        for k in np.flatnonzero(scores > score + rounding(score)).tolist():
            library.enter(tuple(larger[k].tolist()), float(scores[k]))
            self._ranked[v] = None
        return True

    def _enlarged(
        self, v: int, parents: Parents, candidates: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the candidates that may join a parent set, the larger sets, int64 (n, size + 1), and their scores."""
        cells = float(self._cardinality[[v, *parents]].prod())
        others = np.setdiff1d(candidates, parents, assume_unique=True)
        others = others[cells * self._cardinality[others] <= self.rules.max_table_cells]
        if len(parents) >= self.rules.max_indegree:
            others = others[:0]
        larger = np.column_stack([np.tile(np.array(parents, np.int64), (len(others), 1)), others])
        larger.sort(axis=1)
        return others, larger, self._scores(v, larger) if len(others) else np.empty(0)

    def _is_stopped(self, stop: NDArray[np.uint8]) -> bool:
        """Return whether `stop` is raised, after raising it if no time is left."""
        if self.is_late():
            stop[0] = 1
        return bool(stop[0])

    def enter_pairs(self, stop: NDArray[np.uint8]) -> None:
        """Score two more parents than the required ones of every variable; pairs that gain more than either enter.

        Parents that count only together are not found by adding one at a time. Of many candidates the best single ones
        are combined. Another thread may raise `stop` to end early.
        """
        for v, required in enumerate(self.required):
            if self._is_stopped(stop):
                break
            parents = tuple(sorted(required))
            if len(parents) + 2 > self.rules.max_indegree:
                continue
            single, _, scores = self._enlarged(v, parents, self._candidates[v])
            best = np.argsort(-scores, kind="stable")[:_MOST_PAIRED]
            of_single = dict(zip(single.tolist(), scores.tolist(), strict=True))
            # the first member of a pair is the better one
            pairs = np.array(list(combinations(single[best].tolist(), 2)), np.int64).reshape(-1, 2)
            cells = self._cardinality[[v, *parents]].prod() * self._cardinality[pairs].prod(axis=1)
            pairs = pairs[cells <= self.rules.max_table_cells]
            if not len(pairs):
                continue
            sets = np.column_stack([np.tile(np.array(parents, np.int64), (len(pairs), 1)), pairs])
            sets.sort(axis=1)
            without = self._libraries[v].score(parents)
            least = np.array([max(of_single[first], without) for first in pairs[:, 0].tolist()])
            of_pairs = self._scores(v, sets)
            for k in np.flatnonzero(of_pairs > least + rounding(without)).tolist():
                self._libraries[v].enter(tuple(sets[k].tolist()), float(of_pairs[k]))
            self._ranked[v] = None

    def widen(self, sets: Sequence[Parents], stop: NDArray[np.uint8]) -> bool:
        """Add pairs to `pairs` whose edge would raise the score of a graph, cycles aside; returns whether any does.

        Every variable may get one more parent, or another one in place of one. For each of these changes the best few
        parents are added. The sets of the graph are in the libraries.
        """
        joined = np.zeros_like(self.pairs)
        for v, parents in enumerate(sets):
            if self._is_stopped(stop):
                break
            outside = np.flatnonzero(self._may[:, v] & ~self.pairs[:, v])
            present = self._libraries[v].score(parents)
            fewer = [
                tuple(p for p in parents if p != other) for other in parents if other not in self.required[v]
            ]
            for kept in [parents, *fewer]:
                others, _, scores = self._enlarged(v, kept, outside)
                best = np.argsort(-scores, kind="stable")[:_MOST_JOINED]
                gaining = others[best[scores[best] > present + rounding(present)]]
                joined[v, gaining] = joined[gaining, v] = True
        self.pairs |= joined
        for v in np.flatnonzero(joined.any(axis=0)).tolist():
            self._candidates[v] = np.flatnonzero(self._may[:, v] & self.pairs[:, v])
            self._libraries[v].expanded.clear()
        return bool(joined.any())

    def _expand_all(self, sets: Iterable[Parents | None], stop: NDArray[np.uint8]) -> bool:
        """Expand one set of every variable until `stop` is raised; returns whether any had not been expanded before."""
        grew = False
        for v, parents in enumerate(sets):
            if self._is_stopped(stop):
                break
            grew |= parents is not None and self.expand(v, parents)
        return grew

    def expand_best(self, stop: NDArray[np.uint8]) -> None:
        """Expand the best set of every variable, whatever the order, until no neighbour of it scores higher."""
        for v, library in enumerate(self._libraries):
            while not self._is_stopped(stop) and self.expand(v, library.best()):
                pass

    def _unexpanded(self, v: int) -> Parents | None:
        """Return the best set of a variable whose neighbours have not been scored, None if there is none."""
        library = self._libraries[v]
        ranked = (library.sets[k] for k in library.ranks.tolist())
        return next((parents for parents in ranked if parents not in library.expanded), None)

    def table(self) -> ParentSetTable:
        """Return all sets for kernels."""
        ranked = [
            library.ranked(self._words) if of_variable is None else of_variable
            for library, of_variable in zip(self._libraries, self._ranked, strict=True)
        ]
        self._ranked = list(ranked)
        sizes = [len(scores) for _, scores in ranked]
        return ParentSetTable(
            members=np.concatenate([members for members, _ in ranked]),
            scores=np.concatenate([scores for _, scores in ranked]),
            starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        )

    def climbed(
        self, order: NDArray[np.int64], generator: np.random.Generator, stop: NDArray[np.uint8]
    ) -> list[Parents]:
        """Return the parents of every variable in the graph at which a local search from an order ends.

        Every variable has a set in its library without later variables. The last pass over the variables moved none
        with a gain, and all neighbours of the parent sets have been scored. A search that gains nothing lets the
        libraries grow by the neighbours of further sets, and begins again.
        """
        work = self._new_work(order, stop)
        gained = explored = is_over = False
        while True:
            table = self.table()
            if not choose_sets(table, work):
                raise ValueError(f"No parent set in the library suits the order {order.tolist()}.")
            size = float(np.abs(table.scores[work.chosen]).sum())
            gained |= reinsert(table, work, rounding(size), generator, False) > 0
            sets = self._chosen(table, work)
            if is_over:
                break
            grew = self._expand_all(sets, stop)
            if self._is_stopped(stop):
                # a last pass makes use of what has been scored
                is_over, work = True, work._replace(stop=np.zeros(1, np.uint8))
                continue
            if grew:
                continue
            if gained or explored:
                break
            self._expand_all([self._unexpanded(v) for v in range(len(sets))], stop)
            explored = True
        self.n_scans += int(work.n_scans[0])
        return sets

    def improved(
        self,
        order: NDArray[np.int64],
        generator: np.random.Generator,
        stop: NDArray[np.uint8],
        depths: Sequence[int] = (0,),
    ) -> list[Parents]:
        """Return the parents of every variable after moves of chains, if there are many, and of single variables."""
        if len(order) > _FEWEST_CHAINED:
            self.expand_best(stop)
            work = self.chain_search(depths, stop).improved(self._new_work(order, stop), generator)
            self.n_scans += int(work.n_scans[0])
            order = work.order
        return self.climbed(order, generator, stop)

    def kicked(
        self,
        order: NDArray[np.int64],
        generator: np.random.Generator,
        stop: NDArray[np.uint8],
        depths: Sequence[int],
        most_idle: int,
        *,
        is_thorough: bool = True,
    ) -> list[Parents]:
        """Return the parents of every variable after chain moves that lose at first, see `ChainSearch.kicked`."""
        search = self.chain_search(depths, stop)
        work = search.kicked(self._new_work(order, stop), generator, most_idle, is_thorough=is_thorough)
        self.n_scans += int(work.n_scans[0])
        return self.climbed(work.order, generator, stop)

    def chain_search(self, depths: Sequence[int], stop: NDArray[np.uint8]) -> ChainSearch:
        """Return the search by moves of chains for the present libraries; parameters as of `improved`."""
        return ChainSearch(self.table(), depths, lambda: self._is_stopped(stop))

    def _new_work(self, order: NDArray[np.int64], stop: NDArray[np.uint8]) -> OrderWork:
        """Return work space that begins with an order."""
        return OrderWork(
            order=order.copy(),
            chosen=np.zeros(len(order), np.int64),
            visits=np.zeros(len(order), np.int64),
            is_changed=np.zeros(len(order), np.uint8),
            previous=np.zeros(len(order), np.int64),
            before=np.zeros(self._words, np.uint64),
            reached=np.zeros(self._words, np.uint64),
            stop=stop,
            n_scans=np.zeros(1, np.int64),
        )

    def _chosen(self, table: ParentSetTable, work: OrderWork) -> list[Parents]:
        """Return the parents of every variable that kernels have chosen from the latest table."""
        ranks = (work.chosen - table.starts[:-1]).tolist()
        return [self.parents(v, rank) for v, rank in enumerate(ranks)]

    def state(self) -> dict[str, Any]:
        """Return the sets in the order of their entry, with 1 for those whose neighbours have been scored."""
        return {
            "counts": [self.n_scored, self.n_scans],
            "sets": [
                [[int(parents in library.expanded), *parents] for parents in library.sets]
                for library in self._libraries
            ],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned for the same variables."""
        for v, saved in enumerate(state["sets"]):
            self._libraries[v] = _Library()
            for is_expanded, *members in saved:
                self.enter(v, tuple(members))
                if is_expanded:
                    self._libraries[v].expanded.add(tuple(members))
        self.n_scored, self.n_scans = state["counts"]

    def parents(self, v: int, rank: int) -> Parents:
        """Return the parent set of a variable with a rank in the latest table, counted from the best one."""
        library = self._libraries[v]
        return library.sets[int(library.ranks[rank])]


class OrderedProblem(Protocol):
    """A problem whose genotypes are graphs."""

    @property
    def n_nodes(self) -> int:
        """Number of variables."""

    def edges(self, genotype: NDArray[np.int16]) -> list[Arc]:
        """Return the arcs (parent, child) of a genotype without cycles."""

    def genotype(self, edges: Sequence[Arc], policies: Sequence[int]) -> NDArray[np.int16]:
        """Return the genotype of arcs and of one policy index per variable."""


@dataclass(eq=False)
class ParentPricer(Refiner):
    """Improves graphs by parent sets of growing libraries and by moves in orders, until `stop` is raised."""

    problem: OrderedProblem
    libraries: ParentLibraries
    stop: NDArray[np.uint8]

    def affordable(self, n_eval: int) -> bool:
        """Return whether the work so far is in proportion to `n_eval` evaluations."""
        return self.libraries.effort <= _EFFORT_PER_EVALUATION * n_eval

    def state(self) -> dict[str, Any]:
        """Return the libraries."""
        return self.libraries.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned."""
        self.libraries.restore(state)

    def improved(
        self, genotype: NDArray[np.int16], generator: np.random.Generator, in_use: ValuesInUse
    ) -> NDArray[np.int16]:
        """Return the graph of a good order near that of a genotype; `in_use` plays no part."""
        n = self.problem.n_nodes
        parents: list[list[int]] = [[] for _ in range(n)]
        for parent, child in self.problem.edges(genotype):
            parents[child].append(parent)
        for v, of_variable in enumerate(parents):
            self.libraries.enter(v, tuple(sorted(of_variable)))
        sets = self.libraries.improved(random_order(parents, generator), generator, self.stop)
        return self.problem.genotype(arcs_of(sets), [0] * n)
