"""Markov blankets as codes, and which columns are due when columns are cut one at a time."""

import numpy as np
import pytest
from pricing_examples import priced_problem, random_genotype, tied_variables

from gomea_bn.problems.cuts.blanket import CodedColumn, CodedFamily, DueColumns, Neighbourhood, ParentSets
from gomea_bn.problems.cuts.interval_dp import CutLimits


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
    passes = DueColumns([4, 3, 2, 1, 0], GRAPH)
    visits = []
    for v in passes:
        visits.append((passes.n_passes, v))
        if visits[-1] == (1, 1):
            passes.note_change(v)
    # 0 is a spouse of 1 and comes later in the same pass; 2 is its child; 3 and 4 are not in its blanket
    assert visits == [(1, 4), (1, 3), (1, 2), (1, 1), (1, 0), (2, 2)]
    assert passes.n_passes == 2


def test_only_columns_of_the_order_become_due() -> None:
    passes = DueColumns([3], GRAPH)
    for v in passes:
        passes.note_change(v)
    assert passes.n_passes == 1


@pytest.mark.parametrize(("max_passes", "n_passes"), [(0, 0), (1, 1), (3, 3), (None, 5)])
def test_passes_end_at_their_limit(max_passes: int | None, n_passes: int) -> None:
    passes = DueColumns([0, 1], GRAPH, max_passes)
    for v in passes:
        if passes.n_passes < 5:
            passes.note_change(v)
    assert passes.n_passes == n_passes


def test_a_structure_problem_codes_the_blanket_of_a_genotype() -> None:
    problem, _ = priced_problem(tied_variables(3, 30, "cdcdc"), CutLimits())
    genotype = problem.genotype([(0, 1), (2, 1), (3, 0)], [0] * 5)
    rows, offset = problem.scorer.rows, problem.scorer.view_offset
    around = problem.neighbourhood(0, genotype)
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
