"""The one exception that users catch, and the checks of numbers that options share."""

from __future__ import annotations

from numbers import Integral, Real
from sys import float_info

__all__ = ["GomeaBnError", "is_integer", "is_real"]


class GomeaBnError(ValueError):
    """Raised for input that cannot be used; the message names the column, row or option concerned."""


def is_integer(value: object) -> bool:
    """Return whether a value is an integer, NumPy's included; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Return whether a value is a real number, NumPy's included; True, False and integers beyond float64 are not."""
    if isinstance(value, bool) or (isinstance(value, Integral) and abs(int(value)) > float_info.max):
        return False
    return isinstance(value, Real)
