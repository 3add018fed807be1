"""Errors on the command line, and files that a command must not replace."""

import os

import pytest
import typer

from gomea_bn.cli.commands.front import _what_next
from gomea_bn.cli.named_networks import ending_of
from gomea_bn.cli.output import FAILED, WRONG_USE, check_targets, check_writable, fail
from gomea_bn.errors import GomeaBnError, Setting


def test_advice_is_spelled_as_an_option_with_its_column(capsys):
    with pytest.raises(typer.Exit) as stopped:
        fail(
            GomeaBnError("Wrong.", [Setting("kinds", "continuous", "a b"), Setting("max_levels")]), WRONG_USE
        )
    assert stopped.value.exit_code == WRONG_USE
    assert capsys.readouterr().err == "Error: Wrong. Give --kind 'a b=continuous', or raise --max-levels.\n"


def test_two_options_need_two_files_and_one_option_may_name_a_file_twice(tmp_path, capsys):
    file = tmp_path / "a.json"
    check_targets({"--out": [file, file]}, {})
    with pytest.raises(typer.Exit):
        check_targets({"--out": [file], "--codes": [file]}, {})
    assert "--out and --codes must be two files" in capsys.readouterr().err


def test_the_ending_of_a_file_decides_the_format_whatever_its_case(tmp_path):
    assert [ending_of(tmp_path / name) for name in ("a.json", "b.BIF", "c.x.Dot")] == ["json", "bif", "dot"]


def test_networks_with_files_are_counted_once(tmp_path):
    written = [
        tmp_path / name for name in ("front.json", "front.csv", "networks/0001.json", "networks/0001.bif")
    ]
    assert "networks.gz (all 9 networks), networks/ (JSON, BIF and DOT of 1).\n" in _what_next(
        tmp_path, 9, written
    )


def test_a_file_in_a_folder_without_permission_is_refused(tmp_path, monkeypatch, capsys):
    check_writable(tmp_path / "a.json")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(typer.Exit) as stopped:
        check_writable(tmp_path / "a.json")
    assert stopped.value.exit_code == FAILED
    assert "no permission to write in its folder" in capsys.readouterr().err
