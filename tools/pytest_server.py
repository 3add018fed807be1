"""Run pytest again and again in forks of one process that has imported the libraries, which saves most of a short run.

Every line of standard input is a request: JSON with the arguments of pytest, further environment variables, the file
for the output, and the limit in seconds. The answer is a line with pytest's exit code. A run that exceeds the limit
has failed. The code under test is imported in the forks alone, so a fork sees it as it is at that moment.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

_LIBRARIES = (
    "hypothesis",
    "numpy",
    "numba",
    "pandas",
    "pytest",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "typer",
)
_FAILED = 1


def _run(request: dict[str, Any]) -> None:
    """Run pytest in a fork and end it with the exit code."""
    code = _FAILED
    try:
        # a group of its own, so that processes that tests start can be ended as well
        os.setsid()
        os.environ.update(request["environment"])
        output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output, stream.fileno())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = int(import_module("pytest").main(request["arguments"]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _code_of(child: int, limit: float | None) -> int:
    """Return the exit code of a fork, which is ended after `limit` seconds."""
    began = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else _FAILED
        if limit is not None and time.monotonic() - began > limit:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return _FAILED
        time.sleep(0.02)


def main() -> None:
    """Answer requests until the input ends."""
    for library in _LIBRARIES:
        with suppress(ImportError):
            import_module(library)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(request)
        print(_code_of(child, request["limit"]), flush=True)


if __name__ == "__main__":
    main()
