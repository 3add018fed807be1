"""Slow plain-Python twins of the search's kernels, and small random problems to run them on."""

import bisect
import copy
import graphlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from search_examples import journal_of, unevaluated

from gomea_bn import ExpertKnowledge
from gomea_bn.linkage import Linkage
from gomea_bn.problems import (
    FamilyScorer,
    Journal,
    ScoredFamily,
    ScoredVariable,
    Solution,
    StructureProblem,
    edge_rules,
    score_rule,
    scoring_method,
    set_gene,
    undo,
)
from gomea_bn.problems.cuts import Policy, policy_library
from gomea_bn.problems.kernels.structure import evaluate_structure, evaluate_structure_partial

SENTINEL = -77

# ---------------------------------------------------------------- cut points


def slow_equal_width(values: Sequence[float], n_bins: int) -> list[float]:
    low, high = min(values), max(values)
    cuts = [low + (high - low) * k / n_bins for k in range(1, n_bins)]
    return sorted({cut for cut in cuts if low < cut < high})


def slow_equal_frequency(values: Sequence[float], n_bins: int) -> list[float]:
    counts = sorted(Counter(values).items())
    gaps: list[tuple[int, float]] = []  # rows below the gap, its midpoint
    below = 0
    for (value, count), (following, _) in itertools.pairwise(counts):
        below += count
        gaps.append((below, value + (following - value) / 2))
    if not gaps:
        return []
    chosen = set()
    for k in range(1, n_bins):
        target = k * (len(values) / n_bins)
        chosen.add(min(gaps, key=lambda gap: (abs(gap[0] - target), gap[0])))
    return sorted(cut for _, cut in chosen)


# ---------------------------------------------------------------- family scores


def slow_view(variable: ScoredVariable, policy: int) -> tuple[list[int], int, float, int]:
    """Codes, cardinality, summed log widths on the [0, 1] scale, number of cuts that were chosen."""
    if variable.n_levels:
        return [int(v) for v in variable.values], variable.n_levels, 0.0, 0
    values = [float(v) for v in variable.values]
    chosen = variable.policies[policy]
    cuts = [float(c) for c in chosen.cut_points]
    low, high = min(values), max(values)
    edges = [low, *cuts, high]
    codes = [bisect.bisect_left(cuts, v) for v in values]
    logs = math.fsum(math.log((edges[c + 1] - edges[c]) / (high - low)) for c in codes)
    return codes, len(cuts) + 1, logs, len(cuts) if chosen.chosen else 0


def slow_family_score(
    variables: Sequence[ScoredVariable],
    family: ScoredFamily,
    method: str,
    *,
    penalty: str | float = "bic",
    prior: str = "dirichlet",
    ess: float = 1.0,
    cut_cost: float = 0.5,
    centred: bool = False,
    equivalent: bool = False,
) -> float:
    """The score of one family in nats, by counting with dictionaries and one logarithm per cell."""
    codes, r, log_widths, n_cuts = slow_view(variables[family.child[0]], family.child[1])
    views = [slow_view(variables[v], policy) for v, policy in family.parents]
    n, q = len(codes), math.prod(view[1] for view in views)
    tables: dict[tuple[int, ...], Counter[int]] = {}
    for row in range(n):
        configuration = tuple(view[0][row] for view in views)
        tables.setdefault(configuration, Counter())[codes[row]] += 1
    parts = [-log_widths]
    if method == "density-bd":
        n_gaps = max(len(set(variables[family.child[0]].values.tolist())) - 1, 1)
        parts.append(-cut_cost * n_cuts * math.log(n_gaps))
    if method in ("density-bic", "bic", "aic"):
        for table in tables.values():
            total = sum(table.values())
            parts += [count * math.log(count / total) for count in table.values()]
        named = {"bic": math.log(n) / 2, "literal": math.log(n / 2), "aic": 1.0}
        weight = named["aic" if method == "aic" else penalty] if isinstance(penalty, str) else penalty
        parts.append(-weight * q * (r - 1))
        return math.fsum(parts)
    gain = 0.0
    if centred and method == "density-bd":
        members = [*(variables[v] for v, _ in family.parents), variables[family.child[0]]]
        levels = [one.n_levels > 0 and not one.are_bins for one in members]
        if equivalent and all(levels):
            of_parents = [sum(counts.values()) for counts in tables.values()]
            cells = [count for counts in tables.values() for count in counts.values()]
            return slow_set_score(cells, q * r) - (slow_set_score(of_parents, q) if family.parents else 0.0)
        if family.parents:
            # the child alone and a Bayes factor
            gain = slow_centred_gain(tables.values())
            tables, q = {(): sum(tables.values(), Counter())}, 1
            if equivalent and levels[-1]:
                return slow_set_score(list(tables[()].values()), r) + gain
    bdeu = method == "bdeu" or (method == "density-bd" and prior == "bdeu")
    cell, row_prior = (ess / q / r, ess / q) if bdeu else (1.0, float(r))
    for table in tables.values():
        parts += [math.lgamma(cell + count) - math.lgamma(cell) for count in table.values()]
        parts.append(math.lgamma(row_prior) - math.lgamma(row_prior + sum(table.values())))
    return math.fsum([*parts, gain])


