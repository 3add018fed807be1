"""Parent pricing: growing libraries of parent sets, and local search over orders of the variables."""

import itertools
import json
from functools import partial

import numpy as np
import pytest
from certainty_examples import discrete_frame, scored_graphs
from oracles import broken_rules, make_problem

from gomea_bn import GOMEA, BayesNetLearner, ExpertKnowledge
from gomea_bn.data.table import read_table
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning import learning_problem as learning_module
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.problems.kernels.insertion import (
    OrderWork,
    ParentSetTable,
    _best_position,
    choose_sets,
    move_chain,
    reinsert_all,
    reinsert_changed,
)
from gomea_bn.problems.parents import pricing, screening
from gomea_bn.problems.parents.chain_search import ChainSearch
from gomea_bn.problems.parents.climbed_pairs import pairs_of_climbs, widened_pairs
from gomea_bn.problems.parents.order_starts import OrderStarts
from gomea_bn.problems.parents.pricing import ParentLibraries, ParentPricer
from gomea_bn.problems.parents.variable_orders import Parents, arcs_of
from gomea_bn.problems.scoring.scored_columns import ScoredVariable

NEVER = np.zeros(1, np.uint8)
DEPTHS = (0, 1, 1_000)


def problem_of(frame, **options):
    """Return the problem of a discrete table under BDeu(1)."""
    learning = LearningOptions(scoring_method="bdeu", equivalent_sample_size=1.0, **options)
    return learning_problem(read_table(frame), learning)


def pricer_of(problem):
    return ParentPricer(problem, ParentLibraries(problem.scorer, problem.edge_rules, problem.pairs), NEVER)


def score_of(problem, genotype):
    return float(problem.scorer.score(problem.families(genotype)).sum())


def empty(problem):
    return np.zeros(problem.n_variables, np.int16)


@pytest.fixture(params=[False, True], ids=["single moves", "chains"])
def chained(request, monkeypatch):
    """Let graphs of few variables be improved by moves of chains too, or not."""
    if request.param:
        monkeypatch.setattr(pricing, "_FEWEST_CHAINED", 0)


def slow_choice(table, order):
    """Return the best set of every variable among those without later variables."""
    before, chosen = 0, {}
    for v in order:
        sets = range(int(table.starts[v]), int(table.starts[v + 1]))
        chosen[v] = next(k for k in sets if int(table.members[k, 0]) & ~before == 0)
        before |= 1 << v
    return chosen


def slow_score(table, order):
    return sum(table.scores[k] for k in slow_choice(table, order).values())


def work_of(order, n_words=1):
    n = len(order)
    return OrderWork(
        order=np.array(order, np.int64),
        chosen=np.zeros(n, np.int64),
        visits=np.zeros(n, np.int64),
        is_changed=np.zeros(n, np.uint8),
        previous=np.zeros(n, np.int64),
        before=np.zeros(n_words, np.uint64),
        reached=np.zeros(n_words, np.uint64),
        stop=NEVER,
        n_scans=np.zeros(1, np.int64),
    )


def random_table(seed, n=6, n_sets=12):
    """Return random parent sets with random scores; every variable has the empty set."""
    rng = np.random.default_rng(seed)
    members, scores, starts = [], [], [0]
    for v in range(n):
        words = rng.integers(0, 1 << n, n_sets) & ~(1 << v)
        words[0] = 0
        members.append(words)
        scores.append(np.sort(rng.normal(size=n_sets))[::-1])
        starts.append(starts[-1] + n_sets)
        # the empty set comes last
        members[-1] = np.roll(members[-1], -1)
    return ParentSetTable(
        members=np.concatenate(members).astype(np.uint64)[:, None],
        scores=np.concatenate(scores),
        starts=np.array(starts, np.int64),
    )


