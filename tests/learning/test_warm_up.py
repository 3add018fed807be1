"""Kernels are compiled before the clock of a run starts: those that it needs, and no others."""

import json
import subprocess
import sys

import numba
import numpy as np
import pandas as pd
import pytest
from learning_inside import LearningOptions, scored_variables

from gomea_bn import BayesNetLearner, read_table
from gomea_bn.learning import warm_up
from gomea_bn.learning.warm_up import COUNT, LOGIT, SUM, size_of_table
from gomea_bn.problems import curve_data
from gomea_bn.problems.curves import no_curves

SCRIPT = """
import json
from gomea_bn.learning import warm_up
from gomea_bn.learning.all_kernels import compile_all_kernels
from gomea_bn.runtime import kernel_progress

names = []
needed = kernel_progress.KernelProgress.needed
def noted(progress, name, **options):
    names.append(name)
    needed(progress, name, **options)
kernel_progress.KernelProgress.needed = noted
# those that other processes have compiled are asked for, too
warm_up.kernels_are_cached = lambda *names: False
steps = []
for step in (
    lambda: warm_up.compile_kernels(n_columns=5, has_gaps=False, followers=()),
    lambda: warm_up.compile_kernels(n_columns=5, has_gaps=False, followers=()),
    lambda: warm_up.compile_kernels(n_columns=5, has_gaps=False, followers=[warm_up.SUM]),
    lambda: warm_up.compile_kernels(n_columns=5, has_gaps=False, followers=[warm_up.LOGIT]),
    lambda: warm_up.compile_kernels(n_columns=500, has_gaps=False),
    lambda: warm_up.compile_front_kernels(has_gaps=False),
    lambda: warm_up.compile_front_kernels(),
    lambda: compile_all_kernels(lambda line: None),
):
    step()
    steps.append(names[:])
    names.clear()
print(json.dumps(steps))
"""


@pytest.mark.long
def test_runs_compile_the_kernels_that_their_tables_need_and_all_compile_the_others_too():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    plain, again, sums, logits, wide, front, gaps, every = map(set, json.loads(run.stdout))
    assert {"evaluate_structure", "table_score", "vary_range"} <= plain
    assert not plain & {"curve_score", "sum_score", "logit_gain", "count_gain", "transform_gain"}
    assert again == set()
    assert sums == {"curve_score", "sum_score", "transform_gain"}
    assert logits == {"logit_gain", "several_indices_gain"}
    assert {"count_gain", "sparse_average_linkage"} <= wide
    assert {"evaluate_front", "evaluate_front_partial"} <= front
    # missing cells are drawn
    assert {"plan_costs", "joint_of_rows", "draw_rows"} <= gaps
    assert {"cheapest_split", "marginals_of_rows"} <= every


def test_kernels_on_disk_are_not_called_before_they_are_needed(monkeypatch):
    asked, called = [], []

    def are_cached(*names):
        asked.append(names)
        return True

    monkeypatch.setattr(warm_up, "_done", set())
    monkeypatch.setattr(warm_up, "kernels_are_cached", are_cached)
    monkeypatch.setattr(warm_up, "_learn_once", lambda *arguments: called.append(arguments))
    for _ in range(2):
        assert warm_up.compile_kernels(n_columns=5, has_gaps=False, followers=[SUM]) == 0
    assert [set(names) for names in asked] == [
        {"_add_likelihoods", "sum_score", "curve_score", "transform_gain"}
    ]
    assert not called


def test_kernels_of_curves_are_those_of_the_columns_that_may_follow_curves():
    generator = np.random.default_rng(0)
    number, count = generator.normal(size=40), generator.poisson(2.0, 40)
    frame = pd.DataFrame({"number": number, "level": [*"ab"] * 20, "count": count})
    kinds = {"count": "continuous"}

    def followers(names, **options):
        table = read_table(frame[list(names)], kinds={name: kinds[name] for name in names if name in kinds})
        return size_of_table(table, **options)["followers"]

    assert followers(["number"]) == {SUM}
    assert followers(["level"]) == set()
    assert followers(["number", "level"]) == {SUM, LOGIT}
    assert followers(["count"]) == {SUM, COUNT}
    assert followers(["number", "level", "count"]) == {SUM, LOGIT, COUNT}
    assert followers(["number", "level", "count"], has_curves=False) == set()
    with_gaps = read_table(frame.assign(number=np.where(number > 1, np.nan, number)), missing="keep")
    assert size_of_table(with_gaps)["followers"] == set()


def test_kernels_that_are_compiled_ahead_are_those_of_tables_with_curves():
    generator = np.random.default_rng(0)
    x = generator.normal(size=80)
    frame = pd.DataFrame({"x": x, "y": x + generator.normal(size=80), "level": [*"abcd"] * 20})
    variables, _ = scored_variables(read_table(frame), LearningOptions.of(BayesNetLearner()))
    curves = curve_data(variables)
    assert len(curves.tails.factors) > 1
    assert numba.typeof(curves) == numba.typeof(no_curves())


SMALL_FIT = """
import json, sys
import numpy as np, pandas as pd
from gomea_bn import BayesNetLearner
rng = np.random.default_rng(0)
x = rng.normal(size=80)
frame = pd.DataFrame({"x": x, "y": x**2 + rng.normal(size=80), "level": np.where(x > 0, "a", "b")})
BayesNetLearner(max_evaluations=500, random_state=1).fit(frame)
print(json.dumps(sorted(sys.modules)))
"""


def test_a_small_fit_loads_no_large_module_that_it_does_not_use():
    run = subprocess.run([sys.executable, "-c", SMALL_FIT], capture_output=True, text=True, check=True)
    loaded = set(json.loads(run.stdout.splitlines()[-1]))
    assert "scipy.special" in loaded
    assert not loaded & {"scipy.interpolate", "scipy.optimize", "scipy.sparse", "scipy.stats", "matplotlib"}
