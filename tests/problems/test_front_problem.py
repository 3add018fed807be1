from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mo_oracles import check_partial_evaluation, full
from shaped_examples import shaped_table
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape, fit_shape, read_table
from gomea_bn.expert.distance import draw_expert_sample, expert_distance, mentioned_names
from gomea_bn.learning.search.shown_cuts import learned_shapes
from gomea_bn.problems import FrontProblem, ScoredVariable, edge_rules, smoothed_scorer
from gomea_bn.problems.cuts import Policy, policy_library
from gomea_bn.simulation import random_network

ALL_THREE = ("misfit", "complexity", "expert_distance")


def make_case(
    seed, *, n_variables=5, n_rows=120, pseudo_count=1.0, max_bins=5, estimate="in-sample", **options
):
    truth = random_network(n_variables, random_state=seed)
    table = read_table(truth.sample(n_rows, seed))
    frame = pd.DataFrame(
        {
            c.name: c.values if c.is_continuous else pd.Categorical.from_codes(c.values, untyped(c.levels))
            for c in table.columns
        }
    )
    expert = DiscretizedBayesNet.from_table(
        table,
        truth.edges,
        {c.name: np.quantile(c.values, [0.3, 0.7]) for c in table.columns if c.is_continuous},
        pseudo_count=2.0,
    )
    variables = [
        ScoredVariable(c.name, c.values, 0, policy_library(c.values, "equal-frequency", max_bins))
        if c.is_continuous
        else ScoredVariable(c.name, c.values, len(c.levels))
        for c in table.columns
    ]
    rules = edge_rules(None, table.names, [v.n_levels or 2 for v in variables], max_indegree=3)
    scorer = smoothed_scorer(variables, n_rows, pseudo_count, estimate=estimate)
    sample = draw_expert_sample(expert, 256, seed)
    problem = FrontProblem(scorer, rules, ALL_THREE, expert=sample, **options)
    return problem, table, frame, expert, sample


def network_of(problem, table, genotype, pseudo_count):
    chosen = zip(problem.scorer.variables, problem.policy_indices(genotype).tolist(), strict=True)
    cuts = {v.name: v.policies[k].cut_points for v, k in chosen if not v.n_levels}
    edges = [(table.names[a], table.names[b]) for a, b in problem.edges(genotype)]
    shapes = learned_shapes(problem, genotype)
    return DiscretizedBayesNet.from_table(table, edges, cuts, pseudo_count=pseudo_count, shapes=shapes)


def sample_frame(table, sample):
    return pd.DataFrame(
        {
            c.name: values if c.is_continuous else pd.Categorical.from_codes(values, c.levels)
            for c, values in zip(table.columns, sample.values, strict=True)
        }
    )


@settings(max_examples=12)
@given(st.integers(0, 1000), st.sampled_from([0.25, 1.0, 8.0]))
def test_objectives_are_those_of_the_network_that_the_genotype_means(seed, pseudo_count):
    problem, table, frame, expert, sample = make_case(seed, pseudo_count=pseudo_count)
    for genotype in problem.sample(np.random.default_rng(seed), 4):
        solution = full(problem, genotype)
        network = network_of(problem, table, solution.genotype, pseudo_count)
        drawn = sample_frame(table, sample)
        assert solution.objectives[0] == pytest.approx(-network.score(frame), abs=1e-10)
        assert solution.objectives[1] == network.n_parameters
        expected = max(0.0, expert.score(drawn) - network.score(drawn))
        assert solution.objectives[2] == pytest.approx(expected, abs=1e-10)


def left_out_score(network, table, probability):
    """The mean log density of the rows, each with the probabilities that `probability` gives its cells."""
    frame = table.to_frame()
    codes = {
        c.name: np.searchsorted(network.cut_points[c.name], c.values) if c.is_continuous else c.values
        for c in table.columns
    }
    total = network.score(frame)
    for name in network.names:
        parents = network.parents(name)
        configurations = (
            list(zip(*(codes[parent].tolist() for parent in parents), strict=True)) or [()] * table.n_rows
        )
        cells = list(zip(configurations, codes[name].tolist(), strict=True))
        rows_of, cells_of = Counter(configurations), Counter(cells)
        marginal = Counter(codes[name].tolist())
        card = network.cardinality(name)
        logs = [
            probability(cells_of[c, k], rows_of[c], marginal[k], card) - log(network.tables[name][(*c, k)])
            for c, k in cells
        ]
        total += sum(logs) / table.n_rows
    return total


