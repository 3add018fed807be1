"""Slow plain-Python twins of the search for several objectives, and small problems to run them on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from checkpoint_examples import without_seconds
from numpy.typing import NDArray
from oracles import Draws, is_acyclic, random_knowledge, random_variables
from search_examples import journal_of, unevaluated

from gomea_bn.operators.archive import canonical
from gomea_bn.operators.front_mixing import ALL, WEIGHTED
from gomea_bn.problems import (
    FrontProblem,
    Solution,
    edge_rules,
    evaluate,
    evaluate_partial,
    set_gene,
    smoothed_scorer,
    undo,
)
from gomea_bn.problems.front_problem import ExpertSample
from gomea_bn.runtime import Result

Point = tuple[float, ...]
# genotype -> (repaired genotype, objectives, violation)
Evaluate = Callable[[NDArray[np.int16]], tuple[NDArray[np.int16], Point, float]]


def dominates(f: Sequence[float], g: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(f, g, strict=True)) and tuple(f) != tuple(g)


# ---------------------------------------------------------------- clusters


def slow_clusters(
    objectives: Sequence[Sequence[float]], k: int, generator: np.random.Generator
) -> tuple[list[list[int]], list[int]]:
    """Members of balanced clusters, and a cluster for every solution, by lists and loops."""
    n, m = len(objectives), len(objectives[0])
    if k == 1:
        return [list(range(n))], [0] * n
    low = [min(row[j] for row in objectives) for j in range(m)]
    span = [max(row[j] for row in objectives) - low[j] or 1.0 for j in range(m)]
    points = [[(row[j] - low[j]) / span[j] for j in range(m)] for row in objectives]

    def distance(p: Sequence[float], q: Sequence[float]) -> float:
        return math.sqrt(sum((a - b) * (a - b) for a, b in zip(p, q, strict=True)))

    def mean(rows: Sequence[int]) -> list[float]:
        return [sum(points[i][j] for i in rows) / len(rows) for j in range(m)]

    axis = int(generator.integers(m))
    leaders = [max(range(n), key=lambda i: points[i][axis])]
    while len(leaders) < k:
        leaders.append(max(range(n), key=lambda i: min(distance(points[i], points[s]) for s in leaders)))
    centres = [points[i] for i in leaders]
    shift = math.inf
    while shift > 1e-10:
        owner = [min(range(k), key=lambda c: distance(p, centres[c])) for p in points]
        lonely = max(range(n), key=lambda i: min(distance(points[i], c) for c in centres))
        owned = [[i for i in range(n) if owner[i] == c] for c in range(k)]
        moved = [mean(rows) if rows else points[lonely] for rows in owned]
        shift = sum(distance(a, b) for a, b in zip(moved, centres, strict=True))
        centres = moved
    clusters = []
    for c in range(k):
        by_distance = sorted(
            range(n), key=lambda i: 0.0 if owner[i] == c else distance(points[i], centres[c])
        )
        clusters.append(sorted(by_distance[: max(1, 2 * n // k)]))
    centres = [mean(rows) for rows in clusters]
    draws = generator.random((n, k))
    chosen = []
    for i in range(n):
        holders = [c for c in range(k) if i in clusters[c]]
        if holders:
            chosen.append(max(holders, key=lambda c: draws[i, c]))
        else:
            chosen.append(min(range(k), key=lambda c: distance(points[i], centres[c])))
    return clusters, chosen


def slow_extremes(
    objectives: Sequence[Sequence[float]], clusters: Sequence[Sequence[int]], generator: np.random.Generator
) -> list[int]:
    """The objective of every extreme cluster, ALL for the others."""
    objectives_of = [ALL] * len(clusters)
    for objective in generator.permutation(len(objectives[0])).tolist():
        free = [c for c in range(len(clusters)) if objectives_of[c] == ALL]
        if len(free) > 1:
            means = {c: sum(objectives[i][objective] for i in clusters[c]) / len(clusters[c]) for c in free}
            objectives_of[min(free, key=means.__getitem__)] = objective
    return objectives_of


# ---------------------------------------------------------------- archive


@dataclass(eq=False)
class Member:
    genotype: tuple[int, ...]
    f: Point


class SlowArchive:
    """Members in a list, of which the last takes the place of one that goes; without a grid, for one block."""

    def __init__(self, m: int) -> None:
        self.members: list[Member] = []
        self.best: list[Member | None] = [None] * m
        self.additions = 0

    def standing(self, genotype: tuple[int, ...], f: Point) -> str:
        if any(member.genotype == genotype for member in self.members):
            return "known"
        if any(dominates(member.f, f) for member in self.members):
            return "dominated"
        return "same" if any(member.f == f for member in self.members) else "added"

    def _nearest(self, genotype: tuple[int, ...], except_for: Member) -> int:
        others = [member.genotype for member in self.members if member is not except_for]
        return min((sum(a != b for a, b in zip(genotype, g, strict=True)) for g in others), default=99)

    def offer(self, genotype: tuple[int, ...], f: Point, exchange: bool) -> str:
        became = self.standing(genotype, f)
        if became == "same" and exchange:
            holder = next(member for member in self.members if member.f == f)
            if self._nearest(genotype, holder) > self._nearest(holder.genotype, holder):
                holder.genotype = genotype
                return "exchanged"
        if became != "added":
            return became
        k = 0
        while k < len(self.members):
            if dominates(f, self.members[k].f):
                gone, last = self.members[k], self.members.pop()
                if gone is not last:
                    self.members[k] = last
                self.best = [None if member is gone else member for member in self.best]
            else:
                k += 1
        self.members.append(Member(genotype, f))
        self.additions += 1
        for j, member in enumerate(self.best):
            if member is None or f[j] < member.f[j]:
                self.best[j] = self.members[-1]
        assert len(self.members) < 64, "the compiled archive would begin a second block"
        return "added"

    def merge(self, finds: SlowArchive) -> None:
        for member in finds.members:
            self.offer(member.genotype, member.f, exchange=True)


# ---------------------------------------------------------------- variation


@dataclass
class SlowSolution:
    genotype: NDArray[np.int16]
    objectives: Point
    violation: float


@dataclass
class SlowClusters:
    of_solution: list[int]
    objective: list[int]
    members: list[list[int]]
    subsets: list[list[list[int]]]  # of every cluster


@dataclass
class SlowSearch(Draws):
    """One block of solutions, each candidate evaluated in full; draws from the generator as the kernels do."""

    evaluate: Evaluate
    alphabet: list[int]
    ordinal: list[bool]
    allowed: NDArray[np.bool_]
    archive: SlowArchive
    finds: SlowArchive
    generator: np.random.Generator
    immediate: bool = False
    stalled: bool = False
    forced: bool = False
    climbs: bool = False
    search_donors: bool = False
    weighted: bool = False
    scale: Sequence[float] = ()
    weights: list[float] = field(default_factory=list)
    clusters: SlowClusters = field(default_factory=lambda: SlowClusters([], [], [], []))
    n_eval: int = 0
    last_addition: int = 0

    def offer(self, solution: SlowSolution, exchange: bool = True) -> str:
        if solution.violation > 0:
            return "infeasible"
        genotype = tuple(solution.genotype.tolist())
        f = tuple(canonical(value) for value in solution.objectives)
        if self.immediate:
            became = self.archive.offer(genotype, f, exchange)
        else:
            became = self.archive.standing(genotype, f)
            if became not in ("known", "dominated"):
                outcome = self.finds.offer(genotype, f, exchange)
                if outcome == "dominated":
                    became = outcome
                elif outcome != "added":
                    became = "same"
        if became == "added":
            self.last_addition = self.n_eval
        return became

    def initialise(self, genotype: NDArray[np.int16]) -> SlowSolution:
        solution = SlowSolution(*self.evaluate(genotype))
        self.n_eval += 1
        self.offer(solution, exchange=False)
        if self.climbs:
            solution = self.climb(solution, WEIGHTED)
        return solution

    def draw_weights(self) -> None:
        shares = [-math.log(1.0 - self.generator.random()) for _ in self.scale]
        self.weights = [w * (s / sum(shares)) for w, s in zip(shares, self.scale, strict=True)]

    def decisive(self, f: Sequence[float], objective: int) -> float:
        if objective == WEIGHTED:
            return sum(w * value for w, value in zip(self.weights, f, strict=True))
        return f[objective]

    def step(
        self, solution: SlowSolution, candidate: NDArray[np.int16], objective: int, strict: bool
    ) -> tuple[SlowSolution, bool]:
        """What is kept, and whether its genotype is another one."""
        new = SlowSolution(*self.evaluate(candidate))
        self.n_eval += 1
        became = self.offer(new)
        old_f = [canonical(value) for value in solution.objectives]
        new_f = [canonical(value) for value in new.objectives]
        if new.violation != solution.violation:
            accepted = new.violation < solution.violation
        elif objective != ALL:
            now, before = self.decisive(new_f, objective), self.decisive(old_f, objective)
            accepted = now < before or (now == before and not strict)
        else:
            no_worse = all(a <= b for a, b in zip(new_f, old_f, strict=True))
            accepted = dominates(new_f, old_f) or became == "added" or (no_worse and not strict)
            accepted |= not strict and new.violation == 0 and became != "dominated"
        return (new, bool((new.genotype != solution.genotype).any())) if accepted else (solution, False)

    def vary(self, i: int, solution: SlowSolution, parents: NDArray[np.int16]) -> SlowSolution:
        cluster = self.clusters.of_solution[i]
        objective, subsets = self.clusters.objective[cluster], self.clusters.subsets[cluster]
        changed, mixing = False, objective
        if objective == ALL and self.weighted:
            mixing = WEIGHTED
            self.draw_weights()
        for k in self.shuffled(range(len(subsets))):
            members = self.clusters.members[cluster]
            if self.search_donors:
                donors = [parents[members[d]] for d in self.shuffled(range(len(members)))]
            else:
                donors = [parents[members[self.below(len(members))]]]
            differing = [d for d in donors if (d[subsets[k]] != solution.genotype[subsets[k]]).any()]
            if differing:
                solution, other = self.donate(solution, differing[0], subsets[k], mixing, strict=False)
                changed |= other
        if self.forced and (self.stalled or not changed):
            solution = self.force(solution, objective, subsets)
        return self.climb(solution, WEIGHTED if objective == ALL else objective) if self.climbs else solution

    def donate(
        self,
        solution: SlowSolution,
        donor: NDArray[np.int16],
        subset: list[int],
        objective: int,
        strict: bool,
    ) -> tuple[SlowSolution, bool]:
        candidate = solution.genotype.copy()
        candidate[subset] = donor[subset]
        return self.step(solution, candidate, objective, strict)

    def donor(self, objective: int) -> Member:
        if objective == ALL:
            return self.archive.members[self.below(len(self.archive.members))]
        best = self.archive.best[objective]
        assert best is not None
        assert best.f[objective] == min(other.f[objective] for other in self.archive.members)
        return best

    def force(self, solution: SlowSolution, objective: int, subsets: list[list[int]]) -> SlowSolution:
        if not self.archive.members:
            return solution
        for k in self.shuffled(range(len(subsets))):
            donor = np.array(self.donor(objective).genotype, np.int16)
            if (donor[subsets[k]] != solution.genotype[subsets[k]]).any():
                solution, changed = self.donate(solution, donor, subsets[k], objective, strict=True)
                if changed:
                    return solution
        member = self.donor(objective)
        if tuple(solution.genotype.tolist()) == member.genotype:
            return solution
        passed = objective != ALL and canonical(solution.objectives[objective]) < member.f[objective]
        if passed and solution.violation == 0:
            return solution
        self.n_eval += 1
        return SlowSolution(*self.evaluate(np.array(member.genotype, np.int16)))

    def climb(self, solution: SlowSolution, objective: int) -> SlowSolution:
        if objective == WEIGHTED:
            self.draw_weights()
        for gene in self.shuffled(range(len(self.alphabet))):
            start = int(solution.genotype[gene])
            for allele in self.other_alleles(start, self.alphabet[gene], self.ordinal[gene]):
                if self.allowed[gene, allele]:
                    candidate = solution.genotype.copy()
                    candidate[gene] = allele
                    solution, _ = self.step(solution, candidate, objective, strict=True)
        return solution


# ---------------------------------------------------------------- problems


def full(problem: Any, genotype: NDArray[np.int16]) -> Solution:
    """A copy of a genotype, repaired and evaluated in full."""
    solution = unevaluated(problem, np.array(genotype, np.int16))
    evaluate(problem.kernel_data(1)[0], solution, journal_of(problem), np.random.default_rng(0))
    return solution


def evaluated(problem: Any, genotype: NDArray[np.int16]) -> tuple[NDArray[np.int16], Point, float]:
    """A genotype, repaired, with its objectives and violation, evaluated in full."""
    solution = full(problem, genotype)
    return solution.genotype, tuple(solution.objectives.tolist()), float(solution.violation[0])


def check_partial_evaluation(
    problem: Any, whole: Any, generator: np.random.Generator, n_changes: int
) -> None:
    """Compare parts of a walk with full evaluations by `whole` to the last bit, and undo half of its steps."""
    data, journal = problem.kernel_data(1)[0], journal_of(problem)
    solution: Any = full(problem, problem.sample(generator, 1)[0])
    for _ in range(6):
        before = [array.copy() for array in solution]
        for gene in generator.choice(problem.n_variables, n_changes, replace=False):
            set_gene(solution, journal, int(gene), int(generator.integers(problem.alphabet[gene])))
        evaluate_partial(data, solution, journal, generator)
        again: Any = full(whole, solution.genotype)
        for array_now, expected in zip(solution, again, strict=True):
            assert (array_now == expected).all()
        if generator.random() < 0.5:
            undo(solution, journal)
            for array_now, expected in zip(solution[:3], before[:3], strict=True):
                assert (array_now == expected).all()
            for array, old in zip(solution, before, strict=True):
                array[:] = old
        journal.counts[:] = 0


def network_problem(seed: int, n_objectives: int, n_nodes: int, **options: Any) -> FrontProblem:
    """Networks over a few random columns under misfit, complexity and, third, distance to an expert's sample."""
    rng = np.random.default_rng(seed)
    kinds = "".join(rng.choice(list("cd"), n_nodes))
    variables = random_variables(rng, 40, kinds)
    fewest = [v.n_levels or v.policies[0].n_bins for v in variables]
    rules = edge_rules(random_knowledge(rng, n_nodes), [v.name for v in variables], fewest)
    return FrontProblem(
        smoothed_scorer(variables, 40, 0.5),
        rules,
        ["misfit", "complexity", "expert_distance"][:n_objectives],
        expert=ExpertSample(tuple(v.values[:16] for v in variables), -1.5, np.arange(n_nodes) != 1),
        **options,
    )


