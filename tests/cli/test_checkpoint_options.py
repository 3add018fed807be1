"""The options --checkpoint, --every and --resume of `learn` and `front`."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_line import invoke, ok, refused, refused_last

from gomea_bn.runtime import checkpoints

QUICK = ["--max-evaluations", "1500", "--max-seconds", "0", "--seed", "1", "--quiet"]


class Ended(Exception):
    """Ends a command where SIGKILL would."""


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs a command which ends after its third checkpoint."""

    def run(*arguments: object) -> None:
        write = checkpoints._File.write

        def killing(self: Any) -> None:
            write(self)
            if self.n_written == 3:
                raise Ended

        with monkeypatch.context() as patched:
            patched.setattr(checkpoints, "_MOST_SHARE", 1.0)
            patched.setattr(checkpoints._File, "write", killing)
            assert isinstance(invoke(*arguments).exception, Ended)

    return run


@pytest.mark.sample(1)
@pytest.mark.parametrize(("command", "result"), [("learn", "network.json"), ("front", "front.csv")])
def test_a_killed_command_goes_on_with_resume(table, tmp_path, killed, command, result):
    folder = tmp_path / "checkpoint"
    killed(command, table, *QUICK, "--checkpoint", folder, "--every", "0")
    ok(command, table, *QUICK, "--checkpoint", folder, "--resume", "--out", tmp_path / "resumed")
    ok(command, table, *QUICK, "--out", tmp_path / "whole")
    assert (tmp_path / "resumed" / result).read_bytes() == (tmp_path / "whole" / result).read_bytes()


@pytest.mark.sample(1)
@pytest.mark.parametrize(("command", "result"), [("learn", "network.json"), ("front", "front.csv")])
def test_a_full_disk_under_the_checkpoint_loses_no_result(table, tmp_path, monkeypatch, command, result):
    replace = os.replace

    def full(source: Path, target: Path) -> None:
        if target.name == checkpoints.CHECKPOINT_FILE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    folder = tmp_path / "checkpoint"
    search = ok(command, table, *QUICK, "--checkpoint", folder, "--every", "0", "--out", tmp_path / "with")
    assert search.stderr.count("No space left on device") == 1
    assert f"Warning: Cannot write '{folder / checkpoints.CHECKPOINT_FILE}'" in search.stderr
    assert os.listdir(folder) == []
    ok(command, table, *QUICK, "--out", tmp_path / "without")
    assert (tmp_path / "with" / result).read_bytes() == (tmp_path / "without" / result).read_bytes()


@pytest.mark.sample(1)
@pytest.mark.parametrize("command", ["learn", "front"])
def test_a_full_disk_under_the_result_is_one_line(table, tmp_path, monkeypatch, command):
    out = tmp_path / "out"
    ok(command, table, *QUICK, "--out", out)
    former = {path: path.read_bytes() for path in out.rglob("*.*") if path.is_file()}

    def full(*_paths: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "rename", full)
    assert f"Error: Cannot write to folder '{out}': No space left on device." in refused_last(
        1, command, table, *QUICK, "--max-bins", "4", "--out", out
    )
    assert {path: path.read_bytes() for path in out.rglob("*.*") if path.is_file()} == former


def test_refusals_name_the_options_of_the_command(table, tmp_path, killed):
    folder = tmp_path / "checkpoint"
    killed("learn", table, *QUICK, "--checkpoint", folder, "--every", "0")
    for arguments, message in (
        (["--checkpoint", folder], f"'{folder / 'checkpoint.gomea'}' exists and would be lost; --resume goes on"),
        (["--checkpoint", folder, "--resume", "--max-bins", "7"], "option --max-bins was 'auto', and is now 7"),
        (["--resume"], "--resume needs the folder of --checkpoint"),
        (["--checkpoint", table, "--resume"], "is not a folder"),
    ):  # fmt: skip
        refused = invoke("learn", table, *QUICK, *arguments)
        assert refused.exit_code == 2
        assert message in refused.stderr.replace("\n", " ")


def test_a_checkpoint_never_replaces_a_file_that_is_read(tmp_path, table):
    data = tmp_path / "checkpoint.gomea"
    data.write_bytes(table.read_bytes())
    assert "it is an input (DATA)" in refused(2, "learn", data, *QUICK, "--checkpoint", tmp_path, "--resume")
    assert data.read_bytes() == table.read_bytes()


def test_resuming_without_a_checkpoint_says_so_and_starts(table, tmp_path):
    result = ok("learn", table, *QUICK, "--checkpoint", tmp_path / "new", "--resume", "--json")
    assert "the run starts from the beginning" in result.stderr
    assert json.loads(result.stdout)["run"]["counts"]["n_eval"] == 1500
    assert (tmp_path / "new" / "checkpoint.gomea").is_file()


def test_an_interval_needs_a_checkpoint(table):
    assert "--every needs the folder of --checkpoint" in refused(2, "learn", table, *QUICK, "--every", "5")


def test_a_checkpoint_among_the_networks_of_a_front_is_refused(table, tmp_path):
    out = tmp_path / "out"
    assert "must be two files" in refused(
        2, "front", table, *QUICK, "--checkpoint", out / "networks", "--out", out
    )
    assert not out.exists()
