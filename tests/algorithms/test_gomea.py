"""Whole runs: schedule, limits, reproducibility, interruption, and the optimum on small tables."""

import itertools
import math
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mo_oracles import same
from numpy.typing import NDArray
from oracles import (
    best_score,
    discrete_variables,
    evaluated,
    is_acyclic,
    make_problem,
    make_scorer,
    random_variables,
)
from scipy.stats import fisher_exact, ks_2samp
from search_examples import NoLinkage
from wrong_input import untyped

from gomea_bn import GOMEA, Custom, GomeaBnError, LinkageTree
from gomea_bn.problems import ScoredVariable, StructureProblem
from gomea_bn.problems.family_scorer import new_cache
from gomea_bn.runtime import Limits, Progress, Result


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """Compile before any clock counts."""
    GOMEA().run(example(), Limits(max_evaluations=100), random_state=0, n_jobs=2)


STILL = GOMEA(linkage=NoLinkage(), local_search=False, forced_improvement=False)


def flat_problem(n: int = 6) -> StructureProblem:
    """Every network scores 0, so that no population is better than another."""
    variables = discrete_variables([np.zeros(20, np.int32)] * n, [2] * n)
    return make_problem(variables, scorer=make_scorer(variables, penalty=0.0))


def example(kinds: str = "ccdcd", n_rows: int = 120, seed: int = 0) -> StructureProblem:
    return make_problem(random_variables(np.random.default_rng(seed), n_rows, kinds))


def test_the_counter_schedule_gives_a_larger_population_every_fourth_turn() -> None:
    counts: list[tuple[int, ...]] = [()]
    order: list[int] = []

    def watch(progress: Progress) -> bool:
        now = progress.population_generations
        grown = [i for i, g in enumerate(now) if g > (*counts[-1], *[0] * 9)[i]]
        order.extend(grown)
        assert len(grown) <= 1
        counts.append(now)
        assert progress.population_sizes == tuple(2 ** (i + 1) for i in range(len(now)))
        return len(order) == 341

    result = STILL.run(flat_problem(), Limits(max_generations=400), random_state=1, callback=watch)
    assert order[:24] == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0]
    assert counts[-1] == (256, 64, 16, 4, 1)
    assert result.stopped_by == "callback"
    assert result.n_eval == 2 + 4 + 8 + 16 + 32  # without linkage only the initial solutions are evaluated


def test_sizes_and_turns_can_be_set() -> None:
    seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    settings = replace(STILL, base_population=3, growth=4, subgenerations=2)
    settings.run(
        flat_problem(),
        Limits(max_generations=20),
        random_state=0,
        callback=lambda p: seen.append((p.population_sizes, p.population_generations)),
    )
    assert seen[-1][0] == (3, 12, 48, 192)
    first = [generations for sizes, generations in seen if len(sizes) == 2]
    assert first[:3] == [(2, 0), (2, 1), (3, 1)]


class Staged(StructureProblem):
    """Initial genotypes by population size: all have one of three arcs, in either direction."""

    arcs: dict[int, tuple[int, int]]

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        parent, child = self.arcs.get(n, (0, 1))
        pair = [self.genotype([arc], [0] * self.n_nodes) for arc in ((parent, child), (child, parent))]
        return np.array([pair[i % 2] for i in range(n)])


@pytest.mark.parametrize(
    ("arcs", "left"),
    [
        ({2: "bad", 4: "good"}, (4,)),
        ({2: "good", 4: "bad"}, (2, 4)),
        ({2: "good", 4: "good"}, (2, 4)),
        ({2: "good", 4: "bad", 8: "fair"}, (8,)),  # with a population all smaller ones stop
        ({2: "good", 4: "fair", 8: "bad"}, (2, 4, 8)),
    ],
)
def test_populations_stop_when_a_larger_one_has_a_better_mean(
    arcs: dict[int, str], left: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 400))
    columns = [a, a, b, np.where(rng.random(400) < 0.2, 1 - b, b), rng.integers(0, 2, 400)]
    variables = discrete_variables(columns, [2] * 5)
    problem = Staged(make_scorer(variables), make_problem(variables).edge_rules)
    named = {"good": (0, 1), "fair": (2, 3), "bad": (0, 4)}
    problem.arcs = {size: named[name] for size, name in arcs.items()}
    seen: list[tuple[int, ...]] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress.population_sizes)
        return 2 ** len(arcs) in progress.population_sizes and progress.population_generations[-1] == 1

    STILL.run(problem, Limits(max_generations=400), random_state=0, callback=watch)
    # already before its first generation the mean of a new population counts
    assert next(sizes for sizes in seen if 2 ** len(arcs) in sizes) == left
    assert seen[-1] == left


