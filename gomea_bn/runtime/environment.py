"""Facts for records: the machine, versions of libraries, digests of files; and limits that the environment sets."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gomea_bn.errors import GomeaBnError

# libraries on which numerical results depend
_COMPUTING = ("numpy", "numba", "llvmlite", "scipy", "pandas")
_MOST_DIGITS = 18


def environment_limit(variable: str, default: int, unit: str) -> int:
    """Return a limit that an environment variable sets, which must be a positive integer."""
    text = os.environ.get(variable, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS or int(text) == 0:
        raise GomeaBnError(
            f"The environment variable {variable} must be a positive number of {unit}, got {text!r:.80}."
        )
    return int(text)


def environment() -> dict[str, Any]:
    """Return the versions of numerical libraries and the machine, for records."""
    return {
        "versions": {
            "gomea-bn": installed_version("gomea-bn"),
            "python": platform.python_version(),
            **{name: installed_version(name) for name in _COMPUTING},
        },
        "machine": {"platform": platform.platform(), "cpu": cpu_name(), "cores": os.cpu_count()},
    }


def installed_version(distribution: str) -> str | None:
    """Return the version of a distribution, None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal text."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cpu_name() -> str:
    """Return the processor's name from the operating system."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
