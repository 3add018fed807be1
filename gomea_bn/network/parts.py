"""The parts of a network, which its constructor sets and nothing changes: their types, and checks of what is given.

Kinds of the values of columns are here, too. Each check returns its part in the stored form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import LEAST_RANGE, Column, Level
from gomea_bn.data.dates import DAYS, is_time_zone, source_name, unit_of
from gomea_bn.errors import GomeaBnError, check_flag, check_number, is_real, nearest
from gomea_bn.network.graph import topological_order
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems.cuts.shape import MASS_TOLERANCE, Shape
from gomea_bn.texts import listed, shown_name


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


class WithEdges(Protocol):
    """An object with edges."""

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) pairs."""


class WithTables(WithEdges, Protocol):
    """The graph, the bins and the tables of a discretized network; `DiscretizedBayesNet` documents them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables in column order."""

    @property
    def cut_points(self) -> dict[str, NDArray[np.float64]]:
        """Inner cut points by continuous variable."""

    @property
    def support(self) -> dict[str, tuple[float, float]]:
        """(minimum, maximum) by continuous variable."""

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Distributions inside the bins by continuous variable; variables without an entry are uniform there."""

    @property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Values by discrete variable, in code order."""

    @property
    def tables(self) -> Mapping[str, NDArray[np.float64]]:
        """P(name | parents) by variable."""

    @property
    def stored_tables(self) -> Mapping[str, NDArray[np.float64]]:
        """Those tables that the network holds; others are computed from its conditionals."""

    @property
    def value_kinds(self) -> Mapping[str, ValueKind]:
        """Kinds of values, such as integers, by variable."""

    @property
    def pseudo_count(self) -> PseudoCount | None:
        """Smoothing of the tables, None if unknown."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Further values that JSON can hold."""

    @property
    def adjacency_matrix(self) -> NDArray[np.int8]:
        """Matrix whose entry [i, j] is 1 for an edge from variable i to variable j."""

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that the network keeps."""

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the parents of a variable in column order."""

    def cardinality(self, name: str) -> int:
        """Return the number of bins or levels of a variable."""

    def bin_labels(self, name: str) -> tuple[str, ...]:
        """Return the bins or levels of a variable as text, in code order."""


def random_generator(
    random_state: int | np.random.SeedSequence | np.random.Generator | None,
) -> np.random.Generator:
    """Return the generator of a seed, or the given one; raises `GomeaBnError` for anything else."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(
            f"random_state must be a non-negative integer, a numpy generator or None, got {random_state!r}."
        ) from error


def variable_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the variables: at least one, not blank, without duplicates."""
    if isinstance(names, str):
        raise GomeaBnError(f"names must be a sequence of names, got the single text {names!r}.")
    checked = tuple(names)
    if not checked:
        raise GomeaBnError("A network must have at least one variable, got none.")
    for name in checked:
        if not isinstance(name, str) or not name.strip():
            raise GomeaBnError(f"Variable names must be text that is not blank, got {name!r}.")
    if len(set(checked)) < len(checked):
        duplicate = next(name for position, name in enumerate(checked) if name in checked[:position])
        raise GomeaBnError(f"Duplicate variable name '{duplicate}'; rename one.")
    return tuple(str(name) for name in checked)


def check_keys(mapping: Mapping[str, Any], keys: Sequence[str], names: Sequence[str], option: str) -> None:
    """Raise `GomeaBnError` for a mapping whose keys are not exactly the given variables among `names`."""
    if not isinstance(mapping, Mapping):
        raise GomeaBnError(f"{option} must map variable names to values, got {type(mapping).__name__}.")
    for name in mapping:
        if name not in names:
            raise GomeaBnError(f"{option}: unknown variable {name!r}.{nearest(str(name), names)}")
        if name not in keys:
            kind = "continuous" if option == "levels" else "discrete"
            raise GomeaBnError(f"{option} must not have an entry for '{name}', which is {kind}.")
    for name in keys:
        if name not in mapping:
            raise GomeaBnError(f"{option} must have an entry for '{name}', got none.")