def slow_chain(first, sets, ranked, depth=0):
    """Return the variables that come up to `first` in an order where it has the best set of its library."""
    order: list[int] = []
    # variables on the path from `first`, each with its parents that are still to be visited
    path = {first: iter(ranked[first][0])}
    reached = {first}
    while path:
        v, parents = next(reversed(path.items()))
        parent = next((p for p in parents if p not in reached), None)
        if parent is None:
            order.append(v)
            del path[v]
            continue
        chosen: Parents | None = sets[parent]
        if len(path) <= depth or not path.keys().isdisjoint(sets[parent]):
            chosen = next((s for s in ranked[parent] if path.keys().isdisjoint(s)), None)
        if chosen is None:
            return []
        reached.add(parent)
        path[parent] = iter(chosen)
    return order


@pytest.mark.parametrize("seed", range(8))
def test_best_position_is_that_of_trying_all(seed):
    table, rng = random_table(seed), np.random.default_rng(seed)
    work = work_of(rng.permutation(6))
    choose_sets(table, work)
    order = work.order.tolist()
    for position, v in enumerate(order):
        others = [u for u in order if u != v]
        gains = [
            slow_score(table, [*others[:k], v, *others[k:]]) - slow_score(table, order) for k in range(6)
        ]
        target, gain = _best_position(table, work, position, 1e-9, rng)
        assert gain == pytest.approx(max(gains), abs=1e-9)
        assert gains[target] == pytest.approx(gain, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_search_keeps_the_best_sets_of_its_order(seed):
    table, rng = random_table(seed), np.random.default_rng(seed)
    work = work_of(rng.permutation(6))
    choose_sets(table, work)
    score = slow_score(table, work.order.tolist())
    n_gains = 0
    for _ in range(5):
        n_gains += (gained := reinsert_all(table, work, 1e-9, rng))
        order = work.order.tolist()
        assert sorted(order) == list(range(6))
        assert {v: int(work.chosen[v]) for v in order} == slow_choice(table, order)
        assert (slow_score(table, order) > score + 1e-9) == (gained > 0)
        score = slow_score(table, order)
    assert n_gains > 0


def test_stopped_search_leaves_the_order():
    table = random_table(1)
    work = work_of([3, 1, 0, 5, 4, 2])._replace(stop=np.ones(1, np.uint8))
    choose_sets(table, work)
    assert reinsert_all(table, work, 1e-9, np.random.default_rng(0)) == 0
    assert work.order.tolist() == [3, 1, 0, 5, 4, 2]


def test_stopped_climb_scores_no_further_families():
    problem = problem_of(discrete_frame(3, 6, 200))
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    sets = libraries.climbed(np.arange(6), np.random.default_rng(0), np.ones(1, np.uint8))
    assert sets == [()] * 6
    assert libraries.n_scored == 6


def test_order_without_an_allowed_set_is_noticed():
    # variable 0 needs variable 1 before it
    table = ParentSetTable(
        members=np.array([[2], [0]], np.uint64), scores=np.zeros(2), starts=np.array([0, 1, 2], np.int64)
    )
    assert not choose_sets(table, work_of([0, 1]))
    assert choose_sets(table, work_of([1, 0]))


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


def test_a_chain_that_runs_the_wrong_way_turns_round_at_once():
    # every variable is determined by its neighbour on either side, a little better by the former one
    ranked: list[list[Parents]] = [[(1,), ()], [(0,), (2,), ()], [(1,), (3,), ()], [(2,), ()], [()]]
    backward: list[Parents] = [(1,), (2,), (3,), (), ()]
    assert slow_chain(3, backward, ranked) == [0, 1, 2, 3]
    # a variable that keeps its set stops the chain
    assert slow_chain(1, [(), (2,), (3,), (), ()], ranked) == [0, 1]
    # every set of variable 0 needs variable 1, whose best set needs variable 0
    assert slow_chain(1, backward, [[(1,)], *ranked[1:]]) == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [0, 1, 3, 1_000])
