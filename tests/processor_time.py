"""Limits on work that do not depend on what else the machine does, and Ctrl-C in the middle of a run."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time, sleep


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block takes as many seconds of processor time, over all threads of this process."""
    began = process_time()
    yield
    assert process_time() - began < seconds


def interrupt_the_next_run(after: float = 0.3) -> None:
    """Send Ctrl-C to this process some seconds after a run has begun to catch it."""
    former = signal.getsignal(signal.SIGINT)

    def send() -> None:
        while signal.getsignal(signal.SIGINT) is former:
            sleep(0.01)
        sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
