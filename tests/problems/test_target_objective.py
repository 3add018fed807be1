"""The loss of a target given all other columns, against brute force over the rows."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_examples import journal_of, unevaluated

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.base import evaluate, evaluate_partial, set_gene, undo
from gomea_bn.problems.cuts.policies import policy_library
from gomea_bn.problems.front_problem import FrontProblem, smoothed_scorer
from gomea_bn.problems.knowledge import edge_rules
from gomea_bn.problems.scoring.scored_columns import ScoredVariable

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
    **costs,
):
    """Return a problem of three discrete and three continuous columns that depend on each other."""
    generator = np.random.default_rng(seed)
    hidden = generator.normal(size=n_rows)
    levels = [generator.integers(0, k, n_rows) for k in (3, 2, 4)]
    levels = [np.where(hidden > 0, k % 2, code).astype(np.int32) for k, code in enumerate(levels)]
    numbers = [np.round(hidden + generator.normal(size=n_rows), 1) for _ in range(3)]
    variables = [ScoredVariable(f"d{k}", code, 4 if k == 2 else 3 - k) for k, code in enumerate(levels)]
    variables += [
        ScoredVariable(f"x{k}", values, 0, policy_library(values, "equal-frequency", 5))
        for k, values in enumerate(numbers)
    ]
    rules = edge_rules(None, [v.name for v in variables], [v.n_levels or 2 for v in variables], max_indegree=3)
    for parent, child in required:
        rules.allowed[parent, child, 0] = rules.allowed[child, parent, 0] = False
    scorer = smoothed_scorer(variables, n_rows, pseudo_count, estimate=estimate, **costs)
    return FrontProblem(scorer, rules, objectives, target=target, initial_indegree=2.0)


def full(problem, genotype):
    solution = unevaluated(problem, genotype)
    evaluate(problem.kernel_data(1)[0], solution, journal_of(problem), np.random.default_rng(0))
    return solution


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
            log(probability(codes, cards, child, parents, codes[:, i], others_of(i, n_rows, estimate), a, True))
            for i in range(n_rows)
        )
        for a in AMOUNTS
    ]
    return AMOUNTS[int(np.argmax(totals))], True


def predictions(problem, genotype, pseudo_count, estimate):
    """P(value of the target | all other columns) of every row, which is left out of its tables, (n_rows, n_values)."""
    codes, cards = codes_of(problem, genotype)
    target = problem.target
    parents = {v: [a for a, b in problem.edges(genotype) if b == v] for v in range(len(codes))}
    judged = [v for v in parents if v == target or target in parents[v]]
    smoothing = {
        v: amount_of_family(codes, cards, v, parents[v], pseudo_count, estimate) for v in judged
    }
    answers = []
    for i in range(codes.shape[1]):
        others = others_of(i, codes.shape[1], estimate)
        products = []
        for value in range(cards[target]):
            row = codes[:, i].copy()
            row[target] = value
            products.append(
                np.prod(
                    [
                        probability(codes, cards, v, parents[v], row, others, *smoothing[v])
                        for v in judged
                    ]
                )
            )
        answers.append(np.array(products) / sum(products))
    return np.array(answers), judged, parents


def crps_of_row(values, codes, i, probabilities, leaves_out):
    """The integral of (F - step)^2 between neighbouring values, each bin spread over the values of its other rows."""
    points = np.unique(values)
    total = 0.0
    for low, high in zip(points, points[1:], strict=False):
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
