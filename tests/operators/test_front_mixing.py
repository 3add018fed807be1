"""Variation for several objectives: whole generations against a twin that evaluates in full and undoes nothing."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mo_oracles import SlowArchive, SlowClusters, SlowSearch, SlowSolution, evaluated, network_problem
from oracles import as_lists
from search_examples import mixing_rules

from gomea_bn import Custom, ElitistArchive, LinkageTree, Univariate
from gomea_bn.algorithms.archive import new_archive
from gomea_bn.algorithms.discrete_run import new_population, new_work
from gomea_bn.algorithms.mogomea import balanced_clusters, extreme_clusters
from gomea_bn.algorithms.multi_start import UNLIMITED
from gomea_bn.linkage import Linkage
from gomea_bn.operators.archive import MEMBERS, Archive, canonical
from gomea_bn.operators.front_mixing import (
    ALL,
    EVALUATED,
    Clusters,
    FrontState,
    FrontWork,
    initialise_front,
    vary_front,
)
from gomea_bn.operators.mixing import (
    COPIES,
    CUT_SHORT,
    EVALUATIONS,
    FINISHED,
    NOT_RUN,
    STATUS,
)
from gomea_bn.problems import (
    LOTZ,
    FrontProblem,
    MultiObjectiveKnapsack,
    MultiObjectiveMaxCut,
    OneMaxZeroMax,
    PythonProblem,
    TrapInverseTrap,
)


class Bounded:
    """Ones at even places and zeros at odd ones; more than two ones of the first four are a violation."""

    n_variables, alphabet, n_objectives = 7, [2, 3, 2, 2, 4, 2, 2], 2

    def evaluate(self, x: Any) -> tuple[list[float], float]:
        excess = max(0, int((x[:4] > 0).sum()) - 2)
        return [-float(x[::2].sum()), float(x[1::2].sum()) - 0.1 * float(x[4])], excess / 3


def networks(seed: int, n_objectives: int, max_parameters: float = np.inf) -> FrontProblem:
    # repair in index order draws nothing, so that the twin can evaluate in full
    return network_problem(
        seed, n_objectives, 6 - n_objectives, max_parameters=max_parameters, random_repair=False
    )


PROBLEMS = {
    "onemax": lambda seed: OneMaxZeroMax(8),
    "trap": lambda seed: TrapInverseTrap(8, 4),
    "lotz": lambda seed: LOTZ(6),
    "cut": lambda seed: MultiObjectiveMaxCut.random_graph(6, 10, 3, random_state=seed),
    "knapsack": lambda seed: MultiObjectiveKnapsack.random(7, 2, random_state=seed),
    "bounded": lambda seed: PythonProblem(Bounded()),
    "networks": lambda seed: networks(seed, 2),
    "expert": lambda seed: networks(seed, 3),
    "limited": lambda seed: networks(seed, 2, 9.0),
}

NOBODY = np.zeros(0, np.int64)
NO_CLUSTERS = Clusters(
    of_solution=NOBODY,
    objective=NOBODY,
    members=NOBODY,
    member_starts=NOBODY,
    linkage=Linkage(NOBODY, NOBODY, NOBODY),
    subset_starts=NOBODY,
)


class Bench:
    """A population in blocks, varied through the compiled kernels, next to its twin."""

    def __init__(
        self,
        problem: Any,
        n: int,
        seed: int,
        *,
        immediate: bool = False,
        forced: bool = True,
        climb: bool = False,
        donors: bool = False,
        weighted: bool = False,
        block: int = 4,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.problem, self.immediate, self.weighted = problem, immediate, weighted
        self.scale = rng.random(problem.n_objectives)
        self.population = new_population(problem, problem.sample(rng, n))
        self.blocks = [(first, min(n, first + block)) for first in range(0, n, block)]
        self.generators = [np.random.default_rng([seed, first]) for first, _ in self.blocks]
        m = problem.n_objectives
        self.archive = ElitistArchive(problem.n_variables, m)
        mixing = new_work(problem, np.zeros(1, np.uint8))._replace(donors=np.zeros(n, np.int64))
        self.work = FrontWork(
            mixing=mixing,
            former=np.zeros(m),
            candidate=np.zeros(m),
            weights=np.zeros(m),
            clock=np.zeros(2, np.int64),
        )
        self.rules = mixing_rules(problem, 0, forced=forced, climb=climb, donors=donors, immediate=immediate)
        self.slow_archive = SlowArchive(m)
        self.twins: list[SlowSearch] = []
        for first, _ in self.blocks:
            self.twins.append(
                SlowSearch(
                    partial(evaluated, problem),
                    problem.alphabet.tolist(),
                    problem.ordinal.tolist(),
                    problem.allowed,
                    self.slow_archive,
                    SlowArchive(m),
                    np.random.default_rng([seed, first]),
                    immediate=immediate,
                    forced=forced,
                    climbs=climb,
                    search_donors=donors,
                    weighted=weighted,
                    scale=self.scale.tolist(),
                )
            )
        self.solutions: list[SlowSolution] = []

    def initialise(self, budget: int = UNLIMITED) -> None:
        self.run(initialise_front, NO_CLUSTERS, stalled=False, budget=budget)

    def clusters(self, k: int, model: Any, generator: np.random.Generator) -> Clusters:
        data = self.population
        members, of_solution = balanced_clusters(data.objectives, k, generator)
        learned = [model.learn(data.parents[rows], self.problem.alphabet, generator) for rows in members]
        offsets = np.cumsum([0] + [len(linkage.members) for linkage in learned])
        return Clusters(
            of_solution=of_solution,
            objective=extreme_clusters(data.objectives, members, generator),
            members=np.concatenate(members),
            member_starts=np.cumsum([0] + [len(rows) for rows in members]),
            linkage=Linkage(
                members=np.concatenate([linkage.members for linkage in learned]),
                starts=np.concatenate([linkage.starts + offset for linkage, offset in zip(learned, offsets)]),
                sizes=np.concatenate([linkage.sizes for linkage in learned]),
            ),
            subset_starts=np.cumsum([0] + [len(linkage.starts) for linkage in learned]),
        )

    def run(
        self, kernel: Any, clusters: Clusters, *, stalled: bool, budget: int = UNLIMITED
    ) -> list[Archive]:
        """One generation; returns what each block found."""
        self.population.tallies[:] = 0
        self.work.mixing.budget[0] = budget
        self.archive.reserve(200)
        finds_of_blocks = []
        for bounds, generator in zip(self.blocks, self.generators, strict=True):
            finds = new_archive(200, self.problem.n_variables, self.problem.n_objectives)
            search = FrontState(
                archive=self.archive.data,
                finds=finds,
                clusters=clusters,
                stalled=stalled,
                immediate=self.immediate,
                scale=self.scale,
                weighted=self.weighted,
            )
            data = self.problem.kernel_data(1)[0]
            kernel(data, self.population, search, self.rules, generator, self.work, bounds)
            finds_of_blocks.append(finds)
        for finds in finds_of_blocks:
            self.archive.take(finds)
        self.population.parents[:] = self.population.genotypes
        return finds_of_blocks

    def run_twin(self, clusters: Clusters | None, *, stalled: bool) -> None:
        """The same in plain Python; without clusters the beginning."""
        parents = self.population.parents.copy()
        for (first, last), twin in zip(self.blocks, self.twins, strict=True):
            twin.finds, twin.stalled = SlowArchive(self.problem.n_objectives), stalled
            if clusters is not None:
                twin.clusters = as_slow(clusters)
            for i in range(first, last):
                if clusters is None:
                    self.solutions.append(twin.initialise(parents[i]))
                else:
                    self.solutions[i] = twin.vary(i, self.solutions[i], parents)
        for twin in self.twins:
            self.slow_archive.merge(twin.finds)

    def assert_same(self, evaluations_before: int) -> None:
        population, archive = self.population, self.archive
        assert population.genotypes.tolist() == [solution.genotype.tolist() for solution in self.solutions]
        assert population.objectives.tolist() == [list(solution.objectives) for solution in self.solutions]
        assert population.violations.tolist() == [solution.violation for solution in self.solutions]
        assert (population.tallies[:, STATUS] == FINISHED).all()
        done = sum(twin.n_eval for twin in self.twins)
        assert population.tallies[:, EVALUATIONS].sum() == done - evaluations_before
        assert self.work.clock[EVALUATED] == done
        members = self.slow_archive.members
        assert archive.genotypes.tolist() == [list(solution.genotype) for solution in members]
        assert archive.objectives.tolist() == [list(solution.f) for solution in members]
        assert archive.additions == self.slow_archive.additions
        if members:
            best = [members.index(solution) for solution in self.slow_archive.best if solution is not None]
            assert archive.data.best.tolist() == best
        # the same number of draws, hence the same generators
        for ours, twin in zip(self.generators, self.twins, strict=True):
            assert ours.bit_generator.state == twin.generator.bit_generator.state


def as_slow(clusters: Clusters) -> SlowClusters:
    def parts(values: Any, starts: Any) -> list[Any]:
        return [values[a:b] for a, b in itertools.pairwise(starts)]

    return SlowClusters(
        clusters.of_solution.tolist(),
        clusters.objective.tolist(),
        parts(clusters.members.tolist(), clusters.member_starts),
        parts(as_lists(clusters.linkage), clusters.subset_starts),
    )


# the variation of each class of problems is compiled on its own, ten seconds
LONG = ("cut", "knapsack")


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.long] * (case in LONG)) for case in PROBLEMS]
)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 11),
    immediate=st.booleans(),
    forced=st.booleans(),
    climb=st.booleans(),
    donors=st.booleans(),
    weighted=st.booleans(),
    model=st.sampled_from([Univariate(), LinkageTree("corrected"), LinkageTree("mi"), Custom([[0, 2], [1]])]),
    data=st.data(),
)
def test_generations_equal_their_twin(
    case: str,
    seed: int,
    n: int,
    immediate: bool,
    forced: bool,
    climb: bool,
    donors: bool,
    weighted: bool,
    model: Any,
    data: Any,
) -> None:
    bench = Bench(
        PROBLEMS[case](seed % 1000),
        n,
        seed,
        immediate=immediate,
        forced=forced,
        climb=climb,
        donors=donors,
        weighted=weighted,
    )
    bench.run_twin(None, stalled=False)
    bench.initialise()
    bench.assert_same(0)
    chooser = np.random.default_rng(seed)
    for _ in range(2):
        k, stalled = data.draw(st.integers(1, min(n, 5))), data.draw(st.booleans())
        clusters = bench.clusters(k, model, chooser)
        before = sum(twin.n_eval for twin in bench.twins)
        bench.run_twin(clusters, stalled=stalled)
        bench.run(vary_front, clusters, stalled=stalled)
        bench.assert_same(before)


@pytest.mark.parametrize("case", ["trap", "expert", "networks"])
def test_what_an_extreme_cluster_finds_for_its_objective_it_keeps(case: str) -> None:
    seen = 0
    for seed in range(30):
        # every solution is a block, so that its finds are known; the archive stands still for all of them
        bench = Bench(PROBLEMS[case](seed), 8, seed, block=1)
        bench.initialise()
        clusters = bench.clusters(4, Univariate(), np.random.default_rng(seed))
        former_best = bench.archive.objectives.min(axis=0)
        objectives = clusters.objective[clusters.of_solution]
        for i, finds in enumerate(bench.run(vary_front, clusters, stalled=True)):
            j, n_finds = objectives[i], finds.counts[MEMBERS]
            if j == ALL or not n_finds:
                continue
            best_find = finds.objectives[:n_finds, j].min()
            seen += best_find < former_best[j]
            assert canonical(bench.population.objectives[i, j]) <= best_find
    assert seen > 3


def test_without_a_feasible_solution_nothing_is_taken_from_the_archive() -> None:
    problem = networks(3, 2, max_parameters=0.5)
    bench = Bench(problem, 6, 1)
    bench.initialise()
    assert (bench.population.violations > 0).all()
    assert len(bench.archive) == 0
    before = bench.population.violations.copy()
    bench.run(vary_front, bench.clusters(3, Univariate(), np.random.default_rng(0)), stalled=True)
    assert (bench.population.violations <= before).all()
    assert (bench.population.violations < before).any()
    assert bench.population.tallies[:, COPIES].sum() == 0


@pytest.mark.sample(3)
@pytest.mark.parametrize("immediate", [False, True])
@pytest.mark.parametrize("kernel", [initialise_front, vary_front])
def test_a_budget_is_spent_exactly(kernel: Any, immediate: bool) -> None:
    def begun() -> tuple[Bench, Clusters]:
        bench = Bench(networks(2, 2), 6, 5, immediate=immediate, climb=True, block=6)
        if kernel is initialise_front:
            return bench, NO_CLUSTERS
        bench.initialise()
        return bench, bench.clusters(3, Univariate(), np.random.default_rng(0))

    whole, clusters = begun()
    whole.run(kernel, clusters, stalled=True)
    total = int(whole.population.tallies[:, EVALUATIONS].sum())
    assert total > 20
    for budget in range(1, total + 1):
        bench, clusters = begun()
        former = bench.population.genotypes.copy()
        bench.run(kernel, clusters, stalled=True, budget=budget)
        status = bench.population.tallies[:, STATUS].tolist()
        assert bench.population.tallies[:, EVALUATIONS].sum() == budget
        cut = status.index(CUT_SHORT)
        assert status == [FINISHED] * cut + [CUT_SHORT] + [NOT_RUN] * (5 - cut)
        assert (bench.population.genotypes[:cut] == whole.population.genotypes[:cut]).all()
        assert (bench.population.genotypes[cut + 1 :] == former[cut + 1 :]).all()


def test_a_raised_flag_stops_before_the_next_evaluation() -> None:
    bench = Bench(networks(2, 2), 6, 5, climb=True)
    bench.initialise()
    former = bench.population.genotypes.copy()
    clusters = bench.clusters(3, Univariate(), np.random.default_rng(0))
    bench.work.mixing.stop[0] = 1
    block_finds = bench.run(vary_front, clusters, stalled=True)
    assert bench.population.tallies.sum() == 0
    assert (bench.population.genotypes == former).all()
    assert sum(finds.counts[MEMBERS] for finds in block_finds) == 0