def test_moved_chains_are_those_of_sets_in_python(seed, depth):
    table, rng = random_table(seed, n=9, n_sets=8), np.random.default_rng(seed)
    ranked = [
        [
            tuple(p for p in range(9) if int(table.members[k, 0]) >> p & 1)
            for k in range(*table.starts[v : v + 2])
        ]
        for v in range(9)
    ]
    work = work_of(rng.permutation(9))
    assert choose_sets(table, work)
    sets = [ranked[v][work.chosen[v] - table.starts[v]] for v in range(9)]
    for v in range(9):
        first = slow_chain(v, sets, ranked, depth)
        other = work_of(np.zeros(9, np.int64))
        assert move_chain(table, work.order, work.chosen, v, depth, other)
        assert other.order.tolist() == [*first, *(u for u in work.order.tolist() if u not in first)]
        assert {v: int(other.chosen[v]) for v in range(9)} == slow_choice(table, other.order.tolist())


def test_chain_is_not_moved_if_required_parents_close_a_cycle():
    # the only set of variable 1 is variable 0, whose best set is variable 1
    members = np.array([[2], [0], [1]], np.uint64)
    table = ParentSetTable(members, np.array([1.0, 0.0, 0.0]), np.array([0, 2, 3]))
    work = work_of([0, 1])
    assert choose_sets(table, work)
    assert not move_chain(table, work.order, work.chosen, 0, 0, work_of([0, 0]))


