"""Scores of features: their mean and spread, missing cells, and transforms."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata

from gomea_bn import BayesNetLearner, read_table
from gomea_bn.prediction.scores import FeatureScores


def frame(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    dose = rng.normal(size=n)
    dose[::7] = np.nan
    place = pd.Series(rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])).mask(rng.random(n) < 0.1)
    count = dose.copy()
    count[1::2] = np.round(count[1::2], 1)
    return pd.DataFrame({"place": place, "dose": dose, "count": count, "sick": rng.choice(["no", "yes"], n)})


@pytest.fixture(scope="module")
def network():
    return (
        BayesNetLearner(max_seconds=None, max_evaluations=300, density="bins", random_state=1)
        .fit(frame())
        .network_
    )


def scores_of(rows: pd.DataFrame) -> FeatureScores:
    return FeatureScores(
        [column for column in read_table(rows, missing="keep").columns if column.name != "sick"]
    )


def test_scores_have_the_mean_zero_and_missing_cells_the_score_zero(network):
    rows = frame()
    scores = scores_of(rows)
    assert scores.labels == ["place=north", "place=south", "place=west", "dose", "count"]
    found = scores.of_rows(network, rows)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    assert not found[rows["place"].isna(), :3].any()
    assert not found[rows["dose"].isna(), 3:].any()
    is_north = (rows["place"] == "north").to_numpy()
    np.testing.assert_allclose(found[is_north, 0] + found[~is_north & rows["place"].notna(), 0].min() * -1, 1)


def test_numbers_have_the_normal_scores_of_their_ranks(network):
    rows = frame()
    known = rows["dose"].notna().to_numpy()
    found = scores_of(rows).of_rows(network, rows)[known, 3]
    ranks = rankdata(rows["dose"][known])
    expected = norm.ppf((ranks - 0.5) / known.sum())
    # some neighbours share one of 200 groups, and so a score
    np.testing.assert_allclose(found, expected / expected.std(), atol=0.15)
    assert np.abs(found - expected / expected.std()).mean() < 0.01
    assert len(np.unique(found)) == 200
    ends = scores_of(rows).of_rows(network, pd.DataFrame({"dose": [-1e9, 1e9]}).reindex(columns=list(rows)))
    assert ends[:, 3].tolist() == [found.min(), found.max()]


def test_increasing_transforms_leave_scores(network):
    rows = frame()
    changed = rows.assign(dose=np.exp(rows["dose"]), count=rows["count"] ** 3)
    other = (
        BayesNetLearner(max_seconds=None, max_evaluations=300, density="bins", random_state=1)
        .fit(changed)
        .network_
    )
    np.testing.assert_allclose(
        scores_of(changed).of_rows(other, changed), scores_of(rows).of_rows(network, rows), atol=1e-12
    )


def test_columns_that_a_network_lacks_are_missing():
    rows = frame()
    without = BayesNetLearner(max_seconds=None, max_evaluations=300, density="bins").fit(
        rows.drop(columns="dose")
    )
    found = scores_of(rows).of_rows(without.network_, rows)
    assert not found[:, 3].any()
    assert found[:, [0, 4]].any(axis=0).all()
