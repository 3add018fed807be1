"""Objects whose parts are set by their constructor and never change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

__all__ = ["Immutable"]


class Immutable:
    """A base class of objects with slots that are set once, by `_set_parts` in the constructor."""

    __slots__ = ()

    def _set_parts(self, parts: Mapping[str, object]) -> None:
        """Set slots by their names."""
        for slot, value in parts.items():
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(self._refusal())

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(self._refusal())

    def _refusal(self) -> str:
        name = type(self).__name__
        return f"{'An' if name[0] in 'AEIOU' else 'A'} {name} cannot be changed; make a new one."
