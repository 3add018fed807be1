from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.checkpoint_file import checkpoint_bytes, read_checkpoint
from gomea_bn.runtime.files.atomic_files import write_bytes

CONTENT = {
    "a": [1, None, "ü"],
    "x": np.arange(6, dtype=np.int16).reshape(2, 3),
    "seed": 2**130,
    "inf": np.inf,
}

arrays = npst.arrays(
    st.sampled_from([np.int16, np.uint64, np.float64, np.bool_, np.float32]), npst.array_shapes(min_side=0)
)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | arrays
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


def equal(first: Any, second: Any) -> bool:
    """Return whether two trees are the same, types of arrays included."""
    if isinstance(first, np.ndarray):
        return (
            isinstance(second, np.ndarray)
            and first.dtype == second.dtype
            and first.shape == second.shape
            and first.tobytes() == second.tobytes()
        )
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(equal(first[key], second[key]) for key in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(equal, first, second))
    return bool(type(first) is type(second) and first == second)


@given(st.dictionaries(st.text(), trees, max_size=3))
@settings(max_examples=60)
def test_what_was_written_is_read(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("file") / "c"
    write_bytes(path, checkpoint_bytes(content))
    assert equal(content, read_checkpoint(path))


@given(st.data())
@settings(max_examples=80)
def test_every_flipped_bit_and_every_missing_byte_is_noticed(tmp_path_factory, data):
    whole = checkpoint_bytes(CONTENT)
    damaged = bytearray(whole)
    if data.draw(st.booleans()):
        damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del damaged[data.draw(st.integers(0, len(whole) - 1)) :]
    path = tmp_path_factory.mktemp("file") / "c"
    write_bytes(path, bytes(damaged))
    with pytest.raises(GomeaBnError) as caught:
        read_checkpoint(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_of_another_version_is_refused_by_its_number(tmp_path):
    path = write_bytes(
        tmp_path / "c", checkpoint_bytes(CONTENT).replace(b"checkpoint 1\n", b"checkpoint 7\n", 1)
    )
    with pytest.raises(GomeaBnError, match="has format version '7'; this release reads '1'"):
        read_checkpoint(path)


def test_a_file_above_the_limit_on_bytes_is_refused(tmp_path, monkeypatch):
    path = write_bytes(tmp_path / "c", checkpoint_bytes(CONTENT))
    monkeypatch.setenv("GOMEA_BN_MAX_FILE_BYTES", "100")
    with pytest.raises(GomeaBnError, match="GOMEA_BN_MAX_FILE_BYTES"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    "array", [["<i8", [10**9]], ["<i8", [-1]], ["O", [1]], ["<i8", [0]], ["nothing", [1]], ["<i8", None]]
)
def test_arrays_that_do_not_fit_the_file_are_refused(tmp_path, array):
    import hashlib
    import json

    rest = json.dumps({"content": {"x": {"<array>": 0}}, "arrays": [array]}).encode() + b"\n" + bytes(8)
    head = b"gomea-bn checkpoint 1\n" + hashlib.sha256(rest).hexdigest().encode() + b"\n"
    path = write_bytes(tmp_path / "c", head + rest)
    with pytest.raises(GomeaBnError, match="is damaged"):
        read_checkpoint(path)


def test_objects_are_never_written():
    with pytest.raises(TypeError, match=r"cannot hold .*Path"):
        checkpoint_bytes({"x": Path()})
    with pytest.raises(TypeError, match="cannot hold ndarray"):
        checkpoint_bytes({"x": np.array([object()])})
