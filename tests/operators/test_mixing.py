"""Variation of single solutions: mixing, forced improvement and climbing against a twin that undoes nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import (
    SlowMixing,
    as_lists,
    broken_rules,
    discrete_variables,
    evaluated,
    guarded_journal,
    make_problem,
    make_scorer,
    random_knowledge,
    random_variables,
)
from search_examples import mixing_rules

from gomea_bn import Custom, LinkageTree, Univariate
from gomea_bn.algorithms.discrete_run import new_population, new_work
from gomea_bn.linkage import Linkage, LinkageModel
from gomea_bn.operators.mixing import (
    COPIES,
    CUT_SHORT,
    EVALUATIONS,
    FINISHED,
    NOT_RUN,
    STATUS,
    TOUCHED,
    Elite,
    MixingRules,
    initialise_range,
    vary_range,
)
from gomea_bn.problems import StructureProblem

UNLIMITED = 2**62
Rng = np.random.Generator


class Bench:
    """A population on one thread, varied generation by generation through the compiled kernels."""

    def __init__(self, problem: StructureProblem, parents: NDArray[np.int16], rng: Rng) -> None:
        solutions = [evaluated(problem, genotype, rng) for genotype in parents]
        self.problem, self.rng = problem, rng
        self.population = new_population(problem, np.array([s.genotype for s in solutions]))
        self.population.violations[:] = 0.0
        for i, solution in enumerate(solutions):
            for name in ("terms", "aux", "objectives"):
                getattr(self.population, name)[i] = getattr(solution, name)
        self.elite = Elite(
            genotype=np.zeros(problem.n_variables, np.int16),
            objectives=np.full(1, np.inf),
            violation=np.full(1, np.inf),
        )
        self.set_elite(int(np.argmin(self.values)))
        journal, self.journal_kept = guarded_journal(problem)
        donors, budget = np.zeros(len(parents), np.int64), np.full(1, UNLIMITED)
        work = new_work(problem, np.zeros(1, np.uint8))
        self.work = work._replace(journal=journal, donors=donors, budget=budget)

    @property
    def values(self) -> NDArray[np.float64]:
        return self.population.objectives[:, 0]

    def set_elite(self, i: int) -> None:
        self.elite.genotype[:] = self.population.genotypes[i]
        self.elite.objectives[:] = self.population.objectives[i]
        self.elite.violation[:] = 0.0

    def rules(self, *, stall_limit: int = 1, **options: bool) -> MixingRules:
        return mixing_rules(self.problem, stall_limit, **options)

    def generation(self, linkage: Linkage, rules: MixingRules) -> None:
        """One generation; afterwards the offspring are the parents."""
        population = self.population
        population.tallies[:] = 0
        data = self.problem.kernel_data(1)[0]
        bounds = (0, len(population.parents))
        vary_range(data, population, self.elite, linkage, rules, self.rng, self.work, bounds)
        population.parents[:] = population.genotypes
        assert self.journal_kept()


def learned(model: LinkageModel, bench: Bench) -> Linkage:
    return model.learn(bench.population.parents, bench.problem.alphabet, np.random.default_rng(0))


def make_bench(seed: int, n: int, kinds: str, *, random_repair: bool = True) -> Bench:
    rng = np.random.default_rng(seed)
    problem = make_problem(random_variables(rng, 60, kinds), random_repair=random_repair)
    return Bench(problem, problem.sample(rng, n), rng)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 9),
    n_nodes=st.integers(2, 6),
    forced=st.booleans(),
    climb=st.booleans(),
    donors=st.booleans(),
    model=st.sampled_from([Univariate(), LinkageTree(), LinkageTree("mi"), Custom([[0]])]),
)
def test_generations_equal_their_twin(
    seed: int, n: int, n_nodes: int, forced: bool, climb: bool, donors: bool, model: LinkageModel
) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 40, "".join(rng.choice(list("cd"), n_nodes)))
    knowledge = random_knowledge(rng, n_nodes)
    # repair in index order draws nothing, so that the twin can evaluate in full
    problem = make_problem(variables, knowledge=knowledge, random_repair=False)
    bench = Bench(problem, problem.sample(rng, n), np.random.default_rng(seed))
    twin_rng = np.random.default_rng(seed)

    def evaluate(genotype: NDArray[np.int16]) -> tuple[NDArray[np.int16], float]:
        solution = evaluated(problem, genotype)
        return solution.genotype, float(solution.objectives[0])

    bench.rng = np.random.default_rng(seed)
    population = bench.population
    rules = bench.rules(stall_limit=1, forced=forced, climb=climb, donors=donors)
    for _ in range(3):
        linkage = learned(model, bench)
        parents = population.parents.copy()
        values, stalls = bench.values.copy(), population.stalls.copy()
        elite = bench.elite.genotype.copy(), float(bench.elite.objectives[0])
        twin = SlowMixing(
            evaluate, problem, parents, elite, as_lists(linkage), twin_rng, search_donors=donors
        )
        expected = [
            twin.vary(
                i, parents[i], float(values[i]), stalled=bool(stalls[i] > 1), forced=forced, climb=climb
            )
            for i in range(n)
        ]
        bench.generation(linkage, rules)
        assert population.genotypes.tolist() == [genotype.tolist() for genotype, _ in expected]
        assert bench.values.tolist() == [value for _, value in expected]
        assert population.tallies[:, EVALUATIONS].sum() == twin.n_eval
        assert population.stalls.tolist() == np.where(bench.values < values, 0, stalls + 1).tolist()
        assert (population.tallies[:, STATUS] == FINISHED).all()
        # the same number of draws, hence the same generator
        assert bench.rng.bit_generator.state == twin_rng.bit_generator.state
        best = int(np.argmin(bench.values))
        if bench.values[best] < bench.elite.objectives[0]:
            bench.set_elite(best)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), forced=st.booleans(), climb=st.booleans(), immediate=st.booleans())
def test_no_solution_ever_gets_worse_or_breaks_a_rule(
    seed: int, forced: bool, climb: bool, immediate: bool
) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 40, "".join(rng.choice(list("cd"), 7)))
    knowledge = random_knowledge(rng, 7)
    problem = make_problem(variables, knowledge=knowledge)
    bench = Bench(problem, problem.sample(rng, 8), rng)
    for _ in range(4):
        before, genotypes = bench.values.copy(), bench.population.genotypes.copy()
        best = float(bench.elite.objectives[0])
        rules = bench.rules(forced=forced, climb=climb, immediate=immediate)
        bench.generation(learned(LinkageTree(), bench), rules)
        assert (bench.values <= before).all()
        for i, genotype in enumerate(bench.population.genotypes):
            assert broken_rules(problem, genotype, knowledge) == []
            full = evaluated(problem, genotype)
            assert (full.genotype == genotype).all()
            assert bench.values[i] == pytest.approx(full.objectives[0], abs=1e-9)
            if (genotype == genotypes[i]).all():
                assert bench.values[i] == before[i]
        expected = min(best, float(bench.values.min())) if immediate else best
        assert bench.elite.objectives[0] == expected


def test_the_best_solution_does_not_drift_to_equal_ones() -> None:
    # without rows that differ every network without penalty scores 0: all exchanges are equal
    variables = discrete_variables([np.zeros(30, np.int32)] * 5, [2] * 5)
    problem = make_problem(variables, scorer=make_scorer(variables, penalty=0.0))
    rng = np.random.default_rng(0)
    bench = Bench(problem, problem.sample(rng, 6), rng)
    bench.set_elite(3)
    former = bench.population.genotypes.copy()
    bench.generation(learned(Univariate(), bench), bench.rules())
    changed = (bench.population.genotypes != former).any(axis=1)
    assert not changed[3]
    assert changed[[0, 1, 2, 4, 5]].all()


@pytest.mark.parametrize("seed", range(4))
def test_climbing_changes_a_solution_only_for_the_better(seed: int) -> None:
    bench = make_bench(seed, 8, "ccdd")
    population, problem = bench.population, bench.problem
    before, genotypes = bench.values.copy(), population.genotypes.copy()
    population.stalls[:] = 0
    empty = Linkage(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    bench.generation(empty, bench.rules(climb=True))
    changed = (population.genotypes != genotypes).any(axis=1)
    assert changed.any()
    assert (changed == (bench.values < before)).all()
    # at most one try of every other value of an edge, and of the two neighbours of a bin count
    cost = 2 * (problem.ordinal.sum() + (~problem.ordinal).sum())
    assert (population.tallies[:, EVALUATIONS] <= cost).all()
    assert (population.tallies[:, EVALUATIONS] >= 2 * (~problem.ordinal).sum() + problem.ordinal.sum()).all()
    assert np.abs(population.genotypes - genotypes)[:, problem.ordinal].max() == 1


def test_initialisation_evaluates_and_climbs() -> None:
    for climb in (False, True):
        bench = make_bench(3, 10, "ccddd")
        population = bench.population
        start = [float(evaluated(bench.problem, genotype).objectives[0]) for genotype in population.parents]
        population.terms[:], population.objectives[:] = 0.0, np.inf
        data = bench.problem.kernel_data(1)[0]
        initialise_range(data, population, bench.rules(climb=climb), bench.rng, bench.work, 0, 10)
        assert (population.tallies[:, STATUS] == FINISHED).all()
        if climb:
            assert (bench.values <= start).all()
            assert (bench.values < start).any()
            assert (population.tallies[:, EVALUATIONS] > 1).all()
        else:
            assert bench.values.tolist() == start
            assert (population.tallies[:, [EVALUATIONS, TOUCHED]] == [1, bench.problem.n_terms]).all()


def stuck_bench(seed: int, chosen: str) -> Bench:
    """All solutions equal, so that mixing offers nothing; the best solution is another one, or one of them."""
    bench = make_bench(seed, 12, "cddd")
    population = bench.population
    row = int(np.argmax(bench.values) if chosen == "worst" else np.argmin(bench.values))
    for array in (population.genotypes, population.terms, population.aux, population.objectives):
        array[:] = array[row].copy()
    population.parents[:] = population.genotypes
    return bench


@pytest.mark.parametrize("seed", range(12))
def test_a_stuck_solution_improves_by_genes_of_the_best(seed: int) -> None:
    bench = stuck_bench(seed, "worst")
    value = float(bench.values[0])
    differing = int((bench.population.genotypes[0] != bench.elite.genotype).sum())
    bench.generation(learned(Univariate(), bench), bench.rules(forced=True))
    assert (bench.values < value).all()
    assert (bench.population.tallies[:, EVALUATIONS] <= differing + 1).all()
    assert (bench.population.stalls == 0).all()


def test_a_stuck_solution_becomes_the_best_where_its_genes_do_not_help() -> None:
    seen = 0
    for seed in range(12):
        bench = stuck_bench(seed, "worst")
        equal = np.flatnonzero(bench.population.genotypes[0] == bench.elite.genotype)
        if not len(equal):
            continue
        seen += 1
        bench.generation(learned(Custom([equal.tolist()]), bench), bench.rules(forced=True))
        assert (bench.population.genotypes == bench.elite.genotype).all()
        assert (bench.values == bench.elite.objectives[0]).all()
        assert (bench.population.tallies[:, EVALUATIONS] == 1).all()
        assert (bench.population.tallies[:, COPIES] == 1).all()
    assert seen > 3


def test_the_best_solution_itself_is_left_alone() -> None:
    bench = stuck_bench(1, "best")
    population = bench.population
    population.stalls[:] = 50
    bench.generation(learned(Univariate(), bench), bench.rules(forced=True))
    assert population.tallies[:, EVALUATIONS:].sum() == 0
    assert (population.stalls == 51).all()


def test_stalled_solutions_are_forced_beyond_the_limit_only() -> None:
    for stalls, forced in ((3, False), (4, True)):
        bench = make_bench(2, 10, "ccddd")
        population = bench.population
        bench.generation(learned(LinkageTree(), bench), bench.rules())
        population.stalls[:] = stalls
        others = np.arange(10) != int(np.argmin(bench.values))
        bench.set_elite(int(np.argmin(bench.values)))
        before = bench.values.copy()
        # single genes of donors change most solutions, so the number of stalls decides
        bench.generation(learned(Univariate(), bench), bench.rules(forced=True, stall_limit=3))
        unforced = (population.tallies[:, COPIES] == 0) & others
        if not forced:
            assert unforced.sum() > 5
        else:
            elite = float(bench.elite.objectives[0])
            assert ((bench.values < before) | (bench.values <= elite))[others].all()


@pytest.mark.parametrize("forced", [False, True])
def test_a_budget_is_spent_exactly(forced: bool) -> None:
    whole = make_bench(5, 6, "ccdd")
    whole.generation(learned(Univariate(), whole), whole.rules(forced=forced, climb=True))
    total = int(whole.population.tallies[:, EVALUATIONS].sum())
    assert total > 20
    for budget in range(1, total + 1):
        bench = make_bench(5, 6, "ccdd")
        bench.work.budget[0] = budget
        bench.generation(learned(Univariate(), bench), bench.rules(forced=forced, climb=True))
        status = bench.population.tallies[:, STATUS].tolist()
        assert bench.population.tallies[:, EVALUATIONS].sum() == budget
        cut = status.index(CUT_SHORT)
        assert status == [FINISHED] * cut + [CUT_SHORT] + [NOT_RUN] * (5 - cut)
        finished = slice(0, cut)
        assert (bench.population.genotypes[finished] == whole.population.genotypes[finished]).all()


def test_a_raised_flag_stops_before_the_next_evaluation() -> None:
    bench = make_bench(5, 6, "ccdd")
    bench.work.stop[0] = 1
    former = bench.population.genotypes.copy()
    bench.generation(learned(Univariate(), bench), bench.rules(forced=True, climb=True))
    assert bench.population.tallies.sum() == 0
    assert (bench.population.genotypes == former).all()
