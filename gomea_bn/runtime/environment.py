"""Facts for records: the machine, versions of libraries, digests of files."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gomea_bn.runtime.sources import __version__, source_digest


def environment() -> dict[str, Any]:
    """Return the versions of numerical libraries, the digest of this package's sources and the machine, for records."""
    # libraries on which numerical results depend
    return {
        "versions": {
            "gomea-bn": __version__,
            "python": platform.python_version(),
            **{name: installed_version(name) for name in ("numpy", "numba", "llvmlite", "scipy", "pandas")},
        },
        "sources": source_digest(),
        "machine": machine(),
    }


def machine() -> dict[str, Any]:
    """Return the operating system, the processor and the number of its cores."""
    return {"platform": platform.platform(), "cpu": cpu_name(), "cores": os.cpu_count()}


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
