"""Scores of families with missing values: against a slow twin, and what they must be without missing values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from missing_examples import METHODS, slow_available_score, with_gaps
from oracles import discrete_variables, random_variables, slow_family_score

from gomea_bn.problems import FamilyScorer, ScoredFamily, score_rule, scoring_method
from gomea_bn.problems.parents import Screening


def scorer_of(variables, method, options, edge_cost=0.0):
    chosen = scoring_method(method, cut_cost=0.5)
    named = {"prior": options.get("prior", "dirichlet"), "equivalent_sample_size": options.get("ess", 1.0)}
    named |= {name: name in options for name in ("centred", "equivalent")}
    rule = score_rule(chosen, len(variables[0].values), **named)
    return FamilyScorer(variables, chosen, rule._replace(edge_cost=edge_cost))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(METHODS), st.sampled_from([0.0, 0.3, 0.8]))
def test_scores_equal_their_twin(seed, method, share):
    rng = np.random.default_rng(seed)
    variables = with_gaps(random_variables(rng, int(rng.integers(5, 120)), "cdcd"), rng, share)
    policies = [0 if v.n_levels else int(rng.integers(len(v.policies))) for v in variables]
    child = int(rng.integers(4))
    parents = [p for p in range(4) if p != child and rng.random() < 0.7]
    family = ScoredFamily((child, policies[child]), tuple((p, policies[p]) for p in parents))
    name, options = method
    scored = scorer_of(variables, name, options, edge_cost=0.75).score([family])[0]
    expected = slow_available_score(variables, family, name, edge_cost=0.75, **options)
    assert scored == pytest.approx(expected, rel=1e-9, abs=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(METHODS))
def test_large_tables_are_counted_by_observed_configurations(seed, method):
    rng = np.random.default_rng(seed)
    cards = (60, 60, 50, 3)
    columns = [rng.integers(0, min(r, 4), 40) for r in cards]
    variables = with_gaps(discrete_variables(columns, cards), rng, 0.4)
    family = ScoredFamily((3, 0), ((0, 0), (1, 0), (2, 0)))
    name, options = method
    scored = scorer_of(variables, name, options).score([family])[0]
    expected = slow_available_score(variables, family, name, **options)
    assert scored == pytest.approx(expected, rel=1e-9, abs=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(METHODS))
def test_without_missing_values_the_sum_of_gains_is_the_score(seed, method):
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 60, "dcdd")
    family = ScoredFamily((1, 0), ((0, 0), (2, 0), (3, 0)))
    name, options = method
    complete = scorer_of(variables, name, options, edge_cost=0.5)
    chained = scorer_of(variables, name, options, edge_cost=0.5)
    chained.rows.has_missing[:] = True
    assert chained.score([family])[0] == pytest.approx(complete.score([family])[0], rel=1e-10, abs=1e-8)
    slow = slow_family_score(variables, family, name, **options)
    assert slow_available_score(variables, family, name, **options) == pytest.approx(slow, abs=1e-6)


def test_screening_compares_two_columns_on_the_rows_that_have_both():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 300)
    b = np.where(rng.random(300) < 0.8, a, 1 - a)
    gaps = np.where(rng.random(300) < 0.5, -1, b)
    both = gaps >= 0
    with_missing = scorer_of(discrete_variables([a, gaps], (2, 2)), "bic", {})
    complete = scorer_of(discrete_variables([a[both], b[both]], (2, 2)), "bic", {})
    assert Screening(with_missing).pairwise()[1, 0] == pytest.approx(Screening(complete).pairwise()[1, 0])
