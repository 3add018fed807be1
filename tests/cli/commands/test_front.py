"""The command that finds a front: with the search itself, and around the writing of what it found."""

import hashlib
import json
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused, searching
from front_examples import example_front, small_frame
from review_examples import page_data

from gomea_bn import (
    ExpertKnowledge,
    ExpertNetwork,
    GomeaBnError,
    ParetoBayesNetLearner,
    averaged_misfits,
    read_front,
    write_front,
)


def rows():
    """Return a table in which b depends on a."""
    frame = small_frame(n=200)
    frame["b"] = frame["a"] + np.random.default_rng(4).normal(scale=0.4, size=200)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table and an expert's edges."""
    path = tmp_path_factory.mktemp("search")
    rows().to_csv(path / "rows.csv", index=False)
    (path / "expert.csv").write_text("parent,child\na,b\nd,c\n")
    return path


@pytest.fixture(scope="module")
def learned(folder):
    """Return the folder of a front, and what the command printed."""
    out = folder / "front"
    arguments = [
        "--expert", folder / "expert.csv", "--misfit", "in-sample", "--pseudo-count", "1",
        "--max-evaluations", "3000", "--seed", "3", "--jobs", "2",
    ]  # fmt: skip
    return out, ok("front", folder / "rows.csv", *arguments, "--out", out)


