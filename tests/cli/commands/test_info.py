"""The command `info` prints versions, cores and the folder of compiled kernels."""

import json
import os

import numpy as np
import pandas as pd
from command_line import invoke

from gomea_bn.runtime.environment import installed_version


def test_info_prints_versions_cores_and_cache():
    facts = json.loads(invoke("info", "--json").stdout)
    assert facts["cores"] == len(os.sched_getaffinity(0))
    assert facts["required"]["pandas"] == pd.__version__
    assert facts["optional"]["pyagrum"] == installed_version("pyagrum")
    assert facts["kernels_compiled"] is True
    text = invoke("info").stdout
    assert facts["kernel_cache"] in text
    assert f"numpy {np.__version__}" in text
    assert installed_version("no-such-distribution") is None
