"""Calls of the commands: in this process, and in a process of their own."""

import subprocess
import sys
import sysconfig
from pathlib import Path

from typer.testing import CliRunner, Result

from gomea_bn.cli import main

COMMAND = str(Path(sysconfig.get_path("scripts")) / "gomea-bn")
# runs a command whose learner says on standard error when its first generation is done
_ANNOUNCING = """
import sys
from gomea_bn import BayesNetLearner, ParetoBayesNetLearner

def announcing(fit):
    def announced_fit(learner, *arguments, **options):
        generations = []

        def announce(progress):
            if not generations:
                print("First generation done", file=sys.stderr, flush=True)
            generations.append(progress)

        learner.callback = announce
        return fit(learner, *arguments, **options)

    return announced_fit

for learner in (BayesNetLearner, ParetoBayesNetLearner):
    learner.fit = announcing(learner.fit)
from gomea_bn.cli.app import main
main(sys.argv[1:])
"""
_HELP = """
import sys
from gomea_bn.cli.app import main
try:
    main([sys.argv[1], "--help"])
except SystemExit:
    pass
print([name for name in ("numpy", "numba", "pandas", "scipy") if name in sys.modules], file=sys.stderr)
"""


RUN_FILES = {"network.json", "network.dot", "run.json"}
"""Files that every run of `learn` writes."""

QUICK = ["--max-evaluations", "2000", "--seed", "1"]
"""Options of a short search."""


def learn(*arguments: object) -> Result:
    """Return the result of the command `learn`."""
    return invoke("learn", *arguments)


def invoke(*arguments: object) -> Result:
    """Return what a command printed, and its exit code."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def ok(*arguments: object) -> Result:
    """Return what a command printed that must succeed."""
    result = invoke(*arguments)
    assert result.exit_code == 0, (arguments, result.stderr)
    return result


def refused(code: int, *arguments: object) -> str:
    """Return the one line that a command prints before it ends with this code."""
    result = invoke(*arguments)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def refused_last(code: int, *arguments: object) -> str:
    """Return the error of a command that prints notes before it ends with this code."""
    result = invoke(*arguments)
    assert result.exit_code == code, result.stderr
    return result.stderr.splitlines()[-1]


def heavy_imports_of_help(command: str) -> tuple[str, str]:
    """Return the help of a command, and the heavy libraries that a new process has imported to print it."""
    run = subprocess.run([sys.executable, "-c", _HELP, command], capture_output=True, text=True, check=True)
    return run.stdout, run.stderr.strip()


def searching(*arguments: object) -> subprocess.Popen[str]:
    """Start a command in a process of its own, and return it when the first generation of its search is done."""
    process = subprocess.Popen(
        [sys.executable, "-c", _ANNOUNCING, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    read_until(process, "First generation done")
    return process


def read_until(process: subprocess.Popen[str], words: str) -> None:
    """Read what a process prints on its standard error, up to the line that holds these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"'{words}' was never printed")
