"""The loss of a target given all other columns, against brute force over the rows."""

import itertools
from collections import Counter
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mo_oracles import check_partial_evaluation, full

from gomea_bn import GomeaBnError
from gomea_bn.problems import (
    FrontProblem,
    ScoredVariable,
    edge_rules,
    score_rule,
    scoring_method,
    smoothed_scorer,
)
from gomea_bn.problems.cuts import CutProblem, IntervalScore, policy_library

CLASS, NUMBER = 0, 3
AMOUNTS = (1, 4, 16, 64)


def make_case(
    seed,
    target=CLASS,
    *,
    n_rows=40,
    objectives=("target", "complexity"),
    pseudo_count=1.0,
    estimate="left-out",
    required=(),
    scale=1.0,
    **costs,
):
    """Return a problem of three discrete and three continuous columns that depend on each other."""
    generator = np.random.default_rng(seed)
    hidden = generator.normal(size=n_rows)
    levels = [generator.integers(0, k, n_rows) for k in (3, 2, 4)]
    levels = [np.where(hidden > 0, k % 2, code).astype(np.int32) for k, code in enumerate(levels)]
    numbers = [scale * np.round(hidden + generator.normal(size=n_rows), 1) for _ in range(3)]
    variables = [ScoredVariable(f"d{k}", code, 4 if k == 2 else 3 - k) for k, code in enumerate(levels)]
    variables += [
        ScoredVariable(f"x{k}", values, 0, policy_library(values, "equal-frequency", 5))
        for k, values in enumerate(numbers)
    ]
    rules = edge_rules(
        None, [v.name for v in variables], [v.n_levels or 2 for v in variables], max_indegree=3
    )
    for parent, child in required:
        rules.allowed[parent, child, 0] = rules.allowed[child, parent, 0] = False
    scorer = smoothed_scorer(variables, n_rows, pseudo_count, estimate=estimate, **costs)
    return FrontProblem(scorer, rules, objectives, target=target, initial_indegree=2.0)


def codes_of(problem, genotype):
    """The codes of every column under a genotype, (n_columns, n_rows), and their cardinalities."""
    views = problem.scorer.view_offset[:-1] + problem.policy_indices(genotype)
    return problem.scorer.rows.codes[views].astype(int), problem.scorer.rows.cardinality[views]


def probability(codes, cards, child, parents, row, others, amount, like_child):
    """P(child's value of a row | parents' values of it), counted from other rows."""
    same = others.copy()
    for parent in parents:
        same &= codes[parent] == row[parent]
    hits = codes[child] == row[child]
    base = 1 / cards[child]
    if like_child:
        base = ((hits & others).sum() + 1 / cards[child]) / (others.sum() + 1)
    if same.sum() + amount == 0:
        return 1 / cards[child]
    return ((same & hits).sum() + amount * base) / (same.sum() + amount)


def others_of(i, n_rows, estimate):
    return np.arange(n_rows) != i if estimate == "left-out" else np.ones(n_rows, bool)


def amount_of_family(codes, cards, child, parents, pseudo_count, estimate):
    """The smoothing of a family: the given one, or the one under which its own rows are most probable."""
    if pseudo_count != "auto":
        return pseudo_count, False
    n_rows = codes.shape[1]
    totals = [
        sum(
            log(
                probability(
                    codes, cards, child, parents, codes[:, i], others_of(i, n_rows, estimate), a, True
                )
            )
            for i in range(n_rows)
        )
        for a in AMOUNTS
    ]
    return AMOUNTS[int(np.argmax(totals))], True


def predictions(problem, genotype, pseudo_count, estimate):
    """P(value of the target | all other columns) of every row, which is left out of its tables, (n_rows, n_values)."""
    codes, cards = codes_of(problem, genotype)
    target = problem.target_variable
    parents = {v: [a for a, b in problem.edges(genotype) if b == v] for v in range(len(codes))}
    judged = [v for v in parents if v == target or target in parents[v]]
    smoothing = {v: amount_of_family(codes, cards, v, parents[v], pseudo_count, estimate) for v in judged}
    answers = []
    for i in range(codes.shape[1]):
        others = others_of(i, codes.shape[1], estimate)
        products = []
        for value in range(cards[target]):
            row = codes[:, i].copy()
            row[target] = value
            products.append(
                np.prod(
                    [probability(codes, cards, v, parents[v], row, others, *smoothing[v]) for v in judged]
                )
            )
        answers.append(np.array(products) / sum(products))
    return np.array(answers), judged, parents


def crps_of_row(values, codes, i, probabilities, leaves_out):
    """The integral of (F - step)^2 between neighbouring values, each bin spread over the values of its other rows."""
    points = np.unique(values)
    total = 0.0
    for low, high in itertools.pairwise(points):
        if high == low:
            continue
        # a bin without other rows is uniform, so that the integrand is a polynomial of degree 2: Simpson is exact
        integrand = [
            (distribution(values, codes, i, probabilities, leaves_out, low, x) - (x >= values[i])) ** 2
            for x in (low, (low + high) / 2, high)
        ]
        integrand[2] = (
            distribution(values, codes, i, probabilities, leaves_out, low, high) - (low >= values[i])
        ) ** 2
        total += (high - low) / 6 * (integrand[0] + 4 * integrand[1] + integrand[2])
    return total


