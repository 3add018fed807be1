"""The command `confidence`: probabilities of edges for the folder of a finished run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import RUN_FILES, ok, refused

from gomea_bn import BayesNetLearner, DiscretizedBayesNet


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
        "--max-evaluations",
        "300",
        "--seed",
        "1",
        "--curves",
        "none",
        "--forbid",
        "k,x",
        "--penalty",
        "aic",
    ]
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


def test_the_former_options_of_learn_warn(finished, tmp_path):
    result = ok(
        "learn",
        finished / "rows.txt",
        "--reading",
        finished / "reading.json",
        "--max-evaluations",
        "100",
        "--confidence",
    )
    assert "move to the command `gomea-bn confidence RUN`" in result.stderr
