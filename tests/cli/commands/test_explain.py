"""The command `explain` prints what `DiscretizedBayesNet.explain` returns."""

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
    rows.to_csv("rows.csv", index=False)
    return network


def test_statements_and_rows_are_explained_alike(network, rows):
    explanation = network.explain("b", row=rows.iloc[3])
    assert (
        ok("explain", "net.json", "--target", "b", "--data", "rows.csv", "--row", 3).stdout
        == f"{explanation}\n"
    )
    text = ok("explain", "net.json", "--target", "c", "--given", "a=0.2", "b in 0..1").stdout
    assert text == f"{network.explain('c', {'a': 0.2, 'b': (0.0, 1.0)})}\n"


def test_json_has_all_parts(network):
    level = network.levels["c"][0]
    record = json.loads(
        ok("explain", "net.json", "--target", "c", "--state", level, "--given", "a=0.2", "--json").stdout
    )
    explanation = network.explain("c", {"a": 0.2}, state=level)
    assert record["answer"] == pytest.approx(explanation.answer)
    assert record["interval"] is None
    assert [row["column"] for row in record["drivers"]] == explanation.drivers.index.tolist()
    assert record["pushes"][0]["shapley"] == pytest.approx(explanation.pushes["shapley"].iloc[0])
    assert len(record["parameters"]) == len(explanation.parameters)


def test_a_plot_is_written(network, tmp_path):
    pytest.importorskip("matplotlib")
    ok("explain", "net.json", "--target", "b", "--plot", "drivers.svg")
    assert (tmp_path / "drivers.svg").read_text().startswith("<?xml")


def test_wrong_use_is_refused(network):
    start = ("explain", "net.json", "--target", "b")
    assert "give both" in refused(2, *start, "--row", 1)
    assert "--row must be a row of 'rows.csv', 0 to 149, got 150" in refused(
        2, *start, "--data", "rows.csv", "--row", 150
    )
    assert "must end in .png, .svg or .pdf" in refused(2, *start, "--plot", "b.txt")
    assert "state is for a discrete target" in refused(2, *start, "--state", "1")
    assert "'b' is both target and evidence" in refused(2, *start, "--given", "b=1")
