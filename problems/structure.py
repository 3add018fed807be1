"""The problem of DBN-GOMEA: one ternary gene per pair of variables, one policy gene per continuous variable.

Pricers improve its solutions: by the best cuts of single variables, and by parent sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, islice, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.base import CompiledProblem, Refiner, ValuesInUse, data_digest
from gomea_bn.problems.cuts.blanket import CodedColumn, DueColumns, ParentSets
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_dp import CutProblem
from gomea_bn.problems.cuts.libraries import CodedNetwork, Pricing
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.kernels.score import CACHE_HITS, FAMILIES_SCORED
from gomea_bn.problems.kernels.structure import StructureData, StructureRules
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.parents import OrderStarts, ParentLibraries, Parents, arcs_of, random_order
from gomea_bn.problems.scores import is_gain
from gomea_bn.runtime.checkpoints import fill

# pricing one variable takes about as long as this number of evaluations
_EVALUATIONS_PER_PRICE = 200
_FREE_ROUNDS = 5
_MOST_REMEMBERED = 1 << 16
# effort of parent pricing per evaluation of the search: of 1 to 5, all serve equally well
_EFFORT_PER_EVALUATION = 2


class StructureProblem(CompiledProblem):
    """Structure and bins of a network, scored by families; minimises minus the score in nats without its constant part.

    The constant part is ``scorer.constant_score``. There is one gene per pair in the order (0,1), (0,2), ..., without
    `pairs` all N(N-1)/2 of them; then one per continuous variable with at least two policies or a library that grows,
    in column order. `alphabet` and `allowed` follow the libraries in place.

    With `random_repair` cycles are broken in random order; otherwise in the index order of the published code, which
    favours arcs of early columns. `initial_indegree` is the mean number of parents per variable in initial genotypes,
    before repair. `pricing` lets the search compute the best cuts of a solution's variables; the scorer's libraries
    must be able to grow. Variables may be joined by an edge if they are a pair of the symmetric matrix `pairs` (N, N);
    other pairs have no gene, whatever the rules allow. A search over graphs alone may begin with `first_cuts`, inner
    cuts by variable. With `prices_parents` the search moves variables in orders and lets parent sets enter libraries
    (`ParentPricer`); every variable must have a single policy. `start` has the edges of a graph from which a search
    begins; without any it begins from random graphs.
    """

    n_objectives = 1
    # other policies that one climb tries, from a library without order
    max_tries: int | None = 6
    # local search pays on networks (Orphanou et al. 2018)
    climbs = True

    def __init__(
        self,
        scorer: FamilyScorer,
        edge_rules: EdgeRules,
        *,
        random_repair: bool = True,
        initial_indegree: float = 1.0,
        pricing: Pricing | None = None,
        pairs: NDArray[np.bool_] | None = None,
        first_cuts: Mapping[int, Sequence[NDArray[np.float64]]] | None = None,
        prices_parents: bool = False,
        start: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.scorer = scorer
        self.start = list(start)
        self.first_cuts = dict(first_cuts or {})
        self.pricing = pricing
        self.prices_parents = prices_parents
        if scorer.has_curves:
            # solutions that a thread varies in one go where columns may follow curves, whose evaluations are slow
            self.solutions_per_block = 2
        self._pricer: CutPricer | None = None
        self.edge_rules = edge_rules
        self.initial_indegree = initial_indegree
        n = self.n_nodes = len(scorer.variables)
        self.n_terms = n
        self.words = (n + 63) // 64
        self.n_aux = n * self.words
        self.pairs = pairs
        first, second = np.nonzero(np.triu(np.ones((n, n), np.bool_) if pairs is None else pairs, 1))
        self.n_edge_genes = len(first)
        gene_of = np.full((n, n), -1, np.int32)
        gene_of[first, second] = gene_of[second, first] = np.arange(len(first))
        n_places = np.diff(scorer.view_offset)
        bin_variable = np.flatnonzero(n_places > 1)
        bin_gene = np.full(n, -1, np.int64)
        bin_gene[bin_variable] = self.n_edge_genes + np.arange(len(bin_variable))
        self.n_variables = self.n_edge_genes + len(bin_variable)
        self.alphabet = np.full(self.n_variables, 3, np.int64)
        self.ordinal = np.zeros(self.n_variables, np.bool_)
        self.ordinal[self.n_edge_genes :] = ~scorer.grows[bin_variable]
        self.allowed = np.zeros((self.n_variables, n_places.max(initial=3)), np.bool_)
        self.allowed[: self.n_edge_genes, :3] = edge_rules.allowed[first, second]
        for variable in bin_variable.tolist():
            self._follow_library(variable, int(bin_gene[variable]))
        # Python scalars: NumPy's are other types to the compiler, for which it would compile everything again
        self.rules = StructureRules(
            first=first.astype(np.int64),
            second=second.astype(np.int64),
            gene_of=gene_of,
            bin_gene=bin_gene,
            bin_variable=bin_variable.astype(np.int64),
            view_offset=scorer.view_offset,
            removable=np.ascontiguousarray(self.allowed[: self.n_edge_genes, 0]),
            max_indegree=int(edge_rules.max_indegree),
            max_cells=float(edge_rules.max_table_cells),
            random_order=bool(random_repair),
        )
        self._data: list[StructureData] = []

    def refiner(self, stop: NDArray[np.uint8]) -> CutPricer | ParentPricer | None:
        """Return the pricer of a run, which works until `stop` is raised; None if nothing is priced."""
        if self.prices_parents:
            return ParentPricer(self, ParentLibraries(self.scorer, self.edge_rules, self.pairs), stop)
        self._pricer = None if self.pricing is None else CutPricer(self, self.pricing, stop)
        return self._pricer

    def _follow_library(self, variable: int, gene: int) -> None:
        """Allow a policy gene the values of the policies in its variable's library."""
        first, last = self.scorer.view_offset[variable : variable + 2].tolist()
        indices = np.flatnonzero(self.scorer.rows.cardinality[first:last])
        self.allowed[gene] = False
        self.allowed[gene, indices] = True
        self.alphabet[gene] = indices[-1] + 1

    def enter_policy(self, variable: int, cut_points: NDArray[np.float64], in_use: ValuesInUse) -> int:
        """Return the value of a variable's gene for these cuts, which enter the library if they are new.

        Policies whose values are not `in_use` leave a full library; the result is -1 if all are.
        """
        scorer, gene = self.scorer, int(self.rules.bin_gene[variable])
        index = scorer.enter(variable, cut_points)
        if index < 0:
            used = set(in_use(gene).tolist())
            for k, policy in enumerate(scorer.library(variable)):
                if k and policy is not None and k not in used:
                    scorer.leave(variable, k)
            index = scorer.enter(variable, cut_points)
        self._follow_library(variable, gene)
        return index

    def enter_between_runs(
        self, variable: int, cut_points: NDArray[np.float64], in_use: Sequence[int]
    ) -> int:
        """Return the index of these cuts while no search runs; the last policy not in use leaves a full library."""
        index = self.scorer.enter(variable, cut_points)
        if index < 0:
            n_policies = len(self.scorer.library(variable))
            unused = next(k for k in range(n_policies - 1, 0, -1) if k not in in_use)
            self.scorer.leave(variable, unused)
            index = self.scorer.enter(variable, cut_points)
        if self.rules.bin_gene[variable] >= 0:
            self._follow_library(variable, int(self.rules.bin_gene[variable]))
        return index

    def set_edge_cost(self, edge_cost: float) -> None:
        """Charge edges another share of ln(N - 1), while no search runs."""
        self.scorer.set_edge_cost(edge_cost)
        self._data = [data._replace(score=self.scorer.rule) for data in self._data]

    def with_cuts(self, cuts: Mapping[int, NDArray[np.float64]]) -> StructureProblem:
        """Return the same problem in which some variables have these cuts, charged as chosen, and no genes."""
        return StructureProblem(
            self.scorer.with_cuts(cuts),
            self.edge_rules,
            random_repair=self.rules.random_order,
            initial_indegree=self.initial_indegree,
            pairs=self.pairs,
        )

    def of_tables(self, edges: Iterable[tuple[int, int]]) -> StructureProblem:
        """Return the problem of some of the given edges and any cuts, in which tables alone score families.

        Edges that the knowledge requires stay required. Both problems share their libraries of cuts, which become the
        first ones again: genotypes of this problem lose their meaning. The libraries at the end of a search would
        depend on where a clock has ended it.
        """
        possible = set(edges)
        allowed = np.zeros_like(self.edge_rules.allowed)
        allowed[:, :, 0] = self.edge_rules.allowed[:, :, 0]
        pairs = np.zeros((self.n_nodes, self.n_nodes), np.bool_)
        for parent, child in possible:
            low, high = min(parent, child), max(parent, child)
            allowed[low, high, 1 if parent < child else 2] = True
            pairs[low, high] = pairs[high, low] = True
        return StructureProblem(
            self.scorer.without_curves(),
            replace(self.edge_rules, allowed=allowed),
            random_repair=self.rules.random_order,
            initial_indegree=self.initial_indegree,
            pricing=self.pricing,
            pairs=pairs,
            first_cuts=self.first_cuts,
        )

    def cuts(self, genotype: NDArray[np.int16]) -> dict[int, NDArray[np.float64]]:
        """Return the inner cuts of every continuous variable under a genotype, by variable."""
        return {
            v: self.scorer.policy(v, index).cut_points
            for v, index in enumerate(self.policy_indices(genotype).tolist())
            if not self.scorer.variables[v].n_levels
        }

    def families(self, genotype: NDArray[np.int16]) -> list[ScoredFamily]:
        """Return the family of every variable under a repaired genotype, by variable."""
        policies = self.policy_indices(genotype).tolist()
        parents: list[list[tuple[int, int]]] = [[] for _ in policies]
        for parent, child in self.edges(genotype):
            parents[child].append((parent, policies[parent]))
        return [ScoredFamily((v, policies[v]), tuple(of_child)) for v, of_child in enumerate(parents)]

    def follows_curves(self, genotype: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Return which families are scored by curves and not by their table, (n_nodes,).

        Where cells have a price, curves may be chosen that score less than the table without it.
        """
        families = self.families(genotype)
        return np.asarray(self.scorer.score(families) != self.scorer.table_scores(families))

    def idle_variables(self, genotype: NDArray[np.int16]) -> list[int]:
        """Return the variables with free cuts that are in families with curves, and in no family with a table."""
        if not self.scorer.has_curves:
            return []
        in_curves: set[int] = set()
        in_tables: set[int] = set()
        follows = self.follows_curves(genotype).tolist()
        for family, is_curve in zip(self.families(genotype), follows, strict=True):
            if family.parents:
                members = {family.child[0], *(parent for parent, _ in family.parents)}
                (in_curves if is_curve else in_tables).update(members)
        return sorted((in_curves - in_tables) & set(self.priced_variables))

    @property
    def priced_variables(self) -> list[int]:
        """Continuous variables whose libraries grow."""
        return [v for v, grows in enumerate(self.scorer.grows.tolist()) if grows]

    @property
    def max_table_cells(self) -> float:
        """Largest number of cells of a variable's table."""
        return self.rules.max_cells

    def values(self, variable: int) -> NDArray[np.float64]:
        """Return a continuous variable's values, shape (n_rows,), in the data's units."""
        return np.asarray(self.scorer.variables[variable].values, np.float64)

    def sorted_column(self, variable: int) -> CutColumn:
        """Return a continuous variable, sorted once."""
        return self.scorer.variables[variable].ranks

    def shape(self, variable: int) -> ColumnShape | None:
        """Return how a continuous variable's bins may be distributed inside; None for uniform bins only."""
        return self.scorer.variables[variable].shape

    def coded_network(self, genotype: NDArray[np.int16]) -> CodedNetwork:
        """Return the network of a genotype without cycles: its graph and the codes of all variables."""
        scorer = self.scorer
        parents: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for parent, child in self.edges(genotype):
            parents[child].append(parent)
        policies = self.policy_indices(genotype).tolist()
        network = CodedNetwork(ParentSets(parents), [], [], [])
        for v, policy in enumerate(policies):
            column, identity = self._policy_codes(v, policy)
            network.columns.append(column)
            network.identities.append(identity)
            is_discrete = scorer.variables[v].n_levels > 0
            network.cut_points.append(None if is_discrete else scorer.policy(v, policy).cut_points)
        return network

    def choose_cuts(
        self,
        variable: int,
        cut_points: NDArray[np.float64],
        genotype: NDArray[np.int16],
        network: CodedNetwork,
        in_use: ValuesInUse,
    ) -> bool:
        """Give a variable other cuts, in its genotype and network; return False if the library has no room."""
        policy = self.enter_policy(
            variable, cut_points, lambda gene: np.append(in_use(gene), genotype[gene]).astype(np.int64)
        )
        if policy < 0:
            return False
        genotype[self.rules.bin_gene[variable]] = policy
        network.columns[variable], network.identities[variable] = self._policy_codes(variable, policy)
        network.cut_points[variable] = cut_points
        return True

    def _policy_codes(self, variable: int, policy: int) -> tuple[CodedColumn, int]:
        """Return a variable's codes under a policy, and a number that no other policy has."""
        rows = self.scorer.rows
        view = int(self.scorer.view_offset[variable]) + policy
        column = CodedColumn(
            rows.codes[view],
            int(rows.cardinality[view]),
            bool(rows.has_missing[view]),
            bool(rows.is_level[view]),
        )
        # a view's key changes when another policy gets its index, unlike its number
        return column, int(rows.child_key[view])

    def kernel_data(self, n_threads: int) -> list[StructureData]:
        """Return one `StructureData` per thread; with one thread it writes to the shared cache directly."""
        scorer = self.scorer
        n, words, edges = self.n_nodes, self.words, max(self.n_edge_genes, 1)
        while len(self._data) < n_threads:
            shared, writable = scorer.cache_pair(len(self._data), n_threads)
            self._data.append(
                StructureData(
                    rules=self.rules,
                    rows=scorer.rows,
                    score=scorer.rule,
                    scratch=scorer.new_scratch(),
                    shared=shared,
                    writable=writable,
                    dirty=np.zeros(words, np.uint64),
                    todo=np.zeros(words, np.uint64),
                    seen=np.zeros(words, np.uint64),
                    remaining=np.zeros((n, words), np.uint64),
                    stack=np.zeros(n, np.int64),
                    state=np.zeros(n, np.int64),
                    roots=np.zeros(n, np.int64),
                    added_parent=np.zeros(edges, np.int64),
                    added_child=np.zeros(edges, np.int64),
                    views=np.zeros(n + 1, np.int64),
                )
            )
        pairs = [scorer.cache_pair(thread, n_threads) for thread in range(n_threads)]
        return [
            data._replace(shared=shared, writable=writable)
            for data, (shared, writable) in zip(self._data[:n_threads], pairs, strict=True)
        ]

    def chunk_ended(self, thread: int, data: StructureData) -> StructureData:
        """Return the data with room in the thread's cache; called by that thread between its kernels."""
        return data._replace(writable=self.scorer.grown_cache(thread, data.writable))

    def generation_ended(self) -> None:
        """Merge the threads' new scores into the shared cache, in thread order."""
        self.scorer.merge_caches()

    def statistics(self) -> dict[str, int]:
        """Return the numbers of families scored by counting and found in a cache, and those of the pricer."""
        counters = [data.scratch.statistics for data in self._data]
        totals = {
            "families_scored": sum(int(counter[FAMILIES_SCORED]) for counter in counters),
            "cache_hits": sum(int(counter[CACHE_HITS]) for counter in counters),
        }
        if self._pricer is not None:
            totals["variables_priced"] = self._pricer.n_priced
            totals["prices_known"] = self._pricer.n_known
            totals["policies_entered"] = self._pricer.n_entered
        return totals

    def identity(self) -> dict[str, str]:
        """Return digests of the columns, and of the rules and the score."""
        scorer = self.scorer
        columns = {f"column {v.name!r}": data_digest((v.values, v.n_levels)) for v in scorer.variables}
        rules = (
            self.edge_rules.allowed,
            self.rules.max_indegree,
            self.rules.max_cells,
            self.rules.random_order,
        )
        pairs = (self.pairs is not None, self.pairs, self.initial_indegree)
        score = (scorer.method.name, scorer.method.cut_cost, *scorer.rule, scorer.constant_score)
        return {
            **super().identity(),
            **columns,
            "rules": data_digest((*rules, *pairs)),
            "score": data_digest(score),
            **({"parents": "priced"} if self.prices_parents else {}),
        }

    def state(self) -> dict[str, Any]:
        """Return the libraries that have grown, the cost of an edge that has been learned, and the counts."""
        counts = {name: self.statistics()[name] for name in ("families_scored", "cache_hits")}
        if not self.scorer.grows.any():
            return {"counts": counts}
        libraries = self.scorer.libraries_state()
        return {
            "counts": counts,
            "edge_cost": self.scorer.method.edge_cost,
            "libraries": libraries,
            "alphabet": self.alphabet,
            "allowed": self.allowed,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in the libraries, the cost of an edge and the counts; scores are counted again where they are needed."""
        self.kernel_data(1)
        for data in self._data:
            data.scratch.statistics[:] = 0
        counter = self._data[0].scratch.statistics
        counter[FAMILIES_SCORED] = state["counts"]["families_scored"]
        counter[CACHE_HITS] = state["counts"]["cache_hits"]
        if "libraries" in state:
            if state["edge_cost"] != self.scorer.method.edge_cost:
                self.set_edge_cost(state["edge_cost"])
            self.scorer.restore_libraries(state["libraries"])
            fill(self.alphabet, state["alphabet"])
            fill(self.allowed, state["allowed"])

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        """Return `n` random genotypes, shape (n, n_variables): sparse graphs and uniform policies."""
        genotypes = np.zeros((n, self.n_variables), np.int16)
        density = min(1.0, self.initial_indegree * self.n_nodes / max(self.n_edge_genes, 1))
        allowed = self.allowed[: self.n_edge_genes, :3]
        present = (generator.random((n, self.n_edge_genes)) < density) | ~allowed[:, 0]
        reverse = generator.random((n, self.n_edge_genes)) < 0.5
        arc = np.where(reverse, 2, 1)
        arc = np.where(~allowed[:, 1], 2, arc)
        arc = np.where(~allowed[:, 2], 1, arc)
        present &= allowed[:, 1] | allowed[:, 2]
        genotypes[:, : self.n_edge_genes] = np.where(present, arc, 0)
        for gene in range(self.n_edge_genes, self.n_variables):
            values = np.flatnonzero(self.allowed[gene])
            genotypes[:, gene] = values[generator.integers(0, len(values), n)]
        return genotypes

    def edges(self, genotype: NDArray[np.int16]) -> list[tuple[int, int]]:
        """Return the arcs (parent, child) of a repaired genotype, by variable index."""
        genes = genotype[: self.n_edge_genes]
        pairs = zip(self.rules.first.tolist(), self.rules.second.tolist(), genes.tolist(), strict=True)
        return sorted((i, j) if gene == 1 else (j, i) for i, j, gene in pairs if gene)

    def policy_indices(self, genotype: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the index of every variable's policy in its library, shape (n_nodes,); 0 without a gene."""
        # the index -1 of a variable without a gene finds the appended 0
        return np.append(genotype, np.int16(0))[self.rules.bin_gene].astype(np.int64)

    def genotype(self, edges: Sequence[tuple[int, int]], policies: Sequence[int]) -> NDArray[np.int16]:
        """Return the genotype of arcs (parent, child), whose pairs have genes, and of one policy index per variable."""
        genotype = np.zeros(self.n_variables, np.int16)
        for parent, child in edges:
            gene = int(self.rules.gene_of[parent, child])
            if gene < 0:
                names = [self.scorer.variables[variable].name for variable in (parent, child)]
                raise GomeaBnError(f"The edge {names[0]!r} -> {names[1]!r} is not among the candidate pairs.")
            genotype[gene] = 1 if parent < child else 2
        for variable, gene in enumerate(self.rules.bin_gene.tolist()):
            if gene >= 0:
                genotype[gene] = policies[variable]
        return genotype


class _PricedColumn(NamedTuple):
    """What pricing found for one column: the cuts to remember, None if it gave up, and better ones than the present."""

    signature: tuple[int, ...]
    best: NDArray[np.float64] | None
    better: NDArray[np.float64] | None
    is_known: bool = False
    is_solved: bool = False


class CutPricer(Refiner):
    """Finds the best cuts of single variables in the networks of a problem.

    This is one pass over the variables of one solution, not a cycle until nothing changes: the search
    asks again for solutions that it has improved. Results are therefore remembered across solutions, by what the
    variable's Markov blanket looked like. Another thread may raise `stop` to give up.

    It counts the dynamic programmes solved (`n_priced`), the times that a variable had been priced before in the same
    neighbourhood (`n_known`), and the times that a solution got other cuts (`n_entered`).
    """

    def __init__(self, problem: StructureProblem, pricing: Pricing, stop: NDArray[np.uint8]) -> None:
        self.problem = problem
        self.pricing = pricing
        self.stop = stop
        self.movable = problem.priced_variables
        self._remembered: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self.n_priced = 0
        self.n_known = 0
        self.n_entered = 0

    def affordable(self, n_eval: int) -> bool:
        """Return whether a run of `n_eval` evaluations may price further variables: a few rounds, then one in 200."""
        return self.n_priced < _FREE_ROUNDS * len(self.movable) + n_eval / _EVALUATIONS_PER_PRICE

    def state(self) -> dict[str, Any]:
        """Return the counts, and the remembered cuts with the neighbourhoods in which they are best."""
        # numbers of policies are odd, so that 0 can stand for the -1 between them
        signatures = [[0 if part < 0 else part for part in key] for key in self._remembered]
        cuts = list(self._remembered.values())
        return {
            "counts": [self.n_priced, self.n_known, self.n_entered],
            "signatures": np.array([part for key in signatures for part in key], np.uint64),
            "signature_lengths": np.array([len(key) for key in signatures], np.int64),
            "cuts": np.concatenate([np.empty(0), *cuts]),
            "cut_lengths": np.array([len(of_key) for of_key in cuts], np.int64),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned."""
        self.n_priced, self.n_known, self.n_entered = state["counts"]
        signatures, cuts = iter(state["signatures"].tolist()), np.array(state["cuts"])
        ends = np.cumsum(state["cut_lengths"]).tolist()
        self._remembered.clear()
        for n_parts, start, end in zip(state["signature_lengths"].tolist(), [0, *ends], ends):
            variable, score, *others = islice(signatures, n_parts)
            self._remembered[variable, score, *(part or -1 for part in others)] = cuts[start:end]

    def improved(
        self, genotype: NDArray[np.int16], generator: np.random.Generator, in_use: ValuesInUse
    ) -> NDArray[np.int16]:
        """Return the genotype after pricing all variables in random order, each given the cuts of those before it.

        Variables whose cuts no score depends on keep them.
        """
        idle = self.problem.idle_variables(genotype)
        movable = [v for v in self.movable if v not in idle]
        order = generator.permutation(np.array(movable, np.int64)).tolist()
        n_scores = len(self.pricing.scores)
        score = int(generator.integers(n_scores)) if n_scores > 1 else 0
        genotype = genotype.copy()
        network = self.problem.coded_network(genotype)
        # what is forgotten on the way must not have been looked up before
        is_tight = len(self._remembered) + len(order) > _MOST_REMEMBERED
        passes = DueColumns(order, (lambda _v: set(order)) if is_tight else network.relatives, 1)
        for v, of_column in passes.solved(lambda v: self._priced(v, network, score)):
            self.n_known += of_column.is_known
            self.n_priced += of_column.is_solved
            if of_column.best is not None:
                if of_column.signature not in self._remembered and len(self._remembered) >= _MOST_REMEMBERED:
                    self._remembered.clear()
                self._remembered[of_column.signature] = of_column.best
            if self.stop[0]:
                break
            if of_column.better is not None:
                self.n_entered += self.problem.choose_cuts(v, of_column.better, genotype, network, in_use)
        return genotype

    def _priced(self, v: int, network: CodedNetwork, score: int) -> _PricedColumn:
        """Return the best cuts of a variable, and whether they are better than the present ones; changes nothing."""
        signature = (v, score, *network.signature(v))
        remembered = self._remembered.get(signature)
        present = network.cut_points[v]
        assert present is not None
        if self.stop[0]:
            return _PricedColumn(signature, None, None)
        if remembered is not None and np.array_equal(remembered, present):
            return _PricedColumn(signature, remembered, None, is_known=True)
        around = network.neighbourhood(v)
        cut_problem = CutProblem.of_rows(
            self.problem.sorted_column(v), around, self.pricing.scores[score], self.problem.shape(v)
        )
        if remembered is not None:
            # a zoomed search is exact only around its incumbent, and the present cuts may be from a better one
            if not _is_better(cut_problem, remembered, present):
                return _PricedColumn(signature, present, None, is_known=True)
            return _PricedColumn(signature, remembered, remembered, is_known=True)
        most_bins = min(
            self.pricing.limits.max_bins or MAX_CARDINALITY, around.most_bins(self.problem.max_table_cells)
        )
        if most_bins < self.pricing.limits.min_bins:
            return _PricedColumn(signature, present, None)
        best = self._solve(present, cut_problem, most_bins)
        is_other = best is not None and not np.array_equal(best, present)
        return _PricedColumn(signature, best, best if is_other else None, is_solved=True)

    def _solve(
        self, present: NDArray[np.float64], cut_problem: CutProblem, most_bins: int
    ) -> NDArray[np.float64] | None:
        """Return the best cuts by dynamic programming, the present ones if none are better; None if it gave up."""
        limits = self.pricing.limits
        # the time of a dynamic programme grows with the number of bins: many are tried only where they may pay
        few_bins = min(most_bins, 15)
        steps = sorted({few_bins, most_bins}) if len(present) < few_bins else [most_bins]
        for n_bins in steps:
            allowed = replace(limits, max_bins=n_bins)
            best = cut_problem.optimal(
                allowed, n_cells=self.pricing.n_cells, incumbent=present, stop=self.stop
            )
            if best is not None and len(best.cut_points) + 1 < n_bins:
                break
        if self.stop[0]:
            return None
        if best is None or not _is_better(cut_problem, best.cut_points, present):
            return present
        return best.cut_points


def _is_better(cut_problem: CutProblem, cuts: NDArray[np.float64], present: NDArray[np.float64]) -> bool:
    """Return whether cuts score more than the present ones, by more than rounding."""
    before = cut_problem.value(present)
    return is_gain(cut_problem.value(cuts) - before, before)


@dataclass(eq=False)
class ParentPricer(Refiner):
    """Improves graphs by parent sets of growing libraries and by moves in orders, until `stop` is raised."""

    problem: StructureProblem
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
        order = random_order(self._entered(genotype), generator)
        return self._genotype(self.libraries.improved(order, generator, self.stop))

    def from_orders(self, genotype: NDArray[np.int16], generator: np.random.Generator) -> NDArray[np.int16]:
        """Return the best graph of searches from that of a genotype and from other orders, see `OrderStarts`."""
        sets = self._entered(genotype)
        # pairs that the libraries lack have no genes
        starts = OrderStarts(self.libraries, generator, self.stop, keeps_pairs=True)
        return self._genotype(starts.improved(sets))

    def _entered(self, genotype: NDArray[np.int16]) -> list[Parents]:
        """Return the parents of every variable of a genotype, which are then in the libraries."""
        parents: list[list[int]] = [[] for _ in range(self.problem.n_nodes)]
        for parent, child in self.problem.edges(genotype):
            parents[child].append(parent)
        sets = [tuple(sorted(of_variable)) for of_variable in parents]
        for v, of_variable in enumerate(sets):
            self.libraries.enter(v, of_variable)
        return sets

    def _genotype(self, sets: Sequence[Parents]) -> NDArray[np.int16]:
        return self.problem.genotype(arcs_of(sets), [0] * len(sets))


@lru_cache(maxsize=8)
def acyclic_graphs(n: int) -> NDArray[np.int64]:
    """Return all directed acyclic graphs over n variables as sets of parents, bits, int64 (n_graphs, n)."""
    sets = [[s for s in range(1 << n) if not s >> v & 1] for v in range(n)]
    graphs = np.array(list(product(*sets)), np.int64).reshape(-1, n)
    left = np.full(len(graphs), (1 << n) - 1)
    for _ in range(n):
        for v in range(n):
            # a variable whose parents have all left leaves too
            left = np.where(graphs[:, v] & left, left, left & ~(1 << v))
    return np.asarray(graphs[left == 0], np.int64)


def allowed_graphs(problem: StructureProblem) -> NDArray[np.int64]:
    """Return the graphs of a problem with few variables that its rules and candidate pairs allow."""
    rules, n = problem.edge_rules, problem.n_nodes
    graphs = acyclic_graphs(n)
    allowed = np.ones(len(graphs), np.bool_)
    for i, j in combinations(range(n), 2):
        kinds = (graphs[:, j] >> i & 1) + 2 * (graphs[:, i] >> j & 1)
        allowed &= rules.allowed[i, j][kinds]
        if problem.pairs is not None and not problem.pairs[i, j]:
            allowed &= kinds == 0
    sizes = np.sum([graphs >> v & 1 for v in range(n)], axis=0)
    found: NDArray[np.int64] = graphs[allowed & (sizes <= rules.max_indegree).all(axis=1)]
    return found


def best_graphs(
    problem: StructureProblem, graphs: NDArray[np.int64], policies: Sequence[int], n_best: int
) -> tuple[list[list[tuple[int, int]]], int]:
    """Return the edges (parent, child) of the best of some graphs under a policy per variable, and the families scored.

    The families of all graphs are scored; tables of more cells than allowed leave theirs out.
    """
    n = len(policies)
    offsets, rows = problem.scorer.view_offset, problem.scorer.rows
    cardinality = [int(rows.cardinality[offsets[v] + k]) for v, k in enumerate(policies)]
    members: list[tuple[int, int]] = []
    families: list[ScoredFamily] = []
    for v in range(n):
        for s in np.unique(graphs[:, v]).tolist():
            parents = [p for p in range(n) if s >> p & 1]
            if prod(float(cardinality[k]) for k in (v, *parents)) <= problem.max_table_cells:
                members.append((v, s))
                families.append(ScoredFamily((v, policies[v]), tuple((p, policies[p]) for p in parents)))
    scores = np.full((n, 1 << n), -np.inf)
    if families:
        scores[tuple(np.array(members).T)] = problem.scorer.score(families)
    totals = scores[np.arange(n), graphs].sum(axis=1)
    ranked = np.argsort(-totals, kind="stable")[:n_best]
    edges = [
        [(p, v) for v in range(n) for p in range(n) if graphs[graph, v] >> p & 1]
        for graph in ranked.tolist()
        if totals[graph] > -np.inf
    ]
    return edges, len(families)
