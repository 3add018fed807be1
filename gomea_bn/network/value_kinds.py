"""Kinds of the values of columns, such as integers and dates, and drawn or computed numbers as such values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Column
from gomea_bn.data.dates import DAYS, is_time_zone, source_name, unit_of
from gomea_bn.errors import GomeaBnError, check_flag, check_number, nearest
from gomea_bn.texts import listed, shown_name

LEFT_OUT_COLUMNS = "left_out_columns"
"""Key in the metadata of learned networks: reasons by the names of columns that were left out of the table."""

READ_FORMS = "read_forms"
"""Key in the metadata of learned networks: forms by the names of columns whose numbers were texts, such as 12 mg."""

READ_DECIMAL = "read_decimal"
"""Key in the metadata of learned networks: the decimal mark of these texts, if the table decided one."""

VALUES = ("own", "grid", "numbers")
"""Ways to return values: of the column's own kind, also on its measuring grid, or the numbers of the network."""

MOST_DECIMALS = 6


@dataclass(frozen=True)
class ValueKind:
    """What the values of a column are, apart from being numbers or levels.

    Attributes
    ----------
    is_integer : bool
        Whether a continuous column was stored as integers.
    step : float or None
        Step of the grid that a continuous column was measured on: all values are the smallest one plus multiples of it.
    is_ordered : bool
        Whether the levels of a discrete column are ordered.
    time_zone : str or None
        Name of the time zone of dates, such as "Europe/Berlin" or "UTC+02:00"; None for dates without one.
    dtype : str
        Name of the type of pandas that the values had, such as "int8"; empty for numbers of 64 bits, for categoricals
        and where there was none. It says how values are stored, so that kinds are equal whatever it is.
    """

    is_integer: bool = False
    step: float | None = None
    is_ordered: bool = False
    time_zone: str | None = None
    dtype: str = field(default="", compare=False)

    @classmethod
    def of(cls, column: Column) -> ValueKind:
        """Return the kind of the values of a column of a table."""
        if not column.is_continuous:
            return cls(is_ordered=column.ordered, dtype=column.dtype)
        step = measuring_step(column.observed)
        dtype = (
            "" if column.dtype in ("int64" if column.is_integer else "float64", "object") else column.dtype
        )
        return cls(column.is_integer, step, time_zone=column.time_zone, dtype=dtype)

    @classmethod
    def from_content(cls, content: Any) -> ValueKind:
        """Return the kind that a JSON value describes; raises `GomeaBnError` for any other value."""
        names = {"integer": "is_integer", "step": "step", "ordered": "is_ordered"}
        names |= {name: name for name in ("time_zone", "dtype")}
        if not isinstance(content, Mapping) or not set(content) <= set(names):
            raise GomeaBnError(f"values must be an object with {', '.join(names)}, got {content!r:.80}.")
        kind = cls(**{names[key]: value for key, value in content.items()})
        check_flag("values: integer", kind.is_integer)
        check_flag("values: ordered", kind.is_ordered)
        check_number("values: step", kind.step, 0, above=True, optional=True)
        if not isinstance(kind.dtype, str):
            raise GomeaBnError(f"values: dtype must be a text, got {kind.dtype!r:.80}.")
        return kind

    def to_content(self) -> dict[str, Any]:
        """Return the kind as a JSON value, without what is absent."""
        content = {
            "integer": self.is_integer,
            "step": self.step,
            "ordered": self.is_ordered,
            "time_zone": self.time_zone,
            "dtype": self.dtype,
        }
        return {key: value for key, value in content.items() if value}


def _is_whole(scaled: NDArray[np.float64]) -> bool:
    """Return whether all values are integers but for rounding."""
    # relative error of decimal fractions as float64
    return bool((np.abs(scaled - np.rint(scaled)) <= 1e-12 * np.maximum(np.abs(scaled), 1)).all())


def measuring_step(values: NDArray[np.float64]) -> float | None:
    """Return the largest decimal step between all values, or None if they need more than six decimals."""
    # of most columns of real numbers the first values tell, without sorting them all
    with np.errstate(over="ignore", invalid="ignore"):
        # first values that show whether a column has a measuring step
        may_have_step = any(_is_whole(values[:1000] * 10.0**d) for d in range(MOST_DECIMALS + 1))
    if not may_have_step:
        return None
    distinct = np.unique(values)
    for decimals in range(MOST_DECIMALS + 1):
        scaled = distinct * 10.0**decimals
        whole = np.rint(scaled)
        if np.abs(whole).max() >= 2**53:
            return None
        if _is_whole(scaled):
            step = int(np.gcd.reduce((whole - whole[0]).astype(np.int64)))
            return step / 10**decimals if step else None
    return None


def value_kinds_of(columns: Mapping[str, Column]) -> dict[str, ValueKind]:
    """Return the kinds of columns by name, without those of real numbers and unordered levels."""
    kinds = {name: ValueKind.of(column) for name, column in columns.items()}
    return {name: kind for name, kind in kinds.items() if kind != ValueKind() or kind.dtype}


def check_value_kinds(
    kinds: Mapping[str, ValueKind] | None, names: tuple[str, ...], continuous: Mapping[str, Any]
) -> dict[str, ValueKind]:
    """Return the kinds by variable in column order; raises `GomeaBnError` for unknown variables and wrong kinds."""
    for name, kind in (kinds or {}).items():
        if name not in names:
            raise GomeaBnError(f"value_kinds: unknown variable {name!r}.")
        if not isinstance(kind, ValueKind):
            raise GomeaBnError(f"value_kinds['{name}'] must be a ValueKind, got {type(kind).__name__}.")
        if kind.is_ordered and name in continuous:
            raise GomeaBnError(f"value_kinds['{name}'] must not be ordered: the variable is continuous.")
        if (kind.is_integer or kind.step is not None) and name not in continuous:
            raise GomeaBnError(f"value_kinds['{name}'] must not be integers or have a step: it is discrete.")
        if kind.time_zone is not None and (name not in continuous or unit_of(name) != DAYS):
            raise GomeaBnError(f"value_kinds['{name}'] must not have a time zone: the variable is no date.")
        if kind.time_zone is not None and not is_time_zone(kind.time_zone):
            raise GomeaBnError(
                f"value_kinds['{name}'] has the time zone {kind.time_zone!r:.80}, which is unknown here.",
                ["install the package tzdata"],
            )
    return {name: kinds[name] for name in names if kinds and name in kinds}


def spellings(names: Sequence[str]) -> dict[str, str]:
    """Return the variable by every name that stands for it: its own name, and the name of its column of dates.

    A name of a column that two variables come from stands for none of them.
    """
    sources = [source_name(name) for name in names]
    of_columns = {
        source: name for source, name in zip(sources, names, strict=True) if sources.count(source) == 1
    }
    return of_columns | {name: name for name in names}


def unknown_variable(name: object, names: Sequence[str], metadata: Mapping[str, Any]) -> str:
    """Return the words for a name that no variable has: why its column was left out, a similar name, or all names.

    `names` and `metadata` are those of the network. The words begin in lower case and end a sentence.
    """
    left_out = metadata.get(LEFT_OUT_COLUMNS, {})
    if isinstance(name, str) and isinstance(left_out, Mapping) and name in left_out:
        return f"unknown variable {name!r:.80}: its column was left out of the table ({left_out[name]})."
    hint = nearest(str(name), spellings(names))
    if not hint:
        quoted = listed([f"'{shown_name(source_name(known))}'" for known in names], 10)
        hint = f" The network has {quoted}."
    return f"unknown variable {name!r:.80}.{hint}"
