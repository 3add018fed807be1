"""All experiments by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.experiments.runner.experiment import Experiment

__all__ = ["experiment", "experiments"]

_MODULES = (
    "random_networks",
    "moved_cuts",
    "fronts",
    "chen",
    "topdown",
    "search_engine",
    "monti",
    "mgcd",
    "confidence",
)


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return all experiments by name, in the order in which `all` runs them."""
    return MappingProxyType(
        {
            item.name: item
            for module in _MODULES
            for item in import_module(f"gomea_bn.experiments.{module}").EXPERIMENTS
        }
    )


def experiment(name: str) -> Experiment:
    """Return the experiment of a name.

    Raises
    ------
    GomeaBnError
        For an unknown name.
    """
    by_name = experiments()
    if name not in by_name:
        raise GomeaBnError(
            f"Unknown experiment {name!r}; known are {', '.join(by_name)}.{nearest(name, by_name)}"
        )
    return by_name[name]
