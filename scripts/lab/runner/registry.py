"""All experiments by name."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from gomea_bn.errors import GomeaBnError, nearest
from lab.runner.experiment import Experiment

_MODULES = {
    "published": "random_networks moved_cuts fronts chen topdown search_engine monti mgcd confidence",
    "peers": "learning held_out skeletons large_tables missing_values discretizers fronts search search_parts "
    "optimisers certainty graph_tests generated_rows answers intervals truth scores kept pairs inference "
    "prediction clinical causal_effects",
    "scaling": "rows scale",
}


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return all experiments by name, in the order in which `all` runs the published ones."""
    return MappingProxyType(
        {
            item.name: item
            for folder, modules in _MODULES.items()
            for module in modules.split()
            for item in import_module(f"lab.{folder}.{module}").EXPERIMENTS
        }
    )


def experiment(name: str) -> Experiment:
    """Return the experiment of a name; an unknown name is a `GomeaBnError`."""
    by_name = experiments()
    if name not in by_name:
        known = ", ".join(by_name)
        raise GomeaBnError(f"Unknown experiment {name!r}; known are {known}.{nearest(name, by_name)}")
    return by_name[name]