def halves_problem():
    """Return a problem in which two columns decide a third one, and cannot be distinguished given it."""
    rng = np.random.default_rng(3)
    a, b, d, f = rng.integers(0, 4, (4, 900))
    c = (a + b) // 2
    columns = [a, b, c, d, (c + d) // 2, f]
    return make_problem([ScoredVariable(f"v{i}", c.astype(np.int32), 4) for i, c in enumerate(columns)])


@pytest.mark.parametrize(
    "moves",
    [
        ChainSearch.improved,
        partial(ChainSearch.kicked, most_idle=9),
        partial(ChainSearch.kicked, most_idle=9, is_thorough=False),
    ],
    ids=["improved", "kicked", "kicked quickly"],
)
def test_moves_of_chains_raise_the_score_of_an_order(moves):
    problem, rng = halves_problem(), np.random.default_rng(3)
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    libraries.expand_best(NEVER)
    for v in range(6):
        assert not libraries.expand(v, libraries._libraries[v].best())
    order = np.arange(6)[::-1].copy()
    table, work = libraries.table(), work_of(order)
    assert choose_sets(table, work)
    before = table.scores[work.chosen].sum()
    moved = moves(libraries.chain_search(DEPTHS, NEVER), libraries._new_work(order, NEVER), rng)
    assert table.scores[moved.chosen].sum() > before
    assert sorted(moved.order.tolist()) == list(range(6))
    assert {v: int(moved.chosen[v]) for v in range(6)} == slow_choice(table, moved.order.tolist())
    assert moved.n_scans[0] > 0
    stopped = np.ones(1, np.uint8)
    same = moves(libraries.chain_search(DEPTHS, stopped), libraries._new_work(order, stopped), rng)
    assert same.order.tolist() == order.tolist()


def test_kicks_leave_an_order_that_chains_and_single_moves_do_not():
    """The kicks of an order end at the best score of all orders."""
    for seed in range(4):
        problem, rng = problem_of(discrete_frame(seed, 5)), np.random.default_rng(seed)
        libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
        libraries.enter_pairs(NEVER)
        table = libraries.table()
        best = max(slow_score(table, order) for order in itertools.permutations(range(5)))
        sets = libraries.kicked(np.arange(5), rng, NEVER, DEPTHS, 50)
        score = sum(libraries._libraries[v].score(parents) for v, parents in enumerate(sets))
        assert score >= best - 1e-9


def test_chain_gives_near_generations_their_best_sets():
    ranked: list[list[Parents]] = [[(1,), ()], [(3,), ()], [()], [(2,), ()]]
    assert slow_chain(0, [(), (), (), ()], ranked) == [1, 0]
    assert slow_chain(0, [(), (), (), ()], ranked, depth=1) == [3, 1, 0]
    assert slow_chain(0, [(), (), (), ()], ranked, depth=2) == [2, 3, 1, 0]


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
    late = widened_pairs(
        problem.scorer, problem.edge_rules, everything, np.random.default_rng(0), lambda: True
    )
    assert late.edges == []
    assert (late.pairs == everything).all()


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
    scores = [libraries._scores(0, np.array([s]))[0] for s in [(1, 3), *larger]]
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
    options = LearningOptions(scoring_method="bdeu", max_candidates=None)
    pairs = np.zeros((6, 6), np.bool_)
    pairs[0, 1] = pairs[1, 0] = pairs[2, 3] = pairs[3, 2] = True
    problem = learning_problem(table, options, pairs=pairs)
    improved = pricer_of(problem).improved(empty(problem), np.random.default_rng(0), lambda gene: np.empty(0))
    assert {frozenset(edge) for edge in problem.edges(improved)} <= {frozenset({0, 1}), frozenset({2, 3})}


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
    widened = widened_pairs(problem.scorer, problem.edge_rules, pairs, rng)
    assert {frozenset({0, 1}), frozenset({0, 2})} <= {frozenset(edge) for edge in widened.edges}
    assert all(widened.pairs[edge] for edge in widened.edges)
    # nothing gains around the graph of the last round, or the rounds are over
    everything = np.ones((5, 5), np.bool_)
    assert not ParentLibraries(problem.scorer, problem.edge_rules, everything).widen([()] * 5, NEVER)


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
        edges = widened_pairs(problem.scorer, problem.edge_rules, everything, rng, late).edges
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


def test_reversed_segments_leave_required_parents_in_front_of_their_children():
    frame = discrete_frame(2, 9, 300)
    names = list(frame.columns)
    knowledge = ExpertKnowledge(required_edges=[(names[k], names[k + 1]) for k in range(0, 8, 2)])
    problem = problem_of(frame, knowledge=knowledge)
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    starts = OrderStarts(libraries, np.random.default_rng(3), NEVER)
    required = [tuple(parents) for parents in libraries.required]
    orders = [starts._with_reversed_segment(required).tolist() for _ in range(20)]
    for order in orders:
        assert sorted(order) == list(range(9))
        assert all(order.index(k) < order.index(k + 1) for k in range(0, 8, 2))
    assert len(set(map(tuple, orders))) > 10


def test_searches_end_once_three_graphs_are_equally_good():
    problem = halves_problem()
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    starts = OrderStarts(libraries, np.random.default_rng(3), NEVER)
    libraries.enter(2, (0, 1))
    good: list[Parents] = [(), (), (0, 1), (), (), ()]
    nothing: list[Parents] = [()] * 6
    assert not starts._is_settled([good, good, nothing, nothing, nothing])
    assert starts._is_settled([good, good, good, nothing])


@pytest.mark.parametrize("seed", range(4))
def test_moves_of_marked_variables_raise_the_score(seed):
    table, rng = random_table(seed, n=9, n_sets=30), np.random.default_rng(seed)
    work = work_of(rng.permutation(9))
    choose_sets(table, work)
    order, before = work.order.tolist(), table.scores[work.chosen].sum()
    assert reinsert_changed(table, work, 1e-9, rng) == 0
    assert work.order.tolist() == order
    work.is_changed[:] = 1
    assert reinsert_changed(table, work, 1e-9, rng) > 0
    assert not work.is_changed.any()
    assert table.scores[work.chosen].sum() > before
    assert {v: int(work.chosen[v]) for v in range(9)} == slow_choice(table, work.order.tolist())
    stopped = work_of(order)._replace(stop=np.ones(1, np.uint8), is_changed=np.ones(9, np.uint8))
    choose_sets(table, stopped)
    assert reinsert_changed(table, stopped, 1e-9, rng) == 0
    assert stopped.order.tolist() == order


def test_required_parents_are_not_exchanged():
    frame = discrete_frame(2, 5, 300)
    names = list(frame.columns)
    knowledge = ExpertKnowledge(required_edges=[(names[4], names[0])], max_indegree=1)
    problem = problem_of(frame, knowledge=knowledge)
    required = np.zeros((5, 5), np.bool_)
    required[0, 4] = required[4, 0] = True
    edges = widened_pairs(problem.scorer, problem.edge_rules, required, np.random.default_rng(0)).edges
    assert [parent for parent, child in edges if child == 0] == [4]


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
    assert not learning_problem(read_table(frame), LearningOptions()).prices_parents


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
    monkeypatch.setattr(learning_module, "UNSCREENED_VARIABLES", 5)
    monkeypatch.setattr(learning_module, "_MOST_CLIMBED_CELLS", 0)
    monkeypatch.setattr(screening, "_MOST_RANKED", 1)
    problem = learning_problem(table, LearningOptions(scoring_method="bdeu"))
    expected = screening.ranked_pairs(problem.scorer, problem.edge_rules)
    expected[6] = expected[:, 6] = False
    assert (problem.pairs >= expected).all()
    assert 0 < problem.pairs.sum() < 30
    # the search begins from a graph within the pairs
    assert problem.start
    assert all(problem.pairs[edge] for edge in problem.start)
    # without time there is no graph to begin from
    with pytest.warns(GomeaBnWarning, match="The time limit is short for ranking"):
        late = learning_problem(table, LearningOptions(scoring_method="bdeu"), deadline=0.0)
    assert not late.start


def test_search_of_a_large_table_is_at_least_as_good_as_its_start(monkeypatch):
    frame = discrete_frame(4, 6, 300)
    monkeypatch.setattr(learning_module, "UNSCREENED_VARIABLES", 5)
    monkeypatch.setattr(learning_module, "_MOST_CLIMBED_CELLS", 0)
    problem = problem_of(frame)
    of_start = score_of(problem, problem.genotype(problem.start, [0] * 6))
    # two evaluations are those of the first solutions
    learner = BayesNetLearner(
        scoring_method="bdeu", equivalent_sample_size=1.0, max_evaluations=2, random_state=1
    ).fit(frame)
    assert learner.score_ >= of_start + problem.scorer.constant_score - 1e-9


def test_late_ranks_name_the_columns_without_partners():
    table = read_table(discrete_frame(1, 6, 300))
    problem = learning_problem(table, LearningOptions(scoring_method="bdeu"))
    names = [variable.name for variable in problem.scorer.variables]

    def ranked(n_calls):
        answers = iter([False] * n_calls)
        return screening.ranked_pairs(problem.scorer, problem.edge_rules, lambda: next(answers, True))

    whole = screening.ranked_pairs(problem.scorer, problem.edge_rules)
    assert (ranked(12) == whole).all()
    with pytest.warns(GomeaBnWarning) as warned:
        without_sets = ranked(9)
    assert f"The partners of 3 columns ({', '.join(map(repr, names[3:]))}) were ranked without" in str(
        warned[0].message
    )
    assert "not ranked." not in str(warned[0].message)
    assert without_sets.any(axis=1).all()
    with pytest.warns(
        GomeaBnWarning, match="partners of 4 columns .* without .* of 2 columns .* were not ranked"
    ):
        first = ranked(4)
    assert not first[4:, 4:].any()


def test_ranks_find_a_switch_between_two_parents():
    rng = np.random.default_rng(5)
    first, second, switch = rng.integers(0, 4, 1_500), rng.integers(0, 4, 1_500), rng.integers(0, 2, 1_500)
    others = rng.integers(0, 2, (20, 1_500))
    columns = [np.where(switch, first, second), first, second, switch, *others]
    variables = [
        ScoredVariable(f"v{i}", c.astype(np.int32), 4 if i < 3 else 2) for i, c in enumerate(columns)
    ]
    problem = make_problem(variables)
    ranks, _ = screening.Screening(problem.scorer).conditional_ranks()
    assert sorted(np.argsort(ranks[0])[:3].tolist()) == [1, 2, 3]
    assert ranks[0, 3] == 0
    assert ranks[0, 0] == len(columns)
    # the switch alone says nothing of the child
    assert screening.Screening(problem.scorer).conditional_ranks(1)[0][0, 3] > 0
    pairs = screening.ranked_pairs(problem.scorer, problem.edge_rules)
    assert pairs[0, 3]
    assert (pairs == pairs.T).all()
    assert not pairs.diagonal().any()