@settings(max_examples=12)
@given(st.integers(0, 1000), st.sampled_from([0.25, 1.0, 8.0]))
def test_a_misfit_can_leave_every_row_out_of_its_own_table(seed, pseudo_count):
    problem, table, *_ = make_case(seed, pseudo_count=pseudo_count, estimate="left-out")
    for genotype in problem.sample(np.random.default_rng(seed), 4):
        solution = full(problem, genotype)
        network = network_of(problem, table, solution.genotype, pseudo_count)
        expected = left_out_score(
            network,
            table,
            lambda cell, row, _marginal, card: log(
                (cell - 1 + pseudo_count / card) / (row - 1 + pseudo_count)
            ),
        )
        assert solution.objectives[0] == pytest.approx(-expected, abs=1e-10)


@pytest.mark.parametrize(("estimate", "cost"), [("left-out", 0.5), ("in-sample", 0.0)])
def test_a_left_out_misfit_pays_for_chosen_cuts(estimate, cost):
    values = np.random.default_rng(3).normal(size=60)
    cuts = np.array([-0.5, 0.1, 0.8])
    variables = [
        ScoredVariable("x", values, 0, (Policy(np.empty(0)), Policy(cuts))),
        ScoredVariable("y", (values > 0).astype(np.int32), 2),
    ]
    rules = edge_rules(None, ("x", "y"), [2, 2], max_indegree=1)
    misfits = []
    for cut_cost in (0.0, 0.5):
        scorer = smoothed_scorer(variables, 60, 1.0, estimate=estimate, cut_cost=cut_cost)
        problem = FrontProblem(scorer, rules, ("misfit", "complexity"))
        misfits.append(full(problem, problem.genotype([(0, 1)], [1, 0])).objectives[0])
    # 60 distinct values have 59 gaps
    assert misfits[1] - misfits[0] == pytest.approx(cost * 3 * log(59) / 60, abs=1e-12)


@pytest.mark.parametrize(("estimate", "cost"), [("left-out", 2.5), ("in-sample", 0.0)])
def test_a_left_out_misfit_pays_for_edges(estimate, cost):
    codes = np.random.default_rng(3).integers(0, 2, (3, 60)).astype(np.int32)
    variables = [ScoredVariable(name, column, 2) for name, column in zip("xyz", codes)]
    rules = edge_rules(None, ("x", "y", "z"), [2, 2, 2], max_indegree=2)
    for edges in ([], [(0, 2)], [(0, 2), (1, 2)]):
        misfits = []
        for edge_cost in (0.0, 2.5):
            scorer = smoothed_scorer(variables, 60, 1.0, estimate=estimate, edge_cost=edge_cost)
            problem = FrontProblem(scorer, rules, ("misfit", "complexity"))
            misfits.append(full(problem, problem.genotype(edges, [0, 0, 0])).objectives[0])
        assert misfits[1] - misfits[0] == pytest.approx(cost * len(edges) / 60, abs=1e-12)


def test_automatic_misfits_take_the_best_amount_of_every_family():
    problem, table, *_ = make_case(4, n_rows=40, pseudo_count="auto", estimate="left-out")
    chosen = set()
    for genotype in problem.sample(np.random.default_rng(4), 6):
        solution = full(problem, genotype)
        network = network_of(problem, table, solution.genotype, 1.0)
        by_amount = [
            [left_out_terms(network, table, child, amount) for child in network.names]
            for amount in (1, 4, 16, 64)
        ]
        chosen |= set(np.argmax(by_amount, axis=0).tolist())
        expected = left_out_score(network, table, lambda *_: 0.0) + np.max(by_amount, axis=0).sum()
        assert solution.objectives[0] == pytest.approx(-expected, abs=1e-10)
    assert len(chosen) > 1


