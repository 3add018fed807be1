"""The command info."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok
from learning_inside import of_fit

import gomea_bn
from gomea_bn.runtime import jit, source_digest
from gomea_bn.runtime.environment import installed_version


def test_info_prints_versions_cores_and_cache():
    facts = json.loads(invoke("info", "--json").stdout)
    assert facts["gomea-bn"] == gomea_bn.__version__
    assert facts["sources"] == source_digest()
    assert facts["cores"] == len(os.sched_getaffinity(0))
    assert facts["required"]["pandas"] == pd.__version__
    assert facts["optional"]["pyagrum"] == installed_version("pyagrum")
    assert facts["kernels_compiled"] is True
    text = invoke("info").stdout
    assert facts["kernel_cache"] in text
    assert text.startswith(f"gomea-bn {gomea_bn.__version__}, sources {facts['sources']}\n")
    assert f"numpy {np.__version__}" in text
    assert installed_version("no-such-distribution") is None


@pytest.fixture
def compiling(monkeypatch):
    """Stand in for the compilation of all kernels."""
    monkeypatch.setattr(
        "gomea_bn.learning.all_kernels.compile_all_kernels", lambda announce: announce("Compiling") or 9.1
    )
    monkeypatch.setattr(of_fit, "compile_many_rows", lambda announce: 0.5)


@pytest.mark.usefixtures("compiling")
def test_the_folder_and_the_seconds_are_printed(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernels_are_cached", lambda: True)
    monkeypatch.setattr(jit, "kernel_cache_dir", lambda: tmp_path)
    for name in ("one.kernel", "another.kernel", "another.lock"):
        (tmp_path / name).touch()
    monkeypatch.setattr(jit, "kernels_can_be_kept", lambda: True)
    result = ok("info", "--warm-up")
    assert result.stderr.splitlines() == [
        "Compiling",
        f"All 2 kernels are compiled and kept in '{tmp_path}' (10 s).",
    ]
    assert result.stdout.startswith("gomea-bn ")


@pytest.mark.usefixtures("compiling")
def test_kernels_that_cannot_be_kept_are_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "_chosen_by_user", str(tmp_path))
    result = invoke("info", "--warm-up")
    assert result.exit_code == 1
    assert f"Error: The kernels could not be kept in '{tmp_path}" in result.stderr


def test_a_folder_that_keeps_nothing_is_refused_before_the_compilation(monkeypatch):
    monkeypatch.setattr(jit, "kernels_can_be_kept", lambda: False)
    monkeypatch.setattr(
        "gomea_bn.cli.commands.installation._compile_all", lambda announce: pytest.fail("compiled")
    )
    result = invoke("info", "--warm-up")
    assert result.exit_code == 1
    assert "NUMBA_CACHE_DIR names another one" in result.stderr.replace("\n", " ")