# ---------------------------------------------------------------- results


def same(a: Result, b: Result) -> bool:
    return (
        a.X.tolist() == b.X.tolist()
        and a.F.tolist() == b.F.tolist()
        and (a.n_eval, a.n_eval_full, a.n_generations) == (b.n_eval, b.n_eval_full, b.n_generations)
        and without_seconds(a.history) == without_seconds(b.history)
    )


def check_front(problem: Any, result: Result) -> None:
    """What holds for every result: honest objectives, in order, feasible, none dominated, no genotype twice."""
    assert result.F.tolist() == sorted(result.F.tolist())
    assert len({tuple(x) for x in result.X.tolist()}) == len(result.X)
    assert result.extra["violation"].tolist() == [0.0] * len(result.X)
    assert result.extra["refused_by_full_archive"] == 0
    for genotype, f in zip(result.X, result.F.tolist(), strict=True):
        repaired, objectives, violation = evaluated(problem, genotype)
        assert repaired.tolist() == genotype.tolist()
        assert [canonical(value) for value in objectives] == f
        assert violation == 0
        if hasattr(problem, "edges"):
            assert is_acyclic(problem.n_nodes, problem.edges(genotype))
    for f in result.F:
        assert not any(dominates(tuple(g), tuple(f)) for g in result.F)
