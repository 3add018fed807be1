"""The command `test-graph` prints the result of `gomea_bn.certainty.test_graph`."""

import json

import pytest
from command_line import ok, refused

from gomea_bn import DiscretizedBayesNet, certainty


@pytest.fixture
def network(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network = DiscretizedBayesNet.from_table(rows, [("b", "c")], {"a": [-0.5, 0.5], "b": [-0.4, 0.6]})
    network.to_json("net.json")
    rows.to_csv("rows.csv", index=False)
    return network


def test_the_result_is_printed_as_text_and_as_json(network, rows):
    result = certainty.test_graph(network, rows, n_permutations=99, random_state=4)
    options = ("test-graph", "net.json", "rows.csv", "--n-permutations", 99, "--seed", 4)
    assert ok(*options).stdout == f"{result}\n"
    record = json.loads(ok(*options, "--json").stdout)
    assert record["p_value"] == result.p_value < 0.05
    assert record["missing"] == result.missing.to_dict(orient="records")
    assert record["present"][0]["parent"] == "b"


def test_wrong_use_is_refused(network):
    assert "absent.csv" in refused(3, "test-graph", "net.json", "absent.csv")
    assert "n-permutations" in refused(2, "test-graph", "net.json", "rows.csv", "--n-permutations", 0)
