import signal
import time
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings
from processor_time import work_clock
from shared_bytecode import share_bytecode

# before the package imports it: no time limit depends on the machine and on what else it does
time.perf_counter = work_clock

# commands run as processes of their own too
share_bytecode()

# how long an example takes depends on what is compiled already and on what else the machine does
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make test` draws the same examples every time, and `make quick` fewer; `make test-all` draws new ones, and more
settings.register_profile("quick", untimed, derandomize=True, max_examples=10)
settings.register_profile("repeatable", untimed, derandomize=True, max_examples=40)
settings.register_profile("random", untimed, derandomize=False)
settings.load_profile("repeatable")


def pytest_configure():
    # a job in a shell's background inherits an ignored Ctrl-C, which tests send to themselves and to commands
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave all but some of the parameter sets of tests with the mark `sample` to `make test-all`."""
    sets = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("sample")) is not None:
            sets[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    for (_, n_kept), of_test in sets.items():
        # spread over all of them, which stand in the order of their parameters
        kept = {(2 * k + 1) * len(of_test) // (2 * n_kept) for k in range(n_kept)}
        for position, item in enumerate(of_test):
            if position not in kept:
                item.add_marker("long")