def test_converged_populations_stop_and_larger_ones_follow() -> None:
    seen: list[int] = []
    result = GOMEA(max_population_size=64).run(
        example("cd"),
        Limits(max_generations=10**6),
        random_state=0,
        callback=lambda p: seen.append(len(p.population_sizes)),
    )
    assert result.stopped_by == "max_population_size"
    assert seen[-1] == 0


def test_no_larger_population_is_started_while_smaller_ones_go_on() -> None:
    largest: list[int] = []
    result = replace(STILL, max_population_size=8).run(
        flat_problem(),
        Limits(max_generations=200),
        random_state=0,
        callback=lambda p: largest.append(max(p.population_sizes)),
    )
    assert max(largest) == 8
    assert result.stopped_by == "max_generations"


VARIANTS = [
    GOMEA(),
    GOMEA(linkage="tree-mi", local_search=False),
    GOMEA(linkage="univariate", search_donors=True),
    GOMEA(linkage=Custom([[0, 1, 2], [3], [4, 5]]), forced_improvement=False),
    GOMEA(linkage=LinkageTree("nmi", filtered=False), elite_update="immediate"),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_a_seed_gives_one_result_at_any_number_of_threads(variant: int) -> None:
    limits = Limits(max_evaluations=40_000)
    runs = [VARIANTS[variant].run(example(), limits, random_state=7, n_jobs=t) for t in (1, 2, 3, 1)]
    assert all(same(runs[0], run) for run in runs[1:])
    assert runs[0].n_eval == 40_000
    other = VARIANTS[variant].run(example(), limits, random_state=8)
    assert not same(runs[0], other)
    sequence = np.random.SeedSequence(7)
    twice = [VARIANTS[variant].run(example(), limits, random_state=sequence) for _ in range(2)]
    assert same(twice[0], twice[1])
    assert same(twice[0], runs[0])


def test_another_process_gets_the_same_result() -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; from test_gomea import *\n"
        "r = GOMEA().run(example(), Limits(max_evaluations=20_000), random_state=7, n_jobs=2)\n"
        "print(r.X.tolist(), r.F[0].hex(), r.n_generations)"
    )
    tests = Path(__file__).parents[1]
    folders = [str(tests / name) for name in ("algorithms", "twins", "examples", "")]
    command = [sys.executable, "-c", code, *folders]
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    theirs = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    ours = GOMEA().run(example(), Limits(max_evaluations=20_000), random_state=7)
    assert theirs.strip() == f"{ours.X.tolist()} {ours.F[0].hex()} {ours.n_generations}"


def test_a_full_cache_does_not_change_the_result() -> None:
    limits = Limits(max_evaluations=20_000)
    expected = GOMEA().run(example(), limits, random_state=3)
    for n_threads in (1, 2):
        variables = random_variables(np.random.default_rng(0), 120, "ccdcd")
        scorer = make_scorer(variables, cache_bytes=0)
        scorer.caches.shared = new_cache(8)
        problem = make_problem(variables, scorer=scorer)
        assert same(GOMEA().run(problem, limits, random_state=3, n_jobs=n_threads), expected)
        assert len(scorer.caches.shared.keys) == 8


@pytest.mark.sample(1)
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_evaluation_limits_are_exact(variant: int) -> None:
    problem = example("ccdc")
    limits = [*range(1, 60), *range(60, 2000, 97), 12_345]
    for limit in limits:
        result = VARIANTS[variant].run(problem, Limits(max_evaluations=limit), random_state=limit, n_jobs=2)
        assert result.n_eval == limit
        assert result.stopped_by == "max_evaluations"
        assert math.isfinite(result.F[0])
        full = evaluated(problem, result.X)
        assert (full.genotype == result.X).all()
        assert full.objectives[0] == pytest.approx(result.F[0], abs=1e-9)


def test_evaluations_are_counted_in_whole_and_in_terms() -> None:
    problem = flat_problem(5)
    result = STILL.run(problem, Limits(max_evaluations=14), random_state=0)
    assert result.n_eval_full == 14  # whole evaluations only
    result = GOMEA().run(example(), Limits(max_evaluations=3000), random_state=0)
    assert 3000 / 5 < result.n_eval_full < 3000


