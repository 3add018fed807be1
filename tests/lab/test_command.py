"""Options of experiments on the command line."""

import math
import multiprocessing
import os
import time

import pytest
import typer

from gomea_bn import GOMEA, GomeaBnError
from lab.runner import runs
from lab.runner.registry import experiment
from lab.runner.runs import learner_variants


def test_variants_add_to_the_shared_options():
    def variants(**given):
        return learner_variants(experiment("shapes-large").planned(**given))

    both = ("a", "b:shape=uniform,patience=None")
    assert variants(option=("shape=auto",), variant=both) == {
        "a": {"discretizer": "optimal", "shape": "auto"},
        "b": {"discretizer": "optimal", "shape": "uniform", "patience": None},
    }
    assert variants() == {"ours": {"discretizer": "optimal"}}
    with pytest.raises(GomeaBnError, match="distinct"):
        variants(variant=("a", "a"))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["shapes-skeletons", "--graphs", "0"], "graphs must be an integer of at least 1, got 0"),
        (["shapes-skeletons", "--rows", "2.5"], "--rows must be integers separated by commas, got '2.5'"),
        (["shapes-skeletons", "--laws", "none"], "laws must be one of 'ARTH150'"),
        (["shapes-skeletons", "--graph", "1"], "unrecognized arguments: --graph 1"),
        (["shapes-skeletons", "--full"], "has no publication whose sizes --full could take"),
        (["shapes-skeletons", "--graphs", "1", "2"], "--graphs takes one value, got '1 2'"),
        (["shapes-skeletons", "--without-peers", "1"], "--without_peers takes no value"),
    ],
)
def test_wrong_options_are_refused(command, message, run_lab, capsys):
    with pytest.raises(typer.Exit) as ended:
        run_lab(*command)
    assert ended.value.exit_code == 2
    assert message in " ".join(capsys.readouterr().err.split())


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


def test_a_call_in_a_new_process_may_start_processes():
    # as that of a cluster of workers does; a pool's processes may not
    assert runs.in_new_process(runs.in_new_process, math.gcd, 12, 18) == 6


def test_a_process_is_replaced_after_a_call_that_is_too_long():
    with runs.ReplaceableProcess() as process:
        first = process.call(os.getpid, timeout=600.0)
        assert first != os.getpid()
        assert process.call(os.getpid, timeout=600.0) == first
        with pytest.raises(ValueError, match="factorial"):
            process.call(math.factorial, -1, timeout=600.0)
        with pytest.raises(multiprocessing.TimeoutError):
            process.call(time.sleep, 60.0, timeout=0.3)
        assert process.call(os.getpid, timeout=600.0) != first
