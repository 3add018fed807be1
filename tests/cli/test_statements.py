"""What is known on the command line: comparisons of counts, and decimal commas as in the table."""

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.cli.statements import read_statements


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "prior_admissions": np.tile([0, 1, 2, 3], 15),
            "ph.karno": np.tile([50, 60, 70, 80, 90, 100], 10),
            "litres": rng.uniform(0.5, 9, 60),
            "income": rng.uniform(500, 9000, 60),
            "both": np.append(rng.uniform(0, 5000, 59), 0.0),
        }
    )
    inner: dict[str, list[float]] = {"litres": [3.0], "income": [2000.0], "both": [100.0]}
    return DiscretizedBayesNet.from_table(frame, [], inner)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("prior_admissions>=2", "prior_admissions", {2, 3}),
        ("prior_admissions in 1..2", "prior_admissions", {1, 2}),
        ("ph.karno>=90", "ph.karno", {90, 100}),
        ("ph.karno < 60,5", "ph.karno", {50, 60}),
        ("litres=3,5", "litres", 3.5),
        ("litres=3.5", "litres", 3.5),
        ("litres=1,250", "litres", 1.25),
        ("litres>=1,2505", "litres", (1.2505, None)),
        ("litres in 1,25..7,500", "litres", (1.25, 7.5)),
        ("income=1,250", "income", 1250.0),
        ("income<=8,125", "income", (None, 8125.0)),
    ],
)
def test_values_and_comparisons(network, text, name, value):
    assert read_statements("--given", [text], network) == {name: value}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("both=1,250", "'1,250' may be 1.25 or 1250; write 1.250 or 1250"),
        ("litres=1,250,000", "needs a number, got '1,250,000'. Write decimals with a point"),
        ("litres=90,125", "'litres' is from .* may be 90.125 or 90125"),
        ("prior_admissions>=9", "no level of 'prior_admissions' satisfies"),
    ],
)
def test_what_is_ambiguous_or_no_number_is_named(network, text, words):
    with pytest.raises(GomeaBnError, match=words):
        read_statements("--given", [text], network)