def distribution(values, codes, i, probabilities, leaves_out, low, x):
    """F(x) for x from a value `low` to the next one: atoms up to `low`, and the uniform part of an empty bin."""
    total = 0.0
    for value, p in enumerate(probabilities):
        members = np.flatnonzero(codes == value)
        others = members[members != i] if leaves_out else members
        if len(others):
            total += p * (values[others] <= low).mean()
        elif len(members):
            start = values[members].min()
            above = values[values > values[members].max()]
            end = above.min() if len(above) else start
            total += p * (np.clip((x - start) / (end - start), 0, 1) if end > start else float(x >= start))
        else:
            above = values[codes > value]
            total += p * float(low >= (above.min() if len(above) else values.max()))
    return total


OPTIONS = st.sampled_from([(1.0, "left-out"), (0.25, "left-out"), ("auto", "left-out"), (1.0, "in-sample")])


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), OPTIONS)
def test_a_discrete_target_costs_what_its_probability_given_the_other_columns_says(seed, options):
    pseudo_count, estimate = options
    problem = make_case(seed, pseudo_count=pseudo_count, estimate=estimate)
    for genotype in problem.sample(np.random.default_rng(seed), 2):
        solution = full(problem, genotype)
        answers, *_ = predictions(problem, solution.genotype, pseudo_count, estimate)
        codes, _ = codes_of(problem, solution.genotype)
        expected = -np.log(answers[np.arange(len(answers)), codes[CLASS]]).mean()
        assert solution.objectives[0] == pytest.approx(expected, abs=1e-10)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), OPTIONS)
def test_a_continuous_target_costs_the_crps_of_its_bins(seed, options):
    pseudo_count, estimate = options
    problem = make_case(seed, NUMBER, n_rows=20, pseudo_count=pseudo_count, estimate=estimate)
    values = problem.scorer.variables[NUMBER].values
    for genotype in problem.sample(np.random.default_rng(seed), 2):
        solution = full(problem, genotype)
        answers, *_ = predictions(problem, solution.genotype, pseudo_count, estimate)
        codes, _ = codes_of(problem, solution.genotype)
        expected = np.mean(
            [
                crps_of_row(values, codes[NUMBER], i, answers[i], estimate == "left-out")
                for i in range(len(values))
            ]
        )
        assert solution.objectives[0] == pytest.approx(expected, abs=1e-10)


def test_a_crps_has_the_units_of_the_target():
    small, large = (make_case(1, NUMBER, scale=scale, cut_cost=0.5) for scale in (1.0, 8.0))
    for genotype in small.sample(np.random.default_rng(1), 5):
        assert full(large, genotype).objectives[0] == pytest.approx(8 * full(small, genotype).objectives[0])


