"""How often Python looks for objects that refer to each other."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# new objects between two looks; modules are made of many objects, which all stay
_OBJECTS = 100_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely during the block: a command imports for a second, a sixth of which was such looks.

    A process that never looks, with a threshold of 0, goes on not to look.
    """
    usual = gc.get_threshold()
    gc.set_threshold(usual[0] and max(_OBJECTS, usual[0]), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
