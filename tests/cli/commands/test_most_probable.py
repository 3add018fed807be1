"""The command `most-probable` prints what `DiscretizedBayesNet.most_probable` returns."""

import json

import pytest
from command_line import ok, refused

from gomea_bn import DiscretizedBayesNet


@pytest.fixture
def network(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network = DiscretizedBayesNet.from_table(
        rows, [("a", "b"), ("b", "c")], {"a": [-0.5, 0.5], "b": [-0.4, 0.6]}, pseudo_count="auto"
    )
    network.to_json("net.json")
    return network


def test_combinations_are_printed_as_bins_and_levels(network):
    text = ok("most-probable", "net.json", "--given", "a in 0..0.4", "b=0.1", "--n", "2").stdout
    answer = network.most_probable({"a": (0, 0.4), "b": 0.1}, n=2)
    assert text.startswith("P(c, d | a in 0..0.4, b=0.1)\n")
    lines = [line.split() for line in text.splitlines()[2:]]
    assert lines[0] == ["c", "d", "probability"]
    assert [float(line[-1]) for line in lines[1:]] == pytest.approx(answer["probability"], rel=1e-3)
    assert [line[0] for line in lines[1:]] == answer["c"].astype(str).tolist()


def test_json_has_the_ends_of_bins(network):
    text = ok("most-probable", "net.json", "--target", "b", "--target", "d", "--n", "3", "--json").stdout
    record = json.loads(text)
    answer = network.most_probable(targets=["b", "d"], n=3)
    assert record["given"] == []
    assert [row["b"] for row in record["combinations"]] == [[b.left, b.right] for b in answer["b"]]
    assert [row["d"] for row in record["combinations"]] == answer["d"].tolist()
    assert [row["probability"] for row in record["combinations"]] == pytest.approx(answer["probability"])


def test_wrong_use_is_refused(network):
    assert "'a' is both target and evidence" in refused(
        2, "most-probable", "net.json", "--target", "a", "--given", "a=1"
    )
    assert "absent.json" in refused(3, "most-probable", "absent.json")
