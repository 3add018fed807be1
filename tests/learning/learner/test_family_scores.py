"""Scores of the families of a learned network: their sum, their values, and networks that have none."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, read_table, refine_boundaries
from gomea_bn.learning.cuts import RefinementSession
from gomea_bn.problems import FamilyScorer, graph_families

QUICK: dict[str, Any] = {"max_evaluations": 1_500, "max_seconds": None, "random_state": 1}


def rows(n_rows: int = 300) -> pd.DataFrame:
    """Return a column, two that follow it, a level of one, and noise."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=n_rows)
    y = x + 0.4 * rng.normal(size=n_rows)
    return pd.DataFrame(
        {
            "x": x,
            "y": y,
            "bent": x**2 + 0.3 * rng.normal(size=n_rows),
            "level": np.where(y + 0.5 * rng.logistic(size=n_rows) > 0.5, "high", "low"),
            "noise": rng.exponential(size=n_rows),
        }
    )


@pytest.fixture(scope="module")
def learner() -> BayesNetLearner:
    return BayesNetLearner(**QUICK).fit(rows())


def test_scores_of_families_sum_to_the_score(learner: BayesNetLearner) -> None:
    network, names = learner.network_, list(rows().columns)
    assert list(network.family_scores) == names
    assert sum(network.family_scores.values()) == pytest.approx(learner.score_, abs=1e-6)
    assert network.metadata["curves"]
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again.family_scores == network.family_scores
    # what is asked of a network stays that of its fit
    assert network.of_tables().family_scores == network.family_scores


@pytest.mark.parametrize("seed", [1, 2])
def test_a_scorer_of_the_learned_cuts_gives_the_scores_of_tables(seed: int) -> None:
    # curves move the cuts that are shown
    learner = BayesNetLearner(**{**QUICK, "random_state": seed}, curves="none").fit(rows())
    network = learner.network_
    session = RefinementSession(network, read_table(rows()), "density-bd", None, None)
    variables = session.scored_variables(session.network_cuts)
    scorer = FamilyScorer(variables, session.method, session.rule)
    scores = scorer.score(graph_families(session.graph.parents), use_cache=False)
    assert network.edges
    for variable, score in zip(variables, scores, strict=True):
        assert network.family_scores[variable.name] == pytest.approx(
            score + variable.constant_score, abs=1e-6
        )


def test_an_edge_that_goes_takes_its_nats_from_its_child() -> None:
    rng = np.random.default_rng(3)
    for seed in range(20):
        frame = pd.DataFrame(rng.normal(size=(120, 6)), columns=[*"abcdef"]).assign(
            g=lambda values: values["a"] + 0.4 * values["b"] + rng.normal(size=120)
        )
        learner = BayesNetLearner(**{**QUICK, "max_evaluations": 600, "random_state": seed}).fit(frame)
        network = learner.network_
        if "left_out_edges" in network.metadata:
            break
    record = network.metadata["left_out_edges"]
    assert record["best_score"] != learner.score_
    assert sum(network.family_scores.values()) == pytest.approx(learner.score_, abs=1e-6)


def test_networks_of_other_scores_have_none(learner: BayesNetLearner) -> None:
    frame = rows()
    holes = frame.copy()
    holes.loc[::5, "y"] = np.nan
    options = {**QUICK, "max_evaluations": 300}
    published = BayesNetLearner(**options, shape="uniform", curves="none").fit(frame)
    assert "families" not in published.network_.metadata
    assert BayesNetLearner(**options).fit(holes).network_.family_scores == {}
    many = BayesNetLearner(**options, sample_rows=1_000).fit(rows(1_500)).network_
    assert many.metadata["all_rows"]
    assert "families" not in many.metadata
    network = learner.network_
    assert "families" not in refine_boundaries(network.of_tables(), frame).network.metadata
    recorded = network.metadata["families"]
    for wrong in (
        {**recorded, "x": recorded["x"] + 1.0},
        {**recorded, "x": None},
        {name: score for name, score in recorded.items() if name != "x"},
        [1.0],
    ):
        assert network.with_metadata(families=wrong).family_scores == {}
    assert network.with_metadata(score=None).family_scores == {}
