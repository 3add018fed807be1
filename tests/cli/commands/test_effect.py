"""The command `effect` prints what a change of one column does, and what that rests on."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import QUICK, learn, ok, refused

from gomea_bn import DiscretizedBayesNet


@pytest.fixture
def rows():
    """Return rows of a treatment, an outcome and a column that raises both."""
    rng = np.random.default_rng(1)
    age = rng.normal(50, 10, 300)
    treated = rng.random(300) < 1 / (1 + np.exp(-(age - 50) / 10))
    score = 2.0 * treated + age / 10 + rng.normal(size=300)
    return pd.DataFrame({"age": age, "treated": np.where(treated, "yes", "no"), "score": score})


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("parent,child\nage,treated\nage,score\ntreated,score\n")
    return tmp_path


def test_an_experts_edges_and_a_table_give_an_effect(files, rows):
    ok("fit", "edges.csv", "rows.csv", "-o", "own.json")
    asked = ("effect", "own.json", "--of", "treated", "--on", "score")
    expected = DiscretizedBayesNet.from_json("own.json").causal_effect("treated", "score", rows)
    assert ok(*asked, "--data", "rows.csv").stdout.strip() == str(expected)
    row = expected.contrasts.iloc[0]
    assert row["low"] < 2 < row["high"] < row["unadjusted"]
    printed = json.loads(ok(*asked, "--data", "rows.csv", "--from", "yes", "--to", "no", "--json").stdout)
    (contrast,) = printed["contrasts"]
    assert printed["adjusted_for"] == ["age"]
    assert contrast["difference"] == pytest.approx(-row["difference"])
    assert "give it with --data" in refused(3, *asked)
    assert "give both" in refused(2, *asked, "--data", "rows.csv", "--from", "yes")
    assert "has no level 'maybe'" in refused(
        3, *asked, "--data", "rows.csv", "--from", "yes", "--to", "maybe"
    )
    assert "unknown variable 'tread'" in refused(2, "effect", "own.json", "--of", "tread", "--on", "score")
    reverse = refused(3, "effect", "own.json", "--of", "score", "--on", "age", "--data", "rows.csv")
    assert "'age' is a cause of 'score' in this graph" in reverse


def test_a_run_has_its_rows(files):
    learn("rows.csv", "--out", "run", "--require", "treated->score", *QUICK)
    printed = json.loads(ok("effect", "run", "--of", "treated", "--on", "score", "--json").stdout)
    assert printed["n_rows"] == 300
    (files / "rows.csv").write_text("age,treated,score\n1,yes,2\n")
    assert "has moved or changed" in refused(3, "effect", "run", "--of", "treated", "--on", "score")
