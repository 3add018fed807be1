"""Kernels compiled for users' problems have a cache folder of their own, and all other kernels keep theirs."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof, types

from gomea_bn.problems.benchmarks import NKLandscape, Trap
from gomea_bn.runtime import jit


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
