"""Options of the learner on a command line, and calls in processes of their own."""

import math
import multiprocessing
import os
import time

import pytest

from gomea_bn import GOMEA
from gomea_bn.errors import GomeaBnError
from lab.runner import runs


def test_options_become_a_learner():
    options = runs.named_options(["pseudo_count=4", "scoring_method=density-bd", "algorithm.linkage=tree-mi"])
    assert options == {"pseudo_count": 4, "scoring_method": "density-bd", "algorithm.linkage": "tree-mi"}
    learner = runs.make_learner(options, pseudo_count=1.0, max_seconds=3.0)
    assert (learner.pseudo_count, learner.max_seconds, learner.scoring_method) == (4, 3.0, "density-bd")
    assert learner.algorithm == GOMEA(linkage="tree-mi")
    assert runs.smoothing(learner) == {"pseudo_count": 4}
    with pytest.raises(GomeaBnError, match="pseudocount"):
        runs.make_learner({"pseudocount": 4})
    with pytest.raises(GomeaBnError, match="'pseudo_count'"):
        runs.named_options(["pseudo_count"])


def test_a_variant_has_a_name_and_options():
    assert runs.variant("plain") == ("plain", {})
    assert runs.variant("mi:algorithm.linkage=tree-mi,patience=None") == (
        "mi",
        {"algorithm.linkage": "tree-mi", "patience": None},
    )


def test_a_call_in_a_new_process_returns_its_result():
    assert runs.in_new_process(math.gcd, 12, 18) == 6
    assert runs.in_new_process(os.getpid) != os.getpid()


def test_a_process_is_replaced_after_a_call_that_is_too_long():
    with runs.ReplaceableProcess() as process:
        first = process.call(os.getpid, timeout=60.0)
        assert first != os.getpid()
        assert process.call(os.getpid, timeout=60.0) == first
        with pytest.raises(ValueError, match="factorial"):
            process.call(math.factorial, -1, timeout=60.0)
        with pytest.raises(multiprocessing.TimeoutError):
            process.call(time.sleep, 60.0, timeout=0.3)
        assert process.call(os.getpid, timeout=60.0) != first
