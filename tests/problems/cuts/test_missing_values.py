"""Pricing of columns with missing values: against slow scores of all cuts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from missing_examples import METHODS, slow_gain_order, slow_ordered_score, with_gaps
from pricing_examples import all_cuts, tied_variables

from gomea_bn.problems import ScoredFamily, ScoredVariable, score_rule, scoring_method
from gomea_bn.problems.cuts import (
    CodedColumn,
    CodedNetwork,
    CutColumn,
    CutLimits,
    CutProblem,
    IntervalScore,
    ParentSets,
    Policy,
    coded_bins,
)

GRAPHS = [
    [(), (0,), (0,)],
    [(1, 2), (), ()],
    [(1,), (), (0, 1)],
    [(), (0, 2), ()],
    [(3,), (0, 3), (0, 1, 3), ()],
]


def coded(variable: ScoredVariable, cuts: np.ndarray) -> CodedColumn:
    if not variable.n_levels:
        return coded_bins(np.asarray(variable.values, np.float64), cuts)
    return CodedColumn(
        np.asarray(variable.values, np.int32),
        variable.n_levels,
        bool((variable.values < 0).any()),
        is_level=True,
    )


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([method for method in METHODS if "prior" not in method[1]]),
    st.sampled_from(GRAPHS),
    st.sampled_from([0.0, 0.3, 0.7]),
)
def test_optimal_cuts_equal_brute_force(seed, scoring, graph, share):
    method, options = scoring
    rng = np.random.default_rng(seed)
    variables = tied_variables(seed, int(rng.integers(20, 80)), "cdcd"[: len(graph)], n_distinct=5)
    variables = with_gaps(variables, rng, share)
    policies = [0 if v.n_levels else int(rng.integers(len(v.policies))) for v in variables]
    cuts = [None if v.n_levels else v.policies[p].cut_points for v, p in zip(variables, policies)]
    columns = [coded(v, c) for v, c in zip(variables, cuts)]
    network = CodedNetwork(ParentSets(graph), columns, list(range(len(graph))), cuts)
    chosen = scoring_method(method)
    score = IntervalScore(chosen, score_rule(chosen, len(variables[0].values), **options))
    problem = CutProblem.of_rows(
        CutColumn.of_values(np.asarray(variables[0].values, np.float64)), network.neighbourhood(0), score
    )

    families = [
        ScoredFamily((child, policies[child]), tuple((p, policies[p]) for p in parents))
        for child, parents in enumerate(graph)
        if child == 0 or 0 in parents
    ]
    orders = [[parent for parent, *_ in slow_gain_order(variables, f, method, **options)] for f in families]

    def slow(cut_points: np.ndarray) -> float:
        library = list(variables[0].policies)
        library[policies[0]] = Policy(cut_points)
        changed = [ScoredVariable("v0", variables[0].values, 0, tuple(library)), *variables[1:]]
        return sum(slow_ordered_score(changed, f, o, method, **options) for f, o in zip(families, orders))

    limits = CutLimits(1, 4, 0.0, 1)
    values = variables[0].values
    candidates = all_cuts(values[~np.isnan(values)], limits)
    scores = np.array([slow(c) for c in candidates])
    best = problem.optimal(limits)
    present = cuts[0]
    gain = scores.max() - slow(present)
    if options:
        # concentrations follow from the cuts: the programme sees the best cuts given some of them
        assert best.value - problem.value(present) <= gain + 1e-6
        assert best.value == pytest.approx(problem.value(best.cut_points), abs=1e-6)
    else:
        assert best.value - problem.value(present) == pytest.approx(gain, abs=1e-6)
    for k in rng.choice(len(candidates), 3):
        difference = problem.value(candidates[k]) - problem.value(present)
        assert difference == pytest.approx(scores[k] - slow(present), abs=1e-6)


def test_missing_values_of_a_column_are_not_sorted():
    column = CutColumn.of_values(np.array([3.0, np.nan, 1.0, 2.0, np.nan]))
    assert column.order.tolist() == [2, 3, 0]
    assert (column.n_rows, column.n_all_rows, column.high) == (3, 5, 3.0)
    assert column.values.tolist() == [3.0, 1.0, 2.0]


def test_a_family_knows_the_place_of_the_column_among_the_parents():
    columns = [CodedColumn(np.zeros(1, np.int32), 2)] * 3
    around = ParentSets([(), (), (0, 1)]).neighbourhood(1, columns)
    assert around.families[0].place == 1
    assert ParentSets([(), (), (0, 1)]).neighbourhood(0, columns).families[0].place == 0
