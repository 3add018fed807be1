"""Runs of the benchmarks: options of the learner, tasks on processes, and records from which a run continues."""

import math
import multiprocessing
import os
import time

import pytest
from harness import runs

from gomea_bn import GOMEA
from gomea_bn.errors import GomeaBnError


def test_options_become_a_learner():
    options = runs.named_options(["pseudo_count=4", "scoring_method=density-bd", "algorithm.linkage=tree-mi"])
    assert options == {"pseudo_count": 4, "scoring_method": "density-bd", "algorithm.linkage": "tree-mi"}
    learner = runs.make_learner(options, pseudo_count=1.0, max_seconds=3.0)
    assert (learner.pseudo_count, learner.max_seconds, learner.scoring_method) == (4, 3.0, "density-bd")
    assert learner.algorithm == GOMEA(linkage="tree-mi")
    assert runs.smoothing(learner) == {"pseudo_count": 4}
    with pytest.raises(GomeaBnError, match="pseudocount"):
        runs.make_learner({"pseudocount": 4})
    with pytest.raises(SystemExit, match="'pseudo_count'"):
        runs.named_options(["pseudo_count"])


def test_a_variant_has_a_name_and_options():
    assert runs.variant("plain") == ("plain", {})
    assert runs.variant("mi:algorithm.linkage=tree-mi,patience=None") == (
        "mi",
        {"algorithm.linkage": "tree-mi", "patience": None},
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_the_order_of_the_tasks(workers):
    assert runs.run_tasks(math.factorial, [3, 1, 2], workers) == [6, 1, 2]


def doubled(task):
    return {"value": 2 * task["x"]}


def test_finished_tasks_are_read_and_the_others_are_run(tmp_path, capsys):
    path = tmp_path / "new" / "runs.jsonl"
    tasks = [{"x": 1, "name": "a"}, {"x": 2, "name": "b"}]
    first = runs.resume_tasks(doubled, tasks[1:], path, 1)
    assert first == [{"task": tasks[1], "value": 4}]
    assert capsys.readouterr().out == "done: x 2, name b\n"
    calls = []

    def counted(task):
        calls.append(task)
        return doubled(task)

    # the file may hold a task with its options in another order
    requested = [tasks[0], {"name": "b", "x": 2}]
    assert [record["value"] for record in runs.resume_tasks(counted, requested, path, 1)] == [2, 4]
    assert calls == [tasks[0]]
    assert runs.resume_tasks(counted, tasks, path, 1) == [*runs.read_records(path)[::-1]]
    assert len(calls) == 1


def test_an_incomplete_last_line_is_cut_off(tmp_path):
    path = tmp_path / "runs.jsonl"
    assert runs.read_records(path) == []
    runs.resume_tasks(doubled, [{"x": 1}], path, 1)
    with path.open("a") as file:
        file.write('{"task": {"x": 2}, "val')
    assert len(runs.read_records(path)) == 1
    runs.resume_tasks(doubled, [{"x": 1}, {"x": 2}], path, 1)
    assert [record["value"] for record in runs.read_records(path)] == [2, 4]


def test_a_call_in_a_new_process_returns_its_result():
    assert runs.in_new_process(math.gcd, 12, 18) == 6
    assert runs.in_new_process(os.getpid) != os.getpid()


def test_all_tasks_are_run_without_a_file(capsys):
    tasks = [{"x": 1}, {"x": 2}]
    assert runs.resume_tasks(doubled, tasks, None, 1) == [
        {"task": tasks[0], "value": 2},
        {"task": tasks[1], "value": 4},
    ]
    assert capsys.readouterr().out == ""


def test_a_process_is_replaced_after_a_call_that_is_too_long():
    with runs.ReplaceableProcess() as process:
        first = process.call(os.getpid, timeout=60.0)
        assert first != os.getpid()
        assert process.call(os.getpid, timeout=60.0) == first
        with pytest.raises(ValueError, match="factorial"):
            process.call(math.factorial, -1, timeout=60.0)
        with pytest.raises(multiprocessing.TimeoutError):
            process.call(time.sleep, 60.0, timeout=0.3)
        assert process.call(os.getpid, timeout=60.0) != first
