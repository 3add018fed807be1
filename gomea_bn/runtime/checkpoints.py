"""Checkpoints of long runs: what a run needs to go on is written to a folder again and again.

A run is a tree of parts, for example a learner, its search, and the stage that this search is in. Each part has a
`Section` of the file. It says how to get its state, and hands out sections to the parts that it starts. The innermost
part asks for a file when it is between two generations; the whole tree is then written at once. The file holds numbers,
texts and arrays in nested lists and dictionaries, with a digest of all bytes; limits, results, seeds,
random generators and tuples of arrays become such values, and back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from hashlib import sha256
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option, check_flag, check_number, give_warning
from gomea_bn.runtime.files import check_folder, file_bytes, remove_leftovers, write_bytes
from gomea_bn.runtime.limits import FrontHistoryEntry, HistoryEntry, Result
from gomea_bn.runtime.sources import __version__, source_digest

CHECKPOINT_FILE = "checkpoint.gomea"
"""Name of the file in the folder of a checkpoint."""

State = dict[str, Any]
"""Plain values and arrays of numbers, as the file holds them."""

# writing takes at most this share of the time
_MOST_SHARE = 0.01

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

_WORD = 2**64
_HISTORIES = {entry.__name__: entry for entry in (HistoryEntry, FrontHistoryEntry)}


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run writes what it needs to go on after it was killed.

    Parameters
    ----------
    folder : path
        Folder of the file ``checkpoint.gomea``; made if absent.
    every : float
        Seconds between two checkpoints, at least 0. They are longer where writing would take more than 1 % of the time.
    resume : bool
        Whether to go on from the checkpoint in the folder. Without one the run starts from the beginning, and a warning
        says so. If False, a folder that has a checkpoint is refused.

    Notes
    -----
    A resumed run gives the same result, bit for bit, as one that was never ended, if no clock limits it. It needs the
    same data, weights, options and version; the number of threads may differ. Checkpoints are written between
    generations, at Ctrl-C, and at the end. A run that had come to its end gives its result again. A checkpoint that
    cannot be written, for example to a full disk, is a `GomeaBnWarning`, and the run goes on.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from gomea_bn import Checkpoint, optimise
    >>> from gomea_bn.problems.benchmarks import Trap
    >>> with TemporaryDirectory() as folder:
    ...     first = optimise(Trap(20), random_state=1, max_generations=3, checkpoint=folder)
    ...     more = Checkpoint(folder, resume=True)
    ...     optimise(Trap(20), random_state=1, max_generations=9, checkpoint=more).n_generations
    9
    """

    folder: str | os.PathLike[str]
    every: float = 60.0
    resume: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.folder, (str, os.PathLike)):
            raise GomeaBnError(f"The folder of a checkpoint must be a path, got {self.folder!r:.80}.")
        check_number("every", self.every, 0)
        check_flag("resume", self.resume)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(self.folder) / CHECKPOINT_FILE

    def check(self) -> None:
        """Raise `GomeaBnError` if the folder cannot be written, or has a checkpoint that would be lost."""
        check_folder(Path(self.folder), [CHECKPOINT_FILE])
        if not self.resume and os.path.lexists(self.path):
            raise GomeaBnError(
                [f"'{self.path}' exists and would be lost; ", Option("resume"), " goes on from it."],
                ["choose another folder"],
            )

    def saved_options(self) -> dict[str, str]:
        """Return the options of the run to go on from as texts; empty if there is none."""
        if not self.resume or not os.path.lexists(self.path):
            return {}
        return dict(read_checkpoint(self.path)["options"])

    def check_options(self, options: Mapping[str, str]) -> None:
        """Raise `GomeaBnError` if the run to go on from had other values of some options, which are texts by name."""
        saved = self.saved_options()
        _check_same_options({name: saved.get(name, now) for name, now in options.items()}, options, self.path)


