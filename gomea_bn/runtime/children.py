"""Processes that end with the one that started them, however that one ends."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import threading

_FIRST = "from gomea_bn.runtime.children import end_with_parent; end_with_parent(); "


def run_beside(code: str) -> None:
    """Run Python code in another process, which ends with this one at the latest."""
    # the pipe is closed when this process ends, also when it is killed
    process = subprocess.Popen(
        [sys.executable, "-c", _FIRST + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # the reference keeps the pipe open
    atexit.register(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def end_with_parent() -> None:
    """End this process as soon as the process that started it has ended.

    That is the process that made it by `multiprocessing`, or else the one that writes to its standard input.
    """
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        else:
            # the file is not sys.stdin, whose lock would be held at the end of the interpreter
            while os.read(0, 1024):
                pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