def left_out_terms(network, table, child, amount):
    """The mean log probability of a child's codes, smoothed by an amount towards its distribution without parents."""
    codes = {
        c.name: np.searchsorted(network.cut_points[c.name], c.values) if c.is_continuous else c.values
        for c in table.columns
    }
    n, card = table.n_rows, network.cardinality(child)
    total = 0.0
    for i in range(n):
        others = np.arange(n) != i
        same = others.copy()
        for parent in network.parents(child):
            same &= codes[parent] == codes[parent][i]
        is_code = codes[child] == codes[child][i]
        base = ((others & is_code).sum() + 1 / card) / n
        total += log(((same & is_code).sum() + amount * base) / (same.sum() + amount))
    return total / n


def test_large_tables_are_counted_sparsely_with_the_same_result():
    problem, table, frame, _expert, sample = make_case(
        3, n_variables=6, n_rows=40, max_bins=9, initial_indegree=2.5
    )
    sizes = []
    for genotype in problem.sample(np.random.default_rng(1), 12):
        genotype[problem.n_edge_genes :] = problem.alphabet[problem.n_edge_genes :] - 1
        solution = full(problem, genotype)
        network = network_of(problem, table, solution.genotype, 1.0)
        sizes.append(max(probabilities.size for probabilities in network.tables.values()))
        drawn = sample_frame(table, sample)
        assert solution.objectives[0] == pytest.approx(-network.score(frame), abs=1e-10)
        assert solution.terms[12:].sum() == pytest.approx(-network.score(drawn), abs=1e-9)
    # cells above 8 * 40 + 1024 are not counted one by one
    assert max(sizes) > 1344


@pytest.mark.long
@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(1, 12))
def test_partial_evaluation_gives_the_same_bits_and_undoing_leaves_no_trace(seed, n_changes):
    problem, *_ = make_case(seed % 7)
    generator = np.random.default_rng(seed)
    check_partial_evaluation(problem, problem, generator, n_changes % problem.n_variables + 1)


def exact_kl(expert, network):
    """Return KL(expert || network) by enumeration of all cells between the union of both networks' cuts."""
    pieces = []
    for name in expert.names:
        if name in expert.cut_points:
            low, high = expert.support[name]
            edges = np.unique(
                np.concatenate(([low], expert.cut_points[name], network.cut_points[name], [high]))
            )
            pieces.append([(0.5 * (a + b), b - a) for a, b in pairwise(edges)])
        else:
            pieces.append([(level, 1.0) for level in expert.levels[name]])
    cells = list(product(*pieces))
    frame = pd.DataFrame([[part[0] for part in cell] for cell in cells], columns=list(expert.names))
    for name, levels in expert.levels.items():
        frame[name] = pd.Categorical(frame[name], categories=list(levels))
    volume = np.array([np.prod([part[1] for part in cell]) for cell in cells])
    p, q = expert.log_density(frame), network.log_density(frame)
    mass = np.exp(p) * volume
    assert mass.sum() == pytest.approx(1.0)
    return float((mass * (p - q)).sum())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_sampled_distance_is_near_the_exact_one(seed):
    problem, table, _frame, expert, _sample = make_case(seed, n_variables=4)
    sample = draw_expert_sample(expert, 4096, 0)
    fine = FrontProblem(problem.scorer, problem.edge_rules, ["expert_distance"], expert=sample)
    assert draw_expert_sample(expert, 4000, 0).mean_log_density == sample.mean_log_density
    for genotype in problem.sample(np.random.default_rng(seed), 3):
        solution = full(fine, genotype)
        exact = exact_kl(expert, network_of(problem, table, solution.genotype, 1.0))
        assert solution.objectives[0] == pytest.approx(exact, abs=0.02)


def test_a_stratified_sample_has_the_networks_own_moments():
    network = random_network(6, random_state=4)
    sample = draw_expert_sample(network, 8192, 1)
    frame = sample_frame(read_table(network.sample(50, 1)), sample)
    # the entropy by plain sampling has a standard error ten times larger than the tolerance of the stratified mean
    plain = [network.score(network.sample(8192, seed)) for seed in range(8)]
    assert sample.mean_log_density == pytest.approx(np.mean(plain), abs=4 * np.std(plain) / np.sqrt(8) + 0.01)
    assert network.score(frame) == pytest.approx(sample.mean_log_density, abs=1e-9)


