"""A signal at any time ends a command with its exit code; a network that existed is written."""

import os
import signal
import sys
import time

import numpy as np
import pandas as pd
import pytest
from consistency import check_network, seeds

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.cli import main

# codes of a command that wrote its best network, and of one that had none yet; a signal after the work is ignored
CODES = {signal.SIGINT: ({0}, {130}), signal.SIGTERM: ({143, 0}, {143})}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes that are copies")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return a table; all code and kernels are loaded before processes are copied."""
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    values = np.cumsum(np.random.default_rng(0).normal(size=(200, 6)), axis=1)
    frame = pd.DataFrame(values, columns=list("abcdef"))
    frame.to_csv(path, index=False)
    BayesNetLearner(max_evaluations=50, max_seconds=None).fit(frame)
    return path


def run_command(rows, folder):
    """Learn until a signal in a copy of this process, which notes its first generation in a file, and exit."""
    code = 1
    # nothing may return to the tests
    try:
        for name in ("stdout", "stderr"):
            os.dup2(os.open(folder / name, os.O_CREAT | os.O_WRONLY), getattr(sys, f"__{name}__").fileno())
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        fit = BayesNetLearner.fit

        def noting_fit(learner, *arguments, **options):
            learner.callback = lambda progress: (folder / "began").touch()
            return fit(learner, *arguments, **options)

        pytest.MonkeyPatch().setattr(BayesNetLearner, "fit", noting_fit)
        options = ["--max-seconds", "60", "--patience", "0", "--out", str(folder / "out")]
        sys.argv[1:] = ["learn", str(rows), *options]
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def check_signal(seed, number, rows, folder):
    """Send a signal to a command at any time before or during its search."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    # commands that other tests ran here left handlers, which a copy would have before its own command begins
    signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)
    child = os.fork()
    if child == 0:
        run_command(rows, folder)
    if rng.random() < 0.7:
        while not (folder / "began").exists():
            time.sleep(0.005)
    time.sleep(float(rng.exponential(0.1)))
    had_network = (folder / "began").exists()
    os.kill(child, number)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    stderr = (folder / "stderr").read_text() if (folder / "stderr").exists() else ""
    assert "Traceback" not in stderr
    written = folder / "out" / "network.json"
    assert written.exists() or not had_network, stderr
    # a signal that comes before the command has taken over its handling ends the process
    if code < 0 or (code == 1 and not stderr):
        assert not had_network
        assert not list(folder.glob("out*"))
        return
    assert code in CODES[number][not written.exists()], stderr
    if written.exists():
        check_network(DiscretizedBayesNet.from_json(written))
    assert not list(folder.rglob("*.part*"))


@pytest.mark.long
@pytest.mark.parametrize("number", CODES)
def test_a_signal_loses_no_network(number, rows, tmp_path):
    for seed in seeds("signals"):
        check_signal(seed, number, rows, tmp_path / str(seed))
