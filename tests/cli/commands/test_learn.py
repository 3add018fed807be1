"""The command `learn`: what it prints, refuses and writes, and which options reach the learner."""

import hashlib
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import QUICK, RUN_FILES, invoke, learn, ok, refused
from learning_inside import of_fit
from network_examples import HOSTILE_NAMES, network_with

import gomea_bn
from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    average_families,
    cut_gains,
)
from gomea_bn.cli.commands.learn import _report
from gomea_bn.learning.run_folder import check_run_folder, write_run_folder
from gomea_bn.network.formats.summary import to_short_text
from gomea_bn.runtime import FitClock, source_digest
from gomea_bn.runtime.environment import cpu_name


def test_learn_prints_the_kinds_then_a_screen(table, rows):
    result = ok("learn", table, *QUICK)
    network = BayesNetLearner(max_evaluations=2000, random_state=1).fit(rows).network_
    assert result.stdout.startswith(to_short_text(network))
    assert f"{len(network.names)} columns, {len(network.edges)} edges." in result.stdout
    assert "nats" not in result.stdout
    assert len(result.stdout.splitlines()) <= 24
    assert "Rule: bool, categorical and text columns" in result.stderr
    assert "d  discrete    integers, 3 distinct (at most 10); 3 levels" in result.stderr
    assert "no --out given" in result.stderr
    assert "--seed 1 give this network again" in result.stdout
    assert "--out out/run keeps the network" in result.stdout


def test_a_screen_has_few_lines_whatever_the_columns():
    names = [f"c{k}" for k in range(40)]
    edges = [(names[0], name) for name in names[1:30]]
    tables = {name: [[0.5, 0.5]] * 2 if name in names[1:30] else [0.5, 0.5] for name in names}
    network = network_with(names, edges, levels=dict.fromkeys(names, (0, 1)), tables=tables)
    lines = to_short_text(network).splitlines()
    assert lines[0] == "40 columns, 29 edges."
    assert lines[11] == "  … and 19 more columns with their own"
    assert lines[12] == "Unrelated to all others: c30, c31, c32, c33, c34, c35, c36, c37, c38, c39."
    assert len(lines) == 13


def test_learn_says_what_to_type_next_about_the_target(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(60, 9, 300).round(1), "ward": rng.choice(["a", "b", "b"], 300)})
    frame["ill"] = (rng.random(300) < 1 / (1 + np.exp((60 - frame["age"]) / 4))).astype(int)
    data, run = tmp_path / "rows.csv", tmp_path / "run"
    frame.to_csv(data, index=False)
    printed = ok(
        "learn", data, "--out", run, "--target", "ill", "--max-evaluations", "30", "--seed", "1"
    ).stdout
    assert printed.splitlines()[1].startswith("  ill goes with age")
    following = printed.partition("Next:\n")[2]
    found = re.search(r"gomea-bn query \S+ --target ill --given (age=[\d.]+) ", following)
    assert found is not None
    assert "1" in ok("query", run, "--target", "ill", "--given", found[1]).stdout
    assert f"gomea-bn study {data} --target ill -o study.html" in following


def test_learn_proposes_no_question_about_a_time_until_an_event(tmp_path):
    rng = np.random.default_rng(0)
    dose, age = rng.normal(size=(2, 300))
    days = np.exp(1.5 * dose + age).round(2)
    frame = pd.DataFrame({"days": days, "dose": dose, "age": age, "died": (days < 1).astype(int)})
    data = tmp_path / "rows.csv"
    frame.to_csv(data, index=False)
    result = ok("learn", data, "--out", tmp_path / "run", "--max-evaluations", "300", "--seed", "1")
    assert "'days' looks like the time until 'died'" in " ".join(result.stderr.split())
    following = result.stdout.partition("Next:\n")[2]
    assert "--target" in following
    assert "--target days" not in following


