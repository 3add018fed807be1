"""The command that finds a front: with the search itself, and around the writing of what it found."""

import inspect
import json
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest
from front_examples import example_front, small_frame, stand_in_learner
from typer.testing import CliRunner

from gomea_bn import ExpertKnowledge, ParetoBayesNetLearner
from gomea_bn.cli import app as cli
from gomea_bn.cli.front import front
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.folder import read_front, write_front

COMMAND = str(Path(sysconfig.get_path("scripts")) / "gomea-bn")


def invoke(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def ok(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def rows():
    """Return a table in which b depends on a."""
    frame = small_frame(n=200)
    frame["b"] = frame["a"] + np.random.default_rng(4).normal(scale=0.4, size=200)
    return frame


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a table and an expert's edges."""
    found = tmp_path_factory.mktemp("search")
    rows().to_csv(found / "rows.csv", index=False)
    (found / "expert.csv").write_text("parent,child\na,b\nd,c\n")
    return found


@pytest.fixture(scope="module")
def found(place):
    """Return the folder of a front, and what the command printed."""
    out = place / "front"
    arguments = [
        "--expert",
        place / "expert.csv",
        "--max-evaluations",
        "3000",
        "--seed",
        "3",
        "--jobs",
        "2",
    ]
    result = invoke("front", place / "rows.csv", *arguments, "--out", out)
    assert result.exit_code == 0, result.stderr
    return out, result


def test_the_defaults_are_the_learners():
    given = {name: p.default for name, p in inspect.signature(front).parameters.items()}
    learner = ParetoBayesNetLearner().get_params()
    names = set(given) & set(learner)
    assert {"discretizer", "max_bins", "max_seconds", "missing", "max_complexity", "pseudo_count"} <= names
    for name in names - {"cut_points", "patience"}:
        assert given[name] == learner[name], name
    assert (given["patience"], learner["patience"]) == (0, None)
    assert given["max_table_cells"] == ExpertKnowledge().max_table_cells


def test_the_values_are_those_of_the_networks(place, found):
    out, result = found
    whole = read_front(out)
    frame = rows()
    assert len(whole) > 20
    for one in (whole.knee(), whole.closest_to_expert(), whole.best("complexity"), whole[len(whole) // 2]):
        assert one.objectives["misfit"] == pytest.approx(-one.network.score(frame), rel=1e-9)
        assert one.objectives["complexity"] == one.network.n_parameters
    assert {frozenset(edge) for edge in whole.closest_to_expert().network.edges} >= {frozenset("ab")}
    assert whole.record["counts"]["n_eval"] == 3000
    assert f"The front has {len(whole):,} networks" in result.stdout
    assert "Stopped by max_evaluations" in result.stdout


def test_the_record_repeats_the_front(place, found):
    whole = read_front(found[0])
    parameters = whole.record["parameters"]
    expert = ExpertNetwork.from_file(whole.record["expert_source"]["path"])
    knowledge = ExpertKnowledge(**parameters.pop("knowledge"))
    repeat = whole.record["repeat"]
    again = ParetoBayesNetLearner(**{**parameters, **repeat, "expert": expert, "knowledge": knowledge})
    front = again.fit(whole.record["source"]["path"]).front_
    assert front.run_hash == whole.run_hash
    assert front.knee().network == whole.knee().network


def test_a_page_and_a_model_follow(place, found):
    out, _ = found
    assert invoke("review", out).exit_code == 0
    page = (out / "review.html").read_text()
    assert read_front(out).run_hash in page
    assert invoke("compare", f"{out}#knee", f"{out}#expert").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-bins", "1"], "--max-bins must be"),
        (["--max-complexity", "1"], "--max-complexity must be at least"),
        (["--discretizer", "kmeans"], "discretizer must be one of"),
        (["--require", "a,z"], "unknown column 'z'"),
        (["--cut-points", "a=99"], "must lie inside the range"),
    ],
)
def test_wrong_use_is_told_before_the_search(place, tmp_path, arguments, message):
    result = invoke("front", place / "rows.csv", *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Searching" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_ctrl_c_keeps_the_front_so_far(place, tmp_path):
    out = tmp_path / "front"
    command = [COMMAND, "front", place / "rows.csv", "--max-seconds", "120", "--seed", "5", "--out", out]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "Searching" in line:
            break
    time.sleep(2.0)  # long enough for the search to begin on a busy machine
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=180)
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
    result = invoke(command, tmp_path / "holes.csv")
    assert result.exit_code == 3
    assert result.stderr.endswith("in row 3 (counted from 0). Fill or drop them, or give --missing drop.\n")
    codes = rows().assign(b="7", c=np.arange(200).astype(str))
    codes["b d"] = np.arange(200).astype(str)
    codes[["a", "b d"]].to_csv(tmp_path / "codes.csv", index=False)
    result = invoke(command, tmp_path / "codes.csv", "--kind", "b d=discrete")
    assert result.stderr.endswith("raise --max-levels, or give --kind 'b d=continuous'.\n")


def test_the_default_of_the_limit_is_told():
    told = " ".join(invoke("front", "--help").stdout.split())
    assert "10 times that of the network without edges, or the number of rows if that is larger" in told


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from gomea_bn.cli.app import main\n"
        "try:\n    main(['front', '--help'])\nexcept SystemExit:\n    pass\n"
        "print([n for n in ('numpy', 'numba', 'pandas', 'scipy') if n in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stderr.strip() == "[]"
    assert "--max-complexity" in run.stdout


def test_json_is_for_programs(place):
    arguments = ["--max-evaluations", "500", "--seed", "3", "--json", "--quiet"]
    result = invoke("front", place / "rows.csv", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    summary = json.loads(result.stdout)
    assert [one["name"] for one in summary["objectives"]] == ["misfit", "complexity"]
    assert summary["record"]["seed"] == 3


@pytest.fixture
def stand_in(monkeypatch):
    return stand_in_learner(monkeypatch)


@pytest.fixture
def data(tmp_path):
    small_frame().to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def refused(*arguments):
    """Return why the command would not start."""
    result = invoke("front", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_the_users_own_files_stay(stand_in, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data.rename("front.csv")
    before = Path("front.csv").read_bytes()
    for out in (".", tmp_path):
        assert "front.csv', since the command reads it (DATA)" in refused("front.csv", "--out", out)
    Path("front.csv").rename("rows.csv")
    Path("expert.json").write_text("parent,child\na,b\n")
    Path("expert.csv").write_text("parent,child\na,b\n")
    Path("front.csv").write_text("mine")
    assert "does not belong to a front" in refused("rows.csv", "--out", ".")
    Path("front.csv").unlink()
    Path("expert.json").write_text("what the expert said")
    ok("front", "rows.csv", "--expert", "expert.csv", "--out", ".")
    assert Path("rows.csv").read_bytes() == before
    assert Path("expert.json").read_text() == "what the expert said"
    completed = Path("expert_completed.json").read_bytes()
    told = refused("rows.csv", "--expert", "expert_completed.json", "--out", ".")
    assert "expert_completed.json', since the command reads it (--expert)" in told
    assert Path("expert_completed.json").read_bytes() == completed


def test_the_result_is_printed_before_it_is_written(stand_in, data, tmp_path):
    output = ok("front", data, "--out", tmp_path / "front").output
    told = (
        "The front has 9",
        f"Writing 9 networks to {tmp_path / 'front'} ...",
        f"Wrote {tmp_path / 'front'}",
    )
    assert sorted(told, key=output.index) == list(told)


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

    monkeypatch.setattr("gomea_bn.cli.front._report", closed)
    assert isinstance(invoke("front", data, "--out", tmp_path / "front").exception, BrokenPipeError)
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
        for what, size in (("the knee", knee), ("the best fit", best)):
            assert (f"{what} ({size})" in printed) == (size in near)


def test_limits_hold_for_optimal_cuts(place):
    given = [
        "--discretizer",
        "optimal",
        "--min-bin-count",
        "40",
        "--min-width",
        "0.2",
    ]
    result = invoke("front", place / "rows.csv", *given, "--max-evaluations", "2000", "--out", place / "wide")
    assert result.exit_code == 0, result.stderr
    whole, frame = read_front(place / "wide"), rows()
    assert whole.record["counts"]["variables_priced"] > 0
    n_cuts = 0
    for one in whole:
        for name, cuts in one.network.cut_points.items():
            n_cuts += len(cuts)
            low, high = one.network.support[name]
            assert np.diff([low, *cuts, high]).min() >= 0.2 * (high - low) * (1 - 1e-9)
            bins = np.searchsorted(cuts, frame[name], side="left")
            assert np.bincount(bins, minlength=len(cuts) + 1).min() >= 40
    assert n_cuts > 0
