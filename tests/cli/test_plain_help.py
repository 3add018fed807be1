"""Help texts name values by words, and show no types of Python."""

import re

import pytest
from command_line import ok
from typer.main import get_command

from gomea_bn.cli.app import main

COMMANDS = sorted(getattr(get_command(main), "commands"))  # noqa: B009 (typer types it as a single command)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_no_types_of_python(command):
    text = ok(command, "--help").stdout
    assert not re.search(r"<[a-z]|\b(list\[|str\b|int range|float range|TEXT|INTEGER)", text)


def test_values_are_named_by_what_they_are():
    text = " ".join(ok("show", "--help").stdout.split())
    for words in (
        "--data PATH",
        "--why NAME NAME",
        "--given NAME,NAME",
        "--parents NAME",
        "--reversible Print",
    ):
        assert words in text
    text = " ".join(ok("learn", "--help").stdout.split())
    for words in ("--max-seconds NUMBER", "--max-indegree NUMBER|auto", "--out PATH"):
        assert words in text


def test_the_list_of_commands_has_whole_sentences(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    listed = ok("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed[:3]] == ["learn", "show", "query"]
    assert len(listed) == len(COMMANDS)
    assert all(line.endswith((".", "?")) and not line.endswith("...") for line in listed)


@pytest.mark.parametrize("command", ["learn", "front"])
def test_help_shows_at_most_15_options_and_help_all_shows_the_rest(command):
    short, whole = (
        re.findall(r"^  (?:-\w, )?(--[\w-]+)", ok(command, asked).stdout.partition("Arguments:")[2], re.M)
        for asked in ("--help", "--help-all")
    )
    assert len(short) <= 15
    assert {"--out", "--max-seconds", "--help", "--help-all"} <= set(short) < set(whole)
    assert len(whole) > 45
    headings = re.findall(r"^([A-Z][a-z ]+):$", ok(command, "--help").stdout, re.M)
    assert headings[1:] == ["Common", "Knowledge", "Reading a table", "Search"]