def test_ctrl_c_while_conditionals_are_learned_leaves_the_tables(table, rows, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(of_fit, "average_in_time", interrupted)
    out = tmp_path / "run"
    result = ok("learn", table, *QUICK, "--out", out)
    assert (
        "Warning: The averaging of families was interrupted. The network of the whole search is kept: it has tables "
        "alone, counted from the rows. Learn again for averages.\n"
    ) in result.stderr
    assert {path.name for path in out.iterdir()} == set(RUN_FILES)
    network = DiscretizedBayesNet.from_json(out / "network.json")
    shown = ok("show", out, "--data", table).stdout
    assert f"in its units: {network.score(rows):.4f} nats." in shown
    assert network.conditionals is None
    assert set(json.loads(learn(table, *QUICK, "--json").stdout)) == {"run", "network"}


def test_a_recorded_run_can_be_repeated_from_its_record(table, rows, tmp_path, monkeypatch):
    # the limit ends the search, and cuts nothing short after it
    monkeypatch.setattr(of_fit, "FitClock", lambda _seconds: FitClock())
    ok("learn", table, "--max-seconds", "0.15", "--patience", "0", "--out", tmp_path / "run", "-q")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["stopped_by"] == "max_seconds"
    parameters = dict(record["parameters"])
    knowledge = ExpertKnowledge(**parameters.pop("knowledge"))
    options = {**parameters, **record["repeat"], "knowledge": knowledge}
    again = BayesNetLearner(**options).fit(rows)
    assert again.network_ == DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json")
    seed, evaluations = record["seed"], record["counts"]["n_eval"]
    arguments = ["--seed", seed, "--max-evaluations", evaluations, "--max-seconds", 0, "--patience", 0]
    ok("learn", table, *arguments, "--out", tmp_path / "again")
    assert (tmp_path / "again" / "network.dot").read_text() == (tmp_path / "run" / "network.dot").read_text()


def test_options_reach_the_learner(table, tmp_path):
    tiers = tmp_path / "tiers.txt"
    tiers.write_text("d\n\na, b\n")
    result = ok(
        "learn", table, "--discretizer", "equal-width", "--scoring-method", "density-bd", "--prior", "bdeu",
        "--max-bins", "5", "--max-indegree", "2", "--max-candidates", "3", "--max-table-cells", "60",
        "--ess", "5", "--max-levels", "9", "--pseudo-count", "0.5", "--penalty", "3.5", "--kind", "d=continuous",
        "--shape", "marginal", "--cut-points", "a=-0.5,0.5", "--require", "d->a", "--require", "b,c",
        "--forbid", "a->b", "--tiers", tiers, "--missing", "drop",
        "--max-evaluations", "400", "--patience", "0", "--jobs", "1", "--json", "--quiet",
    )  # fmt: skip
    (warning,) = result.stderr.splitlines()
    assert "at most 10 values: 'd' (0, 1, 2)" in warning
    content = json.loads(result.stdout)
    parameters = content["run"]["parameters"]
    assert parameters["discretizer"] == "equal-width"
    assert parameters["scoring_method"] == "density-bd"
    assert (parameters["prior"], parameters["equivalent_sample_size"]) == ("bdeu", 5.0)
    assert (parameters["max_bins"], parameters["max_indegree"], parameters["max_levels"]) == (5, 2, 9)
    assert parameters["max_candidates"] == 3
    assert parameters["shape"] == "marginal"
    shaped = [variable["name"] for variable in content["network"]["variables"] if "shape" in variable]
    assert shaped == ["a", "b", "d"]
    assert (parameters["pseudo_count"], parameters["penalty"], parameters["missing"]) == (0.5, 3.5, "drop")
    assert parameters["kinds"] == {"d": "continuous"}
    assert parameters["cut_points"] == {"a": [-0.5, 0.5]}
    assert (parameters["patience"], parameters["max_evaluations"]) == (None, 400)
    assert parameters["knowledge"] == {
        "required_edges": [["d", "a"], ["b", "c"]], "forbidden_edges": [["a", "b"]],
        "temporal_order": [["d"], ["a", "b"]], "max_indegree": None, "max_table_cells": 60,
    }  # fmt: skip
    assert content["run"]["stopped_by"] == "max_evaluations"
    assert content["run"]["n_jobs"] == 1
    network = DiscretizedBayesNet.from_json(json.dumps(content["network"]))
    assert {("d", "a"), ("b", "c")} <= set(network.edges)
    assert network.cut_points["a"].tolist() == [-0.5, 0.5]
    assert network.pseudo_count == 0.5


@pytest.mark.long
def test_dropped_rows_are_reported(rows, tmp_path):
    holes = rows.copy()
    holes.loc[[4, 9], "a"] = np.nan
    holes.to_csv(tmp_path / "holes.csv", index=False)
    printed = ok("learn", tmp_path / "holes.csv", *QUICK).stdout
    assert "4 columns, " in printed
    assert "nats" not in printed
    assert len(printed.splitlines()) <= 24
    assert "--out out/run keeps the network" in printed
    message = refused(3, "learn", tmp_path / "holes.csv", *QUICK, "--missing", "error")
    assert "Column 'a'" in message
    assert "rows 4, 9" in message
    dropped = ok("learn", tmp_path / "holes.csv", *QUICK, "--missing", "drop")
    assert "Dropped 2 of 150 rows" in dropped.stderr


@pytest.mark.long
def test_a_constant_column_is_announced_once_and_kept(table, rows, tmp_path):
    rows.assign(site="north").to_csv(table, index=False)
    warning = "Warning: 1 column of the table is constant and will have no edges: 'site' is 'north' in all 150 rows.\n"
    for command, arguments in (
        ("learn", [*QUICK, "--out", tmp_path / "run"]),
        ("front", [*QUICK, "--out", tmp_path / "front"]),
        ("discretize", ["--method", "equal-width"]),
    ):
        result = ok(command, table, *arguments)
        assert result.stderr.count("is constant") == 1
        assert warning in result.stderr
        assert "site  discrete    constant: 'north' in all 150 rows" in result.stderr
    assert DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json").levels["site"] == ("north",)
    assert "--max-candidates" not in learn(table, *QUICK).stdout
    for command, folder in (("export", "run"), ("review", "front"), ("review", "run")):
        arguments = ["--to", "bif"] if command == "export" else []
        ok(command, tmp_path / folder, *arguments)


@pytest.mark.long
def test_averages_of_a_table_with_missing_values_are_reported(table, tmp_path):
    rows = pd.read_csv(table)
    numeric = rows.select_dtypes("number").columns[0]
    rows.loc[::5, numeric] = np.nan
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    result = ok(
        "learn", tmp_path / "gaps.csv", "--max-evaluations", "200", "--max-seconds", "0",
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert f"gomea-bn review {tmp_path / 'run'}" in result.stdout
    assert DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json").conditionals is not None


def test_a_folder_of_files_is_learned_in_pieces(tmp_path):
    generator = np.random.default_rng(1)
    x = generator.normal(size=3000)
    frame = pd.DataFrame({"x": x, "y": x + generator.normal(scale=0.5, size=3000), "z": x[::-1]})
    rows, out = tmp_path / "rows", tmp_path / "run"
    rows.mkdir()
    for part in range(3):
        frame.iloc[part * 1000 : (part + 1) * 1000].to_parquet(rows / f"{part}.parquet")
    small = [*QUICK, "--sample-rows", "1000"]
    result = ok("learn", rows, *small, "--out", out)
    assert re.search(r"All 3,000 rows: \d readings? of the files, .* on 1,00\d rows", result.stdout)
    assert "gomea-bn study" not in result.stdout
    frame.to_parquet(tmp_path / "rows.parquet")
    in_memory = ok("learn", tmp_path / "rows.parquet", *small).stdout
    assert re.search(r"All 3,000 rows: \d readings? of the table, .* on 1,00\d rows", in_memory)
    network = json.loads((out / "network.json").read_text())
    assert network["metadata"]["all_rows"]["n_rows"] == 3000
    pattern = ok("learn", rows / "*.parquet", *small, "--json")
    assert json.loads(pattern.stdout)["network"]["variables"] == network["variables"]
    assert "it is an input (DATA)" in refused(2, "learn", rows, *small, "--out", rows / "run")
    chosen = ok("learn", rows, *small, "--drop", "z", "--json").stdout
    assert [v["name"] for v in json.loads(chosen)["network"]["variables"]] == ["x", "y"]
    assert json.loads(chosen)["run"]["reading"] == {"drop": ["z"]}
    assert "--columns: unknown column 'w'" in refused(2, "learn", rows, *small, "--columns", "w")
    of_files = refused(2, "learn", rows, *small, "--sep", ",")
    assert "--sep does not apply to a folder of files, whose columns have names" in of_files
    assert "or give one file." in of_files
    assert "Write the rows into one file, or repeat" in refused(2, "learn", rows, *small, "--weight", "y")
    (tmp_path / "texts").mkdir()
    frame.to_csv(tmp_path / "texts" / "rows.csv")
    assert "has no files that end in .parquet" in refused(3, "learn", tmp_path / "texts", *small)
    assert learn(tmp_path / "absent*", *small).exit_code != 0
    assert "leave it out for a table in one file" in refused(
        2, "learn", rows / "0.parquet", *QUICK, "--scheduler", "tcp://127.0.0.1:9"
    )


def test_a_second_ctrl_c_writes_the_network_of_the_sample(tmp_path, monkeypatch):
    def interrupted(counter, coding):
        raise KeyboardInterrupt

    # the first learning from many rows compiles by counting others
    of_fit.compile_many_rows()
    monkeypatch.setattr("gomea_bn.data.row_counters.LocalCounter.code", interrupted)
    x = np.random.default_rng(1).normal(size=3000)
    (tmp_path / "rows").mkdir()
    pd.DataFrame({"x": x, "y": x**2}).to_parquet(tmp_path / "rows" / "0.parquet")
    result = ok("learn", tmp_path / "rows", *QUICK, "--sample-rows", "1000", "--out", tmp_path / "run")
    assert "Interrupted before all 3,000 rows were counted: this is the network of a sample" in result.stdout
    assert (
        "Ctrl-C ended the improvement over all rows, so another run may give another network."
        in result.stdout
    )
    assert json.loads((tmp_path / "run" / "run.json").read_text())["repeat"] is None
    assert (
        json.loads((tmp_path / "run" / "network.json").read_text())["metadata"]["all_rows"]["tables_of"]
        == "sample"
    )


def test_what_ended_the_improvement_over_all_rows_is_said(tmp_path):
    generator = np.random.default_rng(1)
    x = generator.normal(size=2000)
    frame = pd.DataFrame({"x": x, "y": x + generator.normal(scale=0.5, size=2000)})
    learner = BayesNetLearner(
        max_evaluations=200, max_seconds=None, sample_rows=1000, density="bins", curves="none", random_state=1
    )
    printed = partial(_report, data=Path("data.csv"), out=None)
    fixed = printed(replace(learner, discretizer="equal-frequency").fit(frame))
    assert "No single edge would raise the score over all rows.\n" in fixed
    fitted = learner.fit(frame)
    ended = "over all rows, and no compared cuts of one column would gain a nat.\n"
    assert ended in printed(fitted)
    record = fitted.network_.metadata["all_rows"] | {"stopped_by": "max_seconds"}
    fitted.network_ = fitted.network_.with_metadata(all_rows=record)
    assert "max_seconds ended the improvement over all rows early.\n" in printed(fitted)


def test_learn_writes_three_files_that_agree(table, rows, tmp_path):
    out = tmp_path / "new" / "run"
    ok("learn", table, *QUICK, "--out", out)
    assert {path.name for path in out.iterdir()} == RUN_FILES
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert network == BayesNetLearner(max_evaluations=2000, random_state=1).fit(rows).network_
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
    assert record["versions"]["gomea-bn"] == gomea_bn.__version__
    assert record["sources"] == source_digest()
    assert json.loads((out / "network.json").read_bytes())["written_by"]["sources"] == record["sources"]
    assert record["machine"]["cpu"] == cpu_name() != ""
    assert record["repeat"] == {"random_state": 1, "max_evaluations": 2000, "max_seconds": None}


@pytest.mark.long
def test_the_network_is_written_with_its_conditionals(table, rows, tmp_path):
    out = tmp_path / "run"
    arguments = [table, *QUICK, "--prefer", "density", "--out", out]
    result = ok("learn", *arguments)
    network = DiscretizedBayesNet.from_json(out / "network.json")
    plain = json.loads(learn(table, *QUICK, "--density", "bins", "--json").stdout)["network"]
    tables = DiscretizedBayesNet.from_json(json.dumps(plain))
    assert tables.conditionals is None
    assert network == average_families(tables, rows, random_state=1)
    assert to_short_text(network) in result.stdout
    shown = ok("show", out, "--data", table).stdout
    assert network.summary(cut_gains(network, rows)) in shown
    assert f"per row of DATA, in its units: {network.score(rows):.4f} nats." in shown
    printed = json.loads(learn(*arguments, "--json").stdout)["network"]
    assert DiscretizedBayesNet.from_json(json.dumps(printed)) == network
    without = json.loads(learn(*arguments, "--line", "none", "--json").stdout)["network"]
    assert kinds_of_members(printed) > {"table"}
    assert kinds_of_members(without) == {"table"}


def kinds_of_members(network: dict) -> set[str]:
    """Return the kinds of all members of the conditionals in a network's JSON."""
    return {member["kind"] for members in network["conditionals"]["stacks"].values() for member in members}


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
    assert "4 columns" in result.stdout
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_second_run_replaces_the_files_of_the_first(table, tmp_path):
    out = tmp_path / "run"
    ok("learn", table, *QUICK, "--out", out)
    ok("learn", table, "--max-evaluations", "3", "--seed", "2", "--out", out)
    assert {path.name for path in out.iterdir()} == RUN_FILES
    assert json.loads((out / "run.json").read_text())["seed"] == 2


def test_a_folder_that_vanishes_below_a_file_is_reported(tmp_path):
    network = network_with(["a"], [], levels={"a": (0, 1)}, tables={"a": [0.5, 0.5]})
    (tmp_path / "file").write_text("")
    with pytest.raises(GomeaBnError, match="Cannot write to folder"):
        write_run_folder(tmp_path / "file" / "below", network, {})
    check_run_folder(tmp_path / "not" / "yet")


@pytest.mark.long
def test_hostile_names_can_be_printed_written_and_ruled(rows, tmp_path):
    names = [name.strip() for name in HOSTILE_NAMES[:12]] + ["a->b", "x=1,y", "\x1b[31mred", "\u202etricky"]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, len(names))), columns=names)
    path = tmp_path / "hostile.csv"
    frame.to_csv(path, index=False)
    quoted = '"x=1,y",' + names[0]
    result = ok(
        "learn", path, *QUICK, "--out", tmp_path / "out", "--cut-points", "x=1,y=0", "--require", quoted,
        "--forbid", '"a->b",é',
    )  # fmt: skip
    shown = ok("show", tmp_path / "out")
    for text in (result.stdout, result.stderr, shown.stdout, shown.stderr):
        assert "\x1b" not in text
    for text in (result.stderr, shown.stdout):
        assert "\\x1b[31mred" in text
    network = DiscretizedBayesNet.from_json(tmp_path / "out" / "network.json")
    assert list(network.names) == names
    assert ("x=1,y", names[0]) in network.edges
    assert network.cut_points["x=1,y"].tolist() == [0.0]


