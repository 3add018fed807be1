"""Kernels are compiled before the clock of a run starts: those that it needs, and as many as are announced."""

import json
import subprocess
import sys

import pytest

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
counts = []
for step in (
    lambda: warm_up.compile_kernels(n_columns=5, has_gaps=False),
    lambda: warm_up.compile_kernels(n_columns=5, has_gaps=False),
    lambda: warm_up.compile_kernels(n_columns=500, has_gaps=False),
    lambda: warm_up.compile_front_kernels(has_gaps=False),
    lambda: warm_up.compile_front_kernels(),
    lambda: compile_all_kernels(lambda line: None),
):
    step()
    counts.append(len(names))
print(json.dumps([counts, names, warm_up._N_KERNELS, warm_up._N_KERNELS_OF_GAPS]))
"""


@pytest.mark.long
def test_runs_announce_as_many_kernels_as_they_need_and_all_compile_the_others_too():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    (narrow, again, wide, front, parts, every), names, announced, n_parts = json.loads(run.stdout)
    assert [narrow, wide] == announced["learner"]
    assert again == narrow
    assert front == announced["front"][1]
    assert announced["front"][1] - announced["front"][0] == wide - narrow
    assert "sparse_average_linkage" in names[narrow:wide]
    assert parts - front == n_parts
    assert {"best_split", "plan_costs", "joint_of_rows", "draw_rows", "marginals_of_rows"} <= set(
        names[front:every]
    )