def check_support(support: object, name: str) -> tuple[float, float]:
    """Return (min, max) of a continuous variable: finite, min < max, with a difference that densities can have."""
    try:
        low, high = (float(value) for value in support)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"support['{name}'] must be two numbers (min, max), got {support!r}.") from error
    if not (np.isfinite(high - low) and low < high):
        raise GomeaBnError(f"support['{name}'] must be finite with min < max, got ({low!r}, {high!r}).")
    if high - low < LEAST_RANGE:
        raise GomeaBnError(
            f"support['{name}'] must be at least {LEAST_RANGE:g} wide, got ({low!r}, {high!r}).",
            ["rescale it"],
        )
    return low, high


def check_cut_points(cuts: ArrayLike, name: str, support: tuple[float, float]) -> NDArray[np.float64]:
    """Return the inner cut points, float64 (n_bins - 1,): strictly increasing, strictly inside the support."""
    try:
        checked = np.array(cuts, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"cut_points['{name}'] must be numbers, got {cuts!r}.") from error
    if checked.ndim != 1:
        raise GomeaBnError(f"cut_points['{name}'] must be one-dimensional, got shape {checked.shape}.")
    if not np.isfinite(checked).all():
        raise GomeaBnError(f"cut_points['{name}'] must be finite, got {checked.tolist()}.")
    not_increasing = np.flatnonzero(np.diff(checked) <= 0)
    if not_increasing.size:
        first, second = checked[not_increasing[0]].item(), checked[not_increasing[0] + 1].item()
        raise GomeaBnError(f"cut_points['{name}'] must increase strictly, got {first!r} before {second!r}.")
    low, high = support
    outside = checked[(checked <= low) | (checked >= high)]
    if outside.size:
        raise GomeaBnError(
            f"cut_points['{name}'] must lie inside the support ({low!r}, {high!r}), got {outside[0].item()!r}; a cut "
            "point there would leave a bin without width."
        )
    return checked


def check_shapes(
    shapes: Mapping[str, Shape] | None, support: Mapping[str, tuple[float, float]], names: Sequence[str]
) -> dict[str, Shape]:
    """Return the shapes by continuous variable, in column order; each must have the range of its variable."""
    if shapes is None:
        return {}
    check_keys(shapes, [name for name in support if name in shapes], names, "shapes")
    for name, shape in shapes.items():
        if not isinstance(shape, Shape):
            raise GomeaBnError(f"shapes['{name}'] must be a Shape, got {type(shape).__name__}.")
        if (shape.low, shape.high) != support[name]:
            raise GomeaBnError(
                f"shapes['{name}'] must have the support of the variable {support[name]!r}, got "
                f"{(shape.low, shape.high)!r}."
            )
    return {name: shapes[name] for name in support if name in shapes}


def check_levels(levels: Sequence[Level], name: str) -> tuple[Level, ...]:
    """Return the levels of a discrete variable: at least one text, finite number or bool, without duplicates."""
    if isinstance(levels, str) or not isinstance(levels, (Sequence, np.ndarray)) or len(levels) == 0:
        raise GomeaBnError(f"levels['{name}'] must be a sequence of at least one value, got {levels!r}.")
    checked: list[Level] = []
    for value in levels:
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(plain, (str, bool, int, float)) or plain != plain or plain in (np.inf, -np.inf):
            raise GomeaBnError(f"levels['{name}'] must be text, finite numbers or bools, got {value!r}.")
        if plain in checked:
            raise GomeaBnError(f"levels['{name}'] has the duplicate {value!r} (1, 1.0 and True are equal).")
        checked.append(str(plain) if isinstance(plain, str) else plain)
    return tuple(checked)


