"""Compiled kernels on disk: who may have written them, what happens when they cannot be kept, and who compiles them."""

import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import typeof, types

from gomea_bn import GomeaBnError, GomeaBnWarning
from gomea_bn.problems import NKLandscape, Trap
from gomea_bn.runtime import announced_kernels, compiling, jit
from gomea_bn.runtime.jit import KernelDispatcher, prune_folders

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def tripled(x):
    return 3 * x


@jit.kernel
def lowest(x: int) -> int:
    return x * 3


@jit.kernel
def middle(x: int) -> int:
    return lowest(x) + lowest(x + 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder in which the kernels of this test lie; every test may warn of it again."""
    monkeypatch.setattr(jit, "_chosen_by_user", str(tmp_path / "kernels"))
    monkeypatch.setattr(jit, "_warned", set())
    return jit.kernel_cache_dir(with_foreign=True)


def new_kernel():
    """Return a kernel as a new process has it: nothing of it is compiled or loaded."""
    compiled = KernelDispatcher(tripled, targetoptions=OPTIONS)
    jit._place_cache(compiled)
    return compiled


def n_compiled(compiled):
    """Call a kernel, and return how many kernels were compiled for that."""
    with announced_kernels(print) as progress:
        assert compiled(7) == 21
    return progress.n_compiled


def test_a_kernel_is_compiled_once_and_then_read(folder):
    assert [n_compiled(new_kernel()) for _ in range(2)] == [1, 0]
    files = list(folder.glob("*.kernel"))
    assert len(files) == 1
    assert not files[0].stat().st_mode & 0o022


@pytest.mark.parametrize("changed", ["folder", "file"])
def test_nothing_is_read_that_others_can_have_written(folder, changed):
    n_compiled(new_kernel())
    path = folder if changed == "folder" else next(folder.glob("*.kernel"))
    path.chmod(path.stat().st_mode | 0o002)
    if changed == "folder":
        with pytest.warns(GomeaBnWarning, match="can be written by other users"):
            assert n_compiled(new_kernel()) == 1
        assert not jit.kernels_are_cached()
    else:
        assert n_compiled(new_kernel()) == 1
        assert n_compiled(new_kernel()) == 0  # it was replaced


def test_a_file_of_another_user_is_not_read(folder, monkeypatch):
    n_compiled(new_kernel())
    path = next(folder.glob("*.kernel"))
    assert jit._only_its_owner_writes(path.stat())
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    fields = list(path.stat())
    fields[4] = path.stat().st_uid + 2
    assert not jit._only_its_owner_writes(os.stat_result(fields))


def with_another_digest(content):
    start = len(jit._HEADER)
    return content[:start] + bytes(32) + content[start + 32 :]


@pytest.mark.parametrize(
    "spoil",
    [lambda content: content[:-1], lambda content: b"", lambda content: b"x" + content, with_another_digest],
)
def test_damaged_files_are_compiled_again(folder, spoil):
    n_compiled(new_kernel())
    path = next(folder.glob("*.kernel"))
    path.write_bytes(spoil(path.read_bytes()))
    assert [n_compiled(new_kernel()) for _ in range(2)] == [1, 0]


def test_a_file_under_another_name_is_not_taken_for_the_kernel(folder):
    n_compiled(new_kernel())
    path = next(folder.glob("*.kernel"))
    with announced_kernels(print) as progress:
        assert new_kernel()(2.5) == 7.5
    assert progress.n_compiled == 1
    path.write_bytes(next(file for file in folder.glob("*.kernel") if file != path).read_bytes())
    assert n_compiled(new_kernel()) == 1


class Renamed:
    """Stand in for a class of a user's problem."""


def test_a_class_that_no_longer_exists_is_compiled_again(folder, monkeypatch):
    n_compiled(new_kernel())
    path = next(folder.glob("*.kernel"))
    body = pickle.dumps(Renamed())
    path.write_bytes(jit._HEADER + hashlib.sha256(body).digest() + body)
    monkeypatch.delitem(globals(), "Renamed")
    assert n_compiled(new_kernel()) == 1


def full(*_arguments, **_options):
    raise GomeaBnError("Cannot write 'x': No space left on device.")


def test_on_a_full_disk_kernels_are_compiled_in_memory_with_one_warning(folder, monkeypatch):
    monkeypatch.setattr(jit, "write_bytes", full)
    with pytest.warns(GomeaBnWarning, match="No space left") as caught:
        assert [n_compiled(new_kernel()) for _ in range(2)] == [1, 1]
    assert len(caught) == 1
    assert not list(folder.glob("*.kernel"))


def test_without_a_folder_nothing_is_written_next_to_the_source(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(jit, "_chosen_by_user", str(tmp_path / "file"))
    monkeypatch.setattr(jit, "_warned", set())
    before = set(Path(__file__).parent.rglob("*"))
    with pytest.warns(GomeaBnWarning, match="cannot be written"):
        assert n_compiled(new_kernel()) == 1
    assert set(Path(__file__).parent.rglob("*")) == before


def test_what_another_process_compiles_at_this_moment_is_waited_for(folder):
    """The other process holds the lock, and the kernel appears before it lets go."""
    n_compiled(new_kernel())
    path = next(folder.glob("*.kernel"))
    content = path.read_bytes()
    path.unlink()
    script = """
import sys, time
from pathlib import Path
import fcntl
path, content = Path(sys.argv[1]), Path(sys.argv[2]).read_bytes()
with open(path.with_suffix(".lock"), "ab") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("locked", flush=True)
    time.sleep(0.3)
    path.touch(mode=0o644)
    path.write_bytes(content)
"""
    kept = folder / "kept"
    kept.write_bytes(content)
    with subprocess.Popen([sys.executable, "-S", "-c", script, path, kept], stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"locked\n"
        assert n_compiled(new_kernel()) == 0


READING = """
import sys
import numpy as np
from gomea_bn.runtime.kernels import random_below
print(random_below(np.random.default_rng(0), 1000), "numba.np.linalg" in sys.modules)
"""


def test_a_kernel_is_read_without_the_compiler(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    drawn = int(np.random.default_rng(0).random() * 1000)
    for is_loaded in (True, False):
        run = subprocess.run(
            [sys.executable, "-c", READING], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.split() == [str(drawn), str(is_loaded)]


def test_a_kernel_with_unknown_symbols_is_read_with_the_compiler(folder, monkeypatch):
    n_compiled(new_kernel())
    monkeypatch.setattr(jit, "_outer_symbols", lambda _library: ["no_such_symbol"])
    next(folder.glob("*.kernel")).unlink()
    n_compiled(new_kernel())
    compiled = new_kernel()
    loads = []
    monkeypatch.setattr(type(compiled.targetctx), "refresh", lambda _context: loads.append("compiler"))
    assert n_compiled(compiled) == 0
    assert loads == ["compiler"]


def test_a_users_kernel_may_have_functions_inside(folder):
    assert jit.kernel(with_inner_function)(3) == 12


def with_inner_function(n):
    def doubled(k):
        return 2 * k

    return doubled(n) + doubled(3)


def test_a_kernel_that_cannot_be_compiled_gives_its_lock_back(folder):
    with pytest.raises(GomeaBnError, match="cannot be compiled"):
        new_kernel()(np.zeros(2).astype("U1"))
    assert new_kernel()._cache._plain._lock is None
    assert n_compiled(new_kernel()) == 1


@jit.kernel
def misspelt(x: int) -> int:
    return x.reel  # type: ignore[attr-defined, no-any-return]


@jit.kernel
def mixed(x: int) -> int:
    return x + "u"  # type: ignore[operator, no-any-return]


@jit.kernel
def above(x: int) -> int:
    return misspelt(x)


@pytest.mark.parametrize(
    ("function", "line", "reason"),
    [
        (misspelt, "return x.reel", "Unknown attribute 'reel' of type int64."),
        (above, "return x.reel", "Unknown attribute 'reel' of type int64."),
        (mixed, 'return x + "u"', r"add\(int64, Literal\[str\]\(u\)\)\."),
    ],
)
def test_the_error_of_a_kernel_that_cannot_be_compiled_is_its_line(function, line, reason):
    with pytest.raises(
        GomeaBnError, match=rf"Line \d+ of '.*test_kernel_files.py' .*{re.escape(line)}.*{reason}$"
    ) as error:
        function(1)
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__


def test_old_folders_are_removed_and_nothing_else(tmp_path):
    now = time.time()
    folders = [tmp_path / f"{i:016x}" for i in range(15)]
    for age, path in enumerate(folders):
        path.mkdir()
        os.utime(path, (now - age * 60, now - age * 60))
    foreign = tmp_path / "kernels_of_another_program"
    foreign.mkdir()
    forgotten = folders[3]
    os.utime(forgotten, (now - 61 * 86_400, now - 61 * 86_400))
    prune_folders(tmp_path, keep=folders[14])
    assert set(tmp_path.iterdir()) == {*folders[:3], *folders[4:12], folders[14], foreign}


def test_kernels_call_kernels_and_functions_of_numba_alone_call_both():
    @numba.njit
    def outer(x):
        return middle(x) + 1

    assert outer(4) == 3 * 4 + 3 * 5 + 1
    assert middle(4) == 3 * 4 + 3 * 5
    assert lowest(4) == 12


SEPARATE = """
from gomea_bn.runtime.jit import kernel, separate_kernel

@separate_kernel
def times(x: float, n: int) -> float:
    return max(x, 1.0) * n

@separate_kernel
def fourfold(x: float) -> float:
    return times(times(x, 2), 2)

@kernel
def eightfold(x: float) -> float:
    return times(fourfold(x), 2)

@kernel
def least_two(x: float) -> float:
    return max(x, 2.0)

@kernel
def for_a_way(x: float, way: int) -> float:
    return least_two(x) if way != 1 else x

@kernel
def sixteenfold_and_more(x: float) -> float:
    return times(fourfold(x), 4) + for_a_way(x, 1) + least_two(x) + for_a_way(x, 2)

@separate_kernel
def broken(x: float) -> float:
    return x + no_such_name

@separate_kernel
def truncated(x: float) -> float:
    return int(x)

@kernel
def seldom(x: float, n: int) -> float:
    if n == 1:
        return broken(x)
    return truncated(x) if n == 2 else x
"""
CALL_SEPARATE = """
import json, numba, separate
from concurrent.futures import ThreadPoolExecutor
from gomea_bn.runtime.kernel_progress import announced_kernels

@numba.njit(cache=True)
def of_numba_alone(x):
    return separate.eightfold(x)

with announced_kernels(print) as progress:
    values = [of_numba_alone(3.0), separate.eightfold(3.0), separate.sixteenfold_and_more(1.0)]
    values.append(separate.seldom(5.0, 0))
n_types = [len(each.signatures) for each in (separate.times, separate.fourfold, separate.broken)]
errors = []
with ThreadPoolExecutor(1) as pool:
    for call in (separate.seldom, lambda x, n: pool.submit(separate.seldom, x, n).result()):
        for n in (1, 2):
            try:
                call(5.0, n)
            except Exception as error:
                errors.append(f"{type(error).__name__} {error}")
print(json.dumps([values, n_types, errors, progress.n_compiled]))
"""


@pytest.mark.skipif(isinstance(middle, type(tripled)), reason="kernels are plain Python")
def test_separate_kernels_are_compiled_once_for_all_that_call_them_and_not_before(tmp_path):
    (tmp_path / "separate.py").write_text(SEPARATE)
    (tmp_path / "call.py").write_text(CALL_SEPARATE)
    setting = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def called():
        done = subprocess.run(
            [sys.executable, "call.py"], cwd=tmp_path, env=setting, capture_output=True, text=True, check=True
        )
        *results, errors, n_compiled = json.loads(done.stdout.splitlines()[-1])
        assert results == [[24.0, 24.0, 16.0 + 1.0 + 2.0 + 2.0, 5.0], [1, 1, 0]]
        # errors of kernels that are compiled inside a call are those of the call, in every thread
        of_name, of_type = errors[:2]
        assert of_name.startswith("TypingError")
        assert "no_such_name" in of_name
        assert (
            of_type
            == "TypeError The separate kernel truncated returns int64, other than its annotation says."
        )
        assert errors[2:] == errors[:2]
        return n_compiled

    # two separate kernels and three that call them
    assert called() == 5
    assert called() == 0
    for path in (tmp_path / "kept").rglob("separate.times-*.kernel"):
        path.unlink()
    assert called() == 1


def test_nothing_is_told_of_kernels_that_are_quick(monkeypatch):
    monkeypatch.setattr("gomea_bn.runtime.kernel_progress._SECONDS_OF_SILENCE", 0.01)
    lines = []
    with announced_kernels(lines.append):
        jit.kernel_needed("one", is_compiled=True)
        jit.kernel_needed("two", is_compiled=False)
        with compiling():
            pass
        time.sleep(0.05)
    assert lines == []


def test_kernels_that_take_long_are_told_also_where_nobody_asked_for_it(monkeypatch, caplog):
    monkeypatch.setattr("gomea_bn.runtime.kernel_progress._SECONDS_OF_SILENCE", 0.01)
    lines = []
    with announced_kernels(lines.append) as progress:
        for n_lines, (name, is_compiled) in enumerate((("one", True), ("two", False), ("three", False))):
            jit.kernel_needed(name, is_compiled=is_compiled)
            while len(lines) < n_lines:
                time.sleep(0.001)
    told = [f"Compiling kernels: {name} (first use on this machine only) ..." for name in ("two", "three")]
    assert lines == told
    assert progress.n_compiled == 2
    jit.kernel_needed("two", is_compiled=False)
    while not caplog.messages:
        time.sleep(0.001)
    assert caplog.messages == told[:1]


class UsersData(NamedTuple):
    """Data of a problem that is defined outside of the package."""

    size: int


def users_function():
    """Stand in for the evaluation of a user's problem."""


@pytest.fixture
def no_problem_registered(monkeypatch):
    monkeypatch.setattr(jit, "_foreign_digests", set())
    monkeypatch.setattr(jit, "_kernels", [])


@pytest.mark.parametrize(
    "argument", [UsersData(3), (1, (2.0, UsersData(3))), (UsersData(3), UsersData(4)), [UsersData(3)]]
)
def test_data_of_a_users_problem_are_foreign_wherever_they_stand(argument):
    assert jit._is_foreign(typeof(argument))


def test_compiled_functions_as_arguments_count_as_foreign():
    assert jit._is_foreign(typeof(jit.kernel(users_function)))


@pytest.mark.parametrize("problem", [Trap(10), NKLandscape(6, 2)])
def test_data_of_our_problems_are_not_foreign(problem):
    assert not jit._is_foreign(typeof(problem.data))
    assert not jit._is_foreign(typeof((1, problem.data, np.zeros(3))))


@pytest.mark.usefixtures("no_problem_registered")
def test_a_registered_problem_changes_only_the_folder_of_users_problems():
    folders = jit.kernel_cache_dir(), jit.kernel_cache_dir(with_foreign=True)
    assert folders[0] == folders[1]
    jit.note_source(users_function)
    assert jit.kernel_cache_dir() == folders[0]
    assert jit.kernel_cache_dir(with_foreign=True) != folders[0]


@pytest.mark.usefixtures("no_problem_registered")
def test_the_arguments_of_a_kernel_decide_on_its_folder(monkeypatch):
    jit.note_source(users_function)
    cache = jit._KernelCache(jit._is_foreign)  # any function of the package
    monkeypatch.setattr(cache._plain, "load_overload", lambda sig, context: "ours")
    monkeypatch.setattr(cache._foreign, "load_overload", lambda sig, context: "the user's")
    ours, theirs = (typeof(Trap(10).data), types.int64), (types.int64, typeof(UsersData(1)))
    assert [cache.load_overload(arguments, None) for arguments in (ours, theirs)] == ["ours", "the user's"]
    assert str(jit.kernel_cache_dir()) in cache._plain.cache_path
    assert str(jit.kernel_cache_dir(with_foreign=True)) in cache._foreign.cache_path
    users_own = jit._KernelCache(users_function)
    assert users_own._plain.cache_path == users_own._foreign.cache_path


def test_two_installations_of_the_same_sources_share_kernels(tmp_path):
    """Their folder is named by the sources alone, and code compiled for one is read by the other."""
    script = """
import json, gomea_bn
from pathlib import Path
from gomea_bn.plots import kernels
from gomea_bn.runtime import jit
from gomea_bn.runtime.kernel_progress import announced_kernels
import numpy as np
with announced_kernels(print) as progress:
    position = kernels._best_position(np.array([3, 4, 5]), np.array([0, 0, 0, 0, -2, 1]), 0, 1)
home = Path(gomea_bn.__file__).parent
print(json.dumps([str(home), str(jit.kernel_cache_dir()), progress.n_compiled, int(position)]))
"""
    package = Path(jit.__file__).parent.parent
    outcomes = []
    for name in ("first", "second"):
        # the linked folders become folders, as in an installation
        shutil.copytree(package, tmp_path / name / "gomea_bn", ignore=shutil.ignore_patterns("__pycache__"))
        setting = {
            **os.environ,
            "PYTHONPATH": str(tmp_path / name),
            "NUMBA_CACHE_DIR": str(tmp_path / "kept"),
        }
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env=setting,
            capture_output=True,
            text=True,
            check=True,
        )
        outcomes.append(json.loads(done.stdout.splitlines()[-1]))
    (home, folder, n_compiled_first, answer), second = outcomes
    assert second == [home.replace("first", "second"), folder, 0, answer]
    assert n_compiled_first == 1
