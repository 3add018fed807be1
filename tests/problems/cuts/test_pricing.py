"""Pricing: the best cuts of one variable in a network, against brute force over every partition."""

import json
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from option_examples import table_problem
from oracles import evaluated, fixed
from pricing_examples import (
    all_cuts,
    cuts_of,
    keeps_limits,
    priced_problem,
    random_genotype,
    slow_network_score,
    tied_variables,
)

from gomea_bn import GOMEA, ExpertKnowledge
from gomea_bn.problems import CutPricer, ScoredVariable, StructureProblem, score_rule, scoring_method
from gomea_bn.problems.cuts import CutLimits, IntervalScore, Pricing, policy_library
from gomea_bn.problems.cuts.libraries import library_capacity
from gomea_bn.runtime import Limits, spare_threads

METHODS = st.sampled_from(
    [("density-bd", 0.5), ("density-bd", 0.0), ("density-bd", 2.0), ("density-bic", 0.0)]
)
LIMITS = st.sampled_from(
    [
        CutLimits(),
        CutLimits(max_bins=3),
        CutLimits(max_bins=2, min_width=0.2),
        CutLimits(min_width=0.15),
        CutLimits(min_bin_count=5),
        CutLimits(max_bins=4, min_width=0.1, min_bin_count=3),
    ]
)


def nothing_else(_gene: int) -> NDArray[np.int64]:
    return np.empty(0, np.int64)


def improved(pricer: CutPricer, genotype: NDArray[np.int16], seed: int = 0) -> NDArray[np.int16]:
    return pricer.improved(genotype, np.random.default_rng(seed), nothing_else)


def score(problem: StructureProblem, genotype: NDArray[np.int16]) -> float:
    return -float(evaluated(problem, genotype).objectives[0])


@pytest.mark.long
@given(st.integers(0, 10_000), METHODS, LIMITS)
@settings(max_examples=60)
def test_priced_variable_has_the_best_cuts_of_all(
    seed: int, method: tuple[str, float], limits: CutLimits
) -> None:
    variables = tied_variables(seed, 30, "cdcdc")
    problem, pricer = priced_problem(variables, limits, method[0], cut_cost=method[1])
    genotype = random_genotype(problem, seed)
    edges, before = problem.edges(genotype), cuts_of(problem, genotype)
    v = (0, 2, 4)[seed % 3]
    pricer.movable = [v]
    following = improved(pricer, genotype)
    gene = int(problem.rules.bin_gene[v])
    assert np.delete(following, gene).tolist() == np.delete(genotype, gene).tolist()

    def slow(cuts: NDArray[np.float64]) -> float:
        return slow_network_score(variables, edges, [*before[:v], cuts, *before[v + 1 :]], *method)

    best = max(map(slow, all_cuts(variables[v].values, limits)))
    after = cuts_of(problem, following)
    # the present cuts stay where nothing within the limits beats them
    assert slow(after[v]) == pytest.approx(max(best, slow(before[v])), abs=1e-8)
    assert score(problem, following) == pytest.approx(slow(after[v]), abs=1e-8)
    if following[gene] != genotype[gene]:
        assert keeps_limits(variables[v].values, after[v], limits)
        assert slow(after[v]) > slow(before[v])
    assert (pricer.n_priced, pricer.n_known, pricer.n_entered) == (
        1,
        0,
        int(following[gene] != genotype[gene]),
    )


@pytest.mark.long
@given(st.integers(0, 10_000), METHODS)
@settings(max_examples=12)
def test_pricing_all_variables_in_turn_ends_where_none_alone_can_be_cut_better(
    seed: int, method: tuple[str, float]
) -> None:
    limits = CutLimits(min_width=0.02)
    variables = tied_variables(seed, 40, "ccdc", n_distinct=8)
    problem, pricer = priced_problem(variables, limits, method[0], cut_cost=method[1])
    genotype = random_genotype(problem, seed)
    values = [score(problem, genotype)]
    for sweep in range(20):
        following = improved(pricer, genotype, sweep)
        values.append(score(problem, following))
        if (following == genotype).all():
            break
        genotype = following
    else:
        pytest.fail("20 sweeps and no end")
    assert values == sorted(values)
    edges, cuts = problem.edges(genotype), cuts_of(problem, genotype)
    assert values[-1] == pytest.approx(slow_network_score(variables, edges, cuts, *method), abs=1e-8)
    for v in (0, 1, 3):
        for other in all_cuts(variables[v].values, limits):
            changed = [*cuts[:v], other, *cuts[v + 1 :]]
            assert slow_network_score(variables, edges, changed, *method) <= values[-1] + 1e-8


