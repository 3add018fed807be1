"""Scores of families on completed rows, against sums over cells in Python."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import slow_family_score

from gomea_bn.problems import FamilyScorer, ScoredFamily, ScoredVariable, score_rule, scoring_method
from gomea_bn.problems.family_scorer import Completion
from gomea_bn.problems.kernels.score import BDEU, LIKELIHOOD, ScoreRule

# plain Python warns of the overflow of words that the compiled kernels need
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

CARDS = (2, 3, 2, 5)
N_ROWS = 130
METHODS = [("density-bd", "dirichlet"), ("density-bd", "bdeu"), ("density-bic", "dirichlet")]


def completed_codes(n_completions: int, n_rows: int = N_ROWS) -> NDArray[np.int32]:
    random = np.random.default_rng(3)
    return np.stack([random.integers(0, card, n_rows * n_completions) for card in CARDS]).astype(np.int32)


def scorer_of(
    codes: NDArray[np.int32], method_name: str, prior: str, completion: Completion | None
) -> FamilyScorer:
    method = scoring_method(method_name)
    n_rows = codes.shape[1] if completion is None else completion.is_observed.shape[1]
    rule = score_rule(method, n_rows, n_variables=len(CARDS), prior=prior)
    variables = [ScoredVariable(str(v), codes[v], card) for v, card in enumerate(CARDS)]
    return FamilyScorer(variables, method, rule, completion=completion)


def slow_score(
    codes: NDArray[np.int32], completion: Completion, rule: ScoreRule, child: int, parents: tuple[int, ...]
) -> float:
    """Return the score of a family: counts per row of the table, weighted by the share of observed rows."""
    members = (*parents, child)
    n_rows = completion.is_observed.shape[1]
    share = sum(all(completion.is_observed[v, i] for v in members) for i in range(n_rows)) / n_rows
    weight = max(share, 1 / n_rows) ** 0.25
    n_configurations = math.prod(CARDS[p] for p in parents)
    prior = rule.prior / n_configurations / CARDS[child] if rule.kind == BDEU else rule.prior
    total = 0.0
    for values in itertools.product(*(range(CARDS[p]) for p in parents)):
        is_row = np.ones(codes.shape[1], bool)
        for parent, value in zip(parents, values):
            is_row &= codes[parent] == value
        cells = [
            weight * float((codes[child][is_row] == k).sum()) / completion.n_completions
            for k in range(CARDS[child])
        ]
        if rule.kind == LIKELIHOOD:
            total += sum(c * math.log(c / sum(cells)) for c in cells if c)
            total -= rule.weight * (CARDS[child] - 1)
        else:
            total += sum(math.lgamma(prior + c) - math.lgamma(prior) for c in cells)
            of_row = prior * CARDS[child]
            total -= math.lgamma(of_row + sum(cells)) - math.lgamma(of_row)
    return float((total - rule.edge_cost * len(parents)) / weight)


@pytest.mark.parametrize(("method", "prior"), METHODS)
@pytest.mark.parametrize("n_completions", [1, 4])
def test_scores_on_completed_rows_equal_their_twins(method: str, prior: str, n_completions: int) -> None:
    codes = completed_codes(n_completions)
    is_observed = np.random.default_rng(1).random((len(CARDS), N_ROWS)) < 0.6
    completion = Completion(is_observed, n_completions)
    scorer = scorer_of(codes, method, prior, completion)
    for child, parents in [(0, ()), (3, (0,)), (1, (0, 3)), (2, (0, 1, 3))]:
        family = ScoredFamily((child, 0), tuple((p, 0) for p in parents))
        wanted = slow_score(codes, completion, scorer.rule, child, parents)
        assert scorer.score([family])[0] == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize(("method", "prior"), METHODS)
def test_rows_without_missing_values_score_as_usual(method: str, prior: str) -> None:
    codes = completed_codes(1, 64)
    families = [ScoredFamily((3, 0), ((0, 0), (1, 0))), ScoredFamily((1, 0)), ScoredFamily((2, 0), ((3, 0),))]
    completion = Completion(np.ones((len(CARDS), 64), np.bool_), 1)
    usual = scorer_of(codes, method, prior, None).score(families)
    assert scorer_of(codes, method, prior, completion).score(families) == pytest.approx(usual, abs=1e-9)


def test_a_family_whose_members_are_never_observed_together_has_a_finite_score() -> None:
    is_observed = np.zeros((len(CARDS), N_ROWS), np.bool_)
    is_observed[0, ::2] = is_observed[1, 1::2] = True
    scorer = scorer_of(completed_codes(2), "density-bd", "dirichlet", Completion(is_observed, 2))
    scores = scorer.score([ScoredFamily((1, 0)), ScoredFamily((1, 0), ((0, 0),))])
    assert np.isfinite(scores).all()
    assert scores[1] < scores[0]


@pytest.mark.parametrize("n_completions", [1, 3])
def test_bins_count_as_bins_under_the_default_score(n_completions: int) -> None:
    """Rows that are completed alike some times score as they do once, families of levels and of bins by their rules."""
    method, codes = scoring_method("density-bd"), completed_codes(1, 64)
    rule = score_rule(method, 64, centred=True, equivalent=True)

    def variables_of(codes: NDArray[np.int32]) -> list[ScoredVariable]:
        return [ScoredVariable(str(v), codes[v], card, are_bins=v < 2) for v, card in enumerate(CARDS)]

    completion = Completion(np.ones((len(CARDS), 64), np.bool_), n_completions)
    scorer = FamilyScorer(variables_of(np.tile(codes, n_completions)), method, rule, completion=completion)
    for child, parents in [(0, ()), (3, ()), (3, (2,)), (2, (1, 3)), (1, (3,)), (0, (1,))]:
        family = ScoredFamily((child, 0), tuple((p, 0) for p in parents))
        wanted = slow_family_score(variables_of(codes), family, "density-bd", centred=True, equivalent=True)
        assert scorer.score([family])[0] == pytest.approx(wanted, abs=1e-7)