def test_a_network_equal_to_the_experts_has_distance_zero():
    problem, table, _frame, _expert, _sample = make_case(5)
    genotype = full(problem, problem.sample(np.random.default_rng(5), 1)[0]).genotype
    same = network_of(problem, table, genotype, 1.0)
    sample = draw_expert_sample(same, 512, 3)
    expert_problem = FrontProblem(problem.scorer, problem.edge_rules, ALL_THREE, expert=sample)
    assert full(expert_problem, genotype).objectives[2] == pytest.approx(0.0, abs=1e-12)


def shaped_case(seed, pseudo_count=1.0):
    """Return a problem in which the bins of some policies have shapes and of others not, its table and an expert."""
    table = shaped_table(150, seed)
    variables = []
    for column in table.columns:
        shape = fit_shape(column.values)
        if column.name == "cause":
            # a histogram of as many bins as the finest policy has, whose uniform bins are as good; coarser ones are not
            counts, knots = np.histogram(column.values, 6)
            heights = (6 * counts / counts.sum()).tolist()
            shape = replace(shape, shape=Shape(knots.tolist(), heights, heights))
        elif column.name == "flat":
            shape = replace(shape, may_be_shaped=False)
        policies = policy_library(column.values, "equal-width", 6)
        variables.append(ScoredVariable(column.name, column.values, 0, policies, shape))
    rules = edge_rules(None, table.names, [2] * 4, max_indegree=3)
    expert = DiscretizedBayesNet.from_table(
        table,
        [("cause", "rain"), ("tail", "flat")],
        {c.name: np.quantile(c.values, [0.6, 0.8]) for c in table.columns},
        pseudo_count=2.0,
        # "flat" is uniform in all networks of the problem
        shapes={v.name: v.shape.shape for v in variables},
    )
    scorer = smoothed_scorer(variables, table.n_rows, pseudo_count)
    sample = draw_expert_sample(expert, 256, seed)
    return FrontProblem(scorer, rules, ALL_THREE, expert=sample), table, expert


@pytest.mark.parametrize("seed", range(3))
def test_objectives_count_shapes_and_point_masses(seed):
    problem, table, expert = shaped_case(seed, pseudo_count=0.5 + seed)
    used = set()
    for genotype in problem.sample(np.random.default_rng(seed), 12):
        solution = full(problem, genotype)
        network = network_of(problem, table, solution.genotype, 0.5 + seed)
        used |= {("cause" in network.shapes, tuple(name for name in network.shapes if name != "cause"))}
        assert solution.objectives[0] == pytest.approx(-network.score(table.to_frame()), abs=1e-10)
        distance = expert_distance(expert, network, n_samples=256, random_state=seed)
        assert solution.objectives[2] == pytest.approx(distance, abs=1e-10)
        same = draw_expert_sample(network, 256, seed)
        itself = FrontProblem(problem.scorer, problem.edge_rules, ["expert_distance"], expert=same)
        assert full(itself, solution.genotype).objectives[0] == pytest.approx(0.0, abs=1e-12)
    assert used == {(False, ("rain", "tail")), (True, ("rain", "tail"))}


def test_repeated_values_have_densities_where_bins_are_uniform():
    table = shaped_table(150)
    rain = table.columns[1]
    shape = replace(fit_shape(rain.values), may_be_shaped=False)
    assert shape.shape.points
    policies = policy_library(rain.values, "equal-width", 4)
    variables = [ScoredVariable(rain.name, rain.values, 0, policies, shape)]
    scorer = smoothed_scorer(variables, table.n_rows, 1.0)
    problem = FrontProblem(scorer, edge_rules(None, [rain.name], [2]), ["misfit", "complexity"])
    for genotype in problem.sample(np.random.default_rng(0), 4):
        cuts = policies[int(problem.policy_indices(genotype)[0])].cut_points
        alone = read_table(table.to_frame()[["rain"]], kinds={"rain": "continuous"})
        network = DiscretizedBayesNet.from_table(alone, [], {"rain": cuts}, pseudo_count=1.0)
        assert full(problem, genotype).objectives[0] == pytest.approx(
            -network.score(alone.to_frame()), abs=1e-10
        )


