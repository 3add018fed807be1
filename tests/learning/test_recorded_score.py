"""A network is refined under the score that its metadata record."""

from typing import Any

import pytest
from shaped_examples import shaped_network, shaped_table

from gomea_bn import BayesNetLearner, GomeaBnError, refine_boundaries

BDEU: dict[str, Any] = {
    "discretizer": "equal-frequency",
    "scoring_method": "density-bd",
    "prior": "bdeu",
    "equivalent_sample_size": 4.0,
}
FIELDS = ("penalty", "prior", "equivalent_sample_size")


def learned(**options: Any) -> BayesNetLearner:
    options = {"max_evaluations": 1500, "random_state": 1, **options}
    return BayesNetLearner(**options).fit(shaped_table(300))


def test_refinement_takes_the_penalty_of_the_network() -> None:
    learner = learned(scoring_method="density-bic", penalty="aic")
    result = refine_boundaries(learner.network_, learner.table_)
    assert result.score_before == pytest.approx(learner.score_, abs=1e-8)
    assert result.network.metadata["penalty"] == "aic"
    usual = refine_boundaries(learner.network_, learner.table_, penalty="bic")
    assert usual.score_before < result.score_before - 1
    assert "penalty" not in usual.network.metadata
    other = refine_boundaries(learner.network_, learner.table_, scoring_method="density-bd")
    assert "penalty" not in other.network.metadata


def test_a_discretizer_refines_under_the_prior_of_the_network() -> None:
    learner = learned(**BDEU)
    result = refine_boundaries(learner.network_, learner.table_, "equal-width")
    assert result.score_before == pytest.approx(learner.score_, abs=1e-8)
    assert {name: result.network.metadata[name] for name in FIELDS[1:]} == {
        name: BDEU[name] for name in FIELDS[1:]
    }


def test_a_score_that_the_user_names_has_its_usual_prior() -> None:
    learner = learned(**BDEU)
    result = refine_boundaries(learner.network_, learner.table_, scoring_method="density-bd")
    assert abs(result.score_before - learner.score_) > 1
    assert not set(FIELDS) & set(result.network.metadata)


def test_other_methods_need_a_prior_with_prices() -> None:
    learner = learned(**BDEU)
    for method in ("dp", "rv-gomea"):
        with pytest.raises(
            GomeaBnError,
            match=f"method='{method}' cannot price cuts under the prior BDeu.*Pass scoring_method",
        ):
            refine_boundaries(learner.network_, learner.table_, method)
    # nothing to price
    alone = refine_boundaries(learner.network_, learner.table_, variables=[])
    assert (alone.score_after, alone.stopped_by) == (alone.score_before, "fixpoint")


def test_metadata_that_do_not_name_a_score_are_ignored() -> None:
    table = shaped_table(200)
    strange: dict[str, object] = {
        "scoring_method": "density-bic",
        "penalty": [1],
        "prior": 3,
        "equivalent_sample_size": "x",
    }
    plain: dict[str, object] = {"scoring_method": "density-bic"}
    before = [
        refine_boundaries(shaped_network(table, 3, metadata=metadata), table).score_before
        for metadata in (strange, plain)
    ]
    assert before[0] == before[1]
