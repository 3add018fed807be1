"""The command line: what it prints, writes and refuses, in process and as a real process."""

import dataclasses
import hashlib
import inspect
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok
from network_examples import HOSTILE_NAMES
from shaped_examples import shaped_table

import gomea_bn
from gomea_bn import (
    AveragedBayesNet,
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    average_families,
    cut_gains,
    read_table,
)
from gomea_bn.certainty.chains import bins_chain, sampled_posterior
from gomea_bn.cli import option_texts
from gomea_bn.cli.commands import learn as _cli_learn
from gomea_bn.learning.run_folder import check_run_folder, write_run_folder
from gomea_bn.metrics.distances import histogram_baseline
from gomea_bn.network.formats.discrete.bif_reader import read_bif
from gomea_bn.runtime.environment import cpu_name

FILES = {"network.json", "network.bif", "network.dot", "run.json"}
QUICK = ["--max-evaluations", "2000", "--seed", "1"]


def learn(*arguments):
    return invoke("learn", *arguments)


def test_the_defaults_are_the_learners():
    defaults = {name: p.default for name, p in inspect.signature(_cli_learn.learn).parameters.items()}
    learner = BayesNetLearner().get_params()
    names = set(defaults) & set(learner)
    assert {"discretizer", "max_bins", "patience", "max_seconds", "penalty", "prior", "missing"} <= names
    assert option_texts.read_pseudo_count(defaults["pseudo_count"]) == learner["pseudo_count"]
    for name in names - {"cut_points", "pseudo_count"}:
        assert defaults[name] == learner[name], name
    assert defaults["ess"] == learner["equivalent_sample_size"]
    assert defaults["max_table_cells"] == ExpertKnowledge().max_table_cells


def test_learn_prints_the_kinds_then_the_network(table, rows):
    result = learn(table, *QUICK)
    assert result.exit_code == 0, result.stderr
    network = BayesNetLearner(max_evaluations=2000, random_state=1).fit(rows).network_
    assert network.summary(cut_gains(network, rows)) in result.stdout
    assert (
        f"Score (density-bd, continuous columns scaled to [0, 1]): {network.metadata['score']:.3f}"
        in result.stdout
    )
    assert f"in the data's units: {network.score(rows):.4f} nats." in result.stdout
    assert "Rule: bool, categorical and text columns" in result.stderr
    assert "d  discrete    integers, 3 distinct (at most 10); 3 levels" in result.stderr
    assert "no --out given" in result.stderr
    assert "--seed 1 give this network again" in result.stdout


@pytest.mark.parametrize("shape", ["auto", "uniform"])
def test_learn_says_where_probabilities_enter_the_density(tmp_path, shape):
    table = shaped_table(200)
    table.to_frame().to_csv(tmp_path / "rows.csv", index=False)
    result = learn(tmp_path / "rows.csv", "--max-evaluations", "500", "--seed", "1", "--shape", shape)
    assert result.exit_code == 0, result.stderr
    noted = "in the data's units (point masses of rain count with their probability): " in result.stdout
    assert noted == (shape == "auto")
    assert noted != ("in the data's units: " in result.stdout)


def test_learn_writes_four_files_that_agree(table, rows, tmp_path):
    out = tmp_path / "new" / "run"
    result = learn(table, *QUICK, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in out.iterdir()} == FILES
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert network == BayesNetLearner(max_evaluations=2000, random_state=1).fit(rows).network_
    assert set(read_bif(out / "network.bif").edges) == set(network.without_curve_edges().edges)
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


def test_an_averaged_network_is_written_and_gives_the_density(table, rows, tmp_path):
    out = tmp_path / "run"
    arguments = [table, *QUICK, "--density", "averaged", "--out", out]
    result = learn(*arguments)
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in out.iterdir()} == {*FILES, "averaged.json"}
    averaged = AveragedBayesNet.from_json(out / "averaged.json")
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert averaged.network == network
    assert averaged == average_families(network, rows, random_state=1)
    assert averaged.summary(cut_gains(network, rows)) in result.stdout
    assert f"in the data's units: {averaged.score(rows):.4f} nats." in result.stdout
    printed = json.loads(learn(*arguments, "--json").stdout)
    assert AveragedBayesNet.from_json(json.dumps(printed["averaged"])) == averaged
    without = json.loads(learn(*arguments, "--line", "none", "--json").stdout)
    assert without["averaged"]["lines"] == {}
    assert without["averaged"]["copies"] == printed["averaged"]["copies"]


