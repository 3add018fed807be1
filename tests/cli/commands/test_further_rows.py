"""Tests of the commands `update` and `drift`, and of `learn --start`."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused

from gomea_bn import DiscretizedBayesNet


def rows(n, seed, shift=0.0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n) + shift
    return pd.DataFrame({"x": x, "y": x + 0.5 * generator.normal(size=n)})


@pytest.fixture
def folder(tmp_path):
    rows(200, 0).to_csv(tmp_path / "data.csv", index=False)
    rows(100, 1, 1.0).to_csv(tmp_path / "new.csv", index=False)
    cuts = {"x": [0.0], "y": [0.0]}
    network = DiscretizedBayesNet.from_table(rows(200, 0), [("x", "y")], cuts, pseudo_count="auto")
    network.to_json(tmp_path / "network.json")
    return tmp_path


def test_update_writes_the_network_with_the_rows(folder):
    result = ok("update", folder / "network.json", folder / "new.csv", "-o", folder / "updated.json")
    assert "100 further rows" in result.stderr
    former = DiscretizedBayesNet.from_json(folder / "network.json")
    wanted = former.update(pd.read_csv(folder / "new.csv"))
    assert DiscretizedBayesNet.from_json(folder / "updated.json") == wanted


def test_update_does_not_replace_what_it_reads(folder):
    result = invoke("update", folder / "network.json", folder / "new.csv", "-o", folder / "network.json")
    assert result.exit_code == 2


def test_update_names_a_wrong_option(folder):
    assert "--forget must be a finite number above 0" in refused(
        2, "update", folder / "network.json", folder / "new.csv", "-o", folder / "u.json", "--forget", "-3"
    )


def test_drift_prints_a_line_per_column(folder):
    result = ok("drift", folder / "network.json", folder / "new.csv")
    assert "Drifted: x" in result.stdout
    result = invoke("drift", folder / "network.json", folder / "data.csv", "--json")
    assert [record["drifted"] for record in json.loads(result.stdout)] == [False, False]


def test_learn_starts_from_a_network(folder):
    options = ["--max-seconds", "0", "--max-evaluations", "1", "--seed", "1", "--density", "bins"]
    options += ["--out", folder / "run"]
    ok("learn", folder / "data.csv", "--start", folder / "network.json", *options)
    network = DiscretizedBayesNet.from_json(folder / "run" / "network.json")
    assert network.edges == [("x", "y")]
    assert len(network.metadata["started_from"]) == 64
