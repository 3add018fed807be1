"""The former place of the published experiments, which are in the repository: `scripts/lab`.

From a checkout the former modules are forwarded with a warning. This package leaves with the next version.
"""

from __future__ import annotations

import sys

from gomea_bn.cli.commands.installation import laboratory
from gomea_bn.errors import GomeaBnError, give_warning

_RUNNER = ("cluster", "experiment", "page", "registry", "report", "results", "run", "statistics")
_PUBLISHED = (
    "algorithms",
    "blanket",
    "chen",
    "confidence",
    "fronts",
    "judge",
    "mgcd",
    "monti",
    "moved_cuts",
    "random_networks",
    "search_engine",
    "tables",
    "topdown",
)
_HOMES = {
    "runner": "runner",
    **{f"runner.{name}": f"runner.{name}" for name in _RUNNER},
    **{name: f"published.{name}" for name in _PUBLISHED},
    "published": "published.printed",
}

give_warning(
    "gomea_bn.experiments has moved to scripts/lab of the repository; gomea-bn bench runs it.",
    DeprecationWarning,
)
try:
    for _name, _home in _HOMES.items():
        _module = laboratory(_home)
        sys.modules[f"{__name__}.{_name}"] = _module
        if "." not in _name:
            globals()[_name] = _module
except GomeaBnError as _error:
    raise ImportError(f"gomea_bn.experiments has moved. {_error}") from None