@pytest.mark.sample(4)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("variant", [0, 2, 4])
def test_a_run_that_the_clock_stopped_can_be_replayed(variant: int, n_threads: int) -> None:
    # also inside one large generation, where threads have passed the first unfinished solution
    for base_population, seconds in ((2, 0.05), (4096, 0.1)):
        settings = replace(VARIANTS[variant], base_population=base_population)
        kinds = "ccdcdcdc"
        timed = settings.run(example(kinds), Limits(max_seconds=seconds), random_state=1, n_jobs=n_threads)
        assert timed.stopped_by == "max_seconds"
        replayed = settings.run(example(kinds), Limits(max_evaluations=timed.n_eval), random_state=1)
        assert same(replayed, timed)


def test_generations_target_patience_and_callback_end_a_run() -> None:
    problem = example()
    result = GOMEA().run(problem, Limits(max_generations=7), random_state=0)
    assert (result.stopped_by, result.n_generations) == ("max_generations", 7)
    best = float(GOMEA().run(problem, Limits(max_evaluations=30_000), random_state=0).F[0])
    result = GOMEA().run(problem, Limits(target=best), random_state=0)
    assert result.stopped_by == "target"
    assert result.F[0] <= best
    result = GOMEA().run(problem, Limits(patience=2.0), random_state=0)
    assert result.stopped_by == "patience"
    assert result.n_eval > max(1000 * problem.n_variables, 2.0 * result.history[-1].n_eval)
    assert result.F[0] == pytest.approx(best, abs=1e-6)
    seen: list[Progress] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) == 5

    result = GOMEA().run(problem, Limits(max_generations=100), random_state=0, callback=watch)
    assert result.stopped_by == "callback"
    assert result.n_generations == len(seen) == 5
    assert (seen[-1].n_eval, seen[-1].best) == (result.n_eval, result.F[0])
    assert [p.best for p in seen] == sorted((p.best for p in seen), reverse=True)
    assert {"families_scored", "cache_hits"} <= set(seen[-1].statistics)


def test_the_history_holds_every_improvement() -> None:
    result = GOMEA().run(example("ccdcdcd"), Limits(max_evaluations=20_000), random_state=1)
    objectives = [entry.objective for entry in result.history]
    assert objectives == sorted(set(objectives), reverse=True)
    assert objectives[-1] == result.F[0]
    assert [e.n_eval for e in result.history] == sorted(e.n_eval for e in result.history)
    assert result.time_to_best == result.history[-1].seconds <= result.exec_time
    assert is_acyclic(7, example("ccdcdcd").edges(result.X))


def test_an_interrupt_between_generations_returns_the_best_so_far() -> None:
    seen: list[float] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress.best)
        if len(seen) == 6:
            signal.raise_signal(signal.SIGINT)

    result = GOMEA().run(example(), Limits(max_generations=100), random_state=0, callback=interrupt)
    assert result.stopped_by == "interrupt"
    assert len(seen) == 6
    assert result.F[0] == seen[-1]


def test_a_second_interrupt_interrupts_at_once() -> None:
    def interrupt(_: Progress) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    former = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        GOMEA().run(example(), Limits(max_generations=100), random_state=0, callback=interrupt)
    assert signal.getsignal(signal.SIGINT) is former


def test_a_run_outside_the_main_thread_works() -> None:
    results: list[Result] = []
    limits = Limits(max_evaluations=3000)
    thread = threading.Thread(target=lambda: results.append(GOMEA().run(example(), limits, random_state=0)))
    thread.start()
    thread.join()
    assert same(results[0], GOMEA().run(example(), limits, random_state=0))


@pytest.mark.parametrize("kinds", ["d", "c", "dd", "cd", "cc"])
def test_problems_of_hardly_any_genes_reach_their_optimum(kinds: str) -> None:
    variables = random_variables(np.random.default_rng(5), 80, kinds)
    result = GOMEA().run(make_problem(variables), Limits(max_evaluations=400), random_state=0, n_jobs=2)
    assert result.n_eval == 400
    assert -result.F[0] == pytest.approx(best_score(variables, "density-bic"), abs=1e-9)


