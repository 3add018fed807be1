"""Whole runs for several objectives: known fronts, schedule, constraints, a small archive, refused settings."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mo_oracles import check_front, dominates, evaluated, network_problem, same
from search_examples import NoLinkage
from wrong_input import untyped

from gomea_bn import GOMEA, MOGOMEA, RVGOMEA, GomeaBnError, optimise
from gomea_bn.algorithms.mogomea import FrontRun, _bounded
from gomea_bn.operators.archive import canonical
from gomea_bn.problems import (
    LOTZ,
    MultiObjectiveKnapsack,
    MultiObjectiveMaxCut,
    OneMaxZeroMax,
    PythonProblem,
    Trap,
    TrapInverseTrap,
    brute_force_front,
)
from gomea_bn.runtime import FrontHistoryEntry, Limits, Progress, Result

UPDATES = ["generation", "immediate"]


STILL = MOGOMEA(linkage=NoLinkage(), local_search=False, forced_improvement=False)


class Shelf:
    """Which of seven books to take: price and what is missed; at most three fit."""

    n_variables, alphabet, n_objectives = 7, 2, 2
    prices = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0])
    worth = np.array([2.0, 7.0, 1.0, 8.0, 2.5, 8.5, 1.0])

    def evaluate(self, x: Any) -> tuple[list[float], float]:
        return [float(self.prices @ x), float(self.worth @ (1 - x))], max(0.0, float(x.sum()) - 3)


KNOWN = {
    "onemax": (OneMaxZeroMax(12), 10_000),
    "lotz": (LOTZ(8), 20_000),
    "cut": (MultiObjectiveMaxCut.random_graph(9, 18, 2, random_state=3), 20_000),
    "trap": (TrapInverseTrap(10), 20_000),
    "cut of three": (MultiObjectiveMaxCut.random_graph(8, 14, 3, random_state=4), 40_000),
    "knapsack": (MultiObjectiveKnapsack.random(10, 2, random_state=5), 20_000),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("mixing", ["weights", "dominance"])
@pytest.mark.parametrize("name", KNOWN)
def test_whole_fronts_are_found(name: str, mixing: str, update: str) -> None:
    problem, n_eval = KNOWN[name]
    front = brute_force_front(problem)
    assert len(front) > 2
    settings = MOGOMEA(mixing=mixing, archive_update=update)
    for seed in range(3):
        result = settings.run(problem, Limits(max_evaluations=n_eval), random_state=seed)
        assert result.F.tolist() == [[canonical(value) for value in f] for f in front.tolist()]
        check_front(problem, result)


def test_the_front_of_an_object_in_plain_python_with_a_constraint() -> None:
    points = []
    for number in range(2**7):
        f, violation = Shelf().evaluate(np.array([number >> g & 1 for g in range(7)]))
        points += [tuple(f)] * (violation == 0)
    front = sorted({f for f in points if not any(dominates(g, f) for g in points)})
    assert len(front) > 4
    for n_threads in (1, 2):
        result = optimise(Shelf(), random_state=1, max_evaluations=6_000, n_jobs=n_threads)
        assert [tuple(f) for f in result.F.tolist()] == [tuple(map(canonical, f)) for f in front]
        assert (result.X.sum(axis=1) <= 3).all()


def test_errors_of_a_python_object_come_through() -> None:
    class Broken(Shelf):
        def evaluate(self, x: Any) -> tuple[list[float], float]:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        optimise(Broken(), random_state=1, max_evaluations=100)


def test_with_one_objective_the_archive_holds_its_best() -> None:
    problem = Trap(10)
    result = MOGOMEA().run(problem, Limits(max_evaluations=3_000), random_state=0)
    assert result.F.tolist() == [[canonical(float(brute_force_front(problem)[0, 0]))]]
    check_front(problem, result)


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_objectives", [2, 3])
@pytest.mark.parametrize("update", UPDATES)
def test_a_front_of_networks_is_what_its_genotypes_mean(update: str, n_objectives: int) -> None:
    problem = network_problem(2, n_objectives, 5)
    result = MOGOMEA(archive_update=update).run(
        problem, Limits(max_evaluations=15_000), random_state=1, n_jobs=2
    )
    assert len(result.F) > 10
    check_front(problem, result)


def test_a_run_reports_its_statistics() -> None:
    result = MOGOMEA().run(network_problem(2, 3, 5), Limits(max_evaluations=5_000), random_state=1)
    assert 0 < result.n_eval_full < result.n_eval
    assert {"families_scored", "cache_hits"} <= set(result.statistics)
    history = result.history
    assert all(isinstance(entry, FrontHistoryEntry) for entry in history)
    assert [e.n_eval for e in history] == sorted({e.n_eval for e in history})
    ideals = np.array([e.ideal for e in history])
    assert (np.diff(ideals, axis=0) <= 0).all()
    assert ideals[-1].tolist() == result.F.min(axis=0).tolist()
    assert history[-1].archive_size == len(result.F)
    assert result.time_to_best == history[-1].seconds <= result.exec_time
    assert result.extra["n_eval_at_last_addition"] == history[-1].n_eval


def test_with_immediate_update_the_last_addition_is_known_exactly() -> None:
    problem, settings = LOTZ(8), MOGOMEA(archive_update="immediate")
    whole = settings.run(problem, Limits(max_evaluations=20_000), random_state=3)
    last = whole.extra["n_eval_at_last_addition"]
    assert settings.run(problem, Limits(max_evaluations=last), random_state=3).F.tolist() == whole.F.tolist()
    before = settings.run(problem, Limits(max_evaluations=last - 1), random_state=3)
    assert len(before.F) == len(whole.F) - 1


def test_the_schedule_of_two_generations_per_step() -> None:
    counts: list[tuple[int, ...]] = [()]
    order: list[int] = []

    def watch(progress: Progress) -> bool:
        now = progress.population_generations
        order.extend(i for i, g in enumerate(now) if g > (*counts[-1], *[0] * 9)[i])
        counts.append(now)
        assert progress.population_sizes == tuple(8 * 2**i for i in range(len(now)))
        return len(order) == 31

    result = STILL.run(OneMaxZeroMax(30), Limits(max_generations=400), random_state=1, callback=watch)
    assert order[:15] == [0, 0, 1, 0, 0, 1, 2, 0, 0, 1, 0, 0, 1, 2, 3]
    assert len(order) == len(counts) - 1
    assert counts[-1] == (16, 8, 4, 2, 1)
    assert result.stopped_by == "callback"
    assert result.n_eval == 8 + 16 + 32 + 64 + 128  # without linkage only the initial solutions are evaluated


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [3, 4, 5, 6, 7]),
        ({"max_clusters": 5}, [3, 4, 5, 5, 5]),
        ({"base_clusters": 1}, [1, 2, 3, 4, 5]),
        ({"base_population": 2, "base_clusters": 6}, [2, 4, 8, 9, 10]),
    ],
)
def test_every_population_has_one_cluster_more(options: dict[str, Any], expected: list[int]) -> None:
    run = FrontRun(replace(STILL, **options), OneMaxZeroMax(30), Limits(max_generations=31), random_state=0)
    run.finish()
    assert [population.n_clusters for population in run.populations] == expected


def test_converged_populations_stop_and_no_larger_one_is_started() -> None:
    seen: list[int] = []
    result = MOGOMEA(max_population_size=16).run(
        OneMaxZeroMax(2),
        Limits(max_generations=300),
        random_state=0,
        callback=lambda p: seen.append(max(p.population_sizes, default=0)),
    )
    assert max(seen) <= 16
    assert result.F.tolist() == [[-2.0, 0.0], [-1.0, -1.0], [0.0, -2.0]]
    assert result.stopped_by in ("max_population_size", "max_generations")


@pytest.mark.parametrize("update", UPDATES)
def test_from_infeasible_networks_feasible_ones_are_found(update: str) -> None:
    free = MOGOMEA().run(network_problem(6, 2, 6), Limits(max_evaluations=3_000), random_state=0)
    limit = 1.5 * float(free.F[:, 1].min())
    problem = network_problem(6, 2, 6, max_parameters=limit)
    dense = problem.sample(np.random.default_rng(0), 8)
    dense[:, : problem.n_edge_genes] = np.where(problem.allowed[: problem.n_edge_genes, 1], 1, 0)
    dense[:, problem.n_edge_genes :] = problem.alphabet[problem.n_edge_genes :] - 1
    assert all(evaluated(problem, genotype)[2] > 0 for genotype in dense)
    settings = MOGOMEA(archive_update=update)
    sizes: list[int] = []

    def watch(progress: Progress) -> bool:
        sizes.append(progress.archive_size)
        return len(sizes) == 8

    # without climbing the first eight stay infeasible
    without = replace(settings, local_search=False)
    first = without.run(problem, Limits(max_evaluations=8), random_state=1, initial=dense)
    assert len(first.X) == len(first.F) == 0
    assert first.X.shape == (0, problem.n_variables)
    assert (first.history, first.time_to_best) == ([], 0.0)
    result = settings.run(problem, Limits(max_generations=50), random_state=1, initial=dense, callback=watch)
    assert sizes[-1] == len(result.F) > 0
    assert (result.F[:, 1] <= limit).all()
    check_front(problem, result)


def test_given_genotypes_come_first_in_every_population() -> None:
    problem = LOTZ(30)
    initial = np.repeat(np.array([[1] * 30, [1] * 12 + [0] * 18]), [1, 1], axis=0)
    first = MOGOMEA().run(problem, Limits(max_evaluations=2), random_state=3, initial=initial)
    assert first.F.tolist() == [[-30.0, 0.0], [-12.0, -18.0]]
    many = np.repeat(initial, 20, axis=0)
    run = FrontRun(STILL, problem, Limits(max_generations=3), random_state=0, initial=many)
    run.finish()
    for population in run.populations:
        assert population.data.parents.tolist() == many[: population.size].tolist()


@pytest.mark.sample(2)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("size", [1, 20])
def test_a_small_archive_stays_small_and_keeps_the_extremes(size: int, update: str) -> None:
    problem = network_problem(2, 3, 5)
    settings = MOGOMEA(archive_size=size, archive_update=update)
    run = FrontRun(settings, problem, Limits(max_evaluations=30_000), random_state=0)
    result = run.finish()
    check_front(problem, result)
    assert len(MOGOMEA().run(problem, Limits(max_evaluations=30_000), random_state=0).F) > 100
    # the coarsest grid has two cells along every axis, and a newcomer may lie outside
    assert len(result.F) <= max(1.25 * size, 3**3)
    if size > 1:
        assert len(result.F) > 0.5 * size
        assert run.archive.data.widths.all()
        assert result.F.min(axis=0).tolist() == list(result.history[-1].ideal)
        assert result.F.min(axis=0).tolist() == np.min([e.ideal for e in result.history], axis=0).tolist()


def test_optimise_picks_the_search_by_the_number_of_objectives() -> None:
    problem = OneMaxZeroMax(6)
    ours = optimise(problem, random_state=4, max_evaluations=500)
    assert same(ours, MOGOMEA().run(problem, Limits(max_evaluations=500), random_state=4))
    for other in (GOMEA(), RVGOMEA()):
        with pytest.raises(
            GomeaBnError, match=r"algorithm must be a MOGOMEA for 2 objectives, got (RV)?GOMEA"
        ):
            optimise(problem, other, random_state=4, max_evaluations=500)
    with pytest.raises(GomeaBnError, match="takes problems with one objective, this one has 2; use MOGOMEA"):
        GOMEA().run(problem, Limits(max_evaluations=500))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MOGOMEA(linkage="forest"), "linkage must be one of"),
        (
            lambda: MOGOMEA(archive_update="later"),
            "archive_update must be one of 'generation', 'immediate', got 'later'",
        ),
        (lambda: MOGOMEA(mixing="sums"), "mixing must be one of 'weights', 'dominance', got 'sums'"),
        (lambda: MOGOMEA(archive_size=0), "archive_size must be an integer of at least 1, got 0"),
        (lambda: MOGOMEA(base_population=0), "base_population must be an integer of at least 1, got 0"),
        (lambda: MOGOMEA(growth=1), "growth must be an integer of at least 2, got 1"),
        (
            lambda: MOGOMEA(max_clusters=untyped(2.5)),
            "max_clusters must be an integer of at least 1, got 2.5",
        ),
        (lambda: MOGOMEA(subgenerations=True), "subgenerations must be an integer of at least 1, got True"),
        (lambda: MOGOMEA(base_clusters=0), "base_clusters must be an integer of at least 1 or None, got 0"),
        (lambda: MOGOMEA(search_donors=untyped(1)), "search_donors must be True or False, got 1"),
        (lambda: MOGOMEA(local_search=untyped("no")), "local_search must be True or False, got 'no'"),
        (lambda: MOGOMEA(forced_improvement=untyped(None)), "forced_improvement must be True or False"),
        (lambda: MOGOMEA(max_population_size=7), r"at least base_population \(8\), got 7"),
        (
            lambda: run_with({}, target=-3.0),
            "target is for one objective and must be None in MOGOMEA, got -3.0",
        ),
        (lambda: run_with({"n_jobs": 0}), "n_jobs must be None, -1 or an integer of at least 1, got 0"),
        (lambda: run_with({"random_state": -1}), "random_state must be an integer of at least 0"),
        (lambda: run_with({"initial": np.zeros((2, 5), int)}), r"initial must be integers of shape \(k, 6\)"),
        (lambda: run_with({"initial": np.full((1, 6), 2)}), "row 0 has the value 2 in gene 0"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        make()


def run_with(options: dict[str, Any], target: float | None = None) -> Result:
    return MOGOMEA().run(OneMaxZeroMax(6), Limits(max_evaluations=50, target=target), **options)


def test_infinite_objectives_count_as_one_range_beyond_the_finite_ones() -> None:
    objectives = np.array([[0.0, 1.0, math.inf], [2.0, math.inf, math.inf], [-math.inf, 1.0, math.inf]])
    assert _bounded(objectives).tolist() == [[0, 1, 1], [2, 2, 1], [-2, 1, 1]]


@pytest.mark.parametrize("mixing", ["weights", "dominance"])
def test_infinite_objectives_leave_the_others_their_say(mixing: str) -> None:
    class Steep(Shelf):
        """Without the first book the price is infinite."""

        def evaluate(self, x: Any) -> tuple[list[float], float]:
            f, violation = super().evaluate(x)
            return [f[0] if x[0] else math.inf, f[1]], violation

    class Priceless(Shelf):
        def evaluate(self, x: Any) -> tuple[list[float], float]:
            f, violation = super().evaluate(x)
            return [math.inf, f[1]], violation

    missed = float(np.sum(Shelf.worth) - np.sum(np.sort(Shelf.worth)[-3:]))
    settings = MOGOMEA(mixing=mixing)
    run = FrontRun(settings, PythonProblem(Steep()), Limits(max_evaluations=3_000), random_state=1)
    front = run.finish().F
    assert front[-1].tolist() == [math.inf, missed]
    assert np.isfinite(front[:-1]).all()
    # the infinite member stays in the archive, and must not make all finite prices equal
    assert (run._scale() * np.ptp(front[:-1], axis=0) > 0.3).all()
    assert len(front) > 3
    result = optimise(Priceless(), settings, random_state=1, max_evaluations=3_000)
    assert result.F.tolist() == [[math.inf, missed]]
