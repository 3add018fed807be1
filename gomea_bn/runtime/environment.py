"""Facts for records: the machine, versions of libraries, and digests of files."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["cpu_name", "environment", "file_digest", "installed_version"]

# libraries on which numerical results depend
_COMPUTING = ("numpy", "numba", "llvmlite", "scipy", "pandas")


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
