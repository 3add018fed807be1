"""What a column follows besides its tables, lines, mixtures and logits, as frozen parts that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError

_NAMES = ("parents", "groups")
_FLAGS = ("has_products", "in_units")
_NUMBERS = ("weight", "least_scale")
# one array for every parent
_LISTS = ("amounts", "knots", "product_knots")


class Parts:
    """Named parts that JSON can hold; a subclass is a frozen dataclass.

    The name of a field says what it is: `parents` and `groups` are names, `has_products` and `in_units` true or false,
    `weight` and `least_scale` numbers, `amounts`, `knots` and `product_knots` one array for every parent, `sums` parts
    of their own, and all others are arrays.
    """

    what: ClassVar[str]
    """Words for the object in messages."""
    kind: ClassVar[str | None] = None
    """Field "kind" of the object in JSON."""
    required: ClassVar[tuple[str, ...]]
    """Fields that JSON must have."""
    halves: ClassVar[tuple[str, ...]] = ()
    """Symmetric matrices, of which JSON has the upper half, row by row."""

    def to_content(self) -> dict[str, Any]:
        """Return the parts as values that JSON can hold."""
        content: dict[str, Any] = {} if self.kind is None else {"kind": self.kind}
        for part in fields(self):  # type: ignore[arg-type]
            value = getattr(self, part.name)
            if part.name in self.halves:
                value = value[..., *np.triu_indices(value.shape[-1])]
            content[part.name] = _plain(value)
        return content

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        what = cls.what
        if not isinstance(content, Mapping) or any(field not in content for field in cls.required):
            listed = ", ".join(cls.required)
            raise GomeaBnError(f"{what[0].upper()}{what[1:]} must be an object with the fields {listed}.")
        parts: dict[str, Any] = {}
        for name in [part.name for part in fields(cls) if part.name in content]:  # type: ignore[arg-type]
            value = content[name]
            if name in _NAMES and not (
                isinstance(value, list) and all(isinstance(one, str) for one in value)
            ):
                raise GomeaBnError(f"The {name} of {what} must be a list of names, got {value!r:.80}.")
            if name in _LISTS and not isinstance(value, list):
                raise GomeaBnError(f"The {name} of {what} must be a list of lists, got {value!r:.80}.")
            if name in _FLAGS and not isinstance(value, bool):
                raise GomeaBnError(f"{name} of {what} must be true or false, got {value!r:.80}.")
            try:
                parts[name] = _read(name, value)
            except (TypeError, ValueError, OverflowError) as error:
                raise GomeaBnError(f"The parts of {what} must be numbers: {error}.") from error
        return parts

    def _fix(self) -> bool:
        """Replace arrays by read-only copies, and return whether all of their numbers are finite."""
        arrays: list[NDArray[np.float64]] = []
        for part in fields(self):  # type: ignore[arg-type]
            value = getattr(self, part.name)
            if part.name in (*_NAMES, *_FLAGS, *_NUMBERS, "sums") or value is None:
                continue
            fixed: Any = tuple(map(_fixed, value)) if part.name in _LISTS else _fixed(value)
            object.__setattr__(self, part.name, fixed)
            arrays += fixed if part.name in _LISTS else (fixed,)
        return all(np.isfinite(array).all() for array in arrays)


class Followed(Parts):
    """Parts of what a column follows: a weight, the continuous and the discrete parents, and more."""

    @classmethod
    def from_content(cls, content: Any) -> Self:
        """Return what JSON values describe; raises `GomeaBnError` for others."""
        return cls(**cls.parts_of(content))


def symmetric(halves: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return symmetric matrices, float64 (..., n, n), given their upper halves (..., n * (n + 1) / 2)."""
    matrices = np.empty((*halves.shape[:-1], n, n))
    rows, columns = np.triu_indices(n)
    matrices[..., rows, columns] = halves
    matrices[..., columns, rows] = halves
    return matrices


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _read(name: str, value: Any) -> Any:
    if name in _NAMES:
        return tuple(value)
    if name in _FLAGS or name == "sums":
        return value
    if name in _NUMBERS:
        return float(value)
    if name in _LISTS:
        return tuple(np.array(of_parent, np.float64).reshape(-1) for of_parent in value)
    return np.array(value, np.float64)


def _fixed(numbers: ArrayLike) -> NDArray[np.float64]:
    copied = np.array(numbers, np.float64)
    copied.flags.writeable = False
    return copied
