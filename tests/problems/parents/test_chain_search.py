"""Local search over orders of the variables: single moves, moves of chains, kicks."""

import itertools
from functools import partial

import numpy as np
import pytest
from certainty_examples import discrete_frame
from parent_set_examples import (
    DEPTHS,
    NEVER,
    halves_problem,
    problem_of,
    random_table,
    slow_chain,
    slow_choice,
    slow_score,
    table_of,
    work_of,
)

from gomea_bn import ExpertKnowledge
from gomea_bn.problems import ParentLibraries
from gomea_bn.problems.kernels.insertion import (
    _best_position,
    choose_sets,
    move_chain,
    reinsert,
)
from gomea_bn.problems.parents import ChainSearch, OrderStarts, Parents


@pytest.mark.long
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
        n_gains += (gained := reinsert(table, work, 1e-9, rng, False))
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
    assert reinsert(table, work, 1e-9, np.random.default_rng(0), False) == 0
    assert work.order.tolist() == [3, 1, 0, 5, 4, 2]


def test_libraries_know_the_sets_with_every_member():
    problem = halves_problem()
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    libraries.enter_pairs(NEVER)
    table = libraries.table()
    slow = table_of(table.members, table.scores, table.starts)
    assert table.with_member.tolist() == slow.with_member.tolist()
    assert table.member_starts.tolist() == slow.member_starts.tolist()
    assert len(table.with_member) > 2 * len(table.scores) / 3


def test_order_without_an_allowed_set_is_noticed():
    # variable 0 needs variable 1 before it
    table = table_of(np.array([[2], [0]], np.uint64), np.zeros(2), np.array([0, 1, 2]))
    assert not choose_sets(table, work_of([0, 1]))
    assert choose_sets(table, work_of([1, 0]))


def test_a_chain_that_runs_the_wrong_way_turns_round_at_once():
    # every variable is determined by its neighbour on either side, a little better by the former one
    ranked: list[list[Parents]] = [[(1,), ()], [(0,), (2,), ()], [(1,), (3,), ()], [(2,), ()], [()]]
    backward: list[Parents] = [(1,), (2,), (3,), (), ()]
    assert slow_chain(3, backward, ranked) == [0, 1, 2, 3]
    # a variable that keeps its set stops the chain
    assert slow_chain(1, [(), (2,), (3,), (), ()], ranked) == [0, 1]
    # every set of variable 0 needs variable 1, whose best set needs variable 0
    assert slow_chain(1, backward, [[(1,)], *ranked[1:]]) == []


@pytest.mark.long
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
    table = table_of(members, np.array([1.0, 0.0, 0.0]), np.array([0, 2, 3]))
    work = work_of([0, 1])
    assert choose_sets(table, work)
    assert not move_chain(table, work.order, work.chosen, 0, 0, work_of([0, 0]))


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


@pytest.mark.parametrize("seed", range(4))
def test_moves_of_marked_variables_raise_the_score(seed):
    table, rng = random_table(seed, n=9, n_sets=30), np.random.default_rng(seed)
    work = work_of(rng.permutation(9))
    choose_sets(table, work)
    order, before = work.order.tolist(), table.scores[work.chosen].sum()
    assert reinsert(table, work, 1e-9, rng, True) == 0
    assert work.order.tolist() == order
    work.is_changed[:] = 1
    assert reinsert(table, work, 1e-9, rng, True) > 0
    assert not work.is_changed.any()
    assert table.scores[work.chosen].sum() > before
    assert {v: int(work.chosen[v]) for v in range(9)} == slow_choice(table, work.order.tolist())
    stopped = work_of(order)._replace(stop=np.ones(1, np.uint8), is_changed=np.ones(9, np.uint8))
    choose_sets(table, stopped)
    assert reinsert(table, stopped, 1e-9, rng, True) == 0
    assert stopped.order.tolist() == order