class _File:
    """The file of one run: when it is due, and whether it may still be written."""

    def __init__(self, checkpoint: Checkpoint, header: State) -> None:
        self.checkpoint = checkpoint
        self.header = header
        self.root: Section | None = None
        self.is_frozen = False
        self.n_written = 0
        self._has_warned = False
        self._due = perf_counter() + checkpoint.every

    @property
    def is_due(self) -> bool:
        return perf_counter() >= self._due

    def write(self) -> None:
        if self.is_frozen or self.root is None:
            return
        began = perf_counter()
        content = checkpoint_bytes({**self.header, "run": self.root.content()})
        path = self.checkpoint.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content)
            self.n_written += 1
        except GomeaBnError as error:
            self._warn(str(error))
        except OSError as error:
            self._warn(f"Cannot write '{path}': {error.strerror or error}.")
        ended = perf_counter()
        self._due = ended + max(self.checkpoint.every, (ended - began) * (1 / _MOST_SHARE - 1))

    def _warn(self, problem: str) -> None:
        """Warn, once per run, of a checkpoint that could not be written; its search is worth more and goes on."""
        if self._has_warned:
            return
        self._has_warned = True
        give_warning(
            f"{problem} The run goes on, and tries again at its next checkpoint. A run that is killed before then "
            "resumes from its last complete checkpoint, if there is one."
        )


class Section:
    """One part of a run in its checkpoint.

    `saved` is the state from which the part goes on, None if it starts. A run without checkpoints has no file, and all
    methods do nothing.
    """

    def __init__(self, file: _File | None, saved: State | None = None) -> None:
        self._file = file
        self.saved: State | None = None if saved is None else saved["state"]
        self._saved_parts: State = {} if saved is None else dict(saved["parts"])
        self._state: Callable[[], State] = dict
        self._parts: dict[str, Section] = {}

    @property
    def is_active(self) -> bool:
        """Whether checkpoints are written."""
        return self._file is not None

    @property
    def options(self) -> dict[str, str]:
        """Options of the whole run as texts, from the file if there was one."""
        return {} if self._file is None else dict(self._file.header["options"])

    def part(self, name: str) -> Section:
        """Return the section of a part that starts, which replaces a former part of that name."""
        if self._file is None:
            return self
        self._parts[name] = Section(self._file, self._saved_parts.pop(name, None))
        return self._parts[name]

    def resume(self, restore: Callable[[State], None]) -> bool:
        """Call a function with the saved state, if there is one; returns whether there was.

        A state that does not have what the function needs is an error.
        """
        if self.saved is None:
            return False
        try:
            restore(self.saved)
        except GomeaBnError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            path = "" if self._file is None else f" '{self._file.checkpoint.path}'"
            raise GomeaBnError(f"The checkpoint{path} does not fit this run: {error!r:.200}.") from error
        return True

    def keep(self, state: Callable[[], State]) -> None:
        """Set the function that returns the state of the part whenever a file is written."""
        if self._file is not None:
            self._state = state

    def write_if_due(self) -> None:
        """Write the whole run if the time has come; called where every part has a state to go on from."""
        if self._file is not None and self._file.is_due:
            self._file.write()

    def write(self) -> None:
        """Write the whole run."""
        if self._file is not None:
            self._file.write()

    def finish(self, state: State) -> None:
        """Set the last state of a part that has ended, without its own parts; the end of the whole run is written."""
        self.keep(partial(dict, state))
        self._parts.clear()
        self.close()

    def close(self) -> None:
        """Write the whole run if this is its section."""
        if self._file is not None and self._file.root is self:
            self._file.write()

    def set_frozen(self, frozen: bool) -> None:
        """Decide whether the file stays as it is: what follows a stop by the user is not to be gone on from."""
        if self._file is not None:
            self._file.is_frozen = frozen

    def content(self) -> State:
        """Return the states of this part and of those that it has started."""
        return {"state": self._state(), "parts": {name: part.content() for name, part in self._parts.items()}}


NO_CHECKPOINT = Section(None)
"""Section of a run without checkpoints."""

CheckpointOption = Checkpoint | Section | str | os.PathLike[str] | None
"""Values of the option `checkpoint`. A path stands for a `Checkpoint` with default options, a `Section` for a part."""


