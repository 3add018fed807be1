"""Experiments as tasks on processes: resumed, repeated, failing, interrupted, refused."""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import bench_examples
import pytest
from bench_examples import LABORATORY, laboratory, measured_part, toy
from distributed import LocalCluster

import gomea_bn
from gomea_bn import GomeaBnError
from gomea_bn.runtime import cluster, connected, source_digest
from gomea_bn.runtime.environment import machine
from gomea_bn.texts import counted
from lab.runner import registry, results, run
from lab.runner.cluster import attempt
from lab.runner.experiment import Measured, Plan, plain, task_key
from lab.runner.results import ResultFolder
from lab.runner.run import report_only, run_experiment

TASKS = toy().expand(toy().plan)


def without_days(path: Path) -> str:
    """Return a file's text without the days of its rows, which differ around midnight."""
    day = r"\d{4}-\d\d-\d\d"
    return re.sub(rf"(on|from) {day}( to {day})?", "on DAY", path.read_text())


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster of two processes, shared by the tests that need no cluster of their own."""
    with connected(n_workers=2) as client:
        yield client.scheduler.address


@pytest.mark.long
def test_a_killed_and_resumed_run_equals_an_uninterrupted_one(tmp_path, scheduler) -> None:
    whole = run_experiment(toy(), toy().plan, tmp_path / "whole", scheduler=scheduler)
    command = [sys.executable, bench_examples.__file__, "4", str(tmp_path / "killed")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, timeout=600, env=environment).returncode == 9
    left = ResultFolder(tmp_path / "killed")
    assert not (tmp_path / "killed" / "rows.jsonl").exists()
    assert 4 <= len(left.rows()) < len(whole.rows)
    seconds = {key: row["seconds"] for key, row in left.rows().items()}
    resumed = run_experiment(toy(), toy().plan, tmp_path / "killed", resume=True, scheduler=scheduler)
    assert measured_part(resumed.rows) == measured_part(whole.rows)
    assert seconds.items() <= {row["key"]: row["seconds"] for row in resumed.rows}.items()  # not run again
    for name in ("report.md", "description.json"):
        assert without_days(tmp_path / "killed" / name) == without_days(tmp_path / "whole" / name)
    assert not (tmp_path / "killed" / "tasks").exists()


@pytest.mark.long
def test_an_interrupted_run_keeps_its_rows_and_goes_on(tmp_path, scheduler) -> None:
    def interrupt(n_done: int, _n_tasks: int, _n_failed: int) -> None:
        if n_done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(toy(), toy().plan, tmp_path / "own", scheduler=scheduler, progress=interrupt)
    assert len((tmp_path / "own" / "rows.jsonl").read_text().splitlines()) == 5
    resumed = run_experiment(toy(), toy().plan, tmp_path / "own", resume=True, scheduler=scheduler)
    assert [row["measured"]["value"] for row in resumed.rows] == [10, 11, 12, 20, 21, 22] * 2


@pytest.mark.long
@pytest.mark.parametrize("n_rows", [0, 3])
def test_ctrl_c_of_a_terminal_reaches_all_processes_and_prints_one_line(tmp_path, n_rows) -> None:
    folder = tmp_path / "topdown"
    command = [sys.executable, LABORATORY, "topdown", "--workers", "1", "--out", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        until = time.monotonic() + 600
        while not folder.is_dir() or len(list(folder.glob("tasks/*.json"))) < n_rows:
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)
        errors = running.communicate(timeout=600)[1]
    assert running.returncode == 130
    assert errors.strip().splitlines() == [
        f"Error: Interrupted. Finished runs are in '{tmp_path}'; --resume continues."
    ]
    assert len(ResultFolder(folder).rows()) >= n_rows
    assert not (folder / "tasks").exists() or not n_rows  # merged


@pytest.mark.long
def test_a_failing_task_is_tried_twice_and_reported_without_losing_the_others(tmp_path, monkeypatch) -> None:
    (tmp_path / "seen").mkdir()
    monkeypatch.setenv("BENCH_EXAMPLE_FOLDER", str(tmp_path / "seen"))
    experiment = toy(bench_examples.measure_or_fail)
    monkeypatch.setattr(registry, "experiments", lambda: {"toy": experiment})
    arguments = ["toy", "--nets", "1", "--sizes", "1,2,3,4", "--algorithms", "a", "--workers", "2"]
    code, output = laboratory(*arguments, "--out", tmp_path)
    assert code == 1
    assert "2 runs failed" in output
    rows = [json.loads(line) for line in (tmp_path / "toy" / "rows.jsonl").read_text().splitlines()]
    assert [row["attempts"] for row in rows] == [1, 2, 2, 2]
    assert [row.get("measured") for row in rows] == [{"value": 10}, None, {"value": 30}, None]
    assert "ArithmeticError: no <b>value</b> for size 2" in rows[1]["error"]
    assert "measure_or_fail" in rows[1]["error"]  # the traceback
    assert "not JSON compliant" in rows[3]["error"]
    assert "2 tasks failed" in (tmp_path / "toy" / "report.md").read_text()
    assert "2 tasks failed" in (tmp_path / "results.md").read_text()
    # runs the failed two only
    assert laboratory(*arguments, "--resume", "--out", tmp_path)[0] == 1
    later = [json.loads(line) for line in (tmp_path / "toy" / "rows.jsonl").read_text().splitlines()]
    assert [later[0], later[2]] == [rows[0], rows[2]]


@pytest.mark.long
def test_a_task_that_kills_its_process_is_reported_without_losing_the_others(tmp_path) -> None:
    plan = toy().planned(nets=1, sizes=(1, 2, 3), algorithms=("a",))
    outcome = run_experiment(toy(bench_examples.measure_or_die), plan, tmp_path / "own", n_workers=2)
    assert [row.get("measured") for row in outcome.rows] == [{"value": 10}, None, {"value": 30}]
    assert "The task was lost" in outcome.failures[0]["error"]


def test_another_description_is_refused_unless_accepted(tmp_path, scheduler) -> None:
    folder, plan = tmp_path / "own", toy().plan
    former = run_experiment(toy(), plan, folder, scheduler=scheduler)
    with pytest.raises(GomeaBnError, match="holds results already; continue them with --resume"):
        run_experiment(toy(), plan, folder, scheduler=scheduler)
    smaller = replace(plan, sizes=(2, 5), nets=2)
    with pytest.raises(GomeaBnError, match=r"nets was 3, is 2; sizes was \[1, 2\].*--accept-changes"):
        run_experiment(toy(), smaller, folder, resume=True, scheduler=scheduler)
    changed = run_experiment(toy(), smaller, folder, resume=True, accept_changes=True, scheduler=scheduler)
    rows = {row["key"]: row for row in former.rows}
    assert [row["task"]["size"] for row in changed.rows] == [2, 2, 5, 5] * 2
    assert all(row == rows[row["key"]] for row in changed.rows if row["task"]["size"] == 2)
    back = run_experiment(toy(), plan, folder, resume=True, accept_changes=True, scheduler=scheduler)
    assert back.rows == former.rows  # the rows that were set aside are found again
    assert report_only(toy(), folder).rows == former.rows


def test_keys_depend_on_the_content_alone() -> None:
    assert task_key({"a": 1, "b": [1, 2]}) == task_key({"b": [1, 2], "a": 1})
    assert task_key({"a": 1}) != task_key({"a": 2})
    assert len(set(map(task_key, TASKS))) == 12


@pytest.mark.long
def test_every_default_plan_has_distinct_tasks_that_json_holds() -> None:
    experiments = registry.experiments().values()
    assert len(experiments) >= 40
    for experiment in experiments:
        plan = experiment.planned()
        tasks = experiment.expand(plan)
        assert plain(tasks) == plain(experiment.expand(experiment.described(experiment.describe(plan))))
        assert len({task_key(task) for task in plain(tasks)}) == len(tasks)
        # experiments on simulated visits have no task before their file is given
        assert tasks or "clinic" in experiment.options
        assert experiment.described(experiment.describe(plan)) == plan
    published = [experiment for experiment in experiments if experiment.plan is not None]
    assert len(published) >= 10
    for experiment in published:
        for plan in (experiment.plan, experiment.full):
            tasks = experiment.expand(plan)
            assert plain(tasks) == tasks
            assert len({task_key(task) for task in tasks}) == len(tasks) > 0
            assert Plan.of(experiment.describe(plan)) == plan
            assert set(plan.algorithms) <= set(experiment.full.algorithms)
            assert set(plan.variants) <= set(experiment.full.variants)
            assert min(plan.sizes) >= experiment.least_size > 1
        assert experiment.planned(full=True) == experiment.full


def test_an_attempt_that_exits_or_measures_nan_is_a_row_with_an_error() -> None:
    def broken(_task: object) -> None:
        raise GomeaBnError("no such table")

    row = attempt(broken, {"a": 1})
    assert row["error"].endswith("gomea_bn.errors.GomeaBnError: no such table\n")
    assert "measured" not in row


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nets": 0}, "nets must be an integer of at least 1"),
        ({"sizes": ()}, "sizes must have at least one number"),
        ({"sizes": (5, 5)}, "sizes must be distinct"),
        ({"algorithms": ("c",)}, "algorithms of toy must be one of 'a', 'b', got 'c'"),
        ({"variants": ("x",)}, "toy has no variants; leave them out"),
        ({"seconds": -1.0}, "seconds must be a finite number above 0 or None"),
        ({"evaluations": 0}, "evaluations must be an integer"),
        ({"seed": -1}, "seed must be an integer"),
    ],
)
def test_plans_that_cannot_be_run_are_refused(changes, message) -> None:
    with pytest.raises(GomeaBnError, match=message):
        toy().planned(**changes)


def test_evaluations_replace_the_clock() -> None:
    assert toy().planned(evaluations=5).limits == {"seconds": None, "evaluations": 5}
    assert toy().planned(evaluations=5, seconds=2.0).limits == {"seconds": 2.0, "evaluations": 5}


def results_of(folder: ResultFolder, tasks: list[dict], *versions: str) -> ResultFolder:
    """Add a result of every task to a folder of the toy experiment, made by given versions in turn."""
    folder.open(toy().describe(toy().plan))
    for task, version in zip(tasks, itertools.cycle(versions or [""]), strict=False):
        folder.add({"key": task_key(task), "task": task, "measured": {"value": 1}, "version": version})
    return folder


def test_tasks_that_failed_are_missing_like_those_without_a_row(tmp_path) -> None:
    folder = results_of(ResultFolder(tmp_path / "own"), TASKS[:1])
    folder.add({"key": task_key(TASKS[1]), "task": TASKS[1], "error": "ValueError"})
    assert folder.missing(TASKS) == TASKS[1:]


def test_the_command_refuses_what_it_cannot_run(tmp_path) -> None:
    def printed(*arguments: str) -> str:
        code, output = laboratory(*arguments, "--out", tmp_path / "out")
        assert code == 2
        return " ".join(output.split())

    assert "Unknown experiment 'table3'" in printed("table3")
    assert "--sizes must be integers separated by commas, got 'a'" in printed("table1", "--sizes", "a")
    assert "sizes of table2 must be at least 2, got 1" in printed("table2", "--sizes", "1,4")
    assert "sizes of chen must be at least 2, got 1" in printed("chen", "--sizes", "1")
    assert "holds no results of table1; run it first" in printed("table1", "--report-only")
    assert "leave out --nets" in printed("table1", "--report-only", "--nets", "2")
    assert "leave out --full" in printed("table1", "--report-only", "--full")
    missing = str(tmp_path / "none" / "all.md")
    assert "--summary must be a file in an existing folder" in printed("table1", "--summary", missing)
    (tmp_path / "out" / "table1").mkdir(parents=True)
    (tmp_path / "out" / "table1" / "letter.txt").touch()
    assert "is not a folder of results" in printed("table1", "--evaluations", "10")
    assert os.listdir(tmp_path / "out" / "table1") == ["letter.txt"]
    _, listed = laboratory("--list")
    names = [line.split()[0] for line in listed.splitlines()]
    assert laboratory("list") == (0, listed)
    assert names == list(registry.experiments())
    assert {"table1", "table2", "fig3", "fig4", "fig5", "fig6", "chen", "monti", "mgcd", "topdown"} <= set(
        names
    )


def test_the_laboratory_is_a_process_with_the_codes_of_a_command(tmp_path) -> None:
    def ended(*arguments: str) -> tuple[int, str, str]:
        run = subprocess.run(
            [sys.executable, LABORATORY, *arguments], capture_output=True, text=True, cwd=tmp_path
        )
        return run.returncode, run.stdout, run.stderr

    code, output, _ = ended("shapes-skeletons", "--help")
    assert (code, "--first-seed" in output, "--resume" in output) == (0, True, True)
    code, output, errors = ended("table3")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("Error: Unknown experiment 'table3'")


def test_a_server_of_another_kind_is_a_plain_error(monkeypatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(GomeaBnError, match=f"No Dask scheduler answers at '{address}': no answer of Dask"),
            connected(address),
        ):
            pass


def test_the_address_of_a_worker_is_a_plain_error() -> None:
    with (
        LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=None) as workers,
        pytest.raises(GomeaBnError, match="a Dask Worker has this address"),
        connected(workers.workers[0].address),
    ):
        pass


def test_a_pipe_among_the_results_is_not_waited_for(tmp_path) -> None:
    (tmp_path / "tasks").mkdir()
    os.mkfifo(tmp_path / "tasks" / "a.json")
    with pytest.raises(GomeaBnError, match=r"a\.json' is a device or a pipe"):
        ResultFolder(tmp_path).rows()


def test_what_a_killed_process_was_writing_is_no_obstacle(tmp_path) -> None:
    folder = ResultFolder(tmp_path / "own")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / ".description.json.00.part").write_text("{")  # killed before anything was there
    results_of(folder, TASKS[:1])
    (tmp_path / "own" / "tasks" / f".{task_key(TASKS[0])}.json.00.part").write_text("{")
    assert len(folder.merge(TASKS[:1])) == 1
    assert not (tmp_path / "own" / "tasks").exists()


def test_a_description_of_another_version_is_reported(tmp_path) -> None:
    folder = ResultFolder(tmp_path / "own")
    folder.open({"experiment": "toy", "nets": 3})
    with pytest.raises(GomeaBnError, match=r"lacks sizes, algorithms, .* run the experiment again"):
        report_only(toy(), folder.path)


def test_warnings_are_kept_in_the_row_and_not_printed(recwarn) -> None:
    def warned(_task: object) -> Measured:
        for text in ("too few rows", "too few rows", "a deadline"):
            warnings.warn(text, UserWarning, stacklevel=2)
        return Measured({"value": 1}, {})

    row = attempt(warned, {"a": 1})
    assert row["warnings"] == ["too few rows", "a deadline"]
    assert row["measured"] == {"value": 1}
    assert "warnings" not in attempt(lambda _: Measured({}, {}), {"a": 1})
    assert not recwarn.list


def test_rows_of_another_revision_are_not_taken_over(tmp_path, scheduler) -> None:
    folder, newer = tmp_path / "own", replace(toy(), revision=2)
    run_experiment(toy(), toy().plan, folder, scheduler=scheduler)
    with pytest.raises(GomeaBnError, match="revision was 1, is 2"):
        run_experiment(newer, toy().plan, folder, resume=True, scheduler=scheduler)
    with pytest.raises(GomeaBnError, match="another revision of toy"):
        report_only(newer, folder)
    done: list[int] = []
    run_experiment(
        newer,
        toy().plan,
        folder,
        resume=True,
        accept_changes=True,
        scheduler=scheduler,
        progress=lambda n_done, _n_tasks, _n_failed: done.append(n_done),
    )
    assert done == list(range(13))  # every task again


def test_tracebacks_hold_no_paths_of_this_machine() -> None:
    def broken(_task: object) -> None:
        json.loads("{")

    text = attempt(broken, {"a": 1})["error"]
    assert 'File "json/__init__.py"' in text
    assert 'File "/' not in text


@pytest.mark.long
def test_all_is_checked_before_anything_runs(tmp_path, monkeypatch) -> None:
    plan = replace(toy().plan, algorithms=("a",))
    other = replace(toy(), name="other", plan=plan, full=plan)
    monkeypatch.setattr(registry, "experiments", lambda: {"toy": toy(), "other": other})

    def printed(wanted: int, *arguments: str) -> str:
        code, output = laboratory("all", "--out", tmp_path, *arguments)
        assert code == wanted
        return " ".join(output.split())

    assert "holds no results; run an experiment first" in printed(2, "--report-only")
    assert "algorithms of other must be one of 'a', got 'b'" in printed(2, "--algorithms", "a,b")
    run_experiment(other, other.plan, tmp_path / "other", n_workers=1)
    assert "holds results already" in printed(2)
    assert "--summary must be a file in an existing folder" in printed(2, "--summary", "nowhere/results.md")
    assert "leave out --nets, --seed" in printed(2, "--report-only", "--nets", "2", "--seed", "1")
    assert "leave it out with --scheduler" in printed(2, "--scheduler", "a:1", "--workers", "2")
    assert os.listdir(tmp_path) == ["other"]
    assert "Not run yet: toy." in printed(0, "--report-only")
    assert "A <toy>" in (tmp_path / "results.md").read_text()


def test_damaged_rows_are_named(tmp_path) -> None:
    folder = results_of(ResultFolder(tmp_path / "own"), TASKS[:1])
    (Path(tmp_path) / "own" / "tasks" / "b.json").write_text("{")
    with pytest.raises(GomeaBnError, match=r"b\.json' is damaged"):
        folder.rows()


def test_a_damaged_line_is_named_and_nothing_else_given_up(tmp_path) -> None:
    folder = results_of(ResultFolder(tmp_path / "own"), TASKS[:1])
    folder.merge(TASKS[:1])
    with (tmp_path / "own" / "rows.jsonl").open("a") as rows:
        rows.write('{"key": "half')
    with pytest.raises(GomeaBnError, match=r"Line 2 of .*rows\.jsonl' is damaged .* delete that line"):
        folder.rows()
    for damage in (b"123", b"\xff{}", b'{"key": 1}'):
        rows_file = tmp_path / "own" / "rows.jsonl"
        rows_file.write_bytes(rows_file.read_bytes().splitlines(keepends=True)[0] + damage)
        with pytest.raises(GomeaBnError, match="Line 2 of"):
            folder.rows()
    (tmp_path / "own" / "description.json").write_text("{")
    with pytest.raises(GomeaBnError, match=r"description\.json' is damaged .* move the folder away"):
        folder.description()


@pytest.mark.parametrize("n_writes", range(4))
def test_a_kill_while_rows_are_merged_loses_none(tmp_path, monkeypatch, n_writes) -> None:
    folder = results_of(ResultFolder(tmp_path / "own"), TASKS)
    folder.merge(TASKS[:3])  # sets the others aside
    left, write = n_writes, results.write_text

    def killed(path: Path, text: str) -> None:
        nonlocal left
        if not left:
            raise MemoryError
        left -= 1
        write(path, text)

    monkeypatch.setattr(results, "write_text", killed)
    with pytest.raises(MemoryError):
        folder.merge(TASKS[2:6])
    assert left == 0
    monkeypatch.undo()
    assert set(folder.rows()) == set(map(task_key, TASKS))
    assert len(folder.merge(TASKS)) == len(TASKS)
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "description.json",
        "rows.csv",
        "rows.jsonl",
    ]


@pytest.mark.long
def test_two_runs_in_one_folder_are_refused(tmp_path) -> None:
    with (
        ResultFolder(tmp_path / "own").locked(),
        pytest.raises(GomeaBnError, match=r"Another run writes into .*own"),
    ):
        run_experiment(toy(), toy().plan, tmp_path / "own")
    assert len(run_experiment(toy(), toy().plan, tmp_path / "own", n_workers=1).rows) == 12


@pytest.mark.long
def test_a_run_that_never_began_is_begun_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(GomeaBnError, match="No Dask scheduler answers at 'nowhere:1'"):
        run_experiment(toy(), toy().plan, tmp_path / "own", scheduler="nowhere:1")
    smaller = replace(toy().plan, nets=1)
    assert len(run_experiment(toy(), smaller, tmp_path / "own", n_workers=1).rows) == 4


def test_a_scheduler_without_workers_is_a_plain_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as empty,
        pytest.raises(
            GomeaBnError, match=r"has no workers; .* dask worker tcp://127\.0\.0\.1:\d+ --nthreads 1"
        ),
    ):
        run_experiment(toy(), toy().plan, tmp_path / "own", scheduler=empty.scheduler_address)


def test_rows_of_several_versions_are_reported(tmp_path) -> None:
    folder = results_of(ResultFolder(tmp_path / "own"), TASKS, "0.0", "0.1")
    report_only(toy(), folder.path)
    for version in ("0.0", "0.1"):
        sentence = (
            f"{len(TASKS) // 2} rows were made by version {version}. Not recorded: sources, day, machine."
        )
        assert sentence in (folder.path / "report.md").read_text()


@pytest.mark.parametrize("fails", [False, True])
def test_a_row_says_which_code_made_it_when_and_where(fails) -> None:
    def measured(_task: object) -> dict:
        if fails:
            raise ValueError
        return {}

    before = datetime.now(UTC)
    row = attempt(measured, {"a": 1})
    assert ("error" in row) == fails
    assert (row["version"], row["sources"]) == (gomea_bn.__version__, source_digest())
    assert before.replace(microsecond=0) <= datetime.fromisoformat(row["finished"]) <= datetime.now(UTC)
    assert row["machine"] == machine()


def test_a_report_names_version_sources_day_and_machine_of_its_rows(tmp_path) -> None:
    run_experiment(toy(), toy().plan, tmp_path / "own", in_turn=True)
    text = without_days(tmp_path / "own" / "report.md")
    computer = machine()
    assert (
        f"The {len(TASKS)} rows were made by version {gomea_bn.__version__} (sources {source_digest()}), on DAY, "
        f"on {computer['cpu']} with {counted(computer['cores'], 'core')} ({computer['platform']}).\n"
    ) in text
    assert "Not recorded" not in text


def test_an_interrupted_command_says_how_to_go_on(tmp_path, monkeypatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(registry, "experiments", lambda: {"toy": toy()})
    monkeypatch.setattr(run, "run_experiment", interrupted)
    code, output = laboratory("toy", "--out", tmp_path)
    assert code == 130
    assert "--resume continues" in output


@pytest.mark.parametrize("library", ["locket", "distributed"])
def test_an_absent_library_is_named_before_anything_is_compiled(library, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(GomeaBnError, match=r"pip install \"gomea-bn\[experiments\]\""):
        ResultFolder(tmp_path / "own").check({})
