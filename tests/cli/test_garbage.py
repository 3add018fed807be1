"""Garbage is looked for rarely during the start of a command, and as usual afterwards."""

import gc

import pytest

from gomea_bn.cli.running import rare_collections


def test_the_usual_pace_returns_after_an_error():
    usual, inside = gc.get_threshold(), []

    @rare_collections()
    def fail():
        inside.append(gc.get_threshold()[0])
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside[0] >= 100_000
    assert gc.get_threshold() == usual


def test_a_pace_that_is_rarer_stays():
    usual = gc.get_threshold()
    gc.set_threshold(10**6, 3, 4)
    try:
        with rare_collections():
            assert gc.get_threshold()[:2] == (10**6, 3)
    finally:
        gc.set_threshold(*usual)


def test_garbage_that_is_never_looked_for_stays_so():
    usual = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with rare_collections():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*usual)