def opened(
    checkpoint: CheckpointOption,
    kind: str,
    options: Callable[[], Mapping[str, str]],
    data: Callable[[], Mapping[str, str]],
    *,
    free: tuple[str, ...] = (),
) -> Section:
    """Return the section of a run that starts, or goes on from the checkpoint in its folder.

    A path stands for a checkpoint with default options, and a section is that of a part of another run. `kind` is what
    runs, for example "GOMEA". `options` and `data` return texts by name, which decide the result, so a resumed run must
    have the same ones, apart from the options in `free`, which the file decides.
    """
    if checkpoint is None:
        return NO_CHECKPOINT
    if isinstance(checkpoint, Section):
        return checkpoint
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    checkpoint.check()
    header: State = {
        "version": __version__,
        "sources": source_digest(),
        "kind": kind,
        "options": [list(item) for item in options().items()],
        "data": [list(item) for item in data().items()],
    }
    saved = None
    if checkpoint.resume:
        remove_leftovers(checkpoint.path)
        if os.path.lexists(checkpoint.path):
            content = read_checkpoint(checkpoint.path)
            saved = content.pop("run", None)
            _check_same(content, header, checkpoint.path, free)
            header = content
        else:
            give_warning(f"There is no checkpoint '{checkpoint.path}'; the run starts from the beginning.")
    file = _File(checkpoint, header)
    file.root = Section(file, saved)
    return file.root


def _check_same(saved: State, present: State, path: Path, free: tuple[str, ...]) -> None:
    """Raise `GomeaBnError` if a checkpoint belongs to another run, and name the first difference."""
    where = _of_another_run(path)
    subjects = {
        "version": "the version of gomea-bn",
        "sources": "the digest of gomea-bn's sources",
        "kind": "the search",
    }
    for name, subject in subjects.items():
        if saved.get(name) != present[name]:
            raise GomeaBnError(f"{where}{subject} was {saved.get(name)!r:.80}, and is now {present[name]!r}.")
    data, present_data = dict(saved["data"]), dict(present["data"])
    for name in {**data, **present_data}:
        if name not in present_data:
            raise GomeaBnError(f"{where}the table lacks the {name}.")
        if name not in data:
            raise GomeaBnError(f"{where}the table then lacked the {name}.")
        if data[name] != present_data[name] and name.startswith("column "):
            raise GomeaBnError(f"{where}the table has other values in {name}.")
        if data[name] != present_data[name]:
            raise GomeaBnError(f"{where}the {name} was {data[name]}, and is now {present_data[name]}.")
    if list(data) != list(present_data):
        raise GomeaBnError(f"{where}the columns are in another order.")
    _check_same_options(dict(saved["options"]), dict(present["options"]), path, free)


def _check_same_options(
    saved: Mapping[str, str], present: Mapping[str, str], path: Path, free: tuple[str, ...] = ()
) -> None:
    """Raise `GomeaBnError` if an option that is not free has another text than in a checkpoint."""
    for name in {**saved, **present}:
        before, now = saved.get(name, "not set"), present.get(name, "not set")
        if before != now and name not in free:
            raise GomeaBnError(
                [_of_another_run(path), "option ", Option(name), f" was {before}, and is now {now}."]
            )


def _of_another_run(path: Path) -> str:
    return f"The checkpoint '{path}' belongs to another run: "


