"""Any options of any command end with a documented exit code and one line, and leave all inputs as they were."""

import os

import numpy as np
import pytest
from consistency import check_network, digests
from hostile_options import command_line
from test_hostile_files import check_call, originals

from gomea_bn import DiscretizedBayesNet

FIRST = int(os.environ.get("GOMEA_BN_FUZZ_SEED", "0"))
N_LONG = int(os.environ.get("GOMEA_BN_FUZZ_CASES", "3000"))

__all__ = ["originals"]


def check_case(seed, originals, folder):
    """Call one command."""
    before = digests(originals)
    check_call(*command_line(np.random.default_rng(seed), originals, folder))
    assert digests(originals) == before
    network = folder / "learn-out" / "network.json"
    if network.exists():
        check_network(DiscretizedBayesNet.from_json(network))
    assert not list(folder.rglob("*.part*"))


def test_any_options_are_used_or_refused(originals, tmp_path):
    for seed in range(150):
        check_case(seed, originals, tmp_path)


@pytest.mark.long
def test_many_options(originals, tmp_path):
    for seed in range(FIRST, FIRST + N_LONG):
        check_case(seed, originals, tmp_path)
