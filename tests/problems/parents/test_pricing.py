"""Parent pricing: growing libraries of parent sets, and the graphs that they improve."""

import itertools
import json
from functools import partial

import numpy as np
import pytest
from certainty_examples import discrete_frame, scored_graphs
from learning_inside import of_problems
from option_examples import table_problem
from oracles import broken_rules, make_problem
from parent_set_examples import NEVER, empty, halves_problem, pricer_of, problem_of, score_of
from pricing_examples import curved_column, curves_scorer

from gomea_bn import GOMEA, BayesNetLearner, ExpertKnowledge, GomeaBnWarning, read_table
from gomea_bn.problems import ParentLibraries, ScoredFamily, ScoredVariable, parents
from gomea_bn.problems.parents import (
    OrderStarts,
    Parents,
    arcs_of,
    pairs_of_climbs,
    random_order,
    widened_pairs,
)
from gomea_bn.runtime import FitClock


@pytest.fixture(params=[False, True], ids=["single moves", "chains"])
def chained(request, monkeypatch):
    """Let graphs of few variables be improved by moves of chains too, or not."""
    if request.param:
        monkeypatch.setattr(parents, "_FEWEST_CHAINED", 0)


def test_stopped_climb_scores_no_further_families():
    problem = problem_of(discrete_frame(3, 6, 200))
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    sets = libraries.climbed(np.arange(6), np.random.default_rng(0), np.ones(1, np.uint8))
    assert sets == [()] * 6
    assert libraries.n_scored == 6


@pytest.mark.parametrize("seed", range(6))
def test_repeated_search_finds_the_best_of_all_graphs(seed, chained):
    frame = discrete_frame(seed, 4)
    problem = problem_of(frame, max_indegree=3)
    pricer, rng = pricer_of(problem), np.random.default_rng(seed)
    genotype = empty(problem)
    for _ in range(20):
        improved = pricer.improved(genotype, rng, lambda gene: np.empty(0, np.int64))
        assert score_of(problem, improved) >= score_of(problem, genotype) - 1e-9
        genotype = improved
    best = max(score for _, score in scored_graphs(frame, 3))
    assert score_of(problem, genotype) == pytest.approx(best, abs=1e-8)


def test_pairs_of_parents_that_count_only_together_enter():
    rng = np.random.default_rng(1)
    a, b, other = rng.integers(0, 2, (3, 400))
    columns = [a ^ b, a, b, other]
    variables = [ScoredVariable(f"v{i}", c.astype(np.int32), 2) for i, c in enumerate(columns)]
    for most, expected in ((2, True), (1, False)):
        problem = make_problem(variables, knowledge=ExpertKnowledge(max_indegree=most))
        libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
        libraries.enter_pairs(NEVER)
        sets = libraries.state()["sets"][0]
        assert ([0, 1, 2] in sets) == expected
        assert [0, 1, 3] not in sets
    required = ExpertKnowledge(required_edges=[("v3", "v0")], max_table_cells=16)
    problem = make_problem(variables, knowledge=required)
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    libraries.enter_pairs(NEVER)
    assert [0, 1, 2, 3] in libraries.state()["sets"][0]
    stopped = ParentLibraries(problem.scorer, problem.edge_rules, None)
    stopped.enter_pairs(np.ones(1, np.uint8))
    assert stopped.n_scored == 4


def test_kicks_with_curves_score_the_neighbours_of_graphs_alone():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(6, 120))
    for child in range(1, 6):
        values[child] += values[:child].sum(axis=0) / np.sqrt(child)
    scorer = curves_scorer([curved_column(f"v{v}", column) for v, column in enumerate(values)])
    rules = problem_of(discrete_frame(3, 6, 120)).edge_rules
    libraries = ParentLibraries(scorer, rules, None)
    sets = libraries.climbed(np.arange(6), np.random.default_rng(0), NEVER)
    n_scored = []
    for _ in range(4):
        order = random_order(sets, np.random.default_rng(1))
        sets = libraries.kicked(order, np.random.default_rng(0), NEVER, (0,), 0)
        n_scored.append(libraries.n_scored)
    # the graph stays the same
    assert n_scored[-1] == n_scored[-2]
    order = random_order(sets, np.random.default_rng(1))
    libraries.climbed(order, np.random.default_rng(0), NEVER)
    assert libraries.n_scored > n_scored[-1]