def test_given_genotypes_come_first_in_every_population() -> None:
    problem = example()
    best = GOMEA().run(problem, Limits(max_evaluations=20_000), random_state=0)
    cyclic = problem.genotype([(0, 1), (1, 2), (2, 0)], [0] * 5)
    initial = np.array([best.X, cyclic])
    first = GOMEA().run(problem, Limits(max_evaluations=1), random_state=5, initial=initial)
    assert first.X.tolist() == best.X.tolist()
    assert first.F[0] == pytest.approx(best.F[0], abs=1e-9)
    second = GOMEA(local_search=False).run(
        problem, Limits(max_evaluations=1), random_state=5, initial=initial[1:]
    )
    assert len(problem.edges(second.X)) == 2
    many = GOMEA().run(
        problem, Limits(max_evaluations=500), random_state=5, initial=np.repeat(initial, 50, axis=0)
    )
    assert many.F[0] <= first.F[0]


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (np.zeros(13, np.int16), r"initial must be integers of shape \(k, 13\), got int16 of shape \(13,\)"),
        (np.zeros((2, 1), np.int16), r"got int16 of shape \(2, 1\)"),
        (np.zeros((2, 13)), "got float64"),
        (np.full((1, 13), 3), "row 0 has the value 3 in gene 0"),
        (np.full((1, 13), -1), "row 0 has the value -1 in gene 0"),
    ],
)
def test_given_genotypes_are_checked(initial: NDArray[Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        GOMEA().run(example(), Limits(max_evaluations=5), initial=initial)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GOMEA(linkage="forest"), "linkage must be one of"),
        (
            lambda: GOMEA(elite_update="later"),
            "elite_update must be one of 'generation', 'immediate', got 'later'",
        ),
        (lambda: GOMEA(base_population=0), "base_population must be an integer of at least 1, got 0"),
        (lambda: GOMEA(growth=1), "growth must be an integer of at least 2, got 1"),
        (lambda: GOMEA(subgenerations=True), "subgenerations must be an integer of at least 1, got True"),
        (lambda: GOMEA(max_population_size=1), "max_population_size must be at least base_population"),
        (lambda: GOMEA().run(example(), Limits(max_seconds=1), n_jobs=0), "n_jobs must be"),
        (lambda: Limits(), "Set a limit"),
        (lambda: Limits(max_seconds=0), "max_seconds must be a finite number above 0 or None, got 0"),
        (lambda: Limits(patience=math.nan), "patience must be a finite number above 0 or None, got nan"),
        (lambda: Limits(max_evaluations=untyped(1.5)), "max_evaluations must be an integer of at least 1"),
        (
            lambda: Limits(max_generations=0),
            "max_generations must be an integer of at least 1 or None, got 0",
        ),
        (lambda: Limits(target=math.nan), "target must be a number or None, got nan"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        make()


def small_tables(n: int) -> list[tuple[list[ScoredVariable], str]]:
    rng = np.random.default_rng(n)
    kinds = {3: ["ccc", "cdc", "ccd"], 4: ["cccc", "ccdc"]}[n]
    tables = [
        (random_variables(rng, 150, k, max_bins=4), m) for k in kinds for m in ("density-bic", "density-bd")
    ]
    return [*tables, (random_variables(rng, 150, "d" * n), "bdeu")]


@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [3, 4])
def test_the_optimum_over_all_networks_and_bins_is_reached(n: int) -> None:
    for variables, method in small_tables(n):
        best = best_score(variables, method)
        problem = make_problem(variables, method)
        limits = Limits(max_evaluations=1000 * problem.n_variables)
        scores = [-float(GOMEA().run(problem, limits, random_state=seed).F[0]) for seed in range(30)]
        assert max(scores) <= best + 1e-8
        assert sum(score >= best - 1e-8 for score in scores) >= 29


@pytest.mark.long
def test_the_order_of_columns_does_not_matter() -> None:
    # dense beginnings and few evaluations: repair in index order fails this by far
    variables = random_variables(np.random.default_rng(11), 150, "cdcdcd")
    order = [5, 2, 0, 4, 1, 3]
    scores: list[list[float]] = [[], []]
    edges: list[Counter[tuple[str, str]]] = [Counter(), Counter()]
    for k, (columns, seeds) in enumerate(((range(6), range(200)), (order, range(1000, 1200)))):
        table = [variables[i] for i in columns]
        problem = make_problem(table, initial_indegree=4.0)
        for seed in seeds:
            result = GOMEA().run(problem, Limits(max_evaluations=150), random_state=seed)
            scores[k].append(float(result.F[0]))
            edges[k].update((table[i].name, table[j].name) for i, j in problem.edges(result.X))
    assert len(set(scores[0])) > 50  # too few evaluations to end in one optimum
    assert ks_2samp(scores[0], scores[1]).pvalue > 1e-3
    for arc in itertools.permutations([v.name for v in variables], 2):
        with_arc = np.array([runs[arc] for runs in edges])
        assert fisher_exact(np.array([with_arc, 200 - with_arc])).pvalue > 1e-4