def test_columns_that_the_expert_does_not_mention_do_not_count():
    problem, table, _frame, expert, _sample = make_case(6)
    sample = draw_expert_sample(expert, 256, 0, frozenset(table.names[:2]))
    assert sample.mentioned.tolist() == [True, True, False, False, False]
    part = FrontProblem(problem.scorer, problem.edge_rules, ["expert_distance"], expert=sample)
    genotype = problem.sample(np.random.default_rng(0), 1)[0]
    solution = full(part, genotype)
    assert (solution.terms[10:12] != 0).all()
    assert (solution.terms[12:] == 0).all()


@pytest.mark.parametrize("not_mentioned", [[], ["x2", "x3"]])
def test_one_function_gives_the_objective_of_any_network(not_mentioned):
    problem, table, _frame, expert, _sample = make_case(9)
    names = table.names
    fit = {"expert_fit": {"not_mentioned": [names[i] for i in range(len(not_mentioned))]}}
    expert = DiscretizedBayesNet.from_table(
        table, expert.edges, expert.cut_points, pseudo_count=2.0, metadata=fit
    )
    mentioned = mentioned_names(expert)
    assert len(mentioned) == 5 - len(not_mentioned)
    sample = draw_expert_sample(expert, 4096, 0, mentioned)
    part = FrontProblem(problem.scorer, problem.edge_rules, ["expert_distance"], expert=sample)
    for genotype in problem.sample(np.random.default_rng(0), 3):
        solution = full(part, genotype)
        network = network_of(problem, table, solution.genotype, 1.0)
        assert expert_distance(expert, network) == pytest.approx(solution.objectives[0], abs=1e-10)
    assert expert_distance(expert, expert) == pytest.approx(0.0, abs=1e-12)


def test_networks_over_the_limit_are_infeasible_by_their_excess():
    problem, *_ = make_case(7, max_parameters=30.0)
    excesses = []
    for genotype in problem.sample(np.random.default_rng(0), 8):
        solution = full(problem, genotype)
        excesses.append(solution.objectives[1] / 30.0 - 1.0)
        assert solution.violation[0] == pytest.approx(max(0.0, excesses[-1]))
    assert min(excesses) < 0 < max(excesses)


def test_objectives_of_ones_own_and_their_errors():
    base, *_ = make_case(8)
    seen = []

    def n_arcs(genotype):
        seen.append(genotype.copy())
        return float(np.count_nonzero(genotype[: base.n_edge_genes]))

    problem = FrontProblem(
        base.scorer, base.edge_rules, ["misfit", "n_arcs"], user_objectives={"n_arcs": n_arcs}
    )
    genotype = problem.sample(np.random.default_rng(0), 1)[0]
    solution = full(problem, genotype)
    assert solution.objectives[1] == np.count_nonzero(solution.genotype[: base.n_edge_genes])
    assert (seen[-1] == solution.genotype).all()

    def broken(_genotype):
        raise ValueError("no value today")

    problem = FrontProblem(
        base.scorer, base.edge_rules, ["misfit", "broken"], user_objectives={"broken": broken}
    )
    data = problem.kernel_data(1)[0]
    solution = full(problem, genotype)
    assert solution.objectives[1] == np.inf
    with pytest.raises(ValueError, match="no value today"):
        problem.chunk_ended(0, data)


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        (["misfit", "misfit"], "different names"),
        ([], "different names"),
        (["misfits"], r"out of \['misfit', 'complexity', 'expert_distance', 'target'\], got \['misfits'\]"),
        (["misfit", "expert_distance"], "needs an expert's network"),
    ],
)
def test_objectives_that_make_no_sense_are_refused(objectives, message):
    problem, *_ = make_case(1)
    with pytest.raises(GomeaBnError, match=message):
        FrontProblem(problem.scorer, problem.edge_rules, objectives)


def test_an_infinite_distance_is_refused_beforehand():
    with pytest.raises(GomeaBnError, match="pseudo_count above 0"):
        make_case(1, pseudo_count=0.0)
