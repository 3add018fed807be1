"""Named tuples of many arrays reach kernels by their address."""

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import types
from numpy.typing import NDArray

from gomea_bn import kernel
from gomea_bn.runtime import separate_kernel
from gomea_bn.runtime.held_tuples import HeldTuple, held
from gomea_bn.runtime.jit import compile_for


class Pair(NamedTuple):
    first: NDArray[np.float64]
    second: NDArray[np.int32]


class Many(NamedTuple):
    a: NDArray[np.float64]
    b: NDArray[np.float32]
    c: NDArray[np.int16]
    d: NDArray[np.uint64]
    e: NDArray[np.bool_]
    pair: Pair
    number: int
    share: float
    is_set: bool


class Whole(NamedTuple):
    many: Many
    scale: float
    work: NDArray[np.float64]


def whole(seed=0):
    rng = np.random.default_rng(seed)
    many = Many(
        rng.random((3, 4)),
        rng.random(4).astype(np.float32),
        rng.integers(-5, 5, 4).astype(np.int16),
        rng.integers(0, 9, (2, 4)).astype(np.uint64),
        rng.random(4) < 0.5,
        Pair(rng.random(4)[::2], np.arange(4, dtype=np.int32)),
        int(rng.integers(9)),
        float(rng.random()),
        bool(seed % 2),
    )
    return Whole(many, float(rng.random()), np.zeros(4))


@separate_kernel
def far(data: Whole, k: int) -> float:
    return data.many.a[1, k] * data.scale + data.many.number


@kernel
def near(many: Many, pair: Pair, k: int) -> float:
    total = many.share if many.is_set else -many.share
    if many.e[k]:
        total += np.float64(many.b[k])
    return total + many.c[k] + many.d[1, k] + pair.first[k % pair.first.shape[0]] * pair.second[k]


@kernel
def unpacked(data: Whole) -> float:
    many, scale, work = data
    return many[0][1, 2] * scale + work.shape[0] + data[-2] + len(data)


@kernel
def read_all(data: Whole) -> float:
    total = 0.0
    for k in range(data.work.shape[0]):
        # what is written to one array may not be kept of another
        data.work[k] = near(data.many, data.many.pair, k)
        data.many.a[1, k] += data.work[k]
        total += far(data, k)
    return total


def plain(of_kernel: Any) -> Any:
    """Return the Python function of a kernel."""
    return of_kernel.py_func


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_kernels_read_and_write_what_python_holds(seed):
    ours, slow = whole(seed), whole(seed)
    total = 0.0
    for k in range(4):
        slow.work[k] = plain(near)(slow.many, slow.many.pair, k)
        slow.many.a[1, k] += slow.work[k]
        total += plain(far)(slow, k)
    assert read_all(ours) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(ours.work, slow.work, rtol=1e-12)
    np.testing.assert_array_equal(ours.many.c, slow.many.c)
    # a second call has fields of its own
    assert read_all(whole(seed + 3)) != total


def test_tuples_of_many_arrays_are_one_argument_and_small_ones_are_not():
    data = whole()
    of_whole, of_pair = held(numba.typeof(data)), held(numba.typeof(data.many.pair))
    assert isinstance(of_whole, HeldTuple)
    assert isinstance(of_whole.types[0], HeldTuple)
    assert not isinstance(of_pair, HeldTuple)
    assert isinstance(of_pair, types.BaseNamedTuple)
    assert held(of_whole) == of_whole
    compile_for(read_all, data)
    compiled_forms: Any = read_all
    # what an earlier process has compiled has no text any more
    compiled_forms.recompile()
    (compiled,) = compiled_forms.overloads.values()
    text = compiled.library.get_llvm_str()
    definition = next(
        line for line in text.splitlines() if line.startswith("define") and "cpython" not in line
    )
    # the result, the error, and the tuple
    assert definition.partition("(")[2].count("%") <= 3
    assert "invariant.load" in text
    assert "dereferenceable" in text


def test_types_of_other_members_are_other_types():
    data = whole()
    other = data._replace(work=np.zeros(4, np.float32))
    assert held(numba.typeof(data)) != held(numba.typeof(other))
    assert str(held(numba.typeof(data))) != str(held(numba.typeof(other)))


def test_fields_are_also_read_by_their_places():
    data = whole()
    assert unpacked(data) == pytest.approx(plain(unpacked)(data), rel=1e-15)


def test_the_type_of_a_held_tuple_is_made_once(monkeypatch):
    numba_type = numba.typeof(whole())
    first = held(numba_type)
    monkeypatch.setattr("gomea_bn.runtime.held_tuples.HeldTuple.__init__", None)
    assert held(numba.typeof(whole(1))) is first