@pytest.mark.parametrize("n_cells", [4, 8, 16])
def test_known_cuts_never_replace_better_ones(n_cells: int) -> None:
    """A coarse grid is exact only around its incumbent, so what one solution got may be worse than another's."""
    n_worse = 0
    for seed in range(12):
        variables = tied_variables(seed, 300, "cdc", n_distinct=120)
        problem, coarse = priced_problem(variables, CutLimits(), n_cells=n_cells)
        exact = CutPricer(problem, Pricing(CutLimits(), coarse.pricing.scores, 1000), np.zeros(1, np.uint8))
        coarse.movable = exact.movable = [0]
        genotype = problem.genotype([(0, 1), (2, 0)], [0, 0, 0])
        best, approximate = improved(exact, genotype), improved(coarse, genotype)
        n_worse += score(problem, approximate) < score(problem, best) - 1e-6
        assert score(problem, genotype) <= score(problem, approximate) <= score(problem, best) + 1e-9
        for start in (best, approximate, genotype, best):
            assert score(problem, improved(coarse, start)) >= score(problem, start)
        # what a better solution has is known from then on
        assert improved(coarse, approximate).tolist() == best.tolist() or score(
            problem, approximate
        ) == pytest.approx(score(problem, best), abs=1e-6)
    assert n_worse > 2


def test_same_surroundings_are_priced_once() -> None:
    variables = tied_variables(1, 60, "cdc")
    problem, pricer = priced_problem(variables, CutLimits())
    genotype = problem.genotype([(0, 1), (2, 0)], [0, 0, 0])
    pricer.movable = [0]
    first = improved(pricer, genotype)
    assert (pricer.n_priced, pricer.n_known) == (1, 0)
    other = genotype.copy()
    other[problem.rules.bin_gene[0]] = (genotype[problem.rules.bin_gene[0]] + 1) % 3
    assert improved(pricer, other).tolist() == first.tolist()
    assert improved(pricer, first).tolist() == first.tolist()
    assert (pricer.n_priced, pricer.n_known) == (1, 2)
    # another graph around the variable is another problem
    improved(pricer, problem.genotype([], problem.policy_indices(first).tolist()))
    assert pricer.n_priced == 2
    counts = problem.statistics()
    assert (counts["variables_priced"], counts["prices_known"]) == (2, 2)
    assert counts["policies_entered"] == pricer.n_entered


@pytest.mark.parametrize("seed", range(4))
def test_a_solution_is_priced_in_threads_as_in_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    for n_threads in (1, 3):
        problem, pricer = priced_problem(tied_variables(seed, 80, "ccdcccdc", n_distinct=30), CutLimits())
        genotypes = [random_genotype(problem, seed)]
        with spare_threads(n_threads):
            for sweep in range(3):
                genotypes.append(improved(pricer, genotypes[-1], sweep))
        states.append((np.array(genotypes).tolist(), jsonable(pricer.state()), jsonable(problem.state())))
    assert states[0] == states[1]
    meeting, solve = threading.Barrier(2, timeout=600.0), CutPricer._solve

    def meets(*given: object) -> object:
        meeting.wait()
        return solve(*given)  # type: ignore[arg-type]

    # without edges no column has an influence on another one
    monkeypatch.setattr(CutPricer, "_solve", meets)
    problem, pricer = priced_problem(tied_variables(seed, 80, "cc", n_distinct=30), CutLimits())
    with spare_threads(2):
        improved(pricer, problem.genotype([], [0, 0]))
    assert pricer.n_priced == 2


def jsonable(state: dict[str, Any]) -> str:
    """Return a state as text, with all values of arrays."""
    return json.dumps(state, default=lambda part: part.tolist())


def test_priced_bins_leave_tables_within_their_limit() -> None:
    """Without the limit the cause would get more bins than a table with its required children may have."""
    rng = np.random.default_rng(3)
    variables = tied_variables(3, 400, "cddd", n_distinct=60)
    x = variables[0].values
    variables[1:] = [
        type(v)(v.name, (np.searchsorted(np.quantile(x, (0.2, 0.5, 0.8)), x) % 3).astype(np.int32), 3)
        for v in variables[1:]
    ]
    variables[2].values[:] = rng.integers(0, 3, 400)
    required = [("v0", "v3"), ("v1", "v3"), ("v2", "v3")]
    bins = {}
    for most in (10**6, 81, 54):
        knowledge = ExpertKnowledge(required_edges=required, max_table_cells=most)
        problem, pricer = priced_problem(variables, CutLimits(), "density-bic", knowledge=knowledge)
        genotype = problem.genotype([(0, 3), (1, 3), (2, 3), (0, 1)], [0, 0, 0, 0])
        following = improved(pricer, genotype)
        bins[most] = len(cuts_of(problem, following)[0]) + 1
        assert 27 * bins[most] <= most
        assert evaluated(problem, following).genotype.tolist() == following.tolist()
    assert bins[10**6] > bins[81] > bins[54] == 2


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5])
@pytest.mark.parametrize("method", ["density-bd", "density-bic"])
def test_tables_of_a_few_rows_are_searched(n_rows: int, method: str) -> None:
    x = np.arange(n_rows, dtype=np.float64)
    variables = [
        ScoredVariable(f"v{i}", v, 0, policy_library(v, "equal-frequency", 4))
        for i, v in enumerate((x, x**2))
    ]
    variables.append(ScoredVariable("v2", (np.arange(n_rows) % 2).astype(np.int32), 2))
    problem, _ = priced_problem(variables, CutLimits(), method)
    result = GOMEA().run(problem, Limits(max_evaluations=500), random_state=1)
    slow = slow_network_score(variables, problem.edges(result.X), cuts_of(problem, result.X), method)
    assert -result.F[0] == pytest.approx(slow, abs=1e-9)
    assert problem.statistics()["variables_priced"] > 0