def test_deadline_within_a_round_ends_it():
    problem = problem_of(discrete_frame(3, 8, 300))
    everything = ~np.eye(8, dtype=np.bool_)
    n_scored = []
    for n_asked in (0, 3, 12, 10_000):
        answers = iter([False] * n_asked)
        libraries = ParentLibraries(
            problem.scorer, problem.edge_rules, everything, partial(next, answers, True)
        )
        stop = np.zeros(1, np.uint8)
        libraries.enter_pairs(stop)
        sets = libraries.improved(np.arange(8), np.random.default_rng(0), stop)
        assert len(sets) == 8
        assert stop[0] == (n_asked < 10_000)
        n_scored.append(libraries.n_scored)
    assert n_scored == sorted(set(n_scored))
    # a graph within the pairs exists at any time
    pairs, edges = widened_pairs(
        problem.scorer, problem.edge_rules, everything, np.random.default_rng(0), lambda: True
    )
    assert edges == []
    assert (pairs == everything).all()


def test_library_has_the_neighbours_that_gain_and_all_smaller_sets():
    problem = problem_of(discrete_frame(3, 5, 200))
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    libraries.enter(0, (1, 3))
    assert libraries.expand(0, (1, 3))
    assert not libraries.expand(0, (1, 3))
    known = {tuple(members[1:]): members[0] for members in libraries.state()["sets"][0]}
    assert {(), (1,), (3,), (1, 3)} <= set(known)
    assert known[1, 3] == 1
    assert known[1,] == 0
    larger = [tuple(sorted((1, 3, p))) for p in (2, 4)]
    scores = problem.scorer.score([ScoredFamily((0, 0), tuple((p, 0) for p in s)) for s in [(1, 3), *larger]])
    assert [s in known for s in larger] == [score > scores[0] for score in scores[1:]]


def test_rules_hold_in_every_improved_graph(chained):
    frame = discrete_frame(2, 6, 300)
    names = list(frame.columns)
    knowledge = ExpertKnowledge(
        required_edges=[(names[5], names[0])],
        forbidden_edges=[(names[1], names[2])],
        temporal_order=[[names[3]], [names[4]]],
        max_indegree=2,
        max_table_cells=20,
    )
    problem = problem_of(frame, knowledge=knowledge)
    pricer, rng = pricer_of(problem), np.random.default_rng(1)
    genotype = problem.genotype([(5, 0)], [0] * 6)
    for _ in range(10):
        genotype = pricer.improved(genotype, rng, lambda gene: np.empty(0, np.int64))
        assert broken_rules(problem, genotype, knowledge) == []
    assert len(problem.edges(genotype)) > 1
    joined = pairs_of_climbs(problem.scorer, problem.edge_rules, 3, rng)
    assert joined[0, 5]
    assert (joined == joined.T).all()
    assert not joined.diagonal().any()


def test_pairs_without_genes_stay_apart():
    frame = discrete_frame(2, 6, 300)
    table = read_table(frame)
    pairs = np.zeros((6, 6), np.bool_)
    pairs[0, 1] = pairs[1, 0] = pairs[2, 3] = pairs[3, 2] = True
    problem = table_problem(table, scoring_method="bdeu", max_candidates=None, pairs=pairs)
    pricer, rng = pricer_of(problem), np.random.default_rng(0)
    improved = pricer.improved(empty(problem), rng, lambda gene: np.empty(0))
    further = pricer.from_orders(improved, rng)
    for graph in (improved, further):
        assert {frozenset(edge) for edge in problem.edges(graph)} <= {frozenset({0, 1}), frozenset({2, 3})}
    assert score_of(problem, further) >= score_of(problem, improved) - 1e-9


