"""Tables that shrink towards their child's own distribution: independent columns stay apart, others do not."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import discrete_variables, make_scorer, slow_centred_gain

from gomea_bn import BayesNetLearner, refine_boundaries
from gomea_bn.problems import FamilyScorer, ScoredFamily, family_score, score_rule, scoring_method

N_LEVELS = 30


def scores(columns: list[NDArray[np.int64]], cards: list[int], *, centred: bool) -> tuple[float, float]:
    """The scores of the last column alone, and given the others."""
    scorer = make_scorer(discrete_variables(columns, cards), "density-bd", centred=centred)
    child = len(columns) - 1
    alone, given_others = scorer.score(
        [ScoredFamily((child, 0)), ScoredFamily((child, 0), tuple((p, 0) for p in range(child)))]
    )
    return float(alone), float(given_others)


@pytest.mark.parametrize("n_rows", [150, 600])
def test_a_diffuse_column_gains_nothing_by_a_parent_that_is_independent_of_it(n_rows: int) -> None:
    """Under pseudo-counts that every row of a table has for itself it gains, the more the more often it is split."""
    gains = {}
    for centred in (False, True):
        of_seeds = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            columns = [rng.integers(0, k, n_rows) for k in (n_rows // 10, N_LEVELS)]
            alone, given_other = scores(columns, [n_rows // 10, N_LEVELS], centred=centred)
            of_seeds.append(given_other - alone)
        gains[centred] = np.array(of_seeds)
    # no more than chance gives, since evidence of e^2 for what is not there is rarer than e^-2
    assert (gains[True] > 2).mean() <= 0.1
    assert (gains[False] > 2).mean() >= 0.9


def test_a_diffuse_column_keeps_a_parent_on_which_it_depends() -> None:
    rng = np.random.default_rng(3)
    parent = rng.integers(0, 3, 300)
    child = (parent * 10 + rng.integers(0, 14, 300)) % N_LEVELS
    alone, given_other = scores([parent, child], [3, N_LEVELS], centred=True)
    assert given_other - alone > 50


def test_a_parent_of_many_levels_pays_if_some_of_them_differ() -> None:
    """A table of forty wards, six of which keep their patients longer, in nats against the column alone."""
    gains = {}
    for centred in (False, True):
        rng = np.random.default_rng(5)
        ward = rng.integers(0, 40, 9_000)
        stay = np.digitize(rng.normal(size=9_000) + np.where(ward < 6, 0.35, 0.0), [-0.6, 0.1, 0.7])
        alone, given_ward = scores([ward, stay], [40, 4], centred=centred)
        gains[centred] = given_ward - alone
    assert gains[True] > 10
    assert gains[False] < 0


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 40), st.integers(1, 40), st.integers(1, 4)
)
def test_the_score_is_the_column_alone_plus_a_bayes_factor_in_any_order(
    seed: int, n_rows: int, card: int, n_levels: int, other: int
) -> None:
    rng = np.random.default_rng(seed)
    cards = [card, other, n_levels]
    # some tables have cells of many rows
    columns = [(k * rng.random(n_rows) ** rng.integers(1, 6)).astype(np.int64) for k in cards]
    tables: dict[tuple[int, int], Counter[int]] = {}
    for first, second, value in zip(*(column.tolist() for column in columns), strict=True):
        tables.setdefault((first, second), Counter())[value] += 1
    alone, with_parents = scores(columns, cards, centred=True)
    assert alone == scores(columns, cards, centred=False)[0]
    assert with_parents - alone == pytest.approx(slow_centred_gain(tables.values()), abs=1e-7)
    order, levels = rng.permutation(n_rows), [rng.permutation(k) for k in cards]
    changed = [of_levels[column[order]] for of_levels, column in zip(levels, columns, strict=True)]
    parents = [1, 0, 2]
    _, again = scores([changed[v] for v in parents], [cards[v] for v in parents], centred=True)
    assert again == pytest.approx(with_parents, abs=1e-8)


def test_a_table_of_more_rows_than_32_bits_count_has_the_score_of_its_formula() -> None:
    counts = np.array([[3_000_000_000, 500_000_000], [600_000_000, 4_000_000_000]])
    rule = score_rule(scoring_method("density-bd"), 2)
    of_rows = [math.fsum(map(math.lgamma, row + 1.0)) - math.lgamma(row.sum() + 2.0) for row in counts]
    expected = math.fsum(of_rows) - float(rule.edge_cost)
    assert family_score(counts, rule) == pytest.approx(expected, rel=1e-9)


def independent(seed: int, n_rows: int) -> pd.DataFrame:
    """Columns that depend on nothing, one of them with many levels that are about as frequent."""
    rng = np.random.default_rng([seed, n_rows])
    return pd.DataFrame(
        {
            "rounded": np.round(rng.normal(50, 10, n_rows)),
            "skewed": np.exp(rng.normal(size=n_rows)),
            "count": rng.poisson(3, n_rows),
            "zeros": np.where(rng.random(n_rows) < 0.4, 0.0, np.exp(rng.normal(size=n_rows)).round(2)),
            "heavy": rng.standard_t(2, n_rows),
            "level": [f"t{k}" for k in rng.integers(0, N_LEVELS, n_rows)],
        }
    )


def edges_of(frame: pd.DataFrame, **options: Any) -> list[tuple[str, str]]:
    limits: dict[str, Any] = {"max_seconds": None, "max_evaluations": 600, "random_state": 1}
    edges: list[tuple[str, str]] = BayesNetLearner(**limits, **options).fit(frame).network_.edges
    return edges


@pytest.mark.parametrize(
    "options", [{}, {"scoring_method": "density-bd", "curves": "none"}, {"missing": "available"}]
)
def test_no_edge_leads_to_many_levels_that_depend_on_nothing(options: dict[str, Any]) -> None:
    edges = []
    for seed in range(6):
        frame = independent(seed, 150)
        if "missing" in options:
            frame = frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.1)
        edges += edges_of(frame, **options)
    assert len([edge for edge in edges if edge[1] == "level"]) <= 1


def test_published_options_keep_one_pseudo_count_per_cell() -> None:
    """Bins that are uniform inside score as they did before; what a network was scored by stands in its metadata."""
    frame = independent(1, 150)
    limits: dict[str, Any] = {"max_seconds": None, "max_evaluations": 600, "random_state": 1}
    default = BayesNetLearner(**limits).fit(frame)
    published = BayesNetLearner(shape="uniform", density="bins", **limits).fit(frame)
    assert default.network_.metadata["centred"] is True
    assert "centred" not in published.network_.metadata
    for learner in (default, published):
        refined = refine_boundaries(learner.network_, frame)
        assert refined.network.metadata.get("centred") == learner.network_.metadata.get("centred")
    refined = refine_boundaries(published.network_, frame)
    assert refined.score_before == pytest.approx(published.score_, abs=1e-6)


@pytest.mark.parametrize(
    ("n_rows", "n_variables", "free"),
    [(600, 10, 200), (2_000, 10, 500), (2_000, 40, 500), (6_000, 10, 1_000)],
)
def test_cells_beyond_one_for_every_four_rows_cost_a_nat(n_rows: int, n_variables: int, free: int) -> None:
    rng = np.random.default_rng(11)
    columns = [rng.integers(0, 12, n_rows) for _ in range(3)]
    variables = discrete_variables(columns, [12, 12, 12])
    method = scoring_method("density-bd")
    rule = score_rule(method, n_rows, n_variables=n_variables, centred=True)
    without = rule._replace(free_cells=np.inf)
    families = [ScoredFamily((2, 0), tuple((v, 0) for v in range(k))) for k in range(3)]
    paid, free_of_charge = (FamilyScorer(variables, method, each).score(families) for each in (rule, without))
    expected = [0.0, 0.0, 12**3 - free]
    np.testing.assert_allclose(free_of_charge - paid, expected, atol=1e-9)
    counts = np.zeros((12, 12, 12), np.int64)
    np.add.at(counts, tuple(columns), 1)
    assert family_score(counts, rule) == pytest.approx(float(paid[2]), abs=1e-7)
    # published scores and columns without others cost nothing
    assert score_rule(method, n_rows, n_variables=n_variables).free_cells == np.inf
