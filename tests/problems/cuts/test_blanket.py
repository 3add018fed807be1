"""Markov blankets as codes, and which columns are due when columns are cut one at a time."""

import threading

import numpy as np
import pytest
from pricing_examples import priced_problem, random_genotype, tied_variables

from gomea_bn.problems.cuts import (
    CodedColumn,
    CodedFamily,
    CodedNetwork,
    CutLimits,
    DueColumns,
    Neighbourhood,
    ParentSets,
)
from gomea_bn.problems.cuts.libraries import CodedQuestion
from gomea_bn.runtime import spare_threads


def column(cardinality: int) -> CodedColumn:
    return CodedColumn(np.zeros(1, np.int32), cardinality)


def test_bins_are_limited_by_the_largest_table_around_the_column() -> None:
    around = Neighbourhood(
        (column(3), column(4)), (CodedFamily(column(5)), CodedFamily(column(2), (column(10),)))
    )
    assert around.most_bins(100) == 5
    assert around.most_bins(99) == 4
    assert around.most_bins(19) == 0
    assert Neighbourhood((column(50),)).most_bins(99) == 1
    assert Neighbourhood().most_bins(77) == 77


def test_tables_beyond_the_range_of_floats_leave_no_bin() -> None:
    assert Neighbourhood((column(255),) * 200).most_bins(1e6) == 0


# the arcs 0 -> 2 <- 1, 2 -> 3, and 4 alone
GRAPH = ParentSets([[], [], [0, 1], [2], []])


def test_columns_are_due_once_and_again_after_a_change_in_their_blanket() -> None:
    passes = DueColumns([4, 3, 2, 1, 0], GRAPH.blanket)
    visits = []
    for v in passes:
        visits.append((passes.n_passes, v))
        if visits[-1] == (1, 1):
            passes.note_change(v)
    # 0 is a spouse of 1 and comes later in the same pass; 2 is its child; 3 and 4 are not in its blanket
    assert visits == [(1, 4), (1, 3), (1, 2), (1, 1), (1, 0), (2, 2)]
    assert passes.n_passes == 2


def test_only_columns_of_the_order_become_due() -> None:
    passes = DueColumns([3], GRAPH.blanket)
    for v in passes:
        passes.note_change(v)
    assert passes.n_passes == 1


@pytest.mark.parametrize(("max_passes", "n_passes"), [(0, 0), (1, 1), (3, 3), (None, 5)])
def test_passes_end_at_their_limit(max_passes: int | None, n_passes: int) -> None:
    passes = DueColumns([0, 1], GRAPH.blanket, max_passes)
    for v in passes:
        if passes.n_passes < 5:
            passes.note_change(v)
    assert passes.n_passes == n_passes


def test_columns_are_also_due_for_another_reason_and_the_last_pass_may_have_to_change_nothing() -> None:
    sizes, seen = {0: 3, 1: 3, 2: 3}, {}

    def is_also_due(v: int) -> bool:
        before, seen[v] = seen.get(v), sizes[v]
        return before != sizes[v]

    # columns 0 and 1 are joined, column 2 is not
    graph = ParentSets([(), (0,), ()])
    passes = DueColumns([0, 1, 2], graph.blanket, 5, is_also_due=is_also_due, to_unchanged=True)
    visited = []
    for v in passes:
        visited.append((passes.n_passes, v))
        if visited[-1] == (1, 2):
            sizes[0] = 4
            passes.note_change(v)
    # the pass without a change counts
    assert visited == [(1, 0), (1, 1), (1, 2), (2, 0)]
    assert (passes.n_passes, passes.changed_in_pass) == (2, False)


def test_passes_end_when_it_is_over() -> None:
    visited: list[int] = []
    passes = DueColumns([4, 3, 2, 1, 0], GRAPH.blanket, 3, is_over=lambda: len(visited) == 2)
    for v in passes:
        visited.append(v)
        passes.note_change(v)
    assert visited == [4, 3]


