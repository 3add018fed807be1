"""Digests of functions: of their code, their constants, and the kernels that they call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np


def fingerprint(*functions: Callable[..., Any]) -> str:
    """Return a digest that changes with the code and constants of functions and of the kernels that they call.

    Constants are global and enclosed numbers, texts, tuples and arrays, whose values compiling freezes.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    for function in functions:
        for part in _parts(function, seen):
            digest.update(part)
    return digest.hexdigest()


def _parts(function: Callable[..., Any], seen: set[int]) -> Iterator[bytes]:
    plain = getattr(function, "py_func", function)
    if id(plain) in seen or not hasattr(plain, "__code__"):
        return
    seen.add(id(plain))
    yield from _code_parts(plain.__code__)
    values = {name: plain.__globals__[name] for name in plain.__code__.co_names if name in plain.__globals__}
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        values[name] = cell.cell_contents
    for name, value in sorted(values.items()):
        if isinstance(value, np.ndarray):
            yield f"{name} {value.dtype} {value.shape}".encode() + value.tobytes()
        elif isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic)):
            yield f"{name} {value!r}".encode()
        elif callable(value) and not (getattr(value, "__module__", "") or "").startswith(
            ("gomea_bn.", "numpy")
        ):
            yield from _parts(value, seen)


def _code_parts(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(constant).encode()
