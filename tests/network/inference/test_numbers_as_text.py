"""Levels that a file holds as text, and tables whose cells are numbers."""

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.data.columns import encode_levels
from gomea_bn.errors import GomeaBnWarning


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cylinders = rng.choice([4, 6, 8], 60)
    return pd.DataFrame({"cylinders": cylinders, "fast": rng.random(60) < cylinders / 10})


@pytest.fixture
def networks(rows: pd.DataFrame, tmp_path) -> tuple[DiscretizedBayesNet, DiscretizedBayesNet]:
    """Return a network, and the same one as a reader of plain BIF sees it, whose levels are text."""
    network = DiscretizedBayesNet.from_table(rows, [("cylinders", "fast")], {})
    network.to_bif(tmp_path / "network.bif")
    return network, DiscretizedBayesNet.from_file(tmp_path / "network.bif", restore=False)


def test_numbers_match_levels_that_are_texts_of_them(rows, networks):
    network, of_text = networks
    assert of_text.levels["cylinders"] == ("4", "6", "8")
    with pytest.warns(GomeaBnWarning, match="Column 'cylinders' holds numbers.*text: '4', '6', '8'"):
        answer = of_text.predict_proba(rows, "fast")
    np.testing.assert_allclose(answer, network.predict_proba(rows, "fast"), atol=1e-6)
    gaps = rows.astype({"cylinders": float, "fast": object}).mask(np.eye(60, 2, dtype=bool))
    with pytest.warns(GomeaBnWarning, match="matched by their values"):
        filled = of_text.impute(gaps, "mode")
    assert filled["cylinders"].dtype == np.float64
    assert filled["cylinders"][1:].tolist() == rows["cylinders"][1:].tolist()
    assert filled["cylinders"][0] in (4, 6, 8)


def test_evidence_may_be_a_number(networks):
    network, of_text = networks
    expected = network.query("fast", {"cylinders": 6})
    np.testing.assert_allclose(of_text.query("fast", {"cylinders": 6}), expected, atol=1e-6)
    np.testing.assert_allclose(of_text.query("fast", {"cylinders": {6.0, 8}}).sum(), 1)
    with pytest.raises(GomeaBnError, match="'4', '6', '8', got 5"):
        of_text.query("fast", {"cylinders": 5})


def test_other_values_are_still_unknown():
    column = pd.Series([1, 2])
    with pytest.raises(GomeaBnError, match="unknown level 2"), pytest.warns(GomeaBnWarning):
        encode_levels(column, "x", ("1", "3"))
    # two levels are the number 1
    with pytest.raises(GomeaBnError, match="unknown level 1"):
        encode_levels(column[:1], "x", ("1", "1.0"))
    # one level is a number, so that the levels are not those of a file of text
    with pytest.raises(GomeaBnError, match="unknown level 1"):
        encode_levels(column[:1], "x", ("1", 2))