def test_pairs_widen_where_a_further_or_another_parent_pays():
    rng = np.random.default_rng(2)
    a, b, noise = rng.integers(0, 3, (3, 600))
    # a rough copy of `b` hides it, and `a` pays next to either
    rough = np.where(rng.random(600) < 0.2, rng.integers(0, 3, 600), b)
    columns = [(a + b) // 2, a, b, rough, noise]
    columns = [column.astype(np.int32) for column in columns]
    problem = make_problem([ScoredVariable(f"v{i}", column, 3) for i, column in enumerate(columns)])
    pairs = np.zeros((5, 5), np.bool_)
    pairs[0, 1] = pairs[1, 0] = pairs[0, 3] = pairs[3, 0] = True
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, pairs)
    sets = [(1, 3), (), (), (), ()]
    libraries.enter(0, (1, 3))
    assert libraries.widen(sets, NEVER)
    assert libraries.pairs[0, 2]
    assert libraries.pairs[2, 0]
    assert not libraries.pairs[0, 4]
    assert not pairs[0, 2]
    widened, edges = widened_pairs(problem.scorer, problem.edge_rules, pairs, rng)
    assert {frozenset({0, 1}), frozenset({0, 2})} <= {frozenset(edge) for edge in edges}
    assert all(widened[edge] for edge in edges)
    # nothing gains around the graph of the last round, or the rounds are over
    everything = np.ones((5, 5), np.bool_)
    assert not ParentLibraries(problem.scorer, problem.edge_rules, everything).widen([()] * 5, NEVER)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_rules_hold_in_the_graph_of_several_starts(seed):
    frame = discrete_frame(seed, 7, 300)
    names = list(frame.columns)
    knowledge = ExpertKnowledge(
        required_edges=[(names[6], names[0])],
        forbidden_edges=[(names[1], names[2]), (names[2], names[1])],
        temporal_order=[[names[3]], [names[4]]],
        max_indegree=2,
        max_table_cells=20,
    )
    problem = problem_of(frame, knowledge=knowledge)
    rng, ends = np.random.default_rng(seed), []
    everything = ~np.eye(7, dtype=np.bool_)
    for n_asked in (*range(0, 400, 20), 10_000_000):
        answers = itertools.chain(itertools.repeat(False, n_asked), itertools.repeat(True))
        late = partial(next, answers)
        edges = widened_pairs(problem.scorer, problem.edge_rules, everything, rng, late)[1]
        assert broken_rules(problem, problem.genotype(edges, [0] * 7), knowledge) == []
        ends.append(score_of(problem, problem.genotype(edges, [0] * 7)))
    assert ends[-1] == max(ends)
    assert ends[-1] > ends[0]


def test_searches_from_several_orders_end_at_the_best_of_them():
    """The first graph is without edges, and searches that may not leave it gain nothing."""
    problem, rng = halves_problem(), np.random.default_rng(3)
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    nothing: list[Parents] = [()] * 6
    sets = OrderStarts(libraries, rng, NEVER).improved(nothing)
    best = max(libraries.score(libraries.climbed(rng.permutation(6), rng, NEVER)) for _ in range(20))
    assert libraries.score(sets) == pytest.approx(best)
    stopped = OrderStarts(libraries, rng, np.ones(1, np.uint8))
    assert list(stopped.improved(sets)) == list(sets)


def test_searches_add_the_pairs_that_their_best_graph_lacks():
    problem = halves_problem()
    pairs = np.zeros((6, 6), np.bool_)
    pairs[0, 2] = pairs[2, 0] = True
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, pairs)
    nothing: list[Parents] = [()] * 6
    sets = OrderStarts(libraries, np.random.default_rng(3), NEVER).improved(nothing)
    assert {frozenset({0, 2}), frozenset({1, 2})} <= {frozenset(arc) for arc in arcs_of(sets)}


def test_searches_end_once_three_graphs_are_equally_good():
    problem = halves_problem()
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    starts = OrderStarts(libraries, np.random.default_rng(3), NEVER)
    libraries.enter(2, (0, 1))
    good: list[Parents] = [(), (), (0, 1), (), (), ()]
    nothing: list[Parents] = [()] * 6
    assert not starts._is_settled([good, good, nothing, nothing, nothing])
    assert starts._is_settled([good, good, good, nothing])


def test_required_parents_are_not_exchanged():
    frame = discrete_frame(2, 5, 300)
    names = list(frame.columns)
    knowledge = ExpertKnowledge(required_edges=[(names[4], names[0])], max_indegree=1)
    problem = problem_of(frame, knowledge=knowledge)
    required = np.zeros((5, 5), np.bool_)
    required[0, 4] = required[4, 0] = True
    edges = widened_pairs(problem.scorer, problem.edge_rules, required, np.random.default_rng(0))[1]
    assert [parent for parent, child in edges if child == 0] == [4]


