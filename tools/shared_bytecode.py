"""One folder of bytecode for the processes that compile kernels, run tests, and are started by them."""

from __future__ import annotations

import os
import sys

from platformdirs import user_cache_path


def share_bytecode() -> None:
    """Read and write bytecode in that folder from now on, unless the environment names another one.

    Reading the sources of all libraries takes each process half a minute; pip is told not to do it for all of them.
    """
    if "PYTHONPYCACHEPREFIX" not in os.environ:
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(user_cache_path("gomea-bn") / "bytecode")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
