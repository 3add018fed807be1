"""Pseudo-counts that a discrete column alone shares with its table: independent columns stay apart, others do not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import discrete_variables, make_scorer

from gomea_bn import BayesNetLearner, refine_boundaries
from gomea_bn.problems.family_scorer import Family

N_LEVELS = 30


def scores(columns: list[NDArray[np.int64]], cards: list[int], *, pooled: bool) -> tuple[float, float]:
    """The scores of the last column alone, and given the others."""
    scorer = make_scorer(discrete_variables(columns, cards), "density-bd", pooled=pooled)
    child = len(columns) - 1
    alone, given_others = scorer.score(
        [Family((child, 0)), Family((child, 0), tuple((p, 0) for p in range(child)))]
    )
    return float(alone), float(given_others)


@pytest.mark.parametrize("n_rows", [150, 600])
def test_a_diffuse_column_gains_nothing_by_a_parent_that_is_independent_of_it(n_rows: int) -> None:
    """Under pseudo-counts that every row of a table has for itself it gains, the more the more often it is split."""
    gains = {}
    for pooled in (False, True):
        of_seeds = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            columns = [rng.integers(0, k, n_rows) for k in (n_rows // 10, N_LEVELS)]
            alone, given_other = scores(columns, [n_rows // 10, N_LEVELS], pooled=pooled)
            of_seeds.append(given_other - alone)
        gains[pooled] = np.array(of_seeds)
    # no more than chance gives, since evidence of e^2 for what is not there is rarer than e^-2
    assert (gains[True] > 2).mean() <= 0.1
    assert (gains[False] > 2).mean() >= 0.9


def test_a_diffuse_column_keeps_a_parent_on_which_it_depends() -> None:
    rng = np.random.default_rng(3)
    parent = rng.integers(0, 3, 300)
    child = (parent * 10 + rng.integers(0, 14, 300)) % N_LEVELS
    alone, given_other = scores([parent, child], [3, N_LEVELS], pooled=True)
    assert given_other - alone > 50


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 40), st.integers(1, 40))
def test_pooling_only_charges_tables_and_nothing_with_one_configuration(
    seed: int, n_rows: int, card: int, n_levels: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, k, n_rows) for k in (card, n_levels)]
    alone, with_parent = scores(columns, [card, n_levels], pooled=True)
    usual_alone, usual = scores(columns, [card, n_levels], pooled=False)
    assert alone == usual_alone
    assert with_parent <= usual
    if card == 1:
        assert with_parent == alone


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
    assert default.network_.metadata["pooled"] is True
    assert "pooled" not in published.network_.metadata
    for learner in (default, published):
        refined = refine_boundaries(learner.network_, frame)
        assert refined.network.metadata.get("pooled") == learner.network_.metadata.get("pooled")
    refined = refine_boundaries(published.network_, frame)
    assert refined.score_before == pytest.approx(published.score_, abs=1e-6)