def test_raised_flag_leaves_everything_as_it_was() -> None:
    variables = tied_variables(1, 60, "ccc")
    problem, _ = priced_problem(variables, CutLimits())
    stop = np.ones(1, np.uint8)
    pricer = problem.refiner(stop)
    assert isinstance(pricer, CutPricer)
    genotype = random_genotype(problem, 4)
    libraries = [problem.scorer.library(v) for v in range(3)]
    assert improved(pricer, genotype).tolist() == genotype.tolist()
    assert [problem.scorer.library(v) for v in range(3)] == libraries
    assert (pricer.n_priced, pricer.n_entered) == (0, 0)
    stop[0] = 0
    assert improved(pricer, genotype).tolist() != genotype.tolist()


def test_fixed_cuts_and_levels_are_never_priced() -> None:
    variables = tied_variables(2, 60, "cdc")
    variables[2] = type(variables[2])("v2", variables[2].values, 0, (fixed(variables[2].values, 0.1),))
    problem, pricer = priced_problem(variables, CutLimits())
    assert pricer.movable == [0]
    assert problem.rules.bin_gene[2] == -1
    following = improved(pricer, random_genotype(problem, 3))
    assert cuts_of(problem, following)[2].tolist() == [0.1]
    assert problem.scorer.library(2)[0] is variables[2].policies[0]


def test_several_scores_give_cuts_of_different_fineness() -> None:
    variables = tied_variables(5, 200, "cc", n_distinct=60)
    problem, _ = priced_problem(variables, CutLimits(), "density-bic")
    method = scoring_method("density-bic")
    scores = [IntervalScore(method, score_rule(method, 200, penalty=price)) for price in (0.5, 20.0)]
    pricer = CutPricer(problem, Pricing(CutLimits(), scores), np.zeros(1, np.uint8))
    genotype = problem.genotype([(0, 1)], [1, 1])
    sizes = set()
    for seed in range(12):
        cuts = cuts_of(problem, improved(pricer, genotype, seed))
        sizes.add(sum(len(c) for c in cuts))
        # what one score chose is not taken for what another would choose
        alone = CutPricer(problem, Pricing(CutLimits(), scores), np.zeros(1, np.uint8))
        assert list(map(list, cuts)) == list(map(list, cuts_of(problem, improved(alone, genotype, seed))))
    assert min(sizes) < 4 < 8 < max(sizes)


def test_pricing_is_in_proportion_to_the_search() -> None:
    variables = tied_variables(2, 60, "cdcc")
    _, pricer = priced_problem(variables, CutLimits())
    assert pricer.affordable(0)
    pricer.n_priced = 15
    assert not pricer.affordable(0)
    assert pricer.affordable(1)
    pricer.n_priced = 16
    assert not pricer.affordable(200)
    assert pricer.affordable(201)


@pytest.mark.parametrize(
    ("n_columns", "n_rows", "capacity"),
    [(1, 100, 64), (8, 10_000, 64), (10, 500_000, 53), (20, 1_000_000, 24), (0, 5, 64)],
)
def test_libraries_of_large_tables_are_smaller(n_columns: int, n_rows: int, capacity: int) -> None:
    assert library_capacity(n_columns, n_rows) == capacity
    if capacity > 24:
        assert capacity * n_columns * n_rows <= 2**28


@pytest.mark.parametrize(("curves", "n_priced"), [("auto", 1), ("none", 3)])
def test_cuts_that_no_table_needs_are_not_priced(curves: str, n_priced: int) -> None:
    rng = np.random.default_rng(2)
    x, u = rng.normal(size=(2, 400))
    frame = pd.DataFrame({"x": x, "wave": np.sin(2 * x) + 0.2 * rng.normal(size=400), "u": u})
    # a column of that number of levels is no logit
    frame["level"] = pd.qcut(u + 0.1 * rng.normal(size=400), 12, labels=list("abcdefghijkl")).astype(str)
    problem = table_problem(frame, curves=curves)
    genotype = problem.genotype([(0, 1), (2, 3)], [0] * 4)
    follows = problem.follows_curves(genotype)
    assert follows.tolist() == [False, curves == "auto", False, False]
    pricer = problem.refiner(np.zeros(1, np.uint8))
    assert isinstance(pricer, CutPricer)
    following = improved(pricer, genotype)
    assert pricer.n_priced == n_priced
    before, after = problem.cuts(genotype), problem.cuts(following)
    changed = {v for v in before if not np.array_equal(before[v], after[v])}
    assert 2 in changed
    assert (changed == {2}) == (curves == "auto")
