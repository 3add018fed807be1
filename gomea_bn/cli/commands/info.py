"""The command `info`: print versions, cores, the folder of compiled kernels, and optional libraries."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from gomea_bn import __version__
from gomea_bn.cli.output import say

_OPTIONAL = ("pyagrum", "pgmpy", "networkx", "scikit-learn", "pyarrow")
_REQUIRED = ("numpy", "numba", "scipy", "pandas", "pymoo", "rich", "typer", "platformdirs")


def info(as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> None:
    """Print versions, cores, the folder of compiled kernels, and the optional libraries that are installed."""
    import platform

    from gomea_bn.runtime.environment import cpu_name, installed_version
    from gomea_bn.runtime.jit import kernel_cache_dir, kernels_are_cached
    from gomea_bn.runtime.threads import thread_count

    folder = kernel_cache_dir()
    facts = {
        "gomea-bn": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": thread_count(-1),
        "kernel_cache": str(folder),
        "kernels_compiled": kernels_are_cached(),
        "required": {name: installed_version(name) for name in _REQUIRED},
        "optional": {name: installed_version(name) for name in _OPTIONAL},
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    state = "compiled" if facts["kernels_compiled"] else "not compiled yet: the first run compiles them, once"
    lines = [
        f"gomea-bn {__version__}, Python {facts['python']}, {facts['platform']}",
        f"{facts['cpu']}, {facts['cores']} cores for threads",
        f"kernels: {folder} ({state})",
        "libraries: " + ", ".join(f"{name} {installed_version(name)}" for name in _REQUIRED),
        "optional: "
        + ", ".join(f"{name} {installed_version(name) or 'not installed'}" for name in _OPTIONAL),
    ]
    say("\n".join(lines), to_error=False)
