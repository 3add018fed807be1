"""Which code this is: its version, its sources, and a digest of them."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

__version__ = "0.3.0.dev0"

_PACKAGE = Path(__file__).resolve().parent.parent


def package_sources(root: Path = _PACKAGE) -> dict[str, bytes]:
    """Return the source of every module of the package by its dotted name, the linked folders included.

    Lines end in a line feed, also where a checkout has other ends, so that all copies of one source are equal.
    """
    sources = {}
    for folder, names, files in os.walk(root, followlinks=True):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for file in sorted(files):
            if file.endswith(".py"):
                path = Path(folder) / file
                parts = ("gomea_bn", *path.relative_to(root).with_suffix("").parts)
                text = path.read_bytes().replace(b"\r\n", b"\n")
                sources[".".join(parts).removesuffix(".__init__")] = text
    return sources


@cache
def source_digest() -> str:
    """Return 16 hexadecimal digits that change with the text of any module of the package, wherever it lies.

    Between two releases many states of the code share a version; this digest tells them apart in records and files.
    The modules are read on the first call. Modules that are edited while the process runs do not change it.
    """
    return digest_of(package_sources())


def digest_of(sources: dict[str, bytes]) -> str:
    """Return the first hexadecimal digits of the digest of sources by the names of their modules."""
    digest = hashlib.sha256()
    for name, text in sorted(sources.items()):
        digest.update(f"{name} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()[:16]
