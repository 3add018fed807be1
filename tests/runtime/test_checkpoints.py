"""Checkpoints: what is kept, written, refused and resumed, and the file that holds it."""

import errno
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from gomea_bn import Checkpoint, ExpertKnowledge, GomeaBnError, GomeaBnWarning, LinkageTree
from gomea_bn.runtime import Section, checkpoints, opened, write_bytes
from gomea_bn.runtime.checkpoints import NO_CHECKPOINT, checkpoint_bytes, option_text, read_checkpoint
from gomea_bn.runtime.files import process_mark

NO_SPACE = os.strerror(errno.ENOSPC)
OPTIONS = {"size": "3", "rate": "0.5"}
DATA = {"column 'x'": "1f", "column 'y'": "2e"}


def full_disk(*_paths: object) -> None:
    raise OSError(errno.ENOSPC, NO_SPACE)


def section(
    checkpoint: Any, options: Any = OPTIONS, data: Any = DATA, kind: str = "test", **more: Any
) -> Section:
    return opened(checkpoint, kind, lambda: options, lambda: data, **more)


@pytest.fixture
def written(tmp_path: Path) -> Checkpoint:
    """Return how to resume from a folder with a checkpoint."""
    root = section(Checkpoint(tmp_path / "c"))
    root.keep(lambda: {"number": 7})
    root.part("inner").keep(lambda: {"array": np.arange(3)})
    root.write()
    return Checkpoint(tmp_path / "c", resume=True)


def test_parts_get_their_states_back_once(written):
    root = section(written)
    assert root.saved == {"number": 7}
    inner = root.part("inner").saved
    assert inner is not None
    assert inner["array"].tolist() == [0, 1, 2]
    assert root.part("inner").saved is None
    assert root.part("other").saved is None


def test_a_checkpoint_is_not_replaced_unless_it_is_resumed(written):
    with pytest.raises(GomeaBnError, match="exists and would be lost; resume goes on from it"):
        section(Checkpoint(written.folder))
    with pytest.raises(GomeaBnError, match="would be lost"):
        section(written.folder)


def test_resuming_without_a_checkpoint_starts_with_a_warning(tmp_path):
    with pytest.warns(GomeaBnWarning, match="There is no checkpoint .* starts from the beginning"):
        assert section(Checkpoint(tmp_path, resume=True)).saved is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": {**OPTIONS, "size": "4"}}, "option size was 3, and is now 4"),
        ({"options": {"size": "3"}}, "option rate was 0.5, and is now not set"),
        ({"options": {**OPTIONS, "more": "1"}}, "option more was not set, and is now 1"),
        ({"data": {**DATA, "column 'y'": "2f"}}, "the table has other values in column 'y'"),
        ({"data": {"column 'x'": "1f"}}, "the table lacks the column 'y'"),
        ({"data": {**DATA, "column 'z'": "3"}}, "the table then lacked the column 'z'"),
        ({"data": dict(reversed(DATA.items()))}, "the columns are in another order"),
        ({"data": {"problem's n_terms": "5"}}, "the table lacks the column 'x'"),
        ({"kind": "front"}, "the search was 'test', and is now 'front'"),
    ],
)
def test_each_difference_is_refused_by_name(written, changes, message):
    with pytest.raises(GomeaBnError, match="belongs to another run") as caught:
        section(written, **changes)
    assert message in str(caught.value)


def test_another_version_of_the_package_is_refused(written, monkeypatch):
    monkeypatch.setattr(checkpoints, "__version__", "99.0")
    with pytest.raises(GomeaBnError, match=r"the version of gomea-bn was .*, and is now '99\.0'"):
        section(written)


def test_other_sources_of_the_same_version_are_refused(written, monkeypatch):
    monkeypatch.setattr(checkpoints, "source_digest", lambda: "0123456789abcdef")
    with pytest.raises(GomeaBnError, match=r"digest of gomea-bn's sources was .* is now '0123456789abcdef'"):
        section(written)


def test_free_options_are_those_of_the_file(written):
    assert section(written, {**OPTIONS, "size": "4"}, free=("size",)).options["size"] == "3"


def test_a_frozen_file_stays_as_it_is(written):
    root = section(written)
    root.keep(lambda: {"number": 8})
    root.set_frozen(True)
    root.finish({"number": 9})
    assert read_checkpoint(written.path)["run"]["state"] == {"number": 7}
    root.set_frozen(False)
    root.finish({"number": 9})
    assert read_checkpoint(written.path)["run"] == {"state": {"number": 9}, "parts": {}}