def slow_set_score(counts: Sequence[int], n_cells: int) -> float:
    """The log of the mean marginal likelihood of a joint table, over four equivalent sample sizes from 2 to .3 n."""
    n = sum(counts)
    values = []
    for power in range(4):
        size = 2 * max(0.3 * n / 2, 1.0) ** (power / 3)
        cells = math.fsum(math.lgamma(size / n_cells + c) - math.lgamma(size / n_cells) for c in counts)
        values.append(cells + math.lgamma(size) - math.lgamma(size + n))
    most = max(values)
    return most + math.log(math.fsum(math.exp(value - most) for value in values) / 4)


def slow_centred_gain(tables: Iterable[Counter[int]]) -> float:
    """The ln Bayes factor of a table against its child alone, the mean over four concentrations."""
    rows = [counts for counts in tables if sum(counts.values())]
    n, of_values = sum(sum(counts.values()) for counts in rows), sum(rows, Counter())
    alone = math.fsum(count * math.log(count / n) for count in of_values.values())
    factors = []
    for power in range(4):
        amount = 2 * max(0.3 * n / 2, 1.0) ** (power / 3)
        parts = [-alone]
        for counts in rows:
            for value, count in counts.items():
                pseudo_count = amount * of_values[value] / n
                parts.append(math.lgamma(pseudo_count + count) - math.lgamma(pseudo_count))
            parts.append(math.lgamma(amount) - math.lgamma(amount + sum(counts.values())))
        factors.append(math.fsum(parts))
    most = max(factors)
    return most + math.log(math.fsum(math.exp(factor - most) for factor in factors) / 4)


def slow_score_of_codes(
    columns: Iterable[NDArray[np.integer]],
    cards: Iterable[int],
    child: int,
    parents: Iterable[int],
    method: str,
    **options: Any,
) -> float:
    """The score of a family of discrete columns."""
    family = ScoredFamily((child, 0), tuple((parent, 0) for parent in parents))
    return slow_family_score(discrete_variables(columns, cards), family, method, **options)


# ---------------------------------------------------------------- linkage


def slow_entropy(symbols: Iterable[object]) -> float:
    counts = Counter(symbols).values()
    total = sum(counts)
    return -math.fsum(c / total * math.log2(c / total) for c in counts)


def slow_similarity(x: Sequence[int], y: Sequence[int], measure: str) -> float:
    """MI in bits, sum of p ln(p / (p p)), or that over the joint entropy."""
    n, px, py = len(x), Counter(x), Counter(y)
    pairs = Counter(zip(x, y, strict=True))
    mi = math.fsum(c / n * math.log2(c * n / (px[a] * py[b])) for (a, b), c in pairs.items())
    joint = slow_entropy(zip(x, y, strict=True))
    if measure == "mi":
        return mi
    return mi / joint if joint > 0 else 0.0


