"""The files that the command `learn` writes, replaces and leaves."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import QUICK, RUN_FILES, invoke, learn, ok
from network_examples import HOSTILE_NAMES

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, average_families, cut_gains
from gomea_bn.learning.run_folder import check_run_folder, write_run_folder
from gomea_bn.runtime.environment import cpu_name


def test_learn_writes_four_files_that_agree(table, rows, tmp_path):
    out = tmp_path / "new" / "run"
    ok("learn", table, *QUICK, "--out", out)
    assert {path.name for path in out.iterdir()} == RUN_FILES
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert network == BayesNetLearner(max_evaluations=2000, random_state=1).fit(rows).network_
    assert set(DiscretizedBayesNet.from_file(out / "network.bif").edges) == set(network.edges)
    assert (out / "network.dot").read_text() == network.to_dot()
    record = json.loads((out / "run.json").read_text())
    assert record["data"]["file_sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert record["data"]["table_sha256"] == network.metadata["data_sha256"]
    assert record["data"]["n_rows"] == 150
    assert [column["kind"] for column in record["data"]["columns"]] == ["continuous"] * 2 + ["discrete"] * 2
    assert record["counts"]["n_eval"] == 2000
    assert record["counts"]["families_scored"] > 0
    assert record["stopped_by"] == "max_evaluations"
    assert record["seed"] == 1
    assert record["score"] == network.metadata["score"] == record["history"][-1]["score"]
    assert record["versions"]["numpy"] == np.__version__
    assert record["machine"]["cpu"] == cpu_name() != ""
    assert record["repeat"] == {"random_state": 1, "max_evaluations": 2000, "max_seconds": None}


def test_the_network_is_written_with_its_conditionals(table, rows, tmp_path):
    out = tmp_path / "run"
    arguments = [table, *QUICK, "--prefer", "density", "--out", out]
    result = ok("learn", *arguments)
    network = DiscretizedBayesNet.from_json(out / "network.json")
    plain = json.loads(learn(table, *QUICK, "--density", "bins", "--json").stdout)["network"]
    tables = DiscretizedBayesNet.from_json(json.dumps(plain))
    assert tables.conditionals is None
    assert network == average_families(tables, rows, random_state=1)
    assert network.summary(cut_gains(network, rows)) in result.stdout
    assert f"in the data's units: {network.score(rows):.4f} nats." in result.stdout
    printed = json.loads(learn(*arguments, "--json").stdout)["network"]
    assert DiscretizedBayesNet.from_json(json.dumps(printed)) == network
    without = json.loads(learn(*arguments, "--line", "none", "--json").stdout)["network"]["conditionals"]
    assert without["lines"] == {}
    assert without["copies"] == printed["conditionals"]["copies"]


def test_the_averaged_network_of_an_earlier_version_is_removed(table, tmp_path):
    out = tmp_path / "run"
    ok("learn", table, *QUICK, "--out", out)
    (out / "averaged.json").write_text('{"format": "gomea-bn averaged network"}')
    ok("learn", table, *QUICK, "--out", out)
    assert {path.name for path in out.iterdir()} == set(RUN_FILES)


def test_an_impossible_folder_is_refused_before_the_search(table, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "held" / "run.json").mkdir(parents=True)
    for folder, message in (
        ("file", "not a folder"),
        ("file/below", "not a folder"),
        ("held", "a folder has this name"),
    ):
        result = learn(table, *QUICK, "--out", tmp_path / folder)
        assert result.exit_code == 2
        assert message in result.stderr
        assert "Searching" not in result.stderr


def test_a_failed_write_keeps_the_old_files_and_shows_the_result(table, tmp_path, monkeypatch):
    out = tmp_path / "run"
    ok("learn", table, *QUICK, "--out", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full_disk(path, text):
        if Path(path).name == "run.json":
            raise GomeaBnError("No space left on device.")
        Path(path).write_text(text)

    monkeypatch.setattr("gomea_bn.learning.run_folder.write_text", full_disk)
    result = learn(table, "--max-evaluations", "50", "--seed", "2", "--out", out)
    assert result.exit_code == 1
    assert "Error: No space left on device." in result.stderr
    assert "4 variables" in result.stdout
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_second_run_replaces_the_files_of_the_first(table, tmp_path):
    out = tmp_path / "run"
    ok("learn", table, *QUICK, "--out", out)
    ok("learn", table, "--max-evaluations", "3", "--seed", "2", "--out", out)
    assert {path.name for path in out.iterdir()} == RUN_FILES
    assert json.loads((out / "run.json").read_text())["seed"] == 2


def test_a_folder_that_vanishes_below_a_file_is_reported(tmp_path):
    network = DiscretizedBayesNet(
        ["a"], [], cut_points={}, support={}, levels={"a": (0, 1)}, tables={"a": [0.5, 0.5]}
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(GomeaBnError, match="Cannot write to folder"):
        write_run_folder(tmp_path / "file" / "below", network, {})
    check_run_folder(tmp_path / "not" / "yet")


def test_hostile_names_can_be_printed_written_and_ruled(rows, tmp_path):
    names = [name.strip() for name in HOSTILE_NAMES[:12]] + ["a->b", "x=1,y", "\x1b[31mred", "\u202etricky"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, len(names))), columns=names)
    path = tmp_path / "hostile.csv"
    frame.to_csv(path, index=False)
    quoted = '"x=1,y",' + names[0]
    result = ok(
        "learn",
        path,
        *QUICK,
        "--out",
        tmp_path / "out",
        "--cut-points",
        "x=1,y=0",
        "--require",
        quoted,
        "--forbid",
        '"a->b",é',
    )
    for text in (result.stdout, result.stderr):
        assert "\x1b" not in text
        assert "\\x1b[31mred" in text
    network = DiscretizedBayesNet.from_json(tmp_path / "out" / "network.json")
    assert list(network.names) == names
    assert ("x=1,y", names[0]) in network.edges
    assert network.cut_points["x=1,y"].tolist() == [0.0]


def test_files_that_no_run_wrote_stay(table, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "network.json").write_text("{}")
    arguments = ("learn", table, "--max-evaluations", 50, "--quiet", "--out")
    for record in (None, "{}", '{"format": "another"}'):
        if record is not None:
            (tmp_path / "mine" / "run.json").write_text(record)
        result = invoke(*arguments, tmp_path / "mine")
        assert result.exit_code == 2
        assert "does not belong to a run" in result.stderr
        assert (tmp_path / "mine" / "network.json").read_text() == "{}"
    ok(*arguments, tmp_path / "run")
    ok(*arguments, tmp_path / "run")


@pytest.mark.parametrize("command", ["learn", "front"])
def test_a_name_that_no_file_can_have_is_refused_before_the_search(table, tmp_path, command):
    result = invoke(command, table, "--max-evaluations", "100", "--out", tmp_path / ("n" * 300))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "name too long" in result.stderr
