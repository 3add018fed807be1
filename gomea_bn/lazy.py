"""Names that are imported on first use: public ones, pandas, and functions of higher packages that lower ones call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

__all__ = [
    "Deferred",
    "declared_names",
    "lazy_names",
    "need",
    "offer",
    "offered",
    "pd",
    "public_names",
    "usable_names",
]

# packages that may be absent, by the modules that need them
_NEEDED: dict[str, str] = {}
# modules of higher packages by the names of their functions that methods of lower ones call
_OFFERED: dict[str, str] = {}


class Deferred:
    """A module that is imported when one of its names is used; it keeps the names that were."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = Deferred("pandas")


def declared_names(source: str) -> dict[str, str]:
    """Return the module of every public name of a package, from the imports of its file that only type checkers see.

    The file has a block ``if TYPE_CHECKING:`` of lines ``from MODULE import NAME as NAME``.
    """
    return {
        name.asname: line.module
        for block in ast.parse(Path(source).read_bytes()).body
        if isinstance(block, ast.If)
        for line in block.body
        if isinstance(line, ast.ImportFrom) and line.module
        for name in line.names
        if name.asname
    }


def need(packages: Mapping[str, str]) -> None:
    """Make known which packages, that may be absent, modules need; called as `offer` is."""
    _NEEDED.update(packages)


def usable_names(homes: Mapping[str, str]) -> list[str]:
    """Return the public names that ``import *`` takes: all but those whose module needs an absent package.

    Asked for by name, these raise the error that says what to install.
    """
    absent = {home for home, package in _NEEDED.items() if find_spec(package) is None}
    return [name for name, home in homes.items() if home not in absent]


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose public names live in the modules that `homes` names."""

    def get_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def list_names() -> list[str]:
        return sorted(usable_names(homes))

    return get_attribute, list_names


def offer(homes: Mapping[str, str]) -> None:
    """Make functions of higher packages, whose modules `homes` names, known to lower ones, which call `offered`.

    `gomea_bn` itself does so, which stands above all of its packages and is imported before them.
    """
    _OFFERED.update(homes)


def offered(name: str) -> Callable[..., Any]:
    """Return a function of a higher package, imported now."""
    function: Callable[..., Any] = getattr(import_module(_OFFERED[name]), name)
    return function


def public_names(
    package: str, source: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package; `source` is that of `declared_names`."""
    homes = declared_names(source)
    return (*lazy_names(package, homes), usable_names(homes))