def slow_upgma(similarity: NDArray[np.float64]) -> list[tuple[frozenset[int], float]]:
    """Every merge of average linkage: always the globally best pair, by the mean over pairs of members."""
    clusters = [frozenset([g]) for g in range(len(similarity))]
    merges = []
    while len(clusters) > 1:
        best = max(
            itertools.combinations(clusters, 2),
            key=lambda pair: float(similarity[np.ix_(sorted(pair[0]), sorted(pair[1]))].mean()),
        )
        value = float(similarity[np.ix_(sorted(best[0]), sorted(best[1]))].mean())
        clusters = [c for c in clusters if c not in best] + [best[0] | best[1]]
        merges.append((best[0] | best[1], value))
    return merges


# ---------------------------------------------------------------- graphs


def is_acyclic(n: int, edges: Iterable[tuple[int, int]]) -> bool:
    sorter = graphlib.TopologicalSorter({i: set() for i in range(n)})
    for parent, child in edges:
        sorter.add(child, parent)
    try:
        sorter.prepare()
    except graphlib.CycleError:
        return False
    return True


def slow_break_cycles(n: int, edges: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """The arcs that survive: walks from children to parents in index order drop arcs onto the walk itself."""
    remaining = set(edges)
    has_children = {parent for parent, _ in remaining}
    done: set[int] = set()

    def visit(node: int, walk: tuple[int, ...]) -> None:
        for parent in sorted(p for p, c in remaining if c == node):
            if parent in walk:
                remaining.discard((parent, node))
            elif parent not in done:
                visit(parent, (*walk, parent))
        done.add(node)

    for root in sorted(range(n), key=lambda i: (i in has_children, i)):
        if root not in done:
            visit(root, (root,))
    return remaining


def slow_violations(
    knowledge: ExpertKnowledge, names: Sequence[str], edges: Iterable[tuple[int, int]], cards: Sequence[int]
) -> list[str]:
    """What a network breaks, by the words of `ExpertKnowledge`; acyclicity included."""
    listed = list(edges)
    present = {(names[i], names[j]) for i, j in listed}
    tier = {name: t for t, tier in enumerate(knowledge.temporal_order) for name in tier}
    violations = [f"lacks {edge}" for edge in knowledge.required_edges if edge not in present]
    violations += [f"has {edge}" for edge in knowledge.forbidden_edges if edge in present]
    violations += [f"tiers {i, j}" for i, j in present if i in tier and j in tier and tier[i] > tier[j]]
    for child in range(len(names)):
        parents = [i for i, j in listed if j == child]
        if knowledge.max_indegree is not None and len(parents) > knowledge.max_indegree:
            violations.append(f"in-degree of {child}")
        if math.prod(cards[v] for v in [child, *parents]) > knowledge.max_table_cells:
            violations.append(f"cells of {child}")
    if not is_acyclic(len(names), listed):
        violations.append("a cycle")
    return violations


# ---------------------------------------------------------------- variation of one solution


class Draws:
    """What the slow searches draw from their generators, as the kernels do."""

    generator: np.random.Generator

    def below(self, n: int) -> int:
        return int(self.generator.random() * n)

    def shuffled(self, values: Iterable[int]) -> list[int]:
        items = list(values)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items

    def other_alleles(self, start: int, n_values: int, ordinal: bool) -> list[int]:
        """Values that a climb tries for a gene: the neighbours or all others, from a random one on."""
        others = [start - 1, start + 1] if ordinal else [v for v in range(n_values) if v != start]
        first = self.below(len(others)) if len(others) > 1 else 0
        return [value for value in others[first:] + others[:first] if 0 <= value < n_values]


class SlowMixing(Draws):
    """One generation of a population, each candidate evaluated in full by `evaluate`, no journal, no undo.

    ``evaluate(genotype) -> (repaired genotype, objective)``. Draws from its generator as the kernels do.
    """

    def __init__(
        self,
        evaluate: Callable[[NDArray[np.int16]], tuple[NDArray[np.int16], float]],
        problem: StructureProblem,
        parents: NDArray[np.int16],
        elite: tuple[NDArray[np.int16], float],
        subsets: list[list[int]],
        generator: np.random.Generator,
        *,
        search_donors: bool,
    ) -> None:
        self.evaluate, self.problem, self.parents, self.elite = evaluate, problem, parents, elite
        self.subsets, self.generator, self.search_donors = subsets, generator, search_donors
        self.n_eval = 0

    def vary(
        self, i: int, genotype: NDArray[np.int16], value: float, *, stalled: bool, forced: bool, climb: bool
    ) -> tuple[NDArray[np.int16], float]:
        changed, strict = False, bool((genotype == self.elite[0]).all())
        order = self.shuffled(range(len(self.subsets)))
        for k in order:
            subset = self.subsets[k]
            for _ in range(4 if self.search_donors else 1):
                d = self.below(len(self.parents) - 1)
                d += d >= i
                if (self.parents[d][subset] == genotype[subset]).all():
                    continue
                new, new_value = self.exchange(genotype, value, self.parents[d], subset, strict=strict)
                changed |= bool((new != genotype).any())
                genotype, value = new, new_value
                break
        if forced and (stalled or not changed):
            genotype, value = self.force(order, genotype, value)
        return self.climb(genotype, value) if climb else (genotype, value)

    def exchange(
        self,
        genotype: NDArray[np.int16],
        value: float,
        donor: NDArray[np.int16],
        subset: list[int],
        *,
        strict: bool,
    ) -> tuple[NDArray[np.int16], float]:
        if (donor[subset] == genotype[subset]).all():
            return genotype, value
        candidate = genotype.copy()
        candidate[subset] = donor[subset]
        self.n_eval += 1
        candidate, new = self.evaluate(candidate)
        accepted = new < value if strict else new <= value
        return (candidate, new) if accepted else (genotype, value)

    def force(
        self, order: list[int], genotype: NDArray[np.int16], value: float
    ) -> tuple[NDArray[np.int16], float]:
        for k in self.shuffled(order):
            new, new_value = self.exchange(genotype, value, self.elite[0], self.subsets[k], strict=True)
            if new_value < value:
                return new, new_value
        if (genotype != self.elite[0]).any() and self.elite[1] <= value:
            self.n_eval += 1
            return self.elite[0].copy(), self.elite[1]
        return genotype, value

    def climb(self, genotype: NDArray[np.int16], value: float) -> tuple[NDArray[np.int16], float]:
        problem = self.problem
        for gene in self.shuffled(range(len(genotype))):
            alphabet, ordinal = int(problem.alphabet[gene]), bool(problem.ordinal[gene])
            for allele in self.other_alleles(int(genotype[gene]), alphabet, ordinal):
                if problem.allowed[gene, allele]:
                    candidate = genotype.copy()
                    candidate[gene] = allele
                    self.n_eval += 1
                    candidate, new = self.evaluate(candidate)
                    if new < value:
                        genotype, value = candidate, new
        return genotype, value


# ---------------------------------------------------------------- random problems


def random_variables(
    rng: np.random.Generator,
    n_rows: int,
    kinds: str,
    *,
    max_bins: int = 4,
    max_levels: int = 3,
    family: str = "equal-frequency",
) -> list[ScoredVariable]:
    """Columns v0, v1, ... that depend on a few common causes; ``kinds`` has a "c" or a "d" for each."""
    causes = rng.normal(size=(n_rows, 2))
    variables = []
    for i, kind in enumerate(kinds):
        x = causes @ rng.normal(size=2) + 0.7 * rng.normal(size=n_rows)
        if kind == "c":
            variables.append(ScoredVariable(f"v{i}", x, 0, policy_library(x, family, max_bins)))
        else:
            r = int(rng.integers(2, max_levels + 1))
            cuts = np.quantile(x, np.arange(1, r) / r)
            variables.append(ScoredVariable(f"v{i}", np.searchsorted(cuts, x).astype(np.int32), r))
    return variables


def random_knowledge(rng: np.random.Generator, n: int) -> ExpertKnowledge:
    """Rules that do not contradict each other: all of them hold in graphs along one random order."""
    order = [f"v{i}" for i in rng.permutation(n)]
    arcs = [(order[a], order[b]) for a in range(n) for b in range(a + 1, n)]
    back = [(b, a) for a, b in arcs]
    chosen = rng.permutation(len(arcs))[: rng.integers(0, n)]
    required: list[tuple[str, str]] = []
    for k in chosen:
        if sum(child == arcs[k][1] for _, child in required) < 2:
            required.append(arcs[k])
    forbidden = [arc for arc in [*arcs, *back] if arc not in required and rng.random() < 0.2]
    split = sorted(int(k) for k in rng.integers(0, n + 1, 2))
    named = [order[: split[0]], order[split[0] : split[1]], order[split[1] :]]
    return ExpertKnowledge(
        required,
        forbidden,
        [[name for name in tier if rng.random() < 0.8] for tier in named],
        max_indegree=int(rng.integers(2, 5)),
        max_table_cells=int(rng.choice([27, 60, 10**6])),
    )


def discrete_variables(columns: Iterable[NDArray[np.integer]], cards: Iterable[int]) -> list[ScoredVariable]:
    pairs = zip(columns, cards, strict=True)
    return [ScoredVariable(f"v{i}", np.asarray(c, np.int32), r) for i, (c, r) in enumerate(pairs)]


def make_scorer(
    variables: Sequence[ScoredVariable],
    method: str = "density-bic",
    *,
    penalty: str | float = "bic",
    prior: str = "dirichlet",
    ess: float = 1.0,
    centred: bool = False,
    equivalent: bool = False,
    cache_bytes: int = 1 << 26,
) -> FamilyScorer:
    chosen = scoring_method(method)
    rule = score_rule(
        chosen,
        len(variables[0].values),
        penalty=penalty,
        prior=prior,
        equivalent_sample_size=ess,
        centred=centred,
        equivalent=equivalent,
    )
    return FamilyScorer(variables, chosen, rule, cache_bytes=cache_bytes)


def make_problem(
    variables: Sequence[ScoredVariable],
    method: str = "density-bic",
    *,
    knowledge: ExpertKnowledge | None = None,
    random_repair: bool = True,
    initial_indegree: float = 1.0,
    scorer: FamilyScorer | None = None,
    pairs: NDArray[np.bool_] | None = None,
) -> StructureProblem:
    names = [v.name for v in variables]
    fewest = [v.n_levels or v.policies[0].n_bins for v in variables]
    return StructureProblem(
        scorer or make_scorer(variables, method),
        edge_rules(knowledge, names, fewest),
        random_repair=random_repair,
        initial_indegree=initial_indegree,
        pairs=pairs,
    )


def cardinalities(problem: StructureProblem, genotype: NDArray[np.int16]) -> list[int]:
    offsets = problem.scorer.view_offset[:-1] + problem.policy_indices(genotype)
    return [int(problem.scorer.rows.cardinality[v]) for v in offsets]


def broken_rules(
    problem: StructureProblem, genotype: NDArray[np.int16], knowledge: ExpertKnowledge
) -> list[str]:
    names = [v.name for v in problem.scorer.variables]
    return slow_violations(knowledge, names, problem.edges(genotype), cardinalities(problem, genotype))


def guarded_journal(problem: StructureProblem) -> tuple[Journal, Callable[[], bool]]:
    """A journal whose arrays go on behind their end, and a function that says whether they were kept."""
    plain = journal_of(problem)
    room = 2_000
    arrays, tails = [], []
    for array in plain[1:]:
        longer = np.full(len(array) + room, abs(SENTINEL), array.dtype)
        arrays.append(longer[: len(array)])
        tails.append(longer[len(array) :])
    return Journal(plain.counts, *arrays), lambda: all((tail == abs(SENTINEL)).all() for tail in tails)


def evaluated(
    problem: StructureProblem, genotype: NDArray[np.int16], generator: np.random.Generator | None = None
) -> Solution:
    """A repaired and fully evaluated copy of a genotype; fails if the journal was too short."""
    solution = unevaluated(problem, genotype.astype(np.int16))
    journal, is_intact = guarded_journal(problem)
    evaluate_structure(problem.kernel_data(1)[0], solution, journal, generator or np.random.default_rng(0))
    assert is_intact(), "the journal is shorter than the evaluation's changes"
    return solution


class Walk:
    """A solution on a random walk of gene changes, each checked against a full evaluation and by a function."""

    def __init__(
        self,
        problem: StructureProblem,
        rng: np.random.Generator,
        check: Callable[[Solution], None] = lambda solution: None,
    ) -> None:
        self.problem, self.rng, self.check = problem, rng, check
        self.data = problem.kernel_data(1)[0]
        self.journal, self.kept = guarded_journal(problem)
        self.solution: Solution = evaluated(problem, problem.sample(rng, 1)[0], rng)

    def step(self, genes: NDArray[np.int64]) -> None:
        rng, solution, journal = self.rng, self.solution, self.journal
        before = copy.deepcopy(solution)
        for gene in genes.tolist():
            value = int(rng.choice(np.flatnonzero(self.problem.allowed[gene])))
            if value != solution.genotype[gene]:
                set_gene(solution, journal, gene, value)
        touched = evaluate_structure_partial(self.data, solution, journal, rng)
        assert touched == journal.counts[1]
        assert self.kept()
        # the full evaluation would repair what the partial one left
        full = evaluated(self.problem, solution.genotype, rng)
        assert (full.genotype == solution.genotype).all()
        assert (full.aux == solution.aux).all()
        assert full.terms == pytest.approx(solution.terms, abs=1e-9)
        assert full.objectives[0] == solution.objectives[0]
        self.check(solution)
        if rng.random() < 0.5:
            undo(solution, journal)
            assert solution.genotype.tobytes() == before.genotype.tobytes()
            assert solution.terms.tobytes() == before.terms.tobytes()
            assert solution.aux.tobytes() == before.aux.tobytes()
            solution.objectives[:] = before.objectives
        journal.counts[:] = 0


def as_lists(linkage: Linkage) -> list[list[int]]:
    slices = zip(linkage.starts.tolist(), linkage.sizes.tolist(), strict=True)
    return [linkage.members[a : a + size].tolist() for a, size in slices]


def fixed(values: NDArray[Any], *cuts: float) -> Policy:
    return Policy(np.array(cuts), chosen=False)


# ---------------------------------------------------------------- optimum by brute force


def all_dags(n: int) -> list[list[tuple[int, int]]]:
    pairs = list(itertools.combinations(range(n), 2))
    graphs = []
    for marks in itertools.product((0, 1, 2), repeat=len(pairs)):
        edges = [(i, j) if mark == 1 else (j, i) for (i, j), mark in zip(pairs, marks, strict=True) if mark]
        if is_acyclic(n, edges):
            graphs.append(edges)
    return graphs


def best_score(variables: Sequence[ScoredVariable], method: str) -> float:
    """The largest score over all DAGs and all policies of all variables."""
    n = len(variables)
    parent_sets = [[{i for i, j in dag if j == child} for child in range(n)] for dag in all_dags(n)]
    masks = np.array([[sum(1 << i for i in parents) for parents in sets] for sets in parent_sets])
    policies = [range(max(len(v.policies), 1)) for v in variables]
    table: dict[tuple[int, int, tuple[int, ...]], float] = {}

    def family(child: int, mask: int, choice: tuple[int, ...]) -> float:
        members = [i for i in range(n) if mask >> i & 1]
        key = (child, mask, tuple(choice[i] for i in [child, *members]))
        if key not in table:
            chosen_family = ScoredFamily((child, choice[child]), tuple((i, choice[i]) for i in members))
            table[key] = slow_family_score(variables, chosen_family, method)
        return table[key]

    best = -math.inf
    for choice in itertools.product(*policies):
        scores = np.zeros((n, 1 << n))
        for child, mask in itertools.product(range(n), range(1 << n)):
            scores[child, mask] = -math.inf if mask >> child & 1 else family(child, mask, choice)
        best = max(best, float(scores[np.arange(n), masks].sum(axis=1).max()))
    return best
