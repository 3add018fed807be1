"""The commands around a front: what they print, write and refuse."""

import gzip
import hashlib
import io
import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from front_examples import example_front, small_frame, stand_in_learner
from typer.testing import CliRunner

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.cli import app as cli
from gomea_bn.cli.named_networks import candidate, named_network
from gomea_bn.front.decision import Decision
from gomea_bn.front.folder import read_front, write_front
from gomea_bn.metrics.comparison import compare

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"


def invoke(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def ok(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def refused(code, *arguments):
    """Return the one line that a command ends with."""
    result = invoke(*arguments)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture(scope="module")
def front():
    return example_front(20)


@pytest.fixture(scope="module")
def folder(front, tmp_path_factory):
    place = tmp_path_factory.mktemp("fronts") / "front"
    write_front(place, front, networks=4)
    return place


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a run of `learn`, and its table beside it."""
    place = tmp_path_factory.mktemp("runs")
    small_frame().to_csv(place / "rows.csv", index=False)
    arguments = ["--max-evaluations", "500", "--seed", "1", "--quiet", "--max-levels", "7"]
    ok("learn", place / "rows.csv", "--out", place / "run", *arguments)
    return place / "run"


@pytest.mark.parametrize("ending", ["json", "bif", "dot"])
def test_export_takes_one_network_out(front, folder, run, tmp_path, ending):
    texts = {n: getattr(front[n].network, f"to_{ending}")() for n in range(20)}
    assert ok("export", folder, "--network", 12, "--to", ending).stdout == texts[12]
    target = tmp_path / f"one.{ending}"
    assert ok("export", folder, "--network", 19, "-o", target).stderr == f"Wrote {target}.\n"
    assert target.read_text() == texts[19]
    for which, chosen in {
        "knee": front.knee(),
        "closest": front.closest_to_expert(),
        "complexity": front.best("complexity"),
    }.items():
        assert ok("export", folder, "--network", which, "--to", ending.upper()).stdout == texts[chosen.index]
    only = DiscretizedBayesNet.from_json(run / "network.json")
    assert ok("export", run, "--to", ending).stdout == getattr(only, f"to_{ending}")()


def test_export_gives_the_table(front, folder, tmp_path):
    text = ok("export", folder, "--to", "csv").stdout
    frame = pd.read_csv(io.StringIO(text), index_col="id")
    assert np.allclose(frame[list(front.names)], front.values, rtol=1e-12)
    assert frame["n_edges"].tolist() == [len(one.network.edges) for one in front]
    assert frame.index[frame["knee"]].tolist() == [front.knee().index]
    ok("export", folder, "-o", tmp_path / "table.parquet")
    assert pd.read_parquet(tmp_path / "table.parquet")["misfit"].tolist() == front.values[:, 0].tolist()


def test_export_refuses(folder, run, tmp_path, monkeypatch):
    assert "must be json, bif, dot, csv or parquet" in refused(2, "export", folder, "--to", "pickle")
    assert "got 'txt'" in refused(2, "export", folder, "-o", tmp_path / "table.txt")
    assert "name it with --network" in refused(2, "export", folder, "--to", "bif")
    assert "leave --network out" in refused(2, "export", folder, "--to", "csv", "--network", 3)
    assert "networks 0 to 19, got 20" in refused(2, "export", folder, "--network", 20)
    assert "Did you mean 'knee'?" in refused(2, "export", folder, "--network", "kne")
    assert "--out" in refused(2, "export", folder, "--to", "parquet")
    assert "no ids and no table" in refused(2, "export", run, "--network", 0)
    assert "no ids and no table" in refused(2, "export", run, "--to", "csv")
    assert "does not exist" in refused(3, "export", tmp_path / "none")
    assert "holds neither front.json nor network.json" in refused(3, "export", tmp_path)
    (tmp_path / "front.json").write_text("{}")
    assert "is not a front" in refused(3, "export", tmp_path, "--to", "csv")
    assert "does not exist" in refused(1, "export", run, "-o", tmp_path / "none" / "one.bif")
    assert "does not exist" in refused(1, "export", folder, "-o", tmp_path / "none" / "table.parquet")
    monkeypatch.setattr("gomea_bn.front.folder.find_spec", lambda name: None)
    assert "needs pyarrow" in refused(1, "export", folder, "-o", tmp_path / "table.parquet")


def test_networks_are_named_by_file_folder_or_id(front, folder, run, tmp_path):
    twelfth = front[12].network
    twelfth.to_json(tmp_path / "a#1.json")
    twelfth.to_bif(tmp_path / "a.bif")
    (tmp_path / "a.bif.gz").write_bytes(gzip.compress((tmp_path / "a.bif").read_bytes()))
    assert named_network(str(tmp_path / "a#1.json")) == twelfth
    for name in ("a.bif", "a.bif.gz"):
        found = named_network(str(tmp_path / name))
        assert found.edges == twelfth.edges
        assert {key: cuts.tolist() for key, cuts in found.cut_points.items()} == {
            key: cuts.tolist() for key, cuts in twelfth.cut_points.items()
        }
    assert named_network(f"{folder}#12") == twelfth
    assert named_network(f"{folder}/#knee") == front.knee().network
    assert named_network(f"{folder}#expert") == front.expert
    (tmp_path / "front #1").symlink_to(folder)
    assert named_network(f"{tmp_path / 'front #1'}#12") == twelfth
    assert named_network(f"{folder}#misfit") == front.best("misfit").network
    assert named_network(str(run)) == DiscretizedBayesNet.from_json(run / "network.json")
    for text, message in (
        (str(folder), "name one"),
        (f"{folder}#99", "networks 0 to 19"),
        (f"{folder}#-1", "named by its id"),
        (f"{folder}#²", "named by its id"),
        (f"{run}#1", "has no front.json"),
        (str(tmp_path / "none.json"), "does not exist"),
        (str(tmp_path), "holds neither"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            named_network(text)
    alone = example_front(3, expert=False)
    write_front(tmp_path / "alone", alone)
    with pytest.raises(GomeaBnError, match="without an expert"):
        named_network(f"{tmp_path / 'alone'}#expert")
    with pytest.raises(GomeaBnError):
        candidate(alone, "closest")


@pytest.fixture
def stand_in(monkeypatch):
    return stand_in_learner(monkeypatch)


@pytest.fixture
def data(tmp_path):
    small_frame().to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_front_prints_and_writes_what_was_found(stand_in, data, tmp_path):
    out = tmp_path / "new" / "front"
    result = ok("front", data, "--out", out, "--networks", 3, "--parquet")
    whole = example_front(9)
    found = read_front(out)
    assert found.values.tolist() == whole.values.tolist()
    assert found.record["source"] == {
        "path": str(data),
        "file_sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
    }
    assert found.record["n_rows"] == 60
    assert found.record["seconds"] == {"compile": 0.5}
    assert "expert_source" not in found.record
    assert {"front.parquet", "front.csv", "expert_completed.json", "networks"} <= {
        path.name for path in out.iterdir()
    }
    assert len(list(out.glob("networks/*.json"))) == 3
    assert "The front has 9 networks" in result.stdout
    lines = {line[:32].strip(): line.split() for line in result.stdout.splitlines()}
    for name, chosen in {
        "Knee": whole.knee(),
        "Least distance to the expert": whole.closest_to_expert(),
        "Least complexity": whole.best("complexity"),
    }.items():
        values = [f"{value:.6g}" for value in chosen.objectives.values()]
        assert lines[name][-5:] == [str(chosen.index), str(len(chosen.network.edges)), *values]
    for objective, column in zip(whole.objectives, whole.values.T):
        assert (
            f"{column.min():>12.6g}{column.max():>12.6g}  {objective.unit}; less is {objective.better}"
            in result.stdout
        )
    assert "Stopped by max_evaluations after 0.25 s, 1,234 evaluations and 5 generations." in result.stdout
    assert "with --seed 7 give this front again" in result.stdout
    assert "Rule: bool, categorical and text columns" in result.stderr
    assert f"gomea-bn review {out} -o page.html" in result.stderr
    assert f"gomea-bn accept {out} decision.json" in result.stderr


def test_front_without_out_says_so_and_json_is_for_programs(stand_in, data):
    assert "Nothing will be written: no --out given." in ok("front", data).stderr
    result = ok("front", data, "--json", "--quiet")
    assert result.stderr == ""
    summary = json.loads(result.stdout)
    whole = example_front(9)
    assert summary["n_networks"] == 9
    assert [one["least"] for one in summary["objectives"]] == whole.values.min(axis=0).tolist()
    assert summary["choices"][0]["what"] == "knee"
    assert summary["choices"][0]["id"] == whole.knee().index
    assert summary["choices"][0]["edges"] == [list(edge) for edge in whole.knee().network.edges]
    assert (summary["seed"], summary["n_eval"], summary["stopped_by"]) == (7, 1234, "max_evaluations")


def test_options_reach_the_learner(stand_in, data, tmp_path):
    expert = tmp_path / "expert.csv"
    expert.write_text("parent,child\na,b\n")
    ok(
        "front", data, "--expert", expert, "--objective", "misfit", "--objective", "expert_distance",
        "--discretizer", "equal-width", "--max-bins", "5", "--max-complexity", "40.5", "--max-indegree", "2",
        "--max-candidates", "all",
        "--max-table-cells", "60", "--max-seconds", "0", "--max-evaluations", "9", "--max-generations", "3",
        "--seed", "4", "--jobs", "1", "--kind", "a=continuous", "--cut-points", "a=-0.5,0.5",
        "--require", "a->b", "--forbid", "b,c", "--tier", "a", "--tier", "b,c", "--missing", "drop",
        "--max-levels", "9", "--min-width", "0.02", "--min-bin-count", "7",
        "--pseudo-count", "0.5", "--patience", "3", "--quiet", "--out", tmp_path / "front",
    )  # fmt: skip
    given = stand_in.given
    assert given.pop("expert").edges == [("a", "b")]
    knowledge = given.pop("knowledge")
    assert knowledge.required_edges == (("a", "b"),)
    assert knowledge.forbidden_edges == (("b", "c"),)
    assert knowledge.temporal_order == (("a",), ("b", "c"))
    assert knowledge.max_table_cells == 60
    assert given == {
        "objectives": ["misfit", "expert_distance"], "discretizer": "equal-width", "max_bins": 5,
            "min_width": 0.02, "min_bin_count": 7,
        "max_complexity": 40.5, "max_indegree": 2, "max_candidates": None, "max_seconds": None, "max_evaluations": 9,
        "max_generations": 3, "random_state": 4, "n_jobs": 1, "kinds": {"a": "continuous"},
        "cut_points": {"a": [-0.5, 0.5]}, "missing": "drop", "max_levels": 9, "pseudo_count": 0.5,
        "verbose": False, "patience": 3.0,
    }  # fmt: skip
    assert read_front(tmp_path / "front").record["expert_source"] == {
        "path": str(expert), "file_sha256": hashlib.sha256(expert.read_bytes()).hexdigest()
    }  # fmt: skip


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["--kind", "aa=discrete"], "unknown column 'aa'. Did you mean 'a'?"),
        (2, ["--missing", "fill"], "--missing must be error or drop"),
        (2, ["--require", "a"], "--require must be parent,child"),
        (2, ["--expert", "none.csv"], "none.csv"),
        (2, ["--objective", "misfits", "--objective", "complexity"], "got 'misfits'. Did you mean 'misfit'?"),
        (2, ["--objective", "misfit"], "at least two different ones, got misfit"),
        (2, ["--objective", "misfit", "--objective", "misfit"], "at least two different ones"),
        (2, ["--objective", "misfit", "--objective", "expert_distance"], "needs the expert's network"),
        (2, ["--max-seconds", "0"], "Set a limit"),
        (2, ["--expert", "wrong.csv"], "Did you mean 'b'?"),
        (2, ["--out", "rows.csv"], "not a folder"),
        (2, ["--networks", "-1"], "--networks"),
        (2, ["--colour"], "--colour"),
        (3, ["--max-levels", "2"], "Merge or drop levels, or raise --max-levels."),
    ],
)
def test_front_answers_wrong_use_by_one_line(stand_in, data, tmp_path, monkeypatch, code, arguments, message):
    monkeypatch.chdir(tmp_path)
    frame = small_frame()
    frame["c"] = np.where(frame["a"] > 1, "x", np.where(frame["a"] > 0, "y", "z"))
    frame.rename(columns={"b": "bb"}).assign(b=frame["b"]).to_csv(data, index=False)
    Path("wrong.csv").write_text("parent,child\na,b1\n")
    assert message in refused(code, "front", data, *arguments, "--quiet")


def test_an_interrupted_search_keeps_its_front_and_none_writes_nothing(stand_in, data, tmp_path):
    stand_in.stop = "interrupt"
    result = ok("front", data, "--out", tmp_path / "front", "--quiet")
    assert result.stderr == "Interrupted: this is the front so far.\n"
    assert "with --seed 7 --max-evaluations 1234 --max-seconds 0 give this front again" in result.stdout
    assert len(read_front(tmp_path / "front")) == 9
    stand_in.stop = "nothing"
    result = invoke("front", data, "--out", tmp_path / "other", "--quiet")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "Error: Interrupted; nothing was written.\n"
    assert not (tmp_path / "other").exists()


def test_a_front_that_cannot_be_written_is_shown(stand_in, data, tmp_path, monkeypatch):
    def full_disk(*arguments, **options):
        raise GomeaBnError("No space left on device.")

    monkeypatch.setattr("gomea_bn.front.folder.write_front", full_disk)
    result = invoke("front", data, "--out", tmp_path / "front", "--quiet")
    assert result.exit_code == 1
    assert result.stderr == "Error: No space left on device.\n"
    assert "The front has 9 networks" in result.stdout


@pytest.mark.parametrize(("script", "command"), [("run_mo", "front"), ("export_front", "export")])
def test_the_launchers_are_the_same_commands(stand_in, data, folder, capsys, script, command):
    arguments = {"front": [data, "--quiet"], "export": [folder, "--network", "knee", "--to", "bif"]}[command]
    launcher = runpy.run_path(str(SCRIPTS / f"{script}.py"))
    with pytest.raises(SystemExit) as ended:
        launcher["main"]([str(argument) for argument in arguments])
    assert ended.value.code == 0
    printed, told = capsys.readouterr()
    assert told == ""
    assert printed == ok(command, *arguments).stdout
    assert len((SCRIPTS / f"{script}.py").read_text().splitlines()) < 80


MOVED = "The table is not where it was, or has changed"


def test_review_writes_the_page_of_a_front(stand_in, front, folder, data, tmp_path):
    result = ok("review", folder, "-o", tmp_path / "page.html", "--networks", 5)
    page = (tmp_path / "page.html").read_text()
    assert front.run_hash in page
    assert MOVED in result.stderr
    assert f"gomea-bn accept {folder} decision.json -o model.json" in result.stdout
    out = tmp_path / "front"
    ok("front", data, "--out", out, "--quiet")
    assert ok("review", out).stderr == ""
    with_rows = (out / "review.html").read_text()
    assert read_front(out).run_hash in with_rows
    data.rename(tmp_path / "moved.csv")
    assert MOVED in ok("review", out).stderr
    assert (out / "review.html").read_text() != with_rows  # without the rows it has fewer counts
    assert ok("review", out, "--data", tmp_path / "moved.csv").stderr == ""
    assert (out / "review.html").read_text() == with_rows
    small_frame().iloc[1:].to_csv(data, index=False)
    assert MOVED in ok("review", out).stderr
    assert "is not the file that was learned from" in refused(3, "review", out, "--data", data)
    assert "nothere.csv' does not exist" in refused(3, "review", out, "--data", tmp_path / "nothere.csv")
    assert f"'{tmp_path}' is not a file" in refused(3, "review", out, "--data", tmp_path)


def test_a_table_is_found_from_elsewhere_and_a_damaged_histogram_told(stand_in, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "front"
    ok("front", "rows.csv", "--out", "front", "--quiet")
    ok("learn", "rows.csv", "--out", "run", "--max-evaluations", 200, "--quiet")
    monkeypatch.chdir("/")
    assert ok("review", out).stderr == ""
    assert ok("review", tmp_path / "run").stderr == ""
    data.write_text(data.read_text() + "\n")
    assert MOVED in ok("review", out).stderr
    assert "is not the file that was learned from" in refused(3, "review", out, "--data", data)
    data.unlink()
    content = json.loads((out / "front.json").read_text())
    content["record"]["columns"][0]["histogram"]["edges"][0] = "low"
    (out / "front.json").write_text(json.dumps(content))
    assert "columns[0] must have a name and a histogram" in refused(3, "review", out)


def test_review_reports_a_run_of_learn(run, tmp_path):
    result = ok("review", run, "-o", tmp_path / "page.html")
    assert result.stderr == ""
    assert "accept" not in result.stdout
    page = (tmp_path / "page.html").read_text()
    assert json.loads((run / "run.json").read_text())["data"]["table_sha256"] in page
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "network.json").write_bytes((run / "network.json").read_bytes())
    assert MOVED in ok("review", alone).stderr
    for text, message in (("[]", "not the record of a run"), ("{", "is not JSON")):
        (alone / "run.json").write_text(text)
        assert message in refused(3, "review", alone)


def test_review_refuses(folder, tmp_path):
    assert "does not exist" in refused(3, "review", tmp_path / "none")
    assert "holds neither" in refused(3, "review", tmp_path)
    assert "--networks" in refused(2, "review", folder, "--networks", 0)
    result = invoke("review", folder, "-o", tmp_path / "none" / "page.html")
    assert result.exit_code == 1
    assert "does not exist" in result.stderr


def test_compare_tells_the_difference_in_words(front, folder, tmp_path):
    first, second = front[3].network, front[8].network
    second.to_json(tmp_path / "second.json")
    result = ok("compare", f"{folder}#3", tmp_path / "second.json")
    assert compare(first, second).to_text("A", "B") in result.stdout
    assert result.stdout.startswith(f"A: {folder}#3\nB: {tmp_path / 'second.json'}\n")
    facts = json.loads(ok("compare", f"{folder}#3", tmp_path / "second.json", "--json").stdout)
    assert {tuple(edge) for edge in facts["common"]} == set(first.edges) & set(second.edges)
    assert {one["name"]: one["n_b"] for one in facts["variables"]} == {
        name: second.cardinality(name) for name in second.names
    }
    assert "equal in every probability" in ok("compare", f"{folder}#3", f"{folder}#3").stdout
    assert "networks 0 to 19" in refused(3, "compare", f"{folder}#3", f"{folder}#20")
    assert "does not exist" in refused(3, "compare", tmp_path / "none.bif", f"{folder}#3")


def test_accept_turns_a_decision_into_a_model(front, folder, run, tmp_path):
    notes = {12: "plausible\x1b[31m", 3: "too large"}
    made = Decision(front.run_hash, 12, "2026-11-05T14:30:00Z", shortlist=(12, 3), notes=notes)
    (tmp_path / "decision.json").write_text(made.to_json())
    result = ok("accept", folder, tmp_path / "decision.json", "-o", tmp_path / "model.json")
    model = DiscretizedBayesNet.from_json(tmp_path / "model.json")
    assert model == front[12].network
    assert model.metadata["decision"]["notes"]["12"] == notes[12]
    assert result.stderr == f"Wrote {tmp_path / 'model.json'}.\n"
    assert "Network 12, chosen 2026-11-05T14:30:00Z from a front of 20." in result.stdout
    assert "Note: plausible\\x1b[31m\n" in result.stdout
    assert model.summary() in result.stdout
    ok("accept", folder, tmp_path / "decision.json", "-o", tmp_path / "model.bif")
    assert (tmp_path / "model.bif").read_text() == model.to_bif()
    target = tmp_path / "other.json"
    assert "must end in .json, .bif or .dot" in refused(
        2, "accept", folder, tmp_path / "decision.json", "-o", tmp_path / "model.txt"
    )
    assert "--out" in refused(2, "accept", folder, tmp_path / "decision.json")
    assert "has no front.json" in refused(3, "accept", run, tmp_path / "decision.json", "-o", target)
    assert "does not exist" in refused(3, "accept", folder, tmp_path / "none.json", "-o", target)
    write_front(tmp_path / "other", example_front(20, seed=9))
    assert "about another front" in refused(
        3, "accept", tmp_path / "other", tmp_path / "decision.json", "-o", target
    )
    assert not target.exists()
    assert "does not exist" in refused(
        1, "accept", folder, tmp_path / "decision.json", "-o", tmp_path / "no" / "model.json"
    )