def check_edges(edges: Iterable[tuple[str, str]], names: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the parents of every variable, as sorted positions in `names`.

    An edge must be a (parent, child) pair of known variables, without duplicates and cycles.
    """
    index = {name: position for position, name in enumerate(names)}
    parents: list[set[int]] = [set() for _ in names]
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise GomeaBnError(f"An edge must be a pair (parent, child), got {edge!r}.")
        parent, child = edge
        for end in (parent, child):
            if not isinstance(end, str) or end not in index:
                raise GomeaBnError(
                    f"Edge '{parent}' → '{child}': unknown variable '{end}'.{nearest(str(end), names)}"
                )
        if parent == child:
            raise GomeaBnError(f"Edge '{parent}' → '{child}' connects a variable with itself.")
        if index[parent] in parents[index[child]]:
            raise GomeaBnError(f"Duplicate edge '{parent}' → '{child}'.")
        parents[index[child]].add(index[parent])
    sorted_parents = tuple(tuple(sorted(positions)) for positions in parents)
    topological_order(sorted_parents, names)
    return sorted_parents


def check_counts(
    counts: Mapping[str, ArrayLike], tables: Mapping[str, NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of rows of the cells of all tables or of none, float64 and read-only."""
    if not counts:
        return {}
    check_keys(counts, list(tables), list(tables), "counts")
    checked = {}
    for name, table in tables.items():
        try:
            of_name = np.array(counts[name], np.float64)
        except (TypeError, ValueError, OverflowError):
            of_name = np.empty(0)
        if of_name.shape != table.shape or not (np.isfinite(of_name) & (of_name >= 0)).all():
            raise GomeaBnError(
                f"The counts of '{name}' must be finite numbers from 0 on, of the shape {table.shape} of its table."
            )
        of_name.flags.writeable = False
        checked[name] = of_name
    return checked


def check_table(table: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a conditional probability table, float64 of `shape`, read-only, whose rows (last axis) sum to 1."""
    try:
        checked = np.array(table, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"tables['{name}'] must be an array of shape {shape}: {error}.") from error
    if checked.shape != shape:
        raise GomeaBnError(
            f"tables['{name}'] must have shape {shape} (parents in column order, then '{name}'), got "
            f"{checked.shape}."
        )
    if not np.isfinite(checked).all() or (checked < 0).any():
        index = np.argwhere(~(checked >= 0) | ~np.isfinite(checked))[0]
        raise GomeaBnError(
            f"tables['{name}'] must hold probabilities, got {checked[tuple(index)].item()!r} at "
            f"{index.tolist()}."
        )
    sums = checked.sum(axis=-1)
    if (np.abs(sums - 1) > MASS_TOLERANCE).any():
        index = np.argwhere(np.abs(sums - 1) > MASS_TOLERANCE)[0]
        raise GomeaBnError(
            f"tables['{name}'] must sum to 1 over its last axis, got {sums[tuple(index)].item()!r} in the "
            f"row of parent states {index.tolist()}."
        )
    checked.flags.writeable = False
    return checked


def check_pseudo_count(pseudo_count: Any) -> PseudoCount | None:
    """Return the pseudo-count as float, "auto", or None."""
    if pseudo_count is None:
        return None
    if isinstance(pseudo_count, str) and pseudo_count == "auto":
        return "auto"
    if not is_real(pseudo_count) or not 0 <= pseudo_count < np.inf:
        raise GomeaBnError(
            f"pseudo_count must be a finite number of at least 0 or 'auto', got {pseudo_count!r:.80}."
        )
    return float(pseudo_count)


def check_metadata(metadata: Mapping[str, Any] | None) -> str:
    """Return the metadata as JSON text; NumPy scalars and arrays become plain numbers and lists."""
    for key, value in dict(metadata or {}).items():
        try:
            json.dumps({key: value}, allow_nan=False, default=_python_value)
        except (TypeError, ValueError, OverflowError) as error:
            raise GomeaBnError(f"metadata[{key!r}] must be a value that JSON can hold: {error}.") from error
    return json.dumps(dict(metadata or {}), allow_nan=False, default=_python_value)


def _python_value(value: object) -> object:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"got {type(value).__name__}")


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
