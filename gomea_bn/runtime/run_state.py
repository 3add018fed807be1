"""Limits, results, seeds, random generators and tuples of arrays as plain values for checkpoints, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.limits import FrontHistoryEntry, HistoryEntry, Limits, Result

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

_WORD = 2**64
_HISTORIES = {entry.__name__: entry for entry in (HistoryEntry, FrontHistoryEntry)}


def fill(array: NDArray[Any], saved: Any) -> None:
    """Copy a saved array into one of the same type and shape; raises `ValueError` for any other one."""
    if not isinstance(saved, np.ndarray) or saved.dtype != array.dtype or saved.shape != array.shape:
        form = f"{saved.dtype} {saved.shape}" if isinstance(saved, np.ndarray) else type(saved).__name__
        raise ValueError(f"wanted an array {array.dtype} {array.shape}, got {form}")
    array[...] = saved


def filled(arrays: Tuple, saved: Mapping[str, Any]) -> Tuple:
    """Return a named tuple of arrays after copying saved ones, by the names of its fields, into them."""
    for name, array in arrays._asdict().items():  # type: ignore[attr-defined]
        fill(array, saved[name])
    return arrays


def generator_states(generators: Sequence[np.random.Generator]) -> NDArray[np.uint64]:
    """Return the states of generators of `numpy.random.default_rng`, uint64 (n, 6)."""
    states = np.zeros((len(generators), 6), np.uint64)
    for row, generator in zip(states, generators, strict=True):
        saved: Any = generator.bit_generator.state
        state, increment = saved["state"]["state"], saved["state"]["inc"]
        row[:] = (
            *divmod(state, _WORD),
            *divmod(increment, _WORD),
            saved["has_uint32"],
            saved["uinteger"],
        )
    return states


def generators_of(states: NDArray[np.uint64]) -> list[np.random.Generator]:
    """Return generators with the states that `generator_states` returned."""
    generators = []
    for row in states.tolist():
        high, low, increment_high, increment_low, has_uint32, uinteger = row
        generator = np.random.default_rng(0)
        generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": high * _WORD + low, "inc": increment_high * _WORD + increment_low},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }
        generators.append(generator)
    return generators


def generator_of(states: NDArray[np.uint64]) -> np.random.Generator:
    """Return the only generator of `generators_of`."""
    (generator,) = generators_of(states)
    return generator


def seeds_state(seeds: np.random.SeedSequence) -> State:
    """Return what `seeds_of` makes a sequence of that spawns the same seeds next."""
    entropy: Any = seeds.entropy
    return {
        "entropy": int(entropy) if np.ndim(entropy) == 0 else [int(number) for number in entropy],
        "spawn_key": [int(number) for number in seeds.spawn_key],
        "pool_size": seeds.pool_size,
        "n_children_spawned": seeds.n_children_spawned,
    }


def seeds_of(saved: State) -> np.random.SeedSequence:
    """Return the sequence of seeds of `seeds_state`."""
    return np.random.SeedSequence(**{**saved, "spawn_key": tuple(saved["spawn_key"])})


def limits_state(limits: Limits) -> State:
    """Return limits as plain values."""
    return asdict(limits)


def limits_of_state(saved: State) -> Limits:
    """Return the limits of `limits_state`."""
    return Limits(**saved)


def history_state(history: Sequence[HistoryEntry | FrontHistoryEntry]) -> State:
    """Return the entries of a history, which are of one class, as one array per field."""
    if not history:
        return {}
    names = [field.name for field in fields(history[0])]
    columns = {name: np.array([getattr(entry, name) for entry in history]) for name in names}
    return {"class": type(history[0]).__name__, **columns}


def history_of(saved: State) -> list[Any]:
    """Return the history of `history_state`."""
    if not saved:
        return []
    entry: Any = _HISTORIES[saved["class"]]
    columns = [saved[field.name].tolist() for field in fields(entry)]
    return [
        entry(*(tuple(value) if isinstance(value, list) else value for value in row))
        for row in zip(*columns, strict=True)
    ]


def result_state(result: Result) -> State:
    """Return a result as plain values and arrays."""
    values = {field.name: getattr(result, field.name) for field in fields(result)}
    return {**values, "history": history_state(result.history)}


def result_of(saved: State) -> Result:
    """Return the result of `result_state`."""
    arrays = {name: saved[name].copy() for name in ("X", "F")}
    extra = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in saved["extra"].items()
    }
    return Result(**{**saved, **arrays, "extra": extra, "history": history_of(saved["history"])})