def test_large_tables_are_counted_sparsely_with_the_same_result():
    problem = make_case(3, n_rows=12)
    # 5 x 5 x 5 x 3 x 2 cells of two families, more than 8 x 12 + 1024 where the fourth level joins them
    edges = [(0, 3), (4, 3), (5, 3), (2, 3), (3, 1), (4, 1), (5, 1), (2, 1), (0, 1)]
    problem.rules = problem.rules._replace(max_indegree=5)
    genotype = problem.genotype(edges, [0, 0, 0, 3, 3, 3])
    solution = full(problem, genotype)
    cards = codes_of(problem, solution.genotype)[1]
    assert np.prod(cards[[0, 4, 5, 2, 3]]) > 8 * 12 + 1024
    answers, judged, _ = predictions(problem, solution.genotype, 1.0, "left-out")
    codes, _ = codes_of(problem, solution.genotype)
    assert judged == [0, 1, 3]
    expected = -np.log(answers[np.arange(12), codes[CLASS]]).mean()
    assert solution.objectives[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("objectives", [("target", "complexity"), ("target", "misfit", "complexity")])
def test_families_that_no_objective_judges_have_no_edges_and_cost_nothing(objectives):
    problem = make_case(5, objectives=objectives, required=[(4, 5)])
    n_dropped = 0
    for genotype in problem.sample(np.random.default_rng(5), 20):
        solution = full(problem, genotype)
        _, cards = codes_of(problem, solution.genotype)
        _, judged, parents = predictions(problem, solution.genotype, 1.0, "left-out")
        counted = judged if "misfit" not in objectives else list(parents)
        sizes = {v: (cards[v] - 1) * np.prod(cards[parents[v]], dtype=int) for v in counted}
        assert solution.objectives[-1] == sum(sizes.values())
        edges = problem.edges(solution.genotype)
        assert {(4, 5), (5, 4)} & set(edges)
        if "misfit" not in objectives:
            # a required edge stays
            assert all(child in judged or {parent, child} == {4, 5} for parent, child in edges)
            n_dropped += len(problem.edges(genotype)) - len(edges)
    assert n_dropped > 20 if "misfit" not in objectives else True


@pytest.mark.parametrize("target", [CLASS, NUMBER])
def test_chosen_cuts_and_edges_of_judged_families_have_a_price(target):
    for genotype in make_case(6, target).sample(np.random.default_rng(6), 4):
        free, paid = (
            full(make_case(6, target, cut_cost=c, edge_cost=e), genotype) for c, e in ((0, 0), (0.5, 2.5))
        )
        problem = make_case(6, target)
        _, judged, parents = predictions(problem, paid.genotype, 1.0, "left-out")
        columns = {*judged, *(parent for v in judged for parent in parents[v])}
        policies = problem.policy_indices(paid.genotype).tolist()
        price = 2.5 * sum(len(parents[v]) for v in judged)
        for v in columns:
            variable = problem.scorer.variables[v]
            if not variable.n_levels:
                n_cuts = len(variable.policies[policies[v]].cut_points)
                # twice what the misfit charges
                price += 2 * 0.5 * n_cuts * log(len(np.unique(variable.values)) - 1)
        if target == CLASS:
            assert paid.objectives[0] - free.objectives[0] == pytest.approx(price / 40, abs=1e-12)
        else:
            # a nat makes a distribution narrower by the factor e
            assert paid.objectives[0] / free.objectives[0] == pytest.approx(exp(price / 40), rel=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([CLASS, NUMBER]), st.booleans())
def test_partial_evaluation_gives_the_same_bits_and_undoing_leaves_no_trace(seed, target, has_misfit):
    objectives = ("target", "misfit", "complexity") if has_misfit else ("target", "complexity")
    options = {"objectives": objectives, "pseudo_count": "auto", "cut_cost": 0.5}
    # the second one never evaluates a part of a network
    problem, whole = make_case(seed % 5, target, **options), make_case(seed % 5, target, **options)
    check_partial_evaluation(problem, whole, np.random.default_rng(seed), 3)


def log_likelihood_of_target(problem, genotype, column, cuts, price):
    """Sum of ln P(target | other members) over the families of both, minus a price per parameter."""
    codes, cards = codes_of(problem, genotype)
    codes[column] = np.searchsorted(cuts, problem.values(column))
    cards = cards.tolist()
    cards[column] = len(cuts) + 1
    parents = {v: [a for a, b in problem.edges(genotype) if b == v] for v in range(len(codes))}
    families = [{v, *parents[v]} for v in parents if v == CLASS or CLASS in parents[v]]
    total = 0.0
    for family in [f for f in families if column in f] or [{column, CLASS}]:
        others = [v for v in sorted(family) if v != CLASS]
        configurations = [tuple(row) for row in codes[others].T.tolist()]
        rows_of = Counter(configurations)
        cells = Counter(zip(configurations, codes[CLASS].tolist(), strict=True))
        total += sum(n * log(n / rows_of[configuration]) for (configuration, _), n in cells.items())
        total -= price * np.prod([cards[v] for v in others]) * (cards[CLASS] - 1)
    return total


@pytest.mark.parametrize("column", [3, 4, 5])
def test_columns_are_cut_for_what_they_tell_of_the_target(column):
    problem = make_case(7)
    # two families have column 3, one has column 4, and none has column 5
    genotype = problem.genotype([(0, 3), (4, 3), (0, 1), (3, 1)], [0, 0, 0, 1, 1, 1])
    around = problem.coded_network(genotype).neighbourhood(column)
    method = scoring_method("density-bic")
    score = IntervalScore(method, score_rule(method, 40, penalty=1.5))
    cut_problem = CutProblem.of_rows(problem.sorted_column(column), around, score, problem.shape(column))
    values = np.unique(problem.values(column))
    middles = (values[:-1] + values[1:]) / 2
    several = [np.empty(0), middles[[5]], middles[[3, 9]], middles[[2, 6, 11]]]
    ours = [cut_problem.value(cuts) for cuts in several]
    expected = [log_likelihood_of_target(problem, genotype, column, cuts, 1.5) for cuts in several]
    np.testing.assert_allclose(np.diff(ours), np.diff(expected), atol=1e-9)


def test_many_families_of_sure_answers_stay_finite():
    generator = np.random.default_rng(0)
    code = generator.integers(0, 2, 200).astype(np.int32)
    copies = [code.copy() for _ in range(60)]
    # one row in which all copies contradict the target
    code[0] = 1 - code[0]
    variables = [ScoredVariable(f"d{k}", column, 2) for k, column in enumerate([code, *copies])]
    rules = edge_rules(None, [v.name for v in variables], [2] * 61, max_indegree=3)
    scorer = smoothed_scorer(variables, 200, 0.001, estimate="left-out")
    problem = FrontProblem(scorer, rules, ("target", "complexity"), target=0)
    solution = full(problem, problem.genotype([(0, k) for k in range(1, 61)], [0] * 61))
    # the smallest probability that counts is 1e-100
    assert solution.objectives[0] == pytest.approx(100 * log(10) / 200, rel=1e-3)


def test_a_target_and_its_objective_need_each_other():
    with pytest.raises(GomeaBnError, match="'target' needs a variable"):
        make_case(0, None)
