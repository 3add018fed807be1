"""The command `learn`: what it prints, and which options reach the learner."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from command_line import QUICK, RUN_FILES, learn, ok, refused
from shaped_examples import shaped_table

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge, cut_gains
from gomea_bn.cli import learn_report
from gomea_bn.learning import learner_of_options


def test_learn_prints_the_kinds_then_the_network(table, rows):
    result = ok("learn", table, *QUICK)
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
    result = ok("learn", tmp_path / "rows.csv", "--max-evaluations", "500", "--seed", "1", "--shape", shape)
    noted = "in the data's units (point masses of rain count with their probability): " in result.stdout
    assert noted == (shape == "auto")
    assert noted != ("in the data's units: " in result.stdout)


def test_ctrl_c_while_conditionals_are_learned_leaves_the_tables(table, rows, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gomea_bn.learning.learner.average_families", interrupted)
    out = tmp_path / "run"
    result = ok("learn", table, *QUICK, "--out", out)
    assert (
        "Warning: The averaging of families was interrupted. The network of the whole search is kept: it has tables "
        "alone, counted from the rows. Learn again for averages.\n"
    ) in result.stderr
    assert {path.name for path in out.iterdir()} == set(RUN_FILES)
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert f"in the data's units: {network.score(rows):.4f} nats." in result.stdout
    assert network.conditionals is None
    printed = json.loads(learn(table, *QUICK, "--json").stdout)
    assert set(printed) == {"run", "network"}


def test_a_recorded_run_can_be_repeated_from_its_record(table, rows, tmp_path):
    ok("learn", table, "--max-seconds", "0.15", "--patience", "0", "--out", tmp_path / "run", "-q")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["stopped_by"] == "max_seconds"
    parameters = dict(record["parameters"])
    knowledge = ExpertKnowledge(**parameters.pop("knowledge"))
    options = {**parameters, **record["repeat"], "knowledge": knowledge}
    again = learner_of_options(BayesNetLearner, options).fit(rows)
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
        "--max-generations", "4", "--patience", "0", "--jobs", "1", "--json", "--quiet",
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
    assert "nats gained by cuts" in ok("learn", tmp_path / "holes.csv", *QUICK).stdout
    message = refused(3, "learn", tmp_path / "holes.csv", *QUICK, "--missing", "error")
    assert "Column 'a'" in message
    assert "rows 4, 9" in message
    dropped = ok("learn", tmp_path / "holes.csv", *QUICK, "--missing", "drop")
    assert "Dropped 2 of 150 rows" in dropped.stderr


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
    network = DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json")
    assert network.levels["site"] == ("north",)
    assert "--max-candidates" not in learn(table, *QUICK).stdout
    for command, folder in (("export", "run"), ("review", "front"), ("review", "run")):
        arguments = ["--to", "bif"] if command == "export" else []
        ok(command, tmp_path / folder, *arguments)


def test_averages_of_a_table_with_missing_values_are_reported(table, tmp_path):
    rows = pd.read_csv(table)
    numeric = rows.select_dtypes("number").columns[0]
    rows.loc[::5, numeric] = np.nan
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    result = ok(
        "learn", tmp_path / "gaps.csv", "--max-evaluations", "200", "--max-seconds", "0",
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert "Mean log density per row" in result.stdout
    assert DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json").conditionals is not None


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
    assert "the command reads it (DATA)" in refused(2, "learn", rows, *small, "--out", rows / "run")
    assert "--sep does not apply to a folder of files" in refused(2, "learn", rows, *small, "--sep", ",")
    assert learn(tmp_path / "absent*", *small).exit_code != 0
    assert "leave it out for a table in one file" in refused(
        2, "learn", rows / "0.parquet", *QUICK, "--scheduler", "tcp://127.0.0.1:9"
    )
    warned = ok("learn", rows / "0.parquet", *QUICK, "--device", "gpu")
    assert warned.stderr.count("Warning: --device has no effect") == 1


def test_a_second_ctrl_c_writes_the_network_of_the_sample(tmp_path, monkeypatch):
    def interrupted(counter, coding):
        raise KeyboardInterrupt

    monkeypatch.setattr("gomea_bn.problems.rows.counter.LocalCounter.code", interrupted)
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
    fixed = learn_report.report(replace(learner, discretizer="equal-frequency").fit(frame))
    assert "No single edge would raise the score over all rows.\n" in fixed
    fitted = learner.fit(frame)
    ended = "over all rows, and no compared cuts of one column would gain a nat.\n"
    assert ended in learn_report.report(fitted)
    record = fitted.network_.metadata["all_rows"] | {"stopped_by": "max_seconds"}
    fitted.network_ = fitted.network_.with_metadata(all_rows=record)
    assert "max_seconds ended the improvement over all rows early.\n" in learn_report.report(fitted)
