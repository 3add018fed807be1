"""The command as a whole: its help, its launchers, its output, and the demonstration."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from command_line import QUICK, invoke, learn, ok, refused
from typer.main import get_command

import gomea_bn
from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.cli import main
from gomea_bn.cli.commands.front import _what_next
from gomea_bn.cli.named_networks import ending_of
from gomea_bn.cli.output import FAILED, WRONG_USE, check_targets, check_writable, fail
from gomea_bn.errors import Setting
from gomea_bn.front.decision import Decision
from gomea_bn.metrics import histogram_baseline


def test_no_command_shows_the_help_and_a_wrong_one_is_refused():
    assert "learn" in invoke().stdout
    assert invoke("--version").stdout == f"gomea-bn {gomea_bn.__version__}\n"
    assert "lern" in refused(2, "lern")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["learn", "a.csv", "--seed", "1", "--seed", "2"], "--seed is given twice, with '1' and '2'; give it once."),
        (["export", "run", "--out=a", "-o", "b"], "--out is given twice, with 'a' and 'b'"),
        (["show", "run", "--why", "a", "b", "--why", "b", "c"], "--why is given twice, with 'a b' and 'b c'"),
        (["query", "run", "--target", "a", "--n-draws", "5", "--given", "b=1", "--n-draws", "5"], "--n-draws is given"),
    ],
)  # fmt: skip
def test_an_option_of_one_value_is_given_once(arguments, error):
    assert error in refused(2, *arguments)


def test_options_that_repeat_and_flags_may_be_given_again(table, rows):
    first, second, *_ = rows.columns
    edges = ["--forbid", f"{first},{second}", "--forbid", f"{second},{first}"]
    ok("learn", table, "--max-evaluations", "20", "--quiet", "--quiet", *edges)


def test_an_unknown_column_of_rules_names_their_file(table, tmp_path):
    file = tmp_path / "decision.json"
    known = pd.read_csv(table).columns[0]
    for name, option in (("required", "--require"), ("forbidden", "--forbid")):
        edges: Any = {f"{name}_edges": ((known, "nowhere"),)}
        file.write_text(Decision(None, 0, "2026-11-05", **edges).to_json(), encoding="utf-8")
        of_file, of_text = ("--rules", file), (option, f"{known},nowhere")
        for given, blamed in (
            (of_file, "--rules"),
            (of_text, option),
            ((*of_text, *of_file), f"{option} or --rules"),
        ):
            result = learn(table, *given)
            assert result.exit_code == 2
            assert f"\nError: {blamed}" in result.stderr, result.stderr
            assert "'nowhere'" in result.stderr.splitlines()[-1]


@pytest.mark.long
def test_the_launcher_is_the_same_command(table, capsys):
    script = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "run_so.py"))
    with pytest.raises(SystemExit) as ended:
        script["main"]([str(table), *QUICK, "--quiet"])
    assert ended.value.code == 0
    printed, errors = capsys.readouterr()
    assert errors == ""
    same = [line for line in learn(table, *QUICK, "--quiet").stdout.splitlines() if "Stopped" not in line]
    assert [line for line in printed.splitlines() if "Stopped" not in line] == same


@pytest.mark.long
def test_the_demo_says_what_the_network_is_worth(tmp_path, capsys):
    demo = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "demo_wine.py"))
    demo["main"](["--out", str(tmp_path / "wine"), "--seconds", "0.3"])
    printed = capsys.readouterr().out
    assert {path.name for path in (tmp_path / "wine").iterdir()} == {
        "network.json",
        "network.bif",
        "network.dot",
    }
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
    ok(command, table, *arguments, "--quiet")
    assert read == [200, None]  # first lines, then the rows


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
    printed = ok("--help").stdout
    assert re.findall(r"^([A-Z]\w+):$", printed, re.M) == [
        "Options",
        "Learn",
        "Ask",
        "Judge",
        "Choose",
        "Move",
    ]
    listed = [line for line in printed.partition("Learn:\n")[2].splitlines() if line.startswith("  ")]
    assert sorted(line.split()[0] for line in listed) == COMMANDS
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


ENDING = """
import gc, sys
gc.freeze = lambda: print("frozen")
from gomea_bn.cli.app import main
main(eval(sys.argv.pop(1)))
"""


@pytest.mark.parametrize(("arguments", "said"), [("None", ["frozen"]), ('["--version"]', [])])
def test_only_a_command_that_ends_its_process_leaves_the_last_garbage(arguments, said):
    run = subprocess.run(
        [sys.executable, "-c", ENDING, arguments, "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[1:] == said


def test_a_statement_about_a_column_named_like_an_option_is_advised_on():
    for text in ("--given>0", "--crp in 2..5"):
        said = invoke("query", "run", "--target", "x", "--given", "x=1", text).output
        assert f"No such option: {text}. A value that begins with dashes follows an equals sign" in said
