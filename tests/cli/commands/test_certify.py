"""The commands about certainty: confidence and test-graph."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from certainty_examples import discrete_frame, network_of
from command_line import RUN_FILES, invoke, ok, refused

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, certainty
from gomea_bn.certainty import certify


def test_certify_prints_the_proof_or_the_better_graph(tmp_path):
    frame = discrete_frame(4, n_rows=200)
    data, empty, best = tmp_path / "rows.csv", tmp_path / "empty.json", tmp_path / "best.bif"
    frame.to_csv(data, index=False)
    network_of(frame).to_json(empty)
    found = certify(network_of(frame), frame)
    assert found.edges
    network_of(frame, found.edges).to_bif(best)
    done = ok("confidence", empty, "--certify", "--data", data)
    assert "It is not optimal: the best graph with at most 3 parents" in done.stdout
    for parent, child in found.edges:
        assert f"  {parent} → {child}\n" in done.stdout
    proven = ok("confidence", best, "--certify", "--data", data, "--scoring-method", "bdeu", "--ess", "1")
    assert "It is optimal: no graph" in proven.stdout
    assert "Edges of" not in proven.stdout
    assert "--max-indegree 0" in refused(
        2, "confidence", best, "--certify", "--data", data, "--max-indegree", "0"
    )
    assert invoke("confidence", best, "--certify", "--data", tmp_path / "none.csv").exit_code == 3
    assert invoke("confidence", tmp_path / "none.json", "--certify", "--data", data).exit_code == 3
    assert "The table that" in refused(3, "confidence", best, "--certify")
    assert "--repeat is not for --certify" in refused(2, "confidence", best, "--certify", "--repeat", "1")
    for option in ("--ess", "--sep"):
        assert f"{option} is for --certify" in refused(2, "confidence", best, option, "1")


def test_the_proof_of_a_run_takes_the_table_of_the_run(run):
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    printed = ok("confidence", run, "--certify", "--scoring-method", "density-bic").stdout
    network = DiscretizedBayesNet.from_json(run / "network.json")
    rows = _rows(json.loads((run / "run.json").read_text()))
    assert printed.startswith(str(certify(network, rows, scoring_method="density-bic")).split(" (")[0][:40])
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a run whose table has an encoding, symbols and columns of its own."""
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    frame = pd.DataFrame(
        {"nr": range(80), "x": x, "y": x + rng.normal(size=80) / 4, "k": rng.choice(["ü", "b"], 80)}
    )
    frame.to_csv(folder / "rows.txt", sep=";", decimal=",", index=False, encoding="cp1252")
    options = {"sep": ";", "decimal": ",", "encoding": "cp1252", "drop": ["nr"], "kinds": {"k": "discrete"}}
    (folder / "reading.json").write_text(json.dumps(options))
    quick = [
        "--max-evaluations", "300", "--seed", "1", "--curves", "none", "--forbid", "k,x", "--penalty", "aic",
    ]  # fmt: skip
    ok("learn", folder / "rows.txt", *quick, "--reading", folder / "reading.json", "--out", folder / "run")
    return folder


@pytest.fixture
def run(finished, tmp_path):
    shutil.copytree(finished / "run", tmp_path / "run")
    return tmp_path / "run"


def test_a_finished_run_gets_the_probabilities_that_its_learner_gives(run):
    before = json.loads((run / "run.json").read_text())
    printed = ok("confidence", run, "--repeat", "2")
    assert "Probabilities of edges (exact; means over 2 sets of bins" in printed.stdout
    assert "Learned again 2 times" in printed.stdout
    assert "Each edge tested on" in printed.stdout
    assert "the data " in printed.stdout
    assert {path.name for path in run.iterdir()} == RUN_FILES | {"confidence.json", "stability.json"}
    network = DiscretizedBayesNet.from_json(run / "network.json")
    assert (
        network.metadata["edge_probabilities"]["pairs"]
        == json.loads((run / "confidence.json").read_text())["pairs"]
    )
    after = json.loads((run / "run.json").read_text())
    assert after["confidence"]["n_bin_sets"] == 2
    assert {name: after[name] for name in before} == before
    # what is not computed again stays
    ok("confidence", run, "--quiet", "--json")
    assert (run / "stability.json").exists()
    stored = json.loads((run / "confidence.json").read_text())
    table = BayesNetLearner(kinds={"k": "discrete"}, max_evaluations=1).fit(_rows(before)).table_
    expected = network.edges and _probabilities(run, table)
    assert stored["pairs"] == expected


def _rows(record):
    return pd.read_csv(record["data"]["path"], sep=";", decimal=",", encoding="cp1252").drop(columns="nr")


def _probabilities(run, table):
    from gomea_bn import ExpertKnowledge
    from gomea_bn.certainty import edge_probabilities

    network = DiscretizedBayesNet.from_json(run / "network.json")
    rules = ExpertKnowledge(forbidden_edges=[("k", "x")])
    return json.loads(edge_probabilities(network, table, knowledge=rules).to_json())["pairs"]


def test_a_table_that_moved_is_named(run, finished, tmp_path):
    record = json.loads((run / "run.json").read_text())
    moved = shutil.copy(finished / "rows.txt", tmp_path / "moved.txt")
    record["data"]["path"] = str(tmp_path / "gone.txt")
    (run / "run.json").write_text(json.dumps(record))
    assert "The table of the run is not where it was" in refused(3, "confidence", run)
    assert "Probabilities of edges" in ok("confidence", run, "--data", moved).stdout
    Path(moved).write_text("x\n1\n")
    assert "SHA-256 differs" in refused(3, "confidence", run, "--data", moved)


def test_what_cannot_be_computed_is_refused_before_the_work(run, finished, tmp_path):
    assert "does not exist" in refused(3, "confidence", tmp_path / "none")
    (tmp_path / "file.csv").touch()
    assert "is not a folder" in refused(3, "confidence", tmp_path / "file.csv")
    record = json.loads((run / "run.json").read_text())
    record["parameters"]["discretizer"] = "KMeans(n_bins=3)"
    (run / "run.json").write_text(json.dumps(record))
    assert "--repeat: the run used KMeans(n_bins=3)" in refused(2, "confidence", run, "--repeat", "1")
    (run / "run.json").unlink()
    assert "has no run.json" in refused(3, "confidence", run)


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


def test_an_experts_edges_are_tested_on_columns_as_they_are_read(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(5, 2, 120).round(2)
    frame = pd.DataFrame(
        {"x": x, "y": np.where(rng.random(120) < 0.2 + 0.1 * (x > 5), "yes", "no"), "z": "a"}
    )
    frame.loc[::2, "z"] = "b"
    # below a limit of detection, and a level that only a row with a gap has
    frame["x"] = frame["x"].astype(str).mask(frame["x"] < 3, "<3")
    frame.loc[0, ["z", "x"]] = ["rare", None]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "edges.csv").write_text("parent,child\nx,y\n")
    edges, rows = tmp_path / "edges.csv", tmp_path / "rows.csv"
    tested = ok("test-graph", edges, rows, "--n-permutations", 20, "--seed", 1)
    assert "119 of 120 rows, those without missing values," in tested.stdout
    assert tested.stderr.count("Values below a limit") == 1
    compared = ok("compare", edges, edges, "--data", rows, "--test-graph")
    assert "x → y: the data " in compared.stdout
    ok("review", edges, "--data", rows, "--test-graph", "-o", tmp_path / "page.html")
