"""Names of temporary files and folders, by which another process sees whether the process that made them has ended."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets


def process_mark() -> str:
    """Return a text for the name of a temporary entry: this process, this machine, and a random part."""
    return f"{os.getpid()}-{_host()}-{secrets.token_hex(4)}"


def is_left_over(mark: str) -> bool:
    """Return whether the process that made a text by `process_mark` has surely ended.

    A process of another machine, or one that cannot be asked for, may still run.
    """
    number, _, rest = mark.partition("-")
    # elsewhere a signal of number 0 would end the process
    if os.name != "posix" or not number.isascii() or not number.isdigit() or not rest.startswith(_host()):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, ValueError):
        return False
    return False


def _host() -> str:
    """Return a short name of this machine: numbers of processes mean nothing on another one."""
    return hashlib.sha256(platform.node().encode(errors="surrogateescape")).hexdigest()[:8]
