"""The commands `query --most-probable` and explain."""

import json

import pytest
from averaged_examples import averaged_example
from command_line import ok, refused

from gomea_bn import DiscretizedBayesNet

FIVE = ("--most-probable", "5")


@pytest.fixture(autouse=True)
def files(network, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network.to_json("net.json")


def test_combinations_are_printed_as_bins_and_levels(network):
    text = ok("query", "net.json", "--given", "a in 0..0.4", "b=0.1", "--most-probable", "2").stdout
    answer = network.most_probable({"a": (0, 0.4), "b": 0.1}, n=2)
    assert text.startswith("P(c, d | a in 0..0.4, b=0.1)\n")
    lines = [line.split() for line in text.splitlines()[2:]]
    assert lines[0] == ["c", "d", "probability"]
    assert [float(line[-1]) for line in lines[1:]] == pytest.approx(answer["probability"], rel=1e-3)
    assert [line[0] for line in lines[1:]] == answer["c"].astype(str).tolist()


def test_json_has_the_ends_of_bins(network):
    text = ok("query", "net.json", "--target", "b", "--target", "d", "--most-probable", "3", "--json").stdout
    record = json.loads(text)
    answer = network.most_probable(targets=["b", "d"], n=3)
    assert record["given"] == []
    assert [row["b"] for row in record["combinations"]] == [[b.left, b.right] for b in answer["b"]]
    assert [row["d"] for row in record["combinations"]] == answer["d"].tolist()
    assert [row["probability"] for row in record["combinations"]] == pytest.approx(answer["probability"])


def test_cells_may_be_those_of_the_bins(tmp_path):
    averaged_example().to_json(tmp_path / "averaged.json")
    network = DiscretizedBayesNet.from_json(tmp_path / "averaged.json")
    for option, cells in (("bins", "bins"), ("8", 8)):
        text = ok("query", tmp_path / "averaged.json", *FIVE, "--cells", option, "--json").stdout
        answer = network.most_probable(cells=cells)["probability"]
        assert [row["probability"] for row in json.loads(text)["combinations"]] == pytest.approx(answer)
        text = ok("query", tmp_path / "averaged.json", "--target", "b", "--cells", option, "--json").stdout
        of_b = network.query("b", cells=cells)
        assert [row["probability"] for row in json.loads(text)["distribution"]] == pytest.approx(of_b)
    for asked in (FIVE, ()):
        message = refused(2, "query", tmp_path / "averaged.json", *asked, "--target", "b", "--cells", "0.5")
        assert "--cells must be one of 'bins', got '0.5'" in message


def test_wrong_use_is_refused(network):
    assert "'a' is both target and evidence" in refused(
        2, "query", "net.json", *FIVE, "--target", "a", "--given", "a=1"
    )
    assert "absent.json" in refused(3, "query", "absent.json", *FIVE)
    for option in (("--do", "a=1"), ("--data", "rows.csv"), ("--n-draws", "5"), ("--seed", "1")):
        assert f"--most-probable does not take {option[0]};" in refused(
            2, "query", "net.json", *FIVE, *option
        )
    assert "--target names the variable" in refused(2, "query", "net.json")


def test_statements_and_rows_are_explained_alike(network, rows):
    explanation = network.with_rows("rows.csv").explain("b", row=rows.iloc[3])
    assert (
        ok("explain", "net.json", "--target", "b", "--data", "rows.csv", "--row", 3).stdout
        == f"{explanation}\n"
    )
    text = ok("explain", "net.json", "--target", "c", "--given", "a=0.2", "b in 0..1").stdout
    assert text == f"{network.explain('c', {'a': 0.2, 'b': (0.0, 1.0)})}\n"


def test_json_of_explain_has_all_parts(network):
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


def test_wrong_use_of_explain_is_refused(network):
    start = ("explain", "net.json", "--target", "b")
    assert "give both" in refused(2, *start, "--row", 1)
    assert "--row must be a row of 'rows.csv', 0 to 149, got 150" in refused(
        2, *start, "--data", "rows.csv", "--row", 150
    )
    assert "must end in .png, .svg or .pdf" in refused(2, *start, "--plot", "b.txt")
    assert "state is for a discrete target" in refused(2, *start, "--state", "1")
    assert "'b' is both target and evidence" in refused(2, *start, "--given", "b=1")