def option_texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of options as texts; see `option_text`."""
    return {name: option_text(value) for name, value in options.items()}


def option_text(value: Any) -> str:
    """Return a text that differs where values of an option do; that of a long value is a digest.

    Objects of unknown classes have the name of their class alone.
    """
    text = _text(value)
    # longer texts of options are compared by their digests
    return text if len(text) <= 120 else f"{text[:40]}... (SHA-256 {_digest(text.encode())[:16]})"


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        numbers = np.ascontiguousarray(value)
        return f"array of {numbers.dtype} {numbers.shape} (SHA-256 {_digest(numbers.tobytes())[:16]})"
    if hasattr(value, "to_json"):
        return f"{type(value).__name__} (SHA-256 {_digest(value.to_json().encode())[:16]})"
    if is_dataclass(value) and not isinstance(value, type):
        values = [
            f"{field.name}={_text(getattr(value, field.name))}" for field in fields(value) if field.repr
        ]
        return f"{type(value).__name__}({', '.join(values)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_text(value[key])}' for key in sorted(value, key=str))}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"[{', '.join(sorted(map(_text, value)))}]"
    if isinstance(value, os.PathLike):
        return repr(os.fspath(value))
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    text = repr(value)
    # a default repr has an address, which changes from process to process
    return type(value).__qualname__ if " at 0x" in text else text


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


FORMAT_VERSION = 1
_MAGIC = b"gomea-bn checkpoint "
# key of an object of JSON that stands for an array: its number
_ARRAY = "<array>"
# kinds of NumPy's types that are written: logical, integer, unsigned, real
_KINDS = "biuf"


def checkpoint_bytes(content: dict[str, Any]) -> bytes:
    """Return the bytes of a file: a version, a SHA-256 of what follows, one line of JSON, then all arrays.

    The content is None, logical values, numbers, texts and arrays of numbers, in lists and dictionaries with texts as
    keys.
    """
    arrays: list[NDArray[Any]] = []
    tree = _plain(content, arrays)
    head = {"content": tree, "arrays": [[array.dtype.str, array.shape] for array in arrays]}
    parts = [json.dumps(head).encode("ascii"), b"\n", *(array.tobytes() for array in arrays)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([b"%b%d\n%b\n" % (_MAGIC, FORMAT_VERSION, digest.hexdigest().encode("ascii")), *parts])


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the content of a file that holds `checkpoint_bytes`; its arrays are read-only."""
    content = file_bytes(path, "a checkpoint")
    magic, _, rest = content.partition(b"\n")
    if not magic.startswith(_MAGIC):
        raise GomeaBnError(f"'{path}' is not a checkpoint of gomea-bn.")
    version = magic.removeprefix(_MAGIC)
    if version != b"%d" % FORMAT_VERSION:
        raise GomeaBnError(
            f"The checkpoint '{path}' has format version {version.decode('ascii', 'replace')!r:.40}; "
            f"this release reads '{FORMAT_VERSION}'."
        )
    digest, _, rest = rest.partition(b"\n")
    if hashlib.sha256(rest).hexdigest().encode("ascii") != digest:
        raise GomeaBnError(f"The checkpoint '{path}' is damaged: its bytes do not have the digest in it.")
    line, _, values = rest.partition(b"\n")
    try:
        head = json.loads(line)
        tree = _with_arrays(head["content"], _arrays(head["arrays"], values))
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise GomeaBnError(f"The checkpoint '{path}' is damaged: {error}.") from error
    if not isinstance(tree, dict):
        raise GomeaBnError(
            f"The checkpoint '{path}' is damaged: it holds {type(tree).__name__}, not an object."
        )
    return tree


def _plain(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a value as JSON holds it, with every array appended to `arrays` and replaced by its number."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, dict):
        return {str(key): _plain(item, arrays) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, arrays) for item in value]
    raise TypeError(f"A checkpoint cannot hold {type(value).__name__}.")


def _arrays(forms: list[Any], values: bytes) -> list[NDArray[Any]]:
    """Return the arrays of given types and shapes that follow each other in `values`."""
    arrays, start = [], 0
    for name, shape in forms:
        dtype = np.dtype(name)
        size = prod(shape)
        if dtype.kind not in _KINDS or size < 0 or start + size * dtype.itemsize > len(values):
            raise ValueError(f"an array of type {name!r:.20} and shape {shape!r:.40} does not fit")
        arrays.append(np.frombuffer(values, dtype, size, start).reshape(shape))
        start += size * dtype.itemsize
    if start != len(values):
        raise ValueError(f"{len(values) - start} bytes belong to no array")
    return arrays


def _with_arrays(tree: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(tree, list):
        return [_with_arrays(item, arrays) for item in tree]
    if isinstance(tree, dict):
        if set(tree) == {_ARRAY}:
            return arrays[tree[_ARRAY]]
        return {key: _with_arrays(item, arrays) for key, item in tree.items()}
    return tree


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
