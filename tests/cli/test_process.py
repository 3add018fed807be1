"""The command as a process of its own: Ctrl-C, terminals, encodings, what it imports."""

import json
import os
import pty
import select
import signal
import subprocess
import sys

import pytest
from command_line import COMMAND, QUICK, RUN_FILES, heavy_imports_of_help, read_until, searching

from gomea_bn import BayesNetLearner, DiscretizedBayesNet


@pytest.mark.long
def test_ctrl_c_while_compiling_ends_the_process(table, tmp_path):
    script = """
import sys, threading, time
import gomea_bn.learning.warm_up
from gomea_bn.cli.app import main

def compile_slowly(announce, **_options):
    functions = []
    while "join" not in functions:  # the main thread waits for this one
        time.sleep(0.01)
        frame, functions = sys._current_frames()[threading.main_thread().ident], []
        while frame:
            functions.append(frame.f_code.co_name)
            frame = frame.f_back
    announce("Compiling kernels")
    time.sleep(600)

gomea_bn.learning.warm_up.compile_kernels = compile_slowly
main(["learn", sys.argv[1], "--out", sys.argv[2]])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, table, tmp_path / "out"], stderr=subprocess.PIPE, text=True
    )
    read_until(process, "Compiling")
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Interrupted while compiling" in rest
    assert not (tmp_path / "out").exists()


def test_ctrl_c_keeps_the_best_so_far(table, rows, tmp_path):
    out = tmp_path / "run"
    process = searching(
        "learn", table, "--max-seconds", "120", "--patience", "0", "--seed", "5", "--out", out
    )
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    assert "Interrupted: this is the best network found so far." in stderr
    assert "Traceback" not in stderr
    assert "Stopped by interrupt" in stdout
    record = json.loads((out / "run.json").read_text())
    assert record["stopped_by"] == "interrupt"
    evaluations = record["counts"]["n_eval"]
    assert f"--seed 5 --max-evaluations {evaluations} --max-seconds 0" in stdout
    again = BayesNetLearner(
        max_seconds=None, patience=None, max_evaluations=evaluations, random_state=5, n_jobs=1
    ).fit(rows)
    assert again.network_ == DiscretizedBayesNet.from_json(out / "network.json")


@pytest.mark.long
def test_sigterm_keeps_the_best_so_far(table, tmp_path):
    out = tmp_path / "run"
    process = searching("learn", table, "--max-seconds", "120", "--patience", "0", "--out", out)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 143, stderr
    assert "Interrupted: this is the best network found so far." in stderr
    assert json.loads((out / "run.json").read_text())["stopped_by"] == "interrupt"
    assert DiscretizedBayesNet.from_json(out / "network.json").names


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_files_are_written_changes_nothing(table, tmp_path, number):
    script = """
import atexit, os, sys
import gomea_bn.cli.commands.learn as module
from gomea_bn.cli.app import main

number = int(sys.argv.pop(1))
learn = module._learn

def kill(kill=os.kill, process=os.getpid()):
    kill(process, number)

def learn_and_signal(*arguments, **options):
    learn(*arguments, **options)
    kill()

class Last:  # its end is after that of all handlers
    def __del__(self, kill=kill):
        kill()

last = Last()
atexit.register(kill)
module._learn = learn_and_signal
main()
"""
    out = tmp_path / "out"
    command = [sys.executable, "-c", script, str(int(number)), "learn", table, *QUICK, "--out", out]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "nterrupt" not in run.stderr.replace("Ctrl-C", "")
    assert f"Wrote {out / 'network.json'}" in run.stderr


def run_with_closed(stream: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Return a run of the command without a standard stream, such as ">&-"."""
    command = ["sh", "-c", f'"$@" {stream}', "sh", COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_closed_standard_output_is_one_line_and_no_loss(table, tmp_path):
    out = tmp_path / "out"
    closed = "Error: cannot write the output: standard output is closed.\n"
    learned = run_with_closed(">&-", "learn", table, *QUICK, "--quiet", "--out", out)
    assert (learned.returncode, learned.stderr) == (1, closed)
    assert {path.name for path in out.iterdir()} == RUN_FILES
    shown = run_with_closed(">&-", "show", out)
    assert (shown.returncode, shown.stderr) == (1, closed)
    # a command that prints nothing there
    exported = run_with_closed(">&-", "export", out, "--out", tmp_path / "a.json")
    assert (exported.returncode, exported.stderr) == (0, f"Wrote {tmp_path / 'a.json'}.\n")


@pytest.mark.long
def test_a_closed_standard_error_loses_messages_only(table, tmp_path):
    out = tmp_path / "out"
    learned = run_with_closed("<&- 2>&-", "learn", table, *QUICK, "--out", out)
    assert learned.returncode == 0
    assert "Stopped by" in learned.stdout
    assert DiscretizedBayesNet.from_json(out / "network.json").names
    assert run_with_closed("2>&-", "show", tmp_path / "absent").returncode == 3


def test_a_broken_standard_error_loses_messages_only(table, tmp_path):
    out = tmp_path / "out"
    command = [COMMAND, "learn", str(table), *QUICK, "--out", str(out)]
    reading, writing = os.pipe()
    os.close(reading)
    learned = subprocess.run([str(part) for part in command], stderr=writing, stdout=writing)
    os.close(writing)
    assert DiscretizedBayesNet.from_json(out / "network.json").names
    assert learned.returncode in (0, 1)


@pytest.mark.long
def test_a_terminal_gets_the_live_table(table):
    controller, theirs = pty.openpty()
    command = [COMMAND, "learn", str(table), "--max-seconds", "0.5", "--patience", "0", "--jobs", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    seen = b""
    while select.select([controller], [], [], 600)[0]:
        try:
            chunk = os.read(controller, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(controller)
    stdout, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert b"families/s" in seen
    assert "families/s" not in stdout


@pytest.mark.long
def test_names_that_the_terminal_cannot_show_are_escaped(rows, tmp_path):
    path = tmp_path / "rows.csv"
    rows.rename(columns={"a": "größe"}).to_csv(path, index=False)
    environment = {**os.environ, "PYTHONIOENCODING": "iso8859-5"}  # Cyrillic: it lacks umlauts and arrows
    run = subprocess.run(
        [COMMAND, "learn", path, "--max-evaluations", "500"],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for text in (run.stdout, run.stderr):
        assert rb"gr\xf6\xdfe" in text


@pytest.mark.parametrize(("command", "option"), [("learn", "--require"), ("front", "--max-complexity")])
def test_help_imports_nothing_heavy(command, option):
    text, imported = heavy_imports_of_help(command)
    assert imported == "[]"
    assert option in text
