"""Processes that end with the one that started them."""

import os
import signal
import subprocess
import sys

import pytest

# what a process says in a named pipe, which its readers see closed when it ends; it ends by itself at some time
_SPEAKING = """
import time
with open({path!r}, "w") as pipe:
    print("started", file=pipe, flush=True)
    time.sleep(600)
    print("still there", file=pipe)
"""
_PARENT = """
import signal
import sys
from gomea_bn.runtime.children import run_beside
run_beside(sys.argv[1])
signal.pause()
"""
_ENDING = """
import sys
from gomea_bn.runtime.children import run_beside
run_beside(sys.argv[1])
sys.stdin.readline()
"""
_POOL = """
import multiprocessing
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from gomea_bn.runtime.children import end_with_parent
if __name__ == "__main__":
    with ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn"), initializer=end_with_parent
    ) as executor:
        executor.submit(exec, sys.argv[1])
        signal.pause()
"""


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("parent", "number"),
    [
        (_PARENT, signal.SIGKILL),
        (_PARENT, signal.SIGTERM),
        (_PARENT, signal.SIGINT),
        (_POOL, signal.SIGKILL),
        (_POOL, signal.SIGTERM),
    ],
)
def test_a_process_ends_with_the_one_that_started_it(pipe, tmp_path, parent, number):
    script = tmp_path / "parent.py"
    script.write_text(parent)
    process = subprocess.Popen(
        [sys.executable, script, _SPEAKING.format(path=str(pipe))], stderr=subprocess.DEVNULL
    )
    with open(pipe) as said:
        assert said.readline() == "started\n"
        process.send_signal(number)
        assert said.read() == ""
    assert process.wait() != 0


def test_a_process_ends_with_one_that_has_done_its_work(pipe):
    process = subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", _ENDING, _SPEAKING.format(path=str(pipe))],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with open(pipe) as said:
        assert said.readline() == "started\n"
        _, warned = process.communicate(b"\n")
        assert said.read() == ""
    assert process.returncode == 0
    assert warned == b""