def test_pairs_widen_in_the_allowed_direction_alone():
    rng = np.random.default_rng(2)
    child = rng.integers(0, 3, 600)
    twin = np.where(rng.random(600) < 0.1, rng.integers(0, 3, 600), child)
    columns = [column.astype(np.int32) for column in (child, rng.integers(0, 3, 600), twin)]
    variables = [ScoredVariable(f"v{i}", column, 3) for i, column in enumerate(columns)]

    def widened(**knowledge):
        rules = ExpertKnowledge(forbidden_edges=[("v0", "v2")], max_indegree=1, **knowledge)
        problem = make_problem(variables, knowledge=rules)
        libraries = ParentLibraries(problem.scorer, problem.edge_rules, np.zeros((3, 3), np.bool_))
        sets = [tuple(sorted(required)) for required in libraries.required]
        libraries.widen(sets, NEVER)
        return np.argwhere(libraries.pairs).tolist()

    # a pair joins both ways, although one direction is forbidden
    assert widened() == [[0, 2], [2, 0]]
    # a better parent is in vain where a worse one is required
    assert widened(required_edges=[("v1", "v0")]) == []


def test_more_variables_than_bits_of_a_word():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 2, (70, 80))
    columns[69] = columns[65] ^ (rng.random(80) < 0.1)
    problem = make_problem([ScoredVariable(f"v{i}", c.astype(np.int32), 2) for i, c in enumerate(columns)])
    improved = pricer_of(problem).improved(empty(problem), rng, lambda gene: np.empty(0, np.int64))
    assert {65, 69} in [set(edge) for edge in problem.edges(improved)]


