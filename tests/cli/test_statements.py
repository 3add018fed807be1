"""What is known on the command line: comparisons of counts, and decimal commas as in the table."""

import json

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.cli.statements import read_statements
from gomea_bn.network.parts import READ_FORMS


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
        ("both=1,250", "'1,250' may be 1.25 or 1250; write the number alone, with a decimal point"),
        ("litres=1,2,3", "needs a number, got '1,2,3'. Write decimals with a point"),
        ("litres=90,125", "'litres' is from .* may be 90.125 or 90125"),
        ("prior_admissions>=9", "no level of 'prior_admissions' satisfies"),
    ],
)
def test_what_is_ambiguous_or_no_number_is_named(network, text, words):
    with pytest.raises(GomeaBnError, match=words):
        read_statements("--given", [text], network)


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["prior_admissions>=2", "prior_admissions<=3"], {2, 3}),
        (["prior_admissions>0", "prior_admissions<3", "prior_admissions in {2,3}"], {2}),
        (["litres>=2", "litres<=3"], (2.0, 3.0)),
        (["litres in 1..5", "litres in 3.."], (3.0, 5.0)),
        (["litres>2", "litres<=3"], pd.Interval(2, 3, closed="right")),
        (["litres>=2", "litres<3"], pd.Interval(2, 3, closed="left")),
        (["litres=<3"], pd.Interval(-np.inf, 3, closed="neither")),
        (["litres = >= 2", "litres=<3"], pd.Interval(2, 3, closed="left")),
        (["litres>2", "litres>=2"], pd.Interval(2, np.inf, closed="right")),
        (["litres<3", "litres<=3", "litres>2"], pd.Interval(2, 3, closed="neither")),
    ],
)
def test_two_limits_of_a_column_hold_together(network, texts, value):
    name = texts[0][:6] if texts[0].startswith("litres") else "prior_admissions"
    found = read_statements("--given", texts, network)
    assert list(found) == [name]
    if not isinstance(value, pd.Interval):
        assert found[name] == value
        return
    inside = [number for number in np.arange(0, 9, 0.25) if number in found[name]]
    assert inside == [number for number in np.arange(0, 9, 0.25) if number in value]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["prior_admissions>=2", "prior_admissions<=1"], "no level of 'prior_admissions' satisfies all"),
        (["litres>=3", "litres<=2"], "no value of 'litres' satisfies all"),
        (["litres>=2", "litres<2"], "no value of 'litres' satisfies all"),
        (["litres>2", "litres<=2"], "no value of 'litres' satisfies all"),
        (["litres<=2.1", "litres>=2.1"], r"only one value satisfies .*; write litres=2\.1\.$"),
        (["litres<=2", "litres>=2"], r"only one value satisfies .*; write litres=2\.$"),
        (["litres=3", "litres<=4"], "names 'litres' twice; give one statement per variable, or two limits"),
        (["litres<=4", "litres=3"], "names 'litres' twice"),
    ],
)
def test_statements_that_exclude_each_other_are_refused(network, texts, words):
    with pytest.raises(GomeaBnError, match=words):
        read_statements("--given", texts, network)


def test_numbers_are_written_as_in_the_table(network):
    forms = {"income": "number in €", "litres": "number in mL", "both": "number in %"}
    content = json.loads(network.to_json())
    content["metadata"] = {**network.metadata, READ_FORMS: forms}
    with_forms = DiscretizedBayesNet.from_json(json.dumps(content))
    given = ["income>=€1,200.50", "litres=3,5 mL", "both<12 %"]
    stated = read_statements("--given", given, with_forms)
    assert stated["income"] == (1200.5, None)
    assert stated["litres"] == 3.5
    assert stated["both"].right == 12
    assert read_statements("--given", ["income=1.250,00 €"], with_forms) == {"income": 1250}
    assert read_statements("--given", ["income=€1,250"], with_forms) == {"income": 1250}
    assert read_statements("--given", ["income=1'250"], network) == {"income": 1250}
    with pytest.raises(GomeaBnError, match="needs a number"):
        read_statements("--given", ["litres=few"], with_forms)
    for text, words in (
        ("litres=3 L", "'litres' are in mL, got '3 L'"),
        ("income=$1200", "'income' are in €, got"),
    ):
        with pytest.raises(GomeaBnError, match=words):
            read_statements("--given", [text], with_forms)
    with pytest.raises(GomeaBnError, match="have no unit that the network knows, got '3 mL'"):
        read_statements("--given", ["litres=3 mL"], network)
    with pytest.raises(GomeaBnError, match=r"'both' is from .* '1,250%' may be 1\.25 or 1250"):
        read_statements("--given", ["both=1,250%"], with_forms)


@pytest.mark.parametrize("forms", [None, 3, "income", ["income"], {"income": 3}, {"income": None}])
def test_forms_that_are_none_name_no_unit(network, forms):
    content = json.loads(network.to_json())
    content["metadata"] = {**network.metadata, READ_FORMS: forms}
    changed = DiscretizedBayesNet.from_json(json.dumps(content))
    assert read_statements("--given", ["income=1'250"], changed) == {"income": 1250}
    with pytest.raises(GomeaBnError, match="have no unit that the network knows"):
        read_statements("--given", ["income=€1,250"], changed)


@pytest.mark.parametrize("text", ["answer=no ", "answer=no", "answer in {no, yes}"])
def test_levels_with_outer_blanks_can_be_stated(text):
    frame = pd.DataFrame({"answer": ["no ", "yes"] * 20, "x": np.arange(40.0)})
    network = DiscretizedBayesNet.from_table(frame, [], {"x": [20.0]})
    assert read_statements("--given", [text], network) == {
        "answer": {"no ", "yes"} if "yes" in text else "no "
    }
