"""Real-valued variation: estimates against NumPy, draws and rules by hand, linkage, single generations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gomea_bn import Custom, Full, GomeaBnError, LinkageTree, Univariate
from gomea_bn.linkage import Linkage
from gomea_bn.linkage.real import (
    Blocks,
    InteractionTree,
    gaussian_similarities,
    real_linkage_model,
)
from gomea_bn.operators.mixing import improves
from gomea_bn.operators.real_estimation import (
    RealPopulation,
    SelectionWork,
    carry_multipliers,
    cholesky,
    covariance_of_rows,
    gather,
    select,
    solve_lower,
)
from gomea_bn.operators.real_mixing import (
    CENTRE,
    DRAW,
    EVALUATIONS,
    FACTOR,
    GENERATIONS,
    ONGOING,
    STALLED,
    TOUCHED,
    RealModel,
    RealRules,
    RealWork,
    _adapt,
    _draw,
    _shift,
    estimate,
    initialise,
    vary,
)
from gomea_bn.problems import new_real_journal, soreb_chain, sphere

Matrix = NDArray[np.float64]


def population_of(genotypes: Matrix, objectives: Matrix, violations: Matrix | None = None) -> RealPopulation:
    n = len(genotypes)
    return RealPopulation(
        genotypes=np.ascontiguousarray(genotypes, np.float64),
        terms=np.zeros((n, 0)),
        aux=np.zeros((n, 0), np.uint64),
        objectives=np.asarray(objectives, np.float64).reshape(n, 1).copy(),
        violations=np.zeros(n) if violations is None else np.asarray(violations, np.float64),
        stalls=np.zeros(n, np.int64),
        improved=np.zeros(n, np.uint8),
    )


def selection_work(n: int) -> SelectionWork:
    return SelectionWork(order=np.zeros(n, np.int64), merge=np.zeros(n, np.int64), distances=np.zeros(n))


def rules_of(n_variables: int, n: int, **changes: Any) -> RealRules:
    rules = RealRules(
        lower=np.full(n_variables, -np.inf),
        upper=np.full(n_variables, np.inf),
        least=np.zeros(n_variables),
        largest=np.ones(n_variables),
        n_selected=max(2, int(0.35 * n)),
        n_shifted=int(0.175 * n),
        accept_worse=0.0,
        stall_limit=25,
        target=-np.inf,
    )
    return rules._replace(**changes)


def model_of(n_variables: int) -> RealModel:
    return RealModel(
        mean=np.zeros(n_variables),
        shift=np.zeros(n_variables),
        covariance=np.zeros((n_variables, n_variables)),
        counts=np.zeros(2, np.int64),
    )


def work_of(n_variables: int, n: int, n_selected: int, n_terms: int = 0) -> RealWork:
    return RealWork(
        journal=new_real_journal(n_variables, n_terms, 0),
        selection=selection_work(n),
        all_variables=np.arange(n_variables),
        subsets=np.zeros(2 * n_variables, np.int64),
        selected=np.zeros((n_selected, n_variables)),
        offsets=np.zeros((n, n_variables)),
        rows=np.arange(n_selected),
        deviations=np.zeros((n_variables, n_selected)),
        matrices=np.zeros((2, n_variables, n_variables)),
        vectors=np.zeros((5, n_variables)),
        draws=np.zeros((n, n_variables)),
        tallies=np.array([0, 0, 2**60]),
        stop=np.zeros(1, np.uint8),
    )


@given(
    st.floats(allow_nan=False), st.floats(0, 5), st.floats(allow_nan=False), st.sampled_from([0.0, 1.0, 2.0])
)
def test_feasible_first_then_violation_then_objective(f: float, v: float, g: float, w: float) -> None:
    expected = (v, f) < (w, g) if v == 0 or v != w else False
    assert improves(f, v, g, w) == expected


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 40))
def test_selection_ranks_like_a_stable_sort(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    violations = rng.choice([0.0, 0.0, 1.0], n)
    objectives = rng.integers(0, 9, n).astype(float)
    objectives[rng.integers(n)] = -1.0
    # objectives of infeasible solutions do not count
    keys = list(zip(violations, np.where(violations == 0, objectives, 0.0), range(n), strict=True))
    work = selection_work(n)
    select(population_of(rng.random((n, 2)), objectives, violations), n, work, rng)
    assert work.order.tolist() == [i for *_, i in sorted(keys)]


def test_equally_good_solutions_are_selected_for_their_distance() -> None:
    # three tight clusters; any choice of three must take one of each
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 5, axis=0)
    genotypes = centres + 0.01 * rng.random((15, 2))
    work = selection_work(15)
    select(population_of(genotypes, np.zeros(15)), 3, work, rng)
    assert sorted(i // 5 for i in work.order[:3].tolist()) == [0, 1, 2]
    assert sorted(work.order.tolist()) == list(range(15))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n_selected=st.integers(2, 30), n_variables=st.integers(1, 9))
def test_estimates_equal_numpy(seed: int, n_selected: int, n_variables: int) -> None:
    rng = np.random.default_rng(seed)
    n = n_selected + 5
    genotypes = 100 + rng.standard_normal((n, n_variables)) @ rng.standard_normal((n_variables, n_variables))
    objectives = rng.permutation(n).astype(float)
    chosen = genotypes[np.argsort(objectives)[:n_selected]]
    rules = rules_of(n_variables, n, n_selected=n_selected)
    model, work = model_of(n_variables), work_of(n_variables, n, n_selected)
    model.mean[:] = 1.0
    estimate(population_of(genotypes, objectives), rules, model, work, rng, True)
    np.testing.assert_allclose(model.mean, chosen.mean(axis=0))
    np.testing.assert_allclose(model.shift, chosen.mean(axis=0) - 1.0)
    expected = np.cov(chosen.T, bias=True).reshape(n_variables, n_variables)
    np.testing.assert_allclose(model.covariance, expected, atol=1e-9)
    np.testing.assert_array_equal(work.selected, chosen)
    # the part of a subset, in the subset's own order
    members = rng.permutation(n_variables)[: max(1, n_variables // 2)]
    deviations, mean = np.zeros((n_variables, n_selected)), np.zeros(n_variables)
    part = np.zeros((n_variables, n_variables))
    gather(work.selected, np.arange(n_selected), n_selected, members, deviations, mean)
    covariance_of_rows(deviations, len(members), n_selected, part)
    k = len(members)
    np.testing.assert_allclose(np.tril(part[:k, :k]), np.tril(expected[np.ix_(members, members)]), atol=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), scale=st.floats(1e-3, 1e3))
def test_cholesky_and_solving_equal_numpy(seed: int, n: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n + 3))
    covariance = root @ root.T
    factor = np.full((n + 2, n + 2), np.nan)
    assert cholesky(covariance, n, scale, factor)
    expected = np.linalg.cholesky(scale * covariance)
    np.testing.assert_allclose(np.tril(factor[:n, :n]), expected, rtol=1e-7, atol=1e-9)
    vector = rng.standard_normal(n)
    solved = vector.copy()
    solve_lower(factor, n, solved)
    np.testing.assert_allclose(solved, np.linalg.solve(expected, vector), rtol=1e-6, atol=1e-6)


def test_a_singular_covariance_keeps_its_subspace() -> None:
    rng = np.random.default_rng(0)
    direction = np.array([1.0, -2.0, 0.5, 3.0])
    covariance = np.outer(direction, direction)
    factor = np.zeros((4, 4))
    assert not cholesky(covariance, 4, 1.0, factor)
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, covariance, atol=1e-12)
    draws = (np.tril(factor) @ rng.standard_normal((4, 50))).T
    assert np.linalg.matrix_rank(draws, tol=1e-9) == 1
    assert not cholesky(np.zeros((3, 3)), 3, 1.0, factor)
    np.testing.assert_array_equal(np.tril(factor[:3, :3]), 0.0)


def test_draws_follow_the_distribution() -> None:
    rng = np.random.default_rng(1)
    covariance = np.array([[2.0, 1.2, -0.3], [1.2, 1.0, 0.1], [-0.3, 0.1, 0.5]])
    rules, work = rules_of(3, 10), work_of(3, 10, 3)
    work.vectors[CENTRE] = [1.0, -5.0, 7.0]
    cholesky(covariance, 3, 1.0, work.matrices[FACTOR])
    members = np.arange(3)
    n_draws = 20_000
    draws = np.empty((n_draws, 3))
    for row in draws:
        assert _draw(members, rules, work, rng) == 0
        row[:] = work.vectors[DRAW]
    variances = np.diag(covariance)
    errors = np.abs(draws.mean(axis=0) - [1, -5, 7])
    assert (errors < 4 * np.sqrt(variances / n_draws)).all()
    deviations = np.sqrt((np.outer(variances, variances) + covariance**2) / n_draws)
    assert (np.abs(np.cov(draws.T) - covariance) < 4 * deviations).all()


def test_draws_outside_the_bounds_are_repeated_then_uniform() -> None:
    rng = np.random.default_rng(2)
    members = np.array([1])
    rules, work = rules_of(2, 10), work_of(2, 10, 3)
    rules.lower[1], rules.upper[1] = 0.0, 1.0
    work.matrices[FACTOR, 0, 0] = 1.0
    attempts = []
    for _ in range(2_000):
        attempts.append(_draw(members, rules, work, rng))
        assert 0 <= work.vectors[DRAW, 0] <= 1
    # P(0 < N(0, 1) < 1) = .3413, so attempts outside are geometric with mean 1.930 and deviation 2.378
    assert np.mean(attempts) == pytest.approx(1.930, abs=4 * 2.378 / 2_000**0.5)
    work.vectors[CENTRE, 0] = 1e6
    rules.least[1], rules.largest[1] = 0.25, 0.75
    draws = []
    for _ in range(200):
        assert _draw(members, rules, work, rng) == 100
        draws.append(work.vectors[DRAW, 0])
    assert 0.25 <= min(draws) < 0.3
    assert 0.7 < max(draws) <= 0.75


def test_the_mean_shift_halves_until_it_is_inside() -> None:
    rules, shift = rules_of(2, 10), np.array([1.0, 3.0])
    values = np.zeros(2)
    assert _shift(np.array([0, 1]), values, shift, 2.0, rules)
    assert values.tolist() == [2.0, 6.0]
    for upper, moved in ((3.1, 3.0), (2.9, 1.5)):
        rules.upper[1] = upper
        values[:] = 0.0
        assert _shift(np.array([1, 0]), values, shift, 2.0, rules)
        assert values.tolist() == [moved, moved / 3]
    rules.upper[1] = 1.6
    values[:] = 0.0
    _shift(np.array([1, 0]), values, shift, 2.0, rules)
    assert values.tolist() == [1.5, 0.5]
    values[:] = [1.6, 0.0]
    _shift(np.array([1, 0]), values, shift, 2.0, rules)
    assert values[0] == pytest.approx(1.6, abs=1e-8)
    values[:] = [1.7, 0.0]
    assert not _shift(np.array([1, 0]), values, shift, 2.0, rules)
    assert values.tolist() == [1.7, 0.0]


def adapted(
    multiplier: float, genotypes: list[float], *, best: float = 0.5, stalled: int = 0, deviation: float = 1.0
) -> float:
    """The multiplier of one variable with mean 0 after a step; objective = value squared."""
    x = np.array(genotypes)[:, None]
    rules, model, work = rules_of(1, len(x)), model_of(1), work_of(1, len(x), 2)
    model.counts[STALLED] = stalled
    work.matrices[FACTOR, 0, 0] = deviation
    multipliers = np.array([multiplier])
    _adapt(population_of(x, x[:, 0] ** 2), np.array([0]), multipliers, 0, (best, 0.0), rules, model, work)
    return float(multipliers[0])


def test_multipliers_follow_the_rules_of_amalgam() -> None:
    near, none = [0.1, -0.2, 5.0], [3.0, 4.0]
    # improvements within one standard deviation: at least 1; further out: wider
    assert adapted(1.0, near) == 1.0
    assert adapted(0.3, near) == 1.0
    assert adapted(2.0, near) == 2.0
    assert adapted(1.0, [0.6, 0.6], deviation=0.3) == pytest.approx(1 / 0.9)
    assert adapted(2.0, [-0.6, 0.7], deviation=0.01) == pytest.approx(2 / 0.9)
    # none: back towards 1, and below it only once the population has stalled for long
    assert adapted(2.0, none) == pytest.approx(1.8)
    assert adapted(1.05, none) == 1.0
    assert adapted(1.0, none) == 1.0
    assert adapted(0.5, none) == 1.0
    assert adapted(1.0, none, stalled=25) == pytest.approx(0.9)
    assert adapted(0.5, none, stalled=30) == pytest.approx(0.45)


def linkage_of(*subsets: list[int]) -> Linkage:
    return real_linkage_model(Custom(subsets)).learn(np.zeros((9, 9)), np.random.default_rng(0))


def test_multipliers_survive_a_relearned_tree() -> None:
    former = linkage_of([0], [1], [2], [0, 1], [0, 1, 2, 3])
    values = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    new = linkage_of([2], [1], [1, 0], [0, 1, 2], [5], [4, 5], [3, 2, 1, 0])
    carried = np.zeros(7)
    carry_multipliers(former, values, new, carried, np.zeros(9, np.int64))
    # [0, 1, 2] shares 6/7 with the four, 4/5 with the pair
    assert carried.tolist() == [0.3, 0.2, 0.4, 0.5, 1.0, 1.0, 0.5]


def test_moments_are_those_of_the_newest_selection() -> None:
    problem, rng, n = soreb_chain(3, initial_range=(0.0, 1.0)), np.random.default_rng(6), 12
    rules = rules_of(3, n)
    model, work = model_of(3), work_of(3, n, rules.n_selected, problem.n_terms)
    population = population_of(problem.sample(rng, n), np.zeros(n))._replace(
        terms=np.zeros((n, problem.n_terms))
    )
    data = problem.kernel_data(1)[0]
    initialise(data, population, rules, work, rng)
    former = np.zeros(3)
    for _ in range(4):
        estimate(population, rules, model, work, rng, True)
        mean = work.selected.mean(axis=0)
        np.testing.assert_allclose(model.covariance, np.cov(work.selected.T, bias=True))
        np.testing.assert_allclose(model.shift, mean - former)
        former = mean
        vary(data, population, linkage_of([2, 0]), np.ones(1), rules, model, work, rng)


def test_similarity_is_gaussian_information_with_guards() -> None:
    covariance = np.array([[4.0, 1.0, 0.0, 2.0], [1.0, 1.0, 0.0, 0.5], [0, 0, 0, 0], [2.0, 0.5, 0, 1.0]])
    similarity = gaussian_similarities(covariance)
    assert similarity[0, 1] == pytest.approx(-0.5 * np.log(1 - 0.25))
    # identical variables: large, but finite; constant ones: none
    assert 10 < similarity[0, 3] < 30
    assert (similarity[2] == 0).all()
    assert (similarity == similarity.T).all()


def test_the_tree_joins_correlated_variables_and_has_the_root() -> None:
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((200, 3))
    x = np.repeat(shared, 2, axis=1) + 0.1 * rng.standard_normal((200, 6))
    subsets = real_linkage_model("tree").learn(np.cov(x.T), rng).subsets()
    assert len(subsets) == len(set(subsets)) == 11
    assert {frozenset(s) for s in ([0, 1], [2, 3], [4, 5], range(6))} <= set(subsets)
    small = real_linkage_model(LinkageTree(max_set_size=2)).learn(np.cov(x.T), rng).subsets()
    assert sorted(map(len, small)) == [1] * 6 + [2] * 3
    assert real_linkage_model("tree").learn(np.eye(1), rng).subsets() == [{0}]
    fixed = InteractionTree([(0, 5), (1, 4), (2, 3)]).learn(np.eye(6), rng).subsets()
    assert {frozenset(s) for s in ([0, 5], [1, 4], [2, 3], range(6))} <= set(fixed)


def test_families_of_real_variables_and_their_errors() -> None:
    rng, covariance = np.random.default_rng(0), np.eye(5)
    assert real_linkage_model(Univariate()).learn(covariance, rng).subsets() == [{0}, {1}, {2}, {3}, {4}]
    assert real_linkage_model(Full()).learn(covariance, rng).subsets() == [{0, 1, 2, 3, 4}]
    assert Blocks(2).learn(covariance, rng).subsets() == [{0, 1}, {2, 3}, {4}]
    with pytest.raises(GomeaBnError, match="genes are 0 to 4"):
        real_linkage_model(Custom([[1, 5]])).learn(covariance, rng)
    with pytest.raises(GomeaBnError, match="without duplicates"):
        real_linkage_model(Custom([[1, 1]]))
    with pytest.raises(GomeaBnError, match="size must be"):
        Blocks(0)
    with pytest.raises(GomeaBnError, match="must be two different variables"):
        InteractionTree([(0, 0)]).learn(covariance, rng)
    with pytest.raises(GomeaBnError, match="states its interactions"):
        real_linkage_model("interaction-tree")
    with pytest.raises(GomeaBnError, match="linkage must be one of"):
        real_linkage_model("branches")


@pytest.mark.parametrize("linkage", ["tree", "univariate", "full"])
@pytest.mark.parametrize("accept_worse", [0.0, 0.3])
def test_a_generation_never_loses_the_best_and_keeps_its_books(linkage: str, accept_worse: float) -> None:
    problem, rng = soreb_chain(6, initial_range=(0.0, 1.0)), np.random.default_rng(3)
    n = 30
    rules = rules_of(6, n, accept_worse=accept_worse)
    model, work = model_of(6), work_of(6, n, rules.n_selected, problem.n_terms)
    population = population_of(problem.sample(rng, n), np.zeros(n))._replace(
        terms=np.zeros((n, problem.n_terms))
    )
    data = problem.kernel_data(1)[0]
    assert initialise(data, population, rules, work, rng) == ONGOING
    for _ in range(20):
        former_best = population.objectives.min()
        former = population.objectives[:, 0].copy()
        work.tallies[[EVALUATIONS, TOUCHED]] = 0
        estimate(population, rules, model, work, rng, True)
        subsets = real_linkage_model(linkage).learn(model.covariance, rng)
        assert (
            vary(data, population, subsets, np.ones(len(subsets.starts)), rules, model, work, rng) == ONGOING
        )
        assert population.objectives.min() <= former_best
        if accept_worse == 0:
            assert (population.objectives[:, 0] <= former * (1 + 1e-9)).all()
        shifted = rules.n_shifted if model.counts[GENERATIONS] > 1 else 0
        assert work.tallies[EVALUATIONS] == n * len(subsets.starts) + shifted
        np.testing.assert_array_equal(population.objectives[:, 0], population.terms.sum(axis=1))


def narrow_generation(
    rules: RealRules, stalls: NDArray[np.int64], linkage: Any
) -> tuple[RealPopulation, Matrix, RealWork]:
    """One generation on the sphere with distributions of no width; returns also the former genotypes."""
    problem, rng, n = sphere(3), np.random.default_rng(4), len(stalls)
    model, work = model_of(3), work_of(3, n, rules.n_selected, 3)
    # the last solution is the best one in every variable
    genotypes = np.repeat(10.0 + np.arange(n)[::-1, None], 3, axis=1)
    population = population_of(genotypes, np.zeros(n))._replace(terms=np.zeros((n, 3)))
    data = problem.kernel_data(1)[0]
    initialise(data, population, rules, work, rng)
    population.stalls[:] = stalls
    work.tallies[[EVALUATIONS, TOUCHED]] = 0
    former = population.genotypes.copy()
    subsets = linkage.learn(np.eye(3), rng)
    estimate(population, rules, model, work, rng, False)
    vary(data, population, subsets, np.full(len(subsets.starts), 1e-300), rules, model, work, rng)
    return population, former, work


def test_a_narrow_distribution_is_centred_at_the_best_solution() -> None:
    n = 10
    rules = rules_of(3, n, stall_limit=100, n_shifted=0)
    population, former, _ = narrow_generation(rules, np.zeros(n, np.int64), real_linkage_model(Full()))
    np.testing.assert_allclose(population.genotypes, np.tile(former[-1], (n, 1)), rtol=1e-12)


def test_the_best_solution_is_not_blended_with_itself() -> None:
    n = 10
    rules = rules_of(3, n, stall_limit=5, n_shifted=0)
    stalls = np.zeros(n, np.int64)
    stalls[-1] = 9
    # the other variables keep the last solution the only best one
    _, _, work = narrow_generation(rules, stalls, real_linkage_model(Custom([[0]])))
    assert work.tallies[EVALUATIONS] == n


def test_stalled_solutions_are_pulled_to_the_best() -> None:
    # distributions of no width move nothing, so that forced improvement alone can act
    problem, rng, n = sphere(3), np.random.default_rng(4), 10
    rules = rules_of(3, n, stall_limit=2, n_shifted=0)
    model, work = model_of(3), work_of(3, n, rules.n_selected, 3)
    population = population_of(10 + rng.random((n, 3)), np.zeros(n))._replace(terms=np.zeros((n, 3)))
    data = problem.kernel_data(1)[0]
    initialise(data, population, rules, work, rng)
    population.stalls[:] = 2
    former = population.objectives[:, 0].copy()
    best = int(former.argmin())
    subsets = real_linkage_model(Univariate()).learn(np.eye(3), rng)
    estimate(population, rules, model, work, rng, False)
    vary(data, population, subsets, np.full(len(subsets.starts), 1e-300), rules, model, work, rng)
    improved = population.objectives[:, 0] < former
    assert improved[np.arange(n) != best].all()
