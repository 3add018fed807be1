"""The file of a checkpoint: numbers, texts and arrays in nested lists and dictionaries, with a digest of all bytes."""

from __future__ import annotations

import hashlib
import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.files.text_files import file_bytes

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
