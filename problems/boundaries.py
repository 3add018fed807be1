"""The problem of refining cut points as real genes, with the graph and the numbers of bins given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.continuous import RealProblem
from gomea_bn.problems.cuts.blanket import Neighbourhood
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.family_scorer import FamilyScorer, graph_families, new_scratch
from gomea_bn.problems.kernels.boundaries import (
    BoundaryColumns,
    BoundaryData,
    decode,
    shortfall,
)
from gomea_bn.problems.kernels.score import ScoreRule
from gomea_bn.problems.scores import ScoringMethod

Cuts = Mapping[int, NDArray[np.float64]]


class BoundaryProblem(RealProblem):
    """Cut points of all variables together; minimises minus the score in nats without its constant part.

    Every variable has one policy, whose number of bins is kept. Bins stay uniform or shaped inside as under that
    policy. Of the limits, those on width and rows count. By default the cuts of every continuous variable are
    `movable`. The genes are one per cut, variable by variable, from 0 to m - 2 for a variable of m distinct values.
    `constant_score` is the part of the score that the objective leaves out, as of `FamilyScorer`.

    A gene, rounded down, is the index i of the mid-point between the sorted distinct values i and i + 1 (Ha et al.).
    The genes of one variable are sorted when they are read. Equal cuts, which would change the number of bins, and bins
    below the limits make a solution infeasible; its violation is the sum of the shortfalls. After a change only the
    families of the variable and of its children are scored again.
    """

    def __init__(
        self,
        variables: Sequence[ScoredVariable],
        parents: Sequence[Sequence[int]],
        method: ScoringMethod,
        rule: ScoreRule,
        limits: CutLimits,
        movable: Sequence[int] | None = None,
    ) -> None:
        scorer = FamilyScorer(variables, method, rule)
        self.variables = tuple(_with_measure(variable, scorer, v) for v, variable in enumerate(variables))
        self.parents = [sorted(members) for members in parents]
        self.method = method
        self.rule = rule
        self._scorer = FamilyScorer(self.variables, method, rule)
        self.constant_score = self._scorer.constant_score
        self._given_cuts: dict[int, NDArray[np.float64]] = {
            v: variable.policies[0].cut_points
            for v, variable in enumerate(variables)
            if not variable.n_levels
        }
        chosen = self._given_cuts if movable is None else movable
        n_genes = [len(self._given_cuts[v]) if v in chosen else 0 for v in range(len(variables))]
        self.n_terms = len(variables)
        self.n_variables = sum(n_genes)
        if self.n_variables == 0:
            raise GomeaBnError("No variable has a cut point that could move.")
        self._sorted = {v: variables[v].ranks for v in self._given_cuts if n_genes[v]}
        n_cuts = [len(self._sorted[v].cuts) if n_genes[v] else 0 for v in range(len(variables))]
        members = [[*parents_of_v, v] for v, parents_of_v in enumerate(self.parents)]
        touched = [[f for f, family in enumerate(members) if v in family] for v in range(len(variables))]
        self._columns = self._boundary_columns(
            n_genes, n_cuts, limits, (*_compressed(members), *_compressed(touched))
        )
        self.lower = np.zeros(self.n_variables)
        self.upper = np.repeat(np.array(n_cuts, np.float64) - 1.0, n_genes)
        self.initial_range = (self.lower, self.upper)
        owner = np.repeat(np.arange(len(variables)), n_genes).tolist()
        together = {(a, b) for family in members for a in family for b in family}
        self.interactions: list[tuple[int, int]] | None = [
            (g, h) for g, v in enumerate(owner) for h, w in enumerate(owner) if g < h and (v, w) in together
        ]

    def _boundary_columns(
        self,
        n_genes: Sequence[int],
        n_cuts: Sequence[int],
        limits: CutLimits,
        graph: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    ) -> BoundaryColumns:
        """Return the columns for kernels, from numbers of genes and of possible cuts by variable, and the graph."""
        first_member, members, first_touched, touched = graph
        n = len(self.variables)
        interval_score = IntervalScore(self.method, self.rule)
        ranks = np.zeros((n, self._scorer.n_rows), np.int32)
        span = np.tile([0.0, 1.0], (n, 1))
        cut_cost, min_tied_width, shape_constant = np.zeros(n), np.zeros(n), np.zeros(n)
        shaped = np.zeros(n, np.bool_)
        min_width = np.full(n, float(limits.min_width))
        for v, column in self._sorted.items():
            variable = self.variables[v]
            ranks[v] = np.searchsorted(column.greatest, column.values)
            span[v] = column.low, column.high
            if self.method.cut_cost and variable.policies[0].chosen:
                cut_cost[v] = self.method.cut_cost * np.log(len(column.cuts))
            shape, n_bins = variable.shape, len(self._given_cuts[v]) + 1
            if shape is None:
                continue
            shaped[v] = shape.measures == (True,)
            if not shaped[v]:
                min_tied_width[v] = shape.resolution / (column.high - column.low)
            else:
                # what shaped bins gain depends on the order of the values alone
                min_width[v] = 0.0
                problem = CutProblem.of_rows(column, Neighbourhood(), interval_score, shape)
                shape_constant[v] = problem.shape_term(n_bins) + interval_score.weight * n_bins
        return BoundaryColumns(
            first_gene=np.concatenate(([0], np.cumsum(n_genes))).astype(np.int64),
            ranks=ranks,
            first_cut=np.concatenate(([0], np.cumsum(n_cuts))).astype(np.int64),
            cuts=np.concatenate([column.cuts for column in self._sorted.values()]),
            below=np.concatenate([column.below for column in self._sorted.values()]).astype(np.int64),
            span=span,
            cut_cost=cut_cost,
            shaped=shaped,
            row_term=interval_score.table,
            shape_constant=shape_constant,
            min_width=min_width,
            min_tied_width=min_tied_width,
            min_rows=float(limits.min_bin_count),
            first_member=first_member,
            members=members,
            first_touched=first_touched,
            touched=touched,
        )

    def kernel_data(self, n_threads: int) -> list[BoundaryData]:
        """Return one `BoundaryData` per thread, each with its own codes."""
        most = 1 + max(column.n_distinct for column in self._sorted.values())
        per_thread = []
        for _ in range(n_threads):
            rows = self._scorer.rows
            per_thread.append(
                BoundaryData(
                    columns=self._columns,
                    rows=rows._replace(codes=rows.codes.copy(), constant=rows.constant.copy()),
                    rule=self.rule,
                    scratch=new_scratch(self._scorer.n_rows, self._scorer.max_cardinality),
                    indices=np.zeros(self.n_variables, np.int64),
                    coded=np.full(self.n_variables, -1, np.int64),
                    bin_of_rank=np.zeros(most, np.uint8),
                    due=np.zeros(self.n_terms, np.uint8),
                )
            )
        return per_thread

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return uniform genotypes, shape (n, n_variables), the genes of each variable ascending."""
        genotypes = generator.uniform(self.lower, self.upper, (n, self.n_variables))
        for first, end in zip(self._columns.first_gene[:-1], self._columns.first_gene[1:]):
            genotypes[:, first:end].sort(axis=1)
        return genotypes

    def encode(self, cuts: Cuts) -> NDArray[np.float64]:
        """Return the genotype, shape (n_variables,), of cut points by variable index, each moved to its mid-point."""
        genes = []
        for v, column in self._sorted.items():
            index = np.searchsorted(column.greatest, cuts[v], side="right") - 1
            # half a step above, so that a small change in either direction leaves the index alone
            genes.append(np.minimum(index + 0.5, len(column.cuts) - 1.0))
        return np.concatenate(genes)

    def cut_points(self, genotype: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
        """Return the cut points by index of every continuous variable, ascending."""
        indices = np.zeros(self.n_variables, np.int64)
        decode(self._columns, np.asarray(genotype, np.float64), indices)
        first = self._columns.first_gene
        moved = {v: column.cuts[indices[first[v] : first[v + 1]]] for v, column in self._sorted.items()}
        return {**self._given_cuts, **moved}

    def evaluate(self, genotype: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the objective, shape (1,), and the violation of a genotype."""
        cuts = self.cut_points(genotype)
        variables = [
            variable.with_policies([Policy(cuts[v], variable.policies[0].chosen)]) if v in cuts else variable
            for v, variable in enumerate(self.variables)
        ]
        scorer = FamilyScorer(variables, self.method, self.rule)
        scores = scorer.score(graph_families(self.parents), use_cache=False)
        indices = np.zeros(self.n_variables, np.int64)
        decode(self._columns, np.asarray(genotype, np.float64), indices)
        return np.array([-scores.sum()]), float(shortfall(self._columns, indices))


def _with_measure(variable: ScoredVariable, scorer: FamilyScorer, v: int) -> ScoredVariable:
    """Return a variable whose bins are always uniform or always shaped inside, as under its policy."""
    if variable.shape is None:
        return variable
    shaped = bool(scorer.is_shaped[scorer.view(v)])
    return replace(variable, shape=replace(variable.shape, may_be_uniform=not shaped, may_be_shaped=shaped))


def _compressed(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return offsets (n_lists + 1,) and the lists' items one after the other."""
    offsets = np.concatenate(([0], np.cumsum([len(items) for items in lists])))
    return offsets.astype(np.int64), np.array([item for items in lists for item in items], np.int64)
