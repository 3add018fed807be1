"""Proposals of the edges of a column whose cuts are unknown, by scores over random bins of the column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.cut_sums import MOST_BINS, CutSums, Edges, without_column
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.parent_sets import ParentSets
from gomea_bn.discretization.base import Cuts
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.graph import reachable
from gomea_bn.problems.cuts.blanket import ParentSets as Graph
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.family_scorer import Family, LibraryGrowth

__all__ = ["GuidedEdges"]

# most bins of a guide: more of them have too few rows each
_MOST_GUIDE_BINS = 8
# values in the bin that a useless cut splits off; such a column has edges to any others at little cost
_MOST_USELESS_VALUES = 3
# exponents of the scores: 1 is right for a guide near the cuts of a good parent set, small ones for a poor guide
_POWERS = (0.3, 0.6, 1.0)
_LEAST_PROBABILITY = 0.01


class GuidedEdges:
    """Moves to other edges of a column, with its cuts summed out.

    The column gets random cuts, and scores over them, its guide, are the distribution of proposals. It depends neither
    on the cuts of the column nor on its edges. A proposal is accepted by the odds of the sums over the cuts, divided by
    those of the proposals. Several parents that only explain a column together come at once.

    A second guide has one useless cut, under which edges cost little. Chains stayed in such states, since all their
    edges have to go at once; the useless guide knows how likely the way back into them is.

    Parameters
    ----------
    graphs : GraphScores
    cuts : dict of int to ndarray
        Present cuts of all continuous variables.
    n_proposals : int
        Number of proposals per column of each of three kinds: of all parents, of another variable in the place of one
        parent, and of all edges.
    """

    def __init__(self, graphs: GraphScores, cuts: Cuts, n_proposals: int) -> None:
        self._graphs = graphs
        self._scorer = graphs.scorer_of_bins(cuts, LibraryGrowth(1, MOST_BINS))
        self._n_proposals = n_proposals

    def set_cuts(self, v: int, cuts: NDArray[np.float64]) -> None:
        """Set the present cuts of a column, which has been moved or drawn."""
        self._scorer.replace_first(v, cuts)

    def moved(
        self,
        v: int,
        column: SortedColumn,
        graph: Sequence[Sequence[int]],
        sums: CutSums,
        generator: np.random.Generator,
    ) -> Edges:
        """Return the edges of a column after some proposals; its cuts in the scorer are then those of a guide."""
        edges = Edges.of(graph, v)
        guide = self._guide(v, column, graph, _random_cuts(column, generator), generator)
        useless = self._guide(v, column, graph, _useless_cut(column, generator), generator)
        if guide is None or useless is None:
            return edges
        for _ in range(self._n_proposals):
            parents = guide.drawn_parents(edges.children, generator)
            edges = _accepted(
                edges, Edges(parents, edges.children), guide.log_odds_of_parents, sums, generator
            )
            swapped = guide.drawn_swap(edges, generator)
            edges = _accepted(edges, swapped, guide.log_odds_of_swap, sums, generator)
        for _ in range(self._n_proposals):
            # one guide proposes, and the other one would propose the way back: they suit different cuts
            forth, back = (guide, useless) if generator.random() < 0.5 else (useless, guide)

            def log_odds(edges: Edges, proposed: Edges, forth: _Guide = forth, back: _Guide = back) -> float:
                return forth.log_probability(proposed) - back.log_probability(edges)

            edges = _accepted(edges, forth.drawn(generator), log_odds, sums, generator)
        return edges

    def _guide(
        self,
        v: int,
        column: SortedColumn,
        graph: Sequence[Sequence[int]],
        cuts: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> _Guide | None:
        """Return a distribution of proposals by cuts of a column; None if required edges make its tables too large."""
        self._scorer.replace_first(v, cuts)
        graphs = self._graphs.scored_by(self._scorer)
        others = without_column(graph, v)
        power = float(generator.choice(_POWERS))
        try:
            sets, children = graphs.parent_sets_of(v), _child_probabilities(graphs, v, others, power)
        except GomeaBnError:
            return None
        return _Guide(v, others, sets, children, power)


class _Guide:
    """A distribution of the edges of a column.

    Parameters
    ----------
    v : int
        The column.
    others : list of list of int
        Parents of every variable without the edges of the column.
    sets : ParentSets
        Parent sets of the column, scored by its random cuts.
    children : ndarray of shape (n_variables,), float64
        Probability of every variable to be a child; 0 and 1 where rules or limits leave no choice.
    power : float
        Exponent of the scores.
    """

    def __init__(
        self,
        v: int,
        others: list[list[int]],
        sets: ParentSets,
        children: NDArray[np.float64],
        power: float,
    ) -> None:
        self._v, self._sets, self._children = v, sets, children
        self._below = dict(enumerate(Graph(others).children))
        self._log_weights = power * (sets.scores - sets.scores[0])
        self._given_children: dict[frozenset[int], NDArray[np.float64]] = {}

    def drawn(self, generator: np.random.Generator) -> Edges:
        """Return children that are drawn independently of each other, and parents given them."""
        is_child = generator.random(len(self._children)) < self._children
        children = frozenset(np.flatnonzero(is_child).tolist())
        return Edges(self.drawn_parents(children, generator), children)

    def drawn_parents(self, children: frozenset[int], generator: np.random.Generator) -> frozenset[int]:
        """Return parents that close no cycle with the children."""
        probabilities = self._parent_probabilities(children)
        if not probabilities.any():
            return frozenset()
        return self._members(int(generator.choice(len(probabilities), p=probabilities)))

    def drawn_swap(self, edges: Edges, generator: np.random.Generator) -> Edges:
        """Return edges with another variable in the place of a uniform parent; the same ones without a parent."""
        if not edges.parents:
            return edges
        rest = edges.parents - {int(generator.choice(sorted(edges.parents)))}
        members = self._sets.members
        is_near = members[:, sorted(rest)].all(axis=1) & (members.sum(axis=1) == len(edges.parents))
        probabilities = np.where(is_near, self._parent_probabilities(edges.children), 0.0)
        total = probabilities.sum()
        if total == 0.0:
            return edges
        parents = self._members(int(generator.choice(len(probabilities), p=probabilities / total)))
        return Edges(parents, edges.children)

    def log_odds_of_parents(self, edges: Edges, proposed: Edges) -> float:
        """Return ln of the odds of two parent sets given the same children; inf if the first is never proposed."""
        probabilities = self._parent_probabilities(edges.children)
        before = probabilities[self._position(edges.parents)].sum()
        after = probabilities[self._position(proposed.parents)].sum()
        return float(np.log(after) - np.log(before)) if before > 0.0 else np.inf

    # both sets are proposed among the same neighbours, so that their sums cancel out
    log_odds_of_swap = log_odds_of_parents

    def log_probability(self, edges: Edges) -> float:
        """Return ln of the probability to draw edges."""
        of_parents = self._parent_probabilities(edges.children)[self._position(edges.parents)].sum()
        is_child = np.zeros(len(self._children), np.bool_)
        is_child[list(edges.children)] = True
        of_children = np.where(is_child, self._children, 1.0 - self._children)
        with np.errstate(divide="ignore"):
            return float(np.log(of_parents) + np.log(of_children).sum())

    def _members(self, position: int) -> frozenset[int]:
        return frozenset(np.flatnonzero(self._sets.members[position]).tolist())

    def _position(self, parents: frozenset[int]) -> NDArray[np.int64]:
        """Return the position of a parent set; none if it is not allowed."""
        wanted = np.zeros(len(self._children), np.bool_)
        wanted[list(parents)] = True
        is_same = np.asarray(self._sets.members == wanted)
        return np.flatnonzero(is_same.all(axis=1))

    def _parent_probabilities(self, children: frozenset[int]) -> NDArray[np.float64]:
        """Return the probability of every parent set given the children; 0 for all if each closes a cycle."""
        if children not in self._given_children:
            descendants = list(reachable(self._below, [self._v, *children]))
            fits = np.asarray(~self._sets.members[:, descendants].any(axis=1))
            weights = np.zeros(fits.shape)
            if fits.any():
                weights[fits] = np.exp(self._log_weights[fits] - self._log_weights[fits].max())
                weights /= weights.sum()
            self._given_children[children] = weights
        return self._given_children[children]


def _accepted(
    edges: Edges,
    proposed: Edges,
    log_odds: Callable[[Edges, Edges], float],
    sums: CutSums,
    generator: np.random.Generator,
) -> Edges:
    """Return proposed edges, or the present ones if they are not accepted.

    `log_odds` returns ln of the probability to propose the second edges, divided by that of the way back.
    """
    if proposed == edges:
        return edges
    odds = log_odds(edges, proposed)
    # rules may forbid what a guide proposes, or a guide may never propose the way back
    if not np.isfinite(odds):
        return edges
    return proposed if np.log(generator.random()) < sums.gain(edges, proposed) - odds else edges


def _random_cuts(column: SortedColumn, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return random cuts of a column."""
    n = len(column.cuts)
    n_cuts = int(generator.integers(1, min(_MOST_GUIDE_BINS, n + 1)))
    return column.cuts[np.sort(generator.choice(n, n_cuts, replace=False))]


def _useless_cut(column: SortedColumn, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return one cut that splits a few values off."""
    n = len(column.cuts)
    rank = int(generator.integers(min(_MOST_USELESS_VALUES, n)))
    return column.cuts[[rank if generator.random() < 0.5 else n - 1 - rank]]


def _child_probabilities(
    graphs: GraphScores, v: int, others: list[list[int]], power: float
) -> NDArray[np.float64]:
    """Return the probability of every variable to be proposed as a child of a column under its present bins."""
    probabilities = np.zeros(len(others))
    free = []
    for w, parents in enumerate(others):
        if w != v and graphs.is_required(v, w):
            probabilities[w] = 1.0
        elif w != v and graphs.allows(v, w) and len(parents) < graphs.rules.max_indegree:
            free.append(w)
    parents_of = [(w, [*others[w], *more]) for w in free for more in ([], [v])]
    families = [Family((w, 0), tuple((p, 0) for p in parents)) for w, parents in parents_of]
    scores = graphs.scorer.score(families, use_cache=False)
    gains = scores[1::2] - scores[::2]
    odds = np.exp(np.clip(power * gains, -30.0, 30.0))
    probabilities[free] = np.clip(odds / (1.0 + odds), _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
    return probabilities
