"""Learners that price parents of discrete tables, and ranked pairs of large tables."""

import numpy as np
import pytest
from certainty_examples import discrete_frame
from option_examples import table_options
from oracles import make_problem
from parent_set_examples import empty, pricer_of, problem_of, score_of

from gomea_bn import GOMEA, BayesNetLearner, ExpertKnowledge
from gomea_bn.data.table import read_table
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning import Scoring
from gomea_bn.learning import learning_problem as learning_module
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.problems.parents import screening
from gomea_bn.problems.scoring.scored_columns import ScoredVariable


def test_learner_prices_parents_of_discrete_tables_alone():
    frame = discrete_frame(4, 7, 200)
    assert problem_of(frame).prices_parents
    frame["x"] = np.random.default_rng(0).normal(size=200)
    assert not learning_problem(read_table(frame), table_options()).prices_parents


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
    problem = learning_problem(table, table_options(scoring_method="bdeu"))
    expected = screening.ranked_pairs(problem.scorer, problem.edge_rules)
    expected[6] = expected[:, 6] = False
    assert (problem.pairs >= expected).all()
    assert 0 < problem.pairs.sum() < 30
    # the search begins from a graph within the pairs
    assert problem.start
    assert all(problem.pairs[edge] for edge in problem.start)
    # without time there is no graph to begin from
    with pytest.warns(GomeaBnWarning, match="The time limit is short for ranking"):
        late = learning_problem(table, table_options(scoring_method="bdeu"), deadline=0.0)
    assert not late.start


def test_search_of_a_large_table_is_at_least_as_good_as_its_start(monkeypatch):
    frame = discrete_frame(4, 6, 300)
    monkeypatch.setattr(learning_module, "UNSCREENED_VARIABLES", 5)
    monkeypatch.setattr(learning_module, "_MOST_CLIMBED_CELLS", 0)
    problem = problem_of(frame)
    of_start = score_of(problem, problem.genotype(problem.start, [0] * 6))
    # two evaluations are those of the first solutions
    learner = BayesNetLearner(
        scoring_method=Scoring("bdeu", equivalent_sample_size=1.0), max_evaluations=2, random_state=1
    ).fit(frame)
    assert learner.score_ >= of_start + problem.scorer.constant_score - 1e-9


def test_late_ranks_name_the_columns_that_are_ranked_less_well(monkeypatch):
    table = read_table(discrete_frame(1, 6, 300))
    problem = learning_problem(table, table_options(scoring_method="bdeu"))
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
    assert "few rows" not in str(warned[0].message)
    assert without_sets.any(axis=1).all()
    with pytest.warns(
        GomeaBnWarning, match="partners of 4 columns .* parents. .* of 2 columns .* parents and on few rows"
    ):
        ranked(4)
    # a table this small is compared on all rows, so that the strongest partner is that of `pairwise`
    monkeypatch.setattr(screening, "_MOST_RANKED", 1)
    strongest = np.argmax(screening.Screening(problem.scorer).pairwise(), axis=1)
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