def random_sets(rng: np.random.Generator, n: int) -> ParentSets:
    return ParentSets([p for p in range(v) if rng.random() < 0.25] for v in range(n))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_columns_solved_together_get_what_they_get_one_after_another(seed: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    graph, order = random_sets(rng, 12), rng.permutation(12).tolist()
    with spare_threads(n_threads):
        found, expected = [], []
        for use_turns, visits in ((True, found), (False, expected)):
            state = list(range(12))
            passes = DueColumns(order, graph.blanket, 4)

            def solve(v: int, state: list[int] = state) -> int:
                return (31 * state[v] + sum(state[w] for w in graph.blanket(v))) % 1_009

            for v, answer in passes.solved(solve) if use_turns else ((v, solve(v)) for v in passes):
                visits.append((passes.n_passes, v, answer))
                if answer % 3:
                    state[v] = answer
                    passes.note_change(v)
    assert found == expected
    assert len(found) > 12


def test_columns_without_influence_on_each_other_are_solved_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=600.0)
    solved = []

    def solve(v: int) -> int:
        solved.append(v)
        if v in (4, 3):
            meeting.wait()
        return -v

    with spare_threads(2):
        turns = DueColumns([4, 3, 2, 1, 0], GRAPH.blanket).solved(solve)
        # 3 is a child of 2, and 1 and 0 are its parents
        assert next(turns) == (4, -4)
        assert sorted(solved) == [3, 4]
        assert list(turns) == [(3, -3), (2, -2), (1, -1), (0, 0)]
    assert solved[2:] == [2, 1, 0]


@pytest.mark.parametrize("target", [None, 0, 3])
@pytest.mark.parametrize("seed", range(10))
def test_what_decides_on_the_cuts_of_a_column_are_its_relatives(seed: int, target: int | None) -> None:
    n = 8
    graph = random_sets(np.random.default_rng(seed), n)
    parts = graph, [column(2)] * n, list(range(100, 100 + n)), [np.empty(0)] * n
    network = CodedNetwork(*parts) if target is None else CodedQuestion(*parts, target)
    for v in range(n):
        before = network.signature(v)
        for w in set(range(n)) - {v}:
            network.identities[w] = 7
            has_influence = network.signature(v) != before
            network.identities[w] = 100 + w
            assert w in network.relatives(v) or not has_influence
            assert (w in network.relatives(v)) == (v in network.relatives(w))


def test_a_structure_problem_codes_the_blanket_of_a_genotype() -> None:
    problem, _ = priced_problem(tied_variables(3, 30, "cdcdc"), CutLimits())
    genotype = problem.genotype([(0, 1), (2, 1), (3, 0)], [0] * 5)
    rows, offset = problem.scorer.rows, problem.scorer.view_offset
    around = problem.coded_network(genotype).neighbourhood(0)
    expected = {v: rows.codes[offset[v]].tolist() for v in range(5)}
    assert [parent.codes.tolist() for parent in around.parents] == [expected[3]]
    (family,) = around.families
    assert family.child.codes.tolist() == expected[1]
    assert [spouse.codes.tolist() for spouse in family.spouses] == [expected[2]]
    assert family.child.cardinality == rows.cardinality[offset[1]]


def test_chosen_cuts_change_the_genotype_and_its_network() -> None:
    variables = tied_variables(1, 30, "cdc")
    problem, _ = priced_problem(variables, CutLimits())
    genotype = random_genotype(problem, 1)
    network = problem.coded_network(genotype)
    before = network.identities[0]
    cuts = np.unique(np.asarray(variables[0].values, np.float64))[:3] + 0.25
    assert problem.choose_cuts(0, cuts, genotype, network, lambda _gene: np.empty(0, np.int64))
    after = problem.coded_network(genotype)
    assert network.identities == after.identities
    assert network.identities[0] != before
    assert network.columns[0].cardinality == 4
    assert network.columns[0].codes.tolist() == np.searchsorted(cuts, variables[0].values).tolist()
    assert network.cut_points[0] is not None
    assert network.cut_points[0].tolist() == cuts.tolist()
