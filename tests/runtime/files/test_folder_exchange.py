"""Files of a folder that are replaced together, also when the process is killed at any rename."""

import itertools
import json
import os
import warnings
from contextlib import nullcontext

import pytest

from gomea_bn import GomeaBnError, GomeaBnWarning
from gomea_bn.runtime import finish_exchange
from gomea_bn.runtime.files import _host, replaced_entries

NAMES = ("a", "b", "c", "sub")
OLD = {"a": "old", "c": "old", "sub/x": "old", "sub/y": "old", "mine": "kept"}
NEW = {"a": "new", "b": "new", "sub/x": "new", "sub/z": "new", "mine": "kept"}


def fill(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def files_in(folder):
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def exchange(folder):
    with replaced_entries(folder, NAMES) as new:
        fill(new, {name: text for name, text in NEW.items() if text == "new"})


def rename_except(numbers, end):
    """Return a replacement of `os.rename` that ends or fails at renames of some numbers."""
    count, of_system = itertools.count(1), os.rename

    def rename(source, target):
        if next(count) not in numbers:
            of_system(source, target)
        elif isinstance(end, Exception):
            raise end
        else:
            end()

    return rename


def killed_at(folder, rename):
    """Exchange in a process that ends without a trace before its rename of a number; return whether it was killed."""
    child = os.fork()
    if child == 0:
        os.rename = rename_except([rename], lambda: os._exit(9))
        try:
            exchange(folder)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_all_entries_are_replaced_and_others_stay(tmp_path):
    fill(tmp_path, OLD)
    exchange(tmp_path)
    assert files_in(tmp_path) == NEW


def test_a_folder_is_made(tmp_path):
    exchange(tmp_path / "of" / "runs")
    assert files_in(tmp_path / "of" / "runs") == {k: v for k, v in NEW.items() if v == "new"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be killed")
def test_a_kill_at_any_rename_leaves_all_old_or_all_new_files(tmp_path):
    outcomes = []
    for rename in range(1, 100):
        folder = tmp_path / str(rename)
        fill(folder, OLD)
        if not killed_at(folder, rename):
            break
        with pytest.warns(GomeaBnWarning, match="killed"):
            finish_exchange(folder, NAMES)
        outcomes.append(files_in(folder))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            finish_exchange(folder, NAMES)
        exchange(folder)
        assert files_in(folder) == NEW
    # one rename decides; a, c, sub move away, a, b, sub come in
    assert outcomes == [OLD] + [NEW] * 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be killed")
def test_the_next_writer_also_finishes_it(tmp_path):
    fill(tmp_path, OLD)
    assert killed_at(tmp_path, 3)
    (tmp_path / "b").write_text("of another program")
    with pytest.warns(GomeaBnWarning, match="Completed"):
        exchange(tmp_path)
    assert files_in(tmp_path) == NEW


@pytest.mark.parametrize("failing", range(2, 9))
def test_an_error_undoes_all_moves(tmp_path, monkeypatch, failing):
    fill(tmp_path, OLD)
    monkeypatch.setattr(os, "rename", rename_except([failing], OSError(28, "No space left on device")))
    if failing == 8:
        exchange(tmp_path)
        assert files_in(tmp_path) == NEW
        return
    with pytest.raises(GomeaBnError, match="No space left on device"):
        exchange(tmp_path)
    assert files_in(tmp_path) == OLD


def test_an_error_of_the_block_leaves_nothing(tmp_path):
    fill(tmp_path, OLD)

    def broken():
        with replaced_entries(tmp_path, NAMES) as new:
            fill(new, {"a": "new"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert files_in(tmp_path) == OLD
    assert not list(tmp_path.glob(".part-*"))


def number_of_a_dead_process():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that end")
@pytest.mark.parametrize("kind", ["unknown", "other machine", "this process"])
def test_files_of_processes_that_may_run_stay(tmp_path, kind):
    name = {
        "unknown": ".part-of-something",
        "other machine": f".part-{number_of_a_dead_process()}-00000000-ab",
        "this process": f".part-{os.getpid()}-{_host()}-ab",
    }[kind]
    fill(tmp_path / name, {"new/a": "theirs"})
    exchange(tmp_path)
    assert (tmp_path / name / "new" / "a").read_text() == "theirs"


@pytest.mark.sample(6)
@pytest.mark.parametrize("killed", range(2, 8))
@pytest.mark.parametrize("failing", [1, 2])
def test_an_exchange_that_cannot_be_completed_waits(tmp_path, monkeypatch, killed, failing):
    fill(tmp_path, OLD)
    assert killed_at(tmp_path, killed)
    denied = rename_except(range(failing, 100), PermissionError(13, "Permission denied"))
    monkeypatch.setattr(os, "rename", denied)
    if killed + failing <= 8:
        with pytest.raises(GomeaBnError, match=r"Permission denied.*ready.*old"):
            finish_exchange(tmp_path, NAMES)
    monkeypatch.undo()
    with pytest.warns(GomeaBnWarning, match="Completed"):
        finish_exchange(tmp_path, NAMES)
    assert files_in(tmp_path) == NEW


def left_by_a_dead_process(folder, plan):
    temporary = folder / f".part-{number_of_a_dead_process()}-{_host()}-ab"
    fill(temporary, {"ready/a": "planted", "plan.json": json.dumps(plan)})
    return temporary


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that end")
@pytest.mark.parametrize(
    ("plan", "is_damaged"),
    [
        ({"names": ["../victim"], "new": []}, False),
        ({"names": ["a"], "new": ["../a"]}, False),
        ({"names": ["mine"], "new": []}, False),
        ({"names": "a", "new": []}, True),
        ({"names": ["a"], "new": [["a"]]}, True),
        ({"names": ["a"]}, True),
        ([], True),
        (None, True),
    ],
)
def test_plans_of_strangers_move_nothing_else(tmp_path, plan, is_damaged):
    folder = tmp_path / "folder"
    fill(tmp_path, {"victim": "kept"})
    fill(folder, OLD)
    left_by_a_dead_process(folder, plan)
    before = files_in(tmp_path)
    with pytest.raises(GomeaBnError, match="its plan") if is_damaged else nullcontext():
        finish_exchange(folder, NAMES)
    assert files_in(tmp_path) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that end")
def test_a_pipe_in_place_of_a_plan_is_not_waited_for(tmp_path):
    plan = left_by_a_dead_process(tmp_path, None) / "plan.json"
    plan.unlink()
    os.mkfifo(plan)
    with pytest.raises(GomeaBnError, match=r"plan\.json' is a device or a pipe"):
        finish_exchange(tmp_path, NAMES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that end")
@pytest.mark.parametrize("link", ["", "ready", "old"])
def test_links_are_not_followed(tmp_path, link):
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    fill(folder, {"mine": "kept"})
    temporary = left_by_a_dead_process(folder, {"names": ["a"], "new": ["a"]})
    fill(elsewhere, {"a": "theirs", "ready/a": "theirs"})
    if not link:
        temporary.rename(folder / "away")
        temporary.symlink_to(elsewhere)
        finish_exchange(folder, NAMES)
    else:
        if (temporary / link).exists():
            (temporary / link).rename(temporary / "away")
        (temporary / link).symlink_to(elsewhere)
        if link == "ready":
            with pytest.warns(GomeaBnWarning, match="Removed unfinished"):
                finish_exchange(folder, NAMES)
        else:
            with pytest.raises(GomeaBnError, match="is a link"):
                finish_exchange(folder, NAMES)
    assert files_in(elsewhere) == {"a": "theirs", "ready/a": "theirs"}
    assert not (folder / "a").exists()
