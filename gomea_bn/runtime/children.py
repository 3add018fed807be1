"""Processes that end with the one that started them, however that one ends."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_FIRST = "from gomea_bn.runtime.children import end_with_parent; end_with_parent(); "


@contextmanager
def running_meanwhile(code: str) -> Iterator[None]:
    """Run Python code in another process during the block; it ends with the block or with this process."""
    # the pipe is closed when this process ends, also when it is killed
    process = subprocess.Popen(
        [sys.executable, "-c", _FIRST + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
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