@pytest.mark.long
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


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-bins", "1"], "--max-bins must be an integer from 2 to 255"),
        (["--max-bins", "many"], "--max-bins"),
        (["--max-indegree", "-1"], "--max-indegree"),
        (["--discretizer", "kmeans"], "--discretizer must be one of"),
        (["--scoring-method", "mdl"], "--scoring-method must be one of"),
        (["--scoring-method", "bdeu"], "--scoring-method bdeu is for discrete columns only"),
        (["--penalty", "mdl"], "--penalty must be"),
        (["--penalty", "nan"], "--penalty must be"),
        (["--prior", "flat"], "--prior must be"),
        (["--prior", "bdeu"], "--discretizer optimal cannot price cuts under --prior bdeu"),
        (["--discretizer", "mdlp"], "learn with its cuts as --cut-points"),
        (["--ess", "0"], "--ess must be"),
        (["--pseudo-count", "-1"], "--pseudo-count"),
        (["--pseudo-count", "nan"], "pseudo"),
        (["--missing", "fill"], "--missing must be one of 'available', 'error', 'drop'"),
        (["--max-seconds", "nan"], "max"),
        (
            ["--max-seconds", "0", "--patience", "0"],
            "Set a limit: --max-seconds, --max-evaluations or --patience.",
        ),
        (["--max-evaluations", "0"], "--max-evaluations"),
        (["--kind", "a"], "--kind must be name=continuous"),
        (["--kind", "a=real"], "continuous or discrete"),
        (["--kind", "aa=discrete"], "unknown column 'aa'. Did you mean 'a'?"),
        (["--kind", "a=discrete", "--kind", "a=discrete"], "twice"),
        (["--cut-points", "a=x"], "must be numbers"),
        (["--cut-points", "z=1"], "--cut-points: unknown column 'z'"),
        (["--cut-points", "a=99"], "--cut-points of column 'a' must lie inside the range"),
        (["--require", "a"], "--require must be parent,child"),
        (["--require", "a,b,c"], "--require must be parent,child"),
        (["--require", "a,z"], "--require: unknown column 'z'"),
        (["--require", "a,b", "--forbid", "a->b"], "both required and forbidden"),
        (["--require", "a,b", "--require", "b,a"], "--require: "),
        (["--require", "a,b", "--tier", "b", "--tier", "a"], "--require: 'a' -> 'b' runs against --tier."),
        (["--forbid", "a,z"], "--forbid: unknown column 'z'"),
        (["--tier", "a", "--tier", "a"], "--tier: duplicate 'a'"),
        (["--tier", "a,,b"], "--tier must be column names"),
        (["--tiers", "none.txt"], "does not exist"),
        (["--max-candidates", "few"], "--max-candidates must be an integer of at least 1, or auto or all"),
        (["--max-table-cells", "1"], "--max-table-cells must be"),
        (["--colour"], "--colour"),
        (["more.csv"], "more.csv"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(table, tmp_path, arguments, message):
    result = learn(table, *QUICK[2:], *arguments, "--quiet", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_a_message_names_the_file_option_that_the_user_wrote(table, tmp_path):
    cuts, tiers = tmp_path / "cuts.json", tmp_path / "tiers.txt"
    cuts.write_text('{"format": "gomea-bn cut points", "format_version": 1, "cut_points": {"z": [1]}}')
    tiers.write_text("a\nz\n")
    for arguments, option in (
        (["--cut-points", cuts], "--cut-points"),
        (["--tiers", tiers], "--tiers"),
    ):
        result = learn(table, *QUICK[2:], *arguments, "--quiet")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"Error: {option}: unknown column 'z'."), result.stderr


def test_the_rule_of_kinds_names_the_option_of_the_command(table):
    printed = learn(table, *QUICK).stderr
    assert "; --kind NAME=continuous or NAME=discrete overrides it." in printed
    assert "kinds=" not in printed


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "does not exist"),
        ("rows.doc", b"a,b\n1,2\n", "must end in .csv"),
        ("empty.csv", b"", "is empty"),
        ("binary.csv", bytes(range(256)), "is not UTF-8 text"),
        ("latin.csv", "ä,b\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
        ("ragged.csv", b"a,b\n1,2,3\n1,2\n", "ragged"),
        ("few.csv", b"a,b\n1,2\n3,4\n", "at least 10 rows"),
        ("double.csv", b"a,a\n" + b"1,2\n" * 12, "occurs more than once"),
        ("constant.csv", b"a,b\n" + b"1,2\n" * 12, "All columns of the table are constant: 'a' is 1, 'b' is 2"),
        ("ids.csv", b"a,b\n" + b"".join(b"%d,n%d\n" % (i, i) for i in range(60)), "Give --kind a=continuous"),
        ("many.csv", b"a,b\n" + b"".join(b"%d,n%d\n" % (i, i % 60) for i in range(180)), "at most 50 levels"),
        ("rows.parquet", b"PAR1 no parquet", "not a readable Parquet file"),
    ],
)  # fmt: skip
def test_unusable_data_is_one_line_and_exit_3(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = learn(tmp_path / name, *QUICK, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert message in result.stderr
    # warnings about the columns may come before, since they may explain the error
    *before, error = result.stderr.splitlines()
    assert error.startswith("Error: ")
    assert all(line.startswith("Warning: ") for line in before)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(4)
    steps = rng.normal(size=(6, 20)).cumsum(axis=1).round(2)
    frame = pd.DataFrame(
        {"id": np.repeat(list("abcdef"), 20), "t": np.tile(np.arange(20), 6), "x": steps.ravel()}
    )
    frame["y"] = np.where(frame["x"] + rng.normal(size=120) > 0, "high", "low")
    frame.sample(frac=1, random_state=1).to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path / "visits.csv"


def test_lags_make_columns_of_earlier_rows_that_commands_find_again(visits, tmp_path):
    ok("learn", visits, "--time", "t", "--group", "id", "--lags", "2", *QUICK, "--out", tmp_path / "run")
    network = DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json")
    assert network.names == ("x (2 before)", "y (2 before)", "x (1 before)", "y (1 before)", "x", "y")
    time_of = {name: k // 2 for k, name in enumerate(network.names)}
    assert network.edges
    assert all(time_of[parent] <= time_of[child] for parent, child in network.edges)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["reading"] == {"lags": {"time": "t", "group": "id", "lags": [1, 2]}}
    shown = ok("show", tmp_path / "run", "--data", visits)
    assert "--time t --group id --lags 2" in shown.stderr
    assert len(ok("predict", tmp_path / "run", visits, "--target", "y").stdout.splitlines()) == 1 + 6 * 18
    assert ok("learn", visits, "--reading", _written(tmp_path, record["reading"]), *QUICK).stdout.startswith(
        to_short_text(network)
    )


def _written(folder, reading):
    path = folder / "reading.json"
    path.write_text(json.dumps(reading))
    return path