def test_the_averaged_network_of_an_earlier_run_is_removed(table, tmp_path):
    out = tmp_path / "run"
    assert learn(table, *QUICK, "--density", "averaged", "--out", out).exit_code == 0
    assert (out / "averaged.json").is_file()
    assert learn(table, *QUICK, "--out", out).exit_code == 0
    assert {path.name for path in out.iterdir()} == set(FILES)


def test_ctrl_c_while_families_are_averaged_leaves_the_network(table, rows, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gomea_bn.learning.learner.average_families", interrupted)
    out = tmp_path / "run"
    result = learn(table, *QUICK, "--density", "averaged", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "Warning: The averaging of families was interrupted. network_ is complete" in result.stderr
    assert {path.name for path in out.iterdir()} == set(FILES)
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert f"in the data's units: {network.score(rows):.4f} nats." in result.stdout
    printed = json.loads(learn(table, *QUICK, "--density", "averaged", "--json").stdout)
    assert set(printed) == {"run", "network"}


@pytest.mark.parametrize(("option", "value"), [("density", "smooth"), ("line", "yes")])
def test_an_unknown_kind_of_density_is_refused_before_the_table_is_read(table, tmp_path, option, value):
    unread = learn(tmp_path / "none.csv", *QUICK, f"--{option}", value)
    assert unread.exit_code == 2
    assert f"--{option} must be one of" in unread.stderr
    result = learn(table, *QUICK, f"--{option}", value)
    assert result.exit_code == 2
    assert option in result.stderr
    assert value in result.stderr


def test_a_recorded_run_can_be_repeated_from_its_record(table, rows, tmp_path):
    assert (
        learn(table, "--max-seconds", "0.15", "--patience", "0", "--out", tmp_path / "run", "-q").exit_code
        == 0
    )
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["stopped_by"] == "max_seconds"
    parameters = dict(record["parameters"])
    knowledge = ExpertKnowledge(**parameters.pop("knowledge"))
    again = BayesNetLearner(**{**parameters, **record["repeat"]}, knowledge=knowledge).fit(rows)
    assert again.network_ == DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json")
    seed, evaluations = record["seed"], record["counts"]["n_eval"]
    arguments = ["--seed", seed, "--max-evaluations", evaluations, "--max-seconds", 0, "--patience", 0]
    result = learn(table, *arguments, "--out", tmp_path / "again")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "again" / "network.dot").read_text() == (tmp_path / "run" / "network.dot").read_text()


def test_options_reach_the_learner(table, tmp_path):
    tiers = tmp_path / "tiers.txt"
    tiers.write_text("d\n\na, b\n")
    result = learn(
        table, "--discretizer", "equal-width", "--scoring-method", "density-bd", "--prior", "bdeu", "--ess", "5",
        "--max-bins", "5", "--max-indegree", "2", "--max-candidates", "3", "--max-table-cells", "60",
        "--max-levels", "9", "--pseudo-count", "0.5", "--penalty", "3.5", "--kind", "d=continuous",
        "--shape", "marginal", "--cut-points", "a=-0.5,0.5", "--require", "d->a", "--require", "b,c",
        "--forbid", "a->b", "--tiers", tiers, "--missing", "drop",
        "--max-generations", "4", "--patience", "0", "--jobs", "1", "--json", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
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
    assert (parameters["patience"], parameters["max_generations"]) == (None, 4)
    assert parameters["knowledge"] == {
        "required_edges": [["d", "a"], ["b", "c"]],
        "forbidden_edges": [["a", "b"]],
        "temporal_order": [["d"], ["a", "b"]],
        "max_indegree": None,
        "max_table_cells": 60,
    }
    assert content["run"]["stopped_by"] == "max_generations"
    assert content["run"]["n_jobs"] == 1
    network = DiscretizedBayesNet.from_json(json.dumps(content["network"]))
    assert {("d", "a"), ("b", "c")} <= set(network.edges)
    assert network.cut_points["a"].tolist() == [-0.5, 0.5]
    assert network.pseudo_count == 0.5


def test_dropped_rows_are_reported(rows, tmp_path):
    holes = rows.copy()
    holes.loc[[4, 9], "a"] = np.nan
    holes.to_csv(tmp_path / "holes.csv", index=False)
    kept = learn(tmp_path / "holes.csv", *QUICK)
    assert kept.exit_code == 0
    assert "nats gained by cuts" in kept.stdout
    refused = learn(tmp_path / "holes.csv", *QUICK, "--missing", "error")
    assert refused.exit_code == 3
    assert "Column 'a'" in refused.stderr
    assert "rows 4, 9" in refused.stderr
    result = learn(tmp_path / "holes.csv", *QUICK, "--missing", "drop")
    assert result.exit_code == 0
    assert "Dropped 2 of 150 rows" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-bins", "1"], "--max-bins must be an integer from 2"),
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
        (["--missing", "fill"], "--missing must be available or error or drop"),
        (["--max-seconds", "nan"], "max"),
        (
            ["--max-seconds", "0", "--patience", "0"],
            "Set a limit: --max-seconds, --max-evaluations, --max-generations or --patience.",
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
        (["--max-candidates", "few"], "--max-candidates must be auto, all or"),
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
        (["--cuts", cuts], "--cuts"),
        (["--cuts", cuts, "--cut-points", "a=0"], "--cut-points or --cuts"),
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
        (
            "constant.csv",
            b"a,b\n" + b"1,2\n" * 12,
            "All columns of the table are constant: 'a' is 1, 'b' is 2",
        ),
        ("ids.csv", b"a,b\n" + b"".join(b"%d,n%d\n" % (i, i) for i in range(60)), "Give --kind a=continuous"),
        ("many.csv", b"a,b\n" + b"".join(b"%d,n%d\n" % (i, i % 60) for i in range(180)), "at most 50 levels"),
        ("rows.parquet", b"PAR1 no parquet", "not a readable Parquet file"),
    ],
)
def test_unusable_data_is_one_line_and_exit_3(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = learn(tmp_path / name, *QUICK, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


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
    assert learn(table, *QUICK, "--out", out).exit_code == 0
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
    assert learn(table, *QUICK, "--out", out).exit_code == 0
    assert learn(table, "--max-evaluations", "3", "--seed", "2", "--out", out).exit_code == 0
    assert {path.name for path in out.iterdir()} == FILES
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
    result = learn(
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
    assert result.exit_code == 0, result.stderr
    for text in (result.stdout, result.stderr):
        assert "\x1b" not in text
        assert "\\x1b[31mred" in text
    network = DiscretizedBayesNet.from_json(tmp_path / "out" / "network.json")
    assert list(network.names) == names
    assert ("x=1,y", names[0]) in network.edges
    assert network.cut_points["x=1,y"].tolist() == [0.0]


def test_options_are_read_from_words():
    assert option_texts.read_kinds(["a=b=discrete"]) == {"a=b": "discrete"}
    assert option_texts.read_cut_points(["age = 18, 40,65 ", "x="]) == {"age": [18.0, 40.0, 65.0], "x": []}
    assert option_texts.read_edges("--require", ["a,b", "a -> b", '"a,b",c', '"p->q",r']) == [
        ("a", "b"), ("a", "b"), ("a,b", "c"), ("p->q", "r"),
    ]  # fmt: skip
    assert option_texts.read_tiers(['a,"b,c"', "d"], None) == [["a", "b,c"], ["d"]]
    assert option_texts.read_penalty("2") == 2.0
    assert option_texts.read_penalty("literal") == "literal"
    for bad in ("", "->b", "a->", "a->b->c", ",", "a,"):
        with pytest.raises(GomeaBnError, match="--forbid"):
            option_texts.read_edges("--forbid", [bad])


def test_tiers_come_from_one_place(tmp_path):
    file = tmp_path / "tiers.txt"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(GomeaBnError, match="not UTF-8"):
        option_texts.read_tiers([], file)
    file.write_text("\n\n")
    with pytest.raises(GomeaBnError, match="names no column"):
        option_texts.read_tiers([], file)
    with pytest.raises(GomeaBnError, match="not both"):
        option_texts.read_tiers(["a"], file)


def test_one_tier_alone_says_that_it_rules_out_nothing(capsys) -> None:
    rules: dict[str, Any] = {"require": (), "forbid": (), "tiers": None, "max_table_cells": 100}
    option_texts.read_knowledge(tier=["a,b", "c"], **rules)
    assert capsys.readouterr().err == ""
    option_texts.read_knowledge(tier=["a,b"], **rules)
    assert "--tier: one tier alone rules out no edge; name at least two" in capsys.readouterr().err


def test_no_command_shows_the_help_and_a_wrong_one_is_refused():
    assert "learn" in invoke().stdout
    assert invoke("--version").stdout == f"gomea-bn {gomea_bn.__version__}\n"
    wrong = invoke("lern")
    assert wrong.exit_code == 2
    assert "lern" in wrong.stderr


def test_the_launcher_is_the_same_command(table, capsys):
    script = runpy.run_path(str(Path(__file__).resolve().parents[3] / "scripts" / "run_so.py"))
    with pytest.raises(SystemExit) as ended:
        script["main"]([str(table), *QUICK, "--quiet"])
    assert ended.value.code == 0
    printed, errors = capsys.readouterr()
    assert errors == ""
    same = [line for line in learn(table, *QUICK, "--quiet").stdout.splitlines() if "Stopped" not in line]
    assert [line for line in printed.splitlines() if "Stopped" not in line] == same


def test_the_demo_says_what_the_network_is_worth(tmp_path, capsys):
    demo = runpy.run_path(str(Path(__file__).resolve().parents[3] / "scripts" / "demo_wine.py"))
    demo["main"](["--out", str(tmp_path / "wine"), "--seconds", "0.3"])
    printed = capsys.readouterr().out
    assert {path.name for path in (tmp_path / "wine").iterdir()} == FILES - {"run.json"}
    network = DiscretizedBayesNet.from_json(tmp_path / "wine" / "network.json")
    frame = demo["wine"]()
    rows = np.arange(len(frame)) % 5 == 4
    assert f"{network.score(frame[rows]):.2f} ±" in printed
    histograms = histogram_baseline(read_table(frame[~rows]), 10)
    assert f"{histograms.score(frame[rows]):.2f} ±" in printed
    assert network.score(frame[rows]) > histograms.score(frame[rows])
    with pytest.raises(SystemExit) as ended:
        demo["main"](["--seconds", "-1", "--out", str(tmp_path)])
    assert ended.value.code == 2


@pytest.mark.parametrize("command", ["learn", "front", "discretize"])
def test_a_command_reads_its_table_once(table, monkeypatch, command):
    read, real = [], pd.read_csv

    def counting(path, **options):
        read.append(options.get("nrows"))
        return real(path, **options)

    monkeypatch.setattr(pd, "read_csv", counting)
    arguments = ["--method", "mdl"] if command == "discretize" else ["--max-evaluations", "100"]
    result = invoke(command, table, *arguments, "--quiet")
    assert result.exit_code == 0, result.stderr
    assert read == [200, None]  # first lines, then the rows


def test_former_options_work_with_a_warning(table, rows, tmp_path):
    result = learn(table, *QUICK, "--threads", "1", "--quiet", "--json")
    assert result.stderr == (
        "Warning: --threads is now called --jobs; the former name works until the next version.\n"
    )
    assert json.loads(result.stdout)["run"]["n_jobs"] == 1
    assert "--threads" not in learn("--help").stdout
    both = learn(table, *QUICK, "--threads", "1", "--jobs", "2")
    assert both.exit_code == 2
    assert "--threads is the former name of --jobs; give only --jobs." in both.stderr
    BayesNetLearner(max_evaluations=300, random_state=1).fit(rows).network_.to_json(tmp_path / "network.json")
    texts = {}
    for option in ("--min-width", "--width-floor"):
        out = tmp_path / f"{option}.json"
        arguments = [tmp_path / "network.json", table, "--bin-counts", "free", option, "0.2", "--out", out]
        refined = invoke("refine", *arguments)
        assert refined.exit_code == 0, refined.stderr
        assert ("now called --min-width" in refined.stderr) == (option == "--width-floor")
        texts[option] = out.read_text()
    assert texts["--min-width"] == texts["--width-floor"]


def test_a_constant_column_is_announced_once_and_kept(table, rows, tmp_path):
    rows.assign(site="north").to_csv(table, index=False)
    warning = "Warning: 1 column of the table is constant and will have no edges: 'site' is 'north' in all 150 rows.\n"
    for command, arguments in (
        ("learn", [*QUICK, "--out", tmp_path / "run"]),
        ("front", [*QUICK, "--out", tmp_path / "front"]),
        ("discretize", ["--method", "equal-width"]),
    ):
        result = invoke(command, table, *arguments)
        assert result.exit_code == 0, result.stderr
        assert result.stderr.count("is constant") == 1
        assert warning in result.stderr
        assert "site  discrete    constant: 'north' in all 150 rows" in result.stderr
    network = DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json")
    assert network.levels["site"] == ("north",)
    assert "--max-candidates" not in learn(table, *QUICK).stdout
    for command, folder in (("export", "run"), ("review", "front"), ("review", "run")):
        arguments = ["--to", "bif"] if command == "export" else []
        assert invoke(command, tmp_path / folder, *arguments).exit_code == 0


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
    assert invoke(*arguments, tmp_path / "run").exit_code == 0
    assert invoke(*arguments, tmp_path / "run").exit_code == 0


@pytest.mark.parametrize("command", ["learn", "front"])
def test_a_name_that_no_file_can_have_is_refused_before_the_search(table, tmp_path, command):
    result = invoke(command, table, "--max-evaluations", "100", "--out", tmp_path / ("n" * 300))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "name too long" in result.stderr


def test_averages_of_a_table_with_missing_values_are_reported(table, tmp_path):
    rows = pd.read_csv(table)
    numeric = rows.select_dtypes("number").columns[0]
    rows.loc[::5, numeric] = np.nan
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    result = ok(
        "learn", tmp_path / "gaps.csv", "--max-evaluations", "200", "--max-seconds", "0", "--density", "averaged",
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert "Mean log density per row" in result.stdout
    assert (tmp_path / "run" / "averaged.json").exists()


def test_a_folder_of_files_is_learned_in_pieces(tmp_path):
    generator = np.random.default_rng(1)
    x = generator.normal(size=3000)
    frame = pd.DataFrame({"x": x, "y": x + generator.normal(scale=0.5, size=3000)})
    rows, out = tmp_path / "rows", tmp_path / "run"
    rows.mkdir()
    for part in range(3):
        frame.iloc[part * 1000 : (part + 1) * 1000].to_parquet(rows / f"{part}.parquet")
    small = [*QUICK, "--sample-rows", "1000"]
    result = ok("learn", rows, *small, "--out", out)
    assert "All 3,000 rows: " in result.stdout
    assert "on 1,00" in result.stdout
    network = json.loads((out / "network.json").read_text())
    assert network["metadata"]["all_rows"]["n_rows"] == 3000
    pattern = ok("learn", rows / "*.parquet", *small, "--json")
    assert json.loads(pattern.stdout)["network"]["variables"] == network["variables"]
    refused = learn(rows, *small, "--out", rows / "run")
    assert refused.exit_code == 2
    assert "the command reads it (DATA)" in refused.stderr
    refused = learn(rows, *small, "--sep", ",")
    assert refused.exit_code == 2
    assert "--sep does not apply to a folder of files" in refused.stderr
    refused = learn(tmp_path / "absent*", *small)
    assert refused.exit_code != 0
    refused = learn(rows / "0.parquet", *QUICK, "--scheduler", "tcp://127.0.0.1:9")
    assert refused.exit_code == 2
    assert "leave it out for a table in one file" in refused.stderr


def test_a_second_ctrl_c_writes_the_network_of_the_sample(tmp_path, monkeypatch):
    def interrupted(counter, coding):
        raise KeyboardInterrupt

    monkeypatch.setattr("gomea_bn.large.counts.LocalCounter.code", interrupted)
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


FURTHER = ["--max-evaluations", "300", "--seed", "1", "--curves", "none"]


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_learn_draws_bins_with_the_graphs(table, tmp_path, monkeypatch):
    monkeypatch.setattr(bins_chain, "SWEEPS_PER_DRAW", 1_000)
    monkeypatch.setattr(sampled_posterior, "SWEEPS_PER_DRAW", 1_000)
    result = learn(table, *FURTHER, "--confidence", "--drawn-bins", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    assert "bins drawn with the graphs" in result.stdout
    assert json.loads((tmp_path / "run" / "run.json").read_text())["confidence"]["has_drawn_bins"]


@pytest.mark.parametrize(
    "options", [["--drawn-bins"], ["--confidence-seconds", "3"], ["--confidence-sweeps", "2"]]
)
def test_options_of_confidence_are_refused_without_it(table, options):
    result = learn(table, *FURTHER, *options)
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {options[0]} applies to --confidence, which is not given.\n",
    )


@pytest.mark.parametrize(
    ("options", "score"),
    [
        (["--discretizer", "equal-width"], "'density-bic'"),
        (["--discretizer", "equal-width", "--scoring-method", "density-bd", "--prior", "bdeu"], "BDeu prior"),
    ],
)
def test_drawn_bins_under_another_score_are_refused_before_the_search(table, tmp_path, options, score):
    result = learn(table, *FURTHER, "--confidence", "--drawn-bins", "--out", tmp_path / "run", *options)
    assert result.exit_code == 2, result.stderr
    assert "Drawn bins need the score 'density-bd'" in result.stderr
    assert score in result.stderr
    assert not (tmp_path / "run").exists()


def test_learn_writes_probabilities_of_edges_and_stability(table, tmp_path):
    out = tmp_path / "run"
    result = learn(table, *FURTHER, "--repeat", "2", "--confidence", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in out.iterdir()} == FILES | {"confidence.json", "stability.json"}
    record = json.loads((out / "run.json").read_text())
    assert record["stability"]["n_networks"] == 2
    assert record["confidence"]["n_bin_sets"] == 2
    stored = json.loads((out / "confidence.json").read_text())
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert network.metadata["edge_probabilities"]["pairs"] == stored["pairs"]
    assert "Learned again 2 times" in result.stdout
    assert network.metadata["stability_in_words"][0] in result.stdout
    assert "Probabilities of edges (exact; means over 2 sets of bins" in result.stdout
    again = learn(table, *FURTHER, "--confidence", "--json", "--out", out)
    assert again.exit_code == 0, again.stderr
    content = json.loads(again.stdout)
    assert content["confidence"]["n_bin_sets"] == 1
    assert not content["confidence"]["has_drawn_bins"]
    assert "stability" not in content
    assert not (out / "stability.json").exists()
    without = learn(table, *FURTHER, "--out", out)
    assert without.exit_code == 0, without.stderr
    assert {path.name for path in out.iterdir()} == FILES


def test_the_page_of_an_averaged_run_has_the_probabilities(table, tmp_path):
    out = tmp_path / "run"
    result = learn(table, *FURTHER, "--confidence", "--density", "averaged", "--out", out)
    assert result.exit_code == 0, result.stderr
    averaged = AveragedBayesNet.from_json(out / "averaged.json")
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert averaged.network.metadata["edge_probabilities"] == network.metadata["edge_probabilities"]


@pytest.mark.parametrize(
    ("first", "then", "difference"),
    [
        (["--repeat", "1"], ["--repeat", "2"], "option --repeat was 1, and is now 2"),
        (
            ["--confidence", "--drawn-bins", "--confidence-sweeps", "2"],
            ["--confidence", "--confidence-sweeps", "2"],
            "option --drawn-bins or --repeat was 'drawn', and is now []",
        ),
        (
            ["--confidence"],
            ["--confidence", "--repeat", "1"],
            "option --drawn-bins or --repeat was [], and is now those of 1 network",
        ),
        (
            ["--confidence"],
            ["--confidence", "--confidence-seconds", "3"],
            "option --confidence-seconds was 60.0, and is now 3.0",
        ),
    ],
)
def test_other_options_after_the_search_than_in_the_checkpoint_are_refused_at_the_start(
    table, tmp_path, first, then, difference
):
    options = [*FURTHER, "--checkpoint", tmp_path / "saved"]
    assert learn(table, *options, *first).exit_code == 0
    result = learn(table, *options, *then, "--resume", "--out", tmp_path / "run")
    assert result.exit_code == 2, result.stderr
    assert difference in result.stderr.replace("\n", " ")
    assert "Searching" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_chains_that_have_not_mixed_are_reported_by_options_of_the_command(table):
    result = learn(table, *FURTHER, "--confidence", "--drawn-bins", "--confidence-sweeps", "1")
    assert result.exit_code == 0, result.stderr
    assert "The chains have not mixed" in result.stderr
    assert "Raise --confidence-sweeps." in result.stderr.replace("\n", " ")


def test_ctrl_c_during_the_chains_says_that_the_probabilities_are_those_so_far(table, tmp_path, monkeypatch):
    whole = BayesNetLearner.edge_probabilities

    def interrupted(learner, **options):
        return dataclasses.replace(whole(learner, **options), stopped_by="interrupt")

    monkeypatch.setattr(BayesNetLearner, "edge_probabilities", interrupted)
    result = learn(table, *FURTHER, "--confidence", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    assert "Interrupted: the probabilities are those of the sweeps so far." in result.stderr
    assert (tmp_path / "run" / "confidence.json").exists()


@pytest.mark.parametrize("call", ["edge_probabilities", "fit"])
def test_ctrl_c_after_the_search_keeps_the_network(table, tmp_path, monkeypatch, call):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    owner = BayesNetLearner if call == "edge_probabilities" else BayesNetEnsemble
    monkeypatch.setattr(owner, call, interrupted)
    out = tmp_path / "run"
    result = learn(table, *FURTHER, "--repeat", "2", "--confidence", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "Interrupted: the network is kept." in result.stderr
    expected = FILES if call == "fit" else FILES | {"stability.json"}
    assert {path.name for path in out.iterdir()} == expected


def test_probabilities_that_cannot_be_computed_lose_no_network(table, tmp_path, monkeypatch):
    def failing(*_args, **_options):
        raise GomeaBnError("too many parent sets")

    monkeypatch.setattr(BayesNetLearner, "edge_probabilities", failing)
    result = learn(table, *FURTHER, "--confidence", "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert "too many parent sets" in result.stderr
    assert (tmp_path / "run" / "network.json").exists()


def test_probabilities_of_a_table_with_missing_values_are_means_over_completed_tables(tmp_path):
    rows = pd.DataFrame({"a": ["u", "v", None] * 20, "b": ["x", "y"] * 30})
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    result = learn(tmp_path / "gaps.csv", *FURTHER, "--confidence")
    assert result.exit_code == 0, result.stderr
    assert "missing cells filled by draws, means over 5 tables" in result.stdout


def test_a_resumed_run_keeps_repeats_and_probabilities(table, tmp_path, monkeypatch):
    kept = ["--checkpoint", tmp_path / "kept", "--repeat", "2", "--confidence"]
    first = learn(table, *FURTHER, *kept, "--out", tmp_path / "first")
    assert first.exit_code == 0, first.stderr
    refused = learn(table, *FURTHER, *kept)
    assert refused.exit_code == 2
    (tmp_path / "kept" / "checkpoint.gomea").rename(tmp_path / "moved")
    refused = learn(table, *FURTHER, *kept)
    assert f"'{tmp_path / 'kept' / 'repeats' / 'checkpoint.gomea'}' exists" in refused.stderr.replace(
        "\n", ""
    )
    assert "Searching" not in refused.stderr
    (tmp_path / "moved").rename(tmp_path / "kept" / "checkpoint.gomea")
    monkeypatch.setattr(
        "gomea_bn.learning.ensemble._fitted_member", lambda *_: pytest.fail("a search was repeated")
    )
    monkeypatch.setattr(
        "gomea_bn.certainty.edge_posterior._Options.posterior", lambda *_: pytest.fail("computed again")
    )
    again = learn(table, *FURTHER, *kept, "--resume", "--out", tmp_path / "again")
    assert again.exit_code == 0, again.stderr
    for name in ("network.json", "stability.json", "confidence.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "first" / name).read_bytes()