def test_a_state_that_lacks_something_ends_in_one_line(written):
    with pytest.raises(GomeaBnError, match=r"does not fit this run: KeyError\('size'\)"):
        section(written).resume(lambda state: state["size"])


def test_files_are_due_after_their_seconds_and_after_99_times_the_time_of_writing(tmp_path, monkeypatch):
    now = 100.0

    def write(path: Path, content: bytes) -> Path:
        nonlocal now
        now += 2.0
        return path

    monkeypatch.setattr(checkpoints, "perf_counter", lambda: now)
    monkeypatch.setattr(checkpoints, "write_bytes", write)
    root = section(Checkpoint(tmp_path, every=60))
    file = root._file
    assert file is not None
    for seconds, n_written in ((159.9, 0), (160.0, 1), (359.0, 1), (360.1, 2)):
        now = max(now, seconds)
        root.write_if_due()
        assert file.n_written == n_written, seconds


def test_a_full_disk_is_warned_of_once_and_leaves_the_former_checkpoint(written, monkeypatch):
    root = section(written)
    number = 8
    root.keep(lambda: {"number": number})
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full_disk)
        with pytest.warns(GomeaBnWarning, match=f"Cannot write '{written.path}': {NO_SPACE}.*goes on"):
            root.write()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            root.write()
    assert os.listdir(written.folder) == ["checkpoint.gomea"]
    assert read_checkpoint(written.path)["run"]["state"] == {"number": 7}
    number = 9
    root.write()
    assert read_checkpoint(written.path)["run"]["state"] == {"number": 9}


def test_a_folder_that_cannot_be_made_is_warned_of(tmp_path):
    root = section(Checkpoint(tmp_path / "outer" / "inner"))
    (tmp_path / "outer").write_text("a file came first")
    with pytest.warns(GomeaBnWarning, match=r"Cannot write '.*checkpoint\.gomea': Not a directory"):
        root.write()


def test_without_a_checkpoint_nothing_is_kept_or_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert section(None) is NO_CHECKPOINT
    assert NO_CHECKPOINT.part("x") is NO_CHECKPOINT
    NO_CHECKPOINT.keep(lambda: {"x": 1})
    NO_CHECKPOINT.finish({"x": 1})
    NO_CHECKPOINT.write()
    NO_CHECKPOINT.write_if_due()
    assert NO_CHECKPOINT.content() == {"state": {}, "parts": {}}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"folder": 3},
        {"folder": "x", "every": -1},
        {"folder": "x", "every": "often"},
        {"folder": "x", "resume": 1},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(GomeaBnError):
        Checkpoint(**options)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(GomeaBnError, match="is not a folder"):
        section(Checkpoint(tmp_path / "f"))


def test_texts_of_options_differ_where_values_do():
    long = np.arange(1000.0)
    values = [
        *(
            None,
            True,
            1,
            1.0,
            "1",
            [1],
            [1, 2],
            {"a": 1},
            {"a": 2},
            long,
            long + 1,
            list(range(90)),
            list(range(91)),
        ),
        *(LinkageTree(), LinkageTree("mi"), ExpertKnowledge(), ExpertKnowledge(required_edges=[("a", "b")])),
    ]
    texts = [option_text(value) for value in values]
    assert len(set(texts)) == len(texts)
    assert max(map(len, texts)) < 200
    assert option_text({"a": 1, "b": 2}) == option_text({"b": 2, "a": 1})
    assert option_text(object()) == "object"
    assert option_text(np.int64(3)) == "3"


def test_unfinished_files_of_killed_processes_are_removed(written):
    # no process has this number
    dead = process_mark().replace(str(os.getpid()), "4194305", 1)
    names = (
        f".checkpoint.gomea.{dead}.part",
        f".other.{dead}.part",
        f".checkpoint.gomea.{process_mark()}.part",
    )
    leftover, other, of_living = (written.path.with_name(name) for name in names)
    for path in (leftover, other, of_living):
        path.write_bytes(b"")
    with pytest.warns(GomeaBnWarning, match="the unfinished file of a process that was killed"):
        section(written)
    assert other.exists()
    assert of_living.exists()
    assert not leftover.exists()


CONTENT = {
    "a": [1, None, "ü"], "x": np.arange(6, dtype=np.int16).reshape(2, 3), "seed": 2**130, "inf": np.inf,
}  # fmt: skip

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
