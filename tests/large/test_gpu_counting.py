"""Counting on a GPU: the kernel in numba's simulator, the option, and its errors."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import gpu_counts
import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, Checkpoint
from gomea_bn.data.pieces import FramePiece
from gomea_bn.errors import GomeaBnError
from gomea_bn.large import opening
from gomea_bn.large.cells import Coding
from gomea_bn.large.counters import on_gpu
from gomea_bn.large.counters.local import LocalCounter
from gomea_bn.large.counters.plan import CountPlan
from gomea_bn.large.fitting import network_from_pieces
from gomea_bn.large.learning import learn_from_pieces

needs_numba_cuda = pytest.mark.skipif(
    find_spec("numba.cuda") is None, reason="this version of numba has no numba.cuda: install the extra gpu"
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    generator = np.random.default_rng(3)
    x = generator.normal(size=1_500)
    return pd.DataFrame({"x": x, "k": np.where(x + generator.normal(size=1_500) > 0, "high", "low")})


@pytest.fixture
def learner() -> BayesNetLearner:
    return BayesNetLearner(max_seconds=None, max_evaluations=50, sample_rows=1_000, random_state=2)


@pytest.fixture
def without_gpu(monkeypatch) -> SimpleNamespace:
    """Return a stand-in of numba.cuda on a machine without a GPU."""
    cuda = SimpleNamespace(is_available=lambda: False, cuda_error=lambda: None)
    monkeypatch.setattr(on_gpu, "import_module", lambda name: cuda)
    return cuda


@needs_numba_cuda
def test_a_simulated_gpu_counts_what_threads_count() -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    run = subprocess.run(
        [sys.executable, gpu_counts.__file__], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "equal counts\n"


@needs_numba_cuda
def test_a_family_too_large_for_the_kernel_is_an_error() -> None:
    pair = gpu_counts.view(1, 2)
    on_gpu._kernel_arguments(CountPlan([[pair] * 32]))
    with pytest.raises(GomeaBnError, match="at most 32 columns, got one of 33"):
        on_gpu._kernel_arguments(CountPlan([[pair], [pair] * 33]))


def test_a_gpu_without_the_extra_is_an_error_that_names_it(frame, learner, without_gpu, monkeypatch) -> None:
    monkeypatch.setattr(on_gpu, "find_spec", lambda name: None)
    with pytest.raises(
        GomeaBnError, match=r'^device=\'gpu\' needs numba-cuda: pip install "gomea-bn\[gpu\]"\.$'
    ):
        learn_from_pieces(replace(learner, device="gpu"), [frame])

    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr(on_gpu, "import_module", fail)
    with pytest.raises(GomeaBnError, match="needs numba-cuda"):
        on_gpu.usable_cuda()


def test_a_machine_without_a_gpu_is_an_error_of_one_line(without_gpu, monkeypatch) -> None:
    monkeypatch.setattr(on_gpu, "find_spec", lambda name: object())
    with pytest.raises(GomeaBnError, match=r"^device='gpu' needs an NVIDIA GPU .* none can be used\.$"):
        on_gpu.usable_cuda()
    without_gpu.cuda_error = lambda: "\nNo driver was found.\nInstall one."
    with pytest.raises(GomeaBnError, match=r"none can be used: No driver was found\.$"):
        on_gpu.usable_cuda()


@needs_numba_cuda
def test_pieces_without_rows_take_no_memory_of_a_gpu(frame, monkeypatch) -> None:
    memory = SimpleNamespace(get_memory_info=lambda: SimpleNamespace(free=2**30))
    # a GPU that has no memory to give
    cuda = SimpleNamespace(is_available=lambda: True, current_context=lambda: memory)
    monkeypatch.setattr(on_gpu, "import_module", lambda name: cuda)
    with LocalCounter([FramePiece(frame.iloc[:0])], 1, 0) as local:
        assert (
            on_gpu.GpuCounter(local)
            .code(Coding(("x", "k"), {"x": np.zeros(1)}, {"k": ("high", "low")}))
            .n_rows
            == 0
        )


@pytest.mark.parametrize(
    "error",
    [
        # that of the driver is a plain exception, of the linker a RuntimeError, of a missing compiler an ImportError
        Exception("out of memory\nat 0x7f"),
        RuntimeError("out of memory"),
        ImportError("out of memory"),
        MemoryError("out of memory"),
    ],
)
def test_an_error_of_the_gpu_is_a_plain_error(error) -> None:
    with (
        pytest.raises(GomeaBnError, match=r'on the GPU has failed: out of memory\. Pass device="cpu"\.$'),
        on_gpu._clear_errors(),
    ):
        raise error


def test_an_error_that_is_not_of_the_gpu_stays_as_it_is() -> None:
    for error in (GomeaBnError("A GPU counts families of at most 32 columns."), OSError("short file")):
        with pytest.raises(type(error), match=str(error)), on_gpu._clear_errors():
            raise error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "cuda"}, "device must be one of 'cpu', 'gpu', got 'cuda'"),
        ({"device": "gpu", "scheduler": "tcp://127.0.0.1:9"}, "not on the workers of a Dask cluster"),
    ],
)
def test_a_device_that_cannot_count_is_refused(frame, learner, options, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        learn_from_pieces(replace(learner, **options), [frame])


def test_a_table_in_memory_is_not_counted_on_a_gpu(frame, learner) -> None:
    with pytest.raises(GomeaBnError, match="a table in pieces alone"):
        replace(learner, device="gpu").fit(frame)
    with pytest.raises(GomeaBnError, match="device must be one of"):
        replace(learner, device="cuda").fit(frame)


def test_a_run_on_threads_goes_on_with_a_gpu(frame, learner, tmp_path, monkeypatch) -> None:
    pieces = [frame.iloc[:700], frame.iloc[700:]]
    on_threads = learn_from_pieces(learner, pieces, checkpoint=tmp_path)
    counted = []

    def stand_in(local):
        counted.append(local)
        return local

    monkeypatch.setattr(opening, "GpuCounter", stand_in)
    again = replace(learner, device="gpu")
    resumed = learn_from_pieces(again, pieces, checkpoint=Checkpoint(tmp_path, resume=True))
    assert resumed.network == on_threads.network
    assert len(counted) == 1
    # tables of a given graph are counted there too
    cuts = on_threads.network.cut_points
    of_graph = [network_from_pieces(pieces, [], cuts, device=device) for device in ("cpu", "gpu")]
    assert of_graph[0] == of_graph[1]
    assert len(counted) == 2