def test_the_values_are_those_of_the_networks(folder, learned):
    out, result = learned
    whole = read_front(out)
    frame = rows()
    assert len(whole) > 20
    for candidate in (
        whole.knee(),
        whole.closest_to_expert(),
        whole.best("complexity"),
        whole[len(whole) // 2],
    ):
        assert candidate.objectives["misfit"] == pytest.approx(-candidate.network.score(frame), rel=1e-9)
        assert candidate.objectives["complexity"] == candidate.network.n_parameters
    assert {frozenset(edge) for edge in whole.closest_to_expert().network.edges} >= {frozenset("ab")}
    assert whole.record["counts"]["n_eval"] == 3000
    assert f"The front has {len(whole):,} networks" in result.stdout
    assert "Stopped by max_evaluations" in result.stdout


def test_the_record_repeats_the_front(folder, learned):
    whole = read_front(learned[0])
    parameters = whole.record["parameters"]
    expert = ExpertNetwork.from_file(whole.record["expert_source"]["path"])
    knowledge = ExpertKnowledge(**parameters.pop("knowledge"))
    repeat = whole.record["repeat"]
    options = {**parameters, **repeat, "expert": expert, "knowledge": knowledge}
    again = ParetoBayesNetLearner(**options)
    front = again.fit(whole.record["source"]["path"]).front_
    assert front.run_hash == whole.run_hash
    assert front.knee().network == whole.knee().network


@pytest.mark.sample(1)
@pytest.mark.parametrize("interrupts", [0, 2])
def test_the_table_has_averaged_misfits_unless_they_are_interrupted(
    folder, tmp_path, monkeypatch, interrupts
):
    def interrupted(*arguments, **options):
        for _ in range(interrupts):
            signal.raise_signal(signal.SIGINT)
        return averaged_misfits(*arguments, **options)

    monkeypatch.setattr("gomea_bn.learning.averaging.averaged_front.averaged_misfits", interrupted)
    data, out = folder / "rows.csv", tmp_path / "front"
    options = ("--max-evaluations", "1000", "--seed", "3", "--networks", "2", "--averaged-misfit")
    result = ok("front", data, *options, "--out", out)
    table, front = pd.read_csv(out / "front.csv", index_col="id"), read_front(out)
    assert len(table) == len(front) > 2
    if interrupts == 2:
        assert "front.csv will lack the averaged misfits" in result.stderr
        assert "averaged_misfit" not in table
        return
    expected = averaged_misfits(front, data, random_state=3)
    with_files = table["file"].notna()
    assert with_files.sum() >= 2
    expected = expected.rename(columns={"misfit": "in_sample_misfit"})
    for name in ("in_sample_misfit", "averaged_misfit", "line_weight"):
        assert table[name].notna().tolist() == with_files.tolist()
        np.testing.assert_allclose(table[name][with_files], expected[name][with_files])


def test_a_page_and_a_model_follow(folder, learned):
    out, _ = learned
    ok("review", out)
    assert read_front(out).run_hash in (out / "review.html").read_text()
    ok("compare", f"{out}#knee", f"{out}#expert")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-bins", "1"], "--max-bins must be"),
        (["--max-complexity", "1"], "--max-complexity must be at least"),
        (["--discretizer", "kmeans"], "discretizer must be one of"),
        (["--require", "a,z"], "unknown column 'z'"),
        (["--cut-points", "a=99"], "must lie inside the range"),
        (["--target", "bb"], "--target must be a column of the table, got 'bb'"),
        (
            ["--objective", "target", "--objective", "misfit"],
            "'target' and the option --target need each other",
        ),
    ],
)
def test_wrong_use_is_reported_before_the_search(folder, tmp_path, arguments, message):
    result = invoke("front", folder / "rows.csv", *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Searching" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_target_is_predicted_listed_and_shown_on_a_page(folder):
    out = folder / "question"
    result = ok(
        "front", folder / "rows.csv", "--target", "b", "--max-evaluations", "600", "--seed", "3", "--out", out
    )
    front = read_front(out)
    assert front.names == ("target", "complexity")
    assert front.objectives[0].unit == "CRPS in units of b"
    assert "Loss of the target" in result.stdout
    assert "low values: predicts the target better" in result.stdout
    assert "a" in {name for edge in front.best("target").network.edges for name in edge}
    ok("review", out, "-o", folder / "question.html")
    assert page_data((folder / "question.html").read_text())["question"]["note"] is None
    assert "b" in ok("show", f"{out}#knee").stdout


def test_ctrl_c_keeps_the_front_so_far(folder, tmp_path):
    out = tmp_path / "front"
    process = searching("front", folder / "rows.csv", "--max-seconds", "120", "--seed", "5", "--out", out)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    assert "Interrupted: this is the front so far." in stderr
    assert "Traceback" not in stderr
    whole = read_front(out)
    assert whole.record["stopped_by"] == "interrupt"
    assert f"--seed 5 --max-evaluations {whole.record['counts']['n_eval']} --max-seconds 0" in stdout


@pytest.mark.parametrize("command", ["front", "learn"])
def test_advice_names_options(tmp_path, command):
    holes = rows()
    holes.loc[3, "a"] = np.nan
    holes.to_csv(tmp_path / "holes.csv", index=False)
    result = invoke(command, tmp_path / "holes.csv", "--missing", "error")
    assert result.exit_code == 3
    assert result.stderr.endswith("in row 3 (counted from 0). Fill or drop them, or give --missing drop.\n")
    codes = rows().assign(b="7", c=np.arange(200).astype(str))
    codes["b d"] = np.arange(200).astype(str)
    codes[["a", "b d"]].to_csv(tmp_path / "codes.csv", index=False)
    result = invoke(command, tmp_path / "codes.csv", "--kind", "b d=discrete")
    assert result.stderr.endswith("raise --max-levels, or give --kind 'b d=continuous'.\n")


def test_the_help_states_the_default_of_the_limit():
    text = " ".join(invoke("front", "--help").stdout.split())
    assert "10 times that of the network without edges, or the number of rows if that is larger" in text


def test_json_is_for_programs(folder):
    arguments = ["--max-evaluations", "500", "--seed", "3", "--json", "--quiet"]
    result = invoke("front", folder / "rows.csv", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    summary = json.loads(result.stdout)
    assert [objective["name"] for objective in summary["objectives"]] == ["misfit", "complexity"]
    assert summary["record"]["seed"] == 3


def test_front_prints_and_writes_what_was_found(stand_in, data, tmp_path):
    out = tmp_path / "new" / "front"
    result = ok("front", data, "--out", out, "--networks", 3)
    whole = example_front(9)
    written = read_front(out)
    assert written.values.tolist() == whole.values.tolist()
    assert written.record["source"] == {
        "path": str(data),
        "file_sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
    }
    assert written.record["n_rows"] == 60
    assert written.record["seconds"] == {"compile": 0.5}
    assert "expert_source" not in written.record
    assert {"front.csv", "expert_completed.json", "networks"} <= {path.name for path in out.iterdir()}
    assert len(list(out.glob("networks/*.json"))) == 3
    assert "The front has 9 networks" in result.stdout
    lines = {line[:32].strip(): line.split() for line in result.stdout.splitlines()}
    for name, chosen in {
        "Recommended": whole.recommended().candidate,
        "Knee": whole.knee(),
        "Least distance to the expert": whole.closest_to_expert(),
        "Least complexity": whole.best("complexity"),
    }.items():
        values = [f"{value:.6g}" for value in chosen.objectives.values()]
        assert lines[name][-5:] == [str(chosen.index), str(len(chosen.network.edges)), *values]
    for objective, column in zip(whole.objectives, whole.values.T):
        unit = objective.unit.removeprefix("nats").lstrip()
        meaning = f"{unit}; low values: {objective.better}" if unit else f"low values: {objective.better}"
        assert f"{column.min():>12.6g}{column.max():>12.6g}  {meaning}" in result.stdout
    assert "nats" not in result.stdout
    assert "Stopped by max_evaluations after 0.25 s, 1,234 evaluations and 5 generations." in result.stdout
    assert "with --seed 7 give this front again" in result.stdout
    assert "Rule: bool, categorical and text columns" in result.stderr
    assert f"gomea-bn review {out} -o page.html" in result.stderr
    assert f"gomea-bn accept {out} decision.json" in result.stderr


def test_front_without_out_says_so_and_json_is_for_programs(stand_in, data):
    said = ok("front", data).stderr
    assert "Nothing will be written: no --out given." in said
    # before that Ctrl-C ends with nothing
    assert "once the columns are prepared, Ctrl-C keeps the best so far" in said
    result = ok("front", data, "--json", "--quiet")
    assert result.stderr == ""
    summary = json.loads(result.stdout)
    whole = example_front(9)
    assert summary["n_networks"] == 9
    assert [objective["least"] for objective in summary["objectives"]] == whole.values.min(axis=0).tolist()
    assert summary["choices"][0]["what"] == "knee"
    assert summary["choices"][0]["id"] == whole.knee().index
    assert summary["choices"][0]["edges"] == [list(edge) for edge in whole.knee().network.edges]
    assert (summary["seed"], summary["n_eval"], summary["stopped_by"]) == (7, 1234, "max_evaluations")


def test_every_option_reaches_the_learner(stand_in, data, tmp_path):
    expert = tmp_path / "expert.csv"
    expert.write_text("parent,child\na,b\n")
    ok(
        "front", data, "--expert", expert, "--objective", "misfit", "--objective", "expert_distance",
        "--objective", "target", "--target", "c", "--discretizer", "optimal", "--max-bins", "5",
        "--max-complexity", "40.5", "--max-indegree", "2",
        "--max-candidates", "all",
        "--max-table-cells", "60", "--max-seconds", "0", "--max-evaluations", "9",
        "--seed", "4", "--jobs", "1", "--kind", "a=continuous", "--cut-points", "a=-0.5,0.5",
        "--require", "a->b", "--forbid", "b,c", "--tier", "a", "--tier", "b,c", "--missing", "drop",
        "--max-levels", "9", "--min-width", "0.02", "--min-bin-count", "7", "--shape", "uniform",
        "--pseudo-count", "0.5", "--misfit", "in-sample", "--curves", "none", "--cut-cost", "0.25",
        "--single-share", "0.5", "--single-evaluations", "2", "--sample-rows", "5000",
        "--patience", "3", "--quiet", "--out", tmp_path / "front",
    )  # fmt: skip
    options = stand_in.given
    assert options.pop("expert").edges == [("a", "b")]
    knowledge = options.pop("knowledge")
    assert knowledge.required_edges == (("a", "b"),)
    assert knowledge.forbidden_edges == (("b", "c"),)
    assert knowledge.temporal_order == (("a",), ("b", "c"))
    assert knowledge.max_table_cells == 60
    assert options == {
        "discretizer": "optimal", "objectives": ["misfit", "expert_distance", "target"], "target": "c",
        "max_bins": 5, "shape": "uniform",
        "min_width": 0.02, "min_bin_count": 7, "max_candidates": None,
        "max_complexity": 40.5, "max_indegree": 2, "max_seconds": None, "max_evaluations": 9,
        "random_state": 4, "n_jobs": 1, "kinds": {"a": "continuous"},
        "cut_points": {"a": [-0.5, 0.5]}, "missing": "drop", "max_levels": 9, "pseudo_count": 0.5,
        "curves": "none", "misfit": "in-sample", "cut_cost": 0.25, "single_share": 0.5,
        "single_evaluations": 2, "verbose": False, "groups": None,
        "patience": 3.0, "sample_rows": 5_000,
    }  # fmt: skip
    assert read_front(tmp_path / "front").record["expert_source"] == {
        "path": str(expert), "file_sha256": hashlib.sha256(expert.read_bytes()).hexdigest()
    }  # fmt: skip


def test_limits_may_grow_with_the_rows(stand_in, data, tmp_path):
    ok("front", data, "--max-bins", "auto", "--max-indegree", "auto", "--quiet", "--out", tmp_path / "front")
    assert (stand_in.given["max_bins"], stand_in.given["max_indegree"]) == ("auto", "auto")


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["--kind", "aa=discrete"], "unknown column 'aa'. Did you mean 'a'?"),
        (2, ["--max-bins", "many"], "--max-bins must be an integer from 2 to 255, or auto, got 'many'"),
        (2, ["--max-indegree", "-1"], "--max-indegree must be an integer of at least 0, or auto, got '-1'"),
        (2, ["--missing", "fill"], "--missing must be one of 'available', 'error', 'drop'"),
        (2, ["--require", "a"], "--require must be parent,child"),
        (2, ["--expert", "none.csv"], "none.csv"),
        (2, ["--objective", "misfits", "--objective", "complexity"], "got 'misfits'. Did you mean 'misfit'?"),
        (2, ["--objective", "misfit"], "at least two different ones, got misfit"),
        (2, ["--objective", "misfit", "--objective", "misfit"], "at least two different ones"),
        (2, ["--objective", "misfit", "--objective", "expert_distance"], "needs the expert's network"),
        (2, ["--max-seconds", "0", "--patience", "0"], "Set a limit"),
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
    assert (
        "--seed 7 --max-evaluations 1234 --max-seconds 0 --single-evaluations 100 give this" in result.stdout
    )
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


def test_the_users_own_files_stay(stand_in, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data.rename("front.csv")
    before = Path("front.csv").read_bytes()
    for out in (".", tmp_path):
        assert "front.csv', since it is an input (DATA)" in refused(2, "front", "front.csv", "--out", out)
    Path("front.csv").rename("rows.csv")
    Path("expert.json").write_text("parent,child\na,b\n")
    Path("expert.csv").write_text("parent,child\na,b\n")
    Path("front.csv").write_text("mine")
    assert "does not belong to a front" in refused(2, "front", "rows.csv", "--out", ".")
    Path("front.csv").unlink()
    Path("expert.json").write_text("what the expert said")
    ok("front", "rows.csv", "--expert", "expert.csv", "--out", ".")
    assert Path("rows.csv").read_bytes() == before
    assert Path("expert.json").read_text() == "what the expert said"
    completed = Path("expert_completed.json").read_bytes()
    message = refused(2, "front", "rows.csv", "--expert", "expert_completed.json", "--out", ".")
    assert "expert_completed.json', since it is an input (--expert)" in message
    assert Path("expert_completed.json").read_bytes() == completed


def test_the_result_is_printed_before_it_is_written(stand_in, data, tmp_path):
    output = ok("front", data, "--out", tmp_path / "front").output
    parts = (
        "The front has 9",
        f"Writing 9 networks to {tmp_path / 'front'} ...",
        f"Wrote {tmp_path / 'front'}",
    )
    assert sorted(parts, key=output.index) == list(parts)


@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_waits_for_the_files_once(stand_in, data, tmp_path, monkeypatch, count):
    def interrupted(*arguments, **options):
        for _ in range(count):
            signal.raise_signal(signal.SIGINT)
        return write_front(*arguments, **options)

    monkeypatch.setattr("gomea_bn.front.folder.write_front", interrupted)
    former = signal.getsignal(signal.SIGINT)
    result = invoke("front", data, "--out", tmp_path / "front", "--quiet")
    assert signal.getsignal(signal.SIGINT) == former
    assert "The front has 9 networks" in result.stdout
    waits = "Interrupted: finishing the files of the front first; a second Ctrl-C abandons that.\n"
    if count == 1:
        assert (result.exit_code, result.stderr) == (0, waits)
        assert len(read_front(tmp_path / "front")) == 9
    else:
        assert (result.exit_code, result.stderr) == (
            130,
            f"{waits}Error: Interrupted; nothing was written.\n",
        )
        assert not (tmp_path / "front").exists()


def test_a_pipe_that_nobody_reads_does_not_cost_the_front(stand_in, data, tmp_path, monkeypatch):
    def closed(*arguments):
        raise BrokenPipeError

    monkeypatch.setattr("gomea_bn.cli.commands.front._report", closed)
    assert invoke("front", data, "--out", tmp_path / "front").exit_code == 1
    assert len(read_front(tmp_path / "front")) == 9


def test_the_limit_on_parameters_is_printed(stand_in, data):
    assert "At most" not in ok("front", data, "--quiet").stdout
    stand_in.seed = 0
    front = example_front(9, seed=0)
    knee, best = front.knee().network.n_parameters, front.best("misfit").network.n_parameters
    low, high = sorted((knee, best))
    assert low < 0.9 * high
    for most, near in ((high / 0.94, ()), (high + 0.5, (high,)), (low, (low, high))):
        stand_in.most = most
        printed = ok("front", data, "--quiet").stdout
        assert f"At most {int(most)} free parameters (--max-complexity)." in printed
        warnings = [line for line in printed.splitlines() if line.startswith("Warning: ")]
        assert len(warnings) == bool(near)
        for name, size in (("the knee", knee), ("the best fit", best)):
            assert (f"{name} ({size})" in printed) == (size in near)


def test_limits_hold_for_optimal_cuts(folder):
    limits = ["--discretizer", "optimal", "--min-bin-count", "40", "--min-width", "0.2", "--shape", "uniform"]
    ok("front", folder / "rows.csv", *limits, "--max-evaluations", "2000", "--out", folder / "wide")
    whole, frame = read_front(folder / "wide"), rows()
    assert whole.record["counts"]["variables_priced"] > 0
    n_cuts = 0
    for candidate in whole:
        for name, cuts in candidate.network.cut_points.items():
            n_cuts += len(cuts)
            low, high = candidate.network.support[name]
            assert np.diff([low, *cuts, high]).min() >= 0.2 * (high - low) * (1 - 1e-9)
            bins = np.searchsorted(cuts, frame[name], side="left")
            assert np.bincount(bins, minlength=len(cuts) + 1).min() >= 40
    assert n_cuts > 0