def test_state_goes_on_as_if_never_interrupted(chained):
    problem = problem_of(discrete_frame(4, 7, 200))
    first, second = pricer_of(problem), pricer_of(problem)
    nothing = np.empty(0, np.int64)
    first.improved(empty(problem), np.random.default_rng(1), lambda gene: nothing)
    second.restore(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()
    runs = [
        p.improved(empty(problem), np.random.default_rng(2), lambda gene: nothing) for p in (first, second)
    ]
    assert (runs[0] == runs[1]).all()
    assert second.state() == first.state()


def test_work_is_in_proportion_to_evaluations():
    pricer = pricer_of(problem_of(discrete_frame(4, 7, 200)))
    pricer.libraries.n_scored, pricer.libraries.n_scans = 1000, 300
    assert pricer.affordable(505)
    assert not pricer.affordable(504)


def test_learner_prices_parents_of_discrete_tables_alone():
    frame = discrete_frame(4, 7, 200)
    assert problem_of(frame).prices_parents
    frame["x"] = np.random.default_rng(0).normal(size=200)
    assert not table_problem(frame).prices_parents


def test_learner_without_refinement_repeats_earlier_results():
    frame = discrete_frame(5, 8, 300)

    def learned(refine, n_jobs=1):
        return BayesNetLearner(
            scoring_method="bdeu",
            max_seconds=None,
            max_evaluations=400,
            random_state=3,
            n_jobs=n_jobs,
            algorithm=GOMEA(refine=refine),
        ).fit(frame)

    with_pricing, without = learned("sample"), learned("none")
    assert with_pricing.score_ > without.score_
    assert learned("sample", 2).network_.edges == with_pricing.network_.edges


def test_limit_on_parents_holds_where_more_would_pay():
    rng = np.random.default_rng(0)
    causes = rng.integers(0, 2, (3, 400))
    columns = [*causes, causes.sum(axis=0)]
    variables = [
        ScoredVariable(f"v{i}", c.astype(np.int32), 4 if i == 3 else 2) for i, c in enumerate(columns)
    ]
    sizes = []
    for most in (2, 3):
        problem = make_problem(variables, knowledge=ExpertKnowledge(max_indegree=most))
        improved = pricer_of(problem).improved(empty(problem), rng, lambda gene: np.empty(0, np.int64))
        parents = [0] * 4
        for _, child in problem.edges(improved):
            parents[child] += 1
        sizes.append(max(parents))
    assert sizes == [2, 3]


def test_large_tables_get_ranked_pairs_in_place_of_climbs(monkeypatch):
    with pytest.warns(GomeaBnWarning, match="is constant"):
        table = read_table(discrete_frame(1, 6, 300).assign(same="x"))
    monkeypatch.setattr(of_problems, "UNSCREENED_VARIABLES", 5)
    monkeypatch.setattr(of_problems, "_MOST_CLIMBED_CELLS", 0)
    monkeypatch.setattr(parents, "_MOST_RANKED", 1)
    problem = table_problem(table, scoring_method="bdeu")
    expected = parents.ranked_pairs(problem.scorer, problem.edge_rules)
    expected[6] = expected[:, 6] = False
    assert (problem.pairs >= expected).all()
    assert 0 < problem.pairs.sum() < 30
    # the search begins from a graph within the pairs
    assert problem.start
    assert all(problem.pairs[edge] for edge in problem.start)
    # without time there is no graph to begin from
    with pytest.warns(GomeaBnWarning, match="The time limit is short for ranking"):
        late = table_problem(table, scoring_method="bdeu", clock=FitClock(0.0))
    assert not late.start


def test_search_of_a_large_table_is_at_least_as_good_as_its_start(monkeypatch):
    frame = discrete_frame(4, 6, 300)
    monkeypatch.setattr(of_problems, "UNSCREENED_VARIABLES", 5)
    monkeypatch.setattr(of_problems, "_MOST_CLIMBED_CELLS", 0)
    problem = problem_of(frame)
    of_start = score_of(problem, problem.genotype(problem.start, [0] * 6))
    # two evaluations are those of the first solutions
    learner = BayesNetLearner(
        scoring_method="bdeu", equivalent_sample_size=1.0, max_evaluations=2, random_state=1
    ).fit(frame)
    assert learner.score_ >= of_start + problem.scorer.constant_score - 1e-9


def test_late_ranks_name_the_columns_that_are_ranked_less_well(monkeypatch):
    table = read_table(discrete_frame(1, 6, 300))
    problem = table_problem(table, scoring_method="bdeu")
    names = [variable.name for variable in problem.scorer.variables]

    def ranked(n_calls):
        answers = iter([False] * n_calls)
        return parents.ranked_pairs(problem.scorer, problem.edge_rules, lambda: next(answers, True))

    whole = parents.ranked_pairs(problem.scorer, problem.edge_rules)
    assert (ranked(12) == whole).all()
    with pytest.warns(GomeaBnWarning) as warned:
        without_sets = ranked(9)
    assert f"The partners of 3 columns ({', '.join(map(repr, names[3:]))}) were ranked without" in str(
        warned[0].message
    )
    assert "few rows" not in str(warned[0].message)
    assert without_sets.any(axis=1).all()
    with pytest.warns(
        GomeaBnWarning, match="partners of 4 columns .* parents. .* of 2 columns .* parents and on few rows"
    ):
        ranked(4)
    # a table this small is compared on all rows, so that the strongest partner is that of `pairwise`
    monkeypatch.setattr(parents, "_MOST_RANKED", 1)
    strongest = np.argmax(parents.Screening(problem.scorer).pairwise(), axis=1)
    with pytest.warns(GomeaBnWarning, match="partners of 6 columns"):
        pairs = ranked(0)
    expected = np.zeros((6, 6), np.bool_)
    expected[np.arange(6), strongest] = True
    assert (pairs == (expected | expected.T)).all()


def test_ranks_find_a_switch_between_two_parents():
    rng = np.random.default_rng(5)
    first, second, switch = rng.integers(0, 4, 1_500), rng.integers(0, 4, 1_500), rng.integers(0, 2, 1_500)
    others = rng.integers(0, 2, (20, 1_500))
    columns = [np.where(switch, first, second), first, second, switch, *others]
    variables = [
        ScoredVariable(f"v{i}", c.astype(np.int32), 4 if i < 3 else 2) for i, c in enumerate(columns)
    ]
    problem = make_problem(variables)
    ranks, _ = parents.Screening(problem.scorer).conditional_ranks()
    assert sorted(np.argsort(ranks[0])[:3].tolist()) == [1, 2, 3]
    assert ranks[0, 3] == 0
    assert ranks[0, 0] == len(columns)
    # the switch alone says nothing of the child
    assert parents.Screening(problem.scorer).conditional_ranks(1)[0][0, 3] > 0
    pairs = parents.ranked_pairs(problem.scorer, problem.edge_rules)
    assert pairs[0, 3]
    assert (pairs == pairs.T).all()
    assert not pairs.diagonal().any()
